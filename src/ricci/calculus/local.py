"""The local derivative of every kind of node, written once.

The derivative of a node ``C`` by its operand ``A`` is a tensor with the axes of ``C``, then those of ``A``. It is kept
as a sum of products of factors, with labels that say which axis is which, and is never made a tensor of its own:

- product ``*(s1, s2; s3)``: the other factors, with labels s3 for ``C`` and s1 for ``A``;
- sum: the coefficient; the labels of ``C`` and ``A`` are the same;
- elementwise ``f(A)``: one factor, ``f'(A)``, and the same labels;
- function over axes: what its row says, opened into factors.

A label that stands for an axis of ``C`` and one of ``A`` at once is a Kronecker delta that costs nothing. An
:class:`Edge` is such a derivative. Composing edges is the chain rule: multiplying a pullback from the left, a
pushforward from the right, or two local derivatives, is one and the same product.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from ricci.errors import RuleError
from ricci.expr import (
    Elementwise,
    Expr,
    Function,
    Number,
    Product,
    Shape,
    Size,
    Structure,
    Sum,
    add,
    delta,
    one,
    product,
)
from ricci.expr.structure import is_zero

Label = Hashable
Factor = tuple[Expr, tuple[Label, ...]]
MOST_TERMS = 16  # products that distributing a sum may make


@dataclass(slots=True)
class Edge:
    """A derivative: terms of a coefficient and factors, the labels of the result's axes and of the operand's."""

    terms: list[tuple[Number, list[Factor]]]
    out: tuple[Label, ...]
    into: tuple[Label, ...]
    sizes: dict[Label, Size] = field(default_factory=dict)
    whole: Expr | None = None

    def expr(self) -> Expr:
        """The derivative as one expression, with the axes of the result, then those of the operand."""
        if self.whole is None:
            self.whole = _summed(self.terms, (*self.out, *self.into), self.sizes)
        return self.whole


def edge_of(e: Expr, order: int) -> Edge:
    """An expression as a derivative; its first ``order`` axes are those of the result."""
    axes = tuple(range(len(e.shape)))
    return Edge(opened(e, axes), axes[:order], axes[order:], dict(enumerate(e.shape)), e)


def identity(shape: Shape) -> Edge:
    """The derivative of a tensor by itself."""
    axes = tuple(range(len(shape)))
    return Edge([(1, [])], axes, axes, dict(enumerate(shape)))


def local(node: Expr, position: int) -> Edge | None:
    """The derivative of ``node`` by one of its operands; None where it is zero almost everywhere."""
    arg = node.args[position]
    if isinstance(node, Product):
        return _product_edge(node, position)
    axes = tuple(range(len(node.shape)))
    sizes: dict[Label, Size] = dict(enumerate(node.shape))
    if isinstance(node, Sum):
        return Edge([(node.coefs[position], [])], axes, axes, sizes)
    if isinstance(node, Elementwise):
        partial = _partial(node, position)
        if partial is None:
            return None
        factor = partial(*node.args, node)
        return Edge(opened(factor, axes if factor.shape else ()), axes, axes if arg.shape else (), sizes)
    if isinstance(node, Function):
        partial = _partial(node, position)
        if partial is None:
            return None
        lead = len(arg.shape) - node.op.axes_of(node.params)[position]
        own = tuple([("in", axis) for axis in range(lead, len(arg.shape))])
        sizes.update(zip(own, arg.shape[lead:], strict=True))
        whole = partial(node.args, node, node.params)
        return Edge(opened(whole, (*axes, *own), always=True), axes, (*axes[:lead], *own), sizes)
    return None  # an index that gathers is an integer


def _partial(node: Elementwise | Function, position: int):
    partial = node.op.partials[position]
    if isinstance(partial, str):
        raise RuleError(f"{node.op.name} cannot be differentiated here: {partial}")
    return partial


def _product_edge(node: Product, position: int) -> Edge:
    into: list[Label] = []
    factors: list[Factor] = [f for at, f in enumerate(node.factors()) if at != position]
    sizes: dict[Label, Size] = dict(zip(node.out, node.shape, strict=True))
    for axis, (label, size) in enumerate(zip(node.labels[position], node.args[position].shape, strict=True)):
        sizes.setdefault(label, size)
        if label in into:
            again = ("again", axis)
            factors.append((delta(size), (label, again)))
            sizes[again] = size
            label = again
        into.append(label)
    return Edge([(1, factors)], node.out, tuple(into), sizes)


# Sums inside derivatives are distributed where a term is a structure, so that its labels can merge.


def opened(e: Expr, labels: Sequence[Label], always: bool = False) -> list[tuple[Number, list[Factor]]]:
    """``e`` as a sum of products of factors. With ``always``, contractions are opened too."""
    terms: list[tuple[Number, list[Factor]]] = [(1, [(e, tuple(labels))])]
    fresh = 0
    done: list[tuple[Number, list[Factor]]] = []
    while terms:
        coef, factors = terms.pop()
        at = next((p for p, (f, _) in enumerate(factors) if _opens(f, always)), None)
        if at is None or len(terms) + len(done) >= MOST_TERMS:
            done.append((coef, factors))
            continue
        f, own = factors[at]
        rest = factors[:at] + factors[at + 1 :]
        if isinstance(f, Product):
            fresh += 1
            name = dict(zip(f.out, own, strict=True))
            inner = [(a, tuple([name.get(x, ("dummy", fresh, x)) for x in ls])) for a, ls in f.factors()]
            ones = [(one((size,)), (x,)) for x, size in zip(own, f.shape, strict=True)]
            terms.append((coef, rest + inner + ones))
        else:
            assert isinstance(f, Sum)
            terms += [(coef * c, [*rest, (a, own)]) for c, a in zip(f.coefs, f.args, strict=True)]
    return done


def _opens(f: Expr, always: bool) -> bool:
    if isinstance(f, Product):
        return always if f.sums else True
    return isinstance(f, Sum) and (len(f.args) == 1 or always or any(_has_structure(a) for a in f.args))


def _has_structure(e: Expr) -> bool:
    if isinstance(e, Product):
        return any(isinstance(a, Structure) for a in e.args)
    return isinstance(e, Structure) and e.relation[0] != "one"


def compose(outer: Edge, inner: Edge) -> Edge:
    """The chain rule: ``∂w/∂v`` and ``∂v/∂u`` give ``∂w/∂u``."""
    name: dict[Label, Label] = {}
    for theirs, ours in zip(inner.out, outer.into, strict=True):
        name[theirs] = ours
    renamed: dict[Label, Label] = {}

    def rename(label: Label) -> Label:
        return name[label] if label in name else renamed.setdefault(label, ("inner", label))

    into = tuple([rename(label) for label in inner.into])
    sizes = {**{rename(label): size for label, size in inner.sizes.items()}, **outer.sizes}
    terms = [
        (c * d, fs + [(e, tuple([rename(x) for x in labels])) for e, labels in gs])
        for c, fs in outer.terms
        for d, gs in inner.terms
    ]
    return edge_of(_summed(terms, (*outer.out, *into), sizes), len(outer.out))


def combine(edges: Sequence[Edge]) -> Edge:
    """Parallel edges add up."""
    if len(edges) == 1:
        return edges[0]
    order = len(edges[0].out)
    return edge_of(add([(1, edge.expr()) for edge in edges]), order)


def _summed(terms: list[tuple[Number, list[Factor]]], labels: tuple[Label, ...], sizes: dict[Label, Size]) -> Expr:
    """The sum of products, its axes being ``labels``; a label that stands twice is a delta."""
    axes: list[Label] = []
    deltas: list[Factor] = []
    for position, label in enumerate(labels):
        if label in axes:
            again = ("axis", position)
            deltas.append((delta(sizes[label]), (label, again)))
            label = again
        axes.append(label)
    known = {label: sizes[label] for label in labels}
    parts = [(coef, product([*factors, *deltas], axes, known)) for coef, factors in terms]
    return add(parts) if len(parts) > 1 or parts[0][0] != 1 else parts[0][1]


def vanishes(edge: Edge) -> bool:
    return edge.whole is not None and is_zero(edge.whole)
