"""Derivatives by names that a text defines, alone, together, in turn and in sweeps, on random texts.

What is compared with knows nothing of intermediates: the definition is taken out of the text, so that its name is an
input, and the function of that input is differenced.
"""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

import ricci as rc
from ricci.testing.texts import INPUTS, LETTERS, Text, random_text, tensor

MODES = ("auto", "forward", "reverse", "cross-country")
SEEDS = [*range(15), *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(15, 75))]


pytestmark = pytest.mark.filterwarnings("ignore::ricci.ReadingWarning")  # random texts have squares


def sizes_in(text: str) -> dict[str, int]:
    written = set(re.findall(r"[ijkl](?=[,\]'])", text))
    return {letter: size for letter, size in LETTERS.items() if letter in written}


def parse(text: str, result: str | None = None) -> rc.Formula:
    return rc.parse(text, result, sizes=sizes_in(text))


def value(formula: rc.Formula, inputs: dict[str, np.ndarray]) -> np.ndarray:
    return formula(**{name: v for name, v in inputs.items() if name in formula.context.facts.inputs})


def values_of(text: Text) -> dict[str, np.ndarray]:
    """The inputs of a text and the values of all names that it defines."""
    program = parse(str(text))
    return {**text.inputs, **{name: value(program[name], text.inputs) for name in text.defined}}


def apart(text: Text, name: str, result: str):
    """``result`` as a function of an array for ``name``, which is an input of the text without its definition."""
    inputs = values_of(text)
    if name == result:
        return (lambda x: x), inputs[name]
    shorter = text.without(name) if name in text.defined else str(text)
    program = parse(shorter, result)
    return (lambda x: value(program, {**inputs, name: x})), inputs[name]


def differenced(function, at: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """Central differences, the axes of the argument last."""
    columns, at = [], np.asarray(at)
    for place in np.ndindex(at.shape):
        up, down = at.copy(), at.copy()
        up[place] += step
        down[place] -= step
        columns.append((np.asarray(function(up)) - np.asarray(function(down))) / (2 * step))
    shape = np.shape(function(at))
    return np.stack(columns, -1).reshape((*shape, *at.shape)) if columns else np.zeros((*shape, *at.shape))


def close(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-6) -> None:
    assert np.shape(found) == np.shape(expected)
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


def some_targets(rng: random.Random, text: Text, count: int) -> list[str]:
    return rng.sample([*text.defined, *INPUTS], count)


def known(text: Text, names: list[str]) -> list[str]:
    """Those of the names that the text speaks of."""
    return [name for name in names if name in text.defined or re.search(rf"\b{name}\b", str(text))]


def case(seed: int, scalar: bool = False) -> tuple[random.Random, Text, rc.Formula]:
    """A text with values that differences can be taken of."""
    rng = random.Random(seed)
    while True:
        text = random_text(rng, rng.choice((2, 3, 4, 5)), scalar)
        with np.errstate(over="ignore"):
            if max(float(np.abs(v).max()) for v in values_of(text).values()) < 20:
                return rng, text, parse(str(text))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_by_each_name_alone_and_by_all_at_once(seed):
    rng, text, program = case(seed)
    names = known(text, some_targets(rng, text, 5))
    if not names:
        return
    alone = [program.diff(name) for name in names]
    for name, derived in zip(names, alone, strict=True):
        close(value(derived, text.inputs), differenced(*apart(text, name, program.name)))  # pyright: ignore[reportArgumentType]
    for mode in MODES:
        for one, other in zip(program.diff_all(*names, mode=mode), alone, strict=True):
            assert (one.name, one.indices) == (other.name, other.indices)
            close(value(one, text.inputs), value(other, text.inputs), 1e-12)
        close(value(program.diff(names[0], mode=mode), text.inputs), value(alone[0], text.inputs), 1e-12)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_second_derivatives_by_names_and_variables_are_differences_and_commute(seed):
    rng, text, program = case(seed + 1000, scalar=True)
    names = known(text, some_targets(rng, text, 6))[:2]
    if len(names) < 2:
        return
    one, other = sorted(names, key=lambda name: text.defined.index(name) if name in text.defined else -1)
    first = program.diff(other)  # by what is defined later first: the rest of it is a function of the earlier one
    if one in text.defined:
        shorter = parse(text.without(one), program.name) if one != program.name else program
        again = shorter.diff(other) if one != other and one != program.name else None
    else:
        again = first
    mixed = value(program.diff(other, one), text.inputs)
    if again is not None:
        inputs = values_of(text)
        close(mixed, differenced(lambda x: value(again, {**inputs, one: x}), inputs[one]), 1e-5)
    turned = value(program.diff(one, other), text.inputs)
    order = len(text.indices[other])
    close(np.moveaxis(mixed, range(order), range(-order, 0)) if order else mixed, turned, 1e-11)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_sweeps_are_products_with_the_derivatives(seed):
    rng, text, program = case(seed + 2000)
    names = known(text, some_targets(rng, text, 4))
    if not names:
        return
    jacobians = {name: value(program.diff(name), text.inputs) for name in names}
    source, out = np.random.default_rng(seed), program.indices
    arrays, dots = dict(text.inputs), {}
    expected: np.ndarray | float = 0.0
    for name in names:
        own = text.indices[name]
        shape = [LETTERS[x] for x in own]
        direction = source.normal(size=(*shape, 3))
        mixed = [*own, "n"]
        rng.shuffle(mixed)
        arrays[f"{name}_dot"] = np.einsum(f"{own}n->{''.join(mixed)}", direction)
        dots[tensor(name, own) if own else name] = rc.variable(f"{name}_dot[{','.join(mixed)}]")
        expected = expected + np.tensordot(jacobians[name], direction, len(own))
    pushed = rc.pushforward(program, dots)
    assert pushed.indices == (*out, "n")
    close(value(pushed, arrays), expected, 1e-11)  # pyright: ignore[reportArgumentType]

    bar = source.normal(size=(3, *[LETTERS[x] for x in out]))
    mixed = ["n", *out]
    rng.shuffle(mixed)
    arrays["bar"] = np.einsum(f"n{''.join(out)}->{''.join(mixed)}", bar)
    pulled = rc.pullback(program, names, rc.variable(tensor("bar", mixed)))
    for name, formula in zip(names, pulled, strict=True):
        assert formula.indices[0] == "n" and formula.order == 1 + len(text.indices[name])
        close(value(formula, arrays), np.tensordot(bar, jacobians[name], len(out)), 1e-11)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_derivatives_in_the_text_are_those_of_formulas(seed):
    rng, text, program = case(seed + 3000, scalar=True)
    names = known(text, some_targets(rng, text, 6))[:2]
    letters = iter("pqrstuvw")
    new = {name: [next(letters) for _ in text.indices[name]] for name in names}
    if len(names) < 2:
        return
    one, other = names
    last = f"G[{','.join([*new[one], *new[other]])}]" if new[one] or new[other] else "G"
    inner = f"D({program.name}, {tensor(one, new[one])})"
    written = parse(f"{text}; {last} = D({inner}, {tensor(other, new[other])})")
    close(value(written, text.inputs), value(program.diff(one, other), text.inputs), 1e-11)
    step = f"g{'[' + ','.join(new[one]) + ']' if new[one] else ''} = {inner}"
    in_steps = parse(f"{text}; {step}")
    close(value(in_steps.diff(other), text.inputs), value(program.diff(one, other), text.inputs), 1e-11)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_cuts_by_name(seed):
    rng, text, program = case(seed + 4000)
    for name in known(text, [*INPUTS, *text.defined]):
        cut = [n for n in text.defined[:-1] if rng.random() < 0.7]
        try:
            through = program.diff(name, cut=cut)
        except rc.RuleError:
            assert _depends(text, program.name, name, cut)  # pyright: ignore[reportArgumentType]
            continue
        close(value(through, text.inputs), value(program.diff(name), text.inputs), 1e-11)


def _depends(text: Text, result: str, name: str, cut: list[str]) -> bool:
    """Whether ``name`` is reached from ``result`` by the words of the text alone, around the cut."""
    right = {left.partition("[")[0]: side for left, side in text.statements}
    seen, stack = set(), [result]
    while stack:
        word = stack.pop()
        if word == name:
            return True
        if word not in seen and word not in cut:
            seen.add(word)
            stack += re.findall(r"\b\w+\b", right.get(word, ""))
    return False


# Single cases

PROGRAM = "h[i] = tanh(A[i,j] x[j]); f = h[i] b[i]"


def test_all_derivatives_are_total():
    f = rc.parse(PROGRAM)
    assert f.diff_all("h", "x") == (f.diff("h"), f.diff("x")) == f.diff_all(f["h"], "x")
    assert str(f.diff_all("h[p]", "x[q]")[0]) == "df_dh[p] = b[p]"
    assert rc.pullback(f, ["h", "x"]) == (f.diff("h"), f.diff("x"))
    h_dot, x_dot = rc.variable("h_dot[i]"), rc.variable("x_dot[j]")
    both = rc.pushforward(f, {"h": h_dot, "x": x_dot})
    A, x, b = np.ones((2, 3)) / 3, np.arange(3.0), np.array([1.0, -2.0])
    arrays = {"A": A, "x": x, "b": b, "h_dot": np.array([0.5, 2.0]), "x_dot": np.array([1.0, 0.0, 2.0])}
    slope = b * (1 - np.tanh(A @ x) ** 2)
    expected = b @ arrays["h_dot"] + slope @ A @ arrays["x_dot"]
    np.testing.assert_allclose(both(**arrays), expected)


@pytest.mark.parametrize(
    "text", ["h = x; f = h x", "h = 3; f = h x", "h = 2 x; f = 3 h + x", "h = x - x; f = h**2 x + h"]
)
def test_definitions_that_are_another_name_a_number_or_vanish(text):
    f = rc.parse(text)
    H = {"h = x; f = h x": 2.0, "h = 3; f = h x": 2.0, "h = 2 x; f = 3 h + x": 3.0}.get(text, 1.0)
    by_h, by_x = f.diff_all("h", "x")
    assert float(by_h(x=2.0)) == H
    step = 1e-6
    assert float(by_x(x=2.0)) == pytest.approx((float(f(x=2 + step)) - float(f(x=2 - step))) / (2 * step))
    if "3" not in text.partition(";")[0]:
        assert f.diff("x", cut=["h", "x"]) == by_x


def test_equal_parts_are_told_apart_by_name_and_not_by_value():
    f = rc.parse("h = exp(x); g = exp(x); f = h g exp(x)")
    e = np.exp(0.5)
    for name in ("h", "g"):
        assert float(f.diff(name)(x=0.5)) == pytest.approx(e**2)
    assert float(f.diff("h", "g")(x=0.5)) == pytest.approx(e)
    by_h, by_g, by_x = f.diff_all("h", "g", "x")
    assert [float(d(x=0.5)) for d in (by_h, by_g, by_x)] == pytest.approx([e**2, e**2, 3 * e**3])


def test_parts_beside_names_and_variables():
    x = rc.variable("x[i]")
    inner = rc.exp(x)
    outer = (inner**2 * x).sum()
    point = np.array([0.3, -0.2])
    by_inner, by_x = outer.diff_all(inner, "x")
    np.testing.assert_allclose(by_inner(x=point), 2 * np.exp(point) * point)
    np.testing.assert_allclose(by_x(x=point), np.exp(2 * point) * (1 + 2 * point))
    np.testing.assert_allclose(outer.diff(inner, "x")(x=point), outer.diff("x", inner)(x=point).T)
    f = rc.parse("h[i] = exp(x[i]); k[i] = sin(h[i]); f = 1[i] k[i] h[i]")
    e = np.exp(point)
    by_part, by_h = f.diff_all(rc.sin(rc.exp(x)), "h")
    np.testing.assert_allclose(by_part(x=point), e)
    np.testing.assert_allclose(by_h(x=point), np.cos(e) * e + np.sin(e))


@pytest.mark.parametrize("target", ["h", "x", "b", "z", "u", "s"])
def test_what_does_not_occur_gives_zeros_of_the_right_shape_everywhere(target):
    text = "z[k] = 2 u[k]; s = 5; h[i] = tanh(A[i,j] x[j]); f[l] = c[l] 1[i] h[i] b[i]; g[l] = c[l]"
    g = rc.parse(text, "g", sizes={"i": 2, "j": 3, "k": 4, "l": 5})
    order = {"h": (2,), "x": (3,), "b": (2,), "z": (4,), "u": (4,), "s": ()}[target]
    arrays = {"c": np.ones(5)}
    zeros = np.zeros((5, *order))
    for mode in MODES:
        np.testing.assert_array_equal(g.diff(target, mode=mode)(**arrays), zeros)
        np.testing.assert_array_equal(g.diff_all("c", target, mode=mode)[1](**arrays), zeros)
        np.testing.assert_array_equal(g.diff("c", target, mode=mode)(**arrays), np.zeros((5, 5, *order)))
        np.testing.assert_array_equal(g.diff(target, target, mode=mode)(**arrays), np.zeros((5, *order, *order)))
    np.testing.assert_array_equal(rc.pullback(g, target)(**arrays), np.zeros(order))
    further = rc.pullback(g, ["c", target], rc.variable("bar[y,l]"))[1]
    np.testing.assert_array_equal(further(c=np.ones(5), bar=np.ones((7, 5))), np.zeros((7, *order)))
    letters = "pq"[: len(order)]
    dot = rc.variable(tensor("d", [*letters, "n"]))
    pushed = rc.pushforward(g, {tensor(target, letters): dot})
    np.testing.assert_array_equal(pushed(c=np.ones(5), d=np.ones((*order, 7))), np.zeros((5, 7)))
    written = rc.parse(
        f"{text}; G[{','.join(['l', *letters])}] = D(g[l], {tensor(target, letters)})",
        sizes=g.source[1],  # pyright: ignore[reportOptionalSubscript]
    )
    np.testing.assert_array_equal(written(**arrays), zeros)


def test_a_variable_that_the_derivative_has_dropped():
    f = rc.parse("f = a[i] x[i]")
    np.testing.assert_array_equal(f.diff("x", "x")(x=np.ones(3), a=np.ones(3)), np.zeros((3, 3)))
    np.testing.assert_array_equal(f.diff("x", "x", "a")(x=np.ones(3), a=np.ones(3)), np.zeros((3, 3, 3)))
    g = f.diff("x")
    assert rc.pullback(g, "x")(x=np.ones(3), a=np.ones(3)).shape == (3,)
    pushed = rc.pushforward(g, {"x": rc.variable("x_dot[i]")}) if g.indices != ("i",) else None
    assert pushed is None or pushed.order == 1


def test_against_jax():
    """There, the derivative by an intermediate is that by something added to it."""
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    program = rc.parse("h[i] = tanh(A[i,j] x[j]); g[i] = exp(h[i]) x[i]; f = g[i] h[i] + c[i] x[i]")
    rng = np.random.default_rng(3)
    A, x, c = 0.3 * rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=3)

    def f(to_h, to_g, x):
        h = jnp.tanh(A @ x) + to_h
        g = jnp.exp(h) * x + to_g
        return g @ h + c @ x

    none = np.zeros(3)
    slopes = jax.grad(f, argnums=(0, 1, 2))(none, none, x)
    mixed = jax.jacfwd(jax.grad(f, argnums=0), argnums=2)(none, none, x)
    ours = [*program.diff_all("h", "g", "x"), program.diff("h", "x"), program.diff("x[q]", "h[p]").transpose("p", "q")]
    for formula, theirs in zip(ours, [*slopes, mixed, mixed], strict=True):
        np.testing.assert_allclose(value(formula, {"A": A, "x": x, "c": c}), theirs, rtol=1e-3, atol=1e-4)


# Directions


def test_a_cut_may_hold_what_is_differentiated_by():
    f = rc.parse("h[i] = tanh(A[i,j] x[j]); g[i] = exp(h[i]); f = h[i] g[i]")
    for cut in (["h"], ["h", "g"], ["f"], ["g", "h", "f"]):
        assert f.diff("h", cut=cut).equivalent(f.diff("h")) is True
    assert f.diff("x", cut=["x"]) == f.diff("x", cut="h") == f.diff("x")


def test_directions_align_by_name():
    y = rc.parse("y[i,j] = A[i,k] B[k,j]")
    A, B, A_dot = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4), np.arange(6.0).reshape(3, 2) ** 2
    turned = rc.pushforward(y, {"A": rc.variable("A_dot[k,i]")})
    np.testing.assert_allclose(turned(A=A, B=B, A_dot=A_dot), A_dot.T @ B)
    named = rc.pushforward(y, {"A[p,q]": rc.variable("A_dot[q,p]")})
    np.testing.assert_allclose(named(A=A, B=B, A_dot=A_dot), A_dot.T @ B)
    further = rc.pushforward(y, {"A": rc.variable("A_dot[i,k,x]"), "B": rc.variable("B_dot[x,j,k]")})
    assert further.indices == ("i", "j", "x")
    many, more = np.random.default_rng(0).normal(size=(2, 3, 5)), np.random.default_rng(1).normal(size=(5, 4, 3))
    expected = np.einsum("ikx,kj->ijx", many, B) + np.einsum("ik,xjk->ijx", A, more)
    np.testing.assert_allclose(further(A=A, B=B, A_dot=many, B_dot=more), expected)
    A_bar, B_bar = rc.pullback(y, ["A", "B"], rc.variable("C_bar[y,i,j]"))
    assert (A_bar.indices, B_bar.indices) == (("y", "i", "k"), ("y", "k", "j"))
    bar = np.random.default_rng(2).normal(size=(5, 2, 4))
    np.testing.assert_allclose(A_bar(A=A, B=B, C_bar=bar), np.einsum("yij,kj->yik", bar, B))
    np.testing.assert_allclose(B_bar(A=A, B=B, C_bar=bar), np.einsum("yij,ik->ykj", bar, A))


def test_a_tensor_that_is_written_with_several_names():
    f = rc.parse("f = S[i,j] S[j,i]")
    S, dot = np.arange(9.0).reshape(3, 3), np.arange(9.0).reshape(3, 3) ** 2
    for names in ("[i,j]", "[j,i]"):
        np.testing.assert_allclose(
            rc.pushforward(f, {"S": rc.variable("d" + names)})(S=S, d=dot), 2 * np.sum(S * dot.T)
        )
    g = rc.parse("y[i,k] = A[i,j] A[j,k]")
    for names in ("[i,j]", "[j,k]", "[p,q]"):
        pushed = rc.pushforward(g, {"A": rc.variable("d" + names)})
        np.testing.assert_allclose(pushed(A=S, d=dot), dot @ S + S @ dot)
    np.testing.assert_allclose(rc.pushforward(g, {"A": rc.variable("d[j,i]")})(A=S, d=dot), dot.T @ S + S @ dot.T)


@pytest.mark.parametrize(
    ("dots", "said"),
    [
        ({"A": "d[i,j]"}, "does not say which are [i, k]"),
        ({"A": "d[i]"}, "has 1 indices; the variable has 2"),
        ({"A": "d[p,q,r]"}, "has 3 indices; the variable has 2"),
        ({"A": "d[i,k,j]"}, "further index 'j', which the formula has too"),
        ({"A": "d[i,k,x]", "B": "e[k,j]"}, "further indices [] and another one [x]"),
        ({"A[p]": "d[p]"}, "The variable has 2"),
    ],
)
def test_directions_that_do_not_fit_are_refused(dots, said):
    y = rc.parse("y[i,j] = A[i,k] B[k,j]")
    with pytest.raises(rc.RuleError, match=re.escape(said)):
        rc.pushforward(y, {name: rc.variable(text) for name, text in dots.items()})


def test_directions_may_have_the_names_of_what_they_are_directions_for():
    f = rc.parse(PROGRAM)
    back = rc.pullback(f, "h", rc.variable("h"))
    np.testing.assert_allclose(back(h=2.0, b=np.array([1.0, 3.0])), [2.0, 6.0])


def test_names_with_two_meanings_are_refused():
    one, other = rc.parse("h = exp(x); f = h**2"), rc.parse("h = sin(x); f = h**3")
    with pytest.raises(rc.InputError, match="'h' has two meanings"):
        (one + other).diff("h")
    with pytest.raises(rc.InputError, match="'h' has two meanings"):
        (one + rc.parse("g = h x")).diff("h")
    assert float((one * 2).diff("h")(x=0.0)) == 4.0


def test_what_was_made_of_derivatives_does_not_guess_what_a_name_stands_for():
    """In ``2 A[i,j] (1 - h[i]**2) h[i]`` the first ``h`` is a value that ``tanh'`` has, and not the name."""
    f = rc.parse("h[i] = tanh(A[i,j] x[j]); f = h[i]**2 b[i]")
    for made in (2 * f.diff("x"), f.diff("x") + 1, rc.pullback(f, "x"), rc.pushforward(f, {"x": rc.variable("d[j]")})):
        with pytest.raises(rc.InputError, match="'h' stands for in a derivative is lost"):
            made.diff("h")
        assert made.diff("b").order == made.order + 1


def test_a_renamed_or_simplified_formula_still_knows_its_names():
    f = rc.parse("h[i] = 2 x[i]; f[i] = 3 h[i]")
    for same in (f, f.rename(i="p"), f.named("g"), f.simplify(), f.rename(i="p").simplify()):
        np.testing.assert_array_equal(same.diff("h")(x=np.ones(2)), 3 * np.eye(2))
    twice = rc.parse("h[i] = 2 x[i]; f[i] = h[i]**2").diff("h[q]").rename(i="p").diff("h[r]")
    assert twice.indices == ("p", "q", "r")


def test_the_comparison_can_fail():
    """By what the parts depend on as nodes, the derivative by x beside h would be zero: the check sees that."""
    text = Text((("h0[j]", "tanh(x[j])"), ("h1", "h0[j] b[j]")), {**INPUTS, "h0": "j", "h1": ""}, case(0)[1].inputs)
    expected = differenced(*apart(text, "x", "h1"))
    with pytest.raises(AssertionError):
        close(np.zeros(3), expected)
    close(value(parse(str(text)).diff_all("h0", "x")[1], text.inputs), expected)
