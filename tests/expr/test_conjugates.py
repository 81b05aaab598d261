"""Complex numbers in the core: conjugates go to the inputs, what is real is seen to be, derivatives are Wirtinger's."""

import gc
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricci.calculus.modes import MODES, derivative
from ricci.compiler.pipeline import evaluate, prepare
from ricci.errors import DTypeError
from ricci.expr import CONJ, I, check, conj, constant, live_nodes, multiply, power, product, variable
from ricci.functions import elementwise as el
from ricci.functions.complexes import abs2, angle, imag, real
from ricci.testing.complex_numbers import by_differences, random_complex
from ricci.testing.interpreter import interpret

z, w = variable("z", (3,), complex=True), variable("w", (3,), complex=True)
x = variable("x", (3,))
A = variable("A", (3, 3), complex=True)


def value(*expressions, **inputs):
    return evaluate(prepare(expressions), inputs)


def test_conjugates_go_to_the_inputs():
    assert conj(conj(z)) is z and conj(x) is x
    assert conj(el.exp(I * z) * x + 2 * w) is el.exp(-I * conj(z)) * x + 2 * conj(w)
    assert conj(product([(A, "ij"), (z, "j")], "i")) is product([(conj(A), "ij"), (conj(z), "j")], "i")
    assert conj(constant(1 + 2j)) is constant(1 - 2j)


def test_squares_of_the_unit():
    assert multiply(I, I) is constant(-1) and power(I, 3) is -I and power(I, -1) is -I
    assert multiply(I * x, I * x) is -(x**2)


def test_a_number_times_its_conjugate_is_real():
    r = product([(A, "ij"), (z, "j")], "i") - w
    assert multiply(r, conj(r)) is abs2(r) is power(el.abs_(r), 2) is abs2(conj(r)) is abs2(-r)
    assert not abs2(r).complex
    assert multiply(z**2, conj(z)) is multiply(abs2(z), z)
    assert abs2(el.exp(I * x)) is constant(1) or value(abs2(el.exp(I * x)), x=np.ones(3))[0].tolist() == [1, 1, 1]
    assert abs2(multiply(x, z)) is multiply(x**2, abs2(z))


def test_real_and_imaginary_parts():
    assert z + conj(z) is 2 * real(z) and z - conj(z) is 2 * multiply(I, imag(z))
    assert real(x) is x and imag(multiply(I, x)) is x and real(conj(z)) is real(z) and imag(conj(z)) is -imag(z)
    assert real(multiply(I, z)) is -imag(z) and angle(conj(z)) is -angle(z)
    assert real(z) + multiply(I, imag(z)) is z and real(z) - multiply(I, imag(z)) is conj(z)
    assert 2 * real(w) + multiply(2 * I, imag(w)) - z is 2 * w - z
    assert real(x + z) is x + real(z) and real(2 * multiply(x, z)) is 2 * multiply(x, real(z))


def test_both_derivatives_of_a_square():
    r = product([(A, "ij"), (z, "j")], "i") - w
    f = product([(abs2(r), "i")], "")
    by_z, by_conj = derivative(f, z), derivative(f, conj(z))
    assert by_conj is conj(by_z) is product([(conj(A), "ij"), (r, "i")], "j")
    assert derivative(by_conj, z) is product([(conj(A), "ki"), (A, "kj")], "ij")
    assert derivative(conj(z), z) is derivative(z, conj(z))  # both are zero


def test_what_has_no_meaning_is_refused():
    for f in (el.less, el.maximum, el.mod):
        with pytest.raises(DTypeError, match="complex numbers"):
            f(z, x)
    with pytest.raises(DTypeError, match="real"):
        el.floor(z)
    assert not el.equal(z, w).complex


def test_types_of_results():
    for f in (el.abs_(z), real(z), imag(z), angle(z), abs2(z), el.equal(z, w)):
        assert not f.complex and value(f, z=np.ones(3) * 1j, w=np.ones(3) * 1j)[0].dtype.kind != "c"
    made = value(el.exp(z), el.abs_(z), conj(z), z=np.ones(3, np.complex64))
    assert [v.dtype for v in made] == [np.complex64, np.float32, np.complex64]


def test_the_conjugate_of_what_is_there_is_not_computed_again():
    f = product([(product([(A, "ij"), (z, "j")], "i"), "i"), (el.abs_(z), "i")], "i")
    nodes = prepare([derivative(product([(abs2(f), "i")], ""), z)]).nodes
    assert "mirrored" in [node.head for node in nodes]
    both = [node for node in nodes if node.complex and node.args and conj(node) in nodes and conj(node) is not node]
    assert not [node for node in both if node.op is not CONJ and z not in node.args]  # type: ignore[attr-defined]


@given(st.integers(0, 2**32), st.sampled_from([0, 1, 3]))
def test_random_expressions(seed, n):
    sample = random_complex(random.Random(seed), n=n)
    check(sample.expr, conj(sample.expr))
    assert conj(conj(sample.expr)) is sample.expr
    found, turned = value(sample.expr, conj(sample.expr), **sample.inputs)
    expected = np.asarray(sample.run(np, sample.inputs))
    np.testing.assert_allclose(np.broadcast_to(found, expected.shape), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(turned, np.conj(found), rtol=1e-9, atol=1e-9)
    if not sample.expr.complex and n:
        assert not np.iscomplexobj(found)


@given(st.integers(0, 2**32), st.sampled_from(MODES))
def test_derivatives_of_random_expressions(seed, mode):
    sample = random_complex(random.Random(seed), n=2)
    by = sample.variables["z"]
    made = [derivative(sample.expr, v, mode) for v in (by, conj(by))]
    if not sample.expr.complex:
        assert made[1] is conj(made[0])
    found = value(*made, **sample.inputs)
    wanted = by_differences(lambda at: sample.run(np, {**sample.inputs, "z": at}), sample.inputs["z"])
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.broadcast_to(one, other.shape), other, rtol=2e-4, atol=2e-4)
    first, second = made[0], [derivative(made[0], v, mode) for v in (by, conj(by))]
    wanted = by_differences(lambda at: value(first, **{**sample.inputs, "z": at})[0], sample.inputs["z"])
    for one, other in zip(value(*second, **sample.inputs), wanted, strict=True):
        np.testing.assert_allclose(np.broadcast_to(one, other.shape), other, rtol=1e-2, atol=1e-2)


def test_the_checker_can_fail():
    """A derivative by the wrong one of the two is seen by differences."""
    at = np.array([0.3 + 0.4j])
    by_z, by_conj = by_differences(lambda v: np.abs(v) ** 2, at)
    assert np.allclose(by_z, np.diag(at.conj())) and not np.allclose(by_z, by_conj)


@given(st.integers(0, 2**32))
def test_derivatives_by_real_inputs_are_real(seed):
    sample = random_complex(random.Random(seed), n=2)
    if sample.expr.complex:
        return
    made = derivative(sample.expr, sample.variables["x"], "reverse")
    found = value(made, **sample.inputs)[0]
    wanted = by_differences(lambda at: sample.run(np, {**sample.inputs, "x": at}), sample.inputs["x"])
    along = np.real(np.add(*wanted))
    np.testing.assert_allclose(np.broadcast_to(found, along.shape), along, rtol=2e-4, atol=2e-4)
    assert not made.complex


def test_depth():
    """A network of 50 layers whose activations are not holomorphic: linear to derive, and finite."""
    y = z
    for _ in range(50):
        v = product([(A, "ij"), (y, "j")], "i")
        y = v * power(1 + abs2(v), -1)
    f = product([(abs2(y), "i")], "")
    gradient = derivative(f, z, "reverse")
    rng = np.random.default_rng(0)
    inputs = {"A": rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3)), "z": rng.normal(size=3) + 1j}
    by_z, _ = by_differences(lambda at: value(f, A=inputs["A"], z=at)[0], inputs["z"])
    np.testing.assert_allclose(value(gradient, **inputs)[0], by_z, rtol=1e-3, atol=1e-8)


@given(st.integers(0, 2**32))
def test_the_interpreter_agrees(seed):
    sample = random_complex(random.Random(seed), n=2)
    (found,) = interpret([sample.expr], sample.inputs, {})
    np.testing.assert_allclose(value(sample.expr, **sample.inputs)[0], found, rtol=1e-9, atol=1e-9)


def test_conjugates_are_freed_with_what_they_belong_to():
    """Nodes that held one another would stay until the collector of cycles comes."""
    gc.collect()
    gc.disable()
    try:
        before = live_nodes()
        y = z
        for _ in range(5):
            v = product([(A, "ij"), (y, "j")], "i")
            y = el.tanh(v) * power(1 + abs2(v), -1) - multiply(I, x)
        made = [derivative(product([(abs2(y), "i")], ""), by, "reverse") for by in (A, conj(A))]
        grown = live_nodes()
        del made, y, v
        assert live_nodes() <= before + 5 < grown
    finally:
        gc.enable()


def test_numbers_that_are_their_conjugates_but_for_a_sign():
    """``1j f(x)`` is the opposite of its conjugate, which holds it."""
    f = multiply(I, el.exp(x))
    for roots in ([f, -f], [multiply(f, z), multiply(-f, conj(z))], [f - z, -f - conj(z), el.exp(f), el.exp(-f)]):
        found = value(*roots, x=np.array([0.1, 0.2, 0.3]), z=np.array([1j, 2, 3 + 1j]))
        for one, other in zip(found[::2], found[1::2], strict=True):
            np.testing.assert_allclose(one, np.conj(other))
