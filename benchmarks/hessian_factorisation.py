"""The Hessian of a matrix factorisation by one factor: ``2 delta[i,j] (VᵀV)[k,l]``, masked one such matrix a row.

Run it with ``python benchmarks/hessian_factorisation.py``; ``harness.py`` says how it measures. The function is written
``sum((T - U @ V.T)**2)``, masked ``sum(M * (T - U @ V.T)**2)`` with M of zeros and ones. Compressed is the core, dense
the whole array of n k by n k, beside the time to fill an array of that size; "times a vector" makes the core and
multiplies the Hessian with a vector, so that nothing counts that a compressed result only puts off.
"""

from __future__ import annotations

import sys
from functools import partial

import harness
import numpy as np
from cases import factorisation
from contenders import by_hand, hessians, ours, ours_times
from report import PRODUCT, Target

DENSE, SMALL = "ricci", "ricci, compressed"
HAND, HAND_SMALL, HAND_HALF = "hand-written", "hand-written, compressed", "hand-written, compressed, half"
TIMES, HAND_TIMES = f"ricci, {PRODUCT}", f"hand-written, {PRODUCT}"
FILL, JAX = "to fill an array of that size", "jax.jit(jax.hessian)"
SIZES = ((100, 5), (100, 10), (200, 10), (500, 10))


def plain(facts: dict) -> bool:
    return not facts["masked"]


def masked(facts: dict) -> bool:
    return facts["masked"]


TARGETS = [
    Target(SMALL, "at most", 15e-6, None, plain),
    Target(SMALL, "faster by", 10_000, JAX, lambda facts: plain(facts) and facts["k"] == 10),
    Target(SMALL, "at most", 1.25, HAND_SMALL, masked),
    Target(TIMES, "at most", 1.25, HAND_TIMES, masked),
    Target(DENSE, "at most", 1.25, HAND, masked),
    Target(DENSE, "at most", 1.5, FILL),
    Target(DENSE, "faster by", 200, JAX),
]


def main() -> int:
    chosen = harness.options((__doc__ or "").splitlines()[0]).parse_args()
    bench = harness.Bench(chosen, "Hessian of matrix factorisation")
    for n, k in SIZES[:1] if chosen.quick else SIZES:
        for is_masked in (False, True):
            for dtype in bench.dtypes:
                _block(bench, n, k, is_masked, dtype)
    return bench.end(TARGETS)


def _block(bench: harness.Bench, n: int, k: int, is_masked: bool, dtype: str) -> None:
    case = factorisation(n, k, is_masked)
    title = f"{case.name}, {dtype}"
    if not bench.wants(title):
        return
    values, vector = case.values(dtype), case.direction(dtype)
    contenders = [
        ours(DENSE, case.hessian, values),
        ours(SMALL, case.hessian, values, compressed=True),
        by_hand(HAND, case.hand["hessian"], values),
        by_hand(HAND_SMALL, case.hand["core"], values, checked=False),
        *([by_hand(HAND_HALF, case.hand["core, half"], values, checked=False)] if is_masked else []),
        ours_times(TIMES, case.hessian, values, vector),
        by_hand(HAND_TIMES, partial(case.hand["product"], vector), values),
        by_hand(FILL, lambda **_: np.full((n, k, n, k), 1.0, dtype), values, checked=False),
        *hessians(case, values, bench.chosen.memory),
    ]
    bench.run(title, contenders, n=n, k=k, masked=is_masked, dtype=dtype)


if __name__ == "__main__":
    sys.exit(main())
