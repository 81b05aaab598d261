"""Which library's meaning a call has, where PyTorch's tensors are among its arguments.

A traced array has NumPy's methods. A tensor of PyTorch that was traced has PyTorch's, and so has all that is computed
with one: whatever function makes it, the result is a tensor again. Nothing here imports PyTorch.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ricci.tracing.frames import current
from ricci.tracing.shapes import Shaped
from ricci.tracing.trees import flatten, unflatten


class _Here(threading.local):
    """What holds in one thread."""

    aside = False  # whether calls of PyTorch's functions are none of the traced function's


_here = _Here()


def untraced() -> bool:
    """Whether calls of PyTorch's functions are run as they are: no function is traced, or ricci itself calls them."""
    return _here.aside or current() is None


@contextmanager
def aside() -> Iterator[None]:
    """Inside, PyTorch's functions are run as they are."""
    before, _here.aside = _here.aside, True
    try:
        yield
    finally:
        _here.aside = before


def is_torch(x: Any) -> bool:
    """Whether it is a tensor of PyTorch, traced or not."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def of_torch(values: Any) -> Any:
    """A tensor of PyTorch among values, or in lists and dictionaries among them."""
    if "torch" not in sys.modules:
        return None
    return next((leaf for leaf in flatten(values)[0] if is_torch(leaf)), None)


def plain(x: Any) -> Any:
    """The traced array inside a traced tensor; all else as it is."""
    if not is_torch(x) or not hasattr(x, "traced"):
        return x
    from ricci.tracing.pytorch.tensors import traced_of

    return traced_of(x)


def _array(x: Any) -> Any:
    """A tensor, traced or from outside, as a traced array."""
    from ricci.tracing.basics import lift

    return lift(x) if is_torch(x) else x


def with_meaning(call: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """A call of a function of traced arrays; its results are tensors where one of PyTorch is among the arguments."""
    tensor = of_torch((args, kwargs))
    if tensor is None:
        return call(*args, **kwargs)
    leaves, form = flatten((args, kwargs))
    args, kwargs = unflatten(form, [_array(leaf) for leaf in leaves])
    return like_tensor(tensor, call(*args, **kwargs))


def like_tensor(tensor: Any, results: Any) -> Any:
    """Traced arrays among the results as tensors, on the device of ``tensor``; where that is none, as they are."""
    if tensor is None:
        return results
    from ricci.tracing.array import Traced
    from ricci.tracing.pytorch.tensors import result_of

    leaves, form = flatten(results)
    return unflatten(form, [result_of(x, tensor.device) if isinstance(x, Traced) else x for x in leaves])


def as_tensor(tensor: Any, array: Any) -> Any:
    """An array of NumPy as a tensor of PyTorch, unless ``tensor`` is none."""
    if tensor is None:
        return array
    import torch

    with aside():
        return torch.as_tensor(array)


def plain_values(x: Any) -> Any:
    """The values of a tensor as an array of NumPy; all else as it is."""
    with aside():
        return x.detach().cpu().numpy() if is_torch(x) else x


def argument_like(leaf: Any, x: Any) -> Any:
    """The traced array for an argument, as a tensor where the argument is one."""
    leaf = leaf.like if isinstance(leaf, Shaped) else leaf
    if not is_torch(leaf):
        return x
    from ricci.tracing.pytorch.tensors import wrapped

    made = wrapped(x, leaf.device)
    made.fixed = True
    return made


@contextmanager
def torch_traced() -> Iterator[None]:
    """Inside, calls of PyTorch's functions are seen, also those on tensors that are not traced."""
    if "torch" not in sys.modules:
        yield
        return
    import torch

    from ricci.tracing.pytorch.calls import watching

    with torch.enable_grad(), watching():
        yield
