"""The traced tensor: a tensor of PyTorch, without data, that stands for a traced array.

It has a traced array inside; what PyTorch asks of it (its shape, type and device) PyTorch answers itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from ricci.dispatch import call, offered, register
from ricci.errors import DTypeError, TraceError
from ricci.functions.elementwise import stop_gradient
from ricci.tracing.array import Traced
from ricci.tracing.basics import checked_dtype, fresh, lift
from ricci.tracing.meanings import aside
from ricci.tracing.operand import Operand


class TracedTensor(torch.Tensor):
    """A tensor of PyTorch with a traced array in place of data."""

    traced: Traced | None  # none for a result that ricci does not compute
    fixed: bool  # whether it may not be changed in place: an argument of the traced function, or from outside
    base: TracedTensor | None  # what it is a view of
    read: Callable[[Traced], Traced] | None  # how it is read from that
    views: list  # its own views, as weak references

    @staticmethod
    def __new__(cls, traced: Traced | None, meta: torch.Tensor, device: torch.device) -> TracedTensor:
        made = torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, meta.shape, dtype=meta.dtype, device=device
        )
        made.traced, made.fixed, made.base, made.read, made.views = traced, False, None, None, []
        return made

    def __init__(self, *parts: Any):
        super().__init__()

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        return offered("of_torch")(function, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        return offered("of_torch")(function, args, kwargs or {})

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return call(ufunc if method == "__call__" else (ufunc, method), inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        return call(function, args, kwargs)

    def inside(self) -> Traced:
        """The traced array."""
        if self.traced is None:
            raise TraceError(
                f"A result of PyTorch of shape {tuple(self.shape)} is used that ricci does not compute, such as the "
                "places of the largest entries in F.max_pool2d(…, return_indices=True), or the factors behind "
                "torch.linalg.solve."
            )
        return self.traced

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.inside().__array__()

    def __repr__(self, **kwargs: Any) -> str:
        with torch._C.DisableTorchFunctionSubclass():  # it can be looked at after its function has returned, too
            return f"<traced tensor of shape {tuple(self.shape)}, {self.dtype}>"

    def __format__(self, spec: str) -> str:
        return format(self.inside(), spec) if spec else repr(self)

    def __hash__(self) -> int:
        return id(self)


# Operators, each as the function that it stands for: as methods of PyTorch, they would take an error of ricci's for a
# sign that the other operand might know better.

_FUNCTIONS = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "truediv": torch.true_divide,
    "pow": torch.pow,
    "floordiv": torch.floor_divide,
    "mod": torch.remainder,
    "matmul": torch.matmul,
    "and": torch.bitwise_and,
    "or": torch.bitwise_or,
    "xor": torch.bitwise_xor,
    "lt": torch.lt,
    "le": torch.le,
    "gt": torch.gt,
    "ge": torch.ge,
    "eq": torch.eq,
    "ne": torch.ne,
}
_SWAPPED = {
    "add": torch.add,
    "sub": torch.rsub,
    "mul": torch.mul,
    "and": torch.bitwise_and,
    "or": torch.bitwise_or,
    "xor": torch.bitwise_xor,
    "truediv": lambda x, other: torch.reciprocal(x) * other,
    "pow": lambda x, other: torch.pow(other, x),
    "matmul": lambda x, other: torch.matmul(other, x),
    "mod": lambda x, other: torch.remainder(other, x),
    "floordiv": lambda x, other: torch.floor_divide(other, x),
}
_IN_PLACE = {"add": "add_", "sub": "sub_", "mul": "mul_", "truediv": "div_", "floordiv": "floor_divide_", "pow": "pow_"}
_IN_PLACE |= {"mod": "remainder_", "and": "bitwise_and_", "or": "bitwise_or_", "xor": "bitwise_xor_"}


def _operator(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: TracedTensor, other: Any) -> Any:
        if isinstance(other, (np.ndarray, Operand)):
            other = wrapped(lift(other), self.device)
        return NotImplemented if isinstance(other, (str, bytes, dict, type(None))) else function(self, other)

    return method


for _name, _function in _FUNCTIONS.items():
    setattr(TracedTensor, f"__{_name}__", _operator(_function))
for _name, _function in _SWAPPED.items():
    setattr(TracedTensor, f"__r{_name}__", _operator(_function))
for _name, _method in _IN_PLACE.items():
    setattr(TracedTensor, f"__i{_name}__", _operator(lambda x, other, _method=_method: getattr(x, _method)(other)))


register("traced", TracedTensor, kind="torch")


def wrapped(x: Traced, device: torch.device | None = None) -> TracedTensor:
    """A traced array as a tensor of its type; a number of Python's has PyTorch's default type."""
    dtype = torch.get_default_dtype() if x.weak and x.dtype.kind == "f" else _torch_type(x.dtype)
    with aside():
        said = torch.empty(x.shape, dtype=dtype, device="meta")
    return TracedTensor(x, said, device or torch.device("cpu"))


def result_of(x: Traced, device: torch.device) -> TracedTensor:
    """The same for a result; under ``torch.no_grad()`` it is a constant for derivatives, as it is in PyTorch."""
    constant = not torch.is_grad_enabled() and x.dtype.kind in "fc"
    return wrapped(fresh(stop_gradient(x.expr), x.dtype) if constant else x, device)


def _torch_type(dtype: np.dtype) -> torch.dtype:
    found = getattr(torch, dtype.name, None)
    if not isinstance(found, torch.dtype):
        raise DTypeError(f"PyTorch has no type {dtype}; use one that it has, such as float64.")
    return found


def numpy_type(dtype: torch.dtype) -> np.dtype:
    """The type of NumPy's that a type of PyTorch's is."""
    try:
        return checked_dtype(dtype)
    except TypeError as error:
        raise DTypeError(f"A tensor has the type {dtype}, which ricci does not trace; use x.float().") from error


def plain_leaves(value: Any) -> Iterator[Any]:
    """The leaves of nested lists, tuples and dictionaries."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from plain_leaves(part)
    else:
        yield value
