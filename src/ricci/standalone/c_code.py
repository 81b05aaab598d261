"""Steps as loop nests in C, for sizes that are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ricci.compiler.plan.program_steps import Form, Step, Value
from ricci.errors import RuleError
from ricci.expr import Dim, Size
from ricci.standalone.any_size import BranchSteps, LoopSteps
from ricci.standalone.assembling import given
from ricci.standalone.c_helpers import ENTRY, KEEPS, MATRIX, REDUCES, WHOLE, own_name
from ricci.standalone.entry_code import EntryCode
from ricci.standalone.line_breaking import INDENT
from ricci.standalone.pieces import ADDS, ATOM, COMPARES, MINUS, TIMES, CodePiece, number_piece, unsigned
from ricci.standalone.places import EntryPlace
from ricci.standalone.spelling import COMPARISONS, SIGNS, words

MOST_ON_STACK = 1 << 16  # entries of an array
TYPES = {"f": "double", "i": "long", "b": "int", "n": "double"}
ENTRYWISE = {
    **{
        name: f"{name}({{0}})" for name in words("floor ceil exp exp2 expm1 log log2 log10 log1p sin cos tan cbrt sqrt")
    },
    **{
        name: f"{name}({{0}})"
        for name in words("asin acos atan sinh cosh tanh asinh acosh atanh erf erfc sign digamma")
    },
    **{name: f"{name}({{0}}, {{1}})" for name in words("atan2 hypot mod logaddexp")},
    "abs": "fabs({0})",
    "round": "nearbyint({0})",
    "maximum": "maximum({0}, {1})",
    "minimum": "minimum({0}, {1})",
    "sigmoid": "1.0 / (1.0 + exp(-{0}))",
    "softplus": "logaddexp(0.0, {0})",
    "relu": "maximum({0}, 0.0)",
    "leaky_relu": "({0} > 0 ? {0} : 0.01 * {0})",
    "elu": "({0} > 0 ? {0} : expm1({0}))",
    "silu": "{0} / (1.0 + exp(-{0}))",
    "gelu": "0.5 * {0} * erfc(-sqrt(0.5) * {0})",
    "log_ndtr": "log_ndtr({0})",
    "lgamma": "lgamma({0})",
    "stop_gradient": "{0}",
}


class CCode(EntryCode):
    """Lines of C. A sum is a loop that adds up."""

    sums_inside = False
    pending: Sequence[tuple[str, Size]] = ()  # the loops of the sum that is being written

    def __init__(self, *args: Any, **more: Any):
        super().__init__(*args, **more)
        self.targets: dict[Value, str] = {}  # the arguments that take results

    def target(self, value: Value) -> str:
        return self.targets.get(value, "")

    def at(self, name: str, places: Sequence[EntryPlace]) -> CodePiece:
        return CodePiece(name + "".join([f"[{place.counted(self.sizes, 0, 0).text}]" for place in places]))

    def number(self, value: Any) -> CodePiece:
        if isinstance(value, Dim):
            value = self.size(value)
        if isinstance(value, int):
            value = float(value)
        piece = number_piece(value, self.sizes.piece, "3.141592653589793", "INFINITY", "NAN")
        if piece.rank == TIMES:
            above, _, below = piece.text.partition(" / ")
            return CodePiece(f"{above}.0 / {below}.0", TIMES)
        return piece

    def size(self, size: Size) -> int:
        """A size as a number."""
        size = self.sizes.sizes.of(size)
        if isinstance(size, Dim):
            raise RuleError(lacking_sizes([self.sizes.sizes.name(size)]))
        return size

    def mapped(self, name: str, args: Sequence[CodePiece], step: Step) -> CodePiece:
        if name in SIGNS:
            rank = ADDS if name in ("add", "subtract") else TIMES
            left = args[0].at(rank)
            if name == "divide" and all(not isinstance(v, Value) or v.kind != "f" for v, _ in given(step)):
                left = f"(double)({left})"
            return CodePiece(f"{left} {SIGNS[name]} {args[1].at(rank + (name != 'add'))}", rank)
        if name in COMPARISONS:
            return CodePiece(f"{args[0].at(ADDS)} {COMPARISONS[name]} {args[1].at(ADDS)}", COMPARES)
        if name == "negative":
            return CodePiece(f"-{args[0].at(ATOM)}", MINUS)
        if name == "reciprocal":
            return CodePiece(f"1.0 / {args[0].at(ATOM)}", TIMES)
        if name == "square":
            simple = len(args[0].text) < 24
            text = f"{args[0].at(ATOM)} * {args[0].at(ATOM)}" if simple else f"pow({args[0].text}, 2)"
            return CodePiece(text, TIMES if simple else ATOM)
        if name == "power":
            return CodePiece(f"pow({args[0].text}, {args[1].text})")
        if name == "where":
            return CodePiece(f"({args[0].at(ADDS)} ? {args[1].at(ADDS)} : {args[2].at(ADDS)})")
        if name not in ENTRYWISE:
            raise RuleError(
                f"{name} is not in the library of C, so there is no code of it there; Python's libraries have it."
            )
        template, args = unsigned(ENTRYWISE[name], args)
        once = template.count("{0}") == 1 and "({0}" in template
        text = template.format(*[a.text if once or ", {" in template else a.at(ATOM) for a in args])
        for helper in ENTRY:
            if f"{helper}(" in template:
                self.helpers[helper] = None
        return CodePiece(text, ATOM if text.endswith(")") and " " not in text.split("(")[0] else TIMES)

    def truth(self, piece: CodePiece) -> CodePiece:
        return CodePiece(f"(double)({piece.text})") if piece.rank == COMPARES else piece

    def real(self, piece: CodePiece) -> CodePiece:
        return CodePiece(f"(double){piece.at(ATOM)}")

    def place_text(self, piece: CodePiece) -> str:
        return f"(long){piece.at(ATOM)}" if "[" not in piece.text else piece.at(ATOM)

    def division(self, a: str, b: str) -> str:
        return f"(({a}) / {b})"

    def remainder(self, a: str, b: str) -> str:
        return f"(({a}) % {b})"

    def total(self, piece: CodePiece, ranges: Sequence[tuple[str, Size]]) -> CodePiece:
        self.pending = ranges
        return piece

    # Lines

    def filled(self, name: str, kind: str, ranges: Sequence[tuple[str, Size]], piece: CodePiece, title: str) -> None:
        pending, self.pending = self.pending, ()
        at = first = name + "".join([f"[{x}]" for x, _ in ranges])
        note = f"  // {title}" if title else ""
        if not ranges and name not in self.targets.values():  # a number is declared where it gets its value
            first = f"{TYPES[kind]} {name}"
        else:
            self.declared(name, kind, [n for _, n in ranges], note)
            note = ""
        if not pending:
            self.loops(ranges, [f"{first} = {piece.text};{note}"])
            return
        zero = "0.0" if kind == "f" else "0"
        inner = nested([*pending], [f"{at} += {piece.text};"], self.size)
        self.loops(ranges, [f"{first} = {zero};{note}", *inner])

    def declared(self, name: str, kind: str, shape: Sequence[Size], note: str = "") -> None:
        numbers = [self.size(n) for n in shape]
        sizes = "".join([f"[{n}]" for n in numbers])
        held = "static " if _product(numbers) > MOST_ON_STACK else ""
        if name not in self.targets.values():
            self.lines.append(f"{held}{TYPES[kind]} {name}{sizes};{note}")

    def loops(self, ranges: Sequence[tuple[str, Size]], body: Sequence[str]) -> None:
        self.lines += nested(ranges, body, self.size)

    def made(self, value: Value, kind: str = "") -> str:
        name = self.target(value) if kind in ("", value.kind) else ""
        name = name or self.names.numbered("t")
        self.declared(name, kind or value.kind, value.shape)
        self.call_it(value, name)
        return name

    def _place(self, step: Step) -> None:
        (value, labels), *told = given(step)
        (forms,) = step.params
        ranges = self.ranges(value)
        at = {x: EntryPlace.of(name) for x, (name, _) in zip(labels, ranges, strict=True)}
        by_label = [at.get(x, EntryPlace()) for x in range(1 + max(at, default=-1))]
        places = []
        for form in forms:
            if isinstance(form, Form):
                places.append(EntryPlace.at(form, by_label))
            else:
                places.append(EntryPlace.raw(self.place_text(self.entry(told[form], at))))
        core = self.entry((value, labels), at)
        name = self.made(step.out)
        zeros = self.ranges(step.out)
        self.loops(zeros, [f"{self.at(name, [EntryPlace.of(x) for x, _ in zeros]).text} = 0;"])
        self.loops(ranges, [f"{self.at(name, places).text} += {core.text};"])

    def floats(self, value: Value) -> str:
        """An array of floating numbers with the entries of a value."""
        if value in self.whole and value.kind == "f":
            return self.whole[value]
        name, ranges = self.names.numbered("t"), self.ranges(value)
        self.filled(name, "f", ranges, self.known[value]([EntryPlace.of(x) for x, _ in ranges]), "")
        return name

    def _call(self, step: Step) -> None:
        if step.name == "loop":
            self._loop(step, *step.params)
            return
        if step.name == "branch":
            self._branch(step, *step.params)
            return
        params, axes, results = step.params
        name = step.name
        if name not in REDUCES and name not in KEEPS and name not in MATRIX:
            raise RuleError(f"{name} is not written in C; Python's libraries and Julia have it.")
        arrays = [self.floats(value) for value, _ in given(step)]
        lead = step.labels[: len(step.labels) - len(results)]
        ranges = self.ranges(step.out)[: len(lead)]
        where = dict(zip(lead, [x for x, _ in ranges], strict=True))
        texts = []
        for array, (value, labels), last in zip(arrays, given(step), axes, strict=True):
            before = [where[x] for x in labels[: len(labels) - len(last)]]
            texts.append(_start(array, before, len(last)) if value.shape else f"&{array}")
        value = given(step)[0][0]
        sizes = [self.size(n) for n in value.shape[len(value.shape) - len(axes[0]) :]]
        n = str(_product(sizes) if name in KEEPS else sizes[0])
        kind = "i" if WHOLE.get(name) == "long" else "b" if WHOLE.get(name) == "int" else "f"
        made = self.made(step.out, kind)
        self.helpers[name] = None
        out = _start(made, [x for x, _ in ranges], len(results))
        if not results:
            self.loops(ranges, [f"{out} = {own_name(name)}({n}, {texts[0]});"])
            return
        arguments = [n, *texts, out]
        if name in ("solve", "triangular_solve", "recurrence", "recurrence_back"):
            b = given(step)[1][0]
            columns = [self.size(k) for k in b.shape[len(b.shape) - len(axes[1]) + 1 :]]
            arguments.insert(1, str(_product(columns)))
        if name == "triangular_solve":
            arguments += [str(int(params[1])), str(int(params[2]))]
        if name in ("cholesky", "eigvalsh", "eigh_vectors") and params and params[0]:
            raise RuleError(f"{name} of one triangle is not written in C; Python's libraries have it.")
        self.loops(ranges, [f"{own_name(name)}({', '.join(arguments)});"])

    # Loops and branches

    def _inner(self, steps: Any) -> CCode:
        inner = CCode(steps, self.sizes, self.names, self.axes)
        inner.helpers = self.helpers
        return inner

    def _stored(self, inner: CCode, target: Sequence[str], name: str) -> list[str]:
        """Lines that store the result of inner steps."""
        ((operand, shape),) = inner.all.results
        ranges = inner.indices({}, dict(enumerate(shape)))
        at = {k: EntryPlace.of(x) for k, (x, _) in enumerate(ranges)}
        text = inner.entry(operand, at).text
        entry = name + "".join([f"[{x}]" for x in [*target, *[x for x, _ in ranges]]])
        return [*inner.lines, *nested(ranges, [f"{entry} = {text};"], self.size)]

    def _loop(self, step: Step, loop: LoopSteps) -> None:
        arrays = [self.as_array(value) for value, _ in given(step)]
        *inputs, state = loop.inner.inputs.values()
        time, states = self.names.new("t"), self.names.numbered("s")
        shape = [loop.length + 1, *state.shape]
        self.declared(states, "f", shape)
        ranges = self.indices({}, dict(enumerate(state.shape)))
        tail = "".join([f"[{x}]" for x, _ in ranges])
        self.loops(ranges, [f"{states}[0]{tail} = {arrays[-1]}{'[0]' if loop.forced else ''}{tail};"])
        inner = self._inner(loop.inner)
        for k, value in enumerate(inputs):
            shift = 1 if loop.forced and k == len(inputs) - 1 else 0
            inner.known[value] = self._sliced(arrays[k], None if k < loop.fixed else (time, shift))
        inner.known[state] = self._sliced(states, (time, 0))
        inner.run()
        body = self._stored(inner, [f"{time} + 1"], states)
        self.loops([(time, loop.length)], body)
        if loop.last:
            self.known[step.out] = self._sliced(states, (str(self.size(loop.length)), 0))
        else:
            self.call_it(step.out, states)

    def _sliced(self, name: str, first: tuple[str, int] | None) -> Any:
        head = "" if first is None else f"[{first[0]}{f' + {first[1]}' if first[1] else ''}]"
        return lambda places: CodePiece(self.at(name + head, places).text)

    def _branch(self, step: Step, known: BranchSteps) -> None:
        number, *others = given(step)
        place = self.entry(number, {})
        arrays = [self.as_array(value) for value, _ in others]
        name = self.made(step.out)
        for k, steps in enumerate(known.inner):
            inner = self._inner(steps)
            for array, value in zip(arrays, steps.inputs.values(), strict=True):
                inner.call_it(value, array)
            inner.run()
            last = k == len(known.inner) - 1
            head = f"if ({place.at(ADDS)} <= {k}) {{" if not last else "{"
            body = [INDENT + line for line in self._stored(inner, [], name)]
            self.lines += [f"{'} else ' if k else ''}{head}", *body]
        self.lines.append("}")


def nested(ranges: Sequence[tuple[str, Size]], body: Sequence[str], size: Any) -> list[str]:
    """Lines within loops, each over one index."""
    lines = list(body)
    for name, n in reversed(ranges):
        head = f"for (int {name} = 0; {name} < {size(n)}; {name}++) {{"
        lines = [head, *[INDENT + line for line in lines], "}"]
    return lines


def lacking_sizes(names: Sequence[str]) -> str:
    shown = ", ".join([f'"{name}": 3' for name in names])
    return f"C has loops over numbers, so all sizes must be given; add sizes={{{shown}}}."


def _start(name: str, before: Sequence[str], count: int) -> str:
    """Where the entries of some last axes begin."""
    at = name + "".join([f"[{x}]" for x in before])
    return f"&{at}{'[0]' * count}" if count else at


def _product(sizes: Sequence[int]) -> int:
    found = 1
    for n in sizes:
        found *= n
    return found
