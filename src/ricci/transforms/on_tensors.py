"""Functions on traced arrays, called with eager tensors: one operation of their graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ricci.caches import Cache
from ricci.tensor.recorder import apply
from ricci.tracing import trees
from ricci.tracing.guards import Guards
from ricci.tracing.reach import ATOMS, Reach
from ricci.tracing.recording import is_array
from ricci.tracing.trees import Form

_kept = Cache("functions on tensors", 256)


def on_tensors(function: Callable, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    """``function``, which takes traced arrays, on trees of tensors."""
    leaves, form = trees.flatten((args, kwargs))
    return apply(_of_leaves(function, form, leaves), name, tuple(leaves), {})


def _of_leaves(function: Callable, form: Form, leaves: list[Any]) -> Callable:
    """``function`` of the leaves of its arguments; the same object each time, as programs are found by it.

    It is another one when something that the function reaches has changed, so that it is traced anew.
    """
    objects = [leaf for leaf in leaves if not isinstance(leaf, ATOMS) and not is_array(leaf)]
    key = (function, form, *map(id, objects))
    found = _kept[key]
    if found is not None and found[1].hold():
        return found[0]

    def lower(*leaves: Any) -> Any:
        args, kwargs = trees.unflatten(form, leaves)
        return function(*args, **kwargs)

    _kept.keep(key, (lower, Guards(Reach([function, *objects])), objects))
    return lower
