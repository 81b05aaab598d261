"""``vmap``: a function along a further axis of its arguments.

It is recorded for one entry of the axis, and its expression then gets the axis (``ricci.expr.widen``): five rules,
one for each kind of node, and no table of functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from ricci.caches import Cache
from ricci.checked_calls import is_whole, shown, takes
from ricci.errors import InputError, ShapeError, TraceError
from ricci.expr import Expr, topological, variable
from ricci.expr.moving import moved_axis
from ricci.expr.widen import batched
from ricci.kinds import kind_of
from ricci.tracing import trees
from ricci.tracing.reach import Reach
from ricci.tracing.recording import Arguments, Recording, Static, names_of, record
from ricci.tracing.shapes import Shaped
from ricci.tracing.trees import LEAF, Form
from ricci.transforms.linear import identity
from ricci.transforms.transformed import Transformed
from ricci.transforms.typed import TransformOptions


class Mapped(Transformed[..., Any]):
    """A function along a further axis of its arguments."""

    def __init__(
        self, function: Callable, in_axes: Any, out_axes: Any, name: str | None, size: int | None, **options: Any
    ):
        super().__init__(function, identity, "vmap", **options)
        self.in_axes, self.out_axes, self.axis_name, self.axis_size = in_axes, out_axes, name, size
        self._named = Cache("functions along named axes", 64)  # by the places of the named axis in the arguments

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if self.axis_name is not None and any(
            any(getattr(leaf, "axes", ())) for leaf in trees.flatten((args, kwargs))[0]
        ):
            return self._by_name(args, kwargs)(*args, **kwargs)
        return super().__call__(*args, **kwargs)

    def _by_name(self, args: tuple, kwargs: Mapping[str, Any]) -> Mapped:
        """The same function along the axis of that name, of the arguments that have it."""
        if kwargs:
            raise InputError("rc.vmap over a named axis takes its arguments by position.")
        axes = tuple([trees.tree_map(self._place, arg) for arg in args])
        return self._named.made(repr(axes), lambda: Mapped(self.function, axes, self.out_axes, None, self.axis_size))

    def _place(self, leaf: Any) -> int | None:
        names = getattr(leaf, "axes", None) or ()
        return names.index(self.axis_name) if self.axis_name in names else None

    def _record(self, arguments: Arguments, reached: Reach | None = None) -> Recording:
        axes = self._axes(arguments)
        size = self._size(arguments, axes)
        leaves = []
        for leaf, axis in zip(arguments.leaves, axes, strict=True):
            shape = getattr(leaf, "shape", ())
            leaves.append(leaf if axis is None else _without(leaf, shape, axis))
        inner = record(self.function, replace(arguments, leaves=leaves), self.has_aux, reached=reached, roll=self.roll)
        if not inner.outputs:
            raise InputError(f"rc.vmap: {inner.name} returns nothing. Did it forget to return its result?")
        if inner.drawn:
            raise TraceError(
                f"rc.vmap: {inner.name} draws random numbers, and runs once for all entries of the mapped axis, which "
                "would have the same ones. Draw them outside, with that axis, and map over them."
            )
        wide, inputs, named = {}, [], dict(inner.axes)
        traced = [(leaf, axis) for leaf, axis, t in zip(arguments.leaves, axes, arguments.arrays, strict=True) if t]
        for v, (leaf, axis) in zip(inner.inputs, traced, strict=True):
            inputs.append(v if axis is None else variable(v.name, tuple(leaf.shape), complex=v.complex))
            if axis is not None:
                wide[v] = moved_axis(inputs[-1], axis, 0)
                names = named.get(v.name, ())
                named[v.name] = (*names[:axis], "", *names[axis:])
        return self._spread(replace(inner, inputs=inputs, axes=named), wide, size)

    def _spread(self, inner: Recording, wide: Mapping[Expr, Expr], size: int) -> Recording:
        """The results along the axis, put where it shall be."""
        exprs = [out for out in inner.outputs if isinstance(out, Expr)]
        places = _prefix(self.out_axes, inner.out_form, "out_axes", self.function)
        noted = [node for node in topological(*exprs) if node in inner.lines]
        made = batched([*exprs, *noted], wide, size)
        for node, new in zip(noted, made[len(exprs) :], strict=True):
            inner.lines.setdefault(new, inner.lines[node])
        found = iter(made[: len(exprs)])
        outputs: list[Any] = []
        for out, to in zip(inner.outputs, places, strict=True):
            if isinstance(out, Static):
                outputs.append(out)
                continue
            e = next(found)
            if to is None:
                if any(v in wide for v in topological(out)):
                    raise InputError("rc.vmap: out_axes=None is for results that do not depend on the mapped axis.")
                outputs.append(out)
            else:
                outputs.append(moved_axis(e, 0, _within(to, len(e.shape), "out_axes")))
        return replace(inner, outputs=outputs)

    def _axes(self, arguments: Arguments) -> list[int | None]:
        """For each leaf the axis that is mapped, if any."""
        count, keywords, forms = arguments.form
        given = self.in_axes
        if isinstance(given, (tuple, list)) and len(given) != count:
            raise InputError(
                f"rc.vmap: in_axes has {len(given)} entries, and the call {count} arguments; one for each."
            )
        names = names_of(self.function, count, keywords)
        if isinstance(given, dict) and given.keys() <= set(names):
            per_argument = [given.get(name) for name in names]
        else:
            per_argument = list(given) if isinstance(given, (tuple, list)) else [given] * count
            per_argument += [0] * len(keywords)
        axes: list[Any] = []
        for form, own in zip(forms, per_argument, strict=True):
            axes += _prefix(own, form, "in_axes", self.function)
        found: list[int | None] = []
        for leaf, axis, traced in zip(arguments.leaves, axes, arguments.arrays, strict=True):
            if axis is None or not traced:
                found.append(None)
            else:
                found.append(_within(axis, len(getattr(leaf, "shape", ())), "in_axes"))
        return found

    def _size(self, arguments: Arguments, axes: Sequence[int | None]) -> int:
        sizes = {leaf.shape[axis] for leaf, axis in zip(arguments.leaves, axes, strict=True) if axis is not None}
        if self.axis_size is not None:
            sizes.add(self.axis_size)
        if len(sizes) != 1:
            listed = " and ".join(map(str, sorted(sizes))) or "none"
            raise ShapeError(
                f"rc.vmap: the mapped axis has one size in all arguments; here the sizes are {listed}. "
                "in_axes=None is for arguments that are not mapped."
            )
        return int(sizes.pop())


def _within(axis: int, order: int, what: str) -> int:
    if not is_whole(axis) or not -order <= axis < order:
        raise InputError(f"rc.vmap: {what}={axis!r} names no axis of an array that has {order} axes.")
    return int(axis) % order


def _prefix(axes: Any, form: Form, what: str, function: Any) -> list[Any]:
    """An axis for each leaf of ``form``: ``axes`` may be one for all, or a tree that goes part of the way."""
    if axes is None or is_whole(axes):
        return [axes] * trees.count(form)
    if form == LEAF or not isinstance(axes, (dict, list, tuple)):
        raise InputError(f"rc.vmap: {what} has {shown(axes)} where the number of an axis, or None, is wanted.")
    parts = [axes[k] for k in trees.keys(form)] if isinstance(axes, dict) else list(axes)
    if len(parts) != len(form[2]):
        raise InputError(f"rc.vmap: {what} has {len(parts)} entries where there are {len(form[2])}.")
    return [axis for part, own in zip(parts, form[2], strict=True) for axis in _prefix(part, own, what, function)]


def _without(leaf: Any, shape: Sequence[int], axis: int) -> Shaped:
    """What a function gets of an argument: its shape, its type and the names of its axes, without the one mapped."""
    names = leaf.axes if kind_of(leaf) in ("traced", "tensor") else (None,) * len(shape)
    rest = [k for k in range(len(shape)) if k != axis]
    return Shaped(tuple([shape[k] for k in rest]), leaf.dtype, leaf, tuple([names[k] for k in rest]))


@takes("rc.vmap", function="function", axis_name="name or None", axis_size="count or None")
def vmap(
    function: Callable,
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: str | None = None,
    axis_size: int | None = None,
    **options: Unpack[TransformOptions],
) -> Transformed[..., Any]:
    """The function along an axis of its arguments, without a loop: ``in_axes`` says which, None for none.

    It may name arguments, ``in_axes={"x": 0}``; the others are not mapped then.

    Tensors with named axes are mapped over the axis called ``axis_name``, where that is given; those that lack it are
    not mapped.

    >>> import numpy as np, ricci as rc
    >>> rc.vmap(lambda w, x: w @ x, in_axes=(None, 0))(np.array([1.0, 10.0]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([21., 43.])
    """
    return Mapped(function, in_axes, out_axes, axis_name, axis_size, **options)
