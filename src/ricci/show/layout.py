"""Where the boxes of a picture stand: in layers, with few crossings, and lines as straight as they can be.

A vertex stands one layer after the last of its operands, or just before the first that uses it where that makes lines
shorter, as for inputs. A line over several layers gets a point in each between, which is placed like a box without
size. Then:

- the order within layers: each is sorted by the mean place of its neighbours in the layer before, forth and back, and
  the order with the fewest crossings is kept;
- the place within layers: each vertex wants to stand at the mean of its neighbours, and no two may be nearer than
  their sizes. The places of a layer that miss these wishes by the least squares are a monotone regression, which
  merging neighbours that are out of order solves exactly.

All of it is of the order of the graph but the counting of crossings, and pictures are folded before they are large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

SWEEPS = 12
STRAIGHT = 8.0  # how much more the points of a long line want to be in line than boxes do


@dataclass(slots=True)
class Spot:
    """A box, or a point of a line: its extent along and across the layers, and where it stands."""

    along: float
    across: float
    layer: int = 0
    place: float = 0.0  # across
    before: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)
    box: bool = True


@dataclass(slots=True)
class Places:
    """Spots, the points on the way of each line from its operand to its user, and where layers lie."""

    spots: list[Spot]
    ways: list[list[int]]
    starts: list[float]
    widths: list[float]
    length: float
    breadth: float

    def along(self, spot: Spot) -> float:
        """The middle of a spot, along."""
        return self.starts[spot.layer] + self.widths[spot.layer] / 2


def laid_out(
    sizes: Sequence[tuple[float, float]], lines: Sequence[tuple[int, int, float]], gap: float, between: float
) -> Places:
    """Boxes of these sizes (along, across), and lines from operands to users (from, to, room for what is written).

    ``gap`` is left between layers, ``between`` between boxes of a layer. Operands come before their users.
    """
    spots = [Spot(along, across) for along, across in sizes]
    _in_layers(spots, [(a, b) for a, b, _ in lines])
    ways = [_way(spots, a, b) for a, b, _ in lines]
    layers: list[list[int]] = [[] for _ in range(1 + max((s.layer for s in spots), default=-1))]
    for position, spot in enumerate(spots):
        layers[spot.layer].append(position)
    _ordered(spots, layers)
    _placed(spots, layers, between)
    widths = [max(spots[p].along for p in layer) for layer in layers]
    rooms = [gap] * len(layers)
    for (_, _, room), way in zip(lines, ways, strict=True):
        last = spots[way[-1]].layer
        rooms[last] = max(rooms[last], gap + room)
    starts, at = [], 0.0
    for number, width in enumerate(widths):
        at += rooms[number] if number else 0.0
        starts.append(at)
        at += width
    lowest = min((s.place - s.across / 2 for s in spots), default=0.0)
    for spot in spots:
        spot.place -= lowest
    breadth = max((s.place + s.across / 2 for s in spots), default=0.0)
    return Places(spots, ways, starts, widths, at, breadth)


def _in_layers(spots: Sequence[Spot], lines: Sequence[tuple[int, int]]) -> None:
    users: list[list[int]] = [[] for _ in spots]
    operands: list[list[int]] = [[] for _ in spots]
    for a, b in lines:
        users[a].append(b)
        operands[b].append(a)
    for position, spot in enumerate(spots):
        spot.layer = 1 + max((spots[a].layer for a in operands[position]), default=-1)
    for position in range(len(spots) - 1, -1, -1):
        follow = [a for a in operands[position] if not operands[a] and users[a] == [position]]
        if len(users[position]) > len(operands[position]) - len(follow):  # which makes lines shorter in all
            spots[position].layer = min(spots[b].layer for b in users[position]) - 1


def _way(spots: list[Spot], a: int, b: int) -> list[int]:
    """The spots of a line from ``a`` to ``b``, with a point in each layer between."""
    way = [a]
    for layer in range(spots[a].layer + 1, spots[b].layer):
        spots.append(Spot(0.0, 0.0, layer, box=False))
        way.append(len(spots) - 1)
    way.append(b)
    for one, next_one in pairwise(way):
        spots[one].after.append(next_one)
        spots[next_one].before.append(one)
    return way


def _ordered(spots: Sequence[Spot], layers: list[list[int]]) -> None:
    """Sorts the layers so that few lines cross."""
    best, fewest = [list(layer) for layer in layers], _crossings(spots, layers)
    for sweep in range(SWEEPS):
        if not fewest:
            break
        forth = sweep % 2 == 0
        for number in range(1, len(layers)) if forth else range(len(layers) - 2, -1, -1):
            near = {p: at for at, p in enumerate(layers[number - 1 if forth else number + 1])}
            own = {p: at for at, p in enumerate(layers[number])}
            wish = {}
            for p in layers[number]:
                found = [near[q] for q in (spots[p].before if forth else spots[p].after)]
                wish[p] = sum(found) / len(found) if found else own[p]
            layers[number].sort(key=lambda p: (wish[p], own[p]))
        crossings = _crossings(spots, layers)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    layers[:] = best


def _crossings(spots: Sequence[Spot], layers: Sequence[Sequence[int]]) -> int:
    """How many pairs of lines cross: those in the other order at their ends than at their beginnings."""
    total = 0
    for layer, following in pairwise(layers):
        at = {p: k for k, p in enumerate(following)}
        ends = [sorted(at[q] for q in spots[p].after) for p in layer]
        flat = [k for group in ends for k in group]
        total += sum(1 for k, one in enumerate(flat) for other in flat[k + 1 :] if other < one)
    return total


def _placed(spots: Sequence[Spot], layers: Sequence[Sequence[int]], between: float) -> None:
    for layer in layers:
        at = 0.0
        for p in layer:
            spots[p].place = at + spots[p].across / 2
            at += spots[p].across + between
    for sweep in range(SWEEPS):
        numbers = range(len(layers)) if sweep % 2 == 0 else range(len(layers) - 1, -1, -1)
        for number in numbers:
            layer = layers[number]
            wishes, weights = [], []
            for p in layer:
                near = [*spots[p].before, *spots[p].after]
                wishes.append(sum(spots[q].place for q in near) / len(near) if near else spots[p].place)
                weights.append(1.0 if spots[p].box else STRAIGHT)
            apart = [(spots[a].across + spots[b].across) / 2 + between for a, b in pairwise(layer)]
            for p, place in zip(layer, spaced(wishes, weights, apart), strict=True):
                spots[p].place = place


def spaced(wishes: Sequence[float], weights: Sequence[float], apart: Sequence[float]) -> list[float]:
    """The places nearest to ``wishes``, by weighted squares, of which each is ``apart`` from the one before or more.

    >>> spaced([0.0, 0.0, 9.0], [1.0, 1.0, 1.0], [2.0, 2.0])
    [-1.0, 1.0, 9.0]
    """
    offset, offsets = 0.0, []
    for gap in (0.0, *apart):
        offset += gap
        offsets.append(offset)
    groups: list[tuple[float, float, int]] = []  # the mean of what they want, their weight, how many they are
    for wish, weight, own in zip(wishes, weights, offsets, strict=True):
        mean, total, count = wish - own, weight, 1
        while groups and groups[-1][0] > mean:
            other, heavy, many = groups.pop()
            mean = (mean * total + other * heavy) / (total + heavy)
            total, count = total + heavy, count + many
        groups.append((mean, total, count))
    means = [mean for mean, _, count in groups for _ in range(count)]
    return [mean + own for mean, own in zip(means, offsets, strict=True)]
