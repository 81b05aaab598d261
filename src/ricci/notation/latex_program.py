r"""LaTeX to the tree of a text, statement by statement.

Everything after this is as for the plain notation, since the tree is: the places of its nodes are those in the LaTeX.
"""

from __future__ import annotations

from ricci.errors import NotationError
from ricci.notation import syntax
from ricci.notation.heights import flipped
from ricci.notation.latex_indices import LatexCursor
from ricci.notation.latex_letters import letter
from ricci.notation.latex_parser import LatexParser
from ricci.notation.latex_tokens import CLOSERS, PARTNERS
from ricci.notation.latex_words import ACCENT_COMMANDS, EQUALS, FONTS
from ricci.notation.parser import SYMBOLS, check_left_side
from ricci.notation.recurrences import recurrences
from ricci.notation.syntax import Index, Indices, Node, Statement, Statements, TensorNode
from ricci.notation.tokens import RESERVED

SIZES = r"Write \text{sizes: } x_{ij}, |k| = 3, with tensors and their indices, or the size of an index."
CHAIN = "A chain of equalities is for rc.check; here each statement has one left side and one right side."
LISTED = frozenset(("{", "}", "_", "^", ",", "|", r"\|", r"\mid", "1", "2", "0"))  # in f(x, y) on the left
NAMED = FONTS | ACCENT_COMMANDS.keys()
NO_SUM = r"Write y_i z_i = a_i b_i \quad \text{(no sum $i$)}."


def parse_latex(
    text: str,
    functions: frozenset[str],
    unknown: frozenset[str] = frozenset(),
    indices: frozenset[str] = frozenset(),
    complex_names: frozenset[str] = frozenset(),
) -> Statements:
    r"""The tree of a program in LaTeX; ``functions`` are the names that may stand before a bracket.

    Those that are ``unknown`` may have primes there, or the places of arguments: ``f'(x)``, ``f_{12}(x, z)``.
    ``indices`` are letters that are known to be indices, from a text of which this is a part, and ``complex_names`` are
    names of complex numbers, over which bars are conjugates.

    >>> parse_latex(r"y_i = \frac{1}{2} x_i", frozenset()).statements[0].name
    'y'
    """
    program = LatexProgram(text, functions, unknown)
    program.letters.indices |= indices
    program.complex_names = complex_names
    return program.program()


def indices_of(text: str) -> tuple[str, ...]:
    r"""The letters of a LaTeX text that are indices.

    >>> indices_of(r"y_i &= \frac{x_{ij}}{|j|}")
    ('i', 'j')
    """
    return tuple(sorted(LatexCursor(text, frozenset()).letters.indices))


def chain_parts(text: str) -> list[list[tuple[int, int]]]:
    r"""For each statement of a LaTeX text where its sides are, between the signs of equality, as places of the text.

    A line that begins with a sign goes on with the statement before it.

    >>> text = r"a &= b + c \\ &= d \\ e &= f"
    >>> [[text[start:end] for start, end in sides] for sides in chain_parts(text)]
    [['a', 'b + c', 'd'], ['e', 'f']]
    """
    cursor = LatexCursor(text, frozenset())
    found: list[list[tuple[int, int]]] = []
    depth, begin = 0, 0
    for at, token in enumerate(cursor.tokens):
        if not depth and (token in EQUALS or token == ";"):
            if begin < at:
                side = (cursor.starts[begin], cursor.ends[at - 1])
                goes_on = begin > 0 and cursor.tokens[begin - 1] in EQUALS and bool(found)
                found = [*found[:-1], [*found[-1], side]] if goes_on else [*found, [side]]
            begin = at + 1
        depth += (token in PARTNERS) - (token in CLOSERS)
    return found


class LatexProgram(LatexParser):
    """One text being parsed."""

    def __init__(self, text: str, functions: frozenset[str], unknown: frozenset[str] = frozenset()):
        super().__init__(text, functions, unknown)
        self.turned: list[Index] = []  # those of derivatives on left sides

    def program(self) -> Statements:
        statements: list[Statement] = []
        tensors: list[TensorNode] = []
        equations: list[tuple[syntax.Size, Node]] = self.bounds.equations()
        while self.token:
            if self.take(";"):
                continue
            if self.token == r"\sizes":
                self.size_line(tensors, equations)
                continue
            statements.append(self.statement())
        if not statements:
            raise NotationError("The text has no statement.", self.text, 0, 1, r"Write one, such as y_i = X_{ij} w_j.")
        self.bounds.check_entries(self.found)
        if not any(index.height == "up" for index in self.found) and not self.letters.explicit:
            for index in (*self.found, *self.turned):
                index.height = ""
        standing = tuple([index for index in self.found if index.height])
        line = syntax.SizeLine(tuple(tensors), tuple(equations), (*self.bounds.linked(), *self.of_one_size))
        program = Statements(self.text, tuple(statements), standing, line, latex=True)
        recurrences(program)  # which says what is wrong with left sides
        return program

    # Statements.

    def statement(self) -> Statement:
        first = self.at
        if self.token in EQUALS:
            self.fail("A line that begins with '=' goes on with the one before.", first, first, CHAIN)
        self.bound = []
        unsummed = self.not_summed()
        side = self.call_on_the_left() or self.relation()
        left = name = indices = derived = None
        if self.token in EQUALS:
            name, indices, left = self.left_side(side, first, unsummed)
            derived = side if name is not None and isinstance(side, syntax.Derivative) else None
            self.bound = [n for n, places in self.count.of(side).items() if len(places) == 1]
            self.at += 1
            side = self.relation()
        if self.token in EQUALS:
            self.fail("A statement has only one '='.", self.at, self.at, CHAIN)
        end = self.ends[self.at - 1]
        if self.token == r"\nosum":
            while self.token != r"\endnosum":
                self.at += 1
            self.at += 1
        if self.token not in (";", ""):
            raise self.unexpected()
        self.check_sums_over_both([side] if left is None else [left, side], left is not None or name is not None)
        return Statement(self.starts[first], end, name, indices, side, left, unsummed, derived)

    def left_side(self, node: Node, first: int, unsummed: Indices) -> tuple[str | None, Indices | None, Node | None]:
        """What a statement defines, and its indices; or the expression that stands on the left."""
        if isinstance(node, syntax.Derivative) and not unsummed:
            found = derivative_on_the_left(node)
            if found:
                self.turned += found[1]
                return found[0], found[1] or None, None
        terms = [term.start for _, term in node.terms] if isinstance(node, syntax.SumNode) else [node.start]
        if isinstance(node, SYMBOLS) and len(set(terms)) == 1:  # of a generalised delta all terms have one place
            self.fail("The left side of '=' is not a name.", first, self.at - 1, "Write a name before '='.")
        if not isinstance(node, TensorNode) or node.name in self.bounds.names:
            return None, None, node
        if unsummed and len({index.terms for index in node.indices or ()}) < len(node.indices or ()):
            return None, None, node
        if node.name in RESERVED or node.name in self.functions:
            hint = rf"Choose another name, such as {node.name}_{{\mathrm{{1}}}}."
            self.fail(f"The name {node.name!r} is reserved.", first, self.at - 1, hint)
        check_left_side(self.text, node)
        return node.name, node.indices, None

    def call_on_the_left(self) -> Node | None:
        """``f(x) = …`` and ``f_i(x) = …``, which say what ``f`` depends on; it is called later with the same."""
        first = self.at
        digits = self.tokens[first + 1] in ("0", "1") or self.tokens[first + 2] in ("0", "1")
        if not self.begins_name() or self.token in self.functions or (self.token in FONTS and digits):
            return None
        name = self.base() if letter(self.token) or self.token[:1] == "\\" else ""
        opening = self.after_scripts(self.at)
        close = self.partner(opening) if name and self.tokens[opening] == "(" else first
        inside, last = self.tokens[opening + 1 : close], self.after_scripts(close + 1)
        plain = all(letter(t) or t.startswith("\\mathrm ") or t in LISTED or t in NAMED for t in inside)
        if self.tokens[last] not in EQUALS or not plain or not any(map(letter, inside)):
            self.at = first
            return None
        below = self.tokens[self.at : opening]
        word = self.parameter(below, inside)
        if word:
            name, self.at = f"{name}_{word}", opening
        found = self.scripts(name, first)
        if found.power is not None or found.turned or found.inverse:
            self.at = first
            return None
        self.at = close + 1
        more = self.scripts(name, first).indices if last > self.at else []
        name = f"{name}_{found.suffix}" if found.suffix else name
        self.calls[name] = inside
        self.letters.called[name] = 0
        self.found += [*found.indices, *more]
        return TensorNode(self.starts[first], self.ends[self.at - 1], name, (*found.indices, *more) or None)

    def after_scripts(self, at: int) -> int:
        """Where what stands below and above a name ends, if something does from a token on."""
        here, self.at = self.at, at
        while self.token in ("_", "^"):
            self.at += 1
            self.argument("_")
        at, self.at = self.at, here
        return at

    def parameter(self, below: list[str], inside: list[str]) -> str:
        r"""``\theta`` of ``f_\theta(x)``, where a function depends on that too: a letter of a name elsewhere."""
        if "^" in below:
            return ""
        if below and below[-1 - (below[-1] == "}")].isdigit() and not any(map(letter, below)):
            return "".join(t for t in below if t.isdigit())
        letters = [letter(t) for t in below if letter(t)]
        known = self.letters
        names = len(letters) == 1 and (letters[0] in known.orders or known.bare[letters[0]] > 0)
        if not names or any(letter(t) == letters[0] for t in inside):
            return ""
        known.indices.discard(letters[0])
        return letters[0]

    def not_summed(self) -> Indices:
        """The indices of ``\\text{(no sum $i$)}`` at the end of this statement."""
        at = self.at
        while self.tokens[at] not in (";", "", r"\nosum"):
            at += 1
        if self.tokens[at] != r"\nosum":
            return ()
        last = self.tokens.index(r"\endnosum", at)
        if self.tokens[last + 1] not in (";", ""):
            self.fail("What is not summed is said at the end of a statement.", at, last, NO_SUM)
        if at + 1 >= last:
            self.fail("This names the indices that are not summed.", at, last, NO_SUM)
        return self.axes(at + 1, last, r"\text")

    def size_line(self, tensors: list[TensorNode], equations: list[tuple[syntax.Size, Node]]) -> None:
        self.in_sizes = True
        while True:
            self.at += 1
            first = self.at
            node = self.sum()
            if isinstance(node, syntax.Size):
                equations.append((node, self.sum() if self.take("=") else node))
            elif isinstance(node, TensorNode) and node.indices:
                tensors.append(node)
            else:
                self.fail("A line of sizes has another form.", first, self.at - 1, SIZES)
            if self.token != ",":
                break
        self.in_sizes = False
        if self.token not in (";", ""):
            self.fail("A line of sizes has another form.", self.at, self.at, SIZES)


def derivative_on_the_left(node: syntax.Derivative) -> tuple[str, Indices] | None:
    r"""What ``\frac{\partial l}{\partial w_k}`` defines as a left side: a name, and its indices.

    None where it is no name for a derivative, but an expression: with an index twice, or of more than a name.
    """
    variables: list[tuple[TensorNode, bool]] = []
    body: Node = node
    while isinstance(body, syntax.Derivative):
        variables.insert(0, (body.variable, body.conjugate))
        body = body.body
    if not isinstance(body, TensorNode):
        return None
    name, indices = body.name, list(body.indices or ())
    for variable, conjugate in variables:
        name = f"d{name}_d{'conj_' * conjugate}{variable.name}"
        own = variable.indices or ()
        for index, height in zip(own, flipped([index.height for index in own]), strict=True):
            indices.append(Index(index.start, index.end, index.terms, plain=index.plain, height=height))
    if not all(index.plain for index in indices) or len({index.terms for index in indices}) < len(indices):
        return None
    return name, tuple(indices)
