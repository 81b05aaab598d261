"""Orders of elimination: all of them give the same derivatives, and their costs are what one counts by hand."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ricci as rc
from ricci.calculus import modes, orders
from ricci.calculus.graph import Graph
from ricci.calculus.orders import Counted, Scalars, Skeleton, annealed_order, greedy_order, skeleton, skeleton_of
from ricci.calculus.weights import NUMBER, SIGN, weigh
from ricci.errors import InputError, RuleError
from ricci.expr import Expr, variables
from ricci.user.formula import as_formula


def _load(name: str) -> Any:
    path = Path(__file__).parents[2] / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


F = _load("functions_elimination")
FOUR = [("forward", 0.0), ("reverse", 0.0), ("cross-country", 0.0), ("cross-country", 0.05)]
NORM = """m[b] = 1/|h| 1[h] x[b,h]; v[b] = 1/|h| 1[h] (x[b,h] - 1[h] m[b])**2
    y[b,h] = (x[b,h] - 1[h] m[b]) / sqrt(v[b] + eps) g[h] + 1[b] beta[h]"""
TENSORS = {
    "two layers": ("y[i] = tanh(A[i,j] tanh(B[j,k] x[k]))", {"A": (2, 3), "B": (3, 4), "x": (4,)}),
    "logistic": ("l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))", {"y": (3,), "X": (3, 2), "w": (2,)}),
    "factorisation": ("l = (T[i,j] - U[i,k] V[j,k])**2 1[i] 1[j]", {"T": (2, 3), "U": (2, 2), "V": (3, 2)}),
    "layer norm": (NORM, {"x": (2, 3), "g": (3,), "beta": (3,), "eps": ()}),
    "attention": (
        "p[i,j] = softmax[j](q[i,d] k[j,d] / sqrt(|d|)); o[i,e] = p[i,j] v[j,e]",
        {"q": (2, 3), "k": (4, 3), "v": (4, 2)},
    ),
}
task_of = pytest.mark.parametrize("task", F.TASKS, ids=lambda task: task.name)
formula_of = pytest.mark.parametrize(("text", "shapes"), TENSORS.values(), ids=TENSORS.keys())


def exprs(task: Any) -> tuple[list[Expr], list[Expr], Any]:
    inputs = rc.tensors(" ".join(task.inputs))
    outputs = [as_formula(y) for y in task.function(rc, *inputs)]
    context = outputs[0].context
    for y in outputs:
        context = context.merged(y.context)
    return [y.expr for y in outputs], [x.expr for x in inputs], context


def numbers(rows: list[list[Expr]], task: Any, context: Any) -> np.ndarray:
    values = dict(zip(task.inputs, task.point, strict=True))
    formulas = [[rc.Formula(e, (), context) for e in row] for row in rows]
    return np.array([[float(f(**{n: values[n] for n in f.variables})) for f in row] for row in formulas])


def eliminated(ys: list[Expr], xs: list[Expr], order: list[Expr]) -> tuple[list[list[Expr]], int]:
    counted = Counted(Graph(ys, xs))
    for vertex in order:
        counted.eliminate(vertex)
    return [[counted.graph.derivative(y, x) for x in xs] for y in ys], counted.cost


def shuffled(ys: list[Expr], xs: list[Expr], seed: int) -> list[Expr]:
    order = orders.vertices(Graph(ys, xs))
    random.Random(seed).shuffle(order)
    return order


def differences(task: Any, step: float = 1e-5) -> np.ndarray:
    columns = []
    for place in range(len(task.point)):
        move = np.zeros(len(task.point))
        move[place] = step
        high, low = (np.array(task.function(F.FLOATS, *(np.array(task.point) + sign * move))) for sign in (1, -1))
        columns.append((high - low) / (2 * step))
    return np.array(columns).T


# The same derivative, whatever the order.


@pytest.mark.sampled(2)
@task_of
def test_all_orders_give_the_jacobian_of_the_five_functions(task):
    ys, xs, context = exprs(task)
    expected = differences(task)
    found = [modes.derivatives(ys, xs, mode, effort) for mode, effort in FOUR]
    found += [eliminated(ys, xs, shuffled(ys, xs, seed))[0] for seed in range(3)]
    first = numbers(found[0], task, context)
    np.testing.assert_allclose(first, expected, rtol=1e-6, atol=1e-7)
    for rows in found[1:]:
        np.testing.assert_allclose(numbers(rows, task, context), first, rtol=1e-10, atol=1e-12)


@task_of
def test_the_five_functions_mean_the_same_for_floats_and_formulas(task):
    ys, _, context = exprs(task)
    assert numbers([ys], task, context)[0] == pytest.approx(task.function(F.FLOATS, *task.point), rel=1e-12)


def test_the_gradient_of_a_call_is_the_closed_form():
    task = F.TASKS[-1]
    values = dict(zip(task.inputs, task.point, strict=True))
    found = F.call_price(rc, *rc.tensors(" ".join(task.inputs))).diff_all(*task.inputs)
    assert [float(g(**values)) for g in found] == pytest.approx(task.function(F.FLOATS, *task.point), rel=1e-12)


@formula_of
def test_all_orders_give_the_same_derivatives_of_tensors(text, shapes):
    y = rc.parse(text).expr
    xs: list[Expr] = [*variables(y)]
    found = [modes.derivatives([y], xs, mode, effort)[0] for mode, effort in FOUR]
    found += [eliminated([y], xs, shuffled([y], xs, seed))[0][0] for seed in range(6)]
    for each in zip(*found, strict=True):
        first, *others = [value(e, text, shapes) for e in each]
        for other in others:
            np.testing.assert_allclose(other, first, rtol=1e-9, atol=1e-12)


def value(e: Expr, text: str, shapes: dict[str, tuple[int, ...]]) -> np.ndarray:
    rng = np.random.default_rng(1)
    inputs: dict[str, Any] = {name: rng.uniform(0.5, 1.5, shape) for name, shape in shapes.items()}
    names = [f"axis{position}" for position in range(len(e.shape))]
    return np.asarray(rc.Formula(e, names, rc.parse(text).context)(**inputs))


@formula_of
def test_every_cut_gives_the_derivative(text, shapes):
    y = rc.parse(text).expr
    x = variables(y)[0]
    whole = value(modes.derivative(y, x), text, shapes)
    vertices = orders.vertices(Graph([y], [x]))
    rng = random.Random(2)
    cuts = 0
    for _ in range(40):
        nodes = rng.sample(vertices, rng.randint(1, min(3, len(vertices))))
        try:
            through = modes.through_cut(y, x, nodes)
        except RuleError:
            continue
        cuts += 1
        np.testing.assert_allclose(value(through, text, shapes), whole, rtol=1e-9, atol=1e-12)
    assert cuts


@pytest.mark.parametrize("text", [TENSORS[name][0] for name in ("two layers", "logistic", "factorisation")])
def test_the_derivative_is_one_object_in_all_modes_where_its_form_is_unique(text):
    y = rc.parse(text)
    for name in y.variables:
        assert len({y.diff(name, mode=mode) for mode in modes.MODES}) == 1


def test_an_output_may_be_an_operand_of_another():
    a, b = rc.tensors("a b")
    inner = a * b
    outer = rc.sin(inner)
    expected = [[b.expr, a.expr], [(rc.cos(inner) * b).expr, (rc.cos(inner) * a).expr]]
    for mode in modes.MODES:
        assert modes.derivatives([inner.expr, outer.expr], [a.expr, b.expr], mode) == expected


def test_an_output_that_is_piecewise_constant_may_be_used_by_another():
    (x,) = rc.tensors("x")
    steps = rc.floor(x)
    for mode, effort in FOUR:
        rows = modes.derivatives([steps.expr, (x * steps).expr], [x.expr], mode, effort)
        assert [float(rc.Formula(row[0], (), x.context)(x=2.5)) for row in rows] == [0.0, 2.0]


# Counts, by hand.


def costs(outputs: Any, wrt: Any) -> list[int]:
    return [rc.elimination_cost(outputs, wrt, mode, effort) for mode, effort in FOUR]


def test_a_chain_takes_a_multiplication_for_every_inner_vertex():
    (x,) = rc.tensors("x")
    assert costs(rc.sin(rc.cos(rc.exp(rc.tanh(x)))), "x") == [3, 3, 3, 3]


def test_a_diamond():
    (x,) = rc.tensors("x")
    top = rc.exp(x)
    both = rc.sin(top) * rc.cos(top)  # forward: exp 2, sin 1, cos 1; reverse: cos 1, sin 1, exp 1
    assert costs(both, "x") == [4, 3, 3, 3]


def test_many_inputs_and_one_output_are_for_reverse_and_the_other_way_round():
    a, b, c, d = rc.tensors("a b c d")
    wide = rc.sin(rc.exp(a * b * c * d))  # product: 4 below; exp: 1 below in reverse, 4 in forward
    assert costs(wide, ["a", "b", "c", "d"]) == [8, 5, 5, 5]
    top = rc.exp(rc.tanh(a))
    outputs = [rc.sin(top), rc.cos(top), rc.tan(top)]
    assert costs(outputs, "a") == [4, 6, 4, 4]


@pytest.mark.parametrize("size", [3, 5, 12])
def test_a_product_of_pairs(size):
    """Speelpenning's product, one factor at a time: 2 for each partial product in reverse, as many as it has else."""
    edges = {(size, 0): NUMBER, (size, 1): NUMBER}
    for k in range(2, size):
        edges |= {(size + k - 1, size + k - 2): NUMBER, (size + k - 1, k): NUMBER}
    bones = skeleton(edges, range(size), [2 * size - 2], [1] * (2 * size - 1))
    assert bones.cost(bones.vertices) == size * (size - 1) // 2 - 1
    assert bones.cost(bones.vertices[::-1]) == 2 * (size - 2)
    assert bones.cost(greedy_order(bones)) <= 2 * (size - 2)


def test_a_product_is_one_vertex_here():
    assert costs(rc.parse("y = a b c d e"), list("abcde")) == [0, 0, 0, 0]


def lighthouse(m: Any, nu: Any, gamma: Any, omega: Any, t: Any) -> list[Any]:
    beam = m.tan(omega * t)
    y = nu * beam / (gamma - beam)
    return [y, gamma * y]


def test_the_lighthouse():
    """ω t: 2 below, 1 above. tan: 2 below and y1, y2 above, and the difference, which is free. And so on."""
    assert costs(lighthouse(rc, *rc.tensors("nu gamma omega t")), ["nu", "gamma", "omega", "t"])[:2] == [14, 8]
    steps = {"ωt": "ω t", "tan": "ωt", "νtan": "ν tan", "γ-tan": "γ tan", "y1": "νtan γ-tan", "y2": "γ y1"}
    at = {name: place for place, name in enumerate(["ν", "γ", "ω", "t", *steps])}
    edges = {
        (at[high], at[low]): SIGN if high == "γ-tan" else NUMBER for high, lows in steps.items() for low in lows.split()
    }
    bones = skeleton(edges, range(4), [at["y1"], at["y2"]], [1] * len(at))
    forward = [at[name] for name in ("ωt", "tan", "γ-tan", "νtan", "y1")]
    assert bones.cost(forward) == 2 + 2 + 2 + 3 + 4
    assert bones.cost(forward[::-1]) == 2 + 4 + 0 + 2 + 4


def test_signs_and_deltas_are_free():
    a, b, c = rc.tensors("a b c")
    assert costs(rc.sin(a - b + c), ["a", "b", "c"]) == [0, 0, 0, 0]
    assert costs(rc.sin(2 * a + b), ["a", "b"]) == [1, 1, 1, 1]
    assert costs(rc.parse("y[i,j] = sin(x[j,i] + z[i,j])"), ["x", "z"]) == [0, 0, 0, 0]
    x, s = rc.tensors("x[i] s")
    assert costs(rc.exp(x + s), ["x", "s"]) == [0, 0, 0, 0]


def test_labels_that_edges_carry_multiply():
    sizes = {"i": 2, "j": 3, "k": 5}
    y = rc.parse("y[i] = tanh(A[i,j] tanh(B[j,k] x[k]))", sizes=sizes)
    inner, outer = 3 * 5, 2 * 3  # tanh' times B, tanh' times A
    assert rc.elimination_cost(y, "x", "forward") == inner + 2 * 3 * 5 + 2 * 5
    assert rc.elimination_cost(y, "x", "reverse") == outer + outer + 2 * 3 * 5


def test_a_symbolic_size_counts_as_assumed():
    y = rc.parse("y[i] = exp(sin(x[i]))")
    assert costs(y, "x") == [16, 16, 16, 16]  # two diagonals: only the delta has two axes


# Orders and their search.


@task_of
def test_annealed_is_no_worse_than_greedy_nor_greedy_than_both_directions(task):
    ys, xs, _ = exprs(task)
    forward, reverse, greedy, annealed = [modes.eliminated(ys, xs, mode, effort)[1] for mode, effort in FOUR]
    assert annealed <= greedy <= min(forward, reverse)


def test_annealing_finds_what_greedy_does_not():
    task = F.TASKS[0]
    ys, xs, _ = exprs(task)
    bones = skeleton_of(Graph(ys, xs))
    greedy, annealed = bones.cost(greedy_order(bones)), bones.cost(annealed_order(bones, 0.3))
    assert annealed < greedy


def test_annealing_is_the_same_every_time():
    ys, xs, _ = exprs(F.TASKS[1])
    bones = skeleton_of(Graph(ys, xs))
    assert annealed_order(bones, 0.1) == annealed_order(bones, 0.1)
    assert sorted(annealed_order(bones, 0.1, seed=5)) == bones.vertices


@formula_of
def test_the_skeleton_foretells_the_cost(text, shapes):
    y = rc.parse(text).expr
    xs: list[Expr] = [*variables(y)]
    for seed in range(4):
        graph = Graph([y], xs)
        order = shuffled([y], xs, seed)
        number = {node: position for position, node in enumerate(graph.order)}
        cost = eliminated([y], xs, order)[1]
        foretold = skeleton_of(graph).cost([number[v] for v in order])
        # that the deviations from a mean add up to zero is seen by the edges only
        assert foretold == cost or (foretold > cost and text == NORM)


def random_graph(seed: int) -> tuple[dict[tuple[int, int], Any], list[int], list[int], list[int]]:
    rng = random.Random(seed)
    nodes = rng.randint(4, 14)
    inputs = list(range(rng.randint(1, 3)))
    edges = {}
    for high in range(len(inputs), nodes):
        for low in rng.sample(range(high), min(high, rng.randint(1, 3))):
            edges[high, low] = rng.choice((NUMBER, NUMBER, SIGN))
    outputs = [v for v in range(nodes) if all(low != v for _, low in edges) or rng.random() < 0.1]
    return edges, inputs, [v for v in outputs if v not in inputs], [1] * nodes


def by_paths(bones: Skeleton, order: list[int]) -> int:
    """The cost counted from its meaning: an edge is there if a path through eliminated vertices is; a lone one of signs
    is free."""
    gone: set[int] = set()
    total = 0

    def paths(high: int, low: int) -> list[bool]:
        """For each path from ``low`` to ``high`` through what is gone, whether it is free."""
        found = [bones.edges[high, low].free] if (high, low) in bones.edges else []
        for middle in gone:
            if (high, middle) in bones.edges:
                found += [bones.edges[high, middle].free and free for free in paths(middle, low)]
        return found

    def dear(high: int, low: int) -> bool:
        found = paths(high, low)
        return bool(found) and found != [True]

    for v in order:
        rest = [u for u in range(len(bones.sizes)) if u not in gone and u != v]
        total += sum(dear(v, low) for low in rest) * sum(dear(high, v) for high in rest)
        gone.add(v)
    return total


@pytest.mark.parametrize("seed", range(30))
def test_both_skeletons_count_what_the_paths_say(seed):
    parts = random_graph(seed)
    fast, general = Scalars(*parts), Skeleton(*parts)
    order = list(fast.vertices)
    random.Random(seed).shuffle(order)
    assert fast.cost(order) == general.cost(order) == by_paths(fast, order)
    best = annealed_order(fast, 0.02)
    assert sorted(best) == fast.vertices
    directions = (fast.cost(fast.vertices), fast.cost(fast.vertices[::-1]))
    assert fast.cost(best) <= fast.cost(greedy_order(fast)) <= min(directions)


def test_a_weight_knows_deltas_inside_sums_and_products():
    graph = Graph([rc.parse("y[i] = exp(sin(x[i]) - tanh(x[i]))").expr], [rc.tensors("x[i]")[0].expr])
    counted = Counted(graph)
    for vertex in orders.vertices(graph):
        counted.eliminate(vertex)
    (row,) = [row for row in graph.below.values() if row]
    (edge,) = row.values()
    weight = weigh(edge)
    assert weight.out == weight.into and not weight.free and weight.carried == {0}


def test_there_are_four_modes_only():
    y = rc.parse("y = sin(a b)")
    with pytest.raises(InputError, match="no mode 'sideways'; the modes are auto, forward"):
        rc.elimination_cost(y, "a", "sideways")
    with pytest.raises(InputError, match="no mode"):
        y.diff("a", mode="backward")
    with pytest.raises(InputError, match="no variable 'c'"):
        rc.elimination_cost([y, rc.parse("z = b")], "c")


def test_nodes_that_do_not_separate_are_no_cut():
    a, b = rc.tensors("a b")
    inner = rc.sin(a)
    with pytest.raises(RuleError, match="no cut"):
        (inner * rc.exp(a) * b).diff("a", cut=[inner])


def test_a_structure_in_a_sum_within_a_factor_is_not_made():
    """The derivative of softmax, ``s (δ - s)``, times a number: its delta merges wherever it stands."""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(2, 24, 6)), [rng.normal(size=(6, 3, 2)) for _ in range(3)]

    def attention(w, x):
        q, k, v = [np.einsum("bnd,dhe->bhne", x, part) for part in w]
        scores = np.einsum("bhne,bhme->bhnm", q, k) / 3
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights = weights / weights.sum(-1, keepdims=True)
        return (np.einsum("bhnm,bhme->bnhe", weights, v) ** 2).sum()

    gradient = rc.grad(attention)
    found = gradient(w, x)
    (program,) = gradient._programs.all().values()
    steps = program.compiled.plan.program.steps
    assert max(step.out.entries for step in steps) <= 2 * 3 * 24 * 24
    for part, moved in zip(found, w, strict=True):
        step = 1e-6 * rng.normal(size=moved.shape)
        others = [m + step if m is moved else m for m in w], [m - step if m is moved else m for m in w]
        assert (attention(others[0], x) - attention(others[1], x)) / 2 == pytest.approx((part * step).sum(), rel=1e-4)
