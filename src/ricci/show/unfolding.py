"""Networks with several indices for the rows and several for the columns of one matrix, in words of matrix notation.

What is not linked is a Kronecker product, in the order of rows and of columns: ``A[i,j] B[k,l]`` is ``A ⊗ B``. What is
linked has indices at its core that are summed, or that stand in rows and columns at once, and the network is a product
of three matrices: from the rows to the core, along the core, from there to the columns.

    (p; i, j)    A[p,i] B[p,j]           one index meets several: ``A • B``, each row the Kronecker product of rows
    (i, k)       E[i,k] along two        ``diag(vec(E))``
    (i,k; j,l)   A[i,j] B[i,l] C[k,l]    ``(I ⊗ C) diag(vec(B)) (A ⊗ I)``, whose core is (i, l)

A core may be chosen in several ways; of those that can be said the shortest is taken. Where there is none, the network
is cut where its parts share no summed index, and is their product entry by entry.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, permutations

from ricci.show import words
from ricci.show.networks import Network
from ricci.show.words import MatrixWord

Label = Hashable
Weights = dict[Label, list[tuple[int, MatrixWord]]]
Edges = dict[tuple[Label, Label], MatrixWord]
Said = list[tuple[MatrixWord, tuple[Label, ...], tuple[Label, ...]]]
MOST_CORES, MOST_PARTS = 3, 5  # all orders of so many are tried


@dataclass(frozen=True)
class Subnetwork:
    """Some of a network: the labels of rows and of columns in order, those at the core, and what is between them."""

    rows: tuple[Label, ...]
    columns: tuple[Label, ...]
    core: tuple[Label, ...]
    edges: Edges
    weights: Weights

    def between(self, u: Label, v: Label) -> MatrixWord | None:
        """The matrix with rows ``u`` and columns ``v``."""
        if (u, v) in self.edges:
            return self.edges[u, v]
        return words.flip(self.edges[v, u]) if (v, u) in self.edges else None

    def at(self, v: Label) -> int:
        return sum(v in edge for edge in self.edges)

    def weight(self, v: Label) -> list[tuple[int, MatrixWord]]:
        return self.weights.get(v, []) if v not in self.core else []

    def turned(self) -> Subnetwork:
        return replace(self, rows=self.columns, columns=self.rows)

    def on(self, labels: Iterable[Label]) -> Subnetwork:
        """What it has on some of its labels, which nothing links to others."""
        own = set(labels)
        rows, columns, core = (tuple([x for x in side if x in own]) for side in (self.rows, self.columns, self.core))
        edges = {pair: w for pair, w in self.edges.items() if own.issuperset(pair)}
        return Subnetwork(rows, columns, core, edges, {x: w for x, w in self.weights.items() if x in own})

    def with_core(self, labels: Iterable[Label]) -> Subnetwork:
        """These labels at the core, each linked by the identity to another at the place that it had."""
        new = {x: _Leaf() for x in labels}
        rows, columns = (tuple([new.get(x, x) for x in side]) for side in (self.rows, self.columns))
        links: Edges = {(leaf, x): words.IDENTITY for x, leaf in new.items()}
        return Subnetwork(rows, columns, (*self.core, *new), {**self.edges, **links}, self.weights)


class _Leaf:
    """A label of its own."""


def part_of(net: Network, rows: Sequence[Label], columns: Sequence[Label]) -> Subnetwork:
    """A reduced network; labels that the identity links, or that stand at several places, are one label at the core."""
    place = {x: x for x in (*rows, *columns)}
    left = [edge for edge in net.edges if edge[3] == words.IDENTITY and {*edge[:2]} <= place.keys()]
    for u, v, *_ in left:
        place = {x: place[u] if home == place[v] else home for x, home in place.items()}
    weights: Weights = {x: [] for x in place.values()}
    for x, own in net.weights.items():
        weights.setdefault(place.get(x, x), []).extend(own)
    found: dict[tuple[Label, Label], list[tuple[int, MatrixWord]]] = {}
    for u, v, e, w in net.edges:
        a, b = place.get(u, u), place.get(v, v)
        if (u, v, e, w) in left:
            continue
        if a == b:
            weights[a].append((e, words.make_word("diagonal", [w], 1)))
        elif (b, a) in found:
            found[b, a].append((e, words.flip(w)))
        else:
            found.setdefault((a, b), []).append((e, w))
    edges: Edges = {pair: words.signed(several, 2) for pair, several in found.items()}
    sides: list[tuple[Label, ...]] = []
    core = {x for x in weights if x not in place.values()}
    several = {x for x in place.values() if [*place.values()].count(x) > 1}
    for side in (rows, columns):
        made = []
        for x in side:
            home = place[x]
            leaf = _Leaf() if home in several else home
            if home in several:
                edges[leaf, home] = words.IDENTITY
            made.append(leaf)
        sides.append(tuple(made))
    inner = (*[x for x in weights if x in core], *[x for x in weights if x in several])
    return Subnetwork(sides[0], sides[1], inner, edges, weights)


@dataclass(frozen=True)
class Tangle:
    """Why a network has no words: the labels that are linked so, or the two sides, which cross."""

    labels: frozenset[Label] = frozenset()
    sides: tuple[Sequence[Label], Sequence[Label]] = ((), ())

    @property
    def crossed(self) -> bool:
        return not self.labels


def settled(net: Network, rows: Sequence[Label], columns: Sequence[Label]) -> MatrixWord | Tangle:
    """A reduced network in words; what is summed in it and linked to nothing else is one of its scalars."""
    part = part_of(net, rows, columns)
    said: Said = []
    for labels in _linked([*part.rows, *part.columns, *part.core], part.edges):
        piece = part.on(labels)
        word = _linked_part(piece) if piece.rows or piece.columns else total(piece)
        if word is None:
            return Tangle(frozenset(labels))
        if piece.rows or piece.columns:
            said.append((word, piece.rows, piece.columns))
        else:
            net.scalars.append((1, word))
    whole = _side_by_side(said, part.rows, part.columns) if said else words.UNIT
    return Tangle(sides=(rows, columns)) if whole is None else whole


def unfolded(part: Subnetwork) -> MatrixWord | None:
    """A matrix, or a column where there are no columns; None where it has no words."""
    said = []
    for labels in _linked([*part.rows, *part.columns, *part.core], part.edges):
        piece = part.on(labels)
        word = _linked_part(piece)
        if word is None:
            return None
        said.append((word, piece.rows, piece.columns))
    return _side_by_side(said, part.rows, part.columns)


def total(part: Subnetwork) -> MatrixWord | None:
    """The sum over all labels of a part without rows and columns, as a trace over the two ends of one of its edges."""
    found = []
    for (u, v), edge in part.edges.items():
        core = tuple([x for x in part.core if x not in (u, v)])
        rest = {pair: w for pair, w in part.edges.items() if pair != (u, v)}
        word = unfolded(Subnetwork((u,), (v,), core, rest, part.weights))
        if word is not None:
            found.append(words.trace_of(words.times([words.flip(edge), word], 2)))
    return min(found, key=words.cost, default=None)


def _linked(labels: Sequence[Label], edges: Iterable[tuple[Label, Label]]) -> list[list[Label]]:
    home = {x: [x] for x in labels}
    for u, v in edges:
        if home[u] is not home[v]:
            home[u] += home[v]
            for x in home[v]:
                home[x] = home[u]
    return list({id(group): group for group in home.values()}.values())


def _linked_part(part: Subnetwork) -> MatrixWord | None:
    """A part of which all is linked: by any core that can be said, or else cut."""
    if not part.rows and not part.columns:
        return None
    if not part.rows:
        column = _linked_part(part.turned())
        return None if column is None else words.flip(column)
    found = [word for word in _ways(part) if word is not None]
    return min(found, key=words.cost, default=None) or _cut(part)


def _ways(part: Subnetwork) -> Iterator[MatrixWord | None]:
    """By its core as it is, by one that more labels join, and with what is along the rows or the columns before."""
    if len(part.rows) == 2 and not part.columns and (not part.core or len(part.edges) == len(part.core) + 1 == 2):
        yield _all_along(part)
        return
    shut = [pair for pair in part.edges if set(pair) in (set(part.rows), set(part.columns))]
    if shut:
        yield _along_sides(part, shut)
    joining = [x for x in (*part.rows, *part.columns) if part.at(x) > 1]
    for many in range(len(joining) + 1):
        for chosen in combinations(joining, many):
            whole = part.with_core(chosen)
            if len(whole.core) <= MOST_CORES:
                for core in permutations(whole.core):
                    yield _layers(replace(whole, core=core))


def _all_along(part: Subnetwork) -> MatrixWord:
    edge = part.between(*part.rows)
    if edge is None:  # both places of one label
        weights = part.weights.get(part.core[0], [])
        return words.vec_of(words.diag_of(weights) if weights else words.IDENTITY)
    return words.vec_of(_weighted(part, part.rows[0], edge, part.rows[1]))


def _along_sides(part: Subnetwork, shut: list[tuple[Label, Label]]) -> MatrixWord | None:
    """``diag(vec(E))`` before or after the rest, for what is between the two rows or the two columns."""
    rest = unfolded(replace(part, edges={pair: w for pair, w in part.edges.items() if pair not in shut}))
    if rest is None:
        return None
    for side in (part.rows, part.columns):
        edge = part.between(*side) if len(side) == 2 else None
        if edge is not None:
            along = words.make_word("diag", [words.vec_of(edge)], 2)
            rest = words.times([along, rest] if side is part.rows else [rest, along], 2 if part.columns else 1)
    return rest


def _layers(part: Subnetwork) -> MatrixWord | None:
    """From rows to core, along the core, from core to columns."""
    sides = [part.rows, part.columns]
    if any(set(pair) <= set(side) for pair in part.edges for side in sides):
        return None
    if not part.core:
        return _bundle(part, part.rows, part.columns)
    if any(not set(part.core).intersection(pair) for pair in part.edges):
        return None
    left, along = _bundle(part, part.rows, part.core), _along(part)
    if left is None or along is None:
        return None
    if not part.columns:
        weight = _as_column(part, along)
        return None if weight is None else words.times([left, weight], 1)
    right = _bundle(part, part.core, part.columns)
    return None if right is None else words.times([left, *along, right], 2)


def _along(part: Subnetwork) -> list[MatrixWord] | None:
    """The diagonal matrices along the core: what two neighbours in it share, and weights."""
    core = part.core
    neighbours = [*pairwise(core)]
    inside = [pair for pair in part.edges if set(pair) <= set(core)]
    if any(pair not in neighbours and pair[::-1] not in neighbours for pair in inside):
        return None
    weights = {x: part.weights.get(x, []) for x in core}
    found = []
    for at, (u, v) in enumerate(neighbours):
        edge = part.between(u, v)
        if edge is not None:
            scaled = words.times([*_diagonal(weights.pop(u, [])), edge, *_diagonal(weights.pop(v, []))], 2)
            along = words.make_word("diag", [words.vec_of(scaled)], 2)
            found.append(_beside([*[None] * at, along, *[None] * (len(core) - at - 2)]))
    if any(weights.values()):
        found.append(_beside([words.diag_of(weights[x]) if weights.get(x) else None for x in core]))
    return found


def _beside(parts: Sequence[MatrixWord | None]) -> MatrixWord:
    return words.kron([words.IDENTITY if a is None else a for a in parts], 2)


def _as_column(part: Subnetwork, along: list[MatrixWord]) -> MatrixWord | None:
    """Diagonal matrices times ones."""
    if len(part.core) == 1:
        return words.signed(part.weights.get(part.core[0], []), 1)
    if not along:
        return words.kron([words.ONES] * len(part.core), 1)
    return along[0].args[0] if len(along) == 1 and along[0].kind == "diag" else None


def _diagonal(weights: list[tuple[int, MatrixWord]]) -> list[MatrixWord]:
    return [words.diag_of(weights)] if weights else []


def _weighted(part: Subnetwork, u: Label, edge: MatrixWord, v: Label) -> MatrixWord:
    """An edge with the weights of its ends, as far as these are not at the core."""
    left, right = part.weight(u), part.weight(v)
    if edge == words.IDENTITY and (left or right):
        return words.diag_of([*left, *right])
    return words.times([*_diagonal(left), edge, *_diagonal(right)], 2)


def _bundle(part: Subnetwork, rows: Sequence[Label], columns: Sequence[Label]) -> MatrixWord | None:
    """The matrix of what is directly between two sides: stars, side by side."""
    pairs = [pair for pair in part.edges if len({*pair} & {*rows}) == 1 and len({*pair} & {*columns}) == 1]
    said = []
    for group in _linked([*rows, *columns], pairs):
        own, other = ([x for x in side if x in group] for side in (rows, columns))
        word = _star(part, own, other)
        if word is None:
            return None
        said.append((word, tuple(own), tuple(other)))
    return _side_by_side(said, rows, columns)


def _star(part: Subnetwork, rows: list[Label], columns: list[Label]) -> MatrixWord | None:
    if not rows or not columns:
        (x,) = rows or columns
        word = words.signed(part.weight(x), 1)
        return word if rows else words.flip(word)
    if len(rows) > 1 and len(columns) > 1:
        return None
    if len(rows) > 1:
        star = _star(part, columns, rows)
        return None if star is None else words.flip(star)
    legs = [(x, part.between(rows[0], x)) for x in columns]
    if any(leg is None for _, leg in legs):
        return None
    if len(legs) == 1:
        return _weighted(part, rows[0], legs[0][1], columns[0])  # type: ignore[arg-type]
    made = [words.times([leg, *_diagonal(part.weight(x))], 2) for x, leg in legs if leg is not None]
    return words.times([*_diagonal(part.weight(rows[0])), words.rowwise(made)], 2)


def _side_by_side(said: Said, rows: Sequence[Label], columns: Sequence[Label]) -> MatrixWord | None:
    """The Kronecker product of parts, in an order that is that of the rows and of the columns; ``K`` exchanges two."""
    if len(said) > MOST_PARTS:
        return None
    exchange = words.MatrixWord("commutation", order=2)
    crossed = None
    for order in permutations(said):
        up = tuple([x for _, own, _ in order for x in own]) == (*rows,)
        down = tuple([x for *_, own in order for x in own]) == (*columns,)
        if up and down:
            return _product(order)
        if crossed is None and up and len(columns) == 2:
            crossed = words.times([_product(order), exchange], 2)
        elif crossed is None and down and len(rows) == 2:
            crossed = words.times([exchange, _product(order)], 2 if columns else 1)
    return crossed


def _product(said: Sequence[tuple[MatrixWord, tuple[Label, ...], tuple[Label, ...]]]) -> MatrixWord:
    """``A ⊗ B``; a column beside a row is ``x yᵀ``."""
    columns = [w for w, _, own in said if not own]
    rows = [words.flip(w) for w, own, _ in said if not own]
    if len(columns) + len(rows) == len(said):
        sides = [words.kron(columns, 1)] if columns else []
        sides += [words.flip(words.kron(rows, 1))] if rows else []
        return words.times(sides, len(sides))
    parts: list[tuple[MatrixWord, bool, bool]] = []
    for w, own, other in said:
        if parts and (parts[-1][1], parts[-1][2]) == (bool(other), bool(own)) and not (own and other):
            before = parts.pop()[0]
            parts.append((words.times([before, w] if own == () else [w, before], 2), True, True))
        else:
            parts.append((w, bool(own), bool(other)))
    return words.kron([w for w, *_ in parts], 2)


def _cut(part: Subnetwork) -> MatrixWord | None:
    """The product, entry by entry, of what shares no label of the core."""
    inner = [pair for pair in part.edges if set(part.core).intersection(pair)]
    direct = [pair for pair in part.edges if pair not in inner]
    groups = [
        [pair for pair in inner if set(part.core).intersection(pair).issubset(labels)]
        for labels in _linked(part.core, [p for p in inner if set(p) <= set(part.core)])
    ]
    groups += [direct] if direct else []
    if len(groups) == 1 and direct:
        straight = [p for p in direct if _rank(part, p[0]) == _rank(part, p[1])]
        groups = [straight, [p for p in direct if p not in straight]] if len(part.core) == 0 else groups
    groups = [group for group in groups if group]
    if len(groups) < 2:
        return None
    found = []
    for at, group in enumerate(groups):
        core = tuple([x for x in part.core if any(x in pair for pair in group)])
        outer = (*part.rows, *part.columns)
        weights = {x: w for x, w in part.weights.items() if x in core or (not at and x in outer)}
        word = unfolded(Subnetwork(part.rows, part.columns, core, {p: part.edges[p] for p in group}, weights))
        if word is None:
            return None
        found.append(word)
    return words.signed([(1, w) for w in found], 2 if part.columns else 1)


def _rank(part: Subnetwork, x: Label) -> int:
    return part.rows.index(x) if x in part.rows else part.columns.index(x)
