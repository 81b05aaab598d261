"""Tasks of asyncio and threads have scopes of their own."""

from __future__ import annotations

import asyncio
import threading

import numpy as np
import pytest

import ricci as rc

X = np.arange(1.0, 4.0)


def recording() -> bool:
    return (rc.Tensor(X) * 2).requires_grad


def watching() -> bool:
    with np.errstate(all="ignore"):
        try:
            np.log(rc.Tensor(-X))
        except rc.NonFiniteError:
            return True
        return False


def limited() -> bool:
    try:
        rc.parse("y = sin(x) cos(x) tanh(x)").diff("x", "x")
    except rc.LimitError:
        return True
    return False


SCOPES = {
    "no_grad": (rc.no_grad, lambda: not recording()),
    "debug_nans": (rc.debug_nans, watching),
    "limits": (lambda: rc.limits(nodes=3), limited),
}


@pytest.mark.parametrize("name", SCOPES)
def test_tasks_do_not_leak_into_one_another(name):
    scope, holds = SCOPES[name]

    async def inside(turns):
        found = []
        with scope():
            for _ in range(turns):
                found.append(holds())
                await asyncio.sleep(0)
        return found, holds()

    async def outside(turns):
        found = []
        for _ in range(turns):
            found.append(holds())
            await asyncio.sleep(0)
        return found, holds()

    async def both():
        return await asyncio.gather(inside(4), outside(6), inside(2), outside(3))

    for k, (found, after) in enumerate(asyncio.run(both())):
        assert set(found) == {k % 2 == 0} and not after
    assert not holds()


@pytest.mark.parametrize("name", SCOPES)
def test_tasks_begin_with_the_scopes_around_them(name):
    scope, holds = SCOPES[name]

    async def child():
        await asyncio.sleep(0)
        return holds()

    async def parent():
        with scope():
            within, later = await child(), asyncio.create_task(child())
        return within, await later, holds()

    assert asyncio.run(parent()) == (True, True, False)


@pytest.mark.parametrize("name", SCOPES)
def test_threads_begin_with_nothing(name):
    scope, holds = SCOPES[name]
    found = []
    with scope():
        thread = threading.Thread(target=lambda: found.append(holds()))
        thread.start()
        thread.join()
        assert holds()
    assert found == [False] and not holds()


def test_to_thread_takes_the_scopes_along():
    async def parent():
        with rc.no_grad():
            return await asyncio.to_thread(recording), recording()

    assert asyncio.run(parent()) == (False, False)


def test_gradients_in_tasks():
    async def gradient(k):
        f = rc.grad(lambda x: (x**k).sum())
        await asyncio.sleep(0)
        first = f(X)
        await asyncio.sleep(0)
        return np.allclose(first, k * X ** (k - 1))

    async def all_of_them():
        return await asyncio.gather(*[gradient(k) for k in range(2, 8)])

    assert all(asyncio.run(all_of_them()))


def test_generators_left_open():
    def items():
        with rc.no_grad():
            yield 1
            yield 2

    running = items()
    next(running)
    with rc.enable_grad():
        running.close()
        assert recording()


def test_an_error_leaves_nothing_open():
    def failing():
        with rc.no_grad(), rc.debug_nans():
            raise ValueError

    for _ in range(3):
        with pytest.raises(ValueError):
            failing()
    assert recording() and not watching()


def test_objects_can_be_used_again():
    scope = rc.no_grad()
    for _ in range(3):
        with scope:
            with scope:
                assert not recording()
            assert not recording()
        assert recording()


def test_decorators():
    @rc.no_grad()
    def depth(n):
        return recording() if not n else depth(n - 1)

    @rc.debug_nans(infinities=False)
    def watched():
        return watching()

    assert depth(3) is False and recording() and watched() and not watching()
