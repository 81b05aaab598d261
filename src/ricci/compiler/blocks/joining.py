"""What two neighbouring blocks gave, joined: the rules by which partial results become those of the whole.

A rule has *parts*, the arrays that a block gives, and joins those of two neighbours into what their union would have
given; so blocks can be joined in any grouping, as long as they stay in order. They are

    sum, product, largest, smallest, all, any     one array, by one function
    logsumexp                                     log(exp(a) + exp(b))
    place of the largest                          the place in the whole, and the value there
    a sum with the weights of a softmax           log(sum(exp(s))), and the weighted mean: the larger the first, the
                                                  more the second counts
    a sum with the shares of the largest          the largest, how many there are, and the mean over them
    a sum of squared distances from the mean      how many, their sum, and the squares (Chan, Golub and LeVeque 1979)

Everything here works on arrays of NumPy, also in processes that have nothing else to do with ricci.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Parts = tuple[Any, ...]


class JoinRule:
    """How the parts of two neighbours are joined; ``words`` is how plans call what comes out."""

    words = "partial sums"

    def placed(self, parts: Parts, start: int) -> Parts:
        """The parts of a block that begins at ``start``."""
        return parts

    def join(self, a: Parts, b: Parts, own: bool = False) -> Parts:
        """The parts of both; the arrays of ``a`` may be written over where they are the caller's ``own``."""
        raise NotImplementedError

    def total(self, parts: Parts) -> Any:
        """What the parts of everything give."""
        return parts[-1]


@dataclass(frozen=True)
class ByFunction(JoinRule):
    """One array, by a function of NumPy."""

    function: np.ufunc
    words: str

    def join(self, a: Parts, b: Parts, own: bool = False) -> Parts:
        x, y = a[0], b[0]
        fits = own and isinstance(x, np.ndarray) and x.dtype == x_type(y)
        return (self.function(x, y, out=x) if fits else self.function(x, y),)


@dataclass(frozen=True)
class ByPlace(JoinRule):
    """The place of the largest entry, or of the smallest: the first of several."""

    better: np.ufunc
    words: str = "places"

    def placed(self, parts: Parts, start: int) -> Parts:
        return (parts[0], parts[1] + start)

    def join(self, a: Parts, b: Parts, own: bool = False) -> Parts:
        with np.errstate(invalid="ignore"):
            later = self.better(b[0], a[0]) | (np.isnan(b[0]) & ~np.isnan(a[0]))
        return np.where(later, b[0], a[0]), np.where(later, b[1], a[1])


@dataclass(frozen=True)
class BySoftShares(JoinRule):
    """A sum with the weights of a softmax; ``axes`` are those of the sum that the weights have."""

    axes: tuple[int, ...]
    words: str = "weighted sums"

    def join(self, a: Parts, b: Parts, own: bool = False) -> Parts:
        both = np.logaddexp(a[0], b[0])
        with np.errstate(invalid="ignore"):
            shares = [np.exp(x[0] - both) for x in (a, b)]
        shares = [np.where(np.isneginf(both), 0.5, share).astype(x[1].dtype) for share, x in zip(shares, (a, b))]
        return both, sum(_on(share, self.axes, x[1].ndim) * x[1] for share, x in zip(shares, (a, b)))


@dataclass(frozen=True)
class ByHardShares(JoinRule):
    """A sum with the shares of the largest entries, or of the smallest."""

    better: np.ufunc
    axes: tuple[int, ...]
    words: str = "sums over the extreme entries"

    def join(self, a: Parts, b: Parts, own: bool = False) -> Parts:
        first, second = ~self.better(b[0], a[0]), ~self.better(a[0], b[0])
        count = first * a[1] + second * b[1]
        shares = [_on(np.asarray(w * x[1] / count), self.axes, x[2].ndim) for w, x in ((first, a), (second, b))]
        mean = sum(np.where(share != 0, share * x[2], 0) for share, x in zip(shares, (a, b)))
        return np.where(first, a[0], b[0]), count, np.asarray(mean, x_type(a[2]))


@dataclass(frozen=True)
class BySquares(JoinRule):
    """Squared distances from the mean, with the number of entries and their sum."""

    words: str = "centred squares"

    def join(self, a: Parts, b: Parts, own: bool = False) -> Parts:
        (n, first, squares), (k, second, more) = a, b
        apart = second / k - first / n
        return n + k, first + second, squares + more + apart * apart * (n * k / (n + k))


def x_type(x: Any) -> np.dtype:
    return np.asarray(x).dtype


def _on(share: Any, axes: tuple[int, ...], order: int) -> Any:
    """An array with its axes at these places of ``order`` axes."""
    share = np.asarray(share)
    placed = np.expand_dims(share, tuple(range(share.ndim, order)))
    rest = [k for k in range(order) if k not in axes]
    return np.transpose(placed, np.argsort([*axes, *rest], kind="stable")) if order else placed


ADDED = ByFunction(np.add, "partial sums")
SQUARES = BySquares()
# The functions along an axis that one rule joins, and what is joined.
REDUCTIONS: dict[str, Callable[[], JoinRule]] = {
    "prod": lambda: ByFunction(np.multiply, "partial products"),
    "max": lambda: ByFunction(np.maximum, "maxima"),
    "min": lambda: ByFunction(np.minimum, "minima"),
    "any": lambda: ByFunction(np.maximum, "truths"),
    "all": lambda: ByFunction(np.minimum, "truths"),
    "logsumexp": lambda: ByFunction(np.logaddexp, "logsumexps"),
    "argmax": lambda: ByPlace(np.greater),
    "argmin": lambda: ByPlace(np.less),
}
