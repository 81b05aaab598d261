"""Forks beside busy threads, signal handlers, pools of processes: nothing hangs, and what is computed is right.

Each runs in a process of its own, for a bounded time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
SOURCE = Path(__file__).parents[2] / "src"

WORK = """
import contextvars, itertools, os, signal, sys, threading, time, warnings
import numpy as np
import ricci as rc
warnings.filterwarnings("ignore")  # Python's own, of forks beside threads
numbers = itertools.count()

def work():
    "New things each time, so that all tables are written."
    k = next(numbers) % 50 + 2
    x = np.arange(1.0, k + 1)
    f = rc.parse(f"y = sin(x[i]) a{k} x[i]")
    d = f.diff("x").compile("numpy")(x=x, **{f"a{k}": 2.0})
    assert np.allclose(d, 2 * (np.sin(x) + x * np.cos(x))), d
    assert np.allclose(rc.grad(lambda x: (x**3 * k).sum())(x), 3 * k * x**2)
    assert rc.rearrange(np.zeros((k, 2)), "a b -> b a").shape == (2, k)
    with rc.axes("t", u=k) as ax:
        rc.rearrange(np.zeros((k, 2)), "u t -> t u")
        assert ax.t == 2
    v = rc.Tensor(x)
    (v * v * k).sum().backward()
    assert np.allclose(v.grad, 2 * k * x)
    with rc.no_grad():
        assert not (v * k).requires_grad
    value, back = rc.vjp(lambda x: x * k, x)
    assert np.allclose(back(x)[0], x * k)
work()
"""


def run(*arguments: str) -> str:
    """What a program prints."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=240, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


def worked(text: str) -> str:
    """What a program prints that begins with the work above."""
    return run("-c", WORK + textwrap.dedent(text))


@needs_fork
def test_children_of_a_process_with_busy_threads():
    printed = worked(
        """
        stop = threading.Event()
        def busy():
            while not stop.is_set():
                work()
        threads = [threading.Thread(target=busy, daemon=True) for _ in range(3)]
        [t.start() for t in threads]
        right = 0
        for child in range(30):
            time.sleep(0.003 * (child % 7))
            pid = os.fork()
            if pid == 0:
                signal.alarm(20)
                try:
                    work()
                    work()
                    os._exit(0)
                except BaseException as error:
                    print(type(error), error, file=sys.stderr)
                    os._exit(1)
            right += os.waitpid(pid, 0)[1] == 0
        stop.set()
        [t.join(20) for t in threads]
        print(right)
        """
    )
    assert printed == "30"


@needs_fork
def test_open_scopes_of_other_threads_are_none_of_the_childs():
    worked(
        """
        from ricci.einops.watch import OPEN
        entered, leave = threading.Event(), threading.Event()
        def other():
            with rc.axes("a"):
                entered.set()
                leave.wait(20)
        thread = threading.Thread(target=other)
        thread.start()
        entered.wait(20)
        with rc.axes("t", d=3) as ax:
            pid = os.fork()
            if pid == 0:
                right = len(OPEN) == 1 and "t" in ax
                os._exit(0 if right else 1)
            assert os.waitpid(pid, 0)[1] == 0
            assert len(OPEN) == 2
        leave.set()
        thread.join()
        """
    )


@needs_fork
@pytest.mark.parametrize("method", ["fork", "spawn", pytest.param("forkserver", marks=pytest.mark.thorough)])
def test_pools_of_processes(method, tmp_path):
    script = tmp_path / "pooled.py"
    script.write_text(
        textwrap.dedent(
            """
            import multiprocessing
            import numpy as np
            import ricci as rc

            formula = rc.parse("y = sin(x[i]) x[i]")

            def slope(k):
                x = np.arange(1.0, k + 2)
                first = rc.grad(lambda x: (x**3).sum())(x)
                return float(first.sum()), formula.diff("x").compile("numpy")(x=x).shape

            def told(formula):
                return formula.diff("x")

            if __name__ == "__main__":
                before = slope(3)
                context = multiprocessing.get_context(METHOD)
                with context.Pool(2) as pool:
                    found = pool.map(slope, range(6), chunksize=1)
                    sent = pool.map(told, [formula] * 2)
                assert found == [slope(k) for k in range(6)] and found[3] == before
                assert sent == [formula.diff("x")] * 2
            """
        ).replace("METHOD", repr(method))
    )
    run(str(script))


@needs_fork
def test_signal_handlers_may_do_anything():
    printed = worked(
        """
        seen = []
        def handler(number, frame):
            if not seen or not seen[-1] is None:
                seen.append(None)  # one at a time
                x = np.arange(4.0)
                f = rc.parse(f"z = cos(x[i]) b{len(seen) % 20} x[i]").diff("x")
                assert f.simplify() == f and isinstance(f.compile("numpy")(x, 1.0), np.ndarray)
                assert np.allclose(rc.grad(lambda x: (x**2).sum())(x), 2 * x)  # also amid a function being traced
                contextvars.Context().run(work)  # without the scopes of what is interrupted
                seen[-1] = True
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
        for _ in range(40):
            work()
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(len(seen) > 5)
        """
    )
    assert printed == "True"


def test_threads_that_meet_one_new_function():
    printed = worked(
        """
        barrier, results = threading.Barrier(6), []
        def loss(x):
            return (np.sin(x) * np.exp(-x) * x**2).sum() + (x[1:] * x[:-1]).sum()
        first, second = rc.grad(loss), rc.hessian(loss)
        x = np.linspace(0.1, 1.0, 20)
        texts = [f"y = sin(x[i]) b{k} exp(x[i])" for k in range(30)]
        def both():
            barrier.wait()
            parsed = [rc.parse(text).expr for text in texts]
            pulled = rc.vjp(loss, x)[1](1.0)[0]
            results.append((parsed, first(x), second(x), pulled))
        threads = [threading.Thread(target=both) for _ in range(6)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        (parsed, g, h, p), *others = results
        assert len(others) == 5 and np.allclose(g, p)
        for e, a, b, c in others:
            assert all(one is two for one, two in zip(e, parsed))
            assert np.array_equal(a, g) and np.array_equal(b, h) and np.array_equal(c, p)
        print("equal")
        """
    )
    assert printed == "equal"
