"""Complex tensors and their parts. What PyTorch only marks as a conjugate is one here."""

from __future__ import annotations

import numpy as np

from ricci.errors import DTypeError
from ricci.tracing.pytorch.aten import Array, rows


def _parts(x: Array) -> Array:
    if x.dtype.kind != "c":
        raise DTypeError(f"torch.view_as_real takes complex numbers, not {x.dtype}.")
    return np.stack([x.real, x.imag], axis=-1)


rows(
    __name__,
    {
        "complex": lambda real, imag: real + 1j * imag,
        "polar": lambda abs, angle: abs * np.exp(1j * angle),
        "view_as_real": _parts,
        "view_as_complex": lambda self: self[..., 0] + 1j * self[..., 1],
        "resolve_conj resolve_neg": lambda self: self,
    },
)
