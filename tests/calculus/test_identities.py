"""The library of identities: every row is true in numbers, in every mode, and as an expression where it says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ricci.errors import InputError
from ricci.testing.drawn_inputs import KINDS, draw, size_names
from ricci.testing.identities import Identity, all_identities, markdown, read
from ricci.testing.identity_checks import (
    cases,
    central_differences,
    fault,
    fault_in_differences,
    fault_in_form,
    fault_in_modes,
    fault_in_textbook,
)
from ricci.user.formula import Formula

IDENTITIES = all_identities()

PAGE = Path(__file__).resolve().parents[2] / "docs" / "identities.md"
every_row = pytest.mark.parametrize("identity", IDENTITIES, ids=lambda identity: identity.name.replace(" ", "-"))


@every_row
def test_numbers(identity):
    for inputs in cases(identity):
        assert fault_in_differences(identity, inputs) is None
        assert fault_in_textbook(identity, inputs) is None


@pytest.mark.sampled(3)
@every_row
def test_modes(identity):
    assert fault_in_modes(identity, next(cases(identity))) is None


@pytest.mark.parametrize("identity", [row for row in IDENTITIES if row.exact], ids=lambda identity: identity.name)
def test_expressions(identity):
    assert fault_in_form(identity) is None


def test_there_are_enough():
    assert len(IDENTITIES) >= 250
    assert sum(row.exact for row in IDENTITIES) >= 180
    assert sum(row.exact and row.derivative() == row.textbook() for row in IDENTITIES) >= 150  # without simplifying it
    assert len({row.name for row in IDENTITIES}) == len(IDENTITIES)
    assert all(row.note for row in IDENTITIES if row.expected is None)


# The checks can fail


SQUARE = Identity(
    "square", "example", "f = X[i,k] A[k,j] X[i,j]", ("X[p,q]",), "X[p,k] (A[q,k] + A[k,q])", {"X": "m n", "A": "n n"}
)
HESSIAN = replace(SQUARE, wrt=("X[p,q]", "X[r,s]"), expected="delta[p,r] (A[q,s] + A[s,q])")
PLANTED = {
    "another factor": (replace(SQUARE, expected="2 X[p,k] A[q,k]"), "textbook form differ by"),
    "another sign": (replace(SQUARE, expected="X[p,k] (A[q,k] - A[k,q])"), "textbook form differ by"),
    "indices exchanged": (
        Identity("trace", "example", "f = X[i,j] X[j,i]", ("X[p,q]",), "2 X[p,q]", {"X": "n n"}),
        "textbook form differ by",
    ),
    "equal, but not one expression": (
        replace(SQUARE, expected="2 X[p,k] A[q,k]", inputs={"X": "m n", "A": "spd n n"}),
        "are not one expression",
    ),
    "no form and no reason": (replace(SQUARE, expected=None, exact=False), "does not say why"),
}


def test_what_is_planted_is_right_before():
    assert fault(SQUARE) is None
    assert fault(HESSIAN) is None


@pytest.mark.parametrize("name", PLANTED)
def test_a_wrong_row_is_caught(name):
    identity, words = PLANTED[name]
    found = fault(identity)
    assert found is not None
    assert words in found


class WrongIn(Identity):
    """An identity whose derivative is wrong by a little in one mode, as if a rule were."""

    def derivative(self, mode: str = "auto", order: int | None = None) -> Formula:
        right = super().derivative(mode, order)
        return right * (1 + 1e-5) if mode == self.note and order != 0 else right


@pytest.mark.parametrize("mode", ["forward", "reverse", "cross-country"])
def test_a_wrong_mode_is_caught(mode):
    wrong = WrongIn(**{**vars(SQUARE), "note": mode, "exact": False})
    assert f"auto and {mode} mode differ" in (fault(wrong) or "")


def test_a_wrong_derivative_is_caught_by_differences():
    wrong = WrongIn(**{**vars(HESSIAN), "note": "auto"})
    assert "order 1 and central differences differ" in (fault_in_differences(wrong, next(cases(wrong))) or "")


def test_central_differences_are_much_better_than_what_is_asked_of_them():
    f = Identity("", "", "f = exp(a[i] x[i])", ("x[p]",), "f a[p]", {"a": "n", "x": "n"})
    inputs = next(cases(f))
    exact = np.exp(inputs["a"] @ inputs["x"]) * inputs["a"]
    np.testing.assert_allclose(central_differences(f.function(), inputs, "x"), exact, rtol=1e-10)


# Inputs


def test_inputs_are_what_their_names_say():
    specs = {"A": "spd n n", "t": "below k m", "x": "prob m n", "y": "n+k-1", "s": "pos", "e": "levi", "c": "exactly 3"}
    assert size_names(specs) == ["n", "k", "m"]
    values = draw(specs, {"n": 3, "k": 2, "m": 5}, np.random.default_rng(0))
    np.testing.assert_allclose(np.linalg.eigvalsh(values["A"]), [1, 2, 3])
    assert values["t"].shape == (5,)
    assert set(values["t"]) <= {0, 1}
    np.testing.assert_allclose(values["x"].sum(-1), np.ones(5))
    assert values["y"].shape == (4,)
    assert values["s"].shape == ()
    np.testing.assert_array_equal(np.einsum("ijk,ijl->kl", values["e"], values["e"]), 2 * np.eye(3))
    assert values["c"] == 3


def test_every_kind_of_input_is_used():
    used = {
        spec.split()[0] if spec.split()[:1] and spec.split()[0] in KINDS else ""
        for row in IDENTITIES
        for spec in row.inputs.values()
    }
    assert used == set(KINDS)


def test_all_sizes_are_one_in_some_case():
    with_sizes = [row for row in IDENTITIES if size_names(row.inputs)]
    assert len(with_sizes) > 200
    assert all(len(list(cases(row))) == 3 for row in with_sizes)


# The text


def test_a_block_is_read_line_by_line():
    text = """# A remark.
## example

a square
    s[i] = x[i] + a[i]
    f = s[i] s[i]
    by x[p], a[q]
    t = 2
    ~ t delta[p,q]
    with x: pos n, a: n, c
    note for a reader, too
"""
    [row] = read(text)
    assert row == Identity(
        "a square",
        "example",
        "s[i] = x[i] + a[i]; f = s[i] s[i]",
        ("x[p]", "a[q]"),
        "t = 2; t delta[p,q]",
        {"x": "pos n", "a": "n", "c": ""},
        "for a reader, too",
        exact=False,
    )


@pytest.mark.parametrize("line", ["    by x[p]", "    with x: n"])
def test_a_block_without_a_line_that_it_needs(line):
    text = "square\n    f = x[i] x[i]\n    by x[p]\n    = 2 x[p]\n    with x: n"
    assert list(read(text))
    with pytest.raises(InputError, match="'square' needs"):
        list(read(text.replace(line, "")))


# The page


def test_the_page_is_up_to_date():
    hint = "Write it anew: python -m ricci.testing.identities > docs/identities.md"
    assert PAGE.read_text(encoding="utf-8") == markdown(IDENTITIES), hint
