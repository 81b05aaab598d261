r"""The indices of a LaTeX text: what stands below a name, and above it where that is no exponent.

``a_{ij}`` has two indices, ``a_{i+1}`` one, ``a_{t_b}`` is gathered. What is upright belongs to the name,
``x_{\mathrm{obs}}``, and ``\mathit`` makes one index of a word. Digits may be read in several ways, ``a_{12}`` and
``x_{2i}``; the number of indices that the name has elsewhere decides, or braces, ``a_{{12}}``.
"""

from __future__ import annotations

from typing import NoReturn

from ricci.errors import NotationError
from ricci.notation.latex_letters import bracketed, known_order, letter, letters
from ricci.notation.latex_tokens import tokenise
from ricci.notation.latex_words import ACCENT_COMMANDS, CALLIGRAPHIC, FONTS, TRANSPOSED, UNITS
from ricci.notation.syntax import Index, TensorNode
from ricci.notation.tokens import LARGEST, NESTING_LIMIT, RESERVED

AFFINE = "An index is a sum of letters times integers, as in x_{2i+k-1}."
GATHER = "Compute it in a statement of its own, j_b = …, and write x_{j_b}."
LETTER = "Write a letter, a number, or a sum such as i+1."
WORD = r"Write \mathit{batch} for an index of several letters."


class LatexCursor:
    """A place in the tokens of a LaTeX text, and what its letters are."""

    def __init__(self, text: str, functions: frozenset[str], unknown: frozenset[str] = frozenset()):
        found = tokenise(text)
        self.text, self.functions, self.unknown = text, functions, unknown
        self.tokens, self.starts, self.ends = found.tokens, found.starts, found.ends
        self.letters = letters(found)
        self.complex_names: frozenset[str] = frozenset()
        self.in_variable = False
        self.at = 0
        self.depth = 0
        self.found: list[Index] = []  # all indices that stand below and above something

    @property
    def token(self) -> str:
        return self.tokens[self.at]

    @property
    def has_complex(self) -> bool:
        """Whether there are complex numbers in the text, so that a bar and a star are conjugates."""
        return bool(self.complex_names) or not UNITS.isdisjoint(self.tokens)

    def error(self, message: str, first: int, last: int, hint: str = "") -> NotationError:
        """An error with the caret under the tokens ``first`` to ``last``."""
        return NotationError(message, self.text, self.starts[first], self.ends[max(first, last)], hint)

    def fail(self, message: str, first: int, last: int, hint: str = "") -> NoReturn:
        raise self.error(message, first, last, hint)

    def source(self, first: int, last: int) -> str:
        """The text from one token to another, for hints, and therefore not at any length."""
        shown = self.text[self.starts[first] : self.ends[max(first, last)]]
        return shown if len(shown) <= 60 else shown[:60] + "…"

    def bracketed_indices(self, at: int, known: set[str]) -> bool:
        """Whether indices stand in brackets directly after a name, ``x[i,j]``, as in the plain notation."""
        return self.starts[at] == self.ends[at - 1] and bracketed(self.tokens, at, known)

    def take(self, token: str) -> bool:
        """Whether this token is the one; then it is passed."""
        if self.token != token:
            return False
        self.at += 1
        return True

    def deepen(self) -> None:
        self.depth += 1
        if self.depth > NESTING_LIMIT:
            message = f"The expression is nested more than {NESTING_LIMIT} deep."
            self.fail(message, self.at, self.at, "Give its inner parts names, in statements of their own.")

    def argument(self, what: str) -> tuple[int, int]:
        """The tokens of an argument, in braces or a single one, and the one after them; this goes past it."""
        at, token = self.at, self.token
        if token == "{":
            depth = 0
            while True:
                depth += (self.tokens[self.at] == "{") - (self.tokens[self.at] == "}")
                self.at += 1
                if not depth:
                    return at + 1, self.at - 1
        if token in ("", ";", "}", "^", "_", "&", ")", "]", "="):
            self.fail(f"There is nothing after {what}.", at - 1, at - 1, "Write an argument in braces.")
        if token[0].isdigit() and len(token) > 1:
            self.fail("Of this number LaTeX takes the first digit.", at, at, "Write the argument in braces.")
        self.at += 1
        if token in FONTS or token in ACCENT_COMMANDS:
            self.argument(token)
        return at, self.at

    def value(self, token: str, at: int) -> int | float:
        """The value of a number."""
        try:
            value = int(token) if token.isdigit() else float(token)
            if value <= LARGEST:
                return value
        except ValueError:  # Python limits the digits of an integer
            pass
        raise self.error("The number is too large.", at, at, "Scale the quantities, or give it as an input.")


class LatexIndices(LatexCursor):
    """Reads indices."""

    def subscript(self, first: int, last: int, name: str, height: str, so_far: int) -> tuple[str, list[Index]]:
        """What stands below a name, between two tokens: a word that belongs to the name, and indices."""
        if first == last:
            self.fail("The braces are empty.", max(first - 2, 0), last, LETTER)
        if last == first + 1 and self.tokens[first].isdigit() and self.letters.is_numbered(name):
            return self.tokens[first], []
        suffix, found = "", []
        for begin, end in self._apart(first, last):
            word = self._word(begin, end)
            if word:
                if suffix:
                    self.fail("Two words stand below one name.", begin, end - 1, WORD)
                suffix = word
                continue
            others = self._others(first, last, begin) + so_far
            found += self._chunk(begin, end, name, height, others)
        return suffix, found

    def _apart(self, first: int, last: int) -> list[tuple[int, int]]:
        """The pieces between commas."""
        pieces, depth, begin = [], 0, first
        for at in range(first, last):
            depth += (self.tokens[at] in "{(") - (self.tokens[at] in "})")
            if self.tokens[at] == "," and not depth:
                pieces.append((begin, at))
                begin = at + 1
        pieces.append((begin, last))
        if len(pieces) > 1 and pieces[-1][0] == last:  # a comma at the end
            pieces.pop()
        for begin, end in pieces:
            if begin == end:
                self.fail("An index is missing beside the comma.", begin, begin, LETTER)
        return pieces

    def _others(self, first: int, last: int, begin: int) -> int:
        """How many indices the other pieces have, about: each letter is one."""
        others = [piece for piece in self._apart(first, last) if piece[0] != begin and not self._word(*piece)]
        return sum(self._count(*piece) for piece in others)

    def _count(self, begin: int, end: int) -> int:
        if any(self.tokens[at] in ("+", "-", "|", "{") for at in range(begin, end)):
            return 1
        return max(1, sum(1 for at in range(begin, end) if letter(self.tokens[at])))

    def _word(self, begin: int, end: int) -> str:
        """The word that belongs to a name: upright, or an operator such as ``\\max``."""
        tokens = self.tokens[begin:end]
        if tokens[:1] and tokens[0] in CALLIGRAPHIC:  # of a set
            inside = [t for t in tokens[1:] if t not in ("{", "}")]
            return letter(inside[0]) if len(inside) == 1 else ""
        if len(tokens) != 1:
            return ""
        (token,) = tokens
        if token.startswith(("\\mathrm ", "\\operatorname ")):
            return token.partition(" ")[2]
        return token[1:] if token in (r"\max", r"\min", r"\log", r"\exp", r"\sup", r"\inf") else ""

    def _chunk(self, begin: int, end: int, name: str, height: str, others: int) -> list[Index]:
        """The indices of a piece: one that is a sum, or a run of letters and digits."""
        depth = 0
        for at in range(begin, end):
            depth += (self.tokens[at] == "{") - (self.tokens[at] == "}")
            if not depth and self.tokens[at] in ("+", "-", "|", r"\cdot", "*", r"\times"):
                return [self.affine(begin, end, height)]
        digits = [at for at in range(begin, end) if self.tokens[at].isdigit() and self.tokens[at - 1] != "_"]
        split = self._run(begin, end, height)
        before_letter = any(at + 1 < end and letter(self.tokens[at + 1]) for at in digits)
        long = any(len(self.tokens[at]) > 1 for at in digits)
        if not (before_letter or long) or (len(digits) == 1 and end == begin + 1 and not long):
            return split
        readings = [split]
        if before_letter and digits == [begin] and end == begin + 2:
            readings.append([self.affine(begin, end, height)])
        if long:
            readings.append(self._run(begin, end, height, whole=True))
        order = known_order(self.letters, name)
        fitting = [reading for reading in readings if order is None or len(reading) + others == order]
        if len(fitting) == 1:
            return fitting[0]
        shown = self.source(begin, end - 1)
        apart = ",".join(self.text[i.start : i.end] for i in split)
        hint = f"Write {name}_{{{apart}}} for {len(split)} indices, and {name}_{{{{{shown}}}}} for one."
        raise self.error(f"The index {shown!r} can be read in several ways.", begin, end - 1, hint)

    def _run(self, begin: int, end: int, height: str, whole: bool = False) -> list[Index]:
        """A letter each; digits too, unless they are to be whole numbers."""
        found: list[Index] = []
        at = begin
        while at < end:
            token, start, stop = self.tokens[at], self.starts[at], self.ends[at]
            if token == "'" and found:
                found[-1] = self._primed(found[-1], stop)
                at += 1
            elif token.isdigit():
                parts = (
                    [(token, start, stop)] if whole else [(d, start + k, start + k + 1) for k, d in enumerate(token)]
                )
                found += [Index(a, b, (), int(self.value(d, at)), height=height) for d, a, b in parts]
                at += 1
            elif token == "{":
                close = self._close(at)
                found.append(self.affine(at + 1, close, height))
                at = close + 1
            elif at + 1 < end and self.scripted(at + 1):
                index, at = self._gather(at, height)
                found.append(index)
            else:
                found.append(Index(start, stop, ((1, self.label(at)),), plain=True, height=height))
                at += 1
        return found

    def _close(self, at: int) -> int:
        depth = 0
        while True:
            depth += (self.tokens[at] == "{") - (self.tokens[at] == "}")
            if not depth:
                return at
            at += 1

    @staticmethod
    def _primed(index: Index, end: int) -> Index:
        ((c, name),) = index.terms or ((1, ""),)
        return Index(index.start, end, ((c, name + "'"),), plain=True, height=index.height)

    def label(self, at: int) -> str:
        """The name of the index at a token."""
        token = self.tokens[at]
        name = letter(token)
        if name:
            return name
        if token.startswith(("\\mathrm ", "\\operatorname ")):
            return token.partition(" ")[2]
        if token == "," or token in ("}", "") or token in TRANSPOSED:
            self.fail("An index is missing here.", at, at, LETTER)
        if token in ("(", "["):
            self.fail("An index cannot hold a function, or brackets.", at, at, GATHER)
        raise self.error(f"An index cannot hold {token!r}.", at, at, AFFINE)

    def scripted(self, at: int) -> bool:
        """Whether something stands below what is before a token, or beside it at ``{}^`` or ``{}_``."""
        tokens = self.tokens
        return tokens[at] == "_" or (tokens[at] == "{" and tokens[at + 1] == "}" and tokens[at + 2] in ("^", "_"))

    def height_below(self, explicit: bool) -> str:
        """Where a subscript stands: in brackets where heights are written ``{}_i`` in this text, and this is not."""
        return "down" if explicit or not self.letters.explicit or self.letters.raised else ""

    def _gather(self, at: int, height: str) -> tuple[Index, int]:
        """``t_{b}`` as an index, and the token after it; ``n_{}`` gathers by a number."""
        self.deepen()
        start, name, here = self.starts[at], self.label(at), self.at
        if name in RESERVED:
            self.fail(f"An index cannot be gathered by {name!r}.", at, at, GATHER)
        indices: list[Index] = []
        at += 1
        while self.scripted(at):
            explicit = self.tokens[at] == "{"
            at += 2 * explicit
            own_height = "up" if self.tokens[at] == "^" else self.height_below(explicit)
            self.at = at + 1
            first, last = self.argument("_")
            if first < last:
                suffix, own = self.subscript(first, last, name, own_height, len(indices))
                name, indices = f"{name}_{suffix}" if suffix else name, indices + own
            at = self.at
        self.at = here
        self.depth -= 1
        self.found += indices
        tensor = TensorNode(start, self.ends[at - 1], name, tuple(indices))
        return Index(start, tensor.end, (), tensor=tensor, height=height), at

    def affine(self, begin: int, end: int, height: str) -> Index:
        """An index such as ``i``, ``2i+k``, ``|n|-1-i`` or ``|k| i + 3``; or a gather in braces."""
        if end > begin + 1 and self.scripted(begin + 1):
            index, at = self._gather(begin, height)
            if at != end:
                self.fail("An index that is gathered stands alone.", at, end - 1, GATHER)
            return index
        names: dict[tuple[str, str], int] = {}
        sizes: dict[str, int] = {}
        const, at = 0, begin
        while True:
            sign = -1 if self.tokens[at] == "-" else 1
            at += self.tokens[at] == "-" or (self.tokens[at] == "+" and at > begin)
            factor, size, name, at = self._term(at, end)
            if name:
                names[size, name] = names.get((size, name), 0) + sign * factor
            elif size:
                sizes[size] = sizes.get(size, 0) + sign * factor
            else:
                const += sign * factor
            if at >= end:
                break
        terms = tuple([(c, name) for (_, name), c in names.items() if c])
        strides = tuple([size for (size, _), c in names.items() if c])
        bare = end == begin + 1 or self.tokens[begin + 1 : end] == ["'"] * (end - begin - 1)
        found = Index(self.starts[begin], self.ends[end - 1], terms, const)
        found.sizes = tuple([(c, name) for name, c in sizes.items() if c])
        found.plain, found.height = bool(bare and names), height
        found.strides = strides if any(strides) else ()
        return found

    def _term(self, at: int, end: int) -> tuple[int, str, str, int]:
        """A number times a size and a letter, each of which may be missing; and the token after them."""
        factor, size, name, first = 1, "", "", at
        while at < end and self.tokens[at] not in ("+", "-"):
            token = self.tokens[at]
            if token.isdigit():
                factor *= int(self.value(token, at))
            elif token in ("|", r"\left|"):
                inner = self.label(at + 1) if at + 1 < end else ""
                at += 1
                while self.tokens[at + 1] == "'":
                    inner, at = inner + "'", at + 1
                if at + 1 >= end or self.tokens[at + 1] not in ("|", r"\right|"):
                    self.fail("Bars in an index hold one letter, |n|, and are its size.", first, at, AFFINE)
                size = self._only(size, inner, at)
                at += 1
            elif token in (r"\cdot", "*", r"\times"):
                pass
            elif token == "'" and name:
                name += "'"
            else:
                name = self._only(name, self.label(at), at)
                if self.tokens[at + 1] == "_":
                    self.fail("An index that is gathered stands alone.", at, at, GATHER)
            at += 1
        if at == first:
            self.fail("An index is missing here.", max(first - 1, 0), first, LETTER)
        return factor, size, name, at

    def _only(self, before: str, name: str, at: int) -> str:
        if before:
            self.fail("The product of two indices is not an index.", at - 1, at, "Put a comma between them.")
        return name

    def axes(self, first: int, last: int, what: str) -> tuple[Index, ...]:
        """The letters under a sign or an operator, which are names of indices."""
        _, found = self.subscript(first, last, what, "", 0)
        for index in found:
            if not index.plain:
                hint = f"Write {what}_{{k}}, with the index that it works on."
                raise NotationError(f"Below {what} stand letters.", self.text, index.start, index.end, hint)
        if not found:
            self.fail(f"Below {what} stand letters.", first, last - 1, WORD)
        return tuple(found)
