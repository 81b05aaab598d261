"""JAX source: native operations, jitted; inside a user's ``jit``, ``vmap`` or ``grad`` they are part of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import reduce
from math import prod
from operator import or_
from typing import Any

import numpy as np

from ricci.compiler.backends.jax_table import ELEMENTWISE, FUNCTIONS, complex_of, jnp, lax
from ricci.compiler.emit.functional import FunctionalEmitter
from ricci.compiler.emit.numpy_calls import selected
from ricci.compiler.emit.source import tuple_text
from ricci.compiler.plan.loops import bound_by_memory
from ricci.compiler.plan.plans import Plan
from ricci.compiler.plan.program_steps import ARITHMETIC, Result, Step, entrywise, rounded

# Maps that do not end in a product, as powers and many functions do.
SUMS = {*ARITHMETIC, "maximum", "minimum", "where", "stop_gradient"} - {"multiply", "square"}


def _guarded(made: Any, own: Any, of_masks: Any, out: Any, number: float, factors: Any) -> Any:
    """``made``, or, where that is not finite, the product of arrays over the indices where the masks hold."""
    exact = lambda: selected(jnp, own, of_masks, out, number, factors)  # noqa: E731
    return lax.cond(jnp.all(jnp.isfinite(made)), lambda: made, exact)


def _checked_places(index: Any, size: int) -> Any:
    """Integers that are places along an axis. JAX raises no errors: what is read elsewhere is NaN, also before 0."""
    return jnp.where(index < 0, size, index)


def _located(parts: Sequence[Any], sizes: Sequence[int]) -> Any:
    """Places along several axes as one number; beyond all of them where one of them is outside of its axis."""
    outside = reduce(or_, [at >= size for at, size in zip(parts, sizes, strict=True)])
    at = reduce(lambda total, part: total * part[1] + part[0], zip(parts, sizes, strict=True), 0)
    return jnp.where(outside, prod(sizes), at)


class JaxEmitter(FunctionalEmitter):
    backend = "jax"
    elementwise = ELEMENTWISE
    functions = FUNCTIONS
    helpers: Mapping[str, Any] = {
        "square": jnp.square,
        "sqrt": jnp.sqrt,
        "select": jnp.where,
        "asarray": jnp.asarray,
        "arange": jnp.arange,
        "broadcast_to": jnp.broadcast_to,
        "dot_general": lax.dot_general,
        "transpose": jnp.transpose,
        "zeros": jnp.zeros,
        "full": jnp.full,
        "take": jnp.take,
        "located": _located,
        "guarded": _guarded,
        "rounded": lambda x: jnp.where(x == x, x, jnp.nan),  # or XLA adds to it before it is rounded
        "checked_places": _checked_places,
    }

    def __init__(self, plan: Plan):
        super().__init__(plan)
        for value in self.program.constants:  # made JAX's where the program runs, which may be while it is being traced
            name = self.names[value]
            self.lines.append(f"{name}_ = {self.helper('asarray')}({name})")
            self.names[value] = f"{name}_"
        uses = Counter(value for step in self.program.steps for value in step.operands)
        self.rounded = entrywise(rounded(self.program.steps, lambda value: uses[value] > 1))

    def array(self, source: Any) -> Any:
        array = np.asarray(source)
        with np.errstate(over="ignore"):  # what is too large for the type is infinite in it
            if array.dtype.kind == "c":
                return array.astype(complex_of(self.dtype))
            return array.astype(jnp.dtype(self.dtype)) if array.dtype.kind == "f" else array

    def map(self, step: Step) -> str:
        text = super().map(step)
        product = step.name not in SUMS and step.out.kind == "f"
        return f"{self.helper('rounded')}({text})" if product and step.out in self.rounded else text

    def kind_name(self, kind: str) -> str:
        floats = {"f": jnp.dtype(self.dtype), "c": complex_of(self.dtype)}
        self.scope[f"{kind}_type"] = {**floats, "i": jnp.result_type(int), "b": np.dtype(np.bool_)}[kind]
        return f"{kind}_type"

    def cast(self, step: Step) -> str:
        return f"{self.name(step.args[0][0])}.astype({self.kind_name(step.name)})"

    def dot(self, step: Step) -> str:
        if bound_by_memory(step):  # as a product and a sum XLA fuses it with what comes before and after
            return self.summed_product(step)
        (a, first), (b, second) = step.args
        shared = [x for x in first if x in second]
        batch = [x for x in shared if x in step.labels]
        summed = [x for x in shared if x not in step.labels]
        dims = [[tuple([own.index(x) for x in group]) for own in (first, second)] for group in (summed, batch)]
        text = f"{self.helper('dot_general')}({self.name(a)}, {self.name(b)}, {tuple(map(tuple, dims))})"
        made = (*batch, *[x for x in first if x not in shared], *[x for x in second if x not in shared])
        return self.permuted(text, made, step.labels)

    def zeros(self, step: Step, like: Any) -> str:
        return f"{self.helper('zeros')}({tuple_text(step.out.shape)}, {self.kind_name(step.out.kind)})"

    def added(self, total: str, places: Sequence[str], text: str) -> str:
        return f"{total}.at[{', '.join(places)}].add({text})"

    def rows_added(self, total: str, places: str, text: str, count: int, rest: Sequence[int]) -> str:
        return f"{total}.at[{places}].add({text})"

    def filled(self, result: Result) -> str:
        kind = self.kind_name(result.kind)
        return f"{self.helper('full')}({tuple_text(result.shape)}, {self.number(result.value)}, {kind})"  # type: ignore
