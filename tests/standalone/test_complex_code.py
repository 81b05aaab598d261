"""Code to keep of formulas with complex numbers."""

import numpy as np
import pytest

import ricci as rc

CASES = [  # a text, its complex names, and what it is differentiated by
    ("l = abs(A[i,j] z[j] - b[i])**2 1[i]", "A z b", ["conj(z)"]),
    ("l = abs(A[i,j] z[j] - b[i])**2 1[i]", "A z b", []),
    ("y[i] = exp(1j t[i]) z[i] + 1j/3 sqrt(z[i])", "z", ["z"]),
    ("y[i] = angle(z[i]) z[i]/abs(z[i]) + 2.5j", "z", []),
    ("y = real(conj(z[i]) w[i]) + imag(w[i] z[i])", "z w", []),
]


def made(text, names, by):
    f = rc.parse(text, complex=names)
    return f.diff(*by) if by else f


def values(f, names):
    rng = np.random.default_rng(1)
    inputs = {name: n for name, n in f.context.facts.inputs.items() if name in f.variables}
    drawn = {name: rng.normal(size=(3,) * n) + 1j * rng.normal(size=(3,) * n) for name, n in inputs.items()}
    return {name: x if name in names.split() else x.real for name, x in drawn.items()}


@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
@pytest.mark.parametrize(("text", "names", "by"), CASES)
def test_code_computes_what_the_formula_does(text, names, by, library):
    module = pytest.importorskip(library)
    f = made(text, names, by)
    given = values(f, names)
    namespace: dict = {}
    exec(str(f.code(library, name="kept")), namespace)
    arrays = {name: module.from_numpy(x.copy()) for name, x in given.items()} if library == "torch" else given
    np.testing.assert_allclose(np.asarray(namespace["kept"](**arrays)), f(**given), rtol=1e-4)


def test_julia_and_latex():
    f = made(*CASES[0])
    assert "conj(A[i, j])" in f.code("julia")
    assert r"\overline{A_{i j}}" in f.code("latex")
    assert "1im * t[i]" in rc.parse("y[i] = exp(1j t[i])").code("julia")


def test_c_is_of_real_numbers():
    with pytest.raises(rc.RuleError, match="there are complex ones"):
        made(*CASES[0]).code("c", sizes={"i": 3, "j": 3})
