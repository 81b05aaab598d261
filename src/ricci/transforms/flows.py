"""The flow of a differential equation, and its derivatives to all orders.

``y' = f(y, t, θ)``, ``y(t0) = y0``. All that the solution depends on smoothly is one vector ``p = (y0, θ)``, and the
solution at the times ``ts`` is ``Y(p)``. Four functions, each one node of the expression, are closed under derivatives:

    Y(p)                  the solution
    T(p; w) = Y'(p) w     the tangent: how it changes along w; linear in w
    R(p; g) = Y'(p)ᵀ g    the adjoint: what flows back from g; linear in g
    H(p, g; u)            the second derivative of g·Y along u; linear in u, and symmetric

- The tangent is part of the solution of a larger equation, of the *augmented* field: ``y' = f``,
  ``δ' = f_y δ + f_θ w``, so ``(Y(p), T(p; w)) = Y⁺(p, w)``. Whatever holds for any field holds for that one, which is
  what gives all orders.
- The adjoint goes back along the solution, which is computed first and kept as polynomials: ``a' = -f_yᵀ a``, to which
  ``g`` is added at its times, and what flows to ``θ`` is the integral of ``f_θᵀ a``.

The rules, with ``⁺`` for functions of the augmented field, of which a part is taken:

    Y along u                T(p; u)
    T(p; w) by p, along u    T⁺((p, w); (u, 0))     by w: itself, and its transpose is R
    R(p; g) by p, along u    H(p, g; u)             by g: itself, and its transpose is T
    H(p, g; u) by p, along v H⁺((p, u), (0, g); (v, 0))
               by g, along h R⁺((p, u); (0, h))     by u: itself, which is its transpose

Times: time is warped, so that ``ts`` is among the parameters and steps go from 0 to 1, 1 to 2 and so on: in the k-th of
them ``y' = (ts[k+1] - ts[k]) f(y, t, θ)`` and ``t`` goes from ``ts[k]`` to ``ts[k+1]`` evenly.

Values are found by code that only runs, each to the tolerances that the user gave.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ricci.calculus.graph import pullbacks
from ricci.compiler.fused.kernel import installed
from ricci.compiler.run.outside import Outside
from ricci.errors import ConvergenceError, InputError, ShapeError
from ricci.expr import Adjoint, Change, Expr, Op, Variable, add, function, product, variable, zero
from ricci.expr.moving import gathered, joined, sliced, transposed
from ricci.tracing import frames
from ricci.transforms.deriving import along, stable
from ricci.transforms.implicit import ArrayProgram
from ricci.transforms.runge_kutta import Accuracy, Integration, Path, StuckError, within
from ricci.transforms.transformed import replace_all
from ricci.transforms.whole_steps import along_a_polynomial, whole_step

MANY, MOST = 2000, 4096  # steps before a kernel is made for them, and entries that it may be of
FIXED = "it is an array that the function met without having been given it; pass it as an argument."


@dataclass(frozen=True)
class Field:
    """``rate`` is an expression of the vectors ``y`` and ``theta``, of ``t``, and of ``data``, which are fixed."""

    place: str
    rate: Expr
    y: Variable
    t: Variable
    theta: Variable
    data: tuple[Variable, ...]
    whole: tuple[bool, ...]  # which of the data are whole numbers
    piece: Variable | None = None  # of warped time, the number of the interval

    @property
    def inputs(self) -> tuple[Variable, ...]:
        """What the rate is computed from."""
        return (self.y, self.t, *([] if self.piece is None else [self.piece]), self.theta, *self.data)


class Manner(NamedTuple):
    """How the equation is solved."""

    solver: Callable | None
    accuracy: Accuracy


# Vectors in parts, along their last axis


def cut(e: Expr, start: int, size: int) -> Expr:
    """Entries of vectors."""
    return sliced(e, len(e.shape) - 1, start, 1, size) if size else zero((*e.shape[:-1], 0))


def together(*parts: Expr) -> Expr:
    """Vectors one after another."""
    return joined(parts, len(parts[0].shape) - 1)


def entries(e: Expr) -> int:
    """How many there are; sizes are known where functions are traced."""
    return prod([int(n) for n in e.shape])  # type: ignore[arg-type]


def _in_front(operands: Sequence[Expr], columns: int) -> tuple[list[Expr], Callable[[Expr], Expr]]:
    """Operands with the further axes of the last one as leading axes of all; and what puts them back in a result."""
    if not columns:
        return list(operands), lambda e: e
    *others, last = operands
    order, lead = len(last.shape), len(operands[0].shape) - 1
    first = order - columns
    sizes = {("column", k): size for k, size in enumerate(last.shape[first:])}
    spread = []
    for e in others:
        own = range(lead, len(e.shape))
        spread.append(product([(e, range(len(e.shape)))], (*range(lead), *sizes, *own), sizes))

    def back(e: Expr) -> Expr:
        return transposed(e, (*range(lead), *range(lead + columns, len(e.shape)), *range(lead, lead + columns)))

    return [*spread, transposed(last, (*range(lead), *range(first, order), *range(lead, first)))], back


# The four functions of a field


class Flow:
    """The functions of one field, as rows. Operands are ``p``, the times, the data, and what they are linear in."""

    def __init__(self, field: Field, manner: Manner):
        self.field, self.manner = field, manner
        self.count, self.states = entries(field.y) + entries(field.theta), entries(field.y)
        self._warped: dict[int, Flow] = {}
        self._programs: dict[str, ArrayProgram] = {}
        self.taken = {"rate": 0, "pull": 0}  # steps

    def __reduce__(self) -> tuple:
        return Flow, (self.field, self.manner)

    @cached_property
    def augmented(self) -> Flow:
        """The flow of the field and its tangent."""
        field, states, more = self.field, self.states, self.count - self.states
        y = variable(f"{field.y.name}+", (2 * states,))
        theta = variable(f"{field.theta.name}+", (2 * more,))
        dots = [cut(y, states, states), cut(theta, more, more)]
        (moved,) = along([field.rate], [field.y, field.theta], dots)
        own: dict[Expr, Expr] = {field.y: cut(y, 0, states), field.theta: cut(theta, 0, more)}
        rate = stable([together(*replace_all([field.rate, moved], own))])[0]
        made = Field(field.place, rate, y, field.t, theta, field.data, field.whole, field.piece)
        return Flow(made, self.manner)

    def warped(self, times: int) -> Flow:
        """The flow in even time, the times being the last parameters."""
        if times not in self._warped:
            field, more = self.field, self.count - self.states
            theta = variable(f"{field.theta.name}~", (more + times,))
            s, k = variable(f"{field.t.name}~", ()), variable(f"{field.t.name}.piece", ())
            ts = cut(theta, more, times)
            start = gathered(cut(ts, 0, times - 1), 0, k)
            length = add([(1, gathered(cut(ts, 1, times - 1), 0, k)), (-1, start)])
            t = add([(1, start), (1, product([(add([(1, s), (-1, k)]), ()), (length, ())], ()))])
            (rate,) = replace_all([field.rate], {field.t: t, field.theta: cut(theta, 0, more)})
            rate = stable([product([(rate, "i"), (length, "")], "i")])[0]
            made = Field(field.place, rate, field.y, s, theta, field.data, field.whole, k)
            self._warped[times] = Flow(made, self.manner)
        return self._warped[times]

    @cached_property
    def pulled(self) -> tuple[Expr, Variable]:
        """What flows back from the rate, with the sign of the adjoint equation, and what it flows from."""
        field = self.field
        a = variable(f"{field.y.name}.back", field.y.shape)
        found = together(*pullbacks(field.rate, a, [field.y, field.theta]))
        return stable([add([(-1, found)])])[0], a

    def programs(self, kind: str) -> ArrayProgram:
        """What computes the rate, ``"rate"``, or what flows back from it, ``"pull"``."""
        if kind not in self._programs:
            roots, more = (self.field.rate, ()) if kind == "rate" else (self.pulled[0], (self.pulled[1],))
            self._programs[kind] = ArrayProgram([roots], (*self.field.inputs, *more))
        return self._programs[kind]

    def kernel(self, kind: str) -> ArrayProgram | None:
        """Steps as one kernel each, once so many were taken that compiling it takes no longer than they did."""
        name, size = f"{kind} kernel", self.states if kind == "rate" else self.count
        if name not in self._programs:
            if self.taken[kind] < MANY or size > MOST or not size or not installed():
                return None
            self._programs[name] = self._forward_kernel() if kind == "rate" else self._backward_kernel()
        return self._programs[name]

    def _forward_kernel(self) -> ArrayProgram:
        field = self.field
        roots, more = whole_step(field.rate, field.y, field.t, self.manner.accuracy)
        return ArrayProgram(roots, (*field.inputs, *more), kernel=True)

    def _backward_kernel(self) -> ArrayProgram:
        field, (pulled, a) = self.field, self.pulled
        s = variable(f"{a.name}.all", (self.count,))
        y, within = along_a_polynomial(self.states, field.t)
        (rate,) = replace_all([pulled], {a: cut(s, 0, self.states), field.y: y})
        roots, more = whole_step(rate, s, field.t, self.manner.accuracy)
        return ArrayProgram(roots, (s, *field.inputs[1:], *within, *more), kernel=True)

    def row(self, name: str) -> Op:
        """The row of ``Y``, ``T``, ``R`` or ``H``."""
        return getattr(self, f"_{name}")

    @cached_property
    def _Y(self) -> Op:
        return self._made("Y", (), lambda ts, *_: (ts[0], self.states))

    @cached_property
    def _T(self) -> Op:
        adjoint = Adjoint(lambda operands, bar, params: function(self._R, (*operands, bar), params))
        return self._made("T", (1,), lambda ts, w: (ts[0], self.states, *w[1:]), adjoint)

    @cached_property
    def _R(self) -> Op:
        adjoint = Adjoint(lambda operands, bar, params: function(self._T, (*operands, bar), params))
        return self._made("R", (2,), lambda ts, g: (self.count, *g[2:]), adjoint)

    @cached_property
    def _H(self) -> Op:
        adjoint = Adjoint(lambda operands, bar, params: function(self._H, (*operands, bar), params))
        by_gradient = Change(self._H_by_gradient)
        return self._made("H", (2, 1), lambda ts, g, u: (self.count, *u[1:]), by_gradient, adjoint)

    def _made(self, name: str, own: tuple[int, ...], shape: Callable[..., tuple], *rules: Any) -> Op:
        field = self.field
        orders = (1, 1, *[v.order for v in field.data], *own)
        by_times = None if field.piece is not None else Change(partial(self._by_times, name))
        data = [None if whole else FIXED for whole in field.whole]
        return Op(
            f"odeint.{name}.{field.rate.key:016x}",
            len(orders),
            lambda *args: args,
            (Change(getattr(self, f"_{name}_by_p")), by_times, *data, *rules),
            latex=r"\operatorname{{odeint}}({0})",
            works_on=orders,
            result=lambda shapes, *params: shape(shapes[1], *shapes[2 + len(field.data) :]),
            columns=bool(own),
            rectangular=True,
            outside=OfColumns(Values(self, name), "odeint", orders, shape, len(own)),
            again=lambda: (_row_of, (self, name)),
        )

    # Rules

    def paired(self, p: Expr, w: Expr) -> Expr:
        """The vector of the augmented field."""
        n, more = self.states, self.count - self.states
        return together(cut(p, 0, n), cut(w, 0, n), cut(p, n, more), cut(w, n, more))

    def unpaired(self, e: Expr) -> Expr:
        """The first of the two vectors that are paired."""
        n = self.states
        return together(cut(e, 0, n), cut(e, 2 * n, self.count - n))

    def _Y_by_p(self, operands: tuple, y: Expr, params: tuple, change: Expr) -> Expr:
        return function(self._T, (*operands, change), (0,))

    def _T_by_p(self, operands: tuple, y: Expr, params: tuple, change: Expr) -> Expr:
        (change, p, ts, *data, w), back = _in_front((change, *operands), params[0])
        more = self.augmented
        found = function(more._T, (self.paired(p, w), ts, *data, self.paired(change, zero(w.shape))), (0,))
        return back(cut(found, self.states, self.states))

    def _R_by_p(self, operands: tuple, y: Expr, params: tuple, change: Expr) -> Expr:
        (change, *rest), back = _in_front((change, *operands), params[0])
        return back(function(self._H, (*rest, change), (0,)))

    def _H_by_p(self, operands: tuple, y: Expr, params: tuple, change: Expr) -> Expr:
        (change, p, ts, *data, g, u), back = _in_front((change, *operands), params[0])
        given = (self.paired(p, u), ts, *data, together(zero(g.shape), g))
        found = function(self.augmented._H, (*given, self.paired(change, zero(u.shape))), (0,))
        return back(self.unpaired(found))

    def _H_by_gradient(self, operands: tuple, y: Expr, params: tuple, change: Expr) -> Expr:
        p, ts, *data, _, u = operands
        (p, change, ts, *data, u), back = _in_front((p, change, ts, *data, u), params[0])
        found = function(self.augmented._R, (self.paired(p, u), ts, *data, together(zero(change.shape), change)), (0,))
        return back(self.unpaired(found))

    def _by_times(self, name: str, operands: tuple, y: Expr, params: tuple, change: Expr) -> Expr:
        """The rule for the times is that for the last parameters in warped time."""
        columns = params[0] if params else 0
        (change, p, ts, *rest), back = _in_front((change, *operands), columns)
        times = int(ts.shape[-1])  # type: ignore[arg-type]
        if times < 2:
            return zero(y.shape)
        flow, nothing = self.warped(times), zero(ts.shape)
        if name in ("T", "H"):  # which are linear in a vector like p
            rest[-1] = together(rest[-1], nothing)
        given = (together(p, ts), ts, *rest)
        rule = getattr(flow, f"_{name}_by_p")
        found = rule(given, y, (0,), together(zero(p.shape), change))
        return back(cut(found, 0, self.count) if name in ("R", "H") else found)


def _row_of(flow: Flow, name: str) -> Op:
    return flow.row(name)


# Values


class OfColumns(Outside):
    """A function that is linear in its last operand, which may have further axes: it is called for each column."""

    def __init__(self, native: Callable, title: str, orders: tuple[int, ...], shape: Callable[..., tuple], own: int):
        super().__init__(native, title, orders, (), np.dtype(float))
        self.of, self.own = shape, own

    def result_shape(self, *arrays: Any) -> tuple[int, ...]:
        lead = len(arrays[0].shape) - self.orders[0]
        last = arrays[len(arrays) - self.own :]
        return (*arrays[0].shape[:lead], *self.of(arrays[1].shape[lead:], *[a.shape[lead:] for a in last]))

    def on_numpy(self, *operands: Any) -> Any:
        arrays = [np.asarray(x) for x in operands]
        lead = arrays[0].ndim - self.orders[0]
        columns = arrays[-1].ndim - lead - self.orders[-1] if self.own else 0
        result = np.empty(self.result_shape(*arrays), arrays[0].dtype)
        further = arrays[-1].shape[arrays[-1].ndim - columns :] if columns else ()
        for place in np.ndindex(*arrays[0].shape[:lead]):
            own = [np.asarray(a[place], float) for a in arrays]
            for column in np.ndindex(*further):
                given = [*own[:-1], own[-1][(..., *column)]] if columns else own
                result[(*place, ..., *column)] = self.native(*given)
        return result


class Values:
    """One of the four functions, for vectors of NumPy."""

    def __init__(self, flow: Flow, name: str):
        self.flow, self.name = flow, name

    def __call__(self, p: np.ndarray, ts: np.ndarray, *rest: np.ndarray) -> np.ndarray:
        with frames.suspended(), np.errstate(all="ignore"):
            count = len(self.flow.field.data)
            course = Course(self.flow, p, ts, rest[:count])
            return getattr(course, self.name)(*rest[count:])


class Course:
    """The flow from one point on."""

    def __init__(self, flow: Flow, p: np.ndarray, ts: np.ndarray, data: Sequence[np.ndarray]):
        self.flow, self.p, self.data = flow, p, data
        self.own = [d.astype(np.int64) if w else d for d, w in zip(data, flow.field.whole, strict=True)]
        self.given = ts
        self.ts = ts if flow.field.piece is None else np.arange(len(ts), dtype=float)
        self.y0, self.theta = p[: flow.states], p[flow.states :]
        gone = np.diff(ts)
        if not np.all(np.isfinite(ts)) or not (np.all(gone >= 0) or np.all(gone <= 0)):
            raise InputError(
                f"rc.odeint takes times that go one way, from the one at which y0 holds; these are {shown_times(ts)}."
            )

    def _pieces(self, k: int) -> list[np.ndarray]:
        return [] if self.flow.field.piece is None else [np.asarray(k)]

    def _rate(self, kind: str = "rate") -> Callable:
        """The rate at a point and a time; in warped time, within a piece."""
        program = self.flow.programs(kind)

        def rate(y: np.ndarray, t: float, k: int, *more: np.ndarray) -> np.ndarray:
            return program(y, np.asarray(t, float), *self._pieces(k), self.theta, *self.own, *more)[0]

        return rate

    def _kernel(self, kind: str, k: int, *within: Any) -> Callable | None:
        """A step at once, where that is worth a kernel; the adjoint one is within a step of the solution."""
        program = self.flow.kernel(kind)
        if program is None:
            return None
        fixed = (*self._pieces(k), self.theta, *self.own, *[np.asarray(x, float) for x in within])

        def whole(y: np.ndarray, t: float, h: float, slope: np.ndarray) -> list[np.ndarray]:
            return program(y, np.asarray(t, float), *fixed, np.asarray(h, float), slope)

        return whole

    def Y(self, path: Path | None = None) -> np.ndarray:
        """The solution at the times."""
        if not len(self.ts):
            return np.empty((0, self.flow.states))
        rate, given = self._rate(), self.flow.manner.solver is not None and path is None
        if self.flow.field.piece is None:
            return self._by_solver(rate, self.y0, self.ts) if given else self._stepped(rate, self.y0, self.ts, 0, path)
        return self._in_pieces(rate, path, given)

    def _in_pieces(self, rate: Callable, path: Path | None, given: bool) -> np.ndarray:
        found = [self.y0]
        for k in range(len(self.ts) - 1):
            own, ts = (lambda y, t, _, k=k: rate(y, t, k)), self.ts[k : k + 2]
            ys = self._by_solver(own, found[-1], ts) if given else self._stepped(own, found[-1], ts, k, path)
            found.append(ys[-1])
        return np.stack(found)

    def _stepped(self, rate: Callable, y: np.ndarray, ts: np.ndarray, k: int, path: Path | None = None) -> np.ndarray:
        whole = self._kernel("rate", k)
        return self._steps(
            "rate", Integration(lambda y, t: rate(y, t, k), self.flow.manner.accuracy, whole), y, ts, path
        )

    def _steps(self, kind: str, steps: Integration, y: np.ndarray, ts: Any, path: Path | None = None) -> np.ndarray:
        try:
            return steps.solve(y, ts, path)
        except StuckError as error:
            raise self._stuck(error) from None
        finally:
            self.flow.taken[kind] += steps.steps

    def _stuck(self, error: StuckError) -> ConvergenceError:
        return ConvergenceError(
            f"rc.odeint found no solution of {self.flow.field.place}: {error.reason}; it came from t = "
            f"{self.ts[0]:.6g} to {error.t:.6g} of {self.ts[-1]:.6g} in {error.steps} steps. Allow more steps by "
            "max_steps=…, or a larger error by rtol=… and atol=…; for stiff equations give a solver=…."
        )

    def _by_solver(self, rate: Callable, y: np.ndarray, ts: np.ndarray) -> np.ndarray:
        solver = self.flow.manner.solver
        assert solver is not None
        found = np.asarray(solver(lambda y, t: rate(np.asarray(y, float), t, 0), y, ts), float)
        if found.shape != (len(ts), *y.shape):
            raise ShapeError(
                f"The solver of rc.odeint returned the shape {found.shape}, where {(len(ts), *y.shape)} is needed, "
                "the times first."
            )
        if not np.all(np.isfinite(found)):
            raise ConvergenceError(
                f"rc.odeint found no solution of {self.flow.field.place}: what its solver gave is not finite."
            )
        return found

    def T(self, w: np.ndarray) -> np.ndarray:
        """The tangent along ``w``."""
        size, states = _largest(w), self.flow.states
        if size == 0:
            return np.zeros((len(self.ts), states))
        course = Course(self.flow.augmented, self._paired(self.p, w / size), self.given, self.data)
        return size * course.Y()[:, states:]

    def R(self, g: np.ndarray) -> np.ndarray:
        """What flows back from ``g``."""
        size = _largest(g)
        if size == 0:
            return np.zeros(self.flow.count)
        return size * (
            self._back_along(g / size) if self.flow.manner.solver is None else self._back_by_solver(g / size)
        )

    def _back_along(self, g: np.ndarray) -> np.ndarray:
        """The adjoint equation along the solution, step by step of it from the last to the first."""
        states, s, k = self.flow.states, np.zeros(self.flow.count), len(self.ts) - 1
        path = Path(float(np.sign(self.ts[-1] - self.ts[0]) or 1.0))
        self.Y(path)
        back, length = self._rate("pull"), None
        for start, h, y, powers in reversed(path.parts):
            t, piece, near = start + h, int(start + h / 2), 8 * np.spacing(abs(start) + abs(h))
            rate = lambda s, t: back(within(start, h, y, powers, t), t, piece, s[:states])  # noqa: B023, E731
            whole = self._kernel("pull", piece, start, h, y, powers)
            while abs(t - start) > near:
                if k >= 0 and abs(self.ts[k] - t) <= near:  # where a gradient comes in
                    s[:states] += g[k]
                    k -= 1
                    continue
                end = start if k < 0 else path.sign * max(path.sign * start, path.sign * self.ts[k])
                steps = Integration(rate, self.flow.manner.accuracy, whole)
                steps.length = length
                s, t = self._steps("pull", steps, s, (t, end))[-1], end
                length = steps.length
        s[:states] += g[: k + 1].sum(0)
        return s

    def _back_by_solver(self, g: np.ndarray) -> np.ndarray:
        """The adjoint equation beside that of the solution, which begins anew at each of the times."""
        states, s, ys = self.flow.states, np.zeros(self.flow.count), self.Y()
        rate, back = self._rate(), self._rate("pull")
        for k in range(len(self.ts) - 1, 0, -1):

            def both(z: np.ndarray, t: float, _: int, k: int = k) -> np.ndarray:
                y, a = z[:states], z[states : 2 * states]
                return np.concatenate([rate(y, t, k - 1), back(y, t, k - 1, a)])

            s[:states] += g[k]
            if self.ts[k] != self.ts[k - 1]:
                between = np.array([self.ts[k], self.ts[k - 1]])
                s = self._by_solver(both, np.concatenate([ys[k], s]), between)[-1][states:]
        s[:states] += g[:1].sum(0)
        return s

    def H(self, g: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The second derivative of ``g·Y`` along ``u``."""
        size, n = _largest(u), self.flow.states
        if size == 0:
            return np.zeros(self.flow.count)
        course = Course(self.flow.augmented, self._paired(self.p, u / size), self.given, self.data)
        found = course.R(np.concatenate([np.zeros_like(g), g], -1))
        return size * np.concatenate([found[:n], found[2 * n : n + self.flow.count]])

    def _paired(self, p: np.ndarray, w: np.ndarray) -> np.ndarray:
        n = self.flow.states
        return np.concatenate([p[:n], w[:n], p[n:], w[n:]])


def _largest(x: np.ndarray) -> float:
    return float(np.max(np.abs(x), initial=0.0))


def shown_times(ts: np.ndarray) -> str:
    """Times in a message, the first few of them."""
    return np.array2string(ts, threshold=6, edgeitems=3, precision=6)
