r"""What the letters of a LaTeX text are, before it is parsed: indices, names, sizes.

On paper ``x^k`` is a power or an entry, ``|i|`` an absolute value or a size, ``a_{12}`` one entry or another, and ``n``
the last value of an index. Which it is, is seen elsewhere in the text: a letter below some name is an index, and one
that stands by itself is a name. Where that does not tell, the parser refuses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ricci.notation.latex_tokens import Tokens
from ricci.notation.latex_words import (
    ACCENT_COMMANDS,
    CALLIGRAPHIC,
    EQUALS,
    FONTS,
    FUNCTION_NAMES,
    FUNCTIONS,
    GREEK,
    RELATIONS,
)

SUMS = frozenset((r"\sum", r"\prod"))
OPENING = frozenset(("(", "[", "{", ",", "|", r"\left|", r"\|", r"\lVert", r"\mid"))
CLOSING = frozenset((")", "]", "}", ",", "|", r"\right|", r"\|", r"\rVert", r"\mid"))
ABOVE = frozenset(("i", "j", "k", "l", "mu", "nu", "rho", "sigma", "alpha", "beta"))  # surely indices above a name


@dataclass
class Letters:
    """What was found: letters that are indices, how often a name stands alone, how many indices names have."""

    indices: set[str] = field(default_factory=set)
    summed: set[str] = field(default_factory=set)  # those under a sign
    bare: Counter[str] = field(default_factory=Counter)
    called: Counter[str] = field(default_factory=Counter)  # before a bracket
    orders: dict[str, set[int]] = field(default_factory=dict)
    above: Counter[str] = field(default_factory=Counter)
    above_left: set[str] = field(default_factory=set)
    defined: set[str] = field(default_factory=set)  # names at the beginning of a left side
    numbered: set[str] = field(default_factory=set)  # names that are defined with a number below, J_2 = …
    scalars: set[str] = field(default_factory=set)  # names that are numbers, v = v_0 + a t
    lettered: set[str] = field(default_factory=set)  # and those with letters below
    traced: set[str] = field(default_factory=set)  # names with one letter twice below, A_{kk}
    lasts: set[tuple[str, str]] = field(default_factory=set)  # last values of sums with a letter below, T_x and n_1
    explicit: bool = False  # whether indices stand at ``{}^`` and ``{}_``
    raised: bool = False  # whether some stand at a bare ``^``

    def is_numbered(self, name: str) -> bool:
        """Whether a number below a name belongs to it: ``J_2`` has a definition, or ``J`` is a number, and ``J`` has
        nowhere an index."""
        return name in self.numbered | self.scalars and name not in self.lettered

    def is_size(self, name: str) -> bool:
        """Whether ``|name|`` is the size of an index: of one of the text, or of a letter that is no usual name."""
        return name in self.indices or (name not in self.bare and re.fullmatch("[i-t]|mu|nu", name) is not None)

    def is_above(self, name: str) -> bool:
        """Whether a letter above a name is an index."""
        if name in self.indices:
            return True
        return not self.bare[name] and name in self.above_left and (name in ABOVE or self.above[name] > 1)


def letter(token: str) -> str:
    """The name that a token is as a letter, or an empty text."""
    if token[:1].isalpha():
        return token
    if token.startswith("\\mathit "):
        return token[8:]
    return token[1:] if token[:1] == "\\" and token[1:] in GREEK else ""


def letters(found: Tokens) -> Letters:
    """What the letters of a text are."""
    return _Scan(found).result


class _Scan:
    def __init__(self, found: Tokens):
        self.tokens, self.result = found.tokens, Letters()
        self.touches = found.touches
        tokens = found.tokens
        self.left, self.begins = True, ""
        self.result.lasts = self.last_values()
        self.run(0, len(tokens))

    def last_values(self) -> set[tuple[str, str]]:
        """The last values ``\\sum_{t=1}^{T_x}`` that have a number below, or a letter that nothing else has there."""
        tokens, found = self.tokens, set[tuple[str, str]]()
        below: dict[str, set[str]] = {}  # letter → the tokens that it stands below
        for at, token in enumerate(tokens):
            if token != "_":
                continue
            first, last, after = self.argument(at + 1)
            for name in self.names(first, last):
                below.setdefault(name, set()).add(tokens[at - 1])
            if tokens[at - 1] in SUMS and tokens[after] == "^":
                first, last, _ = self.argument(after + 1)
                inside = [t for t in tokens[first:last] if t not in ("{", "}")]
                inside = inside[:-2] if inside[-2:] == ["-", "1"] else inside
                if len(inside) == 3 and inside[1] == "_" and letter(inside[0]):
                    found.add((inside[0], inside[2]))
        return {(base, sub) for base, sub in found if sub.isdigit() or below.get(sub) == {base}}

    def run(self, at: int, end: int) -> None:
        while at < end and self.tokens[at]:
            at = self.step(at)

    def step(self, at: int) -> int:
        token, result = self.tokens[at], self.result
        if token == ";" or token in EQUALS:
            if self.left and token != ";":
                self.result.defined |= {self.begins} - {""}
                self.result.numbered |= {self.begins} - {""} if self.digits_before(at) else set()
                self.result.scalars |= {self.begins} - {""} if self.called_before(at) else set()
            self.left, self.begins = token == ";", ""
            return at + 1
        if token in SUMS or (
            (token in FUNCTIONS or token.startswith("\\operatorname ")) and self.tokens[at + 1] == "_"
        ):
            if self.tokens[at + 1] == "_":
                first, last, after = self.argument(at + 2)
                names = self.names(first, self.until_relation(first, last))
                names |= set(ordered(self.tokens[first:last])[:2])
                result.indices |= names
                result.summed |= names if token in SUMS else set()
                return after
            return at + 1
        if token in (")", "]") and self.tokens[at + 1] == "_":  # the entry of a matrix in brackets
            first, last, after = self.argument(at + 2)
            result.indices |= self.names(first, last)
            return after
        if token == r"\nosum":
            while self.tokens[at] != r"\endnosum":
                result.indices |= {letter(self.tokens[at])} - {""}
                at += 1
            return at
        if token == "}" and self.tokens[at + 1] == "_":  # below a name that has a word below, {x_{\mathrm{o}}}_{i}
            first, last, after = self.argument(at + 2)
            result.indices |= self.names(first, last)
            return after
        if token in (r"\overline", r"\bar") and self.tokens[at + 1] == "{" and not is_one_name(self.tokens, at + 2):
            first, last, after = self.argument(at + 1)
            self.run(first, last)
            return after
        name, after = self.name(at)
        if self.left and (not at or self.tokens[at - 1] == ";") and name:
            self.begins = name
        return self.scripts(name, at, after) if name else at + 1

    def digits_before(self, at: int) -> bool:
        """Whether a left side is a name with digits below it alone; ``at`` is the sign of equality."""
        first = next((k + 1 for k in range(at - 1, -1, -1) if self.tokens[k] == ";"), 0)
        after = self.name(first)[1]
        if self.tokens[after] != "_":
            return False
        begin, end, last = self.argument(after + 1)
        return last == at and begin < end and all(t.isdigit() for t in self.tokens[begin:end])

    def called_before(self, at: int) -> bool:
        """Whether a left side is ``x(t)``."""
        first = next((k + 1 for k in range(at - 1, -1, -1) if self.tokens[k] == ";"), 0)
        return self.tokens[self.name(first)[1]] == "("

    def whole(self, begin: int, at: int) -> bool:
        """Whether a bare name may be a whole tensor: after a function or the sign of a derivative, or alone in bars."""
        before, after = self.tokens[begin - 1] if begin else ";", self.tokens[at]
        if before in FUNCTIONS or before.startswith("\\operatorname ") or before in (r"\partial", "d", "\\mathrm d"):
            return True
        return before in OPENING and after in CLOSING

    def name(self, at: int) -> tuple[str, int]:
        """The name that begins at a token, and where it ends; accents and fonts around a letter belong to it."""
        token = self.tokens[at]
        if token in ACCENT_COMMANDS or token in FONTS:
            first, last, after = self.argument(at + 1)
            inside = [letter(t) for t in self.tokens[first:last]]
            if token in FONTS and self.tokens[first:last] in (["1"], ["0"]):
                return "1", after
            word = "".join(inside[:1])
            return (f"{word}_{ACCENT_COMMANDS[token]}" if token in ACCENT_COMMANDS else word), after
        if token.startswith(("\\mathrm ", "\\operatorname ")):
            return token.partition(" ")[2], at + 1
        if token in ("1", "0") and self.tokens[at + 1] == "_":
            return "1", at + 1
        return letter(token), at + 1

    def argument(self, at: int) -> tuple[int, int, int]:
        """An argument: the first of its tokens, the one after them, and the one after its brace, if it has braces."""
        if self.tokens[at] in FONTS and self.tokens[at + 1] == "{":
            _, _, end = self.argument(at + 1)
            return at, end, end
        if self.tokens[at] != "{":
            end = at + 1 if self.tokens[at] else at
            return at, end, end
        depth, first = 0, at
        while True:
            depth += (self.tokens[at] == "{") - (self.tokens[at] == "}")
            if not depth:
                return first + 1, at, at + 1
            at += 1

    def until_relation(self, first: int, last: int) -> int:
        signs = (*RELATIONS, "=", r"\in")
        return next((at for at in range(first, last) if self.tokens[at] in signs), last)

    def names(self, first: int, last: int) -> set[str]:
        """The letters among some tokens, but for those that gather, ``t_{b}``."""
        tokens = self.tokens
        words = {
            letter(tokens[at])
            for at in range(first, last)
            if tokens[at + 1] != "_" and not CALLIGRAPHIC.intersection(tokens[max(at - 2, first) : at])
        }
        return words - {""}

    def scripts(self, name: str, begin: int, at: int) -> int:
        tokens, result = self.tokens, self.result
        count: int | None = None
        exponents, raised = [], False
        while True:
            explicit = tokens[at : at + 2] == ["{", "}"] and tokens[at + 2] in ("^", "_")
            at += 2 * explicit
            called = tokens[begin].startswith("\\operatorname ") and tokens[begin].partition(" ")[2] in FUNCTION_NAMES
            if tokens[at] == "[" and not called and self.touches(at) and bracketed(tokens, at, result.indices):
                close = tokens.index("]", at)
                result.indices |= self.names(at + 1, close)
                count, at = self.added(count, tokens[at + 1 : close]), close + 1
                continue
            if tokens[at] not in ("^", "_"):
                break
            first, last, after = self.argument(at + 1)
            inside = tokens[first:last]
            if tokens[at] == "_" and len(inside) == 1 and (tokens[begin], inside[0]) in result.lasts:
                return after
            plain = all(letter(t) or t in (",", "'") for t in inside) and bool(inside)
            if tokens[at] == "_" or explicit:
                if not any(t in RELATIONS or t == "=" for t in inside):
                    result.indices |= self.names(first, last)
                    result.explicit |= explicit
                    count = self.added(count, inside)
                    result.lettered |= {name} if self.names(first, last) else set()
                    words = [letter(t) for t in inside if t != ","]
                    result.traced |= {name} if len(words) == 2 and words[0] == words[1] != "" else set()
            elif inside[-1:] == [","]:  # x^{0,} is an entry, and no power
                raised = result.raised = True
                result.orders.setdefault(name, set()).add(len(inside) // 2)
            elif inside in (["T"], ["-", "T"]):
                pass  # a transpose, unless the text has a number of that name
            elif len(inside) == 1 and inside[0].startswith("\\mathrm ") and len(inside[0]) > 9 and name != "e":
                pass  # a word that belongs to the name, unless the text has a number of that name
            elif plain and name != "e":
                words = [letter(t) for t in inside if letter(t)]
                result.above.update(words)
                result.above_left |= set(words) if self.left else set()
                raised = result.raised = True
            else:
                exponents.append((first, last))
            at = after
        if tokens[begin - 1] in ("(", "[") and tokens[at] in (")", "]") and tokens[at + 1] == "_" and count is None:
            # (A^{-1})_{ij}
            first, last, _ = self.argument(at + 2)
            count = self.added(None, tokens[first:last])
        if count and name not in ("1", "delta", "varepsilon", "epsilon"):
            result.orders.setdefault(name, set()).add(count)
        power = name == "e" and bool(exponents)  # the exponential
        barred = tokens[begin - 1] == "|" == tokens[at]
        if count is None and not raised and not power and not barred and not tokens[begin].startswith("\\mathit"):
            (result.called if tokens[at] == "(" else result.bare)[name] += 1
            result.scalars |= {name} if tokens[at] != "(" and not self.whole(begin, at) else set()
        for first, last in exponents:
            self.run(first, last)
        return at

    @staticmethod
    def added(count: int | None, inside: list[str]) -> int:
        """How many indices a name has with some more, and -1 where that is not sure: with digits it is not."""
        words = [t for t in inside if not t.startswith("\\mathrm ")]
        if count == -1 or not all(letter(t) or t in (",", "'") for t in words):
            return -1
        return (count or 0) + sum(1 for t in words if letter(t))


def is_one_name(tokens: Sequence[str], first: int) -> bool:
    """Whether the braces around a token hold one name, ``{z}``, ``{x_{1}}``, and no expression."""
    inside = list(tokens[first : tokens.index("}", first)])
    while inside[:1] and inside[0] in FONTS:
        inside = [t for t in inside[1:] if t != "{"]
    head, below = inside[:1], [t for t in inside[1:] if t not in ("_", "{")]
    word = all(t.isdigit() or t.startswith("\\mathrm ") for t in below)
    named = bool(head) and (bool(letter(head[0])) or head[0].startswith("\\mathrm ") or head[0] in ACCENT_COMMANDS)
    return named and (len(inside) == 1 or (inside[1] == "_" and word) or head[0] in ACCENT_COMMANDS)


def ordered(tokens: list[str]) -> tuple[str, ...]:
    r"""The two indices, the relation between them, the first place and the last value of ``1 \le i < j \le n``."""
    if len(tokens) < 7 or tokens[0] not in ("0", "1") or [RELATIONS.get(tokens[k]) for k in (1, 5)] != ["<=", "<="]:
        return ()
    one, sign, other = letter(tokens[2]), RELATIONS.get(tokens[3], ""), letter(tokens[4])
    return (one, other, sign, tokens[0], *tokens[6:]) if one and other and sign in ("<", "<=") else ()


def bracketed(tokens: list[str], at: int, known: Container[str]) -> bool:
    """Whether the bracket at a token holds indices, as in ``x[i,j]``: letters between commas; sums of known ones."""
    close = tokens.index("]", at) if "]" in tokens[at:] else at
    inside = tokens[at + 1 : close]
    if not inside or not all(letter(t) or t.isdigit() or t in (",", "'", "+", "-", "*", "|") for t in inside):
        return False
    simple = all(letter(t) or t.isdigit() or t in (",", "'") for t in inside)
    apart = all(a in (",", "'") or b in (",", "'") for a, b in pairwise(inside))
    return (simple and apart) or all(letter(t) in known for t in inside if letter(t))


def known_order(found: Letters, name: str) -> int | None:
    """How many indices a name has, where one place in the text tells for sure."""
    orders = found.orders.get(name, set()) - {-1}
    return next(iter(orders)) if len(orders) == 1 else None
