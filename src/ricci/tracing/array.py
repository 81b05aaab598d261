"""The traced array: an expression that passes for a NumPy array while a function runs."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from ricci.errors import TraceError
from ricci.expr import Expr
from ricci.tracing.frames import Frame, scipy_function, user_place
from ricci.tracing.impure import unwatched
from ricci.tracing.operand import Operand


class Traced(Operand):
    """An array with a shape and a type, and an expression in place of numbers."""

    __slots__ = ("dtype", "expr", "frame", "weak")

    def __init__(self, expr: Expr, dtype: np.dtype, frame: Frame, weak: bool = False):
        self.expr, self.dtype, self.frame = expr, dtype, frame
        self.weak = weak  # it stands for a number of Python's, which does not widen the type of an array

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.expr.shape  # type: ignore[return-value]

    def _call(self, function: Any, args: tuple, kwargs: dict) -> Any:
        from ricci.tracing.table import lowered

        with unwatched():
            return lowered(function, args, kwargs)

    def _row(self, name: str, args: tuple, kwargs: dict) -> Any:
        from ricci.tracing.functions import lowering
        from ricci.tracing.table import check_live

        check_live(args, kwargs)
        return lowering(name)(*args, **kwargs)

    def detach(self) -> Any:
        """The same array, through which no gradient flows."""
        return self._row("stop_gradient", (self,), {})

    def __repr__(self) -> str:
        return f"<traced array of shape {self.shape}, {self.dtype}>"

    # What a traced array has no answer to: its values

    def __bool__(self) -> NoReturn:  # noqa: PLE0304
        self._has_no_value(
            "Python asks whether a traced array is true; which way the code goes may not depend on its values",
            "Write rc.where(condition, a, b) in place of the if; or pass the argument as static "
            "(static_argnums=…); or use rc.Tensor, which runs line by line",
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
            ours = f"Write ricci.numpy.{foreign}(…), which is traced if docs/programs.md lists it; otherwise {rule}"
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

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        self._has_no_value(
            "Traced arrays do not change: x[…] = value assigns into one",
            "Write x = x.at[…].set(value), or .add(value) for +=",
        )

    def _has_no_value(self, what: str, remedy: str) -> NoReturn:
        from ricci.tracing.table import leaked

        if not self.frame.active:
            raise leaked(self)
        place = user_place()
        error = TraceError(f"{what}{f' ({place})' if place else ''}. {remedy}.")
        error.place = place  # type: ignore[attr-defined]
        raise error
