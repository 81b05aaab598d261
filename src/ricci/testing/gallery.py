"""The library of derivatives as a gallery: each in all notations, with its derivation.

``python -m ricci.testing.gallery docs/gallery`` writes a page for each field, and one that lists them, there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from ricci.errors import RuleError
from ricci.testing.identities import Identity, all_identities
from ricci.user.formula import Formula

HEAD = """# {title}

Made from [`identities.txt`](../identities.txt) by `python -m ricci.testing.gallery docs/gallery`. Each function and its
derivative are shown as ricci prints them: in index notation, in LaTeX, in matrix notation where they have one
(elsewhere it is said what stands in the way), and with the steps that lead from the one to the other.
"""
INDEX = """# Derivatives in all notations, with derivations

The [derivatives that people look up](../identities.md), a page for each field.
"""


def pages(rows: Iterable[Identity]) -> dict[str, str]:
    """The pages by the names of their files.

    >>> square = Identity("square", "example", "f = x[i] x[i]", ("x[p]",), "2 x[p]", {"x": "n"})
    >>> made = pages([square])
    >>> list(made), [line for line in made["example.md"].splitlines() if line.startswith(("##", "df", "| matrix"))]
    (['example.md', 'README.md'], ['## Square', '| matrix notation | `‖x‖²` | `2 x` |'])
    """
    found, lines = {}, [INDEX]
    for field, members in groupby(rows, key=lambda row: row.field):
        own = list(members)
        found[f"{field}.md"] = "\n".join([HEAD.format(title=field.capitalize()), *map(entry, own)])
        lines.append(f"- [{field}]({field}.md): {len(own)}")
    return {**found, "README.md": "\n".join(lines) + "\n"}


def entry(row: Identity) -> str:
    """One derivative: a heading, a table of notations, and the steps."""
    pair = (row.function(), row.derivative())
    lines = [f"## {row.name[0].upper()}{row.name[1:]}", "", f"| | function | derivative by `{', '.join(row.wrt)}` |"]
    lines += ["|---|---|---|", _row("index notation", [_code(str(f)) for f in pair])]
    lines.append(_row("LaTeX", [f"${' '.join(f.latex().split())}$".replace("|", "\\vert ") for f in pair]))
    lines += [_row("matrix notation", [matrix_form(f) for f in pair]), ""]
    return "\n".join([*lines, "```text", str(pair[1].derivation()), "```", ""])


def _row(name: str, cells: Iterable[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"


def _code(text: str) -> str:
    return "<br>".join(f"`{line}`" for line in text.replace("|", "\\|").splitlines())


def matrix_form(f: Formula) -> str:
    """A formula in matrix notation, or why it has none."""
    try:
        return _code(f.matrix())
    except RuleError as error:
        reason = str(error).partition(": ")[2].partition(". ")[0].rstrip(".")
        return f"none: {reason}".replace("|", "\\|")


def write(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name, page in pages(all_identities()).items():
        (folder / name).write_text(page, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
