"""The board: the definitions of a program, what is known of their derivatives, and the lines that are written.

Each named part that depends on the variable is derived first, in a section of its own, then what is made of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ricci.expr import Size, add, topological
from ricci.expr.settle import settled
from ricci.expr.structures import is_zero as is_zero_tensor
from ricci.notation import syntax
from ricci.notation.bars import is_complex
from ricci.show import text as text_form
from ricci.show.deriving.definition import Defined, Given, Line, size_of
from ricci.show.deriving.differentiation import mentions
from ricci.show.deriving.section import Section
from ricci.show.deriving.sizes_told import SizesTold
from ricci.show.deriving.slopes import resolved
from ricci.show.deriving.stars import STAR, Conjugates, starred, without_stars
from ricci.show.deriving.typed_trees import (
    Fresh,
    SummedTerm,
    TreeReader,
    UnreadError,
    hint,
    names_of,
    open_in,
    refreshed,
    renamed,
)
from ricci.show.deriving.writing import LineWriter
from ricci.simplify import simplify
from ricci.simplify.proof import proved_equal
from ricci.simplify.residues import agree

MOST_NODES = 600  # of a statement
MOST_LINES = 60  # for each name
MOST_WRITTEN = 10_000  # nodes of all lines; what is longer is derived in named parts
PROVED = 120  # nodes of two expressions that a proof is looked for; larger ones are compared in a finite field


class Board:
    """The derivations of one program."""

    def __init__(self, given: Given, detail: str = "normal", sums: bool = False):
        self.given, self.detail = given, detail
        self.fresh = Fresh()
        self.writer = LineWriter(sums)
        self.definitions: dict[str, Defined] = {}
        for statement in given.statements:
            free = {name: name for i in statement.indices or () for name in names_of(i)}
            if statement.name is None or statement.name in self.definitions:
                raise UnreadError("statements without a name of their own")
            if not all(i.plain for i in statement.indices or ()):
                raise UnreadError("recurrences")
            if sum(1 for _ in syntax.within(statement.body)) > MOST_NODES:
                raise UnreadError("a text that is too long")
            body = TreeReader(self.fresh, given.heights).read(statement.body, free)
            self.definitions[statement.name] = Defined(statement.name, statement.indices or (), body)
        self.conjugates = self.with_stars()
        self.told = SizesTold(given.statements, given.stated, given.sizes)
        self.axes = {name: self.told.called(name, order) for name, order in given.orders.items()}
        if self.conjugates is not None:
            self.axes |= {starred(name): axes for name, axes in self.axes.items()}
        self.known: dict[tuple[str, str], tuple[syntax.Node, tuple[str, ...]]] = {}
        self.lines: list[Line] = []
        self.length = 0  # of these
        self.free: frozenset[str] = frozenset()
        self.sizes: dict[str, Size] = {}  # of indices that are free
        self.own = [
            n for d in self.definitions.values() for n in syntax.within(d.body) if isinstance(n, syntax.SumNode)
        ]

    def with_stars(self) -> Conjugates | None:
        """The conjugates of the program, if it has complex numbers; definitions of these have conjugates too."""
        declared = self.given.declared
        names = set(declared.complex_names())
        units = any(isinstance(n, syntax.Imaginary) for d in self.definitions.values() for n in syntax.within(d.body))
        if not names and not units:
            return None
        words = dict(declared.symmetries())
        turned = [n for n in names if words.get(n) in ("hermitian", "positive")]
        for d in self.definitions.values():
            names |= {d.name} if is_complex(d.body, names) else set()
        return Conjugates(names, turned, self.fresh)

    def define_conjugate(self, name: str) -> None:
        """``conj(w)`` of a complex definition, after it."""
        made: dict[str, Defined] = {}
        for own, d in self.definitions.items():
            made[own] = d
            if own == name and self.conjugates is not None:
                made[starred(name)] = Defined(starred(name), d.indices, self.conjugates.of(d.body))
        self.definitions = made

    # Writing

    def free_are(self, names: Iterable[str], x: syntax.TensorNode | None = None) -> None:
        """The indices that the next lines have on the left: of what is derived, and new ones."""
        for name in names:
            self.sizes.setdefault(name, self.told.size(name))
        self.sizes |= {} if x is None else self.told.sizes_of(x)
        self.free = frozenset([*names, *[i.terms[0][1] for i in (x.indices if x is not None else None) or ()]])

    def written(self, node: syntax.Node) -> syntax.Node:
        return self.writer.write(node, self.free)

    def shown(self, node: syntax.Node) -> str:
        return text_form.render(self.written(node), text_form.SUM)

    def line(self, rule: str, right: syntax.Node, left: syntax.Node | None = None, *before: syntax.Statement) -> None:
        if len(self.lines) > MOST_LINES * len(self.definitions):
            raise UnreadError("too many lines")
        written = self.written(right)
        self.length += size_of(written)
        if self.length > MOST_WRITTEN:
            raise UnreadError("lines that nobody would read")
        free = {name: size for name, size in self.sizes.items() if name in self.free}
        if not self.told.tells(written, {n: hint(own) for own, n in self.writer.now.items()}, free, before):
            raise UnreadError("a line that does not tell the sizes of its indices")
        self.lines.append(Line(rule, None if left is None else without_stars(left), written, before))

    def substitution(self, pairs: Sequence[tuple[str, str]]) -> str:
        """The name of the rule, with the indices that were put for others."""
        shown = [f"{self.last_name(a)} → {self.last_name(b)}" for a, b in pairs]
        return f"delta substitution, {', '.join(dict.fromkeys(shown))}"

    def last_name(self, name: str) -> str:
        """The name that an index, or that which it is a copy of, had when it was last written."""
        while name not in self.writer.last and name in self.fresh.copies:
            name = self.fresh.copies[name]
        return self.writer.last.get(name, hint(name))

    def statement(self, d: Defined) -> syntax.Statement:
        body = LineWriter(self.writer.sums).write(d.body, frozenset(d.free))
        return syntax.Statement(0, 0, d.name, d.indices or None, body)

    # Values, of the engine

    def values(self, *sides: tuple[dict[str, str], syntax.Node]) -> list:
        """What trees with these free indices are, read as a text below the definitions."""
        known = [d for d in self.definitions.values() if not is_constant(d.body) and not d.name.endswith(STAR)]
        before = [syntax.Statement(k, k, d.name, d.indices or None, LineWriter().write(d.body, frozenset(d.free)))
                  for k, d in enumerate(known)]  # fmt: skip
        made = []
        for k, (free, node) in enumerate(sides):
            indices = tuple([syntax.Index(0, 0, ((1, n),), plain=True, height=h) for n, h in free.items()])
            body = LineWriter().write(node, frozenset(free))
            made.append(syntax.Statement(len(before) + k, 0, f"r°{k}", indices or None, body))
        given = self.given
        found = resolved([*before, *made], given.declared, given.orders, given.sizes, given.stated)
        return found[len(before) :]

    def vanishes(self, bracket: syntax.Node, name: str) -> bool:
        """Whether a sum over an index is zero."""
        free = {n: h for n, h in open_in(bracket).items() if n != name}
        plain = {n: hint(n) + f"_{k}" for k, n in enumerate(open_in(bracket))}
        node = SummedTerm(0, 0, ((1, renamed(refreshed(bracket, self.fresh), plain)),), (plain[name],))
        (found,) = self.values(({plain[n]: h for n, h in free.items()}, node))
        return is_zero_tensor(simplify(settled(found.value.expr, found.context.facts.linked_sizes())))

    # Sections

    def derive(self, d: Defined, x: syntax.TensorNode, shape: tuple, further: Sequence[str] = ()) -> syntax.Node:
        """The derivative of a definition by a variable with new indices; ``further`` names are shown at length too."""
        live = self.live(x.name)
        new = tuple([i.terms[0][1] for i in x.indices or ()])
        for name in self.below(d, x.name, live):
            if (name, x.name) not in self.known:
                part = self.apart(self.definitions[name], new)
                made = Section(self, part, x, shape, live, name in further).derive()
                self.known[name, x.name] = made, (*part.free, *new)
        return Section(self, d, x, shape, live | {d.name}, True).derive()

    def apart(self, d: Defined, new: Sequence[str]) -> Defined:
        """A definition with other names for its indices where the variable has these."""
        names = {n: n + "'" for n in d.free if n in new}
        if not names:
            return d
        indices = tuple([syntax.renamed_index(i, names) for i in d.indices])
        return Defined(d.name, indices, renamed(d.body, names), d.left)

    def live(self, x: str) -> set[str]:
        live = {x}
        for d in self.definitions.values():
            if d.name != x and mentions(d.body, live):
                live.add(d.name)
        return live

    def below(self, d: Defined, x: str, live: set[str]) -> list[str]:
        """The names that a definition is made of and that depend on ``x``."""
        wanted: set[str] = set()
        stack = [d.body]
        while stack:
            for n in syntax.within(stack.pop()):
                if isinstance(n, syntax.TensorNode) and n.name in live and n.name != x and n.name not in wanted:
                    wanted.add(n.name)
                    stack.append(self.definitions[n.name].body)
        return [n for n in self.definitions if n in wanted]

    def is_made_of(self, name: str, others: set[str]) -> bool:
        """Whether a name is defined by way of one of the others."""
        seen, stack = {name}, [name]
        while stack:
            for n in syntax.within(self.definitions[stack.pop()].body):
                if isinstance(n, syntax.TensorNode) and n.name in self.definitions and n.name not in seen:
                    seen.add(n.name)
                    stack.append(n.name)
        return bool(seen & others)

    def result_of(self, tensor: syntax.TensorNode, x: syntax.TensorNode) -> syntax.Node:
        """The derivative of a name at some place, as it was found."""
        node, own = self.known[tensor.name, x.name]
        if not all(i.plain for i in tensor.indices or ()):
            raise UnreadError("a derivative of a part that is read at a place")
        at = [i.terms[0][1] for i in tensor.indices or ()]
        columns = [i.terms[0][1] for i in x.indices or ()]
        names = dict(zip(own, (*at, *columns), strict=True))
        return renamed(refreshed(node, self.fresh), {a: b for a, b in names.items() if a != b})

    # Whether it is right

    def agrees(self, left: syntax.Node, right: syntax.Node, heights: Mapping[str, str]) -> bool:
        """Whether a derivative as the engine finds it has the values of what was worked out."""
        one, other = self.values((dict(heights), left), (dict(heights), right))
        links = one.context.facts.linked_sizes()
        a, b = (simplify(settled(side.value.expr, links)) for side in (one, other))
        if a is b or is_zero_tensor(simplify(add([(1, a), (-1, b)]))):
            return True
        few = len(topological(a, b)) < PROVED  # the cheaper first
        ways = [lambda: proved_equal(a, b, links), lambda: agree(a, b, links, links)]
        if any(way() for way in (ways if few else ways[1:])):
            return True
        return self.given.compared is not None and self.given.compared(a, b, one.context.facts)


def is_constant(node: syntax.Node) -> bool:
    """What is declared to be constant, and so an input here."""
    return isinstance(node, syntax.CallNode) and node.name == "stop_gradient"
