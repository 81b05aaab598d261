"""Texts and LaTeX with complex numbers: what is read, what is written, and Wirtinger's derivatives of it."""

import numpy as np
import pytest

import ricci as rc

SQUARES = "l = abs(A[i,j] z[j] - b[i])**2 1[i]"


def numbers(*shape, seed=0):
    rng = np.random.default_rng([seed, *shape])
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


@pytest.fixture(scope="module")
def squares():
    return rc.parse(SQUARES, complex="A z b")


def test_least_squares(squares):
    assert str(squares.diff("conj(z[k])")) == "dl_dconj_z[k] = conj(A[i,k]) (A[i,j] z[j] - b[i])"
    assert squares.diff("conj(z)").latex() == (
        r"\frac{\partial l}{\partial \overline{z_{j}}} = \overline{A_{ij}} \left(A_{ij'} z_{j'} - b_{i}\right)"
    )
    assert str(squares.diff("z[p]", "conj(z[q])")) == "d2l_dz_dconj_z[p,q] = A[i,p] conj(A[i,q])"
    assert squares.diff("z̄") == squares.diff("conj(z)") == rc.parse(f"{SQUARES}; D(l, conj(z[j]))", complex="A z b")


@pytest.mark.parametrize("backend", ["numpy", "torch", "jax"])
def test_values_of_all_backends(squares, backend):
    pytest.importorskip(backend)
    values = {"A": numbers(4, 3), "z": numbers(3), "b": numbers(4)}
    gradient = values["A"].conj().T @ (values["A"] @ values["z"] - values["b"])
    made = squares.diff("conj(z)").compile(backend)(**values)
    np.testing.assert_allclose(np.asarray(made), gradient, rtol=1e-5)


def test_real_values_of_complex_names(squares):
    values = {name: x.real for name, x in {"A": numbers(4, 3), "z": numbers(3), "b": numbers(4)}.items()}
    real = rc.parse(SQUARES)
    np.testing.assert_allclose(squares.diff("conj(z)")(**values), real.diff("z")(**values) / 2)


def test_complex_values_of_real_names_are_refused():
    with pytest.raises(rc.DTypeError, match=r'complex="x"'):
        rc.parse("y[i] = x[i]**2")(x=numbers(3))


TEXTS = [  # a text, its complex names, and how it is printed
    ("y[i] = exp(1j * k[i] x)", "", "y[i] = exp(1j k[i] x)"),
    ("y = 0.5j z + 2.5j", "z", None),
    ("y = 3j/4 z", "z", "y = 3j/4 z"),
    ("y[i] = z̄[i] w[i]", "z w", "y[i] = conj(z[i]) w[i]"),
    ("y = conj(z[i]) z[i]", "z", "y = 1[i] abs(z[i])**2"),
    ("y[i] = sign(conj(b[i]) - conj(A[i,j]) conj(z[j]))", "A b z", "y[i] = conj(sign(b[i] - A[i,j] z[j]))"),
    ("y[i] = conj(z[i+1]) w[i]", "z", None),
    ("y = x[2j] w[j] + abs(z[i])**3 1[i]", "z", None),
    ("y = real(z) + 1j imag(z) + angle(z)", "z", None),
    ("w[i] = A[i,j] z[j]; y = conj(w[i]) v[i] + 1[i] real(w[i])", "A z", None),
    ("r[i,j] = z[i] conj(z[j])", "z", "r[i,j] = z[i] conj(z[j])"),
    ("y = 1/conj(z) + conj(z)**a + 2j**2", "z", None),
]


@pytest.mark.parametrize(("text", "names", "printed"), TEXTS)
def test_texts_come_back(text, names, printed):
    f = rc.parse(text, complex=names or None)
    assert printed is None or str(f) == printed
    assert rc.parse(str(f), complex=names or None) == f
    assert rc.parse(f.latex(), complex=names or None, latex=True) == f


LATEX = [
    (r"l = \lVert A_{ij} z_j - b_i \rVert^2", "A z b", SQUARES),
    (r"l = \sum_i \left|A_{ij} z_j - b_i\right|^2", "A z b", SQUARES),
    (r"y = \bar z_i w_i", "z w", "y = conj(z[i]) w[i]"),
    (r"y = \overline{z_i} \, w_i", "z w", "y = conj(z[i]) w[i]"),
    (r"y = z^*_i w_i", "z w", "y = conj(z[i]) w[i]"),
    (r"y_k = A^H_{ki} b_i", "A b", "y[k] = conj(A[i,k]) b[i]"),
    (r"y_k = A^{\mathsf{H}}_{ki} b_i", "A b", "y[k] = conj(A[i,k]) b[i]"),
    (r"y_k = A^\dagger_{ki} b_i", "A b", "y[k] = conj(A[i,k]) b[i]"),
    (r"y_i = (A_{ij} z_j)^*", "A z", "y[i] = conj(A[i,j] z[j])"),
    (r"y_i = e^{\mathrm{i} k_i x}", "", "y[i] = exp(1j k[i] x)"),
    (r"y_i = \imath z_i", "z", "y[i] = 1j z[i]"),
    (r"y = \Re(z) + \Im w - \arg(z)", "z w", "y = real(z) + imag(w) - angle(z)"),
    (r"w_i = A_{ij} z_j \\ y = \bar w_i w_i", "A z", "y = abs(A[i,j] z[j])**2 1[i]"),
    (r"l = |z_i|^2 \mathbf{1}_i \\ g_k = \frac{\partial l}{\partial \bar z_k}", "z", "g[k] = z[k]"),
    (r"l = |z_i|^2 \mathbf{1}_i \\ g_k = \partial_{\overline{z_k}} l", "z", "g[k] = z[k]"),
    (r"y = \bar{x}_i w_i", "", "y = x_bar[i] w[i]"),
]


@pytest.mark.parametrize(("text", "names", "same"), LATEX)
def test_latex_is_read(text, names, same):
    assert rc.parse(text, complex=names or None, latex=True) == rc.parse(same, complex=names or None)


def test_an_imaginary_number_is_not_guessed():
    with pytest.raises(rc.NotationError, match=r"Write 2\*j"):
        rc.parse("y = 2j x + j")
    assert rc.parse("y = 2 * j x").variables == ("j", "x")
    assert rc.parse("y[k] = 2j[k] x").variables == ("j", "x")
    assert rc.parse(r"y_i = \mathit{i} x_i", latex=True).variables == ("i", "x")


def test_declarations():
    f = rc.parse("E = conj(x[i]) A[i,j] x[j]", hermitian="A", complex="x")
    assert str(f.diff("conj(x[k])")) == "dE_dconj_x[k] = A[k,i] x[i]"
    assert rc.parse("y[i,j] = conj(A[j,i])", hermitian="A") == rc.parse("y[i,j] = A[i,j]", hermitian="A")
    with pytest.raises(rc.InputError, match="Hermitian, is its transpose"):
        f.diff("conj(A)")
    a = numbers(3, 3)
    with pytest.raises(rc.InputError, match="declared hermitian, and its value is not"):
        f(A=a, x=numbers(3))
    assert abs(f(A=a + a.conj().T, x=numbers(3)).imag) < 1e-12
    u = rc.parse("l = abs(U[i,j] z[j] - b[i])**2 1[i]", unitary="U", complex="z b")
    assert str(u.diff("conj(z[k])")) == "dl_dconj_z[k] = z[k] - conj(U[i,k]) b[i]"
    with pytest.raises(rc.InputError, match="such matrices are unitary"):
        rc.parse("y[i] = Q[i,j] x[j]", orthogonal="Q", complex="Q")
    with pytest.raises(rc.InputError, match="real in another"):
        str(rc.parse("y[i] = z[i]**2", complex="z") + rc.parse("y[i] = z[i]"))
    with pytest.raises(rc.InputError, match="no such input"):
        rc.parse("y[i] = z[i]**2", complex="Z")


def test_variables():
    S, z = rc.tensors("S[i,j]: complex symmetric z[j]: complex")
    assert S.expr.complex and S.expr.data[1] == "symmetric" and z.expr.complex
    assert str((S * z).sum("j")) == "S[i,j] z[j]"
    z = rc.variable("z", 2 + 1j)
    assert (z * z)() == 3 + 4j
    assert rc.variable("H[i,j]: hermitian").expr.complex


def test_a_derivative_by_a_definition():
    f = rc.parse("w[i] = A[i,j] z[j]; l = abs(w[i])**2 1[i] + real(w[i]) 1[i]", complex="A z")
    assert f.diff("conj(w[i])") == rc.parse("w[i] = A[i,j] z[j]; g[i] = w[i] + 1/2 1[i]", complex="A z")


MATRICES = [  # index notation, complex names, how it is in matrix notation
    ("g[j] = conj(A[i,j]) (A[i,k] z[k] - b[i])", "A z b", "Aᴴ (A z - b)"),
    ("g[j] = A[i,j] conj(A[i,k] z[k] - b[i])", "A z b", "Aᵀ conj(A z - b)"),
    ("s = conj(a[i]) A[i,j] b[j]", "a A b", "aᴴ A b"),
    ("s = real(a[i] conj(b[i]))", "a b", "real(bᴴ a)"),
    ("s = abs(A[i,j])**2 1[i,j]", "A", "‖A‖_F²"),
    ("R[i,j] = a[i] conj(b[j]) + 3j/4 conj(A[j,i])", "a b A", "a bᴴ + 3j/4 Aᴴ"),
    ("y[i] = conj(A[i,j]) exp(1j t[j])", "A", "conj(A) exp.(1j t)"),
]


@pytest.mark.parametrize(("text", "names", "written"), MATRICES)
def test_matrix_notation_comes_back(text, names, written):
    f = rc.parse(text, complex=names)
    assert f.matrix() == written
    inputs = f.context.facts.inputs
    declared = " ".join([f"{name}: {('scalar', 'vector', 'matrix')[order]}" for name, order in inputs.items()])
    values = {name: numbers(*(3,) * order) for name, order in inputs.items()}
    values = {name: x if name in names else x.real for name, x in values.items()}
    for shown in (f.matrix(), f.matrix(latex=True)):
        np.testing.assert_allclose(rc.matrix(shown, declared, complex=names)(**values), f(**values))


def test_primes_of_the_matrix_language():
    adjoint = rc.matrix("A'*b", complex="A b")
    for text in (
        "Aᴴ*b",
        "A.H*b",
        "A^H*b",
        "A.conj().T @ b",
        r"A^{\mathsf{H}} b",
        r"A^\dagger b",
        r"\overline{A}^\top b",
    ):
        assert rc.matrix(text, complex="A b") == adjoint, text
    plain = rc.matrix("A.T*b", complex="A b")
    assert rc.matrix("A.'*b", complex="A b") == rc.matrix("Aᵀ b", complex="A b") == plain != adjoint
    assert rc.matrix("A'*b") == rc.matrix("A.T*b")
    assert rc.matrix("norm2(A*z - b)^2", "z: complex", complex="A b").diff("conj(z)").matrix() == "Aᴴ (A z - b)"
    assert rc.matrix("2i*A*z + 1j*b", complex="A b z") == rc.matrix(r"2\mathrm{i} A z + \imath b", complex="A b z")
    with pytest.raises(rc.NotationError, match="two readings"):
        rc.matrix(r"A^* b", complex="A b")


EQUAL = [
    ("y = (z + 1j)*(z - 1j)", "y = z**2 + 1"),
    ("y = exp(1j x)", "y = cos(x) + 1j sin(x)"),
    ("y = abs(z + w)**2", "y = abs(z)**2 + 2 real(z conj(w)) + abs(w)**2"),
    ("y = 1/z", "y = conj(z)/abs(z)**2"),
    ("y = z/abs(z)", "y = sign(z)"),
    ("y = sin(z)**2 + cos(z)**2", "y = 1 + 0 z"),
]
DIFFERENT = [
    ("y = z z", "y = abs(z)**2"),
    ("y = log(z w)", "y = log(z) + log(w)"),
    ("y = sqrt(z**2)", "y = z"),
    ("y = conj(z)", "y = z"),
]


@pytest.mark.parametrize(("one", "other"), EQUAL + DIFFERENT)
def test_formulas_are_compared_at_complex_points(one, other):
    f, g = [rc.parse(text, complex=[n for n in "zw" if n in text] or None) for text in (one, other)]
    assert f.equivalent(g) is ((one, other) in EQUAL)


def test_a_unitary_matrix_keeps_lengths():
    f = rc.parse("l = abs(U[i,j] z[j])**2 1[i]", unitary="U", complex="z")
    assert f.equivalent(rc.parse("l = abs(z[j])**2 1[j]", complex="z")) is True


def test_recurrences():
    f = rc.parse("h[0] = z; h[t+1] = conj(h[t]) a[t] + 1j h[t]", complex="z a")
    a, z = numbers(3), 1 - 1j
    states = [z]
    for factor in a:
        states.append(np.conj(states[-1]) * factor + 1j * states[-1])
    np.testing.assert_allclose(f(z=z, a=a), states)
    assert rc.parse(str(f), complex="z a") == f
    step = 1e-6
    by_x, by_y = [(f(z=z + d, a=a) - f(z=z - d, a=a)) / (2 * step) for d in (step, 1j * step)]
    np.testing.assert_allclose(f.diff("conj(z)")(z=z, a=a), (by_x + 1j * by_y) / 2, atol=1e-6)


def test_the_page_and_the_command_line(capsys):
    from ricci.cli.commands import main
    from ricci.web.answers import answer
    from ricci.web.tabs import TABS

    declare = "A: complex z: complex b: complex"
    for text in (SQUARES, "norm2(A*z - b)^2", "y[i] = exp(1j x[i])"):
        by = ["conj(z)"] if "z" in text else ["x"]
        assert answer({"text": text, "declare": declare, "by": by, "want": list(TABS)})["ok"]
    for text in (SQUARES, "norm2(A*z - b)^2"):
        assert main(["diff", text, "conj(z)", "--complex", "A z b", "--matrix"]) == 0
        assert capsys.readouterr().out.strip() == "Aᴴ (A z - b)"


def test_arithmetic_and_directions(squares):
    z = rc.variable("z[i]: complex")
    assert str(1j * z + 2) == "1j z[i] + 2"
    assert squares.diff(rc.conj(rc.variable("z[j]: complex"))) == squares.diff("conj(z)")
    values = {"A": numbers(4, 3), "z": numbers(3), "b": numbers(4), "d": numbers(3, seed=1)}
    given = {name: x for name, x in values.items() if name != "d"}
    along = rc.pushforward(squares, {"z": rc.variable("d[j]: complex")})(**values)
    step = 1e-6
    ends = [squares(**{**given, "z": given["z"] + h * values["d"]}) for h in (step, -step)]
    np.testing.assert_allclose(along, (ends[0] - ends[1]) / (2 * step), rtol=1e-6)
