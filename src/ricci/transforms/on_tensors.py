"""Functions on traced arrays, called with eager tensors: one operation of their graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ricci.caches import OfFunctions
from ricci.tensor.meaning import OwnRule
from ricci.tensor.recorder import applied
from ricci.tracing import trees
from ricci.tracing.guards import Guards
from ricci.tracing.reach import ATOMS, Reach
from ricci.tracing.recording import is_array
from ricci.tracing.trees import Form

_kept = OfFunctions("functions on tensors", 64)


def on_tensors(function: Callable, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    """``function``, which takes traced arrays, on trees of tensors."""
    leaves, form = trees.flatten((args, kwargs))
    return applied(_of_leaves(function, name, form, leaves), tuple(leaves), {})


def _of_leaves(function: Callable, name: str, form: Form, leaves: list[Any]) -> OwnRule:
    """``function`` of the leaves of its arguments; the same object each time, as programs are found by it.

    It is another one when something that the function reaches has changed, so that it is traced anew.
    """
    objects = [leaf for leaf in leaves if not isinstance(leaf, ATOMS) and not is_array(leaf)]
    known = _kept.of(function)
    key = (form, *map(id, objects))
    found = None if known is None else known[key]
    if found is not None and found[1].hold():
        return found[0]

    def lower(*leaves: Any) -> Any:
        args, kwargs = trees.unflatten(form, leaves)
        return function(*args, **kwargs)

    rule = OwnRule(lower, name)
    if known is not None:
        known.keep(key, (rule, Guards(Reach([function, *objects])), objects))
    return rule
