"""Upper and lower indices: what is printed reads back, derivatives are balanced, and what needs a metric is refused."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

import ricci as rc

DERIVATIVES = [
    ("y^i = A^i_j x^j", ["x^k"], "dy_dx^i_k = A^i_k"),
    ("y^i = A^i_j x^j", ["A^p_q"], "dy_dA^i_p^q = delta^i_p x^q"),
    ("s = w_{k} x^k", ["w_{k}"], "ds_dw^k = x^k"),
    ("s = w_{k} x^k", ["x"], "ds_dx_{k} = w_{k}"),
    ("s = g_{i j} x^i x^j", ["x^p"], "ds_dx_{p} = (g_{p i} + g_{i p}) x^i"),
    ("s = g_{i j} x^i x^j", ["x^p", "x^q"], "d2s_dx_dx_{p q} = g_{p q} + g_{q p}"),
    ("s = g_{i j} x^i x^j", ["g_{p q}", "x^r"], "d2s_dg_dx^{p q}_r = delta^p_r x^q + delta^q_r x^p"),
    ("y^i = exp(x^i)", ["x^j"], "dy_dx^i_j = delta^i_j exp(x^i)"),
    ("y^i = exp(x^i)", ["x^j", "x^k"], "d2y_dx_dx^i_{j k} = delta^i_j delta^i_k exp(x^i)"),
    ("y^i = inv(g)^{i j} b_{j}", ["b_{k}"], "dy_db^{i k} = inv(g)^{i k}"),
    ("y^j = solve[i,j](A^i_j, b^i)", ["b^k"], "dy_db^j_k = inv(A)^j_k"),
    ("s = 1_{i} exp(x^i)", ["x^j"], "ds_dx_{j} = exp(delta_{j j'} x^j')"),
    ("p_{mu,} = g_{mu nu} x^nu", ["x^rho"], "dp_dx_{mu rho} = g_{mu rho}"),
]


@pytest.mark.parametrize("text, by, expected", DERIVATIVES)
def test_a_derivative_stands_on_the_other_side_of_what_it_is_by(text, by, expected):
    derivative = rc.parse(text).diff(*by)
    assert derivative == rc.parse(expected) and _sides(derivative) == _sides(rc.parse(expected))
    assert rc.parse(str(derivative)) == derivative


def _sides(formula):
    return str(formula).partition(" = ")[0], formula.standing


def test_the_derivative_of_a_matrix_times_a_vector_to_the_letter():
    assert str(rc.parse("y^i = A^i_j x^j").diff("x^k")) == "dy_dx^i_k = A^i_k"
    latex = r"\frac{\partial y{}^{i}}{\partial x{}^{k}} = A{}^{i}{}_{k}"
    assert rc.parse("y^i = A^i_j x^j").diff("x^k").latex() == latex


PRINTED = [
    "B_{i}^l = delta_{i j} A^j_k delta^{k l}",
    "s = 1_{i} exp(x^i)",
    "z^i = exp(x^i) y^i; s = 1_{i} z^i",
    "z^i = exp(x^i) y^i; s = a_{i} z^i",
    "z^i = x^i y^i exp(x^i); s = a_{i} z^i b_{j} z^j",
    "y^i_j = 0^i_j + A^i_j",
    "y^i = x^{i+1} - x^{i+0}**2",
    "y^{b d} = E^{t^b,d}",
    "y_{b}^d = E^{t_{b},d} c_{b}",
    "t = A^i_i; y^i = t x^i / (A^j_j + 1)",
    "y = delta^i_j A^j_i",
    "y^i = softmax[i](A^i_j x^j) / (n_{k} x^k)",
    "d^i_j = D(A^i_k exp(x^k), x^j)",
    "t^i = A^i_j x^j; d_{j} = D(t^i t^k g_{i k}, t^j)",
    "y = T_{0 i} x^i + T_{i 1} x^i",
    "y^i = maximum(x^i, 0) + where(x^i > 1, x^i, 2)",
    "y = logdet[i,j](g_{i j}) + 0 g_{i j} x^i x^j",
    "y = sum[i](x^i x^i) + max[i](x^i)",
    "y^i = A^i_j x^j (b^k c_{k})",
]


@pytest.mark.parametrize("text", PRINTED)
def test_what_is_printed_is_read(text):
    formula = rc.parse(text)
    for f in [formula, formula.simplify(), *[formula.diff(name) for name in formula.variables if name != "t"]]:
        again = rc.parse(str(f))
        assert again.standing == f.standing or "up" not in f.standing
        assert again.indices == f.indices
    assert rc.parse(str(formula)) == formula


REFUSED = [
    ("F_{m n} «F^{m n}»", "'F' stand below and below elsewhere, and above and above here.", "metric"),
    ("t^i = A^i_j x^j; s = «t_{k}» x^k", "'t' stand above elsewhere, and below here.", "metric"),
    ("y = x^i z_{i} + «D(x^j w_{j}, x_{k})» v^k", "", ""),
    ("y^i = a^i + «b_{i}»", "above on the left and below here", "keeps its height"),
    ("y^j = exp(«a^i + b_{i}») 1_{i} 1^j", "above and below in the parts", "one height"),
    ("y^i = «softmax[i](a^i b_{i})»", "above and below", "one height"),
    ("s = g_{i j} x^i «x[j]» + x[k] y[k]", "", ""),
    ("y_{i} = «inv(g)_{i j}» b^j + 0 g_{k l} v^k v^l u_{i}", "stand above and above elsewhere", "metric"),
    ("«x^i w[k]»", "stand above and in brackets", "or all in brackets"),
    ("s = sum[i](x^i) + D(x^i x^j g_{i j}, x^k) «v_{k}»", "is summed and stands below and below", "once above"),
]


@pytest.mark.parametrize("marked, message, hint", REFUSED)
def test_heights_that_do_not_fit_are_refused_with_a_caret(marked, message, hint):
    text = marked.replace("«", "").replace("»", "")
    with pytest.raises(rc.NotationError) as caught:
        rc.parse(text)
    assert message in caught.value.message and hint in caught.value.hint
    assert "^" in str(caught.value).splitlines()[2]


def test_subscripts_alone_are_indices_in_brackets():
    assert rc.parse("c_{ik} = a_{ij} b_{jk}") == rc.parse("c[i,k] = a[i,j] b[j,k]")
    assert str(rc.parse("c_{ik} = a_{ij} b_{jk}").diff("a_{pq}")) == "dc_da[i,k,p,q] = delta[i,p] b[q,k]"
    assert str(rc.parse("y_{i} = a_{i}")) == "y_{i} = a_{i}"


def test_a_target_stands_as_in_the_formula():
    f = rc.parse("y^i = A^i_j x^j")
    with pytest.raises(rc.NotationError, match="'x' stand above elsewhere, and below here"):
        f.diff("x_{k}")
    with pytest.raises(rc.RicciError, match="not a name, nor a name with indices"):
        f.diff("x^{k+1}")
    with pytest.raises(rc.RicciError, match="in brackets elsewhere, and above here"):
        rc.parse("y[i] = A[i,j] x[j]").diff("x^k")
    assert f.diff("x[k]") == f.diff("x^k")


def test_equations_contract_one_above_with_one_below():
    equation = rc.parse("a^i = b^i_k c^k").equation
    up, down, metric = rc.tensors("u^i v_{i} m_{i j}")
    assert str(equation.multiply(down)) == "a^i v_{i} = b^i_k c^k v_{i}"
    assert str(equation.multiply(metric)) == "a^i m_{i j} = b^i_k c^k m_{i j}"
    assert str(equation.add(up)) == "a^i + u^i = b^i_k c^k + u^i"
    assert str(equation.rename(i="p")) == "a^p = b^p_k c^k"
    assert str(equation.substitute(rc.parse("c^k = d^k_l e^l"))) == "a^i = b^i_k d^k_l e^l"
    for step in (
        lambda: equation.multiply(up),
        lambda: equation.multiply(rc.variable("w[i]")),
        lambda: equation.add(down),
        lambda: equation.contract("i"),
        lambda: equation.substitute(rc.parse("c_{k} = d_{k l} e^l")),
        lambda: equation.rename(i="a_b"),  # an upper or lower index is a name without underscores
        lambda: rc.parse("x^i") * rc.parse("w[k]"),
        lambda: (rc.parse("x^i") * rc.parse("s = w[k] w[k]")).diff("w"),
        lambda: rc.parse("x^i") + rc.parse("y_{i}"),
        lambda: rc.parse("x^i") * rc.parse("y_{i}"),
        lambda: rc.parse("x^i") @ rc.parse("y^j"),
        lambda: str(rc.parse("x^i") * rc.parse("s = x_{j} u^j")),
    ):
        with pytest.raises(rc.RicciError, match=r"above|upper"):
            assert step() is None
    assert str(rc.parse("A^i_j") @ rc.parse("x^k")) == "A^i_k x^k"


def test_pullbacks_and_pushforwards_stand_where_they_belong():
    f = rc.parse("y^i = A^i_j x^j")
    assert str(rc.pullback(f, "x", rc.variable("v_{i}"))) == "A^i_j v_{i}"
    assert str(rc.pushforward(f, {"x": rc.variable("v^j")})) == "A^i_j v^j"
    with pytest.raises(rc.RicciError, match="belong below"):
        rc.pullback(f, "x", rc.variable("v^i"))
    with pytest.raises(rc.RicciError, match="belong above"):
        rc.pushforward(f, {"x": rc.variable("v_{j}")})


def test_formulas_keep_heights_through_arithmetic():
    A, x, b = rc.tensors("A^i_j x^j b^i")
    assert str(rc.exp(b) + 2 * b) == "exp(b^i) + 2 b^i"
    assert str(A.transpose()) == "y_{j}^i = A^i_j"
    assert str((A * x.rename(j="k")).named("z")) == "z^i_j^k = A^i_j x^k"


def test_derivations_keep_heights():
    lines = str(rc.parse("y^i = A^i_j exp(x^j)").diff("x^k").derivation())
    assert "y^i = A^i_j exp(x^j)" in lines and "D(y^i, x^k)" in lines and "[" not in lines.replace("sum[j]", "")


# Random formulas in which every index is balanced.

HEIGHTS = {"x": "u", "z": "u", "a": "d", "A": "ud", "B": "dd", "C": "uu", "T": "udd", "s": ""}
SIZE = 2


def written(name: str, letters: list[str], heights: str) -> str:
    """A tensor with its indices: ``T^i_{j k}``."""
    text = name
    for at, (letter, height) in enumerate(zip(letters, heights, strict=True)):
        text += f"^{letter}" if height == "u" else f"_{letter}" if at else f"_{{{letter}}}"
    return text


def random_product(rng: random.Random, free: dict[str, str], dummies: list[str], functions: bool) -> str:
    """Factors whose indices are ``free``, or once above and once below."""
    wanted, waiting, factors = dict(free), [], []
    while wanted or waiting or len(factors) < 2:
        due = [*wanted.values(), *("du"[h == "d"] for _, h in waiting)]
        name = rng.choice([n for n, hs in HEIGHTS.items() if len(factors) < 3 or hs == due[0]])
        letters = []
        for height in HEIGHTS[name]:
            here = [n for n, h in wanted.items() if h == height]
            partners = [pair for pair in waiting if pair[1] != height and pair[0] not in letters]
            if here:
                letters.append(here[0])
                wanted.pop(here[0])
            elif partners and (len(factors) > 2 or rng.random() < 0.8):
                letters.append(partners[0][0])
                waiting.remove(partners[0])
            else:
                letters.append(dummies.pop())
                waiting.append((letters[-1], height))
        factors.append(written(name, letters, HEIGHTS[name]))
    text = " ".join(factors)
    return f"{rng.choice(('tanh', 'sin', 'exp'))}({text})" if functions and rng.random() < 0.6 else text


def random_formula(rng: random.Random, functions: bool) -> str:
    free: dict[str, str] = dict(rng.sample([("i", "u"), ("j", "d"), ("k", "u")], rng.choice((0, 1, 1, 2))))
    dummies = [f"{letter}{number}" for number in range(40) for letter in "pqr"]
    terms = [random_product(rng, free, dummies, functions) for _ in range(rng.choice((1, 2)))]
    return f"{written('y', list(free), ''.join(free.values()))} = {rng.choice((' + ', ' - ')).join(terms)}"


def values(seed: int) -> dict[str, np.ndarray]:
    source = np.random.default_rng(seed)
    return {name: 0.5 * source.normal(size=(SIZE,) * len(heights)) for name, heights in HEIGHTS.items()}


def value(formula, given):
    own = {name: given[name] for name in formula.context.facts.inputs}
    return formula(**own, sizes=dict.fromkeys(formula.indices, SIZE))


def check_printed(formula, given) -> None:
    text = str(formula)
    again = rc.parse(text)
    assert again.indices == formula.indices, text
    assert again.standing == formula.standing or "up" not in formula.standing, text
    np.testing.assert_allclose(value(again, given), value(formula, given), rtol=1e-9, atol=1e-9, err_msg=text)
    latex = formula.latex()
    assert latex.count("{") == latex.count("}") and latex.count(r"\left") == latex.count(r"\right")
    assert not re.search(r"\^\{[^{}]*\}\^|_\{[^{}]*\}_", latex), latex


def derivatives(rng: random.Random, formula):
    names = [name for name in formula.variables if HEIGHTS[name]]
    for order in (1, 2):
        if names:
            found = formula.diff(*rng.choices(names, k=order))
            if found.variables and not re.search(r"\b0[\^_]", str(found)):
                yield found


@pytest.mark.parametrize("functions", [False, True])
def test_random_formulas_and_their_derivatives_read_back(functions):
    for seed in range(8):
        rng = random.Random(seed)
        formula, given = rc.parse(random_formula(rng, functions)), values(seed)
        assert rc.parse(str(formula)) == formula
        for f in (formula, formula.simplify(), *derivatives(rng, formula)):
            check_printed(f, given)


ONE = r"[^\s{}^_]+"
UNBALANCED = re.compile(rf"sum\[|delta[\^_]\{{{ONE} {ONE}\}}|delta\^{ONE}\^|delta_\{{{ONE}\}}_")


def test_derivatives_of_polynomials_are_balanced():
    """Nothing but one index above and one below: no delta moves an index, no sum is over two of one height."""
    assert UNBALANCED.search("delta_{i i'} x^i'") and UNBALANCED.search("sum[i](x^i y^i)")
    assert UNBALANCED.search("delta^{i k}") and not UNBALANCED.search("delta^i_k delta_{i}^k x^i")
    for seed in range(30):
        rng = random.Random(seed)
        for derivative in derivatives(rng, rc.parse(random_formula(rng, False))):
            assert not UNBALANCED.search(str(derivative)), str(derivative)


def test_a_derivation_says_what_the_derivative_says():
    for seed in range(4):
        rng = random.Random(seed)
        for derivative in derivatives(rng, rc.parse(random_formula(rng, False))):
            last = derivative.derivation()[-1].text.splitlines()[-1].partition("= ")[2]
            assert not UNBALANCED.search(last)
            assert "[" not in str(derivative.derivation())


def test_a_text_with_lower_indices_alone_is_cartesian():
    y = rc.parse("y_{i} = f(x_{i})", functions=["f"])
    assert str(y) == "y_{i} = f(x_{i})" and str(y.diff("x_{j}")) == "dy_dx[i,j] = delta[i,j] f'(x[i])"
    assert y.diff("x_{j}").latex() == r"\frac{\partial y_{i}}{\partial x_{j}} = \delta_{ij} f'\left(x_{i}\right)"
    assert str(rc.parse("y_{i} = exp(x_{i}) / sum[j](exp(x_{j}))")) == "y[i] = exp(x[i]) / (1[j] exp(x[j]))"
    assert str(rc.parse("u_{i} = x_{i}**2; f_{i} = D(u_{i}, x_{j}) v_{j}")) == "f[i] = 2 x[i] v[i]"
    assert str(rc.parse("c_{k} = e_{k} s").equation.multiply(rc.variable("d^i"))) == "c_{k} d^i = e_{k} s d^i"


def test_names_that_look_like_indices_are_said_in_errors():
    with pytest.raises(rc.NotationError, match=r"Without braces a_ij is a name: a_\{ij\} has indices"):
        rc.parse("c_{ik} = a_ij b_{jk}")
