"""Tables of times: contenders, whether they agree, what they took, the ratios, the targets and where ricci loses.

A *block* is one task at one size and precision, done by several contenders. This module holds, compares and prints;
what measures is ``harness.py`` on a processor and ``gpu.py`` on an accelerator.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

PACKAGES = ("numpy", "scipy", "opt_einsum", "numba", "jax", "torch")
TOLERANCE = {"float64": 1e-9, "float32": 2e-3}  # of the largest entry
PRODUCT = "compressed, times a vector"  # how contenders are called that multiply a compressed result with a vector
BARE = "the program alone"  # how the contender is called that runs a program without the call around it
CLOSE = 1.05  # a ratio up to this is no loss that could be told from noise


@dataclass
class Time:
    """Seconds of one contender: the best and the median of its samples, or why there are none; and page faults.

    Memory that goes back to the system after every call is mapped and cleared again by page faults; above some tens
    of megabytes that can be most of the time.
    """

    best: float = 0.0
    median: float = 0.0
    faults: float = 0.0
    left_out: str = ""


@dataclass
class Block:
    """One task: what it is, the facts that targets ask for, and the times by contender."""

    title: str
    facts: dict[str, Any]
    times: dict[str, Time] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    figure: str = "best"  # which of the two is the figure of record

    def seconds(self, name: str) -> float | None:
        """The figure of record of a contender."""
        found = self.times.get(name)
        return None if found is None or found.left_out else getattr(found, self.figure)

    def show(self) -> None:
        ours = next((self.seconds(name) for name in self.times if is_ours(name) and self.seconds(name)), None)
        print(f"\n{self.title}")
        print(f"  {'':<46}{'best':>11}{'median':>11}{'/ ricci':>10}{'page faults':>13}")
        for name, time in self.times.items():
            if time.left_out:
                print(f"  {name:<46}left out: {time.left_out}")
                continue
            seconds = self.seconds(name)
            ratio = times(seconds / ours) if seconds and ours else "-"
            print(f"  {name:<46}{duration(time.best):>11}{duration(time.median):>11}{ratio:>10}{time.faults:>13,.0f}")
        for note in self.notes:
            print(f"  ({note})")


def is_ours(name: str) -> bool:
    return name.startswith("ricci")


def duration(seconds: float) -> str:
    """A time with three digits and its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds < 1000 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def times(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}" if ratio >= 10 else f"{ratio:.2f}"


@dataclass(frozen=True)
class Target:
    """What is aimed at: ``ours`` takes at most ``limit`` times what ``other`` takes, or is ``limit`` times as fast.

    With the relation "beyond" it takes at most ``limit`` seconds more than ``other``. ``other`` None: at most ``limit``
    seconds. Several others: the fastest that was measured counts. With ``unless``, a block that misses still meets the
    target where it takes at most that many times what the named contender takes.
    """

    ours: str
    relation: str  # "at most", "faster by", "beyond"
    limit: float
    other: str | tuple[str, ...] | None
    where: Callable[[dict[str, Any]], bool] = lambda facts: True
    unless: tuple[float, str] | None = None

    @property
    def text(self) -> str:
        if self.other is None:
            return f"{self.ours}: at most {duration(self.limit)}"
        other = self.other if isinstance(self.other, str) else "the best of " + ", ".join(self.other)
        if self.relation == "beyond":
            return f"{self.ours}: at most {duration(self.limit)} more than {other}"
        amount = f"{self.limit:,g} × {other}"
        excuse = f", or at most {self.unless[0]:g} × {self.unless[1]}" if self.unless else ""
        return f"{self.ours}: {'at most' if self.relation == 'at most' else 'faster by'} {amount}{excuse}"

    def judge(self, block: Block) -> tuple[bool | None, str]:
        """Whether a block meets it, None where it cannot be said, and the figure."""
        mine = block.seconds(self.ours)
        if mine is None:
            return None, f"{self.ours} not measured"
        if self.other is None:
            return mine <= self.limit, duration(mine)
        others = (self.other,) if isinstance(self.other, str) else self.other
        measured = [seconds for name in others if (seconds := block.seconds(name)) is not None]
        if not measured:
            return None, f"{' and '.join(others)} not measured"
        if self.relation == "beyond":
            return mine - min(measured) <= self.limit, duration(mine - min(measured))
        ratio = mine / min(measured)
        met = ratio <= self.limit if self.relation == "at most" else 1 / ratio >= self.limit
        figure = times(ratio if self.relation == "at most" else 1 / ratio)
        if not met and self.unless and (reference := block.seconds(self.unless[1])):
            return mine <= self.unless[0] * reference, f"{figure}; {times(mine / reference)} × {self.unless[1]}"
        return met, figure


def show_targets(targets: Sequence[Target], blocks: Sequence[Block]) -> None:
    """Each target, and for each block that it speaks of: the figure, and met or MISSED."""
    print("\nTargets")
    for target in targets:
        print(f"  {target.text}")
        spoken = [block for block in blocks if target.ours in block.times and target.where(block.facts)]
        for block in spoken:
            met, figure = target.judge(block)
            word = {True: "met", False: "MISSED", None: "not known"}[met]
            print(f"    {word:<10}{figure:<12} {block.title}")
        if not spoken:
            print("    no such block was run")


def show_losses(blocks: Sequence[Block]) -> None:
    """The blocks in which the fastest contender beats the fastest of ours that does the same."""
    print("\nWhere we lose")
    lost = False
    for block in blocks:
        for group in _groups(block):
            ours = [(s, name) for name in group if is_ours(name) and (s := block.seconds(name)) is not None]
            others = [(s, name) for name in group if not is_ours(name) and (s := block.seconds(name)) is not None]
            if ours and others and min(ours)[0] > CLOSE * min(others)[0]:
                lost = True
                ratio = times(min(ours)[0] / min(others)[0])
                print(f"  {block.title}: {min(ours)[1]} takes {ratio} × {min(others)[1]}")
    if not lost:
        print("  nowhere by more than 5 %")


def _groups(block: Block) -> list[list[str]]:
    """Contenders that give the same thing: compressed results, and others; a fill or a program alone is in no group."""
    groups: dict[str, list[str]] = {}
    for name in block.times:
        if "fill" not in name and BARE not in name:
            groups.setdefault(PRODUCT if PRODUCT in name else "compressed" if "compressed" in name else "", []).append(
                name
            )
    return list(groups.values())


def as_arrays(result: Any) -> list[np.ndarray]:
    """The arrays in a result: of any library, nested in tuples and lists."""
    if isinstance(result, (tuple, list)):
        return [array for part in result for array in as_arrays(part)]
    return [np.asarray(result)]


def difference(name: str, values: list[np.ndarray], wanted: list[np.ndarray], tolerance: float) -> float:
    """The largest difference, relative to the largest entry of the array; an error where it is too large."""
    if [v.shape for v in values] != [w.shape for w in wanted]:
        raise AssertionError(f"{name}: shapes {[v.shape for v in values]}, wanted {[w.shape for w in wanted]}.")
    if [v.dtype for v in values] != [w.dtype for w in wanted]:
        raise AssertionError(f"{name}: dtypes {[v.dtype for v in values]}, wanted {[w.dtype for w in wanted]}.")
    sizes = [float(np.abs(want).max(initial=0.0)) for want in wanted]
    least = 1e-3 * max(sizes) or 1.0  # an array of zeros that are rounded has no scale of its own
    worst = 0.0
    for value, want, size in zip(values, wanted, sizes, strict=True):
        worst = max(worst, float(np.abs(value - want).max(initial=0.0)) / max(size, least))
    if not worst <= tolerance:
        raise AssertionError(f"{name}: the result differs by {worst:.1e} of its largest entry.")
    return worst


def machine() -> str:
    """The processor, Python and the packages, in one line."""
    cores = f"{os.cpu_count()} cores"
    return f"{_processor()}, {cores}, {platform.system()}, Python {platform.python_version()}, {versions(PACKAGES)}"


def versions(packages: Sequence[str]) -> str:
    """Packages with their versions, those that are not installed, too."""
    found = []
    for name in packages:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{name} not installed (left out)")
    return ", ".join(found)


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
