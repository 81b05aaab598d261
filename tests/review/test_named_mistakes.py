"""The mistakes that have names: several instances of each, the last line of every text being the one that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

import ricci as rc
from ricci.review.mistakes import MISTAKES

LONG = " + ".join([f"a{k} b{k}" for k in range(60)])
INSTANCES = {
    "sign": [
        "f = x[i] a[i] - x[i] x[i]; D(f, x[p]) = a[p] + 2 x[p]",
        "y = cos(x); D(y, x) = sin(x)",
        "(a - b)**2 = a**2 + 2 a b + b**2",
        "y[i] = exp(-x[i]); D(y[i], x[p]) = exp(-x[i]) delta[i,p]",
    ],
    "factor of the power rule": [
        "f = x[i] x[i] 1/2 + (a[i] x[i])**2; D(f, x[p]) = x[p] + a[i] x[i] a[p]",
        "y = (3 x + 1)**4; D(y, x) = 3 (3 x + 1)**3",
        "l = (y[i] - w x[i])**2 1[i]; D(l, w) = -(y[i] - w x[i]) x[i]",
    ],
    "exponent of the power rule": [
        "y = x**3; D(y, x) = 3 x**3",
        "y = (a x + b)**5; D(y, x) = 5 a (a x + b)**5",
        "f = (x[i] x[i])**3; D(f, x[p]) = 6 (x[i] x[i])**3 x[p]",
    ],
    "inner derivative of the chain rule forgotten": [
        "y = sin(a x); D(y, x) = cos(a x)",
        "y[i] = exp(A[i,j] x[j]); D(y[i], x[p]) = exp(A[i,j] x[j])",
        "l = 1[m] log(1 + exp(y[m] X[m,n] w[n])); D(l, w[p]) = sigmoid(y[m] X[m,n] w[n]) X[m,p]",
        "y = sin(3 x); D(y, x) = cos(3 x)",
        "y[i] = exp(-x[i]/2); D(y[i], x[p]) = -exp(-x[i]/2) delta[i,p]",
    ],
    "one term of the product rule forgotten": [
        "y = x sin(x); D(y, x) = sin(x)",
        "f = x[i] A[i,j] x[j]; D(f, x[k]) = A[k,j] x[j]",
        "f = (a[i] x[i]) (b[j] x[j]); D(f, x[p]) = a[p] b[j] x[j]",
    ],
    "quotient rule with the terms swapped": [
        "y = x / (1 + x**2); D(y, x) = (x 2 x - (1 + x**2)) / (1 + x**2)**2",
        "y = sin(x) / x; D(y, x) = (sin(x) - x cos(x)) / x**2",
        "f = (a[i] x[i]) / (b[j] x[j]); D(f, x[p]) = (a[i] x[i] b[p] - b[j] x[j] a[p]) / (b[j] x[j])**2",
    ],
    "missing transpose": [
        "y[i] = A[i,j] x[j]; f = y[i] y[i]; D(f, x[p]) = 2 A[p,i] y[i]",
        "y[i,j] = X[i,k] W[k,j]; D(y[i,j], X[p,q]) = delta[i,p] W[j,q]",
        "f = 1[i] inv(A)[i,j] b[j]; f = 1[i] inv(A)[j,i] b[j]",
    ],
    "wrong index": [
        "y[i] = A[i,j] x[j]; D(y[i], x[p]) = A[p,p]",
        "f = a[i] X[i,j] b[j]; D(f, X[p,q]) = a[p] b[p]",
        "x[i] y[j] (a[i] + b[i]) = x[i] y[j] a[i] + x[i] y[j] b[j]",
    ],
    "delta not substituted": [
        "f = a[i] x[i]; D(f, x[p]) = a[i] delta[i,p] = a[i]",
        "y[i,j] = X[i,k] W[k,j]; D(y[i,j], W[p,q]) = X[i,k] delta[k,p] delta[j,q] = X[i,k] delta[j,q]",
    ],
    "broadcast lost": [
        "y[i,j] = x[i,j] + 1[i] b[j]; y[i,j] = x[i,j] + b[j]",
        "l = (y[i] - t[i])**2 1[i]; l = (y[i] - t[i])**2",
        "D(1[i] s x[j], s) = 1[i] x[j]; D(1[i] s x[j], s) = x[j]",
    ],
    "distributed over a contraction without the one-tensor": [
        "b[i,j] c[i,j] + b[i,j] d[j] = b[i,j] (c[i,j] + d[j])  (no sum i)",
        "a[i] = B[i,j] x[j] + B[i,j] C[i,j]; a[i] = B[i,j] (x[j] + C[i,j])",
    ],
    "derivative of the outer function at another place": [
        "y = point(exp(x)); D(y, x) = point'(x) exp(x)",
        "y = exp(3 x); D(y, x) = 3 exp(x)",
    ],
    "another argument": ["exp(a) exp(b) = exp(a - 3 b) exp(4 b) + 0 log(c) = exp(a - 3 b) exp(a)"],
    "dummy index used twice": [
        "l = (y[i] - X[i,j] w[j])**2 1[i]; D(l, w[k]) = -2 X[i,k] (y[i] - X[i,k] w[k])",
        "(a[i] b[i]) (c[j] d[j]) = a[i] b[i] c[i] d[i]",
        "f = x[i] A[i,j] x[j]; g = f b[k] b[k] = x[i] A[i,j] x[j] b[j] b[j]",
        "c[i] = d[i,k] e[k]; a[i] = b[i,j] 1[j] c[i] = b[i,j] 1[j] d[i,j] e[j]",
    ],
    "power of a contraction taken apart": [
        "(a[k] b[k])**2 = a[k]**2 b[k]**2",
        "y[i,j] = (b[i,k] c[j,k])**2 = b[i,k]**2 c[j,k]**2",
    ],
    "log of a sum split": [
        "log(a + b) = log(a) + log(b)",
        "y = log(x**2 + z**2); y = log(x**2) + log(z**2)",
        "l[i] = log(p[i] + q[i]); l[i] = log(p[i]) + log(q[i])",
    ],
    "power of a sum taken apart": [
        "(a + b)**2 = a**2 + b**2",
        "(x[i] + y[i])**3 = x[i]**3 + y[i]**3",
        "sqrt(x) (u + v)**(1/2) = sqrt(x) (u**(1/2) + v**(1/2))",
    ],
    "function of a sum taken apart": [
        "sqrt(x + y) = sqrt(x) + sqrt(y)",
        "exp(a + b) = exp(a) + exp(b)",
        "sin(x[i] + y[i]) = sin(x[i]) + sin(y[i])",
        "max[i](x[i] + y[i]) = max[i](x[i]) + max[j](y[j])",
    ],
    "reciprocal of a sum taken apart": ["1/(a + b) = 1/a + 1/b", "y[i] = s/(x[i] + z[i]) = s/x[i] + s/z[i]"],
    "quotient upside down": [
        "l = -t[i] log(p[i]); D(l, p[k]) = -p[k]/t[k]",
        "f = x/(a b) = a b/x",
    ],
    "size of an index": [
        "1[i] 1[i] x = x",
        "m[b] = 1/|h| 1[h] x[b,h]; D(m[b], x[c,k]) = delta[b,c] 1[k]",
        "f = (x[i] + c) 1[i]; D(f, c) = 1",
    ],
    "derivative of the inverse without the minus": [
        "y[i,j] = inv(A)[i,j]; D(y[i,j], A[p,q]) = inv(A)[i,p] inv(A)[q,j]",
        "f = b[i] inv(A)[i,j] b[j]; D(f, A[p,q]) = b[i] inv(A)[i,p] inv(A)[q,j] b[j]",
    ],
    "derivative of the outer function forgotten": [
        "y = sin(x)**2; D(y, x) = 2 sin(x) sin(x)",
        "y[i] = softplus(x[i]); D(y[i], x[p]) = softplus(x[i]) delta[i,p]",
        "y = cosh(2 x); D(y, x) = 2 cosh(2 x)",
        "f = 1[i] relu(x[i]); D(f, x[k]) = relu(x[k])",
        "y[i] = point(x[i]); D(y[i], x[p]) = point(x[i]) delta[i,p]",
        "y = pair(a x, b x); D(y, x) = a pair_1(a x, b x) + b pair_1(a x, b x)",
    ],
    "exp and log exchanged": [
        "log(a b) = log(a) + exp(b)",
        "y = x log(x); D(y, x) = 1 + exp(x)",
    ],
    "delta missing": [
        "y[i] = tanh(x[i]); D(y[i], x[p]) = 1 - tanh(x[i])**2",
        "y[i,j] = X[i,k] W[k,j]; D(y[i,j], X[p,q]) = W[q,j]",
        "p[i] = softmax[i](z[i]); D(p[i], z[j]) = p[i] (1[i,j] - 1[i] p[j])",
    ],
    "indices exchanged": [
        "y[i,j] = inv(A)[i,j]; D(y[i,j], A[p,q]) = -inv(A)[i,q] inv(A)[p,j]",
        "y[i,j] = A[i,k] B[k,j]; D(y[i,j], A[p,q]) = delta[i,q] B[p,j]",
    ],
    "order of a product": [
        "inv[i,k](A[i,j] B[j,k]) = inv(A)[i,j] inv(B)[j,k]",
        "A[i,j] B[j,k] C[k,i] = A[i,j] C[j,k] B[k,i]",
        "Y[i,j] = A[i,k] X[k,l] B[l,j]; f = Y[i,j] Y[i,j]; D(f, X[p,q]) = 2 B[i,p] Y[i,j] A[q,j]",
    ],
    "another tensor": [
        "y[i,j] = A[i,k] B[k,j]; D(y[i,j], A[p,q]) = delta[i,p] A[q,j]",
        "f = a[i] x[i]; D(f, x[p]) = x[p]",
    ],
    "delta instead of the one-tensor": [
        "y[i] = x[i] - 1[i] m; D(y[i], m) 1[j] = -delta[i,j]",
        "y[i,j] = 1[i] x[j]; y[i,j] = delta[i,j] x[j]",
    ],
    "rounded number": ["x/3 = 0.333 x", "f = x**3 / 6; D(f, x) = 0.5 x**2; D(D(f, x), x) = 0.99 x"],
    "another term": [f"y = {LONG}; y = {LONG.replace('a7 b7', 'a7 b6')}"],
    "numeric factor": ["a[i] + a[i] = a[i]", "1/2 (x + x) = 2 x", "(a + b) / 3 = 1/2 a + 1/3 b"],
    "another number": ["(x + 1) (x - 1) = x**2 - 2", "maximum(x, 1) + 1 = maximum(x + 1, 3)"],
    "exponent": ["x x = x**3", "(1 + y) (1 - y) = (1 - y)**2", "sqrt(x y) = x**(1/2) y", "a[i] a[i] = a[i]**3 1[i]"],
    "divided instead of multiplied": ["a b c = a b / c", "x[i]/s = x[i] s"],
    "factor forgotten": ["a[i] b[i] c = a[i] b[i]", "x (y + z w) = x (y + z)"],
    "factor too much": ["a[i] b[i] = a[i] b[i] c", "x (y + z) = x (y + z x)"],
    "term forgotten": ["x (y + z + w) = x y + x w", "a[i] (b[i] + c) = a[i] b[i]"],
    "term too much": ["x (y + z) = x y + x z + y z", "(a + b) c = a c + b c + a"],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in INSTANCES.items() for text in texts])
def test_a_mistake_is_recognised(name, text):
    report = rc.check(text, functions="point pair")
    *before, wrong = report
    assert all(verdict.ok for verdict in before), str(report)
    assert (wrong.status, wrong.mistake) == ("false", name), str(report)
    assert wrong.part and wrong.suggestion


@pytest.mark.parametrize(
    ("before", "now", "mistake", "part"),
    [
        ("a7 b7", "a7 b7 + 1", "term too much", "1"),
        (" + a7 b7", "", "term forgotten", "a0 b0"),
        ("+ a7 b7", "- a7 b7", "sign", "a7 b7"),
        ("a7 b7", "a7 b6", "another term", "a7 b6"),
    ],
)
def test_long_sums(before, now, mistake, part):
    wrong = rc.check(f"y = {LONG}; y = {LONG.replace(before, now)}")[-1]
    assert (wrong.status, wrong.mistake) == ("false", mistake) and wrong.part.startswith(part)


def test_every_name_has_instances():
    named = {row.name for row in MISTAKES} - {"another function", "factors of terms"}
    assert named == INSTANCES.keys()
    assert sum(len(texts) > 1 for texts in INSTANCES.values()) >= 10


def test_the_table_of_the_docs():
    page = (Path(__file__).parents[2] / "docs" / "checking.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ") and "| `" in line and "=" in line]
    shown = {cells[0].removeprefix("| "): cells[1].strip("`").replace("\\|", "|") for cells in rows}
    assert shown.keys() == INSTANCES.keys() - {"another term"}  # of which an example is too long for a table
    for name, text in shown.items():
        assert rc.check(text)[-1].mistake == name
