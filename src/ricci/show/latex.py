r"""Trees to LaTeX as people write it: ``x_{ik} a_{kj}``, ``\delta_{ij}``, ``\mathbf{1}_{i}``, ``\frac{a}{b}``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from ricci.budget import spend
from ricci.expr import OPS
from ricci.functions.table import IN_TEXT
from ricci.functions.unknown import mark
from ricci.notation import syntax
from ricci.notation.latex_words import ACCENTS, GREEK, may_be_product
from ricci.notation.occurrences import LEAVES, Occurrences
from ricci.show.phrases import indices_of, signed

SUM, TERM, ATOM = 0, 1, 2
_LIKE_INDEX = re.compile(r"(?:\\[A-Za-z]+|[\w\s,'+-])+")
_LIKE_WORD = re.compile(r"\\mathrm\{[^{}]*\}")
_DOUBTFUL = re.compile(r"\d{2,}|\d+\S+")  # may be read as several indices
Standing = Sequence[tuple[str, str]]  # the names of indices, and where they stand
_UPRIGHT: ContextVar[frozenset[str]] = ContextVar("_UPRIGHT", default=frozenset())  # names that are written so
_INDICES: ContextVar[frozenset[str]] = ContextVar("_INDICES", default=frozenset("abcdefgh"))  # those of this text
_COMPARE = {"<": "<", "<=": r"\le", ">": ">", ">=": r"\ge", "==": "=", "!=": r"\ne"}


Named = Sequence[tuple[str, Standing]]
Partials = tuple[str, Standing, Named]  # what is differentiated, and by what


@dataclass(frozen=True)
class ShownLetters:
    """What letters are in one text: names that are written upright, since they would be read as something else, such as
    numbers with the letter of an index and the function sigmoid where there is a name sigma; and the indices."""

    upright: frozenset[str]
    indices: frozenset[str]

    @contextmanager
    def apply(self) -> Iterator[None]:
        """Trees that are written meanwhile are of this text."""
        before = _UPRIGHT.set(self.upright), _INDICES.set(self.indices)
        try:
            yield
        finally:
            _UPRIGHT.reset(before[0])
            _INDICES.reset(before[1])


def letters_of(
    trees: Iterable[syntax.Node], owners: Iterable[syntax.Statement | syntax.TensorNode], beside: Named = ()
) -> ShownLetters:
    """Those of a text with these expressions; ``owners`` are left sides, and tensors in lines of sizes, and ``beside``
    are names on the left that are no trees, with their indices."""
    owners = list(owners)
    nodes = [*[node for tree in trees for node in syntax.within(tree)], *owners]
    nodes += [node.variable for node in nodes if isinstance(node, syntax.Derivative)]
    beside = [(name.rstrip("*"), own) for name, own in beside]
    own = [(n.name, n.indices) for n in nodes if isinstance(n, (syntax.TensorNode, syntax.Statement)) and n.name]
    names = {name for name, _ in (*own, *beside)}
    bare = {name for name, indices in (*own, *beside) if not indices}
    found = {name for node in nodes for name in _index_names(node)} | {i for _, own in beside for i, _ in own}
    return ShownLetters(frozenset([*bare & found, *(["sigmoid"] if "sigma" in names else [])]), frozenset(found))


def program(tree: syntax.Statements, derived: Partials | None = None) -> str:
    """All statements; the last one is the derivative that is ``derived``, where it is given."""
    beside = [(derived[0], derived[1]), *derived[2]] if derived else []
    sides = [side for s in tree.statements for side in s.sides]
    with letters_of(sides, [*tree.statements, *tree.sizes.tensors], beside).apply():
        return _program(tree, partials(*derived) if derived else None)


def _index_names(node: syntax.Node | syntax.Statement) -> list[str]:
    own = [i for part in ("indices", "axes", "result") for i in getattr(node, part, None) or ()]
    own += [i for index in own if index.tensor is not None for i in index.tensor.indices or ()]
    return [name for index in own for _, name in index.terms]


def _program(tree: syntax.Statements, left: str | None) -> str:
    *before, last = tree.statements
    sizes = size_line(tree.sizes)
    if not before and not sizes:
        return statement(last, left)
    shown = statement(last, left, "&=")
    shown = f"{{{shown}}}" if shown.startswith("-") else shown  # a line that begins with a sign goes on with another
    return aligned([*sizes, *[statement(s, sign="&=") for s in before], shown])


def aligned(lines: Sequence[str]) -> str:
    """Lines below one another, at their signs ``&=``."""
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def size_line(line: syntax.SizeLine) -> list[str]:
    """The line that says what sizes are, if there is anything to say."""
    parts = [render(tensor, ATOM) for tensor in line.tensors]
    for size, node in line.equations:
        free = isinstance(node, syntax.Size) and node.name == size.name
        parts.append(render(size, ATOM) + ("" if free else f" = {render(node, SUM)}"))
    return [r"\text{sizes: } " + r",\; ".join(parts)] if parts else []


def statement(node: syntax.Statement, left: str | None = None, sign: str = "=") -> str:
    body = render(node.body, SUM)
    if left is None and node.name is not None:
        left = _entry(node.name, node.indices, defined=True)
    return body if left is None else f"{left} {sign} {body}"


def derivative_of(formula: Any) -> tuple[str, Standing, Sequence[tuple[str, Standing]]] | None:
    """For a derivative the name that was derived and those that it is by, each with its indices; else None."""
    if not formula.chain:
        return None
    root = formula.chain[0].origin.formula
    by = [(step.origin.by.name + "*" * step.origin.by.conjugate, step.origin.standing) for step in formula.chain]
    return root.name or "f", tuple(zip(root.indices, root.standing, strict=True)), by


def partials(name: str, own: Standing, by: Sequence[tuple[str, Standing]]) -> str:
    r"""The left side of a derivative: ``\frac{\partial^2 l}{\partial w_{n} \partial w_{p}}``."""
    order = f"^{{{len(by)}}}" if len(by) > 1 else ""
    above = left_side(name, own)
    below = " ".join(rf"\partial {left_side(x, of_x)}" for x, of_x in by)
    return rf"\frac{{\partial{order} {above}}}{{{below}}}"


def left_side(name: str, own: Standing) -> str:
    """A name with its indices; one with a star is the conjugate."""
    if name.endswith("*"):
        return rf"\overline{{{left_side(name[:-1], own)}}}"
    return _entry(name, _plain(own))


def _entry(name: str, these: syntax.Indices | None, defined: bool = False) -> str:
    """A name with its indices, which tell whether a letter is a symbol: one that would be is written otherwise."""
    count = len(these or ())
    shown = symbol(name)
    if not count and name in _UPRIGHT.get():
        shown = rf"\mathit{{{name}}}" if name in ("i", "j") else rf"\mathrm{{{_escape(name)}}}"
    elif name in ("varepsilon", "epsilon") and count > 1 and not defined:  # and not the Levi-Civita symbol
        shown = rf"\mathrm{{{name}}}"
    elif (name == "δ" and count < 2) or (name == "π" and count):
        shown = {"δ": r"\delta", "π": r"\pi"}[name]
    return _subscripted(shown, these)


def _plain(names: Standing) -> syntax.Indices:
    return tuple([syntax.Index(0, 0, ((1, name),), plain=True, height=height) for name, height in names])


def symbol(name: str) -> str:
    """A name in mathematics: Greek letters, subscripts (``w_1``), accents (``x_dot``), words upright.

    So is ``x1``: what stands below a name is a subscript of its own, in upright letters, or an index, and ``x_{1}`` is
    the entry ``x[1]``.
    """
    head, _, tail = name.partition("_")
    if tail in ACCENTS and head:
        return f"{ACCENTS[tail]}{{{_stem(head)}}}"
    if tail and head and head not in IN_TEXT:
        base = _stem(head)
        return f"{_braced(base)}_{{\\mathrm{{{_escape(tail)}}}}}"
    if name in GREEK:
        return "\\" + name
    return name if len(name) == 1 else f"\\mathrm{{{_escape(name)}}}"


def function_head(name: str, places: tuple[int, ...], arity: int) -> str:
    r"""A function of the user's: ``f``, ``\phi``, ``\operatorname{point}``; or ``f'``, ``f^{(4)}``, ``f_{12}``."""
    upright = rf"\operatorname{{{_escape(name)}}}"
    head = name if len(name) == 1 else "\\" + name if name in GREEK else upright
    own = mark(places, arity)
    if own[:1] == "_":
        return f"{head}_{{{own[1:].replace('_', ',')}}}"
    return head + (f"^{{{own[1:]}}}" if own[:1] == "^" else own)


def _stem(name: str) -> str:
    """A name that gets an accent, or a subscript of its own, and so is no entry: the digits of ``x1`` go below."""
    letters = name.rstrip("0123456789")
    digits = name[len(letters) :]
    return f"{symbol(letters)}_{{{digits}}}" if digits and letters else symbol(name)


def _subscripted(name: str, these: syntax.Indices | None) -> str:
    return _braced(name) + indices(these) if these else name


def _braced(name: str) -> str:
    """A name to put a subscript at: in braces where it has one already."""
    return f"{{{name}}}" if "_" in name else name


def _escape(text: str) -> str:
    return text.replace("_", r"\_")


def words(text: str) -> str:
    """Plain words inside ``\\text{…}``."""
    return _escape(text).replace("→", r"$\to$")


def label(name: str) -> str:
    """An index: a letter, or a word in italics, since upright ones belong to the name above them."""
    letters = name.rstrip("'")
    primes = name[len(letters) :]
    plain = len(letters) == 1 or letters in GREEK
    return (symbol(letters) if plain else rf"\mathit{{{_escape(letters)}}}") + primes


def indices(these: syntax.Indices | None) -> str:
    if not these:
        return ""
    if these[0].height:
        return "".join(("{}^" if i.height == "up" else "{}_") + "{" + index(i) + "}" for i in these)
    shown = [index(i) for i in these]
    together = all(len(text.rstrip("'")) == 1 and not text.isdigit() for text in shown)
    return "_{" + ("" if together else ",").join(shown) + "}"


def index(i: syntax.Index) -> str:
    if i.tensor is not None:
        return _subscripted(symbol(i.tensor.name), i.tensor.indices) if i.tensor.indices else _gathered(i.tensor.name)
    strides = [f"|{label(name)}| " if name else "" for name in i.strides or [""] * len(i.terms)]
    parts = [(c, stride + label(name)) for (c, name), stride in zip(i.terms, strides, strict=True)]
    parts += [(c, f"|{label(name)}|") for c, name in i.sizes]
    text = ""
    for c, name in parts:
        text += ("-" if c < 0 else "+" if text else "") + (name if abs(c) == 1 else f"{abs(c)}{name}")
    if i.const or not parts or (not i.plain and len(parts) == 1 and parts[0][0] == 1):  # i+0 has another range than i
        text += f"{i.const:+d}" if text else str(i.const)
    return f"{{{text}}}" if _DOUBTFUL.fullmatch(text) else text


def _gathered(name: str) -> str:
    """The index that a number is: below ``n_{}`` stands nothing, and ``n`` alone would be an index."""
    return _braced(symbol(name)) + "_{}"


def _size(name: str) -> str:
    """The size of an index; a letter that usually is a name is told to be one, or it would be an absolute value."""
    usual = re.fullmatch("[i-t]'*", name) or len(name.rstrip("'")) > 1 or name in _INDICES.get()
    return f"|{label(name)}|" if usual else rf"|\mathit{{{name}}}|"


def render(node: syntax.Node, place: int) -> str:
    spend()
    return _RENDER[type(node)](node, place)


def _brackets(text: str, needed: bool) -> str:
    return rf"\left({text}\right)" if needed else text


def _tensor(node: syntax.TensorNode, place: int) -> str:
    return _entry(node.name, node.indices)


def _number(node: syntax.Number, place: int) -> str:
    text = repr(node.value)
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa} \\cdot 10^{{{int(exponent)}}}" if exponent else text


def _call(node: syntax.CallNode, place: int) -> str:
    args = [render(a, SUM) for a in node.args]
    args += [r"\mathrm{upper}" if word == "U" else _number(syntax.Number(0, 0, word), SUM) for word in node.params]
    if node.name == "sqrt":
        return rf"\sqrt{{{args[0]}}}"
    if node.name == "prod" and node.axes is not None and isinstance(node.args[0], syntax.ProductNode):
        args[0] = _brackets(render(node.args[0], TERM), True)
        return _brackets(rf"\prod{indices(node.axes)} {args[0]}", place > TERM)
    if node.name in ("sum", "prod") and node.axes is not None:
        return _brackets(rf"\{node.name}{indices(node.axes)} {render(node.args[0], TERM)}", place > TERM)
    if node.name == "inv" and node.axes is None and node.result is not None:
        return rf"\left({args[0]}^{{-1}}\right){indices(node.result)}"
    if node.name == "floor" and isinstance(node.args[0], syntax.ProductNode):  # as it is in sizes
        args = [_product(node.args[0], SUM, quotient=True)]
    op = OPS.get(node.name)
    plain = node.axes is None and node.result is None and node.name not in _UPRIGHT.get()
    if op is not None and op.latex and "{axes}" not in op.latex and plain:
        return op.latex.format(*args)
    if op is None:
        head = function_head(node.name, node.places, len(args))
        head = f"{{{head}}}" if node.places and node.axes else head
        return rf"{head}{indices(node.axes)}\left({', '.join(args)}\right){indices(node.result)}"
    own = op.latex.startswith(f"\\{node.name}")  # which LaTeX has a word for
    name = f"\\{node.name}" if own else rf"\operatorname{{{_escape(node.name)}}}"
    return rf"{name}{indices(node.axes)}\left({', '.join(args)}\right){indices(node.result)}"


def _neg(node: syntax.Neg, place: int) -> str:
    return _brackets("-" + render(node.body, TERM), place > SUM)


def _sum(node: syntax.SumNode, place: int) -> str:
    return _brackets(signed([(sign, render(term, TERM)) for sign, term in node.terms]), place > SUM)


def _product(node: syntax.ProductNode, place: int, quotient: bool = False) -> str:
    """Denominators are collected under one bar; the factors after it stay beside it."""
    below = [factor for exponent, factor in node.factors if exponent < 0]
    above = [factor for exponent, factor in node.factors if exponent > 0]
    if not below:
        return _brackets(_beside(*above), place > TERM)
    numbers = [f for f in above if isinstance(f, (syntax.Number, syntax.Imaginary))]
    if not quotient and all(isinstance(f, (syntax.Number, syntax.Size)) for f in below):
        rest = [f for f in above if f not in numbers]
        bar = rf"\frac{{{_beside(*numbers)}}}{{{_beside(*below)}}}"
        return _brackets(f"{bar} {_joined(rest)}", place > TERM) if rest else bar
    above = [f for f in above if not (isinstance(f, syntax.Number) and f.value == 1)]
    above = [*_ones_above(above, below), *above]
    if _summed_below(above, below) or (len(below) > 1 and any(isinstance(f, syntax.Delta) for f in below)):
        bars = [rf"\frac{{{_beside(*(above if not at else ()))}}}{{{_beside(f)}}}" for at, f in enumerate(below)]
        return _brackets(" ".join(bars), place > TERM)
    return rf"\frac{{{_beside(*above)}}}{{{_beside(*below)}}}"


def _ones_above(above: Sequence[syntax.Node], below: Sequence[syntax.Node]) -> list[syntax.Node]:
    """For an index that a single tensor below the bar has twice: alone it would read as summed there."""
    count = Occurrences()
    others = [name for f in above for name in count.of(f)]
    twice = [n for f in below if isinstance(f, LEAVES) for n, places in count.of(f).items() if len(places) > 1]
    names = tuple([name for name in twice if name not in others])
    return [syntax.Ones(0, 0, indices_of(names))] if names else []


def _summed_below(above: Sequence[syntax.Node], below: Sequence[syntax.Node]) -> bool:
    """Whether denominators under one bar would share an index that nothing above it has: it would read as summed
    there, and ``1/a[k]/b[k]`` is a sum of quotients."""
    count = Occurrences()
    own = {name for f in above for name in count.of(f)}
    names = [name for f in below for name in count.of(f) if name not in own]
    return len(set(names)) < len(names)


def _last(factor: syntax.Node) -> str:
    """The last factor of a product: a sum goes on to the end of the term, and needs no brackets there."""
    signed_sum = isinstance(factor, syntax.CallNode) and factor.name == "sum" and factor.axes is not None
    return render(factor, TERM if signed_sum else ATOM)


def _beside(*factors: syntax.Node) -> str:
    """A product; before a factor that begins with a digit the sign is written, since ``2 3^{x}`` would be misread."""
    if len(factors) < 2:
        return render(factors[0], SUM) if factors else "1"
    return _joined(factors)


def _joined(factors: Sequence[syntax.Node]) -> str:
    shown = [*[render(f, ATOM) for f in factors[:-1]], _last(factors[-1])]
    pairs = zip(factors, factors[1:], shown[1:])
    return shown[0] + "".join(rf" \cdot {text}" if _signed(a, b, text) else f" {text}" for a, b, text in pairs)


def _signed(before: syntax.Node, node: syntax.Node, text: str) -> bool:
    """Whether a product needs its sign: before a digit, and where a name before a bracket would be a function."""
    if not isinstance(before, syntax.TensorNode):
        return text[0].isdigit()
    called = text.startswith(r"\left(") and not may_be_product(before, isinstance(node, syntax.SumNode))
    return text[0].isdigit() or called


def _power(node: syntax.Power, place: int) -> str:
    base = render(node.base, ATOM)
    bare = isinstance(node.base, (syntax.Number, syntax.Pi, syntax.TensorNode)) and "^" not in base
    bare |= isinstance(node.base, syntax.CallNode) and node.base.name == "abs" and base.startswith(r"\left|")
    wrapped = base.startswith(r"\left(") and isinstance(node.base, (syntax.SumNode, syntax.ProductNode, syntax.Neg))
    exponent = render(node.exponent, SUM)
    if isinstance(node.base, syntax.TensorNode) and bare:
        if base == "e":  # and not the exponential
            bare = False
        elif _LIKE_WORD.fullmatch(exponent) or (_LIKE_INDEX.fullmatch(exponent) and not exponent.isdigit()):
            # x^{i} might be an entry, and x^{\mathrm{new}} a name
            base = f"{{{base}}}"
    if exponent in ("T", r"\mathrm{T}"):  # which turns a matrix around
        exponent = _brackets(exponent, True)
    return f"{base if bare or wrapped else _brackets(base, True)}^{{{exponent}}}"


def _delta(node: syntax.Delta, place: int) -> str:
    if node.sign == "==":
        return r"\delta" + indices(node.indices)
    return rf"\left[{f' {_COMPARE[node.sign]} '.join(map(index, node.indices))}\right]"


def _compare(node: syntax.Compare, place: int) -> str:
    return rf"\left[{render(node.left, TERM)} {_COMPARE[node.op]} {render(node.right, TERM)}\right]"


def _derivative(node: syntax.Derivative, place: int) -> str:
    below, body = [rf"\partial {render(node.by, ATOM)}"], node.body
    while isinstance(body, syntax.Derivative):  # of a derivative, as one of higher order
        below.insert(0, rf"\partial {render(body.by, ATOM)}")
        body = body.body
    above = r"\partial" + (f"^{{{len(below)}}}" if len(below) > 1 else "")
    if isinstance(body, syntax.TensorNode):
        return rf"\frac{{{above} {render(body, ATOM)}}}{{{' '.join(below)}}}"
    return rf"\frac{{{above}}}{{{' '.join(below)}}} {_brackets(render(body, SUM), True)}"


_RENDER = {
    syntax.Number: _number,
    syntax.Pi: lambda node, place: r"\pi",
    syntax.Imaginary: lambda node, place: ("" if node.value == 1 else repr(node.value)) + r"\mathrm{i}",
    syntax.TensorNode: _tensor,
    syntax.Ones: lambda node, place: r"\mathbf{1}" + indices(node.indices),
    syntax.Zeros: lambda node, place: r"\mathbf{0}" + indices(node.indices),
    syntax.Delta: _delta,
    syntax.Epsilon: lambda node, place: r"\varepsilon" + indices(node.indices),
    syntax.Size: lambda node, place: _size(node.name),
    syntax.CallNode: _call,
    syntax.Neg: _neg,
    syntax.SumNode: _sum,
    syntax.ProductNode: _product,
    syntax.Power: _power,
    syntax.Compare: _compare,
    syntax.Derivative: _derivative,
}
