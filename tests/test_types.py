"""docs/types.md says, for each road, what types go in and come out: each cell of its tables is tried."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import ricci as rc

PAGE = Path(__file__).parent.parent / "docs" / "types.md"
TENTH = rc.parse("y[i] = 0.1 x[i]")
SQUARE = rc.parse("y = x[i] x[i]")
CURVED = rc.parse("y[i] = 0.1 x[i]**2").diff("x")


def tenth(x):
    return 0.1 * x


def array_of(package, name):
    """Two ones of a type, as an array of the package."""
    if package == "PyTorch":
        torch = pytest.importorskip("torch")
        return torch.ones(2, dtype=getattr(torch, name))
    if package == "JAX":
        jnp = pytest.importorskip("jax.numpy")
        return jnp.ones(2, dtype=name)
    return np.ones(2, name)


def pulled_back(x):
    value, back = rc.vjp(lambda x: (0.1 * x).sum(), x)
    return back(value)[0]


def gradient_of_tensor(x):
    t = rc.Tensor(x)
    (0.1 * t * t).sum().backward()
    return t.grad


ROADS = {
    "`formula(x=x)`": lambda x: TENTH(x=x),
    "`formula.compile()(x=x)`": lambda x: TENTH.compile()(x=x),
    '`formula.diff("x").compile()(x=x)`': lambda x: TENTH.diff("x").compile()(x=x),
    "`rc.compile(f)(x)`": rc.compile(tenth),
    "`rc.grad(f)(x)`": rc.grad(lambda x: tenth(x).sum()),  # pyright: ignore[reportAttributeAccessIssue]
    "`rc.jvp(f, (x,), (x,))`": lambda x: rc.jvp(tenth, (x,), (x,))[1],
    "`rc.vjp(f, x)[1](y)`": pulled_back,
    "`rc.vmap(f)(x)`": rc.vmap(tenth),
    "`rc.Tensor(x)`": lambda x: tenth(rc.Tensor(x)).value,
    "`rc.Tensor(x).grad`": gradient_of_tensor,
    '`rc.reduce(x, …, "mean")`': lambda x: rc.reduce(x, "i -> ", "mean"),
    "`compile(compressed=True)`": lambda x: CURVED.compile(compressed=True)(x=x).todense(),
    "`x[i] x[i]`, formula": lambda x: SQUARE(x=x),
    "`x[i] x[i]`, compiled": lambda x: SQUARE.compile()(x=x),
    "`x @ x`, program": rc.compile(lambda x: x @ x),
}
PACKAGES = {"PyTorch": "torch", "JAX": "jax"}


def cells():
    """(road, package, type in, type out) of all tables of the page."""
    found, head = [], []
    for line in PAGE.read_text().splitlines():
        row = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if row and row[0] == "road":
            head = row
        elif row and head and not set(row[0]) <= set("-: "):
            road, package = row[0], row[1]
            found += [(road, package, name, out) for name, out in zip(head[2:], row[2:], strict=True)]
    return found


def test_every_road_is_in_the_tables():
    assert {road for road, *_ in cells()} == set(ROADS)
    assert len(cells()) > 100


def type_name(value):
    return re.sub(r"^torch\.", "", str(value.dtype))


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("package", ["NumPy", "PyTorch", "JAX"])
def test_types_in_and_out(road, package):
    if package in PACKAGES and importlib.util.find_spec(PACKAGES[package]) is None:
        pytest.skip(f"{package} is not installed")
    if package == "JAX" and __import__("jax").config.jax_enable_x64:
        pytest.skip("the table is for JAX as it starts, without numbers of 64 bits")
    rows = [(name, out) for r, p, name, out in cells() if (r, p) == (road, package)]
    for name, out in rows:
        if out == "–":
            continue
        if out == "refused":
            with pytest.raises(rc.RicciError):
                ROADS[road](array_of(package, name))
        else:
            assert type_name(ROADS[road](array_of(package, name))) == out, (road, package, name)


# What the page says besides


def test_what_is_given_decides_the_type_also_where_nothing_depends_on_it():
    torch = pytest.importorskip("torch")
    slope = rc.parse("y = 0.1 c").diff("c")
    f = slope.compile("torch")
    assert f(c=torch.tensor(1.0, dtype=torch.float64)).item() == 0.1
    assert f(c=torch.tensor(1.0)).dtype == torch.float32  # and the shortcut of the call before is not taken
    g = slope.compile("numpy")
    assert [g(c=t(1)).dtype for t in (np.float32, np.float64, np.float32)] == ["float32", "float64", "float32"]


def test_large_whole_numbers_are_floats_among_floats():
    jnp = pytest.importorskip("jax.numpy")
    f = rc.parse("y[i] = 2**45 x[i] + where(x[i] < 2**40, 2**50, 0)").compile("jax")
    np.testing.assert_allclose(f(x=jnp.ones(2)), 2.0**45 + 2.0**50)


@pytest.mark.parametrize("kind", ["uint8", "int8", "int16", "int32", "int64"])
def test_integers_do_not_overflow(kind):
    jnp, torch = pytest.importorskip("jax.numpy"), pytest.importorskip("torch")
    n = np.full(3, 100 if kind.endswith("8") else 30000, kind)
    for text, want in (("y = x[i] x[i]", 3.0 * float(n[0]) ** 2), ("y = norm[i](x[i])", 3**0.5 * float(n[0]))):
        f = rc.parse(text)
        for value in (f(x=n), f.compile("numpy")(x=n), f(x=torch.as_tensor(n)), f.compile("jax")(x=jnp.asarray(n))):
            np.testing.assert_allclose(float(value), want, rtol=1e-6)


NUMBERS = [2, 2.0, np.float64(2), np.float32(2), np.float16(2), np.int64(2), np.array(2.0), np.array(2, np.float32)]
OPERATIONS = {
    "x * c": lambda x, c: x * c,
    "c - x": lambda x, c: c - x,
    "x / c": lambda x, c: x / c,
    "x ** c": lambda x, c: x**c,
    "maximum": np.maximum,
    "where": lambda x, c: np.where(x > 1, x, c),
    "mean": lambda x, c: (x * c).mean(),
    "concatenate": lambda x, c: np.concatenate([x, np.atleast_1d(c)]),
    "hypot": np.hypot,
}


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int32, np.uint8])
def test_programs_have_the_types_of_numpy(kind):
    x = np.array([1, 2, 3], kind)
    for name, f in OPERATIONS.items():
        for c in NUMBERS:
            want = np.power(x, c) if name == "x ** c" else f(x, c)  # NumPy before 2.3 has another rule for squares
            for got in (rc.compile(lambda x, f=f, c=c: f(x, c))(x), f(rc.Tensor(x), c).value):
                assert got.dtype == want.dtype, (name, repr(c))
                np.testing.assert_allclose(
                    got, want, rtol=1e-2 if kind is np.float16 else 1e-6, err_msg=f"{name} {c!r}"
                )


EMPTY = {"sum": 0, "prod": 1, "mean": np.nan, "var": np.nan, "std": np.nan, "logsumexp": -np.inf, "norm": 0}


@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.parametrize("backend", ["interpreted", "numpy", "torch", "jax"])
def test_reductions_of_nothing(name, backend):
    if backend in ("torch", "jax"):
        pytest.importorskip(backend)
    f = rc.parse(f"y[i] = {name}[k](x[i,k])")
    f = f if backend == "interpreted" else f.compile(backend)
    np.testing.assert_array_equal(np.asarray(f(x=np.zeros((2, 0)))), [EMPTY[name]] * 2)


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_there_is_no_largest_of_nothing(name):
    f = rc.parse(f"y[i] = {name}[k](x[i,k])")
    for call in (f, f.compile("numpy")):
        with pytest.raises(rc.RicciError, match="axis of size 0"):
            call(x=np.zeros((2, 0)))


GATHER = rc.parse("y[b,d] = table[t[b],d]")


@pytest.mark.parametrize("place", [-1, 3, -4])
def test_places_that_an_axis_does_not_have(place):
    torch, jnp = pytest.importorskip("torch"), pytest.importorskip("jax.numpy")
    table, t = np.eye(3), np.array([0, place])
    for package, f in ((np.asarray, GATHER), (np.asarray, GATHER.compile("numpy")), (torch.as_tensor, GATHER)):
        with pytest.raises(IndexError, match=f"place {place} "):
            f(table=package(table), t=package(t))
    assert np.isnan(GATHER(table=jnp.asarray(table), t=jnp.asarray(t))[1]).all()
    read = rc.compile(lambda x, i: x[i])
    for package in (np.asarray, torch.as_tensor):
        if place == -1:
            assert read(package(table), package(t))[1, 2] == 1
        else:
            with pytest.raises(IndexError):
                read(package(table), package(t))


def test_indices_computed_in_floats_are_gathers():
    x, v = np.array([1.0, np.inf, 3.0]), np.array([0.2, 2.5])
    read = rc.compile(lambda x, v: x[np.floor(v).astype(int)])
    np.testing.assert_array_equal(read(x, v), [1.0, 3.0])
    with pytest.raises(rc.DTypeError, match="integers"):
        GATHER(table=np.eye(3), t=np.array([0.0, 1.0]))


@rc.custom
def shifty(x):
    values = np.array([float(v) for v in np.asarray(x)])
    return values[:1] if values[0] > 50 else values * 1j if values[0] < -50 else 2 * values


@shifty.vjp
def _(xs, g):
    return (2 * g,)


def test_functions_that_run_as_they_are_return_what_their_example_returned():
    f = rc.compile(lambda x: shifty(x) * 1.0)
    assert f(np.ones(2, np.float32)).dtype == np.float32
    with pytest.raises(rc.ShapeError, match=r"shifty runs as it is.*shape \(1,\)"):
        f(np.array([100.0, 1.0]))
    with pytest.raises(rc.DTypeError, match="complex128"):
        f(np.array([-100.0, 1.0]))


EDGES = np.array([0.0, -0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, np.nan])


@pytest.mark.parametrize(
    "f",
    [
        np.signbit,
        lambda x: np.copysign(3.0, x),
        lambda x: np.copysign(x, -0.0),
        lambda x: np.arctan2(x, -0.0),
        lambda x: x / -0.0,
        lambda x: np.heaviside(x, 0.5),
        lambda x: x // np.inf,
        lambda x: x // -np.inf,
        lambda x: x // 2.0,
    ],
)
def test_signed_zeros_and_infinite_divisors(f):
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(rc.compile(f)(EDGES), f(EDGES))


def test_what_numpy_refuses_of_types_is_refused():
    with pytest.raises(rc.DTypeError, match="out of the range of uint8"):
        rc.compile(lambda x: x + (-1))(np.ones(2, np.uint8))
    with pytest.raises(rc.DTypeError, match="cannot be cast"):
        rc.compile(lambda x: np.add(x, x, dtype=int))(np.ones(2))


@pytest.mark.parametrize("backend", ["numpy", "torch", "jax"])
def test_the_logarithm_of_cosh_is_exact_everywhere(backend):
    pytest.importorskip(backend)
    x = np.array([1e-9, -1e-6, 1e-4, 1e-3, 0.1, 0.999, 1.001, -20.0, 800.0], np.float32).astype(float)
    series = x**2 / 2 - x**4 / 12 + x**6 / 45
    want = np.where(np.abs(x) < 0.01, series, np.abs(x) + np.log1p(np.exp(-2 * np.abs(x))) - np.log(2))
    got = np.asarray(rc.parse("y[i] = log(cosh(x[i]))").compile(backend)(x=x))
    np.testing.assert_allclose(got, want, rtol=1e-6 if backend == "jax" else 1e-13)
