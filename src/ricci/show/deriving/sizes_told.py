"""Whether a reader of a line finds the sizes that its indices have on the board.

An index has the size of the tensors on which it stands; where it stands on none, that follows from reads such as
``x[2*r+j]``. A line that has lost the tensor, or gives an index another name, may say less than the author's text, or
something else. Such a line is not written: the derivation is then that of the engine, whose lines say sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ricci.errors import NotationError
from ricci.expr import Size, dims
from ricci.expr.settle import SettledSizes, SizeClasses
from ricci.notation import syntax
from ricci.notation.recurrences import recurrences
from ricci.notation.text_scope import TextScope
from ricci.show.deriving.typed_trees import names_of
from ricci.show.index_names import LETTERS
from ricci.show.phrases import index_of
from ricci.show.size_line import indices_without_tensor, linked_in
from ricci.show.standing import indices_in

Read = tuple[Size, Size]  # a size, and the first place


class SizesTold:
    """What the statements of a program say of sizes; the last of them defines the function."""

    def __init__(self, statements: Sequence[syntax.Statement], stated: syntax.SizeLine, sizes: Mapping[str, int]):
        self.statements, self.stated, self.given = tuple(statements), stated, dict(sizes)
        self.scope = self.reader(self.statements, self.given)
        linked = linked_in(self.scope, [s.body for s in self.statements])
        self.settled = SettledSizes((), (), SizeClasses(linked=linked))
        self.names = {name for s in self.statements for i in s.indices or () for name in names_of(i)}
        self.names |= {name for s in self.statements for side in s.sides for name in indices_in(side)}

    def reader(self, statements: Sequence[syntax.Statement], given: Mapping[str, Size]) -> TextScope:
        scope = TextScope("", given)  # type: ignore[arg-type]
        steps = recurrences(syntax.Statements("", tuple(statements)))
        for statement in statements:
            scope.collect(statement)
            if statement.name is not None:
                scope.define(statement, steps.get(statement.name))
        scope.collect_sizes(self.stated)
        return scope

    def tells(
        self, right: syntax.Node, own: Mapping[str, str], free: Mapping[str, Size], before: Sequence[syntax.Statement]
    ) -> bool:
        """Whether a right side does; ``own`` are the author's names of its indices, ``free`` those on the left."""
        names = [name for name in dict.fromkeys(indices_without_tensor(right)) if name not in free]
        if not names:
            return True
        line = syntax.Statement(0, 0, None, None, right)
        known = {**self.given, **free}
        ways = [(*self.statements[:-1], *before, line), (*self.statements, *before, line)]
        scopes: list[TextScope] = []
        for name in names:
            base = self.base(own.get(name, name))
            meant = self.read(self.scope, base) if base in self.names else None
            found: Read | None = None
            for k, way in enumerate(ways):
                if k == len(scopes):
                    scopes.append(self.reader(way, known))
                found = found or self.read(scopes[k], name)
            if found is None if base not in self.names else meant is not None and found != meant:
                return False  # a new index needs some size, and one of the author's its own
        return True

    def begin_at_zero(self) -> bool:
        """Whether all indices do; one that follows from reads alone begins at the first place that all of them have."""
        names = dict.fromkeys(n for s in self.statements for side in s.sides for n in indices_without_tensor(side))
        found = [self.read(self.scope, name) for name in names]
        return all(one is None or one[1] == 0 for one in found)

    def base(self, name: str) -> str:
        """The author's index of which this is a copy, with primes."""
        while name.endswith("'") and name not in self.names:
            name = name[:-1]
        return name

    def read(self, scope: TextScope, name: str) -> Read | None:
        """The size of an index and its first place; none where nothing tells them."""
        try:
            size = scope.size(name, index_of(name))
        except NotationError:
            return None
        if size == dims.index_size(scope.class_of(name)):
            return None
        return self.settled.of(size), self.settled.of(scope.start(name))

    def sizes_of(self, tensor: syntax.TensorNode) -> dict[str, Size]:
        """The sizes of the indices of a tensor whose axes the program knows."""
        indices = [i.terms[0][1] for i in tensor.indices or ()]
        own = tensor.name.removesuffix("*")  # a conjugate has the axes of its number
        return {name: self.scope.axis_size(own, axis) for axis, name in enumerate(indices)}

    def called(self, tensor: str, order: int) -> tuple[str, ...]:
        """Names for the indices of an input: the author's that have these sizes, and letters that mean nothing yet."""
        taken = {*self.names, *[s.name for s in self.statements], *self.scope.facts.inputs}
        letters = [letter for letter in LETTERS if letter not in taken]
        found: list[str] = []
        for axis in range(order):
            size = self.settled.of(self.scope.axis_size(tensor, axis))
            own = [name for name in sorted(self.names) if self.size(name) == size]
            found.append(next(name for name in [*own, *letters, f"i{axis}"] if name not in found))
        return tuple(found)

    def size(self, name: str) -> Size:
        """That of an index of the program; one that nothing tells is its own."""
        found = self.read(self.scope, self.base(name))
        return dims.index_size(name) if found is None else found[0]
