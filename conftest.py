"""Options of the tests.

Property tests draw the same examples in every run, so that a failure is one of the change at hand.
``HYPOTHESIS_PROFILE=explore`` draws new ones, to look further, and ``--cases 10000`` draws that many for each
property, whatever number the test asks for. Tests marked ``thorough`` run with ``--thorough`` alone, and without it
properties that ask for many examples draw a fifth of them, and of a table marked ``sampled(n)``, whose cases are of one
kind and take long, every n-th case runs. Compiled kernels are not kept on disk. JAX computes with
one thread: where it has two or more, each batched call of LAPACK waits for threads of the pool that it occupies itself,
and two such calls in one program may wait for one another for ever.
"""

import gc
import os
import sys
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings, strategies

FEW = 25  # examples of a property

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
os.environ["RICCI_CACHE_DIR"] = ""
os.environ["PJRT_NPROC"] = os.environ["NPROC"] = "1"


def pytest_addoption(parser):
    group = parser.getgroup("ricci")
    group.addoption("--thorough", action="store_true", help="run the tests that take long, too")
    group.addoption("--cases", type=int, metavar="N", help="examples of each property test, instead of its own number")


def pytest_itemcollected(item):
    """Properties of which fewer examples are drawn are found by ``-m sampled`` as tables are."""
    property_ = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    if property_ and item.function._hypothesis_internal_use_settings.max_examples > FEW:
        item.add_marker(pytest.mark.sampled(1))


@pytest.hookimpl(trylast=True)  # of what was asked for
def pytest_collection_modifyitems(config, items):
    if not config.option.thorough:
        leave_out(config, items)
    for test in {item.function for item in items if getattr(item.obj, "is_hypothesis_test", False)}:
        own = test._hypothesis_internal_use_settings.max_examples
        cases = config.option.cases or (own if config.option.thorough else min(own, max(FEW, own // 5)))
        if cases != own:
            draw_cases(test, cases)


def leave_out(config, items):
    """What takes long; where that is all that was asked for, it is named."""
    seen = Counter()
    long, short = [], []
    for item in items:
        sampled = item.get_closest_marker("sampled")
        function = item.nodeid.partition("[")[0]
        left_out = item.get_closest_marker("thorough") or (sampled and seen[function] % sampled.args[0])
        seen[function] += 1
        (long if left_out else short).append(item)
    if short:
        items[:] = short
        config.hook.pytest_deselected(items=long)
    else:
        for item in long:
            item.add_marker(pytest.mark.skip(reason="takes long: ./test --thorough"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    """What a test tells JAX about float64 holds for this test alone."""
    before = doubles()
    try:
        return (yield)
    finally:
        if doubles() != before:
            sys.modules["jax"].config.update("jax_enable_x64", before)


def doubles():
    """Whether JAX computes in float64; not where it is not imported, unless the environment says so."""
    jax = sys.modules.get("jax")
    if jax is None:
        return os.environ.get("JAX_ENABLE_X64", "0").lower() in ("1", "true", "y", "yes", "t", "on")
    return jax.config.jax_enable_x64


@settings(max_examples=1)
@given(strategies.none())
def any_example(_):
    pass


def pytest_collection(session):
    gc.disable()


def pytest_collection_finish(session):
    """What is there before the first test is passed over whenever objects are collected: the tests are many objects.

    Hypothesis asks before its first example who refers to its random numbers, which what is passed over does not say.
    """
    any_example()
    pass_over()
    gc.enable()


def pass_over():
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def nothing_before():
    """For modules that collect objects often: what other tests have left is passed over too."""
    pass_over()


def draw_cases(test, cases):
    """Numbers that tests name themselves would win over a profile, so the settings of the test itself are replaced."""
    own = test._hypothesis_internal_use_settings
    test._hypothesis_internal_use_settings = settings(
        own, max_examples=cases, deadline=None, suppress_health_check=list(HealthCheck)
    )
