"""A side of a line as an expression, and whether two sides are equal: proved, true at random points, or false.

A side is built after the definitions above it, and has the indices of the left side of its chain. It is proved where
both come to one expression by the constructors, by the rules of simplification, or by the normal form of proofs. What
is not proved is compared in a finite field, where all that is rational is exact, and in numbers at random points of
several kinds. Nothing that differs at a point passes, however little it does so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from ricci.errors import NotationError
from ricci.expr import Elementwise, Expr, Sum, add, numeric, topological, zero
from ricci.expr.settle import settled
from ricci.notation import syntax
from ricci.notation.context import Context, Facts
from ricci.notation.declarations import PLAIN, Declarations
from ricci.notation.occurrences import Occurrences, indices_in, sums_alone
from ricci.notation.resolve import ExpressionBuilder, Resolved, resolve_tree
from ricci.simplify import simplify
from ricci.simplify.proof import proved_equal
from ricci.simplify.residues import ENOUGH, agree
from ricci.user.formula import derive_in_text

PROVED, AGREES, FALSE, OPEN = "proved", "agrees", "false", "open"
_BRANCHES = frozenset(
    (
        "equal",
        "not_equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "where",
        "maximum",
        "minimum",
        "sign",
        "abs",
        "floor",
        "ceil",
        "round",
        "trunc",
    )
)
STEEP = 10  # a number that takes functions to their limits
Pairs = list[tuple[Expr, Expr]]


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether two sides are equal, by which rules, or at how many points."""

    status: str
    rules: tuple[str, ...] = ()
    points: int = 0
    trouble: str = ""
    exact: bool = False  # whether these are points of a finite field

    @property
    def holds(self) -> bool:
        return self.status in (PROVED, AGREES)


@dataclass(slots=True)
class Side:
    """What stands on one side of a line, as an expression whose axes are the indices of the left side."""

    node: syntax.Node
    expr: Expr
    names: tuple[str, ...]
    heights: tuple[str, ...]
    context: Context
    builder: ExpressionBuilder
    derived: Pairs = field(default_factory=list)  # what its derivatives are of, and by what
    asked: int = 0  # derivatives in all, those of definitions too
    apart: tuple[str, ...] = ()  # indices that are read as summed in each factor


class Workbench:
    """Builds sides after the definitions so far."""

    def __init__(self, text: str, sizes: Mapping[str, int], declared: Declarations = PLAIN):
        self.text, self.sizes, self.declared = text, sizes, declared
        self.definitions: list[syntax.Statement] = []
        self.standing: list[syntax.Index] = []
        self.lines: tuple[tuple[syntax.TensorNode, ...], tuple[tuple[syntax.Size, syntax.Node], ...]] = ((), ())
        self.known: dict[tuple[Expr, Expr], Expr] = {}
        self.asked: Pairs = []
        self.before = 0  # of what is asked, this many are derivatives in definitions

    def take_in(self, program: syntax.Statements) -> None:
        """What a line says of heights and sizes, for all lines after it."""
        self.standing += [index for index in program.standing if index not in self.standing]
        tensors, equations = self.lines
        stated = {size.name for size, _ in equations}
        more = tuple([(size, node) for size, node in program.sizes.equations if size.name not in stated])
        self.lines = (*tensors, *program.sizes.tensors), (*equations, *more)

    def define(self, statements: Sequence[syntax.Statement]) -> None:
        """Add definitions, if they can be read."""
        self.asked = []
        self.resolved(statements)
        self.definitions += statements
        self.before = len(self.asked)

    def resolved(self, more: Sequence[syntax.Statement]) -> list[Resolved]:
        tree = syntax.Statements(
            self.text, (*self.definitions, *more), tuple(self.standing), syntax.SizeLine(*self.lines)
        )
        return resolve_tree(tree, self.sizes, self.derive, self.declared)

    def derive(self, y: Expr, x: Expr) -> Expr:
        """The derivative that ``D(y, x)`` stands for; it is noted that it was asked for."""
        self.asked.append((y, x))
        if (y, x) not in self.known:
            self.known[y, x] = derive_in_text(y, x)
        return self.known[y, x]

    def head(self, node: syntax.Node, unsummed: syntax.Indices = (), indices: syntax.Indices | None = None) -> Side:
        """The left side of a chain, whose free indices are those of all its lines; they are ``indices``, where the
        notation has none."""
        self.asked = []
        statement = syntax.Statement(len(self.text) + 1, len(self.text) + 1, None, None, node, None, unsummed)
        if isinstance(node, syntax.TensorNode) and not unsummed:
            unsummed = tuple([index for index in node.indices or () if index.plain])
            statement = replace(statement, unsummed=unsummed)
        if indices is not None:
            statement = replace(statement, name="left°", indices=indices)
        return self.made(self.resolved([statement])[-1], node, self.before)

    def made(self, found: Resolved, node: syntax.Node, before: int) -> Side:
        assert found.builder is not None
        value, derived = found.value, self.asked[before:]
        return Side(
            node, value.expr, value.names, found.heights, found.context, found.builder, derived, len(self.asked)
        )

    def side(self, head: Side, node: syntax.Node) -> Side:
        """Another side of the chain. Where a dummy index stands in several factors that can sum over it, each of them
        alone does so if nothing else is meant."""
        try:
            return self.plain_side(head, node)
        except NotationError as error:
            again, names = read_apart(node, frozenset(head.names))
            if not names:
                raise
            try:
                found = self.plain_side(head, again)
            except NotationError:
                raise error from None
            found.apart = names
            return found

    def plain_side(self, head: Side, node: syntax.Node) -> Side:
        self.asked = []
        end = len(self.text)
        left = syntax.Statement(end + 1, end + 1, "left°", indices_of(head), head.node)
        right = syntax.Statement(end + 2, end + 2, "right°", indices_of(head), node)
        return self.made(self.resolved([left, right])[-1], node, head.asked)

    def candidate(self, head: Side, node: syntax.Node) -> Expr:
        """A side that might be meant; the names in it are those of the text."""
        return head.builder.side(syntax.Statement(0, 0, "right°", indices_of(head), node), node, head.names).expr


def indices_of(head: Side) -> syntax.Indices:
    heights = head.heights or ("",) * len(head.names)
    return tuple(
        [syntax.Index(0, 0, ((1, n),), plain=True, height=h) for n, h in zip(head.names, heights, strict=True)]
    )


def in_place(statement: syntax.Statement, head: Side) -> syntax.Node:
    """An expression whose free indices were given names by its reader, with those of the left side."""
    own = [index.terms[0][1] for index in statement.indices or ()]
    if len(own) != len(head.names) or own == list(head.names):
        return statement.body
    names = dict(zip(own, head.names, strict=True))
    used = {name for index in indices_in(statement.body) for _, name in index.terms}
    for name in used - names.keys():
        if name in head.names:
            new = name
            while new in used or new in head.names:
                new += "'"
            names[name] = new
    return syntax.renamed(statement.body, names)


# A dummy index in several factors


def read_apart(node: syntax.Node, free: frozenset[str]) -> tuple[syntax.Node, tuple[str, ...]]:
    """The tree with dummies renamed where several factors of a product can each sum over one alone, and their names.

    >>> from ricci.notation.resolve import read_program
    >>> from ricci.show.text import SUM, render
    >>> tree = read_program("(y[i] - X[i,j] w[j]) (X[i,j] w[j] + z[i])").statements[0].body
    >>> render(read_apart(tree, frozenset("i"))[0], SUM)
    "(y[i] - X[i,j] w[j]) (X[i,j'] w[j'] + z[i])"
    """
    found: dict[str, None] = {}
    parts = []
    for part in syntax.children(node):
        again, names = read_apart(part, free)
        found.update(dict.fromkeys(names))
        parts.append(again)
    node = syntax.with_children(node, parts) if found else node
    if not isinstance(node, syntax.ProductNode):
        return node, tuple(found)
    count, factors = Occurrences(), [f for _, f in node.factors]
    for name in {name: None for factor in factors for name in count.of(factor) if name not in free}:
        having = [k for k, factor in enumerate(factors) if name in count.of(factor)]
        if len(having) > 1 and all(sums_alone(factors[k], name, count) for k in having):
            for primes, k in enumerate(having[1:], 1):
                factors[k] = syntax.renamed(factors[k], {name: name + "'" * primes})
            found[name] = None
    return syntax.with_children(node, factors), tuple(found)


# Whether two are equal


def compared(one: Side, other: Side) -> Judgement:
    """Whether two sides are equal wherever both are defined."""
    if one.expr is other.expr:
        return Judgement(PROVED)
    facts = one.context.merged(other.context).facts
    found = equal(one.expr, other.expr, facts)
    if found.status == AGREES and not found.exact and (is_rounded(one.node) or is_rounded(other.node)):
        from ricci.user.sampling import differ_finely

        return Judgement(FALSE, points=found.points) if differ_finely(one.expr, other.expr, facts) else found
    return found


def is_rounded(node: syntax.Node) -> bool:
    """Whether a number with a point stands in a side: ``3.14159`` may be meant for pi, and is not."""
    return any(isinstance(n, syntax.Number) and isinstance(n.value, float) for n in syntax.within(node))


def equal(one: Expr, other: Expr, facts: Facts) -> Judgement:
    """The same of two expressions with the same axes."""
    linked = [*facts.linked_sizes(), *zip(one.shape, other.shape, strict=True)]
    trace: list = []
    first = simplify(one, trace)
    if settled(first, linked) is settled(simplify(other, trace), linked):
        return Judgement(PROVED, tuple(dict.fromkeys(step.rule for step in trace)))
    if proved_equal(one, other, linked):
        return Judgement(PROVED, ("one normal form",))
    if agree(one, other, linked):
        return Judgement(AGREES, points=ENOUGH, exact=True)
    return in_numbers(one, other, facts)


def in_numbers(one: Expr, other: Expr, facts: Facts) -> Judgement:
    """At random points of several kinds, also such as decide the comparisons in them."""
    from ricci.user.sampling import STYLES, compare

    exact = [numeric(simplify(side)) for side in (one, other)]
    if None not in exact:
        return Judgement(FALSE if exact[0] != exact[1] else PROVED)
    found = compare(one, other, facts)
    for style in further_styles(one, other) if not found.differ else ():
        more = compare(one, other, facts, styles=[style, *STYLES[:1]])
        found = replace(found, points=found.points + more.points, differ=more.differ)
        if found.differ:
            break
    if found.differ or (found.points and differs_little(one, other, facts)):
        return Judgement(FALSE, points=found.points)
    if not found.points:
        return Judgement(OPEN, trouble=found.trouble)
    return Judgement(AGREES, points=found.points)


def further_styles(one: Expr, other: Expr) -> list[list[Callable]]:
    """Ways to draw numbers that are equal to one another, that lie on either side of the numbers in a text, and that
    are so small that ``exp(-1000 x)`` is not 0."""
    from ricci.user.sampling import at_scale, whole_numbers

    nodes = topological(one, other)
    numbers = [abs(float(c)) for node in nodes if isinstance(node, Sum) for c in node.coefs]
    numbers += [abs(float(value)) for node in nodes if (value := numeric(node)) is not None]
    large = sorted({number for number in numbers if 1 < number < inf}, reverse=True)[:3]
    styles: list[list[Callable]] = [[at_scale(1 / number)] for number in large if number >= STEEP]
    if any(isinstance(node, Elementwise) and node.op.name in _BRANCHES for node in nodes):
        styles += [[whole_numbers], *[[at_scale(number)] for number in large]]
    return styles


def differs_little(one: Expr, other: Expr, facts: Facts) -> bool:
    """Whether what is left of the difference, when all that cancels has, is no rounding error of its terms."""
    from ricci.user.sampling import compare

    rest = simplify(one - other)
    if not isinstance(rest, Sum):
        return compare(rest, zero(rest.shape), facts).differ
    terms = list(zip(rest.coefs, rest.args, strict=True))
    above = add([(c, term) for c, term in terms if c > 0]) if any(c > 0 for c, _ in terms) else zero(rest.shape)
    below = add([(-c, term) for c, term in terms if c <= 0]) if any(c <= 0 for c, _ in terms) else zero(rest.shape)
    return compare(above, below, facts).differ
