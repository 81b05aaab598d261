"""Random inputs for identities, from specifications such as ``"spd n n"``: a kind, if any, and the sizes of the axes.

=============  =====================================================================
``n m``        normally distributed entries
``pos n``      between 1/2 and 2
``unit n``     between -0.8 and 0.8
``inside n``   between 0.2 and 0.8
``prob m n``   positive, with sum 1 along the last axis
``sign m``     -1 or 1
``bit m``      0 or 1
``count m``    whole numbers from 0 to 4, as floats
``spd n n``    symmetric, with eigenvalues 1, 2, 3, … in a random basis
``near n n``   the identity plus a small matrix: invertible, positive determinant
``small n n``  entries of size 1/4
``complex n``    complex numbers, both parts normally distributed
``hermitian n n``  a matrix that equals its conjugate transpose
``unitary n n``  a matrix whose conjugate transpose is its inverse
``below k m``  whole numbers from 0 to k - 1, of type int, with the axes ``m``
``levi``       the sign of a permutation of three numbers, 3 by 3 by 3
``exactly 3``  the number given
=============  =====================================================================

A size is a number, a name, or a sum such as ``n+k-1``. The name alone, ``pos``, draws a scalar.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping

import numpy as np

Generator = np.random.Generator
Array = np.ndarray
Inputs = dict[str, Array]


def draw(specs: Mapping[str, str], sizes: Mapping[str, int], rng: Generator) -> Inputs:
    """Values for all inputs.

    >>> values = draw({"A": "spd n n", "x": "n"}, {"n": 3}, np.random.default_rng(0))
    >>> values["x"].shape, bool(np.all(np.linalg.eigvalsh(values["A"]) > 0))
    ((3,), True)
    """
    return {name: _one(spec, sizes, rng) for name, spec in specs.items()}


def size_names(specs: Mapping[str, str]) -> list[str]:
    """The names of sizes in specifications, in the order in which they first occur."""
    words = [word for spec in specs.values() for word in _parts(spec)[1]]
    return list(dict.fromkeys(name for word in words for name in re.findall(r"[a-z]+", word)))


def _parts(spec: str) -> tuple[str, list[str]]:
    first, *rest = spec.split() or [""]
    return (first, rest) if first in KINDS else ("", spec.split())


def _one(spec: str, sizes: Mapping[str, int], rng: Generator) -> Array:
    kind, words = _parts(spec)
    return KINDS[kind](rng, *[_size(word, sizes) for word in words])


def _size(word: str, sizes: Mapping[str, int]) -> int:
    terms = re.findall(r"([+-]?)(\w+)", word)
    return sum((-1 if sign == "-" else 1) * (int(t) if t.isdigit() else sizes[t]) for sign, t in terms)


def _probabilities(rng: Generator, *shape: int) -> Array:
    values = rng.uniform(0.5, 2, shape)
    return values / values.sum(-1, keepdims=True)


def _spd(rng: Generator, n: int, _: int) -> Array:
    basis = np.linalg.qr(rng.normal(size=(n, n)))[0]
    matrix = basis @ np.diag(np.arange(1.0, n + 1)) @ basis.T
    return (matrix + matrix.T) / 2


def _levi_civita(rng: Generator) -> Array:
    values = np.zeros((3, 3, 3))
    for order in itertools.permutations(range(3)):
        values[order] = np.linalg.det(np.eye(3)[list(order)])
    return values


def _complex(rng: Generator, *shape: int) -> Array:
    return np.asarray(rng.normal(size=shape) + 1j * rng.normal(size=shape))


def _hermitian(matrix: Array) -> Array:
    return (matrix + matrix.conj().T) / 2


KINDS: dict[str, Callable[..., Array]] = {
    "": lambda rng, *shape: rng.normal(size=shape),
    "pos": lambda rng, *shape: rng.uniform(0.5, 2, shape),
    "unit": lambda rng, *shape: rng.uniform(-0.8, 0.8, shape),
    "inside": lambda rng, *shape: rng.uniform(0.2, 0.8, shape),
    "prob": _probabilities,
    "sign": lambda rng, *shape: rng.choice([-1.0, 1.0], shape),
    "bit": lambda rng, *shape: rng.choice([0.0, 1.0], shape),
    "count": lambda rng, *shape: rng.integers(0, 5, shape).astype(float),
    "spd": _spd,
    "near": lambda rng, n, _: np.eye(n) + rng.uniform(-0.2, 0.2, (n, n)),
    "complex": _complex,
    "hermitian": lambda rng, *shape: _hermitian(_complex(rng, *shape)),
    "unitary": lambda rng, *shape: np.linalg.qr(_complex(rng, *shape))[0],
    "small": lambda rng, *shape: rng.normal(size=shape) / 4,
    "below": lambda rng, bound, *shape: rng.integers(0, bound, shape),
    "levi": _levi_civita,
    "exactly": lambda rng, value: np.array(float(value)),
}
