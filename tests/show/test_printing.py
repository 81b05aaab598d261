"""Text and LaTeX as a person would write them; and expressions of any depth, printed the same way in every process."""

from __future__ import annotations

import gc
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ricci as rc
from ricci.expr import live_nodes, topological

SAME = object()
LAYER_NORM = """m[b] = 1/|h| 1[h] x[b,h]
v[b] = 1/|h| 1[h] (x[b,h] - 1[h] m[b])**2
y[b,h] = (x[b,h] - 1[h] m[b]) g[h] / sqrt(v[b] + eps) + 1[b] beta[h]"""
ATTENTION = """p[b,h,i,j] = softmax[j](q[b,h,i,d] k[b,h,j,d] / sqrt(|d|))
o[b,h,i,e] = p[b,h,i,j] v[b,h,j,e]"""

# A text, how it is printed, and its LaTeX (its right side, where it has one line).
PRINTED = [
    # products: the user's names, order and indices
    ("y[i,j] = x[i,k] a[k,j] + 1[i] b[j]", SAME, r"x_{ik} a_{kj} + \mathbf{1}_{i} b_{j}"),
    ("a[i] = b[i,k] c[i,k] d[k]", SAME, "b_{ik} c_{ik} d_{k}"),
    ("s = x[i] A[i,j] x[j]", SAME, "x_{i} A_{ij} x_{j}"),
    ("y = A[i,j] B[j,k] C[k,i]", SAME, "A_{ij} B_{jk} C_{ki}"),
    ("l = 1[m] softplus(-y[m] X[m,n] w[n])", SAME, None),
    ("y[i] = a[i] (b[k] c[k])", "y[i] = a[i] b[k] c[k]", "a_{i} b_{k} c_{k}"),
    ("y[batch] = x[batch,feature] w[feature]", SAME, r"x_{\mathit{batch},\mathit{feature}} w_{\mathit{feature}}"),
    ("y[i,i'] = x[i] x[i']", SAME, "x_{i} x_{i'}"),
    ("y[i] = 2 * x[i] * 3", "y[i] = 6 x[i]", "6 x_{i}"),
    # sums and signs
    ("y = a - b - c", SAME, "a - b - c"),
    ("y = a - (b - c)", "y = a - b + c", "a - b + c"),
    ("y = -a - b", SAME, "-a - b"),
    ("y = -a + b", "y = b - a", "b - a"),
    ("y[i] = -(x[i] + z[i])", "y[i] = -x[i] - z[i]", "-x_{i} - z_{i}"),
    ("y[i] = 1 - x[i]", SAME, "1 - x_{i}"),
    ("y[i] = x[i] - 1", SAME, "x_{i} - 1"),
    ("y = a b + a c", "y = a (b + c)", r"a \left(b + c\right)"),
    ("y = (a + b) (c + d)", SAME, r"\left(a + b\right) \left(c + d\right)"),
    # numbers and fractions
    ("y = 1/2 x", SAME, r"\frac{1}{2} x"),
    ("y = -x/2", "y = -1/2 x", r"-\frac{1}{2} x"),
    ("y = 3 x/4", "y = 3/4 x", r"\frac{3}{4} x"),
    ("y = x - 1/3", SAME, r"x - \frac{1}{3}"),
    ("y = 0.1 x", SAME, "0.1 x"),
    ("y = pi r**2", SAME, r"\pi r^{2}"),
    ("y = a/b c", "y = a c / b", r"\frac{a c}{b}"),
    ("y = 1/x", SAME, r"\frac{1}{x}"),
    ("y = 2/x", SAME, r"\frac{2}{x}"),
    ("y = 1/(1 + exp(-x))", SAME, r"\frac{1}{1 + \exp(-x)}"),
    ("y[i] = (x[i] - m)/s", "y[i] = (x[i] - m) / s", r"\frac{x_{i} - m}{s}"),
    ("y[i] = a[i] / (b[k] c[k])", SAME, r"\frac{a_{i}}{b_{k} c_{k}}"),
    ("m[b] = 1/|h| 1[h] x[b,h]", SAME, r"\frac{1}{|h|} \mathbf{1}_{h} x_{bh}"),
    # powers
    ("y = -x**2", SAME, "-x^{2}"),
    ("y = (a + b)**2", SAME, r"\left(a + b\right)^{2}"),
    ("y = 2**x**2", "y = 2**(x**2)", "2^{x^{2}}"),
    ("y = (2**x)**2", SAME, r"\left(2^{x}\right)^{2}"),
    ("y = x**-2", "y = 1/x**2", r"\frac{1}{x^{2}}"),
    ("y = x**(1/2)", "y = sqrt(x)", r"\sqrt{x}"),
    ("y = x**(-1/2)", "y = 1/sqrt(x)", r"\frac{1}{\sqrt{x}}"),
    ("y = x**(1/3)", SAME, r"x^{\frac{1}{3}}"),
    # functions
    ("y[i] = exp(x[i,k] w[k])", SAME, r"\exp(x_{ik} w_{k})"),
    ("y[i] = max[k](x[i,k])", SAME, r"\max_{k}\left(x_{ik}\right)"),
    ("y = max[i,k](x[i,k])", SAME, r"\max_{ik}\left(x_{ik}\right)"),
    ("y[i,j] = softmax[i](x[i,j])", SAME, r"\operatorname{softmax}_{i}\left(x_{ij}\right)"),
    ("y[i,j] = cumsum[j](x[i,j])", SAME, None),
    ("y = minimum(a, b)", SAME, r"\min(a, b)"),
    ("y[i] = where(x[i] > 0, x[i], 0)", SAME, None),
    ("y = (a < b) + (c >= 2)", SAME, r"\left[a < b\right] + \left[c \ge 2\right]"),
    ("y[i] = abs(x[i])", SAME, r"\left|x_{i}\right|"),
    ("y = det(A)", SAME, r"\det(A)"),
    ("y[i] = det[j,k](A[i,j,k])", SAME, r"\det_{jk}\left(A_{ijk}\right)"),
    ("y[i,j] = inv(A)[i,j]", SAME, r"\left(A^{-1}\right)_{ij}"),
    ("y[j] = solve(A, b)[j]", SAME, None),
    # structures, places, heights
    ("y[i,j] = delta[i,j] x[i]", SAME, r"\delta_{ij} x_{i}"),
    ("y = a[i,i]", SAME, "a_{ii}"),
    ("y[i,j] = 1[i,j]", SAME, r"\mathbf{1}_{ij}"),
    ("y[i,j] = 0[i,j]", SAME, r"\mathbf{0}_{ij}"),
    ("y[i] = x[i,0]", SAME, "x_{i,0}"),
    ("y[i] = x[0,i] + x[1,i]", SAME, "x_{0,i} + x_{1,i}"),
    ("c[i] = x[i+k] w[k]", SAME, "x_{i+k} w_{k}"),
    ("y = x[i+1] z[i]", SAME, "x_{i+1} z_{i}"),
    ("y[b,t,d] = table[tokens[b,t],d]", SAME, r"\mathrm{table}_{\mathrm{tokens}_{bt},d}"),
    ("C^i_k = A^i_j B^j_k", SAME, None),
    ("s = g_{i j} x^i x^j", SAME, None),
    ("x_dot[i] = λ x[i]", SAME, "λ x_{i}"),
    ("y[i] = alpha x[i]", SAME, r"\alpha x_{i}"),
    # several lines
    (LAYER_NORM, SAME, None),
    (ATTENTION, SAME, None),
    ("t[i,k] = a[i,j] b[j,k]; y[i,l] = t[i,k] c[k,l]", "t[i,k] = a[i,j] b[j,k]\ny[i,l] = t[i,k] c[k,l]", None),
]


@pytest.mark.parametrize("text, printed, latex", PRINTED, ids=[row[0] for row in PRINTED])
def test_printed(text, printed, latex):
    formula = rc.parse(text)
    assert str(formula) == (text if printed is SAME else printed)
    assert rc.parse(str(formula)) == formula
    if latex is not None:
        assert formula.latex().partition(" = ")[2] == latex


MORE = [
    "d[i] = x[i+1] - 2 x[i+0] + x[i-1]",
    "y[i] = x[i-1] + x[i+1]",
    "y[i] = max[k,l](x[i,k,l])",
    "y = x[3] + x[i] 1[i]",
]
MORE += [
    "y[i] = z[i] x[|i|-1-i]",
    "y[i] = x[2*i+1] + 1",
    "c[i,j] = x[i+k,j+l] w[k,l]",
    "y[i] = std[k](x[i,k])",
    "y = |i| |j| x",
]
MORE += [
    "y[i,j] = softmax[i,j](x[i,j])",
    "s[i,j] = 1[d] (x[i,d] 1[j] - 1[i] x[j,d])**2; E = 1[i,j] (1 - delta[i,j]) / s[i,j]",
]
MORE += [
    "y = 1.5e-8 x + 1e300",
    "y = 100000000000000000000 x",
    "y[i] = cumsum[i](x[i] w[i,k] v[k])",
    "y[i,j] = a[i] 1[j] - 1[i] b[j]",
]


@pytest.mark.parametrize("text", MORE)
def test_the_text_reads_back_as_the_same_object(text):
    formula = rc.parse(text)
    assert rc.parse(str(formula)) == formula


def test_numbers_that_are_not_finite():
    """They have no digits; the text must not turn them into variables named inf and nan."""
    for number in (math.inf, -math.inf, math.nan):
        formula = rc.variable("x") * number
        try:
            again = rc.parse(str(formula))
        except rc.RicciError:
            continue
        assert again.variables == formula.variables


@pytest.mark.parametrize(
    "made, printed",
    [
        (lambda x, w: rc.einsum("m n, n -> m", x, w), "X[m,n] w[n]"),
        (lambda x, w: rc.einsum("m n, n -> m", x, w).rename(m="n"), "X[n,n'] w[n']"),
        (lambda x, w: rc.einsum("m n, n -> m", x, w).named("z"), "z[m] = X[m,n] w[n]"),
        (lambda x, w: (x * w).sum(), "1[m] X[m,n] w[n]"),
        (lambda x, w: x.transpose(), "y[n,m] = X[m,n]"),
        (lambda x, w: rc.exp(-w) / 2, "1/2 exp(-w[n])"),
        (lambda x, w: 2 / w, "2/w[n]"),
        (lambda x, w: w * w, "w[n]**2"),
        (lambda x, w: x + w, "X[m,n] + 1[m] w[n]"),
        (lambda x, w: x.max(), "max[m,n](X[m,n])"),
        (lambda x, w: rc.einsum("ij,kj->ik", x, x), "X[i,n] X[k,n]"),
        (lambda x, w: x.softmax("n"), "softmax[n](X[m,n])"),
    ],
)
def test_formulas_made_by_operators(made, printed):
    formula = made(*rc.tensors("X[m,n] w[n]"))
    assert str(formula) == printed
    assert rc.parse(printed) == formula


def test_dummies_are_renamed_only_on_clash():
    y = rc.parse("y[i,j] = x[i,k] a[k,j]")
    assert str(y.rename(i="p")) == "y[p,j] = x[p,k] a[k,j]"
    assert str(y.rename(i="k")) == "y[k,j] = x[k,k'] a[k',j]"
    assert str(y.rename(i="k", j="k'")) == "y[k,k'] = x[k,k''] a[k'',k']"
    assert str(rc.parse("n = a[k] b[k]; y[k] = n c[k]")) == "y[k] = a[k'] b[k'] c[k]"


@pytest.mark.parametrize("text", ["y = 1/(2 x)", "y = 3/(4 x)", "y = -2/x", "y = 2/x + 1", "y[i] = 2/x[i]**2"])
def test_a_number_over_something_is_one_fraction(text):
    formula = rc.parse(text)
    assert "(1/" not in str(formula) and formula.latex().count(r"\frac") == 1
    assert rc.parse(str(formula)) == formula


def test_what_is_used_again_in_a_large_expression_gets_a_line():
    a, b, c, d = rc.tensors("a[i] b[i] c[i] d[i]")
    e = rc.softplus(rc.exp(a) + rc.sin(b) * c + d)
    large = rc.exp(e) * rc.log(e + 1) + rc.sin(e) * rc.cos(e) + rc.sqrt(e + 2) / (e + 3) + rc.tanh(e * e)
    first, *rest = str(large).split("\n")
    assert first.startswith("t1[i] = softplus(") and "exp(a[i])" in first
    assert "softplus" not in "\n".join(rest) and rest[-1].count("t1[i]") >= 7
    assert rc.parse(str(large)) == large
    assert large.latex().startswith("\\begin{aligned}\n") and large.latex().count("softplus") == 1


def test_latex_has_a_left_side_where_the_text_needs_one():
    """Without it, the free indices of these could not be told."""
    x, z = rc.variable("x[i]"), rc.variable("z[i]")
    assert str(x * z) == "y[i] = x[i] z[i]" and (x * z).latex() == "y_{i} = x_{i} z_{i}"


def test_a_small_expression_stays_on_one_line():
    e = rc.parse("exp(x[i]) + 1")
    assert "\n" not in str(e * rc.log(e))


def test_lines_do_not_take_the_names_of_inputs():
    a, b = rc.tensors("t1[i] t2[i]")
    e = rc.softplus(rc.exp(a) + rc.sin(b) * a + b)
    large = rc.exp(e) * rc.log(e) + rc.sin(e) * rc.cos(e) + rc.sqrt(e) / (e + 3) + rc.tanh(e * e)
    assert "\nt1[" not in "\n" + str(large) and "\nt3[i] = " in "\n" + str(large)
    assert rc.parse(str(large)) == large


SUBSCRIPTS = ["y[i] = w_1[i] x2[i]", "y_0[i] = x_dot[i] 2", "t1[i] = alpha_1[i,k] b12[k]", LAYER_NORM, ATTENTION]
SUBSCRIPTS += [
    "y[i] = (w_1[i])**2 + x2[i]**2",
    "t[i,k] = a[i,j] b[j,k]; y[i,l] = t[i,k] c[k,l]",
    "C^i_k = A^i_j B_1^j_k",
]


@pytest.mark.parametrize("text", SUBSCRIPTS)
def test_latex_compiles(text):
    """Braces are balanced, and nothing has two subscripts or two superscripts in a row, which LaTeX refuses."""
    latex = rc.parse(text).latex()
    depth = 0
    for character in latex:
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0 and latex.count(r"\left") == latex.count(r"\right")
    group = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
    assert not re.search(rf"_{group}_", latex) and not re.search(rf"\^{group}\^", latex)


# Depth


@pytest.fixture
def no_nodes_left():
    rc.parse("y = x + sin(x)")(x=1.0)  # what is made once and stays
    rc.cache_clear()
    gc.collect()
    before = live_nodes()
    yield
    rc.cache_clear()  # a plan that is kept holds what it is of
    gc.collect()
    assert live_nodes() == before


@pytest.mark.parametrize("steps", [9_000, pytest.param(90_000, marks=pytest.mark.thorough)])
def test_a_long_chain(no_nodes_left, steps):
    x = rc.variable("x")
    y, expected = x, 0.7
    for k in range(steps):
        y = rc.sin(y) if k % 2 else rc.tanh(y)
        expected = math.sin(expected) if k % 2 else math.tanh(expected)
        if k % 9 == 0:
            y, expected = y + x, expected + 0.7
    assert len(topological(y.expr)) == steps // 9 * 10 + 1
    assert math.isclose(y(x=0.7), expected)
    text = str(y)
    assert text.count("sin(") + text.count("tanh(") == steps
    assert y == y.named("z") and y.variables == ("x",)
    del x, y


@pytest.mark.parametrize("leaves", [2**11, pytest.param(2**15, marks=pytest.mark.thorough)])
def test_a_balanced_tree(no_nodes_left, leaves):
    level = [rc.variable(f"x{k}") for k in range(leaves)]
    values = [0.5] * len(level)
    while len(level) > 1:
        level = [rc.tanh(a) + rc.sin(b) * 2 for a, b in zip(level[::2], level[1::2], strict=True)]
        values = [math.tanh(a) + math.sin(b) * 2 for a, b in zip(values[::2], values[1::2], strict=True)]
    (root,) = level
    nodes = topological(root.expr)
    assert len(nodes) == leaves + 3 * (leaves - 1) and nodes[-1] is root.expr
    assert math.isclose(root(**{f"x{k}": 0.5 for k in range(leaves)}), values[0])
    text = str(root)
    assert text.count("tanh(") == leaves - 1 and all(f"x{k}" in text for k in (0, 1, leaves // 2, leaves - 1))
    del level, root, nodes


def test_deep_expressions_read_back():
    y = x = rc.variable("x[i]")
    for k in range(2_000):
        y = rc.exp(-y) * x if k % 2 else rc.tanh(y) + 1
    assert rc.parse(str(y)) == y
    assert y.latex().count(r"\\") == str(y).count("\n")


# The same in every process

DETERMINED = """
import ricci as rc
texts = [
    "y[i] = c[i] + b[i] a[i] + exp(d[i,k] e[k]) f[i]",
    "s = a[i,j] a[j,k] a[k,i] b[i] b[j] b[k]",
    "y = maximum(a, b) + minimum(p q, r) + a b c d e f g",
    "y[i,j] = u[i] v[j] + w[i] 1[j] - delta[i,j] x[i] + x[i+0] 1[j]",
    "m[b] = 1/|h| 1[h] x[b,h]; v[b] = 1/|h| 1[h] (x[b,h] - 1[h] m[b])**2; y[b,h] = x[b,h] / sqrt(v[b] + eps)",
]
for text in texts:
    f = rc.parse(text)
    print(f, f.latex(), f.expr.key, f.variables, f.shape)
e = rc.parse("exp(a[i]) + sin(b[i]) c[i] + tanh(d[i] + 1)")
g = rc.exp(e) * rc.log(e + 1) + rc.sin(e) * rc.cos(e) + rc.sqrt(e + 2) / (e + 3) + rc.tanh(e * e)
print(g, g.latex(), g.expr.key)
"""


def test_two_processes_print_the_same():
    outputs = []
    for seed in ("0", "1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(rc.__file__).parent.parent)}
        result = subprocess.run(
            [sys.executable, "-c", DETERMINED], capture_output=True, text=True, env=environment, check=True
        )
        outputs.append(result.stdout)
    assert outputs[0] == outputs[1] == outputs[2] and outputs[0].count("\n") > 6
