"""Verdicts in the making: what is shown of a line, what is said of it, and the line as it should be."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ricci.errors import NotationError, RicciError
from ricci.notation import syntax
from ricci.notation.declarations import Declarations
from ricci.review.changes import Edit, tidied
from ricci.review.conditions import Condition
from ricci.review.culprits import truth
from ricci.review.derived_words import derived
from ricci.review.implied import written_back
from ricci.review.mistakes import Finding, named, words, words_of_matrices
from ricci.review.reading import ParsedSide, Reader, Span, WrittenLine
from ricci.review.report import LineVerdict
from ricci.review.sides import FALSE, Side, Workbench
from ricci.show import latex as latex_form
from ricci.show import text as text_form
from ricci.show.own_words import signs_in_front

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ricci.notation.syntax import Node

MUCH = 1.3  # times the length of what the engine says, an author's words are much longer


@dataclass(slots=True)
class Chain:
    """Sides that are claimed to be equal; those that are, and those that are not, each with the number of its line."""

    head: Side | None
    trouble: str = ""
    shown: str = ""
    right: list[Side] = field(default_factory=list)
    proved: bool = True  # whether the last right one is
    row: bool = False  # whether the left side is a row, in the matrix language
    wrong: list[tuple[int, Side]] = field(default_factory=list)


class Verdicts:
    """What has been said of the lines of a text so far."""

    def __init__(self, text: str, sizes: Mapping[str, int], declared: Declarations):
        self.text = text
        self.reader = Reader(text, declared)
        self.bench = Workbench(text, sizes, declared)
        self.verdicts: list[LineVerdict] = []
        self.chain: Chain | None = None
        self.letters = latex_form.letters_of([], [])

    def explain(self, line: WrittenLine, read: ParsedSide, edit: Edit | None, node: Node, message: str) -> None:
        chain = self.chain
        assert chain is not None
        span = self.shown_span(line, read)
        suggestion = self.as_it_should_be(line, read, edit and replace(edit, tree=tidied(edit.tree, node)))
        if edit is None:
            reason = "it is not equal to the left side" + (f": {message}" if message else "")
            self.say(line, span, FALSE, reason=reason, suggestion=suggestion)
            return
        before = [side.node for side in chain.right]
        origins = [*before, *[s.body for s in self.bench.definitions]]
        mistake = named(Finding(edit, node, before, origins, not message, frozenset(self.chain_names)))
        old = edit.old
        matrices = self.reader.declared.matrix is not None
        name = mistake.name if mistake else ""
        if matrices and edit.kind == "exchanged":
            name = "missing transpose"
        said = words_of_matrices(edit, self.typed) if matrices else words(edit, self.written)
        self.say(
            line, span, FALSE, reason=f"{said}. {message}" if message else said,
            part=self.text[old.start : old.end] or self.written(old), suggestion=suggestion,
            mistake=name, advice=mistake.advice if mistake else "", at=(old.start, old.end),
        )  # fmt: skip

    @property
    def chain_names(self) -> tuple[str, ...]:
        """The indices of the left side of the chain."""
        return self.chain.head.names if self.chain is not None and self.chain.head is not None else ()

    def conditional(self, line: WrittenLine, read: ParsedSide, node: Node, under: Condition) -> None:
        """A line that is true under a condition."""
        about = [n for n in syntax.within(node) if isinstance(n, syntax.TensorNode) and n.name == under.name]
        old = about[0] if about else node
        self.say(
            line, self.shown_span(line, read), FALSE, reason=under.reason, mistake=under.mistake, advice=under.advice,
            part=self.text[old.start : old.end] or self.written(old), at=(old.start, old.end),
            suggestion=self.as_it_should_be(line, read, None),
        )  # fmt: skip

    def as_it_should_be(self, line: WrittenLine, read: ParsedSide, edit: Edit | None) -> str:
        """The line with the change, or with what the left side is."""
        chain = self.chain
        assert chain is not None and chain.head is not None
        left = chain.shown if line.sides[0] is not None and self.first_of(line, read) else ""
        if self.reader.declared.matrix is not None:
            right = self.in_matrices(chain.head.node if edit is None else edit.tree)
            if chain.row and len(chain.head.names) == 1:
                right = rf"\left({right}\right)^\top" if self.reader.latex else f"({right})ᵀ"
            same = edit is None and right.replace(" ", "") == chain.shown.replace(" ", "")
            return "" if same else f"{left} = {right}".strip()
        *parts, last = self.truth(chain.head) if edit is None else (syntax.Statement(0, 0, None, None, edit.tree),)
        known = {s.name for s in self.bench.definitions}
        before = [
            f"{self.written(syntax.TensorNode(0, 0, s.name or '', s.indices))} = {self.written(s.body)}"
            for s in parts
            if s.name not in known
        ]
        right = self.written(signs_in_front(last.body))
        if edit is None and right == self.written(signs_in_front(chain.head.node)):
            return ""  # which says nothing
        return "\n".join([*before, f"{left} = {right}".strip()])

    def truth(self, head: Side) -> tuple[syntax.Statement, ...]:
        """What the left side is, in its author's words if these are not much longer."""
        found, node = truth(head), derived(self.bench, head)
        if node is None:
            return found
        much = len(found) == 1 and len(self.written(node)) > MUCH * len(self.written(found[-1].body))
        return found if much else (syntax.Statement(0, 0, None, None, node),)

    @staticmethod
    def first_of(line: WrittenLine, read: ParsedSide) -> bool:
        return line.sides[1:2] == [read.span]

    def typed(self, node: Node) -> str:
        """A part of the text, which is said of in the words of its author where these are matrices."""
        if self.reader.declared.matrix is not None and node.start < node.end:
            return " ".join(self.text[node.start : node.end].split())
        return self.written(node)

    def in_matrices(self, tree: Node) -> str:
        """A right side in matrix notation, if it has one."""
        from ricci.show.matrix_notation import to_matrix

        assert self.chain is not None and self.chain.head is not None
        try:
            side = self.bench.side(self.chain.head, tree)
            return to_matrix(side.expr, side.context.facts, self.reader.latex)
        except RicciError:
            return self.written(signs_in_front(tree))

    @property
    def in_subscripts(self) -> bool:
        """Whether indices stand below, and none above."""
        return self.reader.subscripts and all(index.height != "up" for index in self.bench.standing)

    def written(self, node: Node) -> str:
        """A tree in the notation of the text."""
        node = written_back(node)
        if self.reader.latex:
            with self.letters.apply():
                return latex_form.render(node, latex_form.SUM)
        return text_form.render(in_subscripts(node) if self.in_subscripts else node, text_form.SUM)

    def shown_span(self, line: WrittenLine, read: ParsedSide) -> Span:
        """The part of a line that is shown with a verdict: from its left side, or from ``=``, to the side."""
        if self.first_of(line, read):
            return line.span[0], read.span[1]
        return self.reader.plain.rindex("=", 0, read.span[0] + 1), read.span[1]

    def unread(self, line: WrittenLine, span: Span, error: NotationError) -> None:
        at = (error.start, min(error.end, span[1])) if span[0] <= error.start < span[1] else None
        self.say(line, span, "unread", reason=message_of(error), at=at,
                 part="" if at is None else self.text[slice(*at)])  # fmt: skip

    def say(self, line: WrittenLine, span: Span, status: str, at: Span | None = None, **said: Any) -> None:
        """A verdict; places are those in the text of the line from here on."""
        text = self.reader.plain[slice(*span)]
        if at is not None:
            at = (at[0] - span[0], at[1] - span[0]) if span[0] <= at[0] < at[1] <= span[1] else None
        self.verdicts.append(LineVerdict(line.number, text, status, at=at, **said))


def in_subscripts(node: Node) -> Node:
    """A tree whose tensors have their indices below: ``A_{i j}``."""
    parts = [in_subscripts(part) for part in syntax.children(node)]
    node = syntax.with_children(node, parts) if parts else node
    if isinstance(node, syntax.Derivative):
        variable = in_subscripts(node.variable)
        assert isinstance(variable, syntax.TensorNode)
        return replace(node, variable=variable)
    part = {syntax.TensorNode: "indices", syntax.Delta: "indices", syntax.CallNode: "result"}.get(type(node), "")
    indices = getattr(node, part, None) if part else None
    if not indices or not all(index.plain for index in indices):
        return node
    return replace(node, **{part: tuple([replace(index, height="down") for index in indices])})


def message_of(error: RicciError) -> str:
    message = getattr(error, "message", str(error))
    hint = getattr(error, "hint", "")
    return f"{message}\n{hint}" if hint else message
