"""The functions that users may write in equations, by name: the rows that have a help."""

from __future__ import annotations

from ricci.expr import ROWS, Op
from ricci.functions import activations, elementwise, factorisations, matrix, reductions

MODULES = (elementwise, activations, reductions, matrix, factorisations)  # that have the rows
FUNCTIONS: dict[str, Op] = {name: row for name, row in ROWS.items() if row.help}
