"""``rc.odeint``: the solution of a differential equation as a function of its parameters.

The function is recorded once; what it depends on, arguments and what it meets without having been given it, is one
vector, and the solution one node of the expression, with the derivatives of ``flows.py``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ricci.checked_calls import shown, takes
from ricci.errors import DTypeError, InputError, ShapeError
from ricci.expr import Expr, Variable, function, variable, variables
from ricci.expr.moving import reshaped
from ricci.loops.real_pairs import joined_results, paired_results, parts_of, whole_of
from ricci.tracing import frames, trees
from ricci.tracing.array import Traced
from ricci.tracing.basics import lift
from ricci.tracing.likeness import like_tensor
from ricci.tracing.meanings import of_torch
from ricci.tracing.recording import Arguments, Recording, record
from ricci.tracing.shapes import Shaped
from ricci.transforms.deriving import stable
from ricci.transforms.flows import Field, Flow, Manner, cut, entries, together
from ricci.transforms.formula_functions import as_function
from ricci.transforms.implicit import fitting, started, types_of, whole_numbers, without_first, written_at
from ricci.transforms.linear import identity, kept
from ricci.transforms.runge_kutta import Accuracy
from ricci.transforms.transformed import Transformed, replace_all
from ricci.wrapping import MadeOf


class Solution(MadeOf):
    """The solution of a differential equation, as a function of its parameters."""

    def __init__(self, function: Callable, start: Any, ts: Any, manner: Manner):
        super().__init__(function)
        self.start, self.ts, self.manner = started(start, "odeint"), _times(ts), manner
        self.__signature__ = without_first(function, 2)

    def __repr__(self) -> str:
        return f"<rc.odeint of {self.__name__}>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        make = lambda: Transformed(Solved(self.function, self.manner), identity, "odeint")  # noqa: E731
        return kept(self.function, self.manner, make)(self.start, self.ts, *args, **kwargs)


def _times(ts: Any) -> Any:
    """The times as an array; those of a list that is traced are put together when it is."""
    if isinstance(ts, (list, tuple, range)):
        if any(hasattr(t, "shape") and not isinstance(t, np.generic) for t in ts):
            return list(ts)
        try:
            ts = np.array(ts, float)
        except (TypeError, ValueError):
            raise InputError(f"rc.odeint takes times as an array or a list of numbers, not {shown(ts)}.") from None
    if not hasattr(ts, "shape") or not hasattr(ts, "dtype"):
        raise InputError(f"rc.odeint takes times as an array or a list of numbers, not {shown(ts)}.")
    if len(ts.shape) != 1:
        raise ShapeError(f"rc.odeint takes times as an array with one axis, not of the shape {tuple(ts.shape)}.")
    return ts.astype(float) if isinstance(ts, np.ndarray) and ts.dtype.kind in "iu" else ts


class Solved(MadeOf):
    """The same as a function of the start, the times and the parameters, that is traced."""

    __signature__ = inspect.Signature(
        [
            inspect.Parameter("start", inspect.Parameter.POSITIONAL_ONLY),
            inspect.Parameter("ts", inspect.Parameter.POSITIONAL_ONLY),
            inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
            inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
        ]
    )

    def __init__(self, function: Callable, manner: Manner):
        super().__init__(function)
        self.manner = manner

    def __call__(self, /, start: Any, ts: Any, *args: Any, **kwargs: Any) -> Any:
        here = frames.current()
        assert here is not None
        tensor = of_torch(trees.flatten((start, ts, args, kwargs))[0])
        times = lift(ts)
        t = 0.0 if tensor is None else Shaped((), times.dtype, tensor)
        recording = record(as_function(self.function, "odeint"), Arguments.of((start, t, *args), kwargs))
        parts = FieldParts(recording, written_at(self.function))
        operands = [lift(leaf) for leaf in Arguments.of((start, 0.0, *args), kwargs).traced]
        given: dict[Expr, Expr] = dict(zip(recording.inputs, [x.expr for x in operands], strict=True))
        for v, pair in parts.pairs.items():
            given.update(zip(pair, parts_of(given.get(v, v)), strict=True))

        def value(v: Variable) -> Expr:
            return given.get(v) or v

        flow = here.root.rules.get((parts.field, self.manner)) or Flow(parts.field, self.manner)
        here.root.rules[parts.field, self.manner] = flow
        p = together(*[reshaped(value(v), (entries(v),)) for v in (*parts.states, *parts.smooth)])
        node = function(flow.row("Y"), (p, times.expr, *map(value, parts.field.data)))
        here.note(node)
        own, begin = [], 0
        for v in parts.states:
            size = entries(v)
            own.append(reshaped(cut(node, begin, size), (node.shape[0], *v.shape)))
            begin += size
        types = types_of(recording, operands[: len(parts.taken)])
        joined = joined_results(own, [v.complex for v in parts.taken])
        found = [Traced(e, dtype, here) for e, dtype in zip(joined, types, strict=True)]
        return like_tensor(tensor, trees.unflatten(recording.forms[0], found))


class FieldParts:
    """What a recording is as a field: its states, the parameters that it has derivatives by, and other data.

    Complex numbers are pairs of real ones.
    """

    def __init__(self, recording: Recording, place: str):
        self.taken: list[Variable] = [recording.inputs[k] for k in recording.places[0]]
        (time,) = recording.places[1]
        t = recording.inputs[time]
        ys = fitting(recording, self.taken, "odeint", place)
        self.pairs: dict[Expr, list[Variable]] = {
            v: [variable(f"{v.name}.{part}", v.shape) for part in ("real", "imag")]
            for v in dict.fromkeys([*self.taken, *variables(*ys)])
            if v.complex
        }
        if self.pairs:
            ys = replace_all(ys, {v: whole_of(*pair) for v, pair in self.pairs.items()})
        ys = paired_results(ys, [v.complex for v in self.taken])
        if any(y.complex for y in ys):
            raise DTypeError(f"rc.odeint: {place} returns complex numbers, and y0 is real; write y0 + 0j.")
        self.states: list[Variable] = [x for v in self.taken for x in self.pairs.get(v, [v])]
        types = dict(zip(recording.inputs, recording.dtypes, strict=True))
        others = [v for v in variables(*ys) if v not in self.states and v is not t]
        whole: set[Expr] = set().union(*[whole_numbers(y, types, recording.captured) for y in ys])
        self.smooth = [v for v in others if v not in whole and v.name not in recording.captured]
        data = [v for v in others if v not in self.smooth]
        y, own = self._vector(self.states, f"{self.states[0].name}.all")
        theta, more = self._vector(self.smooth, f"{t.name}.theta")
        flat = together(*[reshaped(e, (entries(e),)) for e in ys])
        (rate,) = stable(replace_all([flat], {**own, **more}))
        self.field = Field(place, rate, y, t, theta, tuple(data), tuple([v in whole for v in data]))

    def _vector(self, leaves: list[Variable], name: str) -> tuple[Variable, dict[Expr, Expr]]:
        """One variable for all, and what each of them is of it."""
        sizes = [entries(v) for v in leaves]
        vector = variable(name, (sum(sizes),))
        starts = np.cumsum([0, *sizes])
        return vector, {
            v: reshaped(cut(vector, int(k), n), v.shape) for v, k, n in zip(leaves, starts, sizes, strict=False)
        }


@takes("rc.odeint", f="function", rtol="step", atol="step", max_steps="count", solver="function or None")
def odeint(
    f: Callable,
    y0: Any,
    ts: Any,
    *,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    max_steps: int = 1_000_000,
    solver: Callable | None = None,
) -> Solution:
    """The function ``θ ↦ y(ts)`` with ``y' = f(y, t, θ)`` and ``y(ts[0]) = y0``; the first axis is that of the times.

    ``y0`` is an array, a number, or lists and dictionaries of them; ``f`` returns the like. There may be any number of
    parameters. Derivatives, of all orders, by parameters, by ``y0`` and by ``ts``, are solutions of differential
    equations too: of that of the tangent in forward mode, of the adjoint one in reverse mode.

    Steps are chosen such that each is wrong by at most ``atol + rtol |y|``. ``solver(fun, y0, ts)`` is another way to
    solve the equation of a vector, with ``fun(y, t)``: ``scipy.integrate.odeint``, say.

    >>> import numpy as np, ricci as rc
    >>> decay = rc.odeint(lambda y, t, rate: -rate * y, 1.0, np.array([0.0, 1.0, 2.0]))
    >>> decay(0.5).round(6)
    array([1.      , 0.606531, 0.367879])
    >>> rc.jacobian(decay)(0.5).round(6)  # -t exp(-t/2)
    array([ 0.      , -0.606531, -0.735759])
    """
    return Solution(f, y0, ts, Manner(solver, Accuracy(float(rtol), float(atol), int(max_steps))))
