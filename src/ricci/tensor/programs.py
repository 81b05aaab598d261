"""Expressions as programs for NumPy, to be run many times on values of one shape and type.

These are the programs of the compiler, but that floating-point warnings are silenced once for a whole backward pass
and not in each program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ricci.compiler.backends.numpy_table import dtypes_of
from ricci.compiler.bind import Setting
from ricci.compiler.pipeline import prepare, ready
from ricci.expr import Expr, Variable
from ricci.expr.structures import is_zero
from ricci.tracing.basics import real_type

DEFAULT = np.dtype(np.float64)


class TensorProgram:
    """The values of ``roots`` for given values of ``inputs``.

    ``bound`` are the values of further inputs, ``wanted`` the types of the results. A root of None, or one that is
    zero, has the value None.
    """

    __slots__ = ("casts", "picks", "places", "run", "simple", "uses")

    def __init__(
        self,
        roots: Sequence[Expr | None],
        inputs: Sequence[Variable],
        dtypes: Sequence[np.dtype | None],
        bound: Mapping[str, Any],
        wanted: Sequence[np.dtype | None],
    ):
        place = {v.name: k for k, v in enumerate(inputs)}
        computed: list[Expr] = []
        self.picks: list[int | None] = []  # for each root a result of the program, or ~k for the input k as it is
        for root in roots:
            if root is None or is_zero(root):
                self.picks.append(None)
            elif isinstance(root, Variable) and root.name in place:
                self.picks.append(~place[root.name])
            else:
                self.picks.append(len(computed))
                computed.append(root)
        floats = [d for d in dtypes if d is not None and d.kind in "fc"]
        floating = np.result_type(*map(real_type, floats)) if floats else DEFAULT
        self.places: list[tuple[int, Any]] = []
        self.run = self._compiled(computed, place, dtypes, bound, floating) if computed else tuple
        self.uses = frozenset([k for k, _ in self.places if k >= 0])
        kinds = {*floats, *[d for d in wanted if d is not None]}
        same = bool(floats) and len(kinds) == 1 and floats[0].kind == "f"
        self.casts = None if same else list(wanted)
        as_they_are = all(k >= 0 and cast is None for k, cast in self.places)
        in_order = same and self.picks == list(range(len(roots)))
        self.simple = [k for k, _ in self.places] if as_they_are and in_order else None

    def _compiled(
        self,
        roots: list[Expr],
        place: Mapping[str, int],
        dtypes: Sequence,
        bound: Mapping[str, Any],
        floating: np.dtype,
    ) -> Callable[..., Sequence]:
        stage = prepare(roots)
        needed = {v.name: v.shape for v in stage.needed}
        types = {name: np.asarray(bound[name]).dtype if name in bound else dtypes[place[name]] for name in needed}
        kinds = {name: "f" if d is None else "i" if d.kind in "iu" else d.kind for name, d in types.items()}
        scalar = not any(needed.values()) and not any(node.shape for node in stage.nodes)
        options = (("bare", True),)
        shapes: Any = tuple(needed.items())  # all of them known
        given = Setting("numpy", shapes, tuple(kinds.items()), str(floating), single=False, options=options)
        runner = ready(stage, given)
        for name in runner.plan.program.inputs:
            dtype = dtypes_of(floating)[kinds[name]]
            if name in bound:
                self.places.append((-1, np.asarray(bound[name], dtype)))
            elif types[name] is None:  # a Python number
                self.places.append((place[name], None if scalar else dtype.type))
            else:
                self.places.append((place[name], None if types[name] == dtype else partial(np.asarray, dtype=dtype)))
        return runner.run

    def __call__(self, given: Sequence[Any]) -> Sequence[Any]:
        """The value of each root, for the values of the inputs in their order."""
        if self.simple is not None:
            return self.run(*[given[k] for k in self.simple])
        values = []
        for place, cast in self.places:
            value = cast if place < 0 else given[place]
            values.append(value if place < 0 or cast is None else cast(value))
        made = self.run(*values)
        results = [None if p is None else made[p] if p >= 0 else given[~p] for p in self.picks]
        if self.casts is None:
            return results
        return [
            r if r is None or d is None or r.dtype == d else r.astype(d)
            for r, d in zip(results, self.casts, strict=True)
        ]
