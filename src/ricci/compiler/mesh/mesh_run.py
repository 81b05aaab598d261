"""Programs of JAX on a mesh: inputs are put where they belong, results come where they belong, the rest is XLA's.

Intermediates are not constrained: that made two of three programs send more. Inside, axes of a mesh are ``Auto``,
whatever they are for the user; arrays that come out lie on the user's own mesh.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ricci.compiler.backends.jax_table import jax
from ricci.compiler.emit.source import Source
from ricci.compiler.mesh.layouts import layout
from ricci.compiler.mesh.placement import Placement, Spec
from ricci.compiler.plan.plans import Plan
from ricci.compiler.run.runner import Runner


def on_mesh(plan: Plan, source: Source, placement: Placement) -> Runner:
    """What runs a plan on a mesh."""
    mesh, program = placement.mesh, plan.program
    given, results = layout(program, dict(placement.inputs), placement.results)
    for (name, value), spec in zip(program.inputs.items(), given, strict=True):
        placement.check(repr(name), value.shape, spec)
    for number, (result, spec) in enumerate(zip(program.results, results, strict=True)):
        name = "the result" if len(program.results) == 1 else f"result {number}"
        placement.check(name, result.shape, spec)
    run = PlacedRun(mesh, [_sharding(mesh, spec) for spec in given], _jitted(source.function(), plan, mesh, results))
    return Runner(plan, source, run)


def _sharding(mesh: Any, spec: Spec) -> Any:
    """A sharding of JAX; none where nothing at all is known of an array that has axes."""
    if spec and all(cut is None for cut in spec):
        return None
    return jax.sharding.NamedSharding(mesh, _partition(spec))


def _partition(spec: Spec) -> Any:
    return jax.sharding.PartitionSpec(*[None if not cut else cut[0] if len(cut) == 1 else cut for cut in spec])


def _jitted(run: Callable[..., Any], plan: Plan, mesh: Any, results: Sequence[Spec]) -> Callable[..., Any]:
    """A program that gives its results where they belong."""
    explicit = [name for name, kind in zip(mesh.axis_names, mesh.axis_types, strict=True) if kind.name == "Explicit"]
    if explicit:  # of which no result is left to XLA
        results = [tuple([cut or () for cut in spec]) for spec in results]
        told = [tuple([tuple([one for one in cut or () if one in explicit]) for cut in spec]) for spec in results]
        inside = _one_or_all(plan, [_sharding(mesh, spec) for spec in told])
        run = jax.sharding.auto_axes(run, axes=tuple(explicit), out_sharding=inside)
    return jax.jit(run, out_shardings=_one_or_all(plan, [_sharding(mesh, spec) for spec in results]))


def _one_or_all(plan: Plan, found: list[Any]) -> Any:
    return found[0] if plan.setting.single else tuple(found)


class PlacedRun:
    """A program that puts its inputs where they belong. Arrays that are there already cost a comparison each."""

    def __init__(self, mesh: Any, shardings: Sequence[Any], jitted: Callable[..., Any]):
        self.mesh, self.shardings, self.jitted = mesh, tuple(shardings), jitted

    def __call__(self, *arrays: Any) -> Any:
        return self.jitted(*self.placed(arrays))

    def placed(self, arrays: Sequence[Any]) -> list[Any]:
        """The inputs on the mesh."""
        return [
            a if s is not None and getattr(a, "sharding", None) == s else self._put(a, s)
            for a, s in zip(arrays, self.shardings, strict=True)
        ]

    def _put(self, array: Any, sharding: Any) -> Any:
        """Where nothing is said of an array, it stays if it is on devices of the mesh, and else goes to all of them."""
        if sharding is not None:
            return jax.device_put(array, sharding)
        if isinstance(array, jax.core.Tracer):
            return array
        own = getattr(array, "sharding", None)
        if own is not None and own.device_set == set(self.mesh.devices.flat):
            return array
        return jax.device_put(array, jax.sharding.NamedSharding(self.mesh, jax.sharding.PartitionSpec()))
