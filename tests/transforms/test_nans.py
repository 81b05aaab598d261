"""``rc.debug_nans``: the operation and the line where a value stops being finite."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import ricci as rc

X = np.array([0.0, 1.0, 2.0])
NAN = np.array([1.0, np.nan, 2.0])
INF = np.array([1.0, np.inf, 2.0])


def logs(x):
    y = np.log(x)
    return y.sum()


def ratio(x, y):
    z = x / y
    return z.sum()


def root(x):
    a = 2 * x
    b = np.sqrt(a)
    return b.sum()


def masked(x):
    safe = np.where(x > 0, np.log(x), 0.0)
    return safe.sum()


def grown(x):
    return np.exp(1000 * x).sum()


def outer(x):
    return 3 * logs(x)


def through_gradient(x):
    inner = rc.grad(root)(x)
    return (inner**2).sum()


def times_nan(x):
    return (x * NAN).sum() ** 2


@rc.custom
def pole(x):
    return 1 / (1 - x)


@pole.derivative
def _(x):
    return pole(x) ** 2


def with_pole(x):
    y = pole(x)
    return y.sum()


FOUND = {
    "log of 0": (rc.grad(logs), (X,), ["In logs, an infinity arises in log", "y = np.log(x)", "[0]: -inf", "of 0."]),
    "division by 0": (rc.value_and_grad(ratio), (X + 1, X), ["In ratio", "division", "z = x / y", "[0]: inf"]),
    "0/0": (rc.value_and_grad(ratio), (X, X), ["In ratio", "division", "z = x / y", "[0]"]),
    "slope of sqrt": (rc.grad(root), (X,), ["In the derivative of root", "arises in sqrt", "b = np.sqrt(a)", "of 0."]),
    "hidden by where": (rc.grad(masked), (X,), ["In the derivative of masked", "log", "safe = np.where"]),
    "overflow": (rc.value_and_grad(grown), (X,), ["In grown", "exp", "2 such entries", "[1]: inf", "of 1000."]),
    "in a function called": (rc.grad(outer), (X,), ["In outer", "log", "y = np.log(x)"]),
    "in a gradient inside": (rc.grad(through_gradient), (X,), ["In through_gradient", "inner = rc.grad(root)(x)"]),
    "in a function with a rule": (rc.grad(with_pole), (X,), ["In with_pole", "division", "y = pole(x)", "[1]"]),
    "captured": (rc.grad(times_nan), (X,), ["that the function uses", "(3,)", "(x * NAN)", "[1]: nan"]),
    "argument": (rc.grad(logs), (NAN,), ["argument 0 (x) is not finite from the start", "[1]: nan"]),
    "infinite argument": (rc.value_and_grad(logs), (INF,), ["argument 0 (x)", "[1]: inf"]),
    "jvp": (lambda x: rc.jvp(root, (x,), (x + 1,)), (X,), ["In the derivative of root", "b = np.sqrt(a)"]),
    "vjp": (lambda x: rc.vjp(root, x)[1](1.0), (X,), ["In the derivative of root", "b = np.sqrt(a)"]),
    "linearize": (lambda x: rc.linearize(root, x)[1](x + 1), (X,), ["In the derivative of root", "b = np.sqrt(a)"]),
    "a direction": (lambda x: rc.vjp(root, x)[1](np.nan), (X + 1,), ["the direction", "nan"]),
    "hessian": (rc.hessian(lambda x: (np.abs(x) ** 1.5).sum()), (X,), ["In the derivative of", "power 3/2", "[0]"]),
    "compressed": (rc.hessian(logs, compressed=True), (X,), ["In logs", "log", "y = np.log(x)"]),
    "vmap": (rc.vmap(logs), (np.stack([X, X]),), ["arises in log", "y = np.log(x)", "[0, 0]: -inf"]),
}


@pytest.mark.parametrize("name", FOUND)
def test_found(name):
    function, args, texts = FOUND[name]
    with rc.debug_nans(), pytest.raises(rc.NonFiniteError) as caught:
        function(*args)
    for text in texts:
        assert text in str(caught.value)
    assert "test_nans.py, line" in str(caught.value) or name == "a direction"


def test_an_argument_is_named_by_its_path():
    with rc.debug_nans(), pytest.raises(rc.NonFiniteError, match=r"argument 1 at \['w'\]\[0\] \(p_w_0\)"):
        rc.grad(lambda x, p: (x * p["w"][0]).sum() ** 2)(X, {"w": [NAN]})
    with rc.debug_nans(), pytest.raises(rc.NonFiniteError, match="argument 'k'"):
        rc.grad(lambda x, *, k: (x * k).sum() ** 2)(X, k=NAN)


CLEAN = {
    "plain": (rc.grad(logs), (X + 1,)),
    "stable form": (rc.value_and_grad(lambda x: np.log1p(np.exp(x)).sum()), (1000 * X,)),
    "infinity on purpose": (rc.grad(lambda x: np.exp(np.where(x > 0, x, -np.inf)).sum()), (X,)),
    "a mask returned": (rc.jacobian(lambda x: np.where(x > 0, x, -np.inf)), (X,)),
    "NaN passed over": (rc.grad(lambda x: np.where(np.isnan(x), 0, x**2).sum()), (X,)),
    "whole numbers": (rc.grad(lambda x, i: (x[i] ** 2).sum()), (X, np.array([0, 2]))),
    "empty": (rc.grad(logs), (np.zeros(0),)),
}


@pytest.mark.parametrize("name", CLEAN)
def test_clean_code_is_left_alone(name):
    function, args = CLEAN[name]
    with np.errstate(all="ignore"):
        plain = function(*args)
        with rc.debug_nans():
            watched = function(*args)
    rc.tree_map(np.testing.assert_array_equal, watched, plain)


def test_infinities_may_be_allowed():
    with rc.debug_nans(infinities=False):
        assert rc.grad(root)(X)[0] == np.inf
        with pytest.raises(rc.NonFiniteError, match="NaN arises in product"):
            rc.value_and_grad(ratio)(X, X)


def test_nesting_ends_where_it_began():
    with rc.debug_nans():
        with rc.debug_nans(infinities=False):
            rc.grad(root)(X)
        with pytest.raises(rc.NonFiniteError):
            rc.grad(root)(X)
    rc.grad(root)(X)
    with pytest.raises(ZeroDivisionError), rc.debug_nans():
        raise ZeroDivisionError
    rc.grad(root)(X)


def test_it_decorates_functions_and_holds_in_its_thread_only():
    @rc.debug_nans()
    def step(x):
        return rc.grad(root)(x)

    with pytest.raises(FloatingPointError):
        step(X)
    found = []
    with rc.debug_nans():
        thread = threading.Thread(target=lambda: found.append(rc.grad(root)(X)))
        thread.start()
        thread.join()
    assert found[0][0] == np.inf


def test_a_program_that_ran_before_is_watched_too():
    g = rc.grad(root)
    for _ in range(3):
        g(X)
    with rc.debug_nans(), pytest.raises(rc.NonFiniteError):
        g(X)


def test_tensors():
    with rc.debug_nans(), np.errstate(all="ignore"):
        x = rc.Tensor(X)
        with pytest.raises(rc.NonFiniteError, match=r"(?s)infinity arises in log.*y = np\.log\(x\).*\[0\]: -inf"):
            y = np.log(x)
        y = np.sqrt(x).sum()
        with pytest.raises(rc.NonFiniteError, match=r"(?s)sqrt.*y\.backward\(\)"):
            y.backward()


def test_watched_values_of_bad_operands_are_passed_over():
    from ricci.transforms.nans import watch_value

    watch_value("log", NAN)
    with rc.debug_nans():
        watch_value("negative", -NAN, [NAN])
        with pytest.raises(rc.NonFiniteError, match=r"NaN arises in difference .*\n.*\[1\]: nan, made of 3 and 2"):
            watch_value("difference", NAN, [np.full(3, 3.0), 2.0])
