"""From expressions to a program: one rule for each kind of node, once all sizes are known.

A node becomes an operand: a value, and which of the node's axes its axes are. The node may have more axes than the
value; it is constant along those. So broadcasts and transposes cost nothing until somebody needs them, if ever.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from ricci.compiler.builder import Builder, Part
from ricci.compiler.contract import Contraction
from ricci.compiler.distribute import candidate, splits
from ricci.compiler.layout import Layout
from ricci.compiler.paths import EXACT, REARRANGED
from ricci.compiler.program import Labels, Number, Operand, Program, Result, Value, index, used
from ricci.compiler.relations import Gather, relations_of
from ricci.compiler.relations import Product as Resolving
from ricci.compiler.signs import nonnegative
from ricci.errors import ShapeError
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
    one,
    topological,
)
from ricci.expr.dims import Atom, evaluate

NAMED = {"pi": math.pi}
MOST_OPENED = 64  # operands of a product, those of products within it counted in
Env = Mapping[Atom, int]


def lower(
    roots: Sequence[Expr],
    sizes: Env,
    shapes: Mapping[str, tuple[int, ...]],
    kinds: Mapping[str, str],
    rearranged: float = REARRANGED,
) -> Program:
    """The program for ``roots``. Of each input there are the shape, and whether it holds floats, integers or truths.

    ``rearranged`` is what it costs the backend to put an entry of a result in its place afterwards.
    """
    work = Lowering(roots, sizes, kinds, rearranged)
    work.inputs = {name: Value(shape, kinds[name], source=name) for name, shape in shapes.items()}
    for node in topological(*roots):
        if node not in work.within:
            work.done[node] = work.lowered(node)
    results = [work.result(root) for root in roots]
    return used(Program(work.inputs, work.builder.steps, results, work.builder.constants))


class Lowering:
    """What is known while expressions are being lowered."""

    def __init__(self, roots: Sequence[Expr], sizes: Env, kinds: Mapping[str, str], rearranged: float):
        number = "i" if kinds and "f" not in kinds.values() else "f"
        self.builder = Builder(number, rearranged)
        self.sizes = sizes
        self.inputs: dict[str, Value] = {}
        self.done: dict[Expr, Operand] = {}
        self.roots = {*roots, *[a for root in roots if isinstance(root, Sum) for a in root.args]}
        nodes = topological(*roots)
        self.uses = Counter(a for node in nodes for a in node.args)
        self.uses.update(roots)
        self.sure = nonnegative(*roots)
        self.layout = Layout(roots)
        self.pairs: Counter[tuple] = Counter()
        self.numbers = _numbers(nodes)
        self.within: set[Expr] = set()
        width: dict[Expr, int] = {}
        for node in nodes:
            width[node] = len(node.args)
            for a in node.args:
                if self._opens(node, a) and width[node] + width[a] <= MOST_OPENED:
                    width[node] += width[a] if isinstance(node, Product) else 0
                    self.within.add(a)
        self.by_terms = {node: at for node in nodes if (at := self._in_terms(node)) is not None}
        for node, at in self.by_terms.items():
            self.within |= {node.args[at], *node.args[at].args}
        for node in nodes:
            if isinstance(node, Product) and node not in self.within:
                terms = [f for _, f in self._terms(node)] if node in self.by_terms else [list(node.factors())]
                for term in terms:
                    name = {label: axis for axis, label in enumerate(node.out)}
                    factors = self.opened([(a, self._renamed(labels, name)) for a, labels in term])
                    if len(factors) <= EXACT:
                        self.pairs.update([key for _, key in _pairs(factors, set(range(len(node.out))))])

    def _in_terms(self, node: Expr) -> int | None:
        """The factor of a contraction that is a sum nobody else needs, if each term splits: it need never be made."""
        at = candidate(node) if isinstance(node, Product) and node not in self.within else None
        if at is None or self.uses[node.args[at]] > 1:
            return None
        terms = node.args[at].args
        return at if all(splits(a) and self.uses[a] == 1 for a in terms) else None

    def _opens(self, node: Expr, a: Expr) -> bool:
        """Whether an operand is lowered as part of its only user: structures, and products in sums or products."""
        if self.uses[a] > 1:
            return isinstance(a, Structure) and isinstance(node, (Product, Sum)) and not a.args
        if isinstance(node, Product):
            alone = all(b is a or isinstance(b, Structure) or b in self.numbers for b in node.args)
            return isinstance(a, Structure) or (isinstance(a, Product) and a.sums and (node.sums or alone))
        return isinstance(node, Sum) and isinstance(a, (Product, Structure))

    def size(self, size: Size) -> int:
        return size if isinstance(size, int) else evaluate(size, self.sizes)

    def shape(self, node: Expr) -> tuple[int, ...]:
        return tuple([self.size(size) for size in node.shape])

    def lowered(self, node: Expr) -> Operand:
        return _RULES[type(node)](self, node)

    def operand(self, node: Expr) -> Operand:
        """A node that has been lowered, or is now because only this use has it."""
        found = self.done.get(node)
        return found if found is not None else self.lowered(node)

    def result(self, root: Expr) -> Result:
        value, axes = self.operand(root)
        kind = value.kind if isinstance(value, Value) else "f" if isinstance(value, float) else self.builder.number
        return Result(value, axes, self.shape(root), kind)

    # One rule for each kind of node

    def variable(self, node: Variable) -> Operand:
        return self.inputs[node.name], tuple(range(len(node.shape)))

    def constant(self, node: Constant) -> Operand:
        value = node.value
        if isinstance(value, Data):
            array = np.asarray(value.values)
            array = array.astype(np.int64) if array.dtype.kind in "iu" else array
            return self.builder.constant(array, tuple(range(array.ndim)))
        return _number(self.size(value) if isinstance(value, Dim) else value), ()

    def structure(self, node: Structure) -> Operand:
        return self.dense(self.product([(node, tuple(range(len(node.shape))))], node, 1), node)

    def elementwise(self, node: Elementwise) -> Operand:
        operands = [self.operand(a) for a in node.args]
        if node.op.name == "power":
            return self.power(*operands)
        return self.builder.map(node.op.name, *operands)

    def power(self, x: Operand, n: Operand) -> Operand:
        """Powers that are plain arithmetic are that. Those of integers are floats where they may be fractions."""
        build = self.builder
        if isinstance(n[0], Value) and n[0].kind == "i":
            n = build.cast(n, "f")
        elif not isinstance(n[0], Value) and n[0] < 0:
            x = build.cast(x, "f")
        exponent = n[0]
        floating = isinstance(x[0], Value) and x[0].kind == "f"
        if isinstance(exponent, Value) or not isinstance(x[0], Value):
            return build.map("power", x, n)
        if exponent == 2:
            return build.map("square", build.aligned([x])[0])
        if floating and exponent in (3, 4):
            square = build.map("square", x)
            return build.map("multiply", square, x) if exponent == 3 else build.map("square", square)
        if floating and exponent in (-1.5, 1.5):
            power = build.map("multiply", x, build.map("sqrt", x))
            return power if exponent == 1.5 else build.map("reciprocal", power)
        if floating and exponent in (-1, -2, -0.5, 0.5):
            root = x if exponent == -1 else build.map("square" if exponent == -2 else "sqrt", x)
            return root if exponent == 0.5 else build.map("reciprocal", root)
        return build.map("power", x, n)

    def function(self, node: Function) -> Operand:
        own = node.op.axes_of(node.params)
        lead = len(node.args[0].shape) - own[0]
        operands = [self.operand(a) for a in node.args]
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
        value, labels = self.builder.call(node.op.name, spread, own, node.params, tuple(result), sizes)
        back = {label: lead + k for k, label in enumerate(result)}
        return value, tuple([back.get(x, x) for x in labels])

    def sum(self, node: Sum) -> Operand:
        whole: list[Operand] = []
        parts: list[Part] = []
        terms = zip(node.coefs, node.args, strict=True)
        for coef, a in sorted(terms, key=lambda term: term[0] < 0):  # what is subtracted comes after what is added
            number = _number(coef)
            if a in self.within and not isinstance(a, Structure):
                term = self.product(list(a.factors()), a, number)  # type: ignore
                number = 1
            elif isinstance(a, Structure):
                term = self.product([(a, tuple(range(len(a.shape))))], a, number)
                number = 1
            else:
                term = self.operand(a)
            if isinstance(term, Part):
                parts.append(term)
            else:
                whole = self._plus(whole, term, number)
        total = whole[0] if whole else None
        if not parts:
            return total if total is not None else (0, ())
        return self._placed(total, parts, node)

    def _plus(self, total: list[Operand], term: Operand, coef: Number) -> list[Operand]:
        """``total + coef * term``; a list, so that nothing at all is a total too."""
        build = self.builder
        if total and _is_zero(term):
            return [build.plus_zero(total[0], build.scaled(term, coef))]
        if total and _is_zero(total[0]):
            return [build.plus_zero(build.scaled(term, coef), total[0])]
        if not total:
            return [build.scaled(term, coef)]
        if coef < 0:
            return [build.map("subtract", total[0], build.scaled(term, -coef))]
        return [build.map("add", total[0], build.scaled(term, coef))]

    def _placed(self, base: Operand | None, parts: list[Part], node: Expr) -> Operand:
        """Parts added to ``base``, or to zeros; the axes in the order of ``base``, if it has them all."""
        sizes = dict(enumerate(self.shape(node)))
        labels = tuple(sizes)
        if base is not None and len(base[1]) == len(labels):
            labels = base[1]
        elif base is not None:
            base = self.builder.spread(base, labels, sizes)
        for part in parts:
            part.forms = [part.forms[axis] for axis in labels]
        return self.builder.place(base, parts, labels, tuple([sizes[x] for x in labels]))

    def dense(self, found: Operand | Part, node: Expr) -> Operand:
        return self._placed(None, [found], node) if isinstance(found, Part) else found

    def product_node(self, node: Product) -> Operand:
        if node in self.by_terms:
            total: list[Operand] = []
            for coef, factors in self._terms(node):
                total = self._plus(total, self.dense(self.product(factors, node, coef), node), 1)
            return total[0]
        return self.dense(self.product(list(node.factors()), node, 1), node)

    def _terms(self, node: Product) -> list[tuple[Number, list[tuple[Expr, Labels]]]]:
        """The terms of a contraction with a sum among its factors: a number and factors each."""
        at = self.by_terms[node]
        total, labels = node.args[at], node.labels[at]
        assert isinstance(total, Sum)
        rest = [factor for p, factor in enumerate(node.factors()) if p != at]
        result = []
        for coef, a in zip(total.coefs, total.args, strict=True):
            assert isinstance(a, Product)
            own = [(b, tuple([labels[x] for x in inner])) for b, inner in a.factors()]
            result.append((_number(coef), [*rest, *own, *_spread(a, labels)]))
        return result

    def product(self, factors: Sequence[tuple[Expr, Labels]], node: Expr, coef: Number) -> Operand | Part:
        """A product times a number. Labels become the axes of the result, or numbers beyond them."""
        out = node.out if isinstance(node, Product) else tuple(range(len(node.shape)))
        work = _Factors(self, coef)
        name = {label: axis for axis, label in enumerate(out)}
        work.sizes.update(enumerate(self.shape(node)))
        opened = self.opened([(a, self._renamed(labels, name)) for a, labels in factors])
        for a, labels in opened:
            work.add(a, labels)
        resolving = Resolving(
            self.builder,
            [(value, [index(x) for x in labels]) for value, labels in work.arrays],  # type: ignore
            work.relations,
            work.gathers,
            work.sizes,
            tuple(range(len(out))),
        )
        operands = resolving.resolve()
        if resolving.zero or work.coef == 0:
            return self.builder.zero([work.coef, *[value for value, _ in work.arrays]])
        number = work.coef * resolving.count(operands)
        carried = {x for _, labels in operands for x in labels}
        ranks = {x: x for x in range(len(out))} if node in self.roots else work.ranks
        wanted = sorted([x for x in resolving.kept if x in carried], key=lambda x: ranks.get(x, len(out)))
        signs = [*work.signs, *[True] * (len(operands) - len(work.signs))]
        often = self._often(opened, range(len(out))) if len(work.arrays) == len(opened) else frozenset()
        return resolving.finish(
            Contraction(self.builder, operands, tuple(wanted), number, signs, often, work.ranks).result()
        )

    def _renamed(self, labels: Labels, name: dict[int, int]) -> Labels:
        return tuple([name[x] if x in name else name.setdefault(x, self.builder.fresh()) for x in labels])

    def opened(self, factors: Sequence[tuple[Expr, Labels]]) -> list[tuple[Expr, Labels]]:
        """The factors of a product, those of products that are lowered as part of it among them."""
        result: list[tuple[Expr, Labels]] = []
        waiting = list(reversed(factors))
        while waiting:
            node, own = waiting.pop()
            if isinstance(node, Product) and node in self.within:
                name = dict(zip(node.out, own, strict=True))
                waiting += [(a, self._renamed(labels, name)) for a, labels in reversed(list(node.factors()))]
                result += _spread(node, own)
            else:
                result.append((node, own))
        return result

    def _often(self, factors: Sequence[tuple[Expr, Labels]], out: Iterable[int]) -> frozenset[tuple[int, int]]:
        """The pairs of factors, by position, that are multiplied in other products too."""
        if not 3 <= len(factors) <= EXACT:
            return frozenset()
        return frozenset([pair for pair, key in _pairs(factors, set(out)) if self.pairs[key] > 1])


def _spread(node: Product, labels: Labels) -> list[tuple[Expr, Labels]]:
    """A one-tensor for the axes along which the product repeats, so that a sum over them counts them."""
    carried = {x for own in node.labels for x in own}
    axes = [axis for axis, x in enumerate(node.out) if x not in carried]
    return [(one(tuple([node.shape[axis] for axis in axes])), tuple([labels[axis] for axis in axes]))] if axes else []


def _pairs(factors: Sequence[tuple[Expr, Labels]], out: set[int]) -> list[tuple[tuple[int, int], tuple]]:
    """Pairs of factors that share a label: their positions, and what the product of the two alone is."""
    found = []
    for b in range(1, len(factors)):
        for a in range(b):
            (x, first), (y, second) = sorted([factors[a], factors[b]], key=lambda f: f[0].key)
            if set(first) & set(second):
                others = {z for p, (_, labels) in enumerate(factors) if p not in (a, b) for z in labels}
                number: dict[int, int] = {}
                for z in (*first, *second):
                    number.setdefault(z, len(number))
                summed = tuple([n for z, n in number.items() if z not in others and z not in out])
                found.append(
                    ((a, b), (x, tuple([number[z] for z in first]), y, tuple([number[z] for z in second]), summed))
                )
    return found


class _Factors:
    """The factors of a product, sorted into numbers, arrays and what structures say."""

    def __init__(self, lowering: Lowering, coef: Number):
        self.lowering, self.coef = lowering, coef
        self.arrays: list[Operand] = []
        self.signs: list[bool] = []
        self.relations: list = []
        self.gathers: list[Gather] = []
        self.sizes: dict[int, int] = {}
        self.ranks: dict[int, int] = {}

    def add(self, node: Expr, labels: Labels) -> None:
        self._record(node, labels)
        if isinstance(node, Structure):
            self._structure(node, labels)
        else:
            self._array(node, labels)

    def _record(self, node: Expr, labels: Labels) -> None:
        for axis, (label, size) in enumerate(zip(labels, self.lowering.shape(node), strict=True)):
            if not isinstance(node, Structure):
                self.ranks.setdefault(label, self.lowering.layout.rank(node, axis))
            if self.sizes.setdefault(label, size) != size:
                raise ShapeError(f"In a product, one index has the sizes {self.sizes[label]} and {size}.")

    def _array(self, node: Expr, labels: Labels) -> None:
        value, axes = self.lowering.operand(node)
        if not isinstance(value, Value):
            self.coef = self.coef * value
            return
        self.arrays.append((value, tuple([labels[axis] for axis in axes])))
        self.signs.append(node in self.lowering.sure)

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
            if at.kind == "b":
                at, own = build.array(build.cast((at, own), "i"))
            at, own = build.array(build.read(at, [index(x) for x in own], self.sizes))
            checked = build.emit("check", "", [(at, own)], own, at.shape, at.kind, (self.sizes[labels[-1]],))
            if self._told(labels[-1], own):  # a condition: t[i] == i, or t[i] == s[j]
                places = build.constant(np.arange(self.sizes[labels[-1]]), (labels[-1],))
                holds, carried = build.cast(build.map("equal", checked, places), build.number)
                self.arrays.append((holds, carried))
                self.signs.append(True)
            else:
                self.gathers.append(Gather(checked, labels[-1]))
        elif kind != "one":
            _, coefs, const = node.relation
            size = self.lowering.size
            self.relations.append(relations_of(kind, labels, [size(c) for c in coefs], size(const)))

    def _told(self, label: int, by: Sequence[int]) -> bool:
        """Whether gathers so far tell ``label``, or it would tell itself if ``by`` told it."""
        known = {g.label: g.at[1] for g in self.gathers}
        reached, waiting = set(by), list(by)
        while waiting:
            new = set(known.get(waiting.pop(), ())) - reached
            reached |= new
            waiting += new
        return label in known or label in reached


def _numbers(nodes: Sequence[Expr]) -> set[Expr]:
    """The scalars that depend on no input: they are numbers by now."""
    found: set[Expr] = set()
    for node in nodes:
        if not node.shape and not isinstance(node, Variable) and all(a in found for a in node.args):
            found.add(node)
    return found


def _is_zero(operand: Operand) -> bool:
    value, _ = operand
    return not isinstance(value, Value) and value == 0


def _number(value) -> Number:
    if isinstance(value, str):
        return NAMED[value]
    return float(value) if isinstance(value, Fraction) else value


_RULES = {
    Variable: Lowering.variable,
    Constant: Lowering.constant,
    Structure: Lowering.structure,
    Product: Lowering.product_node,
    Sum: Lowering.sum,
    Elementwise: Lowering.elementwise,
    Function: Lowering.function,
}
