"""The forms in which a formula is shown, by the names of their options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import ricci as rc
from ricci.cli.terminal import fitted

View = Callable[[rc.Formula], str]

VIEWS: dict[str, tuple[View, str]] = {
    "text": (str, "in index notation, which is what is shown if nothing else is asked for"),
    "latex": (lambda f: f.latex(), "in LaTeX"),
    "matrix": (lambda f: f.matrix(), "in matrix notation, where it has one"),
    "derivation": (lambda f: str(f.derivation()), "the steps that lead to a derivative, with the rules"),
    "structure": (lambda f: str(f.structure()), "what it is made of: cores, deltas, ones, symmetries"),
    "plan": (lambda f: str(f.compile("numpy").plan), "the steps in which it is computed, and what they cost"),
    "graph": (lambda f: rc.draw(f).dot, "the graph of its operations, in Graphviz's language"),
}
FITTED: dict[str, Callable[[rc.Formula, int], str]] = {  # what is broken to fit a terminal, by its columns
    "text": lambda f, columns: fitted(str(f), columns),
    "derivation": lambda f, columns: "\n".join(f.derivation().lines(columns)),
}
DERIVED = frozenset(["derivation"])  # what only derivatives have
COSTLY = frozenset(["plan"])  # what imports NumPy, and so is in no object of all views


def shown(f: rc.Formula, name: str, columns: int | None = None) -> str:
    """The formula in a form, of lines that fit so many columns where that is asked for."""
    made = FITTED[name](f, columns) if columns is not None and name in FITTED else VIEWS[name][0](f)
    return made.rstrip("\n")


def whole(f: rc.Formula, names: Iterable[str], more: Mapping[str, View]) -> dict[str, Any]:
    """The formula in all forms that it has, or in those that are named, and the reasons why others are missing.

    ``more`` are forms beside those of the table.
    """
    wanted = list(names) or [name for name in VIEWS if name not in COSTLY and (name not in DERIVED or f.chain)]
    found: dict[str, Any] = {"name": f.name, "indices": list(f.indices), "variables": list(f.variables)}
    missing = {}
    for name, view in {**{name: VIEWS[name][0] for name in wanted}, **more}.items():
        try:
            found[name] = view(f)
        except rc.RicciError as error:
            found[name], missing[name] = None, str(error)
    return {**found, "missing": missing} if missing else found
