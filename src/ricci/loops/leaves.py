"""A loop over several arrays, as expressions.

What is carried is taken apart: arrays that depend on one another in a circle are one loop, in which they are one
vector; those that do not depend on themselves are no loop at all, but computed for all steps at once; and what is only
added to, ``l = l + g``, is a sum. So a loop is as small as it can be, and the rest is as fast as arrays are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ricci.expr import Expr, Size, Sum, Variable, add, topological, zero
from ricci.expr.moving import entry, expanded, joined, sliced, transposed, with_ones
from ricci.expr.nodes import constructors
from ricci.expr.widen import batched
from ricci.functions.reductions import cumsum
from ricci.loops.bodies import fresh, replaced
from ricci.loops.branches import branch
from ricci.loops.looped import loop, recurrence_of
from ricci.loops.real_pairs import in_pairs, joined_results, paired_results, parts_of, whole_of
from ricci.loops.vectors import apart, lying, together


@dataclass
class Carried:
    """An array that is carried: its placeholder, what it begins with, and what a step makes of it."""

    state: Variable
    init: Expr
    new: Expr
    all: Expr | None = None  # its values, the first included, once they are known
    last: Expr | None = None


def run_through(
    carried: Sequence[Carried],
    slices: Mapping[Variable, Expr],
    length: Size,
    outputs: Sequence[Expr] = (),
    whole: bool = False,
) -> tuple[list[Expr], list[Expr]]:
    """The last values of what is carried, and the outputs of all steps, along a new first axis.

    If the loop is ``whole``, nothing is taken out of it, and outputs are carried: see ``looped.py``.
    """
    if _are_complex(carried, slices):
        pairs, slices, meant, two = _in_real_pairs(carried, slices)
        outputs = replaced(outputs, meant)
        also = [e.complex for e in outputs]
        lasts, written = run_through(pairs, slices, length, paired_results(outputs, also), whole)
        return joined_results(lasts, two), joined_results(written, also)
    if not whole:
        return Leaves(carried, slices, length).results(outputs)
    made = Leaves([], slices, length)
    written = [Carried(fresh(e.shape), zero(e.shape), e) for e in outputs]
    everything = [*carried, *written]
    if everything:
        made.pack(everything, [one.new for one in everything], whole=True)
    lasts = [entry(one.all, 0, length) for one in carried if one.all is not None]
    return lasts, [sliced(one.all, 0, 1, 1, length) for one in written if one.all is not None]


def all_states(
    parts: Sequence[tuple[Variable, Expr, Expr]], slices: Mapping[Variable, Expr], length: Size
) -> list[Expr]:
    """All values of each array that is carried, given by its placeholder, its first value and its next one."""
    carried = [Carried(*part) for part in parts]
    if _are_complex(carried, slices):
        pairs, slices, _, two = _in_real_pairs(carried, slices)
        return joined_results(all_states([(one.state, one.init, one.new) for one in pairs], slices, length), two)
    leaves = Leaves(carried, slices, length, recurrence_of)
    return [leaves.states(one) for one in carried]


constructors.recurrences = all_states


def choices(number: Expr, results: Sequence[Sequence[Expr]], kept: Callable[[Expr], bool]) -> list[Expr]:
    """Of several rows of results, that which ``number`` tells: one choice for all, whose entries are one vector."""
    if not results[0]:
        return []
    two = [any(e.complex for e in column) for column in zip(*results, strict=True)]
    if any(two):
        return joined_results(choices(number, [paired_results(row, two) for row in results], kept), two)
    shapes = [e.shape for e in results[0]]
    if len(shapes) == 1:
        return [branch(number, [row[0] for row in results], kept)]
    starts, sizes = lying(shapes)
    whole = branch(number, [together(row, starts) for row in results], kept)
    return [apart(sliced(whole, 0, a, 1, n), (), s) for a, n, s in zip(starts, sizes, shapes, strict=False)]


def _are_complex(carried: Sequence[Carried], slices: Mapping[Variable, Expr]) -> bool:
    return any(e.complex for one in carried for e in (one.state, one.init, one.new)) or any(
        e.complex for pair in slices.items() for e in pair
    )


def _in_real_pairs(
    carried: Sequence[Carried], slices: Mapping[Variable, Expr]
) -> tuple[list[Carried], dict[Variable, Expr], dict[Any, Expr], list[bool]]:
    """The same over real numbers: what is carried, slices, what complex placeholders are by the real ones, and which
    of the arrays that are carried are two now."""
    real, meant = in_pairs(slices)
    two = [one.state.complex or one.init.complex or one.new.complex for one in carried]
    states = {
        one.state: (fresh(one.state.shape), fresh(one.state.shape))
        for one, both in zip(carried, two, strict=True)
        if both
    }
    meant |= {v: whole_of(*pair) for v, pair in states.items()}
    news = replaced([one.new for one in carried], meant)
    made: list[Carried] = []
    for one, new in zip(carried, news, strict=True):
        if one.state in states:
            made += map(Carried, states[one.state], parts_of(one.init), parts_of(new))
        else:
            made.append(Carried(one.state, one.init, new))
    return made, real, meant, two


class Leaves:
    """What is known of a loop while its parts are made."""

    def __init__(
        self,
        carried: Sequence[Carried],
        slices: Mapping[Variable, Expr],
        length: Size,
        make: Callable[..., Expr] = loop,
    ):
        self.carried, self.length, self.make = list(carried), length, make
        self.slices: dict[Variable, Expr] = dict(slices)
        self.known: dict[Expr, Expr] = {}  # what a step has made, by its placeholder
        for part in _in_circles(self.carried):
            self.solve(part)

    def results(self, outputs: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        finals = [self.final(one) for one in self.carried]
        wanted = self.prepared(outputs)
        return finals, batched(wanted, self.slices, self.length) if wanted else []

    def prepared(self, exprs: Sequence[Expr], own: Sequence[Carried] = ()) -> list[Expr]:
        """The expressions in terms of slices: the states that they use, but ``own``, are made if they are not yet."""
        found = replaced(exprs, self.known) if self.known else list(exprs)
        used = set(topological(*found)).difference([one.state for one in own])
        for one in self.carried:
            if one.state in used and one.state not in self.slices:
                self.slices[one.state] = sliced(self.states(one), 0, 0, 1, self.length)
        return found

    def solve(self, part: Sequence[Carried]) -> None:
        """The states of arrays that depend on one another."""
        exprs = self.prepared([one.new for one in part], part)
        if len(part) == 1 and _only_added(part[0].state, exprs[0]):
            part[0].new = exprs[0]
            return  # which is for whoever asks
        if len(part) == 1:
            (one,) = part
            one.all = self.make(exprs[0], one.state, one.init, self.slices, self.length)
        else:
            self.pack(part, exprs)
        for one in part:
            if one.new.args:  # what the step has made, wherever it is used again
                later = fresh(one.state.shape)
                self.known[one.new] = later
                assert one.all is not None
                self.slices[later] = sliced(one.all, 0, 1, 1, self.length)

    def pack(self, part: Sequence[Carried], exprs: Sequence[Expr], whole: bool = False) -> None:
        """One loop for several arrays, all entries in one vector."""
        starts, sizes = lying([one.state.shape for one in part])
        vector = fresh((starts[-1],))
        places = list(zip(part, starts, sizes, strict=False))
        own = {one.state: apart(sliced(vector, 0, a, 1, n), (), one.state.shape) for one, a, n in places}
        new, init = together(replaced(exprs, own), starts), together([one.init for one in part], starts)
        make = partial(loop, whole=True) if whole else self.make
        states = make(new, vector, init, self.slices, self.length)
        for one, a, n in places:
            one.all = apart(sliced(states, 1, a, 1, n), (self.length + 1,), one.state.shape)

    def states(self, one: Carried) -> Expr:
        """All values of an array that is carried, the first included."""
        if one.all is None:
            steps = self.steps(one)
            sums = cumsum(steps, (0,))
            start = with_ones(one.init, (0,))
            one.all = joined([start, add([(1, expanded(start, sums.shape)), (1, sums)])], 0)
        return one.all

    def steps(self, one: Carried) -> Expr:
        """What each step adds to an array."""
        assert isinstance(one.new, Sum)
        terms = [(c, a) for c, a in zip(one.new.coefs, one.new.args, strict=True) if a is not one.state]
        return batched([add(terms)], self.slices, self.length)[0]

    def final(self, one: Carried) -> Expr:
        if one.all is not None:
            return entry(one.all, 0, self.length)
        steps = self.steps(one)
        return add([(1, one.init), (1, transposed(steps, range(1, len(steps.shape))))])


def _only_added(state: Variable, new: Expr) -> bool:
    """Whether a step adds to what is carried, and nothing else."""
    if not isinstance(new, Sum) or state not in new.args or new.coefs[new.args.index(state)] != 1:
        return False
    return all(state not in topological(a) for a in new.args if a is not state)


def _in_circles(carried: Sequence[Carried]) -> Iterable[list[Carried]]:
    """Those that depend on one another in a circle together, each part after all that it depends on."""
    uses = [set(topological(one.new)) for one in carried]
    needs = [{k for k, other in enumerate(carried) if other.state in own} for own in uses]
    reach = [set(own) for own in needs]
    changed = True
    while changed:
        changed = False
        for own in reach:
            more = set().union(own, *[reach[k] for k in own])
            changed, _ = changed or len(more) > len(own), own.update(more)
    left = list(range(len(carried)))
    while left:
        first = min(left, key=lambda k: len((reach[k] | {k}) & set(left)))
        part = [k for k in left if k == first or (k in reach[first] and first in reach[k])]
        yield [carried[k] for k in part]
        left = [k for k in left if k not in part]
