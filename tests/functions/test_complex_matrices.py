"""Functions of complex matrices: values of all libraries, and both derivatives against differences, to second order."""

import importlib

import numpy as np
import pytest

import ricci as rc
from ricci.calculus.modes import derivative
from ricci.compiler.backends import numpy_table
from ricci.compiler.pipeline import evaluate, prepare
from ricci.errors import DTypeError
from ricci.expr import OPS, Expr, conj, product, variable
from ricci.functions import factorisations as f
from ricci.functions import matrix as m
from ricci.functions import reductions as r
from ricci.functions.complexes import abs2

RNG = np.random.default_rng(0)
N = 3
WIDE = RNG.normal(size=(2, N)) + 1j * RNG.normal(size=(2, N))
SQUARE = RNG.normal(size=(N, N)) + 1j * RNG.normal(size=(N, N)) + 2 * np.diag(np.arange(N) + 1)
A, B = variable("A", (N, N), complex=True), variable("b", (N,), complex=True)
INPUTS = {"A": SQUARE, "b": SQUARE[0] * 1j}
POSITIVE = product([(A, "ij"), (conj(A), "kj")], "ik")


def spectral(x: Expr, left: Expr, values: Expr, right: Expr) -> Expr:
    """A function of a matrix by its vectors, in which their phases go."""
    return product([(left, "ij"), (values**3, "j"), (conj(right), "kj")], "ik")


def by_svd(x: Expr) -> Expr:
    u, s, v = f.svd(x)
    return spectral(x, u, s, v)


FUNCTIONS = {
    "det": m.det,
    "logdet": m.logdet,
    "slogdet_sign": m.slogdet_sign,
    "inv": m.inv,
    "solve": lambda x: m.solve(x, B),
    "expm": lambda x: m.expm(x / 8),
    "cholesky": lambda x: m.cholesky(POSITIVE),
    "eigvalsh": m.eigvalsh,
    "eigh_vectors": lambda x: abs2(m.eigh_vectors(x)),
    "by eigh": lambda x: spectral(x, m.eigh_vectors(x), m.eigvalsh(x), m.eigh_vectors(x)),
    "eigvals": m.eigvals,
    "eig_vectors": m.eig_vectors,
    "svdvals": f.svdvals,
    "svd_vectors": lambda x: abs2(f.svd(x)[0]),
    "by svd": by_svd,
    "qr_q": lambda x: f.qr(x)[0],
    "qr": lambda x: f.qr(x)[1],
    "pinv": f.pinv,
    "norm": r.norm,
    "var": r.var,
    "prod": lambda x: r.prod(x, 1),
    "power": lambda x: m.matrix_power(x, -2),
}


def value(e: Expr, inputs: dict) -> np.ndarray:
    return evaluate(prepare([e]), inputs)[0]


def by_differences(e: Expr, inputs: dict, h: float = 1e-6) -> list[np.ndarray]:
    x, found = inputs["A"], []
    for at in np.ndindex(x.shape):
        step = np.zeros(x.shape, x.dtype)
        step[at] = h
        steps = [step, 1j * step] if x.dtype.kind == "c" else [step]
        slopes = [value(e, {**inputs, "A": x + s}) - value(e, {**inputs, "A": x - s}) for s in steps]
        found.append(np.array(slopes) / (2 * h))
    parts = np.moveaxis(np.array(found), 0, -1).reshape(len(found[0]), *e.shape, *x.shape)  # type: ignore[arg-type]
    return [(parts[0] - 1j * parts[1]) / 2, (parts[0] + 1j * parts[1]) / 2] if len(parts) == 2 else [parts[0]]


def assert_derivatives(e: Expr, by: list[Expr], inputs: dict, modes=("forward", "reverse")) -> None:
    wanted = by_differences(e, inputs)
    for mode in modes:
        found = evaluate(prepare([derivative(e, x, mode) for x in by]), inputs)
        for own, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(own, other, atol=1e-5 * (1 + abs(other).max()))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_by_a_matrix_and_its_conjugate(name):
    e = FUNCTIONS[name](A)
    assert_derivatives(e, [A, conj(A)], INPUTS)
    np.testing.assert_allclose(value(conj(e), INPUTS), np.conj(value(e, INPUTS)), atol=1e-12)


@pytest.mark.parametrize("name", ["cholesky", "by eigh", "by svd", "eig_vectors", "logdet", "pinv"])
def test_second_derivatives(name):
    e = FUNCTIONS[name](A)
    size = product([(abs2(e) if e.complex else e**2, range(e.order)), (variable("w", e.shape), range(e.order))], ())
    inputs = {**INPUTS, "w": RNG.normal(size=e.shape)}  # type: ignore[arg-type]
    assert_derivatives(derivative(size, A), [A, conj(A)], inputs, ("reverse",))


@pytest.mark.parametrize("shape", [(2, N), (N, 2)])
@pytest.mark.parametrize("build", [f.pinv, f.svdvals, by_svd, lambda x: f.qr(x)[1]])
def test_rectangular_matrices(build, shape):
    x = variable("A", shape, complex=True)
    assert_derivatives(build(x), [x, conj(x)], {"A": WIDE.reshape(shape)})


@pytest.mark.parametrize("build", [m.eigvals, m.eig_vectors])
def test_eigenvalues_of_real_matrices(build):
    x, data = variable("A", (N, N)), {"A": SQUARE.real - 3 * SQUARE.imag}
    assert np.iscomplex(value(m.eigvals(x), data)).any()
    assert_derivatives(build(x), [x], data)
    assert conj(conj(build(x))) is build(x)
    np.testing.assert_allclose(value(conj(build(x)), data), value(build(x), data).conj())


@pytest.mark.parametrize("n", [0, 1, N])
def test_eigenvalues_are_those_of_plain_lists(n):
    a = SQUARE[:n, :n].real
    values, vectors = [numpy_table.FUNCTIONS[name](a) for name in ("eigvals", "eig_vectors")]
    np.testing.assert_allclose(a @ vectors, vectors * values, atol=1e-12)
    plain = np.array(OPS["eigvals"].value(a.tolist()), dtype=complex)
    columns = np.array(OPS["eig_vectors"].value(a.tolist()), dtype=complex).reshape(n, n)
    np.testing.assert_allclose(a @ columns, columns * plain, atol=1e-9)
    np.testing.assert_allclose(sorted(plain, key=abs), sorted(values, key=abs), atol=1e-9)
    assert numpy_table.FUNCTIONS["eigvals"](a.astype(np.float32)).dtype == np.complex64


MATRICES = ["det", "logdet", "slogdet_sign", "inv", "expm", "svdvals", "pinv", "qr_q", "eigvals"]


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_libraries_agree(library):
    backend = pytest.importorskip(library)
    table = importlib.import_module(f"ricci.compiler.backends.{library}_table").FUNCTIONS
    array = backend.from_numpy if library == "torch" else backend.numpy.asarray
    rough = 1e-3 if library == "jax" else 1e-10  # without float64
    whole = SQUARE @ SQUARE.conj().T
    found = {name: table[name](array(SQUARE)) for name in MATRICES}
    wanted = {name: numpy_table.FUNCTIONS[name](SQUARE) for name in MATRICES}
    for name in ("cholesky", "eigvalsh"):
        found[name], wanted[name] = table[name](array(whole)), numpy_table.FUNCTIONS[name](whole)
    found["solve"], wanted["solve"] = (
        table["solve"](array(SQUARE), array(SQUARE[0]), 0),
        np.linalg.solve(SQUARE, SQUARE[0]),
    )
    for name, own in found.items():
        np.testing.assert_allclose(np.asarray(own), wanted[name], rtol=rough, atol=10 * rough, err_msg=name)
    vectors = np.asarray(table["svd_vectors"](array(SQUARE)))
    np.testing.assert_allclose(
        (vectors[:N] * wanted["svdvals"]) @ vectors[N:].conj().T, SQUARE, atol=10 * rough, rtol=rough
    )


def test_what_has_an_order_is_refused():
    for name in ("max", "sort", "argmax", "softmax"):
        with pytest.raises(DTypeError, match="complex numbers"):
            OPS[name](A, (1,))


def test_traced_results_have_the_types_of_numpy():
    def parts(x):
        whole = x + np.conj(x).T
        w, v = np.linalg.eig(x)
        return (*np.linalg.slogdet(x), *np.linalg.eigh(whole), *np.linalg.svd(x), *np.linalg.qr(x), w, v)

    for made, wanted in zip(rc.compile(parts)(SQUARE), parts(SQUARE), strict=True):
        assert made.dtype == wanted.dtype
        np.testing.assert_allclose(np.abs(made), np.abs(wanted), atol=1e-10)
