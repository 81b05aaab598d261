"""Schedules: how the results of a call are cut, along which index, in blocks of which length."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ricci.compiler.bind import bind_shapes
from ricci.compiler.blocks.block_inputs import BlockOptions
from ricci.compiler.blocks.cutting import Cutter
from ricci.compiler.blocks.lengths import USUAL, longest
from ricci.compiler.blocks.running import threads_for
from ricci.compiler.blocks.schedule import BlockProgram, Names, Schedule, Scheduler
from ricci.compiler.prepare.prepared import Prepared
from ricci.compiler.run.function import Compiled
from ricci.errors import InputError, RicciError, nearest
from ricci.expr import Expr, Function, Size, dims, rebuild, transform
from ricci.notation.context import Facts

MOST_TEXT = 60  # characters of a part of the formula in messages
TYPES = {"i": np.dtype(np.int64), "b": np.dtype(np.bool_)}
Seeds = Mapping[str, Mapping[str, frozenset[int]]]  # index → input → the axes over which it ranges


@dataclass
class Case:
    """What a schedule is made for: prepared results, how they are to be cut, the shapes and types of a call."""

    stage: Prepared
    blocks: BlockOptions
    options: tuple[tuple[str, Any], ...]
    seeds: Seeds
    names: Mapping[str, Names]  # of the axes of inputs
    again: Callable[[Prepared, BlockOptions, Seeds, Mapping[str, Names]], Compiled]  # cuts a program of blocks further
    shapes: Mapping[str, tuple[int, ...]]
    types: Mapping[str, np.dtype]
    sizes: Mapping[str, int]

    def __post_init__(self):
        env = bind_shapes(self.stage, self.shapes, self.sizes)
        self.roots = concrete(self.stage.sized(env), env)

    def schedule(self) -> Schedule:
        """Cut along the indices that are named, or along one that memory asks for."""
        return self.along(self.blocks.lengths) if self.blocks.lengths else self.within(self.blocks.memory or USUAL)

    def along(self, lengths: Sequence[tuple[str, int | None]]) -> Schedule:
        """Cut along the first of these indices, and its blocks along the others."""
        (index, length), *rest = lengths
        seeds = self.seeds[index]
        size = next(self.shapes[name][min(axes)] for name, axes in seeds.items() if name in self.shapes)
        if length is None:
            memory = self.blocks.memory or USUAL
            length = longest(memory, size, lambda n: self._taken(self._cut(index, size, n, rest)), index)
        if size > length:
            return self._cut(index, size, length, rest)
        return self.along(rest) if rest else self._at_once(index, size, length)

    def _taken(self, schedule: Schedule) -> int:
        """Bytes at once, in blocks beside one another."""
        threads = 1 if schedule.blocks < 2 else self.blocks.threads or threads_for(schedule)
        return schedule.peak * min(threads, schedule.blocks)

    def within(self, memory: int) -> Schedule:
        """Cut where that is needed to stay within this memory: along the index that takes the fewest passes."""
        whole = self._at_once("every index", 0, 0)
        if whole.last is None or whole.last.plan.peak <= memory:  # type: ignore[union-attr]
            return whole
        found: list[tuple[int, int, Schedule]] = []
        faults: list[InputError] = []
        for number, index in enumerate(self._by_size()):
            try:
                one = self.along([(index, None)])
            except InputError as fault:
                faults.append(fault)
                continue
            if one.passes:
                found.append((len(one.passes), number, one))
        if not found:
            raise faults[0] if faults else InputError("There is no index along which the work could be cut.")
        return min(found, key=lambda one: one[:2])[2]

    def _by_size(self) -> list[str]:
        """Indices, those of the largest inputs first."""
        taken = {
            index: sum(math.prod(self.shapes.get(name, ())) for name in seeds) for index, seeds in self.seeds.items()
        }
        return sorted(taken, key=lambda index: -taken[index])

    def _cut(self, index: str, size: int, length: int, rest: Sequence[tuple[str, int | None]]) -> Schedule:
        cut = Cutter(index, self.seeds[index], length, self._text).cut(self.roots)
        scheduler = Scheduler(index, dict(self.types), dict(self.names), self.options, partial(self._further, rest))
        passes = scheduler.passes(cut, length)
        last = scheduler.program(list(cut.last.values()), {}) if cut.last else None
        if last is not None:
            scheduler.learn([f"result/{k}" for k in cut.last], last)
        return Schedule(
            index,
            size,
            length,
            tuple(passes),
            last,
            tuple(cut.last),
            tuple([tuple(root.shape) for root in self.roots]),  # type: ignore[misc]
            tuple([scheduler.types[f"result/{k}"] for k in range(len(self.roots))]),
            tuple([(total, scheduler.called[total.name]) for total in cut.totals]),
            tuple([self._text(node) for node in cut.held]),
            "".join([f", these along {name}" + (f" in blocks of {n:,}" if n else "") for name, n in rest]),
        )

    def _further(self, rest: Sequence[tuple[str, int | None]], program: BlockProgram, names: Mapping) -> Compiled:
        """The program of a block, cut along further indices."""
        seeds = {index: _named(index, {name: names.get(name, ()) for name in program.inputs}) for index, _ in rest}
        known = tuple([(index, length) for index, length in rest if seeds[index]])
        if not known:
            return program
        blocks = replace(self.blocks, lengths=known, progress=None, threads=1)
        return self.again(program.stage, blocks, seeds, dict(names))

    def _at_once(self, index: str, size: int, length: int) -> Schedule:
        scheduler = Scheduler(index, dict(self.types), dict(self.names), self.options, lambda program, names: program)
        last = scheduler.program(self.roots, {})
        scheduler.learn([f"result/{k}" for k in range(len(self.roots))], last)
        types = tuple([scheduler.types[f"result/{k}"] for k in range(len(self.roots))])
        shapes: Any = tuple([tuple(root.shape) for root in self.roots])
        return Schedule(index, size, length, (), last, tuple(range(len(shapes))), shapes, types, (), ())

    def _text(self, node: Expr) -> str:
        """A part of the formula, for people."""
        from ricci.show import to_text

        try:
            text = to_text(node, tuple(f"i{k}" for k in range(node.order)), Facts(), None)
        except RicciError:
            text = ""
        lines = [line for line in text.splitlines() if not line.startswith("sizes: ")]
        if len(lines) == 1 and len(lines[0]) <= MOST_TEXT:
            return lines[0]
        if isinstance(node, Function):
            return "a loop" if node.op.own else f"{node.op.name}(…)"
        return f"a {node.head.lower()}"


def _named(index: str, names: Mapping[str, tuple[str, ...]]) -> dict[str, frozenset[int]]:
    """The axes of inputs that have this name."""
    found = {name: frozenset([k for k, own in enumerate(axes) if own == index]) for name, axes in names.items()}
    return {name: axes for name, axes in found.items() if axes}


def seeds_of(stage: Prepared, indices: Sequence[str]) -> Seeds:
    """The axes of inputs over which indices range; of all of them where none is named."""
    found: dict[str, dict[str, frozenset[int]]] = {}
    for index, axes in stage.facts.groups:
        for name, axis in axes:
            if name in stage.inputs:
                own = found.setdefault(index, {})
                own[name] = own.get(name, frozenset()) | {axis}
    for index in indices:
        if index not in found:
            listed = ", ".join(found) or "none"
            what = "does not occur"
            if index in stage.facts.ranges:
                what = "reads other places than its own, as x[i+1] does, which may be in the next block"
            elif index in stage.names or any(index == name for name, _ in stage.facts.groups):
                what = "ranges over no axis of an input that the results depend on"
            named = {axis for _, axes in stage.facts.groups for axis in axes}
            bare = any((v.name, k) not in named for v in stage.needed for k in range(v.order))
            hint = nearest(index, found) or ('Name the axes of arguments: axes={"X": "m n"}.' if bare else "")
            raise InputError(f"The index {index!r} {what}; those that can be cut are {listed}. {hint}".rstrip())
    return {index: found[index] for index in indices or found}


def concrete(roots: Sequence[Expr], env: Mapping[dims.Atom, int]) -> list[Expr]:
    """Expressions with numbers for all sizes."""

    def size(size: Size) -> Size:
        return size if isinstance(size, int) else dims.evaluate(size, env)

    return [transform(root, lambda node, args: rebuild(node, args, size)) for root in roots]
