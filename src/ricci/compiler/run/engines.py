"""Targets: where compiled functions run. Each makes arrays of inputs, and a plan of a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import index
from typing import Any

import numpy as np

from ricci.compiler.bind import Setting, as_arrays
from ricci.compiler.emit.source import Emitter, Source
from ricci.compiler.lower.paths import REARRANGED
from ricci.compiler.plan.loops import WORTHWHILE, blocked, saving
from ricci.compiler.plan.plans import Plan
from ricci.compiler.plan.program import Program
from ricci.compiler.run.runner import Runner
from ricci.errors import InputError, nearest


class Target:
    """NumPy, and what the others do differently."""

    name = "numpy"
    rearranged = REARRANGED  # what it costs to put an entry of a result in its place: here results may be views
    takes: tuple[str, ...] = ("fused", "bare", "operators", "rows")  # options of compile that its plans know

    def tracing(self) -> bool:
        """Whether the call is being traced, so that plans have to be made aside."""
        return False

    def arrays(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs as arrays of this target: floats in one type, integers in one type, and untouched if they are."""
        arrays = as_arrays(given)
        floating = np.dtype(self.floating(arrays))
        wanted = {"f": floating, "i": np.dtype(np.int64), "b": np.dtype(np.bool_)}
        return {name: array.astype(wanted[self.kind(array)], copy=False) for name, array in arrays.items()}

    def kind(self, array: Any) -> str:
        """Whether an array holds floats, integers or truth values: "f", "i" or "b"."""
        return "i" if array.dtype.kind in "iu" else array.dtype.kind

    def short(self) -> bool:
        """Whether there are no integers of 64 bits."""
        return False

    def floating(self, arrays: Mapping[str, Any]) -> str:
        """The floating type that the inputs decide."""
        floats = [array.dtype for array in arrays.values() if array.dtype.kind == "f"]
        return str(np.result_type(*floats)) if floats else "float64"

    def setting(self, *args: Any, **options: Any) -> Setting:
        """What a call depends on: see :meth:`described`."""
        return Setting(*self.described(*args, **options))

    def described(
        self,
        arrays: Mapping[str, Any],
        sizes: Mapping[Any, int],
        single: bool = True,
        options: Iterable[tuple[str, Any]] = (),
        typed: bool = False,
    ) -> tuple:
        """What a setting is made of. All arrays that are given decide types; ``typed`` results get their own after it.

        It is a plain tuple, which ``torch.compile`` knows as a constant.
        """
        shapes = tuple([(name, tuple([index(n) for n in array.shape])) for name, array in arrays.items()])
        kinds = tuple([(name, self.kind(array)) for name, array in arrays.items()])
        known = tuple([(name, value) for name, value in options if name in self.takes])
        short = not typed and self.short()
        return self.name, shapes, kinds, self.floating(arrays), tuple(sizes.items()), single, short, known

    def itemsize(self, dtype: str) -> int:
        return np.dtype(dtype).itemsize

    def plan(self, program: Program, setting: Setting) -> Plan:
        """The steps of a program, in loops over blocks where that keeps them in the cache."""
        itemsize = self.itemsize(setting.dtype)
        return Plan(program, setting, blocked(program, itemsize), itemsize)

    def emitter(self, plan: Plan) -> Emitter:
        from ricci.compiler.emit.numpy_source import NumpyEmitter

        return NumpyEmitter(plan)

    def runner(self, plan: Plan, source: Source) -> Runner:
        """The function of a source; with kernels, where these are asked for, or left to what they save."""
        runner, fused = Runner(plan, source, source.function()), plan.option("fused", False)
        if fused is False or (fused is None and saving(plan.program.steps, plan.itemsize) < WORTHWHILE):
            return runner
        from ricci.compiler.fused.loops_fused import with_kernels

        return with_kernels(runner)


class Framework(Target):
    """JAX and PyTorch, which bring their own loops."""

    def plan(self, program: Program, setting: Setting) -> Plan:
        return Plan(program, setting, program.steps, self.itemsize(setting.dtype))


def _jax() -> Target:
    from ricci.compiler.emit.jax_source import JaxTarget

    return JaxTarget()


def _torch() -> Target:
    from ricci.compiler.emit.torch_source import TorchTarget

    return TorchTarget()


TARGETS: dict[str, Callable[[], Target]] = {"numpy": Target, "jax": _jax, "torch": _torch}
_made: dict[str, Target] = {}


def target_named(name: str) -> Target:
    """The target of that name.

    >>> target_named("numpy").name
    'numpy'
    """
    if name not in TARGETS:
        hint = nearest(str(name), TARGETS)
        raise InputError(f"There is no backend {name!r}; the backends are {', '.join(TARGETS)}. {hint}".rstrip())
    return _made.setdefault(name, TARGETS[name]())


def target_of(values: Iterable[Any]) -> Target:
    """The target of the first array among ``values``; NumPy where there is none."""
    for value in values:
        package = type(value).__module__.partition(".")[0]
        if package in ("jax", "jaxlib"):
            return target_named("jax")
        if package in ("torch", "numpy"):
            return target_named(package)
    return target_named("numpy")
