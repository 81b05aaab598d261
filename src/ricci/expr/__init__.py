"""The core: one interned type, ``Expr``, with seven kinds of node, and constructors that keep it canonical.

Operands and labels come in, the one node that they make goes out. ``nodes`` has the kinds, ``op`` what a row of a
function holds, ``dims`` and ``numbers`` sizes and coefficients, ``structures`` the 0/1 tensors, ``build`` the
constructors, ``moving`` what data that changes places is multiplied by; ``walk``, ``settle`` and ``widen`` go through
whole expressions, and ``check`` tells whether one is well formed. Only ``errors`` and ``caches`` may be imported.
"""

from ricci.expr.alternating import levi_civita
from ricci.expr.build.add import add
from ricci.expr.build.algebra import HALF, POWER, constant, expand, multiply, power, reciprocal
from ricci.expr.build.apply import elementwise, function, one_hot
from ricci.expr.build.conjugates import CONJ, I, conj
from ricci.expr.build.product import broadcast, product
from ricci.expr.build.scale import numeric, scale
from ricci.expr.check import check
from ricci.expr.dims import Dim, Size, axis_size, index_size
from ricci.expr.nodes import (
    COMPLEX,
    Constant,
    Data,
    Elementwise,
    Expr,
    Function,
    Labels,
    Product,
    Shape,
    Structure,
    Sum,
    Variable,
    live_nodes,
    make,
)
from ricci.expr.numbers import Number, number
from ricci.expr.op import OPS, ROWS, Adjoint, Change, Op
from ricci.expr.structures import affine, delta, merge, one, place, triangle, window, zero
from ricci.expr.walk import rebuild, substitute, topological, transform, users, variables


def variable(name: str, shape: int | Shape, symmetry: str = "", complex: bool = False) -> Variable:
    """An input. ``shape`` is its sizes, or its order: then each axis has a size of its own, bound at the first call.

    ``symmetry`` is what is declared of a matrix: "symmetric", "antisymmetric", "positive" or "orthogonal". Its numbers
    are real, or ``complex``.
    """
    if isinstance(shape, int):
        shape = tuple(axis_size(name, 0 if symmetry else axis) for axis in range(shape))
    if complex:
        return make(Variable, (), shape, name, symmetry, COMPLEX)
    return make(Variable, (), shape, name, symmetry) if symmetry else make(Variable, (), shape, name)


__all__ = [
    "CONJ",
    "HALF",
    "OPS",
    "POWER",
    "ROWS",
    "Adjoint",
    "Change",
    "Constant",
    "Data",
    "Dim",
    "Elementwise",
    "Expr",
    "Function",
    "I",
    "Labels",
    "Number",
    "Op",
    "Product",
    "Shape",
    "Size",
    "Structure",
    "Sum",
    "Variable",
    "add",
    "affine",
    "axis_size",
    "broadcast",
    "check",
    "conj",
    "constant",
    "delta",
    "elementwise",
    "expand",
    "function",
    "index_size",
    "levi_civita",
    "live_nodes",
    "make",
    "merge",
    "multiply",
    "number",
    "numeric",
    "one",
    "one_hot",
    "place",
    "power",
    "product",
    "rebuild",
    "reciprocal",
    "scale",
    "substitute",
    "topological",
    "transform",
    "triangle",
    "users",
    "variable",
    "variables",
    "window",
    "zero",
]
