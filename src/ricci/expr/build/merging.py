"""Labels that are one: a delta merges two, a reshape undone those of each axis, and what is told twice is one."""

from __future__ import annotations

from collections.abc import Hashable

from ricci.expr import dims
from ricci.expr.dims import Size
from ricci.expr.nodes import Expr, Structure
from ricci.expr.structures import delta, is_delta, merged_axis

Label = Hashable
Factor = tuple[Expr, tuple[Label, ...]]


def merge_labels(
    factors: list[Factor], deltas: list[tuple[Label, Label]], out: tuple[Label, ...], size: dict[Label, Size]
) -> list[Factor]:
    """Rename along the deltas; keep one delta for each further output label of a class."""
    place = {label: position for position, label in enumerate(out)}
    merged: dict[Label, dict[Label, None]] = {}
    for a, b in deltas:
        both = merged.get(a, {a: None}) | merged.get(b, {b: None})
        for label in both:
            merged[label] = both
    new: dict[Label, Label] = {}
    kept: list[Factor] = []
    for together in {id(group): group for group in merged.values()}.values():
        outside = sorted((label for label in together if label in place), key=place.__getitem__)
        chosen = outside[0] if outside else next(iter(together))
        common = size[chosen]
        for label in together:
            common = dims.same(common, size[label])
        for label in together:
            new[label] = chosen
            size[label] = common
            if label != chosen and label not in place:
                del size[label]
        kept += [(delta(common), (chosen, label)) for label in outside[1:] if common != 1]
    return [(e, tuple([new.get(label, label) for label in labels])) for e, labels in factors] + kept


def cancel_reshapes(factors: list[Factor], out: tuple[Label, ...], size: dict[Label, Size]) -> list[Factor]:
    """Axes merged into a summed label and split again in the same way are the axes themselves."""
    merges: dict[tuple[Structure, Label], list[int]] = {}
    for position, (e, labels) in enumerate(factors):
        if isinstance(e, Structure) and len(labels) > 2 and e.relation[0] == "==":
            merged = merged_axis(e)
            if merged is not None and labels[merged] not in out:
                merges.setdefault((e, labels[merged]), []).append(position)
    for (_, label), positions in merges.items():
        if len(positions) == 2 and sum(labels.count(label) for _, labels in factors) == 2:
            left, right = (factors[position][1] for position in positions)
            rest = [factor for position, factor in enumerate(factors) if position not in positions]
            del size[label]
            pairs = [(a, b) for a, b in zip(left, right, strict=True) if a != label and a != b]
            again = merge_labels(rest, pairs, out, size) if pairs else rest
            return cancel_reshapes(again, out, size)
    return factors


def merge_told(factors: list[Factor], out: tuple[Label, ...], size: dict[Label, Size]) -> list[Factor]:
    """Labels that equal relations tell from the same others are one: ``[g == a] [g == b]`` is ``delta[a,b] [g == a]``.

    So the second derivative of a sum of functions of ``c[g]`` is seen to be diagonal. Where nothing but relations has
    these others, they stay: ``[a == k+2] [b == k+2] x[b]`` puts a part of ``x`` in its place, and is no mask.
    """
    had = {x for e, labels in factors if e.args or not isinstance(e, Structure) for x in labels}.union(out)
    first: dict[tuple, Label] = {}
    again: set[int] = set()
    pairs: list[tuple[Label, Label]] = []
    for position, (e, labels) in enumerate(factors):
        if not isinstance(e, Structure) or e.relation[0] not in ("==", "at") or is_delta(e):
            continue  # deltas between axes of the result have been settled
        for axis in range(len(labels) - 1 if e.args else 0, len(labels)):
            if e.relation[0] == "==" and not had.issuperset([*labels[:axis], *labels[axis + 1 :]]):
                continue
            label = first.setdefault((e, axis, labels[:axis], labels[axis + 1 :]), labels[axis])
            if label != labels[axis]:
                pairs.append((label, labels[axis]))
            if label != labels[axis] or (e, labels) in [factors[p] for p in range(position)]:
                again.add(position)
    if not again:
        return factors
    rest = [factor for position, factor in enumerate(factors) if position not in again]
    return merge_told(merge_labels(rest, pairs, out, size), out, size)
