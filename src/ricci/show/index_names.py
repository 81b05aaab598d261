"""Index names for printing: the user's where they fit, fresh ones where they would clash.

The core has no names, so each label gets one when it is printed. The candidates are the names under which the user
wrote the axes that the label runs over. A name is taken if it stands open in the same term already, or if it stands
for an index of another size elsewhere in the same text, since an index has one size in a program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from itertools import count

from ricci.expr import Dim, Expr, Function, Product, Size, Variable, topological
from ricci.expr.dims import atoms, axis_size, index_size
from ricci.expr.settle import SizeClasses, own_sizes
from ricci.notation.context import Facts

LETTERS = "ijklmnpqrstuvwabcdefgh"


class Namer:
    """Hands out index names for one text."""

    def __init__(self, facts: Facts, roots: Iterable[Expr], linked: Iterable[tuple[Size, Size]] = ()):
        self.hints: dict[tuple[str, int], list[str]] = {}
        self.claims: dict[str, Size] = {}
        for name, axes in facts.groups:
            for axis in axes:
                self.hints.setdefault(axis, []).append(name)
        self.named: set[str | None] = {
            *facts.inputs,
            *facts.definitions,
            *facts.unknown,
        }  # which no new index is called
        self.given: dict[str, Size] = {**facts.ranges, **facts.sizes}
        self.numbers = facts.sizes
        self.scalars = {name for name, order in facts.inputs.items() if not order}
        self.classes = SizeClasses(*roots, linked=[*facts.linked_sizes(), *linked])

    def again(self) -> Namer:
        """Another one for the same text that has handed out what this one has."""
        other = copy(self)
        other.claims = dict(self.claims)
        return other

    def claim(self, name: str, size: Size) -> None:
        """``name`` stands for an index of ``size`` in this text."""
        self.claims.setdefault(name, self.classes.find(size))

    def claim_free(self, root: Expr, names: Iterable[str]) -> None:
        """``names`` are those of the result's axes; an index that no tensor has keeps its name too."""
        for name, size in zip(names, root.shape, strict=True):
            self.claim(name, size)
        self.claim_own(root)

    def claim_own(self, root: Expr) -> None:
        """An index that no tensor has keeps its name."""
        for size in {size for node in topological(root) for size in own_sizes(node)}:
            for atom in sorted(atoms(size), key=repr):
                if len(atom) == 1:
                    self.claim(atom[0], index_size(atom[0]))

    def claim_typed(self) -> None:
        """All indices of the author's text keep the names that they have there."""
        for name, size in self.given.items():
            self.claim(name, size)
        for axis, names in self.hints.items():
            for name in names:
                self.claim(name, axis_size(*axis))

    def fits(self, name: str, size: Size) -> bool:
        held = self.claims.get(name, self.numbers.get(name))
        return held is None or self.classes.find(held) == self.classes.find(size)

    def fresh(self, size: Size, hints: Iterable[str], taken: set[str]) -> str:
        """A name for an index of ``size`` that is neither taken nor claimed for another size, nor that of a tensor.

        Where the author has called an index like a tensor, it keeps its name.
        """
        hints = list(dict.fromkeys(hints))
        for name in self._candidates(size, hints):
            if name not in taken and (name not in self.named or name in hints) and self.fits(name, size):
                self.claim(name, size)
                return name
        raise AssertionError("there are always more names")

    def of_size(self, size: Size) -> str:
        """A name that stands for an index of this size: the user's, one that is in use, or a new one."""
        atom = next(iter(size.atoms)) if isinstance(size, Dim) and len(size.atoms) == 1 else ()
        hints = atom if len(atom) == 1 else self.hints.get(atom, ())  # type: ignore[call-overload]
        held = self.classes.find(size)
        known = [name for name, other in self.claims.items() if self.classes.find(other) == held]
        for name in [*[name for name in hints if name in known], *known]:
            return name
        return self.fresh(size, hints if size == axis_or_index(size) else (), set())

    def _candidates(self, size: Size, hints: list[str]) -> Iterator[str]:
        yield from hints
        for name, given in self.given.items():
            if given == size:
                yield name
        if isinstance(size, Dim) and len(size.atoms) == 1:
            (atom,) = size.atoms
            if size is axis_or_index(size):
                yield from self.hints.get(atom, ()) if len(atom) == 2 else (() if atom[0][0] == "@" else atom)
        for name in hints[:1]:
            yield name + "'"
            yield name + "''"
        yield from (letter for letter in LETTERS if letter not in self.scalars)
        for number in count(1):
            yield from (f"{letter}{number}" for letter in "ijk")

    def hints_of(self, e: Expr, axis: int) -> list[str]:
        """What the user called this axis: looked up at the variables, through a few nodes."""
        for _ in range(8):
            if isinstance(e, Variable):
                return self.hints.get((e.name, axis), [])
            if not e.args:
                return []
            if isinstance(e, Product):
                found = next(((a, labels) for a, labels in e.factors() if e.out[axis] in labels), None)
                if found is None:
                    return []
                e, axis = found[0], found[1].index(e.out[axis])
            elif isinstance(e, Function) and e.op.loop is not None:
                axis -= not e.op.loop.forced
                e = e.args[-1]
                if axis < 0:
                    return []
            else:
                inner = next((a for a in e.args if axis < len(a.shape)), None)
                if inner is None:
                    return []
                e = inner
        return []


def axis_or_index(size: Size) -> Size | None:
    """A size that is that of one axis or index, and None if it is computed from others."""
    if not isinstance(size, Dim) or len(size.atoms) != 1:
        return None
    (atom,) = size.atoms
    return size if size is (axis_size(*atom) if len(atom) == 2 else index_size(*atom)) else None
