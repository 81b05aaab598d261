"""The shell of a compressed result: an expression with a variable for each core, and all that is computed from it.

A shell belongs to a plan, so its sizes are numbers. Products with vectors, the diagonal, all entries and the solution
of linear systems are expressions, built term by term so that the structures in a term meet what it is multiplied with.
They are compiled when first wanted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from ricci.caches import Cache, lazy
from ricci.compiler.compressed.parts import Parts, Term, renamed, settled
from ricci.compiler.compressed.sparse_systems import SparseSystem, corrected, solver
from ricci.compiler.compressed.systems import Operator, Sides, System
from ricci.compiler.compressed.triples import Pattern, Route, pattern, routes
from ricci.compiler.pipeline import prepare
from ricci.compiler.run.engines import target_named
from ricci.compiler.run.function import Compiled
from ricci.dispatch import recorded
from ricci.errors import InputError, MatrixError, ShapeError
from ricci.expr import Expr, Size, Structure, Variable, add, axis_size, numeric, product, rebuild, variable, variables
from ricci.expr.dims import Atom, evaluate
from ricci.expr.offsets import band, in_words
from ricci.expr.structures import is_delta, zero
from ricci.notation.context import Facts

if TYPE_CHECKING:
    from ricci.show.structure_picture import BlockPicture

NOT_WIDE = 4096  # systems that are solved whole where SciPy is not installed
NO_SOLUTION = 1 / 32  # an error as large as this says that no digit of x means anything
EPS = {2: 2.0**-10, 4: 2.0**-23}  # of floats with so many bytes; otherwise that of the usual ones
USUAL_EPS = 2.0**-52


class Shell:
    """How a result of one shape is made of its cores."""

    def __init__(
        self, shape: tuple[int, ...], terms: tuple[Term, ...], names: dict[int, str], text: str, target: str, rows: int
    ):
        self.shape, self.terms, self.names, self.text, self.target, self.rows = shape, terms, names, text, target, rows
        self.sizes = dict(enumerate(shape))
        for term in terms:
            for e, labels in term.factors:
                self.sizes.update(zip(labels, e.shape, strict=True))  # type: ignore[arg-type]
        held = {int(v.name[4:]): v for v in variables(*[e for term in terms for e, _ in term.factors])}
        self.scalars = [k for k, v in held.items() if not v.shape]
        self.fractional = any(not isinstance(term.coef, int) for term in terms)  # makes floats of integers
        self._functions = Cache("products of compressed results", 64)
        self._transposed: Shell | None = None
        self._patterns: dict[bool, Pattern] = {}

    @classmethod
    def of(
        cls, parts: Parts, env: Mapping[Atom, int], names: dict[int, str], target: str, rows: int | None = None
    ) -> Shell:
        """The shell of a result; the variables are numbered as ``parts.cores`` are. Its first axes are ``rows``."""
        place = {e: k for k, e in enumerate(parts.cores)}

        def size(size: Size) -> int:
            return size if isinstance(size, int) else evaluate(size, env)

        def core(e: Expr) -> Variable:
            return variable(f"core{place[e]}", tuple([size(s) for s in e.shape]), complex=e.complex)

        def stand_in(e: Expr) -> Expr:
            return rebuild(e, tuple([core(a) for a in e.args]), size) if isinstance(e, Structure) else core(e)

        terms = [Term(t.coef, tuple([(stand_in(e), labels) for e, labels in t.factors])) for t in parts.terms]
        terms = settled(terms, parts.sizes, parts.order)
        shape = tuple([parts.sizes[axis] for axis in range(parts.order)])
        rows = (len(shape) + 1) // 2 if rows is None else rows
        return cls(shape, tuple(terms), names, describe(parts, names), target, rows)

    def __reduce__(self):
        return Shell, (self.shape, self.terms, self.names, self.text, self.target, self.rows)

    @lazy
    def form(self) -> str:
        """What a matrix of this form is called, if that has a name: "banded, width 3"."""
        return in_words([term.factors for term in self.terms], *self.axes, self.sizes)

    def picture(self, title: str) -> BlockPicture | None:
        """The entries of the result as blocks, the rows by the columns."""
        from ricci.show.structure_picture import picture

        order, split = len(self.shape), self.rows
        names = [self.names[axis] for axis in range(order)]
        terms = [(term.coef, term.factors) for term in self.terms]
        sides = ", ".join(names[:split]), ", ".join(names[split:])
        kept = zero(self.shape)  # an expression with these axes
        return picture(kept, terms, [""] * len(terms), names, order - split, sides, notes=[title])

    # Expressions

    def total(
        self,
        out: Sequence,
        more: Sequence[tuple[Expr, tuple]] = (),
        to: Mapping[int, int] | None = None,
        typed: bool = False,
    ) -> Expr:
        """The sum of all terms, each times ``more``, with labels renamed by ``to`` and summed unless in ``out``.

        ``typed``: a term that is zero is its core, which is 0, and has the type.
        """
        kept = {x: self.sizes[x] for x in out if x in self.sizes}
        terms = [(t.coef or int(typed), product([*renamed(t.factors, to or {}), *more], out, kept)) for t in self.terms]
        return add(terms)

    def known(self, key: tuple, make: Callable[[], Any]) -> Any:
        """What was made for this key, or is now; kept with the shell."""
        return self._functions.known.get(key) or self._functions.made(key, make)

    def _called(self, key: tuple, build: Callable[[], Expr], cores: tuple, *more: Any) -> Any:
        """The value of an expression in the cores and, where it is given, ``v``."""

        def made() -> tuple[Compiled, list[int]]:
            inputs = {v.name: v.order for term in self.terms for v in variables(*[e for e, _ in term.factors])}
            if more:
                inputs["v"] = more[0].ndim
            facts = Facts(inputs=inputs, mentions=dict.fromkeys(inputs))
            f = Compiled(prepare([build()], facts=facts, simplify=False), self.target)
            places = [len(cores) if name == "v" else int(name[4:]) for name in f.inputs]
            return f, places

        f, places = self.known((*key, *map(is_complex, more)), made)
        arrays = (*cores, *more)
        return f(*[arrays[k] for k in places])

    def _axes(self, start: int = 0, stop: int | None = None) -> tuple[int, ...]:
        return tuple(range(len(self.shape)))[start:stop]

    def dense(self, cores: tuple) -> Any:
        return self._called(("dense",), lambda: self.total(self._axes(), typed=True), cores)

    def diagonal(self, cores: tuple) -> Any:
        half = len(self.shape) // 2
        to = {axis: axis - half for axis in self._axes(half)}
        return self._called(("diagonal",), lambda: self.total(self._axes(0, half), to=to, typed=True), cores)

    def times(self, cores: tuple, v: Any, count: int, last: bool) -> Any:
        """The sum over the last, or first, ``count`` axes with those of ``v``; its further axes stay."""
        split = len(self.shape) - count if last else count

        def build() -> Expr:
            first, second = self._axes(0, split), self._axes(split)
            summed, kept = (second, first) if last else (first, second)
            further = tuple([("further", k) for k in range(v.ndim - count)])
            return self.total((*kept, *further), [(self._v(summed, v), (*summed, *further))], typed=True)

        return self._called(("times", count, v.ndim, last), build, cores, v)

    def _v(self, axes: Sequence[int], v: Any) -> Variable:
        further = [axis_size("v", axis) for axis in range(len(axes), v.ndim)]
        return variable("v", (*[self.sizes[x] for x in axes], *further), complex=is_complex(v))

    def transposed(self) -> Shell:
        if self._transposed is None:
            columns, order = len(self.shape) - self.rows, len(self.shape)
            to = {axis: (axis + columns) % order for axis in self._axes()}
            terms = [Term(t.coef, renamed(t.factors, to)) for t in self.terms]
            names = {to.get(x, x): name for x, name in self.names.items()}
            shape = (*self.shape[self.rows :], *self.shape[: self.rows])
            self._transposed = Shell(shape, tuple(terms), names, self.text, self.target, columns)
        return self._transposed

    # Linear systems

    def solve(self, cores: tuple, b: Any) -> Any:
        """``x`` with this times ``x`` equal to ``b``, by the structure; the plain way where that is not accurate."""
        system = self._system
        if recorded([b]):  # how exact the solution is cannot be seen
            return self._solved(cores, b, ())
        b = target_named(self.target).arrays({"v": b})["v"]
        arrays = self._as_sparse(cores, b)
        if arrays is not None:
            return self._checked(cores, b, self._sparsely(arrays, b))
        x = self._solved(cores, b, system.low)
        error = self._error(cores, x, b)
        if system.low and error is not None and not error < _eps(b) ** 0.5:
            x = self._solved(cores, b, ())
        return self._checked(cores, b, x)

    def _checked(self, cores: tuple, b: Any, x: Any) -> Any:
        error = self._error(cores, x, b)
        if x is None or (error is not None and not error < NO_SOLUTION and all(map(_finite, (b, *cores)))):
            raise InputError(f"c.solve(b) has no unique solution: {self._singular(cores)}.")
        return x

    @lazy
    def _system(self) -> System:
        half = len(self.shape) // 2
        rows, columns = self.shape[:half], self.shape[half:]
        if math.prod(rows) != math.prod(columns):
            raise ShapeError(f"c.solve(b) takes as many rows as columns; the rows are {rows}, the columns {columns}.")
        system = System.of(Operator.of(self.terms, self.sizes, half))
        if system.rank < system.wide:
            fault = f"the rank of c, {self.text}, is at most {system.rank}, and {system.wide} is needed"
            raise InputError(f"c.solve(b) has no unique solution: {'c is 0' if self.text == '0' else fault}.")
        return system

    # Few entries

    @lazy
    def blocks(self) -> tuple[int, int] | None:
        """The shape of the blocks, outer axes being places of inner ones, where only those near the diagonal count."""
        rows, columns = self.axes
        if len(rows) < 2 or len(columns) < 2:
            return None
        bounds = band([term.factors for term in self.terms], {columns[0]: 1, rows[0]: -1}, self.sizes)
        if bounds is None or bounds[1] - bounds[0] >= self.sizes[rows[0]]:
            return None
        return math.prod([self.sizes[x] for x in rows[1:]]), math.prod([self.sizes[x] for x in columns[1:]])

    @property
    def axes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The axes of rows, and those of columns."""
        return self._axes(0, self.rows), self._axes(self.rows)

    def pattern(self, arrays: Sequence[np.ndarray], found: Sequence[Route] | None = None) -> Pattern:
        """Where the entries of all terms are, or of those with these routes; kept as long as gathers stay the same."""
        kept = self._patterns.get(found is None)
        if kept is None or not kept.holds(arrays):
            chosen = routes(self.terms, self.sizes, self.axes) if found is None else found
            kept = self._patterns[found is None] = pattern(chosen, self.sizes, self.axes, arrays)
        return kept

    @lazy
    def most_entries(self) -> int:
        """How many places the terms have together, at most."""
        return sum(Route(term, self.sizes, (*self.axes[0], *self.axes[1])).most for term in self.terms)

    def entries(self, cores: tuple, dtype: Any) -> tuple[Pattern, np.ndarray]:
        """The places of the entries that may differ from zero, and their values, on the host."""
        arrays = [on_host(core) for core in cores]
        found = self.pattern(arrays)
        return found, found.values(arrays, dtype)

    @lazy
    def _sparse_system(self) -> SparseSystem | None:
        return SparseSystem.of(self._system.operator, self._system.wide)

    def _as_sparse(self, cores: tuple, b: Any) -> list[np.ndarray] | None:
        """The cores on the host, where the system is a sparse one, and they have values there."""
        if self._sparse_system is None or (self._system.wide <= NOT_WIDE and not find_spec("scipy")):
            return None
        try:
            return None if _eps(b) > EPS[4] else [on_host(core) for core in cores]
        except TypeError:  # a traced array has no value yet
            return None

    def _sparsely(self, arrays: list[np.ndarray], b: Any) -> Any:
        """The solution by the sparse terms, those of low rank put right afterwards; none if a matrix is singular."""
        system = self._sparse_system
        assert system is not None
        half = len(self.shape) // 2
        right = on_host(b).reshape(math.prod(self.shape[:half]), -1)
        matrix = self.pattern(arrays, system.thin)
        solve = solver(matrix, matrix.values(arrays, right.dtype))
        if system.low:
            sides = [(axes, side) for side, axes in enumerate(self.axes)]
            u, w = [
                on_host(self._called(("stacked", side), partial(system.stacked, axes, side), tuple(arrays)))
                for axes, side in sides
            ]
            solve = corrected(solve, u.reshape(len(right), -1), w.reshape(len(right), -1))
        x = solve(right)
        if x is None:
            return None
        shaped = np.ascontiguousarray(x).reshape(*self.shape[half:], *b.shape[half:])
        return target_named(self.target).arrays({"b": b, "x": shaped})["x"]

    def _solved(self, cores: tuple, b: Any, low: Sequence[Sides]) -> Any:
        """The solution; none where the backend says that a matrix is singular."""
        system = self._system
        further = tuple([("further", k) for k in range(b.ndim - system.operator.half)])

        def build() -> Expr:
            return system.solution(self._v(system.operator.rows, b), further, low)

        try:
            return self._called(("solve", b.ndim, bool(low)), build, cores, b)
        except MatrixError:
            return None

    def _error(self, cores: tuple, x: Any, b: Any) -> float | None:
        """How wrong ``x`` may be: how far ``c @ x`` is from ``b``, or rounding in it, relative to ``b``.

        A matrix that is singular but for rounding has a solution, and a huge one. The size of ``c`` is seen from its
        product with a vector other than ``b``. While JAX traces, nothing is known.
        """
        if x is None or 0 in x.shape:
            return math.inf if x is None else 0.0
        half = len(self.shape) // 2
        try:
            with np.errstate(all="ignore"):
                off, top = _largest(self.times(cores, x, half, True) - b), _largest(b)
                if off <= 1000 * _eps(b) * top:
                    return 0.0
                other = b.reshape(-1).cumsum(0).reshape(x.shape)
                size = _largest(self.times(cores, other, half, True)) / _largest(other)
                return float(np.fmax(off, _eps(b) * size * _largest(x)) / top)
        except TypeError:  # a traced array has no value yet
            return None

    def _singular(self, cores: tuple) -> str:
        """Which block is singular, in words."""
        if self._sparse_system is not None:
            return f"c, {self.text}, is singular to working precision"
        operator, pairs = self._system.operator, self._system.pairs
        _, own = operator.blocks(pairs)
        blocks = on_host(self._called(("blocks",), lambda: operator.blocks(pairs)[0], cores))
        batch = own[: len(own) - len(operator.own_rows(pairs)) - len(operator.own_columns(pairs))]
        wide = self._system.wide
        square = blocks.reshape(*[self.sizes[x] for x in batch], wide, wide)
        lacking = np.argwhere(np.linalg.matrix_rank(square) < wide)
        if not batch or not len(lacking):
            return f"c, {self.text}, is singular to working precision"
        where = ", ".join(f"{self.names[x]} = {k}" for x, k in zip(batch, lacking[0], strict=True))
        return f"the block of c at {where} is singular ({len(lacking)} of {math.prod(square.shape[:-2])} blocks are)"


def is_complex(a: Any) -> bool:
    return "complex" in str(a.dtype)


def _eps(a: Any) -> float:
    return EPS.get(a.dtype.itemsize // (2 if is_complex(a) else 1), USUAL_EPS)


def _largest(a: Any) -> Any:
    return np.abs(on_host(a)).max()


def _finite(a: Any) -> bool:
    return bool(np.isfinite(on_host(a)).all())


def on_host(a: Any) -> np.ndarray:
    return np.asarray(a.detach().cpu() if hasattr(a, "detach") else a)


# As text


def describe(parts: Parts, names: Mapping[int, str]) -> str:
    """The terms with deltas, other relations, ones and cores: ``2 delta[i,i'] core[k,k']``."""
    place = {e: k for k, e in enumerate(parts.cores)}

    def core(e: Expr, labels: Sequence[int]) -> str:
        inner = ",".join(names[x] for x in labels)
        return f"core{place[e] if len(place) > 1 else ''}" + (f"[{inner}]" if inner else "")

    text = ""
    for term in parts.terms:
        coef, words = term.coef, []
        carried = {x for _, labels in term.factors for x in labels}
        ones = [names[axis] for axis in range(parts.order) if axis not in carried]
        for e, labels in term.factors:
            if numeric(e) is not None:
                coef = coef * numeric(e)  # type: ignore[operator]
            elif isinstance(e, Structure) and e.args:
                words.append(f"delta[{core(e.args[0], labels[:-1])},{names[labels[-1]]}]")
            elif isinstance(e, Structure):
                words.append(_relation(e, [names[x] for x in labels]))
            else:
                words.append(core(e, labels))
        words += [f"1[{','.join(ones)}]"] if ones and coef != 0 else []
        words = [str(abs(coef)), *words] if abs(coef) != 1 or not words else words
        text += (" - " if coef < 0 else " + ") + " ".join(words)
    return text[3:] if text.startswith(" + ") else "-" + text[3:]


def _relation(e: Structure, names: Sequence[str]) -> str:
    """A delta, or the condition under which the structure is 1: ``[j == i + k]``."""
    if is_delta(e):
        return f"delta[{','.join(names)}]"
    kind, coefs, const = e.relation
    sides: tuple[list[str], list[str]] = ([], [])
    for coef, name in [*zip(coefs, names, strict=True), *([(const, "")] if const != 0 else [])]:
        negative = isinstance(coef, int) and coef < 0
        size = -coef if negative else coef
        sides[negative].append(name if name and size == 1 else f"{size} {name}".rstrip())
    left, right = [" + ".join(side) or "0" for side in sides]
    return f"[{left} {kind} {right}]"
