"""The page of what can be traced, made from the table: ``python -m ricci.testing.numpy_page > docs/numpy.md``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.fft  # the functions of both are in the table once they are imported
import scipy.special

from ricci.tracing.arguments import is_refusal
from ricci.tracing.lowerings import LoweringRow
from ricci.tracing.rows import table

TITLES = {
    "ufuncs": "Entry by entry",
    "choosing": "Choosing",
    "over_axes": "Reductions",
    "without_nans": "Reductions that pass NaN over",
    "statistics": "Statistics",
    "sequences": "Along an axis",
    "ordering": "Order",
    "contractions": "Products",
    "einsum": "einsum",
    "shaping": "Shapes",
    "repeating": "Repeating and padding",
    "diagonals": "Diagonals and triangles",
    "several": "Joining and splitting",
    "keys": "Indexing",
    "creation": "Making arrays",
    "queries": "Questions about arrays",
    "linalg": "Linear algebra",
    "transforms_along": "Fourier transforms",
    "scipy_special": "scipy.special",
}
_HEAD = """# What can be traced

Functions of NumPy and SciPy that take traced arrays and eager tensors, made from the table in `ricci.tracing` by
`python -m ricci.testing.numpy_page`. Arguments are those of NumPy, without `out`; all of them are differentiable to
any order where the function is. {count} callables are traced. What is not listed is an error that names the nearest
one.
"""


def traced_names() -> dict[str, list[str]]:
    """The callables that can be traced, by group."""
    groups: dict[str, set[str]] = {}
    for row in _rows():
        groups.setdefault(row.group, set()).add(_shown(row))
    order = [*TITLES, *sorted(groups.keys() - TITLES.keys())]
    return {group: sorted(groups[group], key=str.lower) for group in order if group in groups}


def _rows() -> Iterator[LoweringRow]:
    """The rows that trace; some are there only to refuse in clear words."""
    for row in table().values():
        if not is_refusal(row.lower):
            yield row


def _shown(row: LoweringRow) -> str:
    names = {"getitem": "x[…]", "changed": "x.at[…].set(v), .add(v), …"}
    special = row.name.removeprefix("scipy.special.")
    if special != row.name and not isinstance(getattr(scipy.special, special), np.ufunc):
        return f"ricci.numpy.special.{special}"  # SciPy's own makes plain arrays of its arguments
    return names.get(row.name, row.name)


def page() -> str:
    """The page, in Markdown."""
    names = traced_names()
    parts = [_HEAD.format(count=sum(map(len, names.values())))]
    for group, found in names.items():
        listed = ", ".join([f"`{name}`" for name in found])
        parts.append(f"## {TITLES.get(group, group.capitalize())}\n\n{listed}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    print(page(), end="")
