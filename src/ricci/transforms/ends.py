"""Whether a loop has ended within its steps: a value passes if it has, and stops the program if not.

So do its changes and what is pulled back to it, since a derivative need not use the value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ricci.caches import Interned
from ricci.compiler.run.outside import Outside
from ricci.errors import InputError
from ricci.expr import Adjoint, Expr, Op, function
from ricci.loops.real_pairs import parts_of, whole_of
from ricci.tracing.array import Traced, fresh
from ricci.tracing.basics import real_type
from ricci.transforms.unfinished import Unfinished

_rows: Interned[Op] = Interned()


def ending(x: Traced, goes_on: Traced, title: str, number: int, bound: int, given: bool) -> Expr:
    """``x``, if the loop does not go on: ``title`` is what it asks, ``number`` which it is, ``bound`` its steps."""
    if x.expr.complex:
        dtype = real_type(x.dtype)
        parts = [ending(fresh(part, dtype), goes_on, title, number, bound, given) for part in parts_of(x.expr)]
        return whole_of(*parts)
    return function(row_of_end(x.shape, x.dtype, title, number, bound, given), (goes_on.expr, x.expr), (0,))


class Passing(Outside):
    """A value that passes."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, *parts: Any):
        super().__init__(lambda x: x, "rc.while_loop", (0, len(shape)), shape, dtype)
        self.name = f"ended_{parts[1]}_{'_'.join(map(str, shape))}"
        self.parts = parts

    def __reduce__(self):
        return Passing, (self.shape, self.dtype, *self.parts)

    def on_numpy(self, *operands: Any) -> Any:
        goes_on, x = operands
        if np.any(goes_on):
            raise Unfinished(*self.parts)
        return x

    def on_torch(self, *operands: Any) -> Any:
        return self.on_numpy(bool(operands[0].any()), operands[1])

    def on_jax(self, *operands: Any) -> Any:
        import jax

        if not self.parts[-1]:
            raise InputError("rc.while_loop in a program for JAX: give max_steps=…, the most steps that it may take.")
        like = jax.ShapeDtypeStruct(operands[1].shape, operands[1].dtype)
        return jax.pure_callback(self.on_numpy, like, *operands, vmap_method="sequential")


def row_of_end(shape: tuple[int, ...], dtype: np.dtype, *parts: Any) -> Op:
    """The row of what lets a value pass."""
    identity = (shape, dtype, *parts)
    known = _rows.get(identity)
    if known is not None:
        return known
    op = Op(
        "ended." + ".".join(map(str, (*parts, shape, dtype))),
        2,
        lambda _, x: x,
        (None, Adjoint(lambda operands, bar, params: function(op, (*operands, bar), params))),
        works_on=(0, len(shape)),
        result=lambda shapes, *_: shapes[1],
        columns=True,
        rectangular=True,
        latex="{1}",
        outside=Passing(shape, dtype, *parts),
        again=lambda: (row_of_end, identity),
    )
    return _rows.put(identity, op)
