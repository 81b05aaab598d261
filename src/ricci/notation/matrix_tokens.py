"""Tokens of the matrix language, in three spellings: matrixcalculus.org's and MATLAB's, Python's, and mathematics'.

``A'``, ``A.T`` and ``Aᵀ`` are one token, and so are ``A * B`` and ``A @ B`` where they mean the same, so the parser
knows of no spelling. ``matrix_latex`` makes the same tokens of LaTeX. A break of a line ends a statement, except in
brackets and after a sign; comments begin with ``#``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn
from unicodedata import numeric

from ricci.errors import NotationError
from ricci.notation.matrix_declarations import NAME, plain_name
from ricci.notation.tokens import LENGTH_LIMIT, PARTNERS
from ricci.notation.translations import MODULES

NESTING_LIMIT = 40  # brackets in brackets


class Token(NamedTuple):
    """A piece of the text. Kinds: name, dotted (``exp.``), method (``.sum``), number, sign, post (after what it turns,
    inverts or raises), open, close, bar, bars, below (``_F`` after a norm), string, end (of a statement)."""

    kind: str
    value: Any
    start: int
    end: int


PIECES = re.compile(
    rf"""(?P<blank>[^\S\n]+|\#[^\n]*)
      | (?P<fraction>(?<![\w.)'])[¼-¾⅐-⅞])
      | (?P<unit>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?:im|[ij])(?![\w]))
      | (?P<number>(?:[0-9]+(?:\.(?![*/^'])[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<string>"[^"\n]*"|(?:(?<=[,=(])|(?<=[,=(][ ]))'[^'\n]*')
      | (?P<below>(?<=[‖|])(?:_(?:\{{\w+\}}|\w)|[₁₂]))
      | (?P<path>(?:{"|".join(sorted(MODULES))})(?:\.[^\W\d]\w*)+)
      | (?P<name>{NAME}(?P<dot>'*\.(?=\())?)
      | (?P<slope>∂\s*(?P<upper>{NAME})\s*/\s*∂\s*(?P<lower>{NAME}))
      | (?P<turn>\.m?[TH]\b|ᴴ|\.t\(\)|\.transpose\(\)|\.'|'|’|′|ᵀ)
      | (?P<method>\.[^\W\d]\w*(?=\())
      | (?P<raised>⁻ᵀ|⁻ᴴ|⁻?[⁰¹²³⁴-⁹]+|⁺|†|\^†)
      | (?P<star>\^\*)
      | (?P<bars>\|\||‖)
      | (?P<sign>\.\*|\./|\.\^|\*\*|[<>=!:]=|[-+*/\\^@·⋅∙⊙∘⊘⊗•,=;<>≤≥≠−])
      | (?P<bar>\|)
      | (?P<open>[\[({{])
      | (?P<close>[\])}}])
      | (?P<newline>\n)
    """,
    re.VERBOSE,
)
SAME = {
    "·": "·",
    "⋅": "·",
    "∙": "·",
    "⊙": ".*",
    "∘": ".*",
    "⊘": "./",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "−": "-",
    ":=": "=",
}
PRIMES = frozenset("'’′")  # of complex matrices, the conjugate transpose
MARKS = {"⁻ᵀ": "-T", "⁻ᴴ": "-H", "⁺": "+", "†": "†", "^†": "†"}
IN_CALLS = frozenset(["name", "bar", "bars"])  # what stands in f(x, y) on a left side, beside commas
COMPARISONS = frozenset(["<", "<=", ">", ">=", "==", "!="])
INSTEAD = {
    "×": "Write * for the product of matrices, .* entry by entry.",
    "%": "A comment begins with '#'.",
    "$": "Leave out the dollar signs.",
    "∑": "Write sum(…).",
    "Σ": "Write sum(…).",
    "√": "Write sqrt(…).",
    "&": "Multiply conditions: [a > 0] .* [b > 0].",
    ":": "Entries and slices are read by rc.parse, in index notation: A[i,j].",
    ".": "A number has a digit beside its dot: 0.5.",
    "!": "Write != to compare.",
}
INSTEAD |= dict.fromkeys("½⅓⅔¼¾", "Write 2*½ for the product, 2 + ½ for the sum.")
SIGNS = "The signs are + - * / ^ ' and, entry by entry, .* ./ .^"
_DIGITS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹₁₂", "-012345678912")


DIVISION = re.compile(r"(?<=[\w)\]'ᵀ])[ \t]*\\(?:[ \t]+(?=[\w(\[])|(?=[A-Za-z](?![A-Za-z])|[(\[]))")


def is_latex(text: str) -> bool:
    r"""Whether a text is LaTeX: where it has a backslash that is no division from the left, as MATLAB has it.

    >>> is_latex(r"f = x^\top A x"), is_latex(r"x = A\b"), is_latex(r"x = (A + I) \ (b - c)")
    (True, False, False)
    """
    return "\\" in text and "\\" in DIVISION.sub("", text)


def tokenise(text: str) -> list[Token]:
    """The tokens of a text, an end after each statement.

    >>> [token.value for token in tokenise("A.T @ x - b²")]
    ['A', 'T', '@', 'x', '-', 'b', 2, ';']
    """
    if len(text) > LENGTH_LIMIT:
        raise NotationError(f"The text has {len(text):,} characters; {LENGTH_LIMIT:,} is the most.")
    line = Lines(text)
    at = 0
    while at < len(text):
        match = PIECES.match(text, at)
        if not match:
            _unknown(text, at)
        at = match.end()
        if match["slope"]:
            parts = [Token("name", plain_name(match[part]), *match.span(part)) for part in ("upper", "lower")]
            for token in derivative(parts[:1], parts[1:], match.start(), at):
                line.add(token)
            continue
        if match["fraction"]:
            above, below = Fraction(numeric(match[0])).limit_denominator(10).as_integer_ratio()
            for kind, value in (("open", "("), ("number", above), ("sign", "/"), ("number", below), ("close", ")")):
                line.add(Token(kind, value, match.start(), at))
            continue
        token = _token(match)
        if token is not None:
            line.add(token)
    return line.finish()


def derivative(upper: Sequence[Token], lower: Sequence[Token], start: int, end: int) -> list[Token]:
    """``D(f, x)``, as it is typed, of what stands above and below a fraction of ``∂``; by several names one after
    another."""
    found = list(upper)
    for token in lower:
        comma = Token("sign", ",", token.start, token.start)
        found = [Token("dotted", "D", start, start), Token("open", "(", start, start), *found, comma, token]
        found.append(Token("close", ")", end, end))
    return found


def _token(match: re.Match[str]) -> Token | None:
    kind, piece, (start, end) = match.lastgroup or "", match[0], match.span()
    if kind == "dot" or match["name"]:
        own = plain_name(piece.removesuffix("."))
        return Token("dotted" if match["dot"] else "name", own, start, end)
    value: Any = piece
    if kind == "blank":
        return None
    if kind == "number":
        value = int(piece) if piece.isdigit() else float(piece)
    elif kind == "unit":
        digits = piece.rstrip("imj")
        kind, value = "number", complex(0, int(digits) if digits.isdigit() else float(digits))
    elif kind == "path":
        kind, value = "name", piece.rpartition(".")[2]
        if value in ("T", "mT"):  # of a variable that is called as a module
            return None
    elif kind == "turn":
        kind, value = "post", "H" if piece[-1] in "Hᴴ" else "'" if piece in PRIMES else "T"
    elif kind == "star":
        kind, value = "post", "*"
    elif kind == "raised":
        kind, value = "post", MARKS.get(piece) or int(piece.translate(_DIGITS))
    elif kind == "method":
        value = piece[1:]
    elif kind == "below":
        value = piece.strip("_{}").translate(_DIGITS)
    elif kind == "string":
        value = piece[1:-1]
    elif kind == "sign":
        value = SAME.get(piece, piece)
    return Token(kind, value, start, end)


def _unknown(text: str, at: int) -> NoReturn:
    character = text[at]
    hint = INSTEAD.get(character, SIGNS)
    raise NotationError(f"The character {character!r} has no meaning here.", text, at, None, hint)


class Lines:
    """Tokens so far, with the brackets that are open: where a statement ends, and where a break is a blank."""

    def __init__(self, text: str):
        self.text = text
        self.tokens: list[Token] = []
        self.opened: list[Token] = []

    def add(self, token: Token) -> None:
        if token.kind == "open":
            self.opened.append(token)
            if len(self.opened) > NESTING_LIMIT:
                hint = "Name a part in a statement of its own."
                message = f"Brackets are nested more than {NESTING_LIMIT} deep here."
                raise NotationError(message, self.text, token.start, token.end, hint)
        elif token.kind == "close":
            self._close(token)
        elif token.value == ";" and self._on_the_left():
            pass  # f(x; a) = …
        elif token.kind == "newline" or token.value == ";":
            if token.kind == "newline" and (self.opened or (self.tokens and self.tokens[-1].kind in ("sign", "open"))):
                return
            self.end(token.start)
            return
        self.tokens.append(token)

    def _on_the_left(self) -> bool:
        """Whether this is in the first bracket of a statement, directly after a name, as in ``f(x; a) = …``."""
        first = next((at + 1 for at in range(len(self.tokens) - 1, -1, -1) if self.tokens[at].kind == "end"), 0)
        said = self.tokens[first:]
        plain = all(token.kind in IN_CALLS or token.value in (",", ";") for token in said[2:])
        return len(said) > 1 and said[0].kind == "name" and self.opened == said[1:2] and plain

    def _close(self, token: Token) -> None:
        if not self.opened:
            hint = f"Add {PARTNERS[token.value]!r} before it, or leave it out."
            raise NotationError(f"The bracket {token.value!r} was never opened.", self.text, token.start, None, hint)
        opener = self.opened.pop()
        if PARTNERS[opener.value] != token.value:
            self._unclosed(opener, f"is closed by {token.value!r}")

    def _unclosed(self, opener: Token, fault: str) -> NoReturn:
        hint = f"Close it with {PARTNERS[opener.value]!r}."
        raise NotationError(f"The bracket {opener.value!r} {fault}.", self.text, opener.start, None, hint)

    def end(self, at: int) -> None:
        """Ends a statement, if one has begun."""
        if self.opened:
            self._unclosed(self.opened[-1], "is never closed" if at >= len(self.text) else "is not closed before ';'")
        if self.tokens and self.tokens[-1].kind != "end":
            self.tokens.append(Token("end", ";", at, at))

    def finish(self) -> list[Token]:
        self.end(len(self.text))
        if not self.tokens:
            raise NotationError("The text has no statement.", self.text, 0, None, "Write a formula: f = x'*A*x.")
        return self.tokens
