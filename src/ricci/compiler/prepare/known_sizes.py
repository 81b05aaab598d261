"""Sizes before any call: which of them are one, what each is called, and which input tells it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

from ricci.compiler.prepare.prepared import Prepared
from ricci.errors import InputError
from ricci.expr import Dim, Expr, Size, axis_size, dims, index_size
from ricci.expr.settle import SettledSizes, SizeClasses
from ricci.show.index_names import Namer

SAMPLE = 64  # what a size is taken to be where orders of contractions are weighed


class KnownSizes:
    """The sizes of prepared results: one name for all that must agree, numbers for those that are given."""

    def __init__(self, stage: Prepared, given: Mapping[str, int], indices: Iterable[tuple[str, Size]]):
        facts = stage.facts
        linked: list[tuple[Size, Size]] = [*facts.linked_sizes(), *stage.links]
        indices = list(indices)
        self.arguments = stage.inputs
        self.orders = {**facts.inputs, **{v.name: len(v.shape) for v in stage.needed}}
        self.groups: dict[tuple[str, int], str] = {}
        for index, axes in facts.groups:
            for axis in axes:
                self.groups.setdefault(axis, index)
        self._settle(stage, linked, indices)
        if not given:
            return
        told = {axis: self.name(self.of(axis_size(*axis))) for axis in self._axes() if axis not in self.groups}
        known = {*[name for name, _ in facts.groups], *self.namer.claims, *[name for name, _ in indices]}
        known |= {*facts.sizes, *facts.ranges, *told.values(), *[a[0] for a in stage.atoms if len(a) == 1]} - {""}
        for name, size in check_sizes(given).items():
            if name not in known:
                listed = ", ".join(sorted(known)) or "none"
                raise InputError(f"There is no index {name!r} to have a size; the indices are {listed}.")
            size = int(size)
            linked.append((index_size(name), size))
            linked += [(axis_size(*axis), size) for index, axes in facts.groups if index == name for axis in axes]
            linked += [(axis_size(*axis), size) for axis, index in told.items() if index == name]
            plain = [own for index, own in indices if index == name and isinstance(own, Dim) and dims.rank(own)[0] < 3]
            linked += [(own, size) for own in [*plain, *([facts.ranges[name]] if name in facts.ranges else [])]]
        self._settle(stage, linked, indices)
        for size in [size for pair in linked for size in pair]:  # each by itself, and by what it is made of
            found = self.of(size), self.valued(size)
            if isinstance(found[0], int) and isinstance(found[1], int) and found[0] != found[1]:
                raise InputError(f"The sizes {dict(given)} do not fit: one that is {found[0]} must be {found[1]}.")
        for check in facts.checks:
            room = self.valued(check.size)
            if isinstance(room, int) and room < 0:
                raise InputError(f"The sizes {dict(given)} do not fit. {check.message}")

    def _axes(self) -> list[tuple[str, int]]:
        return [(name, axis) for name in self.arguments for axis in range(self.orders.get(name, 0))]

    def _settle(self, stage: Prepared, linked: list[tuple[Size, Size]], indices: Iterable[tuple[str, Size]]) -> None:
        """Which sizes are one, given that these are."""
        self.settled = SettledSizes(stage.roots, (), SizeClasses(*stage.roots, linked=linked))
        self.namer = Namer(stage.facts, stage.roots, linked)
        for name, size in [*indices, *stage.facts.ranges.items()]:
            self.namer.claim(name, size)
        for name, axes in stage.facts.groups:
            self.namer.claim(name, axis_size(*axes[0]))
        for root in stage.roots:
            self.namer.claim_own(root)
        self._known: dict[Size, Size] = {}
        self.rooms = [self.valued(check.size) for check in stage.facts.checks]

    def of(self, size: Size) -> Size:
        """The one that stands for a size."""
        found = self._known.get(size)
        if found is None:
            found = self._known[size] = self.settled.of(size)
        return found

    def valued(self, size: Size) -> Size:
        """A size by what it is made of."""
        return dims.replaced(size, lambda atom: self.of(dims.symbol(*atom)))

    def assured(self, size: Size, full: Collection[dims.Atom] | None = None) -> bool:
        """Whether a difference of sizes is never negative, by itself, or since the text asks for that."""
        return never_negative(size, full) or any(never_negative(size - room, full) for room in self.rooms)

    def shape(self, node: Expr) -> tuple[Size, ...]:
        return tuple([self.of(size) for size in node.shape])

    def name(self, size: Size) -> str:
        """The name of an index of this size: of several that are the size of nothing else, the first."""
        if isinstance(size, Dim) and dims.rank(size)[0] == 2:
            held = self.namer.classes.find(size)
            found = [name for name, other in self.namer.claims.items() if self.namer.classes.find(other) == held]
            return found[0] if found else self.namer.of_size(size)
        return self.namer.of_size(size) if isinstance(size, Dim) else ""

    def names(self, name: str, shape: Sequence[Size]) -> tuple[str, ...]:
        """The names of the axes of an input: those of the text, or of indices of these sizes."""
        return tuple([self.groups.get((name, k)) or self.name(self.of(n)) for k, n in enumerate(shape)])

    def teller(self, atom: dims.Atom) -> tuple[str, int] | None:
        """The argument and its axis that tell a size; none if no argument does."""
        wanted = self.of(dims.symbol(*atom))
        own = self._axes()
        exact = [axis for axis in own if axis == atom]
        return next((axis for axis in [*exact, *own] if self.of(axis_size(*axis)) is wanted), None)


def check_sizes(sizes: Any) -> Mapping[str, int]:
    """The sizes of indices that are given, if they are."""
    if sizes is None:
        return {}
    if not isinstance(sizes, Mapping):
        raise InputError(f'sizes gives the sizes of indices, as in sizes={{"i": 3}}, not {sizes!r}.')
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, Integral) or size < 0:
            raise InputError(f"The size of index {name!r} must be a whole number that is not negative, not {size!r}.")
    return sizes


def input_axes(stage: Prepared) -> dict[str, tuple[str, ...]]:
    """The names of the axes of all inputs, as the text has them."""
    sizes, shapes = KnownSizes(stage, {}, list(stage.names.items())), {v.name: v.shape for v in stage.needed}
    own = {name: shapes.get(name) or [axis_size(name, k) for k in range(sizes.orders[name])] for name in stage.inputs}
    return {name: sizes.names(name, shape) for name, shape in own.items()}


def sample(size: Size) -> int:
    """A number in place of a size, for weighing."""
    if not isinstance(size, Dim):
        return size
    found = dims.replaced(size, lambda atom: SAMPLE)
    return max(found, 1) if isinstance(found, int) else SAMPLE


def never_negative(size: Size, full: Collection[dims.Atom] | None = None) -> bool:
    """Whether a difference of sizes is 0 or more wherever no axis is empty, or none of those with these sizes is."""
    if not isinstance(size, Dim):
        return size >= 0
    total: Size = 0
    for monomial, coefficient in size.terms:
        part: Size = coefficient
        for atom in monomial:
            least = len(atom) < 3 and (full is None or atom in full)
            part = part * (dims.symbol(*atom) + int(least))
        total = total + part
    terms = total.terms if isinstance(total, Dim) else (((), total),)
    return all(coefficient >= 0 for _, coefficient in terms)
