"""Places along an axis, as affine expressions in loop variables; each language counts them from 0 or from 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ricci.compiler.plan.program_steps import Form
from ricci.expr import Size
from ricci.standalone.pieces import ADDS, ATOM, TIMES, CodePiece, SizeTexts


@dataclass(frozen=True)
class EntryPlace:
    """Variables and other texts times numbers, and a number; the texts count from 0."""

    terms: tuple[tuple[str, bool, Size], ...] = ()  # the text, whether it is a variable, its coefficient
    const: Size = 0

    @staticmethod
    def of(variable: str) -> EntryPlace:
        return EntryPlace(((variable, True, 1),))

    @staticmethod
    def raw(text: str) -> EntryPlace:
        return EntryPlace(((text, False, 1),))

    @staticmethod
    def at(form: Form, places: Sequence[EntryPlace]) -> EntryPlace:
        """The place that a form gives where its labels are at ``places``."""
        found = EntryPlace((), form.const)
        for x, coefficient in form.terms:
            found = found.plus(places[x], coefficient)
        return found

    def plus(self, other: EntryPlace, times: Size) -> EntryPlace:
        total = {(text, variable): c for text, variable, c in self.terms}
        for text, variable, c in other.terms:
            total[text, variable] = total.get((text, variable), 0) + times * c
        terms = tuple([(text, variable, c) for (text, variable), c in total.items() if not isinstance(c, int) or c])
        return EntryPlace(terms, self.const + times * other.const)

    @property
    def variables(self) -> list[str]:
        return [text for text, variable, _ in self.terms if variable]

    def counted(self, sizes: SizeTexts, start: int, base: int) -> CodePiece:
        """The text, counted from ``start``, of variables that count from ``base``."""
        const: Size = self.const + start
        for _, variable, c in self.terms:
            const = const - base * c if variable else const
        parts = []
        for text, _, c in sorted(self.terms, key=lambda term: (isinstance(term[2], int) and term[2] < 0, term[0])):
            negative = isinstance(c, int) and c < 0
            size = -1 * c if negative else c
            product = text if size == 1 else f"{sizes.piece(size).at(TIMES)} * {text}"
            parts.append((negative, product))
        if not isinstance(const, int) or const or not parts:
            negative = isinstance(const, int) and const < 0
            parts.append((negative, sizes.piece(-1 * const if negative else const).text))
        text = "-" * parts[0][0] + parts[0][1]
        for negative, product in parts[1:]:
            text += f" {'-' if negative else '+'} {product}"
        single = len(parts) == 1
        rank = ATOM if single and parts[0][1].isidentifier() and not parts[0][0] else TIMES if single else ADDS
        return CodePiece(text, ATOM if text.isdigit() else rank)
