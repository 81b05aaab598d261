"""What kind of thing an operand is: found by its type, once, and asked for by every road.

A call on formulas, traced arrays, tensors, patterns or compiled functions first asks here what its operands are. An
array of another library has that library's meaning, or is refused with what to write instead: a mask, units or labels
are never dropped, and data that lies in blocks or on a disk is never loaded, without a word.

This module imports no library: a type says by its bases which one it is of.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from ricci.caches import Cache
from ricci.checked_calls import allow, shown
from ricci.errors import DTypeError, InputError, RuleError

_known = Cache("kinds of types", 1000)  # some types are made on the fly

# The kind of the types of a package; of NumPy, PyTorch and JAX also of the classes that others derive from theirs.
_PACKAGES = {
    **{name: name for name in ("numpy", "torch", "jax", "cupy", "dask", "sparse")},
    "jaxlib": "jax",
    **dict.fromkeys(["h5py", "zarr", "tensorstore", "netCDF4"], "stored"),
    **dict.fromkeys(["pandas", "polars", "pyarrow", "xarray"], "labelled"),
}
_ours: dict[type, str] = {}  # the kinds of classes that the rooms of ricci have registered
# What an array of NumPy means is in these; a class that replaces one of them means something else.
_MEANING = ("__array_ufunc__", "__array_function__", "__add__", "__mul__", "__matmul__", "__pow__")

# What a kind is, and what to write in place of it; ``{x}`` is the operand as it is called in the message.
_REFUSED = {
    "masked": ("is a masked array, whose mask would be lost", "Write {x}.filled(value), or {x}.data for all entries"),
    "matrix": ("is an np.matrix, whose * and ** are those of matrices", "Write np.asarray({x}), and @ for products"),
    "subclass": (
        "is of a class that computes in its own way ({type}), which would be lost",
        "Write np.asarray({x}) for its plain numbers",
    ),
    "dask": (
        "is a Dask array, which would be loaded whole",
        "Write {x}.compute() to load it; compiled formulas, transforms (rc.grad, …) and patterns (rc.rearrange, "
        "rc.einsum, …) that are not made for another backend take it as it is, and stay lazy",
    ),
    "stored": ("lies in a file ({type}), which would be loaded whole", "Write {x}[...] to load it"),
    "sparse": ("is a sparse matrix ({type}); ricci computes with dense arrays", "Write {x}.toarray()"),
    "labelled": ("is of {type}, whose labels would be lost", "Write {x}.to_numpy() for its numbers"),
}


def kind_of(value: Any) -> str:
    """The kind of an operand.

    That is "number", "formula", "traced", "tensor", "numpy", "torch", "jax", "cupy", "dask"; "list" for lists and
    tuples; one of those that are refused; and "other".

    >>> kind_of(2.0), kind_of([1, 2]), kind_of("x")
    ('number', 'list', 'other')
    """
    return _of_type(type(value))


def _of_type(kind: type) -> str:
    found = _known.known.get(kind)
    if found is None:
        found = _kind(kind)
        _known.keep(kind, found)
    return found


_of_type._dynamo_marked_constant = True  # type: ignore  # torch.compile asks once, while it compiles


allow("formula", "a formula, as rc.parse makes it", lambda value: kind_of(value) == "formula")


def register_kind(name: str, kind: type) -> None:
    """Say that a class of ricci's is of a kind: the room that has the class does."""
    _ours[kind] = name


def _kind(kind: type) -> str:
    if kind in (bool, int, float, complex):
        return "number"
    if issubclass(kind, (list, tuple)):
        return "list"
    for base in kind.__mro__:
        ours = _ours.get(base)
        if ours is not None:
            return ours
        package = base.__module__.partition(".")[0]
        if package == "numpy":
            return _of_numpy(kind, base)
        if package == "scipy" and base.__module__.startswith("scipy.sparse"):
            package = "sparse"
        if package in _PACKAGES and (hasattr(kind, "shape") or hasattr(kind, "__array__")):  # not a dtype or a device
            return _PACKAGES[package]
    return "other"


def _of_numpy(kind: type, base: type) -> str:
    """NumPy's arrays and scalars, and what is derived from them."""
    import numpy as np

    masked = sys.modules.get("numpy.ma")  # which takes its time to import, and where it is not, nothing is masked
    if masked is not None and issubclass(kind, masked.MaskedArray):
        return "masked"
    if issubclass(kind, np.matrix):
        return "matrix"
    if not issubclass(kind, (np.ndarray, np.generic)):
        return "other"
    plain = base if issubclass(kind, np.generic) else np.ndarray
    own = any(getattr(kind, name) is not getattr(plain, name) for name in _MEANING if hasattr(plain, name))
    return "subclass" if own else "numpy"


def check_usable(value: Any, what: str = "An operand", name: str = "x") -> None:
    """An error if ``value``, or something in a list, is of a kind that ricci refuses.

    >>> import numpy as np
    >>> check_usable(np.ma.masked_less([1.0, 2.0], 1.5), "The input 'x'")
    Traceback (most recent call last):
        ...
    ricci.errors.InputError: The input 'x' is a masked array, whose mask would be lost. Write x.filled(value), or ...
    """
    if kind_of(value) == "list":
        for part in _distinct_types(value):
            check_usable(part, what, name)
    else:
        fault = remedy(value, what, name)
        if fault:
            raise InputError(fault)


def check_numbers(value: Any, what: str, name: str = "x", real: bool = True) -> None:
    """An error if ``value`` is neither a number nor an array or a list of them, also one of another kind; they are
    ``real`` unless it says that they need not be.

    >>> check_numbers(["a", None], "The value of 'x'")
    Traceback (most recent call last):
        ...
    ricci.errors.DTypeError: The value of 'x' is made of real numbers, not of object: ['a', None].
    """
    check_usable(value, what, name)
    kind = kind_of(value)
    if kind in ("tensor", "traced", "torch", "jax", "cupy") or (kind == "number" and not isinstance(value, complex)):
        return
    if kind == "formula":
        raise InputError(f"{what} is made of numbers, and a formula has none until it is called: f(x=x).")
    import numpy as np

    try:
        dtype = np.asarray(value).dtype
    except (TypeError, ValueError, OverflowError) as error:
        raise DTypeError(f"{what} cannot be made an array: {error}") from error
    if dtype.kind not in ("biuf" if real else "biufc") and not has_tensors(value):
        raise DTypeError(f"{what} is made of {'real ' * real}numbers, not of {dtype}: {shown(value)}.")


def has_tensors(value: Any) -> bool:
    """Whether there are tensors or traced arrays in nested lists."""
    kind = kind_of(value)
    return kind in ("tensor", "traced") or (kind == "list" and any(map(has_tensors, value)))


def remedy(value: Any, what: str = "The array", name: str = "x") -> str:
    """Why a value is refused, and what to write in its place; empty if it is not."""
    found = _REFUSED.get(kind_of(value))
    if found is None:
        return ""
    called = f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}"
    return f"{what} {found[0].format(type=called)}. {found[1].format(x=name)}."


def _distinct_types(values: Iterable[Any]) -> Iterable[Any]:
    """One value of each type, and all lists: whether one is refused depends on its type."""
    seen: dict[type, Any] = {}
    for value in values:
        if isinstance(value, (list, tuple)):
            yield value
        else:
            seen.setdefault(type(value), value)
    yield from seen.values()


def as_numpy(value: Any, what: str = "An operand") -> Any:
    """A number or an array of any library as an array of NumPy; an error for what would lose something by it."""
    import numpy as np

    kind = kind_of(value)
    if kind == "torch":
        if value.requires_grad:
            raise RuleError(  # no TypeError, which PyTorch's operators would put in words of their own
                f"{what} is of PyTorch and has a gradient there, and gradients cannot flow from one library into "
                "another. Write t.detach(), or make all of them tensors of one library."
            )
        value = value.cpu()
    check_usable(value, what)
    return np.asarray(value)
