"""One entry that is infinite or NaN: functions of NumPy that move, pick, join and add up leave the others alone."""

import importlib.util

import numpy as np
import pytest

import ricci as rc

SOME = np.array([True, False, True, True])
MOVES = {
    "cumsum": np.cumsum,
    "cumprod": lambda x: np.cumprod(x[::-1]),
    "tril": lambda x: np.tril(np.outer(x, np.ones(4))),
    "tril @": lambda x: np.tril(x * np.ones((4, 1))) @ np.ones(4),
    "triu @": lambda x: np.triu(np.outer(x, np.ones(4)), 1).T @ np.arange(12.0).reshape(4, 3),
    "convolve": lambda x: np.convolve(x, np.array([1.0, 2.0])),
    "convolve same": lambda x: np.convolve(x, np.array([1.0, 2.0, 3.0]), "same"),
    "convolve valid": lambda x: np.convolve(x, np.array([1.0, 2.0]), "valid"),
    "convolve with it": lambda x: np.convolve(np.arange(1.0, 7.0), x),
    "convolve same with it": lambda x: np.convolve(np.arange(1.0, 7.0), x, "same"),
    "convolve with itself": lambda x: np.convolve(x, x),
    "correlate": lambda x: np.correlate(x, np.array([1.0, 2.0]), "full"),
    "concatenate": lambda x: np.concatenate([x[:2], x[2:] * 2]),
    "pad": lambda x: np.pad(x, 1),
    "pad reflect": lambda x: np.pad(x, 2, mode="reflect"),
    "roll": lambda x: np.roll(x, 1),
    "diag": np.diag,
    "diagflat": lambda x: np.diagflat(x, 1),
    "flip": lambda x: x[::-1],
    "index": lambda x: x[np.array([0, 0, 1])],
    "trace": lambda x: np.trace(np.diag(x)),
    "diff": np.diff,
    "gradient": np.gradient,
    "where": lambda x: np.where(SOME, x, 0),
    "repeat": lambda x: np.repeat(x, [1, 0, 2, 1]),
    "tile": lambda x: np.tile(x, 2),
    "stack": lambda x: np.stack([x, 2 * x]),
    "insert": lambda x: np.insert(x, 1, 7.0),
    "delete": lambda x: np.delete(x, 1),
    "block": lambda x: np.block([[x[:2], x[2:]], [x[2:], x[:2]]]),
    "nansum": np.nansum,
    "nancumsum": np.nancumsum,
    "sum where": lambda x: np.sum(x, where=SOME),
    "mean where": lambda x: np.mean(x, where=SOME),
    "max where": lambda x: np.max(x, where=SOME, initial=0.0),
    "prod where": lambda x: np.prod(x, where=SOME),
    "interp": lambda x: np.interp(np.array([2.2]), np.arange(4.0), x),
    "trapezoid": lambda x: np.trapezoid(x[2:]),
    "split": lambda x: np.split(x, 2)[1],
    "select": lambda x: np.select([SOME], [x], 0.0),
    "choose": lambda x: np.choose(np.array([0, 1, 0, 0]), [x, np.zeros(4)]),
    "take_along_axis": lambda x: np.take_along_axis(x, np.array([3, 0]), 0),
    "compress": lambda x: np.compress(SOME, x),
    "einsum": lambda x: np.einsum("ii->i", np.outer(x, np.ones(4))),
    "kron": lambda x: np.kron(np.array([1.0, 2.0]), x),
    "clip": lambda x: np.clip(x, 0, 2),
}
ROADS = {
    "compiled": lambda f, x: rc.compile(f)(x),
    "fused": lambda f, x: rc.compile(f, fused=True)(x),
    "jvp": lambda f, x: rc.jvp(f, (x,), (np.zeros(4),))[0],
    "tensor": lambda f, x: f(rc.Tensor(x)).value,
    "torch": lambda f, x: rc.compile(f, backend="torch")(x),
    "jax": lambda f, x: rc.compile(f, backend="jax")(x),
}
NEEDS = {"fused": "numba", "torch": "torch", "jax": "jax"}


def check(name, road, bad):
    x = np.array([1.0, bad, 3.0, 4.0])
    with np.errstate(all="ignore"):
        want, got = MOVES[name](x), np.asarray(ROADS[road](MOVES[name], x))
    np.testing.assert_allclose(got, want, rtol=1e-6, err_msg=f"{name}, {road}, {bad}")


@pytest.mark.parametrize("name", MOVES)
def test_an_infinity_stays_where_it_is(name):
    check(name, "compiled", np.inf)
    check(name, "tensor", np.inf)


@pytest.mark.thorough
@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("road", ROADS)
def test_an_infinity_stays_where_it_is_on_every_road(road, bad):
    if road in NEEDS and importlib.util.find_spec(NEEDS[road]) is None:
        pytest.skip(f"{NEEDS[road]} is not installed")
    for name in MOVES:
        check(name, road, bad)
