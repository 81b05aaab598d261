"""Compiled functions: the inputs of a call lead, by their shapes and types, to a plan, made at the first such call.

A warm call is one lookup. Plans are kept in one cache for all functions, bounded and shared by equal expressions; what
does not depend on sizes, the simplified expression, is kept by the function.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from operator import index
from types import SimpleNamespace
from typing import Any

from ricci.caches import MOST_PLANS, PLANS, Cache, Counts, register
from ricci.compiler.bind import bind_shapes, check_names
from ricci.compiler.lower.expressions import lower
from ricci.compiler.plan.plans import Plan
from ricci.compiler.prepare.choices import with_choices
from ricci.compiler.prepare.distribute import distributed
from ricci.compiler.prepare.solves import solved
from ricci.compiler.run.engines import Target, target_named, target_of
from ricci.dispatch import call_formula, here, recorded
from ricci.errors import InputError, RicciError
from ricci.expr import Expr, Size, dims, topological, variables
from ricci.expr.settle import SizeClasses, own_sizes
from ricci.expr.walk import sized, with_bodies
from ricci.notation.context import Facts
from ricci.simplify import simplify_all

MOST_SHORTCUTS = 64
ASSUMED = 16
Setting = tuple[str, tuple, tuple, str, tuple]  # backend, shapes, kinds, floating type and given sizes of a call


_plans = Cache(PLANS, MOST_PLANS)


class TakenPrograms(SimpleNamespace):
    """Programs that ``torch.compile`` has taken into its own, each an attribute, which it reads as a constant."""

    __hash__ = object.__hash__  # type: ignore

    def clear(self) -> None:
        self.__dict__.clear()

    def counts(self) -> Counts:
        return Counts(0, len(self.__dict__), len(self.__dict__), MOST_PLANS)


def needed_inputs(roots: Sequence[Expr], facts: Facts, preferred: Sequence[str] = ()) -> set[str]:
    """The inputs that results depend on, and those whose shapes tell a size that is needed and not known otherwise.

    Where several could tell it, a preferred one does, for a derivative the variable that it is by.
    """
    needed = {v.name for v in variables(*roots)}
    classes = SizeClasses(*roots, linked=facts.linked_sizes())
    tellers: dict[Size, list[str]] = {}
    for name in dict.fromkeys([*preferred, *facts.inputs]):
        for axis in range(facts.inputs.get(name, 0)):
            tellers.setdefault(classes.find(dims.axis_size(name, axis)), []).append(name)
    known = {classes.find(size) for v in variables(*roots) for size in v.shape}
    for node in topological(*roots):
        for size in (*own_sizes(node), *node.shape):
            for atom in sorted(dims.atoms(size), key=repr):
                group = classes.find(dims.symbol(*atom))
                if group not in known and group in tellers:
                    needed.add(tellers[group][0])
                    known.add(group)
    return needed


class Compiled:
    """A function of arrays, compiled from formulas. Call it with inputs by name, or in the order of ``inputs``."""

    typed = False  # whether results are given the types of a program afterwards
    _tracing: Any = None  # tells whether torch.compile is tracing the caller, where there is PyTorch

    def __init__(
        self,
        roots: Sequence[Expr],
        names: Mapping[str, Size],
        facts: Facts,
        backend: str | None = None,
        single: bool = True,
        options: tuple = (),
        preferred: Sequence[str] = (),
    ):
        self.written = list(roots)  # with the functions whose bodies are opened below
        self.roots, self._names, self._facts = with_bodies(roots), dict(names), facts
        self.single = single
        self._needed = variables(*self.roots)
        needed = needed_inputs(self.roots, facts, preferred)
        self.inputs = tuple(dict.fromkeys([*[n for n in facts.mentions if n in needed], *sorted(needed)]))
        self._known = {*self.inputs, *facts.inputs}
        self._conditions = (  # on sizes, beside those that the expressions make
            frozenset([axes for _, axes in facts.groups]),
            frozenset([check.size for check in facts.checks]),
            frozenset(facts.ranges.values()),
        )
        self.backend = None if backend is None else target_named(backend)
        self.options = options
        if sys.modules.get("torch") is not None:
            Compiled._tracing = staticmethod(sys.modules["torch"].compiler.is_compiling)
        self._shortcuts = Cache("calls of compiled functions", MOST_SHORTCUTS)
        self._traced = TakenPrograms()
        register("programs in torch.compile", self._traced)
        self._latest: Plan | None = None

    def __repr__(self) -> str:
        where = "the backend of its inputs" if self.backend is None else self.backend.name
        return f"<ricci.Compiled function of {', '.join(self.inputs) or 'nothing'} on {where}>"

    def __call__(self, /, *args: Any, **inputs: Any) -> Any:
        if here.frame is not None or (self._tracing is not None and self._tracing()):
            return self._first(args, inputs)
        ordered = self._arranged(args, inputs) if inputs else args
        try:
            key = tuple([(type(a), a.shape, a.dtype) for a in ordered])  # type: ignore
            run = self._shortcuts.known.get(key if len(inputs) <= len(key) else (*key, self._others(inputs)))
        except (AttributeError, TypeError):
            run = None
        return run(*ordered) if run is not None else self._first(args, inputs)  # type: ignore

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
        sizes = inputs.pop("sizes", None) or {}
        if not isinstance(sizes, Mapping):
            raise InputError(f'sizes gives the sizes of indices, as in sizes={{"i": 3}}, not {sizes!r}.')
        settled = ", ".join(name for name in sizes if name in self._facts.ranges)
        if settled:
            raise InputError(f"The range of {settled} was settled when the text was read; give its size to rc.parse.")
        given = {**self._facts.values, **self._named(args, inputs)}
        if recorded(given.values()):
            made = (self.written, self._names, self._facts, self.single)
            return call_formula(self, "formula", made, given, sizes)
        check_names(self._needed, {**dict.fromkeys(self.inputs), **self._facts.inputs}, given)
        target = self.backend or target_of(given.values())
        arrays = target.arrays({name: given[name] for name in [*self.inputs, *given] if name in given})
        setting = self._setting(target, arrays, sizes)
        if target.tracing():
            return getattr(self._traced, self._held(setting))(*[a for name, a in arrays.items() if name in self.inputs])
        plan = self._plan(setting)
        plan.advance()
        result = plan.run(*[arrays[name] for name in plan.program.inputs])
        if plan.later is None and not sizes and given.keys() >= set(self.inputs) and not self._facts.values:
            self._remember(given, arrays, plan)
        return result

    def _named(self, args: tuple, inputs: dict[str, Any]) -> dict[str, Any]:
        if len(args) > len(self.inputs):
            listed = ", ".join(self.inputs) or "none"
            raise InputError(f"The call has {len(args)} positional inputs; the inputs are {listed}.")
        named = dict(zip(self.inputs, args, strict=False))
        for name in inputs:
            if name in named and named[name] is not inputs[name]:
                raise InputError(f"The input {name!r} is given twice, by position and by name.")
        return {**named, **inputs}

    def _setting(self, target: Target, arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> Setting:
        shapes = {name: tuple([index(n) for n in array.shape]) for name, array in arrays.items()}
        kinds = {name: target.kind(array) for name, array in arrays.items()}  # of all that is given: it decides types
        dtype = target.floating(arrays)
        return target.name, tuple(shapes.items()), tuple(kinds.items()), dtype, tuple(sorted(sizes.items()))

    def _plan(self, setting: Setting) -> Plan:
        backend, shapes, kinds, dtype, sizes = setting
        target = target_named(backend)
        key = (tuple(self.roots), setting, self._conditions, self.single, self.options, self._short(target))
        plan = _plans.made(key, lambda: self._made(target, dict(shapes), dict(kinds), dtype, dict(sizes)))
        self._latest = plan
        return plan

    def _held(self, setting: Setting) -> str:
        """The name of an attribute that is the program. ``torch.compile`` does not trace this but calls it."""
        run = self._plan(setting).run
        name = f"program_{id(run)}"
        setattr(self._traced, name, run)
        return name

    _held._dynamo_marked_constant = True  # type: ignore  # what torch.compiler.assume_constant_result does

    def _short(self, target: Target) -> bool:
        """Whether integers that may get too large are computed in floats; in programs they have their own types."""
        return not self.typed and target.short()

    def _made(
        self,
        target: Target,
        shapes: Mapping[str, tuple],
        kinds: Mapping[str, str],
        dtype: str,
        sizes: Mapping[str, int],
    ) -> Plan:
        env = bind_shapes(self.roots, self._names, self._facts, shapes, sizes)
        inputs = {name: shapes[name] for name in self.inputs if name in kinds}
        program = lower(self.sized(env), env, inputs, kinds, target.rearranged, self._short(target))
        return target.plan(program, dtype, self.single, **{k: v for k, v in self.options if k in target.takes})

    def sized(self, env: Mapping) -> list[Expr]:
        """The results; where functions have waited for sizes, with what they turn out to be."""
        roots = sized(self.roots, lambda size: dims.evaluate(size, env))
        known = roots if roots == self.roots else with_bodies(solved(distributed(simplify_all(roots))))
        return with_choices(known)

    def _remember(self, given: Mapping[str, Any], arrays: Mapping[str, Any], plan: Plan) -> None:
        """A shortcut for calls with arrays like these, where they can be passed on as they are."""
        if any(given[name] is not array for name, array in arrays.items()):
            return
        key = tuple([(type(given[name]), given[name].shape, given[name].dtype) for name in self.inputs])
        self._shortcuts.keep(key if len(given) <= len(key) else (*key, self._others(given)), plan.run)

    # To look at

    @property
    def plan(self) -> Plan:
        """The plan of the latest call; before any, one for assumed sizes."""
        return self._latest or self._assumed()

    @property
    def source(self) -> str:
        """The source of the latest call; before any, for assumed sizes."""
        return self.plan.source

    def _assumed(self) -> Plan:
        """A plan for sizes of :data:`ASSUMED` wherever a size is not known yet."""
        shapes = {name: (ASSUMED,) * self._facts.inputs.get(name, 0) for name in self.inputs}
        for v in self._needed:
            shapes[v.name] = tuple([n if isinstance(n, int) else ASSUMED for n in v.shape])
        free = {name: ASSUMED for name, size in self._names.items() if not isinstance(size, int)}
        kinds = {name: "i" if name in self._facts.integers else "f" for name in shapes}
        target = self.backend or target_named("numpy")
        try:
            plan = self._made(target, shapes, kinds, "float64", free)
        except RicciError as error:
            raise InputError(f"There is no plan before the first call, which tells the sizes. ({error})") from error
        plan.note = f"Sizes are assumed to be {ASSUMED} until the first call."
        return plan
