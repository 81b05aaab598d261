"""The leaves of a text: numbers, tensors with their indices, ones, zeros and deltas; reads at places and gathers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ricci.expr import (
    Expr,
    affine,
    constant,
    delta,
    one,
    one_hot,
    product,
    window,
    zero,
)
from ricci.notation import syntax
from ricci.notation.scope import Read, Scope

Free = frozenset[str]
Factor = tuple[Expr, tuple]


@dataclass(slots=True)
class Named:
    """An expression and the names of its axes."""

    expr: Expr
    names: tuple[str, ...]

    def arranged(self, names: tuple[str, ...], sizes: Mapping[str, object] | None = None) -> Expr:
        """The expression with its axes in the order of ``names``; constant along those it does not have."""
        return self.expr if names == self.names else product([(self.expr, self.names)], names, sizes)  # type: ignore[arg-type]


class LeafBuilder:
    """Builds the leaves of one program."""

    def __init__(self, scope: Scope):
        self.scope = scope
        self.fail = scope.fail

    def _number(self, node: syntax.Number, _: Free) -> Named:
        return Named(constant(node.value), ())

    def _pi(self, _node: syntax.Pi, _: Free) -> Named:
        return Named(constant("pi"), ())

    def _size(self, node: syntax.Size, _: Free) -> Named:
        return Named(constant(self.scope.size(node.name, node)), ())

    def _ones(self, node: syntax.Ones, _: Free) -> Named:
        names = self._plain_names(node.indices, "the one-tensor")
        return Named(one(tuple([self.scope.size(name, node) for name in names])), names)

    def _zeros(self, node: syntax.Zeros, _: Free) -> Named:
        names = self._plain_names(node.indices, "the zero-tensor")
        return Named(zero(tuple([self.scope.size(name, node) for name in names])), names)

    def _plain_names(self, indices: syntax.Indices, what: str, hint: str = "Write 1[i], 0[i,j].") -> tuple[str, ...]:
        for index in indices:
            if not index.plain:
                raise self.fail(f"The indices of {what} are names.", index, hint)
        return tuple(dict.fromkeys([index.terms[0][1] for index in indices]))

    def _delta(self, node: syntax.Delta, _: Free) -> Named:
        a, b = node.indices
        if a.tensor is not None or b.tensor is not None:
            return self._delta_at(node, *((a, b) if a.tensor is not None else (b, a)))
        if a.plain and b.plain:
            i, j = a.terms[0][1], b.terms[0][1]
            size = self.scope.size(i, a)
            if i == j:
                return Named(one((size,)), (i,))
            other = self.scope.size(j, b)
            return Named(product([(delta(size), (0, 1)), (one((other,)), (1,))], (0, 1)), (i, j))
        coefs: dict[str, int] = {}
        const = a.const - b.const
        for sign, index in ((1, a), (-1, b)):
            for c, name in index.terms:
                coefs[name] = coefs.get(name, 0) + sign * c
            for c, name in index.sizes:
                const = const + sign * c * self.scope.size(name, index)
        shape = tuple([self.scope.size(name, node) for name in coefs])
        for c, name in zip(coefs.values(), coefs, strict=True):
            const = const + c * self.scope.start(name)
        return Named(affine("==", tuple(coefs.values()), const, shape), tuple(coefs))

    def _delta_at(self, node: syntax.Delta, gather: syntax.Index, other: syntax.Index) -> Named:
        """``delta[t[b], v]``: 1 where the integer tensor t is v."""
        if not other.plain or gather.tensor is None:
            raise self.fail("Beside a gather, the other index of delta is a name.", other)
        value, name = self.tensor(gather.tensor), other.terms[0][1]
        if name in value.names:
            raise self.fail(f"Index {name!r} stands on both sides of this delta.", node)
        return Named(one_hot(value.expr, self.scope.size(name, other)), (*value.names, name))

    def _tensor(self, node: syntax.TensorNode, _: Free) -> Named:
        return self.tensor(node)

    def tensor(self, node: syntax.TensorNode) -> Named:
        definition = self.scope.definitions.get(node.name)
        if definition is None:
            base = self.scope.input(node.name)
        elif definition.expr is None:
            raise self.fail(f"{node.name!r} is used before it is defined.", node, "Put its statement first.")
        else:
            base = definition.expr
        return self.indexed(base, node.indices or (), node.name)

    def indexed(self, base: Expr, indices: syntax.Indices, name: str) -> Named:
        """``base`` with its axes named, read at places, or gathered."""
        names = tuple([index.terms[0][1] for index in indices if index.plain])
        if len(names) == len(indices) == len(set(names)):
            return Named(base, names)
        labels: list[object] = []
        operands: list[Factor] = []
        open_names: dict[str, None] = {}
        for axis, index in enumerate(indices):
            if index.plain:
                labels.append(index.terms[0][1])
                open_names[index.terms[0][1]] = None
                continue
            label = ("read", axis)
            labels.append(label)
            if index.tensor is not None:
                value = self.tensor(index.tensor)
                operands.append((one_hot(value.expr, base.shape[axis]), (*value.names, label)))
            else:
                value = self._window(Read(name, axis, index), base)
                operands.append((value.expr, (label, *value.names)))
            open_names.update(dict.fromkeys(value.names))
        return Named(product([(base, labels), *operands], tuple(open_names)), tuple(open_names))

    def _window(self, read: Read, base: Expr) -> Named:
        """The structure that reads an axis at an affine index."""
        if read.name in self.scope.definitions or read.name in self.scope.facts.inputs:
            self.scope.check_read(read)
        index = read.index
        names = tuple([name for _, name in index.terms])
        const = index.const
        for c, name in index.sizes:
            const = const + c * self.scope.size(name, index)
        shape = tuple([self.scope.size(name, index) for name in names])  # sizes first: they settle where indices start
        for c, name in index.terms:
            const = const + c * self.scope.start(name)
        return Named(window([c for c, _ in index.terms], const, base.shape[read.axis], shape), names)
