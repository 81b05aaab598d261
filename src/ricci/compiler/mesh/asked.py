"""What a compiled function is asked of meshes: where its arrays would lie, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ricci.compiler.mesh.mesh_costs import MeshCosts, costs_of
from ricci.compiler.mesh.placement import IndexNames, Placement, along_mesh, check_indices
from ricci.compiler.plan.plans import Plan
from ricci.compiler.prepare.prepared import Prepared
from ricci.errors import InputError

WHAT = "f.mesh_costs"


def costs_asked(
    stage: Prepared, plan: Plan, known: Placement | None, devices: Any, axes: Mapping[str, Any] | None
) -> MeshCosts:
    """The costs of a plan on a mesh: that which it was compiled for, or any other."""
    if axes is None and known is None:
        raise InputError(f'{WHAT} needs axes=, which says what lies along the mesh: axes={{"m": "data"}}.')
    if axes is None:
        assert known is not None
        return costs_of(plan, known, devices)
    along = along_mesh(axes, None, WHAT)
    names = IndexNames(stage)
    check_indices(along, names.known(), WHAT)
    return costs_of(plan, Placement(None, tuple(along.items()), names.specs(along)), devices)
