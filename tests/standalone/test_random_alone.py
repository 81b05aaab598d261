"""The code of random expressions gives what loops over all indices give."""

from __future__ import annotations

import random

import numpy as np
import pytest
from alone import INSTALLED, Batch

from ricci.compiler.prepare.prepared import prepared
from ricci.expr import dims
from ricci.notation.context import Facts
from ricci.standalone.kept_code import kept_code
from ricci.standalone.requests import CodeWanted
from ricci.testing import brute_force
from ricci.testing.generate import random_expression


def sample(seed):
    rng = random.Random(seed)
    return random_expression(rng, symbolic=True, size=rng.randint(1, 8), extents=(1, 2, 2, 3))


def wanted(made):
    """What is to be written for a sample, and the indices of its result."""
    expr, facts = made.build(), Facts()
    for name, value in made.inputs.items():
        facts.inputs[name], facts.mentions[name] = value.ndim, None
        if value.dtype.kind == "i":
            facts.integers.add(name)
    indices = tuple("ijklmn"[: expr.order])
    stage = prepared([expr], {}, facts)
    given = {atom[0]: size for atom, size in made.sizes.items() if len(atom) == 1 and atom in stage.atoms}
    return CodeWanted(stage, (indices,), "f", "f", sizes=given), expr


def batch(seeds, backends):
    found = Batch()
    for seed in seeds:
        made = sample(seed)
        what, expr = wanted(made)
        sizes = {name: dims.evaluate(n, made.sizes) for name, n in zip(what.indices[0], expr.shape, strict=True)}
        value = np.asarray(brute_force(expr, made.inputs, made.sizes))
        for backend in backends:
            code = kept_code(what, backend, {})
            found.add(f"seed {seed}", code, [({**sizes, **made.inputs}, value)])
    return found


def test_random_expressions():
    assert batch(range(60), ["numpy"]).faults() == []
    assert batch(range(60, 70), INSTALLED).faults() == []


@pytest.mark.thorough
@pytest.mark.parametrize("backend", INSTALLED)
def test_many_random_expressions(backend):
    assert batch(range(1000, 1400 if backend != "jax" else 1060), [backend]).faults() == []


def test_empty_axes():
    """Sums over nothing are zero; only an entry of an axis without entries is not there."""
    found = Batch()
    for seed in range(40):
        rng = random.Random(seed)
        made = random_expression(rng, symbolic=True, size=4, extents=(0, 2), structures=False)
        what, expr = wanted(made)
        sizes = {name: dims.evaluate(n, made.sizes) for name, n in zip(what.indices[0], expr.shape, strict=True)}
        value = np.asarray(brute_force(expr, made.inputs, made.sizes))
        found.add(f"seed {seed}", kept_code(what, "numpy", {}), [({**sizes, **made.inputs}, value)])
    assert found.faults() == []
