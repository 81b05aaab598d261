"""``checkpoint``: a function whose inner values are computed again for the derivative, instead of being kept.

Its result is written twice: as it is, and with its operands behind barriers, so that no node of the second is one of
the first. The value is that of the first and the derivative that of the second; see
``ricci.functions.elementwise``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ricci.checked_calls import call_back, takes
from ricci.dispatch import recorded
from ricci.expr import Expr
from ricci.functions.elementwise import barrier, recomputed
from ricci.tracing import frames, trees
from ricci.tracing.array import Traced
from ricci.tracing.basics import lift
from ricci.tracing.likeness import like_tensor
from ricci.tracing.meanings import of_torch
from ricci.tracing.recording import Arguments, Static, record
from ricci.transforms.formula_functions import as_function
from ricci.transforms.on_tensors import on_tensors
from ricci.transforms.transformed import replace_all
from ricci.transforms.typed import P, R
from ricci.wrapping import MadeOf


@takes("rc.checkpoint", function="function")
def checkpoint(function: Callable[P, R]) -> Callable[P, R]:
    """The same function; its derivative computes inner values again, which takes time and saves memory.

    >>> import numpy as np, ricci as rc
    >>> layer = rc.checkpoint(lambda x: np.tanh(np.sin(x)))
    >>> rc.grad(lambda x: layer(x).sum())(np.zeros(2))
    array([1., 1.])
    """
    return Checkpointed(as_function(function, "checkpoint"))


class Checkpointed(MadeOf):
    """A function whose derivative computes inner values again."""

    def __repr__(self) -> str:
        return f"<rc.checkpoint of {getattr(self.function, '__name__', self.function)}>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        here, function = frames.current(), self.function
        if here is None:
            if recorded(trees.flatten((args, kwargs))[0]):
                return on_tensors(self, getattr(function, "__name__", "checkpoint"), args, kwargs)
            return call_back("rc.checkpoint", function, *args, **kwargs)
        arguments = Arguments.of(args, kwargs)
        operands = [lift(leaf).expr for leaf in arguments.traced]
        recording = record(function, arguments)
        exprs = [out for out in recording.outputs if isinstance(out, Expr)]
        lines = here.root.lines
        first = replace_all(exprs, dict(zip(recording.inputs, operands, strict=True)), lines)
        again = replace_all(exprs, {v: barrier(x) for v, x in zip(recording.inputs, operands, strict=True)}, lines)
        values = iter([recomputed(a, b) for a, b in zip(first, again, strict=True)])
        leaves = []
        for out, dtype in zip(recording.outputs, recording.out_dtypes, strict=True):
            leaves.append(out.value if isinstance(out, Static) else Traced(next(values), dtype, here))
        return like_tensor(of_torch(arguments.leaves), trees.unflatten(recording.out_form, leaves))
