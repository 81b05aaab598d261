"""Changes in place: a tensor gets another value, and with it its views and what it is a view of.

A view reads a base, ``v = S b`` with 0/1 structures ``S``. Writing ``w`` into it gives the base

    b' = Sᵀ w where Sᵀ 1 is 1, and b elsewhere

with ``Sᵀ`` from the calculus, as the pullback of reading; and all other views are read from the base once more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn
from weakref import ref

from ricci.calculus.graph import pullbacks
from ricci.errors import RuleError
from ricci.expr import Expr, constant, one
from ricci.expr.structures import is_one
from ricci.functions import elementwise as e
from ricci.tracing.array import Traced
from ricci.tracing.basics import fresh
from ricci.tracing.frames import current, user_place
from ricci.tracing.pytorch.traced_tensors import TracedTensor, numpy_type

NOT_WRITTEN = (
    "detach",
    "expand",
    "diagonal_copy",
)  # views that may not be changed: hidden ones, and those that overlap


def share(view: TracedTensor, base: Any, read: Callable[[Traced], Traced] | None) -> None:
    """A view shares memory with its base; ``read`` is how it is read, none where it may not be written into."""
    if not isinstance(base, TracedTensor):
        view.fixed = True
        return
    view.fixed, view.base, view.read = base.fixed, base, read
    base.views.append(ref(view))


def change(target: Any, new: Traced, what: str) -> None:
    """``target`` gets another value."""
    if not isinstance(target, TracedTensor) or target.fixed:
        refuse_change(what)
    value = fresh(new.expr, numpy_type(target.dtype))
    while target.base is not None:
        if target.read is None:
            raise RuleError(
                f"{what} changes a detached or an expanded tensor in place{where()}; make a copy by x.clone()."
            )
        value = _written(target.base.inside(), target.read, value)
        target = target.base
    target.traced = value
    _read_again(target)


def _read_again(base: TracedTensor) -> None:
    """All views of a tensor that has changed."""
    for view in [view() for view in base.views]:
        if view is None:
            continue
        if view.read is None:
            raise RuleError(
                f"A tensor is changed in place{where()} that has a detached or an expanded view; make a copy."
            )
        view.traced = view.read(base.inside())
        _read_again(view)


def _written(base: Traced, read: Callable[[Traced], Traced], value: Traced) -> Traced:
    """The base of a view that has the value."""
    here = current()
    assert here is not None
    stand_in = here.variable("base", base.shape)
    seen = read(Traced(stand_in, base.dtype, here)).expr
    mask = _back(seen, one(seen.shape) if seen.shape else constant(1), stand_in)
    new = _back(seen, value.expr, stand_in)
    return fresh(new if is_one(mask) else e.where(mask, new, base.expr), base.dtype)


def _back(seen: Expr, bar: Expr, base: Any) -> Expr:
    return pullbacks(seen, bar, [base])[0]


def refuse_change(what: str) -> NoReturn:
    """An error for a tensor that is not the traced function's own."""
    raise RuleError(
        f"{what} changes an argument, a tensor from outside, or one of plain numbers in place{where()}. A traced "
        "function runs once, so the change would not happen again, or not be seen. Compute a new tensor, x = x.add(1) "
        "in place of x.add_(1); begin with torch.zeros_like(x) of a traced x to fill a tensor in parts; call "
        "model.eval() where layers keep statistics."
    )


def where() -> str:
    """The user's line, for a message."""
    place = user_place()
    return f" ({place})" if place else ""
