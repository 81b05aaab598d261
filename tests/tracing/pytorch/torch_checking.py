"""A call with traced tensors beside the same call in PyTorch: values, types, forms and gradients."""

import numpy as np
import torch
import torch.nn.functional as F

import ricci as rc
from ricci.tracing.trees import flatten

CONSTANTS = {"p4", "m4", "v4", "signs", "grid", "pc"}  # which PyTorch does not differentiate by, in some calls


def tensors(seed=0, dtype=torch.float64):
    """What the calls of ``cases.py`` are made of; the floats are differentiated by."""
    draw = np.random.default_rng(seed)
    made = {}

    def floats(low=-2.0, high=2.0, /, **shapes):
        for name, shape in shapes.items():
            made[name] = torch.tensor(draw.uniform(low, high, shape), dtype=dtype)

    floats(x=(3, 4), y=(3, 4), z=(2, 6), v=(4,), v2=(4,), A=(4, 4), b=(2, 3, 4), bb=(2, 3, 3), A3=(3, 3), c=(1, 3, 1))
    floats(s=(), w1=(1,), x3=(5, 3), y3=(5, 3), W3=(5, 4, 4), bias3=(5,), q4=(1, 2, 3, 4), m4=(4,), b4=(4,), w4=(4,))
    floats(g=(2, 4, 4, 4), h=(1, 2, 4, 6), s1=(2, 3, 8), k1=(5, 3, 3), kb=(5,), k2=(5, 4, 3, 3), kg=(6, 2, 2, 2))
    floats(kd=(4, 1, 3, 3), kt=(3, 2, 3), kt2=(4, 3, 2, 2), g5=(1, 2, 3, 3, 3), k3=(2, 2, 2, 2, 2), m3=(3, 3))
    floats(0.3, 3.0, p=(3, 4), p4=(4,), v4=(4,), pc=(3, 4))
    floats(-0.9, 0.9, u=(3, 4))
    floats(0.1, 0.9, q=(3, 4), q2=(3, 4))
    root = made["A"]
    made["S"] = root @ root.T + 3 * torch.eye(4, dtype=dtype)
    made["probs"] = made["p"] / made["p"].sum(1, keepdim=True)
    made["grid"] = torch.tensor([-1.0, 0.0, 1.0], dtype=dtype)
    made["tied"] = torch.tensor([1.0, 2.0, 1.0, 2.0, 0.0], dtype=dtype)
    made["signs"] = torch.tensor(draw.choice([-1.0, 1.0], (3, 4)), dtype=dtype)
    made["mask"] = torch.tensor(draw.random((3, 4)) > 0.5)
    made["m3b"] = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
    made |= {
        "i": torch.tensor([2, 0]),
        "j": torch.tensor([0, 3, 3]),
        "j2": torch.tensor([1, 3]),
        "t": torch.tensor([1, 3, 0]),
    }
    made |= {"k": torch.tensor([1, 3, 0]), "i3": torch.tensor([[1], [2], [3]])}
    made["t2"] = torch.tensor(draw.integers(0, 4, (2, 4, 4)))
    made["gi"], made["gi0"] = torch.tensor([[0, 1], [3, 2], [1, 1]]), torch.tensor([[0, 1, 2, 2], [2, 0, 1, 1]])
    made["gu"] = torch.tensor([[0, 1], [3, 2], [1, 0]])
    return made


def called(call, values):
    """The call as it is written."""
    return eval(call, {"torch": torch, "F": F}, dict(values))


def weights_of(result):
    """Fixed weights for each float among the results, to make one number of them."""
    return [torch.cos(torch.arange(float(x.numel())) + 1).reshape(x.shape).to(x.dtype) for x in floats_of(result)]


def floats_of(result):
    leaves = flatten(result)[0]
    return [x for x in leaves if isinstance(x, torch.Tensor) and x.is_floating_point()]


def check(call, seed=0, dtype=torch.float64, tolerance=1e-9):
    """Whether values, types, forms and derivatives are PyTorch's."""
    values = tensors(seed, dtype)
    used = {name: x for name, x in values.items() if name in _names(call)}
    expected = called(call, used)
    found = rc.compile(lambda given: called(call, given))(used)
    same(call, found, expected, tolerance)
    check_gradients(call, used, expected, 1e-5 if "float32" in call else tolerance)


def same(call, found, expected, tolerance):
    """Whether two results have one form, and their tensors one shape, one type and near values."""
    left, right = flatten(found), flatten(expected)
    assert str(left[1]) == str(right[1]), (call, left[1], right[1])
    for a, b in zip(left[0], right[0], strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), (call, a.dtype, b.dtype, a.shape, b.shape)
        near = tolerance if b.dtype == torch.float64 else 1e-5
        torch.testing.assert_close(a, b, rtol=near, atol=near, equal_nan=True, msg=lambda m: f"{call}: {m}")


def check_gradients(call, used, expected, tolerance):
    smooth = {name: x for name, x in used.items() if x.is_floating_point() and name not in CONSTANTS}
    rest = {name: x for name, x in used.items() if name not in smooth}
    weights = weights_of(expected)
    if not weights or not smooth:
        return

    def loss(given):
        parts = [(w * x).sum() for w, x in zip(weights, floats_of(called(call, {**given, **rest})), strict=True)]
        return sum(parts[1:], parts[0])

    leaves = {name: x.clone().requires_grad_() for name, x in smooth.items()}
    value = loss(leaves)
    if not value.requires_grad:
        return
    try:
        theirs = torch.autograd.grad(value, list(leaves.values()), allow_unused=True)
    except RuntimeError as error:
        assert "derivative for" in str(error)  # which PyTorch does not have
        return
    ours = rc.grad(loss)(smooth)
    for (name, a), b in zip(ours.items(), theirs, strict=True):
        b = torch.zeros_like(a) if b is None else b
        assert a.dtype == smooth[name].dtype, (call, name, a.dtype)
        torch.testing.assert_close(
            a, b, rtol=tolerance, atol=tolerance, msg=lambda m, name=name: f"{call} by {name}: {m}"
        )


def _names(call):
    return set(compile(call, "call", "eval").co_names)


def agrees(f, *xs, tolerance=1e-9):
    """Whether value and gradients are those of PyTorch."""
    leaves = [x.clone().requires_grad_() for x in xs]
    value = f(*leaves)
    theirs = torch.autograd.grad(value, leaves)
    found, ours = rc.value_and_grad(f, argnums=tuple(range(len(xs))))(*xs)
    assert found.dtype == value.dtype
    torch.testing.assert_close(found, value.detach(), rtol=tolerance, atol=tolerance)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)
