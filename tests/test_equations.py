"""The algebra of equations: what the rules allow, with its result, and what they refuse, with the rule."""

from __future__ import annotations

import numpy as np
import pytest

import ricci as rc
from ricci.user.equation_words import reworded

RANDOM = np.random.default_rng(0)
ARRAYS = {
    "b": (3, 2),
    "c": (2,),
    "d": (2,),
    "f": (4,),
    "g": (4,),
    "h": (3,),
    "D": (2, 4),
    "s": (),
    "u": (3,),
    "M": (3, 3),
}
ARRAYS = {name: RANDOM.normal(size=shape) for name, shape in ARRAYS.items()}
A = ARRAYS["b"] @ ARRAYS["c"]
g, h, s, M, c = rc.tensors("g[j] h[i] s M[i,p] c[k]")


def equation(text="a[i] = b[i,k] c[k]"):
    return rc.parse(text).equation


def value(side, **more):
    known = {**ARRAYS, "a": A, **more}
    return side(**{name: known[name] for name in side.variables})


ORTHOGONAL = rc.parse("M[i,k] M[j,k] = delta[i,j]")
STEPS = [
    (lambda e: e, "a[i] = b[i,k] c[k]"),
    (lambda e: e.rename(i="p"), "a[p] = b[p,k] c[k]"),
    (lambda e: e.apply(rc.exp), "exp(a[i]) = exp(b[i,k] c[k])"),
    (lambda e: e.apply(lambda x: x**2 / 2), "1/2 a[i]**2 = 1/2 (b[i,k] c[k])**2"),
    (lambda e: e.apply(lambda x: -x), "-a[i] = -b[i,k] c[k]"),
    (lambda e: e.add(h), "a[i] + h[i] = b[i,k] c[k] + h[i]"),
    (lambda e: e.add(2), "a[i] + 2 = b[i,k] c[k] + 2"),
    (lambda e: e.add(s), "a[i] + s = b[i,k] c[k] + s"),
    (lambda e: e.multiply(3), "3 a[i] = 3 b[i,k] c[k]"),
    (lambda e: e.multiply(s), "a[i] s = b[i,k] c[k] s"),
    (lambda e: e.multiply(g), "a[i] g[j] = b[i,k] c[k] g[j]"),
    (lambda e: e.multiply(h), "a[i] h[i] = b[i,k] c[k] h[i]"),
    (lambda e: e.multiply(M), "a[i] M[i,p] = b[i,k] c[k] M[i,p]"),
    (lambda e: e.multiply(rc.parse("1[j]")), "1[j] a[i] = 1[j] b[i,k] c[k]"),
    (lambda e: e.multiply(rc.parse("delta[i,j]")), "a[j] = b[j,k] c[k]"),
    (lambda e: e.contract("i"), "1[i] a[i] = 1[i] b[i,k] c[k]"),
    (lambda e: e.multiply(g).contract("j"), "1[j] a[i] g[j] = 1[j] b[i,k] c[k] g[j]"),
    # substitution: free indices renamed to match, dummies renamed to be fresh
    (lambda e: e.substitute(rc.parse("c[k] = D[k,i] f[i]")), "a[i] = b[i,k] D[k,j] f[j]"),
    (lambda e: e.substitute(rc.parse("c[q] = D[q,k] f[k]")), "a[i] = b[i,k] D[k,j] f[j]"),
    (lambda e: e.substitute(rc.parse("c[k] = exp(d[k])").equation), "a[i] = b[i,k] exp(d[k])"),
    (lambda e: e.substitute(rc.parse("b[i,k] = u[i] d[k]")), "a[i] = u[i] d[k] c[k]"),
    (lambda e: e.substitute(rc.parse("a[p] = u[p]")), "u[i] = b[i,k] c[k]"),
    (lambda e: equation("y[i] = a[i] + exp(a[i])").substitute(e), "y[i] = b[i,k] c[k] + exp(b[i,m] c[m])"),
    (lambda e: equation("y[i] = a[i] a[i]").substitute(e), "y[i] = b[i,k] c[k] b[i,m] c[m]"),
    # and the other way, the right side replaced by the left one
    (lambda e: equation("y[i] = h[i] b[i,k] c[k]").substitute(e), "y[i] = h[i] a[i]"),
    (lambda e: equation("y[p] = exp(b[p,q] c[q])").substitute(e), "y[p] = exp(a[p])"),
    (lambda e: equation("y = h[i] b[i,k] c[k]").substitute(e), "y = h[i] a[i]"),
    # an expression on either side
    (lambda e: equation("y[i] = u[i] M[i,p] M[q,p] h[q]").substitute(ORTHOGONAL), "y[i] = u[i] h[i]"),
    (lambda e: equation("y = M[i,p] M[j,p] M[j,q] M[i,q]").substitute(ORTHOGONAL), "sizes: M[i,p]\ny = |i|"),
    (
        lambda e: equation("y[i] = exp(u[i]) h[i]").substitute(rc.parse("exp(u[i]) = c[i] d[i] (no sum i)")),
        "y[i] = h[i] c[i] d[i]",
    ),
    # dummies
    (lambda e: e.rename(k="m"), "a[i] = b[i,m] c[m]"),
    (lambda e: e.rename(i="k", k="i"), "a[k] = b[k,i] c[i]"),
]


@pytest.mark.parametrize("step, expected", STEPS, ids=[row[1] for row in STEPS])
def test_a_step_that_the_rules_allow(step, expected):
    result = step(equation())
    assert str(result) == expected
    assert repr(result) == f"<ricci.Equation {expected}>"
    assert result.left.indices == result.right.indices == result.indices


NUMBERS = [
    (step, text)
    for step, text in STEPS
    if not text.startswith(("y", "sizes")) and "D[" not in text and "d[" not in text
]


@pytest.mark.parametrize("step, text", [row for row in NUMBERS if not row[1].startswith("u")])
def test_a_step_keeps_the_equation_true(step, text):
    result = step(equation())
    more = {"sizes": {"j": 5}} if text.startswith("1[j] a[i] =") else {}
    known = {**ARRAYS, "a": A}
    left, right = (side(**{n: known[n] for n in side.variables}, **more) for side in (result.left, result.right))
    assert left.shape == right.shape
    np.testing.assert_allclose(left, right, rtol=1e-12)


def test_substitution_in_numbers():
    result = equation().substitute(rc.parse("c[k] = D[k,i] f[i]")).right
    np.testing.assert_allclose(value(result), ARRAYS["b"] @ ARRAYS["D"] @ ARRAYS["f"])
    twice = equation("y = a[i] a[i]").substitute(equation()).right
    np.testing.assert_allclose(value(twice), A @ A)
    nested = equation("y = a[k] h[k]").substitute(rc.parse("a[i] = exp(M[i,k] h[k])")).right
    np.testing.assert_allclose(value(nested), np.exp(ARRAYS["M"] @ ARRAYS["h"]) @ ARRAYS["h"])


def test_an_expression_is_substituted_in_numbers():
    turned, _ = np.linalg.qr(ARRAYS["M"])
    before = equation("y[i] = u[i] M[i,p] M[q,p] h[q] + M[i,p] M[q,p] M[q,r] u[r]")
    after = before.substitute(ORTHOGONAL)
    assert after.right == rc.parse("y[i] = u[i] h[i] + M[i,p] u[p]")
    np.testing.assert_allclose(value(after.right, M=turned), value(before.right, M=turned))


def test_substitution_gives_the_expression_written_in_place():
    there = equation("y[i] = b[i,k] c[k]").substitute(rc.parse("c[k] = D[k,m] f[m]"))
    assert there.right == rc.parse("y[i] = b[i,k] D[k,m] f[m]")
    back = equation("y[i] = b[i,k] D[k,m] f[m]").substitute(rc.parse("c[k] = D[k,m] f[m]"))
    assert back.right == rc.parse("y[i] = b[i,k] c[k]")


def test_dummies_may_have_any_name():
    """A dummy's name may change without changing anything."""
    assert equation("a[i] = b[i,k] c[k]") == equation("a[i] = b[i,m] c[m]")
    assert hash(equation("a[i] = b[i,k] c[k]")) == hash(equation("a[i] = b[i,m] c[m]"))
    assert equation("a[i] = b[i,k] c[k]") != equation("z[i] = b[i,k] c[k]")
    assert equation() != 1


def test_the_sides_may_name_their_axes_in_another_order():
    both = rc.Equation(rc.parse("x[i] y[j]"), rc.parse("v[j] u[i]"))
    assert both.indices == both.right.indices == ("i", "j")


def test_a_contracted_sum_is_printed_on_one_line():
    summed = equation("a[i] = b[i,k] c[k] + 1").contract("i")
    assert str(summed) == "1[i] a[i] = 1[i] (b[i,k] c[k] + 1)"
    np.testing.assert_allclose(value(summed.right), (A + 1).sum())


def test_the_sides_print_without_reference_to_each_other():
    """What an equation defines is not to be used in its own right side."""
    norm = rc.parse("m[b] = 1/|h| 1[h] x[b,h]; v[b] = 1/|h| 1[h] (x[b,h] - 1[h] m[b])**2").equation
    for one in (norm, norm.apply(rc.sqrt), norm.multiply(rc.variable("g[b]")), norm.contract("b")):
        left, _, right = str(one).partition(" = ")
        assert "=" not in right and "\n" not in right and "v[" not in right
        assert "v[b]" in left


def test_latex():
    assert equation().latex() == "a_{i} = b_{ik} c_{k}"
    assert equation().apply(rc.exp)._repr_latex_() == r"$\displaystyle \exp(a_{i}) = \exp(b_{ik} c_{k})$"
    assert equation("s = x[i] x[i]").multiply(g).latex() == "s g_{j} = x_{i} x_{i} g_{j}"


PART = "One may not substitute into part of a contraction"
REFUSED = [
    # contracting a dummy
    (lambda e: e.contract("k"), rc.RuleError, "Index 'k' is already a dummy index and cannot be contracted again."),
    (
        lambda e: e.multiply(c),
        rc.RuleError,
        "Index 'k' is already a dummy index of this equation and cannot be contracted",
    ),
    (lambda e: e.apply(rc.exp).contract("k"), rc.RuleError, "Index 'k' is already a dummy index"),
    (lambda e: e.contract("q"), rc.AxisError, "There is no axis 'q'"),
    # adding other orders
    (lambda e: e.add(g), rc.RuleError, "Only tensors of equal order and indices may be added: [j] to [i]."),
    (lambda e: e.add(M), rc.RuleError, "Only tensors of equal order and indices may be added: [i,p] to [i]."),
    (
        lambda e: e.multiply(g).add(h),
        rc.RuleError,
        "Only tensors of equal order and indices may be added: [i] to [i,j]. Multiply it by the one-tensor 1[j] first.",
    ),
    # substituting into part of a contraction
    (lambda e: equation("y[i] = b[i,k] c[k] d[k]").substitute(e), rc.RuleError, PART),
    (lambda e: equation("y[i] = exp(b[i,k] c[k] d[k])").substitute(e), rc.RuleError, PART),
    (lambda e: equation("y[i] = h[i] + b[i,m] c[m] d[m]").substitute(e), rc.RuleError, PART),
    (lambda e: equation("y[i,k] = b[i,k] c[k]").substitute(e), rc.RuleError, PART),
    # substituting what does not fit
    (lambda e: e.substitute(rc.parse("c = f")), rc.RuleError, "'c' has 1 indices here and 0 in the other equation."),
    # substituting what does not occur
    (
        lambda e: e.substitute(e.apply(rc.exp)),
        rc.RuleError,
        "Neither side of exp(a[i]) = exp(b[i,k] c[k]) occurs in a[i] = b[i,k] c[k], so nothing can be substituted.",
    ),
    (lambda e: equation("y[i] = h[i]").substitute(e), rc.RuleError, "nothing can be substituted"),
    (lambda e: equation("y[i] = h[i]").substitute(ORTHOGONAL), rc.RuleError, "nothing can be substituted"),
    # functions that are not entry by entry, sides that do not agree
    (lambda e: e.apply(lambda x: x.sum("i")), rc.RuleError, "to sum over a free index use contract"),
    (lambda e: e.apply(lambda x: x * g), rc.RuleError, "works entry by entry"),
    (lambda e: rc.Equation(e.left, g), rc.RuleError, "The sides have different free indices: [i] and [j]."),
    # renaming
    (
        lambda e: e.rename(i="k"),
        rc.RuleError,
        "'k' is a dummy index of this equation; a free index needs a name of its own.",
    ),
    (lambda e: e.rename(k="i"), rc.RuleError, "'i' is already an index of this equation; a dummy index needs a name"),
    (lambda e: e.rename(i="p", k="p"), rc.RuleError, "Two indices cannot both be named 'p'."),
    (lambda e: e.rename(k="1"), rc.InputError, "'1' is not a name of an index"),
    (lambda e: e.multiply(g).rename(i="j"), rc.RuleError, "Renaming would give two free indices the name 'j'"),
    (lambda e: e.rename(q="p"), rc.AxisError, "There is no axis 'q'"),
]


@pytest.mark.parametrize("step, error, message", REFUSED)
def test_a_step_that_the_rules_refuse(step, error, message):
    with pytest.raises(error) as caught:
        step(equation())
    assert message in str(caught.value)


def test_factoring_without_a_one_tensor_is_refused():
    whole = rc.parse("y[i,j] = b[i,j] c[i,j] + b[i,j] d[j]")
    assert whole == rc.parse("y[i,j] = b[i,j] (c[i,j] + 1[i] d[j])")
    with pytest.raises(rc.NotationError, match="Multiply by the one-tensor to broadcast"):
        rc.parse("y[i,j] = b[i,j] (c[i,j] + d[j])")


def test_an_input_is_not_the_name_of_the_left_side():
    y, x = rc.tensors("y[i] x[i]")
    assert str(rc.Equation.of(y - x)) == "z[i] = y[i] - x[i]"


TYPED = [  # the rulebook's own steps, in the words of its author
    (lambda: equation("a[i] = (c[i] - b[i,k] d[k]) f[i] + 2"), "a[i] = (c[i] - b[i,k] d[k]) f[i] + 2"),
    (lambda: equation("a[k,j] = delta[k,i] b[i,j]"), "a[k,j] = delta[k,i] b[i,j]"),
    (
        lambda: equation("a[i] = b[i,j] 1[j] c[i]").substitute(rc.parse("c[i] = d[i,j] e[j]")),
        "a[i] = b[i,j] 1[j] d[i,k] e[k]",
    ),
    (lambda: equation("z[i] = y[i] - x[i]").multiply(g).add(s), "z[i] g[j] + s = (y[i] - x[i]) g[j] + s"),
    (lambda: equation("z[i] = -x[i]").multiply(s), "z[i] s = -x[i] s"),
    (lambda: equation("z[i] = y[i] - x[i]").apply(lambda side: rc.exp(-side)), "exp(-z[i]) = exp(-(y[i] - x[i]))"),
    (lambda: equation("a_{i} b_{i} = c_{i} d_{i k} f_{k}  (no sum i)"), "a[i] b[i] = c[i] d[i,k] f[k]  (no sum i)"),
    (lambda: equation("y^i = B^i_j x^j").substitute(rc.parse("x^k = C^k_i z^i")), "y^i = B^i_j C^j_k z^k"),
]


@pytest.mark.parametrize("step, expected", TYPED, ids=[row[1] for row in TYPED])
def test_the_words_of_the_author_are_kept_through_steps(step, expected):
    made = step()
    assert str(made) == expected
    again = rc.parse(expected).equation
    assert again == made and str(again) == expected
    if len(made.indices) == 1 and "^" not in expected:
        assert made.expand(**{made.indices[0]: 2})[1].left.order == 0


def test_words_that_do_not_read_back_are_not_kept():
    made = equation("a[i] = b[i,k] c[k]")
    wrong = rc.parse("a[i] = 2 b[i,k] c[k]").equation
    for old, kept in ((wrong.words, False), (made.words, True)):
        words, made.words = made.words, None
        reworded(made, old, lambda sides: sides)
        assert (made.words is not None) == kept
        made.words = words


def test_a_delta_is_written_out():
    """δ_ki a_ij = δ_k0 a_0j + δ_k1 a_1j + …, of which one term is left."""
    assert str(equation("s[j] = delta[0,i] a[i,j]").expand(i=2)) == "s[j] = a[0,j]"
    assert str(equation("b[k,j] = delta[k,i] a[i,j]").expand(k=2, i=2)) == "b[0,j] = a[0,j]\nb[1,j] = a[1,j]"
