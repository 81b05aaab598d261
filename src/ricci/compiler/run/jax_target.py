"""JAX: its arrays, and tracers of its transformations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ricci.compiler.backends.jax_table import complex_of, jax, jnp
from ricci.compiler.emit.jax_source import JaxEmitter
from ricci.compiler.emit.source import Source
from ricci.compiler.mesh.mesh_run import on_mesh
from ricci.compiler.plan.plans import Plan
from ricci.compiler.run.runner import Runner
from ricci.compiler.run.target import Framework


class JaxTarget(Framework):
    """JAX arrays."""

    name = "jax"
    rearranged = 16.0  # JAX knows no views: a pass over memory
    jits = True

    def array(self, value: Any, like: Any) -> Any:
        return value if isinstance(value, jax.Array) else jnp.asarray(value)

    def types(self, floating: str) -> dict[str, Any]:
        return {"f": jnp.dtype(floating), "c": complex_of(floating), "i": jnp.result_type(int), "b": np.dtype(np.bool_)}

    def short(self) -> bool:
        return jnp.result_type(int).itemsize < 8

    def floating(self, arrays: Mapping[str, Any]) -> str:
        floats = [jnp.finfo(a.dtype).dtype for a in arrays.values() if self.kind(a) in ("c", "f")]
        return str(jnp.result_type(*floats) if floats else jnp.asarray(0.0).dtype)

    def kind(self, array: Any) -> str:
        if jnp.issubdtype(array.dtype, jnp.complexfloating):
            return "c"
        return "f" if jnp.issubdtype(array.dtype, jnp.floating) else "b" if array.dtype == np.bool_ else "i"

    def emitter(self, plan: Plan) -> JaxEmitter:
        return JaxEmitter(plan)

    def runner(self, plan: Plan, source: Source) -> Runner:
        placement = plan.option("mesh")
        return super().runner(plan, source) if placement is None else on_mesh(plan, source, placement)

    def jitted(self, run: Callable[..., Any]) -> Callable[..., Any]:
        return jax.jit(run)

    def itemsize(self, dtype: str) -> int:
        return jnp.dtype(dtype).itemsize
