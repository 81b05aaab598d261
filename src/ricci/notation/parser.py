"""Tokens to a tree: an operator-precedence parser with a stack of its own.

It goes back and forth between two places: where an operand is due (``operand``) and where an operator may follow
(``attach``). What is open at either is kept in frames, one for the statement and one for each round bracket: the
terms of its sum, the factors of its product, and the minus signs and bases of powers that wait for their operand.
So a bracket costs a frame on a list and not five calls on Python's stack, and no text, however deep, ends in a
RecursionError; and long sums and products stay flat lists, read in linear time.

    sum of products       frame.terms, frame.factors      left to right
    -x, x ** y            frame.pending                   from the right, so -x**2 is -(x**2)
    x < y                 frame.left, frame.op            at most one in a frame
"""

from __future__ import annotations

from typing import NoReturn

from ricci.errors import NotationError, nearest
from ricci.functions.table import IN_TEXT
from ricci.functions.unknown import read_mark, unmarked
from ricci.notation import syntax
from ricci.notation.recurrences import recurrences
from ricci.notation.symbols import LARGEST_DELTA, generalised_delta
from ricci.notation.syntax import Bracket, Indices, Node, Statement, Statements, TensorNode
from ricci.notation.tokens import (
    BINARY,
    COMPARISONS,
    DIGITS,
    INVERSE,
    LEADS,
    NESTING_LIMIT,
    RESERVED,
    IndexReader,
    in_other_words,
    too_deep,
)

BUILT_IN = frozenset(IN_TEXT)
SYMBOLS = (
    syntax.Number,
    syntax.Pi,
    syntax.Imaginary,
    syntax.Size,
    syntax.Ones,
    syntax.Zeros,
    syntax.Delta,
    syntax.SumNode,
)  # nobody defines them


def parse_program(text: str, functions: frozenset[str], unknown: frozenset[str] = frozenset()) -> Statements:
    """The tree of a program; ``functions`` are the names that may stand directly before a bracket.

    Those that are ``unknown`` may have primes there, or the places of arguments: ``f'(x)``, ``f_12(x, z)``.

    >>> parse_program("y = 2 x", frozenset()).statements[0].name
    'y'
    """
    return Parser(text, functions, unknown).program()


def check_left_side(text: str, node: TensorNode) -> None:
    """The indices on a left side are names, each once."""
    seen = set()
    for index in node.indices or ():
        if index.tensor is not None or len(index.terms) > 1:
            message = "The indices on the left side are plain names."
            hint = "Give each axis a name here, and select or shift on the right side."
            raise NotationError(message, text, index.start, index.end, hint)
        label = index.terms[0][1] if index.terms else ""
        if label in seen:
            message = f"The index {label!r} stands twice on the left side."
            hint = f"Write {label},{label}' there, and multiply the right side by delta[{label},{label}']."
            raise NotationError(message, text, index.start, index.end, hint)
        if label:
            seen.add(label)


def parameters(name: str, args: list[Node]) -> tuple:
    """``pinv(A, 1e-6)``: the ratio from which on singular values count; ``eigh_vectors(A, upper)``."""
    last = args[-1] if len(args) == 2 else None
    if name == "pinv" and isinstance(last, syntax.Number):
        return (last.value,)
    upper = isinstance(last, TensorNode) and last.name == "upper" and last.indices is None
    return ("U",) if name in ("eigh_vectors", "eigvalsh") and upper else ()


class Parser(IndexReader):
    """One text being parsed."""

    __slots__ = ("begin", "depth", "done", "first", "frame", "left", "listed", "named", "own", "unknown", "unsummed")

    def __init__(self, text: str, functions: frozenset[str], unknown: frozenset[str] = frozenset()):
        super().__init__(text, functions)
        self.unknown = unknown
        self.own = functions - BUILT_IN if len(functions) > len(BUILT_IN) else frozenset()

    # Statements

    def program(self) -> Statements:
        tokens = self.tokens
        self.unsummed = self.notes()
        statements = []
        tensors: list[TensorNode] = []
        equations: list[tuple[syntax.Size, Node]] = []
        while True:
            while tokens[self.at] == ";":
                self.at += 1
            if not tokens[self.at]:
                break
            if tokens[self.at][-1] == ":":
                self.size_line(tensors, equations)
            else:
                statements.append(self.statement())
        if not statements:
            raise NotationError("The text has no statement.", self.text, 0, 1, "Write one, such as y[i] = x[i,j] w[j].")
        line = syntax.SizeLine(tuple(tensors), tuple(equations))
        program = Statements(self.text, tuple(statements), tuple(self.standing), line)
        recurrences(program)  # which says what is wrong with left sides
        return program

    def size_line(self, tensors: list[TensorNode], equations: list[tuple[syntax.Size, Node]]) -> None:
        """The rest of ``sizes: x[n,k], |i| = |n| - 1``."""
        while True:
            self.at += 1
            self.begin_statement()
            node = self.operand()
            follow = self.tokens[self.at]
            if isinstance(node, syntax.Size) and follow == "=":
                self.at += 1
                self.frame.renew(self.starts[self.at], None, "")
                self.listed = True
                equations.append((node, self.expression(None)))
                self.listed = False
            elif isinstance(node, syntax.Size) and follow in (",", ";"):
                equations.append((node, node))
            elif isinstance(node, TensorNode) and node.indices and follow in (",", ";"):
                tensors.append(node)
            else:
                hint = "Write sizes: x[i,j], |k| = 3, with tensors and their indices, or the size of an index."
                self.fail("A line of sizes has another form.", self.first, self.at - (self.at > self.first), hint)
            if self.tokens[self.at] != ",":
                return

    def begin_statement(self) -> None:
        self.first = self.at
        self.begin = start = self.starts[self.at]  # begin: where the last operand starts, with its brackets
        self.frame = Bracket(None, "", None, start, start)
        self.depth = 0
        self.done = self.named = self.listed = False
        self.left: Node | None = None

    def statement(self) -> Statement:
        self.begin_statement()
        start = self.begin
        name = indices = None
        node = self.operand()
        if node is not None and self.tokens[self.at] == "=" and self.defines(node):
            name, indices = self.left_side(node)
            self.named = True
            self.at += 1
            self.frame.start = self.frame.sum_start = self.frame.term_start = self.starts[self.at]
            node = None
        body = self.expression(node)
        unsummed = self.unsummed.get(self.at, ())
        return Statement(start, self.ends[self.at - 1], name, indices, body, self.left, unsummed)

    def defines(self, node: Node) -> bool:
        """Whether what stands before "=" is a name that is given there, and not one side of an equation."""
        if not isinstance(node, TensorNode):
            return isinstance(node, SYMBOLS)  # an error that says so
        return not self.unsummed or len({i.terms for i in node.indices or ()}) == len(node.indices or ())

    def notes(self) -> dict[int, Indices]:
        """The indices of each ``(no sum i, j)`` at the end of a statement, by the token that follows; they are taken
        out of the tokens."""
        found: dict[int, Indices] = {}
        at = 0
        while "no" in self.tokens[at:]:
            at = self.tokens.index("no", at)
            if self.tokens[at - 1 : at + 2] != ["(", "no", "sum"] or not at:
                at += 1
                continue
            first, last = at - 1, self.partner(at - 1)
            if self.tokens[last + 1] != ";" or not first or self.tokens[first - 1] == ";":
                hint = "Write y[i] z[i] = a[i] b[i]  (no sum i), on one line."
                self.fail("What is not summed is said at the end of a statement.", first, last, hint)
            self.at = at + 1 + (self.tokens[at + 2] in ("over", "on"))
            indices = self.indices(")") if last > self.at + 1 else ()
            if not indices or not all(index.plain for index in indices):
                self.fail("This names the indices that are not summed.", first, last, "Write (no sum i, j).")
            del self.tokens[first : last + 1], self.starts[first : last + 1], self.ends[first : last + 1]
            found[first] = indices
            at = first
        self.at = 0
        return found

    def left_side(self, node: Node) -> tuple[str, Indices | None]:
        word = node.name if isinstance(node, TensorNode) else self.tokens[self.first].rstrip("_")
        if word in RESERVED or word in self.functions:
            hint = f"Choose another name, such as {word}_1."
            self.fail(f"The name {word!r} is reserved.", self.first, self.first, hint)
        if not isinstance(node, TensorNode):
            self.bad_left_side()
        check_left_side(self.text, node)
        return node.name, node.indices

    # The two places

    def expression(self, node: Node | None) -> Node:
        """The expression up to the end of the statement; ``node`` is its first operand where that is read already."""
        while node is None or not self.done:
            node = self.operand() if node is None else self.attach(node)
        return node

    def operand(self) -> Node | None:
        """Reads an operand; None where it only begins, with a minus or a bracket."""
        at = self.at
        token = self.tokens[at]
        self.begin = self.starts[at]
        if token.isidentifier():
            return self.name()
        if token == "(":
            return self.open("", None, at)
        if token == "-":
            return self.wait(None)
        first = token[:1]
        if first in DIGITS or first == ".":
            return self.number()
        if first == "|":
            self.at = at + 1
            return syntax.Size(self.begin, self.ends[at], token[1:-1].strip())
        if first == "[" and self.compares():
            return self.relation()
        if token[-1:] == "'" and token.rstrip("'") in self.own:
            return self.primed(token, at)
        return self.no_operand(token)

    def attach(self, node: Node) -> Node | None:
        """Puts an operand in its place and reads the operator after it; returns what a closing bracket completes."""
        frame = self.frame
        token = self.tokens[self.at]
        if token == "**":
            return self.wait(node)
        if token == "^":
            return self.caret(node)
        if frame.pending:
            node = self.fold(frame, node)
        frame.factors.append((frame.exponent, node))
        frame.exponent = 1
        follow = OPERATORS.get(token)
        return follow(self, frame, token) if follow else None  # without an operator it is a product

    def wait(self, base: Node | None) -> None:
        """Notes a minus, or the base of a power, until the operand after it is known."""
        self.deepen()
        self.frame.pending.append((self.begin, base))
        self.at += 1

    def deepen(self) -> None:
        self.depth += 1
        if self.depth > NESTING_LIMIT:
            too_deep(self.text, self.starts[self.at])

    def caret(self, base: Node) -> None:
        """The power of ``x^2`` and ``x^(…)``."""
        follow = self.tokens[self.at + 1]
        if follow != "(" and follow[0] not in DIGITS and follow[0] != ".":
            message = "The sign '^' makes a power only before a number or '('."
            hint = "Write ** and the exponent, or put the exponent in brackets, x^(…)."
            if follow == "-" and isinstance(base, TensorNode) and base.indices is None and base.name[0].isupper():
                hint = INVERSE.format(base.name)
            self.fail(message, self.at, self.at, hint)
        self.wait(base)

    def fold(self, frame: Bracket, node: Node) -> Node:
        """The operand ``node`` with the powers and minus signs that waited for it."""
        end = self.ends[self.at - 1]
        for start, base in reversed(frame.pending):
            node = syntax.Neg(start, end, node) if base is None else syntax.Power(start, end, base, node)
        self.depth -= len(frame.pending)
        frame.pending.clear()
        return node

    # Operators

    def times(self, frame: Bracket, token: str) -> None:
        frame.exponent = 1 if token == "*" else -1
        self.at += 1

    def plus(self, frame: Bracket, token: str) -> None:
        frame.add(self.ends[self.at - 1])
        self.at += 1
        frame.sign = 1 if token == "+" else -1
        frame.term_start = self.starts[self.at]

    def compare(self, frame: Bracket, token: str) -> None:
        if frame.left is not None:
            hint = "Put one of the comparisons in brackets."
            self.fail("Two comparisons in a row have no meaning.", self.at, self.at, hint)
        left = frame.finish(self.ends[self.at - 1])
        self.at += 1
        frame.renew(self.starts[self.at], left, token)

    def comma(self, frame: Bracket, token: str) -> Node | None:
        if self.listed and frame.outer is None:
            return self.end(frame, token)
        if not frame.head:
            hint = "Separate statements by ';', and write a product without a sign or with '*'."
            before, after = self.tokens[self.at - 1], self.tokens[self.at + 1]
            if before.isdigit() and after.isdigit():
                hint = f"Write a decimal point: {before}.{after}."
            self.fail("A comma stands only between indices and between arguments.", self.at, self.at, hint)
        frame.args.append(frame.finish(self.ends[self.at - 1]))
        self.at += 1
        frame.renew(self.starts[self.at], None, "")
        return None

    def close(self, frame: Bracket, token: str) -> Node:
        body = frame.finish(self.ends[self.at - 1])
        assert frame.outer is not None  # the tokens are balanced
        self.frame = frame.outer
        self.at += 1
        self.depth -= 1
        self.begin = frame.begin
        if not frame.head:
            return body
        frame.args.append(body)
        return self.derivative(frame) if frame.head == "D" else self.call(frame)

    def end(self, frame: Bracket, token: str) -> Node:
        self.done = True
        return frame.finish(self.ends[self.at - 1])

    # Operands

    def name(self) -> Node | None:
        """A tensor, pi, a delta, or None where the name opens the bracket of a function."""
        at = self.at
        word, follow = self.tokens[at], self.tokens[at + 1]
        indices = None
        if self.unknown and (word in self.unknown or self.is_derived(word, at)):
            return self.derived(word, at, self.after_order(at))
        if self.starts[at + 1] != self.ends[at]:
            self.at = at + 1
        elif follow == "[":
            self.at = at + 1
            indices = self.indices()
        elif follow == "(":
            return self.function(word, None, at)
        elif follow[0] == "^" or follow == "{":
            word, indices = self.heights()
        else:
            self.at = at + 1
        end = self.ends[self.at - 1]
        if indices is not None and self.starts[self.at] == end:
            follow = self.tokens[self.at]
            if follow == "(":
                return self.function(word, indices, at)
            if follow[0] in "[{^_":
                self.after_indices(at)
        if word in RESERVED:
            return self.reserved(word, indices, at)
        if word == "π" and indices is None:
            return syntax.Pi(self.begin, end)
        return TensorNode(self.begin, end, word, indices)

    def reserved(self, word: str, indices: Indices | None, at: int) -> Node:
        end = self.ends[self.at - 1]
        if word == "pi":
            if indices is not None:
                power = f"pi**{self.tokens[at + 1][1:]}" if self.tokens[at + 1][1:] else ""
                hint = f"Write {power or 'pi 1[i]'}, or choose another name."
                self.fail("The number pi has no indices.", at, self.at - 1, hint)
            return syntax.Pi(self.begin, end)
        halves = self.halves(indices or (), at)
        if halves is not None:
            return generalised_delta(self.begin, end, *halves)
        if indices is None or len(indices) != 2:
            count = len(indices or ())
            hint = "Write delta[i,j] or delta^i_j; for three, delta[i,j] delta[j,k]."
            self.fail(f"The delta has two indices, and here it has {count}.", at, self.at - 1, hint)
        return syntax.Delta(self.begin, end, indices)

    def halves(self, indices: Indices, at: int) -> tuple[Indices, Indices] | None:
        """The two groups of indices of a generalised delta, whose name is the token ``at``; None of a plain one."""
        if ";" in self.tokens[at : self.at]:
            apart = self.starts[self.tokens.index(";", at)]
            groups = [tuple([i for i in indices if (i.start < apart) == before]) for before in (True, False)]
        elif len(indices) > 2 and indices[0].height:
            groups = [tuple([i for i in indices if i.height == height]) for height in ("up", "down")]
        else:
            return None
        first, second = groups
        if len(first) != len(second) or len(first) > LARGEST_DELTA or self.tokens[at : self.at].count(";") > 1:
            message = f"The generalised delta has up to {LARGEST_DELTA} indices in each of two groups, as many in both."
            self.fail(message, at, self.at - 1, "Write delta[i,j;k,l] or delta^{i j}_{k l}.")
        return first, second

    def compares(self) -> bool:
        """Whether the bracket at this token holds a relation between indices."""
        return any(token in COMPARISONS for token in self.tokens[self.at : self.partner(self.at)])

    def relation(self) -> Node:
        """``[i >= j+1]``: 1 where it holds."""
        sides = []
        signs = []
        while not signs or self.tokens[self.at] != "]":
            self.at += 1
            sides.append(self.affine())
            signs.append(self.tokens[self.at])
            if signs[-1] not in ((">=", "<=", ">", "<", "==") if len(sides) == 1 else ("]",)):
                self.fail("This is no relation between two indices.", self.at, self.at, "Write [i >= j+1].")
        left, right = sides if signs[0][0] != "<" else sides[::-1]
        self.at += 1
        if signs[0] in ("<", ">"):
            left.const, left.plain = left.const - 1, False
        return syntax.Delta(self.begin, self.ends[self.at - 1], (left, right), "==" if signs[0] == "==" else ">=")

    def number(self) -> Node:
        at = self.at
        token, follow = self.tokens[at], self.tokens[at + 1]
        self.at = at + 1
        if token[0] == "." and at > self.first and self.touches(at) and self.tokens[at - 1] not in LEADS:
            self.fail("A number that begins with a dot stands apart.", at - 1, at, f"Write * 0{token} for a product.")
        if self.touches(at + 1):
            if token in ("0", "1") and (follow == "[" or self.has_heights(at + 1)):
                make = syntax.Ones if token == "1" else syntax.Zeros
                indices = self.indices() if follow == "[" else self.beside([])
                return make(self.begin, self.ends[self.at - 1], indices)
            if follow[0] in DIGITS or follow[0] in "._":
                self.fail(
                    f"{self.source(at, at + 1)!r} is not a number.", at, at + 1, "Write a number as 12, 1.5 or 1.5e-3."
                )
        if token[-1] == "j":
            return syntax.Imaginary(self.begin, self.ends[at], self.value(token[:-1], at))
        return syntax.Number(self.begin, self.ends[at], self.value(token, at))

    def open(self, head: str, axes: Indices | None, begin: int) -> None:
        """Opens the frame of the bracket at this token; with its function, it began at the token ``begin``."""
        self.deepen()
        self.at += 1
        self.frame = Bracket(self.frame, head, axes, self.starts[begin], self.starts[self.at])

    def function(self, word: str, axes: Indices | None, at: int) -> None:
        """Opens the bracket of the function whose name is the token ``at``."""
        mark = ""
        if self.own and word not in self.functions:
            word, mark = unmarked(word, self.own) or (word, "")
        if axes if word == "D" else word not in self.functions:
            self.no_function(word, axes, at)
        for axis in axes or ():
            if not axis.plain or axis.height:
                hint = f"Write {word}[k](…), with the name of the index that it works on."
                raise NotationError(f"The axes of {word} are plain names.", self.text, axis.start, axis.end, hint)
        self.at = self.at if axes else at + 1
        self.open(word, axes, at)
        self.frame.mark = mark

    # Functions of the user's

    def primed(self, word: str, at: int) -> None:
        """Opens the bracket of a derivative, ``f'(x)`` or, of whole arrays, ``f'[j](x[j])[i]``."""
        if self.tokens[at + 1] != "[" or not self.touches(at + 1) or word.rstrip("'") in self.unknown:
            return self.derived(word, at, at + 1)
        self.at = at + 1
        axes = self.indices()
        if self.tokens[self.at] != "(" or not self.touches(self.at):
            self.fail(f"{word!r} is a function here, and has no arguments.", at, self.at - 1, "Write f'[j](x[j]).")
        return self.function(word, axes, at)

    def is_derived(self, word: str, at: int) -> bool:
        """Whether a word such as ``f_12`` is a derivative: directly before a bracket."""
        return self.tokens[at + 1] == "(" and self.touches(at + 1) and unmarked(word, self.unknown) is not None

    def after_order(self, at: int) -> int:
        """The token after the name of a function and the order of its derivative, ``f^(4)``, if there is one."""
        digits = self.tokens[at + 3] if self.tokens[at + 1 : at + 3] == ["^", "("] else ""
        touching = digits.isdigit() and all(self.touches(k) for k in range(at + 1, at + 6))
        return at + 5 if touching and self.tokens[at + 4 : at + 6] == [")", "("] else at + 1

    def derived(self, word: str, at: int, bracket: int) -> None:
        """Opens the bracket of an unknown function, or of a derivative of one, which has the name at this token."""
        found = unmarked(word, self.own)
        if found is None or self.tokens[bracket] != "(" or not self.touches(bracket):
            written = self.source(at, bracket - 1)
            blank = self.tokens[bracket] == "("
            hint = f"Write {written}(…), without a blank." if blank else f"Write its arguments: {written}(x[i])."
            lacks = "has arguments, and no indices" if self.tokens[bracket] in ("[", "{") else "has no arguments"
            self.fail(f"{word!r} is a function here, and {lacks}.", at, bracket - 1, hint)
        name, mark = found
        self.at = bracket
        self.open(name, None, at)
        self.frame.mark = self.text[self.ends[at] : self.ends[bracket - 1]] or mark

    def places(self, frame: Bracket) -> tuple[int, ...]:
        """The places of the arguments that an unknown function is differentiated by."""
        if not frame.mark:
            return ()
        try:
            return read_mark(frame.mark, len(frame.args))
        except ValueError as fault:
            name, count = frame.head, len(frame.args)
            arguments = f"{count} argument{'s' * (count > 1)}"
            hint = f"Write {name}_1(…) for the derivative by the first argument, {name}_12(…) by the first two."
            if count == 1:
                hint = f"Write {name}'(…) for the derivative."
            message = f"{name!r} has {arguments} here, and {fault}."
            raise NotationError(message, self.text, frame.begin, self.ends[self.at - 1], hint) from None

    def call(self, frame: Bracket) -> Node:
        result = None
        several = frame.head not in IN_TEXT or len(frame.axes or "ij") == 2
        if self.tokens[self.at] == "[" and self.touches(self.at) and several:
            result = self.indices()
        elif frame.axes is None and self.touches(self.at) and self.has_heights(self.at):
            result = self.beside([]) if frame.head in IN_TEXT and IN_TEXT[frame.head].kind == "matrix" else None
        params = parameters(frame.head, frame.args)
        args = tuple(frame.args[:-1] if params else frame.args)
        end, places = self.ends[self.at - 1], self.places(frame)
        return syntax.CallNode(frame.begin, end, frame.head, args, frame.axes, result, params, places)

    def derivative(self, frame: Bracket) -> Node:
        end = self.ends[self.at - 1]
        hint = "Write D(f, x[i,j]): an expression, and the tensor with new indices for its axes."
        if len(frame.args) != 2:
            message = f"A derivative has two arguments, and here it has {len(frame.args)}."
            raise NotationError(message, self.text, frame.begin, end, hint)
        body, variable = frame.args
        conjugate = False
        if isinstance(variable, syntax.CallNode) and variable.name == "conj" and len(variable.args) == 1:
            conjugate, variable = True, variable.args[0]
        if not isinstance(variable, TensorNode):
            message = "The second argument of a derivative is not a tensor."
            raise NotationError(message, self.text, variable.start, variable.end, hint)
        return syntax.Derivative(frame.begin, end, body, variable, conjugate)

    # What can be wrong with an expression

    def bad_left_side(self) -> NoReturn:
        hint = "Write a name with its indices before '=': y[i] = …; of an equation, put this on the right side."
        if self.tokens[self.at - 1] in ("+", "-", "*", "/") and self.touches(self.at):
            left, sign = self.source(self.first, self.at - 2), self.tokens[self.at - 1]
            hint = f"Give the result a name of its own: z = {left} {sign} …, with the indices on both sides."
        self.fail("The left side of '=' is not a name.", self.first, self.at - 1, hint)

    def equals(self, frame: Bracket, token: str) -> None:
        if frame.outer is None and not self.named and not self.listed:
            self.left = frame.finish(self.ends[self.at - 1])
            self.named = True
            self.at += 1
            frame.renew(self.starts[self.at], None, "")
            return
        message = "The sign '=' stands only after a left side." if frame.outer else "A statement has only one '='."
        hint = "Write == to compare, and ';' between statements."
        if self.tokens[self.at - 1] in ("axis", "axes", "dim", "keepdims"):
            hint = f"An axis has a name: {frame.head}[i](x[i,j]) works on the first of x, and leaves j."
        self.fail(message, self.at, self.at, hint)

    def no_function(self, word: str, axes: Indices | None, at: int) -> NoReturn:
        from ricci.notation.translations import function_instead

        bracket = self.at if axes else at + 1
        written = self.source(at, bracket - 1)
        hint = f"Write {written} * (…) for a product."
        inside = self.text[self.ends[bracket] : self.starts[self.partner(bracket)]]
        translated = "" if axes else function_instead(word, inside, self.functions)
        close = nearest(word, sorted(self.functions))
        if at == self.first and self.tokens[self.partner(bracket) + 1] == "=":
            hint = f"A statement defines a tensor, by its name and indices: {written} = …"
        elif translated or close:
            hint = translated or f"{close} {hint}"
        elif not axes:
            hint = f'{hint} For a function of your own say rc.parse(text, functions=["{word}"]).'
        self.fail(f"There is no function {word!r}.", at, at, hint)

    def after_indices(self, at: int) -> None:
        """The error for more indices after those of the name at the token ``at``, unless they are a power."""
        follow = self.tokens[self.at]
        if follow == "^" and self.tokens[self.at + 1] != "{":
            return
        if follow == "{":
            self.odd_operand(follow)
        name = self.tokens[at]
        if follow == "[" and self.tokens[at + 1] == "[":
            written = self.source(at, self.at - 2) + "," + self.source(self.at + 1, self.partner(self.at))
            self.fail(f"The tensor {name!r} has two pairs of brackets.", self.at, self.at, f"Write {written}.")
        hint = "Use one of x[i,j] and x^i_j; a power of x[i] is x[i]**n."
        self.fail("Indices in brackets do not mix with upper and lower ones.", at, self.at, hint)

    def stray_bracket(self, frame: Bracket, token: str) -> None:
        if self.compares():
            return
        last = self.partner(self.at)
        before, bracket = self.tokens[self.at - 1], self.source(self.at, last)
        if before in ("0", "1") or before.isidentifier():
            hint = f"Write {before}{bracket}, without a blank."
        elif before[:1] in DIGITS:
            hint = f"Write {before} 1{bracket} for a tensor that is {before} everywhere."
        else:
            hint = "Give it a name, in a statement of its own, and write the indices after the name."
        self.fail("Indices stand directly after the name of a tensor, 1 or 0.", self.at, last, hint)

    def no_operand(self, token: str) -> NoReturn:
        """The error for a token that stands where an operand is due."""
        at, before = self.at, self.tokens[self.at - 1]
        if token == "=" and at == self.first:
            self.fail("The left side of '=' is missing.", at, at, "Write a name with its indices before '=': y[i] = …")
        if token in BINARY and at == self.first:
            if at and self.text[self.starts[at - 1]] == "\n":
                hint = f"To continue the line above, put {token!r} at its end."
                self.fail(f"A line cannot begin with {token!r}.", at, at, hint)
            self.fail(f"There is nothing before {token!r}.", at, at, "Write what it applies to, or leave it out.")
        if token == "=" and self.frame.outer is None and not self.named:
            self.bad_left_side()
        if token == "=":
            self.equals(self.frame, token)
        if token == ")" and before == "(":
            head = self.frame.head
            message = f"The function {head!r} has no argument." if head else "The bracket is empty."
            self.fail(message, at - 1, at, "Write an expression between '(' and ')'.")
        if token in (";", ")", ",") or token in BINARY:
            hint = in_other_words(self.text, self.starts[at]) or "Write what should follow, or leave it out."
            self.fail(f"There is nothing after {before!r}.", at - 1, at - 1, hint)
        self.odd_operand(token)

    def odd_operand(self, token: str) -> NoReturn:
        """The error for a token that can begin nothing: a primed name, a loose bracket or index."""
        if token[-1] == "'":
            bare = token.strip("^'")
            hint = f"Primes are for indices, as in x[i']; call the tensor {bare}_1."
            transposed = in_other_words(self.text, self.starts[self.at])
            if self.tokens[self.at + 1] == "(" and self.touches(self.at + 1):
                inside = self.source(self.at + 2, self.partner(self.at + 1) - 1)
                transposed = f"For a derivative write D({bare}, {inside}), or say that {bare} is a function: "
                transposed += f'rc.parse(text, functions=["{bare}"]).'
            hint = f"{transposed} {hint}" if transposed else hint
            self.fail("A tensor has no prime.", self.at, self.at, hint)
        if token == "[":
            hint = "Write x[i], or use round brackets; an array of numbers is an input, given at the call."
            self.fail("Indices stand directly after a name.", self.at, self.at, hint)
        if token == "{":
            self.fail("Braces stand only after '^' and '_'.", self.at, self.at, "Write x^{i j}, or use round brackets.")
        hint = f"Write {token} directly after a name, or **{token[1:]} for a power."
        self.fail("An upper index stands directly after a name.", self.at, self.at, hint)


OPERATORS = {
    "*": Parser.times,
    "/": Parser.times,
    "+": Parser.plus,
    "-": Parser.plus,
    ",": Parser.comma,
    ")": Parser.close,
    ";": Parser.end,
    "=": Parser.equals,
    "[": Parser.stray_bracket,
} | dict.fromkeys(COMPARISONS, Parser.compare)
