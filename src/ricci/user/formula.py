"""What users hold: a core expression with names for its axes, and perhaps a left side.

The core is positional. A :class:`Formula` pairs a core expression with index names and with the context it came from,
so that arithmetic aligns by name, results print in the user's words and a call can bind and check sizes. Two formulas
are equal when their expressions are the same object, up to which of several equal sizes is named in them and to which
products were computed in steps of their own, and their index names are the same; the name on the left side does not
matter.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

import ricci.loops  # noqa: F401  recurrences are built by it
from ricci.checked_calls import is_index, shown, takes
from ricci.dispatch import offered, public, register
from ricci.errors import AxisError, InputError, RuleError, ShapeError, nearest
from ricci.expr import Expr, Size, constant, dims, index_size, product, variables
from ricci.expr.build.product import contract
from ricci.expr.settle import settled
from ricci.expr.walk import loosened
from ricci.functions.table import FUNCTIONS
from ricci.kinds import kind_of
from ricci.notation.context import EMPTY, Context, merged
from ricci.notation.declarations import Declarations
from ricci.notation.heights import ALL_OR_NONE, FLIPPED, KEEPS, WORDS, mixed, told
from ricci.notation.resolve import read_program, resolve
from ricci.user.formula_methods import FormulaMethods
from ricci.user.one_side import check_one_side

if TYPE_CHECKING:
    from ricci.compiler.blocks.blocked_function import BlockedFunction
    from ricci.compiler.compressed.result import CompressedFunction
    from ricci.compiler.run.function import Compiled
    from ricci.drawing import Drawing
    from ricci.show.derivation import Derivation
    from ricci.show.structure import StructureReport
    from ricci.standalone.kept_code import KeptCode
    from ricci.user.equations import Equation
    from ricci.user.equivalence import Undecided
    from ricci.user.targets import Target

Operand = Any  # a Formula or a number


class Formula(FormulaMethods):
    """A tensor expression with named indices.

    >>> from ricci import parse
    >>> y = parse("y[i,j] = x[i,k] a[k,j] + 1[i] b[j]")
    >>> print(y)
    y[i,j] = x[i,k] a[k,j] + 1[i] b[j]
    >>> y.indices, y.shape, y.variables
    (('i', 'j'), (i, j), ('x', 'a', 'b'))
    """

    __slots__ = (
        "__weakref__",
        "_function",
        "_settled",
        "context",
        "expr",
        "heights",
        "indices",
        "left",
        "name",
        "origin",
        "route",
        "source",
        "statements",
    )

    def __init__(
        self,
        expr: Expr,
        indices: Iterable[str] = (),
        context: Context = EMPTY,
        name: str | None = None,
        heights: tuple[str, ...] = (),
        statements: dict[str, Formula] | None = None,
    ):
        self.expr = expr
        self.indices = tuple(indices)
        if not isinstance(expr, Expr) or not _fit(self.indices, len(expr.shape)):
            raise InputError(
                f"rc.Formula takes an expression and a different name for each of its axes, not {shown(expr)} and "
                f"{shown(self.indices)}; rc.parse and rc.variable make formulas of texts."
            )
        self.context = context
        self.name = name
        self.heights = heights
        if mixed(heights):
            raise RuleError(f"The indices {', '.join(self.indices)} stand {told(heights)}. {ALL_OR_NONE}")
        self.statements = {} if statements is None else statements
        self._settled: Expr | None = None
        self._function: Callable[..., Any] | None = None  # its value, compiled when it is first called
        # the text, its sizes, the number of the statement, how the text is read
        self.source: tuple[str, dict[str, int], int, Declarations] | None = None
        self.left: Formula | None = None  # of an equation whose left side is an expression; this is its right side
        self.origin: Any = None  # for a derivative, what it was derived from
        self.route: Any = None  # for what was pulled back or pushed forward, through what

    __array_ufunc__ = None  # NumPy arrays leave arithmetic with formulas to them

    # What it is.

    @property
    def shape(self) -> tuple[Size, ...]:
        """The sizes of the axes: numbers where known, and otherwise named by the index."""
        return tuple(
            [s if isinstance(s, int) else index_size(n) for n, s in zip(self.indices, self.expr.shape, strict=True)]
        )

    @property
    def order(self) -> int:
        """The number of axes."""
        return len(self.indices)

    ndim = order

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the inputs that the value depends on, in the order in which they were written."""
        place = {name: position for position, name in enumerate(self.context.facts.inputs)}
        return tuple(
            sorted({v.name for v in variables(self.expr)}, key=lambda name: (place.get(name, len(place)), name))
        )

    @property
    def settled(self) -> Expr:
        if self._settled is None:
            self._settled = loosened(settled(self.expr, self.context.facts.linked_sizes()))
        return self._settled

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Formula):
            return NotImplemented
        if self.indices != other.indices or (self.left is None) != (other.left is None) or self.left != other.left:
            return False
        return self.expr is other.expr or self.settled is other.settled or self._agrees(other)

    def _agrees(self, other: Formula) -> bool:
        """Whether it has the values of another formula, in some other form."""
        from ricci.simplify.residues import agree

        if _inputs(self) != _inputs(other):
            return False
        links = self.context.facts.linked_sizes(), other.context.facts.linked_sizes()
        return agree(self.expr, other.expr, *links)

    def __hash__(self) -> int:
        return hash((self.indices, _inputs(self)))  # which all forms of equal value share

    def __bool__(self) -> bool:
        raise InputError("A formula has no truth value before it is evaluated; call it, or use rc.where(…).")

    def __iter__(self) -> Iterator[Any]:
        raise InputError("A formula is not a sequence; use index notation, or call it and iterate over the result.")

    @takes("f[…]", name="text")
    def __getitem__(self, name: str) -> Formula:
        """Another statement of the program that this one comes from."""
        if name not in self.statements:
            known = ", ".join(self.statements) or "none"
            raise AxisError(
                f"The program defines no {name!r}; it defines {known}. {nearest(name, self.statements)}".rstrip()
            )
        return self.statements[name]

    # How it looks.

    @property
    def standing(self) -> tuple[str, ...]:
        """Where each index stands, "up", "down" or "" in brackets: as was said, or as follows from the inputs."""
        if self.heights or not self.context.facts.heights:
            return self.heights or ("",) * self.order
        from ricci.show.express import program

        last = program(self.expr, self.indices, self.context.facts, None).statements[-1]
        return tuple([index.height for index in last.indices or ()])

    def __str__(self) -> str:
        from ricci.show import to_text

        if self.left is not None:
            return str(self.equation)
        return to_text(self.expr, self.indices, self.context.facts, self.name, self.heights)

    @takes("f.latex")
    def latex(self) -> str:
        """The formula in LaTeX."""
        from ricci.show import latex, to_latex

        if self.left is not None:
            return self.equation.latex()
        return to_latex(self.expr, self.indices, self.context.facts, self.name, self.heights, latex.derivative_of(self))

    @takes("f.matrix", latex="flag", rows="count or None")
    def matrix(self, latex: bool = False, rows: int | None = None) -> str:
        """The formula in matrix notation, ``Xᵀ diag(s) X``, where it can be said so; in LaTeX if asked.

        Of three indices and more the first ``rows`` are those of the rows, and the others those of the columns. Unless
        it is said, the columns are those of what a derivative is by, as in a Jacobian, and of four indices two.
        """
        from ricci.show.matrix_notation import MatrixForm

        text = self._in_matrices(latex, rows)
        return text if latex else MatrixForm(text, partial(self._in_matrices, True, rows))

    def _in_matrices(self, latex: bool, rows: int | None) -> str:
        from ricci.show.authors import author_of
        from ricci.show.matrix_notation import to_matrix

        if self.left is not None:
            return f"{self.left._in_matrices(latex, rows)} = {self.equation.right._in_matrices(latex, rows)}"
        columns = self._columns if rows is None else min(max(self.order - rows, 0), self.order)
        root = self.chain[0].origin.formula if self.chain else self
        text = None if root.source is None else read_program(root.source[0], root.source[3])
        author = author_of(root.expr, bool(self.chain), text)
        return to_matrix(self.expr, self.context.facts, latex, self.indices, columns, author)

    @property
    def _columns(self) -> int:
        """How many of the axes are those of columns, where it is a matrix to look at."""
        if self.order != 4 and self.chain and 0 < self.origin.formula.order < self.order:
            return self.order - self.origin.formula.order
        return self.order // 2

    def __repr__(self) -> str:
        return f"<ricci.Formula {self}>"

    def _repr_latex_(self) -> str:
        from ricci.show.fitting import in_notebook

        return in_notebook(self.latex())

    @property
    def chain(self) -> list[Formula]:
        """For a derivative, the derivatives that lead to it from its function, itself last; otherwise empty."""
        steps, formula = [], self
        while formula.origin is not None:
            steps.append(formula)
            formula = formula.origin.formula
        return steps[::-1]

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        kept = {name: getattr(self, name) for name in self.__slots__ if name != "__weakref__"}
        return None, {**kept, "_function": None}

    # What it is worth.

    def __call__(self, /, *arrays: Any, sizes: Mapping[str, int] | Any = None, **inputs: Any) -> Any:
        """The value for arrays or numbers as inputs, whose sizes are checked; traced arrays and tensors record it."""
        if arrays:
            raise self._by_name(arrays)
        if sizes is not None and isinstance(sizes, Mapping) and not self.context.facts.ranges.keys().isdisjoint(sizes):
            return self._read_again(sizes)(sizes=None, **inputs)
        if self._function is None:
            self._function = self._as_written()
        return self._function(**inputs) if sizes is None else self._function(**inputs, sizes=sizes)

    def _by_name(self, arrays: Sequence[Any]) -> InputError:
        """The error for inputs that were given by position."""
        names = [name for name in self.context.facts.inputs if name not in self.context.facts.values]
        if len(arrays) == 1 and isinstance(arrays[0], Mapping):
            hint = "Write f(**values) where they are in a dictionary."
        else:
            listed = ", ".join(f"{name}=…" for name in names) or ""
            hint = f"Write f({listed}); f.compile() takes them by position too, in the order {', '.join(names)}."
        return InputError(f"A formula takes its inputs by name, and here {len(arrays)} came without one. {hint}")

    def _as_written(self) -> Compiled:
        """A function that computes what is written, as soon as it is called: nothing is simplified before."""
        check_one_side("call", self)
        from ricci.compiler.pipeline import prepare
        from ricci.compiler.run.function import Compiled

        names = dict(zip(self.indices, self.expr.shape, strict=True))
        stage = prepare([self.expr], names, self.context.facts, simplify=False)
        made = Compiled(stage, options=(("fused", False), ("rows", True)), title=self.name)
        if self.context.facts.assumed:
            made.other_orders = OtherOrders((self,), written)
        if self.context.facts.unknown:
            made.functions = offered("functions_of_calls")((self,), written)
        return made

    def of_orders(self, orders: Mapping[str, int]) -> Formula | None:
        """The formula where inputs have these orders, which its text does not say: ``sum(x)``; none if it does."""
        steps = [step.origin for step in self.chain]
        root = steps[0].formula if steps else self
        asked = [(step.by.name, len(step.by.wanted)) for step in steps if step.by.wanted]
        fixed = any(step.by.kind != "input" for step in steps) or any(orders.get(n, k) != k for n, k in asked)
        if root.source is None or fixed or not self.context.facts.assumed.issuperset(orders):
            return None
        text, sizes, position, declared = root.source
        part = resolve(text, sizes, derive_in_text, orders=orders, declared=declared)[position]
        again = Formula(part.value.expr, part.value.names, part.context, part.name, part.heights)
        again = again if again.indices == root.indices else again.rename(dict(zip(again.indices, root.indices)))
        again.source = root.source
        for step in steps:
            names = step.by.wanted
            again = again.diff(f"{step.by.name}[{','.join(names)}]" if names else step.by.name)
        return again

    def _read_again(self, sizes: Mapping[str, int]) -> Formula:
        """The formula with the range of an index given, which otherwise follows from reads such as ``x[i+1]``."""
        if self.source is None:
            names = ", ".join(name for name in sizes if name in self.context.facts.ranges)
            raise InputError(f"The range of {names} was settled when the text was read; give its size to rc.parse.")
        text, known, position, declared = self.source
        part = resolve(text, {**known, **sizes}, derive_in_text, declared=declared)[position]
        return Formula(part.value.expr, part.value.names, part.context, part.name, part.heights)

    @takes("f.with_functions")
    def with_functions(self, **functions: Callable[..., Any]) -> Formula:
        """The formula with functions in the place of unknown ones: each works entry by entry, and can be traced.

        >>> from ricci import exp, parse
        >>> y = parse("y[i] = point(x[i])", functions=["point"])
        >>> print(y.diff("x[j]").with_functions(point=lambda x: exp(2 * x)))
        dy_dx[i,j] = 2 delta[i,j] exp(2 x[i])
        """
        return offered("with_functions")([self], functions)[0]

    # Arithmetic, aligned by index name; missing indices broadcast.

    def __add__(self, other: Operand) -> Formula:
        return aligned(lambda a, b: a + b, self, other)

    def __radd__(self, other: Operand) -> Formula:
        return aligned(lambda a, b: a + b, other, self)

    def __sub__(self, other: Operand) -> Formula:
        return aligned(lambda a, b: a - b, self, other)

    def __rsub__(self, other: Operand) -> Formula:
        return aligned(lambda a, b: a - b, other, self)

    def __mul__(self, other: Operand) -> Formula:
        return multiplied(self, other)

    def __rmul__(self, other: Operand) -> Formula:
        return multiplied(other, self)

    def __truediv__(self, other: Operand) -> Formula:
        return multiplied(self, as_formula(other) ** -1)

    def __rtruediv__(self, other: Operand) -> Formula:
        return multiplied(other, self**-1)

    def __pow__(self, other: Operand) -> Formula:
        return aligned(lambda a, b: a**b, self, other)

    def __rpow__(self, other: Operand) -> Formula:
        return aligned(lambda a, b: a**b, other, self)

    __mod__ = lambda self, other: apply("mod", self, other)  # noqa: E731
    __rmod__ = lambda self, other: apply("mod", other, self)  # noqa: E731
    __floordiv__ = lambda self, other: apply("floor", self / other)  # noqa: E731
    __rfloordiv__ = lambda self, other: apply("floor", other / self)  # noqa: E731

    def __neg__(self) -> Formula:
        return self._new(-self.expr)

    def __pos__(self) -> Formula:
        return self

    def __abs__(self) -> Formula:
        return apply("abs", self)

    def __lt__(self, other: Operand) -> Formula:
        return apply("less", self, other)

    def __le__(self, other: Operand) -> Formula:
        return apply("less_equal", self, other)

    def __gt__(self, other: Operand) -> Formula:
        return apply("less", other, self)

    def __ge__(self, other: Operand) -> Formula:
        return apply("less_equal", other, self)

    def __matmul__(self, other: Formula) -> Formula:
        """NumPy's matrix product for vectors and matrices, by position; the inner indices need not have one name."""
        if not isinstance(other, Formula) or not (1 <= self.order <= 2 and 1 <= other.order <= 2):
            raise RuleError("@ takes vectors and matrices; use rc.einsum for other orders.")
        left, right = self.indices[:-1], other.indices[1:]
        clash = set(left) & set(right)
        if clash:
            raise RuleError(f"Both sides of @ have the index {clash.pop()!r}; rename one of them with .rename(…).")
        inner = ("inner",)
        check_contracted(self, self.indices[-1], other, other.indices[0])
        expr = contract([(self.expr, (*left, inner)), (other.expr, (inner, *right))], (*left, *right))
        heights = heights_of((*left, *right), [self, other])
        return Formula(expr, (*left, *right), self.context.merged(other.context), None, heights)

    def __rmatmul__(self, other: Any) -> Formula:
        return as_formula(other) @ self

    def _new(self, expr: Expr, indices: Iterable[str] | None = None) -> Formula:
        names = self.indices if indices is None else tuple(indices)
        own = dict(zip(self.indices, self.heights, strict=False))
        return Formula(expr, names, self.context, None, tuple([own[name] for name in names]) if own else ())

    # Over axes.

    @takes("f.axes", names="text")
    def axes(self, *names: str) -> tuple[int, ...]:
        """The positions of the named axes, ``"i j"`` or ``"i", "j"``; all of them where none is named."""
        words = [word for name in names for word in re.split(r"[\s,]+", name.strip()) if word]
        if names and not words:
            raise AxisError("An empty text names no axis; leave it out for all axes, or write their names: 'i j'.")
        for word in words:
            if word not in self.indices:
                listed = f"[{','.join(self.indices)}]" if self.indices else "none: it is a scalar"
                hint = nearest(word, self.indices)
                raise AxisError(f"There is no axis {word!r}; the indices of this formula are {listed}. {hint}".rstrip())
        if len(set(words)) != len(words):
            raise AxisError(f"An axis is named twice in {' '.join(words)!r}.")
        return tuple([self.indices.index(word) for word in words]) if words else tuple(range(self.order))

    def _applied(self, function: str, *others: Operand) -> Formula:
        """An elementwise function of the table of this formula and others."""
        return apply(function, self, *others)

    @takes("f.over", function="text", axes="text")
    def over(self, function: str, *axes: str) -> Formula:
        """A function of the table over named axes: ``x.over("softmax", "k")``."""
        row = FUNCTIONS.get(function)
        if row is None or row.kind not in ("reduce", "keep"):
            known = [name for name, row in FUNCTIONS.items() if row.kind in ("reduce", "keep")]
            raise InputError(
                f"f.over: {function!r} is no function over axes; these are {', '.join(known)}. "
                f"{nearest(function, known)}".rstrip()
            )
        places = self.axes(*axes)
        if row.kind == "keep":
            return self._new(row(self.expr, places))
        kept = [name for position, name in enumerate(self.indices) if position not in places]
        return self._new(row(self.expr, places), kept)

    @takes("f.sum", axes="text")
    def sum(self, *axes: str) -> Formula:
        """The sum over the named axes, or over all: ``u.sum("m")``."""
        places = self.axes(*axes)
        kept = [name for position, name in enumerate(self.indices) if position not in places]
        return self._new(contract([(self.expr, self.indices)], kept), kept)

    @takes("f.transpose", axes="text")
    def transpose(self, *axes: str) -> Formula:
        """The axes in the order named, or reversed."""
        places = self.axes(*axes) if axes else tuple(reversed(range(self.order)))
        if len(places) != self.order:
            raise AxisError(f"transpose names all indices: {' '.join(self.indices)}.")
        names = [self.indices[p] for p in places]
        return self._new(product([(self.expr, self.indices)], names), names)

    @property
    def T(self) -> Formula:
        """The axes reversed."""
        return self.transpose()

    @takes("f.rename", names="new names or None")
    def rename(self, names: Mapping[str, str] | None = None, **more: str) -> Formula:
        """The same tensor with other index names: ``y.rename(i="p")``."""
        new = {**(names or {}), **more}
        for old, name in new.items():
            if not is_index(name):
                raise InputError(
                    f"f.rename: {shown(name)} is not a name of an index; write letters, digits and underscores, the "
                    f'first one no digit: f.rename({old}="p").'
                )
        self.axes(*new)
        result = [new.get(name, name) for name in self.indices]
        for name in result:
            if result.count(name) > 1:
                raise RuleError(f"Renaming would give two free indices the name {name!r}; free indices are distinct.")
        check_labels(new.values(), self.heights)
        return self._again(self.expr, tuple(result), self.name)

    @takes("f.named", name="tensor name or None")
    def named(self, name: str | None) -> Formula:
        """The same tensor with another name on the left side."""
        return self._again(self.expr, self.indices, name)

    def _again(self, expr: Expr, indices: tuple[str, ...], name: str | None) -> Formula:
        """The same value under other names, or in another form; the text that it comes from still says what it is."""
        again = Formula(expr, indices, self.context, name, self.heights, self.statements)
        again.source = self.source
        if self.origin is not None:
            again.origin = self.origin._replace(names=indices[self.order - len(self.origin.names) :])
        return again

    # Derivatives.

    @takes("f.diff")
    def diff(
        self,
        *wrt: Target | Sequence[Target],
        mode: str = "auto",
        cut: Target | Sequence[Target] | None = None,
        effort: float = 0.0,
    ) -> Formula:
        """The derivative by variables, one after another: ``loss.diff("w", "w")``, ``y.diff("x[p,q]")``."""
        return public("diff")(self, *wrt, mode=mode, cut=cut, effort=effort)

    @takes("f.diff_all")
    def diff_all(self, *wrt: Target | Sequence[Target], mode: str = "reverse") -> tuple[Formula, ...]:
        """The derivatives by several variables, in one sweep."""
        return public("diff_all")(self, *wrt, mode=mode)

    @takes("f.simplify")
    def simplify(self) -> Formula:
        """The formula by the named rules of ``ricci.simplify``: stable, and no dearer to evaluate.

        >>> from ricci import parse
        >>> print(parse("y[i] = log(1 + exp(x[i]))").simplify())
        y[i] = softplus(x[i])
        """
        from ricci.simplify import simplify

        return self._again(simplify(self.expr), self.indices, self.name)

    @overload
    def compile(
        self,
        backend: str | None = None,
        *,
        compressed: Literal[True],
        simplify: bool = True,
        fused: bool | None = None,
        jit: bool | None = None,
        mesh: Any = None,
        axes: Mapping[str, Any] | None = None,
    ) -> CompressedFunction: ...
    @overload
    def compile(
        self,
        backend: str | None = None,
        *,
        blocks: Mapping[str, int | str | None] | str | Sequence[str],
        memory: int | str | None = None,
        progress: bool | Callable[[int, int], Any] = False,
        threads: int | None = None,
        simplify: bool = True,
        fused: bool | None = None,
    ) -> BlockedFunction: ...
    @overload
    def compile(
        self,
        backend: str | None = None,
        *,
        compressed: bool = False,
        simplify: bool = True,
        fused: bool | None = None,
        jit: bool | None = None,
        mesh: Any = None,
        axes: Mapping[str, Any] | None = None,
        blocks: Mapping[str, int | str | None] | str | Sequence[str] | None = None,
        memory: int | str | None = None,
        progress: bool | Callable[[int, int], Any] = False,
        threads: int | None = None,
    ) -> Compiled: ...
    @takes("f.compile")
    def compile(self, backend: str | None = None, **options: Any) -> Compiled:
        """A fast function of arrays: for "numpy", "torch" or "jax", or for whatever arrays it is called with.

        >>> from ricci import parse
        >>> f = parse("y[i] = A[i,j] x[j]").compile("numpy")
        >>> f(A=[[1.0, 2.0], [3.0, 4.0]], x=[1.0, 1.0])
        array([3., 7.])

        ``blocks={"i": 1}`` computes it block by block along an index: see ``rc.compile``.

        >>> parse("y[i] = A[i,j] x[j]").compile(blocks={"i": 1})(A=[[1.0, 2.0], [3.0, 4.0]], x=[1.0, 1.0])
        array([3., 7.])
        """
        return public("compile")(self, backend, **options)

    @takes("f.code", backend="text", name="name or None", sizes="sizes or None", with_gradient="names or None")
    def code(
        self,
        backend: str = "numpy",
        *,
        name: str | None = None,
        types: str | Mapping[str, str] | None = None,
        sizes: Mapping[str, int] | None = None,
        with_gradient: str | Sequence[str] | None = None,
    ) -> KeptCode:
        """A function of NumPy, PyTorch, JAX, Julia or C, or a LaTeX algorithm, that needs no ricci: see ``rc.code``.

        ``with_gradient="w"`` has it give the derivative by ``w`` too, and share what both have in common.
        """
        from ricci.user.coding import code_of

        return code_of(self, backend, name, types, sizes, with_gradient)

    @takes("f.equivalent", other="formula", at="points or None")
    def equivalent(self, other: Formula, at: Iterable[Mapping[str, Any]] | None = None) -> bool | Undecided:
        """Whether both are equal wherever both are defined.

        ``True`` where that is proved, ``False`` where values at a random point differ, or at one of those given with
        ``at``; otherwise a third answer, which prints what is known: values agree, but no proof was found.

        >>> from ricci import parse
        >>> parse("y[i] = tanh(x[i])").diff("x[p]").equivalent(parse("J[i,p] = delta[i,p] (1 - tanh(x[i])**2)"))
        True
        >>> parse("f = 1[i] (a[i] + b[i])").equivalent(parse("f = 1[i] (a[i] - b[i])"))
        False
        """
        return offered("equivalent")(self, other, at)

    @takes("f.structure")
    def structure(self) -> StructureReport:
        """What the result is made of: cores, deltas, ones and symmetries, and how many numbers it takes."""
        from ricci.show.structure import report

        columns, linked = self._columns, self.context.facts.linked_sizes()
        return report(self.expr, self.indices, self.shape, columns, self._sides(self.order - columns), tuple(linked))

    def _sides(self, rows: int) -> tuple[str, str]:
        """What the first axes are of, and the others: ``y[i]`` and ``x[p,q]``, or ``y: i`` and ``y: j``."""
        steps = self.chain
        root = steps[0].origin.formula if steps else self
        groups = [(root.name or "", root.indices), *[(step.origin.by.name, step.origin.names) for step in steps]]
        sides: tuple[list[str], list[str]] = ([], [])
        at = 0
        for name, indices in groups:
            own = self.indices[at : at + len(indices)]
            whole = name and not at < rows < at + len(own)
            for side, part in enumerate((own[: max(0, rows - at)], own[max(0, rows - at) :])):
                if part:
                    parted = f"{name}: {', '.join(part)}" if name else ", ".join(part)
                    sides[side].append(f"{name}[{','.join(part)}]" if whole else parted)
            at += len(indices)
        return " ".join(sides[0]), " ".join(sides[1])

    @takes("f.graph")
    def graph(self, **options: Any) -> Drawing:
        """The graph of the expression as a drawing: DOT text, SVG, and where Graphviz is installed PNG and PDF."""
        from ricci.drawing import draw

        return draw(self, **options)

    @takes("f.derivation", detail="detail", sums="flag")
    def derivation(self, detail: str = "normal", sums: bool = False) -> Derivation:
        """The steps that lead to this derivative, pullback or pushforward, each with its rule.

        ``detail`` is how much is done from one line to the next: "brief", "normal" or "full", a rule at a time. With
        ``sums`` every sum is written with its sign.
        """
        return offered("derivation")(self, detail, sums)

    @property
    def equation(self) -> Equation:
        """This formula as an equation, to work with by the rules of index notation."""
        equation = public("Equation")
        return equation.of(self) if self.left is None else equation.of_sides(self)


class OtherOrders:
    """What is made of formulas for inputs that have other orders than the text, which says none, was read with."""

    def __init__(self, formulas: Sequence[Formula], make: Callable[[list[Formula]], Compiled]):
        self.formulas, self.make = tuple(formulas), make
        self.made: dict[tuple, Compiled | None] = {}

    def __call__(self, given: Mapping[str, Any]) -> Compiled | None:
        """What such a call goes to; none where the orders are those, or where the text cannot be read with others."""
        facts = merged(f.context for f in self.formulas).facts
        found = {name: order_of(given[name]) for name in sorted(facts.assumed & given.keys())}
        key = tuple(found.items())
        if all(facts.inputs[name] == order for name, order in key):
            return None
        if key not in self.made:
            again = [f.of_orders(found) for f in self.formulas]
            parts = [f for f in again if f is not None]
            self.made[key] = self.make(parts) if len(parts) == len(again) else None
        return self.made[key]

    def __reduce__(self):
        return OtherOrders, (self.formulas, self.make)


def order_of(value: Any) -> int:
    """How many axes an array has, or what passes for one."""
    if hasattr(value, "shape"):
        return len(value.shape)
    import numpy as np

    return np.ndim(value)


def written(formulas: Sequence[Formula]) -> Compiled:
    """The function that computes a formula as it is written."""
    (formula,) = formulas
    return formula._as_written()


def _fit(names: tuple, order: int) -> bool:
    """Whether these are names for so many axes."""
    return len(names) == order == len(set(names)) and all(map(is_index, names))


def derive_in_text(y: Expr, x: Expr) -> Expr:
    from ricci.calculus.modes import derivative
    from ricci.simplify import simplify

    return simplify(derivative(simplify(y), x))


register("formula", Formula)


def as_formula(value: Operand) -> Formula:
    """A number as a formula; a formula as it is."""
    if isinstance(value, Formula):
        return value
    kind = kind_of(value)
    if kind in ("traced", "tensor"):
        raise InputError(
            f"A formula stands beside a {'traced array' if kind == 'traced' else 'tensor'}, and a formula has no value "
            "until it is called. Make the other an input of the formula, and give it at the call: f(x=t)."
        )
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()
    if isinstance(value, (int, float, complex)) or type(value).__name__ == "Fraction":
        if isinstance(value, int) and abs(value) > sys.float_info.max:
            raise InputError(f"The number {shown(value)} is too large to compute with; scale the quantities.")
        return Formula(constant(value))
    what = type(value).__name__
    raise InputError(f"A {what} cannot be part of a formula; make it an input with rc.variable(name, value).")


def check_sizes(parts: Iterable[Formula]) -> dict[Hashable, Size]:
    """The sizes of all indices, each with one in all operands."""
    sizes: dict[Hashable, Size] = {}
    for part in parts:
        for name, size in zip(part.indices, part.expr.shape, strict=True):
            known = sizes.get(name, size)
            if isinstance(known, int) and isinstance(size, int) and known != size:
                raise ShapeError(f"Index {name!r} has size {known} in one operand and {size} in another.")
            sizes[name] = dims.same(known, size)
    return sizes


def heights_of(names: Iterable[str], parts: Sequence[Formula]) -> tuple[str, ...]:
    """Where indices stand in what is made of ``parts``: an index has one height in all of them."""
    if not any(any(part.heights) for part in parts):
        return ()
    found: dict[str, str] = {}
    for part in parts:
        for name, height in zip(part.indices, part.standing, strict=True):
            if found.setdefault(name, height) != height:
                raise RuleError(
                    f"Index {name!r} stands {WORDS[found[name]]} in one operand and {WORDS[height]} in another; "
                    "an index has one height in what is added or multiplied entry by entry."
                )
    return tuple([found[name] for name in names])


def check_contracted(first: Formula, name: str, second: Formula, other: str) -> None:
    """Two indices may be contracted if one stands above and the other below, or both in brackets."""
    if not any(first.heights) and not any(second.heights):
        return
    pair = [part.standing[part.indices.index(n)] for part, n in ((first, name), (second, other))]
    if pair[0] != FLIPPED[pair[1]]:
        raise RuleError(
            f"Index {name!r} stands {WORDS[pair[0]]} in one operand and {WORDS[pair[1]]} in the other; "
            "only an index above is contracted with one below. " + KEEPS
        )


def check_labels(names: Iterable[str], heights: Sequence[str]) -> None:
    """Upper and lower indices are names without underscores, since these lead lower ones."""
    wrong = next((name for name in names if any(heights) and "_" in name), None)
    if wrong is not None:
        raise RuleError(f"{wrong!r} has an underscore; an upper or lower index is a name without any.")


def aligned(build: Callable[..., Expr], *operands: Operand) -> Formula:
    """An elementwise function of operands aligned by index name."""
    parts = [as_formula(operand) for operand in operands]
    if all(part.indices == parts[0].indices or not part.indices for part in parts[1:]):
        check_sizes(parts)
        longest = max((part.indices for part in parts), key=len)
        heights = heights_of(longest, parts)
        return Formula(build(*[p.expr for p in parts]), longest, merged(p.context for p in parts), None, heights)
    sizes = check_sizes(parts)
    names = tuple(map(str, sizes))
    exprs = [product([(p.expr, p.indices)], names, sizes) if p.indices else p.expr for p in parts]
    return Formula(build(*exprs), names, merged(p.context for p in parts), None, heights_of(names, parts))


def multiplied(*operands: Operand) -> Formula:
    """The product entry by entry, aligned by name; nothing is summed."""
    parts = [as_formula(operand) for operand in operands]
    sizes = check_sizes(parts)
    names = tuple(map(str, sizes))
    expr = product([(p.expr, p.indices) for p in parts], names)
    return Formula(expr, names, merged(p.context for p in parts), None, heights_of(names, parts))


def apply(function: str, *operands: Operand) -> Formula:
    """An elementwise function of the table."""
    return aligned(FUNCTIONS[function], *operands)


def _inputs(f: Formula) -> frozenset[tuple]:
    """The inputs, and what is declared of them."""
    return frozenset([v.data for v in variables(f.settled)])
