"""What stands on the board while a derivative is worked out: the author's tree, with sums that are written down.

In a text a repeated index is summed without a sign, and which product sums over it is a matter of reading. Here each
product, a :class:`SummedTerm`, says the indices that it sums over, and these have names that nothing else has (``j#3``
for a ``j`` of the author's), so that pieces can be moved, put in and used twice without meeting one another. All else
is as typed: the order and the signs of terms and factors, and where each index stands.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count

from ricci.notation import syntax
from ricci.notation.heights import flipped
from ricci.notation.occurrences import Occurrences, is_leaf, used_up

Names = Mapping[str, str]
MARK = "!"
WITH_INDICES = (syntax.TensorNode, syntax.Ones, syntax.Zeros, syntax.Delta, syntax.Epsilon)


@dataclass(slots=True)
class SummedTerm(syntax.ProductNode):
    """A product, or a single factor, that is summed over ``sums``."""

    sums: tuple[str, ...] = ()


class Fresh:
    """Names for summed indices: ``j#1``, ``j#2``, …; the author's name is before the sign.

    Where the author has written ``sum[j]``, there is a mark after the number, and it will be written so.
    """

    def __init__(self):
        self.numbers = count(1)
        self.copies: dict[str, str] = {}  # which name is a copy of which

    def __call__(self, name: str, mark: str = "") -> str:
        made = f"{hint(name)}#{next(self.numbers)}{mark or (MARK if name.endswith(MARK) else '')}"
        if name != hint(name):
            self.copies[made] = name
        return made


def hint(name: str) -> str:
    """The author's name of an index."""
    return name.partition("#")[0]


class UnreadError(Exception):
    """A text has what cannot be worked on in this form."""


class TreeReader:
    """From the tree of a text to one with sums written down; the rule is that of ``notation.resolve``."""

    def __init__(self, fresh: Fresh, heights: Mapping[str, tuple[str, ...]]):
        self.fresh = fresh
        self.open = Occurrences(heights)

    def read(self, node: syntax.Node, names: Names) -> syntax.Node:
        """A sum, a term or a factor, where the indices ``names`` are free, with the names that they get."""
        if isinstance(node, syntax.SumNode):
            return syntax.SumNode(0, 0, tuple([(sign, self.read(term, names)) for sign, term in node.terms]))
        if isinstance(node, syntax.Neg):
            return syntax.Neg(0, 0, self.read(node.body, names))
        parts = node.factors if isinstance(node, syntax.ProductNode) else ((1, node),)
        summed = {name: self.fresh(name) for name in self.summed(parts, names)}
        inside = {**names, **summed} if summed else names
        factors = tuple([(exponent, self.factor(part, inside)) for exponent, part in parts])
        if not summed and len(factors) == 1:
            return factors[0][1]
        return SummedTerm(0, 0, factors, tuple(summed.values()))

    def summed(self, parts: tuple[tuple[int, syntax.Node], ...], names: Names) -> dict[str, None]:
        """The indices that a product sums over: those that occur in two factors, or twice in one tensor."""
        seen: set[str] = set()
        found: dict[str, None] = {}
        for _, part in parts:
            while isinstance(part, syntax.Neg):
                part = part.body
            leaf = is_leaf(part)
            for name, heights in self.open.of(part).items():
                if name not in names and (name in seen or (leaf and len(heights) > 1)):
                    found[name] = None
                seen.add(name)
        return found

    def factor(self, node: syntax.Node, names: Names) -> syntax.Node:
        if isinstance(node, WITH_INDICES):
            return renamed(node, names)
        if isinstance(node, (syntax.SumNode, syntax.Neg, syntax.ProductNode)):
            return self.read(node, names)
        if isinstance(node, syntax.CallNode):
            return self.call(node, names)
        if isinstance(node, syntax.Derivative):
            raise UnreadError("derivatives in the text itself")
        return syntax.with_children(node, [self.read(part, names) for part in syntax.children(node)])

    def call(self, node: syntax.CallNode, names: Names) -> syntax.Node:
        mark = MARK if node.name == "sum" else ""
        own = {name: self.fresh(name, mark) for name in sorted(used_up(node))}
        inside = {**names, **own}
        args = tuple([self.read(a, inside) for a in node.args])
        if node.name == "sum" and node.axes is not None and len(own) == len(node.axes):
            return SummedTerm(0, 0, ((1, args[0]),), tuple([own[i.terms[0][1]] for i in node.axes]))
        axes, result = (
            None if these is None else tuple([syntax.renamed_index(i, by) for i in these])
            for these, by in ((node.axes, inside), (node.result, names))
        )
        return replace(node, args=args, axes=axes, result=result)


def bound_in(node: syntax.Node) -> list[str]:
    """The indices that are summed, or used up by functions, at a node itself."""
    if isinstance(node, SummedTerm):
        return list(node.sums)
    return sorted(used_up(node)) if isinstance(node, syntax.CallNode) else []


def bound_within(node: syntax.Node) -> list[str]:
    return [name for part in syntax.within(node) for name in bound_in(part)]


def renamed(node: syntax.Node, names: Names) -> syntax.Node:
    """A tree with other names for indices; sizes of indices keep theirs."""
    if not names or isinstance(node, syntax.Size):
        return node
    if isinstance(node, syntax.Derivative):
        node = replace(node, variable=renamed(node.variable, names))
    elif isinstance(node, SummedTerm):
        node = replace(node, sums=tuple([names.get(name, name) for name in node.sums]))
    elif isinstance(node, syntax.CallNode):
        axes, result = ([syntax.renamed_index(i, names) for i in these or ()] for these in (node.axes, node.result))
        node = replace(
            node,
            axes=None if node.axes is None else tuple(axes),
            result=None if node.result is None else tuple(result),
        )
    elif isinstance(node, WITH_INDICES):
        return replace(node, indices=node.indices and tuple([syntax.renamed_index(i, names) for i in node.indices]))
    return syntax.with_children(node, [renamed(part, names) for part in syntax.children(node)])


def refreshed(node: syntax.Node, fresh: Fresh) -> syntax.Node:
    """A second copy: its sums have names of their own."""
    return renamed(node, {name: fresh(name) for name in bound_within(node)})


def indices_at(node: syntax.Node) -> syntax.Indices:
    """The indices that are written at a node itself."""
    if isinstance(node, WITH_INDICES):
        return node.indices or ()
    if isinstance(node, syntax.CallNode):
        return (*(node.axes or ()), *(node.result or ()))
    if isinstance(node, syntax.Derivative):
        stand = flipped([i.height for i in node.variable.indices or ()])
        return tuple([replace(i, height=h) for i, h in zip(node.variable.indices or (), stand, strict=True)])
    return ()


def names_of(index: syntax.Index) -> list[str]:
    if index.tensor is not None:
        return [name for inner in index.tensor.indices or () for name in names_of(inner)]
    return [name for _, name in index.terms]


def open_in(node: syntax.Node) -> dict[str, str]:
    """The free indices of a tree in order of occurrence, each with its height."""
    found: dict[str, str] = {}
    if isinstance(node, syntax.CallNode) and node.result is not None:
        for index in node.result:
            found.update(dict.fromkeys(names_of(index), index.height))
    elif not isinstance(node, syntax.CallNode):
        for index in indices_at(node) if not isinstance(node, syntax.Derivative) else ():
            found.update({name: index.height for name in names_of(index) if name not in found})
    for part in syntax.children(node):
        found.update({name: height for name, height in open_in(part).items() if name not in found})
    if isinstance(node, syntax.Derivative):
        for index in indices_at(node):
            found.update({name: index.height for name in names_of(index) if name not in found})
    for name in bound_in(node):
        found.pop(name, None)
    return found


def key(node: syntax.Node, names: Mapping[str, Hashable] | None = None, commuting: bool = False) -> Hashable:
    """What is equal for trees that are one up to the names of sums, and if ``commuting`` the order of what commutes."""
    names = {} if names is None else names
    own = bound_in(node)
    if own and commuting:
        names = {**names, **colours(node, own, names)}
    elif own:
        names = {**names, **{name: len(names) + at for at, name in enumerate(own)}}
    parts = [key(part, names, commuting) for part in syntax.children(node)]
    shown: list[Hashable] = []
    for index in indices_at(node):
        terms = tuple([(c, names.get(name, name)) for c, name in index.terms])
        inner = None if index.tensor is None else key(index.tensor, names, commuting)
        shown.append((terms, index.const, index.sizes, inner, index.height, index.strides))
    if commuting and (isinstance(node, syntax.Ones) or (isinstance(node, syntax.Delta) and node.sign == "==")):
        shown.sort(key=repr)
    signs: tuple = ()
    if isinstance(node, syntax.SumNode):
        signs = tuple([sign for sign, _ in node.terms])
    elif isinstance(node, syntax.ProductNode):
        signs = tuple([exponent for exponent, _ in node.factors])
    kind = "product" if isinstance(node, syntax.ProductNode) else type(node).__name__
    if commuting and signs:
        return kind, tuple(sorted(zip(signs, parts, strict=True), key=repr)), len(own)
    words = [getattr(node, part, None) for part in ("name", "value", "op", "sign", "params", "places")]
    if isinstance(node, syntax.Derivative):
        words.append(node.variable.name)
    return kind, tuple(words), signs, tuple(shown), tuple(parts), len(own)


def colours(node: syntax.Node, own: list[str], names: Mapping[str, Hashable]) -> dict[str, Hashable]:
    """For indices that are summed, what tells them apart without their names: where they stand."""
    found: dict[str, Hashable] = dict.fromkeys(own, "")
    parts = list(zip(getattr(node, "factors", ()), strict=False)) or [((1, part),) for part in syntax.children(node)]
    for _ in range(3 if len(own) > 1 else 0):
        new = {}
        for name in own:
            marked = {**names, **found, name: ("this", found[name])}
            new[name] = sorted(repr((e, key(f, marked, True))) for ((e, f),) in parts if name in open_in(f))
        ranks = {text: at for at, text in enumerate(sorted({repr(value) for value in new.values()}))}
        found = {name: f"·{ranks[repr(value)]}" for name, value in new.items()}
    return found


def is_told_apart(node: syntax.Node) -> bool:
    """Whether ``colours`` tells all summed indices of a term apart."""
    own = bound_in(node)
    return len(set(colours(node, own, {}).values())) == len(own)


def matched(
    pattern: syntax.Node, node: syntax.Node, found: dict[str, str], free: frozenset[str]
) -> dict[str, str] | None:
    """What the ``free`` indices of a pattern stand for where a tree is the pattern; None where it is not."""
    found = dict(found)
    return found if _matches(pattern, node, found, free, {}) else None


def _matches(
    a: syntax.Node, b: syntax.Node, found: dict[str, str], free: frozenset[str], inner: dict[str, str]
) -> bool:
    if type(a) is not type(b):
        return False
    own = bound_in(a), bound_in(b)
    if len(own[0]) != len(own[1]):
        return False
    if own[0]:
        inner = {**inner, **dict(zip(*own, strict=True))}
    for part in ("name", "value", "op", "params", "places"):
        if getattr(a, part, None) != getattr(b, part, None):
            return False
    if isinstance(a, syntax.Delta) and a.sign != getattr(b, "sign", ""):
        return False
    indices = indices_at(a), indices_at(b)
    if len(indices[0]) != len(indices[1]):
        return False
    for i, j in zip(*indices, strict=True):
        if not _indices_match(i, j, found, free, inner):
            return False
    if isinstance(a, syntax.SumNode) and [s for s, _ in a.terms] != [s for s, _ in b.terms]:  # type: ignore[attr-defined]
        return False
    if isinstance(a, syntax.ProductNode) and [e for e, _ in a.factors] != [e for e, _ in b.factors]:  # type: ignore[attr-defined]
        return False
    parts = syntax.children(a), syntax.children(b)
    return len(parts[0]) == len(parts[1]) and all(
        _matches(x, y, found, free, inner) for x, y in zip(*parts, strict=True)
    )


def _indices_match(
    i: syntax.Index, j: syntax.Index, found: dict[str, str], free: frozenset[str], inner: dict[str, str]
) -> bool:
    if (i.tensor is None) != (j.tensor is None) or i.plain != j.plain:
        return False
    if (i.const, i.sizes, i.strides, i.height, len(i.terms)) != (j.const, j.sizes, j.strides, j.height, len(j.terms)):
        return False
    if i.tensor is not None and j.tensor is not None:
        return _matches(i.tensor, j.tensor, found, free, inner)
    for (c, name), (d, other) in zip(i.terms, j.terms, strict=True):
        if c != d:
            return False
        if name in inner:
            if inner[name] != other:
                return False
        elif name in free:
            if found.setdefault(name, other) != other:
                return False
        elif name != other:
            return False
    return True


def replaced(node: syntax.Node, values: Mapping[int, syntax.Node]) -> syntax.Node:
    """A tree with other nodes in the place of some, which are given by ``id``."""
    if id(node) in values:
        return values[id(node)]
    parts = syntax.children(node)
    new = [replaced(part, values) for part in parts]
    return node if all(a is b for a, b in zip(parts, new, strict=True)) else syntax.with_children(node, new)


def derivatives_in(node: syntax.Node) -> Iterator[syntax.Derivative]:
    """The derivatives that are still to be worked out, from the left."""
    if isinstance(node, syntax.Derivative):
        yield node
        return
    for part in syntax.children(node):
        yield from derivatives_in(part)
