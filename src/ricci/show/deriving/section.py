"""The lines that derive one name.

The operator is put before the author's expression and taken inwards, a rule at a time; what is known of other names is
put in, deltas are substituted, and terms are collected. How much is done from one line to the next is the level of
detail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ricci.notation import syntax
from ricci.show.deriving.definition import Defined, size_of
from ricci.show.deriving.differentiation import LIGHT, Rules
from ricci.show.deriving.finishing import (
    MOST_TERMS,
    Collector,
    cancelled,
    monomials,
    with_deltas_substituted,
)
from ricci.show.deriving.making import ONE, ZERO, everywhere, is_zero, opened, plus, rebuilt, spliced, times
from ricci.show.deriving.stars import STAR
from ricci.show.deriving.typed_trees import SummedTerm, derivatives_in, hint, key, open_in, refreshed, renamed

if TYPE_CHECKING:
    from ricci.show.deriving.board import Board

LONGEST_WAY = 2  # names in one line of the chain rule
LARGE = 40  # nodes of a derivative that is not put in, but spoken of as D(h, x)


class Section:
    """The lines that derive one name."""

    def __init__(self, board: Board, d: Defined, x: syntax.TensorNode, shape: tuple, live: set[str], main: bool):
        self.board, self.d, self.x, self.main = board, d, x, main
        given = board.given
        axes = {**board.axes, **{n: tuple(e.free) for n, e in board.definitions.items()}}
        self.rules = Rules(x, shape, board.fresh, live, axes, given.declared)
        board.free_are(d.free, x)
        self.left: syntax.Node | None = syntax.Derivative(0, 0, d.tensor, x)
        self.rules_since: list[str] = []
        self.compact = False  # whether lines take several rules at once
        self.collector = Collector(board.fresh, self.spoken(), board.own)

    def spoken(self) -> list[tuple[str, syntax.Indices, syntax.Node]]:
        """The names in which a result is said: functions by themselves, quotients by themselves."""
        found = []
        for d in self.board.definitions.values():
            short = self.main and d is self.d and size_of(d.body) < 4 and getattr(d.body, "axes", None) is None
            function = isinstance(d.body, syntax.CallNode) and not short
            quotient = isinstance(d.body, SummedTerm) and any(
                e < 0 and self.rules.depends(f) for e, f in d.body.factors
            )
            if function or quotient:
                found.append((d.name, d.indices, d.body))
        return found

    def emit(self, node: syntax.Node, rule: str = "", *before: syntax.Statement) -> None:
        node = self.zeros() if is_zero(node) else node
        rules = [part for r in (*self.rules_since, rule) if r for part in r.split(", ")]
        self.rules_since = []
        rules = rules or ["constant factor"]  # a minus is one too
        self.board.line(", ".join(dict.fromkeys(rules)), node, self.left, *before)
        self.left = None

    def derive(self) -> syntax.Node:
        d = self.d
        self.independence()
        if d.name not in self.rules.live:
            self.emit(ZERO, f"{d.name} does not depend on {told(self.x.name)}" if d.name else "nothing depends on it")
            return self.zeros()
        current = self.pushed(self.begun())
        current = self.put_in(current)
        if any(derivatives_in(current)):
            return current
        current = self.finished(current)
        return self.zeros() if is_zero(current) else current

    def independence(self) -> None:
        """Of what is complex: that it and its conjugate are taken for independent."""
        name = self.x.name.removesuffix(STAR)
        if self.main and self.board.conjugates is not None and name in self.board.conjugates.names:
            self.rules_since.append(f"Wirtinger: {name} and conj({name}) are independent")

    def zeros(self) -> syntax.Node:
        """Zero, with the indices of the derivative."""
        free = {**self.d.free, **open_in(self.rules.of(ONE))}
        indices = tuple([syntax.Index(0, 0, ((1, n),), plain=True, height=h) for n, h in free.items()])
        return syntax.Zeros(0, 0, indices) if indices else ZERO

    def begun(self) -> syntax.Node:
        """The first line: the operator before the author's expression, or the chain rule by the one name in it."""
        d, rules = self.d, self.rules
        inside = self.inside(d.body)
        operator = rules.of(d.body)
        if self.board.detail == "brief" or (not self.main and self.board.detail != "full"):
            return operator
        if d.left is None and self.x.name not in inside and self.independent(inside):
            apart = not inside and self.board.conjugates is not None
            rule = f"{d.name} does not depend on {told(self.x.name)}" if apart else "chain rule"
            self.emit(plus([(1, self.chain(name)) for name in self.board.definitions if name in inside]), rule)
            self.compact = True
            return operator
        new = ", ".join([i.terms[0][1] for i in self.x.indices or ()])
        words = f", new free {'indices' if ',' in new else 'index'} {new}" if new else ""
        self.emit(operator, f"derivative operator{words}")
        chain = rules.by_entry(d.body)
        if chain is not None:
            self.emit(chain, "chain rule")
        return operator

    def independent(self, names: set[str]) -> bool:
        """Whether of these names none is made of another, so that a derivative by one does not go through another."""
        return not any(self.board.is_made_of(name, names - {name}) for name in names)

    def chain(self, name: str) -> syntax.Node:
        """``D(y, u[i]) D(u[i], x[p])``, and with one more factor where u is made of one name alone."""
        top, factors, sums = self.d.tensor, [], []
        for own in self.way(name):
            u = self.board.definitions[own]
            names = {n: self.board.fresh(n) for n in u.free}
            at = renamed(u.tensor, names)
            turned = tuple([replace(i) for i in getattr(at, "indices", None) or ()])
            factors.append((1, syntax.Derivative(0, 0, top, syntax.TensorNode(0, 0, own, turned or None))))
            top, sums = at, [*sums, *names.values()]
        return SummedTerm(0, 0, (*factors, (1, self.rules.of(top))), tuple(sums))

    def way(self, name: str) -> list[str]:
        """The names between what is derived and the variable, where there is one way, and it is short."""
        found = [name]
        while len(found) <= LONGEST_WAY:
            inside = self.inside(self.board.definitions[found[-1]].body)
            if inside == {self.x.name}:
                return found
            if len(inside) != 1:
                break
            found += inside
        return [name]

    def inside(self, body: syntax.Node) -> set[str]:
        """The names in an expression that depend on the variable."""
        return {n.name for n in syntax.within(body) if isinstance(n, syntax.TensorNode) and n.name in self.rules.live}

    # Inwards

    def pushed(self, current: syntax.Node) -> syntax.Node:
        """The operator before entries and names alone."""
        detail = self.board.detail
        while pending := self.pending(current):
            if detail == "full":
                current = self.applied(current, pending[:1])
                self.emit(self.vanished(current))
                continue
            compact = detail == "brief" or not self.main or self.compact
            light = [d for d in pending if self.is_light(d)]
            if compact:
                current = self.light(current)
                current = self.light(self.applied(current, self.pending(current)))
            elif light and len(light) == len(pending):
                current = self.light(current)
            else:
                values = {id(d): self.light(self.applied(d, [d])) for d in light}
                current = self.trimmed(self.applied(rebuilt(current, values), [d for d in pending if d not in light]))
            if compact and self.left is None and not self.pending(current) and set(self.rules_since) <= LIGHT:
                self.rules_since = []  # the other factor of the chain rule is all that was left
            elif detail != "brief":
                self.emit(current)
            current = self.vanished(current)
        return current

    def pending(self, node: syntax.Node) -> list[syntax.Derivative]:
        return [d for d in derivatives_in(node) if not self.waits(d)]

    def waits(self, d: syntax.Derivative) -> bool:
        return self.rules.is_entry(d.body) or d.variable != self.x

    def is_light(self, d: syntax.Derivative) -> bool:
        return self.rules.apply(d)[1] in LIGHT

    def applied(self, node: syntax.Node, pending: Sequence[syntax.Derivative]) -> syntax.Node:
        values = {}
        for d in pending:
            values[id(d)], rule = self.rules.apply(d)
            self.rules_since.append(rule)
        return self.said(rebuilt(node, values))

    def light(self, node: syntax.Node) -> syntax.Node:
        """Sums and constant factors opened as far as they go."""
        while light := [d for d in self.pending(node) if self.is_light(d)]:
            node = self.applied(node, light)
        return node

    def trimmed(self, node: syntax.Node) -> syntax.Node:
        """A sum of one entry and constants is left at once to the entry."""
        values = {}
        for d in self.pending(node):
            if isinstance(d.body, syntax.SumNode):
                made = self.rules.apply(d)[0]
                if isinstance(made, syntax.Derivative) and self.waits(made):
                    values[id(d)] = made
        return rebuilt(node, values) if values else node

    def said(self, node: syntax.Node) -> syntax.Node:
        """Functions that have names, by their names."""
        calls = [n for n in self.collector.names if isinstance(n[2], syntax.CallNode)]
        return Collector(self.board.fresh, calls, self.board.own).in_exact_names(node) if calls else node

    def vanished(self, node: syntax.Node) -> syntax.Node:
        """Without the terms that a sum of differences from a mean makes zero."""
        found: list[str] = []

        def change(part: syntax.Node) -> syntax.Node:
            if not isinstance(part, SummedTerm) or not part.sums:
                return part
            for name in part.sums:
                having = [f for _, f in part.factors if name in open_in(f) and not isinstance(f, syntax.Ones)]
                brackets = [f for f in having if self.is_difference(f) and not any(derivatives_in(f))]
                if len(brackets) == 0 or len(having) > 2:
                    continue
                bracket = brackets[0]
                other = next((f for f in having if f is not bracket), None)
                idle = _idle(other, name) if other is not None else None
                if (other is None or idle) and self.board.vanishes(bracket, name):
                    one = SummedTerm(0, 0, ((1, bracket),), (name,))
                    found.append(f"centring: {self.board.shown(one)} = 0")
                    if other is None:
                        return ZERO
                    left = plus([t for k, t in enumerate(other.terms) if k not in idle])  # type: ignore[union-attr]
                    factors = [(e, left if f is other else f) for e, f in part.factors]
                    return change(times(factors, part.sums)) if not is_zero(left) else ZERO
            return part

        new = everywhere(node, change)
        if new is not node and found:
            if self.board.detail != "brief":
                self.emit(new, "; ".join(dict.fromkeys(found)))
            else:
                self.rules_since.append("centring")
        return new

    def is_difference(self, node: syntax.Node) -> bool:
        """Whether this is a bracket, or the name of one."""
        known = self.board.definitions.get(node.name) if isinstance(node, syntax.TensorNode) else None
        return isinstance(node if known is None else known.body, syntax.SumNode)

    # What is known put in

    def put_in(self, current: syntax.Node) -> syntax.Node:
        detail = self.board.detail
        if detail == "brief" and self.rules_since:
            self.emit(current)
        named = [d for d in derivatives_in(current) if self.waits(d) and self.of_name(d)]
        entries = [d for d in derivatives_in(current) if self.waits(d) and not self.of_name(d)]
        values: dict[int, syntax.Node] = {}
        put: dict[str, None] = {}
        for d in named:
            assert isinstance(d.body, syntax.TensorNode)
            made = self.board.result_of(d.body, self.x)
            if size_of(made) <= LARGE and not any(derivatives_in(made)):
                values[id(d)] = made
                put[told(d.body.name)] = None
        kept = len(values) < len(named)
        if put:
            current = everywhere(spliced(current, values), cancelled)
            several = "derivatives" if len(put) > 1 else "derivative"
            self.rules_since.append(f"{several} of {', '.join(put)} put in")
            if detail == "full":
                self.emit(current)
        if entries and not kept:
            values = {}
            for d in derivatives_in(current):
                if not self.of_name(d):
                    assert isinstance(d.body, syntax.TensorNode)
                    values[id(d)] = self.rules.itself(d.body)
            current = rebuilt(current, values)
            if not self.x.indices:
                self.rules_since.append("derivative of a number by itself")
            else:
                self.rules_since.append("derivative of a tensor by itself")
                if self.rules.turning:
                    self.rules_since.append(f"symmetry of {self.x.name}")
        if self.rules_since and not kept and detail != "brief" and (self.main or detail == "full"):
            self.emit(current)
        return current

    def of_name(self, d: syntax.Derivative) -> bool:
        return isinstance(d.body, syntax.TensorNode) and d.body.name != self.x.name

    # The last lines

    def finished(self, current: syntax.Node) -> syntax.Node:
        before = current
        current, pairs = with_deltas_substituted(current, self.board.fresh)
        if current is not before:
            self.rules_since.append(self.board.substitution(pairs))
            if self.board.detail != "brief":
                self.emit(current)
        elif self.rules_since and self.board.detail != "brief":
            self.emit(current)
        current = self.vanished(current)
        current = self.collected(current)
        if self.rules_since:
            self.emit(current)
        return current

    def collected(self, current: syntax.Node) -> syntax.Node:
        """The shortest of this line, this with common factors taken out, and that said in names."""
        collector = self.collector
        board = self.board
        candidates: list[tuple[syntax.Node, str, Defined | None]] = []
        plain = collector.factored(current)
        candidates.append((plain, "collecting terms", None))
        many = monomials(current) > MOST_TERMS
        out = current if many else collector.multiplied(current)
        if not many:
            candidates.append((collector.factored(out), "collecting terms", None))
        if collector.names:
            named = collector.factored(collector.in_names(out))
            words = [n for n, _, _ in collector.names if _count(named, n) and not _count(current, n)]
            if _count(named, self.d.name) != 1:  # itself, once, says nothing
                candidates.append((named, f"by {', '.join(words)}" if words else "collecting terms", None))
        for quotient in self.quotients() if self.main else ():
            by = Collector(board.fresh, [*collector.names, (quotient.name, quotient.indices, quotient.body)], board.own)
            named = by.factored(by.in_names(out))
            if _count(named, quotient.name) > 1:
                candidates.append((named, f"by {quotient.name}", quotient))
        length = len(board.shown(current))
        best = min(candidates, key=lambda c: len(board.shown(c[0])))
        shown = board.shown(best[0])
        if len(shown) > length - 3 or key(best[0]) == key(current):
            return current
        node, rule, introduced = best
        before = []
        if introduced is not None:
            board.definitions[introduced.name] = introduced
            before.append(board.statement(introduced))
        if board.detail == "brief":
            self.rules_since.append(rule)
            if before:
                self.emit(node, "", *before)
        else:
            self.emit(node, rule, *before)
        return node

    def quotients(self) -> list[Defined]:
        """Quotients in the text of brackets by something, which a result may be said in: ``(x - m)/sqrt(v)``."""
        found = []
        for node in syntax.within(self.d.body):
            if not isinstance(node, SummedTerm) or not self.rules.depends(node):
                continue
            above = [f for e, f in node.factors if e > 0 and isinstance(f, syntax.SumNode) and self.rules.depends(f)]
            below = [(e, f) for e, f in node.factors if e < 0 and self.rules.depends(f)]
            norms = [n for _, f in below for n in syntax.within(f) if isinstance(n, syntax.CallNode)]
            named = [f for _, f in below if isinstance(f, syntax.TensorNode)]
            if len(above) != 1 or not (norms or named):
                continue
            body = refreshed(SummedTerm(0, 0, ((1, above[0]), *below)), self.board.fresh)
            free = open_in(body)
            plain = {n: hint(n) for n in free}
            if len(set(plain.values())) < len(plain):
                continue
            indices = tuple([syntax.Index(0, 0, ((1, plain[n]),), plain=True, height=h) for n, h in free.items()])
            found.append(Defined(self.unused(above[0]), indices, renamed(body, plain)))
        return found

    def unused(self, bracket: syntax.Node) -> str:
        taken = {n.name for d in self.board.definitions.values() for n in syntax.within(d.body)
                 if isinstance(n, syntax.TensorNode)} | self.board.definitions.keys()  # fmt: skip
        first = next((n.name for n in syntax.within(bracket) if isinstance(n, syntax.TensorNode)), "u")
        return next(n for n in (f"{self.x.name}_hat", f"{first}_hat", "u", "u1", "u2", "u3") if n not in taken)


def told(name: str) -> str:
    """A name in a rule: of a conjugate, as it is written."""
    return f"conj({name[:-1]})" if name.endswith(STAR) else name


def _idle(node: syntax.Node, name: str) -> set[int] | None:
    """The terms of a bracket that do not vary along an index but for ones."""
    if not isinstance(node, syntax.SumNode):
        return None
    found = set()
    for at, (_, term) in enumerate(node.terms):
        _, factors, _ = opened(term)
        if not any(name in open_in(f) for _, f in factors if not isinstance(f, syntax.Ones)):
            found.add(at)
    return found or None


def _count(node: syntax.Node, name: str) -> int:
    return sum(isinstance(n, syntax.TensorNode) and n.name == name for n in syntax.within(node))
