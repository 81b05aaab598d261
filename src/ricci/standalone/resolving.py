"""Structures in a product whose sizes are not known: what they say becomes reads, writes, reshapes and running sums.

It is the compiler's ``lower/relations.py`` again, with proofs in place of numbers: a read is one only if it is inside
of its array whatever the sizes are. What cannot be shown to be so, and triangles that are no running sums, become
masks, factors like others, which are right for all sizes and only larger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ricci.compiler.plan.program_steps import Form, Labels, Value, index
from ricci.compiler.prepare.known_sizes import KnownSizes, never_negative, sample
from ricci.expr import Size, dims
from ricci.standalone.assembling import Assembly, Operand, sizes_of

Read = tuple[Any, list[Form]]  # a value, and the place along each of its axes


@dataclass(eq=False)
class Told:
    """``label == at[…]``: a gather."""

    at: Read
    label: int

    @property
    def by(self) -> set[int]:
        return labels_of(self.at)


@dataclass(eq=False)
class Rest:
    """A product whose structures are being resolved."""

    build: Assembly
    known: KnownSizes
    sizes: dict[int, Size]
    out: Labels
    trailing: bool = False  # whether functions work on the last axes only
    arrays: list[Read] = field(default_factory=list)
    masks: list[Read] = field(default_factory=list)
    relations: list[tuple[str, Form]] = field(default_factory=list)
    gathers: list[Told] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)  # labels of the computation that are not summed
    final: dict[int, Form] = field(default_factory=dict)  # where each label of the result is, in terms of those kept
    running: list[tuple[int, int, bool]] = field(default_factory=list)  # sums along one label, as another, backwards
    live: set[int] = field(default_factory=set)  # the labels that are not replaced
    zero: bool = False

    def resolve(self) -> tuple[list[Operand], list[Operand]]:
        """The arrays and the masks, all structures done with but for what :meth:`finish` does."""
        self.kept, self.live = list(self.out), set(self.sizes)
        self.final = {x: index(x) for x in self.out}
        self._settle_gathers()
        while self._step():
            pass
        for kind, form in self.relations:
            self._mask(kind, form)
        arrays = [read(self.build, value, forms, self.sizes) for value, forms in self.arrays]
        masks = [read(self.build, value, forms, self.sizes) for value, forms in self.masks]
        return [self._taken(operand) for operand in arrays], [self._taken(operand) for operand in masks]

    def _step(self) -> bool:
        """Resolve one relation, if one can be."""
        for place, (kind, form) in enumerate(self.relations):
            if not form.terms and isinstance(form.const, int):
                self.zero |= form.const != 0 if kind == "==" else form.const < 0
                del self.relations[place]
                return True
        for way in (self._merged_result, self._split_arrays, self._merged_arrays, self._replaced, self._placed):
            for place, (kind, form) in enumerate(self.relations):
                if kind == "==" and not self._is_told(form):
                    del self.relations[place]
                    if way(form):
                        return True
                    self.relations.insert(place, (kind, form))
        for place, (kind, form) in enumerate(self.relations):
            if kind == ">=":
                del self.relations[place]
                if self._summed_up(form) or self._counted(form):
                    return True
                self.relations.insert(place, (kind, form))
        return False

    def _is_told(self, form: Form) -> bool:
        return any(x == g.label for g in self.gathers for x, _ in form.terms)

    @property
    def reads(self) -> list[Read]:
        return [*self.arrays, *self.masks, *[g.at for g in self.gathers]]

    # Equations

    def _merged_result(self, form: Form) -> bool:
        """An index of the result that is the row-major position of summed ones: these are kept apart until the end."""
        for label, solved in solutions(form):
            if label in self.kept and len(solved.terms) > 1 and all(x not in self.kept for x, _ in solved.terms):
                inner = self._row_major(solved, label)
                if inner is not None:
                    self._keep(label, solved)
                    return True
        return False

    def _split_arrays(self, form: Form) -> bool:
        """An axis of arrays that is the row-major position of others: the arrays are reshaped to these."""
        for label, solved in solutions(form):
            inner = self._row_major(solved, label) if len(solved.terms) > 1 and label not in self.kept else None
            if inner is None or self._in_relations(label) or not self._is_plain(label, self.reads):
                continue
            for reads in (self.arrays, self.masks):
                reads[:] = [self._split(item, label, inner) for item in reads]
            for gather in self.gathers:
                gather.at = self._split(gather.at, label, inner)
            self.live.discard(label)
            return True
        return False

    def _split(self, item: Read, label: int, inner: Labels) -> Read:
        value, forms = item
        if label not in labels_of(item):
            return item
        axis = next(a for a, f in enumerate(forms) if f.label == label)
        labels = tuple(range(len(forms)))
        own = tuple([len(forms) + k for k in range(len(inner))])
        shape = [*value.shape[:axis], *[self.sizes[x] for x in inner], *value.shape[axis + 1 :]]
        out = (*labels[:axis], *own, *labels[axis + 1 :])
        made, _ = self.build.emit("split", "", [(value, labels)], out, shape, value.kind, (axis, len(inner)))
        return made, [*forms[:axis], *map(index, inner), *forms[axis + 1 :]]

    def _merged_arrays(self, form: Form) -> bool:
        """Axes of arrays whose row-major position another relation reads: the arrays are reshaped to that."""
        for label, solved in solutions(form):
            inner = self._row_major(solved, label) if len(solved.terms) > 1 and label not in self.kept else None
            if inner is None or not self._in_relations(label) or label in {x for r in self.reads for x in labels_of(r)}:
                continue
            users = [r for r in self.reads if labels_of(r) & set(inner)]
            plain = all(self._is_plain(x, users) and x not in self.kept and not self._in_relations(x) for x in inner)
            if not users or not plain or not all(labels_of(r) >= set(inner) for r in users) or self._is_by(inner):
                continue
            for reads in (self.arrays, self.masks):
                reads[:] = [self._merge(item, inner, label) if item in users else item for item in reads]
            self.live -= set(inner)
            return True
        return False

    def _merge(self, item: Read, inner: Labels, label: int) -> Read:
        operand = read(self.build, *item, self.sizes)
        lead = tuple([x for x in operand[1] if x not in inner])
        made, labels = merged(self.build, operand, lead, inner, label, self.sizes)
        return made, [index(x) for x in labels]

    def _is_by(self, labels: Sequence[int]) -> bool:
        return any(g.by & set(labels) for g in self.gathers)

    def _replaced(self, form: Form) -> bool:
        """A summed index that follows from others is read where these say, if that is inside of all it is read in."""
        able = [(x, s) for x, s in solutions(form) if x not in self.kept and self._inside(s, x)]
        able.sort(key=lambda pair: (len(pair[1].terms) > 1, not self._is_plain(pair[0], self.reads)))
        for label, solved in able:
            self._replace(label, solved)
            return True
        return False

    def _placed(self, form: Form) -> bool:
        """An index of the result that follows from others is left out, and the result put in its place at the end."""
        for label, solved in solutions(form):
            if label in self.kept and solved.terms and self._inside(solved, label):
                self._keep(label, solved)
                return True
            if label in self.kept and not solved.terms and self._inside(solved, label):
                self._keep(label, solved)
                return True
        return False

    def _inside(self, form: Form, label: int) -> bool:
        """Whether the form is surely an index of ``label``; one that nothing has may have none, and then no terms."""
        ends = bounds(form, self.sizes)
        if ends is None or not never_negative(ends[0]):
            return False
        carried = label in self.kept or any(label in labels_of(item) for item in self.reads)
        full = None if carried else {atom for x, _ in form.terms for atom in dims.atoms(self.sizes[x])}
        return self.known.assured(self.sizes[label] - 1 - ends[1], full)

    def _row_major(self, form: Form, label: int) -> Labels | None:
        """The labels of a form from the slowest to the fastest, if it is their row-major position within ``label``."""
        if form.const != 0 or len({x for x, _ in form.terms}) < len(form.terms):
            return None
        left, order, stride = list(form.terms), [], 1
        while left:
            match = next((term for term in left if term[1] == stride), None)
            if match is None:
                return None
            left.remove(match)
            order.insert(0, match[0])
            stride = stride * self.sizes[match[0]]  # type: ignore[assignment]
        return tuple(order) if stride == self.sizes[label] else None

    def _is_plain(self, label: int, reads: Sequence[Read]) -> bool:
        """Whether it is an axis of its own wherever it is read, and is read."""
        own = [item for item in reads if label in labels_of(item)]
        return bool(own) and all(self._once(label, value, forms) for value, forms in own)

    def _once(self, label: int, value: Value, forms: Sequence[Form]) -> bool:
        axes = [axis for axis, form in enumerate(forms) if any(x == label for x, _ in form.terms)]
        plain = len(axes) == 1 and forms[axes[0]].label == label
        return plain and value.shape[axes[0]] == self.sizes[label]

    def _in_relations(self, label: int) -> bool:
        return any(x == label for _, form in self.relations for x, _ in form.terms)

    def _keep(self, label: int, form: Form) -> None:
        self.kept.remove(label)
        self.kept += [x for x, _ in form.terms if x not in self.kept]
        self._replace(label, form)

    def _replace(self, label: int, form: Form) -> None:
        self.live.discard(label)
        self.arrays = [(v, [f.replaced(label, form) for f in forms]) for v, forms in self.arrays]
        self.masks = [(v, [f.replaced(label, form) for f in forms]) for v, forms in self.masks]
        self.relations = [(kind, f.replaced(label, form)) for kind, f in self.relations]
        for g in self.gathers:
            g.at = (g.at[0], [f.replaced(label, form) for f in g.at[1]])
        self.final = {x: f.replaced(label, form) for x, f in self.final.items()}

    # Triangles

    def _summed_up(self, form: Form) -> bool:
        """``[i >= j] x[j]`` is the running sum of ``x`` where nothing else has ``i``, an index of the result."""
        if len(form.terms) != 2 or form.const != 0 or sorted(c for _, c in form.terms) != [-1, 1]:
            return False
        ((up, _), (down, _)) = sorted(form.terms, key=lambda term: -term[1])
        for i, j, backwards in ((up, down, False), (down, up, True)):
            read_by = {x for item in self.reads for x in labels_of(item)}
            free = i in self.kept and i not in read_by and not self._in_relations(i) and self.final.get(i) == index(i)
            used = sum(i == x for f in self.final.values() for x, _ in f.terms) == 1
            summed = j not in self.kept and j in read_by and not self._in_relations(j)
            if free and used and summed and self.sizes[i] == self.sizes[j] and not self._is_told(form):
                self.kept[self.kept.index(i)] = j
                self.live.discard(i)
                self.running.append((j, i, backwards))
                return True
        return False

    def _counted(self, form: Form) -> bool:
        """``[i >= j+1]`` summed over ``j``, which nothing else has, is the place ``i``."""
        if len(form.terms) != 2 or sorted([c for _, c in form.terms if isinstance(c, int)]) != [-1, 1]:
            return False
        ((i, _), (j, _)) = sorted(form.terms, key=lambda term: -term[1])
        first = form.const + 1
        alone = j not in self.kept and not self._in_relations(j) and all(j not in labels_of(r) for r in self.reads)
        last = self.sizes[j] - self.sizes[i] - form.const
        if i == j or not alone or self._is_told(form) or not never_negative(first) or not never_negative(last):
            return False
        value, labels = self.build.emit("mask", "places", [], (i,), [self.sizes[i]], "i")
        value, labels = self.build.emit("cast", "f", [(value, labels)], labels, value.shape, "f")
        if first != 0:
            value, labels = self.build.map("add", (value, labels), (first, ()))
        self.live.discard(j)
        self.arrays.append((value, [index(x) for x in labels]))
        return True

    def _mask(self, kind: str, form: Form) -> None:
        """A relation as an array of truths."""
        labels = tuple([x for x, _ in form.terms])
        if not labels:
            raise AssertionError("a relation without indices has been decided")
        shape = [self.sizes[x] for x in labels]
        terms = tuple([(k, c) for k, (_, c) in enumerate(form.terms)])
        made, _ = self.build.emit("mask", kind, [], labels, shape, "b", (Form(terms, form.const),))
        self.masks.append((made, [index(x) for x in labels]))

    # Gathers

    def _settle_gathers(self) -> None:
        """Integers that are read at places which others tell are read there; what tells itself is a condition."""
        settled: list[Told] = []
        for gather in self.gathers:
            twice = any(g.label == gather.label for g in settled)
            if twice or self._in_relations(gather.label) or gather.label in gather.by or self._circular(gather):
                self._condition(gather)
            else:
                settled.append(gather)
        self.gathers = settled

    def _circular(self, gather: Told) -> bool:
        told = {g.label: g.by for g in self.gathers}
        reached, waiting = set(gather.by), list(gather.by)
        while waiting:
            new = told.get(waiting.pop(), set()) - reached
            reached |= new
            waiting += new
        return gather.label in reached

    def _condition(self, gather: Told) -> None:
        """A gather as an array of truths: ``t[i] == j``."""
        at = read(self.build, *gather.at, self.sizes)
        places = self.build.emit("mask", "places", [], (gather.label,), [self.sizes[gather.label]], "i")
        value, labels = self.build.map("equal", at, places)
        self.masks.append((value, [index(x) for x in labels]))

    def _taken(self, operand: Operand) -> Operand:
        """The operand read at the places that gathers tell."""
        told = {g.label: g for g in self.gathers}
        while any(x in told for x in operand[1]):
            operand = self._taken_once(operand, {x: told[x] for x in operand[1] if x in told})
        return operand

    def _taken_once(self, operand: Operand, told: dict[int, Told]) -> Operand:
        value, labels = operand
        places = {x: read(self.build, *g.at, self.sizes) for x, g in told.items()}
        kinds = tuple([list(told).index(x) if x in told else None for x in labels])
        new: list[int] = []
        for x in labels:
            new += [y for y in (places[x][1] if x in told else (x,)) if y not in new]
        sizes = {**self.sizes, **sizes_of([operand])}
        shape = [sizes[x] for x in new]
        args = [operand, *places.values()]
        return self.build.emit("take", "", args, tuple(new), shape, value.kind, (kinds,))

    # At the end

    def count(self, operands: Sequence[Operand]) -> Size:
        """How often each term is counted: the sizes of summed labels that nothing carries."""
        carried = {x for _, labels in operands for x in labels} | {g.label for g in self.gathers}
        return math.prod([self.sizes[x] for x in self.live - carried - {*self.kept, *self.wanted()}])  # type: ignore[arg-type]

    def wanted(self) -> list[int]:
        """The labels that what is computed keeps: gathers that are scattered need those of their places."""
        told = {g.label: g for g in self.gathers}
        found: list[int] = []
        waiting = list(reversed(self.kept))
        while waiting:
            x = waiting.pop()
            if x in told:
                waiting += sorted(told[x].by)
            elif x not in found:
                found.append(x)
        return found

    def finish(self, core: Operand) -> Operand:
        """What the product is, given what was computed."""
        build = self.build
        for label, new, backwards in self.running:
            value, labels = core
            if self.trailing:
                labels = (*[x for x in labels if x != label], label)
                core = value, labels = build.spread(core, labels, self.sizes)
            out = tuple([new if x == label else x for x in labels])
            axis, name = labels.index(label), "cumsum_back" if backwards else "cumsum"
            core = build.emit("call", name, [core], out, value.shape, value.kind, ((), ((axis,),), (axis,)))
        core = self._reshaped(core)
        forms = [self.final[x] for x in self.out]
        told = {g.label: g for g in self.gathers}
        plain = {f.label: x for f, x in zip(forms, self.out, strict=True) if self._is_whole(f, x, told)}
        if len(plain) == len(forms):
            return core[0], tuple([plain[x] for x in core[1]])
        return self._put(core, forms)

    def _is_whole(self, form: Form, label: int, told: dict[int, Told]) -> bool:
        """Whether the place along an axis of the result is an index of the computation that goes through all of it."""
        own = form.label
        return own is not None and own not in told and self.sizes[own] == self.sizes[label]

    def _reshaped(self, core: Operand) -> Operand:
        """The core with axes merged wherever a label of the result is just their row-major position."""
        for label, form in list(self.final.items()):
            inner = self._row_major(form, label) if len(form.terms) > 1 else None
            others = [f for x, f in self.final.items() if x != label]
            if inner is None or any(x in inner for f in others for x, _ in f.terms):
                continue
            lead = tuple([x for x in core[1] if x not in inner])
            core = merged(self.build, core, lead, inner, label, self.sizes)
            self.final[label] = index(label)
        return core

    def _put(self, core: Operand, forms: Sequence[Form]) -> Operand:
        """The core at its places among zeros: by a mask where each of its labels is an axis, or else written there."""
        out = self.out
        told = {g.label: g for g in self.gathers}
        axis: dict[int, int] = {}
        for x, form in zip(out, forms, strict=True):
            if self._is_whole(form, x, told):
                axis.setdefault(form.label, x)  # type: ignore[arg-type]
        own = set(core[1])
        if own <= axis.keys() and all(x in axis for f in forms for x, _ in f.terms):
            value: Operand = (core[0], tuple([axis[x] for x in core[1]]))
            for x, form in zip(out, forms, strict=True):
                if form.label is None or axis[form.label] != x:
                    terms = tuple([(axis[y], c) for y, c in form.terms])
                    value = self._where(x, Form(terms, form.const), value)
            return value
        return self._written(core, forms, told)

    def _where(self, label: int, form: Form, value: Operand) -> Operand:
        """The value where ``label == form``, and zero elsewhere."""
        labels = (label, *[x for x, _ in form.terms])
        terms = ((0, 1), *[(k + 1, -1 * c) for k, (_, c) in enumerate(form.terms)])
        relation = Form(terms, -1 * form.const)
        mask = self.build.emit("mask", "==", [], labels, [self.sizes[x] for x in labels], "b", (relation,))
        return self.build.map("where", mask, value, (0, ()))

    def _written(self, core: Operand, forms: Sequence[Form], told: dict[int, Told]) -> Operand:
        """Zeros, with the core added at the places that forms and gathers say."""
        places: dict[int, Operand] = {}
        for form in forms:
            for x, _ in form.terms:
                if x in told:
                    places[x] = self._taken(read(self.build, *told[x].at, self.sizes))
        plain = [x for f in forms for x, _ in f.terms if x not in told]
        needed = list(dict.fromkeys([*plain, *[x for _, labels in places.values() for x in labels]]))
        sizes = {**self.sizes, **sizes_of([core])}
        rest = [x for x in core[1] if x not in needed]
        core = self.build.sum(core, needed) if rest else core
        if set(core[1]) != set(needed) or not isinstance(core[0], Value):
            core = self.build.spread(core, tuple(needed), sizes)
        at = [(form, form.label if form.label in told else None) for form in forms]
        shape = [self.sizes[x] for x in self.out]

        def relabel(number: dict[int, int]) -> tuple:
            known = [
                Form(tuple([(number[x], c) for x, c in form.terms]), form.const)
                if own is None
                else list(places).index(own)
                for form, own in at
            ]
            return (tuple(known),)

        args = [core, *places.values()]
        return self.build.emit("place", "", args, self.out, shape, core[0].kind, relabel=relabel)


def labels_of(item: Read) -> set[int]:
    return {x for form in item[1] for x, _ in form.terms}


def bounds(form: Form, sizes: dict[int, Size]) -> tuple[Size, Size] | None:
    """The smallest and the largest place; none where the sign of a coefficient is not known."""
    low: Size = form.const
    high: Size = form.const
    for x, c in form.terms:
        if never_negative(c):
            high = high + c * (sizes[x] - 1)
        elif never_negative(-1 * c):
            low = low + c * (sizes[x] - 1)
        else:
            return None
    return low, high


def solutions(form: Form) -> list[tuple[int, Form]]:
    """Each label that the equation ``form == 0`` gives, and what it is; longer axes first."""
    found = []
    for label, coef in form.terms:
        if isinstance(coef, int) and abs(coef) == 1:
            terms = tuple([(x, -1 * c * coef) for x, c in form.terms if x != label])
            found.append((label, Form(terms, -1 * form.const * coef)))
    return found


def read(build: Assembly, value: Any, forms: Sequence[Form], sizes: dict[int, Size]) -> Operand:
    """``value`` at the places ``forms``, one for each axis, all of them inside of it."""
    if not isinstance(value, Value):
        return value, ()
    plain = [form.label for form in forms]
    whole = all(x is not None and sizes[x] == n for x, n in zip(plain, value.shape, strict=True))
    if whole and len(set(plain)) == len(plain):
        return value, tuple(plain)  # type: ignore[arg-type]
    labels = tuple(dict.fromkeys(x for form in forms for x, _ in sorted(form.terms, key=lambda t: -sample(t[1]))))
    place = {x: position for position, x in enumerate(labels)}
    inner = tuple([Form(tuple([(place[x], c) for x, c in form.terms]), form.const) for form in forms])
    found, _ = build.emit(
        "read", "", [(value, ())], tuple(range(len(labels))), [sizes[x] for x in labels], value.kind, inner
    )
    return found, labels


def merged(
    build: Assembly, operand: Operand, lead: Labels, inner: Labels, label: int, sizes: dict[int, Size]
) -> Operand:
    """The operand with ``label``, the row-major position of ``inner``, as its last axis in place of these."""
    known = {**sizes, **sizes_of([operand])}
    value, _ = build.spread(operand, (*lead, *inner), known)
    shape = [*[known[x] for x in lead], sizes[label]]
    out = (*lead, label)
    return build.emit("merge", "", [(value, (*lead, *inner))], out, shape, value.kind, (len(inner),))
