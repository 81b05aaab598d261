"""Einsum patterns: ``"ij,jk->ik"``, one letter an index, or ``"b i, i j -> b j"``, names with spaces, and ``...``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ricci.errors import NotationError

ELLIPSIS = "..."


@dataclass(frozen=True, slots=True)
class Pattern:
    """The index names of each operand, and those of the result."""

    operands: tuple[tuple[str, ...], ...]
    out: tuple[str, ...]


def parse_pattern(text: str, orders: Sequence[int]) -> Pattern:
    """Read ``text`` for operands with these numbers of axes.

    >>> parse_pattern("ij,jk->ik", [2, 2]).out
    ('i', 'k')
    >>> parse_pattern("batch in, in out -> batch out", [2, 2]).operands
    (('batch', 'in'), ('in', 'out'))
    """
    left, arrow, right = text.partition("->")
    if "->" in right:
        raise NotationError("An einsum pattern has one arrow.", text, text.rfind("->"), text.rfind("->") + 2)
    parts = left.split(",")
    if len(parts) != len(orders):
        message = f"The pattern names {len(parts)} operands and {len(orders)} were given."
        raise NotationError(message, text, 0, len(left))
    spaced = _is_spaced(parts, right, orders)
    operands = tuple([_names(part, spaced, text) for part in parts])
    operands = tuple([_with_ellipsis(names, order, text) for names, order in zip(operands, orders, strict=True)])
    if arrow:
        hidden = max((tuple([n for n in names if n.startswith(ELLIPSIS)]) for names in operands), key=len)
        out = tuple([n for name in _names(right, spaced, text) for n in (hidden if name == ELLIPSIS else (name,))])
    else:
        counts = Counter(name for names in operands for name in names)
        kept = [name for name, n in counts.items() if n == 1 and not name.startswith(ELLIPSIS)]
        out = (*sorted({n for n in counts if n.startswith(ELLIPSIS)}, reverse=True), *sorted(kept))
    _check_out(out, operands, text)
    return Pattern(operands, out)


def _is_spaced(parts: list[str], right: str, orders: Sequence[int]) -> bool:
    if any(len(part.replace(ELLIPSIS, " ").split()) > 1 for part in [*parts, right]):
        return True
    letters = [len(part.strip().replace(ELLIPSIS, "")) for part in parts]
    words = [len(part.replace(ELLIPSIS, " ").split()) for part in parts]
    if _fits(letters, orders, parts):
        return False
    return _fits(words, orders, parts)


def _fits(counts: list[int], orders: Sequence[int], parts: list[str]) -> bool:
    return all(n <= o if ELLIPSIS in part else n == o for n, o, part in zip(counts, orders, parts, strict=True))


def _names(part: str, spaced: bool, text: str) -> tuple[str, ...]:
    names: list[str] = []
    for word in part.replace(ELLIPSIS, f" {ELLIPSIS} ").split():
        names += [word] if spaced or word == ELLIPSIS else list(word)
    for name in names:
        if name != ELLIPSIS and not name.replace("'", "").isidentifier():
            start = text.find(name)
            hint = "Index names are letters, digits and underscores."
            raise NotationError(f"{name!r} is not an index name.", text, start, start + len(name), hint)
    if names.count(ELLIPSIS) > 1:
        raise NotationError("An operand has at most one ellipsis.", text, text.find(part), text.find(part) + len(part))
    return tuple(names)


def _with_ellipsis(names: tuple[str, ...], order: int, text: str) -> tuple[str, ...]:
    """The ellipsis replaced by names of its own, counted from the right."""
    hidden = order - (len(names) - 1) if ELLIPSIS in names else 0
    if hidden < 0 or (ELLIPSIS not in names and len(names) != order):
        message = f"The pattern names {len(names)} axes of an operand that has {order}."
        raise NotationError(message, text, 0, len(text))
    fill = [f"{ELLIPSIS}{position}" for position in range(hidden, 0, -1)]
    return tuple([n for name in names for n in (fill if name == ELLIPSIS else (name,))])


def _check_out(out: tuple[str, ...], operands: tuple[tuple[str, ...], ...], text: str) -> None:
    known = {name for names in operands for name in names}
    for name in out:
        at = text.rfind(name)
        if name not in known:
            raise NotationError(f"Index {name!r} of the result is not in any operand.", text, at, at + len(name))
        if out.count(name) > 1:
            raise NotationError(f"Index {name!r} is twice in the result.", text, at, at + len(name))
