"""Every error that users can meet: its sentence, its caret, its types, and the name it suggests instead."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ricci as rc
from ricci.errors import NotationError, caret, nearest

ONCE = "Index {!r} occurs once in its term and is not on the left side."
USED_UP = "Index {!r} is used up by {}, so nothing on the right side has it."
WANTED = "This term has the free indices [{}] where [{}] are wanted."
BUILTIN = {
    rc.NotationError: ValueError,
    rc.ShapeError: ValueError,
    rc.RuleError: ValueError,
    rc.AxisError: LookupError,
    rc.InputError: TypeError,
    rc.DTypeError: TypeError,
    rc.MissingPackageError: ImportError,
    rc.InvariantError: AssertionError,
}


@pytest.mark.parametrize("error", BUILTIN)
def test_one_family_that_fits_the_builtins(error):
    assert issubclass(error, rc.RicciError) and issubclass(error, BUILTIN[error])


# Errors of a text. The second entry is what the carets stand under, between « and ».

TEXTS = [
    # unknown function
    ("y = «sn»(x)", "There is no function 'sn'.", "Did you mean 'sin'? Write sn * (…) for a product."),
    ("y[i] = x[i] + «expp»(x[i])", "There is no function 'expp'.", "Did you mean 'exp'?"),
    ("s = «argmx»[k](x[k])", "There is no function 'argmx'.", "Did you mean 'argmax'?"),
    ("y = «s»(x)", "There is no function 's'.", "Write s * (…) for a product."),
    # unbalanced bracket
    ("y = «(»x + 1", "The bracket '(' is never closed.", "Close it with ')'."),
    ("y = x + 1«)»", "The bracket ')' was never opened.", "Add '(' before it, or leave it out."),
    ("y[i] = x«[»i", "The bracket '[' is never closed.", "Close it with ']'."),
    ("y[i] = x«[»i)", "The bracket '[' is closed by ')'.", "Close it with ']'."),
    ("y = «(»x; z = y)", "The bracket '(' is not closed before ';'.", "Close it with ')'."),
    # an index once and not on the left
    ("y[i] = «x[i,k]»", ONCE.format("k"), "To sum over it, write sum[k](…) or multiply by 1[k]; to keep it, put it on"),
    ("y[i] = a[i] + «x[k]»**2", ONCE.format("k"), "sum[k](…)"),
    ("y = a + 2 exp(«x[i]»)", ONCE.format("i"), "sum[i](…)"),
    ("s = «softmax[k](x[k])»", ONCE.format("k"), "sum[k](…)"),
    ("y[i] = b[i] + c[i] «x[i,j]»", ONCE.format("j"), "1[j]"),
    ("y[i] = a[i] + «b[j]»", ONCE.format("j"), "1[j]"),
    ("y[i] = «x[i+k]»", ONCE.format("k"), "sum[k](…)"),
    ("y^i = «A^i_j» + b^i", ONCE.format("j"), "sum[j](…)"),
    # a left index missing in a term, and tensors of different indices added
    ("y[i,j] = x[i,j] + «b[j]»", WANTED.format("j", "i,j"), "Multiply by the one-tensor to broadcast: 1[i] * …"),
    ("y[i,j] = «x[i]»", WANTED.format("i", "i,j"), "1[j] * …"),
    ("x[b,h] - «m[b]»", WANTED.format("b", "b,h"), "1[h] * …"),
    ("a[i] + «b[j]»", WANTED.format("j", "i"), "1[i] * …"),
    ("a[i] + «b[i,j]»", WANTED.format("i,j", "i"), "Sum over it with sum[j](…), or put it on the left side."),
    ("y[i] = a[i] (b[j] + «c[k]») d[j] d[k]", WANTED.format("k", "j"), "1[j] * …"),
    ("y[i,j] = b[i,j] (c[i,j] + «d[j]»)", WANTED.format("j", "i,j"), "1[i] * …"),
    # a left index that a function has used up
    ("y[i] = «max[i](x[i])»", USED_UP.format("i", "max"), "Leave it out on the left side: y = max[i](x[i])"),
    ("y[j,i] = log(«sum[i](A[j,i])»)", USED_UP.format("i", "sum"), "left side: y[j] = log(sum[i](A[j,i]))"),
    ("y[i,j] = sum[i](x[i]) + «sum[j](z[j])»", USED_UP.format("j", "sum"), "side: y = sum[i](x[i]) + sum[j](z[j])"),
    # wrong number of axes
    ("y[i] = x[i] + «x[i,j]» 1[j]", "'x' has 1 index elsewhere and 2 here.", "A tensor keeps its number of indices"),
    ("t[i,j] = a[i] b[j]; y = «t[i]» a[i]", "'t' has 2 indices elsewhere and 1 here.", "A tensor keeps its number"),
    ("«delta[i]» x[i]", "The delta has two indices, and here it has 1.", "Write delta[i,j] or delta^i_j"),
    ("y = «inv(A)»", "inv(…) has 2 axes.", "Name them: inv(A)[i,j]."),
    ("y[i] = «inv(A)[i]»", "inv(…) has 2 axes, not 1.", ""),
    ("y = «det[i](x[i])»", "det works on two axes, row and column.", "Write det[i,j](…)."),
    ("t[i] = x[i]; y = «det(t)»", "det of a whole tensor takes order 2; this one has order 1.", ""),
    # heights
    (
        "t = A^i «B^i»",
        "Index 'i' is summed and stands above and above.",
        "A summed index stands exactly once above and",
    ),
    (
        "t = A_{i} «B_{i}» + c^j d_{j}",
        "Index 'i' is summed and stands below and below.",
        "exactly once above and once below",
    ),
    ("t = A^i B^i «C_{i}»", "Index 'i' is summed and stands above and above and below.", "exactly once"),
    (
        "y^i = «A_{i}»",
        "Index 'i' stands above on the left and below here.",
        "A free index keeps its height on both sides.",
    ),
    ("y_{i} = b_{i} + «A^i»", "Index 'i' stands below on the left and above here.", "keeps its height"),
    ("y^i = «x[i]»", "Index 'i' stands above on the left and in brackets here.", "keeps its height"),
    ("y[i] = «A^i»", "Index 'i' stands in brackets on the left and above here.", "keeps its height"),
    # functions
    ("y = «maximum(a)»", "maximum takes 2 arguments, not 1.", ""),
    ("y[i] = «exp[i](x[i])»", "exp works entry by entry and takes no axes.", "Write exp(…)."),
    ("y[i] = «max[k](x[i])»", "Index 'k' does not occur inside max[k](…).", ""),
    ("y = «sum[i,i](x[i])»", "sum names an axis twice.", ""),
    ("y = «sum(x + 1)»", "sum needs to know which axes it works on.", "Write sum[k](…)."),
    ("y[j] = «solve[i,j](A[i,j], b[k] c[k])»", "The right side of solve[i,j] has index 'i', not 'j'.", ""),
    # names
    ("y[i] = x[i]; «y[j] = x[j]»", "'y' is already defined above.", "Give this statement another name."),
    ("y[i] = x[i]; «x[i] = z[i]»", "'x' is already used as an input above.", "Give this statement another name."),
    ("«exp» = x", "The name 'exp' is reserved.", "Choose another name, such as exp_1."),
    ("y[i,«i»] = x[i]", "The index 'i' stands twice on the left side.", "multiply the right side by delta[i,i']"),
    # characters and operators
    ("y = x «@» a", "The character '@' has no meaning here.", "Name the indices: x[i] a[i]."),
    ("y[i] = a[i] «+»+ b[i]", "There is nothing after '+'.", "Write what should follow, or leave it out."),
    ("«# nothing»", "The text has no statement.", "Write one, such as y[i] = x[i,j] w[j]."),
    ("y = a\nz = y + «c[i]»", ONCE.format("i"), "sum[i](…)"),
]


@pytest.mark.parametrize("marked, message, hint", TEXTS, ids=[row[0] for row in TEXTS])
def test_error_of_a_text(marked, message, hint):
    text = marked.replace("«", "").replace("»", "")
    start, end = marked.index("«"), marked.index("»") - 1
    with pytest.raises(NotationError) as caught:
        rc.parse(text)
    error = caught.value
    assert isinstance(error, rc.RicciError) and isinstance(error, ValueError)
    assert error.message == message
    if error.message != "The text has no statement.":
        assert (error.start, error.end) == (start, end)
    assert hint in error.hint
    first = text.rfind("\n", 0, start) + 1
    shown = str(error).split("\n")
    assert shown[0] == message
    assert shown[1] == "  " + text[first:].split("\n")[0]
    assert shown[2].index("^") == 2 + error.start - first
    assert shown[2].strip() == "^" * (error.end - error.start)
    assert bool(error.hint) == (len(shown) == 4)


def test_a_text_of_over_a_million_characters():
    with pytest.raises(NotationError) as caught:
        rc.parse("x" + " + x" * 250_000)
    assert caught.value.message == "The text has 1,000,001 characters; the notation takes at most 1,000,000."
    assert len(str(caught.value)) < 400


NESTED = [("(", "x", ")"), ("-", "x", ""), ("x**", "x", ""), ("exp(", "x", ")"), ("x[", "i", "]"), ("2^(", "x", ")")]


@pytest.mark.parametrize("opening, inner, closing", NESTED)
def test_nesting_10_000_deep(opening, inner, closing):
    with pytest.raises(NotationError, match="nested more than 100 deep") as caught:
        rc.parse(opening * 10_000 + inner + closing * 10_000)
    assert "Give its inner parts names, in statements of their own." in str(caught.value)
    assert len(str(caught.value)) < 400


# Errors of a call, of arithmetic and of the functions

X, A, B = np.ones((2, 3)), np.ones((3, 4)), np.ones(4)
AFFINE = "y[i,j] = x[i,k] a[k,j] + 1[i] b[j]"


def call(text, **given):
    return lambda: rc.parse(text)(**given)


CALLS = [
    # an index with two sizes
    (call(AFFINE, x=X, a=X, b=B), rc.ShapeError, "Index 'k' has two sizes: 3 on axis 1 of 'x' and 2 on axis 0 of 'a'."),
    (
        call(AFFINE, x=X, a=A, b=X[0]),
        rc.ShapeError,
        "Index 'j' has two sizes: 4 on axis 1 of 'a' and 3 on axis 0 of 'b'.",
    ),
    (call("t = a[i,i]", a=X), rc.ShapeError, "Index 'i' has two sizes: 2 on axis 0 of 'a' and 3 on axis 1 of 'a'."),
    (
        lambda: rc.variable("x[i]", [1, 2]) + rc.variable("y[i]", B),
        rc.ShapeError,
        "Index 'i' has size 2 in one operand and 4 in another.",
    ),
    (
        lambda: rc.einsum("ij,j->i", rc.variable("x", X), rc.variable("v", B)),
        rc.EinopsError,
        "Shape mismatch, 4 != 3: axis j is 3 in array 0, 4 in array 1.\n  i j, j -> i\n    ^",
    ),
    (
        lambda: rc.parse("y[j] = b[j]", sizes={"j": 3})(b=B),
        rc.ShapeError,
        "Axis 0 of 'b' (index 'j') has size 3, and the array's shape is (4,).",
    ),
    (
        call("y[i,j] = 1[i] b[j]", b=B, sizes={"i": 2, "j": 3}),
        rc.ShapeError,
        "Index 'j' is given the size 3, and axis 0 of 'b' has 4.",
    ),
    # wrong number of axes
    (call(AFFINE, x=X, a=A, b=A), rc.ShapeError, "and the array given for it has 2: its shape is (3, 4)."),
    (call("y = s + 1", s=B), rc.ShapeError, "s is a scalar, and the array given for it has 1: its shape is (4,)."),
    (lambda: rc.variable("x[i]", X), rc.ShapeError, "'x[i]' names 1 axes and the value has 2: its shape is (2, 3)."),
    # missing and extra inputs
    (call(AFFINE, x=X, a=A), rc.InputError, "The call lacks a value for b; add b=…."),
    (call(AFFINE, a=A), rc.InputError, "The call lacks a value for x, b; add x=…, b=…."),
    (call(AFFINE, x=X, a=A, b=B, c=1), rc.InputError, "There is no input 'c'; the inputs are x, a, b."),
    (call("y = weight bias", weight=1, bias=2, wieght=3), rc.InputError, "Did you mean 'weight'?"),
    # sizes that nothing determines, and sizes that are none
    (
        call("y[i,j] = 1[i] b[j]", b=B),
        rc.InputError,
        "Nothing determines the size of index 'i'; add sizes={\"i\": …} to the call.",
    ),
    (
        call("y[i] = 1[i] s", s=1, sizes={"i": -1}),
        rc.InputError,
        "The size of index 'i' must be a whole number that is not negative, not -1.",
    ),
    (
        call("y[i] = 1[i] s", s=1, sizes={"i": 2.0}),
        rc.InputError,
        "The size of index 'i' must be a whole number that is not negative, not 2.0.",
    ),
    (
        lambda: rc.parse("y[i] = 1[i]", sizes={"i": True}),
        rc.NotationError,
        "The size of index 'i' must be a whole number",
    ),
    (call("y[i] = x[i]", x=B, sizes={"q": 2}), rc.RicciError, "'q'"),
    (lambda: rc.parse("y[i] = x[i]", sizes={"q": 2}), rc.RicciError, "'q'"),
    # types
    (
        call("y = x", x=1j),
        rc.DTypeError,
        "The input 'x' is complex, and its name stands for real numbers here. Declare it",
    ),
    (call("y = x", x="a"), rc.DTypeError, "The input 'x' has the type <U1; numbers are wanted (float, int or bool)."),
    (
        call("y = x", x=None),
        rc.DTypeError,
        "The input 'x' has the type object; numbers are wanted (float, int or bool).",
    ),
    (call("y = x", x=np.datetime64("2020-01-01")), rc.DTypeError, "The input 'x' has the type datetime64[D]"),
    (call("y[i,j] = x[i,j]", x=[[1], [1, 2]]), rc.DTypeError, "The input 'x' cannot be made an array"),
    (
        call("y[b] = e[t[b]]", e=B, t=[1.0]),
        rc.DTypeError,
        "read at places given by integers, not by an array of the type float64",
    ),
    # places
    (call("y[b] = e[t[b]]", e=B, t=[7]), rc.AxisError, "A tensor is read at the place 7 of an axis of size 4."),
    (
        call("y = x[5]", x=B),
        rc.NotationError,
        "of axis 0 of 'x'.\n  y = x[5]\n        ^\n  The inputs have the shapes x (4,).",
    ),
    (call("c[i] = x[i+k] w[k]", x=[1, 2], w=np.ones(9)), rc.RicciError, ""),
    # axes
    (lambda: rc.parse(AFFINE).sum("q"), rc.AxisError, "There is no axis 'q'; the indices of this formula are [i,j]."),
    (lambda: rc.parse("y[batch] = x[batch]").sum("bach"), rc.AxisError, "Did you mean 'batch'?"),
    (
        lambda: rc.parse("y = x").max("i"),
        rc.AxisError,
        "There is no axis 'i'; the indices of this formula are none: it is a scalar.",
    ),
    (lambda: rc.parse(AFFINE).sum("i i"), rc.AxisError, "An axis is named twice in 'i i'."),
    (lambda: rc.parse(AFFINE).softmax("k"), rc.AxisError, "There is no axis 'k'"),
    (lambda: rc.parse(AFFINE).transpose("i"), rc.AxisError, "transpose names all indices: i j."),
    (lambda: rc.parse(AFFINE).rename(q="z"), rc.AxisError, "There is no axis 'q'"),
    (
        lambda: rc.parse(AFFINE).rename(i="j"),
        rc.RuleError,
        "Renaming would give two free indices the name 'j'; free indices are distinct.",
    ),
    (
        lambda: rc.parse("mean_1 = a; s = mean_1")["mean"],
        rc.AxisError,
        "The program defines no 'mean'; it defines mean_1, s. Did you mean 'mean_1'?",
    ),
    # einsum
    (
        lambda: rc.einsum("ij,j->i", *rc.tensors("X[m,n]")),
        rc.EinopsError,
        "The pattern is of 2 arrays, and 1 were given.\n  ij,j->i\n  ^^^^",
    ),
    (
        lambda: rc.einsum("ijk,j->i", *rc.tensors("X[m,n] w[n]")),
        rc.EinopsError,
        "Unknown axis i on right side of einsum ijk,j->i.\n  ijk,j->i\n         ^",
    ),
    (
        lambda: rc.einsum("a b c, b -> a", *rc.tensors("X[m,n] w[n]")),
        rc.EinopsError,
        "Wrong shape: expected 3 dims of array 0. Received 2-dim tensor.\n  a b c, b -> a\n  ^^^^^",
    ),
    (
        lambda: rc.einsum("ij,j->k", *rc.tensors("X[m,n] w[n]")),
        rc.EinopsError,
        "Unknown axis k on right side of einsum i j, j -> k.\n  i j, j -> k\n            ^",
    ),
    (lambda: rc.einsum("ij->ii", *rc.tensors("X[m,n]")), rc.EinopsError, 'contains duplicate dimension "i".'),
    (
        lambda: rc.einsum("ij->i->j", *rc.tensors("X[m,n]")),
        rc.EinopsError,
        "A pattern has one arrow '->'.\n  ij->i->j\n       ^^",
    ),
    (
        lambda: rc.einsum("...i...->i", *rc.tensors("X[m,n]")),
        rc.EinopsError,
        "An ellipsis stands once on a side.\n  ... i ... -> i\n        ^^^",
    ),
    (lambda: rc.einsum(*rc.tensors("X[m,n]")), rc.EinopsError, "rc.einsum needs at least one array beside the pattern"),
    # one name, two shapes
    (
        lambda: (rc.parse("y[i] = x[i]", sizes={"i": 3}) * rc.variable("x[i]")).diff("x"),
        rc.InputError,
        "'x' stands for tensors of the shapes",
    ),
    (
        lambda: (rc.parse("y[i] = x[i]", sizes={"i": 3}) * rc.variable("x[i]")).diff_all("x"),
        rc.InputError,
        "give its sizes everywhere, or nowhere.",
    ),
    # sizes that do not agree are not broadcast
    (
        lambda: (rc.variable("x[i]") + rc.variable("y[i]")).compile("numpy")(x=np.ones(3), y=np.ones(1)),
        rc.ShapeError,
        "axis 0 of 'x' is 3, and axis 0 of 'y' is 1.",
    ),
    # operands
    (
        lambda: rc.variable("x") + B,
        rc.InputError,
        "A ndarray cannot be part of a formula; make it an input with rc.variable(name, value).",
    ),
    (lambda: "a" * rc.variable("x"), rc.InputError, "A str cannot be part of a formula"),
    (lambda: bool(rc.variable("x") < 1), rc.InputError, "A formula has no truth value before it is evaluated"),
    (lambda: [*rc.variable("x[i]")], rc.InputError, "A formula is not a sequence"),
    (lambda: rc.variable("x[i]") @ 2, rc.RuleError, "@ takes vectors and matrices; use rc.einsum for other orders."),  # pyright: ignore[reportOperatorIssue]
    (lambda: rc.exp(rc.variable("x"), 2), rc.InputError, "rc.exp takes 1 operand, not 2."),  # pyright: ignore[reportCallIssue]
    (lambda: rc.det(rc.variable("x[i]")), rc.InputError, "rc.det takes 1 operand(s), the first one a matrix"),
    (
        lambda: rc.solve(*rc.tensors("A[i,j] b[j]")),
        rc.InputError,
        "The right side of rc.solve has the row index 'i' of the matrix, and not 'j'.",
    ),
    (
        lambda: rc.tensors("X[m,n"),
        rc.InputError,
        "rc.tensors reads names with indices, as in 'X[m,n] w[n]', not 'X[m,n'.",
    ),
    (lambda: rc.variable("3x"), rc.InputError, "'3x' does not name a variable"),
    (lambda: rc.variable("x[i,i]"), rc.InputError, "The indices in 'x[i,i]' must be different names."),
    (
        lambda: (rc.variable("x", 1.0) + rc.variable("x", 2.0))(sizes={}),
        rc.InputError,
        "Two variables are named 'x' and carry different values",
    ),
    (lambda: rc.parse(3), rc.InputError, "rc.parse takes a text, not 3."),  # pyright: ignore[reportArgumentType]
    (lambda: rc.sofmax, AttributeError, "ricci has no 'sofmax'. Did you mean 'softmax'?"),  # pyright: ignore[reportAttributeAccessIssue]
    (lambda: rc.variabel, AttributeError, "Did you mean 'variable'?"),  # pyright: ignore[reportAttributeAccessIssue]
]


@pytest.mark.parametrize("do, error, message", CALLS, ids=[row[2][:60] or str(n) for n, row in enumerate(CALLS)])
def test_error_of_a_call(do, error, message):
    with pytest.raises(error) as caught:
        do()
    assert message in str(caught.value)
    builtin = BUILTIN.get(type(caught.value), error)
    assert isinstance(caught.value, builtin)


# Numbers too large for a float, or for this world


@pytest.mark.parametrize("text", ["y = 10**400 x", "y = 2**100000 x", "y = 2.0**5000 x"])
def test_a_number_beyond_all_floats_is_infinite_or_a_clear_error(text):
    try:
        value = rc.parse(text)(x=1.0)
    except rc.RicciError:
        return
    assert value == np.inf


@pytest.mark.parametrize("text", ["y = 9**9**9 x", "y = (2 x)**(10**400)"])
def test_a_short_text_cannot_ask_for_a_number_without_end(text):
    """9**9**9 has 370 million digits; reading it must not compute them. The limit only ends what would not end."""
    code = f"import ricci as rc\ntry:\n    rc.parse({text!r})(x=1.0)\nexcept rc.RicciError:\n    pass"
    environment = {**os.environ, "PYTHONPATH": str(Path(rc.__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", code], check=False, env=environment, timeout=20)
    assert done.returncode == 0


# The caret, and the names suggested


def test_the_caret_cuts_long_lines_around_the_fault():
    text = "y = " + "a + " * 100 + "?" + " + b" * 100
    shown, marks = caret(text, text.index("?"), text.index("?") + 1).split("\n")
    assert len(shown) < 110 and shown.strip().startswith("…") and shown.endswith("…")
    assert shown[marks.index("^")] == "?"


def test_the_caret_stays_on_its_line():
    assert caret("a\nb + c\nd", 2, 9) == "  b + c\n  ^^^^^"
    assert caret("\ta", 1, 2) == "   a\n   ^"


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_errors_survive_copies(again):
    with pytest.raises(NotationError) as caught:
        rc.parse("y = sn(x)")
    assert str(again(caught.value)) == str(caught.value) and type(again(caught.value)) is NotationError


@pytest.mark.parametrize("word, found", [("softmx", "softmax"), ("Exp", "exp"), ("zzz", None)])
def test_nearest(word, found):
    assert nearest(word, ["exp", "softmax"]) == (f"Did you mean {found!r}?" if found else "")
