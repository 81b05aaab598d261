"""All that people hold shows itself in notebooks: well formed, escaped, and saying what it is."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from notebook_reader import page, unbalanced, words

import ricci as rc
from ricci.grid import Grid
from ricci.markup import Element, card, element, pairs, table
from ricci.shells import latex_of, register
from ricci.show.derivation import Derivation
from ricci.show.fitting import WIDTH, fitted, in_notebook, width_of
from ricci.testing.identities import identities

SOURCE = Path(rc.__file__).parent.parent
LOSS = "l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))"
MATRIX = "y[i,j] = x[i,k] a[k,j] + 1[i] b[j]"
X = np.arange(6.0).reshape(2, 3)


def square(x):
    """The sum of squares & more."""
    return (x**2).sum()


def compressed():
    f = rc.parse("l = 1[i,j] (T[i,j] - U[i,k] V[j,k])**2").diff("U", "U").compile("numpy", compressed=True)
    return f(T=np.ones((2, 3)), U=np.ones((2, 2)), V=np.ones((3, 2)))


def called():
    f = rc.parse(MATRIX).compile("numpy")
    f(x=X, a=X.T, b=np.ones(2))
    return f


def scope():
    with rc.axes() as ax:
        rc.rearrange(X, "i j -> j i")
    return ax


def undecided():
    f = rc.parse("f = lgamma(x + 1)"), rc.parse("f = lgamma(x) + log(abs(x))")
    return f[0].equivalent(f[1])


HELD = {  # what is held, and what a reader finds in it
    "formula": (lambda: rc.parse(MATRIX), "latex", r"y_{ij} = x_{ik} a_{kj}"),
    "derivative": (lambda: rc.parse(LOSS).diff("w"), "latex", r"\frac{\partial l}{\partial w_{n}}"),
    "traced": (lambda: rc.trace(square)(np.ones(3)), "latex", r"&\text{sizes: } |i| = 3"),
    "equation": (lambda: rc.parse(MATRIX).equation, "latex", r"y_{ij} = x_{ik}"),
    "system": (
        lambda: rc.parse("A[i,k] x[k] = b[i]").equation.expand(i=2, k=2),
        "latex",
        r"A_{0,0} x_{0} + A_{0,1} x_{1} &= b_{0}",
    ),
    "derivation": (lambda: rc.parse(LOSS).diff("w").derivation(), "latex", r"\text{definition}"),
    "step": (lambda: rc.parse(LOSS).diff("w").derivation()[1], "latex", r"\text{log of an exponential}"),
    "matrix form": (lambda: rc.parse("f = x[i] A[i,j] x[j]").matrix(), "latex", r"x^{\top} A x"),
    "matrix equation": (lambda: rc.parse("A[i,k] x[k] = b[i]").matrix(), "latex", "A x = b"),
    "structure": (lambda: rc.parse(MATRIX).diff("x").structure(), "svg", "rows y[i,j] and columns x[i',k]"),
    "picture": (lambda: rc.parse(MATRIX).diff("x").structure().picture(), "svg", "rows y[i,j] and columns x[i',k]"),
    "compressed": (compressed, "svg", "ricci.Compressed 2×2×2×2 of float64"),
    "drawing": (lambda: rc.draw(rc.parse(MATRIX)), "svg", "x[i,k]"),
    "plan": (lambda: called().plan, "html", "FLOPs"),
    "shapes": (lambda: rc.shapes(lambda x: rc.rearrange(x, "a b -> (b a)"))(X), "html", "a b -> (b a)"),
    "scope": (scope, "html", "where it got it"),
    "caches": (rc.cache_info, "html", "at most made found again"),
    "compiled": (lambda: rc.parse(MATRIX).compile("numpy"), "html", "x: matrix, a: matrix, b: vector"),
    "compiled and called": (called, "html", "x (2, 3), a (3, 2), b (2,)"),
    "grad": (lambda: rc.grad(square), "html", "The sum of squares & more."),
    "hessian": (lambda: rc.hessian(square), "html", "square(x)"),
    "vmap": (lambda: rc.vmap(square), "html", "rc.vmap of square"),
    "linear": (lambda: rc.linearize(square, np.ones(3))[1], "html", "takes (3,) gives ()"),
    "problem": (
        lambda: rc.problem(square, {"a": np.ones(3), "<b>": 2.0}, method="dogleg"),
        "html",
        "fun The value x0 {'a': (3,), '<b>': ()} jac The gradient hess The Hessian, a whole array method 'dogleg'",
    ),
    "fit": (
        lambda: rc.problem(square, np.ones(3), squares=True, bounds=(0, 1)),
        "html",
        "few of its entries may differ from zero bounds below and above each number",
    ),
    "costs on meshes": (
        lambda: rc.parse(LOSS).compile().mesh_costs([8], axes={"m": "data"}, sizes={"m": 64, "n": 2}),
        "html",
        "sent by a device",
    ),
    "custom": (lambda: rc.custom(square), "html", "rc.custom square"),
    "to explain": (lambda: rc.explain(square), "html", "square(x)"),
    "explanation": (lambda: rc.explain(rc.grad(square))(np.ones(3)), "html", "2 x[i]"),
    "tensor": (lambda: rc.Tensor(X, axes="b t"), "html", "b\\t 0 1 2 0 0 1 2 1 3 4 5"),
    "tensor of numbers": (lambda: rc.Tensor(2.5), "html", "Tensor: number of float64 2.5"),
    "vector": (lambda: rc.Tensor(np.arange(20.0)) * 2, "html", "14 ⋯ 38 made by multiply"),
    "large tensor": (lambda: rc.Tensor(np.zeros((3, 40, 50))), "html", "3×40×50"),
    "check": (lambda: rc.check("y = (x + 1)**2; D(y, x) = 2 (x + 1) = 2 x + 1"), "html", "should be: = 2 x + 2"),
    "checked line": (lambda: rc.check("y = (x + 1)**2; D(y, x) = 2 (x + 1)")[1], "html", "✓ 2."),
    "undecided": (undecided, "html", "Not decided: values agree"),
    "code": (lambda: rc.parse(MATRIX).code("numpy"), "markdown", "import numpy as np"),
}


def shown(thing: object) -> dict[str, str]:
    """What a notebook is given."""
    kinds = ("latex", "html", "svg", "markdown")
    made = {kind: getattr(thing, f"_repr_{kind}_", lambda: None)() for kind in kinds}
    return {kind: text for kind, text in made.items() if text}


@pytest.mark.parametrize("name", HELD)
def test_all_that_is_held_shows_itself(name):
    make, kind, said = HELD[name]
    found = shown(make())
    assert list(found) == [kind]
    if kind == "latex":
        assert unbalanced(found[kind]) == "" and said in found[kind], found
    elif kind == "markdown":
        assert said in found[kind] and found[kind].count("```") == 2
    else:
        assert said in words(page(found[kind])), words(page(found[kind]))
    assert found == shown(make())


def test_the_readers_of_this_file_can_fail():
    for wrong in ("<p>", "<script>1</script>", '<p onclick="x">a</p>', '<a href="https://x">a</a>', "a & b"):
        with pytest.raises((AssertionError, SyntaxError)):
            page(wrong)
    bad = ["$a{b$", r"$\left(a$", "$a", "$a\nb$", "$a$b$", r"$\begin{aligned}a & b & c & d & e\end{aligned}$"]
    assert all(unbalanced(wrong) for wrong in [*bad, r"$\bigl( a$"]) and not unbalanced(r"$\frac{a}{b}$")


# Pieces


def test_text_is_escaped_once():
    assert element("p", '<b> & "c"', element("i", "<")) == "<p>&lt;b&gt; &amp; &quot;c&quot;<i>&lt;</i></p>"
    assert element("p", "x", title='a"b') == '<p title="a&quot;b">x</p>'
    assert words(page(card("<b>", pairs([("a<", "&"), ("none", "")]), ""))) == "<b> a< &"
    rows = page(table(["a", "b"], [["1", "<2>"]], right={1}))[0]
    assert [[cell.text for cell in row] for row in rows] == [["a", "b"], ["1", "<2>"]]
    assert "right" in rows[1][1].get("style", "") and "left" in rows[1][0].get("style", "")


def test_what_users_name_is_escaped():
    def hostile(x):
        """<script>alert(1)</script>"""
        return x

    hostile.__name__ = "<img src=x>"
    for made in (rc.grad(hostile), rc.vmap(hostile), rc.custom(hostile)):
        assert "<script>" in words(page(made._repr_html_()))
    assert "<i>" in words(page(Grid(["<i>"], [["</table>"]], above="<i>")._repr_html_()))
    assert isinstance(element("p"), Element)


def test_reports_mark_what_differs():
    tree = page(rc.check("y = (x + 1)**2; D(y, x) = 2 (x + 1) = 2 x + 1")._repr_html_())
    assert [node.text for node in tree.iter("mark")] == ["1"]
    assert [node.get("title") for node in tree.iter("b") if node.get("title")] == ["definition", "proved", "false"]
    assert "Line 2 does not follow." in words(tree)
    fine = page(rc.check("y = (x + 1)**2; D(y, x) = 2 (x + 1)")._repr_html_())
    assert not list(fine.iter("mark")) and "Every line follows." in words(fine)


def test_explanations_have_all_parts():
    tree = page(rc.explain(rc.grad(square))(np.ones(3))._repr_html_())
    assert [node.text for node in tree.iter("summary")] == ["formula", "derivation", "plan", "source"]
    assert "derivative of a tensor by itself" in words(tree) and "def program" in words(tree)


def test_parts_of_what_is_held_say_what_they_are():
    f = rc.parse(LOSS).diff("w", "w")
    assert repr(f.derivation()[0]) == f"<step: definition: {LOSS}>"
    assert repr(f.structure().parts) == "(core[n,n'],)"
    assert repr(f.structure().picture()) == "<picture of a structure: rows w[n], columns w[n']>"
    assert 'style="white-space:pre-line">a\nb</p>' in Grid(["x"], [], below="a\nb")._repr_html_()


def test_gradients_of_tensors_are_shown():
    x = rc.Tensor([1.0, 2.0], name="x")
    (x * x).sum().backward()
    assert "Tensor x: 2 of float64 1 2 gradient [2. 4.]" in words(page(x._repr_html_())).replace(
        "gradient[", "gradient ["
    )


def test_matrix_forms_are_text():
    form: Any = rc.parse(LOSS).diff("w", "w").matrix()
    assert issubclass(type(form), str) and form == str(form) and form.upper() == str(form).upper()
    assert type(rc.parse(LOSS).matrix(latex=True)) is str
    for again in (pickle.loads(pickle.dumps(form)), copy.deepcopy(form)):
        assert again == form and again._repr_latex_() == form._repr_latex_() and type(again) is type(form)


# Tuples of formulas


def test_tuples_of_formulas():
    y, g = rc.parse(MATRIX), rc.variable("g[i,j]")
    back = latex_of(rc.pullback(y, ["x", "b"], g)) or ""
    assert unbalanced(back) == "" and back.count(r"\\") == 1
    assert r"\bar{x}_{ik} &= a_{kj} g_{ij}" in back and r"\bar{b}_{j} &= \mathbf{1}_{i} g_{ij}" in back
    both = latex_of(rc.parse(LOSS).diff_all("w", "X")) or ""
    assert unbalanced(both) == "" and both.count(r"\frac{\partial l}{\partial") == 2
    named = latex_of({"loss": g * g, "more": [y.equation, y]}) or ""
    assert unbalanced(named) == "" and r"\text{loss} &=" in named and named.count("&=") == 3


@pytest.mark.parametrize(
    "other", [(), [], {}, (1, 2), ("a",), [np.ones(2)], {"a": None}, 3, rc.parse("y = x"), (rc.parse("y = x"), 1)]
)
def test_other_containers_are_left_alone(other):
    assert latex_of(other) is None


class Formatter:
    """What IPython has for one kind of output."""

    def __init__(self):
        self.kinds = {}

    def for_type(self, kind, function=None):
        before = self.kinds.get(kind)
        if function is not None:
            self.kinds[kind] = function
        return before


class OwnDict(dict):
    def _repr_latex_(self):
        return "$own$"


def test_shells_are_told_once_and_others_are_asked():
    formatter = Formatter()
    formatter.kinds[tuple] = lambda value: f"other {len(value)}"
    shell = SimpleNamespace(display_formatter=SimpleNamespace(formatters={"text/latex": formatter}))
    rc.load_ipython_extension(shell)
    first = dict(formatter.kinds)
    register(shell)
    assert formatter.kinds == first and set(first) == {tuple, list, dict}
    y = rc.parse("y[i] = x[i]")
    assert first[tuple]((1, 2)) == "other 2" and first[list]([1]) is None
    assert first[dict](OwnDict()) == "$own$" and first[dict]({}) is None
    assert "y_{i}" in first[list]([y]) and "y_{i}" in first[tuple]((y,)) and "y_{i}" in first[dict]({"a": [y]})


IN_IPYTHON = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
import sys
if {late}:
    sys.modules["IPython"].get_ipython = lambda: None
import ricci as rc
if {late}:
    shell.run_line_magic("load_ext", "ricci")
y = rc.parse("y[i] = A[i,j] x[j]")
for thing in (rc.diff_all(y, "x", "A"), [y], y, (1,), y.diff("x").structure(), y.matrix()):
    print(*sorted(shell.display_formatter.format(thing)[0]))
"""


@pytest.mark.parametrize("late", [False, True])
def test_in_ipython(late):
    if find_spec("IPython") is None:
        pytest.skip("IPython is not installed")
    code = IN_IPYTHON.format(late=late)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(SOURCE)}, check=False
    )
    assert done.returncode == 0, done.stderr
    expected = ["text/latex text/plain"] * 3 + ["text/plain", "image/svg+xml text/plain", "text/latex text/plain"]
    assert done.stdout.splitlines()[-6:] == expected


def test_import_asks_for_nothing_where_there_is_no_ipython():
    code = "import sys, ricci; print('ricci.shells' in sys.modules, 'IPython' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(SOURCE)}, check=True
    )
    assert done.stdout.split() == ["False", "False"]


# Long lines


LONG = [r for r in identities() if r.wrt][::9]


def bare(latex: str) -> str:
    """A display without what breaks its lines."""
    latex = re.sub(r"\\\\\s*(?:&\\quad|&\\qquad)?\s*(?:\\cdot)?|[&\s]|\\begin\{aligned\}|\\end\{aligned\}", "", latex)
    return re.sub(r"\\[bB]ig([lr])", lambda m: r"\left" if m[1] == "l" else r"\right", latex)


@pytest.mark.parametrize("row", LONG, ids=[row.name for row in LONG])
def test_derivations_fit_the_page(row):
    steps = row.derivative().derivation()
    whole = steps.latex()
    for width in (WIDTH, 60):
        made = fitted(whole, width)
        assert bare(made) == bare(whole)
        assert unbalanced(in_notebook(made)) == ""
        assert max(map(width_of, made.split(r"\\"))) <= max(1.5 * width, 1.1 * hardest(whole))


def hardest(latex: str) -> float:
    """The widest of what cannot be broken: a line of few factors, with its rule."""
    lines = [line.partition("&&") for line in latex.split(r"\\")]
    return max(max(map(width_of, re.split(r" [+-] |(?<=\}) ", right))) + 40 for right, _, _ in lines)


def test_long_sums_are_broken_in_time_that_grows_with_them():
    start = time.process_time()
    made = fitted("y = " + " + ".join([f"a_{{i}} b_{{{k}}}" for k in range(800)]))
    assert time.process_time() - start < 5 and all(width_of(line) <= WIDTH + 8 for line in made.split("\\\\\n"))


def test_short_lines_stay_as_they_are():
    short = rc.parse(MATRIX).latex()
    assert fitted(short) == short and in_notebook(short) == f"$\\displaystyle {short}$"
    steps = rc.parse("f = x[i] x[i]").diff("x").derivation()
    assert isinstance(steps, Derivation) and fitted(steps.latex()) == steps.latex()


def test_long_lines_are_broken_at_operators():
    f = rc.parse("y = " + " + ".join(f"a{k} sin(b{k})" for k in range(30)))
    made = fitted(f.latex())
    rows = made.removeprefix("\\begin{aligned}\n").split("\\\\\n")
    assert len(rows) > 3 and all(row.startswith((r" &\quad +", r" &\quad -")) for row in rows[1:])
    assert all(width_of(row) <= WIDTH for row in rows)


def test_brackets_that_are_broken_do_not_grow():
    text = r"y = a \left(" + " + ".join(rf"\frac{{b_{{{k}}}}}{{c}} d" for k in range(20)) + r"\right) e"
    made = fitted(text, 40)
    assert r"\Bigl(" in made and r"\Bigr)" in made and r"\left" not in made and bare(made) == bare(text)
    product = fitted("y = " + " ".join(f"x_{{{k}}}" for k in range(60)), 40)
    assert r"\\" in product and product.count(r"\cdot") == product.count(r"\\") and bare(product)


def test_rules_that_are_long_stand_below():
    line = r"f &= x && \text{" + "word " * 15 + "}"
    made = fitted("\\begin{aligned}\n" + line + "\n\\end{aligned}", 60)
    assert r"\\" in made and r"&\qquad \text{word" in made


def test_dollars_in_words_do_not_end_the_formula():
    assert in_notebook(r"x \text{n $\to$ m}") == r"$\displaystyle x \text{n }\to\text{ m}$"
    steps = rc.parse("y[i] = A[i,j] x[j]").diff("x").derivation()
    assert r"$\to$" in steps.latex() and unbalanced(steps._repr_latex_()) == ""
