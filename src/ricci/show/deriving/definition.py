"""What is derived: definitions with their trees, and the lines in which it is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ricci.expr import Expr
from ricci.notation import syntax
from ricci.notation.context import Facts
from ricci.notation.declarations import PLAIN, Declarations


@dataclass
class Defined:
    """A name, its indices as they stand, and its tree."""

    name: str
    indices: syntax.Indices
    body: syntax.Node
    left: syntax.Node | None = None  # for what has no name: what it is, D(l, w[p])

    @property
    def free(self) -> dict[str, str]:
        return {i.terms[0][1]: i.height for i in self.indices}

    @property
    def tensor(self) -> syntax.Node:
        return syntax.TensorNode(0, 0, self.name, self.indices or None) if self.left is None else self.left


@dataclass
class Line:
    rule: str
    left: syntax.Node | None
    right: syntax.Node  # as it is written
    before: tuple[syntax.Statement, ...] = ()


@dataclass
class Given:
    """A program as it was typed, or as it is printed, and how it is read."""

    statements: tuple[syntax.Statement, ...]
    heights: Mapping[str, tuple[str, ...]]
    orders: Mapping[str, int]
    sizes: Mapping[str, int] = field(default_factory=dict)
    stated: syntax.SizeLine = field(default_factory=lambda: syntax.SizeLine((), ()))  # what is said of sizes
    shown: syntax.SizeLine = field(default_factory=lambda: syntax.SizeLine((), ()))  # and how much of that is shown
    declared: Declarations = PLAIN
    compared: Callable[[Expr, Expr, Facts], bool] | None = None  # whether values agree, where nothing else can tell


def size_of(node: syntax.Node) -> int:
    return sum(1 for _ in syntax.within(node))
