"""Tables to look at: plans, shapes, traces, caches. One class lays them out, as text and for notebooks."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Sequence

from ricci.markup import element, joined, table

NARROWEST = 12  # characters that a column keeps where a table is wider than its place


class Grid:
    """Rows of cells under heads, which is all that a subclass or its maker has to give.

    ``right`` tells the columns whose cells are set to the right, ``ruled`` draws lines between columns, and ``above``
    and ``below`` are said around the table. On a terminal that is narrower, long cells are broken into lines.

    >>> Grid(["step", "bytes"], [["t0", "8"], ["t1", "16,384"]], right={1}, below="2 steps")
    step   bytes
    t0         8
    t1    16,384
    2 steps
    """

    def __init__(
        self,
        heads: Sequence[str],
        cells: Sequence[Sequence[str]],
        right: set[int] | frozenset[int] = frozenset(),
        ruled: bool = False,
        above: str = "",
        below: str = "",
    ):
        self.heads, self.cells, self.right = list(heads), [list(row) for row in cells], right
        self.ruled, self.above, self.below = ruled, above, below

    def __str__(self) -> str:
        return self.text(_terminal())

    def __repr__(self) -> str:
        return str(self)

    def text(self, width: int | None = None) -> str:
        """The table in at most ``width`` characters a line, where its columns can be made so narrow."""
        between = " │ " if self.ruled else "  "
        widths = self._widths(width, len(between))
        lines = [line for row in (self.heads, *self.cells) for line in self._lines(row, widths, between)]
        if self.ruled:
            lines.insert(1, "─┼─".join("─" * w for w in widths))
        return "\n".join([*filter(None, [self.above]), *lines, *filter(None, [self.below])])

    def _widths(self, width: int | None, between: int) -> list[int]:
        """What the longest cells take; if that is too much, the widest columns of words give way."""
        widths = [max(map(len, column)) for column in zip(self.heads, *self.cells, strict=True)]
        excess = 0 if width is None else sum(widths) + between * (len(widths) - 1) - width
        soft = [k for k in range(len(widths)) if k not in self.right]
        while excess > 0 and soft:
            widest = max(soft, key=lambda k: widths[k])
            if widths[widest] <= NARROWEST:
                break
            widths[widest] -= 1
            excess -= 1
        return widths

    def _lines(self, row: Sequence[str], widths: Sequence[int], between: str) -> list[str]:
        parts = [[c] if len(c) <= w else textwrap.wrap(c, w) for c, w in zip(row, widths, strict=True)]
        padded = [
            [(p[n] if n < len(p) else "") for p in parts] for n in range(max(map(len, parts), default=0))
        ]  # one list of cells for each line
        adjust = [str.rjust if k in self.right else str.ljust for k in range(len(widths))]
        return [between.join([a(c, w) for a, c, w in zip(adjust, cells, widths)]).rstrip() for cells in padded]

    def _repr_html_(self) -> str:
        return joined([_around(self.above), table(self.heads, self.cells, self.right), _around(self.below)])


class Shown:
    """What is looked at as a table: a subclass says which, by ``grid()``."""

    def grid(self) -> Grid:
        raise NotImplementedError

    def __str__(self) -> str:
        return str(self.grid())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.grid()._repr_html_()


def _around(text: str) -> str:
    """What stands above or below a table; lines stay lines."""
    return element("p", text, style="white-space:pre-line" if "\n" in text else "") if text else ""


def _terminal() -> int | None:
    """How wide the terminal is that is printed to, if it is one."""
    stream = sys.stdout
    if stream is None or not stream.isatty():
        return None
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except (OSError, ValueError):  # closed, or no real file
        return None
