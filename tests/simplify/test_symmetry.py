"""Symmetric results are recognised, and only these."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import ricci as rc
from ricci.calculus.modes import derivative
from ricci.expr import Expr, affine, broadcast, delta, one, product, triangle, variable
from ricci.functions import activations as act
from ricci.functions import elementwise as el
from ricci.functions import matrix as m
from ricci.functions import reductions as r
from ricci.simplify import simplify, symmetries, unchanged
from ricci.testing import Sample, expressions
from ricci.testing.interpreter import interpret

A, B, D = (variable(name, (3, 3)) for name in "ABD")
s = variable("s", (3,))
X = variable("X", 2)
T = variable("T", (3, 3, 3))
AA = product([(A, "ki"), (A, "kj")], "ij")


def transposed(a: Expr) -> Expr:
    return product([(a, "ij")], "ji")


@pytest.mark.parametrize(
    ("e", "expected"),
    [
        (A, []),
        (delta(3), [(0, 1)]),
        (one((3, 3, 2)), [(0, 1)]),
        (triangle(3, 3), []),
        (affine("==", (1, 1, -1), 0, (3, 3, 5)), None),
        (A + transposed(A), [(0, 1)]),
        (A - transposed(A), []),
        (2 * A * transposed(A), [(0, 1)]),
        (AA, [(0, 1)]),
        (product([(X, "mn"), (X, "mp"), (variable("t", (X.shape[0],)), "m")], "np"), [(0, 1)]),
        (product([(A, "in"), (AA, "ij"), (A, "jp")], "np"), [(0, 1)]),
        (product([(A, "in"), (el.exp(AA), "ij"), (A, "jp")], "np"), [(0, 1)]),
        (product([(A, "in"), (D, "ij"), (A, "jp")], "np"), []),
        (product([(product([(A, "in"), (AA, "ij")], "nj"), "nj"), (A, "jp")], "np"), [(0, 1)]),
        (product([(A, "ij"), (B, "jk")], "ik"), []),
        (product([(A, "ij"), (B, "jk")], "ik") + product([(B, "ji"), (A, "kj")], "ik"), [(0, 1)]),
        (product([(s, "i"), (s, "j"), (s, "k")], "ijk"), [(0, 1), (0, 2), (1, 2)]),
        (product([(s, "i"), (A, "ij"), (s, "j")], "ij"), []),
        (product([(s, "i"), (AA, "ij"), (s, "j")], "ij"), [(0, 1)]),
        (el.tanh(AA + delta(3)), [(0, 1)]),
        (m.inv(AA + delta(3)), [(0, 1)]),
        (m.expm(A + transposed(A)), [(0, 1)]),
        (m.inv(A), []),
        (r.softmax(AA, 1), []),
        (el.maximum(AA, A), []),
        (T, []),
        (product([(T, "ijk"), (T, "abk")], "ijab"), []),
        (broadcast(AA, (1, 2), (2, 3, 3)), [(1, 2)]),
        (s, []),
    ],
)
def test_symmetries(e: Expr, expected: list | None):
    found = symmetries(e)
    if expected is None:
        assert len(found) == 1
    else:
        assert found == expected


def test_exchanging_groups_of_axes():
    e = product([(T, "ijk"), (T, "abk")], "ijab")
    assert unchanged(e, [2, 3, 0, 1])
    assert not unchanged(e, [2, 1, 0, 3])


def test_hessians_are_symmetric():
    w = variable("w", (3,))
    margin = product([(variable("Z", (5, 3)), "mn"), (w, "n")], "m")
    for f in (
        r.sum_(act.softplus(margin)),
        r.logsumexp(margin),
        r.sum_(margin**2) ** 2,
        r.sum_(el.exp(margin) * margin),
    ):
        h = simplify(derivative(simplify(derivative(f, w)), w))
        assert symmetries(h) == [(0, 1)]


@pytest.mark.parametrize("layers", [1, 2, 3, 10])
@pytest.mark.parametrize("activation", [el.tanh, act.relu])
def test_hessians_of_networks_are_symmetric(layers: int, activation):
    h: Expr = variable("x", 2)
    for layer in range(layers):
        h = activation(product([(h, "bi"), (variable(f"W{layer}", 2), "ji")], "bj"))
    first = variable("W0", 2)
    hessian = simplify(derivative(simplify(derivative(r.sum_(h**2), first)), first, "reverse"))
    assert symmetries(hessian) == [(0, 2), (1, 3)]
    assert unchanged(hessian, [2, 3, 0, 1])


def test_a_long_chain_does_not_recurse():
    e = AA
    for _ in range(20_000):
        e = el.tanh(e)
    assert symmetries(e) == [(0, 1)]


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))  # pyright: ignore[reportArgumentType]
@given(expressions(max_size=10, extents=(2, 2, 3)))
def test_what_is_called_symmetric_is(sample: Sample):
    e = sample.build()
    found = symmetries(e)
    if found:
        (value,) = interpret([e], sample.inputs, sample.sizes)
        for p, q in found:
            np.testing.assert_allclose(value, np.swapaxes(value, p, q), rtol=1e-12, atol=1e-12)


def test_the_check_can_fail():
    (value,) = interpret([A], {"A": np.arange(9.0).reshape(3, 3)}, {})
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(value, np.swapaxes(value, 0, 1))


def test_axes_that_may_be_exchanged_form_groups():
    """Each axis is tried with one of each group, so an outer product of many vectors takes few tries."""
    x, y = variable("x", (3,)), variable("y", (3,))
    names = "abcdefghijklmnopqrstuvwx"
    e = product([(x if k % 3 else y, (name,)) for k, name in enumerate(names)], names)
    found = symmetries(e)
    assert found == [(p, q) for p in range(24) for q in range(p + 1, 24) if bool(p % 3) == bool(q % 3)]


def test_second_derivatives_of_products_of_one_tensor_are_bounded():
    """Terms that may all be exchanged, in sums within sums: arrangements are chosen once for each, not for each way."""
    names = "abcdef"
    text = " ".join(f"A[{a},{b}]" for k, a in enumerate(names) for b in names[k + 1 :])
    with rc.limits(nodes=200_000):
        found = rc.parse(f"f = {text}").diff("A", "A")
    point = {"A": np.random.default_rng(0).normal(size=(2, 2))}
    other = rc.parse(f"f = {text}").diff("A", mode="reverse").diff("A", mode="forward")
    assert np.allclose(found(**point), other(**point))
