"""Changes in place: names for one array all see them, and so do its views.

An expression does not change; a traced array does, by taking another expression. ``c = b; c += 1`` needs no more than
that. A *view* is an array that reads from another, its *owner*: the call that made it (``b[:1]``, ``b.T``, a row of a
loop) is remembered, and repeated when the owner has changed since. To change a view is to change its owner: a view
chooses entries, ``view = P owner`` with a 0/1 matrix that has one 1 in each row, so the new owner is

    Pᵀ new              where a view chose an entry, that is where Pᵀ 1 is 1,
    what it was before  elsewhere

and ``Pᵀ`` is the pullback of the call. The real or imaginary part of an array is a view too; the other part stays.

Whether ``reshape`` and ``ravel`` give a view depends on the order in memory, which expressions do not have. Then the
array is *doubtful*: it may be changed, or what it was made of, but after that the other one of the two cannot be read.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ricci.calculus.graph import pullbacks
from ricci.dispatch import register
from ricci.errors import DTypeError, ShapeError, TraceError
from ricci.expr import Expr, conj, one
from ricci.expr import variable as input_node
from ricci.functions import elementwise as e
from ricci.functions.complexes import I, imag, real
from ricci.tracing.array import Traced, View, leaked
from ricci.tracing.array_methods import IN_PLACE
from ricci.tracing.basics import lift
from ricci.tracing.casting import cast
from ricci.tracing.frames import current, user_place
from ricci.tracing.impure import unwatched, watch
from ricci.tracing.lowered import lowered
from ricci.tracing.lowerings import name_of
from ricci.tracing.operand import changed
from ricci.tracing.rows.along import broadcast

# Calls that give views of their first argument, or of each of their arguments

_ALWAYS = {np.transpose, np.permute_dims, np.matrix_transpose, np.swapaxes, np.moveaxis, np.rollaxis, np.squeeze}
_ALWAYS |= {np.expand_dims, np.flip, np.fliplr, np.flipud, np.rot90, np.asarray, np.asanyarray}
_ALWAYS |= {np.real, np.imag, np.array_split, np.split, np.hsplit, np.vsplit, np.dsplit, getattr(np, "unstack", None)}
_READ_ONLY = {np.diagonal, np.diag, getattr(np.linalg, "diagonal", None), np.broadcast_to}
_READ_ONLY |= {np.lib.stride_tricks.sliding_window_view}
_OF_EACH = {np.atleast_1d, np.atleast_2d, np.atleast_3d}
_DOUBTFUL = {np.reshape, np.ravel, np.ascontiguousarray}
VIEWS: dict[Any, str] = dict.fromkeys({*_ALWAYS, *_DOUBTFUL, *_OF_EACH, operator.getitem}, "view")
VIEWS |= dict.fromkeys(_READ_ONLY, "read-only")
# Results without axes that are arrays; all others are numbers, which do not change
_ARRAYS = _ALWAYS | _DOUBTFUL | {np.array, np.copy, np.where, np.zeros_like, np.ones_like, np.full_like, np.empty_like}
_ARRAYS |= {np.full, changed}


def called(function: Any, args: tuple, kwargs: dict) -> Any:
    """A call on traced arrays: the only one that the user's code makes."""
    if sys.getprofile() is watch:
        with unwatched():
            return _called(function, args, kwargs)
    return _called(function, args, kwargs)


def _called(function: Any, args: tuple, kwargs: dict) -> Any:
    writer = WRITERS.get(function)
    if writer is not None and args and isinstance(args[0], Traced):
        return writer(*args, **kwargs)
    out = kwargs.get("out")
    (target,) = out if isinstance(out, tuple) and len(out) == 1 else (out,)
    if isinstance(target, Traced):
        rest = {name: value for name, value in kwargs.items() if name != "out"}
        assign(target, lowered(function, args, rest), f"{name_of(function)} with out=")
        return target
    return _linked(function, args, kwargs, lowered(function, args, kwargs))


def _linked(function: Any, args: tuple, kwargs: dict, result: Any) -> Any:
    """The results as arrays of their own, or as views."""
    several = isinstance(result, (list, tuple))
    parts = [_own(part, function) for part in (result if several else (result,))]
    if function in _OF_EACH:
        for part, arg in zip(parts, args, strict=False):
            _link(part, arg, lambda x: _one_of(lowered(function, (x,), kwargs), 0))
    elif function is np.broadcast_arrays:
        for part, arg in zip(parts, args, strict=False):
            _link(part, arg, lambda x: lowered(np.broadcast_to, (x, parts[0].shape), {}), fixed=True)
    elif _gives_views(function, args, parts):
        for k, part in enumerate(parts):
            read = lambda x, k=k: _one_of(lowered(function, (x, *args[1:]), kwargs), k)  # noqa: E731
            doubtful = function in _DOUBTFUL and not _surely_view(function, args[0], part)
            _link(part, args[0], read, fixed=function in _READ_ONLY, doubtful=doubtful)
            if function is operator.getitem and part.source is not None:
                part.source.key = (args[0], args[1])
    if not several:
        return parts[0]
    return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)


def _gives_views(function: Any, args: tuple, parts: list[Any]) -> bool:
    """Whether the call may give views of its first argument."""
    if function is operator.getitem:
        return _basic(args[1], parts[0])
    if function is np.imag and getattr(args[0], "dtype", np.dtype(float)).kind != "c":
        return False
    return bool(args) and (function in _ALWAYS or function in _DOUBTFUL or function in _READ_ONLY)


def _own(part: Any, function: Any) -> Any:
    """A result that is another object than every operand."""
    if not isinstance(part, Traced):
        return part
    made = Traced(part.expr, part.dtype, part.frame, part.weak)
    made.array = function in _ARRAYS
    return made


def _one_of(result: Any, k: int) -> Traced:
    return result[k] if isinstance(result, (list, tuple)) else result


def _basic(key: Any, result: Any) -> bool:
    """Whether a key makes a view: no arrays in it, and an ellipsis if the result has no axes."""
    if type(key) is int or type(key) is slice:
        return bool(result.shape)
    parts = key if isinstance(key, tuple) else (key,)
    whole = all(part is None or part is Ellipsis or isinstance(part, (int, np.integer, slice)) for part in parts)
    truths = any(isinstance(part, (bool, np.bool_)) for part in parts)
    return whole and not truths and bool(result.shape or any(part is Ellipsis for part in parts))


def _surely_view(function: Any, x: Any, part: Any) -> bool:
    """Whether no copy is needed, whatever the order in memory: axes of size 1 come and go, or there is one axis."""
    if not isinstance(x, Traced) or not isinstance(part, Traced):
        return False
    if x.frame.packed:
        return True
    if function is not np.reshape:  # what is not in order without gaps is copied
        return x.ndim <= 1 and x.source is None
    before, after = ([n for n in shape if n != 1] for shape in (x.shape, part.shape))
    return x.ndim <= 1 or before == after


def _link(part: Any, x: Any, read: Callable[[Traced], Traced], *, fixed: bool = False, doubtful: bool = False) -> None:
    """``part`` is what ``read`` makes of ``x``."""
    if not isinstance(part, Traced) or not isinstance(x, Traced):
        return
    part.array = True
    inner = x.source
    if inner is None:
        part.source = View(x, read, fixed, doubtful)
    else:
        first = inner.read
        part.source = View(inner.owner, lambda y: read(first(y)), fixed or inner.fixed, doubtful or inner.doubtful)


# Changes


def assign(x: Traced, value: Any, what: str) -> None:
    """The entries of ``x`` are from now on those of ``value``, which is broadcast; ``what`` says who does that."""
    _check_changeable(x, what)
    new = lift(value)
    if not np.can_cast(new.dtype, x.dtype, "same_kind") and not new.weak:
        raise DTypeError(_said(what, f"gives {new.dtype}, which an array of {x.dtype} cannot hold; use x.astype(…)"))
    if np.broadcast_shapes(new.shape, x.shape) != x.shape:
        raise ShapeError(_said(what, f"gives an array of the shape {new.shape} for one of the shape {x.shape}"))
    expr = broadcast(cast(new, x.dtype), x.shape).expr
    view = x.source
    if view is None:
        x.hold(expr)
    elif view.doubtful:
        view.owner.doubt = _said(what, "changes an array that may be a view of this one, or a copy of it")
        view.owner.version += 1
        x.source = None
        x.hold(expr)
    else:
        view.owner.hold(_written(view, expr))


def _written(view: View, new: Expr) -> Expr:
    """The owner of a view with ``new`` where the view reads."""
    owner = view.owner
    entries = input_node("entries of the owner", owner.shape, complex=owner.dtype.kind == "c")
    chosen = view.read(Traced(entries, owner.dtype, owner.frame)).expr
    (put,) = pullbacks(chosen, new, [entries])
    if entries.complex and not chosen.complex:
        (where,) = pullbacks(chosen, one(chosen.shape), [entries])  # the number that the part is a multiple of, halved
        put, where = 2 * conj(put), 2 * conj(where)
        if where.complex:
            return e.where(imag(where), real(owner.expr) + put, owner.expr)
        return e.where(where, put + I * imag(owner.expr), owner.expr)
    if prod(chosen.shape) == prod(owner.shape):
        return put
    (where,) = pullbacks(chosen, one(chosen.shape), [entries])
    return e.where(where, put, owner.expr)


def _check_changeable(x: Traced, what: str) -> None:
    if not x.frame.active:
        raise leaked(x)
    if x.frame is not current():
        raise TraceError(
            _said(what, "changes an array of the function around the one that is traced; return the new one instead")
        )
    if not x.changeable:
        raise TraceError(_said(what, "changes a number, which NumPy has no place for; write x = …"))
    if x.source is not None and x.source.fixed:
        raise TraceError(_said(what, "changes a view that NumPy makes read-only; write x = x.copy() first"))


def _said(what: str, rest: str) -> str:
    place = user_place()
    return f"{what}{f' ({place})' if place else ''} {rest}."


def put_item(x: Traced, key: Any, value: Any) -> None:
    """``x[key] = value``."""
    if isinstance(value, Traced) and value.source is not None and value.source.key is not None:
        of, own = value.source.key
        if of is x and _same_key(own, key):
            return  # x[key] += v has done it already
    _check_changeable(x, "x[…] = value")
    new = lift(value)
    if not np.can_cast(new.dtype, x.dtype, "unsafe"):
        raise DTypeError(_said("x[…] = value", f"puts {new.dtype} into an array of {x.dtype}"))
    assign(x, lowered(changed, (x, key if isinstance(key, tuple) else (key,), new, "set"), {}), "x[…] = value")


def _same_key(a: Any, b: Any) -> bool:
    return type(a) is type(b) and bool(a == b)


# Functions of NumPy that change their first argument


def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    assign(dst, src if where is True else lowered(np.where, (where, src, dst), {}), "np.copyto")


def _fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    if wrap or a.ndim < 2 or (a.ndim > 2 and len(set(a.shape)) > 1):
        raise TraceError(
            _said("np.fill_diagonal", "is traced for matrices, and for arrays whose sizes are all the same")
        )
    places = np.arange(min(a.shape))
    assign(a, lowered(changed, (a, (places,) * a.ndim, val, "set"), {}), "np.fill_diagonal")


def _put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    if mode != "raise":
        raise TraceError(_said("np.put", "is traced for mode='raise'"))
    flat = lowered(changed, (lowered(np.ravel, (a,), {}), (np.asarray(ind),), v, "set"), {})
    assign(a, lowered(np.reshape, (flat, a.shape), {}), "np.put")


def _putmask(a: Any, mask: Any, values: Any) -> None:
    if lift(values).shape not in ((), (1,), a.shape):
        raise TraceError(_said("np.putmask", "is traced for one value, or an array of the same shape"))
    assign(a, lowered(np.where, (mask, values, a), {}), "np.putmask")


def _put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None = -1) -> None:
    if axis is None:
        raise TraceError(_said("np.put_along_axis", "is traced along one axis"))
    key = [np.arange(n).reshape([-1 if k == d else 1 for k in range(arr.ndim)]) for d, n in enumerate(arr.shape)]
    key[axis] = indices
    assign(arr, lowered(changed, (arr, tuple(key), values, "set"), {}), "np.put_along_axis")


def _at(sign: int) -> Callable:
    def at(a: Any, indices: Any, b: Any) -> None:
        key = indices if isinstance(indices, tuple) else (indices,)
        assign(a, lowered(changed, (a, key, b if sign > 0 else lowered(np.negative, (b,), {}), "add"), {}), "np.add.at")

    return at


def _sort(x: Traced, axis: int) -> None:
    assign(x, lowered(np.sort, (x, axis), {}), "x.sort()")


def _updated(function: np.ufunc, sign: str, x: Traced, other: Any) -> Any:
    """``x += other`` and its kin. Numbers do not change; the name then means another one."""
    result = lowered(function, (x, other), {})
    if not x.changeable or x.frame.immutable:
        return result
    assign(x, result, f"x {sign}= value")
    return x


SIGNS = dict(zip(IN_PLACE, ["+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^"], strict=True))
WRITERS: dict[Any, Callable] = {
    np.copyto: _copyto,
    np.fill_diagonal: _fill_diagonal,
    np.put: _put,
    np.putmask: _putmask,
    np.put_along_axis: _put_along_axis,
    (np.add, "at"): _at(1),
    (np.subtract, "at"): _at(-1),
    operator.setitem: put_item,
    np.ndarray.sort: _sort,
    **{function: partial(_updated, ufunc, SIGNS[function]) for function, ufunc in IN_PLACE.items()},
}
register("traced", takes=called)
