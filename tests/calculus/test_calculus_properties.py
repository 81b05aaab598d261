"""Properties of derivatives on random functions: over all functions of the tables, all kinds of node, all sizes."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
import scipy.special
from derivative_checks import (
    TOPS,
    Case,
    agree,
    along,
    check_adjoint,
    check_cuts,
    check_first,
    check_modes,
    check_pullback,
    check_pushforward,
    check_second,
    compare,
    make_case,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ricci as rc
from ricci.calculus.graph import Graph, pullbacks
from ricci.calculus.modes import MODES, derivative, derivatives
from ricci.expr import (
    OPS,
    Elementwise,
    Function,
    Structure,
    Variable,
    add,
    check,
    product,
    topological,
    variable,
    variables,
)
from ricci.expr.nodes import KINDS
from ricci.functions import elementwise as el
from ricci.functions.fourier import TRANSFORMS
from ricci.notation.context import Context, Facts
from ricci.testing.interpreter import interpret


def examples(number: int) -> settings:
    return settings(max_examples=number, deadline=None, suppress_health_check=list(HealthCheck))  # pyright: ignore[reportArgumentType]


def _case(seed: int, top: str | None, symbolic: bool) -> Case:
    return make_case(seed, top, symbolic)


seeds = st.integers(0, 2**32 - 1)
cases = st.builds(_case, seeds, st.sampled_from([None, None, *TOPS]), st.booleans())
plain = st.builds(_case, seeds, st.none(), st.booleans())


# Values: by differences, and in all modes.


@pytest.mark.parametrize("top", TOPS)
def test_every_function(top: str):
    """Each function of the tables on top of something random, by differences, to second order."""
    seen = 0
    for seed in range(2):
        for symbolic in (False, True):
            case = make_case(seed, top, symbolic)
            seen += check_first(case) and check_second(case, MODES[seed])
    assert seen or top == "stop_gradient"


@examples(120)
@given(cases)
def test_the_derivative_agrees_with_differences(case: Case):
    check_first(case)


@examples(80)
@given(cases, st.sampled_from(MODES))
def test_the_second_derivative_agrees_with_differences_of_the_first_and_is_symmetric(case: Case, mode: str):
    check_second(case, mode)


@examples(50)
@given(cases)
def test_the_modes_agree_to_second_order_simplified_or_not(case: Case):
    check_modes(case)


@pytest.mark.parametrize("extents", [(0,), (1,), (0, 1)], ids=str)
@pytest.mark.parametrize("symbolic", [False, True])
def test_extreme_sizes(extents: tuple[int, ...], symbolic: bool):
    for seed in range(12):
        case = make_case(seed, None, symbolic, extents=extents, order=3)
        check_modes(case)
        check_first(case)


@examples(40)
@given(seeds, st.booleans())
def test_products_and_structures_of_higher_order(seed: int, symbolic: bool):
    """No functions: hyperedges, traces, diagonals, windows and reshapes."""
    case = make_case(seed, None, symbolic, functions=False, order=3)
    check_modes(case)
    check_first(case)


WITH_OP = (Elementwise, Function)


def test_the_cases_cover_everything():
    """All functions that have derivatives and all kinds of node and of structure occur, and few samples are unfit."""
    seen: Counter[str] = Counter()
    said = 0
    for seed in range(300):
        case = make_case(seed, None, seed % 2 == 1)
        said += seed < 100 and check_first(case)
        for node in topological(case.y):
            seen[type(node).__name__] += 1
            if isinstance(node, Structure):
                seen[node.relation[0]] += 1
    assert said > 85
    assert {*KINDS, "==", ">=", "at", "one"} <= set(seen)
    tops = {node.op.name for top in TOPS for node in topological(make_case(0, top).y) if isinstance(node, WITH_OP)}
    ours = {name for name, op in OPS.items() if any(map(callable, op.partials)) and op.complex != "always"}
    assert ours - tops - TRANSFORMS == set()  # which have tests of their own, and so has what makes complex numbers


# Algebra.


@examples(60)
@given(cases, st.sampled_from(MODES))
def test_linearity(case: Case, mode: str):
    f, g = case.y, el.sin(2 * case.y) * case.y
    both = add([(2, f), (-3, g)])
    each = add([(2, derivative(f, case.x, mode)), (-3, derivative(g, case.x, mode))])
    compare("of a sum, and the sum", derivative(both, case.x, mode), each, case)


@examples(60)
@given(cases)
def test_pullback_and_pushforward_are_adjoint(case: Case):
    check_adjoint(case)
    check_pullback(case)
    check_pushforward(case)


@examples(50)
@given(cases, seeds)
def test_every_cut_gives_the_derivative(case: Case, seed: int):
    check_cuts(case, random.Random(seed))


@examples(60)
@given(cases, seeds, st.sampled_from(MODES))
def test_the_chain_rule_at_any_node(case: Case, seed: int, mode: str):
    """∂y/∂v ∂v/∂x, and what does not go through v, is the whole."""
    inner = [node for node in Graph([case.y], [case.x]).nodes if node is not case.y and node is not case.x]
    if not inner:
        return
    v = random.Random(seed).choice(inner)
    by_v, rest = derivatives([case.y], [v, case.x], mode)[0]
    rows, columns = (tuple((which, k) for k in range(e.order)) for which, e in (("y", case.y), ("x", case.x)))
    middle = tuple(("v", k) for k in range(v.order))
    through = [(by_v, (*rows, *middle)), (derivative(v, case.x, mode), (*middle, *columns))]
    total = add([(1, product(through, (*rows, *columns))), (1, rest)])
    compare("through a node", derivative(case.y, case.x, mode), total, case)


@examples(40)
@given(cases, st.sampled_from(MODES))
def test_several_inputs_at_once(case: Case, mode: str):
    """One elimination for all inputs gives what one for each gives; mixed second derivatives do not depend on order."""
    xs: list[Variable] = [v for v in variables(case.y) if case.inputs[v.name].dtype.kind == "f"]
    found = derivatives([case.y], xs, mode)[0]
    bars = pullbacks(case.y, el.sin(case.y), xs)
    for x, each, bar in zip(xs, found, bars, strict=True):
        alone = derivative(case.y, x)
        compare("together and alone", each, alone, case)
        axes = tuple(range(alone.order))
        by_hand = product([(el.sin(case.y), axes[: case.y.order]), (alone, axes)], axes[case.y.order :])
        compare("pullback in one sweep", bar, by_hand, case)
    a, b = xs[0], xs[-1]
    ab, ba = derivative(found[0], b, mode), derivative(found[-1], a, mode)
    n, i, j = case.y.order, a.order, b.order
    turned = np.moveaxis(case.value(ba), range(n, n + j), range(n + i, n + i + j))
    agree("mixed derivatives", case.value(ab), turned, 1e-9 * case.magnitude(ab, ba), case)


@examples(40)
@given(cases, st.sampled_from(MODES))
def test_by_a_variable_that_does_not_occur(case: Case, mode: str):
    other = variable("other", (3, case.x.shape[0] if case.x.order else 2))
    found = derivative(case.y, other, mode)
    check(found)
    wide = Case(
        case.y, other, {**case.inputs, "other": np.ones((3, len(case.at) if case.x.order else 2))}, case.sizes, 0
    )
    assert wide.value(found).shape == (*case.value(case.y).shape, *wide.inputs["other"].shape)
    assert not np.any(wide.value(found))


# Found by the above, and kept.


def test_a_long_sum_that_is_turned_and_scaled_inside_another_is_well_formed():
    long = add([(1, variable(f"b{k}", (2, 2))) for k in range(40)])
    check(variable("a", (2, 2)) + -2 * product([(long, "ij")], "ji"))


@pytest.mark.parametrize("mode", MODES)
def test_a_scalar_operand_counts_for_every_entry(mode: str):
    """The derivative by y is a scalar that stands for all j, and the sum over j has to see them."""
    g = rc.parse("g = 1[j] where(1 == w, z[j], y)")
    assert g.diff("y", mode=mode)(w=0.5, z=np.ones(3), y=2.0) == 3


@pytest.mark.parametrize("mode", MODES)
def test_powers_of_a_diagonal_do_not_look_beside_it(mode: str):
    """Off the diagonal there are zeros, and their reciprocals concern nobody."""
    y, x = rc.parse("y[i,j] = 1/x[i,i] 1/x[j,j]"), np.diag([2.0, 4.0])
    u, eye = np.array([0.5, 0.25]), np.eye(2)
    expected = -np.einsum("ip,iq,i,j->ijpq", eye, eye, u**2, u) - np.einsum("jp,jq,j,i->ijpq", eye, eye, u**2, u)
    np.testing.assert_allclose(y.diff("x", mode=mode)(x=x), expected)


# The surface.


@examples(60)
@given(plain, st.sampled_from(MODES))
def test_formulas_say_the_same(case: Case, mode: str):
    facts = Facts(inputs={name: value.ndim for name, value in case.inputs.items()})
    names = tuple("ijklmn"[: case.y.order])
    y = rc.Formula(case.y, names, Context(facts))
    first = derivative(case.y, case.x)
    compare("diff", y.diff(case.x.name, mode=mode).expr, first, case)
    compare("diff_all", y.diff_all(case.x.name)[0].expr, first, case)
    compare("diff of diff", y.diff(case.x.name, case.x.name, mode=mode).expr, derivative(first, case.x), case, 1e-8)
    ones = np.ones(case.value(case.y).shape)
    bar = rc.pullback(y, case.x.name).expr
    size = 1e-9 * case.magnitude(first, bar) * 10
    agree("pullback of ones", case.value(bar), np.tensordot(ones, case.value(first), ones.ndim), size, case)
    dot = rc.Formula(case.x, tuple("uvw"[: case.x.order]), Context(facts))
    pushed = rc.pushforward(y, {case.x.name: dot}).expr
    agree("pushforward", case.value(pushed), along(case, case.value(first), case.at), size, case)


@examples(60)
@given(cases, st.sampled_from(MODES))
def test_float32_in_float32_out(case: Case, mode: str):
    inputs = {name: v.astype(np.float32) if v.dtype.kind == "f" else v for name, v in case.inputs.items()}
    first = derivative(case.y, case.x, mode)
    for e in (first, derivative(first, case.x, mode)):
        assert np.asarray(interpret([e], inputs, case.sizes)[0]).dtype == np.float32, case


# The fourth derivative, in closed form.


def hermite(n: int, x: np.ndarray) -> np.ndarray:
    return scipy.special.eval_hermite(n, x) * np.exp(-(x**2))


def normal(x: np.ndarray) -> np.ndarray:
    return np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


def _sigmoid4(x: np.ndarray) -> np.ndarray:
    s = 1 / (1 + np.exp(-x))
    return s * (1 - s) * (1 - 2 * s) * (1 - 12 * s + 12 * s**2)


def _sigmoid3(x: np.ndarray) -> np.ndarray:
    s = 1 / (1 + np.exp(-x))
    return s * (1 - s) * (1 - 6 * s + 6 * s**2)


def _tanh4(x: np.ndarray) -> np.ndarray:
    t = np.tanh(x)
    return 8 * t * (1 - t**2) * (2 - 3 * t**2)


def _exp_sin4(x: np.ndarray) -> np.ndarray:
    s, c = np.sin(x), np.cos(x)
    return np.exp(s) * (c**4 - 6 * c**2 * s + 3 * s**2 - 4 * c**2 + s)


FOURTH = {
    "x**5": lambda x: 120 * x,
    "x**(1/2)": lambda x: -15 / 16 * x**-3.5,
    "x**x": lambda x: (
        x**x * ((1 + np.log(x)) ** 4 + 6 * (1 + np.log(x)) ** 2 / x - 4 * (1 + np.log(x)) / x**2 + 3 / x**2 + 2 / x**3)
    ),
    "sin(2 x)": lambda x: 16 * np.sin(2 * x),
    "exp(-x**2)": lambda x: hermite(4, x),
    "exp(sin(x))": _exp_sin4,
    "log(1 + x)": lambda x: -6 / (1 + x) ** 4,
    "x log(x)": lambda x: 2 / x**3,
    "1/(1 + x**2)": lambda x: 24 * (5 * x**4 - 10 * x**2 + 1) / (1 + x**2) ** 5,
    "atan(x)": lambda x: 24 * x * (1 - x**2) / (1 + x**2) ** 4,
    "tanh(x)": _tanh4,
    "sigmoid(x)": _sigmoid4,
    "log(1 + exp(x))": _sigmoid3,
    "erf(x)": lambda x: -2 / np.sqrt(np.pi) * hermite(3, x),
    "gelu(x)": lambda x: normal(x) * (-(x**4) + 7 * x**2 - 4),
    "lgamma(x)": lambda x: scipy.special.polygamma(3, x),
    "sqrt(1 - x**2/4)": lambda x: -3 / 16 * (1 + x**2) / (1 - x**2 / 4) ** 3.5,
    "cosh(x) cos(x)": lambda x: -4 * np.cosh(x) * np.cos(x),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", FOURTH)
def test_the_fourth_derivative(text: str, mode: str):
    at = np.array([0.3, 0.8, 1.7])
    found = rc.parse(f"y = {text}").diff("x", "x", "x", "x", mode=mode)
    check(found.expr)
    np.testing.assert_allclose([found(x=x) for x in at], FOURTH[text](at), rtol=1e-9)


@pytest.mark.parametrize("mode", MODES)
def test_the_fourth_derivative_of_a_chain_of_tensors(mode: str):
    w, x = np.array([0.3, -0.7, 1.1]), np.array([0.2, 0.5, -0.4])
    found = rc.parse("y = exp(w[i] x[i])").diff("x", "x", "x", "x", mode=mode)
    expected = np.exp(w @ x) * np.einsum("i,j,k,l->ijkl", w, w, w, w)
    np.testing.assert_allclose(found(w=w, x=x), expected, rtol=1e-12)
    power = rc.parse("y = (x[i] x[i])**2").diff("x", "x", "x", "x", mode=mode)(x=x)
    eye = np.eye(3)
    pairs = np.einsum("ij,kl->ijkl", eye, eye)
    np.testing.assert_allclose(power, 8 * (pairs + pairs.swapaxes(1, 2) + pairs.swapaxes(1, 3)), rtol=1e-12)
