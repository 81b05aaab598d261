"""Texts that can be read in two ways: what was taken, and what else may have been meant.

Five things look like something else. A square of one entry, ``x[i] x[i]``, looks like a sum over ``i`` where that
belongs to what stands around it (``y[i] = x[i]/sqrt(x[i] x[i])``), and so does ``1[i] x[i]``, where the one-tensor does
nothing. Brackets that could each sum over an index, ``exp(a[k] b[k]) (c[k] d[k])``, share one sum. A name such as
``a_ij`` looks like a tensor with indices. And ``e**x`` and ``e^x`` look like the exponential, and are a power of an
input and its entry; ``d/dx y`` looks like a derivative. Each is read as the rules say, and a warning shows both
readings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from ricci.errors import caret
from ricci.notation import syntax
from ricci.notation.heights import USUAL
from ricci.notation.occurrences import LEAVES, Occurrences, in_indices, indices_in, is_leaf, sums_alone
from ricci.notation.unclear import unclear
from ricci.notation.words_below import words_below

Edit = tuple[int, int, str]  # put a text in the place of start:end
INDEX_LETTERS = "ijklmnpqrst"
SUFFIXED = re.compile(r"(?!d\d?[^\W_]+_d)(.+)_([a-z]{1,4})")  # dy_dx is the name of a derivative
DIFFERENTIAL = re.compile(r"\bd\s*/\s*d([^\W\d_]\w*)\s*(\([^()]*\)|\s[^-+;\n]+)")
SHOWN = 200  # characters of a text that are shown as a reading


def doubts(program: syntax.Statements) -> list[str]:
    """A message for each thing in a text that has two readings."""
    text = program.text
    found = [*_suffixes(program)] if "_" in text and not program.latex else []
    count = Occurrences()
    for statement in program.statements:
        left = {name for index in statement.indices or () for _, name in index.terms}
        for side in statement.sides:
            found += _SquaresAround(text, statement, count, program.latex).within(side, frozenset(left), False)
        if not program.latex:  # where e^x is the exponential, and d by dx a derivative
            found += _exponentials(text, statement)
            found += _differentials(text, statement)
    for says, node, statement, readings in unclear(program):
        found.append(_message(says, text, node, statement, *readings))
    if program.latex:
        found += [
            _message(says, text, node, statement, (_instead(says), edits))
            for says, node, statement, edits in words_below(program)
        ]
    return list(dict.fromkeys(found))


def _message(says: str, text: str, place: syntax.Node, statement: syntax.Statement, *readings: tuple[str, list[Edit]]):
    """What is said, the line with carets, and the statement as it reads with each list of edits."""
    lines = [says, caret(text, place.start, place.end)]
    for words, edits in readings:
        shown = _edited(text, statement.start, statement.end, edits)
        lines.append(f"  {words}: {shown if len(shown) <= SHOWN else shown[:SHOWN] + '…'}")
    return "\n".join(lines)


def _edited(text: str, start: int, end: int, edits: list[Edit]) -> str:
    shown, at = "", start
    for first, last, new in sorted(edits):
        shown, at = shown + text[at:first] + new, last
    return " ".join((shown + text[at:end]).split())


def _instead(says: str) -> str:
    return "For an entry write" if "is no index" in says else "For a name write"


# Squares and ones of letters that belong to what stands around


class _SquaresAround:
    """Looks for products that seem to sum over letters which are bound outside of them."""

    def __init__(self, text: str, statement: syntax.Statement, count: Occurrences, latex: bool = False):
        self.text, self.statement, self.count, self.latex = text, statement, count, latex

    @cached_property
    def letters(self) -> set[str]:
        """The names of the text, or its letters, that nothing new may be called."""
        return {*re.findall("[^\\W\\d]" if self.latex else r"\w+", self.text)}

    def within(
        self, node: syntax.Node, bound: frozenset[str], nested: bool, axes: frozenset[str] = frozenset()
    ) -> Iterator[str]:
        """The messages for a part; ``bound`` are the letters that are free in it or summed around it.

        Those that a function around it works on are ``axes``: a square may be summed there as it seems to be.
        """
        if isinstance(node, syntax.ProductNode):
            found = [*self.product(node, bound, nested)] if bound else []
            for at, (exponent, factor) in enumerate(node.factors):
                others = [f for place, (_, f) in enumerate(node.factors) if place != at]
                around = bound.union(*[self.count.of(f) for f in others])
                inner = isinstance(factor, syntax.ProductNode) or exponent < 0
                if not isinstance(factor, LEAVES):
                    deeper = nested or inner or not isinstance(factor, syntax.Neg)
                    found += self.within(factor, around, deeper, axes)
            yield from found or self.shared(node, bound | axes)
        elif isinstance(node, syntax.CallNode):
            own = {name for index in node.axes or () for _, name in index.terms}
            for arg in node.args:
                yield from self.within(arg, bound - own, True, axes | own)
        else:
            deeper = nested or not isinstance(node, (syntax.SumNode, syntax.Neg))
            for child in syntax.children(node):
                yield from self.within(child, bound, deeper, axes)

    def product(self, node: syntax.ProductNode, bound: frozenset[str], nested: bool) -> Iterator[str]:
        above = [f for exponent, f in node.factors if exponent > 0]
        for at, factor in enumerate(above):
            if isinstance(factor, syntax.Ones) and node is not self.statement.body:  # a sum would lack the letter
                others = [f for f in above if f is not factor]
                idle = [
                    n for n in in_indices(factor.indices) if n in bound and any(n in self.count.of(f) for f in others)
                ]
                if idle:
                    yield self.one(node, factor, idle[0])
            elif (
                nested
                and isinstance(factor, syntax.TensorNode)
                and _is_entry(factor)
                and set(in_indices(factor.indices or ())) <= bound
            ):
                twin = next((f for f in above[at + 1 :] if _same(f, factor)), None)
                if isinstance(twin, syntax.TensorNode):
                    yield self.square(factor, twin)

    def written(self, plain: str) -> str:
        """A piece of the plain notation, in LaTeX where the text is."""
        if not self.latex:
            return plain
        from ricci.notation.latex_hints import in_latex

        return in_latex(plain)

    def square(self, one: syntax.TensorNode, twin: syntax.TensorNode) -> str:
        names = list(in_indices(one.indices or ()))
        shown = self.text[one.start : one.end]
        fresh = iter([c for c in (*"kjlmnpqr", *[f"{n}'" for n in names]) if c not in self.letters])
        renamed = self.written(f"{one.name}[{','.join(next(fresh) for _ in names)}]")
        place = syntax.ProductNode(one.start, twin.end, ())
        says = f"Index {names[0]!r} belongs to what stands around {shown} {shown}, which is a square here, and no sum."
        between = [(one.end, twin.start, " ")]
        return _message(
            says,
            self.text,
            place,
            self.statement,
            ("It is read as", [(one.start, twin.end, f"{shown}^2" if self.latex else f"{shown}**2")]),
            ("For a sum write", [(one.start, one.end, renamed), *between, (twin.start, twin.end, renamed)]),
        )

    def one(self, node: syntax.ProductNode, factor: syntax.Ones, name: str) -> str:
        says = f"Index {name!r} belongs to what stands around this product, so 1[{name}] does not sum over it."
        rest = [f for _, f in node.factors if f is not factor]
        fresh = next(c for c in (*"kjlmnpqr", f"{name}'") if c not in self.letters)
        tensors = [i for f in (*rest, factor) for i in _plain_indices(f) if i.terms[0][1] == name]
        return _message(
            says,
            self.text,
            factor,
            self.statement,
            ("It is read as", [(factor.start, factor.end, "1")] if len(factor.indices) == 1 else []),
            ("For a sum write", [(i.start, i.end, fresh) for i in tensors]),
        )

    def shared(self, node: syntax.ProductNode, bound: frozenset[str]) -> Iterator[str]:
        """The message for indices that the product sums over, although each of its brackets that has them could."""
        found: dict[str, list[syntax.Node]] = {}  # and the brackets in which another letter would stand
        places: dict[str, list[tuple[int, syntax.Node]]] = {}
        for exponent, factor in node.factors:
            for name in self.count.of(factor).keys() - bound:
                places.setdefault(name, []).append((exponent, factor))
        for name, having in sorted(places.items()):
            tensors = [f for _, f in having if is_leaf(_unsigned(f))]
            brackets = [(exponent, f) for exponent, f in having if not is_leaf(_unsigned(f))]
            alone = len(tensors) != 1 and all(self.seems_to_sum(f, name) for _, f in brackets)
            if alone and (len(brackets) > 1 or (tensors and any(exponent < 0 for exponent, _ in brackets))):
                found[name] = [f for _, f in brackets][not tensors :]
        if found:
            yield self.own_sums(node, found)

    def seems_to_sum(self, bracket: syntax.Node, name: str) -> bool:
        """Whether a bracket by itself would sum over an index that several of its tensors have."""
        tensors = [n for n in syntax.within(bracket) if is_leaf(n) and name in self.count.of(n)]
        return len(tensors) > 1 and sums_alone(bracket, name, self.count)

    def own_sums(self, node: syntax.ProductNode, found: dict[str, list[syntax.Node]]) -> str:
        edits: dict[tuple[int, int], str] = {}
        fresh = iter([c for c in "kjlmnpqrst" if c not in self.letters])
        for name, parts in found.items():
            for primes, part in enumerate(parts, 1):
                letter = next(fresh, name + "'" * primes)
                for index in indices_in(part):
                    place = index.start, index.end
                    written = edits.get(place, self.text[index.start : index.end])
                    edits[place] = re.sub(rf"\b{name}\b(?!')", letter, written)
        names, plural = " and ".join(map(repr, found)), len(found) > 1
        opening = self.written(f"sum[{','.join(found)}](")
        says = f"Ind{'ices' if plural else 'ex'} {names} {'are' if plural else 'is'} summed over the whole product, "
        return _message(
            says + "although each bracket could have a sum of its own.",
            self.text,
            node,
            self.statement,
            ("It is read as", [(node.start, node.start, opening), (node.end, node.end, ")")]),
            ("For a sum in each write", [(start, end, new) for (start, end), new in edits.items()]),
        )


def _unsigned(node: syntax.Node) -> syntax.Node:
    while isinstance(node, syntax.Neg):
        node = node.body
    return node


def _is_entry(node: syntax.Node) -> bool:
    return isinstance(node, syntax.TensorNode) and bool(node.indices) and all(i.plain for i in node.indices)


def _same(a: syntax.Node, b: syntax.Node) -> bool:
    if not (isinstance(a, syntax.TensorNode) and isinstance(b, syntax.TensorNode)) or a.name != b.name:
        return False
    names = [[(i.terms, i.height) for i in x.indices or ()] for x in (a, b)]
    return names[0] == names[1]


def _plain_indices(node: syntax.Node) -> Iterator[syntax.Index]:
    for part in ("indices", "axes", "result"):
        yield from (index for index in getattr(node, part, None) or () if index.plain)
    for child in syntax.children(node):
        yield from _plain_indices(child)


# Names that end like indices


def _suffixes(program: syntax.Statements) -> Iterator[str]:
    """Names without indices whose suffix is an index of the text, or recurs in other names as indices would."""
    used = {index for statement in program.statements for index in _index_names(statement)}
    for statement in program.statements:
        places = [p for p in _bare_names(statement) if SUFFIXED.fullmatch(p[2])]
        doubtful = _like_indices([(name, SUFFIXED.fullmatch(name)[2]) for _, _, name in places], used)  # type: ignore[index]
        if doubtful:
            edits = [(start, end, _indexed(name)) for start, end, name in places if name in doubtful]
            first = next(syntax.Pi(start, end) for start, end, name in sorted(places) if name in doubtful)
            listed = " and ".join(sorted(doubtful)) if len(doubtful) < 3 else ", ".join(sorted(doubtful))
            says = f"What follows an underscore belongs to the name: {listed} {'have' if len(doubtful) > 1 else 'has'} "
            yield _message(
                says + "no index.",
                program.text,
                first,
                statement,
                ("It is read as names", []),
                ("With indices write", edits),
            )


def names_like_indices(program: syntax.Statements) -> list[str]:
    """The names without indices of a text that look like tensors with some, ``a_ij``."""
    used = {index for statement in program.statements for index in _index_names(statement)}
    found = [
        (name, m[2]) for s in program.statements for _, _, name in _bare_names(s) if (m := SUFFIXED.fullmatch(name))
    ]
    return sorted(_like_indices(found, used))


def _like_indices(names: Iterable[tuple[str, str]], used: set[str]) -> set[str]:
    """The names whose suffixes look like indices: letters that the text has as indices, or that all occur twice."""
    pairs = list(names)
    letters = [c for _, suffix in pairs for c in suffix]
    plausible = {
        name
        for name, suffix in pairs
        if len(suffix) < 3 or (list(suffix) == sorted(set(suffix)) and suffix not in ("dot", "bar", "hat"))
    }
    of_text = {name for name, suffix in pairs if name in plausible and (suffix in used or set(suffix) <= used)}
    often = all(letters.count(c) > 1 and c in INDEX_LETTERS for name, s in pairs if name in plausible for c in s)
    recur = {name for name, _ in pairs if name in plausible} if often and len(pairs) > 1 else set()
    return of_text | recur


def _indexed(name: str) -> str:
    stem, _, suffix = name.rpartition("_")
    return f"{'1' if stem in ('sum', 'Σ') else stem}[{','.join(suffix)}]"


def _bare_names(statement: syntax.Statement) -> Iterator[tuple[int, int, str]]:
    """The names without indices in a statement, its left side among them."""
    if statement.name is not None and not statement.indices:
        yield statement.start, statement.start + len(statement.name), statement.name
    for node in _nodes(*statement.sides):
        if isinstance(node, syntax.TensorNode) and node.indices is None:
            yield node.start, node.end, node.name


def _index_names(statement: syntax.Statement) -> Iterator[str]:
    yield from in_indices(statement.indices or ())
    for node in _nodes(*statement.sides):
        for part in ("indices", "axes", "result"):
            yield from in_indices(getattr(node, part, None) or ())


def _nodes(*roots: syntax.Node) -> Iterator[syntax.Node]:
    """All nodes, what is differentiated by included."""
    for node in [node for root in roots for node in syntax.within(root)]:
        yield node
        if isinstance(node, syntax.Derivative):
            yield node.variable


# The number e


def _is_exponent(indices: syntax.Indices | None, statement: syntax.Statement) -> bool:
    """Whether the index above an ``e`` is free only because there is no left side, and is no usual index letter."""
    if statement.name is not None or not indices or [i.height for i in indices] != ["up"]:
        return False
    return any(name not in USUAL for name in in_indices(indices))


def _exponentials(text: str, statement: syntax.Statement) -> Iterator[str]:
    """``e**x`` and ``e^(x)``, but not ``e**2``; ``e^x`` where nothing else has the index."""
    for node in _nodes(*statement.sides):
        if isinstance(node, syntax.TensorNode) and node.name == "e" and _is_exponent(node.indices, statement):
            exponent = text[node.start + 2 : node.end].strip("{}")
            yield _message(
                f"The name e is an input, as any other name, and {exponent} an index of it.",
                text,
                node,
                statement,
                ("It is read as a tensor with an upper index", []),
                ("For the exponential write", [(node.start, node.end, f"exp({exponent})")]),
            )
        if isinstance(node, syntax.Power) and isinstance(node.base, syntax.TensorNode) and node.base.name == "e":
            exponent = text[node.exponent.start : node.exponent.end]
            if not node.base.indices and not isinstance(node.exponent, syntax.Number) and exponent:
                end = node.end
                edits = [(node.start, end, f"exp({exponent})")]
                yield _message(
                    "The name e is an input, as any other name.",
                    text,
                    node,
                    statement,
                    ("It is read as a power of e", []),
                    ("For the exponential write", edits),
                )


# d by dx


def _differentials(text: str, statement: syntax.Statement) -> Iterator[str]:
    """``d/dx x**2``, a quotient of names."""
    for match in DIFFERENTIAL.finditer(text, statement.start, statement.end):
        body = match[2].strip()
        shown = body[1:-1] if body.startswith("(") and body.endswith(")") and body.count("(") == 1 else body
        place = syntax.Pi(match.start(), match.start(2))
        yield _message(
            f"The names d and d{match[1]} are inputs, as any other names.",
            text,
            place,
            statement,
            ("It is read as a quotient of names", []),
            ("For a derivative write", [(match.start(), match.start(2) + len(body), f"D({shown}, {match[1]})")]),
        )
