"""Dots as matrix products, and reads as slices: what NumPy and PyTorch have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ricci.compiler.emit.source import Emitter, matrix_axes, tuple_text
from ricci.compiler.plan.program_steps import Form, Labels, Operand, Step, Value


class MatrixEmitter(Emitter):
    """Source in which every dot is a product of matrices, with as few copies as the order of the axes allows."""

    def helper(self, name: str) -> str:
        """The name of a function of the backend that source calls."""
        raise NotImplementedError

    def entries_dot(self, step: Step) -> str:
        """The sum of products along the last axis. What libraries call so takes the conjugate of the first operand."""
        return self.helper("vecdot" if step.out.kind != "c" else "plain_vecdot")

    def product(self, left: str, right: str, shape: Sequence[int], stack: bool = False) -> str:
        """The product of two matrices or vectors, or of stacks of them; ``shape`` is that of the result."""
        return f"{self.helper('matmul')}({left}, {right})"

    def by_einsum(self, volumes: Sequence[int], across: bool) -> bool:
        """Whether many dots at once are better left to einsum; ``volumes`` are those of rows, columns and sums.

        ``across`` tells that an operand has one of the axes of the batch last.
        """
        return False

    def dot(self, step: Step) -> str:
        batch, rows, columns, summed = matrix_axes(step)
        a, b = step.args
        if batch:
            return self.batched(step, batch, rows, columns, summed)
        if not rows and not columns and a[1] != b[1] and len(a[1]) > 1:
            sides = [self.name(a[0]), self.permuted(self.name(b[0]), b[1], a[1])]
            return f"{self.entries_dot(step)}({sides[0]}, {sides[1]}).sum()"
        if step.labels not in ((*rows, *columns), (*columns, *rows)):
            inside = step.labels[0] in rows
            return self.in_the_middle(step, *((b, a, columns) if inside else (a, b, rows)), summed)
        if step.labels[: len(rows)] != rows or not rows:
            a, b, rows, columns = b, a, columns, rows
        left, right = self.matrices(a, b, rows, columns, summed)
        shape = _merged_shape(step, rows, columns)
        return self.shaped(self.product(left, right, shape), shape, step.out.shape)

    def in_the_middle(self, step: Step, small: Operand, large: Operand, free: Labels, summed: Labels) -> str:
        """A dot over axes in the middle of the larger operand: a matrix product for each index before them."""
        value, own = large
        sizes = step.sizes()
        places = [p for p, x in enumerate(own) if x in summed]
        before, after = own[: places[0]], own[places[-1] + 1 :]
        order = own[places[0] : places[-1] + 1]
        groups = [before, order, after]
        flat = [math.prod([sizes[x] for x in group]) for group in groups]
        right = self.shaped(self.name(value), [sizes[x] for x in own], flat)
        left = self.matrix(small, free, order)
        shape = [flat[0], *([math.prod([sizes[x] for x in free])] if free else []), flat[2]]
        return self.shaped(self.product(left, right, shape, stack=True), shape, step.out.shape)

    def matrices(self, a: Operand, b: Operand, rows: Labels, columns: Labels, summed: Labels) -> tuple[str, str]:
        """Both operands as matrices, or vectors; the summed labels in the order that needs no copy, if there is one."""
        orders = [tuple([x for x in own if x in summed]) for _, own in (a, b)]
        order = min(orders, key=lambda k: _copies(a[1], rows, k) + _copies(b[1], columns, k))
        return self.matrix(a, rows, order), self.matrix(b, order, columns)

    def matrix(self, operand: Operand, first: Labels, second: Labels) -> str:
        value, own = operand
        assert isinstance(value, Value)
        sizes = dict(zip(own, value.shape, strict=True))
        flat = [math.prod([sizes[x] for x in group]) for group in (first, second) if group]
        if own == (*second, *first) and first and second:
            text = self.shaped(self.name(value), value.shape, flat[::-1])
            return f"{text}.T"
        text = self.permuted(self.name(value), own, (*first, *second))
        return self.shaped(text, [sizes[x] for x in (*first, *second)], flat)

    def batched(self, step: Step, batch: Labels, rows: Labels, columns: Labels, summed: Labels) -> str:
        """Many dots at once: einsum's loops where each is small or runs across memory, BLAS otherwise."""
        a, b = step.args
        sizes = step.sizes()
        volumes = [math.prod([sizes[x] for x in group]) for group in (rows, columns, summed)]
        across = [own[-1] in batch and sizes[own[-1]] > 1 for _, own in (a, b)]
        if not (rows or columns) and not any(across):
            left, right = [self.stacked(o, batch, [summed], sizes) for o in (a, b)]
            return f"{self.entries_dot(step)}({left}, {right})"
        if self.by_einsum(volumes, any(across)):
            return f"{self.helper('einsum')}('{self.program.axes.spelled(step)}', {self.name(a[0])}, {self.name(b[0])})"
        if step.labels != (*batch, *rows, *columns):
            a, b, rows, columns, across = b, a, columns, rows, across[::-1]
        left = self.stacked(a, batch, [rows, summed], sizes, across[0])
        right = self.stacked(b, batch, [summed, columns], sizes, across[1])
        shape = [*[sizes[x] for x in batch], *[math.prod([sizes[x] for x in g]) for g in (rows, columns)]]
        return self.shaped(self.product(left, right, shape, stack=True), shape, step.out.shape)

    def stacked(
        self, operand: Operand, batch: Labels, groups: Sequence[Labels], sizes: dict[int, int], copy: bool = False
    ) -> str:
        """An operand with the labels of each group merged, for each index of the batch."""
        value, own = operand
        order = (*batch, *[x for group in groups for x in group])
        text = self.permuted(self.name(value), own, order)
        if copy:
            text = f"{self.helper('contiguous')}({text})"
        flat = [*[sizes[x] for x in batch], *[math.prod([sizes[x] for x in group]) for group in groups]]
        return self.shaped(text, [sizes[x] for x in order], flat)

    def spread(self, step: Step) -> str:
        text = self.arranged(step.args[0], step.labels)
        if set(step.args[0][1]) == set(step.labels):
            return text
        return f"{self.helper('broadcast_to')}({text}, {tuple_text(step.out.shape)})"

    def merge(self, step: Step) -> str:
        return f"{self.name(step.args[0][0])}.reshape({tuple_text(step.out.shape)})"

    def indices(self, size: int) -> str:
        """All indices of an axis."""
        return f"{self.helper('arange')}({size})"

    def along(self, size: int, axis: int, order: int) -> str:
        """The index along one axis of several."""
        rest = order - 1 - axis
        text = self.indices(size)
        return f"{text}.reshape({tuple_text([size] + [1] * rest)})" if rest else text

    def sliced(self, value: Any, forms: Sequence[Form], step: Step) -> str | None:
        """Each axis read at one place, or by labels of its own that split a slice of it."""
        return self.part_of(self.name(value), value.shape, forms, dict(zip(step.labels, step.out.shape, strict=True)))

    def part_of(self, text: str, shape: Sequence[int], forms: Sequence[Form], sizes: Mapping[int, int]) -> str | None:
        """The part of an array that forms point at, as a view; none where it takes more than slices and reshapes."""
        parts, split, found = [], [], []
        for form, size in zip(forms, shape, strict=True):
            if not form.terms:
                parts.append(str(form.const))
                continue
            chain = sorted(form.terms, key=lambda term: -term[1])
            lengths = [sizes[x] for x, _ in chain]
            steps = [c for _, c in chain]
            nested = all(c == d * n for c, d, n in zip(steps, steps[1:], lengths[1:], strict=False))
            if steps[-1] <= 0 or not nested or (len(chain) > 1 and 0 in lengths):
                return None
            stop = form.const + steps[-1] * (math.prod(lengths) - 1) + 1
            whole = form.const == 0 and steps[-1] == 1 and stop == size
            by = f":{steps[-1]}" if steps[-1] != 1 else ""
            parts.append(":" if whole else f"{form.const}:{stop}{by}")
            split += lengths
            found += [x for x, _ in chain]
        if sorted(found) != sorted(sizes):
            return None
        if any(part != ":" for part in parts):
            text = f"{text}[{', '.join(parts)}]"
        if len(split) != sum(":" in part for part in parts):
            text = f"{text}.reshape({tuple_text(split)})"
        return self.permuted(text, tuple(found), tuple(sizes))


def _copies(own: Labels, group: Labels, summed: Labels) -> bool:
    return own not in ((*group, *summed), (*summed, *group))


def _merged_shape(step: Step, rows: Labels, columns: Labels) -> list[int]:
    sizes = step.sizes()
    return [math.prod([sizes[x] for x in group]) for group in (rows, columns) if group]
