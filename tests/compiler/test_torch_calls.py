"""What programs on PyTorch launch: several steps in one call, views in place of gathers, copies made once."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

import ricci as rc

torch = pytest.importorskip("torch")
F = torch.nn.functional
Mode = __import__("torch.utils._python_dispatch", fromlist=["TorchDispatchMode"]).TorchDispatchMode


class Launches(Mode):
    """Counts the operations that make new tensors, as each is a kernel."""

    def __init__(self):
        super().__init__()
        self.seen = Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        leaves = torch.utils._pytree.tree_leaves
        places = {a.untyped_storage().data_ptr() for a in leaves((args, kwargs)) if isinstance(a, torch.Tensor)}
        if any(r.untyped_storage().data_ptr() not in places for r in leaves(result) if isinstance(r, torch.Tensor)):
            self.seen[function.overloadpacket.__name__] += 1
        return result


def launched(function, *args):
    function(*args)  # what is made once is made here
    with Launches() as launches:
        result = function(*args)
    return result, launches.seen


def random(*shape, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape)), dtype=dtype)


A, B, C = random(5, 4), random(4, 6), random(5, 6)
V, W = random(6), random(5)


@pytest.mark.parametrize(
    ("text", "inputs", "calls"),
    [
        ("y[i,j] = 3 A[i,k] B[k,j]", (A, B), {"addmm": 1}),
        ("y[i,j] = A[i,k] B[k,j] + 1[i] v[j]", (A, B, V), {"addmm": 1}),
        ("y[i,j] = A[i,k] B[k,j] - 1[i] v[j]", (A, B, V), {"addmm": 1, "neg": 1}),
        ("y[i,j] = 1[i] v[j] - 2 A[i,k] B[k,j]", (V, A, B), {"addmm": 1}),
        ("y[i,j] = C[i,j] - A[i,k] B[k,j]", (C, A, B), {"mm": 1, "sub": 1}),
        ("y[i,j] = A[i,k] B[k,j] - 0.1 C[i,j]", (A, B, C), {"mm": 1, "add": 1}),
        ("y[i,j] = A[i,k] B[k,j] + w[i] 1[j]", (A, B, W), {"mm": 1, "add": 1}),
        ("y[i,j] = exp(C[i,j]) + 0.3 sin(C[i,j])", (C,), {"exp": 1, "sin": 1, "add": 1}),
        ("y[i,j] = exp(C[i,j]) - 0.3 sin(C[i,j]) v[j]", (C, V), {"exp": 1, "sin": 1, "addcmul": 1}),
        ("y[i,j] = exp(C[i,j]) + sin(C[i,j])/cosh(C[i,j])", (C,), {"exp": 1, "sin": 1, "cosh": 1, "addcdiv": 1}),
        ("y[i] = 1/|j| 1[j] C[i,j]", (C,), {"mean": 1}),
        ("y[i,j] = (0.3 C[i,k]) D[k,j]", (random(5, 4), B), {"addmm": 1}),
    ],
)
def test_several_steps_are_one_call(text, inputs, calls):
    f = rc.parse(text).compile("torch")
    result, seen = launched(f, *inputs)
    assert seen == calls, f.source
    plain = rc.parse(text).compile("numpy")(*[x.numpy() for x in inputs])
    np.testing.assert_allclose(result, plain, rtol=1e-12, atol=1e-12)


def test_what_is_read_twice_stays():
    f = rc.parse("t[i,j] = A[i,k] B[k,j]; y[i,j] = exp(3 t[i,j]) + t[i,j]").compile("torch")
    _, seen = launched(f, A, B)
    assert seen == {"mm": 1, "mul": 1, "exp": 1, "add": 1}


def test_products_that_are_chosen_from_are_rounded_first():
    """``max(c x) - c x`` is never negative: the product is rounded before anything is added to it."""
    f = rc.parse("y[i,j] = 1[j] max[k](0.3 C[i,k]) - 0.3 C[i,j]").compile("torch")
    x = random(50, 40, dtype=torch.float32)
    assert (f(x) >= 0).all()
    assert ((f(x) == 0).sum(1) >= 1).all()
    assert "alpha" not in f.source


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_pullback_of_softmax_is_one_call(axis, dtype):
    x, w = random(3, 4, 5, dtype=dtype), random(3, 4, 5, dtype=dtype).flip(0)
    gradient, seen = launched(rc.grad(lambda x: (torch.softmax(x, axis) * w).sum()), x)
    assert seen["_softmax_backward_data"] == 1
    expected = torch.func.grad(lambda x: (torch.softmax(x, axis) * w).sum())(x)
    torch.testing.assert_close(gradient, expected)


def test_gelu_and_its_derivative_share_erfc():
    x = random(20)
    found, seen = launched(rc.value_and_grad(lambda x: F.gelu(x).sum()), x)
    assert seen["erfc"] == 1
    torch.testing.assert_close(found[1], torch.func.grad(lambda x: F.gelu(x).sum())(x))


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_reshapes_are_views(backend):
    pytest.importorskip(backend)
    f = rc.parse("y[i,j] = p[6 i + 2 j + 3] q[j]", sizes={"i": 4, "j": 3}).compile(backend)
    p, q = np.arange(40.0), np.arange(3.0)
    expected = p[3:27:2].reshape(4, 3) * q
    given = (torch.from_numpy(p), torch.from_numpy(q)) if backend == "torch" else (p, q)
    np.testing.assert_allclose(np.asarray(f(*given)), expected)
    assert "arange" not in f.source


@pytest.mark.parametrize("backend", ["torch", "jax"])
@pytest.mark.parametrize("shape", [(7,), (2, 3), (0,)])
def test_rows_are_added_at_once(backend, shape):
    """Not entry by entry: places along the other axes are not made."""
    pytest.importorskip(backend)
    values, at = np.random.default_rng(0).standard_normal((*shape, 4)), np.zeros(shape, int) + 1
    at.flat[:1] = 2
    names = "abc"[: len(shape)]
    text = f"l = 1[{','.join(names)},d] x[t[{','.join(names)}],d] g[{','.join(names)},d]"
    f = rc.parse(text, sizes={}).diff("x").compile(backend)
    given = {"g": values, "t": at, "x": np.zeros((5, 4))}
    if backend == "torch":
        given = {name: torch.from_numpy(a) for name, a in given.items()}
    expected = np.zeros((5, 4))
    np.add.at(expected, at.reshape(-1), values.reshape(-1, 4))
    np.testing.assert_allclose(np.asarray(f(**given)), expected, rtol=1e-4)
    assert "arange" not in f.source


def heads(x, wq, wk, wv, *, n):
    b, t, w = x.shape
    q, k, v = ((x @ m).reshape(b, t, n, w // n).transpose(1, 2) for m in (wq, wk, wv))
    scores = torch.softmax((q @ k.transpose(-1, -2)) / math.sqrt(w // n), -1)
    return (scores @ v).transpose(1, 2).reshape(b, t, w)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("n", [1, 2, 4, 8])
def test_attention_launches_no_more_than_eager_pytorch(n, dtype):
    x, ms = random(16, 5, 8, dtype=dtype), [random(8, 8, dtype=dtype).roll(k, 0) for k in range(3)]

    def loss(*ms):
        return (heads(x, *ms, n=n) ** 2).sum()

    def eager(*ms):
        leaves = [m.detach().requires_grad_() for m in ms]
        return torch.autograd.grad(loss(*leaves), leaves)

    ours, mine = launched(rc.grad(loss, argnums=(0, 1, 2)), *ms)
    theirs, others = launched(eager, *ms)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
    assert mine["clone"] <= others["clone"]
    assert mine["index"] == 0
    assert sum(mine.values()) <= sum(others.values()), (mine, others)


def block(p, x):
    """A transformer block."""
    w = x.shape[-1]
    x = x + heads(F.layer_norm(x, (w,), p["s"], p["b"]), p["q"], p["k"], p["v"], n=2) @ p["o"]
    n = F.layer_norm(x, (w,), p["s"], p["b"])
    return x + F.gelu(n @ p["wide"] + p["c"]) @ p["narrow"]


def test_a_transformer_block():
    w = 8
    shapes = dict.fromkeys("qkvo", (w, w)) | {"wide": (w, 4 * w), "narrow": (4 * w, w), "c": (4 * w,)}
    p = {name: random(*shape) / math.sqrt(w) for name, shape in (shapes | {"s": (w,), "b": (w,)}).items()}
    x = random(3, 5, w)
    loss = lambda p: (block(p, x) ** 2).mean()  # noqa: E731
    ours, seen = launched(rc.grad(loss), p)
    theirs = torch.func.grad(loss)(p)
    for name in p:
        torch.testing.assert_close(ours[name], theirs[name])
    assert seen["clone"] <= 9
    assert seen["index"] == seen["arange"] == 0
    assert sum(seen.values()) <= 100, seen
    hessian = rc.hvp(loss)(p, p)
    along = lambda q: sum((g * p[name]).sum() for name, g in torch.func.grad(loss)(q).items())  # noqa: E731
    expected = torch.func.grad(along)(p)
    for name in p:
        torch.testing.assert_close(hessian[name], expected[name])


def test_numbers_left_to_products_inside_transformations():
    """Autograd, vmap and torch.compile see the same functions."""
    f = rc.parse("y[i,j] = w[i] tanh(1[i] v[j] - 0.5 A[i,k] B[k,j])").compile("torch")
    plain = lambda a: W[:, None] * torch.tanh(V - 0.5 * a @ B)  # noqa: E731
    stacked = torch.stack([A, 2 * A, -A])
    torch.testing.assert_close(
        torch.func.vmap(lambda a: f(A=a, B=B, v=V, w=W))(stacked), torch.func.vmap(plain)(stacked)
    )
    close = torch.autograd.gradcheck(
        lambda a, b: f(A=a, B=b, v=V, w=W), (A.clone().requires_grad_(), B.clone().requires_grad_())
    )
    assert close


def test_size_one_and_zero():
    for n in (0, 1):
        f = rc.parse("y[b,i,j] = 1[b,i] v[j] + 2 A[b,i,k] B[b,k,j]").compile("torch")
        a, b, v = random(n, 3, 2), random(n, 2, 4), random(4)
        torch.testing.assert_close(f(A=a, B=b, v=v), v + 2 * a @ b)
        a, b = random(2, 3, n), random(2, n, 4)
        torch.testing.assert_close(f(A=a, B=b, v=v), v + 2 * a @ b)
