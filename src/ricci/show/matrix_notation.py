r"""Core expressions in matrix notation: ``Xᵀ diag(s) X``, ``tr(A B)``, ``I ⊗ Vᵀ V``, as text or LaTeX.

A product is a network: a factor with one index is a weight on that index, one with two is an edge between them, from
row to column. Three steps reduce it, and what they reduce is exactly what chains of matrices can say:

    leaf      A[i,j] w[j], summed over j             a weight on i: A w, or A 1 without a weight
    series    A[i,j] w[j] B[j,k], summed over j      an edge from i to k: A diag(w) B
    parallel  A[i,j] B[i,j]                          one edge, A ⊙ B; or a loop, diag(A Bᵀ), then tr(A Bᵀ)

Conventions. Vectors are columns, and ``1`` is a vector of ones as long as it has to be. ``diag`` makes a matrix of a
vector and a vector of a matrix. Functions entry by entry have a dot, ``exp.(A)`` and ``\exp^{\odot}(A)``, since
``exp(A)`` would be the matrix exponential; powers likewise, ``A^{⊙2}``; of scalars both are plain. ``⊙`` and ``⊘``
multiply and divide entry by entry, ``/`` divides by a scalar, ``[x > 0]`` is 1 where that holds. Functions along one
axis of a matrix say which vectors they take: ``softmax_row(A)``, ``max_col(A)``. A result with axes (i,k,j,l) is a
matrix with rows (i,k) and columns (j,l), both in row-major order: ``A[i,j] B[k,l]`` is ``A ⊗ B``, ``A[i,k] B[j,l]`` is
``vec(A) vec(B)ᵀ``, and ``K vec(A) = vec(Aᵀ)``. Products without a sign bind closer than ``⊗``; beside ``⊙`` and ``⊘``
they are in brackets. Of equal forms the one with fewer transposes is taken, and then the order of first use.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Hashable, Iterable, Sequence

from ricci.budget import spend
from ricci.errors import RuleError
from ricci.expr import (
    POWER,
    Constant,
    Elementwise,
    Expr,
    Function,
    Number,
    Product,
    Structure,
    Sum,
    Variable,
    numeric,
    topological,
)
from ricci.expr.structures import is_delta
from ricci.functions.axes import last
from ricci.notation.context import Facts
from ricci.show import latex as in_latex
from ricci.show import text as in_text
from ricci.show import words
from ricci.show.express import program

DEEPEST, LARGEST = 100, 2000  # levels, and nodes as a tree
_ACCENTS = {"bar": "\u0304", "dot": "\u0307", "hat": "\u0302", "tilde": "\u0303"}
_COMPARE = {"<": ("<", "<"), "<=": ("≤", r"\le"), "==": ("=", "="), "!=": ("≠", r"\ne")}
_FLIPPED = {"<": ">", "≤": "≥", r"\le": r"\ge"}


def to_matrix(expr: Expr, facts: Facts, latex: bool = False) -> str:
    """``expr`` in matrix notation; a :class:`RuleError` says why where there is none."""
    _check_size(expr)
    writer = _Writer(facts, latex)
    for node in topological(expr):
        writer.learn(node)
    if expr.order not in (0, 1, 2, 4):
        words.refuse(f"the result has {expr.order} indices, and a matrix has two")
    word = writer.fourth(expr, (0, 1, 2, 3)) if expr.order == 4 else writer.of(expr)
    _check_names(word)
    return words.render(word, words.SUM, latex)


def _check_names(word: words.MatrixWord) -> None:
    """``I`` and ``K`` have a meaning here, so they cannot be names of variables beside it."""
    kinds, names, waiting = set(), set(), [word]
    while waiting:
        w = waiting.pop()
        kinds.add(w.kind)
        names.add(w.data if w.kind == "text" else None)
        waiting += w.args
    for kind, name in (("identity", "I"), ("commutation", "K")):
        if kind in kinds and name in names:
            words.refuse(f"{name!r} is a variable in it, and would also have to stand for the {kind} matrix")


def _check_size(root: Expr) -> None:
    depth: dict[Expr, int] = {}
    size: dict[Expr, int] = {}
    for node in topological(root):
        depth[node] = 1 + max((depth[a] for a in node.args), default=0)
        size[node] = min(1 + sum(size[a] for a in node.args), LARGEST + 1)
    if depth[root] > DEEPEST:
        words.refuse(f"it is {depth[root]} levels deep, and {DEEPEST} is the most for one line")
    if size[root] > LARGEST:
        words.refuse(f"it has more than {LARGEST} parts when written out, too many for one line")


# Networks.


class _Network:
    """The factors of a product: weights on indices, edges between them (from, to, exponent, matrix) and scalars."""

    def __init__(self, out: Iterable[Hashable]):
        self.out = tuple(out)
        self.weights: dict[Hashable, list[tuple[int, words.MatrixWord]]] = {}
        self.edges: list[tuple[Hashable, Hashable, int, words.MatrixWord]] = []
        self.scalars: list[tuple[int, words.MatrixWord]] = []
        self.sign = 1

    def add(self, exponent: int, word: words.MatrixWord, labels: Sequence[Hashable]) -> None:
        sign, word = words.positive(word)
        self.sign *= sign
        for label in labels:
            self.weights.setdefault(label, [])
        if not labels:
            self.scalars.append((exponent, word))
        elif len(labels) == 1:
            self.weights[labels[0]].append((exponent, word))
        elif labels[0] == labels[1]:
            self.weights[labels[0]].append((exponent, words.make_word("diagonal", [word], 1)))
        else:
            self.edges.append((labels[0], labels[1], exponent, word))

    def reduce(self) -> None:
        while any(self._eliminate(v) for v in list(self.weights) if v not in self.out) or self._parallel():
            pass
        left = [v for v in self.weights if v not in self.out]
        if left:
            words.refuse("an index joins three matrices or more, so that it is no chain of matrices")

    def at(self, v: Hashable) -> list[tuple[Hashable, Hashable, int, words.MatrixWord]]:
        return [edge for edge in self.edges if v in edge[:2]]

    def take(self, u: Hashable, v: Hashable) -> words.MatrixWord | None:
        """The matrix with rows ``u`` and columns ``v``, if there is one; the edge is removed."""
        found = [edge for edge in self.edges if {u, v} == set(edge[:2])]
        for edge in found:
            self.edges.remove(edge)
        return words.signed([(e, w if a == u else words.flip(w)) for a, _, e, w in found], 2) if found else None

    def column(self, v: Hashable) -> words.MatrixWord:
        """The weights on ``v`` as one vector that ends a chain: ``diag(s) A x`` or ``s ⊙ x``."""
        weights = self.weights[v]
        chains = [w for e, w in weights if e > 0 and w.kind == "times"]
        rest = [part for part in weights if part[1] not in chains]
        return (
            words.times([words.diag_of(rest), chains[0]], 1) if rest and len(chains) == 1 else words.signed(weights, 1)
        )

    def _eliminate(self, v: Hashable) -> bool:
        """Sum over an index with at most two neighbours."""
        ends = [b if a == v else a for a, b, *_ in self.at(v)]
        if len(ends) > 2 or (len(ends) == 2 and ends[0] == ends[1]):
            return False
        if not ends:
            self.scalars.append((1, self._total(sorted(self.weights[v], key=lambda part: part[1].first))))
        elif len(ends) == 1:
            self._leaf(v, ends[0])
        else:
            left, right = self.take(ends[0], v), self.take(v, ends[1])
            assert left is not None and right is not None
            middle = [words.diag_of(self.weights[v])] if self.weights[v] else []
            self.edges.append((ends[0], ends[1], 1, words.times([left, *middle, right], 2)))
        del self.weights[v]
        return True

    def _leaf(self, v: Hashable, u: Hashable) -> None:
        matrix = self.take(u, v)
        assert matrix is not None
        alone = u not in self.out and not self.weights[u] and not self.weights[v] and not self.at(u)
        square = next((w for w in (matrix, words.flip(matrix)) if words.is_square(w)), None)
        if alone and square is not None:
            self.weights[u].append((1, words.make_word("squares", [square.args[0]], 1)))
        else:
            self.weights[u].append((1, words.times([matrix, self.column(v)], 1)))

    @staticmethod
    def _total(weights: list[tuple[int, words.MatrixWord]]) -> words.MatrixWord:
        """The sum of the entries of a product of vectors."""
        chains = [w for e, w in weights if e > 0 and w.kind == "times"]
        rest = [part for part in weights if part[1] not in chains]
        above = [w for e, w in rest if e > 0]
        if len(weights) == 1 and above:
            (w,) = above
            if w.kind == "diagonal":
                return words.trace_of(w.args[0])
            if w.kind == "squares" or words.is_square(w):
                return words.power_word(
                    words.make_word("norm" if w.kind == "power" else "frobenius", [w.args[0]], 0),
                    words.number_word(2),
                    2,
                )
        if len(chains) > 1:
            middle = rest + [(1, w) for w in chains[1:-1]]
            return words.inner_product(chains[0], *([words.diag_of(middle)] if middle else []), chains[-1])
        if chains:
            return words.inner_product(words.signed(rest, 1), chains[0])
        if len(above) > 1:
            rest.remove((1, above[0]))
            return words.inner_product(above[0], words.signed(rest, 1))
        return words.inner_product(words.ONES, words.signed(rest, 1))

    def _parallel(self) -> bool:
        """Two edges or more between the same indices: a loop where that is a trace or shorter, or one edge, ``⊙``."""
        for u, v in [edge[:2] for edge in self.edges]:
            both = [edge for edge in self.edges if {u, v} == set(edge[:2])]
            if len(both) == 1:
                continue
            kept, gone = self._loop(u, v)
            one, two = [words.signed([(e, w if a == kept else words.flip(w))], 2) for a, _, e, w in both[:2]]
            loop = words.times(
                [one, *([words.diag_of(self.weights[gone])] if self.weights[gone] else []), words.flip(two)], 2
            )
            loop = min(loop, words.flip(loop), key=lambda w: (w.flips, [a.first for a in w.args]))
            merged = self.take(u, v)
            assert merged is not None
            trace = not ({u, v} & set(self.out) or self.at(u) or self.at(v) or self.weights[kept])
            short = gone not in self.out and not self.at(gone) and loop.flips < merged.flips
            if len(both) == 2 and (trace or (short and not self.weights[gone])):
                del self.weights[gone]
                self.weights[kept].append((1, words.make_word("diagonal", [loop], 1)))
            else:
                self.edges.append((u, v, 1, merged))
            return True
        return False

    def _loop(self, u: Hashable, v: Hashable) -> tuple[Hashable, Hashable]:
        """Which of two indices a loop would keep: one of the output, or the one without weights."""
        swap = v in self.out or (u not in self.out and bool(self.weights[u]))
        return (v, u) if swap else (u, v)

    def matrix(self, i: Hashable, j: Hashable) -> words.MatrixWord:
        """What is left between two indices of the output, with their weights."""
        edge, left, right = self.take(i, j), self.weights.get(i, []), self.weights.get(j, [])
        if edge is None:
            return words.times([words.signed(left, 1), words.flip(words.signed(right, 1))], 2)
        if edge == words.IDENTITY:
            return words.diag_of(left + right) if left or right else edge
        return words.times(
            [*([words.diag_of(left)] if left else []), edge, *([words.diag_of(right)] if right else [])], 2
        )

    def fourth(self) -> words.MatrixWord:
        """Rows (0,1) and columns (2,3)."""
        pairs = {frozenset(edge[:2]) for edge in self.edges}
        straight, crossed = ({frozenset(p) for p in ps} & pairs for ps in (((0, 2), (1, 3)), ((0, 3), (1, 2))))
        if straight and crossed:
            words.refuse("its four indices do not fall into two pairs, so that it is no Kronecker product")
        if not straight and not crossed:
            return words.times(
                [
                    words.make_word("vec", [self.matrix(0, 1)], 1),
                    words.flip(words.make_word("vec", [self.matrix(2, 3)], 1)),
                ],
                2,
            )
        sides = [
            [words.make_word("diag", [words.make_word("vec", [m], 1)], 2)] if m else []
            for m in (self.take(0, 1), self.take(2, 3))
        ]
        a, b = (self.matrix(0, 2), self.matrix(1, 3)) if straight else (self.matrix(0, 3), self.matrix(1, 2))
        body = words.IDENTITY if a == b == words.IDENTITY else words.make_word("kron", [a, b], 2)
        return words.times(
            [*sides[0], body, *([words.MatrixWord("commutation", order=2)] if crossed else []), *sides[1]], 2
        )


# From expressions to words.


class _Writer:
    def __init__(self, facts: Facts, latex: bool):
        self.facts, self.latex = facts, latex
        self.place = {name: position for position, name in enumerate(facts.inputs)}
        self.known: dict[Expr, words.MatrixWord | RuleError] = {}

    def learn(self, e: Expr) -> None:
        """The word for ``e``, whose operands are known; or why there is none, should anyone ask."""
        try:
            self.known[e] = self.word(e)
        except RuleError as error:
            self.known[e] = error

    def of(self, e: Expr) -> words.MatrixWord:
        if e not in self.known:
            self.learn(e)
        found = self.known[e]
        if isinstance(found, RuleError):
            raise found.with_traceback(None)
        return found

    def word(self, e: Expr) -> words.MatrixWord:
        spend()
        if e.order > 2:
            name = e.name if isinstance(e, Variable) else "a part of it"
            words.refuse(f"{name} has {e.order} indices, and a matrix has two")
        rules: dict[type, Callable[..., words.MatrixWord]] = {
            Variable: self.variable,
            Constant: self.constant,
            Structure: self.structure,
            Product: self.product,
            Sum: self.sum,
            Elementwise: self.elementwise,
            Function: self.function,
        }
        return rules[type(e)](e)

    def variable(self, e: Variable) -> words.MatrixWord:
        head, _, tail = e.name.partition("_")
        accent = unicodedata.normalize("NFC", head + _ACCENTS[tail]) if len(head) == 1 and tail in _ACCENTS else e.name
        first = ((self.place.get(e.name, len(self.place)), e.name),)
        return words.MatrixWord("text", (), in_latex.symbol(e.name) if self.latex else accent, e.order, first)

    def constant(self, e: Constant) -> words.MatrixWord:
        value = numeric(e)
        if value is not None:
            return words.plus([(value, words.UNIT)], 0) if value < 0 else words.number_word(value)
        render = in_latex if self.latex else in_text
        spelled = render.render(program(e, tuple("ij"[: e.order]), self.facts, None).statements[-1].body, 2)
        if e.order:
            spelled = f"array_{e.value.digest[:6]}"
        return words.MatrixWord("text" if e.order or e.value == "pi" else "size", data=spelled, order=e.order)

    def structure(self, e: Structure) -> words.MatrixWord:
        kind = e.relation[0]
        if kind == "zero":
            return words.MatrixWord("zeros", order=e.order)
        ones = words.ONES if e.order == 1 else words.times([words.ONES, words.flip(words.ONES)], 2)
        if kind == "one":
            return ones
        if is_delta(e):
            return words.IDENTITY
        if kind == ">=" and set(e.relation[1]) == {1, -1} and e.relation[2] == 0:
            lower = words.make_word("triangle", [ones], 2)
            return lower if e.relation[1][0] == 1 else words.flip(lower)
        return words.refuse("it moves entries (a shift, a stride, a reshape or a gather)")

    def sum(self, e: Sum) -> words.MatrixWord:
        return self.added(e, self.of)

    def added(self, e: Sum, of: Callable[[Expr], words.MatrixWord]) -> words.MatrixWord:
        terms = [(c, of(a), a.key) for c, a in zip(e.coefs, e.args, strict=True)]
        terms.sort(key=_term_order)
        return words.plus([(c, w) for c, w, _ in terms], min(e.order, 2))

    def product(self, e: Product) -> words.MatrixWord:
        for a in e.args if e.order == 1 else ():
            if a.order == 2 and e in (last(a, (0, 1)), last(a, (1, 0))):
                return words.make_word("vec", [self.of(a) if e is last(a, (0, 1)) else words.flip(self.of(a))], 1)
        net = self.network(self.opened(e, e.out), e.out)
        if e.order == 2:
            body = net.matrix(*e.out)
        else:
            body = words.signed(net.weights.get(e.out[0], []), 1) if e.order else None
        return words.plus([(net.sign, words.scaled(net.scalars, body))], e.order)

    def opened(self, e: Product, out: Sequence[Hashable]) -> list[tuple[Expr, tuple]]:
        """The factors, with all products among them taken apart."""
        waiting: list[tuple[Expr, tuple]] = [(e, tuple(out))]
        factors = []
        while waiting:
            a, labels = waiting.pop()
            if isinstance(a, Product):
                name = dict(zip(a.out, labels, strict=True))
                own = object()
                waiting += [(b, tuple([name.get(x, (own, x)) for x in inner])) for b, inner in a.factors()]
            else:
                factors.append((a, labels))
        return factors[::-1]

    def network(self, factors: list[tuple[Expr, tuple]], out: Sequence[Hashable]) -> _Network:
        net = _Network(out)
        for a, labels in factors:
            exponent = numeric(a.args[1]) if isinstance(a, Elementwise) and a.op is POWER else None
            if exponent is not None and exponent < 0:
                net.add(-1, self.of(a.args[0] if exponent == -1 else a.args[0] ** -exponent), labels)
            else:
                net.add(1, self.of(a), labels)
        net.reduce()
        return net

    def fourth(self, e: Expr, places: tuple[int, ...]) -> words.MatrixWord:
        """A tensor with four axes, which are those at ``places`` of the result, as a matrix of matrices."""
        if isinstance(e, Sum):
            return self.added(e, lambda a: self.fourth(a, places))
        if isinstance(e, Structure) and e.relation[0] in ("one", "zero"):
            return (
                words.times([words.ONES, words.flip(words.ONES)], 2)
                if e.relation[0] == "one"
                else words.MatrixWord("zeros", order=2)
            )
        if not isinstance(e, Product):
            return self.word(e)
        factors = self.opened(e, places)
        whole = [factor for factor in factors if factor[0].order == 4]
        if len(whole) == 1 and all(a.order == 0 or a is whole[0][0] for a, _ in factors):
            net = self.network([factor for factor in factors if factor[0].order == 0], ())
            return words.plus([(net.sign, words.scaled(net.scalars, self.fourth(*whole[0])))], 2)
        net = self.network(factors, places)
        return words.plus([(net.sign, words.scaled(net.scalars, net.fourth()))], 2)

    def elementwise(self, e: Elementwise) -> words.MatrixWord:
        args = [self.of(a) for a in e.args]
        name = e.op.name
        if e.op is POWER:
            value = numeric(e.args[1])
            if value is None or value > 0:
                return words.power_word(args[0], args[1], value)
            below = args[0] if value == -1 else words.power_word(args[0], words.number_word(-value), -value)
            return words.signed([(-1, below)], e.order) if e.order else words.scaled([(-1, below)], None)
        if e.op.sign in _COMPARE:
            sign = _COMPARE[e.op.sign][self.latex]
            if not args[0].order and args[1].order:
                sign, args = _FLIPPED.get(sign, sign), args[::-1]
            return words.make_word("compare", args, e.order, sign)
        if not self.latex:
            return words.make_word("call", args, e.order, f"{name}.({{}})" if e.order else f"{name}({{}})")
        return words.make_word("call", args, e.order, _entrywise(e) if e.order else e.op.latex or _upright(name))

    def function(self, e: Function) -> words.MatrixWord:
        args = [self.of(a) for a in e.args]
        name, lead = e.op.name, e.args[0].order - e.op.axes_of(e.params)[0]
        if name in ("det", "logdet", "inv"):
            return words.inverse_of(args[0]) if name == "inv" else words.make_word(name, args, 0)
        if name in ("solve", "triangular_solve"):
            return words.times([self.inverse_of(name, args[0], e), args[1]], e.order)
        if not lead:
            head = e.op.latex.replace("_{{{axes}}}", "") if self.latex else f"{name}({{}})"
            return words.make_word("function", args, e.order, head or _upright(name))
        head = (_upright(name) if self.latex else f"{name}({{}})").replace(
            *((r"\left(", r"_{{\mathrm{{%s}}}}\left(") if self.latex else ("(", "_%s("))
        )
        flipped = words.flip(args[0])
        by_column = flipped.flips < args[0].flips
        word = words.make_word("column" if by_column else "row", [flipped if by_column else args[0]], e.order, head)
        return words.make_word("transpose", [word], 2) if by_column and e.order == 2 else word

    @staticmethod
    def inverse_of(name: str, matrix: words.MatrixWord, e: Function) -> words.MatrixWord:
        if name == "solve":
            return words.inverse_of(matrix)
        _, lower, transposed = e.params
        made_lower = e.args[0].args and isinstance(e.args[0], Function) and e.args[0].op.name == "cholesky"
        if not (made_lower and lower):
            matrix = (
                words.make_word("triangle", [matrix], 2)
                if lower
                else words.flip(words.make_word("triangle", [words.flip(matrix)], 2))
            )
        return words.flip(words.inverse_of(matrix)) if transposed else words.inverse_of(matrix)


def _term_order(term: tuple[Number, words.MatrixWord, int]) -> tuple:
    """First use, names before longer terms; constants last, but a plain 1 first."""
    coef, w, key = term
    return (1, w.first, w.kind != "text", w.flips, coef < 0, key) if w.first else (0 if coef == 1 else 2, w.kind, key)


def _upright(name: str) -> str:
    """A template for a function without a sign of its own."""
    escaped = name.replace("_", r"\_")
    return rf"\operatorname{{{{{escaped}}}}}\left({{}}\right)"


def _entrywise(e: Elementwise) -> str:
    r"""``\exp^{\odot}\left(…\right)``."""
    template = e.op.latex if e.op.latex.endswith("({0})") else _upright(e.op.name).replace(r"\left({}\right)", "({0})")
    return template.removesuffix("({0})") + r"^{{\odot}}\left({}\right)"
