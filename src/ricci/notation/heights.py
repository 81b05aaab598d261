"""Upper and lower indices: the words for where they stand, and how a tensor keeps its heights.

A height is "up", "down", or "" for an index in brackets. The core knows nothing of heights. A name has those that it
was given where it was first written with some, a formula has those of its free indices, and from these follows where
every index of what is made of them stands.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

FLIPPED = {"up": "down", "down": "up", "": ""}
WORDS = {"up": "above", "down": "below", "": "in brackets"}
KEEPS = "A tensor keeps its heights; another one needs a metric: x_{i} is g_{i j} x^j, and x^i is inv(g)^{i j} x_{j}."

USUAL = frozenset([*"ijklmn", "mu", "nu"])  # what is surely an index above a name, and no exponent

ALL_OR_NONE = "All free indices stand above or below, or all in brackets."


def mixed(heights: Collection[str]) -> bool:
    """Whether some indices stand above or below and others in brackets."""
    return any(heights) and not all(heights)


def told(heights: Sequence[str]) -> str:
    """Heights in words: ``above and below``."""
    return " and ".join([WORDS[h] for h in heights])


def changed(name: str, given: Sequence[str], found: Sequence[str]) -> str:
    """What is wrong with a tensor that is used at other heights than it was given."""
    return f"The indices of {name!r} stand {told(given)} elsewhere, and {told(found)} here."


def flipped(heights: Sequence[str]) -> tuple[str, ...]:
    """Where the indices of a derivative by a tensor stand: those by ``v^k`` below."""
    return tuple([FLIPPED[h] for h in heights])
