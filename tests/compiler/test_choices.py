"""Whatever chooses computes its choice from the very values that it compares: what holds of a choice in exact numbers
holds in floating ones, on every road, and derivatives follow it."""

from itertools import cycle
from typing import Any

import numpy as np
import pytest

import ricci as rc
from ricci.compiler.prepare import choices, prepared
from ricci.compiler.prepare.choices import HELD, with_choices
from ricci.expr import Elementwise, Sum, topological, variable
from ricci.functions import elementwise as e
from ricci.functions import reductions as r

ROWS, COLUMNS = 60, 6


def windows(x: Any) -> Any:
    return np.stack([x[:, k : k + COLUMNS] for k in range(3)], axis=2)


# Values in the making of which much is rounded, by constants that no binary fraction is, and which the core has in many
# forms: scaled, transposed, as parts of longer sums and products.
VALUES = {
    "thirds": lambda x, y, b, c: (x - b) / 3,
    "tenths": lambda x, y, b, c: (x - b) / 10,
    "decimals": lambda x, y, b, c: 0.1 * x - b * 0.7,
    "three terms": lambda x, y, b, c: x - b * c - y / 7,
    "product": lambda x, y, b, c: x * b * y * 0.3,
    "scaled product": lambda x, y, b, c: 3 * (x * b) / 7 * c,
    "transposed": lambda x, y, b, c: ((x * b).T * y.sum(1) * 0.7).T,
    "matrices": lambda x, y, b, c: (x @ (y.T @ y)) * 0.1 * b - c / 3,
    "powers": lambda x, y, b, c: x**3 / 7 - x * b**2,
    "waves": lambda x, y, b, c: np.sin(x * c) * b - 0.3 * x + y,
    "normalised": lambda x, y, b, c: (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5) * b + c,
    "factors that are sums": lambda x, y, b, c: (x - b) * (y + c) * 0.1,
    "a number among the terms": lambda x, y, b, c: x / 3 + np.pi - np.sin(y * c * 7),
    "windows": lambda x, y, b, c: np.einsum("rck,k->rc", windows(np.concatenate([x, y[:, :2]], 1)), b[:3]) * 0.1 - c,
    "irrational": lambda x, y, b, c: np.pi * (x - b) / np.sqrt(2) + np.e * y,
}

# What choices leave true: ones, or numbers that are not negative.
TRUE = {
    "one is the largest": lambda m: (m == m.max(1, keepdims=True)).sum(1) == 1,
    "one is the smallest, along rows": lambda m: (m == m.min(0)).sum(0) == 1,
    "transposed": lambda m: (m.max(1) == m.T).sum(0) == 1,
    "of all": lambda m: (m == m.max()).sum() == 1,
    "none is larger": lambda m: m.max(1, keepdims=True) - m >= 0,
    "none is smaller": lambda m: m - m.min(0) >= 0,
    "no distance from itself": lambda m: (m.max(1, keepdims=True) - m == 0).sum(1) == 1,
    "the two largest": lambda m: (m >= np.sort(m, 1)[:, -2:-1]).sum(1) == 2,
    "half are below the median": lambda m: (m <= np.partition(m, 2, 1)[:, 2:3]).sum(1) == 3,
    "read at its place": lambda m: np.take_along_axis(m, np.argmax(m, 1)[:, None], 1)[:, 0] == m.max(1),
    "read in order": lambda m: np.take_along_axis(m, np.argsort(m, 1), 1) == np.sort(m, 1),
    "one of two": lambda m: (np.maximum(m, 0.2 * m[::-1]) == m) | (np.maximum(m, 0.2 * m[::-1]) == 0.2 * m[::-1]),
    "not below one of two": lambda m: np.maximum(m, m[::-1]) - m >= 0,
    "clipped": lambda m: np.clip(m, -1e9, 1e9) == m,
    "squares": lambda m: (m * m == (m * m).max(1, keepdims=True)).sum(1) == 1,
    "the size": lambda m: np.where(m > 0, m, -m) == np.abs(m),
    "the spread": lambda m: m - m.min(1, keepdims=True) <= np.ptp(m, axis=1)[:, None],
    "above the whole part": lambda m: m - np.floor(m) >= 0,
}


def inputs(dtype="float64", seed=0, rows=ROWS):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape).astype(dtype) for shape in ((rows, COLUMNS), (rows, COLUMNS), COLUMNS, COLUMNS)]


def numbers(value, claim):
    return lambda *arrays: claim(value(*arrays)) * 1.0


def exact(backend):
    """The backend is there, and has float64."""
    library = pytest.importorskip(backend)
    if backend == "jax":
        library.config.update("jax_enable_x64", True)


def assert_true(f, value, claim, *arrays):
    assert np.all(claim(value(*arrays))), "NumPy itself rounds so that it does not hold"
    assert np.all(np.asarray(f(*arrays)) == 1)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("claim", TRUE.values(), ids=TRUE)
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_what_is_true_of_choices(value, claim, dtype):
    f = rc.compile(numbers(value, claim), "numpy", fused=False)
    assert_true(f, value, claim, *inputs(dtype))


@pytest.mark.parametrize("claim", TRUE.values(), ids=TRUE)
@pytest.mark.parametrize("value", [VALUES["three terms"], VALUES["product"]], ids=["sum", "product"])
def test_beside_derivatives(value, claim):
    """Derivatives need the same values, in yet other forms."""
    arrays = inputs()

    def f(*arrays):
        m = value(*arrays)
        return (np.tanh(m) * m.max(1, keepdims=True)).sum(), claim(m) * 1.0

    (_, held), slopes = rc.value_and_grad(f, argnums=(0, 1, 2, 3), has_aux=True)(*arrays)
    assert np.all(held == 1) and all(np.all(np.isfinite(slope)) for slope in slopes)
    _, moved = rc.jvp(numbers(value, claim), tuple(arrays), tuple(np.ones_like(a) for a in arrays))
    assert np.all(moved == 0)


@pytest.mark.parametrize("claim", ["one is the largest", "no distance from itself", "read in order", "one of two"])
@pytest.mark.parametrize("value", ["three terms", "product", "tenths"])
@pytest.mark.parametrize("backend", ["torch", "jax", "fused"])
def test_on_every_road(backend, value, claim):
    value, claim = VALUES[value], TRUE[claim]
    arrays = inputs("float32")
    if backend == "fused":
        pytest.importorskip("numba")
        f = rc.compile(numbers(value, claim), "numpy", fused=True)
    else:
        exact(backend)
        f = rc.compile(numbers(value, claim), backend)
    assert_true(f, value, claim, *arrays)


@pytest.mark.thorough
@pytest.mark.parametrize("claim", TRUE.values(), ids=TRUE)
@pytest.mark.parametrize("backend", ["torch", "jax", "fused"])
def test_on_every_road_all_of_them(backend, claim):
    exact("numba" if backend == "fused" else backend)
    for value, dtype in zip(VALUES.values(), cycle(("float32", "float64"))):
        options: dict[str, Any] = {"fused": True} if backend == "fused" else {}
        f = rc.compile(numbers(value, claim), "numpy" if backend == "fused" else backend, **options)
        assert_true(f, value, claim, *inputs(dtype, rows=300))


# Multiples of what is chosen and of what it is chosen from, added up: a product that is not rounded before it is added
# to another leaves what was rounded off that one.
MULTIPLES = {
    "of the largest": lambda x, y: 0.3 * (x * y * x).max(1, keepdims=True) - 0.3 * (x * y * x),
    "of one of two": lambda x, y: 0.3 * np.maximum(x * x * y, x) - 0.3 * x,
    "of the size": lambda x, y: np.abs(0.3 * x * y) - 0.3 * x * y,
    "of an input": lambda x, y: (x / 3).max(1, keepdims=True) - x / 3,
    "of the opposite": lambda x, y: (0.1 * ((y - x) * (x + y))).max(1, keepdims=True) + 0.1 * ((x - y) * (x + y)),
    "a whole part": lambda x, y: x * y - np.floor(x * y),
    "a power": lambda x, y: (x**3).max(1, keepdims=True) - x**3,
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("value", MULTIPLES.values(), ids=MULTIPLES)
@pytest.mark.parametrize("backend", ["torch", "jax", "fused"])
def test_multiples_of_choices_are_not_negative(backend, value, dtype):
    exact("numba" if backend == "fused" else backend)
    y = np.random.default_rng(0).integers(1, 50, (60, 6)).astype(dtype)
    options: Any = {"fused": True} if backend == "fused" else {}
    f = rc.compile(value, "numpy" if backend == "fused" else backend, **options)
    assert np.all(value(1 / y, y) >= 0) and np.all(np.asarray(f(1 / y, y)) >= 0)


TEXTS = [
    "h[i,k] = 1/7 (x[i,k] - 1[i] b[k]); y[i] = 1[k] (h[i,k] == 1[k] max[l](h[i,l]))",
    "h[i,k] = x[i,k] - 1[i] b[k] c[k] - 0.1 z[i,k]; y[i] = 1[k] (max[l](h[i,l]) 1[k] - h[i,k] == 0)",
    "h[k,i] = 0.3 x[i,k] b[k] z[i,k]; y[i] = 1[k] (h[k,i] >= 1[k] max[l](h[l,i]))",
    "h[i,k] = sin(x[i,k])/3 - 1[i] b[k]; y[i] = 1[k] (h[i,k] <= 1[k] min[l](h[i,l]))",
]


@pytest.mark.parametrize("backend", [None, "numpy", "torch", "jax"])
@pytest.mark.parametrize("text", TEXTS)
def test_formulas(text, backend):
    """One entry is the largest, or the smallest; interpreted and compiled."""
    formula = rc.parse(text)
    x, z, b, c = inputs()
    given = {
        n: a for n, a in {"x": x, "z": z, "b": b, "c": c}.items() if n in {v.name for v in formula_inputs(formula)}
    }
    if backend is None:
        assert np.all(formula(**given) == 1)
    else:
        exact(backend)
        assert np.all(np.asarray(formula.compile(backend)(**given)) == 1)


def formula_inputs(formula):
    from ricci.expr import variables

    return variables(formula.expr)


def test_the_checks_can_fail(monkeypatch):
    """Without the pass, sums and products are computed as they stand, and not all of this is true."""
    rc.cache_clear()  # or plans with it would be found
    monkeypatch.setattr(prepared, "with_choices", lambda roots, nodes=None: list(roots))
    broken = 0
    for value in VALUES.values():
        for claim in ("transposed", "no distance from itself", "read in order"):
            f = rc.compile(numbers(value, TRUE[claim]), "numpy", fused=False)
            broken += not np.all(f(*inputs()) == 1)
    rc.cache_clear()
    assert broken


# The pass


def held(*roots):
    return [node for node in topological(*with_choices(roots)) if isinstance(node, Elementwise) and node.op is HELD]


def test_a_value_in_one_form_stays_as_it_is():
    x, y = variable("x", (4, 5)), variable("y", (4, 5))
    m = x - y
    plain = [r.max_(m, (1,)), e.maximum(m, 0), e.exp(m) * y, e.equal(m, x * y)]
    assert with_choices(plain) == plain
    assert with_choices([m + x * y, e.exp(m)]) == [m + x * y, e.exp(m)], "nothing chooses"


def test_a_value_in_several_forms_is_held_once():
    x, y = variable("x", (4, 5)), variable("y", (4, 5))
    m, p = x - y, x * y * e.exp(x)
    top = r.max_(m, (1,))
    assert len(held(top, m - e.sin(y))) == 1
    assert len(held(top, 2 * m)) == 1
    assert not held(top, 3 * m), "which is a multiple of the very node"
    assert len(held(r.max_(0.3 * p, (0,)), p * e.cos(y))) == 1
    assert len(held(r.max_(p), p * e.cos(y))) == 1, "over all axes, which are merged"
    assert len(held(top, r.sort(p, (1,)), m + 1, p * e.sin(y))) == 2
    assert len(held(r.max_(m - e.sin(y), (1,)), top, m - e.sin(y) + p)) == 2, "one within the other"


def test_multiples_are_exact():
    """What is held is the value with its number, and the same multiple elsewhere is it."""
    x, y = variable("x", (4, 5)), variable("y", (4, 5))
    for c in (2, -4, 0.125):
        m = c * (x - y)
        (node,) = held(r.max_(m, (1,)), e.sin(x) - m)
        difference = with_choices([r.max_(m, (1,)), e.sin(x) - m])[1]
        assert isinstance(difference, Sum) and set(difference.coefs) == {1, -1} and node in difference.args


def test_long_programs_take_time_in_proportion():
    """Values within values within values: each core is looked for where it may be, and nowhere else."""
    x = variable("x", (3,))
    for count in (50, 200):
        y = x
        for k in range(count):
            y = y + e.maximum(0.1 * y, e.sin(y + k))
        calls = []
        table = choices._Table.found

        def counted(self, node, cores, calls=calls, table=table):
            calls.append(len(cores))
            return table(self, node, cores)

        choices._Table.found = counted
        try:
            with_choices([y])
        finally:
            choices._Table.found = table
        assert sum(calls) < 60 * count
