"""The local derivative of every kind of node, written once.

The derivative of a node ``C`` by its operand ``A`` is a tensor with the axes of ``C``, then those of ``A``. It is kept
as a sum of products of factors, with labels that say which axis is which, and is never made a tensor of its own:

- product ``*(s1, s2; s3)``: the other factors, with labels s3 for ``C`` and s1 for ``A``;
- sum: the coefficient; the labels of ``C`` and ``A`` are the same;
- elementwise ``f(A)``: one factor, ``f'(A)``, and the same labels;
- function over axes: what its row says, opened into factors; or in steps, where the row has these; and where it is
  linear in an operand it is applied to what would be multiplied, and its adjoint on the other side.

A label that stands for an axis of ``C`` and one of ``A`` at once is a Kronecker delta that costs nothing. An
:class:`Edge` is such a derivative. Composing edges is the chain rule: multiplying a pullback from the left, a
pushforward from the right, or two local derivatives, is one and the same product.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from ricci.errors import RuleError
from ricci.expr import (
    CONJ,
    Adjoint,
    Change,
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
    conj,
    delta,
    function,
    one,
    product,
    variable,
)
from ricci.expr.numbers import times
from ricci.expr.structures import is_zero

Label = Hashable
Factor = tuple[Expr, tuple[Label, ...]]
INNER = 1 << 20  # the labels of the inner of two derivatives begin here; those of the outer are smaller, or no numbers
MOST_TERMS = 16  # products that distributing a sum may make
FEW = 2  # terms that are distributed although nothing merges in them
_MAY_MIRROR = frozenset([Elementwise, Function])  # all others are holomorphic
_APART = frozenset([Structure, Sum])  # what is looked at beside the product that it is in
_LOOSE = frozenset([Product, Sum])  # what structures may be taken out of
NESTED = 2  # sums among the factors of terms of sums, so deep are looked through for structures


@dataclass(slots=True)
class Edge:
    """A derivative: terms of a coefficient and factors, the labels of the result's axes and of the operand's."""

    terms: list[tuple[Number, list[Factor]]]
    out: tuple[Label, ...]
    into: tuple[Label, ...]
    sizes: dict[Label, Size] = field(default_factory=dict)
    whole: Expr | None = None
    linear: Function | None = None  # that is applied rather than multiplied: it is linear in its last operand

    def expr(self) -> Expr:
        """The derivative as one expression, with the axes of the result, then those of the operand."""
        if self.whole is None:
            self.whole = _summed(self.terms, (*self.out, *self.into), self.sizes)
        return self.whole


def edge_of(e: Expr, order: int) -> Edge:
    """An expression as a derivative; its first ``order`` axes are those of the result."""
    axes = tuple(range(len(e.shape)))
    return Edge([(1, [(e, axes)])], axes[:order], axes[order:], dict(enumerate(e.shape)), e)


def identity(shape: Shape) -> Edge:
    """The derivative of a tensor by itself."""
    axes = tuple(range(len(shape)))
    return Edge([(1, [])], axes, axes, dict(enumerate(shape)))


def local(node: Expr, position: int) -> Edge | None:
    """The derivative of ``node`` by one of its operands; None where it is zero almost everywhere."""
    arg = operands(node)[position]
    if isinstance(node, Elementwise) and node.op is CONJ:
        return _conjugate(local(node.args[0], position))
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
        factor = conj(factor) if position >= len(node.args) and not node.complex else factor
        return Edge([(1, [(factor, axes if factor.shape else ())])], axes, axes if arg.shape else (), sizes)
    if isinstance(node, Function):
        partial = _partial(node, position)
        if partial is None:
            return None
        lead = len(arg.shape) - node.op.axes_of(node.params)[_place(node, position)]
        own = tuple([("in", axis) for axis in range(lead, len(arg.shape))])
        sizes.update(zip(own, arg.shape[lead:], strict=True))
        into = (*axes[:lead], *own)
        if isinstance(partial, Adjoint):
            return Edge([(1, [(_applied_to_deltas(node), (*axes, *own))])], axes, into, sizes, linear=node)
        whole = partial(node.args, node, node.params)
        whole = conj(whole) if position >= len(node.args) and not node.complex else whole
        return Edge([(1, _taken_apart(whole, (*axes, *own)))], axes, into, sizes)
    return None  # an index that gathers is an integer


def _conjugate(edge: Edge | None) -> Edge | None:
    """The derivative of the conjugate by the conjugate."""
    if edge is None:
        return None
    if edge.linear is not None:
        raise RuleError(f"The conjugate of {edge.linear.op.name} cannot be differentiated; take that of its operands.")
    return Edge([(c, [(conj(e), x) for e, x in fs]) for c, fs in edge.terms], edge.out, edge.into, edge.sizes)


def in_steps(node: Expr, position: int) -> tuple[Expr, Expr] | None:
    """A change of an operand, as a placeholder, and that of ``node`` in steps that are linear in it.

    None where the derivative by this operand is small enough to be multiplied as it is.
    """
    inner = node.args[0] if isinstance(node, Elementwise) and node.op is CONJ else node
    rule = _rule(inner, position) if isinstance(inner, Function) else None
    if not isinstance(rule, Change):
        return None
    arg = inner.args[_place(inner, position)]  # type: ignore[arg-type]
    change: Expr = variable(f"∂{node.key:016x}.{position}", arg.shape, complex=arg.complex)
    result = rule(inner.args, inner, inner.params, change)  # type: ignore[attr-defined]
    mirrored = position >= len(inner.args) and not inner.complex
    return (conj(change), conj(result)) if mirrored != (inner is not node) else (change, result)


def operands(node: Expr) -> tuple[Expr, ...]:
    """What a node is differentiated by: its operands and, where it is not holomorphic, the conjugates of complex ones.

    The conjugate of an input is an input. That of a function of the user's is one of the conjugates of its operands.
    """
    if type(node) not in _MAY_MIRROR:
        return node.args
    for a in node.args:
        if a.complex:
            break
    else:
        return node.args
    assert isinstance(node, (Elementwise, Function))
    if node.op is CONJ:
        return tuple([conj(a) for a in operands(node.args[0])])
    if node.complex and len(node.op.wirtinger) < 2:
        return node.args
    return (*node.args, *[conj(a) for a in node.args if a.complex])


def _place(node: Expr, position: int) -> int:
    """Which operand it is, or of which one the conjugate."""
    if position < len(node.args):
        return position
    return [at for at, a in enumerate(node.args) if a.complex][position - len(node.args)]


def _rule(node: Elementwise | Function, position: int) -> Any:
    """The entry of the row for an operand, or for the conjugate of one."""
    op, place = node.op, _place(node, position)
    if position >= len(node.args) and node.complex:
        return op.wirtinger[1]
    return op.wirtinger[0] if op.wirtinger and node.args[place].complex else op.partials[place]


def _partial(node: Elementwise | Function, position: int):
    partial = _rule(node, position)
    assert not isinstance(partial, Change), "what is in steps is no single edge"
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


# A sum inside a derivative is distributed where a structure in it carries a label that is summed: then it merges.


def opened(coef: Number, factors: list[Factor], kept: set[Label]) -> list[tuple[Number, list[Factor]]]:
    """A product of factors as a sum of such products, in which structures meet the labels that they rename.

    Many terms of a sum that hold no such structure stay together; a few may merge with others, or cancel.
    """
    if not any([type(f) in _LOOSE and not kept.issuperset(labels) for f, labels in factors]):  # noqa: C419
        return [(coef, factors)]
    waiting = [(coef, factors)]
    done: list[tuple[Number, list[Factor]]] = []
    while waiting:
        coef, factors = waiting.pop()
        factors = structures_apart(factors, kept)
        sums = [p for p, (f, labels) in enumerate(factors) if type(f) is Sum and not kept.issuperset(labels)]
        at = next((p for p in sums if _merges(factors, p, kept)), None)
        if at is None or len(waiting) + len(done) >= MOST_TERMS:
            done.append((coef, factors))
        else:
            f, labels = factors[at]
            assert isinstance(f, Sum)
            rest = factors[:at] + factors[at + 1 :]
            terms = list(zip(f.coefs, f.args, strict=True))
            together = [(c, a) for c, a in terms if not _renames(a, factors, at, kept)]
            if len(together) > FEW:
                waiting.append((coef, [*rest, (add(together), labels)]))
                terms = [term for term in terms if term not in together]
            waiting += [(coef * c, [*rest, (a, labels)]) for c, a in terms]
    return done


def flat(factors: list[Factor]) -> list[Factor]:
    """Products without sums replaced by their factors; what they broadcast along is kept as ones."""
    return [part for f, labels in factors for part in _flat(f, labels)]


def _flat(f: Expr, labels: tuple[Label, ...]) -> list[Factor]:
    if not isinstance(f, Product) or f.sums:
        return [(f, labels)]
    return [*[(a, tuple([labels[axis] for axis in own])) for a, own in f.factors()], (one(f.shape), labels)]


def structures_apart(factors: list[Factor], kept: Collection[Label] = ()) -> list[Factor]:
    """Structures, and sums that may hold some, taken out of products without sums that have labels beside ``kept``.

    What else is in such a product stays together: that is for ``product`` to open or not.
    """
    apart: list[Factor] = []
    for f, labels in factors:
        if not _is_open(f, labels, kept):
            apart.append((f, labels))
            continue
        own = _flat(f, labels)
        rest = [(a, inner) for a, inner in own if not isinstance(a, (Structure, Sum))]
        apart += [(a, inner) for a, inner in own if isinstance(a, (Structure, Sum))]
        if rest:
            axes = tuple(dict.fromkeys([label for _, inner in rest for label in inner]))
            apart.append((product(rest, axes), axes))
    return apart


def _is_open(f: Expr, labels: tuple[Label, ...], kept: Collection[Label]) -> bool:
    if type(f) is not Product or f.sums or all(map(kept.__contains__, labels)):
        return False
    return not _APART.isdisjoint(map(type, f.args))


def _merges(factors: list[Factor], at: int, kept: set[Label]) -> bool:
    """Whether some term of a sum among the factors has a structure on a label that is not kept."""
    return any(_renames(a, factors, at, kept) for a in factors[at][0].args)


def _renames(term: Expr, factors: list[Factor], at: int, kept: set[Label]) -> bool:
    """Whether a term of the sum at ``at`` has a structure between a label that is not kept and another one.

    One that puts a number in its place, ``s delta[0,i]``, renames nothing: the sum is no larger than its terms. A
    triangle on labels that another factor carries is a mask: it takes part in no sum of its own. So does a sum of
    nothing but structures.
    """
    structures = _structures(term)
    if not structures:
        return False
    total, labels = factors[at]
    if _is_mask(total, labels, [set(own) for p, (e, own) in enumerate(factors) if p != at and _is_dense(e)]):
        return False
    for structure, axes in structures:
        own = {labels[x] for x in axes}
        if len(own) > 1 and not kept.issuperset(own):
            others = (labels for p, (e, labels) in enumerate(factors) if p != at and _is_dense(e))
            if structure.relation[0] != ">=" or not any(own.issubset(theirs) for theirs in others):
                return True
    return False


def _is_mask(e: Expr, labels: Sequence[Label], dense: Sequence[set]) -> bool:
    """Whether a sum is one of structures, on labels that another factor carries."""
    return all(isinstance(a, Structure) for a in e.args) and any(own.issuperset(labels) for own in dense)


def _is_dense(e: Expr) -> bool:
    return Structure not in map(type, e.args) if type(e) is Sum else type(e) is not Structure


def _structures(e: Expr, deep: int = NESTED) -> list[tuple[Structure, tuple[int, ...]]]:
    """The structures that are a term, a factor of one, or that of a sum among its factors, and the axes they are on."""
    if type(e) is Product and not e.sums:
        if _APART.isdisjoint(map(type, e.args)):
            return []
        found = [(a, axes) for a, axes in e.factors() if isinstance(a, Structure)]
        totals = [a for a in e.args if deep and type(a) is Sum]
        if not found and not any(_structures(term, deep - 1) for total in totals for term in total.args):
            return []
        dense = [set(axes) for a, axes in e.factors() if _is_dense(a)]
        found = [(a, axes) for a, axes in found if a.relation[0] != ">=" or not any(set(axes) <= own for own in dense)]
        sums = [(a, axes) for a, axes in e.factors() if deep and isinstance(a, Sum) and not _is_mask(a, axes, dense)]
        inner = [(term, axes) for a, axes in sums for term in a.args]
        return found + [(s, tuple([axes[x] for x in own])) for a, axes in inner for s, own in _structures(a, deep - 1)]
    return [(e, tuple(range(len(e.shape))))] if isinstance(e, Structure) and e.relation[0] != "one" else []


def _taken_apart(e: Expr, labels: tuple[Label, ...]) -> list[Factor]:
    """The factors of a local derivative, contractions opened: they are there to be contracted with something else."""
    waiting: list[Factor] = [(e, labels)]
    factors: list[Factor] = []
    fresh = 0
    while waiting:
        f, own = waiting.pop()
        if isinstance(f, Product):
            fresh += 1
            name = dict(zip(f.out, own, strict=True))
            waiting += [(a, tuple([name.get(x, ("dummy", fresh, x)) for x in ls])) for a, ls in f.factors()]
            factors.append((one(f.shape), own))
        else:
            factors.append((f, own))
    return factors


def compose(outer: Edge, inner: Edge) -> Edge:
    """The chain rule: ``∂w/∂v`` and ``∂v/∂u`` give ``∂w/∂u``."""
    return edge_of(composed(outer, inner), len(outer.out))


def composed(outer: Edge, inner: Edge) -> Expr:
    """The same as one expression."""
    if inner.linear is not None:
        return _pulled(inner.linear, outer.expr())
    if outer.linear is not None:
        return applied(outer.linear, inner.expr())
    name: dict[Label, Label] = dict(zip(inner.out, outer.into, strict=True))
    own = [labels for _, factors in inner.terms for _, labels in factors]
    for label in chain(inner.into, inner.sizes, *own):
        if label not in name:
            name[label] = INNER + len(name)
    rename = name.__getitem__
    into = tuple(map(rename, inner.into))
    sizes = {**dict(zip(map(rename, inner.sizes), inner.sizes.values(), strict=True)), **outer.sizes}
    terms = [
        (times(c, d), fs + [(e, tuple(map(rename, labels))) for e, labels in gs])
        for c, fs in outer.terms
        for d, gs in inner.terms
    ]
    return _summed(terms, (*outer.out, *into), sizes, outer.into)


# Functions that are linear in their last operand; what that carries behind its own axes are columns


def applied(node: Function, x: Expr) -> Expr:
    """The function of ``x`` in place of its last operand, with the further axes that ``x`` has."""
    further = len(x.shape) - len(node.args[-1].shape)
    columns, *rest = node.params
    return function(node.op, (*node.args[:-1], x), (columns + further, *rest))


def _pulled(node: Function, bar: Expr) -> Expr:
    """The pullback of ``bar``, which has axes of its own, then those of ``node``, to the last operand."""
    own = tuple(range(len(bar.shape) - len(node.shape)))
    rule = node.op.partials[-1]
    assert isinstance(rule, Adjoint)
    columns, *rest = node.params
    turned = product([(bar, range(len(bar.shape)))], (*range(len(own), len(bar.shape)), *own))
    found = rule(node.args[:-1], turned, (columns + len(own), *rest))
    axes = tuple(range(len(own), len(found.shape)))
    return product([(found, (*axes, *own))], (*own, *axes))


def _applied_to_deltas(node: Function) -> Expr:
    """The derivative by the last operand as a tensor: common axes, the result's own, the operand's own."""
    x = node.args[-1]
    lead = len(x.shape) - node.op.axes_of(node.params)[-1]
    own = range(lead, len(x.shape))
    deltas = [(delta(x.shape[axis]), (axis, ("again", axis))) for axis in own]
    out = (*range(len(x.shape)), *[("again", axis) for axis in own])
    return applied(node, product(deltas, out, dict(enumerate(x.shape[:lead]))))


def combine(edges: Sequence[Edge]) -> Edge:
    """Parallel edges add up."""
    if len(edges) == 1:
        return edges[0]
    order = len(edges[0].out)
    return edge_of(add([(1, e) for e in _together([edge.expr() for edge in edges])]), order)


def _together(parts: Sequence[Expr]) -> list[Expr]:
    """Loops that differ in nothing but what they are linear in, as one loop of the sum of that."""
    found: dict[Hashable, list[Expr]] = {}
    for number, e in enumerate(parts):
        linear = isinstance(e, Function) and e.op.loop is not None and isinstance(e.op.partials[-1], Adjoint)
        found.setdefault((e.op, e.args[:-1], e.params) if linear else number, []).append(e)  # type: ignore[union-attr]
    return [own[0] if len(own) == 1 else _sum_of_linear(own) for own in found.values()]


def _sum_of_linear(parts: Sequence[Any]) -> Expr:
    node, added = parts[0], add([(1, e.args[-1]) for e in parts])
    return function(node.op, (*node.args[:-1], added), node.params)


def parallel(edges: Sequence[Edge]) -> Edge:
    """The derivatives of one node by one operand that it has at several places, as one.

    They are added up if that makes nothing larger than node or operand, and kept as terms otherwise: in
    ``W[i,j] W[j,k]`` each place is pulled back by itself, and the derivative by ``W``, of order four, is never made.
    """
    if len(edges) == 1 or all(set(e.out) <= set(e.into) or set(e.into) <= set(e.out) for e in edges):
        return combine(edges)
    out = tuple([("out", axis) for axis in range(len(edges[0].out))])
    into = tuple([("into", axis) for axis in range(len(edges[0].into))])
    terms: list[tuple[Number, list[Factor]]] = []
    sizes: dict[Label, Size] = {}
    for number, edge in enumerate(edges):
        name: dict[Label, Label] = {}
        deltas: list[Factor] = []
        for theirs, ours in zip((*edge.out, *edge.into), (*out, *into), strict=True):
            sizes[ours] = edge.sizes[theirs]
            if name.setdefault(theirs, ours) != ours:
                deltas.append((delta(sizes[ours]), (name[theirs], ours)))
        for label, size in edge.sizes.items():
            sizes.setdefault(name.setdefault(label, ("inner", number, label)), size)
        for coef, factors in edge.terms:
            own = [(e, tuple([name.setdefault(x, ("inner", number, x)) for x in labels])) for e, labels in factors]
            terms.append((coef, [*own, *deltas]))
    return Edge(terms, out, into, sizes)


def _summed(
    terms: list[tuple[Number, list[Factor]]],
    labels: tuple[Label, ...],
    sizes: dict[Label, Size],
    middle: tuple[Label, ...] = (),
) -> Expr:
    """The sum of products, its axes being ``labels``; a label that stands twice is a delta.

    The labels of ``middle`` are summed, also where no factor carries them: then they count.
    """
    axes: list[Label] = []
    deltas: list[Factor] = []
    for position, label in enumerate(labels):
        if label in axes:
            again = ("axis", position)
            deltas.append((delta(sizes[label]), (label, again)))
            label = again
        axes.append(label)
    known = {label: sizes[label] for label in (*labels, *middle)}
    split = [part for coef, factors in terms for part in opened(coef, [*factors, *deltas], set(axes))]
    parts = [(coef, product(factors, axes, known)) for coef, factors in split]
    return add(parts) if len(parts) > 1 or parts[0][0] != 1 else parts[0][1]


def vanishes(edge: Edge) -> bool:
    return edge.whole is not None and is_zero(edge.whole)
