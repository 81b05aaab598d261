"""The factors of a text: numbers, tensors with their indices, ones, zeros and deltas, and calls of functions.

A tensor is read at places and gathered; a function works entry by entry, over named axes, on matrices, or on whole
tensors by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ricci.errors import nearest
from ricci.expr import (
    Expr,
    I,
    Op,
    Size,
    affine,
    constant,
    delta,
    levi_civita,
    one,
    one_hot,
    product,
    scale,
    window,
    zero,
)
from ricci.expr.alternating import LARGEST
from ricci.functions.table import FUNCTIONS, IN_TEXT
from ricci.notation import syntax
from ricci.notation.heights import KEEPS, changed, told
from ricci.notation.occurrences import Occurrences, used_up
from ricci.notation.own_calls import own_call
from ricci.notation.text_scope import Read, TextScope

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


class FactorBuilder:
    """Builds the factors of one program; what is inside the brackets of a call is for ``sum`` to build."""

    def __init__(self, scope: TextScope):
        self.scope = scope
        self.fail, self.misplaced = scope.fail, scope.misplaced
        self.open = Occurrences(scope.facts.heights, self._clash)

    def _clash(self, name: str, heights: set[str], node: syntax.Node) -> None:
        message = f"Index {name!r} stands {told(sorted(heights, reverse=True))} in the parts of this."
        hint = "An index has one height in all terms of a sum and all arguments of a function."
        raise self.misplaced(message, node, hint)

    def _number(self, node: syntax.Number, _: Free) -> Named:
        return Named(constant(node.value), ())

    def _pi(self, _node: syntax.Pi, _: Free) -> Named:
        return Named(constant("pi"), ())

    def _imaginary(self, node: syntax.Imaginary, _: Free) -> Named:
        return Named(scale(node.value, I), ())

    def _size(self, node: syntax.Size, _: Free) -> Named:
        return Named(constant(self.scope.size(node.name, node)), ())

    def _ones(self, node: syntax.Ones, _: Free) -> Named:
        names = self.plain_names(node.indices, "the one-tensor")
        return Named(one(tuple([self.scope.size(name, node) for name in names])), names)

    def _zeros(self, node: syntax.Zeros, _: Free) -> Named:
        names = self.plain_names(node.indices, "the zero-tensor")
        return Named(zero(tuple([self.scope.size(name, node) for name in names])), names)

    def plain_names(self, indices: syntax.Indices, what: str, hint: str = "Write 1[i], 0[i,j].") -> tuple[str, ...]:
        for index in indices:
            if not index.plain:
                raise self.fail(f"The indices of {what} are names.", index, hint)
        return tuple(dict.fromkeys([index.terms[0][1] for index in indices]))

    def _delta(self, node: syntax.Delta, _: Free) -> Named:
        a, b = node.indices
        if a.tensor is not None or b.tensor is not None:
            return self._delta_at(node, *((a, b) if a.tensor is not None else (b, a)))
        if a.plain and b.plain and node.sign == "==":
            i, j = a.terms[0][1], b.terms[0][1]
            size = self.scope.size(i, a)
            if i == j:
                return Named(one((size,)), (i,))
            other = self.scope.size(j, b)
            return Named(product([(delta(size), (0, 1)), (one((other,)), (1,))], (0, 1)), (i, j))
        coefs: dict[str, Size] = {}
        const: Size = a.const - b.const
        for sign, index in ((1, a), (-1, b)):
            for c, name in self.scope.coefficients(index):
                coefs[name] = coefs.get(name, 0) + sign * c
            for c, name in index.sizes:
                const = const + sign * c * self.scope.size(name, index)
        shape = tuple([self.scope.size(name, node) for name in coefs])
        for c, name in zip(coefs.values(), coefs, strict=True):
            const = const + c * self.scope.start(name)
        return Named(affine(node.sign, tuple(coefs.values()), const, shape), tuple(coefs))

    def _epsilon(self, node: syntax.Epsilon, _: Free) -> Named:
        order = len(node.indices)
        if order > LARGEST:
            raise self.fail(f"The Levi-Civita symbol has up to {LARGEST} indices, and here it has {order}.", node)
        for index in node.indices:
            number = not index.terms and not index.sizes and index.tensor is None
            if not index.plain and not (number and 0 <= index.const < order):
                hint = f"Each is the name of an index, which has the size {order}, or a number from 0 to {order - 1}."
                raise self.fail(f"This is no index of a symbol with {order} indices.", index, hint)
        return self.indexed(levi_civita(order), node.indices, "")

    def _delta_at(self, node: syntax.Delta, gather: syntax.Index, other: syntax.Index) -> Named:
        """``delta[t[b], v]``: 1 where the integer tensor t is v."""
        if not other.plain or gather.tensor is None:
            raise self.fail("Beside a gather, the other index of delta is a name.", other)
        value, name = self.tensor(gather.tensor), other.terms[0][1]
        where = one_hot(value.expr, self.scope.size(name, other))
        names = tuple(dict.fromkeys([*value.names, name]))  # on both sides it is a diagonal
        return Named(product([(where, (*value.names, name))], names), names)

    def _tensor(self, node: syntax.TensorNode, _: Free) -> Named:
        return self.tensor(node)

    def tensor(self, node: syntax.TensorNode) -> Named:
        return self.indexed(self.whole_tensor(node), node.indices or (), node.name)

    def whole_tensor(self, node: syntax.TensorNode) -> Expr:
        definition = self.scope.definitions.get(node.name)
        if definition is None:
            return self.scope.input(node.name)
        if definition.expr is None:
            raise self.fail(f"{node.name!r} is used before it is defined.", node, "Put its statement first.")
        return definition.expr

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
        coefs: dict[str, Size] = {}
        for c, name in self.scope.coefficients(index):
            coefs[name] = coefs.get(name, 0) + c
        names = tuple(coefs)
        const: Size = index.const
        for c, name in index.sizes:
            const = const + c * self.scope.size(name, index)
        shape = tuple([self.scope.size(name, index) for name in names])  # sizes first: they settle where indices start
        for name, c in coefs.items():
            const = const + c * self.scope.start(name)
        return Named(window(list(coefs.values()), const, base.shape[read.axis], shape), names)

    # Calls

    def sum(self, node: syntax.Node, free: Free) -> Named:
        raise NotImplementedError

    def aligned(self, parts: list[Named], build) -> Named:
        """An elementwise function of parts aligned by name; missing indices broadcast."""
        names = tuple(dict.fromkeys([name for part in parts for name in part.names]))
        sizes = {n: s for part in parts for n, s in zip(part.names, part.expr.shape, strict=True)}
        return Named(build(*[p.arranged(names, sizes) if p.names else p.expr for p in parts]), names)

    def _call(self, node: syntax.CallNode, free: Free) -> Named:
        if node.name in self.scope.functions:
            return own_call(self, node, free)
        function = IN_TEXT.get(node.name)
        if function is None:
            raise self.fail(f"There is no function {node.name!r}.", node, nearest(node.name, FUNCTIONS))
        if len(node.args) != function.arity:
            s = "argument" if function.arity == 1 else "arguments"
            hint = self._fewer(node) if len(node.args) > 1 else ""
            raise self.fail(f"{node.name} takes {function.arity} {s}, not {len(node.args)}.", node, hint)
        if function.kind == "elementwise":
            if node.axes is not None or node.result is not None:
                raise self.fail(f"{node.name} works entry by entry and takes no axes.", node, f"Write {node.name}(…).")
            return self.aligned([self.sum(a, free) for a in node.args], function)
        return self._whole(node, function) if node.axes is None else self._over_axes(node, function, free)

    def _over_axes(self, node: syntax.CallNode, function: Op, free: Free) -> Named:
        axes = self.plain_names(node.axes or (), "a function's brackets")
        if len(axes) != len(node.axes or ()):
            raise self.fail(f"{node.name} names an axis twice.", node)
        if node.result is not None and (function.kind != "matrix" or function.arity > 1):
            raise self.fail(f"{node.name}[{','.join(axes)}](…) has the indices that are left of it.", node)
        if function.kind == "matrix" and len(axes) != 2:
            raise self.fail(f"{node.name} works on two axes, row and column.", node, f"Write {node.name}[i,j](…).")
        inner = (free - frozenset(used_up(node))) | frozenset(axes)
        parts = [self.sum(a, inner) for a in node.args]
        for axis in axes:
            if axis not in parts[0].names:
                raise self.fail(f"Index {axis!r} does not occur inside {node.name}[{','.join(axes)}](…).", node)
        if function.gives == "along":
            return self._along(node, function, axes, parts)
        if function.kind == "matrix":
            return self._matrix(node, function, axes, parts)
        (part,) = parts
        names = part.names
        places = tuple([names.index(axis) for axis in axes])
        kept = names if function.kind == "keep" else tuple([name for name in names if name not in axes])
        return Named(function(part.expr, places), kept)

    def _matrix(self, node: syntax.CallNode, function: Op, axes: tuple[str, ...], parts: list[Named]) -> Named:
        row, column = axes
        rest = tuple(dict.fromkeys([n for part in parts for n in part.names if n not in axes]))
        first = parts[0]
        batch = tuple([n for n in first.names if n not in axes])
        if function.gives == "solve":
            return self._solve(node, function, axes, parts)
        value = function(first.arranged((*batch, row, column)), (len(batch), len(batch) + 1), *node.params)
        if node.result is not None:
            if len(node.result) != len(value.shape) - len(batch):
                raise self.fail(
                    f"{node.name}(…) has {len(value.shape) - len(batch)} axes, not {len(node.result)}.", node
                )
            plain = [syntax.Index(node.start, node.end, ((1, name),), plain=True) for name in batch]
            return self.indexed(value, (*plain, *node.result), "")
        tail = {"scalar": (), "vector": (row,), "matrix": (row, column)}.get(function.gives)
        if tail is None:
            raise self.fail(
                f"{node.name} needs names for the axes of its result.", node, "Write them after it: (…)[k]."
            )
        return Named(value, (*rest, *tail))

    def _along(self, node: syntax.CallNode, function: Op, axes: tuple[str, ...], parts: list[Named]) -> Named:
        """A function of two operands on the same axes; the second may have further ones."""
        first, second = parts
        if not set(axes) <= set(second.names):
            raise self.fail(f"Both operands of {node.name}[{','.join(axes)}] have its indices.", node)
        batch = tuple([name for name in first.names if name not in axes])
        columns = tuple([name for name in second.names if name not in (*axes, *batch)])
        sizes = {n: s for part in parts for n, s in zip(part.names, part.expr.shape, strict=True)}
        names = (*batch, *axes, *columns)
        value = function(first.arranged((*batch, *axes)), second.arranged(names, sizes), len(columns))
        return Named(value, names)

    def _solve(self, node: syntax.CallNode, function: Op, axes: tuple[str, ...], parts: list[Named]) -> Named:
        row, column = axes
        matrix, right = parts
        if row not in right.names or column in right.names:
            raise self.fail(f"The right side of {node.name}[{row},{column}] has index {row!r}, not {column!r}.", node)
        every = dict.fromkeys([*matrix.names, *right.names])
        out = tuple([name for name in every if name != row])
        return Named(function(matrix.expr, right.expr, matrix.names, right.names, row, column, out), out)

    def _whole(self, node: syntax.CallNode, function: Op) -> Named:
        """``det(A)``, ``inv(A)[i,j]``, ``sum(x)``: functions of whole tensors by name."""
        if not all(isinstance(a, syntax.TensorNode) and a.indices is None for a in node.args):
            raise self.fail(f"{node.name} needs to know which axes it works on.", node, self._with_axes(node, function))
        if function.kind == "keep":
            raise self.fail(f"{node.name} needs the axis it works along.", node, f"Write {node.name}[k](x[k]).")
        parts = [self.whole_tensor(a) for a in node.args if isinstance(a, syntax.TensorNode)]
        order = len(parts[0].shape)
        if function.kind == "reduce":
            value = function(parts[0], tuple(range(order)))
        elif order != 2:
            raise self.fail(f"{node.name} of a whole tensor takes order 2; this one has order {order}.", node)
        elif function.gives == "solve":
            columns = tuple(range(2, 1 + len(parts[1].shape)))
            value = function(*parts, (0, 1), (0, *columns), 0, 1, (1, *columns))
        else:
            value = function(parts[0], (0, 1), *node.params)
        if node.result is None:
            if value.shape:
                raise self.fail(
                    f"{node.name}(…) has {len(value.shape)} axes.", node, "Name them: " + _example(node, value)
                )
            return Named(value, ())
        if len(node.result) != len(value.shape):
            raise self.fail(f"{node.name}(…) has {len(value.shape)} axes, not {len(node.result)}.", node)
        known, found = self.open.heights_of_result(node), tuple([index.height for index in node.result])
        if len(known) == len(found) and any(found) and known != found:
            raise self.fail(changed(f"{node.name}(…)", known, found), node, KEEPS)
        return self.indexed(value, node.result, "")

    def _source(self, node: syntax.Node) -> str:
        return self.scope.text[node.start : node.end]

    def _fewer(self, node: syntax.CallNode) -> str:
        """What to write for ``max(a, b)`` and ``norm(x, 2)``."""
        first, *rest = [self._source(a) for a in node.args]
        pair = {"max": "maximum", "min": "minimum"}.get(node.name)
        whole = isinstance(node.args[0], syntax.TensorNode) and node.args[0].indices is None
        if whole and pair is None and node.name != "norm" and all(a.lstrip("-").isdigit() for a in rest):
            from ricci.notation.translations import along_an_axis

            return along_an_axis(node.name, first, rest[0])
        for other in rest if pair else ():
            first = f"{pair}({first}, {other})"
        return f"Write {first}." if pair else f"Write {node.name}({first})." if IN_TEXT[node.name].arity == 1 else ""

    def _with_axes(self, node: syntax.CallNode, function: Op) -> str:
        """What to write for a function of an expression without the axes that it works on: all that are open in it."""
        inside = ", ".join(self._source(a) for a in node.args)
        once = [name for name, heights in Occurrences().of(node.args[0]).items() if len(heights) == 1]
        number = 2 if function.kind == "matrix" else len(once)
        if not once and function.kind == "matrix" and re.fullmatch(r"[\w\s*']+", inside):
            from ricci.notation.translations import product

            written, free = product(inside)
            if len(free) == 2:
                return f"Write {node.name}[{','.join(free)}]({written})."
        if not once or len(once) != number or len(inside) > 60:
            return f"Write {node.name}[{'i,j' if function.kind == 'matrix' else 'k'}](…)."
        if function.kind == "keep" and len(once) > 1:
            return f"Write {node.name}[{once[-1]}]({inside}), with the index that it works along."
        return f"Write {node.name}[{','.join(once)}]({inside})."


def _example(node: syntax.CallNode, value: Expr) -> str:
    args = ", ".join(a.name for a in node.args if isinstance(a, syntax.TensorNode))
    return f"{node.name}({args})[{','.join('ijklmn'[: len(value.shape)])}]."
