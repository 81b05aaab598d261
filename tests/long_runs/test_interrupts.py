"""Interrupts at any step leave no scope open, and what is computed afterwards is right.

A trace function raises where it is told to: at a line, at a single instruction, at the return of a function.
"""

from __future__ import annotations

import dis
import inspect
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ricci as rc
from ricci import budget
from ricci.caches import LOCKS
from ricci.dispatch import FRAME
from ricci.einops import watch
from ricci.expr import numbers
from ricci.tensor.recording_mode import mode
from ricci.tracing import meanings, watched

# What is raised while an object is freed, Python does not pass on.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

SOURCE = str(Path(rc.__file__).parent)
STEMS = {
    "recording_mode",
    "observers",
    "nans",
    "watch",
    "frames",
    "watched",
    "meanings",
    "recording",
    "impure",
    "budget",
    "within",
}
FILES = {str(path) for path in Path(SOURCE).rglob("*.py") if path.stem in STEMS}
NOP = dis.opmap["NOP"]
X = np.arange(1.0, 4.0)
A = np.arange(3.0)  # which a traced function reaches, so that something stands in for it
SCALE = [2.0]


def no_grad():
    with rc.no_grad():
        y = rc.Tensor(X) * 2
        with rc.enable_grad():
            z = rc.Tensor(X) * 2
    return y.requires_grad, z.requires_grad


def debug_nans():
    with rc.debug_nans():
        return (rc.Tensor(X) * 2).numpy()


def axes():
    with rc.axes("t", d=3) as ax:
        return rc.rearrange(X[:, None], "d t -> t d"), ax.t


def limits():
    with rc.limits(nodes=10_000):
        return str(rc.parse("y = sin(x)").diff("x"))


def traced():
    return rc.grad(lambda x: (np.sin(x) * (A * x)).sum() * SCALE[0] * A.mean())(X)


def on_tensors():
    x = rc.Tensor(X)
    rc.grad(lambda x: (x * x * A).sum())(x).sum().backward()
    return x.grad.numpy()


def reads_a_file():
    with pytest.raises(rc.TraceError):
        rc.grad(lambda x: (x * time.time()).sum())(X)


def equal_formulas():
    return rc.parse("y = (x + 1)**2") == rc.parse("y = x**2 + 2 x + 1")


def left() -> dict[str, Any]:
    """What is open, which should be nothing."""
    return {
        "frame": FRAME.get(),
        "mode": mode().outer,
        "watchers": [own() for own in watch.WATCHERS.get() if own() is not None],
        "open": dict(watch.OPEN),
        "seen": watched._SEEN.get(),
        "aside": meanings._ASIDE.get(),
        "loose": numbers.loose(),
        "limits": budget._budget.get(),
        "profile": sys.getprofile(),
        "stand-ins": [] if type(A) is np.ndarray else [A],
        "torch": _torch(),
    }


def _torch() -> tuple:
    """How many look at the calls of PyTorch, and whether gradients are recorded."""
    torch = sys.modules.get("torch")
    if torch is None:
        return ()
    return torch._C._len_torch_function_stack(), torch._C._len_torch_dispatch_stack(), torch.is_grad_enabled()


class Raising:
    """A trace function that counts the steps in some files, and raises at one of them."""

    def __init__(self, files: Callable[[str], bool], opcodes: bool, at: int = -1):
        self.files, self.opcodes, self.at, self.steps = files, opcodes, at, 0

    def __call__(self, frame, event, argument):
        if not self.files(frame.f_code.co_filename) or self.finalising(frame):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = self.opcodes, not self.opcodes
        yields = event == "return" and frame.f_code.co_flags & inspect.CO_GENERATOR  # Python forgets its ``finally``
        nothing = event == "opcode" and frame.f_code.co_code[frame.f_lasti] == NOP  # which Python does not interrupt
        if event != "call" and not yields and not nothing:
            self.steps += 1
            if self.steps == self.at:
                raise KeyboardInterrupt
        return self

    def finalising(self, frame):
        """Whether an object is being freed: Python ignores what is raised there."""
        return "__del__" in (frame.f_code.co_name, frame.f_back.f_code.co_name) or frame.f_code.co_name == "_gone"

    def run(self, work: Callable[[], Any]) -> Any:
        before = sys.gettrace()
        sys.settrace(self)
        try:
            return work()
        finally:
            sys.settrace(before)


def interrupted(work: Callable[[], Any], files: Callable[[str], bool], opcodes: bool, points: int) -> None:
    expected, nothing = work(), left()
    counter = Raising(files, opcodes)
    counter.run(work)
    raised = 0
    for at in sorted(set(np.linspace(1, counter.steps, points).astype(int).tolist())):
        try:
            Raising(files, opcodes, at).run(work)
        except KeyboardInterrupt:
            raised += 1
        assert left() == nothing, f"at step {at} of {counter.steps}"
        if at % 5 == 0:
            np.testing.assert_equal(work(), expected)
    np.testing.assert_equal(work(), expected)
    assert raised > points // 4 or raised > counter.steps // 2


WORKS = [no_grad, debug_nans, axes, limits, traced, on_tensors, reads_a_file, equal_formulas]


@pytest.mark.parametrize("work", WORKS)
def test_at_instructions_of_scopes(work):
    interrupted(work, FILES.__contains__, True, 80)


@pytest.mark.parametrize("work", WORKS)
def test_at_lines(work):
    interrupted(work, lambda file: file.startswith(SOURCE) or "contextlib" in file, False, 40)


def test_from_another_thread(monkeypatch):
    """As ``signal`` and debuggers do it: whenever the interpreter looks.

    One that comes while a node is freed is nobody's, and pytest would be busy with it when the next one comes.
    """
    import ctypes
    import threading

    monkeypatch.setattr(sys, "unraisablehook", lambda _unraisable: None)

    main, stop = threading.get_ident(), threading.Event()

    def interrupting():
        while not stop.wait(0.004):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main), ctypes.py_object(KeyboardInterrupt))

    def attempt():
        with rc.no_grad(), rc.axes("t"), rc.debug_nans(), rc.limits(nodes=10**6):
            traced()

    thread, met = threading.Thread(target=interrupting, daemon=True), 0
    traced()
    nothing = left()
    try:
        thread.start()
        for _ in range(60):
            try:
                attempt()
            except KeyboardInterrupt:
                met += 1
    except KeyboardInterrupt:
        pass
    finally:
        while not stop.is_set():
            try:
                stop.set()
                thread.join()
                time.sleep(0.01)
            except KeyboardInterrupt:
                pass
    assert left() == nothing
    np.testing.assert_equal(traced(), traced())


def test_a_lock_that_an_interrupt_left_held_holds_nobody_up(monkeypatch):
    monkeypatch.setattr("ricci.caches.PATIENCE", 0.05)
    monkeypatch.setattr(LOCKS, "tracing", threading.RLock())  # the tests above may have left one that this thread holds
    keeper = threading.Thread(target=LOCKS.tracing.acquire)
    keeper.start()
    keeper.join()
    np.testing.assert_allclose(rc.grad(lambda x: (x * x * A).sum())(X), 2 * X * A)
