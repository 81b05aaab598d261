"""Changes in place while a function is traced: aliases and views see them as NumPy's do, or are refused."""

from __future__ import annotations

import numpy as np
import pytest
from changing import Program

import ricci as rc

SHAPES = [(4,), (2, 3), (1, 3), (3, 1), (2, 2, 2), (1,), (0, 2)]


def values(shape, seed):
    return np.random.default_rng(seed).uniform(0.2, 1.5, shape)


def by_numpy(program, x):
    return program(np.array(x))


def slope_by_numpy(program, x, v, step=1e-6):
    return (by_numpy(program, x + step * v) - by_numpy(program, x - step * v)) / (2 * step)


def check(program, x):
    """Value and derivative, and the caller's array is as it was."""
    before = x.copy()
    np.testing.assert_allclose(
        rc.compile(program)(x), by_numpy(program, x), rtol=1e-10, atol=1e-12, err_msg=str(program)
    )
    v = values(x.shape, 99)
    slope = slope_by_numpy(program, x, v)
    scale = max(1.0, np.abs(slope).max(initial=0.0))
    pushed = rc.jvp(program, (x,), (v,))[1]
    np.testing.assert_allclose(pushed, slope, atol=1e-5 * scale, err_msg=str(program))
    bar = values(pushed.shape, 7)
    (pulled,) = rc.vjp(program, x)[1](bar)
    np.testing.assert_allclose((pulled * v).sum(), bar @ pushed, rtol=1e-8, atol=1e-8 * scale, err_msg=str(program))
    assert (x == before).all()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed, shape):
    check(Program(seed, 8, shape), values(shape, seed))


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(400))
def test_many_random_programs(seed):
    shape = SHAPES[seed % len(SHAPES)]
    check(Program(1000 + seed, 12, shape), values(shape, seed))


def test_doubtful_programs_are_right_or_refused():
    refused = right = 0
    for seed in range(60):
        shape = SHAPES[seed % len(SHAPES)]
        try:
            check(Program(seed, 8, shape, doubtful=True), values(shape, seed))
            right += 1
        except rc.TraceError as error:
            assert "order of entries in memory" in str(error)
            refused += 1
    assert right > 20 and refused > 0


def test_the_comparison_can_fail():
    program = Program(0, 8, (2, 3))
    other = Program(1, 8, (2, 3))
    assert not np.array_equal(by_numpy(program, values((2, 3), 0)), by_numpy(other, values((2, 3), 0)))
