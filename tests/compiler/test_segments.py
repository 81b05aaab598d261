"""Small steps as machine code: instructions for each kind of step, and which steps are in segments."""

from __future__ import annotations

import gc
import random
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ricci as rc
from ricci.compiler.backends.numpy_table import ELEMENTWISE, FUNCTIONS
from ricci.compiler.fused import segment_code, segments
from ricci.compiler.fused.loops_fused import FusedEmitter, Saving
from ricci.compiler.fused.segments import Segment, segmented, small_kernel
from ricci.compiler.lower.builder import Builder
from ricci.compiler.pipeline import bind, lower, plan, prepare
from ricci.compiler.plan.program import Program
from ricci.compiler.plan.program_steps import Result, Value
from ricci.compiler.run.engines import target_named
from ricci.testing.generate import random_expression
from ricci.testing.interpreter import interpret

pytest.importorskip("llvmlite", reason="small kernels are compiled by LLVM, which comes with Numba")

NUMPY = target_named("numpy")


def run_sample(sample, root, dtype):
    """The value of an expression, all that can be in segments being there; and how many steps were."""
    given = {name: np.asarray(value) for name, value in sample.inputs.items()}
    arrays = NUMPY.arrays({n: a.astype(dtype) if a.dtype.kind == "f" else a for n, a in given.items()})
    setting = NUMPY.setting(arrays, sample.sizes)
    program = lower(bind(prepare([root], simplify=False), setting))
    emitter = FusedEmitter(plan(program, setting), Saving(steps=1))
    run = emitter.source().function()
    before = {name: a.copy() for name, a in arrays.items()}
    for _ in range(2):
        with np.errstate(all="ignore"):
            result = run(*[arrays[name] for name in program.inputs])
    assert all(np.array_equal(a, before[name]) for name, a in arrays.items()), "inputs are not changed"
    return result, sum(len(item.steps) for item in emitter.items if isinstance(item, Segment))


def differing(seeds, dtype="float64", tolerance=1e-9):
    wrong, steps = [], 0
    for seed in seeds:
        rng = random.Random(seed)
        sample = random_expression(rng, size=rng.randint(2, 14), order=rng.choice([1, 2, 3, 4]))
        root = sample.build()
        (want,) = interpret([root], sample.inputs, sample.sizes)
        got, count = run_sample(sample, root, dtype)
        steps += count
        if np.shape(got) != np.shape(want) or not np.allclose(got, want, rtol=tolerance, atol=tolerance):
            wrong.append(seed)
    return wrong, steps


def test_random_expressions(monkeypatch):
    monkeypatch.setattr(segments, "FEWEST", 1)
    wrong, steps = differing(range(60))
    assert not wrong
    assert steps > 120
    assert not differing(range(60, 80), "float32", 2e-3)[0]


def test_parts(monkeypatch):
    """Many functions, and many segments, do the same."""
    monkeypatch.setattr(segments, "FEWEST", 1)
    monkeypatch.setattr(segment_code, "PART", 2)
    monkeypatch.setattr(segments, "ROOM", 10)
    assert not differing(range(200, 212))[0]


def test_a_fault_is_found(monkeypatch):
    monkeypatch.setattr(segments, "FEWEST", 1)
    monkeypatch.setitem(segment_code.ARITHMETIC, "multiply", "fadd")
    assert differing(range(12))[0]


# Functions

PAIRS = ("atan2", "hypot", "logaddexp", "maximum", "minimum", "add", "subtract", "multiply", "divide")
PLACES = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 8.0, 1e-8, -1e-8, 19.9, -38.0, 80.0, 710.0, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_functions_agree_with_numpy(dtype):
    x = np.array([*PLACES, *np.linspace(-4, 4, 40)], dtype)
    y = np.roll(x, 7)
    names = sorted(segment_code.MAPS - {"where", "power"} - segment_code.IDENTITIES)
    pairs = (*PAIRS, *segment_code.COMPARED)
    build = Builder()
    operands = [(Value(x.shape, "f", source=name), (0,)) for name in "xy"]
    made = [build.map(name, *(operands if name in pairs else operands[:1]))[0] for name in names]
    exponents = (-3, -2, -1, -0.5, 3, 4, 5, 1.3)
    made += [build.map("power", operands[0], (n, ()))[0] for n in exponents]
    made.append(build.map("where", build.map("less", *operands), *operands)[0])
    segment = Segment(build.steps, [v for v in made if isinstance(v, Value)])
    kernel = small_kernel(segment, np.dtype(dtype))
    found = dict(
        zip(kernel.results, kernel.function(*[{"x": x, "y": y}[v.source] for v in kernel.arguments]), strict=True)
    )
    labels = [*names, *[("power", n) for n in exponents], "where"]
    for value, label in zip(made, labels, strict=True):
        with np.errstate(all="ignore"):
            if isinstance(label, tuple):
                want = ELEMENTWISE["power"](x, float(label[1]))
            elif label == "where":
                want = np.where(x < y, x, y)
            else:
                f = ELEMENTWISE.get(label) or getattr(np, label)
                want = np.asarray(f(x, y) if label in pairs else f(x))
        got = found[value]  # pyright: ignore[reportArgumentType]
        assert got.dtype == (bool if label in segment_code.COMPARED else dtype), label
        tiny = np.finfo(dtype).tiny
        np.testing.assert_allclose(got, want, rtol=100 * np.finfo(dtype).eps, atol=4 * tiny, err_msg=str(label))


def test_functions_over_axes_with_special_values():
    rows = np.array(
        [[1.0, 2.0, 2.0], [np.nan, 1.0, 0.0], [np.inf, 0.0, 1.0], [-np.inf, -np.inf, -np.inf], [0.0, -np.inf, 5.0]]
    )
    for name in segment_code.OVER_AXES:
        build = Builder()
        x = Value(rows.shape, "f", source="x")
        keeps = name.endswith("softmax") or name.startswith("hard")
        value, _ = build.call(name, [(x, (0, 1))], (1,), (), (2,) if keeps else (), {0: 5, 1: 3, 2: 3})
        assert isinstance(value, Value)
        kernel = small_kernel(Segment(build.steps, [value]), np.dtype("float64"))
        with np.errstate(all="ignore"):
            want = FUNCTIONS[name](rows)
        np.testing.assert_allclose(kernel.function(rows)[0], want, rtol=1e-14, err_msg=name)


# Programs


def network(p, x):
    for k in range(4):
        x = np.tanh(x @ p[12 * k : 12 * k + 9].reshape(3, 3) + p[12 * k + 9 : 12 * k + 12])
    return np.sum(np.exp(x) * np.where(x > 0, x, 2.0))


def arguments(dtype="float64", rows=4):
    rng = np.random.default_rng(0)
    return rng.normal(size=48).astype(dtype), rng.normal(size=(rows, 3)).astype(dtype)


@pytest.mark.parametrize("transform", [rc.compile, rc.grad, rc.value_and_grad])
def test_a_program_is_one_kernel(transform):
    fused, plain = transform(network, fused=True), transform(network, fused=False)
    for dtype, tolerance in [("float64", 1e-11), ("float32", 2e-3)]:
        got, want = fused(*arguments(dtype)), plain(*arguments(dtype))
        for a, b in zip(*[r if isinstance(r, tuple) else (r,) for r in (got, want)], strict=True):
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
            assert np.asarray(a).dtype == dtype
    for program in fused._programs.all().values():
        assert program.compiled.source.count("# kernel") == 1


@pytest.mark.parametrize("rows", [0, 1])
def test_empty_and_single_rows(rows):
    args = arguments(rows=rows)
    np.testing.assert_allclose(rc.grad(network, fused=True)(*args), rc.grad(network, fused=False)(*args), rtol=1e-12)


@settings(max_examples=8)
@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 10**6))
def test_programs_with_and_without_kernels(rows, depth, seed):
    """Programs with steps that stay NumPy's between segments."""
    rng = np.random.default_rng(seed)

    def f(x, a):
        for _ in range(depth):
            x = np.sort(np.sin(x) * a[0] + np.roll(x, 1)) + np.cumsum(x) / rows
            x = x - np.max(x) * a[1]
        return np.sum(x * x)

    args = rng.normal(size=rows), rng.normal(size=2)
    for transform in (rc.compile, rc.grad):
        np.testing.assert_allclose(
            transform(f, fused=True)(*args), transform(f, fused=False)(*args), rtol=1e-9, atol=1e-9
        )


def test_inputs_as_they_come_and_results_of_their_own():
    f = rc.grad(network, fused=True)
    p, x = arguments()
    want = f(p, x)
    for laid in (np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], x[::-1].copy()[::-1]):
        assert np.array_equal(f(p, laid), want)
    more = f(p, x + 1)
    assert not np.shares_memory(want, more)
    want += 1  # results may be written to


def test_threads():
    f = rc.grad(network, fused=True)
    cases = [(arguments()[0] + k, arguments()[1]) for k in range(4)]
    wants = [f(*case) for case in cases]
    wrong = []

    def work(place):
        for _ in range(200):
            if not np.array_equal(f(*cases[place]), wants[place]):
                wrong.append(place)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_levels(monkeypatch):
    """A step that is not in a segment parts those before it from those after it, and only these."""
    f = rc.compile(lambda x: (np.exp(x) + 1, np.sort(np.sin(x) * x - 1).cumsum() * np.tanh(x) + np.exp(x)), fused=False)
    f(np.linspace(0, 1, 5))
    (version,) = f._programs.all().values()
    program = version.compiled.plan.program
    monkeypatch.setattr(segments, "FEWEST", 1)
    items: Any = segmented(program, lambda steps: [*steps])
    kinds = ["segment" if isinstance(item, Segment) else item.name for item in items]
    assert kinds.count("segment") == 2
    assert kinds[0] == kinds[-1] == "segment"
    assert sum(len(item.steps) if isinstance(item, Segment) else 1 for item in items) == len(program.steps)


def test_large_values_stay_out():
    x = Value((10_000,), "f", source="x")
    build = Builder()
    value, _ = build.map("exp", (x, (0,)))
    program = Program({"x": x}, build.steps, [Result(value, (0,), x.shape, "f")])
    assert not any(isinstance(item, Segment) for item in segmented(program, lambda steps: [*steps]))


def test_memory_is_freed():
    """Machine code goes with the function that has it."""
    import weakref

    from ricci.compiler.fused.machine import MachineCode

    made = MachineCode("define void @kernel(ptr noalias %w) {\n  ret void\n}\n")
    gone = weakref.ref(made)
    del made
    gc.collect()
    assert gone() is None


def test_code_on_disk(tmp_path, monkeypatch):
    from ricci.compiler.fused import machine

    monkeypatch.setenv("RICCI_CACHE_DIR", str(tmp_path))
    text = "define void @kernel(ptr noalias %w) {\n  store double 0x4000000000000000, ptr %w\n  ret void\n}\n"
    machine.MachineCode(text)
    monkeypatch.setattr(machine, "_object_code", lambda _text: pytest.fail("it is compiled again"))
    memory = np.zeros(1)
    machine.MachineCode(text).call(memory.ctypes.data)
    assert memory[0] == 2.0
