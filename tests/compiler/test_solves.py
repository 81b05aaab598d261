"""Products with inverses, in which systems are solved instead: the numbers stay what they were."""

from __future__ import annotations

import numpy as np
import pytest

from ricci.compiler.prepare.solves import solved
from ricci.expr import Function, product, topological, variable
from ricci.functions import matrix as m
from ricci.testing.interpreter import interpret

RNG = np.random.default_rng(5)
N = 3
VALUES = {
    "A": RNG.normal(size=(N, N)) + 3 * np.eye(N),
    "B": RNG.normal(size=(N, N)) + 3 * np.eye(N),
    "C": RNG.normal(size=(N, N, N)) + 3 * np.eye(N),
    "u": RNG.normal(size=N),
    "v": RNG.normal(size=N),
    "M": RNG.normal(size=(N, N)),
    "T": RNG.normal(size=(N, N, N)),
}
INPUTS = {name: variable(name, value.shape) for name, value in VALUES.items()}
FACTORS = {**{name: INPUTS[name] for name in "uvMT"}, **{f"1/{name}": m.inv(INPUTS[name]) for name in "ABC"}}


def written(*terms: str) -> list:
    """Factors from texts such as ``"1/A ij"``."""
    return [(FACTORS[name], tuple(labels)) for name, labels in map(str.split, terms)]


def agree(e) -> bool:
    """Whether the systems that are solved for in ``e`` give its value; and whether there are any."""
    (changed,) = solved([e])
    wanted, found = [np.asarray(interpret([x], VALUES, {})[0]) for x in (e, changed)]
    scale = 1 + np.abs(wanted).max(initial=0)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * scale)
    return any(isinstance(node, Function) and node.op.name == "solve" for node in topological(changed))


CASES = {
    "a vector": (["1/A ij", "u j"], "i"),
    "transposed": (["1/A ji", "u j"], "i"),
    "a matrix": (["1/A ij", "M jk"], "ik"),
    "batched": (["1/C bij", "u j"], "bi"),
    "one after the other": (["1/A ij", "1/B jk", "u k"], "i"),
    "two inverses and a vector on one index": (["u n", "1/A ni", "1/B nk"], "ik"),
    "the same inverse twice on one index": (["u n", "1/A ni", "1/A nk"], "ik"),
    "two batched inverses on one index": (["M mn", "1/C mni", "1/C mnk"], "ik"),
    "three inverses on one index": (["1/A ni", "1/B nj", "1/C knl", "u n"], "ijkl"),
    "an index in three factors": (["1/A in", "u n", "v n", "M nk"], "ik"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_value_stays(name):
    terms, out = CASES[name]
    assert agree(product(written(*terms), tuple(out)))


def test_random_products():
    random, changed = np.random.default_rng(11), 0
    for _ in range(400):
        letters = "abcde"[: random.integers(2, 6)]
        names = random.choice(sorted(FACTORS), size=random.integers(2, 6))
        factors = [(FACTORS[k], tuple(random.choice(list(letters), size=FACTORS[k].order))) for k in names]
        used = sorted({x for _, labels in factors for x in labels})
        out = tuple(random.permutation(used)[: random.integers(0, min(3, len(used)) + 1)])
        changed += agree(product(factors, out))
    assert changed > 50
