"""What compiled functions keep: plans, shortcuts to them, memory; bounded, shared, and safe among threads."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

import ricci as rc
from ricci.caches import MOST_PLANS
from ricci.compiler import pipeline
from ricci.compiler.emit import numpy_source as emit_numpy
from ricci.compiler.prepare import prepared
from ricci.compiler.run import function, workspace

LOGISTIC = "l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))"


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    rc.cache_clear()
    yield
    rc.cache_clear()


def data(m: int, n: int = 3, dtype: str = "float64") -> dict[str, np.ndarray]:
    rng = np.random.default_rng(m)
    drawn = {"X": rng.normal(size=(m, n)), "y": np.sign(rng.normal(size=m)), "w": rng.normal(size=n)}
    return {name: array.astype(dtype) for name, array in drawn.items()}


def counts() -> tuple[int, int, int]:
    info = rc.cache_info()
    return info.hits, info.misses, info.size


# Counting


def test_a_plan_is_made_once_for_shapes_and_types():
    f = rc.parse(LOGISTIC).compile("numpy", fused=False)
    assert counts() == (0, 0, 0)
    for _ in range(3):
        f(**data(5))
    assert counts() == (0, 1, 1)  # later calls do not even look
    f(**data(6))
    f(**data(5, dtype="float32"))
    assert counts() == (0, 3, 3)
    f(**data(5))
    assert counts() == (0, 3, 3)
    assert rc.cache_info().maxsize == MOST_PLANS


def test_types_do_not_mix():
    f = rc.parse(LOGISTIC).diff("w").compile("numpy")
    for dtype in ("float64", "float32", "float64", "float32"):
        assert f(**data(5, dtype=dtype)).dtype == dtype
    mixed = {**data(5), "w": data(5, dtype="float32")["w"]}
    assert f(**mixed).dtype == f(**mixed).dtype == "float64"
    assert f(**data(5, dtype="float32")).dtype == "float32"


def test_equal_formulas_share_plans():
    """However their indices are named, and whenever they are made."""
    first = rc.parse(LOGISTIC).compile("numpy", fused=False)
    second = rc.parse(LOGISTIC.replace("[m", "[a").replace("n]", "b]")).compile("numpy", fused=False)
    expected = first(**data(5))
    assert second(**data(5)) == expected
    assert counts() == (1, 1, 1)
    assert first.runner is second.runner
    assert "mn,n->m" in str(first.plan) and "ab,b->a" in str(second.plan)  # each in the names of its own formula
    other = rc.parse(LOGISTIC).compile(fused=False)  # follows the inputs, to the same backend
    assert other(**data(5)) == expected and counts() == (2, 1, 1)
    listed = rc.compile([rc.parse(LOGISTIC)], "numpy", fused=False)  # has a tuple for its result
    assert listed(**data(5)) == (expected,) and counts() == (2, 2, 2)


def test_clearing_forgets_plans_shortcuts_and_memory(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(emit_numpy, "LARGE", 1)
    f = rc.parse(LOGISTIC).compile("numpy", fused=False)
    expected = f(**data(5))
    assert workspace.POOL.nbytes > 0
    rc.cache_clear()
    assert counts() == (0, 0, 0) and workspace.POOL.nbytes == 0
    assert f(**data(5)) == expected
    assert counts() == (0, 1, 1)


# Bounds


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pipeline._plans, "most", 6)
    monkeypatch.setattr(function, "MOST_SHORTCUTS", 4)
    f = rc.parse(LOGISTIC).compile("numpy", fused=False)
    expected = {m: rc.parse(LOGISTIC)(**data(m)) for m in range(1, 21)}
    for _ in range(2):
        for m in expected:
            np.testing.assert_allclose(f(**data(m)), expected[m])
            assert rc.cache_info().size <= 6
            assert len(f._shortcuts.all()) <= 4
    assert rc.cache_info().misses == 60  # those of the formula counted in


def test_shapes_in_turn_are_found_up_to_the_bound(monkeypatch: pytest.MonkeyPatch):
    f = rc.parse(LOGISTIC).compile("numpy", fused=False)
    inputs = [data(m) for m in range(1, function.MOST_SHORTCUTS + 1)]
    expected = [f(**one) for one in inputs]
    monkeypatch.setattr(f, "_first", lambda *args: pytest.fail("not found"))
    for _ in range(3):
        assert [f(**one) for one in inputs] == expected


def test_the_plan_used_longest_ago_goes_first(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pipeline._plans, "most", 2)
    for m in (5, 6, 5, 7, 5):
        rc.parse(LOGISTIC).compile("numpy", fused=False)(**data(m))  # a new function each time: no shortcuts
    assert counts() == (2, 3, 2)  # 5 was there again both times, 6 gave way to 7


def test_the_memory_kept_is_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(emit_numpy, "LARGE", 1)
    monkeypatch.setattr(workspace.POOL, "most", 2000)
    f = rc.parse(LOGISTIC).diff("w").compile("numpy", fused=False)
    for m in range(1, 40):
        np.testing.assert_allclose(f(**data(m)), rc.parse(LOGISTIC).diff("w")(**data(m)), rtol=1e-9, atol=1e-12)
        assert workspace.POOL.nbytes <= 2000


def test_functions_that_nobody_has_are_forgotten():
    name = "calls of compiled functions"
    before = rc.cache_info()[name].maxsize if name in rc.cache_info() else 0
    f = rc.parse(LOGISTIC).compile("numpy")
    f(**data(5))
    assert rc.cache_info()[name].maxsize == before + function.MOST_SHORTCUTS
    del f
    assert (rc.cache_info()[name].maxsize if name in rc.cache_info() else 0) == before


# A new size


def test_a_new_size_costs_no_simplification(monkeypatch: pytest.MonkeyPatch):
    calls = []
    simplified = prepared.simplified

    def counted(roots):
        calls.append(roots)
        return simplified(roots)

    monkeypatch.setattr(prepared, "simplified", counted)
    f = rc.parse(LOGISTIC).diff("w", "w").compile("numpy", fused=False)
    assert len(calls) == 1  # it is counted

    def refuse(*args, **options):
        raise AssertionError("simplified again")

    monkeypatch.setattr(prepared, "simplify_all", refuse)
    monkeypatch.setattr("ricci.compiler.prepare.distribute.simplify_all", refuse)
    for m in range(5, 12):
        f(**data(m))
    assert len(calls) == 1 and rc.cache_info().misses == 7


def test_a_new_size_takes_milliseconds():
    f = rc.parse(LOGISTIC).diff("w", "w").compile("numpy", fused=False)
    f(**data(5))
    taken = []
    for m in range(6, 12):
        inputs = data(m)
        start = time.perf_counter()
        f(**inputs)
        taken.append(time.perf_counter() - start)
    assert min(taken) < 0.05


# Threads


@pytest.mark.parametrize("large", [1, 64 * 1024])
def test_threads_with_different_shapes(large: int, monkeypatch: pytest.MonkeyPatch):
    """Eight threads call one function, with shapes that others use too, while its plans come and go."""
    monkeypatch.setattr(emit_numpy, "LARGE", large)
    monkeypatch.setattr(pipeline._plans, "most", 4)
    monkeypatch.setattr(function, "MOST_SHORTCUTS", 3)
    formula = rc.parse(LOGISTIC).diff("w")
    f = formula.compile("numpy", fused=False)
    inputs = {m: data(m) for m in range(3, 11)}
    expected = {m: formula(**inputs[m]) for m in inputs}
    start = threading.Barrier(8)
    faults: list[BaseException] = []

    def work(number: int) -> None:
        try:
            start.wait()
            held = []
            for k in range(60):
                m = 3 + (number + k) % 8 if k % 3 else 5
                held.append((m, f(**inputs[m])))
                if k % 20 == 0 and number == 0:
                    rc.cache_clear()
            for m, result in held:
                np.testing.assert_allclose(result, expected[m], rtol=1e-9, atol=1e-12)
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert rc.cache_info().size <= 4


@pytest.mark.parametrize("shared", [False, True])
def test_a_call_that_is_interrupted_by_another(shared: bool, monkeypatch: pytest.MonkeyPatch):
    """Its memory is its own; were it shared, the result would be wrong, so this test can fail."""
    inside, go_on = threading.Event(), threading.Event()

    def interrupted(x: np.ndarray, out: np.ndarray) -> np.ndarray:
        if threading.current_thread() is not threading.main_thread():
            inside.set()
            go_on.wait()
        return np.exp(x, out)

    monkeypatch.setattr(emit_numpy, "LARGE", 1)
    monkeypatch.setitem(emit_numpy.UFUNCS, "exp", interrupted)
    if shared:
        same: list[np.ndarray] = []
        monkeypatch.setattr(workspace.Workspace, "take", lambda self: same or same.extend(_new(self)) or same)
    f = rc.parse("y[i] = exp(2 x[i]) + x[i]").compile("numpy", fused=False)
    results: list[np.ndarray] = []
    other = threading.Thread(target=lambda: results.append(f(x=np.ones(4))))
    other.start()
    inside.wait()
    np.testing.assert_array_equal(f(x=np.zeros(4)), np.ones(4))
    go_on.set()
    other.join()
    assert np.allclose(results[0], np.exp(2) + 1) == (not shared)


def _new(space: workspace.Workspace) -> list[np.ndarray]:
    return [np.empty(shape, dtype) for shape, dtype in space.shapes]


def test_threads_that_start_with_the_same_call():
    f = rc.parse(LOGISTIC).diff("w", "w").compile("numpy")
    formula, start, results = rc.parse(LOGISTIC).diff("w", "w"), threading.Barrier(8), []

    def work() -> None:
        start.wait()
        results.append(f(**data(40)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    for result in results:
        np.testing.assert_array_equal(result, results[0])
    assert rc.cache_info().size == 1
    np.testing.assert_allclose(results[0], formula(**data(40)), rtol=1e-9)


# The same in every process


PRINTED = """
import numpy as np
import ricci as rc
from ricci.expr import variables
from ricci.testing import random_expression
import random
from ricci.compiler.pipeline import prepare
from ricci.compiler.run.function import Compiled
from ricci.notation.context import Facts
loss = rc.parse("l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))")
net = rc.parse("l = (v[k] tanh(W[k,j] tanh(U[j,i] x[i])) - t)**2")
for f in (loss.compile("numpy"), loss.diff("w", "w").compile("numpy"), rc.compile([net, *net.diff_all("U", "W")])):
    print(f.source, f.plan, f.inputs)
for seed in range(40):
    sample = random_expression(random.Random(seed), size=8)
    root = sample.build()
    inputs = {v.name: v.order for v in variables(root)}
    facts = Facts(inputs=inputs, mentions=dict.fromkeys(inputs))
    f = Compiled(prepare([root], facts=facts, simplify=False), "numpy")
    f(**{name: sample.inputs[name] for name in f.inputs})
    print(f.source, f.plan)
"""


def test_sources_are_the_same_in_every_process():
    """Whatever the seed of Python's hashes is."""
    digests, texts = set(), []
    for seed in ("1", "4711"):
        settings = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        ran = subprocess.run([sys.executable, "-c", PRINTED], env=settings, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        texts.append(ran.stdout)
        digests.add(hashlib.sha256(ran.stdout.encode()).hexdigest())
    assert texts[0].count("def program(") == 43
    assert len(digests) == 1
