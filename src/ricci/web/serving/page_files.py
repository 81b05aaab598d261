"""The files that a server has: the page as it is in ricci, with what stands in for Python in the browser.

Nothing is fetched from anywhere. KaTeX is taken where it is kept already, from an earlier build of the static page;
where it is not, ``mathml.mjs`` has the browser set the formulas. All of it is read once: later no file is opened.
"""

from __future__ import annotations

import os
from pathlib import Path

from ricci.web import packages

HERE = Path(__file__).parent
PAGE = HERE.parent / "page"
WORDS = {  # of the static page, which would be untrue here; the second are those of a server for several people
    b"All of it is computed in this browser; nothing is sent anywhere.": (
        b"All of it is computed on this machine; nothing is sent anywhere.",
        b"What is typed here is sent to the server of this page, which keeps nothing of it, and to nobody else.",
    ),
    b"This page computes in your browser, with JavaScript and WebAssembly, and sends nothing anywhere. It needs both to"
    b" be allowed.": (b"This page needs JavaScript to be allowed.",) * 2,
}


def files_of(folder: Path) -> dict[str, bytes]:
    """The files below a folder, by their addresses. What is not in this table does not exist for anybody."""
    found = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "__"))]
        for name in names:
            path = Path(place) / name
            if not name.startswith(".") and path.suffix not in (".py", ".pyc") and path.is_file():
                found["/" + path.relative_to(folder).as_posix()] = path.read_bytes()
    return found


def own_page(alone: bool) -> dict[str, bytes]:
    """The page that asks this server; ``alone`` if that is on the machine of who reads it."""
    found = files_of(PAGE)
    for words, (here, there) in WORDS.items():
        found["/index.html"] = found["/index.html"].replace(words, here if alone else there)
    return {**found, "/worker.js": (HERE / "server_worker.js").read_bytes(), **_typesetting()}


def _typesetting() -> dict[str, bytes]:
    """KaTeX, or what stands in for it."""
    kept = packages.folder() / packages.KATEX.file
    try:
        katex = packages.contents(packages.KATEX) if kept.is_file() else {}
    except (OSError, ValueError):
        katex = {}
    if not katex:
        own = {"/katex/katex.mjs": "mathml.mjs", "/katex/katex.min.css": "mathml.css"}
        return {address: (HERE / name).read_bytes() for address, name in own.items()}
    wanted = ("LICENSE", "dist/katex.mjs", "dist/katex.min.css")
    return {
        "/katex/" + name.removeprefix("dist/"): content
        for name, content in katex.items()
        if name in wanted or name.endswith(".woff2")
    }
