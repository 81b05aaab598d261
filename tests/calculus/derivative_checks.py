"""Random functions to differentiate, and the checks that their derivatives are right: for properties and for faults.

A case is a random expression with a function of the tables on top, so that every function is met, and an input to
differentiate by. The random expressions of ``ricci.testing`` like whole and half numbers, at which functions have
kinks and ties; so a small dyadic number is added to every entry, which keeps the arithmetic exact and leaves only such
ties as hold identically. What differences cannot see is left out: samples at which two step sizes disagree (a kink or
a jump between the points, or too much curvature), and matrices with eigenvalues that nearly coincide.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ricci.calculus.graph import Graph, pullbacks, pushforward
from ricci.calculus.modes import MODES, derivative, through_cut
from ricci.expr import (
    OPS,
    Elementwise,
    Expr,
    Function,
    Variable,
    check,
    delta,
    function,
    one,
    product,
    topological,
    triangle,
    variable,
    variables,
)
from ricci.expr.dims import evaluate
from ricci.functions import activations as act
from ricci.functions import elementwise as el
from ricci.functions import matrix as mx
from ricci.functions import reductions as red
from ricci.notation.context import Facts
from ricci.show import to_text
from ricci.simplify import simplify
from ricci.testing import random_expression
from ricci.testing.domains import ANY, UNARY
from ricci.testing.interpreter import interpret

STEP = 1e-3
PLACES = {"argmax", "argmin", "argsort"}  # functions that refuse to be differentiated
LARGE = 1e7  # beyond this, rounding drowns what is compared
GAP = 0.05  # least distance of eigenvalues


@dataclass(frozen=True)
class Case:
    """A function, the input to differentiate by, and values for all inputs."""

    y: Expr
    x: Variable
    inputs: dict[str, np.ndarray]
    sizes: dict
    seed: Any

    @property
    def at(self) -> np.ndarray:
        return self.inputs[self.x.name]

    def value(self, e: Expr, **changed: np.ndarray) -> np.ndarray:
        """Truth values are numbers here."""
        return _numbers(interpret([e], {**self.inputs, **changed}, self.sizes)[0])

    def magnitude(self, *roots: Expr) -> float:
        """The largest entry of all that is computed on the way: rounding errors are in proportion to it."""
        values = map(_numbers, interpret(topological(*roots), self.inputs, self.sizes))
        return max([1.0, *[float(np.max(np.abs(v[np.isfinite(v)]), initial=0)) for v in values]])

    def direction(self, number: int) -> np.ndarray:
        return np.random.default_rng(number).uniform(0.5, 1.5, self.at.shape) * (-1) ** number

    def __repr__(self) -> str:
        names = tuple("ijklmnpqrstuvw"[: self.y.order])
        text = to_text(self.y, names, Facts(inputs={k: v.ndim for k, v in self.inputs.items()}), None)
        used = {v.name for v in variables(self.y)}
        given = "".join(f"\n{k} = {v.tolist()}" for k, v in self.inputs.items() if k in used)
        return f"make_case{self.seed}, by {self.x.name}:\n{text}{given}"


def _numbers(value: Any) -> np.ndarray:
    array = np.asarray(value)
    return array.astype(float) if array.dtype == bool else array


# Random cases


def make_case(seed: int, top: str | None = None, symbolic: bool = False, **options: Any) -> Case:
    """A random function with ``top`` applied last; without ``top``, a random expression as it is."""
    rng = random.Random(seed)
    options = {"order": 2, "extents": (0, 1, 2, 2, 3), **options}
    while True:
        sample = random_expression(rng, size=rng.randint(1, 3 if top else 6), symbolic=symbolic, **options)
        inputs = {name: _moved(value, rng) for name, value in sample.inputs.items()}
        e = sample.build()
        if any(isinstance(n, Function) and n.op.name in PLACES for n in topological(e)):
            continue
        if top is not None:
            sizes = [evaluate(n, sample.sizes) for n in e.shape]
            if top in NEVER_EMPTY and not all(n > (top == "std") for n in sizes[-1:]):
                continue
            e = TOPS[top](e)
        found = [v for v in variables(e) if inputs[v.name].dtype.kind == "f"]
        if found:
            case = Case(e, rng.choice(found), inputs, sample.sizes, (seed, top, symbolic))
            if np.all(np.abs(case.value(e)) < LARGE) and _distinct(case):
                return case


def _moved(value: np.ndarray, rng: random.Random) -> np.ndarray:
    if value.dtype.kind != "f":
        return value
    return value + np.array([rng.randrange(-15, 16, 2) / 256 for _ in range(value.size)]).reshape(value.shape)


def _distinct(case: Case) -> bool:
    """Whether no eigenvalues, or singular values, come close to one another, or these to zero."""
    for node in topological(case.y):
        values_of = {"eigvalsh": "eigvalsh", "eigh_vectors": "eigvalsh", "svdvals": "svdvals", "svd_vectors": "svdvals"}
        name = values_of.get(node.op.name) if isinstance(node, Function) else None
        if name is not None:
            values = case.value(function(OPS[name], node.args))
            edge = values[..., -1:] if name == "svdvals" else values[..., :0]
            if np.any(np.abs(np.diff(values, axis=-1)) < GAP) or np.any(edge < GAP):
                return False
    return True


def _bounded(e: Expr, bounds: tuple[float, float] = (-2, 2)) -> Expr:
    low, high = (-2, 2) if bounds == ANY else (bounds[0], min(bounds[1], 4))
    return (low + high) / 2 + (high - low) / 3.2 * el.atan(e)


def _vector(e: Expr) -> Expr:
    """``e`` with at least one axis, its entries along the last one told apart."""
    if not e.order:
        e = product([(e, ())], "i", {"i": 2})
    n = e.shape[-1]
    ramp = product([(triangle(n, n), "ij"), (one((n,)), "j")], "i")
    axes = tuple(range(e.order))
    return el.atan(e) + 0.3 * product([(ramp, axes[-1:])], axes, dict(enumerate(e.shape)))


def _matrix(e: Expr) -> Expr:
    """A matrix made of ``e`` whose symmetric part is positive definite, with distinct eigenvalues."""
    v = _vector(e)
    n, lead = v.shape[-1], tuple(range(v.order - 1))
    ramp = product([(triangle(n, n), "ij"), (one((n,)), "j")], "i")
    diagonal = product([(ramp, "i"), (delta(n), "ij")], (*lead, "i", "j"), dict(enumerate(v.shape[:-1])))
    w = el.sin(2 * v + 1)
    return 3 * diagonal + product([(v, (*lead, "i")), (w, (*lead, "j"))], (*lead, "i", "j")) / 4


def _doubled(e: Expr) -> Expr:
    """Every entry twice, along a new axis."""
    axes = tuple(range(e.order))
    return product([(el.sin(e), axes)], (*axes, "new"), {**dict(enumerate(e.shape)), "new": 2})


def _projectors(name: str) -> Callable[[Expr], Expr]:
    """Eigenvectors, or singular vectors, without their signs, which nothing fixes."""

    def build(e: Expr) -> Expr:
        v = function(OPS[name], (_matrix(e),))
        lead = tuple(range(v.order - 2))
        return product([(v, (*lead, "p", "i")), (v, (*lead, "q", "i"))], (*lead, "p", "i", "q"))

    return build


def _solved(name: str, *params: Any) -> Callable[[Expr], Expr]:
    return lambda e: function(OPS[name], (_matrix(e), el.cos(_vector(e))), (0, *params))


def _two(build: Callable[..., Expr]) -> Callable[[Expr], Expr]:
    return lambda e: build(_bounded(e, (0.2, 3)), 1.3 + el.sin(3 * _bounded(e) + 1))


def _over(build: Callable[..., Expr]) -> Callable[[Expr], Expr]:
    return lambda e: build(_vector(e), -1)


def _unary(name: str) -> Callable[[Expr], Expr]:
    return lambda e: OPS[name](_bounded(e, UNARY[name]))


_OVER = (
    "prod",
    "max",
    "min",
    "logsumexp",
    "softmax",
    "log_softmax",
    "cumprod",
    "sort",
    "cumsum",
    "prod_before",
    "prod_after",
    "var",
    "std",
    "norm",
)
TOPS: dict[str, Callable[[Expr], Expr]] = {
    **{name: _unary(name) for name in UNARY if name != "stop_gradient"},
    **{name: _two(OPS[name]) for name in ("maximum", "minimum", "hypot", "logaddexp", "atan2", "power")},
    "mod": lambda e: el.mod(2 + _bounded(e, (0.1, 0.9)), 1.75 + el.sin(3 * _bounded(e) + 1) / 5),  # between two jumps
    "where": _two(lambda a, b: el.where(el.less(a, b), a * b, a / b)),
    "polygamma": lambda e: act.polygamma(2, _bounded(e, (0.5, 3))),
    "stop_gradient": lambda e: el.stop_gradient(el.sin(e)) * el.cos(e),
    **{name: _over(getattr(red, name + "_" if name in ("max", "min") else name)) for name in _OVER},
    **{name: lambda e, name=name: getattr(mx, name)(_matrix(e)) for name in ("det", "logdet", "inv", "cholesky")},
    **{name: lambda e, name=name: OPS[name](_matrix(e)) for name in ("eigvalsh", "svdvals")},
    "max with ties": lambda e: red.max_(_doubled(e), -1),
    "min with ties": lambda e: red.min_(_doubled(e), -1),
    **{name: _projectors(name) for name in ("eigh_vectors", "svd_vectors")},
    **{name: lambda e, name=name: function(OPS[name], (_matrix(e),)) for name in ("qr_q", "pinv")},
    "expm": lambda e: mx.expm(_matrix(e) / 4),
    "solve": _solved("solve"),
    "triangular_solve": _solved("triangular_solve", True, False),
    "expm_along": lambda e: function(OPS["expm_along"], (_matrix(e) / 4, el.cos(_matrix(e))), (0,)),
    "recurrence": lambda e: function(OPS["recurrence"], (_vector(e), el.cos(_vector(e))), (0,)),
    "recurrence_back": lambda e: function(OPS["recurrence_back"], (_vector(e), el.cos(_vector(e))), (0,)),
}
NEVER_EMPTY = ("max", "min", "std", "norm")


# Checks: each raises AssertionError, naming the case, where a derivative is wrong


def agree(what: str, a: np.ndarray, b: np.ndarray, tolerance: float, case: Case) -> None:
    """Two arrays are of one shape and differ by the tolerance at most; NaN and infinities only meet their likes."""
    assert a.shape == b.shape, f"{what}: the shapes {a.shape} and {b.shape}\n{case}"
    with np.errstate(invalid="ignore"):
        same = (a == b) | (np.abs(a - b) <= tolerance) | (np.isnan(a) & np.isnan(b))
    assert np.all(same), f"{what}: {a[~same].flat[0]} and {b[~same].flat[0]} at {np.argwhere(~same)[0]}\n{case}"


def compare(what: str, a: Expr, b: Expr, case: Case, rtol: float = 1e-9) -> None:
    """Two expressions have the same value, up to rounding; both are well formed."""
    check(a)
    check(b)
    size = case.magnitude(a, b)
    if size < LARGE:
        agree(what, case.value(a), case.value(b), rtol * size, case)


def differences(f: Callable[[np.ndarray], np.ndarray], at: np.ndarray, along: np.ndarray) -> np.ndarray | None:
    """The slope of ``f`` by central differences, extrapolated (Richardson); None where two step sizes disagree."""

    def central(step: float) -> np.ndarray:
        return (f(at + step * along) - f(at - step * along)) / (2 * step)

    coarse, middle, fine = central(2 * STEP), central(STEP), central(STEP / 2)
    once, twice = (4 * middle - coarse) / 3, (4 * fine - middle) / 3
    scale = 1 + np.max(np.abs(twice), initial=0)
    smooth = np.all(np.abs(once - twice) <= 1e-6 * scale) and np.all(np.abs(fine - coarse) <= 0.1 * scale)
    return (16 * twice - once) / 15 if smooth and scale < LARGE else None


def along(case: Case, jacobian: np.ndarray, direction: np.ndarray) -> np.ndarray:
    return np.tensordot(jacobian, direction, direction.ndim)


def smooth(case: Case) -> bool:
    return not any(isinstance(node, Elementwise) and node.op.name == "stop_gradient" for node in topological(case.y))


def check_first(case: Case) -> bool:
    """The derivative is what differences say. Gives whether they say anything."""
    expected = differences(lambda at: case.value(case.y, **{case.x.name: at}), case.at, case.direction(0))
    if expected is None or not smooth(case):
        return False
    found = derivative(case.y, case.x)
    check(found)
    scale = 1 + np.max(np.abs(expected), initial=0)
    agree("derivative and differences", along(case, case.value(found), case.direction(0)), expected, 2e-6 * scale, case)
    return True


def check_second(case: Case, mode: str = "auto") -> bool:
    """The second derivative is what differences of the first say, and symmetric."""
    first = derivative(case.y, case.x, mode)
    f = lambda at: along(case, case.value(first, **{case.x.name: at}), case.direction(0))  # noqa: E731
    expected = differences(f, case.at, case.direction(1))
    if expected is None or not smooth(case):
        return False
    second = derivative(first, case.x, mode)
    check(second)
    hessian = case.value(second)
    scale = 1 + np.max(np.abs(expected), initial=0)
    found = along(case, along(case, hessian, case.direction(1)), case.direction(0))
    agree("second derivative and differences", found, expected, 2e-6 * scale, case)
    n, k = case.y.order, case.x.order
    turned = np.moveaxis(hessian, range(n, n + k), range(n + k, n + 2 * k))
    agree("Hessian and its transpose", hessian, turned, 1e-8 * case.magnitude(second), case)
    return True


def check_modes(case: Case) -> None:
    """The modes agree to second order, and so do the simplified derivatives."""
    first = [derivative(case.y, case.x, mode) for mode in MODES]
    second = [derivative(e, case.x, mode) for e, mode in zip(first, MODES, strict=True)]
    for order, found in enumerate((first, second), 1):
        for mode, e in zip(MODES[1:], found[1:], strict=True):
            compare(f"order {order}, {MODES[0]} and {mode}", found[0], e, case)
        compare(f"order {order}, before and after simplification", found[0], simplify(found[0]), case)


def _with_vectors(case: Case) -> tuple[Case, Variable, Variable]:
    """The case with an input ``bar`` like ``y`` and an input ``dot`` like ``x``."""
    bar, dot = variable("bar", case.y.shape), variable("dot", case.x.shape)
    shape = case.value(case.y).shape
    given = {"bar": np.random.default_rng(0).normal(size=shape), "dot": case.direction(0)}
    return Case(case.y, case.x, {**case.inputs, **given}, case.sizes, case.seed), bar, dot


def check_pullback(case: Case) -> None:
    """The reverse sweep gives bar J."""
    wide, bar, _ = _with_vectors(case)
    (found,) = pullbacks(case.y, bar, [case.x])
    jacobian = derivative(case.y, case.x)
    axes = tuple(range(jacobian.order))
    compare("bar J", found, product([(bar, axes[: bar.order]), (jacobian, axes)], axes[bar.order :]), wide)


def check_pushforward(case: Case) -> None:
    """The forward sweep gives J dot."""
    wide, _, dot = _with_vectors(case)
    found = pushforward(case.y, {case.x: dot})
    jacobian = derivative(case.y, case.x)
    axes, n = tuple(range(jacobian.order)), case.y.order
    compare("J dot", found, product([(jacobian, axes), (dot, axes[n:])], axes[:n]), wide)


def check_adjoint(case: Case) -> None:
    """Both sweeps give one number, <bar, J dot> = <bar J, dot>."""
    wide, bar, dot = _with_vectors(case)
    (x_bar,), y_dot = pullbacks(case.y, bar, [case.x]), pushforward(case.y, {case.x: dot})
    left, right = (product([(a, range(a.order)), (b, range(b.order))], ()) for a, b in ((bar, y_dot), (x_bar, dot)))
    compare("<bar, J dot> and <bar J, dot>", left, right, wide)


def check_cuts(case: Case, rng: random.Random) -> None:
    """Cuts give the derivative: what comes early in an evaluation and is used later; any nodes with the input."""
    order = Graph([case.y], [case.x]).nodes
    early = set(order[: rng.randint(1, len(order))])
    frontier = list(dict.fromkeys(a for node in order if node not in early for a in node.args if a in early))
    some = rng.sample(order, min(2, len(order)))
    whole = derivative(case.y, case.x)
    for cut in (frontier or [case.y], [case.x, *some], [case.y], [*frontier, case.y]):
        compare(f"the whole and a cut of {len(cut)}", whole, through_cut(case.y, case.x, cut), case)


def check_case(case: Case) -> None:
    """The derivatives to second order, in all modes, simplified or not."""
    check_first(case)
    check_second(case)
    check_modes(case)
