"""The target of functions that run on a mesh of JAX: inputs stay where they are until the program places them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ricci.compiler.backends.jax_table import jax
from ricci.compiler.compressed.result import CompressedFunction
from ricci.compiler.mesh.placement import Placement
from ricci.compiler.run.function import Compiled
from ricci.compiler.run.jax_target import JaxTarget


class MeshTarget(JaxTarget):
    """JAX on a mesh. An array of NumPy goes to each device in the part that belongs there, and to none as a whole."""

    takes = (*JaxTarget.takes, "mesh")

    def array(self, value: Any, like: Any) -> Any:
        if isinstance(value, jax.Array):
            return value
        array = np.asarray(value)
        return array.astype(jax.dtypes.canonicalize_dtype(array.dtype), copy=False)  # as JAX takes arrays of NumPy

    def travelling(self) -> Any:
        return self


def put_on_mesh(made: Compiled, placement: Placement) -> None:
    """Has a compiled function run on a mesh.

    Results in parts are computed with later, by programs that leave to XLA how their values lie: on axes that are Auto.
    """
    if isinstance(made, CompressedFunction):
        mesh = placement.mesh
        types = (jax.sharding.AxisType.Auto,) * len(mesh.axis_names)
        placement = replace(placement, mesh=jax.sharding.Mesh(mesh.devices, mesh.axis_names, axis_types=types))
    made.backend, made.options = MeshTarget(), (*made.options, ("mesh", placement))
