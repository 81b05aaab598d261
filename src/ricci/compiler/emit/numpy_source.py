"""NumPy source: views instead of copies, ufuncs that write into buffers nobody needs any more, BLAS for every dot.

A value *owns* its memory if its step made it; reads, reshapes and broadcasts are views of what others own. A map may
write into an operand that owns its memory, has the shape of the result, and is read by nobody later, neither itself nor
through a view.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ricci.compiler.backends.numpy_table import ELEMENTWISE, FUNCTIONS, dtypes_of
from ricci.compiler.emit.dots import MatrixEmitter
from ricci.compiler.emit.numpy_calls import (
    CHAINS,
    FASTER,
    HELPERS,
    INTO,
    OPERATORS,
    QUIET,
    REDUCED,
    SHARES,
    UFUNCS,
    logsumexp,
    stored,
)
from ricci.compiler.emit.source import INDENT, tuple_text
from ricci.compiler.plan.loops import BlockRows, Loop
from ricci.compiler.plan.plans import Plan
from ricci.compiler.plan.program_steps import (
    VIEWS,
    Form,
    Operand,
    Result,
    Step,
    Value,
    nbytes,
    number_key,
    placed_strides,
    repeats,
)
from ricci.compiler.run.workspace import Workspace

FEW_BY_DOT = 256  # terms of a whole sum that is one: NumPy's own takes twice as long to begin
MOST_BY_DOT = 1 << 16  # terms of a sum that is a product with ones; a longer one loses digits
BLOCK = 256 * 1024  # bytes of windows that are multiplied at a time
LARGE = 64 * 1024  # bytes from which on memory is worth using again
EINSUM_MOST = 48  # multiplications of a small matrix and a vector, up to which einsum's own loop beats calling BLAS


class NumpyEmitter(MatrixEmitter):
    """Source for NumPy, for one floating type."""

    def __init__(self, plan: Plan):
        self.dtype = np.dtype(plan.setting.dtype)
        self.dtypes = dtypes_of(self.dtype)
        super().__init__(plan)
        self.items = plan.items
        self.position = 0  # of the item that is being written
        self.last = {v: len(self.items) for v in [r.value for r in self.program.results] if isinstance(v, Value)}
        self.base: dict[Value, Value] = {}
        self._note_uses(self.items)
        self.targets: dict[Value, str] = {}  # where a value has its place already
        self.taken: set[Value] = set()  # values whose memory another has now
        self.pool: dict[tuple, list[Value]] = {}  # memory that nobody needs any more, by size and kind
        self.slots: list[tuple[tuple[int, ...], np.dtype]] = []  # of the workspace
        self.lent: set[Value] = set()  # values whose memory is not theirs
        self.current: Value | None = None  # the result of the step that is being written
        self.inside = False  # whether that is in a loop
        self.quiet = False

    def _note_uses(self, items: Sequence[Step | Loop], start: int = 0) -> None:
        """When each value is read for the last time, itself or through a view."""
        for number, item in enumerate(items, start):
            for value in item.operands:
                self.last[value] = max(self.last.get(value, 0), number)
        for item in items:
            if isinstance(item, Step) and item.views:
                source = item.operands[0]
                self.base[item.out] = self.base.get(source, source)
        for view, root in self.base.items():
            self.last[root] = max(self.last.get(root, 0), self.last.get(view, 0))

    def array(self, source: Any) -> Any:
        source = np.asarray(source)
        kind = "i" if source.dtype.kind in "iu" else source.dtype.kind
        with np.errstate(over="ignore"):  # what is too large for the type is infinite in it
            made = np.ascontiguousarray(source, dtype=self.dtypes[kind]).reshape(source.shape)
        made.setflags(write=False)
        return made

    def helper(self, name: str) -> str:
        return self.function(name, HELPERS[name])

    def type(self, kind: str) -> str:
        self.scope[f"{kind}_type"] = self.dtypes[kind]
        return f"{kind}_type"

    def wrapped(self, body: list[str]) -> list[str]:
        if self.slots:
            space = Workspace(self.slots)
            take, give = self.function("take_work", space.take), self.function("give_work", space.give)
            *steps, last = body
            body = [
                f"work = {take}()",
                *steps,
                f"results = {last.removeprefix('return ')}",
                f"{give}(work)",
                "return results",
            ]
        if not self.quiet or self.plan.option("bare"):  # whoever asked for it has silenced all of a longer computation
            return body
        if QUIET is None:
            return [f'with {self.helper("errstate")}(all="ignore"):', *[INDENT + line for line in body]]
        self.scope["quiet"], self.scope["restore"] = QUIET
        return ["state = quiet()", "try:", *[INDENT + line for line in body], "finally:", f"{INDENT}restore(state)"]

    # Buffers

    def owns(self, value: Value) -> bool:
        return value.step is not None and value not in self.base

    def body(self) -> None:
        for position, item in enumerate(self.items):
            self.position = position
            if isinstance(item, Loop):
                self.loop(item)
            else:
                self.step(item)
            for value in item.operands:
                self.release(self.base.get(value, value))

    def release(self, value: Value) -> None:
        """Put memory that nobody needs any more at the disposal of later steps, if there is much of it."""
        if (
            value in self.lent
            and self.last.get(value) == self.position
            and value not in self.taken
            and nbytes(value, self.dtype.itemsize) >= LARGE
        ):
            self.taken.add(value)
            self.pool.setdefault(_extent(value), []).append(value)

    def room(self, value: Value, shape: Sequence[int]) -> str | None:
        """Memory for a large value: what nobody needs any more, or else of the workspace. Results have their own."""
        large = shape and nbytes(value, self.dtype.itemsize) >= LARGE
        if not large:
            return None
        blocks = any(isinstance(n, BlockRows) for n in shape)
        if self.escapes(value) or (blocks and tuple(shape) != value.shape):
            return None
        if any(isinstance(n, BlockRows) for n in shape[1:]):
            return None
        self.lent.add(value)
        found = self.pool.get(_extent(value))
        if found:
            other = found.pop()
            return self.shaped(self.name(other), other.shape, shape)
        self.slots.append((tuple(map(int, shape)), self.dtypes[value.kind]))
        part = "[:stop - start]" if isinstance(shape[0], BlockRows) else ""
        return f"work[{len(self.slots) - 1}]{part}"

    def scratch(self, value: Value) -> str | None:
        """Memory like an operand's, for as long as a step takes: its own, if nobody needs it later."""
        root = self.base.get(value, value) if value.step is not None and _is_turned(value.step) else value
        if self.owns(root) and self.last[root] == self.position and root not in self.targets:
            return self.name(value)
        own = Value(value.shape, value.kind)
        room = self.room(own, own.shape)
        if room is not None:
            self.lines.append(f"{self.new(own)} = {room}")
            self.pool.setdefault(_extent(own), []).append(own)
        return None if room is None else self.name(own)

    def escapes(self, value: Value) -> bool:
        """Whether a value is a result, or seen through one."""
        return self.last.get(value, 0) >= len(self.items) and not self.inside

    def step(self, step: Step) -> None:
        if step.op == "map":
            self.map(step)
        elif step.op == "place":
            self.place(step)
        else:
            self.current = step.out
            self.assign(step, getattr(self, step.op)(step))

    def assign(self, step: Step, text: str) -> None:
        """The result of a step gets its name; one that has a place already is stored there."""
        target = self.targets.get(step.out)
        if target is None:
            self.lines.append(f"{self.new(step.out)} = {text}")
        else:
            self.names[step.out] = target
            stored = step.op == "call" and step.name in INTO and step.out.kind == "f"
            self.lines.append(text if stored else f"{target}[...] = {text}")

    def loop(self, loop: Loop) -> None:
        """A loop over blocks: what is needed after it is stored, or added up, a block at a time."""
        steps, blocks = loop.body()
        for value in loop.kept:
            shape, kind = tuple_text(value.shape), self.type(value.kind)
            room = self.room(value, value.shape) or f"{self.helper('empty')}({shape}, {kind})"
            self.lines.append(f"{self.new(value)} = {room}")
        for value in loop.summed:
            shape, kind = tuple_text(value.shape), self.type(value.kind)
            zero = f"{self.helper('zeros')}({shape}, {kind})"
            self.lines.append(f"{self.new(value)} = {zero}{'' if value.shape else '[()]'}")
        outside, self.lines = self.lines, []
        made = {step.out for step in loop.steps}
        for value, block in blocks.items():
            if value in self.names and value in loop.axis:
                part = ", ".join([*[":"] * loop.axis[value], "start:stop"])
                self.lines.append(f"{self.new(block)} = {self.name(value)}[{part}]")
                if value in made:
                    self.targets[block] = self.name(block)
        position, start = self.position, len(self.items) + 1 + 1000 * self.position
        self._note_uses(steps, start)
        for value in loop.out:
            self.last[blocks[value]] = start + len(steps)
        added = {blocks[value]: value for value in loop.summed}
        pool, self.pool, self.inside = self.pool, {}, True
        own = set(steps)
        for number, step in enumerate(steps, start):
            self.position = number
            self.step(step)
            for value in step.operands:
                root = self.base.get(value, value)
                if root.step in own:  # what comes from outside is read for every block
                    self.release(root)
            if step.out in added:
                self.lines.append(f"{self.name(added[step.out])} += {self.name(step.out)}")
        self.position, self.pool, self.inside = position, pool, False
        head = [
            f"for start in {self.helper('range')}(0, {loop.size}, {loop.rows}):",
            f"    stop = {self.helper('min')}(start + {loop.rows}, {loop.size})",
        ]
        self.lines = [*outside, *head, *[INDENT + line for line in self.lines]]

    def buffer(self, step: Step) -> Value | None:
        """An operand that the result may overwrite."""
        if not step.out.shape:
            return None
        for value, labels in step.args:
            if (
                isinstance(value, Value)
                and value not in self.targets
                and labels == step.labels
                and value.kind == step.out.kind
                and value.shape == step.out.shape
                and self.takes_over(step.out, value)
            ):
                return value
        return None

    def takes_over(self, value: Value, other: Value) -> bool:
        """Give a value the memory of another, if that is nobody else's and, for a result, not of the workspace."""
        if not self.owns(other) or self.last[other] != self.position or (other in self.lent and self.escapes(value)):
            return False
        self.taken.add(other)
        if other in self.lent:
            self.lent.add(value)
        return True

    # One method for each kind of step

    def map(self, step: Step) -> None:
        self.quiet = True
        operands = step.args[1:] if step.name == "where" else step.args
        floats = {"f"}.issuperset([v.kind for v, _ in operands if type(v) is Value])
        if not step.out.shape and step.name in OPERATORS and floats:  # NumPy's scalars answer operators much faster
            self.assign(step, OPERATORS[step.name].format(*[self.name(value) for value, _ in step.args]))
            return
        ready = floats and step.out.shape and (step.name in UFUNCS or step.name == "where")
        args = [self.arranged(o, step.labels) if o[1] or not ready else self.entry(o[0]) for o in step.args]
        target = self.targets.get(step.out)
        fast = (
            step.name in FASTER and step.out.shape and all(isinstance(v, Value) and v.kind == "f" for v, _ in operands)
        )
        free = None if target or fast else self.buffer(step)
        if free is not None:
            target = self.name(free)
        elif target is None and (step.name in UFUNCS or step.name in CHAINS or fast) and not self.odd(step):
            target = self.room(step.out, step.out.shape)
        if step.name in CHAINS and step.out.kind == "f" and step.out.shape:
            self.chain(step, args[0], target)
            return
        ufunc = UFUNCS.get(step.name)
        if step.name == "where" and isinstance(step.args[0][0], Value) and step.args[0][0].kind == "b":
            f = self.helper("select")
        elif fast:
            f = self.function(f"fast_{step.name}", FASTER[step.name])
        else:
            f = self.function(step.name, ufunc or ELEMENTWISE[step.name])
        if target is None or not (ufunc or fast) or self.odd(step):
            turned = ufunc is not None and nbytes(step.out, 8) >= LARGE and any(".T" in a or ".tr" in a for a in args)
            order = ", order='C'" if turned else ""
            self.assign(step, self.settled(step, f"{f}({', '.join(args)}{order})"))
        elif step.out in self.targets:
            self.names[step.out] = target
            self.lines.append(f"{f}({', '.join(args)}{stored(step.name, target)})")
        else:
            self.lines.append(f"{self.new(step.out)} = {f}({', '.join(args)}{stored(step.name, target)})")

    def entry(self, value: Value | float) -> str:
        """A number among arrays of floats as an array of that type, which NumPy need not convert at each call."""
        if isinstance(value, Value):
            return self.name(value)
        key = (*number_key(value), "array")
        if key not in self._numbers:
            self._numbers[key] = self.passed(self.array(float(value)))
        return self._numbers[key]

    def odd(self, step: Step) -> bool:
        """Whether a function makes floats of what holds none; NumPy then chooses the type."""
        return step.out.kind == "f" and {"c", "f"}.isdisjoint([value.kind for value in step.operands])

    def settled(self, step: Step, text: str) -> str:
        """In the floating type."""
        if not self.odd(step):
            return text
        return f"{text}.astype({self.type('f')})" if step.out.shape else f"{self.type('f')}.type({text})"

    def chain(self, step: Step, operand: str, target: str | None) -> None:
        if step.out in self.targets:
            self.names[step.out] = self.targets[step.out]
        out = self.names.get(step.out) or self.new(step.out)
        for name, *places in CHAINS[step.name]:
            f = self.function(name, UFUNCS[name])
            args = [operand if p == "x" else out if p == "o" else p for p in places]
            store = stored(name, out) if "o" in places else stored(name, target) if target else ""
            self.lines.append(f"{out} = {f}({', '.join(args)}{store})")

    def cast(self, step: Step) -> str:
        text = self.name(step.args[0][0])
        return f"{text}.astype({self.type(step.name)})"

    def sum(self, step: Step) -> str:
        ((value, labels),) = step.args
        axes = [axis for axis, x in enumerate(labels) if x not in step.labels]
        large = isinstance(value, Value) and value.step is not None and nbytes(value, 8) >= LARGE
        if large and _is_diagonal(value.step):  # type: ignore
            return self.diagonal(value.step, [labels.index(x) for x in step.labels])  # type: ignore
        by_ones = self.by_ones(step, axes) if isinstance(value, Value) and value.kind == "f" else None
        if by_ones is not None:
            return by_ones
        kind = f", dtype={self.type('i')}" if step.out.kind == "i" else ""
        return (
            f"{self.helper('total')}({self.name(value)}, axis={axes[0] if len(axes) == 1 else tuple_text(axes)}{kind})"
        )

    def by_ones(self, step: Step, axes: Sequence[int]) -> str | None:
        """A sum over the first axes, or the last, as a product with ones, which is faster; none where it is not."""
        ((value, labels),) = step.args
        assert isinstance(value, Value)
        count, order = len(axes), len(labels)
        size = math.prod([value.shape[axis] for axis in axes])
        rest, text = math.prod(step.out.shape), self.name(value)
        blocks = order > 1 and any(isinstance(n, BlockRows) for n in value.shape)
        if count == order and 1 < size <= FEW_BY_DOT and not blocks:
            return f"{self.ones(size)}.dot({text if order == 1 else f'{text}.ravel()'})"
        last = list(axes) == list(range(order - count, order))
        if not 1 < size <= MOST_BY_DOT or rest < 2 or not (last or list(axes) == list(range(count))):
            return None
        if order > 2 and (nbytes(value, 8) >= LARGE or blocks):
            return None  # a reshape may copy
        text = self.shaped(text, value.shape, (rest, size) if last else (size, rest))
        made = f"{text}.dot({self.ones(size)})" if last else f"{self.ones(size)}.dot({text})"
        return self.shaped(made, (rest,), step.out.shape)

    def ones(self, size: int) -> str:
        """The name of a vector of ones; for a block, as many as it has rows."""
        name = f"ones{int(size)}"
        self.scope[name] = np.ones(int(size), self.dtype)
        return f"{name}[:stop - start]" if isinstance(size, BlockRows) else name

    def product(self, left: str, right: str, shape: Sequence[int], stack: bool = False) -> str:
        room = None if self.current is None else self.room(self.current, shape)
        if room is None:
            return f"{self.helper('matmul')}({left}, {right})" if stack else f"{left}.dot({right})"
        return f"{self.helper('matmul' if stack else 'dot')}({left}, {right}, {room})"

    def dot(self, step: Step) -> str:
        for windows, other in (step.args, step.args[::-1]):
            if (
                isinstance(windows[0], Value)
                and nbytes(windows[0], self.dtype.itemsize) >= LARGE
                and repeats(windows[0])
            ):
                found = self.windows_dot(step, windows, other)
                if found is not None:
                    return found
        return super().dot(step)

    def windows_dot(self, step: Step, windows: Operand, other: Operand) -> str | None:
        """A dot with windows that overlap, a block of them at a time; none where it is left as others are."""
        sizes = step.sizes()
        if self.inside or 0 in sizes.values() or {value.kind for value in step.operands} != {"f"}:
            return None
        shared = [x for x in windows[1] if x in other[1]]
        batch = [x for x in shared if x in step.labels]
        summed = [x for x in shared if x not in step.labels]
        stays = [x for x in step.labels if x in windows[1] and x not in batch]
        rest = [x for x in step.labels if x in other[1] and x not in batch]
        if not stays or step.labels not in ((*batch, *stays, *rest), (*batch, *rest, *stays)):
            return None
        flat = [sizes[x] for x in batch]
        depth, height, width = [math.prod([sizes[x] for x in group]) for group in (rest, summed, stays)]
        turned = step.labels != (*batch, *rest, *stays)
        shape = [*flat, width, depth] if turned else [*flat, depth, width]
        room = self.room(step.out, shape) or f"{self.helper('empty')}({tuple_text(shape)}, {self.type('f')})"
        self.slots.append(((BLOCK // self.dtype.itemsize,), self.dtype))
        left = self.permuted(self.name(windows[0]), windows[1], (*batch, *stays, *summed))
        right = self.permuted(self.name(other[0]), other[1], (*batch, *rest, *summed))
        right = self.shaped(right, [sizes[x] for x in (*batch, *rest, *summed)], [*flat, depth, height])
        out = self.new(Value(tuple(shape), step.out.kind))
        self.lines.append(f"{out} = {room}")
        into = f"{out}.swapaxes(-1, -2)" if turned else out
        self.lines.append(
            f"{self.helper('windows_dot')}({left}, {right}, {len(stays)}, {into}, work[{len(self.slots) - 1}])"
        )
        return self.shaped(out, shape, step.out.shape)

    def by_einsum(self, volumes: Sequence[int], across: bool) -> bool:
        rows, columns, summed = volumes  # of products of matrices even the smallest are faster by BLAS
        return min(rows, columns) == 1 and (across or rows * columns * summed <= EINSUM_MOST)

    def into(self, step: Step) -> str:
        """A function that writes its result where there is room for it: over its operand, if nobody else needs that."""
        target = self.targets.get(step.out)
        ((value, _),) = step.args
        free = None if target else self.buffer(replace(step, args=((value, step.labels),)))
        room = target or (self.name(free) if free is not None else self.room(step.out, step.out.shape))
        f = self.function(f"{step.name}_into", INTO[step.name])
        return f"{f}({self.name(value)}{f', {room}' if room else ''})"

    def call(self, step: Step) -> str:
        self.quiet = True
        if step.name in INTO and step.out.kind == "f":
            return self.into(step)
        ((value, _), *_) = step.args
        if step.name in REDUCED and isinstance(value, Value) and value.kind == step.out.kind and value.shape[-1]:
            return f"{self.function(f'reduce_{step.name}', REDUCED[step.name])}({self.name(value)})"
        if step.name == "logsumexp" and isinstance(value, Value) and value.kind == "f" and value.shape[-1]:
            room = self.scratch(value)
            return f"{self.function('logsumexp', logsumexp)}({self.name(value)}{f', {room}' if room else ''})"
        if step.name in SHARES and isinstance(value, Value) and value.kind == "f" and step.out not in self.targets:
            f, room = self.function(f"short_{step.name}", SHARES[step.name]), self.room(step.out, step.out.shape)
            further = step.params[0][0] if step.params[0] else 0
            return f"{f}({self.name(value)}, {further}{f', {room}' if room else ''})"
        return self.called(step, "numpy", FUNCTIONS)

    def guard(self, step: Step) -> str:
        self.quiet = True
        made = step.args[0][0]
        assert isinstance(made, Value)
        copied = made.shape and not self.takes_over(step.out, made)
        text = f"{self.name(made)}.copy()" if copied else self.name(made)
        return f"{self.helper('guarded')}({text}, {self.guarding(step)})"

    def check(self, step: Step) -> str:
        return f"{self.helper('checked_places')}({self.name(step.args[0][0])}, {step.params[0]})"

    def read(self, step: Step) -> str:
        forms: Sequence[Form] = step.params
        value = step.args[0][0]
        simple = self.sliced(value, forms, step)
        if simple is not None:
            return simple
        if _is_diagonal(step):
            return self.diagonal(step, step.labels)
        strides = tuple([tuple([dict(form.terms).get(x, 0) for form in forms]) for x in step.labels])
        places = tuple([form.const for form in forms])
        return f"{self.helper('view_of')}({self.name(value)}, {step.out.shape}, {strides}, {places})"

    def diagonal(self, step: Step, kept: Sequence[int]) -> str:
        """A diagonal, which is a view, or, summed over what is not kept, the sum of it."""
        text = self.program.axes.spelled(step, kept)
        return f"{self.helper('einsum')}('{text}', {self.name(step.args[0][0])})"

    def place(self, step: Step) -> None:
        has_base, parts = step.params
        args = list(step.args)
        if has_base:
            base, labels = args.pop(0)
            free = labels == step.labels and isinstance(base, Value) and self.takes_over(step.out, base)
            text = self.arranged((base, labels), step.labels)
            made = (
                f"{self.helper('contiguous')}({text})"
                if free
                else f"{self.helper('array')}({text}, {self.type(step.out.kind)}, order='C')"
            )
        else:
            made = f"{self.helper('zeros')}({tuple_text(step.out.shape)}, {self.type(step.out.kind)})"
        out = self.new(step.out)
        self.lines.append(f"{out} = {made}")
        done: list[list] = []
        for (value, _), (own, forms, sizes) in zip(args, parts, strict=True):
            if 0 in sizes:
                continue
            among = dict(enumerate(sizes))
            view = self.part_of(out, step.out.shape, forms, among)
            if view is None:
                strides, offset = placed_strides(forms, len(sizes), step.out.shape)
                view = f"{self.helper('place_view')}({out}, {sizes}, {strides}, {offset})"
            text = self.arranged((value, own), tuple(among))
            box = [form.bounds(among) for form in forms]
            first = not has_base and all(map(partial(_apart, box), done))
            done.append(box)
            if view.endswith("]"):
                self.lines.append(f"{view} {'=' if first else '+='} {text}")
            elif first:
                self.lines.append(f"{view}[...] = {text}")
            else:
                self.lines += [f"part = {view}", f"part += {text}"]

    def take(self, step: Step) -> str:
        (value, _), (at, _) = step.args
        (axis,) = step.params
        return f"{self.name(value)}.take({self.name(at)}, {axis})"

    def locate(self, step: Step) -> str:
        parts = [self.arranged(operand, step.labels) for operand in step.args]
        strides = [math.prod(step.params[k + 1 :]) for k in range(len(parts))]
        return " + ".join([f"{p} * {s}" if s != 1 else p for p, s in zip(parts, strides, strict=True)])

    def scatter(self, step: Step) -> str:
        (value, labels), (at, places) = step.args
        sizes = step.sizes()
        stride = math.prod(step.out.shape[1:])
        parts = [self.arranged((at, places), labels) + (f" * {stride}" if stride != 1 else "")]
        for x, size in zip(step.labels[1:], step.out.shape[1:], strict=True):
            stride //= max(1, size)
            along = self.along(sizes[x], labels.index(x), len(labels))
            parts.append(f"{along} * {stride}" if stride != 1 else along)
        shape, kind = tuple_text(step.out.shape), self.type(step.out.kind)
        return f"{self.helper('added_up')}({self.name(value)}, {' + '.join(parts)}, {shape}, {kind})"

    def result(self, result: Result) -> str:
        value, axes = result.value, result.axes
        everywhere = tuple(range(len(result.shape)))
        if not isinstance(value, Value):
            made = np.full(result.shape, value, dtype=self.dtypes[result.kind])
            return f"{self.passed(made)}.copy()" if result.shape else self.passed(made[()])
        text = self.permuted(self.name(value), axes, sorted(axes)) if axes else self.name(value)
        if not result.shape:
            if value.source is None and value.step is not None and value.step.op not in ("place", *VIEWS):
                plain = value.step.op != "map" or value.step.name in UFUNCS  # what else maps entries may give arrays
                return text if plain or not self.plan.option("rows") else f"{text}[()]"
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
            lies = len(axes) < 2 or not self.plan.option("rows")  # otherwise it is wanted row by row
            return text if lies else f"{self.helper('contiguous')}({text})"
        return f"{self.helper('array')}({text}, {self.type(result.kind)}, order='C')"


def _extent(value: Value) -> tuple:
    """The size of a value and its kind; those of a block have fewer rows in the last."""
    return value.entries, value.kind, any(isinstance(n, BlockRows) for n in value.shape)


def _is_turned(step: Step) -> bool:
    """Whether a step reads its operand whole, its axes in another order."""
    return (
        step.op == "read"
        and sorted(f.label for f in step.params if f.label is not None) == list(range(len(step.out.shape)))
        and len(step.params) == len(step.labels)
    )


def _apart(box: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]) -> bool:
    """Whether two boxes, given by the first and the last place along each axis, have nothing in common."""
    return any(a[1] < b[0] or b[1] < a[0] for a, b in zip(box, other, strict=True))


def _is_diagonal(step: Step) -> bool:
    """Whether a step reads its operand with one index for several axes, from end to end."""
    if step.op != "read":
        return False
    ends = zip(step.params, step.operands[0].shape, strict=True)
    return all(form.label is not None and step.out.shape[form.label] == size for form, size in ends)
