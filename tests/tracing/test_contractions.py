"""Products with sums: values, types and derivatives of matmul, einsum and their kin, and that each is one product."""

from __future__ import annotations

import numpy as np
import pytest
from checking import check, traced

from ricci.errors import AxisError, InputError, RicciError, ShapeError, TraceError
from ricci.expr import Product

RNG = np.random.default_rng(0)


def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [np.asarray(RNG.normal(size=s)) for s in shapes]


MATMUL = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 2)),
    ((3,), (2, 3, 2)),
    ((2, 2, 3), (3,)),
    ((2, 1, 2, 3), (3, 3, 2)),
    ((1, 2, 3), (4, 3, 1)),
    ((1, 1), (1, 1)),
    ((2, 0), (0, 3)),
    ((0, 3), (3, 2)),
    ((2, 1, 3), (1, 3, 1)),
]


@pytest.mark.parametrize("shapes", MATMUL, ids=str)
def test_matmul(shapes):
    check(lambda a, b: a @ b, *arrays(*shapes))


TWO = {
    "dot 0": (np.dot, (), (2, 3)),
    "dot 1 1": (np.dot, (3,), (3,)),
    "dot 2 1": (np.dot, (2, 3), (3,)),
    "dot 3 3": (np.dot, (2, 2, 3), (2, 3, 2)),
    "dot 1 3": (np.dot, (3,), (2, 3, 2)),
    "inner": (np.inner, (2, 3), (4, 3)),
    "inner 0": (np.inner, (2, 3), ()),
    "inner 3": (np.inner, (2, 2, 3), (3,)),
    "vdot": (np.vdot, (2, 3), (2, 3)),
    "vdot flat": (np.vdot, (2, 3), (3, 2)),
    "outer": (np.outer, (3,), (2,)),
    "outer flat": (np.outer, (2, 2), (3,)),
    "outer empty": (np.outer, (0,), (3,)),
    "linalg.outer": (np.linalg.outer, (3,), (2,)),
    "tensordot": (np.tensordot, (2, 3, 2), (3, 2, 2)),
    "tensordot 0": (lambda a, b: np.tensordot(a, b, 0), (2, 2), (3,)),
    "tensordot 1": (lambda a, b: np.tensordot(a, b, axes=1), (2, 3), (3, 2)),
    "tensordot pair": (lambda a, b: np.tensordot(a, b, (0, 1)), (3, 2), (2, 3)),
    "tensordot pairs": (lambda a, b: np.tensordot(a, b, ([1, 0], [0, -1])), (2, 3, 2), (3, 4, 2)),
    "linalg.tensordot": (lambda a, b: np.linalg.tensordot(a, b, axes=1), (2, 3), (3, 2)),
    "linalg.matmul": (np.linalg.matmul, (2, 3), (3, 2)),
    "kron 1": (np.kron, (3,), (2,)),
    "kron 2": (np.kron, (2, 2), (2, 3)),
    "kron 1 2": (np.kron, (2,), (2, 3)),
    "kron 0": (np.kron, (), (2, 2)),
    "kron one": (np.kron, (1, 2), (2, 1)),
    "vecdot": (np.vecdot, (2, 3), (3,)),
    "vecdot axis": (lambda a, b: np.linalg.vecdot(a, b, axis=0), (3, 2), (3, 2)),  # pyright: ignore[reportCallIssue]
    "matvec": (np.matvec, (2, 2, 3), (2, 3)),
    "vecmat": (np.vecmat, (2, 3), (3, 4)),
    "cross 3": (np.cross, (3,), (3,)),
    "cross batch": (np.cross, (2, 3), (3,)),
    "cross broadcast": (np.cross, (2, 1, 3), (4, 3)),
    "cross axes": (lambda a, b: np.cross(a, b, axisa=0, axisb=1, axisc=0), (3, 2), (2, 3)),
    "cross axis": (lambda a, b: np.cross(a, b, axis=0), (3, 2), (3, 2)),
    "linalg.cross": (np.linalg.cross, (2, 3), (2, 3)),
    "multi_dot": (lambda a, b: np.linalg.multi_dot([a, b, b.T, a.T]), (2, 3), (3, 2)),
    "multi_dot vector": (lambda a, b: np.linalg.multi_dot([b[0], b, a]), (2,), (2, 2)),
    "add.outer": (np.add.outer, (2, 2), (3,)),
    "multiply.outer": (np.multiply.outer, (2,), (3,)),
    "maximum.outer": (np.maximum.outer, (2,), (3,)),
    "arctan2.outer": (np.arctan2.outer, (2,), ()),
}


@pytest.mark.parametrize("name", TWO)
def test_of_two_operands(name):
    f, *shapes = TWO[name]
    check(f, *arrays(*shapes))


def cross_in_the_plane(a, b):
    """``np.cross`` as it is traced, beside vectors in space: NumPy 2.5 and later take no others."""
    if not isinstance(a, np.ndarray):
        return np.cross(a, b)
    whole = np.cross(*[np.concatenate([v, np.zeros((*v.shape[:-1], 3 - v.shape[-1]))], axis=-1) for v in (a, b)])  # pyright: ignore[reportArgumentType, reportCallIssue]
    return whole[..., 2] if a.shape[-1] == b.shape[-1] == 2 else whole


@pytest.mark.parametrize("shapes", [((2,), (2,)), ((3, 2), (2,)), ((3,), (2,)), ((2, 2), (3,))], ids=str)
def test_cross_in_the_plane(shapes):
    check(cross_in_the_plane, *arrays(*shapes))


EINSUM = [
    ("ij,jk->ik", (2, 3), (3, 2)),
    ("ij,jk", (2, 3), (3, 2)),
    ("ji,ik", (2, 3), (3, 2)),
    ("ba", (2, 3)),
    ("ii", (3, 3)),
    ("ii->i", (3, 3)),
    ("iij->j", (2, 2, 3)),
    ("iij->ij", (2, 2, 3)),
    ("ijij->", (2, 3, 2, 3)),
    ("iij,ji->j", (2, 2, 3), (3, 2)),
    ("ii,i->i", (3, 3), (3,)),
    ("ij->", (2, 3)),
    ("ij->j", (2, 3)),
    ("i,j,k->kij", (2,), (3,), (2,)),
    ("ij,ij,ij->i", (2, 3), (2, 3), (2, 3)),
    ("...", (2, 3)),
    ("...i->...", (2, 2, 3)),
    ("...ij,...jk->...ik", (2, 1, 2, 3), (4, 3, 2)),
    ("i...,i...->...", (2, 3), (2, 3)),
    ("i...i->...", (2, 3, 2)),
    ("...i,i", (2, 3), (3,)),
    ("ij,jk->ik", (1, 3), (1, 2)),
    ("ij,ij->ij", (1, 3), (2, 1)),
    (" ij , jk -> ik ", (2, 3), (3, 2)),
    ("ij,jk->ik", (0, 3), (3, 2)),
    ("ij,jk->ik", (2, 0), (0, 2)),
    (",ij->ij", (), (2, 2)),
    ("iJ,Jb", (2, 3), (3, 2)),
]


@pytest.mark.parametrize("case", EINSUM, ids=str)
def test_einsum(case):
    text, *shapes = case
    check(lambda *xs: np.einsum(text, *xs), *arrays(*shapes))


LISTS = [
    (lambda a, b: np.einsum(a, [0, 1], b, [1, 2]), (2, 3), (3, 2)),
    (lambda a, b: np.einsum(a, [0, 1], b, [1, 2], [2, 0]), (2, 3), (3, 2)),
    (lambda a, b: np.einsum(a, [5, 5], b, [5], []), (3, 3), (3,)),
    (lambda a, b: np.einsum(a, [..., 1], b, [1, ...]), (2, 3), (3,)),  # pyright: ignore[reportArgumentType, reportCallIssue]
    (lambda a, b: np.einsum(a, [..., 1], b, [1, 0], [..., 0], optimize=True), (2, 2, 3), (3, 2)),  # pyright: ignore[reportArgumentType, reportCallIssue]
]


@pytest.mark.parametrize("case", range(len(LISTS)))
def test_einsum_with_lists(case):
    f, *shapes = LISTS[case]
    check(f, *arrays(*shapes))


ONE = {
    "linalg.trace": np.linalg.trace,
    "linalg.trace offset": lambda a: np.linalg.trace(a, offset=1),
    "linalg.diagonal": np.linalg.diagonal,
    "linalg.diagonal offset": lambda a: np.linalg.diagonal(a, offset=-1),
    "linalg.diagonal far": lambda a: np.linalg.diagonal(a, offset=7),
    "linalg.matrix_transpose": np.linalg.matrix_transpose,
}


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (2, 3, 2), (1, 1)], ids=str)
def test_of_matrices(name, shape):
    check(ONE[name], *arrays(shape))


@pytest.mark.parametrize("more", [{}, {"N": 2}, {"N": 4, "increasing": True}, {"N": 0}, {"N": 1}], ids=str)
def test_vander(more):
    check(lambda x: np.vander(x, **more), np.array([0.5, 0.0, -2.0]))


@pytest.mark.parametrize("kinds", [("f4", "f4"), ("f4", "f8"), ("i8", "i4"), ("?", "?"), ("?", "i4")])
@pytest.mark.parametrize("f", [np.matmul, np.dot, np.inner, np.outer, lambda a, b: np.einsum("ij,jk", a, b), np.kron])
def test_types(kinds, f):
    a, b = [(3 * RNG.normal(size=(2, 2))).astype(kind) for kind in kinds]
    check(f, a, b, order=0)


def test_a_sum_after_a_product_is_one_contraction():
    program = traced(lambda a, b: np.sum(a * b), *arrays((2, 3), (2, 3)))
    node = program.results[0].expr
    assert isinstance(node, Product) and len(node.args) == 2 and not node.out
    same = traced(lambda a, b: np.einsum("ij,ij", a, b), *arrays((2, 3), (2, 3)))
    assert same.results[0].expr is node
    row = traced(lambda a, b: np.sum(a * b, axis=1), *arrays((2, 3), (3,))).results[0].expr
    assert row is traced(lambda a, b: a @ b, *arrays((2, 3), (3,))).results[0].expr


def test_a_chain_of_matrices_is_one_product():
    a, b, c = arrays((2, 3), (3, 4), (4, 2))
    node = traced(lambda a, b, c: np.linalg.multi_dot([a, b, c]), a, b, c).results[0].expr
    inner = node.args[0] if len(node.args) == 1 else node  # with the axes in the order that was asked for around it
    assert isinstance(inner, Product) and len(inner.args) == 3


WRONG = [
    (lambda a: a @ np.ones((3, 3)), (2, 2), ShapeError),
    (lambda a: a @ np.ones((1, 3)), (2, 2), ShapeError),
    (lambda a: a @ 2.0, (2, 2), ShapeError),
    (lambda a: np.ones((2, 2, 2)) @ a, (3, 2, 2), ShapeError),
    (lambda a: np.dot(a, np.ones(3)), (2, 2), ShapeError),
    (lambda a: np.vdot(a, np.ones(3)), (2, 2), ShapeError),
    (lambda a: np.tensordot(a, a, 3), (2, 2), AxisError),
    (lambda a: np.tensordot(a, a, ([0], [0, 1])), (2, 2), AxisError),
    (lambda a: np.einsum("ij,j", a, np.ones(3)), (2, 2), ShapeError),
    (lambda a: np.einsum("ijk", a), (2, 2), ShapeError),
    (lambda a: np.einsum("i", a), (2, 2), ShapeError),
    (lambda a: np.einsum("ij,ij", a), (2, 2), InputError),
    (lambda a: np.einsum("ij->ik", a), (2, 2), InputError),
    (lambda a: np.einsum("ij->ii", a), (2, 2), InputError),
    (lambda a: np.einsum("...j->j", a), (2, 2), InputError),
    (lambda a: np.einsum("i1", a), (2, 2), InputError),
    (lambda a: np.matmul(a, a, out=np.ones((2, 2))), (2, 2), TraceError),
    (lambda a: np.cross(a, a), (2, 4), ShapeError),
    (lambda a: np.linalg.multi_dot([a]), (2, 2), ShapeError),
    (lambda a: np.linalg.diagonal(a, offset=0), (2,), ShapeError),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_errors(case):
    f, shape, kind = WRONG[case]
    with pytest.raises(kind) as caught:
        traced(f, np.ones(shape))
    assert isinstance(caught.value, RicciError) and "test_contractions.py" in str(caught.value)
