"""Functions that are given by an equation: ``rc.root``, ``rc.fixed_point`` and ``rc.argmin``.

All three are one thing: ``x`` with ``F(x, θ) = 0``. ``F`` is the function itself, ``x - f(x, θ)``, or the gradient of
``f`` by ``x``. What is found is one node of the expression, whose operands are where the search starts and all that
``F`` depends on beside ``x``: arguments, and what the function meets without having been given it. Its value is found
by code that only runs (``newton.py``). Its derivative is an expression, by the implicit function theorem:

    ∂F/∂x dx + ∂F/∂θ dθ = 0,  so  dx = - solve(∂F/∂x, ∂F/∂θ dθ)

in which ``x`` is the node again. So it serves both directions, derivatives of derivatives are those of this
expression, and nothing of how ``x`` was found is differentiated. Systems are solved as ``linear_systems.py`` says, for
the steps of Newton's method as for derivatives. The derivative by where the search starts is zero.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ricci.calculus.graph import pullbacks
from ricci.calculus.modes import derivatives
from ricci.checked_calls import shown, takes
from ricci.compiler.pipeline import prepare
from ricci.compiler.run.function import Compiled
from ricci.compiler.run.outside import Outside
from ricci.errors import ConvergenceError, DTypeError, InputError, ShapeError
from ricci.expr import Change, Expr, Op, Structure, Variable, add, function, one, topological, variable, variables
from ricci.expr.moving import joined, reshaped, sliced
from ricci.expr.widen import batched
from ricci.loops.real_pairs import joined_results, paired_results, parts_of, whole_of
from ricci.tracing import frames, trees
from ricci.tracing.array import Traced
from ricci.tracing.basics import complex_type, lift, real_type
from ricci.tracing.frames import CodePlace
from ricci.tracing.likeness import like_tensor
from ricci.tracing.meanings import of_torch
from ricci.tracing.recording import Arguments, Recording, record
from ricci.transforms import newton
from ricci.transforms.deriving import along, floats, scalar, stable
from ricci.transforms.formula_functions import as_function
from ricci.transforms.linear import identity, kept
from ricci.transforms.linear_systems import blocks, solution
from ricci.transforms.templates import with_operands
from ricci.transforms.transformed import Transformed, replace_all
from ricci.wrapping import MadeOf

ROUGH = 1e-2  # how far from what was looked for, beside itself, a solver of the user's may stop
MOST_COUNTS = 8  # of problems side by side, for which programs are kept
CURVED = 1e3  # units of rounding by which the curvature of a minimum may seem to be negative


class Search(NamedTuple):
    """How something is looked for."""

    what: str  # "root", "fixed_point" or "argmin"
    solver: Callable | None
    tol: float | None
    max_steps: int


# What users hold


class Implicit(MadeOf):
    """A function of the parameters of another one, given by an equation for its first argument."""

    def __init__(self, function: Callable, start: Any, how: Search):
        super().__init__(function)
        self.start, self.how = started(start, how.what), how
        self.__signature__ = without_first(function)

    def __repr__(self) -> str:
        return f"<rc.{self.how.what} of {self.__name__}>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        make = lambda: Transformed(Searched(self.function, self.how), identity, self.how.what)  # noqa: E731
        return kept(self.function, self.how, make)(self.start, *args, **kwargs)


def started(start: Any, what: str) -> Any:
    """Where the search starts, whole numbers of Python's as floats."""
    leaves, form = trees.flatten(start)
    found: list[Any]
    if not leaves:
        raise InputError(f"rc.{what} starts from an array or a number, or from lists or dictionaries of them.")
    found = [float(leaf) if type(leaf) is int else leaf for leaf in leaves]
    for leaf in found:
        number = isinstance(leaf, (float, complex))
        if not number and not (hasattr(leaf, "dtype") and hasattr(leaf, "shape")):
            raise InputError(f"rc.{what} starts from arrays of floating numbers, not from {shown(leaf)}.")
        if not number and str(leaf.dtype).rpartition(".")[2].rstrip("0123456789") not in _FLOATS:
            raise DTypeError(
                f"rc.{what} starts from floating numbers, not from an array of the type {leaf.dtype}; write "
                "x0.astype(float)."
            )
    return trees.unflatten(form, found)


_FLOATS = ("float", "bfloat", "complex")


def without_first(function: Callable, count: int = 1) -> inspect.Signature | None:
    """The parameters of a function after its first ones."""
    try:
        known = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    places = [p for p in known if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][:count]
    return inspect.Signature([p for p in known if p not in places])


class Searched(MadeOf):
    """The same as a function of where the search starts and of the parameters, that is traced."""

    __signature__ = inspect.Signature(
        [
            inspect.Parameter("start", inspect.Parameter.POSITIONAL_ONLY),
            inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
            inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
        ]
    )

    def __init__(self, function: Callable, how: Search):
        super().__init__(function)
        self.how = how

    def __call__(self, /, start: Any, *args: Any, **kwargs: Any) -> Any:
        here = frames.current()
        assert here is not None
        arguments = Arguments.of((start, *args), kwargs)
        operands = [lift(leaf) for leaf in arguments.traced]
        recording = record(as_function(self.function, self.how.what), arguments)
        unknown = Unknown(recording)
        equation = unknown.equation(recording, self.how, written_at(self.function))
        given: dict[Expr, Expr] = dict(zip(recording.inputs, [x.expr for x in operands], strict=True))
        first = unknown.packed(paired_results([given[v] for v in unknown.taken], unknown.complex))
        for v, pair in unknown.pairs.items():
            given.update(zip(pair, parts_of(given.get(v, v)), strict=True))
        rules = here.root.rules  # where the same equation has the same row
        row = rules[equation] = rules.get(equation) or _row(equation)
        node = function(row, (first, *[given.get(v, v) for v in equation.parameters]))
        here.note(node)
        types = types_of(recording, [operands[place] for place in recording.places[0]])
        parts = joined_results(unknown.parts(node), unknown.complex)
        found = [Traced(part, dtype, here) for part, dtype in zip(parts, types, strict=True)]
        return like_tensor(of_torch(arguments.leaves), trees.unflatten(recording.forms[0], found))


def types_of(recording: Recording, starts: Sequence[Traced]) -> list[np.dtype]:
    """The types of what is found: those of the results and of the start, where that is no number of Python's."""
    given = [real_type(t) for t in recording.out_dtypes if t.kind in "fc"]
    found = [np.result_type(*given, *([] if x.weak else [real_type(x.dtype)])) for x in starts]
    return [complex_type(t) if x.dtype.kind == "c" else t for t, x in zip(found, starts, strict=True)]


def written_at(function: Callable) -> str:
    """The name of a function, and where it is written."""
    name = getattr(function, "__name__", type(function).__name__)
    code = getattr(inspect.unwrap(function), "__code__", None)
    return name if code is None else f"{name} ({CodePlace(code.co_filename, code.co_firstlineno, code.co_name)})"


class Unknown:
    """What is looked for: the first argument of a recording, as one array. One of several leaves is a vector of all.

    Complex numbers, here and among the parameters, are pairs of real ones, so the equation need not be holomorphic.
    """

    def __init__(self, recording: Recording):
        self.taken: list[Variable] = [recording.inputs[place] for place in recording.places[0]]
        self.complex = [v.complex for v in self.taken]
        self.pairs: dict[Expr, list[Variable]] = {}  # what stands for complex variables
        self.leaves: list[Variable] = [x for v in self.taken for x in (self.pair(v) if v.complex else [v])]
        self.sizes = [prod(v.shape) for v in self.leaves]  # type: ignore[arg-type]
        single = len(self.leaves) == 1
        self.x = self.leaves[0] if single else variable(f"{self.leaves[0].name}.all", (sum(self.sizes),))

    def pair(self, v: Variable) -> list[Variable]:
        """What stands for the parts of a complex variable."""
        if v not in self.pairs:
            self.pairs[v] = [variable(f"{v.name}.{part}", v.shape) for part in ("real", "imag")]
        return self.pairs[v]

    def packed(self, parts: Sequence[Expr]) -> Expr:
        """The array of these leaves."""
        if len(parts) == 1:
            return parts[0]
        return joined([reshaped(part, (size,)) for part, size in zip(parts, self.sizes, strict=True)], 0)

    def parts(self, x: Expr) -> list[Expr]:
        """The leaves of an array."""
        if len(self.leaves) == 1:
            return [x]
        found, start = [], 0
        for v, size in zip(self.leaves, self.sizes, strict=True):
            found.append(reshaped(sliced(x, 0, start, 1, size), v.shape))
            start += size
        return found

    def equation(self, recording: Recording, how: Search, place: str) -> ImplicitEquation:
        """What is zero, as an expression of ``x``; for fixed points and minima also the function itself."""
        ys = [scalar(recording, how.what)] if how.what == "argmin" else fitting(recording, self.taken, how.what, place)
        by_parts: dict[Expr, Expr] = {v: whole_of(*self.pair(v)) for v in variables(*ys) if v.complex}
        ys = replace_all(ys, by_parts) if by_parts else ys
        ys = ys if how.what == "argmin" else paired_results(ys, self.complex)
        if any(y.complex for y in ys):
            raise DTypeError(f"rc.{how.what}: {place} returns complex numbers, and is looked for among real ones.")
        if self.leaves != [self.x]:
            ys = replace_all(ys, dict(zip(self.leaves, self.parts(self.x), strict=True)))
        (value,) = stable([ys[0] if how.what == "argmin" else self.packed(ys)])
        residual = value
        if how.what == "fixed_point":
            residual = add([(1, self.x), (-1, value)])
        elif how.what == "argmin":
            (residual,) = stable(pullbacks(value, one(()), [self.x]))
        others = [v for v in variables(value) if v is not self.x]
        types = dict(zip(recording.inputs, recording.dtypes, strict=True))
        whole = whole_numbers(value, types, recording.captured)
        return ImplicitEquation(how, place, self.x, residual, value, tuple(others), tuple([v in whole for v in others]))


def fitting(recording: Recording, unknown: Sequence[Variable], what: str, place: str) -> list[Expr]:
    """The results, which are as many as the leaves of the first argument, of the same shapes."""
    ys, form = floats(recording, what), recording.forms[0]
    order = trees.order_as(recording.out_form, form)
    if order is None:
        raise ShapeError(
            f"rc.{what} takes a function whose result is like its first argument; {place} returns "
            f"{trees.describe(recording.out_form)}, where {trees.describe(form)} is needed."
        )
    ys = [ys[k] for k in order]
    for y, v in zip(ys, unknown, strict=True):
        if y.shape != v.shape:
            raise ShapeError(
                f"rc.{what} takes a function whose result has the shape of its first argument, one equation for "
                f"each unknown; {place} returns the shape {y.shape} where {v.name.rstrip(chr(39))} has {v.shape}."
            )
    return ys


def whole_numbers(value: Expr, types: dict[Any, np.dtype], captured: dict[str, Any]) -> set[Expr]:
    """The inputs that are no floating numbers, but places or truth values."""
    found: set[Expr] = set()
    for v in variables(value):
        dtype = types.get(v) or getattr(captured.get(v.name), "dtype", None)
        if dtype is not None and np.dtype(str(dtype).rpartition(".")[2].replace("bfloat16", "float16")).kind != "f":
            found.add(v)
    for node in topological(value):
        if isinstance(node, Structure) and node.args:
            found.update([v for v in variables(*node.args) if v not in types and v.name not in captured])
    return found


# The equation, and its row


@dataclass(frozen=True)
class ImplicitEquation:
    """``residual`` is zero at the ``x`` that is looked for; ``value`` is what the function itself gives."""

    how: Search
    place: str
    x: Variable
    residual: Expr
    value: Expr
    parameters: tuple[Variable, ...]
    whole: tuple[bool, ...]  # which of them are whole numbers

    @functools.cached_property
    def jacobian(self) -> Expr:
        """The derivative of the residual by ``x``."""
        ((found,),) = derivatives([self.residual], [self.x], "auto")
        return stable([found])[0]

    @functools.cached_property
    def inputs(self) -> tuple[Variable, ...]:
        """What all expressions are of."""
        return (self.x, *self.parameters)

    def change(self, number: int) -> tuple[Expr, Variable]:
        """The change of ``x`` with that of a parameter, in the first order, and what stands for this one."""
        v = self.parameters[number]
        d = variable(f"{v.name}.change", v.shape)
        (moved,) = along([self.residual], [v], [d])
        return add([(-1, solution(self.jacobian, moved))]), d


def _row(equation: ImplicitEquation) -> Op:
    """The row of the function that an equation gives."""
    orders = (equation.x.order, *[v.order for v in equation.parameters])
    shape = equation.x.shape
    name = equation.how.what
    rules = [
        None if whole else Change(functools.partial(_changed, equation, k)) for k, whole in enumerate(equation.whole)
    ]
    return Op(
        f"{name}.{equation.residual.key:016x}",
        len(orders),
        lambda *args: args,
        (None, *rules),
        latex=rf"\operatorname{{{{{name.replace('_', ' ')}}}}}({{0}})",
        works_on=orders,
        result=lambda shapes: shape,
        rectangular=True,
        note=f"That may be the Jacobian of {equation.place} by its first argument; where it is singular, what "
        f"rc.{name} finds has no derivative.",
        outside=SideBySide(Solving(equation), name, orders, shape, np.dtype(float)),  # type: ignore[arg-type]
        again=lambda: (_row, (equation,)),
    )


def _changed(equation: ImplicitEquation, number: int, operands: tuple, y: Expr, params: tuple, change: Expr) -> Expr:
    """The rule of the derivative by a parameter."""
    template, d = equation.change(number)
    return with_operands(template, (*equation.inputs, d), (y, *operands[1:], change))


# Values


class ArrayProgram:
    """Expressions as a function of arrays of NumPy, in the order of ``inputs``; if asked for, as a kernel."""

    def __init__(self, roots: Sequence[Expr], inputs: Sequence[Variable], kernel: bool = False):
        options = (("fused", True),) if kernel else ()
        self.compiled = Compiled(prepare(roots, simplify=not kernel), "numpy", False, options)
        place = {v.name: k for k, v in enumerate(inputs)}
        self.places = [place[name] for name in self.compiled.inputs]

    def __call__(self, *arrays: Any) -> list[Any]:
        found = self.compiled(*[arrays[p] for p in self.places])
        return [np.asarray(y, arrays[0].dtype) for y in found]


class SideBySide(Outside):
    """A search that goes on for all entries of leading axes at once, and for each by itself where that ends nowhere."""

    def on_numpy(self, *operands: Any) -> Any:
        arrays = [np.asarray(x) for x in operands]
        shape = self.result_shape(*arrays)
        count = prod(shape[: len(shape) - len(self.shape)])
        if count > 1 and prod(shape) and self.native.joins:  # type: ignore[attr-defined]
            flat = [a.reshape(count, *a.shape[a.ndim - own :]) for a, own in zip(arrays, self.orders, strict=True)]
            with suppress(ConvergenceError):
                return self.native.joined(count)(*flat).reshape(shape)  # type: ignore[attr-defined]
        return super().on_numpy(*operands)


class Solving:
    """The search, for arrays of NumPy; with ``lanes``, for several problems along the first axis, each by itself."""

    def __init__(self, equation: ImplicitEquation, lanes: bool = False):
        self.equation, self.lanes = equation, lanes
        self.programs: dict[str, ArrayProgram] = {}
        self._joined: dict[int, Solving] = {}
        self.joins = equation.how.solver is None and equation.how.what != "argmin"  # which goes down for each

    def joined(self, count: int) -> Solving:
        """So many searches as one; the Jacobian is diagonal along the first axis."""
        if count not in self._joined:
            of = self.equation
            wide = [variable(f"{v.name}.wide", (count, *v.shape)) for v in of.inputs]
            mapped: dict[Expr, Expr] = dict(zip(of.inputs, wide, strict=True))
            residual, value = batched([of.residual, of.value], mapped, count)
            x, *parameters = wide
            if len(self._joined) >= MOST_COUNTS:
                self._joined.clear()
            made = ImplicitEquation(of.how, of.place, x, residual, value, tuple(parameters), of.whole)
            self._joined[count] = Solving(made, lanes=True)
        return self._joined[count]

    def program(self, name: str) -> ArrayProgram:
        """The residual or the value, alone or with the step of Newton's method; or the Jacobian."""
        if name not in self.programs:
            of = self.equation
            make: dict[str, Callable[[], list[Expr]]] = {
                "residual": lambda: [of.residual],
                "value": lambda: [of.value],
                "step": lambda: [of.value, of.residual, solution(of.jacobian, of.residual)],
                "jacobian": lambda: [of.jacobian],
                "blocks": lambda: [blocks(of.jacobian, of.x.order)[0]],
            }
            self.programs[name] = ArrayProgram(make[name](), of.inputs)
        return self.programs[name]

    def __call__(self, start: np.ndarray, *parameters: Any) -> np.ndarray:
        of, what = self.equation, self.equation.how.what
        start = np.asarray(start)
        if not start.size:
            return start
        given = [
            np.asarray(p).astype(np.int64) if whole else np.asarray(p)
            for p, whole in zip(parameters, of.whole, strict=True)
        ]
        with frames.suspended(), np.errstate(all="ignore"):
            try:
                if of.how.solver is not None:
                    return self._by_solver(of.how.solver, start, given)
                return getattr(self, f"_{what}")(start, given)
            except newton.NotFoundError as error:
                raise self._not_found(error) from None

    def _at(self, name: str, given: Sequence[Any]) -> Callable[[np.ndarray], list[np.ndarray]]:
        program = self.program(name)

        def at(x: np.ndarray) -> list[np.ndarray]:
            try:
                return program(x, *given)
            except np.linalg.LinAlgError:
                if name != "step":
                    raise
                none = np.full(x.shape, np.nan, x.dtype)
                return [*self.program("value")(x, *given), *self.program("residual")(x, *given), none]

        return at

    def _root(self, start: np.ndarray, given: Sequence[Any]) -> np.ndarray:
        how, at = self.equation.how, self._at("step", given)
        return newton.root(lambda x: tuple(at(x)[1:]), start, how.tol, how.max_steps, self.lanes)  # type: ignore

    def _fixed_point(self, start: np.ndarray, given: Sequence[Any]) -> np.ndarray:
        how, at = self.equation.how, self._at("value", given)
        return newton.fixed_point(lambda x: at(x)[0], start, how.tol, how.max_steps, self.lanes)

    def _argmin(self, start: np.ndarray, given: Sequence[Any]) -> np.ndarray:
        how, at = self.equation.how, self._at("step", given)
        x = newton.minimum(lambda x: tuple(at(x)), start, how.tol, how.max_steps)  # type: ignore[arg-type]
        self._check_curved(x, given)
        return x

    def _check_curved(self, x: np.ndarray, given: Sequence[Any]) -> None:
        """An error where the gradient is zero and the function is not smallest."""
        (curvature,) = self.program("blocks")(x, *given)
        if blocks(self.equation.jacobian, x.ndim)[2]:
            curvature = np.linalg.eigvalsh(curvature)
        least = float(np.min(curvature))
        if not least >= -CURVED * np.finfo(x.dtype).eps * newton.largest(curvature):
            raise newton.NotFoundError(f"it is curved downwards, by {least:.3g}, where its gradient is zero", 0.0, 0)

    def _by_solver(self, solver: Callable, start: np.ndarray, given: Sequence[Any]) -> np.ndarray:
        """What a solver of the user's finds, looked at."""
        what = self.equation.how.what
        offered = {"root": {"jac": "jacobian"}, "argmin": {"jac": "residual", "hess": "jacobian"}}.get(what, {})
        asked = _asked(solver)
        more = {name: self._flat(program, given, start.size) for name, program in offered.items() if name in asked}
        point = start.flatten() if start.ndim > 1 else start.copy()  # which SciPy takes
        found = solver(self._flat("residual" if what == "root" else "value", given, start.size), point, **more)
        if hasattr(found, "x") and not hasattr(found, "dtype"):  # what SciPy returns
            found = found.x
        x = np.asarray(found, start.dtype)
        if x.size != start.size:
            raise InputError(f"The solver of rc.{what} returned the shape {x.shape}, where {start.shape} is needed.")
        x = x.reshape(start.shape)
        _, residual, step = self._at("step", given)(x)
        far = newton.largest(step) > max(ROUGH, self.equation.how.tol or 0) * (1 + newton.largest(x))
        if far or not np.all(np.isfinite(residual)):
            raise newton.NotFoundError("the solver that was given did not find it", newton.largest(residual), 0)
        return x

    def _flat(self, name: str, given: Sequence[Any], size: int) -> Callable[[Any], Any]:
        """A function for solvers: of an array of any shape with so many entries; results are in that shape."""
        program, what = self.program(name), self.equation.how.what
        shape: Any = self.equation.x.shape

        def at(x: Any, *rest: Any) -> Any:
            point = np.asarray(x, np.result_type(np.asarray(x).dtype, np.float32))
            (found,) = program(point.reshape(shape), *given)
            if name == "jacobian":
                return found.reshape(size, size)
            return found[()] if what == "argmin" and name == "value" else found.reshape(point.shape)[()]

        return at

    def _not_found(self, error: newton.NotFoundError) -> ConvergenceError:
        how, place = self.equation.how, self.equation.place
        word, left, remedy = _WORDS[how.what]
        steps = f" after {error.steps} steps" if error.steps else ""
        return ConvergenceError(
            f"rc.{how.what} found no {word} of {place}: {error.reason}; the {left} is {error.residual:.3g}{steps}. "
            f"{remedy}"
        )


_NEARER = "Start nearer to it, or allow more steps by max_steps=…; or give another solver=…."
_WORDS = {
    "root": ("root", "residual", _NEARER),
    "fixed_point": ("fixed point", "last change", "Allow more steps by max_steps=…, or let rc.root find it: x - f(x)."),
    "argmin": ("minimum", "gradient", _NEARER),
}


def _asked(solver: Callable) -> set[str]:
    """What a solver takes by name beside the function and the start; Hessians only where it cannot do without."""
    try:
        known = inspect.signature(solver).parameters.values()
    except (TypeError, ValueError):
        return set()
    named = [p for p in known if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return {p.name for p in named if p.name == "jac" or p.default is p.empty}


# The public functions

_KINDS = {"f": "function", "solver": "function or None", "tol": "step or None", "max_steps": "count"}


@takes("rc.root", **_KINDS)
def root(
    f: Callable, x0: Any, *, solver: Callable | None = None, tol: float | None = None, max_steps: int = 100
) -> Implicit:
    """The function ``θ ↦ x`` with ``f(x, θ) = 0``, found by Newton's method from ``x0`` on.

    ``x0`` is an array, a number, or lists and dictionaries of them; ``f`` returns the like, one equation for each
    unknown. There may be any number of parameters, by position and by name. Derivatives, of all orders and by all
    parameters, are those of the implicit function theorem; nothing of the search is differentiated.

    The search ends with a step that is smaller than ``tol`` beside ``x``. ``solver(fun, x0)`` is another way to find
    ``x``, say that of SciPy; if it has a parameter ``jac``, it is given the Jacobian too.

    >>> import numpy as np, ricci as rc
    >>> sqrt = rc.root(lambda x, a: x * x - a, 1.0)
    >>> sqrt(2.0)
    np.float64(1.4142135623730951)
    >>> rc.grad(sqrt)(4.0), rc.grad(rc.grad(sqrt))(4.0)
    (np.float64(0.25), np.float64(-0.03125))
    """
    return Implicit(f, x0, Search("root", solver, tol, int(max_steps)))


@takes("rc.fixed_point", **_KINDS)
def fixed_point(
    f: Callable, x0: Any, *, solver: Callable | None = None, tol: float | None = None, max_steps: int = 10_000
) -> Implicit:
    """The function ``θ ↦ x`` with ``x = f(x, θ)``, found by applying ``f`` again and again, from ``x0`` on.

    All else is as in ``rc.root``.

    >>> import numpy as np, ricci as rc
    >>> kepler = rc.fixed_point(lambda e, mean, eccentricity: mean + eccentricity * np.sin(e), 0.0)
    >>> kepler(1.0, 0.5)
    np.float64(1.49870113351784...)
    >>> rc.grad(kepler)(1.0, 0.5)  # 1 / (1 - 0.5 cos(e))
    np.float64(1.0373620218936...)
    """
    return Implicit(f, x0, Search("fixed_point", solver, tol, int(max_steps)))


@takes("rc.argmin", **_KINDS)
def argmin(
    f: Callable, x0: Any, *, solver: Callable | None = None, tol: float | None = None, max_steps: int = 200
) -> Implicit:
    """The function ``θ ↦ x`` where ``f(x, θ)``, a scalar, is smallest, found by Newton's method from ``x0`` on.

    It is a minimum near ``x0``, not perhaps the least of all. A ``solver`` may have parameters ``jac``
    and ``hess``, by which it gets the gradient and the Hessian. All else is as in ``rc.root``.

    >>> import numpy as np, ricci as rc
    >>> A, b = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), np.array([1.0, 2.0, 2.0])
    >>> ridge = rc.argmin(lambda w, l: ((A @ w - b) ** 2).sum() + l * (w @ w), np.zeros(2))
    >>> ridge(0.5)
    array([0.92682927, 0.58536585])
    >>> rc.jacobian(ridge)(0.5)
    array([-0.32599643,  0.07138608])
    """
    return Implicit(f, x0, Search("argmin", solver, tol, int(max_steps)))
