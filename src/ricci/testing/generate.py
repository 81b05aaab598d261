"""Random expressions, with inputs on which they are defined and well conditioned.

An expression grows one node at a time from a pool of what is there already, newer nodes being taken more often. Each
node is evaluated, by loops, as soon as it is made, and only kept if its entries are finite and not large; so every
sample comes with inputs that suit it. Axes have few sizes, 0 and 1 among them, and labels are drawn with repetition:
that brings diagonals, traces, hyperedges and empty sums without asking for them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ricci.expr import Expr, axis_size, index_size
from ricci.expr.dims import Atom, Size
from ricci.testing import domains
from ricci.testing.entries_by_loops import Table, from_array
from ricci.testing.raw import Raw, evaluate_node
from ricci.testing.steps import STEPS, product_step, structure_step, sum_step


@dataclass(frozen=True)
class Sample:
    """A random expression: its description, inputs for it, and the symbolic sizes."""

    raw: Raw
    inputs: dict[str, np.ndarray]
    sizes: dict[Atom, int]

    def build(self) -> Expr:
        return self.raw.build()

    def brute(self) -> Table:
        return self.raw.brute(self.inputs, self.sizes)

    def __repr__(self) -> str:
        used = {node.data[0] for node in self.raw.nodes() if node.kind == "variable"}
        given = [f"{name} = {value.tolist()}  # {value.shape}" for name, value in self.inputs.items() if name in used]
        return "\n".join([*given, str(self.raw)])


@dataclass(frozen=True)
class Item:
    """A node of the pool: its description, its value, the sizes of its axes, and whether arithmetic on it is exact."""

    raw: Raw
    table: Table
    sizes: tuple[Size, ...]
    exact: bool


@dataclass(frozen=True)
class Options:
    """What a random expression may hold; see :func:`random_expression`."""

    size: int = 8
    order: int = 3
    extents: tuple[int, ...] = (0, 1, 2, 2, 3)
    symbolic: bool = False
    functions: bool = True
    structures: bool = True
    integers: bool = True
    arrays: bool = True
    notation: bool = False


def random_expression(rng: random.Random, **options: Any) -> Sample:
    """A random expression with inputs for it.

    ``size`` is the number of operations and ``order`` the largest number of axes; ``extents`` are the sizes that axes
    have, drawn evenly. With ``symbolic``, sizes are bound by the inputs instead of being numbers. ``functions``,
    ``structures``, ``integers`` (inputs that index others, and places like argmax) and ``arrays`` (constants with
    entries) may be left out. ``notation`` keeps to what the equation language can say: sizes are symbolic and belong to
    axes of inputs; there are no array constants, no triangles but the square one, no relations between indices other
    than reads ``x[i+k]``, no reshapes, no scalars as places, and no functions that only derivatives use.

    >>> from ricci.testing import brute_force
    >>> sample = random_expression(random.Random(8), size=2, order=3)
    >>> value = brute_force(sample.build(), sample.inputs, sample.sizes)
    >>> value.ndim <= 3
    True
    """
    chosen = Options(**options)
    return Generator(rng, replace(chosen, symbolic=True) if chosen.notation else chosen).sample()


class Generator:
    """The pool, and what steps need to add to it."""

    def __init__(self, rng: random.Random, options: Options):
        self.rng, self.options = rng, options
        self.inputs: dict[str, np.ndarray] = {}
        self.tables: dict[str, Table] = {}
        self.env: dict[Atom, int] = {}
        self.pool: list[Item] = []
        self.extents = [rng.choice(options.extents) for _ in range(3)]
        for name in ("x", "y", "z", "w")[: rng.randint(1, 4)]:
            self.input(name)

    def sample(self) -> Sample:
        made, steps = 0, [step for step, wanted in STEPS.items() if wanted(self.options)]
        for _ in range(20 * self.options.size):
            if made == self.options.size:
                break
            item = self.rng.choice(steps)(self)
            if item is not None:
                self.pool.append(item)
                made += 1
        return Sample(self.pool[-1].raw, self.inputs, self.env)

    # Leaves

    def input(self, name: str) -> None:
        least = int(self.options.notation and not self.inputs)
        shape = tuple([self.extent() for _ in range(self.rng.randint(least, self.options.order))])
        exact = self.rng.random() < 0.6
        draw = (lambda: self.rng.randint(-4, 4) / 2) if exact else (lambda: round(self.rng.uniform(-2, 2), 3))
        values = [draw() for _ in range(_count(shape))]
        self.bind(name, np.array(values, dtype=float).reshape(shape), exact)

    def places(self, shape: Sequence[int], below: int) -> Item:
        """An integer input whose entries are places on an axis."""
        name = f"t{len(self.inputs)}"
        values = [self.rng.randrange(below) for _ in range(_count(shape))]
        return self.bind(name, np.array(values, dtype=np.int64).reshape(shape), True)

    def bind(self, name: str, value: np.ndarray, exact: bool) -> Item:
        self.inputs[name], self.tables[name] = value, from_array(value)
        self.env.update({(name, axis): n for axis, n in enumerate(value.shape)})
        sizes = tuple([axis_size(name, axis) if self.options.symbolic else n for axis, n in enumerate(value.shape)])
        item = Item(Raw("variable", (), (name, sizes)), self.tables[name], sizes, exact)
        if value.dtype.kind == "f":
            self.pool.append(item)
        return item

    def extent(self) -> int:
        """A number for an axis; in the notation, an index has the size of some axis of an input."""
        return self.rng.choice(list(self.env.values()) if self.options.notation and self.env else self.extents)

    def size(self, n: int) -> Size:
        """``n`` as a size: the number, or the symbolic size of an axis, or of an index that nothing carries."""
        if not self.options.symbolic:
            return n
        known = [atom for atom, value in self.env.items() if value == n]
        if known and (self.options.notation or self.rng.random() < 0.9):
            atom = self.rng.choice(known)
            return axis_size(*atom) if len(atom) == 2 else index_size(*atom)
        self.env[(f"n{n}",)] = n
        return index_size(f"n{n}")

    def number(self) -> Item:
        value = self.rng.choice([2, -1, 3, Fraction(1, 2), Fraction(1, 3), 0.3, 1, 0])
        return self.leaf(Raw("number", (), (value,)), (), domains.exact([float(value)]))

    def leaf(self, raw: Raw, sizes: tuple[Size, ...], exact: bool = True) -> Item:
        return Item(raw, evaluate_node(raw, [], self.tables, self.env), sizes, exact)

    # Choosing

    def pick(self) -> Item:
        """An item of the pool, one of the last three half of the time."""
        return self.rng.choice(self.pool[-3:] if self.rng.random() < 0.5 else self.pool)

    def operand(self) -> Item:
        """An item of the pool, or a structure or a number."""
        if self.options.structures and self.rng.random() < 0.25:
            return structure_step(self) or self.pick()
        return self.number() if self.rng.random() < 0.1 else self.pick()

    def compound(self) -> Item:
        """A new product or sum, to see what a function makes of it."""
        return self.rng.choice((product_step, sum_step))(self) or self.pick()

    def finish(self, raw: Raw, args: Sequence[Item], sizes: tuple[Size, ...], exact: bool) -> Item | None:
        """The item for a new node, unless its entries are unfit."""
        if len(sizes) > self.options.order:
            return None
        table = evaluate_node(raw, [a.table for a in args], self.tables, self.env)
        if not domains.sane(table):
            return None
        return Item(raw, table, sizes, exact and all(a.exact for a in args) and domains.exact(table))

    def fitted(self, item: Item, like: Item) -> Item | None:
        """``item`` with the axes of ``like``: matched by size, in any order, broadcast, or summed away."""
        if item.table.shape == like.table.shape and self.rng.random() < 0.6:
            return item
        labels = []
        for axis, n in enumerate(item.table.shape):
            fit = [p for p, m in enumerate(like.table.shape) if m == n]
            labels.append(self.rng.choice(fit) if fit else f"s{axis}")
        sizes = like.sizes
        raw = Raw("product", (item.raw,), ((tuple(labels),), tuple(range(len(sizes))), tuple(enumerate(sizes))))
        return self.finish(raw, [item], sizes, True)


def _count(shape: Sequence[int]) -> int:
    total = 1
    for n in shape:
        total *= n
    return total
