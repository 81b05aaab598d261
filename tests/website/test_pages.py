"""What makes pages of the site, the reference, notebooks, links; and the site itself, where MkDocs is installed."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

import ricci as rc

ROOT = Path(__file__).resolve().parents[2]


def loaded(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "website" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)  # pyright: ignore[reportArgumentType]
    spec.loader.exec_module(module)  # pyright: ignore[reportOptionalMemberAccess]
    return module


api_pages, built_site, katex_files = loaded("api_pages"), loaded("built_site"), loaded("katex_files")
notebook_pages, places = loaded("notebook_pages"), loaded("places")


# The reference


def test_every_public_name_stands_in_one_place():
    named = [one for _, _, names in api_pages.GROUPS.values() for one in names.split()]
    assert sorted(named) == sorted(rc.__all__)


def test_the_reference_shows_signatures_docstrings_and_methods():
    pages = api_pages.pages()
    assert set(pages) == {"index", *api_pages.GROUPS}
    for name in rc.__all__:
        assert sum(f"## `rc.{name}` {{ #{name.lower()} }}" in page for page in pages.values()) == 1
    formulas = pages["formulas"]
    assert "### `Formula.derivation` { #formula-derivation }" in formulas
    assert "Formula.tanh" not in formulas
    assert "```pycon\n>>> from ricci import parse" in formulas
    assert "context: Context = …" in formulas  # and not the address of an object


def test_docstrings_become_markdown():
    def function(x: int, /, *rest: int, key: str = "a|b") -> None:
        """Takes ``*x`` or 2*x < 3 of it.

        >>> print(1)
        1
        <BLANKLINE>

        Then this::

            x
        """

    text = api_pages.entry("rc.f", function, "##")
    assert "rc.f(x: int, /, *rest: int, key: str = a|b)" in text
    assert r"Takes ``*x`` or 2\*x \< 3 of it." in text
    assert "```pycon\n>>> print(1)\n1\n\n```" in text
    assert "Then this:\n\n    x" in text


# Notebooks

CELLS = [
    {"cell_type": "markdown", "source": ["# A title\n", "words"]},
    {
        "cell_type": "code",
        "source": "f",
        "outputs": [
            {"output_type": "stream", "name": "stdout", "text": ["```\n"]},
            {"output_type": "display_data", "data": {"text/plain": "f", "text/latex": "$\\displaystyle a < b$"}},
            {
                "output_type": "execute_result",
                "data": {"text/plain": "t", "text/html": ["<table>\n", "\n", "</table>"]},
            },
            {"output_type": "display_data", "data": {"image/png": "AAAA\n", "text/plain": "p"}},
            {"output_type": "display_data", "data": {"image/svg+xml": "<svg/>"}},
            {"output_type": "error", "traceback": ["\x1b[31mNotationError\x1b[0m", "y[i]"]},
        ],
    },
    {"cell_type": "raw", "source": "left out"},
]


def test_a_notebook_becomes_a_page(tmp_path):
    (tmp_path / "b.ipynb").write_text(json.dumps({"cells": CELLS}))
    (tmp_path / "a_plain.ipynb").write_text(json.dumps({"cells": CELLS[1:2]}))
    pages = notebook_pages.pages(tmp_path)
    assert list(pages) == ["a_plain", "b"]
    assert "# A plain\n" in pages["a_plain"] and "# A title\n" in pages["b"]
    assert list(notebook_pages.pages(tmp_path, "see [it](x/b.ipynb), [a](x/a_plain.ipynb)")) == ["b", "a_plain"]
    assert list(notebook_pages.pages(tmp_path, "see [it](x/b.ipynb)")) == ["b", "a_plain"]
    text = pages["b"]
    for part in (
        "```python\nf\n```",
        "```` { .text .output }\n```\n````",
        '<div class="output arithmatex">\n\\[a &lt; b\\]\n</div>',
        '<div class="output">\n<table>\n</table>\n</div>',
        'src="data:image/png;base64,AAAA"',
        'src="data:image/svg+xml;base64,PHN2Zy8+"',
        "NotationError\ny[i]",
    ):
        assert part in text
    assert "left out" not in text
    assert "\x1b" not in text


def test_every_notebook_is_mentioned_among_the_tutorials():
    listed = (ROOT / "docs" / "tutorials.md").read_text(encoding="utf-8")
    there = {path.name for path in (ROOT / "examples" / "notebooks").glob("*.ipynb")}
    assert there
    assert {name for name in there if f"notebooks/{name})" not in listed} == set()


# Links between places of the repository


def test_links_are_those_of_the_site():
    pages = {"docs/a.md": "a.md", "docs/how_to/b.md": "how_to/b.md", "examples/c.py": "examples/c.md"}
    text = (
        "[one](../a.md#x), [two](../../examples/c.py), [web](https://a.b/c.md), [here](#d)\n```\n[no](../a.md)\n```\n"
    )
    assert places.site_links(text, "how_to/b.md", "docs/how_to/b.md", pages) == (
        "[one](../a.md#x), [two](../examples/c.md), [web](https://a.b/c.md), [here](#d)\n```\n[no](../a.md)\n```\n"
    )
    assert places.site_links("[it](../LICENSE)", "a.md", "docs/a.md", pages) == "it"
    assert places.site_links("`f(x)[1](v)` [`c`](a.md)", "a.md", "docs/a.md", pages) == "`f(x)[1](v)` [`c`](a.md)"
    assert (
        places.site_links("[it](../LICENSE)", "a.md", "docs/a.md", pages, "https://h/r")
        == "[it](https://h/r/blob/HEAD/LICENSE)"
    )


def test_markdown_of_code_hosts_is_read_here():
    assert places.as_read_here(r"| `1/\|n\|` | \|x\| | 1.5 ms |") == "| `1/|n|` | \\|x\\| | 1.5\u00a0ms |"
    text = "Words:\n- one\n- two\n\n```python\n>>> 1\n- 1\n```\n```python\nx = 1\n```\n"
    assert places.as_read_here(text) == ("Words:\n\n- one\n- two\n\n```pycon\n>>> 1\n- 1\n```\n```python\nx = 1\n```\n")


# The site


def write(site: Path, **pages: str) -> None:
    for name, text in pages.items():
        (site / f"{name}.html").write_text(text)


def test_a_lost_link_and_a_foreign_host_are_found(tmp_path):
    write(
        tmp_path,
        good='<h1 id="top">x</h1><a href="bad.html#there">y</a><a href="https://a.b">z</a><img src="data:,">',
        bad='<p id="there"><script src="https://cdn.b/x.js"></script><link rel="stylesheet" href="//fonts.b/f.css">'
        '<a href="gone.html">x</a><a href="good.html#no">y</a><style>@import "https://s.b/a.css";</style>'
        '<a href="../outside.html">z</a>',
    )
    (tmp_path / "s.css").write_text("a { background: url(https://i.b/x.png) } b { background: url('x.png') }")
    found = "\n".join(built_site.faults(tmp_path))
    for part in (
        "cdn.b/x.js",
        "fonts.b/f.css",
        "s.b/a.css",
        "i.b/x.png",
        "gone.html, which",
        "good.html#no: the",
        "outside",
    ):
        assert part in found, part
    assert len(found.splitlines()) == 7
    assert "good.html loads" not in found
    assert "good.html links" not in found


def test_katex_is_what_it_was(tmp_path, monkeypatch):
    other = tmp_path / "katex.tgz"
    other.write_bytes(b"something else")
    monkeypatch.setattr(katex_files, "KEPT", other)
    with pytest.raises(ValueError, match="is not what it was"):
        katex_files.files()


def test_katex_has_scripts_styles_fonts_and_its_licence():
    found = katex_files.files()
    if not found:
        pytest.skip("KaTeX is not to be had: npm, or its registry, is missing")
    assert {"katex.min.js", "katex.min.css", "auto-render.min.js", "LICENSE"} < set(found)
    assert "fonts/KaTeX_Main-Regular.woff2" in found
    assert b"MIT" in found["LICENSE"]


def test_without_npm_the_site_has_no_katex(tmp_path, monkeypatch):
    monkeypatch.setattr(katex_files, "KEPT", tmp_path / "none.tgz")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert katex_files.files() == {}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if not all(importlib.util.find_spec(name) for name in ("mkdocs", "material", "pymdownx")):
        pytest.skip('the site is not built: MkDocs and its theme are not installed (pip install ".[docs]")')
    out = tmp_path_factory.mktemp("site") / "site"
    command = [sys.executable, str(ROOT / "website" / "build.py"), "--out", str(out)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout + done.stderr
    yield out
    shutil.rmtree(out)


def test_the_site_is_whole(site):
    assert built_site.faults(site) == []
    texts = {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix("").as_posix().removesuffix("README").removesuffix("index")
        assert f"{name.rstrip('/')}/index.html".lstrip("/") in texts, page
    for path in (ROOT / "examples").glob("*.py"):
        assert f"examples/{path.stem}/index.html" in texts
    for path in (ROOT / "examples" / "notebooks").glob("*.ipynb"):
        assert f"tutorials/{path.stem}/index.html" in texts
    assert 'id="hessian"' in texts["reference/transforms/index.html"]
    for name, text in texts.items():
        if not name.startswith("live/"):
            assert "Content-Security-Policy" in text, name
            assert 'class="mermaid"' not in text, name  # for which the theme would ask another host


def test_the_site_can_be_searched(site):
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = {one["location"]: one.get("boost", 1) for one in index["docs"]}
    assert {
        "reference/transforms/#hessian",
        "how_to/derive/#from-latex",
        "gallery/regression/#ridge-regression",
    } <= set(found)
    assert found["reference/transforms/#hessian"] > found["tour/"] > found["benchmarks/"]


def test_formulas_are_set_where_katex_is(site):
    page = (site / "gallery" / "regression" / "index.html").read_text(encoding="utf-8")
    assert 'class="arithmatex"' in page
    assert ("katex.min.js" in page) == (site / "assets" / "katex" / "katex.min.js").exists()


def test_a_site_with_a_fault_stops_the_build(site, tmp_path):
    from mkdocs.exceptions import Abort

    sys.path.insert(0, str(ROOT / "website"))
    try:
        hooks = loaded("hooks")
    finally:
        sys.path.remove(str(ROOT / "website"))
    write(tmp_path, page='<script src="https://cdn.b/x.js"></script>')
    with pytest.raises(Abort, match="1 fault"):
        hooks.on_post_build(types.SimpleNamespace(site_dir=str(tmp_path), strict=True))


def styling(css: str) -> list[str]:
    """Selectors of pictures that would meet those of formulas too: KaTeX draws roots and tall brackets as such."""
    selectors = [one.strip() for rule in re.findall(r"([^{}]+)\{", css) for one in rule.split(",")]
    return [one for one in selectors if one.endswith("svg")]


def test_styles_of_pictures_leave_formulas_alone():
    assert styling((ROOT / "website" / "assets" / "site.css").read_text(encoding="utf-8")) == []
    assert styling(".output img, .output svg { height: auto; }") == [".output svg"]
    assert styling(".output svg:not(.katex svg) { height: auto; }") == []


@pytest.mark.thorough
def test_a_page_that_links_nowhere_stops_the_build(site, tmp_path):
    for name in ("docs", "website", "examples", "src", "mkdocs.yml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md"):
        os.symlink(ROOT / name, tmp_path / name) if name != "docs" else shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "docs" / "tour.md").write_text("# Tour\n\n[there](notation.md#no-such-place) and ![x](images/no.svg)\n")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "out")]
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "src"))
    done = subprocess.run(command, cwd=tmp_path, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode != 0
    assert "tour.md" in done.stdout + done.stderr
