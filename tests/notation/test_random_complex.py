"""Random formulas of complex numbers: they read back, as text and as LaTeX, and so do their derivatives by a variable
and by its conjugate, which agree with differences in both directions."""

import random

import numpy as np
import pytest

import ricci as rc

NAMES = ("z", "w", "c", "A")
LEAVES = ("z[i]", "w[i]", "conj(z[i])", "x[i]", "1j", "2.5j", "c", "3", "A[i,j] conj(z[j])", "A[i,j] exp(z[j])")
FORMS = ("({0} + {1})", "({0} - {1})", "conj({0})", "abs({0})**2", "exp(0.3j ({0}))", "real({0})", "imag({0})",
         "({0})**2", "sin(0.2 ({0}))", "({0}) / (abs({1})**2 + 2)", "conj({0}) * ({1})")  # fmt: skip


def expression(rng, depth):
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(LEAVES)
    form = rng.choice(FORMS)
    parts = [expression(rng, depth - 1) for _ in range(form.count("{"))]
    if "* ({1})" in form and all("A[" in part for part in parts):  # where j would be one index in both
        parts[0] = "z[i]"
    return form.format(*parts)


def formula(seed):
    rng = random.Random(seed)
    text = f"y[i] = {expression(rng, 3)} + z[i]"
    return rc.parse(text, complex=[n for n in NAMES if n == "z" or f"{n}[" in text or (n == "c" and " c" in text)])


def read_again(f, text, latex):
    used = [name for name in f.context.facts.complex if name in f.variables]
    return rc.parse(text, complex=used or None, latex=latex)


def values(f):
    rng = np.random.default_rng(0)
    drawn = {n: rng.normal(size=(2,) * k) + 1j * rng.normal(size=(2,) * k) for n, k in f.context.facts.inputs.items()}
    return {name: x if name in f.context.facts.complex else x.real for name, x in drawn.items()}


@pytest.mark.parametrize("part", range(4))
def test_formulas_and_their_derivatives(part):
    done = 0
    for seed in range(12 * part, 12 * part + 12):
        try:
            f = formula(seed)
        except rc.NotationError:  # whose indices meet, or a name that is not there
            continue
        done += 1
        by_z, by_conj = f.diff("z"), f.diff("conj(z)")
        for g in (f, by_z, by_conj):
            assert read_again(g, str(g), False) == g, seed
            assert read_again(g, g.latex(), True) == g, seed
        given, step = values(f), 1e-6
        for k in range(2):
            ends = []
            for change in (step, -step, 1j * step, -1j * step):
                moved = given["z"].copy()
                moved[k] += change
                ends.append(f(**{**given, "z": moved}))
            by_x, by_y = (ends[0] - ends[1]) / (2 * step), (ends[2] - ends[3]) / (2 * step)
            sizes = dict.fromkeys(by_z.indices, 2)
            for g, sign in ((by_z, -1j), (by_conj, 1j)):
                used = {name: given[name] for name in g.variables}
                found = g(**used, sizes={n: s for n, s in sizes.items() if n in g.indices})[:, k]
                np.testing.assert_allclose(found, (by_x + sign * by_y) / 2, atol=2e-6, rtol=1e-5, err_msg=str(seed))
    assert done > 5
