"""Gradients flow back: from a result to everything it was made of, each operation once, the latest first.

At each tensor the gradients that came from its users are added up; that sum goes through the pullback of the operation
which made it, to its operands. The numbers of the nodes give the order, so there is no recursion, however long the way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from ricci.checked_calls import call_back, shown
from ricci.errors import InputError, RuleError, ShapeError
from ricci.kinds import check_usable
from ricci.tensor.links import GraphNode, Recorded, settled
from ricci.tensor.meaning import OperationUse, checked_unchanged, operation_name, resolve
from ricci.tensor.recorder import made, operated
from ricci.tensor.recording_mode import enable_grad, mode

Pull = Callable[
    [Recorded, GraphNode, list], Sequence[Any]
]  # from the gradients of the results of a node to those of its inputs


def backward(root: Recorded, gradient: Any, retain_graph: bool | None, create_graph: bool) -> None:
    """Adds to the ``grad`` of every tensor that ``root`` was made of."""
    if not root.requires_grad:
        raise InputError(
            "backward: nothing that this tensor was made of requires a gradient; it was made under no_grad, or of "
            "plain numbers, truths and whole numbers. Make the inputs rc.Tensor(…) of floats."
        )
    seed = _seed(root, gradient)
    keep = create_graph if retain_graph is None else retain_graph
    if create_graph:
        with enable_grad():
            _flow(root, seed if isinstance(seed, Recorded) else made(seed, None), _recorded, keep)
    else:
        with np.errstate(all="ignore"):
            pull = _pulled if mode().watch is None else _watched
            _flow(root, seed._value if isinstance(seed, Recorded) else seed, pull, keep)


def _seed(root: Recorded, gradient: Any) -> Any:
    """The gradient that comes in, checked; 1 for a scalar where none is given."""
    shape = root.shape
    if gradient is None:
        if root._value.size != 1:
            raise RuleError(
                f"backward: the tensor has the shape {shape}, so which gradient comes in must be said; "
                "reduce it to a number first, as in t.sum().backward(), or give gradient=… of that shape."
            )
        if root.dtype.kind == "c":
            raise RuleError(
                "backward: the tensor is a complex number, of which no direction is up, so which gradient comes in "
                "must be said; make it real first, as in t.abs().backward() or t.real.backward(), or give gradient=…."
            )
        return np.ones(shape, root.dtype)[()]
    if isinstance(gradient, Recorded):
        seed: Any = gradient
    else:
        check_usable(gradient, "The gradient given to backward", "gradient")
        try:
            seed = np.array(gradient, dtype=root.dtype)[()]
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"backward: gradient={shown(gradient)} is not an array of numbers.") from error
    if seed.shape != shape:
        raise ShapeError(f"backward: the gradient has the shape {seed.shape}, and the tensor {shape}; they must agree.")
    return seed


def reached(root: Recorded, all_operands: bool = False) -> list[Recorded]:
    """``root`` and what it was made of, the latest first; by default only what requires a gradient."""
    seen = {id(root): root}
    stack = [root]
    while stack:
        t = stack.pop()
        if t.node is None:
            continue
        for x in settled(t.node, t.number).parents:
            if isinstance(x, Recorded) and (x.requires_grad or all_operands) and id(x) not in seen:
                seen[id(x)] = x
                stack.append(x)
    return sorted(seen.values(), key=attrgetter("number"), reverse=True)


def _flow(root: Recorded, seed: Any, pull: Pull, keep: bool) -> None:
    order = reached(root)
    _check_fresh(order)
    bars: dict[int, Any] = {id(root): seed}  # what has come so far, by tensor
    waiting: dict[GraphNode, dict[int, Any]] = {}  # for nodes with several results
    for position, t in enumerate(order):
        bar = bars.pop(id(t), None)
        node = t.node
        if bar is None and node is None:  # the result does not depend on this leaf smoothly
            bar = np.zeros(t.shape, t.dtype)[()]
        if bar is not None:
            if t._hooks:
                bar = _hooked(t, bar)
            t._grad = bar if t._grad is None else t._grad + bar
        if node is None:
            continue
        if not node.count:
            if bar is None:
                continue
            arrived = [bar]
        else:
            own = waiting.setdefault(node, {})
            if bar is not None:
                own[t.index] = bar
            if position + 1 < len(order) and order[position + 1].node is node:
                continue
            if not waiting.pop(node):
                continue
            arrived = _filled(node, own)
        node.spent = not keep
        gradients = pull(t, node, arrived)
        inputs = node.inputs
        for k, g in zip(node.operation.needed, gradients):
            if g is not None:
                x = inputs[k]
                known = bars.get(id(x))
                bars[id(x)] = g if known is None else known + g


def _check_fresh(order: list[Recorded]) -> None:
    spent = [t.node for t in order if t.node is not None and t.node.spent]
    if spent:
        raise RuleError(
            f"backward has already gone through this graph (at {operation_name(spent[0].function)}); to go through "
            "it again, call the first one as backward(retain_graph=True), or compute the result anew."
        )


def _use(node: GraphNode) -> OperationUse:
    return node.operation or resolve(node)


def _filled(node: GraphNode, arrived: dict[int, Any]) -> list[Any]:
    """The gradients of all smooth results, zeros where none came."""
    operation = _use(node).operation
    bars = []
    for k in operation.smooth:
        body, dtype = operation.bodies[k], operation.results[k]
        assert body is not None
        bars.append(arrived[k] if k in arrived else np.zeros(body.shape, dtype)[()])  # type: ignore[arg-type]
    return bars


def _pulled(t: Recorded, node: GraphNode, bars: list) -> Sequence[Any]:
    """The pullback, on arrays."""
    use = node.operation or resolve(node)
    program = use.program or use.compiled()
    number = t.number
    for x in node.inputs:
        if isinstance(x, Recorded):
            if x.changed > number:
                _check_used(t, node, use)
            bars.append(x._value)
        else:
            bars.append(x)
    if use.takes_result:
        if t.changed:
            _check_used(t, node, use)
        bars.append(t._value)
    return program(bars) if program.simple is None else program.run(*[bars[k] for k in program.simple])


def _watched(t: Recorded, node: GraphNode, bars: list) -> Sequence[Any]:
    """The same, and whoever watches is told the gradients."""
    gradients, watch = _pulled(t, node, bars), mode().watch
    for g in gradients:
        if g is not None and watch is not None:
            watch(f"{node.operation.operation.name} backward", g)
    return gradients


def _check_used(t: Recorded, node: GraphNode, use: OperationUse) -> None:
    """Whether what the pullback of ``t`` needs is still what it was."""
    offset = len(use.operation.smooth)
    given = (*node.inputs, t)
    for place in (use.program or use.compiled()).uses:
        if place >= offset and isinstance(given[place - offset], Recorded):
            checked_unchanged(given[place - offset], t.number, use.operation.name)


def _recorded(t: Recorded, node: GraphNode, bars: list) -> list:
    """The pullback, on tensors, recorded itself."""
    use = _use(node)
    _check_used(t, node, use)
    found = [b if isinstance(b, Recorded) else made(b, None) for b in bars]
    pulled = operated(use.pull, (*found, *node.inputs, *([t] if use.takes_result else [])))
    return [None if body is None else g for body, g in zip(use.pull.bodies, pulled, strict=True)]


def _hooked(t: Recorded, bar: Any) -> Any:
    """What the hooks of ``t`` make of its gradient; each is given a tensor."""
    recorded = isinstance(bar, Recorded)
    for hook in list((t._hooks or {}).values()):
        changed = call_back("t.register_hook", hook, bar if isinstance(bar, Recorded) else made(bar, None))
        if changed is not None:
            value = changed if isinstance(changed, Recorded) else np.asarray(changed, t.dtype)[()]
            if value.shape != t.shape:
                raise ShapeError(f"A hook gave a gradient of shape {value.shape}, and the tensor has {t.shape}.")
            bar = value if recorded or not isinstance(value, Recorded) else value._value
    return made(bar, None) if recorded and not isinstance(bar, Recorded) else bar
