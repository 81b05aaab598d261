"""The eager tensor: an array that remembers how it was computed, so that gradients can flow back.

``y = f(x)`` runs line by line, as NumPy runs it, with Python's own ``if`` and ``while``. ``y.backward()`` then applies
the chain rule from the last operation to the first: for each, ``x_bar = pullback(y_bar; x)`` by the local rules of the
calculus, the same that differentiate formulas and traced functions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ricci.checked_calls import takes, told_late
from ricci.dispatch import offered
from ricci.errors import DTypeError, InputError, RuleError, TraceError
from ricci.kinds import check_usable
from ricci.tensor.backward import backward as flow_back
from ricci.tensor.links import Recorded, settled
from ricci.tensor.meaning import names_from, operation_name
from ricci.tensor.recorder import KIND, axes_of, call, made, of_torch, raw
from ricci.tensor.recording_mode import mode, no_grad
from ricci.tracing.basics import checked_dtype
from ricci.tracing.frames import user_place
from ricci.tracing.own_errors import RAW, raise_own

DIGITS = 4  # that a printed tensor shows after the point
ONLY_LOOKING = ("numpy.testing", "matplotlib", "_pytest", "pandas")  # take the values, and give none back


class Tensor(Recorded):
    """An array whose gradient can be asked for.

    >>> import ricci as rc
    >>> x1, x2 = rc.Tensor(2.0), rc.Tensor(7.0)
    >>> f = x1 * x2 + np.sin(x1)
    >>> f
    Tensor(14.9093, op=add)
    >>> f.backward()
    >>> x1.grad, x2.grad
    (Tensor(6.5839), Tensor(2.))

    The value is copied. Whole numbers of Python become floats, so that ``Tensor(2)`` and ``Tensor([1, 2])`` have
    gradients; arrays of whole numbers and truths stay what they are and have none. Plain arrays that are computed with
    beside tensors are copied where a gradient may need them; a large one that is used often is better made a tensor
    with ``requires_grad=False``. ``axes`` names the axes: the names are kept through operations, and axes of different
    names do not meet.

    The gradient by complex numbers is PyTorch's, ``∂f/∂x + i ∂f/∂y``: the direction in which ``f`` rises most. That of
    ``rc.grad`` is its conjugate, unless it is asked for with ``convention="torch"``.

    >>> z = rc.Tensor(3.0 + 4.0j)
    >>> (z.abs() ** 2).backward()
    >>> z.grad
    Tensor(6.+8.j)

    >>> x = rc.Tensor([[1.0, 2.0], [3.0, 4.0]], axes="b t")
    >>> x.sum("b")
    Tensor([4., 6.], axes=(t), op=sum)
    """

    __slots__ = ()

    @takes("rc.Tensor", requires_grad="flag or None", name="name or None")
    def __init__(
        self,
        value: Any,
        requires_grad: bool | None = None,
        axes: Any = None,
        dtype: Any = None,
        name: str | None = None,
    ):
        array = _as_array(value, requires_grad, dtype)
        smooth = array.dtype.kind in "fc"
        if requires_grad and not smooth:
            raise _no_gradient(array.dtype)
        self._value, self._grad, self._hooks, self._links, self.name = array, None, None, None, name
        self._axes = axes_of(axes, array.shape)
        self.requires_grad = smooth if requires_grad is None else bool(requires_grad)
        self.node, self.index, self.number, self.changed = None, 0, 0, 0

    def __copy__(self) -> Tensor:
        made = _leaf(*self.__reduce__()[1])
        made.node, made.index, made.number, made.changed = self.node, self.index, self.number, self.changed
        return made

    def __reduce__(self) -> tuple:
        """What is sent elsewhere, and a deep copy: the value and the gradient, without what they were computed from."""
        return _leaf, (type(self), self._value, self._grad, self._axes, self.name, self.requires_grad)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        return of_torch(function, args, kwargs or {})

    # What it holds

    @property
    def value(self) -> np.ndarray:
        """The values; they cannot be written into."""
        return self.numpy()

    @property
    def data(self) -> Any:
        """The values, a number if there is one; ``p.data = v`` replaces them, and the graph does not know of it."""
        return self.numpy()[()]

    @data.setter
    def data(self, value: Any) -> None:
        with no_grad():
            self[...] = value

    @told_late
    def numpy(self, *more: Any) -> np.ndarray:
        """The values as an array of NumPy, a view that cannot be written into."""
        if more:
            raise InputError("t.numpy takes no arguments; it is t.numpy().")
        view = np.asarray(self._value).view()
        view.flags.writeable = False
        return view

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        looking = sys._getframe(1).f_globals.get("__name__", "").startswith(ONLY_LOOKING)
        if self.requires_grad and mode().recording and not looking:
            raise _lost_gradient()
        array = self.numpy() if dtype is None else np.asarray(self._value, dtype)
        return array.copy() if copy else array

    def item(self, *args: Any) -> Any:
        """The one entry, or that at a position, as a number of Python."""
        try:
            return np.asarray(self._value).item(*args)
        except RAW as error:
            raise_own(error, "t.item", [self])

    @takes("t.tolist")
    def tolist(self) -> Any:
        """The entries as nested lists."""
        return self._value.tolist()

    def __float__(self) -> float:
        return float(self._single("float"))

    def __int__(self) -> int:
        return int(self._single("int"))

    def __index__(self) -> int:
        if self.dtype.kind not in "iu":
            raise InputError(f"A tensor of {self.dtype} is not a whole number; write int(t).")
        return int(self._single("int"))

    def __bool__(self) -> bool:
        return bool(self._single("bool"))

    def _single(self, what: str) -> Any:
        if self._value.size != 1:
            raise InputError(f"{what}(t) takes a tensor with one entry; this one has the shape {self.shape}.")
        return self._value.item()

    def __format__(self, spec: str) -> str:
        return format(self._value.item(), spec) if spec and not self.shape else repr(self)

    def __repr__(self) -> str:
        parts = [np.array2string(np.asarray(self._value), precision=DIGITS, separator=", ", prefix="Tensor(")]
        if self._axes is not None:
            parts.append(f"axes=({', '.join([name or '_' for name in self._axes])})")
        if self.dtype not in (np.float64, np.complex128):
            parts.append(f"dtype={self.dtype}")
        if self.name is not None:
            parts.append(f"name={self.name}")
        if self.node is not None:
            parts.append(f"op={self.op}")
        return f"Tensor({', '.join(parts)})"

    def _repr_html_(self) -> str:
        from ricci.tensor.shown import to_html

        return to_html(self)

    @property
    def axes(self) -> tuple[str | None, ...]:
        """The names of the axes, None for one without a name."""
        return self._axes if self._axes is not None else (None,) * self.ndim

    def names_from(self, known: Callable[[Any], Sequence[str | None] | None]) -> Sequence[str | None] | None:
        return names_from(self, known)

    @takes("t.rename")
    def rename(self, axes: Any) -> Tensor:
        """The tensor with other names for its axes, ``"b t"``; ``_`` takes a name away."""
        names = axes_of(axes, self.shape)
        result = call(np.positive, (self,), {}) if self.requires_grad else made(self._value, None)
        result._axes = names
        return result

    @property
    def op(self) -> str:
        """The operation that made it; empty for a leaf."""
        return "" if self.node is None else operation_name(self.node.function)

    @property
    def parents(self) -> tuple[Tensor, ...]:
        """The tensors that it was made of."""
        if self.node is None:
            return ()
        return tuple([x for x in settled(self.node, self.number).parents if isinstance(x, Tensor)])

    @property
    def is_leaf(self) -> bool:
        """Whether it was not made by a recorded operation."""
        return self.node is None

    @takes("t.expression")
    def expression(self) -> Any:
        """How it was computed, as a formula in its leaves: named as they are, or ``x0``, ``x1``, … in order of use.

        >>> import ricci as rc
        >>> x, w = rc.Tensor(2.0, name="x"), rc.Tensor(3.0, name="w")
        >>> (x * w + np.sin(x)).expression()
        <ricci.Formula sin(x) + x w>
        """
        return offered("expression")(self)

    # Gradients

    @takes("t.backward", retain_graph="flag", create_graph="flag")
    def backward(self, gradient: Any = None, retain_graph: bool = False, create_graph: bool = False) -> None:
        """Gradients of this tensor by all that it was made of, added to their ``grad``.

        A tensor with more than one entry needs the ``gradient`` that comes in. With ``create_graph`` the gradients
        can be differentiated again; with ``retain_graph`` one can go through the same operations once more.

        >>> import ricci as rc
        >>> x = rc.Tensor(3.0)
        >>> (x**3).backward(create_graph=True)
        >>> slope = x.grad
        >>> x.zero_grad()
        >>> slope.backward()
        >>> slope, x.grad
        (Tensor(27., op=power backward), Tensor(18.))
        """
        flow_back(self, gradient, retain_graph or create_graph, create_graph)

    @property
    def grad(self) -> Tensor | Any:
        """The gradient that ``backward`` has added up here, as a tensor; None where there is none."""
        if self._grad is not None and not isinstance(self._grad, Tensor):
            self._grad = made(self._grad, None, axes=self._axes)
        elif self._grad is not None and self._grad._axes is None:
            self._grad._axes = self._axes
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | np.ndarray | float | list | None) -> None:
        given = value if value is None or isinstance(value, Tensor) else Tensor(value, False, dtype=self.dtype)
        if given is not None and given.shape != self.shape:
            raise InputError(f"The gradient of a tensor of shape {self.shape} has that shape, not {given.shape}.")
        self._grad = given

    @takes("t.zero_grad")
    def zero_grad(self) -> None:
        """Forget the gradient."""
        self._grad = None

    @takes("t.requires_grad_", requires_grad="flag")
    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Say whether this leaf has a gradient; returns the tensor."""
        if self.node is not None:
            raise RuleError("Only a leaf can be said to have no gradient; this tensor was computed. Write t.detach().")
        if requires_grad and self.dtype.kind not in "fc":
            raise _no_gradient(self.dtype)
        self.requires_grad = requires_grad
        return self

    @told_late
    def detach(self, *more: Any) -> Tensor:
        """The same values, as a leaf that gradients do not flow through."""
        if more:
            raise InputError("t.detach takes no arguments; it is t.detach().")
        return made(self._value, None, axes=self._axes)

    @takes("t.register_hook", hook="function")
    def register_hook(self, hook: Callable[[Tensor], Any]) -> Hook:
        """Call ``hook`` with the gradient of this tensor whenever it is known; what it returns takes its place.

        >>> import ricci as rc
        >>> x = rc.Tensor(2.0)
        >>> handle = x.register_hook(lambda g: g * 10)
        >>> (x * 3.0).backward()
        >>> x.grad
        Tensor(30.)
        >>> handle.remove()
        """
        if not self.requires_grad:
            raise InputError("register_hook: this tensor has no gradient.")
        self._hooks = {} if self._hooks is None else self._hooks
        handle = Hook(self._hooks)
        self._hooks[id(handle)] = hook
        return handle

    @takes("t.fill")
    def fill(self, value: Any) -> Tensor:  # type: ignore[override]
        """Every entry set to ``value``."""
        self[...] = value
        return self


def _leaf(kind: type[Tensor], value: Any, grad: Any, axes: Any, name: str | None, requires_grad: bool) -> Tensor:
    """A tensor with all that it has of its own."""
    made = object.__new__(kind)
    made._value, made._grad, made._hooks, made._links, made.name = value, grad, None, None, name
    made._axes, made.requires_grad = axes, requires_grad
    made.node, made.index, made.number, made.changed = None, 0, 0, 0
    return made


class Hook:
    """A hook of a tensor; ``remove()`` takes it off."""

    __slots__ = ("_hooks",)

    def __init__(self, hooks: dict[int, Any]):
        self._hooks = hooks

    @takes("hook.remove")
    def remove(self) -> None:
        """Take the hook off the tensor."""
        self._hooks.pop(id(self), None)


KIND.append(Tensor)


def _as_array(value: Any, requires_grad: bool | None, dtype: Any) -> np.ndarray:
    """A copy of the values. Python's whole numbers become floats, unless no gradient is wanted."""
    check_usable(value, "The value of a tensor")
    tensors: list[Recorded] = []
    raw(value, tensors)
    if tensors and tensors[0] is not value:
        raise InputError("Tensor([…]) of tensors would lose their gradients; write np.stack([…]).")
    if type(value).__module__.partition(".")[0] == "torch":
        value = value.detach().cpu().numpy()
    try:
        array = np.array(value, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"Tensor(…) takes a number, an array or nested lists of numbers: {error}") from error
    if (
        array.dtype.kind == "i"
        and dtype is None
        and isinstance(value, (int, list, tuple))
        and requires_grad is not False
    ):
        array = array.astype(np.float64)
    checked_dtype(array.dtype)
    return array


def _lost_gradient() -> TraceError:
    place = user_place()
    where = f" ({place})" if place else ""
    return TraceError(
        f"A tensor that has a gradient is being made a plain array{where}, which would lose the gradient: np.array, "
        "np.asarray, np.full, a.dot(t) of a plain array a, an assignment into a plain array, and functions outside "
        "NumPy do that. Write t.numpy() for its values; or, to keep the gradient, ricci.numpy.array(…) in place of "
        "np.array(…), and a @ t in place of a.dot(t)."
    )


def _no_gradient(dtype: np.dtype) -> DTypeError:
    return DTypeError(
        f"A tensor of {dtype} has no gradient: whole numbers and truths do not vary. "
        "Give floats, or dtype=float, or leave out requires_grad."
    )
