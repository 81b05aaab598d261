"""The check that canonicalisation and evaluation keep values, and random expressions for hypothesis.

An expression is evaluated three ways: its description by loops, the canonical expression by loops, and the canonical
expression by the interpreter. The first two differ where a constructor is wrong, the last two where the interpreter is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ricci.errors import MissingPackageError
from ricci.expr import Expr, check
from ricci.testing.brute import table_of
from ricci.testing.entries_by_loops import Table, from_array
from ricci.testing.generate import Sample, random_expression


def check_expression(sample: Sample, rtol: float = 1e-9) -> None:
    """Raise ``AssertionError``, with all that is needed to see it again, if the evaluations of a sample disagree.

    >>> import random
    >>> for seed in range(5):
    ...     check_expression(random_expression(random.Random(seed)))
    """
    fault = find_fault(sample, rtol)
    if fault is None:
        return
    for node in sample.raw.nodes():  # the smallest part that shows it says more than the whole
        part = Sample(node, sample.inputs, sample.sizes)
        found = find_fault(part, rtol)
        if found is not None:
            sample, fault = part, found
            break
    raise AssertionError(f"{fault}\nThe expression, as it was asked for:\n{sample!r}\nAs built: {_formula(sample)}")


def find_fault(sample: Sample, rtol: float = 1e-9) -> str | None:
    """What is wrong with the expression or its values, in a sentence; ``None`` if nothing is."""
    from ricci.testing.interpreter import interpret

    step = "building"
    try:
        expected = sample.brute()
        built = sample.build()
        step = "checking the invariants"
        check(built)
        step = "evaluating the canonical expression by loops"
        canonical = table_of(built, sample.inputs, sample.sizes)
        fault = difference("the description", expected, "the canonical expression", canonical, rtol)
        if fault is None:
            step = "interpreting"
            interpreted = from_array(interpret([built], sample.inputs, sample.sizes)[0])
            fault = difference("loops", canonical, "the interpreter", interpreted, rtol)
    except Exception as error:
        return f"{type(error).__name__} while {step}: {error}"
    return fault


def difference(left: str, a: Table, right: str, b: Table, rtol: float) -> str | None:
    """The first entry at which two tables differ, in words. Errors are relative to the largest entry, or to 1."""
    if a.shape != b.shape:
        return f"{left} has the shape {a.shape}, {right} has {b.shape}."
    scale = max([1.0, *[abs(float(v)) for v in a if np.isfinite(v)]])
    for index, value in a.entries.items():
        other = b.entries[index]
        same = value == other or (value != value and other != other)
        if not same and not abs(value - other) <= rtol * scale:
            return f"At {list(index)}, {left} is {value} and {right} is {other}."
    return None


def _formula(sample: Sample) -> str:
    """The canonical expression as text, if it comes that far."""
    try:
        return as_text(sample.build(), sample)
    except Exception as error:
        return f"not shown ({type(error).__name__}: {error})"


def as_text(expr: Expr, sample: Sample) -> str:
    from ricci.notation.context import Facts
    from ricci.show import to_text

    names = tuple("ijklmnpqrstuvw"[: expr.order])
    return to_text(expr, names, Facts(inputs={name: value.ndim for name, value in sample.inputs.items()}), None)


def expressions(max_size: int = 8, **options: Any):
    """A hypothesis strategy for samples; ``options`` are those of :func:`random_expression`.

    >>> strategy = expressions(max_size=4, symbolic=True)
    """
    try:
        from hypothesis import strategies as st
    except ImportError as error:
        message = "ricci.testing.expressions needs hypothesis; install it: pip install hypothesis."
        raise MissingPackageError(message) from error
    import random

    def build(size: int, seed: int) -> Sample:
        return random_expression(random.Random(seed), size=size, **options)

    return st.builds(build, st.integers(1, max_size), st.integers(0, 2**32 - 1))
