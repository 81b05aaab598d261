"""The tables of PyTorch and JAX against that of NumPy, row by row: values, types, derivatives, use inside programs.

What is checked of one row is a list of cases, run together: for JAX as one program, compiled without effort, since
that is what takes the time. The same lists are shown to find rows that are wrong.
"""

import contextlib
import importlib
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product as pairs
from typing import Any

import numpy as np
import pytest

from ricci.compiler.backends import numpy_table as reference
from ricci.errors import MissingPackageError, ShapeError
from ricci.expr import OPS
from ricci.functions import special
from ricci.functions.fourier import TRANSFORMS

FRAMEWORKS = {"torch": "PyTorch", "jax": "JAX"}
TWO = ["mod", "power", "atan2", "hypot", "logaddexp", "polygamma", "maximum", "minimum"]
COMPARISONS = ["less", "less_equal", "equal", "not_equal"]
ARITY = {**dict.fromkeys([*TWO, *COMPARISONS], 2), "where": 3}
MAKES_COMPLEX = {name for name, op in OPS.items() if op.complex == "always"}  # of real numbers: tests of these
ELEMENTWISE = {name: ARITY.get(name, 1) for name in reference.ELEMENTWISE if name not in MAKES_COMPLEX}
# where each operand may be while the derivative exists; (-2, 2) if not listed
DOMAIN = {
    "power": [(0.3, 3), (-2, 3)],
    **{name: [(0.3, 4)] for name in ("log", "log2", "log10", "cbrt")},
    "log1p": [(-0.7, 4)],
    **{name: [(-0.8, 0.8)] for name in ("asin", "acos", "atanh", "erfinv")},
    "ndtri": [(0.1, 0.9)],
    "mod": [(0.1, 0.9), (1, 1.5)],
    "acosh": [(1.3, 4)],
    **{name: [(0.4, 5)] for name in ("lgamma", "digamma")},
    **{name: [(0.5, 2), (-2, 2)] for name in ("atan2", "hypot")},
}
INF, NAN = math.inf, math.nan
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 30.0, -30.0, 1e3, -1e3, 1e200, INF, -INF, NAN]
SPECIAL_VECTORS = [[1e3, -1e3, 0], [-INF, 0, 1], [-INF] * 3, [NAN, 0, 1], [1, NAN, NAN], [2, 2, 1], [0, -0.0, 0]]
INFINITE_VECTORS = [[INF, 0, 1], [INF, INF, 0], [INF, -INF, 0]]
RECTANGULAR = {"svdvals", "svd_vectors", "qr_q", "pinv"}
MATRICES = {"det", "logdet", "slogdet_sign", "inv", "cholesky", "eigvalsh", "eigh_vectors", "expm", *RECTANGULAR}
UP_TO_SIGNS = {"eigh_vectors", "svd_vectors", "qr_q"}
SOLVERS = {
    "solve": [(0,), (1,), (2,)],
    "triangular_solve": [(0, True, False), (1, True, True), (1, False, False), (2, False, True)],
}
ALONG = {"recurrence": [(0,), (1,)], "recurrence_back": [(0,), (2,)], "expm_along": [(0,), (1,)]}
FOURIER = {*TRANSFORMS, "half_fft", "hermitian_fft", "eigvals", "eig_vectors"}  # which have tests of their own
OVER_AXES = [
    (name, params)
    for name in reference.FUNCTIONS
    if name not in FOURIER
    for params in {**SOLVERS, **ALONG}.get(name, [()])
]
NO_EMPTY = {"max", "min", "argmax", "argmin", "hardmax", "hardmin"}
NOT_SMOOTH = {*COMPARISONS, "argmax", "argmin", "argsort", "any", "all", "hardmax", "hardmin"}


@dataclass
class Case:
    """A function of native arrays and numbers, its operands, and what is asked of its value."""

    f: Callable
    args: list
    check: Callable[[Any], None]


@dataclass
class Framework:
    name: str
    table: Any
    array: Callable[[np.ndarray], Any]
    program: Callable[[list[Case]], list]  # the values of the cases
    vmap: Callable[[Callable], Callable]
    grad: Callable[[Callable], Callable]  # of a scalar function, by all operands

    def row(self, name: str, params: tuple = ()) -> Callable:
        table = self.table.ELEMENTWISE if name in ELEMENTWISE else self.table.FUNCTIONS
        return lambda *args: table[name](*args, *params)

    def call(self, name: str, *args: Any, params: tuple = ()) -> np.ndarray:
        return np.asarray(self.row(name, params)(*[self.array(a) if is_array(a) else a for a in args]))


def is_array(a: object) -> bool:
    return isinstance(a, (np.ndarray, np.generic))


def torch_framework() -> Framework:
    import torch

    def program(cases: list[Case]) -> list:
        return [case.f(*[array(a) if is_array(a) else a for a in case.args]) for case in cases]

    def array(a: np.ndarray) -> Any:
        return torch.from_numpy(np.array(a))

    def grad(f: Callable) -> Callable:
        def call(*args: Any) -> tuple:
            args = tuple(a.clone().requires_grad_() for a in args)
            y = f(*args)
            return torch.autograd.grad(y, args, materialize_grads=True) if y.requires_grad else (torch.zeros(()),)

        return call

    table = importlib.import_module("ricci.compiler.backends.torch_table")
    return Framework("torch", table, array, program, torch.func.vmap, grad)


def jax_framework() -> Framework:
    import jax

    hasty = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}

    def program(cases: list[Case]) -> list:
        def run(arrays: list) -> list:
            rest = iter(arrays)
            return [case.f(*[next(rest) if is_array(a) else a for a in case.args]) for case in cases]

        arrays = [a for case in cases for a in case.args if is_array(a)]
        return jax.jit(run).lower(arrays).compile(hasty)(arrays)

    def grad(f: Callable) -> Callable:
        return lambda *args: jax.grad(f, tuple(range(len(args))))(*args)

    table = importlib.import_module("ricci.compiler.backends.jax_table")
    return Framework("jax", table, jax.numpy.asarray, program, jax.vmap, grad)


def available(name: str) -> Framework:
    pytest.importorskip(name, reason=f"{FRAMEWORKS[name]} is not installed, so its table is not checked")
    return {"torch": torch_framework, "jax": jax_framework}[name]()


def wide(name: str, on: bool = True) -> Any:
    """The context in which JAX has float64, or has not."""
    if name != "jax":
        return contextlib.nullcontext()
    jax = importlib.import_module("jax")
    home = jax if hasattr(jax, "enable_x64") else importlib.import_module("jax.experimental")
    return home.enable_x64(on)


@pytest.fixture(params=FRAMEWORKS)
def framework(request):
    made = available(request.param)
    with wide(request.param), np.errstate(all="ignore"):
        yield made


# Operands


def operands(name: str, shapes: list[tuple], dtype: type = np.float64) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    if name == "polygamma":
        return [np.asarray(rng.integers(0, 4, shapes[0])), np.asarray(rng.uniform(0.4, 5, shapes[1])).astype(dtype)]
    domains = DOMAIN.get(name, [(-2, 2)] * len(shapes))
    args = [np.asarray(rng.uniform(a, b, shape)).astype(dtype) for (a, b), shape in zip(domains, shapes, strict=True)]
    if name == "where":
        args[0] = args[0] > 0
    if name in COMPARISONS:  # every other pair is equal
        args[1].flat[::2] = np.broadcast_to(args[0], args[1].shape).flat[::2]
    return args


def some(name: str, dtype: type = np.float64) -> list[np.ndarray]:
    return operands(name, [(4,)] * ELEMENTWISE[name], dtype)


def over_axes(name: str, params: tuple, n: int = 3, dtype: type = np.float64) -> list[np.ndarray]:
    """Vectors of both signs; matrices that are far from singular, positive definite, and not symmetric."""
    rng = np.random.default_rng(1)
    if name in ("recurrence", "recurrence_back"):
        return [rng.uniform(-2, 2, (2, n)).astype(dtype), rng.normal(size=(2, n, 2, 2)[: 2 + params[0]]).astype(dtype)]
    if name == "expm_along":
        shape = (2, n, n, 2)[: 3 + params[0]]
        return [rng.normal(size=(2, n, n)).astype(dtype), rng.normal(size=shape).astype(dtype)]
    if name not in MATRICES and name not in SOLVERS:
        return [(rng.uniform(0.3, 2, (2, n)) * np.array([[1], [-1]])).astype(dtype)]
    a = (0.3 * rng.normal(size=(2, n, n)) + np.diag(np.arange(n) + 2.0)).astype(dtype)
    return [a, rng.normal(size=(2, n, 2, 2)[: 2 + params[0]]).astype(dtype)] if params else [a]


# Cases


def run(framework: Framework, cases: Iterable[Case]) -> None:
    todo = list(cases)
    for case, value in zip(todo, framework.program(todo), strict=True):
        case.check(value)


def expected_of(name: str, args: list, params: tuple = ()) -> np.ndarray:
    table = reference.ELEMENTWISE if name in ELEMENTWISE else reference.FUNCTIONS
    return np.asarray(table[name](*args, *params))


def same(framework: Framework, name: str, args: list, params: tuple = (), exact_kind: bool = True) -> Case:
    """The value is that of NumPy's table, and of the same type; the kind of it if integers are among the operands."""
    expected = expected_of(name, args, params)
    narrow = any(is_array(a) and a.dtype == np.float32 for a in args)
    rounded = narrow or all(a.dtype.kind in "iu" for a in args if is_array(a))
    rtol, atol = (1e-5, 1e-5) if rounded else (1e-12, 1e-300 if name in ELEMENTWISE else 1e-14)

    def check(value: Any) -> None:
        actual = np.asarray(value)
        what = f"{name}{params} of {args}"
        assert actual.shape == expected.shape, what
        assert actual.dtype.kind == expected.dtype.kind or not exact_kind, (what, actual.dtype)
        assert not narrow or actual.dtype == np.float32 or actual.dtype.kind in "bi", (what, actual.dtype)
        sides = (np.abs(actual), np.abs(expected)) if name in UP_TO_SIGNS else (actual, expected)
        np.testing.assert_allclose(*sides, rtol=rtol, atol=atol, err_msg=what)

    return Case(framework.row(name, params), args, check)


def mapped(framework: Framework, name: str, args: list, params: tuple = ()) -> Case:
    case = same(framework, name, args, params)
    return Case(framework.vmap(case.f), args, case.check)


def at_special_points(framework: Framework, name: str) -> Case:
    orders = [0.0, 1.0, 2.0, 3.0] if name == "polygamma" else SPECIAL
    args = [np.array(a) for a in zip(*pairs(orders, *[SPECIAL] * (ELEMENTWISE[name] - 1)), strict=True)]
    if name == "lgamma":  # C has inf at -inf, SciPy -inf
        args = [args[0][args[0] != -INF]]
    return same(framework, name, [np.concatenate(both) for both in zip(args, some(name), strict=True)])


def numbers_among(framework: Framework, name: str) -> Iterator[Case]:
    for number, dtype in ((2, np.float64), (2, np.float32), (0.7, np.float32)):
        a, b = some(name, dtype)
        yield same(framework, name, [a, number])
        if name != "polygamma":
            yield same(framework, name, [number, b])
    if name == "polygamma":
        yield from [same(framework, name, [n, b]) for n in (0, 1, 2.0, 3)]


def slopes(framework: Framework, name: str, args: list, params: tuple = ()) -> Case:
    """The derivative of a weighted sum of squares, which have no signs to choose, by differences of NumPy's table."""
    fixed = 1 if name in ("where", "polygamma") else 0
    weights = np.random.default_rng(3).uniform(0.5, 1.5, expected_of(name, args, params).shape)
    f, constants = framework.row(name, params), [framework.array(a) for a in [weights, *args[:fixed]]]
    directions = [np.random.default_rng(4).normal(size=a.shape) for a in args]

    def native(*x: Any) -> Any:
        return (constants[0] * f(*constants[1:], *x) ** 2).sum()

    def difference(k: int, step: float) -> float:
        def at(step: float) -> float:
            moved = [a + step * directions[k] if p == k else a for p, a in enumerate(args)]
            return float(np.sum(weights * expected_of(name, moved, params) ** 2))

        return (8 * (at(step) - at(-step)) - at(2 * step) + at(-2 * step)) / (12 * step)

    def check(found: tuple) -> None:
        for k, slope in enumerate(found, fixed):
            expected = 0.0 if name == "stop_gradient" else difference(k, 1e-4)
            actual = float(np.sum(np.asarray(slope) * directions[k]))
            assert actual == pytest.approx(expected, rel=1e-7, abs=1e-7), (name, k)

    return Case(framework.grad(native), args[fixed:], check)


def elementwise_cases(framework: Framework, name: str) -> Iterator[Case]:
    count = ELEMENTWISE[name]
    yield at_special_points(framework, name)
    yield same(framework, name, operands(name, [(2, 1), (1, 3), (2, 3)][-count:], np.float32))
    yield same(framework, name, operands(name, [(0, 2)] * count))
    # powers of integers are fractions where the exponent is an array, which may be negative
    yield same(framework, name, [np.array([1, 2, 3])] * count, exact_kind=name != "power")
    yield mapped(framework, name, some(name))  # so that it acts on tensors of order 0
    if name not in NOT_SMOOTH:
        yield slopes(framework, name, some(name))
    if count == 2:
        yield from numbers_among(framework, name)


def over_axes_cases(framework: Framework, name: str, params: tuple) -> Iterator[Case]:
    args = over_axes(name, params)
    yield same(framework, name, args, params)
    yield same(framework, name, [a[0].astype(np.float32) for a in args], params)
    if name not in NOT_SMOOTH:
        yield slopes(framework, name, args, params)
    if params[:1] not in ((0,), (2,)):  # the same code as with one column
        if name not in NO_EMPTY:
            yield same(framework, name, over_axes(name, params, 0), params)
        yield same(framework, name, over_axes(name, params, 1), params)
        yield same(framework, name, [a[:0] for a in args], params)
        yield mapped(framework, name, args, params)
    if name not in MATRICES and not params:
        yield same(framework, name, [np.array(SPECIAL_VECTORS)])
        if (framework.name, name) not in (("torch", "softmax"), ("torch", "log_softmax")):
            yield same(framework, name, [np.array(INFINITE_VECTORS)])


# The rows


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_row(framework, name):
    run(framework, elementwise_cases(framework, name))


@pytest.mark.parametrize(
    ("name", "params"), OVER_AXES, ids=[f"{name}{list(params) or ''}" for name, params in OVER_AXES]
)
def test_row_over_axes(framework, name, params):
    run(framework, over_axes_cases(framework, name, params))


def test_softmax_of_infinities_is_nowhere_a_wrong_number(framework):
    """PyTorch's kernels have NaN in all of a row that holds an infinity, NumPy's table only at the infinities."""
    for name in ("softmax", "log_softmax"):
        actual = framework.call(name, np.array(INFINITE_VECTORS))
        assert np.all(np.isnan(actual) | (actual == expected_of(name, [np.array(INFINITE_VECTORS)])))


def test_numbers_in_where(framework):
    c, a, b = some("where", np.float32)
    calls = [[c, a, 0], [c, 0.5, b], [1, a, b], [0.0, a[:, None], b], [a, 1, b], [np.trunc(a), a, b]]
    run(framework, [same(framework, "where", args) for args in calls])
    np.testing.assert_array_equal(framework.call("where", c, 1, 0), c)


def test_powers(framework):
    x, whole = some("power")[0], np.array([1, 2, 4])
    exponents = [2, 2.0, -1, 0.5, -0.5, 3, 0, 1.5, -2]
    run(framework, [same(framework, "power", [x.astype(t), n]) for n in exponents for t in (float, np.float32)])
    run(framework, [same(framework, "power", [whole, n], exact_kind=n != 2.0) for n in exponents])
    n = np.array([-2, 0, 3])
    run(framework, [same(framework, "power", [base, n]) for base in (2, whole, 0.5)])


def test_polygamma_to_the_left(framework):
    """But for halves, where the plain function loses digits for even orders."""
    x = np.array([1e100, -0.3, -2.7, -9.3, -25.3, -INF, -0.0, -4.0])
    f = framework.row("polygamma")

    def case(n: Any, expected: list[float]) -> Case:
        return Case(f, [n, x], lambda value: np.testing.assert_allclose(np.asarray(value), expected, rtol=1e-12))

    def no_wrong_numbers(value: Any) -> None:
        value = np.asarray(value)
        assert np.all(np.isnan(value) | np.isclose(value, plain[2], rtol=1e-12, atol=0))

    plain = {n: [special.polygamma(n, float(at)) for at in x] for n in (1, 2, 3, 4)}
    cases = [case(n, expected) for n, expected in plain.items()]
    run(framework, [*cases, case(0.5, [NAN] * 8), Case(f, [np.full(8, 2), x], no_wrong_numbers)])


def test_conventions_at_kinks(framework):
    def case(name: str, at: Any, expected: Any, *numbers: float) -> Case:
        f = framework.grad(lambda x: framework.row(name)(x, *numbers))
        return Case(
            f, [np.array(at)], lambda value: np.testing.assert_array_equal(np.asarray(value[0]), expected, name)
        )

    cases = [case(name, 0.0, slope) for name, slope in [("abs", 0), ("relu", 0), ("leaky_relu", 0.01), ("elu", 1)]]
    ties = [case("maximum", 1.0, 0.5, 1), case("minimum", 1.0, 0.5, 1.0), case("max", [2.0, 1.0, 2.0], [0.5, 0, 0.5])]
    run(framework, [*cases, *ties])


@pytest.mark.parametrize("shape", [(2, 4), (4, 2), (3, 1, 3), (0, 3)])
def test_rectangular_matrices(framework, shape):
    data = [np.random.default_rng(0).normal(size=shape)]
    run(framework, [same(framework, name, data) for name in sorted(RECTANGULAR)])


def test_small_singular_values_count_as_zero(framework):
    nearly = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-6]])
    run(framework, [same(framework, "pinv", [nearly], (1e-3,))])


def test_the_other_triangle_is_not_read(framework):
    a, b = over_axes("triangular_solve", (1, True, False))
    poisoned = np.where(np.tri(3, dtype=bool), a, NAN)
    for transpose in (False, True):
        results = [framework.call("triangular_solve", m, b, params=(1, True, transpose)) for m in (a, poisoned)]
        np.testing.assert_array_equal(*results)


def test_half_precision_matrices(framework):
    for name, params in [("cholesky", ()), ("triangular_solve", (1, True, False))]:
        assert framework.call(name, *over_axes(name, params, dtype=np.float16), params=params).dtype == np.float16


def test_shapes_that_do_not_fit(framework):
    empty, flat, square = np.ones((2, 0)), np.ones((2, 3)), np.eye(3)
    for name in sorted(NO_EMPTY):
        with pytest.raises(ShapeError, match=rf"{name} has no value over an axis of size 0; .* the shape \(2, 0\)\."):
            framework.call(name, empty)
    for name, params in OVER_AXES:
        if name in MATRICES - RECTANGULAR or name in SOLVERS:
            with pytest.raises(ShapeError, match=rf"{name} is for square matrices; .* the shape \(2, 3\)\."):
                framework.call(name, flat, *[flat] * bool(params), params=params)
    for name, params in [("solve", (1,)), ("triangular_solve", (1, True, False))]:
        with pytest.raises(ShapeError, match=r"the matrix has the shape \(3, 3\), the right side \(2, 3\)"):
            framework.call(name, square, flat, params=params)


# The tables


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_the_tables_have_the_same_rows(name):
    table = available(name).table
    assert list(table.ELEMENTWISE) == list(reference.ELEMENTWISE)
    assert list(table.FUNCTIONS) == list(reference.FUNCTIONS)


def narrow_cases(framework: Framework) -> Iterator[Case]:
    for name in ELEMENTWISE:
        yield same(framework, name, some(name, np.float32))
        if ELEMENTWISE[name] == 2:
            yield same(framework, name, [some(name, np.float32)[0], 2])
    for name, params in OVER_AXES:
        yield same(framework, name, over_axes(name, params, dtype=np.float32), params)


def test_jax_without_float64():
    """Types only, without compiling anything."""
    made = available("jax")
    import jax

    with wide("jax", False), np.errstate(all="ignore"):
        for case in narrow_cases(made):
            arrays = [made.array(a) for a in case.args if is_array(a)]
            result = jax.eval_shape(lambda *x, case=case: case.f(*x, *case.args[len(x) :]), *arrays)
            assert result.dtype in (np.float32, np.int32, bool)


def test_torch_compile_takes_every_row_whole():
    made = available("torch")
    import torch
    import torch._dynamo

    torch._dynamo.reset()
    cases = list(narrow_cases(made))
    arguments = [[made.array(a) if is_array(a) else a for a in case.args] for case in cases]

    def program(arguments: list) -> list:
        return [case.f(*args) for case, args in zip(cases, arguments, strict=True)]

    compiled = torch.compile(program, backend="eager", fullgraph=True)
    for case, value in zip(cases, compiled(arguments), strict=True):
        case.check(value)


def test_torch_stays_on_the_device_of_the_operands():
    """On the device without data, every tensor that an operation makes must be there too."""
    made = available("torch")
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class OneDevice(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            assert {x.device.type for x in tree_leaves(result) if isinstance(x, torch.Tensor)} <= {"meta"}, func
            return result

    def check(name: str, args: list, params: tuple = ()) -> None:
        arrays = [made.array(a).to("meta") if is_array(a) else a for a in args]
        with OneDevice():
            assert made.row(name, params)(*arrays).device.type == "meta"

    for name, params in OVER_AXES:
        check(name, over_axes(name, params), params)
    for name, count in ELEMENTWISE.items():
        check(name, some(name))
        for k in range(count if count > 1 else 0):
            check(name, [2 if p == k else a for p, a in enumerate(some(name))])
    with pytest.raises(AssertionError), OneDevice():
        torch.maximum(torch.empty(3, device="meta"), torch.tensor(0.0))


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_missing_framework_is_an_error_in_words(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, f"ricci.compiler.backends.{name}_table", raising=False)
    with pytest.raises(MissingPackageError, match=rf"{FRAMEWORKS[name]}; install it: pip install {name}\."):
        importlib.import_module(f"ricci.compiler.backends.{name}_table")


# Wrong rows are found, each by the cases made to find it.


def wrong_rows(table: Any, ones: Any) -> dict[str, tuple[str, Callable]]:
    right = {**table.ELEMENTWISE, **table.FUNCTIONS}
    exp, log, stop = right["exp"], right["log"], right["stop_gradient"]
    return {
        "value": ("gelu", lambda x: x * right["sigmoid"](1.702 * x)),
        "overflow": ("softplus", lambda x: log(1 + exp(x))),
        "shift": ("logsumexp", lambda x: log(exp(x).sum(-1))),
        "promotion": ("exp", lambda x: exp(x) * ones),
        "derivative": ("sin", lambda x: right["sin"](stop(x)) + 0 * x),
        "matrix derivative": ("det", lambda a: right["det"](stop(a)) + 0 * a.sum((-1, -2))),
        "transposed": ("cholesky", lambda a: right["cholesky"](a).mT),
        "leading axes": ("sort", lambda x: right["sort"](x.reshape(-1)).reshape(x.shape)),
        "kind": ("less", lambda a, b: (a < b) * 1),
    }


@pytest.mark.parametrize("fault", wrong_rows(reference, 1.0))
def test_wrong_rows_are_found(framework, fault, monkeypatch):
    table = framework.table
    name, wrong = wrong_rows(table, framework.array(np.float64(1)).reshape(1))[fault]
    monkeypatch.setitem(table.ELEMENTWISE if name in ELEMENTWISE else table.FUNCTIONS, name, wrong)
    make = elementwise_cases(framework, name) if name in ELEMENTWISE else over_axes_cases(framework, name, ())
    with pytest.raises(AssertionError):
        run(framework, make)
