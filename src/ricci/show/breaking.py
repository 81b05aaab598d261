"""Long lines, broken at operators so that they still read back: a statement goes on after an operator.

The break is where the fewest brackets are open, and of such places where the weakest operator stands: after ``=``, then
after ``+`` and ``-``, then between factors. Inside brackets a line may end anywhere; outside, a product that is broken
shows its ``*``.
"""

from __future__ import annotations

import re
from textwrap import wrap

WIDTH = 100
INDENT = "    "
_PLACES = re.compile(r" = | [+-] | (?:<=|>=|==|!=|<|>) | / |, | |[()\[\]{}]")
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_STRENGTH = {"=": 0, "+": 2, "-": 2, ",": 1, "/": 3, "": 4}  # comparisons are weaker than sums


def broken(line: str, before: int, width: int = WIDTH) -> list[str]:
    """A line in pieces, each of which fits where ``before`` characters stand to its left; further ones are indented.
    LaTeX needs no ``*`` between factors."""
    rows, rest, indent = [], line, ""
    while len(indent) + len(rest) + before > width:
        place = _best(rest, width - before - len(indent))
        if place is None:
            break
        end, start, outside = place
        rows.append(indent + rest[:end] + (" *" if outside and "\\" not in line else ""))
        opened = sum(rest[:end].count(c) for c in "(") - sum(rest[:end].count(c) for c in ")")
        indent, rest = _deeper(indent, opened), rest[start:]
    return [*rows, indent + rest]


def _deeper(indent: str, opened: int) -> str:
    """The indentation of the next piece: deeper where brackets are open."""
    depth = max(1, len(indent) // len(INDENT) + opened) if indent else 1 + max(0, opened)
    return INDENT * min(depth, 5)


def _best(text: str, room: int) -> tuple[int, int, bool] | None:
    """Where to break: the end of this piece, the start of the next, and whether a ``*`` must be shown between them.

    Of equal places the last one is taken, but none in the first quarter, where hardly anything would be left of it.
    """
    found: list[tuple[tuple[int, int, int], tuple[int, int, bool]]] = []
    depth, inside_indices = -min(0, _lowest(text)), 0
    for match in _PLACES.finditer(text):
        sign = match.group().strip()
        if sign in _OPENING or sign in _CLOSING:
            step = 1 if sign in _OPENING else -1
            inside_indices += step if sign not in "()" else 0
            depth += step if sign in "()" else 0
            continue
        end = match.start() + len(match.group().rstrip())
        bare = not sign and depth == 0
        if inside_indices or end + 2 * bare > room:
            continue
        early = end < room // 4
        strength = _STRENGTH.get(sign, 1)
        found.append(((depth + 4 * early, strength, -end), (end, match.end(), bare)))
    return min(found)[1] if found else None


def _lowest(text: str) -> int:
    """How many brackets close in a text that were opened before it, as a negative number."""
    depth = lowest = 0
    for c in text:
        depth += (c == "(") - (c == ")")
        lowest = min(lowest, depth)
    return lowest


def row(lines: list[str], rule: str, column: int, hanging: int, width: int) -> list[str]:
    """Lines with a rule at the right of the last one, in the column, or below where the page is not wide enough."""
    *before, last = lines
    column = max(len(last), min(column, width - 3 - len(rule)))
    if column + 3 + len(rule) <= width:
        return [*before, f"{last:<{column}}   {rule}".rstrip()]
    whole = rule.replace(" → ", "\xa0→\xa0")  # what is put for what stays together
    parts = wrap(whole, max(10, width - hanging - 2))
    return [*lines, *[" " * hanging + f"({part})".replace("\xa0", " ") for part in parts]]
