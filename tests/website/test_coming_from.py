"""The page "Coming from …": each line of its tables runs, here and, where it is installed, in the other library.

In a table of two columns both cells give the same numbers; in one of three the last is what ricci prints. Blocks of
``py`` set the other library up, blocks of ``python`` what both have.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coming_from.md"
BLOCK = re.compile(r"^```(python|py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`]*)`")


@dataclass
class Section:
    """What a section sets up for each side, and its rows of cells."""

    name: str
    here: str = ""
    there: str = ""
    rows: list[list[str]] = field(default_factory=list)


def sections(text: str) -> list[Section]:
    shared, found = "", []
    for part in re.split(r"^## ", text, flags=re.MULTILINE):
        blocks = BLOCK.findall(part)
        shared += "".join(code for language, code in blocks if language == "python")
        there = "".join(code for language, code in blocks if language == "py")
        one = Section(part.partition("\n")[0], shared, there, list(rows(part)))
        if one.rows:
            found.append(one)
    return found


def rows(part: str) -> Iterator[list[str]]:
    """The first code in each cell of each row, where all cells hold code."""
    for line in part.splitlines():
        cells = [CODE.search(cell) for cell in re.split(r" \| ", line.strip("| "))] if line.startswith("| ") else []
        if cells and all(cells):
            yield [cell[1] for cell in cells if cell]


SECTIONS = sections(PAGE.read_text(encoding="utf-8"))
ROWS = [pytest.param(one, cells, id=f"{one.name}: {cells[0]}") for one in SECTIONS for cells in one.rows]


def value(text: str, names: dict[str, Any]) -> Any:
    """What a cell gives: its last expression, after the statements before it."""
    *before, last = text.split("; ")
    exec("\n".join(before), names)
    return eval(last, names)


def numbers(result: Any) -> list[np.ndarray]:
    if isinstance(result, dict):
        return [one for name in sorted(result) for one in numbers(result[name])]
    if isinstance(result, (tuple, list)):
        return [one for part in result for one in numbers(part)]
    return [np.asarray(result.numpy() if hasattr(result, "numpy") else result)]


def needs(setup: str) -> list[str]:
    return re.findall(r"^import (\w+)", setup, re.MULTILINE)


def namespaces(section: Section) -> tuple[dict[str, Any], dict[str, Any]]:
    """The names here, and those there: what both have, and what the other library makes of it."""
    here: dict[str, Any] = {}
    exec(section.here, here)
    missing = [name for name in needs(section.there) if importlib.util.find_spec(name) is None]
    if missing:
        return here, {}
    if "jax" in needs(section.there):
        import jax

        jax.config.update("jax_enable_x64", True)
    there = dict(here)
    exec(section.there, there)
    return here, there


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")  # PyTorch's own, forward
@pytest.mark.parametrize(("section", "cells"), ROWS)
def test_a_row_says_the_same_twice(section, cells):
    here, there = namespaces(section)
    if len(cells) == 3:
        assert str(value(cells[1], here)) == cells[2]
        if section.there and there:
            value(cells[0], there)
        return
    ours = numbers(value(cells[1], here))
    assert ours
    if not there:
        pytest.skip(f"only the side of ricci ran: {section.name} is not installed")
    theirs = numbers(value(cells[0], there))
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_the_page_has_all_of_them():
    names = [one.name for one in SECTIONS]
    assert names == ["JAX", "PyTorch", "autograd", "einops", "matrixcalculus.org", "SymPy"]
    assert all(len(one.rows) >= 8 for one in SECTIONS)


def test_a_row_that_is_wrong_is_found():
    page = "## one\n```python\nx = 1\n```\n\n| there | here |\n|---|---|\n| `x + 1` | `x + 2`, or so |\n"
    (section,) = sections(page)
    assert section.rows == [["x + 1", "x + 2"]]
    with pytest.raises(AssertionError):
        test_a_row_says_the_same_twice(section, section.rows[0])
