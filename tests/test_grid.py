"""The one class of tables: columns as text, within a width, and for notebooks."""

from __future__ import annotations

import io
import re
import sys

import numpy as np
import pytest

import ricci as rc
from ricci.grid import Grid, Shown

WORDS = Grid(["name", "what it does", "bytes"], [["t0", "adds one number to another", "8"], ["t1", "", "16,384"]], {2})


def test_columns_are_aligned():
    assert WORDS.text().splitlines() == [
        "name  what it does                 bytes",
        "t0    adds one number to another       8",
        "t1                                16,384",
    ]


def test_lines_between_columns_and_words_around():
    grid = Grid(["x", "y"], [["1", "20"]], {1}, ruled=True, above="before", below="after")
    assert str(grid) == repr(grid) == "before\nx │  y\n──┼───\n1 │ 20\nafter"


def test_a_table_without_rows():
    assert Grid(["x", "y"], []).text() == "x  y"


@pytest.mark.parametrize("width", [28, 32, 36])
def test_long_cells_are_broken(width):
    text = WORDS.text(width)
    assert max(map(len, text.splitlines())) <= width
    assert text.split() != WORDS.text().split() or len(text.splitlines()) > 3
    assert [line[-6:].strip() for line in text.splitlines() if line.strip().endswith("84")] == ["16,384"]


def test_no_column_is_made_narrower_than_words_need():
    lines = WORDS.text(10).splitlines()
    assert "what it does" in lines[0]  # what cannot be narrow stays


def test_the_width_is_that_of_the_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

        def fileno(self):
            return 1

    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setattr("os.get_terminal_size", lambda number: __import__("os").terminal_size((30, 20)))
    assert max(map(len, str(WORDS).splitlines())) <= 30
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert str(WORDS) == WORDS.text()


def test_notebooks_get_text_that_is_escaped():
    page = re.sub(' style="[a-z:;-]+"', "", Grid(["a<b"], [["<script>"]], above="x & y")._repr_html_())
    assert page == "<p>x &amp; y</p><table><tr><th>a&lt;b</th></tr><tr><td>&lt;script&gt;</td></tr></table>"


def test_all_tables_are_of_this_class():
    plan = rc.parse("y[i] = A[i,j] x[j]").compile("numpy").plan
    shapes = rc.shapes(lambda x: rc.rearrange(x, "a b -> b a"))(np.ones((2, 3)))
    table = rc.trace_table(rc.parse("f = x1 x2 + sin(x1)"), x1=2.0, x2=7.0)
    for shown in (plan, shapes, table, rc.cache_info()):
        assert isinstance(shown, Shown)
        assert str(shown) == repr(shown) == str(shown.grid())
        assert shown._repr_html_().count("<tr>") == len(shown.grid().cells) + 1
