"""Functions of NumPy that are given as texts: they are read to equations, and never run."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ricci.errors import ReadingWarning
from ricci.notation.python_functions import index_notation
from ricci.user.entry import parse

if TYPE_CHECKING:
    from ricci.user.formula import Formula


def formula_of_function(
    text: str, declared: str = "", result: str | None = None, sizes: Mapping[str, int] | None = None
) -> Formula:
    """The formula that a function of NumPy says; its code takes the arguments in the order of that function.

    >>> f = formula_of_function("def loss(w, X, y): return np.sum((X @ w - y)**2)")
    >>> print(f)
    loss = 1[i] (X[i,j] w[j] - y[i])**2
    >>> "def loss(w, X, y):" in f.code()
    True
    """
    said = index_notation(text, declared)
    with warnings.catch_warnings():  # these equations say one thing
        warnings.simplefilter("ignore", ReadingWarning)
        formula = parse(
            said.text, result, sizes={**said.sizes, **(sizes or {})} or None, latex=False, **said.symmetries
        )
    formula.context.facts.arguments.update(dict.fromkeys(said.arguments))
    return formula
