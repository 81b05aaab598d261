"""The rows of ``programs.py`` and what they add up to: means, where a rule is broken, where we lose."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import exp, log

from libraries import LIBRARIES, OURS, PLAIN
from report import CLOSE, duration, times

MOST_GRADIENT, MOST_FIRST, MOST_BEHIND = 5.0, 5.0, 3.0


@dataclass
class Row:
    """One program at one size, and what was asked of it; seconds, bytes and failures by contender."""

    program: str
    size: str
    kind: str
    first: dict[str, float] = field(default_factory=dict)
    warm: dict[str, float] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)
    beginning: dict[str, int] = field(default_factory=dict)  # bytes that a first call takes
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return f"{self.program} {self.size}, {self.kind}"


def show(row: Row, first: bool) -> None:
    """A line: what ricci takes, then the peers, and how fast ricci is beside ``jax.jit``."""
    if first:
        heads = "".join([f"{name + ': first':>18}{'warm':>9}{'MB':>7}" for name in (OURS, *LIBRARIES)])
        print(f"\n{'':<44}{heads}{'NumPy':>10}{'jax/ricci':>11}")
    cells = "".join([_cells(row, name) for name in (OURS, *LIBRARIES)])
    plain = duration(row.warm[PLAIN]) if PLAIN in row.warm else ""
    ratio = _ratio(row.warm, "jax.jit", OURS)
    print(f"{row.title:<44}{cells}{plain:>10}{'' if ratio is None else times(ratio):>11}", flush=True)
    for name, reason in row.failed.items():
        print(f"    {name}: {reason}", flush=True)


def _cells(row: Row, name: str) -> str:
    if name not in row.warm:
        return f"{'-':>18}{'-':>9}{'-':>7}"
    first = duration(row.first[name]) if name in row.first else "-"
    memory = f"{row.memory[name] / 1e6:.1f}" if name in row.memory else "-"
    return f"{first:>18}{duration(row.warm[name]):>9}{memory:>7}"


def _ratio(seconds: dict[str, float], one: str, other: str) -> float | None:
    return seconds[one] / seconds[other] if one in seconds and other in seconds else None


def mean(ratios: Iterable[float]) -> float | None:
    """The geometric mean."""
    logs = [log(ratio) for ratio in ratios if ratio > 0]
    return exp(sum(logs) / len(logs)) if logs else None


def summary(rows: Sequence[Row]) -> None:
    _means(rows)
    plain = {(row.program, row.size): row.warm[PLAIN] for row in rows if PLAIN in row.warm}
    values = [(row.warm[OURS] / row.warm[PLAIN], row) for row in rows if {OURS, PLAIN} <= row.warm.keys()]
    slopes = _beside(rows, OURS, plain)
    theirs = _beside(rows, "jax.jit", plain)
    print(f"\nvalue / NumPy's: geometric mean {_text(mean(r for r, _ in values))}")
    _list("  more than NumPy's", values, CLOSE)
    print(f"gradient / NumPy's value: {_text(mean(r for r, _ in slopes))}; jax.jit {_text(mean(r for r, _ in theirs))}")
    _list(f"  more than {MOST_GRADIENT:g} times", slopes, MOST_GRADIENT)
    derived = [row for row in rows if row.kind != "value"]  # autograd's values are NumPy's
    firsts = [(r, row) for row in derived if (r := _ratio(row.first, OURS, "autograd")) is not None]
    _list(f"first calls more than {MOST_FIRST:g} times autograd's", firsts, MOST_FIRST)
    _losses(rows)
    failed = [(row, row.failed[OURS]) for row in rows if OURS in row.failed]
    print(f"\nricci fails in {len(failed)} of {len(rows)} rows")
    for row, reason in failed:
        print(f"  {row.title}: {reason}")


def _beside(rows: Sequence[Row], name: str, plain: dict[tuple[str, str], float]) -> list[tuple[float, Row]]:
    found = [row for row in rows if row.kind == "grad" and name in row.warm and (row.program, row.size) in plain]
    return [(row.warm[name] / plain[row.program, row.size], row) for row in found]


def _means(rows: Sequence[Row]) -> None:
    print("\nTimes of the peers in those of ricci, geometric means (and in how many rows both were measured)")
    kinds = list(dict.fromkeys([row.kind for row in rows]))
    print(f"{'':<24}" + "".join([f"{kind:>16}" for kind in [*kinds, "all"]]))
    ways: list[tuple[str, Callable[[Row], dict]]] = [
        ("warm", lambda row: row.warm),
        ("first", lambda row: row.first),
        ("memory", lambda row: {name: max(taken, 1e6) for name, taken in row.memory.items()}),
    ]
    for way, figures in ways:
        for name in LIBRARIES:
            cells = []
            for kind in [*kinds, None]:
                pairs = [_ratio(figures(row), name, OURS) for row in rows if kind in (None, row.kind)]
                found = [pair for pair in pairs if pair is not None]
                cells.append(f"{_text(mean(found))} ({len(found)})")
            print(f"{way + ', ' + name:<24}" + "".join([f"{cell:>16}" for cell in cells]))


def _losses(rows: Sequence[Row]) -> None:
    ratios = [(r, row) for row in rows if (r := _ratio(row.warm, OURS, "jax.jit")) is not None]
    behind = sum(r > MOST_BEHIND for r, _ in ratios)
    print(f"\nWhere we lose to jax.jit, warm; {behind} of {len(ratios)} rows by more than {MOST_BEHIND:g}")
    _list("", ratios, CLOSE)
    hungry = [
        (row.memory[OURS] / max(row.memory["jax.jit"], 4e6), row)
        for row in rows
        if "jax.jit" in row.memory and OURS in row.memory
    ]
    _list("memory more than twice JAX's (from 4 MB on)", hungry, 2.0)


def _list(title: str, ratios: Sequence[tuple[float, Row]], limit: float) -> None:
    found = sorted([(r, row) for r, row in ratios if r > limit], key=lambda pair: -pair[0])
    print(title + ("" if found else ": nowhere") if title else "", end="\n" if title else "")
    for ratio, row in found:
        print(f"    {times(ratio):>8}  {row.title}")


def _text(ratio: float | None) -> str:
    return "-" if ratio is None else times(ratio)
