"""The rows of ``loops.py`` and what they add up to: means beside ``jax.lax.scan``, aims that are missed, losses."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from report import CLOSE, duration, times
from rows_of_programs import Row, mean

PEER, OWN_ROADS = "jax", ("plain", "scan")
MOST_FIRST, PART_OF_FIRST = 0.5, 0.1  # seconds of a first call, and what part of JAX's it may take


def heading(roads: Sequence[str]) -> None:
    print(f"\n{'':<24}" + "".join([f"{road + ': first':>18}{'warm':>9}{'MB':>10}" for road in roads]), flush=True)


def show(row: Row, roads: Sequence[str]) -> None:
    print(f"{title(row):<24}" + "".join([_cells(row, road) for road in roads]), flush=True)
    for road, reason in row.failed.items():
        if not reason.startswith("not tried"):
            print(f"    {road}: {reason}", flush=True)


def title(row: Row) -> str:
    return f"{row.program} {int(row.size):,}, {row.kind}"


def _cells(row: Row, road: str) -> str:
    first = duration(row.first[road]) if road in row.first else "-"
    warm = duration(row.warm[road]) if road in row.warm else "-"
    megabytes = "/".join([f"{taken[road] / 1e6:.0f}" for taken in (row.beginning, row.memory) if road in taken])
    return f"{first:>18}{warm:>9}{megabytes:>10}"


def summary(rows: Sequence[Row], roads: Sequence[str]) -> None:
    others = [road for road in roads if road != PEER]
    if PEER in roads:
        for what, figures in (("Warm", _warm), ("First", _first)):
            print(f"\n{what} calls in those of jax.lax.scan, geometric means (and of how many rows); below 1 is faster")
            _means(rows, others, figures)
    _aims(rows)
    failed = [(row, road) for row in rows for road in OWN_ROADS if road in row.failed]
    print(f"\nricci is ended, wrong or not tried in {len(failed)} of {sum(r in OWN_ROADS for r in roads) * len(rows)}")
    for row, road in failed:
        print(f"    {title(row)}, {road}: {row.failed[road]}")


def _warm(row: Row) -> dict[str, float]:
    return row.warm


def _first(row: Row) -> dict[str, float]:
    return row.first


def _means(rows: Sequence[Row], roads: Sequence[str], figures: Callable[[Row], dict[str, float]]) -> None:
    groups = list(dict.fromkeys([(row.kind, row.size) for row in rows]))
    heads = [*[f"{kind} {int(size):,}" for kind, size in groups], "all"]
    print(f"{'':<12}" + "".join([f"{head:>17}" for head in heads]))
    for road in roads:
        cells = []
        for group in [*groups, None]:
            chosen = [row for row in rows if group in (None, (row.kind, row.size))]
            cells.append(_mean([ratio for row in chosen if (ratio := _ratio(figures(row), road)) is not None]))
        print(f"{road:<12}" + "".join([f"{cell:>17}" for cell in cells]))


def _mean(ratios: Sequence[float]) -> str:
    found = mean(ratios)
    return "-" if found is None else f"{times(found)} ({len(ratios)})"


def _ratio(seconds: dict[str, float], road: str) -> float | None:
    return seconds[road] / seconds[PEER] if {road, PEER} <= seconds.keys() else None


def _aims(rows: Sequence[Row]) -> None:
    for road in OWN_ROADS:
        measured = [row for row in rows if road in row.first]
        if not measured:
            continue
        slower = [(r, row) for row in measured if (r := _ratio(row.warm, road)) is not None]
        _list(f"{road}: warm calls slower than jax.lax.scan's", slower, CLOSE, times)
        parts = [(r, row) for row in measured if (r := _ratio(row.first, road)) is not None]
        _list(f"{road}: first calls over a tenth of jax.lax.scan's", parts, PART_OF_FIRST, times)
        firsts = [(row.first[road], row) for row in measured]
        _list(f"{road}: first calls over {duration(MOST_FIRST)}", firsts, MOST_FIRST, duration)


def _list(head: str, figures: Sequence[tuple[float, Row]], limit: float, text: Callable[[float], str]) -> None:
    if not figures:
        return  # the other road was not measured
    found = sorted([(figure, row) for figure, row in figures if figure > limit], key=lambda pair: -pair[0])
    print(f"\n{head}: {f'{len(found)} of {len(figures)}' if found else 'nowhere'}")
    for figure, row in found:
        print(f"    {text(figure):>8}  {title(row)}")
