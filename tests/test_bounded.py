"""Random short texts: every operation ends within a bounded count of work, or says that it takes more."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path

import pytest

import ricci as rc
from ricci.budget import _budget

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
TEXTS = 32
MOST = 4000  # nodes that an operation may take here


@pytest.fixture(scope="module")
def bounded():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        spec = importlib.util.spec_from_file_location("bounded", BENCHMARKS / "bounded.py")
        module = importlib.util.module_from_spec(spec)  # pyright: ignore[reportArgumentType]
        spec.loader.exec_module(module)  # pyright: ignore[reportOptionalMemberAccess]
    finally:
        sys.path.remove(str(BENCHMARKS))
    return module


def within(call):
    """What a call gives, or nothing where it takes too much or is refused; it may exceed the limit by one step."""
    with rc.limits(nodes=MOST):
        budget = _budget.get()
        assert budget is not None
        try:
            return call()
        except (rc.RicciError, MemoryError, ValueError):
            return None
        finally:
            assert budget.spent < 2 * MOST


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(TEXTS))
def test_every_operation_ends(bounded, seed):
    text = bounded.text(random.Random(seed))
    assert len(text) <= bounded.LONGEST
    f = within(lambda: rc.parse(text))
    if f is not None:
        for call in bounded.operations(f).values():
            within(call)
        printed = within(lambda: str(f))
        if printed is not None and len(printed) < 1000:
            assert rc.parse(printed) == f


# What once took minutes, with about twice the work that it takes


KNOWN = {
    "D(D(D(D(inv(X)[a,b], X[c,d]), X[e,f]), X[g,h]), X[i,j])": 10_000,
    "D(D(D(D(det(X), X[c,d]), X[e,f]), X[g,h]), X[i,j])": 10_000,
    "D(D(D(D(softmax[a](x[a]), x[b]), x[c]), x[d]), x[e])": 10_000,
    "D(D(D(D(prod[q](x[q]), x[b]), x[c]), x[d]), x[e])": 10_000,
    "; ".join(["a0 = tan(x)", *[f"a{k + 1} = D(a{k}, x)" for k in range(9)]]): 2_500,
    "; ".join(["a0 = x", *[f"a{k + 1} = where(a{k} > 0, a{k}, -a{k})" for k in range(14)]]): 200,
}


@pytest.mark.parametrize("text", KNOWN)
def test_known_texts_are_read_within_a_count(text):
    rc.cache_clear()
    with rc.limits(nodes=KNOWN[text]):
        assert rc.parse(text).expr is not None
