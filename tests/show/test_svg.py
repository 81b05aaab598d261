"""Pictures of graphs: what is written at lines can be read, and nothing is cut off."""

from __future__ import annotations

import re
from itertools import combinations
from typing import Any
from xml.etree import ElementTree

import pytest

import ricci as rc
from ricci.show.svg import SMALL, width_of

SPACE = "{http://www.w3.org/2000/svg}"
GRAPHS = [
    ("l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))", ["w", "w"]),
    ("f = x[i] A[i,j] x[j]", ["x"]),
    ("L = 1[i,j] (T[i,j] - U[i,k] V[j,k])**2", ["U", "U"]),
    ("y[i] = x[i] / (1 + x[k] x[k])", ["x"]),
    ("f = A[i,j] B[i,k] C[i,l] D[j,k,l]", ["A"]),
    ("f = a[i] b[i] c[i] d[i] a[i]", []),
]


def parts(svg: str) -> Any:
    """What is written in a picture."""
    return ElementTree.fromstring(svg).iter(f"{SPACE}text")


def found(pattern: str, svg: str) -> Any:
    return re.search(pattern, svg)


def written_at_lines(svg):
    """The boxes of what is written at lines."""
    texts = [e for e in parts(svg) if e.get("font-size") == f"{SMALL:.0f}"]
    for text in texts:
        x, y, width = float(text.get("x")), float(text.get("y")), width_of(text.text, SMALL)
        yield text.text, x - width / 2, y - 0.7 * SMALL, x + width / 2, y


def overlap(one, other):
    _, left, top, right, bottom = one
    _, left2, top2, right2, bottom2 = other
    return left < right2 and left2 < right and top < bottom2 and top2 < bottom


@pytest.mark.parametrize(("text", "by"), GRAPHS)
@pytest.mark.parametrize("direction", ["LR", "TB", "RL"])
def test_nothing_at_lines_is_written_over_another(text, by, direction):
    f = rc.parse(text)
    svg: Any = rc.draw(f.diff(*by) if by else f, direction=direction)._repr_svg_()
    boxes = list(written_at_lines(svg))
    assert [(a, b) for a, b in combinations(boxes, 2) if overlap(a, b)] == []
    width, height = map(float, found(r'viewBox="0 0 (\S+) (\S+)"', svg).groups())
    assert all(box[1] >= 0 and box[2] >= 0 and box[3] <= width and box[4] <= height for box in boxes)


def test_overlaps_are_found():
    assert overlap(("a", 0, 0, 5, 5), ("b", 4, 4, 9, 9)) and not overlap(("a", 0, 0, 5, 5), ("b", 5, 0, 9, 9))


@pytest.mark.parametrize(("text", "by"), GRAPHS[:4])
def test_words_below_a_picture_have_room_in_wide_letters(text, by):
    """DejaVu Sans, which pages have where there is no Helvetica, is wider by some 15 %."""
    svg: Any = rc.parse(text).diff(*by).structure()._repr_svg_()
    width = float(found(r'viewBox="0 0 (\S+)', svg)[1])
    for text in parts(svg):
        if text.get("text-anchor") == "start":
            assert float(text.get("x")) + 1.15 * width_of(text.text, float(text.get("font-size"))) < width
