"""Which backend an array belongs to, found by its type and kept."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from ricci.caches import Cache
from ricci.dispatch import offered
from ricci.einops.backends.base import Backend
from ricci.errors import EinopsTypeError
from ricci.kinds import kind_of, remedy

# The package that must be imported for an array of that kind to exist, and the module and class here.
_KINDS = [
    ("numpy", "backends.numpy_arrays", "NumpyBackend"),
    ("torch", "backends.torch_arrays", "TorchBackend"),
    ("jax", "backends.jax_arrays", "JaxBackend"),
    ("cupy", "backends.namespaces", "CupyBackend"),
    ("dask.array", "backends.namespaces", "DaskBackend"),
]
_loaded: dict[str, Any] = {}
_of_type = Cache("backends of types", 500)  # some types are made on the fly
_traced = Cache("types of PyTorch", 500)


class Code:
    """The code that handles tensors of PyTorch, which may be compiled instead of run."""

    is_compiling: Any = staticmethod(lambda: False)  # PyTorch's own, once a tensor of it was met


def backend_of(array: Any) -> Backend:
    """The backend of an array; an error that says what is accepted where there is none."""
    found = _of_type.known.get(type(array))
    if found is None:
        found = _find(array)
        _of_type.keep(type(array), found)
    return found


def _loaded_backend(package: str, module: str, name: str) -> Any:
    if package not in _loaded:
        _loaded[package] = getattr(import_module(f"ricci.einops.{module}"), name)()
    return _loaded[package]


def is_traced(kind: type) -> bool:
    """Whether this is a type of PyTorch's tensors, which are also met while programs are compiled."""
    found = _traced.known.get(kind)
    if found is None:
        torch: Any = sys.modules.get("torch")
        found = hasattr(torch, "Tensor") and issubclass(kind, torch.Tensor)
        if found:
            Code.is_compiling = staticmethod(torch.compiler.is_dynamo_compiling)
            _of_type.keep(kind, _loaded_backend(*_KINDS[1]))
        _traced.keep(kind, found)
    return found


# torch.compile calls it once, while compiling, instead of reading it: what changes in the tables does not concern it.
is_traced._dynamo_marked_constant = True  # type: ignore[attr-defined]


def compiling(array: Any) -> bool:
    """Whether the code that handles this array is being compiled, not run."""
    return is_traced(type(array)) and Code.is_compiling()


def _operands(array: Any) -> Any:
    """The one backend of traced arrays and tensors, which stand beside one another."""
    if "operands" not in _loaded:
        from ricci.einops.backends.operands import OperandBackend

        _loaded["operands"] = OperandBackend(array.__array_namespace__())
    return _loaded["operands"]


def _find(array: Any) -> Any:
    if kind_of(array) == "matrix":
        raise EinopsTypeError("An np.matrix has two axes, whatever is done to it.", hint=remedy(array))
    if kind_of(array) == "formula":
        return offered("patterns")()
    for package, module, name in _KINDS:
        if package in sys.modules and _loaded_backend(package, module, name).accepts(array):
            return _loaded[package]
    if kind_of(array) in ("traced", "tensor"):
        return _operands(array)
    if hasattr(array, "__array_namespace__") and type(array).__module__ != "numpy":  # NumPy's scalars are no arrays
        from ricci.einops.backends.namespaces import NamespaceBackend

        return NamespaceBackend(array.__array_namespace__())
    raise EinopsTypeError(
        f"Tensor type unknown to einops: {type(array).__module__}.{type(array).__qualname__}.",
        hint=remedy(array)
        or "Arrays are those of NumPy, PyTorch, JAX, CuPy, Dask and of the array API standard, and expressions of "
        "ricci; numpy.asarray makes one of numbers.",
    )
