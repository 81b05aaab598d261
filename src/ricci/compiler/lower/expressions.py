"""From expressions to a program: one rule for each kind of node, once all sizes are known.

A node becomes an operand: a value, and which of the node's axes its axes are. The node may have more axes than the
value; it is constant along those. So broadcasts and transposes cost nothing until somebody needs them, if ever.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from ricci.compiler.bind import Bound
from ricci.compiler.lower.axis_order import AxisOrder
from ricci.compiler.lower.builder import Builder, PlacedPart
from ricci.compiler.lower.contract import Contraction, product_where
from ricci.compiler.lower.gathers import Gather
from ricci.compiler.lower.looping import branched, rolled_up, with_last_alone
from ricci.compiler.lower.opening import Factors, Opening
from ricci.compiler.lower.paths import REARRANGED
from ricci.compiler.lower.relations import relations_of
from ricci.compiler.lower.separate import ProductParts, Separating
from ricci.compiler.lower.signs import nonnegative
from ricci.compiler.plan.program import Program, used
from ricci.compiler.plan.program_steps import OUTSIDE, Form, Labels, Number, Operand, Result, Value, index
from ricci.compiler.prepare.choices import HELD
from ricci.compiler.prepare.mirrored import MIRRORED
from ricci.errors import DTypeError, ShapeError
from ricci.expr import (
    Constant,
    Data,
    Dim,
    Elementwise,
    Expr,
    Function,
    Product,
    Size,
    Structure,
    Sum,
    Variable,
)
from ricci.expr.dims import evaluate
from ricci.expr.nodes import IMAGINARY
from ricci.expr.structures import whole

NAMED = {"pi": math.pi}
FEWEST_OUTER = 4  # products of two vectors that are added up by a matrix product
LEAST_OUTER = 2048  # entries of each
HIGHEST_PRODUCT = 32  # exponent of a power that is made of products
EXTREMES = {"max": "maximum", "min": "minimum"}
MOST_POOLED = 16  # entries along an axis that are compared part by part
LEAST_POOLED = 4096  # entries of the array that has it


def lowered(bound: Bound, rearranged: float = REARRANGED) -> Program:
    """The program for expressions whose sizes and types are known.

    ``rearranged`` is what it costs the backend to put an entry of a result in its place afterwards.
    """
    work = ExpressionLowering(bound, rearranged)
    for node in work.opening.nodes:
        if node not in work.opening.within:
            work.done[node] = work.lowered(node)
    results = [work.result(root) for root in bound.roots]
    return with_last_alone(used(Program(work.inputs, work.builder.steps, results, work.builder.constants)))


class ExpressionLowering:
    """What is known while expressions are being lowered."""

    def __init__(self, bound: Bound, rearranged: float):
        roots, kinds = bound.roots, bound.kinds  # of inputs too that no result depends on: they decide what numbers are
        number = "i" if kinds and {"c", "f"}.isdisjoint(kinds.values()) else "f"
        self.builder = Builder(number, rearranged, bound.setting.short)
        self.bound, self.sizes = bound, bound.sizes
        self.inputs = {name: Value(shape, kinds[name], source=name) for name, shape in bound.inputs.items()}
        self.done: dict[Expr, Operand] = {}
        self.shapes: dict[tuple[Size, ...], tuple[int, ...]] = {}
        self.roots = {*roots, *[a for root in roots if isinstance(root, Sum) for a in root.args]}
        self.sure = nonnegative(bound.nodes)
        self.layout = AxisOrder(roots, bound.nodes)
        self.opening = Opening(roots, bound.nodes, self.builder.fresh)

    def integer(self, name: str) -> bool:
        return self.inputs[name].kind not in ("c", "f")

    def size(self, size: Size) -> int:
        return size if isinstance(size, int) else evaluate(size, self.sizes)

    def shape(self, node: Expr) -> tuple[int, ...]:
        found = self.shapes.get(node.shape)
        if found is None:
            found = self.shapes[node.shape] = tuple([self.size(size) for size in node.shape])
        return found

    def lowered(self, node: Expr) -> Operand:
        return _RULES[type(node)](self, node)

    def operand(self, node: Expr) -> Operand:
        """A node that has been lowered, or is now because only this use has it."""
        found = self.done.get(node)
        return found if found is not None else self.lowered(node)

    def result(self, root: Expr) -> Result:
        value, axes = self.operand(root)
        kind = value.kind if isinstance(value, Value) else "f" if isinstance(value, float) else self.builder.number
        if kind == "f":
            value, axes = self.builder.real((value, axes))
        return Result(value, axes, self.shape(root), kind)

    # One rule for each kind of node

    def variable(self, node: Variable) -> Operand:
        value, axes = self.inputs[node.name], tuple(range(len(node.shape)))
        if value.kind == "c" and not node.complex:
            raise DTypeError(
                f"The input {node.name!r} is complex, and its name stands for real numbers here. Declare it where the "
                f'text is read: rc.parse(…, complex="{node.name}").'
            )
        return self.builder.cast((value, axes), "c") if node.complex else (value, axes)

    def constant(self, node: Constant) -> Operand:
        value = node.value
        if isinstance(value, Data):
            array = np.asarray(value.values)
            array = array.astype(np.int64) if array.dtype.kind in "iu" else array
            return self.builder.constant(array, tuple(range(array.ndim)))
        if value == IMAGINARY:
            return self.builder.constant(np.asarray(1j), ())
        return _number(self.size(value) if isinstance(value, Dim) else value), ()

    def structure(self, node: Structure) -> Operand:
        return self.dense(self.product([(node, tuple(range(len(node.shape))))], node, 1), node)

    def elementwise(self, node: Elementwise) -> Operand:
        operands = [self.operand(a) for a in node.args]
        if node.op is HELD or (node.op.identity and getattr(operands[0][0], "kind", "") == "i"):
            return operands[0]
        if node.op is MIRRORED:
            return self.builder.map("conj", operands[0])
        if node.op.name == "power":
            x, n = operands
            return self.power(x, n, node.args[0] in self.sure)
        if node.op.name == "log" and isinstance(operands[0][0], Value) and operands[0][0].kind == "f":
            within = node.args[0]
            if isinstance(within, Elementwise) and within.op.name == "cosh":
                return self.log_cosh(self.operand(within.args[0]))
        if node.op.name == "gelu":
            return self.gelu(operands[0])
        if node.op.name == "where" and self._is_never_negative(node.args[0]) and _alike(operands[1], operands[2]):
            return operands[2]
        return self.builder.map(node.op.name, *operands)

    def _is_never_negative(self, condition: Expr) -> bool:
        """Whether it is ``x < 0`` for an ``x`` that surely is not: so places that count from the end are told."""
        if not (isinstance(condition, Elementwise) and condition.op.name == "less" and condition.args[0] in self.sure):
            return False
        return isinstance(condition.args[1], Constant) and condition.args[1].value == 0

    def gelu(self, x: Operand) -> Operand:
        """By erfc, which is in the derivative too, and is computed once for both."""
        build = self.builder
        x = build.real(x)
        tail = build.map("erfc", build.map("multiply", x, (-(0.5**0.5), ())))
        return build.map("multiply", build.map("multiply", x, (0.5, ())), tail)

    def log_cosh(self, x: Operand) -> Operand:
        """Beyond 1 the exponential is taken out of the logarithm; within, that would cancel what there is."""
        build = self.builder
        size = build.map("abs", x)
        half = build.map("sinh", build.map("multiply", build.map("minimum", size, (1.0, ())), (0.5, ())))
        near = build.map("log1p", build.map("multiply", build.map("square", half), (2.0, ())))
        rest = build.map("log1p", build.map("exp", build.map("multiply", size, (-2.0, ()))))
        far = build.map("add", build.map("subtract", size, (math.log(2), ())), rest)
        return build.map("where", build.map("less", size, (1.0, ())), near, far)

    def power(self, x: Operand, n: Operand, sure: bool) -> Operand:
        """Powers that are plain arithmetic are that. Those of integers are floats where they may be fractions.

        ``sure`` says that the base is never negative.
        """
        build = self.builder
        if isinstance(n[0], Value) and n[0].kind == "i":
            n = build.cast(n, "f")
        elif not isinstance(n[0], Value) and n[0] < 0:
            x = build.real(x) if isinstance(x[0], Value) else x
        exponent = n[0]
        floating = isinstance(x[0], Value) and x[0].kind in ("c", "f")
        sure = sure or (isinstance(x[0], Value) and x[0].kind == "c")
        if isinstance(exponent, Value) or not isinstance(x[0], Value):
            return build.map("power", x, n)
        if exponent == 2:
            return build.map("square", build.aligned([x])[0])
        if floating and 0 < abs(exponent) <= HIGHEST_PRODUCT and 2 * exponent % 1 == 0:
            made = self._raised(x, abs(exponent))
            if abs(exponent) > 1 and exponent % 1 and not sure:
                made = self._as_libraries_have_it(x, made, abs(exponent))
            return made if exponent > 0 else build.map("reciprocal", made)
        return build.map("power", x, n)

    def _raised(self, x: Operand, n: Number) -> Operand:
        """A positive power, whole or with a half: of two lower ones, so that none overflows before the result does.

        Several powers of one operand share what they are made of.
        """
        build = self.builder
        if n == 1:
            return x
        if n % 1:
            root = build.map("sqrt", x)
            return root if n < 1 else build.map("multiply", self._raised(x, n - 0.5), root)
        low = self._raised(x, n // 2)
        return build.map("multiply", self._raised(x, n - n // 2), low) if n % 2 else build.map("square", low)

    def _as_libraries_have_it(self, x: Operand, made: Operand, n: Number) -> Operand:
        """A power with a half, above 1: of -infinity it is infinity, and of -0 it is 0, which roots do not give."""
        build = self.builder
        if n // 1 % 2 == 0:
            made = build.map("abs", made)
        return build.map("where", build.map("equal", x, (-math.inf, ())), (math.inf, ()), made)

    def function(self, node: Function) -> Operand:
        if node.op.loop is not None or node.op.branches is not None:
            return self.inner(node)
        own = node.op.axes_of(node.params)
        lead = len(node.args[0].shape) - own[0]
        operands = [self.operand(a) for a in node.args]
        if node.op.name in EXTREMES and _is_pooled(*operands[0], lead):
            return self.pooled(EXTREMES[node.op.name], *operands[0], lead)
        axes = list(dict.fromkeys(x for _, labels in operands for x in labels if x < lead))
        sizes = dict(enumerate(self.shape(node)[:lead]))
        result = []
        for k, size in enumerate(self.shape(node)[lead:]):
            result.append(lead + 1000 + k)
            sizes[result[-1]] = size
        spread = []
        for k, (a, operand, count) in enumerate(zip(node.args, operands, own, strict=True)):
            shape = self.shape(a)
            inner = {axis: axis + 100 * (k + 1) for axis in range(lead, lead + count)}
            sizes.update({label: shape[axis] for axis, label in inner.items()})
            labels = tuple([inner.get(x, x) for x in operand[1]])
            spread.append(self.builder.spread((operand[0], labels), (*axes, *inner.values()), sizes))
        name, params = (node.op.name, node.params) if node.op.outside is None else (OUTSIDE, (node.op.outside,))
        value, labels = self.builder.call(name, spread, own, params, tuple(result), sizes)
        back = {label: lead + k for k, label in enumerate(result)}
        return value, tuple([back.get(x, x) for x in labels])

    def inner(self, node: Function) -> Operand:
        """A loop, or branches: programs of their own, and the call that runs them."""
        build, make = self.builder, rolled_up if node.op.loop is not None else branched
        real = node.args[-1] if node.op.loop is not None else None  # what is carried
        operands = [self._whole(a, a is real) for a in node.args]
        values = [value for value, _ in operands]
        rolled = make(node, values, self.bound, self.size, lambda inner: lowered(inner, build.rearranged))
        axes = tuple([build.fresh() for _ in node.shape])
        params = ((rolled,), max([len(v.shape) for v in values]))
        value, _ = build.emit("call", OUTSIDE, operands, axes, self.shape(node), "f", params)
        return value, tuple(range(len(axes)))

    def _whole(self, node: Expr, real: bool) -> tuple[Value, Labels]:
        """An operand with all axes of its node, in their order, and labels of its own."""
        build, axes = self.builder, tuple(range(len(node.shape)))
        operand = build.real(self.operand(node)) if real else self.operand(node)
        value, _ = build.spread(operand, axes, dict(enumerate(self.shape(node))))
        assert isinstance(value, Value)
        return value, tuple([build.fresh() for _ in axes])

    def pooled(self, name: str, value: Value | Number, labels: Labels, axis: int) -> Operand:
        """The largest or smallest entries along a short axis, from the parts along it, which are not moved for that."""
        assert isinstance(value, Value)
        sizes = dict(zip(labels, value.shape, strict=True))
        parts = []
        for place in range(sizes.pop(axis)):
            forms = [Form((), place) if x == axis else index(x) for x in labels]
            parts.append(self.builder.read(value, forms, sizes))
        return reduce(lambda one, other: self.builder.map(name, one, other), parts)

    def sum(self, node: Sum) -> Operand:
        whole: list[Operand] = []
        parts: list[PlacedPart] = []
        terms = dict(zip(node.args, node.coefs, strict=True))
        made = [(inner, count) for inner, count in self.opening.parts.get(node, ()) if inner in self.done]
        for inner, _ in made:  # x + f(x) + g(x + f(x)): the inner sum has been made already
            for a in inner.args:
                del terms[a]
        terms = self.opening.opened(terms)
        times = self._common(terms, [count for _, count in made])
        for inner, count in made:
            whole = self._plus(whole, self.done[inner], _number(count) if times == 1 else 1 if count > 0 else -1)
        if times == 1 and len(terms) >= FEWEST_OUTER:
            for product in self._outer_products(node, terms):
                whole = self._plus(whole, product, 1)
        for a, coef in sorted(terms.items(), key=lambda term: term[1] < 0):  # what is subtracted comes last
            number = _number(coef) if times == 1 else 1 if coef > 0 else -1
            if a in self.opening.within and not isinstance(a, Structure):
                term = self.product(list(a.factors()), a, number)  # type: ignore
                number = 1
            elif isinstance(a, Structure):
                term = self.product([(a, tuple(range(len(a.shape))))], a, number)
                number = 1
            else:
                term = self.operand(a)
            if isinstance(term, PlacedPart):
                parts.append(term)
            else:
                whole = self._plus(whole, term, number)
        total = self.builder.scaled(whole[0], _number(times)) if whole else None
        if not parts:
            return total if total is not None else (0, ())
        return self._placed(total, parts, node)

    def _outer_products(self, node: Sum, terms: dict[Expr, Any]) -> list[Operand]:
        """Those of the terms that are products of two vectors, as one product of two matrices; they leave ``terms``.

        So the gradient by a matrix that was used again and again is: ``a[i] b[j] + c[i] d[j] + …``.
        """
        shape = self.shape(node)
        if len(shape) != 2 or shape[0] * shape[1] < LEAST_OUTER:
            return []
        found = [(a, coef, sides) for a, coef in terms.items() if (sides := self._sides(a)) is not None]
        if len(found) < FEWEST_OUTER:
            return []
        build, each = self.builder, self.builder.fresh()
        stacks: list[Operand] = []
        for axis in (0, 1):
            vectors = [
                Contraction(build, own[axis], (axis,), _number(c) if axis else 1).result() for _, c, own in found
            ]
            rows = [
                PlacedPart(vector, [Form((), at), Form(((axis, 1),), 0)], {axis: shape[axis]})
                for at, vector in enumerate(vectors)
            ]
            stacks.append(build.place(None, rows, (each, axis), (len(rows), shape[axis])))
        for a, _, _ in found:
            del terms[a]
        return [build.dot(stacks[0], stacks[1], (0, 1))]

    def _sides(self, a: Expr) -> tuple[list[Operand], list[Operand]] | None:
        """The factors of a product of two vectors, by the axis that they have; None if it is nothing of that kind."""
        if not isinstance(a, Product) or a.sums or a not in self.opening.within:
            return None
        if any(len(labels) > 1 or isinstance(f, Structure) or f not in self.done for f, labels in a.factors()):
            return None
        sides: tuple[list[Operand], list[Operand]] = ([], [])
        for f, labels in a.factors():
            value, own = self.done[f]
            if not isinstance(value, Value) or value.kind != "f" or len(own) != len(labels):
                return None
            axis = a.out.index(labels[0]) if labels else 0
            sides[axis].append((value, (axis,) if labels else ()))
        whole = all(any(labels for _, labels in side) for side in sides)
        return sides if whole else None

    def _common(self, terms: Mapping[Expr, Any], others: Sequence[Any] = ()) -> Any:
        """How often a sum is that of its terms, each taken once: ``2 (x - y)`` has fewer steps than ``2 x - 2 y``."""
        if len(terms) + len(others) < 2:
            return 1
        sizes = {abs(c) for c in (*terms.values(), *others)}
        if len(sizes) > 1 or min(sizes) <= 1:
            return 1
        return 1 if any(a in self.opening.within or isinstance(a, Structure) for a in terms) else sizes.pop()

    def _plus(self, total: list[Operand], term: Operand, coef: Number) -> list[Operand]:
        """``total + coef * term``; a list, so that nothing at all is a total too."""
        build = self.builder
        if total and _is_zero(term):
            return [build.plus_zero(total[0], build.scaled(term, coef))]
        if total and _is_zero(total[0]):
            return [build.plus_zero(build.scaled(term, coef), total[0])]
        if not total:
            return [build.scaled(term, coef)]
        negative, term = build.multiple(term, abs(coef))
        return [build.map("add" if negative == (coef < 0) else "subtract", total[0], term)]

    def _placed(self, base: Operand | None, parts: list[PlacedPart], node: Expr) -> Operand:
        """Parts added to ``base``, or to zeros; the axes in the order of ``base``, if it has them all."""
        sizes = dict(enumerate(self.shape(node)))
        labels = tuple(sizes)
        if base is None and node not in self.roots:
            labels = tuple(sorted(sizes, key=lambda axis: self.layout.rank(node, axis)))
        if base is not None and len(base[1]) == len(labels):
            labels = base[1]
        elif base is not None:
            base = self.builder.spread(base, labels, sizes)
        for part in parts:
            part.forms = [part.forms[axis] for axis in labels]
        return self.builder.place(base, parts, labels, tuple([sizes[x] for x in labels]))

    def dense(self, found: Operand | PlacedPart, node: Expr) -> Operand:
        return self._placed(None, [found], node) if isinstance(found, PlacedPart) else found

    def product_node(self, node: Product) -> Operand:
        if node in self.opening.by_terms:
            total: list[Operand] = []
            for coef, factors in self.opening.terms(node):
                total = self._plus(total, self.dense(self.product(factors, node, _number(coef)), node), 1)
            return total[0]
        return self.dense(self.product(list(node.factors()), node, 1), node)

    def product(self, factors: Sequence[tuple[Expr, Labels]], node: Expr, coef: Number) -> Operand | PlacedPart:
        """A product times a number. Labels become the axes of the result, or numbers beyond them."""
        out = node.out if isinstance(node, Product) else tuple(range(len(node.shape)))
        work = _Factors(self, coef)
        work.sizes.update(enumerate(self.shape(node)))
        opened = self.opening.factors(factors, out)
        for a, labels in opened:
            work.add(a, labels)
        if work.plain(len(out)):
            return self._contracted(work, node, opened, work.parts.arrays, range(len(out))).result()
        given = [value for value, _ in work.parts.arrays]
        work.separate(tuple(range(len(out))))
        resolving = work.parts.resolving(self.builder, work.sizes, tuple(range(len(out))))
        operands, masks, of_reads = resolving.resolve()
        if 0 in work.sizes.values() and not math.isfinite(work.coef):
            return math.nan, ()  # the mean of nothing: no terms, divided by their number
        if resolving.zero or work.coef == 0:
            return self.builder.zero([work.coef, *given])
        work.coef = work.coef * resolving.count([*operands, *masks])
        carried = {x for _, labels in masks for x in labels}
        found = self._contracted(work, node, opened, operands, resolving.kept, carried)
        return resolving.finish(product_where(found, masks, of_reads))

    def _contracted(
        self,
        work: _Factors,
        node: Expr,
        opened: Factors,
        operands: list[Operand],
        kept: Iterable[int],
        masked: Iterable[int] = (),
    ) -> Contraction:
        """The product of operands, to be summed over what is not kept; its axes lie as those of others do."""
        carried = set(masked).union(*[labels for _, labels in operands])
        order = len(node.shape)
        ranks = {x: x for x in range(order)} if node in self.roots else work.ranks
        wanted = sorted([x for x in kept if x in carried], key=lambda x: ranks.get(x, order))
        often = self.opening.often(opened, order) if 2 < len(work.parts.arrays) == len(opened) else frozenset()
        return Contraction(self.builder, operands, tuple(wanted), work.coef, work.parts.signs, often, work.ranks)


class _Factors:
    """The factors of a product, sorted into numbers, arrays and what structures say."""

    def __init__(self, lowering: ExpressionLowering, coef: Number):
        self.lowering, self.coef = lowering, coef
        self.parts = ProductParts()
        self.sizes: dict[int, int] = {}
        self.ranks: dict[int, int] = {}

    def plain(self, order: int) -> bool:
        """Whether there is nothing but arrays, each with an axis for every label; what nobody carries is counted."""
        parts = self.parts
        if parts.relations or parts.gathers or parts.masks or self.coef == 0 or not math.isfinite(self.coef):
            return False
        carried: set[int] = set()
        for _, labels in parts.arrays:
            if len(set(labels)) != len(labels):
                return False
            carried.update(labels)
        counted = 1
        for x, n in self.sizes.items():
            if n < 2 and (n == 0 or x >= order):
                return False
            if x >= order and x not in carried:
                counted *= n
        self.coef = self.coef * counted
        return True

    def add(self, node: Expr, labels: Labels) -> None:
        self._record(node, labels)
        if isinstance(node, Structure):
            self._structure(node, labels)
        else:
            self._array(node, labels)

    def separate(self, out: Labels) -> None:
        """Compute what has to be computed before the rest."""
        if self.parts.gathers:
            apart = Separating(self.lowering.builder, self.parts, self.sizes, out, self.ranks, self.coef)
            apart.separate()
            self.parts, self.coef = apart.parts, apart.coef

    def _record(self, node: Expr, labels: Labels) -> None:
        for axis, (label, size) in enumerate(zip(labels, self.lowering.shape(node), strict=True)):
            if label not in self.ranks and not isinstance(node, Structure):
                self.ranks[label] = self.lowering.layout.rank(node, axis)
            if self.sizes.setdefault(label, size) != size:
                raise ShapeError(f"In a product, one index has the sizes {self.sizes[label]} and {size}.")

    def _array(self, node: Expr, labels: Labels) -> None:
        value, axes = self.lowering.operand(node)
        if not isinstance(value, Value):
            self.coef = self.coef * value
            return
        self.parts.arrays.append((value, tuple(map(labels.__getitem__, axes))))
        self.parts.signs.append(node in self.lowering.sure)

    def _structure(self, node: Structure, labels: Labels) -> None:
        kind = node.relation[0]
        if kind == "zero":
            self.coef = 0 * self.coef
        elif kind == "at" and 0 in [self.sizes[x] for x in labels[:-1]]:
            self.coef = 0 * self.coef  # there are no places
        elif kind == "at":
            index_value, axes = self.lowering.operand(node.args[0])
            build = self.lowering.builder
            at, own = build.array((index_value, tuple([labels[axis] for axis in axes])))
            if at.kind == "b" or (at.kind == "f" and whole(node.args[0], self.lowering.integer)):
                at, own = build.array(build.cast((at, own), "i"))
            at, own = build.array(build.read(at, [index(x) for x in own], self.sizes))
            checked = build.emit("check", "", [(at, own)], own, at.shape, at.kind, (self.sizes[labels[-1]],))
            if self._tells_itself(labels[-1], own):  # a condition: t[i] == i
                places = build.constant(np.arange(self.sizes[labels[-1]]), (labels[-1],))
                self.parts.masks.append(build.map("equal", checked, places))
            else:
                self.parts.gathers.append(Gather(checked, labels[-1]))
        elif kind != "one":
            _, coefs, const = node.relation
            size = self.lowering.size
            self.parts.relations.append(relations_of(kind, labels, [size(c) for c in coefs], size(const)))

    def _tells_itself(self, label: int, by: Sequence[int]) -> bool:
        """Whether a label would tell itself, through the gathers so far, if ``by`` told it."""
        reached, waiting = set(by), list(by)
        while waiting:
            told = waiting.pop()
            new = {x for g in self.parts.gathers if g.label == told for x in g.by} - reached
            reached |= new
            waiting += new
        return label in reached


def _is_pooled(value: Value | Number, labels: Labels, axis: int) -> bool:
    """Whether a short axis of a large array is reduced: NumPy begins a loop for each row, or copies them all."""
    if not isinstance(value, Value) or value.kind != "f" or axis not in labels or value.entries < LEAST_POOLED:
        return False
    return 1 < value.shape[labels.index(axis)] <= MOST_POOLED


def _is_zero(operand: Operand) -> bool:
    value, _ = operand
    return not isinstance(value, Value) and value == 0


def _alike(x: Operand, y: Operand) -> bool:
    return isinstance(x[0], Value) and isinstance(y[0], Value) and x[0].kind == y[0].kind


def _number(value) -> Number:
    if type(value) is int or type(value) is float:
        return value
    if isinstance(value, str):
        return NAMED[value]
    return float(value) if isinstance(value, Fraction) else value


_RULES = {
    Variable: ExpressionLowering.variable,
    Constant: ExpressionLowering.constant,
    Structure: ExpressionLowering.structure,
    Product: ExpressionLowering.product_node,
    Sum: ExpressionLowering.sum,
    Elementwise: ExpressionLowering.elementwise,
    Function: ExpressionLowering.function,
}
