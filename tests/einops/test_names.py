"""Scopes, signatures and tables of shapes, through the functions themselves: every one reports its axes."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ricci as rc
from ricci.einops import rearranging, watch
from ricci.einops.watch import WATCHERS
from ricci.errors import AxisSizeError, AxisSpaceError

PLACES = np.array([1, 0])


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    yield
    assert WATCHERS.get() == () and not watch.OPEN


def line(marker: str) -> str:
    """``test_names.py:12`` for the line of the calling test that ends with the comment ``marker``."""
    lines, first = inspect.getsourcelines(inspect.currentframe().f_back.f_code)  # type: ignore[union-attr]
    (found,) = [number for number, text in enumerate(lines, first) if text.rstrip().endswith(f"  # {marker}")]
    return f"test_names.py:{found}"


# Each takes an array of shape (3, 4) whose first axis it calls by the name that is asked for.
CALLS: dict[str, Callable[[Any, str], Any]] = {
    "rearrange": lambda x, t: rc.rearrange(x, f"{t} (h d) -> h {t} d", h=2),
    "reduce": lambda x, t: rc.reduce(x, f"{t} d -> d", "max"),
    "reduce by a function": lambda x, t: rc.reduce(x, f"{t} d -> {t}", lambda y, axes: y.sum(axes[0])),
    "argmax": lambda x, t: rc.reduce(x, f"{t} d -> {t}", "argmax"),
    "repeat": lambda x, t: rc.repeat(x, f"{t} d -> {t} d n", n=2),
    "einsum": lambda x, t: rc.einsum(f"{t} d, d e -> {t} e", x, like(x, np.ones((4, 2), np.float32))),
    "shortest": lambda x, t: rc.einsum(f"{t} d -> {t}", x, op="add", reduce="min"),
    "pack": lambda x, t: rc.pack([x, x], f"{t} *"),
    "unpack": lambda x, t: rc.unpack(x, [(1,), (3,)], f"{t} *"),
    "gather": lambda x, t: rc.gather(f"{t} v, b -> {t} b", x, like(x, PLACES)),
    "scatter": lambda x, t: rc.scatter(f"{t} d, d -> {t} v", x, like(x, np.arange(4)), v=5),
    "join": lambda x, t: rc.rearrange([x, x], f"{t} d, {t} e -> (d + e) {t}"),
    "split": lambda x, t: rc.rearrange(x, f"{t} (d + e) -> {t} d, e {t}", d=1),
    "list": lambda x, t: rc.rearrange([x, x], f"l {t} d -> {t} (l d)"),
    "inverse": lambda x, t: rc.inverse(f"d {t} -> {t} d")(x),
}
DROP_IN: dict[str, Callable[[Any, str], Any]] = {
    "einops.rearrange": lambda x, t: __import__("ricci.einops").einops.rearrange(x, f"{t} d -> d {t}"),
    "einops.einsum": lambda x, t: __import__("ricci.einops").einops.einsum(x, f"{t} d -> {t}"),
}
KINDS = ["numpy", "torch", "jax", "expression"]


def like(x: Any, other: np.ndarray) -> Any:
    if type(x).__module__ == "torch":
        return __import__("torch").from_numpy(other)
    return other


def made(kind: str, *shape: int) -> Any:
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    if kind == "torch":
        return pytest.importorskip("torch", reason="torch is not installed").from_numpy(x)
    if kind == "jax":
        return pytest.importorskip("jax", reason="jax is not installed").numpy.asarray(x)
    return rc.variable(f"x[{','.join('tdab'[: len(shape)])}]", x) if kind == "expression" else x


def skip_functions_of(kind: str, name: str) -> None:
    if kind == "expression" and name == "reduce by a function":
        pytest.skip("the function is one of arrays")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*CALLS, *DROP_IN])
def test_every_function_reports(name, kind):
    skip_functions_of(kind, name)
    call, x = {**CALLS, **DROP_IN}[name], made(kind, 3, 4)
    call(x, "t")  # in no scope, so that tables have it
    with rc.axes() as ax:
        call(x, "t")
        assert ax.t == 3
    with rc.axes(t=5) as ax, pytest.raises(AxisSizeError, match=r"Axis 't' has size 3 in .* \(test_names.py:\d+\)"):
        call(x, "t")
    table = rc.shapes(call)(x, "t")
    (row,) = table.rows
    assert row.sizes["t"] == 3 and row.line.startswith("test_names.py:")
    call(x, "t")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CALLS)
def test_two_declared_spaces_do_not_mix(name, kind):
    skip_functions_of(kind, name)
    with rc.axes("t s"):
        x = rc.rearrange(made(kind, 4, 3), "c t -> t c")
        with pytest.raises(AxisSpaceError, match=r"Axis 's' in .*test_names.py"):
            CALLS[name](x, "s")
        CALLS[name](x, "t")
    with rc.axes("t"):  # only declared names are spaces
        CALLS[name](rc.rearrange(made(kind, 4, 3), "c t -> t c"), "r")


@pytest.mark.parametrize("kind", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("name", ["rearrange", "einsum", "join", "pack", "unpack", "gather", "split", "repeat", "list"])
def test_results_have_the_names_of_the_pattern(name, kind):
    with rc.axes("t s"):
        found = CALLS[name](made(kind, 3, 4), "t")
        result = found[0] if isinstance(found, (list, tuple)) else found
        order, at = len(result.shape), list(result.shape).index(3)
        names = [f"k{n}" if n != at else "s" for n in range(order)]
        with pytest.raises(AxisSpaceError):
            rc.rearrange(result, f"{' '.join(names)} -> {' '.join(reversed(names))}")


def test_a_conflict_names_both_places():
    with rc.axes(), pytest.raises(AxisSizeError) as raised:
        rc.rearrange(np.ones((2, 3)), "b t -> t b")  # first
        rc.einsum("b t, t e -> b e", np.ones((2, 4)), np.ones((4, 5)))  # second
    assert str(raised.value).startswith(
        f"Axis 't' has size 4 in einsum 'b t, t e -> b e' ({line('second')}) and 3 in rearrange 'b t -> t b' "
        f"({line('first')})."
    )
    with rc.axes(), pytest.raises(AxisSizeError) as raised:
        rc.pack([np.ones((2, 3))], "b *")  # first use
        rc.gather("v, b -> b", np.ones(3), np.arange(3))  # second use
    assert line("first use") in str(raised.value) and line("second use") in str(raised.value)


def test_expressions_named_otherwise_than_the_pattern():
    x = rc.variable("x[t,d]")
    with rc.axes("t s"):
        with pytest.raises(AxisSpaceError, match="by the expression itself"):
            rc.rearrange(x, "s d -> d s")
        with pytest.raises(AxisSpaceError, match="by the expression itself"):
            rc.einsum("s d, d e -> s e", x, rc.variable("w[d,e]"))
        y = rc.rearrange(x, "t d -> d t")
        assert y.indices == ("d", "t")
        rc.rearrange(rc.exp(y), "d t -> t d")  # names go through functions
        with pytest.raises(AxisSpaceError):
            rc.rearrange(rc.exp(y), "d s -> s d")
    with rc.axes("t"):
        rc.rearrange(x, "u d -> d u")


def test_expressions_of_known_sizes():
    with rc.axes(d=4) as ax:
        rc.rearrange(rc.variable("x[t,d]", np.ones((3, 4))), "t d -> d t")
        assert ax.t == 3
        with pytest.raises(AxisSizeError, match="Axis 't' has size 5"):
            rc.reduce(rc.variable("x[t,d]", np.ones((5, 4))), "t d -> t", "sum")


def test_signatures():
    @rc.signature("b t d, d e -> b t e")
    def project(x, w, wrong=False):
        return rc.einsum("b t d, e d -> b t e" if wrong else "b t d, d e -> b t e", x, w)

    for kind in ("numpy", "torch", "jax"):
        assert tuple(project(made(kind, 2, 3, 4), made(kind, 4, 4)).shape) == (2, 3, 4)
        with pytest.raises(AxisSpaceError):
            project(made(kind, 2, 3, 4), made(kind, 4, 4), wrong=True)
        with pytest.raises(rc.ShapeError, match="axis 'd'"):
            project(made(kind, 2, 3, 4), made(kind, 5, 4))
    x, w = rc.variable("x[b,t,d]"), rc.variable("w[d,e]")
    assert project(x, w).indices == ("b", "t", "e")
    with pytest.raises(AxisSpaceError):
        project(x, w, wrong=True)
    rc.signature.enabled = False
    try:
        project(made("numpy", 2, 3, 4), made("numpy", 4, 4), wrong=True)
    finally:
        rc.signature.enabled = True


def test_torch_layers_report():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from ricci.einops.layers.torch import EinMix, Rearrange, Reduce, Repeat

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Sequential(Rearrange("b (t d) -> b t d", d=4), Reduce("b t d -> b t", "mean"))
            self.second = Repeat("b t -> b t n", n=2)
            self.third = EinMix("b t n -> b t m", weight_shape="n m", n=2, m=3)

        def forward(self, x):
            return rc.rearrange(self.third(self.second(self.first(x))), "b t m -> b (m t)")

    model = Model()
    table = rc.shapes(model)(torch.ones(2, 12))
    assert table.result.shape == (2, 9)
    patterns = [row.pattern for row in table.rows]
    assert patterns[:3] == ["b (t d) -> b t d", "b t d -> b t", "b t -> b t n"] and patterns[-1] == "b t m -> b (m t)"
    assert table.rows[0].sizes == {"b": 2, "t": 3, "d": 4} and len(patterns) >= 5
    assert all(row.line.startswith("test_names.py:") for row in table.rows)
    with rc.axes(t=4), pytest.raises(AxisSizeError, match="Axis 't' has size 3"):
        model(torch.ones(2, 12))
    assert model(torch.ones(2, 8)).shape == (2, 6)


# Scopes come and go


def test_scopes_within_scopes():
    with rc.axes("t s", d=4) as outer:
        with rc.axes(h=2) as inner:
            x = rc.rearrange(np.ones((3, 8)), "t (h d) -> t h d", d=4)
            assert dict(inner) == {"d": 4, "h": 2, "t": 3}
            with pytest.raises(AxisSpaceError):
                rc.rearrange(x, "s h d -> h s d")
        assert "h" not in outer and outer.t == 3
        rc.rearrange(np.ones((3, 5)), "t h -> h t")
        with rc.axes(inherit=False):
            rc.rearrange(np.ones((7, 9)), "t d -> d t")


def test_an_error_leaves_nothing_behind():
    with rc.axes() as ax:
        for call in (
            lambda: rc.rearrange(np.ones((3, 4)), "t (h d) -> t h d", h=3),
            lambda: rc.einsum("t d, d d d -> t", np.ones((3, 4)), np.ones((4, 4))),
            lambda: rc.gather("t v, b -> t b", np.ones((3, 4)), np.array([4])),
            lambda: rc.unpack(np.ones((3, 4)), [(1,)], "t *"),
            lambda: rc.reduce(np.ones((3, 0)), "t d -> t", "max"),
        ):
            with pytest.raises(rc.EinopsError):
                call()
        assert dict(ax) == {}
        rc.rearrange(np.ones((5, 6)), "t d -> d t")
    with pytest.raises(ZeroDivisionError), rc.axes(t=1):
        _ = 1 / 0
    rc.rearrange(np.ones((5, 6)), "t d -> d t")


def test_calls_are_looked_up_again_after_a_scope(monkeypatch):
    x = np.ones((3, 4))
    with rc.axes():
        rc.rearrange(x, "t d -> d t")
    rc.rearrange(x, "t d -> d t")
    monkeypatch.setattr(rearranging, "first", lambda *_: pytest.fail("not looked up"))
    assert rc.rearrange(x, "t d -> d t").shape == (4, 3)
    assert rc.rearrange(np.ones((5, 2)), "t d -> d t").shape == (2, 5)
    with rc.axes(), pytest.raises(pytest.fail.Exception, match="not looked up"):  # in a scope every call is seen
        rc.rearrange(x, "t d -> d t")


def test_a_scope_is_of_its_thread():
    entered, done, errors = threading.Event(), threading.Event(), []

    def free() -> None:
        entered.wait(10)
        try:
            for size in (2, 3, 4):
                for call in CALLS.values():
                    call(np.ones((size, 4)), "t")
        except Exception as error:
            errors.append(error)
        done.set()

    thread = threading.Thread(target=free)
    thread.start()
    with rc.axes(t=3) as ax:
        entered.set()
        assert done.wait(30)
        assert dict(ax) == {"t": 3}
        with pytest.raises(AxisSizeError):
            rc.rearrange(np.ones((2, 4)), "t d -> d t")
    thread.join()
    assert errors == []


def test_tasks_have_scopes_of_their_own():
    async def task(size: int) -> dict:
        with rc.axes() as ax:
            for _ in range(3):
                rc.rearrange(np.ones((size, 4)), "t d -> d t")
                await asyncio.sleep(0)
                rc.einsum("t d -> t", np.ones((size, 4)))
                with pytest.raises(AxisSizeError):
                    rc.reduce(np.ones((size + 1, 4)), "t d -> d", "sum")
            return dict(ax)

    async def together() -> list:
        return await asyncio.gather(*[task(size) for size in range(1, 6)])

    assert asyncio.run(together()) == [{"t": size, "d": 4} for size in range(1, 6)]


def test_results_are_the_same_in_a_scope():
    x = np.random.default_rng(1).normal(size=(3, 4))
    for name, call in CALLS.items():
        alone = call(x, "t")
        with rc.axes("t d"):
            watched = call(x, "t")
        for one, other in zip(*[found if isinstance(found, list) else [found] for found in (alone, watched)]):
            parts = zip(one, other) if name == "pack" else [(one, other)]
            for a, b in parts:
                np.testing.assert_array_equal(a, b)
