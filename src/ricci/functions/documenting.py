"""What ``help(rc.exp)`` shows: the arguments of a function, what it is, and an example, all made from its row."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Any

from ricci.expr import Op

_HOW = {
    "elementwise": "Entry by entry. Operands of formulas align by the names of their indices; arrays broadcast.",
    "reduce": "Over the named axes of a formula, the numbered ones of an array, or all of them; these go.",
    "keep": "Along the named axes of a formula, or the numbered ones of an array; all axes stay.",
    "matrix": "Of the last two axes, or of two that are named.",
}
_VECTOR, _MATRIX = [3.0, 1.0, 2.0], [[2.0, 1.0], [1.0, 3.0]]


def signature(row: Op) -> Signature:
    """The arguments of the Python function: operands, then axes where there may be any."""
    found = [Parameter(name, Parameter.POSITIONAL_ONLY) for name in row.operands.split(", ")]
    if row.kind != "elementwise":
        found.append(Parameter("axes", Parameter.VAR_POSITIONAL))
    if row.kind in ("reduce", "keep"):
        found.append(Parameter("axis", Parameter.KEYWORD_ONLY, default=None))
    if row.kind == "reduce":
        found.append(Parameter("keepdims", Parameter.KEYWORD_ONLY, default=False))
    return Signature(found)


def documentation(row: Op) -> str:
    """What a function is, how it treats axes, what is to be known of it, and an example with its result."""
    first, *rest = row.help.split(" ")
    begun = first.capitalize() if len(first) > 1 and first.isalpha() else first  # formulas stay as they are
    parts = [" ".join([begun, *rest]) + ".", f"{_HOW[row.kind]} {row.note}".rstrip(), _example(row)]
    return "\n\n".join(parts)


def _example(row: Op) -> str:
    operands = _operands(row)
    value = row.value(*operands, *([0] if row.gives == "solve" else []))
    if row.kind == "elementwise":
        operands, value = [[x] for x in operands], [value]
    call = f"rc.{row.name}({', '.join([f'np.array({x})' for x in operands])})"
    if row.signless:
        call, value = f"abs({call})", _each(abs, value)
    if row.type == "truth":
        return f">>> {call}.tolist()\n{_each(bool, value)}"
    if row.complex == "always":
        return f">>> ({call}.round(4) + 0).tolist()\n{_each(_rounded, value)}"
    return f">>> {call}.round(4).tolist()\n{_each(_rounded if row.type != 'place' else int, value)}"


def _operands(row: Op) -> list[Any]:
    if row.kind != "elementwise":
        return [_MATRIX, _VECTOR[:2]][: row.arity] if row.kind == "matrix" else [_VECTOR]
    chosen = [1.0 if name in "nc" else x for name, x in zip(row.operands.split(", "), (0.25, 2.0, 3.0), strict=False)]
    inside = row.tame[0][0] <= chosen[0] if row.tame else True
    return chosen if inside else [2.0, *chosen[1:]]


def _each(f: Any, value: Any) -> Any:
    return [_each(f, v) for v in value] if isinstance(value, list) else f(value)


def _rounded(value: Any) -> Any:
    if isinstance(value, complex):
        return complex(_rounded(value.real), _rounded(value.imag))
    return round(float(value), 4) + 0.0  # no zero is negative
