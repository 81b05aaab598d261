"""The names that a teacher has for what went wrong: a table, the first row that fits is said.

A row looks at the change that makes a line true, and at the lines above it: a factor of 2 is that of the power rule
where a square was differentiated, and merely a factor elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ricci.notation import syntax
from ricci.notation.syntax import Node
from ricci.review.changes import Edit

Writer = Callable[[Node], str]


@dataclass(frozen=True)
class Finding:
    """The change that makes a line true, and what stands above: the sides before it, and what is differentiated."""

    edit: Edit
    line: Node
    before: Sequence[Node]
    origins: Sequence[Node]  # all of that, and the definitions of names in it
    readable: bool = True
    free: frozenset[str] = frozenset()  # the indices of the left side

    def above(self, kind: type) -> Iterator[Node]:
        """All nodes of a kind in what stands above."""
        return (node for tree in self.origins for node in syntax.within(tree) if isinstance(node, kind))

    @property
    def derived(self) -> bool:
        """Whether a derivative is being worked out."""
        return next(self.above(syntax.Derivative), None) is not None

    @property
    def exponents(self) -> set[Fraction]:
        """The numbers that are exponents above."""
        powers = [node.exponent for node in self.above(syntax.Power) if isinstance(node, syntax.Power)]
        return {Fraction(n.value) for n in powers if isinstance(n, syntax.Number) and n.value > 1}

    @property
    def factor(self) -> Fraction | None:
        """By what a term must be multiplied, if that is all."""
        edit = self.edit
        if edit.kind == "number" and edit.number is not None:
            return abs(edit.number)
        alone = edit.place.around is not None and not isinstance(edit.place.around.node, syntax.ProductNode)
        if edit.kind == "number" and alone:
            return None
        if edit.kind == "number" and isinstance(edit.new, syntax.Number) and isinstance(edit.place.node, syntax.Number):
            return Fraction(edit.new.value) / Fraction(edit.place.node.value or 1)
        if edit.kind == "factor missing" and isinstance(edit.extra, syntax.Number):
            return Fraction(edit.extra.value)
        if edit.kind == "factor missing" and isinstance(edit.extra, syntax.ProductNode):
            values = [f.value if isinstance(f, syntax.Number) else None for _, f in edit.extra.factors]
            return 1 / Fraction(values[1]) if len(values) == 2 and values[0] == 1 and values[1] else None
        if edit.kind == "factor too much" and isinstance(edit.spot, syntax.Number) and edit.spot.value:
            return 1 / Fraction(edit.spot.value)
        return None

    def calls_above(self, name: str) -> bool:
        return any(isinstance(n, syntax.CallNode) and n.name == name for n in self.above(syntax.CallNode))

    def calls(self, *names: str) -> bool:
        """Whether one of these functions stands above, or in the line."""
        trees = (*self.origins, self.line)
        return any(isinstance(n, syntax.CallNode) and n.name in names for tree in trees for n in syntax.within(tree))

    def divides(self) -> bool:
        """Whether there is a quotient above."""
        return any(
            isinstance(n, syntax.ProductNode) and any(e < 0 and not _is_number(f) for e, f in n.factors)
            for n in self.above(syntax.ProductNode)
        )


def _is_number(node: Node) -> bool:
    return isinstance(node, (syntax.Number, syntax.Size, syntax.Pi))


@dataclass(frozen=True)
class Mistake:
    """A row: the name, when it fits, and what is said in general."""

    name: str
    fits: Callable[[Finding], bool]
    advice: str


def _kind(*kinds: str) -> Callable[[Finding], bool]:
    return lambda f: f.edit.kind in kinds


def _lost_in_bracket(f: Finding) -> bool:
    """A one-tensor that is missing from a term in a bracket that is multiplied."""
    above = f.edit.place.above
    inside = len(above) > 1 and isinstance(above[0], syntax.SumNode) and isinstance(above[1], syntax.ProductNode)
    if not inside or not isinstance(f.edit.extra, syntax.Ones):
        return False
    names = {name for index in f.edit.extra.indices for _, name in index.terms}
    return _lost(f) and (not names <= f.free or not f.derived)


def _lost(f: Finding) -> bool:
    return f.edit.kind == "factor missing" and isinstance(f.edit.extra, syntax.Ones)


def _size(f: Finding) -> bool:
    size = isinstance(f.edit.extra, syntax.Size) or (
        isinstance(f.edit.extra, syntax.ProductNode) and isinstance(f.edit.extra.factors[-1][1], syntax.Size)
    )
    return f.edit.kind == "size" or size or isinstance(f.edit.spot, syntax.Size)


def _power_factor(f: Finding) -> bool:
    factor = f.factor
    return factor is not None and f.derived and bool({factor, 1 / factor if factor else factor} & f.exponents)


def _sign(f: Finding) -> bool:
    return f.edit.kind in ("sign", "turned")


def _quotient(f: Finding) -> bool:
    if not f.derived or not f.divides():
        return False
    whole = isinstance(f.edit.place.node, (syntax.ProductNode, syntax.SumNode)) and f.edit.place.around is None
    brackets = [n for n in syntax.within(f.edit.place.node) if isinstance(n, syntax.SumNode) and len(n.terms) == 2]
    opposed = any({sign for sign, _ in n.terms} == {1, -1} for n in brackets)
    return f.edit.kind == "turned" or (f.edit.kind == "sign" and whole and opposed)


def _delta(f: Finding) -> bool:
    if f.edit.kind != "index":
        return False
    names = {name for node in (f.edit.place.node, f.edit.new) for name in _names(node)}
    changed = names - ({*_names(f.edit.place.node)} & {*_names(f.edit.new)})
    pairs = [{*_names(d)} for tree in f.before for d in syntax.within(tree) if isinstance(d, syntax.Delta)]
    return any(changed <= pair for pair in pairs)


def _names(node: Node) -> list[str]:
    found = []
    for part in ("indices", "result", "axes"):
        found += [name for index in getattr(node, part, None) or () for _, name in index.terms]
    return found


def _split(kind: type) -> Callable[[Finding], bool]:
    return lambda f: f.edit.kind in ("split", "joined") and isinstance(f.edit.place.node, kind)


def _log_of_sum(f: Finding) -> bool:
    return f.edit.kind in ("split", "joined") and any(
        isinstance(n, syntax.CallNode) and n.name in ("log", "log1p") for n in syntax.within(f.edit.place.node)
    )


def _outer(f: Finding) -> bool:
    pair = {n.name for n in (f.edit.place.node, f.edit.new) if isinstance(n, syntax.CallNode)}
    places = [n.places for n in (f.edit.place.node, f.edit.new) if isinstance(n, syntax.CallNode)]
    primes = len(pair) == 1 and len(set(places)) == 2
    itself = isinstance(f.edit.place.node, syntax.CallNode) and f.derived and f.calls_above(f.edit.place.node.name)
    return f.edit.kind == "function" and (
        primes
        or (itself and isinstance(f.edit.new, syntax.CallNode) and f.edit.new.name == "where")
        or pair <= {"sin", "cos", "sinh", "cosh", "softplus", "sigmoid", "abs", "sign"}
    )


def _exp_log(f: Finding) -> bool:
    pair = {n.name for n in (f.edit.place.node, f.edit.new) if isinstance(n, syntax.CallNode)}
    return f.edit.kind == "function" and pair == {"exp", "log"}


def _inner(f: Finding) -> bool:
    """A factor is missing, and a function, or a power, of something was differentiated."""
    if f.edit.kind != "factor missing" or not f.derived or f.factor is not None:
        return False
    inner = [n.args[0] for n in f.above(syntax.CallNode) if isinstance(n, syntax.CallNode) and n.args]
    inner += [n.base for n in f.above(syntax.Power) if isinstance(n, syntax.Power)]
    return any(not isinstance(n, (syntax.TensorNode, syntax.Number)) for n in inner)


def _inner_number(f: Finding) -> bool:
    """The factor that is missing stands in the argument of a function, or in the base of a power."""
    inner = [n.args[0] for n in f.above(syntax.CallNode) if isinstance(n, syntax.CallNode) and n.args]
    inner += [n.base for n in f.above(syntax.Power) if isinstance(n, syntax.Power)]
    products = [n for tree in inner for n in syntax.within(tree) if isinstance(n, syntax.ProductNode)]
    numbers = {Fraction(n.value) for p in products for _, n in p.factors if isinstance(n, syntax.Number) and n.value}
    return f.derived and f.factor is not None and bool({f.factor, 1 / f.factor if f.factor else 0} & numbers)


def _product_rule(f: Finding) -> bool:
    return f.edit.kind == "term missing" and f.derived and any(True for _ in f.above(syntax.ProductNode))


MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "distributed over a contraction without the one-tensor",
        _lost_in_bracket,
        "terms of a bracket have the same indices: 1[i] keeps those that a term lacks",
    ),
    Mistake("broadcast lost", _lost, "the one-tensor keeps an index, and sums over one, that nothing else has"),
    Mistake("size of an index", _size, "a one-tensor that is summed over counts the index: 1[i] 1[i] = |i|"),
    Mistake(
        "derivative of the inverse without the minus",
        lambda f: _sign(f) and f.derived and f.calls("inv", "solve"),
        "D(inv(A)) = -inv(A) D(A) inv(A)",
    ),
    Mistake("quotient rule with the terms swapped", _quotient, "D(u/v) = (v D(u) - u D(v)) / v**2"),
    Mistake("factor of the power rule", _power_factor, "D(u**n) = n u**(n-1) D(u)"),
    Mistake(
        "exponent of the power rule",
        lambda f: f.edit.kind == "exponent" and f.derived and bool(f.exponents),
        "D(u**n) = n u**(n-1) D(u)",
    ),
    Mistake("sign", _sign, ""),
    Mistake("delta not substituted", _delta, "delta[i,p] a[i] = a[p]: the index that is summed is replaced everywhere"),
    Mistake("missing transpose", _kind("transposed"), ""),
    Mistake("wrong index", _kind("index"), ""),
    Mistake("indices exchanged", _kind("exchanged"), ""),
    Mistake("order of a product", _kind("order"), "A B is not B A: inv(A B) = inv(B) inv(A), and (A B)' = B' A'"),
    Mistake("another tensor", _kind("tensor"), ""),
    Mistake("dummy index used twice", _kind("captured"), "every sum has an index of its own"),
    Mistake("power of a contraction taken apart", _split(syntax.ProductNode), "(a[k] b[k])**2 is not a[k]**2 b[k]**2"),
    Mistake("log of a sum split", _log_of_sum, "log(a b) = log(a) + log(b), and there is no such rule for log(a + b)"),
    Mistake(
        "power of a sum taken apart",
        lambda f: f.edit.kind == "split" and isinstance(f.edit.new, syntax.Power),
        "(a + b)**2 = a**2 + 2 a b + b**2",
    ),
    Mistake(
        "reciprocal of a sum taken apart",
        lambda f: f.edit.kind == "split" and isinstance(f.edit.new, syntax.ProductNode),
        "1/(a + b) is not 1/a + 1/b",
    ),
    Mistake("function of a sum taken apart", _kind("split", "joined"), ""),
    Mistake("exp and log exchanged", _exp_log, ""),
    Mistake("derivative of the outer function forgotten", _outer, "D(f(u)) = f'(u) D(u)"),
    Mistake(
        "derivative of the outer function at another place",
        lambda f: f.edit.kind == "argument" and f.derived,
        "D(f(u), x) = f'(u) D(u, x)",
    ),
    Mistake("another argument", _kind("argument"), ""),
    Mistake("another function", _kind("function"), ""),
    Mistake(
        "inner derivative of the chain rule forgotten", lambda f: _inner(f) or _inner_number(f), "D(f(u)) = f'(u) D(u)"
    ),
    Mistake(
        "delta missing",
        lambda f: (
            (f.edit.kind == "factor missing" and isinstance(f.edit.extra, syntax.Delta))
            or (f.edit.kind == "delta" and isinstance(f.edit.new, syntax.Delta))
        ),
        "D(x[i], x[p]) = delta[i,p]",
    ),
    Mistake("delta instead of the one-tensor", _kind("delta"), "delta[i,j] is 1 where i = j, 1[i,j] is 1 everywhere"),
    Mistake("one term of the product rule forgotten", _product_rule, "D(u v) = D(u) v + u D(v)"),
    Mistake("rounded number", _kind("rounded"), "a rounded number is not equal to the number"),
    Mistake("numeric factor", lambda f: f.factor is not None, ""),
    Mistake("another number", _kind("number"), ""),
    Mistake("exponent", _kind("exponent"), ""),
    Mistake("quotient upside down", _kind("turned over"), ""),
    Mistake("divided instead of multiplied", _kind("inverted"), ""),
    Mistake("factor forgotten", _kind("factor missing"), ""),
    Mistake("factor too much", _kind("factor too much"), ""),
    Mistake("term forgotten", _kind("term missing"), ""),
    Mistake("term too much", _kind("term too much"), ""),
    Mistake("another term", _kind("term"), ""),
    Mistake("factors of terms", _kind("several"), ""),
)


def named(finding: Finding) -> Mistake | None:
    """The first row that fits."""
    return next((row for row in MISTAKES if row.fits(finding)), None)


def words_of_matrices(edit: Edit, typed: Writer) -> str:
    """What is wrong, of a text that has no indices: only what is typed there can be said."""
    old, kind = edit.old, edit.kind
    if kind == "order" and isinstance(edit.extra, syntax.ProductNode):
        (_, a), (_, b) = edit.extra.factors
        return f"{typed(a)} and {typed(b)} stand in each other's place"
    said = {"transposed": "the transpose of {}", "exchanged": "the transpose of {}",
            "term missing": "a term is missing", "factor missing": "{} lacks a factor",
            "index": "the indices of {} are others", "split": "{} is not the same of the sum"}  # fmt: skip
    if isinstance(edit.extra, syntax.Number):
        return words(edit, lambda node: str(edit.extra.value) if node is edit.extra else typed(node))  # pyright: ignore
    if kind in said:
        return said[kind].format(typed(old))
    if kind in ("sign", "turned", "number", "several", "factor too much", "term too much", "inverted", "turned over"):
        return words(edit, typed)
    return f"{typed(old)} should be something else"


def words(edit: Edit, write: Writer) -> str:
    """What is wrong, in the notation of the text."""
    old, new, kind = edit.old, edit.new, edit.kind
    more = ", and the sign" if edit.turned and edit.kind not in ("sign", "turned") else ""
    if kind in ("sign", "turned"):
        body = old.body if isinstance(old, syntax.Neg) else old
        return f"the sign of {write(body)}"
    if kind == "number" and edit.number is not None:
        return f"the factor of {write(old)}: multiply by {edit.number}"
    if kind == "exchanged" and isinstance(edit.extra, syntax.Delta):
        a, b = [index.terms[0][1] for index in edit.extra.indices]
        return f"{a} and {b} stand in each other's place{more}"
    if kind == "order" and isinstance(edit.extra, syntax.ProductNode):
        (_, a), (_, b) = edit.extra.factors
        return f"{write(a)} and {write(b)} stand in each other's place{more}"
    if kind == "size":
        sizes = " ".join(f"1/|{name[1:]}|" if name[0] == "/" else f"|{name}|" for name in edit.sizes)
        number = "" if edit.number in (1, None) else f"{edit.number} "
        return f"the factor of {write(old)}: multiply by {number}{sizes}"
    if kind == "factor missing":
        assert edit.extra is not None
        return f"{write(old)} lacks the factor {write(edit.extra)}{more}"
    if kind == "term missing":
        assert edit.extra is not None
        return f"the term {write(edit.extra)} is missing"
    if kind in ("factor too much", "term too much"):
        return f"the {kind.split()[0]} {write(old)} is too much{more}"
    if kind == "inverted":
        return f"{write(old)} is multiplied where it should divide, or divides where it should multiply{more}"
    if kind == "turned over":
        return f"{write(old)} stands upside down{more}"
    if kind == "several":
        return f"the factors of several terms, the first of which is {write(old)}"
    return f"{write(old)} should be {write(new)}{more}"
