"""How far the columns of a matrix may be from its rows, as the structures in a term say: what makes it a band.

A term is zero unless all its relations hold. Those that are equations are linear in the labels, so they are solved for
some of the labels, and what is left of ``column - row`` has bounds: ``[i == k + 1] [j == k]`` is zero unless ``j - i``
is -1, and the window ``[j == i + k]``, ``k`` being one of three places, unless it is between 0 and 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ricci.expr.dims import Size
from ricci.expr.nodes import Expr, Product, Structure, Sum

MOST_TERMS = 64  # that an expression is multiplied out to
DEEPEST = 6  # how far into a sum one looks for structures
Bounds = tuple[int, int]
Equation = tuple[dict[Any, Fraction], Fraction]  # coefficients of labels, and a number; the sum is zero


def offset(
    factors: Iterable[tuple[Expr, Sequence]], form: Mapping[Any, int], sizes: Mapping[Any, Size]
) -> Bounds | None:
    """The least and the greatest value of ``form``, coefficients of labels, where the factors are not zero.

    None where no bounds are known: a label is left whose size is not a number.

    >>> from ricci.expr.structures import affine
    >>> window = affine("==", (-1, -1, 1), 0, (3, 8, 10))  # j == i + k
    >>> offset([(window, "kij")], {"j": 1, "i": -1}, {"i": 8, "j": 10, "k": 3})
    (0, 2)
    """
    first = sorted(form, key=lambda x: form[x], reverse=True)
    solved: list[tuple[Any, Equation]] = []
    for equation in equations(factors):
        coefs, const = _without(equation, solved)
        if coefs:
            pivot = max(coefs, key=lambda x: (x in form, -first.index(x) if x in form else 0, _long(sizes[x])))
            coefs, const = {x: c / coefs[pivot] for x, c in coefs.items()}, const / coefs[pivot]
            solved = [(x, _without(one, [(pivot, (coefs, const))])) for x, one in solved]
            solved.append((pivot, (coefs, const)))
    coefs, const = _without(({x: Fraction(c) for x, c in form.items()}, Fraction(0)), solved)
    if not all(isinstance(sizes[x], int) for x in coefs):
        return None
    ends = [c * (sizes[x] - 1) for x, c in coefs.items()]  # type: ignore[operator]
    low, high = const + sum(e for e in ends if e < 0), const + sum(e for e in ends if e > 0)
    return math.ceil(low), math.floor(high)


def equations(factors: Iterable[tuple[Expr, Sequence]]) -> Iterable[Equation]:
    """The relations among the factors that are equations between numbers."""
    for e, labels in factors:
        if isinstance(e, Structure) and e.relation[0] == "==":
            _, given, const = e.relation
            if all(isinstance(c, int) for c in (*given, const)):
                coefs: dict[Any, Fraction] = {}
                for x, c in zip(labels, given, strict=True):
                    coefs[x] = coefs.get(x, Fraction(0)) + c
                yield {x: c for x, c in coefs.items() if c}, Fraction(const)


def _without(equation: Equation, solved: Sequence[tuple[Any, Equation]]) -> Equation:
    """The same with the labels that others are solved for put in; those have 1 as their coefficient there."""
    coefs, const = dict(equation[0]), equation[1]
    for x, (others, number) in solved:
        times = coefs.get(x, Fraction(0))
        if times:
            for y, c in others.items():
                coefs[y] = coefs.get(y, Fraction(0)) - times * c
            const -= times * number
    return {x: c for x, c in coefs.items() if c}, const


def _long(size: Size) -> float:
    return size if isinstance(size, int) else math.inf


def band(
    terms: Sequence[Sequence[tuple[Expr, Sequence]]], form: Mapping[Any, int], sizes: Mapping[Any, Size]
) -> Bounds | None:
    """The bounds of ``form`` where any of the terms is not zero; none where one of the terms has none."""
    found = [offset(factors, form, sizes) for factors in terms]
    if not found or any(bounds is None for bounds in found):
        return None
    return min(low for low, _ in found), max(high for _, high in found)  # type: ignore[misc]


def in_words(
    terms: Sequence[Sequence[tuple[Expr, Sequence]]],
    rows: Sequence,
    columns: Sequence,
    sizes: Mapping[Any, Size],
    names: Mapping[Any, str] | None = None,
) -> str:
    """What a matrix is called of which only some diagonals, or blocks, are not zero; otherwise nothing.

    ``names`` are those of axes, for sizes that are not known.

    >>> from ricci.expr.structures import affine, delta
    >>> terms = [[(delta(9), "ij")], [(affine("==", (1, -1), 1, (9, 9)), "ij")]]
    >>> in_words(terms, "i", "j", {"i": 9, "j": 9})
    'banded, width 2'
    >>> in_words([[(delta(200), "ik")]], "ij", "kl", {"i": 200, "k": 200, "j": 5, "l": 5})
    'block-diagonal, 200 blocks of 5×5'
    """
    if not terms or not rows or not columns:
        return ""
    alike = [(r, c) for r in rows for c in columns if band(terms, {c: 1, r: -1}, sizes) == (0, 0)]
    chosen = {r: c for c, r in {c: r for r, c in reversed(alike)}.items()}
    inner = [x for x in rows if x not in chosen], [x for x in columns if x not in chosen.values()]
    if chosen and not any(inner):
        return "diagonal"
    if chosen:
        blocks, high, wide = [_size_of(half, sizes, names or {}) for half in (chosen, *inner)]
        return f"block-diagonal, {blocks} blocks of {high}×{wide}"
    bounds = band(terms, {columns[0]: 1, rows[0]: -1}, sizes)
    longest = max(_long(sizes[rows[0]]), _long(sizes[columns[0]]))
    if bounds is None or 2 * (bounds[1] - bounds[0] + 1) > longest:
        return ""
    width = bounds[1] - bounds[0] + 1
    if len(rows) == len(columns) == 1:
        return f"banded, width {width}" if width > 1 else "one diagonal"
    high, wide = [_size_of(half[1:], sizes, names or {}) for half in (rows, columns)]
    name = "block-tridiagonal" if bounds == (-1, 1) else f"block-banded, width {width}"
    return f"{name}, blocks of {high}×{wide}"


def _size_of(axes: Iterable, sizes: Mapping[Any, Size], names: Mapping[Any, str]) -> str:
    """The product of the sizes of axes, as it is written: ``20·|k|``."""
    known = math.prod([size for x in axes if isinstance(size := sizes[x], int)])
    first: dict[Size, str] = {}
    for x, name in names.items():
        first.setdefault(sizes[x], name)
    others = [f"|{first.get(sizes[x], x)}|" for x in axes if not isinstance(sizes[x], int)]
    return "·".join([f"{known:,}"] * (known != 1 or not others) + others)


def multiplied_out(e: Expr) -> list[list[tuple[Expr, tuple]]]:
    """The terms of an expression with axes 0, 1, …: of products, and of sums with structures in them.

    There are none if they would be too many.
    """
    fresh = iter(range(len(e.shape), 1 << 30))
    waiting: list[list[tuple[Expr, tuple]]] = [[(e, tuple(range(len(e.shape))))]]
    finished = []
    while waiting:
        factors = waiting.pop()
        at = next((k for k, (a, _) in enumerate(factors) if _opens(a)), None)
        if at is None:
            finished.append(factors)
            continue
        a, labels = factors.pop(at)
        if isinstance(a, Sum):
            waiting += [[*factors, (b, labels)] for b in a.args]
        elif isinstance(a, Product):
            name = dict(zip(a.out, labels, strict=True))
            inner = [(b, tuple([name.setdefault(x, next(fresh)) for x in own])) for b, own in a.factors()]
            waiting.append([*factors, *inner])
        if len(waiting) + len(finished) > MOST_TERMS:
            return []
    return finished


def _opens(e: Expr) -> bool:
    return isinstance(e, Product) or (isinstance(e, Sum) and (len(e.args) == 1 or _has_structures(e, DEEPEST)))


def _has_structures(e: Expr, depth: int) -> bool:
    if isinstance(e, Structure):
        return e.relation[0] != "one"
    return depth > 0 and isinstance(e, (Sum, Product)) and any(_has_structures(a, depth - 1) for a in e.args)


def named_form(e: Expr, columns: int, names: Sequence[str]) -> str:
    """What an expression is called as a matrix, its last axes being columns: see :func:`in_words`."""
    terms = multiplied_out(e)
    sizes = {x: size for factors in terms for a, labels in factors for x, size in zip(labels, a.shape, strict=True)}
    axes = range(len(e.shape))
    split = len(e.shape) - columns
    sizes |= dict(enumerate(e.shape))
    return in_words(terms, axes[:split], axes[split:], sizes, dict(enumerate(names)))
