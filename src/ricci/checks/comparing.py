"""``check_grads``: derivatives of a function compared with numerical ones.

A derivative of order ``n`` is checked as the first derivative of one of order ``n - 1``, which has itself been checked.
The function alone is run as plain NumPy, without any of ricci.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ricci.checked_calls import shown, takes
from ricci.checks.differences import Arrays, CheckedCall, Function, along, basis, column, size_of
from ricci.errors import GradientMismatchError, InputError
from ricci.tracing import trees
from ricci.transforms.linear import identity, jvp, vjp
from ricci.transforms.transformed import Transformed

MOST_ORDERS = 12  # of derivatives: each doubles the work
MOST_ENTRIES = 400  # that are looked at one by one to say where a derivative is wrong
RTOL = {"f8": 1e-6, "f4": 2e-4, "f2": 2e-2, "c8": 2e-4}
MODES = {"forward": "forward", "fwd": "forward", "reverse": "reverse", "rev": "reverse"}


@takes(
    "rc.check_grads",
    f="function",
    order="count",
    modes="names",
    rtol="amount or None",
    atol="amount or None",
    eps="step or None",
    kwargs="by name or None",
    seed="count",
)
def check_grads(
    f: Callable[..., Any],
    args: Any,
    order: int = 2,
    modes: Sequence[str] | str = ("forward", "reverse"),
    rtol: float | None = None,
    atol: float | None = None,
    eps: float | None = None,
    kwargs: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> None:
    """Raises ``GradientMismatchError`` where a derivative of ``f`` differs from the numerical one.

    ``args`` is the tuple of arguments; one array may stand alone. Derivatives are taken in random directions by all
    floating arrays in the arguments, and by both parts of complex ones, whole numbers and truth values stay as they
    are, up to ``order``, by every sequence of ``modes``. Also the value of the traced function is compared with that of
    the plain one. The tolerances follow from the types of the arrays unless they are given; ``eps`` is the largest step
    of the differences, for functions that change faster than their arguments suggest.

    >>> import numpy as np, ricci as rc
    >>> rc.check_grads(lambda x, w: np.tanh(x @ w).sum(), (np.ones((2, 3)), np.arange(3.0)))
    """
    chosen = _modes(modes)
    if order > MOST_ORDERS:
        raise InputError(f"rc.check_grads goes up to the order {MOST_ORDERS}, not to {shown(order)}.")
    call = CheckedCall(f, args if isinstance(args, tuple) else (args,), dict(kwargs or {}))
    tolerance = _Tolerance.of(call, rtol, atol)
    _check_value(call, tolerance)
    random = np.random.default_rng(seed)
    _Check(call, tolerance, eps, random).all(call.plain, call.function, call.xs, order, chosen, ())


def _modes(modes: Sequence[str] | str) -> list[str]:
    given = [modes] if isinstance(modes, str) else list(modes)
    if not given:
        raise InputError('rc.check_grads has nothing to check without modes; they are "forward" and "reverse".')
    for mode in given:
        if mode not in MODES:
            raise InputError(f'rc.check_grads: the modes are "forward" and "reverse", not {mode!r}.')
    return list(dict.fromkeys(MODES[mode] for mode in given))


@dataclass(frozen=True)
class _Tolerance:
    rtol: float
    atol: float | None

    @classmethod
    def of(cls, call: CheckedCall, rtol: float | None, atol: float | None) -> _Tolerance:
        """The tolerances given, or those of the narrowest type among arguments and results."""
        arrays = [*call.xs, *[np.asarray(trees.flatten(call.value)[0][k]) for k in call.smooth]]
        found = max([RTOL.get(a.dtype.str[1:], 1e-6) for a in arrays])
        return cls(found if rtol is None else rtol, atol)

    def of_entries(self, wanted: np.ndarray, doubt: Any, size: float) -> np.ndarray:
        """How far entries may be from ``wanted``: known up to ``doubt``, and made of terms of about ``size``."""
        scale = float(np.max(np.abs(wanted), initial=0, where=np.isfinite(wanted)))
        atol = self.rtol * max(scale / 10, size / 1000) if self.atol is None else self.atol
        return atol + self.rtol * np.abs(wanted) + np.minimum(4 * doubt, np.sqrt(self.rtol) * scale)


def _check_value(call: CheckedCall, tolerance: _Tolerance) -> None:
    """Whether the traced function has the value of the plain one."""
    found = Transformed(call.function, identity, "check_grads")(*call.xs)
    for k, (value, wanted) in enumerate(zip(found, call.plain(*call.xs), strict=True)):
        value = np.asarray(value, np.float64)
        if value.shape != wanted.shape:
            raise GradientMismatchError(
                f"{call.name}: traced, result {k} has the shape {value.shape}; run as it is, {wanted.shape}."
            )
        size = float(np.max(np.abs(wanted), initial=0, where=np.isfinite(wanted)))
        same = (value == wanted) | (np.isnan(value) & np.isnan(wanted))
        wrong = ~same & ~(np.abs(value - wanted) <= tolerance.of_entries(wanted, 0.0, size))
        if np.any(wrong):
            i = tuple(map(int, np.argwhere(wrong)[0]))
            raise GradientMismatchError(
                f"{call.name}: the traced function has another value than the plain one. Result {k}{_entry(i)} is "
                f"{value[i]:.10g} traced, and {wanted[i]:.10g} run as it is."
            )


def _entry(index: Sequence[int]) -> str:
    return f", entry {list(index)}," if index else ""


@dataclass(frozen=True)
class _Step:
    """One derivative of a derivative, at which they are compared."""

    plain: Function  # what is differentiated, run on arrays
    function: Function  # the same, to be traced
    xs: Arrays
    modes: tuple[str, ...]  # of all the orders, the last one first


class _Check:
    """The comparison of all derivatives of one call."""

    def __init__(self, call: CheckedCall, tolerance: _Tolerance, eps: float | None, random: np.random.Generator):
        self.call, self.tolerance, self.eps, self.random = call, tolerance, eps, random
        self.size = 0.0  # of the largest value so far: what is zero by chance is known up to the digits of that

    def all(
        self, plain: Function, function: Function, xs: Arrays, order: int, modes: Sequence[str], done: tuple[str, ...]
    ) -> None:
        """The derivatives of ``function`` up to ``order``; ``done`` are the modes by which it was made of the first."""
        if not order or not self.call.smooth:
            return
        vs = [self._random(x) * size_of(x) for x in xs]
        wanted, doubts = along(plain, xs, vs, self.eps)
        for mode in modes:
            step = _Step(plain, function, xs, (mode, *done))
            derived = (
                self._forward(step, vs, wanted, doubts)
                if mode == "forward"
                else self._reverse(step, vs, wanted, doubts)
            )
            self.all(lambda *x, d=derived: [np.asarray(y) for y in d(*x)], derived, xs, order - 1, modes, step.modes)

    def _random(self, x: np.ndarray) -> np.ndarray:
        v = self.random.normal(size=x.shape)
        return v / (float(np.sqrt(np.sum(v**2))) or 1.0)

    def _forward(self, step: _Step, vs: Arrays, wanted: Arrays, doubts: Arrays) -> Function:
        """The derivatives along ``vs`` by forward mode, checked, as functions of the point."""
        dots = [v.astype(x.dtype) for v, x in zip(vs, step.xs, strict=True)]

        def derived(*xs: Any) -> Any:
            return jvp(step.function, xs, dots)[1]

        values = step.plain(*step.xs)
        for found, n, doubt, y in zip(derived(*step.xs), wanted, doubts, values, strict=True):
            self.size = size = max(float(np.max(np.abs(y), initial=0)), self.size)
            if not np.all(np.abs(np.asarray(found) - n) <= self.tolerance.of_entries(n, doubt, size)):
                self._fail(step, found, n)
        return derived

    def _reverse(self, step: _Step, vs: Arrays, wanted: Arrays, doubts: Arrays) -> Function:
        """The gradients by reverse mode of a random combination of the results, checked, as functions of the point."""
        values = [np.asarray(y) for y in step.function(*step.xs)]
        one = len(values) == 1 and not values[0].shape  # then the gradient is that of the function itself
        ws = [np.ones(()) if one else self.random.normal(size=y.shape) for y in values]
        bars = tuple([np.asarray(w, y.dtype) for w, y in zip(ws, values, strict=True)])

        def derived(*xs: Any) -> tuple:
            return vjp(step.function, *xs)[1](bars)

        found = sum(float(np.sum(g * v)) for g, v in zip(derived(*step.xs), vs, strict=True))
        n, doubt, size, terms = 0.0, 0.0, 0.0, 0.0
        for w, row, unsure, y in zip(ws, wanted, doubts, values, strict=True):
            n += float(np.sum(w * row))
            doubt += float(np.sum(np.abs(w) * unsure))
            size += float(np.sum(np.abs(w * y)))
            terms += float(np.sum(np.abs(w * row)))
        self.size = size = max(size, self.size)
        allowed = self.tolerance.of_entries(np.asarray(n), doubt, size) + self.tolerance.rtol * terms / 10
        if not abs(found - n) <= allowed:
            self._fail(step, found, n, ws)
        return derived

    # What is wrong

    def _fail(self, step: _Step, found: Any, wanted: Any, ws: Arrays | None = None) -> None:
        """The error, with the argument and the entry where the derivatives differ most."""
        name, over = self.call.name, " over ".join(step.modes)
        head = (
            f"The derivative of {name} of order {len(step.modes)} by {over} mode differs from the numerical one "
            f"(rtol={self.tolerance.rtol:g}, atol={'by size' if self.tolerance.atol is None else self.tolerance.atol})."
        )
        places, *columns = zip(*self._entries(step, ws), strict=True)
        values, numbers, doubts = map(np.asarray, columns)
        allowed = self.tolerance.of_entries(numbers, doubts, 0.0)
        with np.errstate(all="ignore"):
            excess = np.nan_to_num(np.abs(values - numbers) - allowed, nan=np.inf)
        k = int(np.argmax(excess))
        if excess[k] > 0:
            raise GradientMismatchError(
                f"{head} Most by {places[k]}: it is {values[k]:.10g}, and numerically {numbers[k]:.10g}, "
                f"where {allowed[k]:.2g} is allowed."
            )
        found, wanted = np.asarray(found), np.asarray(wanted)
        k = int(np.argmax(np.abs(found - wanted)))
        raise GradientMismatchError(
            f"{head} In a random direction it is {found.flat[k]:.10g}, and numerically {wanted.flat[k]:.10g}; no "
            f"single one of the {len(places)} entries that were looked at differs by as much."
        )

    def _entries(self, step: _Step, ws: Arrays | None) -> Iterator[tuple[str, float, float, float]]:
        """Entry by entry of the arguments: where, the derivative, the numerical one, and how far that may be off."""
        gradients = None
        if ws is not None:
            types = [np.asarray(y).dtype for y in step.function(*step.xs)]
            bars = tuple([np.asarray(w, t) for w, t in zip(ws, types, strict=True)])
            gradients = vjp(step.function, *step.xs)[1](bars)
        share = max(1, MOST_ENTRIES // len(step.xs))
        for k, x in enumerate(step.xs):
            chosen = range(x.size) if x.size <= share else self.random.choice(x.size, share, replace=False)
            for i in sorted(map(int, chosen)):
                index = tuple(map(int, np.unravel_index(i, x.shape)))
                where = self.call.describe(k) + (f", entry {list(index)}" if index else "")
                columns, doubts = column(step.plain, step.xs, k, i, self.eps)
                if gradients is None:
                    yield from self._results(step, k, i, where, columns, doubts)
                else:
                    assert ws is not None
                    value = float(np.asarray(gradients[k]).flat[i])
                    number = sum(float(np.sum(w * c)) for w, c in zip(ws, columns, strict=True))
                    doubt = sum(float(np.sum(np.abs(w) * d)) for w, d in zip(ws, doubts, strict=True))
                    yield where, value, number, doubt

    def _results(
        self, step: _Step, k: int, i: int, where: str, columns: Arrays, doubts: Arrays
    ) -> Iterator[tuple[str, float, float, float]]:
        """The same for one entry and forward mode, by the entries of the results."""
        dots = [e.astype(x.dtype) for e, x in zip(basis(step.xs, k, i), step.xs, strict=True)]
        for p, found in enumerate(jvp(step.function, step.xs, dots)[1]):
            found = np.asarray(found, np.float64)
            if not found.size:
                continue
            j = int(np.argmax(np.where(np.isnan(found), np.inf, np.abs(found - columns[p]))))
            index = list(map(int, np.unravel_index(j, found.shape)))
            result = f"result {p}" if len(columns) > 1 else "the result"
            place = f" (of {result}, entry {index})" if index else f" (of {result})" if len(columns) > 1 else ""
            yield where + place, found.flat[j], columns[p].flat[j], doubts[p].flat[j]
