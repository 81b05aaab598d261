"""Transforms as functions from recordings to recordings: other results for the same arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ricci.calculus.gradients import parts_real
from ricci.calculus.graph import pullbacks, tangents
from ricci.calculus.modes import derivatives
from ricci.errors import DTypeError, InputError, RuleError, ShapeError
from ricci.expr import (
    Constant,
    Expr,
    Product,
    Structure,
    Sum,
    Variable,
    add,
    conj,
    one,
    product,
    topological,
    variable,
    zero,
)
from ricci.expr.structures import is_delta, is_zero
from ricci.expr.walk import rewritten
from ricci.functions.elementwise import round_
from ricci.simplify import simplify, simplify_all
from ricci.tracing import trees
from ricci.tracing.basics import real_type
from ricci.tracing.recording import Recording, Static
from ricci.tracing.trees import LEAF, Form
from ricci.transforms.conventions import Meaning

PLAIN = Meaning()
Argnums = int | Sequence[int]


class Wanted:
    """The arguments that a function is differentiated by, and the form of what is by them."""

    def __init__(
        self,
        recording: Recording,
        argnums: Argnums | str | Sequence[str],
        what: str,
        meaning: Meaning | None = PLAIN,
    ):
        self.recording, self.what = recording, what
        single = not isinstance(argnums, (tuple, list))
        chosen: Sequence[Any] = [argnums] if single else list(argnums)  # type: ignore[list-item, arg-type]
        self.arguments = [self._number(each) for each in chosen]
        if not chosen or len(set(self.arguments)) < len(self.arguments):
            raise InputError(f"rc.{what}: argnums={argnums!r} should name one or more arguments, each once.")
        forms = [trees.without_static(recording.forms[k]) for k in self.arguments]
        self.form: Form = forms[0] if single else ("tuple", len(forms), tuple(forms))
        self.places = [place for k in self.arguments for place in recording.places[k]]
        for k in self.arguments:
            self._check(k)
        self.inputs: list[Any] = [recording.inputs[place] for place in self.places]
        self.dtypes = [recording.dtypes[place] for place in self.places]
        if meaning is None and any(x.complex for x in self.inputs):
            raise DTypeError(
                f"rc.{what} is for functions of real numbers; {recording.name} is differentiated by complex ones. Make "
                "it a function of their parts, as in lambda x, y: f(x + 1j * y)."
            )
        if meaning is not None and meaning.wirtinger:
            self._pair()

    def _pair(self) -> None:
        """By the conjugates of complex numbers too: a pair in the place of each."""
        self.form = _refilled(self.form, iter([_PAIR if x.complex else LEAF for x in self.inputs]))
        found = [((x, conj(x)) if x.complex else (x,), t) for x, t in zip(self.inputs, self.dtypes, strict=True)]
        self.inputs = [x for xs, _ in found for x in xs]
        self.dtypes = [t for xs, t in found for _ in xs]

    def _number(self, argument: Any) -> int:
        """The number of an argument that is given by position or by name, by either."""
        recording = self.recording
        count, keywords, parameters = recording.positional, recording.keywords, recording.parameters
        if isinstance(argument, str):
            if argument in keywords:
                return count + keywords.index(argument)
            if argument in parameters[:count]:
                return parameters.index(argument)
            raise InputError(f"rc.{self.what}: the call has no argument {argument!r}.")
        if not isinstance(argument, (int, np.integer)) or isinstance(argument, bool):
            raise InputError(
                f"rc.{self.what}: argnums are whole numbers, as in argnums=(0, 1), or names, not {argument!r}."
            )
        if -count <= argument < count:
            return int(argument) % count
        if 0 <= argument < len(parameters) and parameters[argument] in keywords:
            return count + keywords.index(parameters[argument])
        raise InputError(
            f"rc.{self.what}: argnums={argument} asks for an argument that the call does not have; "
            f"{recording.name} was called with {count} by position, numbered from 0."
        )

    def _check(self, argument: int) -> None:
        """Whether all leaves of an argument are floating arrays."""
        recording, names = self.recording, trees.paths(self.recording.forms[argument], "")
        shown = (
            f"argument {argument}"
            if argument < recording.positional
            else f"argument {recording.keywords[argument - recording.positional]!r}"
        )
        if not names:
            raise InputError(f"rc.{self.what}: {shown} of {recording.name} holds no arrays to differentiate by.")
        for place, name in zip(recording.places[argument], names, strict=True):
            where = f"{shown}{f' (at {name[1:]})' if name else ''} of {recording.name}"
            if place < 0:
                raise DTypeError(
                    f"rc.{self.what} differentiates by floating numbers; {where} is a whole number, a truth value or "
                    "no array at all. Write 2.0 in place of 2, or x.astype(float); or choose others by argnums."
                )
            if recording.dtypes[place].kind not in "fc":
                raise DTypeError(
                    f"rc.{self.what} differentiates by floating numbers; {where} is an array of the type "
                    f"{recording.dtypes[place]}. Write x.astype(float), or choose other arguments by argnums."
                )


def scalar(recording: Recording, what: str) -> Expr:
    """The one result, which is a scalar."""
    y = _single(recording, what)
    if y.shape != ():
        raise ShapeError(
            f"rc.{what} is for functions whose result is a scalar; {recording.name} returns an array of shape "
            f"{y.shape}{_made(recording)}. Use rc.jacobian for all its derivatives, or sum it up."
        )
    return y


def _made(recording: Recording) -> str:
    """The line that made the result, if one did."""
    place = recording.lines.get(recording.outputs[0])  # type: ignore[arg-type]
    return f" ({place})" if place else ""


def _single(recording: Recording, what: str) -> Expr:
    if recording.out_form != LEAF or isinstance(recording.outputs[0], Static):
        nothing = recording.out_form[0] == "none"
        hint = " Did it forget to return its result?" if nothing else " With more to return, use has_aux=True."
        shown = trees.describe(recording.out_form) if recording.out_form != LEAF else repr(recording.outputs[0].value)  # type: ignore
        raise InputError(f"rc.{what} is for functions that return one array; {recording.name} returns {shown}.{hint}")
    if recording.out_dtypes[0].kind not in "fc":
        raise DTypeError(
            f"rc.{what}: {recording.name} returns the type {recording.out_dtypes[0]}{_made(recording)}, which has "
            "no derivative; a floating result is needed."
        )
    return recording.outputs[0]  # type: ignore[return-value]


def floats(recording: Recording, what: str) -> list[Expr]:
    """All results, which are arrays of floating or complex numbers."""
    for out, dtype in zip(recording.outputs, recording.out_dtypes, strict=True):
        if isinstance(out, Static) or dtype.kind not in "fc":
            shown = repr(out.value) if isinstance(out, Static) else f"the type {dtype}"
            raise DTypeError(f"rc.{what}: {recording.name} returns {shown}, which has no derivative.")
    if not recording.outputs:
        raise InputError(f"rc.{what}: {recording.name} returns nothing. Did it forget to return its result?")
    return recording.outputs  # type: ignore[return-value]


def stable(ys: Sequence[Expr]) -> list[Expr]:
    """Expressions in the form that is differentiated."""
    return [simplify(ys[0])] if len(ys) == 1 else simplify_all(ys)


def paired(recording: Recording, form: Form, outputs: list[Any], dtypes: list[np.dtype], *first: tuple) -> Recording:
    """Results in a tuple after ``first`` ones, and aux last where there is one."""
    parts = [*first, (form, outputs, dtypes)]
    if recording.aux is not None:
        parts.append(recording.aux)
    if len(parts) == 1:
        return recording.with_outputs(form, outputs, dtypes)
    whole = ("tuple", len(parts), tuple([part[0] for part in parts]))
    return recording.with_outputs(whole, [x for part in parts for x in part[1]], [t for part in parts for t in part[2]])


def gradient(recording: Recording, argnums: Any, value: bool, what: str, meaning: Meaning = PLAIN) -> Recording:
    """``grad`` and ``value_and_grad``."""
    wanted = Wanted(recording, argnums, what, meaning)
    (settled,) = stable([scalar(recording, what)])
    (of,) = recording.out_dtypes
    if of.kind == "c" and not (meaning.wirtinger or meaning.holomorphic):
        raise DTypeError(
            f"rc.{what} is for functions whose result is a real number; {recording.name} returns {of}"
            f"{_made(recording)}. Return y.real or abs(y)**2; or write holomorphic=True for the derivative of a "
            "function that depends on z alone, and not on its conjugate, wirtinger=True for those by both, or "
            "rc.jacobian for that by real arguments."
        )
    _check_complex(recording, what, meaning, [settled], wanted)
    found = pullbacks(settled, one(()), wanted.inputs)
    found = [meaning.of_one(e, of.kind == "c", x) for e, x in zip(found, wanted.inputs, strict=True)]
    types = [meaning.type(of, t) for t in wanted.dtypes]
    if not value:
        return paired(recording, wanted.form, found, types)
    first = (LEAF, [settled], recording.out_dtypes)
    if recording.aux is not None:  # ((value, aux), gradient), as in JAX
        form, outputs, dtypes = recording.aux
        first = (("tuple", 2, (LEAF, form)), [settled, *outputs], [*recording.out_dtypes, *dtypes])
    return paired(replace(recording, aux=None), wanted.form, found, types, first)


def _check_complex(recording: Recording, what: str, meaning: Meaning, ys: Sequence[Expr], wanted: Wanted) -> None:
    """Whether derivatives have the meaning that is asked for."""
    for y, dtype in zip(ys, recording.out_dtypes, strict=True):
        meaning.check(what, recording.name, y, dtype.kind == "c", wanted.inputs)


def jacobian(recording: Recording, argnums: Any, mode: str, what: str, meaning: Meaning = PLAIN) -> Recording:
    """All derivatives of all results: in the form of the results, each a tree in the form of the arguments."""
    wanted = Wanted(recording, argnums, what, meaning)
    ys = stable(floats(recording, what))
    _check_complex(recording, what, meaning, ys, wanted)
    found, dtypes = _rows(derivatives(ys, wanted.inputs, mode), recording.out_dtypes, wanted, meaning)
    form = _nested(recording.out_form, wanted.form)
    made = paired(recording, form, found, dtypes)
    return replace(made, rows=[len(y.shape) for y in ys for _ in wanted.inputs])


def _rows(
    rows: Sequence[Sequence[Expr]], types: Sequence[np.dtype], wanted: Wanted, meaning: Meaning
) -> tuple[list[Expr], list[np.dtype]]:
    """Derivatives of results of these types, by all arguments, as they are meant, and their types."""
    found, dtypes = [], []
    for row, of in zip(rows, types, strict=True):
        for e, x, t in zip(row, wanted.inputs, wanted.dtypes, strict=True):
            found.append(meaning.of_one(e, of.kind == "c", x))
            dtypes.append(meaning.type(of, t))
    return found, dtypes


_PAIR: Form = ("tuple", 2, (LEAF, LEAF))


def _refilled(form: Form, leaves: Iterator[Form]) -> Form:
    """The form with these in the places of its leaves, in order."""
    return next(leaves) if form == LEAF else (form[0], form[1], tuple([_refilled(part, leaves) for part in form[2]]))


def _nested(outer: Form, inner: Form) -> Form:
    """The form ``outer`` with ``inner`` in the place of each leaf."""
    return inner if outer == LEAF else (outer[0], outer[1], tuple([_nested(part, inner) for part in outer[2]]))


def hessian(
    recording: Recording, argnums: Any, mode: str, what: str = "hessian", meaning: Meaning = PLAIN
) -> Recording:
    """The second derivatives of all results, by all pairs of arguments."""
    wanted = Wanted(recording, argnums, what, meaning)
    ys = stable(floats(recording, what))
    _check_complex(recording, what, meaning, ys, wanted)
    if any(x.complex for x in wanted.inputs) and not (meaning.wirtinger or meaning.holomorphic):
        raise DTypeError(
            f"rc.{what}: a function of complex numbers has second derivatives by z and by its conjugate, four blocks "
            f"of which no one is the Hessian. Write rc.{what}(f, wirtinger=True) for all of them, as a pair of pairs; "
            f"rc.{what}(f, holomorphic=True) for a holomorphic function; rc.hvp for the gradient's change along a "
            "direction; or take it by the parts, rc.hessian(lambda x, y: f(x + 1j * y), argnums=(0, 1))."
        )
    first, types = _rows(derivatives(ys, wanted.inputs, "auto"), recording.out_dtypes, wanted, meaning)
    # of results that are real, derivatives by real numbers are
    types = [t if g.complex else real_type(t) for g, t in zip(first, types, strict=True)]
    found, dtypes = _rows(derivatives(stable(first), wanted.inputs, mode), types, wanted, meaning)
    form = _nested(recording.out_form, _nested(wanted.form, wanted.form))
    made = paired(recording, form, found, dtypes)
    return replace(made, rows=[len(g.shape) for g in first for _ in wanted.inputs])


def extra(recording: Recording, number: int, wanted: Wanted, what: str) -> list[Variable]:
    """The leaves of an extra argument, a direction: of the form and the shapes of what is differentiated by."""
    form = recording.forms[len(recording.forms) - number]
    places = recording.places[len(recording.forms) - number]
    order = trees.order_as(form, wanted.form)
    if order is None:
        raise InputError(
            f"rc.{what}: the direction has the form {trees.describe(form)}; the arguments that "
            f"{recording.name} is differentiated by have {trees.describe(wanted.form)}."
        )
    return matched(recording, [places[k] for k in order], wanted.inputs, what, "direction", wanted.dtypes)


def matched(
    recording: Recording,
    places: Sequence[int],
    like: Sequence[Expr],
    what: str,
    word: str,
    dtypes: Sequence[np.dtype],
) -> list[Variable]:
    """Extra inputs, checked to have the shapes of ``like``; they may be complex where these are."""
    found = []
    for place, x, dtype in zip(places, like, dtypes, strict=True):
        v = None if place < 0 else recording.inputs[place]
        kinds = "fc" if dtype.kind == "c" else "f"
        if v is None or v.shape != x.shape or recording.dtypes[place].kind not in kinds:
            shown = "a whole number" if v is None else f"{recording.dtypes[place]} of shape {v.shape}"
            raise ShapeError(
                f"rc.{what}: the {word} for {getattr(x, 'name', 'a result')} of {recording.name} is {shown}, where "
                f"{'complex' if kinds == 'fc' else 'floating'} numbers of shape {x.shape} are needed, as what it "
                "belongs to has."
            )
        found.append(v)
    return found


def along(ys: Sequence[Expr], xs: Sequence[Expr], dots: Sequence[Expr]) -> list[Expr]:
    """The derivatives of ``ys`` along a direction; along that of ``x``, its conjugate changes too."""
    given = dict(zip(xs, dots, strict=True))
    given |= {conj(x): conj(dot) for x, dot in given.items() if x.complex}
    found = tangents(ys, given)
    return [(found.get(y, zero(y.shape)) if y.complex else parts_real(found.get(y, zero(y.shape)))) for y in ys]


def hvp(recording: Recording, argnums: Any, what: str = "hvp", meaning: Meaning = PLAIN) -> Recording:
    """The change of the gradient along a direction: the Hessian times that."""
    wanted = Wanted(recording, argnums, what)
    y = scalar(recording, what)
    if recording.out_dtypes[0].kind == "c":
        raise DTypeError(
            f"rc.{what} is for functions whose result is a real number; {recording.name} returns "
            f"{recording.out_dtypes[0]}{_made(recording)}. Return y.real or abs(y)**2."
        )
    dots = extra(recording, 1, wanted, what)
    grads = pullbacks(stable([y])[0], one(()), wanted.inputs)
    grads = stable([meaning.of_one(g, False, x) for g, x in zip(grads, wanted.inputs, strict=True)])
    return paired(recording, wanted.form, along(grads, wanted.inputs, dots), wanted.dtypes)


def diagonal_of(e: Expr, order: int) -> Expr:
    """The diagonal of a derivative: ``e[…, i, j, …, i, j]``, its last ``2·order`` axes being two lots of the same."""
    lead = len(e.shape) - 2 * order
    labels = (*range(lead), *[("own", k) for k in range(order)], *[("own", k) for k in range(order)])
    return product([(e, labels)], (*range(lead), *[("own", k) for k in range(order)]))


def hessian_diagonal(recording: Recording, argnums: Any, trace: bool, what: str) -> Recording:
    """The diagonal of the Hessian, or its sum: the Laplacian."""
    wanted = Wanted(recording, argnums, what, None)
    ys = stable(floats(recording, what))
    diagonals = []
    for y in ys:
        for x in wanted.inputs:
            ((g,),) = derivatives([y], [x], "reverse")
            ((h,),) = derivatives(stable([g]), [x], "auto")
            diagonals.append((len(y.shape), diagonal_of(h, len(x.shape))))
    if not trace:
        form = _nested(recording.out_form, wanted.form)
        types = [Meaning().type(of, t) for of in recording.out_dtypes for t in wanted.dtypes]
        return paired(recording, form, [d for _, d in diagonals], types)
    sums = [product([(d, range(len(d.shape)))], range(lead)) for lead, d in diagonals]
    n = len(wanted.inputs)
    totals = [add([(1, s) for s in sums[k * n : (k + 1) * n]]) for k in range(len(ys))]
    return paired(recording, recording.out_form, totals, recording.out_dtypes)


def taylor(recording: Recording, order: int, argnums: Any, what: str = "taylor") -> Recording:
    """The results and their derivatives along a direction, to an order: ``dᵏ/dtᵏ f(x + t v)`` at 0."""
    wanted = Wanted(recording, argnums, what)
    ys = stable(floats(recording, what))
    dots = extra(recording, 1, wanted, what)
    rows = [ys]
    for _ in range(order):
        rows.append(stable(along(rows[-1], wanted.inputs, dots)))
    form = ("tuple", order + 1, (recording.out_form,) * (order + 1))
    return paired(recording, form, [y for row in rows for y in row], recording.out_dtypes * (order + 1))


def elementwise_gradient(
    recording: Recording, argnums: Any, what: str = "elementwise_grad", meaning: Meaning = PLAIN
) -> Recording:
    """The derivative of each entry of the result by the entry at the same place of the argument."""
    y = _single(recording, what)
    wanted = Wanted(recording, argnums, what, meaning)
    (settled,) = stable([y])
    (of,) = recording.out_dtypes
    _check_complex(recording, what, meaning, [settled], wanted)
    found = []
    for x in wanted.inputs:
        if x.shape != y.shape:
            raise ShapeError(
                f"rc.{what} is for functions that work entry by entry; {recording.name} makes shape {y.shape} of "
                f"shape {x.shape}. Use rc.jacobian."
            )
        ((whole,),) = derivatives([settled], [x], "reverse")
        (whole,) = stable([whole])
        if not is_diagonal(whole, len(x.shape)):
            raise RuleError(
                f"rc.{what} is for functions that work entry by entry; in {recording.name} an entry of the result "
                "may depend on other entries of the argument. Use rc.jacobian, or rc.grad of the sum."
            )
        found.append(meaning.of_one(diagonal_of(whole, len(x.shape)), of.kind == "c", x))
    return paired(recording, wanted.form, found, [meaning.type(of, t) for t in wanted.dtypes])


def is_diagonal(e: Expr, order: int) -> bool:
    """Whether a derivative is surely zero off its diagonal: every term ties each axis to its partner by a delta."""
    return len(tied_axes(e, order)) == order


def tied_axes(e: Expr, order: int) -> frozenset[int]:
    """Of the last ``2·order`` axes, two lots of the same, those along which nothing is off the diagonal."""
    if is_zero(e) or not order:
        return frozenset(range(order))
    if isinstance(e, Sum):
        return frozenset.intersection(*[tied_axes(a, order) for a in e.args])
    tied = set()
    factors = e.factors() if isinstance(e, Product) else [(e, tuple(range(len(e.shape))))]
    out = {label: axis for axis, label in enumerate(e.out)} if isinstance(e, Product) else None
    for a, labels in factors:
        if is_delta(a):
            tied.add(frozenset([x if out is None else out.get(x) for x in labels]))
    lead = len(e.shape) - 2 * order
    pairs = [(lead + k, lead + order + k) for k in range(order)]
    return frozenset([k for k, (a, b) in enumerate(pairs) if e.shape[a] == 1 or frozenset((a, b)) in tied])


def split(roots: Sequence[Expr], moving: Sequence[Expr]) -> tuple[list[Expr], list[Variable], list[Expr]]:
    """``roots`` in two stages: what does not depend on ``moving``, the variables that stand for it, and the rest.

    Inputs are kept too, so that the second stage does not see what becomes of the arrays. Structures are never made
    whole: of a gather, the places are what is kept.
    """
    depends: set[Expr] = set(moving)
    order = topological(*roots)
    for node in order:
        if any(a in depends for a in node.args):
            depends.add(node)
    ends = [a for node in order if node in depends for a in node.args if a not in depends]
    ends += [root for root in roots if root not in depends]
    ends += [a for end in ends if isinstance(end, Structure) for a in end.args]
    found = [end for end in dict.fromkeys(ends) if not isinstance(end, (Constant, Structure))]
    kept = {end: variable(f"kept{k}", end.shape, complex=end.complex) for k, end in enumerate(found)}
    places = {a for end in ends if isinstance(end, Structure) for a in end.args}
    # What is rounded is computed in floats; which it is not known of what was kept, unless it is said again.
    again = {e: round_(v) if e in places and _is_rounded(e) else v for e, v in kept.items()}
    rest = rewritten(roots, lambda node, args: again.get(node))
    return list(kept), list(kept.values()), rest


def _is_rounded(e: Expr) -> bool:
    return any(node.head in ("round", "floor", "ceil") for node in topological(e))
