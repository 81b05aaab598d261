"""Whether a program gets kernels that nobody asked for: decided from measured times, compiled aside, and compared.

A program runs as plain NumPy first, and its calls are timed. Kernels would save a share of that, but for what is spent
in BLAS and LAPACK. Once what was lost without them is worth :data:`STAKE` of what compiling takes, they are compiled,
in a thread of their own, while calls go on. Then calls take turns for a while, plain and fused; the faster of both
stays for good. All compiling that nobody asked for takes at most :data:`BUDGET` seconds, and a share of the time that
the process has run.

The thread is there while it has work. It holds ``LOCKS.compiling`` while it compiles a kernel, and so does a fork,
which therefore waits for that, and leaves none of Numba's locks taken behind; the child starts a thread of its own when
it needs one. The end of the process waits for it too, and what is not begun is left.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

from ricci.caches import LOCKS
from ricci.compiler.run.runner import Switch

clock = time.perf_counter
TIMED = 3  # calls before anything is decided, and of each kind when both take turns
SHARE, HOPED = 0.7, 0.3  # of the time of a call: what kernels save at most, and what is worth trying
LEAST = 0.1  # of the time of a call that they must save by the estimate
BETTER = 0.95  # of the plain time, that a call must take with kernels to keep them
STAKE = 0.05
BUDGET, BUDGET_SHARE = 20.0, 0.1
ATTEMPTS = 2  # to make kernels


class Trial(Switch):
    """Plain NumPy until it is known whether kernels are faster.

    ``saves`` are the seconds that they should save in a call at least, ``fixed`` those that stay, ``costs`` those that
    compiling them might take; ``make`` gives the function with kernels, or none, and ``keep`` is told when it stays.
    """

    def __init__(
        self,
        plain: Callable[..., Any],
        saves: float,
        fixed: float,
        costs: float,
        make: Callable[[], Callable[..., Any] | None],
        keep: Callable[[Callable[..., Any]], None],
    ):
        super().__init__(self._timed)
        self.plain, self.saves = plain, saves
        self.make: Any = make
        self.keep: Any = keep
        self.costs, self.fixed = costs, fixed
        self.calls, self.best, self.lost = 0, float("inf"), 0.0
        self.fast: Callable[..., Any] | None = None
        self.fused: list[float] = []
        self.again: list[float] = []
        self.fault: Exception | None = None
        self._ahead = {"kernels", "faster"}  # what is not decided yet

    def _decides(self, what: str) -> bool:
        """Whether this call decides: it is one of several, where threads come to it together."""
        try:
            self._ahead.remove(what)
        except KeyError:
            return False
        return True

    def _timed(self, *args: Any) -> Any:
        """A call that is timed; the first is not counted, it is seldom like the others."""
        start = clock()
        result = self.plain(*args)
        taken = clock() - start
        self.calls += 1
        if self.calls > 1:
            self.best = min(self.best, taken)
            self.lost += self.gain(taken)
            if self.calls > TIMED:
                self._decide()
        return result

    def gain(self, taken: float) -> float:
        """What kernels may save of a call that takes so long."""
        return min(max(self.saves, HOPED * (taken - self.fixed)), SHARE * taken)

    def _decide(self) -> None:
        hopeless = self.gain(self.best) < LEAST * self.best
        if (hopeless or self.lost >= STAKE * self.costs) and self._decides("kernels"):
            self.run = self.plain
            if hopeless or not WORKER.submit(self):
                self.settle(self.plain)

    def compile(self) -> None:
        """Make the kernels; calls take turns then, or, where there are none, stay as they are."""
        for _ in range(ATTEMPTS):
            try:
                self.fast, self.fault = self.make(), None
                break
            except Exception as error:  # of Numba, in which anything may go wrong, and some things only beside threads
                self.fault = error
        self.run = self.settle_plain if self.fast is None else self._turns

    def settle_plain(self, *args: Any) -> Any:
        if self.fault is not None:
            text = f"Numba could not compile a kernel, so plain NumPy stays: {self.fault}"
            warnings.warn(text, RuntimeWarning, stacklevel=4)
        self.settle(self.plain)
        return self.plain(*args)

    def _turns(self, *args: Any) -> Any:
        """One kind of call, then the other."""
        fast = self.fast
        if fast is None:  # it has been decided meanwhile
            return self.run(*args)
        turn = len(self.fused) <= len(self.again)
        run, times = (fast, self.fused) if turn else (self.plain, self.again)
        start = clock()
        result = run(*args)
        times.append(clock() - start)
        if min(len(self.fused), len(self.again)) > TIMED and self._decides("faster"):
            if min(self.fused[1:]) < BETTER * min(self.again[1:]):
                self.keep(fast)
                self.settle(fast)
            else:
                self.settle(self.plain)
        return result

    def settle(self, run: Callable[..., Any]) -> None:
        super().settle(run)
        self.make = self.keep = self.fast = None  # what they hold is not needed any more


class Worker:
    """The thread that compiles."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a signal may come while it is held
        self.waiting: list[Trial] = []
        self.thread: threading.Thread | None = None
        self.ending = False
        self.begun, self.spent = time.monotonic(), 0.0

    def submit(self, trial: Trial) -> bool:
        """Have kernels compiled; whether there is time for it."""
        if not self.affords():
            return False
        with self.lock:
            self.waiting.append(trial)
            if self.thread is None:
                self.thread = threading.Thread(target=self._work, name="ricci kernels", daemon=True)
                try:
                    self.thread.start()
                except RuntimeError:  # where there are no threads
                    self.thread, self.waiting = None, []
                    return False
        return True

    def affords(self) -> bool:
        """Whether there is time for more that nobody asked for, here or by other compilers."""
        return not self.ending and self.spent <= BUDGET + BUDGET_SHARE * (time.monotonic() - self.begun)

    def _work(self) -> None:
        while True:
            with self.lock:
                if not self.waiting or self.ending:
                    self.thread = None
                    return
                trial = self.waiting.pop(0)
            start = time.thread_time()
            trial.compile()
            self.spent += time.thread_time() - start

    def end(self) -> None:
        """At the end of the process: what is being compiled is finished, for LLVM must not be stopped inside."""
        self.ending = True
        thread = self.thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(10)

    def forked(self) -> None:
        """In a child, to which no thread comes along."""
        self.lock, self.thread, self.waiting = threading.RLock(), None, []


WORKER = Worker()
atexit.register(WORKER.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: LOCKS.compiling.acquire(),  # noqa: PLW0108  (a child has other locks)
        after_in_parent=lambda: LOCKS.compiling.release(),  # noqa: PLW0108
        after_in_child=WORKER.forked,
    )
