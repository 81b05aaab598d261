"""Signatures: ``@rc.signature("b t d, d e -> b t e")`` checks what a function takes and gives.

The text is a pattern, read as all patterns are, and the sizes in a call are found as those of all calls are
(:mod:`ricci.einops.labels`, :mod:`ricci.einops.inference`): the arguments first, and after the call the results with
what is known then. What an error says, and where it got what it knows, is worked out only when there is one.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from numbers import Number
from typing import Any, ClassVar, NamedTuple, SupportsIndex, TypeVar, cast

from ricci.caches import Cache, cached
from ricci.checked_calls import takes
from ricci.einops.grammar import ELLIPSIS, SIGNATURE, Groups, Joined, array_span, names_of, parse, spans_of
from ricci.einops.inference import Misfit, all_plain, differ, divides, infer, total
from ricci.einops.labels import Kind, Labels, labelled
from ricci.einops.watch import AxisUse, UsedAt, refuse_generators, user_line
from ricci.errors import EinopsError, InputError, InvariantError, NotationError, RicciError, ShapeError, caret, nearest
from ricci.scopes.axis_scope import AxisBinding, AxisScope, AxisSizeError, natural, spots

Function = TypeVar("Function", bound=Callable[..., Any])
MISSING: Any = inspect.Parameter.empty
_KIND = Kind(SIGNATURE, skips=True)
_HINT = "Write names, numbers, '...', '_' and (h d), with commas between arrays: 'b t (h d), d e -> b t e'."


def _sides(text: str) -> tuple[tuple[Groups, ...], tuple[Groups, ...] | None]:
    """The arrays on the left and on the right of the arrow; None where there is no arrow."""
    try:
        parsed = parse(text, SIGNATURE)
    except EinopsError as error:
        raise NotationError(error.message, text, error.start, error.end, _HINT) from None
    left = parsed.left if text.partition("->")[0].strip() else ()
    spans = spans_of(text)[0 if left else 1 :]
    for at, side in enumerate((*left, *(parsed.right or ()))):
        for axis, group in enumerate(side):
            inside = () if group == ELLIPSIS else names_of((group,))
            if group.__class__ is Joined or ELLIPSIS in inside or (len(inside) > 1 and "_" in inside):
                message = "The parts of a composite axis have names, and are multiplied."
                raise NotationError(message, text, *spans[at][axis], hint=_HINT)
    return left, parsed.right


@cached("patterns of signatures", 1024)
def _read(text: str, ndims: tuple[int | None, ...]) -> Labels:
    left, right = _sides(text)
    sides = [() if ndim is None else side for side, ndim in zip((*left, *(right or ())), ndims)]
    operands, _, axes, _ = labelled(sides, [ndim or 0 for ndim in ndims], text, _KIND)
    return Labels(text, operands, (), tuple(axes), (), (None,) * len(axes), len(axes))


def _labels(text: str, ndims: tuple[int | None, ...]) -> Labels:
    """The labels of arrays with these numbers of axes; None for those that are not there or not checked."""
    return _read(text, ndims)


_labels._dynamo_marked_constant = True  # type: ignore[attr-defined]


class Described(NamedTuple):
    """The arguments or the results: the arrays of the signature, what to call them, and which of them may be None."""

    arrays: tuple[Groups | None, ...]  # None where something is not checked
    called: tuple[str, ...]
    optional: tuple[bool, ...]


class Learnt(NamedTuple):
    """What a call has told so far: the arrays and their labels, their shapes, and the sizes of the labels."""

    labels: Labels
    values: tuple[Any, ...]
    shapes: tuple[tuple | None, ...]
    sizes: list


class Spec:
    """A signature together with the function that it describes."""

    def __init__(self, text: str, given: dict[str, int], scoped: bool, function: Callable[..., Any]) -> None:
        self.text, self.given, self.scoped, self.name = text, given, scoped, function.__name__
        left, right = _sides(text)
        arguments, results = _checked_sides(left), None if right is None else _checked_sides(right)
        axes = [axis for side in (*left, *(right or ())) for axis in names_of(side)]
        words = [axis for axis in dict.fromkeys(axes) if isinstance(axis, str)]
        self.names = tuple([word for word in words if word not in ("_", ELLIPSIS)])
        self.known = {**{axis: axis for axis in axes if isinstance(axis, int)}, **given}
        self.place = UsedAt(f"by the signature {text!r} of {self.name}", _line_of(function))
        for name in given:
            if name not in self.names:
                raise InputError(f"The signature {text!r} has no axis {name!r}. {nearest(name, self.names)}".rstrip())
        self._match_parameters(arguments, list(inspect.signature(function).parameters.values()))
        self.results = None
        if results is not None:
            several = len(results) > 1
            called = [f"result {number}" if several else "the result" for number, _ in enumerate(results, 1)]
            self.results = Described(results, tuple(called), (False,) * len(results))
        self.none = (None,) * len(results or ())
        self.met = Cache("shapes of signatures", 256)  # what shapes have told that were met before

    def _match_parameters(self, arrays: tuple[Groups | None, ...], parameters: list[inspect.Parameter]) -> None:
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
        called = [f"argument {p.name!r}" for p in described] + [f"argument '{many[0]}[{k}]'" for k in range(more)]
        self.arguments = Described(arrays, tuple(called), tuple([default is None for _, default in self.defaults]))

    def axes(self) -> dict[str, tuple[str, ...]]:
        """The names of the axes of the parameters, and of a single result, by "return": of those that have one each."""
        arrays = [*zip([name for name, _ in self.defaults], self.arguments.arrays, strict=True)]
        if self.results is not None and len(self.results.arrays) == 1:
            arrays.append(("return", self.results.arrays[0]))
        known = {name: array for name, array in arrays if name and array is not None and ELLIPSIS not in array}
        own = {name: [names_of((group,)) for group in array] for name, array in known.items()}
        plain = {name: [axes[0] if len(axes) == 1 else "" for axes in groups] for name, groups in own.items()}
        return {name: tuple([axis if axis in self.names else "" for axis in axes]) for name, axes in plain.items()}

    # A call.

    def take(self, args: tuple, kwargs: dict[str, Any]) -> Learnt:
        """What the arguments tell, of those that the signature describes."""
        values: Sequence[Any] = args[self.skipped : self.skipped + self.positional]
        if len(values) < len(self.defaults):  # one that is missing altogether is left to Python to complain about
            values = [*values, *(kwargs.get(name, default) for name, default in self.defaults[len(values) :])]
        met = self._met(values)
        if met is not None:
            return met._replace(values=tuple(values))
        shapes = self._shapes(self.arguments, values, 0)
        labels = _labels(self.text, (*[shape if shape is None else len(shape) for shape in shapes], *self.none))
        sizes = [self.known.get(axis) for axis in labels.axes]
        known = self._matched(Learnt(labels, tuple(values), tuple(shapes), sizes), 0)
        self._keep(values, known)
        return known

    def _met(self, values: Sequence[Any]) -> Learnt | None:
        """What arrays of these shapes have told before; nothing while PyTorch compiles, whose sizes may be symbols."""
        try:
            key = tuple([value.shape for value in values])
            return None if _torch_compiles() else self.met.known.get(key) or self.met[key]
        except (AttributeError, TypeError):  # not an array, or sizes that are symbols
            return None

    def _keep(self, values: Sequence[Any], known: Learnt) -> None:
        if not _torch_compiles() and all(shape is not None and all_plain(shape) for shape in known.shapes):
            self.met.keep(tuple([getattr(value, "shape", ()) for value in values]), known._replace(values=()))

    def give(self, result: Any, known: Learnt, scope: AxisScope | None = None) -> Any:
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
        before, values = len(known.values), known.values
        met = self._met((*values, *results)) if scope is None else None
        if met is not None:
            return result
        shapes = (*known.shapes, *self._shapes(side, results, before))
        labels = _labels(self.text, tuple([shape if shape is None else len(shape) for shape in shapes]))
        sizes = [*known.sizes, *[self.known.get(axis) for axis in labels.axes[len(known.sizes) :]]]
        known = self._matched(Learnt(labels, (*values, *results), shapes, sizes), before)
        self._keep(known.values, known)
        if scope is not None:
            # An argument that is handed on as it is may get a new name; what the body has made keeps its own.
            made = [pair for pair in _named(known, before) if not any(pair[0] is value for value in values)]
            scope.check(AxisUse(f"the result of {self.name}", self.text.partition("->")[2].strip(), made, (), {}))
        return result

    def body(self, known: Learnt) -> AxisScope:
        """The scope of the body: the names of the signature are declared, and the axes of the arguments have them."""
        sizes = known.labels.named_sizes(known.sizes)
        own = {name: AxisBinding(sizes.get(name, self.given.get(name)), self.place, True) for name in self.names}
        scope = AxisScope(own, inherit=False, text=f"of the signature {self.text!r}")
        for value, parts in _named(known, 0):
            scope.remember(value, {spot: {name: self.place} for spot, name in spots(parts)})
        return scope

    def _shapes(self, side: Described, values: Sequence[Any], before: int) -> list[tuple | None]:
        """The shapes to compare, each with as many axes as the signature says; None for no comparison."""
        found = []
        for position, (array, value) in enumerate(zip(side.arrays, values)):
            shape = None if array is None else getattr(value, "shape", None)
            if array is not None:
                if shape is None:
                    shape = self._shapeless(side, position, value, before)
                least = len(array) - (ELLIPSIS in array)
                if shape is not None and (len(shape) < least or (len(shape) > least and ELLIPSIS not in array)):
                    raise self._wrong_order(array, side.called[position], tuple(shape), before + position)
            found.append(shape)
        return found

    def _shapeless(self, side: Described, position: int, value: Any, before: int) -> tuple | None:
        """The shape of a value that has none: a number has no axes, and what may be left out is not compared."""
        if value is MISSING or (value is None and side.optional[position]):
            return None
        if not isinstance(value, Number):
            raise InputError(
                f"{self._call()}{side.called[position]} is of type {type(value).__name__}, which has no shape.\n"
                f"{caret(self.text, *self._span(before + position))}\n  Pass an array, or write '_' in its place."
            )
        return ()

    def _matched(self, known: Learnt, before: int) -> Learnt:
        """What is known with the sizes of the arrays from ``before`` on, or an error where they do not agree."""
        labels, _, shapes, sizes = known
        self._check_hidden(known, before)
        own = [() if shape is None else shape for shape in shapes[before:]]
        try:
            for at, axis, group, length in infer(labels.operands[before:], own, sizes):
                product = total([1 if size is None else size for size in sizes], group)
                if isinstance(length, int) and product and not divides(product, length):
                    raise Misfit(at, axis, length, product, ())
        except Misfit as misfit:
            raise self._unfit(known, before + misfit.at, misfit) from None
        return known

    def _check_hidden(self, known: Learnt, before: int) -> None:
        """An ellipsis stands for the same sizes wherever it stands."""
        if ELLIPSIS not in self.text:
            return
        first: tuple[int, tuple] | None = None
        for at, (groups, shape) in enumerate(zip(known.labels.operands, known.shapes)):
            array = self._array(at)
            if shape is None or array is None or ELLIPSIS not in array:
                continue
            axes = known.labels.axes
            hidden = tuple([n for n, group in zip(shape, groups) if group and axes[group[0]].__class__ is tuple])
            if first is None:
                first = at, hidden
            elif len(hidden) != len(first[1]) or any(map(differ, hidden, first[1])):
                raise self._two_sizes(known, at, array.index(ELLIPSIS), hidden, first[1], self._of(known, first[0]))

    # What is wrong, in words.

    def _array(self, at: int) -> Groups | None:
        arrays = (*self.arguments.arrays, *(self.results.arrays if self.results else ()))
        return arrays[at]

    def _span(self, at: int) -> tuple[int, int]:
        return array_span(self.text, at + self._first)

    def _call(self) -> str:
        return f"In the call of {self.name} ({user_line()}), "

    def _of(self, known: Learnt, at: int) -> str:
        called = (*self.arguments.called, *(self.results.called if self.results else ()))
        return f"{called[at]} of shape {tuple(getattr(known.values[at], 'shape', ()))}"

    @property
    def _first(self) -> int:
        """The number of the first array in the text; the left side may be empty."""
        return 0 if self.arguments.arrays else 1

    def _wrong_order(self, array: Groups, called: str, shape: tuple, at: int) -> RicciError:
        least = "at least " if ELLIPSIS in array else ""
        count = len(array) - (ELLIPSIS in array)
        return ShapeError(
            f"{self._call()}{called} has shape {shape}, with {len(shape)} axes, and the signature gives it {least}"
            f"{count}.\n{caret(self.text, *self._span(at))}"
        )

    def _unfit(self, known: Learnt, at: int, misfit: Misfit) -> RicciError:
        """The error for an axis whose size does not fit."""
        labels, sizes = known.labels, known.sizes
        group, array = labels.operands[at][misfit.axis], self._array(at)
        assert array is not None
        axis = misfit.axis
        if ELLIPSIS in array and axis > array.index(ELLIPSIS):
            axis -= len(labels.operands[at]) - len(array)
        start, end = spans_of(self.text)[at + self._first][axis]
        if len(group) == 1 or (not group and self.text[start] != "("):
            where = self._source(known, group[0], at, misfit.axis) if group else "by the signature itself"
            return self._two_sizes(known, at, axis, misfit.length, misfit.known, where)
        parts = [k for k in dict.fromkeys(group) if sizes[k] is not None]
        told = [f"{str(labels.axes[k])!r} has size {sizes[k]} {self._source(known, k, at, -1)}" for k in parts]
        return AxisSizeError(
            f"{self._call()}axis {self.text[start:end]!r} has size {known.shapes[at][misfit.axis]} "  # type: ignore
            f"in {self._of(known, at)}, which does not fit its parts: "
            f"{', '.join(told) or 'it has none, so its size is 1'}.\n"
            f"{caret(self.text, start, end)}"
        )

    def _two_sizes(self, known: Learnt, at: int, axis: int, size: Any, other: Any, where: str) -> AxisSizeError:
        start, end = spans_of(self.text)[at + self._first][axis]
        where = where if where.startswith(("in ", "as ", "by ")) else f"in {where}"
        return AxisSizeError(
            f"{self._call()}axis {self.text[start:end]!r} has size {size} in {self._of(known, at)} and {other} "
            f"{where}.\n{caret(self.text, start, end)}\n"
            "  Pass arrays whose sizes agree, or give the axis another name in the signature."
        )

    def _source(self, known: Learnt, label: int, at: int, axis: int) -> str:
        """Where the size of a label comes from, other than from this axis."""
        name = known.labels.axes[label]
        if name in self.given:
            return f"as given by rc.signature(…, {name}={self.given[name]})"
        if name in self.known:
            return "by the signature itself"
        for within in (False, True):  # an axis of its own, or else a part of a composite one
            for k, groups in enumerate(known.labels.operands):
                for j, group in enumerate(groups):
                    if (k, j) != (at, axis) and (label in group if within else group == (label,)):
                        return f"in {self._of(known, k)}"
        raise InvariantError(f"the size of {name} comes from nowhere")


def _checked_sides(sides: Sequence[Groups]) -> tuple[Groups | None, ...]:
    """The arrays; None for a lone _, which is not checked."""
    return tuple([None if side == (("_",),) else side for side in sides])


def _named(known: Learnt, before: int) -> Iterator[tuple[Any, Sequence[Any]]]:
    """The arrays from ``before`` on with the names of their axes."""
    for value, shape, groups in list(zip(known.values, known.shapes, known.labels.operands))[before:]:
        if shape is not None and hasattr(value, "shape"):
            yield value, known.labels.named(groups)


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

    @takes("rc.signature", scope="flag")
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
        checked = wrapper(spec, function)
        vars(checked)["axes_of_parameters"] = spec.axes()  # which tracing asks for
        return cast(Function, checked)


def _checked(spec: Spec, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if not signature.enabled:
            return function(*args, **kwargs)
        known = spec.take(args, kwargs)
        if not spec.scoped or _torch_compiles():
            result = function(*args, **kwargs)
            return spec.give(result, known)
        with spec.body(known) as scope:
            result = function(*args, **kwargs)
            return spec.give(result, known, scope)

    return checked


def _checked_later(spec: Spec, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def checked(*args: Any, **kwargs: Any) -> Any:
        if not signature.enabled:
            return await function(*args, **kwargs)
        known = spec.take(args, kwargs)
        if not spec.scoped or _torch_compiles():
            result = await function(*args, **kwargs)
            return spec.give(result, known)
        with spec.body(known) as scope:
            result = await function(*args, **kwargs)
            return spec.give(result, known, scope)

    return checked
