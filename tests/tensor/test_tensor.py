"""The eager tensor: what it holds, how gradients gather, what may change in place, and what is refused."""

from __future__ import annotations

import copy
import gc
import math
import threading
import warnings

import numpy as np
import pytest

from ricci.caches import cache_clear
from ricci.errors import DTypeError, InputError, RuleError, ShapeError, TraceError
from ricci.tensor import Tensor, enable_grad, meaning, no_grad
from ricci.tensor.recorder import apply
from ricci.tensor.recording_mode import ModeScope, mode

# What it holds


@pytest.mark.parametrize(
    ("value", "dtype", "has_gradient"),
    [
        (2, np.float64, True),
        ([1, 2], np.float64, True),
        (2.0, np.float64, True),
        (np.float32(2), np.float32, True),
        (np.arange(3), np.int64, False),
        (np.array([True, False]), np.bool_, False),
        (True, np.bool_, False),
    ],
)
def test_types(value, dtype, has_gradient):
    t = Tensor(value)
    assert (t.dtype, t.requires_grad) == (dtype, has_gradient)


def test_the_value_is_copied():
    a = np.ones(3)
    t = Tensor(a)
    a[0] = 5
    assert t.tolist() == [1, 1, 1]


def test_values_cannot_be_written_into():
    t = Tensor([1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        t.numpy()[0] = 3
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(t.detach())[0] = 3
    with pytest.raises(RuleError, match="a leaf that has a gradient"):
        np.copyto(t, 3.0)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="read-only"):
        np.place(t, [True, True], [3.0])  # pyright: ignore[reportArgumentType]
    assert t.tolist() == [1, 2]


def test_other_libraries():
    torch = pytest.importorskip("torch")
    assert Tensor(torch.tensor([1.0, 2.0], requires_grad=True)).tolist() == [1, 2]


def test_numbers_of_one_entry():
    t = Tensor([[2.5]])
    assert (float(t), int(t), bool(t), t.item(), f"{Tensor(2.5):.2f}") == (2.5, 2, True, 2.5, "2.50")
    assert [10, 20, 30][Tensor(np.int64(1))] == 20
    with pytest.raises(InputError, match=r"shape \(2,\)"):
        float(Tensor([1.0, 2.0]))
    with pytest.raises(InputError, match="not a whole number"):
        [10, 20][Tensor(1.0)]


def test_python_decides_by_values():
    x = Tensor(3.0)
    y = x * 2 if x > 2 else x
    while y < 50:
        y = y * y
    y.backward()
    assert (y.item(), x.grad.item()) == (1296, 4 * 16 * 27)


def test_comparisons_are_plain():
    t = Tensor([1.0, 2.0])
    assert type(t > 1.5) is np.ndarray
    assert (t > 1.5).tolist() == [False, True]
    assert (t == np.array([1.0, 3.0])).tolist() == [True, False]
    assert Tensor(6.58) == 6.58
    assert np.argmax(t) == 1 and isinstance(np.argmax(t), np.integer)
    assert np.allclose(t, [1, 2]) and np.shape(t) == (2,)


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: Tensor(2.0), "Tensor(2.)"),
        (lambda: Tensor([1.0, 2.0]) + 1, "Tensor([2., 3.], op=add)"),
        (lambda: Tensor(2.0, name="x"), "Tensor(2., name=x)"),
        (lambda: Tensor(np.float32(1 / 3)), "Tensor(0.3333, dtype=float32)"),
        (lambda: Tensor(np.arange(2)), "Tensor([0, 1], dtype=int64)"),
    ],
)
def test_shown(build, text):
    assert repr(build()) == text


def test_copies():
    t = Tensor([1.0, 2.0], name="x")
    other = copy.deepcopy(t)
    with no_grad():
        other += 1.0
    assert (t.tolist(), other.tolist(), other.name) == ([1, 2], [2, 3], "x")


# Scalars


def _page(a, b, relu):
    """A page of arithmetic on two numbers."""
    c = 2 * a - b / 3
    d = a * b - -c
    for _ in range(2):
        d += c**2 + 1.5
        c = relu(d * 0.1) + relu(a) + 4 - c
    e = (c - d) ** 3 / (a + 7)
    return 10 / e + e / 200 + 2**b


def test_a_page_of_arithmetic():
    a, b = Tensor(-4.0), Tensor(2.0)
    y = _page(a, b, lambda x: x.relu())
    y.backward()

    def plain(a, b):
        return _page(a, b, lambda x: max(x, 0))

    assert math.isclose(y.item(), plain(-4.0, 2.0))
    h = 1e-5
    assert math.isclose(a.grad.item(), (plain(-4 + h, 2.0) - plain(-4 - h, 2.0)) / (2 * h), rel_tol=1e-7)
    assert math.isclose(b.grad.item(), (plain(-4.0, 2 + h) - plain(-4.0, 2 - h)) / (2 * h), rel_tol=1e-7)


@pytest.mark.parametrize(
    ("f", "value", "slope"),
    [
        (lambda a: a + 2, -2, 1),
        (lambda a: 2 + a, -2, 1),
        (lambda a: a - 1, -5, 1),
        (lambda a: 1 - a, 5, -1),
        (lambda a: 3 * a, -12, 3),
        (lambda a: a / 8, -0.5, 0.125),
        (lambda a: 8 / a, -2, -0.5),
        (lambda a: a**2, 16, -8),
        (lambda a: a**-1, -0.25, -1 / 16),
        (lambda a: a**0, 1, 0),
        (lambda a: -a, 4, -1),
        (abs, 4, -1),
        (lambda a: a.relu(), 0, 0),
        (lambda a: (-a).relu(), 4, -1),
        (lambda a: a + a, -8, 2),
        (lambda a: a * a * a, -64, 48),
    ],
)
def test_operators_on_numbers(f, value, slope):
    a = Tensor(-4.0)
    y = f(a)
    y.backward()
    assert (y.item(), a.grad.item()) == (value, slope)


def test_methods_of_other_libraries():
    x = Tensor(0.5)
    parts = [x.exp(), x.log(), x.tanh(), x.sigmoid(), x.relu(), x.sqrt(), x.sin(), x.maximum(0.2)]
    sum(parts).backward()  # pyright: ignore[reportAttributeAccessIssue]
    s = 1 / (1 + math.exp(-0.5))
    expected = math.exp(0.5) + 2 + 1 - math.tanh(0.5) ** 2 + s * (1 - s) + 1 + 0.5 / math.sqrt(0.5) + math.cos(0.5) + 1
    assert math.isclose(x.grad.item(), expected, rel_tol=1e-14)


# Gradients


def test_the_example_of_the_course():
    x = Tensor([1, 2])
    y = (x @ [1, 0]) * np.exp((-x * x).sum(axis=-1))
    y.backward(1)
    np.testing.assert_allclose(x.grad, [-0.00673795, -0.02695179], rtol=1e-6)


def test_gradients_add_up():
    x = Tensor(2.0)
    for k in range(1, 4):
        (x * x).backward()
        assert x.grad == 4.0 * k
    x.zero_grad()
    assert x.grad is None


def test_intermediate_results_keep_theirs():
    x = Tensor(2.0)
    y = x * x
    z = 3 * y
    z.backward()
    assert (z.grad.item(), y.grad.item(), x.grad.item()) == (1, 3, 12)


def test_what_is_used_twice_is_passed_once():
    x = Tensor(1.0)
    y = x
    for _ in range(60):  # 2**60 paths
        y = y + y
    y.backward()
    assert x.grad == 2.0**60


def test_a_gradient_comes_in():
    x = Tensor([1.0, 2.0])
    (x * x).backward([1, 10])
    assert x.grad.tolist() == [2, 40]
    with pytest.raises(RuleError, match=r"shape \(2,\).*sum\(\)"):
        (x * x).backward()
    with pytest.raises(ShapeError, match=r"\(3,\).*\(2,\)"):
        (x * x).backward(np.ones(3))
    with pytest.raises(InputError, match="not an array"):
        (x * x).backward("one")


def test_the_gradient_given_may_change_afterwards():
    x, g = Tensor([1.0, 2.0]), np.ones(2)
    (x + 1).backward(g)
    g[:] = 7
    assert x.grad.tolist() == [1, 1]


def test_twice_through_one_graph():
    x = Tensor(3.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad == 12.0
    with pytest.raises(RuleError, match="retain_graph=True"):
        y.backward()
    assert y.parents == (x, x) and y.op == "multiply"


def test_higher_derivatives():
    x = Tensor(0.7)
    y = np.sin(x) * x**4
    values = []
    for _ in range(4):
        x.zero_grad()
        y.backward(create_graph=True)  # pyright: ignore[reportAttributeAccessIssue]
        y = x.grad
        values.append(y.item())
    s, c, t = math.sin(0.7), math.cos(0.7), 0.7
    assert math.isclose(values[0], c * t**4 + 4 * t**3 * s)
    assert math.isclose(values[1], -s * t**4 + 8 * t**3 * c + 12 * t**2 * s)
    assert math.isclose(values[2], -c * t**4 - 12 * t**3 * s + 36 * t**2 * c + 24 * t * s)
    assert math.isclose(values[3], s * t**4 - 16 * t**3 * c - 72 * t**2 * s + 96 * t * c + 24 * s)


def test_the_gradient_of_a_penalty_on_the_gradient():
    torch = pytest.importorskip("torch")
    a = np.random.default_rng(1).normal(size=(3, 3))
    x, w = Tensor(a), Tensor(np.ones(3))
    y = np.tanh(x @ w).sum()
    y.backward(create_graph=True)
    penalty = (x.grad**2).sum()
    x.zero_grad()
    w.zero_grad()
    penalty.backward()
    u, v = torch.tensor(a, requires_grad=True), torch.ones(3, dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(torch.tanh(u @ v).sum(), u, create_graph=True)
    (g**2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), u.grad.numpy(), atol=1e-13)
    np.testing.assert_allclose(w.grad.numpy(), v.grad.numpy(), atol=1e-13)


def test_hooks():
    x = Tensor(2.0)
    y = x * 3
    seen = []
    y.register_hook(lambda g: seen.append(g.item()))
    handle = x.register_hook(lambda g: g * 10)
    (y * y).backward()
    assert (seen, x.grad.item()) == ([12.0], 360.0)
    handle.remove()
    x.zero_grad()
    (x * 3).backward()
    assert x.grad == 3.0
    x.register_hook(lambda g: np.ones(4))
    with pytest.raises(ShapeError, match="hook"):
        (x * 3).backward()
    with pytest.raises(InputError, match="no gradient"):
        Tensor(1.0, requires_grad=False).register_hook(print)


def test_detach_and_no_grad():
    x = Tensor(2.0)
    (x * x.detach()).backward()
    assert x.grad == 2.0
    with no_grad():
        y = x * x
        with enable_grad():
            z = x * x
    assert (y.requires_grad, y.is_leaf, z.requires_grad, mode().recording) == (False, True, True, True)
    with pytest.raises(InputError, match="no_grad"):
        y.backward()

    @no_grad()
    def f(t):
        return t * 2

    assert not f(x).requires_grad and (x * 2).requires_grad


def test_no_grad_ends_with_an_error():
    with pytest.raises(ZeroDivisionError), no_grad():
        _ = 1 / 0
    assert mode().recording


def test_requires_grad():
    x = Tensor([1.0, 2.0], requires_grad=False)
    assert not (x * 2).requires_grad
    assert (x.requires_grad_() * 2).requires_grad
    with pytest.raises(RuleError, match="detach"):
        (x * 2).requires_grad_(False)
    with pytest.raises(DTypeError, match="whole numbers"):
        Tensor(np.arange(3), requires_grad=True)
    with pytest.raises(DTypeError, match="whole numbers"):
        Tensor(np.arange(3)).requires_grad_()


# Changes in place


def test_updates():
    w = Tensor([1.0, 2.0])
    view = w.numpy()
    with no_grad():
        w -= 0.5
        w *= np.array([2.0, 3.0])
        w[0] = 7
    assert w.tolist() == [7, 4.5] and w.requires_grad and w.is_leaf
    assert view.tolist() == [1, 2]


def test_refused_or_changed():
    x = Tensor([1.0, 2.0])
    with pytest.raises(RuleError, match=r"x = x \+ v.*no_grad"):
        x += 1
    with pytest.raises(RuleError, match=r"a view of a leaf.*no_grad"):
        x[:1] += 1
    with pytest.raises(RuleError, match=r"x\.at"):
        x[0] = 3
    with pytest.raises(InputError, match=r"from \(2,\) to \(3, 2\)"), no_grad():
        x += np.ones((3, 2))
    y = x * 2
    z = y
    y += 1
    assert z is y and y.tolist() == [3, 5]
    total = y.sum()
    before = total
    total += 1  # a number, as in NumPy
    assert (before.item(), total.item()) == (8, 9)
    a = np.ones(2)
    with pytest.raises(TraceError, match=r"a = a \+ t"):
        a += x
    with pytest.raises(TraceError, match="out"):
        np.add(x, 1.0, out=a)


def test_a_change_that_backward_would_miss():
    x, w = Tensor(2.0, name="x"), Tensor(3.0)
    y = x * w
    with no_grad():
        x += 1
    with pytest.raises(InputError, match=r"tensor 'x'.*multiply"):
        y.backward()
    x, w = Tensor(2.0), Tensor(3.0)
    y = x + w  # whose pullback needs neither
    with no_grad():
        x += 1
    y.backward()
    assert (x.grad.item(), x.item()) == (1, 3)


def test_views_change_with_their_tensor():
    x = Tensor([1.0, 2.0, 3.0])
    head = x[:2]
    y = head * head
    with no_grad():
        x[0] = 100
        x[1:] -= 1
    assert head.tolist() == [100, 1] and x.tolist() == [100, 1, 2]
    with pytest.raises(InputError, match="multiply"):
        y.sum().backward()
    (head * head).sum().backward()
    assert x.grad.tolist() == [200, 2, 0]


# Long and wide graphs


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (1, 1)])
def test_axes_of_size_0_and_1(shape):
    x = Tensor(np.ones(shape))
    y = (np.concatenate([x * x, np.exp(x)], axis=0) @ np.ones(shape[1:] or (1,)) if len(shape) > 1 else x * 2).sum()
    y.backward()
    assert x.grad.shape == shape
    np.testing.assert_allclose(x.grad.numpy(), np.full(shape, 2 + math.e))


@pytest.mark.parametrize("steps", [5_000, pytest.param(50_000, marks=pytest.mark.thorough)])
def test_many_steps(steps):
    x, a = Tensor(0.5), Tensor(1.0)
    y = x
    for _ in range(steps):
        y = y * a
        y = y + 1e-5
    y.backward()
    assert math.isclose(x.grad.item(), 1)
    assert math.isclose(a.grad.item(), 0.5 * steps + 1e-5 * sum(range(steps)), rel_tol=1e-9)
    del y, x, a
    gc.collect()


def test_a_long_graph_is_freed_without_recursion():
    y = Tensor(1.0)
    for _ in range(50_000):
        y = y + 1.0
    del y


def test_threads():
    found = [0.0] * 8

    def work(k):
        for _ in range(50):
            x = Tensor(np.full(3 + k, float(k)))
            with no_grad():
                assert not (x * 2).requires_grad
            (np.tanh(x) * x).sum().backward()
            found[k] = x.grad.numpy()[0]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = [math.tanh(k) + k * (1 - math.tanh(k) ** 2) for k in range(8)]
    np.testing.assert_allclose(found, expected)


# Functions of our own, refusals, and the expression


def test_apply_several_results():
    def lower(x, w):
        return {"sum": np.sum(x * w), "parts": [x * 2, w]}

    x, w = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    found = apply(lower, "both", (x, w), {})
    assert found["sum"] == 11.0 and found["sum"].op == "both"
    (found["sum"] + found["parts"][0].sum() * 10).backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([23, 24], [1, 2])


def test_apply_meets_other_tensors_and_arrays():
    w, scale = Tensor([3.0, 4.0]), np.array([1.0, 10.0])

    def lower(x):
        return np.sum(x * w * scale)

    for k in (1.0, 2.0):
        x = Tensor([1.0, 2.0])
        w.zero_grad()
        y = apply(lower, "met", (x,), {})
        assert y == 3 + 8 * 10 * k
        y.backward()
        assert (w.grad.tolist(), x.grad.tolist()) == ([1, 20 * k], [3, 40 * k])
        scale[1] = 20
    w = Tensor([0.0, 1.0])
    assert apply(lower, "met", (Tensor([1.0, 2.0]),), {}) == 40.0


def test_apply_on_arrays_meets_a_tensor():
    w = Tensor([3.0, 4.0])
    y = apply(lambda x: np.sum(x * w), "met", (np.array([1.0, 2.0]),), {})
    y.backward()
    assert w.grad.tolist() == [1, 2]


def test_caches_are_bounded(monkeypatch):
    cache_clear()
    for kept in (meaning._operations, meaning._flat):
        monkeypatch.setattr(kept, "most", 8)
    for n in range(1, 30):
        x = Tensor(np.ones(n))
        (x * x).sum().backward()
        assert x.grad.tolist() == [2] * n
    assert 0 < len(meaning._operations.all()) <= 8 and 0 < len(meaning._flat.all()) <= 8


def test_unknown_functions():
    x = Tensor([1.0, 2.0])
    with pytest.raises(TraceError, match=r"np\.i0 cannot be traced"):
        np.i0(x)
    with no_grad():
        np.i0(x)
    with pytest.raises(InputError, match=r"np\.stack"):
        Tensor([x, x])
    with pytest.raises(InputError, match="takes a number"):
        Tensor([[1.0], [1.0, 2.0]])
    with pytest.raises(DTypeError, match="computes with"):
        Tensor("one")


def test_arguments_whose_values_decide():
    x = Tensor([3.0, 1.0, 2.0])
    (np.percentile(x, np.array([0.0, 50.0])) * [1, 10]).sum().backward()
    assert x.grad.tolist() == [0, 1, 10]
    x.zero_grad()
    np.sum(x * x, axis=np.int64(0)).backward()
    assert x.grad.tolist() == [6, 2, 4]


def test_arrays_of_other_libraries_as_operands():
    torch = pytest.importorskip("torch")
    x = Tensor([1.0, 2.0])
    y = x * torch.tensor([3.0, 4.0], dtype=torch.float64)
    assert isinstance(y, Tensor)
    y.sum().backward()
    assert x.grad.tolist() == [3, 4]


def test_warnings_are_those_of_numpy():
    x = Tensor(0.0)
    with pytest.warns(RuntimeWarning, match="divide"):
        y = np.log(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y.backward()  # pyright: ignore[reportAttributeAccessIssue]
    assert x.grad == np.inf


def test_watched():
    seen = []
    with ModeScope(watch=lambda name, value, *operands: seen.append((name, float(value)))):
        x = Tensor(2.0)
        y = x * x + np.sqrt(x)
        y.backward()
    assert [name for name, _ in seen[:3]] == ["multiply", "sqrt", "add"]
    assert ("multiply backward", 2.0) in seen


def test_expression():
    x, w = Tensor([1.0, 2.0], name="x"), Tensor([3.0, 4.0])
    y = ((x * w) ** 2).sum() + np.array([1.0, 1.0]) @ x
    formula = y.expression()
    assert formula.variables[0] == "x" and "x0" in formula.variables
    assert math.isclose(float(formula()), y.item())
    assert math.isclose(float(formula(x=np.zeros(2))), 0)
    y.backward()
    np.testing.assert_allclose(formula.diff("x")(), x.grad.numpy())


def test_the_expression_of_a_long_graph():
    x = Tensor(1.0, name="x")
    y = x
    for _ in range(3000):
        y = np.sin(y)
    assert math.isclose(float(y.expression()()), y.item())  # pyright: ignore[reportAttributeAccessIssue]


def test_names_that_meet_in_an_expression():
    a, b = Tensor(2.0, name="x"), Tensor(3.0, name="x")
    assert sorted((a * b).expression().variables) == ["x0", "x1"]


def test_leaves_that_are_numbers_stay_the_leaves_that_they_are():
    b = Tensor(0.0)
    for _ in range(3):
        same = b
        ((b - 1.0) ** 2).backward()
        assert b.grad is not None
        with no_grad():
            b -= 0.25 * b.grad
        assert b is same and b.requires_grad
        b.zero_grad()
    assert b.item() == pytest.approx(1 - 0.5**3)


def test_calls_are_found_again_after_many_others(monkeypatch):
    cache_clear()
    monkeypatch.setattr(meaning._flat, "most", 4)
    for n in [1, 2, 3, 1, 2, 3, 1]:
        x = Tensor(np.ones(n))
        (x * x).sum().backward()
        assert x.grad.tolist() == [2] * n
