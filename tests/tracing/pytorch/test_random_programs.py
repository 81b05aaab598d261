"""Random programs in the style of PyTorch: values and derivatives as PyTorch's."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch_checking import agrees

import ricci as rc

pytestmark = pytest.mark.filterwarnings("ignore")  # of PyTorch's own transforms

TEXT = """
x.softmax(-1); x.log_softmax(0); F.layer_norm(x, (n,)); F.gelu(x); F.silu(x) * x.sigmoid(); x @ w
x - x.mean(-1, True); x / (1 + x.std(dim=0)); x * x.var(1, keepdim=True).tanh(); x.sort(dim=-1).values
x.flip(0).cumsum(0) / n; F.normalize(x, dim=-1); x.clamp(-1, 1) + x.tanh(); torch.where(x > 0, x, 0.1 * x)
x.view(2, -1).t().reshape(n, n); torch.cat([x[1:], x[:1]]); x.masked_fill(x < -1, 0.5)
F.scaled_dot_product_attention(x, x, x @ w); x.roll(1, dims=1) + x.amax(0); x.pow(2).add(0.1).sqrt()
torch.einsum("ij,kj->ik", x, w) / n; x.repeat(1, 2)[:, ::2]; torch.stack(x.unbind(1), -1); x.gather(1, x.argsort(1))
x.clamp(max=5).exp().log1p(); x.index_select(0, torch.arange(n - 1, -1, -1)); x.median(1, keepdim=True)[0] + x
F.softplus(x) - x.norm(dim=1)
"""
STEPS = [step.strip() for line in TEXT.strip().splitlines() for step in line.split(";")]


def random_program(seed, depth):
    """A composition of steps on a square matrix, as text and as a function."""
    draw = np.random.default_rng(seed)
    chosen = [STEPS[k] for k in draw.integers(0, len(STEPS), depth)]
    codes = [compile(step, step, "eval") for step in chosen]

    def program(x, w):
        n = x.shape[0]
        for code in codes:
            x = x + 0.5 * eval(code, {"torch": torch, "F": F, "x": x, "w": w, "n": n})
        return (x * torch.arange(n)).mean() + (x * w).mean()

    return chosen, program


def check_random(seed, depth, dtype=torch.float64):
    draw = np.random.default_rng(seed)
    x, w = (torch.tensor(draw.normal(size=(4, 4)), dtype=dtype) for _ in range(2))
    chosen, program = random_program(seed, depth)
    try:
        agrees(program, x, w, tolerance=1e-7 if dtype == torch.float64 else 1e-3)
    except AssertionError as error:
        raise AssertionError(f"{chosen}: {error}") from error


@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed):
    check_random(seed, 5)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6, 206))
def test_more_random_programs(seed):
    check_random(seed, 3 + seed % 12)
    check_random(seed, 3, torch.float32)


@pytest.mark.parametrize("seed", range(3))
def test_second_derivatives_of_random_programs(seed):
    draw = np.random.default_rng(seed)
    x, w = (torch.tensor(draw.normal(size=(4, 4))) for _ in range(2))
    chosen, program = random_program(seed + 100, 3)
    ours, theirs = rc.hessian(program)(x, w), torch.func.hessian(program)(x, w)
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6, msg=lambda m: f"{chosen}: {m}")
