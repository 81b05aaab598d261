"""Functions of small matrices, places given by integers, and running sums as instructions of LLVM.

Systems are solved by Gauss's elimination, the largest entry of a column on the diagonal; a row that has a larger one
than those before changes places with it as soon as it is met. What NumPy raises an error for (a matrix that is
singular, or not positive, a place outside of an axis) is noted in the first entry of ``%w``; whoever called the code
then has NumPy do it again, and say what is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ricci.compiler.fused.segment_code import SHORT, CodeWriter, Lies, row_by_row, writable
from ricci.compiler.plan.program_steps import Step, Value

OF_MATRICES = {"solve", "inv", "det", "logdet", "slogdet_sign", "cholesky", "triangular_solve"}
ROWS = 32  # of a matrix: for larger ones LAPACK is faster
RUNNING = {"cumsum": ("fadd", 0.0), "cumprod": ("fmul", 1.0)}
FLAGS = {"any": ("maximum", 0.0), "all": ("minimum", 1.0)}


def feasible(step: Step) -> bool:
    """Whether there are instructions for a step of a loop."""
    kinds = [v.kind for v in step.operands]
    if any(v.kind == "c" or 0 in v.shape for v in [*step.operands, step.out]):
        return False
    if step.op in ("read", "spread", "merge", "check") and len(kinds) == 1:
        return True
    if step.out.kind == "i":
        return step.op == "locate" and len(kinds) == len(step.args)
    if step.op in ("take", "scatter"):
        return len(kinds) == 2 and kinds[0] != "i"
    if step.op == "cast":
        return step.name == "f"
    if step.op == "guard":
        return True
    if step.op == "call" and step.name in OF_MATRICES:
        return step.operands[0].shape[-1] <= ROWS
    if step.op == "call" and step.name in (*RUNNING, *FLAGS):
        return step.params[1] == 1 and "i" not in kinds
    if step.op == "map" and "i" in kinds:
        return writable(_with_floats(step))
    return writable(step)


def _with_floats(step: Step) -> Step:
    """The same map of floats in place of integers."""
    args = [(Value(v.shape, "f") if isinstance(v, Value) and v.kind == "i" else v, own) for v, own in step.args]
    return Step(step.op, step.name, tuple(args), step.out, step.labels, step.params)


class MatrixWriter(CodeWriter):
    """Writes these instructions, too."""

    def fail(self, condition: str) -> None:
        """Note that NumPy is to do it, if a condition holds."""
        before = self.put(f"load {self.type}, ptr %w")
        self.lines.append(f"  store {self.type} {self.select(condition, self.number(1.0), before)}, ptr %w")

    # Loops, and indices that may be known

    def span(self, start: str, stop: str, body: Callable[[str], None]) -> None:
        """A loop from one index to before another, which may be no step at all."""
        if start.isdecimal() and stop.isdecimal() and int(stop) - int(start) <= SHORT:
            for index in range(int(start), int(stop)):
                body(str(index))
            return
        self.count += 1
        index, head, done, before = f"%i{self.count}", f"head{self.count}", f"done{self.count}", self.block
        some = self.put(f"icmp slt i64 {start}, {stop}")
        self.lines += [f"  br i1 {some}, label %{head}, label %{done}", f"{head}:"]
        at, self.block = len(self.lines), head
        body(index)
        after = self.put(f"add nuw nsw i64 {index}, 1")
        self.lines.insert(at, f"  {index} = phi i64 [ {start}, %{before} ], [ {after}, %{self.block} ]")
        again = self.put(f"icmp slt i64 {after}, {stop}")
        self.lines += [f"  br i1 {again}, label %{head}, label %{done}", f"{done}:"]
        self.block = done

    def index(self, op: str, a: str, b: str) -> str:
        if a.isdecimal() and b.isdecimal():
            return str(int(a) + int(b) if op == "add" else int(a) - int(b))
        return self.put(f"{op} nsw i64 {a}, {b}")

    def copied(self, shape: Sequence[int], given: Callable[..., str]) -> Lies:
        """Memory of its own, filled entry by entry."""
        own = self.layout.room(Value(tuple(shape), "f"))
        self.over(shape, lambda *at: self.store(given(*at), own, at))
        return own

    def changed(self, lies: Lies, at: Sequence[str], factor: str, by: str) -> None:
        """An entry less a product."""
        product = self.real("fmul contract", factor, by)
        self.store(self.real("fsub contract", self.load(lies, at), product), lies, at)

    # Functions of matrices

    def _call(self, step: Step) -> None:
        if step.name in RUNNING:
            self._running(step)
        elif step.name in FLAGS:
            self._any(step)
        elif step.name not in OF_MATRICES:
            super()._call(step)
        else:
            first = step.operands[0]
            lead, n = first.shape[:-2], first.shape[-1]
            out = self.layout.room(step.out)
            self.many = False
            self.over(lead, lambda *at: getattr(self, f"_{step.name}")(step, out, at, n))

    def _entries(self, step: Step, number: int, at: Sequence[str]) -> Callable[..., str]:
        """The entries of an operand at a place along its leading axes."""
        lies = self.layout.of[step.operands[number]]
        return lambda *own: self.load(lies, (*at, *own))

    def _eliminated(self, n: int, a: Lies, x: Lies | None, columns: int, exact: bool) -> str:
        """Make ``a`` an upper triangle, and do the same with ``x``; the name of where the sign of the swaps is."""
        self.count += 1
        sign = f"%sign{self.count}"
        self.kept.append(f"  {sign} = alloca {self.type}")
        self.lines.append(f"  store {self.type} {self.number(1.0)}, ptr {sign}")
        rows = [(a, n)] + ([] if x is None else [(x, columns)])

        def column(k: str) -> None:
            def larger(i: str) -> None:
                here, there = [self.native("fabs", self.load(a, (row, k))) for row in (k, i)]
                better = self.compare("ogt", there, here)
                so_far = self.put(f"load {self.type}, ptr {sign}")
                turned = self.select(better, self.map_negative(so_far), so_far)
                self.lines.append(f"  store {self.type} {turned}, ptr {sign}")

                def swap(lies: Lies, c: str) -> None:
                    one, other = self.load(lies, (k, c)), self.load(lies, (i, c))
                    self.store(self.select(better, other, one), lies, (k, c))
                    self.store(self.select(better, one, other), lies, (i, c))

                for lies, width in rows:
                    self.over([width], lambda c, lies=lies: swap(lies, c))

            after = self.index("add", k, "1")
            self.span(after, str(n), larger)
            pivot = self.load(a, (k, k))
            zero = self.compare("oeq", pivot, self.number(0.0))
            if exact:
                self.fail(zero)
            divisor = self.select(zero, self.number(1.0), pivot)

            def below(i: str) -> None:
                factor = self.real("fdiv", self.load(a, (i, k)), divisor)
                for lies, width in rows:
                    self.over([width], lambda c, lies=lies: self.changed(lies, (i, c), factor, self.load(lies, (k, c))))

            self.span(after, str(n), below)

        self.span("0", str(n), column)
        return sign

    def _solved(self, n: int, a: Lies, x: Lies, columns: int) -> None:
        self._eliminated(n, a, x, columns, True)
        self._backwards(n, a, x, columns)

    def _backwards(self, n: int, a: Lies, x: Lies, columns: int) -> None:
        """Solve with an upper triangle."""

        def row(back: str) -> None:
            k = self.index("sub", str(n - 1), back)
            pivot = self.load(a, (k, k))
            self.over([columns], lambda c: self.store(self.real("fdiv", self.load(x, (k, c)), pivot), x, (k, c)))

            def above(i: str) -> None:
                factor = self.load(a, (i, k))
                self.over([columns], lambda c: self.changed(x, (i, c), factor, self.load(x, (k, c))))

            self.span("0", k, above)

        self.span("0", str(n), row)

    def _forwards(self, n: int, a: Lies, x: Lies, columns: int) -> None:
        """Solve with a lower triangle."""

        def row(k: str) -> None:
            pivot = self.load(a, (k, k))
            self.over([columns], lambda c: self.store(self.real("fdiv", self.load(x, (k, c)), pivot), x, (k, c)))

            def below(i: str) -> None:
                factor = self.load(a, (i, k))
                self.over([columns], lambda c: self.changed(x, (i, c), factor, self.load(x, (k, c))))

            self.span(self.index("add", k, "1"), str(n), below)

        self.span("0", str(n), row)

    def _right_sides(self, step: Step, at: Sequence[str], n: int) -> tuple[Lies, tuple[int, ...]]:
        """A copy of the right sides, their columns in one axis; and the shape of these."""
        value = step.operands[1]
        shape = value.shape[len(value.shape) - step.params[0][0] :]
        own = self.layout.room(Value((n, *shape), "f"))
        given = self._entries(step, 1, at)
        self.over((n, *shape), lambda *index: self.store(given(*index), own, index))
        return Lies(own.start, (math.prod(shape), 1), own.base), shape

    def _given_back(self, x: Lies, n: int, shape: tuple[int, ...], out: Lies, at: Sequence[str]) -> None:
        whole = Lies(x.start, row_by_row((n, *shape)), x.base)
        self.over((n, *shape), lambda *own: self.store(self.load(whole, own), out, (*at, *own)))

    def _solve(self, step: Step, out: Lies, at: Sequence[str], n: int) -> None:
        a = self.copied((n, n), self._entries(step, 0, at))
        x, shape = self._right_sides(step, at, n)
        self._solved(n, a, x, math.prod(shape))
        self._given_back(x, n, shape, out, at)

    def _triangular_solve(self, step: Step, out: Lies, at: Sequence[str], n: int) -> None:
        _, lower, transpose = step.params[0]
        entry = self._entries(step, 0, at)
        a = self.copied((n, n), (lambda i, k: entry(k, i)) if transpose else entry)
        x, shape = self._right_sides(step, at, n)
        self.span("0", str(n), lambda k: self.fail(self.compare("oeq", self.load(a, (k, k)), self.number(0.0))))
        (self._forwards if lower != transpose else self._backwards)(n, a, x, math.prod(shape))
        self._given_back(x, n, shape, out, at)

    def _inv(self, step: Step, out: Lies, at: Sequence[str], n: int) -> None:
        a = self.copied((n, n), self._entries(step, 0, at))
        x = self.copied((n, n), lambda *_: self.number(0.0))
        self.over([n], lambda k: self.store(self.number(1.0), x, (k, k)))
        self._solved(n, a, x, n)
        self._given_back(x, n, (n,), out, at)

    def _diagonal(self, step: Step, at: Sequence[str], n: int) -> tuple[str, Callable[[str], str]]:
        """The sign of the swaps of rows, and the entries on the diagonal after elimination."""
        a = self.copied((n, n), self._entries(step, 0, at))
        sign = self._eliminated(n, a, None, 0, False)
        return sign, lambda k: self.load(a, (k, k))

    def _det(self, step: Step, out: Lies, at: Sequence[str], n: int) -> None:
        sign, pivot = self._diagonal(step, at, n)
        total = self.summed([n], pivot, self.number(1.0), "fmul")
        self.store(self.real("fmul", total, self.put(f"load {self.type}, ptr {sign}")), out, at)

    def _logdet(self, step: Step, out: Lies, at: Sequence[str], n: int) -> None:
        _, pivot = self._diagonal(step, at, n)
        size = lambda k: self.from_c("log", self.native("fabs", pivot(k)))  # noqa: E731
        self.store(self.summed([n], size, self.number(0.0), "fadd"), out, at)

    def _slogdet_sign(self, step: Step, out: Lies, at: Sequence[str], n: int) -> None:
        sign, pivot = self._diagonal(step, at, n)
        total = self.summed([n], lambda k: self.map_sign(pivot(k)), self.number(1.0), "fmul")
        self.store(self.real("fmul", total, self.put(f"load {self.type}, ptr {sign}")), out, at)

    def _cholesky(self, step: Step, out: Lies, at: Sequence[str], n: int) -> None:
        triangle = step.params[0][0] if step.params[0] else ""
        entry = self._entries(step, 0, at)

        def given(i: str, k: str) -> str:
            if triangle:
                return entry(i, k) if triangle == "L" else entry(k, i)
            return self.real("fmul", self.number(0.5), self.real("fadd", entry(i, k), entry(k, i)))

        a = self.copied((n, n), given)

        def column(k: str) -> None:
            square = self.load(a, (k, k))
            self.fail(self.put(f"fcmp ule {self.type} {square}, {self.number(0.0)}"))
            root = self.native("sqrt", square)
            self.span(k, str(n), lambda i: self.store(self.real("fdiv", self.load(a, (i, k)), root), a, (i, k)))

            def below(i: str) -> None:
                factor = self.load(a, (i, k))
                after = self.index("add", k, "1")
                upto = self.index("add", i, "1")
                self.span(after, upto, lambda j: self.changed(a, (i, j), factor, self.load(a, (j, k))))

            self.span(self.index("add", k, "1"), str(n), below)

        self.span("0", str(n), column)

        def result(i: str, k: str) -> None:
            inside = self.put(f"icmp sge i64 {i}, {k}")
            self.store(self.select(inside, self.load(a, (i, k)), self.number(0.0)), out, (*at, i, k))

        self.over((n, n), result)

    # Along the last axis

    def _running(self, step: Step) -> None:
        how, start = RUNNING[step.name]
        value = step.operands[0]
        given, out = self.layout.of[value], self.layout.room(step.out)

        def rows(*at: str) -> None:
            self.lines.append(f"  store {self.type} {self.number(start)}, ptr %sum")

            def entry(k: str) -> None:
                made = self.real(how, self.put(f"load {self.type}, ptr %sum"), self.load(given, (*at, k)))
                self.lines.append(f"  store {self.type} {made}, ptr %sum")
                self.store(made, out, (*at, k))

            self.over([value.shape[-1]], entry)

        self.over(value.shape[:-1], rows)

    def _any(self, step: Step) -> None:
        how, start = FLAGS[step.name]
        value = step.operands[0]
        given, out = self.layout.of[value], self.layout.room(step.out)

        def rows(*at: str) -> None:
            hit = lambda k: self.truth(self.compare("une", self.load(given, (*at, k)), self.number(0.0)))  # noqa: E731
            self.store(self.summed([value.shape[-1]], hit, self.number(start), how), out, at)

        self.over(value.shape[:-1], rows)

    # Places given by integers

    def load(self, lies: Lies, indices: Sequence[str]) -> str:
        if lies.kind != "i":
            return super().load(lies, indices)
        return self.put(f"sitofp i64 {self.whole(lies, indices)} to {self.type}")

    def whole(self, lies: Lies, indices: Sequence[str]) -> str:
        """An entry of an array of integers."""
        return self.put(f"load i64, ptr {self.place(lies, indices)}")

    def within(self, index: str, size: int) -> str:
        """An index, which is noted if it is outside of an axis."""
        inside = self.put(f"icmp ult i64 {index}, {size}")
        self.fail(self.put(f"xor i1 {inside}, true"))
        return self.put(f"select i1 {inside}, i64 {index}, i64 0")

    def _locate(self, step: Step) -> None:
        strides = row_by_row(step.params)
        out = self.layout.room(step.out)

        def body(*at: str) -> None:
            index, total = dict(zip(step.labels, at, strict=True)), "0"
            for (value, labels), stride in zip(step.args, strides, strict=True):
                assert isinstance(value, Value)
                part = self.whole(self.layout.of[value], [index[x] for x in labels])
                total = self.put(f"add nsw i64 {total}, {self.put(f'mul nsw i64 {part}, {stride}')}")
            self.lines.append(f"  store i64 {total}, ptr {self.place(out, at)}")

        self.over(step.out.shape, body)

    def _take(self, step: Step) -> None:
        value, places = step.operands
        (axis,) = step.params
        given, at, out = self.layout.of[value], self.layout.of[places], self.layout.room(step.out)
        order = len(places.shape)

        def body(*index: str) -> None:
            place = self.within(self.whole(at, index[axis : axis + order]), value.shape[axis])
            self.store(self.load(given, (*index[:axis], place, *index[axis + order :])), out, index)

        self.over(step.out.shape, body)

    def _scatter(self, step: Step) -> None:
        (value, labels), (places, own) = step.args
        assert isinstance(value, Value) and isinstance(places, Value)
        self._each(step, lambda _index: self.number(0.0))
        given, at, out = self.layout.of[value], self.layout.of[places], self.layout.of[step.out]

        def body(*index: str) -> None:
            known = dict(zip(labels, index, strict=True))
            first = self.within(self.whole(at, [known[x] for x in own]), step.out.shape[0])
            place = (first, *[known[x] for x in step.labels[1:]])
            self.store(self.real("fadd", self.load(out, place), self.load(given, index)), out, place)

        self.over(value.shape, body)

    def _guard(self, step: Step) -> None:
        """What is finite is as it is; all else is left to NumPy."""

        def entry(index: dict[int, str]) -> str:
            found = self.operand(step.args[0], index)
            finite = self.compare("olt", self.native("fabs", found), self.number(math.inf))
            self.fail(self.put(f"xor i1 {finite}, true"))
            return found

        self._each(step, entry)
