"""Structures in a product: what they say about places becomes reads, writes and reshapes, not 0/1 arrays.

A relation ``j == 2*i + k`` that fixes a summed index reads whoever carries ``j`` at those places, zero outside. One
that fixes an index of the result leaves it out of the computation, and the result is placed at the end: a delta in a
result is a diagonal. Axes merged into an index of the result are kept apart until the end, and then reshaped. A gather
takes, and, where its index is one of the result, scatters at the end. A triangle ``j <= i + c`` is a running sum along
``j``: of the result, where ``i`` is an index of it that nothing else has, or else of the one array that has ``j``.
What is left, other triangles and relations in which no index has the coefficient 1, becomes a mask, and so does where a
read is outside of its array, if something is multiplied by it (``contract.py``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ricci.compiler.lower.builder import Builder, PlacedPart
from ricci.compiler.lower.gathers import Gather, compose, scattered, taken
from ricci.compiler.lower.running_sums import Running, runs
from ricci.compiler.plan.program_steps import Form, Labels, Operand, Value, index


@dataclass(eq=False)
class Relation:
    """``form == 0``, or ``form >= 0``."""

    kind: str
    form: Form


@dataclass(eq=False)
class Resolving:
    """A product whose structures are being resolved: arrays read at ``forms``, and where its result goes in the end."""

    builder: Builder
    arrays: list[tuple[Value, list[Form]]]
    relations: list[Relation]
    gathers: list[Gather]
    sizes: dict[int, int]
    out: Labels
    kept: list[int] = field(default_factory=list)  # the labels of the computation that are not summed
    final: dict[int, Form] = field(default_factory=dict)  # where each label of the result is, in terms of those kept
    running: list[Running] = field(default_factory=list)  # of the result, once it is computed
    masks: list[tuple[Value, list[Form]]] = field(default_factory=list)
    zero: bool = False
    live: set[int] = field(default_factory=set)  # the labels that are neither replaced nor fixed by a gather

    def resolve(self) -> tuple[list[Operand], list[Operand], list[Operand]]:
        """The arrays, the masks, and the masks of reads, all structures done with but for what :meth:`finish` does."""
        self.kept = list(self.out)
        self.final = {x: index(x) for x in self.out}
        self.live = set(self.sizes) - {g.label for g in self.gathers}
        for x in [x for x in self.live if self.sizes[x] == 1 and x not in self.out and not self._fixed(x)]:
            self._replace(x, Form(()))  # a sum over one index is no sum
        self.zero = 0 in self.sizes.values() and not self.gathers  # whose places are to be checked in any case
        while self.relations and not self.zero:
            self._resolve_one()
        ends = len(self.arrays), len(self.factors)
        if len(self.arrays) > 1 and not self.zero:
            self._mask_reads()
        operands = [self.builder.read(value, forms, self.sizes) for value, forms in self.factors]
        if self.gathers:
            operands = self._gathered(operands)
        return operands[: ends[0]], operands[ends[0] : ends[1]], list(dict.fromkeys(operands[ends[1] :]))

    def _mask_reads(self) -> None:
        """Masks for reads that leave their arrays, which are zero there: that is no factor of a term."""
        for value, forms in self.arrays:
            for form, size in zip(forms, value.shape, strict=True):
                if not any(self.sizes[x] == 0 for x, _ in form.terms) and not self._within(form, size):
                    for relation in between(form, 0, size - 1):
                        self._as_mask(relation)

    @property
    def factors(self) -> list[tuple[Value, list[Form]]]:
        """The arrays and the masks."""
        return [*self.arrays, *self.masks]

    def count(self, operands: Sequence[Operand]) -> int:
        """How often each term is counted: the sizes of summed labels that nothing carries."""
        carried = {x for _, labels in operands for x in labels}
        return math.prod([self.sizes[x] for x in self.live - carried - set(self.kept)])

    def _resolve_one(self) -> None:
        relation = self.relations.pop(self._next())
        form = self._without_unit_axes(relation.form)
        if not form.terms:
            self.zero = form.const != 0 if relation.kind == "==" else form.const < 0
            return
        relation = Relation(relation.kind, form)
        if relation.kind == "==":
            digits = self._digits(form)
            if digits is not None:
                self.relations += [Relation("==", part) for part in digits]
                return
            merged = self._merged(relation)
            if merged is not None:
                self._keep(merged, _solved(form, merged))
                return
            if self._reshaped_arrays(form) or self._read_or_placed(form):
                return
        elif runs(self, form):
            return
        self._as_mask(relation)

    def _digits(self, form: Form) -> tuple[Form, Form] | None:
        """An equation as two, where some terms come to less than a step of the others: ``i + 2 j = k + 2 l``."""
        if any(self.sizes[x] == 0 for x, _ in form.terms):
            return None
        for step in sorted({abs(c) for _, c in form.terms}):
            small = Form(tuple([(x, c) for x, c in form.terms if c % step]))
            large = tuple([(x, c // step) for x, c in form.terms if c % step == 0])
            low, high = small.bounds(self.sizes)
            for rest in (form.const % step, form.const % step - step):
                if small.terms and -step < low + rest and high + rest < step:
                    return Form(small.terms, rest), Form(large, (form.const - rest) // step)
        return None

    def _next(self) -> int:
        """Which relation to resolve: equations, as they may move a triangle, and of these merges of axes first.

        A position that axes are merged into only to be read by another relation waits until the axes are those of
        arrays, which are reshaped then: so a reshape to sizes that do not divide the old ones is one.
        """
        if len(self.relations) == 1:
            return 0
        places = [p for p, r in enumerate(self.relations) if r.kind == "=="]
        for p in places:
            if self._merged(self.relations[p]) is not None:
                return p
        between = {p: self._between(self.relations[p].form, p) for p in places}
        for p, found in between.items():
            if found is not None and found[2]:
                return p
        waiting = {found[0] for found in between.values() if found is not None}
        free = [p for p in places if not any(x in waiting for x, _ in self.relations[p].form.terms)]
        return (free or places or [0])[0]

    def _between(self, form: Form, own: int | None = None) -> tuple[int, Labels, bool] | None:
        """A summed label that no array has, the summed ones whose position it is, and whether only arrays have these.

        ``own`` is where the relation is, if it still is among the others.
        """
        form = self._without_unit_axes(form)
        carried = {x for _, forms in self.factors for f in forms for x, _ in f.terms}
        for label, coef in form.terms:
            if abs(coef) != 1 or len(form.terms) < 3 or label in carried or label in self.kept or self._fixed(label):
                continue
            inner = self._row_major(_solved(form, label), label)
            if inner is None or any(x in self.kept or self._fixed(x) for x in inner) or self._apart(inner):
                continue
            others = {x for p, r in enumerate(self.relations) if p != own for x, _ in r.form.terms}
            return label, inner, set(inner) <= carried and not others.intersection(inner)
        return None

    def _apart(self, labels: Labels) -> bool:
        """Whether one of several arrays has some of these labels, but not all: reshaped, it would be repeated."""
        own = [{x for f in forms for x, _ in f.terms} for _, forms in self.factors]
        return len(own) > 1 and any(not x.isdisjoint(labels) and not x.issuperset(labels) for x in own)

    def _reshaped_arrays(self, form: Form) -> bool:
        """Give the arrays that have merged axes the position of these instead."""
        found = self._between(form)
        if found is None or not found[2]:
            return False
        label, inner, _ = found
        for factors in (self.arrays, self.masks):
            for at, (value, forms) in enumerate(factors):
                if any(x in inner for f in forms for x, _ in f.terms):
                    merged, labels = self._merge(self.builder.read(value, forms, self.sizes), inner, label)
                    assert isinstance(merged, Value)
                    factors[at] = (merged, [index(x) for x in labels])
        self.live -= set(inner)
        return True

    def _merge(self, operand: Operand, inner: Labels, label: int) -> Operand:
        """The operand with ``label``, the row-major position of ``inner``, as its last axis in place of these."""
        lead = tuple([x for x in operand[1] if x not in inner])
        value, _ = self.builder.spread(operand, (*lead, *inner), self.sizes)
        assert isinstance(value, Value)
        shape = (*[self.sizes[x] for x in lead], self.sizes[label])
        return self.builder.emit("merge", "", [(value, ())], (*lead, label), shape, value.kind)

    def _without_unit_axes(self, form: Form) -> Form:
        long = [term for term in form.terms if self.sizes[term[0]] != 1]
        return form if len(long) == len(form.terms) else Form(tuple(long), form.const)

    def _merged(self, relation: Relation) -> int | None:
        """A label of the result in which summed ones have a place each, if that is what the relation says."""
        form = self._without_unit_axes(relation.form)
        for label, coef in form.terms:
            if abs(coef) != 1 or label not in self.kept or self._fixed(label) or len(form.terms) < 2:
                continue
            places = _solved(form, label)
            if any(x in self.kept or self._told(x) for x, _ in places.terms):
                continue
            if [(c, self.sizes[x]) for x, c in places.terms] == [(-1, self.sizes[label])]:
                continue  # from the last to the first: that is a view
            if self._within(places, self.sizes[label]) and self._apart_from_one_another(places):
                return label
        return None

    def _apart_from_one_another(self, form: Form) -> bool:
        """Whether other indices have other places: each stride is beyond what the smaller ones reach together."""
        reach = 1
        for x, c in sorted(form.terms, key=lambda term: abs(term[1])):
            if abs(c) < reach:
                return False
            reach += abs(c) * (self.sizes[x] - 1)
        return True

    def _told(self, label: int) -> bool:
        """Whether a gather says what the label is."""
        return any(label == g.label for g in self.gathers)

    def _row_major(self, form: Form, label: int) -> Labels | None:
        """The labels of a form from the slowest to the fastest, if it is their row-major position within ``label``."""
        terms = sorted(form.terms, key=lambda term: (term[1], self.sizes[term[0]]))
        stride = 1
        for x, c in terms:
            if c != stride:
                return None
            stride *= self.sizes[x]
        return None if form.const or stride != self.sizes[label] else tuple([x for x, _ in reversed(terms)])

    def _fixed(self, label: int) -> bool:
        """Whether a gather needs the label as it is."""
        return bool(self.gathers) and any(label == g.label or label in g.by for g in self.gathers)

    def _carried(self, label: int) -> bool:
        """Whether an axis of an array, no longer than this label, is read by just it and so bounds what replaces it."""
        return any(
            form.label == label and length <= self.sizes[label]
            for value, forms in self.factors
            for form, length in zip(forms, value.shape, strict=True)
        )

    def _read_or_placed(self, form: Form) -> bool:
        able = [x for x, c in form.terms if abs(c) == 1 and not self._fixed(x)]
        able.sort(key=lambda x: -self.sizes[x])
        for x in able:
            solved = _solved(form, x)
            if x not in self.kept and (self._carried(x) or self._inside(solved, x)):
                if not self._placed_instead(form, solved, x):
                    self._replace(x, solved)
                return True
        return any(self._placed(x, _solved(form, x)) for x in able if x in self.kept)

    def _placed_instead(self, form: Form, solved: Form, label: int) -> bool:
        """What would be read with zeros around it is placed among zeros, if an index of the result allows it."""
        if len(solved.terms) != 1 or self._inside(solved, label):
            return False
        ((other, coef),) = solved.terms
        able = other in self.kept and abs(coef) == 1 and not self._fixed(other)
        return able and self._placed(other, _solved(form, other))

    def _inside(self, form: Form, label: int) -> bool:
        """Whether the form is an index of ``label`` whatever its own indices are."""
        if any(self.sizes[x] == 0 for x, _ in form.terms):
            return True
        return self._within(form, self.sizes[label])

    def _within(self, form: Form, size: int) -> bool:
        low, high = form.bounds(self.sizes)
        return low >= 0 and high < size

    def _placed(self, label: int, form: Form) -> bool:
        """Leave a label of the result to the end; its place must follow from the labels kept, and from one more."""
        more = [x for x, _ in form.terms if x not in self.kept]
        if len(more) > 1:
            return False
        if not self._inside(form, label):
            if len(form.terms) != 1 or self._fixed(form.terms[0][0]):
                return False
            form = self._narrowed(form, label)
            if self.zero:
                return True
        self._keep(label, form)
        return True

    def _narrowed(self, form: Form, label: int) -> Form:
        """The form of one label with that label restricted to where the form is inside."""
        ((x, c),) = form.terms
        size = self.sizes[label]
        inside = [i for i in range(self.sizes[x]) if 0 <= c * i + form.const < size]
        if not inside:
            self.zero = True
            return form
        y = self.builder.fresh()
        self.sizes[y] = len(inside)
        self.live.add(y)
        moved = Form(((y, 1),), inside[0])
        if x in self.kept:
            self.kept[self.kept.index(x)] = y
        self._replace(x, moved)
        return form.replaced(x, moved)

    def _keep(self, label: int, form: Form) -> None:
        self.kept.remove(label)
        self.kept += [x for x, _ in form.terms if x not in self.kept]
        self._replace(label, form)

    def _replace(self, label: int, form: Form) -> None:
        self.live.discard(label)
        self.arrays = [(v, [f.replaced(label, form) for f in forms]) for v, forms in self.arrays]
        if self.masks:
            self.masks = [(v, [f.replaced(label, form) for f in forms]) for v, forms in self.masks]
        if self.relations:
            self.relations = [Relation(r.kind, r.form.replaced(label, form)) for r in self.relations]
        self.final = {x: f.replaced(label, form) for x, f in self.final.items()}

    def _as_mask(self, relation: Relation) -> None:
        for value, labels in mask_of(self.builder, relation, self.sizes):
            assert isinstance(value, Value)
            self.masks.append((value, [index(x) for x in labels]))

    # Gathers

    def _gathered(self, operands: list[Operand]) -> list[Operand]:
        compose(self.builder, self.gathers, self.sizes)
        for gather in self.gathers:
            if gather.label in self.kept:
                self.kept.remove(gather.label)
                self.kept += [x for x in gather.by if x not in self.kept]
        return [taken(self.builder, operand, self.gathers, self.sizes) for operand in operands]

    # The end

    def finish(self, core: Operand) -> Operand | PlacedPart:
        """What the product is, given what was computed: an operand, or a part that is to be placed."""
        for running in self.running:
            core = running.of(core, self.builder, self.sizes)
        wanted = {x for form in self.final.values() for x, _ in form.terms}
        scattering = [g for g in self.gathers if g.label in wanted and g.label not in core[1]]
        core = scattered(self.builder, core, scattering, wanted, self.sizes)
        core = self._reshaped(core)
        forms = [self.final[x] for x in self.out]
        plain = {form.label: x for form, x in zip(forms, self.out, strict=True) if form.label is not None}
        if len(plain) == len(forms) and all(self.sizes[y] == self.sizes[x] for y, x in plain.items()):
            return core[0], tuple([plain[y] for y in core[1]])
        return PlacedPart(core, forms, {x: self.sizes[x] for form in forms for x, _ in form.terms})

    def _reshaped(self, core: Operand) -> Operand:
        """The core with axes merged wherever a label of the result is just their row-major position."""
        for label, form in self.final.items():
            inner = self._row_major(form, label) if len(form.terms) > 1 else None
            others = [f for x, f in self.final.items() if x != label]
            if inner is None or any(x in inner for f in others for x, _ in f.terms):
                continue
            core = self._merge(core, inner, label)
            self.final[label] = index(label)
        return core


def between(form: Form, low: int, high: int) -> list[Relation]:
    """``low <= form <= high``."""
    above = Form(form.terms, form.const - low)
    below = Form(tuple([(x, -c) for x, c in form.terms]), high - form.const)
    return [Relation(">=", above), Relation(">=", below)]


def left_of(relation: Relation, kept: Sequence[int], sizes: dict[int, int]) -> list[Relation]:
    """What a relation says of the labels that are ``kept``: where it may hold for some indices of the others."""
    terms = relation.form.terms
    own = Form(tuple([(x, c) for x, c in terms if x in kept]), relation.form.const)
    low, high = Form(tuple([(x, c) for x, c in terms if x not in kept])).bounds(sizes)
    return between(own, -high, -low) if relation.kind == "==" else [Relation(">=", Form(own.terms, own.const + high))]


def mask_of(builder: Builder, relation: Relation, sizes: dict[int, int]) -> list[Operand]:
    """An array that says where a relation holds, if it does not do so everywhere."""
    labels = tuple([x for x, _ in relation.form.terms])
    shape = [sizes[x] for x in labels]
    total = np.full(shape, relation.form.const, dtype=np.int64)
    for axis, (_, coef) in enumerate(relation.form.terms):
        total += coef * np.arange(shape[axis]).reshape([-1 if a == axis else 1 for a in range(len(shape))])
    mask = total == 0 if relation.kind == "==" else total >= 0
    return [] if mask.all() else [builder.constant(mask, labels)]


def _solved(form: Form, label: int) -> Form:
    """The label from ``form == 0``."""
    coef = dict(form.terms)[label]
    return Form(tuple([(x, -c * coef) for x, c in form.terms if x != label]), -form.const * coef)


def relations_of(kind: str, labels: Sequence[int], coefs: Sequence[int], const: int) -> Relation:
    """The relation of a structure with these labels, which may repeat."""
    total: dict[int, int] = {}
    for x, c in zip(labels, coefs, strict=True):
        total[x] = total.get(x, 0) + c
    return Relation(kind, Form(tuple([(x, c) for x, c in total.items() if c]), const))
