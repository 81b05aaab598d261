"""Classes that are registered with JAX, and dataclasses with static fields, as arguments and results."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest

import ricci as rc
from ricci.errors import InputError
from ricci.tracing.trees import count, flatten, order_as, spelled, tree_map, unflatten

jax = pytest.importorskip("jax", reason="JAX is not installed")
from jax import numpy as jnp  # noqa: E402
from jax import tree_util  # noqa: E402

needs_equinox = pytest.mark.skipif(importlib.util.find_spec("equinox") is None, reason="Equinox is not installed")


def close(actual, expected):
    """Trees of one structure, in JAX's eyes, with the same numbers."""
    assert tree_util.tree_structure(actual) == tree_util.tree_structure(expected)
    for a, b in zip(tree_util.tree_leaves(actual), tree_util.tree_leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-5, atol=1e-6)


@tree_util.register_pytree_node_class
class Pair:
    """Two branches, and a word that is none."""

    def __init__(self, a: Any, b: Any, word: str):
        self.a, self.b, self.word = a, b, word

    def tree_flatten(self):
        return (self.a, self.b), self.word

    @classmethod
    def tree_unflatten(cls, word, branches):
        return cls(*branches, word)  # pyright: ignore[reportCallIssue]


@tree_util.register_pytree_with_keys_class
class Keyed(Pair):
    def tree_flatten_with_keys(self):
        keys = tree_util.GetAttrKey("a"), tree_util.GetAttrKey("b")
        return [(keys[0], self.a), (keys[1], self.b)], self.word


class Plain:
    """Registered by functions."""

    def __init__(self, w: Any):
        self.w = w


tree_util.register_pytree_node(Plain, lambda p: ((p.w,), None), lambda _, parts: Plain(*parts))


@tree_util.register_dataclass
@dataclass
class Registered:
    w: Any
    power: int = field(metadata={"static": True})


@dataclass
class Layer:
    """Not registered: a dataclass that says itself what is static."""

    w: Any
    power: int = field(default=2, metadata={"static": True})
    words: tuple = field(default=("a", "b"), metadata={"static": True})


@dataclass(frozen=True)
class Frozen:
    name: str = field(metadata={"static": True})
    w: Any = None


X = np.array([1.0, 2.0, 3.0])


def of_pair(p, x):
    return (p.a * x).sum() + sum([(b * b).sum() for b in p.b]) if p.word == "squares" else p.a.sum()


@pytest.mark.parametrize("kind", [Pair, Keyed])
@pytest.mark.parametrize("array", [np.asarray, jnp.asarray])
@pytest.mark.parametrize("word", ["squares", "sum"])
def test_registered_classes(kind, array, word):
    p, x = kind(array(X), [array(X), array(2 * X)], word), array(X)
    close(rc.grad(of_pair)(p, x), jax.grad(of_pair)(tree_util.tree_map(jnp.asarray, p), jnp.asarray(X)))
    assert type(rc.grad(of_pair)(p, x)) is kind
    close(rc.value_and_grad(of_pair)(p, x)[1], rc.grad(of_pair)(p, x))


def test_registered_by_functions_and_as_dataclasses():
    got = rc.grad(lambda p: (p.w**3).sum())(Plain(X))
    np.testing.assert_allclose(got.w, 3 * X**2)
    for power in (2, 3):
        got = rc.grad(lambda p: (p.w**p.power).sum())(Registered(X, power))
        np.testing.assert_allclose(got.w, power * X ** (power - 1))
        assert got.power == power


def test_all_transforms_take_them():
    p, v = Registered(X, 3), Registered(np.ones(3), 3)
    f = lambda p: (p.w**p.power).sum()  # noqa: E731
    np.testing.assert_allclose(rc.hessian(f)(p).w.w, np.diag(6 * X))  # pyright: ignore[reportAttributeAccessIssue]
    np.testing.assert_allclose(rc.hvp(f)(p, v).w, 6 * X)
    np.testing.assert_allclose(rc.jvp(f, (p,), (v,))[1], (3 * X**2).sum())
    np.testing.assert_allclose(rc.vjp(f, p)[1](1.0)[0].w, 3 * X**2)
    np.testing.assert_allclose(rc.linearize(f, p)[1](v), (3 * X**2).sum())
    np.testing.assert_allclose(rc.vmap(f)(Registered(np.stack([X, 2 * X]), 2)), [14.0, 56.0])
    doubled = rc.compile(lambda p: Registered(p.w * 2, p.power))(p)
    assert type(doubled) is Registered and doubled.power == 3
    np.testing.assert_allclose(doubled.w, 2 * X)


@pytest.mark.parametrize("power", [2, 3])
def test_static_fields_of_dataclasses(power):
    value, got = rc.value_and_grad(lambda p: (p.w**p.power).sum())(Layer(X, power))
    np.testing.assert_allclose(value, (X**power).sum())
    np.testing.assert_allclose(got.w, power * X ** (power - 1))
    assert (type(got), got.power, got.words) == (Layer, power, ("a", "b"))
    frozen = rc.grad(lambda p: (p.w**2).sum() if p.name == "square" else p.w.sum())
    np.testing.assert_allclose(frozen(Frozen("square", X)).w, 2 * X)
    np.testing.assert_allclose(frozen(Frozen("sum", X)).w, np.ones(3))


def test_a_static_field_that_cannot_be_compared_is_refused():
    with pytest.raises(InputError, match="hashable"):
        rc.grad(lambda p: (p.w**2).sum())(Layer(X, words=["a"]))  # type: ignore[arg-type]


TREES = {
    "registered": Pair(1.0, [2.0, 3.0], "w"),
    "keyed": Keyed(1.0, {"x": 2.0}, "w"),
    "function inside": Pair(1.0, abs, "w"),
    "nothing inside": Pair(None, 1.0, "w"),
    "static": Layer(1.0, 4),
    "within": [Layer(Pair(1.0, 2.0, "u"))],
}


@pytest.mark.parametrize("name", TREES)
def test_taken_apart_and_put_together(name):
    leaves, form = flatten(TREES[name])
    again = unflatten(form, leaves)
    assert flatten(again) == (leaves, form) and hash(form) == hash(flatten(again)[1])
    assert count(form) == len(leaves) == len(spelled(form, "t")) and all(isinstance(leaf, float) for leaf in leaves)


def test_names_of_leaves():
    assert spelled(flatten(Keyed(1.0, 2.0, "w"))[1], "p") == ["p.a", "p.b"]
    assert spelled(flatten(Layer(1.0))[1], "p") == ["p.w"]


def test_what_is_static_tells_trees_apart():
    for a, b in ((Pair(1.0, 2.0, "u"), Pair(1.0, 2.0, "v")), (Layer(1.0, 2), Layer(1.0, 3))):
        assert order_as(flatten(a)[1], flatten(b)[1]) is None
        with pytest.raises(InputError, match="one form"):
            tree_map(lambda p, g: p + g, a, b)


def test_arrays_stay_whole():
    """JAX takes its sparse arrays apart, and they are arrays."""
    sparse = pytest.importorskip("jax.experimental.sparse")
    one = sparse.BCOO.fromdense(jnp.eye(2))
    assert flatten(one)[0] == [one] and flatten(jnp.ones(2))[1] == ("leaf",)


@needs_equinox
def test_equinox_modules():
    import equinox as eqx

    class Own(eqx.Module):
        layers: list
        scale: Any
        power: int = eqx.field(static=True)
        turned: Any

        def __call__(self, x):
            for layer in self.layers:
                x = self.turned(layer(x))
            return (x**self.power).sum() + jnp.exp(self.scale)

    keys = jax.random.split(jax.random.key(0), 4)
    layers = [eqx.nn.Linear(3, 4, key=keys[0]), eqx.nn.Linear(4, 2, use_bias=False, key=keys[1])]
    models = {
        "linear": eqx.nn.Linear(3, 2, key=keys[2]),
        "perceptron": eqx.nn.MLP(3, 1, 4, 2, key=keys[3]),
        "own": Own(layers, jnp.float32(0.5), 2, jnp.tanh),
        "a list": [eqx.nn.Linear(3, 3, key=keys[0]), eqx.nn.LayerNorm(3)],
    }

    def loss(model, x):
        if isinstance(model, list):
            for part in model:
                x = part(x)
            return (x**3).sum()
        return (model(x) ** 2).sum()

    x = jnp.asarray(X, "float32")
    for model in models.values():
        value, got = rc.value_and_grad(loss)(model, x)
        wanted, expected = eqx.filter_value_and_grad(loss)(model, x)
        close((value, got), (wanted, expected))
        moved = rc.tree_map(lambda p, g: p - 0.1 * g, model, got)
        close(
            eqx.filter(moved, eqx.is_array),
            eqx.filter(eqx.apply_updates(model, tree_map(lambda g: -0.1 * g, got)), eqx.is_array),
        )
        many = jnp.stack([x, 2 * x])
        np.testing.assert_allclose(
            rc.vmap(loss, in_axes=(None, 0))(model, many), jax.vmap(partial(loss, model))(many), rtol=2e-5
        )
