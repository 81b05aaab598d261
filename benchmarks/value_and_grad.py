"""Values with gradients: logistic regression, a perceptron of three layers, layer norm and attention.

Run it with ``python benchmarks/value_and_grad.py``; ``harness.py`` says how it measures. Every contender gives the
value and the gradients by all parameters: w; the weights and biases; x, g and beta; q, k and v. "ricci" is plain NumPy,
"ricci, fused" has the loops of Numba. Layer norm is written ``(x - m) / sqrt(v + eps)``; the row "rsqrt" is JAX with
the reciprocal root, of which XLA makes faster code. ``--torch-compile`` adds ``torch.compile``, which takes a minute.
"""

from __future__ import annotations

import sys
from functools import partial

import harness
import peers
from cases import Case, attention, layer_norm, logistic, mlp, norm_by_root
from contenders import by_hand, by_jax, by_torch, ours
from report import Target

PLAIN, FUSED, HAND = "ricci", "ricci, fused", "hand-written"
JAX, JAX_ROOT, TORCH = "jax.jit(value_and_grad)", "jax.jit(value_and_grad), rsqrt", "torch.autograd"


def is_norm(facts: dict) -> bool:
    return facts["norm"]


def is_not_norm(facts: dict) -> bool:
    return not facts["norm"]


TARGETS = [
    Target(PLAIN, "at most", 1.05, HAND),
    Target(PLAIN, "at most", 1.1, JAX, is_not_norm),
    Target(PLAIN, "faster by", 2, JAX, is_norm),
    Target(FUSED, "faster by", 5, JAX, is_norm),
    Target(PLAIN, "faster by", 2, JAX_ROOT, is_norm),
    Target(FUSED, "faster by", 5, JAX_ROOT, is_norm),
]


def cases(quick: bool) -> list[Case]:
    if quick:
        return [logistic(40, 20), mlp((12, 9, 7, 3), 8), layer_norm(40, 16), attention(12, 8)]
    return [logistic(2000, 1000), mlp(), layer_norm(2048, 768), attention(512, 64)]


def main() -> int:
    parser = harness.options((__doc__ or "").splitlines()[0])
    parser.add_argument("--torch-compile", action="store_true", help="add torch.compile")
    chosen = parser.parse_args()
    bench = harness.Bench(chosen, "Values with gradients")
    for case in cases(chosen.quick):
        for dtype in bench.dtypes:
            _block(bench, case, dtype)
    return bench.end(TARGETS)


def _block(bench: harness.Bench, case: Case, dtype: str) -> None:
    values, limit = case.values(dtype), bench.chosen.memory
    norm = case.name.startswith("layer norm")
    by_root = partial(peers.jax_gradient, function=norm_by_root)
    contenders = [
        ours(PLAIN, case.gradient, values, fused=False),
        ours(FUSED, case.gradient, values, fused=True),
        by_hand(HAND, case.hand["gradient"], values),
        by_jax(JAX, case, values, peers.jax_gradient, limit),
        *([by_jax(JAX_ROOT, case, values, by_root, limit)] if norm else []),
        by_torch(TORCH, case, values, peers.torch_gradient, limit),
    ]
    if bench.chosen.torch_compile:
        compiled = partial(peers.torch_gradient, compiled=True)
        contenders.append(by_torch("torch.compile, autograd", case, values, compiled, 10 * limit))
    bench.run(f"{case.name}, {dtype}", contenders, norm=norm, dtype=dtype)


if __name__ == "__main__":
    sys.exit(main())
