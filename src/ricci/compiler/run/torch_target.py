"""PyTorch: its tensors, wherever they are."""

from __future__ import annotations

import linecache
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import count
from types import FunctionType
from typing import Any

from ricci.compiler.backends.torch_table import complex_of, torch
from ricci.compiler.emit.source import Source
from ricci.compiler.emit.torch_source import TorchEmitter
from ricci.compiler.mesh.dtensors import DistributedRun, is_distributed
from ricci.compiler.plan.plans import Plan
from ricci.compiler.run.runner import Runner
from ricci.compiler.run.target import Framework
from ricci.compiler.run.torch_graphs import Launched, recordable

_FLOATS = {torch.complex128: torch.float64, torch.complex64: torch.float32, torch.complex32: torch.float16}
_numbers = count()  # of programs that are compiled


class TorchTarget(Framework):
    """Tensors of PyTorch."""

    name = "torch"
    word = "a tensor"

    def tracing(self) -> bool:
        return torch.compiler.is_compiling()

    def like(self, values: Iterable[Any]) -> Any:
        """The device of the first tensor."""
        return next((v.device for v in values if isinstance(v, torch.Tensor)), None)

    def array(self, value: Any, like: Any) -> Any:
        if not getattr(getattr(value, "flags", None), "writeable", True):
            value = value.copy()  # tensors are always writable, and PyTorch warns of arrays that are not
        return value if isinstance(value, torch.Tensor) else torch.as_tensor(value, device=like)

    def types(self, floating: str) -> dict[str, Any]:
        return {"f": getattr(torch, floating), "c": complex_of(floating), "i": torch.int64, "b": torch.bool}

    def cast(self, array: Any, dtype: Any) -> Any:
        return array.to(dtype)

    def floating(self, arrays: Mapping[str, Any]) -> str:
        floats = [_FLOATS.get(t.dtype, t.dtype) for t in arrays.values() if t.is_floating_point() or t.is_complex()]
        found = floats[0] if floats else torch.get_default_dtype()
        for dtype in floats[1:]:
            found = torch.promote_types(found, dtype)
        return str(found).removeprefix("torch.")

    def kind(self, array: Any) -> str:
        if array.is_complex():
            return "c"
        return "f" if array.is_floating_point() else "b" if array.dtype == torch.bool else "i"

    def described(self, arrays: Mapping[str, Any], *args: Any, **options: Any) -> tuple:
        """What a setting is made of. That there are DTensors is part of it: their programs are others."""
        *rest, known = super().described(arrays, *args, **options)
        distributed = any(map(is_distributed, arrays.values()))
        return *rest, (*known, ("distributed", True)) if distributed else known

    def emitter(self, plan: Plan) -> TorchEmitter:
        return TorchEmitter(plan)

    def runner(self, plan: Plan, source: Source) -> Runner:
        """The function of a source; on a GPU, unless ``jit=False``, as a captured graph where that is faster."""
        runner, jit = super().runner(plan, source), plan.option("jit")
        if plan.option("distributed"):
            runner.run = DistributedRun(runner.run)
            return runner
        if jit is not False and torch.cuda.is_available() and recordable(plan.program):
            compiler = None if jit else partial(self.compiled, plan)
            runner.run = Launched(runner.run, compiler=compiler)
        return runner

    def compiled(self, plan: Plan) -> Callable[..., Any]:
        """The function of a plan as ``jit=True`` makes it."""
        setting = replace(plan.setting, options=(*plan.setting.options, ("jit", True)))
        return self.jitted(self.emitter(replace(plan, setting=setting)).source().function())

    def jitted(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Through ``torch.compile``, which compiles one code a few times and then no more: each program is one.

        A code is taken as it is if it comes from a file, or if its lines are known as those of one.
        """
        name = f"<ricci program {next(_numbers)}>"
        own = FunctionType(run.__code__.replace(co_filename=name), run.__globals__, run.__name__)
        linecache.cache[name] = (0, None, ["# see f.source\n"], name)
        weakref.finalize(own, linecache.cache.pop, name, None)
        return torch.compile(own, dynamic=False)  # a plan is for one set of sizes

    def itemsize(self, dtype: str) -> int:
        return getattr(torch, dtype).itemsize
