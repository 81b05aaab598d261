"""``rc.while_loop``: a loop that ends by itself.

On values it is Python's. Inside a function that is traced it is a scan with room for a number of steps, in which what
is carried stays what it is once the end is reached; see ``unfinished.py`` for how the room is found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ricci.checked_calls import takes
from ricci.errors import InputError, ShapeError
from ricci.tracing import frames, trees
from ricci.tracing.array import Traced
from ricci.tracing.basics import lift
from ricci.transforms.ends import ending
from ricci.transforms.scanning import LoopStep, name_of
from ricci.transforms.unfinished import BOUNDS, StepBounds, Unfinished


@takes("rc.while_loop", cond_fun="function", body_fun="function", max_steps="count or None")
def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any, max_steps: int | None = None
) -> Any:
    """``value = body_fun(value)`` as long as ``cond_fun(value)`` holds; as ``jax.lax.while_loop``.

    It has derivatives in both directions: the states of all steps are kept. How many there may be need not be said but
    for programs of JAX; ``max_steps`` is an error if more are needed.

    >>> import numpy as np, ricci as rc
    >>> halve = lambda x: rc.while_loop(lambda x: x > 1.0, lambda x: x / 2, x)
    >>> halve(10.0), rc.grad(halve)(10.0)
    (0.625, np.float64(0.0625))
    """
    here = frames.current()
    if here is None:
        return _while_it_holds(cond_fun, body_fun, init_val, max_steps)
    return _bounded(cond_fun, body_fun, init_val, max_steps, here)


def _while_it_holds(cond_fun: Callable, body_fun: Callable, value: Any, max_steps: int | None) -> Any:
    steps = 0
    while _truth(cond_fun(value), cond_fun):
        if steps == max_steps:
            raise Unfinished(name_of(cond_fun), 0, steps, True)
        value, steps = body_fun(value), steps + 1
    return value


def _truth(found: Any, f: Callable) -> Any:
    if getattr(found, "shape", ()) != ():
        raise ShapeError(f"rc.while_loop: {name_of(f)} returns one truth value, not an array of shape {found.shape}.")
    return found


def _bounded(cond_fun: Callable, body_fun: Callable, init: Any, max_steps: int | None, here: Any) -> Any:
    """The loop inside a function that is traced: a scan in which the state stays what it is once the end is reached."""
    bounds = BOUNDS.get() or StepBounds()
    number, bound = bounds.next()
    bound = bound if max_steps is None else max_steps

    def step(value: Any, _: Any) -> tuple[Any, None]:
        goes_on = lift(_truth(cond_fun(value), cond_fun))
        old, form = trees.flatten(value)
        new, again = trees.flatten(body_fun(value))
        if form != again:
            raise InputError(f"rc.while_loop: {name_of(body_fun)} returns a tree of another form than it is given.")
        return trees.unflatten(form, [np.where(goes_on, b, a) for a, b in zip(old, new, strict=True)]), None

    final, _ = LoopStep("rc.while_loop", name_of(body_fun), step).scanned(init, None, bound)
    ended = lift(_truth(cond_fun(final), cond_fun))
    leaves, form = trees.flatten(final)
    checked = [ending(lift(leaf), ended, name_of(cond_fun), number, bound, max_steps is not None) for leaf in leaves]
    return trees.unflatten(form, [Traced(e, lift(x).dtype, here) for e, x in zip(checked, leaves, strict=True)])
