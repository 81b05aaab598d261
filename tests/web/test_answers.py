"""Answers to requests: every view, every language, errors with their places, limits, and what nobody should ask."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import cycle
from pathlib import Path

import pytest

import ricci as rc
from ricci.testing.identities import identities
from ricci.web import small_values
from ricci.web.answers import answer, answer_text
from ricci.web.asking import CHECKS, DETAILS, MODES, VIEWS, PageRequest
from ricci.web.recognising import languages
from ricci.web.tabs import TABS

TREE = Path(rc.__file__).parent.parent
LOSS = "l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))"


def of(text, **more):
    found = answer({"text": text, **more})
    assert found["ok"], found
    assert json.loads(json.dumps(found)) == found  # what JSON can hold
    return found


def fault(text, **more):
    found = answer({"text": text, **more})
    assert not found["ok"]
    return found["error"]


# Views


def test_each_view_is_what_python_gives():
    f = rc.parse(LOSS).diff("w", "w")
    found = of(LOSS, by=["w", "w"], want=list(VIEWS))
    (one,) = found["formulas"]
    assert (one["text"], one["latex"], one["name"], one["indices"]) == (str(f), f.latex(), f.name, list(f.indices))
    assert one["matrix"] == {"text": str(f.matrix()), "latex": f.matrix(latex=True)}
    assert one["structure"] == {"text": str(f.structure()), "svg": f.structure()._repr_svg_()}
    assert one["code"] == {"language": "numpy", "text": str(f.code())}
    assert one["graph"]["dot"] == rc.draw(f).dot and one["graph"]["svg"].startswith("<svg")
    assert one["derivation"]["text"] == str(f.derivation())
    assert [line["rule"] for line in one["derivation"]["lines"]] == [step.rule for step in f.derivation()]
    assert one["check"]["agrees"] is True and "missing" not in one
    assert found["read"]["text"] == str(rc.parse(LOSS)) and found["language"] == "index"
    assert [v["text"] for v in found["variables"]] == ["y[m]", "X[m,n]", "w[n]"]
    assert [v["latex"] for v in found["variables"]] == ["y_{m}", "X_{mn}", "w_{n}"]


def test_every_key_has_a_check_and_every_view_a_function():
    assert set(CHECKS) == set(PageRequest.__dataclass_fields__)
    assert set(TABS) == set(VIEWS)


@pytest.mark.parametrize("detail", DETAILS)
@pytest.mark.parametrize("sums", [False, True])
def test_lines_of_a_derivation(detail, sums):
    f = rc.parse(LOSS).diff("w")
    (one,) = of(LOSS, by=["w"], want=["derivation"], detail=detail, sums=sums)["formulas"]
    lines = one["derivation"]["lines"]
    whole = f.derivation(detail, sums)
    assert [line["rule"] for line in lines if line["rule"]] == [step.rule for step in whole if step.rule]
    assert "\n".join(line["text"] for line in lines) == "\n".join(step.text for step in whole)
    assert not any("&" in line["latex"] or "\\text" in line["latex"] for line in lines)
    assert ("\\sum" in one["derivation"]["latex"]) == sums


def lines_are_whole(one, formula):
    """Each line of each step is there, in text and in LaTeX."""
    lines = one["derivation"]["lines"]
    assert [line["text"] for line in lines] == "\n".join(step.text for step in formula.derivation()).split("\n")
    assert all(line["latex"] for line in lines)


def test_lines_of_recurrences_and_of_sizes():
    for text, by in (("h[0,i] = a[i]; h[t+1,i] = tanh(W[i,j] h[t,j])", "W"), ("f = 1[i] x[i+0] x[i+1]", "x")):
        (one,) = of(text, by=[by], want=["derivation"])["formulas"]
        lines_are_whole(one, rc.parse(text).diff(by))


def test_steps_with_definitions_have_them_as_lines():
    text = "m[b] = 1/|h| 1[h] x[b,h]; v[b] = 1/|h| 1[h] (x[b,h] - 1[h] m[b])**2"
    (one,) = of(text, by=["x"], want=["derivation"])["formulas"]
    first, second, *_ = one["derivation"]["lines"]
    assert (first["text"], first["rule"], second["rule"]) == ("m[b] = 1/|h| 1[h] x[b,h]", "", "definition")


@pytest.mark.parametrize("language", ["numpy", "torch", "jax", "julia", "c", "latex"])
def test_code_in_each_language(language):
    (one,) = of(LOSS, by=["w"], want=["code"], code=language)["formulas"]
    sizes = {"m": 3, "n": 3} if language == "c" else None
    assert one["code"]["text"] == str(rc.parse(LOSS).diff("w").code(language, sizes=sizes))
    assert ("note" in one["code"]) == (language == "c")


def test_sizes_of_code_in_c_fit():
    for text, by, said in (
        ("f = tr(X)", [], "i=3"),
        ("y[i] = x[i+k] w[k]", [], "j=5, k=3, i=3"),
        ("f = det(X)", ["X"], ""),
    ):
        one = answer({"text": text, "by": by, "want": ["code"], "code": "c"})["formulas"][0]
        assert said in one["code"]["note"], one
    taken = answer({"text": "y[i] = x[i+k] w[k]", "by": ["x"], "want": ["code"], "code": "c"})["formulas"][0]
    assert "missing" not in taken


def test_code_of_a_function_takes_its_arguments_in_its_order():
    text = "def loss(w, X, y):\n    return np.sum((X @ w - y)**2)"
    for language, head in (("numpy", "def dloss_dw(w, X, y):"), ("julia", "function dloss_dw(w, X, y)")):
        made = answer({"text": text, "by": ["w"], "want": ["code", "formula"], "code": language})["formulas"][0]
        assert head in made["code"]["text"]
        assert made["text"] == "dloss_dw[j] = 2 X[i,j] (X[i,j'] w[j'] - y[i])"


@pytest.mark.parametrize("mode", MODES)
def test_by_what(mode):
    f = rc.parse("f = x[i] A[i,j] x[j]")
    text = "f = x[i] A[i,j] x[j]"
    assert [one["text"] for one in of(text, by=["x[p]", "A"], each=True, mode=mode)["formulas"]] == [
        str(f.diff("x[p]", mode=mode)), str(f.diff("A", mode=mode))
    ]  # fmt: skip
    assert of(text, by=["x"], order=2, mode=mode)["formulas"][0]["text"] == str(f.diff("x", "x", mode=mode))
    assert of(text)["formulas"][0]["text"] == str(f)


def test_each_derivative_says_what_it_is():
    found = of("p[i,j] = softmax[j](q[i,d] k[j,d]); o[i,e] = p[i,j] v[j,e]", by=["q", "v"], each=True)["formulas"]
    assert [one["left"] for one in found] == [
        r"\frac{\partial o_{ie}}{\partial q_{i'd}}",
        r"\frac{\partial o_{ie}}{\partial v_{je'}}",
    ]
    (one,) = of("f = x[i] x[i]", by=["x"])["formulas"]
    assert one["left"] == r"\frac{\partial f}{\partial x_{i}}" and "left" not in of("f = x")["formulas"][0]


def test_what_is_missing_says_why_and_the_rest_is_there():
    (one,) = of("t[i] = T[k[i],j] x[j]", want=list(VIEWS))["formulas"]
    assert set(one["missing"]) == {"derivation", "matrix"}
    assert one["missing"]["derivation"].startswith("Only a derivative")
    assert one["values"]["result"]["shape"] and one["text"]


def test_variables_that_are_indices_have_no_derivative():
    found = of("t[i] = T[k[i],j] x[j]")["variables"]
    assert {one["name"]: one["differentiable"] for one in found} == {"T": True, "k": False, "x": True}
    assert [one["text"] for one in of("s = a[i,i]")["variables"]] == ["a[i,j]"]


# Languages


@pytest.mark.parametrize(
    "text, language, first",
    [
        (LOSS, "index", "l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))"),
        ("f = x1 x2 + sin(x1)", "index", "f = sin(x1) + x1 x2"),
        ("c_{ik} = a_{ij} b_{jk}", "index", "c[i,k] = a[i,j] b[j,k]"),
        (r"\ell = \sum_i (y_i - X_{ij} w_j)^2", "latex", "ell = 1[i] (X[i,j] w[j] - y[i])**2"),
        ("x'*A*x", "matrix", "x[i] A[i,j] x[j]"),
        ("f = norm2(A*x - b)^2", "matrix", "f = 1[m] (A[m,n] x[n] - b[m])**2"),
        (r"x^\top A x", "matrix", "x[i] A[i,j] x[j]"),
        ("def f(x, A): return x @ A @ x", "numpy", "f = x[i] A[i,i'] x[i']"),
        ("lambda x: np.sum(x)", "numpy", "f = 1[i] x[i]"),
    ],
)
def test_the_language_is_recognised(text, language, first):
    found = of(text)
    assert found["language"] == language
    said = of(text, language=language)
    assert said["read"] == found["read"]
    if language != "matrix" or "norm2" not in text:  # names of indices are the matrix language's own
        assert found["read"]["text"] == first


def test_a_text_that_the_first_language_does_not_read_is_tried_in_the_next():
    assert languages("y = A*x") == ("index", "matrix")
    assert of("a = b*c")["language"] == "index"
    assert of("A*x + b", declare="A[m,n] x[n] b[m]")["language"] == "matrix"
    assert fault("f = x' + ")["message"] == fault("f = x' + ", language="matrix")["message"]  # that of the first


def test_a_text_with_two_readings_has_a_warning():
    assert "warnings" in of("c_ik = a_ij b_jk")
    assert "warnings" not in of(LOSS)
    assert "warnings" not in of("def f(x): return x * x")  # our own equations say one thing


# Errors


@pytest.mark.parametrize(
    "text, line, column, length",
    [("y = sn(x)", 1, 5, 2), ("a = x\nb = 2\nc = a + sn(x)", 3, 9, 2), ("f = x[i", 1, 6, 1)],
)
def test_errors_have_places(text, line, column, length):
    error = fault(text)
    assert (error["line"], error["column"], error["length"]) == (line, column, length)
    assert error["kind"] == "NotationError" and error["message"].endswith(".") and error["hint"]
    assert "^" not in error["message"] and "in" not in error


def test_errors_of_functions_have_places():
    error = fault("def f(x):\n    y = 2 * x\n    return y + z")
    assert (error["line"], error["column"]) == (3, 16) and "no 'z'" in error["message"]


def test_errors_elsewhere_say_in_what():
    assert fault("x'*A*x", declare="A[m n]")["in"] == "A[m n]"
    assert "no input" in fault(LOSS, by=["q"])["message"] or "q" in fault(LOSS, by=["q"])["message"]
    assert "line" not in fault(LOSS, by=["q"])


@pytest.mark.parametrize(
    "request_, words",
    [
        (None, "an object"), ([], "an object"), (3, "an object"), ({}, "needs a text"), ({"text": 3}, "is a text"),
        ({"text": "x", "txt": "y"}, "no key 'txt'"), ({"text": "x", "by": "x"}, "a list"),
        ({"text": "x", "by": [1]}, "is a text"), ({"text": "x", "order": 0}, "from 1 to"),
        ({"text": "x", "order": True}, "from 1 to"), ({"text": "x", "order": 1e3}, "from 1 to"),
        ({"text": "x", "each": "yes"}, "true or false"), ({"text": "x", "mode": "sideways"}, "one of"),
        ({"text": "x", "want": ["formula", "soul"]}, "one of"), ({"text": "x", "language": ["index"]}, "is a text"),
        ({"text": "x", "sizes": {"i": -1}}, "whole number"), ({"text": "x", "sizes": [3]}, "an object"),
        ({"text": "x", "sizes": {"i": 10**12}}, "whole number"), ({"text": "x", "code": "cobol"}, "one of"),
        ({"text": "x" * 10_001}, "10,000"), ({"text": "x", "by": ["x"] * 17}, "16"), ({"text": ""}, ""),
        ({"text": "x", "detail": None, "by": None}, None),
    ],
)  # fmt: skip
def test_requests_are_checked(request_, words):
    found = answer(request_)
    if words is None:
        assert found["ok"]
        return
    assert not found["ok"] and words in found["error"]["message"]
    assert "ricci itself" not in found["error"]["message"]


def test_texts_that_are_no_json():
    for text in ("", "{", "[" * 100_000, '{"text": 1e999}'):
        assert not json.loads(answer_text(text))["ok"]
    assert (
        json.loads(answer_text('{"text": "f = x[i] x[i]", "by": ["x"]}'))["formulas"][0]["text"] == "df_dx[i] = 2 x[i]"
    )


# Limits


def test_work_is_bounded():
    deep = {"text": "f = " + "tanh(" * 6 + "x" + ")" * 6, "by": ["x"], "order": 6, "want": ["derivation"]}
    for found in (answer(deep, seconds=0.3), answer(deep, nodes=2000)):
        assert found["error"]["kind"] == "LimitError" and "took more than" in found["error"]["message"]


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000, "f = " + "sin(" * 3000 + "x" + ")" * 3000, "x" + "'" * 5000, "\\frac{" * 2000, "\x00", "\ud800",
        "f = x**999999999999", "f = 9**9**9**9", "f = 1e999999 x", "a[" + "i," * 2000 + "i]",
        "f = " + "x+" * 4000 + "x",
        "def f(x): return " + "x@" * 90 + "x", "f = " + "a[i,j] b[j,k] " * 100, ";" * 5000, "=" * 5000,
    ],
)  # fmt: skip
def test_strange_texts_end_with_a_sentence(text):
    found = answer({"text": text, "by": ["x"], "want": list(VIEWS)}, seconds=3)
    json.dumps(found)
    assert found["ok"] or (found["error"]["message"] and "ricci itself" not in found["error"]["message"])


def test_values_of_large_arrays_are_refused():
    (one,) = of("y[i] = A[i,j] x[j]", sizes={"i": 1000, "j": 1000}, want=["values", "formula"])["formulas"]
    assert "small" in one["missing"]["values"] and one["text"]


@pytest.mark.parametrize("kind, said", [(MemoryError, "memory"), (RecursionError, "stack"), (OverflowError, "number")])
def test_what_is_too_large_says_why(monkeypatch, kind, said):
    for text in ("", "Unable to allocate 128 MiB."):

        def fails(formula, asked, text=text):
            raise kind(text) if text else kind

        monkeypatch.setitem(TABS, "formula", fails)
        error = answer({"text": "y = x", "want": ["formula"]})["error"]
        assert error["kind"] == "LimitError" and said in error["message"]
        assert error["message"].startswith("This is too large to work out: ") and ": ." not in error["message"]
        assert error["message"].endswith(f"({text.rstrip('.')})." if text else ".") and ".." not in error["message"]


RECURRENCES = [
    "h[0,i] = h0[i]\nh[t+1,i] = tanh(W[i,j] h[t,j])",
    "h[0] = a\nh[t+1] = h[t]**2 x[t]",
    "h[0,i] = h0[i]\nh[t+1,i] = tanh(W[i,j] h[t,j])\ns = 1[t,i] h[t,i]",
]


@pytest.mark.parametrize("text", RECURRENCES)
def test_recurrences_are_shown_or_refused_in_every_view(text):
    f = rc.parse(text)
    for by in ([], *[[name] for name in f.variables]):
        found = answer({"text": text, "by": by, "want": list(TABS)})
        assert found["ok"], found
        (shown,) = found["formulas"]
        missing = shown.get("missing", {})
        assert shown.keys() | missing.keys() >= set(TABS) - {"formula"}
        assert "loop_" not in json.dumps({name: shown.get(name) for name in ("text", "latex", "graph", "structure")})
        assert not by or "derivation" not in missing
        for why in missing.values():
            assert why.endswith((".", ")")) and "loop_" not in why
        if not by:
            assert ("no matrix notation: it moves" if "s =" in text else "step by step") in missing["matrix"]


def test_a_fault_of_ours_is_said(monkeypatch):
    monkeypatch.setitem(TABS, "formula", lambda formula, asked: 1 / 0)
    assert "ricci itself has failed" in fault(LOSS)["message"]
    monkeypatch.setitem(TABS, "formula", lambda formula, asked: __import__("no_such_module"))
    assert of(LOSS)["formulas"][0]["missing"] == {"formula": "This needs no_such_module, which is not here."}


# Values

DIFFERENTIATED = [
    (LOSS, ["w", "w"]), ("t[i] = T[k[i],j] x[j]", ["T"]), ("l = logdet(S) + r[i] inv(S)[i,j] r[j]", ["S"]),
    ("c[i] = x[i+k] w[k]", ["x"]), ("f = log(x) sqrt(y)", ["x", "y"]), ("f = eps[i,j,k] a[i] b[j] c[k]", ["b"]),
    ("p[i,j] = softmax[j](q[i,d] k[j,d] / sqrt(|d|)); o[i,e] = p[i,j] v[j,e]", ["q"]),
    ("f = erf(x) + max[i](a[i]) b", ["b", "a"]), ("y[i] = x[i,0] + expm(A)[i,i]", ["A"]),
    ("f = cholesky(K)[i,j] a[i] a[j]", ["K"]),
]  # fmt: skip


@pytest.mark.parametrize("text, by", DIFFERENTIATED)
def test_derivatives_agree_with_differences(text, by):
    (one,) = of(text, by=by, want=["values"])["formulas"]
    assert one["check"]["agrees"] is True, one


@pytest.mark.parametrize("step", [13, pytest.param(1, marks=pytest.mark.thorough)])
def test_every_identity_has_an_answer_in_every_view(step):
    """All of it but matrix forms, which some have not; and their derivatives agree with differences."""
    for row in identities()[::step]:
        (one,) = of(row.text, by=list(row.wrt), want=list(VIEWS))["formulas"]
        assert one["check"]["agrees"] is True, (row.name, one["check"])
        assert set(one.get("missing", ())) <= {"matrix"}, row.name
        lines_are_whole(one, row.derivative())


def test_values_are_those_of_the_formula():
    (one,) = of("y[i] = A[i,j] x[j]", want=["values"])["formulas"]
    given = {x["name"]: x["entries"] for x in one["values"]["inputs"]}
    found = rc.parse("y[i] = A[i,j] x[j]")(**given)
    assert found.tolist() == pytest.approx(one["values"]["result"]["entries"], rel=1e-5)
    assert len(given["A"]) != len(given["x"])  # sizes that differ


def test_the_check_can_fail():
    f = rc.parse("f = x[i] x[i]")
    wrong = f.diff("x")
    wrong.expr = rc.parse("g[i] = 3 x[i]").expr
    found = small_values.values_of(wrong)["check"]
    assert found["agrees"] is False and "differs" in found["text"]


def test_what_cannot_be_compared_is_said():
    (one,) = of("x'*S*x", declare="S: symmetric", by=["S"], want=["values"])["formulas"]
    assert one["check"]["agrees"] is None and "symmetric" in one["check"]["text"]
    (one,) = of("h[0,i] = h0[i]; h[t+1,i] = tanh(W[i,j] h[t,j])", want=["values"])["formulas"]
    assert one["missing"]["values"].startswith("Loops")


# What runs in a browser

ALONE = """
import json, sys
sys.modules["numpy"] = None
from ricci.web.answers import answer
found = [answer(json.loads(line)) for line in sys.stdin]
print(json.dumps(found))
print(json.dumps(sorted(m for m in sys.modules if m.split(".")[0] in ("numpy", "scipy", "jax", "torch"))))
print(sys.modules["ricci"].__file__)
"""
TEXTS = [
    *DIFFERENTIATED, ("x'*A*x", ["x"]), (r"\ell = \frac12 \sum_i (y_i - X_{ij} w_j)^2", ["w"]), ("y = sn(x", []),
    ("s = g_{i j} x^i y^j", ["x"]), ("a'x +", ["x"]), ("y[i] = f(x)", []),
    ("h[0,i] = h0[i]; h[t+1,i] = tanh(W[i,j] h[t,j])", ["W"]),
    ("def f(w, X, y): return np.log1p(np.exp(-y * (X @ w))).sum()", ["w"]), ("X'*X", []), ("f = a' * b", ["a"]),
]  # fmt: skip


def alone(paths, requests):
    lines = "\n".join(map(json.dumps, requests))
    ran = subprocess.run(
        [sys.executable, "-c", ALONE], input=lines, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": ":".join(map(str, paths))},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    found, heavy, place = ran.stdout.strip().split("\n")
    return json.loads(found), json.loads(heavy), place


def test_the_archive_of_the_page_answers_all_of_it_without_numpy(tmp_path):
    """The very modules that the page has, and no others, in a process where NumPy cannot be imported."""
    from ricci.web.static_page import archive

    (tmp_path / "ricci.zip").write_bytes(archive())
    requests = [
        {"text": text, "by": by, "want": list(VIEWS), "code": language}
        for (text, by), language in zip(TEXTS, cycle(("numpy", "c", "julia")))
    ]  # fmt: skip
    found, heavy, place = alone([tmp_path / "ricci.zip"], requests)
    assert heavy == ["numpy"] and "ricci.zip" in place  # the name that stands for none
    expected = [answer(one) for one in requests]
    for one, other, request in zip(found, expected, requests, strict=True):
        if "eps[" in request["text"]:  # an array constant, of which code is written with NumPy's help
            continue
        assert without_times(one) == without_times(other)
        assert "ricci itself" not in json.dumps(one)


def without_times(found):
    return {name: value for name, value in found.items() if name != "milliseconds"}


def test_no_module_of_answers_imports_what_the_archive_leaves_out():
    from ricci.web.static_page import ABSENT, modules

    kept = {name for name, _ in modules()}
    assert {"ricci/web/answers.py", "ricci/__init__.py", "ricci/standalone/julia_code.py"} < kept
    assert not any(name.startswith(("ricci/testing/", "ricci/cli/", "ricci/transforms/")) for name in kept)
    package = TREE / "ricci"
    for one in ABSENT:
        assert (package / one).exists() or one == "web/serving", one


def test_texts_are_the_same_in_the_docs():
    """The keys of a request and its views, as docs/page.md has them."""
    page = (TREE.parent / "docs" / "page.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) >= set(CHECKS)
