"""Every line of a derivation, and every ``=`` in LaTeX and in equations, in numbers: of random formulas and their first
and second derivatives, of all identities, and of the formulas in the examples.

Each line is read as a text, or as LaTeX, by itself and evaluated at random points; see ``line_values``.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from line_values import (
    Line,
    Sides,
    difference,
    evaluate,
    fault_in_latex,
    fault_in_side,
    faults_in_equation,
    lines_of_latex,
    lines_of_text,
)

import ricci as rc
from ricci.expr import axis_size
from ricci.expr.settle import SizeClasses
from ricci.notation import syntax
from ricci.show import text as text_form
from ricci.show.breaking import WIDTH
from ricci.testing.identities import Identity, identities
from ricci.testing.identity_checks import cases
from ricci.testing.written import SIZES, arrays, derivatives, random_written

MOST_AXES = 6  # of a derivative that is looked at
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
IDENTITIES = identities()
STEPS = (  # to the equation of a formula, of its first and of its second derivative
    lambda equation: equation.multiply(rc.tensors("v_1^q" if any(equation.left.standing) else "v_1[q_1]")[0]),
    lambda equation: equation,
    lambda equation: equation.apply(rc.tanh).multiply(rc.tensors("s_1")[0]),
)


def faults(chain: list[rc.Formula], inputs: dict[str, np.ndarray], sizes: dict[str, int]) -> Iterator[str]:
    """All that is printed wrong of a function and its derivatives."""
    sides = Sides(chain, inputs, sizes)
    yield from filter(None, [sides.fault_in_values()])
    if len(chain) > 1:
        derivation = chain[-1].derivation()
        for lines in (lines_of_text, lines_of_latex):
            yield from Sides(chain, inputs, sizes).faults(lines(derivation))
    for f, value, step in zip(chain, sides.values, STEPS, strict=False):
        yield from filter(None, [fault_in_latex(f, sides.inputs, sides.given)])
        known = {**sides.inputs, f.equation.left.variables[0]: value, "s_1": np.array(0.4), "v_1": np.array([0.7, 0.3])}
        yield from faults_in_equation(step(f.equation), known, sides.given)


# Random formulas


def drawn(seed: int) -> tuple[list[rc.Formula], dict[str, np.ndarray]]:
    """A random formula with its derivatives, as far as there are any, and a point."""
    rng = random.Random(seed)
    _, f = random_written(rng, rng.choice((1, 1, 2)), rng.choice((1, 1, 1, 2)))
    chain = [f]
    with suppress(rc.InputError, rc.RuleError):  # there is no derivative
        for derivative in derivatives(f, rng):
            if derivative.order < MOST_AXES:
                chain.append(derivative)
    return chain, arrays(f, rng)


@pytest.mark.parametrize(
    "seeds",
    [range(5), *[pytest.param(range(k, k + 40), marks=pytest.mark.thorough) for k in range(5, 125, 40)]],
    ids=lambda seeds: f"{seeds.start}",
)
def test_random_formulas(seeds):
    looked_at = 0
    for seed in seeds:
        chain, inputs = drawn(seed)
        if "stop_gradient" in str(chain[0]):
            continue  # whose derivative is not that of its values
        try:
            found = list(faults(chain, inputs, {**SIZES, "r": 2}))
        except rc.RicciError as error:
            assert "fails" in str(error) or "no place" in str(error), error  # there is no value at this point
            continue
        assert not found, f"seed {seed}: {found[0]}"
        looked_at += len(chain) > 1
    assert looked_at > len(seeds) / 2


@pytest.mark.parametrize("seed", range(6))
def test_pullbacks_of_random_formulas(seed):
    (f, *_), inputs = drawn(seed)
    names = [name for name in f.variables if name not in f.context.facts.integers]
    for pulled in rc.pullback(f, names[:2]) if names else ():
        fault = fault_in_latex(pulled, inputs, Sides([f], inputs, {**SIZES, "r": 2}).given)
        assert fault is None, fault


# Upper and lower indices

HEIGHTS = [
    "y^i = A^i_j x^j",
    "y^i = x^i sqrt(g_{jk} x^j x^k)",
    "h^i = A^i_j x^j; y = g_{ij} h^i h^j",
    "y_{i} = g_{ij} x^j / (1 + g_{kl} x^k x^l)",
    "F = A^i_i",
    "E = (A^i_j x^j - b^i) g_{i k} (A^k_l x^l - b^k)",
    "y = inv(g)^{ij} b_{i} b_{j}",
]


@pytest.mark.parametrize("text", HEIGHTS)
def test_upper_and_lower_indices(text):
    f = rc.parse(text)
    rng = np.random.default_rng(3)
    orders = f.context.facts.inputs
    inputs = {n: rng.uniform(0.3, 0.9, (3,) * k) + (3 * np.eye(3) if k == 2 else 0) for n, k in orders.items()}
    for name in f.variables[-2:]:
        found = list(faults([f, f.diff(name), f.diff(name, name)], inputs, {}))
        assert not found, found[0]


# Programs

PROGRAMS = [
    lambda A, x, y: np.mean((A @ x - y) ** 2),
    lambda A, x, y: (x - x.mean()) / np.sqrt(x.var() + 0.01),
    lambda A, x, y: y[1:] * y[:-1],
    lambda A, x, y: A[[0, 2, 0]].sum(0),
    lambda A, x, y: np.concatenate([x, y**2]),
    lambda A, x, y: np.max(A) * A.reshape(-1),
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program):
    rng = np.random.default_rng(5)
    f = rc.trace(program)(*[rng.uniform(0.3, 0.9, shape) for shape in ((3, 2), (2,), (3,))])
    inputs = {name: rng.uniform(0.3, 0.9, shape) for name, shape in (("A", (3, 2)), ("x", (2,)), ("y", (3,)))}
    known = {name: value for name, value in inputs.items() if name in f.context.facts.inputs}
    for name in [name for name in f.variables if name in inputs]:
        found = list(faults([f, f.diff(name), f.diff(name, name)], known, {}))
        assert not found, found[0]


# Identities


@pytest.mark.parametrize(
    "part", [0, *[pytest.param(k, marks=pytest.mark.thorough) for k in range(1, 24)]], ids=lambda part: f"{part}"
)
def test_identities(part):
    for row in IDENTITIES[part::24]:
        found = list(in_identity(row))
        assert not found, f"{row.name}: {found[0]}"


LEVELS = [("brief", False), ("full", False), ("normal", True), ("brief", True)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("detail", "sums"), LEVELS)
@pytest.mark.parametrize("part", [0, *[pytest.param(k, marks=pytest.mark.thorough) for k in (5, 9, 13)]])
def test_identities_in_other_detail(part, detail, sums):
    """In all levels of detail, and with signs for sums; and no line is wider than a page."""
    looked_at = 0
    for row in IDENTITIES[part::40]:
        chain = [row.derivative(order=order) for order in range(len(row.wrt) + 1)]
        derivation = chain[-1].derivation(detail, sums=sums)
        assert max(map(len, str(derivation).splitlines())) <= WIDTH, row.name
        for lines in (lines_of_text, lines_of_latex):
            found = list(Sides(chain, next(iter(cases(row))), {}).faults(lines(derivation)))
            assert not found, f"{row.name}: {found[0]}"
            looked_at += 1
    assert looked_at


ROUTES = {
    "y[i,j] = x[i,k] a[k,j]": {"x": (2, 3), "a": (3, 4)},
    "y[i] = softmax[i](x[i] / s)": {"x": (3,), "s": ()},
    "h[i] = tanh(W[i,j] x[j]); y[i] = h[i] / (1 + h[k] h[k])": {"W": (3, 2), "x": (2,)},
    "y = x[i] A[i,j] x[j]": {"x": (3,), "A": (3, 3)},
}


@pytest.mark.parametrize("coming", ["input", "function of the inputs", "nothing"])
@pytest.mark.parametrize("text", ROUTES)
def test_pullbacks_have_derivations(text, coming):
    """They are derivatives of ``l = y_bar[i] y[i]``, which the first step has as a text."""
    f, rng = rc.parse(text), np.random.default_rng(4)
    inputs = {name: rng.uniform(0.3, 0.9, shape) for name, shape in ROUTES[text].items()}
    bar = {"input": rc.tensors(f"y_bar[{','.join(f.indices)}]" if f.indices else "y_bar")[0], "nothing": None}.get(
        coming, f * 2
    )
    value = np.asarray(f(**inputs))
    given = {**inputs, "y_bar": rng.uniform(0.3, 0.9, value.shape)} if coming == "input" else inputs
    for name in inputs:
        pulled = rc.pullback(f, name, bar)
        derivation = pulled.derivation()
        root = rc.parse(derivation[0].text)
        by = next(step.left for step in derivation if isinstance(step.left, syntax.Derivative)).variable
        chain = [root, root.diff(text_form.render(by, text_form.ATOM))]
        found = list(Sides(chain, given).faults(lines_of_text(derivation)))
        assert not found, found[0]
        np.testing.assert_allclose(evaluate(chain[1], given, {}), evaluate(pulled, given, {}), rtol=1e-9)


@pytest.mark.parametrize("text", ROUTES)
def test_pushforwards_have_derivations(text):
    f, rng = rc.parse(text), np.random.default_rng(4)
    inputs = {name: rng.uniform(0.3, 0.9, shape) for name, shape in ROUTES[text].items()}
    for name, value in inputs.items():
        own = [n for axis in range(value.ndim) for n, axes in f.context.facts.groups if (name, axis) in axes][
            : value.ndim
        ]
        dot = rc.tensors(f"x_dot[{','.join('uvw'[: value.ndim])}]" if own else "x_dot")[0]
        target = f"{name}[{','.join('uvw'[: value.ndim])}]" if own else name
        pushed = rc.pushforward(f, {target: dot})
        derivation = pushed.derivation()
        given = {**inputs, "x_dot": rng.uniform(0.3, 0.9, value.shape)}
        found = list(Sides([f, f.diff(name)], given).faults(lines_of_text(derivation)))
        assert not found, found[0]
        assert derivation[-1].rule


def in_identity(row: Identity) -> Iterator[str]:
    chain = [row.derivative(order=order) for order in range(len(row.wrt) + 1)]
    try:
        chain[-1].derivation()
    except rc.InputError as refusal:
        assert "is not derived step by step" in str(refusal)
        return
    yield from faults(chain, next(iter(cases(row))), {})


# Examples


def parsed_in(file: Path) -> list[str]:
    """The texts that an example gives to ``rc.parse``: as they stand, or by a name."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    named = {
        node.targets[0].id: node.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "rc.parse"]
    texts = [a.value if isinstance(a, ast.Constant) else named.get(ast.unparse(a)) for c in calls for a in c.args[:1]]
    return [text for text in texts if isinstance(text, str)]


def point(f: rc.Formula) -> dict[str, np.ndarray]:
    """Arrays for the inputs of any formula; an axis that is read at places is long enough for it."""
    rng = np.random.default_rng(7)
    facts = f.context.facts
    agree = SizeClasses(f.expr, linked=facts.linked_sizes())
    groups = {agree.find(axis_size(*axis)): axis for _, axes in facts.groups for axis in axes}
    size = {group: 2 + at % 2 for at, group in enumerate(groups)}
    on = {axis: size[agree.find(axis_size(*axis))] for _, axes in facts.groups for axis in axes}
    shapes = {name: [on.get((name, axis), 9) for axis in range(order)] for name, order in facts.inputs.items()}
    return {
        name: rng.integers(0, 2, shape) if name in facts.integers else rng.uniform(0.3, 0.9, shape)
        for name, shape in shapes.items()
    }


def test_the_examples_are_found():
    assert sum(len(parsed_in(file)) for file in EXAMPLES) > 10


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_examples(file):
    in_example(file, slice(1))


@pytest.mark.thorough
@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_examples_by_all_inputs(file):
    in_example(file, slice(1, None))


def in_example(file: Path, which: slice) -> None:
    """The formulas of an example and their derivatives by some of their inputs."""
    for text in parsed_in(file):
        f = rc.parse(text)
        for name in [n for n in f.variables if n not in f.context.facts.integers][which]:
            chain = [f, f.diff(name)]
            second = chain[-1].diff(name)
            found = list(faults([*chain, second] if second.order < 5 else chain, point(f), {}))
            assert not found, f"{text}: {found[0]}"


# That a fault is found


def test_a_false_line_is_found():
    chain = [rc.parse("f = x[i] A[i,j] x[j]")]
    chain.append(chain[0].diff("x[p]"))
    rng = np.random.default_rng(0)
    inputs = {"x": rng.uniform(size=3), "A": rng.uniform(size=(3, 3))}
    lines = [*lines_of_text(chain[-1].derivation())]
    assert not list(Sides(chain, inputs).faults(iter(lines)))
    for at, line in enumerate(lines):
        for wrong in (f"2 {line.right}", "x[q]", f"{line.right} 1[n]", line.right[:-1]):
            planted = [*lines[:at], Line(line.rule, line.before, line.left, wrong), *lines[at + 1 :]]
            assert list(Sides(chain, inputs).faults(iter(planted))), wrong


def test_a_false_definition_of_a_part_is_found():
    text = "; ".join(["a0 = x", *[f"a{k + 1} = cos(a{k})*a{k}" for k in range(7)]])
    chain = [rc.parse(text), rc.parse(text).diff("x")]
    inputs = {"x": np.array(0.3)}
    lines = [*lines_of_text(chain[-1].derivation())]
    assert not list(Sides(chain, inputs).faults(iter(lines)))
    at = next(at for at, line in enumerate(lines) if line.left.startswith("D(a3"))
    lines[at] = Line("", [], lines[at].left, f"{lines[at].right} + 1")
    assert len(list(Sides(chain, inputs).faults(iter(lines)))) == 1


def test_a_false_derivative_is_found():
    chain = [rc.parse("y = x**3"), rc.parse("y = x**3").diff("x")]
    sides = Sides(chain, {"x": np.array(0.7)})
    assert sides.fault_in_values() is None
    sides.values[1] = sides.values[1] * 1.001
    assert "central differences" in (sides.fault_in_values() or "")


@pytest.mark.parametrize(
    "wrong", [r"y_{i} = x_{i} a_{j}", r"y_{i} = 2 x_{j} a_{j}", r"y_{j} = x_{j} a_{j}", "y_{i} = "]
)
def test_false_latex_is_found(wrong, monkeypatch):
    f = rc.parse("y[i] = x[j] a[j] 1[i]", sizes={"i": 2})
    inputs = {"x": np.array([0.2, 0.5]), "a": np.array([0.3, 0.9])}
    assert fault_in_latex(f, inputs, {}) is None
    monkeypatch.setattr(rc.Formula, "latex", lambda self: wrong)
    assert fault_in_latex(f, inputs, {})


def test_a_false_equation_is_found():
    left, right = rc.tensors("a[i] b[i]")
    equation = rc.Equation(left, right)
    same = {"a": np.array([1.0, 2.0]), "b": np.array([1.0, 2.0])}
    assert not list(faults_in_equation(equation, same, {}))
    assert list(faults_in_equation(equation, {**same, "b": np.array([1.0, 3.0])}, {}))
    assert fault_in_side([], "a[i] b[i]", "c[i]", same, {}, same["a"])
    assert fault_in_side(["t1[i] = 2 a[i]"], "t1[i]", "c[i]", same, {}, same["a"])


def test_differences_are_seen():
    one = np.ones(3)
    assert difference(one, one) is None and difference(one * (1 + 1e-5), one) and difference(np.ones((3, 1)), one)
