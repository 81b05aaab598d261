"""What the nodes of an expression are called in pictures and tables: a word, index names, a line of text.

The core has no index names, and what a user calls a slice or a reshape is a product with a structure in it. Here both
come back: :class:`AxisNames` hands index names down from the results, the user's own where they are known, and
structures are read as what they do to the tensor beside them: ``x[j] [j = 2 i + 1]`` is a slice. A relation in brackets
is 1 where it holds and 0 elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from ricci.expr import (
    HALF,
    POWER,
    Constant,
    Data,
    Dim,
    Elementwise,
    Expr,
    Function,
    Product,
    Size,
    Structure,
    Sum,
    Variable,
    numeric,
    topological,
)
from ricci.expr.structures import is_delta, merged_axis
from ricci.notation.context import Facts
from ricci.show.index_names import Namer
from ricci.show.phrases import signed

Names = tuple[str, ...]
_STRUCTURES = {"one": "1", "zero": "0", "at": "gather", ">=": "triangle"}
_PLACES = {"power": ("base", "exponent"), "where": ("if", "then", "else"), "solve": ("A", "b")}


class AxisNames:
    """Index names for all axes of all nodes, from the results down; ``of[node]`` are those of a node.

    A node that several others use has the names under which the first of them uses it; ``below(node)`` are the names
    that a node itself has for its operands' axes.
    """

    def __init__(self, roots: Sequence[Expr], names: Sequence[Names] = (), facts: Facts | None = None):
        self.namer = Namer(facts or Facts(), roots)
        self.of: dict[Expr, Names] = {}
        self._below: dict[Expr, list[Names]] = {}
        for root, own in zip(roots, names, strict=False):
            self.of.setdefault(root, own)
            for name, size in zip(own, root.shape, strict=True):
                self.namer.claim(name, size)
        for node in reversed(topological(*roots)):
            if node not in self.of:
                self.of[node] = self._fresh(node, range(len(node.shape)), set())
            for arg, own in zip(node.args, self.below(node), strict=True):
                self.of.setdefault(arg, own)

    def below(self, node: Expr) -> list[Names]:
        """The names of each operand's axes, as this node uses it."""
        if not any(a.shape for a in node.args):
            return [()] * len(node.args)
        if node not in self._below:
            self._below[node] = self._operands(node, self.of[node])
        return self._below[node]

    def _fresh(self, e: Expr, axes: Sequence[int], taken: set[str]) -> Names:
        found = []
        for axis in axes:
            found.append(self.namer.fresh(e.shape[axis], self.namer.hints_of(e, axis), taken))
            taken.add(found[-1])
        return tuple(found)

    def _operands(self, node: Expr, names: Names) -> list[Names]:
        if isinstance(node, Product):
            known, taken = dict(zip(node.out, names, strict=True)), set(names)
            for a, labels in node.factors():
                for axis, label in enumerate(labels):
                    if label not in known:
                        (known[label],) = self._fresh(a, (axis,), taken)
            return [tuple([known[label] for label in labels]) for labels in node.labels]
        if isinstance(node, Function):
            return self._function(node, names)
        if isinstance(node, Structure):
            return [names[:-1]]
        return [names if a.shape else () for a in node.args]

    def _function(self, node: Function, names: Names) -> list[Names]:
        works_on = node.op.axes_of(node.params)
        lead = len(node.args[0].shape) - works_on[0]
        taken, found = set(names), []
        for a, own in zip(node.args, works_on, strict=True):
            kept = names[lead:] if len(names) - lead == own else None
            found.append(names[:lead] + (kept or self._fresh(a, range(lead, lead + own), taken)))
        return found


# Words


def operands(node: Expr) -> list[Expr]:
    """The operands that are drawn. Structures belong to the product they are in, a fixed exponent to its power."""
    if isinstance(node, Product):
        return [b for a in node.args for b in (a.args if isinstance(a, Structure) else (a,))]
    return list(node.args[:1] if fixed_exponent(node) is not None else node.args)


def unarranged(node: Expr) -> Expr:
    """The operation that a node only transposes, or the node itself: index names say how axes are arranged."""
    while isinstance(node, Product) and len(node.args) == 1 and not node.sums:
        labels, inner = node.labels[0], node.args[0]
        if len(labels) != len(node.out) or len(set(labels)) < len(labels) or not operands(inner):
            break
        node = inner
    return node


def kind(node: Expr) -> str:
    """``input``, ``constant`` or ``operation``."""
    if isinstance(node, Variable):
        return "input"
    return "operation" if node.args or isinstance(node, Product) else "constant"


def fixed_exponent(node: Expr):
    return numeric(node.args[1]) if isinstance(node, Elementwise) and node.op is POWER else None


def word(node: Expr) -> str:
    """What a node is, in a word."""
    if isinstance(node, Variable):
        return node.name
    if isinstance(node, Constant):
        return constant_text(node)
    if isinstance(node, Structure):
        return structure_word(node)
    if isinstance(node, Product):
        return product_word(node)
    if isinstance(node, Sum):
        return "+" if len(node.args) > 1 else "neg" if node.coefs[0] == -1 else f"* {number_text(node.coefs[0])}"
    assert isinstance(node, (Elementwise, Function))
    exponent = fixed_exponent(node)
    if exponent is not None:
        return {-1: "1/", HALF: "sqrt"}.get(exponent, f"**{number_text(exponent)}")
    return node.op.sign or op_word(node)


def op_word(node: Elementwise | Function) -> str:
    """The name of a function; recurrences and branches, whose rows are made as they are met, have none to read."""
    if node.op.loop is not None:
        return "recurrence"
    return node.op.name if node.op.branches is None else "branch"


def number_text(value: object) -> str:
    """A number, floats to six digits; negative ones and fractions in brackets, so that they can stand in a product."""
    if isinstance(value, Fraction):
        return f"({value})"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f"({text})" if text.startswith("-") else text


def constant_text(node: Constant) -> str:
    value = node.value
    if isinstance(value, Data):
        return "array"
    return f"|{value}|" if isinstance(value, Dim) else number_text(value)


def structure_word(node: Structure) -> str:
    if node.relation[0] in _STRUCTURES:
        return _STRUCTURES[node.relation[0]]
    if is_delta(node):
        return "delta"
    if merged_axis(node) is not None:
        return "reshape"
    return {1: "place", 2: "slice"}.get(len(node.shape), "window")


def product_word(node: Product) -> str:
    tensors = [(a, labels) for a, labels in node.factors() if not isinstance(a, Structure)]
    moves = [_move(a, labels, node) for a, labels in node.factors() if isinstance(a, Structure)]
    if len(tensors) > 1:
        plain = not moves and all(labels in ((), node.out) for _, labels in tensors)
        return "*" if plain else "contraction"
    if moves:
        return " · ".join(dict.fromkeys(moves))
    labels = tensors[0][1] if tensors else ()
    if len(set(labels)) < len(labels):
        return "diagonal" if not node.sums else "trace"
    if node.sums:
        return "sum"
    return "transpose" if len(labels) == len(node.out) else "broadcast"


def _move(a: Structure, labels: Sequence[int], node: Product) -> str:
    """What a structure does to the tensor it is multiplied by."""
    plain = structure_word(a)
    read = [axis for axis, label in enumerate(labels) if label not in node.out]
    if plain == "gather":
        return plain if len(labels) - 1 in read else "scatter" if read else "one_hot"
    if plain == "place":
        return "index" if read else plain
    if plain == "slice" and len(read) == 1:
        longer = a.shape[1 - read[0]], a.shape[read[0]]
        if isinstance(longer[0], int) and isinstance(longer[1], int) and longer[0] > longer[1]:
            return "pad"
    return plain


# Lines of text


def indexed(text: str, names: Names) -> str:
    return f"{text}[{','.join(names)}]" if names else text


def relation_text(node: Structure, names: Names, index: str = "") -> str:
    """A structure as a relation between indices: ``delta[i,j]``, ``[j = 2 i + 1]``, ``[v = t[b]]``, ``1[i]``."""
    symbol = node.relation[0]
    if symbol in ("one", "zero"):
        return indexed(_STRUCTURES[symbol], names)
    if symbol == "at":
        return f"[{names[-1]} = {index}]"
    if is_delta(node):
        return indexed("delta", names)
    _, coefs, const = node.relation
    terms = [*zip(coefs, names, strict=True), (const, "")]
    left = [(c, n) for c, n in terms if _positive(c)]
    right = [(-1 * c, n) for c, n in terms if not _positive(c) and c != 0]
    if symbol == "==":
        left, right = sorted((left, right), key=lambda s: (not any(n for _, n in s), len(s), any(c != 1 for c, _ in s)))
    return f"[{_affine(left)} {'=' if symbol == '==' else '>='} {_affine(right)}]"


def _positive(c: Size) -> bool:
    return c > 0 if isinstance(c, int) else not str(c).startswith("-")


def _affine(terms: Sequence[tuple[Size, str]]) -> str:
    terms = sorted(terms, key=lambda term: (not term[1], -term[0] if isinstance(term[0], int) else 0, term[1]))
    texts = [
        " ".join([*([_size_text(c)] if c != 1 or not name else []), *([name] if name else [])]) for c, name in terms
    ]
    return " + ".join(texts) or "0"


def _size_text(size: Size) -> str:
    return str(size) if isinstance(size, int) or len(size.terms) == 1 else f"({size})"


def contraction(node: Product, names: Names, below: Sequence[Names]) -> str:
    """``ik,kj→ij``; names of several letters are kept apart by spaces."""
    tensors = [own for a, own in zip(node.args, below, strict=True) if not isinstance(a, Structure)]
    tensors.sort(key=lambda own: min([names.index(name) for name in own if name in names], default=len(names)))
    gap = "" if all(len(name.rstrip("'")) == 1 for own in (*below, names) for name in own) else " "
    return f"{(',' + gap).join(gap.join(own) for own in tensors)}{gap}→{gap}{gap.join(names)}"


def relations(node: Product, below: Sequence[Names], text: Callable[[Expr, Names], str]) -> list[str]:
    """The structures of a product as relations between its indices."""
    found = [(a, own) for a, own in zip(node.args, below, strict=True) if isinstance(a, Structure)]
    return [relation_text(a, own, text(a.args[0], own[:-1]) if a.args else "") for a, own in found]


def sentence(node: Expr, axes: AxisNames, called: Mapping[Expr, tuple[int, str]]) -> str:
    """How a node is computed from others: ``X[m,n] * w[n]``, ``sin(v1)``, ``v1 + 2 * v2``; ``called`` numbers and
    names them.

    Factors and terms stand in the order in which they are called, then numbers and structures.
    """

    def text(e: Expr, names: Names) -> str:
        if isinstance(e, Structure) and e not in called:
            return relation_text(e, names, text(e.args[0], names[:-1]) if e.args else "")
        return indexed(called[e][1] if e in called else word(e), names)

    below = axes.below(node)
    args = [text(a, own) for a, own in zip(node.args, below, strict=True)]
    if isinstance(node, Product):
        inner = set(below[0]) - set(axes.of[node]) if len(below) == 1 else ()
        gone = tuple([name for name in below[0] if name in inner])
        ordered = [args[k] for k in _in_order(node, called)]
        return f"{indexed('sum', tuple(dict.fromkeys(gone)))}({args[0]})" if gone else " * ".join(ordered)
    if isinstance(node, Sum):
        terms = [(node.coefs[k], args[k]) for k in _in_order(node, called)]
        return signed(
            [(-1 if c < 0 else 1, arg if abs(c) == 1 else f"{number_text(abs(c))} * {arg}") for c, arg in terms]
        )
    if isinstance(node, Elementwise):
        infix = node.op.sign
        if infix:
            return (infix if infix == "**" else f" {infix} ").join(args)
        return f"{node.op.name}({', '.join(args)})"
    if isinstance(node, Function):
        return f"{function_text(node, below)}({', '.join(args)})"
    return text(node, axes.of[node]) if isinstance(node, Structure) else word(node)


def _in_order(node: Expr, called: Mapping[Expr, tuple[int, str]]) -> list[int]:
    last = (len(called), "")
    return sorted(range(len(node.args)), key=lambda k: (called.get(node.args[k], last)[0], k))


def function_text(node: Function, below: Sequence[Names]) -> str:
    """A function with the indices of its first operand that it works on: ``softmax[k]``."""
    own = node.op.axes_of(node.params)[0]
    return indexed(op_word(node), below[0][len(below[0]) - own :])


def places(node: Expr, below: Sequence[Names]) -> tuple[str, ...]:
    """What is written at the line from each drawn operand: its indices, its coefficient, or its place."""
    if isinstance(node, Product):
        plain = product_word(node) != "contraction"
        drawn = [(a, own) for a, own in zip(node.args, below, strict=True) if not isinstance(a, Structure) or a.args]
        return tuple(["index" if isinstance(a, Structure) else "" if plain else " ".join(own) for a, own in drawn])
    if isinstance(node, Sum) and len(node.args) > 1:
        return tuple(["" if c == 1 else "-" if c == -1 else number_text(c).strip("()") for c in node.coefs])
    if isinstance(node, (Elementwise, Function)) and len(operands(node)) > 1 and not node.op.symmetric:
        return _PLACES.get(node.op.name, tuple(map(str, range(1, len(node.args) + 1))))
    return ()
