"""Many small steps as instructions of LLVM, which are compiled a hundred times faster than Python by Numba.

All values lie in one piece of memory, each at a place and with strides of its own, so reads, spreads and transposes are
other strides at the same place and cost nothing. Every other step is a nest of loops over its labels. Truth values are
floats, 0 and 1. Functions are those of the C library. Sums may be taken in any order, nothing else.

A program is cut into functions of :data:`PART` steps, so that the work of the compiler is linear in it.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ricci.compiler.fused.function_code import WRITTEN, Scribe
from ricci.compiler.plan.program_steps import IDENTITIES, Form, Labels, Number, Operand, Step, Value
from ricci.functions import FUNCTIONS

PART = 48
SHORT, WRITTEN_OUT = 4, 16  # steps of a loop that is written out, and of it with those inside
VECTOR = 256  # bytes of a row that are computed at once
MANY = 4  # entries in a row for which our own functions, several at once, are faster than those of the C library
TYPES = {"float64": "double", "float32": "float"}
STORED = {"i": "i64", "b": "i8"}  # what arrays that are not of floats hold
IN_C = {name for name, op in FUNCTIONS.items() if op.c}  # those of float32 have an f behind
INTRINSICS = {  # what is an instruction in kernels is one here
    name: op.numba
    for name, op in FUNCTIONS.items()
    if op.numba in ("sqrt", "fabs", "floor", "ceil", "maximum", "minimum")
}
COMPARED = {"less": "olt", "less_equal": "ole", "equal": "oeq", "not_equal": "une"}
ARITHMETIC = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv"}
REDUCED = {"max": "maximum", "min": "minimum", "prod": "fmul"}
SHARED = {"hardmax": ("maximum", -math.inf), "hardmin": ("minimum", math.inf)}
OVER_AXES = {*REDUCED, *SHARED, "softmax", "log_softmax", "logsumexp"}
SLOW = {*IN_C, "softmax", "log_softmax", "logsumexp", "sigmoid", "softplus", "logaddexp", "power"}


def writable(step: Step) -> bool:
    """Whether there are instructions for a step."""
    if any(v.kind in ("c", "i") or 0 in v.shape for v in [*step.operands, step.out]):
        return False
    if step.op == "map":
        truths = step.out.kind == "b" and step.name not in (*COMPARED, *IDENTITIES, "where")
        return step.name in MAPS and not truths
    if step.op == "call":
        return step.name in OVER_AXES and step.params[1] == 1
    return step.op in ("sum", "dot", "read", "place", "spread", "merge") or (step.op == "cast" and step.name == "f")


@dataclass(frozen=True)
class Lies:
    """Where a value is: the place of its first entry, the stride along each of its axes, and the memory it is in."""

    start: int
    strides: tuple[int, ...]
    base: str = "%w"
    kind: str = "f"  # what is stored there: truths in memory of our own are floats


def row_by_row(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple([math.prod(shape[axis + 1 :]) for axis in range(len(shape))])


class Layout:
    """The places of all values of a segment."""

    def __init__(self) -> None:
        self.of: dict[Value, Lies] = {}
        self.size = 0

    def room(self, value: Value) -> Lies:
        """A place of its own for a value, lying row by row, unless it has one."""
        if value in self.of:
            return self.of[value]
        self.of[value] = Lies(self.size, row_by_row(value.shape))
        self.size += -(-max(value.entries, 1) // 8) * 8
        return self.of[value]

    def viewed(self, step: Step) -> bool:
        """Give the result of a step that moves nothing its place; whether it is one."""
        if step.op not in ("read", "spread", "merge", "cast") and step.name not in IDENTITIES:
            return False
        value, labels = step.args[0]
        if not isinstance(value, Value):
            return False
        lies = self.of[value]
        if step.op == "read":
            start = lies.start + sum(f.const * s for f, s in zip(step.params, lies.strides, strict=True))
            along = dict.fromkeys(step.labels, 0)
            for form, stride in zip(step.params, lies.strides, strict=True):
                for x, c in form.terms:
                    along[x] += c * stride
            self.of[step.out] = replace(lies, start=start, strides=tuple(along.values()))
        elif step.op == "merge":
            if lies.strides != row_by_row(value.shape):
                return False
            self.of[step.out] = replace(lies, strides=row_by_row(step.out.shape))
        else:
            along = dict(zip(labels, lies.strides, strict=True))
            self.of[step.out] = replace(lies, strides=tuple([along.get(x, 0) for x in step.labels]))
        return True


class CodeWriter:
    """Writes the instructions of a segment."""

    def __init__(self, layout: Layout, dtype: str):
        self.layout, self.type, self.short = layout, TYPES[dtype], dtype == "float32"
        self.lines: list[str] = []
        self.declared: dict[str, str] = {}
        self.count = 0
        self.block = "entry"
        self.kept: list[str] = []  # memory of the function that is being written
        self.many = False  # whether a function is called for many entries in a row

    def source(self, steps: Sequence[Step]) -> str:
        parts = [steps[at : at + PART] for at in range(0, len(steps), PART)]
        bodies = [self.function(f"part{k}", part) for k, part in enumerate(parts)]
        calls = [f"  call void @part{k}(ptr %w)" for k in range(len(parts))]
        main = "\n".join(["define void @kernel(ptr noalias %w) {", *calls, "  ret void", "}"])
        return "\n\n".join(["\n".join(self.declared.values()), *bodies, main]) + "\n"

    def function(self, name: str, steps: Sequence[Step], given: str = "ptr noalias %w", how: str = "noinline") -> str:
        self.lines, self.block, self.kept = [], "entry", []
        for step in steps:
            self.step(step)
        head = f"define internal void @{name}({given}) {how} nounwind {{"
        return "\n".join([head, "entry:", "  %sum = alloca " + self.type, *self.kept, *self.lines, "  ret void", "}"])

    def step(self, step: Step) -> None:
        if not self.layout.viewed(step):
            getattr(self, f"_{step.op}")(step)

    # Instructions

    def put(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %r{self.count} = {text}")
        return f"%r{self.count}"

    def number(self, value: Number) -> str:
        exact = float(value)
        if self.short:
            with_sign = math.copysign(math.inf, exact)
            exact = with_sign if abs(exact) > 3.4028235e38 else struct.unpack("f", struct.pack("f", exact))[0]
        return f"0x{struct.unpack('>Q', struct.pack('>d', exact))[0]:016X}"

    def real(self, op: str, *args: str) -> str:
        """An instruction on floats."""
        return self.put(f"{op} {self.type} {', '.join(args)}")

    def call(self, name: str, *args: str) -> str:
        kinds = ", ".join([self.type] * len(args))
        self.declared[name] = f"declare {self.type} @{name}({kinds}) nounwind willreturn memory(none)"
        return self.put(f"call {self.type} @{name}({', '.join([f'{self.type} {a}' for a in args])})")

    def native(self, name: str, *args: str) -> str:
        return self.call(f"llvm.{name}.f{32 if self.short else 64}", *args)

    def from_c(self, name: str, *args: str) -> str:
        if self.many and name in WRITTEN:
            return self.function_of(name, *args)
        return self.call(name + ("f" if self.short else ""), *args)

    def function_of(self, name: str, x: str) -> str:
        """A function that we have written ourselves, which is faster for many entries."""
        own = f"own_{name}"
        if own not in self.declared:
            kept, self.lines, self.declared[own] = self.lines, [], ""
            result = WRITTEN[name](Scribe(self, "float32" if self.short else "float64"), "%x")
            head = (
                f"define internal {self.type} @{own}({self.type} %x) alwaysinline nounwind willreturn memory(none) {{"
            )
            self.declared[own] = "\n".join([head, *self.lines, f"  ret {self.type} {result}", "}"])
            self.lines = kept
        return self.put(f"call {self.type} @{own}({self.type} {x})")

    def compare(self, how: str, a: str, b: str) -> str:
        return self.put(f"fcmp {how} {self.type} {a}, {b}")

    def select(self, condition: str, a: str, b: str) -> str:
        return self.put(f"select i1 {condition}, {self.type} {a}, {self.type} {b}")

    # Memory

    def place(self, lies: Lies, indices: Sequence[str]) -> str:
        at, known = "", lies.start
        for index, stride in zip(indices, lies.strides, strict=True):
            if index.isdecimal():
                known += int(index) * stride
            elif stride:
                term = index if stride == 1 else self.put(f"mul nsw i64 {index}, {stride}")
                at = term if not at else self.put(f"add nsw i64 {at}, {term}")
        at = str(known) if not at else at if not known else self.put(f"add nsw i64 {at}, {known}")
        return self.put(f"getelementptr inbounds {STORED.get(lies.kind, self.type)}, ptr {lies.base}, i64 {at}")

    def load(self, lies: Lies, indices: Sequence[str]) -> str:
        found = self.put(f"load {STORED.get(lies.kind, self.type)}, ptr {self.place(lies, indices)}")
        return self.put(f"uitofp i8 {found} to {self.type}") if lies.kind == "b" else found

    def store(self, text: str, lies: Lies, indices: Sequence[str]) -> None:
        self.lines.append(f"  store {self.type} {text}, ptr {self.place(lies, indices)}")

    def operand(self, operand: Operand, index: dict[int, str]) -> str:
        value, labels = operand
        if not isinstance(value, Value):
            return self.number(value)
        return self.load(self.layout.of[value], [index[x] for x in labels])

    def over(self, sizes: Sequence[int | str], body: Callable[..., None], *given: str) -> None:
        """Loops over sizes, none of which is 0; ``body`` gets the indices. Short ones are written out."""
        if not sizes:
            body(*given)
        elif isinstance(sizes[0], int) and sizes[0] <= SHORT and math.prod(sizes) <= WRITTEN_OUT:  # type: ignore[operator]
            for index in range(sizes[0]):
                self.over(sizes[1:], body, *given, str(index))
        elif sizes[0] == 1:
            self.over(sizes[1:], body, *given, "0")
        else:
            self.count += 1
            index, head, done, before = f"%i{self.count}", f"head{self.count}", f"done{self.count}", self.block
            self.lines += [f"  br label %{head}", f"{head}:"]
            at, self.block = len(self.lines), head
            self.over(sizes[1:], body, *given, index)
            after = self.put(f"add nuw nsw i64 {index}, 1")
            self.lines.insert(at, f"  {index} = phi i64 [ 0, %{before} ], [ {after}, %{self.block} ]")
            again = self.put(f"icmp ult i64 {after}, {sizes[0]}")
            self.lines += [f"  br i1 {again}, label %{head}, label %{done}", f"{done}:"]
            self.block = done

    def summed(self, sizes: Sequence[int], entry: Callable[..., str], start: str, how: str) -> str:
        """All entries together: ``how`` is an instruction, or the name of one of LLVM's functions."""
        self.lines.append(f"  store {self.type} {start}, ptr %sum")

        def body(*indices: str) -> None:
            new = entry(*indices)
            so_far = self.put(f"load {self.type}, ptr %sum")
            free = how in ("fadd", "fmul")
            made = self.real(f"{how} reassoc contract", so_far, new) if free else self.native(how, so_far, new)
            self.lines.append(f"  store {self.type} {made}, ptr %sum")

        self.over(sizes, body)
        return self.put(f"load {self.type}, ptr %sum")

    # Steps

    def _each(self, step: Step, entry: Callable[[dict[int, str]], str]) -> None:
        """Every entry of the result by itself."""
        out, self.many = self.layout.room(step.out), step.out.entries >= MANY

        def body(*indices: str) -> None:
            self.store(entry(dict(zip(step.labels, indices, strict=True))), out, indices)

        self.over(step.out.shape, body)

    def _map(self, step: Step) -> None:
        self._each(step, lambda index: self.mapped(step.name, [self.operand(o, index) for o in step.args]))

    def _spread(self, step: Step) -> None:  # of a number
        self._each(step, lambda index: self.operand(step.args[0], index))

    _cast = _spread

    def _merge(self, step: Step) -> None:
        (value, _), out = step.args[0], self.layout.room(step.out)
        assert isinstance(value, Value)
        whole = replace(out, strides=row_by_row(value.shape))
        self.over(value.shape, lambda *at: self.store(self.load(self.layout.of[value], at), whole, at))

    def _sum(self, step: Step) -> None:
        self._contract(step, lambda index: self.operand(step.args[0], index))

    def _dot(self, step: Step) -> None:
        term = lambda index: self.real("fmul contract", *[self.operand(o, index) for o in step.args])  # noqa: E731
        inner = self._lined_up(step)
        if inner is None:
            self._contract(step, term)
            return
        sizes = step.sizes()
        outer, summed = [x for x in step.labels if x != inner], [x for x in sizes if x not in step.labels]
        out = self.layout.room(step.out)

        def rows(*at: str) -> None:
            index, begin = dict(zip(outer, at, strict=True)), 0
            while begin < sizes[inner]:
                width = 1 << min(sizes[inner] - begin, VECTOR // (4 if self.short else 8)).bit_length() - 1
                index[inner] = str(begin)
                made = self._row(step, index, inner, {x: sizes[x] for x in summed}, width)
                place = self.place(out, [index[x] for x in step.labels])
                self.lines.append(
                    f"  store <{width} x {self.type}> {made}, ptr {place}, align {4 if self.short else 8}"
                )
                begin += width

        self.over([sizes[x] for x in outer], rows)

    def _row(self, step: Step, index: dict[int, str], inner: int, summed: dict[int, int], width: int) -> str:
        """``width`` entries of a product that lie beside one another, from a place on, as a vector."""
        kind = f"<{width} x {self.type}>"
        self.count += 1
        total = f"%total{self.count}"
        self.kept.append(f"  {total} = alloca {kind}")
        self.lines.append(f"  store {kind} zeroinitializer, ptr {total}")

        def term(*at: str) -> None:
            place = {**index, **dict(zip(summed, at, strict=True))}
            made = self.put(
                f"fmul contract {kind} {', '.join([self._wide(o, place, inner, width) for o in step.args])}"
            )
            so_far = self.put(f"load {kind}, ptr {total}")
            self.lines.append(f"  store {kind} {self.put(f'fadd contract {kind} {so_far}, {made}')}, ptr {total}")

        self.over([*summed.values()], term)
        return self.put(f"load {kind}, ptr {total}")

    def _wide(self, operand: Operand, index: dict[int, str], inner: int, width: int) -> str:
        """Some entries of an operand that lie beside one another, or one of them again and again."""
        value, labels = operand
        assert isinstance(value, Value)
        kind, lies = f"<{width} x {self.type}>", self.layout.of[value]
        if inner in labels and lies.strides[labels.index(inner)]:
            place = self.place(lies, [index[x] for x in labels])
            return self.put(f"load {kind}, ptr {place}, align {4 if self.short else 8}")
        one = self.operand(operand, index)
        first = self.put(f"insertelement {kind} poison, {self.type} {one}, i64 0")
        return self.put(f"shufflevector {kind} {first}, {kind} poison, <{width} x i32> zeroinitializer")

    def _lined_up(self, step: Step) -> int | None:
        """The label along which entries of all operands and of the result lie beside one another, if no sum is so."""
        sizes = step.sizes()
        out = self.layout.room(step.out)
        along = [dict(zip(step.labels, out.strides, strict=True))]
        for value, labels in step.args:
            if not isinstance(value, Value) or len(set(labels)) < len(labels):
                return None
            lies = self.layout.of[value]
            if lies.kind != "f":
                return None
            along.append(dict(zip(labels, lies.strides, strict=True)))
        summed = [x for x in sizes if x not in step.labels and sizes[x] > 1]
        if not summed or any(all(a.get(x, 0) <= 1 for a in along[1:]) for x in summed):
            return None
        fit = [x for x in step.labels if along[0][x] == 1 and sizes[x] > 1 and all(a.get(x, 0) <= 1 for a in along[1:])]
        return fit[0] if fit else None

    def _contract(self, step: Step, entry: Callable[[dict[int, str]], str]) -> None:
        sizes = step.sizes()
        rest = [x for x in sizes if x not in step.labels]

        def each(index: dict[int, str]) -> str:
            inner = lambda *at: entry({**index, **dict(zip(rest, at, strict=True))})  # noqa: E731
            return self.summed([sizes[x] for x in rest], inner, self.number(0.0), "fadd")

        self._each(step, each)

    def _place(self, step: Step) -> None:
        has_base, parts = step.params
        args = list(step.args)
        base = args.pop(0) if has_base else (0.0, ())
        boxes = [
            [] if 0 in sizes else [form.bounds(dict(enumerate(sizes))) for form in forms] for _, forms, sizes in parts
        ]
        apart = not has_base and all(_apart(a, b) for k, a in enumerate(boxes) for b in boxes[:k] if a and b)
        filled = apart and sum(math.prod(sizes) for _, _, sizes in parts) == step.out.entries
        out = self.layout.room(step.out)
        if not filled:
            self._each(step, lambda index: self.operand(base, index))
        for (value, _), (own, forms, sizes) in zip(args, parts, strict=True):
            if 0 not in sizes:
                self._put(value, own, _part(out, forms, len(sizes)), sizes, apart)

    def _put(self, value: Value | Number, own: Labels, part: Lies, sizes: Sequence[int], alone: bool) -> None:
        """A part of a result: added to what is there, or stored where it is ``alone``."""

        def body(*at: str) -> None:
            more = self.operand((value, own), dict(enumerate(at)))
            self.store(more if alone else self.real("fadd", self.load(part, at), more), part, at)

        self.over(sizes, body)

    def _call(self, step: Step) -> None:
        (value, _) = step.args[0]
        assert isinstance(value, Value)
        given, out, last = self.layout.of[value], self.layout.room(step.out), value.shape[-1]
        self.many = last >= MANY

        def rows(*at: str) -> None:
            entry = lambda k: self.load(given, (*at, k))  # noqa: E731
            if step.name in REDUCED:
                start = {"max": -math.inf, "min": math.inf, "prod": 1.0}[step.name]
                self.store(self.summed([last], entry, self.number(start), REDUCED[step.name]), out, at)
                return
            if step.name in SHARED:  # one, shared by those that are extreme
                how, start = SHARED[step.name]
                extreme = self.summed([last], entry, self.number(start), how)
                hit = lambda k: self.truth(self.compare("oeq", entry(k), extreme))  # noqa: E731
                count = self.summed([last], hit, self.number(0.0), "fadd")
                self.over([last], lambda k: self.store(self.real("fdiv", hit(k), count), out, (*at, k)))
                return
            top = self.summed([last], entry, self.number(-math.inf), "maximum")
            finite = self.compare("olt", self.native("fabs", top), self.number(math.inf))
            top = self.select(finite, top, self.number(0.0))
            less = lambda k: self.real("fsub", entry(k), top)  # noqa: E731
            total = self.summed([last], lambda k: self.from_c("exp", less(k)), self.number(0.0), "fadd")
            if step.name == "softmax":
                weight = lambda k: self.real("fdiv", self.from_c("exp", less(k)), total)  # noqa: E731
                self.over([last], lambda k: self.store(weight(k), out, (*at, k)))
                return
            log = self.from_c("log", total)
            if step.name == "logsumexp":
                self.store(self.real("fadd", log, top), out, at)
            else:
                self.over([last], lambda k: self.store(self.real("fsub", less(k), log), out, (*at, k)))

        self.over(value.shape[:-1], rows)

    # Functions

    def mapped(self, name: str, args: Sequence[str]) -> str:
        x, *more = args
        if name in IDENTITIES:
            return x
        if name in ARITHMETIC:
            return self.real(ARITHMETIC[name], *args)
        if name in IN_C:
            return self.from_c(name, *args)
        if name in INTRINSICS:
            return self.native(INTRINSICS[name], *args)
        if name in COMPARED:
            return self.truth(self.compare(COMPARED[name], *args))
        if name == "where":
            return self.select(self.compare("une", x, self.number(0.0)), *more)
        return getattr(self, f"map_{name}")(*args)

    def truth(self, condition: str) -> str:
        return self.put(f"uitofp i1 {condition} to {self.type}")

    def map_negative(self, x: str) -> str:
        return self.put(f"fneg {self.type} {x}")

    def map_square(self, x: str) -> str:
        return self.real("fmul", x, x)

    def map_reciprocal(self, x: str) -> str:
        return self.real("fdiv", self.number(1.0), x)

    def map_relu(self, x: str) -> str:
        return self.native("maximum", x, self.number(0.0))

    def map_sigmoid(self, x: str) -> str:
        small = self.from_c("exp", self.map_negative(self.native("fabs", x)))
        top = self.select(self.compare("olt", x, self.number(0.0)), small, self.number(1.0))
        return self.real("fdiv", top, self.real("fadd", self.number(1.0), small))

    def map_softplus(self, x: str) -> str:
        small = self.from_c("exp", self.map_negative(self.native("fabs", x)))
        return self.real("fadd", self.from_c("log1p", small), self.map_relu(x))

    def map_logaddexp(self, x: str, y: str) -> str:
        apart = self.native("fabs", self.real("fsub", x, y))
        more = self.from_c("log1p", self.from_c("exp", self.map_negative(apart)))
        made = self.real("fadd", self.native("maximum", x, y), more)
        twice = self.real("fadd", x, self.number(math.log(2)))
        return self.select(self.compare("oeq", x, y), twice, made)  # infinite ones, too

    def map_sign(self, x: str) -> str:
        one = self.native("copysign", self.number(1.0), x)
        other = self.compare("une", x, self.number(0.0))  # NaN, too
        made = self.select(other, one, self.number(0.0))
        return self.select(self.compare("uno", x, x), x, made)

    def map_power(self, x: str, exponent: str) -> str:
        return self.from_c("pow", x, exponent)


# What there are instructions for
MAPS = {*IN_C, *INTRINSICS, *COMPARED, *ARITHMETIC, *IDENTITIES, "where"}
MAPS |= {name.removeprefix("map_") for name in vars(CodeWriter) if name.startswith("map_")}


def _part(out: Lies, forms: Sequence[Form], count: int) -> Lies:
    """Where a part of a result is, along the labels of the part."""
    along, start = [0] * count, out.start
    for form, stride in zip(forms, out.strides, strict=True):
        start += form.const * stride
        for x, c in form.terms:
            along[x] += c * stride
    return replace(out, start=start, strides=tuple(along))


def _apart(box: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]) -> bool:
    """Whether two boxes, given by the first and the last place along each axis, have nothing in common."""
    return any(a[1] < b[0] or b[1] < a[0] for a, b in zip(box, other, strict=True))
