"""A run in blocks on Dask: the same programs, as tasks that nobody has run yet.

Inputs may be arrays of Dask, cut where they are cut already, or anew; what comes out is lazy. Each pass is a task for
each block, made by ``blockwise``, and a tree of joins; what a pass gives is lazy too, and goes into the tasks of the
next. So nothing is computed before somebody asks, nothing is ever in one place but blocks and totals, and whoever runs
the tasks needs ricci and nothing else.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, count
from typing import Any
from uuid import uuid4

import numpy as np

from ricci.compiler.backends.numpy_table import dtypes_of
from ricci.compiler.blocks.block_inputs import BlockOptions, check_numbers
from ricci.compiler.blocks.blocked_function import BlockedFunction
from ricci.compiler.blocks.cutting import NotCutError
from ricci.compiler.blocks.joining import JoinRule, Parts
from ricci.compiler.blocks.running import joined_parts
from ricci.compiler.blocks.schedule import BlockPass, Schedule
from ricci.compiler.blocks.scheduling import Seeds
from ricci.compiler.prepare.prepared import Prepared
from ricci.compiler.run.function import Compiled
from ricci.dispatch import offer
from ricci.errors import InputError, MissingPackageError
from ricci.kinds import kind_of, remedy

FAN = 8  # blocks that one task joins
Bounds = Sequence[tuple[int, int]]


class ChunkedFunction(BlockedFunction):
    """A function on arrays of Dask, whose results are arrays of Dask: nothing is computed before these are."""

    def __repr__(self) -> str:
        return f"<ricci.ChunkedFunction of {', '.join(self.inputs) or 'nothing'}>"

    def arrays(self, given: Mapping[str, Any]) -> dict[str, Any]:
        lazy = {name: value for name, value in given.items() if kind_of(value) == "dask"}
        for name, value in lazy.items():
            if not hasattr(value, "rechunk"):
                raise InputError(f"The input {name!r} is of {type(value).__name__}; arrays of Dask are wanted.")
            if any(math.isnan(n) for n in value.shape):
                raise InputError(
                    f"The sizes of {name!r} are not known ({value.shape}). Write {name} = "
                    f"{name}.compute_chunk_sizes(), which counts them."
                )
            check_numbers(name, value)
        known = super().arrays({name: value for name, value in given.items() if name not in lazy})
        return {name: lazy.get(name, known.get(name)) for name in given}

    def run(self, arrays: Mapping[str, Any], sizes: Mapping[str, int], **own: Any) -> Any:
        for name, value in own.items():
            if value is not None and value is not False:
                raise InputError(f"{name}= is of runs on NumPy; results of Dask are lazy: say it where they are run.")
        types = self.types(arrays)
        shapes = {name: tuple(map(int, array.shape)) for name, array in arrays.items()}
        schedule, lengths = self._cut(arrays, shapes, types, sizes)
        self._last = schedule
        stops = list(accumulate(lengths))
        values = {name: _lazy(array).astype(types[name]) for name, array in arrays.items()}
        found = ChunkedRun(schedule, values, list(zip([0, *stops], stops, strict=False)))()
        return found[0] if self.single else tuple(found)

    def _cut(
        self, arrays: Mapping[str, Any], shapes: Mapping[str, Any], types: Mapping[str, np.dtype], sizes: Mapping
    ) -> tuple[Schedule, Sequence[int]]:
        """A schedule along an index, as asked, as arrays are cut or as memory asks; and how long its blocks are."""
        fault = None
        own = replace(self.blocks, threads=1)  # in each task
        for index, seeds, lengths in self._candidates(arrays):
            rest = [(name, n) for name, n in own.lengths if name != index]
            try:
                asked = replace(own, lengths=((index, max(lengths)), *rest))
                schedule = self.schedule(shapes, types, sizes, asked, seeds)
                if own.memory is None or schedule.peak <= own.memory:
                    return schedule, lengths
                asked = replace(own, lengths=((index, None), *rest))
                return _with_lengths(self.schedule(shapes, types, sizes, asked, seeds))
            except NotCutError as error:
                fault = error
        if fault is not None:
            raise fault
        rest = own if own.memory is not None else replace(own, lengths=(), memory=sys.maxsize)
        return _with_lengths(self.schedule(shapes, types, sizes, rest))

    def _candidates(self, arrays: Mapping[str, Any]) -> Iterator[tuple[str, Seeds, Sequence[int]]]:
        """Indices to make tasks along, where all are, and how long blocks are: as asked for, or as arrays are cut."""
        asked = dict(self.blocks.lengths)
        for index, length in asked.items():
            axes = [(arrays[name], min(own)) for name, own in self.seeds[index].items() if name in arrays]
            chunks = [array.chunks[axis] for array, axis in axes if kind_of(array) == "dask"]
            lengths: Sequence[int] = max(chunks, key=len, default=())
            if length is not None:
                size = int(axes[0][0].shape[axes[0][1]])
                lengths = [min(length, size - start) for start in range(0, size, length)]
            if len(lengths) > 1:
                yield index, self.seeds, lengths
        cut = (
            []
            if asked
            else [(a.chunks[k], n, k) for n, a in arrays.items() for k in range(len(getattr(a, "chunks", ())))]
        )
        for lengths, name, axis in sorted([one for one in cut if len(one[0]) > 1], key=lambda one: -len(one[0])):
            own = [index for index, seeds in self.seeds.items() if axis in seeds.get(name, ())]
            index = own[0] if own else f"axis {axis} of {name}"
            yield index, {index: {name: frozenset([axis])}, **self.seeds}, lengths


def _with_lengths(schedule: Schedule) -> tuple[Schedule, Sequence[int]]:
    return schedule, [stop - start for start, stop in schedule.bounds()]


def _lazy(array: Any) -> Any:
    da = _dask_array()
    return array if kind_of(array) == "dask" else da.from_array(array, chunks=-1)


def _dask_array() -> Any:
    try:
        import dask.array
    except ImportError as error:
        raise MissingPackageError('The backend "dask" needs Dask: pip install "dask[array]"') from error
    return dask.array


# What tasks do. Their classes are no dataclasses, into which Dask would look for arrays.


class BlockTask:
    """What the task of one block does: it is called with its start and stop, and with what its pass gives it."""

    def __init__(self, one: BlockPass, names: tuple[str, ...]):
        self.one, self.names = one, names

    def __call__(self, start: Any, stop: Any, *arrays: Any) -> np.ndarray:
        given = dict(zip(self.names, arrays, strict=True))
        begin, end = int(np.ravel(start)[0]), int(np.ravel(stop)[0])
        given |= self.one.relations(begin, end)
        found = np.empty(1, dtype=object)
        found[0] = self.one(given, begin)
        return found


class JoinTask:
    """Joins the parts of neighbours."""

    def __init__(self, one: BlockPass):
        self.one = one

    def __call__(self, parts: Sequence[list[Parts]]) -> list[Parts]:
        first, *rest = parts
        for other in rest:
            first = joined_parts(self.one, first, other, own=False)
        return first


def parts_of(packed: np.ndarray) -> list[Parts]:
    return packed.ravel()[0][0]


def block_of(packed: np.ndarray, number: int, shape: tuple[int, ...], axes: tuple[int, ...], start: int) -> np.ndarray:
    """A block of a result; where it is on a diagonal, with the zeros beside it."""
    found = packed.ravel()[0][1][number]
    if len(axes) == 1:
        return found
    whole = np.zeros(shape, found.dtype)
    place = [slice(None)] * len(shape)
    for axis in axes[1:]:
        place[axis] = slice(start, start + found.shape[axis])
    whole[tuple(place)] = found
    return whole


class TotalTask:
    """What the parts of everything give, for one of the totals of a pass."""

    def __init__(self, rule: JoinRule, number: int):
        self.rule, self.number = rule, number

    def __call__(self, parts: list[Parts]) -> np.ndarray:
        return np.asarray(self.rule.total(parts[self.number]))


class ProgramTask:
    """The results of a program of what comes before a pass, or after the last."""

    def __init__(self, program: Compiled):
        self.program = program

    def __call__(self, *arrays: Any) -> tuple:
        found = self.program(**dict(zip(self.program.inputs, arrays, strict=True)))
        return tuple([np.asarray(x) for x in found])


def entry(values: Sequence[Any], number: int) -> Any:
    return values[number]


class ChunkedRun:
    """Makes the tasks of a schedule."""

    def __init__(self, schedule: Schedule, values: dict[str, Any], bounds: Bounds):
        import dask

        self.schedule, self.values, self.bounds = schedule, values, bounds
        self.da, self.delayed = _dask_array(), dask.delayed  # type: ignore[attr-defined]

    def __call__(self) -> list[Any]:
        found: dict[int, Any] = {}
        for one in self.schedule.passes:
            found.update(self._pass(one))
        schedule = self.schedule
        if schedule.last is not None:
            results = self._program(schedule.last, [(schedule.shapes[k], schedule.types[k]) for k in schedule.last_at])
            found.update(zip(schedule.last_at, results, strict=True))
        return [found[k] for k in sorted(found)]

    def _program(self, program: Any, made: Sequence[tuple[tuple[int, ...], np.dtype]]) -> list[Any]:
        """The results of a program of whole arrays, as arrays of Dask."""
        given = [self._whole(self.values[name]) for name in program.inputs]
        together = self.delayed(ProgramTask(program), pure=False)(*given)
        parts = [self.delayed(entry, pure=False)(together, k) for k in range(len(made))]
        return [self.da.from_delayed(part, shape, dtype) for part, (shape, dtype) in zip(parts, made, strict=True)]

    def _whole(self, array: Any) -> Any:
        """An array of Dask as one piece."""
        return array.rechunk(-1).to_delayed(optimize_graph=False).ravel()[0] if array.ndim else array

    def _pass(self, one: BlockPass) -> dict[int, Any]:
        if one.known is not None:
            computed = [feed for feed in one.feeds if feed.computed]
            plan = one.known.plan
            made = [(r.shape, dtypes_of(plan.setting.dtype)[r.kind]) for r in plan.program.results]
            self.values.update(zip([feed.name for feed in computed], self._program(one.known, made), strict=True))
        packed = self._blocks(one)
        if one.rules:
            parts = [self.delayed(parts_of, pure=False)(block) for block in packed]
            joined = self._joined(one, parts)
            for number, (name, rule, _) in enumerate(one.rules):
                value = self.delayed(TotalTask(rule, number), pure=False)(joined)
                self.values[name] = self.da.from_delayed(value, one.shapes[number], one.types[number])
        return {
            position: self._written(packed, number, position, axes)
            for number, (position, axes) in enumerate(one.written)
        }

    def _blocks(self, one: BlockPass) -> list[Any]:
        """The task of each block, by ``blockwise``."""
        feeds = [feed for feed in one.feeds if not feed.written]
        labels = count(1)
        lengths = tuple([stop - start for start, stop in self.bounds])
        edges = [self.da.from_array(np.array(edge), chunks=1) for edge in zip(*self.bounds, strict=True)]
        given: list[Any] = [x for edge in edges for x in (edge, (0,))]
        for feed in feeds:
            array = self.values[feed.source if isinstance(feed.source, str) else feed.name]
            chunks = {axis: lengths if axis in feed.axes else -1 for axis in range(array.ndim)}
            places = tuple([0 if axis in feed.axes else next(labels) for axis in range(array.ndim)])
            given += [array.rechunk(chunks) if array.ndim else array, places]
        task = BlockTask(one, tuple([feed.name for feed in feeds]))
        blocks = self.da.blockwise(
            task,
            (0,),
            *given,
            dtype=object,
            meta=np.empty(0, dtype=object),
            concatenate=True,
            align_arrays=False,
            adjust_chunks={0: tuple([1] * len(lengths))},
            name=f"ricci-block-{uuid4().hex}",  # unlike all others, in all processes
        )
        return blocks.to_delayed(optimize_graph=False).ravel().tolist()

    def _joined(self, one: BlockPass, parts: list[Any]) -> Any:
        """A tree of joins, neighbours first."""
        join: Callable[..., Any] = self.delayed(JoinTask(one), pure=False)
        while len(parts) > 1:
            parts = [join(parts[k : k + FAN]) if k + 1 < len(parts) else parts[k] for k in range(0, len(parts), FAN)]
        return parts[0]

    def _written(self, packed: Sequence[Any], number: int, position: int, axes: tuple[int, ...]) -> Any:
        """A result that has the index: its blocks one after another."""
        whole, dtype = self.schedule.shapes[position], self.schedule.types[position]
        first, blocks = axes[0], []
        for block, (start, stop) in zip(packed, self.bounds, strict=True):
            shape = (*whole[:first], stop - start, *whole[first + 1 :])
            value = self.delayed(block_of, pure=False)(block, number, shape, axes, start)
            blocks.append(self.da.from_delayed(value, shape, dtype))
        return self.da.concatenate(blocks, axis=first)


def blocked(
    stage: Prepared, backend: str | None, blocks: BlockOptions, single: bool, options: tuple[tuple[str, Any], ...]
) -> BlockedFunction:
    """A function that runs in blocks, on NumPy or on Dask; an error where it is seen already that none can."""
    made = (ChunkedFunction if backend == "dask" else BlockedFunction)(stage, blocks, single, options)
    if blocks.lengths:
        made.check()
    return made


def on_dask(f: Compiled, given: Mapping[str, Any], sizes: Mapping[str, int]) -> Any:
    """A call of a function of any arrays with arrays of Dask: it stays lazy."""
    if f.road is not Compiled.road:
        lazy = next(name for name, value in given.items() if kind_of(value) == "dask")
        raise InputError(
            remedy(given[lazy], f"The input {lazy!r}", lazy) + " Results that stay in parts are made of arrays."
        )
    if f.chunked is None:
        f.chunked = ChunkedFunction(f.stage, BlockOptions(()), f.single, f.options)
    return f.chunked(**given, **({"sizes": sizes} if sizes else {}))


offer(on_dask=on_dask)
