"""Loops by name, as in ``jax.lax``: ``scan`` and what is made of it.

The step is recorded once, on traced arrays of the shapes of what is carried and of one slice; the rest is
``ricci.loops``. Called with arrays, a loop is a program, traced and kept as those of other transforms are; with eager
tensors it is one operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ricci.caches import OfFunctions
from ricci.checked_calls import check, shown, takes
from ricci.dispatch import recorded
from ricci.errors import DTypeError, InputError, ShapeError
from ricci.expr import Expr, constant
from ricci.expr.moving import flipped
from ricci.functions.elementwise import less_equal, where
from ricci.loops.bodies import replaced
from ricci.loops.leaves import Carried, choices, run_through
from ricci.tracing import frames, trees
from ricci.tracing.array import Traced
from ricci.tracing.basics import lift
from ricci.tracing.likeness import like_tensor
from ricci.tracing.meanings import of_torch, plain
from ricci.tracing.recording import Arguments, Recording, Static, is_array, record
from ricci.tracing.shapes import Shaped
from ricci.tracing.trees import Form
from ricci.transforms.ends import ending
from ricci.transforms.formula_functions import as_function
from ricci.transforms.linear import identity
from ricci.transforms.on_tensors import on_tensors
from ricci.transforms.transformed import Transformed
from ricci.transforms.unfinished import BOUNDS, StepBounds, Unfinished

_programs = OfFunctions("loops", 16)


@takes("rc.scan", f="function", length="count or None", reverse="flag", checkpoint="count or flag or None")
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    checkpoint: bool | int | None = None,
) -> tuple[Any, Any]:
    """A loop: ``carry, y = f(carry, x)`` for the slices ``x`` of ``xs`` along their first axes; as ``jax.lax.scan``.

    The result is what is carried in the end, and all ``y``, along a new first axis. What is carried, ``x`` and ``y``
    may be arrays, numbers, and lists, tuples, dictionaries and dataclasses of them. What is carried keeps its form,
    its shapes and types. Without ``xs``, ``length`` says how many steps there are. With ``reverse`` the loop goes from
    the last slice to the first, and every ``y`` stands where its ``x`` does. ``unroll`` is there for those who come
    from JAX; it changes nothing.

    A derivative needs the states of all steps, which are kept. With ``checkpoint`` only the first of every segment is,
    and the others are computed again: a number says how many steps a segment has, True is the root of all steps.

    >>> import numpy as np, ricci as rc
    >>> rc.scan(lambda total, x: (total + x, total), 0.0, np.array([1.0, 2.0, 3.0]))
    (np.float64(6.0), array([0., 1., 3.]))
    """
    if not checkpoint:
        return _called(_scanned, f, (init, xs), (length, reverse))
    return _called(_segmented, f, (init, xs), (length, reverse, int(checkpoint)))


@takes("rc.fori_loop", lower="whole number", upper="whole number", body="function")
def fori_loop(lower: int, upper: int, body: Callable[[Any, Any], Any], init: Any) -> Any:
    """``value = body(i, value)`` for ``i`` from ``lower`` up to, not including, ``upper``; as ``jax.lax.fori_loop``.

    >>> import numpy as np, ricci as rc
    >>> rc.fori_loop(0, 5, lambda i, x: x * 2.0 + i, 1.0)
    np.float64(58.0)
    """
    return _called(_counted, body, (init,), (lower, upper))


def cond(pred: Any, true_fun: Callable, false_fun: Callable, *operands: Any) -> Any:
    """``true_fun(*operands)`` if ``pred`` holds, ``false_fun(*operands)`` if not; as ``jax.lax.cond``.

    Only one of them is computed, also in derivatives. Both return trees of one form, with the same shapes.

    >>> import numpy as np, ricci as rc
    >>> f = lambda x: rc.cond(x > 0, np.sqrt, lambda x: 0.0 * x, x)
    >>> rc.grad(f)(4.0), rc.grad(f)(-4.0)
    (np.float64(0.25), np.float64(0.0))
    """
    return _chosen("cond", pred, (false_fun, true_fun), operands)


def switch(index: Any, branches: Sequence[Callable], *operands: Any) -> Any:
    """``branches[index](*operands)``, of which only that is computed; as ``jax.lax.switch``.

    An index below 0 is the first one, one beyond the last the last.

    >>> import numpy as np, ricci as rc
    >>> [rc.switch(k, [np.sin, np.cos, np.exp], 0.0) for k in range(3)]
    [np.float64(0.0), np.float64(1.0), np.float64(1.0)]
    """
    if not isinstance(branches, (list, tuple)) or not branches:
        raise InputError(f"rc.switch takes a list of functions, of which the index tells one, not {shown(branches)}.")
    return _chosen("switch", index, tuple(branches), operands)


def _chosen(what: str, number: Any, branches: Sequence[Callable], operands: tuple) -> Any:
    for f in branches:
        check(f"rc.{what}", "a branch", f, "function")
    if getattr(number, "shape", ()) != ():
        raise ShapeError(
            f"rc.{what}: one number tells the branch, and {shown(number)} has the shape {number.shape}. Entry by entry "
            "it is rc.where(condition, a, b), or rc.vmap of a function with the branch in it."
        )
    here = frames.current()
    if here is None or not isinstance(plain(number), Traced):
        if not isinstance(number, (bool, int)) and getattr(getattr(number, "dtype", None), "kind", "O" if isinstance(number, float) else "b") not in "biu":
            raise _no_place(what, number)
        try:
            place = int(number)
        except (TypeError, ValueError):
            raise _no_place(what, number) from None
        return branches[min(max(place, 0), len(branches) - 1)](*operands)
    return _branched(what, lift(number), branches, operands, here)


def _no_place(what: str, given: Any) -> DTypeError:
    return DTypeError(f"rc.{what}: a truth value or a whole number tells the branch, not {shown(given)}.")


def _branched(what: str, number: Traced, branches: Sequence[Callable], operands: tuple, here: Any) -> Any:
    """The choice inside a function that is traced."""
    if number.dtype.kind not in "biu":
        raise _no_place(what, number.dtype)
    before = set(here.root.lines)
    arguments = Arguments.of(operands, {})
    values = [lift(leaf).expr for leaf in arguments.traced]
    found = [record(f, arguments) for f in branches]
    names = " and ".join([one.name for one in found])
    if len({one.out_form for one in found}) > 1:
        raise InputError(f"rc.{what}: the branches {names} return trees of different forms.")
    results = []
    for one in found:
        exprs = [out if isinstance(out, Expr) else lift(out.value).expr for out in one.outputs]
        results.append(replaced(exprs, dict(zip(one.inputs, values, strict=True))))
    leaves: list[Any] = []
    for k, parts in enumerate(zip(*results, strict=True)):
        if len({e.shape for e in parts}) > 1:
            listed = " and ".join([str(e.shape) for e in parts])
            raise ShapeError(f"rc.{what}: the branches {names} return different shapes: {listed}.")
        dtypes = [one.out_dtypes[k] for one in found if one.out_dtypes[k].kind != "O"]
        dtype = np.result_type(*dtypes) if dtypes else np.dtype(np.float64)
        leaves.append(Traced(parts[0], dtype, here))
    held = {*before, *values}
    floats = [k for k, leaf in enumerate(leaves) if leaf.dtype.kind == "f"]
    chosen = choices(number.expr, [[row[k] for k in floats] for row in results], held.__contains__)
    for k, e in zip(floats, chosen, strict=True):
        leaves[k] = Traced(e, leaves[k].dtype, here)
    for k in set(range(len(leaves))).difference(floats):  # whole numbers and truth values have no derivative
        e = results[-1][k]
        for place in reversed(range(len(results) - 1)):
            e = where(less_equal(number.expr, constant(place)), results[place][k], e)
        leaves[k] = Traced(e, leaves[k].dtype, here)
    for leaf in leaves:
        here.note(leaf.expr)
    return like_tensor(of_torch(arguments.leaves), trees.unflatten(found[0].out_form, leaves))


@takes("rc.while_loop", cond_fun="function", body_fun="function", max_steps="count or None")
def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any, max_steps: int | None = None
) -> Any:
    """``value = body_fun(value)`` as long as ``cond_fun(value)`` holds; as ``jax.lax.while_loop``.

    It has derivatives in both directions: the states of all steps are kept. How many there may be need not be said but
    for programs of JAX; ``max_steps`` is an error if more are needed.

    >>> import numpy as np, ricci as rc
    >>> halve = lambda x: rc.while_loop(lambda x: x > 1.0, lambda x: x / 2, x)
    >>> halve(10.0), rc.grad(halve)(10.0)
    (0.625, np.float64(0.0625))
    """
    here = frames.current()
    if here is None:
        return _while_it_holds(cond_fun, body_fun, init_val, max_steps)
    return _bounded(cond_fun, body_fun, init_val, max_steps, here)


def _while_it_holds(cond_fun: Callable, body_fun: Callable, value: Any, max_steps: int | None) -> Any:
    steps = 0
    while _truth(cond_fun(value), cond_fun):
        if steps == max_steps:
            raise Unfinished(_name(cond_fun), 0, steps, True)
        value, steps = body_fun(value), steps + 1
    return value


def _truth(found: Any, f: Callable) -> Any:
    if getattr(found, "shape", ()) != ():
        raise ShapeError(f"rc.while_loop: {_name(f)} returns one truth value, not an array of shape {found.shape}.")
    return found


def _bounded(cond_fun: Callable, body_fun: Callable, init: Any, max_steps: int | None, here: Any) -> Any:
    """The loop inside a function that is traced: a scan in which the state stays what it is once the end is reached."""
    bounds = BOUNDS.get() or StepBounds()
    number, bound = bounds.next()
    bound = bound if max_steps is None else max_steps

    def step(value: Any, _: Any) -> tuple[Any, None]:
        goes_on = lift(_truth(cond_fun(value), cond_fun))
        old, form = trees.flatten(value)
        new, again = trees.flatten(body_fun(value))
        if form != again:
            raise InputError(f"rc.while_loop: {_name(body_fun)} returns a tree of another form than it is given.")
        return trees.unflatten(form, [np.where(goes_on, b, a) for a, b in zip(old, new, strict=True)]), None

    final, _ = _scanned(step, (bound, False), init, None)
    ended = lift(_truth(cond_fun(final), cond_fun))
    leaves, form = trees.flatten(final)
    checked = [ending(lift(leaf), ended, _name(cond_fun), number, bound, max_steps is not None) for leaf in leaves]
    return trees.unflatten(form, [Traced(e, lift(x).dtype, here) for e, x in zip(checked, leaves, strict=True)])


@takes("rc.associative_scan", fn="function", reverse="flag", axis="whole number")
def associative_scan(fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """All partial results of an associative operation along an axis, in a logarithmic number of calls; as in JAX.

    ``fn`` takes two arrays, or trees of arrays, with many entries along that axis, and works on each of them.

    >>> import numpy as np, ricci as rc
    >>> rc.associative_scan(np.multiply, np.array([1.0, 2.0, 3.0, 4.0]))
    array([ 1.,  2.,  6., 24.])
    """
    return _called(_associated, fn, (elems,), (reverse, axis))


def _associated(fn: Callable, options: tuple, elems: Any) -> Any:
    reverse, axis = options
    leaves, form = trees.flatten(elems)
    arrays = [lift(leaf) for leaf in leaves]
    if not arrays or any(not -x.ndim <= axis < x.ndim for x in arrays):
        raise ShapeError(f"rc.associative_scan: elems are arrays that have axis {axis}.")
    if len({x.shape[axis] for x in arrays}) > 1:
        listed = ", ".join([str(x.shape) for x in arrays])
        raise ShapeError(f"rc.associative_scan: all arrays have one size along axis {axis}; the shapes are {listed}.")
    arrays = [np.moveaxis(x, axis, 0) for x in arrays]
    arrays = [x[::-1] for x in arrays] if reverse else arrays

    def joined(a: list[Any], b: list[Any]) -> list[Any]:
        sides = [trees.unflatten(form, [np.moveaxis(x, 0, axis) for x in side]) for side in (a, b)]
        found, again = trees.flatten(fn(*sides))
        if again != form:
            raise InputError(f"rc.associative_scan: {_name(fn)} returns a tree of another form than it is given.")
        return [np.moveaxis(x, axis, 0) for x in found]

    found = _partial_results(joined, arrays)
    found = [x[::-1] for x in found] if reverse else found
    return trees.unflatten(form, [np.moveaxis(x, 0, axis) for x in found])


def _partial_results(joined: Callable[[list, list], list], parts: list[Any]) -> list[Any]:
    """Neighbours are joined, the results of half as many are found, and the others between them."""
    size = parts[0].shape[0]
    if size < 2:
        return parts
    odd = _partial_results(joined, joined([x[0 : size - 1 : 2] for x in parts], [x[1::2] for x in parts]))
    first = [x[:1] for x in parts]
    if size == 2:
        return [np.concatenate([a, b]) for a, b in zip(first, odd, strict=True)]
    before = [x[:-1] for x in odd] if size % 2 == 0 else odd
    even = [np.concatenate([a, b]) for a, b in zip(first, joined(before, [x[2::2] for x in parts]), strict=True)]
    return [_alternating(a, b) for a, b in zip(even, odd, strict=True)]


def _alternating(even: Any, odd: Any) -> Any:
    """The entries of both along the first axis, one after the other by turns."""
    pairs = odd.shape[0]
    both = np.stack([even[:pairs], odd], 1).reshape((2 * pairs, *odd.shape[1:]))
    return np.concatenate([both, even[pairs:]]) if even.shape[0] > pairs else both


def _called(inside: Callable[..., Any], f: Callable, operands: tuple, options: tuple) -> Any:
    """A loop on arrays, tensors or traced arrays."""
    f = as_function(f, "scan")
    if frames.current() is not None:
        return inside(f, options, *operands)
    if recorded(trees.flatten(operands)[0]):
        return on_tensors(partial(inside, f, options), "scan", operands, {})
    program = _programs.made(f, (inside, options), lambda: Transformed(partial(inside, f, options), identity, "scan"))
    return program(*operands)


def _counted(f: Callable, bounds: tuple[int, int], init: Any) -> Any:
    lower, upper = bounds
    steps = np.arange(lower, upper)

    def step(value: Any, i: Any) -> tuple[Any, None]:
        counter = Traced(i.expr, i.dtype, i.frame, weak=True)  # which widens no type, as a number of Python's
        return f(counter, value), None

    return _scanned(step, (len(steps), False), init, steps)[0]


def _segmented(f: Callable, options: tuple, init: Any, xs: Any) -> Any:
    """The loop in segments: a loop of loops, and what is left of it."""
    length, reverse, steps = options
    given, form = trees.flatten(xs)
    sequences = [lift(leaf) if is_array(leaf) else leaf for leaf in given]
    size = _length(sequences, length)
    steps = min(size, math.isqrt(size) if steps == 1 else steps)
    if steps < 2:
        return _scanned(f, (length, reverse), init, xs)
    count = size // steps
    sequences = [x[::-1] if reverse and isinstance(x, Traced) else x for x in sequences]

    def part(cut: Callable[[Any], Any]) -> Any:
        return trees.unflatten(form, [cut(x) if isinstance(x, Traced) else x for x in sequences])

    def segment(carry: Any, own: Any) -> Any:
        return _scanned(f, (steps, False), carry, own)

    cut = part(lambda x: x[: count * steps].reshape((count, steps, *x.shape[1:])))
    carry, ys = _scanned(segment, (count, False), init, cut, whole=True)
    ys = trees.tree_map(lambda y: y.reshape((count * steps, *y.shape[2:])), ys)
    if size > count * steps:
        carry, more = _scanned(f, (size - count * steps, False), carry, part(lambda x: x[count * steps :]))
        ys = trees.tree_map(lambda a, b: np.concatenate([a, b]), ys, more)
    return carry, trees.tree_map(lambda y: y[::-1], ys) if reverse else ys


def _scanned(f: Callable, options: tuple, init: Any, xs: Any, whole: bool = False) -> Any:
    """The loop inside a function that is traced."""
    length, reverse = options
    here = frames.current()
    assert here is not None
    carry, form = trees.flatten(init)
    values = [_carried(leaf, "init") for leaf in carry]
    given, x_form = trees.flatten(xs)
    sequences = [lift(leaf) if is_array(leaf) else leaf for leaf in given]
    size = _length(sequences, length)
    recording, values = _recorded(f, values, form, sequences, x_form)
    count = trees.count(form)
    inputs = iter(recording.inputs[count:])
    slices = {}
    for one in sequences:
        if isinstance(one, Traced):
            slices[next(inputs)] = flipped(one.expr, 0) if reverse else one.expr
    outputs, dtypes = recording.outputs, recording.out_dtypes
    new = [_placed(out, v) for out, v in zip(outputs[:count], values, strict=True)]
    leaves = [Carried(v, x.expr, e) for v, x, e in zip(recording.inputs, values, new, strict=False)]
    stacked = [out for out in outputs[count:] if isinstance(out, Expr)]
    lasts, ys = run_through(leaves, slices, size, stacked, whole)
    found: list[Any] = [Traced(e, x.dtype, here) for e, x in zip(lasts, values, strict=True)]
    waiting = iter([flipped(e, 0) if reverse else e for e in ys])
    for out, dtype in zip(outputs[count:], dtypes[count:], strict=True):
        found.append(Traced(next(waiting), dtype, here) if isinstance(out, Expr) else _repeated(out, size))
    for one in found:
        if isinstance(one, Traced):
            here.note(one.expr)
    return like_tensor(of_torch([*carry, *given]), trees.unflatten(recording.out_form, found))


def _carried(leaf: Any, what: str) -> Traced:
    """A leaf of what is carried, which is an array also where it is a whole number of Python's."""
    if isinstance(leaf, (bool, int)) or is_array(leaf):
        return lift(leaf)
    raise InputError(
        f"rc.scan: what is carried holds numbers and arrays; {what} has a {type(leaf).__name__}. Let f reach it "
        "otherwise: as a variable of the function around it."
    )


def _length(sequences: Sequence[Any], length: int | None) -> int:
    """How many steps there are."""
    arrays = [x for x in sequences if isinstance(x, Traced)]
    for x in arrays:
        if not x.shape:
            raise ShapeError("rc.scan: xs are sliced along their first axes, and one of them is a number; it has none.")
    sizes = {x.shape[0] for x in arrays} | (set() if length is None else {length})
    if not sizes:
        raise InputError("rc.scan: without xs nothing says how many steps there are; add length=….")
    if len(sizes) > 1:
        listed = ", ".join([str(x.shape) for x in arrays])
        more = "" if length is None else f", and length={length}"
        raise ShapeError(
            f"rc.scan: the first axes of all xs have one size, the number of steps; the shapes are {listed}{more}."
        )
    return sizes.pop()


def _recorded(
    f: Callable, values: list[Traced], form: Form, sequences: Sequence[Any], x_form: Form
) -> tuple[Recording, list[Traced]]:
    """One step, and what is carried: in the types that a step makes of it, where it began as numbers of Python's."""
    slices = [Shaped(x.shape[1:], x.dtype, x) if isinstance(x, Traced) else x for x in sequences]
    for _ in range(3):
        carry = trees.unflatten(form, [Shaped(x.shape, x.dtype, x) for x in values])
        recording = record(f, Arguments.of((carry, trees.unflatten(x_form, slices)), {}))
        kind, _, parts = recording.out_form if recording.out_form != trees.LEAF else ("", None, ())
        if kind not in ("tuple", "list") or len(parts) != 2:
            raise InputError(f"rc.scan: {_name(f)} returns a pair, what is carried and the output; see jax.lax.scan.")
        if parts[0] != form:
            raise InputError(
                f"rc.scan: what {_name(f)} returns to be carried has another form than what it was given: "
                f"{_form_text(parts[0])} and {_form_text(form)}."
            )
        wider = [_settled(f, x, out, dtype) for x, out, dtype in zip(values, recording.outputs, recording.out_dtypes)]
        if all(a is b for a, b in zip(wider, values, strict=True)):
            return recording, values
        values = wider
    raise DTypeError(f"rc.scan: the types of what {_name(f)} carries change with every step.")


def _settled(f: Callable, x: Traced, out: Any, dtype: np.dtype) -> Traced:
    """What is carried in the shape and type that the step gives it, if it began as a number of Python's."""
    if not isinstance(out, Expr):
        out = lift(out.value).expr
    if out.shape != x.shape:
        raise ShapeError(
            f"rc.scan: what is carried keeps its shape; {_name(f)} was given {x.shape} and returned {out.shape}. "
            f"Begin with an array of that shape, as np.zeros({out.shape})."
        )
    if dtype == x.dtype or (x.weak and np.can_cast(dtype, x.dtype)) or dtype.kind == "O":
        return x
    if x.weak or np.result_type(dtype, x.dtype) == x.dtype:
        return Traced(x.expr, np.result_type(dtype, x.dtype), x.frame) if x.weak else x
    raise DTypeError(
        f"rc.scan: what is carried keeps its type; {_name(f)} was given {x.dtype} and returned {dtype}. "
        f"Begin with that type, as x.astype({str(dtype)!r})."
    )


def _placed(out: Any, x: Traced) -> Expr:
    return out if isinstance(out, Expr) else lift(out.value).expr


def _repeated(out: Static, size: int) -> Any:
    """An output that is no array: None stays, numbers are there for each step."""
    return out.value if out.value is None else np.full(size, out.value)


def _name(f: Any) -> str:
    return getattr(f, "__name__", None) or type(f).__name__


def _form_text(form: Form) -> str:
    if form == trees.LEAF:
        return "an array"
    return f"a {form[0]} of {len(form[2])}"
