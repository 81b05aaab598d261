"""LaTeX says what the text says, every formula can be printed in every form, and every ``=`` stands between equals."""

from __future__ import annotations

import random
import re
import warnings

import numpy as np
import pytest
from latex_reader import read
from test_roundtrip import TEXTS, formula

import ricci as rc
from ricci.notation import syntax
from ricci.show.derivation import Derivation, DerivationStep
from ricci.testing import random_expression
from ricci.testing.identities import identities

IDENTITIES = identities()
LEFT = re.compile(r"\\frac\{\\partial(?:[^&=]|\{[^}]*\})*? (&?=) ")


def says_the_same(f: rc.Formula) -> bool | None:
    """Whether the LaTeX of a formula, read by itself, is what its text is; None where the text is not read back."""
    try:
        plain = rc.parse(str(f))
    except rc.RicciError:
        return None
    if f.context.facts.heights:
        return None
    left = f.name if f.name or not f.indices else "y_left"
    subscript = "_{" + ",".join(f.indices) + "}" if f.indices else ""
    shown = LEFT.sub(lambda m: rf"\mathrm{{{left}}}{subscript} {m[1]} ".replace("_left", r"\_left"), f.latex(), count=1)
    with warnings.catch_warnings():  # of brackets that are the reader's
        warnings.simplefilter("ignore", rc.ReadingWarning)
        read_back = rc.parse(read(shown))
    return read_back == plain or read_back.equivalent(plain) is not False


def print_everything(f: rc.Formula) -> list[str]:
    """All that can be printed of a formula."""
    shown = [str(f), repr(f), f.latex(), f._repr_latex_(), str(f.structure())]
    try:
        shown += [f.matrix(), f.matrix(latex=True)]
    except rc.RuleError as refusal:
        assert "This has no matrix notation: " in str(refusal)
    shown += [str(f.equation), f.equation.latex(), repr(f.equation)]
    if f.origin is not None:
        steps = f.derivation()
        shown += [str(steps), steps.latex()]
    return shown


def derivatives(f: rc.Formula) -> list[rc.Formula]:
    """The first derivatives by all inputs, and a second one by each of them."""
    wrt = [name for name in f.variables if name not in f.context.facts.integers]
    try:
        first = [f.diff(name) for name in wrt]
        return first + [d.diff(name) for d, name in zip(first, wrt, strict=True)]
    except rc.RuleError as refusal:
        assert "cannot be differentiated here" in str(refusal)  # argmax and its like
        return []


def check(formulas: list[rc.Formula]) -> int:
    """All print, and LaTeX and text agree; how many of them were compared."""
    compared = 0
    for f in formulas:
        assert all(print_everything(f))
        same = says_the_same(f)
        assert same is not False, f"{f}\n{f.latex()}"
        compared += same is True
    return compared


@pytest.mark.sampled(3)
@pytest.mark.parametrize("text", TEXTS)
def test_examples(text):
    f = rc.parse(text)
    check([f, *f.statements.values(), *derivatives(f)])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("part", range(8))
def test_identities(part):
    rows = IDENTITIES[part::8]
    assert check([f for row in rows for f in (row.function(), row.derivative())]) > len(rows)


@pytest.mark.parametrize("part", [0, *[pytest.param(k, marks=pytest.mark.thorough) for k in range(1, 7)]])
def test_random_formulas(part):
    formulas = []
    for seed in range(part * 16, part * 16 + 16):
        f = formula(random_expression(random.Random(seed), size=1 + seed % 8, notation=True, extents=(2, 3, 4)))
        formulas += [f, *derivatives(f)]
    assert check(formulas) > 16


# What was false once


CASES = [
    ("y = mod(a + b, c) d", r"y = \operatorname{mod}(a + b, c) d"),
    ("y = 2 2**x", r"y = 2 \cdot 2^{x}"),
    ("y = x[1,0]", r"y = x_{1,0}"),
    ("y = 1e-9**x + 1e-9 z", r"y = \left(1 \cdot 10^{-9}\right)^{x} + 1 \cdot 10^{-9} z"),
    ("y = 1/a[k]/b[k]", r"y = \frac{1}{a_{k}} \frac{1}{b_{k}}"),
    ("y = c[k]/a[k]/b[k]", r"y = \frac{c_{k}}{a_{k} b_{k}}"),
    ("y = 1/(a[k] b[k])", r"y = \frac{1}{a_{k} b_{k}}"),
    ("y[i] = where(a[i] == b, a[i], 2)", r"y_{i} = \operatorname{where}(\left[a_{i} = b\right], a_{i}, 2)"),
]


CASES += [
    ("y[i] = x[i+1] x[i+0]", r"y_{i} = x_{i+0} x_{i+1}"),  # over all places where both are inside
    ("y = 1/a[k,t[k]]/b", r"y = \frac{\mathbf{1}_{k}}{a_{k,t_{k}} b}"),
    ("x1_bar = a1_b", r"\bar{x_{1}} = {a_{1}}_{\mathrm{b}}"),
]


@pytest.mark.parametrize("written, shown", CASES)
def test_brackets_and_bars(written, shown):
    f = rc.parse(written)
    assert f.latex() == shown
    assert says_the_same(f)


def test_a_letter_that_is_summed_below_a_bar_alone_is_another_number():
    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    apart, together = (rc.parse(read(rc.parse(t).latex())) for t in ("y = 1/a[k]/b[k]", "y = 1/(a[k] b[k])"))
    assert apart(a=a, b=b) == (1 / (a * b)).sum() and together(a=a, b=b) == 1 / (a * b).sum()


@pytest.mark.parametrize("wrong", [r"y = \frac{1}{2} a + b", r"y = \frac{1}{2} \left(a - b\right)", "y = a + b"])
def test_the_comparison_can_fail(wrong, monkeypatch):
    f = rc.parse("y = 1/2 (a + b)")
    assert says_the_same(f)
    monkeypatch.setattr(rc.Formula, "latex", lambda self: wrong)
    assert says_the_same(f) is False


# Equations: each ``=`` stands between the two sides, and what defines a part has a line of its own


g, c = rc.tensors("g[j] c[i]")


def sides(shown: str) -> list[str]:
    """What the last line sets equal; signs of comparisons do not count."""
    return re.split(r" &?= ", re.sub(r"\\left\[.*?\\right\]|\(\S+ == \S+\)", "", shown.split("\\\\\n")[-1]))


@pytest.mark.parametrize("written", [text for text in TEXTS if "^" not in text])
def test_equations_have_two_sides(written):
    f = rc.parse(written)
    steps = [
        f.equation,
        f.equation.multiply(2),
        f.equation.apply(rc.exp),
        f.equation.multiply(rc.tensors("s_1[q_1]")[0]),
    ]
    for equation in steps:
        assert len(sides(equation.latex())) == 2, equation.latex()
        assert len(sides(str(equation).split("\n")[-1].replace("==", ""))) == 2, str(equation)


def test_an_equation_says_what_is_not_summed():
    equation = rc.parse("a[i] = b[i]").equation.apply(lambda side: side * c)
    assert str(equation) == "a[i] c[i] = b[i] c[i]  (no sum i)"
    assert equation.latex() == r"a_{i} c_{i} = b_{i} c_{i} \quad\text{(no sum $i$)}"
    assert str(rc.parse("a[i] = b[i] c[i]").equation) == "a[i] = b[i] c[i]"  # the left side says it
    assert "no sum" not in str(equation.multiply(g).contract("i"))


def test_an_equation_made_up_no_side():
    """Whose indices the text alone does not tell has no name of its own for a side."""
    equation = rc.parse("z[i] = b[i] c[i]").equation.apply(rc.exp)
    assert equation.latex() == r"\exp(z_{i}) = \exp(b_{i} c_{i}) \quad\text{(no sum $i$)}"


def test_parts_of_both_sides_have_different_names():
    left, right = (rc.parse(f"t[i,j] = exp({x}[i] w[j]); y = t[i,i]") for x in "uv")
    equation = rc.Equation(left, right)
    assert str(equation) == "t1[j,i] = exp(u[i] w[j])\nt2[j,i] = exp(v[i] w[j])\nt1[j,j] = t2[j,j]"
    assert equation.latex().count("&=") == 3


# Derivations: a line that goes on, goes on with the derivative


def test_a_line_after_definitions_names_its_left_side():
    number = lambda value: syntax.Statement(0, 0, None, None, syntax.Number(0, 0, value))  # noqa: E731
    part = syntax.Statement(0, 0, "t1", None, syntax.Number(0, 0, 7))
    left = syntax.TensorNode(0, 0, "y", None)
    first = DerivationStep("one", left, syntax.Statements("", (number(1),)))
    second = DerivationStep("two", None, syntax.Statements("", (part, number(2))))
    third = DerivationStep("three", None, syntax.Statements("", (number(3),)))
    steps = Derivation([first, second, third])
    assert [step.text for step in steps] == ["y = 1", "t1 = 7\ny = 2", "= 3"]
    assert steps.latex().count("y &= ") == 2


@pytest.mark.parametrize("written", ["y[b] = x[t[s[b]]]", "y[k] = cumsum[k](s[k]) - cumprod[k](s[k]) + sort[k](s[k])"])
def test_derivations_of_gathers_are_printed(written):
    f = rc.parse(written)
    for name in set(f.variables) - f.context.facts.integers:
        assert len(str(f.diff(name, name).derivation()).split("\n")) > 2


def test_to_the_letter():
    assert str(rc.parse("S[i,j] = A[i,j] + A[j,i]; L = det(S)")) == "S[i,j] = A[i,j] + A[j,i]\nL = det[i,j](S[i,j])"


@pytest.mark.parametrize("name", ["x1", "x12", "alpha1", "x_1", "ab1", "ab_1"])
def test_a_name_with_digits_is_not_written_as_an_entry(name):
    """Nor is an index with digits written as an entry that is gathered by."""
    stem, digits = name.rstrip("0123456789").rstrip("_"), name[-1]
    assert rc.parse(f"y = {name}").latex() != rc.parse(f"y = {stem}[{digits}]").latex()
    assert rc.parse(f"y = {name}").latex() != rc.parse(f"y = {stem}").latex()
    for text in (f"y = {name} + {stem}[{digits}]", f"y[i] = {name}[i] {stem}[{digits},i]", f"y = z[{name}] w[{name}]"):
        f = rc.parse(text)
        assert rc.parse(read(f.latex())) == f
    assert rc.parse(f"y = z[{name}] w[{name}]").latex() != rc.parse(f"y = z[{stem}[{digits}]] w[0]").latex()


@pytest.mark.parametrize(
    ("text", "by"),
    [
        ("L = 1/2 g_{m n} v^m v^n - 1/2 m p**2", "v"),
        ("y[m] = m x[m] n; s = y[m] y[m] n", "x"),
        ("f = sigma sigmoid(x[i] a[i]) i", "x"),
    ],
)
def test_a_letter_is_one_thing_in_all_lines(text, by):
    """A number with the letter of an index is upright, in each line of a derivation and on each side of an equation."""
    f = rc.parse(text)
    derivation = f.diff(by).derivation()
    assert rc.check(derivation.latex(), latex=True).ok
    equation = f.equation
    assert rc.parse(equation.latex(), latex=True).equation == equation


def test_so_it_is_in_systems_and_reports():
    system = rc.parse("m v[m] x[k] = p[m] k x[k]").equation.expand(m=2)
    assert system.latex().splitlines()[1] == r"m v_{0} x_{k} &= p_{0} \mathrm{k} x_{k} \\"
    report = rc.check(r"y_m = \mathrm{m} v_m x \\ \frac{\partial y_m}{\partial x} = -\mathrm{m} v_m")
    assert report[1].suggestion == r"\frac{\partial y_m}{\partial x} = \mathrm{m} v_{m}"


def test_derivatives_of_derivatives_are_of_second_order():
    f = rc.parse("l = 1[m] exp(X[m,n] w[n])")
    lines = f.diff("w", "w").derivation().latex()
    assert r"\frac{\partial^{2} l}{\partial w_{n} \partial w_{n'}} &=" in lines and r"{\partial \frac" not in lines
    second = rc.parse(r"h_{ij} = \frac{\partial^{2}}{\partial x_{i} \partial x_{j}} \left(x_k x_k x_l x_l\right)")
    assert second == rc.parse("h[i,j] = D(D(x[k] x[k] x[l] x[l], x[i]), x[j])")
