"""Functions written for JAX have JAX's meaning and defaults: values, types and gradients as JAX's."""

from __future__ import annotations

import numpy as np
import pytest

import ricci as rc

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp, lax = jax.numpy, jax.lax
gelu, sine = jax.nn.gelu, jnp.sin  # as they are when they are imported by name

CALLS = """
jax.nn.gelu(x); jax.nn.gelu(x, approximate=False); jax.nn.gelu(x, True); jax.nn.softmax(x); jax.nn.softmax(x, axis=0)
jax.nn.softmax(x, where=x > 0, axis=-1); jax.nn.log_softmax(x); jax.nn.log_softmax(x, 0); jax.nn.logsumexp(x)
jax.nn.logsumexp(x, axis=1, keepdims=True); jax.nn.logsumexp(x, b=p); jax.nn.relu(x); jax.nn.relu6(x * 5)
jax.nn.silu(x); jax.nn.swish(x); jax.nn.elu(x); jax.nn.elu(x, alpha=0.5); jax.nn.celu(x); jax.nn.selu(x)
jax.nn.leaky_relu(x); jax.nn.leaky_relu(x, 0.2); jax.nn.softplus(x); jax.nn.soft_sign(x); jax.nn.sigmoid(x)
jax.nn.log_sigmoid(x); jax.nn.hard_tanh(x); jax.nn.hard_sigmoid(x); jax.nn.hard_swish(x); jax.nn.mish(x)
jax.nn.squareplus(x); jax.nn.glu(x); jax.nn.standardize(x); jax.nn.standardize(x, axis=0)
jax.nn.one_hot(jnp.argmax(x, 1), 5); gelu(x); sine(x)
jax.nn.dot_product_attention(x[None, :, None], x[None, :, None], x[None, :, None], is_causal=True)
lax.stop_gradient(x) * x; lax.rsqrt(p); lax.dot(x, x.T); lax.select(x > 0, x, -x); lax.top_k(x, 2)[0]
lax.top_k(x, 2)[1]; lax.sort(x); lax.cumsum(x, axis=0, reverse=True); lax.erf(x)
lax.clamp(x.dtype.type(-0.5), x, x.dtype.type(0.5))
lax.integer_pow(x, 3); lax.dot_general(x, x, (((1,), (1,)), ((), ())))
lax.pad(x, x.dtype.type(0.0), ((1, 1, 0), (0, 2, 0)))
lax.batch_matmul(x[None], x.T[None]); lax.fori_loop(0, 3, lambda i, y: y * 2 + i, x)
lax.scan(lambda c, r: (c + r, c * r), x[0], x)[1]; lax.rem(x, x.dtype.type(0.4))
lax.scan(lambda c, r: (c * r, c), x[0], x, reverse=True)[1]; lax.slice(x, (0, 1), (2, 3)); lax.expand_dims(x, [0])
jax.scipy.stats.norm.logpdf(x); jax.scipy.special.logsumexp(x, axis=1); jax.scipy.special.xlogy(x, p)
jnp.sort(x, descending=True); jnp.argsort(x, descending=True); jnp.sort(x, axis=0); jnp.var(x); jnp.std(x, 0)
jnp.clip(x, min=-0.5, max=0.5); jnp.median(x); x.var(); x.max(1); x.sort(); x.repeat(2); x.transpose(1, 0)
x.astype(jnp.float32); jnp.take(x, jnp.array([0, 1]), axis=1); x.at[0].set(1.0); jnp.linalg.norm(x)
jnp.logaddexp(x, p); jnp.array([x[0], x[1]])
"""
LISTED = [call.strip() for line in CALLS.splitlines() for call in line.split(";") if call.strip()]


def check(call, dtype):
    draw = np.random.default_rng(0)
    x, p = jnp.asarray(draw.normal(size=(3, 4)), dtype), jnp.asarray(draw.uniform(0.3, 2.0, (3, 4)), dtype)
    function = eval(f"lambda x: {call}", {**globals(), "p": p})
    expected, found = function(x), rc.compile(function)(x)
    single = dtype == "float32" or "attention" in call or "float32" in call  # computed in single floats
    near = 1e-4 if single else 1e-9
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found, expected, rtol=near, atol=near)
    if expected.dtype.kind == "f":
        loss = eval(f"lambda x: ((({call})) ** 2).sum()", {**globals(), "p": p})
        np.testing.assert_allclose(rc.grad(loss)(x), jax.grad(loss)(x), rtol=near, atol=near)


@pytest.fixture(autouse=True)
def double():
    before = jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def test_some_calls():
    for call in LISTED[::6]:
        check(call, "float64")


@pytest.mark.thorough
@pytest.mark.parametrize("call", LISTED)
def test_calls(call):
    check(call, "float64")
    check(call, "float32")


def test_the_check_can_fail():
    with pytest.raises(AssertionError):
        check("jax.nn.gelu(x, approximate='Traced' in type(x).__name__)", "float64")


def test_derivatives_where_functions_bend_are_those_of_jax():
    x = jnp.array([-1.0, 0.0, 3.0, 6.0, 7.0])
    for f in (jax.nn.relu, jax.nn.relu6):
        np.testing.assert_array_equal(rc.grad(lambda x, f=f: f(x).sum())(x), jax.grad(lambda x, f=f: f(x).sum())(x))


def test_what_cannot_be_traced_is_refused_by_name():
    x = jnp.ones((3, 4))
    with pytest.raises(rc.TraceError, match=r"jax\.lax\.while_loop .* jax\.lax\.while"):
        rc.grad(lambda x: lax.while_loop(lambda y: y.sum() < 5, lambda y: 2 * y, x).sum())(x)
    with pytest.raises(rc.TraceError, match=r"jax\.scipy\.special\.betainc|betainc"):
        rc.grad(lambda x: lax.betainc(x, x, x / 2).sum())(x)


@jax.jit
def compiled_by_jax(x):
    return jax.nn.gelu(x).sum()


def test_functions_that_jax_compiled():
    x = jnp.linspace(-1.0, 1.0, 5)
    np.testing.assert_allclose(rc.grad(lambda x: compiled_by_jax(x) * 2)(x), 2 * jax.grad(compiled_by_jax)(x))
