"""Functions that are not expressions: calls out of a program, to code of the user's.

Such a function is known by what it takes and gives, and by the rule for its derivative. It is given NumPy's arrays,
also in programs for PyTorch and JAX, and called for each entry of the leading axes, if there are any.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

_numbers = count()


class Outside:
    """A function of arrays with ``orders`` axes, whose result has a known shape and type."""

    def __init__(self, native: Callable[..., Any], orders: tuple[int, ...], shape: tuple[int, ...], dtype: np.dtype):
        self.native, self.orders, self.shape, self.dtype = native, orders, shape, dtype
        self.name = f"outside_{next(_numbers)}"  # in sources

    @property
    def kind(self) -> str:
        """What the result holds: floats, integers or truth values."""
        return "i" if self.dtype.kind in "iu" else self.dtype.kind

    def on(self, backend: str) -> Callable[..., Any]:
        """The function for arrays of a backend."""
        return {"numpy": self.on_numpy, "torch": self.on_torch, "jax": self.on_jax}[backend]

    def on_numpy(self, *operands: Any) -> Any:
        """The values, in the type of the operands where they are floats."""
        arrays = [np.asarray(x) for x in operands]
        lead = arrays[0].shape[: arrays[0].ndim - self.orders[0]]
        dtype = arrays[0].dtype if self.kind == "f" and arrays[0].dtype.kind == "f" else self.dtype
        result = np.empty((*lead, *self.shape), dtype)
        for place in np.ndindex(*lead):
            result[place] = self.native(*[a[place] for a in arrays])
        return result

    def on_torch(self, *operands: Any) -> Any:
        import torch

        found = self.on_numpy(*[x.detach().cpu().numpy() for x in operands])
        return torch.from_numpy(found).to(operands[0].device)

    def on_jax(self, *operands: Any) -> Any:
        import jax

        lead = operands[0].shape[: operands[0].ndim - self.orders[0]]
        dtype = operands[0].dtype if self.kind == "f" else self.dtype
        like = jax.ShapeDtypeStruct((*lead, *self.shape), dtype)
        return jax.pure_callback(self.on_numpy, like, *operands, vmap_method="sequential")
