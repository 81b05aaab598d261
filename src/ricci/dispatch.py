"""The one place where a call is intercepted: the kinds of its operands, looked at once, say who takes it.

``np.f(x)``, ``rc.f(x)``, ``x.f()``, an operator, a pattern and a formula called with arrays come here with what is
called and its arguments. Operands of one kind may stand beside those of the kinds before it in :data:`ORDER`; the last
kind among them takes the call. The room that owns a kind registers what it does with calls, so that nobody imports a
room that comes later, and a type is looked up once:

========  ====================================================================================
watched   an array from outside while a function is traced: NumPy computes, and that is noticed
tensor    the value is NumPy's, and the call is remembered for gradients
traced    the call is an expression
formula   an expression whose axes have names
========  ====================================================================================

Before these come *plain* arrays, and numbers alone. While a function is traced, what ricci is asked to do with them is
recorded too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any

from ricci.caches import Cache
from ricci.errors import InvariantError
from ricci.kinds import kind_of, register_kind
from ricci.within import within

Taker = Callable[[Any, tuple, dict], Any]  # what is called, its arguments, and those by name

ORDER = ("numbers", "plain", "watched", "tensor", "traced", "formula")
NUMBERS, PLAIN, WATCHED, TENSOR, TRACED, FORMULA = range(len(ORDER))
_ranks: dict[type, int] = {}  # of the classes that are registered
takers: dict[int, Taker] = {}  # by rank
_types = Cache("types of operands", 4096)  # rank by the types of all operands; those of lists are not kept
_known = _types.known
_HOLDERS = (list, tuple, dict)


FRAME: ContextVar[Any] = ContextVar("ricci_frame", default=None)  # the innermost function being traced


def tracing() -> Any:
    """The innermost function being traced in this thread or task, if any; none in a signal handler amid its code."""
    frame = FRAME.get()
    return None if frame is not None and frame.handlers and frame.interrupted() else frame


tracing._dynamo_marked_constant = True  # type: ignore


def at_once() -> AbstractContextManager[None]:
    """What is computed inside is computed now, also while a function is traced."""
    return within(FRAME, None)


class Rule:
    """A function of ricci's, given by what it does with traced arrays.

    ``native`` computes its value on arrays of NumPy, or, if it is ``of_floats``, on floats; without it the value is
    that of the expressions.
    """

    __slots__ = ("lower", "name", "native", "of_floats")

    def __init__(
        self,
        lower: Callable[..., Any],
        name: str,
        native: Callable[..., Any] | None = None,
        of_floats: bool = False,
    ):
        self.lower, self.name, self.native, self.of_floats = lower, name, native, of_floats

    def __repr__(self) -> str:
        return f"<the rule of {self.name}>"


# Who takes a call


def register(place: str, *classes: type, takes: Taker | None = None, kind: str | None = None) -> None:
    """Say that objects of these classes have a place in :data:`ORDER`, of what kind they are otherwise, where that is
    another, and what takes a call on them."""
    rank = ORDER.index(place)
    for own in classes:
        _ranks[own] = rank
        register_kind(kind or place, own)
    if takes is not None:
        takers[rank] = takes
    _types.clear()


def rank_of(values: Iterable[Any]) -> int:
    """The place in :data:`ORDER` of what takes a call on these operands, also in lists and dictionaries of them."""
    types = tuple(map(type, values := tuple(values)))
    found = _known.get(types)
    return _looked_at(types, values) if found is None else found


def _looked_at(types: tuple[type, ...], values: Sequence[Any]) -> int:
    found = _types[types]
    if found is not None:
        return found
    rank, held = NUMBERS, False
    for kind, value in zip(types, values, strict=True):
        if issubclass(kind, _HOLDERS):
            held = True
            rank = max(rank, PLAIN, rank_of(value.values() if issubclass(kind, dict) else value))
        else:
            ours = [_ranks[base] for base in kind.__mro__ if base in _ranks]
            rank = max(rank, ours[0] if ours else PLAIN if _is_array(value) else NUMBERS)
    if not held:
        _types.keep(types, rank)
    return rank


def _is_array(value: Any) -> bool:
    return kind_of(value) not in ("number", "other") or hasattr(value, "__array__")


def call(function: Any, args: tuple, kwargs: dict) -> Any:
    """``function(*args, **kwargs)``, done by the kind of its operands."""
    types = tuple(map(type, args if not kwargs else (*args, *kwargs.values())))
    rank = _known.get(types)
    if rank is None:
        rank = _looked_at(types, args if not kwargs else (*args, *kwargs.values()))
    return takers[rank](function, args, kwargs)


def rank_now(values: Sequence[Any]) -> int:
    """The place in :data:`ORDER` of what takes a call of ricci's own: while a function is traced, all is recorded."""
    types = tuple(map(type, values))
    rank = _known.get(types)
    if rank is None:
        rank = _looked_at(types, values)
    return TRACED if rank < TRACED and tracing() is not None else rank


def change(function: Any, args: tuple) -> Any:
    """The same for a change in place of the first operand, which says who does it."""
    return takers[rank_of(args[:1])](function, args, {})


def recorded(values: Collection[Any]) -> bool:
    """Whether a call with these operands is recorded: a function is traced, or some of them remember calls."""
    if tracing() is not None:
        return True
    rank = rank_of(values)
    return PLAIN < rank < FORMULA or (rank == FORMULA and any(PLAIN < rank_of((v,)) < FORMULA for v in values))


def remember_calls(types: tuple[type, ...]) -> bool:
    """Whether objects of some of these types remember calls; ``torch.compile`` asks once, while it compiles."""
    return any(base in _ranks for kind in types for base in kind.__mro__)


remember_calls._dynamo_marked_constant = True  # type: ignore


# What later rooms do


_offered: dict[str, Callable[..., Any]] = {}


def offer(**functions: Callable[..., Any]) -> None:
    """Say what a later room does for earlier ones, by name."""
    _offered.update(functions)


def offered(name: str) -> Callable[..., Any]:
    """What a later room does; the last one is there once a formula is asked for."""
    if name not in _offered and public("Formula") and name not in _offered:
        raise InvariantError(f"No room offers {name!r}; those that are imported offer {', '.join(_offered)}.")
    return _offered[name]


def public(name: str) -> Any:
    """What users know by this name: a function, a class or a module of ``ricci`` itself."""
    return getattr(sys.modules["ricci"], name)


class FormulaCall(Rule):
    """A formula, or a compiled one, called with inputs that remember calls; two of one formula and inputs are equal.

    ``source`` is what is called, and ``called`` what it is made of: results that are prepared, and whether it is one.
    """

    __slots__ = ("called", "hash", "inputs", "key", "sizes")

    def __init__(self, source: Any, name: str, called: tuple, inputs: tuple[str, ...], sizes: Mapping[str, int]):
        super().__init__(self.placed, name)
        self.called, self.inputs, self.sizes = called, inputs, dict(sizes)
        self.key = (source, inputs, tuple(sorted(self.sizes.items())))
        self.hash = hash((id(source), *self.key[1:]))

    def placed(self, *values: Any) -> Any:
        """Its expressions, with what is traced in place of the inputs."""
        return offered("placed")(self.called, dict(zip(self.inputs, values, strict=True)), self.sizes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FormulaCall) and self.key[0] is other.key[0] and self.key[1:] == other.key[1:]

    def __hash__(self) -> int:
        return self.hash


def call_formula(source: Any, name: str, called: tuple, inputs: Mapping[str, Any], sizes: Mapping[str, int]) -> Any:
    """The results of a formula for inputs of which some remember calls, or while a function is traced."""
    values = tuple(inputs.values())
    return takers[rank_now(values)](FormulaCall(source, name, called, tuple(inputs), sizes), values, {})
