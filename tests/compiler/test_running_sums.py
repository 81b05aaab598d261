"""Triangles in products: running sums where that is what they are, arrays of zeros and ones elsewhere."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from ricci.calculus.modes import derivative
from ricci.compiler.backends import numpy_table as reference
from ricci.compiler.pipeline import prepare
from ricci.compiler.run.function import Compiled
from ricci.expr import Expr, merge, one_hot, product, triangle, variable, variables, window
from ricci.functions import reductions as r
from ricci.notation.context import Facts
from ricci.testing.interpreter import interpret

BACKENDS = ["numpy", *[name for name in ("torch", "jax") if find_spec(name)]]
RNG = np.random.default_rng(11)
N = 6
X, W, V = variable("x", (N, 3)), variable("w", (N, 3)), variable("v", (3,))
AT = variable("at", (4,))
ARRAYS = {v.name: RNG.normal(size=v.shape) for v in (X, W, V)} | {"at": np.array([5, 0, 2, 2])}  # pyright: ignore[reportArgumentType, reportCallIssue]
WEIGHTED = product([(r.cumsum(X, 0), "ij"), (W, "ij")], "")


def compiled(e: Expr, backend: str = "numpy") -> Compiled:
    """A compiled function, after a call whose result is that of the interpreter."""
    inputs = {v.name: ARRAYS[v.name] for v in variables(e)}
    facts = Facts(inputs={name: a.ndim for name, a in inputs.items()}, mentions=dict.fromkeys(inputs))
    stage = prepare([e], facts=facts, simplify=False)
    f = Compiled(stage, backend, options=(("fused", False),) if backend == "numpy" else ())
    close = 1e-5 if backend == "jax" else 1e-12  # JAX computes in float32 unless it is told not to
    np.testing.assert_allclose(np.asarray(f(**inputs)), interpret([e], inputs, {})[0], rtol=close, atol=close)
    return f


def calls(f: Compiled) -> list[str]:
    return [step.name for step in f.plan.program.steps if step.op == "call"]


RUNNING = {
    "along the first axis": r.cumsum(X, 0),
    "along the last axis": r.cumsum(X, 1),
    "of a product": r.cumsum(X * W, 0),
    "of a contraction": r.cumsum(product([(X, "ij"), (V, "j")], "i"), 0),
    "contracted": product([(r.cumsum(X, 0), "ij"), (V, "j")], "i"),
    "weighted": WEIGHTED,
    "its derivative runs backwards": derivative(WEIGHTED, X, "reverse"),
    "its derivative by weights": derivative(WEIGHTED, W, "reverse"),
    "backwards": product([(X, "ij"), (triangle(N, N), "ik")], "kj"),
    "twice": r.cumsum(r.cumsum(X, 0), 0),
    "both axes": r.cumsum(r.cumsum(X, 0), 1),
    "a part of it": product([(r.cumsum(X, 0), "ij"), (window((2,), 1, N, (2,)), "ik")], "kj"),
    "reshaped": product([(r.cumsum(X, 0), "ij"), (merge((2, 3)), "iab")], "abj"),
    "of a part": r.cumsum(product([(X, "ij"), (window((1,), 2, N, (3,)), "ik")], "kj"), 0),
    "of a reversed array": r.cumsum(product([(X, "ij"), (window((-1,), N - 1, N, (N,)), "ik")], "kj"), 0),
    "an outer product": product([(r.cumsum(X, 0), "ij"), (V, "k")], "ijk"),
    "looked up": product([(r.cumsum(X, 0), "ij"), (one_hot(AT, N), "ai")], "aj"),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("what", RUNNING)
def test_no_mask_is_made(what, backend):
    f = compiled(RUNNING[what], backend)
    if what != "looked up":  # whose index a gather needs as it is
        assert set(calls(f)) == {"cumsum"}
        assert not f.plan.program.constants


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("rows", [1, 3, N, N + 2])
@pytest.mark.parametrize("shift", [-N - 1, -2, -1, 0, 1, N])
def test_shifted_triangles(shift, rows, backend):
    compiled(product([(X, "jk"), (triangle(rows, N, shift), "ij")], "ik"), backend)
    compiled(product([(X, "jk"), (triangle(N, rows, shift), "ji")], "ik"), backend)


def test_a_triangle_that_reaches_beyond_the_end_is_a_mask():
    assert calls(compiled(product([(X, "jk"), (triangle(N, N, 1), "ij")], "ik"))) == []
    assert calls(compiled(product([(X, "jk"), (triangle(N - 1, N, 1), "ij")], "ik"))) == ["cumsum"]


def test_a_triangle_that_is_not_summed_is_a_mask():
    square = product([(X, "ij"), (W, "kj")], "ik")
    assert calls(compiled(product([(square, "ik"), (triangle(N, N), "ik")], "ik"))) == []


def test_a_long_running_sum_takes_no_square_of_memory():
    n = 200_000
    x = variable("long", (n,))
    ARRAYS["long"] = RNG.normal(size=n)
    e = r.cumsum(x, 0)
    f = Compiled(prepare([e], simplify=False), "numpy")
    np.testing.assert_allclose(f(long=ARRAYS["long"]), np.cumsum(ARRAYS["long"]))
    gradient = derivative(product([(e, "i"), (e, "i")], ""), x, "reverse")
    g = Compiled(prepare([gradient], simplify=False), "numpy")
    wanted = 2 * np.cumsum(np.cumsum(ARRAYS["long"])[::-1])[::-1]
    np.testing.assert_allclose(g(long=ARRAYS["long"]), wanted, rtol=1e-9, atol=1e-6)


def test_a_wrong_running_sum_is_found(monkeypatch):
    monkeypatch.setitem(reference.FUNCTIONS, "cumsum", lambda x: np.cumsum(x, axis=-1) - x)
    with pytest.raises(AssertionError):
        compiled(r.cumsum(X * X, 0))
