"""Random points at which two expressions are compared.

Sizes are drawn so that indices which need not agree have different ones. Inputs are drawn in several ways, of either
sign, positive, between 0 and 1, matrices that are positive definite or near the identity, since what is undefined at
one kind of point may be defined at another. Entries at which one of the two is not finite say nothing.

Two values differ where they do so in the same way in double and in single precision: noise that cancellation or an
ill-conditioned matrix brings up does not, and what it hides is left open. One such point may still be an accident, so
there must be a second one near it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ricci.compiler.bind import arguments
from ricci.compiler.pipeline import evaluate, prepare
from ricci.compiler.prepare.prepared import Prepared
from ricci.errors import LimitError, RicciError
from ricci.expr import Constant, Dim, Expr, Size, Structure, Variable, dims, topological
from ricci.expr.settle import SizeClasses, own_sizes
from ricci.notation.context import Facts
from ricci.user.with_functions import at_random

Array = np.ndarray
Env = dict[dims.Atom, int]
POINTS = 12  # that are compared, if so many are to be had
TRIES = 48
AGAIN = 4  # further points at which a difference may show itself again
RELATIVE = 1e-6  # a difference, relative to the larger of the values
FINER = 2.0**-23  # rounding in double precision beside that in single precision, with room for luck
FEW = 8  # numbers that are said of a point
ROUNDING = 1e-13  # of numbers about 1
SLACK = 0.1  # of a difference, that single precision may be off by


@dataclass(frozen=True)
class Comparison:
    """What was found: the points compared, whether values differ at one, and if there are none, why."""

    points: int
    differ: bool
    trouble: str = ""


def compare_at(one: Expr, other: Expr, facts: Facts, points: Iterable[Mapping[str, Any]]) -> Comparison:
    """Two expressions with the same axes at given points: values of the inputs."""
    one, other = at_random([one, other])
    stage, count = prepare([one, other, one - other], facts=facts, simplify=False), 0  # so that axes must agree
    for point in points:
        found = _differ(stage, *arguments(stage, point))
        if found:
            return Comparison(count + 1, True)
        count += found is not None
    return Comparison(count, False, "" if count else "no entry of both is a finite number at any of them")


def compare(
    one: Expr, other: Expr, facts: Facts, seed: int = 0, styles: Sequence[Sequence[Callable]] = ()
) -> Comparison:
    """Two expressions with the same axes at random points, whose inputs are drawn in ``styles``."""
    styles = styles or STYLES
    one, other = at_random([one, other])
    stage = prepare([one, other], facts=facts, simplify=False)
    places = _Places(stage.roots, facts, list(zip(one.shape, other.shape, strict=True)))
    rng = np.random.default_rng(seed)
    count, trouble = 0, "no entry of both is a finite number at any of them"
    for attempt in range(TRIES):
        env = places.sizes(rng, attempt)
        if env is None:
            trouble = "no sizes were found that suit them"
            continue
        style = styles[attempt % len(styles)]
        inputs = places.inputs(rng, env, style)
        try:
            found = _differ(stage, inputs, env)
            if found and inputs:
                found = any(_differ(stage, places.inputs(rng, env, style), env) for _ in range(AGAIN)) or None
        except LimitError:
            raise
        except (RicciError, np.linalg.LinAlgError) as error:
            trouble = str(error)
            continue
        if found:
            return Comparison(count + 1, True)
        count += found is not None
        if count == POINTS or (count and not inputs):
            break
    return Comparison(count, False, "" if count else trouble)


def apart(one: Expr, other: Expr, facts: Facts) -> tuple[dict[str, Any], float, float] | None:
    """A point with few small whole numbers at which two numbers differ: the inputs, and both values."""
    one, other = at_random([one, other])
    stage = prepare([one, other], facts=facts, simplify=False)
    places = _Places(stage.roots, facts, [])
    if facts.functions:
        return None  # a function that nobody knows was drawn, which no sentence can say
    rng = np.random.default_rng(0)
    for attempt in range(TRIES):
        env = places.sizes(rng, 3 * attempt)
        if env is None:
            continue
        inputs = places.inputs(rng, env, (whole_numbers,))
        if attempt % 4 == 3:  # halves show what is wrong with rounding
            inputs = {name: x / 2 if x.dtype.kind in "fc" else x for name, x in inputs.items()}
        left, right = _values(stage, inputs, env)
        whole = all((x == np.round(x)).all() for x in inputs.values())
        few = sum(x.size for x in inputs.values()) <= FEW
        differ = abs(left - right) > 1e-9 * max(abs(left), abs(right))
        if few and np.isfinite(left) and np.isfinite(right) and differ:
            shown = {
                name: (x.astype(int) if whole and x.dtype.kind == "f" else x).tolist() for name, x in inputs.items()
            }
            return shown, left.item(), right.item()
    return None


def differ_finely(one: Expr, other: Expr, facts: Facts) -> bool:
    """Whether values differ at several points by more than rounding can make of them, however little that is. What
    rounding does in double precision is told by what it does in single precision."""
    one, other = at_random([one, other])
    stage = prepare([one, other], facts=facts, simplify=False)
    places = _Places(stage.roots, facts, list(zip(one.shape, other.shape, strict=True)))
    rng = np.random.default_rng(1)
    seen = count = 0
    for attempt in range(TRIES):
        env = places.sizes(rng, attempt)
        if env is None or count == AGAIN:
            continue
        inputs = places.inputs(rng, env, STYLES[attempt % 2])
        single = {name: _single(x) for name, x in inputs.items()}
        with np.errstate(all="ignore"):
            values, rough = _values(stage, inputs, env), _values(stage, single, env)
            noise = sum(np.abs(a - b) for a, b in zip(values, rough, strict=True)) * FINER
            apart, size = np.abs(values[0] - values[1]), np.maximum(*map(np.abs, values))
            finite = np.isfinite(apart) & np.isfinite(noise)
            seen += bool((finite & (apart > noise + 1e-12 * size)).any())
        count += bool(finite.any())
    return seen > AGAIN // 2


def alike(one: Expr, others: Sequence[Expr], facts: Facts) -> list[int]:
    """The numbers of those that have the values of ``one`` at two points, as far as this can be seen at once."""
    one, *others = at_random([one, *others])
    stage = prepare([one, *others], facts=facts, simplify=False)
    places = _Places(stage.roots, facts, [pair for e in others for pair in zip(one.shape, e.shape, strict=True)])
    rng = np.random.default_rng(0)
    left, compared = list(range(len(others))), 0
    for attempt in range(8):
        env = places.sizes(rng, attempt + 1)
        if env is None:
            continue
        with np.errstate(all="ignore"):
            values = evaluate(stage, places.inputs(rng, env, STYLES[attempt]), env)
            first, *rest = map(_numbers, values)
            scale = RELATIVE * np.max(np.abs(first), initial=0.0, where=np.isfinite(first))
            if not np.isfinite(first).any():
                continue
            left = [k for k in left if np.allclose(rest[k], first, RELATIVE, scale, equal_nan=True)]
        compared += 1
        if compared == 2:
            return left
    return []


def _differ(stage: Prepared, inputs: dict[str, Array], env: Env) -> bool | None:
    """Whether the values differ at a point; ``None`` where they cannot be compared."""
    one, other = _values(stage, inputs, env)
    with np.errstate(all="ignore"):
        both = np.isfinite(one) & np.isfinite(other)
        apart = np.abs(one - other)
        suspect = both & (apart > RELATIVE * np.maximum(np.abs(one), np.abs(other)))
        if not inputs:  # which single precision does not change: sin(pi) is 0 but for rounding
            suspect &= apart > ROUNDING
        if not suspect.any():
            return False if both.any() else None
        single = {name: _single(x) for name, x in inputs.items()}
        off = [np.abs(a - b) <= SLACK * apart for a, b in zip(_values(stage, single, env), (one, other), strict=True)]
        return bool((suspect & off[0] & off[1]).any()) or None


def _values(stage: Prepared, inputs: dict[str, Array], env: Env) -> list[Array]:
    """Of the two; a third result only says what must agree."""
    return [_numbers(value) for value in evaluate(stage, inputs, env)[:2]]


def _numbers(value: Any) -> Array:
    """A value in floats, or complex."""
    value = np.asarray(value)
    return value if value.dtype.kind == "c" else value.astype(float)


def _single(x: Array) -> Array:
    """The same in single precision; whole numbers as they are."""
    return x.astype({"f": np.float32, "c": np.complex64}.get(x.dtype.kind, x.dtype))


class _Places:
    """What inputs and sizes two expressions need."""

    def __init__(self, roots: Sequence[Expr], facts: Facts, alike: Sequence[tuple[Size, Size]]):
        self.roots, self.facts = roots, facts
        self.nodes = topological(*roots)
        self.complex = {v.name for v in self.nodes if isinstance(v, Variable) and v.complex}
        self.shapes: dict[str, tuple[Size, ...]] = {
            name: tuple([dims.axis_size(name, a) for a in range(n)]) for name, n in facts.inputs.items()
        }
        self.shapes.update({v.name: v.shape for v in self.nodes if isinstance(v, Variable)})
        own = [(dims.axis_size(name, a), size) for name, shape in self.shapes.items() for a, size in enumerate(shape)]
        given = [(dims.axis_size(*axes[0]), facts.sizes[name]) for name, axes in facts.groups if name in facts.sizes]
        self.classes = SizeClasses(*roots, linked=[*facts.linked_sizes(), *alike, *own, *given])
        self.members: dict[Size, list[Size]] = {}
        for size in self._mentioned():
            self.members.setdefault(self.classes.find(size), []).append(size)

    def _mentioned(self) -> dict[Size, None]:
        """All sizes that come up, and the atoms that they are made of."""
        found: dict[Size, None] = {}
        for size in [
            *[s for node in self.nodes for s in (*own_sizes(node), *node.shape)],
            *[node.value for node in self.nodes if isinstance(node, Constant) and isinstance(node.value, Dim)],
            *[size for shape in self.shapes.values() for size in shape],
            *self.classes.parent,
            *self.facts.ranges.values(),
        ]:
            found[size] = None
            found.update(dict.fromkeys([dims.symbol(*atom) for atom in dims.atoms(size)]))
        return found

    def sizes(self, rng: np.random.Generator, attempt: int) -> Env | None:
        """A size for every class: those that follow from others last; ``None`` if that does not come out."""
        low, high = (2, 5) if attempt % 3 else (1, 4)
        if max([len(node.shape) for node in self.nodes], default=0) > 7:
            high = 3
        pool = list(rng.permutation(np.arange(low, high + 1)))
        env: Env = {}
        waiting = []
        for root, members in self.members.items():
            made = [size for size in members if not isinstance(size, int) and not _plain(size)]
            if isinstance(root, int) or not made:
                number = root if isinstance(root, int) else next((s for s in members if isinstance(s, int)), None)
                self._assign(env, members, int(pool.pop()) if number is None else number)
                pool = pool or list(rng.permutation(np.arange(low, high + 1)))
            else:
                waiting.append((members, made))
        for _ in waiting:
            for members, made in waiting:
                known = next((size for size in made if dims.atoms(size) <= env.keys()), None)
                if known is not None:
                    self._assign(env, members, dims.evaluate(known, env))
        for members, _ in waiting:
            self._assign(env, [size for size in members if _plain(size)], int(rng.integers(low + 2, high + 4)), True)
        return env if self._holds(env) else None

    @staticmethod
    def _assign(env: Env, members: Iterable[Size], value: int, only_new: bool = False) -> None:
        for size in members:
            if isinstance(size, Dim) and _plain(size):
                (atom,) = dims.atoms(size)
                env[atom] = env.get(atom, value) if only_new else value

    def _holds(self, env: Env) -> bool:
        for members in self.members.values():
            if len({dims.evaluate(size, env) for size in members}) != 1:
                return False
        if any(dims.evaluate(size, env) < 0 for node in self.nodes for size in node.shape):
            return False
        return all(dims.evaluate(c.size, env) >= 0 for c in self.facts.checks if dims.atoms(c.size) <= env.keys())

    def inputs(self, rng: np.random.Generator, env: Env, style: Sequence[Callable]) -> dict[str, Array]:
        bounds = self._bounds(env)
        arrays = {}
        for name, shape in self.shapes.items():
            sizes = tuple([dims.evaluate(size, env) for size in shape])
            if name in self.facts.integers or name in bounds:
                arrays[name] = rng.integers(0, max(bounds.get(name, 1), 1), sizes)
            else:
                draw = style[int(rng.integers(len(style)))]
                arrays[name] = draw(rng, sizes)
                if name in self.complex:
                    turned = whole_numbers if draw is whole_numbers else _normal
                    arrays[name] = arrays[name] + 1j * turned(rng, sizes)
                if name in self.facts.symmetries:
                    arrays[name] = _DECLARED[self.facts.symmetries[name]](arrays[name])
        return arrays

    def _bounds(self, env: Env) -> dict[str, int]:
        """For inputs that are used as indices, the least size of what they read."""
        bounds: dict[str, int] = {}
        for node in self.nodes:
            if isinstance(node, Structure) and node.relation[0] == "at":
                size = dims.evaluate(node.shape[-1], env)
                for v in topological(node.args[0]):
                    if isinstance(v, Variable):
                        bounds[v.name] = min(size, bounds.get(v.name, size))
        return bounds


def _plain(size: Size) -> bool:
    """Whether a size is that of one axis, or of one index."""
    return isinstance(size, Dim) and any(size is dims.symbol(*atom) for atom in dims.atoms(size))


# Ways to draw an input


def _normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.normal(size=shape)


def _large(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return 4 * rng.normal(size=shape)


def _positive(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.uniform(0.5, 2, shape)


def _inside(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.uniform(0.1, 0.9, shape)


def _above(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.uniform(1.1, 3, shape)


def _definite(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Positive definite matrices where the last two axes are alike; otherwise positive."""
    if len(shape) < 2 or shape[-1] != shape[-2]:
        return _positive(rng, shape)
    x = rng.normal(size=shape)
    return x @ np.swapaxes(x, -1, -2) + np.eye(shape[-1])


def _invertible(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Matrices near the identity where the last two axes are alike; otherwise of either sign."""
    if len(shape) < 2 or shape[-1] != shape[-2]:
        return _normal(rng, shape)
    return np.eye(shape[-1]) + rng.uniform(-0.3, 0.3, shape)


def whole_numbers(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Small ones, among which many are equal."""
    return rng.integers(-2, 3, shape).astype(float)


def at_scale(scale: float) -> Callable[[np.random.Generator, tuple[int, ...]], Array]:
    """Numbers on either side of one."""
    return lambda rng, shape: 2 * scale * rng.normal(size=shape)


def positive_styles() -> tuple[tuple[Callable, ...], ...]:
    """Ways to draw inputs that have positive entries alone."""
    return ((_positive,), (_inside,), (_above,))


# Matrices of a declared kind, made of others


def _positive_definite(x: Array) -> Array:
    return x @ x.conj().T + np.eye(len(x))


def _orthogonal(x: Array) -> Array:
    return np.linalg.qr(x)[0]


_DECLARED: dict[str, Callable[[Array], Array]] = {
    "symmetric": lambda x: (x + x.T) / 2,
    "antisymmetric": lambda x: (x - x.T) / 2,
    "positive": _positive_definite,
    "orthogonal": _orthogonal,
    "hermitian": lambda x: (x + x.conj().T) / 2,
    "unitary": _orthogonal,
}

STYLES: tuple[tuple[Callable, ...], ...] = (
    (_normal,),
    (_positive,),
    (_normal, _positive, _inside, _definite),
    (_inside,),
    (_invertible,),
    (_definite,),
    (_large,),
    (_normal, _above, _invertible),
    (_above,),
    (_definite, _normal),
)
