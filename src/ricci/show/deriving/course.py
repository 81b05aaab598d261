"""A derivation from its definition to its result, of any order, as steps; the end is checked against the engine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ricci.errors import NotationError, RuleError
from ricci.notation import syntax
from ricci.notation.heights import flipped
from ricci.notation.occurrences import free_indices, names_in
from ricci.show import text as text_form
from ricci.show.derivation import DerivationStep
from ricci.show.deriving.better_forms import stable
from ricci.show.deriving.board import Board
from ricci.show.deriving.definition import Defined, Given, Line
from ricci.show.deriving.finishing import with_deltas_substituted
from ricci.show.deriving.making import ONE, everywhere, is_zero, minus, plus, times
from ricci.show.deriving.own_brackets import as_typed
from ricci.show.deriving.stars import without_stars
from ricci.show.deriving.typed_trees import (
    SummedTerm,
    TreeReader,
    UnreadError,
    bound_within,
    derivatives_in,
    hint,
    key,
    matched,
    names_of,
    open_in,
    refreshed,
    renamed,
)

WORDS = re.compile(r"\w+'*(?:\[[^\]]*\])?|\*\*|/")  # of a line, but for signs and brackets


@dataclass
class Variation:
    """One differentiation: by what, with its new indices; how large its axes are; and the result as it is printed."""

    x: syntax.TensorNode
    shape: tuple
    printed: syntax.Statements | None = None


@dataclass
class Ways:
    """The directions of a pushforward: a variable with its indices, and the program of a direction that has these."""

    directions: list[tuple[Variation, syntax.Statements]]
    printed: syntax.Statements


def worked_out(
    given: Given,
    by: Sequence[Variation],
    typed: bool,
    detail: str,
    sums: bool,
    further: Sequence[str] = (),
    along: Ways | None = None,
) -> list[DerivationStep] | None:
    """The steps of a derivative on the author's text; None where the text has what cannot be worked on so."""
    try:
        course = DerivationCourse(given, detail, sums, typed)
        return course.pushed(along) if along is not None else course.steps(by, further)
    except (UnreadError, NotationError, RuleError):
        return None


class DerivationCourse:
    def __init__(self, given: Given, detail: str, sums: bool, typed: bool):
        self.given, self.sums, self.typed = given, sums, typed
        self.board = Board(given, detail, sums)

    def steps(self, by: Sequence[Variation], further: Sequence[str] = ()) -> list[DerivationStep]:
        board = self.board
        for name in board.definitions:
            self.in_stable_form(name)
        for name in list(board.definitions) if board.conjugates is not None else ():
            self.in_conjugates(name, name == self.given.statements[-1].name)
        d = list(board.definitions.values())[-1]
        heights = dict(d.free)
        for step in by:
            stand = flipped([i.height for i in step.x.indices or ()])
            new = [i.terms[0][1] for i in step.x.indices or ()]
            left = syntax.Derivative(0, 0, d.tensor, step.x)
            result = board.derive(d, step.x, step.shape, further)
            heights |= dict(zip(new, stand, strict=True))
            if not board.agrees(left, result, heights):
                raise UnreadError("a result that the engine does not confirm")
            result = self.as_printed(result, step.printed, heights)
            if d.name:  # which a further derivative may speak of
                board.known[d.name, step.x.name] = result, (*d.free, *new)
            indices = (*d.indices, *[replace(i, height=h) for i, h in zip(step.x.indices or (), stand, strict=True)])
            d = Defined("", indices, result, left)
        return [self.definition(), *[self.step(line) for line in board.lines]]

    def in_stable_form(self, name: str) -> None:
        board = self.board
        d = board.definitions[name]
        body, rules = stable(d.body)
        if rules:
            board.definitions[name] = replace(d, body=body)
            board.free_are(d.free)
            board.line(", ".join(rules), body, d.tensor)

    def in_conjugates(self, name: str, last: bool) -> None:
        """A definition in names of complex numbers and of their conjugates, which are then independent."""
        board = self.board
        assert board.conjugates is not None
        d = board.definitions[name]
        body, rules = board.conjugates.apart(d.body)
        if body is not d.body:
            board.definitions[name] = replace(d, body=body)
        if rules:
            board.free_are(d.free)
            board.line(", ".join(rules), body, d.tensor)
        if name in board.conjugates.names and not last:
            board.define_conjugate(name)

    def pushed(self, along: Ways) -> list[DerivationStep]:
        """The derivative by each variable, and then all of them along their directions."""
        board = self.board
        d = list(board.definitions.values())[-1]
        left: list[tuple[int, syntax.Node]] = []
        right: list[tuple[int, syntax.Node]] = []
        heights = dict(d.free)
        for step, program in along.directions:
            (dot,) = program.statements
            fresh = {n: board.fresh(n) for i in step.x.indices or () for n in names_of(i)}
            x = renamed(step.x, fresh)
            assert isinstance(x, syntax.TensorNode)
            asked = self.new_names(step.x, d)
            result = board.derive(d, asked, step.shape)
            if not board.agrees(syntax.Derivative(0, 0, d.tensor, asked), result, self.with_indices(d, asked)):
                raise UnreadError("a result that the engine does not confirm")
            named = {n: n for n in free_names(dot.body) if n not in fresh}
            body = TreeReader(board.fresh, self.given.heights).read(dot.body, {**named, **fresh})
            heights |= {n: h for n, h in open_in(body).items() if n in named}
            back = dict(zip([n for i in asked.indices or () for n in names_of(i)], fresh.values(), strict=True))
            sums = tuple(fresh.values())
            left.append((1, SummedTerm(0, 0, ((1, syntax.Derivative(0, 0, d.tensor, x)), (1, body)), sums)))
            right.append((1, times([(1, renamed(refreshed(result, board.fresh), back)), (1, body)], sums)))
        board.free_are(heights)
        shown = board.written(plus(left))
        put = plus(right)
        several = "derivatives" if len(left) > 1 else "derivative"
        board.lines.append(Line(f"{several} put in", shown, board.written(put)))
        done, pairs = with_deltas_substituted(put, board.fresh)
        if done is not put:
            board.line(board.substitution(pairs), done)
        if not board.agrees(plus(left), done, heights):
            raise UnreadError("a result that the engine does not confirm")
        self.as_printed(done, along.printed, heights)
        return [self.definition(), *[self.step(line) for line in board.lines]]

    def new_names(self, x: syntax.TensorNode, d: Defined) -> syntax.TensorNode:
        """A variable with new indices: p, q, … where its own are not new."""
        taken = {n for e in self.board.definitions.values() for n in (*e.free, *map(hint, bound_within(e.body)))}
        letters = [n for n in "pqrstuvwabcdefgh" if n not in taken] + [f"p{k}" for k in range(1, 9)]
        names = dict(zip([n for i in x.indices or () for n in names_of(i)], letters, strict=False))
        made = renamed(x, names)
        assert isinstance(made, syntax.TensorNode)
        return made

    def with_indices(self, d: Defined, x: syntax.TensorNode) -> dict[str, str]:
        stand = flipped([i.height for i in x.indices or ()])
        return {**d.free, **dict(zip([n for i in x.indices or () for n in names_of(i)], stand, strict=True))}

    def definition(self) -> DerivationStep:
        statements = self.given.statements
        if self.sums:
            statements = tuple([self.board.statement(self.board.definitions[s.name or ""]) for s in statements])
        last = statements[-1]
        left = syntax.TensorNode(0, 0, last.name or "", last.indices)
        program = syntax.Statements("", statements, sizes=self.given.shown)
        return DerivationStep("definition", left, program, self.typed and not self.sums)

    def step(self, line: Line) -> DerivationStep:
        last = syntax.Statement(0, 0, None, None, without_stars(line.right))
        return DerivationStep(
            line.rule,
            None if line.left is None else without_stars(line.left),
            syntax.Statements("", (*line.before, last)),
        )

    def as_printed(
        self, result: syntax.Node, printed: syntax.Statements | None, heights: dict[str, str]
    ) -> syntax.Node:
        """The last line: as the result prints, where that is another form, and in the names that are known here."""
        board = self.board
        if printed is None:
            return result
        *before, last = printed.statements
        if any(derivatives_in(result)):
            board.lines.append(
                Line("all lines together", None, self.in_this_form(last.body, heights), self.new(before, last.body))
            )
            return result
        known = {text_form.statement(s) for s in self.given.statements}
        if any(text_form.statement(s) not in known for s in before):
            return result
        tree = TreeReader(board.fresh, self.given.heights).read(last.body, {name: name for name in heights})
        tree = tree if board.conjugates is None else board.conjugates.plainly(tree)
        tree = as_typed(everywhere(tree, self.by_name), board.own)
        if key(tree, None, True) == key(result, None, True) or is_zero(result):
            return result
        used = [name for name, word in self.given.declared.symmetries() if word != "orthogonal"]
        told = [
            f"symmetry of {name}" for name in used if any(getattr(n, "name", "") == name for n in syntax.within(result))
        ]
        lost = (names_in(result) - names_in(tree)) & board.definitions.keys()
        one, other = board.shown(result), board.shown(tree)
        moved = not told and sorted(WORDS.findall(one)) == sorted(WORDS.findall(other))  # and no more than that
        bracket = isinstance(result, syntax.Neg) and isinstance(result.body, syntax.SumNode)  # which is opened
        if lost or (moved and not bracket) or len(other) > len(one) or not board.agrees(tree, result, heights):
            return result
        board.line(", ".join(["collected", *told]), tree)
        return tree

    def by_name(self, node: syntax.Node) -> syntax.Node:
        """A function that is defined by its name; ``sigmoid(-u)`` as ``1 - p``, where ``p`` is ``sigmoid(u)``."""
        if not isinstance(node, syntax.CallNode):
            return node
        other = replace(node, args=(minus(node.args[0]),)) if node.name == "sigmoid" else None
        for d in self.board.definitions.values():
            for call in (node, other) if isinstance(d.body, syntax.CallNode) else ():
                found = None if call is None else matched(d.body, call, {}, frozenset(d.free))
                if found is not None and len(found) == len(d.free):
                    at = tuple([replace(i, terms=((1, found[i.terms[0][1]]),)) for i in d.indices])
                    name = syntax.TensorNode(0, 0, d.name, at or None)
                    return name if call is node else plus([(1, ONE), (-1, name)])
        return node

    def in_this_form(self, body: syntax.Node, heights: dict[str, str]) -> syntax.Node:
        """A tree of the engine's, with signs for its sums where they are asked for."""
        if not self.sums:
            return body
        return self.board.written(
            TreeReader(self.board.fresh, self.given.heights).read(body, {name: name for name in heights})
        )

    def new(self, statements: Sequence[syntax.Statement], body: syntax.Node) -> tuple[syntax.Statement, ...]:
        """The statements that are not on the board, as far as an expression speaks of what they define."""
        found: list[syntax.Statement] = []
        wanted = names_in(body)
        for statement in reversed(statements):
            if statement.name in wanted and statement.name not in self.board.definitions:
                found.insert(0, statement)
                wanted = wanted | names_in(statement.body)
        return tuple(found)


def free_names(body: syntax.Node) -> tuple[str, ...]:
    found = free_indices(body)
    if found is None:
        raise UnreadError("a direction whose indices are not told")
    return found
