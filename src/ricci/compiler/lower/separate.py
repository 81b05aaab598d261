"""Parts of a product that are computed first, so that gathers and relations do not meet.

``x[1:][n]``, ``cumsum(x)[n]`` and ``x[i].reshape(5, 4)[j]``, and their transposes, are products of ``x`` with gathers
and relations that have indices in common. None of the two can be resolved alone there: a running sum is read at places
that only integers say. So such a product is taken apart, in the order in which a program would go:

- *conditions*: a relation between nothing but integers is a mask, as is one label that two gathers tell to the end;
- *joined*: relations, with the arrays that have what they sum, are an array that gathers read;
- *taken*: arrays that gathers read are read, if the result is what a relation is about;
- *scattered*: what gathers write is written, if a relation reads that, or another gather does;
- *multiplied*: arrays that gathers read more often than they are long are multiplied before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf

from ricci.compiler.lower.builder import Builder, PlacedPart
from ricci.compiler.lower.contract import Contraction, product_where
from ricci.compiler.lower.gathers import Gather, compose, groups, taken
from ricci.compiler.lower.relations import Relation, Resolving, left_of, mask_of
from ricci.compiler.plan.program_steps import Labels, Number, Operand, Value, index, volume

LARGER = 4.0  # than the arrays that it is made of a part may be


@dataclass(eq=False)
class ProductParts:
    """The factors of a product: arrays and whether each is known never to be negative, masks, relations and gathers."""

    arrays: list[Operand] = field(default_factory=list)
    signs: list[bool] = field(default_factory=list)
    masks: list[Operand] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    gathers: list[Gather] = field(default_factory=list)

    @property
    def labels(self) -> set[int]:
        found = {x for _, own in (*self.arrays, *self.masks) for x in own}
        return found | self.related | self.at

    @property
    def related(self) -> set[int]:
        """The labels of relations."""
        return {x for relation in self.relations for x, _ in relation.form.terms}

    @property
    def told(self) -> list[int]:
        """The labels that gathers tell."""
        return [g.label for g in self.gathers]

    @property
    def at(self) -> set[int]:
        """The labels of gathers."""
        return {x for g in self.gathers for x in (g.label, *g.by)}

    @property
    def entries(self) -> int:
        """Of the largest array."""
        return max([value.entries for value, _ in self.arrays if isinstance(value, Value)], default=0)

    def resolving(self, build: Builder, sizes: dict[int, int], out: Labels) -> Resolving:
        arrays, masks = [[(v, [index(x) for x in own]) for v, own in group] for group in (self.arrays, self.masks)]
        return Resolving(build, arrays, self.relations, self.gathers, sizes, out, masks=masks)  # type: ignore[arg-type]

    def without(self, other: ProductParts) -> ProductParts:
        arrays = [(a, s) for a, s in zip(self.arrays, self.signs, strict=True) if a not in other.arrays]
        return ProductParts(
            [a for a, _ in arrays],
            [s for _, s in arrays],
            [m for m in self.masks if m not in other.masks],
            [r for r in self.relations if r not in other.relations],
            [g for g in self.gathers if g not in other.gathers],
        )


@dataclass(eq=False)
class Separating:
    """A product with the labels ``out`` that is taken apart, and the number that comes with it."""

    builder: Builder
    parts: ProductParts
    sizes: dict[int, int]
    out: Labels
    ranks: dict[int, int]
    coef: Number = 1

    def separate(self) -> None:
        """Compute parts until gathers and relations have no labels in common."""
        self.parts.arrays = [self._distinct(operand) for operand in self.parts.arrays]
        self.parts.masks = [self._distinct(mask) for mask in self.parts.masks]
        compose(self.builder, self.parts.gathers, self.sizes)
        self._merge_told()
        self.parts.gathers = list({(g.label, g.at): g for g in reversed(self.parts.gathers)}.values())
        for group in groups(self.parts.gathers):
            self._same_places(group)
        if 0 not in self.sizes.values():
            ways = (
                self._conditioned,
                self._joined,
                self._taken,
                self._scattered,
                self._joined_anyway,
                self._scattered_anyway,
            )
            while self.coef != 0 and self._meet() and any(way() for way in ways):
                pass
            while self.coef != 0 and (self._taken_alone() or self._multiplied()):
                pass
        self._same_places(self.parts.gathers)

    def _merge_told(self) -> None:
        """Labels that the same integers tell are one, but for those of the result."""
        first: dict[Operand, Gather] = {}
        parts = self.parts
        for gather in sorted(parts.gathers, key=lambda g: g.label not in self.out):
            old, new = gather.label, first.setdefault(gather.at, gather).label
            if old == new or old in self.out:
                continue
            parts.arrays = [
                self._distinct((v, tuple([new if x == old else x for x in own]))) for v, own in parts.arrays
            ]
            parts.masks = [self._distinct((v, tuple([new if x == old else x for x in own]))) for v, own in parts.masks]
            parts.relations = [Relation(r.kind, r.form.replaced(old, index(new))) for r in parts.relations]
            for other in parts.gathers:
                other.label = new if other.label == old else other.label
            del self.sizes[old]

    def _distinct(self, operand: Operand) -> Operand:
        """An operand that has no label twice: a diagonal is read."""
        value, labels = operand
        assert isinstance(value, Value)
        return self.builder.read(value, [index(x) for x in labels], self.sizes)

    def _meet(self) -> bool:
        return not self.parts.at.isdisjoint(self.parts.related) or bool(self._twice())

    def _twice(self) -> set[int]:
        told = self.parts.told
        return {x for x in told if told.count(x) > 1}

    # One after another

    def _conditioned(self) -> bool:
        """Make masks of the relations between nothing but integers."""
        parts, build = self.parts, self.builder
        known = {g.label: g.at for g in parts.gathers}
        found = [r for r in parts.relations if r.form.terms and all(x in known for x, _ in r.form.terms)]
        for relation in found:
            (first, coef), *rest = relation.form.terms
            sign = -1 if relation.kind == "==" and coef < 0 else 1
            total = build.scaled(known[first], sign * coef)
            for x, c in rest:
                total = build.map("add", total, build.scaled(known[x], sign * c))
            const = sign * relation.form.const
            holds = ("equal", total, (-const, ())) if relation.kind == "==" else ("less", (-const - 1, ()), total)
            parts.masks.append(build.map(*holds))
            parts.relations.remove(relation)
        return bool(found)

    def _joined(self, most: float = LARGER) -> bool:
        """Compute a relation that concerns gathers, with the arrays that have what it sums.

        What is made may be ``most`` times as large as these: else it is better to write there what gathers write.
        """
        parts = self.parts
        edges = {*parts.at, *self.out}
        for cluster in _clusters(parts.relations, edges):
            if parts.at.isdisjoint(ProductParts(relations=cluster).labels):
                continue
            for relation in cluster:
                part = self._joining(relation, ProductParts(relations=[relation]).labels - edges)
                if part is not None and volume(self._needed(part), self.sizes) <= most * part.entries:
                    self._replace(part)
                    return True
        return False

    def _joining(self, relation: Relation, summed: set[int]) -> ProductParts | None:
        """A relation with the arrays that have what it sums, or one of these labels alone: what makes the least."""
        ways = [self._having(labels, [relation]) for labels in (summed, *[{x} for x in sorted(summed)])]
        found = [part for part in ways if part.arrays]
        return min(found, key=lambda part: volume(self._needed(part), self.sizes), default=None)

    def _joined_anyway(self) -> bool:
        return self._joined(inf)

    def _having(self, labels: set[int], relations: Sequence[Relation] = (), gathers: Sequence[Gather] = ()):
        """The arrays and masks that have one of these labels, with relations and gathers."""
        arrays = [
            (a, s) for a, s in zip(self.parts.arrays, self.parts.signs, strict=True) if not labels.isdisjoint(a[1])
        ]
        masks = [mask for mask in self.parts.masks if not labels.isdisjoint(mask[1])]
        return ProductParts([a for a, _ in arrays], [s for _, s in arrays], masks, list(relations), list(gathers))

    def _taken(self, gathers: Sequence[Gather] | None = None) -> bool:
        """Read the arrays that gathers read; those that tell nobody else are done with then."""
        parts = self.parts
        gathers = parts.gathers if gathers is None else gathers
        told = {g.label for g in gathers}
        if not any(x in told for _, own in (*parts.arrays, *parts.masks) for x in own):
            return False
        parts.arrays = [taken(self.builder, a, gathers, self.sizes) for a in parts.arrays]
        parts.masks = [taken(self.builder, mask, gathers, self.sizes) for mask in parts.masks]
        needed = {*parts.related, *self.out, *self._twice()}
        for gather in [g for g in gathers if g.label not in needed]:
            parts.gathers.remove(gather)
            del self.sizes[gather.label]
        return True

    def _taken_alone(self) -> bool:
        """Read what has no axes but those that one group of gathers reads: it becomes as large as the integers are."""
        for group in groups(self.parts.gathers):
            at = {x for g in group for x in (g.label, *g.by)}
            told = {g.label for g in group}
            read = [own for _, own in (*self.parts.arrays, *self.parts.masks) if not told.isdisjoint(own)]
            if told.isdisjoint(self.out) and all(at.issuperset(own) for own in read) and self._taken(group):
                return True
        return False

    def _scattered(self, anyway: bool = False) -> bool:
        """Add up at the places that gathers say which relations, or other gathers, read.

        The indices of the gathers are summed, unless it is done ``anyway``.
        """
        related, out = self.parts.related, set(self.out)
        read = related if anyway else related | self._twice()

        def kept(group: list[Gather]) -> tuple[int, int]:
            by = {x for g in group for x in g.by}
            return volume(by & related, self.sizes), volume(by & out, self.sizes)

        found = [group for group in groups(self.parts.gathers) if not read.isdisjoint([g.label for g in group])]
        group = min(found, key=kept, default=[])
        if not group or (kept(group) != (1, 1) and not anyway):
            return False
        self._replace(self._linked({x for g in group for x in g.by}, group))
        return True

    def _scattered_anyway(self) -> bool:
        return self._scattered(True)

    def _multiplied(self) -> bool:
        """Multiply what gathers read, or write what they write, if these are more entries than the places are."""
        for group in groups(self.parts.gathers):
            told, by = {g.label for g in group}, {x for g in group for x in g.by}
            source = self._linked(told, apart=by)
            if volume(by, self.sizes) <= volume(told, self.sizes) or not by.isdisjoint(source.labels):
                continue
            if len(source.arrays) > 1 and volume(self._needed(source), self.sizes) <= source.entries:
                self._replace(source)
                return True
            part = self._written_first(told, by, group) if by.isdisjoint(self.out) else None
            if part is not None:
                self._replace(part)
                return True
        return False

    def _written_first(self, told: set[int], by: set[int], group: Sequence[Gather]) -> ProductParts | None:
        """What is written before it is multiplied by others: by what has the places, or by what has only other axes."""
        if told.isdisjoint(self.out) and self._linked(told, apart=by).entries > volume(told, self.sizes):
            return self._linked(by, group)
        direct = self._having(by, (), group)
        others = len(self._linked(by, group).arrays) > len(direct.arrays)
        return direct if others and volume(self._needed(direct), self.sizes) <= direct.entries else None

    def _linked(self, labels: set[int], gathers: Sequence[Gather] = (), apart: Iterable[int] = ()) -> ProductParts:
        """The arrays that have one of these labels, or are linked to one that has by what is summed there.

        What arrays with labels that are to stay ``apart`` have too does not link.
        """
        edges = {*self.parts.at, *self.parts.related, *self.out, *self._having(set(apart)).labels}
        while True:
            part = self._having(labels, (), gathers)
            more = part.labels.difference(labels, edges)
            if not more:
                return part
            labels = labels | more

    # Parts

    def _needed(self, part: ProductParts) -> Labels:
        """The labels of a part that are those of the result or of other factors too."""
        others = {*self.parts.without(part).labels, *self.out}
        return tuple(sorted(part.labels & others))

    def _replace(self, part: ProductParts) -> None:
        """Factors by what their product is, which is no factor of a term where a relation leaves all of it out."""
        kept, own = self._needed(part), part.labels
        self.parts = self.parts.without(part)
        if self.parts.arrays:
            left = [r for relation in part.relations for r in left_of(relation, kept, self.sizes)]
            self.parts.masks += [mask for r in left for mask in mask_of(self.builder, r, self.sizes)]
        made = computed(self.builder, part, {x: self.sizes[x] for x in own}, kept, self.ranks)
        for x in own.difference(kept):
            del self.sizes[x]
        if isinstance(made[0], Value):
            self.parts.arrays.append(made)
            self.parts.signs.append(False)
        else:
            self.coef = self.coef * made[0]

    def _same_places(self, gathers: Sequence[Gather]) -> None:
        """Masks for labels that several of these gathers tell, of which the first stays."""
        first: dict[int, Gather] = {}
        for gather in gathers:
            other = first.setdefault(gather.label, gather)
            if other is not gather:
                self.parts.masks.append(self.builder.map("equal", other.at, gather.at))
                self.parts.gathers = [g for g in self.parts.gathers if g is not gather]


def computed(build: Builder, part: ProductParts, sizes: dict[int, int], out: Labels, ranks: dict[int, int]) -> Operand:
    """The product of these factors, summed over what is not in ``out``, as one array or a number."""
    work = part.resolving(build, sizes, out)
    operands, masked, of_reads = work.resolve()
    if work.zero:
        return 0, ()
    times = work.count([*operands, *masked])
    carried = {x for _, labels in [*operands, *masked] for x in labels}
    kept = sorted([x for x in work.kept if x in carried], key=lambda x: ranks.get(x, x))
    product = Contraction(build, operands, tuple(kept), times, list(part.signs), ranks=ranks)
    made = work.finish(product_where(product, masked, of_reads))
    return build.place(None, [made], out, tuple([sizes[x] for x in out])) if isinstance(made, PlacedPart) else made


def _clusters(relations: Iterable[Relation], edges: set[int]) -> list[list[Relation]]:
    """The relations that have labels in common, other than ``edges``, directly or through others."""
    found: list[tuple[set[int], list[Relation]]] = []
    for relation in relations:
        own = {x for x, _ in relation.form.terms} - edges
        linked = [cluster for cluster in found if not own.isdisjoint(cluster[0])]
        found = [cluster for cluster in found if cluster not in linked]
        found.append((own.union(*[x for x, _ in linked]), [*[r for _, rs in linked for r in rs], relation]))
    return [cluster for _, cluster in found]
