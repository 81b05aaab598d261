"""Compiled functions do what the interpreter does: on random expressions and their derivatives, on every backend."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from compiled_checks import LAYOUTS, Case, called, check, compiled, make_case, odd_layout, repeated_product, small_loops
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ricci as rc
from ricci.calculus.modes import derivative
from ricci.compiler.emit import numpy_source as emit_numpy
from ricci.compiler.emit.numpy_source import NumpyEmitter
from ricci.compiler.lower import builder, contract, signs
from ricci.compiler.lower.signs import nonnegative
from ricci.compiler.run.function import Compiled
from ricci.expr import (
    Elementwise,
    Expr,
    delta,
    one_hot,
    place,
    power,
    product,
    topological,
    variable,
    variables,
    window,
)
from ricci.functions import elementwise as e
from ricci.functions import reductions as r
from ricci.testing import random_expression
from ricci.testing.interpreter import interpret

seeds = st.integers(0, 2**32 - 1)
BACKENDS = [
    "numpy",
    pytest.param("torch", marks=pytest.mark.skipif(not find_spec("torch"), reason="torch is not installed")),
    pytest.param("jax", marks=pytest.mark.skipif(not find_spec("jax"), reason="jax is not installed")),
]
SHARE = {"numpy": 1.0, "torch": 0.5, "jax": 0.03}  # of the examples, by how long one takes


@pytest.fixture(autouse=True)
def double_precision(request: pytest.FixtureRequest) -> Iterator[None]:
    """Where nothing decides the type it is float64, as for the interpreter."""
    if "[jax" in request.node.name or "-jax" in request.node.name:
        import jax

        before = jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]
        jax.config.update("jax_enable_x64", True)
        yield
        jax.config.update("jax_enable_x64", before)
    elif "torch" in request.node.name:
        import torch

        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        yield
        torch.set_default_dtype(before)
    else:
        yield


def checked(number: float, one: Callable[[int], str], strategy: st.SearchStrategy = seeds) -> Counter[str]:
    """What a check said of so many cases. Few are such that nothing could be compared."""
    said: Counter[str] = Counter()

    number = max(4, int(number))

    @settings(max_examples=number, deadline=None, suppress_health_check=list(HealthCheck), database=None)  # pyright: ignore[reportArgumentType]
    @given(strategy)
    def run(seed: int) -> None:
        said[one(seed)] += 1

    run()
    assert said["ill"] <= 0.1 * said.total()
    assert said["kind"] <= 0.05 * said.total()
    assert said["same"] >= 0.8 * min(number, said.total())
    return said


# Random expressions


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_values_and_derivatives(backend: str, dtype: str):
    checked(200 * SHARE[backend], lambda seed: check(make_case(seed), backend, dtype))


@pytest.mark.parametrize("what", ["first", "second"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_derivatives(backend: str, what: str):
    checked(100 * SHARE[backend], lambda seed: check(make_case(seed, what, order=2), backend))


@pytest.mark.parametrize("backend", BACKENDS)
def test_products_and_structures_of_higher_order(backend: str):
    """No functions: hyperedges, traces, diagonals, windows, reshapes and gathers."""
    checked(100 * SHARE[backend], lambda seed: check(make_case(seed, functions=False, order=4, size=5), backend))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("extents", [(0,), (1,), (0, 1), (0, 3)], ids=str)
def test_sizes_zero_and_one(extents: tuple[int, ...], backend: str):
    checked(40 * SHARE[backend], lambda seed: check(make_case(seed, extents=extents), backend))


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_loops_over_blocks(rows: int, monkeypatch: pytest.MonkeyPatch):
    """Every step that may be in a loop is in one, of a few rows, and writes into the memory of others where it can."""
    small_loops(monkeypatch, rows)
    checked(100, lambda seed: check(make_case(seed), times=3))


def test_loops_over_blocks_in_single_precision(monkeypatch: pytest.MonkeyPatch):
    small_loops(monkeypatch, 2)
    checked(80, lambda seed: check(make_case(seed), dtype="float32"))


def test_larger_arrays():
    """Large enough for other ways to multiply, and for square roots of weights."""
    options = {"extents": (1, 3, 8), "order": 2, "size": 4}
    checked(60, lambda seed: check(make_case(seed, **options)))


def always_by_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use that products are symmetric wherever they are, however small they may be."""
    monkeypatch.setattr(contract.Contraction, "_cheaper", lambda *_: True)
    monkeypatch.setattr(contract, "_worth", lambda *_: True)


@pytest.mark.parametrize("forced", [False, True])
def test_products_of_equal_factors(forced: bool, monkeypatch: pytest.MonkeyPatch):
    """With mirror images, ``(A B)ᵀ (A B)``, and with weights between equal factors, ``Xᵀ D X``."""
    if forced:
        always_by_halves(monkeypatch)
    checked(300, lambda seed: check(repeated_product(seed)))


def test_products_by_halves_are_that(monkeypatch: pytest.MonkeyPatch):
    always_by_halves(monkeypatch)
    halves = roots = 0
    for seed in range(100):
        case = repeated_product(seed)
        f = compiled(case, "numpy")
        called(f, case.inputs)
        steps = f.plan.program.steps
        halves += any(s.op == "dot" and s.args[0][0] is s.args[1][0] and s.args[0][0].step for s in steps)
        roots += any(s.name == "sqrt" for s in steps)
    assert halves > 10 and roots > 3


def test_a_label_that_one_half_keeps_and_the_other_sums():
    """Such halves are no mirror images of one another."""
    x = np.random.default_rng(0).normal(size=(1, 3, 2))
    f = rc.parse("y[i,j,k] = x[l,m,n] x[l,m,i] x[p,j,n] x[p,j,k]").compile("numpy")
    np.testing.assert_allclose(f(x=x), np.einsum("lmn,lmi,pjn,pjk->ijk", x, x, x, x))


@pytest.mark.parametrize("backend", ["numpy", *BACKENDS[1:2]])
def test_inputs_in_any_layout(backend: str, monkeypatch: pytest.MonkeyPatch):
    """Strided, transposed, reversed, repeated, read-only; with loops over blocks too, for some."""

    def one(seed: int) -> str:
        case, rng = make_case(seed), random.Random(seed)
        laid_out = replace(case, inputs={name: odd_layout(rng, a) for name, a in case.inputs.items()})
        return check(laid_out, backend)

    checked(120, one)
    small_loops(monkeypatch, 2)
    checked(80, one)


def test_the_cases_cover_everything():
    """All kinds of step occur in the programs that are checked."""
    steps: Counter[str] = Counter()
    for seed in range(300):
        case = make_case(seed)
        f = compiled(case, "numpy")
        called(f, case.inputs)
        steps.update(step.op for step in f.plan.program.steps)
    kinds = {"map", "sum", "dot", "call", "read", "place", "take", "scatter", "spread", "merge", "cast", "check"}
    assert all(steps[kind] > 3 for kind in kinds), steps


def test_forced_loops_are_loops(monkeypatch: pytest.MonkeyPatch):
    small_loops(monkeypatch, 2)
    texts = []
    for seed in range(60):
        case = make_case(seed)
        f = compiled(case, "numpy")
        called(f, case.inputs)
        texts.append(f.source)
    assert sum("for start in" in text for text in texts) > 15
    assert sum("take_work" in text for text in texts) > 10


# Once wrong


X, Y, M = variable("x", (3,)), variable("y", (2,)), variable("m", (3, 3))
T, S, K = variable("t", (3,)), variable("s", ()), variable("k", (3, 3))
ONE, WHOLE = variable("one", (1,)), variable("n", (3, 2))
ONCE_WRONG: dict[str, Expr] = {
    "two gathers tell one index": product([(one_hot(T, 3), "iv"), (one_hot(S, 3), "v")], "i"),
    "gathers in a circle": product([(one_hot(T, 3), "iv"), (one_hot(T, 3), "vi"), (X, "i")], "v"),
    "a gather of a gather, in the result": product([(one_hot(T, 3), "av"), (one_hot(K, 3), "iba")], "vi"),
    "a gather along a diagonal": product([(one_hot(K, 3), "iiv"), (X, "v")], "i"),
    "a gather that is a condition": product([(one_hot(K, 3), "ijj")], "ij"),
    "a gather at one place": product([(one_hot(S, 3), "v"), (M, "vi")], "i"),
    "a gather by truth values": product([(one_hot(e.less(T, 1), 3), "iv"), (X, "v")], "i"),
    "places for a part of an array": product([(Y, "a"), (delta(3), "bc"), (window((-1,), 0, 2, (3,)), "ac")], "bc"),
    "an entry in a corner": product([(X, "i"), (place(0, 2), "a"), (place(1, 2), "b")], "iab"),
    "a delta added to a transpose": product([(M, "ij")], "ji") * 2 + delta(3),
    "a negative power of integers": power(r.argmax(M, (0,)) + 2, -1),
    "integers to powers that are integers": power(T, T - 1),
    "the mean of one integer": r.mean(ONE),
    "a product of integers": product([(WHOLE, "ij"), (WHOLE, "ij")], "i"),
    "a derivative of a product over an axis": derivative(r.prod(M, (1,)), M),
    "a sum over what a factor repeats along": product([(X + product([(S, "")], "i", {"i": 3}), "i"), (M, "jk")], "k"),
}
GIVEN = {
    "x": np.array([0.5, -1.0, 2.0]),
    "y": np.array([1.5, -0.5]),
    "m": np.arange(9.0).reshape(3, 3) / 4 - 1,
    "t": np.array([2, 0, 1]),
    "s": np.array(1),
    "k": np.array([[0, 2, 1], [1, 1, 0], [2, 2, 2]]),
    "one": np.array([3]),
    "n": np.array([[1, 2], [3, 4], [5, 6]]),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("what", ONCE_WRONG)
def test_what_was_wrong_once(what: str, backend: str, monkeypatch: pytest.MonkeyPatch):
    root = ONCE_WRONG[what]
    inputs = {v.name: GIVEN[v.name] for v in variables(root)}
    case = Case([root], inputs, {}, what)
    assert check(case, backend) in ("same", "kind")
    if backend == "numpy":
        small_loops(monkeypatch, 1)
        assert check(case) in ("same", "kind")


# Layouts, one by one


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_layout(layout: str):
    for seed in range(25):
        case = make_case(seed)
        check(replace(case, inputs={n: LAYOUTS[layout](a) if a.ndim else a for n, a in case.inputs.items()}))


# The checker can fail


def broken(case_check: Callable[[int], str], most: int = 120) -> bool:
    """Whether the check finds a fault in one of many cases."""
    for seed in range(most):
        try:
            case_check(seed)
        except AssertionError:
            return True
        except Exception:  # a fault may also show in shapes that do not fit
            return True
    return False


def _doubled_sum(emitter: NumpyEmitter, step) -> str:
    return f"2 * {ORIGINAL_SUM(emitter, step)}"


def _kept_input(emitter: NumpyEmitter, result) -> str:
    value = result.value
    plain = isinstance(value, builder.Value) and result.axes == tuple(range(len(result.shape)))
    return emitter.name(value) if plain else ORIGINAL_RESULT(emitter, result)


ORIGINAL_SUM, ORIGINAL_RESULT = NumpyEmitter.sum, NumpyEmitter.result
FAULTS: dict[str, tuple] = {
    "a wrong function": (emit_numpy.UFUNCS, "exp", np.expm1),
    "a wrong sum": (NumpyEmitter, "sum", _doubled_sum),
    "a result that is an input": (NumpyEmitter, "result", _kept_input),
    "an operand overwritten too early": (NumpyEmitter, "owns", lambda emitter, value: value.step is not None),
    "an input overwritten": (NumpyEmitter, "owns", lambda emitter, value: True),
    "memory that is not the call's own": (NumpyEmitter, "escapes", lambda emitter, value: False),
    "a coefficient lost": (builder.Builder, "scaled", lambda self, operand, coef: operand),
}


def test_without_a_fault_there_is_none():
    assert not broken(lambda seed: check(make_case(seed)))


@pytest.mark.parametrize("fault", FAULTS)
def test_the_check_finds(fault: str, monkeypatch: pytest.MonkeyPatch):
    owner, name, wrong = FAULTS[fault]
    if fault == "memory that is not the call's own":
        small_loops(monkeypatch, 2)
    if isinstance(owner, dict):
        monkeypatch.setitem(owner, name, wrong)
    else:
        monkeypatch.setattr(owner, name, wrong)
    assert broken(lambda seed: check(make_case(seed)))


def test_the_check_finds_weights_wrongly_taken_for_positive(monkeypatch: pytest.MonkeyPatch):
    always_by_halves(monkeypatch)
    monkeypatch.setattr("ricci.compiler.lower.expressions.nonnegative", set)
    assert broken(lambda seed: check(repeated_product(seed)))


@pytest.mark.parametrize("backend", BACKENDS[1:])
def test_the_check_finds_a_wrong_row_of_a_backend(backend: str, monkeypatch: pytest.MonkeyPatch):
    if backend == "jax":
        from ricci.compiler.emit.jax_source import JaxEmitter as Emitter
    else:
        from ricci.compiler.emit.torch_source import TorchEmitter as Emitter
    monkeypatch.setattr(Emitter, "elementwise", {**Emitter.elementwise, "maximum": Emitter.elementwise["minimum"]})
    cases = [make_case(seed, "value", size=5) for seed in range(200)]
    with_it = [case for case in cases if any(_is_maximum(node) for node in topological(*case.roots))]
    assert len(with_it) > 3
    assert broken(lambda k: check(with_it[k], backend), len(with_it))


def _is_maximum(node: Expr) -> bool:
    return isinstance(node, Elementwise) and node.op.name == "maximum"


def test_the_check_finds_a_modified_input(monkeypatch: pytest.MonkeyPatch):
    case = make_case(3)
    name = next(name for name, a in case.inputs.items() if a.size)

    class Writing(Compiled):
        def __call__(self, /, **inputs):
            inputs[name][...] += 1
            return super().__call__(**inputs)

    monkeypatch.setattr("compiled_checks.Compiled", Writing)
    with pytest.raises(AssertionError, match="was changed"):
        check(case)


# What is never negative


def negative_entries(seed: int, claims: Callable) -> int:
    """How many nodes of a random expression are claimed to be never negative, and an assertion that none is."""
    rng = random.Random(seed)
    sample = random_expression(rng, size=8, order=2)
    root = sample.build()
    sure = [node for node in topological(root) if node in claims(topological(root))]
    for node, value in zip(sure, interpret(sure, sample.inputs, sample.sizes), strict=True):
        assert not np.any(np.asarray(value) < 0), f"{type(node).__name__} is negative somewhere (seed {seed})"
    return len(sure)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))  # pyright: ignore[reportArgumentType]
@given(seeds)
def test_what_is_never_negative_is_not(seed: int):
    negative_entries(seed, nonnegative)


def test_the_check_of_signs_sees_claims_and_faults(monkeypatch: pytest.MonkeyPatch):
    assert sum(negative_entries(seed, nonnegative) for seed in range(100)) > 100
    wrong, right = ("tanh", "sin", "atan"), signs._of_row
    monkeypatch.setattr(signs, "_of_row", lambda node, sure: node.op.name in wrong or right(node, sure))
    with pytest.raises(AssertionError, match="negative somewhere"):
        for seed in range(200):
            negative_entries(seed, nonnegative)
