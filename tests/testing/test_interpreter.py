"""The interpreter against NumPy written out, and against sums over all indices."""

import math
from fractions import Fraction
from itertools import product as grid

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricci.errors import AxisError, DTypeError, InputError, ShapeError
from ricci.expr import (
    Data,
    affine,
    broadcast,
    constant,
    delta,
    index_size,
    merge,
    one,
    one_hot,
    place,
    product,
    triangle,
    variable,
    window,
    zero,
)
from ricci.expr.structures import holds
from ricci.functions import activations as act
from ricci.functions import elementwise as e
from ricci.functions import reductions as r
from ricci.testing.interpreter import interpret

RNG = np.random.default_rng(0)
A, B, C = RNG.normal(size=(3, 4)), RNG.normal(size=(4, 5)), RNG.normal(size=(3, 3))
V, W = RNG.normal(size=7), RNG.normal(size=3)
a, b, c, v, w = variable("a", 2), variable("b", 2), variable("c", 2), variable("v", 1), variable("w", 1)


def value(expr, sizes=None, **inputs):
    return interpret([expr], inputs, sizes or {})[0]


# Products


@pytest.mark.parametrize(
    ("operands", "out", "expected"),
    [
        ([(a, "ik"), (b, "kj")], "ij", A @ B),
        ([(a, "ik"), (b, "kj")], "ji", (A @ B).T),
        ([(a, "ij")], "ji", A.T),
        ([(a, "ij")], "", A.sum()),
        ([(a, "ij")], "j", A.sum(0)),
        ([(c, "ii")], "", np.trace(C)),
        ([(c, "ii")], "i", np.diag(C)),
        ([(w, "i"), (w, "j")], "ij", np.outer(W, W)),
        ([(a, "ij"), (a, "ij")], "ij", A * A),
        ([(w, "i"), (w, "i"), (w, "i")], "", (W**3).sum()),
        ([(c, "ij"), (c, "jk"), (c, "ki")], "", np.trace(C @ C @ C)),
        ([(a, "ik"), (c, "ij"), (w, "i")], "jk", np.einsum("ik,ij,i->jk", A, C, W)),
        ([(a, "ik"), (a, "jk"), (a, "lk")], "ijl", np.einsum("ik,jk,lk->ijl", A, A, A)),
        ([(w, "i"), (v, "j")], "", W.sum() * V.sum()),
    ],
)
def test_products(operands, out, expected):
    np.testing.assert_allclose(value(product(operands, out), a=A, b=B, c=C, v=V, w=W), expected, rtol=1e-12)


def test_broadcasting():
    np.testing.assert_array_equal(value(broadcast(w, (1,), (2, 3, 4)), w=W), np.broadcast_to(W[:, None], (2, 3, 4)))
    n = index_size("n")
    assert value(product([(w, "i")], "in", {"n": n}), {("n",): 2}, w=W).shape == (3, 2)
    np.testing.assert_array_equal(value(one((2, 3))), np.ones((2, 3)))
    np.testing.assert_array_equal(value(zero((2, 3))), np.zeros((2, 3)))
    np.testing.assert_array_equal(value(3 * one((2,))), [3.0, 3.0])
    np.testing.assert_array_equal(value(2 * delta(3)), 2 * np.eye(3))


def test_sizes_as_numbers():
    assert value(product([(one(v.shape), "i")], "") * constant("pi"), v=V) == 7 * math.pi
    assert value(r.mean(v), v=V) == pytest.approx(V.mean())


# Structures


def test_windows():
    size = v.shape[0] - w.shape[0] + 1
    reads = product([(v, "j"), (window((1, 1), 0, v.shape[0], (size, w.shape[0])), "jik"), (w, "k")], "i")
    np.testing.assert_allclose(value(reads, v=V, w=W), np.correlate(V, W))
    spread = product([(v, "i"), (window((1, 1), 0, 9, (7, 3)), "jik"), (w, "k")], "j")
    np.testing.assert_allclose(value(spread, v=V, w=W), np.convolve(V, W))


def test_strides_shifts_places_and_pads():
    np.testing.assert_array_equal(value(product([(v, "j"), (window((2,), 1, 7, (3,)), "ji")], "i"), v=V), V[1::2])
    np.testing.assert_array_equal(value(product([(v, "j"), (place(5, 7), "j")], ""), v=V), V[5])
    np.testing.assert_array_equal(
        value(product([(v, "j"), (window((1,), -2, 7, (10,)), "ji")], "i"), v=V), [0, 0, *V, 0]
    )
    np.testing.assert_array_equal(value(product([(v, "j"), (window((-1,), 6, 7, (7,)), "ji")], "i"), v=V), V[::-1])
    np.testing.assert_array_equal(value(product([(c, "jk"), (window((1,), 1, 3, (2,)), "ji")], "ik"), c=C), C[1:])
    np.testing.assert_array_equal(
        value(product([(c, "ij"), (window((1,), 1, 3, (3,)), "ji")], "i"), c=C), [*np.diag(C, 1), 0]
    )


def test_merging_and_splitting():
    m = merge(a.shape)
    np.testing.assert_array_equal(value(product([(a, "ij"), (m, "cij")], "c"), a=A), A.ravel())
    m = merge((3, 4))
    np.testing.assert_array_equal(value(product([(a, "ij"), (m, "cij")], "c"), a=A), A.ravel())
    np.testing.assert_array_equal(value(product([(v, "c"), (m, "cij")], "ij"), v=A.ravel()), A)
    shifted = affine("==", (-1, 4, 1), 1, (12, 3, 4))
    np.testing.assert_array_equal(value(product([(a, "ij"), (shifted, "cij")], "c"), a=A), [0, *A.ravel()[:-1]])
    t = RNG.normal(size=(2, 3, 4))
    x = variable("x", 3)
    m = merge((x.shape[2], x.shape[0]))
    np.testing.assert_array_equal(
        value(product([(x, "ijk"), (m, "cki")], "jc"), x=t), t.transpose(1, 2, 0).reshape(3, 8)
    )


def test_merging_large_axes_is_a_reshape():
    x, data = variable("x", 2), np.ones((1500, 1500))
    assert value(product([(x, "ij"), (merge(x.shape), "cij")], "c"), x=data).shape == (1500**2,)
    assert value(r.max_(x), x=data) == 1


def test_triangles():
    np.testing.assert_array_equal(value(product([(c, "ij"), (triangle(3, 3), "ij")], "ij"), c=C), np.tril(C))
    np.testing.assert_array_equal(value(triangle(3, 4, 1)), np.tri(3, 4, 1))
    np.testing.assert_allclose(value(product([(v, "j"), (triangle(7, 7), "ij")], "i"), v=V), np.cumsum(V))


def test_gather_and_scatter():
    t = variable("t", 2)
    index = np.array([[0, 2], [2, 1], [1, 1]])
    reads = product([(one_hot(t, b.shape[0]), "xyv"), (b, "vd")], "xyd")
    np.testing.assert_array_equal(value(reads, t=index, b=B), B[index])
    rows = product([(one_hot(variable("s", 1), a.shape[1]), "iv"), (a, "iv")], "i")
    np.testing.assert_array_equal(value(rows, s=np.array([3, 0, 1]), a=A), A[[0, 1, 2], [3, 0, 1]])
    scattered = product([(one_hot(variable("s", 1), 5), "iv"), (w, "i")], "v")
    np.testing.assert_array_equal(value(scattered, s=np.array([3, 0, 3]), w=W), [W[1], 0, 0, W[0] + W[2], 0])
    shifted = product([(one_hot(variable("s", 1) + 1, v.shape[0]), "iv"), (v, "v")], "i")
    np.testing.assert_array_equal(value(shifted, s=np.array([5, 0], dtype=np.int8), v=V), V[[6, 1]])


@pytest.mark.parametrize("wrong", [7, -1])
def test_gather_outside_is_an_error(wrong):
    reads = product([(one_hot(variable("s", 1), v.shape[0]), "iv"), (v, "v")], "i")
    with pytest.raises(AxisError, match=f"place {wrong} of an axis of size 7"):
        value(reads, s=np.array([0, wrong]), v=V)
    with pytest.raises(DTypeError, match="integers"):
        value(reads, s=np.array([0.0, 1.0]), v=V)


def brute(operands, out, sizes):
    """The sum over all values of all labels; an operand is an array or a structure's relation."""
    labels = sorted({label for _, own in operands for label in own} | set(out))
    result = np.zeros([sizes[label] for label in out])
    for index in grid(*[range(sizes[label]) for label in labels]):
        at = dict(zip(labels, index, strict=True))
        term = 1.0
        for operand, own in operands:
            here = tuple(at[label] for label in own)
            term *= operand[here] if isinstance(operand, np.ndarray) else float(holds(operand, here))
        result[tuple(at[label] for label in out)] += term
    return result


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_random_products_are_sums_over_all_indices(data):
    sizes = {label: data.draw(st.integers(0, 3)) for label in "ijkl"}
    label = st.sampled_from("ijkl")
    factors, plain, inputs = [], [], {}
    for position in range(data.draw(st.integers(1, 3))):
        own = data.draw(st.lists(label, max_size=3))
        shape = tuple(sizes[x] for x in own)
        array = np.random.default_rng(position).normal(size=shape)
        inputs[f"x{position}"] = array
        factors.append((variable(f"x{position}", shape), own))
        plain.append((array, own))
    for _ in range(data.draw(st.integers(0, 2))):
        own = data.draw(st.lists(label, min_size=1, max_size=3, unique=True))
        coefs = tuple(data.draw(st.lists(st.sampled_from([-2, -1, 1, 2]), min_size=len(own), max_size=len(own))))
        const, kind = data.draw(st.integers(-2, 2)), data.draw(st.sampled_from(["==", ">="]))
        factors.append((affine(kind, coefs, const, tuple(sizes[x] for x in own)), own))
        plain.append(((kind, coefs, const), own))
    out = data.draw(st.lists(label, unique=True, max_size=3))
    result = value(product(factors, out, {x: sizes[x] for x in out}), **inputs)
    np.testing.assert_allclose(result, brute(plain, out, sizes), rtol=1e-10, atol=1e-12)


# Sums, powers, functions


def test_sums_and_powers():
    x, data = variable("x", 1), np.array([0.5, 2.0])
    np.testing.assert_allclose(value(x**2 + 3 * x - Fraction(1, 2), x=data), data**2 + 3 * data - 0.5)
    np.testing.assert_allclose(value(x ** Fraction(1, 2) / x, x=data), data**-0.5)
    np.testing.assert_allclose(value(2**x, x=data), 2**data)
    np.testing.assert_allclose(value(x**x, x=data), data**data)
    np.testing.assert_array_equal(value(1 / x, x=np.array([0.0, -0.0])), [np.inf, -np.inf])
    assert value(e.log(constant(2)) * 3) == 3 * math.log(2)


def test_several_roots_share_their_parts():
    y = e.exp(v)
    first, second, third = interpret([y, y + 1, y], {"v": V}, {})
    np.testing.assert_array_equal(first, np.exp(V))
    np.testing.assert_array_equal(second, np.exp(V) + 1)
    assert not np.shares_memory(first, third)


@pytest.mark.parametrize("n", [0, 1])
def test_axes_of_size_zero_and_one(n):
    x = variable("x", 2)
    data = RNG.normal(size=(n, 3))
    assert value(e.exp(x) * 2, x=data).shape == (n, 3)
    np.testing.assert_allclose(value(product([(x, "ij"), (x, "ik")], "jk"), x=data), data.T @ data)
    np.testing.assert_allclose(value(r.cumsum(x, 0), x=data), np.cumsum(data, 0))
    np.testing.assert_allclose(value(r.softmax(x, 1), x=data).sum(1), np.ones(n))
    gathered = product([(one_hot(variable("t", 1), x.shape[1]), "bv"), (x, "iv")], "bi")
    assert value(gathered, x=data, t=np.zeros(0, dtype=int)).shape == (0, n)


# Types


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floating_type_is_kept(dtype):
    x, data = variable("x", 2), (RNG.normal(size=(3, 3)) + 3 * np.eye(3)).astype(dtype)
    for expr in (
        x * 0.1 + Fraction(1, 3),
        e.exp(x) * constant("pi"),
        act.erf(x),
        act.gelu(x),
        act.relu(x),
        e.where(e.less(x, 0), 1, Fraction(1, 2)),
        r.mean(x),
        r.softmax(x, 1),
        product([(x, "ij"), (triangle(3, 3), "ij")], "ij"),
        e.less(x, 0) * 2,
        x ** Fraction(1, 2),
        x**3,
        2**x,
        2 * delta(3),
        one((2,)),
        constant(2),
        constant(0.1),
        e.log(constant(2)),
    ):
        assert value(expr, x=data).dtype == dtype


def test_types_that_meet():
    x, y = variable("x", 1), variable("y", 1)
    whole, single, double = np.arange(3, dtype=np.int32), np.ones(3, np.float32), np.ones(3)
    assert value(x * y, x=whole, y=single).dtype == np.float32
    assert value(x + y, x=whole, y=single).dtype == np.float32
    assert value(e.maximum(x, y), x=whole, y=single).dtype == np.float32
    assert value(x + y, x=single, y=double).dtype == np.float64
    assert value(x + 1, x=whole).dtype == np.int64
    assert value(x / 2, x=whole).dtype == np.float64
    assert value(e.exp(x), x=whole).dtype == np.float64
    assert value(e.exp(x), x=whole, y=single).dtype == np.float32
    assert value(x * Fraction(1, 2) + y, x=whole, y=single).dtype == np.float32
    assert value(r.argmax(x), x=single).dtype == np.int64
    assert value(e.less(x, 1), x=single).dtype == bool
    assert value(r.sum_(e.less(x, 1)), x=single).dtype == np.float32
    assert value(r.sum_(x), x=np.full(3, 100, np.int8)) == 300
    assert value(r.sum_(x), x=np.array([True, True])) == 2
    np.testing.assert_array_equal(value(x**-2, x=np.array([1, 2])), [1, 0.25])
    np.testing.assert_array_equal(value(x**y, x=np.array([2, 2]), y=np.array([3, -1])), [8, 0.5])


def test_arrays_as_constants():
    data = constant(Data(np.arange(3.0), "test-arange-3"))
    x = variable("x", 1)
    assert value(x + data, x=np.ones(3, np.float32)).dtype == np.float32
    np.testing.assert_array_equal(value(data * 2), [0, 2, 4])


@pytest.mark.parametrize("data", [np.ones(2, complex), np.array(["a"]), np.array([None])])
def test_other_types_are_refused(data):
    with pytest.raises(DTypeError, match=r"computes with numbers|stands for real numbers"):
        value(variable("x", 1) * 2, x=data)


# Results


def test_results_are_the_users_own():
    x, data = variable("x", 2), RNG.normal(size=(3, 4))
    for expr in (
        x,
        product([(x, "ij")], "ji"),
        e.stop_gradient(x),
        broadcast(x, (0, 1), (3, 4, 2)),
        act.relu(x),
        one((2, 2)),
    ):
        result = value(expr, x=data)
        assert not np.shares_memory(result, data)
        assert result.flags.c_contiguous and result.flags.writeable and result.base is None
    scalar = value(r.sum_(x), x=data.astype(np.float32))
    assert isinstance(scalar, np.float32)  # pyright: ignore[reportArgumentType]


def test_inputs_are_not_changed():
    data = RNG.normal(size=5)
    kept = data.copy()
    value(e.exp(v) * v + 1, v=data)
    np.testing.assert_array_equal(data, kept)


def test_no_warnings_for_infinities():
    with np.errstate(all="raise"):
        assert value(e.log(v), v=np.zeros(1)) == -np.inf
        assert value(e.exp(v) * e.exp(v), v=np.full(1, 1e3)) == np.inf


@pytest.mark.parametrize("length", [5_000, pytest.param(50_000, marks=pytest.mark.thorough)])
def test_a_long_chain(length):
    y = v
    for _ in range(length):
        y = e.sin(y) + 1
    assert np.isfinite(value(y, v=np.ones(3))).all()


# Errors


def test_errors_are_sentences():
    x, y = variable("x", 1), variable("y", 1)
    with pytest.raises(ShapeError, match="one index has the sizes 2 and 3"):
        value(product([(x, "i"), (y, "i")], ""), x=np.ones(2), y=np.ones(3))
    with pytest.raises(ShapeError, match="one index has the sizes"):
        value(product([(x, "i"), (y, "i")], ""), x=np.ones(1), y=np.ones(3))
    with pytest.raises(ShapeError, match=r"a sum have different shapes: \(\d,\) and \(\d,\)"):
        value(x + y, x=np.ones(1), y=np.ones(3))
    with pytest.raises(ShapeError, match="maximum have different shapes"):
        value(e.maximum(x, y), x=np.ones(1), y=np.ones(3))
    with pytest.raises(InputError, match="no value for the input 'x'"):
        value(x + 1, y=np.ones(3))
    with pytest.raises(ShapeError, match="'x' has order 1"):
        value(x + 1, x=np.ones((2, 2)))
    with pytest.raises(ShapeError, match=r"\(3,\) where \(2,\) is expected"):
        value(variable("x", (2,)) + 1, x=np.ones(3))
    with pytest.raises(InputError, match="Nothing determines the size n"):
        value(one((index_size("n"),)))
