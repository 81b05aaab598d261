r"""``rc.check``: each line of a text, judged by what stands above it.

A line ``name[…] = …`` defines a name that has no meaning yet. Any other line is a claim: that its sides are equal, that
a derivative is what is written, and, where it begins with ``=``, that it is equal to the left side of its chain. A
side that is wrong is compared with the line above it too: what follows from a mistake is said to do so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ricci.checked_calls import allow, takes
from ricci.errors import NotationError
from ricci.notation import syntax
from ricci.notation.declarations import WORDS, Declarations, split_names
from ricci.notation.occurrences import names_in
from ricci.review.changes import Edit
from ricci.review.conditions import OF_A_COLUMN, OF_A_ROW, condition, counterexample
from ricci.review.culprits import CulpritSearch
from ricci.review.false_rewritings import false_rewriting
from ricci.review.false_rules import false_rule, outer_alone
from ricci.review.implied import derivatives_read, downstream, only_derived
from ricci.review.reading import ParsedLine, ParsedSide, Span, WrittenLine
from ricci.review.report import CheckReport
from ricci.review.rules import rules_of
from ricci.review.saying import Chain, Verdicts, message_of
from ricci.review.sides import AGREES, FALSE, OPEN, PROVED, Side, compared, in_place
from ricci.show import latex as latex_form
from ricci.show.derivation import Derivation
from ricci.user.entry import functions_by_name

if TYPE_CHECKING:
    from ricci.notation.syntax import Node

allow("derivation", "a text, or a derivation", lambda value: isinstance(value, (str, Derivation)))


@takes(
    "rc.check",
    text="derivation",
    sizes="sizes or None",
    latex="flag or None",
    matrix="text or None",
    metric="tensor name or None",
    symmetric="names of tensors or None",
    antisymmetric="names of tensors or None",
    positive="names of tensors or None",
    orthogonal="names of tensors or None",
    hermitian="names of tensors or None",
    unitary="names of tensors or None",
    complex="names of tensors or None",
    functions="functions or None",
)
def check(
    text: str | Derivation,
    *,
    sizes: Mapping[str, int] | None = None,
    latex: bool | None = None,
    matrix: str | None = None,
    metric: str | None = None,
    symmetric: str | Sequence[str] | None = None,
    antisymmetric: str | Sequence[str] | None = None,
    positive: str | Sequence[str] | None = None,
    orthogonal: str | Sequence[str] | None = None,
    hermitian: str | Sequence[str] | None = None,
    unitary: str | Sequence[str] | None = None,
    complex: str | Sequence[str] | None = None,
    functions: str | Iterable[str] | Mapping[str, Callable[..., Any] | None] | None = None,
) -> CheckReport:
    """Whether each line of a text follows, by which rules, and where it does not, what is wrong with it.

    >>> print(check('''
    ...     f = x[i] A[i,j] x[j]
    ...     D(f, x[k]) = A[k,j] x[j] + x[i] A[i,k]
    ...                = 2 A[k,j] x[j]
    ... '''))
    ·  1. f = x[i] A[i,j] x[j]                                               definition
    ✓  2. D(f, x[k]) = A[k,j] x[j] + x[i] A[i,k]                             product rule, delta substitution
    ✗  3.     = 2 A[k,j] x[j]
    ...
    """
    said = map(split_names, (symmetric, antisymmetric, positive, orthogonal, hermitian, unitary, complex))
    declared = Declarations(latex, metric, *said, functions=functions_by_name(functions))
    if matrix is not None:
        declared = in_matrices(declared, matrix)
    if not isinstance(text, str):
        declared, text = declared.beside(text.declared), "\n".join(step.text for step in text)
    return Checker(text, sizes or {}, declared).report()


def in_matrices(declared: Declarations, text: str) -> Declarations:
    """How a text in the matrix language is to be read, of whose names this is declared."""
    from ricci.notation.matrix_declarations import declarations

    words: dict[str, list[str]] = {word: [] for word in WORDS}
    for name, said in declarations(text).items():
        for word in said.words:
            words.get(word, []).append(name)
    return replace(declared, matrix=text, **{word: tuple(names) for word, names in words.items() if names})


class Checker(Verdicts):
    """One text being checked."""

    def __init__(self, text: str, sizes: Mapping[str, int], declared: Declarations):
        super().__init__(text, sizes, declared)
        self.defined: dict[str, int] = {}  # name → its number of indices
        self.broken: dict[str, int] = {}  # names whose definition could not be read → its line
        self.begun = False  # whether the chain has begun with a name that its line might have defined
        self.used: set[str] = set()  # all names in the lines so far
        self.pending: list[tuple[str, Span, int]] = []  # parts of recurrences: name, place, number of the verdict
        self.lines = [self.reader.parsed(line) for line in self.reader.lines if not line.says_sizes]
        self.trees = [side.node for line in self.lines for side in [line.head, *line.sides] if side and side.node]
        self.trees = [tree for tree in self.trees if tree is not None]
        tensors = [node for tree in self.trees for node in syntax.within(tree) if isinstance(node, syntax.TensorNode)]
        self.letters = latex_form.letters_of(self.trees, [])
        self.orders = {node.name: len(node.indices or ()) for node in tensors}  # the numbers of indices of all names
        for program in self.reader.programs:
            self.bench.take_in(program)

    def report(self) -> CheckReport:
        parsed = {line.written.number: line for line in self.lines}
        for written in self.reader.lines:
            if written.says_sizes:
                self.sizes(written)
            else:
                self.line(parsed[written.number])
        self.retract()
        return CheckReport(self.verdicts)

    def sizes(self, line: WrittenLine) -> None:
        try:
            self.bench.take_in(self.reader.sizes(*line.span))
        except NotationError as error:
            self.unread(line, line.span, error)

    # Lines

    def line(self, line: ParsedLine) -> None:
        sides = line.sides
        for side in [line.head, line.definition, *sides]:
            if side is not None and side.statement is not None:
                body = derivatives_read(side.statement.body, self.orders, self.defined)
                side.statement = replace(side.statement, body=body)
        if line.head is None:
            if self.chain is None:
                error = NotationError("There is nothing above that this line could go on from.", self.text,
                                      line.written.span[0], None, "Write a left side before '='.")  # fmt: skip
                self.unread(line.written, line.written.span, error)
                return
        elif self.is_new(line):
            self.define(line)
            sides = sides[1:]
        else:
            self.begin(line)
        for side in sides:
            self.judge(line.written, side)
        if not line.sides and line.head is not None:
            self.alone(line)
        for side in [line.head, *line.sides]:
            self.used |= names_in(side.node) if side is not None and side.node is not None else set()

    def alone(self, line: ParsedLine) -> None:
        """An expression without ``=``: the left side of the lines that follow."""
        assert line.head is not None and self.chain is not None
        plain = self.reader.plain[slice(*line.written.span)]
        if line.head.error is not None:
            self.unread(line.written, line.written.span, line.head.error)
        elif self.verdicts and plain[:1] in "+-":
            hint = f"To continue the line above, put {plain[0]!r} at its end."
            error = NotationError("This line claims nothing.", self.text, line.written.span[0], None, hint)
            self.unread(line.written, line.written.span, error)
        else:
            self.say(line.written, line.written.span, "definition", reason="what the next lines are equal to")

    def is_new(self, line: ParsedLine) -> bool:
        """Whether a left side is a name that has no meaning yet, so that the line gives it one."""
        node = line.head.node if line.head is not None else None
        if line.definition is None or not isinstance(node, syntax.TensorNode) or node.name in self.broken:
            return False
        if _steps(node) and (node.name not in self.defined or any(node.name == name for name, *_ in self.pending)):
            return True
        own = names_in(line.sides[0].node) if line.sides[0].node is not None else set()
        return node.name not in self.defined and node.name not in self.used and (node.name not in own or _steps(node))

    def define(self, line: ParsedLine) -> None:
        """Take in a definition."""
        read, node = line.definition, line.head.node if line.head is not None else None
        assert read is not None and isinstance(node, syntax.TensorNode)
        if _steps(node) or self.pending:
            self.define_steps(line, node)
            return
        error = read.error
        if read.statement is not None:
            troubled = self.uses_broken(read.statement.body) or self.prepare([read.statement.body])
            try:
                if troubled:
                    raise NotationError(troubled, self.text, read.statement.body.start, read.statement.body.end)
                self.bench.define([read.statement])
            except NotationError as fault:
                error = fault
        if error is not None or read.statement is None:
            self.broken[node.name] = line.written.number
            self.chain = Chain(None, f"the definition of {node.name} could not be read")
            self.unread(
                line.written, read.span, error or NotationError("This is no definition.", self.text, *read.span)
            )
            return
        self.defined[node.name] = len(node.indices or ())
        self.say(line.written, read.span, "definition", reason="definition")
        node = replace(node, indices=read.statement.indices)
        head = self.bench.head(node)
        self.chain = Chain(head, "", self.left_of(line), [self.bench.side(head, read.statement.body)])
        self.chain.row = read.statement.row

    def define_steps(self, line: ParsedLine, node: syntax.TensorNode) -> None:
        """A statement of a recurrence, or one between them: all are taken in when they make sense together."""
        assert line.definition is not None
        self.pending.append((node.name, line.definition.span, len(self.verdicts)))
        self.defined[node.name] = len(node.indices or ())
        self.say(line.written, line.definition.span, "definition", reason="definition")
        self.chain = Chain(None, "this is a part of a recurrence")
        try:
            self.bench.define(self.reader.together([span for _, span, _ in self.pending]).statements)
            self.pending = []
        except NotationError as error:
            self.incomplete = error

    def retract(self) -> None:
        """Recurrences that were never completed."""
        for _, _, at in self.pending:
            self.verdicts[at] = replace(self.verdicts[at], status="unread", reason=message_of(self.incomplete))

    def begin(self, line: ParsedLine) -> None:
        """A new chain of claims."""
        head = line.head
        assert head is not None
        if head.statement is None:
            assert head.error is not None
            self.chain = Chain(None, message_of(head.error))
            return
        unsummed = next((s.statement.unsummed for s in [*line.sides, head] if s.statement and s.statement.unsummed), ())
        node = head.statement.body
        trouble = self.uses_broken(node) or self.prepare([node])
        side = None
        try:
            if not trouble:
                side = self.bench.head(node, unsummed, head.statement.indices)
        except NotationError as error:
            trouble = message_of(error)
        self.chain = Chain(side, trouble, self.left_of(line), row=head.statement.row)
        own = set().union(*[names_in(s.node) for s in line.sides if s.node is not None])
        self.begun = isinstance(node, syntax.TensorNode) and node.name not in own
        if side is not None:
            self.chain.right.append(side)

    def prepare(self, nodes: Sequence[Node]) -> str:
        """Give a meaning to names that have one without being defined: the l of ``D(l, y[i])``. What comes back is the
        trouble with one that has none."""
        for node in nodes:
            for statement in downstream(node, self.defined, self.trees, self.bench):
                with suppress(NotationError):
                    self.bench.define([statement])
                    self.defined[statement.name or ""] = len(statement.indices or ())
        unknown = next((name for node in nodes for name in only_derived(node, self.defined, self.trees)), None)
        return f"{unknown} is not defined above, so nothing is known of its derivatives." if unknown else ""

    def left_of(self, line: ParsedLine) -> str:
        """The left side of a line, as it was typed."""
        assert line.head is not None
        return " ".join(self.reader.plain[slice(*line.head.span)].split())

    def uses_broken(self, node: Node) -> str:
        names = [name for name in self.broken if name in names_in(node)]
        return (
            f"This uses {names[0]}, whose definition in line {self.broken[names[0]]} could not be read."
            if names
            else ""
        )

    # Claims

    def judge(self, line: WrittenLine, read: ParsedSide) -> None:
        chain = self.chain
        assert chain is not None
        if read.statement is None:
            assert read.error is not None
            self.unread(line, self.shown_span(line, read), read.error)
            return
        node = read.statement.body
        trouble = self.uses_broken(node) or self.prepare([node])
        side, error = None, None
        if read.statement.indices is not None and chain.head is not None:
            node = in_place(read.statement, chain.head)
            read.statement = replace(read.statement, body=node)
        if not trouble and chain.head is not None:
            try:
                side = self.bench.side(chain.head, node)
            except NotationError as fault:
                error = fault
        if side is None and error is not None:
            self.meaningless(line, read, error)
        elif side is None:
            self.say(line, self.shown_span(line, read), "open", reason=trouble or chain.trouble)
        else:
            self.compare(line, read, side)

    def compare(self, line: WrittenLine, read: ParsedSide, side: Side) -> None:
        chain = self.chain
        assert chain is not None and chain.head is not None
        last = chain.right[-1]
        found = compared(last, side)
        status = found.status if chain.proved or found.status != PROVED else AGREES
        if status != PROVED and last is not chain.head:
            whole = compared(chain.head, side)
            if whole.status == PROVED or status in (FALSE, OPEN):
                found, last, status = whole, chain.head, whole.status
        span = self.shown_span(line, read)
        if status in (PROVED, AGREES) and self.turned(read):
            self.conditional(line, read, side.node, OF_A_ROW if chain.row else OF_A_COLUMN)
            return
        if status == PROVED:
            rules = rules_of(last, side, found, list(self.defined))
            self.say(line, span, PROVED, rules=rules, reason=_note(side))
        elif status == AGREES:
            field = " of a finite field" if found.exact else ""
            self.say(line, span, AGREES, reason=f"true at {found.points or 2} random points{field}, not proved")
        elif status == OPEN:
            self.say(line, span, OPEN, reason=f"values could not be compared: {found.trouble}")
            return
        else:
            self.wrong(line, read, side)
            return
        chain.right.append(side)
        chain.proved = status == PROVED

    def turned(self, read: ParsedSide) -> bool:
        """Whether one of two sides with equal entries is a row, and the other a column."""
        chain = self.chain
        assert chain is not None and chain.head is not None and read.statement is not None
        return self.reader.oriented and len(chain.head.names) == 1 and read.statement.row != chain.row

    def wrong(self, line: WrittenLine, read: ParsedSide, side: Side) -> None:
        """A false line: it follows from one that is wrong, or something is wrong with itself."""
        chain = self.chain
        assert chain is not None and chain.head is not None
        span = self.shown_span(line, read)
        for number, earlier in reversed(chain.wrong[-1:]):
            if compared(earlier, side).holds:
                chain.wrong.append((line.number, side))
                said = f"follows from line {number}, which is wrong"
                self.say(line, span, FALSE, reason=said, suggestion=self.as_it_should_be(line, read, None))
                return
        chain.wrong.append((line.number, side))
        late = self.late(chain.head.node)
        if late:
            self.say(line, span, OPEN, reason=late)
            return
        edit = CulpritSearch(self.bench, chain.head, side.node, chain.right, side).found()
        if edit is None or edit.kind == "several" or edit.turned or edit.twofold or _brings_a_sum(edit):
            under = false_rule(self.bench, chain.head, side) or condition(chain.head, side)
            if edit is None and under is None:
                under = outer_alone(self.bench, chain.head, side)
                under = under or false_rewriting(self.bench, chain.head, chain.right[-1:], side)
            if under is not None:
                self.conditional(line, read, side.node, under)
                return
        self.explain(line, read, edit, side.node, "" if edit is not None else counterexample(chain.head, side))

    def late(self, head: Node) -> str:
        """What is to be said of a definition that comes after a line that uses its name."""
        if not isinstance(head, syntax.TensorNode) or head.name in self.defined or not self.begun:
            return ""
        return (
            f"{head.name} stands in a line above already, where nothing says what it is. A definition comes before the "
            "lines that use it."
        )

    def meaningless(self, line: WrittenLine, read: ParsedSide, error: NotationError) -> None:
        """A side that can be read, but not as an expression with these indices: perhaps a one-tensor is missing."""
        chain = self.chain
        assert chain is not None and chain.head is not None and read.node is not None
        edit = CulpritSearch(self.bench, chain.head, read.node, chain.right, None).found()
        if edit is None:
            self.unread(line, self.shown_span(line, read), error)
        else:
            self.explain(line, read, edit, read.node, error.message)


def _brings_a_sum(edit: Edit) -> bool:
    """Whether a factor is put in that is a bracket, which a rule says better if there is one."""
    return edit.kind == "factor missing" and isinstance(edit.extra, syntax.SumNode)


def _steps(node: syntax.TensorNode) -> bool:
    """Whether a left side is one of a recurrence, ``h[0,i]`` or ``h[t+1,i]``."""
    return any(not index.plain for index in node.indices or ())


def _note(side: Side) -> str:
    return f"{', '.join(side.apart)} is summed in each factor" if side.apart else ""
