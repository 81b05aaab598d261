"""Fused kernels: what their source says, what Numba makes of it, and when they are used.

The source of a kernel is Python, so most of it is tested by running it as that: thousands of kernels take seconds. Few
are compiled: one with every function on special values, and some on random expressions.
"""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import ricci as rc
from ricci.calculus.modes import derivative
from ricci.compiler import stage_checks
from ricci.compiler.backends.numpy_table import ELEMENTWISE, FUNCTIONS
from ricci.compiler.emit.source import Source
from ricci.compiler.fused import deciding, kernel_files, memory
from ricci.compiler.fused import entries as nodes
from ricci.compiler.fused import kernel as kernels_of
from ricci.compiler.fused import kernel_maps as written
from ricci.compiler.fused import kernel_source as source
from ricci.compiler.fused import loops_fused as emit
from ricci.compiler.fused.loops_fused import FusedEmitter, Saving
from ricci.compiler.fused.memory import Group
from ricci.compiler.lower.builder import Builder
from ricci.compiler.pipeline import bind, lower, plan, prepare, ready
from ricci.compiler.plan.loops import Loop, blocked
from ricci.compiler.plan.program import Program
from ricci.compiler.plan.program_steps import Result, Value
from ricci.compiler.run.engines import target_named
from ricci.compiler.run.runner import Switch
from ricci.errors import InputError, MissingPackageError
from ricci.expr import conj, product, variable
from ricci.functions.complexes import abs2
from ricci.testing.complex_numbers import random_complex
from ricci.testing.generate import random_expression
from ricci.testing.interpreter import interpret

pytest.importorskip("numba", reason="fused kernels are compiled by Numba, which is not installed")

NUMPY = target_named("numpy")


@pytest.fixture(autouse=True)
def loops_alone(monkeypatch):
    """Kernels of small steps have tests of their own, in test_segments.py."""
    monkeypatch.setattr(emit, "segmented", lambda program, others: others(program.steps))


NORM = """m[b] = 1/|h| 1[h] x[b,h]; v[b] = 1/|h| 1[h] (x[b,h] - 1[h] m[b])**2
    y[b,h] = (x[b,h] - 1[h] m[b]) / sqrt(v[b] + 0.00001) g[h] + 1[b] beta[h]; l = r[b,h] y[b,h]"""


def norm(**options):
    loss = rc.parse(NORM)
    return rc.compile([loss, *loss.diff_all("x", "g", "beta")], "numpy", **options)


def norm_inputs(rows, columns, seed=0, dtype="float64"):
    rng = np.random.default_rng(seed)
    shapes = {"x": (rows, columns), "g": (columns,), "beta": (columns,), "r": (rows, columns)}
    return {name: rng.normal(size=shape).astype(dtype) for name, shape in shapes.items()}


# The source, run by Python


def as_python(kernel):
    """The kernel, its source run as it stands, with NumPy's functions on scalars."""
    real = kernel.dtype.type

    def store(array, place, value, _memory):
        array.reshape(-1)[place] = value

    scope = {name: (lambda *args, f=f: f(*args)) for name, f in ELEMENTWISE.items()}
    scope |= {name: (lambda x, n=n: np.power(x, real(n))) for n, name in written.POWERS.items()}
    scope |= {
        name: getattr(np, name) for name in ("fabs", "rint", "floor", "ceil", "sqrt", "maximum", "minimum", "empty")
    }
    scope |= {"load": lambda array, place, _memory: array.reshape(-1)[place], "store": store, "hidden": lambda n: n}
    scope |= {"plus": lambda a, b: a + b, "times": lambda a, b: a * b, "rounded": lambda a, b: a * b}
    scope |= {"is_far": lambda _x: False, "range": range}
    scope |= {"real": real, "double": np.float64, "whole": np.int64, "truth": np.bool_, "true": True, "false": False}
    scope |= {"one": real(1), "zero": real(0), "infinity": real(np.inf), "min": min}
    complexes = np.result_type(kernel.dtype, np.complex64).type
    scope |= {"complexes": complexes, "complex_of": lambda a, b: complexes(complex(a, b))}
    names = {"__builtins__": {}, **scope, **kernel.constants}
    exec(kernel.source, names)
    return kernel._launch(names["kernel"])


def compiled(kernel):
    return kernel.function


def run_sample(sample, root, function_of, dtype="float64"):
    """The value of an expression, all that can be in kernels being in kernels; and how many there were."""
    given = {name: np.asarray(value) for name, value in sample.inputs.items()}
    arrays = NUMPY.arrays({n: a.astype(dtype) if a.dtype.kind == "f" else a for n, a in given.items()})
    setting = NUMPY.setting(arrays, sample.sizes)
    program = lower(bind(prepare([root], simplify=False), setting))
    source = FusedEmitter(plan(program, setting), Saving(steps=1)).source()
    made = {name: function_of(k) for name, k in source.kernels.items()}
    run = Source(source.text, {**source.scope, **made}).function()
    before = {name: a.copy() for name, a in arrays.items()}
    result = run(*[arrays[name] for name in program.inputs])
    assert all(np.array_equal(a, before[name]) for name, a in arrays.items()), "inputs are not changed"
    return result, len(made)


def samples(seeds, **options):
    for seed in seeds:
        rng = random.Random(seed)
        sample = random_expression(rng, size=rng.randint(2, 12), order=rng.choice([2, 3, 4]), **options)
        yield sample, sample.build()


def differing(seeds, function_of, dtype="float64", tolerance=1e-9):
    """The seeds whose expressions come out wrong, and the number of kernels in all."""
    wrong, kernels = [], 0
    for seed, (sample, root) in zip(seeds, samples(seeds), strict=True):
        (want,) = interpret([root], sample.inputs, sample.sizes)
        got, count = run_sample(sample, root, function_of, dtype)
        kernels += count
        if np.shape(got) != np.shape(want) or not np.allclose(got, want, rtol=tolerance, atol=tolerance):
            wrong.append(seed)
    return wrong, kernels


@pytest.mark.parametrize("lanes", [False, True])
def test_sources_say_what_expressions_mean(monkeypatch, lanes):
    monkeypatch.setattr(nodes, "_in_lanes", lambda _loop: lanes)
    monkeypatch.setattr(source.KernelWriter, "_width", lambda _writer: 2)
    wrong, kernels = differing(range(400), as_python)
    assert not wrong
    assert kernels > 150
    assert not differing(range(400, 550), as_python, "float32", 2e-3)[0]


def differing_complex(seeds, function_of):
    """The same of expressions of complex numbers, and of their derivatives."""
    wrong, kernels = [], 0
    for seed in seeds:
        sample = random_complex(random.Random(seed), size=8)
        z = sample.variables["z"]
        total = product([(abs2(sample.expr), "i")], "")
        for root in (sample.expr, derivative(total, conj(z))):
            want = interpret([root], sample.inputs, {})[0]
            got, count = run_sample(SimpleNamespace(inputs=sample.inputs, sizes={}), root, function_of)
            kernels += count
            if np.shape(got) != np.shape(want) or not np.allclose(got, want, rtol=1e-9, atol=1e-9):
                wrong.append(seed)
    return wrong, kernels


@pytest.mark.parametrize("lanes", [False, True])
def test_complex_numbers(monkeypatch, lanes):
    monkeypatch.setattr(nodes, "_in_lanes", lambda _loop: lanes)
    wrong, kernels = differing_complex(range(120), as_python)
    assert not wrong
    assert kernels > 60
    if lanes:
        assert not differing_complex(range(120, 124), compiled)[0]


def test_sums_of_narrow_complex_numbers_are_left_to_numpy():
    """A million numbers near 1, in float32: one after another they would lose digits."""
    x = np.full(1 << 20, 1.1 + 0.7j, np.complex64)
    e = product([(variable("x", x.shape, complex=True) * conj(variable("y", x.shape, complex=True)), "i")], "")
    stage, arrays = prepare([e]), NUMPY.arrays({"x": x, "y": x})
    run = ready(stage, NUMPY.setting(arrays, {}, options=(("fused", True),)))
    np.testing.assert_allclose(run(x, x), x.size * (1.1**2 + 0.7**2), rtol=1e-4)


def test_a_fault_in_complex_numbers_is_found(monkeypatch):
    monkeypatch.setitem(written.COMPLEX_MAPS, "conj", "{0}")
    assert differing_complex(range(20), as_python)[0]


def test_a_fault_is_found(monkeypatch):
    monkeypatch.setitem(source.MAPS, "multiply", "{0} + {1}")
    assert differing(range(60), as_python)[0]


def test_random_expressions_compiled():
    wrong, kernels = differing([*range(3, 20)], compiled)
    assert not wrong
    assert kernels > 4


# Functions


TOLERANCES = {"erfc": 5, "gelu": 6, "log10": 4, "lgamma": 20}  # in units of the last place; 4 otherwise
EVERYWHERE = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 8.0, 1e-8, -1e-8, 19.9, -38.0, 80.0, 1e5, np.inf, -np.inf, np.nan]
EXTREME = {
    "float64": [1e-310, 709.7, 710.0, -708.5, -745.0, 1e300],
    "float32": [1e-40, 88.7, 89.0, -87.4, -103.0, 1e30],
}
EXACT = {  # SciPy's lose digits far from 0
    "erfc": lambda x: np.vectorize(math.erfc, otypes=[x.dtype])(x),
    "gelu": lambda x: x / 2 * np.vectorize(math.erfc, otypes=[x.dtype])(x * -(0.5**0.5)),
}
PAIRS = ("power", "atan2", "hypot", "logaddexp", "maximum", "minimum", "less", "less_equal", "equal", "not_equal")


def maps_of(names, places, dtype):
    """Kernels with a step for each function, at all places, and pairs of them; with the names of their results."""
    build = Builder()
    *operands, near = [(Value((len(places),), "f", source=name), (0,)) for name in "xyz"]
    single = {name: [near] if name in written.ANGLES else operands[:1] for name in names}
    made = [build.map(name, *(operands if name in PAIRS else single[name]))[0] for name in names]
    made += [build.map("power", operands[0], (n, ()))[0] for n in written.POWERS]
    made.append(build.map("where", build.map("less", *operands), *operands)[0])
    results = [Result(value, (0,), value.shape, value.kind) for value in made]  # pyright: ignore[reportAttributeAccessIssue]
    program = Program({v.source: v for v, _ in [*operands, near]}, build.steps, results)
    loops = [item for item in blocked(program, 8, Saving(able=nodes.fusable)) if isinstance(item, Loop)]
    labels = [*names, *[f"power {n}" for n in written.POWERS], "where"]
    return [kernels_of.kernel(loop, np.dtype(dtype)) for loop in loops], made, labels


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_functions_agree_with_numpy(dtype):
    rng = np.random.default_rng(0)
    arithmetic = {"add", "subtract", "multiply", "divide", "negative", "square", "sqrt", "reciprocal"}
    names = sorted((written.FLOATING | written.SLOW) - {"where", "cast", *arithmetic})
    places = [*EVERYWHERE, *EXTREME[dtype], *rng.normal(size=400), *rng.uniform(-30, 30, size=400)]
    x = np.array(places, dtype)
    y = np.roll(x, 7)
    z = np.where((np.abs(x) < 1e6) | ~np.isfinite(x), x, x.dtype.type(1))  # angles
    kernels, made, labels = maps_of(names, places, dtype)
    inputs = {"x": x, "y": y, "z": z}
    found = {}
    for kernel in kernels:
        results = kernel.function(*[inputs[v.source] for v in kernel.arguments])  # pyright: ignore[reportOptionalMemberAccess]
        found |= dict(zip(kernel.results, results, strict=True))  # pyright: ignore[reportOptionalMemberAccess]
    for value, label in zip(made, labels, strict=True):
        name, _, exponent = label.partition(" ")
        with np.errstate(all="ignore"):
            args = (x, y) if name in PAIRS else (x < y, x, y) if name == "where" else (x,)
            args = (z,) if name in written.ANGLES else args
            want = ELEMENTWISE["power"](x, float(exponent)) if exponent else EXACT.get(name, ELEMENTWISE[name])(*args)
        size = np.maximum(np.abs(x), np.abs(y)) if name == "logaddexp" else name == "lgamma"  # which have zeros
        size = np.maximum(np.abs(want), size)
        assert_close_in_units(label, found[value], want, x, TOLERANCES.get(name, 4), size)


def assert_close_in_units(name, got, want, x, units, size):
    """Equal up to units of the last place; not a number and infinite where NumPy says so; tiny results may be 0."""
    if want.dtype == bool:
        assert np.array_equal(got, want), name
        return
    info = np.finfo(want.dtype)
    special = ~np.isfinite(want) | ~np.isfinite(got)
    if name == "lgamma":  # SciPy has the infinite ones elsewhere
        special &= np.abs(x) < 1e30
        special &= np.abs(x) > 1e-30
    assert np.array_equal(got[special], want[special], equal_nan=True), (name, x[special])
    finite = np.isfinite(want) & np.isfinite(got)
    distance = np.abs(got[finite].astype(float) - want[finite].astype(float))
    allowed = units * np.spacing(np.maximum(size[finite], info.tiny)).astype(float)
    tiny = np.abs(want[finite]) < info.tiny * 4
    bad = (distance > allowed) & ~(tiny & (np.abs(got[finite]) < info.tiny * 4))
    assert not bad.any(), (name, x[finite][bad][:4], got[finite][bad][:4], want[finite][bad][:4])


def test_functions_over_axes_with_special_values():
    rows = np.array(
        [[1.0, 2.0, 3.0], [np.nan, 1.0, 0.0], [np.inf, 0.0, 1.0], [-np.inf, -np.inf, -np.inf], [0.0, -np.inf, 5.0]]
    )
    names = ["softmax", "log_softmax", "logsumexp", "hardmax", "hardmin", "max", "min", "prod", "any", "all"]
    build = Builder()
    x = Value(rows.shape, "f", source="x")
    made = []
    for name in names:
        keeps = name.endswith("softmax") or name.startswith("hard")
        value, _ = build.call(name, [(x, (0, 1))], (1,), (), (2,) if keeps else (), {0: 5, 1: 3, 2: 3})
        made.append(value)
    results = [Result(value, tuple(range(len(value.shape))), value.shape, value.kind) for value in made]
    (loop,) = blocked(Program({"x": x}, build.steps, results), 8, Saving())
    kernel = kernels_of.kernel(loop, np.dtype("float64"))  # pyright: ignore[reportArgumentType]
    assert kernel.source.count("maximum(") == 1, "the maximum is taken once for all five"  # pyright: ignore[reportOptionalMemberAccess]
    found = dict(zip(kernel.results, kernel.function(rows), strict=True))  # pyright: ignore[reportOptionalMemberAccess]
    for name, value in zip(names, made, strict=True):
        with np.errstate(all="ignore"):
            want = FUNCTIONS[name](rows)
        assert np.allclose(found[value], want, rtol=1e-14, atol=0, equal_nan=True), name
        assert found[value].dtype == want.dtype


def test_angles_that_are_too_large_go_to_numpy():
    f = rc.compile(rc.parse("y[i] = sin(x[i]) cos(2*x[i]) + x[i]*0"), "numpy", fused=True)
    x = np.array([0.3, 1e22, -2e7, np.inf, 5e5, -0.0])
    with np.errstate(all="ignore"):
        assert np.allclose(f(x=x), np.sin(x) * np.cos(2 * x), rtol=1e-12, equal_nan=True)
        assert np.allclose(f(x=x / 1e20), np.sin(x / 1e20) * np.cos(2 * x / 1e20), rtol=1e-12, equal_nan=True)
    assert "is_far" in f.source


# Inputs and results


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_layouts(dtype):
    """Inputs that are strided, in Fortran's order, read-only or not aligned give the same, and stay as they are."""
    inputs = norm_inputs(40, 24, dtype=dtype)
    want = norm(fused=False)(**inputs)
    f = norm(fused=True)
    near = {"rtol": 1e-10} if dtype == "float64" else {"rtol": 2e-3, "atol": 2e-3}

    def strided(a):
        return np.repeat(a, 2, axis=-1)[..., ::2]

    def reversed_(a):
        return a[::-1].copy()[::-1]

    def frozen(a):
        a = a.copy()
        a.setflags(write=False)
        return a

    def shifted(a):
        memory = np.empty(a.nbytes + 1, np.uint8)[1:].view(dtype).reshape(a.shape)
        memory[...] = a
        return memory

    for lay in (np.asfortranarray, strided, reversed_, frozen, shifted, lambda a: a):
        laid = {name: lay(a) for name, a in inputs.items()}
        got = f(**laid)
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, **near)  # pyright: ignore[reportArgumentType, reportCallIssue]
            assert np.asarray(a).dtype == dtype
        assert all(np.array_equal(laid[name], inputs[name]) for name in inputs)
    assert "kernel0(" in f.source


@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (1, 1), (3, 130)])
def test_sizes(shape):
    inputs = norm_inputs(*shape)
    for a, b in zip(norm(fused=True)(**inputs), norm(fused=False)(**inputs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_results_are_nobody_elses():
    """Large results are in memory that is used again, but never while somebody holds them or a view of them."""
    memory.POOL.clear()
    f, plain = norm(fused=True), norm(fused=False)
    held = []
    for seed in range(5):
        inputs = norm_inputs(1024, 256, seed)
        result = f(**inputs)
        held.append((result[1][3:5], result[2], result[1][3:5].copy(), plain(**inputs)))
        assert not any(np.shares_memory(r, a) for r in result[1:] for a in inputs.values())
        assert not np.shares_memory(result[2], result[3])
    for part, gradient, copy, want in held:
        assert np.array_equal(part, copy)
        np.testing.assert_allclose(part, want[1][3:5], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(gradient, want[2], rtol=1e-9, atol=1e-12)
    assert len({part.ctypes.data for part, *_ in held}) == 5
    del held, part, gradient, result
    assert memory.POOL.nbytes > 2**20
    first = f(**inputs)[1].ctypes.data
    assert f(**inputs)[1].ctypes.data == first, "memory that nobody holds is used again"
    rc.cache_clear()
    assert memory.POOL.nbytes == 0


def test_a_block_is_on_the_shelf_only_with_its_results_in_it(monkeypatch):
    memory.POOL.clear()
    block = kernels_of.ResultBlock(Group("f", (2**18,), [Value((2**18,), "f")] * 2), np.dtype("float64"))
    taken = []
    give = block.shelf.give
    monkeypatch.setattr(block.shelf, "give", lambda memory: (give(memory), taken.append(block.take())))
    results = block.parts(block.take())
    assert not any(np.shares_memory(result, taken[0]) for result in results), "as another thread might find it"


def test_results_that_are_inputs_or_alike():
    x = rc.variable("x[b]")
    several = [x * 1, 2 * x, x.sum("b").diff("x"), 0 * x, 0 * x + 3, 2 * x, x * x + 5, 0 * x]
    f = rc.compile(several, "numpy", fused=True)
    given = np.linspace(0, 1, 7)
    results = f(x=given)
    for result, want in zip(results, [given, 2 * given, 1, 0, 3, 2 * given, given**2 + 5, 0], strict=True):
        assert np.array_equal(result, np.broadcast_to(want, 7))
        assert result.flags.writeable
    for k, result in enumerate(results):
        result += 100.0 * k
    assert np.array_equal(given, np.linspace(0, 1, 7))
    assert np.array_equal(results[1] + 400, results[5]), "no two share memory"


def test_threads():
    f = norm(fused=True)
    plain = norm(fused=False)
    cases = [norm_inputs(600, 256, seed) for seed in range(4)]
    wants = [plain(**inputs) for inputs in cases]
    wrong = []

    def work(place):
        for _ in range(20):
            got = f(**cases[place])
            if not all(np.allclose(a, b) for a, b in zip(got, wants[place], strict=True)):
                wrong.append(place)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_compressed_results():
    loss = rc.parse("l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))")
    f = loss.diff("w", "w").compile("numpy", compressed=True, fused=True)
    rng = np.random.default_rng(0)
    inputs = {"X": rng.normal(size=(30, 4)), "y": rng.normal(size=30), "w": rng.normal(size=4)}
    want = loss.diff("w", "w").compile("numpy", fused=False)(**inputs)
    for _ in range(3):
        np.testing.assert_allclose(f(**inputs).todense(), want)


# When


def hurried(monkeypatch, **changes):
    """Kernels are compiled in the call that asks for them, which is the fourth, and what is compiled is faster."""
    times = iter(range(10**9))
    monkeypatch.setitem(stage_checks._state, "checking", False)  # which wraps what runs

    def at_once(trial):
        trial.compile()
        return True

    monkeypatch.setattr(deciding, "clock", lambda: next(times))
    monkeypatch.setattr(deciding.WORKER, "submit", at_once)
    monkeypatch.setattr(deciding, "LEAST", 0.0)
    monkeypatch.setattr(deciding, "STAKE", 0.0)
    monkeypatch.setattr(deciding, "BETTER", 2.0)
    for name, value in changes.items():
        monkeypatch.setattr(deciding, name, value)


def test_kernels_come_once_they_prove_faster(monkeypatch):
    rc.cache_clear()
    hurried(monkeypatch)
    inputs = norm_inputs(64, 32)
    f = norm()
    want = norm(fused=False)(**inputs)
    for _ in range(4):
        f(**inputs)
        assert "kernel" not in f.source
    assert isinstance(next(iter(f._shortcuts.all().values())), deciding.Trial)
    for _ in range(8):
        for a, b in zip(f(**inputs), want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10)
    assert f.source.startswith("def kernel0(")
    assert "\ndef program(" in f.source
    assert "fused: steps t0…" in str(f.plan)
    run = next(iter(f._shortcuts.all().values()))
    assert run is f.runner.run
    assert not isinstance(run, Switch), "a warm call goes to the function itself"


def test_the_number_of_loops_is_bounded(monkeypatch):
    rc.cache_clear()
    hurried(monkeypatch)
    monkeypatch.setattr(emit, "MOST_COMPILED", 0)
    f = norm()
    for _ in range(12):
        f(**norm_inputs(64, 32))
    assert "kernel" not in f.source, "what nobody asked for"
    asked = norm(fused=True)
    asked(**norm_inputs(64, 32))
    assert "kernel0(" in asked.source


def test_kernels_that_are_not_faster_go(monkeypatch):
    rc.cache_clear()
    hurried(monkeypatch, BETTER=0.5)
    inputs = norm_inputs(64, 32)
    f = norm()
    plain = None
    for number in range(20):
        f(**inputs)
        plain = f.runner.run.plain if number == 0 else plain  # pyright: ignore[reportFunctionMemberAccess]
    assert "kernel" not in f.source
    assert next(iter(f._shortcuts.all().values())) is plain
    assert f.runner.run is plain


def elsewhere(code, **environment):
    """What code prints in a process of its own."""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=variables)
    assert run.returncode == 0, run.stderr
    return run.stdout


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def takes(self, seconds):
        def run(*_args):
            self.now += seconds
            return seconds

        return run


def trial_of(monkeypatch, plain, fused, saves=1.0, fixed=0.0, costs=0.5):
    """A trial of functions that take so long; what was asked of the worker, and what was kept."""
    clock, asked, kept = Clock(), [], []
    monkeypatch.setattr(deciding, "clock", clock)
    monkeypatch.setattr(deciding.WORKER, "submit", lambda trial: asked.append(trial) or True)
    slow, fast = clock.takes(plain), clock.takes(fused)
    return deciding.Trial(slow, saves, fixed, costs, lambda: fast, kept.append), slow, fast, asked, kept


def test_the_stake_is_what_was_lost(monkeypatch):
    trial, _, fast, asked, kept = trial_of(monkeypatch, 1e-3, 2e-4, saves=5e-4)
    needed = deciding.STAKE * 0.5 / 5e-4
    calls = 0
    while not asked:
        trial()
        calls += 1
    assert calls == pytest.approx(needed, abs=2)
    assert [trial() for _ in range(50)] == [1e-3] * 50, "calls go on as they were"
    trial.compile()
    assert {trial() for _ in range(4)} == {1e-3, 2e-4}, "they take turns"
    while isinstance(trial.run, type(trial._turns)):
        trial()
    assert trial.run is fast
    assert kept == [fast]
    assert asked == [trial]


def test_calls_beside_one_another_decide_once(monkeypatch):
    """As of threads: each call is begun while others are under way."""
    trial, slow, fast, asked, kept = trial_of(monkeypatch, 1.0, 0.1)
    begun = []

    def beside(run):
        def call(*args):
            begun.append(None)
            if len(begun) % 9:
                trial()
            return run(*args)

        return call

    trial.plain, trial.make = beside(slow), lambda: beside(fast)
    for _ in range(10):
        trial()
    assert asked == [trial]
    trial.compile()
    turns = trial.run
    for _ in range(10):
        trial()
    assert len(kept) == 1 and turns() == 0.1


def test_what_saves_little_is_not_compiled(monkeypatch):
    trial, slow, _, asked, _ = trial_of(monkeypatch, 1.0, 0.5, saves=1e-3, fixed=0.9)
    for _ in range(10):
        trial()
    assert trial.run is slow
    assert not asked


def test_the_budget(monkeypatch):
    worker = deciding.Worker()
    assert worker.spent == 0
    worker.spent = 1e9
    trial, slow, _, _, _ = trial_of(monkeypatch, 1.0, 0.5)
    monkeypatch.setattr(deciding, "WORKER", worker)
    for _ in range(10):
        trial()
    assert trial.run is slow
    assert worker.thread is None


def test_compiling_aside(monkeypatch):
    """In a thread, while calls go on; holders of the function get the new one."""
    rc.cache_clear()
    for name, value in {"LEAST": 0.0, "STAKE": 0.0, "BETTER": 1e9}.items():
        monkeypatch.setattr(deciding, name, value)
    inputs = norm_inputs(16, 8)
    want = norm(fused=False)(**inputs)
    f = norm()
    for _ in range(5):
        f(**inputs)
    thread = deciding.WORKER.thread
    if thread is not None:
        thread.join(120)
    for _ in range(12):
        for a, b in zip(f(**inputs), want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10)
    assert "kernel0(" in f.source


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_forks_beside_the_thread():
    """A fork while a kernel is compiled waits for it; the child computes, and compiles."""
    code = """if 1:
        import os, numpy as np, ricci as rc
        from ricci.compiler.fused import deciding
        deciding.LEAST, deciding.STAKE = 0.0, 0.0
        f = lambda x: (np.exp(np.sin(x) * 2) + x * x).sum()
        x = np.linspace(0, 1, 500)
        g = rc.grad(f)
        want = [g(x) for _ in range(6)][-1]
        child = os.fork()
        if child == 0:
            ok = np.allclose(g(x), want) and np.allclose(rc.grad(lambda x: f(x) * 2, fused=True)(x), 2 * want)
            os._exit(0 if ok else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert elsewhere(code).split() == ["0"]


def test_not_worth_it_or_not_wanted(monkeypatch):
    rc.cache_clear()
    hurried(monkeypatch)
    small = rc.parse("y[i] = exp(x[i]) + 1")
    for f, inputs in [(small.compile(), {"x": np.ones(3)}), (norm(fused=False), norm_inputs(512, 512))]:
        for _ in range(20):
            f(**inputs)
        assert "kernel" not in f.source
        assert not isinstance(f.runner.run, Switch)
    monkeypatch.setattr(kernels_of, "installed", lambda: False)
    monkeypatch.setattr(emit, "installed", lambda: False)
    f = norm()
    for _ in range(20):
        f(**norm_inputs(512, 256))
    assert "kernel" not in f.source


@pytest.mark.parametrize("version, state", [(None, "not installed"), ("0.61.2", "installed as 0.61.2")])
def test_without_numba(monkeypatch, version, state):
    rc.cache_clear()
    monkeypatch.setattr(kernels_of, "found", lambda: version)
    assert not kernels_of.installed()
    message = rf'fused=True needs Numba 0.62 or later, which is {state}: pip install "ricci\[fast\]"'
    with pytest.raises(MissingPackageError, match=message):
        norm(fused=True)(**norm_inputs(4, 3))


@pytest.mark.parametrize("version", ["0.62.0rc1", "0.68.1", "1.0"])
def test_versions_of_numba(monkeypatch, version):
    monkeypatch.setattr(kernels_of, "found", lambda: version)
    assert kernels_of.installed()


def test_a_kernel_that_does_not_compile(monkeypatch):
    rc.cache_clear()
    hurried(monkeypatch)
    monkeypatch.setitem(source.MAPS, "multiply", "nonsense({0}, {1})")
    inputs = norm_inputs(64, 32)
    f = norm()
    for _ in range(4):
        want = f(**inputs)
    with pytest.warns(RuntimeWarning, match="plain NumPy stays"):
        got = f(**inputs)
    assert np.array_equal(got[1], want[1])
    with pytest.raises(Exception, match="nonsense"):
        norm(fused=True)(**inputs)


def test_what_fails_once_is_tried_again():
    """Beside other threads a compiler may fail in ways that it does not when it is asked again."""
    tries = []

    def make():
        tries.append(None)
        if len(tries) < 2:
            raise SystemError("bad argument to internal function")
        return lambda: "fast"

    trial = deciding.Trial(lambda: "plain", 1.0, 0.0, 1.0, make, lambda run: None)
    trial.compile()
    assert len(tries) == 2 and trial.fault is None and trial() in ("fast", "plain")


def test_kernels_are_of_bounded_size():
    """A long chain is several kernels, so that compiling is linear in it."""
    y = x = rc.variable("x[i]")
    for _ in range(60):
        y = (y * y + x).sin()
    f = y.sum("i").diff("x").compile("numpy", fused=False)
    f(x=np.ones(5))
    made = FusedEmitter(f.plan, Saving())
    kernels = list(made.source().kernels.values())
    loops = [item for item in made.items if isinstance(item, Loop)]
    assert len(loops) == len(kernels) > 2
    assert max(len(loop.steps) for loop in loops) <= emit.MOST_STEPS


# Kernels on disk

ONE = """if 1:
    import os, sys, numpy as np, ricci as rc
    from ricci.compiler.fused import kernel_files
    save = kernel_files.KernelFile.save
    kernel_files.KernelFile.save = lambda self: (save(self), print("compiled"))
    x = np.linspace(0.1, 1, 5000).astype(sys.argv[1])
    f = lambda x: np.sum(np.exp(x * float(sys.argv[2])) * np.log(x) + x)
    assert np.allclose(rc.grad(f, fused=True)(x), rc.grad(f, fused=False)(x), rtol=1e-4)
"""


def compiled_elsewhere(place, dtype="float64", number="2.5"):
    code = ONE.replace("sys.argv[1]", repr(dtype)).replace("sys.argv[2]", repr(number))
    return elsewhere(code, RICCI_CACHE_DIR=str(place)).count("compiled")


def test_a_second_process_does_not_compile(tmp_path):
    first = compiled_elsewhere(tmp_path)
    assert first > 0
    files = list((tmp_path / "kernels").iterdir())
    assert len(files) == first
    assert compiled_elsewhere(tmp_path) == 0
    assert compiled_elsewhere(tmp_path, number="3.5") == first, "constants are part of the code"
    assert compiled_elsewhere(tmp_path, "float32") == first
    files[0].write_bytes(files[0].read_bytes()[:-7])
    assert compiled_elsewhere(tmp_path) == 1, "what is broken is compiled again"
    assert compiled_elsewhere(tmp_path) == 0


def test_folders_that_cannot_be_used(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RICCI_CACHE_DIR", str(tmp_path / "file"))
    assert kernel_files.folder() is None
    monkeypatch.setenv("RICCI_CACHE_DIR", "")
    assert kernel_files.folder() is None
    monkeypatch.setenv("RICCI_CACHE_DIR", str(tmp_path / "own"))
    place = kernel_files.folder()
    assert place is not None
    place.chmod(0o777)
    assert kernel_files.folder() is None, "others could put code there"
    monkeypatch.delenv("RICCI_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    monkeypatch.setattr(sys, "platform", "linux")
    assert kernel_files.folder() == tmp_path / "user" / "ricci" / "kernels"


def test_old_files_go(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_files, "MOST_FILES", 8)
    for number in range(9):
        path = tmp_path / f"{number}.kernel"
        path.write_text("")
        os.utime(path, (number, number))
    kernel_files._tidy(tmp_path)
    assert sorted(path.stem for path in tmp_path.iterdir()) == list("2345678")


# On transforms


def loss(w, x, y):
    z = np.tanh(x @ w) - y
    return np.sum(z * z * np.exp(-(z**2))) + np.sum(w**2)


def drawn(dtype="float64", rows=6, columns=3):
    rng = np.random.default_rng(0)
    return tuple([rng.normal(size=s).astype(dtype) for s in [(columns,), (rows, columns), (rows,)]])


TRANSFORMS = {
    "compile": rc.compile,
    "grad": rc.grad,
    "value_and_grad": rc.value_and_grad,
    "jacobian": rc.jacobian,
    "hessian": rc.hessian,
    "hessian_diagonal": rc.hessian_diagonal,
    "jvp": lambda f, **o: lambda *a: rc.jvp(f, a, a, **o),
    "vjp": lambda f, **o: lambda *a: rc.vjp(f, *a, **o)[1](1.0),
    "linearize": lambda f, **o: lambda *a: rc.linearize(f, *a, **o)[1](*a),
    "vmap": lambda f, **o: lambda w, x, y: rc.vmap(f, in_axes=(None, 0, 0), **o)(w, x[None], y[None]),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_every_transform_takes_fused(name):
    transform = TRANSFORMS[name]
    plain, fused = [transform(loss, fused=value)(*drawn()) for value in (False, True)]
    parts = lambda x: list(x) if isinstance(x, tuple) else [x]  # noqa: E731
    for a, b in zip(parts(plain), parts(fused), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    with pytest.raises(InputError, match="takes True or False, or None, for fused"):
        transform(loss, fused="yes")(*drawn())


def test_a_transform_has_kernels():
    g = rc.grad(loss, fused=True)
    g(*drawn())
    (program,) = g._programs.all().values()
    assert "kernel0(" in program.compiled.source
    single = g(*drawn("float32"))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, rc.grad(loss, fused=False)(*drawn()), rtol=1e-4)


@pytest.mark.parametrize("rows", [0, 1])
def test_empty_and_single_rows(rows):
    args = drawn(rows=rows)
    np.testing.assert_allclose(rc.grad(loss, fused=True)(*args), rc.grad(loss, fused=False)(*args), rtol=1e-12)


def test_nans_are_found_in_kernels_too():
    f = lambda x: np.sum(np.log(x) * np.exp(x) * x)  # noqa: E731
    g = rc.grad(f, fused=True)
    with np.errstate(all="ignore"), rc.debug_nans(), pytest.raises(rc.RicciError, match="log"):
        g(np.array([1.0, -1.0]))


def test_sources_hold_no_numbers_of_the_user():
    f = rc.compile(rc.parse("y[i] = x[i]*12345.678 + exp(x[i])*0.98765"), "numpy", fused=True)
    f(x=np.ones(3))
    assert "def kernel0(" in f.source
    assert "12345" not in f.source
    assert "98765" not in f.source
