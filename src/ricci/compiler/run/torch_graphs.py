"""Programs on a GPU as captured graphs: all that a call launches is launched at once.

A program of many small kernels takes as long as launching them does, one by one, from Python. PyTorch can record what a
call launches (``torch.cuda.CUDAGraph``), and launch the record again. A record works on memory of its own:

- inputs that were the same tensors in all calls so far are read where they are; all others are copied to it;
- results are copied from it, so that they are their caller's.

*When.* A program is recorded after :data:`FEW` calls on one device, and the record is kept if it takes less time than
the program, both measured then. A program that has taken :data:`COMPILING` seconds in all is compiled by
``torch.compile``, once, within the budget of all that nobody asked for; that is kept on the same terms, and recorded in
turn. What cannot be recorded runs as it is: with autograd, inside transformations, modes and records of others, and
programs that call code of users or wait for the device. All records together are bounded.
"""

from __future__ import annotations

import threading
import time
import warnings
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ricci.caches import Counts, enrol
from ricci.compiler.backends.torch_table import torch
from ricci.compiler.fused.deciding import WORKER
from ricci.compiler.plan.program import Program
from ricci.compiler.plan.program_steps import OUTSIDE

FEW = 4  # calls before a record is made
LEAST = 6  # kernels of a program below which launching them one by one is as fast
GAIN = 0.95  # of the time of the program, which a record may take at most to be kept
TRIALS, LONG = 8, 0.2  # calls that are measured, in turns, and seconds after which these are enough
COMPILING = 30.0  # seconds that calls took, after which compiling, which takes about as long, may pay
MOST_RECORDS = 64
SHARE = 4  # all records take at most this part of the memory of a device, one over this
PLAIN = {torch.Tensor, torch.nn.Parameter}


def recordable(program: Program) -> bool:
    """Whether a program of some length neither calls code of users nor functions of matrices, which wait."""
    calls = [step for step in program.steps if step.op == "call"]
    waits = any(step.name == OUTSIDE or step.params[1] > 1 for step in calls)
    return not waits and sum(not step.views for step in program.steps) >= LEAST


class Cuda:
    """What PyTorch does on a GPU; where there is none, ``ricci.testing.launches`` is in its place."""

    def key(self, arrays: Sequence[Any]) -> Any:
        """What records are told apart by beside shapes and types; none where these tensors are not for records."""
        device = arrays[0].device if arrays else None
        if device is None or device.type != "cuda" or torch.cuda.is_current_stream_capturing():
            return None
        if not self.plain(arrays, device):
            return None
        return device.index, torch._C._get_float32_matmul_precision(), torch.is_inference_mode_enabled()

    def plain(self, arrays: Sequence[Any], device: Any) -> bool:
        """Whether nobody but the device sees what happens to the tensors."""
        derived = torch.is_grad_enabled()
        for a in arrays:
            if type(a) not in PLAIN or a.device != device or (derived and a.requires_grad):
                return False
        c = torch._C
        seen = c._len_torch_dispatch_stack() or c._len_torch_function_stack() or torch.is_autocast_enabled("cuda")
        return not seen and c._functorch.peek_interpreter_stack() is None

    def record(self, run: Callable[..., Any], arrays: Sequence[Any]) -> tuple[Callable[[], None], Any]:
        """What launches all that ``run`` does with these tensors, and the results."""
        device = arrays[0].device
        current, stream = torch.cuda.current_stream(device), torch.cuda.Stream(device)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.device(device), torch.cuda.stream(stream), torch.no_grad():
            stream.wait_stream(current)
            for _ in range(2):  # libraries take their memory now, and constants go to the device
                run(*arrays)
            torch.cuda.synchronize(device)
            graph.capture_begin(capture_error_mode="thread_local")
            try:
                results = run(*arrays)
            finally:
                graph.capture_end()
        current.wait_stream(stream)
        return graph.replay, results

    def stream(self, arrays: Sequence[Any]) -> Any:
        return torch.cuda.current_stream(arrays[0].device)

    def memory(self, arrays: Sequence[Any]) -> tuple[int, int]:
        """Bytes that are taken of a device, and that it has."""
        device = arrays[0].device
        return torch.cuda.memory_reserved(device), torch.cuda.get_device_properties(device).total_memory

    def seconds(self, calls: Sequence[Callable[[], Any]], arrays: Sequence[Any]) -> list[float]:
        """What each call takes, with the wait for the device: the shortest of a few, in turns, the first left out."""
        device = arrays[0].device
        found: list[list[float]] = [[] for _ in calls]
        while len(found[0]) <= TRIALS and sum(map(sum, found)) < LONG:
            for times, call in zip(found, calls, strict=True):
                torch.cuda.synchronize(device)
                start = time.perf_counter()
                call()
                torch.cuda.synchronize(device)
                times.append(time.perf_counter() - start)
        return [min(times[1:] or times) for times in found]


class Launched:
    """A program that is run as it is, or as its record; ``compiler`` makes a function of it that may be faster."""

    def __init__(self, plain: Callable[..., Any], means: Cuda | None = None, compiler: Callable[[], Any] | None = None):
        self.plain, self.means, self.compiler = plain, means or Cuda(), compiler
        self.each = self.spent = 0.0  # seconds of one call, once that is measured, and of all since
        self.known: dict[Any, _Graph | _Trial] = {}
        self.over = ""  # why there is no record, and will be none
        self.lock = threading.Lock()

    def __call__(self, *arrays: Any) -> Any:
        self.spent += self.each
        if self.spent > COMPILING and self.compiler is not None:
            self.compiled(arrays)
        key = None if self.over or torch.compiler.is_compiling() else self.means.key(arrays)
        if key is None or not self.lock.acquire(blocking=False):  # another thread is at it
            return self.plain(*arrays)
        try:
            known = self.known.get(key)
            if known is None:
                known = self.known[key] = _Trial()
            if isinstance(known, _Graph):
                if known.fits(arrays):
                    return known(arrays)
                known = self.known[key] = _Trial(known.steady(arrays), FEW)
            if known.due(arrays):
                self.known[key] = self.decided(known, arrays, key)
        finally:
            self.lock.release()
        return self.plain(*arrays)

    def compiled(self, arrays: Sequence[Any]) -> None:
        """The compiled program in place of the program, where it is faster; what was recorded is recorded anew then."""
        if torch.compiler.is_compiling() or self.means.key(arrays) is None or not self.lock.acquire(blocking=False):
            return
        start = time.monotonic()
        try:
            compiler, self.compiler = self.compiler if WORKER.affords() else None, None
            if compiler is None:
                return
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # nobody asked for it
                run = compiler()
                run(*arrays)
            plain, made = self.means.seconds([lambda: self.plain(*arrays), lambda: run(*arrays)], arrays)
            if made <= GAIN * plain:
                self.plain, self.over = run, ""
                self.known.clear()
        except Exception as failure:  # whatever it is, the program itself is there
            self.over = self.over or f"it could not be compiled: {failure}"
        finally:
            WORKER.spent += time.monotonic() - start
            self.lock.release()

    def decided(self, trial: _Trial, arrays: Sequence[Any], key: Any) -> _Graph | _Trial:
        """The record, if there can be one and it is faster; otherwise nothing is tried again."""
        means = self.means
        try:
            taken, there = means.memory(arrays)
            record = _Graph.of(self.plain, means, arrays, trial.steady)
            record.nbytes += max(0, means.memory(arrays)[0] - taken)
            plain, recorded = means.seconds([lambda: self.plain(*arrays), lambda: record(arrays)], arrays)
        except Exception as failure:  # whatever it is, the program itself is there
            self.over = f"it could not be recorded: {failure}"
            return trial
        self.each = min(plain, recorded)
        if recorded > GAIN * plain:
            self.over = f"the record takes {recorded:.2g} s, the program {plain:.2g} s"
            return trial
        KEPT.keep(record, there // SHARE, self, key)
        return record


@dataclass(eq=False)
class _Trial:
    """Calls before a record: which inputs are the same tensors in all of them."""

    steady: list[Any] | None = None
    calls: int = 0

    def due(self, arrays: Sequence[Any]) -> bool:
        if self.steady is None:
            self.steady = [weakref.ref(a) for a in arrays]
        self.steady = [r if r is not None and r() is a else None for r, a in zip(self.steady, arrays, strict=True)]
        self.calls += 1
        return self.calls > FEW


@dataclass(eq=False)
class _Graph:
    """What a program launches, with the memory that it works on."""

    means: Cuda
    replay: Callable[[], None]
    results: Any
    held: list[tuple[int, Any, int, tuple]]  # inputs that are read where they are: which, the tensor, where, strides
    copied: list[int]  # the others
    own: list[Any]  # and the memory that these are copied to
    stream: Any
    nbytes: int = 0

    def __post_init__(self) -> None:
        self.single = not isinstance(self.results, tuple)
        self.outs = [self.results] if self.single else list(self.results)

    @classmethod
    def of(cls, run: Callable[..., Any], means: Cuda, arrays: Sequence[Any], steady: Sequence[Any] | None) -> _Graph:
        steady = steady or [None] * len(arrays)
        given = [a if r is not None else a.detach().clone() for a, r in zip(arrays, steady, strict=True)]
        held = [(k, r, a.data_ptr(), a.stride()) for k, (a, r) in enumerate(zip(arrays, steady, strict=True)) if r]
        copied = [k for k, r in enumerate(steady) if r is None]
        replay, results = means.record(run, given)
        own = [given[k] for k in copied]
        record = cls(means, replay, results, held, copied, own, means.stream(arrays))
        record.nbytes = sum(a.nbytes for a in own)
        return record

    def fits(self, arrays: Sequence[Any]) -> bool:
        """Whether the inputs that are read where they are are still there."""
        for k, ref, place, strides in self.held:
            a = arrays[k]
            if ref() is not a or a.data_ptr() != place or a.stride() != strides:
                return False
        return True

    def steady(self, arrays: Sequence[Any]) -> list[Any]:
        """The inputs that are still the same tensors."""
        found: list[Any] = [None] * len(arrays)
        for k, ref, place, strides in self.held:
            a = arrays[k]
            if ref() is a and a.data_ptr() == place and a.stride() == strides:
                found[k] = ref
        return found

    def __call__(self, arrays: Sequence[Any]) -> Any:
        stream = self.means.stream(arrays)
        if stream != self.stream:  # what the record did on another one is over before its memory is written
            stream.wait_stream(self.stream)
            self.stream = stream
        if self.own:
            torch._foreach_copy_(self.own, [arrays[k] for k in self.copied])
        self.replay()
        if self.single:
            return self.outs[0].clone()
        found = [torch.empty_like(out) for out in self.outs]
        if found:
            torch._foreach_copy_(found, self.outs)
        return tuple(found)


class _Graphs:
    """All records, which their programs hold: together they are bounded, and what was made longest ago leaves first."""

    def __init__(self) -> None:
        self.records: dict[Any, tuple[Any, Any]] = {}  # to programs, and the keys of records there
        enrol("captured graphs", self)

    def keep(self, record: _Graph, most: int, program: Launched, key: Any) -> None:
        self.records = {ref: where for ref, where in list(self.records.items()) if ref() is not None}
        self.records[weakref.ref(record)] = weakref.ref(program), key
        while len(self.records) > 1 and (len(self.records) > MOST_RECORDS or self.nbytes() > most):
            self.forget()

    def nbytes(self) -> int:
        return sum([record.nbytes for ref in list(self.records) if (record := ref()) is not None])

    def forget(self) -> None:
        program, key = self.records.pop(next(iter(self.records)))
        owner = program()
        if owner is not None:
            owner.known.pop(key, None)

    def clear(self) -> None:
        while self.records:
            self.forget()

    def counts(self) -> Counts:
        alive = sum([ref() is not None for ref in list(self.records)])
        return Counts(0, alive, alive, MOST_RECORDS)


KEPT = _Graphs()
