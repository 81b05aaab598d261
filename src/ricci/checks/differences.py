"""Numerical derivatives: central differences, extrapolated.

The derivative of ``φ(t) = f(x + t v)`` at 0 is the limit of the central differences ``(φ(h) - φ(-h)) / 2h``, whose
error is a series in ``h²``. So differences for ``h, h/2, h/4, …`` are extrapolated to ``h = 0`` (Richardson), which
removes one term of the series after the other until rounding takes over; of all the extrapolations that one is taken
whose neighbours differ least from it, entry by entry. That gives ten digits and more of a smooth function, and says how
many.

Complex numbers are two real ones each, their parts, in arguments and in results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ricci.checked_calls import call_back, takes
from ricci.errors import DTypeError, InputError
from ricci.kinds import check_usable
from ricci.tracing import trees
from ricci.transforms.formula_functions import as_function

LEVELS = 10  # steps h, h/2, …
STEP = 2.0**-4  # the largest one, relative to the size of the argument
Arrays = list[np.ndarray]
Function = Callable[..., Sequence[Any]]


class CheckedCall:
    """A function and its arguments, as a function of the floating arrays among them."""

    def __init__(
        self, f: Callable, args: tuple, kwargs: dict[str, Any], by: set[int] | None = None, what: str = "check_grads"
    ):
        f = as_function(f, what)
        if not callable(f):
            raise InputError(f"rc.{what} takes a function and its arguments, not {type(f).__name__}.")
        self.f, self.args, self.kwargs, self.what = f, args, kwargs, what
        self.name = getattr(f, "__name__", type(f).__name__)
        self.leaves, self.form = trees.flatten((args, kwargs))
        check_usable(self.leaves, f"An argument of rc.{what}")
        words = [f"argument {k}" for k in range(len(args))] + [f"argument {key!r}" for key in sorted(kwargs)]
        forms = [*self.form[2][0][2], *self.form[2][1][2]]
        paths = [(k, path) for k, form in enumerate(forms) for path in trees.spelled(form)]
        self.where = [words[k] + (f" at {path}" if path else "") for k, path in paths]
        self.owners = [k for k, _ in paths]
        wanted = [k for k, own in enumerate(self.owners) if by is None or own in by]
        smooth = [k for k in wanted if floating(self.leaves[k])]
        self.parts = [(k, part) for k in smooth for part in (PARTS if is_complex(self.leaves[k]) else ("",))]
        self.places = [k for k, _ in self.parts]
        if not self.places or (by is not None and len(smooth) < len(wanted)):
            raise DTypeError(
                f"rc.{what} differentiates by floating numbers; the arguments of {self.name} hold "
                f"{'others' if self.places else 'none'}. Write 2.0 in place of 2, or x.astype(float)."
            )
        self.xs = [_part(np.asarray(self.leaves[k]), part) for k, part in self.parts]
        with np.errstate(all="ignore"):
            self.value = call_back(f"rc.{what}", f, *args, **kwargs)
        values, self.out_form = trees.flatten(self.value)
        self.smooth = [k for k, leaf in enumerate(values) if floating(leaf)]
        self.results = [(k, p) for k in self.smooth for p in (PARTS if is_complex(values[k]) else ("",))]
        if not values:
            raise InputError(f"rc.{what}: {self.name} returns nothing. Did it forget to return its result?")
        if by is not None and len(self.smooth) < len(values):
            raise DTypeError(f"rc.{what}: {self.name} returns what is no floating array, and has no derivative.")

    def argument(self, k: int) -> int:
        """The number of the argument that the floating array ``k`` belongs to."""
        return self.owners[self.places[k]]

    def describe(self, k: int) -> str:
        """Where the floating array ``k`` stands in the arguments."""
        place, part = self.parts[k]
        return self.where[place] + (f" (its {part} part)" if part else "")

    def function(self, *xs: Any) -> tuple:
        """The floating results, of arrays or of traced arrays."""
        leaves = list(self.leaves)
        for (place, part), x in zip(self.parts, xs, strict=True):
            leaves[place] = leaves[place] + 1j * x if part == "imag" else x
        args, kwargs = trees.unflatten(self.form, leaves)
        found = trees.flatten(call_back(f"rc.{self.what}", self.f, *args, **kwargs))[0]
        return tuple([_part(found[k], part) for k, part in self.results])

    def plain(self, *xs: Any) -> Sequence[Any]:
        """The same, of arrays alone."""
        return [np.asarray(y, np.float64) for y in self.function(*[x if x.ndim else x[()] for x in xs])]


PARTS = ("real", "imag")


def _part(x: Any, part: str) -> Any:
    return x if not part else np.real(x) if part == "real" else np.imag(x)


def is_complex(leaf: Any) -> bool:
    return np.asarray(leaf).dtype.kind == "c"


def floating(leaf: Any) -> bool:
    if isinstance(leaf, (bool, int, str, bytes)) or leaf is None or callable(leaf):
        return False
    return np.asarray(leaf).dtype.kind in "fc"


def along(plain: Function, xs: Arrays, vs: Arrays, eps: float | None) -> tuple[Arrays, Arrays]:
    """The derivatives of the results along ``vs``, and how far they may be off.

    Computed in double precision, whatever the type of the arrays.
    """
    wide = [x.astype(np.float64) for x in xs]
    moved = max([float(np.max(np.abs(v), initial=0)) for v in vs])
    h = (STEP if eps is None else eps / (moved or 1)) * 2  # halved before it is used
    best: list[Any] = []
    rows: list[list[Arrays]] = []  # rows[k][m]: step k, m terms of the series removed
    with np.errstate(all="ignore"):
        for k in range(LEVELS):
            h /= 2
            up, down = [plain(*[x + s * v for x, v in zip(wide, vs, strict=True)]) for s in (h, -h)]
            row = [[(np.asarray(a) - b) / (2 * h) for a, b in zip(up, down, strict=True)]]
            for m in range(1, k + 1):
                last = rows[-1][m - 1]
                row.append([a + (a - b) / (4**m - 1) for a, b in zip(row[-1], last, strict=True)])
                error = [
                    np.maximum(np.abs(new - a), np.abs(new - b))
                    for new, a, b in zip(row[m], row[m - 1], last, strict=True)
                ]
                best = _better(best, row[m], error)
            rows.append(row)
    return [value for value, _ in best], [doubt for _, doubt in best]


def _better(best: list[Any], values: Arrays, errors: Arrays) -> list[Any]:
    """For each entry the value with the smaller error."""
    errors = [np.where(np.isfinite(value) & np.isfinite(e), e, np.inf) for value, e in zip(values, errors, strict=True)]
    if not best:
        return list(zip(values, errors, strict=True))
    return [
        (np.where(error < doubt, value, old), np.minimum(error, doubt))
        for (old, doubt), value, error in zip(best, values, errors, strict=True)
    ]


def basis(xs: Arrays, k: int, i: int) -> Arrays:
    """The direction of one entry."""
    vs = [np.zeros(x.shape) for x in xs]
    vs[k].flat[i] = 1.0
    return vs


def column(plain: Function, xs: Arrays, k: int, i: int, eps: float | None) -> tuple[Arrays, Arrays]:
    """The derivatives of the results by entry ``i`` of the array ``k``, and how far they may be off."""
    size = size_of(xs[k])
    values, doubts = along(plain, xs, [e * size for e in basis(xs, k, i)], eps)
    return [v / size for v in values], [d / size for d in doubts]


def size_of(x: np.ndarray) -> float:
    """The size of the entries of an array; 1 where they are zero."""
    finite = x[np.isfinite(x)].astype(np.float64)
    size = float(np.sqrt(np.mean(finite**2))) if finite.size else 0.0
    return size or 1.0


@takes("rc.numerical_jacobian", f="function", argnums="places", eps="step or None")
def numerical_jacobian(f: Callable[..., Any], *args: Any, argnums: Any = 0, eps: float | None = None) -> Any:
    """The Jacobian of ``f`` at ``args`` by differences: an array with the axes of the result, then of the argument.

    It has the form that ``rc.jacobian(f, argnums)(*args)`` has, and by complex numbers its meaning. ``eps`` is the
    largest step.

    >>> import numpy as np, ricci as rc
    >>> rc.numerical_jacobian(lambda x: x**2, np.array([1.0, 2.0])).round(6)
    array([[2., 0.],
           [0., 4.]])
    """
    single = isinstance(argnums, (int, np.integer))
    numbers: Sequence[Any] = [argnums] if single else list(argnums)
    if any(not isinstance(k, (int, np.integer)) or not -len(args) <= k < len(args) for k in numbers):
        raise InputError(
            f"rc.numerical_jacobian: argnums={argnums!r} asks for an argument that the call does not have; "
            f"there are {len(args)}, numbered from 0."
        )
    call = CheckedCall(f, args, {}, {k % len(args) for k in numbers}, "numerical_jacobian")
    columns = [column(call.plain, call.xs, k, i, eps)[0] for k, x in enumerate(call.xs) for i in range(x.size)]
    values = [np.asarray(y) for y in call.plain(*call.xs)]
    blocks, start = [], 0
    for x in call.xs:
        own = columns[start : start + x.size]
        rows = [np.stack(r, axis=-1) if r else np.zeros((*y.shape, 0)) for y, r in _by_result(values, own)]
        blocks.append([row.reshape((*y.shape, *x.shape)) for y, row in zip(values, rows, strict=True)])
        start += x.size
    by_result = [[block[p] for block in blocks] for p in range(len(values))]
    by_result, owner = _joined(call, by_result)
    order = [k % len(args) for k in numbers]

    def gathered(row: list[np.ndarray]) -> Any:
        parts = []
        for number in order:
            leaves = [entry for entry, own in zip(row, owner, strict=True) if own == number]
            parts.append(trees.unflatten(trees.flatten(args[number])[1], leaves))
        return parts[0] if single else tuple(parts)

    return trees.unflatten(call.out_form, [gathered(row) for row in by_result])


def _joined(call: CheckedCall, rows: list[list[np.ndarray]]) -> tuple[list[list[np.ndarray]], list[int]]:
    """Derivatives by the parts of complex numbers as those by the numbers, in JAX's convention; and whose they are."""
    made: list[list[np.ndarray]] = []
    parts = [part for _, part in call.parts]
    for (_, part), row in zip(call.results, rows, strict=True):
        if part and any(parts):
            raise DTypeError(
                f"rc.numerical_jacobian: {call.name} makes complex numbers of complex ones, and has two derivatives. "
                "Take those by the parts, as of lambda x, y: f(x + 1j * y) with argnums=(0, 1)."
            )
        joined = [row[k] - 1j * row[k + 1] if p else row[k] for k, p in enumerate(parts) if p != "imag"]
        if part == "imag":
            made[-1] = [a + 1j * b for a, b in zip(made[-1], joined, strict=True)]
        else:
            made.append(joined)
    return made, [call.argument(k) for k, part in enumerate(parts) if part != "imag"]


def _by_result(values: Sequence[Any], columns: Sequence[Arrays]) -> Iterator[tuple[Any, Arrays]]:
    for p, y in enumerate(values):
        yield y, [column[p] for column in columns]
