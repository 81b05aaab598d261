"""Tables of numbers in text: CSV as programs write it, with commas, semicolons, tabs or blanks between the numbers.

What could be read in two ways is refused: a decimal comma, a gap, a first line that is half a heading.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ricci.cli.misuse import MisuseError

NUMBER = re.compile(r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf(inity)?|nan)", re.IGNORECASE)
GAPS = frozenset(["", "na", "n/a", "null", "none", "-", "?", "."])


def table(path: Path) -> Any:
    """The numbers of a file as a matrix; a first line of words is its heading, and lines after ``#`` are remarks."""
    import numpy as np

    rows = list(_rows(path))
    if rows and all(_is_word(cell) for cell in rows[0][1]):
        rows = rows[1:]
    if not rows:
        raise MisuseError(f"{path}: there are no numbers in it.")
    width = len(rows[0][1])
    for number, cells in rows:
        wrong = next((cell for cell in cells if not NUMBER.fullmatch(cell)), None)
        if wrong is not None:
            gap = "; a value is missing, and ricci does not choose one" if wrong.lower() in GAPS else ""
            raise MisuseError(f"{path}, line {number}: {wrong!r} is not a number{gap}.")
        if len(cells) != width:
            raise MisuseError(f"{path}, line {number}: it has {len(cells)} numbers, and the lines above have {width}.")
    return np.array([[float(cell) for cell in cells] for _, cells in rows])


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The cells of each line, with its number, from 1."""
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    kept = [(n, line) for n, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#")]
    between = _between(path, kept)
    for number, line in kept:
        cells = line.split() if between is None else next(csv.reader([line], delimiter=between, skipinitialspace=True))
        yield number, [cell.strip() for cell in cells]


def _between(path: Path, lines: list[tuple[int, str]]) -> str | None:
    """What stands between the numbers; nothing but blanks if it is no sign."""
    for number, line in lines:
        if ";" in line and "," in line:
            raise MisuseError(
                f"{path}, line {number}: it has both ',' and ';', so a comma may stand between numbers or inside them. "
                "Write points inside of numbers."
            )
    return next((sign for sign in (";", ",", "\t") if any(sign in line for _, line in lines)), None)


def _is_word(cell: str) -> bool:
    return not NUMBER.fullmatch(cell) and cell.lower() not in GAPS
