"""Functions on traced arrays, called with eager tensors: one operation of their graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ricci.tensor.calls import apply
from ricci.tracing import trees
from ricci.tracing.trees import Form


def on_tensors(function: Callable, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    """``function``, which takes traced arrays, on trees of tensors."""
    leaves, form = trees.flatten((args, kwargs))
    return apply(_of_leaves(function, form), name, tuple(leaves), {})


@lru_cache(maxsize=256)
def _of_leaves(function: Callable, form: Form) -> Callable:
    """``function`` of the leaves of its arguments; the same object each time, as programs are found by it."""

    def lower(*leaves: Any) -> Any:
        args, kwargs = trees.unflatten(form, leaves)
        return function(*args, **kwargs)

    return lower
