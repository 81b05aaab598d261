"""Malformed calls over the whole public API, each with the error that it gets: none is raw, and none is silent.

``calls.txt`` has a call in each line, the class of its error and a piece of the message, between bars. The names that
the calls use are those of :func:`names`.
"""

from __future__ import annotations

import copy
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ricci as rc
import ricci.einops
import ricci.errors
import ricci.numpy

BAR = " ¦ "
ROWS = [line.split(BAR) for line in (Path(__file__).parent / "calls.txt").read_text(encoding="utf-8").splitlines()]
WITHOUT_ARGUMENTS = {"cache_clear", "cache_info", "enable_grad", "no_grad"}
MADE_BY_OTHERS = {
    "CheckReport",
    "Compressed",
    "EquationSystem",
    "Problem",
    "TraceTable",
    "Undecided",
}  # classes of results


def loss(x):
    return (x**2).sum()


def vec(x):
    return x**2


def two(x, y):
    return (x * y).sum()


class Odd:
    """Something that nothing is for."""


def names():
    """What calls are made of."""
    f, s = rc.parse("y[i,j] = x[i,k] a[k,j] + 1[i] b[j]"), rc.parse("l = x[i] x[i]")
    g, x = rc.parse("y[i] = A[i,j] x[j]"), np.array([1.0, 2.0, 3.0])
    return {
        "np": np,
        "rc": rc,
        "rnp": ricci.numpy,
        "einops": ricci.einops,
        "f": f,
        "s": s,
        "g": g,
        "x": x,
        "c": g.compile("numpy"),
        "d": f.diff("x"),
        "eq": g.equation,
        "loss": loss,
        "vec": vec,
        "two": two,
        "A": np.arange(6.0).reshape(2, 3),
        "odd": Odd(),
        "H": s.diff("x", "x").compile("numpy", compressed=True)(x=x),
    }


NAMES = names()


def verdict(call) -> Any:
    """What comes of a call: the error if it is one of ricci's, and otherwise in words what is wrong with that."""
    changing = {"t": rc.Tensor([1.0, 2.0, 3.0]), "m": rc.Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return f"silent: {eval(call, {**NAMES, **changing})!r}"
        except rc.RicciError as error:
            return error
        except Exception as error:
            return f"raw: {type(error).__name__}: {error}"


@pytest.mark.parametrize("call, kind, piece", ROWS, ids=[row[0] for row in ROWS])
def test_malformed_call(call, kind, piece):
    found = verdict(call)
    assert isinstance(found, rc.RicciError), found
    assert isinstance(found, getattr(ricci.errors, kind))
    assert piece in str(found)


def test_the_check_can_fail():
    assert verdict("{}['nope']") == "raw: KeyError: 'nope'"
    assert verdict("[].pop()").startswith("raw: IndexError")
    assert verdict("1 % 0").startswith("raw: ZeroDivisionError")
    assert verdict("loss(None)").startswith("raw: TypeError")
    assert verdict("rc.parse('y = x')") == "silent: <ricci.Formula y = x>"
    assert isinstance(verdict("rc.parse(None)"), rc.InputError)


def test_the_table_is_of_the_whole_api():
    assert len(ROWS) >= 500 and len({row[0] for row in ROWS}) == len(ROWS)
    calls = "\n".join(row[0] for row in ROWS)
    errors = {name for name in rc.__all__ if name.endswith(("Error", "Warning"))}
    for name in set(rc.__all__) - errors - WITHOUT_ARGUMENTS - MADE_BY_OTHERS:
        assert f"rc.{name}(" in calls or f"rc.{name}." in calls, name
    for method in [
        "axes",
        "compile",
        "diff",
        "diff_all",
        "equivalent",
        "graph",
        "matrix",
        "named",
        "over",
        "rename",
        "sum",
        "transpose",
    ]:
        assert f"f.{method}(" in calls, method
    for method in ["backward", "fill", "item", "register_hook", "rename", "requires_grad_"]:
        assert f"t.{method}(" in calls, method
    for name in ["rearrange", "reduce", "repeat", "einsum", "pack", "unpack", "parse_shape", "asnumpy"]:
        assert f"einops.{name}(" in calls, name


# What was refused for no reason, or told less than it could


def test_an_input_called_sizes():
    f = rc.parse("y[i] = sizes x[i] + 0 |j| 1[i]")
    np.testing.assert_array_equal(f(sizes=2.0, x=[1.0, 2.0]), [2.0, 4.0])
    np.testing.assert_array_equal(f.compile("numpy")(sizes=2.0, x=[1.0, 2.0]), [2.0, 4.0])


def test_arguments_of_numpy_pass_for_those_of_python():
    one: Any = np.int64(1)
    zero: Any = np.int64(0)
    no: Any = np.False_
    assert rc.grad(two, argnums=one)(2.0, 3.0) == rc.grad(two, argnums=1)(2.0, 3.0)
    np.testing.assert_array_equal(rc.vmap(loss, zero)(NAMES["A"]), rc.vmap(loss)(NAMES["A"]))
    assert rc.hessian(loss, has_aux=no)(2.0) == 2.0
    assert rc.compile(two, static_argnums=one)(2.0, 3) == 6.0


SINGULAR = [
    ("inv(A)[i,j]", lambda: rc.parse("y = r[i] inv(A)[i,j] r[j]")(A=np.zeros((2, 2)), r=np.ones(2))),
    ("cholesky(A)[i,j]", lambda: rc.parse("L[i,j] = cholesky(A)[i,j]")(A=-np.eye(2))),
    ("(X[m,", lambda: rc.parse("y[j] = solve[i,j](X[m,i] X[m,j], r[i])")(X=np.zeros((3, 2)), r=np.ones(2))),
    ("inv(A)[i,j]", lambda: rc.grad(lambda A: np.linalg.inv(A).sum())(np.zeros((2, 2)))),
    ("inv", lambda: np.linalg.inv(rc.Tensor(np.zeros((2, 2))))),
]


@pytest.mark.parametrize("part, call", SINGULAR)
def test_the_part_of_a_formula_whose_matrix_is_at_fault(part, call):
    for _ in range(2):  # the second time it is found, not made
        with pytest.raises(rc.MatrixError) as caught:
            call()
        assert isinstance(caught.value, np.linalg.LinAlgError)
        assert part in str(caught.value) and "(2, 2)" in str(caught.value)


def test_the_part_of_a_formula_whose_matrix_is_at_fault_on_pytorch():
    torch = pytest.importorskip("torch")
    f = rc.parse("y[i,j] = inv(A)[i,j]").compile("torch")
    with pytest.raises(rc.MatrixError, match=r"inv\(A\)\[i,j\] fails") as caught:
        f(A=torch.zeros(2, 2))
    assert isinstance(caught.value, torch.linalg.LinAlgError)
    for again in (copy.copy, lambda e: pickle.loads(pickle.dumps(e))):
        assert str(again(caught.value)) == str(caught.value) and isinstance(again(caught.value), rc.MatrixError)


def test_what_a_function_of_the_user_raises_is_left_alone():
    def broken(x):
        raise KeyError("mine")

    for call in (lambda: rc.grad(broken)(2.0), lambda: np.apply_along_axis(broken, 0, rc.Tensor([1.0]))):
        with pytest.raises(KeyError, match="mine"):
            call()


def test_numpys_errors_are_of_the_classes_that_numpy_has():
    t: Any = rc.Tensor([1.0, 2.0])
    for call, builtin in [
        (lambda: t[5], IndexError),
        (lambda: t.sum(axis=3), ValueError),
        (lambda: t.sum(axis=3), IndexError),
        (lambda: t.reshape(3), ValueError),
        (lambda: t + rc.Tensor([1.0, 2.0, 3.0]), ValueError),
        (lambda: t.sum(axis="a"), TypeError),
    ]:
        with pytest.raises(builtin) as caught:
            call()
        assert isinstance(caught.value, rc.RicciError) and "(2,)" in str(caught.value)
        assert "test_malformed.py" in str(caught.value)  # the user's line
