"""The checks of the calculus can fail: each fault planted in a rule, for every family of rules, is found."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable
from typing import Any

import pytest
from derivative_checks import (
    Case,
    check_adjoint,
    check_case,
    check_cuts,
    check_first,
    check_modes,
    check_pullback,
    check_pushforward,
    check_second,
    make_case,
)

from ricci.calculus.graph import Graph
from ricci.calculus.local import Edge
from ricci.expr import OPS, Change, Product, Sum, add, delta, function, product, triangle
from ricci.functions import activations as act
from ricci.functions import elementwise as el
from ricci.functions.axes import batch
from ricci.functions.matrix import symmetric_part
from ricci.simplify import RULES, Rewriting

SEEDS = 60
Plant = Callable[[pytest.MonkeyPatch], None]
Check = Callable[[Case], Any]


def check_some_cuts(case: Case) -> None:
    check_cuts(case, random.Random(0))


def wrapped(place: str, name: str, around: Callable[[Any], Any]) -> Plant:
    """Plants ``around(what is there)`` in the place of a function of a module."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        module = importlib.import_module(f"ricci.{place}")
        patch.setattr(module, name, around(getattr(module, name)))

    return plant


def partial(name: str, wrong: Callable, position: int = 0) -> Plant:
    """Plants another derivative into a row of the tables."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        op = OPS[name]
        found = [wrong if place == position else right for place, right in enumerate(op.partials)]
        object.__setattr__(op, "partials", tuple(found))  # rows are frozen, so a fixture puts them right again

    return plant


@pytest.fixture(autouse=True)
def rows_as_they_were():
    before = {name: op.partials for name, op in OPS.items()}
    yield
    for name, partials in before.items():
        object.__setattr__(OPS[name], "partials", partials)


# Local derivatives of products and sums


def wrong_label(product_edge: Callable) -> Callable:
    """The axes of a square operand are exchanged."""

    def faulty(node, position):
        edge, shape = product_edge(node, position), node.args[position].shape
        if len(shape) == 2 and shape[0] == shape[1]:
            edge.into = edge.into[::-1]
        return edge

    return faulty


def missing_delta(product_edge: Callable) -> Callable:
    """A label that an operand has twice is two labels in its derivative, and nothing links them."""

    def faulty(node, position):
        edge = product_edge(node, position)
        edge.terms = [
            (coef, [f for f in factors if not any(isinstance(x, tuple) and x[0] == "again" for x in f[1])])
            for coef, factors in edge.terms
        ]
        return edge

    return faulty


def missing_factor(product_edge: Callable) -> Callable:
    """The first of the other factors is forgotten, where no axis hangs on it."""

    def faulty(node, position):
        edge = product_edge(node, position)
        edge.terms = [(coef, factors[not factors[0][1] :] if factors else factors) for coef, factors in edge.terms]
        return edge

    return faulty


def of_kind(kind: type, change: Callable[[Edge], None]) -> Callable[[Callable], Callable]:
    def around(local: Callable) -> Callable:
        def faulty(node, position):
            edge = local(node, position)
            if isinstance(node, kind) and edge is not None:
                change(edge)
            return edge

        return faulty

    return around


def positive(edge: Edge) -> None:
    edge.terms = [(abs(coef), factors) for coef, factors in edge.terms]


def of_size_one(edge: Edge) -> None:
    edge.terms = [(1 if coef > 0 else -1, factors) for coef, factors in edge.terms]


# Functions over axes


def softmax_diagonal(operands: tuple, y: Any, params: tuple) -> Any:
    b, n = batch(y, 1), y.shape[-1]
    return product([(y, (*b, "k")), (delta(n), "kl")], (*b, "k", "l"))


def inverse_turned(operands: tuple, y: Any, params: tuple) -> Any:
    b = batch(y, 2)
    return -product([(y, (*b, "i", "q")), (y, (*b, "p", "j"))], (*b, "i", "j", "p", "q"))


def inverse_not_turned(operands: tuple, y: Any, params: tuple) -> Any:
    return function(OPS["inv"], operands)


def cholesky_without_halves(operands: tuple, y: Any, params: tuple, change: Any) -> Any:
    b, n, k = batch(y, 2), y.shape[-1], function(OPS["inv"], (y,))
    factors = [(y, (*b, "i", "a")), (triangle(n, n), "aj"), (k, (*b, "a", "p")), (k, (*b, "j", "q"))]
    return product([*factors, (symmetric_part(change), (*b, "p", "q"))], (*b, "i", "j"))


def max_without_shares(operands: tuple, y: Any, params: tuple) -> Any:
    (x,) = operands
    b = batch(x, 1)
    return el.equal(x, product([(y, b)], (*b, "k"), {"k": x.shape[-1]}))


def max_at_the_least(operands: tuple, y: Any, params: tuple) -> Any:
    return OPS["min"].partials[0](operands, function(OPS["min"], operands), params)  # pyright: ignore[reportCallIssue, reportOptionalCall]


def unsorted(operands: tuple, y: Any, params: tuple) -> Any:
    b, n = batch(y, 1), y.shape[-1]
    return product([(delta(n), "kl")], (*b, "k", "l"), dict(zip(b, y.shape, strict=False)))


def eigenvectors_in_rows(operands: tuple, y: Any, params: tuple) -> Any:
    b, v = batch(y, 1), function(OPS["eigh_vectors"], operands)
    return product([(v, (*b, "i", "p")), (v, (*b, "i", "q"))], (*b, "i", "p", "q"))


def negative(name: str, position: int = 0) -> Plant:
    right = OPS[name].partials[position]
    return partial(name, lambda *args: -right(*args), position)  # pyright: ignore[reportCallIssue, reportOptionalCall]


# Composition and elimination


def a_term_forgotten(opened: Callable) -> Callable:
    return lambda coef, factors, kept: opened(coef, factors, kept)[:1]


def wrong_renaming(compose: Callable) -> Callable:
    """The axes between two edges are matched the wrong way round."""

    def faulty(outer, inner):
        if len(inner.out) == 2 and len({inner.sizes[label] for label in inner.out}) == 1:
            inner = Edge(inner.terms, inner.out[::-1], inner.into, inner.sizes)
        return compose(outer, inner)

    return faulty


def lost_coefficients(compose: Callable) -> Callable:
    def faulty(outer, inner):
        return compose(Edge([(1, fs) for _, fs in outer.terms], outer.out, outer.into, outer.sizes), inner)

    return faulty


def one_of_parallel(combine: Callable) -> Callable:
    return lambda edges: edges[-1]


def replaced_edge(eliminate: Callable) -> Callable:
    """An edge that is there already is replaced, not added to."""

    def faulty(self, vertex):
        for high in self.above[vertex]:
            for low in self.below[vertex]:
                if low in self.below[high]:
                    del self.below[high][low], self.above[low][high]
        eliminate(self, vertex)

    return faulty


def forgotten_user(eliminate: Callable) -> Callable:
    """Of several users of a vertex, the last is forgotten."""

    def faulty(self, vertex):
        if len(self.above[vertex]) > 1:
            high, _ = self.above[vertex].popitem()
            del self.below[high][vertex]
        eliminate(self, vertex)

    return faulty


def method(name: str, around: Callable[[Callable], Callable]) -> Plant:
    return lambda patch: patch.setattr(Graph, name, around(getattr(Graph, name)))


# Sweeps: they have the graph to themselves


class FirstOperandOnly(Graph):
    def __init__(self, outputs, inputs):
        super().__init__(outputs, inputs)
        self.below = {node: dict(list(row.items())[:1]) for node, row in self.below.items()}


class OutOfOrder(Graph):
    def __init__(self, outputs, inputs):
        super().__init__(outputs, inputs)
        self.order = [*self.order[-2:-1], *self.order[:-2], *self.order[-1:]] if len(self.order) > 2 else self.order


def in_sweeps(kind: type[Graph]) -> Plant:
    return lambda patch: patch.setattr("ricci.calculus.graph.Graph", kind)


def doubled(edge_of: Callable) -> Callable:
    def faulty(e, order):
        edge = edge_of(e, order)
        return Edge([(2, factors) for _, factors in edge.terms], edge.out, edge.into, edge.sizes)

    return faulty


def doubled_forward(tangents: Callable) -> Callable:
    return lambda outputs, dots: {node: add([(2, dot)]) for node, dot in tangents(outputs, dots).items()}


# Simplification


def rule(name: str, change: Callable = lambda e: -e) -> Plant:
    def plant(patch: pytest.MonkeyPatch) -> None:
        right = RULES[name]

        def wrong(e):
            result = right.apply(e)
            return None if result is None else change(result)

        patch.setitem(RULES, name, Rewriting(name, wrong, right.heads, right.needs, right.assumes, right.guard))

    return plant


FAULTS: dict[str, tuple[Plant, tuple[str | None, ...], Check]] = {
    # products and sums
    "product: wrong label": (wrapped("calculus.local", "_product_edge", wrong_label), (None,), check_first),
    "product: no delta for a repeated label": (
        wrapped("calculus.local", "_product_edge", missing_delta),
        (None,),
        check_first,
    ),
    "product: missing factor": (wrapped("calculus.local", "_product_edge", missing_factor), (None,), check_first),
    "sum: signs": (wrapped("calculus.graph", "local", of_kind(Sum, positive)), (None,), check_first),
    "sum: coefficients": (wrapped("calculus.graph", "local", of_kind(Sum, of_size_one)), (None,), check_first),
    "product: doubled": (
        wrapped("calculus.graph", "local", of_kind(Product, lambda e: setattr(e, "terms", [(2, e.terms[0][1])]))),
        (None,),
        check_second,
    ),
    # elementwise partials
    "tanh": (partial("tanh", lambda x, y: 1 - y), ("tanh",), check_first),
    "cos": (partial("cos", lambda x, y: el.sin(x)), ("cos",), check_first),
    "sin, at second order": (partial("cos", lambda x, y: el.sin(x)), ("sin",), check_second),
    "sigmoid": (partial("sigmoid", lambda x, y: y), ("sigmoid",), check_first),
    "exp2": (partial("exp2", lambda x, y: y), ("exp2",), check_first),
    "gelu": (partial("gelu", lambda x, y: act.erfc(-x / 2**0.5) / 2), ("gelu",), check_first),
    "abs": (partial("abs", lambda x, y: y / y), ("abs",), check_first),
    "logaddexp": (partial("logaddexp", lambda a, b, y: act.sigmoid(b - a)), ("logaddexp",), check_first),
    "atan2 by the second": (negative("atan2", 1), ("atan2",), check_first),
    "power by the exponent": (partial("power", lambda a, b, y: y, 1), ("power",), check_first),
    "maximum": (partial("maximum", lambda a, b, y: el.less(a, b)), ("maximum",), check_first),
    "where": (partial("where", lambda c, a, b, y: el.where(c, 0, 1), 1), ("where",), check_first),
    # functions over axes
    "softmax": (partial("softmax", softmax_diagonal), ("softmax",), check_first),
    "logsumexp, at second order": (partial("softmax", softmax_diagonal), ("logsumexp",), check_second),
    "inv": (partial("inv", inverse_turned), ("inv",), check_first),
    "logdet": (partial("logdet", inverse_not_turned), ("logdet",), check_first),
    "det": (negative("det"), ("det",), check_first),
    "solve": (negative("solve"), ("solve",), check_first),
    "cholesky": (partial("cholesky", Change(cholesky_without_halves)), ("cholesky",), check_first),
    "eigvalsh": (partial("eigvalsh", eigenvectors_in_rows), ("eigvalsh",), check_first),
    "max: shares": (partial("max", max_without_shares), ("max with ties",), check_first),
    "max: place": (partial("max", max_at_the_least), ("max",), check_first),
    "sort": (partial("sort", unsorted), ("sort",), check_first),
    # composition, elimination
    "composition: a term forgotten": (
        wrapped("calculus.local", "opened", a_term_forgotten),
        (None, "softmax"),
        check_case,
    ),
    "composition: wrong renaming": (wrapped("calculus.graph", "compose", wrong_renaming), (None, "sin"), check_first),
    "composition: coefficients": (wrapped("calculus.graph", "compose", lost_coefficients), (None, "sin"), check_first),
    "elimination: one of parallel edges": (
        wrapped("calculus.graph", "combine", one_of_parallel),
        (None,),
        check_first,
    ),
    "elimination: an edge replaced": (method("eliminate", replaced_edge), (None, "where"), check_modes),
    "elimination: a user forgotten": (method("eliminate", forgotten_user), (None, "where"), check_modes),
    "cuts: a node forgotten": (
        wrapped("calculus.modes", "combine", lambda combine: lambda edges: combine(edges[:1])),
        (None, "where"),
        check_some_cuts,
    ),
    # sweeps
    "forward sweep: one operand": (in_sweeps(FirstOperandOnly), (None, "power"), check_pushforward),
    "forward sweep: order": (in_sweeps(OutOfOrder), (None, "power"), check_pushforward),
    "reverse sweep: one operand": (in_sweeps(FirstOperandOnly), (None, "power"), check_pullback),
    "reverse sweep: order": (in_sweeps(OutOfOrder), (None, "power"), check_pullback),
    "sweeps: a factor of two": (wrapped("calculus.graph", "edge_of", doubled), (None, "sin"), check_pullback),
    "sweeps: forward twice": (wrapped("calculus.graph", "tangents", doubled_forward), (None, "sin"), check_adjoint),
    # simplification
    "simplification: powers": (rule("equal factors to a power"), ("cumprod", "abs"), check_modes),
    "simplification: factors": (rule("factor"), (None, "sigmoid"), check_modes),
    "simplification: sigmoid": (rule("sigmoid(x) - 1"), ("sigmoid", "silu", "softplus"), check_modes),
}


def search(tops: tuple[str | None, ...], check: Check) -> None:
    for seed in range(SEEDS):
        for top in tops:
            check(make_case(seed, top, seed % 3 == 1))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch):
    plant, tops, check = FAULTS[fault]
    plant(monkeypatch)
    with pytest.raises(AssertionError, match="make_case"):
        search(tops, check)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "check", list(dict.fromkeys(check for _, _, check in FAULTS.values())), ids=lambda f: f.__name__
)
def test_without_a_fault_nothing_is_found(check: Check):
    for top in dict.fromkeys(top for _, tops, each in FAULTS.values() for top in tops if each is check):
        for seed in range(12 if top is None else 2):
            check(make_case(seed, top, seed % 3 == 1))


def test_the_report_names_the_case_and_both_values(monkeypatch: pytest.MonkeyPatch):
    FAULTS["tanh"][0](monkeypatch)
    with pytest.raises(AssertionError) as caught:
        search(("tanh",), check_first)
    first, second, *rest = str(caught.value).splitlines()
    assert first.startswith("derivative and differences: ") and " and " in first.partition(": ")[2]
    assert second.startswith("make_case(") and "tanh(" in "\n".join(rest[:2])
