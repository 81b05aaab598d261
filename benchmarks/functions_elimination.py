"""The five functions on which vertex elimination is measured, as ordinary Python over scalars.

Every function takes a namespace first (``sqrt``, ``exp``, ``log``, ``sin``, ``cos``, ``atan2``, ``erf``, ``abs``) and
numbers of any kind after it: ricci formulas with ``ricci`` as the namespace, floats with :data:`FLOATS`, JAX scalars
with :func:`jax_namespace`, and the steps of a :class:`Tape`, which writes down single-assignment code.

- *RoeFlux_1d*: Roe's approximate Riemann solver for the Euler equations in one dimension, the states left and right
  of a face to the flux through it (P. L. Roe, 1981).
- *RobotArm_6DOF*: six joint angles to position and Euler angles of the hand; Denavit-Hartenberg frames of an arm of
  the PUMA type.
- *HumanHeartDipole* and *PropaneCombustion*: systems of equations of the MINPACK-2 collection.
- *BlackScholes*: the first derivatives of the price of a call by its five inputs; their Jacobian is the Hessian.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

FLOATS = SimpleNamespace(
    sqrt=math.sqrt, exp=math.exp, log=math.log, sin=math.sin, cos=math.cos, atan2=math.atan2, erf=math.erf, abs=abs
)
Scalar = Any
GAMMA = 1.4  # ratio of specific heats of air


def jax_namespace() -> SimpleNamespace:
    """The functions for JAX scalars."""
    import jax.numpy as jnp
    from jax.scipy.special import erf

    names = {name: getattr(jnp, name) for name in ("sqrt", "exp", "log", "sin", "cos", "abs")}
    return SimpleNamespace(**names, atan2=jnp.arctan2, erf=erf)


# Roe's flux. A state is density, momentum, energy.


def roe_flux(m: Any, *states: Scalar) -> list[Scalar]:
    left, right = states[:3], states[3:]
    (density_l, momentum_l, energy_l), (density_r, momentum_r, energy_r) = left, right
    u_l, p_l, h_l = _velocity_pressure_enthalpy(*left)
    u_r, p_r, h_r = _velocity_pressure_enthalpy(*right)
    root_l, root_r = m.sqrt(density_l), m.sqrt(density_r)
    both = root_l + root_r
    u = (root_l * u_l + root_r * u_r) / both
    h = (root_l * h_l + root_r * h_r) / both
    square = (GAMMA - 1) * (h - u * u / 2)
    c = m.sqrt(square)
    waves = _roe_waves(m, u, c, square, root_l * root_r, density_r - density_l, u_r - u_l, p_r - p_l)
    slow, middle, fast = waves
    through_l = [momentum_l, momentum_l * u_l + p_l, (energy_l + p_l) * u_l]
    through_r = [momentum_r, momentum_r * u_r + p_r, (energy_r + p_r) * u_r]
    jumps = [
        slow + middle + fast,
        slow * (u - c) + middle * u + fast * (u + c),
        slow * (h - u * c) + middle * (u * u / 2) + fast * (h + u * c),
    ]
    return [(a + b - jump) / 2 for a, b, jump in zip(through_l, through_r, jumps, strict=True)]


def _velocity_pressure_enthalpy(density: Scalar, momentum: Scalar, energy: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    velocity = momentum / density
    pressure = (GAMMA - 1) * (energy - momentum * velocity / 2)
    return velocity, pressure, (energy + pressure) / density


def _roe_waves(m: Any, u: Scalar, c: Scalar, square: Scalar, density: Scalar, *jumps: Scalar) -> list[Scalar]:
    """Speed times strength of the three waves."""
    d_density, d_velocity, d_pressure = jumps
    cross = density * c * d_velocity
    slow = (d_pressure - cross) / (2 * square)
    middle = d_density - d_pressure / square
    fast = (d_pressure + cross) / (2 * square)
    return [m.abs(u - c) * slow, m.abs(u) * middle, m.abs(u + c) * fast]


# The arm. Each joint turns about z, moves along z and the new x, then tilts about x by a right angle or not at all.

JOINTS = ((-1, 0.66, 0.0), (0, 0.0, 0.43), (1, 0.15, -0.02), (-1, 0.43, 0.0), (1, 0.0, 0.0), (0, 0.06, 0.0))


def robot_arm(m: Any, *angles: Scalar) -> list[Scalar]:
    x: list[Scalar] = [1, 0, 0]
    y: list[Scalar] = [0, 1, 0]
    z: list[Scalar] = [0, 0, 1]
    place: list[Scalar] = [0, 0, 0]
    for angle, (tilt, along_z, along_x) in zip(angles, JOINTS, strict=True):
        c, s = m.cos(angle), m.sin(angle)
        place = [_plus(p, along_z, a) for p, a in zip(place, z, strict=True)]
        x, y = (
            [c * a + s * b for a, b in zip(x, y, strict=True)],
            [c * b - s * a for a, b in zip(x, y, strict=True)],
        )
        place = [_plus(p, along_x, a) for p, a in zip(place, x, strict=True)]
        if tilt:
            y, z = [tilt * a for a in z], [-tilt * a for a in y]
    bend = m.atan2(m.sqrt(x[2] * x[2] + y[2] * y[2]), z[2])
    return [*place, m.atan2(z[1], z[0]), bend, m.atan2(y[2], -x[2])]


def _plus(p: Scalar, length: float, direction: Scalar) -> Scalar:
    return p + length * direction if length else p


# MINPACK-2.

DIPOLE_SUMS = (0.485, -0.0019, -0.0581, 0.015, 0.105, 0.0406, 0.167, -0.399)


def heart_dipole(
    m: Any, a: Scalar, b: Scalar, c: Scalar, d: Scalar, t: Scalar, u: Scalar, v: Scalar, w: Scalar
) -> list:
    tt, uu, vv, ww = t * t, u * u, v * v, w * w
    tv, uw = tt - vv, uu - ww
    t3v, v3t, u3w, w3u = tt - 3 * vv, vv - 3 * tt, uu - 3 * ww, ww - 3 * uu
    sums = [
        a + b,
        c + d,
        t * a + u * b - v * c - w * d,
        v * a + w * b + t * c + u * d,
        a * tv - 2 * c * t * v + b * uw - 2 * d * u * w,
        c * tv + 2 * a * t * v + d * uw + 2 * b * u * w,
        a * t * t3v + c * v * v3t + b * u * u3w + d * w * w3u,
        c * t * t3v - a * v * v3t + d * u * u3w - b * w * w3u,
    ]
    return [value - total for value, total in zip(sums, DIPOLE_SUMS, strict=True)]


PRESSURE, RATIO = 40.0, 10.0
EQUILIBRIUM = (1.930e-1, 2.597e-3, 3.448e-3, 1.799e-5, 2.155e-4, 3.846e-5)


def propane(m: Any, *x: Scalar) -> list[Scalar]:
    x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, total = x
    k5, k6, k7, k8, k9, k10 = EQUILIBRIUM
    part = PRESSURE / total
    root = m.sqrt(part)
    return [
        x1 + x4 - 3,
        2 * x1 + x2 + x4 + x7 + x8 + x9 + 2 * x10 - RATIO,
        2 * x2 + 2 * x5 + x6 + x7 - 8,
        2 * x3 + x9 - 4 * RATIO,
        k5 * x2 * x4 - x1 * x5,
        k6 * m.sqrt(x2 * x4) - m.sqrt(x1) * x6 * root,
        k7 * m.sqrt(x1 * x2) - m.sqrt(x4) * x7 * root,
        k8 * x1 - x4 * x8 * part,
        k9 * x1 * m.sqrt(x3) - x4 * x9 * root,
        k10 * x1 * x1 - x4 * x4 * x10 * part,
        total - (x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9 + x10),
    ]


# Black-Scholes: spot, strike, rate, volatility, time.


def call_price(m: Any, spot: Scalar, strike: Scalar, rate: Scalar, sigma: Scalar, time: Scalar) -> Scalar:
    spread = sigma * m.sqrt(time)
    d1 = (m.log(spot / strike) + (rate + sigma * sigma / 2) * time) / spread
    return spot * _normal(m, d1) - strike * m.exp(-rate * time) * _normal(m, d1 - spread)


def call_gradient(m: Any, spot: Scalar, strike: Scalar, rate: Scalar, sigma: Scalar, time: Scalar) -> list[Scalar]:
    """The first derivatives in closed form, as textbooks give them."""
    root = m.sqrt(time)
    spread = sigma * root
    d1 = (m.log(spot / strike) + (rate + sigma * sigma / 2) * time) / spread
    delta = _normal(m, d1)
    by_strike = -m.exp(-rate * time) * _normal(m, d1 - spread)
    density = m.exp(-d1 * d1 / 2) / math.sqrt(2 * math.pi)
    vega = spot * density * root
    by_rate = -strike * by_strike * time
    by_time = vega * sigma / (2 * time) - rate * strike * by_strike
    return [delta, by_strike, by_rate, vega, by_time]


def _normal(m: Any, x: Scalar) -> Scalar:
    return (1 + m.erf(x / math.sqrt(2))) / 2


@dataclass(frozen=True)
class Task:
    """A function, a place to evaluate it at, and the counts of the literature: forward, best known, annealing."""

    name: str
    function: Callable[..., list]
    inputs: tuple[str, ...]
    point: tuple[float, ...]
    forward: int
    known: int
    annealed: int


TASKS = (
    Task(
        "RoeFlux_1d",
        roe_flux,
        ("density_l", "momentum_l", "energy_l", "density_r", "momentum_r", "energy_r"),
        (1.0, 0.4, 2.6, 0.7, 0.5, 1.9),
        *(620, 320, 295),
    ),
    Task(
        "RobotArm_6DOF",
        robot_arm,
        ("q1", "q2", "q3", "q4", "q5", "q6"),
        (0.3, -0.7, 0.9, 0.4, 0.8, -0.2),
        *(397, 231, 221),
    ),
    Task(
        "HumanHeartDipole",
        heart_dipole,
        ("a", "b", "c", "d", "t", "u", "v", "w"),
        (0.299, 0.186, -0.0273, 0.0254, -0.474, 0.474, -0.0892, 0.0892),
        *(240, 149, 148),
    ),
    Task(
        "PropaneCombustion",
        propane,
        tuple(f"x{number}" for number in range(1, 12)),
        (0.9, 0.4, 1.1, 0.7, 0.3, 0.8, 0.5, 0.6, 0.2, 1.2, 5.0),
        *(151, 88, 88),
    ),
    Task(
        "BlackScholes",
        call_gradient,
        ("spot", "strike", "rate", "sigma", "time"),
        (1.1, 0.9, 0.03, 0.25, 1.5),
        *(582, 312, 297),
    ),
)


# Single-assignment code, as the literature counts on: every operation has one or two operands, nothing is merged.


class Tape:
    """Records the operations; as a namespace it has the functions."""

    def __init__(self) -> None:
        self.operands: list[tuple[tuple[int, bool], ...]] = []  # of each step: which, and whether its derivative is ±1

    def step(self, *operands: tuple[Any, bool]) -> Step:
        self.operands.append(tuple([(operand.place, free) for operand, free in operands if isinstance(operand, Step)]))
        return Step(self, len(self.operands) - 1)

    def __getattr__(self, name: str) -> Callable[..., Step]:
        if not hasattr(FLOATS, name):
            raise AttributeError(name)
        return lambda *operands: self.step(*[(operand, False) for operand in operands])


@dataclass(eq=False)
class Step:
    """A number on a tape. Zero and one are left out where they stand in the text, as one would by hand."""

    tape: Tape
    place: int

    def __add__(self, other: Any) -> Any:
        return self if isinstance(other, (int, float)) and other == 0 else self.tape.step((self, True), (other, True))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, (int, float)) and other == 0:
            return self
        return self.tape.step((self, True), (other, True))

    def __rsub__(self, other: Any) -> Any:
        return self.tape.step((self, True), (other, True))

    def __neg__(self) -> Any:
        return self.tape.step((self, True))

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, (int, float)) and other in (0, 1, -1):
            return 0 if other == 0 else self if other == 1 else -self
        return self.tape.step((self, False), (other, False))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self.tape.step((self, False), (other, False))

    def __rtruediv__(self, other: Any) -> Any:
        return self.tape.step((self, False))


def taped(function: Callable[..., Sequence[Any]], inputs: int) -> tuple[Tape, list[int]]:
    """The single-assignment code of a function, and the places of its results."""
    tape = Tape()
    values = function(tape, *[tape.step() for _ in range(inputs)])
    return tape, [value.place for value in values]
