"""The folder of the page: what is in it, that it asks no other host, and that packages are what they were."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from itertools import cycle
from pathlib import Path

import pytest
import test_answers

import ricci as rc
from ricci.errors import MissingPackageError
from ricci.web import packages, static_page
from ricci.web.answers import answer
from ricci.web.asking import VIEWS

PAGE = Path(static_page.__file__).parent / "page"
SOURCES = {path.name: path.read_text(encoding="utf-8") for path in PAGE.iterdir() if path.suffix != ".svg"}


@pytest.mark.thorough
def test_the_folder_has_all_that_the_page_loads(folder):
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert {"index.html", "style.css", "page.js", "worker.js", "ricci.zip", "mark.svg", "built.json"} < names
    assert {f"pyodide/{name}" for name in (*static_page.OF_PYODIDE, "pyodide-lock.json")} < names
    assert {"katex/katex.mjs", "katex/katex.min.css", "katex/fonts/KaTeX_Main-Regular.woff2", "katex/LICENSE"} < names
    for name, text in SOURCES.items():
        if name.endswith(".js"):
            for one in re.findall(r'from "\./([^"]+)"', text):
                assert one in names, f"{name} imports {one}"
    for one in re.findall(r'(?:href|src)="([^"#]+)"', SOURCES["index.html"]):
        assert one in names


def names_in(archive):
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        assert opened.testzip() is None
        return set(opened.namelist())


@pytest.mark.thorough
def test_the_archive_has_all_modules_compiled(folder):
    sources = names_in(static_page.archive())
    assert {"ricci/web/answers.py", "opt_einsum/paths.py"} < sources
    assert static_page.archive() == static_page.archive()  # the same each time
    assert names_in((folder / "ricci.zip").read_bytes()) == {f"{name}c" for name in sources}


def test_without_node_the_archive_has_the_sources(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert static_page.compiled(static_page.archive(), {}) == static_page.archive()


@pytest.mark.thorough
def test_python_of_the_page_answers_as_python_does(folder):
    """The compiled modules, in the Python that the page has, without a browser around it."""
    requests = [
        {"text": text, "by": by, "want": list(VIEWS), "code": code}
        for (text, by), code in zip(test_answers.TEXTS + [("c_ik = a_ij b_jk", ["a"])], cycle(("numpy", "c")))
        if "eps[" not in text
    ]  # fmt: skip
    command = ["node", str(Path(__file__).parent / "answering.mjs"), str(folder)]
    lines = "\n".join(map(json.dumps, requests))
    ran = subprocess.run(command, input=lines, capture_output=True, text=True, check=False, timeout=240)
    assert ran.returncode == 0, ran.stderr
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(found) == len(requests)
    for one, request in zip(found, requests, strict=True):
        other = answer(request)
        assert one["ok"] == other["ok"], one
        for key in one.keys() - {"milliseconds", "formulas"}:
            assert one[key] == other[key], request
        for formula, expected in zip(one.get("formulas", []), other.get("formulas", []), strict=True):
            assert formula.keys() == expected.keys()
            for view in formula.keys() - {"values", "check"}:  # in which last digits may differ, as in pictures
                one_view, other_view = [
                    {key: value for key, value in shown.items() if key != "svg"} if isinstance(shown, dict) else shown
                    for shown in (formula[view], expected[view])
                ]
                assert one_view == other_view, (request, view)
            if "check" in formula:
                assert formula["check"]["agrees"] == expected["check"]["agrees"]


@pytest.mark.thorough
def test_packages_of_other_hosts_are_not_offered(folder):
    lock = json.loads((folder / "pyodide" / "pyodide-lock.json").read_text(encoding="utf-8"))
    assert lock["packages"] == {} and lock["info"]["arch"] == "wasm32"


@pytest.mark.thorough
def test_a_built_folder_is_built_again_when_sources_change(folder, monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(static_page, "build", lambda place: asked.append(place) or place)
    assert static_page.built(folder) == folder and asked == []
    own = static_page.own_files()
    monkeypatch.setattr(static_page, "own_files", lambda: {**own, "page.js": b"// another"})
    assert static_page.built(folder) == folder and asked == [folder]
    assert static_page.built(tmp_path / "none") == tmp_path / "none" and len(asked) == 2


def commanded(place, **more):
    environment = {**os.environ, "PYTHONPATH": str(Path(rc.__file__).parent.parent), **more}
    command = [sys.executable, "-m", "ricci.web.static_page", "--out", str(place)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.thorough
def test_the_one_command(folder, tmp_path):
    ran = commanded(tmp_path / "out")
    assert ran.returncode == 0 and "The page is in" in ran.stdout, ran.stderr
    assert (tmp_path / "out" / "index.html").exists()


def test_the_one_command_without_npm(tmp_path):
    ran = commanded(tmp_path / "out", PATH=str(tmp_path), RICCI_PACKAGES=str(tmp_path / "none"))
    assert ran.returncode == 1 and "npm, or its registry, is missing" in ran.stderr and "Traceback" not in ran.stderr


# Packages


def test_a_package_that_is_not_what_it_was_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("RICCI_PACKAGES", str(tmp_path))
    (tmp_path / packages.KATEX.file).write_bytes(b"something else")
    with pytest.raises(ValueError, match="is not what it was"):
        packages.contents(packages.KATEX)


def test_without_npm_a_sentence_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("RICCI_PACKAGES", str(tmp_path / "none"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingPackageError, match=r"katex@0\.\d+\.\d+ is needed to build this"):
        packages.contents(packages.KATEX)


# The sources


def test_the_policy_allows_nothing_inline_and_no_other_host():
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', SOURCES["index.html"])
    assert policy
    said = dict(part.strip().split(" ", 1) for part in policy[1].split(";"))
    assert said["default-src"] == "'none'" and said["connect-src"] == said["worker-src"] == "'self'"
    assert "unsafe-inline" not in policy[1] and "'unsafe-eval'" not in policy[1].replace("'wasm-unsafe-eval'", "")
    assert "http" not in policy[1] and "*" not in policy[1]
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*src=)", SOURCES["index.html"])


def test_no_source_names_another_host_or_runs_text():
    for name, text in SOURCES.items():
        assert not re.search(r"https?://|//\w+\.\w+/|@import", text), name
        assert not re.search(r"\beval\(|new Function|innerHTML|document\.write|localStorage|cookie", text), name


def test_every_control_has_a_label_and_every_id_is_there():
    html = SOURCES["index.html"]
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    for one in re.findall(r'(?:for|aria-labelledby|aria-describedby)="([^"]+)"', html):
        assert one in ids
    for one in re.findall(r"\bat\(\"([\w-]+)\"\)", SOURCES["page.js"]):
        assert one in ids, one
    for tag, attributes in re.findall(r"<(input|select|textarea)([^>]*)>", html):
        own = re.search(r'id="([^"]+)"', attributes)
        assert own and (f'for="{own[1]}"' in html or own[1] == "each"), tag


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_what_is_typed_and_what_an_address_says():
    module = (PAGE / "state.js").as_uri()
    code = f"""import {{ sizes, isState, names }} from {module!r};
    const places = ["#results", "", "#toString=1", "#text=f", "#q=1&by=x"].map(isState);
    console.log(JSON.stringify([sizes("i=3, j = 4;k= 5"), sizes("i=three, 7"), places, names("w[p,q], x^{{i,j}},")]))"""
    ran = subprocess.run(["node", "--input-type=module", "-e", code], capture_output=True, text=True, check=True)
    found = [{"i": 3, "j": 4, "k": 5}, {"i": None, "7": None}, [False, False, False, True, True], ["w[p,q]", "x^{i,j}"]]
    assert json.loads(ran.stdout) == found


def test_modules_are_small():
    for name, text in SOURCES.items():
        assert len(text.splitlines()) <= 260, name
