"""Functions with a rule, of complex numbers: as functions of the parts of these, which are real.

A rule need not be that of a holomorphic function. In the conventions of JAX, as everywhere, tangents ``t`` are changes,
and what comes in and flows back, ``w``, says that the result of a change ``dy`` is ``Re(w dy)``:

    dy = jvp(z, t)                    by the parts of t, and the parts of dy
    v = vjp(z, w)                     w = a - ib of what comes in by the parts; Re v and -Im v flow back to those of z
    derivative(z) = ∂y/∂z             of a function that is holomorphic
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ricci.errors import InputError, ShapeError

Rule = tuple[str, Any]
Parts = Sequence[Any]


def whole(parts: Parts, complexes: Sequence[bool], sign: int = 1) -> list[Any]:
    """Numbers by their parts, two for each that is complex; ``sign`` is that of the imaginary ones."""
    left = iter(parts)
    return [next(left) + sign * 1j * next(left) if two else next(left) for two in complexes]


def apart(values: Sequence[Any], complexes: Sequence[bool], sign: int = 1) -> list[Any]:
    """What :func:`whole` puts together."""
    return [p for x, two in zip(values, complexes, strict=True) for p in (_pair(x, sign) if two else (np.real(x),))]


def _pair(x: Any, sign: int) -> Iterator[Any]:
    yield np.real(x)
    yield sign * np.imag(x) if np.iscomplexobj(x) else 0 * np.real(x)


class ByParts:
    """A function of real arrays, the parts of its operands; the result, if complex, has its parts along a new axis."""

    def __init__(self, function: Callable[..., Any], complexes: Sequence[bool], name: str):
        self.function, self.complexes, self.__name__ = function, tuple(complexes), name
        self.gives_complex = False

    def __call__(self, *parts: Any) -> Any:
        y = self.function(*whole(parts, self.complexes))
        self.gives_complex = np.iscomplexobj(y)
        return np.stack(list(_pair(y, 1))) if self.gives_complex else y

    def rule(self, kind: str, rule: Any) -> Rule:
        """The rule of this function, by that of the other one."""
        if kind == "vjp":
            return kind, lambda parts, bar: self._back(rule, parts, bar)
        if kind == "jvp":
            return kind, lambda parts, tangents: self._along(rule, parts, tangents)
        if kind == "derivative":
            if isinstance(rule, str):
                raise InputError(
                    f"The derivative of {self.__name__} by complex numbers is a text; write it as a function."
                )
            return "jvp", lambda parts, tangents: self._along(self._linear(rule), parts, tangents)
        return kind, rule

    def _back(self, rule: Callable[..., Any], parts: Parts, bar: Any) -> tuple:
        bar = bar[0] - 1j * bar[1] if self.gives_complex else bar
        found = rule(tuple(whole(parts, self.complexes)), bar)
        found = found if isinstance(found, (tuple, list)) else (found,)
        if len(found) != len(self.complexes):
            raise InputError(
                f"The rule of {self.__name__} gives {len(found)} arrays; it should give {len(self.complexes)}, one "
                "each."
            )
        return tuple(apart(found, self.complexes, -1))

    def _along(self, rule: Callable[..., Any], parts: Parts, tangents: Parts) -> Any:
        found = rule(tuple(whole(parts, self.complexes)), tuple(whole(tangents, self.complexes)))
        dy = found[1] if isinstance(found, tuple) else found
        return np.stack(list(_pair(dy, 1))) if self.gives_complex else np.real(dy)

    def _linear(self, rule: Callable[..., Any]) -> Callable[[tuple, tuple], Any]:
        """The change along tangents, by the derivatives."""

        def along(primals: tuple, tangents: tuple) -> Any:
            shape = np.shape(self.function(*primals))
            found = rule(*primals)
            found = found if isinstance(found, tuple) else (found,)
            total = 0
            for part, t in zip(found, tangents, strict=True):
                if np.shape(part) == (*shape, *np.shape(t)) and (np.shape(t) or not shape):
                    total = total + np.tensordot(part, t, np.ndim(t))
                elif np.shape(part) in (shape, ()) and np.shape(t) == shape:
                    total = total + part * t
                else:
                    raise ShapeError(
                        f"The derivative of {self.__name__} has the shape {np.shape(part)}; entry by entry it has that "
                        f"of the result, {shape}, and whole that and the operand's, {(*shape, *np.shape(t))}."
                    )
            return total

        return along
