"""All that the API returns is pickled, copied, and sent to another process: there it is worth the same.

The examples are in ``travelled.py``, by the names of the API; a new name without examples fails here.
"""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest
import travelled
from travelled import NOT_SENT, ROWS, Example, examples, worth

import ricci as rc
import ricci.einops as einops
from ricci.errors import InputError
from ricci.functions.table import FUNCTIONS

BACKENDS = ["numpy", *[name for name in ("torch", "jax") if find_spec(name) is not None]]
KINDS = {name: getattr(rc, name) for name in rc.__all__ if isinstance(getattr(rc, name), type)}
ERRORS = [name for name, kind in KINDS.items() if issubclass(kind, Exception)]
ONCE = list({id(row): name for name, row in reversed(ROWS.items())}.values())  # names that have rows of their own
AGAIN = {"copy": copy.copy, "deep copy": copy.deepcopy, "pickle": lambda thing: pickle.loads(pickle.dumps(thing))}


def same(actual, expected):
    """Numbers that agree, and the same words, in the same nest."""
    if isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected)
        for a, b in zip(actual, expected, strict=True):
            same(a, b)
    elif isinstance(expected, dict):
        assert list(actual) == list(expected)
        same(list(actual.values()), list(expected.values()))
    elif isinstance(expected, np.ndarray):
        assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(actual, expected, rtol=1e-6)
    else:
        assert actual == expected


def test_every_name_has_examples():
    assert {*ROWS, *NOT_SENT, *ERRORS} == set(rc.__all__)
    assert set(einops.__all__) - {"EinopsError", "asnumpy"} <= ROWS.keys()


@pytest.mark.parametrize("how", AGAIN)
@pytest.mark.parametrize("name", ONCE)
def test_copies_are_worth_the_same(name, how):
    rows = examples(name, "numpy")
    assert rows
    for row in rows:
        expected = row.worth()
        again = Example(AGAIN[how](row.thing), row.args, row.kwargs)
        assert type(again.thing) is type(row.thing)
        same(again.worth(), expected)
        same(row.worth(), expected)  # and what was copied is what it was


@pytest.fixture(scope="module")
def elsewhere():
    """Another process, which is given nothing but what is pickled."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.fixture
def as_jax_starts():
    """Without numbers of 64 bits, which other tests may have switched on."""
    if "jax" not in BACKENDS:
        yield
        return
    import jax

    before = jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]
    jax.config.update("jax_enable_x64", False)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.mark.usefixtures("as_jax_starts")
@pytest.mark.parametrize("backend", BACKENDS)
def test_in_another_process(elsewhere, backend):
    for name in ONCE:
        rows = examples(name, backend)
        same(elsewhere.submit(travelled.worths, rows).result(), [row.worth() for row in rows])


def test_results_come_back_from_another_process(elsewhere):
    compressed = elsewhere.submit(rc.hessian(travelled.energy, compressed=True), np.arange(1.0, 4.0)).result()
    np.testing.assert_allclose(compressed @ np.ones(3), 6 * np.arange(1.0, 4.0))
    _, back = elsewhere.submit(rc.vjp, travelled.slopes, np.ones(3)).result()
    np.testing.assert_allclose(back(np.ones(3))[0], 5 * np.ones(3))
    formula = elsewhere.submit(rc.parse, "y[i] = sin(x[i])").result()
    assert formula == rc.parse("y[i] = sin(x[i])")
    with pytest.raises(InputError, match="a text"):
        elsewhere.submit(rc.parse, 3).result()


def test_a_pool_maps_patterns():
    arrays = [np.arange(6.0).reshape(2, 3) + k for k in range(4)]
    f = partial(einops.rearrange, pattern="a b -> b a")
    kinds = ["spawn", *(["fork"] if hasattr(os, "fork") and "jax" not in BACKENDS else [])]  # JAX has threads
    for kind in kinds:
        with multiprocessing.get_context(kind).Pool(1) as pool:
            same(pool.map(f, arrays), [a.T for a in arrays])


def test_functions_of_the_table_travel_by_name():
    for name in FUNCTIONS:
        function = getattr(rc, name)
        assert pickle.loads(pickle.dumps(function)) is function is copy.deepcopy(function)


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    error = getattr(rc, name)
    made = error("A message.", "text", 0, 2) if issubclass(error, rc.NotationError) else error("A message.")
    again = pickle.loads(pickle.dumps(made))
    assert type(again) is error and str(again) == str(made)


def test_what_was_decorated_is_one_object():
    for function in (travelled.decorated, travelled.twice_decorated, travelled.half_as_steep):
        for again in AGAIN.values():
            assert again(function) is function


def test_plans_are_the_same_before_another_call():
    compiled = rc.parse("y[i] = tanh(A[i,j] x[j])").compile()
    compiled(A=np.ones((2, 5)), x=np.ones(5))
    for again in AGAIN.values():
        other = again(compiled)
        assert str(other.plan) == str(compiled.plan) and other.source == compiled.source
        assert other.inputs == compiled.inputs


def test_deep_copies_are_apart():
    model = travelled.Model(3.0)
    f = rc.grad(model)
    other = copy.deepcopy(f)
    model.power = 5.0
    assert f(np.ones(1))[0] == 10.0 and other(np.ones(1))[0] == 6.0
    t = rc.Tensor([1.0, 2.0], name="t", axes="i")
    y = t * t
    for again in (copy.deepcopy, AGAIN["pickle"]):
        leaf = again(y)
        assert leaf.is_leaf and leaf.requires_grad and leaf.axes == y.axes and leaf.tolist() == [1.0, 4.0]
    shallow = copy.copy(y)
    shallow.sum().backward()
    assert t.grad is not None and t.grad.tolist() == [2.0, 4.0]
    assert AGAIN["pickle"](t).grad.tolist() == [2.0, 4.0]


MADE = ["grad", "compile", "vmap", "checkpoint", "trace", "explain", "custom", "shapes", "gauss_newton_vp"]


@pytest.mark.parametrize("name", MADE)
def test_functions_without_a_name_are_refused_in_clear_words(name):
    made = getattr(rc, name)(lambda x: x)
    with pytest.raises(InputError, match="outside of other functions; or pickle with cloudpickle"):
        pickle.dumps(made)
    assert callable(copy.copy(made)) and callable(copy.deepcopy(made))


def test_cloudpickle_takes_them():
    cloudpickle = pytest.importorskip("cloudpickle", reason="cloudpickle is not installed")
    power = 3
    made = pickle.loads(cloudpickle.dumps(rc.grad(lambda x: (x**power).sum())))
    np.testing.assert_allclose(made(np.ones(2)), [3.0, 3.0])


class Lost:
    """Something that does not travel."""

    def __reduce__(self):
        raise TypeError("This stays.")


def test_the_check_can_fail(monkeypatch):
    monkeypatch.setitem(ROWS, "grad", lambda here: here(Lost()))
    with pytest.raises(TypeError, match="stays"):
        test_copies_are_worth_the_same("grad", "pickle")
    with pytest.raises(AssertionError):
        same(worth(rc.grad(travelled.energy)(np.ones(2))), worth(rc.grad(travelled.weighted)(np.ones(3))))
