"""Several texts below one another, such as the lines of a derivation and the sides of an equation."""

from __future__ import annotations

from dataclasses import dataclass, field

from ricci.expr import Expr, Size
from ricci.expr.settle import SizeClasses
from ricci.notation import syntax


@dataclass
class Page:
    """What holds where several texts stand below one another: a name stands for one part, an index has one size."""

    linked: list[tuple[Size, Size]] = field(default_factory=list)  # sizes that agree, also where a text does not say it
    lines: dict[str, syntax.Statement] = field(default_factory=dict)  # those of parts, by their names
    of_part: dict[Expr, syntax.Statement] = field(default_factory=dict)
    loops: dict[Expr, tuple[list[syntax.Statement], tuple[int, ...]]] = field(
        default_factory=dict
    )  # all lines of those that are recurrences, and the order of their axes
    claims: dict[str, Size] = field(default_factory=dict)  # the sizes of indices
    sizes: syntax.SizeLine = field(default_factory=lambda: syntax.SizeLine((), ()))  # what was said of them
    sided: bool = False  # whether a left side beside each text says how large its indices are
    named: frozenset[str] = frozenset()  # what is named in a text beside it: no new index is called so

    @classmethod
    def of(cls, *roots: Expr) -> Page:
        """One for texts with left sides that come from these expressions."""
        return cls(linked=list(SizeClasses(*roots).parent.items()), sided=True)


def together(one: syntax.SizeLine, other: syntax.SizeLine) -> syntax.SizeLine:
    """What both lines say."""
    equations = {size.name: (size, node) for line in (one, other) for size, node in line.equations}
    new = [tensor for tensor in other.tensors if tensor not in one.tensors]
    return syntax.SizeLine((*one.tensors, *new), tuple(equations.values()))


def without(line: syntax.SizeLine, said: syntax.SizeLine) -> syntax.SizeLine:
    """What a line says beyond another."""
    return syntax.SizeLine(
        tuple([tensor for tensor in line.tensors if tensor not in said.tensors]),
        tuple([pair for pair in line.equations if pair not in said.equations]),
    )
