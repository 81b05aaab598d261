"""The error family, and the caret that points into the user's text.

Every error that ricci raises on purpose is a :class:`RicciError` and also the built-in exception that fits, so
``except ValueError`` keeps working. A message is a full sentence: what was being done, what is wrong, and what to
write instead; where there is a text, the line at fault is shown with a caret under the fault.
"""

from __future__ import annotations

from collections.abc import Callable


class RicciError(Exception):
    """The base of all errors raised by ricci."""


class ShapeError(RicciError, ValueError):
    """Sizes or numbers of axes that do not fit together."""


class AxisSizeError(ShapeError):
    """An axis name with two sizes."""


class AxisSpaceError(ShapeError):
    """An axis that goes by two names which stand for different index spaces."""


class RuleError(RicciError, ValueError):
    """A step that index notation does not allow; the message names the rule."""


class AxisError(RicciError, IndexError):
    """An index or axis name that the expression does not have, or a place that an axis does not have."""


class InputError(RicciError, TypeError):
    """A call with a missing, an unknown or an unusable input."""


class DTypeError(RicciError, TypeError):
    """An array of a type that ricci does not compute with."""


class AbsentError(RicciError, AttributeError):
    """A method or attribute that ricci's arrays and formulas do not have; the message is made when it is read."""

    def __init__(self, message: str, instead: Callable[[], str] = str):
        super().__init__(message)
        self.instead = instead

    def __str__(self) -> str:
        return f"{self.args[0]} {self.instead()}".rstrip()

    def __reduce__(self):
        return type(self), (str(self),)


class MatrixError(RicciError, ValueError):
    """A matrix that a function is not defined for: singular, or not positive definite. It is also the error of the
    library that noticed it, ``np.linalg.LinAlgError`` or that of PyTorch."""


class TraceError(RicciError, TypeError):
    """A function does with a traced array what only numbers can do."""


class GradientMismatchError(RicciError, AssertionError):
    """A derivative that differs from what numerical differences give."""


class NonFiniteError(RicciError, FloatingPointError):
    """A value that is not a number, or infinite, where ``rc.debug_nans`` watches."""


class ConvergenceError(RicciError, ArithmeticError):
    """A root, a fixed point, a minimum or the solution of a differential equation that was not found."""


class LimitError(RicciError, RuntimeError):
    """More work than ``rc.limits`` allows; what was being done, and what was too much, is in the message."""


class MissingPackageError(RicciError, ImportError):
    """An optional package is needed and not installed."""


class InvariantError(RicciError, AssertionError):
    """An expression is not well formed: a fault in ricci itself, never in the user's input."""


class TextError(RicciError):
    """A fault in a text: the message, then the line with a caret under the fault, then what to write instead."""

    def __init__(self, message: str, text: str = "", start: int = 0, end: int | None = None, hint: str = ""):
        self.message, self.text, self.start, self.hint = message, text, start, hint
        self.end = start + 1 if end is None else end
        super().__init__(message)

    def __str__(self) -> str:
        parts = [self.message]
        if self.text:
            parts.append(caret(self.text, self.start, self.end))
        if self.hint:
            parts += ["  " + line for line in self.hint.splitlines()]
        return "\n".join(parts)

    def __reduce__(self):
        return type(self), (self.message, self.text, self.start, self.end, self.hint)


class NotationError(TextError, ValueError):
    """A text that is not in the notation, or breaks one of its rules.

    >>> print(NotationError("There is no function 'sn'.", "y = sn(x)", 4, 6, "Write sin(x)."))
    There is no function 'sn'.
      y = sn(x)
          ^^
      Write sin(x).
    """


class ReadingWarning(UserWarning):
    """A text that can be read in two ways; the message shows both, and which one was taken."""


class EinopsError(TextError, RuntimeError):
    """A pattern that cannot be read, or that does not fit the array it is applied to."""


class EinopsTypeError(EinopsError, TypeError):
    """An operation on patterns was given something that is not an array, or no array at all."""


class EinopsValueError(EinopsError, ValueError):
    """An operation on patterns was called without its pattern or its arrays."""


class EinopsRefusal(EinopsError, NotImplementedError):
    """What einops does not offer, refused in its words."""


def caret(text: str, start: int, end: int, width: int = 100) -> str:
    """The line of ``text`` that holds ``start``, with carets under ``start:end``; long lines are cut around them."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", start)
    line = text[first : last if last >= 0 else len(text)].replace("\t", " ")
    column, length = start - first, max(1, end - start)
    if len(line) > width:
        left = max(0, min(column - width // 2, len(line) - width))
        head, tail = "…" if left else "", "…" if left + width < len(line) else ""
        line = head + line[left : left + width] + tail
        column += len(head) - left
    length = max(1, min(length, len(line) - column))
    return f"  {line}\n  {' ' * column}{'^' * length}"


def nearest(word: str, known: object) -> str:
    """'Did you mean …?' for the name in ``known`` closest to ``word``, or an empty string."""
    from difflib import get_close_matches

    close = get_close_matches(str(word), list(known), n=1, cutoff=0.6)  # type: ignore[call-overload]
    return f"Did you mean {close[0]!r}?" if close else ""


def absent(owner: object, what: str, name: str, instead: Callable[[str], str]) -> AttributeError:
    """The error for an attribute that ``owner`` does not have; ``instead(name)`` says what to write.

    Protocols that somebody asks for get Python's own, and no sentence is made for those who only ask.
    """
    if name.startswith("_"):
        return AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}", name=name, obj=owner)
    known = [word for word in dir(type(owner)) if not word.startswith("_")]
    return AbsentError(f"{what} has no {name!r}.", lambda: instead(name) or nearest(name, known))
