"""Derivatives against JAX, for what JAX has: gradients, Jacobians in both directions, and Hessians."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ricci as rc
from ricci.functions.table import FUNCTIONS

jax = pytest.importorskip("jax", reason="jax is not installed: pip install jax to compare derivatives with it")
jnp, jsp = jax.numpy, jax.scipy.special

RNG = np.random.default_rng(7)
RTOL = 1e-9


@pytest.fixture(scope="module", autouse=True)
def in_double_precision() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def positive(*shape: int) -> np.ndarray:
    return RNG.uniform(0.3, 2.0, size=shape)


def inside(*shape: int) -> np.ndarray:
    return RNG.uniform(-0.9, 0.9, size=shape)


def regular(n: int = 3, *lead: int) -> np.ndarray:
    """Matrices that are far from singular, with distinct eigenvalues."""
    return 0.4 * normal(*lead, n, n) + np.diag(np.arange(1.0, n + 1))


# Every elementwise function: what JAX calls it, and where.

UNARY: dict[str, tuple[Callable, Callable]] = {
    "abs": (jnp.abs, normal),
    "sign": (jnp.sign, normal),
    "floor": (jnp.floor, normal),
    "ceil": (jnp.ceil, normal),
    "round": (jnp.round, normal),
    "neg": (jnp.negative, normal),
    "square": (jnp.square, normal),
    "sqrt": (jnp.sqrt, positive),
    "cbrt": (jnp.cbrt, positive),
    "reciprocal": (jnp.reciprocal, normal),
    "exp": (jnp.exp, normal),
    "exp2": (jnp.exp2, normal),
    "expm1": (jnp.expm1, normal),
    "log": (jnp.log, positive),
    "log2": (jnp.log2, positive),
    "log10": (jnp.log10, positive),
    "log1p": (jnp.log1p, positive),
    "sin": (jnp.sin, normal),
    "cos": (jnp.cos, normal),
    "tan": (jnp.tan, inside),
    "asin": (jnp.arcsin, inside),
    "acos": (jnp.arccos, inside),
    "atan": (jnp.arctan, normal),
    "sinh": (jnp.sinh, normal),
    "cosh": (jnp.cosh, normal),
    "tanh": (jnp.tanh, normal),
    "asinh": (jnp.arcsinh, normal),
    "acosh": (jnp.arccosh, lambda *shape: 1 + positive(*shape)),
    "atanh": (jnp.arctanh, inside),
    "sigmoid": (jax.nn.sigmoid, normal),
    "softplus": (jax.nn.softplus, normal),
    "relu": (jax.nn.relu, normal),
    "leaky_relu": (jax.nn.leaky_relu, normal),
    "elu": (jax.nn.elu, normal),
    "gelu": (lambda x: jax.nn.gelu(x, approximate=False), normal),
    "silu": (jax.nn.silu, normal),
    "erf": (jsp.erf, normal),
    "erfc": (jsp.erfc, normal),
    "erfinv": (jsp.erfinv, inside),
    "ndtri": (jsp.ndtri, lambda *shape: 0.5 + 0.4 * inside(*shape)),
    "log_ndtr": (jsp.log_ndtr, normal),
    "lgamma": (jsp.gammaln, positive),
    "digamma": (jsp.digamma, positive),
    "stop_gradient": (jax.lax.stop_gradient, normal),
    "barrier": (jax.lax.optimization_barrier, normal),
}
BINARY: dict[str, tuple[Callable, Callable]] = {
    "mod": (jnp.mod, positive),
    "atan2": (jnp.arctan2, normal),
    "hypot": (jnp.hypot, normal),
    "power": (jnp.power, positive),
    "maximum": (jnp.maximum, normal),
    "minimum": (jnp.minimum, normal),
    "logaddexp": (jnp.logaddexp, normal),
    "multiply": (jnp.multiply, normal),
    "divide": (jnp.divide, normal),
}
NO_PLACE_HERE = {"add", "subtract", "clip", "where", "polygamma", "less", "less_equal", "greater", "greater_equal"}
NO_PLACE_HERE |= {"equal", "not_equal"}
NO_PLACE_HERE |= {"conj", "real", "imag", "abs2", "angle"}  # of complex numbers: tests/expr/test_conjugates.py

Row = tuple[str, Callable, dict[str, np.ndarray]]  # the text; the function of the inputs in order; the inputs
X = normal(3, 4)
TABLE: dict[str, Row] = {
    "clip": ("y[i] = clip(x[i], -1/2, 1/2)", lambda x: jnp.clip(x, -0.5, 0.5), {"x": normal(5)}),
    "where": (
        "y[i] = where(x[i] < z[i], x[i] z[i], x[i]**3)",
        lambda x, z: jnp.where(x < z, x * z, x**3),
        {"x": normal(5), "z": normal(5)},
    ),
    "polygamma": ("y[i] = polygamma(2, x[i])", lambda x: jsp.polygamma(2, x), {"x": 1 + positive(3)}),
    "power of a power": ("y[i] = x[i]**x[i]**(1/2)", lambda x: x ** (x**0.5), {"x": positive(3)}),
    # sums and products
    "matmul": ("y[i,j] = x[i,k] a[k,j]", lambda x, a: x @ a, {"x": X, "a": normal(4, 2)}),
    "squared matrix": ("y[i,j] = x[i,k] x[k,j]", lambda x: x @ x, {"x": normal(3, 3)}),
    "trace of a cube": (
        "y = x[i,j] x[j,k] x[k,i]",
        lambda x: jnp.trace(x @ x @ x),
        {"x": normal(3, 3)},
    ),
    "diagonal": ("y[i] = x[i,i] x[i,j] v[j]", lambda x, v: jnp.diag(x) * (x @ v), {"x": normal(3, 3), "v": normal(3)}),
    "hyperedge": (
        "y[i] = x[i,k] z[i,k] w[k] x[k,k]",
        lambda x, z, w: jnp.einsum("ik,ik,k,kk->i", x, z, w, x),
        {"x": normal(3, 3), "z": normal(3, 3), "w": normal(3)},
    ),
    "partial trace": (
        "y[i,k] = sin(x[i,j,k,j])",
        lambda x: jnp.sin(jnp.einsum("ijkj->ik", x)),
        {"x": normal(2, 2, 2, 2)},
    ),
    "outer product": (
        "y[i,j] = tanh(x[i] z[j]) + 1[i] z[j]",
        lambda x, z: jnp.tanh(jnp.outer(x, z)) + z,
        {"x": normal(3), "z": normal(2)},
    ),
    "batched bilinear": (
        "y[b,e] = x[b,i] W[e,i,j] z[b,j]",
        lambda x, W, z: jnp.einsum("bi,eij,bj->be", x, W, z),
        {"x": normal(2, 3), "W": normal(2, 3, 2), "z": normal(2, 2)},
    ),
    "quadratic form": ("y = x[i] A[i,j] x[j]", lambda x, A: x @ A @ x, {"x": normal(4), "A": normal(4, 4)}),
    # windows, reads, gathers
    "convolution": (
        "y[i] = x[i+k] w[k]",
        lambda x, w: jnp.convolve(x, w[::-1], mode="valid"),
        {"x": normal(6), "w": normal(3)},
    ),
    "differences": ("y = 1[i] (x[i+1] - x[i+0])**4", lambda x: jnp.sum(jnp.diff(x) ** 4), {"x": normal(5)}),
    "strides": ("y[i] = x[2 i] x[2 i + 1]", lambda x: x[::2] * x[1::2], {"x": normal(6)}),
    "gather": (
        "y[i] = exp(x[t[i],j] x[t[i],j])",
        lambda x, t: jnp.exp(jnp.sum(x[t] ** 2, axis=1)),
        {"x": normal(4, 2), "t": np.array([2, 0, 2])},
    ),
    # along axes
    "sum and mean": (
        "y[i] = sum[j](x[i,j]) mean[j](x[i,j]**2)",
        lambda x: x.sum(1) * (x**2).mean(1),
        {"x": X},
    ),
    "var and std": ("y[i] = var[j](x[i,j]) + std[j](x[i,j])", lambda x: x.var(1) + x.std(1), {"x": X}),
    "norm": ("y[i] = norm[j](x[i,j])", lambda x: jnp.linalg.norm(x, axis=1), {"x": X}),
    "prod": ("y[i] = prod[j](x[i,j])", lambda x: x.prod(1), {"x": X}),
    "prod with a zero": ("y = prod[j](x[j])", jnp.prod, {"x": np.array([1.5, 0.0, -2.0, 0.7])}),
    "prod with zeros": ("y = prod[j](x[j])", jnp.prod, {"x": np.array([1.5, 0.0, -2.0, 0.0])}),
    "cumsum": ("y[i,j] = cumsum[j](x[i,j])**2", lambda x: jnp.cumsum(x, 1) ** 2, {"x": X}),
    "cumprod": ("y[i,j] = cumprod[j](x[i,j])", lambda x: jnp.cumprod(x, 1), {"x": X}),
    "cumprod with a zero": ("y[j] = cumprod[j](x[j])", jnp.cumprod, {"x": np.array([1.5, 0.0, -2.0, 0.7])}),
    "max": ("y[i] = max[j](sin(x[i,j]))", lambda x: jnp.max(jnp.sin(x), 1), {"x": X}),
    "max with ties": ("y = max[j](x[j])**2", lambda x: jnp.max(x) ** 2, {"x": np.array([1.0, 2.0, 2.0])}),
    "min": ("y[i] = min[j](x[i,j] x[i,j])", lambda x: jnp.min(x * x, 1), {"x": X}),
    "sort": ("y[i,j] = sort[j](x[i,j])**2", lambda x: jnp.sort(x, 1) ** 2, {"x": X}),
    "softmax": ("y[i,j] = softmax[j](x[i,j])", lambda x: jax.nn.softmax(x, 1), {"x": X}),
    "log-softmax": ("y[i,j] = log_softmax[j](x[i,j])", lambda x: jax.nn.log_softmax(x, 1), {"x": X}),
    "logsumexp": ("y[i] = logsumexp[j](x[i,j])", lambda x: jsp.logsumexp(x, 1), {"x": X}),
    # networks
    "logistic regression": (
        "l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))",
        lambda y, X, w: jnp.sum(jnp.log(1 + jnp.exp(-y * (X @ w)))),
        {"y": np.sign(normal(5)), "X": normal(5, 3), "w": normal(3)},
    ),
    "cross-entropy": (
        "l = -t[b,k] log(softmax[k](x[b,d] W[d,k]))",
        lambda t, x, W: -jnp.sum(t * jax.nn.log_softmax(x @ W, 1)),
        {"t": np.eye(3)[[0, 2]], "x": normal(2, 4), "W": normal(4, 3)},
    ),
    "layer norm": (
        """m[b] = 1/|h| 1[h] x[b,h]; v[b] = 1/|h| 1[h] (x[b,h] - 1[h] m[b])**2
        y[b,h] = (x[b,h] - 1[h] m[b]) / sqrt(v[b] + 1/100) g[h] + 1[b] beta[h]""",
        lambda x, g, beta: (x - x.mean(1, keepdims=True)) / jnp.sqrt(x.var(1, keepdims=True) + 0.01) * g + beta,
        {"x": normal(2, 4), "g": normal(4), "beta": normal(4)},
    ),
    "attention": (
        "p[i,j] = softmax[j](q[i,d] k[j,d] / sqrt(|d|)); o[i,e] = p[i,j] v[j,e]",
        lambda q, k, v: jax.nn.softmax(q @ k.T / jnp.sqrt(q.shape[1]), 1) @ v,
        {"q": normal(2, 3), "k": normal(3, 3), "v": normal(3, 2)},
    ),
    "two layers": (
        "y[b,j] = tanh(gelu(x[b,i] A[i,k]) B[k,j])",
        lambda x, A, B: jnp.tanh(jax.nn.gelu(x @ A, approximate=False) @ B),
        {"x": normal(2, 3), "A": normal(3, 3), "B": normal(3, 2)},
    ),
    "factorisation": (
        "f = 1[i,j] (T[i,j] - U[i,k] V[j,k])**2",
        lambda T, U, V: jnp.sum((T - U @ V.T) ** 2),
        {"T": normal(3, 2), "U": normal(3, 2), "V": normal(2, 2)},
    ),
    # matrices
    "inv": ("y[i,j] = inv(A)[i,j]", jnp.linalg.inv, {"A": regular()}),
    "det": ("y = det(A)", jnp.linalg.det, {"A": regular()}),
    "logdet": ("y = logdet(A)", lambda A: jnp.linalg.slogdet(A)[1], {"A": regular()}),
    "solve": (
        "y[j] = solve[i,j](A[i,j], b[i])",
        jnp.linalg.solve,
        {"A": regular(), "b": normal(3)},
    ),
    "batched logdet": ("y[b] = logdet[i,j](A[b,i,j])", lambda A: jnp.linalg.slogdet(A)[1], {"A": regular(2, 2)}),
    "cholesky": (
        "y[i,j] = cholesky(A)[i,j]",
        lambda A: jnp.linalg.cholesky((A + A.T) / 2, symmetrize_input=False),
        {"A": regular()},
    ),
    "eigvalsh": ("y[i] = eigvalsh(A)[i]", lambda A: jnp.linalg.eigvalsh((A + A.T) / 2), {"A": regular()}),
    "svdvals": (
        "y[i] = svdvals(A)[i]",
        lambda A: jnp.linalg.svd(A, compute_uv=False),
        {"A": regular()},
    ),
    "expm": ("y[i,j] = expm(A)[i,j]", jax.scipy.linalg.expm, {"A": regular(2) / 4}),
}
TABLE |= {name: (f"y[i] = {name}(x[i])", f, {"x": draw(4)}) for name, (f, draw) in UNARY.items()}
TABLE |= {name: (f"y[i] = {name}(x[i], z[i])", f, {"x": draw(3), "z": draw(3)}) for name, (f, draw) in BINARY.items()}


def test_every_elementwise_function_is_in_the_table():
    elementwise = {name for name, row in FUNCTIONS.items() if row.kind == "elementwise"}
    assert elementwise - NO_PLACE_HERE <= {*UNARY, *BINARY}


def close(ours: Any, theirs: Any) -> None:
    theirs = np.asarray(theirs)
    np.testing.assert_allclose(ours, theirs, rtol=RTOL, atol=RTOL * (1 + np.max(np.abs(theirs), initial=0)))


def everything(f: Callable, values: list, floats: list[int]) -> tuple:
    """The value, the Jacobian both ways and the Hessian by JAX, compiled at once, which is quicker than bit by bit."""

    def all_of_it(*values: Any) -> tuple:
        return f(*values), *[d(f, argnums=floats)(*values) for d in (jax.jacfwd, jax.jacrev, jax.hessian)]

    return jax.jit(all_of_it).lower(*values).compile({"xla_backend_optimization_level": 0})(*values)


@pytest.mark.parametrize("name", TABLE)
def test_derivatives(name: str):
    text, f, inputs = TABLE[name]
    y = rc.parse(text)
    names, values = list(inputs), list(inputs.values())
    floats = [place for place, value in enumerate(values) if value.dtype.kind == "f"]
    value, forward, reverse, hessian = everything(f, values, floats)
    close(y(**inputs), value)
    if y.order == 0:
        gradients = y.diff_all(*[names[place] for place in floats])
        for place, ours, theirs in zip(floats, gradients, reverse, strict=True):
            close(ours(**inputs), theirs)
            close(rc.pullback(y, names[place])(**inputs), theirs)
    for row, place in enumerate(floats):
        close(y.diff(names[place], mode="forward")(**inputs), forward[row])
        close(y.diff(names[place], mode="reverse")(**inputs), reverse[row])
        first = y.diff(names[place])
        for column, other in enumerate(floats):
            close(first.diff(names[other])(**inputs), hessian[row][column])
