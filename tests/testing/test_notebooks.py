"""The notebooks of the gallery run, and what is stored in them is what they show now."""

from __future__ import annotations

import copy
import json
import re
import time
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

import ricci as rc
from ricci.testing import notebooks
from ricci.testing.notebooks import current, executed, files, shown, written

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"
GALLERY = files([FOLDER])


def cell(source: str, *tags: str) -> dict:
    metadata = {"tags": list(tags)} if tags else {}
    return {"cell_type": "code", "id": "a", "metadata": metadata, "source": [source], "outputs": []}


def outputs(*sources: str) -> list[list[dict]]:
    whole = {"cells": [cell(source) for source in sources], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return [made["outputs"] for made in executed(whole)["cells"]]


# The gallery


@pytest.mark.parametrize("path", GALLERY, ids=[path.stem for path in GALLERY])
def test_what_is_stored_is_current(path):
    begin = time.perf_counter()
    assert current(path) == path.read_text(encoding="utf-8"), f"run: python -m ricci.testing.notebooks {path}"
    assert time.perf_counter() - begin < 30


def test_the_gallery_is_for_all():
    assert 6 <= len(GALLERY) <= 12
    for path in GALLERY:
        whole = json.loads(path.read_text(encoding="utf-8"))
        first = "".join(whole["cells"][0]["source"])
        assert first.startswith("# ") and whole["nbformat"] == 4 and "_" not in path.stem[0]
        assert len({one["id"] for one in whole["cells"]}) == len(whole["cells"]) <= 40
        assert all(re.fullmatch(r"[\w-]{1,64}", one["id"]) for one in whole["cells"])
        assert len(path.read_text(encoding="utf-8")) < 100_000
        assert any(len(out.get("data", {})) > 1 for out in every(whole))


def every(whole: dict) -> list[dict]:
    return [out for one in whole["cells"] for out in one.get("outputs", [])]


@pytest.mark.parametrize("path", GALLERY, ids=[path.stem for path in GALLERY])
def test_stored_outputs_need_nothing_from_elsewhere(path):
    for out in every(json.loads(path.read_text(encoding="utf-8"))):
        text = "".join("".join(lines) for lines in out.get("data", {}).values()).replace("http://www.w3.org/", "")
        assert "<script" not in text and "http" not in text and str(Path.home()) not in text


def test_a_notebook_that_is_not_current_is_noticed(tmp_path):
    whole = json.loads(GALLERY[0].read_text(encoding="utf-8"))
    changed = copy.deepcopy(whole)
    out = next(out for out in every(changed) if "text/plain" in out.get("data", {}))
    out["data"]["text/plain"] = ["something else"]
    path = tmp_path / GALLERY[0].name
    path.write_text(written(changed), encoding="utf-8")
    assert current(path) != path.read_text(encoding="utf-8")
    told: list[str] = []
    notebooks.main([str(tmp_path)], told.append)
    assert told == [str(path)] and path.read_text(encoding="utf-8") == written(whole)


@pytest.mark.thorough
@pytest.mark.parametrize("path", GALLERY, ids=[path.stem for path in GALLERY])
def test_jupyter_shows_the_same(path):
    """The outputs that a kernel of Jupyter gives, where one is installed."""
    if find_spec("nbclient") is None or find_spec("ipykernel") is None:
        pytest.skip("nbclient and ipykernel are not installed")
    import nbformat  # pyright: ignore[reportMissingImports]
    from nbclient import NotebookClient  # pyright: ignore[reportMissingImports]

    whole = nbformat.read(path, as_version=4)
    nbformat.validate(whole)
    NotebookClient(whole, timeout=120, kernel_name="python3").execute()
    mine = json.loads(path.read_text(encoding="utf-8"))["cells"]
    for own, theirs in zip(mine, whole.cells, strict=True):
        if own["cell_type"] == "code" and "tags" not in own["metadata"]:
            assert rich(own["outputs"]) == rich(theirs.outputs), own["source"]


def rich(outputs: list) -> list:
    """What is shown but for plain text, in which IPython breaks lines; cells have other names there."""
    found = []
    for out in outputs:
        data = out.get("data", {})
        for kind in sorted(data.keys() - {"text/plain"}):
            found.append((kind, re.sub(r"(&lt;cell \d+ of \w+&gt;|\d+\.py):", "here:", "".join(data[kind]))))
    return found


# How notebooks are run


def test_cells_share_their_names_and_the_last_line_is_shown():
    first, second, third = outputs("x = 2", "print(x)\ny = x + 1\ny", "x;")
    assert first == [] == third
    assert second == [
        {"output_type": "stream", "name": "stdout", "text": ["2\n"]},
        {"output_type": "execute_result", "data": {"text/plain": ["3"]}, "metadata": {}, "execution_count": 2},
    ]


def test_display_comes_where_it_is_called():
    ((first, second, third),) = outputs("print(1)\ndisplay(2)\nprint(3)")
    assert (first["text"], second["data"], third["text"]) == (["1\n"], {"text/plain": ["2"]}, ["3\n"])
    assert second["output_type"] == "display_data"


def test_errors_are_stored_where_they_are_expected():
    whole = {"cells": [cell("print(1)\n1/0", notebooks.RAISES)], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    stream, error = executed(whole)["cells"][0]["outputs"]
    assert stream["text"] == ["1\n"] and error["ename"] == "ZeroDivisionError"
    assert error["traceback"] == ["ZeroDivisionError: division by zero"]
    with pytest.raises(ZeroDivisionError):
        outputs("1/0")
    whole["cells"] = [cell("1", notebooks.RAISES)]
    with pytest.raises(AssertionError, match="was to raise"):
        executed(whole, "this")


def test_all_forms_of_a_value_are_stored():
    y = rc.parse("y[i] = A[i,j] x[j]")
    assert set(shown(y)) == {"text/latex", "text/plain"} == set(shown((y, y)))
    assert set(shown(y.diff("x").structure())) == {"image/svg+xml", "text/plain"}
    assert set(shown(rc.draw(y))) == {"image/svg+xml", "text/plain"}
    assert set(shown(rc.grad(lambda x: x))) == {"text/html", "text/plain"}
    assert shown((1, "a")) == {"text/plain": ["(1, 'a')"]}
    assert shown(SimpleNamespace(_repr_html_=lambda: None))["text/plain"][0].startswith("namespace")
    assert set(shown(rc.Formula)) == {"text/plain"}


def test_functions_of_cells_have_their_lines():
    ((out,),) = outputs("import inspect\ndef f():\n    return 1\nprint(inspect.getsource(f))")
    assert out["text"][:2] == ["def f():\n", "    return 1\n"]
