"""Formulas by hand, in each notation, with their derivatives in numbers.

Files beside this one have a formula in a line, and after "by" what it is differentiated by, in turn. All axes have
three entries, so that every index may meet every other; a derivative with two exchanged differs in its entries.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import ricci as rc
from ricci.testing.identity_checks import central_differences

SIZE = 3
FILES = {"text": rc.parse}


def written(notation: str) -> list[tuple[str, list[str]]]:
    lines = Path(__file__).with_name(f"textbook_{notation}.txt").read_text(encoding="utf-8").splitlines()
    parts = [line.rpartition("  by ") for line in lines if line and not line.startswith("#")]
    return [(text, by.split(", ")) for text, _, by in parts]


def point(f: rc.Formula, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Positive numbers; matrices near the identity, and symmetric where they are called S, as covariances are."""
    facts = f.context.facts
    found = {}
    for name, order in facts.inputs.items():
        if name in facts.integers:
            found[name] = rng.integers(0, SIZE, (SIZE,) * order)
            continue
        found[name] = rng.uniform(0.3, 0.9, (SIZE,) * order)
        if order == 2:
            found[name] = found[name] / 4 + np.eye(SIZE)
        if name == "S":
            found[name] = found[name] + found[name].T
        if name in f.context.facts.assumed:
            found[name] = rng.uniform(0.3, 0.9, SIZE)
    windows = {name: 2 * SIZE + 1 for name in facts.inputs if any(f"{name}[{c}" in str(f) for c in ("i+", "2*i+"))}
    return found | {name: rng.uniform(0.3, 0.9, size) for name, size in windows.items()}


def fault(f: rc.Formula, by: list[str]) -> str:
    """Where a derivative, or the one before it, is not what differences say."""
    inputs = point(f, np.random.default_rng(random.Random(str(f)).randrange(2**32)))
    for name in by:
        f, below = f.diff(name), f
        wanted = central_differences(below, inputs, name)
        if not np.allclose(f(**inputs), wanted, rtol=1e-5, atol=1e-6):
            return f"{below}\nby {name}:\n{f}"
    return ""


@pytest.mark.parametrize(("notation", "text", "by"), [(n, *row) for n in FILES for row in written(n)])
def test_derivatives(notation, text, by):
    assert not fault(FILES[notation](text), by)


def test_there_are_a_hundred_of_each():
    assert all(len(written(notation)) >= 100 for notation in FILES)


def test_a_wrong_derivative_is_found():
    class Wrong(rc.Formula):
        def diff(self, *by, **options):  # type: ignore[override]
            return 2 * rc.Formula.diff(self, *by, **options)

    f = rc.parse("f = a[i] x[i]")
    wrong = Wrong(f.expr, f.indices, f.context, f.name)
    assert fault(f, ["x"]) == "" and "by x" in fault(wrong, ["x"])
