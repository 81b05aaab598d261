"""Trees: taken apart and put together again, dictionaries in the order that they have."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, namedtuple

import numpy as np
import pytest

import ricci as rc
from ricci.errors import InputError
from ricci.tracing.trees import LEAF, count, flatten, order_as, spelled, tree_map, unflatten

Pair = namedtuple("Pair", "w b")
TREES = {
    "dict": {"b": 1.0, "a": [2.0, (3.0,)]},
    "keys of several types": {int: 1.0, "a": 2.0, 3: 4.0},
    "two keys, one a type": {float: 1.0, "a": 2.0},
    "ordered": OrderedDict(z=1.0, a=2.0),
    "default": defaultdict(list, z=1.0, a=2.0),
    "named": Pair({"y": 1.0, "x": 2.0}, None),
    "empty": {"a": (), "b": [], "c": None, "d": {}},
}


@pytest.mark.parametrize("name", TREES)
def test_put_together_again(name):
    tree = TREES[name]
    leaves, form = flatten(tree)
    again = unflatten(form, leaves)
    assert again == tree and type(again) is type(tree) and count(form) == len(leaves) == len(spelled(form))
    assert not isinstance(tree, dict) or list(again) == list(tree)
    assert flatten(again)[1] == form


def test_a_default_is_still_there():
    _, form = flatten(TREES["default"])
    assert unflatten(form, [1.0, 2.0])["new"] == []


def test_functions_go_through_dictionaries_in_their_order():
    weights = {"second": np.array([[1.0, 2.0], [0.0, 1.0]]), "first": np.array([[0.0, 1.0], [1.0, 0.0]])}

    def network(weights):
        x = np.array([1.0, 3.0])
        for w in weights.values():
            x = w @ x + x[0]
        return x @ np.array([1.0, 2.0])

    for tree in (weights, dict(reversed(weights.items())), OrderedDict(weights)):
        assert rc.value_and_grad(network)(tree)[0] == network(tree)
    assert network(weights) != network(dict(reversed(weights.items())))


ALIKE = {
    "keys": ({"b": [1, 2], "a": 3}, {"a": 3, "b": [1, 2]}, [2, 0, 1]),
    "within": ([{"b": 1, "a": 2}, 5], [{"a": 2, "b": 1}, 5], [1, 0, 2]),
    "the same": ({"a": 1, "b": 2}, {"a": 3, "b": 4}, [0, 1]),
    "other keys": ({"a": 1, "b": 2}, {"a": 1, "c": 2}, None),
    "one key less": ({"a": 1, "b": 2}, {"a": 1}, None),
    "another length": ([1, 2], [1, 2, 3], None),
    "another kind": ([1, 2], (1, 2), None),
    "a leaf": ({"a": 1}, 1, None),
    "another class": ({"a": 1, "b": 2}, OrderedDict(b=2, a=1), None),
    "another within": ({"b": 1, "a": [1]}, {"a": (1,), "b": 1}, None),
}


@pytest.mark.parametrize("name", ALIKE)
def test_order(name):
    tree, like, wanted = ALIKE[name]
    assert order_as(flatten(tree)[1], flatten(like)[1]) == wanted


def test_directions_may_have_their_keys_in_another_order():
    p, v = {"x": 2.0, "y": np.array([1.0, 3.0])}, {"y": np.array([1.0, 0.0]), "x": 10.0}

    def f(p):
        return {"u": p["x"] * p["y"], "s": p["x"] ** 2}

    _, slope = rc.jvp(f, (p,), (v,))
    np.testing.assert_allclose(slope["u"], 10 * p["y"] + 2 * v["y"])
    assert slope["s"] == 40
    back = rc.vjp(f, p)[1]({"s": 1.0, "u": np.ones(2)})[0]
    assert back["x"] == 8
    np.testing.assert_allclose(back["y"], [2, 2])
    inside = rc.compile(lambda p: rc.vjp(f, p)[1]({"s": 1.0, "u": np.ones(2)})[0])(p)
    np.testing.assert_allclose(inside["y"], back["y"])
    product = rc.hvp(lambda p: p["x"] ** 2 * p["y"].sum())(p, v)
    assert product["x"] == 2 * 4 * 10 + 2 * 2 * 1
    with pytest.raises(InputError, match="form"):
        rc.jvp(f, (p,), ({"x": 1.0},))


def test_tree_map_goes_by_keys():
    assert tree_map(lambda a, b: a - b, {"x": 5, "y": [7]}, {"y": [1], "x": 2}) == {"x": 3, "y": [6]}
    with pytest.raises(InputError, match="differ"):
        tree_map(lambda a, b: a, {"x": 5}, {"y": 5})
    assert order_as(LEAF, LEAF) == [0]
