"""Kinds of operands: what would lose something on the way is refused on every road, and the rest is right on each."""

from __future__ import annotations

import numpy as np
import pytest

import ricci as rc
from ricci.kinds import check_usable, kind_of

pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")

X = np.arange(6.0).reshape(2, 3) / 7
DOT = rc.parse("y = A[i,j] B[i,j]")
SQUARE = rc.parse("g[i,j] = A[i,j] A[i,j]")


class WithUnits(np.ndarray):
    """An array that computes in its own way."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return NotImplemented


class Viewed(np.ndarray):
    """A subclass that means nothing by it."""


def foreign(module):
    """A class as another package has it, of arrays that NumPy can be made of."""
    methods = {"__array__": lambda self, dtype=None, copy=None: X, "shape": X.shape, "dtype": X.dtype, "ndim": 2}
    return type("DataArray", (), {**methods, "__module__": module})


def dask():
    return pytest.importorskip("dask.array", reason="dask is not installed").from_array(X, chunks=1)


def sparse():
    return pytest.importorskip("scipy.sparse", reason="scipy is not installed").csr_matrix(X)


def stored(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    return h5py.File(tmp_path / "x.h5", "w").create_dataset("x", data=X)


# A value, and what the error says to write.
REFUSED = {
    "masked": (lambda path: np.ma.masked_less(X, 0.3), r"mask would be lost.*\.filled"),
    "matrix": (lambda path: np.matrix(X), r"np\.matrix.*np\.asarray"),
    "units": (lambda path: X.view(WithUnits), r"computes in its own way.*np\.asarray"),
    "list of masked": (lambda path: [np.ma.masked_less(row, 0.3) for row in X], r"mask would be lost"),
    "dask": (lambda path: dask(), r"loaded whole.*\.compute\(\)"),
    "h5py": (stored, r"lies in a file.*\[\.\.\.\]"),
    "sparse": (lambda path: sparse(), r"sparse matrix.*\.toarray\(\)"),
    "pandas": (lambda path: foreign("pandas.core.frame")(), r"labels would be lost.*\.to_numpy\(\)"),
    "xarray": (lambda path: foreign("xarray.core.dataarray")(), r"labels would be lost.*\.to_numpy\(\)"),
    "zarr": (lambda path: foreign("zarr.core")(), r"lies in a file"),
}
ROADS = {
    "a formula": lambda x: DOT(A=x, B=X),
    "a compiled formula": lambda x: DOT.compile("numpy")(A=x, B=X),
    "a compressed derivative": lambda x: SQUARE.diff("A").compile(compressed=True)(A=x),
    "a product with a compressed derivative": lambda x: SQUARE.diff("A").compile(compressed=True)(A=X) @ x,
    "a variable's value": lambda x: rc.variable("x", x),
    "grad": rc.grad(lambda a: (a * a).sum()),
    "compile": rc.compile(lambda a: (a * a).sum()),
    "hessian": rc.hessian(lambda a: (a * a).sum()),
    "jvp": lambda x: rc.jvp(lambda a: (a * a).sum(), (X,), (x,)),
    "vjp": rc.vjp(lambda a: a * a, X)[1],
    "linearize": rc.linearize(lambda a: a * a, X)[1],
    "vmap": rc.vmap(lambda a: a.sum()),
    "captured": lambda x: rc.grad(lambda a: (a * x).sum())(X),
    "captured by a function": lambda x: rc.grad(lambda a: np.multiply(x, a).sum())(X),
    "captured in a list": lambda x: rc.grad(lambda a: np.concatenate([a, x]).sum())(X),
    "a table function": rc.sigmoid,
    "a table function of two": lambda x: rc.maximum(X, x),
    "a table function, traced": lambda x: rc.grad(lambda a: rc.maximum(a, x).sum())(X),
    "a table function on a tensor": lambda x: rc.maximum(rc.Tensor(X), x),
    "aux": lambda x: rc.grad(lambda a: (a.sum(), x), has_aux=True)(X),
    "a tensor": rc.Tensor,
    "beside a tensor": lambda x: rc.Tensor(X) * x,
    "in a list with a tensor": lambda x: np.concatenate([rc.Tensor(X), x]),
    "a tensor's gradient": lambda x: setattr(rc.Tensor(X), "grad", x),
    "backward": lambda x: np.negative(rc.Tensor(X)).backward(x),  # pyright: ignore[reportAttributeAccessIssue]
    "an assignment": lambda x: rc.Tensor(X, False).__setitem__(..., x),
    "an update": rc.Tensor(X).at[:].set,
    "beside formulas": lambda x: rc.einsum("i j, i j -> ", rc.variable("A[i,j]"), x),
    "check_grads": lambda x: rc.check_grads(lambda a: (a * a).sum(), x),
    "numerical_jacobian": lambda x: rc.numerical_jacobian(lambda a: (a * a).sum(), x),
}
# Roads on which arrays of Dask go along, and stay lazy.
LAZY = ("a formula", "grad", "compile", "hessian", "jvp", "vmap", "a table function", "a table function of two")
NOT_OF_LISTS = ("vjp", "linearize", "beside formulas")


def check_lazy(road, value):
    dask = pytest.importorskip("dask", reason="Dask is not installed")

    def loaded(*args, **kwargs):
        raise AssertionError("an array of Dask is loaded")

    with dask.config.set(scheduler=loaded):
        found = road(value)
    for lazy in found if isinstance(found, tuple) else [found]:
        assert isinstance(lazy, type(value))
    np.testing.assert_allclose(dask.compute(found)[0], road(X))


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("kind", REFUSED)
def test_refused(kind, road, tmp_path):
    make, message = REFUSED[kind]
    value = make(tmp_path)
    if kind == "dask" and road in LAZY:
        check_lazy(ROADS[road], value)
        return
    if isinstance(value, list) and road in NOT_OF_LISTS:
        message = None  # a list is refused there as it is
    with pytest.raises((rc.InputError, rc.EinopsError), match=message and f"(?s){message}"):
        ROADS[road](value)


@pytest.mark.parametrize("road", ROADS)
def test_the_roads_take_plain_arrays(road):
    """A plain array can go each of the roads, and so can a subclass that means nothing by it."""
    ROADS[road](X)
    ROADS[road](X.view(Viewed))


@pytest.mark.parametrize("backend", ["torch", "jax"])
@pytest.mark.parametrize("kind", REFUSED)
def test_refused_by_compiled_functions_of_other_backends(kind, backend, tmp_path):
    pytest.importorskip(backend, reason=f"{backend} is not installed")
    make, message = REFUSED[kind]
    with pytest.raises(rc.InputError, match=message):
        DOT.compile(backend)(A=make(tmp_path), B=X)


def test_memory_maps_are_arrays(tmp_path):
    mapped = np.memmap(tmp_path / "x", dtype=float, mode="w+", shape=X.shape)
    mapped[:] = X
    assert DOT(A=mapped, B=X) == pytest.approx((X * X).sum())
    np.testing.assert_allclose(rc.grad(lambda a: (a * a).sum())(mapped), 2 * X)


def test_static_arguments_may_be_anything():
    masked = np.ma.masked_less(X, 0.3)
    masked_sum = rc.compile(lambda a, m: a.sum() * float(m.count()), static_argnums=1)
    with pytest.raises(rc.InputError, match="hashable"):
        masked_sum(X, masked)


def test_kinds():
    assert [kind_of(v) for v in (1, 2.0, True, [1], (1,), "x", None)] == [
        *["number"] * 3,
        *["list"] * 2,
        *["other"] * 2,
    ]
    assert [kind_of(v) for v in (X, X[0, 0], X.view(Viewed), np.bool_(True))] == ["numpy"] * 4
    assert kind_of(rc.Tensor(X)) == "tensor" and kind_of(DOT) == "formula"
    seen = []
    rc.compile(lambda a: seen.append(kind_of(a)) or a)(X)
    assert seen == ["traced"]


def test_kinds_of_other_libraries():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    named = type("Named", (torch.Tensor,), {})
    tensors = (torch.ones(2), torch.nn.Parameter(torch.ones(2)), torch.ones(2).as_subclass(named))
    assert {kind_of(v) for v in tensors} == {"torch"}
    assert [kind_of(v) for v in (torch.float32, torch.device("cpu"), torch.nn.ReLU())] == ["other"] * 3
    jax = pytest.importorskip("jax", reason="jax is not installed")
    seen = []
    jax.jit(lambda a: seen.append(kind_of(a)) or a)(jax.numpy.ones(2))
    assert [*seen, kind_of(jax.numpy.ones(2))] == ["jax", "jax"]


def test_a_list_is_looked_through():
    check_usable([[1.0, X], (2, X)])
    with pytest.raises(rc.InputError, match=r"Write B\.filled"):
        check_usable([[1.0, X], (2, np.ma.masked_less(X, 1))], "The input 'B'", "B")


def test_gradients_of_two_libraries_do_not_meet():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    w = torch.ones(3, dtype=torch.float64)
    assert type(rc.Tensor([1.0, 2.0, 3.0]) * w) is rc.Tensor
    w.requires_grad_()
    for call in (lambda t: t * w, lambda t: w * t, lambda t: np.add(t, w), lambda t: rc.einsum("i, i ->", t, w)):
        with pytest.raises(rc.RuleError, match="gradients cannot flow from one library"):
            call(rc.Tensor([1.0, 2.0, 3.0]))
