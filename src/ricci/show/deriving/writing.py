"""From the board back to a text: sums without signs by the rule of repeated indices, or each with its Σ.

A summed index keeps the author's name where nothing beside it has that, and gets primes where something does. It keeps
this name in later lines. Where an index would be summed by the rule in a smaller or larger piece than is meant, a
one-tensor says where.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count

from ricci.budget import spend
from ricci.notation import syntax
from ricci.show.deriving.making import ones
from ricci.show.deriving.stars import without_stars
from ricci.show.deriving.typed_trees import MARK, WITH_INDICES, SummedTerm, bound_in, hint, names_of, open_in
from ricci.show.phrases import index_of

Shown = Mapping[str, str]


class LineWriter:
    """Writes the lines of one derivation; ``sums`` is whether with signs."""

    def __init__(self, sums: bool = False):
        self.sums = sums
        self.last: dict[str, str] = {}  # the names that summed indices had
        self.now: dict[str, str] = {}  # and have in this line
        self.inside: set[str] = set()  # those that functions use up in this line

    def write(self, node: syntax.Node, free: frozenset[str]) -> syntax.Node:
        self.now = {}
        self.inside.clear()
        written = self.node(node, {}, set(free))
        taken = {*free, *self.now.values()}
        idle = [name for name, shown in self.now.items() if "'" in shown and hint(name) not in taken]
        if not idle:
            return written
        for name in idle:  # what made primes necessary is gone
            del self.last[name]
        return self.node(node, {}, set(free))

    def names(
        self, ids: tuple[str, ...], shown: Shown, taken: set[str], also: frozenset[str] | set[str] = frozenset()
    ) -> Shown:
        """Names for indices that are summed here, which are then taken; ``also`` are names that they do not get."""
        if not ids:
            return shown
        own = dict(shown)
        for name in ids:
            own[name] = self.name(name, taken | also)
            taken.add(own[name])
        return own

    def name(self, name: str, taken: set[str]) -> str:
        found = self.last.get(name)
        if found is None or found in taken:
            found = next(n for n in (hint(name) + "'" * primes for primes in count()) if n not in taken)
        self.last[name] = self.now[name] = found
        return found

    def node(self, node: syntax.Node, shown: Shown, taken: set[str]) -> syntax.Node:
        spend()
        if isinstance(node, SummedTerm):
            return self.term(node, shown, taken)
        if isinstance(node, WITH_INDICES):
            return without_stars(
                replace(node, indices=node.indices and tuple([_index(i, shown) for i in node.indices]))
            )
        if isinstance(node, (syntax.Number, syntax.Pi, syntax.Imaginary)):
            return node
        if isinstance(node, syntax.Size):
            return syntax.Size(0, 0, hint(node.name))
        if isinstance(node, syntax.SumNode):
            return self.beside(node, shown, taken)
        if isinstance(node, syntax.CallNode):
            return self.call(node, shown, taken)
        if isinstance(node, syntax.Derivative):
            taken |= {shown.get(n, n) for i in node.variable.indices or () for n in names_of(i)}
            body = self.node(node.body, shown, taken)
            indices = node.variable.indices and tuple([_index(i, shown) for i in node.variable.indices])
            by = replace(node.variable, indices=indices)
            return replace(without_stars(replace(node, body=syntax.Number(0, 0, 0), variable=by)), body=body)
        return syntax.with_children(node, [self.node(part, shown, taken) for part in syntax.children(node)])

    def beside(self, node: syntax.SumNode, shown: Shown, taken: set[str]) -> syntax.Node:
        """Terms of a sum: each may use the names that the others use."""
        parts, after = [], set(taken)
        for sign, term in node.terms:
            own = set(taken)
            parts.append((sign, self.node(term, shown, own)))
            after |= own
        taken |= after
        return syntax.SumNode(0, 0, tuple(parts))

    def call(self, node: syntax.CallNode, shown: Shown, taken: set[str]) -> syntax.Node:
        for name in bound_in(node):
            self.last.pop(name, None)  # it is the first that is free, and need not be that of the line before
        own = self.names(tuple(bound_in(node)), shown, taken)
        args = tuple([self.node(a, own, taken) for a in node.args])
        used_up = {own[name] for name in bound_in(node)}
        taken -= used_up  # what a function uses up means nothing beside it, so another function may have that name
        self.inside |= used_up
        axes = None if node.axes is None else tuple([_index(i, own) for i in node.axes])
        result = None if node.result is None else tuple([_index(i, shown) for i in node.result])
        return replace(node, args=args, axes=axes, result=result)

    def term(self, node: SummedTerm, shown: Shown, taken: set[str]) -> syntax.Node:
        node = _sums_inside(node)
        marked = [name for name in node.sums if self.sums or name.endswith(MARK)]
        factors = list(node.factors)
        outside: set[str] = set(taken)
        own = self.names(node.sums, shown, taken, self.inside)
        plain = [name for name in node.sums if name not in marked]
        if marked:
            factors = _without_ones(factors, marked)
        factors = self.with_ones(factors, plain)
        if not marked:
            return _product([(e, self.node(f, own, taken)) for e, f in factors])
        inside = [f for f in factors if any(name in open_in(f[1]) for name in marked)]
        before = factors[: factors.index(inside[0])] if inside else factors
        after = factors[len(before) :]
        split = not any(name in open_in(f) for _, f in before for name in plain)
        if not split:
            before, after = [], factors
        if after and after[0][0] < 0:
            before, after = before[:-1], [before[-1] if before else (1, syntax.Number(0, 0, 1)), *after]
        head = [(e, self.node(f, own, taken)) for e, f in before]
        body = _product([(e, self.node(f, own, taken)) for e, f in after])
        axes = tuple([index_of(own[name]) for name in marked])
        taken -= {own[name] for name in marked} - outside
        return _product([*head, (1, syntax.CallNode(0, 0, "sum", (body,), axes, None))])

    def with_ones(self, factors: list[tuple[int, syntax.Node]], sums: list[str]) -> list[tuple[int, syntax.Node]]:
        """One-tensors for indices that the rule would not sum here."""
        lone: list[tuple[str, str]] = []
        for name in sums:
            having = [f for _, f in factors if name in open_in(f)]
            if len(having) < 2 and not (having and _twice(having[0], name)):
                lone.append((name, open_in(having[0])[name] if having else ""))
        if not lone:
            return factors
        lone = [(name, {"up": "down", "down": "up"}.get(height, "")) for name, height in lone]
        at = next((k for k, (e, f) in enumerate(factors) if not isinstance(f, (syntax.Number, syntax.Size))), 0)
        return [*factors[:at], *ones(lone), *factors[at:]]


def _sums_inside(node: SummedTerm) -> SummedTerm:
    """``D(A[i,i], x[p])`` is summed inside: there the index stands twice."""
    for name in node.sums:
        having = [(at, f) for at, (_, f) in enumerate(node.factors) if name in open_in(f)]
        at, factor = having[0] if len(having) == 1 else (0, None)
        if isinstance(factor, syntax.Derivative) and _twice(factor.body, name):
            inner = replace(factor, body=SummedTerm(0, 0, ((1, factor.body),), (name,)))
            factors = (*node.factors[:at], (node.factors[at][0], inner), *node.factors[at + 1 :])
            return _sums_inside(SummedTerm(0, 0, factors, tuple([n for n in node.sums if n != name])))
    return node


def _twice(node: syntax.Node, name: str) -> bool:
    if not isinstance(node, WITH_INDICES) and not (isinstance(node, syntax.CallNode) and node.result and not node.axes):
        return False
    where = node.indices if isinstance(node, WITH_INDICES) else node.result
    return sum(names_of(i).count(name) for i in where or ()) > 1


def _without_ones(factors: list[tuple[int, syntax.Node]], sums: list[str]) -> list[tuple[int, syntax.Node]]:
    """A sum with a sign needs no ones to say it, where something else has its index."""
    kept = []
    for at, (exponent, factor) in enumerate(factors):
        if isinstance(factor, syntax.Ones):
            others = [f for k, (_, f) in enumerate(factors) if k != at]
            left = [
                i
                for i in factor.indices
                if i.terms[0][1] not in sums or not any(i.terms[0][1] in open_in(f) for f in others)
            ]
            if not left:
                continue
            factor = replace(factor, indices=tuple(left))
        kept.append((exponent, factor))
    return kept


def _product(factors: list[tuple[int, syntax.Node]]) -> syntax.Node:
    if len(factors) == 1 and factors[0][0] > 0:
        return factors[0][1]
    if factors and factors[0][0] < 0:
        factors = [(1, syntax.Number(0, 0, 1)), *factors]
    return syntax.ProductNode(0, 0, tuple(factors))


def _index(index: syntax.Index, shown: Shown) -> syntax.Index:
    terms = tuple([(c, shown.get(name, hint(name))) for c, name in index.terms])
    sizes = tuple([(c, hint(name)) for c, name in index.sizes])
    tensor = index.tensor
    if tensor is not None:
        tensor = replace(tensor, indices=tensor.indices and tuple([_index(i, shown) for i in tensor.indices]))
    return replace(index, terms=terms, sizes=sizes, tensor=tensor, strides=tuple([hint(n) for n in index.strides]))
