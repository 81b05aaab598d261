"""Every function over axes: NumPy against plain lists, derivatives against differences, builders against NumPy."""

import numpy as np
import pytest
import scipy.linalg
import scipy.special
from directional import OVER_AXES as ROWS
from directional import PLACES, assert_derivatives, directional, value

from ricci.compiler.backends import numpy_table as backend
from ricci.errors import AxisError, ShapeError
from ricci.expr import OPS, Adjoint, Change, Op, axis_size, check, function, product, variable
from ricci.functions import factorisations as f
from ricci.functions import matrix as m
from ricci.functions import reductions as r
from ricci.functions.fourier import TRANSFORMS

FOURIER = {*TRANSFORMS, "half_fft", "hermitian_fft"}  # which have tests of their own
VECTORS = [name for name, op in ROWS.items() if op.works_on == (1,) and name not in FOURIER]
MATRICES = [name for name, op in ROWS.items() if op.works_on == (2,) and op.complex != "always"]
RECTANGULAR = [name for name, op in ROWS.items() if op.rectangular]
SOLVERS = {
    "solve": [(0,), (1,), (2,)],
    "triangular_solve": [(0, True, False), (1, True, True), (1, False, False), (2, False, True)],
}
ALONG = {name: [(0,), (1,), (2,)] for name in ("recurrence", "recurrence_back", "expm_along")}
UP_TO_SIGNS = {"eigh_vectors", "svd_vectors", "qr_q"}
NO_EMPTY = {"max", "min", "argmax", "argmin", "hardmax", "hardmin"}


def vectors(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.3, 2, (2, n)) * np.array([[1], [-1]])


def matrices(n: int, seed: int = 0) -> np.ndarray:
    """Far from singular, positive definite, and not symmetric; their eigenvalues are apart."""
    rng = np.random.default_rng(seed)
    noise = 0.3 * rng.normal(size=(2, n, n))
    return noise + np.diag(np.arange(n) + 2.0)


def plain(op: Op, arrays: list[np.ndarray], params: tuple = ()) -> np.ndarray:
    return np.array([op.value(*[a.tolist() for a in parts], *params) for parts in zip(*arrays, strict=True)])


def assert_same(name: str, fast: np.ndarray, slow: np.ndarray) -> None:
    if name in UP_TO_SIGNS:
        fast, slow = np.abs(fast), np.abs(slow)
    np.testing.assert_allclose(fast, slow.reshape(fast.shape), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", [*VECTORS, *MATRICES])
@pytest.mark.parametrize("n", [0, 1, 2, 4])
def test_value_is_that_of_numpy(name, n):
    x = vectors(n) if name in VECTORS else matrices(n)
    if n == 0 and name in NO_EMPTY:
        with pytest.raises(ShapeError, match="size 0"):
            backend.FUNCTIONS[name](x)
        with pytest.raises(ShapeError, match="size 0"):
            plain(ROWS[name], [x])
        return
    with np.errstate(all="ignore"):
        assert_same(name, backend.FUNCTIONS[name](x), plain(ROWS[name], [x]))
    assert backend.FUNCTIONS[name](x[:0]).shape[:1] == (0,)


@pytest.mark.parametrize(("name", "params"), [(name, params) for name, cases in SOLVERS.items() for params in cases])
@pytest.mark.parametrize("n", [1, 3])
def test_solvers_are_those_of_numpy(name, params, n):
    a, b = matrices(n), np.random.default_rng(1).normal(size=(2, n, 2, 3)[: 2 + params[0]])
    assert_same(name, backend.FUNCTIONS[name](a, b, *params), plain(ROWS[name], [a, b], params))


def along(name: str, params: tuple, n: int) -> list[np.ndarray]:
    """The operands of a function that is linear in its second one."""
    own = (n, n) if name == "expm_along" else (n,)
    first = matrices(n) / 2 if name == "expm_along" else vectors(n)
    return [first, np.random.default_rng(1).normal(size=(2, *own, *(2, 3)[: params[0]]))]


@pytest.mark.parametrize(("name", "params"), [(name, params) for name, cases in ALONG.items() for params in cases])
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_linear_functions_are_those_of_numpy(name, params, n):
    arrays = along(name, params, n)
    assert_same(name, backend.FUNCTIONS[name](*arrays, *params), plain(ROWS[name], arrays, params))


@pytest.mark.parametrize(("name", "params"), [(name, params) for name, cases in ALONG.items() for params in cases])
@pytest.mark.parametrize("symbolic", [False, True])
def test_first_and_second_derivatives_of_linear_functions(name, params, symbolic):
    check_derivatives(ROWS[name], along(name, params, 3), params, symbolic=symbolic)


@pytest.mark.parametrize(("name", "params"), [(name, params) for name, cases in ALONG.items() for params in cases])
def test_adjoints(name, params):
    """``<f(a, x), y> = <x, f*(a, y)>``."""
    a, x = along(name, params, 4)
    rule = ROWS[name].partials[-1]
    assert isinstance(rule, Adjoint)
    first, second = variable("a", a.shape), variable("y", x.shape)
    y = np.random.default_rng(2).normal(size=x.shape)
    pulled = value(rule((first,), second, params), a=a, y=y)
    np.testing.assert_allclose(np.vdot(pulled, x), np.vdot(y, backend.FUNCTIONS[name](a, x, *params)), rtol=1e-11)


@pytest.mark.parametrize("shape", [(2, 4), (4, 2), (3, 3), (1, 3)])
@pytest.mark.parametrize("name", RECTANGULAR)
def test_rectangular_matrices(shape, name):
    x = np.random.default_rng(0).normal(size=(2, *shape))
    if name == "qr_q" and shape[0] < shape[1]:
        with pytest.raises(ShapeError, match="as many rows as columns"):
            function(f.qr_q, (variable("a", x.shape),))
        return
    assert_same(name, backend.FUNCTIONS[name](x), plain(ROWS[name], [x]))


@pytest.mark.parametrize("name", [*VECTORS, *MATRICES])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_type_is_kept(name, dtype):
    x = (vectors(3) if name in VECTORS else matrices(3)).astype(dtype)
    result = backend.FUNCTIONS[name](x)
    assert result.dtype == dtype or result.dtype.kind in "bi"


def check_derivatives(
    op: Op, arrays: list[np.ndarray], params: tuple = (), orders: int = 2, symbolic: bool = False
) -> None:
    data = dict(zip("ab", arrays, strict=False))
    inputs = [variable(name, array.ndim if symbolic else array.shape) for name, array in data.items()]
    if symbolic and op in (f.svdvals, f.svd_vectors):  # must know that it is square
        inputs = [variable("a", (axis_size("a", 0), axis_size("a", 1), axis_size("a", 1)))]
    y = function(op, tuple(inputs), params)
    check(y)
    for x, partial in zip(inputs, op.partials, strict=True):
        if isinstance(partial, Change):
            changed = partial(tuple(inputs), y, params, variable("h", x.shape))
            check(changed)
            assert symbolic or changed.shape == y.shape
        elif isinstance(partial, Adjoint):
            pulled = partial(tuple(inputs[:-1]), y, params)
            check(pulled)
            assert symbolic or pulled.shape == x.shape
        elif not isinstance(partial, str | None):
            derivative = partial(tuple(inputs), y, params)
            check(derivative)
            own = op.axes_of(params)[inputs.index(x)]
            assert symbolic or derivative.shape == (*y.shape, *x.shape[len(x.shape) - own :])
        h = np.random.default_rng(9).normal(size=data[x.name].shape)
        assert_derivatives(y, x, {**data, "h": h}, orders)


def sample(name: str, n: int) -> np.ndarray:
    return vectors(n, seed=3) if name in VECTORS else matrices(n, seed=3)


@pytest.mark.parametrize(
    "name", [n for n in [*VECTORS, *MATRICES] if n not in {"eigh_vectors", "svd_vectors", *PLACES}]
)
@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("symbolic", [False, True])
def test_first_and_second_derivatives(name, n, symbolic):
    check_derivatives(ROWS[name], [sample(name, n)], symbolic=symbolic)


@pytest.mark.parametrize(("name", "params"), [(name, params) for name, cases in SOLVERS.items() for params in cases])
@pytest.mark.parametrize("symbolic", [False, True])
def test_first_and_second_derivatives_of_solvers(name, params, symbolic):
    b = np.random.default_rng(1).normal(size=(2, 3, 2, 2)[: 2 + params[0]])
    check_derivatives(ROWS[name], [matrices(3), b], params, symbolic=symbolic)


@pytest.mark.parametrize("name", sorted(PLACES))
def test_places_have_no_derivative_and_say_why(name):
    assert ROWS[name].partials == ("its value is the place of an entry, a whole number, which has no derivative.",)


@pytest.mark.parametrize("shape", [(2, 4), (4, 2), (3, 3)])
@pytest.mark.parametrize("name", RECTANGULAR)
def test_derivatives_for_rectangular_matrices(shape, name):
    if name != "qr_q" or shape[0] >= shape[1]:
        check_derivatives(ROWS[name], [np.random.default_rng(5).normal(size=(2, *shape))])


def test_derivatives_of_a_pseudo_inverse_at_a_constant_rank():
    """The matrix moves along ``x y'``, with two columns each: its rank stays 2."""
    x, y = variable("x", (4, 2)), variable("y", (3, 2))
    p = f.pinv(product([(x, "ik"), (y, "jk")], "ij"), 1e-10)
    rng = np.random.default_rng(2)
    data = {"x": rng.normal(size=(4, 2)), "y": rng.normal(size=(3, 2)), "h": rng.normal(size=(4, 2))}
    assert_derivatives(p, x, data)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_factorisations_give_the_matrix(shape):
    x, data = variable("x", (2, *shape)), np.random.default_rng(1).normal(size=(2, *shape))
    u, s, v = [value(e, x=data) for e in f.svd(x)]
    np.testing.assert_allclose((u * s[..., None, :]) @ np.swapaxes(v, -1, -2), data, atol=1e-12)
    q, r = [value(e, x=data) for e in f.qr(x)]
    np.testing.assert_allclose(q @ r, data, atol=1e-12)
    np.testing.assert_array_equal(r, np.triu(r))
    np.testing.assert_allclose(r, np.linalg.qr(data)[1], atol=1e-12)


@pytest.mark.parametrize("name", ["prod", "logsumexp", "softmax", "det", "inv", "cholesky", "eigvalsh", "expm"])
def test_third_derivatives(name):
    check_derivatives(ROWS[name], [sample(name, 2)], orders=3)


def test_derivatives_of_eigenvectors():
    """Signs are fixed by the squares: the projections on the eigenvectors do not depend on them."""
    x = variable("a", (2, 3, 3))
    v = function(m.eigh_vectors, (x,))
    h = np.random.default_rng(9).normal(size=(2, 3, 3))
    assert_derivatives(v**2, x, {"a": matrices(3), "h": h}, orders=2)


def test_a_wrong_derivative_is_found():
    def wrong_partial(operands, y, params):
        return r.softmax(operands[0], -1) * 2

    wrong = Op("wrong", 1, max, (wrong_partial,), works_on=(1,), result=lambda shapes: ())
    backend.FUNCTIONS["wrong"] = backend.FUNCTIONS["logsumexp"]
    try:
        with pytest.raises(AssertionError):
            check_derivatives(wrong, [vectors(3)])
    finally:
        del OPS["wrong"], backend.FUNCTIONS["wrong"]


@pytest.mark.parametrize("zeros", [[0], [0, 2], [0, 1, 2, 3]])
@pytest.mark.parametrize("op", [r.prod, r.cumprod])
def test_products_with_zeros(op, zeros):
    x = vectors(4)
    x[:, zeros] = 0
    check_derivatives(op, [x], orders=3)


def gradient(build, data: np.ndarray) -> np.ndarray:
    """By one direction for each entry."""
    x, h = variable("x", data.shape), variable("h", data.shape)
    slope = directional(build(x), x, h)
    basis = np.eye(data.size).reshape(-1, *data.shape)
    return np.array([value(slope, x=data, h=step) for step in basis]).reshape(*data.shape, -1)[..., 0]


def test_ties_share_the_derivative():
    x = np.array([[1.0, 3, 3], [3, 0, 2]])
    np.testing.assert_allclose(gradient(r.max_, x), [[0, 1 / 3, 1 / 3], [1 / 3, 0, 0]])
    np.testing.assert_allclose(gradient(lambda e: r.min_(-e), x), [[0, -1 / 3, -1 / 3], [-1 / 3, 0, 0]])


def test_log_of_sums_and_softmax_take_infinities():
    x = np.array([[-np.inf, -np.inf], [-np.inf, 0], [np.inf, 0], [1e4, 1e4]])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(backend.FUNCTIONS["logsumexp"](x), [-np.inf, 0, np.inf, 1e4 + np.log(2)])
        np.testing.assert_allclose(backend.FUNCTIONS["softmax"](x)[[1, 3]], [[0, 1], [0.5, 0.5]])
        np.testing.assert_allclose(backend.FUNCTIONS["log_softmax"](x)[1], [-np.inf, 0])
    for line, expected in zip(x, [-np.inf, 0, np.inf, 1e4 + np.log(2)], strict=True):
        assert ROWS["logsumexp"].value(line.tolist()) == pytest.approx(expected)


def test_symmetric_part_is_meant():
    a = matrices(3)
    s = (a + np.swapaxes(a, -1, -2)) / 2
    for name in ("cholesky", "eigvalsh"):
        np.testing.assert_allclose(backend.FUNCTIONS[name](a), backend.FUNCTIONS[name](s), rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 0.1, 1.0, 20.0])
def test_matrix_exponential_is_that_of_scipy(scale):
    a = scale * np.random.default_rng(0).normal(size=(3, 5, 5))
    expected = scipy.linalg.expm(a)
    np.testing.assert_allclose(backend.FUNCTIONS["expm"](a), expected, rtol=1e-10, atol=1e-12 * np.abs(expected).max())


X = np.random.default_rng(2).uniform(0.5, 2, (2, 3, 4))
REDUCTIONS = {
    "sum_": np.sum,
    "mean": np.mean,
    "var": np.var,
    "std": np.std,
    "prod": np.prod,
    "max_": np.max,
    "min_": np.min,
    "any_": np.any,
    "all_": np.all,
    "logsumexp": scipy.special.logsumexp,
    "norm": lambda x, axis: np.sqrt(np.sum(x**2, axis=axis)),
}
KEPT = {
    "softmax": scipy.special.softmax,
    "log_softmax": scipy.special.log_softmax,
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "sort": np.sort,
    "argsort": np.argsort,
}


@pytest.mark.parametrize("axes", [0, 1, -1, (0, 2), (2, 0), (0, 1, 2), None])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_by_position(name, axes):
    x = variable("x", 3)
    result = value(getattr(r, name)(x, axes), x=X)
    np.testing.assert_allclose(result, REDUCTIONS[name](X, axis=axes), rtol=1e-12)


@pytest.mark.parametrize("axes", [0, 1, -1])
@pytest.mark.parametrize("name", KEPT)
def test_functions_that_keep_their_axis(name, axes):
    result = value(getattr(r, name)(variable("x", 3), axes), x=X)
    np.testing.assert_allclose(result, KEPT[name](X, axis=axes), rtol=1e-12)


@pytest.mark.parametrize("axes", [(0, 2), (2, 1), None])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_functions_that_keep_several_axes(name, axes):
    result = value(getattr(r, name)(variable("x", 3), axes), x=X)
    np.testing.assert_allclose(result, KEPT[name](X, axis=axes), rtol=1e-12)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places(name):
    for axis in range(3):
        result = value(getattr(r, name)(variable("x", 3), axis), x=X)
        np.testing.assert_array_equal(result, getattr(np, name)(X, axis=axis))
    with pytest.raises(AxisError, match="one axis, not 2"):
        getattr(r, name)(variable("x", 3), (0, 1))


@pytest.mark.parametrize("p", [1, 2, 3, 4, 1.5, np.inf, -np.inf, 0])
def test_norms(p):
    result = value(r.norm(variable("x", 2), 1, p), x=-X[0])
    np.testing.assert_allclose(result, np.linalg.norm(X[0], ord=p, axis=1), rtol=1e-12)


def test_empty_axes():
    x, empty = variable("x", 2), np.zeros((2, 0))
    assert value(r.sum_(x, 1), x=empty).tolist() == [0, 0]
    assert value(r.prod(x, 1), x=empty).tolist() == [1, 1]
    assert value(r.all_(x, 1), x=empty).tolist() == [True, True]
    assert value(r.any_(x, 1), x=empty).tolist() == [False, False]
    assert value(r.logsumexp(x, 1), x=empty).tolist() == [-np.inf, -np.inf]
    assert np.isnan(value(r.mean(x, 1), x=empty)).all()
    assert value(r.softmax(x, 1), x=empty).shape == (2, 0)
    assert value(r.sort(x, 1), x=empty).shape == (2, 0)
    for name in ("max_", "min_", "argmax"):
        with pytest.raises(ShapeError, match="over an axis of size 0"):
            value(getattr(r, name)(x, 1), x=empty)


A = np.random.default_rng(4).normal(size=(3, 2, 3)) + 3 * np.eye(3)[:, None, :]  # batch in the middle
AT = np.moveaxis(A, 1, 0)


@pytest.mark.parametrize("name", ["inv", "cholesky", "expm"])
def test_matrices_stay_in_place(name):
    np_functions = {"inv": np.linalg.inv, "expm": scipy.linalg.expm, "cholesky": backend.FUNCTIONS["cholesky"]}
    expected = np_functions[name](AT)
    a = variable("a", 3)
    np.testing.assert_allclose(
        value(getattr(m, name)(a, (0, 2)), a=A), np.moveaxis(expected, 0, 1), rtol=1e-10, atol=1e-12
    )
    swapped = np_functions[name](np.swapaxes(AT, 1, 2))
    np.testing.assert_allclose(
        value(getattr(m, name)(a, (2, 0)), a=A), np.moveaxis(np.swapaxes(swapped, 1, 2), 0, 1), rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize(
    ("name", "f"),
    [
        ("det", np.linalg.det),
        ("logdet", lambda a: np.linalg.slogdet(a)[1]),
        ("slogdet_sign", lambda a: np.linalg.slogdet(a)[0]),
        ("trace", lambda a: np.trace(a, axis1=1, axis2=2)),
    ],
)
def test_scalars_of_matrices(name, f):
    np.testing.assert_allclose(value(getattr(m, name)(variable("a", 3), (0, 2)), a=A), f(AT), rtol=1e-12)


def test_vectors_of_matrices_are_in_place_of_the_row():
    a = variable("a", 3)
    s = (AT + np.swapaxes(AT, 1, 2)) / 2
    np.testing.assert_allclose(value(m.eigvalsh(a, (0, 2)), a=A), np.linalg.eigvalsh(s).T, rtol=1e-12)
    known = variable("a", A.shape)
    np.testing.assert_allclose(value(f.svdvals(known, (0, 2)), a=A), np.linalg.svd(AT, compute_uv=False).T, rtol=1e-12)
    v = value(m.eigh_vectors(a, (0, 2)), a=A)
    np.testing.assert_allclose(np.abs(v), np.moveaxis(np.abs(np.linalg.eigh(s)[1]), 0, 1), rtol=1e-10)


def test_diagonals():
    a, x = variable("a", 3), variable("x", 2)
    np.testing.assert_array_equal(value(m.diag(a, (0, 2)), a=A), np.einsum("ibi->ib", A))
    made = value(m.diag(x, 0), x=X[0])
    assert made.shape == (3, 3, 4)
    np.testing.assert_array_equal(made, np.einsum("ik,ij->ijk", X[0], np.eye(3)))


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 5, 6])
def test_matrix_powers(n):
    result = value(m.matrix_power(variable("a", 3), n, (0, 2)), a=A)
    np.testing.assert_allclose(result, np.moveaxis(np.linalg.matrix_power(AT, n), 0, 1), rtol=1e-10, atol=1e-12)


def test_solve_matches_axes_by_labels():
    a, b = variable("a", 3), variable("b", 2)
    right = np.random.default_rng(6).normal(size=(5, 3))
    x = value(m.solve(a, b, "iBj", "ci", "i", "j", "cjB"), a=A, b=right)
    np.testing.assert_allclose(np.einsum("iBj,cjB->ciB", A, x), right[:, :, None] * np.ones(2), rtol=1e-12)
    shared = np.random.default_rng(7).normal(size=(3, 2))
    x = value(m.solve(a, b, "iBj", "iB", "i", "j"), a=A, b=shared)
    np.testing.assert_allclose(np.einsum("iBj,Bj->iB", A, x), shared, rtol=1e-12)
    plain_solution = value(m.solve(variable("p", 2), variable("q", 1)), p=A[:, 0], q=shared[:, 0])
    np.testing.assert_allclose(plain_solution, np.linalg.solve(A[:, 0], shared[:, 0]))
    with pytest.raises(AxisError, match="index of A's rows"):
        m.solve(a, b, "iBj", "jc", "i", "j")


def test_errors_are_sentences():
    with pytest.raises(ShapeError, match="det is for square matrices; this one is 2 by 3"):
        m.det(variable("a", (2, 3)))
    with pytest.raises(ShapeError, match=r"inv is for square matrices; this operand has the shape \(2, 3\)"):
        value(m.inv(variable("a", 2)), a=np.ones((2, 3)))
    with pytest.raises(AxisError, match="no axis 2"):
        r.sum_(variable("x", 2), 2)
    with pytest.raises(AxisError, match="twice"):
        r.sum_(variable("x", 2), (1, -1))
    with pytest.raises(AxisError, match="two axes, row and column"):
        m.det(variable("a", 3), (0, 1, 2))
