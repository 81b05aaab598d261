"""Patterns on mixtures: every function on traced arrays and tensors beside plain arrays gives what it gives on arrays.

Each case is a function of two arrays. It is run with every pair of kinds, and its values and gradients are compared
with those of plain arrays of NumPy, whose gradients are found by differences.
"""

from __future__ import annotations

import numpy as np
import pytest

import ricci as rc
import ricci.einops as einops
from ricci.kinds import kind_of

RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(3, 4)), RNG.normal(size=(4, 5))
SAME = RNG.normal(size=(3, 4))
AT = np.array([2, 0, 2])

# A function of two arrays, and the second array; the first is X. Results are an array or a list of arrays.
CASES = {
    "rc.einsum": (lambda x, y: rc.einsum("i k, k j -> i j", x, y), Y),
    "rc.einsum, pattern last": (lambda x, y: rc.einsum(x, y, "i k, k j -> j i"), Y),
    "rc.einsum of three": (lambda x, y: rc.einsum("i k, k j, i k -> j", x, y, SAME), Y),
    "rc.einsum, composite": (lambda x, y: rc.einsum("i (a b), (a b) j -> (i a) (b j)", x, y, a=2), Y),
    "rc.einsum, ellipsis": (lambda x, y: rc.einsum("... k, k j -> j ...", x, y), Y),
    "rc.einsum, diagonal": (lambda x, y: rc.einsum("i k, j j -> i", x, y), RNG.normal(size=(2, 2))),
    "rc.einsum, max of sums": (lambda x, y: rc.einsum("i k, k j -> i j", x, y, op="add", reduce="max"), Y),
    "rc.einsum, log-sum-exp": (lambda x, y: rc.einsum("i k, k j -> i j", x, y, op="add", reduce="logsumexp"), Y),
    "rc.einsum, norm of differences": (
        lambda x, y: rc.einsum("i k, k j -> i j", x, y, op="subtract", reduce="norm"),
        Y,
    ),
    "rc.einsum with a function": (lambda x, y: rc.einsum("i k, k j -> i j", x, y, op=lambda a, b: a * b + a), Y),
    "rc.einsum with a number": (lambda x, y: rc.einsum("i k, k j, -> i j", x, y, 3.0), Y),
    "einops.einsum": (lambda x, y: einops.einsum(x, y, "i k, k j -> i j"), Y),
    "einops.einsum, ellipsis": (lambda x, y: einops.einsum(x, y, "... k, k j -> ... j"), Y),
    "rc.pack": (lambda x, y: rc.pack([x, y], "i *")[0], RNG.normal(size=(3, 2, 2))),
    "einops.pack": (lambda x, y: einops.pack((x, y), "i *")[0], RNG.normal(size=3)),
    "einops.pack of three": (lambda x, y: einops.pack([SAME, x, y], "i *")[0], RNG.normal(size=3)),
    "rc.pack and unpack": (lambda x, y: rc.unpack(*rc.pack([x, y], "i *"), "i *"), RNG.normal(size=(3, 2))),
    "rc.rearrange of a list": (lambda x, y: rc.rearrange([x, y], "n i k -> k (i n)"), SAME),
    "einops.rearrange of a list": (lambda x, y: einops.rearrange([y, x], "n i k -> i k n"), SAME),
    "einops.reduce of a list": (lambda x, y: einops.reduce([x, y], "n i k -> i k", "max"), SAME),
    "einops.repeat of a list": (lambda x, y: einops.repeat([x, y], "n i k -> n (i 2) k"), SAME),
    "joining": (lambda x, y: rc.rearrange([x, y], "i k, i l -> i (k + l)"), RNG.normal(size=(3, 2))),
    "joining and splitting": (
        lambda x, y: rc.rearrange([x, y], "i (k + l), i m -> (k + m) i, l i", k=1),
        RNG.normal(size=(3, 2)),
    ),
    "rc.gather": (lambda x, y: rc.gather("v d, t -> t d", x, AT) * y, RNG.normal(size=(3, 4))),
    "rc.scatter": (lambda x, y: rc.scatter("t d, t -> v d", x, AT, v=4) * y, RNG.normal(size=(4, 4))),
    "rc.scatter, mean": (lambda x, y: rc.scatter("t d, t -> v d", x, AT, v=4, reduce="mean") * y, np.ones((4, 4))),
    "rc.scatter, max": (lambda x, y: rc.scatter("t d, t -> v d", x, AT, v=3, reduce="max")[0] * y, np.ones(4)),
    "rc.scatter, min": (lambda x, y: rc.scatter("t d, t -> v d", x, AT, v=3, reduce="min")[2] * y, np.ones(4)),
    "rc.scatter, prod": (lambda x, y: rc.scatter("t d, t -> v d", x, AT, v=4, reduce="prod") * y, np.ones((4, 4))),
    "rc.reduce": (lambda x, y: rc.reduce(x, "i (k 2) -> k", "mean") @ y, RNG.normal(size=(2, 3))),
    "rc.repeat": (lambda x, y: rc.repeat(x, "i k -> k (i n)", n=2) * y, RNG.normal(size=(4, 6))),
    "rc.inverse": (lambda x, y: rc.inverse("i k -> (i k)", k=4)(rc.rearrange(x, "i k -> (i k)")) @ y, Y),
}


def torch_array(x):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    return torch.tensor(x)


def jax_array(x):
    jax = pytest.importorskip("jax", reason="jax is not installed")
    return jax.numpy.asarray(x)


PLAIN = {"numpy": np.asarray, "torch": torch_array, "jax": jax_array}


def leaves(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def total(function):
    """A number made of all entries of the results, each with a weight of its own."""

    def summed(x, y):
        return sum([(part * _weights(part)).sum() for part in leaves(function(x, y))])

    return summed


def _weights(part):
    shape = tuple(part.shape)
    weights = np.cos(1.0 + np.arange(np.prod(shape, dtype=int)).reshape(shape))
    return torch_array(weights) if kind_of(part) == "torch" else weights


def expected(name):
    """The results on plain arrays, and the gradients of their sum by central differences."""
    function, y = CASES[name]
    both = total(function)
    gradients = []
    for k, x in enumerate((X, y)):
        found = np.zeros_like(x)
        for at in np.ndindex(x.shape):
            step = np.zeros_like(x)
            step[at] = 1e-6
            high, low = [[X, y][:k] + [x + s * step] + [X, y][k + 1 :] for s in (1, -1)]
            found[at] = (both(*high) - both(*low)) / 2e-6
        gradients.append(found)
    return [np.asarray(part) for part in leaves(function(X, y))], gradients


def assert_close(found, wanted, rough=False):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert np.shape(a) == b.shape
        np.testing.assert_allclose(np.asarray(a), b, atol=2e-5 if rough else 1e-7, rtol=1e-4 if rough else 1e-6)


@pytest.mark.parametrize("beside", PLAIN)
@pytest.mark.parametrize("name", CASES)
def test_traced_beside_plain(name, beside):
    function, y = CASES[name]
    values, (by_x, by_y) = expected(name)
    other_x, other_y = PLAIN[beside](X), PLAIN[beside](y)
    rough = beside == "jax"  # its arrays are of single precision
    assert_close([rc.grad(lambda x: total(function)(x, other_y))(X)], [by_x], rough)
    if beside != "torch" or not name.startswith(("rc.gather", "rc.scatter")):  # whose index is an array of NumPy
        assert_close(leaves(rc.compile(lambda y: function(other_x, y))(y)), values, rough)
        assert_close([rc.grad(lambda y: total(function)(other_x, y))(y)], [by_y], rough)


@pytest.mark.parametrize("name", CASES)
def test_traced_beside_traced_and_tensors(name):
    function, y = CASES[name]
    values, gradients = expected(name)
    assert_close(leaves(rc.compile(function)(X, y)), values)
    assert_close(rc.grad(total(function), argnums=(0, 1))(X, y), gradients)
    assert_close([rc.grad(lambda x: total(function)(x, rc.Tensor(y)))(X)], gradients[:1])
    assert_close([rc.grad(lambda y: total(function)(rc.Tensor(X), y))(y)], gradients[1:])


@pytest.mark.parametrize("beside", PLAIN)
@pytest.mark.parametrize("name", CASES)
def test_tensors_beside_plain(name, beside):
    function, y = CASES[name]
    values, (by_x, by_y) = expected(name)
    rough = beside == "jax"
    x = rc.Tensor(X)
    result = function(x, PLAIN[beside](y))
    assert_close([part.numpy() for part in leaves(result)], values, rough)
    total(lambda *_: result)(x, y).backward()  # pyright: ignore[reportAttributeAccessIssue]
    assert_close([x.grad.numpy()], [by_x], rough)
    if beside == "numpy":
        t = rc.Tensor(y)
        total(function)(X, t).backward()  # pyright: ignore[reportAttributeAccessIssue]
        assert_close([t.grad.numpy()], [by_y])
        x, t = rc.Tensor(X), rc.Tensor(y)
        total(function)(x, t).backward()  # pyright: ignore[reportAttributeAccessIssue]
        assert_close([x.grad.numpy(), t.grad.numpy()], [by_x, by_y])


@pytest.mark.parametrize("name", CASES)
def test_in_transforms(name):
    """vmap, hessian and compile of a function that meets an array outside."""
    function, y = CASES[name]
    along = np.stack([X, 2 * X, -X])
    found = rc.vmap(lambda x: total(function)(x, y))(along)
    np.testing.assert_allclose(found, [total(function)(x, y) for x in along], rtol=1e-9)
    slope = lambda x: total(function)(x * x, y)  # noqa: E731
    hessian = rc.hessian(slope)(X)
    assert hessian.shape == (3, 4, 3, 4)
    step = 1e-6 * SAME
    difference = (rc.grad(slope)(X + step) - rc.grad(slope)(X - step)) / 2e-6
    np.testing.assert_allclose(np.tensordot(hessian, SAME, 2), difference, atol=2e-5, rtol=1e-4)


def test_arrays_outside_are_read_at_each_call():
    """Also where a pattern moves them before they meet a traced array."""
    outside, tensor = Y.copy(), rc.Tensor(Y)
    f = rc.compile(lambda x: rc.einsum("i (a b), (a b) j -> i j", x, outside, a=2))
    g = rc.compile(lambda x: rc.einsum("i (a b), (a b) j -> i j", x, tensor, a=2))
    np.testing.assert_allclose(f(X), X @ Y)
    np.testing.assert_allclose(g(X), X @ Y)
    outside *= 2
    with rc.no_grad():
        tensor *= 2
    np.testing.assert_allclose(f(X), 2 * X @ Y)
    np.testing.assert_allclose(g(X), 2 * X @ Y)


def test_tensors_that_a_traced_function_meets_have_gradients():
    w = rc.Tensor(Y)
    x = rc.Tensor(X)
    rc.compile(lambda x: rc.einsum("i k, k j -> ", x, w))(x).backward()
    np.testing.assert_allclose(w.grad.numpy(), np.broadcast_to(X.sum(0)[:, None], Y.shape))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("number", [2, 2.0])
def test_numbers_do_not_widen_types(dtype, number):
    x = np.ones((3, 4), dtype)
    call = lambda x: rc.einsum("i k, -> i k", x, number)  # noqa: E731
    wanted = (x * number).dtype
    assert call(x).dtype == wanted
    assert call(rc.Tensor(x, False)).dtype == wanted
    assert rc.compile(call)(x).dtype == wanted


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "max", "min"])
@pytest.mark.parametrize("count, places", [(3, 4), (0, 2), (1, 1), (5, 0)])
def test_scatter_of_all_sizes(reduce, count, places):
    """Also where nothing lands, of nothing, and into nothing."""
    x = RNG.normal(size=(count, 2))
    at = RNG.integers(0, max(places, 1), count)
    f = lambda x: rc.scatter("t d, t -> v d", x, at, v=places, reduce=reduce)  # noqa: E731
    if count and not places:
        for made in (np.asarray, rc.Tensor):
            with pytest.raises(rc.EinopsError, match="out of range"):
                f(made(x))
        return
    np.testing.assert_array_equal(np.asarray(f(rc.Tensor(x, False))), f(x))
    np.testing.assert_array_equal(rc.compile(f)(x), f(x))


@pytest.mark.parametrize("place", [-1, 3])
@pytest.mark.parametrize("what", ["gather", "scatter"])
def test_places_out_of_range(what, place):
    at = np.array([0, place, 1])
    calls = {
        "gather": lambda x, at: rc.gather("v d, t -> t d", x, at),
        "scatter": lambda x, at: rc.scatter("t d, t -> v d", x, at, v=3),
    }
    call = calls[what]
    for make in (np.asarray, rc.Tensor):
        with pytest.raises(rc.RicciError, match="out of range"):
            call(make(X), at)
    with pytest.raises(rc.RicciError, match="out of range"):
        rc.compile(lambda x: call(x, at))(X)


def test_a_traced_place_out_of_range_is_no_other_place():
    """It is not counted from the end, and two of them do not make up for one another."""
    for at in ([0, -1, 1], [0, 3, 1]):
        at = np.array(at)
        found = outcome(lambda at: rc.gather("v d, t -> t d", X, at), at)
        assert found is None or (found[1] == 0).all()
        found = outcome(lambda at: rc.scatter("t d, t -> v d", X, at, v=3), at)
        assert found is None or (found[2] == 0).all()
    row, column = np.array([0, 1, -1]), np.array([5, -1, 6])
    found = outcome(lambda row, column: rc.gather("v d, t, t -> t", X, row, column), row, column)
    assert found is None or (found == 0).all()


def outcome(function, *at):
    """The value that a traced function gives for a place out of range; None where that is an error."""
    try:
        return rc.compile(function)(*at)
    except (rc.RicciError, IndexError):
        return None


def test_kinds_that_cannot_meet():
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    with pytest.raises(rc.EinopsError, match="several kinds"):
        rc.einsum("i k, k j -> i j", rc.Tensor(X), da.from_array(Y))
    with pytest.raises(rc.EinopsError, match="several kinds"):
        rc.grad(lambda x: rc.einsum("i k, k j -> ", x, da.from_array(Y)))(X)
    with pytest.raises(rc.RicciError, match="several kinds"):
        rc.grad(lambda x: rc.einsum("i k, k j -> ", x, rc.variable("y[k,j]")))(X)


def test_dask_stays_lazy():
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    lazy = da.from_array(Y, chunks=2)
    for result in (
        rc.einsum("i k, k j -> i j", X, lazy),
        rc.rearrange(lazy, "k j -> j k"),
        rc.reduce(lazy, "k j -> k", "sum"),
        rc.repeat(lazy, "k j -> k j 2"),
        rc.pack([lazy, Y], "k *")[0],
    ):
        assert isinstance(result, da.Array)


def test_the_comparison_can_fail():
    values, _ = expected("rc.einsum")
    with pytest.raises(AssertionError):
        assert_close([values[0] + 1e-5], values)
    with pytest.raises(AssertionError):
        assert_close([values[0].T], values)


def test_all_pattern_functions_are_here():
    names = {name.partition(" ")[0].strip(",") for name in CASES}
    public = {
        "rc." + name for name in ("einsum", "pack", "rearrange", "reduce", "repeat", "gather", "scatter", "inverse")
    }
    public |= {"einops." + name for name in ("einsum", "pack", "rearrange", "reduce", "repeat")}
    assert public <= names
