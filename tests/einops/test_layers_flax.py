"""Layers of Flax: einops' results and parameters, in jit, vmap and grad."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest
from reference import random_call, reference

jax = pytest.importorskip("jax", reason="JAX is not installed")
flax = pytest.importorskip("flax", reason="Flax is not installed")
einops_layers = pytest.importorskip("einops.layers.flax", reason="einops, to compare with, is not installed")

from flax import linen as nn  # noqa: E402

from ricci.einops.layers import flax as layers  # noqa: E402
from ricci.einops.layers.flax import EinMix, Rearrange, Reduce, Repeat  # noqa: E402
from ricci.errors import EinopsError  # noqa: E402
from ricci.scopes import axes  # noqa: E402

KEY = jax.random.PRNGKey(0)


def array(shape, seed=0):
    return jax.random.normal(jax.random.PRNGKey(seed), shape)


def layer_of(library, call):
    if call.operation in ("rearrange", "repeat"):
        return getattr(library, call.operation.capitalize())(call.pattern, sizes=call.sizes)
    return library.Reduce(call.pattern, call.operation, sizes=call.sizes)


@pytest.mark.parametrize("seed", range(2))
def test_results(seed):
    rng, compared = random.Random(seed), 0
    while compared < 12:
        call = random_call(rng)
        if 0 in call.shape or 0 in call.sizes.values():
            continue
        x = np.random.default_rng(seed).normal(size=call.shape).astype("float32")
        pair = [layer_of(library, call) for library in (layers, einops_layers)[: 1 + (call.operation != "repeat")]]
        results = jax.jit(lambda x, pair=pair: [layer.apply({}, x) for layer in pair])(x)
        expected = reference(x, call.pattern, call.operation, call.sizes)
        for result in results:
            np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-6)
        compared += 1


MIXES = [
    (("b c -> b d", "c d"), {"c": 3, "d": 4}, (5, 3)),
    (("b (h c) ... -> b ... (h d)", "h c d", "h d"), {"h": 2, "c": 3, "d": 4}, (5, 6, 2)),
    (("b (h p) (w q) c -> b h w d", "p q c d", "d"), {"p": 2, "q": 3, "c": 4, "d": 5}, (3, 4, 6, 4)),
    (("a b c -> (c b) d", "a d", ""), {"a": 2, "d": 3}, (2, 3, 4)),
]


@pytest.mark.parametrize(("arguments", "sizes", "shape"), MIXES)
def test_einmix_same_as_einops(arguments, sizes, shape):
    x = array(shape)
    ours, theirs = EinMix(*arguments, sizes=sizes), einops_layers.EinMix(*arguments, sizes=sizes)
    variables, expected = ours.init(KEY, x), theirs.init(KEY, x)
    assert jax.tree.structure(variables) == jax.tree.structure(expected)
    for ours_, theirs_ in zip(jax.tree.leaves(variables), jax.tree.leaves(expected), strict=True):
        assert np.array_equal(ours_, theirs_)
    np.testing.assert_allclose(ours.apply(variables, x), theirs.apply(variables, x), rtol=1e-6)  # pyright: ignore[reportArgumentType, reportCallIssue]
    assert ours.bind(variables).einsum_pattern == theirs.bind(variables).einsum_pattern


class Network(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = EinMix("b (h p) (w q) c -> b h w d", "p q c d", "d", sizes={"p": 2, "q": 3, "c": 4, "d": 5})(x)
        x = Rearrange("b h w c -> b (w h c)", sizes={"c": 5})(x)
        x = Repeat("b n -> b (n 2)")(x)
        return Reduce("b n -> b", "mean")(x)


def test_network_in_transformations():
    network, x = Network(), array((6, 4, 9, 4))
    variables = network.init(KEY, x)
    expected = network.apply(variables, x)
    np.testing.assert_allclose(jax.jit(network.apply)(variables, x), expected, rtol=1e-5)  # pyright: ignore[reportArgumentType, reportCallIssue]
    one_by_one = jax.vmap(lambda x: network.apply(variables, x[None])[0])(x)
    np.testing.assert_allclose(one_by_one, expected, rtol=1e-5)  # pyright: ignore[reportArgumentType, reportCallIssue]

    def loss(variables):
        return (network.apply(variables, x) ** 2).sum()  # pyright: ignore[reportOperatorIssue]

    value, gradient = jax.value_and_grad(loss)(variables)
    stepped = jax.tree.map(lambda p, g: p - 1e-3 * g, variables, gradient)
    assert loss(stepped) < value
    along = jax.jvp(loss, (variables,), (gradient,))[1]
    squared = sum((g**2).sum() for g in jax.tree.leaves(gradient))
    np.testing.assert_allclose(along, squared, rtol=1e-4)


def test_serialization():
    network, x = Network(), array((2, 4, 9, 4))
    variables = network.init(KEY, x)
    other = network.init(jax.random.PRNGKey(1), x)
    loaded = flax.serialization.from_bytes(other, flax.serialization.to_bytes(variables))
    np.testing.assert_array_equal(network.apply(loaded, x), network.apply(variables, x))


def test_layers_are_values():
    layer = EinMix("b c -> b d", "c d", sizes={"c": 2, "d": 3})
    assert layer == EinMix("b c -> b d", "c d", sizes={"c": 2, "d": 3})
    assert layer != EinMix("b c -> b d", "c d", sizes={"c": 2, "d": 4})
    other = pickle.loads(pickle.dumps(layer))
    assert other == layer
    assert other.init(KEY, array((4, 2)))["params"]["weight"].shape == (2, 3)
    assert "c d" in repr(layer)


def test_gradient_of_a_layer():
    layer = Rearrange("b (h p) -> p (h b)", sizes={"p": 2})
    x, weights = array((3, 4)), array((2, 6), 1)
    found = jax.grad(lambda x: (layer.apply({}, x) * weights).sum())(x)
    np.testing.assert_allclose(found, weights.reshape(2, 2, 3).transpose(2, 1, 0).reshape(3, 4))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Rearrange("a b -> a"), "Error while preparing Rearrange.* only on one side"),
        (lambda: Rearrange("(a b) -> b a", sizes={"a": 2.0}), "must be an integer"),
        (lambda: Reduce("a b -> a", "summ"), "Unknown reduction"),
        (lambda: Repeat("a -> a b"), "Specify sizes for new axes"),
        (lambda: EinMix("a b -> b c", "a c", sizes={"a": 2}), "Dimension c of weight should be specified"),
    ],
)
def test_faults_are_told_when_the_layer_is_made(make, message):
    with pytest.raises(EinopsError, match=message):
        make()


def test_faults_of_shapes():
    layer = EinMix("b c -> b d", "c d", sizes={"c": 3, "d": 4})
    variables = layer.init(KEY, array((2, 3)))
    with pytest.raises(EinopsError, match="1 != 3: the layer was made with c=3"):
        layer.apply(variables, array((2, 1)))
    with pytest.raises(EinopsError, match="can't divide axis of length 3"):
        Rearrange("(h p) -> h p", sizes={"p": 2}).apply({}, array((3,)))


def test_scopes_see_layers():
    layer = EinMix("b (h c) -> b (h d)", "h c d", sizes={"h": 2, "c": 3, "d": 4})
    variables = layer.init(KEY, array((5, 6)))
    with axes(c=3, d=4):
        layer.apply(variables, array((5, 6)))
    with axes(d=5), pytest.raises(ValueError, match="d"):
        layer.apply(variables, array((5, 6)))
    with axes(h=3), pytest.raises(ValueError, match="h"):
        Rearrange("(h p) -> h p", sizes={"p": 2}).apply({}, array((8,)))
