"""Properties of the core on random expressions: canonicalisation keeps values, and forgets what does not matter."""

from __future__ import annotations

import pickle
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ricci.expr import (
    OPS,
    Expr,
    Variable,
    add,
    affine,
    axis_size,
    check,
    delta,
    elementwise,
    product,
    substitute,
    triangle,
    variable,
    variables,
)
from ricci.testing import Sample, brute_force, check_expression, expressions, random_expression
from ricci.testing.checking import difference
from ricci.testing.entries_by_loops import from_array
from ricci.testing.interpreter import interpret

EXAMPLES = settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))  # pyright: ignore[reportArgumentType]
seeds = st.integers(0, 2**32 - 1)


def agree(a: object, b: object, rtol: float = 1e-9) -> None:
    assert difference("one", from_array(a), "the other", from_array(b), rtol) is None


@EXAMPLES
@given(expressions(max_size=12))
def test_values_are_kept(sample: Sample):
    check_expression(sample)


@EXAMPLES
@given(expressions(max_size=12, symbolic=True))
def test_values_are_kept_with_symbolic_sizes(sample: Sample):
    check_expression(sample)


@EXAMPLES
@given(expressions(max_size=6, order=4, functions=False))
def test_values_of_products_and_structures_are_kept(sample: Sample):
    check_expression(sample)


@pytest.mark.parametrize("extents", [(0,), (1,), (0, 1), (2,)])
@pytest.mark.parametrize("symbolic", [False, True])
def test_values_are_kept_at_extreme_sizes(extents: tuple[int, ...], symbolic: bool):
    for seed in range(60):
        check_expression(random_expression(random.Random(seed), extents=extents, symbolic=symbolic))


@EXAMPLES
@given(expressions(max_size=10), expressions(max_size=10, symbolic=True))
def test_building_again_gives_the_same_object(numbers: Sample, symbols: Sample):
    for sample in (numbers, symbols):
        built = sample.build()
        assert sample.build() is built
    assert substitute(numbers.build(), {}) is numbers.build()
    # with symbolic sizes, another of several names for one size may be chosen when building again


@EXAMPLES
@given(expressions(max_size=12, symbolic=True))
def test_pickling_is_the_identity(sample: Sample):
    built = sample.build()
    assert pickle.loads(pickle.dumps(built)) is built


# What canonicalisation forgets


class Operands:
    """Small expressions, and labels for their axes, to be multiplied or added in several ways.

    Coefficients are rational: floating-point ones are rounded when they multiply, so their order would matter.
    """

    def __init__(self, seed: int, count: int):
        self.rng = random.Random(seed)
        orders = {"a": 0, "b": 1, "c": 1, "A": 2, "B": 2, "T": 3}
        pool = [variable(name, (2,) * order) for name, order in orders.items()]
        a, b, c, A, B, _ = pool
        turned = product([(B, "ji")], "ij")
        pool += [-2 * b, A + turned, elementwise(OPS["tanh"], A), product([(A, "ik"), (turned, "kj")], "ij"), delta(2)]
        pool += [
            b**2 - 3 * c,
            product([(A, "ii")], "i"),
            product([(b, "i"), (c, "j")], "ji"),
            a * b / 3 + 1,
            triangle(2, 2),
        ]
        self.exprs = [self.rng.choice(pool) for _ in range(count)]
        self.labels = [[self.rng.choice("ijkl") for _ in e.shape] for e in self.exprs]

    def shuffled(self, things: list) -> list:
        return self.rng.sample(things, len(things))

    def out(self, share: float = 0.5) -> list[str]:
        return self.shuffled([x for x in sorted({x for own in self.labels for x in own}) if self.rng.random() < share])


@EXAMPLES
@given(seeds, st.integers(1, 5))
def test_order_of_operands_and_names_of_labels_do_not_matter(seed: int, count: int):
    case = Operands(seed, count)
    out = case.out()
    whole = product(list(zip(case.exprs, case.labels)), out)
    check(whole)
    assert product(case.shuffled(list(zip(case.exprs, case.labels))), out) is whole
    name = dict(zip("ijkl", case.rng.sample(["p", 7, ("q", 1), "z"], 4)))
    renamed = [(e, [name[x] for x in own]) for e, own in zip(case.exprs, case.labels)]
    assert product(case.shuffled(renamed), [name[x] for x in out]) is whole


@EXAMPLES
@given(seeds, st.integers(3, 5), st.integers(1, 3))
def test_association_of_products_without_sums_does_not_matter(seed: int, count: int, cut: int):
    """Where nothing is summed. What a sum would leave behind stays where it is."""
    case = Operands(seed, count)
    factors = list(zip(case.exprs, case.labels))
    out = sorted({x for _, own in factors for x in own})
    whole = product(factors, out)
    for at in (cut, count - cut):
        inner = sorted({x for _, own in factors[:at] for x in own})
        nested = (product(factors[:at], inner), inner)
        assert product([*factors[at:], nested], out) is whole


@EXAMPLES
@given(seeds, st.integers(2, 5))
def test_order_and_nesting_of_terms_do_not_matter(seed: int, count: int):
    case = Operands(seed, count + 2)
    shape = case.rng.choice([(), (2,), (2, 2)])
    axes = "ij"[: len(shape)]
    sizes = dict.fromkeys(axes, 2)
    terms = []
    for _ in range(count):
        pair = [(e, [case.rng.choice("ijk") for _ in e.shape]) for e in case.rng.sample(case.exprs, 2)]
        terms.append((case.rng.choice([1, -1, 2, Fraction(1, 3)]), product(pair, axes, sizes)))
    whole = add(terms)
    check(whole)
    assert add(case.shuffled(terms)) is whole


@EXAMPLES
@given(expressions(max_size=8))
def test_scaling_and_back_gives_the_same_object(sample: Sample):
    built = sample.build()
    assert -1 * (-1 * built) is built
    assert 4 * built / 4 is built
    assert add([(2, built), (-1, built)]) is built


# Substitution


def reexpressed(rng: random.Random, value: np.ndarray, symbolic: bool) -> tuple[Expr, dict[str, np.ndarray]]:
    """An expression in new inputs that is worth ``value``, so that whatever was defined still is."""
    way = rng.choice(("rename", "double", "split", "transpose", "pad"))

    def new(name: str, array: np.ndarray) -> Variable:
        return variable(name, array.ndim if symbolic else array.shape)

    if way == "double":
        return 2 * new("u1", value / 2), {"u1": value / 2}
    if way == "split":
        part = np.floor(value)
        return new("u1", part) + new("u2", value - part), {"u1": part, "u2": value - part}
    if way == "transpose":
        turned = np.array(value.T)
        axes = range(value.ndim)
        return product([(new("u1", turned), tuple(reversed(axes)))], tuple(axes)), {"u1": turned}
    if way == "pad":
        wide = np.stack([value, 0 * value])
        return product([(new("u1", wide), ("s", *range(value.ndim)))], tuple(range(value.ndim))), {"u1": wide}
    return new("u1", value), {"u1": value}


@EXAMPLES
@given(expressions(max_size=10), expressions(max_size=10, symbolic=True), seeds)
def test_substitution_commutes_with_evaluation(numbers: Sample, symbols: Sample, seed: int):
    for sample, symbolic in ((numbers, False), (symbols, True)):
        built, rng = sample.build(), random.Random(seed)
        candidates = [v for v in variables(built) if sample.inputs[v.name].dtype.kind == "f"]
        if not candidates:
            continue
        v = rng.choice(candidates)
        value, further = reexpressed(rng, sample.inputs[v.name], symbolic)
        result = substitute(built, {v: value})
        check(result)
        assert v not in variables(result)
        inputs = {**sample.inputs, **further}
        agree(brute_force(result, inputs, sample.sizes), brute_force(built, sample.inputs, sample.sizes))
        agree(interpret([result], inputs, sample.sizes)[0], brute_force(built, sample.inputs, sample.sizes))


def test_substitution_takes_the_sizes_of_the_value():
    x, w = variable("x", 1), variable("w", 2)
    total = product([(x, "i")], "j", {"j": axis_size("x", 0)})
    result = substitute(total, {x: product([(w, "ij")], "j")})
    assert result.shape == (axis_size("w", 1),)


# Types


@EXAMPLES
@given(expressions(max_size=10), expressions(max_size=10, symbolic=True))
def test_float32_stays_float32(numbers: Sample, symbols: Sample):
    """Comparisons give truth values and places give integers; nothing gives float64."""
    for sample in (numbers, symbols):
        built = sample.build()
        inputs = {n: a.astype(np.float32) if a.dtype.kind == "f" else a for n, a in sample.inputs.items()}
        inputs["other"] = np.float32(1)  # there is a floating input, even where the expression uses none  # pyright: ignore[reportArgumentType]
        result = np.asarray(interpret([built], inputs, sample.sizes)[0])
        assert result.dtype == np.float32 or result.dtype.kind in "bi"


def test_what_is_opened_twice_keeps_its_own_sums():
    """Two contractions that only move entries, one opened only once a delta has told that nothing is summed there."""
    V, f, g = variable("V", (4, 2)), variable("f", (2,)), variable("g", (2, 2))
    starts = [affine("==", (1, -1), -start, (4, 2)) for start in (0, 2)]
    top, bottom = [product([(start, "wa"), (V, "wi")], "ai") for start in starts]
    whole = product([(f, "j"), (g, "jk"), (top, "ak"), (top, "ck"), (bottom, "dj")], "jkacd")
    turned = product([(whole, "bgadc"), (delta(2), "gh")], "abcdh")
    rng = np.random.default_rng(0)
    data = {x.name: rng.normal(size=x.shape) for x in (V, f, g)}  # pyright: ignore
    found, expected = interpret([turned, whole], data, {})
    np.testing.assert_allclose(found, np.einsum("bgadc->abcdg", expected), rtol=1e-12)
