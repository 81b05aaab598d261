"""NumPy source: views instead of copies, ufuncs that write into buffers nobody needs any more, BLAS for every dot.

A value *owns* its memory if its step made it; reads, reshapes and broadcasts are views of what others own. A map may
write into an operand that owns its memory, has the shape of the result, and is read by nobody later, neither itself nor
through a view.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ricci.compile.backends.numpy import ELEMENTWISE, FUNCTIONS
from ricci.compile.emit import INDENT, Emitter, matrix_axes, tuple_text
from ricci.compile.program import Form, Labels, Operand, Program, Result, Step, Value
from ricci.errors import AxisError, DTypeError

Array = np.ndarray
VIEWS = ("read", "spread", "merge", "check")
EINSUM_MOST = 48  # multiplications in one small matrix product, up to which einsum's own loop beats calling BLAS

UFUNCS: dict[str, np.ufunc] = {
    **{name: f for name, f in ELEMENTWISE.items() if isinstance(f, np.ufunc)},
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "negative": np.negative,
    "square": np.square,
    "sqrt": np.sqrt,
    "reciprocal": np.reciprocal,
}
# Functions that are a few ufuncs in place; "o" is the result, "x" the operand.
CHAINS: dict[str, list[tuple[str, ...]]] = {
    "sigmoid": [("negative", "x"), ("exp", "o"), ("add", "o", "1"), ("reciprocal", "o")],
    "relu": [("maximum", "x", "0")],
}


# Helpers that the source calls


def view_of(
    array: Array, shape: tuple[int, ...], strides: tuple[tuple[int, ...], ...], places: tuple[int, ...]
) -> Array:
    """A view: the stride along each new axis is a combination of the array's own; ``places`` is where it starts."""
    steps = tuple([sum([c * s for c, s in zip(row, array.strides, strict=True)]) for row in strides])
    start = array[tuple([slice(p, None) for p in places])] if any(places) else array
    return np.lib.stride_tricks.as_strided(start, shape, steps, writeable=False)


def place_view(array: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Array:
    """A view of a contiguous array; strides and offset are in entries."""
    size = array.itemsize
    return np.ndarray(shape, array.dtype, array, offset * size, tuple([s * size for s in strides]))


def checked_places(index: Array, size: int) -> Array:
    """Integers that are places along an axis."""
    index = np.asarray(index)
    if index.dtype.kind not in "biu":
        raise DTypeError(f"A tensor is read at places given by integers, not by an array of the type {index.dtype}.")
    if index.size and (index.min() < 0 or index.max() >= size):
        wrong = index[(index < 0) | (index >= size)].flat[0]
        raise AxisError(f"A tensor is read at the place {wrong} of an axis of size {size}.")
    return index.astype(np.int64, copy=False)


HELPERS = {
    "view_of": view_of,
    "place_view": place_view,
    "checked_places": checked_places,
    "zeros": np.zeros,
    "einsum": np.einsum,
    "matmul": np.matmul,
    "contiguous": np.ascontiguousarray,
    "vecdot": np.vecdot,
    "array": np.array,
    "total": np.add.reduce,
    "broadcast_to": np.broadcast_to,
    "add_at": np.add.at,
    "arange": np.arange,
    "errstate": np.errstate,
    "where": ELEMENTWISE["where"],
}


class NumpyEmitter(Emitter):
    """Source for NumPy, for one floating type."""

    def __init__(self, program: Program, single: bool, dtype: str):
        self.dtype = np.dtype(dtype)
        self.dtypes = {"f": self.dtype, "i": np.dtype(np.int64), "b": np.dtype(np.bool_)}
        super().__init__(program, single)
        self.last = program.last_use()
        self.base: dict[Value, Value] = {}
        for step in program.steps:
            if step.op in VIEWS or step.name == "stop_gradient":
                source = step.operands[0]
                self.base[step.out] = root = self.base.get(source, source)
                self.last[root] = max(self.last.get(root, 0), self.last.get(step.out, 0))
        self.quiet = False

    def array(self, source: Any) -> Any:
        source = np.asarray(source)
        kind = "i" if source.dtype.kind in "iu" else source.dtype.kind
        made = np.ascontiguousarray(source, dtype=self.dtypes[kind]).reshape(source.shape)
        made.setflags(write=False)
        return made

    def helper(self, name: str) -> str:
        return self.function(name, HELPERS[name])

    def type(self, kind: str) -> str:
        self.scope[f"{kind}_type"] = self.dtypes[kind]
        return f"{kind}_type"

    def wrapped(self, body: list[str]) -> list[str]:
        if not self.quiet:
            return body
        return [f'with {self.helper("errstate")}(all="ignore"):', *[INDENT + line for line in body]]

    # Buffers

    def owns(self, value: Value) -> bool:
        return value.step is not None and value not in self.base and value.source is None

    def step(self, number: int, step: Step) -> None:
        if step.op == "map":
            self.map(number, step)
        elif step.op == "place":
            self.place(number, step)
        else:
            super().step(number, step)

    def buffer(self, number: int, step: Step) -> Value | None:
        """An operand that the result may overwrite."""
        if not step.out.shape:
            return None
        for value, labels in step.args:
            if (
                isinstance(value, Value)
                and labels == step.labels
                and value.kind == step.out.kind
                and value.shape == step.out.shape
                and self.owns(value)
                and self.last[value] == number
            ):
                return value
        return None

    # One method for each kind of step

    def map(self, number: int, step: Step) -> None:
        self.quiet = True
        args = [self.arranged(operand, step.labels) for operand in step.args]
        free = self.buffer(number, step)
        if step.name in CHAINS and step.out.kind == "f" and step.out.shape:
            self.chain(step, args[0], free)
            return
        ufunc = UFUNCS.get(step.name)
        f = self.function(step.name, ufunc or ELEMENTWISE[step.name])
        target = f", {self.name(free)}" if free is not None and ufunc is not None else ""
        text = f"{f}({', '.join(args)}{target})"
        self.lines.append(f"{self.new(step.out)} = {self.settled(step, text)}")

    def settled(self, step: Step, text: str) -> str:
        """In the floating type; a function of numbers and truth values may give another."""
        odd = step.out.kind == "f" and all(not isinstance(v, Value) or v.kind != "f" for v, _ in step.args)
        return (
            f"{self.type('f')}.type({text})"
            if odd and not step.out.shape
            else f"{text}.astype({self.type('f')})"
            if odd
            else text
        )

    def chain(self, step: Step, operand: str, free: Value | None) -> None:
        target = self.name(free) if free is not None else None
        out = self.new(step.out)
        for name, *places in CHAINS[step.name]:
            f = self.function(name, UFUNCS[name])
            args = [operand if p == "x" else out if p == "o" else p for p in places]
            store = f", {out}" if "o" in places else f", {target}" if target else ""
            self.lines.append(f"{out} = {f}({', '.join(args)}{store})")

    def cast(self, step: Step) -> str:
        text = self.name(step.args[0][0])
        return f"{text}.astype({self.type(step.name)})"

    def sum(self, step: Step) -> str:
        ((value, labels),) = step.args
        axes = [axis for axis, x in enumerate(labels) if x not in step.labels]
        kind = f", dtype={self.type('i')}" if step.out.kind == "i" else ""
        return (
            f"{self.helper('total')}({self.name(value)}, axis={axes[0] if len(axes) == 1 else tuple_text(axes)}{kind})"
        )

    def dot(self, step: Step) -> str:
        batch, rows, columns, summed = matrix_axes(step)
        a, b = step.args
        if batch:
            return self.batched(step, batch, rows, columns, summed)
        if step.labels not in ((*rows, *columns), (*columns, *rows)):
            inside = step.labels[0] in rows
            return self.in_the_middle(step, *((b, a, columns) if inside else (a, b, rows)), summed)
        if step.labels[: len(rows)] != rows:
            a, b, rows, columns = b, a, columns, rows
        left, right = self.matrices(a, b, rows, columns, summed)
        return self.shaped(f"{left}.dot({right})", _merged_shape(step, rows, columns), step.out.shape)

    def in_the_middle(self, step: Step, small: Operand, large: Operand, free: Labels, summed: Labels) -> str:
        """A dot over axes in the middle of the larger operand: a matrix product for each index before them."""
        value, own = large
        sizes = step.sizes()
        places = [p for p, x in enumerate(own) if x in summed]
        before, after = own[: places[0]], own[places[-1] + 1 :]
        order = own[places[0] : places[-1] + 1]
        groups = [before, order, after]
        flat = [math.prod([sizes[x] for x in group]) for group in groups]
        right = self.shaped(self.name(value), [sizes[x] for x in own], flat)
        left = self.matrix(small, free, order)
        shape = [flat[0], *([math.prod([sizes[x] for x in free])] if free else []), flat[2]]
        return self.shaped(f"{self.helper('matmul')}({left}, {right})", shape, step.out.shape)

    def matrices(self, a: Operand, b: Operand, rows: Labels, columns: Labels, summed: Labels) -> tuple[str, str]:
        """Both operands as matrices, or vectors; the summed labels in the order that needs no copy, if there is one."""
        orders = [tuple([x for x in own if x in summed]) for _, own in (a, b)]
        order = min(orders, key=lambda k: _copies(a[1], rows, k) + _copies(b[1], columns, k))
        return self.matrix(a, rows, order), self.matrix(b, order, columns)

    def matrix(self, operand: Operand, first: Labels, second: Labels) -> str:
        value, own = operand
        assert isinstance(value, Value)
        sizes = dict(zip(own, value.shape, strict=True))
        flat = [math.prod([sizes[x] for x in group]) for group in (first, second) if group]
        if own == (*second, *first) and first and second:
            text = self.shaped(self.name(value), value.shape, flat[::-1])
            return f"{text}.T"
        text = self.permuted(self.name(value), own, (*first, *second))
        return self.shaped(text, [sizes[x] for x in (*first, *second)], flat)

    def batched(self, step: Step, batch: Labels, rows: Labels, columns: Labels, summed: Labels) -> str:
        """Many dots at once: einsum's loops where each is small or runs across memory, BLAS otherwise."""
        a, b = step.args
        sizes = step.sizes()
        volumes = [math.prod([sizes[x] for x in group]) for group in (rows, columns, summed)]
        across = [own[-1] in batch and sizes[own[-1]] > 1 for _, own in (a, b)]
        if not (rows or columns) and not any(across):
            left, right = [self.stacked(o, batch, [summed], sizes) for o in (a, b)]
            return f"{self.helper('vecdot')}({left}, {right})"
        if math.prod(volumes) <= EINSUM_MOST or (any(across) and min(volumes[0], volumes[1]) < 8):
            letters = {x: chr(97 + n) if n < 26 else chr(39 + n) for n, x in enumerate(sizes)}
            spec = ",".join("".join(letters[x] for x in own) for _, own in (a, b))
            out = "".join(letters[x] for x in step.labels)
            return f"{self.helper('einsum')}('{spec}->{out}', {self.name(a[0])}, {self.name(b[0])})"
        if step.labels != (*batch, *rows, *columns):
            a, b, rows, columns, across = b, a, columns, rows, across[::-1]
        left = self.stacked(a, batch, [rows, summed], sizes, across[0])
        right = self.stacked(b, batch, [summed, columns], sizes, across[1])
        text = f"{self.helper('matmul')}({left}, {right})"
        shape = [*[sizes[x] for x in batch], *[math.prod([sizes[x] for x in g]) for g in (rows, columns)]]
        return self.shaped(text, shape, step.out.shape)

    def stacked(
        self, operand: Operand, batch: Labels, groups: Sequence[Labels], sizes: dict[int, int], copy: bool = False
    ) -> str:
        """An operand with the labels of each group merged, for each index of the batch."""
        value, own = operand
        order = (*batch, *[x for group in groups for x in group])
        text = self.permuted(self.name(value), own, order)
        if copy:
            text = f"{self.helper('contiguous')}({text})"
        flat = [*[sizes[x] for x in batch], *[math.prod([sizes[x] for x in group]) for group in groups]]
        return self.shaped(text, [sizes[x] for x in order], flat)

    def call(self, step: Step) -> str:
        self.quiet = True
        params, _ = step.params
        args = [self.name(value) for value, _ in step.args]
        args += [self.number(p) for p in params]
        f = self.function(f"f_{step.name}", FUNCTIONS[step.name])
        return f"{f}({', '.join(args)})"

    def spread(self, step: Step) -> str:
        text = self.arranged(step.args[0], step.labels)
        own = step.args[0][1]
        if set(own) == set(step.labels):
            return text
        return f"{self.helper('broadcast_to')}({text}, {tuple_text(step.out.shape)})"

    def merge(self, step: Step) -> str:
        return f"{self.name(step.args[0][0])}.reshape({tuple_text(step.out.shape)})"

    def check(self, step: Step) -> str:
        return f"{self.helper('checked_places')}({self.name(step.args[0][0])}, {step.params[0]})"

    def read(self, step: Step) -> str:
        forms: Sequence[Form] = step.params
        value = step.args[0][0]
        simple = self._sliced(value, forms, step)
        if simple is not None:
            return simple
        strides = tuple([tuple([dict(form.terms).get(x, 0) for form in forms]) for x in step.labels])
        places = tuple([form.const for form in forms])
        return f"{self.helper('view_of')}({self.name(value)}, {step.out.shape}, {strides}, {places})"

    def _sliced(self, value: Any, forms: Sequence[Form], step: Step) -> str | None:
        """Each axis read at one place, or by one label of its own with a positive step: a slice."""
        seen = [form.terms[0][0] for form in forms if form.terms]
        if any(len(form.terms) > 1 or (form.terms and form.terms[0][1] <= 0) for form in forms):
            return None
        if tuple(seen) != step.labels:
            return None
        parts = []
        for form, size in zip(forms, value.shape, strict=True):
            if not form.terms:
                parts.append(str(form.const))
                continue
            label, coef = form.terms[0]
            stop = form.const + coef * (step.out.shape[label] - 1) + 1
            whole = form.const == 0 and coef == 1 and stop == size
            parts.append(":" if whole else f"{form.const}:{stop}" + (f":{coef}" if coef != 1 else ""))
        return f"{self.name(value)}[{', '.join(parts)}]"

    def place(self, number: int, step: Step) -> None:
        has_base, parts = step.params
        args = list(step.args)
        if has_base:
            base, labels = args.pop(0)
            free = isinstance(base, Value) and self.owns(base) and self.last[base] == number and labels == step.labels
            text = self.arranged((base, labels), step.labels)
            made = text if free else f"{self.helper('array')}({text}, {self.type(step.out.kind)}, order='C')"
        else:
            made = f"{self.helper('zeros')}({tuple_text(step.out.shape)}, {self.type(step.out.kind)})"
        out = self.new(step.out)
        self.lines.append(f"{out} = {made}")
        weights = [math.prod(step.out.shape[k + 1 :]) for k in range(len(step.out.shape))]
        for position, ((value, _), (own, forms, sizes)) in enumerate(zip(args, parts, strict=True)):
            if 0 in sizes:
                continue
            strides = [0] * len(sizes)
            for form, weight in zip(forms, weights, strict=True):
                for x, c in form.terms:
                    strides[x] += c * weight
            offset = sum(form.const * weight for form, weight in zip(forms, weights, strict=True))
            view = f"{self.helper('place_view')}({out}, {sizes}, {tuple(strides)}, {offset})"
            text = self.arranged((value, own), tuple(range(len(sizes))))
            if position == 0 and not has_base:
                self.lines.append(f"{view}[...] = {text}")
            else:
                view_name = f"v{len(self.lines)}"
                self.lines += [f"{view_name} = {view}", f"{view_name} += {text}"]

    def take(self, step: Step) -> str:
        (value, labels), (at, places) = step.args
        (axis,) = step.params
        if not set(labels) & set(places):
            return f"{self.name(value)}.take({self.name(at)}, {axis})"
        return f"{self.name(value)}[{self._grid(labels, axis, at, places, step.labels, step.sizes())}]"

    def _grid(self, labels: Labels, axis: int, at: Any, places: Labels, out: Labels, sizes: dict[int, int]) -> str:
        parts = []
        for position, x in enumerate(labels):
            if position == axis:
                parts.append(self.arranged((at, places), out))
            else:
                shape = [sizes[y] if y == x else 1 for y in out[out.index(x) :]]
                parts.append(f"{self.helper('arange')}({sizes[x]}).reshape({tuple_text(shape)})")
        return ", ".join(parts)

    def scatter(self, step: Step) -> str:
        (value, labels), (at, places) = step.args
        sizes = step.sizes()
        out = self.name(step.out) if step.out in self.names else f"s{len(self.lines)}"
        self.lines.append(f"{out} = {self.helper('zeros')}({tuple_text(step.out.shape)}, {self.type(step.out.kind)})")
        parts = [self.arranged((at, places), labels)]
        for x in step.labels[1:]:
            shape = [sizes[y] if y == x else 1 for y in labels[labels.index(x) :]]
            parts.append(f"{self.helper('arange')}({sizes[x]}).reshape({tuple_text(shape)})")
        self.lines.append(f"{self.helper('add_at')}({out}, ({', '.join(parts)},), {self.name(value)})")
        return out

    def result(self, result: Result) -> str:
        value, axes = result.value, result.axes
        everywhere = tuple(range(len(result.shape)))
        if not isinstance(value, Value):
            made = np.full(result.shape, value, dtype=self.dtypes[result.kind])
            return f"{self.passed(made)}.copy()" if result.shape else self.passed(made[()])
        text = self.permuted(self.name(value), axes, sorted(axes)) if axes else self.name(value)
        if not result.shape:
            if value.source is None and value.step is not None and value.step.op not in ("place", *VIEWS):
                return text
            return f"{self.helper('array')}({text}, {self.type(value.kind)})[()]"
        if len(axes) != len(everywhere):
            text = (
                f"{self.helper('broadcast_to')}({self.arranged((value, axes), everywhere)}, {tuple_text(result.shape)})"
            )
        shared = sum(
            r.value is value or self.base.get(r.value) is value
            for r in self.program.results
            if isinstance(r.value, Value)
        )  # type: ignore
        if self.owns(value) and len(axes) == len(everywhere) and shared == 1:
            return text
        return f"{self.helper('array')}({text}, {self.type(result.kind)}, order='C')"


def _copies(own: Labels, group: Labels, summed: Labels) -> bool:
    return own not in ((*group, *summed), (*summed, *group))


def _merged_shape(step: Step, rows: Labels, columns: Labels) -> list[int]:
    sizes = step.sizes()
    return [math.prod([sizes[x] for x in group]) for group in (rows, columns) if group]
