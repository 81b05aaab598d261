"""The constructors of elementwise functions, of functions over axes, and of gather.

``elementwise(op, args)``: operands have one shape, or are scalars, which broadcast; one that is the same everywhere is
stored as a scalar. ``function(op, args, params)``: each operand has the common leading axes, then the axes the
function works on. Both keep the leading axes in natural order, and try the function's own local rule first.
``one_hot(index, size)`` is the one structure with an operand, and treats its axes likewise.
"""

from __future__ import annotations

from ricci.errors import DTypeError, ShapeError
from ricci.expr import dims
from ricci.expr.build.natural import arrangement, in_natural_order, tied_first
from ricci.expr.build.product import as_scalar, broadcast, product, restrict
from ricci.expr.build.scale import numeric
from ricci.expr.dims import Size
from ricci.expr.nodes import Elementwise, Expr, Function, Shape, Structure, constructors, make
from ricci.expr.numbers import loose
from ricci.expr.op import Op
from ricci.expr.structures import AT, natural


def elementwise(op: Op, *args: Expr) -> Expr:
    """``op`` applied entry by entry."""
    shape = _common_shape(op, args)
    if not op.complex:
        _check_real(op, args)
    if shape:
        args = tuple([as_scalar(e) for e in args])
    result = _rewritten(op, args)
    if result is None:
        tied = 1
        if op.symmetric:
            args = tuple(sorted(args, key=arrangement))
            tied = tied_first([arrangement(e) for e in args])
        inner = next((e.shape for e in args if e.shape), ())
        result = in_natural_order(args, inner, lambda parts: _make(op, parts), tied=tied)
    return broadcast(result, (), shape) if shape and not result.shape else result


def _check_real(op: Op, args: tuple[Expr, ...]) -> None:
    for e in args:
        if e.complex and not op.own:
            why = "complex numbers have no order" if op.choice == "compares" else "it is a function of real numbers"
            raise DTypeError(
                f"{op.name} is given complex numbers, and {why}. Take abs, real or imag of them, whichever is meant."
            )


def _make(op: Op, args: tuple[Expr, ...]) -> Expr:
    shape = _common_shape(op, args)
    return make(Elementwise, tuple(sorted(args, key=lambda e: e.key)) if op.symmetric else args, shape, op)


def _common_shape(op: Op, args: tuple[Expr, ...]) -> Shape:
    shape: Shape = ()
    for e in args:
        if e.shape:
            shape = e.shape if not shape else _agree(op, shape, e.shape)
    return shape


def _agree(op: Op, a: Shape, b: Shape) -> Shape:
    if len(a) != len(b):
        raise ShapeError(
            f"{op.name} takes operands of one order, or scalars; here they have orders {len(a)}, {len(b)}."
        )
    return a if a is b else tuple([dims.same(x, y) for x, y in zip(a, b, strict=True)])


def _rewritten(op: Op, args: tuple[Expr, ...]) -> Expr | None:
    if op.points and len(args) == 1:
        value = numeric(args[0])
        if value is not None and value in op.points:
            return constructors.constant(op.points[value])
    return op.rewrite(*args) if op.rewrite is not None else None


def function(op: Op, args: tuple[Expr, ...], params: tuple = ()) -> Expr:
    """``op`` applied to the last axes of ``args``, in parallel over the leading ones."""
    if op.columns and params and params[0] > 1 and loose():
        return _columns_in_order(op, args, params)
    return _applied(op, args, params)


def _columns_in_order(op: Op, args: tuple[Expr, ...], params: tuple) -> Expr:
    """For comparing: the further axes of the last operand in natural order, arranged around the function."""
    *others, last = args
    order = len(last.shape)
    first = order - params[0]
    axes = list(dict.fromkeys([a for a in (*natural(last), *range(order)) if a >= first]))
    inner = _applied(op, (*others, restrict(last, [*range(first), *axes])), params)
    shift = len(inner.shape) - order
    labels = (*range(first + shift), *[a + shift for a in axes])
    return product([(inner, labels)], tuple(range(len(inner.shape))))


def _applied(op: Op, args: tuple[Expr, ...], params: tuple) -> Expr:
    works_on = op.axes_of(params)
    lead = len(args[0].shape) - works_on[0]
    shape: Shape = args[0].shape[:lead]
    for e, own in zip(args, works_on, strict=True):
        if len(e.shape) != lead + own:
            raise ShapeError(f"{op.name} works on {own} axes of an operand beside the {lead} common ones: {e.shape}.")
        shape = tuple([dims.same(a, b) for a, b in zip(shape, e.shape[:lead], strict=True)])
    if op.rewrite is not None:
        rewritten = op.rewrite(*args, *params)
        if rewritten is not None:
            return rewritten
    if not op.complex:
        _check_real(op, args)
    assert op.result is not None
    own_shape = op.result([e.shape[lead:] for e in args], *params)

    def build(parts: tuple[Expr, ...]) -> Expr:
        inner = len(parts[0].shape) - works_on[0]
        common = parts[0].shape[:inner]
        for e in parts[1:]:
            common = tuple([dims.same(a, b) for a, b in zip(common, e.shape[:inner], strict=True)])
        return make(Function, parts, (*common, *own_shape), op, params)

    return in_natural_order(args, shape, build, trailing=own_shape)


def one_hot(index: Expr, size: Size) -> Expr:
    """Axes of ``index`` and one more, 1 where that equals it: ``table[t[b], d] = one_hot(t)[b,v] table[v,d]``."""

    def build(args: tuple[Expr, ...]) -> Expr:
        return make(Structure, args, (*args[0].shape, size), AT)

    return in_natural_order((index,), index.shape, build, trailing=(size,))


constructors.one_hot = one_hot
