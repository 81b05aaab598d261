"""In which language a text is, and the formula that it says.

A function is NumPy's, a backslash is of LaTeX, and an index in brackets or braces is of index notation. What is left,
``x'*A*x``, may be in the matrix language. Where signs allow two readings, the first that can be read is taken, and an
error is that of the first.
"""

from __future__ import annotations

import re
from typing import Any

import ricci as rc
from ricci.notation.declarations import WORDS
from ricci.notation.matrix_declarations import declarations
from ricci.user.function_texts import formula_of_function
from ricci.web.asking import PageRequest

OF_NUMPY = re.compile(r"^\s*(def|import|from)\s|\blambda\b|\bnp\.|\bnumpy\.", re.MULTILINE)
INDEXED = re.compile(r"\w\s*\[|_\{|\^\{|\^\w+_\w|\|\w+\|")
OF_MATRICES = re.compile(r"\w'(?!\w*\])|\.\*|\./|\.\^|@|ᵀ|⊙|\.T\b|\bnorm[12]\b|\bvector\(|\bmatrix\(")


def languages(text: str, declare: str = "") -> tuple[str, ...]:
    r"""The languages that a text may be in, the likeliest first.

    >>> languages("f = x[i] x[i]"), languages(r"x^\top A x"), languages("def f(x):\n    return x @ x")
    (('index',), ('latex', 'matrix'), ('numpy',))
    >>> languages("x'*A*x"), languages("f = x1 x2 + sin(x1)")
    (('matrix', 'index'), ('index', 'matrix'))
    """
    if OF_NUMPY.search(text):
        return ("numpy",)
    if "\\" in text:
        return ("matrix", "latex") if declare.strip() else ("latex", "matrix")
    if INDEXED.search(text):
        return ("index",)
    return ("matrix", "index") if declare.strip() or OF_MATRICES.search(text) else ("index", "matrix")


def read(asked: PageRequest) -> tuple[str, rc.Formula, str]:
    """The language of a request's text, its formula, and the formula as index notation."""
    tried = (asked.language,) if asked.language != "auto" else languages(asked.text, asked.declare)
    first: rc.RicciError | None = None
    for language in tried:
        try:
            formula = READERS[language](asked)
        except rc.LimitError:
            raise
        except rc.RicciError as error:
            first = first or error
        else:
            return language, formula, str(formula)
    assert first is not None
    raise first


def _said(asked: PageRequest) -> dict[str, Any]:
    """What is declared of names that are in the text: "z: complex"."""
    found: dict[str, list[str]] = {}
    for name, said in declarations(asked.declare).items() if ":" in asked.declare else ():
        for word in said.words if re.search(rf"\b{re.escape(name)}\b", asked.text) else ():
            found.setdefault(word, []).append(name)
    return {word: names for word, names in found.items() if word in WORDS}


READERS = {
    "index": lambda asked: rc.parse(asked.text, sizes=dict(asked.sizes) or None, latex=False, **_said(asked)),
    "latex": lambda asked: rc.parse(asked.text, sizes=dict(asked.sizes) or None, latex=True, **_said(asked)),
    "matrix": lambda asked: rc.matrix(asked.text, asked.declare, sizes=dict(asked.sizes) or None),
    "numpy": lambda asked: formula_of_function(asked.text, asked.declare, sizes=asked.sizes),
}
