"""Movements of formulas: values, derivatives to second order, conditions on sizes, and what they compile to."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ricci as rc
from ricci.errors import AxisError, InputError, ShapeError
from ricci.expr import check, topological
from ricci.user.formula_patterns import FORMULA as B

jax = pytest.importorskip("jax", reason="jax is not installed: pip install jax to compare derivatives with it")
jnp, jsp = jax.numpy, jax.scipy.special


@pytest.fixture(scope="module", autouse=True)
def in_double_precision() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def close(found: Any, wanted: Any) -> None:
    wanted = np.asarray(wanted)
    assert np.shape(found) == wanted.shape
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-9, atol=1e-9)


def valued(y: rc.Formula, inputs: dict[str, np.ndarray], wanted: Any) -> None:
    """The value, interpreted and compiled, and that the core is well formed."""
    for node in topological(y.expr):
        check(node)
    assert len(set(y.indices)) == y.order
    close(y(**inputs), wanted)
    close(y.compile("numpy")(**inputs), wanted)


def agrees(build: Callable, reference: Callable, *arrays: np.ndarray, known: bool = False) -> None:
    """Value, Jacobian in both modes, and Hessian of a nonlinear function, against JAX, by every operand."""
    inputs = dict(zip("xyz", arrays, strict=False))
    texts = [f"{name}[{','.join('abcdefgh'[: a.ndim])}]" for name, a in inputs.items()]
    operands = [rc.variable(text, a if known else None) for text, a in zip(texts, arrays, strict=True)]
    y = build(*operands)
    given = {} if known else inputs
    valued(y, given, reference(*arrays))
    total = rc.sin(y).sum() if y.order else rc.sin(y)
    for k, name in enumerate(inputs):
        jacobian = jax.jit(jax.jacobian(reference, argnums=k))(*arrays)
        for mode in ("forward", "reverse"):
            valued(y.diff(name, mode=mode), given, jacobian)
        hessian = jax.jit(jax.hessian(lambda *a: jnp.sin(reference(*a)).sum(), argnums=k))(*arrays)
        valued(total.diff(name, name, mode="reverse"), given, hessian)


A, C, D = normal(2, 6, 3), normal(2, 4, 3, seed=1), normal(3, 3)
EMPTY, UNIT = normal(2, 0, 3), normal(1, 4, 1)


def split(x: rc.Formula) -> rc.Formula:
    a, b, c = B.shape(x)
    return B.reshape(x, (a, b // 2, 2, c))


def merged(x: rc.Formula) -> rc.Formula:
    a, b, c = B.shape(x)
    return B.reshape(x, (a, b * c))


def with_axes(x: rc.Formula, *axes: Any) -> rc.Formula:
    """Reshaped: a number k is axis k of the old ones, "1" a new unit axis."""
    return B.reshape(x, [1 if axis == "1" else B.shape(x)[axis] for axis in axes])


MOVES: dict[str, tuple] = {
    "split": (split, lambda x: x.reshape(*x.shape[:1], x.shape[1] // 2, 2, *x.shape[2:]), A),
    "split of nothing": (split, lambda x: x.reshape(2, 0, 2, 3), EMPTY),
    "merge": (merged, lambda x: x.reshape(x.shape[0], -1), A),
    "merge of nothing": (merged, lambda x: x.reshape(2, 0), EMPTY),
    "merge of units": (merged, lambda x: x.reshape(1, 4), UNIT),
    "split, permuted, merged": (
        lambda x: B.reshape(
            B.transpose(split(x), (2, 0, 3, 1)), (2 * B.shape(x)[0], B.shape(x)[1] // 2 * B.shape(x)[2])
        ),
        lambda x: x.reshape(2, 3, 2, 3).transpose(2, 0, 3, 1).reshape(4, 9),
        A,
    ),
    "there and back": (lambda x: B.reshape(split(x), B.shape(x)), lambda x: x, A),
    "back and there": (lambda x: B.reshape(merged(x), B.shape(x)), lambda x: x, A),
    "all in one": (lambda x: B.reshape(x, (math.prod(B.shape(x)),)), lambda x: x.reshape(-1), A),
    "unit axes": (lambda x: with_axes(x, "1", 0, 1, "1", 2), lambda x: x[None, :, :, None], A),
    "a scalar": (lambda x: B.reshape(x, (1, 1)), lambda x: x.reshape(1, 1), normal()),
    "transpose": (lambda x: B.transpose(x, (2, 0, 1)), lambda x: x.transpose(2, 0, 1), A),
    "transpose of nothing": (lambda x: B.transpose(x, (2, 0, 1)), lambda x: x.transpose(2, 0, 1), EMPTY),
    "expand": (
        lambda x: B.expand(with_axes(x, 0, "1", 1, 2), (B.shape(x)[0], 4, *B.shape(x)[1:])),
        lambda x: jnp.broadcast_to(x[:, None], (2, 4, 6, 3)),
        A,
    ),
    "expand to nothing": (
        lambda x: B.expand(with_axes(x, "1", 0), (0, B.shape(x)[0])),
        lambda x: jnp.broadcast_to(x, (0, 3)),
        normal(3),
    ),
    "slice": (lambda x: B.slice(x, 1, 1, 4), lambda x: x[:, 1:4], A),
    "slice of one": (lambda x: B.slice(x, 1, 2, 3), lambda x: x[:, 2:3], A),
    "slice of none": (lambda x: B.slice(x, 1, 2, 2), lambda x: x[:, 2:2], A),
    "slice of all": (lambda x: B.slice(x, 1, 0, B.shape(x)[1]), lambda x: x, A),
    "the end": (lambda x: B.slice(x, 1, 2, B.shape(x)[1]), lambda x: x[:, 2:], A),
    "slice of a unit": (lambda x: B.slice(x, 0, 0, 1), lambda x: x, UNIT),
    "stack": (lambda x, y: B.stack([x, y]), lambda x, y: jnp.stack([x, y]), A, normal(2, 6, 3, seed=2)),
    "stack of one": (lambda x: B.stack([x]), lambda x: x[None], A),
    "stack of one thrice": (lambda x: B.stack([x, x, x]), lambda x: jnp.stack([x, x, x]), A),
    "stack of scalars": (lambda x, y: B.stack([x, y]), lambda x, y: jnp.stack([x, y]), normal(), normal(seed=1)),
    "concat": (lambda x, y: B.concat([x, y], 1), lambda x, y: jnp.concatenate([x, y], 1), A, C),
    "concat with nothing": (lambda x, y: B.concat([x, y], 1), lambda x, y: jnp.concatenate([x, y], 1), EMPTY, C),
    "concat of units": (
        lambda x, y: B.concat([x, y, x], 0),
        lambda x, y: jnp.concatenate([x, y, x]),
        normal(1, 2),
        normal(1, 2, seed=1),
    ),
    "concat and split": (
        lambda x, y: B.slice(B.concat([x, y], 1), 1, B.shape(x)[1], B.shape(x)[1] + B.shape(y)[1]),
        lambda x, y: y,
        A,
        C,
    ),
    "diagonal": (lambda x: B.contract([x], ["ii"], "i"), jnp.diagonal, D),
    "trace": (lambda x: B.contract([x], ["ii"], ""), jnp.trace, D),
    "contraction": (
        lambda x, y: B.contract([x, y], ["bic", "bjc"], "jbi"),
        lambda x, y: jnp.einsum("bic,bjc->jbi", x, y),
        A,
        C,
    ),
    "contraction over nothing": (
        lambda x, y: B.contract([x, y], ["bic", "bjc"], "bj"),
        lambda x, y: jnp.einsum("bic,bjc->bj", x, y),
        EMPTY,
        C,
    ),
    "composite contraction": (
        lambda x, y: B.contract([split(x), y], [(0, 1, 2, 3), (0, "k", 3)], (2, "k", 1)),
        lambda x, y: jnp.einsum("bgic,bkc->ikg", x.reshape(2, 3, 2, 3), y),
        A,
        C,
    ),
}


@pytest.mark.parametrize("known", [False, True], ids=["symbolic", "known"])
@pytest.mark.parametrize("case", MOVES)
def test_movements(case, known):
    build, reference, *arrays = MOVES[case]
    agrees(build, reference, *arrays, known=known)


@pytest.mark.parametrize(
    "shape, other",
    [
        ((6, 4), (2, 12)),
        ((4, 6), (2, 2, 3, 2)),
        ((2, 6, 4), (4, 3, 4)),
        ((1, 6, 1), (3, 1, 2)),
        ((12,), (1, 3, 4, 1)),
        ((2, 0), (0, 5)),
        ((), ()),
        ((1, 1), ()),
        ((2, 3, 4), (24,)),
    ],
)
def test_reshapes_through_a_common_refinement(shape, other):
    agrees(lambda x: B.reshape(x, other), lambda x: x.reshape(other), normal(*shape), known=True)


def test_the_check_of_derivatives_can_fail():
    for build, reference in [
        (lambda x: B.slice(x, 1, 1, 4), lambda x: x[:, 0:3]),
        (lambda x: rc.stop_gradient(B.slice(x, 1, 1, 4)), lambda x: x[:, 1:4]),
    ]:
        with pytest.raises(AssertionError):
            agrees(build, reference, A)


REDUCTIONS: dict[str, Callable] = {
    **{name: getattr(jnp, name) for name in ("sum", "mean", "max", "min", "prod", "var", "std")},
    "logsumexp": jsp.logsumexp,
    "norm": lambda x, axis: jnp.sqrt((x**2).sum(axis)),
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("axes", [(1,), (0, 2), (0, 1, 2)])
def test_reductions(name, axes):
    agrees(lambda x: B.reduce(x, name, axes), lambda x: REDUCTIONS[name](x, axis=axes), normal(2, 3, 2))


@pytest.mark.parametrize("name", ["any", "all", "argmax", "argmin"])
def test_reductions_without_derivative(name):
    x = np.array([[[0.0, 1.0], [2.0, 0.5]], [[0.0, 0.0], [3.0, 4.0]]])
    symbol = rc.variable("x[a,b,c]")
    valued(B.reduce(symbol, name, (1,)), {"x": x}, getattr(np, name)(x, axis=1))
    flat = getattr(np, name)(x.transpose(1, 2, 0).reshape(2, 4), axis=1)
    valued(B.reduce(symbol, name, (2, 0)), {"x": x}, flat)


def test_pooling_with_names():
    x = rc.variable("x[h,c]")
    h, c = B.shape(x)
    y = B.named(B.reduce(B.reshape(x, (h // 2, 2, c)), "max", (1,)), ("h", "c"))
    assert y.indices == ("h", "c")
    valued(y, {"x": normal(6, 3)}, normal(6, 3).reshape(3, 2, 3).max(1))


@pytest.mark.parametrize(
    "name, reference",
    [
        ("add", jnp.add),
        ("subtract", jnp.subtract),
        ("multiply", jnp.multiply),
        ("divide", jnp.divide),
        ("maximum", jnp.maximum),
        ("minimum", jnp.minimum),
        ("logaddexp", jnp.logaddexp),
        ("hypot", jnp.hypot),
    ],
)
def test_elementwise(name, reference):
    agrees(lambda x, y: B.elementwise(name, x, y), reference, normal(2, 3), normal(2, 3, seed=1))
    agrees(lambda x: B.elementwise(name, x, 2.5), lambda x: reference(x, 2.5), normal(2, 3))


def test_shortest_paths():
    """An elementwise operation and a reduction other than the product and the sum: min-plus."""
    agrees(
        lambda x, y: B.reduce(
            B.elementwise(
                "add",
                B.expand(with_axes(x, 0, 1, "1"), (*B.shape(x), B.shape(y)[1])),
                B.expand(with_axes(y, "1", 0, 1), (B.shape(x)[0], *B.shape(y))),
            ),
            "min",
            (1,),
        ),
        lambda x, y: (x[:, :, None] + y[None]).min(1),
        normal(2, 3),
        normal(3, 4),
    )


# Gather and scatter

PLACES = np.array([[1, 0, 3], [3, 3, 2]])
OTHER = np.array([[0, 2, 2], [1, 0, 1]])


@pytest.mark.parametrize("at", [PLACES, PLACES.astype(np.int32), PLACES[:, :0]])
def test_gather(at):
    agrees(lambda x: B.gather(x, "vd", [at], ["bt"], "btd"), lambda x: x[at], normal(4, 3))
    agrees(lambda x: B.gather(x, "vd", [at], ["bt"], "bd"), lambda x: x[at].sum(1), normal(4, 3))


def test_gather_with_shared_axes():
    agrees(
        lambda x: B.gather(x, "bvd", [PLACES], ["bt"], "btd"),
        lambda x: jnp.take_along_axis(x, PLACES[:, :, None], 1),
        normal(2, 4, 3),
    )


def test_gather_of_two_axes():
    agrees(
        lambda x: B.gather(x, "vwd", [PLACES, OTHER], ["bt", "bt"], "dtb"),
        lambda x: x[PLACES, OTHER].transpose(2, 1, 0),
        normal(4, 3, 2),
    )
    agrees(
        lambda x: B.gather(x, "vw", [PLACES[0], OTHER[0]], "st", "st"),
        lambda x: x[PLACES[0][:, None], OTHER[0][None]],
        normal(4, 3),
    )


def test_scatter():
    agrees(
        lambda x: B.scatter(x, "btd", [PLACES], ["bt"], "vd", {"v": 5}),
        lambda x: 0 + jnp.zeros((5, 3)).at[PLACES].add(x),
        normal(2, 3, 3),
    )
    agrees(
        lambda x: B.scatter(x, "btd", [PLACES], ["bt"], "bvd", {"v": 4}),
        lambda x: 0 + jnp.zeros((2, 4, 3)).at[jnp.arange(2)[:, None], PLACES].add(x),
        normal(2, 3, 3),
    )
    agrees(
        lambda x: B.scatter(x, "bt", [PLACES, OTHER], ["bt", "bt"], "vw", {"v": 4, "w": 3}),
        lambda x: 0 + jnp.zeros((4, 3)).at[PLACES, OTHER].add(x),
        normal(2, 3),
    )


def test_scatter_is_the_transpose_of_gather():
    table = rc.variable("x[v,d]")
    read = B.gather(table, "vd", [PLACES], ["bt"], "btd")
    back = rc.pullback(read, "x", rc.variable("w[b,t,d]"))
    written = B.scatter(rc.variable("w[b,t,d]"), "btd", [PLACES], ["bt"], "vd", {"v": B.shape(table)[0]})
    assert back.expr is written.expr


def test_indices_that_are_formulas():
    table, at = rc.variable("x[v,d]"), rc.variable("n[b,t]")
    y = B.gather(table, "vd", [at], ["bt"], "btd")
    x = normal(4, 3)
    valued(y, {"x": x, "n": PLACES}, x[PLACES])
    valued(y.diff("x"), {"x": x, "n": PLACES}, jax.jacobian(lambda t: t[PLACES])(x))
    assert str(y) == "x[n[b,t],d]" and rc.parse(str(y)).expr is y.expr
    with pytest.raises(InputError, match="integer tensor"):
        y.diff("n")
    with pytest.raises(AxisError, match="place 4"):
        y(x=x, n=PLACES + 1)
    with pytest.raises(AxisError, match="place 4"):
        y.compile("numpy")(x=x, n=PLACES + 1)


def test_a_place_found_is_an_index():
    agrees(lambda x: B.gather(x, "bv", [B.reduce(x, "argmax", (1,))], "b", "b"), lambda x: x.max(1), normal(3, 4))


def test_an_array_keeps_its_contents_and_its_name():
    places = np.array([1, 0])
    x = rc.variable("x[v]")
    y = B.gather(x, "v", [places], ["b"], "b")
    again = B.gather(x, "v", [places.copy()], ["b"], "b")
    assert y == again
    places[0] = 5
    valued(y + again, {"x": np.array([1.0, 2.0])}, [4.0, 2.0])


# Names


def test_names():
    x = rc.variable("x[h,c]")
    assert B.transpose(x, (1, 0)).indices == ("c", "h")
    assert B.named(x, ("u", "v'")).indices == ("u", "v'")
    assert B.named(x, (None, "i")).indices == ("j", "i")
    assert B.reshape(x, (1, *B.shape(x))).indices[1:] == ("h", "c")
    many = B.reshape(rc.variable("x", np.zeros(1)), (1,) * 60)
    assert len(set(many.indices)) == 60
    for names in (("a",), ("a", "a"), ("a", "1"), ("a", "b c")):
        with pytest.raises(AxisError, match="name"):
            B.named(x, names)


def test_what_it_accepts():
    assert B.accepts(rc.variable("x[i]")) and not B.accepts(np.zeros(2)) and B.is_float(rc.variable("x"))
    assert B.lift(2.0)() == 2.0 and B.lift(np.float32(3))() == 3.0
    x = rc.variable("x[i]")
    assert B.lift(x) is x
    agrees(lambda x: B.contract([x, D], ["bi", "ij"], "bj"), lambda x: x @ D, normal(2, 3))
    agrees(lambda x: B.concat([x, D], 0), lambda x: jnp.concatenate([x, D]), normal(2, 3))


# Sizes


def both(y: rc.Formula) -> list[Callable]:
    return [y, y.compile("numpy"), y.sum().diff("x"), y.diff("x").compile("numpy")]


def test_an_axis_that_does_not_divide_is_an_error_at_the_call():
    x = rc.variable("x[h,c]")
    h, c = B.shape(x)
    y = B.reduce(B.reshape(x, (h // 8, 8, c)), "mean", (1,))
    for f in both(y):
        f(x=normal(16, 3))
        with pytest.raises(
            ShapeError, match=r"Axis 'h' has the size x\.0, .* 8\. The inputs have the shapes x \(13, 3\)"
        ):
            f(x=normal(13, 3))


def test_the_condition_outlives_the_movement():
    """Also where the structure cancels, or the derivative no longer has it."""
    x = rc.variable("x[h]")
    (h,) = B.shape(x)
    y = B.reshape(B.reshape(x, (h // 4, 4)), (h,))
    for f in [*both(y), *both(B.reduce(B.reshape(x, (h // 4, 4)), "sum", (0, 1)))[:1]]:
        f(x=normal(8))
        with pytest.raises(ShapeError, match="Axis 'h'"):
            f(x=normal(9))


def test_splitting_step_by_step_is_splitting_at_once():
    x = rc.variable("x[h]")
    (h,) = B.shape(x)
    steps = B.reshape(B.reshape(x, (h // 4, 4)), (h // 4 // 2, 2, 4))
    at_once = B.reshape(x, (h // 8, 2, 4))
    for y in (steps, at_once, B.reshape(steps, (h // 8, 8)), B.reshape(steps, (h // 4, 4))):
        valued(y, {"x": normal(24)}, normal(24).reshape(y(x=normal(24)).shape))
        with pytest.raises(ShapeError):
            y(x=normal(12))


def test_sums_of_sizes_are_divided():
    x, y = rc.tensors("x[i,j] y[k,j]")
    joined = B.concat([x, y], 0)
    (n, j) = B.shape(joined)
    flat = B.reshape(joined, (n * j,))
    X, Y = normal(3, 2), normal(1, 2)
    for z, shape in ((B.reshape(flat, (n, j)), (4, 2)), (B.reshape(joined, (n // 2, 2, j)), (2, 2, 2))):
        valued(z, {"x": X, "y": Y}, np.concatenate([X, Y]).reshape(shape))
    valued(B.reshape(B.transpose(joined, (1, 0)), (j * n,)), {"x": X, "y": Y}, np.concatenate([X, Y]).T.reshape(8))
    with pytest.raises(ShapeError, match="Axis 'i'"):
        B.reshape(joined, (n // 2, 2, j))(x=X, y=X[:2])


def test_a_size_that_is_asked_for():
    x = rc.variable("x[b,c]")
    y = B.fixed(x, 1, 6)
    for f in (y, y.compile("numpy"), rc.sin(y).sum().diff("x")):
        f(x=normal(2, 6))
        with pytest.raises(ShapeError, match=r"Axis 'c' has the size x\.1 and should have 6"):
            f(x=normal(2, 5))
    valued(B.reshape(y, (B.shape(x)[0], 2, 3)), {"x": normal(4, 6)}, normal(4, 6).reshape(4, 2, 3))
    both_known = B.fixed(y, 0, 4)
    valued(B.reshape(both_known, (2, 2, 2, 3)), {"x": normal(4, 6)}, normal(4, 6).reshape(2, 2, 2, 3))
    valued(B.reshape(both_known, (24,)), {"x": normal(4, 6)}, normal(4, 6).reshape(24))
    known = rc.variable("x[b,c]", normal(2, 6))
    assert B.fixed(known, 1, 6).expr is known.expr
    with pytest.raises(ShapeError, match="should have 5"):
        B.fixed(known, 1, 5)


def test_an_axis_that_must_be_one():
    x = B.fixed(rc.variable("x[b,c]"), 0, 1)
    assert B.shape(x)[0] == 1
    for y, shape in ((B.reshape(x, B.shape(x)[1:]), (3,)), (B.expand(x, (4, B.shape(x)[1])), (4, 3))):
        valued(y, {"x": normal(1, 3)}, np.broadcast_to(normal(1, 3), (4, 3))[: (shape[:-1] or (1,))[0]].reshape(shape))
        with pytest.raises(ShapeError, match="should have 1"):
            y(x=normal(2, 3))
    agrees(lambda x: B.reshape(B.fixed(x, 0, 1), B.shape(x)[1:]), lambda x: x[0], normal(1, 3))


def test_sizes_that_must_agree():
    x, y = rc.tensors("x[i,j] y[k,l]")
    joined = (B.stack([x, y]), B.concat([x, y], 0), B.elementwise("add", x, y), B.elementwise("maximum", x, y))
    for f in [f for z in joined for f in both(z)]:
        for shape in ((2, 1), (2, 4)):
            with pytest.raises(ShapeError, match="takes formulas of one shape"):
                f(x=normal(2, 3), y=normal(*shape))
    for f in both(B.contract([x, y], ["ij", "kj"], "ik")):
        with pytest.raises(ShapeError, match=r"Axis 'j' has size x\.1 in one operand and y\.1"):
            f(x=normal(2, 3), y=normal(2, 1))


def test_slices_are_inside():
    x = rc.variable("x[h]")
    (h,) = B.shape(x)
    y = B.slice(x, 0, 2, h - 1)
    valued(y, {"x": normal(5)}, normal(5)[2:4])
    for f in (B.slice(x, 0, 2, 4), B.slice(x, 0, 2, 4).compile("numpy"), y):
        with pytest.raises(ShapeError, match="no entries from 2 to"):
            f(x=normal(2))
    known = rc.variable("x[h]", normal(5))
    for start, stop in ((-1, 3), (3, 2), (2, 6)):
        with pytest.raises(ShapeError, match="no entries"):
            B.slice(known, 0, start, stop)


# Errors


@pytest.mark.parametrize("shape, other", [((6, 4), (4, 6)), ((6,), (4, 2)), ((6,), (5,)), ((0, 2), (3,)), ((3,), (0,))])
def test_reshapes_that_are_none(shape, other):
    with pytest.raises(ShapeError, match=re.escape(f"the shape {shape} cannot be given the shape {other}")):
        B.reshape(rc.variable("x", normal(*shape)), other)


def test_symbolic_reshapes_that_are_none():
    x = rc.variable("x[h,w]")
    h, w = B.shape(x)
    for other in ((w, h), (h,), (3, 4), (h, w, 2), (h * h,)):
        with pytest.raises(ShapeError, match="cannot be given the shape"):
            B.reshape(x, other)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: B.transpose(x, (0, 0)), AxisError, "each of the 2 axes once"),
        (lambda x: B.expand(x, (3,)), ShapeError, "keeps the number of axes"),
        (lambda x: B.expand(x, (4, 3)), ShapeError, "should have 4"),
        (lambda x: B.stack([]), InputError, "at least one"),
        (lambda x: B.stack([x, D]), ShapeError, "one shape"),
        (lambda x: B.concat([x, B.transpose(x, (1, 0))], 0), ShapeError, "one shape"),
        (lambda x: B.concat([x, B.reduce(x, "sum", (0,))], 0), ShapeError, "one shape"),
        (lambda x: B.reduce(x, "summ", (0,)), InputError, "Did you mean 'sum'"),
        (lambda x: B.reduce(x, "softmax", (0,)), InputError, "not a reduction"),
        (lambda x: B.elementwise("maximums", x, x), InputError, "Did you mean 'maximum'"),
        (lambda x: B.elementwise("exp", x, x), InputError, "two numbers"),
        (lambda x: B.contract([x], ["i"], "i"), AxisError, "2 axes has 1 labels"),
        (lambda x: B.contract([x], ["ij"], "ik"), AxisError, r"\(i, k\): different ones of \(i, j\)"),
        (lambda x: B.contract([x], ["ij"], "ii"), AxisError, "different ones"),
        (lambda x: B.contract([x], ["ii"], "i"), ShapeError, "Axis 'i' has size 2 in one operand and 3"),
        (lambda x: B.gather(x, "vd", [], [], "d"), AxisError, r"one index for each axis.* 0 for the axes \(v\)"),
        (lambda x: B.gather(x, "vd", [PLACES], ["bt"], "vd"), AxisError, "one index for each axis"),
        (lambda x: B.scatter(x, "bd", [[0]], ["b"], "vd", {}), InputError, "list cannot be part"),
        (lambda x: B.scatter(x, "bd", [PLACES[0]], ["b"], "vd", {}), ShapeError, "the size of the axis 'v'"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(rc.variable("x[i,j]", normal(2, 3)))


# What is compiled


@pytest.mark.parametrize(
    "case", ["split", "merge", "split, permuted, merged", "there and back", "unit axes", "expand", "slice", "transpose"]
)
def test_movements_compile_to_views(case):
    build, _, x = MOVES[case]
    f = build(rc.variable("x[a,b,c]")).compile("numpy")
    f(x=x)
    assert not re.search(r"\bc\d+\b|zeros|matmul|einsum|tensordot|multiply|total", f.source), f.source


def test_part_of_an_axis_is_written_as_that_part():
    x = rc.variable("x[i]")
    y = B.concat([x, B.slice(x, 0, 0, 2), x], 0)
    valued(y, {"x": np.array([1.0, 2.0, 3.0])}, [1.0, 2.0, 3.0, 1.0, 2.0, 1.0, 2.0, 3.0])


def test_a_merge_that_is_split_again_is_nothing():
    x = rc.variable("x[a,b,c]")
    assert B.reshape(merged(x), B.shape(x)).expr is x.expr


# Random chains of linear movements


def _split(draw: Callable, x: Any, v: np.ndarray) -> tuple:
    axis = draw(st.integers(0, v.ndim - 1))
    p = draw(st.sampled_from([n for n in (1, 2, 3, max(1, v.shape[axis])) if v.shape[axis] % n == 0]))
    shape, own = list(B.shape(x)), list(v.shape)
    return (
        B.reshape(x, [*shape[:axis], shape[axis] // p, p, *shape[axis + 1 :]]),
        v.reshape([*own[:axis], own[axis] // p, p, *own[axis + 1 :]]),
    )


def _merge(draw: Callable, x: Any, v: np.ndarray) -> tuple:
    first = draw(st.integers(0, v.ndim - 1))
    last = draw(st.integers(first, v.ndim)) if v.ndim else first
    shape, own = B.shape(x), v.shape
    total: Any = 1
    for size in shape[first:last]:
        total = total * size
    return (
        B.reshape(x, (*shape[:first], total, *shape[last:])),
        v.reshape(*own[:first], int(np.prod(own[first:last])), *own[last:]),
    )


def _transpose(draw: Callable, x: Any, v: np.ndarray) -> tuple:
    axes = draw(st.permutations(range(v.ndim)))
    return B.transpose(x, axes), v.transpose(axes)


def _sum(draw: Callable, x: Any, v: np.ndarray) -> tuple:
    axes = tuple(draw(st.sets(st.integers(0, v.ndim - 1), max_size=2)))
    return B.reduce(x, "sum", axes), v.sum(axes)


def _repeat(draw: Callable, x: Any, v: np.ndarray) -> tuple:
    axis, n = draw(st.integers(0, v.ndim)), draw(st.integers(0, 3))
    shape = B.shape(x)
    unit = B.reshape(x, (*shape[:axis], 1, *shape[axis:]))
    return B.expand(unit, (*shape[:axis], n, *shape[axis:])), np.repeat(np.expand_dims(v, axis), n, axis)


def _slice(draw: Callable, x: Any, v: np.ndarray) -> tuple:
    axis = draw(st.integers(0, v.ndim - 1))
    start = draw(st.integers(0, v.shape[axis]))
    stop = draw(st.integers(start, v.shape[axis]))
    end = B.shape(x)[axis] - (v.shape[axis] - stop) if draw(st.booleans()) else stop
    return B.slice(x, axis, start, end), v[(slice(None),) * axis + (slice(start, stop),)]


def _concat(draw: Callable, x: Any, v: np.ndarray) -> tuple:
    axis = draw(st.integers(0, v.ndim - 1))
    n = draw(st.integers(0, v.shape[axis]))
    other, part = B.slice(x, axis, 0, n), v[(slice(None),) * axis + (slice(0, n),)]
    return B.concat([x, 2 * other, x], axis), np.concatenate([v, 2 * part, v], axis)


def _stack(draw: Callable, x: Any, v: np.ndarray) -> tuple:
    factors = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    return B.stack([f * x for f in factors]), np.stack([f * v for f in factors])


def _outer(draw: Callable, x: Any, v: np.ndarray) -> tuple:
    """A product with ones along one axis that it keeps or sums."""
    labels = list(range(v.ndim))
    axis = draw(st.integers(0, v.ndim - 1))
    weights = np.arange(1.0, v.shape[axis] + 1)
    out = draw(st.permutations(labels))[: draw(st.integers(0, v.ndim))]
    return (
        B.contract([x, weights], [labels, [axis]], out),
        np.einsum(v, labels, weights, [axis], list(out)),
    )


STEPS = [_split, _merge, _transpose, _sum, _repeat, _slice, _concat, _stack, _outer]


@given(st.data())
def test_random_chains(data):
    """A chain of linear movements is its own derivative: the Jacobian times the input is the value, in both modes."""
    v = normal(*data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=3), label="shape"))
    known = data.draw(st.booleans(), label="known")
    x = rc.variable(f"x[{','.join('abc'[: v.ndim])}]", v if known else None)
    inputs = {} if known else {"x": v}
    y, wanted = x, v
    for _ in range(data.draw(st.integers(1, 5), label="steps")):
        step = data.draw(st.sampled_from(STEPS), label="step")
        if wanted.ndim and wanted.ndim < 7 and wanted.size < 300:
            y, wanted = step(data.draw, y, wanted)
    valued(y, inputs, wanted)
    for mode in ("forward", "reverse"):
        jacobian = y.diff("x", mode=mode)
        for found in (jacobian(**inputs), jacobian.compile("numpy")(**inputs)):
            assert found.shape == wanted.shape + v.shape
            close(np.tensordot(found, v, v.ndim), wanted)
