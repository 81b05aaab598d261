"""Pictures of structures as SVG: a cell for each entry, shaded by which number it is, and nothing where it is zero.

Cells of one shade and colour may be the same number; those that are the same number have one shade. What lies on the
page is drawn in a grey that is seen on white and on black, since notebooks show pictures without the page's colours.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import prod
from typing import TYPE_CHECKING

from ricci.markup import HUES, INK
from ricci.show.known_entries import KnownEntry
from ricci.show.svg import width_of

if TYPE_CHECKING:  # a picture draws itself
    from ricci.show.structure_picture import BlockPicture, DrawnAxis, Panel, Place

CELL, SMALLEST, WIDEST = 15.0, 7.0, 640.0
BLOCK_GAP, LEFT_OUT, INNER_LEFT_OUT, SIGN, MARGIN = 4.0, 14.0, 5.0, 26.0, 6.0
TEXT, SMALL, LINE = 12.0, 10.5, 16.0
SHADES, PALEST = 12, 0.28
WIDER = 1.18  # than in Helvetica text may be
MANY = INK  # the colour of entries of which several parts are made
GOLDEN = 0.6180339887498949  # multiples of it are spread evenly
Spots = dict[tuple[int, ...], float]


def to_svg(p: BlockPicture) -> str:
    """The picture as SVG, with its title and what it says in words."""
    panels = [p.whole, *p.parts]
    cell = min(CELL, max(SMALLEST, (WIDEST - 40 - SIGN * len(p.parts)) / (_most(p.columns) + 2) / len(panels)))
    down, high, cut_down = _spots(p.rows, cell)
    along, wide, cut_along = _spots(p.columns, cell)
    said = [_said(p, panel) for panel in panels]
    widths = [max(wide, *[_room(text, SMALL) for text in lines], _room(p.sides[1], TEXT)) for lines in said]
    left = MARGIN + (LINE + 6 if p.sides[0] else 4)
    top = MARGIN + (LINE if p.sides[1] else 0)
    shade = _Shades()
    drawn: list[str] = []
    x = left
    for k, (panel, lines, width) in enumerate(zip(panels, said, widths, strict=True)):
        if k:
            sign = ("=" if k == 1 else "") + ("−" if panel.minus else "" if k == 1 else "+")
            drawn.append(_text(sign, x + SIGN / 2, top + high / 2 + 5, 16))
            x += SIGN
        own = x + (width - wide) / 2
        hue = _hues(panel, k)
        drawn.append(f'<g transform="translate({own:.1f},{top:.1f})">{_panel(panel, hue, shade, down, along, cell)}')
        drawn.append(_frame(wide, high) + _cuts(cut_down, cut_along, wide, high) + "</g>")
        drawn.append(_text(p.sides[1], own + wide / 2, top - 6, TEXT))
        drawn += [_text(line, x + width / 2, top + high + LINE * (n + 1), SMALL) for n, line in enumerate(lines)]
        x += width
    drawn.append(_turned(p.sides[0], left - 11, top + high / 2))
    base = top + high + LINE * (max(map(len, said)) + 1)
    notes = [*p.notes, *_told_sizes(p)]
    drawn += [_text(note, MARGIN, base + LINE * n, SMALL, "start") for n, note in enumerate(notes)]
    width = max([x, *[MARGIN + _room(note, SMALL) for note in notes]]) + MARGIN
    height = base + LINE * (len(notes) - 1) + MARGIN
    return "\n".join([_head(width, height, p), *filter(None, drawn), "</svg>"]) + "\n"


def _room(text: str, size: float) -> float:
    """How wide a text may be: some pages have no letters as narrow as those of Helvetica."""
    return WIDER * width_of(text, size)


def _head(width: float, height: float, p: BlockPicture) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.1f} {height:.1f}" role="img" style="max-width:100%;height:auto" '
        f'font-family="Helvetica, Arial, sans-serif" fill="{INK}">\n'
        f"<title>{escape(' '.join(filter(None, ['Structure', *_of(p)])))}</title>\n<desc>{escape(told(p))}</desc>"
    )


def _of(p: BlockPicture) -> list[str]:
    return [f"with rows {p.sides[0] or '1'} and columns {p.sides[1] or '1'}"]


def told(p: BlockPicture) -> str:
    """The picture in words, for those who do not see it."""
    entries = p.whole.entries.values()
    filled = [entry for entry in entries if entry.coef != 0]
    parts = "; ".join(
        ", ".join([*filter(None, [panel.caption]), *_words(p, panel)]) for panel in (p.parts or (p.whole,))
    )
    count = f"{len(filled)} of the {len(entries)} entries drawn are not zero, with {len({*filled})} different numbers"
    several = f"A sum of {len(p.parts)} parts: " if p.parts else ""
    return f"{several}{parts}. {count}. {'. '.join([*p.notes, *_told_sizes(p)])}.".replace("..", ".")


def _said(p: BlockPicture, panel: Panel) -> list[str]:
    if panel is p.whole and p.parts:  # which say it
        return []
    return [*filter(None, [panel.caption, ", ".join(_words(p, panel))])]


def _words(p: BlockPicture, panel: Panel) -> list[str]:
    """What kinds of structure there are; it is dense where nothing is left out."""
    if not any(entry.coef != 0 for entry in panel.entries.values()):
        return ["zero"]
    full = all(entry.coef != 0 and not entry.open for entry in panel.entries.values())
    return (["dense"] if full else [*panel.kinds]) + (["equal blocks"] if p.blocks_alike(panel) else [])


def _told_sizes(p: BlockPicture) -> list[str]:
    listed = ", ".join(f"|{name}| = {size}" for name, size in p.chosen.items())
    cut = [axis.name for axis in (*p.rows, *p.columns) if len(axis.shown) < axis.size]
    said = [f"drawn for {listed}"] if listed else []
    return said + ([f"of {', '.join(cut)} the first places and the last one are drawn"] if cut else [])


# Places


def _most(axes: Sequence[DrawnAxis]) -> int:
    return prod([len(axis.shown) for axis in axes])


def _spots(axes: Sequence[DrawnAxis], cell: float) -> tuple[Spots, float, list[float]]:
    """Where the cells of a side begin, how long it is, and where places are left out.

    Blocks of inner axes stand apart, those of outer ones farther; only where blocks are left out it gets a sign.
    """
    spots: Spots = {(): 0.0}
    end, cuts = cell, []
    for depth, axis in enumerate(reversed(axes)):
        gap = BLOCK_GAP * depth
        left_out = LEFT_OUT if depth == len(axes) - 1 else INNER_LEFT_OUT
        block, inner, at = end, spots, 0.0
        spots, cuts = {}, []
        for k, place in enumerate(axis.shown):
            if k:
                at += gap
            if k and place != axis.shown[k - 1] + 1:
                cuts.append(at + (left_out - gap) / 2)
                at += left_out
            spots |= {(place, *rest): at + spot for rest, spot in inner.items()}
            at += block
        end = at
    return spots, end, cuts


# Drawing


class _Shades:
    """How dark each number is drawn, in the order in which they are met."""

    def __init__(self):
        self.known: dict[tuple, float] = {}

    def of(self, entry: KnownEntry) -> float:
        if not entry.atoms:
            return 0.95
        key = abs(entry.coef), entry.atoms  # a part that is taken away has the shades that it has in the whole
        if key not in self.known:
            step = int((len(self.known) + 0.5) * GOLDEN % 1 * SHADES) / (SHADES - 1)
            self.known[key] = round(0.9 - (0.9 - PALEST) * min(step, 1.0), 2)
        return self.known[key]


def _hues(panel: Panel, number: int) -> dict[Place, str]:
    """The colour of each entry: that of the part that it belongs to, if it is one."""
    if panel.parts is None:
        return dict.fromkeys(panel.entries, HUES[max(0, number - 1) % len(HUES)])
    of = {place: parts[0] if len(parts) == 1 else None for place, parts in panel.parts.items()}
    return {place: MANY if k is None else HUES[k % len(HUES)] for place, k in of.items()}


def _panel(panel: Panel, hues: dict[Place, str], shade: _Shades, down: Spots, along: Spots, cell: float) -> str:
    """The cells, those that look alike as one path."""
    paths: dict[tuple[str, float], list[str]] = {}
    dots, rings, numbers = [], [], []
    inner = cell - 1
    for row, y in down.items():
        for column, x in along.items():
            place = (*row, *column)
            entry = panel.entries[place]
            if entry.coef == 0:
                dots.append(f"M{x + cell / 2:.1f},{y + cell / 2:.1f}h0")
                continue
            square = f"M{x + 0.5:.1f},{y + 0.5:.1f}h{inner:.1f}v{inner:.1f}h-{inner:.1f}z"
            if entry.open:
                rings.append(f'<path d="{square}" stroke="{hues[place]}"/>')
                continue
            paths.setdefault((hues[place], shade.of(entry)), []).append(square)
            number = "" if entry.atoms or panel.parts is not None else _number(entry.coef)
            if number and cell >= CELL:
                numbers.append(_text(number, x + cell / 2, y + cell / 2 + 4, SMALL, fill="#ffffff"))
    made = [f'<path d="{"".join(dots)}" stroke="{INK}" stroke-width="2" stroke-linecap="round"/>'] if dots else []
    made += [f'<path d="{"".join(d)}" fill="{hue}" fill-opacity="{by}"/>' for (hue, by), d in paths.items()]
    made += [f'<g fill="none" stroke-width="1.2" stroke-dasharray="2 2">{"".join(rings)}</g>'] if rings else []
    return "".join([*made, *numbers])


def _number(coef: object) -> str:
    text = f"{float(coef):g}" if isinstance(coef, float) else str(coef)
    return text.replace("-", "−") if len(text) < 3 else ""


def _frame(wide: float, high: float) -> str:
    """Brackets around a matrix."""
    sides = [f"M{x + 3 * sign:.1f},-2h{-3 * sign}v{high + 4:.1f}h{3 * sign}" for x, sign in ((-3, 1), (wide + 3, -1))]
    return f'<path d="{"".join(sides)}" fill="none" stroke="{INK}" stroke-width="1.2"/>'


def _cuts(down: Sequence[float], along: Sequence[float], wide: float, high: float) -> str:
    across = [_text("⋯", x, high / 2 + 4, TEXT) for x in along]
    return "".join([*across, *[_text("⋮", wide / 2, y + 4, TEXT) for y in down]])


def _text(text: str, x: float, y: float, size: float, anchor: str = "middle", fill: str = "") -> str:
    if not text:
        return ""
    ink = f' fill="{fill}"' if fill else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" text-anchor="{anchor}"{ink}>{escape(text)}</text>'


def _turned(text: str, x: float, y: float) -> str:
    return f'<g transform="translate({x:.1f},{y:.1f}) rotate(-90)">{_text(text, 0, 0, TEXT)}</g>' if text else ""
