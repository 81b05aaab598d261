"""Axes that are checked from one operation to the next.

A pattern such as ``b t (h d) -> b h t d`` says what its axes are, but only to the one operation that reads it. Here the
names outlive the operation, in three ways:

- a scope, ``with rc.axes(d=512) as ax:``, in which a name has one size everywhere, and in which two declared names are
  two index spaces that cannot be mixed up even where their sizes are equal (:mod:`ricci.scopes.axis_scope`);
- a signature, ``@rc.signature("b t d, d e -> b t e")``, which checks what a function takes and gives and opens a scope
  for its body (:mod:`ricci.scopes.axis_signatures`);
- a table, ``rc.shapes(f)(x)``, of every operation that a function runs (:mod:`ricci.scopes.shape_tables`).

In come patterns of axes and functions; out go the same functions, watched. Operations report to whatever watches them
(:mod:`ricci.einops.watch`); while nothing watches anywhere in the process they need not even ask, since what they keep
of earlier calls is empty otherwise. Imported are the reading of patterns and what operations report to.
"""

from ricci.scopes.axis_scope import AxisScope, axes
from ricci.scopes.axis_signatures import signature
from ricci.scopes.shape_tables import ShapeRow, ShapeTable, shapes

__all__ = ["AxisScope", "ShapeRow", "ShapeTable", "axes", "shapes", "signature"]
