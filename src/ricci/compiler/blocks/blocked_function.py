"""Functions that run in blocks: the inputs of a call lead to a schedule, made at the first such call, and to a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ricci.caches import Cache
from ricci.compiler.backends.numpy_table import dtypes_of
from ricci.compiler.bind import as_arrays, check_names
from ricci.compiler.blocks.block_inputs import BlockOptions, BlockSource, check_numbers
from ricci.compiler.blocks.cutting import NotCutError
from ricci.compiler.blocks.keeping import Kept, digest_of
from ricci.compiler.blocks.running import BlockRun, telling, threads_for
from ricci.compiler.blocks.schedule import WHERE, Names, Schedule
from ricci.compiler.blocks.scheduling import TYPES, Case, Seeds, seeds_of
from ricci.compiler.declared_values import as_declared
from ricci.compiler.prepare.known_sizes import check_sizes, input_axes
from ricci.compiler.prepare.prepared import Prepared
from ricci.compiler.run.function import ASSUMED, Compiled
from ricci.dispatch import recorded
from ricci.errors import DTypeError, InputError, ShapeError
from ricci.expr import Dim, axis_size
from ricci.expr.settle import SizeClasses
from ricci.kinds import kind_of
from ricci.markup import Element, code, folded

MOST_SCHEDULES = 32
ASSUMED_LENGTH = 4096  # of blocks, before a call tells what memory allows


class BlockedFunction(Compiled):
    """A function of arrays that is computed block by block along an index, so that no array has to be in memory.

    Beside the inputs a call takes ``out``, an array or a file for a result, or several of them; ``progress``; and
    ``resume``, the name of a file that keeps what is known if the run ends early.
    """

    def __init__(
        self,
        stage: Prepared,
        blocks: BlockOptions,
        single: bool = True,
        options: tuple[tuple[str, Any], ...] = (),
        seeds: Seeds | None = None,
        names: Mapping[str, Names] | None = None,
    ):
        super().__init__(stage, WHERE, single, options)
        self.blocks = blocks
        self.seeds = seeds_of(stage, [name for name, _ in blocks.lengths]) if seeds is None else seeds
        self.axis_names = input_axes(stage) if names is None else names
        self._schedules = Cache("schedules of blocks", MOST_SCHEDULES)
        self._last: Schedule | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_schedules": None, "_last": None}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        super().__setstate__(state)
        self._schedules = Cache("schedules of blocks", MOST_SCHEDULES)

    def __repr__(self) -> str:
        cut = ", ".join([f"{name} by {n:,}" if n else name for name, n in self.blocks.lengths]) or "what memory asks"
        return f"<ricci.BlockedFunction of {', '.join(self.inputs) or 'nothing'}, in blocks of {cut}>"

    def __call__(self, /, *args: Any, **inputs: Any) -> Any:
        own = {name: inputs.pop(name) for name in ("out", "progress", "resume") if self._is_ours(name, inputs)}
        sizes = check_sizes(inputs.pop("sizes", None) if "sizes" not in self._known else None)
        given = {**self.stage.facts.values, **self._named(args, inputs)}
        if self.other_orders is not None:
            other = self.other_orders(given)
            if other is not None:
                return other(**given, **({"sizes": sizes} if sizes else {}), **own)
        if self.functions is not None:
            known, given = self.functions(given)
            return known(**given, **({"sizes": sizes} if sizes else {}), **own)
        if recorded(given.values()):
            raise InputError(
                "A function that runs in blocks takes arrays: it can be no part of a traced function, nor take tensors "
                "or formulas. Compile the formula without blocks= there."
            )
        check_names(self.stage, given)
        return self.run(self.arrays(given), sizes, **own)

    def _is_ours(self, name: str, inputs: Mapping[str, Any]) -> bool:
        return name in inputs and name not in self._known

    # What is given

    def arrays(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs, not copied: arrays, files of arrays, or what was made an array of."""
        stored = {name: value for name, value in given.items() if kind_of(value) == "stored"}
        own = as_declared(self._symmetries, {name: value for name, value in given.items() if name not in stored})
        for name, value in stored.items():
            check_numbers(name, value)
        arrays: dict[str, Any] = {**as_arrays(own), **stored}
        return {name: arrays[name] for name in given}

    def types(self, arrays: Mapping[str, Any]) -> dict[str, np.dtype]:
        """Of each input the type in which it is computed with."""
        dtypes = {name: np.dtype(array.dtype) for name, array in arrays.items()}
        floats = [np.finfo(dtype).dtype for dtype in dtypes.values() if dtype.kind in "cf"]
        floating = np.result_type(*floats) if floats else np.dtype(float)
        kinds = {name: "i" if dtype.kind in "iu" else dtype.kind for name, dtype in dtypes.items()}
        types = dtypes_of(floating)
        return {name: types[kind] for name, kind in kinds.items()}

    # Running

    def run(
        self,
        arrays: Mapping[str, Any],
        sizes: Mapping[str, int],
        out: Any = None,
        progress: Any = None,
        resume: Any = None,
    ) -> Any:
        types = self.types(arrays)
        schedule = self.schedule({name: tuple(array.shape) for name, array in arrays.items()}, types, sizes)
        self._last = schedule
        stored = bool(schedule.passes)
        values: dict[str, Any] = {
            name: BlockSource(array, types[name], name, stored and kind_of(array) == "stored")
            for name, array in arrays.items()
        }
        places = self._places(schedule, out, resume)
        _check_apart(schedule, places, arrays)
        kept = None
        if resume is not None and schedule.passes:
            text = f"{self.stage}{schedule.index}{schedule.block}{schedule.headline}"
            feeds = [feed for one in schedule.passes for feed in one.feeds if feed.axes]
            rows = {feed.source: schedule.block for feed in feeds if isinstance(feed.source, str)}
            kept = Kept(resume, digest_of(text, arrays, rows))
        threads = self.blocks.threads or threads_for(schedule)
        asked = self.blocks.progress if progress is None else progress
        with telling(asked, f"{len(schedule.passes)} × {schedule.blocks} blocks of {schedule.index}") as told:
            found = BlockRun(schedule, values, places, told, threads, kept)()
        return found[0] if self.single else tuple(found)

    def _places(self, schedule: Schedule, out: Any, resume: Any) -> dict[int, Any]:
        """Where results go that are written block by block, and those for which a place is given."""
        given = dict(enumerate([out] if self.single else out or ()))
        count = len(schedule.shapes)
        if len(given) > count:
            raise InputError(f"There are {count} results and {len(given)} places for them in out=.")
        places = {k: place for k, place in given.items() if place is not None}
        for k, place in places.items():
            shape = tuple(getattr(place, "shape", ()))
            if not hasattr(place, "__setitem__") or shape != schedule.shapes[k]:
                wanted = "×".join(map(str, schedule.shapes[k])) or "one number"
                found = f"the shape {shape}" if hasattr(place, "shape") else f"the type {type(place).__name__}"
                raise ShapeError(f"out is an array or a file for a result of {wanted}, and what is given has {found}.")
            dtype, known = schedule.types[k], np.dtype(getattr(place, "dtype", schedule.types[k]))
            if not np.can_cast(dtype, known, "same_kind"):
                raise DTypeError(
                    f"The result is {dtype.name}, and out is of {known.name}, which would lose its values."
                )
            if isinstance(place, np.ndarray) and not place.flags.writeable:
                raise InputError('What is given as out= is only to be read: open it with mode="r+".')
        along = {k: axes for one in schedule.passes for k, axes in one.written}
        if resume is not None and not along.keys() <= places.keys():
            raise InputError(
                "resume= goes on where a run has ended, and this run writes a result block by block, which has to be "
                "somewhere by then: give a file for it with out=, such as np.lib.format.open_memmap(…)."
            )
        for k, axes in along.items():
            if k not in places:
                make = np.zeros if len(axes) > 1 else np.empty
                places[k] = make(schedule.shapes[k], schedule.types[k])
            elif len(axes) > 1:
                places[k][...] = 0
        return places

    # Schedules

    def schedule(
        self,
        shapes: Mapping[str, tuple[int, ...]],
        types: Mapping[str, np.dtype],
        sizes: Mapping[str, int],
        blocks: BlockOptions | None = None,
        seeds: Seeds | None = None,
    ) -> Schedule:
        """The programs for a call with these shapes and types, in blocks as they were asked for or as given."""
        cut = blocks or self.blocks
        kinds = tuple([str(t) for t in types.values()])
        key = (cut.lengths, cut.memory, tuple(shapes.items()), kinds, tuple(sizes.items()))
        return self._schedules.made(key, lambda: self._scheduled(cut, shapes, types, sizes, seeds))

    def _scheduled(
        self,
        blocks: BlockOptions,
        shapes: Mapping[str, tuple[int, ...]],
        types: Mapping[str, np.dtype],
        sizes: Mapping[str, int],
        seeds: Seeds | None = None,
    ) -> Schedule:
        known = (self.stage, blocks, self.options, seeds or self.seeds, self.axis_names, self._again)
        return Case(*known, shapes, types, sizes).schedule()

    def _again(
        self, stage: Prepared, blocks: BlockOptions, seeds: Seeds, names: Mapping[str, tuple[str, ...]]
    ) -> Compiled:
        """What cuts the program of a block further."""
        return BlockedFunction(stage, blocks, False, self.options, seeds, names)

    def _assumed_schedule(self) -> Schedule:
        """A schedule before any call, for sizes that are assumed."""
        long = max([2 * (length or ASSUMED_LENGTH) for _, length in self.blocks.lengths], default=ASSUMED)
        classes = SizeClasses(*self.stage.roots, linked=[*self.stage.facts.linked_sizes(), *self.stage.links])
        cut = {
            classes.find(axis_size(n, k)) for seeds in self.seeds.values() for n, axes in seeds.items() for k in axes
        }

        def size(name: str, k: int) -> int:
            found = classes.find(axis_size(name, k))
            return found if isinstance(found, int) else long if found in cut else ASSUMED

        facts = self.stage.facts
        orders = {**{v.name: v.order for v in self.stage.needed}, **facts.inputs}
        shapes = {name: tuple([size(name, k) for k in range(orders[name])]) for name in self.inputs}
        types = {name: TYPES["i"] if name in facts.integers else np.dtype(float) for name in shapes}
        named = [(name, size.atoms) for name, size in self.stage.names.items() if isinstance(size, Dim)]
        given = {name: ASSUMED for name, atoms in named if [len(atom) for atom in atoms] == [1]}  # that no input tells
        return self._scheduled(self.blocks, shapes, types, given)

    def check(self) -> None:
        """An error where it is seen before any call that nothing can be cut."""
        try:
            self._last = self._assumed_schedule()
        except NotCutError:
            raise
        except (ShapeError, InputError):  # sizes that are assumed need not fit, nor be all that are needed
            return

    @property
    def plan(self) -> Schedule:  # type: ignore[override]
        """The passes and the programs of the latest call; before any, those for assumed sizes."""
        if self._last is None:
            self._last = self._assumed_schedule()
        return self._last

    @property
    def source(self) -> str:
        """The sources of the programs of the latest call."""
        schedule = self.plan
        programs = [program for one in schedule.passes for program in (one.known, one.block)] + [schedule.last]
        return "\n\n".join([program.source for program in programs if program is not None])

    def told(self) -> Iterable[tuple[str, str]]:
        """Its inputs, and the plan."""
        yield "inputs", code(", ".join(self.inputs) or "none")
        if self._last is not None:
            yield "", folded("plan", Element(self._last._repr_html_()))


def _check_apart(schedule: Schedule, places: Mapping[int, Any], arrays: Mapping[str, Any]) -> None:
    """An error where blocks are written over what is still to be read."""
    for number, one in enumerate(schedule.passes):
        for position, axes in one.written:
            place = places[position]
            for name, array in arrays.items():
                if not isinstance(place, np.ndarray) or not isinstance(array, np.ndarray):
                    continue
                read = [feed.axes for later in schedule.passes[number:] for feed in later.feeds if feed.source == name]
                in_place = read == [frozenset(axes)] and _same_place(place, array)
                if read and not in_place and np.may_share_memory(place, array):
                    raise InputError(f"out lies where the input {name!r} is, which is still to be read then.")


def _same_place(a: np.ndarray, b: np.ndarray) -> bool:
    return all(a.__array_interface__[key] == b.__array_interface__[key] for key in ("data", "shape", "strides"))
