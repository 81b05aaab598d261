"""Values on small random arrays, and whether a derivative is that of the values: without NumPy.

Sizes that are not given are small. Tensors are dictionaries from places to Python's numbers, and each kind of node is
a loop over them by its definition, with the plain values that the tables of functions have. Inputs are drawn in
several ways, and the first is taken at which everything is finite: the logarithm of a negative number says nothing.
A derivative is compared with central differences of what it is the derivative of.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product as places_of
from random import Random
from typing import Any

import ricci as rc
from ricci.budget import spend
from ricci.errors import RuleError, ShapeError
from ricci.expr import (
    Constant,
    Data,
    Dim,
    Elementwise,
    Expr,
    Function,
    Op,
    Product,
    Size,
    Structure,
    Sum,
    Variable,
    topological,
)
from ricci.expr.alternating import LeviCivita, parity
from ricci.expr.nodes import IMAGINARY
from ricci.expr.settle import SizeClasses
from ricci.functions import plain
from ricci.show.small_sizes import SmallSizes
from ricci.user.one_side import check_one_side

MOST_ENTRIES, MOST_TERMS = 5_000, 200_000  # of one tensor, and of one product
STEP, AGREES = 1e-5, 1e-6
Place = tuple[int, ...]
Sized = Callable[[Size], int]


@dataclass(frozen=True)
class SmallTensor:
    """A shape, and a number for every place."""

    shape: Place
    entries: dict[Place, Any]

    def nested(self, at: Place = ()) -> Any:
        """Lists within lists, below the places ``at``."""
        if len(at) == len(self.shape):
            return self.entries[at]
        return [self.nested((*at, k)) for k in range(self.shape[len(at)])]

    @property
    def finite(self) -> bool:
        return all(isinstance(v, (int, float, complex)) and cmath.isfinite(v) for v in self.entries.values())


def filled(shape: Sequence[int], value: Callable[[Place], Any]) -> SmallTensor:
    count = math.prod(shape)
    if count > MOST_ENTRIES:
        raise RuleError(f"A tensor here has {count:,} entries; values are shown of small arrays: give smaller sizes.")
    spend(count)
    return SmallTensor(tuple(shape), {place: value(place) for place in places_of(*map(range, shape))})


# The value of each kind of node.


def value_of(expr: Expr, inputs: Mapping[str, SmallTensor], size: Sized) -> SmallTensor:
    """The value of an expression at a point."""
    done: dict[Expr, SmallTensor] = {}
    for node in topological(expr):
        args = [done[a] for a in node.args]
        done[node] = inputs[node.name] if isinstance(node, Variable) else RULES[type(node)](node, args, size)
    return done[expr]


def _constant(node: Constant, args: list[SmallTensor], size: Sized) -> SmallTensor:
    if isinstance(node.value, LeviCivita):
        return filled([size(s) for s in node.shape], parity)
    if isinstance(node.value, Data):
        raise RuleError("An array that the text carries has no values here.")
    value = size(node.value) if isinstance(node.value, Dim) else node.value
    if isinstance(value, str):
        return SmallTensor((), {(): {"pi": math.pi, IMAGINARY: 1j}[value]})
    return SmallTensor((), {(): number_of(value)})


def number_of(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else value


def _structure(node: Structure, args: list[SmallTensor], size: Sized) -> SmallTensor:
    kind, shape = node.relation[0], [size(s) for s in node.shape]
    if kind in ("one", "zero"):
        return filled(shape, lambda place: int(kind == "one"))
    if kind == "at":
        return filled(shape, lambda place: int(args[0].entries[place[:-1]] == place[-1]))
    coefs, const = [size(c) for c in node.relation[1]], size(node.relation[2])

    def entry(place: Place) -> int:
        total = const + sum(c * k for c, k in zip(coefs, place, strict=True))
        return int(total == 0 if kind == "==" else total >= 0)

    return filled(shape, entry)


def _product(node: Product, args: list[SmallTensor], size: Sized) -> SmallTensor:
    sizes = {label: size(s) for label, s in zip(node.out, node.shape, strict=True)}
    for table, labels in zip(args, node.labels, strict=True):
        sizes |= dict(zip(labels, table.shape, strict=True))
    count = math.prod(sizes.values())
    if count > MOST_TERMS:
        raise RuleError(f"A product here has {count:,} terms; values are shown of small arrays: give smaller sizes.")
    spend(count)
    at = {label: k for k, label in enumerate(sizes)}
    reads = sorted(
        [(isinstance(a, Expr) and not isinstance(a, Structure), t.entries, [at[x] for x in own])
         for a, t, own in zip(node.args, args, node.labels, strict=True)],
        key=lambda read: read[0],
    )  # fmt: skip
    target, found = [at[label] for label in node.out], filled([sizes[label] for label in node.out], lambda _: 0)
    for place in places_of(*map(range, sizes.values())):
        value: Any = 1
        for own, entries, labels in reads:  # structures first: where one is zero there is no product
            entry = entries[tuple([place[k] for k in labels])]
            if not own and entry == 0:
                break
            value = value * entry
        else:
            found.entries[tuple([place[k] for k in target])] += value
    return found


def _sum(node: Sum, args: list[SmallTensor], size: Sized) -> SmallTensor:
    coefs = [number_of(c) for c in node.coefs]
    return _by_entry(lambda *x: sum(c * v for c, v in zip(coefs, x, strict=True)), args)


def _elementwise(node: Elementwise, args: list[SmallTensor], size: Sized) -> SmallTensor:
    if node.op.unknown is not None or node.op.value is None:
        raise RuleError(f"The function {node.op.name!r} is not known, so there are no values.")
    return _by_entry(lambda *numbers: _value(node.op, numbers), args)


def _value(op: Op, numbers: Sequence[Any]) -> Any:
    """The function of numbers; of complex ones it is that of ``cmath`` where the row's own is of real ones alone."""
    if not any(isinstance(x, complex) for x in numbers):
        return op.value(*numbers)  # type: ignore[misc]
    own = getattr(cmath, op.name, None)
    if own is None and op.name == "power":
        own = pow
    try:
        return (own or op.value)(*numbers)  # type: ignore[misc]
    except TypeError:
        raise RuleError(f"There are no values here of {op.name!r} of complex numbers.") from None


def _by_entry(f: Callable[..., Any], args: list[SmallTensor]) -> SmallTensor:
    shape = next((t.shape for t in args if t.shape), ())
    return filled(shape, lambda place: f(*[t.entries[place if t.shape else ()] for t in args]))


def _function(node: Function, args: list[SmallTensor], size: Sized) -> SmallTensor:
    if node.op.own or node.op.value is None:
        raise RuleError("Loops and functions of one's own have no values here.")
    own = node.op.axes_of(node.params)
    lead = len(args[0].shape) - own[0]
    shape = [size(s) for s in node.shape]
    values = {
        at: node.op.value(*[t.nested(at) for t in args], *node.params)
        for at in places_of(*map(range, args[0].shape[:lead]))
    }

    def entry(place: Place) -> Any:
        found = values[place[:lead]]
        for k in place[lead:]:
            found = found[k]
        return found

    return filled(shape, entry)


RULES: dict[type, Callable[[Any, list[SmallTensor], Sized], SmallTensor]] = {
    Constant: _constant,
    Structure: _structure,
    Product: _product,
    Sum: _sum,
    Elementwise: _elementwise,
    Function: _function,
}


# Inputs.


def _matrix(shape: Place, rng: Random, draw: Callable[[], float], word: str) -> SmallTensor:
    """A matrix of which something is declared."""
    n = shape[0]
    a = [[draw() for _ in range(n)] for _ in range(n)]
    if word == "orthogonal":
        a = plain.qr_q([[v + 2.0 * (i == j) for j, v in enumerate(row)] for i, row in enumerate(a)])
    elif word == "positive":
        a = plain.matmul(a, plain.transposed(a))
        a = [[v + (i == j) for j, v in enumerate(row)] for i, row in enumerate(a)]
    else:
        sign = -1 if word == "antisymmetric" else 1
        a = [[round((a[i][j] + sign * a[j][i]) / 2, 3) for j in range(n)] for i in range(n)]
    return filled(shape, lambda place: a[place[0]][place[1]])


STYLES: tuple[tuple[Callable[[Random], float], bool], ...] = (  # how a number is drawn; whether matrices are definite
    (lambda rng: round(rng.gauss(0, 1), 2), False),
    (lambda rng: round(rng.uniform(0.3, 1.8), 2), False),
    (lambda rng: round(rng.uniform(0.1, 0.9), 2), False),
    (lambda rng: round(rng.uniform(0.1, 0.9), 2), True),
)


def _inputs(
    formula: rc.Formula, size: Sized, shapes: Mapping[str, Sequence[Size]], style: int
) -> dict[str, SmallTensor]:
    rng, (number, definite), facts = Random(7), STYLES[style], formula.context.facts
    found = {}
    for name, own in shapes.items():
        shape = tuple([size(s) for s in own])
        word = facts.symmetries.get(name, "")
        square = len(shape) == 2 and shape[0] == shape[1]
        if name in facts.integers:
            found[name] = filled(shape, lambda place: rng.randrange(2))
        elif word or (definite and square):
            found[name] = _matrix(shape, rng, lambda: number(rng), word or "positive")
        else:
            found[name] = filled(shape, lambda place: number(rng))
    return found


def sized(formula: rc.Formula, roots: Sequence[Expr]) -> Sized:
    """A small number for every size."""
    sizes: list[Size] = []
    for node in topological(*roots):
        sizes += node.shape
        if isinstance(node, Constant) and isinstance(node.value, Dim):
            sizes.append(node.value)
    unknown = [s for s in dict.fromkeys(sizes) if not isinstance(s, int)]
    classes = SizeClasses(*roots, linked=formula.context.facts.linked_sizes())
    called: dict[Size, int] = {}  # different indices have different sizes, where they may, and matrices are tall
    for size in map(classes.find, formula.expr.shape):
        called.setdefault(size, 3 - len(called) % 2)
    wished = [2 if len(called) == 1 else called[classes.find(size)] for size in formula.expr.shape]
    return SmallSizes(formula.expr, list(classes.parent.items()), unknown, wished).of


# The view.


def values_of(formula: rc.Formula) -> dict[str, Any]:
    """Inputs, the value, and for a derivative what differences say of it."""
    check_one_side("call", formula)
    before = formula.origin.formula if formula.origin is not None else None
    roots = [formula.expr] if before is None else [formula.expr, before.expr]
    shapes = {v.name: v.shape for root in roots for v in topological(root) if isinstance(v, Variable)}
    try:
        size = sized(formula, roots)
        inputs, value = _drawn(formula, before, size, shapes)
    except (ShapeError, KeyError) as error:
        raise RuleError(f"No small sizes were found that fit: {error}") from error
    order = {name: k for k, name in enumerate(formula.context.facts.inputs)}
    shown = {name: inputs[name] for name in sorted(inputs, key=lambda name: order.get(name, len(order)))}
    found: dict[str, Any] = {"inputs": [{"name": name, **_told(x)} for name, x in shown.items()]}
    found["result"] = {"name": formula.name or "value", **_told(value)}
    if before is None:
        return {"values": found}
    return {"values": found, "check": _checked(formula, before, inputs, value, size)}


def _drawn(
    formula: rc.Formula, before: rc.Formula | None, size: Sized, shapes: Mapping[str, Sequence[Size]]
) -> tuple[dict[str, SmallTensor], SmallTensor]:
    """Inputs at which all is finite, if there are some among those that are tried, and the value there."""
    tried: list[tuple[dict[str, SmallTensor], SmallTensor]] = []
    for style in range(len(STYLES)):
        inputs = _inputs(formula, size, shapes, style)
        value = value_of(formula.expr, inputs, size)
        if value.finite and (before is None or value_of(before.expr, inputs, size).finite):
            return inputs, value
        tried.append((inputs, value))
    return tried[0]


def _told(x: SmallTensor) -> dict[str, Any]:
    def rounded(value: Any) -> Any:
        if isinstance(value, list):
            return [rounded(one) for one in value]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            if isinstance(value, complex):
                return f"{value:.6g}"
            return bool(value) if isinstance(value, bool) else str(value)
        return float(f"{value:.6g}") + 0.0 if math.isfinite(value) else str(value)

    return {"shape": list(x.shape), "entries": rounded(x.nested())}


def _checked(
    formula: rc.Formula, before: rc.Formula, inputs: dict[str, SmallTensor], value: SmallTensor, size: Sized
) -> dict[str, Any]:
    """The largest distance from central differences, beside the largest entry; or why there is none."""
    by = formula.origin.by
    if by.kind != "input":
        return {"agrees": None, "text": f"Not compared with differences: {by.name} is no input."}
    if by.node.complex:
        return {"agrees": None, "text": f"Not compared with differences: {by.name} is complex."}
    if by.name in formula.context.facts.symmetries:
        word = formula.context.facts.symmetries[by.name]
        return {
            "agrees": None,
            "text": f"Not compared with differences: {by.name} is {word}, its entries are not free.",
        }
    x = inputs.get(by.name)
    if x is None or not value.finite:
        return {"agrees": None, "text": "Not compared with differences: there are no finite values here."}
    away = largest = 0.0
    for place, number in x.entries.items():
        step = STEP * max(1.0, abs(number))
        ends = []
        for moved in (number + step, number - step):
            changed = SmallTensor(x.shape, {**x.entries, place: moved})
            ends.append(value_of(before.expr, {**inputs, by.name: changed}, size))
        for at, high in ends[0].entries.items():
            slope = (high - ends[1].entries[at]) / (2 * step)
            own = value.entries[(*at, *place)]
            away, largest = max(away, abs(slope - own)), max(largest, abs(own), abs(slope))
    agrees = away <= AGREES * max(1.0, largest) * 10
    said = "The derivative agrees with central differences" if agrees else "The derivative differs from differences"
    what = f"of {before.name or 'the function'} by {by.name}"
    text = f"{said} {what}: at most {away:.1e} apart, of entries up to {largest:.3g}."
    return {"agrees": agrees, "distance": away, "largest": largest, "text": text}
