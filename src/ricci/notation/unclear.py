"""Statements that say something else than they seem to: what is not defined by them, and derivatives that are zero.

``s**2 = …`` gives a power, of which what follows may use the root; below ``log(p) = …`` the name ``p`` is an input; and
``D(V, x[i])`` is zero where nothing says what ``V`` is.
"""

from __future__ import annotations

from collections.abc import Iterator

from ricci.notation import syntax
from ricci.notation.roots import odd_uses

Reading = tuple[str, list[tuple[int, int, str]]]  # what is said of it, and the edits that make it
Found = tuple[str, syntax.Node, syntax.Statement, list[Reading]]


def unclear(program: syntax.Statements) -> Iterator[Found]:
    """All such places of a text."""
    yield from _definitions(program)
    yield from _constant_derivatives(program)


def _definitions(program: syntax.Statements) -> Iterator[Found]:
    for at, statement in enumerate(program.statements):
        after, name = program.statements[at + 1 :], statement.name
        if isinstance(statement.power, syntax.Power) and name is not None:
            power = statement.power.exponent.value if isinstance(statement.power.exponent, syntax.Number) else 1
            if not power % 2 and odd_uses(name, int(power), after):
                says = f"What follows uses {name!r}, of which a power is given here."
                yield says, statement.power, statement, [(f"It is read as: {name} is the positive root of", [])]
        elif statement.left is not None and after:
            names = [node.name for node in syntax.within(statement.left) if isinstance(node, syntax.TensorNode)]
            if len(names) == 1 and names[0] in _tensors(after):
                says = f"This equation does not define {names[0]!r}, which is an input in what follows."
                yield says, statement.left, statement, [("It is read as an equation", [])]


def _tensors(statements: tuple[syntax.Statement, ...]) -> set[str]:
    """The names of tensors in some statements."""
    nodes = [node for s in statements for side in s.sides for node in syntax.within(side)]
    nodes += [node.variable for node in nodes if isinstance(node, syntax.Derivative)]
    return {node.name for node in nodes if isinstance(node, syntax.TensorNode)}


def _constant_derivatives(program: syntax.Statements) -> Iterator[Found]:
    defined = {name for s in program.statements for name in s.names}
    for statement in program.statements:
        for node in [node for side in statement.sides for node in syntax.within(side)]:
            if not isinstance(node, syntax.Derivative) or not isinstance(node.body, syntax.TensorNode):
                continue
            name, by = node.body.name, node.variable.name
            if name not in defined and name != by:
                says = f"{name!r} is an input, which does not depend on {by!r}: its derivative is 0. "
                says += f"Define {name} above, or write it as a function, with functions=[{name!r}]."
                yield says, node, statement, [("It is read as", [(node.start, node.end, "0")])]
