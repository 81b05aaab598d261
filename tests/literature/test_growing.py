"""How programs grow: steps, Python calls and entries at two sizes, one twice the other; nothing is timed.

The classes, and how each may grow, are in ``benchmarks/literature/growing.py``; ``benchmarks/growth.py`` measures them
at larger sizes, with time and memory.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
import pytest
from literature.counting import calls_of, counted, plan_of
from literature.growing import CLASSES, Growing

import ricci as rc

SLACK = 0.35  # of an exponent
LENGTHS = (6, 12)

# What grows in proportion for longer programs: products stay flat up to eight factors, and the derivative of one has
# as many terms of all the others; a longer product is of products, and so is its derivative.
LATER = {"nested polynomial, hvp": (12, 24), "logistic map, grad": (12, 24), "logistic map, hvp": (12, 24)}


def measured(one: Growing, size: int) -> dict[str, float]:
    """What a class makes at a size."""
    function, args = one.make(size)
    args = (*args, np.ones_like(args[0])) if one.kind == "hvp" else args
    rc.cache_clear()
    found: list[Any] = []
    calls = calls_of(lambda: found.append(plan_of(one.kind, function, args)[0]))
    count = counted(found[0].program)
    return {"steps": count.steps, "calls": calls, "entries": count.entries, "largest": count.largest}


def too_fast(one: Growing, sizes: tuple[int, int]) -> list[str]:
    """What grows faster than expected, in words."""
    small, large = [measured(one, size) for size in sizes]
    expected = {"steps": one.length, "calls": one.length, "entries": one.size, "largest": one.size}
    slopes = {name: log(max(large[name], 1) / max(small[name], 1)) / log(sizes[1] / sizes[0]) for name in expected}
    return [
        f"{name} grow as n^{slope:.2f}, from {small[name]:,} to {large[name]:,}; expected n^{expected[name]:g}"
        for name, slope in slopes.items()
        if slope > expected[name] + SLACK
    ]


def sizes_of(one: Growing) -> tuple[int, int]:
    """The second of its sizes and twice that, for programs that grow in length two of their own."""
    return LATER.get(one.title, LENGTHS) if one.length else (one.sizes[0], 2 * one.sizes[0])


def classes() -> list[Any]:
    return [
        pytest.param(one, id=one.title, marks=[] if one.kind == "grad" else [pytest.mark.thorough]) for one in CLASSES
    ]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("one", classes())
def test_classes_grow_as_expected(one):
    assert too_fast(one, sizes_of(one)) == []


# The checker


def outer(n: int) -> tuple:
    return lambda x: np.sum(np.exp(x[:, None] * x)), (np.linspace(0, 1, n),)


def chain(n: int) -> tuple:
    def function(x: Any) -> Any:
        for _ in range(n):
            x = np.sin(x)
        return np.sum(x)

    return function, (np.ones(5),)


def test_what_grows_too_fast_is_found():
    assert too_fast(Growing("an outer product", "grad", outer, (40, 80), 0, 2), (40, 80)) == []
    entries, largest = too_fast(Growing("an outer product", "grad", outer, (40, 80), 0, 1), (40, 80))
    assert entries.startswith(("entries grow as n^1.9", "entries grow as n^2.0"))
    assert largest == "largest grow as n^2.00, from 1,600 to 6,400; expected n^1"
    assert too_fast(Growing("a chain", "grad", chain, (10, 20), 1, 1), (10, 20)) == []
    assert any(
        text.startswith("steps") for text in too_fast(Growing("a chain", "grad", chain, (10, 20), 0, 1), (10, 20))
    )


def test_titles_are_told_apart_and_the_table_names_them():
    titles = [one.title for one in CLASSES]
    assert len(titles) == len(set(titles))
    assert LATER.keys() <= set(titles)
