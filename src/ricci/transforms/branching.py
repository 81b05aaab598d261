"""Branches by name, as in ``jax.lax``: ``cond`` and ``switch``. On values they are calls of one function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ricci.checked_calls import check, shown
from ricci.errors import DTypeError, InputError, ShapeError
from ricci.expr import Expr, constant
from ricci.functions.elementwise import less_equal, where
from ricci.loops.bodies import replaced
from ricci.loops.leaves import choices
from ricci.tracing import frames, trees
from ricci.tracing.array import Traced
from ricci.tracing.basics import lift
from ricci.tracing.likeness import like_tensor
from ricci.tracing.meanings import of_torch, plain
from ricci.tracing.recording import Arguments, record


def cond(pred: Any, true_fun: Callable, false_fun: Callable, *operands: Any) -> Any:
    """``true_fun(*operands)`` if ``pred`` holds, ``false_fun(*operands)`` if not; as ``jax.lax.cond``.

    Only one of them is computed, also in derivatives. Both return trees of one form, with the same shapes.

    >>> import numpy as np, ricci as rc
    >>> f = lambda x: rc.cond(x > 0, np.sqrt, lambda x: 0.0 * x, x)
    >>> rc.grad(f)(4.0), rc.grad(f)(-4.0)
    (np.float64(0.25), np.float64(0.0))
    """
    return _chosen("cond", pred, (false_fun, true_fun), operands)


def switch(index: Any, branches: Sequence[Callable], *operands: Any) -> Any:
    """``branches[index](*operands)``, of which only that is computed; as ``jax.lax.switch``.

    An index below 0 is the first one, one beyond the last the last.

    >>> import numpy as np, ricci as rc
    >>> [rc.switch(k, [np.sin, np.cos, np.exp], 0.0) for k in range(3)]
    [np.float64(0.0), np.float64(1.0), np.float64(1.0)]
    """
    if not isinstance(branches, (list, tuple)) or not branches:
        raise InputError(f"rc.switch takes a list of functions, of which the index tells one, not {shown(branches)}.")
    return _chosen("switch", index, tuple(branches), operands)


def _chosen(what: str, number: Any, branches: Sequence[Callable], operands: tuple) -> Any:
    for f in branches:
        check(f"rc.{what}", "a branch", f, "function")
    if getattr(number, "shape", ()) != ():
        raise ShapeError(
            f"rc.{what}: one number tells the branch, and {shown(number)} has the shape {number.shape}. Entry by entry "
            "it is rc.where(condition, a, b), or rc.vmap of a function with the branch in it."
        )
    here = frames.current()
    if here is None or not isinstance(plain(number), Traced):
        if isinstance(number, float) or getattr(getattr(number, "dtype", None), "kind", "b") not in "biu":
            raise _no_place(what, number)
        try:
            place = int(number)
        except (TypeError, ValueError):
            raise _no_place(what, number) from None
        return branches[min(max(place, 0), len(branches) - 1)](*operands)
    return _branched(what, lift(number), branches, operands, here)


def _no_place(what: str, given: Any) -> DTypeError:
    return DTypeError(f"rc.{what}: a truth value or a whole number tells the branch, not {shown(given)}.")


def _branched(what: str, number: Traced, branches: Sequence[Callable], operands: tuple, here: Any) -> Any:
    """The choice inside a function that is traced."""
    if number.dtype.kind not in "biu":
        raise _no_place(what, number.dtype)
    before = set(here.root.lines)
    arguments = Arguments.of(operands, {})
    values = [lift(leaf).expr for leaf in arguments.traced]
    found = [record(f, arguments) for f in branches]
    names = " and ".join([one.name for one in found])
    if len({one.out_form for one in found}) > 1:
        raise InputError(f"rc.{what}: the branches {names} return trees of different forms.")
    results = []
    for one in found:
        exprs = [out if isinstance(out, Expr) else lift(out.value).expr for out in one.outputs]
        results.append(replaced(exprs, dict(zip(one.inputs, values, strict=True))))
    leaves: list[Any] = []
    for k, parts in enumerate(zip(*results, strict=True)):
        if len({e.shape for e in parts}) > 1:
            listed = " and ".join([str(e.shape) for e in parts])
            raise ShapeError(f"rc.{what}: the branches {names} return different shapes: {listed}.")
        dtypes = [one.out_dtypes[k] for one in found if one.out_dtypes[k].kind != "O"]
        dtype = np.result_type(*dtypes) if dtypes else np.dtype(np.float64)
        leaves.append(Traced(parts[0], dtype, here))
    held = {*before, *values}
    floats = [k for k, leaf in enumerate(leaves) if leaf.dtype.kind == "f"]
    chosen = choices(number.expr, [[row[k] for k in floats] for row in results], held.__contains__)
    for k, e in zip(floats, chosen, strict=True):
        leaves[k] = Traced(e, leaves[k].dtype, here)
    for k in set(range(len(leaves))).difference(floats):  # whole numbers and truth values have no derivative
        e = results[-1][k]
        for place in reversed(range(len(results) - 1)):
            e = where(less_equal(number.expr, constant(place)), results[place][k], e)
        leaves[k] = Traced(e, leaves[k].dtype, here)
    for leaf in leaves:
        here.note(leaf.expr)
    return like_tensor(of_torch(arguments.leaves), trees.unflatten(found[0].out_form, leaves))
