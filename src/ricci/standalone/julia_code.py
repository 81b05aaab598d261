"""Steps as lines of Julia: comprehensions over entries, in the index names of the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ricci.compiler.plan.program_steps import Form, Step, Value
from ricci.errors import RuleError
from ricci.expr import Size
from ricci.standalone.any_size import BranchSteps, LoopSteps
from ricci.standalone.assembling import given
from ricci.standalone.entry_code import EntryCode
from ricci.standalone.line_breaking import INDENT
from ricci.standalone.pieces import ADDS, ATOM, COMPARES, MINUS, RAISES, TIMES, CodePiece, number_piece, unsigned
from ricci.standalone.places import EntryPlace
from ricci.standalone.spelling import COMPARISONS, SIGNS

ENTRYWISE = {
    **{name: f"{name}({{0}})" for name in ("abs", "sign", "floor", "ceil", "round", "exp", "exp2", "expm1", "cbrt")},
    **{name: f"{name}({{0}})" for name in ("log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos")},
    **{name: f"{name}({{0}})" for name in ("atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sqrt")},
    **{name: f"{name}({{0}})" for name in ("erf", "erfc", "erfinv", "digamma")},
    **{name: f"{name}({{0}})" for name in ("conj", "real", "imag", "abs2", "angle")},
    "atan2": "atan({0}, {1})",
    "hypot": "hypot({0}, {1})",
    "maximum": "max({0}, {1})",
    "minimum": "min({0}, {1})",
    "mod": "mod({0}, {1})",
    "logaddexp": "logaddexp({0}, {1})",
    "sigmoid": "1 / (1 + exp(-{0}))",
    "softplus": "logaddexp(0.0, {0})",
    "relu": "max({0}, 0)",
    "leaky_relu": "leaky_relu({0})",
    "elu": "elu({0})",
    "silu": "{0} / (1 + exp(-{0}))",
    "gelu": "{0} / 2 * erfc(-{0} / sqrt(2))",
    "ndtri": "-sqrt(2) * erfcinv(2 * {0})",
    "log_ndtr": "logerfc(-{0} / sqrt(2)) - log(2)",
    "lgamma": "logabsgamma({0})[1]",
    "polygamma": "polygamma({0}, {1})",
    "stop_gradient": "{0}",
}
SPECIAL = ("erf", "erfc", "erfinv", "erfcinv", "logerfc", "digamma", "logabsgamma", "polygamma")
ALONG = {
    "prod": "prod({0})",
    "max": "maximum({0})",
    "min": "minimum({0})",
    "argmax": "argmax({0}) - 1",
    "argmin": "argmin({0}) - 1",
    "any": "any(!iszero, {0})",
    "all": "all(!iszero, {0})",
    "logsumexp": "logsumexp({0})",
    "softmax": "softmax({0})",
    "log_softmax": "{0} .- logsumexp({0})",
    "hardmax": "hardmax({0})",
    "hardmin": "hardmax(-{0})",
    "cumprod": "cumprod({0})",
    "cumsum": "cumsum({0})",
    "cumsum_back": "reverse(cumsum(reverse({0})))",
    "sort": "sort({0})",
    "argsort": "sortperm({0}) .- 1",
    "prod_before": "[1; cumprod({0}[1:end-1])]",
    "prod_after": "reverse([1; cumprod(reverse({0})[1:end-1])])",
    "recurrence": "recurrence({0}, {1})",
    "recurrence_back": "reverse(recurrence(reverse({0}), reverse({1}, dims=1)), dims=1)",
    "det": "det({0})",
    "logdet": "logabsdet({0})[1]",
    "slogdet_sign": "logabsdet({0})[2]",
    "inv": "inv({0})",
    "cholesky": "Matrix(cholesky(Symmetric({S})).L)",
    "expm": "exp({0})",
    "eigvalsh": "eigvals(Symmetric({S}))",
    "eigh_vectors": "eigvecs(Symmetric({S}))",
    "svdvals": "svdvals({0})",
    "svd_vectors": "svd_vectors({0})",
    "qr_q": "Matrix(qr({0}).Q)",
    "pinv": "pinv({0})",
    "solve": "{0} \\ {1}",
    "lower_solve": "LowerTriangular({0}) \\ {1}",
    "upper_solve": "UpperTriangular({0}) \\ {1}",
    "lower_solve_turned": "LowerTriangular({0})' \\ {1}",
    "upper_solve_turned": "UpperTriangular({0})' \\ {1}",
    "expm_along": "expm_along({0}, {1})",
}
LINEAR = ("det", "logabsdet", "inv", "cholesky", "Symmetric", "eigvals", "eigvecs", "svdvals", "svd", "qr", "pinv")
LINEAR += ("LowerTriangular", "UpperTriangular", "Matrix(", "\\ ")
HELPERS = {
    "logaddexp": '"log(exp(a) + exp(b)) without overflow."\nlogaddexp(a, b) = '
    "a == b ? a + log(oftype(a, 2)) : max(a, b) + log1p(exp(-abs(a - b)))",
    "leaky_relu": "leaky_relu(x) = x > 0 ? x : x / 100",
    "elu": "elu(x) = x > 0 ? x : expm1(x)",
    "logsumexp": '"log(sum(exp(x))) without overflow."\n'
    "function logsumexp(x)\n    top = maximum(x)\n"
    "    return isfinite(top) ? top + log(sum(exp.(x .- top))) : top\nend",
    "softmax": '"exp(x) / sum(exp(x)) without overflow."\n'
    "function softmax(x)\n    weights = exp.(x .- maximum(x))\n    return weights ./ sum(weights)\nend",
    "hardmax": '"1/n at the n largest entries, and 0 elsewhere."\n'
    "function hardmax(x)\n    hits = x .== maximum(x)\n    return hits ./ sum(hits)\nend",
    "recurrence": '"y[1] = 0, y[i+1] = a[i] y[i] + b[i], along the first axis."\n'
    "function recurrence(a, b)\n    y = zero(b)\n    for i in 1:size(b, 1)-1\n"
    "        selectdim(y, 1, i + 1) .= a[i] .* selectdim(y, 1, i) .+ selectdim(b, 1, i)\n    end\n    return y\nend",
    "svd_vectors": '"The left singular vectors, and below them the right ones."\nsvd_vectors(a) = [svd(a).U; svd(a).V]',
    "expm_along": '"How the exponential of a matrix changes along e."\n'
    "function expm_along(a, e)\n    n = size(a, 1)\n    return exp([a e; zero(a) a])[1:n, n+1:end]\nend",
}


class JuliaCode(EntryCode):
    """Lines of Julia."""

    base = 1

    def at(self, name: str, places: Sequence[EntryPlace]) -> CodePiece:
        texts = [place.counted(self.sizes, 1, 1).text for place in places]
        return CodePiece(f"{name}[{', '.join(texts)}]" if texts else name)

    def number(self, value: Any) -> CodePiece:
        return number_piece(value, self.sizes.piece, "pi", "Inf", "NaN", "im")

    def mapped(self, name: str, args: Sequence[CodePiece], step: Step) -> CodePiece:
        if name in SIGNS:
            rank = ADDS if name in ("add", "subtract") else TIMES
            right = args[1].at(rank + (name != "add"))
            return CodePiece(f"{args[0].at(rank)} {SIGNS[name]} {right}", rank)
        if name in COMPARISONS:
            return CodePiece(f"{args[0].at(ADDS)} {COMPARISONS[name]} {args[1].at(ADDS)}", COMPARES)
        if name == "negative":
            return CodePiece(f"-{args[0].at(TIMES)}", MINUS)
        if name == "reciprocal":
            return CodePiece(f"1 / {args[0].at(RAISES)}", TIMES)
        if name in ("power", "square"):
            n = args[1] if name == "power" else CodePiece("2")
            return CodePiece(f"{args[0].at(ATOM)}^{n.at(ATOM)}", RAISES)
        if name == "where":
            truth = given(step)[0][0]
            c = (
                args[0]
                if isinstance(truth, Value) and truth.kind == "b"
                else CodePiece(f"{args[0].at(ADDS)} != 0", COMPARES)
            )
            if given(step)[2][0] == 0:  # so that all entries are of one type; in Julia false times anything is zero
                one = given(step)[1][0] == 1
                return (
                    CodePiece(f"float({c.text})") if one else CodePiece(f"({c.text}) * {args[1].at(TIMES + 1)}", ADDS)
                )
            return CodePiece(f"({c.at(ADDS)} ? {_same_type(args[1])} : {_same_type(args[2])})")
        if name not in ENTRYWISE:
            raise RuleError(f"{name} has no name in Julia, so there is no code of it there.")
        template, args = unsigned(ENTRYWISE[name], args)
        text = template.format(*[a.text if f"({{{k}}}" in template else a.at(ATOM) for k, a in enumerate(args)])
        self.noted(text)
        return CodePiece(text, ATOM if text.endswith((")", "]")) and " / " not in text[:12] else TIMES)

    def noted(self, text: str) -> None:
        for name in HELPERS:
            if f"{name}(" in text:
                self.helpers[name] = None

    def total(self, piece: CodePiece, ranges: Sequence[tuple[str, Size]]) -> CodePiece:
        loops = ", ".join([f"{x} in 1:{self.sizes.piece(n).text}" for x, n in ranges])
        return CodePiece(f"sum({piece.text} for {loops}; init=0.0)")

    def filled(self, name: str, kind: str, ranges: Sequence[tuple[str, Size]], piece: CodePiece, title: str) -> None:
        loops = ", ".join([f"{x} in 1:{self.sizes.piece(n).at(TIMES)}" for x, n in ranges])
        text = f"[{piece.text} for {loops}]" if ranges else piece.text
        self.lines.append(f"{name} = {text}" + (f"  # {title}" if title else ""))

    def real(self, piece: CodePiece) -> CodePiece:
        return CodePiece(f"float({piece.text})")

    def division(self, a: str, b: str) -> str:
        return f"div({a}, {b})"

    def remainder(self, a: str, b: str) -> str:
        return f"mod({a}, {b})"

    def shape(self, sizes: Sequence[Size]) -> str:
        return ", ".join([self.sizes.piece(n).text for n in sizes])

    # Lines of their own

    def zeros(self, value: Value) -> str:
        name = self.names.numbered("t")
        kind = "ComplexF64, " if value.kind == "c" else ""
        self.lines.append(f"{name} = zeros({kind}{self.shape(value.shape)})")
        self.call_it(value, name)
        return name

    def loops(self, ranges: Sequence[tuple[str, Size]], line: str) -> None:
        """A line for all indices."""
        if not ranges:
            self.lines.append(line)
            return
        loops = ", ".join([f"{x} in 1:{self.sizes.piece(n).at(TIMES)}" for x, n in ranges])
        self.lines += [f"for {loops}", INDENT + line, "end"]

    def _place(self, step: Step) -> None:
        (value, labels), *told = given(step)
        (forms,) = step.params
        ranges = self.ranges(value)
        at = {x: EntryPlace.of(name) for x, (name, _) in zip(labels, ranges, strict=True)}
        places = []
        for form in forms:
            if isinstance(form, Form):
                places.append(EntryPlace.at(form, _by_label(at)))
            else:
                places.append(EntryPlace.raw(self.place_text(self.entry(told[form], at))))
        core = self.entry((value, labels), at)
        name = self.zeros(step.out)
        self.loops(ranges, f"{self.at(name, places).text} += {core.text}")

    def _call(self, step: Step) -> None:
        if step.name == "loop":
            self._loop(step, *step.params)
            return
        if step.name == "branch":
            self._branch(step, *step.params)
            return
        params, axes, results = step.params
        name = step.name
        arrays = [self.as_array(value) for value, _ in given(step)]
        lead = step.labels[: len(step.labels) - len(results)]
        ranges = self.ranges(step.out)[: len(lead)]
        where = dict(zip(lead, [x for x, _ in ranges], strict=True))
        slices = []
        for array, (_, labels), own in zip(arrays, given(step), axes, strict=True):
            before = [where[x] for x in labels[: len(labels) - len(own)]]
            slices.append(f"{array}[{', '.join([*before, *[':'] * len(own)])}]" if before else array)
        text = self.called(name, params, slices, [len(own) for own in axes])
        if not lead:
            made = self.names.numbered("t")
            self.lines.append(f"{made} = {text}")
            self.call_it(step.out, made)
        elif not results:
            made = self.names.numbered("t")
            self.filled(made, step.out.kind, ranges, CodePiece(text), "")
            self.call_it(step.out, made)
        else:
            made = self.zeros(step.out)
            at = ", ".join([*[x for x, _ in ranges], *[":"] * len(results)])
            self.loops(ranges, f"{made}[{at}] = {text}")

    def called(self, name: str, params: tuple, slices: Sequence[str], own: Sequence[int]) -> str:
        """A function of whole slices."""
        if name in ("solve", "triangular_solve"):
            if params[0] > 1:
                raise RuleError(f"{name} with a right side of more than two axes is not written in Julia.")
            if name == "triangular_solve":
                name = ("lower" if params[1] else "upper") + "_solve" + ("_turned" if params[2] else "")
        if name not in ALONG:
            raise RuleError(f"{name} has no name in Julia, so there is no code of it there.")
        a = slices[0]
        whole = f"({a} + {a}') / 2" if not params or not params[0] else f"{a}, :{params[0]}"
        text = ALONG[name].replace("{S}", whole).format(*slices)
        self.noted(text)
        return text

    def _loop(self, step: Step, loop: LoopSteps) -> None:
        arrays = [self.as_array(value) for value, _ in given(step)]
        *inputs, state = loop.inner.inputs.items()
        time, states = self.names.new("t"), self.names.numbered("s")
        known: dict[Value, str] = {}
        for k, (_, value) in enumerate(inputs):
            tail = ", ".join([":"] * len(value.shape))
            moved = time if not loop.forced or k < len(inputs) - 1 else f"{time} + 1"
            known[value] = arrays[k] if k < loop.fixed else f"{arrays[k]}[{', '.join([x for x in (moved, tail) if x])}]"
        shape = [loop.length + 1, *state[1].shape]
        tail = "".join([", :"] * len(state[1].shape))
        start = f"{arrays[-1]}[1{tail}]" if loop.forced else arrays[-1]
        dot = "." if state[1].shape else ""
        self.lines.append(f"{states} = zeros({self.shape(shape)})")
        self.lines.append(f"{states}[1{tail}] {dot}= {start}")
        self.lines.append(f"for {time} in 1:{self.sizes.piece(loop.length).at(TIMES)}")
        inner = JuliaCode(loop.inner, self.sizes, self.names, self.axes)
        inner.helpers = self.helpers
        for value, text in known.items():
            own = self.names.numbered("x")
            self.lines.append(f"{INDENT}{own} = {text}")
            inner.call_it(value, own)
        own = self.names.numbered("x")
        self.lines.append(f"{INDENT}{own} = {states}[{time}{tail}]")
        inner.call_it(state[1], own)
        inner.run()
        new = inner.result(*loop.inner.results[0])
        self.lines += [INDENT + line for line in inner.lines]
        self.lines += [f"{INDENT}{states}[{time} + 1{tail}] {dot}= {new}", "end"]
        if loop.last:
            final = f"{states}[end{tail}]"
            name = self.names.numbered("t")
            self.lines.append(f"{name} = {final}")
            self.call_it(step.out, name)
        else:
            self.call_it(step.out, states)

    def _branch(self, step: Step, known: BranchSteps) -> None:
        number, *others = given(step)
        place = self.entry(number, {})
        arrays = [self.as_array(value) for value, _ in others]
        name = self.names.numbered("t")
        for k, inner in enumerate(known.inner):
            code = JuliaCode(inner, self.sizes, self.names, self.axes)
            code.helpers = self.helpers
            for array, value in zip(arrays, inner.inputs.values(), strict=True):
                code.call_it(value, array)
            code.run()
            last = k == len(known.inner) - 1
            head = "else" if last and k else f"{'else' * bool(k)}if {place.at(ADDS)} <= {k}"
            self.lines += [head, *[INDENT + line for line in code.lines]]
            self.lines.append(f"{INDENT}{name} = {code.result(*inner.results[0])}")
        self.lines.append("end")
        self.call_it(step.out, name)

    def result(self, operand: tuple, shape: Sequence[Size]) -> str:
        """The text of a result, with all its axes in their order."""
        value, labels = operand
        if isinstance(value, int):
            value, operand = float(value), (float(value), labels)
        if not shape:
            return self.entry(operand, {}).text
        if value in self.whole and tuple(labels) == tuple(range(len(shape))):
            return self.whole[value]
        named = dict(enumerate(self.axes.of(value))) if isinstance(value, Value) else {}
        names = {x: named.get(k, "") for k, x in enumerate(labels)}
        ranges = self.indices(names, dict(enumerate(shape)))
        at = {x: EntryPlace.of(name) for x, (name, _) in enumerate(ranges)}
        loops = ", ".join([f"{x} in 1:{self.sizes.piece(n).at(TIMES)}" for x, n in ranges])
        self.scope = [x for x, _ in ranges]
        text = self.entry(operand, at).text
        self.scope = []
        return f"[{text} for {loops}]"


def _same_type(piece: CodePiece) -> str:
    """A branch of a choice; a whole number as one with a point, since the other branch has one."""
    return f"{piece.text}.0" if piece.text.isdigit() else piece.at(ADDS)


def _by_label(at: dict[int, EntryPlace]) -> list[EntryPlace]:
    return [at.get(x, EntryPlace()) for x in range(1 + max(at, default=-1))]
