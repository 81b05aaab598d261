"""``scipy.special``, and remainders, on traced arrays: values, types and derivatives, also at the edges."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import scipy.special as sp
from checking import check, traced

import ricci
import ricci.numpy as rnp
from ricci.errors import TraceError
from ricci.tracing.rows import scipy_special as special
from ricci.tracing.rows import table

NORMAL = np.array([-1.7, -0.6, -0.1, 0.2, 0.8, 2.3])
POSITIVE = np.array([0.3, 0.7, 1.2, 1.9, 2.4, 4.1])
INSIDE = np.array([0.05, 0.2, 0.3, 0.45, 0.6, 0.9])
FAR = np.array([-30.0, -6.0, 5.0, 20.0])

ONE = {
    "expit": [NORMAL, FAR],
    "logit": [INSIDE],
    "log_expit": [NORMAL, FAR],
    "erf": [NORMAL],
    "erfc": [NORMAL, FAR / 4],
    "erfinv": [INSIDE, -INSIDE],
    "erfcinv": [INSIDE, 2 - INSIDE],
    "ndtr": [NORMAL],
    "ndtri": [INSIDE],
    "log_ndtr": [NORMAL, FAR],
    "gamma": [POSITIVE, NORMAL],
    "gammaln": [POSITIVE, NORMAL],
    "loggamma": [POSITIVE],
    "gammasgn": [NORMAL],
    "psi": [POSITIVE, NORMAL],
    "entr": [POSITIVE],
    "exprel": [NORMAL, FAR / 4, np.array([-1e-9, 0.0, 1e-5, 0.01, 0.4999])],
    "exp2": [NORMAL],
    "round": [NORMAL],
    "exp10": [NORMAL],
    "expm1": [NORMAL],
    "log1p": [POSITIVE],
    "cbrt": [POSITIVE],
    "cosm1": [NORMAL, np.array([0.0, 1e-4])],
}
TWO = {
    "beta": (POSITIVE, INSIDE),
    "betaln": (POSITIVE, INSIDE),
    "xlogy": (NORMAL, POSITIVE),
    "xlog1py": (NORMAL, POSITIVE),
    "rel_entr": (POSITIVE, INSIDE),
    "kl_div": (POSITIVE, INSIDE),
    "boxcox": (POSITIVE, NORMAL),
    "boxcox1p": (POSITIVE, NORMAL),
    "huber": (INSIDE, NORMAL + 0.03),
    "pseudo_huber": (INSIDE, NORMAL),
}


def test_every_function_is_checked():
    known = {name for name in special.UFUNCS if isinstance(getattr(sp, name, None), np.ufunc)}
    assert {*ONE, *TWO} == known


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one(name):
    for x in ONE[name]:
        check(getattr(sp, name), x)
    check(getattr(sp, name), ONE[name][0].reshape(2, 3).astype(np.float32))


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two(name):
    function = getattr(sp, name)
    a, b = TWO[name]
    check(function, a, b)
    check(function, a[:2, None], b[1:4])
    check(lambda x: function(x, 0.7), a, order=1)
    check(lambda y: function(0.7, y), b, order=1)


EDGES = {  # both operands, where formulas would divide by zero or take the logarithm of it
    "xlogy": ([0, 0, 0, 0, 1, np.nan, 0], [0, -1, np.inf, 2, 0, 1, np.nan]),
    "xlog1py": ([0, 0, 0, 1], [-1, -2, 2, -1]),
    "rel_entr": ([0, 0, 1, -1, 1, np.nan, 1], [0, 1, 0, 1, -1, 1, np.nan]),
    "kl_div": ([0, 0, 1, -1, 1, np.nan, 1], [0, 1, 0, 1, -1, 1, np.nan]),
    "boxcox": ([1, 2, 3], [0, 0, 1e-12]),
    "huber": ([0, 1, -1, 1], [1, 1, 1, 0]),
    "pseudo_huber": ([0, 1, -1, 1], [1, 1, 1, 0]),
    "beta": ([-0.5, -1.5, 2], [1.2, 0.2, 3]),
}


@pytest.mark.filterwarnings("ignore:invalid value", "ignore:divide by zero", "ignore:All-NaN")
@pytest.mark.parametrize("name", EDGES)
def test_values_at_the_edges(name):
    check(getattr(sp, name), *[np.array(side, dtype=float) for side in EDGES[name]], order=0)


@pytest.mark.parametrize("name", ["entr", "logit", "loggamma", "gamma"])
def test_values_of_one_at_the_edges(name):
    with np.errstate(all="ignore"):
        check(getattr(sp, name), np.array([0.0, -0.5, 1.0, 0.5, np.nan]), order=0)


def test_no_infinity_leaks_into_a_derivative():
    """The branch that is not taken has an infinite derivative there."""
    x, y = np.array([0.0, 0.0, 0.0]), np.array([1.0, 2.0, 0.5])
    check(lambda y: sp.xlogy(x, y), y)
    check(lambda x: sp.xlogy(x, y), x)
    check(lambda y: sp.rel_entr(x, y), y)
    check(lambda y: sp.kl_div(x, y), y)


def test_whole_numbers():
    for function in (sp.expit, sp.gammaln, sp.erf, sp.ndtr):
        check(function, np.array([1, 2, 3]))


# The functions that are no ufuncs


@pytest.mark.sampled(3)
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_logsumexp(axis, keepdims):
    x = np.random.default_rng(0).normal(size=(2, 1, 3))
    weights = np.array([0.5, 2.0, 0.4 if axis == 0 else 0.0])
    kept = {"axis": axis, "keepdims": keepdims}
    check(lambda x: rnp.special.logsumexp(x, **kept), x)
    check(lambda x, b: rnp.special.logsumexp(x, b=b, **kept), x, weights)
    check(lambda x: rnp.special.logsumexp(x, b=[1, -2, 1], return_sign=True, **kept), x)


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(name, axis):
    function = getattr(rnp.special, name)
    check(lambda x: function(x, axis=axis), np.random.default_rng(0).normal(size=(2, 1, 3)))
    check(lambda x: function(x, axis=axis), np.random.default_rng(0).normal(size=(2, 1, 3)).astype(np.float32))


def test_large_numbers():
    x = np.array([1e3, -1e3, 999.0])
    check(rnp.special.logsumexp, x)
    check(rnp.special.softmax, x)
    check(lambda x: rnp.special.logsumexp(x, b=[0.0, 1.0, 0.0]), x)
    check(lambda x: rnp.special.logsumexp(x, b=[0.5, 1.0, 2.0]), x)
    check(rnp.special.logsumexp, np.array([1, 2]))
    check(rnp.special.logsumexp, np.array(0.7))


def test_polygamma():
    for n in (0, 1, 2, np.array([0, 1, 2, 3, 1, 0])):
        check(lambda x, n=n: rnp.special.polygamma(n, x), POSITIVE)


def test_multigammaln():
    for d in (1, 2, 4):
        check(lambda a, d=d: rnp.special.multigammaln(a, d), POSITIVE + 2)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_scipys_python_functions_say_what_to_write(name):
    with pytest.raises(
        TraceError, match=rf"scipy\.special\.{name} makes plain arrays .*{Path(__file__).name}"
    ) as caught:
        traced(lambda x: getattr(sp, name)(x + 1), NORMAL)
    assert f"Write ricci.numpy.special.{name}(…)" in str(caught.value)


def test_other_functions_of_scipy_say_what_to_write():
    with pytest.raises(TraceError, match=r"scipy\.linalg\.expm makes plain arrays .*rc\.custom gives"):
        traced(scipy.linalg.expm, np.eye(2))


def test_scipy_is_not_imported_by_tracing():
    source = str(Path(ricci.__file__).parents[1])
    code = "import sys, ricci.tracing.rows as t; t.table(); sys.exit('scipy.special' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": source}, check=False).returncode == 0


def test_names():
    names = {row.name for row in table().values() if row.group == "scipy_special"}
    assert {"scipy.special.expit", "scipy.special.logsumexp", "scipy.special.exp2"} <= names
    assert all(name.startswith("scipy.special.") for name in names)


# Remainders

A = np.array([5.3, -5.3, 5.3, -5.3, 0.2, -0.2, 7.5])
B = np.array([2.1, 2.1, -2.1, -2.1, 3.0, 3.0, 0.7])
REMAINDERS = {
    "mod": lambda a, b: a % b,
    "reflected": lambda a, b: 7.3 % b + a % 3,
    "fmod": np.fmod,
    "floor_divide": lambda a, b: a // b + a * b,
    "divmod": np.divmod,
    "Python's divmod": divmod,
    "copysign": np.copysign,
    "modf": lambda a, b: np.modf(a),
}


@pytest.mark.parametrize("name", REMAINDERS)
def test_remainders(name):
    check(REMAINDERS[name], A, B)
    check(REMAINDERS[name], A[:3, None], B[1:3])


def test_remainders_of_whole_numbers():
    a, b = np.array([7, -7, 8, 0]), np.array([3, 3, -4, 5])
    for function in (np.mod, np.floor_divide, np.fmod, np.divmod):
        check(function, a, b)


def test_remainders_by_zero_and_infinity():
    a, b = np.array([1.0, -1.0, 0.0, 5.0, -5.0]), np.array([0.0, 0.0, 0.0, np.inf, np.inf])
    with np.errstate(all="ignore"):
        check(np.mod, a, b, order=0)
        check(np.floor_divide, a[:3], b[:3], order=0)
