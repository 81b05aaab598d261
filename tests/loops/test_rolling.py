"""Plain loops in traced functions: rolled up, they give what they give unrolled; those that must not be, are not."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import ricci as rc
from ricci.expr import topological
from ricci.loops import is_loop

N = 12
rng = np.random.default_rng(0)
THETA = np.array([1.0, 0.1, 0.2, 0.7])
Y = rng.normal(size=N)
XS = rng.normal(size=(N, 3))
W = 0.3 * rng.normal(size=(3, 3))
OUTSIDE = rng.normal(size=4 * N)


def nodes(function, *args, **options):
    """The expressions of what a function computes."""
    found = rc.trace(function, **options)(*args)
    roots = [f.expr for f in (found if isinstance(found, (tuple, list)) else [found])]
    return topological(*roots)


def total(value):
    parts = value if isinstance(value, (tuple, list)) else [value]
    return sum([np.sum(np.asarray(part) if isinstance(part, (int, float)) else part) for part in parts])


def check(function, *args):
    """The value and the gradient are those without rolling; the value is NumPy's."""
    value = rc.compile(function)(*args)
    flat = value if isinstance(value, (tuple, list)) else [value]
    plain = function(*args)
    for a, b in zip(flat, plain if isinstance(plain, (tuple, list)) else [plain], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    scalar = lambda *args: total(function(*args))  # noqa: E731
    found, expected = rc.grad(scalar)(*args), rc.grad(scalar, roll=False)(*args)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


# Loops that are rolled up


def likelihood(theta, y):
    h, l = theta[0], 0.0  # noqa: E741
    for t in range(len(y)):
        l += np.log(h) + y[t] ** 2 / h  # noqa: E741
        h = theta[1] + theta[2] * y[t] ** 2 + theta[3] * h
    return l


def network(w, xs):
    h, error = np.zeros(3), 0.0
    for t in range(len(xs)):
        h = np.tanh(w @ h + xs[t])
        error = error + np.sum((h - xs[t - 1]) ** 2)
    return error, h


def over_rows(w, xs):
    h = np.zeros(3)
    for x in xs:
        h = np.tanh(w @ h + x)
    return h


def zipped(w, xs, y):
    h, s = np.ones(3), 0.0
    for x, v in zip(xs, y):
        h = np.tanh(w @ h + x) * v
        s = s + h[0]
    return s, h


def enumerated(w, xs):
    h = np.ones(3)
    for k, x in enumerate(xs):
        h = np.tanh(w @ h + x) * (1 + 0.1 * k)
    return h


def backwards(w, xs):
    h = np.ones(3)
    for x in reversed(xs):
        h = np.tanh(w @ h + x)
    for t in reversed(range(len(xs))):
        h = np.tanh(w @ h - xs[t])
    return h


def from_the_end(w, xs):
    h = np.ones(3)
    for t in range(len(xs) - 2, -1, -1):
        h = np.tanh(w @ h + xs[t + 1] - xs[t])
    return h


def stride(w, xs):
    h = np.ones(3)
    for t in range(0, len(xs), 1):
        h = np.tanh(w @ h + xs[len(xs) - 1 - t])
    return h


def captured(theta, y):
    h = theta[0]
    for t in range(len(y)):
        h = theta[3] * h + OUTSIDE[t] * y[t]
    return h


def closure(theta, y):
    def step(h, v):
        return theta[3] * np.sin(h) + v

    h = theta[0]
    for t in range(len(y)):
        h = step(h, y[t])
    return h


def helper(theta, y):
    h = theta[0]
    for t in range(len(y)):
        h = theta[3] * h + y[t]
    return h


def in_helper(theta, y):
    return helper(theta, y) * helper(theta + 1, y)


def constants_inside(w, xs):
    h = np.zeros(3)
    for x in xs:
        h = w @ h + np.eye(3) @ x + np.ones(3)
    return h


def tuple_carried(theta, y):
    state = (theta[0], theta[1])
    for t in range(len(y)):
        state = (theta[3] * state[1] + y[t], np.sin(state[0]))
    return state[0] + state[1]


def dict_carried(theta, y):
    state = {"h": theta[0], "n": 0.0}
    for t in range(len(y)):
        state = {"h": theta[3] * state["h"] + y[t], "n": state["n"] + state["h"] ** 2}
    return state["n"]


def list_carried(theta, y):
    state = [theta[0], theta[1]]
    for t in range(len(y)):
        state[0], state[1] = theta[3] * state[1] + y[t], np.cos(state[0])
    return state[0] + state[1]


def previous(theta, y):
    a, b = theta[0], theta[1]
    for t in range(len(y)):
        a, b = b, theta[2] * a + theta[3] * np.sin(b) + y[t]
    return a * b


def first_kept(theta, y):
    a, b = theta[0], 0.0
    first = [a]
    for t in range(len(y)):
        a, b = b, a
        a += 0.1 * np.sin(b) * first[-1] + y[t]
    return a + 2 * b


def in_place(w, xs):
    h = w[0] + 0.0
    for x in xs:
        h *= 0.9
        h += np.sin(w @ h) + x
    return h


def nested(w, xs):
    h = np.zeros(3)
    for x in xs:
        for _ in range(9):
            h = np.tanh(w @ h + x)
    return h


def double_sum(a, x):
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s = s + a[i, j] * np.sin(x[j]) * x[i]
    return s


def counter_in_arithmetic(theta, y):
    h = theta[0]
    for t in range(1, len(y)):
        h = theta[3] * h + y[t] / t + np.sin(0.1 * t) + 0.5 ** (t + 1) + t
    return h


def last_counter(theta, y):
    h = theta[0]
    for t in range(len(y)):
        h = np.sin(h) * theta[3] + y[t]
    return h * t + y[t]


def last_item(theta, y):
    h = theta[0]
    for v in y:
        z = np.sin(h) + v
        h = theta[3] * z
    return h + z * v  # pyright: ignore


def ragged_beginning(theta, y):
    h = None
    for t in range(len(y)):
        h = theta[0] if h is None else np.sin(h) * theta[3] + y[t]
    return h


def ragged_end(theta, y):
    h = theta[0]
    for t in range(len(y) - 1):
        h = np.sin(h) * theta[3] + y[t + 1]
    return np.cos(h) + y[-1]


def no_state(theta, y):
    s = 0.0
    for t in range(len(y)):
        s += theta[0] * y[t] ** 2
    return s


def columns(w, xs):
    h = np.zeros(3)
    for t in range(xs.shape[0]):
        h = np.tanh(w @ h) + xs.T[:, t] + xs[t, ::-1] + xs[t, None, 0]
    return h


def appended(theta, y):
    hs = []
    h = theta[0]
    for v in y:
        h = np.sin(h) * theta[3] + v
        hs.append(h)
    return np.stack(hs)


def appended_rows(w, xs):
    hs = [xs[0]]
    for x in xs:
        h = np.tanh(w @ hs[-1] + x)
        hs.append(h)
    return np.stack(hs, 1), hs[3], hs[-1]


def appended_twice(theta, y):
    a, b, h = [], [], theta[0]
    for t in range(len(y)):
        a.append(h)
        h = np.sin(h) * theta[3] + y[t]
        b.append(np.cos(h))
        a.append(2 * h)
    return np.stack(a[1::2]), np.stack(b)


def rows_of_lists(w, xs):
    rows = []
    for x in xs:
        row = []
        for k in range(9):
            row.append(w[0] * x * k)
        rows.append(np.stack(row))
    return np.stack(rows)


def temporaries(theta, y):
    h = theta[0]
    for t in range(len(y)):
        a = np.sin(h)
        b = lambda x, a=a: x * a  # noqa: E731
        h = b(theta[3]) + y[t]
    return h


def windows(theta, y):
    h = theta[0]
    for t in range(2, len(y) - 2):
        h = theta[3] * np.sin(h) + np.sum(y[t - 2 : t + 3] * theta[1])
    return h


def written(w, xs):
    out = np.zeros_like(xs)
    h = w[0]
    for t in range(len(xs)):
        h = np.tanh(w @ h + xs[t])
        out[t] = h
    return out, h


class Model:
    def __init__(self, rate):
        self.rate = rate

    def step(self, h, v):
        return np.sin(h) * self.rate + v

    def __call__(self, theta, y):
        h = theta[0]
        for t in range(len(y)):
            h = self.step(h, theta[1] * y[t])
        return h


def with_else(theta, y):
    h = theta[0]
    for t in range(len(y)):
        h = np.sin(h) + y[t]
    else:  # noqa: PLW0120
        h = h * 2
    return h


def two_loops(theta, y):
    return helper(theta, y) + likelihood(theta, y)


def branch_on_a_constant(theta, y, flag=True):
    h = theta[0]
    for t in range(len(y)):
        h = np.sin(h) * theta[3] + y[t] if flag else h
    return h


ROLLED: dict[Any, tuple] = {
    likelihood: (THETA, Y),
    network: (W, XS),
    over_rows: (W, XS),
    zipped: (W, XS, Y),
    enumerated: (W, XS),
    backwards: (W, XS),
    from_the_end: (W, XS),
    stride: (W, XS),
    captured: (THETA, Y),
    closure: (THETA, Y),
    in_helper: (THETA, Y),
    constants_inside: (W, XS),
    tuple_carried: (THETA, Y),
    dict_carried: (THETA, Y),
    list_carried: (THETA, Y),
    previous: (THETA, Y),
    first_kept: (THETA, Y),
    in_place: (W, XS),
    nested: (W, XS),
    double_sum: (rng.normal(size=(9, 10)), rng.normal(size=10)),
    counter_in_arithmetic: (THETA, Y),
    last_counter: (THETA, Y),
    last_item: (THETA, Y),
    ragged_beginning: (THETA, Y),
    ragged_end: (THETA, Y),
    no_state: (THETA, Y),
    columns: (W, XS),
    appended: (THETA, Y),
    appended_rows: (W, XS),
    appended_twice: (THETA, Y),
    rows_of_lists: (W, XS),
    temporaries: (THETA, Y),
    windows: (THETA, Y),
    written: (W, XS),
    Model(0.7): (THETA, Y),
    with_else: (THETA, Y),
    two_loops: (THETA, Y),
    branch_on_a_constant: (THETA, Y),
}


def name(function):
    return getattr(function, "__name__", type(function).__name__)


@pytest.mark.parametrize("function", ROLLED, ids=name)
def test_rolled_is_unrolled(function):
    check(function, *ROLLED[function])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", ROLLED, ids=name)
def test_longer_loops_are_no_larger(function):
    if function is double_sum:
        pytest.skip("its arguments are of other shapes")
    args = ROLLED[function]
    longer = [np.concatenate([x] * 4) if len(x) == N else x for x in args]
    rolled, same = len(nodes(function, *args)), len(nodes(function, *longer))
    assert abs(rolled - same) < 4 < len(nodes(function, *longer, roll=False)) - rolled


# Loops that must not be rolled up


def if_on_the_counter(theta, y):
    h = theta[0]
    for t in range(len(y)):
        h = theta[3] * h + y[t] if t == 7 else np.sin(h)
    return h


def every_third(theta, y):
    h = theta[0]
    for t in range(len(y)):
        h = theta[3] * h + y[t] if t % 3 == 0 else np.sin(h)
    return h


def list_of_numbers(theta, y):
    numbers = [float(k * k % 5) for k in range(len(y))]
    h = theta[0]
    for t in range(len(y)):
        h = numbers[t] * np.sin(h) + y[t]
    return h


def table(theta, y):
    powers = {k: 0.1 * k for k in range(len(y))}
    h = theta[0]
    for t in range(len(y)):
        h = powers[t] * np.sin(h) + y[t]
    return h


def own_counter(theta, y):
    h, k = theta[0], 0
    for v in y:
        k += 1  # noqa: SIM113
        h = np.sin(h) + v if k < 9 else np.cos(h)
    return h


def length_of_a_list(theta, y):
    h, seen = theta[0], []
    for v in y:
        seen.append(1)
        h = np.sin(h) + v if len(seen) < 9 else np.cos(h)
    return h


def number_in_a_dict(theta, y):
    h, state = theta[0], {"k": 0}
    for v in y:
        state["k"] += 1
        h = np.sin(h) + v if state["k"] < 9 else np.cos(h)
    return h


def number_in_a_closure(theta, y):
    k = 0

    def tick():
        nonlocal k
        k += 1
        return k

    h = theta[0]
    for v in y:
        h = np.sin(h) + v if tick() < 9 else np.cos(h)
    return h


class Counting:
    def __init__(self):
        self.k = 0

    def __call__(self, theta, y):
        self.k = 0
        h = theta[0]
        for v in y:
            self.k += 1
            h = np.sin(h) + v if self.k < 9 else np.cos(h)
        return h


def iterator(theta, y):
    it = iter([0.5] * 9 + [0.1] * 100)
    h = theta[0]
    for v in y:
        h = np.sin(h) * next(it) + v
    return h


def counting_iterator(theta, y):
    it = itertools.count()
    h = theta[0]
    for v in y:
        h = np.sin(h) + v if next(it) < 9 else np.cos(h)
    return h


def generator(theta, y):
    def states():
        h = theta[0]
        for v in y:
            h = np.sin(h) + v
            yield h

    return sum(states())


def own_random(theta, y):
    draw = np.random.default_rng(3)
    h = theta[0]
    for v in y:
        h = np.sin(h) + v if draw.random() < 0.8 else np.cos(h)
    return h


def mutated_buffer(theta, y):
    buffer = np.zeros(2)
    h = theta[0]
    for v in y:
        h = np.sin(h) * buffer.sum() + v
        buffer = buffer + 0.5
    return h


def buffer_in_place(theta, y):
    buffer = np.zeros(2)
    h = theta[0]
    for v in y:
        h = np.sin(h) + v if buffer[0] < 9 else np.cos(h)
        buffer[0] += 1
    return h


def same_list_twice(theta, y):
    hs = []
    others = hs
    h = theta[0]
    for v in y:
        h = np.sin(h) + v if len(others) < 9 else np.cos(h)
        hs.append(h)
    return np.stack(hs)


def same_array_put(w, xs):
    hs, h = [], w[0] * 1.0
    for x in xs:
        h += np.sin(h) * x
        hs.append(h)
    return np.stack(hs)


def lists_of_numbers(theta, y):
    hs, h = [], theta[0]
    for t in range(len(y)):
        h = np.sin(h) + y[t]
        hs.append(t * 0.5)
    return h * sum(hs)


def changed_after(w, xs):
    hs, h = [], w[0] * 1.0
    for x in xs:
        h = np.sin(h) * x
        hs.append(h)
    hs[3] += 1.0
    return np.stack(hs), hs[3]


def written_and_read(theta, y):
    out = np.zeros_like(y)
    for t in range(1, len(y)):
        out[t] = np.sin(out[t - 1]) * theta[3] + y[t]
    return out


def written_twice(theta, y):
    out = y * theta[0]
    for t in range(len(y)):
        out[t] = theta[1] * y[t]
        out[0] = out[1] * theta[3]
    return out


def window_changed(w, xs):
    xs = xs * w[0, 0]
    h = w[0] * 1.0
    for t in range(len(xs) - 1):
        part = xs[t : t + 2]
        part *= 0.5
        h = np.sin(h) + part[0]
    return h, xs


def two_back(theta, y):
    hs = [theta[0], theta[1]]
    for v in y:
        hs.append(np.sin(hs[-2]) + v * hs[-1])
    return hs[-1]


def growing(theta, y):
    h = theta[:1]
    for v in y:
        h = np.concatenate([h, h[-1:] * v + theta[0]])
    return h


def breaks(theta, y):
    h = theta[0]
    for t in range(len(y)):
        h = np.sin(h) + y[t]
        if t == 9:
            break
    return h * t


def continues(theta, y):
    h = theta[0]
    for t in range(len(y)):
        if t in (3, 8):
            continue
        h = np.sin(h) + y[t]
    return h


def returns(theta, y):
    h = theta[0]
    for t in range(len(y)):
        h = np.sin(h) + y[t]
        if t > 8:
            return h * t
    return h


def stale_counter(theta, y):
    h, before = theta[0], 0
    for t in range(len(y)):
        h = np.sin(h) + y[t] if before < 8 else np.cos(h)
        before = t
    return h


def triangle(theta, y):
    h = theta[0]
    for i in range(len(y)):
        for j in range(i):
            h = np.sin(h) + y[j]
    return h


def text_of_the_counter(theta, y):
    h = theta[0]
    for t in range(len(y)):
        h = np.sin(h) + y[t] if "1" not in f"{t}" else np.cos(h)
    return h


def number_of_python(theta, y):
    h, scale = theta[0], 1.0
    for v in y:
        scale *= 0.5
        h = np.sin(h) * scale + v
    return h


def kind_changes(theta, y):
    h = 1
    for t in range(len(y)):
        h = np.sin(theta[0]) + y[t] * h if t > 5 else h + 1
    return h


def branch_on_a_read_number(theta, y):
    lengths = np.array([2, 3, 1] * 20)
    h = theta[0]
    for t in range(len(y)):
        for _ in range(lengths[t]):
            h = np.sin(h) + y[t]
    return h


def branch_on_an_outside_number(theta, y):
    h = theta[0]
    for t in range(len(y)):
        h = np.sin(h) + y[t] if OUTSIDE[t] > 0 else np.cos(h)
    return h


def wraps(theta, y):
    h = theta[0]
    for t in range(len(y)):
        h = np.sin(h) + y[t - 6]
    return h


@dataclass
class Log:
    seen: list = field(default_factory=list)


def attribute_list(theta, y):
    log = Log()
    h = theta[0]
    for v in y:
        log.seen.append(h)
        h = np.sin(h) + v
    return sum(log.seen)


def kept_elsewhere(theta, y):
    log = Log()
    h = theta[0]
    for v in y:
        h = np.sin(h) + v
        log.last = h  # pyright: ignore
    return log.last * h  # pyright: ignore


def written_elsewhere(theta, y):
    held = theta * 1.0

    def put(v):
        held[0] = v

    h = theta[1]
    for v in y:
        h = np.sin(h) + v
        put(h)
    return np.sum(held) * h


def rows_changed(w, xs):
    xs = xs * w[0, 0]
    h = w[0] * 1.0
    for x in xs:
        x *= 2.0
        h = np.sin(h) + x
    return h * np.sum(xs)


def functions_made_inside(theta, y):
    h, before = theta[0], lambda: 0.0
    for v in y:
        h = np.sin(h) + v * before()
        before = lambda h=h: h  # noqa: E731
    return h


NOT_ROLLED: dict[Any, tuple] = dict.fromkeys(
    [
        *(if_on_the_counter, every_third, list_of_numbers, table, own_counter, length_of_a_list, number_in_a_dict),
        *(number_in_a_closure, Counting(), iterator, counting_iterator, generator, own_random, mutated_buffer),
        *(
            buffer_in_place,
            same_list_twice,
            lists_of_numbers,
            two_back,
            growing,
            breaks,
            continues,
            returns,
            stale_counter,
            triangle,
        ),
        *(text_of_the_counter, number_of_python, kind_changes, branch_on_a_read_number, branch_on_an_outside_number),
        *(wraps, attribute_list, kept_elsewhere, written_elsewhere, functions_made_inside),
    ],
    (THETA, Y),
)
NOT_ROLLED |= dict.fromkeys([rows_changed, window_changed, same_array_put, changed_after], (W, XS))


@pytest.mark.parametrize("function", NOT_ROLLED, ids=name)
def test_what_is_not_the_same_in_all_steps_is_right(function):
    check(function, *NOT_ROLLED[function])


def test_a_short_loop_is_not_rolled():
    assert not any(map(is_loop, nodes(helper, THETA, Y[:7])))
    assert any(map(is_loop, nodes(helper, THETA, Y[:8])))


def test_without_rolling():
    assert any(map(is_loop, nodes(likelihood, THETA, Y)))
    assert not any(map(is_loop, nodes(likelihood, THETA, Y, roll=False)))
    assert not any(map(is_loop, nodes(rc.grad(likelihood), THETA, Y, roll=False)))


def test_why_a_loop_is_not_rolled_is_told():
    text = str(rc.explain(rc.grad(every_third))(THETA, Y))
    assert "the number of the step is asked for" in text and "t % 3 == 0" in text
    assert "asked for" not in str(rc.explain(rc.grad(helper))(THETA, Y))


def test_code_is_as_it_was():
    code = likelihood.__code__
    rc.grad(likelihood)(THETA, Y)
    assert likelihood.__code__ is code
    with pytest.raises(ZeroDivisionError):
        rc.grad(lambda x: likelihood(THETA * x, Y) * (1 // 0))(1.0)
    assert likelihood.__code__ is code


def test_the_function_runs_once():
    calls = []

    def f(theta, y):
        calls.append(1)
        h = theta[0]
        for t in range(len(y)):
            h = np.sin(h) + y[t] if t != 9 else h
        return h

    rc.grad(f)(THETA, Y)
    assert len(calls) == 1


def test_steps_that_change_a_list_outside_are_all_run():
    steps = []

    def note():
        steps.append(1)

    def f(theta, y):
        h = theta[0]
        for t in range(len(y)):
            note()
            h = np.sin(h) + y[t]
        return h

    rc.grad(f)(THETA, Y)
    assert len(steps) == N  # a list outside changes in each


def test_an_index_beyond_the_end_is_an_error():
    def f(theta, y):
        h = theta[0]
        for t in range(len(y)):
            h = np.sin(h) + y[t + 1]
        return h

    with pytest.raises(rc.AxisError, match="out of bounds"):
        rc.grad(f)(THETA, Y)


def test_second_derivatives_and_batches():
    for function in (likelihood, helper):
        found, expected = rc.hessian(function)(THETA, Y), rc.hessian(function, roll=False)(THETA, Y)
        np.testing.assert_allclose(found, expected, rtol=1e-8)
        thetas = THETA + 0.01 * np.arange(3)[:, None]
        mapped = rc.vmap(rc.grad(function), in_axes=(0, None))(thetas, Y)
        np.testing.assert_allclose(mapped, [rc.grad(function, roll=False)(theta, Y) for theta in thetas], rtol=1e-8)


def test_inside_another_function():
    f = lambda theta: np.sum(rc.grad(likelihood)(theta, Y) ** 2)  # noqa: E731
    np.testing.assert_allclose(rc.grad(f)(THETA), rc.grad(f, roll=False)(THETA), rtol=1e-8)


def test_eager_tensors_agree():
    theta = rc.Tensor(THETA)
    likelihood(theta, Y).backward()  # pyright: ignore
    np.testing.assert_allclose(theta.grad, rc.grad(likelihood)(THETA, Y), rtol=1e-9)
