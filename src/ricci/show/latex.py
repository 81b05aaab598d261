r"""Trees to LaTeX as people write it: ``x_{ik} a_{kj}``, ``\delta_{ij}``, ``\mathbf{1}_{i}``, ``\frac{a}{b}``."""

from __future__ import annotations

from collections.abc import Sequence

from ricci.budget import spend
from ricci.expr import OPS
from ricci.notation import syntax
from ricci.notation.occurrences import LEAVES, Occurrences
from ricci.show.phrases import indices_of, signed

SUM, TERM, ATOM = 0, 1, 2
Standing = Sequence[tuple[str, str]]  # the names of indices, and where they stand
_GREEK_LETTERS = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi "
    "omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
)
_GREEK = frozenset(_GREEK_LETTERS.split())
_COMPARE = {"<": "<", "<=": r"\le", ">": ">", ">=": r"\ge", "==": "=", "!=": r"\ne"}
_ACCENTS = {"dot": r"\dot", "bar": r"\bar", "hat": r"\hat", "tilde": r"\tilde"}


def program(tree: syntax.Statements, left: str | None = None) -> str:
    """All statements; ``left`` stands for the left side of the last one where it is given."""
    *before, last = tree.statements
    sizes = size_line(tree.sizes)
    if not before and not sizes:
        return statement(last, left)
    return aligned([*sizes, *[statement(s, sign="&=") for s in before], statement(last, left, "&=")])


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
        left = _subscripted(symbol(node.name), node.indices)
    return body if left is None else f"{left} {sign} {body}"


def partials(name: str, own: Standing, by: Sequence[tuple[str, Standing]]) -> str:
    r"""The left side of a derivative: ``\frac{\partial^2 l}{\partial w_{n} \partial w_{p}}``."""
    order = f"^{{{len(by)}}}" if len(by) > 1 else ""
    above = _subscripted(symbol(name), _plain(own))
    below = " ".join(rf"\partial {_subscripted(symbol(x), _plain(of_x))}" for x, of_x in by)
    return rf"\frac{{\partial{order} {above}}}{{{below}}}"


def _plain(names: Standing) -> syntax.Indices:
    return tuple([syntax.Index(0, 0, ((1, name),), plain=True, height=height) for name, height in names])


def symbol(name: str) -> str:
    """A name in mathematics: Greek letters, subscripts (``w_1``), accents (``x_dot``), words upright.

    So is ``x1``: what stands below a name is a subscript of its own, in upright letters, or an index, and ``x_{1}`` is
    the entry ``x[1]``.
    """
    head, _, tail = name.partition("_")
    if tail in _ACCENTS and head:
        return f"{_ACCENTS[tail]}{{{_stem(head)}}}"
    if tail and head:
        base = _stem(head)
        return f"{_braced(base)}_{{\\mathrm{{{_escape(tail)}}}}}"
    if name in _GREEK:
        return "\\" + name
    return name if len(name) == 1 else f"\\mathrm{{{_escape(name)}}}"


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


def label(name: str) -> str:
    """An index: as the name of a tensor, but italic where it ends in digits, since upright ones belong to a name."""
    letters = name.rstrip("'")
    primes = name[len(letters) :]
    if letters[-1:].isdigit():
        return rf"\mathit{{{_escape(letters)}}}" + primes
    return (symbol(letters) if len(letters) > 1 else letters) + primes


def indices(these: syntax.Indices | None) -> str:
    if not these:
        return ""
    if these[0].height:
        return "".join(("{}^" if i.height == "up" else "{}_") + "{" + index(i) + "}" for i in these)
    shown = [index(i) for i in these]
    digits = sum(text.isdigit() for text in shown)
    together = digits < 2 and all(len(text.rstrip("'")) == 1 for text in shown)
    return "_{" + ("" if together else ",").join(shown) + "}"


def index(i: syntax.Index) -> str:
    if i.tensor is not None:
        return _subscripted(symbol(i.tensor.name), i.tensor.indices)
    strides = [f"|{label(name)}| " if name else "" for name in i.strides or [""] * len(i.terms)]
    parts = [(c, stride + label(name)) for (c, name), stride in zip(i.terms, strides, strict=True)]
    parts += [(c, f"|{label(name)}|") for c, name in i.sizes]
    text = ""
    for c, name in parts:
        text += ("-" if c < 0 else "+" if text else "") + (name if abs(c) == 1 else f"{abs(c)}{name}")
    if i.const or not parts or (not i.plain and len(parts) == 1 and parts[0][0] == 1):  # i+0 has another range than i
        text += f"{i.const:+d}" if text else str(i.const)
    return text


def render(node: syntax.Node, place: int) -> str:
    spend()
    return _RENDER[type(node)](node, place)


def _brackets(text: str, needed: bool) -> str:
    return rf"\left({text}\right)" if needed else text


def _number(node: syntax.Number, place: int) -> str:
    text = repr(node.value)
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa} \\cdot 10^{{{int(exponent)}}}" if exponent else text


def _call(node: syntax.CallNode, place: int) -> str:
    args = [render(a, SUM) for a in node.args]
    if node.name == "sqrt":
        return rf"\sqrt{{{args[0]}}}"
    if node.name == "sum" and node.axes is not None:
        return _brackets(rf"\sum{indices(node.axes)} {render(node.args[0], TERM)}", place > TERM)
    if node.name == "inv" and node.axes is None and node.result is not None:
        return rf"\left({args[0]}^{{-1}}\right){indices(node.result)}"
    op = OPS.get(node.name)
    if op is not None and op.latex and node.axes is None and node.result is None:
        return op.latex.format(*args)
    own = op is not None and op.latex.startswith(f"\\{node.name}")  # which LaTeX has a word for
    name = f"\\{node.name}" if own else rf"\operatorname{{{_escape(node.name)}}}"
    return rf"{name}{indices(node.axes)}\left({', '.join(args)}\right){indices(node.result)}"


def _neg(node: syntax.Neg, place: int) -> str:
    return _brackets("-" + render(node.body, TERM), place > SUM)


def _sum(node: syntax.SumNode, place: int) -> str:
    return _brackets(signed([(sign, render(term, TERM)) for sign, term in node.terms]), place > SUM)


def _product(node: syntax.ProductNode, place: int) -> str:
    """Denominators are collected under one bar; the factors after it stay beside it."""
    below = [factor for exponent, factor in node.factors if exponent < 0]
    above = [factor for exponent, factor in node.factors if exponent > 0]
    if not below:
        return _brackets(_beside(*above), place > TERM)
    numbers = [f for f in above if isinstance(f, syntax.Number)]
    if all(isinstance(f, (syntax.Number, syntax.Size)) for f in below):
        rest = [f for f in above if f not in numbers]
        bar = rf"\frac{{{_beside(*numbers)}}}{{{_beside(*below)}}}"
        return _brackets(" ".join([bar, *[render(f, ATOM) for f in rest]]), place > TERM and bool(rest))
    above = [f for f in above if not (isinstance(f, syntax.Number) and f.value == 1)]
    above = [*_ones_above(above, below), *above]
    if _summed_below(above, below):
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


def _beside(*factors: syntax.Node) -> str:
    """A product; before a factor that begins with a digit the sign is written, since ``2 3^{x}`` would be misread."""
    if len(factors) < 2:
        return render(factors[0], SUM) if factors else "1"
    first, *rest = [render(f, ATOM) for f in factors]
    return first + "".join(rf" \cdot {text}" if text[0].isdigit() else f" {text}" for text in rest)


def _power(node: syntax.Power, place: int) -> str:
    base = render(node.base, ATOM)
    bare = isinstance(node.base, (syntax.Number, syntax.Pi, syntax.TensorNode)) and "^" not in base
    wrapped = base.startswith(r"\left(") and isinstance(node.base, (syntax.SumNode, syntax.ProductNode, syntax.Neg))
    return f"{base if bare or wrapped else _brackets(base, True)}^{{{render(node.exponent, SUM)}}}"


def _delta(node: syntax.Delta, place: int) -> str:
    if node.sign == "==":
        return r"\delta" + indices(node.indices)
    return rf"\left[{f' {_COMPARE[node.sign]} '.join(map(index, node.indices))}\right]"


def _compare(node: syntax.Compare, place: int) -> str:
    return rf"\left[{render(node.left, TERM)} {_COMPARE[node.op]} {render(node.right, TERM)}\right]"


def _derivative(node: syntax.Derivative, place: int) -> str:
    below = rf"\partial {render(node.variable, ATOM)}"
    if isinstance(node.body, (syntax.TensorNode, syntax.Derivative)):
        return rf"\frac{{\partial {render(node.body, ATOM)}}}{{{below}}}"
    return rf"\frac{{\partial}}{{{below}}} {_brackets(render(node.body, SUM), True)}"


_RENDER = {
    syntax.Number: _number,
    syntax.Pi: lambda node, place: r"\pi",
    syntax.TensorNode: lambda node, place: _subscripted(symbol(node.name), node.indices),
    syntax.Ones: lambda node, place: r"\mathbf{1}" + indices(node.indices),
    syntax.Zeros: lambda node, place: r"\mathbf{0}" + indices(node.indices),
    syntax.Delta: _delta,
    syntax.Size: lambda node, place: f"|{label(node.name)}|",
    syntax.CallNode: _call,
    syntax.Neg: _neg,
    syntax.SumNode: _sum,
    syntax.ProductNode: _product,
    syntax.Power: _power,
    syntax.Compare: _compare,
    syntax.Derivative: _derivative,
}
