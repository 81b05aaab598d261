"""Names of axes, carried through an expression from its inputs to its result.

An axis of a result has the name of the axes it comes from: in a product all axes with one label are one axis, in a sum
and in an elementwise function all axes in one position are. A slice, a shift, a stride, a flip is a relation between
two axes, ``j == c·i + d``, and passes the name on; so does a vector of places that has no name of its own, which
selects entries of an axis. An axis that is made of several, or of none, has no name. Two different names that meet are
a fault: so a product over axes that merely have the same size is found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

from ricci.errors import AxisSpaceError
from ricci.expr import Elementwise, Expr, Function, Product, Structure, Sum, Variable, topological
from ricci.functions.table import FUNCTIONS

Names = tuple[str | None, ...]
_KEEPING = frozenset([name for name, row in FUNCTIONS.items() if row.kind == "keep"])


def axis_names(expr: Expr, known: Mapping[Expr, Names], operation: str = "the operation") -> Names:
    """The names of the axes of ``expr``, by those of its variables or of other parts; None where there is none.

    >>> from ricci.expr import product, variable
    >>> x, w = variable("x", (2, 3)), variable("w", (3, 4))
    >>> axis_names(product([(x, "ij"), (w, "jk")], "ik"), {x: ("b", "t"), w: ("t", None)})
    ('b', None)
    >>> axis_names(product([(x, "ij"), (w, "jk")], "ik"), {x: ("b", "t"), w: ("d", None)}, "matmul")
    Traceback (most recent call last):
        ...
    ricci.errors.AxisSpaceError: matmul: the axes 'd' and 't' meet, which are different spaces. ...
    """
    done: dict[Expr, Names] = {}
    for node in topological(expr):
        done[node] = _own(node, done, known, operation)
    return done[expr]


def _own(node: Expr, done: Mapping[Expr, Names], known: Mapping[Expr, Names], operation: str) -> Names:
    given = known.get(node)
    if given is not None or isinstance(node, Variable):
        return given or (None,) * len(node.shape)
    if isinstance(node, Product):
        return _of_product(node, done, operation)
    if isinstance(node, (Sum, Elementwise)):
        return _by_position([done[a] for a in node.args if a.shape], len(node.shape), operation)
    if isinstance(node, Function):
        if node.op.body is not None:
            return axis_names(node.op.body(node.args), {a: done[a] for a in node.args}, operation)
        return _of_function(node, done, operation)
    if isinstance(node, Structure) and node.args:
        return (*done[node.args[0]], None)
    return (None,) * len(node.shape)


def _met(a: str | None, b: str | None, operation: str) -> str | None:
    if a is not None and b is not None and a != b:
        first, second = sorted((a, b))
        raise AxisSpaceError(
            f"{operation}: the axes {first!r} and {second!r} meet, which are different spaces. "
            "If they are one, give them one name: t.rename(…)."
        )
    return b if a is None else a


def _by_position(rows: Sequence[Names], order: int, operation: str) -> Names:
    result: list[str | None] = [None] * order
    for names in rows:
        result = [_met(a, b, operation) for a, b in zip(result, names, strict=True)]
    return tuple(result)


def _of_product(node: Product, done: Mapping[Expr, Names], operation: str) -> Names:
    one: dict[Hashable, Hashable] = {}  # label → the label it is tied to

    def find(label: Hashable) -> Hashable:
        while label in one:
            label = one[label]
        return label

    carried = Counter([label for _, labels in node.factors() for label in set(labels)])
    for factor, labels in node.factors():
        if _passes(factor) or _accumulates(factor, [carried[x] for x in labels]):
            a, b = find(labels[0]), find(labels[1])
            if a != b:
                one[a] = b
    names: dict[Hashable, str | None] = {}
    for factor, labels in node.factors():
        for label, name in zip(labels, done[factor], strict=True):
            if name is not None:
                root = find(label)
                names[root] = _met(names.get(root), name, operation)
    for factor, labels in node.factors():
        if _selects(factor) and carried[labels[0]] == 1 and names.get(find(labels[0])) is None:
            names[find(labels[0])] = names.get(find(labels[1]))
    return tuple([names.get(find(label)) for label in node.out])


def _selects(factor: Expr) -> bool:
    """Whether a factor reads an axis at a vector of places: some of its entries, in some order."""
    return isinstance(factor, Structure) and factor.relation[0] == "at" and len(factor.shape) == 2


def _passes(factor: Expr) -> bool:
    """Whether a factor ties the indices of two axes, one to one."""
    return isinstance(factor, Structure) and factor.relation[0] == "==" and len(factor.shape) == 2


def _accumulates(factor: Expr, carried: Sequence[int]) -> bool:
    """Whether a triangle makes an axis of sums so far (a cumulated sum), which no other factor has."""
    triangle = isinstance(factor, Structure) and factor.relation[0] == ">=" and len(factor.shape) == 2
    return triangle and factor.shape[0] == factor.shape[1] and 1 in carried


def _of_function(node: Function, done: Mapping[Expr, Names], operation: str) -> Names:
    works_on = node.op.axes_of(node.params)
    lead = len(node.args[0].shape) - works_on[0]
    common = _by_position([done[a][:lead] for a in node.args], lead, operation)
    own = len(node.shape) - lead
    if node.op.name in _KEEPING and own == works_on[0]:
        return (*common, *done[node.args[0]][lead:])
    return (*common, *[None] * own)
