"""Loops by name, as in ``jax.lax``: ``scan`` and what is made of it.

The step is recorded once, on traced arrays of the shapes of what is carried and of one slice; the rest is
``ricci.loops``. Called with arrays, a loop is a program, traced and kept as those of other transforms are; with eager
tensors it is one operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ricci.caches import OfFunctions
from ricci.checked_calls import call_back, takes
from ricci.dispatch import recorded
from ricci.errors import DTypeError, InputError, ShapeError
from ricci.expr import Expr, Structure, topological
from ricci.expr.moving import flipped
from ricci.functions.elementwise import round_
from ricci.loops.bodies import replaced
from ricci.loops.leaves import Carried, run_through
from ricci.tracing import frames, trees
from ricci.tracing.array import Traced
from ricci.tracing.basics import lift
from ricci.tracing.likeness import like_tensor
from ricci.tracing.meanings import of_torch
from ricci.tracing.recording import Arguments, Recording, Static, is_array, record
from ricci.tracing.shapes import Shaped
from ricci.tracing.trees import Form
from ricci.transforms.formula_functions import as_function
from ricci.transforms.linear import identity
from ricci.transforms.on_tensors import on_tensors
from ricci.transforms.transformed import Transformed

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
        return called(_sliced, "scan", f, (init, xs), (length, reverse))
    return called(_segmented, "scan", f, (init, xs), (length, reverse, int(checkpoint)))


@takes("rc.fori_loop", lower="whole number", upper="whole number", body="function")
def fori_loop(lower: int, upper: int, body: Callable[[Any, Any], Any], init: Any) -> Any:
    """``value = body(i, value)`` for ``i`` from ``lower`` up to, not including, ``upper``; as ``jax.lax.fori_loop``.

    >>> import numpy as np, ricci as rc
    >>> rc.fori_loop(0, 5, lambda i, x: x * 2.0 + i, 1.0)
    np.float64(58.0)
    """
    return called(_counted, "fori_loop", body, (init,), (lower, upper))


def called(inside: Callable[..., Any], what: str, f: Callable, operands: tuple, options: tuple) -> Any:
    """``inside(f, options, *operands)``, which takes traced arrays, on arrays, tensors or those."""
    f = as_function(f, what)
    if frames.current() is not None:
        return inside(f, options, *operands)
    if recorded(trees.flatten(operands)[0]):
        return on_tensors(partial(inside, f, options), what, operands, {})
    program = _programs.made(f, (inside, options), lambda: Transformed(partial(inside, f, options), identity, what))
    return program(*operands)


def name_of(f: Any) -> str:
    """What a function is called in messages."""
    return getattr(f, "__name__", None) or type(f).__name__


def _sliced(f: Callable, options: tuple, init: Any, xs: Any) -> Any:
    length, reverse = options
    return LoopStep("rc.scan", name_of(f), f).scanned(init, xs, length, reverse)


def _counted(f: Callable, bounds: tuple[int, int], init: Any) -> Any:
    steps = np.arange(*bounds)

    def step(value: Any, i: Any) -> tuple[Any, None]:
        counter = Traced(i.expr, i.dtype, i.frame, weak=True)  # which widens no type, as a number of Python's
        return call_back("rc.fori_loop", f, counter, value), None

    return LoopStep("rc.fori_loop", name_of(f), step).scanned(init, steps, len(steps))[0]


def _segmented(f: Callable, options: tuple, init: Any, xs: Any) -> Any:
    """The loop in segments: a loop of loops, and what is left of it."""
    length, reverse, steps = options
    one = LoopStep("rc.scan", name_of(f), f)
    given, form = trees.flatten(xs)
    sequences = [lift(leaf) if is_array(leaf) else leaf for leaf in given]
    size = one.length(sequences, length)
    steps = min(size, math.isqrt(size) if steps == 1 else steps)
    if steps < 2:
        return one.scanned(init, xs, length, reverse)
    count = size // steps
    sequences = [x[::-1] if reverse and isinstance(x, Traced) else x for x in sequences]

    def part(cut: Callable[[Any], Any]) -> Any:
        return trees.unflatten(form, [cut(x) if isinstance(x, Traced) else x for x in sequences])

    segment = LoopStep("rc.scan", one.name, lambda carry, own: one.scanned(carry, own, steps))
    segments = part(lambda x: x[: count * steps].reshape((count, steps, *x.shape[1:])))
    carry, ys = segment.scanned(init, segments, count, whole=True)
    ys = trees.tree_map(lambda y: y.reshape((count * steps, *y.shape[2:])), ys)
    if size > count * steps:
        carry, more = one.scanned(carry, part(lambda x: x[count * steps :]), size - count * steps)
        ys = trees.tree_map(lambda a, b: np.concatenate([a, b]), ys, more)
    return carry, trees.tree_map(lambda y: y[::-1], ys) if reverse else ys


@dataclass
class LoopStep:
    """One step, ``carry, y = call(carry, x)``: ``name`` is that of the user's function, ``what`` it was given to."""

    what: str
    name: str
    call: Callable[[Any, Any], tuple[Any, Any]]

    def scanned(
        self, init: Any, xs: Any, length: int | None = None, reverse: bool = False, whole: bool = False
    ) -> tuple[Any, Any]:
        """The loop inside a function that is traced. What is ``whole`` keeps nothing but what is carried."""
        here = frames.current()
        assert here is not None
        carry, form = trees.flatten(init)
        given, x_form = trees.flatten(xs)
        sequences = [lift(leaf) if is_array(leaf) else leaf for leaf in given]
        size = self.length(sequences, length)
        recording, values = self.recorded([self.carried(leaf) for leaf in carry], form, sequences, x_form)
        count = len(values)
        arrays = [x.expr for x in sequences if isinstance(x, Traced)]
        slices = dict(zip(recording.inputs[count:], [flipped(e, 0) if reverse else e for e in arrays], strict=True))
        recording = _with_whole_places(recording, values)
        new = [_expr(out) for out in recording.outputs[:count]]
        leaves = [Carried(v, x.expr, e) for v, x, e in zip(recording.inputs, values, new, strict=False)]
        outputs, dtypes = recording.outputs[count:], recording.out_dtypes[count:]
        lasts, ys = run_through(leaves, slices, size, [out for out in outputs if isinstance(out, Expr)], whole)
        found: list[Any] = [Traced(e, x.dtype, here) for e, x in zip(lasts, values, strict=True)]
        waiting = iter([flipped(e, 0) if reverse else e for e in ys])
        for out, dtype in zip(outputs, dtypes, strict=True):
            found.append(Traced(next(waiting), dtype, here) if isinstance(out, Expr) else _repeated(out, size))
        for one in found:
            if isinstance(one, Traced):
                here.note(one.expr)
        return like_tensor(of_torch([*carry, *given]), trees.unflatten(recording.out_form, found))

    def carried(self, leaf: Any) -> Traced:
        """A leaf of what is carried, which is an array also where it is a whole number of Python's."""
        if isinstance(leaf, (bool, int)) or is_array(leaf):
            return lift(leaf)
        raise InputError(
            f"{self.what}: what is carried holds numbers and arrays, and begins with a {type(leaf).__name__} in it. "
            f"Let {self.name} reach that otherwise: as a variable of the function around it."
        )

    def length(self, sequences: Sequence[Any], length: int | None) -> int:
        """How many steps there are."""
        arrays = [x for x in sequences if isinstance(x, Traced)]
        if any(not x.shape for x in arrays):
            raise ShapeError(f"{self.what}: xs are sliced along their first axes; one of them is a number.")
        sizes = {x.shape[0] for x in arrays} | (set() if length is None else {length})
        if not sizes:
            raise InputError(f"{self.what}: without xs nothing says how many steps there are; add length=….")
        if len(sizes) > 1:
            listed = ", ".join([str(x.shape) for x in arrays])
            more = "" if length is None else f", and length={length}"
            raise ShapeError(
                f"{self.what}: the first axes of all xs have one size, the number of steps; the shapes are "
                f"{listed}{more}."
            )
        return sizes.pop()

    def recorded(
        self, values: list[Traced], form: Form, sequences: Sequence[Any], x_form: Form
    ) -> tuple[Recording, list[Traced]]:
        """One step, and what is carried: in the types that a step makes of it, where it began as Python's numbers."""
        slices = [Shaped(x.shape[1:], x.dtype, x) if isinstance(x, Traced) else x for x in sequences]
        for _ in range(3):
            carry = trees.unflatten(form, [Shaped(x.shape, x.dtype, x) for x in values])
            arguments = Arguments.of((carry, trees.unflatten(x_form, slices)), {})
            recording = record(self.call, arguments, name=self.name)
            self.check_pair(recording.out_form, form)
            wider = [
                self.settled(x, out, dtype)
                for x, out, dtype in zip(values, recording.outputs, recording.out_dtypes, strict=False)
            ]
            if all(a is b for a, b in zip(wider, values, strict=True)):
                return recording, values
            values = wider
        raise DTypeError(f"{self.what}: the types of what {self.name} carries change with every step.")

    def check_pair(self, found: Form, form: Form) -> None:
        """Whether a step returns what is carried, in its form, and an output."""
        kind, _, parts = found if found != trees.LEAF else ("", None, ())
        if kind not in ("tuple", "list") or len(parts) != 2:
            raise InputError(f"{self.what}: {self.name} returns a pair, what is carried and the output of the step.")
        if parts[0] != form:
            raise InputError(
                f"{self.what}: what {self.name} returns to be carried has another form than what it was given: "
                f"{_form_text(parts[0])} in place of {_form_text(form)}."
            )

    def settled(self, x: Traced, out: Any, dtype: np.dtype) -> Traced:
        """What is carried, in the type that the step gives it if it began as a number of Python's."""
        shape = _expr(out).shape
        if shape != x.shape:
            raise ShapeError(
                f"{self.what}: what is carried keeps its shape; {self.name} was given {x.shape} and returned {shape}. "
                f"Begin with an array of that shape, as np.zeros({shape})."
            )
        if dtype.kind == "O" or np.result_type(dtype, x.dtype) == x.dtype:
            return x
        if x.weak:
            return Traced(x.expr, np.result_type(dtype, x.dtype), x.frame)
        raise DTypeError(
            f"{self.what}: what is carried keeps its type; {self.name} was given {x.dtype} and returned {dtype}. "
            f"Begin with that type, as x.astype({str(dtype)!r})."
        )


def _with_whole_places(recording: Recording, values: Sequence[Traced]) -> Recording:
    """A step in which whole numbers that are carried, and tell places, are known to be whole: a loop carries floats."""
    exprs = [out for out in recording.outputs if isinstance(out, Expr)]
    places = [a for node in topological(*exprs) if isinstance(node, Structure) for a in node.args]
    inside = set(topological(*places))
    carried = zip(recording.inputs, values, strict=False)
    rounded = {v: round_(v) for v, x in carried if v in inside and x.dtype.kind not in "cf"}
    if not rounded:
        return recording
    made = iter(replaced(exprs, rounded))
    outputs = [next(made) if isinstance(out, Expr) else out for out in recording.outputs]
    return replace(recording, outputs=outputs)


def _expr(out: Any) -> Expr:
    """A result as an expression, also where it is a number of Python's."""
    return out if isinstance(out, Expr) else lift(out.value).expr


def _repeated(out: Static, size: int) -> Any:
    """An output that is no array: None stays, numbers are there for each step."""
    return out.value if out.value is None else np.full(size, out.value)


def _form_text(form: Form) -> str:
    return "an array" if form == trees.LEAF else f"a {form[0]} of {len(form[2])}"
