"""Axes that are checked from one operation to the next.

A pattern such as ``b t (h d) -> b h t d`` says what its axes are, but only to the one operation that reads it. Here the
names outlive the operation, in three ways:

- a scope, ``with rc.axes(d=512) as ax:``, in which a name has one size everywhere, and in which two declared names are
  two index spaces that cannot be mixed up even where their sizes are equal (:mod:`ricci.scopes.scope`);
- a signature, ``@rc.signature("b t d, d e -> b t e")``, which checks what a function takes and gives and opens a scope
  for its body (:mod:`ricci.scopes.signatures`);
- a table, ``rc.shapes(f)(x)``, of every operation that a function runs (:mod:`ricci.scopes.tables`).

Operations report to whatever watches them through :func:`check` and :func:`note`; while nothing watches anywhere in the
process they need not even ask, since what they keep of earlier calls is empty otherwise (:mod:`ricci.scopes.watch`).
"""

from ricci.scopes.scope import AxisSizeError, AxisSpaceError, Scope, axes
from ricci.scopes.signatures import signature
from ricci.scopes.tables import Row, ShapeTable, shapes
from ricci.scopes.watch import WATCHERS, Use, Watcher, check, note

__all__ = [
    "WATCHERS",
    "AxisSizeError",
    "AxisSpaceError",
    "Row",
    "Scope",
    "ShapeTable",
    "Use",
    "Watcher",
    "axes",
    "check",
    "note",
    "shapes",
    "signature",
]
