"""Derivatives of functions as trees, from the tables of the engine: what stands in the table is what is written.

The arguments are stood in for, the engine derives, and what it finds is written with the author's arguments put back.
A function that works entry by entry needs no indices for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ricci.calculus.graph import pushforward
from ricci.calculus.modes import derivative
from ricci.expr import Elementwise, Expr, variable, variables
from ricci.functions.table import IN_TEXT
from ricci.notation import syntax
from ricci.notation.context import Facts
from ricci.notation.declarations import Declarations
from ricci.notation.occurrences import indices_in
from ricci.notation.resolve import Resolved, resolve_tree
from ricci.show.deriving.making import ones, times
from ricci.show.deriving.typed_trees import (
    Fresh,
    TreeReader,
    UnreadError,
    bound_within,
    hint,
    key,
    open_in,
    refreshed,
    renamed,
)
from ricci.show.express import SyntaxWriter
from ricci.show.page import Page
from ricci.simplify import simplify

ARGUMENT, CHANGE, RESULT = "u°", "du°", "y°"


def along(y: Expr, x: Expr) -> Expr:
    return simplify(derivative(simplify(y), x))


def resolved(
    statements: Sequence[syntax.Statement],
    declared: Declarations,
    orders: Mapping[str, int] | None = None,
    sizes: Mapping[str, int] | None = None,
    stated: syntax.SizeLine | None = None,
) -> list[Resolved]:
    """Statements as the engine reads them; indices have their heights where any stands above."""
    standing = tuple([i for s in statements for side in s.sides for i in indices_in(side)])
    program = syntax.Statements("", tuple(statements), standing, stated or syntax.SizeLine((), ()))
    return resolve_tree(program, sizes or {}, along, declared, orders)


def one_line(
    expr: Expr, names: tuple[str, ...], facts: Facts, declared: Declarations, beside: Iterable[str] = ()
) -> syntax.Node:
    """An expression as one tree, for a text in which tensors have the names ``beside`` it."""
    program = SyntaxWriter(expr, names, facts, (), Page(sided=True, named=frozenset(beside))).program(None)
    body = program.statements[-1].body
    called = [n.name for n in syntax.within(body) if isinstance(n, syntax.CallNode)]
    if (
        len(program.statements) > 1
        or program.sizes.tensors
        or program.sizes.equations
        or not declared.function_names >= set(called)
    ):
        raise UnreadError("a derivative that takes several lines")
    return body


def partial(node: syntax.CallNode, position: int, declared: Declarations) -> syntax.Node:
    """The derivative of an elementwise function by one of its arguments, in stand-ins for these and for the result."""
    args = tuple([syntax.TensorNode(0, 0, f"{ARGUMENT}{k}", None) for k in range(len(node.args))])
    call = syntax.CallNode(0, 0, node.name, args, None, None, node.params, node.places)
    expr = resolved([syntax.Statement(0, 0, "r", None, call)], declared)[0].value.expr
    x = variable(f"{ARGUMENT}{position}", ())
    if isinstance(expr, Elementwise) and expr.op.name == node.name and x in expr.args:
        rule = expr.op.partials[expr.args.index(x)]
        if callable(rule):
            found: Any = rule(*expr.args, variable(RESULT, ()))
            return one_line(found, (), Facts(), declared)
    return one_line(simplify(derivative(expr, x)), (), Facts(), declared)


def elementwise(
    node: syntax.CallNode, position: int, result: syntax.Node, declared: Declarations, fresh: Fresh
) -> syntax.Node:
    """``partial`` with the arguments, and the ``result``, put in."""
    values = {f"{ARGUMENT}{k}": a for k, a in enumerate(node.args)} | {RESULT: result}
    tree = TreeReader(fresh, {}).read(partial(node, position, declared), {})
    return _put_in(tree, values, fresh)


def _put_in(tree: syntax.Node, values: Mapping[str, syntax.Node], fresh: Fresh) -> syntax.Node:
    if isinstance(tree, syntax.TensorNode) and tree.name in values:
        return refreshed(values[tree.name], fresh)
    parts = [_put_in(part, values, fresh) for part in syntax.children(tree)]
    made = syntax.with_children(tree, parts)
    return times(made.factors, made.sums) if hasattr(made, "sums") else made  # type: ignore[attr-defined]


class Whole:
    """The derivative of a function over axes, or of whole tensors, by the derivatives of its arguments."""

    def __init__(
        self,
        node: syntax.CallNode,
        live: list[bool],
        x: syntax.TensorNode,
        shape: tuple,
        axes: Mapping[str, tuple[str, ...]],
        declared: Declarations,
        fresh: Fresh,
    ):
        self.node, self.x, self.fresh, self.axes = node, x, fresh, axes
        self.own = [self._indices(a) for a in node.args]
        stand_ins = tuple([self._stand_in(k) for k in range(len(node.args))])
        call = syntax.CallNode(0, 0, node.name, stand_ins, node.axes, node.result, node.params)
        heights = open_in(node)
        if any(heights.values()) or any(i.height for i in x.indices or ()):
            raise UnreadError("a function of tensors whose indices have heights")
        out = tuple(heights)
        indices = tuple([syntax.Index(0, 0, ((1, n),), plain=True, height=heights[n]) for n in out])
        orders = {f"{ARGUMENT}{k}": len(own) for k, own in enumerate(self.own)}
        (made,) = resolved([syntax.Statement(0, 0, "r", indices or None, call)], declared, orders)
        expr = made.value.expr
        inputs = {v.name: v for v in variables(expr)}
        changes = {}
        for k, depends in enumerate(live):
            u = inputs.get(f"{ARGUMENT}{k}")
            if depends and u is not None:
                changes[u] = variable(f"{CHANGE}{k}", (*u.shape, *shape))
        new = tuple([i.terms[0][1] for i in x.indices or ()])
        tree = one_line(simplify(pushforward(expr, changes)), (*out, *new), made.context.facts, declared, axes)
        free = {name: name for name in (*out, *new)}
        value = one_line(expr, out, made.context.facts, declared, axes)
        self.value = key(TreeReader(fresh, {}).read(value, {name: name for name in out}), None, True)
        self.tree = self.put_in(self.called(TreeReader(fresh, {}).read(tree, free)))
        missing = [(n, h) for n, h in heights.items() if n not in open_in(self.tree)]
        if missing:
            self.tree = times([*ones(missing), (1, self.tree)])

    def _indices(self, arg: syntax.Node) -> tuple[str, ...]:
        if isinstance(arg, syntax.TensorNode) and arg.indices is None and self.node.axes is None:
            if arg.name not in self.axes:
                raise UnreadError("a tensor of unknown order")
            return tuple([self.fresh(name) for name in self.axes[arg.name]])
        return tuple(open_in(arg))

    def _stand_in(self, k: int) -> syntax.TensorNode:
        arg = self.node.args[k]
        if isinstance(arg, syntax.TensorNode) and arg.indices is None:
            return syntax.TensorNode(0, 0, f"{ARGUMENT}{k}", None)
        stand = open_in(arg)
        indices = [syntax.Index(0, 0, ((1, n),), plain=True, height=stand[n]) for n in self.own[k]]
        return syntax.TensorNode(0, 0, f"{ARGUMENT}{k}", tuple(indices) or None)

    def called(self, tree: syntax.Node) -> syntax.Node:
        """The indices that the table sums over by the names of the axes on which they stand."""
        bound, names = set(bound_within(tree)), {}
        for node in syntax.within(tree):
            if isinstance(node, syntax.TensorNode) and node.name.startswith((ARGUMENT, CHANGE)):
                own = self.own[int(node.name.removeprefix(CHANGE).removeprefix(ARGUMENT))]
                for index, name in zip(node.indices or (), own, strict=False):
                    if index.plain and index.terms[0][1] in bound:
                        names.setdefault(index.terms[0][1], self.fresh(hint(name)))
        return renamed(tree, names)

    def put_in(self, tree: syntax.Node) -> syntax.Node:
        if isinstance(tree, syntax.TensorNode) and tree.name.startswith((ARGUMENT, CHANGE)):
            return self.argument(tree)
        if isinstance(tree, syntax.CallNode) and key(tree, None, True) == self.value:
            return refreshed(self.node, self.fresh)
        if isinstance(tree, syntax.CallNode) and tree.axes is None and self.composite(tree):
            return self.over_axes(tree)
        parts = [self.put_in(part) for part in syntax.children(tree)]
        made = syntax.with_children(tree, parts)
        return times(made.factors, made.sums) if hasattr(made, "sums") else made  # type: ignore[attr-defined]

    def composite(self, tree: syntax.CallNode) -> bool:
        """Whether a function of a whole tensor, by its name, would be one of something without a name."""
        bare = [a for a in tree.args if isinstance(a, syntax.TensorNode) and a.name.startswith(ARGUMENT)
                and a.indices is None]  # fmt: skip
        return any(self.own[int(a.name.removeprefix(ARGUMENT))] and not self.by_name(a) for a in bare)

    def by_name(self, stand_in: syntax.TensorNode) -> bool:
        k = int(stand_in.name.removeprefix(ARGUMENT))
        arg = self.node.args[k]
        return isinstance(arg, syntax.TensorNode) and _plainly(arg, self.own[k])

    def over_axes(self, tree: syntax.CallNode) -> syntax.Node:
        """``inv(u)[i,j]`` with what ``u`` stands for, its axes named."""
        row = IN_TEXT[tree.name]
        if len(tree.args) > 1 or row.kind not in ("matrix", "reduce") or tree.params:
            raise UnreadError("a function of several tensors without names")
        k = int(tree.args[0].name.removeprefix(ARGUMENT))  # type: ignore[union-attr]
        own, result = self.own[k], tree.result or ()
        names = [i.terms[0][1] for i in result if i.plain]
        direct = row.gives == "matrix" and len(names) == len(own) == len(set(names))
        axes = names if direct else [self.fresh(n) for n in own]
        arg = renamed(refreshed(self.node.args[k], self.fresh), dict(zip(own, axes, strict=True)))
        stand = open_in(self.node.args[k])
        indices = tuple(
            [syntax.Index(0, 0, ((1, a),), plain=True, height=stand[n]) for a, n in zip(axes, own, strict=True)]
        )
        return syntax.CallNode(0, 0, tree.name, (arg,), indices, None if direct else tree.result)

    def argument(self, tree: syntax.TensorNode) -> syntax.Node:
        change = tree.name.startswith(CHANGE)
        k = int(tree.name.removeprefix(CHANGE).removeprefix(ARGUMENT))
        arg, own, indices = self.node.args[k], self.own[k], tree.indices
        if indices is None:
            whole = isinstance(arg, syntax.TensorNode) and own and not change
            arg = syntax.TensorNode(0, 0, arg.name, None) if whole else refreshed(arg, self.fresh)  # type: ignore[union-attr]
            return syntax.Derivative(0, 0, arg, self.x) if change else arg
        rows, columns = indices[: len(own)], indices[len(own) :]
        if isinstance(arg, syntax.TensorNode) and _plainly(arg, own):
            arg = syntax.TensorNode(0, 0, arg.name, rows or None)
        elif all(i.plain for i in rows):
            arg = renamed(refreshed(arg, self.fresh), dict(zip(own, [i.terms[0][1] for i in rows], strict=True)))
        else:
            raise UnreadError("a part that is read at a place")
        if not change:
            return arg
        if [i.terms[0][1] for i in columns if i.plain] != [i.terms[0][1] for i in self.x.indices or ()]:
            raise UnreadError("a derivative at other places")
        return syntax.Derivative(0, 0, arg, self.x)


def _plainly(arg: syntax.TensorNode, own: tuple[str, ...]) -> bool:
    names = [i.terms[0][1] for i in arg.indices or () if i.plain]
    return arg.indices is None or (len(names) == len(arg.indices) and tuple(names) == own)
