"""Mistakes of people who come from other languages: what they write, what the message says to write, what was meant.

``python tests/mistakes.py`` (with ``src`` on the path) writes ``docs/errors.md`` anew.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import ricci as rc
import ricci.einops

PAGE = Path(__file__).resolve().parent.parent / "docs" / "errors.md"
HEAD = """# What goes wrong, and what the messages say

Texts and calls as people write them who come from other languages, each with the message that it gets. What a message
says to write is tried by a test, and gives what was meant. All that ricci raises on purpose is an `rc.RicciError` and
the built-in exception that fits; a text with two readings is read by the rules of [the notation](notation.md), with
an `rc.ReadingWarning` that shows both.
"""


@dataclass(frozen=True)
class Mistake:
    """``wrong``, a text or a call; ``said``, a part of its message; ``right``, what is written then (``said`` itself,
    if it is empty), and ``meant``, the value in NumPy."""

    language: str
    wrong: str
    said: str
    meant: str
    right: str = ""
    inputs: str = ""  # names of the text that are given other arrays: ``x=A``

    @property
    def is_call(self) -> bool:
        return self.wrong.endswith(")") and self.wrong.startswith(("f", "rc.", "ricci."))


def arrays() -> dict:
    rng = np.random.default_rng(0)
    square = rng.normal(size=(3, 3))
    found = {"A": square @ square.T + np.eye(3), "B": rng.normal(size=(3, 3)), "X": rng.normal(size=(4, 3))}
    found |= {name: rng.uniform(0.5, 1.5, 3) for name in "abxym"}
    found |= {"s": 0.7, "t": 1.3, "alpha": 0.2, "s_hat": 0.4, "C": rng.normal(size=(2, 3))}
    return {**found, "np": np, "rc": rc, "ricci": ricci, "f": rc.parse("l = X[m,n] x[n] X[m,k] x[k]")}


def rows(language: str, *cases: tuple[str, ...]) -> list[Mistake]:
    return [Mistake(language, *case) for case in cases]


MISTAKES = [
    *rows(
        "LaTeX",
        (r"y = \log s t", r"\log(s)", "np.log(s) * t", r"y = \log(s) t"),
        (r"y = s^2/t \, s", r"\frac{a}{b} c", "s**3 / t", r"y = \frac{s^2}{t} s"),
        (r"y = \sum_i x_i + a_i", r"\sum_{i} (…)", "(x + a).sum()", r"y = \sum_i (x_i + a_i)"),
        (r"y = \prod_i x_i s", r"\left(\prod_i x_i\right) y", "np.prod(x) * s", r"y = \left(\prod_i x_i\right) s"),
        (r"y_j = A^\top x", "x_i A_{ij} x_j", "A.T @ x", r"y_j = A_{ij} x_i \,"),
        (r"y = \lVert A x \rVert", "rc.matrix", "np.linalg.norm(A @ x)", r"y = \lVert A_{ij} x_j \rVert"),
        (r"y = \phi(s)", r"\phi \cdot (…)", "s * s", r"y = \phi \cdot (s)", r"\phi=s".replace("\\", "")),
        (r"y = A_{ij}^{-1} x_i x_j \,", r"A^{-1}_{ij}", "x @ np.linalg.inv(A) @ x", r"y = A^{-1}_{ij} x_i x_j \,"),
        (r"y_{ij} = A_{ij} + b_j \,", r"\mathbf{1}_{i} …", "A + b", r"y_{ij} = A_{ij} + \mathbf{1}_i b_j"),
        (r"y = x_i \odot a_i", r"y_i = a_i \odot b_i", "x * a", r"y_i = x_i \odot a_i"),
        (r"y = \alpha s**2", "x^{2}", "alpha * s**2", r"y = \alpha s^{2}"),
        (r"y = \mathbb{E}[x_i]", r"\operatorname{mean}_i(x_i)", "x.mean()", r"y = \operatorname{mean}_i(x_i)"),
        (
            r"y_k = \nabla l",
            r"\frac{\partial f}{\partial x_i}",
            "2 * x",
            r"y_k = \frac{\partial}{\partial x_k}(x_i x_i)",
        ),
        ("y = e^s", "exp(s)", "np.exp(s)"),
        ("y[i] = e^(x[i])", "y[i] = exp(x[i])", "np.exp(x)"),
        ("y = s^t", "s**t", "s**t"),
        ("y[j] = A^T x", "A[i,j] x[i]", "A.T @ x"),
        ("A^{-1}", "inv(A)[i,j]", "np.linalg.inv(A)"),
        ("y = ||x||", "norm(x)", "np.linalg.norm(x)"),
        ("y[i] = |x[i] - 1|", "abs(x[i] - 1)", "abs(x - 1)"),
        ("y = sin^2(s)", "sin(s)**2", "np.sin(s) ** 2"),
        ("C_ik = A_ij B_jk", "C[i,k] = A[i,j] B[j,k]", "A @ B"),
        ("y[i] = x_i", "y[i] = x[i]", "x"),
        ("e^s", "exp(s)", "np.exp(s)"),
        ("y = e^s / (1 + e^s)", "exp(s)", "np.exp(s) / (1 + np.exp(s))", "y = exp(s)/(1 + exp(s))"),
        ("y = t e^{-s}", "exp(-s)", "t * np.exp(-s)", "y = t exp(-s)"),
        ("y = $s$", "Leave out the dollar signs", "s", "y = s"),
        ("y = d/ds s**2", "y = D(s**2, s)", "2 * s"),
    ),
    *rows(
        "Index notation",
        ("y[i] = x[i]/sqrt(x[i] x[i])", "y[i] = x[i]/sqrt(x[k] x[k])", "x / np.linalg.norm(x)"),
        ("p[i] = exp(x[i])/(1[i] exp(x[i]))", "p[i] = exp(x[i])/(1[k] exp(x[k]))", "np.exp(x) / np.exp(x).sum()"),
        ("y[i] = x[i] - 1/|i| 1[i] x[i]", "y[i] = x[i] - 1/|i| 1[k] x[k]", "x - x.mean()", "", ""),
        (
            "l = (y[i] - B[i,k] m[k]) A[i,j] (y[j] - B[j,k] m[k])",
            "l = (y[i] - B[i,k] m[k]) A[i,j] (y[j] - B[j,k'] m[k'])",
            "(y - B @ m) @ A @ (y - B @ m)",
        ),
        (
            "l = exp(s - a[k] b[k]) (t - x[k] m[k])",
            "l = exp(s - a[k] b[k]) (t - x[j] m[j])",
            "np.exp(s - a @ b) * (t - x @ m)",
        ),
        ("l = a[k] b[k]/(x[k] m[k])", "l = a[k] b[k]/(x[j] m[j])", "(a @ b) / (x @ m)"),
        ("y[i,j] = A[i,j] + b[j]", "1[i] *", "A + b", "y[i,j] = A[i,j] + 1[i] b[j]"),
        ("y = x[i]**2", "sum[i](", "(x**2).sum()", "y = sum[i](x[i]**2)"),
    ),
    *rows(
        "MATLAB",
        ("X'*X", "X[i,j] X[i,k]", "X.T @ X"),
        ("l = x'*A*x", "x[i] A[i,j] x[j]", "x @ A @ x"),
        ("A.*B", "y[i,j] = A[i,j] B[i,j]", "A * B"),
        ("A./B", "y[i,j] = A[i,j]/B[i,j]", "A / B"),
        ("x.^2", "x[i]**2", "x**2"),
        ("A\\b", r"\operatorname{solve}(A, b)_{j}", "np.linalg.solve(A, b)"),
        ("y = x(3)", "x[2]", "x[2]"),
        ("y = A(1,2)", "A[0,1]", "A[0, 1]"),
        ("y = trace(A*B)", "trace[i,k](A[i,j] B[j,k])", "np.trace(A @ B)"),
        ("y = norm(x, 2)", "norm(x)", "np.linalg.norm(x)"),
        ("y = A(:,1)", "A[i,0]", "A[:, 0]", "y[i] = A[i,0]"),
        ("y = 3,5 s", "3.5", "3.5 * s", "y = 3.5 s"),
    ),
    *rows(
        "NumPy",
        ("x.T @ A", "x[i] A[i,j]", "x.T @ A"),
        ("A @ B @ x", "A[i,j] B[j,k] x[k]", "A @ B @ x"),
        ("x @ y", "x[i] y[i]", "x @ y"),
        ("y = np.exp(s)", "exp(s)", "np.exp(s)"),
        ("y = np.dot(a, b)", "a[i] b[i]", "np.dot(a, b)"),
        ("y = x.sum()", "sum(x)", "x.sum()"),
        ("y = sum(A, axis=0)", "sum[i](x[i,j])", "A.sum(axis=0)", "y[j] = sum[i](A[i,j])"),
        ("y[i] = A[:, 0]", "A[i,0]", "A[:, 0]", "y[i] = A[i,0]"),
        ("A[i][j]", "A[i,j]", "A"),
        ("y = np.sum(X, axis=0)", "sum[i](X[i,j])", "X.sum(axis=0)", "y[j] = sum[i](X[i,j])"),
        ("y = mean(X, 1)", "mean[j](X[i,j])", "X.mean(1)", "y[i] = mean[j](X[i,j])"),
        ("y = a.dot(b)", "a[i] b[i]", "a @ b"),
        ("y = <a, b>", "a[i] b[i]", "a @ b"),
        ("y = s % t", "mod(a, b)", "s % t", "y = mod(s, t)"),
        ("y = s // t", "floor(s/t)", "s // t"),
        ("y = s if s > 1 else t", "where(condition, a, b)", "t", "y = where(s > 1, s, t)"),
        ("y = (s > 0) and (t > 2)", "(a > 0) * (b > 0)", "0.0", "y = (s > 0) * (t > 2)"),
        ("y = sum(x[i] for i in range(3))", "sum[i](", "x.sum()", "y = sum[i](x[i])"),
        ("y = max(s, t)", "maximum(s, t)", "max(s, t)"),
        ("y = sum(x[i]**2)", "sum[i](x[i]**2)", "(x**2).sum()"),
        ("y[i] = softmax(x[i])", "softmax[i](x[i])", "np.exp(x) / np.exp(x).sum()", "y[i] = softmax[i](x[i])"),
        ("f(X, x)", "f(X=…, x=…)", "(X @ x) @ (X @ x)", "f(X=X, x=x)"),
        ("f.subs(x=1)", "f(x=…)", "(X @ x) @ (X @ x)", "f(X=X, x=x)"),
        ('f.grad("x")', 'f.diff("x")', "2 * X.T @ X @ x", 'f.diff("x")(X=X, x=x)'),
        ("rc.grad(lambda x: x.pow(2).sum())(x)", "x ** n", "2 * x", "rc.grad(lambda x: (x ** 2).sum())(x)"),
        (
            "rc.grad(lambda x: x.unsqueeze(0).sum())(x)",
            "np.expand_dims(x, axis)",
            "np.ones(3)",
            "rc.grad(lambda x: np.expand_dims(x, 0).sum())(x)",
        ),
        (
            "rc.grad(lambda x: x.sum() if x[0] > 0 else 0 * x.sum())(x)",
            "rc.where(condition, a, b)",
            "np.ones(3)",
            "rc.grad(lambda x: rc.where(x[0] > 0, x.sum(), 0))(x)",
        ),
    ),
    *rows(
        "SymPy",
        ("ln(s)", "log(s)", "np.log(s)"),
        ("Tr(A)", "tr(A)", "np.trace(A)"),
        ("Abs(s)", "abs(s)", "abs(s)"),
        ("Sum(x[i], (i, 1, n))", "sum[i](x[i])", "x.sum()"),
        ("diff(s**2, s)", "D(s**2, s)", "2 * s"),
        ("Max(s, t)", "maximum(s, t)", "max(s, t)"),
        ("Rational(1, 2) s", "1/2", "s / 2", "1/2 s"),
        ("y = exp s", "exp(s)", "np.exp(s)"),
        ("y = KroneckerDelta(i, j) A[i,j]", "delta[i,j]", "np.trace(A)", "y = delta[i,j] A[i,j]"),
        ("y = Heaviside(s)", "where(s > 0, 1, 0)", "1.0"),
    ),
    *rows(
        "einops",
        ("einsum('ij,jk->ik', A, B)", "y[i,k] = A[i,j] B[j,k]", "A @ B"),
        ("b h -> h b", "y[h,b] = x[b,h]", "C.T", "", "x=C"),
        (
            'ricci.einops.einsum("i j, j k -> i k", A, B)',
            "The last argument",
            "A @ B",
            'ricci.einops.einsum(A, B, "i j, j k -> i k")',
        ),
        ('rc.einsum("i j, k -> i k", A)', "2", "A @ B", 'rc.einsum("i j, j k -> i k", A, B)'),
        ('rc.rearrange(X, "i j -> j i k")', "k", "X.T[:, :, None]", 'rc.rearrange(X, "i j -> j i 1")'),
    ),
]


def message(row: Mistake) -> tuple[str, str]:
    """The type and the text of the error, or of the warning, that a mistake gets."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", rc.ReadingWarning)
        try:
            eval(row.wrong, arrays()) if row.is_call else rc.parse(row.wrong)
        except rc.RicciError as error:
            return type(error).__name__, str(error)
    found = next((w for w in seen if issubclass(w.category, rc.ReadingWarning)), None)
    assert found is not None, f"{row.wrong!r} gets no message"
    return found.category.__name__, str(found.message)


def value(row: Mistake) -> np.ndarray:
    """What one gets by writing what the message says."""
    space = arrays()
    if row.is_call:
        return np.asarray(eval(row.right, space))
    formula = rc.parse(row.right or row.said)
    given = dict(pair.split("=") for pair in row.inputs.split()) if row.inputs else {}
    return np.asarray(formula(**{name: space[given.get(name, name)] for name in formula.variables}))


def meant(row: Mistake) -> np.ndarray:
    return np.asarray(eval(row.meant, arrays()))


def page() -> str:
    parts = [HEAD]
    for language in dict.fromkeys(row.language for row in MISTAKES):
        parts.append(f"## {language}\n")
        for row in MISTAKES:
            if row.language == language:
                kind, said = message(row)
                call = row.wrong if row.is_call else f"rc.parse({row.wrong!r})"
                parts.append(f"```\n{call}\n\n{kind}: {said}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
