"""Changes in place: names for one tensor all see them, and so do its views; gradients flow through them.

Values are never written into. A tensor that is changed takes another value, and the node that computed it; what it was
before becomes a tensor of its own, in its *past*, and the operations that had taken it are given that one when they are
gone through. A view knows its *owner* and the calls that made it (``b[:1]``, ``b.T``): to change it is to change a copy
of the owner there, which is an operation like any other, and all views of the owner are then read anew.

Where no gradient is recorded there is no past: the values change, and ``backward`` refuses an operation that would need
what they were.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from operator import getitem, setitem
from typing import Any

import numpy as np

from ricci.caches import Cache, cached
from ricci.dispatch import Rule, register
from ricci.errors import DTypeError, InputError, RuleError
from ricci.kinds import check_numbers
from ricci.tensor.links import Links, Recorded, numbers
from ricci.tensor.recorder import call, made, raw, short
from ricci.tensor.recording_mode import mode
from ricci.tracing.array_methods import IN_PLACE
from ricci.tracing.frames import current, user_place
from ricci.tracing.in_place import SIGNS, VIEWS, WRITERS
from ricci.tracing.lowerings import name_of
from ricci.tracing.own_errors import RAW, raise_own

Read = tuple[Any, tuple, tuple, int]  # a call that gives a view: function, more arguments, named ones, which result


def called(function: Any, args: tuple, kwargs: dict) -> Any:
    """A call on tensors and other values; results that NumPy makes views are views."""
    result = NotImplemented if kwargs else short(function, args)
    if result is NotImplemented:
        out = kwargs.get("out")
        (target,) = out if isinstance(out, tuple) and len(out) == 1 else (out,)
        if isinstance(target, Recorded):
            rest = {name: value for name, value in kwargs.items() if name != "out"}
            return change(target, call(function, args, rest), "a function with out=")
        if function in WRITERS and isinstance(args[0], Recorded):
            return _OWN[function](*args) if function in _OWN else _written_by(function, args, kwargs)
        result = call(function, args, kwargs)
    if function in VIEWS and isinstance(args[0], Recorded):
        parts = result if isinstance(result, (list, tuple)) else (result,)
        for k, part in enumerate(parts):
            if isinstance(part, Recorded) and _shares(part, args[0]):
                _link(part, args[0], (function, args[1:], tuple(kwargs.items()), k))
    return result


def _written_by(function: Any, args: tuple, kwargs: dict) -> None:
    """A function of NumPy that changes its first argument."""
    name = name_of(function)
    check_changeable(args[0], name)
    change(args[0], call(_by(function), args, kwargs), name)


def _shares(part: Recorded, x: Recorded) -> bool:
    """Whether a result has the memory of an operand: NumPy says whose memory an array has."""
    value, whole = part._value, x._value
    if part is x or type(value) is not np.ndarray:
        return False
    return value is whole or (value.base is not None and (value.base is whole or value.base is whole.base))


def _link(part: Recorded, x: Recorded, read: Read) -> None:
    """``part`` is what ``read`` makes of ``x``."""
    inner = _links(x)
    owner, before = (x, ()) if inner.owner is None else (inner.owner, inner.reads)
    own = _links(part)
    own.owner, own.reads, own.of = owner, (*before, read), x
    views = _links(owner).views
    if len(views) & (len(views) - 1) == 0:  # now and then, so that a loop over rows takes linear time
        views[:] = [ref for ref in views if ref() is not None]
    views.append(weakref.ref(part))


def _links(x: Recorded) -> Links:
    if x._links is None:
        x._links = Links()
    return x._links


def _viewed(x: Any, reads: tuple[Read, ...]) -> Any:
    """What calls make of an array, a tensor or a traced array."""
    for function, args, kwargs, k in reads:
        x = function(x, *args, **dict(kwargs))
        x = x[k] if isinstance(x, (list, tuple)) else x
    return x


# Changes as operations


def _with_entries(x: Any, value: Any, key: Any) -> Any:
    """A copy with other entries."""
    y = np.copy(x)
    y[key] = value
    return y


@cached("changes as operations", 256)
def _by(function: Any) -> Rule:
    """What a function that changes its first argument makes of a copy of it."""
    native = getattr(function[0], function[1]) if isinstance(function, tuple) else function

    def changed_copy(x: Any, *args: Any, **kwargs: Any) -> Any:
        y = np.copy(x)
        native(y, *args, **kwargs)
        return y

    return Rule(changed_copy, name_of(function), changed_copy)


_SET = Rule(_with_entries, "setitem", _with_entries)


_rules = Cache("writing into views", 256)


def _written(reads: tuple[Read, ...]) -> Rule:
    """A copy of an owner whose view is another; the same rule for the same calls, as operations are found by it."""
    text = repr([(id(function), *rest) for function, *rest in reads])
    return _rules.made(text, lambda: _rule(reads))


def _rule(reads: tuple[Read, ...]) -> Rule:
    def write(x: Any, value: Any) -> Any:
        here = current()
        if here is not None:
            here.packed = True  # NumPy made it a view, so it is one
        y = np.copy(x)
        _viewed(y, reads)[...] = value
        return y

    return Rule(write, "change of a view", write)


# Changes


def change(t: Any, value: Any, what: str) -> Any:
    """``t``, whose entries are from now on those of ``value``; ``what`` says who does that."""
    new = value if isinstance(value, Recorded) else made(np.asarray(value), None)
    if new.shape != t.shape:
        raise InputError(f"{what} would change the shape of the tensor from {t.shape} to {new.shape}.")
    if new.dtype != t.dtype:
        if not np.can_cast(new.dtype, t.dtype, "same_kind"):
            raise DTypeError(f"{what} gives {new.dtype}, which a tensor of {t.dtype} cannot hold; use t.astype(…).")
        new = call(np.astype, (new, t.dtype), {})
    links = t._links
    if links is None or links.owner is None:
        _become(t, new)
        _refresh(t)
        return t
    check_changeable(t, what)
    owner = links.owner
    _become(owner, call(_written(links.reads), (owner, new), {}))
    _refresh(owner)
    return t


def check_changeable(t: Any, what: str) -> None:
    """An error where gradients could not flow, or NumPy would not let one write."""
    links = t._links
    owner = t if links is None or links.owner is None else links.owner
    if mode().recording and owner.node is None and owner.requires_grad:
        of = "a leaf that has a gradient" if owner is t else "a view of a leaf that has a gradient"
        raise RuleError(
            f"{what}{_place()} would change {of} in place. Write x = x + v or x = x.at[…].set(v) for a new tensor, or "
            "change it inside `with rc.no_grad():`."
        )
    if isinstance(t._value, np.ndarray) and links is not None and links.owner is not None:
        fixed = [function for function, *_ in links.reads if function in VIEWS and VIEWS[function] == "read-only"]
        if fixed:
            raise RuleError(
                f"{what}{_place()} would change a view that NumPy makes read-only; write x = x.copy() first."
            )


def _place() -> str:
    place = user_place()
    return f" ({place})" if place else ""


def _become(t: Recorded, new: Recorded) -> None:
    """``t`` is what ``new`` is."""
    if not mode().recording or not (t.requires_grad or new.requires_grad):
        t._value = new._value
        t.changed = next(numbers)
        return
    past = made(t._value, t.node, t.number, t.index, t._axes)
    past.requires_grad, past.changed, past.name = t.requires_grad, t.changed, t.name
    past._grad, past._hooks = t._grad, t._hooks
    links = _links(t)
    links.past = [*links.past, (next(numbers), past)]
    t._value, t.node, t.number, t.index, t.requires_grad = (
        new._value,
        new.node,
        new.number,
        new.index,
        new.requires_grad,
    )
    t._grad = t._hooks = None


def _refresh(owner: Recorded) -> None:
    """The views of a tensor that has changed are read anew."""
    links = owner._links
    if links is None or not links.views:
        return
    alive = [view for view in [ref() for ref in links.views] if view is not None]
    for view in alive:
        _become(view, _viewed(owner, view._links.reads))
    links.views = [weakref.ref(view) for view in alive]


def _put_item(t: Any, key: Any, value: Any) -> None:
    """``t[key] = value``."""
    check_numbers(value, "The value put into a tensor", "v", real=False)
    if isinstance(value, Recorded) and value._links is not None and value._links.of is t:
        function, args, *_ = value._links.reads[-1]
        if function is getitem and type(args[0]) is type(key) and repr(args[0]) == repr(key):
            return  # t[key] += v has done it already
    check_changeable(t, "x[…] = v")
    if mode().recording and (t.requires_grad or getattr(value, "requires_grad", False)):
        new = call(_SET, (t, value, key), {})
    else:
        try:
            new = made(_with_entries(t._value, raw(value, []), raw(key, [])), None)
        except RAW as error:
            raise_own(error, "x[…] = v", [t, value])
    change(t, new, "x[…] = v")


def _sort(t: Any, axis: int) -> None:
    """``t.sort(axis)``."""
    check_changeable(t, "x.sort()")
    change(t, call(np.sort, (t, axis), {}), "x.sort()")


def _updated(function: np.ufunc, sign: str, t: Any, other: Any) -> Any:
    """``t += other`` and its kin. Numbers do not change; the name then means another one."""
    what = f"x {sign}= v"
    check_changeable(t, what)
    result = called(function, (t, other), {})
    leaf = t.node is None and t.requires_grad
    number = isinstance(t._value, np.generic) and not leaf
    return result if number or not isinstance(result, (Recorded, np.ndarray)) else change(t, result, what)


_OWN: dict[Any, Callable[..., Any]] = {setitem: _put_item, np.ndarray.sort: _sort}
_OWN |= {function: partial(_updated, ufunc, SIGNS[function]) for function, ufunc in IN_PLACE.items()}
register("tensor", Recorded, takes=called)
