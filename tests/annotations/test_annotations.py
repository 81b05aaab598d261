"""What type checkers and ``help`` say of ricci: the generated files are those of the tables, and pyright agrees with
all code, that of the README and the docs included, and with ``expected.py``."""

from __future__ import annotations

import doctest
import importlib.util
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ricci as rc
from ricci.functions.table import FUNCTIONS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/how_to").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _stubs():
    spec = importlib.util.spec_from_file_location("stubs", HERE / "stubs.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


stubs = _stubs()


# What is generated


@pytest.mark.parametrize("path", stubs.STUBS)
def test_stubs_are_up_to_date(path: str) -> None:
    now = (stubs.SOURCE / path).read_text(encoding="utf-8")
    assert now == stubs.written(path), f"{path} is out of date; run: PYTHONPATH=src python tests/annotations/stubs.py"


def test_types_are_shipped() -> None:
    assert (stubs.SOURCE / "py.typed").exists()


# What help shows

NAMES = [name for name in FUNCTIONS if name not in rc.__all__]


@pytest.mark.parametrize("name", NAMES)
def test_help_shows_arguments_and_an_example(name: str) -> None:
    function = getattr(rc, name)
    operands = [p for p in inspect.signature(function).parameters.values() if p.kind is p.POSITIONAL_ONLY]
    assert len(operands) == FUNCTIONS[name].arity
    example = doctest.DocTestParser().get_doctest(function.__doc__, {"rc": rc, "np": np}, name, None, 0)
    assert example.examples
    assert doctest.DocTestRunner(verbose=False).run(example).failed == 0


def test_signatures() -> None:
    assert str(inspect.signature(rc.exp)) == "(x, /)"
    assert str(inspect.signature(rc.clip)) == "(x, low, high, /)"
    assert str(inspect.signature(rc.softmax)) == "(x, /, *axes, axis=None)"
    assert str(inspect.signature(rc.sum)) == "(x, /, *axes, axis=None, keepdims=False)"
    assert str(inspect.signature(rc.solve)) == "(A, b, /, *axes)"


# What pyright says

WRONG = """\
# pyright: reportUnnecessaryTypeIgnoreComment=true
from typing import assert_type
import ricci as rc
f = rc.parse("y = x[i] x[i]")
assert_type(f + 1, int)
rc.parse("y = x[i] x[i]")  # pyright: ignore[reportCallIssue]
rc.expp(f)
"""


def blocks(page: Path) -> str:
    """The Python of a page, each line where it stands there; what is shown as the result of a line is left out."""
    text = page.read_text(encoding="utf-8")
    lines = [""] * text.count("\n")
    for match in BLOCK.finditer(text):
        first = text.count("\n", 0, match.start(1))
        inside = match[1].split("\n")
        shown = ">>>" in match[1]
        for number, line in enumerate(inside[:-1], first):
            if not shown or line.startswith((">>> ", "... ")):
                lines[number] = line[4:] if shown else line
    return "\n".join(lines) + "\n"


def pyright(*places: str) -> list[dict]:
    """The errors that it reports, in one run, by the settings in pyproject.toml."""
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, *places]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.stdout.startswith("{"), result.stdout + result.stderr
    return [found for found in json.loads(result.stdout)["generalDiagnostics"] if found["severity"] == "error"]


@pytest.mark.skipif(importlib.util.find_spec("pyright") is None, reason="pyright is not installed")
@pytest.mark.thorough
def test_pyright_agrees(tmp_path: Path) -> None:
    """With the sources and examples, with what the README and the docs show, with tests and benchmarks."""
    places = ("src", "examples", "tests", "benchmarks", "website")
    for page in PAGES:
        (tmp_path / f"page_{page.parent.name}_{page.stem}.py").write_text(blocks(page), encoding="utf-8")
    (tmp_path / "wrong.py").write_text(WRONG)
    found = [
        (Path(error["file"]), error["range"]["start"]["line"] + 1, error["message"])
        for error in pyright(*places, str(tmp_path))
    ]
    assert [line for file, line, _ in found if file.name == "wrong.py"] == [5, 6, 7]  # it can tell right from wrong
    others = [f"{file}:{line}: {said}" for file, line, said in found if file.name != "wrong.py"]
    assert not others, "\n".join(others)


def test_blocks_stand_where_they_are_on_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("text\n```python\n>>> x = 1\n>>> x\n1\n```\n\n```python\ny = 2\n```\n")
    assert blocks(page) == "\n\nx = 1\nx\n\n\n\n\ny = 2\n\n"
