r"""``\sigma^2 = …`` as a definition: of ``\sigma``, as the positive root, where what follows uses the name.

On its own such a statement is an equation with two sides. Where lines below it say ``\sigma`` or ``\sigma^2``, they
mean what stands there, and not an input.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ricci.notation import syntax


def with_roots(program: syntax.Statements) -> syntax.Statements:
    """The program in which a power that is given on a left side, and used below, defines what it is a power of."""
    statements = list(program.statements)
    for at, statement in enumerate(statements):
        base = _powered(statement)
        if base is None or base.name in {name for s in statements[:at] for name in _names(s)}:
            continue
        if base.name in _names(replace(statement, left=None)) or not _used(base.name, statements[at + 1 :]):
            continue
        statements[at] = replace(
            statement, name=base.name, indices=base.indices, body=_root(statement), left=None, power=statement.left
        )
    return program if statements == list(program.statements) else replace(program, statements=tuple(statements))


def _powered(statement: syntax.Statement) -> syntax.TensorNode | None:
    """The name whose positive whole power is the left side of a statement."""
    left = statement.left
    if not isinstance(left, syntax.Power) or not isinstance(left.base, syntax.TensorNode) or statement.unsummed:
        return None
    indices = left.base.indices or ()
    plain = all(index.plain for index in indices) and len({index.terms for index in indices}) == len(indices)
    whole = (
        isinstance(left.exponent, syntax.Number) and isinstance(left.exponent.value, int) and left.exponent.value > 1
    )
    return left.base if plain and whole else None


def _root(statement: syntax.Statement) -> syntax.Node:
    left, body = statement.left, statement.body
    assert isinstance(left, syntax.Power) and isinstance(left.exponent, syntax.Number)
    if left.exponent.value in (2, 3):
        name = "sqrt" if left.exponent.value == 2 else "cbrt"
        return syntax.CallNode(body.start, body.end, name, (body,), None, None)
    one = syntax.Number(left.exponent.start, left.exponent.end, 1)
    exponent = syntax.ProductNode(one.start, one.end, ((1, one), (-1, left.exponent)))
    return syntax.Power(body.start, body.end, body, exponent)


def _names(statement: syntax.Statement) -> set[str]:
    """The names of tensors in a statement, what it defines and what it is differentiated by among them."""
    return {statement.name or ""} | {node.name for side in statement.sides for node in _tensors(side)}


def _used(name: str, statements: Sequence[syntax.Statement]) -> bool:
    return any(name in _names(s) for s in statements) and not any(name == s.name for s in statements)


def _tensors(root: syntax.Node) -> Iterator[syntax.TensorNode]:
    for node in syntax.within(root):
        if isinstance(node, syntax.TensorNode):
            yield node
        if isinstance(node, syntax.Derivative):
            yield node.variable


def odd_uses(name: str, power: int, statements: Sequence[syntax.Statement]) -> bool:
    """Whether some statement uses a name otherwise than in multiples of a power of it, where its sign matters."""
    found, paired = 0, 0
    for side in [side for s in statements for side in s.sides]:
        found += sum(1 for node in _tensors(side) if node.name == name)
        for node in syntax.within(side):
            if isinstance(node, syntax.Power) and isinstance(node.base, syntax.TensorNode) and node.base.name == name:
                even = isinstance(node.exponent, syntax.Number) and node.exponent.value % power == 0
                paired += even
    return found > paired
