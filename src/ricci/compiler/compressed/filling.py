"""The values of the entries of a sparse matrix, out of the cores: one reading, with places that are found once.

What each term adds is known as places in cores and places among the entries. Where all of these follow one another in
steps, as on the diagonals of a band, values go from slices to slices: *lanes*. Otherwise the cores, times their
numbers, are written one after another, in *pools*, and each entry is read from there at a place that is known; entries
to which several numbers go are added up first, all with as many at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from ricci.compiler.compressed.parts_terms import Labels

MANY = 8  # entries with more numbers are added up along these, others side by side
Places = np.ndarray | slice


class Core(NamedTuple):
    """Cores multiplied and summed to one with these labels; mostly one core as it is."""

    labels: Labels
    size: int
    operands: tuple[tuple[int, Labels], ...]  # which cores, and their labels, numbered as they come
    out: Labels
    path: tuple  # in which order they are multiplied; empty for one core as it is

    @classmethod
    def of(cls, cores: Sequence[tuple[int, Labels]], labels: Labels, sizes: Mapping[int, int]) -> Core:
        size = math.prod([sizes[x] for x in labels])
        number = {x: k for k, x in enumerate(dict.fromkeys(x for _, own in cores for x in own))}
        operands = tuple([(place, tuple([number[x] for x in own])) for place, own in cores])
        out = tuple([number[x] for x in labels])
        path: list = []
        if len(cores) > 1 or operands[0][1] != out:
            shaped = [np.broadcast_to(0.0, [sizes[x] for x in own]) for _, own in cores]
            path = np.einsum_path(*_interleaved(shaped, operands), out, optimize="greedy")[0]
        return cls(labels, size, operands, out, tuple(path))

    def value(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        given = [arrays[place] for place, _ in self.operands]
        if not self.path:
            return given[0].reshape(-1)
        if len(given) == 2 and self.operands[0][1] == self.operands[1][1] == self.out:
            return (given[0] * given[1]).reshape(-1)
        path = list(self.path) if len(given) > 2 else False
        return np.einsum(*_interleaved(given, self.operands), self.out, optimize=path).reshape(-1)


def _interleaved(arrays: Sequence[np.ndarray], operands: Sequence[tuple[int, Labels]]) -> list[Any]:
    """As ``np.einsum`` takes arrays and their labels."""
    return [one for array, (_, labels) in zip(arrays, operands, strict=True) for one in (array, labels)]


class TermReads(NamedTuple):
    """What one term adds: a number times numbers out of cores, each read at places, and to which entries it goes."""

    coef: Any
    reads: tuple[tuple[Core, Places], ...]
    entries: np.ndarray | slice
    count: int

    def value(self, arrays: Sequence[np.ndarray]) -> Any:
        found: Any = self.coef
        for k, (core, places) in enumerate(self.reads):
            read = core.value(arrays)
            read = read[places] if isinstance(places, slice) else read.take(places)
            found = read if not k and self.coef == 1 else found * read
        return found

    @property
    def regular(self) -> bool:
        return isinstance(self.entries, slice) and all(isinstance(places, slice) for _, places in self.reads)


class Filling(Protocol):
    """What fills the entries."""

    def values(self, arrays: Sequence[np.ndarray], dtype: Any) -> np.ndarray: ...


def filling(terms: Sequence[TermReads], count: int) -> Filling:
    """The way that fits these terms, for so many entries."""
    if all(term.regular for term in terms):
        return Lanes.of(terms, count)
    return Pools.of(terms, count)


# In steps


class Lane(NamedTuple):
    """Entries that follow one another in steps, and the terms that add to them, each from some place of the lane on."""

    entries: slice
    count: int
    terms: tuple[tuple[slice, TermReads], ...]


@dataclass(frozen=True)
class Lanes:
    """Entries filled by slices; ``whole`` says that each is in exactly one lane."""

    lanes: tuple[Lane, ...]
    count: int
    whole: bool

    @classmethod
    def of(cls, terms: Sequence[TermReads], count: int) -> Lanes:
        alike: dict[tuple[int, int], list[TermReads]] = {}
        for term in terms:
            assert isinstance(term.entries, slice)
            if term.count:
                step = term.entries.step or 1
                alike.setdefault((step, term.entries.start % step), []).append(term)
        lanes = tuple([_lane(step, own) for (step, _), own in alike.items()])
        steps = {step for step, _ in alike}
        return cls(lanes, count, len(steps) == 1 and sum(lane.count for lane in lanes) == count)

    def values(self, arrays: Sequence[np.ndarray], dtype: Any) -> np.ndarray:
        found = np.empty(self.count, dtype) if self.whole else np.zeros(self.count, dtype)
        for lane in self.lanes:
            (places, first), *more = lane.terms
            value = first.value(arrays)
            if more:
                together = np.zeros(lane.count, dtype)
                together[places] = value
                for own, term in more:
                    together[own] += term.value(arrays)
                value = together
            if self.whole:
                found[lane.entries] = value
            else:
                found[lane.entries] += value
        return found


def _lane(step: int, terms: list[TermReads]) -> Lane:
    starts = [term.entries.start for term in terms]  # type: ignore[union-attr]
    low = min(starts)
    firsts = [(start - low) // step for start in starts]
    count = max(first + term.count for first, term in zip(firsts, terms, strict=True))
    placed = [(slice(first, first + term.count), term) for first, term in zip(firsts, terms, strict=True)]
    return Lane(slice(low, low + (count - 1) * step + 1, step), count, tuple(placed))


# Anywhere


class CorePool(NamedTuple):
    """A part of what is read from: a core times a number, the numbers that a term adds, or one number."""

    start: int
    stop: int
    coef: Any
    core: Core | None
    term: TermReads | None

    def fill(self, found: np.ndarray, arrays: Sequence[np.ndarray]) -> None:
        part = found[self.start : self.stop]
        if self.core is not None and self.coef != 1:
            np.multiply(self.core.value(arrays), self.coef, out=part, casting="unsafe")
        elif self.core is not None:
            part[:] = self.core.value(arrays)
        else:
            part[:] = self.coef if self.term is None else self.term.value(arrays)


class Together(NamedTuple):
    """Entries with several numbers: where these are, side by side or one after another, and where their sums go."""

    places: np.ndarray
    firsts: np.ndarray | None
    start: int
    stop: int


@dataclass(frozen=True)
class Pools:
    """Entries read from the cores, written one after another: the last place before the sums holds zero."""

    pools: tuple[CorePool, ...]
    size: int
    together: tuple[Together, ...]
    entries: np.ndarray

    @classmethod
    def of(cls, terms: Sequence[TermReads], count: int) -> Pools:
        pools: dict[tuple, CorePool] = {}
        size, places, entries = 0, [], []
        for k, term in enumerate(terms):
            key, length, where = _pooled(term, k)
            if key not in pools:
                core = term.reads[0][0] if len(key) == 3 else None
                own = term if core is None and term.reads else None
                pools[key] = CorePool(size, size + length, term.coef, core, own)
                size += length
            places.append(where + pools[key].start)
            entries.append(_spread(term.entries, term.count))
        zero, size = size, size + 1
        source, to = [np.concatenate([np.zeros(0, np.intp), *one]) for one in (places, entries)]
        return cls(tuple(pools.values()), *_read(source, to, count, zero, size))

    def values(self, arrays: Sequence[np.ndarray], dtype: Any) -> np.ndarray:
        pool = self._pool(arrays, dtype)
        for places, firsts, start, stop in self.together:
            read = pool.take(places)
            if firsts is None:
                np.add.reduce(read, 0, out=pool[start:stop])
            else:
                np.add.reduceat(read, firsts, out=pool[start:stop])
        return pool.take(self.entries)

    def _pool(self, arrays: Sequence[np.ndarray], dtype: Any) -> np.ndarray:
        if self.alone is not None:
            core = self.alone.value(arrays)
            if core.dtype == dtype:
                return core
        pool = np.empty(self.size, dtype)
        for one in self.pools:
            one.fill(pool, arrays)
        pool[self.pools[-1].stop if self.pools else 0] = 0
        return pool

    @cached_property
    def alone(self) -> Core | None:
        """The one core that all entries are read from, as it is."""
        (first, *more) = self.pools or (None,)
        if first is None or more or first.coef != 1 or self.together or (self.entries == first.stop).any():
            return None
        return first.core


def _pooled(term: TermReads, k: int) -> tuple[tuple, int, np.ndarray]:
    """What a term is read from, told apart by a key, how long that is, and where in it."""
    if not term.reads:
        return (None, term.coef), 1, np.zeros(term.count, np.intp)
    if len(term.reads) == 1:
        ((core, places),) = term.reads
        where = _spread(places, term.count)
        if core.size <= 2 * term.count:
            return (core.operands, core.out, term.coef), core.size, where
    return (k,), term.count, np.arange(term.count)  # computed there


def _read(
    source: np.ndarray, to: np.ndarray, count: int, zero: int, size: int
) -> tuple[int, tuple[Together, ...], np.ndarray]:
    """The length of all pools with the sums, these, and where each entry is read, by what goes to which entry."""
    numbers = np.bincount(to, minlength=count)
    source, firsts = source[np.argsort(to, kind="stable")], np.cumsum(numbers) - numbers
    entries = np.full(count, zero, np.intp)
    single = np.flatnonzero(numbers == 1)
    entries[single] = source[firsts[single]]
    together: list[Together] = []
    for many in range(2, MANY + 2):
        those = np.flatnonzero(numbers == many if many <= MANY else numbers >= many)
        if len(those):
            together.append(_together(source, firsts[those], numbers[those], many, size))
            entries[those] = np.arange(size, size + len(those))
            size += len(those)
    return size, tuple(together), entries


def _together(source: np.ndarray, firsts: np.ndarray, numbers: np.ndarray, many: int, size: int) -> Together:
    stop = size + len(firsts)
    if many <= MANY:
        return Together(source[np.arange(many)[:, None] + firsts], None, size, stop)
    starts = np.cumsum(numbers) - numbers
    places = np.repeat(firsts - starts, numbers) + np.arange(numbers.sum())
    return Together(source[places], starts, size, stop)


def _spread(places: Places, count: int) -> np.ndarray:
    return np.arange(places.start, places.stop, places.step) if isinstance(places, slice) else places


def run_of(places: np.ndarray) -> Places:
    """Places that follow one another in steps as a slice, of which reads and additions are views."""
    if len(places) < 2:
        return slice(int(places[0]), int(places[0]) + 1) if len(places) else slice(0, 0)
    step = int(places[1] - places[0])
    if step > 0 and (np.diff(places) == step).all():
        return slice(int(places[0]), int(places[-1]) + 1, step)
    return places.astype(np.intp, copy=False)  # what NumPy reads by; others it would convert in each call
