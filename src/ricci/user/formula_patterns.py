"""The backend for formulas: einops' movements of data, made of those of the core (``ricci.expr.moving``).

Sizes may be symbolic. What must hold of them and is not known yet, that ``x.0`` is a multiple of 8, is kept as a
condition in the context of the result and checked when a call tells the sizes.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import accumulate, count
from math import prod
from typing import Any
from weakref import WeakValueDictionary

from ricci.einops.backends.base import Backend
from ricci.errors import AxisError, InputError, ShapeError, nearest
from ricci.expr import Expr, Function, Size, Variable, moving, zero
from ricci.expr import variable as input_node
from ricci.expr.build.product import contract
from ricci.functions.axes import last
from ricci.functions.table import FUNCTIONS
from ricci.kinds import check_usable
from ricci.notation.context import Context, Facts, merged
from ricci.user.formula import Formula, as_formula
from ricci.user.refinement import equal, not_negative, refined

Label = Hashable
_LETTERS = "ijklmnpqrstuvwabcdefgh"
_INDEX_NAME = re.compile(r"[^\W\d]\w*'*")
_ONE_AXIS = ("argmax", "argmin")  # whose value is the place along one axis
_arrays: WeakValueDictionary[str, Any] = WeakValueDictionary()  # arrays that became inputs, by the name they got


class FormulaBackend(Backend):
    """The operations that einops is made of, for formulas. Axes are numbers; names are set by :meth:`named`.

    >>> from ricci import variable
    >>> x = variable("x[h,c]")
    >>> h, c = FORMULA.shape(x)
    >>> print(FORMULA.named(FORMULA.reshape(x, (h // 8, 8, c)), ("h", "p", "c")))
    sizes: x[h',c], |p| = 8, |h| = floor(|h'|/8)
    x[8*h+p,c]
    """

    name = "formula"
    direct = False
    renames = True

    def accepts(self, x: object) -> bool:
        """Whether ``x`` is a formula."""
        return isinstance(x, Formula)

    def is_float(self, x: Formula) -> bool:
        """Formulas are computed with as floating numbers."""
        return True

    def shape(self, x: Formula) -> tuple[Size, ...]:
        """The sizes of the axes, numbers or symbolic."""
        return x.expr.shape

    def lift(self, x: Any) -> Formula:
        """A formula as it is; a number as a constant; an array as an input that carries it as its value.

        Equal arrays become the same input.

        >>> import numpy as np
        >>> FORMULA.lift(np.array([2, 0, 1]))().tolist()
        [2, 0, 1]
        """
        return as_formula(x) if isinstance(x, Formula) or getattr(x, "shape", ()) == () else carrying_array(x)

    def names(self, x: Any) -> tuple[str, ...] | None:
        """The index names; those of scalars, and of arrays beside formulas, are none."""
        return x.indices or None if isinstance(x, Formula) else None

    def named(self, x: Formula, names: Sequence[str | None]) -> Formula:
        """``x`` with these index names; ``None`` asks for a name that is not among them."""
        given = [name for name in names if name is not None]
        if len(names) != x.order or len(set(given)) != len(given):
            raise AxisError(f"The {x.order} axes of a formula need as many different names, not {list(names)}.")
        for name in given:
            if not _INDEX_NAME.fullmatch(name):
                raise AxisError(f"{name!r} is not an index name; write letters, digits and underscores.")
        return Formula(x.expr, _unique(names), x.context)

    def fixed(self, x: Formula, axis: int, size: Size) -> Formula:
        """``x``, with the condition that ``axis`` has this size: checked now if it can be, and otherwise at the call.

        >>> from ricci import variable
        >>> x = FORMULA.fixed(variable("x[b,c]"), 1, 3)
        >>> x(x=[[1.0, 2.0]])
        Traceback (most recent call last):
            ...
        ricci.errors.ShapeError: Axis 'c' has the size x.1 and should have 3. The inputs have the shapes x (1, 2).
        """
        own = x.expr.shape[axis]
        context = equal(x.context, own, size, f"Axis {x.indices[axis]!r} has the size {own} and should have {size}.")
        known = size == 1 and own != 1  # from here on
        expr = moving.sliced(x.expr, axis, 0, 1, 1) if known else x.expr
        return Formula(expr, x.indices, context)

    # Movements

    def transpose(self, x: Formula, axes: Sequence[int]) -> Formula:
        """Axis ``axes[k]`` of ``x`` as axis ``k``."""
        if sorted(axes) != list(range(x.order)):
            raise AxisError(f"transpose takes each of the {x.order} axes once, not {tuple(axes)}.")
        return Formula(moving.transposed(x.expr, axes), [x.indices[a] for a in axes], x.context)

    def reshape(self, x: Formula, shape: Sequence[Size]) -> Formula:
        """The same entries in row-major order with other sizes.

        >>> from ricci import variable
        >>> print(FORMULA.reshape(variable("x[i]", [1.0, 2.0, 3.0, 4.0]), (2, 2)))
        sizes: x[i'], |i| = 2, |i'| = 4, |j| = 2
        x[2*i+j]
        """
        if 0 in x.expr.shape and 0 in shape:
            return Formula(zero(tuple(shape)), _unique([None] * len(shape)), x.context)
        inner, outer, context = refined(x.expr.shape, shape, x.indices, x.context)
        expr, into, out = moving.regrouped(x.expr, inner, outer)
        whole = dict(zip(into, x.indices, strict=True))
        return Formula(expr, _unique([whole.get(label) for label in out]), context)

    def split(self, x: Formula, parts: Sequence[Sequence[Size]]) -> Formula:
        """Each axis as the product of axes of these sizes, which are taken to fit where they are not known.

        >>> from ricci import variable
        >>> print(FORMULA.split(variable("x[i]"), [(4, variable("x[i]").expr.shape[0] // 4)]).expr.shape)
        (4, (x.0)//(4))
        """
        context = x.context
        for own, name, sizes in zip(x.expr.shape, x.indices, parts, strict=True):
            made = " and ".join(map(str, sizes)) or "1"
            what = f"is not the product of {made}" if len(sizes) > 1 else f"should be {made}"
            context = equal(context, own, prod(sizes), f"Axis {name!r} has the size {own}, which {what}.")
        expr = moving.split(x.expr, parts)
        return Formula(expr, _unique([None] * expr.order), context)

    def merge(self, x: Formula, counts: Sequence[int], shape: tuple | None = None) -> Formula:
        """As many axes as there are counts, each the product of that many neighbours; 0 for a new one of size 1.

        >>> from ricci import variable
        >>> FORMULA.merge(variable("x[i,j,k]"), (2, 0, 1)).expr.shape
        (x.0*x.1, 1, x.2)
        """
        names = [
            x.indices[end - 1] if many == 1 else None for many, end in zip(counts, accumulate(counts), strict=True)
        ]
        return Formula(moving.merged(x.expr, counts), _unique(names), x.context)

    def expand(self, x: Formula, shape: Sequence[Size]) -> Formula:
        """Axes of size 1 repeated to the sizes of ``shape``; the others have theirs already."""
        if len(shape) != x.order:
            raise ShapeError(f"expand keeps the number of axes: {x.expr.shape} cannot become {tuple(shape)}.")
        repeated = [axis for axis, size in enumerate(x.expr.shape) if size == 1 and shape[axis] != 1]
        for axis, size in enumerate(shape):
            if axis not in repeated:
                x = self.fixed(x, axis, size)
        kept = [shape[axis] if axis in repeated else size for axis, size in enumerate(x.expr.shape)]
        return Formula(moving.expanded(x.expr, tuple(kept)), x.indices, x.context)

    def slice(self, x: Formula, axis: int, start: Size, stop: Size) -> Formula:
        """The entries ``start`` to ``stop``, which is excluded, along ``axis``."""
        size = x.expr.shape[axis]
        message = f"Axis {x.indices[axis]!r} of size {size} has no entries from {start} to {stop}."
        context = x.context
        for room in (start, stop - start, size - stop):
            context = not_negative(context, room, message)
        return Formula(moving.sliced(x.expr, axis, start, 1, stop - start), x.indices, context)

    def stack(self, xs: Sequence[Any]) -> Formula:
        """The formulas along a new first axis."""
        parts, context = self._alike("stack", xs)
        return Formula(moving.stacked([x.expr for x in parts]), _unique([None, *parts[0].indices]), context)

    def concat(self, xs: Sequence[Any], axis: int) -> Formula:
        """The formulas one after another along ``axis``."""
        parts, context = self._alike("concat", xs, axis)
        return Formula(moving.joined([x.expr for x in parts], axis), parts[0].indices, context)

    def _alike(self, what: str, xs: Sequence[Any], but: int | None = None) -> tuple[list[Formula], Context]:
        """The operands, which have one shape, and their context; ``but`` is the axis along which they may differ."""
        parts = [self.lift(x) for x in xs]
        if not parts:
            raise InputError(f"{what} needs at least one formula.")
        context = merged(x.context for x in parts)
        own = parts[0].expr.shape
        for x in parts[1:]:
            message = f"{what} takes formulas of one shape, not {own} and {x.expr.shape}."
            if x.order != len(own):
                raise ShapeError(message)
            for axis, (a, b) in enumerate(zip(own, x.expr.shape, strict=True)):
                context = context if axis == but else equal(context, a, b, message)
        return parts, context

    # Computations

    def reduce(self, x: Formula, name: str, axes: Sequence[int]) -> Formula:
        """A reduction of the table over ``axes``; a place (argmax) among several axes is their row-major position."""
        row = FUNCTIONS.get(name)
        if row is None or row.kind != "reduce":
            known = [function.name for function in FUNCTIONS.values() if function.kind == "reduce"]
            raise InputError(
                f"{name!r} is not a reduction; there are {', '.join(known)}. {nearest(name, known)}".rstrip()
            )
        kept = [axis for axis in range(x.order) if axis not in axes]
        names = [x.indices[axis] for axis in kept]
        if name == "sum":
            return Formula(contract([(x.expr, range(x.order))], kept), names, x.context)
        if name in _ONE_AXIS and len(axes) > 1:
            return Formula(row(last(x.expr, tuple(axes)), len(kept)), names, x.context)
        return Formula(row(x.expr, tuple(axes)), names, x.context)

    def elementwise(self, name: str, a: Any, b: Any) -> Formula:
        """A binary function of the table, entry by entry; operands of one shape, or scalars."""
        row = FUNCTIONS.get(name)
        if row is None or row.kind != "elementwise" or row.arity != 2:
            known = [f.name for f in FUNCTIONS.values() if f.kind == "elementwise" and f.arity == 2]
            listed = ", ".join(known)
            raise InputError(f"{name!r} is not a function of two numbers: {listed}. {nearest(name, known)}".rstrip())
        left, right = self.lift(a), self.lift(b)
        context = left.context.merged(right.context)
        if left.order and right.order:
            _, context = self._alike(name, (left, right))
        return Formula(row(left.expr, right.expr), left.indices or right.indices, context)

    def contract(self, operands: Sequence[Any], labels: Sequence[Sequence[Label]], out: Sequence[Label]) -> Formula:
        """The product of the operands, summed over the labels that are not in ``out``: einsum.

        A label that an operand has twice is its diagonal.

        >>> from ricci import variable
        >>> print(FORMULA.contract([variable("A[i,j]")], ["ii"], "i"))
        y[i] = A[i,i]
        """
        parts = [self.lift(x) for x in operands]
        return _product(list(zip([x.expr for x in parts], labels, strict=True)), out, parts)

    def gather(
        self,
        x: Any,
        x_labels: Sequence[Label],
        indices: Sequence[Any],
        index_labels: Sequence[Sequence[Label]],
        out: Sequence[Label],
    ) -> Formula:
        """``x`` read at places given by integers: ``out[b,t,d] = x[indices[0][b,t], d]``.

        The labels of ``x`` that are in no index and not in ``out`` are the axes that are read, one for each index.

        >>> from ricci import variable
        >>> T, n = variable("T[v,d]"), variable("n[b,t]")
        >>> print(FORMULA.gather(T, "vd", [n], ["bt"], "btd"))
        T[n[b,t],d]
        """
        table, at = self.lift(x), [self.lift(index) for index in indices]
        elsewhere = {*out, *[label for labels in index_labels for label in labels]}
        sizes = dict(zip(x_labels, table.expr.shape, strict=True))
        read = [label for label in sizes if label not in elsewhere]
        hot = _places("gather", at, index_labels, read, sizes)
        return _product([(table.expr, x_labels), *hot], out, [table, *at], at)

    def scatter(
        self,
        values: Any,
        value_labels: Sequence[Label],
        indices: Sequence[Any],
        index_labels: Sequence[Sequence[Label]],
        out: Sequence[Label],
        sizes: Mapping[Label, Size],
    ) -> Formula:
        """Entries added up at places given by integers: ``out[indices[0][b,t], d] += values[b,t,d]``.

        The labels of ``out`` that no operand has are the axes that are written, one for each index, of these sizes.

        >>> from ricci import variable
        >>> y, n = variable("y[b,d]"), variable("n[b]")
        >>> print(FORMULA.scatter(y, "bd", [n], ["b"], "vd", {"v": 5}))
        sizes: |v| = 5
        delta[n[b],v] y[b,d]
        """
        moved, at = self.lift(values), [self.lift(index) for index in indices]
        known = {*value_labels, *[label for labels in index_labels for label in labels]}
        written = [label for label in out if label not in known]
        hot = _places("scatter", at, index_labels, written, sizes)
        return _product([(moved.expr, value_labels), *hot], out, [moved, *at], at)


FORMULA = FormulaBackend()


# Products of labelled operands


def _product(
    factors: Sequence[tuple[Expr, Sequence[Label]]],
    out: Sequence[Label],
    parts: Sequence[Formula],
    at: Sequence[Formula] = (),
) -> Formula:
    """The product of ``factors`` made of ``parts``, of which ``at`` are indices."""
    sizes: dict[Label, Size] = {}
    context = merged(x.context for x in parts)
    for e, labels in factors:
        if len(labels) != e.order:
            raise AxisError(f"An operand with {e.order} axes has {len(labels)} labels: {_listed(labels)}.")
        for label, size in zip(labels, e.shape, strict=True):
            known = sizes.setdefault(label, size)
            message = f"Axis {label!r} has size {known} in one operand and {size} in another."
            context = equal(context, known, size, message)
    if len(set(out)) != len(out) or not set(out) <= sizes.keys():
        raise AxisError(f"The result has the labels {_listed(out)}: different ones of {_listed(sizes)}.")
    names = _unique([x if isinstance(x, str) and _INDEX_NAME.fullmatch(x) else None for x in out])
    integers = {name for index in at for name in _integers(index.expr)}
    if integers:
        context = context.merged(Context(Facts(integers=integers)))
    return Formula(contract(factors, tuple(out)), names, context)


def _listed(labels: Iterable[Label]) -> str:
    return "(" + ", ".join(map(str, labels)) + ")"


def _places(
    what: str,
    at: list[Formula],
    index_labels: Sequence[Sequence[Label]],
    axes: list[Label],
    sizes: Mapping[Label, Size],
) -> list[moving.Factor]:
    """The structures that tie each of ``axes`` to the index that says its place."""
    if len(at) != len(axes) or len(index_labels) != len(axes):
        raise AxisError(
            f"{what} needs one index for each axis it looks up; there are {len(at)} for the axes {_listed(axes)}."
        )
    for label in axes:
        if label not in sizes:
            raise ShapeError(f"{what} needs the size of the axis {label!r}.")
    together = zip(at, index_labels, axes, strict=True)
    return [moving.hot(index.expr, labels, label, sizes[label]) for index, labels, label in together]


def _integers(index: Expr) -> set[str]:
    """The inputs that an index is made of as they are; a function (argmax) may make places of numbers of any kind."""
    found, stack, seen = set(), [index], set()
    while stack:
        node = stack.pop()
        if node in seen or isinstance(node, Function):
            continue
        seen.add(node)
        stack += node.args
        if isinstance(node, Variable):
            found.add(node.name)
    return found


def _same_contents(a: Any, b: Any) -> bool:
    return a is b or ((a.shape, a.dtype) == (b.shape, b.dtype) and a.tobytes() == b.tobytes())


def carrying_array(array: Any, wanted: str | None = None) -> Formula:
    """An input that carries an array, by a name that no other array has: that wanted, or what the user calls it."""
    import numpy as np

    from ricci.tracing.frames import name_here

    check_usable(array, "An array beside formulas")
    value = np.array(array)
    value.flags.writeable = False
    alike = next((name for name, known in list(_arrays.items()) if _same_contents(known, value)), None)
    wanted = wanted or alike or name_here(array) or "array"
    for name in (f"{wanted}_{k}" if k else wanted for k in count()):
        known = _arrays.setdefault(name, value)
        if _same_contents(known, value):
            value = known
            break
    facts = Facts(inputs={name: value.ndim}, mentions={name: None}, values={name: value})
    return Formula(input_node(name, value.shape), _unique([None] * value.ndim), Context(facts))


def _unique(names: Sequence[str | None]) -> list[str]:
    """The names, the missing ones filled in with letters that are free."""
    taken = set(names)
    free = (name for name in (f"{x}{n or ''}" for n in count() for x in _LETTERS) if name not in taken)
    return [next(free) if name is None else name for name in names]
