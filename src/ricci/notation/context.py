"""What a text says beside its expression: which index ranges over which axes, the inputs, the sizes given.

The core has no names. A :class:`Context` keeps them for the surface: to bind and check sizes at a call, to print with
the user's own index names and in the user's order, and to carry values. Contexts are immutable, and merging two of
them is lazy, so that building long expressions one operation at a time stays linear.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ricci.errors import InputError
from ricci.expr import Expr, Size, Variable, axis_size, variable
from ricci.notation.heights import KEEPS, told

Axis = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Check:
    """A condition on sizes, ``size >= 0``, and what to say where it does not hold."""

    size: Size
    message: str
    text: str
    start: int
    end: int


@dataclass(slots=True)
class Facts:
    """A context written out. Dictionaries and lists are in the order of first use in the text."""

    inputs: dict[str, int] = field(default_factory=dict)  # name → order
    mentions: dict[str, None] = field(default_factory=dict)  # inputs and definitions, where they are first used
    arguments: dict[str, None] = field(
        default_factory=dict
    )  # of the function that the text was read from, if it is one
    groups: list[tuple[str, tuple[Axis, ...]]] = field(default_factory=list)  # an index and the axes it ranges over
    sizes: dict[str, int] = field(default_factory=dict)  # index → size, where given
    ranges: dict[str, Size] = field(default_factory=dict)  # index → size, where it follows from reads like x[i+1]
    integers: set[str] = field(default_factory=set)  # inputs that are used as indices
    assumed: set[str] = field(default_factory=set)  # inputs whose order nothing in the text says, as in sum(x)
    values: dict[str, Any] = field(default_factory=dict)  # input → the value it carries
    checks: list[Check] = field(default_factory=list)
    definitions: dict[str, Expr] = field(default_factory=dict)  # the names that statements define
    derived: bool = False  # whether derivatives are among what this was made of
    disputed: set[str] = field(default_factory=set)  # names that two texts define differently
    defined_indices: dict[str, tuple[str, ...]] = field(default_factory=dict)  # and the indices on their left sides
    heights: dict[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # input or definition → where its indices stand, if not in brackets
    symmetries: dict[str, str] = field(default_factory=dict)  # input → what is declared of it, "symmetric" and its like
    complex: dict[str, None] = field(default_factory=dict)  # inputs of complex numbers
    moved: dict[str, str] = field(default_factory=dict)  # names used at other heights too → the metric that moves them
    functions: dict[str, Any] = field(default_factory=dict)  # the user's functions: how many arguments one has of which
    # nothing is known, and otherwise what it is

    def input(self, name: str, shape: int | tuple[Size, ...]) -> Variable:
        """The node of an input, with what is declared of it."""
        return variable(name, shape, self.symmetries.get(name, ""), name in self.complex)

    @property
    def unknown(self) -> list[str]:
        """The functions of which nothing is known."""
        return [name for name, what in self.functions.items() if isinstance(what, int)]

    def given_shape(self, name: str) -> tuple[Size, ...]:
        """The sizes of an input's axes, those that were given as numbers; the facts must be those of one text."""
        given = {axis: self.sizes[index] for index, axes in self.groups if index in self.sizes for axis in axes}
        return tuple([given.get((name, axis), axis_size(name, axis)) for axis in range(self.inputs[name])])

    def linked_sizes(self) -> list[tuple[Size, Size]]:
        """Pairs of sizes that agree because one index ranges over both axes, or has the size that was given."""
        given: list[tuple[Size, Size]] = [
            (axis_size(*axes[0]), self.sizes[name]) for name, axes in self.groups if axes and name in self.sizes
        ]
        return given + [(axis_size(*axes[0]), axis_size(*axis)) for _, axes in self.groups for axis in axes[1:]]


class Context:
    """The facts of one text, or of several merged."""

    __slots__ = ("_facts", "parents")

    def __init__(self, facts: Facts | None = None, parents: tuple[Context, ...] = ()):
        self._facts = facts
        self.parents = parents

    def __reduce__(self):
        return Context, (self.facts,)

    def merged(self, other: Context) -> Context:
        """Both; itself where the other adds nothing that can be seen at once."""
        if other is self or other in self.parents:
            return self
        if self in other.parents:
            return other
        return Context(None, (self, other))

    @property
    def facts(self) -> Facts:
        if self._facts is None:
            self._facts = _written_out(self)
            self.parents = ()
        return self._facts


EMPTY = Context(Facts())


def merged(contexts: Iterable[Context]) -> Context:
    result = EMPTY
    for context in contexts:
        result = context if result is EMPTY else result.merged(context)
    return result


def _written_out(root: Context) -> Facts:
    result = Facts()
    seen: set[int] = set()
    stack = [root]
    while stack:
        context = stack.pop()
        if id(context) in seen:
            continue
        seen.add(id(context))
        if context._facts is None:
            stack.extend(reversed(context.parents))
        else:
            _join(result, context._facts)
    both = next((name for name in result.functions if name in result.inputs), None)
    if both is not None:
        raise InputError(f"{both!r} is a function in one expression and a tensor in another; rename one of them.")
    return result


def _two_functions(name: str, one: Any, other: Any) -> str:
    if isinstance(one, int) and isinstance(other, int):
        return f"The function {name!r} has {one} arguments in one expression and {other} in another."
    return f"The function {name!r} is not the same one in two expressions; give one of them another name."


def _join(into: Facts, facts: Facts) -> None:
    """Names of indices are local to a text, so only inputs and their values can be at odds."""
    for name in facts.inputs:
        found = {part.symmetries.get(name, "") for part in (into, facts) if name in part.inputs}
        if len(found) > 1:
            words = " and ".join([f"declared {word}" if word else "not declared" for word in sorted(found)[::-1]])
            raise InputError(f"{name!r} is {words}, in two expressions; declare it in both, or rename one of them.")
        if len({name in part.complex for part in (into, facts) if name in part.inputs}) > 1:
            raise InputError(f"{name!r} is complex in one expression and real in another; rename one of them.")
    for name, order in facts.inputs.items():
        if into.inputs.setdefault(name, order) != order:
            raise InputError(f"{name!r} has {into.inputs[name]} indices in one expression and {order} in another.")
    for name, heights in facts.heights.items():
        if into.heights.get(name, heights) != heights:
            found = f"{told(into.heights[name])} in one expression and {told(heights)} in another"
            raise InputError(f"The indices of {name!r} stand {found}. {KEEPS}")
    for name, what in facts.functions.items():
        known = into.functions.setdefault(name, what)
        if known is not what and known != what:
            raise InputError(_two_functions(name, known, what))
    for name, value in facts.values.items():
        if into.values.setdefault(name, value) is not value:
            raise InputError(f"Two variables are named {name!r} and carry different values; rename one of them.")
    into.groups += [group for group in facts.groups if group not in into.groups]
    into.checks += [check for check in facts.checks if check not in into.checks]
    into.integers |= facts.integers
    into.assumed |= facts.assumed
    into.derived |= facts.derived
    into.disputed |= facts.disputed
    for name, value in facts.definitions.items():
        if into.definitions.get(name, value) is not value:
            into.disputed.add(name)
    for what in (
        *("mentions", "arguments", "sizes", "ranges", "definitions"),
        *("defined_indices", "heights", "symmetries", "complex", "moved"),
    ):
        for name, value in getattr(facts, what).items():
            getattr(into, what).setdefault(name, value)
