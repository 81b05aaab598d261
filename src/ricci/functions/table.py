"""The functions that users may write in equations, by name: the rows that have a help."""

from __future__ import annotations

from ricci.expr import ROWS, Op
from ricci.functions import activations, complexes, elementwise, factorisations, fourier, matrix, reductions

MODULES = (elementwise, complexes, activations, reductions, matrix, factorisations, fourier)  # that have the rows
FUNCTIONS: dict[str, Op] = {name: row for name, row in ROWS.items() if row.help}
_IN_DERIVATIVES = ("prod_before", "prod_after", "recurrence", "recurrence_back", "expm_along", "svd_vectors", "bfft")
_IN_TRACES = ("qr_q", "pinv", "eig_vectors", *sorted(fourier.TRANSFORMS - {"fft", "bfft"}))
IN_TEXT: dict[str, Op] = {
    **FUNCTIONS,
    **{name: ROWS[name] for name in (*_IN_DERIVATIVES, *_IN_TRACES)},
}  # what texts may have


def named_in(library: str) -> dict[str, Op]:
    """The elementwise rows by what a library calls them: "np", "scipy" (its special functions), "aten" (the operations
    of PyTorch), "lax" (the primitives of JAX) or "jax" (its functions, by their paths)."""
    found: dict[str, Op] = {}
    for row in FUNCTIONS.values():
        if row.kind == "elementwise":
            further = [name.removeprefix(f"{library}.") for name in row.traced if name.startswith(f"{library}.")]
            found.update(dict.fromkeys([name for name in (_name_in(library, row), *further) if name], row))
    return found


def _name_in(library: str, row: Op) -> str:
    if library == "aten":  # where comparisons and arithmetic have other names
        return "" if row.sign else (row.torch or row.name).removeprefix("nn.functional.").replace(".", "_")
    own = {"np": row.numpy, "scipy": row.scipy, "jax": row.jax}.get(library, "")
    return own or ("" if library == "jax" else row.name)
