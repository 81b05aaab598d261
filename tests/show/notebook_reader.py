"""What notebooks are given, read back: pages and pictures as trees, formulas as balanced tokens, cells of pictures."""

from __future__ import annotations

import re
from xml.etree import ElementTree

SPACE = "{http://www.w3.org/2000/svg}"
SQUARE = re.compile(r"M(-?[\d.]+),(-?[\d.]+)h[\d.]+v[\d.]+h-[\d.]+z")
DOT = re.compile(r"M(-?[\d.]+),(-?[\d.]+)h0")
PAIRS = {"}": "{", r"\right": r"\left", r"\end": r"\begin"}


def page(html: str) -> ElementTree.Element:
    """A piece of HTML, which is well formed, has no scripts, and loads nothing from anywhere."""
    tree = ElementTree.fromstring(f"<div>{html}</div>")
    for node in tree.iter():
        assert node.tag.rpartition("}")[2] not in ("script", "iframe", "object", "link", "img", "style"), node.tag
        for name, value in node.attrib.items():
            assert not name.startswith("on") and not re.search(r"https?:|javascript:|url\((?!#)", value), (name, value)
    return tree


def words(tree: ElementTree.Element) -> str:
    """What a reader sees."""
    return " ".join(" ".join(tree.itertext()).split())


def unbalanced(latex: str) -> str:
    """What is wrong with the brackets, signs and dollars of a formula; empty if nothing is."""
    if latex.count("$") != 2 or not (latex.startswith("$") and latex.endswith("$")):
        return "dollars"
    if "\n" in latex:
        return "lines"
    opened: list[str] = []
    for token in re.findall(r"\\(?:left|right|begin|end)(?![a-zA-Z])|\\.|[{}]", latex):
        if token in PAIRS.values():
            opened.append(token)
        elif token in PAIRS and (not opened or opened.pop() != PAIRS[token]):
            return token
    if opened or latex.count(r"\bigl") + latex.count(r"\Bigl") != latex.count(r"\bigr") + latex.count(r"\Bigr"):
        return "not closed"
    rows = re.sub(r"\\begin\{aligned\}|\\end\{aligned\}", "", latex).split(r"\\")
    return "columns" if any(row.count("&") > 3 for row in rows) else ""


def cells(svg: str) -> list[tuple[int, int]]:
    """How many cells of each matrix of a picture are filled, and how many are empty."""
    found = []
    for group in ElementTree.fromstring(svg).findall(f"{SPACE}g"):
        paths = [path.get("d", "") for path in group.iter(f"{SPACE}path")]
        filled, empty = [sum(len(kind.findall(d)) for d in paths) for kind in (SQUARE, DOT)]
        if filled or empty:
            found.append((filled, empty))
    return found
