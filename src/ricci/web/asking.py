"""What a request may say, and that it says it in the right form: the keys, their defaults and their limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ricci.errors import InputError, LimitError, nearest
from ricci.standalone.kept_code import BACKENDS

LANGUAGES = ("auto", "index", "latex", "matrix", "numpy")
MODES = ("auto", "forward", "reverse", "cross-country")
DETAILS = ("brief", "normal", "full")
VIEWS = ("formula", "derivation", "structure", "matrix", "graph", "code", "values")
MOST_TEXT, MOST_BY, MOST_ORDER, MOST_SIZE = 10_000, 16, 6, 1_000_000


@dataclass(frozen=True)
class PageRequest:
    """A request whose parts are checked; these are its keys, and what holds where one is left out."""

    text: str
    language: str = "auto"
    declare: str = ""  # of the matrix language and of NumPy: "X[m,n] w[n] S: symmetric"
    by: tuple[str, ...] = ()  # names, or names with new indices: "w[p]"
    each: bool = False  # by each of them, and not by one after the other
    order: int = 1  # by each so many times
    mode: str = "auto"
    want: tuple[str, ...] = ("formula",)
    detail: str = "normal"
    sums: bool = False
    code: str = "numpy"
    sizes: Mapping[str, int] = field(default_factory=dict)


def request_of(said: Mapping[str, Any]) -> PageRequest:
    """The request that a dictionary is, or the error that says which of its parts is wrong."""
    if not isinstance(said, Mapping):
        raise InputError(f"A request is an object with the key 'text', not {_kind(said)}.")
    known = [one.name for one in fields(PageRequest)]
    for key in said:
        if key not in known:
            raise InputError(
                f"A request has no key {key!r}; its keys are {', '.join(known)}. {nearest(str(key), known)}".rstrip()
            )
    if "text" not in said:
        raise InputError('A request needs a text: {"text": "f = x[i] x[i]"}.')
    found: dict[str, Any] = {key: CHECKS[key](key, value) for key, value in said.items() if value is not None}
    return PageRequest(**{"text": "", **found})


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"The {key} of a request is a text, not {_kind(value)}.")
    if len(value) > MOST_TEXT:
        raise LimitError(f"The {key} has {len(value):,} characters, and {MOST_TEXT:,} are allowed.")
    return value


def _one_of(known: tuple[str, ...]) -> Callable[[str, Any], str]:
    def check(key: str, value: Any) -> str:
        if value not in known:
            raise InputError(
                f"The {key} of a request is one of {', '.join(known)}, not {_text(key, value)!r}. "
                f"{nearest(value, known)}".rstrip()
            )
        return value

    return check


def _flag(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"The key {key!r} of a request is true or false, not {_kind(value)}.")
    return value


def _count(key: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_ORDER:
        raise InputError(f"The {key} of a request is a whole number from 1 to {MOST_ORDER}.")
    return value


def _texts(key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise InputError(f"The key {key!r} of a request has a list of texts, not {_kind(value)}.")
    if len(value) > MOST_BY:
        raise LimitError(f"The key {key!r} has {len(value)} texts, and {MOST_BY} are allowed.")
    return tuple([_text(key, one) for one in value])


def _wanted(key: str, value: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys([_one_of(VIEWS)(key, one) for one in _texts(key, value)]))


def _sizes(key: str, value: Any) -> dict[str, int]:
    if not isinstance(value, Mapping):
        raise InputError(f"The {key} of a request are an object of names and numbers, not {_kind(value)}.")
    for name, size in value.items():
        if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= MOST_SIZE:
            raise InputError(f"The size of {name!r} is a whole number from 0 to {MOST_SIZE:,}.")
    return dict(value)


def _kind(value: Any) -> str:
    kinds = {"NoneType": "null", "dict": "an object", "list": "a list", "str": "a text", "bool": "a truth value"}
    return kinds.get(type(value).__name__, "a number")


CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "text": _text,
    "language": _one_of(LANGUAGES),
    "declare": _text,
    "by": _texts,
    "each": _flag,
    "order": _count,
    "mode": _one_of(MODES),
    "want": _wanted,
    "detail": _one_of(DETAILS),
    "sums": _flag,
    "code": _one_of(BACKENDS),
    "sizes": _sizes,
}
