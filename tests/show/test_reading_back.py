"""``rc.parse(str(f)) == f`` for formulas and for their first and second derivatives, without exception."""

from __future__ import annotations

import doctest
import random
import re
import runpy
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ricci as rc
from ricci.expr import Elementwise, Function, topological
from ricci.testing.identities import Identity, identities
from ricci.testing.written import derivatives, random_written
from ricci.user.equation_words import HOLE

# The smallest texts of each class in which a text says less than the formula knows.
TEXTS = [
    "y = max[j,k](x[j,k])",
    "y = prod[j,k](x[j,k])",
    "y = logsumexp[j,k](x[j,k])",
    "y[j,k] = softmax[j,k](x[j,k])",
    "c[i] = x[i+k] w[k]",
    "c[i] = x[2*i+k] w[k]",
    "y = a[i-j+2] delta[i,j]",
    "y = a[j] c[t[j,j]]",
    "y[i] = a[i] cumsum[i](a[i])",
    "y[i,k] = b[i-k+2] 1[k] c[i]",
    "y[i] = z[i] x[|i|-1-i]",
    "y[i] = x[i] 1[j] y2[j] |i|",
    "y[i] = (|i| - 1) x[i+1]",
    "y[i] = sort[i](x[i])",
    "y[i] = cumprod[i](x[i])",
    "y = det(a) + tr(b)",
    "x[j,c] = solve[i,j](A[i,j], b[i,c])",
    "h[i,j] = sin(a[i,j]); y[i] = h[i,0] + h[i,i]",
]


def test_a_line_of_sizes_says_what_the_statements_do_not():
    derivative = rc.parse("c[i] = x[i+k] w[k]").diff("w")
    said = rc.parse("sizes: w[k], x[n], |i| = |n| - |k| + 1\ndc_dw[i,k] = x[i+k]")
    assert said == derivative and "sizes:" in str(derivative)
    assert said(x=np.arange(5.0), w=np.ones(2)).tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]


@pytest.mark.parametrize("text", TEXTS)
def test_formulas_and_their_derivatives_come_back(text: str):
    f = rc.parse(text)
    for name in f.variables:
        if name not in f.context.facts.integers:
            comes_back(f.diff(name))
            comes_back(f.diff(name, name))
    comes_back(f)


def comes_back(f: rc.Formula) -> None:
    with warnings.catch_warnings():  # of texts with two readings
        warnings.simplefilter("ignore")
        again = rc.parse(str(f))
    assert again == f, str(f)
    f.latex()


def test_what_is_printed_has_the_value_of_the_formula():
    a = np.array([1.0, 2.0, 3.0])
    f = rc.parse("y[i] = a[i] cumsum[i](a[i])")
    assert str(f) == "y[i] = a[i] cumsum[i](a[i])" and rc.parse(str(f))(a=a).tolist() == [1, 6, 18]


def test_a_line_of_sizes_that_is_wrong_is_pointed_at():
    for text in (
        "sizes: x[i+1]; y = x[i] 1[i]",
        "sizes: |i| = sin(2); y = 1[i] 1[i]",
        "sizes: 3; y = x",
        "sizes: x; y = x",
    ):
        with pytest.raises(rc.NotationError, match=r"\^"):
            rc.parse(text)


def test_sizes_that_were_given_are_said():
    for text in ("y[i] = x[i] + A[i,j] 1[j]", "y = det(A) + A[i,j] 1[i,j]", "y = x[i+k] w[k] 1[i]"):
        f = rc.parse(text, sizes={"i": 3})
        assert str(f).startswith("sizes: |i| = 3") and rc.parse(str(f)) == f != rc.parse(text)


def test_relations_between_indices_are_read():
    f = rc.parse("y[i,j] = [i+1 >= j] A[i,j]")
    assert str(f) == "y[i,j] = [i+1 >= j] A[i,j]" and f.latex() == r"y_{ij} = \left[i+1 \ge j\right] A_{ij}"
    assert f(A=np.ones((2, 4))).tolist() == [[1, 1, 0, 0], [1, 1, 1, 0]]
    for text in ("[j <= i+1]", "[i+2 > j]", "[j < i+2]"):
        assert rc.parse(f"y[i,j] = {text} A[i,j]") == f
    assert rc.parse("y[i,j] = [i == j+1] A[i,j]") == rc.parse("y[i,j] = delta[i,j+1] A[i,j]")
    comes_back(f.diff("A"))
    for text in ("y[i,j] = [i >= j >= k] A[i,j]", "y[i] = [i] x[i]", "y[i] = [t[i] >= 0] x[i]", "y[i] = [i >= ] x[i]"):
        with pytest.raises(rc.NotationError, match=r"\^"):
            rc.parse(text)


def test_a_number_gathers():
    f = rc.parse("y[j] = n A[n[],j]")
    assert f(A=np.arange(6.0).reshape(3, 2), n=2).tolist() == [8, 10]
    comes_back(f)


PROGRAMS = [
    lambda x: x.reshape(3, 5),
    np.tril,
    lambda x: np.triu(x, 1).T,
    lambda x: np.tril(x, 2) @ np.triu(x[:3]),
    lambda x: x[1:, ::2],
    lambda x: np.roll(x, 2),
    lambda x: np.pad(x, 1),
    lambda x: np.diff(x, axis=0)[::-1],
    lambda x: np.kron(x, x),
    lambda x: np.concatenate([x, 2 * x]).var(0),
    lambda x: np.stack([x, np.cumsum(x, 0)], 1),
    lambda x: np.convolve(x[0], x[1]),
    lambda x: x[np.array([0, 2, 1])] * np.max(x),
    lambda x: np.interp(x[0], [0.0, 1.0], [1.0, 2.0]),
    lambda x: x[:0],
    lambda x: np.linalg.pinv(x) + np.linalg.pinv(x, 1e-3),
    lambda x: np.linalg.qr(x)[1],
    lambda x: np.linalg.eigh(x[:3], UPLO="U")[1],
    lambda pi: pi * np.pi,
    lambda max: np.maximum(max, 0.25),
    np.cumsum,
    lambda x: np.sort(x.ravel()) * np.ones(15),
    lambda x: np.logaddexp.reduce(x[:, 0]) * np.eye(5, 3, k=-1),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_traces_come_back_with_their_sizes(program):
    f = rc.trace(program)(np.linspace(0.1, 1, 15).reshape(5, 3))
    comes_back(f)
    if f.order < 3:
        comes_back(f.diff(f.variables[0]))


def test_sizes_are_said_once():
    f = rc.trace(lambda w, x: np.exp(x @ w).sum())(np.ones(3), np.ones((5, 3)))
    assert str(f.diff("w")).startswith("sizes: |i| = 3, |j| = 5\n")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("row", identities(), ids=lambda row: row.name)
def test_identities_come_back(row: Identity):
    """The functions, their derivatives, and further ones."""
    f = rc.parse(row.text)
    comes_back(f)
    if row.expected is not None:
        first = f.diff(*row.wrt)
        comes_back(first)
        if first.order < 5:
            comes_back(first.diff(row.wrt[-1].partition("[")[0]))


EXAMPLES = sorted(Path(__file__).parents[2].joinpath("examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.thorough
def test_all_formulas_of_examples_come_back(example: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr("sys.argv", [str(example)])
    with formulas_made() as found:
        runpy.run_path(str(example), run_name="__main__")
    for f in found:
        if not needs_more_than_its_text(f):
            comes_back(f)


PAGES = sorted(Path(__file__).parents[2].joinpath("docs").glob("*.md"))


@pytest.mark.parametrize("page", [PAGES[0].parents[1] / "README.md", *PAGES], ids=lambda path: path.stem)
@pytest.mark.thorough
def test_all_formulas_of_pages_come_back(page: Path):
    with formulas_made() as found:
        run_blocks(page.read_text(encoding="utf-8"))
    for f in found:
        if not needs_more_than_its_text(f):
            comes_back(f)


def run_blocks(page: str) -> None:
    """The Python of a page; whether it shows the right results is tested elsewhere."""
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        if ">>>" in block:
            example = doctest.DocTestParser().get_doctest(block, names, "page", None, 0)
            doctest.DocTestRunner(verbose=False).run(example, out=str, clear_globs=False)
            names.update(example.globs)
        else:
            exec(block, names)


@contextmanager
def formulas_made() -> Iterator[list[rc.Formula]]:
    """All formulas that are made in here."""
    found: list[rc.Formula] = []
    own = rc.Formula.__init__

    def noted(self: rc.Formula, *args: Any, **more: Any) -> None:
        own(self, *args, **more)
        found.append(self)

    rc.Formula.__init__ = noted
    try:
        yield found
    finally:
        rc.Formula.__init__ = own


def needs_more_than_its_text(f: rc.Formula) -> bool:
    """Whether it has what no text says: functions of the user's own, what is declared, the place of an operand."""
    return (
        bool(f.context.facts.symmetries or f.context.facts.complex)
        or HOLE in f.variables
        or any(isinstance(n, (Elementwise, Function)) and n.op.own for n in topological(f.expr))
    )


def test_formulas_made_are_noted():
    with formulas_made() as found:
        f = rc.parse("y = x")
    rc.parse("y = z")
    assert found == [f]


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32))
def test_random_texts_and_their_derivatives_come_back(seed: int):
    """Formulas, first and second derivatives, none excepted."""
    rng = random.Random(seed)
    _, f = random_written(rng, rng.choice((1, 1, 2)), rng.choice((1, 1, 1, 2)))
    comes_back(f)
    try:
        found = [d for d in derivatives(f, rng) if d.order < 6]
    except (rc.InputError, rc.RuleError):  # there is no derivative
        return
    for derivative in found:
        comes_back(derivative)


def test_a_derivation_by_a_scalar_says_one_over_it():
    lines = [step.text for step in rc.parse("y = log(a)").diff("a").derivation()]
    assert lines[-1] == "= 1/a" and "= a" not in lines


GIVEN = [
    ("y = P[q,p] (u[|i|-1-i] A[i,t[i]] 1[i]) 1[p,q]", {"i": 3}),  # a place that a gather needs stays an index
    ("y = digamma(w[k] 1[k] + tr(P)) mean[j](T[i,j] 1[i])", {"j": 2}),  # P has no axis j
    ("y = 1/(A[i,j] 1[i,j] - T[i,j] 1[i,j])", {"i": 3}),  # in each term
    ("y[j,q] = log1p(Q[q,p] tr[p,q](P[p,q]) A[j,0] 1[p])", {"p": 3}),  # q is 3 too
    ("y = 0.1 x + 3 (0.1 x)**2 * 1e-15 (x + c)", {}),
    ("y[i] = delta[t[i],i] x[i]**3", {}),
]


@pytest.mark.parametrize(("text", "sizes"), GIVEN)
def test_sizes_that_were_given_come_back_in_derivatives(text: str, sizes: dict[str, int]):
    f = rc.parse(text, sizes=sizes)
    comes_back(f)
    for name in f.variables:
        if name not in f.context.facts.integers:
            comes_back(f.diff(name))
            comes_back(f.diff(name, name))
