"""The traced array: an expression that passes for a NumPy array while a function runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from ricci.dispatch import TRACED, call, rank_of, register
from ricci.errors import TraceError
from ricci.expr import Expr, topological
from ricci.tracing.carried_names import axis_names
from ricci.tracing.frames import Frame, current, scipy_function, user_place
from ricci.tracing.operand import Operand


def _instead() -> str:
    """What to write where Python asks for a truth value, by the line that does."""
    place = user_place()
    if place is not None and place.text.startswith("while"):
        return "Write rc.while_loop(condition, step, start) in place of the while"
    return "Write rc.where(condition, a, b), or rc.cond(condition, f, g, x), in place of the if"


class View:
    """How a traced array reads from its ``owner``; ``fixed`` if it cannot be written into."""

    __slots__ = ("doubtful", "fixed", "key", "owner", "read", "seen")

    def __init__(self, owner: Traced, read: Callable[[Traced], Traced], fixed: bool, doubtful: bool):
        self.owner, self.read, self.fixed, self.doubtful = owner, read, fixed, doubtful
        self.seen = owner.version
        self.key: tuple[Any, Any] | None = None  # of what array it was read, and at which key


class Traced(Operand):
    """An array with a shape and a type, and an expression in place of numbers."""

    _what = "A traced array"
    __slots__ = ("_expr", "array", "doubt", "dtype", "frame", "source", "version", "weak")

    def __init__(self, expr: Expr, dtype: np.dtype, frame: Frame, weak: bool = False, array: bool = False):
        self._expr, self.dtype, self.frame = expr, dtype, frame
        self.weak = weak  # it stands for a number of Python's, which does not widen the type of an array
        self.array = array  # without axes, it is an array all the same, and no number
        self.source: View | None = None  # where it reads from, unless it has entries of its own
        self.version = 0  # how often it has been changed in place
        self.doubt: str | None = None  # why nobody knows what it holds

    @property
    def expr(self) -> Expr:
        """What it holds now."""
        view = self.source
        if view is not None and view.seen != view.owner.version:
            if view.doubtful:
                self._doubted("what it was made of has been changed in place, and it may be a view of that, or a copy")
            self._expr, view.seen = view.read(view.owner).expr, view.owner.version
        if self.doubt is not None:
            self._doubted(self.doubt)
        return self._expr

    def hold(self, expr: Expr) -> None:
        """Hold something else from now on."""
        self._expr, self.doubt = expr, None
        self.version += 1

    @property
    def changeable(self) -> bool:
        """Whether it is an array and no number."""
        return not self.weak and (self.array or bool(self._expr.shape))

    def _doubted(self, why: str) -> NoReturn:
        self._has_no_value(
            f"An array of shape {self._expr.shape} is read; {why.rstrip('.')}. Which of the two, depends on the "
            "order of entries in memory, which is not known while tracing",
            "Write .copy() after reshape and ravel, or flatten() in place of ravel()",
        )

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return self._expr.shape  # type: ignore[return-value]

    @property
    def remembered(self) -> Expr:
        return self.expr

    def names_from(self, known: Callable[[Any], Sequence[str | None] | None]) -> Sequence[str | None] | None:
        found = {node: tuple(names) for node in topological(self.expr) if (names := known(node)) is not None}
        return axis_names(self.expr, found) if found else None

    @property
    def _named(self) -> bool:
        return bool(self.frame.root.named)

    @property
    def axes(self) -> tuple[str | None, ...]:
        """The names of the axes, by those of tensors that came in; None for one without a name."""
        named = self.frame.root.named
        return tuple((self.names_from(named.get) if named else None) or (None,) * self.ndim)

    def detach(self) -> Any:
        """The same array, through which no gradient flows."""
        return self.stop_gradient()

    def __repr__(self) -> str:
        return f"<traced array of shape {self.shape}, {self.dtype}>"

    # What a traced array has no answer to: its values

    def __bool__(self) -> NoReturn:  # noqa: PLE0304
        self._has_no_value(
            "Python asks whether a traced array is true; which way the code goes may not depend on its values",
            f"{_instead()}; or pass the argument as static (static_argnums=…); or use rc.Tensor, which runs line by "
            "line",
        )

    def __float__(self) -> NoReturn:
        self._no_number("float")

    def __int__(self) -> NoReturn:
        self._no_number("int")

    def __complex__(self) -> NoReturn:
        self._no_number("complex")

    def __index__(self) -> NoReturn:  # noqa: PLE0305
        self._has_no_value(
            "Python wants a traced array as a whole number, for range(…), a shape or a list",
            "Pass the argument as static (static_argnums=…), or use rc.Tensor, which runs line by line",
        )

    def item(self, *args: int) -> NoReturn:
        self._no_number("item")

    def tolist(self) -> NoReturn:
        self._no_number("tolist")

    def numpy(self) -> NoReturn:
        self._no_number("numpy")

    def _no_number(self, name: str) -> NoReturn:
        self._has_no_value(
            f"{name}(…) asks for the value of a traced array",
            "Leave it an array: NumPy's functions take it; or use rc.Tensor, which runs line by line",
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        foreign = scipy_function()
        if foreign is not None:
            rule = "rc.custom gives a function its rule"
            ours = f"Write ricci.numpy.{foreign}(…), which is traced if docs/numpy.md lists it; otherwise {rule}"
            self._has_no_value(
                f"scipy.{foreign} makes plain arrays of its arguments, which a traced array cannot become",
                ours if foreign.startswith("special.") else f"Only functions of scipy.special are traced; {rule}",
            )
        if self.dtype.kind in "iub":
            self._has_no_value(
                "A traced array of places or truths is being made a plain array, as by indexing a plain array with it",
                "Write ricci.numpy.asarray(array)[index] in place of array[index]",
            )
        self._has_no_value(
            "A traced array is being made a plain array: np.array, np.asarray, np.full, np.float64, a.dot(x) of a "
            "plain array a, an assignment into a plain array, and functions outside NumPy do that",
            "Write ricci.numpy.array(…) in place of np.array(…) (import ricci.numpy as np), a @ x in place of "
            "a.dot(x), x.astype(…) to change the type, or a function that ricci traces, see docs/programs.md",
        )

    def __format__(self, spec: str) -> str:
        if spec:
            self._no_number("format")
        return repr(self)

    def __delitem__(self, key: Any) -> NoReturn:
        self._has_no_value(
            "Traced arrays do not change: del x[…] takes entries out of one",
            "Write x = np.delete(x, …), or join the parts that stay by np.concatenate",
        )

    # Changes in place

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.frame.immutable:
            self._has_no_value(
                "Arrays of JAX do not change: x[…] = value assigns into one",
                "Write x = x.at[…].set(value), or .add(value) for +=",
            )
        super().__setitem__(key, value)

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None) -> Any:
        return call(np.sort, (self, axis), {}) if self.frame.immutable else super().sort(axis)

    def _has_no_value(self, what: str, remedy: str) -> NoReturn:
        if not self.frame.active:
            raise leaked(self)
        place = user_place()
        error = TraceError(f"{what}{f' ({place})' if place else ''}. {remedy}.")
        error.place = place  # type: ignore[attr-defined]
        raise error


register("traced", Traced)


def leaked(value: Traced) -> TraceError:
    """What to say of a traced array whose function has returned."""
    place = value.frame.root.lines.get(value.expr)
    made, here = f"It was made at {place}. " if place else "", user_place()
    where = f" ({here})" if here else ""
    return TraceError(
        f"A traced array of shape {value.shape} is used{where} after the function {value.frame.name} that made it has "
        f"returned. {made}Return it from the function instead of keeping it in a variable outside."
    )


def check_live(args: Iterable[Any], kwargs: dict) -> None:
    """Whether all traced arrays belong to functions that are still running."""
    for value in (*args, *kwargs.values()):
        if isinstance(value, Traced):
            if not value.frame.active:
                raise leaked(value)
        elif isinstance(value, (list, tuple)):
            check_live(value, {})


def fresh(expr: Expr, dtype: Any, weak: bool = False) -> Traced:
    """A traced array of the innermost frame."""
    frame = current()
    assert frame is not None, "there are traced arrays only while a function is traced"
    found = np.dtype(dtype)
    if expr.complex and found.kind != "c":
        found = np.result_type(found, np.complex64)
    return Traced(expr, found, frame, weak)


def has_traced(values: Iterable[Any]) -> bool:
    """Whether a traced array, or a traced tensor of PyTorch, is among ``values``, or in a list among them."""
    return rank_of(values) >= TRACED
