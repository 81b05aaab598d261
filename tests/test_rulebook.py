"""The rulebook of index notation and of the product (theory, §1 and §2): each rule as an identity of objects, where it
is one, and in numbers, also on axes of sizes 0 and 1."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ricci as rc

SIZES = [{"i": 3, "j": 4, "k": 2, "l": 5}, {"i": 1, "j": 1, "k": 1, "l": 1}, {"i": 2, "j": 0, "k": 3, "l": 1}]
SIZES += [{"i": 0, "j": 2, "k": 0, "l": 2}, {"i": 2, "j": 3, "k": 0, "l": 4}]

pytestmark = pytest.mark.filterwarnings("ignore::ricci.ReadingWarning")  # what is tried has one meaning


def arrays(spec, sizes, seed=0):
    """Random arrays for a text such as "a[i,j] b[j] s"."""
    random = np.random.default_rng(seed)
    found = re.findall(r"(\w+)(?:\[([\w,]*)\])?", spec)
    return {name: random.normal(size=[sizes[n] for n in axes.split(",") if n]) for name, axes in found}


def assert_same(actual, expected):
    assert np.shape(actual) == np.shape(expected)
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


# One line a rule: what it is, one way to write it, another, the inputs, and the value by NumPy.

CHAIN = "a[i,j] b[j,k] c[k,l]"
IDENTITIES = [
    # delta
    ("y[k,j] = delta[k,i] a[i,j]", "y[k,j] = a[k,j]", "a[k,j]", lambda a: a),
    ("y[i] = a[i,j] delta[j,k] b[k]", "y[i] = a[i,k] b[k]", "a[i,k] b[k]", lambda a, b: a @ b),
    ("y[i,k] = delta[i,j] delta[j,k] a[i]", "y[i,k] = delta[i,k] a[k]", "a[k]", np.diag),
    ("y[i] = delta[i,j] delta[j,k] delta[k,l] a[l]", "y[i] = a[i]", "a[i]", lambda a: a),
    ("s = delta[i,j] a[i,j]", "s = a[i,i]", "a[i,i]", np.trace),
    ("y[i] = delta[i,j] a[i,j]", "y[i] = a[i,i]", "a[i,i]", np.diag),
    ("s = delta[i,j] a[i] b[j]", "s = a[i] b[i]", "a[i] b[i]", np.dot),
    ("s = delta[i,j] delta[i,j] + a[i] a[i]", "s = |i| + a[i] a[i]", "a[i]", lambda a: len(a) + a @ a),
    ("s = delta[i,i] + a[i] a[i]", "s = |i| + a[i] a[i]", "a[i]", lambda a: len(a) + a @ a),
    # the one-tensor
    ("s = 1[i] b[i]", "s = sum[i](b[i])", "b[i]", np.sum),
    ("y[i] = 1[j] a[i,j]", "y[i] = sum[j](a[i,j])", "a[i,j]", lambda a: a.sum(1)),
    ("s = 1[n] 1[n] + 0 a[n] 1[n]", "s = |n| + 0 a[n] 1[n]", "a[i]", len),
    ("y[i,j] = 1[i] 1[j] a[i] b[j]", "y[i,j] = 1[i,j] a[i] b[j]", "a[i] b[j]", np.outer),
    ("y[i,j] = 1[i,j] b[i,j] c[j]", "y[i,j] = b[i,j] c[j]", "b[i,j] c[j]", lambda b, c: b * c),
    ("y[i,j] = 1[i] b[i,j]", "y[i,j] = b[i,j]", "b[i,j]", lambda b: b),
    ("s = 1[i,j] a[i] b[j]", "s = (1[i] a[i]) (1[j] b[j])", "a[i] b[j]", lambda a, b: a.sum() * b.sum()),
    ("s = 1[i] delta[i,j] a[j]", "s = 1[i] a[i]", "a[i]", np.sum),
    # the zero-tensor
    ("y[i] = 0[i] b[i] + c[i]", "y[i] = c[i]", "b[i] c[i]", lambda b, c: c),
    ("y[i] = 0[i] + c[i]", "y[i] = c[i]", "c[i]", lambda c: c),
    ("y[i] = 0[i,j] b[j] + c[i]", "y[i] = c[i]", "b[j] c[i]", lambda b, c: c),
    ("s = 0[i] a[i] + s_1", "s = s_1", "a[i] s_1", lambda a, s: s),
    ("y[i] = c[i] - c[i] + b[i]", "y[i] = b[i]", "b[i] c[i]", lambda b, c: b),
    # dummies: local to a term, and of any name
    ("y[i,j] = a[i,k] b[k,j]", "y[i,j] = a[i,m] b[m,j]", "a[i,k] b[k,j]", np.matmul),
    ("y[i,j] = a[i,k] b[k,j]", "y[i,j] = a[i,i'] b[i',j]", "a[i,k] b[k,j]", np.matmul),
    (
        "y[i] = a[i,k] b[k] + c[i,k] d[k]",
        "y[i] = a[i,p] b[p] + c[i,q] d[q]",
        "a[i,k] b[k] c[i,k] d[k]",
        lambda a, b, c, d: a @ b + c @ d,
    ),
    (
        "y[i] = a[i,k] b[k] + c[i,l] d[l]",
        "y[i] = a[i,k] b[k] + c[i,k'] d[k']",
        "a[i,k] b[k] c[i,l] d[l]",
        lambda a, b, c, d: a @ b + c @ d,
    ),
    # free indices may occur twice, dummies more often
    (
        "a[i] = b[i,k] c[i,k] d[k]",
        "a[i] = d[k] c[i,k] b[i,k]",
        "b[i,k] c[i,k] d[k]",
        lambda b, c, d: np.einsum("ik,ik,k->i", b, c, d),
    ),
    (
        "s = a[k] b[k] c[k] d[k]",
        "s = (d[m] a[m]) (c[m] b[m])",
        "a[k] b[k] c[k] d[k]",
        lambda a, b, c, d: (a * b * c * d).sum(),
    ),
    # "no sum over i" is said by the left side
    ("y[i] = a[i] b[i]", "y[m] = b[m] a[m]", "a[i] b[i]", np.multiply),
    # sums: a scalar broadcasts, like terms merge, order is nothing
    ("y[i] = x[i] + 2", "y[i] = 2 1[i] + x[i]", "x[i]", lambda x: x + 2),
    ("y[i] = x[i] + s", "y[i] = x[i] + s 1[i]", "x[i] s", lambda x, s: x + s),
    ("y[i] = x[i] + a[k] b[k]", "y[i] = x[i] + 1[i] a[k] b[k]", "x[i] a[k] b[k]", lambda x, a, b: x + a @ b),
    ("y[i] = x[i] + x[i]", "y[i] = 2 x[i]", "x[i]", lambda x: 2 * x),
    ("y[i] = a[i] + b[i] + c[i]", "y[i] = c[i] + (b[i] + a[i])", "a[i] b[i] c[i]", lambda a, b, c: a + b + c),
    # factoring needs equal orders
    (
        "y[i,j] = b[i,j] c[i,j] + b[i,j] d[j]",
        "y[i,j] = b[i,j] (c[i,j] + 1[i] d[j])",
        "b[i,j] c[i,j] d[j]",
        lambda b, c, d: b * (c + d),
    ),
    # substitution: free indices renamed to match, dummies renamed to be fresh
    (
        "t[k] = a[k,i] b[i]; y[i] = exp(t[i]) c[i]",
        "y[i] = exp(a[i,m] b[m]) c[i]",
        "a[i,i] b[i] c[i]",
        lambda a, b, c: np.exp(a @ b) * c,
    ),
    (
        "t[k] = a[k,i] b[i]; y[k,i] = t[k] c[i]",
        "y[k,i] = a[k,m] b[m] c[i]",
        "a[k,i] b[i] c[i]",
        lambda a, b, c: np.outer(a @ b, c),
    ),
    # upper and lower indices
    ("C^i_x = A^i_j B^j_x", "C[i,x] = A[i,j] B[j,x]", "A[i,j] B[j,k]", np.matmul),
    ("y^i = delta^i_j x^j", "y[i] = x[i]", "x[i]", lambda x: x),
    ("t = A^j_i delta^i_j", "t = A[i,i]", "A[i,i]", np.trace),
    ("y^i_j = exp(A^i_j)", "y[i,j] = exp(A[i,j])", "A[i,j]", np.exp),
    ("s = g_{i j} x^i x^j", "s = g[i,j] x[i] x[j]", "g[i,i] x[i]", lambda g, x: x @ g @ x),
    # products are commutative and associative
    ("y[i,l] = (a[i,j] b[j,k]) c[k,l]", "y[i,l] = a[i,j] (b[j,k] c[k,l])", CHAIN, lambda a, b, c: a @ b @ c),
    ("y[i,l] = c[k,l] b[j,k] a[i,j]", "y[i,l] = a[i,p] b[p,q] c[q,l]", CHAIN, lambda a, b, c: a @ b @ c),
    ("s = a[i,j] a[j,k] a[k,i]", "s = a[k,i] a[i,j] a[j,k]", "a[i,i]", lambda a: np.trace(a @ a @ a)),
    ("s = (2 a[i]) (3 b[i])", "s = 6 b[i] a[i]", "a[i] b[i]", lambda a, b: 6 * a @ b),
]


@pytest.mark.parametrize("one, other, spec, value", IDENTITIES, ids=[row[0] for row in IDENTITIES])
def test_identity_of_objects_and_in_numbers(one, other, spec, value):
    a, b = rc.parse(one), rc.parse(other)
    assert a.expr is b.expr
    assert a.rename(dict(zip(a.indices, b.indices, strict=True))) == b
    for seed, sizes in enumerate(SIZES):
        given = arrays(spec, sizes, seed)
        expected = value(*given.values())
        assert_same(a(**given), expected)
        assert_same(b(**{name: given[name] for name in b.context.facts.inputs}), expected)


DIFFERENT = [
    ("y[i] = a[i] b[i]", "y = a[i] b[i]"),
    ("y[i,j] = a[i] b[j]", "y[i,j] = a[j] b[i]"),
    ("y[i,j] = a[i,k] b[k,j]", "y[i,j] = a[k,i] b[k,j]"),
    ("y = a[i,i]", "y = a[i,j] 1[i] 1[j]"),
    ("y[i] = a[i] + b[i]", "y[i] = a[i] - b[i]"),
    ("y = delta[i,j] a[i] b[j]", "y = 1[i,j] a[i] b[j]"),
    ("y[i] = exp(x[i,k] w[k])", "y[i] = 1[k] exp(x[i,k] w[k])"),
    ("y = a b", "y = a c"),
]


@pytest.mark.parametrize("one, other", DIFFERENT)
def test_different_mathematics_is_a_different_object(one, other):
    assert rc.parse(one).expr is not rc.parse(other).expr
    assert rc.parse(one) != rc.parse(other)


COUNTS = [
    ("n = 1[n] 1[n]", "n = |n|", {"n": 5}, 5),
    ("n = delta[i,i]", "n = |i|", {"i": 4}, 4),
    ("n = delta[i,j] delta[j,i]", "n = |i|", {"i": 4}, 4),
    ("n = 1[i,j] 1[i,j]", "n = |i| |j|", {"i": 4, "j": 3}, 12),
    ("n = 1[i] 1[i]", "n = |i|", {"i": 0}, 0),
    ("y[i,j] = 1[i] 1[j]", "y[i,j] = 1[i,j]", {"i": 2, "j": 3}, np.ones((2, 3))),
    ("y[i,j] = 0[i] 1[j]", "y[i,j] = 0[i,j]", {"i": 2, "j": 3}, np.zeros((2, 3))),
    ("y[i,j] = delta[i,j]", "y[i,j] = delta[j,i]", {"i": 3, "j": 3}, np.eye(3)),
]


@pytest.mark.parametrize("one, other, sizes, value", COUNTS)
def test_structures_alone_need_only_sizes(one, other, sizes, value):
    assert rc.parse(one) == rc.parse(other)
    assert_same(rc.parse(one)(sizes=sizes), value)
    assert_same(rc.parse(one, sizes=sizes)(), value)


def test_a_dummy_is_summed_and_a_free_index_is_not():
    a, b = np.arange(3.0), np.arange(3.0) + 1
    assert_same(rc.parse("s = a[i] b[i]")(a=a, b=b), a @ b)
    assert_same(rc.parse("s[i] = a[i] b[i]")(a=a, b=b), a * b)


def test_the_one_tensor_broadcasts():
    y = rc.parse("a[i,j] = 1[i] b[j]")
    assert_same(y(b=[1.0, 2.0], sizes={"i": 3}), np.tile([1.0, 2.0], (3, 1)))
    assert_same(y(b=[1.0, 2.0], sizes={"i": 0}), np.zeros((0, 2)))


@pytest.mark.parametrize(
    "text, message",
    [
        ("y[i,j] = x[i,j] + b[j]", "This term has the free indices [j] where [i,j] are wanted."),
        ("y[i] = a[i] + b[j]", "Index 'j' occurs once in its term and is not on the left side."),
        ("y[i,j] = b[i,j] (c[i,j] + d[j])", "This term has the free indices [j] where [i,j] are wanted."),
        ("t = A^i B^i", "Index 'i' is summed and stands above and above."),
        ("y^i = A_{i}", "Index 'i' stands above on the left and below here."),
        ("y[i] = A^i", "Index 'i' stands in brackets on the left and above here."),
    ],
)
def test_what_the_rules_do_not_allow(text, message):
    with pytest.raises(rc.NotationError) as caught:
        rc.parse(text)
    assert caught.value.message == message


# The product *(s1, s2, s3)


def star(s1, s2, s3, a, b):
    """The product of the theory; the names are single letters."""
    return rc.einsum(f"{s1},{s2}->{s3}", a, b)


STARS = ["ik,kj->ij", "bik,bkj->bij", "i,i->", "i,j->ij", "ij,ij->ij", ",ij->ij", "i,->i", "ij,j->ij", "ij,j->i"]
STARS += ["ij,j->j", "ij,kl->il", "ii,i->i", "ii,ij->j", "i,i->i", "i,j->", "ij,ji->", "ijk,jk->ki"]


@pytest.mark.parametrize("pattern", STARS)
@pytest.mark.parametrize("size", [3, 1, 0])
def test_the_product_sums_what_is_not_in_the_output(pattern, size):
    s1, s2, s3 = re.split(",|->", pattern)
    a = rc.variable(f"A[{','.join('mnpq'[: len(s1)])}]" if s1 else "A")
    b = rc.variable(f"B[{','.join('rstu'[: len(s2)])}]" if s2 else "B")
    lengths = {name: size + place % 2 if size else 0 for place, name in enumerate("bijkl")}
    random = np.random.default_rng(1)
    left, right = (random.normal(size=[lengths[n] for n in s]) for s in (s1, s2))
    y = star(s1, s2, s3, a, b)
    assert y.indices == tuple(s3)
    assert_same(y(A=left, B=right), np.einsum(pattern, left, right))
    assert star(s2, s1, s3, b, a).expr is y.expr  # commutative


@pytest.mark.parametrize("pattern", [p for p in STARS if not re.match(r"(\w)\1", p)])
def test_the_product_is_distributive(pattern):
    s1, s2, s3 = re.split(",|->", pattern)
    named = lambda name, s: rc.variable(f"{name}[{','.join(s)}]" if s else name)  # noqa: E731
    a, b, c = named("A", s1), named("B", s2), named("C", s2)
    apart, together = star(s1, s2, s3, a, b) + star(s1, s2, s3, a, c), star(s1, s2, s3, a, b + c)
    random = np.random.default_rng(2)
    given = {n: random.normal(size=[3] * len(s)) for n, s in (("A", s1), ("B", s2), ("C", s2))}
    assert_same(apart(**given), together(**given))
    if not set(s1 + s2) - set(s3):  # without a sum, the common factor is taken out by itself
        assert apart == together


@pytest.mark.parametrize(
    "s1, s2, s3, s4", [("ij", "jk", "ik", "l"), ("i", "j", "ij", "kl"), ("i", "i", "", "j"), ("ij", "ij", "j", "k")]
)
def test_the_product_is_associative(s1, s2, s3, s4):
    """s3 is within s1 and s2, and s4 has nothing of them."""
    a = rc.variable(f"A[{','.join(s1)}]")
    b, c = rc.variable(f"B[{','.join(s2 + s4)}]"), rc.variable(f"C[{','.join(s4)}]")
    left = star(s3 + s4, s4, s3, star(s1, s2 + s4, s3 + s4, a, b), c)
    right = star(s1, s2, s3, a, star(s2 + s4, s4, s2, b, c))
    assert left.expr is right.expr
    random = np.random.default_rng(3)
    for lengths in ({"i": 2, "j": 3, "k": 4, "l": 2}, {"i": 1, "j": 2, "k": 0, "l": 1}):
        given = {n: random.normal(size=[lengths[x] for x in s]) for n, s in (("A", s1), ("B", s2 + s4), ("C", s4))}
        expected = np.einsum(f"{s1},{s2}{s4},{s4}->{s3}", given["A"], given["B"], given["C"])
        assert_same(left(**given), expected)
        assert_same(right(**given), expected)


def test_the_step_of_a_derivative():
    D, h = rc.tensors("D[i,j,p,q] h[p,q]")
    step = rc.einsum("i j p q, p q -> i j", D, h)
    assert step == rc.parse("s[i,j] = D[i,j,p,q] h[p,q]")
    given = arrays("D[i,j,k,l] h[k,l]", SIZES[0])
    assert_same(step(**given), np.tensordot(given["D"], given["h"], 2))


UNARY = ["ij->ji", "ii->i", "ii->", "i->", "ij->i", "ij->j", "ij->", "ijk->kij", "iji->j", "iii->"]


@pytest.mark.parametrize("pattern", UNARY)
@pytest.mark.parametrize("size", [3, 1, 0])
def test_the_common_cases_of_one_operand(pattern, size):
    order = pattern.index("-")
    a = rc.variable(f"A[{','.join('pqr'[:order])}]")
    array = np.random.default_rng(4).normal(size=[size] * order)
    assert_same(rc.einsum(pattern, a)(A=array), np.einsum(pattern, array))


@pytest.mark.parametrize(
    "text, spec, value",
    [
        ("y[i] = sum[j](maximum(a[i,j], b[j]))", "a[i,j] b[j]", lambda a, b: np.maximum(a, b).sum(1)),
        (
            "y[i,j] = 1[k] abs(a[i,k] 1[j] - 1[i] b[k,j])",
            "a[i,k] b[k,j]",
            lambda a, b: np.abs(a[:, :, None] - b).sum(1),
        ),
        ("y[i,j] = 1[k] exp(a[i,k] b[k,j])", "a[i,k] b[k,j]", lambda a, b: np.exp(a[:, :, None] * b).sum(1)),
    ],
)
def test_any_operation_may_combine(text, spec, value):
    """op(s1, s2, s3), summed over what is not in the output."""
    for seed, sizes in enumerate(SIZES):
        given = arrays(spec, sizes, seed)
        assert_same(rc.parse(text)(**given), value(**given))
