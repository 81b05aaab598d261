"""Derivations of Wirtinger's derivatives: a number and its conjugate are independent, and every line follows."""

import pytest

import ricci as rc

CASES = [  # a text, its complex names, and what it is differentiated by
    ("l = abs(A[i,j] z[j] - b[i])**2 1[i]", "A z b", ["conj(z[k])"]),
    ("l = abs(A[i,j] z[j] - b[i])**2 1[i]", "A z b", ["z[p]", "conj(z[q])"]),
    ("r = conj(x[i]) A[i,j] x[j] / (abs(x[k])**2 1[k])", "x A", ["conj(x[p])"]),
    ("y = log(abs(z))", "z", ["z"]),
    ("y = angle(z)", "z", ["conj(z)"]),
    ("y[i] = z[i]/abs(z[i])", "z", ["conj(z[p])"]),
    ("y = abs(a[i] conj(z[i]))**2", "a z", ["conj(z[p])"]),
    ("w[i] = A[i,j] z[j]; l = abs(w[i])**2 1[i]", "A z", ["conj(z[p])"]),
    ("w[i] = A[i,j] z[j]; l = abs(w[i])**2 1[i]", "A z", ["conj(w[p])"]),
    ("y[i] = exp(1j k[i] x)", "", ["x"]),
    ("y = real(z**2) + imag(z)", "z", ["z"]),
    ("y = exp(1j t) conj(exp(1j t))", "", ["t"]),
    ("y = sin(z) conj(z)", "z", ["conj(z)"]),
    ("l = abs(abs(A[i,j] z[j])**2 - b[i])**2 1[i]", "A z", ["conj(z[p])"]),
]


@pytest.mark.parametrize("detail", ["brief", "normal", "full"])
@pytest.mark.parametrize(("text", "names", "by"), CASES)
def test_every_line_follows(text, names, by, detail):
    derived = rc.parse(text, complex=names or None).diff(*by)
    derivation = derived.derivation(detail=detail)
    assert len(derivation) > 2
    assert str(rc.check(derivation)).endswith("Every line follows.")
    assert derivation.latex()
    if names:
        assert any("Wirtinger: " in step.rule for step in derivation)


def test_least_squares_line_by_line():
    f = rc.parse("l = abs(A[i,j] z[j] - b[i])**2 1[i]", complex="A z b")
    lines = [step.text for step in f.diff("conj(z[k])").derivation()]
    assert lines[1] == "l = (A[i,j] z[j] - b[i]) (conj(A[i,j']) conj(z[j']) - conj(b[i]))"
    assert lines[-1].endswith("= (A[i,j] z[j] - b[i]) conj(A[i,k])")


def test_a_claim_by_the_wrong_conjugate_is_found():
    text = "l = abs(A[i,j] z[j] - b[i])**2 1[i]\nD(l, {}) = conj(A[i,k]) (A[i,j] z[j] - b[i])"
    assert str(rc.check(text.format("conj(z[k])"), complex="A z b")).endswith("Every line follows.")
    assert "Line 2 does not follow" in str(rc.check(text.format("z[k]"), complex="A z b"))
