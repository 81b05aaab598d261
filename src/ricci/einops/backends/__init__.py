"""Which backend the arrays of a call belong to: by their kinds (:mod:`ricci.kinds`), once for each type.

In come arrays of any library; out goes the :class:`Backend` that computes with them, or an error that says what is
accepted. Formulas, and what traced arrays beside tensors of PyTorch mean, are of later rooms, which offer them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from ricci.caches import Cache
from ricci.dispatch import offered
from ricci.einops.backends.base import Backend
from ricci.errors import EinopsTypeError
from ricci.kinds import kind_of, remedy

# For each kind the module and the class of its backend, imported when an array of that kind is met.
_BACKENDS = {
    **dict.fromkeys(["numpy", "masked", "subclass"], ("ricci.einops.backends.numpy_arrays", "NumpyBackend")),
    "torch": ("ricci.einops.backends.torch_arrays", "TorchBackend"),
    "jax": ("ricci.einops.backends.jax_arrays", "JaxBackend"),
    "cupy": ("ricci.einops.backends.namespaces", "CupyBackend"),
    "dask": ("ricci.einops.backends.namespaces", "DaskBackend"),
    **dict.fromkeys(["traced", "tensor"], ("ricci.einops.backends.operands", "OperandBackend")),
}
_loaded: dict[tuple[str, str], Any] = {}
_of_type = Cache("backends of types", 500)  # some types are made on the fly
_traced = Cache("types of PyTorch", 500)

# The kinds that can stand beside one, by the names of their backends.
_TAKES_IN = {
    "formula": ("numpy", "torch", "jax"),
    "ricci": ("numpy", "torch", "jax"),
    "jax": ("numpy",),
    "dask": ("numpy",),
}


class Code:
    """The code that handles tensors of PyTorch, which may be compiled instead of run."""

    is_compiling: Any = staticmethod(lambda: False)  # PyTorch's own, once a tensor of it was met


def backend_of(array: Any) -> Backend:
    """The backend of an array; an error that says what is accepted where there is none."""
    found = _of_type.known.get(type(array))
    if found is None:
        found = _of_type[type(array)] or _find(array)
        _of_type.keep(type(array), found)
    return found


def _loaded_backend(kind: str, array: Any = None) -> Any:
    where = _BACKENDS[kind]
    if where not in _loaded:
        made = getattr(import_module(where[0]), where[1])
        _loaded[where] = made(array.__array_namespace__()) if kind in ("traced", "tensor") else made()
    return _loaded[where]


def _find(array: Any) -> Any:
    kind = kind_of(array)
    if kind == "matrix":
        raise EinopsTypeError("An np.matrix has two axes, whatever is done to it.", hint=remedy(array))
    if kind == "formula":
        return offered("patterns")()
    if kind in _BACKENDS and _loaded_backend(kind, array).accepts(array):
        return _loaded_backend(kind)
    if hasattr(array, "__array_namespace__") and type(array).__module__ != "numpy":  # NumPy's scalars are no arrays
        from ricci.einops.backends.namespaces import NamespaceBackend

        return NamespaceBackend(array.__array_namespace__())
    raise EinopsTypeError(
        f"Tensor type unknown to einops: {type(array).__module__}.{type(array).__qualname__}.",
        hint=remedy(array)
        or "Arrays are those of NumPy, PyTorch, JAX, CuPy, Dask and of the array API standard, and expressions of "
        "ricci; numpy.asarray makes one of numbers.",
    )


def is_traced(kind: type) -> bool:
    """Whether this is a type of PyTorch's tensors, which are also met while programs are compiled."""
    found = _traced.known.get(kind)
    if found is None:
        torch: Any = sys.modules.get("torch")
        found = hasattr(torch, "Tensor") and issubclass(kind, torch.Tensor)
        if found:
            Code.is_compiling = staticmethod(torch.compiler.is_dynamo_compiling)
            _of_type.keep(kind, _loaded_backend("torch"))
        _traced.keep(kind, found)
    return found


# torch.compile calls it once, while compiling, instead of reading it: what changes in the tables does not concern it.
is_traced._dynamo_marked_constant = True  # type: ignore[attr-defined]


def compiling(array: Any) -> bool:
    """Whether the code that handles this array is being compiled by PyTorch, not run."""
    return is_traced(type(array)) and Code.is_compiling()


def any_compiling(arrays: Sequence[Any]) -> bool:
    """As :func:`compiling`, of several arrays."""
    return any(compiling(x) for x in arrays)


# Several arrays


def traced_beside_torch(arrays: Sequence[Any]) -> bool:
    """Whether traced arrays meet tensors of PyTorch: the results are then tensors, as those of operators are."""
    return {"traced", "torch"}.issubset(map(kind_of, arrays))


def as_torch(function: Callable, *args: Any) -> Any:
    """``function`` of traced arrays only, its results as traced tensors of PyTorch."""
    return offered("with_meaning")(function, args, {})


def common_backend(arrays: Sequence[Any], what: str) -> Backend:
    """The kind that all arrays are of, or that takes the others in.

    NumPy's stand beside those of JAX and Dask, traced arrays, tensors and formulas; arrays of PyTorch and JAX beside
    traced arrays, tensors and formulas; numbers beside any. Masks are kept by what moves or reduces one array, and
    would be lost where several are joined or multiplied.
    """
    masked = [x for x in arrays if kind_of(x) == "masked"]
    if masked:
        raise EinopsTypeError(f"{what} cannot keep a mask.", hint=remedy(masked[0], "An array"))
    found: dict[str, Backend] = {}
    first: dict[str, int] = {}
    for k, x in enumerate(arrays):
        if not is_number(x):
            backend = backend_of(x)
            found.setdefault(backend.name, backend)
            first.setdefault(backend.name, k)
    for name, others in _TAKES_IN.items():
        if name in found and found.keys() <= {name, *others}:
            return found[name]
    if len(found) > 1:
        kinds = [f"{type(arrays[k]).__module__}.{type(arrays[k]).__qualname__}" for k in first.values()]
        hint = f"Make them all of one kind; number {[*first.values()][1]}, counted from 0, is the first of another."
        lost = [remedy(x, "One") for x in arrays if remedy(x)]
        message = f"{what} was given arrays of several kinds: {' and '.join(kinds)}."
        raise EinopsTypeError(message, hint="\n".join([hint, *lost[:1]]))
    return next(iter(found.values())) if found else backend_of(arrays[0])


def is_number(x: Any) -> bool:
    """Whether this is a number, of Python or of NumPy, which has no axes."""
    return kind_of(x) == "number" or (kind_of(x) == "numpy" and not hasattr(x, "ctypes"))
