"""``np.linalg`` of traced arrays: values, types and derivatives; signs and errors."""

from typing import Any

import numpy as np
import pytest
from checking import check, traced

from ricci.errors import RicciError, ShapeError, TraceError

linalg: Any = np.linalg  # whose types do not know all that it takes


def regular(*shape: int) -> np.ndarray:
    """Far from singular, not symmetric, with eigenvalues and singular values apart."""
    m, n = shape[-2:]
    return 0.3 * np.random.default_rng(0).normal(size=shape) + np.eye(m, n) * (np.arange(max(m, n)) + 2.0)[:n]


def normal(*shape: int) -> np.ndarray:
    """Of both signs, none near 0."""
    random = np.random.default_rng(1)
    return random.uniform(0.3, 2, shape) * random.choice([-1, 1], shape)


def squared(u: Any, s: Any, v: Any) -> Any:
    """The matrix with its singular values squared, put together."""
    return u * s[..., None, :] ** 2 @ v


SHAPES = [(3, 3), (1, 1), (2, 3, 3), (2, 1, 2, 2)]
SQUARE = {
    "det": np.linalg.det,
    "inv": np.linalg.inv,
    "slogdet": np.linalg.slogdet,
    "logabsdet": lambda a: np.linalg.slogdet(a).logabsdet + np.linalg.slogdet(a).sign,
    "cholesky": np.linalg.cholesky,
    "upper cholesky": lambda a: np.linalg.cholesky(a, upper=True),
    "eigvalsh": np.linalg.eigvalsh,
    "eigvalsh of the upper triangle": lambda a: np.linalg.eigvalsh(a, UPLO="U"),
    "eigenvalues": lambda a: np.linalg.eigh(a).eigenvalues,
    "eigenvectors": lambda a: np.linalg.eigh(a).eigenvectors ** 2,
    "eigvals of any matrix": lambda a: np.abs(np.linalg.eigvals(a)) ** 2,
    "eig": lambda a: np.abs(np.linalg.eig(a).eigenvectors) ** 2,
    "power": lambda a: np.linalg.matrix_power(a, 3),
    "power 0": lambda a: np.linalg.matrix_power(a, 0) + a,
    "negative power": lambda a: np.linalg.matrix_power(a, -2),
    "svd": lambda a: [part**2 for part in np.linalg.svd(a)],
    "cond": np.linalg.cond,
    "cond -2": lambda a: np.linalg.cond(a, -2),
    "cond 1": lambda a: np.linalg.cond(a, 1),
    "cond inf": lambda a: np.linalg.cond(a, np.inf),
    "cond fro": lambda a: np.linalg.cond(a, "fro"),
    "pinv of a symmetric matrix": lambda a: np.linalg.pinv(a, hermitian=True),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", SQUARE)
def test_square(name, shape):
    check(SQUARE[name], regular(*shape))


@pytest.mark.parametrize("name", SQUARE)
def test_single_precision(name):
    check(SQUARE[name], regular(3, 3).astype(np.float32))


RECTANGULAR = {
    "svdvals": np.linalg.svdvals,
    "values only": lambda a: np.linalg.svd(a, compute_uv=False),
    "svd": lambda a: [part**2 for part in np.linalg.svd(a, full_matrices=False)],
    "svd put together": lambda a: (lambda u, s, v: u * s[..., None, :] ** 2 @ v)(  # pyright: ignore[reportArgumentType]
        *np.linalg.svd(a, full_matrices=False)
    ),
    "pinv": np.linalg.pinv,
    "pinv with a ratio": lambda a: np.linalg.pinv(a, 1e-8),
    "pinv with rtol": lambda a: linalg.pinv(a, rtol=None),
    "qr": np.linalg.qr,
    "Q": lambda a: np.linalg.qr(a).Q,
    "R": lambda a: np.linalg.qr(a, mode="r"),
    "cond": lambda a: np.linalg.cond(a, 2),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("shape", [(3, 2), (2, 3), (2, 2), (2, 3, 1), (2, 1, 3)], ids=str)
@pytest.mark.parametrize("name", RECTANGULAR)
def test_rectangular(name, shape):
    check(RECTANGULAR[name], regular(*shape))


def test_singular_vectors_have_numpys_signs():
    check(lambda a: np.linalg.svd(a, full_matrices=False), regular(4, 2), order=0)
    check(np.linalg.eigh, regular(3, 3), order=0)


SYSTEMS = [
    ((3, 3), (3,)),
    ((3, 3), (3, 2)),
    ((2, 3, 3), (3,)),
    ((2, 3, 3), (3, 2)),
    ((3, 3), (2, 3, 2)),
    ((2, 3, 3), (2, 3, 1)),
    ((1, 2, 2), (3, 2, 2)),
    ((2, 1, 2, 2), (3, 2, 1)),
]


@pytest.mark.parametrize(("left", "right"), SYSTEMS, ids=str)
def test_solve(left, right):
    check(np.linalg.solve, regular(*left), normal(*right))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("shape", "right"), [((4, 2), (4,)), ((4, 2), (4, 3)), ((2, 4), (2,)), ((2, 2), (2, 2))], ids=str
)
@pytest.mark.parametrize("rcond", [None, -1, 1e-10])
def test_least_squares(shape, right, rcond):
    check(lambda a, b: np.linalg.lstsq(a, b, rcond=rcond), regular(*shape), normal(*right))


def test_tensor_equations():
    a = regular(6, 6)
    check(np.linalg.tensorinv, a.reshape(2, 3, 3, 2))
    check(lambda a: np.linalg.tensorinv(a, ind=1), a.reshape(6, 3, 2))
    check(np.linalg.tensorsolve, a.reshape(2, 3, 3, 2), normal(2, 3))
    check(lambda a, b: np.linalg.tensorsolve(a, b, axes=(0,)), a.reshape(6, 3, 2), normal(3, 2))
    check(np.linalg.tensorsolve, a.reshape(6, 6), normal(6))


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("ord", [None, 2, 1, 3, 2.5, 0.5, -1, 0, np.inf, -np.inf])
def test_norms_of_vectors(ord, keepdims):
    check(lambda x: np.linalg.norm(x, ord, keepdims=keepdims), normal(4))
    check(lambda x: np.linalg.norm(x, ord, axis=0, keepdims=keepdims), normal(3, 2))
    check(lambda x: np.linalg.norm(x, ord, axis=-1, keepdims=keepdims), normal(2, 1, 3))
    if ord is not None:
        check(lambda x: np.linalg.vector_norm(x, ord=ord, keepdims=keepdims), normal(2, 2))
        check(lambda x: np.linalg.vector_norm(x, ord=ord, axis=(2, 0), keepdims=keepdims), normal(2, 3, 2))


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("ord", [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_norms_of_matrices(ord, keepdims):
    check(lambda x: np.linalg.norm(x, ord, keepdims=keepdims), regular(3, 2))
    check(lambda x: np.linalg.norm(x, ord, axis=(2, 0), keepdims=keepdims), normal(2, 1, 3))
    if ord is not None:
        check(lambda x: np.linalg.matrix_norm(x, ord=ord, keepdims=keepdims), regular(2, 2, 3))


def test_the_norm_of_all_entries():
    check(np.linalg.norm, normal(2, 3, 2))
    check(lambda x: linalg.norm(x, keepdims=True), normal(2, 3, 2))
    check(np.linalg.norm, np.array(-2.0))
    check(np.linalg.norm, np.array([3, 4]))


def test_ranks():
    singular = np.array([[1.0, 2], [2, 4]])
    check(np.linalg.matrix_rank, np.stack([singular, np.eye(2)]))
    check(lambda a: np.linalg.matrix_rank(a, tol=0.5), np.diag([1.0, 0.1, 3]))
    check(lambda a: np.linalg.matrix_rank(a, tol=np.array([0.05, 0.5])), np.stack([np.diag([1.0, 0.1])] * 2))
    check(lambda a: np.linalg.matrix_rank(a, rtol=0.05), np.diag([1.0, 0.1, 3]))
    check(lambda a: np.linalg.matrix_rank(a, hermitian=True), singular)
    check(np.linalg.matrix_rank, np.zeros(3))
    check(np.linalg.matrix_rank, np.ones(3))


def test_whole_numbers_become_floats():
    whole = np.array([[2, 1], [1, 3]])
    for function in (np.linalg.det, np.linalg.inv, np.linalg.cholesky, np.linalg.svdvals, np.linalg.norm):
        check(function, whole)
    check(lambda a: np.linalg.matrix_power(a, 2), whole)


def test_empty_matrices():
    check(np.linalg.det, np.ones((2, 0, 0)))
    check(np.linalg.inv, np.ones((0, 2, 2)))
    check(np.linalg.solve, np.ones((0, 0)), np.ones((0, 2)))
    check(np.linalg.norm, np.ones((0, 2)), order=0)


ERRORS = {
    "is for square matrices": np.linalg.inv,
    "is for matrices": lambda a: np.linalg.det(a[0]),
    "full_matrices=False": np.linalg.svd,
    "eigh is for symmetric": lambda a: np.linalg.svd(a, hermitian=True),
    "have no derivative. Write np.linalg.qr": lambda a: np.linalg.qr(a, mode="complete"),
    "mode='raw' is not traced": lambda a: np.linalg.qr(a, mode="raw"),
    "UPLO is 'L' or 'U'": lambda a: linalg.eigh(a[:2], UPLO="X"),
    "the right side": lambda a: np.linalg.solve(a[:2], a),
    "lstsq: the matrix": lambda a: np.linalg.lstsq(a, a[0]),
    "no norm of matrices": lambda a: np.linalg.norm(a, 3),
    "is one of matrices": lambda a: np.linalg.norm(a, "nuc", axis=0),
    "name one axis or two": lambda a: np.linalg.norm(a[None], 1),
    "as many entries as the rest": lambda a: np.linalg.tensorinv(a, ind=1),
    "then as many entries": lambda a: np.linalg.tensorsolve(a, a[0]),
    "must be known when the function is traced": lambda a: np.linalg.pinv(a, rcond=a[0, 0]),
}


@pytest.mark.parametrize("message", ERRORS)
def test_errors(message):
    with pytest.raises((ShapeError, TraceError), match=message.replace("(", r"\(")) as caught:
        traced(ERRORS[message], np.ones((3, 2)))
    assert isinstance(caught.value, RicciError)
