"""What einops takes is taken: every function, with arrays, lists and scalars of every kind, compared with it."""

from __future__ import annotations

import numpy as np
import pytest

import ricci as rc
import ricci.einops as ours

theirs = pytest.importorskip("einops", reason="einops is not installed: pip install einops to compare with it")

A = np.arange(24.0).reshape(2, 3, 4)


class Plain(np.ndarray):
    """A subclass that means nothing by it."""


def of_torch(x):
    return pytest.importorskip("torch", reason="torch is not installed").tensor(x)


def of_jax(x):
    return pytest.importorskip("jax.numpy", reason="jax is not installed").asarray(x)


ARRAYS = {
    "float64": lambda: A,
    "float16": lambda: A.astype(np.float16),
    "integers": lambda: A.astype(int),
    "truths": lambda: A > 3,
    "complex": lambda: A + 1j,
    "objects": lambda: A.astype(object),
    "subclass": lambda: A.view(Plain),
    "fortran order": lambda: np.asfortranarray(A),
    "no axes": lambda: np.array(3.0),
    "nothing": lambda: np.zeros((2, 0, 4)),
    "torch": lambda: of_torch(A),
    "jax": lambda: of_jax(A),
    "list": lambda: list(A),
    "list of torch": lambda: list(of_torch(A)),
    "list of jax": lambda: list(of_jax(A)),
    "list of one": lambda: [A],
    "list of arrays without axes": lambda: [np.array(1.0), np.array(2.0)],
    "tuple": lambda: tuple(A),
    "list of lists": A.tolist,
    "list of numbers": lambda: [1.0, 2.0],
    "empty list": list,
    "number": lambda: 3.0,
    "scalar of NumPy": lambda: np.float64(3.0),
    "list of scalars of NumPy": lambda: [np.float64(1.0), np.float64(2.0)],
    "text": lambda: "a b",
    "None": lambda: None,
}
CALLS = {
    "rearrange": [
        (lambda e, x, p=p: e.rearrange(x, p))
        for p in (
            "a b c -> c a b",
            "a -> a 1",
            "-> 1",
            "... -> ... 1",
            "n ... -> ... n",
            " a  b c->  c(a b) ",
            "a b -> b a",
        )
    ],
    "reduce": [
        (lambda e, x, p=p, r=r: e.reduce(x, p, r))
        for p in ("a b c -> a", "a ->", "->", "n ... -> ...", "a b (c 2) -> c")
        for r in ("sum", "max", "mean", "prod", "any", "all")
    ],
    "repeat": [
        (lambda e, x, p=p: e.repeat(x, p))
        for p in ("a b c -> a b c 2", "a -> (a 2)", "-> 3", "... -> ... 2", "... -> 1 ...")
    ],
    "pack": [
        (lambda e, x, p=p, of=of: e.pack(of(x), p))
        for p in ("*", "a *", "* a", "a * b", "a b *")
        for of in (
            lambda x: x,
            lambda x: [x],
            lambda x: (x, x),
            lambda x: [x, x, x],
            lambda x: [np.array(1.0), x],
            lambda x: [x, np.float32(1.0)],
        )
    ],
    "unpack": [
        (lambda e, x, shapes=shapes, p=p: e.unpack(x, shapes, p))
        for p in ("a * c", "a b *", "*")
        for shapes in (
            [(1,), (2,)],
            [[1], [2]],
            ((1,), (2,)),
            [np.array([1]), np.array([2])],
            np.array([[1], [2]]),
            [(), (2,)],
            [(1,), (-1,)],
            [(np.int64(1),), (2,)],
            [(2, 2)],
            [(0,), (3,)],
            [(4,)],
        )
    ],
    "einsum": [
        (lambda e, x, p=p: e.einsum(*[x] * (p.split("->")[0].count(",") + 1), p))
        for p in ("a b c -> c", "a b c, a b c -> a", "a, a ->", ", ->", "... , ... -> ...", "a b c, a d c -> b d")
    ],
    "parse_shape": [
        (lambda e, x, p=p: e.parse_shape(x, p)) for p in ("a b c", "a", "", " a  _   c ", "_ 3 _", "... c", "2 3 4")
    ],
    "asnumpy": [lambda e, x: e.asnumpy(x)],
    "sizes": [
        (lambda e, x, k=k: e.rearrange(x, "(a b) ... -> b a ...", **k))
        for k in ({"a": 2}, {"a": np.int64(2)}, {"a": np.array(2)}, {"b": np.uint8(1)}, {"a": 3}, {"z": 1}, {})
    ],
}
# What einops makes of it in silence, and ricci does not: arrays of two libraries in one list, one of them converted.
MIXED = "several kinds"


def outcome(call, library, x):
    try:
        return call(library, x), None
    except Exception as error:  # whatever einops raises
        return None, error


def summary(result):
    if isinstance(result, (list, tuple)):
        return [summary(part) for part in result]
    if isinstance(result, dict):
        return result
    return type(result).__name__, str(getattr(result, "dtype", "")), np.shape(result), repr(np.asarray(result).tolist())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", CALLS)
@pytest.mark.parametrize("kind", ARRAYS)
def test_as_einops(kind, function):
    make = ARRAYS[kind]
    for number, call in enumerate(CALLS[function]):
        expected, wrong = outcome(call, theirs, make())
        result, fault = outcome(call, ours, make())
        if wrong is None:
            if fault is not None and (MIXED in str(fault) or (kind == "nothing" and "could not split" in str(fault))):
                continue  # of nothing, einops does not look at the sizes
            if kind == "jax" and function == "pack" and isinstance(expected[0], np.ndarray):  # pyright: ignore[reportOptionalSubscript]
                continue  # an array of NumPy first: einops makes those of JAX alike, ricci the other way round
            assert fault is None, (number, fault)
            assert summary(result) == summary(expected), number
        elif fault is None:
            assert 0 in np.shape(make()) or function == "pack", (number, wrong)  # empty axes, scalars first
        elif isinstance(wrong, theirs.EinopsError):
            assert isinstance(fault, ours.EinopsError), (number, wrong, fault)
        else:
            assert isinstance(fault, (rc.RicciError, type(wrong))), (number, wrong, fault)


@pytest.mark.parametrize("make", [rc.Tensor, of_torch, np.asarray])
def test_an_array_in_place_of_a_list(make):
    packed, shapes = rc.pack(make(A), "* c")
    assert packed.shape == (6, 4) and [tuple(shape) for shape in shapes] == [(3,), (3,)]
    assert type(packed) is type(make(A))


def test_an_array_in_place_of_a_list_is_traced():
    np.testing.assert_array_equal(rc.compile(lambda x: rc.pack(x, "* c")[0])(A), A.reshape(6, 4))


# Masks: kept where einops keeps them, refused where they would be lost.

MASKED = np.ma.MaskedArray(A[0], A[0] % 5 == 1)
LOSING = {
    "einsum": lambda m: rc.einsum("i j, i j -> i", m, m),
    "einsum of one": lambda m: ours.einsum(m, "i j -> j i"),
    "beside an array": lambda m: rc.einsum("i j, i j -> i", A[0], m),
    "beside a tensor": lambda m: rc.einsum("i j, i j -> i", rc.Tensor(A[0]), m),
    "pack": lambda m: ours.pack([m, m], "i *"),
    "pack of three": lambda m: ours.pack([m, A[0], m], "i *"),
    "list": lambda m: ours.rearrange([m, m], "n i j -> i j n"),
    "joining": lambda m: rc.rearrange([m, m], "i j, i k -> i (j + k)"),
    "gather": lambda m: rc.gather("v d, t -> t d", m, np.array([0])),
    "places": lambda m: rc.gather("v d, t -> t d", A[0], np.ma.MaskedArray([0, 1], [True, False])),
    "scatter": lambda m: rc.scatter("v d, v -> t d", m, np.array([0, 1, 0]), t=2),
}


@pytest.mark.parametrize("name", LOSING)
def test_masks_are_not_lost(name):
    with pytest.raises(rc.EinopsError, match=r"(?s)keep a mask.*\.filled"):
        LOSING[name](MASKED)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod", "var", "std", "norm", "logsumexp"])
def test_masks_are_kept_by_reductions(name):
    result = rc.reduce(MASKED, "i (j k) -> i j", name, k=2)
    for i, j in np.ndindex(3, 2):
        cell = MASKED[i, 2 * j : 2 * j + 2]
        assert np.ma.getmaskarray(result)[i, j] == cell.mask.all()
        if not cell.mask.all():
            assert float(result[i, j]) == pytest.approx(float(rc.reduce(cell.compressed(), "k ->", name)))


def test_masks_move():
    moved = rc.rearrange(MASKED, "i (j k) -> k (i j)", k=2)
    np.testing.assert_array_equal(moved.mask, rc.rearrange(MASKED.mask, "i (j k) -> k (i j)", k=2))  # pyright: ignore[reportAttributeAccessIssue]
    np.testing.assert_array_equal(rc.repeat(MASKED, "i j -> n i j", n=2).mask[1], MASKED.mask)  # pyright: ignore[reportAttributeAccessIssue]
    np.testing.assert_array_equal(rc.unpack(MASKED, [(1,), (3,)], "i *")[1].mask, MASKED.mask[:, 1:])  # pyright: ignore[reportAttributeAccessIssue, reportIndexIssue]


def test_the_comparison_can_fail():
    assert summary(A) != summary(A.astype(np.float32))
    assert summary([A]) != summary([A, A])
    assert outcome(lambda e, x: e.rearrange(x, "a -> b"), ours, A)[1] is not None
