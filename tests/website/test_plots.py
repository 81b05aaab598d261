"""The pictures of measurements show the numbers of the tables, and those of today's page."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def loaded(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)  # pyright: ignore[reportArgumentType]
    sys.modules[path.stem] = module  # for its dataclasses
    spec.loader.exec_module(module)  # pyright: ignore[reportOptionalMemberAccess]
    return module


plots = loaded(ROOT / "benchmarks" / "plots.py")
TEXT = plots.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("picture", plots.PICTURES, ids=lambda one: one.name)
def test_a_picture_carries_the_numbers_of_the_page(picture):
    path = plots.IMAGES / f"{picture.name}.svg"
    wanted = plots.numbers(picture, TEXT)
    assert wanted
    assert plots.carried(path.read_text(encoding="utf-8")) == wanted, "python benchmarks/plots.py draws them anew"
    assert f"](images/{picture.name}.svg)" in TEXT


def test_a_number_that_changed_is_noticed():
    picture = plots.PICTURES[0]
    changed = TEXT.replace("| 42.9 ms |", "| 41.9 ms |")
    assert changed != TEXT
    assert plots.numbers(picture, changed) != plots.numbers(picture, TEXT)


@pytest.mark.parametrize(
    ("cell", "time"),
    [
        ("42.9 ms", 0.0429),
        ("**55 µs**", 55e-6),
        ("1.77 s", 1.77),
        ("156 ms (91.2 ×)", 0.156),
        ("left out", None),
        ("", None),
        ("–", None),
        ("out of memory (298 GiB)", None),
    ],
)
def test_cells_are_read(cell, time):
    assert plots.seconds(cell) == time


def test_numbers_are_those_that_a_reader_finds():
    by_name = {one.name: plots.numbers(one, TEXT) for one in plots.PICTURES}
    row = by_name["hessians"]["logistic regression, X 2000×1000, float64"]
    line = next(line for line in TEXT.splitlines() if line.startswith("| X 2000×1000, float64 |"))
    assert [plots.seconds(cell.strip()) for cell in line.strip("|").split("|")[1:]] == [
        row["ricci"], 0.0804, row["by hand"], row["jax.jit"], row["torch.func"]
    ]  # fmt: skip
    assert len(by_name["einsum"]) == 33
    assert len(by_name["loops"]) == 22
    assert "torch.func" not in by_name["factorisation"]["plain factorisation, n=500, k=10, float64"]


@pytest.mark.parametrize("picture", plots.PICTURES, ids=lambda one: one.name)
def test_marks_are_where_the_numbers_are(picture):
    pytest.importorskip("matplotlib", reason="Matplotlib, which draws the pictures, is not installed")
    shown = plots.numbers(picture, TEXT)
    axes = plots.figure(picture, shown).axes[0]
    marks = {
        (one.get_label(), list(shown)[round(place)]): value
        for one in axes.collections
        for value, place in one.get_offsets()
    }
    assert marks == {(what, name): time for name, times in shown.items() for what, time in times.items()}
    assert axes.get_xscale() == "log"
    assert [one.get_text() for one in axes.get_yticklabels()] == list(shown)


def test_the_same_numbers_give_the_same_file(tmp_path):
    pytest.importorskip("matplotlib", reason="Matplotlib, which draws the pictures, is not installed")
    picture = plots.PICTURES[0]
    shown = plots.numbers(picture, TEXT)
    first = plots.save(picture, shown, tmp_path).read_bytes()
    assert plots.save(picture, shown, tmp_path).read_bytes() == first
    assert plots.carried(first.decode()) == shown
