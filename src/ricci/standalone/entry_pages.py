"""Whole functions of Julia and C, and LaTeX algorithms."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from ricci.compiler.plan.program_steps import Value
from ricci.compiler.prepare.known_sizes import KnownSizes
from ricci.errors import InputError, RuleError
from ricci.expr import topological
from ricci.show.latex import symbol
from ricci.standalone.any_size import AnySizeSteps, steps_of
from ricci.standalone.c_code import TYPES as C_TYPES
from ricci.standalone.c_code import CCode, lacking_sizes, nested
from ricci.standalone.c_helpers import ENTRY, KEEPS, MATRIX, REDUCES, c_helper, own_name, with_needs
from ricci.standalone.entry_code import EntryCode
from ricci.standalone.julia_code import HELPERS, LINEAR, SPECIAL, JuliaCode
from ricci.standalone.latex_code import LatexCode, in_commands
from ricci.standalone.line_breaking import INDENT, comprehended
from ricci.standalone.pages import about, arguments, assumed, axis_names, counted, tellers, titles, written_out
from ricci.standalone.pieces import FreeNames, SizeTexts
from ricci.standalone.places import EntryPlace
from ricci.standalone.requests import CodeWanted
from ricci.standalone.tidying import tidied, words_read

C_WORDS = """auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while main
abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma fmax
fmin fmod frexp hypot ilogb j0 j1 jn ldexp lgamma log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter
pow remainder remquo rint round scalbn sin sinh sqrt tan tanh tgamma trunc y0 y1 yn gamma signgam significand drem exp10
pow10 isfinite isinf isnan isnormal signbit finite scalb gammaf double_t float_t INFINITY NAN HUGE_VAL HUGE_VALF
HUGE_VALL MATH_ERRNO MATH_ERREXCEPT FP_NAN FP_INFINITE FP_ZERO FP_SUBNORMAL FP_NORMAL FP_ILOGB0 FP_ILOGBNAN M_E M_LOG2E
M_LOG10E M_LN2 M_LN10 M_PI M_PI_2 M_PI_4 M_1_PI M_2_PI M_2_SQRTPI M_SQRT2 M_SQRT1_2 MAXFLOAT linux unix i386 index time
sign mod asm typeof bool true false NULL"""
JULIA_WORDS = """baremodule begin break catch const continue do else elseif end export false finally for function global
if import in isa let local macro module quote return struct true try using where while abs all any argmax argmin cumprod
cumsum div exp expm1 inv log log1p max maximum min minimum mod pi prod reshape reverse selectdim sign size sort sortperm
sqrt sum zero zeros cbrt ceil floor round hypot iszero exp2 log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh
acosh atanh cholesky det eigvals eigvecs logabsdet pinv qr svd svdvals Matrix Symmetric LowerTriangular UpperTriangular
erf erfc erfinv erfcinv logerfc digamma logabsgamma polygamma Inf NaN log"""


class EntryPage:
    """One function, while it is being written."""

    quotient = "{0} // {1}"
    before = "n_"  # what the name of a size begins with, where indices have their own
    reserved = ""
    helped: Collection[str] = ()  # the functions that may be written above

    def __init__(self, wanted: CodeWanted):
        self.wanted = wanted
        self.known = KnownSizes(wanted.stage, wanted.sizes, wanted.named_sizes)
        self.steps = steps_of(wanted.stage, self.known, wanted.definitions, trailing=True)
        self.written = written_out(wanted, self.steps)
        self.names = FreeNames([*self.reserved.split(), *self.helped])
        self.function = self.names.new(wanted.name)
        self.arguments = {name: self.names.new(name) for name in arguments(wanted)}
        self.sizes = SizeTexts(self.known, self.names, self.quotient, self.before)
        self.axes = axis_names(wanted, self.known, self.steps)

    def text(self) -> str:
        """The text of the function."""
        raise NotImplementedError

    def coded(self, code: EntryCode) -> EntryCode:
        """The lines of all steps."""
        for name, value in self.steps.inputs.items():
            code.call_it(value, self.arguments[name])
        for value in constants(self.steps):
            self.constant(code, value)
        code.run()
        return code

    def constant(self, code: EntryCode, value: Value) -> None:
        """A line for an array that is known now."""
        raise NotImplementedError

    def name_of(self, constant: Value) -> str:
        """A name for an array that is known now."""
        return self.names.new(self.written[constant]) if constant in self.written else self.names.numbered("c")


def constants(steps: AnySizeSteps) -> list[Value]:
    found = {v: None for step in steps.steps for v in step.operands if v.step is None}
    found.update({v: None for (v, _), _ in steps.results if isinstance(v, Value) and v.step is None})
    return [v for v in found if v not in steps.inputs.values()]


class JuliaPage(EntryPage):
    """A function of Julia."""

    quotient = "div({0}, {1})"
    reserved = JULIA_WORDS
    helped = tuple(HELPERS)

    def text(self) -> str:
        if self.wanted.types is not None:
            raise InputError("types is not for Julia, where functions take all types; leave it out.")
        code = JuliaCode(self.steps, self.sizes, self.names, self.axes, titles(self.wanted, self.steps))
        self.coded(code)
        results = [code.result(*result) for result in self.steps.results]
        names = self.names
        body = [INDENT + text for text in (*code.lines, f"return {', '.join(results)}")]
        body = tidied(body, lambda: names.numbered("t"), lambda: names.ours)
        told, asked = tellers(self.sizes, words_read(body))
        lines = []
        for name, axes in told.items():
            own = self.arguments[name]
            if len(axes) > 1 and len(axes) == self.known.orders[name]:
                lines.append(f"{', '.join([axes[k] for k in range(len(axes))])} = size({own})")
            else:
                lines += [f"{size} = size({own}, {axis + 1})" for axis, size in axes.items()]
        first = [INDENT + x for x in (*self.checked(), *lines)]
        written = [line for text in (*first, *body) for line in comprehended(text)]
        head = (
            f"function {self.function}({', '.join(self.arguments.values())}{'; ' if asked else ''}{', '.join(asked)})"
        )
        note = [line.removeprefix(INDENT) for line in about(self.wanted, self.known, asked)]
        if any(v.kind == "i" for v in self.steps.inputs.values()):
            note.append("Places are counted from 0.")
        doc = ['"""', *self.wanted.title.splitlines(), "", *note, '"""']
        own_text = "\n".join([*doc, head, *written, "end"])
        helpers = [HELPERS[name] for name in code.helpers]
        everything = "\n".join([*helpers, *written])
        using = [
            name
            for name, stems in (("LinearAlgebra", LINEAR), ("SpecialFunctions", SPECIAL))
            if _met(stems, everything)
        ]
        return (
            "\n\n".join([*(["\n".join([f"using {name}" for name in using])] if using else []), *helpers, own_text])
            + "\n"
        )

    def checked(self) -> list[str]:
        """Lines that refuse arguments of sizes that the code is not for."""
        orders = [(self.arguments[name], order) for name, order in assumed(self.wanted)]
        lines = [f'ndims({x}) == {n} || throw(DimensionMismatch("{x} must have {counted(n)}"))' for x, n in orders]
        fixed = [(self.arguments[x], k, n) for x, shape in self.wanted.fixed.items() for k, n in enumerate(shape, 1)]
        told = [(f"size({name}, {k}) == {n}", f"axis {k} of {name}", n) for name, k, n in fixed if n is not None]
        return lines + [
            f'{test} || throw(DimensionMismatch("{place} must have the size {n}"))' for test, place, n in told
        ]

    def constant(self, code: EntryCode, value: Value) -> None:
        name = self.name_of(value)
        shape = ", ".join(map(str, value.shape))
        flat = ", ".join([_julia_number(x) for x in value.source.transpose().ravel().tolist()])
        code.lines.append(f"{name} = reshape([{flat}], {shape})" if value.shape else f"{name} = {flat}")
        code.call_it(value, name)


def _julia_number(x: object) -> str:
    return repr(x).replace("inf", "Inf").replace("nan", "NaN").replace("True", "true").replace("False", "false")


def _met(stems: Sequence[str], text: str) -> bool:
    return any(re.search(rf"(?<![\w.]){re.escape(stem)}", text) for stem in [s if "(" in s else f"{s}(" for s in stems])


class CPage(EntryPage):
    """A function of C."""

    reserved = C_WORDS
    helped = tuple(map(own_name, [*ENTRY, *REDUCES, *KEEPS, *MATRIX]))

    def text(self) -> str:
        if any(node.complex for node in topological(*self.wanted.stage.roots)):
            message = "C is written for real numbers, and here there are complex ones."
            raise RuleError(f"{message} NumPy, PyTorch, JAX and Julia have them: f.code('julia').")
        types = self.wanted.types
        if types not in (None, "float32", "float64"):
            raise InputError(f'types: C is written for "float32" or "float64", not {types!r}.')
        code = CCode(self.steps, self.sizes, self.names, self.axes, titles(self.wanted, self.steps))
        head = [self.argument(code, name) for name in self.arguments]
        given = self.targets(code)
        self.coded(code)
        returned = self.results(code)
        if self.sizes.used:
            raise RuleError(lacking_sizes(list(self.sizes.used.values())))
        kind = returned[0] if returned else "void"
        lines = [*code.lines, *([f"return {returned[1]};"] if returned else [])]
        read = words_read(lines)
        lines = [*[f"(void){own};" for own in self.arguments.values() if own not in read], *lines]
        note = [f"// {line}" for line in [*self.wanted.title.splitlines(), *about(self.wanted, self.known, [], "")]]
        function = [
            f"{kind} {self.function}({', '.join([*head, *given]) or 'void'}) {{",
            *[INDENT + x for x in lines],
            "}",
        ]
        helpers = [c_helper(name) for name in with_needs([*code.helpers])]
        text = "\n\n".join(["#include <math.h>", *helpers, "\n".join([*note, *function])]) + "\n"
        return re.sub(r"\bdouble\b", "float", text) if types == "float32" else text

    def argument(self, code: CCode, name: str) -> str:
        value = self.steps.inputs.get(name)
        order = self.wanted.stage.facts.inputs.get(name, 0)
        kind = C_TYPES[value.kind] if value is not None else "double"
        own = self.arguments[name]
        if value is not None and not value.shape:
            return f"{kind} {own}"
        if value is None:
            return f"const {kind} *{own}" if order else f"{kind} {own}"
        return f"const {kind} {own}{''.join([f'[{code.size(n)}]' for n in value.shape])}"

    def targets(self, code: CCode) -> list[str]:
        """The parameters that take results; where nothing else reads these, they are made there."""
        results, parts = self.steps.results, []
        if len(results) == 1 and not results[0][1]:
            return []
        self.outs: list[str] = []
        wanted = self.wanted.labels if len(results) > 1 else ("out",)
        for (operand, shape), label in zip(results, wanted, strict=True):
            value, labels = operand
            made = isinstance(value, Value) and value.step is not None
            name = self.names.new(label if label not in self.arguments else "out")
            sizes = "".join([f"[{code.size(n)}]" for n in shape]) or "[1]"
            parts.append(f"{C_TYPES[value.kind if isinstance(value, Value) else 'f']} {name}{sizes}")
            self.outs.append(name)
            if made and shape and labels == tuple(range(len(shape))) and code.uses[value] == 1:
                code.targets[value] = name
        return parts

    def results(self, code: CCode) -> tuple[str, str] | None:
        """Lines that store the results, or the type and the text of what is returned."""
        results = self.steps.results
        (operand, shape) = results[0]
        if len(results) == 1 and not shape:
            kind = operand[0].kind if isinstance(operand[0], Value) else "f"
            return C_TYPES[kind], code.entry(operand, {}).text
        for name, (operand, shape), indices in zip(self.outs, results, self.wanted.indices, strict=True):
            if operand[0] in code.whole and code.whole[operand[0]] == name:
                continue
            ranges = code.indices(dict(enumerate(indices)), dict(enumerate(shape)))
            code.scope = [i for i, _ in ranges]
            at = {x: EntryPlace.of(i) for x, (i, _) in enumerate(ranges)}
            target = name + ("".join([f"[{i}]" for i, _ in ranges]) or "[0]")
            code.lines += nested(ranges, [f"{target} = {code.entry(operand, at).text};"], code.size)
        return None

    def constant(self, code: EntryCode, value: Value) -> None:
        name = self.name_of(value)
        text = re.sub(r"\binf\b", "INFINITY", re.sub(r"\bnan\b", "NAN", repr(value.source.tolist())))
        text = text.replace("[", "{").replace("]", "}").replace("True", "1").replace("False", "0")
        shape = "".join([f"[{n}]" for n in value.shape])
        start = "" if 0 in value.shape else f" = {text}"
        code.lines.append(f"const {C_TYPES[value.kind]} {name}{shape}{start};")
        code.call_it(value, name)


class LatexPage(EntryPage):
    """An algorithm, for the packages algorithm and algpseudocode."""

    before = ""

    def text(self) -> str:
        code = LatexCode(self.steps, self.sizes, self.names, self.axes, titles(self.wanted, self.steps))
        self.coded(code)
        returned = []
        for (operand, shape), indices in zip(self.steps.results, self.wanted.indices, strict=True):
            returned.append(f"${code.result(operand, shape, indices)}$")
        given = []
        for name, own in self.arguments.items():
            value = self.steps.inputs.get(name)
            places = [] if value is None else [EntryPlace.of(x.rstrip("'")) for x in self.axes.of(value) if x]
            given.append(f"${code.at(own, places).text}$")
        left = [f"${text}$" for text in self.wanted.lefts or (symbol(self.wanted.name),)]
        lines = [f"\\Require {', '.join(given)}", *code.lines, f"\\State \\Return {', '.join(returned)}"]
        body = "\n".join([INDENT + line for line in lines])
        head = "\\begin{algorithm}\n\\caption{" + ", ".join(left) + "}\n\\begin{algorithmic}[1]\n"
        return in_commands(f"{head}{body}\n\\end{{algorithmic}}\n\\end{{algorithm}}\n")

    def constant(self, code: EntryCode, value: Value) -> None:
        raise RuleError("Arrays that are known are not written as LaTeX; make them inputs.")


PAGES = {"julia": JuliaPage, "c": CPage, "latex": LatexPage}


def entry_page(wanted: CodeWanted, backend: str) -> EntryPage:
    """A function, to be written."""
    return PAGES[backend](wanted)
