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
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn

from ricci.errors import RuleError
from ricci.expr import (
    HALF,
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
    number,
    numeric,
    topological,
)
from ricci.expr.structure import is_delta
from ricci.functions.axes import last
from ricci.notation import syntax
from ricci.notation.context import Facts
from ricci.show import latex as in_latex
from ricci.show import text as in_text
from ricci.show.express import program

DEEPEST, LARGEST = 100, 2000  # levels, and nodes as a tree
SUM, SIGN, TERM, POST, ATOM = range(5)  # what may stand in a place without brackets; SIGN is ⊙, ⊘, ⊗
_ACCENTS = {"bar": "\u0304", "dot": "\u0307", "hat": "\u0302", "tilde": "\u0303"}
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_COMPARE = {"less": ("<", "<"), "less_equal": ("≤", r"\le"), "equal": ("=", "="), "not_equal": ("≠", r"\ne")}
_FLIPPED = {"<": ">", "≤": "≥", r"\le": r"\ge"}

# kind: level, level that the operands need, text, LaTeX
_TEMPLATES: dict[str, tuple[int, int, str, str]] = {
    "ones": (ATOM, ATOM, "1", r"\mathbf{{1}}"),
    "zeros": (ATOM, ATOM, "0", r"\mathbf{{0}}"),
    "identity": (ATOM, ATOM, "I", "I"),
    "commutation": (ATOM, ATOM, "K", "K"),
    "transpose": (POST, ATOM, "{0}ᵀ", r"{0}^{{\top}}"),
    "inverse": (POST, ATOM, "{0}⁻¹", r"{0}^{{-1}}"),
    "inverse transposed": (POST, ATOM, "{0}⁻ᵀ", r"{0}^{{-\top}}"),
    "diag": (ATOM, SUM, "diag({0})", r"\operatorname{{diag}}\left({0}\right)"),
    "diagonal": (ATOM, SUM, "diag({0})", r"\operatorname{{diag}}\left({0}\right)"),
    "vec": (ATOM, SUM, "vec({0})", r"\operatorname{{vec}}\left({0}\right)"),
    "trace": (ATOM, SUM, "tr({0})", r"\operatorname{{tr}}\left({0}\right)"),
    "triangle": (ATOM, SUM, "tril({0})", r"\operatorname{{tril}}\left({0}\right)"),
    "det": (ATOM, SUM, "det({0})", r"\det\left({0}\right)"),
    "logdet": (ATOM, SUM, "log|{0}|", r"\log\left|{0}\right|"),
    "norm": (ATOM, SUM, "‖{0}‖", r"\left\|{0}\right\|"),
    "frobenius": (ATOM, SUM, "‖{0}‖_F", r"\left\|{0}\right\|_F"),
    "root": (ATOM, SUM, "sqrt({0})", r"\sqrt{{{0}}}"),
}


def to_matrix(expr: Expr, facts: Facts, latex: bool = False) -> str:
    """``expr`` in matrix notation; a :class:`RuleError` says why where there is none."""
    _check_size(expr)
    writer = _Writer(facts, latex)
    for node in topological(expr):
        writer.learn(node)
    if expr.order not in (0, 1, 2, 4):
        _refuse(f"the result has {expr.order} indices, and a matrix has two")
    word = writer.fourth(expr, (0, 1, 2, 3)) if expr.order == 4 else writer.of(expr)
    _check_names(word)
    return _render(word, SUM, latex)


def _check_names(word: Word) -> None:
    """``I`` and ``K`` have a meaning here, so they cannot be names of variables beside it."""
    kinds, names, waiting = set(), set(), [word]
    while waiting:
        w = waiting.pop()
        kinds.add(w.kind)
        names.add(w.data if w.kind == "text" else None)
        waiting += w.args
    for kind, name in (("identity", "I"), ("commutation", "K")):
        if kind in kinds and name in names:
            _refuse(f"{name!r} is a variable in it, and would also have to stand for the {kind} matrix")


def _check_size(root: Expr) -> None:
    depth: dict[Expr, int] = {}
    size: dict[Expr, int] = {}
    for node in topological(root):
        depth[node] = 1 + max((depth[a] for a in node.args), default=0)
        size[node] = min(1 + sum(size[a] for a in node.args), LARGEST + 1)
    if depth[root] > DEEPEST:
        _refuse(f"it is {depth[root]} levels deep, and {DEEPEST} is the most for one line")
    if size[root] > LARGEST:
        _refuse(f"it has more than {LARGEST} parts when written out, too many for one line")


def _refuse(reason: str) -> NoReturn:
    raise RuleError(f"This has no matrix notation: {reason}. Print it in index notation, with str(formula).")


# The words of matrix notation.


@dataclass(frozen=True)
class Word:
    """A piece of matrix notation: a scalar, a column or a matrix, by its order (a row has the order of its column)."""

    kind: str
    args: tuple[Word, ...] = ()
    data: Any = None
    order: int = 0
    first: tuple = field(default=(), compare=False)  # where the user first wrote the variables in it
    flips: int = field(default=0, compare=False)  # the number of transposes in it


def _word(kind: str, args: Iterable[Word], order: int, data: Any = None) -> Word:
    args = tuple(args)
    first = tuple(sorted({place for a in args for place in a.first})[:4])
    own = kind in ("transpose", "inverse transposed")
    return Word(kind, args, data, order, first, own + sum(a.flips for a in args))


ONES, IDENTITY = Word("ones", order=1), Word("identity", order=2)
UNIT = Word("text", data="1")
_SAME = frozenset(["identity", "commutation", "diag", "zeros"])


def _flip(w: Word) -> Word:
    """The transpose."""
    if w.order == 0 or w.kind in _SAME:
        return w
    if w.kind == "transpose":
        return w.args[0]
    if w.kind == "times":
        return _times([_flip(a) for a in reversed(w.args)], w.order)
    if w.kind in ("inverse", "inverse transposed"):
        other = "inverse" if w.kind != "inverse" else "inverse transposed"
        return w if _flip(w.args[0]) == w.args[0] else _word(other, w.args, 2)
    if w.kind in ("row", "column") and w.order == 2:
        return _word("column" if w.kind == "row" else "row", [_flip(w.args[0])], 2, w.data)
    outside = _word("transpose", [w], w.order)
    if w.kind not in ("plus", "scaled", "signed", "call", "compare", "power"):
        return outside
    inside = _word(w.kind, [_flip(a) for a in w.args], w.order, w.data)
    alone = w.kind == "scaled" or (w.kind == "plus" and len(w.args) == 1)
    return w if _parts(inside) == _parts(w) else inside if alone or inside.flips < outside.flips else outside


def _parts(w: Word) -> Counter:
    """What two words that differ in the order of their terms alone have in common."""
    signs = w.data if w.kind == "plus" else "⊙" + w.data if w.kind == "signed" else None
    return Counter([w] if signs is None else zip(signs, w.args, strict=True))


def _times(factors: Iterable[Word], order: int) -> Word:
    flat = [b for a in factors for b in (a.args if a.kind == "times" else (a,))]
    kept = [a for a in flat if a != IDENTITY] or [IDENTITY]
    return kept[0] if len(kept) == 1 else _word("times", kept, order)


def _inverse(w: Word) -> Word:
    return _word("inverse transposed", w.args, 2) if w.kind == "transpose" else _word("inverse", [w], 2)


def _power(base: Word, exponent: Word, value: Number | None) -> Word:
    if base.kind == "power" and base.args[0].kind in ("norm", "frobenius") and value is not None:
        value = number(base.data * value)
        return _power(base.args[0], _number(value), value)
    if isinstance(value, int) and value % 2 == 0:
        base = _positive(base)[1]
    if value == 1 or (value == HALF and not base.order):
        return base if value == 1 else _word("root", [base], 0)
    return _word("power", [base, exponent], base.order or exponent.order, value)


def _number(value: Number) -> Word:
    return Word("number", data=value)


def _signed(parts: Iterable[tuple[int, Word]], order: int) -> Word:
    """``x ⊙ y ⊘ z``."""
    parts = sorted(parts, key=lambda part: (-part[0], part[1].first))
    above, below = [w for e, w in parts if e > 0], [w for e, w in parts if e < 0]
    if not above and order == 2:
        return _power(_signed([(1, w) for w in below], 2), _number(-1), -1)
    above = above or [ONES]
    words = above + below
    return words[0] if len(words) == 1 else _word("signed", words, order, "⊙" * (len(above) - 1) + "⊘" * len(below))


def _scaled(scalars: Sequence[tuple[int, Word]], body: Word | None, coef: Number = 1) -> Word:
    """Numbers and sizes, then scalars, then ``body``, over the scalars with negative exponents."""
    parts = sorted(scalars, key=lambda part: (part[1].kind == "times", part[1].first))
    sizes = [part for part in parts if part[1].kind == "size"]
    above = [w for e, w in parts if e > 0 and w.kind != "size"]
    below = [w for e, w in parts if e < 0 and w.kind != "size"]
    if body is None:
        body = above.pop() if above else UNIT
    if body.kind == "scaled":
        old, n, own = body.data
        coef, sizes = coef * old, [*sizes, *own]
        above, below, body = above + [*body.args[1 : n + 1]], below + [*body.args[n + 1 :]], body.args[0]
    if body.kind == "number":
        coef, body = coef * body.data, UNIT
    if coef == 1 and not sizes and not above and not below:
        return body
    return _word("scaled", [body, *above, *below], body.order, (coef, len(above), tuple(sizes)))


def _plus(terms: Sequence[tuple[Number, Word]], order: int) -> Word:
    """The terms in the order given, but a positive one first."""
    plain = [(-c, w.args[0]) if w.kind == "plus" and len(w.args) == 1 else (c, w) for c, w in terms]
    signed = [(c < 0, _scaled([], w, abs(c))) for c, w in plain]
    head = next((t for t in signed if not t[0]), signed[0])
    signed.remove(head)
    signed = [head, *signed]
    if len(signed) == 1 and not head[0]:
        return head[1]
    return _word("plus", [w for _, w in signed], order, tuple([minus for minus, _ in signed]))


def _positive(w: Word) -> tuple[int, Word]:
    """A sign and ``w`` without it: a sum that users would begin with a negative term is turned round."""
    terms = [(1 if minus else -1, a) for minus, a in zip(w.data, w.args, strict=True)] if w.kind == "plus" else []
    if not terms or (len(terms) > 1 and not w.args[0].first):
        return 1, w
    terms.sort(key=lambda term: (not term[1].first, term[1].first, term[1].kind != "text"))
    return (-1, _plus(terms, w.order)) if terms[0][0] > 0 else (1, w)


def _diag(parts: Sequence[tuple[int, Word]]) -> Word:
    """The diagonal matrix of a product of vectors."""
    w = _signed(parts, 1)
    return _signed([(1, IDENTITY), (1, w.args[0])], 2) if w.kind == "diagonal" else _word("diag", [w], 2)


def _inner(left: Word, *rest: Word) -> Word:
    """``leftᵀ …`` or its transpose, a scalar."""
    word = _times([_flip(left), *rest], 0)
    other = _times([_flip(w) for w in reversed(word.args)], 0)
    return min(word, other, key=lambda w: (w.flips, [a.first for a in w.args]))


def _trace(w: Word) -> Word:
    """The trace; of a chain, the best of all ways around it."""
    chains = [list(v.args) if v.kind == "times" else [v] for v in (w, _flip(w))]
    ways = [[*chain[k:], *chain[:k]] for chain in chains for k in range(len(chain))]

    def order(way: list[Word]) -> tuple:
        return sum(a.flips for a in way), [a.first for a in way], -way[0].flips

    return _word("trace", [_times(min(ways, key=order), 2)], 0)


def _is_square(w: Word) -> bool:
    return w.kind == "power" and w.data == 2


# Networks.


class _Network:
    """The factors of a product: weights on indices, edges between them (from, to, exponent, matrix) and scalars."""

    def __init__(self, out: Iterable[Hashable]):
        self.out = tuple(out)
        self.weights: dict[Hashable, list[tuple[int, Word]]] = {}
        self.edges: list[tuple[Hashable, Hashable, int, Word]] = []
        self.scalars: list[tuple[int, Word]] = []
        self.sign = 1

    def add(self, exponent: int, word: Word, labels: Sequence[Hashable]) -> None:
        sign, word = _positive(word)
        self.sign *= sign
        for label in labels:
            self.weights.setdefault(label, [])
        if not labels:
            self.scalars.append((exponent, word))
        elif len(labels) == 1:
            self.weights[labels[0]].append((exponent, word))
        elif labels[0] == labels[1]:
            self.weights[labels[0]].append((exponent, _word("diagonal", [word], 1)))
        else:
            self.edges.append((labels[0], labels[1], exponent, word))

    def reduce(self) -> None:
        while any(self._eliminate(v) for v in list(self.weights) if v not in self.out) or self._parallel():
            pass
        left = [v for v in self.weights if v not in self.out]
        if left:
            _refuse("an index joins three matrices or more, so that it is no chain of matrices")

    def at(self, v: Hashable) -> list[tuple[Hashable, Hashable, int, Word]]:
        return [edge for edge in self.edges if v in edge[:2]]

    def take(self, u: Hashable, v: Hashable) -> Word | None:
        """The matrix with rows ``u`` and columns ``v``, if there is one; the edge is removed."""
        found = [edge for edge in self.edges if {u, v} == set(edge[:2])]
        for edge in found:
            self.edges.remove(edge)
        return _signed([(e, w if a == u else _flip(w)) for a, _, e, w in found], 2) if found else None

    def column(self, v: Hashable) -> Word:
        """The weights on ``v`` as one vector that ends a chain: ``diag(s) A x`` or ``s ⊙ x``."""
        weights = self.weights[v]
        chains = [w for e, w in weights if e > 0 and w.kind == "times"]
        rest = [part for part in weights if part[1] not in chains]
        return _times([_diag(rest), chains[0]], 1) if rest and len(chains) == 1 else _signed(weights, 1)

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
            middle = [_diag(self.weights[v])] if self.weights[v] else []
            self.edges.append((ends[0], ends[1], 1, _times([left, *middle, right], 2)))
        del self.weights[v]
        return True

    def _leaf(self, v: Hashable, u: Hashable) -> None:
        matrix = self.take(u, v)
        assert matrix is not None
        alone = u not in self.out and not self.weights[u] and not self.weights[v] and not self.at(u)
        square = next((w for w in (matrix, _flip(matrix)) if _is_square(w)), None)
        if alone and square is not None:
            self.weights[u].append((1, _word("squares", [square.args[0]], 1)))
        else:
            self.weights[u].append((1, _times([matrix, self.column(v)], 1)))

    @staticmethod
    def _total(weights: list[tuple[int, Word]]) -> Word:
        """The sum of the entries of a product of vectors."""
        chains = [w for e, w in weights if e > 0 and w.kind == "times"]
        rest = [part for part in weights if part[1] not in chains]
        above = [w for e, w in rest if e > 0]
        if len(weights) == 1 and above:
            (w,) = above
            if w.kind == "diagonal":
                return _trace(w.args[0])
            if w.kind == "squares" or _is_square(w):
                return _power(_word("norm" if w.kind == "power" else "frobenius", [w.args[0]], 0), _number(2), 2)
        if len(chains) > 1:
            middle = rest + [(1, w) for w in chains[1:-1]]
            return _inner(chains[0], *([_diag(middle)] if middle else []), chains[-1])
        if chains:
            return _inner(_signed(rest, 1), chains[0])
        if len(above) > 1:
            rest.remove((1, above[0]))
            return _inner(above[0], _signed(rest, 1))
        return _inner(ONES, _signed(rest, 1))

    def _parallel(self) -> bool:
        """Two edges or more between the same indices: a loop where that is a trace or shorter, or one edge, ``⊙``."""
        for u, v in [edge[:2] for edge in self.edges]:
            both = [edge for edge in self.edges if {u, v} == set(edge[:2])]
            if len(both) == 1:
                continue
            kept, gone = self._loop(u, v)
            one, two = [_signed([(e, w if a == kept else _flip(w))], 2) for a, _, e, w in both[:2]]
            loop = _times([one, *([_diag(self.weights[gone])] if self.weights[gone] else []), _flip(two)], 2)
            loop = min(loop, _flip(loop), key=lambda w: (w.flips, [a.first for a in w.args]))
            merged = self.take(u, v)
            assert merged is not None
            trace = not ({u, v} & set(self.out) or self.at(u) or self.at(v) or self.weights[kept])
            short = gone not in self.out and not self.at(gone) and loop.flips < merged.flips
            if len(both) == 2 and (trace or (short and not self.weights[gone])):
                del self.weights[gone]
                self.weights[kept].append((1, _word("diagonal", [loop], 1)))
            else:
                self.edges.append((u, v, 1, merged))
            return True
        return False

    def _loop(self, u: Hashable, v: Hashable) -> tuple[Hashable, Hashable]:
        """Which of two indices a loop would keep: one of the output, or the one without weights."""
        swap = v in self.out or (u not in self.out and bool(self.weights[u]))
        return (v, u) if swap else (u, v)

    def matrix(self, i: Hashable, j: Hashable) -> Word:
        """What is left between two indices of the output, with their weights."""
        edge, left, right = self.take(i, j), self.weights.get(i, []), self.weights.get(j, [])
        if edge is None:
            return _times([_signed(left, 1), _flip(_signed(right, 1))], 2)
        if edge == IDENTITY:
            return _diag(left + right) if left or right else edge
        return _times([*([_diag(left)] if left else []), edge, *([_diag(right)] if right else [])], 2)

    def fourth(self) -> Word:
        """Rows (0,1) and columns (2,3)."""
        pairs = {frozenset(edge[:2]) for edge in self.edges}
        straight, crossed = ({frozenset(p) for p in ps} & pairs for ps in (((0, 2), (1, 3)), ((0, 3), (1, 2))))
        if straight and crossed:
            _refuse("its four indices do not fall into two pairs, so that it is no Kronecker product")
        if not straight and not crossed:
            return _times([_word("vec", [self.matrix(0, 1)], 1), _flip(_word("vec", [self.matrix(2, 3)], 1))], 2)
        sides = [[_word("diag", [_word("vec", [m], 1)], 2)] if m else [] for m in (self.take(0, 1), self.take(2, 3))]
        a, b = (self.matrix(0, 2), self.matrix(1, 3)) if straight else (self.matrix(0, 3), self.matrix(1, 2))
        body = IDENTITY if a == b == IDENTITY else _word("kron", [a, b], 2)
        return _times([*sides[0], body, *([Word("commutation", order=2)] if crossed else []), *sides[1]], 2)


# From expressions to words.


class _Writer:
    def __init__(self, facts: Facts, latex: bool):
        self.facts, self.latex = facts, latex
        self.place = {name: position for position, name in enumerate(facts.inputs)}
        self.known: dict[Expr, Word | RuleError] = {}

    def learn(self, e: Expr) -> None:
        """The word for ``e``, whose operands are known; or why there is none, should anyone ask."""
        try:
            self.known[e] = self.word(e)
        except RuleError as error:
            self.known[e] = error

    def of(self, e: Expr) -> Word:
        if e not in self.known:
            self.learn(e)
        found = self.known[e]
        if isinstance(found, RuleError):
            raise found.with_traceback(None)
        return found

    def word(self, e: Expr) -> Word:
        if e.order > 2:
            name = e.name if isinstance(e, Variable) else "a part of it"
            _refuse(f"{name} has {e.order} indices, and a matrix has two")
        rules: dict[type, Callable[..., Word]] = {
            Variable: self.variable,
            Constant: self.constant,
            Structure: self.structure,
            Product: self.product,
            Sum: self.sum,
            Elementwise: self.elementwise,
            Function: self.function,
        }
        return rules[type(e)](e)

    def variable(self, e: Variable) -> Word:
        head, _, tail = e.name.partition("_")
        accent = unicodedata.normalize("NFC", head + _ACCENTS[tail]) if len(head) == 1 and tail in _ACCENTS else e.name
        first = ((self.place.get(e.name, len(self.place)), e.name),)
        return Word("text", (), in_latex.symbol(e.name) if self.latex else accent, e.order, first)

    def constant(self, e: Constant) -> Word:
        value = numeric(e)
        if value is not None:
            return _plus([(value, UNIT)], 0) if value < 0 else _number(value)
        render = in_latex if self.latex else in_text
        spelled = render.render(program(e, tuple("ij"[: e.order]), self.facts, None).statements[-1].body, 2)
        if e.order:
            spelled = f"array_{e.value.digest[:6]}"
        return Word("text" if e.order or e.value == "pi" else "size", data=spelled, order=e.order)

    def structure(self, e: Structure) -> Word:
        kind = e.relation[0]
        if kind == "zero":
            return Word("zeros", order=e.order)
        ones = ONES if e.order == 1 else _times([ONES, _flip(ONES)], 2)
        if kind == "one":
            return ones
        if is_delta(e):
            return IDENTITY
        if kind == ">=" and set(e.relation[1]) == {1, -1} and e.relation[2] == 0:
            lower = _word("triangle", [ones], 2)
            return lower if e.relation[1][0] == 1 else _flip(lower)
        _refuse("it moves entries (a shift, a stride, a reshape or a gather)")

    def sum(self, e: Sum) -> Word:
        return self.added(e, self.of)

    def added(self, e: Sum, of: Callable[[Expr], Word]) -> Word:
        terms = [(c, of(a), a.key) for c, a in zip(e.coefs, e.args, strict=True)]
        terms.sort(key=_term_order)
        return _plus([(c, w) for c, w, _ in terms], min(e.order, 2))

    def product(self, e: Product) -> Word:
        for a in e.args if e.order == 1 else ():
            if a.order == 2 and e in (last(a, (0, 1)), last(a, (1, 0))):
                return _word("vec", [self.of(a) if e is last(a, (0, 1)) else _flip(self.of(a))], 1)
        net = self.network(self.opened(e, e.out), e.out)
        if e.order == 2:
            body = net.matrix(*e.out)
        else:
            body = _signed(net.weights.get(e.out[0], []), 1) if e.order else None
        return _plus([(net.sign, _scaled(net.scalars, body))], e.order)

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

    def fourth(self, e: Expr, places: tuple[int, ...]) -> Word:
        """A tensor with four axes, which are those at ``places`` of the result, as a matrix of matrices."""
        if isinstance(e, Sum):
            return self.added(e, lambda a: self.fourth(a, places))
        if isinstance(e, Structure) and e.relation[0] in ("one", "zero"):
            return _times([ONES, _flip(ONES)], 2) if e.relation[0] == "one" else Word("zeros", order=2)
        if not isinstance(e, Product):
            return self.word(e)
        factors = self.opened(e, places)
        whole = [factor for factor in factors if factor[0].order == 4]
        if len(whole) == 1 and all(a.order == 0 or a is whole[0][0] for a, _ in factors):
            net = self.network([factor for factor in factors if factor[0].order == 0], ())
            return _plus([(net.sign, _scaled(net.scalars, self.fourth(*whole[0])))], 2)
        net = self.network(factors, places)
        return _plus([(net.sign, _scaled(net.scalars, net.fourth()))], 2)

    def elementwise(self, e: Elementwise) -> Word:
        args = [self.of(a) for a in e.args]
        name = e.op.name
        if e.op is POWER:
            value = numeric(e.args[1])
            if value is None or value > 0:
                return _power(args[0], args[1], value)
            below = args[0] if value == -1 else _power(args[0], _number(-value), -value)
            return _signed([(-1, below)], e.order) if e.order else _scaled([(-1, below)], None)
        if name in _COMPARE:
            sign = _COMPARE[name][self.latex]
            if not args[0].order and args[1].order:
                sign, args = _FLIPPED.get(sign, sign), args[::-1]
            return _word("compare", args, e.order, sign)
        if not self.latex:
            return _word("call", args, e.order, f"{name}.({{}})" if e.order else f"{name}({{}})")
        return _word("call", args, e.order, _entrywise(e) if e.order else e.op.latex or _upright(name))

    def function(self, e: Function) -> Word:
        args = [self.of(a) for a in e.args]
        name, lead = e.op.name, e.args[0].order - e.op.axes_of(e.params)[0]
        if name in ("det", "logdet", "inv"):
            return _inverse(args[0]) if name == "inv" else _word(name, args, 0)
        if name in ("solve", "triangular_solve"):
            return _times([self.inverse_of(name, args[0], e), args[1]], e.order)
        if not lead:
            head = e.op.latex.replace("_{{{axes}}}", "") if self.latex else f"{name}({{}})"
            return _word("function", args, e.order, head or _upright(name))
        head = (_upright(name) if self.latex else f"{name}({{}})").replace(
            *((r"\left(", r"_{{\mathrm{{%s}}}}\left(") if self.latex else ("(", "_%s("))
        )
        flipped = _flip(args[0])
        by_column = flipped.flips < args[0].flips
        word = _word("column" if by_column else "row", [flipped if by_column else args[0]], e.order, head)
        return _word("transpose", [word], 2) if by_column and e.order == 2 else word

    @staticmethod
    def inverse_of(name: str, matrix: Word, e: Function) -> Word:
        if name == "solve":
            return _inverse(matrix)
        _, lower, transposed = e.params
        made_lower = e.args[0].args and isinstance(e.args[0], Function) and e.args[0].op.name == "cholesky"
        if not (made_lower and lower):
            matrix = _word("triangle", [matrix], 2) if lower else _flip(_word("triangle", [_flip(matrix)], 2))
        return _flip(_inverse(matrix)) if transposed else _inverse(matrix)


def _term_order(term: tuple[Number, Word, int]) -> tuple:
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


# From words to text.


def _render(w: Word, place: int, latex: bool) -> str:
    level, shown = _shown(w, latex)
    if level >= place:
        return shown
    return rf"\left({shown}\right)" if latex else f"({shown})"


def _shown(w: Word, latex: bool) -> tuple[int, str]:
    """Its level and its text."""
    if w.kind in _TEMPLATES:
        level, inner, text, tex = _TEMPLATES[w.kind]
        return level, (tex if latex else text).format(*[_render(a, inner, latex) for a in w.args])
    return _SHOWN[w.kind](w, latex)


def _show_number(w: Word, latex: bool) -> tuple[int, str]:
    if isinstance(w.data, Fraction):
        top, below = (_show_number(_number(v), latex)[1] for v in (w.data.numerator, w.data.denominator))
        return SUM if w.data < 0 else TERM, rf"\frac{{{top}}}{{{below}}}" if latex else f"{top}/{below}"
    node = syntax.Number(0, 0, w.data)
    return SUM if w.data < 0 else ATOM, in_latex.render(node, 0) if latex else in_text.render(node, 0)


def _show_scaled(w: Word, latex: bool) -> tuple[int, str]:
    coef, n, sizes = w.data
    body, above, below = w.args[0], w.args[1 : n + 1], w.args[n + 1 :]
    exact = Fraction(coef) if isinstance(coef, (int, Fraction)) else None
    top, bottom = (exact.numerator, exact.denominator) if exact is not None else (coef, 1)
    numbers = [[_show_number(_number(v), latex)[1]] if v != 1 else [] for v in (top, bottom)]
    over, under = (part + [s.data for e, s in sizes if e == sign] for part, sign in zip(numbers, (1, -1), strict=True))
    several = not body.order and any(a.kind == "times" for a in above)
    main = [_render(a, POST, latex) for a in above]
    if body != UNIT:
        alone = latex and below and not over and not above
        main.append(_render(body, SUM if alone else POST if several else SIGN, latex))
    level = min(TERM, SIGN if body.kind in ("signed", "kron") else TERM)
    if latex:
        bare = SUM if len(below) == 1 and not under else POST
        return _fraction(over, main, under, [_render(b, bare, latex) for b in below], level)
    front = " ".join(over) or ("1" if under or not main else "")
    front += "/" + _in_brackets(under) if under else ""
    ones = front[-1:].isdigit() and not above and main and main[0].startswith("1")
    line = f"{front}·{' '.join(main)}" if ones else " ".join([front, *main] if front else main)
    return level, line + (" / " + _in_brackets([_render(b, POST, latex) for b in below]) if below else "")


def _in_brackets(factors: list[str]) -> str:
    return factors[0] if len(factors) == 1 else f"({' '.join(factors)})"


def _fraction(over: list[str], main: list[str], under: list[str], below: list[str], level: int) -> tuple[int, str]:
    """Scalars below are under one bar with everything; numbers and sizes alone are in a fraction before the rest."""
    if below:
        return POST, rf"\frac{{{' '.join(over + main) or '1'}}}{{{' '.join(under + below)}}}"
    front = [rf"\frac{{{' '.join(over) or '1'}}}{{{' '.join(under)}}}"] if under else over
    return level, " ".join(front + main)


def _show_plus(w: Word, latex: bool) -> tuple[int, str]:
    terms = [_render(a, SIGN, latex) for a in w.args]
    head, *rest = zip(w.data, terms, strict=True)
    return SUM, ("-" if head[0] else "") + head[1] + "".join((" - " if m else " + ") + t for m, t in rest)


def _show_signed(w: Word, latex: bool) -> tuple[int, str]:
    sign = {"⊙": r" \odot ", "⊘": r" \oslash "} if latex else {"⊙": " ⊙ ", "⊘": " ⊘ "}
    head, *rest = [_render(a, POST, latex) for a in w.args]
    return SIGN, head + "".join(sign[s] + shown for s, shown in zip(w.data, rest, strict=True))


def _show_power(w: Word, latex: bool) -> tuple[int, str]:
    base, exponent = _render(w.args[0], ATOM, latex), _render(w.args[1], SUM, latex and w.data is None)
    if w.order:
        return POST, rf"{base}^{{\odot {exponent}}}" if latex else f"{base}^{{⊙{exponent}}}"
    raised = not latex and isinstance(w.data, int)
    return POST, base + exponent.translate(_RAISED) if raised else f"{base}^{{{exponent}}}"


def _show_call(w: Word, latex: bool) -> tuple[int, str]:
    args = [_render(a, SUM, latex) for a in w.args]
    template = w.data.replace("%s", "row" if w.kind == "row" else "col")
    return ATOM, template.format(", ".join(args)) if "{}" in template else template.format(*args)


def _show_compare(w: Word, latex: bool) -> tuple[int, str]:
    left, right = (_render(a, SIGN, latex) for a in w.args)
    return ATOM, rf"\left[{left} {w.data} {right}\right]" if latex else f"[{left} {w.data} {right}]"


def _joined(sign: str, tex: str, level: int, inner: int) -> Callable[[Word, bool], tuple[int, str]]:
    return lambda w, latex: (level, (tex if latex else sign).join(_render(a, inner, latex) for a in w.args))


_SHOWN: dict[str, Callable[[Word, bool], tuple[int, str]]] = {
    "text": lambda w, latex: (ATOM, w.data),
    "size": lambda w, latex: (ATOM, w.data),
    "number": _show_number,
    "times": _joined(" ", " ", TERM, POST),
    "kron": _joined(" ⊗ ", r" \otimes ", SIGN, TERM),
    "signed": _show_signed,
    "scaled": _show_scaled,
    "plus": _show_plus,
    "power": _show_power,
    "compare": _show_compare,
    "call": _show_call,
    "function": _show_call,
    "row": _show_call,
    "column": _show_call,
}
