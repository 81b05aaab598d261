"""Pictures and trace tables of eager tensors: of the calls that they recorded.

A tensor knows the call that made it, and what that call means as an expression of its arguments. So its derivatives
here are the calculus applied to one call at a time, on the values that are there; no gradient is stored anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from math import prod
from typing import Any

import numpy as np

from ricci.calculus.graph import pullbacks, pushforward
from ricci.compiler.pipeline import evaluate, prepare
from ricci.drawing.short_values import short
from ricci.drawing.trace_tables import Asked, TraceStep, TraceTable, check_entries, check_given
from ricci.expr import Expr, Variable, variable
from ricci.functions import FUNCTIONS
from ricci.show import node_words, picture
from ricci.tensor.links import Recorded
from ricci.tensor.meaning import checked_unchanged, operation_name, resolve

_INFIX = {**{name: row.sign for name, row in FUNCTIONS.items() if row.sign}, "true_divide": "/", "matmul": "@"}


# What is known of a tensor


def is_tensor(x: Any) -> bool:
    return isinstance(x, Recorded)


def _value(x: Any) -> Any:
    return x._value if is_tensor(x) else x


def _axes(x: Any) -> tuple[str, ...]:
    return tuple([name or "·" for name in x._axes]) if x._axes else ()


def _operation(x: Any) -> str:
    return operation_name(x.node.function)


def _operands(x: Any) -> list[Any]:
    """The tensors that a call was given, and the numbers and arrays beside them that it computes with."""
    if not is_tensor(x) or x.node is None:
        return []
    return [a for a in _flat(x.node.args) if is_tensor(a) or _is_data(a, x)] + [
        a for a in _flat(list(x.node.kwargs.values())) if is_tensor(a)
    ]


def _flat(args: Sequence[Any]) -> list[Any]:
    """The arguments of a call, lists of tensors opened."""
    found: list[Any] = []
    for a in args:
        found += _flat(a) if isinstance(a, (list, tuple)) and any(map(is_tensor, a)) else [a]
    return found


def _is_data(a: Any, x: Any) -> bool:
    return (
        hasattr(a, "dtype")
        or isinstance(a, float)
        or (isinstance(a, int) and type(x.node.function).__name__ == "ufunc")
    )


def _kind(x: Any) -> str:
    return "constant" if not is_tensor(x) else "operation" if x.node is not None else "input"


def _word(x: Any) -> str:
    if not is_tensor(x):
        return _text(x, {})
    if x.node is None:
        return x.name or "input"
    name = _operation(x)
    return _INFIX.get(name, name)


# Pictures


def vertices(roots: Sequence[Any], values: bool, most: int) -> list[picture.Vertex]:
    """The boxes of a picture, each with its operation, its axes, its value and its gradient."""
    found = picture.folded(picture.build(roots, _operands, _kind, _word, id), most)
    for v in found:
        if not is_tensor(v.source):
            continue
        x = v.source
        if v.kind != "chain":
            v.lines = [v.word] if x.node is None or not x.name else [f"{x.name} =", v.word]
        if x.shape:
            axes = [f"{name}={size}" for name, size in zip(_axes(x), x.shape, strict=False)]
            v.lines.append(f"[{', '.join(axes)}]" if axes else str(x.shape))
        if values:
            v.lines.append(f"value {short(_value(x))}")
            v.lines += [] if x._grad is None else [f"grad {short(_value(x._grad))}"]
        if v.kind == "operation" and len(v.operands) > 1 and v.word not in "+*":
            v.edges = tuple(map(str, range(1, len(v.operands) + 1)))
    return found


# Tables


def table(root: Any, asked: Asked) -> TraceTable:
    """The recorded steps that lead to ``root``."""
    steps = [v.source for v in picture.build([root], _operands, _kind, _word, id) if v.kind != "constant"]
    steps.sort(key=lambda x: x.node is not None)
    names = _names(steps, root)
    by = _chosen(steps, names, asked)
    tape = Tape(steps, by)
    columns = tape.forward(names, asked) if asked.forward else {}
    adjoints = tape.reverse(root, asked.gradient) if asked.reverse else {}
    rows = []
    for x in steps:
        tangents = {name: column.get(id(x), 0.0) for name, column in columns.items()}
        own = node_words.indexed(names[id(x)], _axes(x))
        text = _sentence(x, names) if x.node is not None else ""
        rows.append(TraceStep(own, text, _value(x), tangents, adjoints.get(id(x))))
    return TraceTable(rows, list(columns), asked.adjoint_head(names[id(root)]), asked.most)


def _names(steps: Sequence[Any], root: Any) -> dict[int, str]:
    """The tensors' own names; otherwise x1, x2, … for inputs, v1, v2, … for steps, and y for the result."""
    given = {x.name for x in steps if x.name}
    used: set[str] = set()
    names: dict[int, str] = {}
    fresh = {"input": map("x{}".format, count(1)), "operation": map("v{}".format, count(1))}
    for x in steps:
        name = x.name or ("y" if x is root and "y" not in given else None)
        if name is None or name in used:
            name = next(n for n in fresh[_kind(x)] if n not in given)
        names[id(x)] = name
        used.add(name)
    return names


def _chosen(steps: Sequence[Any], names: Mapping[int, str], asked: Asked) -> list[Any]:
    """The inputs to differentiate by: all that require a gradient, or those asked for, by name or as they are."""
    inputs = {names[id(x)]: x for x in steps if x.node is None}
    wrt = asked.wrt
    if wrt is not None:
        wanted = wrt if isinstance(wrt, (list, tuple)) else [wrt]
        wrt = [names.get(id(x), "another tensor") if is_tensor(x) else x for x in wanted]
    smooth = [name for name, x in inputs.items() if x.requires_grad]
    return [inputs[name] for name in replace(asked, wrt=wrt).chosen(list(inputs), smooth)]


def _sentence(x: Any, names: Mapping[int, str]) -> str:
    """The call that made ``x``: ``v1 * v2``, ``sin(x1)``, ``x1[0]``."""
    name, args = _operation(x), [_text(a, names) for a in x.node.args]
    if name in _INFIX and len(args) == 2:
        return f" {_INFIX[name]} ".join(args)
    if name == "negative":
        return f"-{args[0]}"
    if name == "getitem":
        key = x.node.args[1]
        return f"{args[0]}[{', '.join([_text(k, names) for k in key]) if isinstance(key, tuple) else args[1]}]"
    args += [f"{key}={_text(value, names)}" for key, value in x.node.kwargs.items()]
    return f"{name}({', '.join(args)})" + (f"[{x.index}]" if x.node.count else "")


def _text(a: Any, names: Mapping[int, str]) -> str:
    """An argument of a call, in a few characters."""
    if is_tensor(a):
        return names[id(a)]
    if isinstance(a, (list, tuple)):
        return f"({', '.join([_text(part, names) for part in a])}{',' * (len(a) == 1)})"
    if isinstance(a, slice):
        text = ":".join(["" if part is None else _text(part, names) for part in (a.start, a.stop, a.step)])
        return text if a.step is not None else text[:-1]
    if hasattr(a, "dtype") and a.shape:
        return f"array{a.shape}"
    if hasattr(a, "dtype") or isinstance(a, (int, float)):
        return short(a)
    return "..." if a is Ellipsis else repr(a)


# Derivatives


class Tape:
    """The derivatives along recorded steps; ``by`` are the inputs that they are taken by."""

    def __init__(self, steps: Sequence[Any], by: Sequence[Any]):
        self.steps, self.by = steps, by
        self.known: dict[tuple, list[Expr]] = {}  # the derivatives of calls, of which many are alike
        self.reached = {id(x) for x in by}
        for x in steps:
            if any(id(a) in self.reached for a in _operands(x)):
                self.reached.add(id(x))

    def forward(self, names: Mapping[int, str], asked: Asked) -> dict[str, dict[int, Any]]:
        """A column of tangents for each input, or one for the direction that was given."""
        if asked.tangents is None:
            for x in self.by:
                self._check_entries(x.shape)
            return {names[id(x)]: self._pushed({id(x): _identity(x.shape)}, x.shape) for x in self.by}
        inputs = {names[id(x)]: x for x in self.steps if x.node is None}
        wanted = [inputs[n] for n in replace(asked, wrt=list(asked.tangents)).chosen(list(inputs), ())]
        dots = {id(x): _given(f"the input {names[id(x)]}", asked.tangents[names[id(x)]], x) for x in wanted}
        return {"tangent": self._pushed(dots, ())} if dots else {}

    def _check_entries(self, extra: tuple[int, ...]) -> None:
        check_entries(prod(extra) * sum(prod(x.shape) for x in self.steps))

    def _pushed(self, dots: dict[int, Any], extra: tuple[int, ...]) -> dict[int, Any]:
        for x in self.steps:
            if x.node is not None and id(x) not in dots:
                body, pairs, bound = _call(x)
                moved = [(v, a) for v, a in pairs if id(a) in dots]
                if moved:
                    seeds: dict[Expr, Expr] = {v: variable(f"{v.name} dot", (*v.shape, *extra)) for v, _ in moved}
                    key = (body, tuple(seeds), extra)
                    if key not in self.known:
                        self.known[key] = [pushforward(body, seeds)]
                    arrays = {f"{v.name} dot": dots[id(a)] for v, a in moved}
                    (dots[id(x)],) = _evaluated(self.known[key], pairs, {**bound, **arrays})
        return {id(x): dots.get(id(x), np.zeros((*x.shape, *extra))) for x in self.steps}

    def reverse(self, root: Any, gradient: Any) -> dict[int, Any]:
        """The adjoint of every step on a way from the inputs to ``root``."""
        if gradient is None:
            self._check_entries(root.shape)
        bar = _identity(root.shape) if gradient is None else _given("the result", gradient, root)
        lead = bar.shape[: bar.ndim - len(root.shape)]
        bars: dict[int, Any] = {id(x): np.zeros((*lead, *x.shape)) for x in self.by}
        bars[id(root)] = bar
        for x in reversed(self.steps):
            if x.node is None or id(x) not in bars:
                continue
            body, pairs, bound = _call(x)
            needed = [(v, a) for v, a in pairs if id(a) in self.reached]
            key = (body, tuple([v for v, _ in needed]), lead, "reverse")
            if key not in self.known:
                self.known[key] = pullbacks(body, variable("bar", (*lead, *body.shape)), [v for v, _ in needed])
            found = _evaluated(self.known[key], pairs, {**bound, "bar": bars[id(x)]})
            for (_, a), part in zip(needed, found, strict=True):
                bars[id(a)] = bars[id(a)] + part if id(a) in bars else part
        return bars


def _call(x: Any) -> tuple[Expr, list[tuple[Variable, Any]], Mapping[str, Any]]:
    """What a recorded call means: an expression, its inputs with what they stand for, and the values of constants."""
    operation = (x.node.operation or resolve(x.node)).operation
    for a in x.node.inputs:
        if is_tensor(a):
            checked_unchanged(a, x.number, operation.name)
    return operation.bodies[x.index], list(zip(operation.inputs, x.node.inputs, strict=True)), operation.bound


def _evaluated(exprs: Sequence[Expr], pairs: Sequence[tuple[Variable, Any]], more: Mapping[str, Any]) -> list[Any]:
    return evaluate(prepare(exprs, simplify=False), {**{v.name: _value(a) for v, a in pairs}, **more})


def _identity(shape: tuple[int, ...]) -> Any:
    """The derivative of a tensor by itself."""
    return np.eye(prod(shape)).reshape((*shape, *shape))


def _given(name: str, value: Any, x: Any) -> Any:
    array = np.asarray(_value(value), dtype=float)
    check_given(name, array.shape, x.shape)
    return array
