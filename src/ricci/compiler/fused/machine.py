"""From instructions of LLVM to functions that are called: machine code, in memory and on disk.

A function works on a piece of memory in which all of its values lie. A call takes such a piece, copies what it is given
there, runs, and copies the results out: these arrays are small, and copying them is faster than telling where they are.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ricci.caches import LOCKS, once
from ricci.compiler.fused.kernel_files import StoredCode
from ricci.compiler.fused.segment_code import Lies
from ricci.compiler.plan.program_steps import Value

SPARE = 4  # pieces of memory that a function keeps
# What LLVM does by the number of instructions, so that a program takes seconds at most: unrolls loops and looks for
# vectors in straight lines, takes several entries at once, and simplifies.
UNROLLED, VECTORISED, SIMPLIFIED = 1000, 4000, 40_000


@once
def _awake() -> None:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def _machine() -> Any:
    """The processor, as LLVM knows it; each function has its own, which is freed with it."""
    import llvmlite.binding as llvm

    _awake()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=1)


def _object_code(text: str) -> bytes:
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(text)
    module.verify()
    machine, lines = _machine(), text.count("\n")
    level = 2 if lines <= UNROLLED else int(lines <= SIMPLIFIED)
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = options.loop_interleaving = lines <= VECTORISED
    options.slp_vectorization = options.loop_unrolling = lines <= UNROLLED
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)


class MachineCode:
    """The function of some instructions, which takes microseconds, or ``long``. Its memory is freed with it."""

    def __init__(self, text: str, long: bool = False):
        import llvmlite.binding as llvm

        with LOCKS.compiling:
            _awake()
            stored = StoredCode(text, llvm.llvm_version_info, llvm.get_host_cpu_name())
            code = stored.read()
            if code is None:
                code = _object_code(text)
                stored.write(code)
            self.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
            self.engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            self.engine.finalize_object()
        address = self.engine.get_function_address("kernel")
        kind = ctypes.CFUNCTYPE if long else ctypes.PYFUNCTYPE  # the latter holds Python's lock
        self.call = kind(None, ctypes.c_void_p)(address)
        self.call.engine = self.engine  # type: ignore[attr-defined]  # whose memory it is in


class Space:
    """One piece of memory, with views of all that goes in and comes out."""

    def __init__(self, size: int, dtype: np.dtype, inputs: Sequence[tuple], results: Sequence[tuple]):
        self.memory = np.zeros(size, dtype)
        self.inputs = [self._view(*place) for place in inputs]
        self.results = [self._view(*place) for place in results]
        self.address = self.memory.ctypes.data

    def _view(self, value: Value, lies: Lies) -> np.ndarray:
        item = self.memory.itemsize
        strides = tuple([s * item for s in lies.strides])
        return np.ndarray(value.shape, self.memory.dtype, self.memory, lies.start * item, strides)


class SmallKernel:
    """Small steps as one function. It takes ``arguments`` and gives ``results``, in these orders."""

    far = False

    def __init__(
        self,
        text: str,
        steps: int,
        arguments: list[Value],
        results: list[Value],
        places: Callable[[Value], Lies],
        size: int,
        constants: Sequence[tuple[Value, Any]],
        dtype: np.dtype,
    ):
        self.text, self.arguments, self.results = text, arguments, results
        self.source = f"# kernel: machine code of {steps} steps"
        self.size, self.dtype = size, dtype
        self.places = [[(v, places(v)) for v in values] for values in (arguments, results)]
        self.constants = [((v, places(v)), array) for v, array in constants]
        self._made: Callable[..., tuple[Any, ...]] | None = None

    @property
    def function(self) -> Callable[..., tuple[Any, ...]]:
        """The compiled function; compiled when it is asked for the first time."""
        if self._made is None:
            self._made = self._launch(MachineCode(self.text))
        return self._made

    def space(self) -> Space:
        space = Space(self.size, self.dtype, *self.places)
        for place, array in self.constants:
            space._view(*place)[...] = array
        return space

    def _launch(self, code: MachineCode) -> Callable[..., tuple[Any, ...]]:
        free: list[Space] = []
        takes = [_taken(value) for value in self.results]
        copy, make = np.copyto, self.space

        def launch(*args: Any) -> tuple[Any, ...]:
            try:
                space = free.pop()  # which no other thread has then
            except IndexError:
                space = make()
            for view, array in zip(space.inputs, args, strict=True):
                copy(view, array)
            code.call(space.address)
            results = tuple([take(view) for take, view in zip(takes, space.results, strict=True)])
            if len(free) < SPARE:
                free.append(space)
            return results

        return launch


def _taken(value: Value) -> Callable[[np.ndarray], Any]:
    """What copies a result out."""
    if value.kind == "b":
        return lambda view: view != 0
    return np.ndarray.copy if value.shape else (lambda view: view[()])
