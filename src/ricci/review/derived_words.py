"""What a derivative is, in the words of its author: the end of a derivation, where nothing else mends a line.

That of a softmax which the text calls ``p`` is said by ``p``; the engine alone would say it by functions.
"""

from __future__ import annotations

from ricci.errors import LimitError, RicciError
from ricci.notation import syntax
from ricci.notation.occurrences import names_in
from ricci.review.sides import Side, Workbench, compared
from ricci.show.deriving.course import Variation, worked_out
from ricci.show.deriving.definition import Given
from ricci.show.own_words import as_written


def derived(bench: Workbench, head: Side) -> syntax.Node | None:
    """The end of the derivation of a left side ``D(y[i], x[p])``, where ``y`` is defined."""
    asked = head.node
    if not isinstance(asked, syntax.Derivative) or not isinstance(asked.body, syntax.TensorNode):
        return None
    own, facts = definitions_of(bench, asked.body), head.context.facts
    if not own or asked.variable.name not in facts.inputs:
        return None
    stated = syntax.SizeLine(*bench.lines)
    given = Given(own, facts.heights, facts.inputs, dict(bench.sizes), stated, stated, bench.declared)
    try:
        by = Variation(asked.variable, facts.given_shape(asked.variable.name))
        steps = worked_out(given, [by], True, "brief", False)
        *before, last = steps[-1].program.statements if steps else [None]
        if last is not None and not before and compared(head, bench.plain_side(head, last.body)).holds:
            return last.body
    except LimitError:
        raise
    except RicciError:
        pass
    return None


def definitions_of(bench: Workbench, tensor: syntax.TensorNode) -> tuple[syntax.Statement, ...]:
    """The statements that define a tensor with these indices, and what it is made of."""
    at = next((k for k, s in enumerate(bench.definitions) if s.name == tensor.name), None)
    if at is None:
        return ()
    last = bench.definitions[at]
    names = [[i.terms[0][1] if i.plain else "" for i in these or ()] for these in (last.indices, tensor.indices)]
    if names[0] != names[1]:
        return ()
    wanted, kept = set(names_in(last.body)), [last]
    for statement in reversed(bench.definitions[:at]):
        if statement.name in wanted:
            kept.insert(0, statement)
            wanted |= set(names_in(statement.body))
    return tuple(map(as_written, kept))
