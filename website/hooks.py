"""What MkDocs does here beside reading docs/: pages made from elsewhere, links between places, checks.

MkDocs calls the functions below by name. The interactive page is copied from website/.live, where ``build.py --live``
builds it, or from the folder ``RICCI_LIVE``; where there is none, the front page keeps its example.
"""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path
from typing import Any

import api_pages
import built_site
import katex_files
import notebook_pages
import places
from mkdocs.exceptions import Abort
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
LOG = logging.getLogger("mkdocs.hooks.ricci")
origins: dict[str, str] = {}  # where in the repository the text of each page is

WEIGHTS = {"reference/": 4, "how_to/": 2, "benchmarks": 0.3, "changelog": 0.2}  # in a search, of pages that begin so


def live() -> Path | None:
    """The folder of the built page for the live box, if there is one."""
    folder = Path(os.environ.get("RICCI_LIVE") or ROOT / "website" / ".live")
    return folder if (folder / "index.html").exists() else None


def on_config(config: Any) -> Any:
    """The navigation, with what is made here."""
    named = {next(iter(one)): one for one in config.nav if isinstance(one, dict)}
    if found := tutorials():
        named["Tutorials"]["Tutorials"] = ["tutorials.md", *(f"tutorials/{name}.md" for name in found)]
    api = [{"Names": ["reference/index.md", *(f"reference/{name}.md" for name in api_pages.GROUPS)]}]
    gallery = [one.name for one in sorted((ROOT / "docs" / "gallery").glob("*.md")) if one.name != "README.md"]
    named["Reference"]["Reference"][:0] = api
    named["Reference"]["Reference"].append({"Gallery": ["gallery/README.md", *(f"gallery/{one}" for one in gallery)]})
    named["Project"]["Project"] += ["changelog.md", "contributing.md", {"Examples": example_pages()}]
    placed = set(leaves(config.nav))
    pages = sorted(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md"))
    missing = [one for one in pages if one not in placed]
    if missing:
        named["Guide"]["Guide"].append({"More": missing})
    return config


def tutorials() -> dict[str, str]:
    """The notebooks as pages, in the order of the page that lists them."""
    listed = (ROOT / "docs" / "tutorials.md").read_text(encoding="utf-8")
    return notebook_pages.pages(ROOT / "examples" / "notebooks", listed)


def leaves(nav: Any) -> list[str]:
    """The pages that are named in a navigation."""
    if isinstance(nav, str):
        return [nav]
    return [leaf for one in (nav.values() if isinstance(nav, dict) else nav) for leaf in leaves(one)]


def example_pages() -> list[str]:
    return ["examples/index.md", *(f"examples/{path.stem}.md" for path in scripts())]


def scripts() -> list[Path]:
    return sorted((ROOT / "examples").glob("*.py"))


def on_files(files: Files, config: Any) -> Files:
    """Pages that are not in docs/, and the files that all pages load."""
    origins.clear()
    for file in files:
        origins[file.src_uri] = f"docs/{file.src_uri}"

    def add(uri: str, content: str | bytes, origin: str = "") -> None:
        files.append(File.generated(config, uri, content=content))
        if origin:
            origins[uri] = origin

    for name, text in api_pages.pages().items():
        add(f"reference/{name}.md", text, f"docs/reference/{name}.md")
    for name, text in tutorials().items():
        add(f"tutorials/{name}.md", text, f"examples/notebooks/{name}.ipynb")
    for path in scripts():
        add(f"examples/{path.stem}.md", script_page(path), f"examples/{path.name}")
    add("examples/index.md", script_list(), "examples")
    for name in ("CHANGELOG", "CONTRIBUTING"):
        add(f"{name.lower()}.md", (ROOT / f"{name}.md").read_text(encoding="utf-8"), f"{name}.md")
    for path in sorted((ROOT / "website" / "assets").iterdir()):
        add(f"assets/{path.name}", path.read_bytes())
    add_katex(add, config)
    return files


def add_katex(add: Any, config: Any) -> None:
    """KaTeX beside the pages; or pages that do not ask for it."""
    found = katex_files.files()
    for name, content in found.items():
        add(f"assets/katex/{name}", content)
    if not found:
        LOG.info("KaTeX is not to be had (npm, or its registry, is missing): formulas stay as LaTeX.")
        for option in ("extra_css", "extra_javascript"):
            config[option] = [one for one in config[option] if "katex" not in str(one)]


def script_page(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    return f"# `{path.name}`\n\nRun it with `python examples/{path.name}`.\n\n```python\n{text}```\n"


def script_list() -> str:
    lines = ["# Examples", "", "Scripts that run as they are; the tests run them all.", ""]
    for path in scripts():
        first = path.read_text(encoding="utf-8").lstrip('"').splitlines()[0].strip('"')
        lines.append(f"- [`{path.name}`]({path.name}): {first}")
    return "\n".join(lines) + "\n"


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    uri = page.file.src_uri
    page.meta["search"] = {"boost": next((weight for start, weight in WEIGHTS.items() if uri.startswith(start)), 1)}
    if uri == "index.md":
        page.meta |= {"template": "home.html", "hide": ["navigation", "toc"]}
    by_place = {origin: one for one, origin in origins.items()}
    by_place["README.md"] = "index.md"
    text = places.site_links(markdown, uri, origins[uri], by_place, config.repo_url or "")
    return places.as_read_here(text)


def on_page_context(context: Any, page: Any, config: Any, nav: Any) -> Any:
    context["live"] = live() is not None
    return context


def on_post_build(config: Any) -> None:
    """The live page is put into the site; then the site is looked at as a browser would."""
    site = Path(config.site_dir)
    folder = live()
    if folder:
        shutil.copytree(folder, site / "live", dirs_exist_ok=True)
    faults = built_site.faults(site)
    for one in faults:
        LOG.warning(one)
    if faults and config.strict:
        raise Abort(f"The built site has {len(faults)} fault{'s' * (len(faults) > 1)}.")
