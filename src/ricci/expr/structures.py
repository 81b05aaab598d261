"""Structures: 0/1 tensors given by a relation between their indices, never by data.

A structure is 1 where its relation holds and 0 elsewhere:

- ``("one",)`` always, ``("zero",)`` never;
- ``("==", c, d)`` where ``c·index + d == 0``: the Kronecker delta (``i - j == 0``), a place (``j == 3``), a window
  (``j == i + k``), a stride, a pad, the merging of axes (``c == a·B + b``);
- ``(">=", c, d)`` where ``c·index + d >= 0``: triangles;
- ``("at",)`` where the last index equals the integer tensor ``args[0]`` at the others: gather.

Moving data is multiplying by a structure, so the product rule differentiates all of it. Coefficients and constants
may be symbolic sizes. The form is canonical: axes that the relation does not mention are left to the product as
broadcasts, the others are sorted, and an equation has one sign.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from ricci.errors import ShapeError
from ricci.expr.alternating import is_levi_civita, parity
from ricci.expr.dims import Dim, Size
from ricci.expr.nodes import (
    Constant,
    Elementwise,
    Expr,
    Function,
    Product,
    Shape,
    Structure,
    Sum,
    Variable,
    constructors,
    make,
)

ONE = ("one",)
ZERO = ("zero",)
DELTA = ("==", (-1, 1), 0)
AT = ("at",)
DEPTH = 4  # how far into a matrix one looks for its being symmetric
SYMMETRIC = frozenset(("symmetric", "positive"))  # what is declared of matrices that equal their transposes
TRANSPOSABLE = frozenset(("inv", "expm"))  # f(A') = f(A)'


def one(shape: Shape) -> Expr:
    """The one-tensor; of order 0 it is the number 1."""
    return make(Structure, (), shape, ONE) if shape else make(Constant, (), (), 1)


def zero(shape: Shape) -> Expr:
    """The zero-tensor; of order 0 it is the number 0."""
    return make(Structure, (), shape, ZERO) if shape else make(Constant, (), (), 0)


def delta(size: Size) -> Expr:
    """The Kronecker delta."""
    return make(Structure, (), (size, size), DELTA) if size != 1 else one((1, 1))


def is_one(e: Expr) -> bool:
    return (type(e) is Structure and e.relation == ONE) or (
        type(e) is Constant and type(e.value) is int and e.value == 1
    )


def is_zero(e: Expr) -> bool:
    return (type(e) is Structure and e.relation[0] == "zero") or (type(e) is Constant and e.value == 0)


def is_delta(e: Expr) -> bool:
    return type(e) is Structure and e.relation == DELTA and e.shape[0] == e.shape[1]


def turning(e: Expr) -> int:
    """What becomes of a tensor when two of its axes change places: 1 if it is the same, -1 if its opposite.

    It is 0 where neither is seen at a glance. The delta is symmetric, functions and sums of such matrices are, and so
    is a sum that has the transpose of each term. What is declared of an input says the rest, and the symbol
    ``eps[i,j,k]`` changes its sign.
    """
    if len(e.shape) != 2:
        return -1 if len(e.shape) > 2 and is_levi_civita(e) else 0
    try:
        return e.mirrored
    except AttributeError:
        square = e.shape[0] == e.shape[1]
        e.mirrored = found = 0 if not square else 1 if _symmetric(e, DEPTH) else -1 if _antisymmetric(e, DEPTH) else 0
        return found


def is_hermitian(e: Expr) -> bool:
    """Whether it is an input that equals its conjugate transpose, and is complex."""
    return type(e) is Variable and e.complex and e.symmetry in ("hermitian", "positive")


def symmetric(e: Expr) -> bool:
    """Whether a matrix is seen at a glance to equal its transpose."""
    return len(e.shape) == 2 and turning(e) == 1


def _symmetric(e: Expr, depth: int) -> bool:
    if len(e.shape) != 2 or not depth:
        return False
    if isinstance(e, Variable):
        return e.symmetry in SYMMETRIC and not is_hermitian(e)
    if isinstance(e, Structure):
        return e.relation == ONE or (e.relation == DELTA and e.shape[0] == e.shape[1])
    if isinstance(e, Elementwise):
        return all(not a.shape or _symmetric(a, depth - 1) for a in e.args)
    if isinstance(e, Function):
        return e.op.name in TRANSPOSABLE and _symmetric(e.args[0], depth - 1)
    if not isinstance(e, Sum):
        return isinstance(e, Product) and not any(e.labels) and not e.sums
    rest = [a for a in e.args if not _symmetric(a, depth - 1)]
    return not rest or (len(rest) % 2 == 0 and len(rest) <= 8 and _holds_transposes(e, rest))


def _antisymmetric(e: Expr, depth: int) -> bool:
    if len(e.shape) != 2 or not depth:
        return False
    if isinstance(e, Variable):
        return e.symmetry == "antisymmetric"
    if isinstance(e, Elementwise) and e.op.name == "conj":
        return _antisymmetric(e.args[0], depth - 1)
    if isinstance(e, Function):
        return e.op.name == "inv" and _antisymmetric(e.args[0], depth - 1)
    return is_levi_civita(e) or (isinstance(e, Sum) and all(_antisymmetric(a, depth - 1) for a in e.args))


def _holds_transposes(e: Sum, terms: list[Expr]) -> bool:
    """Whether the transpose of each of these terms is among them, with the same coefficient."""
    coef = dict(zip(e.args, e.coefs, strict=True))
    signs = {_signature(t, (0, 1)): coef[t] for t in terms}
    return all(signs.get(_signature(t, (1, 0))) == coef[t] for t in terms)


def _signature(e: Expr, axes: tuple[int, int]) -> tuple:
    """What a matrix is a product of, its axes renamed to ``axes``."""
    if isinstance(e, Product) and not e.sums:
        return tuple(sorted((a.key, tuple([axes[x] for x in labels])) for a, labels in e.factors()))
    return ((e.key, axes),)


def natural(e: Expr) -> tuple[int, ...]:
    """The axes on which ``e`` depends, in the order in which it uses them; ``build/natural.py`` tells what for."""
    try:
        return e.natural
    except AttributeError:
        e.natural = found = _natural(e)
        return found


def _natural(e: Expr) -> tuple[int, ...]:
    if isinstance(e, Product) and not e.sums:
        return tuple(dict.fromkeys(label for labels in e.labels for label in labels))
    if isinstance(e, Sum) and len(e.args) == 1:
        return natural(e.args[0])
    if isinstance(e, Structure) and e.relation in (ONE, ZERO):
        return ()
    return tuple(range(len(e.shape)))


def arranged(e: Expr, labels: Sequence[Hashable], place: Mapping[Hashable, int]) -> tuple[int, tuple[int, ...]]:
    """The places of the labels of an operand, in order where exchanges do not matter but for the sign, and that sign.

    It is 0 where an operand that changes its sign has a label twice.
    """
    places = tuple(map(place.__getitem__, labels))
    if len(places) < 2 or (len(places) == 2 and places[0] < places[1]):
        return 1, places
    turned = turning(e)
    if not turned:
        return 1, places
    return (1 if turned > 0 else parity(places)), tuple(sorted(places))


def wrapped(e: Expr, axes: Sequence[int], shape: Shape) -> Expr:
    """``e`` with its axes at the places ``axes`` of ``shape``, and nothing else done to it."""
    sign, labels = arranged(e, axes, {axis: axis for axis in axes})
    if sign < 0:
        return constructors.multiply(-1, wrapped(e, labels, shape))
    if labels == tuple(range(len(shape))):
        return e
    carried = dict(zip(labels, e.shape, strict=True))
    sizes = tuple([carried.get(axis, size) for axis, size in enumerate(shape)])
    return make(Product, (e,), sizes, (labels,), tuple(range(len(shape))))


def affine(relation: str, coefs: Sequence[Size], const: Size, shape: Shape) -> Expr:
    """The structure that is 1 where ``coefs·index + const`` is zero (``"=="``) or not negative (``">="``)."""
    axes = [a for a, c in enumerate(coefs) if c != 0 and shape[a] != 1]
    if not axes:
        truth = const == 0 if relation == "==" else not isinstance(const, int) or const >= 0
        if isinstance(const, Dim):
            raise ShapeError(f"Whether {const} {relation} 0 is not known before the sizes are.")
        return one(shape) if truth else zero(shape)
    if len(axes) == 1 and relation == "==" and _outside(coefs[axes[0]], const, shape[axes[0]]):
        return zero(shape)
    if len(shape) == 1 and relation == "==" and type(coefs[0]) is int and type(const) is int:
        sign = -1 if coefs[0] > 0 else 1  # as below: of the two forms the one with a sign comes first
        return make(Structure, (), shape, (relation, (sign * coefs[0],), sign * const))
    signs = (1, -1) if relation == "==" else (1,)
    forms = [_sorted_form(axes, coefs, const, shape, sign) for sign in signs]
    order, chosen, shift = min(forms, key=lambda form: repr(form[1:]))
    core = make(Structure, (), tuple(shape[a] for a in order), (relation, chosen, shift))
    return wrapped(core, order, shape)


def _sorted_form(axes, coefs, const, shape, sign):
    order = sorted(axes, key=lambda a: (repr(sign * coefs[a]), repr(shape[a]), a))
    return order, tuple(sign * coefs[a] for a in order), sign * const


def _outside(coef: Size, const: Size, size: Size) -> bool:
    """Whether ``coef·i + const == 0`` surely has no solution among the indices of an axis."""
    if isinstance(coef, int) and isinstance(const, int):
        place, rest = divmod(-const, coef)
        return rest != 0 or place < 0 or (isinstance(size, int) and place >= size)
    return False


def place(position: Size, size: Size) -> Expr:
    """1 at ``position`` of one axis: ``x[0]`` is ``x[j] place(0)[j]``."""
    return affine("==", (-1,), position, (size,))


def window(coefs: Sequence[Size], const: Size, read: Size, shape: Shape) -> Expr:
    """Axes ``(j, i, k, …)``, 1 where ``j == coefs·(i, k, …) + const``; ``read`` is the size of ``j``."""
    return affine("==", (-1, *coefs), const, (read, *shape))


def merge(shape: Shape) -> Expr:
    """Axes ``(c, a, b, …)``, 1 where ``c`` is the row-major position of ``(a, b, …)``: a reshape, both ways."""
    strides: list[Size] = [1]
    for size in reversed(shape):
        strides.append(strides[-1] * size)
    *coefs, total = strides
    return affine("==", (-1, *reversed(coefs)), 0, (total, *shape))


def merged_axis(e: Structure) -> int | None:
    """The axis that holds the row-major position of the others, if the relation says just that."""
    _, coefs, const = e.relation
    if const != 0 or (-1 not in coefs and 1 not in coefs):
        return None
    for position, coef in enumerate(coefs):
        rest = [(c, s) for p, (c, s) in enumerate(zip(coefs, e.shape, strict=True)) if p != position]
        stride: Size = -1 * coef
        while rest:
            match = next((pair for pair in rest if pair[0] == stride), None)
            if match is None:
                break
            rest.remove(match)
            stride = stride * match[1]
        if not rest and stride == -1 * coef * e.shape[position]:
            return position
    return None


def triangle(rows: Size, columns: Size, shift: Size = 0) -> Expr:
    """Axes ``(i, j)``, 1 where ``j <= i + shift``: the lower triangle."""
    return affine(">=", (1, -1), shift, (rows, columns))


def whole(index: Expr, integer: Callable[[str], bool]) -> bool:
    """Whether an index is whole, although it may be computed in floats; ``integer`` tells it of inputs."""
    seen, stack = {index}, [index]
    while stack:
        node = stack.pop()
        op = node.op if isinstance(node, (Elementwise, Function)) else None
        numbers = node.coefs if isinstance(node, Sum) else [node.value] if isinstance(node, Constant) else []
        known = isinstance(node, (Sum, Product, Constant)) if op is None else op.whole == "kept"
        always = isinstance(node, Structure) if op is None else op.whole == "always"
        if always or (isinstance(node, Variable) and integer(node.name)):
            continue
        if not known or not all(isinstance(c, (int, Dim)) for c in numbers):
            return False
        inner = [a for a in node.args[op is not None and op.type == "branches" :] if a not in seen]
        seen.update(inner)
        stack += inner
    return True


def holds(relation: tuple, index: Sequence[int], gathered: int | None = None) -> bool:
    """Whether an entry is 1; coefficients must be numbers here."""
    kind = relation[0]
    if kind in ("one", "zero"):
        return kind == "one"
    if kind == "at":
        return index[-1] == gathered
    total = sum(c * i for c, i in zip(relation[1], index, strict=True)) + relation[2]
    return total == 0 if kind == "==" else total >= 0
