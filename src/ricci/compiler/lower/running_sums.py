"""Triangles as running sums: ``[j <= i + c] x[j]`` is the running sum of ``x``, read at ``i + c``.

A relation ``j <= f(i)`` sums up to the place ``f(i)``; one ``j >= f(i)`` does so in the reversed array. That is done
before all else, in the one array that has ``j``; or at the end, if ``i`` is an index of the result that nothing else
has: then the product is computed with ``j`` as an index of the result, and the sum runs along that. A place before the
first entry reads zero, as it should. Beyond the last one it would have to be the sum of all, so where that can happen
the triangle stays an array of zeros and ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ricci.compiler.lower.builder import Builder
from ricci.compiler.plan.program_steps import Form, Operand, Value, index

if TYPE_CHECKING:
    from ricci.compiler.lower.relations import Resolving


@dataclass(frozen=True)
class Running:
    """Sums along ``label`` up to each place, or from it on, read at ``place``."""

    label: int
    backwards: bool
    place: Form

    def of(self, core: Operand, builder: Builder, sizes: dict[int, int]) -> Operand:
        """The running sum of what was computed with ``label`` as an index of the result."""
        value, labels = accumulated(builder, core, self.label, self.backwards)
        assert isinstance(value, Value)
        return builder.read(value, [self.place if x == self.label else index(x) for x in labels], sizes)


def runs(work: Resolving, form: Form) -> bool:
    """Whether the triangle ``form >= 0`` is a running sum along one of its labels; if so, it is made that."""
    for label, coef in form.terms:
        terms = tuple([(x, c) for x, c in form.terms if x != label])
        others = {x for x, _ in terms}
        fixed = any(work._fixed(x) for x, _ in form.terms)
        if abs(coef) != 1 or not others or label in work.kept or fixed:
            continue
        n = work.sizes[label]
        place = Form(terms, form.const + (n - 1 if coef > 0 else 0))
        if place.bounds(work.sizes)[1] >= n:
            continue
        running = Running(label, coef > 0, place)
        if _at_the_end(work, running, others) or _at_once(work, running, others):
            return True
    return False


def _at_the_end(work: Resolving, running: Running, others: set[int]) -> bool:
    """Keep ``label`` in place of ``others``, which nothing else may have."""
    in_arrays = {x for _, forms in work.factors for form in forms for x, _ in form.terms}
    in_relations = {x for r in work.relations for x, _ in r.form.terms}
    if not others <= set(work.kept) or others & (in_arrays | in_relations) or running.label not in in_arrays:
        return False
    work.kept = [*[x for x in work.kept if x not in others], running.label]
    work.running.append(running)
    work.live -= others
    return True


def _at_once(work: Resolving, running: Running, others: set[int]) -> bool:
    """Sum the one array that has ``label``, unless a contraction that comes before makes it smaller than a mask."""
    label = running.label
    carried = [{x for form in forms for x, _ in form.terms} for _, forms in work.factors]
    users = [p for p, own in enumerate(carried) if label in own]
    if (
        len(users) != 1
        or users[0] >= len(work.arrays)
        or any(label == x for r in work.relations for x, _ in r.form.terms)
    ):
        return False
    (at,) = users
    value, forms = work.arrays[at]
    axis = next((a for a, f in enumerate(forms) if f.label == label and value.shape[a] == work.sizes[label]), None)
    if axis is None or sum(label == x for form in forms for x, _ in form.terms) != 1:
        return False
    linked = {x for own in carried if others & own for x in own} | set(work.kept)
    mask = math.prod([work.sizes[x] for x in (label, *others)])
    if carried[at] - {label} - linked and value.entries > mask:
        return False
    summed, order = accumulated(work.builder, (value, tuple(range(len(forms)))), axis, running.backwards)
    assert isinstance(summed, Value)
    work.arrays[at] = (summed, [running.place if a == axis else forms[a] for a in order])
    work.live.discard(label)
    return True


def accumulated(build: Builder, operand: Operand, label: int, backwards: bool) -> Operand:
    """Running sums along a label, which comes last; backwards, they are those of the reversed operand."""
    value, labels = build.array(build.aligned([operand])[0])
    sizes = dict(zip(labels, value.shape, strict=True))
    if backwards:
        turned = Form(((label, -1),), sizes[label] - 1)
        value, labels = build.array(build.read(value, [turned if x == label else index(x) for x in labels], sizes))
    lead = tuple([x for x in labels if x != label])
    new = build.fresh()
    sizes[new] = sizes[label]
    spread = build.spread((value, labels), (*lead, label), sizes)
    summed, _ = build.call("cumsum", [spread], (1,), (), (new,), sizes)
    return summed, (*lead, label)
