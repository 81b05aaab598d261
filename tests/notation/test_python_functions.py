"""Functions of NumPy that are read as texts: the equations say what NumPy computes, and nothing is ever run."""

from __future__ import annotations

import builtins
import sys
import warnings

import numpy as np
import pytest
import scipy.special

import ricci as rc
from ricci.errors import NotationError
from ricci.notation.python_calls import CALLS
from ricci.notation.python_functions import index_notation

SHAPES = {"m": 3, "n": 2, "k": 4}
ORDERS = {  # the shapes of the arguments of the functions below, by their names
    "w": "n", "X": "mn", "y": "m", "x": "n", "v": "n", "A": "nn", "B": "nn", "Z": "kn", "lam": "", "S": "nn",
    "Q": "mk", "K": "nk", "V": "nk", "g": "n", "b": "n", "T": "mnk",
}  # fmt: skip
FUNCTIONS = """
def f(w, X, y): return np.log1p(np.exp(-y * (X @ w))).sum()
def f(w, X, y): r = X @ w - y; return 0.5 * (r @ r) / len(y)
f = lambda x, A: x @ A @ x
lambda x, v: x @ v - x.dot(v) + np.dot(x, v) ** 2
def f(x): return -x**2 / (2*x) - (x - 1) - (1 - x) * -x
def f(x, v): return x - (v - (x - v)) / (x / (v / x)) * (x * v)
def f(x, lam=0.5): return lam * np.abs(x).sum() + 2 ** lam
def f(X, w): n, m = X.shape; return (X @ w).sum() / n * X.shape[1] + X.size + X.ndim - m
def f(X): return (X - X.mean(axis=0)) / np.sqrt(X.var(axis=0) + 1e-5)
def f(X, g, b): m = X.mean(1, keepdims=True); v = X.var(-1, keepdims=True); return (X - m) / np.sqrt(v + 1) * g + b
def f(Q, K, V): s = Q @ K.T / np.sqrt(Q.shape[1]); p = scipy.special.softmax(s, axis=-1); return p @ V
def f(X): return scipy.special.logsumexp(X, axis=1) + X.max(1) - np.min(X, axis=1) + X.prod(-1) + X.std(1)
def f(S, x): return 0.5 * np.linalg.slogdet(S)[1] + 0.5 * x @ np.linalg.solve(S, x)
def f(S): sign, logdet = np.linalg.slogdet(S); return sign * logdet + np.linalg.det(S)
def f(A, B): return np.linalg.inv(A) @ B + np.linalg.solve(A, B) - A.T @ B.transpose()
def f(A, B): return np.trace(np.exp(A) @ B) + np.einsum("ij,ij->", A, B) - np.linalg.norm(A) ** 2 + np.trace(A + B)
def f(A): return np.diag(A) @ np.diagonal(A) + np.diag(np.diag(A)).sum()
def f(A, x): return np.exp(A) @ np.sin(x) + np.diag(np.tanh(A)) * x
def f(X, Z): return np.exp(-((X[:, None, :] - Z[None, :, :]) ** 2).sum(-1))
def f(x, v): return np.outer(x, v) + np.eye(len(x)) - np.diag(x) + x[:, None] * v
def f(x): return x[0] * x[1] - x[0] ** 2
def f(X): return X[0] @ X[:, 1][:2] if 0 else X[0] + X[1, :] * X[2, 0]
def f(x): y = x; x = x * 2; x += y; x **= 2; return x - y
def f(x, v): return np.where(x > v, x, v) + np.maximum(x, 0) - np.minimum(v, x) * (x <= v) + np.clip(x, -1, 1)
def f(x): exp = x * x; return np.exp(exp) + np.pi * np.square(x) - np.reciprocal(2 + x**2) + np.negative(x)
def f(x): return np.cumsum(x) + np.sort(x) + scipy.special.expit(x) + scipy.special.gammaln(x**2 + 1)
def f(A, x): return A + A.T - x - x[:, None] + A * x + np.ones_like(A) + np.zeros_like(x)
def f(X, w): return X @ w + np.ones(3) * np.zeros((3,)) + np.ones(X.shape[0])
def f(T, Q): return np.einsum("ijk,ik->j", T, Q) + T.sum(axis=(0, 2)) + np.einsum("ijk->j", T)
def f(X, Q): return np.einsum("mn,mk->nk", X, Q) + np.expand_dims(X.sum(0), axis=1)
def f(x): return x[1:] - x[:-1]
def f(x): return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
def f(x, v): d = x[1:] * v[:-1]; return d @ d + d.sum() + x[:-1].sum() - v[1:] @ x[1:]
def f(X, w): z = X @ w; return z[1:-1] ** 2 + z[:1] * z[2:] - z[0:1]
def f(T): return T[1:, :, 0] - T[:-1, :, 1] + T[1:, :, 2:].sum(-1)
def f(A, B): return A[1:] @ B[:, 1:] + A[:-1, :] @ B[:, :1]
def f(x, y): return x.sum() + np.ones(len(x)).sum() * np.ones(3).sum() + np.ones((len(x), 3)).sum() + y.sum()
def f(T, y): z = y[1:3]; return z.sum() + T[0, 1:, 1:3] @ z
def f(A): m = A.mean(axis=1, keepdims=True); return m - m.T + m * m
def f(A, B, x): return A @ (B @ x) / (x @ x) + (A @ B) @ x * (x @ A)
def f(A, x): return (A @ x + x) @ (A.T @ x - 2 * x) + (x * (A @ x)).sum()
def f(x): return np.sum(x * x) * np.sum(x) - x.sum() ** 2 / np.mean(x)
"""


def cases():
    lines = [line for line in FUNCTIONS.strip().split("\n") if " if 0 else " not in line]
    return [pytest.param(line, id=str(k)) for k, line in enumerate(lines)]


def several_lines(text):
    """``def f(x): a; b`` with a line for each statement."""
    head, colon, body = text.partition("):")
    return (
        text if not colon or ";" not in body else head + "):\n" + "\n".join(f"    {s.strip()}" for s in body.split(";"))
    )


def arrays(names):
    rng = np.random.default_rng(0)
    found = {name: rng.uniform(0.5, 1.5, [SHAPES[axis] for axis in ORDERS[name]]) for name in names}
    return {name: x @ x.T + np.eye(len(x)) if name in ("S", "A", "B") else x for name, x in found.items()}


def declared(names):
    return " ".join(f"{name}[{','.join(ORDERS[name])}]" if ORDERS[name] else name for name in names)


@pytest.mark.parametrize("text", cases())
def test_equations_say_what_numpy_computes(text):
    text = several_lines(text)
    names: dict = {"np": np, "scipy": scipy}
    exec(text if text.startswith("def") else f"f = {text.removeprefix('f = ')}", names)
    function = names["f"]
    given = arrays(function.__code__.co_varnames[: function.__code__.co_argcount])
    said = index_notation(text, declared(given))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rc.ReadingWarning)
        formula = rc.parse(said.text, sizes=said.sizes or None)
    found = formula(**{name: x for name, x in given.items() if name in formula.context.facts.inputs})
    np.testing.assert_allclose(found, function(**given), rtol=1e-9)


def test_arguments_that_are_not_declared_follow_their_names():
    said = index_notation("def f(X, w, lam): return X @ w * lam")
    assert said.text == "f[i] = X[i,j] w[j] lam" and said.sizes == {}
    assert index_notation("def f(X, w): return X @ w", "w[p]").text == "f[i] = X[i,p] w[p]"
    assert index_notation("def f(S, x): return x @ S @ x", "S: symmetric").symmetries == {"symmetric": "S"}
    assert index_notation("def f(x): return x + np.ones(3)").sizes == {"i": 3}


def test_names_of_the_notation_are_avoided():
    said = index_notation("def sum(exp, pi):\n    D = exp * 2\n    return D @ pi")
    assert said.text.split("\n")[-1].startswith("sum_ = ") and "exp_" in said.text
    assert rc.parse(said.text).variables == ("exp_", "pi_")


@pytest.mark.parametrize(
    "text, place, words",
    [
        ("def f(x):\n    return np.fft.fft(x)", "np.fft.fft(x)", "np.fft.fft is not read"),
        ("def f(x):\n    return np.convolve(x, x)", "np.convolve(x, x)", "np.convolve is not read"),
        ("def f(x):\n    return x.reshape(2, 2)", "x.reshape(2, 2)", "method 'reshape'"),
        ("def f(x):\n    for i in range(3): x = x + 1\n    return x", "for i in range(3): x = x + 1", "statement"),
        ("def f(x): return x + z", "z", "no 'z'"),
        ("def f(x): return x[::2]", "x[::2]", "no step"),
        ("def f(x): return x[-2:]", "x[-2:]", "no step"),
        ("def f(x): return (x * x)[1:]", "(x * x)[1:]", "brackets"),
        ("def f(x): return x[9, 9]", "x[9, 9]", "1 axes"),
        ("def f(x): return x.sum(axis=3)", "3", "no axis 3"),
        ("def f(x): return x.sum(where=x)", "x", "keyword 'where'"),
        ("def f(X, y): return X @ (X @ y)", "X @ (X @ y)", ""),
        ("def f(lam, x): return lam @ x", "lam @ x", "no numbers"),
        ("def f(x, y): return x, y", "return x, y", "several"),
        ("def f(x): x", "x", "not read"),
        ("def f(x): return 'a'", "'a'", "constant"),
        ("def f(x) return x", "return", "':'"),
        ("def f(é, x): return é + z", "z", "no 'z'"),
        ("f(x)", "f(x)", "no function"),
        ("x = 1", "x = 1", "no function"),
        ("def f(x): return x\ndef g(x): return x", "def g(x): return x", "second"),
        ("import os\ndef f(x): return x", "import os", "'os'"),
        ("def f(*x): return x", "x", "*args"),
        ("def f(x):\n    pass", "pass", "not read"),
        ("def f(x): return x // 2", "x // 2", "operator"),
        ("def f(x): return 1 < x < 2", "1 < x < 2", "comparison"),
        ("def f(A, b): return np.linalg.inv(b)", "np.linalg.inv(b)", "matrices"),
        ("", "", "no function"),
    ],
)
def test_what_is_not_read_is_said_at_its_place(text, place, words):
    if text == "def f(X, y): return X @ (X @ y)":  # which are read: one size then
        assert index_notation(text).text == "f[i] = X[i,i'] X[i',i''] y[i'']"
        return
    with pytest.raises(NotationError) as caught:
        index_notation(text)
    error = caught.value
    assert words in str(error)
    assert error.text[error.start : error.end] == place or place.startswith(error.text[error.start : error.end])


def test_declared_sizes_that_differ_are_not_one():
    with pytest.raises(NotationError, match=r"do not agree: \(m\) and \(n\)|do not agree"):
        index_notation("def f(x, y): return x + y", "x[m] y[n]")
    with pytest.raises(NotationError, match="do not agree"):
        index_notation("def f(X, y): return X @ y", "X[m,n] y[m]")


HOSTILE = [
    "def f(x): return __import__('os').system('touch /tmp/ricci_was_here')",
    "def f(x): return ().__class__.__bases__[0].__subclasses__()",
    "def f(x): return eval('1')",
    "def f(x): return open('/etc/passwd').read()",
    "def f(x=open('/etc/passwd')): return x",
    "@print\ndef f(x): return x",
    "def f(x): return [y for y in x]",
    "def f(x): return (lambda y: y)(x)",
    "def f(x): return f'{x}'",
    "def f(x): return x if x else x",
    "def f(x): return (y := x)",
    "def f(x): return np.load('a.npy')",
    "def f(x): return x.tofile('a')",
    "def f(x): return np.__builtins__",
    "class f: pass",
    "def f(x):\n    import os\n    return x",
    "def f(x):\n    global y\n    return x",
    "def f(x): return " + "(" * 500 + "x" + ")" * 500,
    "def f(x): return " + "-" * 5000 + "x",
    "def f(x): return " + "x*" * 3000 + "x",
    "def f(x): return x**" + "9" * 400,
    "def f(x): return np.ones(10**9)",
    "\x00def f(x): return x",
    "def f(x): return x\ud800",
    "lambda: " * 200 + "1",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_nothing_is_run(text, monkeypatch):
    """No text is compiled to code, opened or imported; it is refused with a sentence, or read."""

    def refuse(name):
        own = getattr(builtins, name)

        def call(*args, **more):
            if sys._getframe(1).f_globals.get("__name__", "").startswith("ricci"):
                raise AssertionError(f"{name} was called")
            return own(*args, **more)

        return call

    for name in ("eval", "exec", "open"):
        monkeypatch.setattr(builtins, name, refuse(name))
    try:
        said = index_notation(text)
    except rc.RicciError as error:
        assert str(error)
    else:
        assert said.text.startswith("f")


def test_reading_is_not_exponential():
    """A product of products is written once for each factor: with two writings a level this would never end."""
    text = "x"
    for _ in range(40):
        text = f"({text} * x)"
    assert index_notation(f"def f(x): return {text}").text.count("x[i]") == 41


def test_every_call_of_the_table_has_the_name_of_something():
    assert {"exp", "sum", "einsum", "solve", "where", "softmax"} < CALLS.keys()
    assert all(callable(entry) for entry in CALLS.values())


@pytest.mark.parametrize(
    "before, after", [("x + ", ""), ("x**", ""), ("-", ""), ("exp(", ")"), ("x[", "]"), ("not ", "")]
)
def test_long_and_deep_expressions_are_refused_with_a_reason(before, after):
    with pytest.raises(rc.NotationError, match=r"Python does not read this: \w.*\.") as caught:
        index_notation("def f(x):\n    return " + before * 5000 + "x" + after * 5000)
    assert "recursion" not in str(caught.value)
