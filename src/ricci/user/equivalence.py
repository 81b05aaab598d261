"""Whether two formulas are equal as mathematics: ``f.equivalent(g)``.

There are three answers. ``True`` is a proof: both come to the same by the rules of simplification, or by those of
``simplify/proof.py``, wherever both are defined. ``False`` is a point at which their values differ. Anything else is an
:class:`Undecided`, which says what is known: values agree at so many random points, and no proof was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ricci import markup
from ricci.checked_calls import check, takes
from ricci.errors import InputError
from ricci.expr import Expr, product, substitute, variable, variables
from ricci.expr.settle import settled
from ricci.simplify import simplify
from ricci.simplify.proof import proved_equal
from ricci.user.formula import Formula


@dataclass(frozen=True)
class Undecided:
    """The answer where there is neither a proof nor a counterexample.

    It is true as a condition where values agree, so that nobody is told no without a reason; where nothing could be
    compared it has no truth value. ``f.equivalent(g) is True`` asks for a proof.
    """

    points: int
    trouble: str = ""
    given: bool = False  # whether the points were

    def __bool__(self) -> bool:
        if self.points:
            return True
        raise InputError(f"Whether these formulas are equivalent is not known: {self}.")

    def __str__(self) -> str:
        kind = "given" if self.given else "random"
        if self.points:
            return f"values agree at {self.points} {kind} points, but no proof was found"
        return f"no proof was found, and values could not be compared at {kind} points: {self.trouble}"

    def __repr__(self) -> str:
        return f"<ricci.Undecided: {self}>"

    def _repr_html_(self) -> str:
        sign = markup.element("b", "≈ ", style=f"color:{markup.DOUBT}")
        return markup.element("p", sign, f"Not decided: {self}.")


Undecided.__init__ = takes("rc.Undecided", points="count", trouble="text", given="flag")(Undecided.__init__)


def equivalent(f: Formula, g: Formula, at: Iterable[Mapping[str, Any]] | None = None) -> bool | Undecided:
    """Whether ``f`` and ``g`` are equal wherever both are defined; see above.

    Free indices go together by name, those that only one of the two has in the order in which they stand. With ``at``,
    values are compared at these points alone, each a mapping from inputs to arrays: for equations that are only meant
    to hold for symmetric matrices, say, or for probabilities.
    """
    at = None if at is None else list(at)
    for point in at or ():
        check("f.equivalent", "a point of at", point, "by name")
    if f == g:
        return True
    if f.order != g.order:
        return False
    facts = f.context.merged(g.context).facts
    one, other = _alike(f.expr, _arranged(f, g))
    linked = [*facts.linked_sizes(), *zip(one.shape, other.shape, strict=True)]
    if 0 in one.shape or settled(simplify(one), linked) is settled(simplify(other), linked):
        return True
    if proved_equal(one, other, linked):  # asked first: where terms cancel, values may differ although there is a proof
        return True
    from ricci.user.sampling import compare, compare_at

    found = compare(one, other, facts) if at is None else compare_at(one, other, facts, at)
    if found.differ:
        return False
    return Undecided(found.points, found.trouble, at is not None)


def _arranged(f: Formula, g: Formula) -> Expr:
    """``g`` with its axes in the order of those of ``f`` that they go with."""
    mine = [name for name in f.indices if name not in g.indices]
    theirs = [name for name in g.indices if name not in f.indices]
    partner = {**dict(zip(mine, theirs, strict=True)), **{n: n for n in f.indices if n in g.indices}}
    return product([(g.expr, g.indices)], [partner[name] for name in f.indices])


def _alike(one: Expr, other: Expr) -> tuple[Expr, Expr]:
    """Both with one tensor for each name, where sizes are given in one of them and not in the other."""
    shapes: dict[str, list] = {}
    for v in variables(one, other):
        known = shapes.setdefault(v.name, list(v.shape))
        if len(known) != len(v.shape):
            raise InputError(f"{v.name!r} has {len(known)} indices in one formula and {len(v.shape)} in the other.")
        shapes[v.name] = [b if isinstance(b, int) else a for a, b in zip(known, v.shape, strict=True)]

    def unified(e: Expr) -> Expr:
        new = {v: variable(v.name, tuple(shapes[v.name]), v.symmetry, v.complex) for v in variables(e)}
        changed: dict[Expr, Expr] = {v: w for v, w in new.items() if v is not w}
        return substitute(e, changed) if changed else e

    return unified(one), unified(other)
