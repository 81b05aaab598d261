r"""A text in lines, and a line in sides: ``D(l, w[k]) = … = …``, where a line that begins with ``=`` goes on.

Only the places are found here, by brackets, signs and breaks of lines, so that a fault in one line leaves the others
readable. What stands at a place is then read by the reader of its notation, in a text that is blank everywhere else:
places stay those of the whole text, and carets stand where the author has made the fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise

from ricci.errors import NotationError
from ricci.notation import matrix_tokens, syntax
from ricci.notation.declarations import Declarations
from ricci.notation.latex_program import indices_of
from ricci.notation.resolve import read_program
from ricci.show.own_words import signs_in_front

Span = tuple[int, int]
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_GOES_ON = tuple("+-*/,=<>^")  # a line that ends so is not at its end
_ALIGNMENT = re.compile(
    r"\\(?:begin|end)\{(?:aligned|align|alignat|gathered|gather|split|equation|eqnarray)\*?\}|&&\s*\\text\{[^{}]*\}|&"
)

_SIZES = re.compile(r"sizes[ \t]*:|\\text\{sizes:")
_BELOW = re.compile(r"\w_\{")
_COMMENT = re.compile(r"#[^\n]*")


@dataclass(slots=True)
class WrittenLine:
    """One line: its number, where it stands, and its sides; the first is None where the line begins with ``=``."""

    number: int
    span: Span
    sides: list[Span | None]
    says_sizes: bool = False


def is_latex(text: str, declared: Declarations) -> bool:
    if declared.latex is None:
        return "\\" in text if declared.matrix is None else matrix_tokens.is_latex(text)
    return declared.latex


def lines_of(text: str, latex: bool) -> Iterator[WrittenLine]:
    """The lines of a text that say something, by number.

    >>> [len(line.sides) for line in lines_of("y = x\\n  = 1 x = x**1", False)]
    [2, 3]
    """
    found = list(_spans(text, latex))
    for number, (start, end) in enumerate(found, 1):
        signs = _signs(text, start, end)
        bounds = [start - 1, *signs, end]
        sides: list[Span | None] = [_trimmed(text, a + 1, b) for a, b in pairwise(bounds)]
        if signs and sides[0] is not None and sides[0][0] == sides[0][1]:
            sides[0] = None
        yield WrittenLine(number, (start, end), sides, _SIZES.match(text, start) is not None)


def unmarked(text: str, latex: bool) -> str:
    """The text without comments, or without the marks of aligned environments and the words beside their lines."""
    return (_ALIGNMENT if latex else _COMMENT).sub(lambda mark: " " * len(mark[0]), text)


def _spans(text: str, latex: bool) -> Iterator[Span]:
    """Where lines stand, without blanks around them."""
    breaks = latex and "\\\\" in text
    start = at = depth = 0
    resume = 0  # the first break of a line inside brackets, from where to go on if these are never closed
    while at <= len(text):
        sign = text[at : at + 1] or "\n"
        if latex and text.startswith("\\\\", at):
            yield from _stripped(text, start, at)
            at = start = at + 2
            depth = resume = 0
            continue
        if latex and sign == "\\":
            at += 2
            continue
        depth += (sign in _OPEN) - (sign in _CLOSE)
        if sign == "\n" and depth > 0 and not resume:
            resume = at
        if at >= len(text) and depth > 0 and resume < len(text):  # never closed: the line ends where it breaks
            at, depth = resume, -1
        elif at < len(text) and (depth > 0 or (sign != ";" and (sign != "\n" or breaks or _open(text, start, at)))):
            resume = resume if depth > 0 else 0
            at += 1
            continue
        yield from _stripped(text, start, min(at, len(text)))
        start, depth, resume = at + 1, 0, 0
        at += 1


def _open(text: str, start: int, end: int) -> bool:
    """Whether a line goes on after this break: it has ended with an operator."""
    return text[start:end].rstrip()[-1:] in _GOES_ON


def _stripped(text: str, start: int, end: int) -> Iterator[Span]:
    start, end = _trimmed(text, start, end)
    if start < end:
        yield start, end


def _trimmed(text: str, start: int, end: int) -> Span:
    inside = text[start:end]
    return start + len(inside) - len(inside.lstrip()), max(start, end - len(inside) + len(inside.rstrip()))


def _signs(text: str, start: int, end: int) -> list[int]:
    """The equals signs outside of brackets."""
    depth, found = 0, []
    for at in range(start, end):
        sign = text[at]
        depth += (sign in _OPEN) - (sign in _CLOSE)
        alone = text[at - 1 : at] not in ("<", ">", "=", "!", "\\") and text[at + 1 : at + 2] != "="
        if sign == "=" and depth <= 0 and (alone or at == start):
            found.append(at)
    return found


@dataclass(slots=True)
class ParsedSide:
    """A side as it was read, or why it was not."""

    span: Span
    statement: syntax.Statement | None = None
    error: NotationError | None = None

    @property
    def node(self) -> syntax.Node | None:
        return None if self.statement is None else self.statement.body


@dataclass(slots=True)
class ParsedLine:
    written: WrittenLine
    head: ParsedSide | None
    sides: list[ParsedSide]
    definition: ParsedSide | None = None  # the left side and the first right one together


class Reader:
    """Reads what stands at places of one text."""

    def __init__(self, text: str, declared: Declarations):
        self.latex = is_latex(text, declared)
        self.declared = replace(declared, latex=self.latex)
        self.text = text
        self.plain = unmarked(text, self.latex)
        self.lines = list(lines_of(self.plain, self.latex))
        if self.latex and self.declared.matrix is None:  # ``|d|`` is a size in all lines if ``d`` is an index in one
            with suppress(NotationError):
                self.declared = replace(self.declared, indices=indices_of(self.plain))
        self.subscripts = not self.latex and declared.matrix is None and _BELOW.search(text) is not None
        python = re.search(r"@|\bnp\.", text)  # where a column is an array with one axis
        self.oriented = declared.matrix is not None and python is None
        self.unreadable: set[Span] = set()  # left sides of definitions that cannot be read
        self.programs: list[syntax.Statements] = []  # all that was read

    def read(self, start: int, end: int) -> syntax.Statements:
        """The tree of what stands at a place."""
        blank = " " * start if self.declared.matrix is None else self.definitions_before(start)
        try:
            return read_program(blank + self.plain[start:end], self.declared)
        except NotationError as error:
            error.text = self.text
            raise

    def definitions_before(self, start: int) -> str:
        """The text up to a place, blank but for definitions: in the matrix language they say what is a scalar, a column
        or a matrix."""
        shown = [" " if sign != "\n" else sign for sign in self.plain[:start]]
        seen: set[str] = set()
        for line in self.lines:
            first, *rest = line.sides
            name = "" if first is None else self.plain[slice(*first)]
            if first is None or not rest or rest[0] is None or not name.isidentifier() or name in seen:
                continue
            end = rest[0][1]
            if end < start and first not in self.unreadable:
                seen.add(name)
                shown[first[0] : end] = self.plain[first[0] : end]
        if start and "".join(shown).rpartition("\n")[2].strip():
            shown[-1] = ";"
        return "".join(shown)

    def sizes(self, start: int, end: int) -> syntax.Statements:
        """The tree of a line of sizes, which needs a statement beside it."""
        return read_program(" " * start + self.plain[start:end] + (r" \\ 0" if self.latex else "; 0"), self.declared)

    def together(self, spans: Sequence[Span]) -> syntax.Statements:
        """The tree of several definitions that make sense together alone, those of recurrences."""
        text = ""
        for start, end in spans:
            text += " " * (start - len(text))
            text = (f"{text[:-1]};" if text.strip() else text) + self.plain[start:end]
        return read_program(text, self.declared)

    def statement(self, start: int, end: int) -> tuple[syntax.Statement, syntax.Statements]:
        """The one statement at a place, with signs in front of products."""
        program = self.read(start, end)
        *before, statement = program.statements
        more = [] if self.declared.matrix is not None else before
        if more:
            raise NotationError("This is more than one statement.", self.text, more[0].start, more[0].end,
                                "Write each on a line of its own.")  # fmt: skip
        return replace(statement, body=signs_in_front(statement.body)), program

    def parsed(self, line: WrittenLine) -> ParsedLine:
        """The sides of a line, and the definition that it may be."""
        first, *rest = line.sides
        head = None if first is None else self.side(first)
        sides = [self.side(span) for span in rest if span is not None]
        definition = None
        if head is not None and sides and first is not None and isinstance(head.node, syntax.TensorNode):
            definition = self.side((first[0], sides[0].span[1]))
            if definition.error is not None:
                self.unreadable.add(first)
        return ParsedLine(line, head, sides, definition)

    def side(self, span: Span) -> ParsedSide:
        try:
            if span[0] >= span[1]:
                raise NotationError("There is nothing after '='.", self.text, max(0, span[0] - 1), span[0],
                                    "Write what it is equal to.")  # fmt: skip
            statement, program = self.statement(*span)
            self.programs.append(program)
            return ParsedSide(span, statement)
        except NotationError as error:
            return ParsedSide(span, None, error)
