"""LaTeX as books and papers typeset it: its value, its derivative in numbers, what is refused, what has two readings.

The formulas are in files beside this one; how they are differentiated is as in ``test_textbook.py``.
"""

from __future__ import annotations

import contextlib
import random
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_textbook import fault, point

import ricci as rc
from ricci.testing.identities import identities
from ricci.testing.written import derivatives, random_written


def rows(name: str) -> list[str]:
    lines = Path(__file__).with_name(f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def parts(line: str, *words: str) -> list[str]:
    """The pieces of a line between words that have two spaces on either side."""
    for word in words:
        line = line.replace(f"  {word}  ", "\0")
    return line.split("\0")


TEXTBOOK = [parts(line, "is", "by") for line in rows("textbook_latex")]
REFUSED = [parts(line, "says") for line in rows("refused_latex")]


def softmax_of_rows(s: np.ndarray) -> np.ndarray:
    return np.exp(s) / np.exp(s).sum(-1, keepdims=True)


def agrees(f: rc.Formula, meant: str) -> bool:
    """Whether a formula has the value that NumPy finds."""
    inputs = point(f, np.random.default_rng(len(meant)))
    names = {name + "_" * (name in ("lambda", "pi", "delta")): value for name, value in inputs.items()}
    wanted = eval(meant, {"np": np, "sm": softmax_of_rows, **names})
    return np.shape(wanted) == np.shape(f(**inputs)) and np.allclose(f(**inputs), wanted)


@pytest.mark.parametrize(("text", "meant", "by"), TEXTBOOK, ids=range(len(TEXTBOOK)))
def test_textbook(text: str, meant: str, by: str):
    f = rc.parse(text, latex=True)
    assert agrees(f, meant), str(f)
    assert not fault(f, by.split(", "))


def test_there_are_more_than_three_hundred():
    assert len(TEXTBOOK) > 300 and len(REFUSED) > 100


def test_a_wrong_reading_is_found():
    f = rc.parse("f = x_i A_{ij} y_j", latex=True)
    assert agrees(f, "x @ A @ y") and not agrees(f, "y @ A @ x") and not agrees(f, "x @ A")


@pytest.mark.parametrize(("text", "says"), REFUSED, ids=range(len(REFUSED)))
def test_refusals_have_a_caret_and_say_what_to_write(text: str, says: str):
    with pytest.raises(rc.NotationError) as error:
        rc.parse(text, latex=True)
    assert error.value.message == says and error.value.hint
    assert error.value.text == text and "^" in str(error.value)


def test_texts_with_faults_are_errors_of_ricci():
    rng, read = random.Random(3), 0
    texts = [row[0] for row in (*TEXTBOOK, *REFUSED)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rc.ReadingWarning)
        for _ in range(1500):
            text = rng.choice(texts)
            for _ in range(rng.randint(1, 3)):
                at = rng.randrange(len(text) + 1)
                text = text[:at] + rng.choice(PIECES) + text[at + rng.randint(0, 3) :]
            try:
                rc.parse(text, latex=True)
                read += 1
            except rc.NotationError as error:
                assert "^" in str(error)
            except rc.RicciError as error:
                assert str(error)
    assert 20 < read < 700


PIECES = [
    *"{}_^()[]|=+-ij20$&;,'Te<.!~%\n",
    "",
    "",
    "\\",
    r"\frac",
    r"\sum",
    r"\left",
    r"\right",
    r"\partial",
    r"\text{",
    "\\\\",
]
PIECES += [
    r"\delta",
    r"\begin{cases}",
    r"\end{cases}",
    r"\begin{",
    r"\underset",
    r"\overset",
    r"\underbrace",
    r"\mathbf",
]


# What has two readings

DOUBTFUL = [
    (r"\mu_{ML} = \frac{1}{N} \sum_{n=1}^{N} x_n", r"\mu_{\mathrm{ML}} ="),
    (r"F = -k_B T \ln \sum_i e^{-E_i/(k_B T)}", r"k_{\mathrm{B}} T"),
    (r"E_i = \frac{q x_i}{4\pi\epsilon_0 r^3}", r"\epsilon_{\mathrm{0}} r"),
    (r"f = 100(x_2 - x_1^2)^2 + (1 - x_1)^2", r"x_{\mathrm{2}}"),
    (r"\dot{x}_i = -\frac{\partial V}{\partial x_i}", "functions=['V']"),
    (r"f = \frac{x_i P_{ij} x_j}{c_i x_i + d}", r"\frac{x_i P_{ij} x_j}{c_k x_k + d}"),
    (r"\sigma^2 = \frac{1}{n} \sum_{i=1}^n x_i^2 \\ y_i = x_i / \sigma", "positive root"),
    (r"\log p = -\frac{1}{2} x_i x_i \\ y = p + 1", "does not define 'p'"),
    (r"s = \frac{1}{2} v^i v^i", r"v{}^i v{}^i"),
    (r"\sigma_{ij} = C_{ijkl} \varepsilon_{kl}", r"C_{ijkl} \mathrm{varepsilon}_{kl}"),
    (r"E_k = \frac{1}{2} m v^2", r"E_{\mathrm{k}} ="),
    (r"q_{ti} = \sum_j W^{Q}_{ij} x_{tj}", r"W_{\mathrm{Q},ij} x_{tj}"),
    (r"y_i = W_{ij}^a x_j + \frac12 W_{ij}^b z_j", r"W_{\mathrm{a},ij} x_j + \frac12 W_{\mathrm{b},ij} z_j"),
]


@pytest.mark.parametrize(("text", "says"), DOUBTFUL)
def test_two_readings_are_said(text: str, says: str):
    with pytest.warns(rc.ReadingWarning) as found:
        rc.parse(text, latex=True)
    assert any(says in str(warning.message) for warning in found)


def test_what_is_said_of_two_readings_can_be_followed():
    f = rc.parse(r"E_i = \frac{q x_i}{4\pi\epsilon_{\mathrm{0}} r^3}")
    assert set(f.variables) == {"q", "x", "epsilon_0", "r"}
    assert rc.parse(r"f = \frac12 x_{0}^2 + x_{1}").variables == ("x",)  # in braces a number is a place


def test_a_power_on_the_left_defines_what_is_used_below():
    moments = r"\mu = \frac{1}{n} \sum_{i=1}^n x_i \\ \sigma^2 = \frac{1}{n} \sum_{i=1}^n (x_i - \mu)^2 \\"
    f = rc.parse(moments + r"y_i = \frac{x_i - \mu}{\sqrt{\sigma^2 + c}}")
    x = np.array([1.0, 2.0, 5.0])
    assert np.allclose(f(x=x, c=0.5), (x - x.mean()) / np.sqrt(x.var() + 0.5))
    assert np.isfinite(f.diff("x")(x=np.ones(3), c=0.5)).all()  # where the variance is 0
    assert rc.parse("s**2 = x[i] x[i]; y = s**4").variables == ("x",)
    assert rc.parse("s**2 = x[i] x[i]").equation.left.variables == ("s",)  # alone it is an equation


def test_sums_over_relations():
    s, J = np.array([1.0, 2.0, 4.0]), np.arange(9.0).reshape(3, 3)
    above = rc.parse(r"E = \sum_{i<j} J_{ij} s_i s_j - h \sum_i s_i")
    assert np.isclose(
        above(J=J, s=s, h=2.0), sum(J[i, j] * s[i] * s[j] for i in range(3) for j in range(i + 1, 3)) - 14
    )
    assert rc.parse(r"E = \sum_i \sum_{j > i} J_{ij} s_i s_j") == rc.parse(r"E = \sum_{i<j} J_{ij} s_i s_j")
    r = np.abs(s[:, None] - s)  # 0 on the diagonal
    pairs = rc.parse(r"U = \frac{1}{2} \sum_{i \ne j} \frac{s_i s_j}{r_{ij}}")
    assert np.isclose(pairs(s=s, r=r), sum(s[i] * s[j] / r[i, j] for i in range(3) for j in range(i)))
    assert np.isfinite(pairs.diff("r")(s=s, r=r)).all() and np.isfinite(pairs.diff("r", "r")(s=s, r=r)).all()
    log = rc.parse(r"U_i = \sum_{j \ne i} \log r_{ij}")
    assert np.allclose(log(r=r), np.log(r + np.eye(3)).sum(1)) and np.isfinite(log.diff("r")(r=r)).all()
    for text in (r"E = s_i \sum_{j \ne i} J_{ij} s_j", r"\sum_{j \ne i} J_{ij} s_j", r"y_{ij} = \sum_{i \ne j} J_{ij}"):
        with pytest.raises(rc.NotationError, match=r"\^"):
            rc.parse(text)


def test_sums_up_to_another_index():
    x = np.array([1.0, 2.0, 4.0, 8.0])
    for text, meant in [
        (r"c_i = \sum_{j=1}^{i} x_j", np.cumsum(x)),
        (r"c_i = \sum_{j=1}^{i-1} x_j", np.cumsum(x) - x),
        (r"c_i = \sum_{j=0}^{i} x_j", np.cumsum(x)),
        (r"c_i = \frac{1}{n} \sum_{j=i+1}^{n} x_j", (x.sum() - np.cumsum(x)) / 4),
        (r"c_i = \prod_{j=1}^{i} x_j", np.cumprod(x)),
    ]:
        f = rc.parse(text)
        assert np.allclose(f(x=x), meant)
        assert rc.parse(str(f)) == rc.parse(f.latex()) == f


# What is written is read

NAMES = [
    "y[c] = x[c] exp(c)",
    "y[a,b] = x[a,b] exp(a b)",
    "y[mu] = x[mu] exp(mu)",
    "y = N**2 + n + 1[n] z[n]",
    "y = (i + k)**i + 1[i] 1[k] exp(i/(k + 1) A[i,k])",
    "y[e] = x[e] exp(x[e]) e",
    "y = sigma sigmoid(x) + sigma_1 + sigma_hat sigmoid(x)",
    "y[sigma] = x[sigma] sigmoid(x[sigma])",
    "y = Phi log_ndtr(x) + psi digamma(y1) + Gamma lgamma(z) + ndtri(x)",
    "y = sum_x + max_y + exp_z + T_T",
    "y = max_hat + exp(x) + sum_bar",
    "y = a**T + T",
    "y[i] = x[i]**T",
    "y[T] = x[T]**2",
    "y[i] = x1[i] + x_1[i] + x_one[i] + alpha_1 x_hat_1[i] x_1_hat[i]",
    "y[i_1] = x[i_1] + x_[i_1]",
    "y[i] = _x[i] + x__y[i]",
    "y[batch,time_step] = x[batch,time_step] w_long_name[time_step]",
    "y = d x + d + partial x + nabla",
    "h1 = 1[r] b[s[0,r]] + (pi c)**3 A[i,t[i]] 1[i]",
    "h[j] = (|k| 1[j])**c exp(B[j,k] 1[k])",
    "y = |a|**2 + exp(c)",
    "y = abc**xyz + lam**(-lam) + x_1**x_2",
    "y[i] = |k| w_long[k] exp(a[i]) 1[k]",
    "y = prod[i](x[i] c)",
    "y = prod[i](c x[i]) prod[j](z[j])",
    "y = a_vec b_vec + exp(x)",
    "y = pi_old x_new**Q + 2 π δ**2 + delta_max",
    "y[i] = δ[i] π[i] + delta[i,j] δ_one[j] + π_old[i]",
    "y[k,i] = δ[k,j] x[i,j] + A[k,j]**Q B[j,i]",
    "y = x**new + z**new + x_0 x",
]


@pytest.mark.parametrize("text", NAMES)
def test_all_names_come_back(text: str):
    f = rc.parse(text)
    for g in (f, *[f.diff(name) for name in f.variables if name not in f.context.facts.integers]):
        assert rc.parse(g.latex(), latex=True) == g, g.latex()


@pytest.mark.parametrize("part", [0, *[pytest.param(k, marks=pytest.mark.thorough) for k in range(1, 6)]])
def test_identities_and_textbooks_come_back(part: int):
    """The functions, their derivatives, and second ones."""
    formulas = [(rc.parse(row.text), row.wrt) for row in identities()[part::6]]
    formulas += [(rc.parse(text, latex=True), by.split(", ")) for text, _, by in TEXTBOOK[part::6]]
    for f, by in formulas:
        for target in (None, *by, by[-1].partition("[")[0]):
            if target is not None:
                f = f.diff(target)
            if f.order > 5:
                break
            with warnings.catch_warnings():  # of texts with two readings
                warnings.simplefilter("ignore", rc.ReadingWarning)
                assert rc.parse(f.latex(), latex=True) == f, f.latex()


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32))
def test_random_formulas_and_their_derivatives_come_back(seed: int):
    rng = random.Random(seed)
    _, f = random_written(rng, rng.choice((1, 1, 2)), rng.choice((1, 1, 1, 2)))
    found = [f]
    with contextlib.suppress(rc.InputError, rc.RuleError):  # there is no derivative
        found += [d for d in derivatives(f, rng) if d.order < 6]
    with warnings.catch_warnings():  # of texts with two readings
        warnings.simplefilter("ignore")
        for g in found:
            again = rc.parse(g.latex(), latex=True)
            assert again == g or again.equivalent(g), g.latex()
