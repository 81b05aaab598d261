"""Which library's meaning a call has, where PyTorch's tensors are among its arguments.

A traced array has NumPy's methods. A tensor of PyTorch that was traced has PyTorch's, and so has all that is computed
with one: whatever function makes it, the result is a tensor again. Nothing here imports PyTorch.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any

import numpy as np

from ricci.tracing.frames import current
from ricci.tracing.trees import flatten
from ricci.within import within

_ASIDE = ContextVar("ricci_aside", default=False)  # whether PyTorch's functions are called by ricci itself


def untraced() -> bool:
    """Whether calls of PyTorch's functions are run as they are: no function is traced, or ricci itself calls them."""
    return _ASIDE.get() or current() is None


def aside() -> AbstractContextManager[None]:
    """Inside, PyTorch's functions are run as they are."""
    return within(_ASIDE, True)


def not_aside() -> None:
    """For a function that begins to be traced: what it calls, it calls."""
    _ASIDE.set(False)


def is_torch(x: Any) -> bool:
    """Whether it is a tensor of PyTorch, traced or not."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def of_torch(values: Any) -> Any:
    """A tensor of PyTorch among values, or in lists and dictionaries among them."""
    if "torch" not in sys.modules:
        return None
    waiting = [values]
    while waiting:
        x = waiting.pop()
        kind = type(x)
        if kind is tuple or kind is list:
            waiting += reversed(x)
        elif kind is dict:
            waiting += reversed(x.values())
        elif kind not in _PLAIN:
            found = next((leaf for leaf in flatten(x)[0] if is_torch(leaf)), None)
            if found is not None:
                return found
    return None


_PLAIN = frozenset([int, float, bool, str, slice, type(None), type(Ellipsis), np.ndarray, np.float64])


def plain(x: Any) -> Any:
    """The traced array inside a traced tensor; all else as it is."""
    return x.inside() if is_torch(x) and hasattr(x, "traced") else x


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
