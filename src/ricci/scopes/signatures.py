"""Signatures: ``@rc.signature("b t d, d e -> b t e")`` checks what a function takes and gives.

The text is read once, when the function is defined. A call is then one loop that puts each size under its key into a
dictionary and compares; composite axes are solved for their parts afterwards. What an error says, and where it got
what it knows, is worked out only when there is one.
"""

from __future__ import annotations

import functools
import inspect
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from numbers import Number
from typing import Any, ClassVar, NamedTuple, SupportsIndex, TypeVar, cast

from ricci.caches import Cache
from ricci.errors import InputError, InvariantError, RicciError, ShapeError, caret, nearest
from ricci.scopes.reading import Array, Arrays, sides
from ricci.scopes.scope import WHOLE, AxisBinding, AxisSizeError, Names, Scope, differ, natural, spots
from ricci.scopes.watch import Place, Use, refuse_generators, user_line

Function = TypeVar("Function", bound=Callable[..., Any])
MISSING: Any = inspect.Parameter.empty


class Side(NamedTuple):
    """The arguments or the results: the arrays of the signature, what to call them, and which of them may be None."""

    arrays: Arrays
    labels: tuple[str, ...]
    optional: tuple[bool, ...]


Seen = tuple[tuple[Side, Sequence[Any]], ...]  # the arguments, and after the call the results


class Spec:
    """A signature together with the function that it describes."""

    def __init__(self, text: str, given: dict[str, int], scoped: bool, function: Callable[..., Any]) -> None:
        self.text, self.given, self.scoped, self.name = text, given, scoped, function.__name__
        arguments, results = sides(text)
        axes = [axis for array in (*arguments, *(results or ())) if array is not None for axis in array.axes]
        self.composites = {axis.key: axis.parts for axis in axes if axis.key.startswith("(")}
        parts = dict.fromkeys(part for axis in axes for part in axis.parts)
        self.names = tuple([part for part in parts if part.isidentifier() and part != "_"])
        self.known = {**{part: int(part) for part in parts if part.isdecimal()}, **given}
        self.place = Place(f"by the signature {text!r} of {self.name}", _line_of(function))
        for name in given:
            if name not in self.names:
                raise InputError(f"The signature {text!r} has no axis {name!r}. {nearest(name, self.names)}".rstrip())
        self._names = Cache("names of signatures", 64)
        self._match_parameters(arguments, list(inspect.signature(function).parameters.values()))
        self.results = None
        if results is not None:
            several = len(results) > 1
            labels = [f"result {number}" if several else "the result" for number, _ in enumerate(results, 1)]
            self.results = Side(results, tuple(labels), (False,) * len(results))

    def _match_parameters(self, arrays: Arrays, parameters: list[inspect.Parameter]) -> None:
        """Which parameter each array on the left describes; those that have a default may be left out at the end."""
        many = [p.name for p in parameters if p.kind is p.VAR_POSITIONAL]
        kinds = [inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD]
        kinds += [] if many else [inspect.Parameter.KEYWORD_ONLY]  # after *args, arrays describe what it holds
        plain = [p for p in parameters if p.kind in kinds]
        self.skipped = int(bool(plain) and plain[0].name in ("self", "cls") and len(arrays) < len(plain))
        plain = plain[self.skipped :]
        described, left_out = plain[: len(arrays)], plain[len(arrays) :]
        more = len(arrays) - len(described)
        if any(p.default is MISSING for p in left_out) or (more and not many):
            takes = f"{len(plain)} ({', '.join(p.name for p in plain)})" if plain else "none"
            raise InputError(
                f"The signature {self.text!r} describes {len(arrays)} arguments, and {self.name} takes {takes}. "
                "Write one array for each argument, and '_' for one that is no array."
            )
        self.defaults = [(p.name, p.default) for p in described] + [("", MISSING)] * more
        self.positional = sum(p.kind is not p.KEYWORD_ONLY for p in described) + more
        labels = [f"argument {p.name!r}" for p in described] + [f"argument '{many[0]}[{k}]'" for k in range(more)]
        self.arguments = Side(arrays, tuple(labels), tuple([default is None for _, default in self.defaults]))

    # A call.

    def take(self, args: tuple, kwargs: dict[str, Any]) -> tuple[dict[str, Any], Sequence[Any]]:
        """The sizes that the arguments give, and the arguments that the signature describes."""
        values: Sequence[Any] = args[self.skipped : self.skipped + self.positional]
        if len(values) < len(self.defaults):  # one that is missing altogether is left to Python to complain about
            values = [*values, *(kwargs.get(name, default) for name, default in self.defaults[len(values) :])]
        sizes = self.known.copy()
        self._match(self.arguments, values, sizes, ((self.arguments, values),))
        return sizes, values

    def give(self, result: Any, sizes: dict[str, Any], values: Sequence[Any], scope: Scope | None = None) -> Any:
        """The result, checked."""
        side = self.results
        if side is None:
            return result
        results = (result,) if len(side.arrays) == 1 else result
        if not isinstance(results, (tuple, list)) or len(results) != len(side.arrays):
            got = f"{len(results)}" if isinstance(results, (tuple, list)) else f"one {type(result).__name__}"
            raise ShapeError(
                f"{self.name} returned {got}, and its signature {self.text!r} says {len(side.arrays)} results."
            )
        self._match(side, results, sizes, ((self.arguments, values), (side, results)))
        if scope is not None:
            # An argument that is handed on as it is may get a new name; what the body has made keeps its own.
            made = [pair for pair in _with_shapes(side, results) if not any(pair[0] is value for value in values)]
            named = [(value, array.parts(len(value.shape))) for value, array in made]
            scope.check(Use(f"the result of {self.name}", self.text.partition("->")[2].strip(), named, (), {}))
        return result

    def body(self, sizes: dict[str, Any], values: Sequence[Any]) -> Scope:
        """The scope of the body: the names of the signature are declared, and the axes of the arguments have them."""
        own = {name: AxisBinding(sizes.get(name), self.place, True) for name in self.names}
        scope = Scope(own, inherit=False, text=f"of the signature {self.text!r}")
        for value, array in _with_shapes(self.arguments, values):
            scope.remember(value, self._names_of(array, len(value.shape)))
        return scope

    def _names_of(self, array: Array, order: int) -> Names:
        make = lambda: {spot: {name: self.place} for spot, name in spots(array.parts(order))}  # noqa: E731
        return self._names.made((array, order), make)

    def _match(self, side: Side, values: Sequence[Any], sizes: dict[str, Any], seen: Seen) -> None:
        """Put the sizes of the values into ``sizes``, and compare with those that are there."""
        for position, (array, value) in enumerate(zip(side.arrays, values)):
            if array is None:
                continue
            shape = getattr(value, "shape", None)
            if shape is None or array.fold >= 0:
                shape = self._unusual(array, side, position, value)
                if shape is None:
                    continue
            keys = array.keys
            if len(shape) != len(keys):
                raise self._wrong_order(array, side.labels[position], value)
            for key, size in zip(keys, shape):
                if sizes.setdefault(key, size) != size:
                    sizes[key] = self._settled(key, sizes[key], size, array, side.labels[position], shape, seen)
        if self.composites:
            self._solve(sizes, seen)

    def _unusual(self, array: Array, side: Side, position: int, value: Any) -> Sequence[Any] | None:
        """The shape to compare where there is an ellipsis, or where a value has no shape; None for no comparison."""
        shape = getattr(value, "shape", None)
        if shape is None:
            if value is MISSING or (value is None and side.optional[position]):
                return None
            if not isinstance(value, Number):
                raise InputError(
                    f"{self._call()}{side.labels[position]} is of type {type(value).__name__}, which has no shape.\n"
                    f"{caret(self.text, array.start, array.end)}\n  Pass an array, or write '_' in its place."
                )
            shape = ()
        return array.folded(shape)

    def _solve(self, sizes: dict[str, Any], seen: Seen) -> None:
        """Find the parts of composite axes, where all but one is known, until there are no more to find."""
        found = True
        while found:
            found = False
            for key, parts in self.composites.items():
                size = sizes.get(key)
                known = [sizes[part] for part in parts if part in sizes]
                if not isinstance(size, WHOLE) or not all(isinstance(one, WHOLE) for one in known):
                    continue
                product, unknown = math.prod(known), [part for part in parts if part not in sizes]
                if product != size if not unknown else size % product if product else size:
                    raise self._indivisible(key, parts, sizes, seen)
                if len(unknown) == 1 and product:
                    sizes[unknown[0]] = size // product
                    found = True

    # What is wrong, in words.

    def _call(self) -> str:
        return f"In the call of {self.name} ({user_line()}), "

    def _wrong_order(self, array: Array, label: str, value: Any) -> RicciError:
        shape = tuple(getattr(value, "shape", ()))
        least = "at least " if array.fold >= 0 else ""
        count = len(array.keys) - (array.fold >= 0)
        return ShapeError(
            f"{self._call()}{label} has shape {shape}, with {len(shape)} axes, and the signature gives it {least}"
            f"{count}.\n{caret(self.text, array.start, array.end)}"
        )

    def _settled(
        self, key: str, known: Any, size: Any, array: Array, label: str, shape: Sequence[Any], seen: Seen
    ) -> Any:
        """The size under a key that has been met with two: an error, or the number where the other is symbolic."""
        pairs = list(zip(known, size)) if isinstance(size, tuple) else [(known, size)]
        if not (isinstance(size, tuple) and len(known) != len(size)) and not any(differ(*pair) for pair in pairs):
            return size if isinstance(size, WHOLE) else known
        axis = next(axis for axis, one in zip(array.axes, shape) if axis.key == key and one is size)
        unfolded = [one for item in shape for one in (item if isinstance(item, tuple) else (item,))]
        raise AxisSizeError(
            f"{self._call()}axis {key!r} has size {size} in {label} of shape {tuple(unfolded)} and {known} "
            f"{self._source(key, seen)}.\n{caret(self.text, axis.start, axis.end)}\n"
            "  Pass arrays whose sizes agree, or give the axis another name in the signature."
        )

    def _indivisible(self, key: str, parts: tuple[str, ...], sizes: dict[str, Any], seen: Seen) -> RicciError:
        known = ", ".join(f"{p!r} has size {sizes[p]} {self._source(p, seen)}" for p in parts if p in sizes)
        axis = next(
            axis for side, _ in seen for array in side.arrays if array for axis in array.axes if axis.key == key
        )
        return AxisSizeError(
            f"{self._call()}axis {key!r} has size {sizes[key]} {self._source(key, seen)}, which does not fit "
            f"its parts: {known or 'it has none, so its size is 1'}.\n{caret(self.text, axis.start, axis.end)}"
        )

    def _source(self, key: str, seen: Seen) -> str:
        """Where the size under a key comes from."""
        if key in self.given:
            return f"as given by rc.signature(…, {key}={self.given[key]})"
        if key in self.known:
            return "by the signature itself"
        for side, values in seen:
            for within in (False, True):  # an axis of its own, or else a part of a composite one
                for label, array, value in zip(side.labels, side.arrays, values):
                    axes = array.axes if array and (hasattr(value, "shape") or isinstance(value, Number)) else ()
                    if any(axis.key == key or (within and key in axis.parts) for axis in axes):
                        return f"in {label} of shape {tuple(getattr(value, 'shape', ()))}"
        raise InvariantError(f"the size of {key} comes from nowhere")


def _with_shapes(side: Side, values: Sequence[Any]) -> Iterator[tuple[Any, Array]]:
    return ((value, array) for value, array in zip(values, side.arrays) if array and hasattr(value, "shape"))


def _torch_compiles() -> bool:
    """Whether torch.compile is tracing: it can follow the comparison of sizes, and cannot follow a scope."""
    torch = sys.modules.get("torch")
    return torch is not None and torch.compiler.is_compiling()


def _line_of(function: Callable[..., Any]) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}" if code else ""


class signature:
    """Checks the axes of what a function takes and gives, in each call.

    One array per argument, with commas between them; after ``->`` one per result (several for a function that returns a
    tuple), and without ``->`` the results are not checked. An array is a row of axes: a name, a number, ``...`` (the
    same sizes wherever it stands), ``_`` (any size), or a composite ``(h d)``, with keywords for the sizes that do not
    follow: ``rc.signature("b (h d) -> b h d", h=8)``. A lone ``_`` leaves an argument or a result unchecked. A leading
    ``self`` or ``cls`` is left out, and so may be arguments with defaults, at the end; an argument whose default is
    None may be None.

    The body runs in a scope of its own, in which the names of the signature are declared; ``scope=False`` does without,
    and so does ``torch.compile``, which cannot trace scopes.
    ``rc.signature.enabled = False`` switches all checks off, and ``True`` on again, for the whole process. If the
    environment variable ``RICCI_SIGNATURES`` is 0 when a function is defined, the function is left as it is.

    >>> import numpy as np
    >>> @signature("b t d, d e -> b t e")
    ... def project(x, w):
    ...     return x @ w
    >>> project(np.ones((2, 3, 4)), np.ones((4, 5))).shape
    (2, 3, 5)
    >>> project(np.ones((2, 3, 4)), np.ones((3, 5)))
    Traceback (most recent call last):
    ...
    ricci.errors.AxisSizeError: In the call of project (...), axis 'd' has size 3 in argument 'w' of shape (3, 5)
    and 4 in argument 'x' of shape (2, 3, 4).
      b t d, d e -> b t e
             ^
      Pass arrays whose sizes agree, or give the axis another name in the signature.
    """

    enabled: ClassVar[bool] = True

    def __init__(self, text: str, /, *, scope: bool = True, **sizes: SupportsIndex) -> None:
        if not isinstance(text, str):
            raise InputError('A signature is a text: write @rc.signature("b t d, d e -> b t e") above the function.')
        self._text, self._scope = text, scope
        self._sizes = {name: natural(name, size, f"rc.signature({text!r})") for name, size in sizes.items()}

    def __call__(self, function: Function) -> Function:
        if isinstance(function, type) or not hasattr(function, "__name__") or not callable(function):
            raise InputError(
                f"rc.signature describes a function and got {function!r}: for a class, put it above a method; with "
                "@classmethod, @staticmethod or @property, put it below them."
            )
        refuse_generators(function, "rc.signature", "check")
        if os.environ.get("RICCI_SIGNATURES") == "0":
            return function
        spec = Spec(self._text, self._sizes, self._scope, function)
        wrapper = _checked_later if inspect.iscoroutinefunction(function) else _checked
        return cast(Function, wrapper(spec, function))


def _checked(spec: Spec, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if not signature.enabled:
            return function(*args, **kwargs)
        sizes, values = spec.take(args, kwargs)
        if not spec.scoped or _torch_compiles():
            result = function(*args, **kwargs)
            return spec.give(result, sizes, values)
        with spec.body(sizes, values) as scope:
            result = function(*args, **kwargs)
            return spec.give(result, sizes, values, scope)

    return checked


def _checked_later(spec: Spec, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def checked(*args: Any, **kwargs: Any) -> Any:
        if not signature.enabled:
            return await function(*args, **kwargs)
        sizes, values = spec.take(args, kwargs)
        if not spec.scoped or _torch_compiles():
            result = await function(*args, **kwargs)
            return spec.give(result, sizes, values)
        with spec.body(sizes, values) as scope:
            result = await function(*args, **kwargs)
            return spec.give(result, sizes, values, scope)

    return checked
