"""Which axes of the arrays of a program are one index: those that meet under one label of a step, and so on.

A function that is traced says little of its indices. ``axes={"X": "m n"}`` names those of one argument; through
``y * (X @ w)`` the axis of ``y`` is ``m`` too, and so are those of intermediates and results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ricci.compiler.mesh.placement import Cut, Spec
from ricci.compiler.plan.program import Program
from ricci.compiler.plan.program_steps import Form, Labels, Step, Value
from ricci.functions import FUNCTIONS

Axis = tuple[Value, int]


class SameAxes:
    """The axes of all values of a program, in classes."""

    def __init__(self, program: Program):
        self.parent: dict[Axis, Axis] = {}
        for step in program.steps:
            for first, second in meetings(step):
                if first[0].shape[first[1]] == second[0].shape[second[1]]:
                    self.parent[self.of(second)] = self.of(first)

    def of(self, axis: Axis) -> Axis:
        """The one that stands for a class."""
        above = self.parent.get(axis, axis)
        while above != axis:
            axis, above = above, self.parent.get(above, above)
        return axis

    def spread(self, known: Mapping[Value, Spec]) -> dict[Axis, Cut]:
        """What cuts each class, from what cuts some of the axes in it: the first that says so."""
        found: dict[Axis, Cut] = {}
        for value, spec in known.items():
            for axis, cut in enumerate(spec):
                if cut is not None:
                    own = self.of((value, axis))
                    found[own] = found.get(own) or cut
        return found

    def spec(self, value: Value, cuts: Mapping[Axis, Cut], exact: Spec | None = None) -> Spec:
        """How a value lies: as it is said exactly, and elsewhere as its classes do; each cut is used once."""
        exact = exact or (None,) * len(value.shape)
        used = {one for cut in exact for one in cut or ()}
        made: list[Cut | None] = []
        for axis, own in enumerate(exact):
            cut = cuts.get(self.of((value, axis))) if own is None else own
            if own is None and cut:
                cut = tuple([one for one in cut if one not in used])
                used.update(cut)
            made.append(cut)
        return tuple(made)


def meetings(step: Step) -> Iterator[tuple[Axis, Axis]]:
    """Pairs of axes that are one index in a step."""
    at: dict[int, Axis] = {}
    for axis, label in enumerate(labels_of(step)):
        at.setdefault(label, (step.out, axis))
    if step.op == "read":
        yield from _places(step.operands[0], step.params, at)
        return
    args = list(step.args)
    if step.op == "place":
        has_base, parts = step.params
        base, args = args[: int(has_base)], args[int(has_base) :]
        for (value, _), (labels, forms, _) in zip(args, parts, strict=True):
            if isinstance(value, Value):
                own = {label: (value, axis) for axis, label in enumerate(labels)}
                yield from _places(step.out, forms, own)
        args = base
    for value, labels in args:
        for axis, label in enumerate(labels if isinstance(value, Value) else ()):
            yield at.setdefault(label, (value, axis)), (value, axis)  # type: ignore[misc]


def labels_of(step: Step) -> Labels:
    """The labels of a result; that of a function along an axis which stays, such as softmax, is its operand's."""
    if step.op == "call" and step.name in FUNCTIONS and FUNCTIONS[step.name].kind == "keep":
        return (*step.labels[:-1], step.args[0][1][-1])
    return step.labels


def _places(whole: Value, forms: tuple[Form, ...], at: Mapping[int, Axis]) -> Iterator[tuple[Axis, Axis]]:
    """Where an axis is read or written from its beginning, one by one."""
    for axis, form in enumerate(forms):
        if form.label is not None and form.label in at:
            yield (whole, axis), at[form.label]
