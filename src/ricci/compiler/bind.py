"""From the inputs of a call to arrays and sizes, every one of them checked: expressions bound to numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ricci.caches import lazy
from ricci.compiler.declared_values import as_declared
from ricci.compiler.plan.program_steps import shape_text
from ricci.compiler.prepare.known_sizes import check_sizes
from ricci.compiler.prepare.prepared import Prepared
from ricci.errors import DTypeError, InputError, NotationError, ShapeError, nearest
from ricci.expr import Dim, Expr, Size, Variable, dims, topological
from ricci.expr.settle import SizeClasses
from ricci.functions.unknown import lacks_value
from ricci.grid import Grid, Shown
from ricci.kinds import check_usable
from ricci.notation.context import Facts

Env = dict[dims.Atom, int]


@dataclass(frozen=True)
class Setting:
    """What a plan depends on beside the expressions: shapes and types of a call, where it runs, and options."""

    target: str
    shapes: tuple[tuple[str, tuple[int, ...]], ...]  # of all that is given
    kinds: tuple[tuple[str, str], ...]  # what these hold: floats "f", complex numbers "c", integers "i", truths "b"
    dtype: str  # the floating type
    sizes: tuple[tuple[str | dims.Atom, int], ...] = ()  # of indices, by name, and others by what they are the size of
    single: bool = True  # whether there is one result, and no tuple of them
    short: bool = False  # whether there are no integers of 64 bits
    options: tuple[tuple[str, Any], ...] = ()

    def of_part(self, shapes: Mapping[str, tuple[int, ...]], kinds: Mapping[str, str]) -> Setting:
        """That of a program inside of another, such as one step of a loop; a mesh is for the whole."""
        options = tuple([option for option in self.options if option[0] != "mesh"])
        made = {"shapes": tuple(shapes.items()), "kinds": tuple(kinds.items()), "sizes": (), "single": True}
        return replace(self, **made, options=options)


@dataclass(frozen=True, eq=False, repr=False)
class Bound(Shown):
    """Expressions with a number for every size, and the inputs with their types: all that decides a program."""

    roots: tuple[Expr, ...]
    sizes: Mapping[dims.Atom, int]
    inputs: Mapping[str, tuple[int, ...]]  # the shapes of those that are taken, in their order
    setting: Setting

    @lazy
    def nodes(self) -> list[Expr]:
        return topological(*self.roots)

    @lazy
    def kinds(self) -> dict[str, str]:
        return dict(self.setting.kinds)

    def of(self, roots: Sequence[Expr]) -> Bound:
        """The same for other expressions in the same inputs."""
        return replace(self, roots=tuple(roots))

    def grid(self) -> Grid:
        words = {"f": self.setting.dtype, "c": "complex numbers", "i": "integers", "b": "truths"}
        inputs = [(name, shape_text(shape), words[self.kinds[name]]) for name, shape in self.inputs.items()]
        sizes = [f"{dims.atom_text(atom)} = {size}" for atom, size in self.sizes.items()]
        known = [[dims.replaced(n, lambda a: self.sizes.get(a, dims.symbol(*a))) for n in r.shape] for r in self.roots]
        results = ", ".join(map(shape_text, known))
        said = f"sizes: {', '.join(sizes) or 'all known before'}\nresults: {results}, on {self.setting.target}"
        return Grid(["input", "shape", "type"], inputs, below=said)


def bound(prepared: Prepared, setting: Setting) -> Bound:
    """The prepared results for a call. Inputs that they do not depend on come along: they decide sizes and types."""
    if prepared.unknown:
        raise InputError(lacks_value(prepared.unknown))
    shapes = dict(setting.shapes)
    env = bind_shapes(prepared, shapes, dict(setting.sizes))
    given = {name for name, _ in setting.kinds}
    inputs = {name: shapes[name] for name in prepared.inputs if name in given}
    return Bound(prepared.sized(env), env, inputs, setting)


def bind_shapes(prepared: Prepared, shapes: Mapping[str, tuple[int, ...]], sizes: Mapping[Any, int]) -> Env:
    """The sizes of all axes, from the shapes of the inputs and the sizes of indices that are given."""
    facts, names, mentioned = prepared.facts, prepared.names, prepared.atoms
    env = _axis_sizes(prepared.needed, facts, shapes)
    _check_groups(facts, env)
    env.update({atom: size for atom, size in sizes.items() if isinstance(atom, tuple)})
    by_name = {name: size for name, size in sizes.items() if not isinstance(name, tuple)}
    if by_name:
        _given_sizes(names, facts, by_name, env, {atom[0] for atom in mentioned if len(atom) == 1})
    _complete(prepared, env)
    _check_ranges(facts, env)
    for check in facts.checks:
        if dims.atoms(check.size) <= env.keys() and dims.evaluate(check.size, env) < 0:
            shown = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
            hint = f"The inputs have the shapes {shown}."
            if not check.text:
                raise ShapeError(f"{check.message} {hint}")
            raise NotationError(check.message, check.text, check.start, check.end, hint)
    for a, b in prepared.links:  # backends would broadcast a 1
        first, second = dims.evaluate(a, env), dims.evaluate(b, env)
        if first != second:
            raise ShapeError(
                f"Sizes that must be the same are not: {_place(a)} is {first}, and {_place(b)} is {second}."
            )
    return env


def arguments(prepared: Prepared, inputs: Mapping[str, Any], sizes: Any = None) -> tuple[dict[str, np.ndarray], Env]:
    """The inputs of a call as arrays of NumPy, and all sizes: for those who compute more than the results from them."""
    given = {**prepared.facts.values, **inputs}
    check_names(prepared, given)
    as_declared(prepared.facts.symmetries, given)
    arrays = as_arrays(given)
    return arrays, bind_shapes(prepared, {name: array.shape for name, array in arrays.items()}, check_sizes(sizes))


def check_names(prepared: Prepared, given: Mapping[str, Any]) -> None:
    """Whether each input that is given exists, and each that is needed is given."""
    known = {**dict.fromkeys(prepared.inputs), **prepared.facts.inputs}
    for name in given:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise InputError(f"There is no input {name!r}; the inputs are {listed}. {nearest(name, known)}".rstrip())
    lacking = {v.name for v in prepared.needed if v.name not in given}
    missing = [name for name in known if name in lacking]
    if missing:
        call = ", ".join(f"{name}=…" for name in missing)
        raise InputError(f"The call lacks a value for {', '.join(missing)}; add {call}.")


def as_arrays(given: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The inputs as NumPy arrays. A Python number does not decide the type, as in NumPy."""
    arrays = {name: _array(name, value) for name, value in given.items()}
    floats = [arrays[name].dtype for name, value in given.items() if type(value) not in (float, complex)]
    floats = [dtype for dtype in floats if dtype.kind in "cf"]
    for name, value in given.items():
        if type(value) in (float, complex) and floats:
            narrow = np.finfo(np.result_type(*floats)).dtype
            arrays[name] = arrays[name].astype(
                np.result_type(narrow, np.complex64) if type(value) is complex else narrow
            )
    return arrays


def _array(name: str, value: Any) -> np.ndarray:
    check_usable(value, f"The input {name!r}", name)
    try:
        array = np.asarray(value)
    except Exception as error:
        raise DTypeError(f"The input {name!r} cannot be made an array: {error}") from error
    if array.dtype.kind not in "biufc":
        raise DTypeError(f"The input {name!r} has the type {array.dtype}; numbers are wanted (float, int or bool).")
    return array


def _axis_sizes(needed: list[Variable], facts: Facts, shapes: Mapping[str, tuple[int, ...]]) -> Env:
    env: Env = {}
    orders = {**facts.inputs, **{v.name: v.order for v in needed}}
    index = {axis: name for name, axes in facts.groups for axis in axes}
    for name, shape in shapes.items():
        order = orders.get(name, len(shape))
        if len(shape) != order:
            shown = ",".join(index.get((name, axis), "·") for axis in range(order))
            wanted = f"{name}[{shown}] has {order} axes" if order else f"{name} is a scalar"
            message = f"{wanted}, and the array given for it has {len(shape)}: its shape is {shape}."
            if name in facts.assumed:
                letters = ",".join("ijklmn"[: len(shape)])
                message += f" No indices stand at it in the text; write them, as in sum[{letters}]({name}[{letters}])."
            raise ShapeError(message)
        env.update({(name, axis): size for axis, size in enumerate(shape)})
    for v in needed:
        for axis, size in enumerate(v.shape):
            found = env[(v.name, axis)]
            if isinstance(size, int) and size != found:
                which = f" (index {index[(v.name, axis)]!r})" if (v.name, axis) in index else ""
                raise ShapeError(
                    f"Axis {axis} of {v.name!r}{which} has size {size}, and the array's shape is {shapes[v.name]}."
                )
    return env


def _check_groups(facts: Facts, env: Env) -> None:
    for name, axes in facts.groups:
        sizes = [(env[axis], axis) for axis in axes if axis in env]
        if sizes:
            env.update({axis: sizes[0][0] for axis in axes if axis not in env})
        for size, axis in sizes[1:]:
            if size != sizes[0][0]:
                raise ShapeError(_two_sizes(name, sizes[0][0], sizes[0][1], size, axis))


def _two_sizes(name: str, size: int, axis: tuple, other: int, other_axis: tuple) -> str:
    return (
        f"Index {name!r} has two sizes: {size} on axis {axis[1]} of {axis[0]!r} and {other} on axis {other_axis[1]} "
        f"of {other_axis[0]!r}."
    )


def _given_sizes(names: Mapping[str, Size], facts: Facts, sizes: Mapping[str, int], env: Env, free: set[str]) -> None:
    known = {name for name, _ in facts.groups} | set(names) | set(facts.ranges) | set(facts.sizes) | free
    for name, size in sizes.items():
        if name not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise InputError(f"There is no index {name!r} to have a size; the indices are {listed}.")
        atoms = [axis for group, axes in facts.groups if group == name for axis in axes]
        own = names.get(name)
        if isinstance(own, Dim) and dims.rank(own)[0] < 3:
            atoms += list(own.atoms)
        for atom in dict.fromkeys([*atoms, dims.Atom((name,))]):
            if env.setdefault(atom, int(size)) != size:
                tensor, axis = atom
                raise ShapeError(
                    f"Index {name!r} is given the size {size}, and axis {axis} of {tensor!r} has {env[atom]}."
                )
        if isinstance(own, int) and own != size:
            raise ShapeError(f"Index {name!r} is given the size {size}, and has {own} in the expression.")


def _check_ranges(facts: Facts, env: Env) -> None:
    for name, size in facts.ranges.items():
        if dims.atoms(size) <= env.keys() and dims.evaluate(size, env) < 0:
            raise ShapeError(f"There is no place for index {name!r} where every read is inside its tensor.")


def _complete(prepared: Prepared, env: Env) -> None:
    """Every size that the expression mentions, from those of the axes that it must agree with."""
    wanted = prepared.atoms - env.keys()
    if not wanted:
        return
    classes = SizeClasses(*prepared.roots)
    members: dict[Size, list[Size]] = {}
    for size in [*classes.parent, *(s for node in prepared.nodes for s in node.shape)]:
        members.setdefault(classes.find(size), []).append(size)
    waiting = sorted(wanted, key=str)
    while waiting:  # a size that is found may be what another one is made of
        left = []
        for atom in waiting:
            own = classes.find(dims.symbol(*atom))
            known = (size for size in [own, *members.get(own, [])] if dims.atoms(size) <= env.keys())
            size = next(known, None)
            if size is None:
                left.append(atom)
            else:
                env[atom] = dims.evaluate(size, env)
        if len(left) == len(waiting):
            raise _undetermined(left[0], prepared.names)
        waiting = left


def _place(size: Size) -> str:
    atom = size.terms[0][0][0] if isinstance(size, Dim) and dims.rank(size)[0] == 1 else None
    return f"axis {atom[1]} of {atom[0]!r}" if atom else f"a size of {size}"


def _undetermined(atom: dims.Atom, names: Mapping[str, Size]) -> InputError:
    size = dims.symbol(*atom)
    index = next((name for name, other in names.items() if other is size), None)
    if index is None and len(atom) == 1:
        index = atom[0]
    if index is None:
        return InputError(f"The size of axis {atom[-1]} of {atom[0]!r} is needed; give that input too.")
    return InputError(f'Nothing determines the size of index {index!r}; add sizes={{"{index}": …}} to the call.')
