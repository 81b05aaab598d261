"""The programs that are loops: both texts, on every road, give the same value, gradient and Hessian."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from literature import tensors  # pyright: ignore[reportAttributeAccessIssue]
from literature.looping import LOOP_BY_NAME
from literature.spaces import autograd_space
from report import as_arrays, difference

import ricci as rc

STEPS = 6
KINDS = ("value", "grad", "hessian")
ROOT = Path(__file__).parent.parent.parent
each = pytest.mark.parametrize("name", LOOP_BY_NAME)
asked = pytest.mark.parametrize("kind", KINDS)
measured = pytest.mark.skipif(sys.platform == "win32", reason="the benchmarks ask Unix for time and memory")


def result(name: str, kind: str, space: Any, transforms: dict[str, Any], scan: Any = None, steps: int = STEPS) -> list:
    case = LOOP_BY_NAME[name].case(steps, kind, scan)
    found = transforms[kind](lambda *args: case.function(space, *args))(*case.args)
    return [np.asarray(array, float) for array in as_arrays(found)]


OURS = {"value": rc.compile, "grad": rc.grad, "hessian": rc.hessian}


@cache
def plain(name: str, kind: str, steps: int = STEPS) -> list[np.ndarray]:
    return result(name, kind, np, OURS, steps=steps)


def python_scan(step: Any, carry: Any, xs: Any, length: int | None = None) -> tuple[Any, Any]:
    """What a scan means, with Python's loop: of an array, of several, or of nothing."""
    several = isinstance(xs, tuple)
    count = length if xs is None else len(xs[0] if several else xs)
    ys = []
    for t in range(count or 0):
        carry, y = step(carry, None if xs is None else tuple([x[t] for x in xs]) if several else xs[t])
        ys.append(y)
    return carry, None if ys[0] is None else np.stack(ys)


@each
def test_the_value_is_that_of_numpy(name: str) -> None:
    own = {"value": lambda function: function}
    assert difference(name, plain(name, "value"), result(name, "value", np, own), 1e-12) >= 0


@pytest.mark.sampled(3)
@each
@asked
def test_both_texts_say_the_same(name: str, kind: str) -> None:
    assert difference(name, result(name, kind, np, OURS, python_scan), plain(name, kind), 1e-10) >= 0


@each
@asked
def test_a_plain_loop_is_that_of_autograd(name: str, kind: str) -> None:
    autograd = pytest.importorskip("autograd")
    theirs = {"value": lambda function: function, "grad": autograd.grad, "hessian": autograd.hessian}
    assert difference(name, plain(name, kind), result(name, kind, autograd_space(), theirs), 1e-10) >= 0


@each
@asked
def test_a_plain_loop_is_that_of_tensors(name: str, kind: str) -> None:
    eager = {"value": tensors.value, "grad": tensors.grad, "hessian": tensors.hessian}
    assert difference(name, plain(name, kind), result(name, kind, np, eager), 1e-10) >= 0


@pytest.mark.sampled(3)
@pytest.mark.skipif(not hasattr(rc, "scan"), reason="there is no rc.scan")
@each
@asked
@pytest.mark.parametrize("steps", [5, 9])
def test_scan_is_a_plain_loop(name: str, kind: str, steps: int) -> None:
    scan = getattr(rc, "scan")  # noqa: B009
    assert difference(name, result(name, kind, np, OURS, scan, steps), plain(name, kind, steps), 1e-10) >= 0


@pytest.mark.thorough
@each
@asked
def test_a_plain_loop_is_that_of_jax(name: str, kind: str) -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    theirs = {"value": lambda function: function, "grad": jax.grad, "hessian": jax.hessian}
    assert difference(name, plain(name, kind), result(name, kind, jax.numpy, theirs, jax.lax.scan), 1e-10) >= 0


def test_a_difference_is_noticed() -> None:
    wrong = [array + 1e-3 for array in plain("garch", "grad")]
    with pytest.raises(AssertionError, match="the result differs by"):
        difference("garch", wrong, plain("garch", "grad"), 1e-10)


def printed(*chosen: str) -> str:
    """What the benchmark says of gradients of one program."""
    command = [sys.executable, str(ROOT / "benchmarks" / "loops.py"), "--only", "garch", "--kinds", "grad", *chosen]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=120, env=environment).stdout


@measured
def test_the_benchmark_runs() -> None:
    text = printed("--steps", "5", "--roads", "plain,eager")
    assert "garch 5, grad" in text
    assert "ricci is ended, wrong or not tried in 0 of 1" in text


@measured
def test_a_road_that_takes_too_long_is_named() -> None:
    text = printed("--steps", "5,6", "--roads", "plain", "--limit", "0")
    assert "garch 5, grad, plain: over 0 s" in text
    assert "garch 6, grad, plain: not tried, as it failed at fewer steps" in text
