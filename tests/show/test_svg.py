"""Pictures without Graphviz: boxes are apart, lines go from operands to users, and all that is to be read is there."""

from __future__ import annotations

import random
import re
from xml.etree import ElementTree

import numpy as np
import pytest

import ricci as rc
from ricci.errors import InputError
from ricci.show import layout, picture, svg
from ricci.testing.identities import identities

SPACE = "{http://www.w3.org/2000/svg}"


def graph(seed):
    draw = random.Random(seed)
    count = draw.randrange(1, 40)
    sizes = [(draw.uniform(10, 90), draw.uniform(10, 50)) for _ in range(count)]
    lines = [
        (draw.randrange(b), b, draw.choice([0.0, 12.0])) for b in range(1, count) for _ in range(draw.randrange(3))
    ]
    return sizes, lines


def overlaps(made, count, between):
    """Pairs of boxes of one layer that are nearer than they may be."""
    found = []
    for a in range(count):
        for b in range(a):
            one, other = made.spots[a], made.spots[b]
            room = (one.across + other.across) / 2 + between
            if one.layer == other.layer and abs(one.place - other.place) < room - 1e-6:
                found.append((a, b))
    return found


@pytest.mark.parametrize("seed", range(25))
def test_boxes_are_apart_and_lines_go_one_way(seed):
    sizes, lines = graph(seed)
    made = layout.laid_out(sizes, lines, 30.0, 12.0)
    assert not overlaps(made, len(sizes), 12.0)
    for (a, b, _), way in zip(lines, made.ways, strict=True):
        assert (way[0], way[-1]) == (a, b)
        layers = [made.spots[p].layer for p in way]
        assert layers == list(range(layers[0], layers[-1] + 1)) and len(layers) > 1
    for spot in made.spots:
        assert spot.place - spot.across / 2 >= -1e-6 and spot.place + spot.across / 2 <= made.breadth + 1e-6
        assert made.along(spot) - spot.along / 2 + 1e-6 >= 0 and made.along(spot) + spot.along / 2 <= made.length + 1e-6
    made.spots[0].place = made.spots[-1].place
    made.spots[0].layer = made.spots[-1].layer
    assert len(sizes) == 1 or overlaps(made, len(sizes), 12.0) or not made.spots[-1].box


def test_places_have_the_least_squares():
    """Against many other places that are apart."""
    draw = np.random.default_rng(0)
    for _ in range(20):
        wishes, weights, apart = draw.normal(size=4), draw.uniform(0.5, 8, 4), draw.uniform(0.1, 1, 3)
        places = np.array(layout.spaced(list(wishes), list(weights), list(apart)))
        assert (np.diff(places) >= apart - 1e-9).all()
        least = (weights * (places - wishes) ** 2).sum()
        for _ in range(200):
            others = places + draw.normal(size=4) * 0.2
            if (np.diff(others) >= apart).all():
                assert (weights * (others - wishes) ** 2).sum() >= least - 1e-9


def test_lines_that_need_not_cross_do_not():
    """Two chains side by side, whose beginnings come in the other order."""
    lines = [(0, 2, 0.0), (1, 3, 0.0), (2, 5, 0.0), (3, 4, 0.0)]
    made = layout.laid_out([(20.0, 10.0)] * 6, lines, 30.0, 12.0)
    order = [(made.spots[a].place < made.spots[b].place) for a, b in ((0, 1), (2, 3), (5, 4))]
    assert len(set(order)) == 1


FORMULAS = ["f = x1 x2 + sin(x1)", "y[i] = where(a[i] < b[i], a[i] c, b[i])", "y = 2", "y[i,j] = 1[j] x[i] / |j|"]
FORMULAS += [row.text for row in identities()[::23]]


def texts(root):
    """Lines of text in boxes, and those at arrows."""
    boxes = [["".join(t.itertext()) for t in g.iter(f"{SPACE}tspan")] for g in root.findall(f"{SPACE}g")]
    return boxes, ["".join(t.itertext()) for t in root.findall(f"{SPACE}text")]


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("direction", ["LR", "TB"])
def test_all_that_is_to_be_read_is_there(text, direction):
    f = rc.parse(text)
    vertices = picture.of_expressions([f.expr], [f.indices], [f.name], f.context.facts)
    made = svg.to_svg(vertices, direction)
    assert made == svg.to_svg(vertices, direction) and "nan" not in made and "inf" not in made.split("</title>")[1]
    root = ElementTree.fromstring(made)
    boxes, written = texts(root)
    assert boxes == [v.lines or [v.word] for v in vertices]
    lines = [text for v in vertices for _, text in picture.incoming(v, vertices)]
    assert sorted(written) == sorted(t for t in lines if t)
    assert len(root.findall(f"{SPACE}path")) == len(lines)
    assert root.get("role") == "img" and (root.findtext(f"{SPACE}title") or "").startswith(boxes[-1][0].split(" =")[0])


def test_directions():
    f = rc.parse("y[i] = exp(sin(x[i]))")
    vertices = picture.of_expressions([f.expr], [f.indices], [f.name], f.context.facts)
    middles = {}
    for direction in picture.DIRECTIONS:
        root = ElementTree.fromstring(svg.to_svg(vertices, direction))
        spans = [g.find(f"{SPACE}text/{SPACE}tspan") for g in root.findall(f"{SPACE}g")]
        middles[direction] = [(float(s.get("x", "")), float(s.get("y", ""))) for s in spans if s is not None]
    x = {d: [p[0] for p in middles[d]] for d in middles}
    y = {d: [p[1] for p in middles[d]] for d in middles}
    assert x["LR"] == sorted(x["LR"]) and x["RL"] == sorted(x["RL"], reverse=True)
    assert y["TB"] == sorted(y["TB"]) and y["BT"] == sorted(y["BT"], reverse=True)
    with pytest.raises(InputError, match="LR, TB, RL, BT"):
        svg.to_svg(vertices, "XY")


def test_what_is_written_is_escaped():
    vertices = [picture.Vertex("input", 'a<b & "c"', result=True)]
    made = svg.to_svg(vertices)
    assert texts(ElementTree.fromstring(made))[0] == [['a<b & "c"']] and re.search("a&lt;b &amp;", made)


def test_sizes_have_the_names_of_their_indices():
    f = rc.parse("y[b,h] = (x[b,h] - 1[h] mean[h](x[b,h])) g[h]")
    shown = " ".join(
        line for v in picture.of_expressions([f.expr], [f.indices], [None], f.context.facts) for line in v.lines
    )
    assert "|h|" in shown and ".0|" not in shown and ".1|" not in shown
