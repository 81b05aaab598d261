"""A library of derivatives that people look up: ``docs/identities.txt``, read; every row of it is tested.

``python -m ricci.testing.identities`` prints it as the page ``docs/identities.md``.

>>> row = next(row for row in identities() if row.name == "determinant")
>>> row.text, row.wrt, row.expected
('f = det(X)', ('X[p,q]',), 'det(X) inv(X)[q,p]')
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from ricci.errors import InputError
from ricci.simplify import simplify
from ricci.user.entry import parse
from ricci.user.formula import Formula

TEXT = Path(__file__).parents[3] / "docs" / "identities.txt"  # of the sources; it is not installed
COMPLEX = ("complex", "hermitian", "unitary")  # kinds of inputs that are declared
LEFT = "derivative"  # the name of the textbook form, where it is parsed


@dataclass(frozen=True)
class Identity:
    """A function, by what it is differentiated, and the derivative as a textbook has it, all in index notation.

    ``expected`` is the right side only: its indices are those of the function, then those of ``wrt``. It may use the
    names that ``text`` defines, and may itself be a program that ends with the right side. ``None`` stands for no
    closed form in this notation; ``note`` then says why. ``inputs`` says how to draw values, see
    :mod:`ricci.testing.drawn_inputs`. ``exact`` means that the derivative and the parsed textbook form are one object,
    as parsed or when simplified; the other rows are equal in value.

    >>> square = Identity("square", "example", "f = x[i] x[i]", ("x[p]",), "2 x[p]", {"x": "n"})
    >>> square.derivative() == square.textbook()
    True
    """

    name: str
    field: str
    text: str
    wrt: tuple[str, ...]  # in turn, as they are given to ``diff``
    expected: str | None
    inputs: Mapping[str, str]
    note: str = ""
    exact: bool = True

    @property
    def declared(self) -> dict[str, list[str]]:
        """What is declared of complex inputs, by keywords of ``parse``."""
        found: dict[str, list[str]] = {}
        for name, spec in self.inputs.items():
            word = spec.partition(" ")[0]
            if word in COMPLEX:
                found.setdefault(word, []).append(name)
        return found

    def function(self) -> Formula:
        return parse(self.text, **self.declared)  # type: ignore[arg-type]

    def derivative(self, mode: str = "auto", order: int | None = None) -> Formula:
        """The derivative that ricci finds, by all of ``wrt`` or by the first ``order`` of them."""
        targets = self.wrt[:order]
        return self.function().diff(*targets, mode=mode) if targets else self.function()

    def textbook(self) -> Formula:
        """The textbook form, parsed; only where there is one."""
        assert self.expected is not None
        names = [*self.function().indices, *[name for target in self.wrt for name in indices_of(target)]]
        *before, last = [self.text, *self.expected.split(";")]
        left = f"{LEFT}[{','.join(names)}]" if names else LEFT
        text = ";".join([*before, f"{left} = {last}"])
        used = {word: [n for n in names if re.search(rf"\b{n}\b", text)] for word, names in self.declared.items()}
        return parse(text, **{word: names for word, names in used.items() if names})  # type: ignore[arg-type]

    def simplified_textbook(self) -> Formula:
        """The textbook form after the same simplification that derivatives go through."""
        form = self.textbook()
        return Formula(simplify(form.expr), form.indices, form.context)


def indices_of(target: str) -> list[str]:
    """The indices in ``"x[p,q]"`` and in ``"conj(x[p,q])"``; none in ``"x"``."""
    inside = target.partition("[")[2].rstrip("]) ")
    return [word.strip() for word in inside.split(",")] if inside else []


# The text


def identities(file: Path = TEXT) -> list[Identity]:
    """All rows of the library that are of real numbers."""
    return [row for row in all_identities(file) if row.field != "complex"]


def all_identities(file: Path = TEXT) -> list[Identity]:
    """All rows of the library."""
    return list(read(file.read_text(encoding="utf-8")))


def target_name(target: str) -> str:
    """The name in ``"x[p,q]"`` and in ``"conj(x[p,q])"``."""
    return target.removeprefix("conj(").partition("[")[0].rstrip(") ")


def read(text: str) -> Iterator[Identity]:
    """The rows of a text; its form is told at the top of the library.

    >>> [row] = read("## example\\n\\nsquare\\n    f = x[i] x[i]\\n    by x[p]\\n    = 2 x[p]\\n    with x: n")
    >>> row.name, row.field, row.wrt, row.expected, row.inputs, row.exact
    ('square', 'example', ('x[p]',), '2 x[p]', {'x': 'n'}, True)
    """
    field = ""
    for block in text.split("\n\n"):
        first, *rest = [line for line in block.splitlines() if line and line.split()[0] != "#"] or [""]
        if first.startswith("## "):
            field = first.removeprefix("## ")
        elif first:
            yield _row(first, field, [line.strip() for line in rest])


def _row(name: str, field: str, lines: list[str]) -> Identity:
    said = {word: rest for word, _, rest in (line.partition(" ") for line in lines) if word in WORDS}
    if not said.keys() >= {"by", "with"}:
        raise InputError(f"The identity {name!r} needs a line that begins with 'by' and one that begins with 'with'.")
    at = next(k for k, line in enumerate(lines) if line.startswith("by "))
    before = [line for line in lines[at:] if line.partition(" ")[0] not in WORDS]
    form = said.get("=") or said.get("~")
    return Identity(
        name,
        field,
        "; ".join(lines[:at]),
        tuple(said["by"].split(", ")),
        "; ".join([*before, form]) if form else None,
        {name: spec for name, _, spec in (part.partition(": ") for part in said["with"].split(", "))},
        said.get("note", ""),
        "=" in said,
    )


WORDS = ("by", "=", "~", "with", "note")  # that begin a line which is not one of the function or of definitions


# The page

HEAD = """# Derivatives that people look up

This page is made from `identities.txt` beside it; `python -m ricci.testing.identities` prints it.

Every row is checked: the derivative that `rc.parse(function).diff(by)` finds agrees with central differences, with the
form given here, and between all modes. Where a row is marked =, that derivative and the form given here, parsed and
simplified, are one and the same expression; elsewhere they are equal in value. A sum is over every index that is
repeated and is not an index of the result, whose indices are those of the function followed by those of the variable.
"""


def markdown(rows: Iterable[Identity]) -> str:
    """The whole page."""
    return "\n".join([HEAD, *[_section(field, list(part)) for field, part in groupby(rows, key=lambda row: row.field)]])


def _section(field: str, rows: list[Identity]) -> str:
    lines = [f"## {field.capitalize()}", "", "| | function | by | derivative | |", "|---|---|---|---|---|"]
    return "\n".join([*lines, *map(_line, rows), ""])


def _line(row: Identity) -> str:
    derivative = row.note if row.expected is None else _code(row.expected)
    note = row.note if row.note and row.expected is not None else ""
    name = f"{row.name}: {note}" if note else row.name
    cells = [name, _code(row.text), _code(", ".join(row.wrt)), derivative, "=" if row.exact else ""]
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    return "<br>".join(f"`{part.strip()}`" for part in text.replace("|", "\\|").split(";"))


if __name__ == "__main__":
    print(markdown(all_identities()), end="")
