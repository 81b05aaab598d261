"""Pieces of code: texts with the rank of their operators, numbers and sizes as texts, and names that are free."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ricci.compiler.prepare.known_sizes import KnownSizes
from ricci.expr import Dim, Size, dims
from ricci.standalone.assembling import PI

COMPARES, ADDS, TIMES, MINUS, RAISES, ATOM = range(6)  # the ranks of operators, the last being what has none


class CodePiece(NamedTuple):
    """The text of an expression, and the rank of its outermost operator."""

    text: str
    rank: int = ATOM

    def at(self, rank: int) -> str:
        """The text, in brackets if its operator binds less than this."""
        return self.text if self.rank >= rank else f"({self.text})"


class FreeNames:
    """Names that are not used yet."""

    def __init__(self, taken: Iterable[str] = ()):
        self.taken = {*taken}
        self.ours: set[str] = set()  # those that were chosen here

    def new(self, wanted: str) -> str:
        """This name, or one like it."""
        name = "".join([c if c.isalnum() or c == "_" else "_" for c in wanted])
        name = name if name and not name[0].isdigit() else f"t{name}"
        while name in self.taken:
            name = f"{name}_"
        self.taken.add(name)
        return name

    def numbered(self, stem: str) -> str:
        number = 1
        while f"{stem}{number}" in self.taken:
            number += 1
        found = self.new(f"{stem}{number}")
        self.ours.add(found)
        return found


def unsigned(template: str, pieces: Sequence[CodePiece]) -> tuple[str, list[CodePiece]]:
    """A template in which two signs that meet have left."""
    found = []
    for k, piece in enumerate(pieces):
        signed = template.count(f"-{{{k}}}") == template.count(f"{{{k}}}") > 0
        if signed and piece.rank == MINUS and piece.text.startswith("-"):
            template, piece = template.replace(f"-{{{k}}}", f"{{{k}}}"), without_brackets(piece.text[1:], TIMES)
        found.append(piece)
    return template, found


def without_brackets(text: str, rank: int) -> CodePiece:
    """A text of this rank; where all of it stands in brackets, what is in them."""
    depth = 0
    for place, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            whole = c == ")" and place == len(text) - 1
            return CodePiece(text[1:-1], ADDS) if whole and text.startswith("(") else CodePiece(text, rank)
    return CodePiece(text, rank)


def _complex_piece(value: complex, unit: str) -> CodePiece:
    """A complex number, ``2.5j`` in Python and ``2.5im`` in Julia."""
    parts = [repr(int(x) if x == int(x) and abs(x) < 1e15 else x) for x in (value.real, value.imag)]
    if not value.real:
        return CodePiece(f"{parts[1]}{unit}", MINUS if value.imag < 0 else ATOM)
    return CodePiece(f"{parts[0]} {'-' if value.imag < 0 else '+'} {parts[1].lstrip('-')}{unit}", ADDS)


def number_piece(
    value: Any, size: Callable[[Size], CodePiece], pi: str, inf: str, nan: str, unit: str = "j"
) -> CodePiece:
    """A number as it is written in most languages."""
    if isinstance(value, Dim):
        return size(value)
    if isinstance(value, str):
        assert value == PI
        return CodePiece(pi)
    if isinstance(value, complex):
        return _complex_piece(value, unit)
    if isinstance(value, Fraction) and value.denominator not in (1, 2, 4, 8, 16):
        return CodePiece(f"{value.numerator} / {value.denominator}", TIMES)
    if isinstance(value, Fraction) or (isinstance(value, int) and abs(value) >= 2**63):  # no whole number of a library
        value = float(value)
    if isinstance(value, float) and not math.isfinite(value):
        text = nan if math.isnan(value) else inf
        return CodePiece(f"-{text}", MINUS) if value == -math.inf else CodePiece(text)
    if isinstance(value, float) and value == int(value) and abs(value) < 1e15:
        value = float(value)
    text = repr(float(value)).replace("e+", "e") if isinstance(value, float) else str(value)
    return CodePiece(text, MINUS if text.startswith("-") else ATOM)


class SizeTexts:
    """Sizes as texts: names for atoms, which are noted, and arithmetic on them."""

    def __init__(self, sizes: KnownSizes, names: FreeNames, quotient: str = "{0} // {1}", before: str = ""):
        self.sizes, self.names, self.quotient, self.before = sizes, names, quotient, before
        self.used: dict[dims.Atom, str] = {}

    def piece(self, size: Size) -> CodePiece:
        size = self.sizes.of(size)
        if not isinstance(size, Dim):
            return CodePiece(str(size), ATOM if size >= 0 else MINUS)
        total: CodePiece | None = None
        first = next((k for k, term in enumerate(size.terms) if term[1] > 0), 0)
        for monomial, coefficient in [size.terms[first], *size.terms[:first], *size.terms[first + 1 :]]:
            factors = [self.atom(atom) for atom in monomial]
            number = abs(coefficient)
            if number != 1 or not factors:
                factors.insert(0, CodePiece(str(number)))
            product = factors[0]
            for factor in factors[1:]:
                product = CodePiece(f"{product.at(TIMES)} * {factor.at(MINUS)}", TIMES)
            if total is None:
                total = CodePiece(f"-{product.at(TIMES)}", MINUS) if coefficient < 0 else product
            else:
                total = CodePiece(f"{total.text} {'-' if coefficient < 0 else '+'} {product.at(TIMES)}", ADDS)
        assert total is not None
        return total

    def atom(self, atom: dims.Atom) -> CodePiece:
        if len(atom) == 3:
            parts = [self.piece(part) for part in atom[1:]]
            if atom[0] == "min":
                return CodePiece(f"min({parts[0].text}, {parts[1].text})")
            text = self.quotient.format(parts[0].at(MINUS), parts[1].at(RAISES))
            return CodePiece(text, ATOM if text.endswith(")") else TIMES)
        if atom not in self.used:
            name = self.before + self.sizes.name(dims.symbol(*atom)).rstrip("'")
            while self.before and name in self.sizes.namer.claims:  # a loop over such an index would hide it
                name += "_"
            self.used[atom] = self.names.new(name)
        return CodePiece(self.used[atom])
