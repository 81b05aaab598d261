"""Names of the axes of tensors and patterns: a contradiction is refused, and results carry the names of the pattern."""

from __future__ import annotations

import numpy as np
import pytest

import ricci as rc
import ricci.einops as einops

A = np.arange(120.0).reshape(2, 3, 4, 5) / 7
AT = np.array([1, 0, 1])
x = rc.Tensor(A, axes="b h w c")
m = rc.Tensor(A[0, 0], axes="w c")
AXES = {2: "w c", 4: "b h w c"}

# A call on a tensor, and the names of the result or results; each is also compared with the call on the plain array.
CALLS = {
    "rearrange": (x, lambda t: rc.rearrange(t, "b h w c -> c b (h w)"), ("c", "b", None)),
    "einops.rearrange": (x, lambda t: einops.rearrange(t, "b h w c -> c w h b"), ("c", "w", "h", "b")),
    "as it is": (x, lambda t: rc.rearrange(t, "b h w c -> b h w c"), ("b", "h", "w", "c")),
    "split": (x, lambda t: rc.rearrange(t, "b h (w p) c -> b (h p) w c", p=2), ("b", None, "w", "c")),
    "ellipsis": (x, lambda t: rc.rearrange(t, "b ... c -> c ... b"), ("c", "h", "w", "b")),
    "ellipsis alone": (x, lambda t: rc.reduce(t, "... c -> ...", "sum"), ("b", "h", "w")),
    "reduce": (x, lambda t: rc.reduce(t, "b h w c -> h b", "mean"), ("h", "b")),
    "reduce with sizes": (x, lambda t: rc.reduce(t, "b h (w 2) c -> b h w c", "max"), ("b", "h", "w", "c")),
    "reduce by a function": (x, lambda t: rc.reduce(t, "b h w c -> c", lambda a, axes: a.sum(axes)), ("c",)),
    "repeat": (x, lambda t: rc.repeat(t, "b h w c -> b h w c n", n=2), ("b", "h", "w", "c", "n")),
    "einsum": (m, lambda t: rc.einsum("w c, c k -> k w", t, np.ones((5, 2))), ("k", "w")),
    "einsum of two": (m, lambda t: rc.einsum("w c, w c -> c", t, t), ("c",)),
    "einops.einsum": (m, lambda t: einops.einsum(t, np.ones((5, 2)), "w c, c k -> w k"), ("w", "k")),
    "einsum, max of sums": (m, lambda t: rc.einsum("w c, c -> w", t, np.ones(5), op="add", reduce="max"), ("w",)),
    "pack": (m, lambda t: rc.pack([t, np.ones(4)], "w *")[0], ("w", None)),
    "unpack": (m, lambda t: rc.unpack(t, [(), (2, 2)], "w *"), [("w",), ("w", None, None)]),
    "joining": (m, lambda t: rc.rearrange([t, np.ones((4, 2))], "w c, w k -> w (c + k)"), ("w", None)),
    "splitting": (m, lambda t: rc.rearrange(t, "w (c + k) -> c w, w k", c=2), [("c", "w"), ("w", "k")]),
    "gather": (m, lambda t: rc.gather("w c, t -> t c", t, AT), ("t", "c")),
    "scatter": (m, lambda t: rc.scatter("w c, w -> v c", t, np.array([1, 0, 1, 1]), v=2), ("v", "c")),
    "list": (m, lambda t: rc.rearrange([t, t], "n w c -> c n w"), ("c", "n", "w")),
}


def parts(result):
    return list(result) if isinstance(result, list) else [result]


@pytest.mark.parametrize("name", CALLS)
def test_results_carry_the_names_of_the_pattern(name):
    t, call, names = CALLS[name]
    results = parts(call(t))
    assert [part.axes for part in results] == (names if isinstance(names, list) else [names])
    for part, plain in zip(results, parts(call(t.numpy())), strict=True):
        np.testing.assert_allclose(part.numpy(), plain)


@pytest.mark.parametrize("name", CALLS)
def test_the_same_without_recording(name):
    t, call, names = CALLS[name]
    with rc.no_grad():
        results = parts(call(t))
    assert [part.axes for part in results] == (names if isinstance(names, list) else [names])


@pytest.mark.parametrize("name", CALLS)
def test_gradients_flow_through_names(name):
    t, call, _ = CALLS[name]
    named, plain = rc.Tensor(t.numpy(), axes=t.axes), rc.Tensor(t.numpy())
    for u in (named, plain):
        sum([(part * part).sum() for part in parts(call(u))]).backward()  # pyright: ignore[reportAttributeAccessIssue]
    np.testing.assert_allclose(named.grad.numpy(), plain.grad.numpy())


@pytest.mark.parametrize("name", CALLS)
def test_a_contradiction_is_refused(name):
    """The names of any two axes exchanged, on every call; what the first call has left behind does not let it pass."""
    t, call, _ = CALLS[name]
    call(rc.Tensor(t.numpy()))
    call(t)
    if "ellipsis" in name:
        return
    wrong = list(t.axes)
    wrong[-1], wrong[-2] = wrong[-2], wrong[-1]
    with pytest.raises(rc.AxisSpaceError, match=r"its name is"):
        call(rc.Tensor(t.numpy(), axes=wrong))
    assert not any(any(part.axes) for part in parts(call(rc.Tensor(t.numpy()))))


def test_the_message():
    t = rc.Tensor(A, axes="b w h c")
    with pytest.raises(rc.AxisSpaceError) as caught:
        rc.reduce(t, "b h w c -> b h c", "sum")
    assert str(caught.value) == (
        "reduce calls axis 1 of a tensor 'h', and its name is 'w': the axes are (b, w, h, c).\n"
        "  b h w c -> b h c\n"
        "    ^\n"
        "  Write the pattern with the names that the axes have, or rename them: t.rename(…)."
    )
    assert isinstance(caught.value, ValueError)
    assert rc.reduce(t.rename("b h w c"), "b h w c -> b h c", "sum").axes == ("b", "h", "c")


def test_names_that_are_not_there_take_any():
    t = rc.Tensor(A[0, 0], axes="w _")
    assert rc.rearrange(t, "w k -> k w").axes == ("k", "w")
    with pytest.raises(rc.AxisSpaceError):
        rc.rearrange(t, "k w -> w k")
    assert rc.rearrange(rc.Tensor(A[0, 0]), "w k -> k w").axes == (None, None)


def test_composite_axes():
    t = rc.Tensor(A.reshape(6, 20), axes="b x")
    assert rc.rearrange(t, "b (w c) -> w b c", w=4).axes == ("w", "b", "c")
    assert rc.rearrange(t, "b (x y) -> x b y", x=4).axes == ("x", "b", "y")
    with pytest.raises(rc.AxisSpaceError):
        rc.rearrange(t, "(x y) b -> x y b", x=2)


def test_an_axis_named_twice():
    """A covariance has its two axes of one space; a pattern must tell them apart."""
    square = m.T @ m
    assert square.axes == ("c", "c")
    assert rc.rearrange(square, "c k -> k c").axes == ("k", "c")


F = {
    "reduce": lambda t: rc.reduce(t, "b h w c -> b h c", "sum").sum(),
    "after a function": lambda t: rc.reduce(np.tanh(t * 2), "b h w c -> b h c", "sum").sum(),
    "after a slice": lambda t: rc.reduce(t[:, 1:], "b h w c -> b h c", "sum").sum(),
    "after a product": lambda t: rc.einsum("b h w c, w -> ", t, np.ones(4)),
}


@pytest.mark.parametrize("name", F)
@pytest.mark.parametrize("transform", [rc.grad, rc.compile, rc.value_and_grad, rc.hessian_diagonal])
def test_inside_traced_functions(transform, name):
    made = transform(F[name])
    made(rc.Tensor(A))
    made(x)
    with pytest.raises(rc.AxisSpaceError):
        made(rc.Tensor(A, axes="b w h c"))
    made(x)


def test_inside_vmap():
    made = rc.vmap(lambda t: rc.reduce(np.tanh(t), "h w c -> h c", "sum"))
    assert made(x).axes == ("b", "h", "c")
    with pytest.raises(rc.AxisSpaceError):
        made(rc.Tensor(A, axes="b w h c"))


def test_names_of_one_call_do_not_stay_for_the_next():
    f = rc.compile(lambda t: rc.rearrange(t, "p q -> q p"))
    assert f(rc.Tensor(A[0, 0])).axes == (None, None)
    with pytest.raises(rc.AxisSpaceError):
        f(m)
    assert f(rc.Tensor(A[0, 0])).axes == (None, None)
