# ruff: noqa: NPY002, SIM115  (what users write)
"""Random numbers, clocks and files inside traced functions: refused, where they would be frozen; generators given."""

from __future__ import annotations

import cProfile
import datetime
import functools
import logging
import os
import pathlib
import random
import secrets
import sys
import threading
import time
import uuid

import numpy as np
import pytest

import ricci as rc
from ricci.tracing.impure import watch

x = np.arange(3.0)
rng = np.random.default_rng(0)
HERE = pathlib.Path(__file__)


class Config:
    def __init__(self):
        self.rng = np.random.default_rng(1)
        self.more = [{"old": np.random.RandomState(0)}]


config = Config()


class Model:
    def __init__(self):
        self.rng = np.random.default_rng(2)

    def loss(self, x):
        return (x * self.rng.normal(size=3)).sum()

    def __call__(self, x):
        return self.loss(x)


def helper(n):
    return np.random.rand(n)


def closure():
    own = random.Random(3)
    return lambda x: x.sum() * own.random()


DRAWING = {
    "np.random": lambda x: (x * np.random.normal(size=3)).sum(),
    "a function that is called": lambda x: (x * helper(3)).sum(),
    "permutation": lambda x: x[np.random.permutation(3)][0],
    "choice": lambda x: x[rng.integers(3)],
    "a global generator": lambda x: (x * rng.normal(size=3)).sum(),
    "an attribute": lambda x: (x * config.rng.normal(size=3)).sum(),
    "deep inside": lambda x: (x * config.more[0]["old"].rand(3)).sum(),
    "a method": Model().loss,
    "an object": Model(),
    "a partial function": functools.partial(lambda r, x: (x * r.normal(size=3)).sum(), rng),
    "a default": lambda x, r=rng: (x * r.normal(size=3)).sum(),
    "a closure": closure(),
    "random": lambda x: x.sum() * random.random(),
    "gauss": lambda x: x.sum() * random.gauss(0, 1),
    "randint": lambda x: x[random.randint(0, 2)],
    "without a seed": lambda x: (x * np.random.default_rng().normal(size=3)).sum(),
    "an old one without a seed": lambda x: (x * np.random.RandomState().rand(3)).sum(),
    "secrets": lambda x: x.sum() * secrets.randbelow(10),
    "uuid": lambda x: x.sum() * (uuid.uuid4().int % 7),
    "urandom": lambda x: x.sum() * os.urandom(1)[0],
    "inside vmap": lambda x: rc.vmap(lambda a: a * np.random.rand())(x).sum(),
    "inside grad": lambda x: rc.grad(lambda v: (v * np.random.rand(3)).sum())(x).sum(),
}
ITERATORS = {
    "a generator": lambda: (k * x for k in range(5)),
    "a list": lambda: iter([x, 2 * x, 3 * x, 4 * x]),
    "a generator that draws": lambda: (rng.normal(size=3) for _ in range(5)),
}


@pytest.mark.parametrize("name", ITERATORS)
def test_the_next_entry_of_an_iterator_would_be_frozen(name):
    batches = ITERATORS[name]()
    with pytest.raises(rc.TraceError, match=r"iterator|random"):
        rc.grad(lambda x: (x * next(batches)).sum())(x)
    batches = ITERATORS[name]()
    g = rc.grad(lambda x, batches: (x * next(batches)).sum())
    first, second = g(x, batches), g(x, batches)
    assert not np.allclose(first, second)


class Slots:
    __slots__ = ("rng",)
    shared = np.random.default_rng(4)

    def __init__(self):
        self.rng = np.random.default_rng(3)

    def draw(self):
        return Slots.shared.normal(size=3)


slots = Slots()
DRAWING |= {
    "a slot": lambda x: (x * slots.rng.normal(size=3)).sum(),
    "a class": lambda x: (x * slots.draw()).sum(),
}
READING = {
    "time": lambda x: x.sum() * time.time(),
    "perf_counter": lambda x: x.sum() * time.perf_counter(),
    "now": lambda x: x.sum() * datetime.datetime.now().second,
    "today": lambda x: x.sum() * datetime.date.today().day,
    "open": lambda x: x.sum() * len(open(HERE).read()),
    "a path": lambda x: x.sum() * len(HERE.read_text()),
    "np.load": lambda x: x.sum() * np.load(HERE.with_suffix(".npy")),
    "np.loadtxt": lambda x: x.sum() * np.loadtxt(HERE),
    "np.fromfile": lambda x: x.sum() * np.fromfile(HERE).sum(),
    "input": lambda x: x.sum() * float(input()),
}
TRANSFORMS = {
    "grad": lambda f: rc.grad(f)(x),
    "compile": lambda f: rc.compile(f)(x),
    "hessian": lambda f: rc.hessian(f)(x),
    "vjp": lambda f: rc.vjp(f, x),
    "jvp": lambda f: rc.jvp(f, (x,), (x,)),
    "vmap": lambda f: rc.vmap(f)(np.stack([x, x])),
    "on a tensor": lambda f: rc.grad(f)(rc.Tensor(x)),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", DRAWING)
def test_random_numbers_are_refused(name, transform):
    with pytest.raises(rc.TraceError, match="draws random numbers"):
        TRANSFORMS[transform](DRAWING[name])


@pytest.mark.parametrize("name", READING)
def test_clocks_and_files_are_refused(name):
    with pytest.raises(rc.TraceError, match=r"clock|file|input") as error:
        rc.grad(READING[name])(x)
    assert "test_impure.py" in str(error.value)
    assert sys.getprofile() is None


def test_random_numbers_of_pytorch_are_refused():
    torch = pytest.importorskip("torch")
    own = torch.Generator()
    functions = [
        lambda x: x.sum() * torch.rand(()).item(),
        lambda x: (x * torch.nn.functional.dropout(torch.ones(3)).numpy()).sum(),
        lambda x: x.sum() * torch.rand((), generator=own).item(),
    ]
    for f in functions:
        with pytest.raises(rc.TraceError, match="draws random numbers"):
            rc.grad(f)(x)


FREE = {
    "a seed": lambda x: (x * np.random.default_rng(0).normal(size=3)).sum(),
    "a seed, passed on": lambda x: (x * (lambda r: r.normal(size=3))(np.random.default_rng(3))).sum(),
    "a seed of Python's": lambda x: x.sum() * random.Random(0).random(),
    "a log": lambda x: (logging.getLogger("ricci.tests").debug("hello"), x.sum())[1],
    "a branch not taken": lambda x: x.sum() if x.ndim == 1 else x * np.random.rand(),
    "a generator at rest": lambda x: x.sum() * len(str(type(rng))),
}


@pytest.mark.parametrize("name", FREE)
def test_what_gives_the_same_at_each_call_is_not_refused(name):
    f = FREE[name]
    np.testing.assert_allclose(rc.grad(f)(x), rc.grad(f)(x))
    np.testing.assert_allclose(rc.compile(f)(x), f(x))


def noisy(x, rng):
    return (x * rng.normal(size=3)).sum() * rng.random()


@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
def test_a_generator_as_an_argument_draws_at_each_call(kind):
    def f(x, rng):
        return (x * rng.normal(size=3)).sum() * rng.uniform()

    def wanted(rng):
        return rng.normal(size=3) * rng.uniform()

    calls = {
        "grad": lambda g, r: g(x, r),
        "tensor": lambda g, r: g(rc.Tensor(x), r).numpy(),
        "keyword": lambda g, r: g(x, rng=r),
    }
    for call in calls.values():
        g, ours, theirs = rc.grad(f), kind(0), kind(0)
        for _ in range(3):
            np.testing.assert_allclose(call(g, ours), wanted(theirs))
    g, ours, theirs = rc.compile(lambda x, rng: x * rc.grad(f)(x, rng)), kind(0), kind(0)
    for _ in range(2):
        np.testing.assert_allclose(g(x, ours), x * wanted(theirs))


def test_a_generator_inside_an_argument():
    g = rc.grad(lambda x, config: (x * config.rng.normal(size=3)).sum())
    own = Config()
    assert not np.allclose(g(x, own), g(x, own))


def test_vmap_does_not_draw_one_number_for_all():
    with pytest.raises(rc.TraceError, match="map over them"):
        rc.vmap(noisy, in_axes=(0, None))(np.stack([x, x]), np.random.default_rng(0))


def test_custom_functions_that_draw_are_run_at_each_call():
    @rc.custom
    def jittered(x):
        return x + np.random.normal(size=3)

    jittered.derivative(np.ones_like)
    f = rc.compile(lambda x: 2 * jittered(x))
    assert not np.allclose(f(x), f(x))
    np.testing.assert_allclose(rc.grad(lambda x: jittered(x).sum())(x), 1.0)


def test_eager_tensors_draw_freely():
    t = rc.Tensor(x)
    (t * np.random.rand(3) * time.time()).sum().backward()
    assert t.grad.shape == (3,)


def test_other_threads_may_draw():
    stop = threading.Event()

    def draw():
        while not stop.is_set():
            np.random.rand()

    thread = threading.Thread(target=draw)
    thread.start()
    try:
        for k in range(10):
            np.testing.assert_allclose(rc.grad(lambda x, k=k: (x * x).sum() + k)(x), 2 * x)
    finally:
        stop.set()
        thread.join()


def test_a_profile_of_somebody_else_is_left_alone():
    profile = cProfile.Profile()
    profile.enable()
    try:
        rc.grad(lambda x: (x * x).sum())(x)
        assert sys.getprofile() is not watch
    finally:
        profile.disable()
    assert any("lowered" in str(row.code) for row in profile.getstats())


def test_draws_inside_inner_functions_are_seen_beside_other_threads():
    """Others draw as well then, so that the names in the code decide."""
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        for name in ("inside grad", "inside vmap"):
            with pytest.raises(rc.TraceError, match="draws random numbers"):
                rc.grad(DRAWING[name])(np.ones(3))
    finally:
        stop.set()
        thread.join()
