"""The checker can fail: each fault planted in a rule of the core, or in the interpreter, is found."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable

import numpy as np
import pytest

from ricci.expr import Dim
from ricci.testing import check_expression, random_expression

SAMPLES = 400


def module(name: str):
    """The module, also where its package has a function of the same name."""
    return importlib.import_module(f"ricci.{name}")


def wrapped(place: str, name: str, around: Callable[[Callable], Callable]) -> Callable[[pytest.MonkeyPatch], None]:
    def plant(patch: pytest.MonkeyPatch) -> None:
        holder = module("expr.nodes").constructors if place == "constructors" else module(place)
        patch.setattr(holder, name, around(getattr(holder, name)))

    return plant


def forget_deltas(merge: Callable) -> Callable:
    """A delta between two labels of the output is dropped."""

    def faulty(factors, deltas, out, size):
        return merge(factors, deltas, out, size)[: len(factors)]

    return faulty


def merge_one_delta(merge: Callable) -> Callable:
    """Of several deltas only the first renames."""
    return lambda factors, deltas, out, size: merge(factors, deltas[:1], out, size)


def drop_sizes(constant: Callable) -> Callable:
    """A summed label that nothing carries does not count."""
    return lambda value: constant(1 if isinstance(value, Dim) else value)


def wrong_sign(primitive: Callable) -> Callable:
    def faulty(e):
        c, rest = primitive(e)
        return (abs(c), rest)

    return faulty


def lost_coefficients(take_out: Callable) -> Callable:
    """What is left of the terms after a common factor was taken out has no coefficients."""
    return lambda factor, opened, collected, shape: take_out(factor, opened, dict.fromkeys(collected, 1), shape)


def lone_groups(components: Callable) -> Callable:
    """Every factor is summed by itself, linked to others or not."""
    return lambda factors, summed, out: [f for factor in factors for f in components([factor], summed, out)]


def like_terms_once(collect: Callable) -> Callable:
    """Like terms merge, and one of their coefficients is lost."""
    return lambda terms, shape: collect(list({e: (c, e) for c, e in terms}.values()), shape)


def wrong_order(in_natural_order: Callable) -> Callable:
    """The arrangement of axes around an elementwise function is that of its inverse."""

    def faulty(args, shape, build, trailing=()):
        result = in_natural_order(args, shape, build, trailing)
        labels = getattr(result, "labels", None)
        if labels is None or len(result.args) != 1 or result.sums:
            return result
        places = labels[0]
        inverse = [places.index(axis) for axis in range(len(places))] if len(places) == len(shape) else places
        return module("expr.build.product").broadcast(result.args[0], inverse, result.shape)

    return faulty


def unpowered_factor(power_of_product: Callable) -> Callable:
    """One factor of a product keeps its power."""

    def faulty(base, n):
        result = power_of_product(base, n)
        if result is None:
            return None
        power = module("expr.build.algebra").power
        factors = [(a if p == 0 else power(a, n), labels) for p, (a, labels) in enumerate(base.factors())]
        return module("expr.build.product").product(factors, base.out, dict(zip(base.out, base.shape)))

    return faulty


def cancel_anyway(merged_axis: Callable) -> Callable:
    """Any window counts as a reshape."""
    return lambda e: 0


def triangles_shifted(affine: Callable) -> Callable:
    return lambda relation, coefs, const, shape: affine(relation, coefs, const + (relation == ">="), shape)


def canonical_labels_lost(canonical_order: Callable) -> Callable:
    """Equal operands are taken to be linked alike."""

    def faulty(factors, rank):
        ordered = canonical_order(factors, rank)
        return [(e, ordered[p - 1][1] if p and ordered[p - 1][0] is e else own) for p, (e, own) in enumerate(ordered)]

    return faulty


def swapped_rows(rows: dict) -> dict:
    return {**rows, "tanh": np.sin, "maximum": np.minimum}


FAULTS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], dict]] = {
    "a delta of the output is forgotten": (wrapped("expr.build.product", "merge_labels", forget_deltas), {}),
    "only one delta renames": (wrapped("expr.build.merging", "merge_labels", merge_one_delta), {}),
    "sizes do not count": (wrapped("constructors", "constant", drop_sizes), {"symbolic": True}),
    "the content has the wrong sign": (wrapped("expr.build.product", "primitive", wrong_sign), {}),
    "powers lose the sign": (wrapped("expr.build.algebra", "primitive", wrong_sign), {"structures": False}),
    "coefficients are lost beside a common factor": (wrapped("expr.build.add", "_take_out", lost_coefficients), {}),
    "factors are not linked": (wrapped("expr.build.product", "components", lone_groups), {}),
    "like terms lose a coefficient": (wrapped("expr.build.add", "_collect", like_terms_once), {}),
    "axes are arranged wrongly": (
        wrapped("expr.build.apply", "in_natural_order", wrong_order),
        {"order": 4, "extents": (2,)},
    ),
    "a factor keeps its power": (wrapped("expr.build.algebra", "_power_of_product", unpowered_factor), {}),
    "windows cancel": (wrapped("expr.build.merging", "merged_axis", cancel_anyway), {"functions": False}),
    "triangles are shifted": (wrapped("expr.structures", "affine", triangles_shifted), {}),
    "equal operands share labels": (wrapped("expr.build.product_nodes", "canonical_order", canonical_labels_lost), {}),
    "the interpreter swaps functions": (wrapped("testing.interpreter", "ELEMENTWISE", swapped_rows), {}),  # pyright: ignore[reportArgumentType]
}


def check_samples(options: dict) -> None:
    for seed in range(SAMPLES):
        check_expression(random_expression(random.Random(seed), size=10, **options))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch):
    plant, options = FAULTS[fault]
    plant(monkeypatch)
    with pytest.raises(AssertionError, match="as it was asked for"):
        check_samples(options)


@pytest.mark.parametrize("options", [{}, {"symbolic": True}, {"order": 4, "extents": (2,)}], ids=str)
def test_without_a_fault_nothing_is_found(options: dict):
    check_samples(options)


def test_the_report_names_the_smallest_part_and_both_values(monkeypatch: pytest.MonkeyPatch):
    FAULTS["like terms lose a coefficient"][0](monkeypatch)
    with pytest.raises(AssertionError) as caught:
        check_samples({"functions": False})
    text = str(caught.value)
    assert "the description is" in text and "the canonical expression is" in text
    assert text.count(" + ") >= 1
