"""What users are told when a function cannot be transformed: the kind of error, what is wrong, the remedy, the line."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ricci as rc

X = np.array([1.0, 2.0, 3.0])
GLOBAL = np.ones(3)
KEPT: list = []


def doubled(x):
    return 2 * x


def total(x):
    return x.sum()


def doubtful(x):
    y = np.outer(x, x)
    y.ravel()[0] = 5.0
    return y.sum()


def doubtful_view(x):
    y = np.outer(x, x)
    flat = y.reshape(-1)
    y[0] = 5.0
    return flat.sum()


def around(x):
    y = x * 2.0

    def inner(z):
        y[0] = z[0]
        return z.sum()

    return rc.grad(inner)(x).sum() + y.sum()


def into_number(x):
    s = x.sum()
    s[...] = 1.0
    return s


def into_whole(x):
    y = (x > 0).astype(int)
    y += x
    return y.sum()


def into_diagonal(x):
    y = np.outer(x, x)
    y.diagonal()[0] = 1.0
    return y.sum()


def grown(x):
    y = x[:1] * 2.0
    y += x
    return y.sum()


def deleted(x):
    del x[0]
    return x.sum()


def into_plain(x):
    y = np.zeros(3)
    y[0] = x[0]
    return y.sum()


def slice_into_plain(x):
    y = np.zeros(3)
    y[1:] = x[1:]
    return y.sum()


def plain_plus(x):
    y = np.zeros(3)
    y += x
    return y.sum()


def with_out(x):
    y = np.zeros(3)
    np.add(x, 1, out=y)
    return y.sum()


def changes_global(x):
    y = (x * GLOBAL).sum()
    GLOBAL[0] += 1
    return y


def branches(x):
    if x.sum() > 0:
        return x.sum()
    return -x.sum()


def loops(x):
    while x > 1:
        x = x / 2
    return x


def as_float(x):
    return float(x[0]) * x.sum()


def by_math(x):
    return math.sin(x[0])


def shown(x):
    print(f"{x[0]:.3f}")
    return x.sum()


def made_plain(x):
    return np.array([x[0], x[1]]).sum()


def misfits(x):
    return (x + np.ones(4)).sum()


def leaks(x):
    KEPT.append(x * 2)
    return x.sum()


def uses_leaked(x):
    return (x * KEPT[0]).sum()


def leaked():
    KEPT.clear()
    rc.grad(leaks)(X)
    return KEPT[0]


def leak_inside(x):
    kept = []

    def inner(y):
        kept.append(np.sin(y))
        return y.sum()

    rc.grad(inner)(x)
    return (kept[0] * x).sum()


LINES = {  # errors in the user's function: the kind, what they say, and the line they show
    "not scalar": (rc.grad, doubled, rc.ShapeError, ["shape (3,)", "rc.jacobian"], "return 2 * x"),
    "truth value": (rc.grad, lambda x: (x > 0).any(), rc.DTypeError, ["bool", "floating"], "(x > 0).any()"),
    "changed by ravel": (rc.grad, doubtful, rc.TraceError, ["(3, 3)", "in memory", ".copy()"], "y.ravel()[0] = 5.0"),
    "read after reshape": (rc.grad, doubtful_view, rc.TraceError, ["(9,)", "in memory"], "return flat.sum()"),
    "changed around": (rc.grad, around, rc.TraceError, ["function around", "return"], "y[0] = z[0]"),
    "changed number": (rc.grad, into_number, rc.TraceError, ["a number"], "s[...] = 1.0"),
    "floats into whole": (rc.grad, into_whole, rc.DTypeError, ["float64", "int64", "astype"], "y += x"),
    "changed diagonal": (rc.grad, into_diagonal, rc.TraceError, ["read-only", "copy()"], "y.diagonal()[0] = 1.0"),
    "another shape in place": (rc.grad, grown, rc.ShapeError, ["(3,)", "(1,)"], "y += x"),
    "deleted": (rc.grad, deleted, rc.TraceError, ["np.delete"], "del x[0]"),
    "into a plain array": (rc.grad, into_plain, rc.TraceError, ["plain one", "np.stack"], "y[0] = x[0]"),
    "slice into one": (rc.grad, slice_into_plain, rc.TraceError, ["plain array"], "y[1:] = x[1:]"),
    "plain +=": (rc.grad, plain_plus, rc.TraceError, ["a = a + x"], "y += x"),
    "out=": (rc.grad, with_out, rc.TraceError, ["out=…"], "np.add(x, 1, out=y)"),
    "global changed": (rc.grad, changes_global, rc.TraceError, ["in place", "(3,)"], "y = (x * GLOBAL).sum()"),
    "if": (rc.grad, branches, rc.TraceError, ["rc.where", "static_argnums", "rc.Tensor"], "if x.sum() > 0:"),
    "float": (rc.grad, as_float, rc.TraceError, ["float(…)", "rc.Tensor"], "return float(x[0]) * x.sum()"),
    "math": (rc.grad, by_math, rc.TraceError, ["NumPy's functions"], "return math.sin(x[0])"),
    "format": (rc.grad, shown, rc.TraceError, ["format(…)"], 'print(f"{x[0]:.3f}")'),
    "np.array": (rc.jacobian, made_plain, rc.TraceError, ["ricci.numpy.array"], "np.array([x[0], x[1]])"),
    "shapes": (rc.grad, misfits, rc.ShapeError, ["(3,) and (4,)", "np.add"], "return (x + np.ones(4)).sum()"),
    "leak inside": (rc.grad, leak_inside, rc.TraceError, ["inner", "has returned"], "kept.append(np.sin(y))"),
}


@pytest.fixture(autouse=True)
def same_global():
    GLOBAL[:] = 1


@pytest.mark.parametrize("name", LINES)
def test_errors_show_the_line(name):
    transform, function, kind, texts, line = LINES[name]
    with pytest.raises(kind) as caught:
        transform(function)(X)
    for text in [*texts, line, "test_errors.py, line"]:
        assert text in str(caught.value)


def test_while():
    with pytest.raises(rc.TraceError, match=r"while x > 1:"):
        rc.grad(loops)(8.0)


USES = {
    "operator": lambda k: k + 1,
    "function": np.sin,
    "method": lambda k: k.sum(),
    "index": lambda k: k[0],
    "truth": bool,
    "number": float,
    "assignment": lambda k: k.__setitem__(0, 1.0),
    "argument": rc.grad(total),
    "in another function": lambda k: rc.grad(uses_leaked)(X),
    "array": np.asarray,
}


@pytest.mark.parametrize("name", USES)
def test_leaked_arrays(name):
    kept = leaked()
    with pytest.raises(rc.TraceError) as caught:
        USES[name](kept)
    text = str(caught.value)
    assert "after the function leaks that made it has returned" in text
    assert "KEPT.append(x * 2)" in text and text.count("test_errors.py, line") == 2
    assert "Return it from the function" in text


def test_a_leaked_array_can_be_looked_at():
    assert repr(leaked()) == str(leaked()) == f"{leaked()}" == "<traced array of shape (3,), float64>"


CALLS = {  # errors in the call itself
    "whole number": (lambda: rc.grad(lambda x: x * x)(3), rc.DTypeError, ["argument 0", "2.0 in place of 2"]),
    "whole array": (lambda: rc.grad(total)(np.arange(3)), rc.DTypeError, ["int64", "x.astype(float)"]),
    "truths": (lambda: rc.grad(total)(X > 0), rc.DTypeError, ["bool"]),
    "whole in a tree": (lambda: rc.grad(lambda p: p["a"] * p["b"])({"a": 1.0, "b": 2}), rc.DTypeError, ["at b"]),
    "complex": (
        lambda: rc.grad(total)(X + 1j),
        rc.DTypeError,
        ["returns complex128", "real", "holomorphic=True"],
    ),
    "objects": (lambda: rc.grad(total)(np.array([None])), rc.DTypeError, ["argument x", "object"]),
    "text": (lambda: rc.grad(total)("abc"), (rc.DTypeError, AttributeError), []),
    "empty tree": (lambda: rc.grad(lambda p: 1.0)({}), rc.InputError, ["no arrays"]),
    "tuple returned": (lambda: rc.grad(lambda x: (x.sum(), 1))(X), rc.InputError, ["(·, ·)", "has_aux=True"]),
    "nothing returned": (lambda: rc.grad(lambda x: None)(X), rc.InputError, ["forget to return"]),
    "text returned": (lambda: rc.grad(lambda x: "no")(X), rc.InputError, ["'no'"]),
    "whole returned": (lambda: rc.jacobian(lambda x: 3)(X), rc.DTypeError, ["int64", "no derivative"]),
    "argnums too large": (lambda: rc.grad(total, argnums=5)(X), rc.InputError, ["argnums=5", "with 1 by position"]),
    "argnums too small": (lambda: rc.grad(total, argnums=-2)(X), rc.InputError, ["argnums=-2"]),
    "argnums twice": (lambda: rc.grad(misfits, argnums=(0, 0))(X[:1]), rc.RicciError, []),
    "argnums none": (lambda: rc.grad(total, argnums=())(X), rc.InputError, ["one or more"]),
    "argnums a float": (lambda: rc.grad(total, argnums=0.0)(X), rc.InputError, ["the number of an argument", "0.0"]),  # pyright: ignore[reportArgumentType, reportCallIssue]
    "argnums None": (lambda: rc.grad(total, argnums=None)(X), rc.InputError, ["the number of an argument", "None"]),  # pyright: ignore[reportArgumentType, reportCallIssue]
    "argnums a name": (lambda: rc.grad(total, argnums="y")(X), rc.InputError, ["'y'"]),
    "no arguments": (rc.grad(total), rc.InputError, ["0 arguments", "'x'"]),
    "too many": (lambda: rc.grad(total)(X, X), rc.InputError, ["2 arguments", "too many"]),  # pyright: ignore[reportCallIssue]
    "no function": (lambda: rc.grad(X), rc.InputError, ["takes a function", "ndarray"]),  # pyright: ignore[reportArgumentType, reportCallIssue]
    "has_aux without": (lambda: rc.grad(total, has_aux=True)(X), rc.InputError, ["(result, aux)", "an array"]),
    "static list": (lambda: rc.grad(lambda x, n: x.sum(), static_argnums=1)(X, [1]), rc.InputError, ["hashable"]),
    "mode": (lambda: rc.jacobian(total, mode="sideways")(X), rc.InputError, ["'sideways'", "forward"]),
    "backend": (lambda: rc.grad(total, backend="tpu"), rc.InputError, ["'tpu'", "torch"]),
    "tangent shape": (lambda: rc.jvp(total, (X,), (X[:2],)), rc.ShapeError, ["tangent for x", "(2,)", "(3,)"]),
    "tangent type": (lambda: rc.jvp(total, (X,), (np.ones(3, int),)), rc.ShapeError, ["int64"]),
    "tangents too many": (lambda: rc.jvp(total, (X,), (X, X)), rc.InputError, ["1 primals and 2 tangents"]),
    "tangent form": (lambda: rc.jvp(lambda p: p["a"].sum(), ({"a": X},), (X,)), rc.InputError, ["(·,)", "{'a': ·}"]),
    "tangent None": (lambda: rc.jvp(total, (X,), (None,)), rc.InputError, ["(None,)"]),
    "no tuple": (lambda: rc.jvp(total, X, X), rc.InputError, ["rc.jvp(f, (x,), (v,))"]),  # pyright: ignore[reportArgumentType]
    "gradient shape": (lambda: rc.vjp(doubled, X)[1](X[:2]), rc.ShapeError, ["(2,)", "(3,)"]),
    "gradient type": (lambda: rc.vjp(doubled, X)[1](np.ones(3, int)), rc.DTypeError, ["int64", "floating"]),
    "gradient form": (lambda: rc.vjp(lambda x: (x, x), X)[1](X), rc.InputError, ["(·, ·)"]),
    "direction shape": (lambda: rc.linearize(doubled, X)[1](X[:2]), rc.ShapeError, ["(2,)"]),
    "directions": (lambda: rc.linearize(doubled, X)[1](X, X), rc.InputError, ["(·, ·)"]),
    "hvp shape": (lambda: rc.hvp(total)(X, X[:2]), rc.ShapeError, ["direction for x", "(2,)"]),
    "hvp without": (lambda: rc.hvp(total)(X), rc.InputError, ["directions", "'x'"]),
    "elementwise": (lambda: rc.elementwise_grad(lambda x: x * x.sum())(X), rc.RuleError, ["rc.jacobian"]),
    "vmap sizes": (lambda: rc.vmap(lambda x, y: x * y)(X, X[:2]), rc.ShapeError, ["2 and 3", "in_axes=None"]),
    "vmap number": (lambda: rc.vmap(doubled)(2.0), rc.InputError, ["0 axes"]),
    "taylor": (lambda: rc.taylor(np.sin, -1), rc.InputError, ["-1"]),
}


@pytest.mark.parametrize("name", CALLS)
def test_errors_of_calls(name):
    call, kind, texts = CALLS[name]
    with pytest.raises(kind) as caught:
        call()
    for text in texts:
        assert text in str(caught.value)


def test_remedies_work():
    at = rc.grad(lambda x: np.zeros_like(x).at[0].set(x[0] ** 2).sum())
    np.testing.assert_array_equal(at(X), [2.0, 0.0, 0.0])
    where = rc.grad(lambda x: np.where(x.sum() > 0, x.sum(), -x.sum()))
    np.testing.assert_array_equal(where(-X), [-1.0, -1.0, -1.0])
    stacked = rc.grad(lambda x: np.stack([x[0], x[1]]).sum())
    np.testing.assert_array_equal(stacked(X), [1.0, 1.0, 0.0])


def test_errors_of_the_function_itself_are_its_own():
    def fails(x):
        raise ValueError("mine")

    with pytest.raises(ValueError, match=r"^mine$") as caught:
        rc.grad(fails)(X)
    assert not isinstance(caught.value, rc.RicciError)
    with pytest.raises(TypeError, match="unsupported operand"):
        rc.grad(lambda x: x + {})(X)
