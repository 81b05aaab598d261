"""What can be done with an array, a traced array, a tensor and a formula: the same, or for a reason.

Every method, operator and attribute that one of them has and another has not is listed here with why; the rest means
the same on all of them.
"""

from __future__ import annotations

import operator

import numpy as np
import pytest

import ricci as rc
from ricci.functions.table import FUNCTIONS
from ricci.tracing.array import Traced
from ricci.user.formula import Formula

RNG = np.random.default_rng(5)
X = RNG.uniform(0.2, 0.8, size=(3, 4))
Y = RNG.uniform(0.2, 0.8, size=(3, 4))


def words(text):
    return set(text.split())


# Why a name is on one surface only.
MEMORY_OF_ARRAYS = words(  # where the entries lie, and changing them there
    "base byteswap ctypes data device dump dumps flags getfield partition put resize setfield setflags strides "
    "to_device tobytes tofile view"
)
GRADIENTS = words(  # a tensor has a value and a gradient of its own
    "backward changed data expression grad index is_leaf name node number op parents register_hook rename "
    "requires_grad requires_grad_ value zero_grad"
)
TRACE = words(
    "array changeable doubt expr frame hold source version weak"
)  # what a traced array stands for, and its changes
IN_PLACE = {"put", "view"}  # a tensor is not changed in place, where gradients would not see it
SYMBOLS = words(  # what is known of a formula as such, and what is made of it
    "axes chain code compile context derivation diff diff_all equation equivalent expr graph heights indices latex "
    "left matrix name named of_orders order origin over pullback pushforward rename route settled simplify source "
    "standing statements structure variables with_functions"
)
BY_POSITION = words(  # a formula has names for its axes, and symbolic sizes; patterns move its axes
    "argpartition astype at choose compress conj conjugate copy detach diagonal dot dtype fill flat flatten "
    "frame imag item itemsize mT names_from nbytes nonzero numpy ravel real remembered repeat reshape "
    "searchsorted size squeeze swapaxes take tolist trace weak"
)


def public(kind):
    return {name for name in dir(kind) if not name.startswith("_")}


def test_tensors_and_traced_arrays():
    assert public(rc.Tensor) - public(Traced) <= GRADIENTS
    assert public(Traced) - public(rc.Tensor) <= TRACE | IN_PLACE


def test_arrays_and_traced_arrays():
    assert public(np.ndarray) - public(Traced) <= MEMORY_OF_ARRAYS
    assert public(np.ndarray) - public(rc.Tensor) <= MEMORY_OF_ARRAYS


def test_formulas_and_traced_arrays():
    assert public(Formula) - public(Traced) <= SYMBOLS
    assert public(Traced) - public(Formula) <= BY_POSITION | TRACE | IN_PLACE


OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"]
COMPARISONS = ["lt", "le", "gt", "ge"]


def test_operators():
    for name in [*OPERATORS, *[f"r{name}" for name in OPERATORS], *COMPARISONS, "neg", "pos", "abs", "matmul"]:
        for kind in (np.ndarray, Traced, rc.Tensor, Formula):
            assert hasattr(kind, f"__{name}__"), (name, kind)


@pytest.mark.parametrize("name", [*OPERATORS, *COMPARISONS])
def test_operators_mean_the_same(name):
    function = getattr(operator, name)
    x, y = rc.variable("x[i,j]"), rc.variable("y[i,j]")
    for f in (function, lambda x, y: function(x, 0.3), lambda x, y: function(0.7, y)):
        wanted = f(X, Y)
        np.testing.assert_allclose(rc.compile(f)(X, Y), wanted, rtol=1e-12)
        np.testing.assert_allclose(np.asarray(f(rc.Tensor(X, False), rc.Tensor(Y, False))), wanted, rtol=1e-12)
        formula = f(x, y)
        given = {n: v for n, v in (("x", X), ("y", Y)) if n in formula.variables}
        np.testing.assert_allclose(formula(**given), wanted, rtol=1e-12)


# Methods that are functions of the table, with further operands where they take some.
ENTRYWISE = [name for name, row in FUNCTIONS.items() if row.kind == "elementwise" and hasattr(Formula, name)]
OVER = [name for name, row in FUNCTIONS.items() if row.kind in ("reduce", "keep") and row.complex != "always"]
MORE = {"clip": (0.3, 0.6), "polygamma": (1,)}


def operands(name):
    """What stands beside x: numbers that the function is defined for."""
    return MORE.get(name, (Y,) * (FUNCTIONS[name].arity - 1))


@pytest.mark.parametrize("name", [n for n in ENTRYWISE if n not in ("round", "polygamma")])
def test_methods_entry_by_entry(name):
    others = operands(name)
    x = X + 1 if name == "acosh" else X
    wanted = np.asarray(getattr(rc, name)(x, *others))
    compiled = rc.compile(lambda x: getattr(x, name)(*others))(x)
    np.testing.assert_allclose(compiled, wanted, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(getattr(rc.Tensor(x, False), name)(*others)), wanted, rtol=1e-12)
    symbols = [rc.variable("y[i,j]", o) if isinstance(o, np.ndarray) else o for o in others]
    np.testing.assert_allclose(getattr(rc.variable("x[i,j]"), name)(*symbols)(x=x), wanted, rtol=1e-12)
    if hasattr(np, name) and name != "sign":
        np.testing.assert_allclose(wanted, getattr(np, name)(x, *others), rtol=1e-12)


@pytest.mark.parametrize("name", [n for n in ENTRYWISE if n not in ("round", "polygamma")])
def test_methods_have_gradients(name):
    others = operands(name)
    x = X + 1 if name == "acosh" else X
    if not isinstance(getattr(rc.Tensor(x), name)(*others), rc.Tensor):
        return  # truths
    t = rc.Tensor(x)
    getattr(t, name)(*others).sum().backward()
    wanted = rc.grad(lambda x: getattr(rc, name)(x, *others).sum())(x)
    np.testing.assert_allclose(t.grad.numpy(), wanted, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(rc.grad(lambda x: getattr(x, name)(*others).sum())(x), wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", OVER)
def test_methods_over_axes(name):
    wanted = np.asarray(getattr(rc, name)(X, 1))
    np.testing.assert_allclose(
        rc.compile(lambda x: getattr(x, name)(1) if name != "sort" else rc.sort(x, 1))(X), wanted
    )
    np.testing.assert_allclose(getattr(rc.variable("x[i,j]"), name)("j")(x=X), wanted, rtol=1e-12)
    if name != "sort":  # as NumPy's, in place
        np.testing.assert_allclose(np.asarray(getattr(rc.Tensor(X, False), name)(1)), wanted, rtol=1e-12)


def test_detached_arrays_have_no_gradient():
    np.testing.assert_allclose(rc.grad(lambda x: (x.detach() * x).sum())(X), X)
    t = rc.Tensor(X)
    (t.detach() * t).sum().backward()
    np.testing.assert_allclose(t.grad.numpy(), X)


@pytest.mark.parametrize("function", [operator.add, operator.mul, operator.truediv, operator.pow])
def test_a_formula_does_not_meet_an_array_with_a_gradient(function):
    """Not even a number: its gradient would be lost."""
    f = rc.variable("x[i]")
    for t in (rc.Tensor(2.0), rc.Tensor([1.0, 2.0])):
        for pair in ((f, t), (t, f)):
            with pytest.raises(rc.RicciError, match=r"formula|Formula"):
                function(*pair)
    with pytest.raises(rc.RicciError, match=r"formula|Formula"):
        rc.grad(lambda x: function(f, x.sum()))(X)


def test_the_comparison_can_fail():
    class Lacking:
        def sum(self): ...

    assert public(rc.Tensor) - public(Lacking) > GRADIENTS
