"""From pieces of a text in the matrix language to the tree of index notation, which all that follows reads.

A piece is written at given indices, those of its rows and of its columns: ``A*B`` at (i, j) is ``A`` at (i, k) times
``B`` at (k, j), where ``k`` is an index of its own. An index that is summed in one factor of a product must not be
one of another factor, where the product would sum over both; terms of a sum share theirs.

Indices go by the names that were declared, then by these with primes, and the others by ``i``, ``j``, ``k``. Every
piece has the place in the text that its node gets, so later errors have their carets there too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count

from ricci.notation import syntax
from ricci.notation.matrix_shapes import Extent, MatrixPiece, MatrixSide

LETTERS = "ijklmnpqrstuvwabcdefgh"
Names = tuple[str, ...]


class Indices:
    """The indices of one text, and what is written with them."""

    def __init__(self, taken: Iterable[str], declared: Mapping[str, Extent]):
        self.taken = {*taken, *declared}  # names that no new index may have
        self.pools: dict[Extent, list[str]] = {}
        for name, extent in declared.items():
            self.pools.setdefault(extent.root(), []).append(name)
        self.busy: set[str] = set()  # those of the place that is written now
        self.more = chain(LETTERS, map("i{}".format, count(1)))
        self.on_axes: set[str] = set()  # indices that a tensor has
        self.equations: list[tuple[syntax.Size, syntax.Node]] = []

    def fresh(self, extent: Extent) -> str:
        """An index over an extent that is not in use."""
        pool = self.pools.setdefault(extent.root(), [])
        name = next((name for name in pool if name not in self.busy), None)
        if name is None:
            name = next(name for name in self._candidates(extent.root()) if name not in self.taken)
            pool.append(name)
            self.taken.add(name)
        self.busy.add(name)
        return name

    def _candidates(self, extent: Extent) -> Iterator[str]:
        return self.more if not extent.name else (extent.name + "'" * number for number in count(1))

    def of(self, side: MatrixSide | None) -> Names:
        """Fresh indices over a side."""
        return () if side is None else tuple([self.fresh(extent) for extent in side.extents])

    def begin(self, sides: Iterable[MatrixSide | None]) -> None:
        """Names for the axes of inputs, in the order of the text."""
        for side in sides:
            for extent in side.extents if side is not None else ():
                if extent.root() not in self.pools:
                    self.fresh(extent)

    # Statements.

    def statement(self, piece: MatrixPiece, name: str | None, merged: bool, wanted: Names) -> syntax.Statement:
        """A statement with this right side; ``merged`` says that its rows, which are pairs, are one index.

        ``wanted`` are the indices that were declared for its name, if any.
        """
        self.busy = set(wanted)
        if wanted and not merged:
            split = 0 if piece.rows is None else len(piece.rows.extents)
            rows, columns = wanted[:split], wanted[split:]
            for extent, index in zip(_extents(piece), wanted, strict=True):
                pool = self.pools.setdefault(extent.root(), [])
                pool += [index] if index not in pool else []
                self.taken.add(index)
        else:
            rows, columns = self.of(piece.rows), self.of(piece.columns)
        node, free = self.write(piece, rows, columns), rows + columns
        if merged:
            whole = wanted[0] if wanted else self.fresh(Extent())
            self.taken.add(whole)
            at = syntax.Delta(piece.start, piece.end, (_plain(piece, whole), self._place(piece, free)))
            node = syntax.ProductNode(piece.start, piece.end, ((1, node), (1, at)))
            size = _product(piece, [syntax.Size(piece.start, piece.end, name) for name in free])
            self.equations.append((syntax.Size(piece.start, piece.end, whole), size))
            free = (whole,)
            self.on_axes.add(whole)
        indices = tuple([_plain(piece, name) for name in free])
        if name is not None:
            self.on_axes.update(free)
        named = indices if name is None else indices or None
        return syntax.Statement(piece.start, piece.end, name, named, node, row=piece.is_row)

    def _place(self, piece: MatrixPiece, names: Names) -> syntax.Index:
        """Where the entry at two indices stands in a column that has them all, row-major."""
        first, second = names
        terms = ((1, first), (1, second))
        return syntax.Index(piece.start, piece.end, terms, strides=(second, ""))

    def sizes(self) -> syntax.SizeLine:
        """What no tensor tells of the sizes of indices: those that none has are as long as their like."""
        for pool in self.pools.values():
            lead = next((name for name in pool if name in self.on_axes), pool[0])
            for name in pool:
                if name not in self.on_axes and name != lead:
                    self.equations.append((syntax.Size(0, 0, name), syntax.Size(0, 0, lead)))
        return syntax.SizeLine((), tuple(self.equations))

    # Pieces.

    def write(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        """A piece at these indices."""
        if rows and piece.kind in DISTINCT and not set(rows).isdisjoint(columns):
            return self._on_diagonal(piece, rows, columns)
        return WRITERS[piece.kind](self, piece, rows, columns)

    def _on_diagonal(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        """Where rows and columns have an index in common: at indices of its own, with deltas."""
        own = self.of(piece.columns)
        deltas = [_delta(piece, a, b) for a, b in zip(own, columns, strict=True)]
        return _product(piece, [self.write(piece, rows, own), *deltas])

    def _number(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        if isinstance(piece.data, complex):
            size = piece.data.imag
            return syntax.Imaginary(piece.start, piece.end, int(size) if size == int(size) else size)
        return syntax.Number(piece.start, piece.end, piece.data)

    def _pi(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        return syntax.Pi(piece.start, piece.end)

    def _size(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        extent = piece.data.root()
        pool = self.pools.setdefault(extent, [])
        name = pool[0] if pool else next(name for name in self._candidates(extent) if name not in self.taken)
        if not pool:
            pool.append(name)
            self.taken.add(name)
        return syntax.Size(piece.start, piece.end, name)

    def _name(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        own, merged = piece.data
        names = rows + columns
        if merged:
            return syntax.TensorNode(piece.start, piece.end, own, (self._place(piece, names),))
        self.on_axes.update(names)
        indices = tuple([_plain(piece, name) for name in names]) or None
        return syntax.TensorNode(piece.start, piece.end, own, indices)

    def _transpose(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        return self.write(piece.parts[0], columns, rows)

    def _sum(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        before, used, terms = set(self.busy), set(self.busy), []
        for sign, part in zip(piece.data, piece.parts, strict=True):
            self.busy = set(before)
            terms.append((sign, self.write(part, rows, columns)))
            used |= self.busy
        self.busy = used
        if len(terms) == 1:
            return syntax.Neg(piece.start, piece.end, terms[0][1])
        return syntax.SumNode(piece.start, piece.end, tuple(terms))

    def _matrix_product(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        factors, left = [], rows
        for part in piece.parts[:-1]:
            inner = self.of(part.columns)
            factors.append(self.write(part, left, inner))
            left = inner
        return _product(piece, [*factors, self.write(piece.parts[-1], left, columns)])

    def _times(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        parts = [self.write(part, *_at(part, rows, columns)) for part in piece.parts]
        return _product(piece, parts, piece.data)

    def _power(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        base, exponent = [self.write(part, *_at(part, rows, columns)) for part in piece.parts]
        return syntax.Power(piece.start, piece.end, base, exponent)

    def _call(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        args = tuple([self.write(part, *_at(part, rows, columns)) for part in piece.parts])
        name, places = piece.data
        return syntax.CallNode(piece.start, piece.end, name, args, None, None, places=places)

    def _compare(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        left, right = [self.write(part, *_at(part, rows, columns)) for part in piece.parts]
        return syntax.Compare(piece.start, piece.end, piece.data, left, right)

    def _over(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        """A function over the rows' index of a matrix (0), the columns' (1), or all (None)."""
        (part,), (name, side) = piece.parts, piece.data
        if piece.order == part.order and piece.order:
            own = [rows, columns]
        else:
            kept = iter((rows, columns))
            own = [next(kept) if side == 1 else self.of(part.rows), next(kept) if side == 0 else self.of(part.columns)]
        axes = own[0] + own[1] if side is None else own[side]
        return self._axes_call(piece, name, [self.write(part, *own)], axes)

    def _axes_call(self, piece: MatrixPiece, name: str, args: Sequence[syntax.Node], axes: Names) -> syntax.CallNode:
        indices = tuple([_plain(piece, axis) for axis in axes])
        return syntax.CallNode(piece.start, piece.end, name, tuple(args), indices, None)

    def _function(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        """A function of a matrix, whose result is at the same indices where it has a row and a column of it."""
        part, (name, gives) = piece.parts[0], piece.data
        result = tuple([_plain(piece, index) for index in rows + columns])
        if part.kind == "name" and len(piece.parts) == 1:
            whole = syntax.TensorNode(part.start, part.end, part.data[0], None)
            self.on_axes.update(rows + columns)
            return syntax.CallNode(piece.start, piece.end, name, (whole,), None, result or None)
        if gives == "matrix":
            return self._axes_call(piece, name, [self.write(p, rows, columns) for p in piece.parts], rows + columns)
        own = (rows if gives == "vector" else self.of(part.rows)) + self.of(part.columns)
        node = self._axes_call(piece, name, [self.write(part, own[:1], own[1:])], own)
        if gives not in ("scalar", "vector"):
            node.result = result
            self.on_axes.update(rows + columns)
        return node

    def _solve(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        matrix, right = piece.parts
        (row,) = self.of(matrix.rows)
        args = [self.write(matrix, (row,), rows), self.write(right, (row,), columns)]
        return self._axes_call(piece, "solve", args, (row, *rows))

    def _trace(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        own = self.of(piece.parts[0].rows)
        return self._axes_call(piece, "sum", [self.write(piece.parts[0], own, own)], own)

    def _diagonal(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        return self.write(piece.parts[0], rows, rows)

    def _diag(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        (part,) = piece.parts
        body = self.write(part, *(((), rows) if part.is_row else (rows, ())))
        deltas = [_delta(piece, a, b) for a, b in zip(rows, columns, strict=True) if a != b]
        return _product(piece, [body, *deltas])

    def _vec(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        (part,) = piece.parts
        split = len(part.rows.extents) if part.rows is not None else 0
        return self.write(part, rows[:split], rows[split:])

    def _kronecker(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        left, right = piece.parts
        up, across = [0 if side is None else len(side.extents) for side in left.shape]
        factors = [self.write(left, rows[:up], columns[:across]), self.write(right, rows[up:], columns[across:])]
        return _product(piece, factors)

    def _rows(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        left, right = piece.parts
        split = 0 if left.columns is None else len(left.columns.extents)
        return _product(piece, [self.write(left, rows, columns[:split]), self.write(right, rows, columns[split:])])

    def _eye(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        pairs = [(a, b) for a, b in zip(rows, columns, strict=True)]
        deltas = [_delta(piece, a, b) if a != b else self._ones(piece, (a,), ()) for a, b in pairs]
        return _product(piece, deltas)

    def _commutation(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        """``K vec(A) = vec(Aᵀ)``."""
        return self._eye(piece, rows, columns[::-1])

    def _ones(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        return syntax.Ones(piece.start, piece.end, tuple([_plain(piece, n) for n in dict.fromkeys(rows + columns)]))

    def _zeros(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        return syntax.Zeros(piece.start, piece.end, tuple([_plain(piece, n) for n in dict.fromkeys(rows + columns)]))

    def _triangle(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        """The entries on and below the diagonal, or on and above it."""
        body = self.write(piece.parts[0], rows, columns)
        pair = rows + columns if piece.data == "tril" else columns + rows
        where = syntax.Delta(piece.start, piece.end, tuple([_plain(piece, name) for name in pair]), ">=")
        return _product(piece, [body, where])

    def _derivative(self, piece: MatrixPiece, rows: Names, columns: Names) -> syntax.Node:
        body, by = piece.parts
        own, below = (rows + columns, ()) if not by.order else (rows, columns) if body.order else ((), rows + columns)
        split = 0 if body.rows is None else len(body.rows.extents)
        variable = self._name(by, below, ())
        assert isinstance(variable, syntax.TensorNode)
        inner = self.write(body, own[:split], own[split:])
        return syntax.Derivative(piece.start, piece.end, inner, variable, bool(piece.data))


def _extents(piece: MatrixPiece) -> list[Extent]:
    return [extent for side in piece.shape if side is not None for extent in side.extents]


def _plain(piece: MatrixPiece, name: str) -> syntax.Index:
    return syntax.Index(piece.start, piece.end, ((1, name),), plain=True)


def _delta(piece: MatrixPiece, a: str, b: str) -> syntax.Node:
    return syntax.Delta(piece.start, piece.end, (_plain(piece, a), _plain(piece, b)))


def _at(part: MatrixPiece, rows: Names, columns: Names) -> tuple[Names, Names]:
    """The indices of a piece among others of one shape: a scalar has none."""
    return (rows, columns) if part.order else ((), ())


def _product(piece: MatrixPiece, parts: Sequence[syntax.Node], exponents: Sequence[int] | None = None) -> syntax.Node:
    """A product; factors of factors are factors of it, since no two of them sum over one index."""
    factors: list[tuple[int, syntax.Node]] = []
    for exponent, part in zip(exponents or (1,) * len(parts), parts, strict=True):
        if exponent > 0 and isinstance(part, syntax.ProductNode):
            factors += part.factors
        else:
            factors.append((exponent, part))
    if len(factors) == 1 and factors[0][0] > 0:
        return factors[0][1]
    return syntax.ProductNode(piece.start, piece.end, tuple(factors))


DISTINCT = frozenset(
    ["over", "function", "solve", "triangle", "derivative"]
)  # what is read at one index for both only by a delta
WRITERS: dict[str, Callable[[Indices, MatrixPiece, Names, Names], syntax.Node]] = {
    "number": Indices._number,
    "pi": Indices._pi,
    "size": Indices._size,
    "name": Indices._name,
    "transpose": Indices._transpose,
    "sum": Indices._sum,
    "product": Indices._matrix_product,
    "times": Indices._times,
    "power": Indices._power,
    "call": Indices._call,
    "compare": Indices._compare,
    "over": Indices._over,
    "function": Indices._function,
    "solve": Indices._solve,
    "trace": Indices._trace,
    "diagonal": Indices._diagonal,
    "diag": Indices._diag,
    "vec": Indices._vec,
    "kronecker": Indices._kronecker,
    "rows": Indices._rows,
    "eye": Indices._eye,
    "commutation": Indices._commutation,
    "ones": Indices._ones,
    "zeros": Indices._zeros,
    "triangle": Indices._triangle,
    "derivative": Indices._derivative,
}
