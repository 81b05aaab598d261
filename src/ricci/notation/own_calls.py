"""Calls of functions that are no words of the notation, but were given beside the text: unknown ones, and the user's.

An unknown function works entry by entry. One of the user's does, if that can be told for sure; any other is of whole
arrays, and the text says which axes it works on, ``f[j](x[j])[i]``: all that its operands have, and the indices of the
result, if it has any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ricci.errors import LimitError, RicciError
from ricci.functions.unknown import unknown
from ricci.notation import syntax

if TYPE_CHECKING:
    from ricci.notation.declarations import OwnFunction
    from ricci.notation.factors import FactorBuilder, Free, Named


def own_call(builder: FactorBuilder, node: syntax.CallNode, free: Free) -> Named:
    """The value of a call of a function that the scope has been given."""
    own = builder.scope.functions[node.name]
    if own is None:
        return _unknown(builder, node, free)
    builder.scope.facts.functions.setdefault(node.name, own)
    fault = own.check_count(len(node.args))
    if fault:
        raise builder.fail(fault, node)
    if node.axes is not None or takes_whole(node, own):
        return _of_arrays(builder, node, own, free)
    if node.result is not None:
        hint = f"Write {node.name}[i,j](A[i,j])[p], with the axes that it works on and those of its result."
        raise builder.fail(f"{node.name} has indices after it, and is not said to be of whole arrays.", node, hint)
    if node.places:
        hint = f"{node.name} is known, so its derivative has no name of its own: write D({node.name}(…), x[i])."
        raise builder.fail("Only unknown functions, and those of whole arrays, have derivatives by name.", node, hint)
    parts = [builder.sum(a, free) for a in node.args]
    inside = list(dict.fromkeys([name for part in parts for name in part.names]))
    row = own.by_entry(len(parts), len(inside))
    if isinstance(row, str):
        hint = f"For a function of whole arrays name the axes that it works on: {node.name}[{','.join(inside)}](…)."
        raise builder.fail(row, node, hint)
    return builder.aligned(parts, row)


def _of_arrays(builder: FactorBuilder, node: syntax.CallNode, own: OwnFunction, free: Free) -> Named:
    """The function of arrays whose axes are named, or of tensors by name."""
    name, result = node.name, node.result or ()
    if node.axes is None:
        operands = [builder.whole_tensor(a) for a in node.args if isinstance(a, syntax.TensorNode)]
        given = [(e, tuple([f"i{k}_{axis}" for axis in range(e.order)])) for k, e in enumerate(operands)]
    else:
        axes = builder.plain_names(node.axes, "a function's brackets")
        if len(axes) != len(node.axes):
            raise builder.fail(f"{name} names an axis twice.", node)
        parts = [builder.sum(a, (free - frozenset(axes)) | frozenset(axes)) for a in node.args]
        found = {n for part in parts for n in part.names}
        lacking = next((n for n in axes if n not in found), None)
        if lacking is not None:
            raise builder.fail(f"Index {lacking!r} does not occur inside {name}[{','.join(axes)}](…).", node)
        further = [n for n in found if n not in axes]
        if further:
            hint = f"Name all axes of its arguments: {name}[{','.join((*axes, *sorted(further)))}](…)."
            raise builder.fail(f"{name} is of whole arrays here, and {further[0]!r} is not among its axes.", node, hint)
        given = [(part.arranged(own_axes), own_axes) for part in parts
                 for own_axes in [tuple([n for n in axes if n in part.names])]]  # fmt: skip
    try:
        value = own.whole(given, node.places)
    except LimitError:
        raise
    except RicciError as error:
        raise builder.fail(str(error), node) from error
    if len(result) != value.order:
        hint = f"Write {name}(…)[{','.join('pqrstuvw'[: value.order])}]." if value.order else "Leave them out."
        raise builder.fail(
            f"The result of {name} has {value.order} axes, and {len(result)} indices stand after it.", node, hint
        )
    return builder.indexed(value, result, "")


def takes_whole(node: syntax.CallNode, own: OwnFunction) -> bool:
    """Whether a call takes whole tensors by their names: ``f(A)[i]``."""
    if node.axes is not None or not all(isinstance(a, syntax.TensorNode) and a.indices is None for a in node.args):
        return False
    return node.result is not None or isinstance(own.by_entry(len(node.args), 1), str)


def _unknown(builder: FactorBuilder, node: syntax.CallNode, free: Free) -> Named:
    name, count = node.name, len(node.args)
    if node.axes is not None or node.result is not None:
        hint = f"Write {name}(…); a function of whole arrays is given with what it is, functions={{{name!r}: …}}."
        raise builder.fail(f"{name} is unknown: it works entry by entry, and takes no axes.", node, hint)
    known = builder.scope.facts.functions.setdefault(name, count)
    if known != count:
        hint = "Give one of them another name."
        raise builder.fail(f"{name} has {known} argument{'s' * (known > 1)} above, and {count} here.", node, hint)
    return builder.aligned([builder.sum(a, free) for a in node.args], unknown(name, count, node.places))
