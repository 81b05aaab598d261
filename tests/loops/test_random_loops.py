"""Random loops: rolled up, unrolled, line by line on eager tensors, and in NumPy they give the same."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from random_loops import LoopText, arrays

import ricci as rc
from ricci.expr import topological
from ricci.loops import is_loop

SEEDS = st.integers(0, 10**9)


def agree(text, steps, seed):
    f, args = text.function(), arrays(seed, steps)
    expected = f(*args)
    np.testing.assert_allclose(rc.compile(f)(*args), expected, rtol=1e-8, atol=1e-10, err_msg=text.text)
    found = rc.grad(f, argnums=(0, 1, 2))(*args)
    others = rc.grad(f, argnums=(0, 1, 2), roll=False)(*args)
    for a, b in zip(found, others, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9, err_msg=text.text)
    return found


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.sampled_from([3, 8, 9, 13]))
def test_loops_of_alike_steps(seed, steps):
    agree(LoopText(seed, wild=False), steps, seed)


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.sampled_from([8, 11, 14]))
def test_loops_with_all_that_keeps_steps_apart(seed, steps):
    agree(LoopText(seed, wild=True), steps, seed)


@settings(max_examples=5, deadline=None)
@given(SEEDS)
def test_eager_tensors(seed):
    text = LoopText(seed, wild=False)
    args = arrays(seed, 9)
    tensors = [rc.Tensor(x) for x in args]
    text.function()(*tensors).backward()
    for tensor, other in zip(tensors, agree(text, 9, seed), strict=True):
        if tensor.grad is not None:
            np.testing.assert_allclose(tensor.grad.numpy(), other, rtol=1e-7, atol=1e-9, err_msg=text.text)


def test_most_are_rolled_up():
    found = 0
    for seed in range(20):
        args = arrays(seed, 12)
        found += any(map(is_loop, topological(rc.trace(LoopText(seed, wild=False).function())(*args).expr)))
    assert found > 5
