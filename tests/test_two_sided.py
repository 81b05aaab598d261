"""Equations with an expression on either side: reading, printing, and writing them out."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import ricci as rc

READ = [  # text, free indices, as printed where that is different
    ("a[i] b[i] = c[i] d[i]  (no sum i)", "i", None),
    ("a[i] b[i] = c[i] d[i]", "", None),
    ("a[i] b[i] = c[i]", "i", "a[i] b[i] = c[i]  (no sum i)"),
    ("lam v[i] = A[i,j] v[j]", "i", None),
    ("A[i,j] x[j] = 0", "i", None),
    ("Q[i,k] Q[j,k] = delta[i,j]", "ij", None),
    ("A[i,i] = b[i]  (no sum i)", "i", None),
    ("A[i,i] + c[i] = b[i]", "i", "A[i,i] + c[i] = b[i]  (no sum i)"),
    ("a[i] b[j] = c[j] d[i]", "ij", None),
    ("a[i,j] b[i,j] = c[i] d[i] e[j] f[j]  (no sum i, j)", "ij", None),
    ("-x[i] + y[i] = exp(z[i])", "i", None),
    ("u[i] = a[i] b[i]\nu[i] + c[i] = exp(d[i])", "i", None),
    ("A^i_j x^j = lam x^i", "i", None),
    ("x + y = z", "", None),
    ("exp(x) = z", "", None),
]


@pytest.mark.parametrize("text, free, printed", READ, ids=[row[0] for row in READ])
def test_sides_are_printed_as_typed_and_read_back(text, free, printed):
    f = rc.parse(text)
    assert f.equation.indices == f.indices == tuple(free)
    assert str(f) == str(f.equation) == (printed or text)
    again = rc.parse(str(f))
    assert again == f and again.equation == f.equation
    assert str(pickle.loads(pickle.dumps(f))) == str(f)
    assert ("no sum" in f.latex()) == ("no sum" in str(f))


def test_both_sides_count():
    f = rc.parse("a[i] b[i] = c[i] d[i]  (no sum i)")
    assert f != rc.parse("a[i] e[i] = c[i] d[i]  (no sum i)")  # another left side
    assert f != rc.parse("a[i] b[i] = c[i] e[i]  (no sum i)")
    assert f != rc.parse("y[i] = c[i] d[i]") and rc.parse("y[i] = c[i] d[i]") != f
    assert f == rc.parse("b[i] a[i] = d[i] c[i]  (no sum i)")
    assert f.latex() == r"a_{i} b_{i} = c_{i} d_{i} \quad\text{(no sum $i$)}"
    c, d = np.arange(3.0), np.arange(3.0) + 1
    np.testing.assert_array_equal(f.equation.right(c=c, d=d), c * d)
    np.testing.assert_array_equal(f.equation.left(a=c, b=d), c * d)
    assert rc.parse("a[i] b[i] = c[i] d[i]").equation.left(a=c, b=d) == 8


def test_no_sum_for_a_name_and_without_one():
    assert rc.parse("y[i] = a[i] b[i]  (no sum i)") == rc.parse("y[i] = a[i] b[i]")
    assert rc.parse("a[i] b[i]  (no sum i)") == rc.parse("y[i] = a[i] b[i]")
    assert rc.parse("x = a[i] b[i]; a[i] b[i] (no sum i)").indices == ("i",)
    assert rc.parse("no[i] = 2 sum[k](x[i,k])").indices == ("i",)  # which says nothing of sums


REFUSED = [
    ("y[i] = a[i] b[k] c[k] (no sum k)", "k", "the left side does not have it"),
    ("a b = c (no sum i)", "i", "nothing has it here"),
    ("a[i] b[j] = c[j]", "c[j]", r"free indices \[j\]"),
    ("A^i_j x^j = B_{i}", "B_{i}", "above|below"),
    ("(no sum i)", "(no sum i)", "at the end of a statement"),
]


@pytest.mark.parametrize("text, place, message", REFUSED, ids=[row[0] for row in REFUSED])
def test_refusals(text, place, message):
    with pytest.raises(rc.NotationError, match=message) as caught:
        rc.parse(text)
    assert text[caught.value.start : caught.value.end] == place


def test_an_equation_has_no_derivative_and_its_sides_have():
    f = rc.parse("x[i]**2 = y[i]")
    with pytest.raises(rc.RuleError, match=r"f\.equation\.left\.diff"):
        f.diff("x")
    with pytest.raises(rc.RuleError, match="between two expressions"):
        f.diff_all("y")
    assert f.equation.left.diff("x[j]") == rc.parse("f[i,j] = 2 delta[i,j] x[i]")
    assert f.equation.right.diff("y[j]") == rc.parse("delta[i,j]")


COMPUTED = {
    "call": (lambda f: f(x=[1.0], y=[3.0]), r"f\.equation\.left\(…\)"),
    "compile": (lambda f: f.compile("numpy"), r"f\.equation\.right\.compile\(\)"),
    "several": (lambda f: rc.compile([f.equation.left, f]), r"f\.equation\.left\.compile\(\)"),
    "code": (lambda f: f.code(), r"f\.equation\.left\.code\(\)"),
    "code of several": (lambda f: rc.code([f.equation.left, f], "torch"), r"f\.equation\.left\.code\(\)"),
}


@pytest.mark.parametrize("way", COMPUTED)
@pytest.mark.parametrize("text", ["x[i] y[i] = 3", "a = x[i] y[i]\n2 a = 3", "x[i] y[i] = 0"])
def test_an_equation_has_no_value_and_its_sides_have(text, way):
    compute, instead = COMPUTED[way]
    with pytest.raises(rc.RuleError, match=f"has no value.*{instead}.*begin the text with a name: s = .*x"):
        compute(rc.parse(text))
    sides = rc.parse(text).equation
    given = {"x": np.ones(2), "y": np.ones(2)}
    assert {float(s(**{n: given[n] for n in s.variables})) for s in (sides.left, sides.right)} - {0, 3} <= {2, 4}


def test_no_face_computes_an_equation(capsys):
    from ricci.cli.commands import main
    from ricci.web.answers import answer

    for command in (["run", "x[i] y[i] = 3"], ["code", "x[i] y[i] = 3"], ["run", "x[i] y[i] = 3", "--input", "x=[1]"]):
        assert main(command) == 1
        out, err = capsys.readouterr()
        assert not out and "has no value" in err and "s = x[i] y[i]" in err
    found = answer({"text": "x[i] y[i] = 3", "want": ["formula", "code", "values", "graph"]})
    missing = found["formulas"][0]["missing"]
    assert found["ok"] and set(missing) >= {"code", "values"} and "has no value" in missing["values"]


# Written out


def test_a_line_for_each_value():
    eq = rc.parse("a[i] b[i] = c[i] d[i]  (no sum i)").equation
    assert str(eq.expand(i=3)) == "a[0] b[0] = c[0] d[0]\na[1] b[1] = c[1] d[1]\na[2] b[2] = c[2] d[2]"
    assert r"a_{1} b_{1} &= c_{1} d_{1} \\" in eq.expand(i=3).latex()
    assert eq.expand(i=2) != eq.expand(i=3) and eq.expand(i=2) == eq.expand(i=2)


SYSTEMS = [
    ("lam v[i] = A[i,j] v[j]", {"j": 2}, "lam v[i] = A[i,0] v[0] + A[i,1] v[1]"),
    ("Q[i,k] Q[j,k] = delta[i,j]", {"i": 1, "j": 2}, "Q[0,k] Q[0,k] = 1\nQ[0,k] Q[1,k] = 0"),
    ("y[i] = x[i+k] w[k]", {"i": 2, "k": 2}, "y[0] = x[0] w[0] + x[1] w[1]\ny[1] = x[1] w[0] + x[2] w[1]"),
    ("y = exp(a[k] b[k]) / |k|", {"k": 2}, "y = exp(a[0] b[0] + a[1] b[1])/2"),
    ("c[k] (a[k] b[k,m] d[m]) = s", {"m": 2}, "c[k] (a[k] b[k,0] d[0] + a[k] b[k,1] d[1]) = s"),
    ("x[i] - delta[i,j] y[j] = 0", {"i": 2, "j": 2}, "x[0] - y[0] = 0\nx[1] - y[1] = 0"),
    ("a[i,j] b[i,j] = c[i,j] d[i,j] (no sum i, j)", {"i": 1}, "a[0,j] b[0,j] = c[0,j] d[0,j]  (no sum j)"),
    ("u[i] = a[i,k] b[k]; 2 u[i] = c[i]", {"i": 1, "k": 2}, "2 a[0,0] b[0] + 2 a[0,1] b[1] = c[0]"),
]


@pytest.mark.parametrize("text, sizes, expected", SYSTEMS, ids=[row[0] for row in SYSTEMS])
def test_systems(text, sizes, expected):
    assert str(rc.parse(text).equation.expand(**sizes)) == expected


NUMBERS = [
    "A[i,k] x[k] + c[i] d[i] = exp(B[k,j] C[j,i] x[k])",
    "(A[i,k] - 2 C[k,i]) (A[i,j] x[j])**2 = c[i] d[k] / (1 + x[k]**2)",
]
SHAPES = {"A": (2, 3), "B": (3, 3), "C": (3, 2), "x": (3,), "c": (2,), "d": (3,)}


def _entries(system, arrays):
    return [[float(side(**{n: arrays[n] for n in side.variables})) for side in (e.left, e.right)] for e in system]


@pytest.mark.parametrize("text", [NUMBERS[0].replace("d[i]", "c[i]"), NUMBERS[1]])
def test_the_lines_have_the_values_of_the_entries(text):
    rng = np.random.default_rng(1)
    arrays = {name: rng.normal(size=shape) for name, shape in SHAPES.items()}
    f = rc.parse(text)
    sides = [side(**{n: arrays[n] for n in side.variables}) for side in (f.equation.left, f.equation.right)]
    expected = np.stack([side.ravel() for side in sides], 1)
    system = f.equation.expand(i=2, j=3, k=3)
    np.testing.assert_allclose(_entries(system, arrays), expected)
    arrays["x"] = arrays["x"] + 1
    assert not np.allclose(_entries(system, arrays), expected)


def test_what_is_not_written_out():
    eq = rc.parse("p[i] = softmax[i](x[i])").equation
    with pytest.raises(rc.RuleError, match="works on the whole of i"):
        eq.expand(i=2)
    with pytest.raises(rc.RuleError, match="no index 'm'"):
        eq.expand(m=2)
    with pytest.raises(rc.InputError, match="positive whole number"):
        eq.expand(i=0)
    with pytest.raises(rc.RuleError, match="has the size 3"):
        rc.parse("a[i] + b[i] = 0", sizes={"i": 3}).equation.expand(i=2)


def test_sums_stand_on_the_left_in_latex():
    for text in (r"a_i + b_i = \frac{1}{2} c_i", r"\delta_{ij} a_j + b_i = \frac{1}{2} c_i"):
        f = rc.parse(text)
        assert f.equation.left.indices == ("i",) and rc.parse(f.equation.latex(), latex=True) == f
    f = rc.parse("b[i,j] c[i,j] + b[i,j] d[j] = e[i,j]")
    assert rc.parse(f.equation.latex()).equation == f.equation
    with pytest.raises(rc.NotationError, match="not a name"):
        rc.parse(r"\delta^{ij}_{kl} = \frac{1}{2}")


def test_no_sum_in_other_words():
    plain = rc.parse("a[i] b[i] = c[i] d[i]  (no sum i)").equation
    assert rc.parse("a[i] b[i] = c[i] d[i]  (no sum over i)").equation == plain
    assert rc.parse(r"a_i b_i = c_i d_i \quad \text{(no sum on $i$)}").equation == plain
    for text in ("a[i] b[i] = c[i] d[i] (no sum i j)", "a[i] b[i] = c[i] (no sum over)", "a[i] = b[i] (no sum what i)"):
        with pytest.raises(rc.NotationError, match="no sum i"):
            rc.parse(text)
