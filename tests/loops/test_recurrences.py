"""Recurrences in index notation: values beside plain loops, derivatives beside differences, texts, errors."""

import numpy as np
import pytest

import ricci as rc
from ricci.compiler.pipeline import evaluate, prepare
from ricci.errors import NotationError
from ricci.expr import affine, product, variable
from ricci.expr.composing import composed, first_and_others
from ricci.expr.moving import flipped, placed, sliced, with_ones
from ricci.expr.structures import is_zero

RNN = "h[0,i] = h0[i]; h[t+1,i] = tanh(W[i,j] h[t,j] + U[i,k] x[t,k])"
MODES = ("reverse", "forward", "cross-country", "auto")


def rnn(h0, W, U, x):
    found = [h0]
    for one in x:
        found.append(np.tanh(W @ found[-1] + U @ one))
    return np.stack(found)


def arrays(seed=0, **shapes):
    rng = np.random.default_rng(seed)
    return {name: np.array(0.7 * rng.normal(size=shape)) for name, shape in shapes.items()}


def of_rnn(n, k, steps, seed=0):
    return arrays(seed, h0=(n,), W=(n, n), U=(n, k), x=(steps, k))


def differences(f, v, name, step=1e-5):
    found = np.zeros((*np.shape(f(**v)), *v[name].shape))
    for place in np.ndindex(v[name].shape):
        moved = [{**v, name: v[name].copy()} for _ in range(2)]
        moved[0][name][place] += step
        moved[1][name][place] -= step
        found[(..., *place)] = (f(**moved[0]) - f(**moved[1])) / (2 * step)
    return found


def test_one_formula_for_all_shapes():
    f = rc.parse(RNN)
    assert f.indices == ("t", "i")
    for shape in [(3, 2, 5), (1, 1, 1), (2, 3, 0), (4, 2, 1)]:
        v = of_rnn(*shape)
        np.testing.assert_allclose(f(**v), rnn(**v), rtol=1e-12)


CASES = {
    "scalar": ("h[0] = a; h[t+1] = c h[t] + y[t]**2", {"a": (), "c": (), "y": (4,)}),
    "of nothing": ("h[0] = a; h[t+1] = c h[t]; l = y[t] h[t+1]", {"a": (), "c": (), "y": (4,)}),
    "all entries": ("h[0] = a; h[t+1] = c h[t]; l = y[s] h[s]", {"a": (), "c": (), "y": (5,)}),
    "second axis": ("h[i,0] = a[i]; h[i,t+1] = c[i,j] h[j,t] y[t]", {"a": (2,), "c": (2, 2), "y": (4,)}),
    "later": ("h[0,i] = a[i]; h[t+1,i] = sin(h[t,i]) + x[t+1,i] x[t+0,i]", {"a": (2,), "x": (5, 2)}),
    "the same in all": (
        "h[0,i] = a[i]; h[t+1,i] = c[i,j] h[t,j] + 1[t] b[i] + y[t]",
        {"a": (2,), "c": (2, 2), "b": (2,), "y": (3,)},
    ),
    "batched": ("h[0,b,i] = 0[b,i]; h[t+1,b,i] = tanh(c[i,j] h[t,b,j] + x[b,t,i])", {"c": (2, 2), "x": (3, 4, 2)}),
    "softmax": (
        "p[0,i] = a[i]; p[t+1,i] = softmax[i](log(abs(p[t,j]) + 1) c[j,i] + x[t,i])",
        {"a": (3,), "c": (3, 3), "x": (4, 3)},
    ),
    "two": (
        "p[0] = a; q[0] = b; p[t+1] = p[t] + e q[t]; q[t+1] = q[t] - e sin(p[t+1]) + y[t]",
        {"a": (), "b": (), "e": (), "y": (4,)},
    ),
    "two shapes": (
        """m[0,i] = a[i]; P[0,i,j] = S[i,j]; m[t+1,i] = P[t,i,j] m[t,j] + y[t,i]
           P[t+1,i,j] = c[i,k] P[t,k,j] + m[t,i] m[t,j]""",
        {"a": (2,), "S": (2, 2), "c": (2, 2), "y": (3, 2)},
    ),
    "one after another": (
        "h[0] = a; h[t+1] = sin(h[t]) + y[t]; g[0] = b; g[t+1] = g[t] h[t] + h[t+1]",
        {"a": (), "b": (), "y": (4,)},
    ),
    "made in the step": ("h[0] = a; u[t] = exp(-h[t]) y[t]; h[t+1] = h[t] + u[t] cos(u[t])", {"a": (), "y": (4,)}),
    "only added to": ("h[0] = a; h[t+1] = h[t] + sin(y[t])", {"a": (), "y": (4,)}),
    "a step that is none": ("h[0] = a; h[t+1] = y[t]", {"a": (), "y": (4,)}),
    "steps": ("h[0] = a; h[t+1] = sign(h[t]) + 3 y[t]", {"a": (), "y": (4,)}),
    "choices": ("h[0] = a; h[t+1] = where(y[t] > 0, c h[t], y[t])", {"a": (), "c": (), "y": (4,)}),
}


def second_axis(a, c, y):
    found = [a]
    for one in y:
        found.append(c @ found[-1] * one)
    return np.stack(found, 1)


def later(a, x):
    found = [a]
    for t in range(len(x) - 1):
        found.append(np.sin(found[-1]) + x[t + 1] * x[t])
    return np.stack(found)


def the_same(a, c, b, y):
    found = [a]
    for one in y:
        found.append(c @ found[-1] + b + one)
    return np.stack(found)


def powers(a, c, number):
    return np.stack([a * c**k for k in range(number)])


def scalar(a, c, y):
    found = [a]
    for one in y:
        found.append(c * found[-1] + one**2)
    return np.stack(found)


def in_batches(c, x):
    found = [np.zeros_like(x[:, 0])]
    for t in range(x.shape[1]):
        found.append(np.tanh(found[-1] @ c.T + x[:, t]))
    return np.stack(found)


def by_softmax(a, c, x):
    found = [a]
    for one in x:
        s = np.log(np.abs(found[-1]) + 1) @ c + one
        found.append(np.exp(s) / np.exp(s).sum())
    return np.stack(found)


def two(a, b, e, y):
    p, q, found = a, b, [b]
    for one in y:
        p = p + e * q
        q = q - e * np.sin(p) + one
        found.append(q)
    return np.stack(found)


def two_shapes(a, S, c, y):
    m, P, found = a, S, [S]
    for one in y:
        m, P = P @ m + one, c @ P + np.outer(m, m)
        found.append(P)
    return np.stack(found)


def one_after_another(a, b, y):
    h, g, found = a, b, [b]
    for one in y:
        new = np.sin(h) + one
        g, h = g * h + new, new
        found.append(g)
    return np.stack(found)


def made_in_the_step(a, y):
    found = [a]
    for one in y:
        u = np.exp(-found[-1]) * one
        found.append(found[-1] + u * np.cos(u))
    return np.stack(found)


def steps(a, y):
    found = [a]
    for one in y:
        found.append(np.sign(found[-1]) + 3 * one)
    return np.stack(found)


def chosen(a, c, y):
    found = [a]
    for one in y:
        found.append(c * found[-1] if one > 0 else one)
    return np.stack(found)


BY_HAND = {
    "scalar": scalar,
    "of nothing": lambda a, c, y: y @ powers(a, c, len(y) + 1)[1:],
    "all entries": lambda a, c, y: y @ powers(a, c, len(y)),
    "second axis": second_axis,
    "later": later,
    "the same in all": the_same,
    "batched": in_batches,
    "softmax": by_softmax,
    "two": two,
    "two shapes": two_shapes,
    "one after another": one_after_another,
    "made in the step": made_in_the_step,
    "only added to": lambda a, y: np.cumsum([a, *np.sin(y)]),
    "a step that is none": lambda a, y: np.array([a, *y]),
    "steps": steps,
    "choices": chosen,
}


@pytest.mark.parametrize("case", CASES)
def test_values(case):
    text, shapes = CASES[case]
    v = arrays(1, **shapes)
    np.testing.assert_allclose(rc.parse(text)(**v), BY_HAND[case](**v), rtol=1e-10)


@pytest.mark.parametrize("case", CASES)
def test_first_derivatives(case):
    text, shapes = CASES[case]
    f, v = rc.parse(text), arrays(2, **shapes)
    for name in shapes:
        expected = differences(BY_HAND[case], v, name)
        for mode in MODES:
            np.testing.assert_allclose(f.diff(name, mode=mode)(**v), expected, atol=1e-7)


@pytest.mark.parametrize("mode", MODES)
def test_second_derivatives(mode):
    f = rc.parse(RNN + "; l = (h[t+1,i] - y[t,i])**2 1[t] 1[i]")
    v = {**of_rnn(2, 1, 3), **arrays(5, y=(3, 2))}
    for first, second in (("W", "W"), ("W", "x"), ("h0", "U"), ("y", "W")):
        slope = f.diff(first)
        expected = differences(lambda slope=slope, **w: slope(**w), v, second)
        np.testing.assert_allclose(f.diff(first, mode=mode).diff(second, mode=mode)(**v), expected, atol=1e-7)


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_other_libraries(backend):
    pytest.importorskip(backend)
    f = rc.parse(RNN + "; l = h[t+1,i] h[t+1,i]")
    for shape in [(3, 2, 4), (2, 1, 1)]:
        v = of_rnn(*shape)
        for g in (f, f.diff("W")):
            found = g.compile(backend=backend)(**v)
            np.testing.assert_allclose(np.asarray(found), g(**v), rtol=1e-5)


def test_a_length_that_is_given():
    f = rc.parse("h[0] = a; h[t+1] = c h[t]")
    with pytest.raises(rc.RicciError, match="'t'"):
        f(a=1.0, c=2.0)
    np.testing.assert_allclose(f(a=1.0, c=2.0, sizes={"t": 3}), [1, 2, 4, 8])
    np.testing.assert_allclose(rc.parse("h[0] = a; h[t+1] = c h[t]", sizes={"t": 2})(a=1.0, c=3.0), [1, 3, 9])
    assert rc.parse("h[0] = a; h[t+1] = c h[t]", sizes={"t": 0})(a=1.0, c=3.0).shape == (1,)


def test_sizes_that_do_not_fit():
    v = of_rnn(3, 2, 4)
    with pytest.raises(rc.RicciError):
        rc.parse(RNN)(**{**v, "W": np.zeros((2, 2))})
    f = rc.parse("h[0] = a; h[t+1] = c h[t] x[t]; l = y[s] h[s]")
    assert f(a=1.0, c=1.0, x=np.ones(3), y=np.ones(4)) == 4
    with pytest.raises(rc.RicciError):
        f(a=1.0, c=1.0, x=np.ones(3), y=np.ones(3))


def test_by_a_defined_name():
    f = rc.parse(RNN + "; l = h[t+1,i] h[t+1,i]")
    v = of_rnn(2, 2, 3)
    expected = 2 * rnn(**v)
    expected[0] = 0
    np.testing.assert_allclose(f.diff("h")(**v), expected, rtol=1e-12)
    written = rc.parse(RNN + "; l = h[t+1,i] h[t+1,i]; g[s,j] = D(l, h[s,j])")
    np.testing.assert_allclose(written(**v), expected, rtol=1e-12)
    by_input = rc.parse(RNN + "; l = h[t+1,i] h[t+1,i]; g[p,q] = D(l, W[p,q])")
    np.testing.assert_allclose(by_input(**v), f.diff("W")(**v), rtol=1e-12)


ERRORS = [
    ("h[t+1] = c h[t]", "nothing says how it begins", "t+1"),
    ("h[t+1] = c h[t]; h[0] = a", "nothing says how it begins", "t+1"),
    ("h[0] = a; y = h[0]", "indices on the left side are plain names", "0"),
    ("h[1] = a; h[t+1] = c h[t]", "A recurrence begins at 0", "1"),
    ("h[|t|] = a; h[t+1] = c h[t]", "A recurrence begins at 0", "|t|"),
    ("h[0] = a; h[t+2] = c h[t]", "says the next entry by the one before it", "t+2"),
    ("h[0] = a; h[t-1] = c h[t]", "says the next entry by the one before it", "t-1"),
    ("h[0] = a; h[2*t+1] = c h[t]", "says the next entry by the one before it", "2*t+1"),
    ("h[0] = a; h[t+1] = c h[t+2] y[t]", "A step knows 'h' at t alone", "t+2"),
    ("h[0] = a; h[t+1] = c h[t-1] y[t]", "A step knows 'h' at t alone", "t-1"),
    ("h[0] = a; h[t+1] = c h[0] y[t]", "A step knows 'h' at t alone", "0"),
    ("h[0] = a; h[t+1] = c h[t+1] y[t]", "stands on both sides of its own statement", "t+1"),
    ("g[0] = a; h[0] = a; g[t+1] = h[t+1] y[t]; h[t+1] = g[t]", "is used before its statement", "t+1"),
    ("h[0] = a; h[t+1] = h[t] y[t]; h[t+1] = y[t]", "already given at t+1", "t+1"),
    ("h[0] = a; h[0] = a; h[t+1] = h[t] y[t]", "already given at 0", "0"),
    ("h[0,i] = a[i]; h[t+1] = y[t]", "has 2 indices at 0 and 1 here", "h[t+1] = y[t]"),
    ("h[0,i] = a[i]; h[i,t+1] = h[i,t] y[t]", "is given at 0 along axis 0, and steps along axis 1", "t+1"),
    ("h[0,0] = a; h[t+1,i] = y[t]", "goes along one axis", "0"),
    ("y = h[0]; h[0] = a; h[t+1] = h[t]", "already used as an input", "h[0] = a"),
    ("h[0] = a; h[t+1] = h[t] x[t-1]", "reads before the first entry", "t-1"),
    ("h[0] = a; h[t+1] = h[t] cumsum[t](h[t]) y[t]", "works along 't'", "cumsum[t](h[t])"),
    ("h[0] = a; m = 1[s] h[s]; h[t+1] = m h[t] y[t]", "at all steps, and they use it", "m = 1[s] h[s]"),
    ("g[0] = a; h[0] = a; g[t+1] = h[t] y[t]; h[s+1] = g[s]", "steps by", "h[s+1] = g[s]"),
    ("h[0] = a; h[t+1] = y[t] D(h[t]**2, a)", "A step takes no derivative", "D(h[t]**2, a)"),
    ("h[0,i] = a[i]; h[t+1,i] = h[t,i] h[t,t] x[t,i]", "stands on another axis too", "h[t,t]"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "under"), ERRORS)
def test_errors(text, message, under):
    with pytest.raises(NotationError) as caught:
        rc.parse(text)
    assert message in str(caught.value)
    line, carets = str(caught.value).splitlines()[1:3]
    start = carets.index("^")
    assert line[start : start + carets.count("^")] == under


# Loops on the page

LOSS = RNN + "; l = (h[t+1,i] - y[t,i])**2 1[t] 1[i]"


def test_as_it_was_written():
    assert str(rc.parse(RNN)).splitlines() == [
        "h[0,i] = h0[i]",
        "h[t+1,i] = tanh(W[i,j] h[t,j] + U[i,k] x[t,k])",
    ]
    assert str(rc.parse("h[i,0] = a[i]; h[i,t+1] = c[i,j] h[j,t] y[t]")).splitlines() == [
        "h[i,0] = a[i]",
        "h[i,t+1] = c[i,j] h[j,t] y[t]",
    ]
    first, later = rc.parse(RNN).latex().splitlines()[1:3]
    assert first.startswith(r"h_{0,i} &= ") and later.startswith(r"h_{t+1,i} &= \tanh(W_{ij} h_{tj} + U_{ik}")


@pytest.mark.parametrize("case", CASES)
def test_read_back(case):
    f = rc.parse(CASES[case][0])
    again = rc.parse(str(f))
    assert again == f and again.indices == f.indices
    v = arrays(3, **CASES[case][1])
    np.testing.assert_allclose(again(**{n: v[n] for n in again.variables}), f(**v), rtol=1e-10)


@pytest.mark.parametrize("name", ["h0", "W", "U", "x", "y"])
def test_gradients_read_back(name):
    g = rc.parse(LOSS).diff(name)
    again = rc.parse(str(g))
    assert again == g
    for shape in [(3, 2, 4), (2, 1, 1)]:
        v = {**of_rnn(*shape), **arrays(4, y=(shape[2], shape[0]))}
        np.testing.assert_allclose(again(**v), g(**v), rtol=1e-10)


@pytest.mark.parametrize("case", ["scalar", "all entries", "later", "softmax", "two", "one after another"])
def test_jacobians_read_back(case):
    f = rc.parse(CASES[case][0])
    for name in f.variables:
        g = f.diff(name)
        assert rc.parse(str(g)) == g


def test_a_different_loop_is_told_apart():
    assert rc.parse(RNN) != rc.parse(RNN.replace("tanh", "sin"))
    assert rc.parse(RNN) != rc.parse(RNN.replace("h0[i]", "2 h0[i]"))


def test_the_adjoint_counts_backwards():
    text = str(rc.parse(LOSS).diff("W"))
    assert "s1[0,i] = " in text and "s1[t+1,i] = " in text and "[-t+|t|-1,j] s1[t,j]" in text


# Relations put into one another


def test_cut_after_padding():
    n = variable("x", 2).shape[0]
    x = variable("x", 2)
    padded = placed(x, 0, 1, n + 1)
    first, others = first_and_others(padded, n)
    assert others is x and is_zero(first)
    first, others = first_and_others(placed(with_ones(variable("y", (3,)), (0,)), 0, 0, n + 1), n)
    assert first is variable("y", (3,)) and is_zero(others)


def test_turned_twice():
    n = variable("x", 1).shape[0]
    x = variable("x", 1)
    assert len(composed(flipped(flipped(placed(x, 0, 0, n + 2), 0), 0), [n]).args) == 2


def test_what_is_not_inside_stays():
    x = variable("x", 1)
    n = x.shape[0]
    cut = sliced(placed(x, 0, 2, n + 2), 0, 1, 1, n)
    values = np.arange(1.0, 5.0)
    assert composed(cut) is not x
    np.testing.assert_allclose(evaluate(prepare([composed(cut)]), {"x": values})[0], [0, 1, 2, 3])
    apart = product([(affine("==", (1, -1), 1, (4, 5)), (0, 1)), (affine("==", (1,), 0, (5,)), (1,))], (0,))
    np.testing.assert_allclose(evaluate(prepare([composed(apart)]), {})[0], np.zeros(4))


def test_derivations_name_the_rule():
    lines = rc.parse(LOSS).diff("W").derivation()
    assert "loop rule" in [step.rule for step in lines]
    text = str(rc.parse(RNN).diff("W").derivation())
    assert "h[t,i] = s1[t,i]" in text and "s1[t'+1,i] = tanh(" in text


@pytest.mark.parametrize("by", ["W", "h0"])
@pytest.mark.parametrize("order", [2, 3, pytest.param(4, marks=pytest.mark.thorough)])
def test_derivations_of_higher_derivatives(by, order):
    f = rc.parse("h[0,i] = h0[i]; h[t+1,i] = tanh(W[i,j] h[t,j])").diff(*[by] * order)
    steps = f.derivation().steps
    rules = [step.rule for step in steps]
    assert "loop rule" in " ".join(rules) and rules[0] == "definition"
    names = [part for step in steps for part in step.text.split("\n") if "[0," in part.partition("=")[0]]
    assert len(names) >= order  # each recurrence has its first line, once
    assert len(set(names)) == len(names)


def test_a_recurrence_has_no_matrix_form():
    f = rc.parse("h[0,i] = h0[i]; h[t+1,i] = tanh(W[i,j] h[t,j])")
    for latex in (False, True):
        with pytest.raises(rc.RuleError, match=r"no matrix notation: a part of it is a recurrence.*step by step"):
            f.matrix(latex=latex)
    assert "recurrence" in rc.draw(f).dot and "loop_" not in rc.draw(f).dot
