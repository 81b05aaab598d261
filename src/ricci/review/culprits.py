"""The smallest change that makes a false side true.

Changes are tried in the order of their size, each at a point of a finite field, where one that helps is seen at once;
what helps there is then compared as any line is. Where functions that no field has stand in the way, a few changes are
compared in numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations

from ricci.budget import spend
from ricci.errors import LimitError, RicciError
from ricci.expr import Elementwise, Expr, Function, topological, variables
from ricci.expr.settle import SizeClasses
from ricci.notation import syntax
from ricci.notation.occurrences import names_in
from ricci.notation.syntax import Node
from ricci.review import terms
from ricci.review.changes import Edit, Place, fraction, negative, places
from ricci.review.edits import edits, terms_missing
from ricci.review.likely_parts import distributed, index_names, inner_derivatives, said_by_names
from ricci.review.sides import Side, Workbench, compared
from ricci.show.own_words import signs_in_front
from ricci.show.text import SUM, render
from ricci.simplify.residues import Entries

Terms = Sequence[tuple[int, Node]]
MOST_CANDIDATES = 1500
MOST_VERIFIED = 8
MOST_NODES = 160  # of a tree in which changes are looked for
MOST_IN_NUMBERS = 480
IN_ONE_GO = 40
MOST_POOL = 48
MOST_SUMMANDS = 16
MOST_TENSORS = 8


class CulpritSearch:
    """Looks for what is wrong with one side; ``before`` are the sides above it that are right."""

    def __init__(self, bench: Workbench, head: Side, node: Node, before: Sequence[Side], readable: Side | None):
        self.bench, self.head, self.node, self.before = bench, head, node, before
        self.alive: list[Node] = []  # a builder knows trees by their addresses
        self.built: dict[int, Expr | None] = {}
        self.tried: list[Edit] = []
        self.readable = readable
        self.verified = 0
        facts = head.context.facts
        roots = [head.expr, *[side.expr for side in before], *variables(head.expr)]
        inputs = [head.builder.scope.input(name) for name in facts.inputs]
        classes = SizeClasses(*roots, *inputs, linked=facts.linked_sizes())
        self.points = terms.points([*roots, *inputs], classes)
        self.targets: list[Entries] = []
        for side in [*before[-1:], head]:
            value = self.points[0].value(side.expr) if self.points else None
            if value is not None and value not in self.targets:
                self.targets.append(value)

    def found(self) -> Edit | None:
        """The change, if one is found."""
        nodes = list(syntax.within(self.node))
        if len(nodes) > MOST_NODES:
            return next(filter(self.holds, self.in_long_sums()), None)
        if not self.targets:
            return None
        second: Edit | None = None
        for count, edit in enumerate(chain(self.by_multipliers(), self.in_order())):
            if count > MOST_CANDIDATES or self.verified > MOST_VERIFIED:
                break
            self.tried.append(edit)
            value = edit.number is not None or self.value(edit.tree)
            if value is True or value in self.targets:
                if self.holds(edit):
                    return edit
            elif second is None and value and edit.kind not in ("sign", "turned", "number"):
                second = self.twofold(edit, value)
        return second or self.in_numbers()

    def in_long_sums(self) -> Iterator[Edit]:
        """Of a sum that is too long for anything else, a term that no line above has, and one that is not here."""
        node = self.node
        above = [side.node for side in self.before] + [statement.body for statement in self.bench.definitions]
        if not isinstance(node, syntax.SumNode):
            return
        for other in above:
            if not isinstance(other, syntax.SumNode):
                continue
            own, theirs = [{(sign, render(term, SUM)): term for sign, term in tree.terms} for tree in (node, other)]
            extra = [pair for pair in own if pair not in theirs]
            new = [(sign, term) for (sign, name), term in theirs.items() if (sign, name) not in own]
            if len(extra) > 1 or len(new) > 1 or not (extra or new):
                continue
            at = next((k for k, (s, t) in enumerate(node.terms) if (s, render(t, SUM)) in extra), len(node.terms))
            tree = replace(node, terms=(*node.terms[:at], *new, *node.terms[at + 1 :]))
            old = node.terms[at][1] if extra else None
            if not new:
                yield Edit("term too much", Place(node), tree, tree, old)
            elif old is None:
                ((sign, term),) = new
                yield Edit("term missing", Place(node), tree, tree, extra=term if sign > 0 else negative(term))
            else:
                same = extra[0][1] == render(new[0][1], SUM)
                yield Edit("sign" if same else "term", Place(node), tree if same else new[0][1], tree, old)

    def value(self, tree: Node, point: int = 0) -> Entries | None:
        expr = self.expr(tree)
        return None if expr is None else self.points[point].value(expr)

    def expr(self, tree: Node) -> Expr | None:
        if id(tree) in self.built:
            return self.built[id(tree)]
        self.alive.append(tree)
        self.built[id(tree)] = None
        spend()
        try:
            self.built[id(tree)] = self.bench.candidate(self.head, tree)
        except LimitError:
            raise
        except (RicciError, AssertionError, KeyError, ValueError, TypeError):
            pass
        return self.built[id(tree)]

    def holds(self, edit: Edit) -> bool:
        self.verified += 1
        try:
            return compared(self.head, self.bench.plain_side(self.head, edit.tree)).holds
        except LimitError:
            raise
        except RicciError:
            return False

    # Terms and their multipliers

    def by_multipliers(self) -> Iterator[Edit]:
        """Of the terms of the whole side, by what each is to be multiplied."""
        own = list(self.node.terms) if isinstance(self.node, syntax.SumNode) else [(1, self.node)]
        if len(own) > terms.MOST_TERMS:
            return
        values = [self.value(term) for _, term in own]
        if any(value is None for value in values):
            return
        for target in self.targets:
            found = terms.multipliers(target, values)  # pyright: ignore[reportArgumentType]
            if found is not None:
                break
        else:
            return
        said = self.said(own, found)
        if said is not None:
            yield from self.multiplied(own, said)

    def said(self, own: Terms, found: list[int]) -> list[tuple[Fraction, tuple[str, ...]]] | None:
        """The multipliers as numbers and sizes, the same at a second point."""
        point = self.points[1]
        target = point.value(self.head.expr)
        values = [self.value(term, 1) for _, term in own]
        if target is None or any(value is None for value in values):
            return None
        again = terms.multipliers(target, values)  # pyright: ignore[reportArgumentType]
        if again is None:
            return None
        sizes = self.sized()
        said = [terms.said(pair, sizes) for pair in zip(found, again, strict=True)]
        return None if None in said else said  # pyright: ignore[reportReturnType]

    def multiplied(self, own: Terms, said: list[tuple[Fraction, tuple[str, ...]]]) -> Iterator[Edit]:
        wrong = [k for k, ((sign, _), (c, sizes)) in enumerate(zip(own, said, strict=True)) if c != sign or sizes]
        if not wrong:
            return
        ratios = {(Fraction(c * sign), sizes) for (sign, _), (c, sizes) in zip(own, said, strict=True)}
        root = Place(self.node)
        if len(ratios) == 1 and len(own) > 1:  # all of it, by one number
            ((c, sizes),) = ratios
            tree = _times(self.node, c, sizes)
            if c == -1 and not sizes:
                tree = syntax.SumNode(self.node.start, self.node.end, tuple([(-s, t) for s, t in own]))
                kind = "turned" if len(own) == 2 else "sign"
                yield Edit(kind, root, tree, tree, number=c)
            else:
                yield Edit(_kind_of(c, sizes), root, tree, tree, number=c, sizes=sizes)
            return
        parts, kinds = [], []
        for (sign, term), (c, sizes) in zip(own, said, strict=True):
            c = c * sign
            if c:
                parts.append((sign if c > 0 else -sign, _times(term, abs(c), sizes)))
            if c != 1 or sizes:
                kinds.append((term, c, sizes))
        if not parts:
            tree: Node = syntax.Number(self.node.start, self.node.end, 0)
        else:
            tree = parts[0][1] if len(parts) == 1 else syntax.SumNode(self.node.start, self.node.end, tuple(parts))
            tree = negative(tree) if len(parts) == 1 and parts[0][0] < 0 else tree
        term, c, sizes = kinds[0]
        yield Edit(_kind_of(c, sizes) if len(kinds) == 1 else "several", root, tree, tree, term, None, c, sizes)

    def twofold(self, edit: Edit, value: Entries) -> Edit | None:
        """A change after which only a sign, or a number, is wrong."""
        for target in self.targets:
            factor = terms.ratio(target, value)
            number = None if factor is None else terms.small_fraction(factor)
            if number is not None and abs(number.numerator) <= 4 and number.denominator <= 4:
                tree = negative(edit.tree) if number == -1 else _times(edit.tree, number, ())
                both = replace(edit, tree=signs_in_front(tree), turned=number == -1, number=number, twofold=True)
                if edit.kind == "factor missing" and edit.extra is not None and edit.place.around is None:
                    both = replace(both, extra=_times(edit.extra, number, ()), turned=False)
                if self.holds(both):
                    return both
        return None

    # Changes at places

    def in_order(self) -> Iterator[Edit]:
        pool, summands = self.pool()
        yield from edits(self.node, self.names(), pool, self.head.names, self.tensors())
        yield from self.missing_terms(summands)
        for place in places(self.node):
            yield from terms_missing(place, summands[:MOST_SUMMANDS])

    def missing_terms(self, summands: Sequence[Node]) -> Iterator[Edit]:
        """The terms of a line above, or numbers, that are the whole difference."""
        own = self.value(self.node) if self.readable is not None else None
        if own is None:
            return
        for target in self.targets:
            rest = terms.difference(target, own)
            for term in [syntax.Number(0, 0, 1), *summands]:
                value = self.value(term)
                factor = terms.ratio(rest, value) if value else None
                number = None if factor is None else terms.small_fraction(factor)
                if number is not None:
                    extra = _times(term, abs(number), ())
                    sign = 1 if number > 0 else -1
                    terms_now = self.node.terms if isinstance(self.node, syntax.SumNode) else ((1, self.node),)
                    tree = syntax.SumNode(self.node.start, self.node.end, (*terms_now, (sign, extra)))
                    shown = extra if sign > 0 else negative(extra)
                    yield Edit("term missing", Place(self.node), tree, tree, extra=shown, number=number)

    def names(self) -> list[str]:
        """The indices that may be meant: those of the left side, of this line, and of the lines above."""
        found = dict.fromkeys(self.head.names)
        for node in [self.node, self.head.node, *[side.node for side in self.before]]:
            found.update(dict.fromkeys(index_names(node)))
        return list(found)[:10]

    def tensors(self) -> dict[str, int]:
        """The names that may be meant, with their numbers of indices."""
        trees = [self.node, self.head.node, *[side.node for side in self.before]]
        trees += [statement.body for statement in self.bench.definitions]
        found = [node for tree in trees for node in syntax.within(tree) if isinstance(node, syntax.TensorNode)]
        orders = {node.name: len(node.indices) for node in found if node.indices}
        return dict(list(orders.items())[:MOST_TENSORS])

    def sized(self) -> dict[str, list[int]]:
        """The sizes of indices at the two points, of those in the definitions too."""
        names = dict.fromkeys(self.names())
        for statement in self.bench.definitions:
            names.update(dict.fromkeys(index_names(statement.body)))
        sizes = {}
        for name in names:
            with suppress(RicciError, KeyError):
                size = self.head.builder.scope.size(name, self.node)
                sizes[name] = [point.size(size) for point in self.points]
        return sizes

    def pool(self) -> tuple[list[Node], list[Node]]:
        """Factors and terms of the lines above, and of what should stand here."""
        trees = [side.node for side in self.before[-2:]] + [self.head.node]
        written = truth(self.head)
        if written:
            trees.insert(1, said_by_names(written[-1].body, self.bench.definitions))
        used = set().union(*[names_in(tree) for tree in trees])
        trees += [s.body for s in self.bench.definitions if s.name in used][:4]
        trees += [inner for tree in trees for inner in (*distributed(tree), *inner_derivatives(tree))]
        factors: dict[str, Node] = {}
        summands: dict[str, Node] = {}
        several: dict[str, Node] = {}
        for name in self.names():
            index = syntax.Index(0, 0, ((1, name),), plain=True)
            if self.readable is None:
                _note(factors, syntax.Ones(0, 0, (index,)))
        for value in (2, 3, 4):
            _note(factors, syntax.Number(0, 0, value))
        for tree in trees:
            for node in syntax.within(tree):
                if isinstance(node, syntax.ProductNode):
                    _factors_of(node, factors, several)
                elif isinstance(node, syntax.SumNode):
                    for _, term in node.terms:
                        _note(summands, term)
                elif isinstance(node, (syntax.CallNode, syntax.Derivative)):
                    _note(factors, node)
                    if isinstance(node, syntax.CallNode) and len(node.args) == 1:
                        _note(several, node.args[0])
            _note(summands, tree.body if isinstance(tree, syntax.Neg) else tree)
        for a, b in combinations(self.names(), 2):
            pair = tuple([syntax.Index(0, 0, ((1, n),), plain=True) for n in (a, b)])
            _note(factors, syntax.Delta(0, 0, pair))
        for name in self.names():
            index = syntax.Index(0, 0, ((1, name),), plain=True)
            _note(factors, syntax.Ones(0, 0, (index,)))
            _note(factors, syntax.Size(0, 0, name))
        factors |= several
        factors.pop(render(self.head.node, SUM), None)  # the answer is no help
        summands.pop(render(self.head.node, SUM), None)
        return list(factors.values())[:MOST_POOL], list(summands.values())

    def in_numbers(self) -> Edit | None:
        """Where functions are no rational ones, two forms of one value differ in every field, and agree in numbers."""
        from ricci.user.sampling import alike

        if not any(isinstance(n, (Function, Elementwise)) for n in topological(self.head.expr)):
            return None
        self.verified = 0
        tried = [(edit, expr) for edit in self.tried[:MOST_IN_NUMBERS] if (expr := self.expr(edit.tree))]
        for at in range(0, len(tried), IN_ONE_GO):
            some = tried[at : at + IN_ONE_GO]
            try:
                found = alike(self.head.expr, [expr for _, expr in some], self.head.context.facts)
            except LimitError:
                raise
            except (RicciError, ArithmeticError, ValueError):
                continue
            for edit in [some[k][0] for k in found]:
                if self.verified <= MOST_VERIFIED and self.holds(edit):
                    return edit
        return None


def truth(head: Side) -> tuple[syntax.Statement, ...]:
    """What the left side is, in ricci's words: lines that define parts, and the right side as the last."""
    from ricci.show.express import SyntaxWriter
    from ricci.show.page import Page

    try:
        page = Page.of(head.expr)
        program = SyntaxWriter(head.expr, head.names, head.context.facts, head.heights, page).program("right")
    except LimitError:
        raise
    except RicciError:
        return ()
    return program.statements


def _note(found: dict[str, Node], node: Node) -> None:
    if not isinstance(node, syntax.Number) or node.value not in (0, 1):
        found.setdefault(render(node, SUM), node)


def _factors_of(node: syntax.ProductNode, found: dict[str, Node], several: dict[str, Node]) -> None:
    """The factors of a product, and pairs of them."""
    own = [f for e, f in node.factors if e > 0]
    for factor in [f for _, f in node.factors]:
        _note(found, factor.body if isinstance(factor, syntax.Neg) else factor)
    for a, b in combinations(own, 2) if len(own) < 6 else ():
        _note(several, syntax.ProductNode(0, 0, ((1, a), (1, b))))


def _times(node: Node, number: Fraction, sizes: Iterable[str]) -> Node:
    """A node multiplied by a number and by sizes."""
    if number < 0:
        return negative(_times(node, -number, sizes))
    if isinstance(node, syntax.Neg):
        return replace(node, body=_times(node.body, number, sizes))
    own = list(node.factors) if isinstance(node, syntax.ProductNode) else [(1, node)]
    exponents = [(-1 if name[0] == "/" else 1, syntax.Size(node.start, node.start, name.lstrip("/"))) for name in sizes]
    if own and isinstance(own[0][1], syntax.Number) and own[0][0] > 0 and isinstance(own[0][1].value, int):
        value = own[0][1].value
        own = own[1:]
        if own and own[0][0] < 0 and isinstance(own[0][1], syntax.Number) and isinstance(own[0][1].value, int):
            number, own = number * Fraction(value, own[0][1].value or 1), own[1:]
        else:
            number *= value
    front = fraction(number, node) if number != 1 or not own or own[0][0] < 0 else []
    whole = (*front, *exponents, *own)
    if len(whole) == 1:
        return whole[0][1]
    return syntax.ProductNode(
        node.start, node.end, whole if whole[0][0] > 0 else (*fraction(Fraction(1), node), *whole)
    )


def _kind_of(c: Fraction, sizes: tuple[str, ...]) -> str:
    if sizes:
        return "size"
    return {-1: "sign", 0: "term too much"}.get(c, "number")  # pyright: ignore[reportArgumentType,reportCallIssue]
