"""What ``structure()`` says of results: cores, deltas, ones, sums of parts, symmetry, and numbers of entries."""

from __future__ import annotations

import pytest

import ricci as rc

LOGISTIC = "l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))"
FACTORS = "l = 1[i,j] (T[i,j] - U[i,k] V[j,k])**2"
MASKED = "l = 1[i,j] M[i,j] (T[i,j] - U[i,k] V[j,k])**2"

# a formula, what it is differentiated by, the parts, the pairs of axes that may be exchanged
STRUCTURES = [
    # well-known Hessians
    (LOGISTIC, ("w[n]", "w[p]"), "core[n,p]", ["np"]),
    (FACTORS, ("U[i,k]", "U[j,l]"), "delta[i,j] ⊗ core[k,l]", ["ij", "kl"]),
    (MASKED, ("U[i,k]", "U[j,l]"), "delta[i,j] ⊗ core[i,k,l]", ["ij", "kl"]),
    ("f = x[i] x[i]", ("x[p]", "x[q]"), "delta[p,q]", ["pq"]),
    ("f = 1[i] exp(x[i])", ("x[p]", "x[q]"), "delta[p,q] ⊗ core[p]", ["pq"]),
    ("f = exp(a[i] x[i])", ("x[p]", "x[q]"), "scalar ⊗ core[p] ⊗ core[q]", ["pq"]),
    # Jacobians
    ("y[i,j] = x[i,k] a[k,j]", ("x[p,q]",), "delta[i,p] ⊗ core[q,j]", ["ip"]),
    ("y[i] = A[i,j] x[j]", ("A[p,q]",), "delta[i,p] ⊗ core[q]", ["ip"]),
    ("y[i] = x[i]**3", ("x[p]",), "delta[i,p] ⊗ core[i]", ["ip"]),
    ("y[i] = x[i]**3", ("x[p]", "x[q]"), "delta[i,p] ⊗ delta[i,q] ⊗ core[i]", ["ip", "iq", "pq"]),
    ("y[i] = c x[i]", ("x[p]",), "delta[i,p] ⊗ scalar", ["ip"]),
    ("y[i,j] = inv(A)[i,j]", ("A[p,q]",), "core[i,p] ⊗ core[q,j]", []),
    ("y[b,d] = table[t[b],d]", ("table[p,q]",), "delta[d,q] ⊗ structure[b,p]", ["dq"]),
    # ones, zeros, numbers
    ("y[i,j] = 1[i,j]", (), "1[i,j]", []),
    ("y[i,j] = x[i] 1[j]", (), "1[j] ⊗ core[i]", []),
    ("f = 1[i] x[i]", ("x[p]",), "1[p]", []),
    ("f = c[i] x[i] + z[j] z[j]", ("x[p]", "z[q]"), "zero", []),
    ("y[i,j] = 0[i,j]", (), "zero", []),
    ("y[i,j] = delta[i,j]", (), "delta[i,j]", ["ij"]),
    ("y = x[i] x[i]", (), "scalar", []),
    # outer products and sums of parts
    ("y[i,j] = x[i] z[j]", (), "core[i] ⊗ core[j]", []),
    ("y[i,j] = x[i] delta[i,j] + z[i] z[j]", (), "delta[i,j] ⊗ core[i] + core[i] ⊗ core[j]", ["ij"]),
    ("y[i,j] = A[i,j] + B[i,j]", (), "core[i,j]", []),
]


def parts(report: object) -> set[str]:
    return {" ⊗ ".join(sorted(part.split(" ⊗ "))) for part in str(report).partition(";")[0].split(" + ")}


@pytest.mark.parametrize(("text", "wrt", "expected", "exchanges"), STRUCTURES)
def test_structures(text, wrt, expected, exchanges):
    formula = rc.parse(text)
    report = (formula.diff(*wrt) if wrt else formula).structure()
    shown = {str(part) for part in report.parts} or {"zero"}
    assert {" ⊗ ".join(sorted(part.split(" ⊗ "))) for part in shown} == parts(expected)
    assert ["".join(pair) for pair in report.symmetric] == exchanges


@pytest.mark.parametrize(
    ("text", "wrt", "expected"),
    [
        (
            FACTORS,
            ("U[i,k]", "U[j,l]"),
            "block-diagonal, |i| blocks of |k|×|k|: "
            "delta[i,j] ⊗ core[k,l], symmetric in i↔j, k↔l; core k*l, whole i*j*k*l",
        ),
        (LOGISTIC, ("w[n]", "w[p]"), "core[n,p], symmetric; core n*p, whole n*p"),
        (
            "y[i,j] = x[i,k] a[k,j]",
            ("x[p,q]",),
            "block-diagonal, |i| blocks of |j|×|q|: delta[i,p] ⊗ core[q,j], symmetric in i↔p; core j*q, whole i*j*p*q",
        ),
        ("y[i,j] = 0[i,j]", (), "zero; core 0 numbers, whole i*j"),
        ("f = 1[i] x[i]", ("x[p]",), "1[p]; core 0 numbers, whole p"),
    ],
)
def test_text(text, wrt, expected):
    formula = rc.parse(text)
    report = (formula.diff(*wrt) if wrt else formula).structure()
    assert str(report) == repr(report) == expected


def test_default_index_names():
    report = rc.parse(FACTORS).diff("U", "U").structure()
    assert str(report).startswith("block-diagonal, |i| blocks of |k|×|k|: delta[i,i'] ⊗ core[k,k'], symmetric")


@pytest.mark.parametrize(
    ("text", "by", "form"),
    [
        ("y[i] = exp(x[i])", "x", "diagonal"),
        ("y[i] = x[i+1] - x[i+0]**2", "x", "banded, width 2"),
        ("l = 1[i] (x[i+1] - x[i+0]**2)**2", "xx", "banded, width 3"),
        ("l = 1[i] (x[i+1] - x[i+0]**2)**2 + (a[i] x[i])**2", "xx", ""),
        ("y[i] = a[i] x[i+3]", "x", "one diagonal"),
        ("l = 1[t] 1[a] (x[t+1,a] - tanh(A[a,b] x[t+0,b]))**2", "xx", "block-tridiagonal, blocks of |a|×|a|"),
        ("l = 1[t] 1[a] (x[t+2,a] - tanh(A[a,b] x[t+0,b]))**2", "xx", "block-banded, width 5, blocks of |a|×|a|"),
        ("l = 1[i] (x[i,a] A[a,b] x[i,b])**2", "xx", "block-diagonal, |i| blocks of |a|×|a|"),
        ("y[i] = w[k] x[i+k]", "x", ""),  # how wide it is depends on a size
        ("l = logsumexp[i](x[i])", "xx", ""),
        ("y[b] = E[t[b]]", "E", ""),
    ],
)
def test_forms_have_names(text, by, form):
    report = rc.parse(text).diff(*by).structure()
    assert report.form == form
    assert str(report).startswith(f"{form}: ") or not form


def test_the_width_of_a_window_needs_its_size():
    kernel = rc.parse("y[i] = w[k] x[i+k]", sizes={"k": 3}).diff("x").structure()
    assert kernel.form == "banded, width 3" and "banded, width 3" in (kernel._repr_svg_() or "")


def test_sizes_of_core_and_whole():
    sizes = {"i": 100, "j": 7, "k": 5}
    plain = rc.parse(FACTORS, sizes=sizes).diff("U", "U").structure()
    masked = rc.parse(MASKED, sizes=sizes).diff("U", "U").structure()
    assert (plain.core_entries, plain.entries) == (25, 250_000)
    assert (masked.core_entries, masked.entries) == (2_500, 250_000)
    assert str(plain).endswith("core 25 numbers, whole 250000 numbers")
    outer = rc.parse("y[i,j] = z[i] z[j] + x[i] delta[i,j]", sizes={"i": 6, "j": 6}).structure()
    assert (outer.core_entries, outer.entries) == (18, 36)
    assert rc.parse("f = 1[i] x[i]", sizes={"i": 3}).diff("x", "x").structure().core_entries == 0


def test_parts_are_objects():
    (part,) = rc.parse(MASKED).diff("U[i,k]", "U[j,l]").structure().parts
    assert (part.deltas, part.others, part.ones, part.cores) == ((("i", "j"),), (), (), (("i", "k", "l"),))


@pytest.mark.parametrize(
    ("text", "wrt"),
    [
        (LOGISTIC, "w"),
        ("f = x[i] A[i,j] x[j]", "x"),
        ("f = logsumexp[i](x[i])", "x"),
        ("f = norm[i](x[i] - a[i])", "x"),
        ("f = 1[i] sin(A[i,j] x[j]) + exp(x[j] x[j])", "x"),
    ],
)
def test_hessians_are_known_to_be_symmetric(text, wrt):
    assert "symmetric" in str(rc.parse(text).diff(wrt, wrt).structure())


@pytest.mark.parametrize("function", ["tanh", "relu"])
def test_deep_networks(function):
    """By the first weights, the Hessian is a matrix times x[j] x[l]."""
    h = rc.variable("x[j]")
    for layer in range(10):
        h = getattr(rc, function)(rc.einsum("i j, j -> i", rc.variable(f"W{layer}[i,j]"), h))
    report = (h**2).sum().diff("W0[i,j]", "W0[k,l]").structure()
    (part,) = report.parts
    assert ("j",) in part.cores and ("l",) in part.cores
    assert {frozenset(core) for core in part.cores} <= {frozenset(axes) for axes in ("j", "l", "i", "k", "ik")}
    assert ["".join(pair) for pair in report.symmetric] == ["ik", "jl"]


# What a sum inside a product hides


@pytest.mark.parametrize("text", ["f = logsumexp[i](x[i])", "f = 1[m] log(1[k] exp(A[m,k] + 1[m] x[k]))"])
def test_a_core_is_never_larger_than_the_whole(text):
    report = rc.parse(text, sizes={"i": 50} if "[i]" in text else {"k": 50, "m": 4}).diff("x", "x").structure()
    assert report.core_entries <= report.entries  # pyright: ignore[reportOperatorIssue]


@pytest.mark.parametrize("text", ["y[i,j] = x[i] z[j] + delta[i,j]", "y[j,i] = x[i] z[j] + delta[i,j]"])
def test_the_order_of_axes_does_not_hide_parts(text):
    report = rc.parse(text, sizes={"i": 50, "j": 50}).structure()
    assert (len(report.parts), report.core_entries) == (2, 100)


def test_a_diagonal_and_an_outer_product():
    """softmax: a diagonal less an outer product."""
    report = rc.parse("y[i] = softmax[i](x[i])", sizes={"i": 50}).diff("x[j]").structure()
    assert report.core_entries <= 150  # pyright: ignore[reportOperatorIssue]


def test_a_hessian_by_a_matrix_is_symmetric_in_pairs_of_axes():
    """No two axes may be exchanged alone, but (i,j) with (k,l)."""
    report = rc.parse("f = logdet(A)").diff("A[i,j]", "A[k,l]").structure()
    assert "symmetric" in str(report)
