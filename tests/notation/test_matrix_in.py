"""The matrix language: what is read, in four spellings, what is refused, and that shapes and values are right."""

from __future__ import annotations

import pickle
import random
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from matrix_evaluator import Misfit, program

import ricci as rc
from ricci.testing.identities import identities
from ricci.testing.identity_checks import cases, central_differences

SIZE = 3
LINES = Path(__file__).with_name("textbook_matrix.txt").read_text(encoding="utf-8").splitlines()


def _row(line: str) -> tuple[str, str, list[str]]:
    said, _, by = line.rpartition("  by ")
    text, _, declared = said.partition("  given ")
    return text, declared, by.split(", ")


TEXTBOOK = [_row(line) for line in LINES if line and not line.startswith("#")]


def drawn(f: rc.Formula, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Positive numbers; matrices near the identity, and symmetric where they are called S."""
    found = {}
    for name, order in f.context.facts.inputs.items():
        a = rng.uniform(0.3, 0.9, (SIZE,) * order)
        a = a / 4 + np.eye(SIZE) if order == 2 else a
        found[name] = a + a.T if name == "S" else a
    return found


def columns(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: a.reshape((*a.shape, 1, 1)[:2]) for name, a in inputs.items()}


def fault(text: str, f: rc.Formula, by: list[str]) -> str:
    """Where a value is not that of the evaluator, or a derivative not what differences say."""
    inputs = drawn(f, np.random.default_rng(random.Random(text).randrange(2**32)))
    value = np.asarray(f(**inputs))
    wanted = program(text, columns(inputs), SIZE)
    if value.size != wanted.size or not np.allclose(value, wanted.reshape(value.shape), rtol=1e-9, atol=1e-9):
        return f"{text}\n{f}\nis not {wanted}"
    for name in by:
        f, below = f.diff(name), f
        wanted = central_differences(below, inputs, name)
        if not np.allclose(f(**inputs), wanted, rtol=1e-5, atol=1e-6):
            return f"{below}\nby {name}:\n{f}"
    return ""


@pytest.mark.parametrize(("text", "declared", "by"), TEXTBOOK, ids=[row[0] for row in TEXTBOOK])
def test_textbook(text, declared, by):
    assert not fault(text, rc.matrix(text, declared), by)


def test_there_are_a_hundred():
    assert len({text for text, _, _ in TEXTBOOK}) >= 100


def test_a_wrong_value_and_a_wrong_derivative_are_found():
    class Wrong(rc.Formula):
        def diff(self, *by, **options):  # type: ignore[override]
            return 2 * rc.Formula.diff(self, *by, **options)

    f = rc.matrix("f = x'*A*x")
    wrong = Wrong(f.expr, f.indices, f.context, f.name)
    assert fault("f = x'*A*x", f, ["x"]) == "" and "by x" in fault("f = x'*A*x", wrong, ["x"])
    assert "is not" in fault("f = x'*A'*x + x'*x", f, ["x"])


# Spellings.


def test_the_line_of_the_documentation():
    f = rc.matrix("f = 1/2*norm2(A*x - b)^2 + lam*x'*x")
    assert f.diff("x").matrix() == "Aᵀ (A x - b) + 2 lam x"
    assert str(rc.matrix("y = A.T @ (A @ x)", "A[m,n] x[n]")) == "y[n] = A[m,n'] A[m,n] x[n']"


MATRIXCALCULUS = [  # the examples of its documentation, what is declared for them, and a derivative
    ("0.5*x'*A*x", "", "x", "1/2 (A + Aᵀ) x"),
    ("A*exp(x)", "", "x", "A diag(exp.(x))"),
    ("(y.*v)'*x", "", "x", "y ⊙ v"),
    ("a^b", "a b", "a", "b a^{b - 1}"),
    ("norm1(A*x-y)", "", "x", "Aᵀ sign.(A x - y)"),
    ("norm2(A*x-y)^2", "", "x", "2 Aᵀ (A x - y)"),
    ("sum(log(exp(-y.*(X*w)) + vector(1)))", "", "w", "-Xᵀ (sigmoid.(-y ⊙ (X w)) ⊙ y)"),
    ("tr(A*X'*B*X*C)", "", "X", "B X C A + Bᵀ X Aᵀ Cᵀ"),
    ("log(det(inv(X)))", "", "X", "-X⁻ᵀ"),
]


@pytest.mark.parametrize(("text", "declared", "by", "wanted"), MATRIXCALCULUS)
def test_examples_of_matrixcalculus(text, declared, by, wanted):
    f = rc.matrix(text, declared)
    shown = f.diff(by).matrix()
    inputs = drawn(f, np.random.default_rng(1))
    names = " ".join(f"{n}: {['scalar', 'vector', 'matrix'][k]}" for n, k in f.context.facts.inputs.items())
    for form in (shown, wanted):
        again = rc.matrix(form, names)
        known = {name: inputs[name] for name in again.context.facts.inputs}
        np.testing.assert_allclose(again(**known), central_differences(f, inputs, by), rtol=1e-6, atol=1e-8)


SAME = [  # one formula in index notation, and in several spellings
    ("f = x[i] A[i,j] x[j]", [
        "f = x'*A*x", "f = x.T @ A @ x", "f = xᵀ A x", "f = x' A x", "f = x.'*A*x", "f = x^T*A*x",
        r"f = x^{\!\top} A x.",
        r"\begin{align*} f &= x^\top A x, \end{align*}",
        r"f = x^\top A x", "f = x^{T} A x", r"f = x^{\top} A x", r"f = \mathbf{x}^\mathsf{T} \mathbf{A} \mathbf x",
        "f = dot(x, A*x)", "f = x.dot(A @ x)", r"f = \langle x, A x \rangle", "f = x.transpose()*A*x",
        "f = x'·A·x", "f = x @ A @ x", "f(x) = x'*A*x", "f(x; A) = x'*A*x",
        r"f(\mathbf x) = \mathbf x^\top A \mathbf x",
        r"f(x \mid A) = x^\top A x", "g(x) := A*x; f = x'*g(x)", "f = 2 ½ x'*A*x", r"f(x) := x^\top A x",
    ]),
    ("f = sum[i]((A[i,j] x[j] - b[i])**2)", [
        "f = norm2(A*x - b)^2", "f = ‖A x - b‖²", "f = ||A x - b||^2", r"f = \lVert A x - b\rVert_2^2",
        r"f = \|A x - b\|^2", r"f = \left\|A x - b\right\|^2_2", "f = sum((A*x - b).^2)",
        "f = np.sum((A @ x - b)**2)", "f = np.linalg.norm(A @ x - b)**2", "f = norm(A*x - b, 2)^2",
        "f = ‖A x − b‖₂²", "f = ((A @ x - b)**2).sum()", "r = A*x - b; f = r'*r",
    ]),
    ("f = A[i,j] X[k,j] B[k,i]", [
        "f = tr(A*X'*B)", "f = trace(A X' B)", "f = np.trace(A @ X.T @ B)", "f = tr(A Xᵀ B)",
        r"f = \operatorname{tr}(A X^\top B)", r"f = \mathrm{tr}\left(A X^{T} B\right)",
        r"f = \text{Tr}(A X^\intercal B)", r"f = \operatorname{Tr}\left[A X^\top B\right]",
        r"f = \operatorname{tr}\{A X^\top B\}",
    ]),
    ("y[i] = 1/2 inv(A)[i,j] b[j]", [
        "y = 1/2*inv(A)*b", "y = ½ A⁻¹ b", r"y = A\b/2", r"y = (A) \ (2\b)",
        "y = 0.5 A^-1 b", "y = A⁻¹ b / 2", "y = A^(-1)*b/2", r"y = \frac{1}{2} A^{-1} b",
        r"y = \frac12 A^{-1} b", r"y = \tfrac 1 2 A^{-1} b", "y = np.linalg.inv(A) @ b / 2",
        r"y = \frac{A^{-1} b}{2}",
    ]),
    ("y[i,j] = A[i,j] B[i,j] / C[i,j]", [
        "Y = A.*B./C", "Y = A ⊙ B ⊘ C", r"Y = A \odot B \oslash C", r"Y = A \circ B \oslash C",
        "Y = np.multiply(A, B) ./ C", "Y = A∘B⊘C",
    ]),
    ("y[i] = 1[j] exp(A[i,j])", [
        "y = exp(A)*vector(1)", "y = exp.(A) 1", "y = rowSum(exp(A))", "y = sum_row(exp(A))",
        r"y = \exp^{\odot}(A) \mathbf{1}", "y = np.exp(A).sum(axis=1)", "y = np.sum(np.exp(A), axis=1)",
        "y = np.exp(A).sum(-1)",
    ]),
    ("f = 2 pi δ x[i] x[i]", ["f = 2*π*δ*x'*x", r"f = 2 \pi \delta x^\top x"]),
    ("f = logdet(A)", [
        "f = logdet(A)", "f = log|A|", r"f = \log|A|", r"f = \log\left|A\right|", r"f = \log \lvert A \rvert",
    ]),
    ("f = log(det(A)) + B[i,i]", [
        "f = log det(A) + tr(B)", r"f = \log\det A + \operatorname{tr} B", r"f = \ln\det(A) + \operatorname{Tr}[B]",
    ]),
    ("u[i] = maximum(x[i] y[i], 0) sigmoid(z[i])", [
        "u = max(x.*y, 0).*σ(z)", "u = np.maximum(x * y, 0) * σ(z)", r"u = \max(0, x \odot y) \odot \sigma(z)",
    ]),
    ("f = det(A)", [
        "f = det(A)", "f = |A|", r"f = \det(A)", "f = np.linalg.det(A)",
    ]),
    ("y[i] = x[i]**3 + 1[i]", [
        "y = x.^3 + 1", "y = x**3 + 1", "y = x^{⊙3} + vector(1)", r"y = x^{\odot 3} + \mathbf{1}",
    ]),
    ("f = lambda x[i] y[i]", [
        "f = lambda*x'*y", r"f = \lambda x^\top y", "f = lambda (x'*y)",
    ]),
    ("y[i,j] = x[i] z[j] + 2 delta[i,j]", [
        "Y = x*z' + 2*eye", "Y = outer(x, z) + 2*I", "Y = x zᵀ + 2 I", r"Y = x z^\top + 2 \mathbf{I}",
        r"Y = x z^\top + 2 I_n",
    ]),
    ("y[i,j] = softmax[j](A[i,j])", [
        "Y = softmax_row(A)", "Y = softmax(A, axis=1)", r"Y = \operatorname{softmax}_{\mathrm{row}}(A)",
    ]),
    ("y[i] = (x[i] > 0) x[i]", [
        "y = [x > 0] ⊙ x", "y = (x > 0) .* x", r"y = \left[x > 0\right] \odot x",
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "spelled"), [(text, one) for text, several in SAME for one in several])
def test_spellings(text, spelled):
    wanted, found = rc.parse(text), rc.matrix(spelled)
    found = found.rename(dict(zip(found.indices, wanted.indices, strict=True)))
    assert found == wanted, f"{found} is not {wanted}"


def test_names():
    f = rc.matrix("Ȳ*x̂ + α*β_1*y + w_hh .* (Sigma*z)")
    assert f.variables == ("Y_bar", "x_hat", "α", "β_1", "y", "w_hh", "Sigma", "z")
    assert f.context.facts.inputs["α"] == 0 and f.context.facts.inputs["Sigma"] == 2
    assert rc.matrix(r"\hat{x}_1^\top \Sigma \boldsymbol{y} + \mathrm{lam}").variables == (
        "x_hat_1",
        "Sigma",
        "y",
        "lam",
    )


def test_declarations():
    f = rc.matrix("f = a*x'*S*x + tr(B)", "a x[p] S: symmetric B[p,p]")
    assert f.context.facts.inputs == {"a": 0, "x": 1, "S": 2, "B": 2}
    assert f.diff("x") == rc.parse("f = a x[p] S[p,q] x[q] + B[p,p]", symmetric="S").diff("x[p]")
    assert str(f.diff("x", "x")).endswith("= 2 a S[p,p']")
    assert rc.matrix("y = A + A'", "y[u,v]").indices == ("u", "v")
    assert rc.matrix("f = x'*I*x", "I: matrix").variables == ("x", "I")
    assert rc.matrix("f = norm2(x)/|n|", "x[n]")(x=np.array([3.0, 4.0])) == 2.5
    assert rc.matrix("y = 0", "y[n]").order == 1


def test_results():
    """A row is a vector; rows and columns of pairs are four indices; shapes of names hold between statements."""
    assert rc.matrix("y = x'*A") == rc.matrix("y = A'*x")
    assert rc.matrix("Y = A ⊗ B", "Y[i,k,j,l]") == rc.parse("Y[i,k,j,l] = A[i,j] B[k,l]")
    assert rc.matrix("Y = K", "Y[i,k,j,l]") == rc.parse("Y[i,k,j,l] = delta[i,l] delta[k,j]")
    f = rc.matrix("r = A*x - b; f = r'*r; g = f^2")
    assert f["r"].order == 1 and f["f"].order == 0 and f.name == "g"
    assert rc.matrix("r = x'*A; f = r*y") == rc.matrix("f = x'*A*y")
    assert rc.matrix("v = vec(A); f = v'*v") == rc.matrix("f = norm2(A)^2")
    assert rc.matrix("v = vec(A)", "A[m,n]")(A=np.arange(6.0).reshape(2, 3)).tolist() == [0, 1, 2, 3, 4, 5]
    assert pickle.loads(pickle.dumps(f)) == f and pickle.loads(pickle.dumps(f)).diff("r") == f.diff("r")


def test_text_of_a_matrix_program_is_read_again():
    """For derivatives by a name that it defines, for derivations, and where sizes come later."""
    f = rc.matrix("r = A*x - b; f = r'*r")
    assert f.diff("r") == rc.parse("r[i] = A[i,j] x[j] - b[i]; f = r[i] r[i]").diff("r")
    assert str(f.diff("x").derivation()).startswith("  1. r[i] = A[i,j] x[j] - b[i]\n     f = r[i] r[i] ")
    assert rc.matrix("f = sum(vector(1))")(sizes={"i": 4}) == 4
    assert rc.matrix("f = sum(x)", sizes={"i": 2})(x=np.ones(2)) == 2


def test_functions_of_the_users():
    own = ["point", "g"]
    f = rc.matrix("f = sum(point(A*x)) + sum(g(A*x, y))", functions=own)
    assert f == rc.parse("f = sum[i](point(A[i,j] x[j])) + sum[i](g(A[i,j] x[j], y[i]))", functions=own)
    derived = f.diff("x")
    assert derived.matrix() == "Aᵀ (point'.(A x) + g_1.(A x, y))"
    for latex in (False, True):
        again = rc.matrix(derived.matrix(latex), functions=own)
        assert again.rename(dict(zip(again.indices, derived.indices, strict=True))) == derived
    given = {"A": np.eye(2), "x": np.ones(2), "y": np.zeros(2)}
    np.testing.assert_allclose(derived(**given, point=rc.sin, g=lambda a, b: a * b), np.cos([1, 1]))
    with pytest.raises(rc.NotationError, match="primes do not tell"):
        rc.matrix("y = g'(x, y)", functions=own)
    assert rc.matrix("y = mine(A*x)", functions={"mine": lambda z: z**2})(A=np.eye(2), x=np.ones(2)).tolist() == [1, 1]


# What is refused.

REFUSED = [  # text, declarations, what stands over the carets, words of the message and of the hint
    ("A*x", "A[m,n] x[k]", "*", "A is m×n, x is k×1", ""),
    ("A*x", "A[m,n] x[m]", "*", "A is m×n, x is m×1", "Write A'*x"),
    ("A*B", "A[m,n] B[k,n]", "*", "A is m×n, B is k×n", "A*B'"),
    ("x*y", "x[n] y[n]", "*", "x is n×1, y is n×1", "Write x'*y for the sum of the products, x*y' for their matrix"),
    ("x' A y z", "A[m,n] x[m] y[n] z[m,n]", None, None, None),
    ("A x", "A[m,n] x[m]", "x", "cannot be multiplied", "A'*x"),
    ("A @ x'", "", "@", "x' is 1×", "A*x"),
    ("A + x", "", "+", "cannot be added", "x*vector(1)'"),
    ("A + B", "A[m,n] B[n,m]", "+", "A is m×n, B is n×m", "B'"),
    ("x + y'", "x[n] y[n]", "+", "y' is 1×n", "Write y for y'"),
    ("x - lam", "", "-", "lam is a scalar", "vector(lam)"),
    ("A + 1", "", "+", "1 is a scalar", "matrix(1), to the diagonal I"),
    ("x.*A", "", ".*", "entry by entry", "diag(x)*A"),
    ("A.*B", "A[m,n] B[n,m]", ".*", "multiplied entry by entry: A is m×n, B is n×m", "B'"),
    ("x/y", "", "/", "Only a scalar divides", "x./y"),
    ("A/B", "B[n,n]", "/", "Only a scalar divides", "B^{-1}"),
    ("x^2", "", "^", "^ raises scalars and square matrices", "x.^2"),
    ("A^2", "A[m,n]", "A", "square", "A[n,n]"),
    ("A^0.5", "", "0.5", "whole numbers", "A.^0.5"),
    ("A**2", "", "**", "two readings", "A.^2"),
    ("s^2^3", "s", "^", "has a bracket", ""),
    ("inv(A)", "A[m,n]", "A", "takes a square matrix: A is m×n", ""),
    ("tr(A*B)", "A[m,n] B[n,k]", "A*B", "A*B is m×k", ""),
    ("det(x)", "", "x", "takes a square matrix", "diag(x)"),
    ("softmax(A)", "", "softmax(A)", "along its rows or its columns", "softmax_row(A)"),
    ("norm(A)", "", "norm(A)", "several meanings", "norm2(A)"),
    ("‖A‖", "", "‖A‖", "several meanings", "norm2(A)"),
    ("sum(A, 1)", "", "sum(A, 1)", "takes one argument", "sum_row(A)"),
    ("np.max(x, 0)'*max(x, y, 0)", "", "max(x, y, 0)", "takes one argument", "maximum(x, y)"),
    ("foo(x)", "", "foo", "no function 'foo'", "foo*(…)"),
    ("norm3(x)", "", "norm3", "no function 'norm3'", "Did you mean 'norm"),
    ("sin x", "", "sin", "is a function", "sin(x)"),
    ("x[1]", "", "[", "no indices", "rc.parse"),
    ("[1, 2; 3, 4]", "", "[", "not closed before ';'", ""),
    ("[x]", "", "[", "for comparisons", "input"),
    ("x > 0", "", ">", "in brackets", "[x > 0]"),
    ("f(x + y) = x'*x", "", "f(x + y) ", "left side of '=' is a name", "f = …"),
    ("f(x) = x'*x; g = f(y)", "", "f", "'f' is defined as f(x)", "by another name"),
    ("f(x; y", "", "(", "never closed", ""),
    ("y = 2½ x", "", "½", "no meaning", "2*½"),
    ("log det(S) s", "", "log", "not seen how far log goes", "log(det(S))"),
    (r"\operatorname{tr} A B", "", r"\operatorname{tr}", "not seen how far", r"\operatorname{tr}(A)"),
    (r"\frac{x}{\sqrt{d_k}}", "", r"\frac{x}", "Only a scalar divides", "d_k: scalar"),
    ("x' = y", "", "x' ", "left side of '=' is a name", ""),
    ("f = x; f = y", "", "f", "already defined", ""),
    ("y = x; x = y", "", "x", "already used as an input", ""),
    ("a = b = c", "", "=", "does not belong here", "[x == y]"),
    ("x +", "", "+", "nothing after '+'", ""),
    ("x * / y", "", "/", "missing before '/'", ""),
    ("(A*x", "", "(", "never closed", ""),
    ("A*x)", "", ")", "never opened", ""),
    ("‖x", "", "", "never closed", ""),
    ("x 2", "", "2", "A number stands before", ""),
    ("|x|", "x", None, None, None),
    ("|x|", "", "x", "no declared index", "abs(x)"),
    ("|A*x|", "", "|A*x|", "two meanings", "norm2(A*x)"),
    ("n*x", "x[n]", "n", "declared as an index", "|n|"),
    ("vec(A)*x'*vec(B)", "", "*", "cannot be multiplied", ""),
    ("A*vec(B)", "A[m,n]", "*", "cannot be multiplied", ""),
    ("delta*x", "", "delta", "no name of a tensor", "δ"),
    ("if*x", "", "if", "no name of a tensor", ""),
    ("A × B", "", "×", "no meaning", "*"),
    ("x % y", "", "%", "no meaning", ""),
    ("y = A*x", "A[m,n] y: matrix", "A*x", "declared a matrix", ""),
    ("y = A*x", "A[m,n] y[n]", "A*x", "index 'n' of y has another size", ""),
    (r"\sum_i x_i", "", r"\sum", "no meaning here", "rc.parse"),
    (r"A \times B", "", r"\times", "no meaning here", r"\cdot"),
    (r"\frac{a}", "", r"\frac{a}", "argument is missing", ""),
    (r"\log(A)", "", r"\log(A)", "two readings", r"\log^{\odot}"),
    (r"x^10 \alpha", "", "10", "one digit alone", "^{10}"),
    (r"x^\top (A + B", "", "(", "never closed", ""),
    (r"\foo x", "", r"\foo", "no meaning here", r"\operatorname{foo}"),
    ("", "", "", "no statement", "x'*A*x"),
    ("x'*x", "x[3]", None, "'3' is no index", "sizes="),
    ("x'*x", "x[n", None, "declares no name", "A[m,n]"),
    ("x'*x", "x[n] x", None, "declared twice", ""),
    ("x'*S*x", "S: symetric", None, "says nothing of a matrix", "symmetric"),
    ("x'*S*x", "x[n]: symmetric", None, "do not go together", ""),
    ("x'*x", "x[i,j,k]", None, "declared with 3", "rc.parse"),
]


@pytest.mark.parametrize(("text", "declared", "under", "message", "hint"), REFUSED)
def test_refused(text, declared, under, message, hint):
    if message is None:
        assert rc.matrix(text, declared).expr is not None
        return
    with pytest.raises(rc.NotationError) as caught:
        rc.matrix(text, declared)
    error = caught.value
    assert message in error.message and hint in error.hint, str(error)
    if under is not None:
        assert error.text[error.start : error.end] == under, str(error)


def test_bold_greek_letters_are_columns():
    f = rc.matrix(r"f = (\mathbf{x} - \boldsymbol{\mu})^\top \boldsymbol{\Sigma}^{-1} (\mathbf{x} - \boldsymbol\mu)")
    assert f == rc.matrix("f = (x - mu)'*inv(Sigma)*(x - mu)", "mu: vector")
    with pytest.raises(rc.NotationError, match="'mu: vector'"):
        rc.matrix(r"f = (x - \mu)^\top (x - \mu)")


def test_the_larger_of_two_in_latex():
    f = rc.matrix("y = maximum(0, A*x)*maximum(s, 0)", "s")
    assert rc.matrix(r"y = \max(0, A x) \max(s, 0)", "s") == f == rc.matrix("y = " + f.matrix(True), "s")
    assert rc.matrix(r"y = \max(x) + \min(x)") == rc.matrix("y = max(x) + min(x)")


def test_what_python_would_take_otherwise_is_said():
    with pytest.warns(rc.ReadingWarning, match="Ax is one name"):
        rc.matrix("f = xᵀAx")
    with pytest.warns(rc.ReadingWarning, match=r"A \* B is read as the product of matrices"):
        rc.matrix("f = np.sum(A * B)")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rc.matrix("Y = (A @ B)**2") == rc.matrix("Y = (A*B).^2")
        rc.matrix("f = 2 * x.T @ x")


# Random texts, and faults in them.

NAMES = {"A": "mn", "B": "nk", "C": "mm", "x": "n", "y": "m", "z": "k", "s": "", "t": ""}
SIZES = {"m": 2, "n": 3, "k": 4}
DECLARED = " ".join(f"{name}[{','.join(own)}]" if own else name for name, own in NAMES.items())
BINARY = ["{}*{}"] * 5 + ["{}.*{}", "{}./{}", "{} + {}", "{} - {}", "{}/{}", "{} {}", "{} ⊙ {}"]
UNARY = ["{}'"] * 4 + ["exp({})", "sum({})", "norm2({})^2", "tr({})", "diag({})", "sigmoid({})", "-{}", "2*{}", "{}.^2"]
UNARY += [
    "det({})",
    "inv({})",
    "rowSum({})",
    "colSum({})",
    "maximum({}, 0)",
    "1 + {}",
    "{}^2",
    "softmax_row({})",
    "s*{}",
]


def random_text(rng: random.Random, depth: int) -> str:
    if not depth:
        return rng.choice([*NAMES, "A", "B", "C", "x", "y"])
    own = [random_text(rng, rng.randrange(depth)) for _ in range(2)]
    form = rng.choice(BINARY if rng.random() < 0.6 else UNARY)
    inside = [part if part in NAMES or "({})" in form or "({}," in form else f"({part})" for part in own]
    return form.format(*inside)


def says(text: str, inputs: dict[str, np.ndarray]) -> np.ndarray | None:
    """The value of a text, or None where its shapes do not fit."""
    try:
        return program(text, columns(inputs), SIZE)
    except Misfit:
        return None


def test_random_texts():
    """What the evaluator computes is read, with its value, and again from ``.matrix()``; nothing else is read."""
    rng, draw = random.Random(5), np.random.default_rng(5)
    inputs = {n: draw.uniform(0.3, 0.9, [SIZES[i] for i in own]) for n, own in NAMES.items()}
    inputs["C"] = inputs["C"] + np.eye(2)
    fits = refused = again = 0
    for _ in range(700):
        text = random_text(rng, rng.randint(1, 4))
        with np.errstate(all="ignore"):
            wanted = says(text, inputs)
        try:
            f = rc.matrix(text, DECLARED)
        except rc.NotationError as error:
            assert wanted is None, f"{text}\n{error}"
            assert error.text == text and 0 <= error.start < error.end <= len(text) + 1
            refused += 1
            continue
        assert wanted is not None, text
        fits += 1
        found = value(f, inputs, SIZES)
        np.testing.assert_allclose(found, wanted.reshape(found.shape), rtol=1e-7, atol=1e-9, err_msg=text)
        try:
            shown = f.matrix()
        except rc.RuleError:
            continue
        again += 1
        g = rc.matrix(f"result = {shown}", f"{DECLARED} result{_brackets(f.indices)}")
        sizes = {**SIZES, **dict(zip(f.indices, found.shape, strict=True))}
        np.testing.assert_allclose(value(g, inputs, sizes), found, rtol=1e-7, atol=1e-9, err_msg=shown)
    assert fits > 200 and refused > 200 and again > 0.9 * fits


def value(f: rc.Formula, inputs: dict[str, np.ndarray], sizes: dict[str, int]) -> np.ndarray:
    """The value; sizes are given where nothing tells them but the text that a formula was written from."""
    known = {name: inputs[name] for name in f.context.facts.inputs}
    needed: dict[str, int] = {}
    while True:
        try:
            with np.errstate(all="ignore"):
                return np.asarray(f(**known, sizes=needed))
        except rc.InputError as error:
            name = re.search(r"size of index '(\w+)'", str(error))
            if name is None or name[1] not in sizes or name[1] in needed:
                raise
            needed[name[1]] = sizes[name[1]]


def _brackets(indices: tuple[str, ...]) -> str:
    return f"[{','.join(indices)}]" if indices else ": scalar"


def test_planted_faults_of_order_are_found():
    """A name of another order, or a transpose, in a text that fits: refused exactly where shapes do not fit."""
    rng, draw = random.Random(6), np.random.default_rng(6)
    inputs = {n: draw.uniform(0.3, 0.9, [SIZES[i] for i in own]) for n, own in NAMES.items()}
    found = harmless = 0
    while found + harmless < 250:
        text = random_text(rng, 3)
        places = list(re.finditer(r"\b[ABCxyzst]\b", text))
        if says(text, inputs) is None or not places:
            continue
        match = rng.choice(places)
        fault = rng.choice([f"{match[0]}'", *NAMES])
        broken = text[: match.start()] + fault + text[match.end() :]
        fits = says(broken, inputs) is not None
        try:
            rc.matrix(broken, DECLARED)
            assert fits, broken
            harmless += 1
        except rc.NotationError:
            assert not fits, broken
            found += 1
    assert found > 50


def test_texts_with_faults_are_errors_of_ricci():
    rng = random.Random(7)
    texts = [(text, declared) for text, declared, _ in TEXTBOOK] + [(one, "") for _, several in SAME for one in several]
    read = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rc.ReadingWarning)
        for _ in range(900):
            text, declared = rng.choice(texts)
            for _ in range(rng.randint(1, 3)):
                at = rng.randrange(len(text) + 1)
                text = (
                    text[:at]
                    + rng.choice(["", "", "", *"()[]{}'*.^/|‖+-=;,1xA\\_ᵀ²⊗@ "])
                    + text[at + rng.randint(0, 2) :]
                )
            try:
                rc.matrix(text, declared)
                read += 1
            except rc.RicciError as error:
                assert str(error)
    assert 50 < read < 800


def test_depth_and_length():
    assert rc.matrix("f = " + "+".join(["x'*x"] * 2000)) == rc.matrix("f = 2000*x'*x")
    assert rc.matrix("f = x'*" + "A*" * 400 + "x").order == 0
    assert rc.matrix("f = " + "exp(" * 35 + "s" + ")" * 35, "s").order == 0
    assert rc.matrix("y = " + "tanh(A*(x + " * 15 + "x" + "))" * 15).order == 1
    with pytest.raises(rc.NotationError, match="nested"):
        rc.matrix("f = " + "(" * 50 + "s" + ")" * 50, "s")


CHAINS = ["A'", "A.T", "A.T.T'", r"A^\top", "A⁺", "A⁻¹", "A⊗A", "A•A", "(A)", "[A > A]", "|A|", "‖A‖", "inv(A)"]
CHAINS += [r"\left|A\right|"]
CHAINS += ["A^{A}", r"\frac{1}{A}", r"\hat{A}", "A'⁻¹", "A .* A", "A ./ A", "A - -A", "-A", "trace(A)", "A.sum()"]


@pytest.mark.parametrize("one", CHAINS)
def test_no_chain_of_signs_overflows_the_stack(one):
    before, after = one.split("A")[0], one[one.index("A") + 1 :]
    text = before * 3000 + "A" + after * 3000
    try:
        assert rc.matrix(text, "A[i,i]").indices is not None
    except rc.NotationError as error:
        assert "nested more than" in str(error) or "^" in str(error), error


def test_the_deepest_that_is_read_is_written_too():
    short, deep = ["A" + "⁻¹" * n for n in (60, 100)]
    assert rc.matrix(short, "A[i,i]").order == 2
    with pytest.raises(rc.NotationError, match="nested more than 100 deep") as caught:
        rc.matrix(deep, "A[i,i]")
    assert caught.value.start == len(deep) - 2
    assert rc.matrix("|" * 40 + " s " + "|" * 40, "s").order == 0
    with pytest.raises(rc.NotationError, match="Brackets and bars are nested more than 40 deep here") as caught:
        rc.matrix("| " * 3000 + "s" + " |" * 3000, "s")
    assert caught.value.start == 80


def test_transposes_of_transposes_are_none():
    for n in range(6):
        even = rc.matrix("A" + "'" * n, "A[m,n]")
        assert even.expr is rc.matrix("A'" if n % 2 else "A", "A[m,n]").expr
    assert rc.matrix("f = trace((A + B)''*C)").expr is rc.matrix("f = trace((A + B)*C)").expr


# What ``.matrix()`` writes.


def declared_of(f: rc.Formula, kinds: dict[str, str], shown: str) -> list[str]:
    """Declarations for the names of a formula: by orders alone, or by the sizes of a row of identities."""
    inputs = f.context.facts.inputs
    words = " ".join(f"{n}: {['scalar', 'vector', 'matrix'][k]}" for n, k in inputs.items() if k < 3)
    sizes = {name: kind.split()[-inputs.get(name, 0) :] for name, kind in kinds.items()}
    known: dict[str, list[str]] = {}
    for index, axes in f.context.facts.groups:
        for name, axis in axes:
            if axis < len(sizes.get(name, ())):
                known.setdefault(sizes[name][axis], []).append(index)
    mentioned = re.findall(r"\|(\w+)\|", shown)
    best = {size: next((i for i in own if i in mentioned), own[0]) for size, own in known.items()}
    named = " ".join(
        n + (f"[{','.join(best.get(size, size + '_') for size in sizes[n][:k])}]" if k else "")
        for n, k in inputs.items()
    )
    return [words, named]


def read_back(f: rc.Formula, kinds: dict[str, str], latex: bool) -> rc.Formula:
    shown = f.matrix(latex)
    left, fault = r"\mathrm{result} = " if latex else "result = ", None
    for declared in declared_of(f, kinds, shown):
        try:
            return rc.matrix(left + shown, f"{declared} result{_brackets(f.indices)}")
        except rc.NotationError as error:
            fault = fault or error
    raise fault or AssertionError


ROWS = list(identities())


@pytest.mark.sampled(6)
@pytest.mark.parametrize("part", range(6))
def test_identities_read_back(part):
    """What is written of the functions and derivatives of the library has their value when it is read."""
    written = 0
    for row in ROWS[part::6]:
        forms = [row.function()]
        if row.expected is not None:
            forms.append(row.derivative())
        point = next(iter(cases(row)))
        for f in forms:
            for latex in (False, True):
                try:
                    f.matrix(latex)
                except rc.RuleError:
                    continue
                g = read_back(f, dict(row.inputs), latex)
                written += 1
                if g != f:
                    wanted = np.asarray(f(**point))
                    axes = [(i, np.shape(point[name])[a]) for i, own in f.context.facts.groups for name, a in own]
                    sizes = dict(axes) | dict(zip(f.indices, wanted.shape, strict=True))
                    shown = f.matrix(latex)
                    np.testing.assert_allclose(value(g, point, sizes), wanted, rtol=1e-8, atol=1e-10, err_msg=shown)
    assert written > 120


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("H = D(D(x'*A*x, x), x)", "H = A + A'"),
        ("y = D(tr(A*X), X)", "y = A'"),
        ("y = A*x; J = D(y, x)", "J = A"),
        ("y = A*x; t = tr(dy_dx)", "t = tr(A)"),
        ("f = x'*x; g = ∂f/∂x", "g = 2*x"),
        (r"f = x^\top x \\ g = \frac{\partial f}{\partial x}", "g = 2*x"),
        (r"f = x^\top x \\ g = \nabla_x f", "g = 2*x"),
        ("y = x*s; z = D(y, s)", "z = x"),
    ],
)
def test_derivatives_in_a_text(text, meant):
    declared = "s" if "s" in text.split("=")[1] and "x*s" in text else ""
    found, wanted = rc.matrix(text, declared), rc.matrix(meant, declared)
    assert found.matrix() == wanted.matrix()


def test_a_matrix_may_be_called_d():
    assert str(rc.matrix("y = D*x")) == "y[i] = D[i,j] x[j]"
    assert str(rc.matrix("y = D (A x)")).count("D[") == 1
    with pytest.raises(rc.NotationError, match="by a name"):
        rc.matrix("y = D(x'*x, A*x)")
