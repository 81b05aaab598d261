"""Products over those indices alone where masks hold.

What a structure leaves out is no term of a sum, so an infinity or a NaN there must not be multiplied by its zero. Where
nothing is summed afterwards, the product is selected by the mask. Otherwise the mask is multiplied like any other
array, or is there already in the zeros of an array that is read beyond its ends, so that a dot stays a dot; and the
result is *guarded*: it differs from the sum of the terms only if it is not finite, and then the terms are multiplied,
selected and added up one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

from ricci.compiler.lower.builder import Builder
from ricci.compiler.lower.contract import Contraction
from ricci.compiler.plan.program import Number, Operand, Value


def product_where(product: Contraction, masks: Sequence[Operand], of_reads: Sequence[Operand]) -> Operand:
    """``product``, of arrays, over the indices where all masks hold; where those of reads do not, an array is zero."""
    builder = product.builder
    everything = [*masks, *of_reads]
    if not everything:
        return product.result()
    arrays = builder.aligned(product.operands)
    if not arrays:
        product.operands = builder.aligned([builder.cast(mask, builder.number) for mask in masks])
        return product.result()
    if {x for _, labels in everything for x in labels} <= set(product.kept):
        product.kept = tuple([x for x in product.kept if any(x in labels for _, labels in arrays)])
        made = product.result()
        for mask in everything:
            made = builder.map("where", mask, made, (0, ()))
        return made
    number = product.coef
    kind = next(value.kind for value, _ in arrays if isinstance(value, Value))
    product.operands = [*arrays, *[builder.cast(mask, kind) for mask in masks]]
    product.nonnegative = [*product.nonnegative, *[True] * len(masks)]
    made = product.result()
    floating = isinstance(made[0], Value) and made[0].kind == "f"
    return guarded(builder, made, arrays, everything, number) if floating else made


def guarded(
    builder: Builder, made: Operand, arrays: Sequence[Operand], masks: Sequence[Operand], number: Number
) -> Operand:
    """``made``, unless it is not finite; then the product of the arrays and the number, selected by the masks."""
    value, labels = made
    assert isinstance(value, Value)
    arrays = [builder.real(operand) for operand in arrays]
    args = [made, *arrays, *masks]
    return builder.emit("guard", "", args, labels, value.shape, "f", (len(arrays), float(number)))
