"""``rc.check``: what is said of lines that follow, and of those that do not."""

from __future__ import annotations

import re

import pytest

import ricci as rc

LEAST_SQUARES = """
    l = 1/2 (y[i] - X[i,j] w[j])**2 1[i]
    D(l, w[k]) = (y[i] - X[i,j] w[j]) D(y[i] - X[i,j] w[j], w[k])
               = -(y[i] - X[i,j] w[j]) X[i,k]
               = X[i,j] w[j] X[i,k] + y[i] X[i,k]
"""


def statuses(text: str, **declared) -> list[str]:
    return [verdict.status for verdict in rc.check(text, **declared)]


def test_three_lines_follow_and_the_fourth_does_not():
    report = rc.check(LEAST_SQUARES)
    assert [v.status for v in report] == ["definition", "proved", "proved", "false"]
    assert [v.line for v in report] == [1, 2, 3, 4]
    wrong = report[-1]
    assert (wrong.part, wrong.mistake) == ("y[i] X[i,k]", "sign")
    assert wrong.suggestion == "= X[i,j] w[j] X[i,k] - y[i] X[i,k]"
    assert not report and not report.ok
    assert str(report).splitlines()[-1] == "Line 4 does not follow."
    assert all(len(line) <= 100 for line in str(report).splitlines())


def test_the_line_as_it_should_be_follows():
    mended = LEAST_SQUARES.replace("X[i,k] + y[i]", "X[i,k] - y[i]")
    assert rc.check(mended) and rc.check(mended).ok
    assert str(rc.check(mended)).splitlines()[-1] == "Every line follows."


def test_carets_stand_under_the_part():
    *_, line, carets, _, _, _ = str(rc.check(LEAST_SQUARES)).splitlines()
    assert line[carets.index("^") : carets.rindex("^") + 1] == "y[i] X[i,k]"


def test_what_follows_from_a_mistake_is_said_to():
    report = rc.check(LEAST_SQUARES + "               = y[i] X[i,k] + X[i,k] X[i,j] w[j]\n")
    assert report[-1].status == "false" and report[-1].reason == "follows from line 4, which is wrong"
    assert rc.check(LEAST_SQUARES + "               = -(y[i] - X[i,j] w[j]) X[i,k]")[-1].status == "proved"


def test_rules_are_named():
    report = rc.check(LEAST_SQUARES)
    assert report[1].rules == ("power rule", "chain rule")
    assert "sum rule" in report[2].rules
    assert rc.check("x[i] a[i] = x[k] a[k]")[-1].rules == ("index renaming",)


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("y = x**2; D(y, x) = 2 x", ("power rule",)),
        ("y = abs(x); D(y, x) = sign(x)", ("derivative of abs",)),
        ("y = exp(a x); D(y, x) = a exp(a x)", ("derivative of exp", "chain rule", "constant factor")),
        ("y = u / v; D(y, v) = -u / v**2", ("quotient rule",)),
        ("y = 2**x; D(y, x) = 2**x log(2)", ("derivative of an exponential",)),
        ("y[i] = A[i,j] x[j]; D(y[i], x[k]) = A[i,k]", ("constant factor", "delta substitution")),
        ("f = x[i] A[i,j] x[j]; D(f, x[k]) = A[k,j] x[j] + x[i] A[i,k]", ("product rule", "delta substitution")),
        ("f = log(det(A)); D(f, A[i,j]) = inv(A)[j,i]",
         ("derivative of log", "chain rule", "derivative of det", "delta substitution")),
    ],
)  # fmt: skip
def test_rules_are_those_that_are_used(text, rules):
    assert rc.check(text)[-1].rules == rules


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a[i] b[i] = b[j] a[j]", ["proved"]),
        ("a[i] b[i] = b[i] a[i]  (no sum i)", ["proved"]),
        ("sin(x)**2 + cos(x)**2 = 1", ["proved"]),
        ("D(x[i] A[i,j] x[j], x[k]) = (A[k,j] + A[j,k]) x[j]", ["proved"]),
        ("# a comment = no claim\ny = x**2  # another = one\ny = x x", ["definition", "proved"]),
        ("p = x y; p = y x = 1 x y", ["definition", "proved", "proved"]),
        ("x + 1 = x + 1.000000001", ["false"]),
        ("sin(x) + 1e-12 = sin(x)", ["false"]),
        ("1[i] (x[i] == y[i]) = 0", ["false"]),
        ("where(x > 100, 1, 0) = 0", ["false"]),
        ("A[i,j] = A[j,i]", ["false"]),
        ("x[i] y[j] = x[j] y[i]", ["false"]),
        ("sqrt(x**2) = x", ["false"]),
        ("log(-1 - x**2) = 3", ["open"]),
        ("y = x**2; D(y, x) = 2 x)", ["definition", "unread"]),
        ("y = x**2; D(y, x) = 2 x[i]", ["definition", "unread"]),
        ("= x", ["unread"]),
        ("y = sn(x); D(y, x) = cos(x)", ["unread", "open"]),
        ("D(l, x[p]) = 0[p]", ["open"]),
        (
            "h[0,i] = a[i]; h[t+1,i] = tanh(W[i,j] h[t,j]); s = h[2,i] a[i] = a[i] h[2,i]",
            ["definition"] * 3 + ["proved"],
        ),
    ],
)
def test_statuses(text, expected):
    assert statuses(text) == expected


def test_declarations_are_honoured():
    text = "f = x[i] A[i,j] x[j]; D(f, x[k]) = 2 A[k,j] x[j]"
    assert statuses(text)[-1] == "false" and statuses(text, symmetric="A")[-1] == "proved"
    metric = "s = v^i v_{i}; D(s, v^k) = 2 v_{k}"
    assert statuses(metric, metric="g", symmetric="g")[-1] == "proved"
    assert statuses("y[i] = 2 x[i]; 1[i] 1[i] = 3", sizes={"i": 3})[-1] == "proved"


def test_a_fault_in_one_line_leaves_the_others():
    report = rc.check("y = x**2\nD(y, x) = 2 ) x\n        = 2 x\nz = (x +\nu = x y = y x")
    assert [v.status for v in report] == ["definition", "unread", "proved", "unread", "definition", "proved"]
    assert "never opened" in report[1].reason


def test_derivatives_that_are_names():
    text = "l = x[i] x[i]; D(l, x[p]) = 2 x[p]; D(dl_dx[p], x[q]) = 2 delta[p,q]"
    assert statuses(text) == ["definition", "proved", "proved"]
    assert statuses(text.replace("2 delta", "delta"))[-1] == "false"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("l = x[i] A[i,j] x[j]; dl_dx[k] = x[i] A[i,k] + A[k,i] x[i]", "x[i] A[i,k]"),
        ("l = x[i] A[i,j] x[j]; d2l_dx_dx[k,m] = A[m,k] + A[k,m]", "2 A[k,m]"),
        ("y_1[i] = A[i,j] x[j]; dy_1_dA[i,p,q] = delta[i,p] x[q]", "delta[i,q] x[p]"),
        ("u = x**3; y = u**2; dy/dx = dy/du du/dx = 6 x**5", "6 x**4"),
        (r"y = x^3 \\ \frac{dy}{dx} = 3 x^2", "3 x^3"),
    ],
)
def test_a_derivative_by_its_name_is_a_claim(text, wrong):
    assert rc.check(text) and rc.check(text)[-1].status == "proved"
    assert statuses(f"{text.rpartition('=')[0]}= {wrong}")[-1] == "false"


def test_what_a_formula_prints_is_a_claim():
    f = rc.parse("l = x[i] x[i] x[j] w[j]")
    for g in (f.diff("x"), f.diff("x", "w"), f.diff("x", "x")):
        assert statuses(f"{f}\n{g}")[-1] == "proved"
        assert statuses(f"{f}\n{g} + 1{list(g.indices)}".replace("'i", "i").replace("i',", "i,"))[-1] != "definition"


def test_a_scalar_downstream():
    text = """
        y[i,j] = x[i,k] a[k,j]
        D(l, x[p,q]) = D(l, y[i,j]) D(y[i,j], x[p,q])
                     = D(l, y[i,j]) delta[i,p] a[q,j]
                     = D(l, y[p,j]) a[q,j]
                     = D(l, y[j,p]) a[q,j]
    """
    report = rc.check(text)
    assert [v.status for v in report] == ["definition", "proved", "proved", "proved", "false"]
    assert report[-1].suggestion == "= D(l, y[p,j]) a[q,j]"


def test_the_matrix_language():
    text = """
        f = norm2(A*x - b)^2 = (A*x - b)'*(A*x - b)
                             = x'*A'*A*x - 2*b'*A*x - b'*b
        y = A*x - b
        y = -b + A*x = A'*x - b
        Z = A*B'
        Z' = B*A' = A*B'
        inv(C*D) = inv(D)*inv(C) = inv(C)*inv(D)
        x'*S*y = y'*S*x = tr(S*x*y')
    """
    report = rc.check(text, matrix="S: symmetric")
    good, bad, new = "proved", "false", "definition"
    assert [v.status for v in report] == [new, good, bad, new, good, bad, new, good, bad, good, bad, good, good]
    assert (report[2].part, report[2].mistake) == ("b'*b", "sign")
    assert report[5].mistake == "missing transpose" and report[5].suggestion == "= A x - b"
    assert not rc.check("x'*S*y = y'*S*x", matrix="")


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("D(x'*A*y, x) = y'*A'", "D(x'*A*y, x) = A y"),
        ("y = x'*A\ny = A'*x", "y = (Aᵀ x)ᵀ"),
        ("A*x = x'*A'", "A*x = A x"),
        (r"f = b^\top x \\ \frac{\partial f}{\partial x} = b^\top", r"\frac{\partial f}{\partial x} = b"),
    ],
)
def test_rows_are_no_columns(text: str, suggestion: str):
    report = rc.check(text, matrix="")
    assert (report[-1].status, report[-1].mistake) == ("false", "missing transpose")
    assert report[-1].suggestion == suggestion
    assert rc.check("(x'*A)' = A'*x", matrix="") and rc.check("y = A.T @ x\ny = x @ A", matrix="")


def test_latex_in_aligned_lines():
    report = rc.check(r"""
        \begin{aligned}
        \ell &= \frac{1}{2} \sum_{i} \left(y_{i} - X_{ij} w_{j}\right)^2 && \text{definition} \\
        \frac{\partial \ell}{\partial w_k} &= -\left(y_{i} - X_{ij} w_{j}\right) X_{ik} \\
        &= X_{ij} w_{j} X_{ik} + y_{i} X_{ik}
        \end{aligned}
    """)
    assert [v.status for v in report] == ["definition", "proved", "false"]
    assert (report[2].part, report[2].mistake) == ("y_{i} X_{ik}", "sign")
    assert report[2].suggestion == "= X_{ij} w_{j} X_{ik} - y_{i} X_{ik}"


def test_a_derivation_in_latex_is_checked():
    derivation = rc.parse("l = 1/2 (y[i] - X[i,j] w[j])**2 1[i]").diff("w").derivation()
    assert rc.check(derivation) and rc.check(derivation.latex())
    averaged = rc.parse("y[b,d] = mean[t](x[b,t,d]); f = c[b,d] y[b,d]").diff("x[p,q,r]").derivation()
    assert rc.check(averaged) and rc.check(averaged.latex())


@pytest.mark.parametrize(
    ("text", "matrix"),
    [
        ("f = x'*A*x; D(f, x) = (A + A')*x = A*x + A'*x", ""),
        ("f = x'*A*x; df_dx = (A + A')*x", ""),
        ("f = x'*S*x; ∂f/∂x = 2*S*x", "S: symmetric"),
        ("f = x'*A*x; D(D(f, x), x) = A + A'", ""),
        ("f = norm2(A*x - b)^2; D(f, x) = 2*A'*(A*x - b)", ""),
        ("f = tr(A*X); D(f, X) = A'; df_dX = A'", ""),
        ("f = logdet(X); D(f, X) = inv(X)'", ""),
        ("f = a'*inv(X)*b; D(f, X) = -inv(X)'*a*b'*inv(X)'", ""),
        ("y = A*x; D(y, x) = A; D(y, x)' = A'", ""),
        ("Y = A*X*B; D(Y, X) = A ⊗ B'", ""),
        ("y = lam*x; D(y, lam) = x", ""),
        (r"f = x^\top A x \\ \frac{\partial f}{\partial x} = (A + A^\top) x", ""),
        (r"f = x^\top A x \\ \nabla_x f = (A + A^\top) x", ""),
        (r"f = \operatorname{tr}(A X) \\ \nabla_{X} f = A^\top", ""),
        (r"f = x^\top A x \\ \frac{\partial^2 f}{\partial x \partial x^\top} = A + A^\top", ""),
        (r"f = \mathbf{x}^\top \mathbf{A} \mathbf{b} \\ \partial f / \partial \mathbf{x} = \mathbf{A} \mathbf{b}", ""),
    ],
)
def test_derivatives_in_the_matrix_language(text, matrix):
    report = rc.check(text, matrix=matrix)
    assert report and [v.status for v in report][1:] == ["proved"] * (len(report) - 1), str(report)
    *before, last = text.rpartition("=")
    assert (
        rc.check("".join([*before, f" 2*({last})" if "\\" not in text else f" 2 ({last})"]), matrix=matrix)[-1].status
        == "false"
    )


@pytest.mark.parametrize(
    ("text", "mistake", "suggestion"),
    [
        ("f = x'*A*x; D(f, x) = 2*A*x", "a matrix taken for symmetric", "D(f, x) = (A + Aᵀ) x"),
        ("f = tr(A*X); D(f, X) = A", "missing transpose", "D(f, X) = Aᵀ"),
        ("f = a'*X*b; D(f, X) = b*a'", "missing transpose", "D(f, X) = a bᵀ"),
        ("tr(A*B*C) = tr(A*C*B)", "order of a product", "tr(A*B*C) = tr(A B C)"),
        ("(A*B)' = A'*B'", "order of a product", "(A*B)' = Bᵀ Aᵀ"),
        ("inv(A*B) = inv(A)*inv(B)", "order of a product", "inv(A*B) = B⁻¹ A⁻¹"),
        (r"f = x^\top A x \\ \frac{\partial f}{\partial x} = A x", "one term of the product rule forgotten",
         r"\frac{\partial f}{\partial x} = \left(A + A^{\top}\right) x"),
    ],
)  # fmt: skip
def test_mistakes_in_the_matrix_language(text, mistake, suggestion):
    wrong = rc.check(text, matrix="")[-1]
    assert (wrong.status, wrong.mistake, wrong.suggestion) == ("false", mistake, suggestion)
    assert "[" not in wrong.reason  # there are no indices in these words


def test_what_holds_under_a_condition():
    wrong = rc.check("f = x[i] A[i,j] x[j]; D(f, x[k]) = 2 A[k,j] x[j]")[-1]
    assert (wrong.mistake, wrong.part) == ("a matrix taken for symmetric", "A[k,j]")
    assert "where A is symmetric" in wrong.reason and wrong.suggestion
    wrong = rc.check("sqrt(x**2) = x")[-1]
    assert wrong.mistake == "rule for positive numbers alone"
    assert rc.check("sqrt(x**2) = 2 x")[-1].mistake != "rule for positive numbers alone"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sin(x)**2 - cos(x)**2 = 1", "for x = -1 the left side is 0.4161, the right side 1"),
        ("floor(x) = x", "for x = 0.5 the left side is 0, the right side 0.5"),
        ("max[i](x[i] y[i]) = max[i](x[i]) max[i](y[i])", "for x = ["),
    ],
)
def test_a_point_where_the_sides_differ(text, said):
    (wrong,) = rc.check(text)
    assert wrong.status == "false" and said in wrong.reason and not wrong.suggestion


def test_a_definition_after_its_use_is_no_mistake_of_calculus():
    report = rc.check("f = g + 1; g = x**2; f = 1 + g")
    assert [v.status for v in report] == ["definition", "open", "proved"] and "comes before" in report[1].reason
    assert not report


def test_suggestions_are_in_the_subscripts_of_the_text():
    wrong = rc.check("y_{i} = A_{ij} x_{j}; D(y_{i}, x_{k}) = A_{ki}")[-1]
    assert wrong.suggestion == "D(y_{i}, x_{k}) = A_{i k}" and "A_{k i} should be A_{i k}" in wrong.reason
    assert "occurs once" in rc.check("y_i ;= A_{ij}lambda x_j")[-1].reason
    heights = rc.check("L = 1/2 g_{ij} v^i v^j; D(L, v^k) = g_{kj} v^j + v^k", metric="g")[-1]
    assert "v^" in heights.suggestion or not heights.suggestion


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("pi x = 3.14159 x", "false"),
        ("pi = 3.14159265", "false"),
        ("exp(x) = 2.718281828**x", "false"),
        ("log(2) = 0.693147", "false"),
        ("exp(0.5 x) = sqrt(exp(x))", "proved"),
        ("sin(0.5 x)**2 = 0.5 - 0.5 cos(x)", "agrees"),
        ("floor(x + 0.5) = floor(x - 0.5) + 1", "agrees"),
        ("0.1 + 0.2 = 0.3", "proved"),
    ],
)
def test_numbers_with_a_point_are_what_they_are(text, status):
    assert statuses(text) == [status]


def test_what_holds_of_square_matrices_is_not_said_of_others():
    text = (
        "P[a,b] = X[a,i] inv[i,j](X[m,i] X[m,j]) X[b,j]; Q[a,b] = P[a,c] P[c,b]; Q[a,b] = P[a,b]; Q[a,b] = delta[a,b]"
    )
    assert [v.status != "false" for v in rc.check(text)] == [True, True, True, False]
    assert statuses("f = y[a] X[a,i] inv[i,j](X[m,i] X[m,j]) X[b,j] y[b]; f = y[a] y[a]")[-1] == "false"


@pytest.mark.parametrize(
    "text",
    ["exp(-1000 x) = 0", "tanh(100 x) = sign(x)", "floor(x + 0.999999) = floor(x) + 1", "sin(1e-14) = 0", "1e-13 = 0",
     "sigmoid(50 x) = (x > 0)", "exp(-x**2 / 1e-6) = 0", "x + 1e-12 = x", "sqrt(x**2 + 1e-20) = abs(x)"],
)  # fmt: skip
def test_what_is_nearly_so_does_not_pass(text):
    assert statuses(text) == ["false"]


@pytest.mark.parametrize(
    "text", ["sin(pi) = 0", "cos(pi/2) = 0", "sin(pi + x) = -sin(x)", "(1 + sqrt(5))/2 = 2/(sqrt(5) - 1)"]
)
def test_rounding_accuses_nobody(text):
    assert rc.check(text)


def test_an_index_of_one_line_is_one_in_all():
    """``|d|`` is the size of an index, also in a line that has lost what ``d`` stands on."""
    text = r"""
        p_{i} &= \frac{q_{id} k_{d}}{\sqrt{|d|}} \\
        \frac{\partial p_{i}}{\partial k_{s}} &= \frac{q_{id} \delta_{ds}}{\sqrt{|d|}} \\
        &= \frac{q_{is}}{\sqrt{|d|}}
    """
    assert rc.check(text)
    assert not rc.check(text.replace(r"q_{is}}{\sqrt{|d|}}", r"q_{is}}{\sqrt{|i|}}"))


DECLARED = [
    ("f = x[i] A[i,j] x[j]", {"symmetric": "A"}),
    ("l = (Q[i,j] x[j] - y[i])**2 1[i]", {"orthogonal": "Q"}),
    ("s = x_{i} x^i", {"metric": "g"}),
    ("y[i] = point(x[i]) both(x[i], z[i])", {"functions": "point both"}),
]


@pytest.mark.parametrize(("text", "declared"), DECLARED)
def test_a_derivation_knows_what_is_declared(text, declared):
    derivation = rc.parse(text, **declared).diff("x").derivation()
    assert rc.check(derivation).ok and rc.check(derivation, **declared).ok
    assert not rc.check("\n".join(step.text for step in derivation)).ok


def test_what_is_said_beside_a_derivation_goes_first():
    derivation = rc.parse("f = x[i] A[i,j] x[j]", symmetric="A").diff("x").derivation()
    assert rc.check(derivation, positive="A").ok
    assert not rc.check(derivation, antisymmetric="A").ok


OF_PRODUCT, OF_QUOTIENT = (
    "product rule taken for the product of the derivatives",
    "quotient rule taken for the quotient of the derivatives",
)


INNER = "inner derivative of the chain rule forgotten"


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("norm2(x+y)^2 = norm2(x)^2 + norm2(y)^2", "power of a sum taken apart"),
        ("(A+B)^2 = A^2 + 2*A*B + B^2", "order of a product"),
        ("(A+B)*(A-B) = A^2 - B^2", "order of a product"),
        ("tr(A*B) = tr(A)*tr(B)", "trace of a product taken apart"),
        ("tr(A'*B) = tr(A)*tr(B)", "trace of a product taken apart"),
        ("det(2*A) = 2*det(A)", "number taken out of a function"),
        ("D(norm2(A*x - b)^2, x) = 2*(A*x - b)", INNER),
        ("D(logdet(A*X), X) = inv(A*X)'", INNER),
        ("l = (A[i,j] x[j] - b[i])**2 1[i]; D(l, x[k]) = 2 (A[k,j] x[j] - b[k])", INNER),
        ("sqrt(a**2 + b**2) = a + b", "root of a sum taken apart"),
        ("log(x/y) = log(x)/log(y)", "function of a product taken apart"),
        ("sum[i](x[i] y[i]) = sum[i](x[i]) sum[j](y[j])", "function of a product taken apart"),
        ("log(x)/log(y) = log(x) - log(y)", "functions put together"),
        ("y = log(x**2) = log(x)**2", "power taken out of a function"),
        (r"\sin(x)^2 = \sin(x^2)", "power taken out of a function"),
        ("x**2 + x**3 = x**5", "sum of powers taken for a power"),
        ("D(exp(2 x), x) = 2 x exp(2 x - 1)", "power rule for an exponential"),
        ("D(a**x, x) = x a**(x - 1)", "power rule for an exponential"),
        ("D(exp(x**2 + x), x) = exp(2 x + 1)", "derivative put into the function"),
    ],
)
def test_rewritings_that_there_are_not(text: str, mistake: str):
    matrix = "" if re.search(r"[A-Z]|norm2", text.replace("D(", "")) and "[" not in text else None
    wrong = rc.check(text, matrix=matrix)[-1]
    assert (wrong.status, wrong.mistake) == ("false", mistake)


@pytest.mark.parametrize(
    ("text", "mistake", "suggestion"),
    [
        ("y = x**2 sin(x); D(y, x) = 2 x cos(x)", OF_PRODUCT, "D(y, x) = 2 x sin(x) + x**2 cos(x)"),
        ("u = x**2; y = u sin(x); D(y, x) = 2 x cos(x)", OF_PRODUCT, "D(y, x) = 2 x sin(x) + u cos(x)"),
        ("D(x exp(x), x) = exp(x)", OF_PRODUCT, "D(x exp(x), x) = exp(x) (1 + x)"),
        ("y = sin(x)/x; D(y, x) = cos(x)", OF_QUOTIENT, "D(y, x) = (cos(x) x - sin(x)) / x**2"),
        (r"y = -x^2 \sin(x) \\ \frac{\partial y}{\partial x} = -2 x \cos(x)", OF_PRODUCT, ""),
    ],
)
def test_rules_that_there_are_not(text, mistake, suggestion):
    wrong = rc.check(text)[-1]
    assert (wrong.status, wrong.mistake) == ("false", mistake) and suggestion in wrong.suggestion


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        (
            "p[i] = exp(z[i]) / (1[k] exp(z[k])); D(p[i], z[j]) = p[i] (1 - p[j])",
            "D(p[i], z[j]) = p[i] (delta[i,j] - 1[i] p[j])",
        ),
        ("s = g_{ij} v^i v^j; D(s, v^k) = v_{k} s", "D(s, v^k) = 2 g_{k i} v^i"),
    ],
)
def test_where_no_change_helps_the_line_is_said_in_the_words_of_its_author(text, suggestion):
    wrong = rc.check(text, metric="g" if "g_" in text else None)[-1]
    assert wrong.status == "false" and wrong.suggestion == suggestion


@pytest.mark.parametrize(
    ("text", "suggestion", "reason"),
    [
        ("v = x[i] x[i] - m**2; v = x[i] x[i] - 2 m**2", "v = x[i] x[i] - m**2", "2 should be 1"),
        ("y = sqrt(x**2 + a); D(y, x) = 1/(2 sqrt(x**2 + a))", "D(y, x) = 1/sqrt(x**2 + a) x", "the factor 2 x"),
        ("y = exp(-x**2); D(y, x) = exp(-x**2)", "D(y, x) = -2 exp(-x**2) x", "the factor -2 x"),
    ],
)
def test_numbers_of_the_line_as_it_should_be_are_one_number(text, suggestion, reason):
    wrong = rc.check(text)[-1]
    assert wrong.suggestion == suggestion and reason in wrong.reason


@pytest.mark.parametrize("text", ["det(A + B) = det(A) + det(B)", "inv(A + B) = inv(A) + inv(B)"])
def test_functions_of_matrices_taken_apart(text):
    assert rc.check(text, matrix="")[-1].mistake == "function of a sum taken apart"


COMPLEX_TEXTS = [  # a text, what is declared, and whether its last line follows
    ("y = z conj(z)\n= abs(z)**2", {"complex": "z"}, True),
    ("y = z conj(z)\n= z**2", {"complex": "z"}, False),
    ("y = log(z w)\n= log(z) + log(w)", {"complex": "z w"}, False),
    ("E = conj(z[i]) H[i,j] z[j]\nconj(E) = E", {"complex": "z", "hermitian": "H"}, True),
    ("E = conj(z[i]) H[i,j] z[j]\nconj(E) = E", {"complex": "z H"}, False),
    (r"l = \overline{z} z \\ \frac{\partial l}{\partial \overline{z}} = z", {"complex": "z"}, True),
    ("f = norm2(A*z-b)^2\nD(f, conj(z)) = A'*(A*z-b)", {"matrix": "A: complex z: complex b: complex"}, True),
    ("f = norm2(A*z-b)^2\nD(f, z) = A'*(A*z-b)", {"matrix": "A: complex z: complex b: complex"}, False),
]


@pytest.mark.parametrize(("text", "declared", "follows"), COMPLEX_TEXTS)
def test_complex_numbers(text, declared, follows):
    assert ("Every line follows." in str(rc.check(text, **declared))) is follows


def test_a_point_of_complex_numbers_is_said():
    assert "for z = -1-2j the left side is 5" in str(rc.check("y = z conj(z)\n= z**2", complex="z"))
