"""The code of every identity, of its function and of its derivative, gives what ricci gives, where ricci is not."""

from __future__ import annotations

import numpy as np
import pytest
from alone import INSTALLED, Batch

import ricci as rc
from ricci.testing.drawn_inputs import draw, size_names
from ricci.testing.identities import identities
from ricci.testing.identity_checks import SIZES, target_sizes, value

ROWS = identities()
SOME, FEW = ROWS[::12], ROWS[::36]  # JAX compiles each operation by itself


def calls(row, formula):
    """Two sizes, and where nothing has a size, one."""
    names = size_names(row.inputs)
    for seed, sizes in enumerate(SIZES[:2]):
        inputs = draw(row.inputs, dict(zip(names, sizes, strict=False)), np.random.default_rng(seed))
        yield {**target_sizes(row, inputs), **inputs}, value(formula, inputs, row)
        if not names:
            return


def batch(rows, backends):
    found = Batch()
    for row in rows:
        for order in (0, None):
            formula = row.derivative(order=order)
            own = list(calls(row, formula))
            for backend in backends:
                found.add(f"{row.name}, {order}", formula.code(backend, name="f"), own)
    return found


def test_some_identities():
    found = batch(SOME, [name for name in INSTALLED if name != "jax"])
    found.codes += batch(FEW, [name for name in INSTALLED if name == "jax"]).codes
    assert len(found.codes) > 40 and found.faults() == []


@pytest.mark.thorough
@pytest.mark.parametrize("backend", INSTALLED)
def test_all_identities(backend):
    assert batch(ROWS, [backend]).faults() == []


def test_a_wrong_code_is_found():
    wrong = batch(SOME[:3], ["numpy"])
    backend, place, text, name, given = wrong.codes[1]
    wrong.codes[1] = backend, place, text.replace("return ", "return 1.5 * "), name, given
    (line,) = wrong.faults()
    assert line.startswith(f"numpy {place}: the values differ")


def test_a_code_that_imports_ricci_is_found():
    found = batch(SOME[:1], ["numpy"])
    backend, place, text, name, given = found.codes[0]
    found.codes[0] = backend, place, f"import ricci\n{text}", name, given
    (line, *_) = found.faults()
    assert "ricci is not there" in line


def test_lines_are_short_and_nothing_is_imported_in_vain():
    for row in SOME:
        for backend in INSTALLED:
            text = str(row.derivative().code(backend))
            assert max(map(len, text.splitlines())) <= 100
            for line in text.splitlines():
                if line.startswith(("import ", "from ")):
                    name = line.split()[-1]
                    assert text.count(f"{name}.") > line.count(f"{name}.")
    assert rc.parse("y = x").code().startswith("def y(x):")
