"""Matrix notation: tables of texts, derivatives, refusals, and a reader that computes what the text says."""

from __future__ import annotations

import random
import re
from fractions import Fraction

import numpy as np
import pytest

import ricci as rc
from ricci.expr import product, variable
from ricci.notation.context import Facts
from ricci.show.matrix_notation import to_matrix
from ricci.testing.generate import random_expression

N = 3  # the size of every axis, where texts are computed


def matrix(formula: rc.Formula, latex: bool = False) -> str:
    return to_matrix(formula.expr, formula.context.facts, latex)


TEXTS = [
    # names, transposes, chains
    ("y[i] = x[i]", "x"),
    ("y[i,j] = A[j,i]", "Aᵀ"),
    ("y[i,j] = A[i,k] B[k,j]", "A B"),
    ("y[i,j] = A[k,i] B[j,k]", "Aᵀ Bᵀ"),
    ("y[i] = A[i,j] x[j]", "A x"),
    ("y[j] = A[i,j] x[i]", "Aᵀ x"),
    ("y[i] = A[i,j] B[j,k] x[k]", "A B x"),
    ("y = x[i] A[i,j] x[j]", "xᵀ A x"),
    ("y = x[i] A[j,i] z[j]", "zᵀ A x"),
    ("y = x[i] z[i]", "xᵀ z"),
    ("y[i,j] = x[i] z[j]", "x zᵀ"),
    ("y[i,j] = A[i,k] x[k] z[j]", "A x zᵀ"),
    ("y[n,p] = X[m,n] X[m,p]", "Xᵀ X"),
    ("y[i,j] = (A[i,k] + B[i,k]) (C[k,j] + D[k,j])", "(A + B) (C + D)"),
    # traces and diagonals
    ("y = A[i,i]", "tr(A)"),
    ("y = A[i,j] B[j,k] C[k,i]", "tr(A B C)"),
    ("y = A[i,j] B[i,j]", "tr(Aᵀ B)"),
    ("y = B[j,i] A[i,k] C[j,k]", "tr(B A Cᵀ)"),
    ("y[i] = A[i,i]", "diag(A)"),
    ("y[i] = A[i,k] B[k,i]", "diag(A B)"),
    ("y = x[i] A[i,i]", "xᵀ diag(A)"),
    ("y[i,j] = A[i,i] delta[i,j]", "I ⊙ A"),
    ("y[i,j] = delta[i,j] + A[i,j]", "I + A"),
    ("y[i,j] = x[i] delta[i,j]", "diag(x)"),
    ("y[i,j] = x[i] delta[i,j] / z[i]", "diag(x ⊘ z)"),
    # weights
    ("y[n,p] = X[m,n] X[m,p] s[m]", "Xᵀ diag(s) X"),
    ("y[n,p] = X[m,n] X[m,p] s[m] t[m]", "Xᵀ diag(s ⊙ t) X"),
    ("y[n,p] = s[m] sigmoid(X[m,k] w[k]) X[m,n] X[m,p]", "Xᵀ diag(s ⊙ sigmoid.(X w)) X"),
    ("y[i,j] = A[i,j] d[j]", "A diag(d)"),
    ("y[i,j] = d[i] A[i,j]", "diag(d) A"),
    ("y[i,j] = d[i] A[i,j] e[j]", "diag(d) A diag(e)"),
    ("y[i,j] = A[i,j] / d[j]", "A diag(1 ⊘ d)"),
    ("y[i] = s[i] B[i,k] x[k]", "s ⊙ (B x)"),
    ("y[i] = A[i,j] s[j] B[j,k] x[k]", "A diag(s) B x"),
    ("y = u[i] s[i] B[i,k] x[k]", "(u ⊙ s)ᵀ B x"),
    ("y = u[j] A[i,j] s[i] B[i,k] x[k]", "uᵀ Aᵀ diag(s) B x"),
    # entry by entry
    ("y[i,j] = A[i,j] B[i,j]", "A ⊙ B"),
    ("y[i,j] = A[i,j] B[j,i]", "A ⊙ Bᵀ"),
    ("y[i,j] = A[i,j] / B[i,j]", "A ⊘ B"),
    ("y[i,j] = A[i,j] B[i,k] C[k,j]", "A ⊙ (B C)"),
    ("y[i] = x[i] z[i]", "x ⊙ z"),
    ("y = x[i] z[i] w[i]", "xᵀ (z ⊙ w)"),
    ("y[i] = x[i] / z[i]", "x ⊘ z"),
    ("y[i] = 1/x[i]", "1 ⊘ x"),
    ("y[i,j] = 1/A[i,j]", "A^{⊙-1}"),
    ("y[i] = A[i,k] B[i,k]", "(A ⊙ B) 1"),
    ("y = u[i] A[i,k] B[i,k] w[k]", "uᵀ (A ⊙ B) w"),
    ("y[i] = x[i]**2", "x^{⊙2}"),
    ("y[i] = sqrt(x[i])", "x^{⊙1/2}"),
    ("y[i] = x[i]**z[i]", "x^{⊙z}"),
    ("y[i] = exp(A[i,j] x[j])", "exp.(A x)"),
    ("y[i,j] = exp(A[j,i])", "exp.(A)ᵀ"),
    ("y[i] = relu(A[i,j] x[j] + b[i])", "relu.(A x + b)"),
    ("y[i] = maximum(x[i], 0)", "maximum.(x, 0)"),
    ("y[i] = 0 < x[i]", "[x > 0]"),
    # ones and sums over axes
    ("y[i,j] = 1[i] b[j]", "1 bᵀ"),
    ("y[i,j] = b[i] 1[j]", "b 1ᵀ"),
    ("y[i,j] = 1[i] 1[j]", "1 1ᵀ"),
    ("y = 1[i] x[i]", "1ᵀ x"),
    ("y[i] = 1[j] A[i,j]", "A 1"),
    ("y[j] = 1[i] A[i,j]", "Aᵀ 1"),
    ("y = 1[i] 1[j] A[i,j]", "1ᵀ A 1"),
    ("y[i] = x[i] + 3", "x + 3·1"),
    ("y[i] = 1 + exp(x[i])", "1 + exp.(x)"),
    ("y[i] = 0[i]", "0"),
    ("y[i,j] = x[i,k] a[k,j] + 1[i] b[j]", "x a + 1 bᵀ"),
    ("y[i] = cumsum[i](x[i])", "tril(1 1ᵀ) x"),
    # numbers and scalars
    ("y[i] = 2 x[i] - 3 z[i] + 1/2 w[i]", "2 x - 3 z + 1/2 w"),
    ("y[i] = -x[i]", "-x"),
    ("y[i] = z[i] - x[i]", "z - x"),
    ("y[i,j] = 2 (A[i,j] + B[i,j])", "2 A + 2 B"),
    ("y[i] = 2 x[i] z[i]", "2 x ⊙ z"),
    ("y[i] = (z[j] A[j,k] z[k]) x[i]", "(zᵀ A z) x"),
    ("y = (x[j] x[j]) s", "‖x‖² s"),
    ("y[i] = x[i] / (z[j] z[j])", "x / ‖z‖²"),
    ("y[i] = A[i,j] x[j] / (2 s)", "1/2 A x / s"),
    ("y = s**2 + 1/s", "s² + 1 / s"),
    ("y = s**(1/2) + s**a", "sqrt(s) + s^{a}"),
    ("y = exp(s) log(t)", "exp(s) log(t)"),
    ("y[i] = 1/|j| 1[j] A[i,j]", "1/|j| A 1"),
    ("y = mean[i](x[i])", "1/|i| 1ᵀ x"),
    ("y[i] = pi x[i]", "pi x"),
    ("y = (x[i] z[i])**2", "(xᵀ z)²"),
    # functions of vectors and matrices
    ("y[i,j] = inv(A)[i,j]", "A⁻¹"),
    ("y[i,j] = inv(A)[j,i]", "A⁻ᵀ"),
    ("y[i,j] = inv[i,j](A[i,k] A[j,k])", "(A Aᵀ)⁻¹"),
    ("y = det(A)", "det(A)"),
    ("y = logdet(A)", "log|A|"),
    ("y = 1/2 logdet(S) + 1/2 r[i] inv(S)[i,j] r[j]", "1/2 log|S| + 1/2 rᵀ S⁻¹ r"),
    ("y[j] = solve[i,j](A[i,j], b[i])", "A⁻¹ b"),
    ("y[i] = solve[j,i](A[i,j], b[j])", "A⁻ᵀ b"),
    ("y[i] = softmax[i](x[i])", "softmax(x)"),
    ("y = logsumexp[i](x[i])", "logsumexp(x)"),
    ("y[i,j] = softmax[j](A[i,j])", "softmax_row(A)"),
    ("y[i,j] = softmax[i](A[i,j])", "softmax_col(A)"),
    ("y[j] = max[i](A[i,j])", "max_col(A)"),
    ("y = max[i,j](A[i,j])", "max(vec(A))"),
    ("y = norm[i](x[i])", "‖x‖"),
    ("y[i] = x[i] / norm[j](x[j])", "x / ‖x‖"),
    ("y = sum[i]((A[i,j] x[j] - b[i])**2)", "‖A x - b‖²"),
    ("y = norm[i,j](A[i,j])", "‖A‖_F"),
    ("y[i,j] = cholesky(A)[i,j]", "cholesky(A)"),
    ("y[i,j] = expm(A)[i,j]", "expm(A)"),
    # four axes: rows (i,k), columns (j,l)
    ("y[i,k,j,l] = A[i,j] B[k,l]", "A ⊗ B"),
    ("y[i,k,j,l] = delta[i,j] C[k,l]", "I ⊗ C"),
    ("y[i,k,j,l] = C[i,j] delta[k,l]", "C ⊗ I"),
    ("y[i,k,j,l] = C[i,j] delta[k,l] + delta[i,j] B[k,l]", "C ⊗ I + I ⊗ B"),
    ("y[i,k,j,l] = 3 s A[i,j] B[k,m] C[m,l]", "3 s A ⊗ B C"),
    ("y[i,k,j,l] = s (C[i,j] delta[k,l] + delta[i,j] B[k,l])", "s (C ⊗ I + I ⊗ B)"),
    ("y[i,k,j,l] = x[i] delta[i,j] C[k,l]", "diag(x) ⊗ C"),
    ("y[i,k,j,l] = A[i,k] B[j,l]", "vec(A) vec(B)ᵀ"),
    ("y[i,k,j,l] = A[i,l] B[k,j]", "(A ⊗ B) K"),
    ("y[i,k,j,l] = delta[i,j] delta[k,l]", "I"),
    ("y[i,k,j,l] = delta[i,l] delta[k,j]", "K"),
    ("y[i,k,j,l] = delta[i,j] delta[k,l] exp(A[i,k])", "diag(vec(exp.(A)))"),
    ("y[i,k,j,l] = E[i,k] A[i,j] B[k,l] F[j,l]", "diag(vec(E)) (A ⊗ B) diag(vec(F))"),
]

LATEX = [
    ("y[i,j] = A[j,i]", r"A^{\top}"),
    ("y = x[i] A[i,j] x[j]", r"x^{\top} A x"),
    ("y[n,p] = X[m,n] X[m,p] s[m]", r"X^{\top} \operatorname{diag}\left(s\right) X"),
    ("y = A[i,j] B[j,i]", r"\operatorname{tr}\left(A B\right)"),
    ("y[i,j] = A[i,j] B[i,j] / C[i,j]", r"A \odot B \oslash C"),
    ("y[i,j] = 1[i] b[j]", r"\mathbf{1} b^{\top}"),
    ("y[i] = x[i] + 3", r"x + 3 \mathbf{1}"),
    ("y[i] = 1/2 x[i]", r"\frac{1}{2} x"),
    ("y[i] = x[i] / (z[j] z[j])", r"\frac{x}{\left\|z\right\|^{2}}"),
    ("y[i] = 3 s A[i,j] x[j] / (2 t)", r"\frac{3 s A x}{2 t}"),
    ("y[i] = x[i]**2", r"x^{\odot 2}"),
    ("y[i] = sqrt(x[i])", r"x^{\odot 1/2}"),
    ("y = s**2 + sqrt(s)", r"\sqrt{s} + s^{2}"),
    ("y[i] = exp(A[i,j] x[j])", r"\exp^{\odot}\left(A x\right)"),
    ("y[i] = sigmoid(x[i])", r"\sigma^{\odot}\left(x\right)"),
    ("y[i] = leaky_relu(x[i])", r"\operatorname{leaky\_relu}^{\odot}\left(x\right)"),
    ("y[i] = abs(x[i])", r"\operatorname{abs}^{\odot}\left(x\right)"),
    ("y = exp(s)", r"\exp(s)"),
    ("y = abs(s)", r"\left|s\right|"),
    ("y[i,j] = inv(A)[j,i]", r"A^{-\top}"),
    ("y[i,j] = inv[i,j](A[i,j] + B[i,j])", r"\left(A + B\right)^{-1}"),
    ("y = det(A) + logdet(A)", r"\log\left|A\right| + \det\left(A\right)"),
    ("y[i] = softmax[i](x[i])", r"\operatorname{softmax}(x)"),
    ("y[i,j] = softmax[j](A[i,j])", r"\operatorname{softmax}_{\mathrm{row}}\left(A\right)"),
    ("y = norm[i](x[i])", r"\left\|x\right\|"),
    ("y = sum[i,j](A[i,j]**2)", r"\left\|A\right\|_F^{2}"),
    ("y[i] = (x[i] <= 0) + mean[j](A[i,j])", r"\left[x \le 0\right] + \frac{1}{|j|} A \mathbf{1}"),
    ("y[i] = alpha[i] + w_1[i] + x_hat[i]", r"\alpha + w_{\mathrm{1}} + \hat{x}"),
    ("y[i,k,j,l] = delta[i,j] C[k,l]", r"I \otimes C"),
    ("y[i,j] = (A[i,k] + B[i,k]) C[k,j]", r"\left(A + B\right) C"),
    ("y[i,j] = 0[i,j]", r"\mathbf{0}"),
]

QUADRATIC, SQUARES = "y = x[i] A[i,j] x[j]", "l = sum[m]((X[m,n] w[n] - y[m])**2)"
FACTORS = "l = sum[i,j]((T[i,j] - U[i,k] V[j,k])**2)"
DERIVATIVES = [
    (QUADRATIC, ["x"], "(A + Aᵀ) x"),
    (QUADRATIC, ["x", "x"], "A + Aᵀ"),
    (QUADRATIC, ["A"], "x xᵀ"),
    (SQUARES, ["w"], "2 Xᵀ (X w - y)"),
    (SQUARES, ["w", "w"], "2 Xᵀ X"),
    (SQUARES, ["X"], "2 (X w - y) wᵀ"),
    (FACTORS, ["U"], "-2 (T - U Vᵀ) V"),
    (FACTORS, ["U", "U"], "2 I ⊗ Vᵀ V"),
    ("l = 1[m] exp(X[m,n] w[n])", ["w"], "Xᵀ exp.(X w)"),
    ("l = 1[m] exp(X[m,n] w[n])", ["w", "w"], "Xᵀ diag(exp.(X w)) X"),
    ("l = logdet(A)", ["A"], "A⁻ᵀ"),
    ("l = det(A)", ["A"], "det(A) A⁻ᵀ"),
    ("l = a[i] inv(A)[i,j] b[j]", ["A"], "-A⁻ᵀ a bᵀ A⁻ᵀ"),
    ("y[i,j] = inv(A)[i,j]", ["A"], "-A⁻¹ ⊗ A⁻ᵀ"),
    ("l = A[i,j] X[j,k] B[k,i]", ["X"], "Aᵀ Bᵀ"),
    ("l = X[i,j] A[j,k] X[i,k]", ["X"], "X (A + Aᵀ)"),
    ("l = norm[i](x[i])", ["x"], "x / ‖x‖"),
    ("l = norm[i](x[i])", ["x", "x"], "I / ‖x‖ - x xᵀ / ‖x‖³"),
    ("l = logsumexp[i](x[i])", ["x"], "softmax(x)"),
    ("y[i] = sin(A[i,j] x[j])", ["x"], "diag(cos.(A x)) A"),
    ("y[i,j] = exp(X[i,j])", ["X"], "diag(vec(exp.(X)))"),
    ("y[i,j] = X[j,i]", ["X"], "K"),
    ("y[i,j] = A[i,k] X[k,l] B[l,j]", ["X"], "A ⊗ Bᵀ"),
    ("y[i,j] = X[i,k] X[j,k]", ["X"], "(X ⊗ I) K + I ⊗ X"),
    ("l = sum[i,j](exp(A[i,k] B[k,j]))", ["A"], "exp.(A B) Bᵀ"),
]


@pytest.mark.parametrize("text, expected", TEXTS)
def test_text(text: str, expected: str) -> None:
    assert matrix(rc.parse(text)) == expected


@pytest.mark.parametrize("text, expected", LATEX)
def test_latex(text: str, expected: str) -> None:
    assert matrix(rc.parse(text), latex=True) == expected


@pytest.mark.parametrize("text, wrt, expected", DERIVATIVES)
def test_derivatives(text: str, wrt: list[str], expected: str) -> None:
    assert matrix(rc.parse(text).diff(*wrt)) == expected


def test_pullback_and_pushforward() -> None:
    f = rc.parse("Y[i,j] = X[i,k] A[k,j]")
    by_x, by_a = rc.pullback(f, ["X", "A"], rc.variable("Y_bar[i,j]"))
    assert (matrix(by_x), matrix(by_a)) == ("Ȳ Aᵀ", "Xᵀ Ȳ")
    assert matrix(by_x, latex=True) == r"\bar{Y} A^{\top}"
    assert matrix(rc.pushforward(f, {"X": rc.variable("X_dot[i,k]")})) == "Ẋ A"


def test_hand_computed() -> None:
    """The text, and beside it the same thing written in NumPy."""
    rng = np.random.default_rng(0)
    x, w, s, big = rng.normal(size=4), rng.normal(size=3), rng.normal(size=5), rng.normal(size=(5, 3))
    a, y = rng.normal(size=(4, 4)), rng.normal(size=5)
    u, v, t = rng.normal(size=(2, 3)), rng.normal(size=(4, 3)), rng.normal(size=(2, 4))
    cases = [
        (rc.parse(QUADRATIC).diff("x"), {"A": a, "x": x}, "(A + Aᵀ) x", (a + a.T) @ x),
        (rc.parse(SQUARES).diff("w"), {"X": big, "w": w, "y": y}, "2 Xᵀ (X w - y)", 2 * big.T @ (big @ w - y)),
        (
            rc.parse("y[n,p] = X[m,n] X[m,p] s[m]"),
            {"X": big, "s": s},
            "Xᵀ diag(s) X",
            big.T @ np.diag(s) @ big,
        ),
        (
            rc.parse("l = a[i] inv(A)[i,j] a[j]").diff("A"),
            {"A": a, "a": x},
            "-A⁻ᵀ a aᵀ A⁻ᵀ",
            -np.linalg.inv(a).T @ np.outer(x, x) @ np.linalg.inv(a).T,
        ),
        (
            rc.parse(FACTORS).diff("U", "U"),
            {"U": u, "V": v, "T": t},
            "2 I ⊗ Vᵀ V",
            2 * np.kron(np.eye(2), v.T @ v).reshape(2, 3, 2, 3),
        ),
        (
            rc.parse("y[i,j] = inv(A)[i,j]").diff("A"),
            {"A": a},
            "-A⁻¹ ⊗ A⁻ᵀ",
            -np.kron(np.linalg.inv(a), np.linalg.inv(a).T).reshape(4, 4, 4, 4),
        ),
    ]
    for formula, inputs, text, value in cases:
        assert matrix(formula) == text
        np.testing.assert_allclose(formula(**inputs), value, rtol=1e-9)


# Refusals.

REFUSED = [
    ("y[i,j,k] = T[i,j,k]", "the result has 3 indices, and a matrix has two"),
    ("y[i,j] = T[i,j,k] x[k]", "T has 3 indices"),
    ("y[i,j,k] = x[i] z[j] w[k]", "the result has 3 indices"),
    ("y[i,j,k,l,m] = A[i,j] B[k,l] x[m]", "the result has 5 indices"),
    ("y[i,j] = sum[k](exp(A[i,k] x[j]))", "has 3 indices"),
    ("y = A[i,j] B[i,k] C[i,l] D[j,k] E[k,l] F[l,j]", "an index joins three matrices or more"),
    ("y[i,k,j,l] = A[i,j] B[i,l] C[k,l]", "no Kronecker product"),
    ("y[i] = x[i+0] + x[i+1]", "it moves entries"),
    ("y[i,j] = A[t[i],j]", "it moves entries"),
    ("y[i,j] = I[i,j] + delta[i,j]", "'I' is a variable in it"),
    ("y[i,j,k,l] = K[i,l] delta[j,k]", "'K' is a variable in it"),
]


@pytest.mark.parametrize("text, reason", REFUSED)
def test_refusals(text: str, reason: str) -> None:
    with pytest.raises(rc.RuleError, match=re.escape(reason)) as error:
        matrix(rc.parse(text))
    assert str(error.value).startswith("This has no matrix notation: ")
    assert str(error.value).endswith("Print it in index notation, with str(formula).")


@pytest.mark.parametrize("layers", [90, 300, 5000])
def test_depth(layers: int) -> None:
    """Close to the bound it prints, beyond it refuses; it never runs out of stack, nor of time."""
    x = rc.variable("x[i]")
    for _ in range(layers):
        x = rc.sin(x)
    if layers < 100:
        assert matrix(x) == "sin.(" * layers + "x" + ")" * layers
    else:
        with pytest.raises(rc.RuleError, match="levels deep"):
            matrix(x)


def test_sharing_does_not_explode() -> None:
    x = rc.variable("x")
    for _ in range(40):
        x = rc.sin(x) * rc.cos(x)
    with pytest.raises(rc.RuleError, match="too many for one line"):
        matrix(x)


# What the text says, computed: every axis has the size N, scalars are (1, 1), vectors are columns.


CALLS = {
    "diag": lambda a: np.diag(a[:, 0]) if a.shape[1] == 1 else np.diag(a)[:, None],
    "vec": lambda a: a.reshape(-1, 1),
    "tr": lambda a: np.trace(a).reshape(1, 1),
    "det": lambda a: np.linalg.det(a).reshape(1, 1),
    "tril": np.tril,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "max": lambda a: a.max().reshape(1, 1),
    "softmax": lambda a: np.exp(a) / np.exp(a).sum(),
    "softmax_row": lambda a: np.exp(a) / np.exp(a).sum(1, keepdims=True),
    "softmax_col": lambda a: np.exp(a) / np.exp(a).sum(0, keepdims=True),
    "max_col": lambda a: a.max(0)[:, None],
}


class Reader:
    """Computes a text in matrix notation, independently of how it was made."""

    TOKEN = re.compile(
        r"\s*(\^\{⊙|\^\{|[A-Za-z]\w*\.(?=\()|\|[a-z]'*\||[A-Za-z]\w*|\d+|⁻¹|⁻ᵀ|ᵀ|[⁰¹²³⁴⁵⁶⁷⁸⁹]+|‖_F|\S)",
        re.ASCII,
    )

    def __init__(self, text: str, inputs: dict):
        text = re.sub(r"(^|[\s([·-])‖", r"\1⟪", text.replace(" / ", " ÷ "))
        self.tokens = [*self.TOKEN.findall(text), ""]
        self.inputs = inputs

    def next(self, *wanted: str) -> str:
        return self.tokens.pop(0) if not wanted or self.tokens[0] in wanted else ""

    def value(self, shape: tuple[int, ...]) -> np.ndarray:
        found = self.sum()
        assert self.tokens == [""], self.tokens
        rows = (1, 1) if not shape else (N, 1) if len(shape) == 1 else (N, N) if len(shape) == 2 else (N * N, N * N)
        return self.fit(found, rows).reshape(shape)

    @staticmethod
    def fit(a, shape: tuple[int, int]):
        """``1`` alone may be a number or ones, and ``I`` of any size."""
        if a.shape == shape:
            return a
        if a.shape == (N, 1) and shape == (1, 1) and np.all(a == a[0, 0]):
            return a[:1]
        if a.shape == (N, N) and shape == (N * N, N * N) and np.all(a == a[0, 0] * np.eye(N)):
            return a[0, 0] * np.eye(N * N)
        assert a.shape == (1, 1) and a[0, 0] == 0, (a.shape, shape)
        return np.zeros(shape)

    def sum(self):
        terms = [-self.signed() if self.next("-") else self.signed()]
        while sign := self.next("+", "-"):
            terms.append(self.signed() if sign == "+" else -self.signed())
        shapes = [t.shape for t in terms]
        shape = (1, 1) if (1, 1) in shapes else max(shapes, key=np.prod)
        total = self.fit(terms[0], shape)
        for t in terms[1:]:
            total = total + self.fit(t, shape)
        return total

    def signed(self):
        a = self.term()
        while sign := self.next("⊙", "⊘", "⊗", "÷"):
            b = self.factor() if sign == "÷" else self.term()
            a = a * b if sign == "⊙" else np.kron(a, b) if sign == "⊗" else a / b
        return a

    def term(self):
        a = self.factor()
        while self.next("·") or self.tokens[0] not in ("", ")", "]", "}", "‖", "‖_F", "|", *"+-⊙⊘⊗÷,><="):
            b = self.factor()
            a = a * b if a.shape == (1, 1) or b.shape == (1, 1) else a @ b
        return a

    def factor(self):
        a = self.atom()
        while mark := self.next("ᵀ", "⁻¹", "⁻ᵀ", "^{", "^{⊙") or self.raised():
            if mark == "ᵀ":
                a = a.T
            elif mark[0] == "^":
                sign = -1 if self.next("-") else 1
                exponent = Fraction(self.next() + (self.next("/") and "/" + self.next()))
                a = a ** float(sign * exponent)
                assert self.next("}") and (a.shape == (1, 1)) == (mark == "^{")
            elif mark in ("⁻¹", "⁻ᵀ"):
                a = np.linalg.inv(a) if mark == "⁻¹" else np.linalg.inv(a).T
            else:
                assert a.shape == (1, 1)
                a = a ** int(mark.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")))
        return a

    def raised(self) -> str:
        return self.next() if re.fullmatch("[⁰¹²³⁴⁵⁶⁷⁸⁹]+", self.tokens[0]) else ""

    def atom(self):
        token = self.next()
        if token.isdigit() or token[0] == "|":
            return self.number(token)
        if token in ("(", "[", "⟪"):
            a = self.sum()
            if token == "[":
                a = self.compared(a)
            close = self.next(")", "]", "‖", "‖_F")
            assert close
            return np.linalg.norm(a).reshape(1, 1) if close[0] == "‖" else a
        if token == "log" and self.next("|"):
            a = self.sum()
            assert self.next("|")
            return np.log(abs(np.linalg.det(a))).reshape(1, 1)
        if self.tokens[0] == "(" and token.rstrip(".") not in self.inputs:
            self.next()
            a = self.sum()
            assert self.next(")")
            if token.endswith("."):
                assert a.shape != (1, 1)
                return {"sigmoid": lambda z: 1 / (1 + np.exp(-z))}.get(token[:-1], getattr(np, token[:-1], None))(a)  # pyright: ignore[reportOptionalCall]
            return CALLS[token](a)
        return {"I": np.eye(N), "K": commutation(N)}[token] if token in "IK" else self.inputs[token]

    def compared(self, a):
        sign = self.next(">", "<", "=")
        b = self.sum()
        return np.asarray({">": a > b, "<": a < b, "=": a == b}[sign], float)

    def number(self, token: str):
        """``1`` is ones, but in a fraction."""
        value = float(N if token[0] == "|" else token)
        if self.tokens[0] == "/":
            self.next()
            return value / self.atom() if self.tokens[0] != "(" else value / self.factor()
        return np.ones((N, 1)) if token == "1" else np.full((1, 1), value)


def commutation(n: int) -> np.ndarray:
    return np.eye(n * n).reshape(n, n, n, n).transpose(1, 0, 2, 3).reshape(n * n, n * n)


def arrays(names: dict[str, int], seed: int = 0) -> dict[str, np.ndarray]:
    """Positive numbers, so that every function has a value."""
    rng = np.random.default_rng(seed)
    return {name: rng.uniform(0.5, 1.5, size=(N,) * order) for name, order in names.items()}


def columns(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: a.reshape((*a.shape, 1, 1)[:2]) for name, a in inputs.items()}


UNREAD = ("relu", "maximum", "cholesky", "expm", "logsumexp", "^{⊙z}", "s^{a}", "log(t)", "0", "pi")
FORMULAS = [rc.parse(text) for text, shown in TEXTS if not any(word in shown for word in UNREAD)]
FORMULAS += [rc.parse(text).diff(*wrt) for text, wrt, _ in DERIVATIVES]


@pytest.mark.parametrize("formula", FORMULAS, ids=str)
def test_the_text_says_what_the_formula_computes(formula: rc.Formula) -> None:
    inputs = arrays({name: formula.context.facts.inputs[name] for name in formula.variables})
    sizes = dict.fromkeys(formula.indices, N)
    value = np.asarray(formula(**inputs, sizes=sizes))
    np.testing.assert_allclose(Reader(matrix(formula), columns(inputs)).value(value.shape), value, rtol=1e-8)


def random_network(rng: random.Random, order: int):
    """Factors of at most two indices, drawn from a few labels, often squared, inverted or put in a sum."""
    labels = "abcdef"[: rng.randint(max(2, order), 5)]
    factors = []
    for at in range(rng.randint(1, 6)):
        own = [rng.choice(labels) for _ in range(rng.choice([0, 1, 1, 2, 2, 2, 2]))]
        e = variable(f"{'sxA'[len(own)]}{at if rng.random() < 0.8 else ''}", (N,) * len(own))
        if rng.random() < 0.2:
            e = e ** rng.choice([2, -1])
        elif rng.random() < 0.2:
            e = 2 * variable(f"{'tyB'[len(own)]}", (N,) * len(own)) - e
        factors.append((e, own))
    carried = sorted({x for _, own in factors for x in own})
    out = rng.sample(carried, min(order, len(carried)))
    return product(factors, out)


@pytest.mark.parametrize("order", [0, 1, 2, 4])
def test_random_networks(order: int) -> None:
    """Whatever is not refused is right; and most is not refused."""
    rng = random.Random(order)
    said = 0
    for seed in range(400):
        e = random_network(rng, order)
        if e.order == 3:
            continue
        names = {
            f"{kind}{at}": o for o, pair in enumerate(("st", "xy", "AB")) for kind in pair for at in (*"012345", "")
        }
        inputs = arrays(names, seed)
        value = np.asarray(rc.Formula(e, "ijkl"[: e.order])(**{v.name: inputs[v.name] for v in rc.expr.variables(e)}))  # pyright: ignore[reportAttributeAccessIssue]
        try:
            text = to_matrix(e, Facts())
        except rc.RuleError:
            continue
        said += 1
        got = Reader(text, columns(inputs)).value(value.shape)
        np.testing.assert_allclose(got, value, rtol=1e-8, atol=1e-10, err_msg=text)
    assert said > (250 if order < 4 else 40)


def test_the_reader_can_tell() -> None:
    """A wrong text is not taken for a right one."""
    inputs = columns(arrays({"A": 2, "x": 1}))
    right = Reader("A x", inputs).value((N,))
    for wrong in ("Aᵀ x", "x ⊙ A x", "A x + 1", "2 A x", "A^{⊙2} x"):
        assert not np.allclose(Reader(wrong, inputs).value((N,)), right)


def test_random_expressions_print_or_are_refused() -> None:
    """Over all functions and kinds of node: a text with balanced brackets, or a reason, and nothing else."""
    rng = random.Random(1)
    said = 0
    for _ in range(400):
        e = random_expression(rng).build()
        for latex in (False, True):
            try:
                text = to_matrix(e, Facts(), latex)
            except rc.RuleError as error:
                assert "str(formula)" in str(error)
                continue
            said += 1
            assert text.count("(") == text.count(")") and text.count("{") == text.count("}")
            assert text.count(r"\left") == text.count(r"\right")
    assert said > 200
