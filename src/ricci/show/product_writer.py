"""How products are written: the order of factors, index expressions for reads, ones where a sum must be seen.

Factors follow the order in which the user first wrote their variables, and within that the chain of shared indices, so
that ``x[i] A[i,j] x[j]`` comes out as it went in. Numbers come first, then sizes, ones and deltas; negative powers
become denominators. A structure that reads an axis of a tensor becomes an index expression of that tensor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ricci.expr import (
    CONJ,
    POWER,
    Constant,
    Dim,
    Elementwise,
    Expr,
    Number,
    Product,
    Size,
    Structure,
    Sum,
    Variable,
    conj,
    dims,
    numeric,
    scale,
    variables,
)
from ricci.expr.alternating import is_levi_civita, parity
from ricci.expr.build.conjugates import imaginary
from ricci.expr.settle import SettledSizes
from ricci.expr.structures import is_delta, is_hermitian, natural, turning
from ricci.notation import syntax
from ricci.notation.context import Facts
from ricci.notation.occurrences import LEAVES, Occurrences
from ricci.notation.text_scope import is_positive
from ricci.show.index_names import Namer
from ricci.show.lines import arranged_inner
from ricci.show.phrases import (
    Names,
    coefficient_of,
    conjugate_of,
    index_of,
    indices_of,
    is_triangle,
    open_names,
    product_of,
    squares_apart,
)

Factor = tuple[Expr, tuple]


class RunningLabels(tuple):
    """The labels of a factor that is summed along, which the same factor beside it does not share."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


class ProductWriter:
    """The part of a writer that writes products."""

    def __init__(self, root: Expr, facts: Facts, namer: Namer, names: Names):
        self.facts, self.namer, self.names = facts, namer, names
        self.place = {name: position for position, name in enumerate({**facts.mentions, **facts.inputs})}
        self.line: dict[Expr, str] = {}  # the parts that have lines of their own, and their names
        self.axes: dict[Expr, tuple[int, ...]] = {}  # for those, the order of axes that the user gave them
        self.first: dict[Expr, tuple] = {}
        self.settled = SettledSizes([root], root.shape, namer.classes)
        self.checked = {self.settled.of(check.size) for check in facts.checks}  # sizes that are not negative

    def node(self, e: Expr, names: Names, taken: set[str]) -> syntax.Node:
        raise NotImplementedError

    def by_name(self, e: Expr) -> bool:
        return isinstance(e, Variable) or e in self.line or self.is_conjugate(e)

    def is_conjugate(self, e: Expr) -> bool:
        """Whether it is the conjugate of what has a name."""
        if not e.complex:
            return False
        own = isinstance(e, Elementwise) and e.op is CONJ and isinstance(e.args[0], Variable)
        return own or (bool(self.line) and conj(e) in self.line)

    def tensor(self, e: Expr, indices: syntax.Indices, taken: set[str]) -> syntax.Node:
        if e in self.line:
            return syntax.TensorNode(0, 0, self.line[e], self.as_defined(e, indices) or None)
        if self.is_conjugate(e):
            return conjugate_of(self.tensor(conj(e), indices, taken))
        assert isinstance(e, Variable)
        return syntax.TensorNode(0, 0, e.name, indices or None)

    def as_defined(self, e: Expr, indices: syntax.Indices) -> syntax.Indices:
        """Indices of a part in the order in which the user has defined it."""
        places = self.axes.get(e)
        return tuple([indices[p] for p in places]) if places else indices

    def first_use(self, e: Expr) -> tuple:
        """The places, in the user's text, of the first few variables below ``e``."""
        stack = [] if e in self.first else [e]
        while stack:
            node = stack[-1]
            waiting = [a for a in node.args if a not in self.first]
            if waiting:
                stack += waiting
                continue
            stack.pop()
            if isinstance(node, Variable):
                self.first[node] = ((self.place.get(node.name, len(self.place)), node.name),)
            else:
                self.first[node] = tuple(sorted({place for a in node.args for place in self.first[a]})[:4])
        return self.first[e]

    def product(self, coef: Number, e: Product, names: Names, taken: set[str]) -> tuple[int, syntax.Node]:
        """The sign and the rest of ``coef * e``."""
        label: dict[object, str] = dict(zip(e.out, names, strict=True))
        inner = arranged_inner(e)
        factors = [(inner, natural(e))] if inner in self.line else self.opened(e, label, taken)
        coef, factors = self.turned(coef, factors)
        sign, coef = (-1, -coef) if coef < 0 else (1, coef)
        factors, along = self.running_sums(factors, label, names)
        factors, indices = self.reads(factors, label, names, taken, along)
        units = [f for f in factors if imaginary(f[0])]
        factors = self.chained([f for f in factors if f not in units], e.out)
        turn, places = self.arranged(sign, factors, label, names)
        sign *= turn
        written: list[tuple[int, syntax.Node]] = coefficient_of(coef, bool(units))
        carried = {x for _, labels in factors for x in labels} | {n for i in indices.values() for n in open_names(i)}
        carried |= {label[x] for _, labels in factors for x in labels}  # on a diagonal several have one name
        ones = [name for x, name in label.items() if x in e.out and x not in carried and name not in carried]
        body = []
        for (a, labels), axes in zip(factors, places, strict=True):
            own = tuple([indices.get((a, labels, axis)) or index_of(label[labels[axis]]) for axis in axes])
            if (a, labels) in along:
                node = self.node(a, tuple([label[x] for x in labels]), taken)
                for axis in along[a, labels]:
                    node = syntax.CallNode(0, 0, "cumsum", (node,), indices_of((label[axis],)), None)
                body.append((1, node))
            else:
                body.append(self.factor(a, own, taken))
        ones += self.lonely([label[x] for x in label if x not in e.out], body)
        ones.sort(key=lambda name: self.names.index(name) if name in self.names else len(self.names))
        written += [f for f in body if isinstance(f[1], syntax.Size)]
        if ones:
            written.append((1, syntax.Ones(0, 0, indices_of(tuple(ones)))))
        written += [f for f in body if isinstance(f[1], syntax.Delta)]
        others = [f for f in body if not isinstance(f[1], (syntax.Size, syntax.Delta))]
        return sign, product_of(written + [f for f in others if f[0] > 0] + [f for f in others if f[0] < 0])

    def turned(self, coef: Number, factors: list[Factor]) -> tuple[Number, list[Factor]]:
        """``-(b - a) c`` as ``(a - b) c``: the sign goes into a difference."""
        for at, (a, labels) in enumerate(factors):
            if coef < 0 and isinstance(a, Sum) and not self.by_name(a) and min(a.coefs) < 0 < max(a.coefs):
                return -coef, [*factors[:at], (scale(-1, a), labels), *factors[at + 1 :]]
        return coef, factors

    def opened(self, e: Product, label: dict[object, str], taken: set[str]) -> list[tuple[Expr, tuple]]:
        """The factors, contractions among them taken apart, with a name for every summed label."""
        factors: list[tuple[Expr, tuple]] = []
        for at, (a, labels) in enumerate(e.factors()):
            if isinstance(a, Product) and not self.by_name(a):
                name: dict[int, object] = dict(zip(a.out, labels, strict=True))
                factors += [(b, tuple([name.get(x, (at, x)) for x in inner])) for b, inner in a.factors()]
            else:
                factors.append((a, labels))
        factors = squares_apart(factors, label)
        sizes = {x: size for a, ls in factors for x, size in zip(ls, a.shape, strict=True) if x not in label}
        hints: dict[object, list[str]] = {x: [] for x in sizes}
        for a, ls in factors:
            for axis, x in enumerate(ls):
                if x in hints:
                    hints[x] += self.namer.hints_of(a, axis)
        for x in sorted(sizes, key=lambda x: not hints[x]):  # those with a name of the user's first
            label[x] = self.namer.fresh(sizes[x], hints[x], taken)
            taken.add(label[x])
        return factors

    def running_sums(self, factors: list[Factor], label: dict[object, str], names: Names):
        """A lower triangle that sums over an axis of one factor is ``cumsum`` along that axis."""
        along: dict[Factor, list[object]] = {}
        kept = list(factors)
        for triangle, labels in reversed(factors):
            if not isinstance(triangle, Structure) or triangle.relation[0] != ">=" or not is_triangle(triangle):
                continue
            row, column = labels if triangle.relation[1][0] == 1 else labels[::-1]
            others = [f for f in kept if column in f[1] and f != (triangle, labels)]
            if label[column] in names or len(others) != 1 or isinstance(others[0][0], Structure):
                continue
            a, ls = others[0]
            if ls.count(column) != 1 or row in ls:
                continue
            moved = (a, RunningLabels([row if x == column else x for x in ls]))
            kept = [moved if f == others[0] else f for f in kept if f != (triangle, labels)]
            along[moved] = [row if x == column else x for x in along.pop(others[0], [])] + [row]
            label[column] = ""
        return kept, along

    def reads(self, factors: list[Factor], label: dict[object, str], names: Names, taken: set[str], along: dict):
        """Structures that read an axis of a tensor by name become an index expression of that tensor."""
        indices: dict[tuple[Expr, tuple, int], syntax.Index] = {}
        kept = list(factors)
        inside: set[object] = set()  # labels in such expressions
        for structure, labels in factors:
            if not isinstance(structure, Structure) or is_delta(structure):
                continue
            found = [
                (axis, x) for axis, x in enumerate(labels) if label[x] not in names and self.is_unit(structure, axis)
            ]
            for axis, x in sorted(found, key=lambda place: self.backward(structure, place[0])):
                if x in inside or not self.is_inside(structure, axis):
                    continue
                users = [(a, ls) for a, ls in kept if x in ls and (a, ls) != (structure, labels)]
                entry = len(labels) == len(users) == 1 and is_levi_civita(users[0][0])  # eps[i,0,j]
                if len(users) == 1 and (entry or self.is_readable(users[0], x, along)):
                    a, ls = users[0]
                    indices[a, ls, ls.index(x)] = self.read_index(structure, labels, axis, label, taken)
                    kept.remove((structure, labels))
                    label[x] = ""
                    inside.update(labels)
                    break
        return kept, indices

    def is_readable(self, factor: Factor, label: object, along: dict) -> bool:
        """Whether one axis of a factor may be an index expression: a tensor by name, as it is, and the axis once."""
        return self.by_name(factor[0]) and factor[1].count(label) == 1 and factor not in along

    @staticmethod
    def backward(e: Expr, axis: int) -> int:
        """How many indices would count backwards if ``axis`` were the one that is read."""
        assert isinstance(e, Structure)
        if e.relation[0] == "at":
            return 0
        _, coefs, const = e.relation
        shift = -1 * coefs[axis] * const
        return sum(is_positive(c * coefs[axis]) for c in coefs) - 1 + (isinstance(shift, int) and shift < 0)

    def is_inside(self, e: Structure, axis: int) -> bool:
        """Whether a read of ``axis`` at what the relation says is inside for all other indices, as a text wants it."""
        if e.relation[0] == "at":
            return True
        _, coefs, const = e.relation
        least = most = -1 * coefs[axis] * const
        for place, (c, size) in enumerate(zip(coefs, e.shape, strict=True)):
            if place != axis:
                last = -1 * coefs[axis] * c * (size - 1)
                least, most = (least, most + last) if is_positive(-1 * coefs[axis] * c) else (least + last, most)
        rooms = [self.settled.of(room) for room in (least, e.shape[axis] - 1 - most)]
        return all(room >= 0 if isinstance(room, int) else room in self.checked for room in rooms)

    @staticmethod
    def is_unit(e: Structure, axis: int) -> bool:
        kind = e.relation[0]
        if kind == "at":
            return axis == len(e.shape) - 1
        return kind == "==" and e.relation[1][axis] in (1, -1)

    def read_index(
        self, e: Structure, labels: tuple, axis: int, label: dict[object, str], taken: set[str]
    ) -> syntax.Index:
        if e.relation[0] == "at":
            return syntax.Index(0, 0, (), tensor=self.gathered(e.args[0], tuple([label[x] for x in labels[:-1]])))
        _, coefs, const = e.relation
        sign = -1 * coefs[axis]
        others = [(sign * c, label[x]) for p, (c, x) in enumerate(zip(coefs, labels, strict=True)) if p != axis]
        others.sort(key=lambda t: (*_falling(t[0]), t[1] not in self.names, t[1]))
        index = self.affine(others, sign * const, taken)
        return syntax.Index(0, 0, index.terms, index.const, index.sizes, False, strides=index.strides)

    def lonely(self, summed: Iterable[str], body: list[tuple[int, syntax.Node]]) -> list[str]:
        """Summed indices that the notation would not see as summed: in one factor only, which is not a tensor twice."""
        count = Occurrences()
        result = []
        for name in summed:
            places = [f for _, f in body if name in count.of(f)]
            twice = len(places) == 1 and isinstance(places[0], LEAVES) and len(count.of(places[0])[name]) > 1
            if name and len(places) < 2 and not twice:
                result.append(name)
        return result

    def factor(self, a: Expr, indices: syntax.Indices, taken: set[str]) -> tuple[int, syntax.Node]:
        if self.by_name(a):
            return 1, self.tensor(a, indices, taken)
        if is_levi_civita(a):
            return 1, syntax.Epsilon(0, 0, indices)
        names = tuple([index.terms[0][1] for index in indices])
        exponent = numeric(a.args[1]) if isinstance(a, Elementwise) and a.op is POWER else None
        if exponent is not None and exponent < 0:
            return -1, self.denominator(a.args[0] if exponent == -1 else a.args[0] ** -exponent, names, taken)
        return 1, self.node(a, names, taken)

    def denominator(self, e: Expr, names: Names, taken: set[str]) -> syntax.Node:
        """What stands below a bar. A trace there needs a bracket of its own, or the whole would be summed."""
        node = self.node(e, names, taken)
        if isinstance(node, LEAVES):
            dummies = tuple([name for name in Occurrences().of(node) if name not in names])
            if dummies:
                return syntax.ProductNode(0, 0, ((1, syntax.Ones(0, 0, indices_of(dummies))), (1, node)))
        return node

    def arranged(
        self, sign: int, factors: list[Factor], label: dict[object, str], names: Names
    ) -> tuple[int, list[tuple[int, ...]]]:
        """The order in which the axes of each factor are written, and the sign that this has.

        Where axes may be exchanged, a matrix goes on from the factor before it, ``x[i] A[i,j]``; a symmetric one before
        two vectors has their axes in their order, ``A[i,j] x[i] y[j]``; and the indices of a symbol eps are free ones
        first and then in the order of their names.
        """
        turn, found = 1, []
        for at, (a, labels) in enumerate(factors):
            axes = tuple(range(len(labels)))
            turned = _turns(a) if len(set(labels)) == len(labels) > 1 and a not in self.line else 0
            if turned and len(labels) == 2 and not isinstance(a, Constant):
                after = [own for _, own in factors[at + 1 : at + 3]]
                form = turned > 0 and after in ([(x,) for x in labels], [(x,) for x in labels[::-1]])
                back = after[0] == (labels[1],) if form else self.goes_back(at, factors)
                axes = (1, 0) if back else axes
            elif turned:
                free = [names.index(label[x]) if label[x] in names else len(names) for x in labels]
                axes = tuple(sorted(axes, key=lambda k: (free[k], label[labels[k]])))
            turn *= parity(axes) if turned < 0 else 1
            found.append(axes)
        symbol = next((at for at, (a, _) in enumerate(factors) if is_levi_civita(a)), None)
        if symbol is not None and sign * turn < 0:  # the sign goes into it
            *first, p, q = found[symbol]
            found[symbol] = (*first, q, p)
            turn = -turn
        return turn, found

    @staticmethod
    def goes_back(at: int, factors: list[Factor]) -> bool:
        """Whether the second axis of a matrix is that of the factor before it, or the first that of the one after."""
        first, second = factors[at][1]
        for other in (at - 1, at + 1):
            near = factors[other][1] if 0 <= other < len(factors) else ()
            if (first in near) != (second in near):
                return (second in near) == (other < at)
        return False

    def chained(self, factors: list[Factor], out: Sequence[object]) -> list[Factor]:
        """In the order of first use, the factors of one contraction together, and after each the next that shares an
        index with it. A symmetric matrix with a free index begins where that which would has none."""
        group: dict[object, int] = {}
        for at, (_, labels) in enumerate(factors):
            for x in labels:
                if isinstance(x, tuple):
                    group.setdefault(x[0], at)

        def home(at: int) -> int:
            return min([group[x[0]] for x in factors[at][1] if isinstance(x, tuple)], default=at)

        own = {a for a, _ in factors}

        def rank(a: Expr, labels: tuple) -> tuple:
            """Of a number and its conjugate the one with the first free index is first, or else the conjugate."""
            if not a.complex or conj(a) not in own:
                return (0,)
            places = [out.index(x) for x in labels if x in out]
            return (1, min(places, default=len(out)), not self.is_conjugate(a))

        def place(at: int) -> tuple:
            a, labels = factors[at]
            return (self.first_use(a), rank(a, labels), a.key, at)

        order = sorted(range(len(factors)), key=place)
        waiting = [(home(at), factors[at]) for at in order]
        result: list[tuple[int, Factor]] = []
        while waiting:
            same = [w for w in waiting if result and w[0] == result[-1][0]] or waiting
            near = [w for w in same if result and set(w[1][1]) & set(result[-1][1][1])]
            chosen = (near or same)[0]
            if not near and not set(chosen[1][1]) & set(out):
                own = [w for w in same if set(w[1][1]) & set(out) and set(w[1][1]) & set(chosen[1][1])]
                chosen = next((w for w in own if _turns(w[1][0]) > 0 or is_hermitian(w[1][0])), chosen)
            waiting.remove(chosen)
            result.append(chosen)
        return [factor for _, factor in result]

    def gathered(self, e: Expr, names: Names) -> syntax.TensorNode:
        node = self.tensor(e, indices_of(names), set())
        assert isinstance(node, syntax.TensorNode)
        return node

    def affine(self, terms: Sequence[tuple[Size, str]], const: Size, taken: set[str]) -> syntax.Index:
        """An index expression; symbolic strides are named as sizes."""
        sizes: list[tuple[int, str]] = []
        number = 0
        for monomial, coef in const.terms if isinstance(const, Dim) else (((), const),):
            if not monomial:
                number = coef
            else:
                size: Size = 1
                for atom in monomial:
                    size = size * dims.symbol(*atom)
                sign = -1 if _is_negative(size) else 1
                sizes.append((sign * coef, self.namer.of_size(sign * size)))
        whole = []
        strides = []
        for c, name in terms:
            sign = 1 if is_positive(c) else -1
            whole.append((c if isinstance(c, int) else sign, name))
            strides.append("" if isinstance(c, int) else self.namer.of_size(sign * c))
        plain = len(whole) == 1 and whole[0][0] == 1 and number == 0 and not sizes and not any(strides)
        kept = tuple(strides) if any(strides) else ()
        return syntax.Index(0, 0, tuple(whole), number, tuple(sizes), plain, strides=kept)


def _turns(e: Expr) -> int:
    """As :func:`turning`, of symbols and of what is made of matrices that are declared."""
    turned = turning(e)
    return turned if turned and (is_levi_civita(e) or any(v.symmetry for v in variables(e))) else 0


def _is_negative(size: Size) -> bool:
    """Whether a number made of sizes is less than nothing, as ``minimum(1 - |k|, 0)`` is: no index has such a size."""
    return dims.evaluate(size, dict.fromkeys(dims.atoms(size), 9)) < 0


def _falling(coef: Size) -> tuple[bool, int, str]:
    """Sorts coefficients: sizes, then numbers, the largest first."""
    return not is_positive(coef), -coef if isinstance(coef, int) else -1000, str(coef)
