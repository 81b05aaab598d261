"""Sparse arrays, sparse systems, sums and products of compressed results, against the same with whole arrays."""

from __future__ import annotations

import importlib.util
import pickle
import random
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_compressed import CASES, check_random, formula, made, whole

import ricci as rc
from ricci.compiler.compressed import filling, sparse_systems, triples
from ricci.compiler.compressed.result import FORMATS, Compressed
from ricci.errors import InputError, ShapeError
from ricci.testing import expressions, random_expression

scipy_sparse = pytest.importorskip("scipy.sparse", reason="sparse arrays are SciPy's, which is not installed")
aslinearoperator, cg = (getattr(importlib.import_module("scipy.sparse.linalg"), n) for n in ("aslinearoperator", "cg"))
RNG = np.random.default_rng(0)


# Programs: residuals, whose Jacobian is taken, and objectives, whose Hessian is


def differences(u):
    return u[2:] - 2 * u[1:-1] + u[:-2] - u[1:-1] ** 3


def padded(u):
    v = np.pad(u, 1)
    return v[2:] - 2 * v[1:-1] + v[:-2] - u**3


def chain(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def smoother(x):
    step = np.array([[0.9, 0.1], [0.0, 0.8]])
    return ((x[1:] - np.tanh(x[:-1] @ step)) ** 2).sum() + (x**2).sum()


def grid(u):
    return ((u[1:] - u[:-1]) ** 2).sum() + ((u[:, 1:] - u[:, :-1]) ** 2).sum() + (u**4).sum()


def with_low_rank(x):
    return chain(x) + (np.sin(np.arange(x.size)) @ x) ** 2 + (np.cos(np.arange(x.size)) @ x) ** 4


CAMERAS, POINTS = RNG.integers(0, 4, 50), RNG.integers(0, 9, 50)


def projected(cameras, points):
    c, p = cameras[CAMERAS], points[POINTS]
    return p[:, :2] * c[:, :1] + c[:, 1:3] * p[:, 2:]


def windows(u):
    return u[: len(u) // 2 * 2].reshape(-1, 2).sum(1) * u[::2][: len(u) // 2]


def reordered(u):
    return np.concatenate([u[::-1] ** 2, np.roll(u, 2) * u, np.repeat(u, 2)])


def triangle(u):
    return np.tril(u[:, None] * u[None, :])


RESIDUALS: list[Callable] = [differences, padded, windows, reordered, triangle, np.cumsum, lambda u: u * u.sum()]
OBJECTIVES: list[Callable] = [chain, with_low_rank, lambda u: (np.sort(u) ** 3).sum(), lambda u: np.exp(u).sum() ** 2]


def flat(array: Any, rows: int) -> np.ndarray:
    array = np.asarray(array)
    return array.reshape(int(np.prod(array.shape[:rows])), int(np.prod(array.shape[rows:])))


def same(found: Any, wanted: np.ndarray, tolerance: float = 1e-10) -> None:
    assert scipy_sparse.issparse(found) and found.shape == wanted.shape
    np.testing.assert_allclose(
        found.toarray(), wanted, atol=tolerance * max(1.0, float(np.max(abs(wanted), initial=0)))
    )


@pytest.mark.parametrize("size", [3, 4, 9])
@pytest.mark.parametrize("f", RESIDUALS)
def test_jacobians(f, size):
    u = RNG.normal(size=size)
    wanted = rc.jacobian(f)(u)
    same(rc.jacobian(f, sparse=True)(u), flat(wanted, wanted.ndim - 1))


@pytest.mark.parametrize("size", [2, 3, 9])
@pytest.mark.parametrize("f", OBJECTIVES)
def test_hessians(f, size):
    u = RNG.normal(size=size)
    same(rc.hessian(f, sparse=True)(u), rc.hessian(f)(u))


@pytest.mark.parametrize("shape", [(0, 2), (1, 2), (2, 2), (7, 2)])
def test_more_axes_and_no_entries(shape):
    x = RNG.normal(size=shape)
    size = x.size
    same(rc.hessian(smoother, sparse=True)(x), np.asarray(rc.hessian(smoother)(x)).reshape(size, size))
    same(rc.hessian(lambda x: (x**3).sum(), sparse=True)(x), np.diag(6 * x.ravel()))


def test_several_arguments_and_gathers():
    cameras, points = RNG.normal(size=(4, 3)), RNG.normal(size=(9, 3))
    found = rc.jacobian(projected, argnums=(0, 1), sparse=True)(cameras, points)
    wanted = rc.jacobian(projected, argnums=(0, 1))(cameras, points)
    for one, other in zip(found, wanted, strict=True):
        same(one, flat(other, 2))
        assert one.nnz == 200

    def half(c, p):
        return (projected(c, p) ** 2).sum() / 2

    blocks = rc.hessian(half, argnums=(0, 1), sparse=True)(cameras, points)
    dense = rc.hessian(half, argnums=(0, 1))(cameras, points)
    for k in range(2):
        for n in range(2):
            same(blocks[k][n], flat(dense[k][n], 2))


def test_other_places_of_a_gather_are_other_entries():
    f = rc.parse("y[b] = E[t[b]]**2").diff("E").compile("numpy", compressed=True)
    E = np.arange(1.0, 7.0)
    for places in ([3, 0, 3], [1, 1, 2], [3, 0, 3]):
        c = f(E=E, t=np.array(places))
        same(c.sparse(), c.todense())


def test_trees_and_aux():
    def f(p, t):
        y = p["a"] * t + p["b"]
        return {"y": y, "sum": y.sum()}, y * 2

    p, t = {"a": 2.0, "b": np.ones(3)}, np.arange(3.0)
    found, aux = rc.jacobian(f, has_aux=True, sparse=True)(p, t)
    wanted, other = rc.jacobian(f, has_aux=True)(p, t)
    same(found["y"]["b"], wanted["y"]["b"])
    same(found["y"]["a"], flat(wanted["y"]["a"], 1))
    same(found["sum"]["b"], flat(wanted["sum"]["b"], 0))
    assert np.array_equal(aux, other)


@pytest.mark.parametrize("format", FORMATS)
def test_formats(format):
    u = RNG.normal(size=8)
    found = rc.jacobian(differences, sparse=format)(u)
    assert found.format == format
    same(found, rc.jacobian(differences)(u))
    same(
        rc.hessian(smoother, compressed=True)(np.ones((5, 2))).sparse(format),
        flat(rc.hessian(smoother)(np.ones((5, 2))), 2),
    )


def test_formats_that_fit():
    assert rc.jacobian(differences, sparse="auto")(np.ones(20)).format == "dia"
    blocks = rc.hessian(smoother, sparse="auto")(np.ones((20, 2)))
    assert blocks.format == "bsr" and blocks.blocksize == (2, 2)
    assert rc.hessian(grid, sparse="auto")(np.ones((6, 5))).format in ("csr", "bsr")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_types(dtype):
    u = np.linspace(0, 1, 9, dtype=dtype)
    found = rc.jacobian(differences, sparse=True)(u)
    assert found.dtype == dtype
    c = rc.hessian(chain, compressed=True)(np.linspace(0.5, 1, 200, dtype=dtype))
    b = np.ones(200, dtype)
    x = c.solve(b)
    assert x.dtype == dtype
    np.testing.assert_allclose(c @ x, b, atol=1e-2 if dtype == np.float32 else 1e-10)


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_other_backends(backend):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    u = np.linspace(0.5, 1, 100)
    c = rc.hessian(chain, compressed=True, backend=backend)(u)
    np.testing.assert_allclose(c.sparse().toarray(), rc.hessian(chain)(u), rtol=1e-4, atol=1e-3)
    x = c.solve(np.ones(100))
    assert type(x).__module__.split(".")[0] in (backend, "jaxlib")
    np.testing.assert_allclose(np.asarray(c @ x), np.ones(100), atol=1e-3)


def test_what_is_zero_has_no_entries():
    """However large it is; and it is a matrix in all else."""
    found = rc.jacobian(lambda u: np.ones(3) + 0 * u[:3], compressed=True)(np.ones(100_000))
    assert found.sparse().nnz == (found.T @ found).sparse().nnz == 0 and not (found @ np.ones(100_000)).any()
    curved = rc.hessian(lambda u: u.sum(), compressed=True)(np.ones(4))
    assert (curved + 2 * curved).structure == "0" and (curved - curved).sparse().nnz == 0
    assert curved.sparse("dia").nnz == 0 and curved.shifted(2.0).solve(np.ones(4)).tolist() == [0.5] * 4
    with pytest.raises(rc.InputError, match="c is 0"):
        curved.solve(np.ones(4))


def test_what_has_too_many_entries_is_refused(monkeypatch):
    monkeypatch.setattr(triples, "MOST_ENTRIES", 1000)
    c = rc.hessian(lambda x: x.sum() ** 2, compressed=True)(np.ones(50))
    with pytest.raises(InputError, match="2,500 entries of the result may differ from zero"):
        c.sparse()
    assert c.most_entries == 2500


def test_what_makes_no_matrices_is_not_sparse():
    with pytest.raises(InputError, match=r"rc.grad makes no matrices"):
        rc.grad(chain, sparse=True)  # pyright: ignore[reportCallIssue]
    with pytest.raises(InputError, match="A sparse result is not an array, so it cannot be part of a traced function"):
        rc.grad(lambda x: rc.jacobian(differences, sparse=True)(x).sum())(np.ones(5))
    with pytest.raises(InputError, match="the formats are csr, csc"):
        rc.jacobian(differences, sparse="lil")(np.ones(5))


# Random expressions


def entries_agree(c: Compressed, wanted: np.ndarray) -> None:
    found = c.sparse()
    dense = np.nan_to_num(wanted.reshape(found.shape).astype(float))
    np.testing.assert_allclose(np.nan_to_num(found.toarray()), dense, rtol=1e-8, atol=1e-8)


@settings(max_examples=80)
@given(expressions(max_size=8, extents=(0, 1, 2, 3), symbolic=True))
def test_random_expressions(sample):
    check_random(sample.build(), sample, entries_agree)


@pytest.mark.parametrize("seed", [182, 217, 219, 528, 583])
def test_structures_that_become_others_at_small_sizes(seed):
    """Numbers, products, or what holds nowhere, once sizes are 0 or 1."""
    sample = random_expression(random.Random(seed), size=1 + seed % 8, extents=(0, 1, 2, 3), symbolic=True)
    check_random(sample.build(), sample, entries_agree)


@pytest.mark.parametrize("name", CASES)
def test_cases_of_compressed_results(name):
    c = made(name)
    if c.ndim:
        entries_agree(c, whole(name))


def test_a_wrong_place_is_noticed(monkeypatch):
    """The checks above can fail."""
    right = triples.Walk.flat
    monkeypatch.setattr(triples.Walk, "flat", lambda self, labels: right(self, labels) // 2)
    rc.cache_clear()
    with pytest.raises(AssertionError):
        entries_agree(made("diagonal and rank one"), whole("diagonal and rank one"))
    rc.cache_clear()


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_entries_are_filled_by_what_goes_to_them(seed, regular):
    """Random terms, in steps or anywhere, several of whose numbers may go to one entry."""
    rng = np.random.default_rng(seed)
    count, terms = int(rng.integers(1, 40)), []
    arrays = [rng.normal(size=rng.integers(1, 30)) for _ in range(3)]
    wanted = np.zeros(count)
    for _ in range(rng.integers(0, 14)):
        chosen = rng.integers(0, 3, rng.integers(0, 3))
        most = min([count, *[len(arrays[k]) for k in chosen]])
        number = int(rng.integers(0, most + 1)) if regular else int(rng.integers(0, 3 * most))
        to = np.arange(number) * (count // max(1, number)) if regular else rng.integers(0, count, number)
        reads = []
        value = coef = float(rng.integers(-2, 3))
        for k in chosen:
            places = np.arange(number) if regular else rng.integers(0, len(arrays[k]), number)
            core = filling.Core.of([(int(k), (7,))], (7,), {7: len(arrays[k])})
            reads.append((core, filling.run_of(places)))
            value = value * arrays[k][places]
        np.add.at(wanted, to, value)
        terms.append(filling.TermReads(coef, tuple(reads), filling.run_of(to), number))
    found = filling.filling(terms, count)
    for _ in range(2):
        np.testing.assert_allclose(found.values(arrays, np.float64), wanted, atol=1e-12)


def test_results_have_places_of_their_own():
    derive = rc.jacobian(differences, sparse=True)
    u = np.zeros(9)
    first, second = derive(u), derive(u)
    second.data[:] = 0
    second.eliminate_zeros()  # which SciPy does in place
    assert second.nnz == 0 and first.nnz == derive(u).nnz == 21
    same(first, rc.jacobian(differences)(u))


# Systems


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (chain, np.linspace(0.5, 1, 300)),
        (with_low_rank, np.linspace(0.5, 1, 300)),
        (smoother, np.ones((60, 2))),
        (lambda x: smoother(x.T), np.ones((2, 60))),
        (grid, np.ones((12, 9))),
        (lambda x: chain(x.reshape(-1)) + (x**2).sum(), np.full((30, 5), 0.7)),
    ],
    ids=["tridiagonal", "low rank", "block tridiagonal", "other order", "grid", "merged axes"],
)
def test_systems(f, x):
    c = rc.hessian(f, compressed=True)(x)
    assert c._shell._sparse_system is None or not c._shell._sparse_system.low or f is with_low_rank
    dense = np.asarray(rc.hessian(f)(x)).reshape(x.size, x.size)
    for further in ((), (3,)):
        b = RNG.normal(size=(*x.shape, *further))
        wanted = np.linalg.solve(dense, b.reshape(x.size, -1)).reshape(b.shape)
        found = c.solve(b)
        assert c._shell._sparse_system is not None
        np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-7 * abs(wanted).max())


def test_a_jacobian_that_is_not_symmetric():
    u = np.linspace(0, 1, 200)
    c = rc.jacobian(lambda u: np.concatenate([u[1:] ** 2, u[:1]]) + 3 * u, compressed=True)(u)
    b = RNG.normal(size=200)
    np.testing.assert_allclose(
        c.solve(b), np.linalg.solve(rc.jacobian(lambda u: np.concatenate([u[1:] ** 2, u[:1]]) + 3 * u)(u), b)
    )


def test_singular_systems_are_refused():
    c = rc.hessian(lambda x: ((x[1:] - x[:-1]) ** 2).sum(), compressed=True)(np.ones(200))
    with pytest.raises(InputError, match="is singular to working precision"):
        c.solve(np.ones(200))


def test_memory_is_that_of_the_structure():
    x = np.linspace(0.5, 1, 100_000)
    c = rc.hessian(chain, compressed=True)(x)
    tracemalloc.start()
    c.solve(np.ones(x.size))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1000 * x.size  # a whole matrix has 800,000 bytes a row


def test_without_scipy(monkeypatch):
    monkeypatch.setattr(sparse_systems, "import_module", lambda name: (_ for _ in ()).throw(ImportError(name)))
    c = rc.hessian(chain, compressed=True)(np.linspace(0.5, 1, 300))
    with pytest.raises(rc.MissingPackageError, match="pip install scipy"):
        c.sparse()


# Sums and products


PAIRS = ["logistic", "factorisation", "quadratic form", "a square", "diagonal and rank one", "rank one in each block"]


@pytest.mark.parametrize("name", PAIRS)
def test_sums_and_products(name):
    c, dense = made(name), whole(name)
    half = dense.ndim // 2
    by = RNG.normal(size=dense.shape[:half])
    eye = np.eye(by.size).reshape(dense.shape)
    cases = {
        "sum": (c + c, 2 * dense),
        "difference": (c - 0.5 * c, 0.5 * dense),
        "negative": (-c, -dense),
        "quotient": (c / 4, dense / 4),
        "builtin sum": (sum([c, c, c]), 3 * dense),
        "product": (c @ c.T, np.tensordot(dense, np.moveaxis(dense, range(half, 2 * half), range(half)), half)),
        "shift": (c.shifted(0.5), dense + 0.5 * eye),
        "shifts": (c.shifted(by), dense + eye * by.reshape(*by.shape, *[1] * half)),
    }
    for what, (found, wanted) in cases.items():
        assert isinstance(found, Compressed), what
        np.testing.assert_allclose(found.todense(), wanted, rtol=1e-9, atol=1e-9 * abs(wanted).max(), err_msg=what)
        assert found.shape == wanted.shape


def test_products_of_bands_are_bands():
    c = rc.jacobian(differences, compressed=True)(np.linspace(0, 1, 1000))
    normal = (c.T @ c).shifted(0.1)
    assert normal.structure.startswith("banded, width 5: ") and normal.sparse().nnz == 5 * 1000 - 6
    b = np.ones(1000)
    np.testing.assert_allclose(normal @ normal.solve(b), b)
    f = normal._shell._functions
    again = (c.T @ c).shifted(0.2)
    assert again._shell is normal._shell and f is again._shell._functions  # what was made once is kept
    assert isinstance(pickle.loads(pickle.dumps(normal)), Compressed)


def test_what_does_not_fit():
    square, other = made("logistic"), made("factorisation")
    for act, words in {
        (lambda: square + other): "c \\+ d: the first has rows",
        (lambda: square @ other): "c @ d: the first has rows",
        (lambda: square.shifted(np.ones(5))): "takes a number, or an array of the shape",
        (lambda: made("of a vector by a matrix").shifted(1.0)): "have no diagonal",
    }.items():
        with pytest.raises(ShapeError, match=words):
            act()
    for act, words in {
        (lambda: square + np.ones((6, 6))): r"c \+ d takes two compressed tensors; write c.todense\(\) \+ …",
        (lambda: square * np.ones(6)): r"c \* s takes a number for s",
        (lambda: square * "a"): r"c \* s takes a number for s",
    }.items():
        with pytest.raises(InputError, match=words):
            act()


# What SciPy takes


def test_linear_operators():
    c = rc.jacobian(differences, compressed=True)(np.linspace(0, 1, 40))
    v, w = RNG.normal(size=40), RNG.normal(size=38)
    operator = aslinearoperator(c)  # by protocol
    np.testing.assert_allclose(operator @ v, c.todense() @ v)
    np.testing.assert_allclose(operator.rmatvec(w), w @ c.todense())
    blocks = rc.hessian(smoother, compressed=True)(np.ones((20, 2)))
    b = RNG.normal(size=40)
    x, failed = cg(blocks.operator(), b, rtol=1e-12)
    assert not failed
    np.testing.assert_allclose(x, blocks.solve(b.reshape(20, 2)).ravel(), rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a square", "diagonal"),
        ("factorisation", "block-diagonal, 8 blocks of 3×3"),
        ("of a convolution", ""),
        ("logistic", ""),
        ("third order", ""),
    ],
)
def test_forms_have_names(name, form):
    c = made(name)
    assert c.structure.startswith(f"{form}: ") if form else ": " not in c.structure
    assert c.structure in repr(c)


def test_forms_of_formulas_and_results_agree():
    f = rc.parse("l = 1[i] (x[i+1] - x[i+0]**2)**2").diff("x", "x")
    assert f.structure().form == "banded, width 3"
    assert f.compile("numpy", compressed=True)(x=np.ones(9)).structure.startswith("banded, width 3: ")
    assert formula("factorisation").structure().form == "block-diagonal, |i| blocks of |k|×|k|"
