"""Values, gradients and Hessians of a function by running it on ``rc.Tensor``, line by line."""

from __future__ import annotations

from typing import Any

import numpy as np

import ricci as rc
from literature.corpus import Function


def value(function: Function) -> Function:
    return lambda first, *rest: untied(function(tied(first), *rest))


def grad(function: Function) -> Function:
    return lambda first, *rest: untied(slopes(function, tied(first), rest))


def hessian(function: Function) -> Function:
    """By one array, row after row."""

    def rows(first: Any, *rest: Any) -> np.ndarray:
        x = rc.Tensor(first)
        slope = slopes(function, x, rest, create_graph=True)
        found = np.zeros((x.size, x.size))
        for k, entry in enumerate(slope.reshape(-1)):
            x.zero_grad()
            entry.backward(retain_graph=True)
            found[k] = x.grad.numpy().ravel()
        return found.reshape(x.shape + x.shape)

    return rows


def slopes(function: Function, first: Any, rest: tuple, create_graph: bool = False) -> Any:
    function(first, *rest).backward(create_graph=create_graph)
    return tuple([part.grad for part in first]) if isinstance(first, tuple) else first.grad


def tied(value: Any) -> Any:
    """Tensors of arrays, which remember."""
    return tuple(map(rc.Tensor, value)) if isinstance(value, tuple) else rc.Tensor(value)


def untied(value: Any) -> Any:
    return tuple([part.numpy() for part in value]) if isinstance(value, tuple) else value.numpy()
