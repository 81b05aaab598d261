"""What a text must say of sizes beside its statements, so that who reads it finds those that were meant.

A reader takes the size of an index from the tensors on which it stands plainly, or from the reads in which it takes
part. Where that is not what was meant (a derivative may have lost the tensor that had the size; the range of ``x[i+k]``
follows from no ``w[k]`` any more), a line says it: ``sizes: w[k], x[n], |i| = |n| - |k| + 1``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ricci.errors import NotationError
from ricci.expr import Dim, Expr, Size, dims, variables
from ricci.expr.settle import SettledSizes, SizeClasses
from ricci.functions.table import IN_TEXT
from ricci.notation import syntax
from ricci.notation.context import Axis, Facts
from ricci.notation.recurrences import recurrences
from ricci.notation.text_scope import TextScope
from ricci.show.index_names import Namer, axis_or_index
from ricci.show.page import Page, together
from ricci.show.phrases import Names, index_of, tensor_of

ROUNDS = 6  # what a line says of sizes may need further names


class SizeLineWriter:
    """Writes the line of sizes of one text, that of the last root; ``written`` makes an expression of a size."""

    def __init__(
        self,
        roots: Sequence[Expr],
        names: Names,
        facts: Facts,
        namer: Namer,
        written: Callable[[Size], syntax.Node],
    ):
        self.roots, self.names, self.facts, self.namer, self.written = roots, names, facts, namer, written
        self.shape = roots[-1].shape
        self.meant = SettledSizes(roots, self.shape, namer.classes)
        self.shapes = {v.name: v.shape for v in variables(*roots) if v.name in facts.inputs}

    def line(self, statements: Sequence[syntax.Statement], page: Page) -> syntax.SizeLine:
        """What must be said beside these statements, and beside what is on the page."""
        found = syntax.SizeLine((), ())
        for _ in range(ROUNDS):
            try:
                axes, names = self.misread(statements, found, page)
            except NotationError:  # it has functions of the user's own, which no text says
                break
            if not axes and not names:
                break
            found = self.longer(found, axes, names)
        return found

    def misread(
        self, statements: Sequence[syntax.Statement], line: syntax.SizeLine, page: Page
    ) -> tuple[list[Axis], list[str]]:
        """The axes of inputs, and the indices, that would have another size for a reader."""
        scope = self.reader(statements, line, page)
        bodies = [s.body for s in statements]
        places = list(dict.fromkeys(place for body in bodies for place in _places(body, scope)))
        named = [scope.definitions[name].names[axis] for name, axis in places if name in scope.definitions]
        named = [name for name in named if name not in scope.steps]
        said = [index.terms[0][1] for tensor in line.tensors for index in tensor.indices or ()]
        said += [name for pair in line.equations for node in pair for name in indices_without_tensor(node)]
        free = [name for name in self.names if scope.class_of(name) not in scope.index_axes]
        held = list(
            dict.fromkeys([*[name for body in bodies for name in indices_without_tensor(body)], *named, *said, *free])
        )
        read = {name: _read(scope, name) for name in (*held, *self.names)}
        shape = [dims.index_size(name) if size is None else size for name in self.names for size in [read[name]]]
        linked = [*linked_in(scope, bodies), *_linked_by(self.beside(page), scope), *self.linked_before(page, scope)]
        sizes = SettledSizes(self.roots, tuple(shape), SizeClasses(linked=linked))
        sizes_of = [(v, a, self.meant.of(size)) for v, own in self.shapes.items() for a, size in enumerate(own)]
        given = [(v, a) for v, a, size in sizes_of if isinstance(size, int)]
        axes = [place for place in places if place[0] in self.shapes and place not in given] + given
        axes = [axis for axis in axes if sizes.of(scope.axis_size(*axis)) != self.meant.of(self.axis_size(axis))]
        found = {name: None if size is None else sizes.of(size) for name, size in read.items()}
        on = {axis: name for name in sorted(scope.index_axes, key=self.choice)[::-1] for axis in scope.index_axes[name]}
        wrong = [on[axis] for axis in axes if axis in given and axis in on]
        axes = [axis for axis in axes if axis not in given or axis not in on]
        wrong += [name for name in held if found[name] != self.size(name)]
        wrong += [
            name for name in _counted(bodies) if self.is_atom(name) and axis_or_index(read.get(name) or 0) is None
        ]
        wrong = self.apart(wrong, scope)
        wrong += [name for name in free if read[name] == dims.index_size(name) and self.is_computed(name)]
        same = {self.size(name) for name in wrong}
        alike = [n for n in held if self.size(n) in same and n not in said and _is_axis_of_result(found[n])]
        return list(dict.fromkeys(axes)), list(dict.fromkeys([*wrong, *alike]))

    def beside(self, page: Page) -> dict[str, Size]:
        """The sizes of free indices, where a left side says them."""
        return dict(zip(self.names, self.shape, strict=True)) if page.sided else {}

    def linked_before(self, page: Page, scope: TextScope) -> list[tuple[Size, Size]]:
        """The sizes of parts that have lines before these statements."""
        lines = [page.lines[name] for name in scope.facts.inputs if name in page.lines]
        places = [(line.name, axis, index) for line in lines for axis, index in enumerate(line.indices or ())]
        claims = self.namer.claims
        return [
            (dims.axis_size(n or "", a), claims[name]) for n, a, i in places for _, name in i.terms if name in claims
        ]

    def reader(self, statements: Sequence[syntax.Statement], line: syntax.SizeLine, page: Page) -> TextScope:
        """What a reader knows of the names in these statements."""
        scope = TextScope("", self.beside(page), symmetries=self.facts.symmetries)  # type: ignore[arg-type]
        steps = recurrences(syntax.Statements("", tuple(statements)))
        for statement in statements:
            scope.collect(statement)
            if statement.name is not None:
                scope.define(statement, steps.get(statement.name))
        scope.collect_sizes(together(page.sizes, line))
        return scope

    def apart(self, wrong: Iterable[str], scope: TextScope) -> list[str]:
        """Without those whose number another says, since both stand on one axis."""
        kept: list[str] = []
        said: set[Axis] = set()
        for name in sorted(wrong, key=self.choice):
            axes = scope.index_axes.get(scope.class_of(name), {}) if isinstance(self.size(name), int) else {}
            kept += [] if said.intersection(axes) else [name]
            said.update(axes)
        return kept

    def choice(self, name: str) -> tuple[bool, int, str]:
        """Which name of an axis is said first: one that the result shows, then the shortest."""
        return (name not in self.names, *_short(name))

    def is_atom(self, name: str) -> bool:
        """Whether an index has the size of one axis or index, and not one that is computed from others."""
        held = self.namer.claims.get(name, dims.index_size(name))
        return not isinstance(held, int) and axis_or_index(held) is not None

    def is_computed(self, name: str) -> bool:
        """Whether the size of an index of the result follows from those of inputs alone."""
        own = dims.atoms(self.shape[self.names.index(name)])
        return bool(own) and all(len(atom) == 2 and atom[0] in self.shapes for atom in own)

    def axis_size(self, axis: Axis) -> Size:
        return self.shapes[axis[0]][axis[1]]

    def size(self, name: str) -> Size:
        return self.meant.of(self.namer.claims.get(name, dims.index_size(name)))

    def longer(self, line: syntax.SizeLine, axes: Iterable[Axis], wrong: Iterable[str]) -> syntax.SizeLine:
        tensors, equations = list(line.tensors), {size.name: (size, node) for size, node in line.equations}
        mentions = [self.mentioned(*axis, self.namer.of_size(self.axis_size(axis))) for axis in axes]
        for name in wrong:
            held = self.namer.claims.get(name, dims.index_size(name))
            size = self.meant.of(held)
            size = held if any(_is_axis_of_result(dims.symbol(*atom)) for atom in dims.atoms(size)) else size
            atom = next(iter(dims.atoms(size)), ())
            if len(atom) == 2 and size == dims.axis_size(*atom) and atom[0] in self.facts.inputs:
                mentions.append(self.mentioned(*atom, name))
            else:
                own = syntax.Size(0, 0, name)
                equations[name] = (own, own if size == dims.index_size(name) else self.written(size))
        tensors += [mention for at, mention in enumerate(mentions) if mention not in [*tensors, *mentions[:at]]]
        tensors = self.paired(tensors)
        numbers = sorted([name for name, (_, node) in equations.items() if isinstance(node, syntax.Number)])
        said = {name: equations[name] for name in (*numbers, *equations)}  # numbers first, by name
        return syntax.SizeLine(tuple(tensors), tuple(said.values()))

    def paired(self, mentions: list[syntax.TensorNode]) -> list[syntax.TensorNode]:
        """``S[i,i], S[j,j]`` of a matrix whose sizes are declared to be one as ``S[i,j]``."""
        names: dict[str, dict[str, None]] = {}
        for node in mentions:
            if node.name in self.facts.symmetries:
                names.setdefault(node.name, {}).update({i.terms[0][1]: None for i in node.indices or ()})
        paired = [node for node in mentions if node.name not in names]
        for tensor, found in names.items():
            own = sorted(found, key=_short)
            paired += [tensor_of(tensor, (own[at], own[min(at + 1, len(own) - 1)])) for at in range(0, len(own), 2)]
        return paired

    def mentioned(self, tensor: str, axis: int, name: str) -> syntax.TensorNode:
        """A tensor with ``name`` on one axis, and some name on the others."""
        own = self.shapes.get(tensor) or [dims.axis_size(tensor, a) for a in range(self.facts.inputs[tensor])]
        alike = tensor in self.facts.symmetries
        names = [name if a == axis or alike else self.namer.of_size(size) for a, size in enumerate(own)]
        return tensor_of(tensor, tuple(names))


def linked_in(scope: TextScope, bodies: Iterable[syntax.Node]) -> list[tuple[Size, Size]]:
    """The sizes that a reader knows to agree: one index has them, or they are those of a square matrix."""
    groups = [list(axes) for axes in scope.index_axes.values()]
    pairs: list[tuple[Size, Size]] = [
        (dims.axis_size(*axes[0]), dims.axis_size(*axis)) for axes in groups for axis in axes[1:]
    ]
    pairs += [(dims.axis_size(*axis), scope.axis_size(*axis)) for axes in groups for axis in axes]
    for node in [node for body in bodies for node in syntax.within(body)]:
        row = IN_TEXT.get(node.name) if isinstance(node, syntax.CallNode) else None
        if row is None or row.kind != "matrix" or row.rectangular or not isinstance(node, syntax.CallNode):
            continue
        sizes = [_read(scope, index.terms[0][1]) for index in node.axes or ()]
        for tensor in node.args if node.axes is None else ():
            if isinstance(tensor, syntax.TensorNode) and tensor.name in scope.definitions:
                sizes += [_read(scope, name) for name in scope.definitions[tensor.name].names[:2]]
            elif isinstance(tensor, syntax.TensorNode):
                sizes += [scope.axis_size(tensor.name, axis) for axis in range(2 if len(sizes) < 2 else 1)]
        known = [size for size in sizes if size is not None]
        pairs += [(known[0], size) for size in known[1:]]
    return pairs


def _linked_by(given: dict[str, Size], scope: TextScope) -> list[tuple[Size, Size]]:
    """The sizes that agree with those of indices that a reader knows."""
    groups = [(name, scope.index_axes.get(scope.class_of(name), ())) for name in given]
    pairs = [(given[name], dims.axis_size(*axis)) for name, axes in groups for axis in axes]
    return [*pairs, *[(size, found) for name, size in given.items() for found in [_read(scope, name)] if found]]


def _short(name: str) -> tuple[int, str]:
    return len(name), name


def _is_axis_of_result(size: Size | None) -> bool:
    """Whether a size is known only as that of an axis of the result."""
    return isinstance(size, Dim) and size.text.startswith("@")


def _read(scope: TextScope, name: str) -> Size | None:
    """The size that a reader finds for an index; None if there is none, or if the index does not begin at 0."""
    try:
        size = scope.size(name, index_of(name))
    except NotationError:
        return None
    return size if scope.start(name) == 0 else None


def indices_without_tensor(body: syntax.Node) -> Iterator[str]:
    """The indices whose sizes are those of no tensor: in ones, deltas, sizes, and reads at places."""
    for node in syntax.within(body):
        if isinstance(node, syntax.Size):
            yield node.name
        bare = isinstance(node, (syntax.Ones, syntax.Zeros, syntax.Delta))
        for index in (*(getattr(node, "indices", None) or ()), *(getattr(node, "result", None) or ())):
            yield from _in_index(index, bare)


def _counted(bodies: Iterable[syntax.Node]) -> list[str]:
    """The indices whose sizes stand as numbers."""
    nodes = [node for body in bodies for node in syntax.within(body)]
    return list(dict.fromkeys([node.name for node in nodes if isinstance(node, syntax.Size)]))


def _in_index(index: syntax.Index, bare: bool) -> list[str]:
    if index.tensor is not None:
        return [name for inner in index.tensor.indices or () for name in _in_index(inner, bare)]
    names = [name for _, name in index.sizes] + [name for name in index.strides if name]
    return names if index.plain and not bare else names + [name for _, name in index.terms]


def _places(body: syntax.Node, scope: TextScope) -> Iterator[Axis]:
    """The axes of tensors that are read at places, or gathered."""
    for node in syntax.within(body):
        stack = [node] if isinstance(node, syntax.TensorNode) else []
        stack += [index.tensor for index in getattr(node, "indices", None) or () if index.tensor is not None]
        while stack:
            tensor = stack.pop()
            yield from ((tensor.name, axis) for axis, index in enumerate(tensor.indices or ()) if not index.plain)
            stack += [index.tensor for index in tensor.indices or () if index.tensor is not None]
