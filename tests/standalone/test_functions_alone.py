"""Every function of the tables, and its derivative, in every library: by itself, and with numbers for operands."""

from __future__ import annotations

import numpy as np
import pytest
from alone import INSTALLED, Batch

import ricci as rc
from ricci.errors import RuleError
from ricci.functions.table import FUNCTIONS

NAMES = sorted(name for name, row in FUNCTIONS.items() if row.complex != "always" and name != "imag")  # of real numbers
SIZED = {"A": (3, 3), "x": (3, 4), "z": (3, 4), "v": (3, 4), "b": (3,)}


def texts(name):
    """Formulas with a function."""
    row = FUNCTIONS[name]
    if row.kind == "elementwise":
        operands = ["x[i,j]", "z[i,j]", "v[i,j]"][: row.arity]
        if name == "polygamma":
            return ["y[i,j] = polygamma(1, x[i,j])"]
        if row.sign and row.sign != "**":
            return [f"y[i,j] = x[i,j] {row.sign} z[i,j]"]
        several = [f"y[i,j] = {name}({operands[0]}, 1/2)"] if row.arity == 2 and not row.sign else []
        return [f"y[i,j] = {name}({', '.join(operands)})", *several] if not row.sign else ["y[i,j] = x[i,j]**z[i,j]"]
    if row.kind in ("reduce", "keep"):
        free = "i" if row.kind == "reduce" else "i,j"
        return [f"y[{free}] = {name}[j](x[i,j])", f"y[{free.replace('i', 'j', 1)[:1]}] = {name}[i](x[i,j])"][
            : 2 if row.kind == "reduce" else 1
        ]
    if name == "solve":
        return ["y[j] = solve[i,j](A[i,j], b[i])"]
    left = {"scalar": "", "vector": "[p]", "matrix": "[p,q]"}.get(row.gives, "")
    return [f"y{left} = {name}(A){left}"]


def values(name):
    """Operands where the function is defined."""
    rng, row = np.random.default_rng(len(name)), FUNCTIONS[name]
    bounds = [*(row.tame or ()), (0.2, 0.8), (0.2, 0.8), (0.2, 0.8)][:3] if row.kind == "elementwise" else [(-1, 1)] * 3
    drawn = [rng.uniform(max(low, -2), min(high, 2.5), (3, 4)) for low, high in bounds]
    basis = rng.normal(size=(3, 3))
    matrix = basis @ basis.T + np.diag([1.0, 2.0, 4.0])
    return {**dict(zip("xzv", drawn, strict=True)), "A": matrix, "b": rng.normal(size=3)}


def formulas(name):
    """The function, and its derivative where there is one."""
    for text in texts(name):
        formula = rc.parse(text)
        yield formula
        try:
            yield formula.diff(formula.variables[0])
        except RuleError:
            continue


@pytest.mark.parametrize("backends", [INSTALLED[:1], pytest.param(INSTALLED[1:], marks=pytest.mark.thorough)])
def test_functions(backends):
    found = Batch()
    for name in NAMES:
        if name == "eigh_vectors":  # which may come with either sign
            continue
        own = values(name)
        for formula in formulas(name):
            known = {n: own[n] for n in formula.context.facts.inputs}
            value = np.asarray(formula(**known))
            for backend in backends:
                found.add(f"{name}: {formula}", formula.code(backend, name="f"), [(known, value)])
    assert found.faults() == []


def test_there_is_a_formula_for_each():
    assert len(NAMES) > 70 and all(texts(name) for name in NAMES)
