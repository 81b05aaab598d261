r"""LaTeX to tokens: what makes formulas look well is left out, and what ends a statement becomes ";".

A token is its own text, and its place in the LaTeX is kept beside it. Letters are tokens one by one, since ``Ax`` is a
product; ``\left(`` is "(", ``\left|`` and ``\right|`` keep which side they are. A statement ends at ``\\``, at a dollar
sign, at the border of an environment, at an empty line, and at the end of a line after which another statement begins
with a left side. It goes on where the next line begins with a sign, as in aligned formulas.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NoReturn
from unicodedata import normalize

from ricci.errors import NotationError
from ricci.notation.latex_stacked import in_a_row
from ricci.notation.latex_words import (
    ARRAYS,
    EQUALS,
    FONTS,
    IGNORED,
    LAYOUTS,
    RELATIONS,
    TIMES,
    UPRIGHT,
    WITH_ARGUMENT,
    WORDS,
)
from ricci.notation.tokens import LENGTH_LIMIT, NESTING_LIMIT, too_deep

PIECES = re.compile(
    r"""%[^\n]*
      | \\(?:begin|end)\s*\{[^{}\\]*\}
      | \\(?:left|right|middle)(?![A-Za-z])\s*(?:\\[A-Za-z]+|\\.|[^\s\\])
      | \\(?:text[a-z]*|mbox)\s*\{
      | \\[A-Za-z]+\*?
      | \\\\\*?(?:[ \t]*\[[^\]\n]*\])?
      | \\[\s\S]
      | \d+(?:\.\d+)? | \.\d+
      | \$\$?
      | \n[ \t]*(?=\n)
      | \s
      | [:<>!=]= | \|\|
      | [^\W\d_][\u0300-\u036f]*
      | [\s\S]
    """,
    re.VERBOSE,
)
SIZED = re.compile(r"\\(?:left|right|middle)(?![A-Za-z])")
SIDED = {r"\left|": r"\left|", r"\right|": r"\right|", r"\lvert": r"\left|", r"\rvert": r"\right|"}
SIDED |= {r"\left\|": r"\lVert", r"\right\|": r"\rVert", r"\left\Vert": r"\lVert", r"\right\Vert": r"\rVert"}
SIDED |= {r"\left\lVert": r"\lVert", r"\right\rVert": r"\rVert", r"\Vert": r"\|", r"\left\lvert": r"\left|"}
SIDED |= {r"\right\rvert": r"\right|", r"\left\vert": r"\left|", r"\right\vert": r"\right|", r"\vert": "|"}
SIDED |= {r"\lbrack": "[", r"\rbrack": "]", r"\lbrace": r"\{", r"\rbrace": r"\}", r"\left.": "", r"\right.": ""}
SIDED |= {r"\middle|": "|", r"\lparen": "(", r"\rparen": ")"}
SIGNS = {"−": "-", "–": "-", "·": r"\cdot", "⋅": r"\cdot", "×": r"\times", "≤": r"\le", "≥": r"\ge", "≠": r"\ne"}
SIGNS |= {"′": "'", "’": "'", "⊙": r"\odot", "∂": r"\partial", "∑": r"\sum", "∏": r"\prod", "⊤": r"\top"}
SIGNS |= {"‖": r"\|", "||": r"\|", "√": r"\sqrt"}
FRACTIONS = frozenset((r"\frac", r"\tfrac", r"\dfrac", r"\cfrac"))
NO_NAMES = frozenset(("if", "otherwise", "else", "for", "when", "where", "with", "and"))
DOTS = frozenset((r"\dots", r"\ldots", r"\cdots", r"\dotsc"))
KEPT = frozenset("+-*/^_{}()[]|,;=<>!:'&.")
CONTINUES = frozenset(("+", "-", "=", r"\cdot", r"\times", r"\odot", "/", ",", *RELATIONS))
PARTNERS = {"(": ")", "[": "]", "{": "}", r"\{": r"\}"}
CLOSERS = {close: opener for opener, close in PARTNERS.items()}


@dataclass
class Tokens:
    """The tokens of a LaTeX text and their places; ``notes`` are the insides of ``\\text{(no sum $i$)}``."""

    text: str
    tokens: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    def touches(self, at: int) -> bool:
        """Whether a token follows the one before it without a blank."""
        return at > 0 and self.starts[at] == self.ends[at - 1]

    def add(self, token: str, start: int, end: int) -> None:
        self.tokens.append(token)
        self.starts.append(start)
        self.ends.append(end)

    def close(self, end: int) -> Tokens:
        for token in (";", "", ""):
            self.add(token, end, end)
        return self


def tokenise(text: str, start: int = 0, end: int | None = None) -> Tokens:
    """The tokens of a text, or of a part of it."""
    if len(text) > LENGTH_LIMIT:
        message = f"The text has {len(text):,} characters; the notation takes at most {LENGTH_LIMIT:,}."
        raise NotationError(message, text, 0, 1, "Split it into several programs.")
    end = len(text) if end is None else end
    found = _Tokeniser(text)
    found.read(start, end)
    done = found.out.close(end)
    balanced(done)
    return _statements(in_a_row(done))


class _Tokeniser:
    """Goes over a text once; what takes an argument reads on from there."""

    def __init__(self, text: str):
        self.text, self.out = text, Tokens(text)
        self.cases: list[str] = []  # the environments that are open and keep their rows
        self.single_bars = re.search(r"(?<![|\\])\|(?!\|)", text)  # where there are, ||x|| is no norm

    def read(self, at: int, end: int) -> None:
        while at < end:
            match = PIECES.match(self.text, at, end)
            assert match is not None
            at = self.piece(match[0], at, match.end())

    def piece(self, piece: str, at: int, end: int) -> int:
        """Takes a piece in; returns where to go on."""
        if piece == "||" and self.single_bars:
            piece, end = "|", at + 1
        if piece.isspace():
            if "\n" in piece:
                self.out.add("\n\n" if len(piece) > 1 or self.text[at + 1 : at + 2] == "\n" else "\n", at, end)
            return end
        if piece[0] == "%" or piece in IGNORED or piece in ("~", r"\left.", r"\right."):
            return end
        if piece[0] == "$" or piece in (r"\[", r"\]", r"\(", r"\)"):
            self.out.add(";", at, end)
        elif re.match(r"\\(?:begin|end)(?![A-Za-z])", piece):
            self.environment(piece, at, end)
        elif piece.startswith("\\\\"):
            self.out.add("\\\\" if self.cases else ";", at, end)
        elif SIZED.match(piece) and piece not in SIDED:
            self.sided(piece, at, end)
        elif piece in SIDED:
            self.out.add(SIDED[piece], at, end)
        elif piece in WITH_ARGUMENT:
            return self.closing(end, piece) if self.text[end : end + 1] == "{" else end
        elif piece[:-1].rstrip() in WORDS and piece[-1] == "{":
            return self.words(at, end)
        elif piece in UPRIGHT or piece == r"\mathit":
            return self.name(piece, at, end)
        elif piece == "&":
            if self.cases:
                self.out.add("&", at, end)
        else:
            self.plain(piece, at, end)
        return end

    def plain(self, piece: str, at: int, end: int) -> None:
        piece = SIGNS.get(piece, piece)
        known = piece[0] == "\\" or piece[0].isdigit() or piece in KEPT or piece[0] == "." or len(piece) == 2
        if not known and not piece[0].isalpha():
            hint = r"Names are letters, \mathrm{words}, and what LaTeX has commands for."
            raise NotationError(f"The character {piece!r} has no meaning here.", self.text, at, end, hint)
        if piece[0].isdigit() and len(piece) > 1 and (digits := self.digits()):
            for k in range(min(digits, len(piece))):
                self.out.add(piece[k], at + k, at + k + 1)
            if digits < len(piece):
                self.out.add(piece[digits:], at + digits, end)
            return
        self.out.add(piece if known else normalize("NFKC", piece), at, end)

    def digits(self) -> int:
        """How many digits are arguments by themselves, after what was read: ``x_12`` is ``x_1 2``."""
        last = self.out.tokens[-2:]
        if last[-1:] in (["^"], ["_"], [r"\sqrt"]) or (last[:1] and last[0] in FRACTIONS and last[1:] != ["{"]):
            return 1
        return 2 if last[-1:] and last[-1] in FRACTIONS else 0

    def sided(self, piece: str, at: int, end: int) -> None:
        """``\\left(`` and its like: the bracket without its size; ``\\left <`` has no meaning."""
        bracket = re.sub(r"\\(?:left|right|middle)\s*", "", piece)
        bracket = SIDED.get(bracket, bracket)
        side = {"|": r"\left|" if piece.startswith(r"\left") else r"\right|"}
        side[r"\|"] = r"\lVert" if piece.startswith(r"\left") else r"\rVert"
        self.out.add(side.get(bracket, bracket), at, end)

    def environment(self, piece: str, at: int, end: int) -> None:
        if not piece.endswith("}"):
            hint = r"Write \begin{align} … \end{align}, with a name in braces."
            raise NotationError("The environment has no name.", self.text, at, end, hint)
        name = piece[piece.index("{") + 1 : -1].strip().rstrip("*")
        begins = piece.startswith("\\begin")
        if name in LAYOUTS:
            self.out.add(";", at, end)
        elif name in ("cases", "dcases", "rcases"):
            if begins:
                self.cases.append(name)
            elif self.cases:
                self.cases.pop()
            self.out.add(r"\begin{cases}" if begins else r"\end{cases}", at, end)
        else:
            hint = "Arrays of numbers are inputs: write a name, A_{ij}, and give the array at the call."
            hint = hint if name in ARRAYS else "Write equations, or environments such as align."
            raise NotationError(f"The environment {name!r} is not read.", self.text, at, end, hint)

    def closing(self, opening: int, what: str) -> int:
        """After the brace that closes the one at ``opening``."""
        depth = 0
        for at in range(opening, len(self.text)):
            if self.text[at] in "{}" and self.text[at - 1 : at] != "\\":
                depth += 1 if self.text[at] == "{" else -1
                if not depth:
                    return at + 1
        raise NotationError(f"The brace after {what} is never closed.", self.text, opening, None, "Close it with '}'.")

    def words(self, at: int, end: int) -> int:
        """``\\text{…}``: a name, what is said of sums and sizes, or words such as "if"."""
        close = self.closing(end - 1, r"\text")
        inside = self.text[end : close - 1]
        said = inside.strip()
        if re.fullmatch(r"\(?\s*no sum\b.*", said):
            self.out.add(r"\nosum", at, close)
            first = end + inside.index("sum") + 3
            for match in re.finditer(r"[^\s$(),]+(?:\{[^{}]*\})?'*", self.text[first : close - 1]):
                if match[0] not in ("over", "on", "and", "in"):
                    self.read(first + match.start(), first + match.end())
                    self.out.add(",", first + match.end(), first + match.end())
            self.out.add(r"\endnosum", close - 1, close)
        elif said == "sizes:":
            self.out.add(r"\sizes", at, close)
        elif self.cases and (found := re.fullmatch(r"(?:if|for|when)?\s*\$([^$]*)\$\s*[,.]?", said)):
            self.out.add("\\text if", at, end)
            first = self.text.index("$", end) + 1
            self.read(first, first + len(found[1]))
        elif re.fullmatch(r"[^\W\d](?:\w|\\_|[\u0300-\u036f])*", said) and said not in NO_NAMES:
            self.out.add("\\mathrm " + normalize("NFKC", said.replace(r"\_", "_")), at, close)
        else:
            self.out.add("\\text " + said, at, close)
        return close

    def name(self, command: str, at: int, end: int) -> int:
        r"""``\mathrm{name}``: one token. A font around a single command, ``\mathrm{\Gamma}``, is left out."""
        while end < len(self.text) and self.text[end].isspace():
            end += 1
        if self.text[end : end + 1] != "{":
            single = re.compile(r"\\[A-Za-z]+|\w").match(self.text, end)
            if single is None:
                raise NotationError(
                    f"A name is missing after {command}.", self.text, at, end, f"Write {command}{{name}}."
                )
            inside, close = single[0], single.end()
        else:
            close = self.closing(end, command)
            inside = self.text[end + 1 : close - 1]
        inside = re.sub(r"\\(?:bf|rm|it|sf|mathrm|operatorname|text|mathbf|mathsf)(?![A-Za-z])", "", inside)
        word = re.sub(r"\\_", "_", re.sub(r"\\[,;:! ]|\s|~|[{}]", "", inside))
        if re.fullmatch(r"\\[A-Za-z]+", word):
            self.out.add(word, at, close)
            return close
        if not re.fullmatch(r"\w(?:[\w\u0300-\u036f*-])*'*", word) or re.search(r"[*-]", word):
            hint = r"Write \mathrm{name}, with letters, digits and \_."
            raise NotationError(f"This is no name in {command}.", self.text, at, close, hint)
        kind = {r"\mathit": "\\mathit ", r"\mathrm": "\\mathrm ", r"\rm": "\\mathrm "}.get(command, "\\operatorname ")
        self.out.add(kind + normalize("NFKC", word), at, close)
        return close


def balanced(found: Tokens) -> None:
    """Braces and brackets have their partners."""
    opened: list[int] = []
    for at, token in enumerate(found.tokens):
        if token in PARTNERS:
            opened.append(at)
            if len(opened) > NESTING_LIMIT:
                too_deep(found.text, found.starts[at])
        elif token in CLOSERS:
            if not opened:
                hint = f"Add {CLOSERS[token]!r} before it, or leave it out."
                _fail(found, f"The bracket {token!r} was never opened.", at, hint)
            if found.tokens[opened[-1]] != CLOSERS[token]:
                opener = found.tokens[opened[-1]]
                _fail(
                    found,
                    f"The bracket {opener!r} is closed by {token!r}.",
                    opened[-1],
                    f"Close it with {PARTNERS[opener]!r}.",
                )
            opened.pop()
    if opened:
        opener = found.tokens[opened[-1]]
        _fail(found, f"The bracket {opener!r} is never closed.", opened[-1], f"Close it with {PARTNERS[opener]!r}.")


def _fail(found: Tokens, message: str, at: int, hint: str) -> NoReturn:
    raise NotationError(message, found.text, found.starts[at], found.ends[at], hint)


def _statements(found: Tokens) -> Tokens:
    """With line breaks that end a statement as ";", and without those, and the points, that do not."""
    kept = Tokens(found.text)
    depth: list[str] = []  # what is open
    until = 0
    for at, (token, start, end) in enumerate(zip(found.tokens, found.starts, found.ends)):
        until = max(until, _remark(found.tokens, at)) if not depth else until
        if at < until:
            continue
        if token in PARTNERS or token == r"\begin{cases}":
            depth.append(token)
        elif depth and (token in CLOSERS or token == r"\end{cases}"):
            depth.pop()
        last = kept.tokens[-1] if kept.tokens else ";"
        if token == ";" and depth[-1:] == ["("] and found.text[start:end] == ";":
            token = ","  # f(x; \theta)
        if token == "," and not depth and _equation(kept) and _defines(found, at + 1):
            token = ";"  # a = b^2, \quad b = c
        if token in (";", "\n\n", "\n"):
            if depth and token == ";":
                _fail(found, "A statement ends inside of brackets.", at, "Close what is open before it.")
            if depth or last == ";" or not _ends(found, at, token):
                continue
            _without_points(kept)
            token = ";"
        elif token in ("\\\\", r"\end{cases}"):
            _without_points(kept)
        kept.add(token, start, end)
    return kept


def _remark(tokens: list[str], at: int) -> int:
    r"""Where ``, \quad i = 1, \dots, n`` ends, if it begins at a token: a free index goes over all places anyway.

    Not where ``n`` stands elsewhere, since this would say what it is.
    """
    first = at + (tokens[at] == ",")
    first += tokens[first] in ("\\text for", "\\text for all", r"\forall")
    found = tokens[first : first + 7]
    is_range = len(found) == 7 and found[0].isalpha() and found[1] == "=" and found[2] in ("0", "1")
    if first == at or not is_range or found[3] != "," or found[4] not in DOTS or found[5] != ",":
        return 0
    after = first + 7
    while tokens[after] in (".", ","):
        after += 1
    alone = tokens.count(found[6]) == 1 < tokens.count(found[0])
    return after if tokens[after] in (";", "", "\n", "\n\n") and alone else 0


def _equation(kept: Tokens) -> bool:
    """Whether the last statement has its sign of equality, and is no line of sizes."""
    own = list(takewhile(lambda token: token != ";", reversed(kept.tokens)))
    return own[-1:] != [r"\sizes"] and any(token in EQUALS for token in own)


def _without_points(kept: Tokens) -> None:
    """Takes back the commas and points that end a line, or a case."""
    while kept.tokens and kept.tokens[-1] in (",", "."):
        kept.tokens.pop(), kept.starts.pop(), kept.ends.pop()


def _ends(found: Tokens, at: int, token: str) -> bool:
    """Whether a statement ends at a break: not before a line that begins with a sign, as lines that go on do."""
    tokens = found.tokens
    if token == "\n":
        before = next((t for t in reversed(tokens[:at]) if t != "\n"), ";")
        return before not in CONTINUES and before != "\\\\" and _defines(found, at + 1)
    after = at + 1
    while tokens[after] in ("\n", "\n\n"):
        after += 1
    before = next((t for t in reversed(tokens[:at]) if t not in ("\n", "\n\n")), ";")
    if tokens[after] in ("", ";") or token == "\n\n" or found.text[found.starts[at]] == "$":
        return True
    if tokens[after] in TIMES or tokens[after] == "/" or before in CONTINUES - {","}:
        return False
    return not (tokens[after] in ("+", "-") and not _defines(found, after))


def _defines(found: Tokens, at: int) -> bool:
    """Whether the line from a token on has a left side and a sign of equality, outside of brackets."""
    depth, first = 0, True
    for token in found.tokens[at:]:
        if token in ("\n", "\n\n") and first:
            continue
        if not depth and token in EQUALS:
            return not first
        if token in ("", ";", "\n", "\n\n") and not depth:
            return False
        depth += (token in PARTNERS) - (token in CLOSERS)
        first = False
    return False


def is_name(token: str) -> bool:
    """Whether a token is a name by itself: a letter, or a word in one font."""
    return token[:1].isalpha() or token.startswith(("\\mathrm ", "\\mathit ", "\\operatorname ")) or token in FONTS
