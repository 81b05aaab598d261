"""Pictures of the tables in docs/benchmarks.md: ``python benchmarks/plots.py`` writes them into docs/images/.

Needs Matplotlib (``pip install ".[bench]"``). The numbers are read from the page itself, so a picture shows what
the table beside it says and nothing else. Each picture carries its numbers in its description, which the tests compare
with the page.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
IMAGES = ROOT / "docs" / "images"
UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
TIME = re.compile(r"\**(\d+(?:\.\d+)?) (s|ms|µs|ns)\b")
LOOKS = {  # of what is compared: colour and marker; ours stand out
    "ricci": ("#d9480f", "o"),
    "ricci, fused": ("#d9480f", "D"),
    "ricci, compressed": ("#d9480f", "s"),
    "by hand": ("#2b2b2b", "|"),
    "by hand, compressed": ("#2b2b2b", "_"),
    "jax.jit": ("#1864ab", "^"),
    "torch.func": ("#7048a8", "v"),
    "PyTorch": ("#7048a8", "v"),
    "autograd": ("#2b8a3e", "x"),
    "np.einsum": ("#1864ab", "^"),
    "opt_einsum": ("#2b8a3e", "x"),
}


@dataclass(frozen=True)
class Source:
    """Rows and columns of one table: the section it stands in, which of its tables it is, and what is taken."""

    section: str
    columns: dict[int, str]  # place of a column, from 1, and what is measured in it
    rows: str = ""  # a pattern that the names of rows match
    table: int = 0


@dataclass(frozen=True)
class Picture:
    name: str
    title: str
    sources: tuple[Source, ...]


LOGISTIC, FACTORISATION = "Hessian of logistic regression", "Hessian of matrix factorisation"
NETWORKS = "Hessian of networks by the first weights"
DENSE = {1: "ricci, compressed", 3: "ricci", 4: "by hand", 6: "jax.jit", 7: "torch.func"}
LAYERS = {1: "ricci, compressed", 3: "ricci", 4: "by hand", 5: "jax.jit", 6: "torch.func"}
SYRK = {1: "ricci", 3: "by hand", 4: "jax.jit", 5: "torch.func"}
GPU = "gpu"
PICTURES = (
    Picture(
        "hessians",
        "Hessians, float64, one core",
        (
            Source(LOGISTIC, SYRK, "float64"),
            Source(FACTORISATION, DENSE, "plain.*(n=200|n=500).*float64"),
            Source(NETWORKS, LAYERS, "width 40, batch 32"),
        ),
    ),
    Picture("factorisation", "Hessian of matrix factorisation, float64", (Source(FACTORISATION, DENSE, "float64"),)),
    Picture("networks", "Hessian of networks by the first weights, float64", (Source(NETWORKS, LAYERS, "batch 32"),)),
    Picture(
        "values",
        "Values with gradients",
        (Source("Values with gradients", {1: "ricci", 2: "ricci, fused", 3: "by hand", 4: "jax.jit", 6: "PyTorch"}),),
    ),
    Picture(
        "jacobians",
        "Jacobians of a batch, float64",
        (
            Source(
                "Jacobians of the functions of vertex elimination",
                {1: "ricci, fused", 2: "ricci", 4: "jax.jit"},
                "float64",
            ),
        ),
    ),
    Picture(
        "einsum",
        "Sums of products, warm calls",
        (Source("Sums of products", {1: "ricci", 2: "np.einsum", 3: "opt_einsum"}),),
    ),
    Picture(
        "first_results",
        "From the text or the function to the first value",
        (Source("Time to the first result", {1: "ricci", 2: "ricci, compressed", 3: "jax.jit"}),),
    ),
    Picture(
        "loops",
        "Gradients of loops, warm calls",
        (Source("Loops", {4: "ricci", 6: "jax.jit"}),),
    ),
    Picture(
        "functions",
        "Derivatives of NumPy functions, warm calls",
        (Source("Derivatives of NumPy functions", {2: "ricci", 4: "autograd", 6: "jax.jit", 8: "torch.func"}),),
    ),
    Picture(
        GPU,
        "On a GPU, float32, through JAX",
        (
            Source(
                "On a GPU", {1: "ricci", 2: "by hand", 3: "ricci, compressed", 4: "by hand, compressed", 5: "jax.jit"}
            ),
        ),
    ),
)


# What the page says


def sections(text: str) -> dict[str, list[list[list[str]]]]:
    """The tables of each section of a page: lists of rows, each a list of cells, the first row being the head."""
    found: dict[str, list[list[list[str]]]] = {}
    tables: list[list[list[str]]] = []
    before = ""
    for line in text.splitlines():
        if line.startswith("#"):
            tables = found.setdefault(line.lstrip("# ").strip(), [])
        if line.startswith("|"):
            if not before.startswith("|"):
                tables.append([])
            if not set(line) <= set("|-: "):
                tables[-1].append([cell.strip() for cell in line.strip("|").split("|")])
        before = line
    return found


def seconds(cell: str) -> float | None:
    """The time that a cell says, if it says one."""
    found = TIME.match(cell)
    return float(f"{float(found[1]) * UNITS[found[2]]:.6g}") if found else None


def numbers(picture: Picture, text: str) -> dict[str, dict[str, float]]:
    """What a picture shows: for each row the seconds of all that is compared in it."""
    shown: dict[str, dict[str, float]] = {}
    tables = sections(text)
    for source in picture.sources:
        _, *rows = tables[source.section][source.table]
        for name, *cells in rows:
            if re.search(source.rows, name):
                times = {what: seconds(cells[place - 1]) for place, what in source.columns.items()}
                label = name if len(picture.sources) == 1 else f"{shorter(source.section)}{name}"
                shown[label] = {what: time for what, time in times.items() if time is not None}
    return shown


def shorter(section: str) -> str:
    return {LOGISTIC: "logistic regression, "}.get(section, "")


# Drawing


def figure(picture: Picture, shown: dict[str, dict[str, float]]) -> Any:
    """A row for each task, on an axis of times; a mark for each contender."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(9, 1.25 + 0.26 * len(shown)), layout="constrained", facecolor="white")
    axes = drawn.add_subplot()
    names = list(shown)
    for place, times in enumerate(shown.values()):
        axes.plot([min(times.values()), max(times.values())], [place, place], color="#d5d5d5", linewidth=1, zorder=1)
    for what in contenders(shown):
        colour, marker = LOOKS[what]
        points = [(times[what], place) for place, times in enumerate(shown.values()) if what in times]
        axes.scatter(*zip(*points, strict=True), marker=marker, label=what, **paint(what, colour))
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, place: spoken(value))
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(axis="x", color="#eeeeee")
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.set_title(f"{picture.title} (log scale; left is faster)", loc="left", fontsize=10)
    drawn.legend(loc="outside lower center", ncols=6, frameon=False)
    return drawn


def paint(what: str, colour: str) -> dict[str, Any]:
    """Compressed results are hollow; code by hand is a stroke that shows over other marks."""
    if what.startswith("by hand"):
        return {"color": colour, "s": 130, "linewidths": 1.6, "zorder": 4}
    if what == "ricci, compressed":
        return {"facecolors": "none", "edgecolors": colour, "s": 42, "zorder": 3}
    return {"color": colour, "s": 42, "zorder": 3 if what.startswith("ricci") else 2}


def contenders(shown: dict[str, dict[str, float]]) -> Iterator[str]:
    found = {what for times in shown.values() for what in times}
    return (what for what in LOOKS if what in found)


def spoken(value: float) -> str:
    unit, size = next(((unit, size) for unit, size in UNITS.items() if value >= 0.9999 * size), ("ns", 1e-9))
    return f"{value / size:.3g} {unit}"


def save(picture: Picture, shown: dict[str, dict[str, float]], folder: Path) -> Path:
    """The picture as SVG: letters stay letters, and the same numbers give the same file."""
    import matplotlib

    path = folder / f"{picture.name}.svg"
    style: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": "ricci",
        "font.size": 9,
        "font.family": "DejaVu Sans",
    }
    with matplotlib.rc_context(style):
        about = {
            "Date": None,
            "Creator": None,
            "Title": picture.title,
            "Description": json.dumps(shown, ensure_ascii=False),
        }
        figure(picture, shown).savefig(path, metadata=about)
    text = path.read_text(encoding="utf-8").replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")
    path.write_text("\n".join(line.rstrip() for line in text.splitlines()) + "\n", encoding="utf-8")
    return path


def carried(text: str) -> dict[str, dict[str, float]]:
    """The numbers that a picture carries."""
    found = re.search(r"<dc:description>(.*?)</dc:description>", text, re.DOTALL)
    return json.loads(html.unescape(found[1])) if found else {}


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for picture in PICTURES:
        print(save(picture, numbers(picture, text), IMAGES).relative_to(ROOT))


if __name__ == "__main__":
    main()
