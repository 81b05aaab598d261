"""What a derivative by a complex number is, where there is more than one meaning.

A function of a complex ``z = x + iy`` has two derivatives, Wirtinger's, by ``z`` and by its conjugate, and

    df = ∂f/∂z dz + ∂f/∂z̄ dz̄        ∂f/∂z = (∂f/∂x - i ∂f/∂y)/2        ∂f/∂z̄ = (∂f/∂x + i ∂f/∂y)/2

- ``wirtinger``: both, as a pair;
- ``holomorphic``: of a function that does not depend on ``z̄``, the first one;
- otherwise the function is real, the second is the conjugate of the first, and its gradient is ``∂f/∂x - i ∂f/∂y``,
  twice the first, in JAX and autograd, and twice the second, ``∂f/∂x + i ∂f/∂y``, the direction in which it rises
  most, in PyTorch.

What flows back in JAX's convention is a ``w`` for which ``Re(w dy)`` is the change that ``dy`` makes; in PyTorch's it
is the conjugate. Directions, in forward mode, are the same in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ricci.calculus.gradients import parts_real
from ricci.calculus.graph import pullbacks
from ricci.checked_calls import check, shown
from ricci.errors import DTypeError, InputError, nearest
from ricci.expr import Expr, Function, conj, one, topological
from ricci.expr.structures import is_zero
from ricci.simplify import simplify
from ricci.tracing.basics import complex_type

CONVENTIONS = ("jax", "torch", "autograd")
OPTIONS = ("convention", "wirtinger", "holomorphic")


@dataclass(frozen=True)
class Meaning:
    """What is asked for."""

    convention: str = "jax"
    wirtinger: bool = False
    holomorphic: bool = False

    @classmethod
    def of(cls, what: str, options: dict[str, Any]) -> Meaning:
        """What options of a transform ask for, which are taken out of them."""
        given = {name: options.pop(name) for name in OPTIONS if name in options}
        for name in ("wirtinger", "holomorphic"):
            check(f"rc.{what}", name, given.get(name, False), "flag")
        found = cls(**given)
        if found.convention not in CONVENTIONS:
            hint = nearest(str(found.convention), CONVENTIONS)
            raise InputError(
                f"rc.{what}: convention={shown(found.convention)} is none of 'jax', 'torch' and 'autograd'. "
                f"{hint}".rstrip()
            )
        if found.wirtinger and found.holomorphic:
            raise InputError(
                f"rc.{what}: a holomorphic function has one derivative, and wirtinger=True asks for two; drop one of "
                "the options."
            )
        return found

    @property
    def turned(self) -> bool:
        """Whether gradients are the conjugates of JAX's."""
        return self.convention == "torch"

    def check(self, what: str, name: str, y: Expr, is_complex: bool, xs: Sequence[Expr]) -> None:
        """Whether the derivative of a result, which may be complex, has this meaning."""
        among = [x for x in xs if x.complex]
        if self.holomorphic:
            self._check_holomorphic(what, name, y, is_complex, xs)
        elif among and is_complex and not self.wirtinger:
            raise DTypeError(
                f"rc.{what}: {name} makes complex numbers of complex ones, and has two derivatives, by z and by its "
                f"conjugate. Write rc.{what}(f, holomorphic=True) if it depends on z alone (as z**2 and exp(z) do, and "
                f"abs(z) and conj(z) do not), or rc.{what}(f, wirtinger=True) for both; or return a real number, such "
                "as abs(y)**2 or y.real."
            )

    def _check_holomorphic(self, what: str, name: str, y: Expr, is_complex: bool, xs: Sequence[Expr]) -> None:
        if not is_complex:
            raise DTypeError(
                f"rc.{what}: with holomorphic=True the result is complex, and {name} returns real numbers; drop "
                "holomorphic=True."
            )
        if not all(x.complex for x in xs):
            raise DTypeError(
                f"rc.{what}: with holomorphic=True the arguments are complex, and {name} is differentiated by real "
                "ones. Write x.astype(complex), or drop holomorphic=True."
            )
        if any(isinstance(node, Function) and node.op.loop is not None for node in topological(y)):
            return  # loops go over both parts of what they carry, whatever they do
        for x in xs:
            (found,) = pullbacks(y, one(y.shape), [conj(x)])
            if not is_zero(simplify(found)):
                raise DTypeError(
                    f"rc.{what}: {name} is not holomorphic: it depends on the conjugate of its argument too, as "
                    f"abs(z), z.real and conj(z) do. Write rc.{what}(f, wirtinger=True) for the derivatives by both."
                )

    def of_one(self, e: Expr, is_complex: bool, x: Expr) -> Expr:
        """The derivative of a result as it is meant, ``e`` being that by ``x``."""
        if not is_complex and not x.complex:
            return parts_real(e)
        if is_complex or self.wirtinger or self.holomorphic:
            return e
        return conj(2 * e) if self.turned else 2 * e

    def type(self, y: np.dtype, x: np.dtype) -> np.dtype:
        """The type of the derivative of a result by an argument."""
        return complex_type(x) if y.kind == "c" and x.kind != "c" else x
