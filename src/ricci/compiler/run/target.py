"""Where compiled functions run: what makes arrays of inputs there, and what plans, emits and runs programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import index
from typing import Any

import numpy as np

from ricci.compiler.backends.numpy_table import dtypes_of
from ricci.compiler.bind import Setting, as_arrays
from ricci.compiler.emit.numpy_source import NumpyEmitter
from ricci.compiler.emit.source import Emitter, Source
from ricci.compiler.lower.paths import REARRANGED
from ricci.compiler.plan.loops import WORTHWHILE, blocked, saving
from ricci.compiler.plan.plans import Plan
from ricci.compiler.plan.program import Program
from ricci.compiler.run.runner import Runner
from ricci.errors import DTypeError
from ricci.kinds import check_usable


class Target:
    """NumPy, and what the others do differently."""

    name = "numpy"
    rearranged = REARRANGED  # what it costs to put an entry of a result in its place: here results may be views
    takes: tuple[str, ...] = ("fused", "bare", "rows")  # options of compile that its plans know

    def travelling(self) -> Any:
        """What goes along with a function to other processes: the name, by which it is found there."""
        return self.name

    def tracing(self) -> bool:
        """Whether the call is being traced, so that plans have to be made aside."""
        return False

    def arrays(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs as arrays of this target: floats in one type, integers in one type, and untouched if they are."""
        arrays = as_arrays(given)
        floating = np.dtype(self.floating(arrays))
        wanted = dtypes_of(floating)
        return {name: array.astype(wanted[self.kind(array)], copy=False) for name, array in arrays.items()}

    def kind(self, array: Any) -> str:
        """Whether an array holds floats, complex numbers, integers or truth values: "f", "c", "i" or "b"."""
        return "i" if array.dtype.kind in "iu" else array.dtype.kind

    def short(self) -> bool:
        """Whether there are no integers of 64 bits."""
        return False

    def floating(self, arrays: Mapping[str, Any]) -> str:
        """The floating type that the inputs decide."""
        floats = [np.finfo(array.dtype).dtype for array in arrays.values() if array.dtype.kind in "cf"]
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
        return NumpyEmitter(plan)

    def runner(self, plan: Plan, source: Source) -> Runner:
        """The function of a source; with kernels, where these are asked for, or left to what they save."""
        runner, fused = Runner(plan, source, source.function()), plan.option("fused", False)
        if fused is False or (fused is None and saving(plan.program.steps, plan.itemsize) < WORTHWHILE):
            return runner
        from ricci.compiler.fused.loops_fused import with_kernels

        return with_kernels(runner)


class Framework(Target):
    """What JAX and PyTorch have in common: their own loops, and compilers of functions."""

    takes = ("jit",)
    jits = False  # unless that is said otherwise
    word = "an array"

    def plan(self, program: Program, setting: Setting) -> Plan:
        return Plan(program, setting, program.steps, self.itemsize(setting.dtype))

    def runner(self, plan: Plan, source: Source) -> Runner:
        run = source.function()
        return Runner(plan, source, self.jitted(run) if plan.option("jit", self.jits) else run)

    def jitted(self, run: Callable[..., Any]) -> Callable[..., Any]:
        raise NotImplementedError

    def arrays(self, given: Mapping[str, Any]) -> dict[str, Any]:
        like = self.like(given.values())
        arrays = {name: self._checked(name, value, like) for name, value in given.items()}
        floating = self.floating({n: a for n, a in arrays.items() if not isinstance(given[n], (int, float))})
        types = self.types(floating)
        return {
            n: a if a.dtype == types[self.kind(a)] else self.cast(a, types[self.kind(a)]) for n, a in arrays.items()
        }

    def _checked(self, name: str, value: Any, like: Any) -> Any:
        check_usable(value, f"The input {name!r}", name)
        try:
            array = self.array(value, like)
        except (TypeError, ValueError, RuntimeError) as error:
            raise DTypeError(f"The input {name!r} cannot be made {self.word}: {error}") from error
        return array

    def like(self, values: Iterable[Any]) -> Any:
        """What tells where arrays are made of numbers and lists."""
        return None

    def array(self, value: Any, like: Any) -> Any:
        raise NotImplementedError

    def types(self, floating: str) -> dict[str, Any]:
        """The type for each kind of values."""
        raise NotImplementedError

    def cast(self, array: Any, dtype: Any) -> Any:
        return array.astype(dtype)
