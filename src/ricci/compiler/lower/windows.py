"""Windows: shifted parts of one array that lie beside one another, and reads of axes that were merged.

``stack([x[0:n], x[1:n+1], x[2:n+2]])`` has the entries ``x[i + k]``, and that is a view. So is what is read of it at an
axis of its own for each axis of the window, although programs put the places of a window of two axes in one row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from ricci.compiler.plan.program_steps import Form, Operand, Value

Shape = tuple[int, ...]
Place = tuple[int, ...]


def grouped(merged: Shape, apart: Shape) -> list[list[int]]:
    """Which axes of a shape each axis of one with merged axes consists of."""
    groups, at = [], 0
    for place, size in enumerate(merged):
        own = []
        while at < len(apart) and (prod([apart[k] for k in own]) != size or place == len(merged) - 1):
            own.append(at)
            at += 1
        groups.append(own)
    return groups


def unmerged(value: Value, forms: Sequence[Form], sizes: Mapping[int, int]) -> tuple[Value, list[Form]] | None:
    """What a merge made of, and where to read that instead; none if the merged axes are not read one by one."""
    step = value.step
    if step is None or step.op != "merge":
        return None
    (inner,) = step.operands
    if 0 in inner.shape:
        return None
    places: list[Form] = []
    for form, own in zip(forms, grouped(value.shape, inner.shape), strict=True):
        found = _apart(form, [inner.shape[k] for k in own], sizes)
        if found is None:
            return None
        places += found
    return inner, places


def _apart(form: Form, lengths: Sequence[int], sizes: Mapping[int, int]) -> list[Form] | None:
    """A position among merged axes as a place along each of them; none if some index reaches from one into the next."""
    left, const, found = dict(form.terms), form.const, []
    stride = prod(lengths)
    for length in lengths:
        stride //= length
        own = {x: c // stride for x, c in left.items() if c % stride == 0 and (abs(c) >= stride)}
        left = {x: c for x, c in left.items() if x not in own}
        place, const = divmod(const, stride)
        found.append(Form(tuple(own.items()), place))
        low, high = found[-1].bounds(dict(sizes))
        if low < 0 or high >= length:
            return None
    return found if not left and const == 0 else None


def read_of(operand: Operand) -> tuple[Value, list[Form]] | None:
    """The array that an operand is a read of, and its places, in the labels of the operand."""
    value, labels = operand
    if not isinstance(value, Value) or value.step is None or value.step.op != "read":
        return None
    (source,) = value.step.operands
    return source, [Form(tuple([(labels[x], c) for x, c in form.terms]), form.const) for form in value.step.params]


def counting(reads: Sequence[Sequence[Form]], fresh: Callable[[], int]) -> tuple[list[Form], dict[int, int]] | None:
    """Reads that differ in where they begin as one, with labels that count them, and the sizes of these."""
    terms = {tuple([frozenset(form.terms) for form in forms]) for forms in reads}
    counted = steps_between([tuple([form.const for form in forms]) for forms in reads])
    if len(terms) != 1 or counted is None:
        return None
    labels = [fresh() for _ in counted[0]]
    forms = []
    for axis, form in enumerate(reads[0]):
        further = [(x, step[axis]) for x, step in zip(labels, counted[1], strict=True) if step[axis]]
        forms.append(Form((*form.terms, *further), form.const))
    return forms, dict(zip(labels, counted[0], strict=True))


def steps_between(places: Sequence[Place]) -> tuple[list[int], list[Place]] | None:
    """How places that follow one another count: sizes, and the step of each, the last the fastest; none if in no way.

    >>> steps_between([(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)])
    ([3, 2], [(1, 0), (0, 1)])
    """
    sizes: list[int] = []
    steps: list[Place] = []
    while len(places) > 1:
        first = places[0]
        step = tuple([b - a for a, b in zip(first, places[1], strict=True)])
        run = 2
        while run < len(places) and places[run] == _after(first, step, run):
            run += 1
        if len(places) % run or any(
            places[at + k] != _after(places[at], step, k) for at in range(0, len(places), run) for k in range(run)
        ):
            return None
        sizes.insert(0, run)
        steps.insert(0, step)
        places = places[::run]
    return sizes, steps


def _after(place: Place, step: Place, times: int) -> Place:
    return tuple([a + times * s for a, s in zip(place, step, strict=True)])
