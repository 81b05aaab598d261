"""The plain interpreter: an expression, node by node, on NumPy arrays. Obviously right before anything else.

It is what compiled code is checked against. Nodes are computed in topological order, each array is dropped after its
last use, and nothing is rewritten.

*Types.* The floating inputs decide one floating type for all that is computed, float64 if there are none. Constants
are Python numbers until they meet an array, so they never promote. Integers (and truth values, as 0 and 1) are computed
in int64 among themselves, which is what indices need, and take the floating type where they meet floats.

*Structures* stay relations until a user needs them. In a product, one that fixes a summed index of a single operand,
``j == i + k`` or ``j == t[i]``, is a read of that operand at a computed place; one that merges axes is a reshape; all
others, and the places that would be read outside, are masks: no term is where they do not hold.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ricci.compiler.backends.numpy_table import ELEMENTWISE, FUNCTIONS
from ricci.compiler.prepare.choices import HELD, with_choices
from ricci.errors import AxisError, DTypeError, InputError, ShapeError
from ricci.expr import (
    Constant,
    Data,
    Dim,
    Elementwise,
    Expr,
    Function,
    Product,
    Shape,
    Structure,
    Sum,
    Variable,
    topological,
)
from ricci.expr.dims import Atom, Size, atom_text, evaluate
from ricci.expr.nodes import IMAGINARY
from ricci.expr.structures import whole
from ricci.expr.walk import sized, with_bodies
from ricci.testing.masked import Mask, SizedStructure, multiplied, read_patterns

Array = np.ndarray
NAMED = {"pi": math.pi}


def interpret(roots: Sequence[Expr], inputs: Mapping[str, Any], sizes: Mapping[Atom, int]) -> list[Any]:
    """The values of ``roots``; ``sizes`` gives those that the shapes of the inputs do not."""
    run = Evaluation(inputs, sizes)
    roots = with_choices(with_bodies(sized(roots, run.size)))
    wanted = set(roots)
    with np.errstate(all="ignore"):
        values = {node: value for node, _, value in run.steps(roots) if node in wanted}
        return [run.finished(values[root]) for root in roots]


class Evaluation:
    """One evaluation: the inputs, the sizes, and the types that follow from them."""

    def __init__(self, inputs: Mapping[str, Any], sizes: Mapping[Atom, int]):
        self.inputs = {name: _checked(name, value) for name, value in inputs.items()}
        own = {(name, axis): n for name, array in self.inputs.items() for axis, n in enumerate(array.shape)}
        self.sizes = {**own, **sizes}
        types = [array.dtype for array in self.inputs.values()]
        floats = [np.finfo(dtype).dtype for dtype in types if dtype.kind in "cf"]
        self.floating = np.result_type(*floats) if floats else np.dtype(np.float64)
        self.complex = np.result_type(self.floating, np.complex64)
        self.number = np.dtype(np.int64) if types and not floats else self.floating

    def steps(self, roots: Sequence[Expr]) -> Iterator[tuple[Expr, list, Any]]:
        """Each node with the values of its operands and its own, operands first; dropped here after the last use."""
        order = topological(*roots)
        uses = Counter(a for node in order for a in node.args)
        values: dict[Expr, Any] = {}
        for node in order:
            operands = [values[a] for a in node.args]
            values[node] = self.evaluate(node, operands)
            yield node, operands, values[node]
            for a in node.args:
                uses[a] -= 1
                if not uses[a]:
                    del values[a]

    def evaluate(self, node: Expr, values: list) -> Any:
        return _RULES[type(node)](self, node, values)

    def finished(self, value: Any) -> Any:
        """A result that is the user's own: contiguous, writable, shared with nothing; a NumPy scalar if of order 0."""
        result = np.array(self.dense(value), order="C", copy=True)
        return result if result.ndim else result[()]

    # Sizes

    def size(self, size: Size) -> int:
        try:
            return evaluate(size, self.sizes)
        except KeyError as missing:
            name = atom_text(missing.args[0])
            raise InputError(f"Nothing determines the size {name}; give it, as in sizes={{...}}.") from None

    def integer(self, name: str) -> bool:
        return self.inputs[name].dtype.kind not in "cf"

    def shape(self, shape: Shape) -> tuple[int, ...]:
        return tuple([self.size(size) for size in shape])

    # Types

    def settled(self, value: Any) -> Array:
        """A result in the floating type, or that of complex numbers, if it is floating at all."""
        array = np.asarray(value)
        wanted = {"f": self.floating, "c": self.complex}.get(array.dtype.kind)
        return array if wanted is None else array.astype(wanted, copy=False)

    def dense(self, value: Any) -> Array:
        if isinstance(value, SizedStructure):
            return value.dense(self.number)
        if isinstance(value, np.ndarray):
            return value
        return np.asarray(value, dtype=self.floating if isinstance(value, float) else self.number)

    def aligned(self, values: Sequence[Any], patterns: bool = False) -> list:
        """Arrays in one type, complex or floating if any is; numbers stay, and so do patterns if asked."""
        kinds = {value.dtype.kind for value in values if isinstance(value, np.ndarray)}
        floating = self.complex if "c" in kinds else self.floating
        common = floating if kinds & set("cf") else np.dtype(np.int64) if kinds & set("iu") else self.number
        result = []
        for value in values:
            if isinstance(value, Mask):
                result.append(value)
            elif isinstance(value, SizedStructure):
                result.append(value if patterns else value.dense(common))
            elif isinstance(value, np.ndarray):
                keep = value.dtype.kind == "u" and common.kind == "i"
                result.append(value if keep else value.astype(common, copy=False))
            else:
                result.append(value)
        return result


def _checked(name: str, value: Any) -> Array:
    """An input as an array of a type that is computed with: floats as they are, integers as int64."""
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise DTypeError(f"The input {name!r} has the type {array.dtype}; ricci computes with numbers.")
    return array.astype(np.int64, copy=False) if array.dtype.kind in "iu" and array.dtype != np.uint64 else array


def _one_shape(what: str, arrays: Sequence[Any]) -> None:
    shapes = list(dict.fromkeys(a.shape for a in arrays if isinstance(a, np.ndarray) and a.ndim))
    if len(shapes) > 1:
        raise ShapeError(f"The operands of {what} have different shapes: {' and '.join(map(str, shapes))}.")


# One rule for each kind of node


def _variable(run: Evaluation, node: Variable, values: list) -> Array:
    if node.name not in run.inputs:
        raise InputError(f"There is no value for the input {node.name!r}; give it as {node.name}=...")
    array = run.inputs[node.name]
    if array.ndim != node.order:
        raise ShapeError(f"The input {node.name!r} has order {node.order}; its value has the shape {array.shape}.")
    expected = run.shape(node.shape)
    if array.shape != expected:
        raise ShapeError(f"The input {node.name!r} has the shape {array.shape} where {expected} is expected.")
    if array.dtype.kind == "c" and not node.complex:
        raise DTypeError(f"The input {node.name!r} is complex, and its name stands for real numbers.")
    return run.settled(array.astype(run.complex) if node.complex else array)


def _constant(run: Evaluation, node: Constant, values: list) -> Any:
    value = node.value
    if isinstance(value, Data):
        return run.settled(_checked("constant", value.values))
    if isinstance(value, Dim):
        return run.size(value)
    if value == IMAGINARY:
        return np.asarray(1j, run.complex)
    if isinstance(value, str):
        return NAMED[value]
    return float(value) if isinstance(value, Fraction) else value


def _structure(run: Evaluation, node: Structure, values: list) -> SizedStructure:
    shape = run.shape(node.shape)
    kind = node.relation[0]
    if kind == "at":
        return SizedStructure(
            kind, shape, index=_gather_index(run.dense(values[0]), shape[-1], whole(node.args[0], run.integer))
        )
    if kind in ("one", "zero"):
        return SizedStructure(kind, shape)
    _, coefs, const = node.relation
    return SizedStructure(kind, shape, run.shape(coefs), run.size(const))


def _gather_index(index: Array, size: int, is_whole: bool) -> Array:
    index = index.astype(np.int64) if is_whole else index
    if index.dtype.kind not in "biu":
        raise DTypeError(f"A tensor is read at places given by integers, not by an array of the type {index.dtype}.")
    wrong = (index < 0) | (index >= size)
    if np.any(wrong):
        raise AxisError(f"A tensor is read at the place {index[wrong].flat[0]} of an axis of size {size}.")
    return index.astype(np.int64)


def _sum(run: Evaluation, node: Sum, values: list) -> Any:
    """One-tensors are numbers here, which broadcast."""
    values = [int(v.kind == "one") if isinstance(v, SizedStructure) and v.constant else v for v in values]
    values = run.aligned(values)
    _one_shape("a sum", values)
    total: Any = 0
    for coef, value in zip(node.coefs, values, strict=True):
        coef = float(coef) if isinstance(coef, Fraction) else coef
        total = total + (value if coef == 1 else -value if coef == -1 else value * coef)
    if isinstance(total, (np.ndarray, np.generic)):
        return run.settled(total)
    return np.broadcast_to(run.dense(total), run.shape(node.shape)) if node.shape else total


def _elementwise(run: Evaluation, node: Elementwise, values: list) -> Any:
    op = node.op
    if op is HELD:
        return values[0]
    if all(isinstance(value, (int, float)) for value in values):
        return op.value(*values)
    if op.name == "where":
        condition, *branches = values
        branches = run.aligned(branches)
        if not any(isinstance(b, np.ndarray) for b in branches):
            branches = [run.dense(b) for b in branches]
        values = [run.dense(condition), *branches]
    else:
        values = run.aligned(values)
    _one_shape(op.name, values)
    return run.settled(ELEMENTWISE[op.name](*values))


def _function(run: Evaluation, node: Function, values: list) -> Array:
    if node.op.loop is not None:
        return run.settled(_looped(run, node, [run.dense(v) for v in values]))
    if node.op.branches is not None:
        return run.settled(_chosen(run, node, [run.dense(v) for v in values]))
    values = [run.dense(v) if isinstance(v, (int, float)) else v for v in run.aligned(values)]
    leads = [v.shape[: v.ndim - own] for v, own in zip(values, node.op.axes_of(node.params), strict=True)]
    if len(set(leads)) > 1:
        raise ShapeError(f"The leading axes of the operands of {node.op.name} differ: {' and '.join(map(str, leads))}.")
    f = FUNCTIONS[node.op.name] if node.op.outside is None else node.op.outside.on_numpy
    return run.settled(f(*values, *node.params))


def _chosen(run: Evaluation, node: Function, values: list) -> Array:
    """The branch that a number tells."""
    body = node.op.branches.with_columns(node.shape[len(node.shape) - sum(node.params) :])
    number, *operands = values
    at = min(max(int(number), 0), len(body.results) - 1)
    return interpret([body.results[at]], dict(zip([v.name for v in body.operands], operands, strict=True)), run.sizes)[
        0
    ]


def _looped(run: Evaluation, node: Function, values: list) -> Array:
    """The states of a loop, one after another."""
    body = node.op.loop
    if body.forced:
        body = body.with_columns(node.shape[len(node.shape) - node.params[0] :])
    fixed, slices, last = body.operands(values)
    states = [last[0] if body.forced else last]
    names = [v.name for v in (*body.fixed, *body.slices, body.state)]
    for t in range(len(last) - 1 if body.forced else run.size(body.length)):
        given = [*fixed, *[x[t] for x in slices], states[-1]]
        new = interpret([body.result], dict(zip(names, given, strict=True)), run.sizes)[0]
        states.append(new + last[t + 1] if body.forced else new)
    return states[-1] if body.last else np.stack(states)


def _product(run: Evaluation, node: Product, values: list) -> Array:
    scalar: Any = 1
    factors = []
    for value, labels in zip(values, node.labels, strict=True):
        if isinstance(value, (int, float)):
            scalar = scalar * value
        else:
            factors.append((value, labels))
    sizes = _label_sizes(factors)
    arrays = run.aligned([value for value, _ in factors], patterns=True)
    factors = read_patterns(list(zip(arrays, [labels for _, labels in factors], strict=True)), node.out, sizes)
    arrays = run.aligned([value for value, _ in factors])
    common = next((a.dtype for a in arrays if isinstance(a, np.ndarray)), run.number)
    factors = list(zip(arrays, [labels for _, labels in factors], strict=True))
    result, labels = multiplied(factors, node.out, common, scalar)
    result = result if result is not None else run.dense(scalar)
    wide = [slice(None) if label in labels else None for label in node.out]
    shape = [
        sizes[label] if label in sizes else run.size(size) for label, size in zip(node.out, node.shape, strict=True)
    ]
    return np.broadcast_to(run.settled(result)[tuple(wide)], shape)


def _label_sizes(factors: list) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for value, labels in factors:
        for label, size in zip(labels, value.shape, strict=True):
            if sizes.setdefault(label, size) != size:
                shapes = ", ".join(str(v.shape) for v, _ in factors)
                raise ShapeError(f"In a product of shapes {shapes}, one index has the sizes {sizes[label]} and {size}.")
    return sizes


_RULES = {
    Variable: _variable,
    Constant: _constant,
    Structure: _structure,
    Product: _product,
    Sum: _sum,
    Elementwise: _elementwise,
    Function: _function,
}
