"""Functions with rules of their own, on formulas.

A formula has symbolic sizes, and a function is traced for sizes that are numbers. Most functions work entry by entry:
traced on numbers and on vectors, they do the same. Such a function becomes an elementwise one, and its rule, on
numbers, the local derivative. Any other waits: it is a node that knows the shape of its result, learnt from examples,
and is traced when the sizes are known, as its derivatives are. Operands that work entry by entry are aligned by the
names of their indices; for any other function they are arrays, with their axes in the order of their indices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, count
from typing import Any

import numpy as np

from ricci.caches import Cache, Interned
from ricci.calculus.modes import derivative
from ricci.dispatch import recorded
from ricci.errors import InputError, LimitError, RicciError, RuleError
from ricci.expr import OPS, Expr, Function, Op, Size, Variable, delta, elementwise, function, product, variable
from ricci.expr.walk import rewritten, with_bodies
from ricci.expr.widen import batched
from ricci.functions.table import FUNCTIONS
from ricci.functions.unknown import Places, UnknownFunction, mark
from ricci.notation.context import merged
from ricci.simplify import simplify
from ricci.tracing import frames, trees
from ricci.tracing.array import Traced
from ricci.tracing.recording import Arguments, is_array
from ricci.tracing.shapes import Shaped
from ricci.transforms.transformed import replace_all
from ricci.user.formula import Formula, aligned, as_formula, check_sizes

FLOAT = np.dtype(np.float64)
MOST_PAIRED = 6  # sizes of which two are tried as equal
SAMPLES = ((3, 5, 7, 11, 13, 17, 19, 23), (4, 6, 9, 10, 14, 15, 21, 22))  # sizes of two examples, different ones
Shapes = tuple[tuple[int, ...], ...]
_titles: Interned[Op] = Interned()  # the names of functions that are in use


def on_formulas(custom: Any, args: tuple, kwargs: dict[str, Any]) -> Formula:
    """The function of formulas and numbers, as a formula."""
    leaves, form = trees.flatten((args, kwargs))
    if recorded([leaf for leaf in leaves if not isinstance(leaf, Formula)]):
        raise InputError(
            f"{custom.__name__} is given a formula beside a traced array or a tensor; a formula has no value until it "
            "is called. Call it first."
        )
    operand = [isinstance(leaf, Formula) or is_array(leaf) for leaf in leaves]
    parts = [as_formula(leaf) for leaf, own in zip(leaves, operand, strict=True) if own]
    static = tuple([None if own else leaf for leaf, own in zip(leaves, operand, strict=True)])
    return of_form(custom, form, static, tuple(operand))(parts)


def of_form(custom: Any, *key: Any) -> OnFormulas:
    """The function for arguments of a form, with static ones, and perhaps a name of its own; made once."""
    try:
        found = custom.on_formulas.get(key)
    except TypeError:  # a static argument that cannot be compared
        return OnFormulas(custom, *key)
    if found is None:
        found = custom.on_formulas[key] = OnFormulas(custom, *key)
    return found


def _row_again(custom: Any, key: tuple, place: tuple) -> Op:
    """The row of a function that has travelled: of that itself, or of one that waits for sizes, or its derivative."""
    found = of_form(custom, *key)
    if not place:
        return found.row()
    later = found.waiting(*place[:2])
    for k in place[2:]:
        later = later.slope(k)
    return later.op


class OnFormulas:
    """A function with a rule, for arguments of one form; a text may call it by another ``title`` than its own."""

    def __init__(self, custom: Any, form: Any, leaves: tuple, operand: tuple[bool, ...], title: str = ""):
        self.custom, self.key = custom, (form, leaves, operand, *([title] if title else []))
        self.form, self.leaves, self.operand, self.title = form, leaves, operand, title
        self.entrywise: dict[int, bool] = {}  # by the number of axes
        self.later: dict[tuple, _Later] = {}
        self._rules = Cache("rules of one's own on formulas", 256)
        self._op: Op | None = None

    def __call__(self, parts: Sequence[Formula]) -> Formula:
        sizes = {str(name): size for name, size in check_sizes(parts).items()}
        if self.works_by_entry(len(sizes)):
            op = self.row()
            return aligned(lambda *exprs: elementwise(op, *exprs), *parts)
        return self.whole(parts)

    def whole(self, parts: Sequence[Formula], places: Places = ()) -> Formula:
        """The function of arrays, as one that waits for sizes; or its derivative by operands, one after another."""
        axes = self._axes(parts, {str(name): size for name, size in check_sizes(parts).items()})
        later = self.waiting(tuple([part.order for part in parts]), tuple([at for at, _ in axes]))
        if places:
            for place in places:
                later = later.slope(place - 1)
            names = [f"i{k}" for k in range(len(later.axes))]
            return Formula(function(later.op, tuple([part.expr for part in parts])), names)
        expr = function(later.op, tuple([part.expr for part in parts]))
        return Formula(expr, [name for _, name in axes], merged(part.context for part in parts))

    def waiting(self, orders: tuple[int, ...], axes: tuple) -> _Later:
        """The function of operands of these orders, with these axes, which waits for sizes."""
        if (orders, axes) not in self.later:
            made = partial(_row_again, self.custom, self.key)
            title = self.title or _title(self.custom.__name__)
            place = (orders, axes)
            self.later[place] = _Later(title, orders, axes, self._template, made, place, self.title)
        return self.later[orders, axes]

    def rule(self, shapes: Sequence[tuple[int, ...]]) -> Any:
        """The rule for operands of these shapes."""
        return frames.apart(self._traced, shapes)

    def _traced(self, shapes: Sequence[tuple[int, ...]]) -> Any:
        given = iter([Shaped(shape, FLOAT) for shape in shapes])
        leaves = [next(given) if own else leaf for leaf, own in zip(self.leaves, self.operand, strict=True)]
        args, kwargs = trees.unflatten(self.form, leaves)
        arguments = Arguments.of(args, kwargs)
        with frames.suspended(), frames.frame(self.custom.__name__) as own:
            operands = [Traced(own.variable(f"a{k}", shape), FLOAT, own) for k, shape in enumerate(shapes)]
            found = self.custom.ruled(arguments, operands)
        if own.captured:
            raise InputError(
                f"{self.custom.__name__} uses an array that is none of its arguments; on formulas, pass it as one."
            )
        return found

    # Entry by entry

    def works_by_entry(self, order: int) -> bool:
        """Whether it does to arrays with so many axes, for sure, what it does to each of their entries."""
        if order not in self.entrywise:
            self.entrywise[order] = self._works_by_entry(order)
        return self.entrywise[order]

    def _works_by_entry(self, order: int) -> bool:
        number, shape = sum(self.operand), SAMPLES[0][:order]
        try:
            scalar, array = self.ruled(((),) * number), self.ruled((shape,) * number)
        except LimitError:
            raise
        except (RicciError, ArithmeticError, LookupError, TypeError, ValueError):  # it is not for both
            return False
        if scalar.body is None or array.body is None or scalar.shape != () or array.shape != shape:
            return False
        inner, axes = dict(zip(scalar.inputs, array.inputs, strict=True)), tuple(range(order))
        pairs = [(by_entry(scalar.body, inner), array.body)]
        for part, jacobian in zip(scalar.jacobians, array.jacobians, strict=True):
            deltas = [(delta(n), (k, ("in", k))) for k, n in enumerate(shape)]
            diagonal = product([(by_entry(part, inner), axes), *deltas], (*axes, *[("in", k) for k in axes]))
            pairs.append((diagonal, jacobian))
        return all(_same(a, b) for a, b in pairs)

    def row(self) -> Op:
        """The function as an elementwise one, its rule that on numbers."""
        if self._op is not None:
            return self._op
        scalar = self.ruled(((),) * sum(self.operand))
        value = scalar.body if scalar.body is not None else function(scalar.op, tuple(scalar.inputs))

        def slope(k: int, *args: Expr) -> Expr:
            (own,) = rewritten([scalar.jacobians[k]], as_entrywise)
            return by_entry(own, dict(zip(scalar.inputs, args[:-1], strict=True)))

        def as_entrywise(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
            return elementwise(op, *args) if isinstance(node, Function) and node.op is scalar.op else None

        number, name = len(scalar.inputs), self.title or _title(self.custom.__name__)
        op = self._op = Op(
            name,
            number,
            lambda *args: args,
            tuple([partial(slope, k) for k in range(number)]),
            maker=elementwise,
            latex=_latex(name, number),
            body=lambda args: by_entry(value, dict(zip(scalar.inputs, args, strict=True))),
            again=lambda: (_row_again, (self.custom, self.key, ())),
            head=f"{name}()",
        )
        return op if self.title else _titles.put(name, op)

    # Any other

    def ruled(self, shapes: Shapes) -> Any:
        return self._rules.made(shapes, lambda: self.rule(shapes))

    def traced(self) -> list[tuple[Shapes, Any]]:
        """The shapes for which it is known, and the rules for these."""
        return list(self._rules.all().items())

    def _template(self, shapes: Shapes) -> tuple[list[Variable], Expr]:
        rule = self.ruled(shapes)
        return rule.inputs, function(rule.op, tuple(rule.inputs))

    def _axes(self, parts: Sequence[Formula], sizes: Mapping[str, Size]) -> tuple[tuple[Any, str], ...]:
        """For each axis of the result its size, or the operand and the axis that have the same; and its name."""
        tried = []
        names = [name for name, size in sizes.items() if not isinstance(size, int)]
        for pick in _ways(len(names)):
            examples = []
            for sample in range(2):
                known = {**sizes, **{name: SAMPLES[sample][at % 8] for name, at in zip(names, pick, strict=True)}}
                shapes = tuple([tuple([known[name] for name in part.indices]) for part in parts])
                try:
                    examples.append((known, self._shape(shapes)))
                except LimitError:
                    raise
                except (RicciError, ArithmeticError, LookupError, TypeError, ValueError) as error:
                    tried.append(error)
                    break
            if len(examples) == 2:
                return self._matched(parts, *examples)
        if isinstance(tried[-1], (InputError, RuleError)):
            raise tried[-1]
        raise InputError(
            f"{self.custom.__name__} cannot be traced for formulas with the indices "
            f"{' and '.join([','.join(part.indices) or 'none' for part in parts])}: {tried[-1]}"
        ) from tried[-1]

    def _shape(self, shapes: Shapes) -> tuple[int, ...]:
        return self._template(shapes)[1].shape  # type: ignore[return-value]

    def _matched(self, parts: Sequence[Formula], first: tuple, second: tuple) -> tuple[tuple[Any, str], ...]:
        """Axes of the result that have the size of an operand's axis in both examples are called as that is."""
        (one, shape), (two, again) = first, second
        where = {}
        for k, part in enumerate(parts):
            for axis, name in enumerate(part.indices):
                where.setdefault(name, (k, axis))
        axes: list[tuple[Any, str]] = []
        taken: set[str] = set()
        same = next((p.indices for p in parts if [one[n] for n in p.indices] == list(shape)), ())
        free = (name for name in (f"i{k}" for k in count()) if name not in one)
        for position, (a, b) in enumerate(zip(shape, again, strict=True)):
            fits = [name for name in one if (one[name], two[name]) == (a, b) and name not in taken]
            name = same[position] if same and same[position] in fits else fits[0] if fits else None
            if name is None and a != b:
                raise InputError(
                    f"The result of {self.custom.__name__} has a size that is not one of its operands', {a} and {b} in "
                    "two examples; on formulas, give the sizes of indices as numbers."
                )
            axes.append((a, next(free)) if name is None else (where[name], name))
            taken.add(axes[-1][1])
        return tuple(axes)


class _Later:
    """A function that is traced when sizes are known, and its derivatives by each operand, which are such too."""

    def __init__(
        self,
        name: str,
        orders: tuple[int, ...],
        axes: Sequence[Any],
        template: Callable[[Shapes], tuple[list[Variable], Expr]],
        again: Callable[[tuple], Op],
        place: tuple,
        title: str = "",
    ):
        self.title = title  # the name that a text gives the function; those of its derivatives follow from it
        self.name, self.orders, self.axes, self.template = name, orders, list(axes), template
        self.again, self.place = again, place  # what makes its row elsewhere, and of what
        self.slopes: dict[int, _Later] = {}
        number = len(orders)
        self.op = Op(
            name,
            number,
            lambda *args: args,
            tuple([partial(self._partial, k) for k in range(number)]),
            latex=_latex(name, number),
            works_on=orders,
            result=self._result,
            rectangular=True,
            rewrite=self._known,
            later=True,
            derived=UnknownFunction(title, number, tuple([at + 1 for at in place[2:]])) if title else None,
            again=lambda: (again, (place,)),
            head=f"{name}()",
        )
        _titles.put(name, self.op)

    def _result(self, shapes: Sequence[tuple[Size, ...]]) -> tuple[Size, ...]:
        return tuple([at if isinstance(at, int) else shapes[at[0]][at[1]] for at in self.axes])

    def _known(self, *args: Expr) -> Expr | None:
        """The function itself, once the sizes are numbers."""
        shapes = tuple([a.shape for a in args])
        if not all(isinstance(size, int) for shape in shapes for size in shape):
            return None
        inputs, e = self.template(shapes)  # type: ignore[arg-type]
        return replace_all([e], dict(zip(inputs, args, strict=True)))[0]

    def _partial(self, k: int, operands: tuple[Expr, ...], y: Expr, params: tuple) -> Expr:
        return function(self.slope(k).op, operands)

    def slope(self, k: int) -> _Later:
        """The derivative by an operand."""
        if k not in self.slopes:

            def slope(shapes: Shapes) -> tuple[list[Variable], Expr]:
                inputs, e = self.template(shapes)
                return inputs, simplify(derivative(e, inputs[k]))

            axes = [*self.axes, *[(k, axis) for axis in range(self.orders[k])]]
            place = (*self.place, k)
            if self.title:
                name = self.title + mark(tuple([at + 1 for at in place[2:]]), len(self.orders))
            else:
                name = _title(f"d{self.name}_{k}" if len(self.orders) > 1 else f"d{self.name}")
            self.slopes[k] = _Later(name, self.orders, axes, slope, self.again, place, self.title)
        return self.slopes[k]


def _ways(number: int) -> Iterator[Sequence[int]]:
    """Which of so many sizes are equal in examples: none, then two of them, then all."""
    apart = list(range(number))
    yield apart
    for one, other in combinations(apart, 2) if number <= MOST_PAIRED else ():
        yield [one if k == other else k for k in apart]
    yield [0] * number


def by_entry(e: Expr, values: Mapping[Any, Expr]) -> Expr:
    """An expression of scalars, entry by entry of arrays of one shape; scalars among these stay."""
    shaped = {v: x for v, x in values.items() if x.shape}
    shape = next((x.shape for x in shaped.values()), ())
    inner: dict[Expr, Expr] = {v: v for v in values}
    for axis in reversed(range(len(shape))):
        wide = {v: variable(f"wide.{k}.{axis}", (shape[axis], *inner[v].shape)) for k, v in enumerate(shaped)}
        (e,) = batched([e], {inner[v]: wide[v] for v in wide}, shape[axis])
        inner = {**inner, **wide}
    return replace_all([e], {inner[v]: x for v, x in values.items()})[0]


def _same(a: Expr, b: Expr) -> bool:
    return simplify(with_bodies([a])[0]) is simplify(with_bodies([b])[0])


def _title(name: str) -> str:
    """A name that no other function has."""
    start = name if name.isidentifier() else "custom"
    return next(t for t in (f"{start}{k or ''}" for k in count()) if _is_free(t))


def _is_free(title: str) -> bool:
    return _titles.get(title) is None and title not in FUNCTIONS and title not in OPS


def _latex(name: str, number: int) -> str:
    operands = ", ".join([f"{{{k}}}" for k in range(number)])
    return rf"\operatorname{{{{{name}}}}}({operands})"
