"""Pieces of HTML, for all that shows itself in notebooks: escaped, without scripts, readable on light and dark pages.

Text is escaped where it becomes part of an element, once: what an element is made of is text, or other elements.
Colours are few: the page's own for text, a grey that is seen on white and on black for lines, and thin tints behind
what matters, which is always said in words or signs too.

>>> element("p", "a < b & ", element("b", "c"))
'<p>a &lt; b &amp; <b>c</b></p>'
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

INK = "#7a8291"  # of what lies upon the page, in pictures: light and dark pages are as far from it
HUES = ("#3b82f6", "#d97706", "#10b981", "#a855f7")  # of parts that are told apart
GOOD, BAD, DOUBT = "#16a34a", "#dc2626", "#d97706"
_TINT = "2e"  # how much of a colour lies behind text, of ff
_LEFT, _RIGHT = "text-align:left", "text-align:right"
_CELL = "vertical-align:top"


class Element(str):
    """Text that is HTML already."""

    __slots__ = ()


def escaped(text: str) -> Element:
    """Text as HTML; what is HTML already stays."""
    if isinstance(text, Element):
        return text
    import html  # only notebooks ask for it

    return Element(html.escape(text))


def element(tag: str, *inside: str, style: str = "", **attributes: str) -> Element:
    """One element; a name of an attribute may end in an underscore."""
    pairs = {**attributes, **({"style": style} if style else {})}
    given = "".join(f' {name.rstrip("_")}="{escaped(value)}"' for name, value in pairs.items())
    return Element(f"<{tag}{given}>{''.join(map(escaped, inside))}</{tag}>")


def joined(parts: Iterable[str], between: str = "") -> Element:
    return Element(escaped(between).join(map(escaped, parts)))


def code(text: str) -> Element:
    """A few words of code, or of a formula, in a line."""
    return element("code", text, style="background:transparent;color:inherit;padding:0")


def block(text: str) -> Element:
    """Lines that keep their places; long ones are scrolled."""
    return element("pre", text, style="margin:0;overflow-x:auto;background:transparent;color:inherit;line-height:1.35")


def marked(text: str, colour: str) -> Element:
    """Words with a tint behind them and a line below."""
    looks = f"background:{colour}{_TINT};color:inherit;border-bottom:2px solid {colour}"
    return element("mark", text, style=looks)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> Element:
    """Rows of cells under heads; the columns ``right`` are set to the right."""
    sides = [_RIGHT if k in right else _LEFT for k in range(max(map(len, [heads, *rows]), default=0))]
    lines = [*([("th", heads)] if any(heads) else []), *[("td", row) for row in rows]]
    made = [
        element("tr", *[element(tag, cell, style=f"{side};{_CELL}") for cell, side in zip(row, sides)])
        for tag, row in lines
    ]
    return element("table", *made)


def pairs(rows: Iterable[tuple[str, str]]) -> Element:
    """Names beside what they stand for; rows of nothing are left out."""
    faint = [(element("span", name, style=f"color:{INK}"), said) for name, said in rows if said]
    return table((), faint) if faint else Element()


def card(title: str, *inside: str) -> Element:
    """A title with what is said of it below, beside a line."""
    looks = f"border-left:3px solid {HUES[0]};padding:0.1em 0 0.1em 0.9em;margin:0.2em 0"
    head = element("div", element("b", title))
    return element("div", head, *[element("div", part) for part in inside if part], style=looks)


def folded(title: str, inside: str, opened: bool = False) -> Element:
    """What is seen when its title is clicked."""
    attributes = {"open": "open"} if opened else {}
    return element("details", element("summary", title, style="cursor:pointer"), inside, **attributes)


class Carded:
    """What shows itself as a card in notebooks: its ``repr`` as the title, and below what ``told`` says."""

    __slots__ = ()

    def told(self) -> Iterable[tuple[str, str]]:
        """Names beside what they stand for."""
        return ()

    def _repr_html_(self) -> str:
        return card(repr(self).removeprefix("<").removesuffix(">"), pairs(self.told()))
