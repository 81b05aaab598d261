"""The functions of the table, ``rc.exp``, ``rc.maximum``, ``rc.solve``, on every kind of operand and every mixture.

A value does not depend on the kinds that the operands are of, nor does a gradient; the kind of the result is that of
what a gradient or a trace asks for.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import ricci as rc
from ricci.functions.table import FUNCTIONS

# of JAX, where results of double precision are asked for beside its single ones
pytestmark = pytest.mark.filterwarnings("ignore:Explicitly requested dtype:UserWarning")

RNG = np.random.default_rng(11)
X = RNG.uniform(0.15, 0.85, size=(3, 3))
Y = RNG.uniform(0.15, 0.85, size=(3, 3))
Z = RNG.uniform(0.15, 0.85, size=(3, 3))
SPD = X @ X.T + np.eye(3)
LEFT_OUT = {
    "barrier": "inside programs only",
    "polygamma": "its first operand is a whole number",
    "trace": "rc.trace is of functions; the sum of the diagonal is rc.tr",
}
ALONG_ONE = ("argmax", "argmin", "cumsum", "cumprod", "sort", "argsort")
NAMES = [name for name in FUNCTIONS if name not in LEFT_OUT]


def function_of(name):
    function = getattr(rc, name)
    return (lambda x: function(x, 1)) if name in ALONG_ONE else function


def operands(name):
    """Operands that the function is defined and smooth at."""
    row = FUNCTIONS[name]
    if row.kind == "matrix":
        return [SPD, X][: row.arity]
    if name == "where":
        return [X > 0.5, Y, Z]
    first = X + 1 if name == "acosh" else X
    return [first, Y, Y + 0.2][: row.arity]


def torch_array(x):
    return pytest.importorskip("torch", reason="torch is not installed").tensor(x)


def jax_array(x):
    return pytest.importorskip("jax.numpy", reason="jax is not installed").asarray(x)


KINDS = {
    "numpy": np.asarray,
    "list": lambda x: x.tolist(),
    "tensor": lambda x: rc.Tensor(x, False),
    "torch": torch_array,
    "jax": jax_array,
}


def plain(value):
    return np.asarray(value.detach() if hasattr(value, "detach") else value)


def wanted(name):
    return np.asarray(function_of(name)(*operands(name)))


def assert_alike(found, name, single):
    """``single``: an array of JAX is among the operands, in single precision."""
    expected = wanted(name)
    assert plain(found).shape == expected.shape
    tolerance = 2e-4 if single else 1e-10
    np.testing.assert_allclose(1 * plain(found), 1 * expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_values(name):
    function, given = function_of(name), operands(name)
    for kinds in product(KINDS, repeat=len(given)):
        if len(given) == 3 and len(set(kinds)) > 2:
            continue
        made = [KINDS[kind](x) for kind, x in zip(kinds, given, strict=True)]
        assert_alike(function(*made), name, "jax" in kinds)


@pytest.mark.parametrize("name", NAMES)
def test_values_inside_a_trace(name):
    """Each operand in turn is traced, and the others are arrays of every kind from outside."""
    function, given = function_of(name), operands(name)
    for k, kind in product(range(len(given)), KINDS):
        made = [KINDS[kind](x) for x in given]

        def run(x, k=k, made=made):
            return function(*[x if n == k else other for n, other in enumerate(made)])

        assert_alike(rc.compile(run)(given[k]), name, kind == "jax")


@pytest.mark.parametrize("name", NAMES)
def test_gradients(name):
    """By each operand, traced or a tensor, beside plain ones and beside tensors."""
    function, given = function_of(name), operands(name)
    if wanted(name).dtype.kind != "f":
        return
    for k, x in enumerate(given):
        if x.dtype.kind != "f":
            continue
        expected = rc.grad(lambda *xs: function(*xs).sum(), argnums=k)(*given)
        for make in (np.asarray, KINDS["tensor"], KINDS["torch"]):
            others = [make(other) for other in given]

            def total(x, k=k, others=others):
                return function(*[x if n == k else other for n, other in enumerate(others)]).sum()

            np.testing.assert_allclose(rc.grad(total)(x), expected, rtol=1e-9, atol=1e-9)
            t = rc.Tensor(x)
            total(t).backward()
            np.testing.assert_allclose(t.grad.numpy(), expected, rtol=1e-9, atol=1e-9)


def test_numbers_and_lists():
    np.testing.assert_allclose(rc.exp([0.0, 1.0]), np.exp([0.0, 1.0]))
    np.testing.assert_allclose(rc.maximum([1.0, 4.0], 2), [2.0, 4.0])
    np.testing.assert_allclose(rc.maximum(np.array([1.0, 4.0]), [2, 3]), [2.0, 4.0])
    np.testing.assert_allclose(rc.softmax([[0.0, 0.0]], -1), [[0.5, 0.5]])
    assert rc.grad(lambda x: rc.maximum(x, [1.0, 5.0]).sum())(3.0) == 1.0


def test_formulas_stand_with_formulas_and_numbers_only():
    f = rc.variable("x[i]")
    assert rc.maximum(f, 2.0)(x=[1.0, 3.0]).tolist() == [2.0, 3.0]
    for other in (np.ones(2), rc.Tensor([1.0, 2.0]), [1.0, 2.0], np.ma.masked_less([1.0, 2.0], 1)):
        with pytest.raises(rc.RicciError, match=r"formula|Formula"):
            rc.maximum(f, other)


def test_the_comparison_can_fail():
    with pytest.raises(AssertionError):
        assert_alike(wanted("exp") + 1e-6, "exp", False)
    with pytest.raises(AssertionError):
        assert_alike(wanted("exp")[0], "exp", False)
