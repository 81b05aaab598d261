"""Loops as machine code: the same states as in Python and by the plain interpreter, whatever the body does."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest

from ricci.calculus.modes import derivative
from ricci.compiler.fused import loop_kernel, segment_code
from ricci.compiler.fused.loop_kernel import LoopKernel, LoopRun, TensorRun, able
from ricci.compiler.fused.matrix_code import OF_MATRICES
from ricci.compiler.pipeline import bind, evaluate, lower, prepare
from ricci.compiler.plan.program_steps import OUTSIDE
from ricci.compiler.run.engines import target_named
from ricci.compiler.run.function import Compiled
from ricci.expr import OPS, Variable, add, elementwise, function, one_hot, product, topological, variable
from ricci.expr.moving import entry, flipped
from ricci.loops import loop
from ricci.testing.generate import random_expression
from ricci.testing.interpreter import interpret

pytest.importorskip("llvmlite", reason="loops are compiled by LLVM, which comes with Numba")

NUMPY = target_named("numpy")


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Kernels are compiled at the first call."""
    monkeypatch.setattr(loop_kernel, "FIRST", 0.0)
    monkeypatch.setattr(loop_kernel, "EACH", 0.0)


def loops_of(e, values):
    """The loops of a program."""
    arrays = NUMPY.arrays(values)
    program = lower(bind(prepare([e]), NUMPY.setting(arrays, {}, single=False)))
    return [step.params[0][0] for step in program.steps if step.name == OUTSIDE]


def value_of(e, values):
    return evaluate(prepare([e]), values)[0]


def both_ways(e, values, monkeypatch):
    """The value by machine code, where that is possible, and in Python; and how many loops were machine code."""
    fast = value_of(e, values)
    count = sum(able(one) for one in loops_of(e, values))
    with monkeypatch.context() as patch:
        patch.setattr(LoopRun, "__call__", lambda self, *given: self.plain(*given))
        plain = value_of(e, values)
    return fast, plain, count


# Random bodies


def total(e):
    return product([(e, tuple(range(len(e.shape))))], ())


def random_loop(seed, length):
    """A loop around a random expression, some of whose inputs are the state, some slices, some fixed; and inputs."""
    rng = random.Random(seed)
    sample = random_expression(rng, size=rng.randint(2, 9), order=rng.choice([1, 2, 3]))
    root = sample.build()
    own = [v for v in topological(root) if isinstance(v, Variable)]
    floats = [v for v in own if sample.inputs[v.name].dtype.kind == "f"]
    if not floats:
        return None
    state = rng.choice(floats)
    step = elementwise(OPS["tanh"], total(root))
    labels = tuple(range(len(state.shape)))
    body = add([(0.5, state), (0.25, product([(step, ()), (state, labels)], labels)), (0.5, step)])
    inputs, slices = {}, {}
    draw = np.random.default_rng(seed)
    for v in own:
        value = sample.inputs[v.name]
        if v is state:
            start = variable("start", v.shape)
            inputs["start"] = value
        elif v in floats and rng.random() < 0.5:
            moving = variable(f"all_{v.name}", (length, *v.shape))
            inputs[moving.name] = value + 0.01 * draw.normal(size=(length, *value.shape))
            slices[v] = flipped(moving, 0) if rng.random() < 0.3 else moving
        else:
            inputs[v.name] = value
    return loop(body, state, start, slices, length), inputs


def differing(seeds, monkeypatch, dtype="float64", tolerance=1e-9):
    wrong, kernels = [], 0
    for seed in seeds:
        made = random_loop(seed, (0, 1, 2, 7)[seed % 4])
        if made is None:
            continue
        e, inputs = made
        (want,) = interpret([e], inputs, {})
        given = {n: a.astype(dtype) if a.dtype.kind == "f" else a for n, a in inputs.items()}
        before = {n: a.copy() for n, a in given.items()}
        fast, plain, count = both_ways(e, given, monkeypatch)
        kernels += count
        assert all(np.array_equal(a, before[n]) for n, a in given.items()), "inputs are not changed"
        assert fast.dtype == plain.dtype == dtype
        same = [np.allclose(found, want, rtol=tolerance, atol=tolerance, equal_nan=True) for found in (fast, plain)]
        if np.shape(fast) != np.shape(want) or not all(same):
            wrong.append(seed)
    return wrong, kernels


def test_random_loops(monkeypatch):
    wrong, kernels = differing(range(30), monkeypatch)
    assert not wrong
    assert kernels > 8
    assert not differing(range(60, 70), monkeypatch, "float32", 2e-3)[0]


def test_a_fault_is_found(monkeypatch):
    monkeypatch.setitem(segment_code.ARITHMETIC, "add", "fsub")
    assert differing(range(200, 212), monkeypatch)[0]


def test_random_gradients(monkeypatch):
    checked = 0
    for seed in range(100, 112):
        made = random_loop(seed, 3)
        if made is None:
            continue
        e, inputs = made
        loss = total(elementwise(OPS["tanh"], e))
        slope = derivative(loss, variable("start", inputs["start"].shape), "reverse")
        (want,) = interpret([slope], inputs, {})
        fast, plain, count = both_ways(slope, inputs, monkeypatch)
        np.testing.assert_allclose(fast, want, rtol=1e-8, atol=1e-9, err_msg=str(seed))
        np.testing.assert_allclose(plain, want, rtol=1e-8, atol=1e-9, err_msg=str(seed))
        checked += count
    assert checked > 4


# What arrays may be


N = 3
W, X, START = variable("W", (N, N)), variable("X", (20, N)), variable("h0", (N,))


def tanh(e):
    return elementwise(OPS["tanh"], e)


def network(xs=X, length=20):
    h, x = variable("hh", (N,)), variable("xx", (N,))
    linear = product([(W, (0, 1)), (h, (1,))], (0,))
    return loop(tanh(add([(1, linear), (1, x)])), h, START, {x: xs}, length)


def network_values():
    rng = np.random.default_rng(0)
    return {"W": rng.normal(size=(N, N)), "X": rng.normal(size=(20, N)), "h0": rng.normal(size=N)}


def kernel_of(e, values):
    (rolled,) = loops_of(e, values)
    return rolled, LoopKernel(rolled)


def test_arrays_that_lie_in_any_way():
    v = network_values()
    rolled, kernel = kernel_of(network(), v)
    want = rolled.by_steps(v["W"], v["X"], v["h0"])
    wide = np.zeros((20, 2 * N))
    wide[:, ::2] = v["X"]
    odd = np.frombuffer(b"x" + v["X"].tobytes(), np.uint8)[1:].view(np.float64).reshape(20, N)
    assert not odd.flags.aligned
    back = v["X"][::-1].copy()[::-1]
    for xs in (v["X"], np.asfortranarray(v["X"]), wide[:, ::2], odd, back):
        for matrix in (v["W"], np.asfortranarray(v["W"])):
            np.testing.assert_allclose(kernel(matrix, xs, v["h0"]), want, rtol=1e-13)
    one = np.broadcast_to(v["X"][0], (20, N))
    np.testing.assert_allclose(kernel(v["W"], one, v["h0"]), rolled.by_steps(v["W"], one, v["h0"]), rtol=1e-13)


def test_pieces():
    """A long loop runs in pieces, forwards and backwards, with all states kept or the last alone."""
    v = network_values()
    rolled, kernel = kernel_of(network(), v)
    want = rolled.by_steps(v["W"], v["X"], v["h0"])
    kernel.piece = 6
    np.testing.assert_allclose(kernel(v["W"], v["X"], v["h0"]), want, rtol=1e-13)
    np.testing.assert_allclose(
        kernel(v["W"], v["X"][::-1], v["h0"]), rolled.by_steps(v["W"], v["X"][::-1], v["h0"]), rtol=1e-13
    )


def test_infinities_and_what_is_no_number(monkeypatch):
    for bad in (np.inf, -np.inf, np.nan):
        v = network_values()
        v["X"][7, 1] = bad
        fast, plain, _ = both_ways(network(), v, monkeypatch)
        np.testing.assert_array_equal(np.isnan(fast), np.isnan(plain))
        np.testing.assert_allclose(fast, plain, rtol=1e-12)


def test_compiled_once_it_is_worth_it(monkeypatch):
    monkeypatch.setattr(loop_kernel, "FIRST", 3 * 20 * loop_kernel.STEP * 4.5)
    v = network_values()
    (rolled,) = loops_of(network(), v)
    run = rolled.on_numpy
    made = []
    for _ in range(5):
        run(v["W"], v["X"], v["h0"])
        made.append(run.kernel is not None)
    assert made == [False, False, False, True, True]
    again = pickle.loads(pickle.dumps(rolled))
    np.testing.assert_allclose(again.on_numpy(v["W"], v["X"], v["h0"]), run(v["W"], v["X"], v["h0"]), rtol=1e-13)


def test_loops_in_loops(monkeypatch):
    h, s, x = variable("hh", (N,)), variable("ss", (N,)), variable("xx", (N,))
    linear = product([(W, (0, 1)), (h, (1,))], (0,))
    inner = entry(loop(tanh(add([(1, linear), (1, x)])), h, s, {}, 3), 0, 3)
    e = loop(add([(1, inner), (0.5, x)]), s, START, {x: X}, 20)
    v = network_values()
    (want,) = interpret([e], v, {})
    fast, plain, count = both_ways(e, v, monkeypatch)
    assert count == 1
    np.testing.assert_allclose(fast, want, rtol=1e-12)
    np.testing.assert_allclose(plain, want, rtol=1e-12)
    for name in (W, X, START):
        slope = derivative(total(tanh(e)), name, "reverse")
        (want,) = interpret([slope], v, {})
        fast, plain, count = both_ways(slope, v, monkeypatch)
        assert count > 1
        np.testing.assert_allclose(fast, want, rtol=1e-10)
        np.testing.assert_allclose(plain, want, rtol=1e-10)


# Functions of matrices


def of_matrices(name, n, columns=0):
    """A loop whose state is a matrix, and what is made of it in a step."""
    s, a = variable("ss", (n, n)), variable("aa", (n, n))
    params, args = (), [add([(1, s), (1, a)])]
    if name in ("solve", "triangular_solve"):
        right = variable("right", (n, *[2] * columns))
        args.append(right)
        params = (columns,) if name == "solve" else (columns, True, n % 2 == 0)
    made = function(OPS[name], tuple(args), params)
    if name in ("inv", "cholesky"):
        result = add([(0.1, made), (0.1, s)])
    else:
        result = product([(elementwise(OPS["tanh"], total(made)), ()), (a, (0, 1))], (0, 1))
    return loop(add([(0.1, result)]), s, variable("start", (n, n)), {a: variable("all", (4, n, n))}, 4)


def matrices(n, columns=0):
    rng = np.random.default_rng(n)
    eye = 2 * np.eye(n)[rng.permutation(n)] if n % 2 else 3 * np.eye(n)  # rows change places, too
    some = 0.3 * rng.normal(size=(4, n, n)) + eye
    return {"start": 0.1 * rng.normal(size=(n, n)), "all": some, "right": rng.normal(size=(n, *[2] * columns))}


@pytest.mark.parametrize("name", sorted(OF_MATRICES))
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_functions_of_matrices(name, n, monkeypatch):
    for columns in (0, 1, 2) if "solve" in name else (0,):
        v = matrices(n, columns)
        if name == "cholesky":
            v["all"] = v["all"] @ v["all"].mT + np.eye(n)
        v = {k: x for k, x in v.items() if k != "right" or "solve" in name}
        e = of_matrices(name, n, columns)
        (want,) = interpret([e], v, {})
        fast, plain, count = both_ways(e, v, monkeypatch)
        assert count == 1
        np.testing.assert_allclose(fast, want, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(plain, want, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", ["solve", "inv", "cholesky"])
def test_what_numpy_refuses_is_refused(name):
    v = matrices(3)
    v["start"][...] = 0
    v["all"][0] = -np.eye(3) if name == "cholesky" else 0
    with pytest.raises(Exception, match=r"(?i)singular|definite"):
        value_of(of_matrices(name, 3), {k: x for k, x in v.items() if k != "right" or name == "solve"})


def test_places_given_by_integers(monkeypatch):
    """Gathers of a state at places that are sliced and fixed; a place outside of the axis is an error."""
    s, at = variable("ss", (5,)), variable("at", (3,))
    read = product([(one_hot(at, 5), (0, 1)), (s, (1,))], (0,))
    back = product([(one_hot(at, 5), (0, 1)), (tanh(read), (0,))], (1,))
    e = loop(add([(0.5, s), (1, back)]), s, variable("start", (5,)), {at: variable("all", (6, 3))}, 6)
    rng = np.random.default_rng(0)
    v = {"start": rng.normal(size=5), "all": rng.integers(0, 5, size=(6, 3))}
    (want,) = interpret([e], v, {})
    fast, plain, count = both_ways(e, v, monkeypatch)
    assert count == 1
    np.testing.assert_allclose(fast, want, rtol=1e-12)
    np.testing.assert_allclose(plain, want, rtol=1e-12)
    v["all"][4, 1] = 7
    with pytest.raises(Exception, match="7"):
        value_of(e, v)


# Loops of which the last state is read alone, and how loops are shown


@pytest.mark.parametrize("length", [1, 2, 5])
def test_the_last_state_alone(length, monkeypatch):
    xs = variable("X", (length, N))
    v = {**network_values(), "X": network_values()["X"][:length]}
    e = entry(network(xs, length), 0, length)
    (rolled,) = loops_of(e, v)
    assert rolled.last
    (want,) = interpret([e], v, {})
    fast, plain, _ = both_ways(e, v, monkeypatch)
    np.testing.assert_allclose(fast, want, rtol=1e-12)
    np.testing.assert_allclose(plain, want, rtol=1e-12)
    kernel = LoopKernel(rolled)
    kernel.piece = 2
    np.testing.assert_allclose(kernel(v["W"], v["X"], v["h0"]), want, rtol=1e-12)


def test_other_states_are_kept_if_they_are_read():
    e = network()
    both = add([(1, entry(e, 0, 20)), (1, entry(e, 0, 19))])
    assert not loops_of(both, network_values())[0].last
    slope = derivative(total(tanh(entry(e, 0, 20))), START, "reverse")
    assert [one.last for one in loops_of(slope, network_values())] == [False, True]


def test_loops_are_shown():
    slope = derivative(total(tanh(entry(network(), 0, 20))), START, "reverse")
    compiled = Compiled(prepare([slope]))
    compiled(**network_values())
    plan, source = str(compiled.plan), compiled.source
    assert plan.count("for t in range(20):") == source.count("for t in range(20):") == 2
    lines = [line.strip() for line in plan.splitlines()]
    (head,) = [k for k, line in enumerate(lines) if line.startswith("s = h0; for t in")]
    assert [line.split()[1].partition("(")[0] for line in lines[head + 1 : head + 4]] == ["dot", "add", "tanh"]
    assert lines[head + 4].startswith("s = ")
    assert "x0 = all_x0[t]" in source and "f = all_f[t + 1]" in source
    exec(compile(source, "source", "exec"), {})  # what stands above the program is no code


# Tensors of PyTorch


def test_tensors_in_memory(monkeypatch):
    torch = pytest.importorskip("torch")
    v = network_values()
    slope = Compiled(prepare([derivative(total(tanh(network())), W, "reverse")]))
    want = slope(**v)
    made = []
    fast = TensorRun.fast
    monkeypatch.setattr(TensorRun, "fast", lambda self, *given: made.append(self) or fast(self, *given))
    given = {name: torch.tensor(x) for name, x in v.items()}
    found = slope(**given)
    assert isinstance(found, torch.Tensor) and len(made) == 2
    np.testing.assert_allclose(found, want, rtol=1e-12)
    short = slope(**{name: x.float() for name, x in given.items()})
    assert short.dtype == torch.float32 and len(made) == 4
    np.testing.assert_allclose(short, want, rtol=1e-3)


def test_tensors_that_are_recorded_or_mapped_go_step_by_step(monkeypatch):
    torch = pytest.importorskip("torch")
    v = network_values()
    e = Compiled(prepare([entry(network(), 0, 20)]))
    want = value_of(derivative(total(entry(network(), 0, 20)), START), v)
    monkeypatch.setattr(TensorRun, "fast", lambda *_: pytest.fail("these are no plain numbers"))
    given = {name: torch.tensor(x) for name, x in v.items()}
    given["h0"].requires_grad_()
    e(**given).sum().backward()
    np.testing.assert_allclose(given["h0"].grad, want, rtol=1e-10)
    many = torch.stack([torch.tensor(v["h0"])] * 2)
    plain = {"W": torch.tensor(v["W"]), "X": torch.tensor(v["X"])}
    found = torch.func.vmap(lambda h: e(**plain, h0=h))(many)
    np.testing.assert_allclose(found[1], value_of(entry(network(), 0, 20), v), rtol=1e-10)
