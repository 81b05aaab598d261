"""Rules of rewriting that there are not, ``log(x/y) = log(x)/log(y)``, tried where nothing else explains a false line.

A row has the name of the mistake, what is so instead, and what it makes of a node of a line above. One step with one of
these that comes to the false side is how somebody may have got there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from ricci.errors import LimitError, RicciError
from ricci.notation import syntax
from ricci.notation.syntax import Node
from ricci.review.changes import negative, places
from ricci.review.conditions import Condition, counterexample
from ricci.review.sides import Side, Workbench, compared

MOST_TRIED = 40
NO_RULE = "there is no such rule"


@dataclass(frozen=True)
class FalseRewriting:
    """A row: the name, what is so instead, and what somebody makes of a node."""

    name: str
    advice: str
    made: Callable[[Node], Iterator[Node]]


def false_rewriting(bench: Workbench, head: Side, above: Iterable[Side], side: Side) -> Condition | None:
    """The row by which a side comes from one above it, if there is one."""
    tried = 0
    for tree in [head.node, *[other.node for other in above if other is not head]]:
        for place in places(tree):
            for row in REWRITINGS:
                for new in row.made(place.node):
                    tried += 1
                    if tried > MOST_TRIED:
                        return None
                    if _comes_to(bench, head, place.tree(new), side):
                        point = counterexample(head, side)
                        return Condition(NO_RULE + f": {point}" * bool(point), row.name, row.advice)
    return None


def _comes_to(bench: Workbench, head: Side, tree: Node, side: Side) -> bool:
    try:
        return compared(bench.plain_side(head, tree), side).holds
    except LimitError:
        raise
    except RicciError:
        return False


def _call(node: Node) -> syntax.CallNode | None:
    """A function of one argument."""
    if not isinstance(node, syntax.CallNode) or len(node.args) != 1 or node.params or node.result:
        return None
    return node


def _product(*factors: tuple[int, Node]) -> Node:
    if len(factors) == 1 and factors[0][0] > 0:
        return factors[0][1]
    front = () if factors[0][0] > 0 else ((1, syntax.Number(0, 0, 1)),)
    return syntax.ProductNode(0, 0, (*front, *factors))


def _number(node: Node) -> bool:
    return isinstance(node, syntax.Number)


def _of_factors(node: Node) -> Iterator[Node]:
    """``f(u v)`` to ``f(u) f(v)``."""
    call = _call(node)
    factors = call.args[0].factors if call is not None and isinstance(call.args[0], syntax.ProductNode) else ()
    if call is not None and sum(not _number(f) for _, f in factors) > 1:
        yield _product(*[(e, f if _number(f) else replace(call, args=(f,))) for e, f in factors])


def _number_out(node: Node) -> Iterator[Node]:
    """``f(2 u)`` to ``2 f(u)``, and ``f(-u)`` to ``-f(u)``."""
    call = _call(node)
    body = call.args[0] if call is not None else None
    if call is not None and isinstance(body, syntax.Neg):
        yield negative(replace(call, args=(body.body,)))
    if call is not None and isinstance(body, syntax.ProductNode):
        numbers = [pair for pair in body.factors if _number(pair[1])]
        others = [pair for pair in body.factors if not _number(pair[1])]
        if numbers and others:
            yield _product(*numbers, (1, replace(call, args=(_product(*others),))))


def _power_out(node: Node) -> Iterator[Node]:
    """``f(u**n)`` to ``f(u)**n``, and back."""
    call = _call(node)
    if call is not None and isinstance(call.args[0], syntax.Power):
        yield replace(call.args[0], base=replace(call, args=(call.args[0].base,)))
    inner = _call(node.base) if isinstance(node, syntax.Power) else None
    if inner is not None and isinstance(node, syntax.Power):
        yield replace(inner, args=(replace(node, base=inner.args[0]),))


def _together(node: Node) -> Iterator[Node]:
    """``f(u) f(v)`` to ``f(u v)``, and ``f(u)/f(v)`` to ``f(u/v)``."""
    factors = node.factors if isinstance(node, syntax.ProductNode) else ()
    calls = [(e, call) for e, factor in factors if (call := _call(factor)) is not None]
    if len(calls) > 1 and len(calls) == len(factors) and len({(call.name, call.axes) for _, call in calls}) == 1:
        yield replace(calls[0][1], args=(_product(*[(e, call.args[0]) for e, call in calls]),))


def _root_of_squares(node: Node) -> Iterator[Node]:
    """``sqrt(a**2 + b**2)`` to ``a + b``."""
    call = _call(node)
    terms = call.args[0].terms if call is not None and isinstance(call.args[0], syntax.SumNode) else ()
    bases = [(sign, t.base) for sign, t in terms if isinstance(t, syntax.Power)]
    if call is not None and call.name == "sqrt" and len(bases) == len(terms) > 1:
        yield syntax.SumNode(node.start, node.end, tuple(bases))


def _powers_apart(node: Node) -> Iterator[Node]:
    """``(a + b)**n`` to ``a**n + b**n``."""
    if isinstance(node, syntax.Power) and isinstance(node.base, syntax.SumNode):
        yield replace(node.base, terms=tuple([(sign, replace(node, base=term)) for sign, term in node.base.terms]))


def _powers_added(node: Node) -> Iterator[Node]:
    """``x**2 + x**3`` to ``x**5``."""
    powers = [t for _, t in node.terms] if isinstance(node, syntax.SumNode) else []
    exponents = [
        p.exponent.value for p in powers if isinstance(p, syntax.Power) and isinstance(p.exponent, syntax.Number)
    ]
    if len(exponents) == len(powers) > 1 and isinstance(powers[0], syntax.Power):
        yield replace(powers[0], exponent=syntax.Number(0, 0, sum(exponents)))


def _binomial(node: Node) -> Iterator[Node]:
    """``(A + B) (A + B)`` to ``A A + 2 A B + B B``, and ``(A + B) (A - B)`` to ``A A - B B``."""
    sums = [f for e, f in node.factors if e > 0] if isinstance(node, syntax.ProductNode) else []
    if len(sums) != 2 or not isinstance(node, syntax.ProductNode) or len(node.factors) != 2:
        return
    one, other = sums
    if (
        isinstance(one, syntax.SumNode)
        and isinstance(other, syntax.SumNode)
        and len(one.terms) == len(other.terms) == 2
    ):
        ((s, a), (t, b)), ((u, c), (v, d)) = one.terms, other.terms
        ends = ((s * u, _product((1, a), (1, c))), (t * v, _product((1, b), (1, d))))
        if s * v != t * u:
            yield replace(one, terms=ends)
        for left, right in ((a, d), (b, c)) if s * v == t * u else ():
            middle = (s * v, _product((1, syntax.Number(0, 0, 2)), (1, left), (1, right)))
            yield replace(one, terms=(ends[0], middle, ends[1]))


def _sums_apart(node: Node) -> Iterator[Node]:
    """``A[i,j] B[j,i]``, a trace, to ``A[i,i] B[j,j]``."""
    factors = [f for e, f in node.factors if e > 0] if isinstance(node, syntax.ProductNode) else []
    if len(factors) == 2 and all(isinstance(f, syntax.TensorNode) and len(f.indices or ()) == 2 for f in factors):
        pairs = [f.indices for f in factors if isinstance(f, syntax.TensorNode) and f.indices]
        (one, other), again = pairs[0], [index.terms for index in pairs[1]]
        if sorted([one.terms, other.terms]) == sorted(again):
            made = [replace(f, indices=(index, index)) for f, index in zip(factors, (one, other), strict=True)]  # pyright: ignore
            yield _product(*[(1, f) for f in made])


def _derivative_inside(node: Node) -> Iterator[Node]:
    """``D(f(u))`` to ``f(D(u))``, and ``D(log(u))`` to ``1/D(u)``."""
    call = _call(node.body) if isinstance(node, syntax.Derivative) else None
    if call is not None and isinstance(node, syntax.Derivative):
        inner = replace(node, body=call.args[0])
        yield _product((-1, inner)) if call.name == "log" else replace(call, args=(inner,))


def _power_rule(node: Node) -> Iterator[Node]:
    """``D(exp(u))`` to ``u exp(u - 1)``, and that times ``D(u)``; ``D(a**x)`` to ``x a**(x - 1)``."""
    body = node.body if isinstance(node, syntax.Derivative) else None
    call = _call(body) if body is not None else None
    above: Node | None = None
    if call is not None and call.name == "exp":
        above = call.args[0]
    elif isinstance(body, syntax.Power) and not isinstance(body.exponent, syntax.Number):
        above = body.exponent
    if above is None or body is None or not isinstance(node, syntax.Derivative):
        return
    less = syntax.SumNode(0, 0, ((1, above), (-1, syntax.Number(0, 0, 1))))
    lower = replace(call, args=(less,)) if call is not None else replace(body, exponent=less)  # type: ignore[call-arg]
    yield _product((1, above), (1, lower))
    yield _product((1, above), (1, lower), (1, replace(node, body=above)))


REWRITINGS: tuple[FalseRewriting, ...] = (
    FalseRewriting("power of a sum taken apart", "(a + b)**2 = a**2 + 2 a b + b**2", _powers_apart),
    FalseRewriting("root of a sum taken apart", "sqrt(a**2 + b**2) is not a + b", _root_of_squares),
    FalseRewriting("order of a product", "A B is not B A: (A + B) (A + B) = A A + A B + B A + B B", _binomial),
    FalseRewriting("function of a product taken apart", "f(u v) is f(u) f(v) for few functions alone", _of_factors),
    FalseRewriting("number taken out of a function", "f(2 u) is 2 f(u) where f is linear", _number_out),
    FalseRewriting("power taken out of a function", "f(u**2) is not f(u)**2", _power_out),
    FalseRewriting("functions put together", "f(u) f(v) is not f(u v), and f(u)/f(v) not f(u/v)", _together),
    FalseRewriting("sum of powers taken for a power", "exponents are added where powers are multiplied", _powers_added),
    FalseRewriting("trace of a product taken apart", "tr(A B) is not tr(A) tr(B)", _sums_apart),
    FalseRewriting(
        "power rule for an exponential", "D(exp(u)) = exp(u) D(u), and D(a**u) = log(a) a**u D(u)", _power_rule
    ),
    FalseRewriting("derivative put into the function", "D(f(u)) = f'(u) D(u)", _derivative_inside),
)
