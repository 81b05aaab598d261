"""Functions that are not expressions: calls out of a program, to code of the user's.

Such a function is known by what it takes and gives, and by the rule for its derivative. It is given NumPy's arrays,
also in programs for PyTorch and JAX, and called for each entry of the leading axes, if there are any.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from ricci.errors import DTypeError, ShapeError

_numbers = count()


class Outside:
    """A function of arrays with ``orders`` axes, whose result has a known shape and type."""

    def __init__(
        self, native: Callable[..., Any], title: str, orders: tuple[int, ...], shape: tuple[int, ...], dtype: np.dtype
    ):
        self.native, self.title, self.orders, self.shape, self.dtype = native, title, orders, shape, dtype
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
        result = np.empty(self.result_shape(*arrays), dtype)
        for place in np.ndindex(*lead):
            result[place] = self._checked(np.asarray(self.native(*[a[place] for a in arrays])), dtype)
        return result[()]

    def result_shape(self, *arrays: Any) -> tuple[int, ...]:
        """The shape of the result, with the leading axes that the arrays have."""
        return (*arrays[0].shape[: arrays[0].ndim - self.orders[0]], *self.shape)

    def _checked(self, value: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """A value, if it is what the example was: another shape would be broadcast, another kind of number cut off."""
        if value.shape != self.shape:
            raise ShapeError(
                f"{self.title} runs as it is, not traced, and returned the shape {value.shape} where on an example "
                f"it returned {self.shape}; the shape of its result may depend on the shapes of its arguments alone."
            )
        if not np.can_cast(value.dtype, dtype, "same_kind"):
            raise DTypeError(
                f"{self.title} runs as it is, not traced, and returned the type {value.dtype} where on an example it "
                f"returned {self.dtype}; return one type, as by np.asarray(result, dtype)."
            )
        return value

    def on_torch(self, *operands: Any) -> Any:
        import torch

        known = [x.float() if x.dtype == torch.bfloat16 else x for x in operands]  # which NumPy lacks
        found = torch.from_numpy(self.on_numpy(*[x.detach().cpu().numpy() for x in known]))
        return found.to(operands[0].device, operands[0].dtype if self.kind == "f" else None)

    def on_jax(self, *operands: Any) -> Any:
        import jax

        known = [x.astype("float32") if x.dtype == "bfloat16" else x for x in operands]  # which NumPy lacks
        dtype = known[0].dtype if self.kind == "f" else jax.dtypes.canonicalize_dtype(self.dtype)
        like = jax.ShapeDtypeStruct(self.result_shape(*known), dtype)
        run = lambda *arrays: self.on_numpy(*arrays).astype(dtype)  # noqa: E731
        found = jax.pure_callback(run, like, *known, vmap_method="sequential")
        return found.astype(operands[0].dtype) if self.kind == "f" else found
