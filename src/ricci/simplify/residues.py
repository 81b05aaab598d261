"""Whether two expressions are the same but for their form, told from values in a finite field.

Forms of equal value differ in the order of columns that may be exchanged, in which factor was taken out, in what is a
step of its own. To see through all of this, both are evaluated at random points: the entries of inputs are residues of
a large prime, so that sums, products, powers, inverses and recurrences are exact, and what a field does not have, a
sine or eigenvectors, is a random number that depends on the operands alone. The prime has a root of -1, the imaginary
unit, and the conjugate of an input is another input. Expressions that agree there are equal as rational functions of
inputs and of such functions, but for a chance of one in 2**50. Sizes that are not known are small numbers, others at
each point.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import partial
from hashlib import blake2b
from itertools import permutations
from itertools import product as pairs
from math import isfinite
from typing import Any

from ricci.budget import spend
from ricci.expr import (
    CONJ,
    POWER,
    Constant,
    Dim,
    Elementwise,
    Expr,
    Function,
    Product,
    Size,
    Structure,
    Sum,
    Variable,
    conj,
    dims,
    topological,
    variables,
)
from ricci.expr.alternating import LeviCivita, is_levi_civita, parity
from ricci.expr.build.conjugates import imaginary
from ricci.expr.build.known_pairs import unitary_of
from ricci.expr.op import Adjoint, Op
from ricci.expr.settle import SizeClasses, own_sizes
from ricci.expr.structures import SYMMETRIC, holds, is_delta, is_hermitian
from ricci.expr.walk import with_bodies
from ricci.notation.text_scope import is_positive

PRIME = 2**61 - 2371  # not 2**61 - 1, by which floats would be fractions with small denominators
UNIT = 520704659323737696  # whose square is -1
SIZES = ((2, 2), (2, 3), (5, 9), (3, 2), (7, 14), (2, 3), (3, 2))  # at each point; larger ones for few entries
ENOUGH = 2  # points of those at which the values were not too many
MOST_WORK = 300_000  # multiplications at a point
TRIES = 200

Place = tuple[int, ...]
Entries = dict[Place, int]  # those that are not zero
Links = Iterable[tuple[Size, Size]]


class TooMuch(Exception):
    """There are more entries than one wants to compare, or no sizes fit."""


def agree(one: Expr, other: Expr, linked: Links = (), also: Links = ()) -> bool:
    """Whether two expressions have the same inputs, numbers for sizes, and values; False where that is too much work.

    ``linked`` are sizes that agree in the first, ``also`` those that agree in the second.
    """
    linked, also = list(linked), list(also)
    one, other = with_bodies([one, other])  # of functions of the user's
    if len(one.shape) != len(other.shape) or _numbers(one, linked) != _numbers(other, also):
        return False
    classes = SizeClasses(
        *_with_bodies([one, other]), linked=[*linked, *also, *zip(one.shape, other.shape, strict=True)]
    )
    agreed, apart = 0, False
    for number in range(len(SIZES)):
        try:
            point = FieldPoint([one, other], classes, number)
            if point.values(one) != point.values(other):
                return False
            agreed += 1
            apart |= len(point.env) < 2 or len({*point.env.values()}) > 1
        except (TooMuch, KeyError):  # sizes that do not fit have no entry where one is looked for
            continue
    return agreed >= ENOUGH and apart  # what holds of square matrices need not hold of others


def _numbers(root: Expr, linked: Links) -> dict[str, list[int | None]]:
    """For each input, and the result, the axes whose sizes are numbers."""
    classes = SizeClasses(root, linked=linked)
    found = {v.name: v.shape for v in variables(root)} | {"": root.shape}
    sizes = {name: [reduced(size, classes) for size in shape] for name, shape in found.items()}
    return {name: [size if isinstance(size, int) else None for size in own] for name, own in sizes.items()}


def reduced(size: Size, classes: SizeClasses) -> Size:
    """A size in terms of one atom for all that agree."""
    group = classes.find(size)
    own = [dims.symbol(*atom) for atom in dims.atoms(group)]
    return group if own == [group] else dims.replaced(group, lambda atom: reduced(dims.symbol(*atom), classes))


def _name_of(op: Op) -> Any:
    """What tells a function from others: its name, but functions of the user's may have one name."""
    return op.name if not op.own else (op.head, id(op) if op.unknown is None else 0)


def _with_bodies(roots: list[Expr]) -> list[Expr]:
    """Expressions and the bodies of the loops in them."""
    found = list(roots)
    for root in found:  # which grows
        loops = [n.op.loop for n in topological(root) if isinstance(n, Function) and n.op.loop is not None]
        found += [body.result for body in loops if body.result not in found]
    return found


class FieldPoint:
    """A random point: sizes, and residues for the entries of inputs."""

    def __init__(self, roots: list[Expr], classes: SizeClasses, number: int):
        self.classes, self.number, self.work = classes, number, MOST_WORK
        self.done: dict[Expr, Entries] = {}
        nodes = topological(*_with_bodies(roots))
        self.placed = [
            n for n in nodes if isinstance(n, Structure) and n.relation[0] in ("==", ">=") and not is_delta(n)
        ]
        self.small = self._smaller(nodes)
        self.env = self._sizes(nodes)

    def _smaller(self, nodes: list[Expr]) -> dict[int, int]:
        """For large numbers that are the sizes of axes which no relation reads at places, small ones."""
        fixed = {size for node in self.placed for size in node.shape}
        lengths = [n.op.loop.length for n in nodes if isinstance(n, Function) and n.op.loop is not None]
        fixed |= {number for length in lengths for number in (length, length + 1)}
        fixed |= {node.value.order for node in nodes if isinstance(node, Constant) and is_levi_civita(node)}
        large = {size for node in nodes for size in node.shape if isinstance(size, int) and size > 3} - fixed
        return {size: 2 + (at + self.number) % 3 % 2 for at, size in enumerate(sorted(large))}

    def _sizes(self, nodes: list[Expr]) -> dict[dims.Atom, int]:
        """Small numbers for all atoms, such that no axis is shorter than 1, and places that are read lie inside."""
        shapes = {reduced(size, self.classes) for node in nodes for size in node.shape}
        named = {reduced(size, self.classes) for node in nodes for size in own_sizes(node)}
        reaches = [self._reaches(node) for node in self.placed]
        atoms = sorted({atom for size in (*shapes, *named) for atom in dims.atoms(size)}, key=repr)
        env = self.drawn_sizes(atoms)
        for _ in range(TRIES):
            inside = [up if dims.evaluate(shift, env) > 0 else down for shift, up, down in reaches]
            wanted = [size for size in (*sorted(shapes, key=repr), *inside) if not isinstance(size, int)]
            short = [size for size in wanted if dims.evaluate(size, env) < 1]
            if not short:
                return env
            ways = [{**env, atom: env[atom] + 1} for atom in sorted(dims.atoms(short[0]), key=repr)]
            env = max(ways, key=partial(dims.evaluate, short[0]))
        raise TooMuch

    def drawn_sizes(self, atoms: list[dims.Atom]) -> dict[dims.Atom, int]:
        """Those of two neighbours differ, one way at one point and the other way at another; of those that are no
        neighbours too at the last points."""
        first, second = SIZES[self.number]
        if abs(first - second) > 1:
            source = random.Random(self.number)
            return {atom: source.randint(first, second) for atom in atoms}
        step = self.number > 4
        return {atom: (first, second)[(k >> step) % 2] for k, atom in enumerate(atoms)}

    def _reaches(self, node: Structure) -> tuple[Size, Size, Size]:
        """The constant of a relation, and how far indices go beyond it on either side."""
        _, coefs, const = node.relation
        above: Size = 0
        below: Size = 0
        for c, size in zip(coefs, node.shape, strict=True):
            above, below = (above + c * (size - 1), below) if is_positive(c) else (above, below - c * (size - 1))
        shift, up, down = [reduced(size, self.classes) for size in (const, below - const, above + const)]
        return shift, up, down

    def size(self, size: Size) -> int:
        return dims.evaluate(reduced(size, self.classes), self.env)

    def length(self, size: Size) -> int:
        """The size of an axis."""
        number = self.size(size)
        return self.small.get(number, number)

    def all_places(self, shape: Iterable[Size]) -> Iterator[Place]:
        sizes = [self.length(size) for size in shape]
        count = 1
        for size in sizes:
            count *= size
        self.spend(count)
        return pairs(*map(range, sizes))

    def spend(self, count: int) -> None:
        self.work -= count
        if self.work < 0:
            raise TooMuch

    def drawn(self, *what: object) -> int:
        """A random residue for what is named, the same wherever it is."""
        return int.from_bytes(blake2b(repr((self.number, what)).encode(), digest_size=16).digest(), "big") % PRIME

    # Values.

    def values(self, root: Expr) -> Entries:
        for node in topological(root):
            if node not in self.done:
                spend()
                found = _VALUES[type(node)](self, node)
                self.done[node] = {place: value for place, value in found.items() if value}
        return self.done[root]

    def variable(self, node: Variable) -> Entries:
        if not node.symmetry or node.symmetry == "unitary" or is_hermitian(node):
            return {place: self.drawn(node.name, place) for place in self.all_places(node.shape)}
        sign = 1 if node.symmetry in SYMMETRIC else -1
        found: Entries = {}
        for i, j in self.all_places(node.shape):
            drawn = self.drawn(node.name, tuple(sorted((i, j))))
            found[i, j] = drawn if i < j else sign * drawn % PRIME if i > j or sign > 0 else 0
        return found if node.symmetry != "orthogonal" else self.orthogonal(found, self.length(node.shape[0]))

    def conjugate(self, node: Elementwise) -> Entries:
        """The conjugate of an input is another one; that of a unitary matrix its inverse, transposed."""
        (x,) = node.args
        if unitary_of(x) is not None:
            n = self.length(x.shape[0])
            _, inverse = self.eliminated(dict(self.full(x)), n)
            return {(i, j): inverse[j][i] for i in range(n) for j in range(n)}
        return {place: self.conjugated(value) for place, value in self.done[x].items()}

    def full(self, x: Expr) -> Iterator[tuple[Place, int]]:
        """All entries, also those that are zero."""
        for place in self.all_places(x.shape):
            yield place, self.done[x].get(place, 0)

    def conjugated(self, value: int) -> int:
        """What stands for the conjugate of an entry; that of its opposite is the opposite."""
        return PRIME - self.drawn("conj", PRIME - value) if 2 * value > PRIME else self.drawn("conj", value)

    def size_or_part(self, node: Elementwise) -> Entries:
        """What a number and its conjugate tell: ``z conj(z)``, its root, and the real and the imaginary part."""
        (z,) = node.args
        name, other = node.op.name, self.values(conj(z))
        half = (PRIME + 1) // 2
        found: Entries = {}
        for place, value in self.full(z):
            more = other.get(place, 0)
            if name in ("abs", "abs2"):
                square = value * more % PRIME
                found[place] = square if name == "abs2" else self.power(square, half)
            else:
                part = (value + more if name == "real" else (more - value) * UNIT) % PRIME
                found[place] = part * half % PRIME
        return found

    def orthogonal(self, skew: Entries, n: int) -> Entries:
        """Cayley's: ``(1 - S) inv(1 + S)`` is orthogonal where S is antisymmetric, and all but those with -1 are so."""
        plus = {(i, j): (skew[i, j] + (i == j)) % PRIME for i, j in skew}
        _, inverse = self.eliminated(plus, n)
        return {(i, j): sum(((i == k) - skew[i, k]) * inverse[k][j] for k in range(n)) % PRIME for i, j in skew}

    def constant(self, node: Constant) -> Entries:
        if isinstance(node.value, LeviCivita):
            return {place: parity(place) % PRIME for place in permutations(range(node.value.order))}
        if imaginary(node):
            return {(): UNIT}
        if isinstance(node.value, Dim):
            return {(): self.size(node.value) % PRIME}
        return {place: self.number_of(node.value, place) for place in self.all_places(node.shape)}

    def number_of(self, value: Any, place: Place = ()) -> int:
        if isinstance(value, (int, float, Fraction)) and isfinite(value):
            exact = _before_rounding(value) if isinstance(value, float) else Fraction(value)
            return exact.numerator * pow(exact.denominator, -1, PRIME) % PRIME
        return self.drawn(value, place)

    def structure(self, node: Structure) -> Entries:
        if node.relation[0] == "at":
            inner, last = self.done[node.args[0]], self.length(node.shape[-1])
            return {(*place, inner.get(place, 0) % last): 1 for place in self.all_places(node.shape[:-1]) if last}
        kind, *rest = node.relation
        relation = (kind, *([[self.size(c) for c in rest[0]], self.size(rest[1])] if rest else []))
        return {place: 1 for place in self.all_places(node.shape) if holds(relation, place)}

    def sum(self, node: Sum) -> Entries:
        total: Entries = {}
        for coef, arg in zip(node.coefs, node.args, strict=True):
            factor = self.number_of(coef)
            self.spend(len(self.done[arg]))
            for place, value in self.done[arg].items():
                total[place] = (total.get(place, 0) + factor * value) % PRIME
        return total

    def product(self, node: Product) -> Entries:
        """One factor after the other, and sums taken as soon as nothing else has their label."""
        waiting = [_once(self.done[a], labels) for a, labels in node.factors()]
        labels, entries = (), {(): 1}
        while waiting:
            at = max(range(len(waiting)), key=lambda k: (len({*waiting[k][1]} & {*labels}), -len(waiting[k][0])))
            more, own = waiting.pop(at)
            needed = {*node.out, *(x for _, others in waiting for x in others)}
            labels, entries = self.joined(entries, labels, more, own, needed)
        lacking = [label for label in node.out if label not in labels]
        shape = [node.shape[node.out.index(label)] for label in lacking]
        order = [(*labels, *lacking).index(label) for label in node.out]
        found = {}
        for rest in self.all_places(shape):
            self.spend(len(entries))
            for place, value in entries.items():
                whole = (*place, *rest)
                found[tuple([whole[k] for k in order])] = value
        return found

    def joined(self, left: Entries, labels: tuple, right: Entries, own: tuple, needed: set) -> tuple[tuple, Entries]:
        shared = [(labels.index(x), k) for k, x in enumerate(own) if x in labels]
        fresh = [k for k, x in enumerate(own) if x not in labels and x in needed]
        kept = [k for k, x in enumerate(labels) if x in needed]
        groups: dict[Place, dict[Place, int]] = {}
        for place, value in right.items():
            group = groups.setdefault(tuple([place[k] for _, k in shared]), {})
            rest = tuple([place[k] for k in fresh])
            group[rest] = group.get(rest, 0) + value
        found: Entries = {}
        for place, value in left.items():
            group = groups.get(tuple([place[k] for k, _ in shared]), {})
            self.spend(1 + len(group))
            head = tuple([place[k] for k in kept])
            for rest, more in group.items():
                whole = (*head, *rest)
                found[whole] = (found.get(whole, 0) + value * more) % PRIME
        return (*[labels[k] for k in kept], *[own[k] for k in fresh]), found

    def elementwise(self, node: Elementwise) -> Entries:
        if node.op is CONJ:
            return self.conjugate(node)
        if node.op.name in ("abs", "abs2", "real", "imag") and node.args[0].complex:
            return self.size_or_part(node)
        operands = [(self.done[a], bool(a.shape)) for a in node.args]
        return {
            place: self.entry(node.op, [own.get(place if spread else (), 0) for own, spread in operands])
            for place in self.all_places(node.shape)
        }

    def entry(self, op: Op, args: list[int]) -> int:
        """The value of an elementwise function; comparisons are of differences, a choice is linear in its branches."""
        if op is POWER:
            return self.power(*args)
        if op.name == "where":
            return (args[0] * args[1] + (1 - args[0]) * args[2]) % PRIME
        if op.sign in ("==", "!=", "<", "<="):
            a, b = args if op.sign == "<" else args[::-1]
            return (self.compared(op.sign, (a - b) % PRIME)) % PRIME
        if op.symmetric:
            args.sort()
        sign = 1
        if op.parity and 2 * args[0] > PRIME:
            sign, args = (-1 if op.parity == "odd" else 1), [PRIME - args[0]]
        return sign * self.drawn(_name_of(op), args) % PRIME if any(args) or op.parity != "odd" else 0

    def compared(self, sign: str, difference: int) -> int:
        if sign in ("==", "!="):
            truth = self.drawn("==", min(difference, PRIME - difference)) if difference else 1
            return truth if sign == "==" else 1 - truth
        truth = self.drawn("<", difference) if difference else 0
        return truth if sign == "<" else 1 - truth

    def power(self, base: int, exponent: int) -> int:
        """By whole numbers exactly; of a fraction, what is left of it is drawn."""
        known = small_fraction(exponent)
        if not base:
            return 1 if not exponent else self.drawn("0**", exponent) if known is not None and known < 0 else 0
        if known is None:
            return pow(base, exponent if 2 * exponent < PRIME else exponent - PRIME, PRIME)
        whole, rest = divmod(known, 1)
        return pow(base, whole, PRIME) * (self.drawn("**", base, rest) if rest else 1) % PRIME

    # Functions over axes.

    def loop(self, node: Function) -> Entries:
        """Step by step, the body being evaluated at each state; a forced loop for each of its columns."""
        body = node.op.loop
        fixed, slices, last = body.operands([self.done[a] for a in node.args])
        order = len(body.state.shape)
        front = 1 if body.forced else 0
        columns = list(self.all_places(node.args[-1].shape[front + order :]))
        found: Entries = {}
        for column in columns:
            own = {p[: front + order]: v for p, v in last.items() if p[front + order :] == column}
            state = _at(own, 0) if body.forced else own
            for t in range(self.length(body.length) + 1):
                if not body.last or t == self.length(body.length):
                    found |= {((*([] if body.last else [t]), *p, *column)): v for p, v in state.items()}
                if t < self.length(body.length):
                    inside = dict(zip(body.fixed, fixed, strict=True)) | {body.state: state}
                    inside |= {v: _at(entries, t) for v, entries in zip(body.slices, slices, strict=True)}
                    state = self.inside(body.result, inside)
                    more = _at(own, t + 1) if body.forced else {}
                    state = {p: (state.get(p, 0) + more.get(p, 0)) % PRIME for p in (*state, *more)}
        return found

    def inside(self, root: Expr, values: dict[Expr, Entries]) -> Entries:
        """An expression with these values for some of its nodes."""
        outer, self.done = self.done, values
        try:
            return self.values(root)
        finally:
            self.done = outer

    def function(self, node: Function) -> Entries:
        if node.op.loop is not None:
            return self.loop(node)
        works_on = node.op.axes_of(node.params)
        lead = len(node.args[0].shape) - works_on[0]
        sizes = [tuple([self.length(size) for size in a.shape[lead:]]) for a in node.args]
        own = node.shape[lead:]
        found: Entries = {}
        for place in self.all_places(node.shape[:lead]):
            operands = [
                {rest: self.done[a].get((*place, *rest), 0) for rest in self.all_places(a.shape[lead:])}
                for a in node.args
            ]
            values = self.applied(node, operands, sizes, list(self.all_places(own)))
            found.update({(*place, *rest): value % PRIME for rest, value in values.items()})
        return found

    def applied(self, node: Function, operands: list[Entries], sizes: list[Place], own: list[Place]) -> Entries:
        """A function of operands given whole: exact, linear in the last one, or as it is drawn."""
        exact = _EXACT.get(node.op.name)
        if exact is not None:
            self.spend(len(own) * len(operands[0]))
            return exact(self, operands, sizes, own)
        *first, last = operands
        if node.op.name == "triangular_solve":
            return self.solve([_part(operands[0], *node.params[1:]), last], sizes, own)
        if not isinstance(node.op.partials[-1], Adjoint):
            drawn = self.drawn(_name_of(node.op), node.params, sizes, [list(operand.values()) for operand in operands])
            return {place: self.drawn(drawn, place) for place in own}
        drawn = self.drawn(node.op.name, sizes[:-1], [list(operand.values()) for operand in first])
        number = node.op.works_on[-1]
        matrix: dict[tuple[Place, Place], int] = {}
        columns: dict[Place, list[tuple[Place, int]]] = {}
        for place, value in last.items():
            columns.setdefault(place[number:], []).append((place[:number], value))
        found: Entries = dict.fromkeys(own, 0)
        for place in own:
            column = columns.get(place[number:], [])
            self.spend(len(column))
            for rest, value in column:
                key = place[:number], rest
                if key not in matrix:
                    matrix[key] = self.drawn(drawn, *key)
                found[place] += value * matrix[key]
        return found

    def product_of(self, operands: list[Entries], sizes: list[Place], own: list[Place]) -> Entries:
        total = 1
        for value in operands[0].values():
            total = total * value % PRIME
        return {(): total}

    def recurrence(self, operands: list[Entries], sizes: list[Place], own: list[Place], step: int = 1) -> Entries:
        """``y[i+1] = a[i] y[i] + b[i]`` from 0, or in the other direction."""
        (count,) = sizes[0]
        first, second = operands
        found: Entries = {}
        for place in sorted(own, reverse=step < 0):
            at, rest = place[0] - step, place[1:]
            before = found.get((at, *rest), 0) * first[(at,)] + second.get((at, *rest), 0) if 0 <= at < count else 0
            found[place] = before % PRIME
        return found

    def recurrence_back(self, operands: list[Entries], sizes: list[Place], own: list[Place]) -> Entries:
        return self.recurrence(operands, sizes, own, -1)

    def running(self, operands: list[Entries], sizes: list[Place], own: list[Place], step: int = 1) -> Entries:
        """The product of all entries before each, or after it."""
        (count,) = sizes[0]
        found: Entries = {}
        for place in sorted(own, reverse=step < 0):
            at = place[0] - step
            found[place] = found[(at,)] * operands[0][(at,)] % PRIME if 0 <= at < count else 1
        return found

    def running_back(self, operands: list[Entries], sizes: list[Place], own: list[Place]) -> Entries:
        return self.running(operands, sizes, own, -1)

    def det(self, operands: list[Entries], sizes: list[Place], own: list[Place]) -> Entries:
        return {(): self.eliminated(operands[0], sizes[0][0])[0]}

    def inv(self, operands: list[Entries], sizes: list[Place], own: list[Place]) -> Entries:
        n = sizes[0][0]
        _, inverse = self.eliminated(operands[0], n)
        return {(i, j): inverse[i][j] for i in range(n) for j in range(n)}

    def solve(self, operands: list[Entries], sizes: list[Place], own: list[Place]) -> Entries:
        n = sizes[0][0]
        _, inverse = self.eliminated(operands[0], n)
        return {
            place: sum(inverse[place[0]][k] * operands[1].get((k, *place[1:]), 0) for k in range(n)) for place in own
        }

    def eliminated(self, matrix: Entries, n: int) -> tuple[int, list[list[int]]]:
        """The determinant and the inverse; where there is none, one that is drawn."""
        rows = [[matrix[i, j] for j in range(n)] + [int(i == j) for j in range(n)] for i in range(n)]
        det = 1
        for k in range(n):
            pivot = next((i for i in range(k, n) if rows[i][k]), None)
            if pivot is None:
                drawn = self.drawn("inv", list(matrix.values()))
                return 0, [[self.drawn(drawn, i, j) for j in range(n)] for i in range(n)]
            if pivot != k:
                rows[k], rows[pivot], det = rows[pivot], rows[k], -det
            det = det * rows[k][k] % PRIME
            factor = pow(rows[k][k], -1, PRIME)
            rows[k] = [x * factor % PRIME for x in rows[k]]
            for i in range(n):
                if i != k and rows[i][k]:
                    rows[i] = [(x - rows[i][k] * y) % PRIME for x, y in zip(rows[i], rows[k], strict=True)]
        return det, [row[n:] for row in rows]


def _once(entries: Entries, labels: tuple) -> tuple[Entries, tuple]:
    """A factor with each of its labels once: a diagonal."""
    once = tuple(dict.fromkeys(labels))
    if len(once) == len(labels):
        return entries, once
    first = [labels.index(x) for x in labels]
    kept = [labels.index(x) for x in once]
    on = {p: v for p, v in entries.items() if all(p[k] == p[f] for k, f in enumerate(first))}
    return {tuple([p[k] for k in kept]): v for p, v in on.items()}, once


def _at(entries: Entries, place: int) -> Entries:
    """The entries at a place of the first axis."""
    return {p[1:]: value for p, value in entries.items() if p[0] == place}


def _part(matrix: Entries, lower: bool, transposed: bool) -> Entries:
    """One triangle of a matrix, or its transpose."""
    part = {(i, j): value if (j <= i if lower else j >= i) else 0 for (i, j), value in matrix.items()}
    return {(j, i): value for (i, j), value in part.items()} if transposed else part


def _before_rounding(value: float) -> Fraction:
    """The simple number that a float was rounded from, if it seems so; otherwise its decimal digits."""
    digits = Fraction(f"{value:.15g}")
    scale = Fraction(10) ** int(f"{value:e}".partition("e")[2])
    near = (digits / scale).limit_denominator(10**6) * scale
    return near if abs(near - digits) < abs(digits) / 10**14 else digits


def small_fraction(residue: int) -> Fraction | None:
    """The small fraction that a residue is, if any."""
    for denominator in range(1, 13):
        top = residue * denominator % PRIME
        for value in (top, top - PRIME):
            if abs(value) < 2**16:
                return Fraction(value, denominator)
    return None


_VALUES: dict[type, Any] = {
    Variable: FieldPoint.variable,
    Constant: FieldPoint.constant,
    Structure: FieldPoint.structure,
    Sum: FieldPoint.sum,
    Product: FieldPoint.product,
    Elementwise: FieldPoint.elementwise,
    Function: FieldPoint.function,
}
_EXACT: dict[str, Any] = {
    "prod": FieldPoint.product_of,
    "prod_before": FieldPoint.running,
    "prod_after": FieldPoint.running_back,
    "recurrence": FieldPoint.recurrence,
    "recurrence_back": FieldPoint.recurrence_back,
    "det": FieldPoint.det,
    "inv": FieldPoint.inv,
    "solve": FieldPoint.solve,
}
