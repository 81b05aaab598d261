"""C: compiled and run, it gives what ricci gives."""

from __future__ import annotations

import numpy as np
import pytest
from compiled_c import CC, called, library

import ricci as rc
from ricci.compiler.prepare.known_sizes import KnownSizes
from ricci.errors import RuleError
from ricci.expr import dims
from ricci.testing.drawn_inputs import draw, size_names
from ricci.testing.identities import identities
from ricci.testing.identity_checks import SIZES, target_sizes, value
from ricci.user.code_requests import wanted_of

pytestmark = pytest.mark.skipif(CC is None, reason="there is no C compiler")
ROWS = identities()
LACKS = {  # what C has no function for
    *("polygamma", "erfinv", "ndtri", "svdvals", "svd_vectors", "qr_q", "pinv"),
    *("cholesky of one triangle", "eigvalsh of one triangle", "eigh_vectors of one triangle"),
}


def all_sizes(formula, inputs, asked):
    """The sizes of all indices, those too that the text has no name for."""
    known = wanted_of([formula], True, "f", None, {})

    sizes = KnownSizes(known.stage, {}, known.named_sizes)
    found = dict(asked)
    for name, array in inputs.items():
        for own, n in zip(
            sizes.names(name, [dims.axis_size(name, k) for k in range(array.ndim)]), array.shape, strict=True
        ):
            if own:
                found.setdefault(own, n)
    return {name: n for name, n in found.items() if name}


def codes(rows, count=2):
    """The C codes of functions and derivatives, with values for them."""
    for number, row in enumerate(rows):
        for order in (0, None):
            formula = row.derivative(order=order)
            names = size_names(row.inputs)
            for seed, sizes in enumerate(SIZES[: count if names else 1]):
                inputs = draw(row.inputs, dict(zip(names, sizes, strict=False)), np.random.default_rng(seed))
                asked = {n: k for n, k in target_sizes(row, inputs).items() if n in formula.indices}
                name = f"f_{number}_{order}_{seed}"
                try:
                    code = formula.code("c", name=name, sizes=all_sizes(formula, inputs, asked))
                except RuleError as error:
                    assert any(str(error).startswith(f"{one} is ") for one in LACKS), (row.name, str(error))
                    continue
                yield row.name, code, inputs, value(formula, inputs, row)


def faults(made, folder):
    made = list(made)
    loaded = library([code for _, code, _, _ in made], folder)
    found = []
    for name, code, inputs, wanted in made:
        one = np.asarray(called(loaded, code, inputs)).reshape(wanted.shape)
        if not np.allclose(one, wanted, rtol=1e-7, atol=1e-9, equal_nan=True):
            found.append(f"{name}, {code.name}: {np.max(np.abs(one - wanted))}")
    return found


def test_some_identities(tmp_path):
    made = list(codes(ROWS[::12], 1))
    assert len(made) > 30
    assert faults(made, tmp_path) == []


@pytest.mark.thorough
def test_all_identities(tmp_path):
    made = list(codes(ROWS))
    assert len(made) > 700
    assert faults(made, tmp_path) == []


def test_a_wrong_code_is_found(tmp_path):
    made = list(codes(ROWS[:2], 1))
    name, code, inputs, wanted = made[0]
    assert faults([(name, code, inputs, wanted + 1), *made[1:]], tmp_path) != []


def test_several_results_and_single_precision(tmp_path):
    loss = rc.parse("l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))")
    inputs = {"y": np.array([1.0, -1.0]), "X": np.array([[1.0, 2.0, 3.0], [0.5, 0.0, 1.0]]), "w": np.ones(3) / 3}
    code = loss.code("c", with_gradient="w", name="both", sizes={"m": 2, "n": 3}, types="float32")
    assert "double" not in code and "float out" not in code
    first, second = called(library([code], tmp_path), code, inputs)
    np.testing.assert_allclose(first, loss(**inputs), rtol=1e-6)
    np.testing.assert_allclose(second, loss.diff("w")(**inputs), rtol=1e-6)


def test_what_is_no_number_stays_so(tmp_path):
    """As in NumPy, whose sort puts it last; the derivatives of exponentials of matrices have four indices."""
    nan = np.array([1.0, np.nan, -2.0])
    texts = ["y[i] = relu(x[i]) + maximum(x[i], 0.5) minimum(0.5, x[i])", "y[i] = sort[i](x[i]) + argsort[i](x[i])"]
    texts += ["y = max[i](x[i])", "y = min[i](x[i])", "y = argmax[i](x[i])", "y[i] = sign(x[i])"]
    made = [(rc.parse(text), {"x": nan}) for text in texts]
    made.append((rc.parse("y[i,j] = expm(A)[i,j]").diff("A"), {"A": np.array([[1.0, 2.0], [0.5, -1.0]])}))
    codes = [f.code("c", name=f"f{k}", sizes=all_sizes(f, given, {})) for k, (f, given) in enumerate(made)]
    loaded = library(codes, tmp_path)
    for code, (f, given) in zip(codes, made, strict=True):
        np.testing.assert_allclose(called(loaded, code, given), f(**given), rtol=1e-12)


def test_places_that_a_function_makes_itself(tmp_path):
    def picked(z, t):
        return (np.cumsum(z, 1) * np.cumprod(z, 0))[np.arange(len(t)), t].sum()

    z, t = np.random.default_rng(0).normal(size=(4, 3)), np.array([0, 2, 1])
    codes = [transform(picked).code("c")(z, t) for transform in (rc.compile, rc.grad)]
    loaded = library(codes, tmp_path)
    np.testing.assert_allclose(called(loaded, codes[0], {"z": z, "t": t}), picked(z, t))
    np.testing.assert_allclose(called(loaded, codes[1], {"z": z, "t": t}), rc.grad(picked)(z, t))


def test_large_arrays_are_not_on_the_stack(tmp_path):
    f = rc.parse("y[i] = (A[i,j] + A[j,i])**3 x[j]")
    code = f.code("c", name="large", sizes={"i": 1200, "j": 1200})
    assert "static double t1[1200][1200];" in code and "static" not in f.code("c", sizes={"i": 12, "j": 12})
    given = {"A": np.ones((1200, 1200)), "x": np.ones(1200)}
    np.testing.assert_allclose(called(library([code], tmp_path), code, given), f(**given))


def test_sizes_must_be_given():
    f = rc.parse("y[i] = A[i,j] x[j]")
    with pytest.raises(RuleError, match=r'all sizes must be given; add sizes=\{"j": 3\}'):
        f.code("c", sizes={"i": 2})
    with pytest.raises(rc.InputError, match="There is no index 'q'"):
        f.code("c", sizes={"i": 2, "q": 3})


def test_loops_and_gathers(tmp_path):
    f = rc.parse("h[0,i] = a[i]; h[t+1,i] = tanh(W[i,j] h[t,j] + x[t,i])")
    rng = np.random.default_rng(0)
    inputs = {"a": rng.normal(size=2), "W": rng.normal(size=(2, 2)), "x": rng.normal(size=(3, 2))}
    g = rc.parse("y[b,d] = table[t[b],d]")
    of_table = {"table": rng.normal(size=(4, 2)), "t": np.array([3, 0, 3])}
    loop = f.code("c", name="loop", sizes={"i": 2, "j": 2, "t": 3})
    gather = g.code("c", name="gather", sizes=all_sizes(g, of_table, {}))
    slope = g.diff("table").code("c", name="slope", sizes=all_sizes(g.diff("table"), of_table, {}))
    loaded = library([loop, gather, slope], tmp_path)
    np.testing.assert_allclose(called(loaded, loop, inputs), f(**inputs))
    np.testing.assert_allclose(called(loaded, gather, of_table), g(**of_table))
    np.testing.assert_allclose(called(loaded, slope, of_table), g.diff("table")(**of_table))


def test_sizes_must_fit():
    f = rc.parse("c[i] = x[i+k] w[k] + b[i]")
    with pytest.raises(rc.InputError, match="do not fit"):
        f.code("c", sizes={"i": 3, "k": 2, "j": 3})
    assert "x[4]" in f.code("c", sizes={"i": 3, "k": 2, "j": 4})
