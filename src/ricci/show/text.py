"""Trees to text, in the notation that the parser reads, with no bracket that is not needed."""

from __future__ import annotations

from itertools import groupby

from ricci.budget import spend
from ricci.functions.unknown import mark
from ricci.notation import syntax
from ricci.notation.tokens import LETTERS
from ricci.show.phrases import signed

SUM, TERM, ATOM = 0, 1, 2  # what may stand in a place without brackets


def program(tree: syntax.Statements) -> str:
    return "\n".join([*size_line(tree.sizes), *map(statement, tree.statements)])


def size_line(line: syntax.SizeLine) -> list[str]:
    """The line that says what sizes are, if there is anything to say."""
    parts = [render(tensor, ATOM) for tensor in line.tensors]
    for size, node in line.equations:
        free = isinstance(node, syntax.Size) and node.name == size.name
        parts.append(render(size, ATOM) + ("" if free else f" = {render(node, SUM)}"))
    return ["sizes: " + ", ".join(parts)] if parts else []


def statement(node: syntax.Statement) -> str:
    body = render(node.body, SUM)
    return body if node.name is None else f"{node.name}{indices(node.indices)} = {body}"


def indices(these: syntax.Indices | None) -> str:
    if not these:
        return ""
    if these[0].height:
        return heights(these)
    return "[" + ",".join(map(index, these)) + "]"


def heights(these: syntax.Indices) -> str:
    """``^i_j``, ``^{i j}_{k l}``; below and directly after the name always with braces."""
    text = ""
    for height, group in groupby(these, key=lambda i: i.height):
        group = list(group)
        bare = len(group) == 1 and group[0].plain and (height == "up" or text)
        text += ("^" if height == "up" else "_") + (index(group[0]) if bare else "{" + braced(group) + "}")
    return text


def braced(these: list[syntax.Index]) -> str:
    """Indices in braces: with blanks between names and components, otherwise with commas.

    A word, or a component, that is alone has a comma after it: without one it would be letters, or a power.
    """
    words = [index(i) for i in these]
    if not all(i.plain or not (i.terms or i.sizes or i.tensor) for i in these):
        return ",".join(words)
    alone = len(words) == 1 and not LETTERS.fullmatch(words[0])
    return words[0] + "," if alone else " ".join(words)


def index(i: syntax.Index) -> str:
    if i.tensor is not None:
        return i.tensor.name + (indices(i.tensor.indices) or "[]")
    strides = [f"|{name}|*" if name else "" for name in i.strides or [""] * len(i.terms)]
    parts = [(c, stride + name) for (c, name), stride in zip(i.terms, strides, strict=True)]
    parts += [(c, f"|{name}|") for c, name in i.sizes]
    text = ""
    for c, name in parts:
        size = name if abs(c) == 1 else f"{abs(c)}*{name}"
        text += ("-" if c < 0 else "+" if text else "") + size
    if i.const or not parts or (not i.plain and len(parts) == 1 and parts[0][0] == 1):
        text += f"{i.const:+d}" if text else str(i.const)
    return text


def render(node: syntax.Node, place: int) -> str:
    spend()
    return _RENDER[type(node)](node, place)


def _brackets(text: str, needed: bool) -> str:
    return f"({text})" if needed else text


def _number(node: syntax.Number, place: int) -> str:
    return repr(node.value)


def _tensor(node: syntax.TensorNode, place: int) -> str:
    return node.name + indices(node.indices)


def _call(node: syntax.CallNode, place: int) -> str:
    further = ["upper" if word == "U" else repr(word) for word in node.params]
    args = ", ".join([*[render(a, SUM) for a in node.args], *further])
    name = node.name + mark(node.places, len(node.args))
    return f"{name}{indices(node.axes)}({args}){indices(node.result)}"


def _neg(node: syntax.Neg, place: int) -> str:
    return _brackets("-" + render(node.body, TERM), place > SUM)


def _sum(node: syntax.SumNode, place: int) -> str:
    return _brackets(signed([(sign, render(term, TERM)) for sign, term in node.terms]), place > SUM)


def _product(node: syntax.ProductNode, place: int) -> str:
    text = ""
    for position, (exponent, factor) in enumerate(node.factors):
        shown = render(factor, ATOM)
        if not position:
            text = shown
        elif exponent > 0:
            text += " " + shown
        else:
            tight = isinstance(factor, (syntax.Number, syntax.Size)) or _short(node.factors[position - 1][1])
            text += ("/" if tight else " / ") + shown
    return _brackets(text, place > TERM)


def _short(node: syntax.Node) -> bool:
    return isinstance(node, syntax.Number)


def _power(node: syntax.Power, place: int) -> str:
    base = render(node.base, ATOM)
    if isinstance(node.base, syntax.Power):
        base = f"({base})"
    simple = isinstance(node.exponent, (syntax.Number, syntax.TensorNode))
    exponent = render(node.exponent, ATOM) if simple else f"({render(node.exponent, SUM)})"
    return f"{base}**{exponent}"


def _delta(node: syntax.Delta, place: int) -> str:
    if node.sign == "==":
        return "delta" + indices(node.indices)
    return "[" + f" {node.sign} ".join(map(index, node.indices)) + "]"


def _compare(node: syntax.Compare, place: int) -> str:
    return _brackets(f"{render(node.left, TERM)} {node.op} {render(node.right, TERM)}", place > SUM)


_RENDER = {
    syntax.Number: _number,
    syntax.Pi: lambda node, place: "pi",
    syntax.Imaginary: lambda node, place: f"{node.value!r}j",
    syntax.TensorNode: _tensor,
    syntax.Ones: lambda node, place: "1" + indices(node.indices),
    syntax.Zeros: lambda node, place: "0" + indices(node.indices),
    syntax.Delta: _delta,
    syntax.Epsilon: lambda node, place: "eps" + indices(node.indices),
    syntax.Size: lambda node, place: f"|{node.name}|",
    syntax.CallNode: _call,
    syntax.Neg: _neg,
    syntax.SumNode: _sum,
    syntax.ProductNode: _product,
    syntax.Power: _power,
    syntax.Compare: _compare,
    syntax.Derivative: lambda node, place: f"D({render(node.body, SUM)}, {render(node.by, ATOM)})",
}
