"""The programs of a run in blocks: for each pass one that is called for every block, and one for what comes before.

A schedule is made for the shapes and types of a call. It prints as a table: passes, what they join, their steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ricci.compiler.backends.numpy_table import dtypes_of
from ricci.compiler.blocks.block_inputs import BlockSource, whole
from ricci.compiler.blocks.cutting import CutResults, Feed, Total
from ricci.compiler.blocks.joining import JoinRule, Parts
from ricci.compiler.pipeline import prepare
from ricci.compiler.plan.plans import Plan
from ricci.compiler.plan.program_steps import Value
from ricci.compiler.run.function import Compiled
from ricci.expr import Expr, Size, Structure, Variable, dims, variables
from ricci.grid import Grid, Shown
from ricci.notation.context import Facts

Names = tuple[str, ...]
Arrays = Mapping[str, Any]
WHERE, BESIDE = "numpy", "a number"


@dataclass(frozen=True, eq=False)
class BlockPass:
    """One pass over the data: what every block is given, what it gives, and how that is joined.

    It travels to other processes, and needs nothing there but ricci.
    """

    feeds: tuple[Feed, ...]
    known: Compiled | None  # computes before the pass what feeds need
    block: Compiled
    plan: Plan  # of ``block``, or of what it cuts further
    rules: tuple[tuple[str, JoinRule, int], ...]  # the name of a total, how it is joined, the number of its parts
    written: tuple[tuple[int, tuple[int, ...]], ...]  # positions of results, and the axes along which they are cut
    shapes: tuple[tuple[int, ...], ...]  # of totals
    types: tuple[np.dtype, ...]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "plan": None}

    def ready(self, values: Arrays) -> dict[str, Any]:
        """What blocks are cut from or given whole: inputs, totals, and what is computed of them."""
        if self.known is None:
            return dict(values)
        found = self.known(**{name: whole(values[name]) for name in self.known.inputs})
        computed = [feed.name for feed in self.feeds if feed.computed]
        return {**values, **dict(zip(computed, found, strict=True))}

    def slices(self, values: Arrays, start: int, stop: int) -> dict[str, Any]:
        """What the block from ``start`` to ``stop`` is given."""
        given = self.relations(start, stop)
        for feed in self.feeds:
            if not feed.written:
                value = values[feed.source if isinstance(feed.source, str) else feed.name]
                given[feed.name] = value[_along(feed.axes, slice(start, stop))] if feed.axes else whole(value)
        return given

    def forget(self, values: Arrays, start: int, stop: int) -> None:
        """The slices of inputs have been used."""
        for feed in self.feeds:
            if isinstance(feed.source, str) and feed.axes and isinstance(values[feed.source], BlockSource):
                values[feed.source].forget(_along(feed.axes, slice(start, stop)))

    def relations(self, start: int, stop: int) -> dict[str, Any]:
        """The relations that are written out for the block."""
        return {feed.name: written_out(feed, start, stop) for feed in self.feeds if feed.written}

    def __call__(self, given: Arrays, start: int) -> tuple[list[Parts], list[Any]]:
        """What a block gives: parts of totals, and blocks of results."""
        found = list(self.block(**{name: given[name] for name in self.block.inputs}))
        parts: list[Parts] = []
        for _, rule, count in self.rules:
            parts.append(rule.placed(tuple(found[:count]), start))
            del found[:count]
        return parts, found


def _along(axes: frozenset[int] | Sequence[int], part: slice) -> tuple[slice, ...]:
    return tuple([part if k in axes else slice(None) for k in range(max(axes) + 1)])


def written_out(feed: Feed, start: int, stop: int) -> np.ndarray:
    """The entries of a relation, or of an array, in a block."""
    node = feed.source
    assert isinstance(node, Structure)
    kind, coefs, const = node.relation
    total = np.asarray(const)
    sizes: Any = node.shape  # numbers here
    for axis, (coef, size) in enumerate(zip(coefs, sizes, strict=True)):
        places = np.arange(start, stop) if axis in feed.axes else np.arange(size)
        total = total + coef * places.reshape([-1 if k == axis else 1 for k in range(node.order)])
    return total == 0 if kind == "==" else total >= 0


@dataclass(frozen=True, eq=False, repr=False)
class Schedule(Shown):
    """All passes along an index, and what is computed after the last one."""

    index: str
    size: int  # of the index
    block: int
    passes: tuple[BlockPass, ...]
    last: Compiled | None
    last_at: tuple[int, ...]  # the positions of the results that it gives
    shapes: tuple[tuple[int, ...], ...]  # of all results
    types: tuple[np.dtype, ...]
    totals: tuple[tuple[Total, Names], ...]
    held: tuple[str, ...]  # what is computed at once although it comes from the data
    inner: str = ""  # what blocks are cut along themselves

    @property
    def blocks(self) -> int:
        return -(-self.size // self.block) if self.passes else 0

    def bounds(self) -> list[tuple[int, int]]:
        """Where blocks begin and end."""
        return [(k * self.block, min((k + 1) * self.block, self.size)) for k in range(self.blocks)]

    @property
    def headline(self) -> str:
        if not self.passes:
            return f"all at once: {self.index} has {self.size:,} places, and blocks have {self.block:,}"
        passes = f"{len(self.passes)} pass{'es' * (len(self.passes) != 1)}"
        said = f"{passes} over {self.index}, in blocks of {self.block:,}{self.inner}"
        for stage in range(len(self.passes)):
            found: dict[str, list[str]] = {}
            for total, names in self.totals:
                if total.stage == stage:
                    shown = f"[{','.join(names)}]" if names else "a number"
                    found.setdefault(total.rule.words, []).append(shown)
            joined = [f"{words} of {', '.join(dict.fromkeys(of))}" for words, of in found.items()]
            written = len(self.passes[stage].written)
            joined += [f"{written} result{'s' * (written != 1)} written block by block"] if written else []
            where = f"pass {stage + 1}: " if len(self.passes) > 1 else ""
            said += f"; {where}{', '.join(joined)}"
        return said + (f"; held whole: {', '.join(self.held)}" if self.held else "")

    def plans(self) -> list[tuple[str, Plan]]:
        """The plans of all programs, and when they run."""
        found = []
        for number, one in enumerate(self.passes):
            if one.known is not None:
                found.append((f"before pass {number + 1}", one.known.plan))
            found.append((f"each block of pass {number + 1}", one.plan))
        if self.last is not None and self.last.plan.program.steps:
            found.append(("at the end", self.last.plan))
        return found

    @property
    def peak(self) -> int:
        """Bytes alive at once in a block: what it is given in slices and makes, and twice what is joined."""
        most = 0
        for one in self.passes:
            plan = one.plan
            made = sum(int(np.prod(result.shape)) * plan.itemsize for result in plan.program.results)
            most = max(most, plan.peak + _given(one) + 2 * made)
        return most

    @property
    def flops(self) -> int:
        """In all passes, and before and after them."""
        blocks = sum(one.plan.flops for one in self.passes) * self.size // self.block if self.passes else 0
        rest = [*[one.known for one in self.passes], self.last]
        return blocks + sum(program.plan.flops for program in rest if program is not None)

    @property
    def read(self) -> int:
        """Bytes of what is cut, in all passes."""
        return sum(_given(one) for one in self.passes) * self.size // self.block if self.passes else 0

    def grid(self) -> Grid:
        rows = [(when, *row) for when, plan in self.plans() for row in plan.rows()]
        heads = ["when", "step", "operation", "shape", "FLOPs", "bytes"]
        count = f"{self.blocks:,} block{'s' * (self.blocks != 1)} a pass"
        work = f"{self.flops:,} FLOPs, {self.read:,} bytes read, at most {self.peak:,} at once in each"
        return Grid(heads, rows, right={4, 5}, above=self.headline, below=f"{count}, {work}")


def _given(one: BlockPass) -> int:
    """Bytes of the slices that a block is given."""
    shapes = dict(one.plan.setting.shapes)
    cut = [shapes[feed.name] for feed in one.feeds if feed.axes and feed.name in shapes]
    return sum(int(np.prod(shape)) * one.plan.itemsize for shape in cut)


class BlockProgram(Compiled):
    """A function on arrays of NumPy that has its plan before it is called.

    It is given a number beside its inputs, in the type in which the whole computes, so that parts of it with whole
    numbers alone do too.
    """

    beside: Arrays = {}  # noqa: RUF012  (never changed)

    def __call__(self, /, *args: Any, **inputs: Any) -> Any:
        return super().__call__(*args, **inputs, **self.beside)

    def planned(
        self, shapes: Mapping[str, tuple[int, ...]], types: Mapping[str, np.dtype], number: np.dtype | None = None
    ) -> BlockProgram:
        given = {name: np.broadcast_to(np.zeros((), types[name]), shapes[name]) for name in self.inputs}
        if number is not None:
            self.beside = {BESIDE: np.zeros((), number)}
            self._known = {*self._known, BESIDE}
        assert self.backend is not None
        self._ready(self.backend.setting({**given, **self.beside}, {}, self.single, self.options))
        return self


@dataclass
class Scheduler:
    """Makes the programs of cut results, and finds out what the axes of all that they are given are called."""

    index: str
    types: dict[str, np.dtype]  # of inputs; what is computed comes to them
    called: dict[str, Names]  # the names of their axes, likewise
    options: tuple[tuple[str, Any], ...]
    further: Callable[[BlockProgram, Mapping[str, Names]], Compiled]  # what cuts the program of a block further

    def passes(self, cut: CutResults, block: int) -> list[BlockPass]:
        env = {(name, k): block for name, feed in cut.feeds.items() for k in feed.axes}
        return [self._pass(cut, stage, env) for stage in range(cut.passes)]

    def _pass(self, cut: CutResults, stage: int, env: Mapping[Any, int]) -> BlockPass:
        totals = [t for t in cut.totals if t.stage == stage]
        written = [w for w in cut.written if w.stage == stage]
        roots = [part for t in totals for part in t.parts] + [w.expr for w in written]
        used = {v.name for v in variables(*roots)} | {cut.teller.name}
        feeds = tuple([feed for name, feed in cut.feeds.items() if name in used])
        computed = [feed for feed in feeds if feed.computed]
        known = None
        if computed:
            known = self.program([feed.source for feed in computed], {})  # type: ignore[misc]
            self.learn([feed.name for feed in computed], known)
        for feed in feeds:
            if isinstance(feed.source, str):
                self.called[feed.name] = self.called.get(feed.source, ())
                self.types[feed.name] = self.types[feed.source]
            elif feed.written:
                self.types[feed.name] = np.dtype(bool)
        cut_axes = tuple([(feed.name, k) for feed in feeds for k in sorted(feed.axes)])
        program = self.program(roots, env, cut.teller, cut_axes)
        parts = [f"{t.name}/{k}" for t in totals for k, _ in enumerate(t.parts)]
        self.learn([*parts, *[f"result/{w.position}" for w in written]], program)
        for t in totals:
            last = f"{t.name}/{len(t.parts) - 1}"
            self.called[t.name], self.types[t.name] = self.called[last], self.types[last]
        rules = tuple([(t.name, t.rule, len(t.parts)) for t in totals])
        along = tuple([(w.position, tuple(sorted(w.axes))) for w in written])
        block, types = self.further(program, self.called), tuple([self.types[t.name] for t in totals])
        shapes: Any = tuple([tuple(t.node.shape) for t in totals])
        return BlockPass(feeds, known, block, program.plan, rules, along, shapes, types)

    def program(
        self,
        roots: Sequence[Expr],
        env: Mapping[Any, int],
        teller: Variable | None = None,
        cut: tuple[tuple[str, int], ...] = (),
    ) -> BlockProgram:
        """A function of what these need, and a plan of it for blocks of the usual length.

        All axes that are cut are as long as a block is, which ``teller`` tells where nothing else does. The others are
        called what they are called, each by itself: a part of an index is not the index.
        """
        needed = {v.name: v for v in [*([] if teller is None else [teller]), *variables(*roots)]}
        inputs = {name: v.order for name, v in needed.items()}
        axes = [(name, k, called) for name in inputs for k, called in enumerate(self.called.get(name, ()))]
        groups: list[Any] = [(self.index, cut)] if cut else []
        groups += [(called, ((name, k),)) for name, k, called in axes if called]
        number = next((kind for kind in self.types.values() if kind.kind in "cf"), None)
        beside = {} if number is None else {BESIDE: 0}
        facts = Facts(inputs={**inputs, **beside}, mentions=dict.fromkeys(inputs), groups=groups)
        shapes = {name: tuple([_size(n, env) for n in v.shape]) for name, v in needed.items()}
        made = BlockProgram(prepare(roots, facts=facts, simplify=False), WHERE, False, self.options)
        return made.planned(shapes, self.types, number)

    def learn(self, names: Sequence[str], program: Compiled) -> None:
        """What the axes of results are called, and their types."""
        plan = program.plan
        types = dtypes_of(plan.setting.dtype)
        for name, result in zip(names, plan.program.results, strict=True):
            known = plan.program.axes.of(result.value) if isinstance(result.value, Value) else ()
            own = dict(zip(result.axes, known, strict=False))
            self.called[name] = tuple([own.get(k, "") for k in range(len(result.shape))])
            self.types[name] = types[result.kind]


def _size(size: Size, env: Mapping[Any, int]) -> int:
    return size if isinstance(size, int) else dims.evaluate(size, env)
