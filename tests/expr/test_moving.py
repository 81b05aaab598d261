"""Movements of data are one object each, whoever writes them: NumPy's and PyTorch's functions, patterns, index text."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest

import ricci as rc
from ricci.errors import ShapeError
from ricci.expr import Expr, moving, substitute, variable, variables
from ricci.tracing import recording  # noqa: F401  # what traced arrays do in calls
from ricci.tracing.array import Traced
from ricci.tracing.frames import frame

X = np.arange(24.0).reshape(6, 4)
N = np.array([3, 0, 1])


def of_numpy(f) -> Expr:
    with frame("f") as own:
        x = own.variable("x", X.shape)
        return _of_x(f(Traced(x, X.dtype, own)).expr, x)


def of_torch(f) -> Expr:
    torch = pytest.importorskip("torch")
    from ricci.tracing.meanings import plain
    from ricci.tracing.recording import Arguments, record

    found = record(lambda x: f(torch, x), Arguments.of((torch.tensor(X),), {}))
    (result,) = found.outputs
    assert isinstance(result, Expr)
    return _of_x(plain(result), found.inputs[0])


def of_formula(f) -> Expr:
    return _of_x(f(rc.variable("x[h,c]", X)).expr, variable("x", X.shape))


def of_text(text: str, **sizes: int) -> Expr:
    found = rc.parse(text, sizes=sizes).expr
    return substitute(found, {x: variable("x", X.shape) for x in variables(found)})


def _of_x(e: Expr, x: Expr) -> Expr:
    return substitute(e, {x: variable("x", X.shape)})


MOVEMENTS = {
    "transpose": lambda: [
        of_numpy(lambda x: x.T),
        of_torch(lambda torch, x: x.permute(1, 0)),
        of_formula(lambda x: rc.rearrange(x, "h c -> c h")),
        of_text("y[c,h] = x[h,c]"),
        moving.transposed(variable("x", (6, 4)), (1, 0)),
    ],
    "split an axis": lambda: [
        of_numpy(lambda x: np.reshape(x, (3, 2, 4))),
        of_torch(lambda torch, x: x.view(3, 2, 4)),
        of_formula(lambda x: rc.rearrange(x, "(a b) c -> a b c", b=2)),
        of_text("y[a,b,c] = x[2*a+b,c]", a=3, b=2, c=4),
        moving.reshaped(variable("x", (6, 4)), (3, 2, 4)),
    ],
    "merge axes": lambda: [
        of_numpy(np.ravel),
        of_torch(lambda torch, x: torch.flatten(x)),
        of_formula(lambda x: rc.rearrange(x, "h c -> (h c)")),
        moving.merged(variable("x", (6, 4)), (2,)),
    ],
    "slice": lambda: [
        of_numpy(lambda x: x[1:4]),
        of_torch(lambda torch, x: x.narrow(0, 1, 3)),
        of_formula(lambda x: rc.unpack(x, [(1,), (3,), (2,)], "* c")[1]),
        of_text("y[h,c] = x[h+1,c]", h=3, c=4),
        moving.sliced(variable("x", (6, 4)), 0, 1, 1, 3),
    ],
    "stack": lambda: [
        of_numpy(lambda x: np.stack([x, x])),
        of_torch(lambda torch, x: torch.stack([x, x])),
        of_formula(lambda x: rc.rearrange([x, x], "n h c -> n h c")),
        moving.stacked([variable("x", (6, 4))] * 2),
    ],
    "concatenate": lambda: [
        of_numpy(lambda x: np.concatenate([x, 2 * x])),
        of_torch(lambda torch, x: torch.cat([x, 2 * x])),
        of_formula(lambda x: rc.pack([x, 2 * x], "* c")[0]),
        moving.joined([variable("x", (6, 4)), 2 * variable("x", (6, 4))], 0),
    ],
    "repeat": lambda: [
        of_numpy(lambda x: np.repeat(x, 3, axis=1)),
        of_torch(lambda torch, x: torch.repeat_interleave(x, 3, dim=1)),
        of_formula(lambda x: rc.repeat(x, "h c -> h (c n)", n=3)),
        moving.repeated(variable("x", (6, 4)), 1, 3),
    ],
    "tile": lambda: [
        of_numpy(lambda x: np.tile(x, (1, 3))),
        of_torch(lambda torch, x: x.repeat(1, 3)),
        of_formula(lambda x: rc.repeat(x, "h c -> h (n c)", n=3)),
        moving.repeated(variable("x", (6, 4)), 1, 3, whole=True),
    ],
    "roll": lambda: [
        of_numpy(lambda x: np.roll(x, 2, axis=0)),
        of_torch(lambda torch, x: torch.roll(x, 2, 0)),
        of_numpy(lambda x: np.concatenate([x[4:], x[:4]])),
        moving.rolled(variable("x", (6, 4)), 0, -4),
    ],
    "pad": lambda: [
        of_numpy(lambda x: np.pad(x, [(0, 0), (1, 2)])),
        of_torch(lambda torch, x: torch.nn.functional.pad(x, (1, 2))),
        moving.placed(variable("x", (6, 4)), 1, 1, 7),
    ],
    "diagonal": lambda: [
        of_numpy(lambda x: np.diagonal(x[:4])),
        of_torch(lambda torch, x: torch.diagonal(x[:4])),
        of_formula(lambda x: rc.einsum(rc.unpack(x, [(4,), (2,)], "* c")[0], "i i -> i")),
        moving.diagonal(moving.sliced(variable("x", (6, 4)), 0, 0, 1, 4), (0, 1)),
    ],
    "windows": lambda: [
        of_numpy(lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, 1)),
        of_torch(lambda torch, x: x.unfold(1, 2, 1)),
        of_text("y[h,c,k] = x[h,c+k]", h=6, c=3, k=2),
        moving.windows(variable("x", (6, 4)), (1,), [(3, 2, 1, 1, 0)]),
    ],
}


@pytest.mark.parametrize("name", MOVEMENTS)
def test_one_movement_is_one_object(name):
    first, *others = MOVEMENTS[name]()
    for other in others:
        assert other is first


def test_gather_is_one_structure():
    x, n = variable("x", X.shape), variable("n", N.shape)
    with frame("f") as own:
        array, places = Traced(x, X.dtype, own), Traced(n, np.dtype(np.uint64), own)
        taken: Any = np.take(array, places, axis=1)
        found = [array[:, places].expr, taken.expr]
    given: dict[Expr, Expr] = {a: {"x": x, "n": n}[a.name] for a in variables(rc.parse("y[h,t] = x[h,n[t]]").expr)}
    found.append(substitute(rc.parse("y[h,t] = x[h,n[t]]").expr, given))
    pattern = rc.gather(rc.variable("x[h,c]", X), rc.variable("n[t]", N), "h c, t -> h t")
    assert all(e is moving.gathered(x, 1, n) for e in [*found, pattern.expr])


def test_symbolic_sizes():
    x = variable("x", 2)
    n, m = x.shape
    assert moving.reshaped(x, (n * m,)) is moving.merged(x, (2,))
    assert moving.reshaped(moving.reshaped(x, (n * m,)), (n, m)) is x
    assert moving.rolled(x, 0, 2).shape == x.shape
    assert moving.rolled(x, 0, 1) is not moving.rolled(x, 0, -1)
    assert moving.repeated(x, 1, 3).shape == (n, 3 * m)
    assert moving.joined([x, x], 1).shape == (n, 2 * m)
    with pytest.raises(ShapeError, match="cannot be given the shape"):
        moving.reshaped(x, (n, n))


@pytest.mark.parametrize("shape", [(), (3,), (3, 2), (0,), (1,)])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_stack_joins_parts_of_size_one(shape, count):
    parts = [variable(f"x{k}", shape) for k in range(count)]
    for axis in range(len(shape) + 1):
        assert moving.stacked(parts, axis) is moving.joined([moving.with_ones(e, (axis,)) for e in parts], axis)


def test_single_entries_multiply_in_any_order():
    x, y, z = variable("x", (5,)), variable("y", (5,)), variable("z", ())
    matrix = moving.entry(moving.entry(variable("A", (4, 4)), 0, 3), 0, 3)
    entries = [moving.entry(x, 0, 3), moving.entry(y, 0, 3), moving.entry(y, 0, 2), matrix, z, z**-1]
    for a, b, c in permutations(entries, 3):
        assert (a * b) * c is a * (b * c) is (c * a) * b
        assert (2 * a) * b is a * (2 * b)
    assert moving.entry(x, 0, 3) * moving.entry(y, 0, 3) is moving.entry(x * y, 0, 3)
