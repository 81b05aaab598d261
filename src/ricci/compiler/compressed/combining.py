"""Sums and products of compressed results, as expressions in the cores of both; these are taken apart again.

Cores of the second are variables ``other0``, ``other1``, …, and a number or an array is ``by``. Products are made term
by term, so that structures of one meet those of the other: a band times a band is a band.
"""

from __future__ import annotations

import math

from ricci.compiler.compressed.parts_terms import Factor, Term, renamed
from ricci.compiler.compressed.shell import Shell
from ricci.compiler.compressed.triples import place_of
from ricci.expr import Expr, Structure, add, delta, product, rebuild, variable


def scaled(shell: Shell, complex: bool = False) -> Expr:
    """The result times the number ``by``, which may be complex."""
    return shell.total(range(len(shell.shape)), [(variable("by", (), complex=complex), ())])


def shifted(shell: Shell, order: int, complex: bool = False) -> Expr:
    """The result with ``by``, a number or an array over the rows, added to its diagonal."""
    axes = tuple(range(len(shell.shape)))
    rows, columns = shell.axes
    deltas: list[Factor] = [(delta(shell.shape[r]), (r, c)) for r, c in zip(rows, columns, strict=True)]
    by = variable("by", shell.shape[: shell.rows] if order else (), complex=complex)
    sizes = {x: shell.sizes[x] for x in axes}
    return add([(1, shell.total(axes)), (1, product([*deltas, (by, rows if order else ())], axes, sizes))])


def joined(mine: Shell, its: Shell, how: str) -> Expr:
    """The sum, difference or product of two results."""
    theirs = others(its)
    if how == "@":
        return _product(mine, its, theirs)
    axes = tuple(range(len(mine.shape)))
    sizes = {x: mine.sizes[x] for x in axes}
    sign = 1 if how == "+" else -1
    return add([(1, mine.total(axes)), *[(sign * t.coef, product(t.factors, axes, sizes)) for t in theirs]])


def _product(mine: Shell, its: Shell, theirs: list[Term]) -> Expr:
    """Summed over the columns of the first, which are the rows of the second."""
    label = {x: mine.rows + x if x < its.rows else ("other", x) for x in its.sizes}
    out = (*mine.axes[0], *[label[x] for x in its.axes[1]])
    sizes = {x: mine.sizes[x] for x in mine.axes[0]} | {label[x]: its.sizes[x] for x in its.axes[1]}
    terms = []
    for t in mine.terms:
        for u in theirs:
            factors = [*t.factors, *renamed(u.factors, label)]
            carried = {x for _, labels in factors for x in labels}
            ones = math.prod([mine.sizes[x] for x in mine.axes[1] if x not in carried])  # summed over, and in no factor
            terms.append((t.coef * u.coef * ones, product(factors, out, sizes)))
    return add(terms)


def others(shell: Shell) -> list[Term]:
    """The terms of a shell, its cores under other names."""

    def stand_in(e: Expr) -> Expr:
        if isinstance(e, Structure):
            return rebuild(e, tuple([stand_in(a) for a in e.args])) if e.args else e
        return variable(f"other{place_of(e)}", e.shape, complex=e.complex)

    return [Term(t.coef, tuple([(stand_in(e), labels) for e, labels in t.factors])) for t in shell.terms]
