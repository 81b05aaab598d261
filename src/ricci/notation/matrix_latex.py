r"""LaTeX to the tokens of the matrix language: ``x^\top A x``, ``\lVert A x - b \rVert_2^2``, ``\operatorname{tr}(A)``.

A letter is a name, with what stands below it (``x_1``, ``W_{hh}``) and its accent; words are in ``\mathrm`` and its
like, functions are commands or ``\operatorname``. A fraction becomes a quotient in brackets, a root a call. What
``.matrix`` writes in LaTeX is read, and what people write for the same: ``^T``, ``\circ``, ``\Vert``, ``\tfrac12``.
Braces are brackets where nothing else takes them. A break of a line ends a statement, but between ``\begin`` and
``\end`` only ``\\`` does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NoReturn

from ricci.errors import NotationError
from ricci.functions.table import IN_TEXT
from ricci.notation.latex_words import (
    ACCENT_COMMANDS,
    EQUALS,
    FONTS,
    GREEK,
    IGNORED,
    OPERATORS,
    RELATIONS,
    RESERVED_LETTERS,
    UPRIGHT,
    WORDS,
)
from ricci.notation.matrix_functions import is_function
from ricci.notation.matrix_tokens import Lines, Token, derivative
from ricci.notation.translations import FUNCTIONS as OTHER_NAMES

SIGNS = {"cdot": "*", "odot": ".*", "circ": ".*", "oslash": "./", "otimes": "⊗", "bullet": "•"}
SIGNS |= {command[1:]: sign for command, sign in RELATIONS.items() if command[0] == "\\"}
SIGNS |= {command[1:]: "=" for command in EQUALS if command[0] == "\\"}
BARS = dict.fromkeys(["|", "Vert", "lVert", "rVert"], "bars") | dict.fromkeys(["vert", "lvert", "rvert", "mid"], "bar")
SKIPPED = frozenset([command[1:] for command in IGNORED] + list("[]()\n"))
GROUPED = frozenset([command[1:].rstrip("*") for command in FONTS | UPRIGHT | WORDS]) | {"mathit"}
MARKS = {command[1:]: word for command, word in ACCENT_COMMANDS.items()}
_OPERATOR = re.compile(r"\\operatorname\{\{([\w\\]+)\}\}(?:_\{\{\{axes\}\}\})?(?:\\left)?\(")
_OF_AXES = {name: match[1] for name, row in IN_TEXT.items() if (match := _OPERATOR.match(row.latex))}
WRITTEN = {head.replace("\\", ""): name for name, head in _OF_AXES.items()} | OPERATORS
OPENING = {"lfloor": "floor", "lceil": "ceil", "langle": "inner"}  # brackets that are functions
CLOSING = frozenset(["rfloor", "rceil", "rangle"])
_T = r"(?:\\top|\\intercal|\\prime|\\(?:mathsf|mathrm|mathbf|text)\s*(?:\{T\}|T)|T)"
TURNED = re.compile(rf"\^\s*(?:\{{(?:\s|\\[!,;:])*(-?)\s*{_T}\s*\}}|{_T}(?![A-Za-z]))")
_H = r"(?:\\(?:mathsf|mathrm|mathbf|text|rm|sf)\s*(?:\{H\}|H)|H)"
ADJOINT = re.compile(rf"\^\s*(?:\{{\s*(-?)\s*{_H}\s*\}}|{_H}(?![A-Za-z]))")
DAGGER = re.compile(r"\^\s*(?:\{\s*\\dagger\s*\}|\\dagger(?![A-Za-z]))")
STAR = re.compile(r"\^\s*(?:\{\s*(?:\*|\\ast|\\star)\s*\}|(?:\*|\\(?:ast|star)(?![A-Za-z])))")
UNIT = re.compile(r"\\(?:mathrm|rm|mathsf)\s*(?:\{\s*[ij]\s*\}|[ij])(?!\s*_)|\\[ij]math(?![A-Za-z])")
OVERLINE = re.compile(
    r"\\(?:overline|bar)\s*(?=\{)(?!\{\s*(?:\\?[A-Za-z]+|\\(?:mathbf|mathrm|boldsymbol|bm)\s*\{\s*\\?\w+\s*\})\s*\})"
)
PSEUDO = re.compile(r"\^\s*(?:\{\s*\+\s*\}|\+)")
ENTRYWISE = re.compile(r"\s*\^\s*\{\s*\\odot\s*\}")
_HEAD, _MARK = r"(?:\\operatorname\s*\{([^{}]*)\}|([A-Za-z])|\\([A-Za-z]+))", r"('+|_\{[\d,]+\})"
DERIVED = re.compile(  # a derivative of an unknown function, {f'}^{\odot} or \operatorname{f}'(
    rf"\{{\s*{_HEAD}{_MARK}\s*\}}\s*\^\s*\{{\s*\\odot\s*\}}|\\operatorname\{{([^{{}}]*)\}}{_MARK}(?=\s*(?:\\left)?\()"
)
_NAMED = (
    r"(?:\\(?:mathbf|mathrm|boldsymbol|bm|mathit|overline|bar)\s*\{\s*\\?\w+\s*\}|\\?[A-Za-z]+)(?:_(?:\{\w+\}|\w))?"
)
_BY = rf"\\partial\s*({_NAMED})(?:\s*\\partial\s*({_NAMED})(?:\^\s*(?:\{{?\s*{_T}\s*\}}?))?)?"
_OF = rf"\\partial(?:\s*\^\s*\{{?2\}}?)?\s*({_NAMED})"
SLOPE = re.compile(  # \frac{\partial f}{\partial x}, \partial f / \partial x
    rf"\\[td]?frac\s*\{{\s*{_OF}\s*\}}\s*\{{\s*{_BY}\s*\}}|{_OF}\s*/\s*{_BY}"
)
GRADIENT = re.compile(rf"\\nabla\s*_\s*(?:\{{\s*({_NAMED})\s*\}}|(\\?[A-Za-z]+))\s*({_NAMED})")
LAST = re.compile(r"[\s$]*(?:$|\\\\|\\end\b|\\\])")
BELOW = re.compile(r"\s*_\s*(?:\{((?:[^{}]|\{[^{}]*\})*)\}|(\\[A-Za-z]+|\w))")
SQUARED_BELOW = re.compile(r"\s*(\^\s*(?:\{\s*\d+\s*\}|\d))\s*(?=_)")
NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?|\.[0-9]+")
COMMAND = re.compile(r"\\([A-Za-z]+\*?|.|\n|$)")
GROUP = re.compile(r"\s*(?:\{((?:[^{}]|\{[^{}]*\})*)\}|(\w))")
ENVIRONMENT = re.compile(r"\s*\{[A-Za-z]+\*?\}(?:\{[^{}]*\})?")
BLANK = re.compile(r"(?:[^\S\n]|~|&)+|%[^\n]*")
OF_COMPLEX = {"Re": "real", "Im": "imag", "arg": "angle"}
SUMS = "Sums over indices are read by rc.parse; the sum of all entries is \\mathbf{1}^\\top x."
INSTEAD = dict.fromkeys(["sum", "prod"], SUMS) | {
    "times": "Write \\cdot, or nothing, for the product of matrices, \\odot entry by entry.",
    "partial": "Differentiate what is read: f.diff('x').",
    "nabla": "Differentiate what is read: f.diff('x').",
    "int": "An integral is nothing that matrices have.",
}


def tokenise_latex(text: str) -> list[Token]:
    """The tokens of a text in LaTeX.

    >>> [token.value for token in tokenise_latex(r"\\frac12 x^\\top A x")]
    ['(', 1, '/', 2, ')', 'x', 'T', 'A', 'x', ';']
    """
    reader = LatexReader(text)
    while reader.at < len(text):
        reader.step()
    return reader.lines.finish()


class LatexReader:
    """A place in a text, and the tokens before it."""

    def __init__(self, text: str):
        self.text = text
        self.lines = Lines(text)
        self.at = 0
        self.braces: list[str] = []  # what closes them
        self.environments = 0

    def add(self, kind: str, value: object, start: int, end: int | None = None) -> None:
        self.lines.add(Token(kind, value, start, self.at if end is None else end))

    def refuse(self, message: str, start: int, hint: str = "") -> NoReturn:
        raise NotationError(message, self.text, start, max(self.at, start + 1), hint)

    def step(self) -> None:
        """The next tokens."""
        text, start = self.text, self.at
        blank = BLANK.match(text, start)
        if blank:
            self.at = blank.end()
            return
        for pattern, read in READERS:
            match = pattern.match(text, start)
            if match:
                self.at = match.end()
                read(self, match)
                return
        character = text[start]
        if character == "\\":
            self._command()
            return
        self.at += 1
        if character.isalpha():
            self._name(character, start)
        elif character in "{}":
            self._brace(character, start)
        else:
            self._sign(character, start)

    def _turned(self, match: re.Match[str]) -> None:
        self.add("post", "-T" if match[1] else "T", match.start())

    def _pseudo(self, match: re.Match[str]) -> None:
        self.add("post", "+", match.start())

    def _adjoint(self, match: re.Match[str]) -> None:
        self.add("post", "-H" if match[1] else "H", match.start())

    def _dagger(self, match: re.Match[str]) -> None:
        self.add("post", "†", match.start())

    def _star(self, match: re.Match[str]) -> None:
        self.add("post", "*", match.start())

    def _unit(self, match: re.Match[str]) -> None:
        before = self.lines.tokens[-1] if self.lines.tokens else None
        if before is not None and before.kind == "number" and before.end == match.start():
            self.lines.tokens[-1] = before._replace(value=before.value * 1j, end=match.end())
            return
        self.add("number", 1j, match.start())

    def _overline(self, match: re.Match[str]) -> None:
        """A bar over more than a name is the conjugate."""
        self.add("dotted", "conj", match.start())
        self._part(match.start())

    def _derived(self, match: re.Match[str]) -> None:
        head, mark = match[1] or match[2] or match[3] or match[5], match[4] or match[6]
        self.add("dotted", head.replace("\\_", "_") + re.sub("[{}]", "", mark).replace(",", "_"), match.start())

    def _slope(self, match: re.Match[str]) -> None:
        first = 1 if match[1] is not None else 4
        self._derivative(match, [n for n in (first, first + 1, first + 2) if match[n] is not None])

    def _gradient(self, match: re.Match[str]) -> None:
        self._derivative(match, [3, 1 if match[1] is not None else 2])

    def _derivative(self, match: re.Match[str], groups: Sequence[int]) -> None:
        """A derivative of a name by names, which are read as they are anywhere else."""
        parts = []
        for number in groups:
            inner = LatexReader(self.text[: match.end(number)])
            inner.at = match.start(number)
            while inner.at < len(inner.text):
                inner.step()
            parts.append(inner.lines.tokens)
        if any(len(tokens) != 1 or tokens[0].kind != "name" for tokens in parts):
            self.refuse("Above and below a derivative stands a name.", match.start(), "Give it one in a line above.")
        for token in derivative(parts[0], [tokens[0] for tokens in parts[1:]], match.start(), match.end()):
            self.lines.add(token)

    def _number(self, match: re.Match[str]) -> None:
        tokens = self.lines.tokens
        raised = tokens and tokens[-1].kind == "sign" and tokens[-1].value == "^"
        if raised and len(match[0]) > 1:
            self.refuse("TeX raises one digit alone.", match.start(), f"Write ^{{{match[0]}}}.")
        self.add("number", int(match[0]) if match[0].isdigit() else float(match[0]), match.start())

    def _brace(self, character: str, start: int) -> None:
        """A brace after ``^`` is what the parser knows, another one a bracket."""
        if character == "}":
            if not self.braces:
                self.refuse("The bracket '}' was never opened.", start, "Add '{' before it, or leave it out.")
            self.add("close", self.braces.pop(), start)
            return
        tokens = self.lines.tokens
        raised = bool(tokens) and tokens[-1].kind == "sign" and tokens[-1].value == "^"
        self.braces.append("}" if raised else ")")
        self.add("open", "{" if raised else "(", start)

    def _sign(self, character: str, start: int) -> None:
        if character in "|‖":
            self.add("bar" if character == "|" else "bars", character, start)
            self._below_norm()
        elif character in "([":
            self.add("open", character, start)
        elif character in ")]":
            self.add("close", character, start)
        elif character in ",." and LAST.match(self.text, self.at):
            pass  # where the formula stands in a sentence
        elif character == "\n":
            if not self.environments:
                self.add("newline", character, start)
        elif character == "'":
            self.add("post", "'", start)
        elif character == ":" and self.text[self.at : self.at + 1] == "=":
            pass  # a definition
        elif character in "+-*/^,=;<>":
            self.add("sign", character, start)
        elif character == "_":
            self.refuse("Nothing can stand below this.", start, "Below a name stands what is part of it: x_1, W_{hh}.")
        elif character != "$":
            self.refuse(f"The character {character!r} has no meaning here.", start, "A text with a backslash is LaTeX.")

    def _below_norm(self) -> None:
        """``_F``, ``_2^2`` or ``^2_2`` after a norm."""
        power = SQUARED_BELOW.match(self.text, self.at)
        at = power.end() if power else self.at
        match = BELOW.match(self.text, at)
        if not match:
            return
        self.at = match.end()
        inside = match[1] if match[1] is not None else match[2]
        self.add("below", re.sub(r"\\[A-Za-z]+|[{}\s]", "", inside), match.start())
        if power:
            digits = re.sub(r"\D", "", power[1])
            self.add("sign", "^", power.start(1), power.start(1) + 1)
            self.add("number", int(digits), power.end(1) - 1, power.end(1))

    # Commands.

    def _command(self) -> None:
        start = self.at
        match = COMMAND.match(self.text, start)
        assert match is not None
        self.at = match.end()
        name = match[1].rstrip("*") or match[1]
        if name in ("begin", "end"):
            environment = ENVIRONMENT.match(self.text, self.at)
            self.at = environment.end() if environment else self.at
            self.environments += 1 if name == "begin" else -1
        elif name in SIGNS:
            self.add("sign", SIGNS[name], start)
        elif name in BARS:
            self.add(BARS[name], name, start)
            self._below_norm()
        elif name in COMMANDS:
            COMMANDS[name](self, start)
        elif name in OPENING:
            self.add("name", OPENING[name], start)
            self.add("open", "(", start)
        elif name in CLOSING:
            self.add("close", ")", start)
        elif name in GROUPED or name in MARKS:
            self._group(name, start)
        elif name not in SKIPPED:
            self._word(name, start)
        elif self.text.startswith((".", "\\."), self.at) and name in ("left", "right"):
            self.at += 1

    def _word(self, name: str, start: int) -> None:
        """A Greek letter or a function."""
        if name == "sigma" and re.compile(r"(?:\\left)?\(|\s*\^\s*\{\s*\\odot").match(self.text, self.at):
            name = "sigmoid"
        own = OF_COMPLEX.get(name) or OTHER_NAMES.get(name, name)
        applied = name not in INSTEAD or re.compile(r"(?:\\left)?\(").match(self.text, self.at)
        if (is_function(own) or own == "pi") and applied:
            self._function(own, start)
        elif name in GREEK:
            self._name(name if BELOW.match(self.text, self.at) else RESERVED_LETTERS.get(name, name), start)
        else:
            hint = INSTEAD.get(name, f"Write \\operatorname{{{name}}} for a function, \\mathrm{{{name}}} for a name.")
            self.refuse(f"\\{name} has no meaning here.", start, hint)

    def _function(self, name: str, start: int) -> None:
        """A function, with ``_{\\mathrm{row}}`` and ``^{\\odot}``."""
        below = BELOW.match(self.text, self.at)
        if below:
            inside = re.sub(r"\\[A-Za-z]+|[{}\s]", "", below[1] if below[1] is not None else below[2])
            joined = name + inside if name == "log" else f"{name}_{inside}"
            if is_function(joined):
                self.at, name = below.end(), joined
        entries = ENTRYWISE.match(self.text, self.at)
        self.at = entries.end() if entries else self.at
        self.add("dotted" if entries else "name", name, start)

    def _group(self, font: str, start: int) -> None:
        r"""``\mathbf{A}``, ``\hat{x}``, ``\mathbf{1}``, ``\operatorname{tr}``."""
        blank = re.compile(r"\s*").match(self.text, self.at)
        inner = COMMAND.match(self.text, blank.end()) if blank else None
        match = GROUP.match(self.text, self.at)
        if inner and font != "operatorname":
            self.at = inner.end()
            word = inner[1]
        elif match:
            self.at = match.end()
            word = match[1] if match[1] is not None else match[2]
        else:
            self.refuse(f"\\{font} has nothing in it.", start, f"Write \\{font}{{x}}.")
        word = self._plain(word.strip(), start)
        if font in MARKS:
            word = f"{word}_{MARKS[font]}"
        elif word in ("1", "0"):
            below = BELOW.match(self.text, self.at)
            self.at = below.end() if below else self.at
            kind = "ones" if word == "1" else "number"
            self.add(kind, int(word), start, self.at if word == "1" else start + 1)
            return
        own = word if is_function(word) else WRITTEN.get(word) or OTHER_NAMES.get(word, word)
        if font == "operatorname" and not is_function(own):
            entries = ENTRYWISE.match(self.text, self.at)
            self.at = entries.end() if entries else self.at
            self.add("dotted", own, start)  # which is no product
        elif font not in MARKS and is_function(own) and len(word) > 1:
            self._function(own, start)
        else:
            self._name(word, start)

    def _plain(self, word: str, start: int) -> str:
        r"""The name that stands in a group: ``\beta``, ``x_{1}``, ``leaky\_relu``."""
        word = word.replace(r"\_", "_")
        word = re.sub(r"\\(?:mathrm|mathbf|boldsymbol|text|mathit)\s*", "", word)
        word = re.sub(r"\\([A-Za-z]+)\s*", lambda match: match[1], word)
        word = re.sub(r"[{}\s]", "", word)
        if not re.fullmatch(r"\w+'*", word):
            self.refuse(f"{word!r} is no name.", start, "A name has letters, digits and underscores.")
        return word

    def _name(self, name: str, start: int) -> None:
        """A name, with what stands below it."""
        below = BELOW.match(self.text, self.at)
        if below:
            self.at = below.end()
            name = f"{name}_{self._plain(below[1] if below[1] is not None else below[2], start)}"
        self.add("name", name, start)

    def _fraction(self, start: int) -> None:
        """Both parts, as a quotient in a bracket."""
        self.add("open", "(", start)
        self._part(start)
        self.add("sign", "/", start)
        self._part(start)
        self.add("close", ")", start, self.at)

    def _part(self, start: int) -> None:
        """An argument of a command: a group in braces, or one sign."""
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        if self.text.startswith("{", self.at):
            depth = len(self.braces)
            self.step()
            while len(self.braces) > depth and self.at < len(self.text):
                self.step()
            if len(self.braces) == depth:
                return
        elif self.at < len(self.text) and self.text[self.at].isdigit():
            self.at += 1
            self.add("number", int(self.text[self.at - 1]), self.at - 1)
            return
        elif self.at < len(self.text) and self.text[self.at] not in "}^_&":
            self.step()
            return
        self.refuse("An argument is missing here.", start, r"Write \frac{a}{b}, \sqrt{a}.")

    def _root(self, start: int) -> None:
        degree = re.compile(r"\s*\[\s*(\d+)\s*\]").match(self.text, self.at)
        if degree and degree[1] not in ("2", "3"):
            self.refuse("There are square and cube roots.", start, f"Write (…)^{{1/{degree[1]}}}.")
        self.at = degree.end() if degree else self.at
        self.add("name", "cbrt" if degree and degree[1] == "3" else "sqrt", start)
        self.add("open", "(", start)
        self._part(start)
        self.add("close", ")", start, self.at)

    def _line(self, start: int) -> None:
        self.lines.end(start)

    def _open(self, start: int) -> None:
        self.add("open", "(", start)

    def _shut(self, start: int) -> None:
        self.add("close", ")", start)


READERS: list[tuple[re.Pattern[str], Callable[[LatexReader, re.Match[str]], None]]] = [
    (SLOPE, LatexReader._slope),
    (GRADIENT, LatexReader._gradient),
    (TURNED, LatexReader._turned),
    (PSEUDO, LatexReader._pseudo),
    (ADJOINT, LatexReader._adjoint),
    (DAGGER, LatexReader._dagger),
    (STAR, LatexReader._star),
    (UNIT, LatexReader._unit),
    (OVERLINE, LatexReader._overline),
    (NUMBER, LatexReader._number),
    (DERIVED, LatexReader._derived),
]
COMMANDS: dict[str, Callable[[LatexReader, int], None]] = {
    "frac": LatexReader._fraction,
    "tfrac": LatexReader._fraction,
    "dfrac": LatexReader._fraction,
    "sqrt": LatexReader._root,
    "\\": LatexReader._line,
    "{": LatexReader._open,
    "}": LatexReader._shut,
    "lbrace": LatexReader._open,
    "rbrace": LatexReader._shut,
}
