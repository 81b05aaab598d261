"""Random expressions of complex numbers, each beside the same program on arrays; and Wirtinger's derivatives of it.

An expression has the inputs ``z`` and ``w``, which are complex, ``x``, which is real, and the matrix ``A``. Beside the
expression grows a function of a namespace (NumPy's or JAX's) and of arrays, that knows nothing of ricci. So compiled
values have something to be compared with, and derivatives differences, or what JAX says.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ricci.expr import HALF, OPS, Expr, I, conj, constant, power, product, variable
from ricci.expr.build.algebra import multiply, plus
from ricci.functions import FUNCTIONS

ENTIRE = [
    name
    for name, op in FUNCTIONS.items()
    if op.complex == "kept" and op.arity == 1 and op.help and hasattr(np, op.numpy or name)
]
REAL = ("abs", "real", "imag", "angle")
FAR = 4.0  # the largest entry that an expression may have on the way
CLEAR = 0.05  # how far entries are from 0, where functions are not smooth, and from branch cuts

Run = Callable[[Any, Mapping[str, Any]], Any]


@dataclass
class ComplexSample:
    """A random expression, the function that it is, and inputs at which it is smooth."""

    expr: Expr
    run: Run
    inputs: dict[str, np.ndarray]
    variables: dict[str, Expr]


def random_complex(rng: random.Random, size: int = 6, n: int = 3) -> ComplexSample:
    """A random expression with one axis of ``n`` entries, or, summed over it, none.

    >>> sample = random_complex(random.Random(1))
    >>> sample.run(np, sample.inputs).shape
    (3,)
    """
    inputs = {name: _drawn(rng, n) for name in ("z", "w")}
    inputs["x"] = np.array([rng.uniform(0.3, 1.5) for _ in range(n)])
    inputs["A"] = np.array([_drawn(rng, n) for _ in range(n)]).reshape(n, n)
    variables: dict[str, Expr] = {
        name: variable(name, value.shape, complex=value.dtype.kind == "c") for name, value in inputs.items()
    }
    pool: list[tuple[Expr, Run]] = [(variables[name], _read(name)) for name in ("z", "w", "x")]
    made = 0
    for _ in range(40 * size):
        if made == size:
            break
        expr, run = rng.choice(_STEPS)(rng, pool, variables)
        with np.errstate(all="ignore"):
            value: Any = np.asarray(run(np, inputs))
        clear = not value.size or (np.abs(value).max() < FAR and np.abs(value).min() > CLEAR)
        cut = np.iscomplexobj(value) and value.size and (np.abs(value.imag) + np.maximum(value.real, 0)).min() < CLEAR
        if np.isfinite(value).all() and clear and not cut:
            pool.append((expr, run))
            made += 1
    expr, run = pool[-1]
    return ComplexSample(expr, run, inputs, variables)


def _drawn(rng: random.Random, n: int) -> np.ndarray:
    return np.array([complex(rng.uniform(-1, 1), rng.uniform(0.2, 1)) for _ in range(n)], complex).reshape(n)


def _read(name: str) -> Run:
    return lambda xp, given: given[name]


def _pick(rng: random.Random, pool: list) -> tuple[Expr, Run]:
    return pool[max(rng.randrange(len(pool)), rng.randrange(len(pool)))]


def _function(rng: random.Random, pool: list, _: Mapping) -> tuple[Expr, Run]:
    (e, f), name = _pick(rng, pool), rng.choice(ENTIRE)
    word = OPS[name].numpy or name
    return OPS[name](e), lambda xp, given: getattr(xp, word)(f(xp, given))


def _real(rng: random.Random, pool: list, _: Mapping) -> tuple[Expr, Run]:
    (e, f), name = _pick(rng, pool), rng.choice(REAL)
    return OPS[name](e), lambda xp, given: getattr(xp, name)(f(xp, given))


def _conj(rng: random.Random, pool: list, _: Mapping) -> tuple[Expr, Run]:
    e, f = _pick(rng, pool)
    return conj(e), lambda xp, given: xp.conj(f(xp, given))


def _power(rng: random.Random, pool: list, _: Mapping) -> tuple[Expr, Run]:
    (e, f), n = _pick(rng, pool), rng.choice([2, 3, -1, HALF, -HALF, 1.7])
    return power(e, n), lambda xp, given: f(xp, given) ** float(n)


def _logarithm(rng: random.Random, pool: list, _: Mapping) -> tuple[Expr, Run]:
    e, f = _pick(rng, pool)
    return OPS["log"](e), lambda xp, given: xp.log(f(xp, given))


def _times(rng: random.Random, pool: list, _: Mapping) -> tuple[Expr, Run]:
    (a, f), (b, g) = _pick(rng, pool), _pick(rng, pool)
    return multiply(a, b), lambda xp, given: f(xp, given) * g(xp, given)


def _sum(rng: random.Random, pool: list, _: Mapping) -> tuple[Expr, Run]:
    (a, f), (b, g), sign = _pick(rng, pool), _pick(rng, pool), rng.choice([1, -1])
    return plus(a, b, sign), lambda xp, given: f(xp, given) + sign * g(xp, given)


def _number(rng: random.Random, pool: list, _: Mapping) -> tuple[Expr, Run]:
    (e, f), c = _pick(rng, pool), rng.choice([1j, -2j, 0.5 + 1j, -1])
    made = multiply(I, e) if c == 1j else multiply(constant(c), e)
    return made, lambda xp, given: c * f(xp, given)


def _matrix(rng: random.Random, pool: list, variables: Mapping) -> tuple[Expr, Run]:
    e, f = _pick(rng, pool)
    if not e.shape:
        return _sum(rng, pool, variables)
    A, turned = variables["A"], rng.random() < 0.5
    left = product([(A, "ji" if turned else "ij")], "ij")
    left = conj(left) if turned else left
    return product(
        [(left, "ij"), (e, "j")], "i"
    ), lambda xp, given: (xp.conj(given["A"]).T if turned else given["A"]) @ f(xp, given)


_STEPS = [_function, _function, _real, _conj, _power, _logarithm, _times, _times, _sum, _number, _matrix]


def by_differences(f: Callable[[np.ndarray], Any], z: np.ndarray, step: float = 1e-6) -> tuple[np.ndarray, np.ndarray]:
    """Wirtinger's derivatives of ``f`` by ``z`` and by its conjugate, from differences along both axes of the plane."""
    value = np.asarray(f(z))
    along = np.zeros((2, *value.shape, *z.shape), complex)
    for place in np.ndindex(z.shape):
        for axis, unit in enumerate((1, 1j)):
            ahead, behind = z.astype(complex), z.astype(complex)
            ahead[place] += unit * step
            behind[place] -= unit * step
            along[(axis, ..., *place)] = (np.asarray(f(ahead)) - np.asarray(f(behind))) / (2 * step)
    return (along[0] - 1j * along[1]) / 2, (along[0] + 1j * along[1]) / 2
