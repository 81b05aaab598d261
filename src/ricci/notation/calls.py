"""Function calls in a text: entry by entry, over named axes, of matrices, and of whole tensors by name."""

from __future__ import annotations

from ricci.errors import nearest
from ricci.expr import (
    Expr,
    Op,
)
from ricci.functions.table import FUNCTIONS
from ricci.notation import syntax
from ricci.notation.leaves import Free, LeafBuilder, Named
from ricci.notation.occurrences import used_up


class CallBuilder(LeafBuilder):
    """Builds the calls of one program."""

    def sum(self, node: syntax.Node, free: Free) -> Named:
        raise NotImplementedError

    def _aligned(self, parts: list[Named], build) -> Named:
        """An elementwise function of parts aligned by name; missing indices broadcast."""
        names = tuple(dict.fromkeys([name for part in parts for name in part.names]))
        sizes = {n: s for part in parts for n, s in zip(part.names, part.expr.shape, strict=True)}
        return Named(build(*[p.arranged(names, sizes) if p.names else p.expr for p in parts]), names)

    def _call(self, node: syntax.CallNode, free: Free) -> Named:
        function = FUNCTIONS.get(node.name)
        if function is None:
            raise self.fail(f"There is no function {node.name!r}.", node, nearest(node.name, FUNCTIONS))
        if len(node.args) != function.arity:
            s = "argument" if function.arity == 1 else "arguments"
            raise self.fail(f"{node.name} takes {function.arity} {s}, not {len(node.args)}.", node)
        if function.kind == "elementwise":
            if node.axes is not None or node.result is not None:
                raise self.fail(f"{node.name} works entry by entry and takes no axes.", node, f"Write {node.name}(…).")
            return self._aligned([self.sum(a, free) for a in node.args], function)
        return self._whole(node, function) if node.axes is None else self._over_axes(node, function, free)

    def _over_axes(self, node: syntax.CallNode, function: Op, free: Free) -> Named:
        axes = self._plain_names(node.axes or (), "a function's brackets")
        if len(axes) != len(node.axes or ()):
            raise self.fail(f"{node.name} names an axis twice.", node)
        if function.kind == "matrix" and len(axes) != 2:
            raise self.fail(f"{node.name} works on two axes, row and column.", node, f"Write {node.name}[i,j](…).")
        inner = (free - frozenset(used_up(node))) | frozenset(axes)
        parts = [self.sum(a, inner) for a in node.args]
        for axis in axes:
            if axis not in parts[0].names:
                raise self.fail(f"Index {axis!r} does not occur inside {node.name}[{','.join(axes)}](…).", node)
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
        value = function(first.arranged((*batch, row, column)), (len(batch), len(batch) + 1))
        tail = {"scalar": (), "vector": (row,), "matrix": (row, column)}[function.gives]
        return Named(value, (*rest, *tail))

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
            axes = "i,j" if function.kind == "matrix" else "k"
            raise self.fail(
                f"{node.name} needs to know which axes it works on.", node, f"Write {node.name}[{axes}](…)."
            )
        if function.kind == "keep":
            raise self.fail(f"{node.name} needs the axis it works along.", node, f"Write {node.name}[k](x[k]).")
        parts = [self._whole_tensor(a) for a in node.args if isinstance(a, syntax.TensorNode)]
        order = len(parts[0].shape)
        if function.kind == "reduce":
            value = function(parts[0], tuple(range(order)))
        elif order != 2:
            raise self.fail(f"{node.name} of a whole tensor takes order 2; this one has order {order}.", node)
        elif function.gives == "solve":
            columns = tuple(range(2, 1 + len(parts[1].shape)))
            value = function(*parts, (0, 1), (0, *columns), 0, 1, (1, *columns))
        else:
            value = function(parts[0], (0, 1))
        if node.result is None:
            if value.shape:
                raise self.fail(
                    f"{node.name}(…) has {len(value.shape)} axes.", node, "Name them: " + _example(node, value)
                )
            return Named(value, ())
        if len(node.result) != len(value.shape):
            raise self.fail(f"{node.name}(…) has {len(value.shape)} axes, not {len(node.result)}.", node)
        return self.indexed(value, node.result, "")

    def _whole_tensor(self, node: syntax.TensorNode) -> Expr:
        definition = self.scope.definitions.get(node.name)
        if definition is None:
            return self.scope.input(node.name)
        if definition.expr is None:
            raise self.fail(f"{node.name!r} is used before it is defined.", node, "Put its statement first.")
        return definition.expr


def _example(node: syntax.CallNode, value: Expr) -> str:
    args = ", ".join(a.name for a in node.args if isinstance(a, syntax.TensorNode))
    return f"{node.name}({args})[{','.join('ijklmn'[: len(value.shape)])}]."
