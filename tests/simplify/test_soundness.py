"""Simplification on random expressions: values are kept, costs do not rise, and once is enough."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from ricci.calculus.modes import derivative
from ricci.expr import HALF, Expr, Function, broadcast, check, constant, topological, variables
from ricci.functions import activations as act
from ricci.functions import elementwise as el
from ricci.functions import reductions as r
from ricci.simplify import RULES, Rewriting, cost, simplify
from ricci.testing import Sample, expressions
from ricci.testing.checking import difference
from ricci.testing.entries_by_loops import from_array
from ricci.testing.interpreter import interpret

EXAMPLES = settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))  # pyright: ignore[reportArgumentType]


def total(e: Expr) -> Expr:
    """The sum over the last axis, spread over it again."""
    return broadcast(r.sum_(e, -1), range(e.order - 1), e.shape) if e.order else e


PATTERNS = [
    lambda x, y: el.log(1 + el.exp(x)),
    lambda x, y: el.log(el.exp(x) + el.exp(y)),
    lambda x, y: el.log(total(el.exp(x))),
    lambda x, y: el.exp(x) / total(el.exp(x)),
    lambda x, y: y * el.log(el.exp(x) / total(el.exp(x))),
    lambda x, y: x - el.log(total(el.exp(x))),
    lambda x, y: el.log(total(el.exp(x) / total(el.exp(x)))) + y,
    lambda x, y: el.exp(x) / (1 + el.exp(x)) ** 2,
    lambda x, y: 1 / (1 + el.exp(-x)),
    lambda x, y: y * act.sigmoid(x) * (1 - act.sigmoid(x)),
    lambda x, y: 2 * act.sigmoid(x) - 2 * act.sigmoid(x) ** 2 + y,
    lambda x, y: act.softplus(x - y) - x + y,
    lambda x, y: el.log(act.sigmoid(x)) + act.softplus(y) - act.softplus(-y),
    lambda x, y: (el.exp(x) - el.exp(-x)) / (el.exp(x) + el.exp(-x)),
    lambda x, y: y * el.sin(x) ** 2 + y * el.cos(x) ** 2 - x,
    lambda x, y: el.cosh(x) ** 2 - el.sinh(x) ** 2 + y,
    lambda x, y: el.sqrt(x**2) * el.sign(x),
    lambda x, y: el.sqrt(4 * x**2) + el.abs_(y) ** 2,
    lambda x, y: x * x * el.exp(y) * el.exp(-y),
    lambda x, y: el.exp(x) * el.sqrt(el.exp(x)) / el.exp(x),
    lambda x, y: el.tanh(-x) * el.cosh(x) + el.exp(y) - 1,
    lambda x, y: el.log(2 * el.exp(x) * el.cosh(y)),
    lambda x, y: act.relu(x) * el.where(el.less(0, x), 1, 0) * el.less(0, x),
    lambda x, y: x * el.sin(y) + el.exp(y) + 2 * x * el.cos(y),
]


@st.composite
def rich(draw) -> tuple[Expr, dict, dict]:
    """A random expression, moderate in size, with patterns on top that rules are there for."""
    sample = draw(expressions(max_size=6, symbolic=draw(st.booleans())))
    e = el.tanh(sample.build())
    for _ in range(draw(st.integers(1, 3))):
        other = e if draw(st.booleans()) else el.sin(2 * e + draw(st.sampled_from([0, 1, -1])))
        e = draw(st.sampled_from(PATTERNS))(e, other)
        e = constant(draw(st.sampled_from([1, 1, -2]))) * el.atan(e)  # bounded: nothing overflows before or after
    return e, sample.inputs, sample.sizes


def fault(e: Expr, inputs: dict, sizes: dict, rules: dict | None = None) -> str | None:
    """What is wrong with the simplification of ``e``, in words."""
    trace: list = []
    result = simplify(e, trace, rules)
    check(result)
    before, after = interpret([e], inputs, sizes)[0], interpret([result], inputs, sizes)[0]
    found = difference("before", from_array(before), "after", from_array(after), 1e-8)
    used = [step.rule for step in trace]
    if found is not None and np.all(np.isfinite(before)):
        return f"{found} ({', '.join(used)})"
    unguarded = any(not RULES[name].guard for name in used if name in RULES)
    if cost(result) > cost(e) * (1.5 if unguarded else 1):  # a stable form may cost more, if the unstable is shared
        return f"the cost rises from {cost(e)} to {cost(result)} ({', '.join(used)})"
    if simplify(result, None, rules) is not result:
        return f"simplifying again changes it again ({', '.join(used)})"
    return None


@EXAMPLES
@given(expressions(max_size=12))
def test_random_expressions(sample: Sample):
    assert fault(sample.build(), sample.inputs, sample.sizes) is None


@EXAMPLES
@given(expressions(max_size=12, symbolic=True))
def test_random_expressions_with_symbolic_sizes(sample: Sample):
    assert fault(sample.build(), sample.inputs, sample.sizes) is None


@EXAMPLES
@given(rich())
def test_expressions_that_rules_are_for(case: tuple[Expr, dict, dict]):
    assert fault(*case) is None


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))  # pyright: ignore[reportArgumentType]
@given(rich(), st.integers(0, 3))
def test_derivatives(case: tuple[Expr, dict, dict], seed: int):
    """The derivative of the simplified function, simplified, is the derivative."""
    e, inputs, sizes = case
    found = [x for x in variables(e) if inputs[x.name].dtype.kind == "f"]
    places = {"argmax", "argmin", "argsort"}  # they refuse
    assume(found and not any(isinstance(n, Function) and n.op.name in places for n in topological(e)))
    x = found[seed % len(found)]
    plain, stable = derivative(e, x), simplify(derivative(simplify(e), x))
    before, after = interpret([plain], inputs, sizes)[0], interpret([stable], inputs, sizes)[0]
    if np.all(np.isfinite(before)) and np.all(np.abs(before) < 1e6):
        assert difference("before", from_array(before), "after", from_array(after), 1e-6) is None


def test_the_patterns_fire():
    """The random expressions above are worth something: most rules for functions are used on them."""
    fired: Counter[str] = Counter()

    @settings(max_examples=200, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))  # pyright: ignore[reportArgumentType]
    @given(rich())
    def collect(case: tuple[Expr, dict, dict]) -> None:
        trace: list = []
        simplify(case[0], trace)
        fired.update(step.rule for step in trace)

    collect()
    assert len(fired) > 20, fired


# A wrong rule is caught by the same check


def _wrong(name: str, **other) -> dict[str, Rewriting]:
    rule = RULES[name]
    fields = {k: getattr(rule, k) for k in ("name", "apply", "heads", "needs", "assumes", "guard")}
    return {**RULES, name: Rewriting(**{**fields, **other})}


def _caught(rules: dict[str, Rewriting]) -> bool:
    """Whether some example shows that the rules are wrong; the first that does is not made smaller."""

    first = settings(EXAMPLES, max_examples=600, database=None, derandomize=True, report_multiple_bugs=False)

    @settings(first, phases=[Phase.generate])
    @given(rich())
    def search(case: tuple[Expr, dict, dict]) -> None:
        if message := fault(*case, rules):
            raise _Found(message)

    try:
        search()
    except _Found:
        return True
    return False


class _Found(Exception):
    """What is wrong."""


def _off(apply):
    def wrong(e: Expr) -> Expr | None:
        result = apply(e)
        return None if result is None else result + constant(0.001) if result.order == 0 else 1.001 * result

    return wrong


@pytest.mark.parametrize(
    "name",
    [
        "log of an exponential",
        "1/(1 + exp) to sigmoid",
        "exp over its sum to softmax",
        "sigmoid(x) - 1",
        "exp(x) sigmoid(-x)",
        "sin(x)**2 + cos(x)**2",
        "power of a power",
        "factor",
    ],
)
def test_a_wrong_rule_is_caught(name: str):
    assert _caught(_wrong(name, apply=_off(RULES[name].apply), guard=""))


def test_a_wrong_sign_is_caught():
    def softplus_of_minus(e: Expr) -> Expr | None:
        result = RULES["log of an exponential"].apply(e)
        return act.softplus(-e.args[0]) if result is not None else None

    assert _caught(_wrong("log of an exponential", apply=softplus_of_minus))


def test_a_rule_that_makes_things_dearer_is_caught():
    def split(e: Expr) -> Expr | None:
        half = HALF * e.args[0]
        return el.exp(half) * el.exp(half)

    assert _caught({**RULES, "split": Rewriting("split", split, ("exp",))})
