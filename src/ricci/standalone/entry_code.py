"""Steps as lines about single entries, ``t[i] = sum over k of A[i,k] x[k]``: what Julia, C and LaTeX share.

Views cost nothing here: a read, a reshape, a gather are entries at other places. So what is written are the maps, the
sums and the functions over axes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ricci.compiler.plan.axis_names import NamedAxes
from ricci.compiler.plan.program_steps import Form, Step, Value
from ricci.expr import Size
from ricci.standalone.any_size import AnySizeSteps
from ricci.standalone.assembling import Operand, given, sizes_of
from ricci.standalone.pieces import ATOM, CodePiece, FreeNames, SizeTexts
from ricci.standalone.places import EntryPlace

Entry = Callable[[Sequence[EntryPlace]], CodePiece]
VIEWS = ("read", "spread", "split", "merge", "take", "mask", "cast")
SHORT = 60


class EntryCode:
    """The lines for one list of steps. Subclasses say how their language spells things."""

    base = 0  # where places begin
    sums_inside = True  # whether a sum is an expression

    def __init__(
        self,
        steps: AnySizeSteps,
        sizes: SizeTexts,
        names: FreeNames,
        axes: NamedAxes,
        titles: Mapping[Value, str] | None = None,
    ):
        self.all, self.sizes, self.names, self.axes = steps, sizes, names, axes
        self.titles = titles or {}
        self.lines: list[str] = []
        self.scope: list[str] = []  # the loop variables around what is being written
        self.helpers: dict[str, None] = {}
        self.fresh: set[str] = set()  # the names that are made here
        self.known: dict[Value, Entry] = {}
        self.whole: dict[Value, str] = {}  # the names of arrays that are there as such
        self.uses = Counter(v for step in steps.steps for v in step.operands)
        self.uses.update([v for (v, _), _ in steps.results if isinstance(v, Value)])
        summing = [step for step in steps.steps if step.op in ("dot", "call", "place", "take")]
        self.summed = {v for step in summing for v in step.operands}

    # What languages say

    def at(self, name: str, places: Sequence[EntryPlace]) -> CodePiece:
        """An entry of an array."""
        raise NotImplementedError

    def number(self, value: Any) -> CodePiece:
        raise NotImplementedError

    def mapped(self, name: str, args: Sequence[CodePiece], step: Step) -> CodePiece:
        """A function of numbers."""
        raise NotImplementedError

    def total(self, piece: CodePiece, ranges: Sequence[tuple[str, Size]]) -> CodePiece:
        """A sum as an expression."""
        raise NotImplementedError

    def filled(self, name: str, kind: str, ranges: Sequence[tuple[str, Size]], piece: CodePiece, title: str) -> None:
        """Lines that make an array of an expression in its indices."""
        raise NotImplementedError

    def truth(self, piece: CodePiece) -> CodePiece:
        """Truths as numbers."""
        return piece

    def real(self, piece: CodePiece) -> CodePiece:
        """Whole numbers as numbers that are divided."""
        return piece

    def division(self, a: str, b: str) -> str:
        """The whole quotient of places, for reshapes."""
        raise NotImplementedError

    def remainder(self, a: str, b: str) -> str:
        raise NotImplementedError

    # The walk

    def run(self) -> None:
        for step in self.all.steps:
            self.step(step)

    def step(self, step: Step) -> None:
        if step.op in ("call", "place"):
            getattr(self, f"_{step.op}")(step)
            return
        entry = getattr(self, f"_{step.op}")(step)
        if step.op in VIEWS:
            self.known[step.out] = entry
            return
        once = self.uses[step.out] == 1 and step.out not in self.summed and step.out not in self.titles
        inside = once and (self.sums_inside or step.op == "map")
        if inside and len(entry(self.sample(step)).text) <= SHORT:
            self.known[step.out] = entry
        else:
            self.array(step.out, entry)

    def sample(self, step: Step) -> list[EntryPlace]:
        return [EntryPlace.of(f"i{k}") for k in range(len(step.labels))]

    def array(self, value: Value, entry: Entry) -> str:
        """An array of entries."""
        title = self.titles.get(value, "")
        name = self.target(value) or (self.names.new(title.partition("[")[0]) if title else self.names.numbered("t"))
        ranges = self.ranges(value)
        self.scope = [x for x, _ in ranges]
        self.filled(name, value.kind, ranges, entry([EntryPlace.of(x) for x, _ in ranges]), title)
        self.scope = []
        self.call_it(value, name)
        return name

    def target(self, value: Value) -> str:
        """The name of a place that is there for a value."""
        return ""

    def call_it(self, value: Value, name: str) -> None:
        self.whole[value] = name
        self.known[value] = lambda places: self.at(name, places)

    def ranges(self, value: Value, taken: Sequence[str] = ()) -> list[tuple[str, Size]]:
        """Loop variables for the axes of a value."""
        return self.indices(dict(enumerate(self.axes.of(value))), dict(enumerate(value.shape)), taken)

    def indices(
        self, named: Mapping[int, str], sizes: Mapping[int, Size], taken: Sequence[str] = ()
    ) -> list[tuple[str, Size]]:
        """Loop variables for labels, by their names."""
        found: list[str] = []
        blocked = self.names.taken
        for x in sizes:
            wanted = named.get(x, "").rstrip("'")
            options = [wanted, *"ijklmnpqrsuvabcdegh"] if wanted else list("ijklmnpqrsuvabcdegh")
            name = next((c for c in options if c not in {*blocked, *found, *taken, *self.scope}), None)
            found.append(name or f"i{len(found)}{len(blocked)}")
        return [(name, n) for name, n in zip(found, sizes.values(), strict=True)]

    def entry(self, operand: Operand, place: Mapping[int, EntryPlace]) -> CodePiece:
        """The entry of an operand where its labels are at these places."""
        value, labels = operand
        if not isinstance(value, Value):
            return self.number(value)
        return self.known[value]([place[x] for x in labels])

    # One method for each kind of step; each gives the entry at places of the result

    def _map(self, step: Step) -> Entry:
        def entry(places: Sequence[EntryPlace]) -> CodePiece:
            at = dict(zip(step.labels, places, strict=True))
            return self.mapped(step.name, [self.entry(operand, at) for operand in given(step)], step)

        return entry

    def _cast(self, step: Step) -> Entry:
        (operand,) = given(step)
        as_number = self.real if operand[0].kind == "i" and step.name == "f" else self.truth
        return lambda places: as_number(self.entry(operand, dict(zip(step.labels, places, strict=True))))

    def _spread(self, step: Step) -> Entry:
        (operand,) = given(step)
        return lambda places: self.entry(operand, dict(zip(step.labels, places, strict=True)))

    def _dot(self, step: Step) -> Entry:
        sizes = sizes_of(given(step))
        summed = {x: n for x, n in sizes.items() if x not in step.labels}
        named = self.axes.labelled(step)

        def entry(places: Sequence[EntryPlace]) -> CodePiece:
            taken = [x for place in places for x in place.variables]
            ranges = self.indices(named, summed, taken)
            at = dict(zip(step.labels, places, strict=True))
            at.update({x: EntryPlace.of(name) for x, (name, _) in zip(summed, ranges, strict=True)})
            around, self.scope = self.scope, [*self.scope, *[x for x, _ in ranges]]
            pieces = [self.entry(operand, at) for operand in given(step)]
            self.scope = around
            product = pieces[0]
            for piece in pieces[1:]:
                product = self.mapped("multiply", [product, piece], step)
            return self.total(product, ranges) if ranges else product

        return entry

    _sum = _einsum = _dot

    def _read(self, step: Step) -> Entry:
        ((value, _),) = given(step)
        forms: Sequence[Form] = step.params
        return lambda places: self.known[value]([EntryPlace.at(form, places) for form in forms])

    def _split(self, step: Step) -> Entry:
        ((value, _),) = given(step)
        axis, count = step.params

        def entry(places: Sequence[EntryPlace]) -> CodePiece:
            merged, stride = EntryPlace(), 1
            for place, size in reversed(list(zip(places[axis : axis + count], step.out.shape[axis:], strict=False))):
                merged = merged.plus(place, stride)
                stride = stride * size
            return self.known[value]([*places[:axis], merged, *places[axis + count :]])

        return entry

    def _merge(self, step: Step) -> Entry:
        ((value, _),) = given(step)
        (count,) = step.params
        inner = value.shape[len(value.shape) - count :]

        def entry(places: Sequence[EntryPlace]) -> CodePiece:
            *lead, last = places
            apart: list[EntryPlace] = []
            rest = last
            for k, size in enumerate(reversed(inner)):
                if k == len(inner) - 1:
                    apart.insert(0, rest)
                    continue
                text, by = rest.counted(self.sizes, 0, self.base).text, self.sizes.piece(size).at(ATOM)
                apart.insert(0, EntryPlace.raw(self.remainder(text, by)))
                rest = EntryPlace.raw(self.division(text, by))
            return self.known[value]([*lead, *apart])

        return entry

    def _mask(self, step: Step) -> Entry:
        if step.name == "places":
            return lambda places: places[0].counted(self.sizes, 0, self.base)
        (form,) = step.params

        def entry(places: Sequence[EntryPlace]) -> CodePiece:
            positive = Form(tuple([(x, c) for x, c in form.terms if not _is_negative(c)]), 0)
            negative = Form(tuple([(x, -1 * c) for x, c in form.terms if _is_negative(c)]), -1 * form.const)
            left, right = [EntryPlace.at(side, places) for side in (positive, negative)]
            shift = 0 if len(left.terms) == len(right.terms) == 1 else None
            sides = [p.counted(self.sizes, self.base if shift == 0 else 0, self.base) for p in (left, right)]
            return self.compared(step.name, *sides)

        return entry

    def compared(self, sign: str, left: CodePiece, right: CodePiece) -> CodePiece:
        return CodePiece(f"{left.at(1)} {sign} {right.at(1)}", 0)

    def _take(self, step: Step) -> Entry:
        (value, labels), *told = given(step)
        (kinds,) = step.params

        def entry(places: Sequence[EntryPlace]) -> CodePiece:
            at = dict(zip(step.labels, places, strict=True))
            own = []
            for x, kind in zip(labels, kinds, strict=True):
                own.append(at[x] if kind is None else EntryPlace.raw(self.place_text(self.entry(told[kind], at))))
            return self.known[value](own)

        return entry

    def place_text(self, piece: CodePiece) -> str:
        return piece.at(ATOM)

    # What needs lines of its own

    def _place(self, step: Step) -> None:
        raise NotImplementedError

    def _call(self, step: Step) -> None:
        raise NotImplementedError

    def as_array(self, value: Value) -> str:
        """The name of an array with all entries of a value."""
        return self.whole[value] if value in self.whole else self.array(value, self.known[value])


def _is_negative(coefficient: Size) -> bool:
    return isinstance(coefficient, int) and coefficient < 0
