"""Loops as nodes: values, derivatives of both orders in all modes, further axes, travelling."""

import pickle
from typing import Any

import numpy as np
import pytest

from ricci.calculus.graph import pushforward
from ricci.calculus.modes import derivative
from ricci.compiler.pipeline import evaluate, prepare
from ricci.expr import OPS, Expr, add, elementwise, product, topological, variable
from ricci.expr.moving import entry
from ricci.expr.widen import batched
from ricci.loops import is_loop, loop
from ricci.loops.bodies import fresh, replaced
from ricci.testing.interpreter import interpret

N, M, T = 3, 2, 6
MODES = ("reverse", "forward", "cross-country", "auto")


def tanh(e):
    return elementwise(OPS["tanh"], e)


def times(a, v):
    return product([(a, (0, 1)), (v, (1,))], (0,))


W, U, B = variable("W", (N, N)), variable("U", (N, M)), variable("b", (N,))
X, START = variable("X", (T, M)), variable("h0", (N,))
INPUTS = {"W": W, "U": U, "b": B, "X": X, "h0": START}


def states(length=T, xs=X):
    h, x = variable("hh", (N,)), variable("xx", (M,))
    return loop(tanh(add([(1, times(W, h)), (1, times(U, x)), (1, B)])), h, START, {x: xs}, length)


def loss(h):
    return product([(h, (0, 1)), (h, (0, 1))], ())


def values(seed=0):
    rng: Any = np.random.default_rng(seed)
    return {name: 0.7 * rng.normal(size=v.shape) for name, v in INPUTS.items()}


def by_hand(v):
    h = v["h0"]
    found = [h]
    for x in v["X"]:
        h = np.tanh(v["W"] @ h + v["U"] @ x + v["b"])
        found.append(h)
    return np.stack(found)


def value_of(e, v):
    return evaluate(prepare([e]), v)[0]


def differences(f, v, name, step=1e-5):
    columns = []
    for place in np.ndindex(v[name].shape):
        moved = [{**v, name: v[name].copy()} for _ in range(2)]
        moved[0][name][place] += step
        moved[1][name][place] -= step
        columns.append((f(moved[0]) - f(moved[1])) / (2 * step))
    return np.stack(columns, -1).reshape(*np.shape(columns[0]), *v[name].shape)


def test_values():
    e, v = states(), values()
    assert is_loop(e) and e.shape == (T + 1, N)
    np.testing.assert_allclose(value_of(e, v), by_hand(v), rtol=1e-12)
    np.testing.assert_allclose(interpret([e], v, {})[0], by_hand(v), rtol=1e-12)
    np.testing.assert_allclose(value_of(entry(e, 0, T), v), by_hand(v)[-1], rtol=1e-12)


def test_what_does_not_depend_on_the_state_is_outside():
    e: Any = states()
    body = e.op.loop
    assert len(body.fixed) == len(body.slices) == 1
    assert body.slices[0].shape == (N,)  # U x + b, for all steps at once


def test_no_steps():
    e, v = states(0, variable("X", (0, M))), {**values(), "X": np.zeros((0, M))}
    np.testing.assert_allclose(value_of(e, v), v["h0"][None])


def test_equal_loops_are_one_node():
    assert states() is states()
    assert pickle.loads(pickle.dumps(states())) is states()


@pytest.mark.parametrize("name", INPUTS)
def test_first_derivatives(name):
    v, e = values(), loss(states())
    expected = differences(loss_by_hand, v, name)
    for mode in MODES:
        np.testing.assert_allclose(value_of(derivative(e, INPUTS[name], mode), v), expected, atol=1e-8)


def loss_by_hand(v):
    return (by_hand(v) ** 2).sum()


@pytest.mark.parametrize("first", INPUTS)
@pytest.mark.parametrize("second", ["W", "X", "h0"])
def test_second_derivatives(first, second):
    v, e = values(1), loss(states())
    slope = derivative(e, INPUTS[first], "reverse")
    stage = prepare([slope])
    expected = differences(lambda w: evaluate(stage, w)[0], v, second)
    for one, other in (("reverse", "reverse"), ("reverse", "forward"), ("forward", "reverse")):
        found = derivative(derivative(e, INPUTS[first], one), INPUTS[second], other)
        np.testing.assert_allclose(value_of(found, v), expected, atol=1e-8)


@pytest.mark.parametrize("name", INPUTS)
def test_a_further_axis(name):
    v = values()
    many = variable("many", (4, *INPUTS[name].shape))
    (wide,) = batched([states()], {INPUTS[name]: many}, 4)
    given = np.stack([values(k)[name] for k in range(4)])
    found = value_of(wide, {**v, "many": given})
    expected = np.stack([by_hand({**v, name: one}) for one in given])
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    slope = value_of(derivative(product([(wide, (0, 1, 2)), (wide, (0, 1, 2))], ()), many), {**v, "many": given})
    each = [value_of(derivative(loss(states()), INPUTS[name]), {**v, name: one}) for one in given]
    np.testing.assert_allclose(slope, np.stack(each), rtol=1e-10)


def test_loops_in_loops():
    h, s = variable("hh", (N,)), variable("ss", (N,))
    inner = entry(loop(tanh(add([(1, times(W, h)), (1, B)])), h, s, {}, 3), 0, 3)
    e = loop(add([(1, inner), (1, B)]), s, START, {}, 2)
    v = values()

    def plain(w):
        s = w["h0"]
        found = [s]
        for _ in range(2):
            for _ in range(3):
                s = np.tanh(w["W"] @ s + w["b"])
            s = s + w["b"]
            found.append(s)
        return np.stack(found)

    np.testing.assert_allclose(value_of(e, v), plain(v), rtol=1e-12)
    for name in ("W", "b", "h0"):
        expected = differences(lambda w: (plain(w) ** 2).sum(), v, name)
        for mode in MODES:
            np.testing.assert_allclose(value_of(derivative(loss(e), INPUTS[name], mode), v), expected, atol=1e-8)
    slope = prepare([derivative(loss(e), W)])
    expected = differences(lambda w: evaluate(slope, w)[0], v, "b")
    np.testing.assert_allclose(value_of(derivative(slope.written[0], B), v), expected, atol=1e-7)


def test_what_a_step_has_made_is_not_made_again():
    """``s + g`` is part of the longer sum ``y - s - g``, and its states are known."""
    s, g, y, after = (variable(name, (N,)) for name in ("s_", "g_", "y_", "after_"))
    new = add([(1, s), (0.5, tanh(g))])
    (found,) = replaced([tanh(add([(1, y), (-2, new)]))], {new: after})
    assert found is tanh(add([(1, y), (-2, after)]))
    other = add([(1, y), (-2, s), (1, tanh(g))])
    assert replaced([other], {new: after}) == [other]


def test_a_change_of_several_operands_is_one_loop():
    e = derivative(entry(states(), 0, T), W, "forward")
    assert sum(map(is_loop, topological(e))) == 2  # that of the states, and that of their changes
    both: dict[Expr, Expr] = {
        W: variable("dW", W.shape),
        B: variable("db", B.shape),
        START: variable("dh", START.shape),
    }
    moved = pushforward(states(), both)
    assert sum(map(is_loop, topological(moved))) == 2
    v = values()
    given = {**v, **{f"d{k}": 0.1 * v[n] for k, n in (("W", "W"), ("b", "b"), ("h", "h0"))}}
    ahead, behind = [{**v, **{n: v[n] * (1 + 0.1 * s) for n in ("W", "b", "h0")}} for s in (1e-5, -1e-5)]
    expected = (by_hand(ahead) - by_hand(behind)) / 2e-5
    np.testing.assert_allclose(value_of(moved, given), expected, atol=1e-8)


def test_what_was_made_before_changes_nothing():
    def texts():
        slope = derivative(loss(states()), W)
        return [(node.key, node.head) for node in topological(slope) if is_loop(node)]

    first = texts()
    for _ in range(9):
        fresh((3,))
    assert texts() == first != []


def test_a_gradient_by_all_operands_has_one_loop_backwards():
    slopes = [derivative(loss(states()), v, "reverse") for v in INPUTS.values()]
    assert len([node for node in topological(*slopes) if is_loop(node)]) == 2
