"""Notebooks as pages: text, code, and what the cells showed, as Markdown that needs no script of a notebook.

Only what is in the file is shown; nothing is run here. Of each output the richest form that a page can hold is taken.
"""

from __future__ import annotations

import base64
import html
import json
import re
from pathlib import Path
from typing import Any

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def pages(folder: Path, listed: str = "") -> dict[str, str]:
    """The page of each notebook in a folder, by the name of its file, in the order in which a text mentions these."""
    found = sorted(folder.glob("*.ipynb"))
    found.sort(key=lambda one: listed.find(f"/{one.name}") % (len(listed) + 1))  # what is not mentioned comes last
    return {one.stem: page(json.loads(one.read_text(encoding="utf-8")), one.name) for one in found}


def page(notebook: dict[str, Any], name: str) -> str:
    parts = [cell_text(cell) for cell in notebook["cells"]]
    text = "\n\n".join(part for part in parts if part)
    if not re.search(r"^# ", text, re.MULTILINE):
        text = f"# {Path(name).stem.replace('_', ' ').capitalize()}\n\n{text}"
    return f"{text}\n\n---\n\nThis page is the notebook `examples/notebooks/{name}`.\n"


def cell_text(cell: dict[str, Any]) -> str:
    source = joined(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    if cell["cell_type"] != "code" or not source.strip():
        return ""
    shown = [output_text(one) for one in cell.get("outputs", [])]
    return "\n\n".join([fenced(source, "python"), *(one for one in shown if one)])


def output_text(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return fenced(joined(output["text"]), "text output")
    if output["output_type"] == "error":
        return fenced(ANSI.sub("", "\n".join(output["traceback"])), "text output")
    return next((show(joined(output["data"][kind])) for kind, show in FORMS.items() if kind in output["data"]), "")


def joined(lines: str | list[str]) -> str:
    return lines if isinstance(lines, str) else "".join(lines)


def fenced(text: str, language: str) -> str:
    """A block of code; a fence is longer than any in the text."""
    fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", text)), default=0))
    name, *classes = language.split()
    opening = f"{fence}{name}" if not classes else f"{fence} {{ .{name} .{' .'.join(classes)} }}"
    return f"{opening}\n{text.rstrip()}\n{fence}"


def block(inside: str, kind: str = "output") -> str:
    """HTML that Markdown leaves alone: blank lines would end it."""
    return f'<div class="{kind}">\n' + re.sub(r"\n\s*\n", "\n", inside.strip()) + "\n</div>"


def formula(text: str) -> str:
    """LaTeX between dollars, or in an environment, as a displayed formula that the page's KaTeX sets."""
    inside = text.strip().strip("$").strip().removeprefix(r"\displaystyle").strip()
    return block(html.escape(f"\\[{inside}\\]", quote=False), "output arithmatex")


def picture(kind: str) -> Any:
    return lambda data: block(f'<img alt="the picture that this cell shows" src="data:{kind};base64,{data.strip()}">')


def svg(text: str) -> str:
    encoded = base64.b64encode(text.encode()).decode()
    return picture("image/svg+xml")(encoded)


FORMS = {  # by type, best first
    "text/html": block,
    "image/svg+xml": svg,
    "image/png": picture("image/png"),
    "text/latex": formula,
    "text/markdown": str,
    "text/plain": lambda text: fenced(text, "text output"),
}
