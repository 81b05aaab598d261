"""What a mesh costs: arithmetic, memory and bytes sent on each device, for meshes that need not be there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ricci.checked_calls import is_whole, shown
from ricci.compiler.mesh.layouts import Collective, Simulation, layout
from ricci.compiler.mesh.placement import Placement, listed
from ricci.compiler.plan.plans import Plan
from ricci.compiler.plan.program_steps import shape_text
from ricci.errors import InputError
from ricci.grid import Grid, Shown

DEVICES = (8, 64, 512, 4096)
UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")


@dataclass(frozen=True)
class MeshCost:
    """What a program costs each device of one mesh."""

    mesh: Mapping[str, int]
    flops: float
    memory: int  # bytes of inputs and results, and the most of what is made in between
    sent: float  # bytes
    collectives: tuple[Collective, ...]

    @property
    def devices(self) -> int:
        return prod(self.mesh.values())


class MeshCosts(Shown):
    """The costs for several meshes, one row for each; below, what is sent."""

    def __init__(self, rows: Sequence[MeshCost], notes: Sequence[str]):
        self.rows, self.notes = list(rows), list(notes)

    def __iter__(self) -> Iterator[MeshCost]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, devices: int) -> MeshCost:
        """The costs for a number of devices."""
        for row in self.rows:
            if row.devices == devices:
                return row
        counts = ", ".join(str(row.devices) for row in self.rows)
        raise InputError(
            f"There are costs for {counts} devices, not for {shown(devices)}; ask f.mesh_costs({devices!r})."
        )

    def grid(self) -> Grid:
        heads = ["devices", "mesh", "FLOPs a device", "memory a device", "sent by a device", "collectives"]
        cells = [
            [
                f"{row.devices:,}",
                " × ".join(f"{name} {count}" for name, count in row.mesh.items()),
                f"{row.flops:,.0f}",
                in_units(row.memory),
                in_units(row.sent),
                str(len(row.collectives)),
            ]
            for row in self.rows
        ]
        told = max(self.rows, key=lambda row: len(row.collectives))
        sent = [f"With {told.devices:,} devices:", *[said(each) for each in told.collectives]]
        sent = sent if told.collectives else ["Nothing is sent."]
        return Grid(heads, cells, right={0, 2, 3, 4, 5}, below="\n".join([*dict.fromkeys(sent), *self.notes]))


def said(sent: Collective) -> str:
    """A collective in words."""
    if sent.kind == "all-reduce":
        over = f", summed over {', '.join(sent.over)}" if sent.over else ""
    else:
        over = f", cut by {', '.join(sent.over)}" if sent.over else ""
    return (
        f"{sent.kind} of {sent.value} ({shape_text(sent.shape)}{over}) along {' and '.join(sent.along)}: "
        f"{in_units(sent.bytes)}"
    )


def in_units(count: float) -> str:
    """Bytes, in units of three digits or fewer."""
    unit = 0
    while round(count, 1) >= 1000 and unit < len(UNITS) - 1:
        count, unit = count / 1000, unit + 1
    return f"{count:,.0f} bytes" if not unit else f"{count:,.1f} {UNITS[unit]}"


def meshes(devices: Any, names: Sequence[str], own: Mapping[str, int] | None) -> list[dict[str, int]]:
    """The meshes asked for: a number of devices is along the first axis, what the others have aside."""
    asked = devices if isinstance(devices, (list, tuple)) else [devices]
    if devices is None:
        asked = [*([prod(own.values())] if own else []), *DEVICES]
    found = []
    for each in asked:
        if isinstance(each, Mapping):
            if {*each} != {*names} or not all(is_whole(n) and n > 0 for n in each.values()):
                raise InputError(f"mesh_costs: {dict(each)!r} should say how many devices are along {listed(names)}.")
            found.append({name: int(each[name]) for name in names})
            continue
        rest = {name: (own or {}).get(name, 1) for name in names[1:]}
        if not is_whole(each) or each < 1:
            raise InputError(f"mesh_costs takes numbers of devices, or {{{names[0]!r}: 64, …}}, not {shown(each)}.")
        if each % prod(rest.values()):
            if devices is None:
                continue
            raise InputError(
                f"mesh_costs: {each} devices do not make a mesh with {rest} along its other axes; write how many are "
                f"along each: {dict.fromkeys(names, 8)}."
            )
        found.append({names[0]: int(each) // prod(rest.values()), **rest})
    return [mesh for number, mesh in enumerate(found) if mesh not in found[:number]]


def costs_of(plan: Plan, placement: Placement, devices: Any) -> MeshCosts:
    """The costs of a plan whose program lies so; the mesh of the placement may be none."""
    names = list(dict.fromkeys(one for _, cut in placement.along for one in cut))
    own = None
    if placement.mesh is not None:
        own = dict(placement.mesh.shape)
        names = list(own)
    inputs, results = layout(plan.program, dict(placement.inputs), placement.results)
    rows, notes = [], dict[tuple[str, int], list[str]]()
    for mesh in meshes(devices, names, own):
        made = Simulation(plan, mesh, inputs, results)
        rows.append(MeshCost(mesh, made.flops, made.held + made.peak, sum(c.sent for c in made.sent), tuple(made.sent)))
        for (name, value), spec in zip(plan.program.inputs.items(), inputs, strict=True):
            for axis, (size, cut) in enumerate(zip(value.shape, spec, strict=True)):
                if size % prod([mesh[one] for one in cut or ()]):
                    notes.setdefault((name, axis), []).append(f"{prod(mesh.values()):,}")
    uneven = [f"Axis {axis} of {name} is not shared equally by {', '.join(n)}." for (name, axis), n in notes.items()]
    return MeshCosts(rows, [*([plan.note] if plan.note else []), *uneven])
