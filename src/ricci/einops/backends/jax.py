"""JAX: arrays and tracers alike, by the methods that both have."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ricci.einops.backends.base import Backend


class JaxBackend(Backend):
    name = "jax"
    xp = jnp

    def accepts(self, x: Any) -> bool:
        return isinstance(x, jax.Array)

    def is_float(self, x: Any) -> bool:
        return jnp.issubdtype(x.dtype, jnp.floating)
