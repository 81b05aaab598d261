"""What is kept of a tensor and of the operation that made it.

A node is one call: the function, its arguments as they were given, tensors among them, and nothing computed from them.
What its derivative is, is found out when a gradient comes back to it. Nodes and changes in place are numbered in the
order in which they happen. So operands have smaller numbers than what is made of them, which gives the order in which
gradients flow back without any recursion; and a tensor whose last change has a larger number than a node that took it
no longer holds what that node has seen.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np

from ricci.tracing.operand import Operand
from ricci.tracing.trees import mapped

numbers = count(1)


class GraphNode:
    """A recorded call of a function on tensors, arrays and numbers, without keyword arguments, that has one result.

    ``operation`` says what the call means, once that has been asked for, and ``inputs`` are the arguments that it
    depends on. A node is ``spent`` when a gradient has gone through it for good.
    """

    __slots__ = ("function", "inputs", "operation", "parents", "spent")
    kwargs: dict[str, Any] = {}  # noqa: RUF012
    count = 0  # of results, where there is a sequence of them; otherwise 0
    inputs: tuple

    def __init__(self, function: Any, parents: tuple):
        self.function = function
        self.parents = parents  # all tensors among the arguments, and perhaps other values
        self.operation: Any = None
        self.spent = False

    @property
    def args(self) -> tuple:
        """The arguments."""
        return self.parents


class GraphCall(GraphNode):
    """Any other recorded call."""

    __slots__ = ("args", "count", "kwargs")
    args: tuple  # type: ignore[assignment]

    def __init__(self, function: Any, args: tuple, kwargs: dict, parents: tuple, count: int = 0):
        self.function, self.args, self.kwargs, self.parents = function, args, kwargs, parents
        self.operation, self.spent, self.count = None, False, count


class Links:
    """How a tensor is tied to others by changes in place.

    A view has an ``owner`` and the calls that make it of that, ``reads``; ``of`` is what the last of them was called
    on. An owner has ``views``. What a tensor was until the node of a number is in its ``past``.
    """

    __slots__ = ("of", "owner", "past", "reads", "views")

    def __init__(self) -> None:
        self.owner: Any = None
        self.of: Any = None
        self.reads: tuple = ()
        self.views: list[Any] = []  # weak references
        self.past: list[tuple[int, Any]] = []


class Recorded(Operand):
    """The fields of a tensor."""

    _what = "A tensor"
    __slots__ = ("__weakref__", "_axes", "_grad", "_hooks", "_links", "_value", "changed", "index", "name", "node")
    __slots__ += ("number", "requires_grad")
    _value: Any  # an array, or one of NumPy's scalars; nobody writes into it
    _grad: Any  # an array, a tensor, or None
    _axes: tuple[str | None, ...] | None
    _hooks: dict[int, Any] | None
    _links: Links | None
    requires_grad: bool
    node: GraphNode | None
    index: int  # among the results of the node
    number: int  # that of the node; 0 for a leaf
    changed: int  # the number of the last change in place; 0 where there was none
    name: str | None

    @property
    def _named(self) -> bool:
        return self._axes is not None

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The sizes of the axes."""
        return self._value.shape

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        """The type of the entries."""
        return self._value.dtype


def settled(node: GraphNode, number: int) -> GraphNode:
    """The node with number ``number``, with what its tensors were then, where they have been changed since."""
    for x in node.parents:
        if isinstance(x, Recorded) and x._links is not None and x._links.past:
            return _as_of(node, number)
    return node


def _as_of(node: GraphNode, number: int) -> GraphNode:
    def then(x: Any) -> Any:
        past = () if not isinstance(x, Recorded) or x._links is None else x._links.past
        return next((was for until, was in past if number < until), x)

    node.parents = mapped(then, node.parents)
    if isinstance(node, GraphCall):
        node.args, node.kwargs = mapped(then, node.args), mapped(then, node.kwargs)
    if hasattr(node, "inputs"):
        node.inputs = mapped(then, node.inputs)
    return node
