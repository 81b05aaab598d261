"""The page of the documentation that lists the identities."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from ricci.identities.row import Identity

HEAD = """# Derivatives that people look up

This page is made from the table in `ricci.identities`; `python -m ricci.identities` prints it.

Every row is checked: the derivative that `rc.parse(function).diff(by)` finds agrees with central differences, with the
form given here, and between all modes. Where a row is marked =, that derivative and the form given here, parsed and
simplified, are one and the same expression; elsewhere they are equal in value. A sum is over every index that is
repeated and is not an index of the result, whose indices are those of the function followed by those of the variable.
"""


def markdown(identities: Iterable[Identity]) -> str:
    """The whole page."""
    fields = groupby(identities, key=lambda identity: identity.field)
    return "\n".join([HEAD, *[_section(field, list(rows)) for field, rows in fields]])


def _section(field: str, rows: list[Identity]) -> str:
    lines = [f"## {field.capitalize()}", "", "| | function | by | derivative | |", "|---|---|---|---|---|"]
    return "\n".join([*lines, *[_line(identity) for identity in rows], ""])


def _line(identity: Identity) -> str:
    derivative = identity.note if identity.expected is None else _code(identity.expected)
    note = identity.note if identity.note and identity.expected is not None else ""
    name = f"{identity.name}: {note}" if note else identity.name
    cells = [name, _code(identity.text), _code(", ".join(identity.targets)), derivative, "=" if identity.exact else ""]
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    return "<br>".join(f"`{part.strip()}`" for part in text.replace("|", "\\|").split(";"))
