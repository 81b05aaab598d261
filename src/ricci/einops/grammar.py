"""The grammar of patterns: ``"b (h p) c -> b h p c"``, read once into tuples.

One side of a pattern is a tuple with one *group* for each axis of the array. A group is a tuple of axes whose product
the axis is, in C order: names are strings, numbers from 2 on are ``int`` (each an axis of its own), and a 1 is left
out, so that ``()`` and ``1`` are the empty group. ``...`` stands for any number of axes: as a group of its own it is
the string ``"..."``, and inside parentheses it is an element of the group. In the wider language, ``(c + d)`` is a
:class:`Joined` group: the axis is cut into consecutive pieces, each a product of axes.

All functions on patterns, einsum and signatures read this grammar; a :class:`Dialect` says what each of them allows.
Reading is fast because new patterns are met while programs warm up: one regular expression, one loop. Where a fault
is, is found only when there is one, from the number of the token at fault.
"""

from __future__ import annotations

import keyword
import re
import sys
import warnings
from itertools import pairwise
from typing import Any, NamedTuple

from ricci.caches import Cache
from ricci.errors import EinopsError, EinopsTypeError

ELLIPSIS = "..."
STAR = "*"
Axis = str | int
Group = Any  # a tuple of axes, or the string ELLIPSIS, or Joined
Groups = tuple[Group, ...]  # one side, for one array

_names = Cache("names of axes", 10_000)  # those that were met and are good
_TOKEN = re.compile(r"->|[\w.…]+|[^ ]")
_WORD = re.compile(r"\S+")
_LOOSE_TOKEN = re.compile(r"->|\.\.\.|\w+|\S")


class Joined(tuple):
    """A group of several pieces, one after the other: ``(c + d e)``."""

    __slots__ = ()


class Parsed(NamedTuple):
    """The sides of a pattern; without an arrow, ``right`` is None."""

    text: str
    left: tuple[Groups, ...]
    right: tuple[Groups, ...] | None


class Dialect(NamedTuple):
    """What a function reads beyond einops' patterns of one array."""

    wide: bool = False  # several arrays, (c + d), and names that are words of Python
    repeats: bool = False  # an axis twice in an array on the left
    skips: bool = False  # the name _
    star: bool = False  # * for any axes, which are packed into one
    loose: bool = False  # all identifiers are names, a size may be 0, and ... needs no space


EINOPS = Dialect()
WIDE = Dialect(wide=True)
PRODUCTS = Dialect(wide=True, repeats=True)
SKIPPING = Dialect(wide=True, repeats=True, skips=True)
SHAPE = Dialect(skips=True)
PACKED = Dialect(star=True)
SIGNATURE = Dialect(wide=True, repeats=True, skips=True, loose=True)


class Fault(Exception):
    """Something is wrong at a token; turned into an :class:`EinopsError` with a caret."""

    def __init__(self, token: int, message: str, hint: str = ""):
        self.token, self.message, self.hint = token, message, hint


def parse(text: str, dialect: Dialect = EINOPS) -> Parsed:
    """Read a pattern.

    >>> parse("b (h 2) ... -> b h (...)").left
    ((('b',), ('h', 2), '...'),)
    """
    check_text(text)
    tokens = _tokens(dialect).findall(text)
    try:
        if "->" not in tokens:
            return Parsed(text, _sides(tokens, 0, dialect), None)
        at = tokens.index("->")
        once = dialect if dialect.loose or not dialect.repeats else dialect._replace(repeats=False)
        left = _sides(tokens[:at], 0, dialect)
        return Parsed(text, left, _sides(tokens[at + 1 :], at + 1, once))
    except Fault as fault:
        raise _explained(text, fault, dialect) from None


def check_text(pattern: object) -> None:
    """An error if this is not a text."""
    if not isinstance(pattern, str):
        raise EinopsTypeError(f"A pattern is a text such as 'b h w -> b (h w)', not {pattern!r}.")


def parse_side(text: str, dialect: Dialect = EINOPS) -> Groups:
    """One side of a pattern, for one array."""
    check_text(text)
    tokens = _tokens(dialect).findall(text)
    if "->" in tokens:
        at = text.index("->")
        raise EinopsError("Only one side of a pattern is wanted here.", text, at, at + 2)
    try:
        return _side(tokens, 0, dialect)
    except Fault as fault:
        raise _explained(text, fault, dialect) from None


def _tokens(dialect: Dialect) -> re.Pattern[str]:
    return _LOOSE_TOKEN if dialect.loose else _WORD if dialect.star else _TOKEN


def _explained(text: str, fault: Fault, dialect: Dialect) -> EinopsError:
    spans = [match.span() for match in _tokens(dialect).finditer(text)]
    start, end = spans[fault.token] if fault.token < len(spans) else (max(0, len(text) - 1), len(text))
    return EinopsError(fault.message, text, start, end, fault.hint)


def _sides(tokens: list[str], offset: int, dialect: Dialect) -> tuple[Groups, ...]:
    if not dialect.wide or "," not in tokens:
        return (_side(tokens, offset, dialect),)
    cuts = [-1, *[k for k, token in enumerate(tokens) if token == ","], len(tokens)]
    return tuple([_side(tokens[a + 1 : b], offset + a + 1, dialect) for a, b in pairwise(cuts)])


def _side(tokens: list[str], offset: int, dialect: Dialect) -> Groups:
    groups: list = []
    inside: list | None = None
    pieces: list | None = None
    seen: set[str] = set()
    wide, repeats = dialect.wide, dialect.repeats
    for k, token in enumerate(tokens):
        if token in _names.known:
            if token in seen and not repeats:
                raise _duplicate(offset + k, token, wide)
            seen.add(token)
            if inside is None:
                groups.append((token,))
            else:
                inside.append(token)
        elif token == "(" and not dialect.star:
            if inside is not None:
                raise Fault(offset + k, "Axis composition is one-level (brackets inside brackets not allowed).")
            inside = []
        elif token == ")":
            if inside is None:
                raise Fault(offset + k, "Brackets are not balanced: this one was not opened.")
            groups.append(Joined([*pieces, tuple(inside)]) if pieces is not None else tuple(inside))
            inside = pieces = None
        elif token == "+" and wide and inside is not None:
            pieces = [*(pieces or ()), tuple(inside)]
            inside = []
        else:
            axis = _axis(token, offset + k, dialect)
            if axis in seen and axis.__class__ is str and axis != "_" and (axis == ELLIPSIS or not repeats):
                raise _duplicate(offset + k, token, wide)
            seen.add(token)
            if inside is None:
                groups.append(axis if axis == ELLIPSIS else () if axis == 1 else (axis,))
            elif axis != 1:
                inside.append(axis)
    if inside is not None:
        opened = max(k for k, token in enumerate(tokens) if token == "(")
        raise Fault(offset + opened, "Imbalanced parentheses in expression: this one is not closed.")
    return tuple(groups)


def _duplicate(k: int, token: str, wide: bool) -> Fault:
    if token == ELLIPSIS:
        return Fault(k, "An ellipsis stands once on a side.", "Name the axes that the other one is meant for.")
    hint = "Each axis is named once on a side" + ('; a diagonal is rc.einsum("i i -> i", x).' if wide else ".")
    return Fault(k, f'Indexing expression contains duplicate dimension "{token}".', hint)


def check_name(name: str, wide: bool = False) -> bool:
    """Whether this can be the name of an axis; einops warns of names that are words of Python."""
    if not name.isidentifier() or name[0] == "_" or name[-1] == "_":
        return False
    if name in DISCOURAGED:
        if not wide:
            _warn(name)
    else:
        _names.keep(name, True)
    return True


DISCOURAGED = {*keyword.kwlist, "axis"}


def _axis(token: str, k: int, dialect: Dialect) -> Axis:
    if check_name(token, dialect.wide) or (token == ELLIPSIS and not dialect.star):
        return token
    if (token == "_" and dialect.skips) or (token == STAR and dialect.star):
        return token
    if dialect.star:
        hint = "Axis names are Python identifiers that do not start or end with an underscore."
        raise Fault(k, f"Invalid axis name {token} beside *.", hint)
    if token.isdecimal():
        if int(token) == 0 and not dialect.loose:
            raise Fault(k, "Anonymous axis should have positive length, not 0.")
        return int(token)
    if dialect.loose and token.isidentifier():
        return token
    if "." in token or "…" in token:
        only = "Expression may contain dots only inside ellipsis (...), set apart by spaces."
        raise Fault(k, only)
    if token[0].isalnum() or token[0] == "_":
        hint = "Axis names are Python identifiers that do not start or end with an underscore."
        raise Fault(k, f"Invalid axis identifier: {token}", hint)
    if token == "->":
        raise Fault(k, "A pattern has one arrow '->'.")
    hint = {",": "Several arrays are for rc.rearrange.", "+": "Joining and splitting by + is for rc.rearrange."}
    if dialect.wide:
        hint = {"+": "Write + between axes inside parentheses: b (c + d)."}
    raise Fault(k, f"Unknown character '{token}'.", hint.get(token, "Axes are separated by spaces."))


def _warn(token: str) -> None:
    message, category = f"It is discouraged to use axes names that are keywords: {token}", RuntimeWarning
    if token == "axis":
        message = "It is discouraged to use 'axis' as an axis name and will raise an error in future"
        category = FutureWarning
    level, frame = 2, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("ricci."):  # to the line of the user
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def span_of(text: str, axis: object, left: bool = True) -> tuple[int, int]:
    """Where an axis is first named in a pattern, on the left side if it is there, to put a caret under it."""
    spans = [m.span() for m in re.finditer(rf"(?<![\w.]){re.escape(str(axis))}(?![\w.])", text)]
    arrow = text.find("->")
    spans.sort(key=lambda span: (span[0] > arrow >= 0) == left)
    return spans[0] if spans else (0, len(text))


def group_text(group: object) -> str:
    """A group as it is written."""
    if isinstance(group, Joined):
        return "(" + " + ".join(" ".join(map(str, piece)) or "1" for piece in group) + ")"
    if isinstance(group, str):
        return group
    assert isinstance(group, tuple)
    return str(group[0]) if len(group) == 1 and group[0] != ELLIPSIS else "(" + " ".join(map(str, group)) + ")"


def side_text(side: Groups) -> str:
    """A side as it is written.

    >>> side_text(parse("b (h  p) 1").left[0])
    'b (h p) ()'
    """
    return " ".join(map(group_text, side))


def names_of(side: Groups) -> list[Axis]:
    """All axes of a side, in order, ``...`` among them."""
    found: list[Axis] = []
    for group in side:
        pieces = group if isinstance(group, Joined) else (group,)
        for piece in pieces:
            found += [piece] if isinstance(piece, str) else piece
    return found


def spans_of(text: str) -> list[list[tuple[int, int]]]:
    """Where each group of each array stands, the arrays of the left side first.

    >>> spans_of("b (h p), h -> b")
    [[(0, 1), (2, 7)], [(9, 10)], [(14, 15)]]
    """
    arrays: list[list[tuple[int, int]]] = [[]]
    opened = None
    for match in _LOOSE_TOKEN.finditer(text):
        if match.group() in ("->", ","):
            arrays.append([])
        elif match.group() == "(":
            opened = match.start()
        elif match.group() == ")":
            arrays[-1].append((opened or 0, match.end()))
            opened = None
        elif opened is None:
            arrays[-1].append(match.span())
    return arrays


def array_span(text: str, number: int = 0) -> tuple[int, int]:
    """Where an array stands in a pattern; the whole left side if it has no axes."""
    arrays = spans_of(text)
    spans = arrays[min(number, len(arrays) - 1)]  # pack has one pattern for all of its arrays
    return (spans[0][0], spans[-1][1]) if spans else (0, max(1, len(text.split("->")[0].rstrip())))
