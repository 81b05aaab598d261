"""The types of transforms, for those who check types: a derivative is like what it is taken by.

``rc.grad(f)`` takes the arguments of ``f`` and gives something like the first of them. A lambda has no types, nor has
what is made of it: hence ``bound=Any``, which lets its body be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, Generic, Literal, ParamSpec, Protocol, TypedDict, TypeVar

P = ParamSpec("P")
A = TypeVar("A", bound=Any)  # the first argument
R = TypeVar("R", bound=Any)  # the result
X = TypeVar("X")  # what is returned beside it
A_co = TypeVar("A_co", bound=Any, covariant=True)
R_co = TypeVar("R_co", bound=Any, covariant=True)

Argnums = int | str | Sequence[int] | Sequence[str]
Several = tuple[int, ...] | tuple[str, ...] | list[int] | list[str]
OfFirst = Callable[Concatenate[A, P], R]


class TransformOptions(TypedDict, total=False):
    """The options of all transforms."""

    static_argnums: int | Sequence[int]
    static_argnames: str | Sequence[str]
    backend: str | None
    jit: bool | None
    fused: bool | None
    roll: bool
    mesh: Any
    axes: Mapping[str, Any] | None
    blocks: Mapping[str, int | str | None] | str | Sequence[str] | None
    memory: int | str | None
    progress: Any
    threads: int | None


class DerivativeOptions(TransformOptions, total=False):
    """Those of derivatives, which say what they are by complex numbers: see ``conventions.py``."""

    convention: Literal["jax", "torch", "autograd"]
    wirtinger: bool
    holomorphic: bool


class AnyArray(Protocol):
    """An array of any library."""

    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...


ArrayT = TypeVar("ArrayT", bound=AnyArray)
ResultT = TypeVar("ResultT", bound=AnyArray | float)


class Blocks(Generic[A_co, R_co]):
    """Derivatives of all of a result by all of an argument: an array if both are, otherwise a tree of arrays."""
