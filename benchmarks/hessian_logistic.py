"""The Hessian of logistic regression: ``Xᵀ diag(d) X``, with d from the predictions.

Run it with ``python benchmarks/hessian_logistic.py``; ``harness.py`` says how it measures. X is 2n×n. Hand-written is
the product with d on one side; the syrk form has the root of d on both sides, and half the multiplications.
"""

from __future__ import annotations

import sys

import harness
from cases import logistic
from contenders import by_hand, hessians, ours
from report import Target

OURS, HAND, SYRK = "ricci", "hand-written X.T @ (d[:,None] * X)", "hand-written, syrk form"
JAX, TORCH = "jax.jit(jax.hessian)", "torch.func.hessian"


def large(facts: dict) -> bool:
    return facts["n"] >= 500


TARGETS = [
    Target(OURS, "at most", 1.1, HAND, large),
    Target(OURS, "at most", 0.65, HAND, large),
    Target(OURS, "faster by", 2, JAX),
    Target(OURS, "faster by", 3.5, JAX, large),
    Target(OURS, "faster by", 20, TORCH),
]


def main() -> int:
    chosen = harness.options((__doc__ or "").splitlines()[0]).parse_args()
    bench = harness.Bench(chosen, "Hessian of logistic regression")
    for n in (20, 50) if chosen.quick else (100, 500, 1000):
        for dtype in bench.dtypes:
            case = logistic(2 * n, n)
            values = case.values(dtype)
            contenders = [
                ours(OURS, case.hessian, values),
                by_hand(HAND, case.hand["hessian"], values),
                by_hand(SYRK, case.hand["syrk"], values),
                *hessians(case, values, chosen.memory),
            ]
            bench.run(f"{case.name}, {dtype}", contenders, n=n, dtype=dtype)
    return bench.end(TARGETS)


if __name__ == "__main__":
    sys.exit(main())
