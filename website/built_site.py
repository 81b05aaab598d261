"""Looks at the built site as a browser does: every link leads somewhere, and nothing is loaded from another host.

python website/built_site.py site
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {  # attributes by which a page loads something
    "script": ("src",),
    "img": ("src", "srcset"),
    "iframe": ("src",),
    "source": ("src", "srcset"),
    "audio": ("src",),
    "video": ("src", "poster"),
    "embed": ("src",),
    "object": ("data",),
    "use": ("href", "xlink:href"),
    "form": ("action",),
    "input": ("src",),
    "track": ("src",),
}
RELATIONS = ("stylesheet", "preload", "modulepreload", "icon", "manifest", "preconnect", "dns-prefetch", "prefetch")
IN_STYLES = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")
OF_NO_FILE = ("data:", "mailto:", "blob:", "about:")


class Page(HTMLParser):
    """What a page loads, where it links to, and the places in it that links may name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.places: set[str] = {""}
        self.within = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.within = tag
        self.places |= {found[name] for name in ("id", "name") if name in found}
        self.loads += [found[name].split()[0] for name in LOADS.get(tag, ()) if found.get(name, "").strip()]
        self.loads += addresses(found.get("style", ""))
        if tag == "link" and set(found.get("rel", "").split()) & set(RELATIONS):
            self.loads.append(found.get("href", ""))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])

    def handle_data(self, data: str) -> None:
        if self.within == "style":
            self.loads += addresses(data)


def addresses(style: str) -> list[str]:
    return [first or second for first, second in IN_STYLES.findall(style)]


def faults(site: Path) -> list[str]:
    """What is wrong with the site in this folder, a sentence each. The live page has tests of its own."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    own = {path: page for path, page in pages.items() if (site / "live") not in path.parents}
    return [*foreign(site, pages), *lost(site, own, pages)]


def foreign(site: Path, pages: dict[Path, Page]) -> Iterator[str]:
    """What pages and style sheets load from other hosts."""
    for path, page in pages.items():
        for one in page.loads:
            if is_foreign(one):
                yield f"{path.relative_to(site)} loads {one}, which is of another host."
    for path in sorted(site.rglob("*.css")):
        for one in addresses(path.read_text(encoding="utf-8")):
            if is_foreign(one):
                yield f"{path.relative_to(site)} loads {one}, which is of another host."


def is_foreign(address: str) -> bool:
    return bool(urlsplit(address).netloc)


def lost(site: Path, own: dict[Path, Page], pages: dict[Path, Page]) -> Iterator[str]:
    """Links and loads within the site that lead nowhere."""
    for path, page in own.items():
        for one in (*page.links, *page.loads):
            parts = urlsplit(one)
            if one.startswith(OF_NO_FILE) or parts.netloc:
                continue
            base = site if parts.path.startswith("/") else path.parent
            target = (base / unquote(parts.path.lstrip("/"))).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                yield f"{path.relative_to(site)} links to {one}, which is not there."
            elif target in pages and unquote(parts.fragment) not in pages[target].places:
                yield f"{path.relative_to(site)} links to {one}: the page is there, the place in it is not."


if __name__ == "__main__":
    found = faults(Path(sys.argv[1]).resolve())
    print("\n".join(found) or "Every link leads somewhere, and nothing is loaded from another host.")
    sys.exit(bool(found))
