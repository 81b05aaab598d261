"""Steps as lines of an algorithm in LaTeX."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ricci.compiler.plan.program_steps import Form, Step
from ricci.errors import RuleError
from ricci.expr import OPS, Dim, Size
from ricci.functions.table import IN_TEXT
from ricci.notation.latex_words import GREEK
from ricci.show.latex import symbol
from ricci.standalone.assembling import PI, given
from ricci.standalone.entry_code import EntryCode
from ricci.standalone.pieces import ADDS, ATOM, MINUS, RAISES, TIMES, CodePiece
from ricci.standalone.places import EntryPlace

SIGNS = {"less": "<", "less_equal": r"\le", "equal": "=", "not_equal": r"\ne"}


class LatexCode(EntryCode):
    """States of an algorithm; names of parts are their own, others are ``t^{(1)}``, …"""

    def called_in_math(self, name: str) -> str:
        """A name as it is written."""
        stem, number = name.rstrip("0123456789"), name[len(name.rstrip("0123456789")) :]
        if name in self.fresh:
            return f"{stem}^{{({number})}}"
        text = symbol(name)
        return f"{{{text}}}" if "_" in text else text

    def at(self, name: str, places: Sequence[EntryPlace]) -> CodePiece:
        texts = [_index(place.counted(self.sizes, 0, 0).text) for place in places]
        apart = "," if any(len(t) > 1 for t in texts) else ""
        below = f"_{{{(apart + ' ').join(texts)}}}" if texts else ""
        return CodePiece(f"{self.called_in_math(name)}{below}")

    def number(self, value: Any) -> CodePiece:
        if isinstance(value, Dim):
            return CodePiece(self.size(value), ATOM)
        if value == PI:
            return CodePiece(r"\pi")
        if isinstance(value, complex):
            return CodePiece(("" if value.imag == 1 else self.number(value.imag).text) + r"\mathrm{i}")
        if isinstance(value, Fraction) and value.denominator != 1:
            sign = "-" if value < 0 else ""
            return CodePiece(rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}", MINUS if sign else ATOM)
        if not math.isfinite(value):
            name = "NaN" if math.isnan(value) else r"\infty"
            return CodePiece("-" * (value < 0) + name, MINUS if value < 0 else ATOM)
        text = str(int(value)) if value == int(value) else repr(float(value))
        return CodePiece(text, MINUS if value < 0 else ATOM)

    def size(self, size: Size) -> str:
        """A size: how many values an index has."""
        piece = self.sizes.piece(size)
        if not isinstance(self.sizes.sizes.of(size), Dim):
            return piece.text
        return rf"|{piece.text}|" if piece.text.isidentifier() else rf"({piece.text})"

    def mapped(self, name: str, args: Sequence[CodePiece], step: Step) -> CodePiece:
        if name in ("add", "subtract"):
            right = args[1].at(ADDS + (name == "subtract"))
            return CodePiece(f"{args[0].at(ADDS)} {'+' if name == 'add' else '-'} {right}", ADDS)
        if name == "multiply":
            digits = args[1].text[:1].isdigit()
            return CodePiece(
                f"{args[0].at(TIMES)} {'cdot ' if digits else ''}{args[1].at(RAISES)}".replace("cdot", r"\cdot"), TIMES
            )
        if name == "divide":
            return CodePiece(rf"\frac{{{args[0].text}}}{{{args[1].text}}}")
        if name == "reciprocal":
            return CodePiece(rf"\frac{{1}}{{{args[0].text}}}")
        if name == "negative":
            return CodePiece(f"-{args[0].at(TIMES)}", MINUS)
        if name == "sqrt":
            return CodePiece(rf"\sqrt{{{args[0].text}}}")
        if name in ("square", "power"):
            n = "2" if name == "square" else args[1].text
            base = args[0].at(ATOM) if "^" not in args[0].text else rf"\left({args[0].text}\right)"
            return CodePiece(f"{base}^{{{n}}}", RAISES)
        if name in SIGNS:
            return CodePiece(rf"\left[{args[0].text} {SIGNS[name]} {args[1].text}\right]")
        if name == "where":
            a, b = args[1].text, args[2].text
            return CodePiece(rf"\begin{{cases}} {a} & {args[0].text} \\ {b} & \text{{else}} \end{{cases}}")
        return CodePiece(OPS[name].latex.format(*[a.text for a in args]))

    def compared(self, sign: str, left: CodePiece, right: CodePiece) -> CodePiece:
        return CodePiece(rf"\left[{left.text} {'=' if sign == '==' else chr(92) + 'ge'} {right.text}\right]")

    def total(self, piece: CodePiece, ranges: Sequence[tuple[str, Size]]) -> CodePiece:
        below = ", ".join([symbol(x) for x, _ in ranges])
        return CodePiece(rf"\sum_{{{below}}} {piece.at(TIMES)}", TIMES)

    def division(self, a: str, b: str) -> str:
        return rf"\lfloor ({a}) / {b} \rfloor"

    def remainder(self, a: str, b: str) -> str:
        return rf"({a}) \bmod {b}"

    def filled(self, name: str, kind: str, ranges: Sequence[tuple[str, Size]], piece: CodePiece, title: str) -> None:
        self.fresh |= set() if title else {name}
        left = self.at(name, [EntryPlace.of(x) for x, _ in ranges]).text
        self.lines.append(rf"\State ${left} \gets {piece.text}$")

    def _place(self, step: Step) -> None:
        (value, labels), *told = given(step)
        (forms,) = step.params
        ranges = self.ranges(value)
        at = {x: EntryPlace.of(name) for x, (name, _) in zip(labels, ranges, strict=True)}
        by_label = [at.get(x, EntryPlace()) for x in range(1 + max(at, default=-1))]
        places = []
        for form in forms:
            told_place = None if isinstance(form, Form) else self.entry(told[form], at).text
            places.append(EntryPlace.at(form, by_label) if told_place is None else EntryPlace.raw(told_place))
        core = self.entry((value, labels), at).text
        name = self.names.numbered("t")
        self.fresh.add(name)
        self.call_it(step.out, name)
        target = self.at(name, places).text
        everywhere = ", ".join([symbol(x) for x, _ in ranges])
        self.lines.append(rf"\State ${self.called_in_math(name)} \gets 0$")
        self.lines.append(rf"\State ${target} \gets {target} + {core}$ \Comment{{for all ${everywhere}$}}")

    def _call(self, step: Step) -> None:
        if step.name in ("loop", "branch"):
            raise RuleError("Loops and branches are not written as LaTeX algorithms; the other languages have them.")
        _, axes, results = step.params
        name, row = self.names.numbered("t"), IN_TEXT.get(step.name) or OPS.get(step.name)
        self.fresh.add(name)
        lead = step.labels[: len(step.labels) - len(results)]
        ranges = self.ranges(step.out)
        where = {x: n for x, (n, _) in zip(lead, ranges, strict=False)}
        texts, first = [], ""
        for (value, labels), own in zip(given(step), axes, strict=True):
            named = dict(enumerate(self.axes.of(value)))
            inner = self.indices(
                {k: named.get(k, "") for k in own}, {k: value.shape[k] for k in own}, list(where.values())
            )
            first = first or " ".join([symbol(x) for x, _ in inner])
            before = [EntryPlace.of(where[x]) for x in labels[: len(labels) - len(own)]]
            texts.append(self.known[value]([*before, *[EntryPlace.of(x) for x, _ in inner]]).text)
        template = (
            row.latex if row is not None and row.latex else rf"\operatorname{{{{{step.name}}}}}_{{{{{{axes}}}}}}({{0}})"
        )
        self.call_it(step.out, name)
        left = self.at(name, [EntryPlace.of(x) for x, _ in ranges]).text
        self.lines.append(rf"\State ${left} \gets {template.format(*texts, axes=first)}$")

    def result(self, operand: tuple, shape: Sequence[Size], indices: Sequence[str]) -> str:
        at = {k: EntryPlace.of(x) for k, x in enumerate(indices)}
        self.scope = list(indices)
        return self.entry(operand, at).text


def in_commands(text: str) -> str:
    """A text with commands for Greek letters, which few fonts of TeX have."""
    found = []
    for k, c in enumerate(text):
        words = unicodedata.name(c, "").split()
        if words[:1] != ["GREEK"] or words[-2] != "LETTER":
            found.append(c)
            continue
        name = words[-1].lower().replace("lamda", "lambda").replace("omicron", "o")
        name = name.capitalize() if words[1] == "CAPITAL" else name
        spaced = " " if text[k + 1 : k + 2].isalnum() else ""
        found.append(f"\\{name}{spaced}" if name in GREEK else rf"\mathrm{{{name}}}")
    return "".join(found)


def _index(text: str) -> str:
    return symbol(text) if text.isidentifier() else text.replace("*", r"\,")
