"""Ufuncs and functions that work entry by entry: values and types as NumPy's, derivatives as differences say."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from checking import check, traced

import ricci as rc
from ricci.testing.numpy_page import page, traced_names
from ricci.tracing.rows.ufuncs import UFUNCS

RNG = np.random.default_rng(0)
ANY = RNG.normal(size=(2, 3)) * 1.3 + 0.05
POSITIVE = np.abs(ANY) + 0.3
INSIDE = np.tanh(ANY) * 0.9
ABOVE = POSITIVE + 1.2
DOMAINS = {
    **dict.fromkeys((np.log, np.log2, np.log10, np.sqrt, np.reciprocal, np.cbrt, np.float_power, np.power), POSITIVE),
    **dict.fromkeys((np.arcsin, np.arccos, np.arctanh), INSIDE),
    **dict.fromkeys((np.log1p,), POSITIVE),
    **dict.fromkeys((np.arccosh,), ABOVE),
}
UNARY = [ufunc for ufunc in UFUNCS if ufunc.nin == 1]
BINARY = [ufunc for ufunc in UFUNCS if ufunc.nin == 2]


def name(ufunc):
    return ufunc.__name__


@pytest.mark.parametrize("ufunc", UNARY, ids=name)
def test_functions_of_one_array(ufunc):
    x = DOMAINS.get(ufunc, ANY)
    check(ufunc, x)
    check(ufunc, x[0, 0])
    check(ufunc, x.astype(np.float32))
    check(ufunc, x[:0])


@pytest.mark.parametrize("ufunc", BINARY, ids=name)
def test_functions_of_two_arrays(ufunc):
    x = DOMAINS.get(ufunc, ANY)
    y = POSITIVE[::-1] * 1.1 + 0.01
    check(ufunc, x, y)
    check(ufunc, x, y[:1])
    check(ufunc, x[0], y[:, :1])
    check(lambda x: ufunc(x, 0.7), x)
    check(lambda x: ufunc(1.3, x), x)
    check(ufunc, x.astype(np.float32), y.astype(np.float32))


@pytest.mark.parametrize("ufunc", [*UNARY, *BINARY], ids=name)
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.bool_])
def test_whole_numbers_and_truths_have_the_types_of_numpy(ufunc, dtype):
    x = np.array([[1, 0, 2], [1, 1, 3]]).astype(dtype)
    x = x | 1 if ufunc is np.reciprocal else x  # of 0 it is whatever the processor says
    args = [x, x[::-1] * 0 + np.array(1, dtype)][: ufunc.nin]
    try:
        with np.errstate(all="ignore"):
            expected = ufunc(*args)
    except TypeError:
        with pytest.raises(TypeError):
            traced(ufunc, *args)
        return
    if expected.dtype == np.float16:
        pytest.skip("NumPy computes with truths in half precision")
    (found,) = traced(ufunc, *args).results
    assert found.dtype == expected.dtype
    values = rc.compile(ufunc)(*args)
    assert values.dtype == expected.dtype
    np.testing.assert_allclose(values, expected, rtol=1e-12)


TRUTHS = [
    (np.bitwise_and, 2),
    (np.bitwise_or, 2),
    (np.bitwise_xor, 2),
    (np.invert, 1),
    (np.logical_and, 2),
    (np.logical_xor, 2),
]


@pytest.mark.parametrize("ufunc, count", TRUTHS)
def test_functions_of_truths(ufunc, count):
    a, b = np.array([True, False, True, False]), np.array([True, True, False, False])
    check(ufunc, *[a, b][:count])
    check(lambda x: np.where(ufunc(*[x > 0, x < 1][:count]), x, x**2), ANY)


def test_bitwise_functions_are_for_truths():
    with pytest.raises(rc.DTypeError, match="truth values"):
        traced(lambda x: x & 1, np.arange(3))


CASES = {
    "clip": lambda x: np.clip(x, -0.5, 0.7),
    "clip, one bound": lambda x: np.clip(x, None, 0.2) + np.clip(x, 0.1, None),
    "clip by arrays": lambda x: np.clip(x, x * 0.5, x[:1] + 1),
    "clip by name": lambda x: np.clip(x, min=-0.1, max=0.6),
    "where": lambda x: np.where(x > 0, x**2, -x),
    "where, broadcast": lambda x: np.where(x[:1] > 0, x, 3.0),
    "round": lambda x: np.round(x, 1) + np.round(x),
    "around": lambda x: np.around(x * 100, -1),
    "fix": lambda x: np.fix(x * 3),
    "sinc": np.sinc,
    "sinc near 0": lambda x: np.sinc(x * 1e-3),
    "nan_to_num": lambda x: np.nan_to_num(np.log(np.abs(x)), nan=1.0),
    "real and imag": lambda x: np.real(x) * 2 + np.imag(x) + np.real_if_close(x),
    "angle": lambda x: np.angle(x) + np.angle(x, deg=True),
    "isclose": lambda x: np.isclose(x, 0.1, atol=1.0),
    "conj": lambda x: x.conj() + np.conjugate(x),
    "operators": lambda x: -x + 2 * x - x / 3 + 1 / (x**2 + 1) + (+x) + abs(x) - x % 2 + x // 1 + 2**x,
    "comparisons": lambda x: (x > 0) * x + (x <= 0.3) * 2 + (x != 1) - (x == 0) + (x >= 1) - (x < 2),
    "divmod": lambda x: divmod(x, 0.7)[0] + divmod(x, 0.7)[1],
}


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")  # since NumPy 2.5
@pytest.mark.parametrize("case", CASES)
def test_functions_with_arguments_of_their_own(case):
    check(CASES[case], ANY)
    check(CASES[case], ANY.astype(np.float32))


def test_values_that_are_not_finite():
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -1.5])
    for f in (np.isnan, np.isinf, np.isfinite, np.nan_to_num, np.fmax, np.fmin, np.signbit):
        args = (x, np.array([1.0, np.nan, 2.0, np.nan, -2.0]))[: 2 if f in (np.fmax, np.fmin) else 1]
        np.testing.assert_array_equal(rc.compile(lambda *a, f=f: f(*a))(*args), f(*args))  # pyright: ignore[reportArgumentType, reportCallIssue]


def test_sinc_is_smooth_at_zero():
    assert rc.grad(np.sinc)(0.0) == 0
    np.testing.assert_allclose(rc.grad(rc.grad(np.sinc))(0.0), -(np.pi**2) / 3)


def test_arguments_that_cannot_be_traced_are_refused():
    with pytest.raises(rc.TraceError, match="out"):
        traced(lambda x: np.exp(x, out=np.zeros((2, 3))), ANY)
    with pytest.raises(rc.TraceError, match="where"):
        traced(lambda x: np.exp(x, where=[True, False, True]), ANY)
    with pytest.raises(rc.ShapeError, match="broadcast"):
        traced(lambda x: x + np.ones(4), ANY)


# The table as a whole


OLD = {"np.trapz"}  # NumPy 2.4 has them no more


def test_the_page_lists_the_table():
    """Names that this NumPy lacks may stand on the page; names that it has must."""
    text = (Path(__file__).parents[2] / "docs" / "numpy.md").read_text()
    listed = set(re.findall(r"`([^`]+)`", text))
    own = set(re.findall(r"`([^`]+)`", page())) - OLD
    assert own <= listed, f"python -m ricci.testing.numpy_page makes the page anew; it lacks {sorted(own - listed)}"
    for extra in listed - own:
        assert not hasattr(np, extra.removeprefix("np.").split(".")[0]) or "linalg" in extra, extra


LISTED = [name for name in traced_names()["scipy_special"] if name.startswith("scipy")]


@pytest.mark.parametrize("name", LISTED)
def test_what_is_listed_by_the_name_that_scipy_has_is_traced_by_it(name):
    """The others are listed by the names that they have here."""
    special = pytest.importorskip("scipy.special")
    f, x = getattr(special, name.rpartition(".")[2]), np.array([0.3, 0.4, 0.6])
    given = [x] * f.nin
    np.testing.assert_allclose(rc.compile(f)(*given), f(*given), rtol=1e-6)


def test_at_least_150_callables_are_traced_and_each_is_in_a_test():
    names = [name for group in traced_names().values() for name in group if not name.startswith("x")]
    assert len(names) >= 150
    tests = "".join([path.read_text() for path in Path(__file__).parent.glob("test_*.py")])
    swept = {f"np.{ufunc.__name__}" for ufunc in UFUNCS}
    untested = [n for n in names if n not in swept | OLD and not re.search(rf"\b{n.rpartition('.')[2]}\b", tests)]
    assert not untested


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda x: np.histogram(x + 1), "np.histogram"),
        (lambda x: np.lexsort((x, x)), "np.lexsort"),
        (lambda x: np.apply_along_axis(np.sum, 0, x), "np.apply_along_axis"),  # pyright: ignore[reportArgumentType, reportCallIssue]
        (lambda x: np.exp.at(x, 0), "np.exp.at"),
    ],
)
def test_what_cannot_be_traced_is_named_with_the_line(call, says):
    with pytest.raises(rc.TraceError, match=re.escape(says)) as error:
        traced(call, ANY[:, :2])
    assert "test_elementwise.py" in str(error.value)
