"""From a core expression back to the tree of a text, with index names chosen and everything in a pleasant order.

Factors follow the order in which the user first wrote their variables, and within that the chain of shared indices, so
that ``x[i] A[i,j] x[j]`` comes out as it went in. Numbers come first, then sizes, ones and deltas. Negative powers
become denominators, a structure that reads an axis becomes an index expression.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from ricci.expr import (
    HALF,
    POWER,
    Constant,
    Dim,
    Elementwise,
    Expr,
    Function,
    Number,
    Product,
    Size,
    Structure,
    Sum,
    Variable,
    numeric,
)
from ricci.expr.axes import natural, restrict
from ricci.expr.structure import is_delta
from ricci.functions.table import FUNCTIONS
from ricci.notation import syntax
from ricci.notation.context import Facts
from ricci.show.lines import arranged_inner, parts_with_lines
from ricci.show.naming import Namer

Names = tuple[str, ...]
Factor = tuple[Expr, tuple]
_COMPARISONS = {"less": ("<", ">"), "less_equal": ("<=", ">="), "equal": ("==", "=="), "not_equal": ("!=", "!=")}


def program(root: Expr, names: Names, facts: Facts, name: str | None, heights: Names = ()) -> syntax.Program:
    """The statements that define ``root``, the last one being itself."""
    return Writer(root, names, facts, heights).program(name)


class Writer:
    def __init__(self, root: Expr, names: Names, facts: Facts, heights: Names):
        self.root, self.names, self.facts = root, names, facts
        self.height = dict(zip(names, heights, strict=False)) if any(heights) or facts.heights else {}
        self.namer = Namer(facts, [root])
        for index, size in zip(names, root.shape, strict=True):
            self.namer.claim(index, size)
        self.place = {name: position for position, name in enumerate(facts.inputs)}
        self.line: dict[Expr, str] = {}
        self.first: dict[Expr, tuple] = {}

    def program(self, name: str | None) -> syntax.Program:
        statements = []
        own = {e: given for given, e in self.facts.definitions.items()}
        used = set(self.facts.inputs) | {name}
        for part in parts_with_lines(self.root, set(own)):
            label = own.get(part)
            if label is None or label in used:
                label = next(t for t in (f"t{n}" for n in range(1, 10**9)) if t not in used)
            used.add(label)
            taken: set[str] = set()
            indices = tuple([self.fresh(part, axis, taken) for axis in range(len(part.shape))])
            body = self.node(part, indices, set(indices))
            statements.append(syntax.Statement(0, 0, label, indices_of(indices) or None, body))
            self.line[part] = label
        body = self.node(self.root, self.names, set(self.names))
        left = self.with_heights(indices_of(self.names), [self.height.get(n, "") for n in self.names])
        statements.append(syntax.Statement(0, 0, name, left or None, body))
        return syntax.Program("", tuple(statements))

    def fresh(self, e: Expr, axis: int, taken: set[str]) -> str:
        name = self.namer.fresh(e.shape[axis], self.namer.hints_of(e, axis), taken)
        taken.add(name)
        return name

    # ``names`` are those of the axes of ``e``; ``taken`` grows by the dummies that are used.

    def node(self, e: Expr, names: Names, taken: set[str]) -> syntax.Node:
        if self.by_name(e):
            return self.tensor(e, indices_of(names))
        if isinstance(e, Constant):
            return self.constant(e, names, taken)
        if isinstance(e, Structure):
            return self.structure(e, names, taken)
        if isinstance(e, Product):
            return self.product(1, e, names, taken)
        if isinstance(e, Sum):
            return self.sum(e, names, taken)
        if isinstance(e, Elementwise):
            return self.elementwise(e, names, taken)
        assert isinstance(e, Function)
        return self.function(e, names, taken)

    def by_name(self, e: Expr) -> bool:
        return isinstance(e, Variable) or e in self.line

    def tensor(self, e: Expr, indices: syntax.Indices) -> syntax.Node:
        if e in self.line:
            return syntax.Tensor(0, 0, self.line[e], indices or None)
        assert isinstance(e, Variable)
        heights = self.facts.heights.get(e.name, ())
        return syntax.Tensor(0, 0, e.name, self.with_heights(indices, heights) or None)

    @staticmethod
    def with_heights(indices: syntax.Indices, heights: Sequence[str]) -> syntax.Indices:
        for index, height in zip(indices, heights, strict=False):
            index.height = height
        return indices

    def constant(self, e: Constant, names: Names, taken: set[str]) -> syntax.Node:
        if isinstance(e.value, Dim):
            return self.size(e.value, taken)
        if e.value == "pi":
            return syntax.Pi(0, 0)
        value = numeric(e)
        return _number(value) if value is not None else tensor_of(f"array_{e.value.digest[:6]}", names)

    def size(self, size: Size, taken: set[str]) -> syntax.Node:
        """A size as an expression in ``|i|``."""
        if isinstance(size, int):
            return _number(size)
        terms = []
        for monomial, coef in size.terms:
            factors = [self.atom(atom, taken) for atom in monomial]
            if abs(coef) != 1 or not factors:
                factors.insert(0, _number(abs(coef)))
            terms.append((1 if coef > 0 else -1, _product([(1, f) for f in factors])))
        return _sum(terms)

    def atom(self, atom: tuple, taken: set[str]) -> syntax.Node:
        if len(atom) == 3:
            a, b = self.size(atom[1], taken), self.size(atom[2], taken)
            if atom[0] == "min":
                return syntax.Call(0, 0, "minimum", (a, b), None, None)
            return syntax.Call(0, 0, "floor", (_product([(1, a), (-1, b)]),), None, None)
        return syntax.Size(0, 0, self.size_name(atom, taken))

    def size_name(self, atom: tuple, taken: set[str]) -> str:
        """The index whose size an atom is: one that is in use, or a new one."""
        from ricci.expr.dims import symbol

        size = symbol(*atom)
        held = self.namer.classes.find(size)
        for name, other in self.namer.claims.items():
            if other == held:
                return name
        return self.namer.fresh(size, (), set())

    def structure(self, e: Structure, names: Names, taken: set[str]) -> syntax.Node:
        kind = e.relation[0]
        if kind in ("one", "zero"):
            return (syntax.Ones if kind == "one" else syntax.Zeros)(0, 0, indices_of(names))
        if kind == "at":
            index = syntax.Index(0, 0, (), tensor=self.gathered(e.args[0], names[:-1]))
            return syntax.Delta(0, 0, (index, *indices_of(names[-1:])))
        _, coefs, const = e.relation
        if kind == ">=":
            if _is_triangle(e):
                row, column = (names[0], names[1]) if coefs[0] == 1 else (names[1], names[0])
                return syntax.Call(0, 0, "cumsum", (_delta(row, column),), indices_of((row,)), None)
            return syntax.Call(0, 0, "triangle", tuple(tensor_of(n, ()) for n in names), None, None)
        if is_delta(e):
            return syntax.Delta(0, 0, self.with_heights(indices_of(names), [self.height.get(n, "") for n in names]))
        left = [(c, n) for c, n in zip(coefs, names, strict=True) if isinstance(c, int) and c > 0]
        right = [(-1 * c, n) for c, n in zip(coefs, names, strict=True) if not (isinstance(c, int) and c > 0)]
        return syntax.Delta(0, 0, (self.affine(left, 0, taken), self.affine(right, -1 * const, taken)))

    def gathered(self, e: Expr, names: Names) -> syntax.Tensor:
        node = self.tensor(e, indices_of(names))
        assert isinstance(node, syntax.Tensor)
        return node

    def affine(self, terms: Sequence[tuple[Size, str]], const: Size, taken: set[str]) -> syntax.Index:
        """An index expression; symbolic strides are named as sizes."""
        sizes: list[tuple[int, str]] = []
        number = const
        if isinstance(const, Dim):
            number = 0
            for monomial, coef in const.terms:
                if not monomial:
                    number = coef
                else:
                    sizes.append((coef, "|·|".join(self.size_name(atom, taken) for atom in monomial)))
        whole = tuple([(c, n) if isinstance(c, int) else (1, f"{c}*{n}") for c, n in terms])
        assert isinstance(number, int)
        plain = len(whole) == 1 and whole[0][0] == 1 and number == 0 and not sizes
        return syntax.Index(0, 0, whole, number, tuple(sizes), plain)

    def sum(self, e: Sum, names: Names, taken: set[str]) -> syntax.Node:
        after: set[str] = set()
        terms = []
        for coef, arg in sorted(zip(e.coefs, e.args, strict=True), key=lambda term: self.term_order(*term)):
            inside = set(taken)
            spread = arg.shape and not natural(arg) and len(e.args) > 1
            inner, own = (restrict(arg, ()), ()) if spread else (arg, names)
            terms.append(self.term(coef, inner, own, inside))
            after |= inside
        taken |= after
        if len(terms) == 1:
            sign, node = terms[0]
            return node if sign > 0 else syntax.Neg(0, 0, node)
        return _sum(terms)

    def term(self, coef: Number, e: Expr, names: Names, taken: set[str]) -> tuple[int, syntax.Node]:
        """A sign and the rest of ``coef * e``."""
        sign, size = (-1, -coef) if coef < 0 else (1, coef)
        if isinstance(e, Product) and e not in self.line:
            return sign, self.product(size, e, names, taken)
        value = numeric(e)
        if value is not None:
            return sign, _number(size * value)
        return sign, _product([*_coefficient(size), (1, self.node(e, names, taken))])

    def term_order(self, coef: Number, e: Expr) -> tuple:
        if numeric(e) is not None or (not natural(e) and not self.first_use(e)):
            return (0 if coef == 1 else 2,)
        return (1, self.first_use(e), coef < 0, e.key)

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

    # Products.

    def product(self, coef: Number, e: Product, names: Names, taken: set[str]) -> syntax.Node:
        label: dict[object, str] = dict(zip(e.out, names, strict=True))
        inner = arranged_inner(e)
        factors = [(inner, natural(e))] if inner in self.line else self.opened(e, label, taken)
        factors, along = self.running_sums(factors, label, names)
        factors, indices = self.reads(factors, label, names, taken)
        written: list[tuple[int, syntax.Node]] = _coefficient(coef)
        carried = {x for _, labels in factors for x in labels} | {n for i in indices.values() for n in _open(i)}
        ones = [name for x, name in label.items() if x in e.out and x not in carried and name not in carried]
        body = []
        for a, labels in self.chained(factors):
            own = tuple([indices.get((a, labels, axis)) or _index(label[x]) for axis, x in enumerate(labels)])
            exponent, node = self.factor(a, own, taken)
            for axis in along.get((a, labels), ()):
                node = syntax.Call(0, 0, "cumsum", (node,), indices_of((axis,)), None)
            body.append((exponent, node))
        ones += self.lonely([label[x] for x in label if x not in e.out], body)
        written += [f for f in body if isinstance(f[1], syntax.Size)]
        if ones:
            written.append((1, syntax.Ones(0, 0, indices_of(tuple(ones)))))
        written += [f for f in body if isinstance(f[1], syntax.Delta)]
        others = [f for f in body if not isinstance(f[1], (syntax.Size, syntax.Delta))]
        return _product(written + [f for f in others if f[0] > 0] + [f for f in others if f[0] < 0])

    def opened(self, e: Product, label: dict[object, str], taken: set[str]) -> list[tuple[Expr, tuple]]:
        """The factors, contractions among them taken apart, with a name for every summed label."""
        factors: list[tuple[Expr, tuple]] = []
        for at, (a, labels) in enumerate(e.factors()):
            if isinstance(a, Product) and a not in self.line:
                name: dict[int, object] = dict(zip(a.out, labels, strict=True))
                factors += [(b, tuple([name.get(x, (at, x)) for x in inner])) for b, inner in a.factors()]
            else:
                factors.append((a, labels))
        for a, labels in factors:
            for axis, x in enumerate(labels):
                if x not in label:
                    hints = [
                        h for b, ls in factors for p, y in enumerate(ls) if y == x for h in self.namer.hints_of(b, p)
                    ]
                    label[x] = self.namer.fresh(a.shape[axis], hints, taken)
                    taken.add(label[x])
        return factors

    def running_sums(self, factors: list[Factor], label: dict[object, str], names: Names):
        """A lower triangle that sums over an axis of one factor is ``cumsum`` along that axis."""
        along: dict[Factor, list[str]] = {}
        kept = list(factors)
        for triangle, labels in factors:
            if not isinstance(triangle, Structure) or triangle.relation[0] != ">=" or not _is_triangle(triangle):
                continue
            row, column = labels if triangle.relation[1][0] == 1 else labels[::-1]
            others = [f for f in kept if column in f[1] and f[0] is not triangle]
            if label[column] in names or len(others) != 1 or others[0][1].count(column) != 1 or row in others[0][1]:
                continue
            a, ls = others[0]
            moved = (a, tuple([row if x == column else x for x in ls]))
            kept = [moved if f == others[0] else f for f in kept if f != (triangle, labels)]
            along[moved] = [*along.pop(others[0], []), label[row]]
            label[column] = ""
        return kept, along

    def reads(self, factors: list[Factor], label: dict[object, str], names: Names, taken: set[str]):
        """Structures that read an axis of a tensor by name become an index expression of that tensor."""
        indices: dict[tuple[Expr, tuple, int], syntax.Index] = {}
        kept = list(factors)
        for structure, labels in factors:
            if not isinstance(structure, Structure) or is_delta(structure):
                continue
            found = [
                (axis, x) for axis, x in enumerate(labels) if label[x] not in names and self.is_unit(structure, axis)
            ]
            for axis, x in sorted(found, key=lambda place: self.backward(structure, place[0])):
                users = [(a, ls) for a, ls in kept if x in ls and (a, ls) != (structure, labels)]
                if len(users) == 1 and self.by_name(users[0][0]) and users[0][1].count(x) == 1:
                    a, ls = users[0]
                    indices[a, ls, ls.index(x)] = self.read_index(structure, labels, axis, label, taken)
                    kept.remove((structure, labels))
                    label[x] = ""
                    break
        return kept, indices

    @staticmethod
    def backward(e: Expr, axis: int) -> int:
        """How many indices would count backwards if ``axis`` were the one that is read."""
        assert isinstance(e, Structure)
        return 0 if e.relation[0] == "at" else sum(c * e.relation[1][axis] > 0 for c in e.relation[1]) - 1

    @staticmethod
    def is_unit(e: Structure, axis: int) -> bool:
        kind = e.relation[0]
        if kind == "at":
            return axis == len(e.shape) - 1
        return kind == "==" and e.relation[1][axis] in (1, -1) and all(isinstance(c, int) for c in e.relation[1])

    def read_index(
        self, e: Structure, labels: tuple, axis: int, label: dict[object, str], taken: set[str]
    ) -> syntax.Index:
        if e.relation[0] == "at":
            return syntax.Index(0, 0, (), tensor=self.gathered(e.args[0], tuple([label[x] for x in labels[:-1]])))
        _, coefs, const = e.relation
        sign = -1 * coefs[axis]
        terms: list[tuple[int, str]] = [
            (sign * c, label[x]) for p, (c, x) in enumerate(zip(coefs, labels, strict=True)) if p != axis
        ]
        index = self.affine(sorted(terms, key=lambda t: (-t[0], t[1] not in self.names, t[1])), sign * const, taken)
        return syntax.Index(0, 0, index.terms, index.const, index.sizes, False)

    def lonely(self, summed: Iterable[str], body: list[tuple[int, syntax.Node]]) -> list[str]:
        """Summed indices that the notation would not see as summed: in one factor only, which is not a tensor twice."""
        from ricci.notation.occurrences import LEAVES, Occurrences

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
            return 1, self.tensor(a, indices)
        names = tuple([index.terms[0][1] for index in indices])
        exponent = numeric(a.args[1]) if isinstance(a, Elementwise) and a.op is POWER else None
        if exponent is not None and exponent < 0:
            inverse = a.args[0] if exponent == -1 else a.args[0] ** -exponent
            return -1, self.node(inverse, names, taken)
        return 1, self.node(a, names, taken)

    def chained(self, factors: list[Factor]) -> list[Factor]:
        """In the order of first use, the factors of one contraction together, and after each the next that shares an
        index with it."""
        group: dict[object, int] = {}
        for at, (_, labels) in enumerate(factors):
            for x in labels:
                if isinstance(x, tuple):
                    group.setdefault(x[0], at)

        def home(at: int) -> int:
            return min([group[x[0]] for x in factors[at][1] if isinstance(x, tuple)], default=at)

        order = sorted(range(len(factors)), key=lambda at: (self.first_use(factors[at][0]), factors[at][0].key, at))
        waiting = [(home(at), factors[at]) for at in order]
        result: list[tuple[int, Factor]] = []
        while waiting:
            same = [w for w in waiting if result and w[0] == result[-1][0]] or waiting
            near = [w for w in same if result and set(w[1][1]) & set(result[-1][1][1])]
            chosen = (near or same)[0]
            waiting.remove(chosen)
            result.append(chosen)
        return [factor for _, factor in result]

    # Functions.

    def elementwise(self, e: Elementwise, names: Names, taken: set[str]) -> syntax.Node:
        if e.op is POWER:
            return self.power(e, names, taken)
        args = [self.node(a, names if a.shape else (), taken) for a in e.args]
        if e.op.name in _COMPARISONS:
            straight, flipped = _COMPARISONS[e.op.name]
            if isinstance(e.args[0], Constant) and not isinstance(e.args[1], Constant):
                return syntax.Compare(0, 0, flipped, args[1], args[0])
            return syntax.Compare(0, 0, straight, args[0], args[1])
        return syntax.Call(0, 0, e.op.name, tuple(args), None, None)

    def power(self, e: Elementwise, names: Names, taken: set[str]) -> syntax.Node:
        base, exponent = e.args
        value = numeric(exponent)
        if value is not None and value < 0:
            below = base if value == -1 else base**-value
            return _product([(1, _number(1)), (-1, self.node(below, names, taken))])
        inner = self.node(base, names if base.shape else (), taken)
        if value == HALF:
            return syntax.Call(0, 0, "sqrt", (inner,), None, None)
        return syntax.Power(0, 0, inner, self.node(exponent, names if exponent.shape else (), taken))

    def function(self, e: Function, names: Names, taken: set[str]) -> syntax.Node:
        works_on = e.op.axes_of(e.params)
        lead = len(e.args[0].shape) - works_on[0]
        surface = FUNCTIONS.get(e.op.name)
        result = surface.result if surface is not None and surface.kind == "matrix" else ""
        first, rest = e.args[0], names[lead:]
        kind = surface.kind if surface is not None else ("keep" if len(rest) == works_on[0] else "reduce")
        if kind == "matrix" and not lead and all(map(self.by_name, e.args)):
            args = tuple([self.node(a, (), taken) for a in e.args])
            short = len(first.shape) == 2 and not (e.op.columns and e.params[0])
            if short:
                return syntax.Call(0, 0, e.op.name, args, None, indices_of(rest) if rest else None)
        if kind == "keep" or result == "matrix":
            axes = rest
        elif result == "solve":
            axes = (self.fresh(first, lead, taken), rest[0])
        else:
            head = rest[:1] if result == "vector" else ()
            axes = (*head, *[self.fresh(first, a, taken) for a in range(lead + len(head), len(first.shape))])
        args = [self.node(first, (*names[:lead], *axes), taken)]
        if result == "solve":
            args.append(self.node(e.args[1], (*names[:lead], axes[0], *rest[1:]), taken))
        return syntax.Call(0, 0, e.op.name, tuple(args), indices_of(axes), None)


def _is_triangle(e: Structure) -> bool:
    return set(e.relation[1]) == {1, -1} and e.relation[2] == 0 and e.shape[0] == e.shape[1]


def _index(name: str) -> syntax.Index:
    return syntax.Index(0, 0, ((1, name),), plain=True)


def indices_of(names: Names) -> syntax.Indices:
    return tuple([_index(name) for name in names])


def tensor_of(name: str, names: Names) -> syntax.Tensor:
    return syntax.Tensor(0, 0, name, indices_of(names) or None)


def _delta(a: str, b: str) -> syntax.Delta:
    return syntax.Delta(0, 0, indices_of((a, b)))


def _open(index: syntax.Index) -> list[str]:
    names = [name for _, name in index.terms]
    return names + [n for i in (index.tensor.indices or ()) for n in _open(i)] if index.tensor is not None else names


def _number(value: Number) -> syntax.Node:
    if value < 0:
        return syntax.Neg(0, 0, _number(-value))
    if isinstance(value, Fraction):
        return _product([(1, _number(value.numerator)), (-1, _number(value.denominator))])
    return syntax.Number(0, 0, value)


def _coefficient(value: Number) -> list[tuple[int, syntax.Node]]:
    if value == 1:
        return []
    if isinstance(value, Fraction):
        return [(1, syntax.Number(0, 0, value.numerator)), (-1, syntax.Number(0, 0, value.denominator))]
    return [(1, syntax.Number(0, 0, value))]


def _product(factors: list[tuple[int, syntax.Node]]) -> syntax.Node:
    if not factors:
        return syntax.Number(0, 0, 1)
    if factors[0][0] < 0:
        factors = [(1, syntax.Number(0, 0, 1)), *factors]
    return factors[0][1] if len(factors) == 1 else syntax.Product(0, 0, tuple(factors))


def _sum(terms: list[tuple[int, syntax.Node]]) -> syntax.Node:
    if len(terms) == 1:
        return terms[0][1] if terms[0][0] > 0 else syntax.Neg(0, 0, terms[0][1])
    positive = next((t for t in terms if t[0] > 0), None)
    if terms[0][0] < 0 and positive is not None:
        terms = [positive, *[t for t in terms if t is not positive]]
    return syntax.Sum(0, 0, tuple(terms))
