"""The Hessian of a network by its first weights: a matrix for each sample times ``x[b,i] x[b,j]``.

Run it with ``python benchmarks/hessian_networks.py``; ``harness.py`` says how it measures. The loss is the sum of the
squares of the outputs. Compressed are the matrices, one for each sample, dense is the whole array of width⁴ entries;
"times a vector" makes the compressed result and multiplies the Hessian with a vector, so that nothing counts that it
only puts off. The hand-written dense result is contiguous; "half" multiplies only half of it out, as it is symmetric;
"strided" is one product seen in another order of axes, and a later reshape to a matrix pays for the copy. Where ricci
gives a strided result, that is what it is compared with, too.
"""

from __future__ import annotations

import itertools
import sys
from functools import partial

import harness
from cases import network
from contenders import by_hand, hessians, ours, ours_times
from report import PRODUCT, Target

DENSE, SMALL = "ricci", "ricci, compressed"
HAND, HALF, VIEW = "hand-written", "hand-written, half", "hand-written, strided"
TIMES, HAND_TIMES = f"ricci, {PRODUCT}", f"hand-written, {PRODUCT}"
HAND_SMALL, JAX = "hand-written, compressed", "jax.jit(jax.hessian)"


def named(facts: dict) -> bool:
    return facts["width"] == 40 and facts["batch"] == 32


def others(facts: dict) -> bool:
    return not named(facts)


TARGETS = [
    Target(SMALL, "faster by", 50, JAX, named, unless=(1.25, HAND_SMALL)),
    Target(DENSE, "faster by", 6, JAX, named, unless=(1.15, HAND)),
    Target(SMALL, "at most", 1.25, HAND_SMALL, others),
    Target(TIMES, "at most", 1.25, HAND_TIMES),
    Target(DENSE, "at most", 1.15, HAND, others),
    Target(DENSE, "at most", 1.15, VIEW, lambda facts: facts.get("strided", False) and facts["batch"] > 1),
]


def main() -> int:
    chosen = harness.options((__doc__ or "").splitlines()[0]).parse_args()
    bench = harness.Bench(chosen, "Hessian of networks by the first weights")
    widths = (8,) if chosen.quick else (20, 40, 60)
    for layers, function, width, batch in itertools.product((5, 10), ("relu", "tanh"), widths, (1, 32)):
        for dtype in bench.dtypes:
            _block(bench, layers, function, width, batch, dtype)
    return bench.end(TARGETS)


def _block(bench: harness.Bench, layers: int, function: str, width: int, batch: int, dtype: str) -> None:
    case = network(layers, function, width, batch)
    title = f"{case.name}, {dtype}"
    if not bench.wants(title):
        return
    values, vector = case.values(dtype), case.direction(dtype)
    more = ((HALF, "hessian, half"), (VIEW, "hessian, view")) if batch > 1 else ()
    contenders = [
        ours(DENSE, case.hessian, values),
        ours(SMALL, case.hessian, values, compressed=True),
        by_hand(HAND, case.hand["hessian"], values),
        *[by_hand(name, case.hand[key], values) for name, key in more],
        by_hand(HAND_SMALL, case.hand["core"], values, checked=False),
        ours_times(TIMES, case.hessian, values, vector),
        by_hand(HAND_TIMES, partial(case.hand["product"], vector), values),
        *hessians(case, values, bench.chosen.memory),
    ]
    bench.run(title, contenders, layers=layers, function=function, width=width, batch=batch, dtype=dtype)


if __name__ == "__main__":
    sys.exit(main())
