"""Names of axes are kept through operations, and different ones do not meet."""

from __future__ import annotations

import numpy as np
import pytest

import ricci as rc
from ricci.errors import AxisError, AxisSpaceError, InputError
from ricci.tensor import Tensor

X = np.arange(6.0).reshape(2, 3) / 5
x = Tensor(X, axes="b t")
w = Tensor(np.ones((3, 4)), axes=("t", "d"))
plain = Tensor(np.ones((2, 3)))

KEPT = {
    "sum": (lambda: x + x, ("b", "t")),
    "with an array": (lambda: x * np.ones(3), ("b", "t")),
    "array first": (lambda: np.ones((2, 3)) - x, ("b", "t")),
    "function": (lambda: np.exp(x), ("b", "t")),
    "transpose": (lambda: x.T, ("t", "b")),
    "matmul": (lambda: x @ w, ("b", "d")),
    "einsum": (lambda: np.einsum("ij,jk->ki", x, w), ("d", "b")),
    "reduction": (lambda: x.sum(axis=0), ("t",)),
    "kept as one": (lambda: x.mean(axis=1, keepdims=True), ("b", None)),
    "slice": (lambda: x[:, 1:], ("b", "t")),
    "stride": (lambda: x[:, ::2], ("b", "t")),
    "flip": (lambda: np.flip(x, 1), ("b", "t")),
    "row": (lambda: x[0], ("t",)),
    "new axis": (lambda: x[:, None], ("b", None, "t")),
    "merge": (lambda: x.reshape(6), (None,)),
    "concatenate": (lambda: np.concatenate([x, x], axis=1), ("b", "t")),
    "sort": (lambda: np.sort(x, axis=1), ("b", "t")),
    "cumsum": (lambda: x.cumsum(axis=1), ("b", "t")),
    "mixed with no names": (lambda: x + plain, ("b", "t")),
    "sigmoid": (x.sigmoid, ("b", "t")),
    "detach": (x.detach, ("b", "t")),
    "rename": (lambda: x.rename("b s"), ("b", "s")),
    "in another order": (lambda: x[:, [2, 0]], ("b", "t")),
    "selected": (lambda: x[np.array([True, False])], ("b", "t")),
    "taken": (lambda: np.take(x, [1, 1, 0], axis=1), ("b", "t")),
    "places with axes of their own": (lambda: x[:, np.array([[0, 1]])], ("b", None, None)),
    "places with a name": (lambda: x[Tensor(np.array([1, 0, 1]), axes="n")], ("n", "t")),
    "selected, without a gradient": (lambda: x.detach()[np.array([True, False])], ("b", "t")),
    "a function of PyTorch's name": (lambda: x.exp().maximum(1.0).softmax(1), ("b", "t")),
    "covariance": (lambda: x.T @ x, ("t", "t")),
}


@pytest.mark.parametrize("name", KEPT)
def test_kept(name):
    build, names = KEPT[name]
    assert build().axes == names


BY_NAME = {
    "sum": (lambda: x.sum("b"), X.sum(0)),
    "keyword": (lambda: x.mean(axis="t"), X.mean(1)),
    "function": (lambda: np.max(x, axis="t"), X.max(1)),  # pyright: ignore[reportArgumentType, reportCallIssue]
    "several": (lambda: np.sum(x, axis=("t", "b")), X.sum()),  # pyright: ignore[reportArgumentType, reportCallIssue]
    "several in one text": (lambda: x.sum("b t"), X.sum()),
    "transpose": (lambda: x.transpose("t", "b"), X.T),
    "swapaxes": (lambda: x.swapaxes("b", "t"), X.T),
}


@pytest.mark.parametrize("name", BY_NAME)
def test_axes_by_name(name):
    build, value = BY_NAME[name]
    np.testing.assert_allclose(build().numpy(), value)


@pytest.mark.parametrize(
    "meet",
    [
        lambda: x + Tensor(X, axes="b s"),
        lambda: x * Tensor(np.ones(3), axes="s"),
        lambda: x @ Tensor(np.ones((3, 4)), axes="s d"),
        lambda: np.einsum("ij,ij->i", x, Tensor(X, axes="b s")),
        lambda: np.maximum(x, Tensor(X, axes="b s")),
    ],
)
def test_different_names_do_not_meet(meet):
    with pytest.raises(AxisSpaceError, match="'s' and 't'"):
        meet()


def test_the_error_names_the_operation():
    with pytest.raises(AxisSpaceError, match=r"^matmul: "):
        x @ Tensor(np.ones((3, 4)), axes="s d")


def test_gradients_flow_and_have_the_names():
    t = Tensor(X, axes="b t")
    (t * t).sum("b").sum().backward()
    np.testing.assert_allclose(t.grad.numpy(), 2 * X)
    assert t.grad.axes == ("b", "t")


def test_recorded_gradients_have_the_names():
    t = Tensor(X, axes="b t")
    (t**3).sum().backward(create_graph=True)
    g = t.grad
    assert g.axes == ("b", "t")
    t.zero_grad()
    g.sum("b t").backward()
    np.testing.assert_allclose(t.grad.numpy(), 6 * X)


def test_wrong_names():
    with pytest.raises(AxisError, match="no axis 'q'; its axes are b, t"):
        x.sum("q")
    with pytest.raises(AxisError, match="Two axes"):
        (x.T @ x).sum("t")
    with pytest.raises(InputError, match=r"names 1 axes, and the tensor has the shape \(2, 3\)"):
        Tensor(X, axes="b")
    with pytest.raises(InputError, match="names two axes 'b'"):
        Tensor(X, axes="b b")
    with pytest.raises(InputError, match="not a name"):
        Tensor(X, axes=["b", "1"])


def test_shown():
    assert repr(Tensor([1.0, 2.0], axes="t")) == "Tensor([1., 2.], axes=(t))"
    assert repr(x.sum("t")) == "Tensor([0.6, 2.4], axes=(b), op=sum)"


def test_functions_without_names_for_their_results():
    assert [part.tolist() for part in np.nonzero(Tensor([0.0, 3.0], axes="t"))] == [[1]]
    assert (x > 0.3).sum() == 4
    assert np.i0(x.detach()).shape == (2, 3)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "softmax", "logsumexp"])
def test_functions_of_the_table_take_names_of_axes(name):
    t = rc.Tensor(np.arange(6.0).reshape(2, 3), axes="b d", requires_grad=True)
    function = getattr(rc, name)
    assert function(t, "d").axes == function(t, 1).axes == function(t, axis="d").axes
    np.testing.assert_array_equal(function(t, "d").numpy(), function(t, 1).numpy())
    np.testing.assert_array_equal(function(t, "b d").numpy(), function(t, 0, 1).numpy())
    with pytest.raises(rc.AxisError, match="no axis 'e'"):
        function(t, "e")
    with pytest.raises(rc.AxisError, match="'d' is a name"):
        function(np.ones((2, 3)), "d")
