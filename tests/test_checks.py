"""Derivatives against numerical ones: right ones pass, wrong ones are found, where they are wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import ricci as rc

RNG = np.random.default_rng(3)
A, v = RNG.normal(size=(3, 4)), RNG.normal(size=4)


@dataclass
class Layer:
    w: np.ndarray
    b: np.ndarray
    steps: int = 2


def layered(layer, x):
    for _ in range(layer.steps):
        x = np.tanh(layer.w @ x + layer.b)
    return {"out": x, "norm": (x * x).sum(), "steps": layer.steps}


RIGHT = {
    "matrix and vector": (lambda a, x: np.tanh(a @ x), (A, v)),
    "one array": (lambda x: np.exp(x).sum(), v),
    "a number": (lambda x: x**3, (2.0,)),
    "dictionary": (lambda p: np.exp(p["w"] * p["b"]), ({"w": v, "b": 0.5, "k": 3},)),
    "dataclass": (layered, (Layer(RNG.normal(size=(3, 3)) / 3, v[:3]), v[1:])),
    "whole numbers fixed": (lambda x, i: x[i] ** 2, (v, np.array([0, 2, 2]))),
    "several results": (lambda x: (x.sum(), [np.sin(x), 2]), (v,)),
    "inverse": (np.linalg.inv, (RNG.normal(size=(3, 3)) + 3 * np.eye(3),)),
    "near the edge of its domain": (lambda x: np.log(x).sum(), (np.array([1e-9, 1e-8]),)),
    "large": (lambda x: (x**2).sum() / 1e12, (1e6 * v,)),
    "fast": (lambda x: np.sin(100 * x), (v,)),
    "an empty array": (lambda x: x.sum() * 2.0, (np.zeros(0),)),
    "size 1": (lambda x: x * x, (np.ones((1, 1)),)),
}


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("order", [1, 2])
def test_right_derivatives_pass(name, order):
    f, args = RIGHT[name]
    rc.check_grads(f, args, order=order)


def test_higher_orders_and_keywords():
    rc.check_grads(lambda x, *, scale: np.sin(scale * x), (v,), order=3, kwargs={"scale": np.array(1.5)})


def test_single_precision_passes_and_is_not_too_loose():
    x = v.astype(np.float32)
    rc.check_grads(lambda x: np.tanh(x * x).sum(), x)
    factor = off(2, 1.02).astype(np.float32)
    with pytest.raises(rc.GradientMismatchError, match=r"argument 0, entry \[2\]"):
        rc.check_grads(lambda x: wrong(x, factor).sum(), x, order=1)


@rc.custom
def wrong(x, factor):
    return x**3


@wrong.derivative
def _(x, factor):
    return 3 * x**2 * factor, np.zeros(x.shape)


def off(entry, by=1.001):
    factor = np.ones(4)
    factor[entry] = by
    return factor


@pytest.mark.parametrize("mode", ["forward", "reverse", "fwd", "rev"])
@pytest.mark.parametrize("entry", [0, 3])
def test_one_wrong_entry_is_found(mode, entry):
    factor = off(entry)

    def cubes(a, p):
        return (a * wrong(p["u"], factor)).sum()

    with pytest.raises(rc.GradientMismatchError) as caught:
        rc.check_grads(cubes, (2.0, {"t": np.ones(2), "u": v}), modes=[mode], order=1)
    text = str(caught.value)
    assert "cubes of order 1" in text
    assert {"f": "forward mode", "r": "reverse mode"}[mode[0]] in text
    assert f"argument 1 at ['u'], entry [{entry}]" in text
    assert f"{6 * v[entry] ** 2 * 1.001:.6g}"[:6] in text and f"{6 * v[entry] ** 2:.6g}"[:6] in text
    assert "rtol=1e-06" in text and "is allowed" in text


def test_the_wrong_entry_of_the_result_is_named():
    factor = off(2)
    with pytest.raises(rc.GradientMismatchError, match=r"argument 0, entry \[2\] \(of the result, entry \[2\]\)"):
        rc.check_grads(lambda x: wrong(x, factor), (v,), order=1, modes="forward")


def test_the_path_is_written_as_in_python():
    factor = off(1)

    def f(layers, y):
        return (wrong(layers[1].w, factor) * y).sum()

    layers = [Layer(v, v), Layer(v, v)]
    with pytest.raises(rc.GradientMismatchError, match=r"argument 0 at \[1\]\.w, entry \[1\]"):
        rc.check_grads(f, (layers, v), order=1)


@rc.custom
def half_right(x):
    return x**3


@half_right.derivative
def _(x):
    return 3 * x * rc.stop_gradient(x)


def test_a_wrong_second_derivative_is_found_at_order_two_only():
    rc.check_grads(lambda x: half_right(x).sum(), (v,), order=1)
    with pytest.raises(rc.GradientMismatchError, match="of order 2 by forward over forward mode"):
        rc.check_grads(lambda x: half_right(x).sum(), (v,), order=2)
    with pytest.raises(rc.GradientMismatchError, match="of order 2 by reverse over reverse mode"):
        rc.check_grads(lambda x: half_right(x).sum(), (v,), order=2, modes=("reverse",))


def test_a_traced_value_that_differs_is_found():
    def differs(x):
        return x * (1.0 if isinstance(x, np.ndarray) else 1.001)

    with pytest.raises(rc.GradientMismatchError, match=r"entry \[0\], is .* traced, and .* run as it is"):
        rc.check_grads(differs, (v,))


def test_tolerances_can_be_given():
    factor = off(0)
    rc.check_grads(lambda x: wrong(x, factor).sum(), (v,), order=1, rtol=0.1)
    rc.check_grads(lambda x: wrong(x, factor).sum(), (v,), order=1, atol=1.0)
    with pytest.raises(AssertionError):
        rc.check_grads(lambda x: wrong(x, factor).sum(), (v,), order=1, rtol=1e-9, atol=0.0)


def test_the_step_can_be_given():
    fast = lambda x: np.sin(3000 * x)  # noqa: E731
    rc.check_grads(fast, (v,), eps=1e-4)


def test_an_infinite_derivative_is_a_mismatch():
    with pytest.raises(rc.GradientMismatchError, match=r"entry \[0\]"):
        rc.check_grads(lambda x: np.sqrt(x).sum(), (np.array([0.0, 1.0]),), order=1)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: rc.check_grads(np.sin, (v,), modes=("sideways",)), '"forward" and "reverse"'),
        (lambda: rc.check_grads(np.sin, (3,)), "floating numbers"),
        (lambda: rc.check_grads(v, (v,)), "takes a function"),  # pyright: ignore[reportArgumentType]
        (lambda: rc.check_grads(np.sin, (v,), order=-1), "whole number"),
        (lambda: rc.numerical_jacobian(np.sin, v, argnums=1), "argnums=1"),
        (lambda: rc.numerical_jacobian(np.sin, np.arange(3)), "floating numbers"),
        (lambda: rc.numerical_jacobian(np.argmax, v), "no floating array"),
    ],
)
def test_wrong_calls(call, message):
    with pytest.raises(rc.RicciError, match=message):
        call()


# The numerical Jacobian


JACOBIANS = {
    "matrix": (lambda a, x: np.tanh(a @ x), (A, v), 0),
    "both": (lambda a, x: np.tanh(a @ x), (A, v), (1, 0)),
    "tree": (lambda p: {"y": np.exp(p["w"] * p["b"]), "z": [p["b"] ** 2]}, ({"w": v, "b": np.array(0.5)},), 0),
    "scalar": (np.exp, (np.array(0.3),), 0),
    "from the end": (lambda a, x: a @ x, (A, v), -1),
    "empty": (lambda x: x * 2, (np.zeros((0, 2)),), 0),
}


@pytest.mark.parametrize("name", JACOBIANS)
def test_numerical_jacobian(name):
    f, args, argnums = JACOBIANS[name]
    found = rc.numerical_jacobian(f, *args, argnums=argnums)
    wanted = rc.jacobian(f, argnums=argnums)(*args)
    rc.tree_map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10), found, wanted)
    rc.tree_map(lambda a, b: np.testing.assert_equal(np.shape(a), np.shape(b)), found, wanted)


def test_extrapolation_gives_ten_digits():
    found = rc.numerical_jacobian(lambda x: np.exp(np.sin(3 * x)), np.array(0.7))
    assert abs(found - 3 * np.cos(2.1) * np.exp(np.sin(2.1))) < 1e-10
