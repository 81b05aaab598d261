"""The words of matrix notation, and what equals what among them: of equal words the one that a person would write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NoReturn

from ricci.errors import RuleError
from ricci.expr import HALF, Number, number


def refuse(reason: str) -> NoReturn:
    raise RuleError(f"This has no matrix notation: {reason}. Print it in index notation, with str(formula).")


@dataclass(frozen=True)
class MatrixWord:
    """A piece of matrix notation: a scalar, a column or a matrix, by its order (a row has the order of its column)."""

    kind: str
    args: tuple[MatrixWord, ...] = ()
    data: Any = None
    order: int = 0
    first: tuple = field(default=(), compare=False)  # where the user first wrote the variables in it
    flips: int = field(default=0, compare=False)  # the number of transposes in it
    told: bool = field(default=True, compare=False)  # of a sum: whether it is the author's own, sign and all
    turned: int = field(default=0, compare=False)  # of a sum: 1 as it was typed, -1 with all signs the other ones
    mirror: int = field(default=0, compare=False)  # of a matrix: 1 or -1 where it is, or is minus, its transpose
    leads: bool = field(default=False, compare=False)  # of a scalar: whether the author writes it first


def make_word(kind: str, args: Iterable[MatrixWord], order: int, data: Any = None) -> MatrixWord:
    args = tuple(args)
    first = tuple(sorted({place for a in args for place in a.first})[:4])
    own = kind in ("transpose", "inverse transposed", "adjoint", "conj")
    return MatrixWord(kind, args, data, order, first, own + sum(a.flips for a in args))


ONES, IDENTITY = MatrixWord("ones", order=1), MatrixWord("identity", order=2)
UNIT = MatrixWord("text", data="1")
ABSOLUTE = ("abs.({})", r"\operatorname{{abs}}^{{\odot}}\left({}\right)")
_NORMS = frozenset(["norm", "frobenius", "norm1", "norms"])
_COSTS = {"ones": 3, "identity": 2, "times": 0, "plus": 0, "signed": 0, "scaled": 0, "kron": 0, "rowwise": 0}
_SAME = frozenset(["identity", "commutation", "diag", "zeros"])


def flip(w: MatrixWord) -> MatrixWord:
    """The transpose."""
    if w.order == 0 or w.kind in _SAME or w.mirror > 0:
        return w
    if w.kind == "transpose":
        return w.args[0]
    if w.kind == "adjoint":
        return conjugate(w.args[0])
    if w.kind == "conj":
        return make_word("adjoint", w.args, w.order)
    if w.kind == "times":
        return times([flip(a) for a in reversed(w.args)], w.order)
    if w.kind in ("inverse", "inverse transposed"):
        other = "inverse" if w.kind != "inverse" else "inverse transposed"
        return w if flip(w.args[0]) == w.args[0] else make_word(other, w.args, 2)
    outside = make_word("transpose", [w], w.order)
    if w.kind in ("row", "column") and w.order == 2:
        other = make_word("column" if w.kind == "row" else "row", [flip(w.args[0])], 2, w.data)
        return other if other.flips < w.flips else outside
    if w.kind == "kron" and w.order == 2:
        return kron([flip(a) for a in w.args], 2)
    if w.kind not in ("plus", "scaled", "signed", "call", "compare", "power"):
        return outside
    inside = replace(make_word(w.kind, [flip(a) for a in w.args], w.order, w.data), told=w.told, turned=w.turned)
    alone = w.kind == "scaled" or (w.kind == "plus" and len(w.args) == 1)
    return w if parts_of(inside) == parts_of(w) else inside if alone or inside.flips < outside.flips else outside


def conjugate(w: MatrixWord) -> MatrixWord:
    """The complex conjugate, entry by entry."""
    if w.kind == "conj":
        return w.args[0]
    if w.kind == "adjoint":
        return flip(w.args[0])
    if w.kind == "transpose":
        return make_word("adjoint", w.args, w.order)
    return replace(make_word("conj", [w], w.order), mirror=w.mirror)


def size_of(w: MatrixWord, head: str) -> MatrixWord:
    """The squares of absolute values, entry by entry; ``head`` is how a text has the absolute value."""
    return power_word(make_word("call", [w], w.order, head), number_word(2), 2)


def without_bars(w: MatrixWord) -> MatrixWord:
    """What a norm is of, where its square is the sum of these squared."""
    return w.args[0] if w.kind == "call" and w.data in ABSOLUTE else w


def parts_of(w: MatrixWord) -> Counter:
    """What two words that differ in the order of their terms alone have in common."""
    signs = w.data if w.kind == "plus" else "⊙" + w.data if w.kind == "signed" else None
    return Counter([w] if signs is None else zip(signs, w.args, strict=True))


def without_mirrors(w: MatrixWord) -> tuple[int, MatrixWord]:
    """A sign and a chain, in which no matrix is turned that is minus its transpose."""
    chain = w.args if w.kind == "times" else (w,)
    turned = [a.kind == "transpose" and a.args[0].mirror < 0 for a in chain]
    if not any(turned):
        return 1, w
    return (-1) ** sum(turned), times([a.args[0] if t else a for a, t in zip(chain, turned, strict=True)], w.order)


def times(factors: Iterable[MatrixWord], order: int) -> MatrixWord:
    flat = [b for a in factors for b in (a.args if a.kind == "times" else (a,))]
    kept = [a for a in flat if a != IDENTITY] or [IDENTITY]
    return kept[0] if len(kept) == 1 else make_word("times", kept, order)


def kron(parts: Iterable[MatrixWord], order: int) -> MatrixWord:
    """``A ⊗ B``; of columns a column."""
    flat = [b for a in parts for b in (a.args if a.kind == "kron" else (a,))]
    if all(a == IDENTITY for a in flat):
        return IDENTITY
    return flat[0] if len(flat) == 1 else make_word("kron", flat, order)


def rowwise(parts: Sequence[MatrixWord]) -> MatrixWord:
    """``A • B``, each row the Kronecker product of rows."""
    return parts[0] if len(parts) == 1 else make_word("rowwise", parts, 2)


def vec_of(w: MatrixWord) -> MatrixWord:
    """The entries of a matrix as one column; those of ``x yᵀ`` are ``x ⊗ y``."""
    if w.kind == "times" and [a.order for a in w.args] == [1, 1]:
        return kron([w.args[0], flip(w.args[1])], 1)
    return make_word("vec", [w], 1)


def inverse_of(w: MatrixWord) -> MatrixWord:
    other = flip(w)
    if other.flips < w.flips:
        return make_word("inverse transposed", [other], 2)
    return make_word("inverse", [w], 2)


def power_word(base: MatrixWord, exponent: MatrixWord, value: Number | None) -> MatrixWord:
    if base.kind == "power" and value is not None and (base.args[0].kind in _NORMS or base.data == HALF):
        value = number(base.data * value)
        return power_word(base.args[0], number_word(value), value)
    norms = _norms_of(base) if isinstance(value, Fraction) and value.denominator == 2 else None
    if norms is not None and isinstance(value, Fraction):
        return power_word(norms, number_word(value.numerator), value.numerator)
    if isinstance(value, int) and value % 2 == 0:
        base = positive(base)[1]
    if value == 1 or (value == HALF and not base.order):
        return base if value == 1 else make_word("root", [base], 0)
    return make_word("power", [base, exponent], base.order or exponent.order, value)


def _norms_of(w: MatrixWord) -> MatrixWord | None:
    """The norms of all rows, or all columns, where ``w`` has their squares."""
    if w.kind != "times" or len(w.args) != 2 or w.args[1] != ONES:
        return None
    squares = w.args[0]
    by_column = squares.kind == "transpose"
    squares = squares.args[0] if by_column else squares
    return (
        make_word("norms", [without_bars(squares.args[0])], 1, "col" if by_column else "row")
        if is_square(squares)
        else None
    )


def number_word(value: Number) -> MatrixWord:
    return MatrixWord("number", data=value)


def signed(parts: Iterable[tuple[int, MatrixWord]], order: int) -> MatrixWord:
    """``x ⊙ y ⊘ z``."""
    parts = sorted(parts, key=lambda part: (-part[0], part[1].first))
    above, below = [w for e, w in parts if e > 0], [w for e, w in parts if e < 0]
    if not above and order == 2:
        return power_word(signed([(1, w) for w in below], 2), number_word(-1), -1)
    above = above or [ONES]
    words = above + below
    return words[0] if len(words) == 1 else make_word("signed", words, order, "⊙" * (len(above) - 1) + "⊘" * len(below))


def scaled(scalars: Sequence[tuple[int, MatrixWord]], body: MatrixWord | None, coef: Number = 1) -> MatrixWord:
    """Numbers and sizes, then scalars, then ``body``, over the scalars with negative exponents."""
    parts = sorted(scalars, key=_place_before)
    for _, n in [part for part in parts if part[1].kind == "number" and part[0] > 0]:
        coef = coef * n.data
    parts = [part for part in parts if part[1].kind != "number" or part[0] < 0]
    sizes = [part for part in parts if _is_size(part[1])]
    for e, size in [part for part in sizes if part[0] > 0]:
        if (-e, size) in sizes:
            sizes.remove((-e, size))
            sizes.remove((e, size))
    above = [w for e, w in parts if e > 0 and not _is_size(w)]
    below = [w for e, w in parts if e < 0 and not _is_size(w)]
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
    return make_word("scaled", [body, *above, *below], body.order, (coef, len(above), tuple(sizes)))


def _place_before(part: tuple[int, MatrixWord]) -> tuple:
    """Where a scalar stands in a product: constants, those that the author writes first, and the others."""
    w = part[1]
    return w.kind == "times", bool(w.first) and not w.leads, w.first


def _is_size(w: MatrixWord) -> bool:
    """The size of an index, or a power of it."""
    return w.kind == "size" or (w.kind == "power" and w.args[0].kind == "size" and isinstance(w.data, int))


def unscaled(w: MatrixWord) -> tuple[Number, list[tuple[int, MatrixWord]], MatrixWord]:
    """The number, the scalars and the rest that ``scaled`` makes a word of."""
    if w.kind != "scaled":
        return 1, [], w
    coef, n, sizes = w.data
    above, below = w.args[1 : n + 1], w.args[n + 1 :]
    return coef, [*sizes, *[(1, a) for a in above], *[(-1, b) for b in below]], w.args[0]


def plus(terms: Sequence[tuple[Number, MatrixWord]], order: int, told: bool = True, turned: int = 0) -> MatrixWord:
    """The terms in the order given, but a positive one first; equal ones are one."""
    total: dict[MatrixWord, Number] = {}
    for c, w in terms:
        for d, a in _opened(c, w):
            coef, scalars, body = unscaled(a)
            if d * coef < 0 and is_turnable(body) and (scalars or abs(d * coef) != 1):
                coef, body = -coef, plus([(-1, body)], body.order, False)
            rest = scaled(scalars, body)
            total[rest] = number(total.get(rest, 0) + d * coef)
    signed = [(c < 0, scaled([], w, abs(c))) for w, c in total.items() if c and not is_zero(w)]
    if not signed:
        return MatrixWord("zeros", order=order) if order else number_word(0)
    head = next((t for t in signed if not t[0]), signed[0])
    signed.remove(head)
    signed = [head, *signed]
    if len(signed) == 1 and not head[0]:
        return head[1]
    made = make_word("plus", [w for _, w in signed], order, tuple([m for m, _ in signed]))
    return replace(made, told=told, turned=turned)


def _opened(c: Number, w: MatrixWord) -> list[tuple[Number, MatrixWord]]:
    """The terms of a sum within a sum, where no number stands before it."""
    if w.kind != "plus" or (len(w.args) > 1 and abs(c) != 1):
        return [(c, w)]
    return [(-c if minus else c, a) for minus, a in zip(w.data, w.args, strict=True)]


def over_common(terms: Sequence[tuple[Number, MatrixWord]], order: int) -> MatrixWord:
    """A sum whose terms share a number or scalars, with these before or below it."""
    parts = [unscaled(w) for _, w in terms]
    coefs = [number(c * coef) for (c, _), (coef, *_) in zip(terms, parts, strict=True)]
    shared = [part for part in parts[0][1] if all(part in scalars for _, scalars, _ in parts)]
    whole = abs(coefs[0]) if len({abs(c) for c in coefs}) == 1 and isinstance(coefs[0], (int, Fraction)) else 1
    made = []
    for c, (_, scalars, body) in zip(coefs, parts, strict=True):
        rest = list(scalars)
        for part in shared:
            rest.remove(part)
        made.append((number(Fraction(c) / whole) if whole != 1 else c, scaled(rest, body)))
    if len(terms) < 2 or not order or not (shared or whole != 1):
        return plus(terms, order, False)
    made.sort(key=lambda term: (not term[1].first, term[1].first, term[1].kind != "text", term[1].flips))
    return scaled(shared, plus(made, order, False), whole)


def in_common(terms: Sequence[tuple[Number, MatrixWord]], order: int) -> MatrixWord:
    """A sum of matrices, with the matrices that all terms begin with, or end with, before and after a bracket."""
    parts = [unscaled(w) for _, w in terms]
    chains = [list(w.args) if w.kind == "times" else [w] for *_, w in parts]
    shortest = min(map(len, chains))
    head = next((n for n in range(shortest) if len({chain[n] for chain in chains}) > 1), shortest)
    tail = next((n for n in range(shortest - head) if len({c[-1 - n] for c in chains}) > 1), shortest - head)
    inner = [chain[head : len(chain) - tail] for chain in chains]
    if order < 2 or head + tail == 0 or not all(_is_matrix(chain) for chain in inner):
        return plus(terms, order, False)
    made = [
        (number(c * coef), scaled(scalars, times(chain, 2) if chain else IDENTITY))
        for (c, _), (coef, scalars, _), chain in zip(terms, parts, inner, strict=True)
    ]
    coef, shared, inside = unscaled(over_common(made, 2))
    return scaled(shared, times([*chains[0][:head], inside, *chains[0][len(chains[0]) - tail :]], order), coef)


def _is_matrix(chain: Sequence[MatrixWord]) -> bool:
    if not chain:
        return True
    begins = chain[0].order == 2 or chain[0].kind != "transpose"
    return begins and (chain[-1].order == 2 or (len(chain) > 1 and chain[-1].kind == "transpose"))


def unbracketed(w: MatrixWord) -> MatrixWord:
    """A whole result, without a bracket around its terms: ``Aᵀ + Bᵀ``, not ``(A + B)ᵀ``."""
    if w.kind == "transpose" and w.args[0].kind == "plus":
        sum_ = w.args[0]
        terms = [(-1 if m else 1, flip(a)) for m, a in zip(sum_.data, sum_.args, strict=True)]
        return plus(sorted(terms, key=lambda term: _leading(term[1])), w.order, w.told)
    return w


def _leading(w: MatrixWord) -> tuple:
    body = unscaled(w)[2]
    return (not w.first, body.args[0].first if body.kind == "times" else body.first)


def cost(w: MatrixWord) -> int:
    """How long a word is to read; ones are worse than names, and brackets that are turned worse than names that are."""
    own = _COSTS.get(w.kind, 1)
    if w.kind == "transpose" and w.args[0].kind in ("plus", "signed", "rowwise"):
        own = 2
    return own + sum(cost(a) for a in w.args)


def positive(w: MatrixWord) -> tuple[int, MatrixWord]:
    """A sign and ``w`` without it: a sum that its author would begin with a negative term is turned round."""
    if w.kind == "conj":
        sign, inner = positive(w.args[0])
        return sign, conjugate(inner)
    terms = [(1 if minus else -1, a) for minus, a in zip(w.data, w.args, strict=True)] if w.kind == "plus" else []
    if w.turned:
        return w.turned, w if w.turned > 0 else plus(terms, w.order, w.told, 1)
    if not w.told and len(terms) == 2 and terms[1][0] > 0 and w.args[0].first and _is_ones(w.args[1]):
        return -1, plus(terms, w.order, False)  # ``1 - x ⊙ x``, not ``x ⊙ x - 1``
    if not terms or (len(terms) > 1 and not (w.told and w.args[0].first) and False in w.data):
        return 1, w
    if w.told:
        terms.sort(key=lambda term: (not term[1].first, term[1].first, term[1].kind != "text"))
    return (-1, plus(terms, w.order, w.told)) if terms[0][0] > 0 else (1, w)


def _is_ones(w: MatrixWord) -> bool:
    return w.kind == "ones" or w == UNIT or (w.kind in ("times", "transpose") and all(_is_ones(a) for a in w.args))


def is_zero(w: MatrixWord) -> bool:
    return w.kind == "zeros" or (w.kind == "number" and w.data == 0) or (w.kind == "scaled" and is_zero(w.args[0]))


def is_turnable(w: MatrixWord) -> bool:
    """A difference that is not the author's, or begins with 1, so that a sign before it may as well be inside."""
    mixed = w.kind == "plus" and not w.turned and 0 < sum(w.data) < len(w.data) <= 2 * sum(w.data)
    return mixed and not (w.told and bool(w.args[0].first))


def diag_of(parts: Sequence[tuple[int, MatrixWord]]) -> MatrixWord:
    """The diagonal matrix of a product of vectors."""
    w = signed(parts, 1)
    return signed([(1, IDENTITY), (1, w.args[0])], 2) if w.kind == "diagonal" else make_word("diag", [w], 2)


def inner_product(left: MatrixWord, *rest: MatrixWord) -> MatrixWord:
    """``leftᵀ …`` or its transpose, a scalar."""
    word = times([flip(left), *rest], 0)
    other = times([flip(w) for w in reversed(word.args)], 0)
    return min(word, other, key=lambda w: (w.flips, [a.first for a in w.args]))


def trace_of(w: MatrixWord) -> MatrixWord:
    """The trace; of a chain, the best of all ways around it."""
    chains = [list(v.args) if v.kind == "times" else [v] for v in (w, flip(w))]
    ways = [[*chain[k:], *chain[:k]] for chain in chains for k in range(len(chain))]

    def order(way: list[MatrixWord]) -> tuple:
        return sum(a.flips for a in way), [a.first for a in way], -way[0].flips

    return make_word("trace", [times(min(ways, key=order), 2)], 0)


def is_square(w: MatrixWord) -> bool:
    return w.kind == "power" and w.data == 2
