"""Where arrays lie on a mesh, from the names of their indices: ``axes={"m": "data"}``.

The names that a text gives to an axis of an input are told by its groups. A result has the names that were asked for;
an index that a derivative has made, as the second one of a Hessian, stands for the same axis of an input as an index
of the text does, and lies as that would. An axis of a mesh cuts an array once: of the axes of an array that would lie
along it, the first does, and one whose own name was given goes before one that only stands for the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ricci.checked_calls import shown
from ricci.compiler.prepare.known_sizes import input_axes
from ricci.compiler.prepare.prepared import Prepared
from ricci.errors import AxisError, InputError, ShapeError, nearest

Cut = tuple[str, ...]  # the axes of a mesh that cut an axis of an array; none where it is whole
Spec = tuple[Cut | None, ...]  # that of each axis of an array; None where nothing is known of it
Along = Mapping[str, Cut]  # index → axes of a mesh
Names = Sequence[str]


@dataclass(frozen=True)
class Placement:
    """How the arrays of a program lie on a mesh. Results that are not told lie as what they are made of."""

    mesh: Any
    along: tuple[tuple[str, Cut], ...]
    inputs: tuple[tuple[str, Spec], ...]
    results: tuple[Spec, ...] | None = None

    def __reduce__(self) -> Any:
        return _arrived, (parts_of_mesh(self.mesh), self.along, self.inputs, self.results)

    def check(self, name: str, shape: Sequence[int], spec: Spec) -> None:
        """An error where an array cannot be cut in equal parts."""
        for axis, (size, cut) in enumerate(zip(shape, spec, strict=True)):
            count = prod([self.mesh.shape[one] for one in cut or ()])
            if size % count:
                indices = [index for index, own in self.along if set(own) & set(cut or ())]
                raise ShapeError(
                    f"Axis {axis} of {name} has {size} entries, which the {count} devices along {listed(cut)} do not "
                    f"share equally, as JAX needs it. Make it {-(-size // count) * count} long with entries that do "
                    f"not count, or leave {listed(indices)} out of axes=."
                )


def _arrived(parts: tuple, along: tuple, inputs: tuple, results: Any) -> Placement:
    return Placement(mesh_of(*parts), along, inputs, results)


def parts_of_mesh(mesh: Any) -> tuple:
    """What travels of a mesh. Devices do not; those of the same numbers are taken where it arrives."""
    ids = [int(device.id) for device in mesh.devices.flat]
    return ids, mesh.devices.shape, mesh.axis_names, [kind.name for kind in mesh.axis_types]


def mesh_of(ids: list[int], shape: tuple[int, ...], names: tuple[str, ...], kinds: list[str]) -> Any:
    """A mesh that has travelled."""
    import jax

    devices = {device.id: device for device in jax.devices()}
    lacking = [number for number in ids if number not in devices]
    if lacking:
        raise InputError(
            f"A function for a mesh of {len(ids)} devices is loaded where JAX has {len(devices)}: device {lacking[0]} "
            "is missing. Compile it there, for a mesh of the devices that there are."
        )
    import numpy as np

    types = tuple([getattr(jax.sharding.AxisType, kind) for kind in kinds])
    placed = np.array([devices[number] for number in ids], object).reshape(shape)
    return jax.sharding.Mesh(placed, names, axis_types=types)


def listed(words: Iterable[str] | None) -> str:
    """Names in a sentence."""
    return " and ".join(map(repr, words or ())) or "none"


# What a user says


def check_mesh(mesh: Any, backend: str | None, what: str, jit: Any = None) -> None:
    """An error where there is no mesh of JAX, or what cannot run on one is asked for."""
    if type(mesh).__module__.startswith("torch"):
        raise InputError(
            f"{what}: mesh= is for meshes of JAX, and this is one of PyTorch. Give the function DTensors, which know "
            "where they lie: distribute_tensor(X, mesh, [Shard(0)])."
        )
    if not (type(mesh).__module__.partition(".")[0] in ("jax", "jaxlib") and hasattr(mesh, "devices")):
        raise InputError(f'{what}: mesh= is a mesh of JAX, as jax.make_mesh((8,), ("data",)) is, not {shown(mesh)}.')
    if backend not in (None, "jax"):
        raise InputError(f'{what}: mesh= is for the backend "jax", and this is for {backend!r}. Write "jax" there.')
    if any(kind.name == "Manual" for kind in mesh.axis_types):
        raise InputError(f"{what}: the mesh has axes of the type Manual, as inside shard_map; its own has not.")
    if jit is not None and not jit:
        raise InputError(f"{what}: mesh= leaves to XLA what is sent between devices, so it needs jit; drop jit=False.")


def along_mesh(axes: Any, mesh_axes: Names | None, what: str, form: str = '{"m": "data"}') -> dict[str, Cut]:
    """For each index the axes of a mesh that it lies along; ``mesh_axes`` are those that the mesh has."""
    if not isinstance(axes, Mapping) or not all(isinstance(index, str) for index in axes):
        raise InputError(f"{what}: axes= says which index lies along which axis of the mesh: axes={form}.")
    found = {}
    for index, cut in axes.items():
        cut = (cut,) if isinstance(cut, str) else cut
        if not isinstance(cut, (tuple, list)) or not all(isinstance(one, str) for one in cut):
            raise InputError(
                f"{what}: index {index!r} lies along an axis of the mesh, or a tuple of some: axes={form}."
            )
        for one in cut:
            if mesh_axes is not None and one not in mesh_axes:
                raise AxisError(
                    f"{what}: the mesh has no axis {one!r}, along which {index!r} is to lie; it has "
                    f"{listed(mesh_axes)}. {nearest(one, mesh_axes)}".rstrip()
                )
        if len(set(cut)) < len(cut):
            raise AxisError(f"{what}: index {index!r} is to lie along {listed(cut)}; each axis of a mesh cuts it once.")
        found[index] = tuple(cut)
    return found


def check_indices(along: Iterable[str], known: Iterable[str], what: str) -> None:
    """An error for an index that is none."""
    known = list(dict.fromkeys(known))
    for index in along:
        if index not in known:
            raise AxisError(
                f"{what}: there is no index {index!r} to lie along an axis of a mesh; the indices are "
                f"{', '.join(known) or 'none'}. {nearest(index, known)}".rstrip()
            )


# From names to places


def spec_of(own: Sequence[Names], along: Along, others: Sequence[Names] = ()) -> Spec:
    """How an array lies whose axes have these names; ``others`` are further names, asked after all of those."""
    found: list[Cut] = [()] * len(own)
    used: set[str] = set()
    for names in (own, others):
        for axis, given in enumerate(names):
            cuts = [along[name] for name in given if along.get(name)]
            if cuts and not found[axis]:
                found[axis] = tuple([one for one in cuts[0] if one not in used])
                used.update(found[axis])
    return tuple(found)


class IndexNames:
    """Which indices stand at which axes of inputs, in a text and in the derivatives of it."""

    def __init__(self, stage: Prepared):
        self.stage = stage
        self.at: dict[tuple[str, int], list[str]] = {}
        self.axes: dict[str, list[tuple[str, int]]] = {}
        for name, axes in stage.facts.groups:
            self.axes.setdefault(name, []).extend(axes)
            for axis in axes:
                self.at.setdefault(axis, []).append(name)

    def known(self) -> list[str]:
        """All indices."""
        facts = self.stage.facts
        rest = [name for names in self.inputs().values() for axis in names for name in axis]
        return [name for name in [*self.axes, *self.stage.names, *facts.sizes, *facts.ranges, *rest] if name]

    def inputs(self) -> dict[str, list[Names]]:
        """For each input the names of each of its axes: where the text has none, that of an index of its size."""
        orders = {**self.stage.facts.inputs, **{v.name: v.order for v in self.stage.needed}}
        orders = {name: order for name, order in orders.items() if name in self.stage.inputs}
        lacking = any((name, axis) not in self.at for name, order in orders.items() for axis in range(order))
        by_size = input_axes(self.stage) if lacking else {}
        found: dict[str, list[Names]] = {}
        for name, order in orders.items():
            rest = by_size.get(name, ("",) * order)
            found[name] = [self.at.get((name, axis)) or [rest[axis]] for axis in range(order)]
        return found

    def related(self, index: str) -> list[str]:
        """The indices that stand where this one does."""
        return [name for axis in self.axes.get(index, ()) for name in self.at[axis]]

    def specs(self, along: Along) -> tuple[tuple[str, Spec], ...]:
        """How the inputs lie; nothing is known of an axis that has no name."""
        found = []
        for name, names in self.inputs().items():
            cuts = spec_of(names, along)
            found.append((name, tuple([cut if any(own) else None for own, cut in zip(names, cuts, strict=True)])))
        return tuple(found)

    def result(self, indices: Names, along: Along) -> Spec:
        """How a result lies that has these indices."""
        return spec_of([[name] for name in indices], along, [self.related(name) for name in indices])


def of_formulas(
    stage: Prepared, indices: Sequence[Names] | None, mesh: Any, axes: Any, backend: str | None, jit: Any, what: str
) -> Placement:
    """How formulas whose results have these indices lie; without them results lie as what they are made of."""
    if mesh is None:
        raise InputError(f"{what}: axes= says which index lies along which axis of a mesh; give mesh= too.")
    check_mesh(mesh, backend, what, jit)
    along = along_mesh(axes or None, mesh.axis_names, what)
    names = IndexNames(stage)
    check_indices(along, names.known(), what)
    results = None if indices is None else tuple([names.result(own, along) for own in indices])
    return Placement(mesh, tuple(along.items()), names.specs(along), results)
