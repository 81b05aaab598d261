"""Complex conjugates, and what is made of a number and its conjugate.

``conj`` goes down to the inputs: ``conj(exp(1j k x))`` is ``exp(-1j k conj(x))``, since sums, products and functions on
their principal branch commute with it. What is left are the conjugates of inputs, which derivatives take as inputs of
their own: so the derivative by ``z`` and that by ``conj(z)`` are Wirtinger's, and no rule has to know of it.

A real function of a complex number is the same for the number and its conjugate, up to a sign. Of the two, the one with
fewer conjugates in it is taken (:func:`plainer`). ``z conj(z)`` is ``abs2(z)``, a node that is real, and a number plus
its conjugate is twice ``real`` of it: so what is real is seen to be real, and costs what real numbers cost.

The imaginary unit is a constant with a name, as pi is; products know that its square is -1.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from fractions import Fraction

from ricci.expr.build.add import add
from ricci.expr.build.algebra import constant, multiply
from ricci.expr.build.apply import elementwise, function
from ricci.expr.build.product import product
from ricci.expr.build.product_nodes import Factor
from ricci.expr.build.scale import primitive, scale, whole_power
from ricci.expr.nodes import (
    IMAGINARY,
    Constant,
    Data,
    Elementwise,
    Expr,
    Function,
    Product,
    Sum,
    Variable,
    constructors,
    make,
)
from ricci.expr.numbers import Number
from ricci.expr.op import OPS, Op
from ricci.expr.structures import is_hermitian

MOST_COUNTED = 64  # nodes that are looked at to find which of two conjugates is the plainer one
I = make(Constant, (), (), IMAGINARY)  # noqa: E741


def conj(e: Expr) -> Expr:
    """The complex conjugate; of what is real, itself."""
    if not e.complex:
        return e
    known = _known(e)
    if known is not None:
        return known
    done: dict[Expr, Expr] = {}
    waiting = [e]
    while waiting:
        node = waiting[-1]
        known = done.get(node) or _known(node)
        if known is not None:
            done[node] = known
            waiting.pop()
            continue
        lacking = [] if _is_opaque(node) else [a for a in node.args if a.complex and a not in done]
        if lacking:
            waiting += lacking
            continue
        done[node] = _turned(node, done)
        _remember(node, done[node])
    return done[e]


def _known(e: Expr) -> Expr | None:
    """The conjugate, if it is remembered and still there."""
    if _is_conj(e):
        return e.args[0]
    if isinstance(e, Sum):
        c, rest = primitive(e)
        if rest is not e:
            found = _known(rest)
            return None if found is None else scale(c, found)
    sign, held = getattr(e, "conjugate", (1, None))
    other = held() if type(held) is weakref.ref else held
    return None if other is None else scale(sign, other)


def _remember(e: Expr, other: Expr) -> None:
    """One of the two holds the other, which only refers to it: nodes that held one another would not be freed.

    So do signs that are taken out of sums, hence it is the sum without its sign that is held.
    """
    if isinstance(e, Sum) and primitive(e)[1] is not e:
        c, rest = primitive(e)
        return _remember(rest, scale(Fraction(1) / c, other))
    sign, rest = primitive(other) if isinstance(other, Sum) else (1, other)
    own = rest is e or _is_opaque(e) or abs(sign) != 1 or isinstance(getattr(rest, "conjugate", (1, None))[1], Expr)
    e.conjugate = sign, weakref.ref(rest) if own else rest
    if not own:
        rest.conjugate = sign, weakref.ref(e)
    return None


def _is_conj(e: Expr) -> bool:
    return type(e) is Elementwise and e.op is CONJ


def _is_opaque(e: Expr) -> bool:
    """Whether the conjugate of a node is a node around it."""
    return (type(e) is Variable and not is_hermitian(e)) or (
        isinstance(e, (Elementwise, Function)) and (e.op.opaque or (e.op.own and e.op.conjugate is None))
    )


def _turned(e: Expr, done: Mapping[Expr, Expr]) -> Expr:
    """The conjugate of a node, those of its operands being known."""
    if _is_opaque(e):
        return elementwise(CONJ, e)
    if type(e) is Variable:
        return product([(e, (1, 0))], (0, 1))
    if isinstance(e, Constant):
        if isinstance(e.value, Data):
            return constant(e.value.conjugate())
        return scale(-1, e)
    args = [done.get(a, a) for a in e.args]
    if isinstance(e, Product):
        return product(list(zip(args, e.labels, strict=True)), e.out, dict(zip(e.out, e.shape, strict=True)))
    if isinstance(e, Sum):
        return add(list(zip(e.coefs, args, strict=True)))
    assert isinstance(e, (Elementwise, Function))
    params = e.params if isinstance(e, Function) else ()
    made = e.op.conjugate(*args, *params) if e.op.conjugate is not None else None
    if made is not None:
        return made
    return elementwise(e.op, *args) if isinstance(e, Elementwise) else function(e.op, tuple(args), params)


def _conj_rule(e: Expr) -> Expr | None:
    return None if e.complex and _is_opaque(e) else conj(e)


CONJ = Op(
    "conj",
    1,
    lambda z: complex(z).conjugate() if isinstance(z, complex) else z,
    (None,),
    maker=lambda op, e: conj(e if isinstance(e, Expr) else constant(e)),
    help="the complex conjugate",
    operands="z",
    latex=r"\overline{{{0}}}",
    note="A derivative by z takes conj(z) as another variable.",
    rewrite=_conj_rule,
    type="same",
    whole="kept",
    complex="kept",
    wirtinger=(None, None),
    torch="conj_physical",
    traced=("np.conjugate", "lax.conj", "aten._conj", "aten.conj_physical"),
)


def imaginary(e: Expr) -> bool:
    """Whether it is the imaginary unit."""
    return type(e) is Constant and e.value == IMAGINARY


# Of two conjugates, the one that real functions are of


def plainer(e: Expr) -> tuple[Expr, bool]:
    """Of a number and its conjugate the one with fewer conjugates in it, and whether that is the other one."""
    other = conj(e)
    return (other, True) if other is not e and _rank(other) < _rank(e) else (e, False)


def plainer_but_for_sign(e: Expr) -> tuple[Expr, int]:
    """The same where a sign has been taken out of ``e``: the conjugate with its sign taken out, and that; or 0."""
    sign, other = _signed(conj(e))
    return (other, sign) if other is not e and _rank(other) < _rank(e) else (e, 0)


def _signed(e: Expr) -> tuple[int, Expr]:
    c = primitive(e)[0] if isinstance(e, Sum) else 1
    return (1, e) if c > 0 else (-1, scale(-1, e))


def _rank(e: Expr) -> tuple[int, int]:
    return _conjugates(e), e.key


def _conjugates(e: Expr) -> int:
    """Conjugated inputs less those that are not, and minus signs of the imaginary unit, close to a node."""
    seen, waiting, found = {e}, [e], 0
    while waiting and len(seen) < MOST_COUNTED:
        node = waiting.pop(0)
        if _is_conj(node):
            found += 1
            continue
        if type(node) is Variable:
            found -= 1
        if isinstance(node, Sum):
            found += sum([c < 0 for c, a in zip(node.coefs, node.args, strict=True) if _has_unit(a)])
        waiting += [a for a in node.args if a.complex and a not in seen]
        seen.update(node.args)
    return found


def _has_unit(e: Expr) -> bool:
    return imaginary(e) or (isinstance(e, Product) and any(map(imaginary, e.args)))


# z conj(z), and z + conj(z)


def with_squares(factors: list[Factor]) -> list[Factor]:
    """Factors in which numbers and their conjugates, entry by entry, are the squares of absolute values."""
    places: dict[tuple, int] = {}
    for at, (e, labels) in enumerate(factors):
        if e.complex:
            base, n = whole_power(e)
            places[base, labels, n > 0] = at
    if len(places) < 2:
        return factors
    gone: set[int] = set()
    made: list[Factor] = []
    for (base, labels, up), at in places.items():
        other = places.get((conj(base), labels, up))
        if other is None or other == at or at in gone or other in gone or len(set(labels)) < len(labels):
            continue
        n, m = whole_power(factors[at][0])[1], whole_power(factors[other][0])[1]
        common = min(n, m, key=abs)
        gone |= {at, other}
        made.append((constructors.power(_square(base), common), labels))
        if n != m:
            more = base if abs(n) > abs(m) else conj(base)
            made.append((constructors.power(more, (n if abs(n) > abs(m) else m) - common), labels))
    return [*[f for at, f in enumerate(factors) if at not in gone], *made] if gone else factors


def _square(e: Expr) -> Expr:
    return OPS["abs2"](e)


def paired(collected: dict[Expr, Number]) -> dict[Expr, Number] | None:
    """Terms of a sum in which numbers and their conjugates are twice their real parts, or imaginary ones.

    Both parts of a number, the second times the unit, are the number.
    """
    terms = [e for e in collected if e.complex]
    left = dict(collected)
    for e in terms:
        whole = _with_real_part(e, left)
        if whole is not None:
            coef, both, part = whole
            del left[e], left[part]
            left[both] = left.get(both, 0) + coef
    for e in terms if len(terms) > 1 else ():
        coef = left.get(e)
        if coef is None:
            continue
        times, other = _unscaled(conj(e))
        theirs = left.get(other) if other is not e else None
        if theirs is None or abs(theirs) != abs(coef):
            continue
        del left[e], left[other]
        same = theirs * times == coef
        part = OPS["real"](e) if same else multiply(I, OPS["imag"](e))
        left[part] = left.get(part, 0) + 2 * coef
    return left if len(left) < len(collected) else None


def _with_real_part(e: Expr, terms: Mapping[Expr, Number]) -> tuple[Number, Expr, Expr] | None:
    """``c z`` and the term ``c real(z)`` where a term is ``c 1j imag(z)``; with the sign of that it is ``conj(z)``."""
    if not isinstance(e, Product) or e.sums or len(e.args) != 2 or e not in terms:
        return None
    inner = [(a, labels) for a, labels in e.factors() if not imaginary(a)]
    if len(inner) != 1 or inner[0][0].head != "imag" or inner[0][1] != tuple(range(len(e.shape))):
        return None
    z = inner[0][0].args[0]
    part = OPS["real"](z)
    coef = terms.get(part)
    if coef is None or abs(coef) != abs(terms[e]):
        return None
    return coef, z if coef == terms[e] else conj(z), part


def _unscaled(e: Expr) -> tuple[Number, Expr]:
    if isinstance(e, Sum) and len(e.args) == 1 and e.coefs[0] == -1:
        return -1, e.args[0]
    return 1, e


constructors.conj, constructors.paired, constructors.with_squares = conj, paired, with_squares
