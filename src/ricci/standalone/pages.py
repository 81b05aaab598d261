"""Whole functions of NumPy, PyTorch and JAX: imports, helpers, head, docstring, sizes and lines."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ricci.compiler.plan.axis_names import NamedAxes
from ricci.compiler.plan.program_steps import Value
from ricci.compiler.prepare.known_sizes import KnownSizes
from ricci.errors import InputError
from ricci.expr import axis_size
from ricci.standalone.any_size import AnySizeSteps, steps_of
from ricci.standalone.array_code import ArrayCode, of_fractions
from ricci.standalone.line_breaking import INDENT, WIDTH, fitted, indented, paragraph
from ricci.standalone.pieces import CodePiece, FreeNames, SizeTexts
from ricci.standalone.requests import CodeWanted
from ricci.standalone.spelling import LIBRARIES, ArrayLibrary, helper
from ricci.standalone.tidying import tidied, words_read

TYPES = ("float16", "float32", "float64", "int32", "int64", "bfloat16")
MOST_LINES = 40  # of formulas in a docstring, after the first
WORDS = {"np", "jnp", "jax", "torch", "math", "special", "linalg", "min", "max", "range", "len", "int", "float", "abs"}
WORDS |= {"round", "bool", "softmax", "hardmax", "prod_before", "recurrence", "symmetric", "svd_vectors", "expm_along"}


def array_page(wanted: CodeWanted, backend: str) -> ArrayPage:
    """A function, to be written."""
    return ArrayPage(wanted, LIBRARIES[backend])


class ArrayPage:
    """One function, while it is being written."""

    def __init__(self, wanted: CodeWanted, library: ArrayLibrary):
        self.wanted, self.library = wanted, library
        self.known = KnownSizes(wanted.stage, wanted.sizes, wanted.named_sizes)
        self.steps = steps_of(wanted.stage, self.known, wanted.definitions)
        self.written = written_out(wanted, self.steps)
        self.names = FreeNames({*WORDS, *keyword.kwlist})
        self.function = self.names.new(wanted.name)
        self.arguments = {name: self.names.new(name) for name in arguments(wanted)}
        self.sizes = SizeTexts(self.known, self.names)
        self.axes = axis_names(wanted, self.known, self.steps)

    def text(self) -> str:
        given = self.steps.inputs
        code = ArrayCode(
            self.library, self.steps, self.sizes, self.names, self.axes, self.dtype(), titles(self.wanted, self.steps)
        )
        for name, value in given.items():
            code.known[value] = CodePiece(self.arguments[name])
        before = self.constants(code)
        results = code.run()
        returned = results[0].text if self.wanted.single else _listed([r.text for r in results])
        names = self.names
        body = indented([*before, *code.lines, f"return {returned}"])
        body = tidied(body, lambda: names.numbered("t"), lambda: names.ours)
        self.read = words_read(body)
        lines, asked = self.told_sizes()
        head = self.head(asked)
        docstring = self.docstring(asked)
        first = [INDENT + text for text in (*self.typed(), *self.checked(), *lines)]
        written = [line for text in (*first, *body) for line in fitted(text)]
        own = "\n".join([*head, *docstring, *written])
        helpers = [helper(self.library, name) for name in code.helpers]
        parts = [self.imports("\n".join([*helpers, own])), *helpers, own]
        return "\n\n\n".join([part for part in parts if part]) + "\n"

    def imports(self, text: str) -> str:
        """The imports that a text needs."""
        bare = re.sub(r'""".*?"""', "", text, flags=re.DOTALL)
        lines = [
            line for stem, line in self.library.imports.items() if re.search(rf"(?<![\w.]){re.escape(stem)}", bare)
        ]
        plain = [line for line in lines if line == "import math"]
        others = sorted([line for line in lines if line not in plain], key=lambda line: line.split()[1])
        return "\n\n".join(["\n".join(group) for group in (plain, others) if group])

    def dtype(self) -> str:
        """The type of what is made of nothing: that of the first array of floating numbers."""
        known = {name: value.kind for name, value in self.steps.inputs.items()}
        floats = [name for name in self.arguments if known.get(name) == "f"]
        integers = self.wanted.stage.facts.integers
        others = [name for name in self.arguments if name not in known and name not in integers]
        shaped = [name for name in (*floats, *others) if self.known.orders.get(name)]
        if shaped or (floats and self.library.name == "torch"):
            return f"{self.arguments[[*shaped, *floats][0]]}.dtype"
        if floats:  # a number of Python has none
            return f"{self.library.module}.result_type({self.arguments[floats[0]]})"
        return "float" if self.library.name != "torch" else "torch.float64"

    def constants(self, code: ArrayCode) -> list[str]:
        """Lines for arrays that are known now."""
        lines: list[str] = []
        found = {v: None for step in self.steps.steps for v in step.operands if v.source is not None and v.step is None}
        found |= {v: None for (v, _), _ in self.steps.results if isinstance(v, Value) and v.step is None}
        for value in found:
            if value in code.known:
                continue
            name = self.names.new(self.written[value]) if value in self.written else self.names.numbered("c")
            of_type = f", dtype={of_fractions(self.library, self.dtype())}" if value.kind == "f" else ""
            array = "tensor" if self.library.name == "torch" else "array"
            text = array_text(value.source)
            lines.append(f"{name} = {self.library.module}.{array}({text}{of_type})")
            if 0 in value.shape:
                shape = ", ".join(map(str, value.shape))
                lines[-1] = f"{name} = {self.library.module}.zeros(({shape},){of_type})"
            code.known[value] = CodePiece(name)
        return lines

    def typed(self) -> list[str]:
        """Lines that give arguments the types that were asked for."""
        types, lines = self.wanted.types, []
        for name in types if isinstance(types, Mapping) else ():
            if name not in self.arguments:
                known = ", ".join(self.arguments)
                raise InputError(f"types: there is no argument {name!r}; the arguments are {known}.")
        for name, own in self.arguments.items():
            kind = types.get(name) if isinstance(types, Mapping) else types
            value = self.steps.inputs.get(name)
            if kind is None or value is None or (value.kind != "f" and not isinstance(types, Mapping)):
                continue
            if kind not in TYPES:
                raise InputError(f"types: {kind!r} is no type of numbers; write one of {', '.join(TYPES)}.")
            module = self.library.module
            make = "as_tensor" if module == "torch" else "asarray"
            lines.append(f"{own} = {module}.{make}({own}, dtype={module}.{kind})")
        return lines

    def checked(self) -> list[str]:
        """Lines that refuse arguments of sizes that the code is not for."""
        lines = []
        for name, order in assumed(self.wanted):
            own = self.arguments[name]
            lines += [f"if {own}.ndim != {order}:", f'{INDENT}raise ValueError("{own} must have {counted(order)}.")']
        for name, shape in self.wanted.fixed.items():
            own = self.arguments[name]
            if None not in shape:
                tests = [(f"{own}.shape != {shape}", f"{own} must have the shape {shape}.")]
            else:
                sized = [(axis, n) for axis, n in enumerate(shape) if n is not None]
                tests = [(f"{own}.shape[{k}] != {n}", f"Axis {k} of {own} must have the size {n}.") for k, n in sized]
            for test, message in tests:
                lines += [f"if {test}:", f'{INDENT}raise ValueError("{message}")']
        return lines

    def told_sizes(self) -> tuple[list[str], list[str]]:
        """Lines that read sizes off arguments, and sizes that are arguments, since nothing tells them."""
        told, asked = tellers(self.sizes, self.read)
        lines = []
        for name, axes in told.items():
            order = self.known.orders[name]
            own = self.arguments[name]
            whole = len(axes) > 1 and len(axes) == order
            if whole:
                lines.append(f"{', '.join([axes[k] for k in range(order)])} = {own}.shape")
            else:
                lines += [f"{size} = {own}.shape[{axis}]" for axis, size in axes.items()]
        return lines, asked

    def head(self, asked: Sequence[str]) -> list[str]:
        parts = [*self.arguments.values(), *(["*", *asked] if asked else [])]
        line = f"def {self.function}({', '.join(parts)}):"
        if len(line) <= WIDTH:
            return [line]
        return [f"def {self.function}(", *[f"{INDENT}{part}," for part in parts], "):"]

    def docstring(self, asked: Sequence[str]) -> list[str]:
        return docstring(self.wanted, self.known, asked)


def arguments(wanted: CodeWanted) -> tuple[str, ...]:
    """The names of the arguments."""
    return tuple([name for name in wanted.order or wanted.stage.inputs if name not in wanted.written])


def assumed(wanted: CodeWanted) -> list[tuple[str, int]]:
    """The arguments whose order nothing in the text says, as in ``mean(A)``, with those that the code is for."""
    facts = wanted.stage.facts
    return [(name, facts.inputs[name]) for name in arguments(wanted) if name in facts.assumed]


def counted(order: int) -> str:
    return "1 axis" if order == 1 else f"{order} axes"


def written_out(wanted: CodeWanted, steps: AnySizeSteps) -> dict[Value, str]:
    """The inputs that are arrays known now, which are constants then, with their names."""
    found: dict[Value, str] = {}
    for name, array in wanted.written.items():
        value = steps.inputs.pop(name, None)
        if value is not None:
            value.source = array
            found[value] = name
    return found


def tellers(sizes: SizeTexts, read: Collection[str]) -> tuple[dict[str, dict[int, str]], list[str]]:
    """For each argument the axes that tell sizes which are read, and the names of sizes that no argument tells."""
    told: dict[str, dict[int, str]] = {}
    asked = []
    for atom, name in sizes.used.items():
        if name not in read:
            continue
        teller = sizes.sizes.teller(atom)
        if teller is None:
            asked.append(name)
        else:
            told.setdefault(teller[0], {})[teller[1]] = name
    return {name: told[name] for name in sizes.sizes.arguments if name in told}, asked


def axis_names(wanted: CodeWanted, known: KnownSizes, steps: AnySizeSteps) -> NamedAxes:
    """The names of axes: of inputs by the text, then those of steps, and of results as they were asked for."""
    names = NamedAxes({v: known.names(name, v.shape) for name, v in steps.inputs.items()})
    names.follow(steps.steps)
    for ((value, labels), _), indices in zip(steps.results, wanted.indices, strict=True):
        if isinstance(value, Value) and value.step is not None:
            names.known[value] = tuple([indices[x] for x in labels])
    return names


def titles(wanted: CodeWanted, steps: AnySizeSteps) -> dict[Value, str]:
    """The values that are named parts of the text, with their names and indices."""
    roots = {value for (value, _), _ in steps.results}
    found = {}
    for value, node in steps.nodes.items():
        if value not in roots:
            name, indices = wanted.definitions[node]
            found[value] = f"{name}[{','.join(indices)}]" if indices else name
    return found


def docstring(wanted: CodeWanted, known: KnownSizes, asked: Sequence[str]) -> list[str]:
    """The formula, the arguments and the results, with their indices."""
    title = wanted.title.replace("\\", "\\\\").splitlines() or [wanted.name]
    first = _wrapped(title[0], INDENT + '"""')
    rest = [line for text in title[1:] for line in _wrapped(text, INDENT)]
    if len(rest) > MOST_LINES:
        rest = [*rest[:MOST_LINES], f"{INDENT}… and {len(rest) - MOST_LINES} lines more"]
    return [*first, *rest, "", *about(wanted, known, asked), f'{INDENT}"""']


def about(wanted: CodeWanted, known: KnownSizes, asked: Sequence[str], indent: str = INDENT) -> list[str]:
    """What a function takes and gives, with indices."""
    shown, shapes = [], {v.name: v.shape for v in wanted.stage.needed}
    for name in arguments(wanted):
        shape = shapes.get(name) or [axis_size(name, axis) for axis in range(known.orders.get(name, 0))]
        axes = [str(n) if isinstance(n, int) else x or "·" for n, x in zip(shape, known.names(name, shape))]
        word = wanted.stage.facts.symmetries.get(name)
        own = f"{name}[{','.join(axes)}]" if axes else name
        shown.append(f"{name} ({word})" if word else own)
    given = f"Of {', '.join(shown)}." if shown else ""
    if asked:
        given += f" Sizes: {', '.join(asked)}."
    sizes = [f"[{','.join(own)}]" if own else "a number" for own in wanted.indices]
    if wanted.single:
        returned = f"Gives {sizes[0]}."
    else:
        labels = wanted.labels or ("",) * len(sizes)
        named = [f"{n}{s}" if s.startswith("[") else n for n, s in zip(labels, sizes, strict=True)]
        returned = f"Gives {', '.join(named)}."
    return paragraph(f"{given} {returned}".strip(), indent)


def _wrapped(text: str, start: str) -> list[str]:
    lines = paragraph(text, start)
    return [lines[0], *[2 * INDENT + line.strip() for line in lines[1:]]] if lines else [start]


def array_text(values: Any) -> str:
    """An array as lists within lists."""
    return repr(values.tolist()).replace("inf", "math.inf").replace("nan", "math.nan").replace("e+", "e")


def _listed(texts: Sequence[str]) -> str:
    return f"({texts[0]},)" if len(texts) == 1 else ", ".join(texts)
