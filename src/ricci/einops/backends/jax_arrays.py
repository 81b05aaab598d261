"""JAX: arrays and tracers alike, by the methods that both have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from ricci.einops.backends.base import Backend, Run


class JaxBackend(Backend):
    name = "jax"
    chains = True
    xp = jnp

    def accepts(self, x: Any) -> bool:
        return isinstance(x, jax.Array)

    def concrete(self, kind: type) -> bool:
        return issubclass(kind, jax.Array)  # which tracers are not

    def movers(self, kind: type) -> tuple[Callable, Callable]:
        if self.concrete(kind):
            return kind.reshape, kind.transpose  # type: ignore[attr-defined]
        return super().movers(kind)

    def chain(self, run: Run, kind: type) -> Run:
        """Several moves as one program: one dispatch, where each of them would be one."""
        return jax.jit(run) if self.concrete(kind) else run

    def contraction(self, kinds: Sequence[type], equation: str, *labels: Any) -> Callable:
        """einsum as one program, which JAX finds by the shapes; its own looks at the equation at each call."""
        run = super().contraction(kinds, equation)
        return jax.jit(run) if all(map(self.concrete, kinds)) else run

    def is_float(self, x: Any) -> bool:
        return jnp.issubdtype(x.dtype, jnp.floating)
