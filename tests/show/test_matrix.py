"""Matrix notation: tables of texts, derivatives, refusals; and every text computed by a reader of its own."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest
from matrix_reader import Misread
from matrix_values import Sizes, fault, point

import ricci as rc
from ricci.notation.context import Facts
from ricci.show import words
from ricci.show.matrix_notation import to_matrix
from ricci.testing.generate import random_expression
from ricci.testing.identities import identities


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
    ("y[i,j,k] = T[i,j,k]", "T has 3 indices, and a matrix has two"),
    ("y[i,j] = T[i,j,k] x[k]", "T has 3 indices, and a matrix has two"),
    ("y[i,j] = sum[k](exp(A[i,k] x[j]))", "exp(A[i,k] x[j]) has 3 indices"),
    ("y[i] = exp(A[i,k] x[j]) 1[j,k]", "exp(A[i,k] x[j]) has 3 indices"),
    ("a[i] = eps[i,j,k] b[j] c[k]", "eps[i,j,k] has 3 indices"),
    ("y[i] = x[i+0] + x[i+1]", "it moves entries (a shift, a stride, a reshape or a gather): x[i+0]"),
    ("c[i] = x[i+k] w[k]", "it moves entries (a shift, a stride, a reshape or a gather): x[i+k] w[k]"),
    ("y[i,j] = A[t[i],j]", "it moves entries (a shift, a stride, a reshape or a gather): A[t[i],j]"),
    ("y[i,j] = I[i,j] + delta[i,j]", "'I' is a variable in it"),
    ("y[i,j,k,l] = K[i,l] delta[j,k]", "'K' is a variable in it"),
    (
        "y[i,k,j,l,p,q] = delta[i,p] delta[k,q] A[j,l]",
        "its rows (i, k, j) and columns (l, p, q) do not fall into neighbours that one matrix each has",
    ),
    (
        "y[a,b,c,d] = 1[i,j,k,l] A[i,j] B[i,k] C[i,l] D[j,k] E[k,l] F[l,j] P[a,i] Q[b,j] R[c,k] S[d,l]",
        "i joins A, B, C and P",
    ),
]


@pytest.mark.parametrize("text, reason", REFUSED)
def test_refusals(text: str, reason: str) -> None:
    """What stands in the way is named as its author names it."""
    with pytest.raises(rc.RuleError, match=re.escape(reason)) as error:
        rc.parse(text).matrix()
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


# What textbooks have: the function, what it is differentiated by, and the text; nothing is declared of the matrices.

TEXTBOOK = [
    ("f = a[i] x[i]", "x", "a"),
    ("f = x[i] x[i]", "x", "2 x"),
    ("f = x[i] x[i]", "x, x", "2 I"),
    ("f = x[i] A[i,j] x[j]", "x", "(A + Aᵀ) x"),
    ("f = x[i] A[i,j] y[j]", "A", "x yᵀ"),
    ("f = a[i] x[i] b[j] x[j]", "x", "(aᵀ x) b + (xᵀ b) a"),
    ("f = x[i] A[i,j] x[j]/(x[k] x[k])", "x", "(A + Aᵀ) x / ‖x‖² - 2 (xᵀ A x) x / ‖x‖⁴"),
    ("f = 1/2 x[i] Q[i,j] x[j] - b[i] x[i] + c", "x", "1/2 (Q + Qᵀ) x - b"),
    ("f = 1/2 (A[i,j] x[j] - b[i]) (A[i,k] x[k] - b[i]) + lam x[j] x[j]", "x", "Aᵀ (A x - b) + 2 lam x"),
    ("f = 1/2 (A[i,j] x[j] - b[i]) (A[i,k] x[k] - b[i]) + lam x[j] x[j]", "x, x", "Aᵀ A + 2 lam I"),
    ("f = (y[m] - X[m,n] w[n])**2 1[m]", "w", "-2 Xᵀ (y - X w)"),
    ("f = (y[m] - X[m,n] w[n])**2 v[m]", "w", "-2 Xᵀ ((y - X w) ⊙ v)"),
    ("f = (y[m] - X[m,n] w[n]) S[m,k] (y[k] - X[k,l] w[l])", "w, w", "Xᵀ (S + Sᵀ) X"),
    ("f = X[i,i]", "X", "I"),
    ("f = A[i,j] X[j,i]", "X", "Aᵀ"),
    ("f = A[i,j] X[i,j]", "X", "A"),
    ("f = A[i,j] X[j,k] B[k,i]", "X", "Aᵀ Bᵀ"),
    ("f = A[i,j] X[k,j] B[k,i]", "X", "B A"),
    ("f = X[i,j] X[j,i]", "X", "2 Xᵀ"),
    ("f = X[i,j] X[i,j]", "X", "2 X"),
    ("f = X[i,j] X[j,k] X[k,i]", "", "tr(X³)"),
    ("f = X[j,i] B[j,k] X[k,i]", "X", "(B + Bᵀ) X"),
    ("f = A[i,j] X[j,k] B[k,l] X[m,l] C[m,i]", "X", "C A X B + Aᵀ Cᵀ X Bᵀ"),
    ("f = A[i,j] X[j,k] B[k,l] X[l,i]", "X", "Aᵀ Xᵀ Bᵀ + Bᵀ Xᵀ Aᵀ"),
    ("f = A[i,j] inv(X)[j,k] B[k,i]", "X", "-X⁻ᵀ Aᵀ Bᵀ X⁻ᵀ"),
    ("f = det(X)", "X", "det(X) X⁻ᵀ"),
    ("f = logdet(X)", "X", "X⁻ᵀ"),
    ("f = logdet(X)", "X, X", "-(X⁻ᵀ ⊗ X⁻¹) K"),
    ("f = log(det(X))", "X", "X⁻ᵀ"),
    ("f = det[i,j](A[i,k] X[k,l] B[l,j])", "X", "det(A X B) Aᵀ (A X B)⁻ᵀ Bᵀ"),
    ("f = logdet[i,j](X[k,i] X[k,j])", "X", "2 X (Xᵀ X)⁻¹"),
    ("f = logdet[i,j](A[i,j] + x[i] x[j])", "", "log|A + x xᵀ|"),
    ("f = a[i] inv(X)[i,j] b[j]", "X", "-X⁻ᵀ a bᵀ X⁻ᵀ"),
    ("B[i,j] = inv(X)[i,j]", "X", "-X⁻¹ ⊗ X⁻ᵀ"),
    ("x[j] = solve(A, b)[j]", "b", "A⁻¹"),
    ("f = 1/2 logdet(S) + 1/2 r[i] inv(S)[i,j] r[j]", "r", "1/2 (S⁻¹ + S⁻ᵀ) r"),
    ("f = x[i] inv[i,j](A[i,j] + s delta[i,j]) x[j]", "s, s", "2 xᵀ (A + s I)⁻¹ (A + s I)⁻¹ (A + s I)⁻¹ x"),
    ("f = norm[i](x[i])", "x", "x / ‖x‖"),
    ("f = norm[i](x[i])", "x, x", "I / ‖x‖ - x xᵀ / ‖x‖³"),
    ("f = norm[i](x[i] - a[i])", "x", "(x - a) / ‖x - a‖"),
    ("f = norm[i](A[i,j] x[j] - b[i])", "x", "Aᵀ (A x - b) / ‖A x - b‖"),
    ("f = norm[i](A[i,j] x[j] - b[i])", "x, x", "Aᵀ (I / ‖A x - b‖ - (A x - b) (A x - b)ᵀ / ‖A x - b‖³) A"),
    ("f = norm[i,j](X[i,j])", "X", "X / ‖X‖_F"),
    ("f = norm[i,j](X[i,j])", "X, X", "I / ‖X‖_F - vec(X) vec(X)ᵀ / ‖X‖_F³"),
    ("f = norm[i,j](A[i,j] - u[i] v[j])**2", "u", "-2 (A - u vᵀ) v"),
    ("f = 1[i] abs(x[i])", "", "‖x‖₁"),
    ("f = 1[i] abs(x[i])", "x", "sign.(x)"),
    ("f = 1[i] abs(A[i,j] x[j] - b[i])", "x", "Aᵀ sign.(A x - b)"),
    ("y[i] = x[i]/norm[j](x[j])", "x", "I / ‖x‖ - x xᵀ / ‖x‖³"),
    ("y[i] = x[i]/(1[j] abs(x[j]))", "x", "I / ‖x‖₁ - x sign.(x)ᵀ / ‖x‖₁²"),
    ("y[i,j] = X[i,j]/norm[j](X[i,j])", "", "diag(1 ⊘ norm_row(X)) X"),
    ("f = 1[i] norm[j](X[i,j])", "X", "diag(1 ⊘ norm_row(X)) X"),
    ("f = 1[j] norm[i](X[i,j])", "X", "X diag(1 ⊘ norm_col(X))"),
    ("p[i] = softmax[i](x[i])", "x", "diag(softmax(x)) - softmax(x) softmax(x)ᵀ"),
    ("f = logsumexp[i](x[i])", "x", "softmax(x)"),
    ("f = logsumexp[i](x[i])", "x, x", "diag(softmax(x)) - softmax(x) softmax(x)ᵀ"),
    ("f = logsumexp[i](A[i,j] x[j])", "x, x", "Aᵀ (diag(softmax(A x)) - softmax(A x) softmax(A x)ᵀ) A"),
    ("f = -t[k] log_softmax[k](z[k])", "z", "(1ᵀ t) softmax(z) - t"),
    ("f = 1[n] logsumexp[k](X[n,d] W[d,k]) - Y[n,k] X[n,d] W[d,k]", "W", "Xᵀ (softmax_row(X W) - Y)"),
    ("f = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))", "w", "-Xᵀ (y ⊙ sigmoid.(-y ⊙ (X w)))"),
    ("f = 1[m] (softplus(X[m,n] w[n]) - y[m] X[m,n] w[n])", "w", "Xᵀ (sigmoid.(X w) - y)"),
    ("f = 1[m] (exp(X[m,n] w[n]) - y[m] X[m,n] w[n])", "w, w", "Xᵀ diag(exp.(X w)) X"),
    ("f = x[i] log(x[i])", "x", "1 + log.(x)"),
    ("f = p[i] log(p[i]/q[i])", "p", "1 + log.(p ⊘ q)"),
    ("f = c[j] x[j] - mu 1[i] log(b[i] - A[i,j] x[j])", "x", "c + mu Aᵀ (1 ⊘ (b - A x))"),
    ("y[i] = tanh(W[i,j] x[j] + b[i])", "x", "diag(1 - tanh.(W x + b)^{⊙2}) W"),
    (
        "f = 1/2 (V[k,i] tanh(W[i,j] x[j]) - t[k]) (V[k,l] tanh(W[l,m] x[m]) - t[k])",
        "V",
        "(V tanh.(W x) - t) tanh.(W x)ᵀ",
    ),
    (
        "f = 1/2 (V[k,i] tanh(W[i,j] x[j]) - t[k]) (V[k,l] tanh(W[l,m] x[m]) - t[k])",
        "W",
        "((Vᵀ (V tanh.(W x) - t)) ⊙ (1 - tanh.(W x)^{⊙2})) xᵀ",
    ),
    (
        "H[b,h] = relu(X[b,d] W[d,h]); f = 1[b,k] (H[b,h] V[h,k] - T[b,k])**2",
        "W",
        "2 Xᵀ ([X W > 0] ⊙ ((relu.(X W) V - T) Vᵀ))",
    ),
    ("H[b,h] = relu(X[b,d] W[d,h]); f = 1[b,k] (H[b,h] V[h,k] - T[b,k])**2", "V", "2 relu.(X W)ᵀ (relu.(X W) V - T)"),
    (
        "P[i,j] = softmax[j](Q[i,d] K[j,d]/sqrt(|d|)); f = G[i,e] P[i,j] V[j,e]",
        "V",
        "softmax_row(Q Kᵀ / sqrt(|d|))ᵀ G",
    ),
    (
        "P[i,j] = softmax[j](Q[i,d] K[j,d]/sqrt(|d|)); f = G[i,e] P[i,j] V[j,e]",
        "Q",
        "(softmax_row(Q Kᵀ / sqrt(|d|)) ⊙ (G Vᵀ - (softmax_row(Q Kᵀ / sqrt(|d|)) ⊙ (G Vᵀ)) 1 1ᵀ)) K / sqrt(|d|)",
    ),
    (
        "P[i,j] = softmax[j](Q[i,d] K[j,d]/sqrt(|d|)); f = G[i,e] P[i,j] V[j,e]",
        "K",
        "(softmax_row(Q Kᵀ / sqrt(|d|)) ⊙ (G Vᵀ - (softmax_row(Q Kᵀ / sqrt(|d|)) ⊙ (G Vᵀ)) 1 1ᵀ))ᵀ Q / sqrt(|d|)",
    ),
    ("f = (T[i,j] - U[i,k] V[j,k])**2 1[i,j]", "U", "-2 (T - U Vᵀ) V"),
    ("f = (T[i,j] - U[i,k] V[j,k])**2 1[i,j]", "U, U", "2 I ⊗ Vᵀ V"),
    ("f = M[i,j] (T[i,j] - U[i,k] V[j,k])**2", "U", "-2 (M ⊙ (T - U Vᵀ)) V"),
    ("f = (X[n,i] - X[n,j] W[j,k] W[i,k])**2 1[n,i]", "W", "-2 Xᵀ (X - X W Wᵀ) W - 2 (X - X W Wᵀ)ᵀ X W"),
    ("f = W[i,k] S[i,j] W[j,k]", "W", "(S + Sᵀ) W"),
    ("f = 1/2 (x[i] - m[i]) inv(S)[i,j] (x[j] - m[j]) + 1/2 logdet(S)", "m", "-1/2 (S⁻¹ + S⁻ᵀ) (x - m)"),
    ("f = 1/2 (x[i] - m[i]) inv(S)[i,j] (x[j] - m[j]) + 1/2 logdet(S)", "S", "1/2 (S⁻ᵀ - S⁻ᵀ (x - m) (x - m)ᵀ S⁻ᵀ)"),
    ("f = 1/2 logdet(K) + 1/2 y[i] inv(K)[i,j] y[j]", "K", "1/2 K⁻ᵀ - 1/2 K⁻ᵀ y yᵀ K⁻ᵀ"),
    ("C[i,j] = 1/|n| X[n,i] (delta[n,m] - 1[n,m]/|n|) X[m,j]", "", "1/|m| Xᵀ (I - 1/|m| 1 1ᵀ) X"),
    ("f = var[i](x[i])", "x", "2/|i| (x - 1/|i| (1ᵀ x) 1)"),
    ("D[i,j] = 1[d] (X[i,d] 1[j] - 1[i] X[j,d])**2", "", "X^{⊙2} 1 1ᵀ - 2 X Xᵀ + 1 1ᵀ (X^{⊙2})ᵀ"),
]

# Results with more indices: before "|" how many of them are those of the rows, where it is said; the text.
# Unless it is said, the columns are what a derivative is by.

UNFOLDED = [
    # Kronecker products and vec
    ("y[i,j,k] = x[i] z[j] w[k]", "", "(x ⊗ z) wᵀ"),
    ("y[i,j,k] = x[i] z[j] w[k]", "1", "x (z ⊗ w)ᵀ"),
    ("y[i,j,k] = A[i,j] x[k]", "", "vec(A) xᵀ"),
    ("y[i,j,k] = A[i,k] x[j]", "", "A ⊗ x"),
    ("y[i,j,k] = x[i] A[j,k]", "", "x ⊗ A"),
    ("y[i,j,k] = x[i] A[j,k]", "1", "x vec(A)ᵀ"),
    ("y[i,j,k] = A[i,k] x[j]", "1", "xᵀ ⊗ A"),
    ("y[i,j,k] = 0[i,j,k]", "", "0"),
    ("y[i,j,k,l,m] = A[i,j] B[k,l] x[m]", "", "vec(A) ⊗ B ⊗ xᵀ"),
    ("y[i,k,j,l] = x[i] A[k,j] z[l]", "", "x ⊗ A ⊗ zᵀ"),
    # batches: each row of A • B is the Kronecker product of two rows
    ("y[b,i,j] = X[b,i] Z[b,j]", "1", "X • Z"),
    ("y[b,i,j] = X[b,i] Z[b,j]", "", "(I • X)ᵀ Z"),
    ("y[b,i,j] = s[b] A[i,j]", "", "s ⊗ A"),
    ("y[b,i,j] = s[b] X[b,i] X[b,j]", "1", "diag(s) (X • X)"),
    ("y[b,i,j] = X[b,i] A[i,j] Z[b,j]", "", "diag(vec(X)) (Zᵀ • Aᵀ)ᵀ"),
    ("y[i,j,k] = A[i,r] B[j,r] C[k,r]", "", "(Aᵀ • Bᵀ)ᵀ Cᵀ"),
    ("y[i,j,k] = A[i,r] B[j,r] C[k,r] w[r]", "1", "A diag(w) (Bᵀ • Cᵀ)"),
    ("y[i,k,j,l] = A[p,i] B[p,k] C[p,j] D[p,l] w[p]", "", "(A • B)ᵀ diag(w) (C • D)"),
    ("y[i,k,j,l] = A[i,j] B[i,l] C[k,l]", "", "(I ⊗ C) diag(vec(B)) (A ⊗ I)"),
    ("y[i,k,j,l] = A[i,j] B[k,l] C[i,l] D[k,j]", "", "(A ⊗ B) ⊙ ((C ⊗ D) K)"),
    # functions entry by entry, and along the columns
    ("y[b,i,j] = exp(A[b,i] x[j])", "", "exp.(vec(A) xᵀ)"),
    ("y[b,i,j] = 2 exp(A[b,i] x[j]) s", "1", "2 s exp.(A ⊗ xᵀ)"),
    ("y[b,i,j] = softmax[j](s[b] A[i,j])", "", "softmax_row(s ⊗ A)"),
    # what joins three matrices and more
    ("y = A[i,j] B[i,k] C[i,l] D[j,k] E[k,l] F[l,j]", "", "tr((A • B)ᵀ C (F • Eᵀ) diag(vec(D)))"),
    ("Y[i,j] = A[i,p] B[j,p] C[p,q] D[i,q] E[j,q]", "", "(A • D) diag(vec(C)) (B • E)ᵀ"),
    ("D[i,j] = 1[d] (X[i,d] 1[j] - 1[i] Z[j,d])**2", "", "X^{⊙2} 1 1ᵀ - 2 X Zᵀ + 1 1ᵀ (Z^{⊙2})ᵀ"),
]

MORE_DERIVATIVES = [
    ("y[i] = A[i,j] x[j]", "A", "I ⊗ xᵀ"),
    ("y[i] = A[i,j] x[j] + b[i]", "A", "I ⊗ xᵀ"),
    ("y[i] = tanh(W[i,j] x[j] + b[i])", "W", "diag(1 - tanh.(W x + b)^{⊙2}) ⊗ xᵀ"),
    ("y[k] = V[k,i] tanh(W[i,j] x[j])", "W", "V diag(1 - tanh.(W x)^{⊙2}) ⊗ xᵀ"),
    ("y[i] = inv(X)[i,j] b[j]", "X", "-X⁻¹ ⊗ bᵀ X⁻ᵀ"),
    ("y[i] = X[i,i]", "X", "I • I"),
    ("Y[i,j] = x[i] y[j]", "x", "I ⊗ y"),
    ("Y[i,j] = x[i] x[j]", "x", "x ⊗ I + I ⊗ x"),
    ("Y[i,j] = delta[i,j] x[i]", "x", "(I • I)ᵀ"),
    ("Y[i,j] = x[i] A[i,j]", "x", "(I • A)ᵀ"),
    ("Y[i,j] = A[i,j] x[j]", "x", "(Aᵀ • I)ᵀ"),
    ("Y[i,j] = X[i,k] w[k] X[j,k]", "w", "(Xᵀ • Xᵀ)ᵀ"),
    ("Y[i,j] = A[i,k] x[k] B[k,j]", "x", "(Aᵀ • B)ᵀ"),
    ("Y[b,h] = X[b,d] W[d,h] + 1[b] c[h]", "c", "1 ⊗ I"),
    ("Y[b,h] = X[b,d] W[d,h] + 1[b] c[h]", "W", "X ⊗ I"),
    (
        "H[b,j] = tanh(X[b,i] W[i,j]); Y[b,k] = H[b,j] V[j,k]",
        "W",
        "(I ⊗ Vᵀ) diag(vec(1 1ᵀ - tanh.(X W)^{⊙2})) (X ⊗ I)",
    ),
    ("y[b] = X[b,i] A[i,j] X[b,j]", "A", "X • X"),
    ("y[b] = X[b,i] A[i,j] X[b,j]", "X", "I • X (A + Aᵀ)"),
    ("y[b] = X[b,i] w[i]", "X", "I ⊗ wᵀ"),
    ("y[i] = norm[j](X[i,j])", "X", "diag(1 ⊘ norm_row(X)) (I • X)"),
    (
        "Y[i,j] = X[i,j]/norm[j](X[i,j])",
        "X",
        "diag(1 ⊘ norm_row(X)) ⊗ I - (I • X)ᵀ diag(1 ⊘ norm_row(X)^{⊙3}) (I • X)",
    ),
    ("P[n,k] = softmax[k](Z[n,k])", "Z", "diag(vec(softmax_row(Z))) - (I • softmax_row(Z))ᵀ (I • softmax_row(Z))"),
    (
        "l = 1[n] logsumexp[k](X[n,d] W[d,k]) - Y[n,k] X[n,d] W[d,k]",
        "W, W",
        "(Xᵀ ⊗ I) diag(vec(softmax_row(X W))) (X ⊗ I) - (X • softmax_row(X W))ᵀ (X • softmax_row(X W))",
    ),
    ("O[i,e] = softmax[j](Q[i,d] L[j,d]/sqrt(|d|)) V[j,e]", "V", "softmax_row(Q Lᵀ / sqrt(|d|)) ⊗ I"),
    (
        "O[i,e] = softmax[j](Q[i,d] L[j,d]/sqrt(|d|)) V[j,e]",
        "Q",
        "((I ⊗ Vᵀ) diag(vec(softmax_row(Q Lᵀ / sqrt(|d|)))) (I ⊗ L) - (I • softmax_row(Q Lᵀ / sqrt(|d|)) V)ᵀ "
        "(I • softmax_row(Q Lᵀ / sqrt(|d|)) L)) / sqrt(|d|)",
    ),
    ("f = M[i,j] (T[i,j] - U[i,k] V[j,k])**2", "U, U", "2 (I ⊗ Vᵀ) diag(vec(M)) (I ⊗ V)"),
    ("f = 1[b] log(X[b,i] A[i,j] X[b,j])", "A, A", "-(X • X)ᵀ diag(1 ⊘ ((X ⊙ (X A)) 1)^{⊙2}) (X • X)"),
    (
        "f = logdet[i,j](X[k,i] X[k,j])",
        "X, X",
        "2 I ⊗ (Xᵀ X)⁻¹ - 2 (X (Xᵀ X)⁻¹ ⊗ (Xᵀ X)⁻¹ Xᵀ) K - 2 X (Xᵀ X)⁻¹ Xᵀ ⊗ (Xᵀ X)⁻¹",
    ),
    ("y[i] = x[i]**3", "x, x", "6 (I • I)ᵀ diag(x)"),
    ("y[i] = A[i,j] sin(B[j,k] x[k])", "x, x", "-(Aᵀ • B)ᵀ diag(sin.(B x)) B"),
    ("f = x[i] A[i,j] y[j] z[j]", "A, y", "x ⊗ diag(z)"),
]


def derived(text: str, by: str) -> rc.Formula:
    formula = rc.parse(text)
    for name in by.split(", ") if by else ():
        formula = formula.diff(name)
    return formula


@pytest.mark.parametrize("text, by, expected", TEXTBOOK + MORE_DERIVATIVES)
def test_what_textbooks_have(text: str, by: str, expected: str) -> None:
    formula = derived(text, by)
    assert formula.matrix() == expected
    assert not fault(formula, expected)


@pytest.mark.parametrize("text, rows, expected", UNFOLDED)
def test_more_indices(text: str, rows: str, expected: str) -> None:
    formula = rc.parse(text)
    assert formula.matrix(rows=int(rows) if rows else None) == expected
    assert not fault(formula, expected, rows=int(rows) if rows else None)


@pytest.mark.parametrize(
    "text, by, words, expected",
    [
        ("f = x[i] A[i,j] x[j]", "x", {"symmetric": "A"}, "2 A x"),
        ("f = logdet(A)", "A", {"symmetric": "A"}, "A⁻¹"),
        ("f = x[i] inv(S)[i,j] x[j]", "x", {"positive": "S"}, "2 S⁻¹ x"),
        ("f = F[i,j] x[i] z[j]", "x", {"antisymmetric": "F"}, "F z"),
        ("y[i,j] = Q[i,k] A[k,l] Q[j,l]", "", {"orthogonal": "Q"}, "Q A Qᵀ"),
        ("y[i] = point(A[i,j] x[j])", "x", {"functions": ["point"]}, "diag(point'.(A x)) A"),
    ],
)
def test_what_is_declared(text: str, by: str, words: dict, expected: str) -> None:
    formula = rc.parse(text, **words)
    assert (formula.diff(by) if by else formula).matrix() == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ("f = 1[i] log(b[i] - A[i,j] x[j]) + x[i] x[i]", "1ᵀ log.(b - A x) + ‖x‖²"),
        ("f = x[j] x[j] + 1[i] log(b[i] - A[i,j] x[j])", "‖x‖² + 1ᵀ log.(b - A x)"),
        ("f = (a - 1) log(x)", "(a - 1) log(x)"),
        ("f = (1 - a) log(x)", "(1 - a) log(x)"),
        ("f = lam x[i] x[i]", "lam ‖x‖²"),
        ("f = (x[i] x[i]) lam", "‖x‖² lam"),
        ("r[i] = b[i] - A[i,j] x[j]; f = 1[i] abs(r[i])", "‖b - A x‖₁"),
    ],
)
def test_order_and_signs_are_the_authors(text: str, expected: str) -> None:
    assert rc.parse(text).matrix() == expected


def test_of_the_matrix_language() -> None:
    f = rc.matrix("f = 1/2*norm2(A*x - b)^2 + lam*x'*x")
    assert [g.matrix() for g in (f, f.diff("x"), f.diff("x", "x"))] == [
        "1/2 ‖A x - b‖² + lam ‖x‖²",
        "Aᵀ (A x - b) + 2 lam x",
        "Aᵀ A + 2 lam I",
    ]
    assert rc.matrix("f = sum(log(b - A*x))").diff("x").matrix() == "-Aᵀ (1 ⊘ (b - A x))"


@pytest.mark.parametrize("text, by, expected", MORE_DERIVATIVES)
def test_more_indices_are_read_back(text: str, by: str, expected: str) -> None:
    """``rc.matrix`` computes what was printed; axes of one size are declared with one index."""
    formula = derived(text, by)
    home = Sizes(formula)
    inputs = formula.context.facts.inputs.items()
    index = {number: name for name, number in reversed(home.index.items())}
    said = [",".join([index[home.axis[name, axis]] for axis in range(order)]) for name, order in inputs]
    declared = " ".join([f"{name}[{own}]" if own else name for (name, _), own in zip(inputs, said, strict=True)])
    again = rc.matrix(expected, declared)
    arrays = point(formula, home, [4 - number % 2 for number in range(len(home.found))], 0)
    wanted = np.asarray(formula(**arrays))
    used = {name: a for name, a in arrays.items() if name in again.variables}
    value = again(**used, sizes=dict(zip(again.indices, wanted.shape, strict=True)))
    np.testing.assert_allclose(value, wanted, rtol=1e-6, atol=1e-8)


def test_both_sides_of_an_equation() -> None:
    assert rc.parse("a[i] b[i] = c[i] d[i]  (no sum i)").matrix() == "a ⊙ b = c ⊙ d"
    assert rc.parse("A[i,j] x[j] = b[i]").matrix(latex=True) == "A x = b"


# What the text says, computed.

FORMULAS = [rc.parse(text) for text, _ in TEXTS] + [rc.parse(text) for text, _ in LATEX]
FORMULAS += [rc.parse(text).diff(*wrt) for text, wrt, _ in DERIVATIVES]


@pytest.mark.parametrize("formula", FORMULAS, ids=str)
def test_the_text_says_what_the_formula_computes(formula: rc.Formula) -> None:
    for latex in (False, True):
        for shown in (matrix(formula, latex), formula.matrix(latex=latex)):
            assert not fault(formula, shown)


UNREAD = ("prod_", "expm_along", "recurrence", "dexp", "polygamma", "Gamma", "psi^")  # functions that the reader lacks


def said_of(formulas) -> list[int]:
    """How many have matrix notation, and how many there are; all that is said is right."""
    counts = [0, 0]
    for formula in formulas:
        counts[1] += 1
        try:
            shown = [formula.matrix(), formula.matrix(latex=True)]
        except rc.RuleError as error:
            assert str(error).startswith("This has no matrix notation: ")
            continue
        counts[0] += 1
        for text in shown:
            if formula.context.facts.ranges:  # windows, of which nothing is left
                assert text in ("0", r"\mathbf{0}")
            elif not any(word in text for word in UNREAD):
                assert not fault(formula, text), text
    return counts


def in_library(every: int):
    for row in identities()[::every]:
        yield from (row.function(), row.derivative())


def in_textbooks():
    lines = (Path(__file__).parents[1] / "notation" / "textbook_text.txt").read_text(encoding="utf-8").splitlines()
    for line in lines:
        text, _, by = line.rpartition("  by ")
        names = by.split(", ") * (2 if ", " not in by else 1)
        if text and not line.startswith("#"):
            yield from [derived(text, ", ".join(names[:k])) for k in range(len(names) + 1)]


def test_identities() -> None:
    said, count = said_of(in_library(every=6))
    assert said > 0.9 * count


@pytest.mark.thorough
def test_all_identities_and_textbooks() -> None:
    """The figures of docs/matrix.md."""
    assert said_of(in_library(every=1)) == [527, 552]
    assert said_of(in_textbooks()) == [271, 306]


def random_factor(rng: random.Random, at: int, labels: str) -> tuple[str, list[str]]:
    """A factor of at most two indices, often squared, in a sum, in a function, or an identity."""
    own = [rng.choice(labels) for _ in range(rng.choice([0, 1, 1, 2, 2, 2, 2, 2]))]
    where = f"[{','.join(own)}]" if own else ""
    text = f"{'sxA'[len(own)]}{at}{where}"
    kind = rng.random()
    if kind < 0.1:
        text = f"({text})**2"
    elif kind < 0.15:
        text = f"exp({text})"
    elif kind < 0.22:
        text = f"({text} - {'tyB'[len(own)]}{at}{where})"
    elif kind < 0.26 and len(set(own)) == 2:
        text = f"delta{where}"
    elif kind < 0.3 and len(set(own)) == 2:
        text = f"(x{at}[{own[0]}] 1[{own[1]}] - 1[{own[0]}] y{at}[{own[1]}])"
    return text, own


def random_network(rng: random.Random, order: int) -> rc.Formula:
    """Factors on a few labels; now and then one with three indices, a difference or its square."""
    labels = "abcdef"[: rng.randint(max(3, order), 6)]
    factors = [random_factor(rng, at, labels) for at in range(rng.randint(1, 6))]
    if rng.random() < 0.15:
        a, b, c = rng.sample(labels, 3)
        square = "**2" if rng.random() < 0.3 else ""
        factors.append((f"(A9[{a},{b}] 1[{c}] - 1[{a}] B9[{b},{c}]){square}", [a, b, c]))
    carried = sorted({x for text, own in factors for x in own if not text.startswith("delta")})
    factors = [(text, own) for text, own in factors if set(own).issubset(carried)]
    out = rng.sample(carried, min(order, len(carried)))
    body = " ".join([*[f"1[{x}]" for x in carried if x not in out], *[text for text, _ in factors]])
    return rc.parse(f"r[{','.join(out)}] = {body}" if out else f"r = {body or 's'}")


def random_networks_are_right(seeds: range) -> list[int]:
    counts = [0, 0]
    for seed in seeds:
        rng = random.Random(seed)
        formula = random_network(rng, rng.choice([0, 1, 2, 3, 3, 3, 4, 4, 4]))
        counts[1] += 1
        try:
            shown = formula.matrix(latex=rng.random() < 0.3)
        except rc.RuleError:
            continue
        counts[0] += 1
        assert not fault(formula, shown, seed)
    return counts


def test_random_networks() -> None:
    """Whatever is not refused is right; and most is not refused."""
    said, count = random_networks_are_right(range(120))
    assert said > 0.95 * count


@pytest.mark.thorough
def test_many_random_networks() -> None:
    said, count = random_networks_are_right(range(1000, 1500))
    assert said > 0.95 * count


def test_the_reader_can_tell() -> None:
    """A wrong text is not taken for a right one, nor one that leaves a size open."""
    formula = rc.parse("y[i] = A[i,j] x[j]")
    assert not fault(formula, "A x") and not fault(formula, "A x / 1")
    for wrong in ("A (x ⊙ x)", "A x + 1", "2 A x", "A^{⊙2} x", "-A x"):
        assert fault(formula, wrong)
    for unfit in ("Aᵀ x", "x ⊙ (A x)", "A x ⊗ x", "(A • A) x"):
        with pytest.raises(Misread):
            fault(formula, unfit)
    jacobian = rc.parse("Y[i,j] = A[i,j] x[j]").diff("x")
    assert not fault(jacobian, "(Aᵀ • I)ᵀ") and fault(jacobian, "diag(vec(A)) ((1 ⊗ I) - (1 ⊗ I))")
    with pytest.raises(Misread, match="how long"):
        fault(rc.parse("y = s"), "s (1ᵀ 1) / (1ᵀ 1)")


def test_a_planted_fault_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the printer exchanges what stands beside •, random networks are wrong."""
    honest = words.rowwise
    monkeypatch.setattr(words, "rowwise", lambda parts: honest(parts[::-1]))
    with pytest.raises((AssertionError, Misread)):
        random_networks_are_right(range(120))


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
