"""Names of the axes of arguments, and what they lie along: ``axes={"X": "m n", "m": "data"}``.

A key that is an argument, or an array that the function captures, has the names of its axes: a text with one for each
by spaces, ``_`` where it shall have none, and ``...`` for any number of those; for a tree one text for all leaves, or a
tree of texts. Any other key is an index, one of those names or one that ``@rc.signature`` gives, and lies along an axis
of the mesh. Axes that nobody names are what the program says: in ``y * (X @ w)`` that of ``y`` is that of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ricci.checked_calls import is_index, shown
from ricci.compiler.mesh.placement import (
    Cut,
    Placement,
    along_mesh,
    check_mesh,
    listed,
    mesh_of,
    parts_of_mesh,
    spec_of,
)
from ricci.compiler.run.function import Compiled
from ricci.errors import InputError, ShapeError, nearest
from ricci.tracing import trees
from ricci.tracing.recording import Recording
from ricci.tracing.trees import LEAF, Form

EXAMPLE = '{"X": "m n", "m": "data"}'
Texts = Mapping[str, Any]


class AxesNamed:
    """What ``mesh=`` and ``axes=`` of a transform say."""

    def __init__(self, what: str, mesh: Any, axes: Any, backend: str | None, jit: Any = None):
        self.what, self.mesh, self.axes = what, mesh, {} if axes is None else axes
        if mesh is not None:
            check_mesh(mesh, backend, what, jit)
        if not isinstance(self.axes, Mapping) or not all(isinstance(key, str) for key in self.axes):
            raise InputError(
                f"{what}: axes= gives names to the axes of arguments, and says which index lies along which axis of "
                f"a mesh: axes={EXAMPLE}, not {shown(axes)}."
            )
        if mesh is not None and not self.axes:
            raise InputError(f"{what}: mesh= needs axes=, which says what lies along the mesh: axes={EXAMPLE}.")

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "mesh": None if self.mesh is None else parts_of_mesh(self.mesh)}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        self.mesh = None if self.mesh is None else mesh_of(*self.mesh)

    def named(self, recording: Recording, arguments: Sequence[str]) -> Recording:
        """A recording whose inputs have the names; ``arguments`` are those of the call."""
        found: dict[str, tuple[str, ...]] = {}
        for name, form, places in zip(arguments, recording.forms, recording.places, strict=False):
            if name in self.axes:
                texts = self._texts(self.axes[name], form, name)
                for text, place, path in zip(texts, places, trees.spelled(form, name), strict=True):
                    if place >= 0:
                        v = recording.inputs[place]
                        found[v.name] = self._names(text, v.shape, path)
        for name, array in recording.captured.items():
            if name in self.axes and name not in arguments:
                found[name] = self._names(self.axes[name], array.shape, name)
        made = replace(recording, axes={**recording.axes, **found})
        self._check(made, {*arguments, *recording.parameters, *recording.captured})
        return made

    def _texts(self, given: Any, form: Form, path: str) -> list[Any]:
        """A text for each leaf: one may be for all, or a tree go part of the way."""
        if isinstance(given, str):
            return [given] * trees.count(form)
        parts = None
        if form != LEAF and isinstance(given, Mapping):
            parts = (
                [given.get(key, "...") for key in trees.keys(form)] if given.keys() <= set(trees.keys(form)) else None
            )
        elif form != LEAF and isinstance(given, (tuple, list)) and len(given) == len(form[2]):
            parts = list(given)
        if parts is None:
            raise InputError(
                f"{self.what}: axes= has {shown(given)} for {path}, where a text with the names of its axes is needed, "
                f'"m n"{"" if form == LEAF else f", or texts in its form, which is {trees.describe(form)}"}.'
            )
        return [text for part, own in zip(parts, form[2], strict=True) for text in self._texts(part, own, path)]

    def _names(self, text: Any, shape: Sequence[Any], path: str) -> tuple[str, ...]:
        """The names in a text, one for each axis of an array."""
        words: list[str] = text.replace(",", " ").split() if isinstance(text, str) else [""]
        if not all(word in ("...", "_") or is_index(word) for word in words) or words.count("...") > 1:
            raise InputError(
                f'{self.what}: axes= has {shown(text)} for {path}; write the names of its axes by spaces, "m n", with '
                '"_" for one without a name, and "..." for any number of those.'
            )
        names = ["" if word == "_" else word for word in words]
        if "..." in names and len(names) - 1 <= len(shape):
            at = names.index("...")
            names[at : at + 1] = [""] * (len(shape) - len(names) + 1)
        if len(names) != len(shape) or "..." in names:
            raise ShapeError(
                f"{self.what}: axes= gives {path} the names {text!r}, and it has {len(shape)} axes: its shape is "
                f'{tuple(shape)}. Write one name for each, or "..." for those that need none.'
            )
        return tuple(names)

    def _check(self, recording: Recording, known: set[str]) -> None:
        """An error for a key that is neither an argument nor an index, or may be both."""
        indices = list(dict.fromkeys(name for name, _ in recording.groups()))
        for key, value in self.axes.items():
            both = key in known and key in indices
            cut = [value] if isinstance(value, str) else value
            if both and not isinstance(cut, Mapping) and {*cut} <= {*getattr(self.mesh, "axis_names", ())}:
                raise InputError(
                    f"{self.what}: {key!r} in axes= is an argument of {recording.name} and an index too. Call the "
                    "index by another name."
                )
        rest = [key for key in self.axes if key not in known]
        if self.mesh is not None and not rest:
            raise InputError(
                f"{self.what}: axes= lays nothing along the mesh, whose axes are {listed(self.mesh.axis_names)}. Say "
                f"so of an index: axes={EXAMPLE}."
            )
        if rest and self.mesh is None:
            raise InputError(
                f"{self.what}: axes= has {rest[0]!r}, which is no argument of {recording.name}; it has "
                f"{', '.join(sorted(known)) or 'none'}. To lay an index along devices, give mesh= too. "
                f"{nearest(rest[0], known)}".rstrip()
            )
        if any(key not in indices for key in rest):
            names = [*indices, *sorted(known)]
            wrong = next(key for key in rest if key not in indices)
            raise InputError(
                f"{self.what}: axes= has {wrong!r}, which is neither an argument of {recording.name} nor an index; "
                f"the arguments are {', '.join(sorted(known)) or 'none'}, the indices {', '.join(indices) or 'none'}. "
                f"{nearest(wrong, names)}".rstrip()
            )

    def placement(self, recording: Recording) -> Placement | None:
        """How the arrays of a program lie on the mesh, if there is one."""
        if self.mesh is None:
            return None
        groups = recording.groups()
        indices = {name for name, _ in groups}
        given = {key: value for key, value in self.axes.items() if key in indices}
        along = along_mesh(given, self.mesh.axis_names, self.what, EXAMPLE)
        at = {axis: name for name, axes in groups for axis in axes}
        orders = {v.name: v.order for v in recording.inputs}
        orders |= {name: len(array.shape) for name, array in recording.captured.items()}
        specs = []
        for name, order in orders.items():
            names = [at.get((name, axis)) for axis in range(order)]
            cuts = spec_of([[own] if own else [] for own in names], along)
            told: list[Cut | None] = [cut if own else None for own, cut in zip(names, cuts, strict=True)]
            specs.append((name, tuple(told)))
        return Placement(self.mesh, tuple(along.items()), tuple(specs))

    def put(self, compiled: Compiled, recording: Recording) -> None:
        """Has a program run on the mesh, if there is one."""
        placement = self.placement(recording)
        if placement is not None:
            from ricci.compiler.mesh.mesh_target import put_on_mesh  # which imports JAX

            put_on_mesh(compiled, placement)
