"""Lines of Python and Julia once they are all there: what nothing reads is left out, and long lines lose parts of them.

A part that is taken out of a long line has a line of its own, so that few lines are broken, and formatters would leave
all of them as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from ricci.standalone.line_breaking import CLOSE, OPEN, WIDTH, depths_of, headed, operators, pieces_between

LEAST = 12  # letters of what is worth a line of its own
_STORED = re.compile(r"^ *(\w+) = (.*)$")
_COMPARED = re.compile(r" (==|!=|<=|>=|<|>) ")
_KEYWORD = re.compile(r"^\w+=(?!=)")


def tidied(lines: Sequence[str], fresh: Callable[[], str], made: Callable[[], set[str]]) -> list[str]:
    """Lines of a function, none longer than there is room for if that can be; ``made`` are the names that we chose."""
    found = [short for line in used(lines, made()) for short in _shortened(line, fresh, WIDTH)]
    return in_order(found, made())


def used(lines: Sequence[str], made: set[str]) -> list[str]:
    """The lines without those that store what nothing reads."""
    kept: list[str] = []
    read: set[str] = set()
    for line in reversed(lines):
        stored = _STORED.match(line)
        if stored and stored[1] in made and stored[1] not in read:
            continue
        read |= words_read([stored[2] if stored else line])
        kept.append(line)
    return kept[::-1]


def words_read(lines: Sequence[str]) -> set[str]:
    """The words of lines, but for those of texts and comments."""
    return {*re.findall(r"\w+", re.sub(r'"[^"]*"|# .*', "", "\n".join(lines)))}


def in_order(lines: Sequence[str], made: set[str]) -> list[str]:
    """The lines with numbered names in the order in which they are met."""
    met = dict.fromkeys([name for line in lines for name in re.findall(r"\bt\d+\b", line) if name in made])
    named = dict(zip(met, sorted(met, key=lambda name: int(name[1:])), strict=True))
    return [re.sub(r"\bt\d+\b", lambda m: named.get(m[0], m[0]), line) for line in lines]


def _shortened(line: str, fresh: Callable[[], str], room: int) -> list[str]:
    """A line, before it those for parts of it, and a comment that has no room beside it."""
    indent = line[: len(line) - len(line.lstrip())]
    if len(line) > room and "  # " in line:
        line, _, comment = line.rpartition("  # ")
        return [f"{indent}# {comment}", *_shortened(line, fresh, WIDTH)]
    before: list[str] = []
    while len(line) > room and not line.rstrip().endswith(":"):
        head, body = headed(line.strip())
        place = _part(body)
        if place is None:
            break
        start, end = place
        name, part = fresh(), body[start:end]
        before += _shortened(f"{indent}{name} = {_bare(part)}", fresh, room)
        line = f"{indent}{head}{body[:start]}{name}{body[end:]}"
    return [*before, line]


def _part(text: str) -> tuple[int, int] | None:
    """Where the part of an expression stands that is best taken out; none if each is short."""
    depths, listed = depths_of(text), pieces_between(text)
    if len(listed) > 1:
        return _longest(text, listed)
    compared = [m.start() for m in _COMPARED.finditer(text) if depths[m.start()] == 0]
    cuts = compared or operators(text)
    if cuts:
        signs = " <>=!" if compared else " +-*/"
        return _longest(text, [_operand(text, a, b, signs) for a, b in pairwise([0, *cuts, len(text)])])
    if text.startswith("-"):
        inner = _part(text[1:])
        return None if inner is None else (inner[0] + 1, inner[1] + 1)
    found: list[tuple[int, int]] = []
    for start in [k for k, c in enumerate(text) if c in OPEN and depths[k] == 0]:
        end = next(k for k in range(start + 1, len(text)) if text[k] in CLOSE and depths[k] == 0)
        if " for " in text[start:end]:  # a comprehension has names of its own
            continue
        inner = text[start + 1 : end]
        if start == 0 and end == len(text) - 1:
            place = _part(inner)
            return None if place is None else (place[0] + 1, place[1] + 1)
        for a, b in pieces_between(inner):
            found.append((start + 1 + a, start + 1 + b))
    chosen = _longest(text, found)
    return chosen or _before_last_call(text, depths)


def _before_last_call(text: str, depths: Sequence[int]) -> tuple[int, int] | None:
    """In ``a(…).b(…)`` what stands before the last point."""
    points = [k for k, c in enumerate(text) if c == "." and depths[k] == 0 and text[k - 1] in CLOSE]
    return (0, points[-1]) if points and points[-1] > LEAST else None


def _operand(text: str, start: int, end: int, signs: str) -> tuple[int, int]:
    """An operand without the sign before it."""
    while start < end and text[start] in signs:
        start += 1
    return start, end - (len(text[start:end]) - len(text[start:end].rstrip()))


def _longest(text: str, parts: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    free = [(a, b) for a, b in parts if b - a >= LEAST and _may_stand_alone(text[a:b])]
    return max(free, key=lambda part: part[1] - part[0], default=None)


def _may_stand_alone(part: str) -> bool:
    depths = depths_of(part)
    sliced = any(c in ":," and depths[k] == 0 for k, c in enumerate(part))
    worked = any(c in "([" for c in part) or " " in part
    return worked and not sliced and not part.startswith('"') and not _KEYWORD.match(part)


def _bare(part: str) -> str:
    """An expression without brackets around all of it."""
    whole = part.startswith("(") and part.endswith(")") and 0 not in depths_of(part)[1:-1]
    return part[1:-1] if whole and len(pieces_between(part[1:-1])) == 1 else part
