"""Pictures as SVG, without any program: the boxes of ``picture.py`` where ``layout.py`` puts them.

Letters are as wide as those of Helvetica on the average of their kind, so that boxes fit what is written in them. What
has no background of its own is drawn in a grey that is seen on light and on dark pages: notebooks show pictures by
themselves, without the colours of the page around.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from html import escape
from itertools import pairwise

from ricci.errors import InputError
from ricci.markup import INK
from ricci.show.layout import Places, Spot, laid_out
from ricci.show.picture import DIRECTIONS, Vertex, incoming

SIZE, SMALL, LINE = 11.0, 9.0, 14.0  # of letters, of those at lines, from one row of them to the next
NARROW, WIDE = frozenset("iljtfrI.,:;'|![]()/ "), frozenset("mwMW@%")
MARGIN, GAP, BETWEEN = 8.0, 34.0, 14.0
RESULT, EDGE = "#b45309", INK
HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{w:.0f}" height="{h:.0f}" viewBox="0 0 {w:.1f} {h:.1f}" '
    'role="img" font-family="Helvetica, Arial, sans-serif" font-size="11">'
)
MARKER = (
    '<defs><marker id="ricci-arrow" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" '
    f'orient="auto-start-reverse"><path d="M0,0.8 L8,4 L0,7.2 z" fill="{EDGE}"/></marker></defs>'
)
Point = tuple[float, float]


def to_svg(vertices: Sequence[Vertex], direction: str = "LR") -> str:
    """The picture as SVG."""
    if direction not in DIRECTIONS:
        raise InputError(f"A picture runs in one of the directions {', '.join(DIRECTIONS)}, not {direction!r}.")
    lying = direction in ("LR", "RL")
    boxes = [box_of(v) for v in vertices]
    lines = [(p, at, text) for at, v in enumerate(vertices) for p, text in incoming(v, vertices)]
    rooms = [(a, b, (width_of(text, SMALL) + 6 if lying else SMALL + 4) if text else 0.0) for a, b, text in lines]
    layout = laid_out([(w, h) if lying else (h, w) for w, h in boxes], rooms, GAP, BETWEEN)
    at = _turned(layout, direction)
    width, height = (layout.length, layout.breadth) if lying else (layout.breadth, layout.length)
    width, height = width + 2 * MARGIN, height + 2 * MARGIN
    drawn = [HEAD.format(w=width, h=height), f"<title>{escape(told(vertices))}</title>", MARKER]
    written: Counter[tuple[int, int]] = Counter()  # lines between two boxes that lie on one another
    for (a, b, text), way in zip(lines, layout.ways, strict=True):
        drawn.append(_line(layout, way, (boxes[a], boxes[b]), at, lying))
        if text:
            drawn.append(_written_at(layout, way, text, at, lying, written[way[-2], way[-1]]))
            written[way[-2], way[-1]] += 1
    for v, size, spot in zip(vertices, boxes, layout.spots, strict=False):
        drawn.append(_box(v, size, at(layout.along(spot), spot.place)))
    return "\n".join([*drawn, "</svg>"]) + "\n"


def told(vertices: Sequence[Vertex]) -> str:
    """The picture in a sentence, for those who do not see it."""
    inputs = [" ".join(v.lines or [v.word]) for v in vertices if v.kind == "input"]
    results = [" ".join(v.lines or [v.word]) for v in vertices if v.result]
    count = sum(v.kind == "operation" for v in vertices)
    of = f" of {', '.join(inputs)}" if inputs else ""
    return f"{', '.join(results)}: {count} operation{'s' * (count != 1)}{of}"


def width_of(text: str, size: float = SIZE) -> float:
    return size * sum(0.3 if c in NARROW else 0.86 if c in WIDE else 0.67 if c.isupper() else 0.56 for c in text)


def box_of(v: Vertex) -> tuple[float, float]:
    """How wide and high a vertex is drawn."""
    rows = v.lines or [v.word]
    width, height = max(map(width_of, rows)), LINE * len(rows)
    if v.kind == "operation":  # an ellipse around them
        width, height = max(1.22 * width + 14, 40.0), 1.15 * height + 12
    elif v.kind == "constant":
        width, height = width + 6, height + 4
    else:
        width, height = width + 18, height + 10
    return (width + 8, height + 8) if v.result else (width, height)


def _turned(layout: Places, direction: str) -> Callable[[float, float], Point]:
    """From places along and across the layers to points of the picture."""

    def at(along: float, across: float) -> Point:
        along = layout.length - along if direction in ("RL", "BT") else along
        x, y = (along, across) if direction in ("LR", "RL") else (across, along)
        return x + MARGIN, y + MARGIN

    return at


def _line(
    layout: Places, way: Sequence[int], sizes: tuple[Point, Point], at: Callable[[float, float], Point], lying: bool
) -> str:
    """A smooth line from the edge of one box to that of another, through the points between."""
    spots = [layout.spots[p] for p in way]
    half = [size[0] / 2 if lying else size[1] / 2 for size in sizes]
    begin = (layout.along(spots[0]) + half[0], spots[0].place)
    end = (layout.along(spots[-1]) - half[1] - 1, spots[-1].place)
    points = [begin, *[(x, s.place) for s in spots[1:-1] for x in _through(layout, s)], end]
    path = ["M{:.1f},{:.1f}".format(*at(*points[0]))]
    for (x, y), (u, v) in pairwise(points):
        bend = (u - x) / 2
        path.append("C" + " ".join("{:.1f},{:.1f}".format(*at(*p)) for p in ((x + bend, y), (u - bend, v), (u, v))))
    return f'<path d="{" ".join(path)}" fill="none" stroke="{EDGE}" marker-end="url(#ricci-arrow)"/>'


def _through(layout: Places, spot: Spot) -> tuple[float, float]:
    """A line goes straight past the boxes of a layer."""
    return layout.starts[spot.layer], layout.starts[spot.layer] + layout.widths[spot.layer]


def _written_at(
    layout: Places, way: Sequence[int], text: str, at: Callable[[float, float], Point], lying: bool, row: int
) -> str:
    """What is written at a line, before its last box: nearer to that end of the gap where fewer lines meet.

    What is written first stands above the line, what is written at others in the same place, in rows below it. Beside
    one another, every second one stands lower.
    """
    last, before = layout.spots[way[-1]], layout.spots[way[-2]]
    toward = len(before.after) / (len(before.after) + len(last.before))
    first = layout.starts[before.layer] + layout.widths[before.layer]
    half = (width_of(text, SMALL) if lying else SMALL) / 2 + 4
    along = first + half + (layout.starts[last.layer] - first - 2 * half - 4) * toward
    x, y = at(along, before.place + (last.place - before.place) * toward**2 * (3 - 2 * toward))
    if not lying:
        row += sum(layout.spots[k].place < before.place for k in last.before) % 2
    y += (SMALL + 2) * row - 3
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" font-size="{SMALL:.0f}" fill="{INK}">{escape(text)}</text>'
    )


def _box(v: Vertex, size: Point, middle: Point) -> str:
    (w, h), (x, y) = size, middle
    stroke = RESULT if v.result else EDGE
    parts = []
    if v.result:
        parts.append(_outline(v, x, y, w, h, "none", stroke))
        w, h = w - 8, h - 8
    if v.kind != "constant" or v.result:
        parts.append(_outline(v, x, y, w, h, FILLS.get(v.kind, "#ffffff"), stroke))
    rows = v.lines or [v.word]
    ink = INK if v.kind == "constant" and not v.result else "#111827"
    top = y - LINE * (len(rows) - 1) / 2 + 0.35 * SIZE
    spans = "".join(f'<tspan x="{x:.1f}" y="{top + LINE * k:.1f}">{escape(row)}</tspan>' for k, row in enumerate(rows))
    parts.append(f'<text text-anchor="middle" fill="{ink}">{spans}</text>')
    return f"<g>{''.join(parts)}</g>"


FILLS = {"input": "#dbeafe", "chain": "#f3f4f6", "rest": "#e5e7eb"}


def _outline(v: Vertex, x: float, y: float, w: float, h: float, fill: str, stroke: str) -> str:
    looks = f'fill="{fill}" stroke="{stroke}"'
    if v.kind == "operation":
        return f'<ellipse cx="{x:.1f}" cy="{y:.1f}" rx="{w / 2:.1f}" ry="{h / 2:.1f}" {looks}/>'
    round_off = 7 if v.kind == "input" else 2
    corner = f'x="{x - w / 2:.1f}" y="{y - h / 2:.1f}"'
    return f'<rect {corner} width="{w:.1f}" height="{h:.1f}" rx="{round_off}" {looks}/>'
