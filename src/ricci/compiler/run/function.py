"""Compiled functions: the inputs of a call lead, by their shapes and types, to a plan, made at the first such call.

A warm call is one lookup. Plans are kept in one cache for all functions, bounded and shared by equal expressions; what
does not depend on sizes, the prepared expressions, is kept by the function.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ricci.caches import MOST_PLANS, Cache, Counts, enrol, lazy
from ricci.compiler.bind import Setting, check_names
from ricci.compiler.declared_values import as_declared
from ricci.compiler.pipeline import emit, ready, whole
from ricci.compiler.plan.plans import Plan
from ricci.compiler.prepare.known_sizes import check_sizes, input_axes
from ricci.compiler.prepare.prepared import Prepared
from ricci.compiler.run.engines import target_named, target_of
from ricci.compiler.run.matrix_faults import explained
from ricci.compiler.run.runner import Runner, Switch
from ricci.dispatch import call_formula, offered, recorded, remember_calls, tracing
from ricci.errors import InputError, LimitError, RicciError
from ricci.kinds import kind_of
from ricci.markup import Carded, Element, block, code, folded

if TYPE_CHECKING:
    from ricci.compiler.mesh.mesh_costs import MeshCosts

MOST_SHORTCUTS = 64
ASSUMED = 16


class TakenPrograms(SimpleNamespace):
    """Programs that ``torch.compile`` has taken into its own, each an attribute, which it reads as a constant."""

    __hash__ = object.__hash__  # type: ignore

    def clear(self) -> None:
        self.__dict__.clear()

    def counts(self) -> Counts:
        return Counts(0, len(self.__dict__), len(self.__dict__), MOST_PLANS)


class Compiled(Carded):
    """A function of arrays, compiled from formulas. Call it with inputs by name, or in the order of ``inputs``."""

    other_orders: Callable[[Mapping[str, Any]], Compiled | None] | None = None  # of inputs whose order was assumed
    functions: Callable[[Mapping[str, Any]], tuple[Compiled, dict[str, Any]]] | None = None  # of unknown ones
    chunked: Any = None  # what does the same on arrays of Dask
    typed = False  # whether results are given the types of a program afterwards
    road: Callable[[Prepared, Setting], Runner] = staticmethod(whole)
    _tracing: Any = None  # tells whether torch.compile is tracing the caller, where there is PyTorch

    def __init__(
        self,
        stage: Prepared,
        backend: str | None = None,
        single: bool = True,
        options: tuple[tuple[str, Any], ...] = (),
        title: str | None = None,
    ):
        self.stage, self.inputs, self.single, self.options = stage, stage.inputs, single, options
        self.title = title or "formula"
        self._known = {*self.inputs, *stage.facts.inputs}
        self._symmetries = stage.facts.symmetries  # what calls check of values
        self.backend = None if backend is None else target_named(backend)
        self._latest: Runner | Setting | None = None
        self._begin()

    def _begin(self) -> None:
        """Nothing is known of calls yet."""
        if sys.modules.get("torch") is not None:
            Compiled._tracing = staticmethod(sys.modules["torch"].compiler.is_compiling)
        self._shortcuts = Cache("calls of compiled functions", MOST_SHORTCUTS)
        self._traced = TakenPrograms()
        enrol("programs in torch.compile", self._traced)

    def __getstate__(self) -> dict[str, Any]:
        """What it computes, and for what it was last called; what was compiled stays behind, and is made anew."""
        kept = {name: value for name, value in vars(self).items() if name not in ("_shortcuts", "_traced")}
        latest = self._latest
        if isinstance(latest, Runner):
            latest = replace(latest.plan.setting, single=self.single)
        return {**kept, "backend": None if self.backend is None else self.backend.travelling(), "_latest": latest}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        self.backend = target_named(self.backend) if isinstance(self.backend, str) else self.backend
        self._begin()

    def __repr__(self) -> str:
        where = "the backend of its inputs" if self.backend is None else self.backend.name
        return f"<ricci.Compiled function of {', '.join(self.inputs) or 'nothing'} on {where}>"

    def __call__(self, /, *args: Any, **inputs: Any) -> Any:
        if tracing() is not None or (self._tracing is not None and self._tracing()):
            return self._first(args, inputs)
        ordered = self._arranged(args, inputs) if inputs else args
        try:
            key = tuple([(type(a), a.shape, a.dtype) for a in ordered])  # type: ignore
            key = key if len(inputs) <= len(key) else (*key, self._others(inputs))
            run = self._shortcuts.known.get(key) or self._shortcuts[key]
        except (AttributeError, TypeError):
            run = None
        if run is not None and self._symmetries:
            values = as_declared(self._symmetries, inputs or dict(zip(self.inputs, args, strict=True)))
            ordered = [values[name] for name in self.inputs]
        try:
            return run(*ordered) if run is not None else self._first(args, inputs)  # type: ignore
        except Exception as error:
            fault = explained(error, self.stage)
            if fault is None:
                raise
            raise fault from error

    def _arranged(self, args: tuple, inputs: dict[str, Any]) -> tuple | None:
        """The inputs by position, those that nothing depends on left out; none where something is missing or wrong."""
        if args or (len(inputs) != len(self.inputs) and not inputs.keys() <= self._known):
            return None
        try:
            return tuple([inputs[name] for name in self.inputs])
        except KeyError:
            return None

    def _others(self, inputs: Mapping[str, Any]) -> tuple:
        """The types of inputs that nothing depends on: they are part of what decides the floating type."""
        return tuple([inputs[name].dtype for name in inputs if name not in self.inputs])

    # The first call with these shapes and types

    def _first(self, args: tuple, inputs: dict[str, Any]) -> Any:
        own = "sizes" in self._known and not isinstance(inputs.get("sizes"), Mapping)  # an input of that name
        sizes, facts = check_sizes(None if own else inputs.pop("sizes", None)), self.stage.facts
        settled = ", ".join(name for name in sizes if name in facts.ranges)
        if settled:
            raise InputError(f"The range of {settled} was settled when the text was read; give its size to rc.parse.")
        given = {**facts.values, **self._named(args, inputs)}
        other = None if self.other_orders is None else self.other_orders(given)
        if other is not None:
            return other(**given, **({"sizes": sizes} if sizes else {}))
        if self._symmetries:
            given = as_declared(self._symmetries, given, self._tracing is not None and self._tracing())
        if self.functions is not None:
            known, given = self.functions(given)
            return known(**given, **({"sizes": sizes} if sizes else {}))
        if self.backend is None and "dask" in map(kind_of, given.values()):
            return offered("on_dask")(self, given, sizes)
        if self._is_recorded(given.values()):
            return self._recorded(given, sizes)
        check_names(self.stage, given)
        target = self.backend or target_of(given.values())
        arrays = target.arrays({name: given[name] for name in [*self.inputs, *given] if name in given})
        setting = target.described(arrays, sizes, self.single, self.options, self.typed)
        if target.tracing():
            return getattr(self._traced, self._held(setting))(*[a for name, a in arrays.items() if name in self.inputs])
        runner = self._ready(Setting(*setting))
        result = runner(*[arrays[name] for name in runner.plan.program.inputs])
        if not sizes and given.keys() >= set(self.inputs) and not facts.values:
            self._remember(given, arrays, runner)
        return result

    def _is_recorded(self, values: Collection[Any]) -> bool:
        if self._tracing is not None and self._tracing():
            return tracing() is not None or remember_calls(tuple(map(type, values)))
        return recorded(values)

    def _recorded(self, given: Mapping[str, Any], sizes: Mapping[str, int]) -> Any:
        """A call that is not on arrays."""
        return call_formula(self.stage, self.title, (self.stage, self.single), given, sizes)

    def _named(self, args: tuple, inputs: dict[str, Any]) -> dict[str, Any]:
        if len(args) > len(self.inputs):
            listed = ", ".join(self.inputs) or "none"
            raise InputError(f"The call has {len(args)} positional inputs; the inputs are {listed}.")
        named = dict(zip(self.inputs, args, strict=False))
        for name in inputs:
            if name in named and named[name] is not inputs[name]:
                raise InputError(f"The input {name!r} is given twice, by position and by name.")
        return {**named, **inputs}

    def _ready(self, setting: Setting) -> Runner:
        self._latest = made = ready(self.stage, setting, self.road)
        return made

    def _held(self, setting: tuple) -> str:
        """The name of an attribute that is the program. ``torch.compile`` does not trace this but calls it."""
        run = self._ready(Setting(*setting)).run
        name = f"program_{id(run)}"
        setattr(self._traced, name, run)
        return name

    _held._dynamo_marked_constant = True  # type: ignore  # what torch.compiler.assume_constant_result does

    def _remember(self, given: Mapping[str, Any], arrays: Mapping[str, Any], runner: Runner) -> None:
        """A shortcut for calls with arrays like these, where they can be passed on as they are."""
        if any(given[name] is not array for name, array in arrays.items()):
            return
        key = tuple([(type(given[name]), given[name].shape, given[name].dtype) for name in self.inputs])
        if isinstance(runner.run, Switch):
            runner.run.holders.add(self)
        self._shortcuts.keep(key if len(given) <= len(key) else (*key, self._others(given)), runner.run)

    def shortcut(self) -> Callable[..., Any] | None:
        """Where calls go whose inputs are passed on as they are, if all have been of one kind and that is settled."""
        known = list(self._shortcuts.known.values())
        settled = len(known) == 1 and not isinstance(known[0], Switch) and not self._symmetries
        return known[0] if settled else None

    def renew(self, before: Callable[..., Any], after: Callable[..., Any]) -> None:
        """Calls that went to one function go to another."""
        for key, run in self._shortcuts.all().items():
            if run is before:
                self._shortcuts.keep(key, after)

    # To look at

    def told(self) -> Iterable[tuple[str, str]]:
        """Its inputs with their axes, and of the latest call the plan and the source."""
        orders = {v.name: v.order for v in self.stage.needed}
        inputs = [f"{name}: {_axes(orders.get(name, self.stage.facts.inputs.get(name, 0)))}" for name in self.inputs]
        yield "inputs", code(", ".join(inputs) or "none")
        if isinstance(self._latest, Runner):
            called = [f"{name} {shape}" for name, shape in self._latest.plan.setting.shapes]
            yield "latest call", code(", ".join(called))
            yield "", folded("plan", Element(self.plan._repr_html_()))
            yield "", folded("source", block(self.source.rstrip()))

    @property
    def runner(self) -> Runner:
        """What ran in the latest call; before any, what would for assumed sizes."""
        latest = self._latest
        return self._ready(latest) if isinstance(latest, Setting) else latest or self._assumed()

    @property
    def plan(self) -> Plan:
        """The plan of the latest call; before any, one for assumed sizes."""
        plan = self.runner.plan
        axes = {value: self._axes.get(name, ()) for name, value in plan.program.inputs.items()}
        return replace(plan, program=plan.program.with_axes(axes))

    @lazy
    def _axes(self) -> dict[str, tuple[str, ...]]:
        """What the axes of inputs are called: plans are shared by formulas that call them otherwise."""
        return input_axes(self.stage)

    @property
    def source(self) -> str:
        """The source of the latest call; before any, for assumed sizes. What loops do stands above it."""
        source, plan = self.runner.source, self.plan
        loops = [step.loop.listing() for step in plan.program.steps if step.loop is not None]
        text = emit(plan).text if "einsum(" in source.text and not source.kernels else source.text
        return "\n\n".join([*dict.fromkeys(loops), text])

    def mesh_costs(
        self,
        devices: Any = None,
        *,
        axes: Mapping[str, Any] | None = None,
        sizes: Mapping[str, int] | None = None,
        dtype: str = "float32",
    ) -> MeshCosts:
        """What each device computes, holds and sends on meshes of so many ``devices``, which need not be there.

        Without ``axes`` it is for those that the function was compiled with; with ``sizes``, by index, for arrays of
        ``dtype`` that are not there either, and else for those of the latest call.

        >>> from ricci import parse
        >>> loss = parse("l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))")
        >>> f = loss.diff("w", "w").compile()
        >>> f.mesh_costs([8, 4000], axes={"m": "data"}, sizes={"m": 10**8, "n": 100})
        devices  mesh        FLOPs a device  memory a device  sent by a device  collectives
              8  data 8     253,850,000,000          10.1 GB           70.0 kB            1
          4,000  data 4000      507,700,000          20.2 MB           80.0 kB            1
        With 8 devices:
        all-reduce of t10 (100×100, summed over m) along data: 40.0 kB
        """
        from ricci.compiler.mesh.asked import costs_asked

        known = dict(self.options).get("mesh")
        plan = self.plan if sizes is None else self._planned(check_sizes(sizes), dtype)
        return costs_asked(self.stage, plan, known, devices, axes)

    def _planned(self, sizes: Mapping[str, int], dtype: str) -> Plan:
        """A plan for indices of these sizes, as if there were one device."""
        known = {v.name: v.shape for v in self.stage.needed}
        shapes = {}
        for name in self.inputs:
            own = [*zip(self._axes[name], known.get(name, self._axes[name]), strict=True)]
            lacking = [x for x, n in own if not isinstance(n, int) and x not in sizes]
            if lacking:
                raise InputError(f"sizes= lacks index {lacking[0] or 'without a name'!r} of {name}; it needs all.")
            shapes[name] = tuple([n if isinstance(n, int) else sizes[x] for x, n in own])
        used = {name for names in self._axes.values() for name in names}
        free = {name: size for name, size in sizes.items() if name not in used}
        setting = self._setting(shapes, free, dtype)
        plan = self.road(self.stage, replace(setting, options=setting.of_part({}, {}).options)).plan
        return replace(plan, program=plan.program.with_axes({v: self._axes[n] for n, v in plan.program.inputs.items()}))

    def _setting(self, shapes: Mapping[str, tuple[int, ...]], sizes: Mapping[str, int], dtype: str) -> Setting:
        """That of a call with floating arrays of these shapes, which are not there."""
        kinds = {name: "i" if name in self.stage.facts.integers else "f" for name in shapes}
        target = self.backend or target_named("numpy")
        made = target.setting({}, sizes, self.single, self.options, self.typed)
        return replace(made, shapes=tuple(shapes.items()), kinds=tuple(kinds.items()), dtype=dtype)

    def _assumed(self) -> Runner:
        """A plan for sizes of :data:`ASSUMED` wherever a size is not known yet."""
        stage, facts = self.stage, self.stage.facts
        shapes = {name: (ASSUMED,) * facts.inputs.get(name, 0) for name in self.inputs}
        for v in stage.needed:
            shapes[v.name] = tuple([n if isinstance(n, int) else ASSUMED for n in v.shape])
        free = {name: ASSUMED for name, size in stage.names.items() if not isinstance(size, int)}
        try:
            runner = self.road(stage, self._setting(shapes, free, "float64"))
        except LimitError:
            raise
        except RicciError as error:
            raise InputError(f"There is no plan before the first call, which tells the sizes. ({error})") from error
        runner.plan = replace(runner.plan, note=f"Sizes are assumed to be {ASSUMED} until the first call.")
        return runner


def _axes(order: int) -> str:
    return ("number", "vector", "matrix")[order] if order < 3 else f"{order} axes"
