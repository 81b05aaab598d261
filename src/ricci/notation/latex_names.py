r"""Names of a LaTeX text, with what stands below and above them.

``x^2`` is a power and ``x^i`` an entry where ``i`` is an index of the text; ``{}^i`` is an entry in any case.
``A^\top`` turns indices around, ``A^{-1}_{ij}`` is an entry of the inverse. A name with an accent or a word below is
one name, ``y_bar``, ``x_obs``. Where no index stands above in the whole text, all are Cartesian.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ricci.notation import syntax
from ricci.notation.latex_bounds import Bounds
from ricci.notation.latex_indices import LatexIndices
from ricci.notation.latex_letters import letter
from ricci.notation.latex_words import (
    ACCENT_COMMANDS,
    ADJOINT,
    CALLIGRAPHIC,
    FONTS,
    NO_MEANING,
    RESERVED_LETTERS,
    STARS,
    TRANSPOSED,
)
from ricci.notation.syntax import Index, Node

MATRIX = "Matrix notation is read by rc.matrix; here indices are named, as in x_i A_{ij} x_j."
NUMBER = "The letter {0!r} is an index here, and its value is no number: an input of that name is {1}."
STACKED = r"Write {0}^{{-1}}_{{ij}} for the entry of an inverse, and \frac{{1}}{{{0}_{{ij}}}} for one over an entry."
POWERS = r"Write it without \sum for an entry. A power by the place takes an input, w_{{{0}}} with the places in it."


@dataclass
class Scripts:
    """What stands below and above a name."""

    indices: list[Index] = field(default_factory=list)
    suffix: str = ""
    power: Node | None = None
    turned: bool = False  # a transpose
    inverse: str = ""  # "inv" or "pinv"
    before: int = 0  # how many indices stand before the sign of an inverse
    sign: int = 0  # its token
    conjugate: bool = False


def upright(name: str) -> str:
    """How the name of an input is written that a letter would be read otherwise; upright i and j are numbers."""
    return f"\\mathit{{{name}}}" if name in ("i", "j") else f"\\mathrm{{{name}}}"


class LatexNames(LatexIndices):
    """Reads names."""

    def __init__(self, text: str, functions: frozenset[str], unknown: frozenset[str] = frozenset()):
        super().__init__(text, functions, unknown)
        self.bounds = Bounds(self)
        self.fonts: dict[str, tuple[bool, int]] = {}  # letter → whether it is calligraphic, and where

    def expression(self, first: int, last: int) -> Node:
        raise NotImplementedError

    # What a name is.

    def base(self) -> str:
        """The name at this token, which it goes past, without what stands below and above."""
        at, token = self.at, self.token
        if token in ACCENT_COMMANDS:
            self.at += 1
            first, last = self.argument(token)
            inside, after = self._whole(first, last, token), self.at
            self.at = after
            return f"{inside}_{ACCENT_COMMANDS[token]}"
        if token in FONTS:
            self.at += 1
            first, last = self.argument(token)
            return self._in_font(token, first, last, at)
        self.at += 1
        if token.startswith(("\\mathrm ", "\\mathit ", "\\operatorname ")):
            return token.partition(" ")[2]
        self._font(letter(token), False, at)
        return letter(token)

    def _in_font(self, token: str, first: int, last: int, at: int) -> str:
        names = [letter(t) for t in self.tokens[first:last]]
        written = f"{token}{{{''.join(self.tokens[first:last])}}}"
        if written in NO_MEANING:
            self.fail(f"{written} has no meaning here.", at, last, NO_MEANING[written])
        if len(names) != 1 or not names[0]:
            if last == first + 1 and self.tokens[first].startswith("\\mathrm "):
                return self.tokens[first][8:]
            self.fail(f"In {token} stands one letter.", at, max(first, last - 1), r"Write \mathrm{name} for a word.")
        self._font(names[0], token in CALLIGRAPHIC, at)
        return names[0]

    def _font(self, name: str, calligraphic: bool, at: int) -> None:
        """A letter in two fonts would be two names on paper and one here."""
        known, _ = self.fonts.setdefault(name, (calligraphic, at))
        if known != calligraphic:
            message = f"The letter {name!r} stands in two fonts, which are one name here."
            self.fail(message, at, at, rf"Write one of them as {name}_{{\mathrm{{1}}}}.")

    def _whole(self, first: int, last: int, what: str) -> str:
        """A name with a word or digits below: ``\\bar{x_{1}}``; and nothing after it.

        ``what`` is the command that it stands in, if not braces alone.
        """
        here, self.at = self.at, first
        inside = what or "the braces"
        if first == last or not self.begins_name():
            self.fail(f"A name is missing in {inside}.", max(first - 2, 0), last, rf"Write {what}{{x}}.")
        name = self.base()
        if self.token == "_" and self.at < last:
            self.at += 1
            begin, end = self.argument("_")
            suffix = self._word(begin, end)
            digits = "".join(self.tokens[begin:end])
            if not suffix and not digits.isdigit():
                self.fail(
                    f"Indices stand after {inside}.", begin, max(begin, end - 1), rf"Write {what}{{{name}}}_{{i}}."
                )
            name = f"{name}_{suffix}" if suffix else name + digits
        if self.at != last:
            self.fail(f"In {inside} stands one name.", first, last - 1, rf"Write {what}{{x}}.")
        self.at = here
        return name

    def begins_name(self) -> bool:
        token = self.token
        return bool(letter(token)) or token in ACCENT_COMMANDS or token in FONTS or token.startswith("\\mathrm ")

    def braced_name(self) -> str:
        """The name in the braces that open here, if there is nothing else in them and a subscript after them."""
        at = self.at
        last = self._close(at)
        if self.tokens[last + 1] != "_" and self.tokens[last + 1 : last + 3] != ["{", "}"]:
            return ""
        self.at = at + 1
        if not self.begins_name():
            self.at = at
            return ""
        name = self._whole(at + 1, last, "")
        self.at = last + 1
        return name

    # What stands below and above.

    def scripts(self, name: str, first: int) -> Scripts:
        found = Scripts()
        while True:
            token = self.token
            explicit = token == "{" and self.tokens[self.at + 1] == "}" and self.tokens[self.at + 2] in ("^", "_")
            self.at += 2 * explicit
            token = self.token
            if token == "'":
                self.fail("A tensor has no prime.", self.at, self.at, rf"Call it {name}_{{\mathrm{{new}}}}.")
            if token == "[" and self.bracketed_indices(self.at, self.letters.indices):
                close = self.tokens.index("]", self.at)
                self._below(found, name, self.at + 1, close, False)
                self.at = close + 1
                continue
            if token not in ("^", "_"):
                return found
            self.at += 1
            begin, end = self.argument(token)
            if token == "_":
                self._below(found, name, begin, end, explicit)
            elif explicit or self._is_height(begin, end):
                _, own = self.subscript(begin, end, name, "up", len(found.indices))
                found.indices += own
            else:
                self._above(found, name, begin, end, first)

    def _below(self, found: Scripts, name: str, begin: int, end: int, explicit: bool) -> None:
        known = f"{name}_{found.suffix}" if found.suffix else name
        suffix, own = self.subscript(begin, end, known, self.height_below(explicit), len(found.indices))
        if suffix and found.suffix:
            self.fail("Two words stand below one name.", begin, end - 1, "Put them together in one word.")
        found.suffix = suffix or found.suffix
        found.indices += own

    def _is_height(self, begin: int, end: int) -> bool:
        """Whether what stands above a name is indices of the text."""
        tokens = self.tokens[begin:end]
        names = [letter(t) for t in tokens if letter(t)]
        if tokens[-1:] == [","]:
            return True
        if not names or not all(letter(t) or t in (",", "'", "+", "-") or t.isdigit() for t in tokens):
            return False
        if tokens == ["T"] and not self.letters.is_above("T"):
            return False
        known = [self.letters.is_above(n) for n in names]
        if any(known) and not all(known):
            other = names[known.index(False)]
            self.fail(
                f"{other!r} is no index of the text, and others beside it are.",
                begin,
                end - 1,
                NUMBER.format(other, upright(other)),
            )
        if not all(known):
            return False
        for at in range(begin, end):
            word = letter(self.tokens[at])
            if word in self.letters.summed and not self.letters.explicit:
                message = f"With the sum over {word!r} this may be a power, and may be an entry that stands above."
                self.fail(message, at, at, POWERS.format(word))
        return True

    def _above(self, found: Scripts, name: str, begin: int, end: int, first: int) -> None:
        tokens = self.tokens[begin:end]
        tokens = tokens[2:3] if len(tokens) == 4 and tokens[0] in FONTS and tokens[2] == "H" else tokens
        last = max(begin, end - 1)
        if self._transposes(tokens):
            found.turned = not found.turned
        elif name in self.complex_names and (tokens[0] if len(tokens) == 1 else "") in ADJOINT | STARS:
            found.conjugate = not found.conjugate
            found.turned ^= tokens[0] in ADJOINT
        elif tokens in (["-", "1"], ["+"], [r"\dagger"]) or (tokens[:1] == ["-"] and self._transposes(tokens[1:])):
            if tokens == ["-", "1"] and found.indices and len(found.indices) != 2:
                self._exponent(found, begin, end)
                return
            found.inverse = "inv" if tokens[0] == "-" else "pinv"
            found.turned ^= tokens != ["-", "1"] and tokens[0] == "-"
            found.before, found.sign = len(found.indices), begin
        elif tokens in (["*"], [r"\ast"], [r"\star"]):
            found.suffix = "star" if not found.suffix else f"{found.suffix}_star"
        elif tokens in ([r"\prime"], ["'"]):
            self.fail("A tensor has no prime.", begin, last, rf"Call it {name}_{{\mathrm{{new}}}}.")
        elif len(tokens) == 3 and tokens[0] == "[" and tokens[1].isdigit() and tokens[2] == "]":
            found.suffix = f"{found.suffix}_{tokens[1]}" if found.suffix else tokens[1]
        elif tokens[:1] == ["("] and tokens[-1:] == [")"] and self._closes(begin, last):
            inside = tokens[1:-1]
            if len(inside) == 1 and inside[0].isdigit():  # of a layer, or of a step
                found.suffix = f"{found.suffix}_{inside[0]}" if found.suffix else inside[0]
                return
            hint = f"Write {name}_{{{self.source(begin + 1, last - 1)}}}, or leave out the brackets for a power."
            self.fail("An exponent in brackets may be an index, or a power.", begin, last, hint)
        elif (
            len(tokens) > 2 and all(t.isalpha() for t in tokens) and self.ends[last] - self.starts[begin] == len(tokens)
        ):
            word = "".join(tokens)
            hint = rf"Write {name}_{{\mathrm{{{word}}}}} for a name, and {name}^{{{' '.join(tokens)}}} for a power."
            self.fail("A word above a name may belong to it.", begin, last, hint)
        elif tokens in (["0"], ["1"]):
            hint = f"Write {name}^{{{tokens[0]},}} for the entry, and leave the power out."
            self.fail("This may be a power, and may be an entry that stands above.", first, last, hint)
        elif len(tokens) == 1 and tokens[0].startswith(("\\mathrm ", "\\operatorname ")) and len(tokens[0]) > 9:
            word = tokens[0].partition(" ")[2]
            if not self.letters.bare[word] and word not in self.letters.orders and tokens[0].startswith("\\mathrm "):
                found.suffix = f"{found.suffix}_{word}" if found.suffix else word
                return
            self.fail("A word above a name may belong to it.", begin, last, rf"Write {name}_{{\mathrm{{{word}}}}}.")
        else:
            self._exponent(found, begin, end)

    def _closes(self, opening: int, last: int) -> bool:
        depth = 0
        for at in range(opening, last + 1):
            depth += (self.tokens[at] == "(") - (self.tokens[at] == ")")
            if not depth:
                return at == last
        return False

    def _transposes(self, tokens: list[str]) -> bool:
        if len(tokens) == 4 and tokens[0] in FONTS:
            tokens = tokens[2:3]
        alone = not self.letters.bare["T"] and "T" not in self.letters.indices
        return len(tokens) == 1 and (tokens[0] in TRANSPOSED or tokens == ["\\mathrm T"] or (tokens == ["T"] and alone))

    def _exponent(self, found: Scripts, begin: int, end: int) -> None:
        if found.power is not None:
            self.fail("Two exponents stand above one name.", begin, end - 1, "Put the power in brackets.")
        found.power = self.exponent(begin, end)

    def exponent(self, begin: int, end: int) -> Node:
        """What stands above as a power."""
        if begin == end:
            self.fail("The braces are empty.", max(begin - 2, 0), end, "Write an exponent.")
        return self.expression(begin, end)

    # Put together.

    def named(self, name: str, first: int) -> Node:
        """The tensor of a name whose scripts begin here; ``first`` is its first token."""
        found = self.scripts(name, first)
        full = f"{name}_{found.suffix}" if found.suffix else RESERVED_LETTERS.get(name, name)
        start, end = self.starts[first], self.ends[self.at - 1]
        indices = tuple(found.indices) or None
        self.check_index_value(full, found, first)
        node = self._entry(full, indices, found, first)
        self.found += found.indices
        if found.conjugate:
            node = syntax.CallNode(start, end, "conj", (node,), None, None)
        return node if found.power is None else syntax.Power(start, end, node, found.power)

    def check_index_value(self, name: str, found: Scripts, first: int) -> None:
        """A letter that is an index and stands alone would be a number that depends on the place."""
        token = self.tokens[first]
        if not found.indices and letter(token) and not token.startswith("\\mathit") and name in self.letters.indices:
            self.fail(f"The index {name!r} stands alone.", first, first, NUMBER.format(name, upright(name)))

    def _entry(self, name: str, indices: tuple[Index, ...] | None, found: Scripts, first: int) -> Node:
        start, end = self.starts[first], self.ends[self.at - 1]
        whole = syntax.TensorNode(start, end, name, None)
        if indices is None and name in self.bounds.names and not found.turned:
            return self._reciprocal(self.bounds.number(name, start, end), found)
        if found.inverse:
            return self._inverse(whole, indices, found, first)
        if found.turned:
            indices = self.turned_around(indices, first)
        return replace(whole, indices=indices)

    @staticmethod
    def _reciprocal(node: Node, found: Scripts) -> Node:
        if not found.inverse:
            return node
        minus = syntax.Neg(node.start, node.end, syntax.Number(node.start, node.end, 1))
        return syntax.Power(node.start, node.end, node, minus)

    def turned_around(self, indices: tuple[Index, ...] | None, first: int) -> tuple[Index, ...]:
        if indices is None or len(indices) != 2:
            self.fail("A transpose without two indices is matrix notation.", first, self.at - 1, MATRIX)
        return indices[::-1]

    def _inverse(self, whole: syntax.TensorNode, indices: tuple[Index, ...] | None, found: Scripts, first: int) -> Node:
        if indices is None or len(indices) != 2:
            if found.inverse == "inv" and not found.turned:
                return self._reciprocal(replace(whole, indices=indices), found)
            self.fail("An inverse without two indices is matrix notation.", first, self.at - 1, MATRIX)
        if found.before:
            hint = STACKED.format(whole.name)
            self.fail("This may be an entry of the inverse, or one over an entry.", first, self.at - 1, hint)
        indices = indices[::-1] if found.turned else indices
        return syntax.CallNode(whole.start, whole.end, found.inverse, (whole,), None, indices)
