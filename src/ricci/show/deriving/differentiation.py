"""The rules of differentiation on the author's tree, each by its name.

A rule takes the derivative one step inwards: ``D(u, x[p])`` becomes an expression in the derivatives of the parts of
``u`` that depend on ``x``. What does not depend on it keeps its place.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from ricci.expr import Number
from ricci.functions.table import IN_TEXT
from ricci.functions.unknown import mark
from ricci.notation import syntax
from ricci.notation.declarations import PLAIN, Declarations
from ricci.notation.heights import flipped
from ricci.show.deriving.making import ONE, ZERO, minus, number, ones, opened, plus, times
from ricci.show.deriving.slopes import Whole, elementwise
from ricci.show.deriving.typed_trees import Fresh, SummedTerm, UnreadError, bound_in, hint, names_of, open_in, refreshed

LIGHT = frozenset(["sum rule", "constant factor", "derivative of mean", ""])  # rules that only open brackets


@dataclass
class Rules:
    """Derivatives by one variable, ``x``, with its new indices."""

    x: syntax.TensorNode
    shape: tuple  # the sizes of its axes
    fresh: Fresh
    live: set[str] = field(default_factory=set)  # the names that depend on it, itself among them
    axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # what those of all tensors are called
    declared: Declarations = PLAIN

    def depends(self, node: syntax.Node) -> bool:
        return mentions(node, self.live)

    def of(self, node: syntax.Node) -> syntax.Node:
        """A derivative that is still to be worked out."""
        return syntax.Derivative(0, 0, node, self.x)

    def is_entry(self, node: syntax.Node) -> bool:
        """Whether this is the variable itself at some place, or a name that depends on it."""
        return isinstance(node, syntax.TensorNode) and node.name in self.live

    def apply(self, d: syntax.Derivative) -> tuple[syntax.Node, str]:
        """What a derivative is by the one rule that applies to it, and that rule's name."""
        body = d.body
        if not self.depends(body):
            return ZERO, "constant"
        if isinstance(body, syntax.Neg):
            return minus(self.of(body.body)), ""
        if isinstance(body, syntax.SumNode):
            return self.sum(body), "sum rule"
        if isinstance(body, SummedTerm):
            return self.term(body)
        if isinstance(body, syntax.Power):
            return self.power(body)
        if isinstance(body, syntax.CallNode):
            return self.call(body)
        if isinstance(body, syntax.Compare):
            return ZERO, "constant between its jumps"
        raise UnreadError(f"a derivative of {type(body).__name__}")

    def spread(self, node: syntax.Node, wanted: Mapping[str, str]) -> syntax.Node:
        """``node`` with a one-tensor for those indices that it should have and does not."""
        have = open_in(node)
        lacking = [(name, height) for name, height in wanted.items() if name not in have]
        return times([*ones(lacking), (1, node)]) if lacking else node

    def sum(self, body: syntax.SumNode) -> syntax.Node:
        wanted = open_in(body)
        return plus([(sign, self.spread(self.of(t), wanted)) for sign, t in body.terms if self.depends(t)])

    def term(self, body: SummedTerm) -> tuple[syntax.Node, str]:
        above = [at for at, (e, f) in enumerate(body.factors) if e > 0 and self.depends(f)]
        below = [at for at, (e, f) in enumerate(body.factors) if e < 0 and self.depends(f)]
        if below:
            return self.quotient(body, above, below), "quotient rule"
        if len(above) == 1:
            alone = len(body.factors) == 1
            return self.one_of(body, above[0]), "sum rule" if alone and body.sums else "constant factor"
        numbers = [f for f in body.factors if isinstance(f[1], (syntax.Number, syntax.Size))]
        terms = [self.one_of(replace(body, factors=tuple([f for f in body.factors if f not in numbers])), at)
                 for at in self.places(body, numbers, above)]  # fmt: skip
        terms = [terms[0], *[refreshed(t, self.fresh) for t in terms[1:]]]
        return times([*numbers, (1, plus([(1, t) for t in terms]))]), "product rule"

    def places(self, body: SummedTerm, numbers: list, above: list[int]) -> list[int]:
        kept = [at for at, f in enumerate(body.factors) if f not in numbers]
        return [kept.index(at) for at in above]

    def one_of(self, body: SummedTerm, at: int) -> syntax.Node:
        factors = [(e, self.of(f) if k == at else f) for k, (e, f) in enumerate(body.factors)]
        return times(factors, body.sums)

    def quotient(self, body: SummedTerm, above: list[int], below: list[int]) -> syntax.Node:
        """``(u' v - u v') / v**2``, and beside it what is constant."""
        factors = body.factors
        u = times([factors[k] for k in above]) if above else ONE
        v = times([(1, factors[k][1]) for k in below])
        again = lambda node: refreshed(node, self.fresh)  # noqa: E731
        lower = times([(1, again(u)), (1, self.of(again(v)))])
        top = plus([(1, times([(1, self.of(u)), (1, v)])), (-1, lower)]) if above else minus(lower)
        first = min([*above, *below])
        made: list[tuple[int, syntax.Node]] = []
        for at, factor in enumerate(factors):
            if at == first:
                made += [(1, top), (-1, self.squared(again(v)))]
            elif at not in above and at not in below:
                made.append(factor)
        wanted = open_in(SummedTerm(0, 0, body.factors))
        return self.spread_inside(made, wanted, body.sums)

    def spread_inside(self, factors: list, wanted: Mapping[str, str], sums: tuple[str, ...]) -> syntax.Node:
        have = {name for _, f in factors for name in open_in(f)}
        lacking = [(name, height) for name, height in wanted.items() if name not in have]
        return times([*factors, *ones(lacking)], sums)

    def squared(self, v: syntax.Node) -> syntax.Node:
        base, exponent = based(v)
        return raised(base, exponent * 2)

    def power(self, body: syntax.Power) -> tuple[syntax.Node, str]:
        base, exponent = body.base, body.exponent
        chain = "" if self.is_entry(base) else ", chain rule"
        if not self.depends(exponent):
            value = constant_value(exponent)
            if value is None:
                less = syntax.Power(0, 0, base, plus([(1, exponent), (-1, ONE)]))
                factors = [(1, exponent), (1, less)]
            else:
                factors = [(1, number(value)), (1, raised(base, value - 1))]
            inner = self.of(refreshed(base, self.fresh))
            return self.spread(times([*factors, (1, inner)]), open_in(body)), "power rule" + chain
        log = syntax.CallNode(0, 0, "log", (refreshed(base, self.fresh),), None, None)
        chain = "" if self.is_entry(exponent) else ", chain rule"
        changes = times([(1, body), (1, log), (1, self.of(refreshed(exponent, self.fresh)))])
        if not self.depends(base):
            return self.spread(changes, open_in(body)), "derivative of an exponential" + chain
        less = syntax.Power(0, 0, base, plus([(1, exponent), (-1, ONE)]))
        by_base = times([(1, exponent), (1, less), (1, self.of(refreshed(base, self.fresh)))])
        terms = [(1, self.spread(refreshed(t, self.fresh), open_in(body))) for t in (by_base, changes)]
        return plus(terms), "power rule, derivative of an exponential"

    def call(self, body: syntax.CallNode) -> tuple[syntax.Node, str]:
        row = IN_TEXT.get(body.name)
        entry_wise = body.axes is None and body.result is None and (row is None or row.kind == "elementwise")
        depending = [at for at, a in enumerate(body.args) if self.depends(a)]
        if body.name in ("sum", "mean", "var", "std") and body.axes is None:
            body = self.over_named_axes(body)
        if body.name == "sum" and body.axes is not None:
            return times([(1, self.of(body.args[0]))], bound_in(body)), "sum rule"
        if body.name == "mean" and body.axes is not None:
            used = bound_in(body)
            sizes = [(-1, syntax.Size(0, 0, hint(n))) for n in used]
            return times([*sizes, (1, self.of(body.args[0]))], used), "derivative of mean"
        if body.name in ("var", "std") and body.axes is not None and not any(i.height for i in body.axes):
            return self.spreading(body), f"derivative of {body.name}{self.chained(body, depending)}"
        if not entry_wise:
            live = [at in depending for at in range(len(body.args))]
            made = Whole(body, live, self.x, self.shape, self.axes, self.declared, self.fresh)
            return made.tree, f"derivative of {body.name}" + self.chained(body, depending)
        wanted = open_in(body)
        terms = []
        for at in depending:
            rate = elementwise(body, at, body, self.declared, self.fresh)
            if not is_zero_rate(rate):
                inner = self.of(refreshed(body.args[at], self.fresh))
                terms.append((1, self.spread(times([(1, rate), (1, inner)]), wanted)))
        name = body.name + mark(body.places, len(body.args))
        return plus(terms), f"derivative of {name}" + self.chained(body, depending)

    def over_named_axes(self, body: syntax.CallNode) -> syntax.CallNode:
        """``mean(x)`` of a whole tensor as ``mean[i](x[i])``."""
        whole = body.args[0]
        if not isinstance(whole, syntax.TensorNode) or whole.indices is not None or not self.axes.get(whole.name):
            return body
        own = tuple([syntax.Index(0, 0, ((1, self.fresh(n)),), plain=True) for n in self.axes[whole.name]])
        return replace(body, args=(replace(whole, indices=own),), axes=own)

    def spreading(self, body: syntax.CallNode) -> syntax.Node:
        """``2/|k| (u - 1[k] mean[k](u)) D(u, x)`` for a variance, and that over the deviation for this."""
        u, used = body.args[0], bound_in(body)
        mean = refreshed(replace(body, name="mean"), self.fresh)
        bracket = plus([(1, u), (-1, times([*ones([(n, "") for n in used]), (1, mean)]))])
        sizes = [(-1, syntax.Size(0, 0, hint(n))) for n in used]
        two = [(1, number(2))] if body.name == "var" else []
        below = [] if body.name == "var" else [(-1, refreshed(body, self.fresh))]
        return times([*two, *sizes, (1, bracket), (1, self.of(refreshed(u, self.fresh))), *below], used)

    def chained(self, body: syntax.CallNode, depending: list[int]) -> str:
        return "" if all(self.is_entry(body.args[at]) for at in depending) else ", chain rule"

    def by_entry(self, body: syntax.Node) -> syntax.Node | None:
        """``D(f(x[i]), x[j]) D(x[j], x[p])`` of a function of an entry of the variable."""
        entry = body.args[0] if isinstance(body, syntax.CallNode) and len(body.args) == 1 else None
        if (
            body_axes(body)
            or not isinstance(entry, syntax.TensorNode)
            or entry.name != self.x.name
            or not entry.indices
        ):
            return None
        stand = [i.height for i in self.x.indices or ()]
        own = [names_of(i)[0] if i.plain else "i" for i in entry.indices or ()]
        inner = tuple([syntax.Index(0, 0, ((1, self.fresh(n)),), plain=True, height=h)
                       for n, h in zip(own, stand, strict=True)])  # fmt: skip
        at = syntax.TensorNode(0, 0, entry.name, inner or None)
        outer = syntax.Derivative(0, 0, body, at)
        return SummedTerm(0, 0, ((1, outer), (1, self.of(at))), tuple([i.terms[0][1] for i in inner]))

    def itself(self, entry: syntax.TensorNode) -> syntax.Node:
        """The derivative of the variable by itself: deltas, or of a symmetric matrix their symmetric part."""
        new = self.x.indices or ()
        stand = flipped([i.height for i in new])
        columns = [replace(i, height=h) for i, h in zip(new, stand, strict=True)]
        made = [
            times([(1, syntax.Delta(0, 0, pair)) for pair in zip(entry.indices or (), these, strict=True)])
            for these in (columns, columns[::-1])
        ]
        if not self.turning:
            return made[0]
        return times([(1, number(Fraction(1, 2))), (1, plus([(1, made[0]), (self.turning, made[1])]))])

    @property
    def turning(self) -> int:
        """What becomes of the variable when its axes change places, where that is declared."""
        name = self.x.name.removesuffix("*")  # of a conjugate
        word = dict(self.declared.symmetries()).get(name, "")
        if word == "positive" and name in self.declared.complex_names():
            return 0
        return {"symmetric": 1, "positive": 1, "antisymmetric": -1}.get(word, 0)


def body_axes(body: syntax.Node) -> bool:
    return getattr(body, "axes", None) is not None or getattr(body, "result", None) is not None


def is_zero_rate(node: syntax.Node) -> bool:
    return isinstance(node, syntax.Number) and node.value == 0


def constant_value(node: syntax.Node) -> Number | None:
    """The number that a tree of numbers is."""
    coef, factors, sums = opened(node)
    return coef if not factors and not sums else None


def based(node: syntax.Node) -> tuple[syntax.Node, Number]:
    """A tree as a power of another, with a number as its exponent."""
    if isinstance(node, syntax.CallNode) and node.name == "sqrt":
        base, exponent = based(node.args[0])
        return base, exponent * Fraction(1, 2)
    if isinstance(node, syntax.Power):
        value = constant_value(node.exponent)
        if value is not None:
            base, exponent = based(node.base)
            whole = isinstance(value, int) or (isinstance(value, Fraction) and value.denominator == 1)
            if exponent == 1:
                return node.base, value
            if whole and isinstance(exponent, (int, Fraction)) and not even_root(exponent, value):
                return base, exponent * value
    return node, 1


def even_root(inner: Number, outer: Number) -> bool:
    """Whether powers may not be one: ``(x**2)**(1/2)`` is not ``x``; a whole power of any power is one."""
    return not (isinstance(outer, int) or (isinstance(outer, Fraction) and outer.denominator == 1))


def raised(base: syntax.Node, exponent: Number) -> syntax.Node:
    """``base`` to a number, with a bar for negative ones and a root for 1/2."""
    if isinstance(exponent, Fraction) and exponent.denominator == 1:
        exponent = exponent.numerator
    if exponent == 0:
        return ONE
    if exponent < 0:
        return SummedTerm(0, 0, ((1, ONE), (-1, raised(base, -exponent))))
    if exponent == 1:
        return base
    if exponent == Fraction(1, 2):
        return syntax.CallNode(0, 0, "sqrt", (base,), None, None)
    return syntax.Power(0, 0, base, number(exponent))


def mentions(node: syntax.Node, names: Container[str]) -> bool:
    """Whether a tree speaks of one of these names, outside of what is declared to be constant."""
    if isinstance(node, syntax.TensorNode):
        return node.name in names
    if isinstance(node, syntax.CallNode) and node.name == "stop_gradient":
        return False
    return any(mentions(part, names) for part in syntax.children(node))
