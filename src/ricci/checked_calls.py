"""What public functions take: the one place where their arguments are looked at before anything is done with them.

A public function says by :func:`takes` what its parameters are, in words of :data:`KINDS`: ``@takes("rc.parse",
text="text", sizes="sizes or None")``. A call that does not fit, also one with too many arguments, too few or unknown
ones, is an :class:`~ricci.errors.InputError` that says what is wanted. What depends on more than one argument (axes of
an array, names in a formula) is checked where it is known.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from ricci.errors import EinopsTypeError, InputError, RicciError, nearest

F = TypeVar("F", bound=Callable)


class ArgumentKind(NamedTuple):
    """What an argument may be: in words, and whether a value is one."""

    words: str
    fits: Callable[[Any], bool]


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number, of Python or of an array library; truths are none."""
    if type(value) is int:
        return True
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        return False
    return hasattr(value, "__index__") and getattr(value, "shape", ()) == () and _as_int(value) is not None


def _as_int(value: Any) -> int | None:
    try:
        return value.__index__()
    except TypeError:  # of an array of floats, of a class that only has the method
        return None


def is_number(value: Any) -> bool:
    """Whether a value is a real number that fits a float, and not NaN."""
    if isinstance(value, (bool, str, bytes)) or getattr(value, "shape", ()) != () or not hasattr(value, "__float__"):
        return False
    try:
        return float(value) == value
    except (TypeError, ValueError, OverflowError):
        return False


def _is_flag(value: Any) -> bool:
    return (
        isinstance(value, bool) or type(value).__name__ in ("bool", "bool_") or (type(value) is int and value in (0, 1))
    )


def _are(values: Any, fit: Callable[[Any], bool]) -> bool:
    """Whether a value is one of a kind, or a list or a tuple of them."""
    return fit(values) or (isinstance(values, (list, tuple)) and all(map(fit, values)))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_argnum(value: Any) -> bool:
    return is_whole(value) or _is_text(value)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping) and all(map(_is_text, value))


def is_name(value: Any) -> bool:
    """Whether a value is a name that the notation reads: letters, digits and underscores, the first no digit."""
    return isinstance(value, str) and re.fullmatch(r"[^\W\d]\w*", value) is not None


def is_index(value: Any) -> bool:
    """Whether a value is a name of an index: the same, and perhaps with primes."""
    return isinstance(value, str) and is_name(value.rstrip("'"))


KINDS: dict[str, ArgumentKind] = {
    "text": ArgumentKind("a text", _is_text),
    "name": ArgumentKind("a name: letters, digits and underscores, the first one no digit", is_name),
    "flag": ArgumentKind("True or False", _is_flag),
    "function": ArgumentKind("a function", callable),
    "count": ArgumentKind("a whole number, 0 or more", lambda value: is_whole(value) and value >= 0),
    "whole number": ArgumentKind("a whole number", is_whole),
    "count or flag": ArgumentKind(
        "a whole number, 0 or more, or True or False", lambda value: _is_flag(value) or (is_whole(value) and value >= 0)
    ),
    "number": ArgumentKind("a number", is_number),
    "amount": ArgumentKind("a number, 0 or more", lambda value: is_number(value) and value >= 0),
    "step": ArgumentKind("a number greater than 0", lambda value: is_number(value) and value > 0),
    "argnums": ArgumentKind(
        "the number of an argument or its name, or several of them, as in 0, 'x' or (0, 1)",
        lambda value: _are(value, _is_argnum),
    ),
    "places": ArgumentKind("the number of an argument, or several: 0, (0, 1)", lambda value: _are(value, is_whole)),
    "names": ArgumentKind("a name, or several, as in 'x' or ('x', 'y')", lambda value: _are(value, _is_text)),
    "detail": ArgumentKind(
        '"brief", "normal" or "full"', lambda value: isinstance(value, str) and value in ("brief", "normal", "full")
    ),
    "path": ArgumentKind("the name of a file", lambda value: isinstance(value, str) or hasattr(value, "__fspath__")),
    "sizes": ArgumentKind("sizes by name, as in {'i': 3}", _is_mapping),
    "points": ArgumentKind(
        "points, each a value for every input, as in [{'x': x}]",
        lambda value: isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping)),
    ),
    "by name": ArgumentKind("values by name, as in {'x': x}", _is_mapping),
    "new names": ArgumentKind("new names by the old ones, as in {'i': 'j'}", _is_mapping),
}


def allow(name: str, words: str, fits: Callable[[Any], bool]) -> None:
    """One more kind of arguments: a later room says what it is."""
    KINDS[name] = ArgumentKind(words, fits)


def _kind(name: str) -> ArgumentKind:
    own, _, rest = name.partition(" or None")
    kind = KINDS[own + rest]
    return kind if own + rest == name else ArgumentKind(f"{kind.words}, or None", lambda v: v is None or kind.fits(v))


def check(what: str, parameter: str, value: Any, kind: str) -> None:
    """An error if an argument is not of its kind.

    >>> check("rc.limits", "seconds", "ten", "amount")
    Traceback (most recent call last):
        ...
    ricci.errors.InputError: rc.limits takes a number, 0 or more, for seconds, not 'ten'.
    """
    wanted = _kind(kind)
    if not wanted.fits(value):
        comma = "," if "," in wanted.words else ""
        named = "" if parameter == "f" or parameter in wanted.words else f"{comma} for {parameter}"
        raise InputError(f"{what} takes {wanted.words}{named}, not {shown(value)}.")


def shown(value: Any) -> str:
    """A value in a message: numbers, texts and short lists as they are, all else by its type."""
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, list, tuple, dict, set)):
        try:
            text = repr(value)
        except ValueError:  # Python does not write numbers of over 4,300 digits
            return f"an {type(value).__name__} too long to show"
        return text if len(text) <= 60 else f"{text[:57]}…"
    name = value.__name__ if isinstance(value, type) else type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' or name == 'ndarray' else 'a'} {name}"


def takes(what: str, **kinds: str) -> Callable[[F], F]:
    """Check the arguments of a function that users know as ``what``: those that are named, each by its kind.

    >>> @takes("double", x="number")
    ... def double(x):
    ...     return 2 * x
    >>> double(1, 2)
    Traceback (most recent call last):
        ...
    ricci.errors.InputError: double: too many positional arguments; it is double(x).
    """

    def decorate(function: F) -> F:
        code = getattr(function, "__wrapped__", function).__code__
        count = code.co_argcount
        positions = [(name, kinds.get(name)) for name in code.co_varnames[:count]]
        star = code.co_varnames[count + code.co_kwonlyargcount] if code.co_flags & 4 else None
        of_star = kinds.get(star) if star else None

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            for (name, kind), value in zip(positions, args, strict=False):
                if kind is not None:
                    check(what, name, value, kind)
            for name, value in kwargs.items():
                if name in kinds:
                    check(what, name, value, kinds[name])
            if of_star is not None:
                for value in args[count:]:
                    check(what, star, value, of_star)  # type: ignore[arg-type]
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                fault = None if isinstance(error, RicciError) else _misfit(what, function, args, kwargs)
                if fault is None:
                    raise
                raise fault from None

        return checked  # type: ignore[return-value]

    return decorate


class Missing:
    """What stands for an argument that a call lacks."""

    def __repr__(self) -> str:
        return "nothing"


MISSING: Any = Missing()


def told_late(function: F) -> F:
    """For functions whose calls are too short for a check around them: what a call lacks is :data:`MISSING`.

    They have ``*more`` after their parameters, which ``inspect`` does not see, and ask themselves for both.
    """
    import inspect

    signature = inspect.signature(function)
    kept = [p for p in signature.parameters.values() if p.name != "more"]
    count = sum(p.kind is p.POSITIONAL_OR_KEYWORD and p.name != "self" for p in kept)
    function.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    function.__defaults__ = (MISSING,) * count  # type: ignore[attr-defined]
    return function


def unfit(what: str, function: Callable, args: tuple, kwargs: Mapping[str, Any], example: str) -> EinopsTypeError:
    """The error for a call of a function that is :func:`told_late`; ``args`` are those by position, ``MISSING`` too."""
    names = [p.name for p in _parameters(function) if p.kind is p.POSITIONAL_OR_KEYWORD]
    lacking = [name for name, value in zip(names, args, strict=False) if value is MISSING]
    listed = ", ".join(map(str, _parameters(function)))
    if lacking:
        fault = f"missing {', '.join(map(repr, lacking))}"
        close = [f"{name!r} is no argument. {nearest(name, lacking)}" for name in kwargs if nearest(name, lacking)]
        fault = " ".join([fault + ";", *close, ""]).rstrip(" ") if close else fault + ";"
    else:
        fault = f"{len(args)} arguments by position;"
    return EinopsTypeError(f"{what}: {fault} it is {what}({listed}), as in {example}.")


def _parameters(function: Callable) -> list[Any]:
    import inspect

    found = inspect.signature(function).parameters.values()
    return [p.replace(annotation=p.empty, default=p.empty) for p in found]


def call_back(what: str, function: Callable, *args: Any, **kwargs: Any) -> Any:
    """The result of a function that the user gave; an error that names it, if it does not take these arguments."""
    try:
        return function(*args, **kwargs)
    except TypeError as error:
        if isinstance(error, RicciError):
            raise
        import inspect

        try:
            inspect.signature(function).bind(*args, **kwargs)
        except TypeError as fault:
            name = getattr(function, "__name__", repr(function))
            raise InputError(
                f"{what} calls {name} with {len(args)} argument{'s' * (len(args) != 1)}: {fault}."
            ) from error
        except ValueError:  # it tells nothing of its arguments
            pass
        raise


def _misfit(what: str, function: Callable, args: tuple, kwargs: Mapping[str, Any]) -> InputError | None:
    """The error for a call that does not fit the parameters of a function, if it does not."""
    import inspect

    signature = inspect.signature(function)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        own = [p.replace(annotation=p.empty) for p in signature.parameters.values() if p.name != "self"]
        listed = signature.replace(parameters=own, return_annotation=signature.empty)
        return InputError(f"{what}: {error}; it is {what}{listed}.")
    return None
