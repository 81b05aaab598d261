"""Sizes that must agree, and the form of an expression that does not depend on which of them was written down.

Axes that meet in a product, a sum or a function have one size, so ``x.1`` and ``a.0`` in ``x[i,k] a[k,j]`` are two
names of one number. :class:`SizeClasses` finds those classes; :func:`settled` rewrites an expression with one name for
each: an axis of a variable that occurs in it, or else an axis of the result, or else what was there. Two expressions
that differ only in how they name a size settle to the same object.
"""

from __future__ import annotations

from collections.abc import Iterable

from ricci.expr import dims
from ricci.expr.composing import composed
from ricci.expr.dims import Dim, Size
from ricci.expr.nodes import Constant, Elementwise, Expr, Function, Product, Shape, Structure, Sum, Variable, make
from ricci.expr.walk import rebuild, topological, transform


class SizeClasses:
    """Which symbolic sizes are the same within the given expressions."""

    def __init__(self, *roots: Expr, linked: Iterable[tuple[Size, Size]] = ()):
        self.parent: dict[Size, Size] = {}
        for a, b in linked:
            self.link(a, b)
        for node in topological(*roots):
            for a, b in links(node):
                if a is not b:
                    self.link(a, b)

    def find(self, size: Size) -> Size:
        root = size
        while root in self.parent:
            root = self.parent[root]
        while size is not root and size in self.parent:
            self.parent[size], size = root, self.parent[size]
        return root

    def link(self, a: Size, b: Size) -> None:
        a, b = self.find(a), self.find(b)
        if a != b:
            first, second = sorted((a, b), key=dims.rank)
            self.parent[second] = first


def links(node: Expr) -> list[tuple[Size, Size]]:
    """Pairs of sizes that this node makes equal."""
    if isinstance(node, Product):
        seen: dict[int, Size] = dict(zip(node.out, node.shape, strict=True))
        axes = [(label, size) for a, labels in node.factors() for label, size in zip(labels, a.shape, strict=True)]
        return [(seen.setdefault(label, size), size) for label, size in axes]
    if isinstance(node, (Sum, Elementwise)):
        return [pair for a in node.args if a.shape for pair in zip(node.shape, a.shape, strict=True)]
    if isinstance(node, Function) and node.op.loop is not None:
        return node.op.loop.links(node)
    if isinstance(node, Function):
        works_on = node.op.axes_of(node.params)
        lead = len(node.args[0].shape) - works_on[0]
        common = [pair for a in node.args for pair in zip(node.shape[:lead], a.shape[:lead], strict=True)]
        square = node.args[0].shape[lead:]
        if node.op.gives == "along":
            common += zip(square, node.args[1].shape[lead:], strict=False)
        if node.op.works_on[0] == 2 and not node.op.rectangular:
            common.append((square[0], square[1]))
            common += [(square[0], a.shape[lead]) for a in node.args[1:]]
        return common
    if isinstance(node, Structure) and node.args:
        return list(zip(node.shape[:-1], node.args[0].shape, strict=True))
    return []


def settled(root: Expr, linked: Iterable[tuple[Size, Size]] = ()) -> Expr:
    """``root`` with one name for each class of sizes; see above. Variables keep their own but for numbers.

    ``linked`` are sizes known to agree from elsewhere: the expression may have lost the product that said so.
    """
    nodes = topological(root)
    loops = [node.op.loop for node in nodes if isinstance(node, Function) and node.op.loop is not None]
    states = [loop.length + 1 for loop in loops]
    resize = SettledSizes([root], root.shape, SizeClasses(root, linked=linked), states).of

    def step(node: Expr, args: tuple[Expr, ...]) -> Expr:
        if not isinstance(node, Variable):
            return rebuild(node, args, resize)
        known = tuple([resize(size) if isinstance(resize(size), int) else size for size in node.shape])
        return node if known == node.shape else make(Variable, (), known, *node.data)

    numbers = any(
        isinstance(resize(s), int) != isinstance(s, int) for v in nodes if isinstance(v, Variable) for s in v.shape
    )
    if loops:
        return composed(transform(root, step), [resize(loop.length) for loop in loops])
    if not numbers and not any(resize(size) != size for node in nodes for size in own_sizes(node)):
        return root
    return transform(root, step)


class SettledSizes:
    """The one name of each size in expressions, the result of which has a certain shape."""

    def __init__(self, roots: Iterable[Expr], shape: Shape, classes: SizeClasses, computed: Iterable[Size] = ()):
        self.classes = classes
        self.name: dict[Size, Size] = {}
        found = {node for node in topological(*roots) if isinstance(node, Variable)}
        for node in sorted(found, key=lambda v: v.name):
            for size in node.shape:
                self.name.setdefault(self.classes.find(size), size)
        known = [self.classes.find(size) for size in computed]  # from others, and so without a name
        for axis, size in [(a, s) for a, s in enumerate(shape) if self.classes.find(s) not in known]:
            self.name.setdefault(self.classes.find(size), dims.index_size(f"@{axis}"))

    def of(self, size: Size) -> Size:
        group = self.classes.find(size)
        if isinstance(group, int) or group in self.name:
            return group if isinstance(group, int) else self.name[group]
        return dims.replaced(group, lambda atom: group if dims.symbol(*atom) is group else self.of(dims.symbol(*atom)))


def own_sizes(node: Expr) -> tuple[Size, ...]:
    """The sizes that a node holds itself, rather than taking them from its operands."""
    if isinstance(node, Function) and node.op.loop is not None:
        return node.op.loop.sizes()
    if isinstance(node, Constant):
        return (node.value,) if isinstance(node.value, Dim) else ()
    if isinstance(node, Product):
        carried = {label for labels in node.labels for label in labels}
        return tuple([size for label, size in zip(node.out, node.shape, strict=True) if label not in carried])
    if isinstance(node, Structure):
        relation = node.relation
        return (*node.shape, *relation[1], relation[2]) if relation[0] in ("==", ">=") else node.shape
    return ()
