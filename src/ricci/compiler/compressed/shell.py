"""The shell of a compressed result: an expression with a variable for each core, and all that is computed from it.

A shell belongs to a plan, so its sizes are numbers. Products with vectors, the diagonal, all entries and the solution
of linear systems are expressions, built term by term so that the structures in a term meet what it is multiplied with.
They are compiled when first wanted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ricci.caches import Cache, lazy
from ricci.compiler.compressed.parts import Parts, Term, renamed
from ricci.compiler.compressed.systems import Operator, Sides, System
from ricci.compiler.pipeline import prepare
from ricci.compiler.run.engines import target_named
from ricci.compiler.run.function import Compiled
from ricci.dispatch import recorded
from ricci.errors import InputError, MatrixError, ShapeError
from ricci.expr import Expr, Size, Structure, Variable, add, axis_size, numeric, product, rebuild, variable, variables
from ricci.expr.dims import Atom, evaluate
from ricci.expr.structures import is_delta
from ricci.notation.context import Facts

NO_SOLUTION = 1 / 32  # an error as large as this says that no digit of x means anything
EPS = {2: 2.0**-10, 4: 2.0**-23}  # of floats with so many bytes; otherwise that of the usual ones
USUAL_EPS = 2.0**-52


class Shell:
    """How a result of one shape is made of its cores."""

    def __init__(self, shape: tuple[int, ...], terms: tuple[Term, ...], names: dict[int, str], text: str, target: str):
        self.shape, self.terms, self.names, self.text, self.target = shape, terms, names, text, target
        self.sizes = dict(enumerate(shape))
        for term in terms:
            for e, labels in term.factors:
                self.sizes.update(zip(labels, e.shape, strict=True))  # type: ignore[arg-type]
        held = {int(v.name[4:]): v for v in variables(*[e for term in terms for e, _ in term.factors])}
        self.scalars = [k for k, v in held.items() if not v.shape]
        self.fractional = any(not isinstance(term.coef, int) for term in terms)  # makes floats of integers
        self._functions = Cache("products of compressed results", 64)
        self._transposed: Shell | None = None

    @classmethod
    def of(cls, parts: Parts, env: Mapping[Atom, int], names: dict[int, str], target: str) -> Shell:
        """The shell of a result; the variables are numbered as ``parts.cores`` are."""
        place = {e: k for k, e in enumerate(parts.cores)}

        def size(size: Size) -> int:
            return size if isinstance(size, int) else evaluate(size, env)

        def core(e: Expr) -> Variable:
            return variable(f"core{place[e]}", tuple([size(s) for s in e.shape]))

        def stand_in(e: Expr) -> Expr:
            return rebuild(e, tuple([core(a) for a in e.args]), size) if isinstance(e, Structure) else core(e)

        terms = [Term(t.coef, tuple([(stand_in(e), labels) for e, labels in t.factors])) for t in parts.terms]
        shape = tuple([parts.sizes[axis] for axis in range(parts.order)])
        return cls(shape, tuple(terms), names, describe(parts, names), target)

    def __reduce__(self):
        return Shell, (self.shape, self.terms, self.names, self.text, self.target)

    # Expressions

    def total(
        self, out: Sequence, more: Sequence[tuple[Expr, tuple]] = (), to: Mapping[int, int] | None = None
    ) -> Expr:
        """The sum of all terms, each times ``more``, with labels renamed by ``to`` and summed unless in ``out``."""
        kept = {x: self.sizes[x] for x in out if x in self.sizes}
        terms = [(t.coef, product([*renamed(t.factors, to or {}), *more], out, kept)) for t in self.terms]
        return add(terms)

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

        f, places = self._functions.known.get(key) or self._functions.made(key, made)
        arrays = (*cores, *more)
        return f(*[arrays[k] for k in places])

    def _axes(self, start: int = 0, stop: int | None = None) -> tuple[int, ...]:
        return tuple(range(len(self.shape)))[start:stop]

    def dense(self, cores: tuple) -> Any:
        return self._called(("dense",), lambda: self.total(self._axes()), cores)

    def diagonal(self, cores: tuple) -> Any:
        half = len(self.shape) // 2
        to = {axis: axis - half for axis in self._axes(half)}
        return self._called(("diagonal",), lambda: self.total(self._axes(0, half), to=to), cores)

    def times(self, cores: tuple, v: Any, count: int, last: bool) -> Any:
        """The sum over the last, or first, ``count`` axes with those of ``v``; its further axes stay."""
        split = len(self.shape) - count if last else count

        def build() -> Expr:
            first, second = self._axes(0, split), self._axes(split)
            summed, kept = (second, first) if last else (first, second)
            further = tuple([("further", k) for k in range(v.ndim - count)])
            return self.total((*kept, *further), [(self._v(summed, v.ndim), (*summed, *further))])

        return self._called(("times", count, v.ndim, last), build, cores, v)

    def _v(self, axes: Sequence[int], order: int) -> Variable:
        further = [axis_size("v", axis) for axis in range(len(axes), order)]
        return variable("v", (*[self.sizes[x] for x in axes], *further))

    def transposed(self) -> Shell:
        if self._transposed is None:
            half, order = len(self.shape) // 2, len(self.shape)
            to = {axis: (axis + half) % order for axis in self._axes()}
            terms = [Term(t.coef, renamed(t.factors, to)) for t in self.terms]
            names = {to.get(x, x): name for x, name in self.names.items()}
            shape = (*self.shape[half:], *self.shape[:half])
            self._transposed = Shell(shape, tuple(terms), names, self.text, self.target)
        return self._transposed

    # Linear systems

    def solve(self, cores: tuple, b: Any) -> Any:
        """``x`` with this times ``x`` equal to ``b``, by the structure; the plain way where that is not accurate."""
        system = self._system
        if recorded([b]):  # how exact the solution is cannot be seen
            return self._solved(cores, b, ())
        b = target_named(self.target).arrays({"v": b})["v"]
        x = self._solved(cores, b, system.low)
        error = self._error(cores, x, b)
        if system.low and error is not None and not error < _eps(b) ** 0.5:
            x = self._solved(cores, b, ())
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

    def _solved(self, cores: tuple, b: Any, low: Sequence[Sides]) -> Any:
        """The solution; none where the backend says that a matrix is singular."""
        system = self._system
        further = tuple([("further", k) for k in range(b.ndim - system.operator.half)])

        def build() -> Expr:
            return system.solution(self._v(system.operator.rows, b.ndim), further, low)

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
        operator, pairs = self._system.operator, self._system.pairs
        _, own = operator.blocks(pairs)
        blocks = _on_host(self._called(("blocks",), lambda: operator.blocks(pairs)[0], cores))
        batch = own[: len(own) - len(operator.own_rows(pairs)) - len(operator.own_columns(pairs))]
        wide = self._system.wide
        square = blocks.reshape(*[self.sizes[x] for x in batch], wide, wide)
        lacking = np.argwhere(np.linalg.matrix_rank(square) < wide)
        if not batch or not len(lacking):
            return f"c, {self.text}, is singular to working precision"
        where = ", ".join(f"{self.names[x]} = {k}" for x, k in zip(batch, lacking[0], strict=True))
        return f"the block of c at {where} is singular ({len(lacking)} of {math.prod(square.shape[:-2])} blocks are)"


def _eps(a: Any) -> float:
    return EPS.get(a.dtype.itemsize, USUAL_EPS)


def _largest(a: Any) -> Any:
    return np.abs(_on_host(a)).max()


def _finite(a: Any) -> bool:
    return bool(np.isfinite(_on_host(a)).all())


def _on_host(a: Any) -> np.ndarray:
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
