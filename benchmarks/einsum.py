"""Sums of products: like a matrix product, batched, chains, hyper-edges, traces, and up to 40 operands.

Run it with ``python benchmarks/einsum.py``; ``harness.py`` says how it measures. The peers are
``np.einsum(…, optimize=True)`` and ``opt_einsum.contract``, which look for an order at every call. The row
``contract_expression`` is opt_einsum with the order found beforehand, as ricci has it.
"""

from __future__ import annotations

import string
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import harness
import numpy as np
import opt_einsum
from contenders import ours
from harness import Contender
from report import Target

import ricci as rc

OURS, NUMPY, OPT, READY = "ricci", "np.einsum(optimize=True)", "opt_einsum.contract", "opt_einsum.contract_expression"
TARGETS = [
    Target(OURS, "at most", 1.05, (NUMPY, OPT)),
    Target(OURS, "faster by", 3, (NUMPY, OPT), lambda facts: facts["small"]),
]


class Sum(NamedTuple):
    """A pattern with one letter for each index, and the sizes: one for all, or by letter."""

    name: str
    pattern: str
    sizes: int | Mapping[str, int]
    small: bool = False


def chain(count: int) -> str:
    letters = string.ascii_letters[: count + 1]
    return ",".join(a + b for a, b in pairwise(letters)) + f"->{letters[0]}{letters[-1]}"


def ring(count: int) -> str:
    letters = string.ascii_letters[:count]
    return ",".join(a + b for a, b in zip(letters, letters[1:] + letters[0])) + "->"


def overlap(sites: int) -> tuple[str, dict[str, int]]:
    """Two matrix product states: a ladder, with bonds of 16 and places of 2."""
    letters = iter(string.ascii_letters)
    upper, lower = [next(letters) for _ in range(sites - 1)], [next(letters) for _ in range(sites - 1)]
    places = [next(letters) for _ in range(sites)]
    terms = [
        "".join([*bonds[max(site - 1, 0) : site + 1], places[site]])
        for bonds in (upper, lower)
        for site in range(sites)
    ]
    return ",".join(terms) + "->", {**dict.fromkeys(upper + lower, 16), **dict.fromkeys(places, 2)}


def scattered(count: int, edges: int, seed: int) -> tuple[str, dict[str, int]]:
    """A random network: a tree with more edges thrown in, sizes of 2 to 4, two open edges."""
    rng = np.random.default_rng(seed)
    letters = string.ascii_letters[: edges + 2]
    ends = [(node, int(rng.integers(node))) for node in range(1, count)]
    ends += [tuple(rng.choice(count, 2, replace=False)) for _ in range(edges - len(ends))]
    terms = [""] * count
    for letter, pair in zip(letters, [*ends, (0,), (count - 1,)], strict=True):
        for node in pair:
            terms[node] += letter
    return ",".join(terms) + "->" + letters[edges:], {letter: int(rng.integers(2, 5)) for letter in letters}


def sums() -> list[Sum]:
    small = [
        Sum("matrix product", "ij,jk->ik", 8, True),
        Sum("matrix times vector", "ij,j->i", 16, True),
        Sum("quadratic form", "i,ij,j->", 16, True),
        Sum("batched product", "bij,bjk->bik", 6, True),
        Sum("chain of 4", chain(4), 8, True),
        Sum("hyper-edge", "ir,jr,kr->ijk", 6, True),
        Sum("trace of a product", "ij,ji->", 16, True),
        Sum("partial trace", "iaib,bc->ac", 6, True),
        Sum("chain of 8", chain(8), 4, True),
        Sum("overlap of 4 sites", *overlap(4), True),
        Sum("Tucker", "abcd,ia,jb,kc,ld->ijkl", 4, True),
        Sum("random network", *scattered(12, 16, 1), True),
        Sum("chain of 40", chain(40), 4, True),
    ]
    large = [
        Sum("matrix product", "ij,jk->ik", 512),
        Sum("transposed matrix product", "ji,kj->ik", 512),
        Sum("matrix times vector", "ij,j->i", 2048),
        Sum("quadratic form", "i,ij,j->", 2048),
        Sum("batched product", "bij,bjk->bik", {"b": 64, "i": 64, "j": 64, "k": 64}),
        Sum("attention scores", "bihd,bjhd->bhij", {"b": 8, "h": 8, "i": 128, "j": 128, "d": 64}),
        Sum("chain of 4", chain(4), {"a": 16, "b": 512, "c": 512, "d": 512, "e": 32}),
        Sum("chain of 8", chain(8), 128),
        Sum("hyper-edge, triple", "ir,jr,kr->ijk", {"i": 100, "j": 100, "k": 100, "r": 32}),
        Sum("hyper-edge, weights", "bi,bj,b->ij", {"b": 4000, "i": 200, "j": 200}),
        Sum("hyper-edge, MTTKRP", "ijk,jr,kr->ir", {"i": 120, "j": 120, "k": 120, "r": 24}),
        Sum("elementwise and sum", "ijk,ijk->ik", 128),
        Sum("trace of a product", "ij,ji->", 1024),
        Sum("partial trace", "iaib,bc->ac", {"i": 24, "a": 96, "b": 96, "c": 96}),
        Sum("Tucker", "abcd,ia,jb,kc,ld->ijkl", {**dict.fromkeys("abcd", 12), **dict.fromkeys("ijkl", 24)}),
        Sum("ring of 16", ring(16), 64),
        Sum("overlap of 15 sites", *overlap(15)),
        Sum("random network", *scattered(24, 36, 2)),
        Sum("random network", *scattered(40, 50, 3)),
        Sum("chain of 40", chain(40), 96),
    ]
    return small + large


def arrays_of(case: Sum, dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    size = case.sizes
    shapes = [
        [size if isinstance(size, int) else size[letter] for letter in term]
        for term in case.pattern.split("->")[0].split(",")
    ]
    return [(rng.standard_normal(shape) / np.prod(shape) ** 0.25).astype(dtype) for shape in shapes]


def formula(pattern: str, arrays: Sequence[np.ndarray]) -> rc.Formula:
    """The same in ricci: letters apart, operands t0, t1, … with axes of their own."""
    left, right = pattern.split("->")
    spaced = ", ".join(" ".join(term) for term in left.split(",")) + " -> " + " ".join(right)
    operands = [
        rc.variable(f"t{place}[{','.join(f'i{axis}' for axis in range(array.ndim))}]" if array.ndim else f"t{place}")
        for place, array in enumerate(arrays)
    ]
    return rc.einsum(spaced, *operands)


def contenders(case: Sum, arrays: Sequence[np.ndarray]) -> list[Contender]:
    named = {f"t{place}": array for place, array in enumerate(arrays)}
    shapes = [array.shape for array in arrays]
    return [
        ours(OURS, lambda: formula(case.pattern, arrays), named),
        Contender(NUMPY, lambda: partial(np.einsum, case.pattern, *arrays, optimize=True)),
        Contender(OPT, lambda: partial(opt_einsum.contract, case.pattern, *arrays)),
        Contender(READY, lambda: partial(opt_einsum.contract_expression(case.pattern, *shapes), *arrays)),
    ]


def main() -> int:
    chosen = harness.options((__doc__ or "").splitlines()[0]).parse_args()
    bench = harness.Bench(chosen, "Sums of products")
    for case in sums():
        for dtype in bench.dtypes:
            title = f"{case.name}, {_shown(case)}, {dtype}"
            if bench.wants(title) and (case.small or not chosen.quick):
                bench.run(title, contenders(case, arrays_of(case, dtype)), small=case.small, dtype=dtype)
    return bench.end(TARGETS)


def _shown(case: Sum) -> str:
    pattern = case.pattern if case.pattern.count(",") < 5 else f"{case.pattern.count(',') + 1} operands"
    sizes = {case.sizes} if isinstance(case.sizes, int) else set(case.sizes.values())
    return f"{pattern}, sizes {'–'.join(str(size) for size in sorted({min(sizes), max(sizes)}))}"


if __name__ == "__main__":
    sys.exit(main())
