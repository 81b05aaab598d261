"""Derivations in the engine's own form, for what has no text to be worked on: recurrences, and very large graphs.

The derivative operator is applied to the expression and pushed inwards, one rule at a time: sum, product, quotient and
chain rule, the rules of functions, until it stands only before the variable itself. There it is a product of Kronecker
deltas, which are then substituted, and terms are collected. On the way the expression holds *pending* derivatives:
placeholder inputs that print as ``D(u, x[p])``.

What is too large to be written out, and has parts on lines of their own, is derived line by line: each part that
depends on the variable has one step, by the derivatives of the parts before it. So a derivation is as long as what it
derives, also where parts are used again and again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ricci.calculus.graph import pushforward
from ricci.calculus.local import identity
from ricci.calculus.modes import derivative
from ricci.calculus.projecting import projected
from ricci.expr import (
    POWER,
    Elementwise,
    Expr,
    Function,
    Product,
    Structure,
    Sum,
    Variable,
    numeric,
    product,
    rebuild,
    substitute,
    topological,
    variable,
    variables,
    zero,
)
from ricci.expr.build.product import restrict
from ricci.expr.structures import natural, turning
from ricci.expr.walk import reopened
from ricci.notation import syntax
from ricci.notation.context import Facts
from ricci.notation.heights import flipped
from ricci.show.derivation import DerivationStep
from ricci.show.express import SyntaxWriter
from ricci.show.lines import arranged_inner, is_large
from ricci.show.page import Page
from ricci.show.phrases import Names, indices_of, product_of
from ricci.show.product_writer import Factor
from ricci.show.standing import Standing
from ricci.simplify import simplify

MOST_STEPS = 300


class PendingWriter(SyntaxWriter):
    """Writes placeholders as the derivatives that they stand for."""

    def __init__(self, root: Expr, deriving: Deriving, solved: bool):
        super().__init__(root, deriving.names, deriving.facts, deriving.heights, deriving.page)
        self.pending, self.x, self.solved = deriving.pending, deriving.x, solved
        self.open = {arranged_inner(deriving.y)}
        for placeholder, u in self.pending.items():
            self.first[placeholder] = self.first_use(u)

    def inside(self) -> list[Expr]:
        return [self.pending[e] for e in topological(self.root) if e in self.pending]

    def before(self, part: Expr) -> syntax.Statement | None:
        line = super().before(part)
        waits = self.solved and any(self.pending.get(node) is self.x for node in topological(part))
        return None if waits else line

    def is_readable(self, factor: Factor, label: object, along: dict) -> bool:
        """Of what is differentiated, only a tensor by name may be read at a place."""
        u = self.pending.get(factor[0])
        return (u is None or self.by_name(u)) and super().is_readable(factor, label, along)

    def tensor(self, e: Expr, indices: syntax.Indices, taken: set[str]) -> syntax.Node:
        u = self.pending.get(e)
        if u is None:
            return super().tensor(e, indices, taken)
        order = len(u.shape)
        rows, columns = indices[:order], indices[order:]
        if u is self.x and self.solved:
            heights = self.facts.heights.get(self.x.name, ())
            stand = Standing.at(rows, heights) or (), Standing.at(columns, flipped(heights)) or ()
            return _by_itself(self.x, *stand)
        variable_node = syntax.TensorNode(0, 0, self.x.name, columns or None)
        if self.by_name(u):
            return syntax.Derivative(0, 0, super().tensor(u, rows, taken), variable_node)
        names = tuple([index.terms[0][1] for index in rows])
        taken |= {name for index in indices for _, name in index.terms}
        return syntax.Derivative(0, 0, self.node(u, names, taken), variable_node)


class Deriving:
    """The derivative of one expression, on its way. It is a part of ``page``.

    Of inputs that stand for parts on lines of their own, ``names_of_parts``, the derivatives are left as they are.
    """

    def __init__(
        self,
        y: Expr,
        y_name: str,
        y_names: Names,
        x: Variable,
        x_names: Names,
        facts: Facts,
        page: Page,
        names_of_parts: Iterable[Variable] = (),
        of: syntax.Node | None = None,
    ):
        self.y, self.x, self.facts, self.page = y, x, facts, page
        self.names = (*y_names, *x_names)
        given = [facts.heights.get(name) or ("",) * len(own) for name, own in ((y_name, y_names), (x.name, x_names))]
        self.heights = (*given[0], *flipped(given[1])) if facts.heights else ()
        self.left = syntax.Derivative(0, 0, of or _standing(y_name, y_names, facts), _standing(x.name, x_names, facts))
        self.pending: dict[Expr, Expr] = {}
        self.placeholder: dict[Expr, Expr] = {}
        self.live = depending(y, [x, *names_of_parts])

    def pend(self, u: Expr) -> Expr:
        """The placeholder for ``∂u/∂x``."""
        if u not in self.placeholder:
            made = variable(f"∂{len(self.placeholder)}", (*u.shape, *self.x.shape))
            self.placeholder[u] = made
            self.pending[made] = u
        return self.placeholder[u]

    def expanded(self, u: Expr) -> tuple[Expr, str]:
        """``∂u/∂x`` by its operands' derivatives, and the name of the rule."""
        moved = pushforward(u, {arg: self.pend(arg) for arg in u.args if arg in self.live})
        live = [arg for arg in u.args if arg in self.live]
        rule = rule_name(u, live)
        if isinstance(u, Product) and len(moved.args if isinstance(moved, Sum) else (moved,)) < len(live):
            rule = "; ".join([rule, *[f"symmetry of {v.name}" for v in variables(*u.args) if turning(v)]])
        return moved, rule

    def waiting(self, e: Expr) -> list[Expr]:
        """What the pending derivatives in ``e`` are of, but for those of inputs."""
        found = [self.pending[node] for node in topological(e) if node in self.pending]
        return [u for u in found if not isinstance(u, Variable)]

    def in_one(self, name: Variable | None = None) -> DerivationStep:
        """All of it in one step, by the derivatives of the inputs that stand for parts, and by its own ``name``."""
        current = self.pend(self.y)
        rules: dict[str, None] = {}
        while waiting := self.waiting(current):
            values = {}
            for u in waiting:
                values[self.pend(u)], rule = self.expanded(u)
                rules[rule] = None
            current = substitute(current, values)
        if self.x in self.placeholder:
            current = substitute(current, {self.placeholder[self.x]: own_derivative(self.x)})
        current = simplify(current)
        if name is not None:
            inner = product([(name, range(len(name.shape)))], natural(self.y))
            current = substitute(current, {arranged_inner(self.y): inner})
        return self.line(current, "; ".join(r for r in rules if r), self.left)

    def steps(self) -> Iterator[DerivationStep]:
        current = self.pend(self.y) if self.y in self.live else zero((*self.y.shape, *self.x.shape))
        free = ", ".join(self.names[len(self.y.shape) :])
        several = "indices" if "," in free else "index"
        rule = f"derivative operator, new free {several} {free}" if free else "derivative operator"
        yield self.line(current, rule, self.left)
        for _ in range(MOST_STEPS):
            waiting = self.waiting(current)
            if not waiting:
                break
            below = set(topological(*[a for u in waiting for a in u.args]))
            top = [u for u in waiting if u not in below]
            values, rules = {}, []
            for u in top:
                values[self.pend(u)], rule = self.expanded(u)
                rules.append(rule)
            current = substitute(current, values)
            if any(not _is_trivial(u) for u in top):
                yield self.line(current, "; ".join(dict.fromkeys(r for r in rules if r)))
        if self.placeholder.get(self.x) in set(topological(current)):
            told = f"; symmetry of {self.x.name}" if turning(self.x) else ""
            yield self.line(current, f"derivative of a tensor by itself{told}", solved=True)
            current = substitute(current, {self.placeholder[self.x]: own_derivative(self.x)})
            if self.x.shape:
                yield self.line(current, "delta substitution")
            else:
                yield self.line(current, "collecting terms")
        self.result = current

    def line(self, e: Expr, rule: str, left: syntax.Node | None = None, solved: bool = False) -> DerivationStep:
        writer = PendingWriter(reopened(e), self, solved)
        return DerivationStep(rule, left, _flattened(writer.program(None)))


def carries(node: Expr, position: int) -> bool:
    """Whether a change of an operand changes the value: not that of what only tells places, or has steps alone."""
    if isinstance(node, (Elementwise, Function)):
        partial = node.op.partials[position]
        return partial is not None and not isinstance(partial, str)
    return not isinstance(node, Structure)


def depending(y: Expr, inputs: Iterable[Expr]) -> set[Expr]:
    """The parts of ``y`` that depend on inputs so that a derivative goes through them, as in ``calculus.graph``."""
    live = set(inputs)
    for node in topological(y):
        if any(a in live and carries(node, position) for position, a in enumerate(node.args)):
            live.add(node)
    return live


def on_the_way(y: Expr, x: Expr) -> set[Expr]:
    """Those of them that ``y`` depends on in the same manner."""
    live, wanted = depending(y, [x]), {y}
    for node in reversed(topological(y)):
        if node in wanted:
            wanted |= {a for position, a in enumerate(node.args) if a in live and carries(node, position)}
    return live & wanted


def own_derivative(x: Expr) -> Expr:
    """The derivative of a tensor by itself: deltas, or of a symmetric matrix their symmetric part."""
    return projected(identity(x.shape).expr(), x, len(x.shape))


def _by_itself(x: Expr, rows: syntax.Indices, columns: syntax.Indices) -> syntax.Node:
    """As :func:`own_derivative`, written."""

    def deltas(other: syntax.Indices) -> syntax.Node:
        return product_of([(1, syntax.Delta(0, 0, pair)) for pair in zip(rows, other, strict=True)])

    if not turning(x):
        return deltas(columns)
    both = syntax.SumNode(0, 0, ((1, deltas(columns)), (turning(x), deltas(columns[::-1]))))
    return product_of([(1, syntax.Number(0, 0, 1)), (-1, syntax.Number(0, 0, 2)), (1, both)])


def rule_name(u: Expr, live: Sequence[Expr]) -> str:
    """The rule by which a node is differentiated, of whose operands these depend on the variable."""
    if isinstance(u, Sum):
        return "sum rule" if len(u.args) > 1 else ""
    if isinstance(u, Product):
        if any(_is_inverse(a) for a in live) and len(u.args) > 1:
            return "quotient rule"
        return "product rule" if len(live) > 1 else "constant factor" if len(u.args) > 1 else ""
    if isinstance(u, Elementwise):
        return "power rule and chain rule" if u.op is POWER else f"chain rule, derivative of {u.op.name}"
    if isinstance(u, Function) and u.op.loop is not None:
        return "loop rule"
    return f"chain rule, derivative of {u.op.name}" if isinstance(u, Function) else ""


def _is_inverse(e: Expr) -> bool:
    exponent = numeric(e.args[1]) if isinstance(e, Elementwise) and e.op is POWER else None
    return exponent is not None and exponent < 0


def _is_trivial(u: Expr) -> bool:
    return isinstance(u, (Sum, Product)) and len(u.args) == 1


def derivation(
    y: Expr,
    y_name: str,
    y_names: Names,
    x: Expr,
    x_names: Names,
    facts: Facts,
    page: Page,
    first: bool,
    typed: Sequence[syntax.Statement] = (),
    of: syntax.Node | None = None,
) -> list[DerivationStep]:
    """The steps from the definition of ``y``, shown if it comes ``first``, to ``∂y/∂x``.

    ``typed`` is the definition as the author has typed it, where there is a text; ``of`` is what ``y`` is where it
    is no name: ``D(f, x[p])``.
    """
    if not isinstance(x, Variable):
        return []
    steps: list[DerivationStep] = []
    definition, heights = of or _standing(y_name, y_names, facts), facts.heights.get(y_name, ())
    if first:
        defining = SyntaxWriter(y, y_names, facts, heights, page).program(None)
        said = defining.sizes.tensors or defining.sizes.equations  # in names that may not be the author's
        own = replace(defining, statements=tuple(typed)) if typed and not said else defining
        steps.append(DerivationStep("definition", definition, own, own is not defining))
    trace: list = []
    better = simplify(y, trace)
    if better is not y:
        simpler = SyntaxWriter(better, y_names, facts, heights, page).program(None)
        steps.append(DerivationStep(_rules(trace), definition, simpler))
    deriving = Deriving(better, y_name, y_names, x, x_names, facts, page, of=of)
    if better in deriving.live and is_large(better):
        lines = line_by_line(better, y_name, y_names, x, x_names, facts, page, of)
        if len(lines) > 1:
            return [*steps, *lines, deriving.line(simplify(derivative(better, x)), "all lines together", deriving.left)]
    steps += deriving.steps()
    trace = []
    result = simplify(deriving.result, trace)
    if result is not deriving.result:
        steps.append(deriving.line(result, _rules(trace)))
    return steps


def line_by_line(
    y: Expr,
    y_name: str,
    y_names: Names,
    x: Variable,
    x_names: Names,
    facts: Facts,
    page: Page,
    of: syntax.Node | None = None,
) -> list[DerivationStep]:
    """The derivatives of all parts of ``y`` that have lines of their own and depend on ``x``, and of ``y``."""
    writer = SyntaxWriter(y, y_names, facts, facts.heights.get(y_name, ()), page)
    *written, _ = writer.program(None).statements
    if writer.standing is not None:
        facts = replace(facts, heights={**facts.heights, **writer.standing.given})
    ends = {s.name: place for place, s in enumerate(written, 1)}  # a recurrence has two statements
    names = {name: tuple([i.terms[0][1] for i in written[end - 1].indices or ()]) for name, end in ends.items()}
    stands: dict[Expr, Variable] = {}
    steps: list[DerivationStep] = []
    shown = 0  # of the lines that define parts
    derived = on_the_way(y, x)
    body: dict[Expr, Expr] = {}
    for node in topological(y):
        args = tuple([body[a] for a in node.args])
        body[node] = here = node if args == node.args else rebuild(node, args)
        inner = arranged_inner(node)
        label = writer.line.get(inner)
        if label is None or node is y or node not in derived:
            continue
        places = writer.axes[inner] or tuple(range(len(inner.shape)))
        if inner not in stands:
            axes = natural(node)
            own = restrict(here, tuple([axes[p] for p in places]))  # broadcasts are left out, not summed
            taken = {*x_names, *names[label]}
            free = [writer.fresh(own, at, taken) if n in x_names else n for at, n in enumerate(names[label])]
            deriving = Deriving(own, label, tuple(free), x, x_names, facts, page, list(stands.values()))
            stands[inner] = variable(label, own.shape)
            steps.append(deriving.in_one(stands[inner]).after(written[shown : ends[label]]))
            shown = max(shown, ends[label])
        spread = product([(stands[inner], places)], range(len(inner.shape)))
        body[node] = product([(spread, natural(node))], range(len(node.shape)), dict(enumerate(node.shape)))
    last = Deriving(body[y], y_name, y_names, x, x_names, facts, page, stands.values(), of)
    return [*steps, last.in_one().after(written[shown:])]


def _standing(name: str, names: Names, facts: Facts) -> syntax.TensorNode:
    """A tensor by name, with its indices where they stand."""
    return syntax.TensorNode(0, 0, name, Standing.at(indices_of(names), facts.heights.get(name, ())) or None)


def _rules(trace: list) -> str:
    return ", ".join(dict.fromkeys(step.rule for step in trace)) or "simplification"


def _flattened(tree: syntax.Statements) -> syntax.Statements:
    """Products of deltas, put in for a derivative, become factors of the product around them."""
    return syntax.Statements(tree.text, tuple([_statement(s) for s in tree.statements]), sizes=tree.sizes)


def _statement(s: syntax.Statement) -> syntax.Statement:
    return syntax.Statement(s.start, s.end, s.name, s.indices, _flat(s.body))


def _flat(node: syntax.Node) -> syntax.Node:
    if isinstance(node, syntax.SumNode):
        return syntax.SumNode(0, 0, tuple([(sign, _flat(term)) for sign, term in node.terms]))
    if isinstance(node, syntax.Neg):
        return syntax.Neg(0, 0, _flat(node.body))
    if not isinstance(node, syntax.ProductNode):
        return node
    factors: list[tuple[int, syntax.Node]] = []
    for exponent, factor in node.factors:
        inner = _flat(factor)
        deltas = isinstance(inner, syntax.ProductNode) and all(isinstance(f, syntax.Delta) for _, f in inner.factors)
        if exponent > 0 and deltas and isinstance(inner, syntax.ProductNode):
            factors += inner.factors
        else:
            factors.append((exponent, inner))
    kept = [(e, f) for e, f in factors if e < 0 or not isinstance(f, syntax.Number) or f.value != 1]
    return product_of(kept)
