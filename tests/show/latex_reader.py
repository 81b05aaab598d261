r"""LaTeX as ricci writes it, back to the notation: what a reader takes it to mean, for the tests.

It knows nothing of the trees that were written, so a bracket that is missing in LaTeX is missing in what it reads.
Products bind as on paper: ``\sum_{k}`` takes the term that follows, up to the next sign.
"""

from __future__ import annotations

import re
from functools import cache

from ricci.expr import OPS

TOKEN = re.compile(r"\\(?:left|right)(?:\\[a-z]+|\S)|\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|[^\s\\]|\s+")
SIGNS = {r"\le": "<=", r"\ge": ">=", r"\ne": "!=", "=": "==", r"\cdot": "*"}
OPENING = {r"\left(": (r"\right)", "(", ")"), r"\left[": (r"\right]", "(", ")"), r"\left|": (r"\right|", "abs(", ")")}
OPENING |= {r"\left\lfloor": (r"\right\rfloor", "floor(", ")"), r"\left\lceil": (r"\right\rceil", "ceil(", ")")}
CALL = re.compile(r"^(.*?)(\\left)?\(\{0\}(?:, \{\d\})*(\\right)?\)$")


SIZES = r"\text{sizes: } "
NO_SUM = re.compile(r" \\quad\\text\{\(no sum \$(.*?)\$\)\}$")


@cache
def words() -> dict[str, str]:
    """How functions begin in LaTeX, the longest first."""
    found = {r"\max": "maximum", r"\min": "minimum"}
    for name, op in OPS.items():
        match = CALL.match(op.latex or "")
        if match and match[1] and "{axes}" not in match[1]:
            found.setdefault(match[1].replace("{{", "{").replace("}}", "}"), name)
    return dict(sorted(found.items(), key=lambda pair: -len(pair[0])))


def read(latex: str) -> str:
    """A program of the notation that says what ``latex`` says."""
    lines = latex.replace("\\begin{aligned}\n", "").replace("\n\\end{aligned}", "").split(" \\\\\n")
    return "; ".join(_statement(line.replace("&=", "=")) for line in lines)


def _statement(line: str) -> str:
    if line.startswith(SIZES):
        parts = line.removeprefix(SIZES).split(r",\; ")
        said = ", ".join(" = ".join(Reader(side).sum() for side in part.split(" = ")) for part in parts)
        return "sizes: " + re.sub(r"floor\( \(\(1\)/\((\d+)\)\) (.*?) \)", r"floor((\2)/\1)", said)
    note = NO_SUM.search(line)
    if note:
        names = ", ".join(Reader(name).index() for name in note[1].split(", "))
        return f"{_statement(line[: note.start()])} (no sum {names})"
    left, sign, right = line.partition(" = ")
    if not sign or r"\left[" in left:  # the sign of a comparison
        return Reader(line).sum()
    return f"{Reader(left).sum()} = {Reader(right).sum()}"


class Reader:
    """A place in a line of LaTeX."""

    def __init__(self, text: str):
        self.text, self.at = text, 0

    def peek(self) -> str:
        match = TOKEN.match(self.text, self.at)
        return match[0] if match else ""

    def take(self) -> str:
        token = self.peek()
        self.at += len(token)
        return token

    def group(self) -> str:
        """What stands in the braces that open here."""
        assert self.take() == "{", self.text[self.at :]
        start, depth = self.at, 1
        while depth:
            token = self.take()
            assert token, self.text
            depth += (token == "{") - (token == "}")
        return self.text[start : self.at - 1]

    def sum(self, *ends: str) -> str:
        """Up to one of ``ends``, which is taken, or to the end of the text."""
        parts = []
        while self.peek() and self.peek() not in ends:
            token = self.peek()
            if token.isspace():
                parts.append(self.take())
            elif token in ("+", "-", ",", *SIGNS):
                parts.append(f" {SIGNS.get(token, token)} ")
                self.take()
            else:
                parts.append(self.factor())
        self.take()
        return "".join(parts)

    def factor(self) -> str:
        text = self.atom()
        while self.peek() == "^":
            self.take()
            text = f"{text}**({Reader(self.group()).sum()})"
        return text

    def atom(self) -> str:
        for word, name in words().items():
            if self.text.startswith(word + "(", self.at) or self.text.startswith(word + r"\left(", self.at):
                self.at += len(word)
                return f"{name}({self.arguments()})"
        token = self.take()
        if token in OPENING:
            close, before, after = OPENING[token]
            inverse = re.compile(r"([^()]*?)\^\{-1\}\\right\)(?=_|\{\}[_^])").match(self.text, self.at)
            if inverse:
                self.at = inverse.end()
                return f"inv({Reader(inverse[1]).whole_name()}){self.indices()}"
            return before + self.sum(close) + after
        if token == r"\log" and self.peek() == r"\left|":
            return re.sub(r"^log\(abs\(Gamma\((.*)\)\)\)$", r"lgamma(\1)", f"log({self.atom()})")
        if token == r"\frac":
            above, below = self.group(), self.group()
            if above.startswith(r"\partial"):
                return self.partial(re.sub(r"^\\partial(\^\{\d\})? ?", "", above), below.split(r"\partial ")[1:])
            return f"(({Reader(above).sum()})/({Reader(below).sum()}))"
        if token == r"\psi" and self.text.startswith("^{(", self.at):
            self.take()
            order = self.group()[1:-1]
            return f"polygamma({Reader(order).sum()}, {self.arguments()})"
        if token == r"\sqrt":
            root = "cbrt" if self.text.startswith("[3]", self.at) else "sqrt"
            self.at += 3 * (root == "cbrt")
            return f"{root}({Reader(self.group()).sum()})"
        braced = self.braces() if token == "{" else ""
        if braced:
            return braced
        if token in (r"\sum", r"\prod"):
            return f"{token[1:]}{self.indices()}({self.term()})"
        if token == "|":
            start = self.at
            self.at = self.text.index("|", start) + 1
            return f"|{Reader(self.text[start : self.at - 1]).index()}|"
        if token == r"\mathbf":
            return self.group() + self.indices()
        if token in (r"\max", r"\min", r"\det", r"\operatorname"):
            name = self.group().replace(r"\_", "_") if token == r"\operatorname" else token[1:]
            axes = self.indices()
            assert self.peek() in ("(", r"\left("), self.text
            return f"{name}{axes}({self.arguments()}){self.indices()}"
        if token[0].isdigit():
            return token
        return self.name(token) + self.indices()

    def braces(self) -> str:
        """What stands in braces that a power follows, or nothing else: ``{x_{i}}^{a}``."""
        start, self.at = self.at, self.at - 1
        inside = self.group()
        if self.peek() in ("^", ""):
            return f"({Reader(inside).sum()})"
        self.at = start
        return ""

    def partial(self, above: str, below: list[str]) -> str:
        """A derivative of what stands above the bar, or after it in brackets, by all that stand below."""
        if not above:
            assert self.take().isspace() and self.peek() == r"\left(", self.text
        text = Reader(above).sum() if above else self.atom()
        for by in below:
            text = f"D({text}, {Reader(by.strip()).sum()})"
        return text

    def term(self) -> str:
        while self.peek().isspace():
            self.take()
        text = ""
        while (
            self.peek() and self.peek() not in ("+", "-", ",", "}", ")", "=") and not self.peek().startswith("\\right")
        ):
            text += self.take() if self.peek().isspace() else self.factor()
        return text

    def arguments(self) -> str:
        return self.sum(r"\right)" if self.take() == r"\left(" else ")")

    def name(self, token: str) -> str:
        if token == "{":
            self.at -= 1
            return Reader(self.group()).whole_name()
        if token in (r"\mathrm", r"\mathit"):
            return self.group().replace(r"\_", "_")
        if token in (r"\dot", r"\bar", r"\hat", r"\tilde"):
            return f"{Reader(self.group()).whole_name()}_{token[1:]}"
        return token.lstrip("\\")

    def whole_name(self) -> str:
        """A name with a subscript of its own."""
        name = self.name(self.take())
        if self.peek() != "_":
            return name
        self.take()
        inside = self.group()
        return f"{name}_{Reader(inside).whole_name()}" if inside.startswith(r"\mathrm") else name + inside

    def heights(self) -> str:
        """Indices above and below: ``{}^{i}{}_{j}``."""
        found: list[tuple[str, list[str]]] = []
        while (sign := self.text[self.at : self.at + 3]) in ("{}^", "{}_"):
            self.at += 3
            name = Reader(self.group()).index()
            if found and found[-1][0] == sign[2]:
                found[-1][1].append(name)
            else:
                found.append((sign[2], [name]))
        return "".join(f"{sign}{{{' '.join(names)}{',' * (len(names) == 1)}}}" for sign, names in found)

    def indices(self) -> str:
        if self.text.startswith(("{}^", "{}_"), self.at):
            return self.heights()
        if self.peek() != "_":
            return ""
        self.take()
        inside = self.group()
        if re.fullmatch(r"\\mathrm\{(?:[^{}])*\}", inside):
            return "_" + inside[8:-1].replace(r"\_", "_")
        return "[" + ",".join(Reader(part).index() for part in _apart(inside)) + "]"

    def index(self) -> str:
        """An affine index, or a gather."""
        text = ""
        while token := self.take():
            if token.isspace():
                continue
            times = "*" if text[-1:] == "|" or (text[-1:].isdigit() and not token[0].isdigit()) else ""
            times = "" if token in "+-" else times
            if token == "|":
                end = self.text.index("|", self.at) + 1
                text, self.at = f"{text}{times}|{Reader(self.text[self.at : end - 1]).index()}|", end
            else:
                text += token if token in "+-'" or token[0].isdigit() else times + self.name(token) + self.indices()
        return text


def _apart(inside: str) -> list[str]:
    """Indices beside one another, each a letter, or between commas."""
    if re.fullmatch(r"(?:\w'*)+", inside):
        return re.findall(r"\w'*", inside)
    inside = re.sub(r"(?<![A-Za-z_^])\{([^{}]*\d[^{}]*)\}", r"\1", inside)  # braces that hold one index together
    parts, depth = [""], 0
    for character in inside:
        depth += (character == "{") - (character == "}")
        parts = [*parts, ""] if character == "," and not depth else [*parts[:-1], parts[-1] + character]
    return parts
