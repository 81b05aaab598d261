"""One step of a recurrence: its statements read the state before it, and slices of what has the step's index.

``h[t,j]`` in the step of ``h`` is a placeholder for the state, and ``x[t+1,k]`` is one for a slice of ``x[t+1,k]`` as
it is for all ``t`` at once. So the step is built by the rules of any other statement, with an index less.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ricci.errors import NotationError
from ricci.expr import Expr, Variable, one, variable, zero
from ricci.notation import syntax
from ricci.notation.factors import FactorBuilder, Free, Named
from ricci.notation.occurrences import in_indices, names_in


@dataclass
class OneStep:
    """What is known while the statements of one step are built."""

    index: str
    own: str  # the statement that is built
    states: Mapping[str, Variable]
    axes: dict[str, int]  # which axis of a name is that of the steps
    made: dict[str, Expr] = field(default_factory=dict)  # the next states, and what else this step has made
    slices: dict[Variable, Expr] = field(default_factory=dict)


class StepBuilder(FactorBuilder):
    """Builds factors, those of a step too."""

    step: OneStep | None = None

    def tensor(self, node: syntax.TensorNode) -> Named:
        step = self.step
        if step is None:
            return super().tensor(node)
        if node.name in step.axes and node.indices:
            return self._entry(step, node)
        return self._sliced(super().tensor(node))

    def _entry(self, step: OneStep, node: syntax.TensorNode) -> Named:
        """The state, the next one, or something else that belongs to this step."""
        indices = node.indices or ()
        axis = step.axes[node.name]
        index, rest = indices[axis], indices[:axis] + indices[axis + 1 :]
        place = index.const if index.terms == ((1, step.index),) and not index.sizes and not index.strides else None
        if step.index in in_indices(rest):
            raise self.fail(f"Index {step.index!r} counts the steps, and stands on another axis too.", node)
        state = step.states.get(node.name)
        value = step.made.get(node.name) if place == (0 if state is None else 1) else state if place == 0 else None
        if value is None:
            raise self._unknown(step, node, index, place)
        return self.indexed(value, rest, "")

    def _unknown(self, step: OneStep, node: syntax.TensorNode, index: syntax.Index, place: int | None) -> NotationError:
        t, name = step.index, node.name
        if name not in step.states:
            return self.fail(f"{name!r} is made in each step, and is known here at {t} alone.", index, f"Write {t}.")
        if place == 1 and name == step.own:
            hint = f"The right side may use {name} at {t}."
            return self.fail(f"{name!r} at {t}+1 stands on both sides of its own statement.", index, hint)
        if place == 1:
            return self.fail(f"{name!r} at {t}+1 is used before its statement.", index, "Put its statement first.")
        hint = f"For an entry further back, let another name keep it: g[0] = …; g[{t}+1] = {name}[{t}]."
        return self.fail(f"A step knows {name!r} at {t} alone.", index, hint)

    def _sliced(self, value: Named) -> Named:
        """One step of something that has an entry for each."""
        step = self.step
        if step is None or step.index not in value.names:
            return value
        rest = tuple([name for name in value.names if name != step.index])
        whole = value.arranged((step.index, *rest))
        known = next((v for v, e in step.slices.items() if e is whole), None)
        slot = known or variable(f"{step.index}°{len(step.slices)}", whole.shape[1:], complex=whole.complex)
        step.slices[slot] = whole
        return Named(slot, rest)

    def _ones(self, node: syntax.Ones, free: Free) -> Named:
        return self._everywhere(super()._ones(node, free), one)

    def _zeros(self, node: syntax.Zeros, free: Free) -> Named:
        return self._everywhere(super()._zeros(node, free), zero)

    def _everywhere(self, value: Named, make) -> Named:
        if self.step is None or self.step.index not in value.names:
            return value
        kept = [(n, s) for n, s in zip(value.names, value.expr.shape, strict=True) if n != self.step.index]
        return Named(make(tuple([s for _, s in kept])), tuple([n for n, _ in kept]))

    def _delta(self, node: syntax.Delta, free: Free) -> Named:
        return self._sliced(super()._delta(node, free))

    def _epsilon(self, node: syntax.Epsilon, free: Free) -> Named:
        return self._sliced(super()._epsilon(node, free))

    def _call(self, node: syntax.CallNode, free: Free) -> Named:
        step = self.step
        if step is None or step.index not in in_indices((*(node.axes or ()), *(node.result or ()))):
            return super()._call(node, free)
        if any(names_in(a) & step.axes.keys() for a in node.args):
            message = f"{node.name} works along {step.index!r}, and inside a step there is one of them."
            raise self.fail(message, node, "Put it into a statement after the recurrence.")
        self.step = None  # for all steps at once
        value = super()._call(node, free)
        self.step = step
        return self._sliced(value)

    def check_derivative(self, node: syntax.Derivative) -> None:
        """A derivative in a step is one of what is the same in all steps."""
        step = self.step
        if step is not None and (names_in(node) & step.axes.keys() or step.index in self.open.of(node)):
            hint = "Put it into a statement before or after the recurrence."
            raise self.fail("A step takes no derivative of what belongs to it.", node, hint)
