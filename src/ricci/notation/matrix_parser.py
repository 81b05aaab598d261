"""Formulas in the matrix language to pieces: a Pratt parser that checks shapes as it reads.

Signs bind as in MATLAB: transposes and powers first, then ``* / .* ./ @`` and no sign, from left to right, then
``⊗``, then ``+`` and ``-``, then comparisons, which stand in brackets. A name directly before a bracket is a
function. Pieces (``matrix_operators``, ``matrix_functions``) know their shapes as soon as they are read, so that what
does not fit is an error at the sign that joins it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from ricci.errors import caret
from ricci.functions.table import IN_TEXT
from ricci.notation.bars import bare
from ricci.notation.matrix_declarations import is_word, order_of
from ricci.notation.matrix_functions import ABS, Functions, MatrixCall, is_function
from ricci.notation.matrix_operators import is_bare, number_in
from ricci.notation.matrix_shapes import Extent, MatrixPiece, MatrixSide, Shape, alike, fits, shape_of
from ricci.notation.matrix_tokens import COMPARISONS, IN_CALLS, NESTING_LIMIT, Token, is_latex, tokenise
from ricci.notation.tokens import PARTNERS

BOLD = re.compile(r"\\(?:mathbf|boldsymbol|bm|pmb)(?![A-Za-z])")  # letters that are columns, Greek ones too

PRODUCTS = frozenset(["*", "@", "·", "/", "\\", ".*", "./"])
OPERANDS = frozenset(["name", "dotted", "number", "ones"])
SIZED = frozenset(["eye", "ones", "zeros", "identity"])  # functions of sizes
SLOPE = re.compile(r"d([^\W_]\w*?)_d(\w+)")  # the name of a derivative
MOST_PIECES = 100  # in one another; what writes them with indices calls itself for each
ON_PAPER = {"σ": "sigmoid"}  # letters that are functions before a bracket
ABOUT_K = frozenset(["vec", "kron", "⊗", "•"])  # beside these K is the commutation matrix


def is_python(token: Token) -> bool:
    """Whether only Python has this: ``@``, or ``np.exp``."""
    return token.value == "@" or (token.kind == "name" and token.end - token.start > len(token.value) + 2)


@dataclass(slots=True)
class Name:
    """A name that has been used, or declared: its shape, and whether its rows are pairs that are one axis."""

    rows: MatrixSide | None
    columns: MatrixSide | None
    merged: bool = False
    defined: bool = False

    @property
    def sides(self) -> tuple[MatrixSide | None, MatrixSide | None]:
        return self.rows, self.columns


class MatrixParser(Functions):
    """Reads one text."""

    def __init__(self, text: str):
        super().__init__(text, is_latex(text))
        if self.latex:
            from ricci.notation.matrix_latex import tokenise_latex

            self.tokens = tokenise_latex(text)
        else:
            self.tokens = tokenise(text)
        self.at = 0
        self.closers: list[str] = []  # what ends the brackets and bars around this place
        self.names: dict[str, Name] = {}
        self.used: dict[str, None] = {}  # inputs, in the order of the text
        self.large: dict[str, int] = {}  # names that are declared with more indices than matrices have
        self.calls: dict[str, list[Token]] = {}  # names defined as f(x) = …, with what stands in the brackets
        self.doubts: list[str] = []
        self.complex_names: frozenset[str] = frozenset()
        self.kronecker_text = any(token.value in ABOUT_K for token in self.tokens)
        self.python = not self.latex and any(is_python(token) for token in self.tokens)

    @property
    def is_complex(self) -> bool:
        """Whether the text has complex numbers, so that a prime is the conjugate transpose."""
        return bool(self.complex_names) or any(isinstance(token.value, complex) for token in self.tokens)

    # Tokens.

    @property
    def now(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def sign(self, *wanted: str) -> Token | None:
        """The next token, if it is one of these signs."""
        return self.take() if self.now.kind == "sign" and self.now.value in wanted else None

    def after_name(self, at: int) -> int:
        """The place after a name on a left side: after ``f(x, y)`` too, which says what ``f`` depends on."""
        if self.tokens[at + 1].kind != "open":
            return at + 1
        end = at + 2
        while self.tokens[end].kind in IN_CALLS or (self.tokens[end].kind == "sign" and self.tokens[end].value in ",;"):
            end += 1
        called = self.tokens[end].value == ")" and end > at + 2
        return end + 1 if called and self.tokens[end + 1].value == "=" else at + 1

    def _refuse(self, message: str, token: Token, hint: str = "") -> NoReturn:
        raise self.fail(message, token.start, max(token.end, token.start + 1), hint)

    # Sums and products.

    def sum(self) -> MatrixPiece:
        """Terms, Kronecker products of products, up to a sign that is none of theirs."""
        signs: list[tuple[int, int]] = []
        first = self.sign("-", "+")
        start = self.now.start if first is None else first.start
        terms = [(-1 if first is not None and first.value == "-" else 1, self.kron())]
        while True:
            sign = self.sign("+", "-")
            if sign is None:
                break
            signs.append((sign.start, sign.end))
            terms.append((1 if sign.value == "+" else -1, self.kron()))
        if len(terms) == 1 and terms[0][0] < 0:
            return self.negative(terms[0][1], start)
        total = self.add(terms, signs)
        total.start = min(start, total.start)
        return total

    def kron(self) -> MatrixPiece:
        piece = self.product()
        while sign := self.sign("⊗", "•"):
            if sign.value == "⊗":
                piece = self.kronecker(piece, self.product())
            else:
                piece = self.row_products(piece, self.product(), (sign.start, sign.end))
            self._bounded(piece)
        return piece

    def _bounded(self, piece: MatrixPiece) -> None:
        """Refuses a chain of signs that nests more pieces than can be written with indices."""
        if piece.depth > MOST_PIECES:
            message = f"The expression is nested more than {MOST_PIECES} deep."
            self._refuse(message, self.tokens[self.at - 1], "Name a part in a statement of its own.")

    def product(self) -> MatrixPiece:
        piece = self.signed()
        while True:
            token = self.now
            if token.kind == "sign" and token.value in PRODUCTS:
                self.take()
                sign, place = token.value, (token.start, token.end)
            elif self._operand_follows():
                sign, place = " ", (token.start, token.end)
            else:
                return piece
            right = self.signed()
            if sign == " " and number_in(right) is not None and not is_bare(right, 1):
                self._refuse("A number stands before what it multiplies.", token, "Write * for a product.")
            piece = self._joined(piece, right, sign, place)

    def _joined(self, left: MatrixPiece, right: MatrixPiece, sign: str, place: tuple[int, int]) -> MatrixPiece:
        if sign == "/":
            return self.divide(left, right, place)
        if sign == "\\":
            return self.left_divide(left, right, place)
        if sign in (".*", "./"):
            return self.entrywise(left, right, 1 if sign == ".*" else -1, place)
        if self.python and left.order and right.order and not fits(left.columns, right.rows):
            if sign == "*" and alike(left, right):  # which is no product of matrices
                return self.entrywise(left, right, 1, place)
            if sign == "@" and left.order == 1 and fits(left.rows, right.rows):  # of an array with one axis
                left = self.transpose(left, left.end)
        elif sign == "*" and self.python and left.order and right.order:
            self._doubt(left, right)
        return self.multiply(left, right, sign, place)

    def _doubt(self, left: MatrixPiece, right: MatrixPiece) -> None:
        """``A * B`` in a text that has ``@`` too, or functions of NumPy, which has ``*`` entry by entry."""
        a, b = self.operand(left), self.operand(right)
        shown = caret(self.text, left.start, right.end)
        self.doubts.append(
            f"{a} * {b} is read as the product of matrices, which * is here.\n{shown}\n"
            f"  Write {a} @ {b} for it, or {a} .* {b} for what NumPy takes * for, the product entry by entry."
        )

    def _doubt_of_letters(self, token: Token) -> None:
        """``xᵀAx``, where ``Ax`` is one name."""
        name, before = token.value, self.tokens[self.tokens.index(token) - 1]
        close = before.end == token.start and before.kind in ("post", "number") and not self.latex
        if close and name.isalpha() and name[0].isupper() and 1 < len(name) < 4:
            shown = caret(self.text, token.start, token.end)
            self.doubts.append(
                f"{name} is one name, of a matrix.\n{shown}\n  Write {' '.join(name)} for a product, and declare it as "
                f"a name otherwise."
            )

    def _operand_follows(self) -> bool:
        """Whether an operand follows without a sign, so that it is multiplied."""
        token = self.now
        if token.kind in OPERANDS:
            return True
        if token.kind in ("bar", "bars"):
            return not (self.closers and self.closers[-1] == token.kind)
        if token.kind != "open" or (token.value == "{" and not self.latex):
            return False
        before = self.tokens[self.at - 1]
        if token.value == "[" and before.kind == "name" and before.end == token.start:
            hint = "Entries and indices are read by rc.parse, in index notation."
            self._refuse("The matrix language has no indices.", token, hint)
        return True

    def signed(self) -> MatrixPiece:
        """A factor, perhaps with signs before it."""
        minus = []
        while sign := self.sign("-", "+"):
            minus += [sign] if sign.value == "-" else []
        piece = self.powers()
        return self.negative(piece, minus[0].start) if len(minus) % 2 else piece

    # Powers and transposes.

    def powers(self) -> MatrixPiece:
        piece = self.atom()
        raised = None
        while True:
            self._bounded(piece)
            token = self.now
            if token.kind == "post":
                self.take()
                piece = self._posted(piece, token)
            elif token.kind == "sign" and token.value in ("^", ".^", "**"):
                if raised is not None:
                    self._refuse("A power of a power has a bracket.", token, "Write (a^b)^c or a^(b^c).")
                raised = token
                self.take()
                piece = self._raised(piece, token)
            elif token.kind == "method":
                piece = self._method(piece)
            else:
                return piece

    def _posted(self, piece: MatrixPiece, token: Token) -> MatrixPiece:
        if token.value == "T" or (token.value == "'" and not self.is_complex):
            return self.transpose(piece, token.end)
        if token.value in ("'", "H") or (token.value == "†" and self.is_complex):
            return self.adjoint(piece, token.end)
        if token.value == "*":
            return self._starred(piece, token)
        if token.value in ("+", "†"):
            return self._of_matrix(MatrixCall("pinv", piece.start, token.end, token.end, [piece]), IN_TEXT["pinv"])
        if token.value in ("-T", "-H"):
            self.square(piece, "The inverse")
            turned = self.adjoint if token.value == "-H" else self.transpose
            return turned(self.whole_power(piece, -1, token.end), token.end)
        exponent = MatrixPiece("number", token.start, token.end, data=abs(token.value))
        if token.value < 0:
            exponent = self.negative(exponent, token.start)
        return self.power(piece, exponent, False, (token.start, token.end))

    def _starred(self, piece: MatrixPiece, token: Token) -> MatrixPiece:
        """``z^*`` of a scalar; of a matrix it has two readings."""
        if not self.is_complex:
            self._refuse("A star above is read of complex numbers.", token, "Declare them: complex='z'.")
        if piece.order:
            typed = self.operand(piece)
            hint = (
                rf"Write {typed}^{{\mathsf{{H}}}} for the conjugate transpose, \overline{{{typed}}} for the conjugate."
            )
            self._refuse("A star above a matrix has two readings.", token, hint)
        return self.conjugate(piece, token.end)

    def _raised(self, base: MatrixPiece, sign: Token) -> MatrixPiece:
        """What is after ``^``: a number, a name, a bracket, or braces, ``^{⊙2}``, ``^{-1}``, ``^{T}``."""
        entries, place = sign.value == ".^", (sign.start, sign.end)
        if self.now.kind == "open" and self.now.value == "{":
            self._open("}", self.take())
            entries = bool(self.sign(".*")) or entries
            turned = self._turned(base, bool(self.sign("-")))
            exponent = turned or self.sum()
            self._close("}")
        else:
            turned = self._turned(base, False)
            exponent = turned or self._exponent()
        if turned is not None:
            return turned
        if sign.value == "**":
            entries = self._python_power(base, exponent, sign)
        return self.power(base, exponent, entries, place)

    def _exponent(self) -> MatrixPiece:
        minus = self.sign("-", "+")
        piece = self.atom()
        return self.negative(piece, minus.start) if minus is not None and minus.value == "-" else piece

    def _turned(self, base: MatrixPiece, inverted: bool) -> MatrixPiece | None:
        """``^T``, where no ``T`` is declared."""
        token = self.now
        if token.kind != "name" or token.value not in ("T", "H") or token.value in self.names:
            if inverted:
                self.at -= 1
            return None
        self.take()
        if inverted:
            self.square(base, "The inverse")
            base = self.whole_power(base, -1, token.end)
        return self.adjoint(base, token.end) if token.value == "H" else self.transpose(base, token.end)

    def _python_power(self, base: MatrixPiece, exponent: MatrixPiece, sign: Token) -> bool:
        """``x**2`` is entry by entry, as in NumPy; of a matrix it is so in a text that is Python's by other signs."""
        if base.order == 2 and fits(base.rows, base.columns) and not self.python:
            typed, raised = self.operand(base), self.source(exponent)
            message = f"{typed}**{raised} has two readings."
            self._refuse(
                message, sign, f"Entry by entry write {typed}.^{raised}, for the power of a matrix {typed}^{raised}."
            )
        return True

    def _method(self, piece: MatrixPiece) -> MatrixPiece:
        token = self.take()
        call = MatrixCall(token.value, piece.start, token.end, args=[piece], python=True)
        return self._arguments(call)

    # Atoms.

    def atom(self) -> MatrixPiece:
        token = self.take()
        if token.kind == "number":
            return MatrixPiece("number", token.start, token.end, data=token.value)
        if token.kind in ("name", "dotted"):
            return self._named(token)
        if token.kind == "ones":
            return MatrixPiece("ones", token.start, token.end, MatrixSide(known=False))
        if token.kind == "open":
            return self._bracket(token)
        if token.kind == "bars":
            return self._norm(token)
        if token.kind == "bar":
            return self._between_bars(token)
        self.at -= 1
        return self._missing()

    def _missing(self) -> NoReturn:
        token, before = self.now, self.tokens[self.at - 1] if self.at else self.now
        if token.kind in ("end", "close") and before is not token and before.kind not in ("open", "end"):
            self._refuse(f"There is nothing after {self.text[before.start : before.end]!r}.", before)
        if token.kind == "close" or (token.kind == "end" and before.kind == "open"):
            self._refuse("The brackets are empty.", token)
        if token.kind == "end":
            self._refuse("There is no formula here.", token)
        typed = self.text[token.start : token.end]
        self._refuse(f"Something is missing before {typed!r}.", token)

    def _stray(self) -> NoReturn:
        token = self.now
        typed = self.text[token.start : token.end]
        hints = {
            ":": "Entries and slices are read by rc.parse.",
            ",": "Statements are separated by ';'.",
            "=": "A text has one '=' in a statement; equality is compared in brackets, [x == y].",
            "{": "Braces stand after '^': A^{-1}.",
        }
        if token.value in COMPARISONS and token.kind == "sign":
            self._refuse("A comparison stands in brackets.", token, "Write [x > 0], which is 1 where it holds.")
        self._refuse(f"{typed!r} does not belong here.", token, hints.get(str(token.value), ""))

    def _open(self, closer: str, opener: Token) -> None:
        """Begins a bracket, or bars, which end with ``closer``."""
        self.closers.append(closer)
        if len(self.closers) > NESTING_LIMIT:
            message = f"Brackets and bars are nested more than {NESTING_LIMIT} deep here."
            self._refuse(message, opener, "Name a part in a statement of its own.")

    def _close(self, value: str) -> Token:
        """The end of a bracket, or of bars."""
        self.closers.pop()
        token = self.now
        if token.value == value if token.kind == "close" else token.kind == value:
            return self.take()
        if token.kind == "end" and value in ("bar", "bars"):
            self._refuse("The bars are never closed.", token, "Write |A| for a determinant, ‖x‖ for a norm.")
        return self._stray()

    def _bracket(self, opener: Token) -> MatrixPiece:
        closer = {"(": ")", "[": "]", "{": "}"}[opener.value]
        self._open(closer, opener)
        piece = self.comparison()
        if opener.value == "[" and piece.kind != "compare" and not self.latex:
            hint = "A matrix of numbers is an input: call the formula with it, f(A=[[1, 2], [3, 4]])."
            self._refuse("Square brackets are for comparisons, [x > 0].", opener, hint)
        end = self._close(closer)
        piece.start, piece.end = opener.start, end.end
        return piece

    def comparison(self) -> MatrixPiece:
        left = self.sum()
        token = self.now
        equal = token.value == "=" and self.closers and self.closers[-1] == "]"
        if token.kind != "sign" or not (token.value in COMPARISONS or equal):
            return left
        self.take()
        right = self.sum()
        shape = self.aligned([left, right], "compared", (token.start, token.end))
        return MatrixPiece("compare", left.start, right.end, *shape, (left, right), "==" if equal else token.value)

    def _norm(self, opener: Token) -> MatrixPiece:
        self._open("bars", opener)
        arg = self.sum()
        end = self._close("bars")
        kind = ""
        if self.now.kind == "below":
            end = self.take()
            kind = end.value
        call = MatrixCall("norm", opener.start, opener.end, end.end, [arg], words=[kind])
        return self.norm(call)

    def _between_bars(self, opener: Token) -> MatrixPiece:
        """``|n|``, the size of a declared index; ``|s|`` of a scalar; ``|A|``, the determinant."""
        name, closer = self.now, self.tokens[min(self.at + 1, len(self.tokens) - 1)]
        if name.kind == "name" and closer.kind == "bar" and name.value not in self.names:
            if name.value in self.extents:
                self.at += 2
                return MatrixPiece("size", opener.start, closer.end, data=self.extents[name.value])
            if order_of(name.value) == 1:
                hint = f"For the size of an index declare it: x[{name.value}]. Entry by entry write abs({name.value})."
                self._refuse(f"{name.value!r} is no declared index.", name, hint)
        self._open("bar", opener)
        arg = self.sum()
        end = self._close("bar")
        if not arg.order:
            return MatrixPiece("call", opener.start, end.end, parts=(arg,), data=ABS)
        if arg.order == 1:
            inside = self.source(arg)
            hint = f"Write norm2({inside}) for its length, abs({inside}) for the sizes of its entries."
            raise self.fail("Bars around a column have two meanings.", opener.start, end.end, hint)
        return self._of_matrix(MatrixCall("det", opener.start, opener.end, end.end, [arg]), IN_TEXT["det"])

    def _log_bars(self, token: Token) -> MatrixPiece:
        """``log|A|`` is the logarithm of the size of the determinant."""
        inner = self._between_bars(self.take())
        if inner.kind == "function" and inner.data[0] == "det":
            return self._of_matrix(
                MatrixCall("logdet", token.start, token.end, inner.end, list(inner.parts)), IN_TEXT["logdet"]
            )
        return MatrixPiece("call", token.start, inner.end, parts=(inner,), data=("log", ()))

    # Names and calls.

    def _named(self, token: Token) -> MatrixPiece:
        token = self._with_primes(token)
        name, after = token.value, self.now
        bracket = after.kind == "open" and after.value == "("
        if bracket and name in self.calls and (self.latex or after.start == token.end):
            called = self._past_call(token)
        elif self.latex:
            called = bracket and (is_function(name) or self.is_own(name))
        else:
            called = bracket and after.start == token.end and name not in self.names
        if called and name in ON_PAPER:
            token = token._replace(value=ON_PAPER[name])
        if token.kind == "dotted" or called:
            return self._called(token)
        if name == "log" and after.kind == "bar":
            return self._log_bars(token)
        if is_function(name) and self._applies(after):
            return self._applied(token)
        known = self.names.get(name)
        base = bare(name) if known is None else ""
        if base in self.complex_names:
            self.tokens[self.at - 1] = token._replace(value=base)
            return self.conjugate(self._named(self.tokens[self.at - 1]), token.end)
        if known is None:
            constant = self._constant(token)
            if constant is not None:
                return constant
            slope = self._slope(token)
            if slope is not None:
                return slope
            self._check_name(token)
            self._doubt_of_letters(token)
            order = max(order_of(name), 1) if self.latex and BOLD.match(self.text, token.start) else order_of(name)
            known = self.names[name] = Name(*shape_of([MatrixSide(Extent()) for _ in range(order)]))
        if not known.defined:
            self.used.setdefault(name)
        return MatrixPiece("name", token.start, token.end, known.rows, known.columns, data=(name, known.merged))

    def _past_call(self, token: Token) -> bool:
        """Goes past the brackets of ``f(x)``, where ``f(x) = …`` is above; False, since no function is called."""
        inside, end = self.calls[token.value], self.at + len(self.calls[token.value])
        typed = [t.value for t in self.tokens[self.at : end]]
        if typed != [t.value for t in inside]:
            shown = self.text[inside[0].start : inside[-1].end]
            message = f"{token.value!r} is defined as {token.value}{shown}, and is no function beyond that."
            self._refuse(message, token, "Define it with what is in these brackets too, by another name.")
        self.at = end
        return False

    def _slope(self, token: Token) -> MatrixPiece | None:
        """``df_dx``, where f is defined above: its derivative."""
        match = SLOPE.fullmatch(token.value)
        known = self.names.get(match[1]) if match is not None else None
        if match is None or known is None or not known.defined:
            return None
        parts = [self._named(token._replace(value=own)) for own in match.groups()]
        return self.derivative(MatrixCall("D", token.start, token.end, token.end, parts), (token.start, token.end))

    def _with_primes(self, token: Token) -> Token:
        """``point'`` directly before a bracket, of an unknown function ``point``, is the name of its derivative."""
        at = self.at
        while self.tokens[at].kind == "post" and self.text[self.tokens[at].start] == "'":
            at += 1
        bracket = self.tokens[at]
        direct = bracket.value == "(" and (self.latex or bracket.start == token.end + at - self.at)
        if token.value not in self.unknown or at == self.at or not direct:
            return token
        name, self.at = token.value + "'" * (at - self.at), at
        return token._replace(value=name, end=bracket.start)

    def _constant(self, token: Token) -> MatrixPiece | None:
        """``pi``, the identity and, beside Kronecker products, the commutation matrix."""
        if token.value == "pi" or (token.value == "π" and "π" not in self.names):
            return MatrixPiece("pi", token.start, token.end)
        head, _, below = token.value.partition("_")
        if head in ("I", "eye"):
            side = MatrixSide(self.extents[below]) if below in self.extents else MatrixSide(known=False)
            return MatrixPiece("eye", token.start, token.end, side, side)
        if token.value == "K" and self.kronecker_text:
            a, b = Extent(), Extent()
            return MatrixPiece("commutation", token.start, token.end, MatrixSide(a, b), MatrixSide(b, a))
        return None

    def _check_name(self, token: Token) -> None:
        name = token.value
        why = is_word(name)
        if why:
            self._refuse(f"{name!r} is no name of a tensor.", token, why)
        if name in self.large:
            hint = "Texts with more indices are read by rc.parse."
            self._refuse(f"A matrix has two indices, and {name!r} is declared with {self.large[name]}.", token, hint)
        if is_function(name):
            after = self.now if self.now.kind in OPERANDS else None
            typed = f"({after.value})" if after is not None else "(…)"
            self._refuse(f"{name!r} is a function and cannot be a name.", token, f"Write {name}{typed}.")
        if name in self.extents:
            hint = f"Write |{name}| for its size, or declare {name} as a name too."
            self._refuse(f"{name!r} is declared as an index.", token, hint)

    def _called(self, token: Token) -> MatrixPiece:
        name = token.value
        if name in SIZED:
            return self._sized(token)
        on_paper, python = self.latex and token.kind == "name", not self.latex and is_python(token)
        call = MatrixCall(name, token.start, token.end, on_paper=on_paper, python=python)
        return self._arguments(call)

    def _applies(self, after: Token) -> bool:
        """Whether a function is applied without round brackets: ``log det(S)``, ``\\det A``, ``tr[A]``."""
        if not self.latex:
            return after.kind == "name" and is_function(after.value)
        return after.kind in ("name", "bars", "dotted") or (after.kind == "open" and after.value == "[")

    def _applied(self, token: Token) -> MatrixPiece:
        """A function of the factor that follows; not where another one follows that, which it may be applied to too."""
        call = MatrixCall(token.value, token.start, token.end, on_paper=self.latex and token.kind == "name")
        if self.now.kind == "open":
            return self._arguments(call)
        call.args = [self.powers()]
        call.end = call.args[0].end
        if self._operand_follows():
            inside = self.source(call.args[0])
            self._refuse(
                f"It is not seen how far {self.text[token.start : token.end]} goes.",
                token,
                f"Write {self.function(token.value, inside)} if it ends there.",
            )
        return self.norm(call) if call.name == "norm" else self.call(call)

    def _arguments(self, call: MatrixCall) -> MatrixPiece:
        """What is in the brackets of a call, up to its end."""
        opener = self.take()
        self._open(PARTNERS[opener.value], opener)
        while self.now.kind != "close":
            token = self.now
            following = self.tokens[self.at + 1]
            if token.kind == "string":
                call.words.append(self.take().value)
            elif token.kind == "name" and following.value == "=" and following.kind == "sign":
                self._option(call)
            else:
                call.args.append(self.comparison())
            if not self.sign(","):
                break
        call.end = self._close(PARTNERS[opener.value]).end
        return self.norm(call) if call.name == "norm" and call.args else self.call(call)

    def _option(self, call: MatrixCall) -> None:
        """``axis=0``, ``ord='fro'``."""
        name = self.take()
        self.take()
        minus = self.sign("-")
        value = self.take()
        if name.value in ("axis", "dim") and value.kind == "number" and isinstance(value.value, int):
            call.axis = -value.value if minus is not None else value.value
        elif name.value == "ord" and value.kind in ("string", "number") and minus is None:
            call.words.append(str(value.value))
        else:
            raise self.fail(f"{call.name} has no such argument here.", name.start, value.end)

    def _sized(self, token: Token) -> MatrixPiece:
        """``eye(n)``, ``ones(m, n)``, ``zeros((m, n))``: the sizes are declared indices."""
        opener = self.take()
        depth, sides = 1, []
        while depth:
            inner = self.take()
            depth += (inner.kind == "open") - (inner.kind == "close")
            if inner.kind == "name" and inner.value in self.extents:
                sides.append(MatrixSide(self.extents[inner.value]))
            elif inner.kind not in ("open", "close", "bar") and inner.value != ",":
                hint = "Declare it, as in 'A[m,n]', or leave it out: eye, vector(1) and matrix(1) are as large as fits."
                self._refuse("This is no declared index.", inner, hint)
        eye = token.value in ("eye", "identity")
        if not 1 <= len(sides) <= 2 or (eye and len(sides) == 2):
            self._refuse(f"{token.value} takes {'one index' if eye else 'one index or two'}.", opener)
        shape: Shape = (sides[0], sides[-1] if eye or len(sides) == 2 else None)
        return MatrixPiece("eye" if eye else token.value, token.start, self.tokens[self.at - 1].end, *shape)
