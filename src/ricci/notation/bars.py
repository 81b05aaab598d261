r"""Conjugates that are written by a bar or a star: ``z̄[i]``, and in LaTeX ``\bar z``, ``\overline{z}``, ``z^*``.

A bar makes a name of its own, the mean of ``x`` perhaps, and so does a star. Over a name of complex numbers they are
the conjugate: over one that is declared, or that the text defines by such names or by the imaginary unit, and not by
what is real whatever it is of.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from unicodedata import normalize

from ricci.functions.table import IN_TEXT
from ricci.notation import syntax

BAR = "\u0304"
MARKS = ("_bar", "_star", "_overline")  # what the names of LaTeX end with


def bare(name: str, latex: bool = True) -> str:
    """The name under a bar or before a star; empty where there is none.

    >>> bare("z̄"), bare("ā"), bare("w_bar"), bare("w")
    ('z', 'a', 'w', '')
    """
    apart = normalize("NFD", name)
    if apart.endswith(BAR):
        return normalize("NFKC", apart[: -len(BAR)])
    mark = next((mark for mark in MARKS if latex and name.endswith(mark)), "")
    return name[: -len(mark)] if mark else ""


def conjugate_of(node: syntax.TensorNode, name: str) -> syntax.CallNode:
    return syntax.CallNode(node.start, node.end, "conj", (replace(node, name=name),), None, None)


def with_conjugates(program: syntax.Statements, declared: Collection[str], latex: bool = False) -> syntax.Statements:
    """The program in which bars over complex names, and stars, are conjugates."""
    nodes = [node for s in program.statements for side in s.sides for node in _all_within(side)]
    names = {node.name for node in nodes if isinstance(node, syntax.TensorNode)}
    defined = {name for s in program.statements for name in s.names}
    marked = {name: bare(name, latex) for name in names - defined if bare(name, latex)}
    if not marked:
        return program
    known = set(declared)
    for s in program.statements:
        if s.name is not None and is_complex(s.body, known):
            known.add(s.name)
    meant = {name: base for name, base in marked.items() if base in known and name not in declared}
    if not meant:
        return program

    def change(node: syntax.Node) -> syntax.Node:
        if isinstance(node, syntax.Derivative) and node.variable.name in meant:
            by = replace(node.variable, name=meant[node.variable.name])
            return replace(node, variable=by, conjugate=not node.conjugate)
        if isinstance(node, syntax.TensorNode) and node.name in meant:
            return conjugate_of(node, meant[node.name])
        return node

    statements = []
    for s in program.statements:
        left, derived = [None if side is None else changed(side, change) for side in (s.left, s.derived)]
        assert derived is None or isinstance(derived, syntax.Derivative)
        statements.append(replace(s, body=changed(s.body, change), left=left, derived=derived))
    return replace(program, statements=tuple(statements))


def changed(node: syntax.Node, change: Callable[[syntax.Node], syntax.Node]) -> syntax.Node:
    """A tree in which each node is changed, those below it first."""
    parts = syntax.children(node)
    new = [changed(part, change) for part in parts]
    if any(a is not b for a, b in zip(parts, new, strict=True)):
        node = syntax.with_children(node, new)
    return change(node)


def is_complex(node: syntax.Node, names: Collection[str]) -> bool:
    """Whether an expression in which these names are complex is likely to be so too."""
    if isinstance(node, syntax.Imaginary):
        return True
    if isinstance(node, syntax.TensorNode):
        return node.name in names
    row = IN_TEXT.get(node.name) if isinstance(node, syntax.CallNode) else None
    if row is not None and row.complex == "real":
        return False
    if isinstance(node, syntax.Power) and isinstance(node.base, syntax.CallNode):
        return is_complex(node.base, names) or is_complex(node.exponent, names)
    return any(is_complex(part, names) for part in syntax.children(node))


def _all_within(node: syntax.Node) -> list[syntax.Node]:
    found = list(syntax.within(node))
    return found + [n.variable for n in found if isinstance(n, syntax.Derivative)]
