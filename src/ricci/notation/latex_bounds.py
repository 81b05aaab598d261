r"""What stands below and above ``\sum_{i=1}^{n}``: an index that runs over its whole axis, and a name for its size.

With it ``\frac{1}{n} \sum_{i=1}^{n} x_i`` is the mean: ``n`` is ``|i|`` wherever it is a number. Places count from 0 in
this notation and from 1 in most books, which is the same for sums over all places and not for single entries, and
may be another for each index. So bounds are read that are those of a whole axis, from 1 to n, or from 0 to n-1 or n,
those up to another index or from it on, and refused otherwise.
"""

from __future__ import annotations

from ricci.notation import syntax
from ricci.notation.latex_indices import LatexCursor
from ricci.notation.latex_letters import SUMS, letter, ordered
from ricci.notation.latex_restrictions import Restriction
from ricci.notation.latex_words import FONTS
from ricci.notation.syntax import Index, Node

WHOLE = r"A sum goes over a whole axis, \sum_{i=1}^{n}; a part of one is a shift, as in \sum_i (x_{i+1} - x_{i+0})^2."
COUNTED = (
    "Places count from 0 in x_0, and the sums of this text count from 1: write one of them as the other. "
    r"What belongs to a name stands upright: x_{\mathrm{0}}."
)
BARS = frozenset(("|", r"\left|", r"\right|"))


class Bounds:
    """The bounds of all sums of a text; the places in ``cursor`` are those before anything is parsed."""

    def __init__(self, cursor: LatexCursor):
        self.cursor = cursor
        self.names: dict[str, tuple[str, int]] = {}  # n → i, and what |i| must be added to be n
        self.numbers: dict[str, tuple[int, int]] = {}  # i → |i|, and the token that says so
        self.upper: dict[str, str] = {}
        self.relations: dict[int, Restriction] = {}  # for the token of a sum, how its index goes beside another
        self.firsts: dict[str, int] = {}  # i → the number of its first place
        self.sized: dict[str, str] = {}  # i → n, in whatever way its last value says that
        self.before_last: list[tuple[str, str, tuple[int, int]]] = []  # sums from 1 to n-1, of what is 0 for i = n
        for at, token in enumerate(cursor.tokens):
            if token in SUMS:
                self.read(at + 1)
        cursor.at = 0
        for index, name, place in self.before_last:
            behind = [r.left for r in self.relations.values() if r.right == index and r.sign == ">"]
            if not any(self.sized.get(other) == name for other in behind):
                cursor.fail("This sum does not end where the axis does.", *place, WHOLE)
        for name in self.names:
            if name in cursor.letters.indices:
                at = cursor.tokens.index(name) if name in cursor.tokens else 0
                hint = "Give the index, or the size, another letter."
                cursor.fail(f"The letter {name!r} is the last value of an index, and an index too.", at, at, hint)

    def read(self, at: int) -> None:
        cursor = self.cursor
        parts: dict[str, tuple[int, int]] = {}
        cursor.at = at
        while cursor.token in ("_", "^"):
            sign = cursor.token
            cursor.at += 1
            parts[sign] = cursor.argument(sign)
        below = cursor.tokens[slice(*parts.get("_", (0, 0)))]
        chain = ordered(below)
        for index in chain[:2]:
            self.firsts[index] = int(chain[3])
            self.upto(index, list(chain[4:]), (parts["_"][0], parts["_"][1] - 1))
        if "=" not in below:
            if "^" in parts and below:
                cursor.fail("Nothing says where this sum begins.", at, parts["^"][1] - 1, WHOLE)
            return
        if "^" not in parts or parts["^"][0] == parts["^"][1]:
            cursor.fail("Nothing says where this sum ends.", at, parts["_"][1] - 1, WHOLE)
        indices = [letter(t) for t in below[: below.index("=")] if letter(t)]
        start = "".join(below[below.index("=") + 1 :])
        place = (parts["_"][0], max(parts["^"][0], parts["^"][1] - 1))
        if len(indices) == 1 and self.relative(at - 1, indices[0], below, cursor.tokens[slice(*parts["^"])], place):
            return
        last = cursor.tokens[slice(*parts["^"])]
        if len(indices) == 1 and start == "1" and self.last_name(last[:-2]) and last[-2:] == ["-", "1"]:
            self.before_last.append((indices[0], self.last_name(last[:-2]), place))
            return
        if start not in ("0", "1") or any(self.firsts.get(index, int(start)) != int(start) for index in indices):
            cursor.fail("This sum does not begin where the axis does.", *place, WHOLE)
        for index in indices:
            self.firsts[index] = int(start)
            self.upto(index, cursor.tokens[slice(*parts["^"])], place)

    def relative(self, sum_at: int, index: str, below: list[str], above: list[str], place: tuple[int, int]) -> bool:
        """``\\sum_{j=1}^{i}`` and ``\\sum_{j=i+1}^{n}``, which go over the places up to another one, or from it on."""
        start = below[below.index("=") + 1 :]
        low, high = self.other_index(start), self.other_index(above)
        if bool(low) == bool(high):
            return False
        more = "".join((start if low else above)[1:])
        sign = {"": ">=", "+1": ">"}.get(more) if low else {"": "<=", "-1": "<"}.get(more)
        if sign is None or not (low or start in (["0"], ["1"])):
            return False
        first = self.counts_from(index, low or high, int(start[0]) if high else int(len(above) == 1))
        if low:
            self.firsts[index] = first
            self.upto(index, above, place)
        self.relations[sum_at] = Restriction(index, sign, low or high, place)
        return not high or start == [str(first)]

    def counts_from(self, index: str, other: str, otherwise: int) -> int:
        """The first place of two indices that run over one axis: as it is in other sums over them, or in any."""
        known = [self.firsts[name] for name in (index, other) if name in self.firsts]
        return next(iter([*known, *self.firsts.values()]), otherwise)

    def other_index(self, tokens: list[str]) -> str:
        """The index that a bound is, or is one beside."""
        name = letter(tokens[0]) if tokens and (len(tokens) == 1 or len(tokens) == 3) else ""
        return name if name in self.cursor.letters.indices else ""

    def upto(self, index: str, above: list[str], place: tuple[int, int]) -> None:
        """Takes in the last value of an index."""
        cursor, last = self.cursor, "".join(above)
        if self.upper.setdefault(index, last) != last:
            message = f"The index {index!r} goes up to {last} here, and up to {self.upper[index]} elsewhere."
            cursor.fail(message, *place, "An index has one size: use another letter.")
        shift = 1 - self.firsts[index]  # what the last value lacks to be the size
        if last.isdigit():
            self.numbers[index] = int(last) + shift, place[0]
        elif last in (f"|{index}|", rf"\left|{index}\right|"):
            if shift:
                cursor.fail("This sum does not end where the axis does.", *place, WHOLE)
        else:
            less = len(above) > 2 and above[-2:] == ["-", "1"]
            name = self.last_name(above[:-2] if less else above)
            if not name or (less and not shift) or name == index:
                cursor.fail("This sum does not end where the axis does.", *place, WHOLE)
            wanted = -(shift - less)
            self.sized[index] = name
            known, before = self.names.setdefault(name, (index, wanted))
            if before != wanted:
                message = f"{name!r} is the size of {known!r} elsewhere, and not that of {index!r} here."
                cursor.fail(message, *place, "Begin all sums at 1, or all at 0.")

    def last_name(self, tokens: list[str]) -> str:
        """The name of a last value: ``n``, ``N_{\\mathrm{train}}``, ``T_x``, or what stands in bars, ``|V|``."""
        inside = [t for t in tokens if t not in ("{", "}") and t not in FONTS]
        if len(inside) == 3 and inside[0] in BARS and inside[2] in BARS and letter(inside[1]):
            return f"|{letter(inside[1])}|"
        name = (letter(inside[0]) or inside[0].partition(" ")[2]) if inside else ""
        if len(inside) != 3 or inside[1] != "_" or not name:
            return name if len(inside) == 1 else ""
        word = inside[2].partition(" ")[2] if inside[2].startswith("\\mathrm ") else ""
        word = word or (letter(inside[2]) or inside[2] if (inside[0], inside[2]) in self.cursor.letters.lasts else "")
        return f"{name}_{word}" if word else ""

    def number(self, name: str, start: int, end: int) -> Node:
        """A bound where it is used as a number."""
        index, shift = self.names[name]
        size = syntax.Size(start, end, index)
        if not shift:
            return size
        return syntax.SumNode(start, end, ((1, size), (-1, syntax.Number(start, end, -shift))))

    def equations(self) -> list[tuple[syntax.Size, Node]]:
        """What the text says of sizes: that they are numbers, or those of other indices."""
        starts, ends = self.cursor.starts, self.cursor.ends
        found: list[tuple[syntax.Size, Node]] = []
        for index, (size, at) in self.numbers.items():
            found.append((syntax.Size(starts[at], ends[at], index), syntax.Number(starts[at], ends[at], size)))
        return found

    def linked(self) -> list[tuple[str, str]]:
        """Pairs of indices that go up to the same."""
        pairs = []
        for index, name in self.sized.items():
            first = next(i for i, other in self.sized.items() if other == name)
            if first != index:
                pairs.append((first, index))
        return pairs

    def check_entries(self, found: list[Index]) -> None:
        """Single entries count from 0, also where the sums of a text count from 1."""
        if 1 in self.firsts.values():
            for index in found:
                if not index.terms and not index.sizes and index.tensor is None:
                    at = next(k for k, start in enumerate(self.cursor.starts) if start >= index.start)
                    self.cursor.fail("This entry may be counted from 0, or from 1.", at, at, COUNTED)
