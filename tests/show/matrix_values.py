"""Whether matrix notation says what a formula computes: at random points, at sizes that differ, are equal, or one."""

from __future__ import annotations

import unicodedata
from math import prod

import numpy as np
from matrix_plain import plain
from matrix_reader import Reading, Singular

import ricci as rc
from ricci.expr import axis_size
from ricci.expr.settle import SizeClasses

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)
MARKS = {"bar": "̄", "dot": "̇", "hat": "̂", "tilde": "̃"}


class Sizes:
    """The different sizes of a formula, by number: axes of inputs over which one index ranges have one."""

    def __init__(self, f: rc.Formula):
        facts = f.context.facts
        named = dict(zip(f.indices, f.expr.shape, strict=True))
        same = [(named[name], axis_size(*group[0])) for name, group in facts.groups if group and name in named]
        self.classes = SizeClasses(
            f.expr, *[step.origin.formula.expr for step in f.chain], linked=[*facts.linked_sizes(), *same]
        )
        found: dict = {}
        every = [(name, axis) for name, order in facts.inputs.items() for axis in range(order)]
        self.axis = {axis: found.setdefault(self.classes.find(axis_size(*axis)), len(found)) for axis in every}
        self.index = {name: self.axis[group[0]] for name, group in facts.groups if group}
        self.found = found
        self.result = [found.setdefault(self.classes.find(size), len(found)) for size in f.expr.shape]
        self.index |= dict(zip(f.indices, self.result, strict=True))


def point(f: rc.Formula, home: Sizes, sizes: list[int], seed: int) -> dict[str, np.ndarray]:
    """Positive numbers; square matrices are near the identity, and symmetric where they are called S."""
    rng = np.random.default_rng(seed)
    found = {}
    for name, order in f.context.facts.inputs.items():
        a = rng.uniform(0.5, 1.5, [sizes[home.axis[name, axis]] for axis in range(order)])
        if order == 2 and a.shape[0] == a.shape[1]:
            a = a / 4 + np.eye(len(a))
            a = a + a.T if name == "S" else a
        found[name] = a
    return found


def said(name: str) -> str:
    """A name as it is printed: ``Ȳ`` for ``Y_bar``."""
    head, _, tail = name.partition("_")
    return unicodedata.normalize("NFC", head + MARKS[tail]) if len(head) == 1 and tail in MARKS else name


def split(f: rc.Formula) -> int:
    """How many axes of a result are those of the rows."""
    if f.order < 3:
        return min(f.order, 1)
    before = f.origin.formula.order if f.order != 4 and f.origin is not None else 0
    return before or f.order - f.order // 2


def fault(f: rc.Formula, text: str, seed: int = 0, rows: int | None = None) -> str:
    """Where a text in matrix notation, or LaTeX, is not what the formula computes; empty where it is."""
    home = Sizes(f)
    count = len(home.found)
    names = {said(n): tuple([PRIMES[home.axis[n, a]] for a in range(o)]) for n, o in f.context.facts.inputs.items()}
    nominal = [PRIMES[k] for k in home.result]
    rows = split(f) if rows is None else rows
    shape = (prod(nominal[:rows]), prod(nominal[rows:]))
    for sizes in ([2 + k % 3 for k in range(count)], [4 - k % 3 for k in range(count)], [3] * count, [1] * count):
        inputs = point(f, home, sizes, seed)
        try:
            value = np.asarray(f(**inputs, sizes={n: sizes[k] for n, k in home.index.items() if n in f.indices}))
        except rc.MatrixError:  # of sizes at which there is no inverse
            continue
        reading = Reading(plain(text, names), names)
        arrays = {said(name): a for name, a in inputs.items()}
        extents = {name: sizes[k] for name, k in home.index.items()}
        try:
            with np.errstate(all="ignore"):  # a variance of one entry
                found = reading.value(shape, arrays, dict(zip(PRIMES, sizes, strict=False)), extents)
        except Singular:
            continue
        flat = value.ravel()
        if not any(a.size == flat.size and np.allclose(a.ravel(), flat, 1e-6, 1e-8, equal_nan=True) for a in found):
            return f"{f}\n{text}\nat sizes {sizes}: {[a.tolist() for a in found]}\nis not {value.tolist()}"
    return ""
