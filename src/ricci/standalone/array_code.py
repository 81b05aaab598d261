"""Steps as lines of NumPy, PyTorch and JAX, which differ in words.

What is used once is written where it is used, as long as the line stays short. Contractions are einsums in the index
names of the text.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ricci.compiler.plan.axis_names import NamedAxes
from ricci.compiler.plan.program_steps import Form, Labels, Step, Value
from ricci.errors import RuleError
from ricci.expr import Dim, Size
from ricci.standalone.any_size import AnySizeSteps
from ricci.standalone.assembling import Operand, given
from ricci.standalone.line_breaking import pieces_between
from ricci.standalone.pieces import (
    ADDS,
    ATOM,
    COMPARES,
    MINUS,
    RAISES,
    TIMES,
    CodePiece,
    FreeNames,
    SizeTexts,
    number_piece,
    unsigned,
)
from ricci.standalone.spelling import COMPARISONS, OF_NUMBERS, SIGNS, ArrayLibrary

SHORT = 48  # letters of what is written where it is used
LONG = 70  # letters of an expression, beyond which parts of it get lines of their own


class ArrayCode:
    """The lines for one list of steps."""

    def __init__(
        self,
        library: ArrayLibrary,
        steps: AnySizeSteps,
        sizes: SizeTexts,
        names: FreeNames,
        axes: NamedAxes,
        dtype: str,
        titles: Mapping[Value, str] | None = None,
    ):
        self.library, self.np = library, library.module
        self.all, self.sizes, self.names, self.axes, self.dtype = steps, sizes, names, axes, dtype
        self.titles = titles or {}  # what values are in the text: its definitions
        self.lines: list[str] = []
        self.helpers: dict[str, None] = {}
        self.known: dict[Value, CodePiece] = {}
        self.returned = {v for (v, _), _ in steps.results}
        self.symmetric: set[Value] = set()  # identity matrices
        self.uses = Counter(v for step in steps.steps for v in step.operands)
        self.uses.update([v for (v, _), _ in steps.results if isinstance(v, Value)])

    def run(self) -> list[CodePiece]:
        """Write all lines; the results."""
        for step in self.all.steps:
            self.step(step)
        return [self.result(operand, shape) for operand, shape in self.all.results]

    def step(self, step: Step) -> None:
        piece = getattr(self, f"_{step.op}")(step)
        once = self.uses[step.out] == 1 and (len(piece.text) <= SHORT or step.out in self.returned)
        there = piece.rank == ATOM and piece.text in self.names.taken
        if there or (once and step.out not in self.titles):
            self.known[step.out] = piece
        else:
            self.assign(step.out, piece)

    def assign(self, value: Value, piece: CodePiece) -> CodePiece:
        """A line of its own for a value."""
        title = self.titles.get(value, "")
        name = self.names.new(title.partition("[")[0]) if title else self.names.numbered("t")
        self.lines.append(f"{name} = {piece.text}" + (f"  # {title}" if title else ""))
        self.known[value] = CodePiece(name)
        return self.known[value]

    # Operands

    def piece(self, value: Any) -> CodePiece:
        if isinstance(value, Value):
            return self.known[value]
        return number_piece(value, self.sizes.piece, "math.pi", "math.inf", "math.nan")

    def named(self, value: Any) -> CodePiece:
        """A value under a name, since it is written more than once."""
        piece = self.piece(value)
        return piece if not isinstance(value, Value) or piece.text in self.names.taken else self.assign(value, piece)

    def shortened(self, values: Sequence[Any], most: int = LONG) -> None:
        """Give names to the longest of some values, until they fit into one line."""
        own = sorted({v for v in values if isinstance(v, Value)}, key=lambda v: -len(self.known[v].text))
        while own and sum([len(self.piece(v).text) for v in values]) > most and len(self.known[own[0]].text) > 12:
            self.assign(own[0], self.known[own[0]])
            own.pop(0)

    def arranged(self, operand: Operand, labels: Sequence[int]) -> CodePiece:
        """The operand with axes that broadcast against ``labels``."""
        value, own = operand
        return self.laid(self.piece(value), value, own, labels)

    def laid(self, piece: CodePiece, value: Any, own: Labels, labels: Sequence[int]) -> CodePiece:
        """A text with axes ``own``, arranged."""
        if value in self.symmetric:
            own = tuple(sorted(own, key=labels.index))
        if not own or tuple(own) == tuple(labels):
            return piece
        order = sorted(range(len(own)), key=lambda axis: labels.index(own[axis]))
        if order != list(range(len(own))):
            piece = self.transposed(piece, order)
        first = min(labels.index(x) for x in own)
        wide = [":" if x in own else "None" for x in labels[first:]]
        return piece if "None" not in wide else CodePiece(f"{piece.at(ATOM)}[{', '.join(wide)}]")

    def transposed(self, piece: CodePiece, order: Sequence[int]) -> CodePiece:
        if list(order) == [1, 0]:
            return CodePiece(f"{piece.at(ATOM)}.T")
        if self.library.name == "torch":
            return CodePiece(f"{piece.at(ATOM)}.permute({', '.join(map(str, order))})")
        return CodePiece(f"{piece.at(ATOM)}.transpose({', '.join(map(str, order))})")

    def shape(self, sizes: Sequence[Size]) -> str:
        parts = [self.sizes.piece(n).text for n in sizes]
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"

    def call(self, template: str, *pieces: CodePiece, **more: str) -> CodePiece:
        """A template filled in."""
        texts = []
        template, own = unsigned(template, pieces)
        for k, piece in enumerate(own):
            at, found = template.find(f"{{{k}}}"), piece.text
            inside = at >= 0 and template[at - 1 : at] in ("(", " ", "") and template[at + 3 : at + 4] in (")", ",", "")
            argument = inside and (template[at - 1 : at] == "(" or template[max(at - 2, 0) : at] == ", ")
            texts.append(found if argument and template.count(f"{{{k}}}") == 1 else piece.at(ATOM))
        text = template.format(*texts, **more)
        plain = text.endswith((")", "]")) and _is_call(text)
        rank = ATOM if plain or text.isidentifier() else _rank(template)
        for name in ("softmax", "hardmax", "prod_before", "svd_vectors", "symmetric", "expm_along", "recurrence"):
            if f"{name}(" in text.replace(f".{name}(", ""):
                self.helpers[name] = None
        return CodePiece(text, rank)

    # One method for each kind of step

    def _map(self, step: Step) -> CodePiece:
        name = step.name
        if name == "where":
            return self._where(step)
        self.shortened([v for v, _ in given(step)])
        template = None
        if name not in SIGNS and name not in COMPARISONS:
            template = self.library.elementwise(name)
            if template is not None and any(template.count(f"{{{k}}}") > 1 for k in range(len(given(step)))):
                for v, _ in given(step):
                    self.named(v)
        args = [self.arranged(operand, step.labels) for operand in given(step)]
        if name in SIGNS:
            return _binary(SIGNS[name], *args)
        if name in COMPARISONS:
            return CodePiece(f"{args[0].at(ADDS)} {COMPARISONS[name]} {args[1].at(ADDS)}", COMPARES)
        if name == "negative":
            return CodePiece(f"-{args[0].at(ATOM if args[0].rank == RAISES else TIMES)}", MINUS)
        if name == "reciprocal":
            return CodePiece(f"1 / {args[0].at(MINUS)}", TIMES)
        if name == "power":
            return _power(*args)
        if name == "square":
            return _power(args[0], CodePiece("2"))
        if step.out.kind == "n":
            return self._of_numbers(name, args)
        if template is None:
            raise RuleError(f"{name} is no function of {self.library.name}, so there is no code of it there.")
        if self.library.name == "torch":
            found = self._torch_number(step, args)
            if found is not None:
                return found
        return self.call(template, *args)

    def _of_numbers(self, name: str, args: Sequence[CodePiece]) -> CodePiece:
        """A function of sizes, which are numbers of Python."""
        texts = [a.text for a in args]
        if name in OF_NUMBERS:
            return CodePiece(OF_NUMBERS[name].format(*texts))
        if hasattr(math, name):
            return CodePiece(f"math.{name}({', '.join(texts)})")
        template = self.library.elementwise(name) or ""
        tensors = [CodePiece(f"torch.tensor(float({t}))") for t in texts] if self.library.name == "torch" else args
        return self.call(template, *tensors)

    def _torch_number(self, step: Step, args: Sequence[CodePiece]) -> CodePiece | None:
        """PyTorch's functions of two operands want tensors."""
        if len(args) != 2 or step.name in ("mod", "polygamma"):
            return None
        plain = [not isinstance(v, Value) or v.kind == "n" for v, _ in given(step)]
        if not any(plain):
            return None
        number, other = (args[0], args[1]) if plain[0] else (args[1], args[0])
        if step.name in ("maximum", "minimum"):
            side = "min" if step.name == "maximum" else "max"
            return CodePiece(f"torch.clamp({other.text}, {side}={number.text})")
        filled = CodePiece(f"torch.full_like({other.text}, {number.text})")
        both = [filled, args[1]] if plain[0] else [args[0], filled]
        return self.call(self.library.elementwise(step.name) or "", *both)

    def _where(self, step: Step) -> CodePiece:
        (c, own), a, b = given(step)
        mask = c.step if isinstance(c, Value) else None
        if mask is not None and mask.op == "mask" and b[0] == 0 and isinstance(a[0], Value):
            found = self._by_triangle(step, mask, own, a)
            if found is not None:
                return found
            if not a[1] and len(step.labels) == 2 and c in self.symmetric:
                self.symmetric.add(step.out)
        self.shortened([v for v, _ in given(step)])
        pieces = [self.arranged(operand, step.labels) for operand in given(step)]
        condition = (
            pieces[0] if isinstance(c, Value) and c.kind == "b" else CodePiece(f"{pieces[0].at(ADDS)} != 0", COMPARES)
        )
        if self.library.name == "torch" and (not isinstance(c, Value) or c.kind == "n"):
            condition = CodePiece(f"torch.tensor({condition.text})")
        arrays = [v for v, _ in (a, b) if isinstance(v, Value) and v.kind != "n"]
        if not arrays and b[0] == 0:  # a number times zeros and ones
            found = self._as_numbers(mask, step.out)
            laid = self.as_type(condition, self.dtype) if found is None else self.laid(found, c, own, step.labels)
            return laid if a[0] == 1 else _binary("*", pieces[1], laid)
        first = pieces[1].text
        if not arrays and self.library.name == "torch":
            first = f"torch.tensor({first}, dtype={self.floating})"
        chosen = CodePiece(f"{self.np}.where({condition.text}, {first}, {pieces[2].text})")
        return chosen if arrays or self.library.name == "torch" else self.as_type(chosen, self.floating)

    def _by_triangle(self, step: Step, mask: Step, own: Labels, operand: Operand) -> CodePiece | None:
        """A triangle of matrices, or a vector on a diagonal, which libraries have."""
        ((form,), (value, labels)) = mask.params, operand
        known = _triangle(form) if mask.name == ">=" else None
        if known is not None and len(labels) >= 2 and tuple(labels) == tuple(step.labels):
            (up, down), shift = known
            rows, columns = labels[-2:]
            k = self.sizes.piece(shift)
            if (own[up], own[down]) == (rows, columns):
                last = "" if shift == 0 else f", {k.text}"
                return CodePiece(f"{self.np}.tril({self.piece(value).text}{last})")
            if (own[up], own[down]) == (columns, rows):
                k = self.sizes.piece(-1 * shift)
                last = "" if shift == 0 else f", {k.text}"
                return CodePiece(f"{self.np}.triu({self.piece(value).text}{last})")
        if mask.name != "==" or not _is_delta(form, mask):
            return None
        if len(step.labels) == 2 and len(labels) == 1:
            self.symmetric.add(step.out)
            return CodePiece(f"{self.np}.diag({self.piece(value).text})")
        return self._on_diagonal(step, own, operand) if len(step.labels) > 2 else None

    def _on_diagonal(self, step: Step, own: Labels, operand: Operand) -> CodePiece | None:
        """Zeros, and a value where two places are the same: nothing is as large as the result but that."""
        (one, other), (value, labels) = own, operand
        if {one, other} <= {*labels} or value.kind == "n":
            return None
        sizes = dict(zip(step.labels, step.out.shape, strict=True))
        rest = [x for x in step.labels if x not in own]
        core = self.named(value)
        along = tuple([one if x == other else x for x in labels])
        placed = self.laid(core, value, along, (one, *rest))
        shape = self.shape([sizes[one], sizes[one], *[sizes[x] for x in rest]])
        zeros = f"{self.np}.zeros({shape}, dtype={core.text}.dtype)"
        places = f"{self.np}.arange({self.sizes.piece(sizes[one]).text})"
        found = self._stored(zeros, f"{places}, {places}", placed, "set")
        return self.laid(found, None, (one, other, *rest), step.labels)

    def _mask(self, step: Step) -> CodePiece:
        """Truths, or for "places" the places themselves."""
        np, shape = self.np, step.out.shape
        if step.name == "places":
            return CodePiece(f"{np}.arange({self.sizes.piece(shape[0]).text})")
        (form,) = step.params
        if _is_delta(form, step):
            self.symmetric.add(step.out)
            return CodePiece(f"{np}.eye({self.sizes.piece(shape[0]).text}, dtype={self.boolean})")
        left, right = [], []
        for x, c in form.terms:
            side, coef = (right, -1 * c) if isinstance(c, int) and c < 0 else (left, c)
            along = self.along(shape[x], x, len(shape))
            side.append(along if coef == 1 else f"{self.sizes.piece(coef).at(TIMES)} * {along}")
        if form.const != 0:
            negative = isinstance(form.const, int) and form.const < 0
            (right if negative else left).append(
                self.sizes.piece(-1 * form.const if negative else form.const).at(TIMES)
            )
        sides = [" + ".join(side) or "0" for side in (left, right)]
        return CodePiece(f"{sides[0]} {step.name} {sides[1]}", COMPARES)

    @property
    def floating(self) -> str:
        """The type of fractions, which whole numbers would cut off."""
        return of_fractions(self.library, self.dtype)

    @property
    def boolean(self) -> str:
        return "torch.bool" if self.library.name == "torch" else "bool"

    def along(self, size: Size, axis: int, count: int) -> str:
        """The places along one of several axes."""
        wide = ", None" * (count - axis - 1)
        text = f"{self.np}.arange({self.sizes.piece(size).text})"
        return f"{text}[:{wide}]" if wide else text

    def _cast(self, step: Step) -> CodePiece:
        ((value, _),) = given(step)
        found = self._as_numbers(value.step, step.out) if step.name == "f" else None
        return found or self.as_type(self.piece(value), self.dtype if step.name == "f" else "")

    def _as_numbers(self, mask: Step | None, out: Value) -> CodePiece | None:
        """A mask as an array of zeros and ones that libraries make."""
        if mask is None or mask.op != "mask":
            return None
        n = [self.sizes.piece(size).text for size in mask.out.shape]
        of_type = f"dtype={self.dtype}"
        if mask.name == "places":
            return CodePiece(f"{self.np}.arange({n[0]}, {of_type})")
        (form,) = mask.params
        if _is_delta(form, mask):
            self.symmetric |= {out, mask.out} if len(out.shape) == 2 else {mask.out}
            return CodePiece(f"{self.np}.eye({n[0]}, {of_type})")
        known = _triangle(form) if mask.name == ">=" else None
        if known is None or known[0] != (0, 1) or self.library.name == "torch":
            return None
        shift = [self.sizes.piece(known[1]).text] if known[1] != 0 else []
        return CodePiece(f"{self.np}.tri({', '.join([*n, *shift, of_type])})")

    def as_type(self, piece: CodePiece, dtype: str) -> CodePiece:
        if self.library.name == "torch":
            return CodePiece(f"{piece.at(ATOM)}.to({dtype})" if dtype else f"{piece.at(ATOM)}.long()")
        return CodePiece(f"{piece.at(ATOM)}.astype({dtype or 'int'})")

    def _sum(self, step: Step) -> CodePiece:
        ((value, labels),) = given(step)
        axes = [axis for axis, x in enumerate(labels) if x not in step.labels]
        piece = self.piece(value)
        if not step.labels:
            return CodePiece(f"{self.np}.sum({piece.text})")
        return CodePiece(f"{self.np}.sum({piece.text}, {self.library.axis}={_axes(axes)})")

    def _dot(self, step: Step) -> CodePiece:
        self.shortened([v for v, _ in given(step)], LONG - 24)
        spelled = self.axes.spelled(step)
        texts = ", ".join([self._alike(step, v) for v, _ in given(step)])
        both = all(len(labels) > 1 for _, labels in given(step)) and self.library.name == "numpy"
        return CodePiece(f'{self.np}.einsum("{spelled}", {texts}{", optimize=True" if both else ""})')

    _einsum = _dot

    def _alike(self, step: Step, value: Value) -> str:
        """An operand of an einsum, which in PyTorch has operands of one type only."""
        piece = self.piece(value)
        mixed = self.library.name == "torch" and value.kind == "i" and step.out.kind == "f"
        return self.as_type(piece, self.dtype).text if mixed else piece.text

    def _spread(self, step: Step) -> CodePiece:
        ((value, own),) = given(step)
        missing = [x for x in step.labels if x not in own]
        number = not isinstance(value, Value) or value.kind == "n"
        if not missing and not number:
            return self.arranged((value, own), step.labels)
        shape = self.shape(step.out.shape)
        if number:
            if value in (0, 1) and not isinstance(value, Value):
                return CodePiece(f"{self.np}.{'ones' if value == 1 else 'zeros'}({shape}, dtype={self.dtype})")
            return CodePiece(f"{self.np}.full({shape}, {self.piece(value).text}, dtype={self.floating})")
        return CodePiece(f"{self.np}.broadcast_to({self.arranged((value, own), step.labels).text}, {shape})")

    def _split(self, step: Step) -> CodePiece:
        return CodePiece(
            f"{self.piece(given(step)[0][0]).at(ATOM)}.reshape({self.shape(step.out.shape)[1:-1].rstrip(',')})"
        )

    _merge = _split

    def _read(self, step: Step) -> CodePiece:
        ((value, _),) = given(step)
        forms: Sequence[Form] = step.params
        piece = self.piece(value)
        plain = [form.label for form in forms]
        if None not in plain and all(step.out.shape[x] == n for x, n in zip(plain, value.shape, strict=True)):  # type: ignore
            return CodePiece(f'{self.np}.einsum("{self.axes.spelled(step)}", {piece.text})')
        sliced = self.slices(forms, step.out.shape, value.shape)
        if sliced is not None:
            order = [x for form in forms for x, _ in form.terms]
            return self._turned(CodePiece(f"{piece.at(ATOM)}[{', '.join(sliced)}]"), order)
        count = len(step.labels)
        places = [self.place_of(form, step.out.shape, range(count)) for form in forms]
        return CodePiece(f"{piece.at(ATOM)}[{', '.join(places)}]")

    def _turned(self, piece: CodePiece, labels: Sequence[int]) -> CodePiece:
        order = sorted(range(len(labels)), key=lambda axis: labels[axis])
        return piece if order == list(range(len(labels))) else self.transposed(piece, order)

    def slices(self, forms: Sequence[Form], sizes: Sequence[Size], shape: Sequence[Size]) -> list[str] | None:
        """The places as slices and numbers, if each label has one axis and steps forward."""
        used = [x for form in forms for x, _ in form.terms]
        if len(set(used)) < len(used) or any(len(form.terms) > 1 for form in forms):
            return None
        texts = []
        for form, whole in zip(forms, shape, strict=True):
            if not form.terms:
                texts.append(self.sizes.piece(form.const).text)
                continue
            ((x, c),) = form.terms
            if not isinstance(c, int) or c < 1:
                return None
            first = "" if form.const == 0 else self.sizes.piece(form.const).text
            stop = form.const + c * sizes[x]
            last = "" if stop == whole else self.sizes.piece(stop).text
            texts.append(_slice(first, last, c))
        return texts

    def place_of(self, form: Form, sizes: Sequence[Size], labels: Sequence[int]) -> str:
        """A form as an array of places that broadcasts against the labels."""
        terms, after = [], []
        for x, c in sorted(form.terms, key=lambda term: isinstance(term[1], int) and term[1] < 0):
            along = self.along(sizes[x], list(labels).index(x), len(labels))
            if isinstance(c, int) and c < 0:
                after.append(along if c == -1 else f"{-c} * {along}")
            else:
                terms.append(along if c == 1 else f"{self.sizes.piece(c).at(TIMES)} * {along}")
        if form.const != 0 or not (terms or after):
            terms.append(self.sizes.piece(form.const).text)
        return " - ".join([" + ".join(terms) or "0", *after])

    def _take(self, step: Step) -> CodePiece:
        (value, labels), *places = given(step)
        (kinds,) = step.params
        self.shortened([v for v, _ in given(step)])
        told = [axis for axis, kind in enumerate(kinds) if kind is not None]
        own = [x for axis, x in enumerate(labels) if kinds[axis] is None]
        source = self.piece(value).at(ATOM)
        if len(told) == 1 and not set(places[kinds[told[0]]][1]) & set(own):
            at = self.piece(places[kinds[told[0]]][0]).text
            return CodePiece(f"{source}[{', '.join([*[':'] * told[0], at])}]")
        texts = []
        for axis, kind in enumerate(kinds):
            if kind is None:
                texts.append(self.along(value.shape[axis], step.labels.index(labels[axis]), len(step.labels)))
            else:
                texts.append(self.arranged(places[kind], step.labels).text)
        return CodePiece(f"{source}[{', '.join(texts)}]")

    def _place(self, step: Step) -> CodePiece:
        (value, labels), *places = given(step)
        (forms,) = step.params
        sizes = dict(zip(labels, value.shape, strict=True))
        plain = all(isinstance(form, Form) for form in forms)
        sliced = (
            self.slices(forms, [sizes.get(x, 1) for x in range(1 + max(sizes, default=0))], step.out.shape)
            if plain
            else None
        )
        core = self.named(value)
        of_type = f", dtype={core.text}.dtype" if value.step is None or value.shape else f", dtype={self.dtype}"
        zeros = f"{self.np}.zeros({self.shape(step.out.shape)}{of_type})"
        if sliced is not None:
            axes = [x for form in forms for x, _ in form.terms]
            core = self.arranged((value, labels), axes)
            return self._stored(zeros, ", ".join(sliced), core, "set")
        texts = []
        for form in forms:
            if isinstance(form, Form):
                local = [sizes.get(x, 1) for x in range(1 + max(sizes, default=0))]
                texts.append(self.place_of(form, local, labels))
            else:
                texts.append(self.arranged(places[form], labels).text)
        fixed = [f.terms[0][0] for f in forms if isinstance(f, Form) and len(f.terms) == 1]
        return self._stored(zeros, ", ".join(texts), core, "set" if set(labels) <= set(fixed) else "add")

    def _stored(self, zeros: str, places: str, core: CodePiece, how: str) -> CodePiece:
        """Zeros with something stored, or added, at places."""
        text = f"{zeros}.at[{places}].{how}({core.text})"
        if self.library.name == "jax" and len(text) <= LONG:
            return CodePiece(text)
        name = self.names.numbered("t")
        self.lines.append(f"{name} = {zeros}")
        if self.library.name == "jax":
            return CodePiece(f"{name}.at[{places}].{how}({core.text})")
        if how == "set":
            self.lines.append(f"{name}[{places}] = {core.text}")
        elif self.library.name == "torch":
            apart = [places[start:end] for start, end in pieces_between(places)]
            tensors = [p if not p.isdigit() else f"torch.tensor({p})" for p in apart]
            listed = f"({', '.join(tensors)}{',' * (len(tensors) == 1)})"
            self.lines.append(f"{name}.index_put_({listed}, {core.text}, accumulate=True)")
        else:
            at = f"({places})" if ", " in places else places
            self.lines.append(f"np.add.at({name}, {at}, {core.text})")
        return CodePiece(name)

    def _call(self, step: Step) -> CodePiece:
        from ricci.standalone.array_calls import called

        return called(self, step)

    # Results

    def result(self, operand: Operand, shape: Sequence[Size]) -> CodePiece:
        value, labels = operand
        if not shape and isinstance(value, (int, Dim)):
            return CodePiece(f"{value}.0" if isinstance(value, int) else f"float({self.piece(value).text})")
        axes = tuple(range(len(shape)))
        missing = [x for x in axes if x not in labels]
        if missing:
            kind = "n" if not isinstance(value, Value) else value.kind
            made = Step("spread", "", ((value, labels),), Value(tuple(shape), kind), axes)  # type: ignore[arg-type]
            piece = self._spread(made)
            return (
                CodePiece(f"{piece.text}.{'clone' if self.library.name == 'torch' else 'copy'}()")
                if "broadcast_to" in piece.text
                else piece
            )
        return self.arranged(operand, axes)

    def inner(self, steps: AnySizeSteps, given: Mapping[str, str]) -> tuple[list[str], list[CodePiece]]:
        """The lines of other steps, whose inputs are these texts."""
        other = ArrayCode(self.library, steps, self.sizes, self.names, self.axes, self.dtype)
        for name, value in steps.inputs.items():
            other.known[value] = CodePiece(given[name])
        other.helpers = self.helpers
        found = other.run()
        return other.lines, found


def of_fractions(library: ArrayLibrary, dtype: str) -> str:
    """The type for fractions among arrays of a type."""
    name = dtype.removesuffix(".dtype")
    return dtype if name == dtype else f"{library.module}.result_type({name}, 0.0)"


def _binary(sign: str, a: CodePiece, b: CodePiece) -> CodePiece:
    rank = ADDS if sign in "+-" else TIMES
    right = b.at(rank + (sign in "-*/"))
    return CodePiece(f"{a.at(rank)} {sign} {right}", rank)


def _power(x: CodePiece, n: CodePiece) -> CodePiece:
    simple = all(t.replace(".", "_").isidentifier() or t.replace(".", "", 1).isdigit() for t in (x.text, n.text))
    return CodePiece(f"{x.at(ATOM)}{'**' if simple else ' ** '}{n.at(ATOM)}", RAISES)


def _axes(axes: Sequence[int]) -> str:
    return str(axes[0]) if len(axes) == 1 else f"({', '.join(map(str, axes))})"


def _slice(first: str, last: str, step: int) -> str:
    if not first and not last:
        return ":" if step == 1 else f"::{step}"
    spaced = not all(t.isidentifier() or t.isdigit() or not t for t in (first, last))
    colon = " : " if spaced else ":"
    text = f"{first}{colon}{last}".strip()
    return text if step == 1 else f"{text}{colon}{step}"


def _is_call(text: str) -> bool:
    """Whether a text is one call or one entry: nothing stands outside of its brackets but a name."""
    depth = 0
    for c in text:
        if c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif depth == 0 and not (c.isalnum() or c in "._"):
            return False
    return True


def _rank(template: str) -> int:
    depth, rank = 0, ATOM
    for k, c in enumerate(template):
        depth += (c in "([") - (c in ")]")
        if depth == 0 and c in "+-*/" and template[k - 1 : k] == " ":
            rank = min(rank, ADDS if c in "+-" else TIMES)
        elif depth == 0 and c == "-" and k == 0:
            rank = min(rank, MINUS)
    return rank


def _triangle(form: Form) -> tuple[tuple[int, int], Size] | None:
    """The places of row and column in ``row - column + shift >= 0``, and the shift."""
    if len(form.terms) != 2 or sorted([c for _, c in form.terms if isinstance(c, int)]) != [-1, 1]:
        return None
    ((up, _), (down, _)) = sorted(form.terms, key=lambda term: -term[1])
    return (up, down), form.const


def _is_delta(form: Form, step: Step) -> bool:
    same = len(step.out.shape) == 2 and step.out.shape[0] == step.out.shape[1]
    return step.name == "==" and same and form.const == 0 and _triangle(form) is not None
