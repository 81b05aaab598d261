"""What is known never to be negative needs no test for it; what is rounded already is not rounded again."""

from __future__ import annotations

import numpy as np
import pytest

import ricci as rc

RNG = np.random.default_rng(5)


def operations(f, *args):
    """The names of the steps, as the plan prints them."""
    lines = str(rc.explain(rc.compile(f))(*args).plan).splitlines()
    return [line.split()[1].split("(")[0] for line in lines[1:-1]]


@pytest.mark.parametrize("size, tests", [(7, 0), (-7, 1)])
def test_places_modulo_a_size_do_not_count_from_the_end(size, tests):
    def f(x, n):
        return x[np.mod(n, size)]

    x, n = RNG.normal(size=9), RNG.integers(-20, 20, 30)
    assert operations(f, x, n).count("where") == tests
    np.testing.assert_array_equal(rc.compile(f)(x, n), f(x, n))


def test_whole_numbers_are_not_rounded_again():
    def f(x, at):
        return x[np.floor(at).astype(int) % 5]

    x, at = RNG.normal(size=5), RNG.normal(size=40) * 9
    found = operations(f, x, at)
    assert found.count("floor") == 1 and "ceil" not in found and "where" not in found
    np.testing.assert_array_equal(rc.compile(f)(x, at), f(x, at))
    np.testing.assert_array_equal(
        rc.compile(lambda x: np.ceil(np.floor(x)) + np.rint(np.ceil(x)))(at), np.floor(at) + np.ceil(at)
    )


def test_a_choice_of_two_types_stays_one():
    def f(n):
        return np.where(n % 5 < 0, 0.5, n)

    n = RNG.integers(-9, 9, 10)
    assert rc.compile(f)(n).dtype == f(n).dtype
    np.testing.assert_array_equal(rc.compile(f)(n), f(n))
