"""Results that are like the arguments: tensors of PyTorch where one of those is among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ricci.dispatch import offer
from ricci.tracing.array import Traced
from ricci.tracing.basics import lift
from ricci.tracing.meanings import is_torch, of_torch
from ricci.tracing.shapes import Shaped
from ricci.tracing.trees import flatten, unflatten


def with_meaning(call: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """A call of a function of traced arrays; its results are tensors where one of PyTorch is among the arguments."""
    tensor = of_torch((args, kwargs))
    if tensor is None:
        return call(*args, **kwargs)
    leaves, form = flatten((args, kwargs))
    args, kwargs = unflatten(form, [lift(leaf) if is_torch(leaf) else leaf for leaf in leaves])
    return like_tensor(tensor, call(*args, **kwargs))


offer(with_meaning=with_meaning)


def like_tensor(tensor: Any, results: Any) -> Any:
    """Traced arrays among the results as tensors, on the device of ``tensor``; where that is none, as they are."""
    if tensor is None:
        return results
    from ricci.tracing.pytorch.traced_tensors import result_of

    leaves, form = flatten(results)
    return unflatten(form, [result_of(x, tensor.device) if isinstance(x, Traced) else x for x in leaves])


def argument_like(leaf: Any, x: Any) -> Any:
    """The traced array for an argument, as a tensor where the argument is one."""
    leaf = leaf.like if isinstance(leaf, Shaped) else leaf
    if not is_torch(leaf):
        return x
    from ricci.tracing.pytorch.traced_tensors import wrapped

    made = wrapped(x, leaf.device)
    made.fixed = True
    return made
