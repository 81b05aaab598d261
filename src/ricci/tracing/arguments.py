"""The arguments of a call, by NumPy's own signature, so that a lowering is its mathematics.

A call is bound here, once for all functions, to the parameters that NumPy says the function has. A lowering names those
of them that it needs (its first ones, without defaults, may have names of its own), and says what it needs them as:

    Traced        an array of any kind, traced; ``Traced | None`` also nothing
    list[Traced]  the arrays of a list, or the slices of one array
    Axes          axes of the first array, counted from the front; all of them for None
    Axis          one such axis
    OneAxis       the same; for None, the first array is laid out flat, and this is its only axis
    Ints          whole numbers that are known while tracing, one or several
    Known         an array that is known while tracing
    Type          a type of NumPy's, or None
    Mask          truth values spread over the first array; None where all are true

Without annotations, as in a line of a table, ``x`` and ``y`` are arrays, ``parts`` several, and ``dtype`` is a type.
All else comes as it was given, or as NumPy's default. A parameter that a lowering does not name must be at its default,
unless it is about memory alone. ``keepdims`` is done here: a lowering leaves out the axes that it was given.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from ricci.caches import once
from ricci.errors import InputError, ShapeError, TraceError
from ricci.expr import product
from ricci.expr.moving import expanded, reshaped
from ricci.tracing.array import Traced
from ricci.tracing.basics import broadcast_shape, concrete, lift, like, normal_axes, normal_axis

Axes = tuple[int, ...]
Axis = int
OneAxis = int
Ints = tuple[int, ...]
Known = np.ndarray
Type = np.dtype | None
Mask = Traced | None

NONE: Any = np._NoValue  # NumPy's mark of an argument that was not given
NO_MATTER = ("subok", "copy", "casting", "kind", "stable", "overwrite_input", "writeable", "optimize", "like", "ndmax")
ORDERS = ("C", "F", "A", "K")  # of memory

# Signatures of functions in C, which not every NumPy tells. The tests hold them to those that one does.
STUBS: dict[Any, str] = {
    np.array: "object, dtype=None, *, copy=True, order='K', subok=False, ndmin=0, ndmax=0, like=None",
    np.asarray: "a, dtype=None, order=None, *, device=None, copy=None, like=None",
    np.asanyarray: "a, dtype=None, order=None, *, device=None, copy=None, like=None",
    np.ascontiguousarray: "a, dtype=None, *, like=None",
    np.empty_like: "prototype, /, dtype=None, order='K', subok=True, shape=None, *, device=None",
    np.arange: "*args, step=None, dtype=None, device=None, like=None",
    np.concatenate: "arrays, /, axis=0, out=None, *, dtype=None, casting='same_kind'",
    np.where: "condition, x=None, y=None, /",
    np.dot: "a, b, out=None",
    np.inner: "a, b, /",
    np.vdot: "a, b, /",
    np.bincount: "x, /, weights=None, minlength=0",
    np.can_cast: "from_, to, casting='safe'",
    np.result_type: "*arrays_and_dtypes",
}
_MORE = "casting='same_kind', order='K', dtype=None, subok=True, signature=None"
OF_UFUNCS = {  # by the method; those with a signature of axes, such as matmul, under that name
    "__call__": f"/, out=None, *, where=True, {_MORE}",
    "signature": f"/, out=None, *, axes=NONE, axis=NONE, keepdims=False, {_MORE}",
    "reduce": "array, /, axis=0, dtype=None, out=None, keepdims=False, initial=NONE, where=True",
    "accumulate": "array, /, axis=0, dtype=None, out=None",
    "outer": "A, B, /, **kwargs",
}


def stub(text: str) -> inspect.Signature:
    """A signature by the text of its parameters."""
    return inspect.signature(eval(f"lambda {text}: None", {"NONE": NONE}))


@once
def signature_of(function: Any) -> inspect.Signature:
    """The signature of a callable of NumPy's, or of a method of a ufunc: ``(np.add, "reduce")``."""
    ufunc, method = function if isinstance(function, tuple) else (function, "__call__")
    if isinstance(ufunc, np.ufunc) and method == "__call__":
        operands = ["x"] if ufunc.nin == 1 else [f"x{k + 1}" for k in range(ufunc.nin)]
        return stub(", ".join([*operands, OF_UFUNCS["__call__" if ufunc.signature is None else "signature"]]))
    if isinstance(ufunc, np.ufunc):
        return stub(OF_UFUNCS[method])
    return stub(STUBS[ufunc]) if ufunc in STUBS else inspect.signature(ufunc)


class BoundCall:
    """One call that is being bound."""

    __slots__ = ("axes", "name", "order", "parameter", "x")

    def __init__(self, name: str):
        self.name = name
        self.parameter = ""
        self.x: Any = None  # the first array
        self.axes: tuple[int, ...] | None = None  # those that it works on
        self.order = 0  # of the first array, as it was given

    @property
    def what(self) -> str:
        return f"{self.name}: {self.parameter}"


def _array(bound: BoundCall, value: Any) -> Traced:
    found = lift(value)
    if bound.x is None:
        bound.x, bound.order = found, found.ndim
    return found


def _array_or_none(bound: BoundCall, value: Any) -> Traced | None:
    return None if value is None else _array(bound, value)


def arrays_of(bound: BoundCall, value: Any) -> list[Traced]:
    if isinstance(value, Traced) and value.ndim:
        return [value[k] for k in range(value.shape[0])]
    found = [lift(x) for x in (value if not isinstance(value, Traced) else [value])]
    if not found:
        raise InputError(f"{bound.name} needs at least one array.")
    return found


def _axes(bound: BoundCall, value: Any) -> tuple[int, ...]:
    bound.axes = normal_axes(bound.x, value)
    return bound.axes


def _axis(bound: BoundCall, value: Any) -> int:
    axis = normal_axis(bound.x, value)
    bound.axes = (axis,)
    return axis


def _one_axis(bound: BoundCall, value: Any) -> int:
    if value is not None:
        return _axis(bound, value)
    bound.axes = tuple(range(bound.x.ndim))
    bound.x = like(bound.x, reshaped(bound.x.expr, (bound.x.size,)))
    return 0


def whole_numbers(value: Any, what: str) -> tuple[int, ...]:
    """A shape or the like: a number or several, known while tracing."""
    if type(value) is int:
        return (value,)
    found = concrete(value, what)
    if found.size and found.dtype.kind not in "iu":
        raise InputError(f"{what} is made of whole numbers, not of {value!r}.")
    return tuple(found.ravel().tolist())


def mask_of(x: Traced, where: Any) -> Traced | None:
    """The entries that take part, spread over the shape of ``x``; None where all do."""
    if where is None or where is True:
        return None
    mask = lift(where)
    if broadcast_shape(x.shape, mask.shape) != x.shape:
        raise ShapeError(f"where has the shape {mask.shape}, which does not broadcast to that of the array, {x.shape}.")
    return like(mask, expanded(mask.expr, x.shape))


CONVERSIONS: dict[Any, Callable[[BoundCall, Any], Any]] = {
    "Traced": _array,
    "Traced | None": _array_or_none,
    "list[Traced]": arrays_of,
    "Axes": _axes,
    "Axis": _axis,
    "OneAxis": _one_axis,
    "Ints": lambda bound, value: whole_numbers(value, bound.what),
    "Known": lambda bound, value: concrete(value, bound.what),
    "Type": lambda bound, value: None if value is None else np.dtype(value),
    "Mask": lambda bound, value: mask_of(bound.x, value),
}

WANTED = {"x": "Traced", "y": "Traced", "parts": "list[Traced]", "dtype": "Type"}  # where there are no annotations


class Signed:
    """A lowering and the signature of what it stands for: how the arguments of a call become its own."""

    def __init__(
        self,
        name: str,
        signature: inspect.Signature,
        lower: Callable[..., Any],
        no_matter: Sequence[str] = NO_MATTER,
        as_given: bool = False,
    ):
        self.name, self.signature, self.lower, self.no_matter = name, signature, lower, no_matter
        theirs = signature.parameters.values()
        own = inspect.signature(lower).parameters
        wanted = {} if as_given else {name: WANTED.get(name) for name in own} | getattr(lower, "__annotations__", {})
        kinds = {*wanted.values()}
        self.positions = [p.name for p in theirs if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self.operands = [p.name for p in theirs if p.kind is p.POSITIONAL_ONLY]
        self.keywords = {p.name for p in theirs if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
        self.star = next((p.name for p in theirs if p.kind is p.VAR_POSITIONAL), None)
        self.open = any(p.kind is p.VAR_KEYWORD for p in theirs)
        self.defaults = {p.name: p.default for p in theirs if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
        self.required = [name for name, default in self.defaults.items() if default is inspect.Parameter.empty]
        self.own_star = next((p for p in own.values() if p.kind is p.VAR_POSITIONAL), None)
        self.star_as = None if self.own_star is None else CONVERSIONS.get(wanted.get(self.own_star.name))
        self.of_operands = self.own_star is not None and self.star is None  # as ufuncs, which take all in one
        self.passes_more = any(p.kind is p.VAR_KEYWORD for p in own.values())
        self.taken = self._taken(own, wanted)
        self.used = {source for _, source, _, _ in self.taken} | {self.star} | {*self.operands * self.of_operands}
        self.keeps = "keepdims" in self.defaults and "keepdims" not in own and bool(kinds & {"Axes", "Axis", "OneAxis"})
        first = next((name for name in own if wanted.get(name) == "Traced"), None)
        self.flattens = first if "OneAxis" in kinds else None
        self.fewest, self.most = self._straight()

    def _straight(self) -> tuple[int, int]:
        """Of how many arguments by position each is that of the lowering: at least, and at most; if ever."""
        sources = [source for _, source, _, _ in self.taken]
        most = next((k for k, pair in enumerate(zip(sources, self.positions)) if pair[0] != pair[1]), None)
        most = min(len(sources), len(self.positions)) if most is None else most
        fewest = len(self.required) if self.required == self.positions[: len(self.required)] else most + 1
        return (fewest, most) if self.own_star is None and self.flattens is None else (1, 0)

    def _taken(
        self, own: Mapping[str, inspect.Parameter], wanted: Mapping[str, Any]
    ) -> list[tuple[str, str, Any, Any]]:
        """For each parameter of the lowering: whose value it gets, its default, and what it is made."""
        found = []
        for place, p in enumerate(own.values()):
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                continue
            named = p.name in self.defaults or p.default is not p.empty
            source = p.name if named else self.positions[place]
            default = self.defaults.get(source, NONE)
            if default is NONE or default is p.empty:
                default = None if p.default is p.empty else p.default
            found.append((p.name, source, default, CONVERSIONS.get(wanted.get(p.name))))
        return found

    def __call__(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        if self.of_operands and not kwargs and len(args) == len(self.operands):
            return self.lower(*[lift(x) for x in args])
        if self.fewest <= len(args) <= self.most and not kwargs and not any(x is NONE for x in args):
            return self._directly(args)
        given = self.given(args, kwargs)
        bound = BoundCall(self.name)
        values = self.values(given, bound)
        if self.own_star is None:
            result = self.lower(**values)
        else:
            rest = given.get(self.star, ()) if self.star is not None else [given[name] for name in self.operands]
            rest = rest if self.star_as is None else [self.star_as(bound, value) for value in rest]
            before = [values.pop(name) for name in self.positions if name in values]
            result = self.lower(*before, *rest, **values)
        return _with_ones(result, bound) if self.keeps and given.get("keepdims") not in (None, NONE, False) else result

    def _directly(self, args: tuple) -> Any:
        """A call whose arguments are the first ones of the lowering, in order."""
        bound = BoundCall(self.name)
        values: dict[str, Any] = {}
        count = len(args)
        for place, (own, source, default, convert) in enumerate(self.taken):
            value = args[place] if place < count else default
            if convert is not None:
                bound.parameter = source
                value = convert(bound, value)
            values[own] = value
        return self.lower(**values)

    def given(self, args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name, as far as they are given."""
        given = dict(zip(self.positions, args, strict=False))
        if len(args) > len(self.positions):
            if self.star is None:
                self._wrong(args, kwargs)
            given[self.star] = args[len(self.positions) :]
        for name, value in kwargs.items():
            if name in given or (name not in self.keywords and not self.open):
                self._wrong(args, kwargs)
            given[name] = value
        for name in self.required:
            if name not in given:
                self._wrong(args, kwargs)
        return given

    def _wrong(self, args: tuple, kwargs: dict[str, Any]) -> NoReturn:
        try:
            self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TraceError(f"{self.name}: {error}; it is {self.name}{self.signature}.") from None
        raise TraceError(f"{self.name}: the arguments do not fit {self.name}{self.signature}.")

    def values(self, given: dict[str, Any], bound: BoundCall) -> dict[str, Any]:
        """What the lowering takes by name, each as it asks for it."""
        values: dict[str, Any] = {}
        for own, source, default, convert in self.taken:
            value = given.get(source, default)
            if value is NONE:
                value = default
            if convert is not None:
                bound.parameter = source
                value = convert(bound, value)
            values[own] = value
        if self.flattens is not None:
            values[self.flattens] = bound.x
        for name, value in given.items():
            if name in self.used:
                continue
            if self.passes_more:
                values[name] = value
            elif value is not None and value is not NONE and value is not self.defaults.get(name):
                self._check_default(name, value)
        return values

    def _check_default(self, name: str, value: Any) -> None:
        """An error for an argument that the lowering does not take, unless it changes nothing or is not for it."""
        if name in self.no_matter or (name == "order" and value in ORDERS) or (name == "keepdims" and self.keeps):
            return
        if name == "out":
            if not isinstance(value, tuple) or any(part is not None for part in value):
                raise TraceError(
                    f"{self.name}: a traced array cannot be written into a given array (out=…, or a += x for an array "
                    "a); write a = a + x."
                )
        elif not isinstance(value, (bool, int, float, str, list, tuple)) or value != self.defaults.get(name):
            raise TraceError(f"{self.name}: leave out {name}={value!r}: it is not supported in traced functions.")


def _with_ones(result: Any, bound: BoundCall) -> Any:
    """Results that lack the axes that were worked on, with these of size 1; further axes of theirs stand in front."""
    if isinstance(result, tuple):
        return tuple([_with_ones(part, bound) for part in result])
    axes = bound.axes or ()
    lead = result.ndim - (bound.order - len(axes))
    rest: list[Any] = [*range(lead), *[lead + a for a in range(bound.order) if a not in axes]]
    return like(result, product([(result.expr, rest)], range(lead + bound.order), {lead + a: 1 for a in axes}))


def is_refusal(lower: Callable[..., Any]) -> bool:
    """Whether a lowering is there only to refuse in clear words."""
    return inspect.signature(lower).return_annotation == "NoReturn"
