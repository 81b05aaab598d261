"""Sizes: an ``int`` where known, a symbolic :class:`Dim` where it is bound at the first call.

A ``Dim`` is a polynomial with integer coefficients in *atoms*, brought to one form and interned, so equal sizes are
one object. The atoms are

- ``(name, axis)``: the size of that axis of that variable, the usual case;
- ``(name,)``: the size of an index that no variable carries (``1[n] 1[n]``), given by the user;
- ``("//", a, b)`` and ``("min", a, b)``: the whole quotient and the smaller of two sizes, for splits, strides and
  windows.

Sums, products, quotients and minima are all that reshapes, windows and strides need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Union

from ricci.caches import Interned
from ricci.errors import ShapeError

Atom = tuple[Any, ...]
Monomial = tuple[Atom, ...]
Size = Union[int, "Dim"]

_table: Interned[Dim] = Interned()


class Dim:
    """A symbolic size.

    >>> n, k = axis_size("x", 0), axis_size("w", 0)
    >>> n - k + 1
    x.0 - w.0 + 1
    >>> (n * k) // k is n
    True
    """

    __slots__ = ("__weakref__", "rank", "terms", "text")
    terms: tuple[tuple[Monomial, int], ...]
    text: str
    rank: tuple[int, str]

    def __repr__(self) -> str:
        return self.text

    def __reduce__(self):
        return _dim, (self.terms,)

    def __add__(self, other: Size) -> Size:
        return _from_dict(_merged(self, other, 1))

    __radd__ = __add__

    def __sub__(self, other: Size) -> Size:
        return _from_dict(_merged(self, other, -1))

    def __rsub__(self, other: int) -> Size:
        return -1 * self + other

    def __mul__(self, other: Size) -> Size:
        result: dict[Monomial, int] = {}
        for left, a in self.terms:
            for right, b in _terms(other):
                both = tuple(sorted(left + right, key=repr))
                result[both] = result.get(both, 0) + a * b
        return _from_dict(result)

    __rmul__ = __mul__

    def __floordiv__(self, other: Size) -> Size:
        return quotient(self, other)

    def __rfloordiv__(self, other: int) -> Size:
        return quotient(other, self)

    @property
    def atoms(self) -> frozenset[Atom]:
        """All atoms, those inside quotients included."""
        found: set[Atom] = set()
        for monomial, _ in self.terms:
            for atom in monomial:
                if len(atom) == 3:
                    found |= atoms(atom[1]) | atoms(atom[2])
                else:
                    found.add(atom)
        return frozenset(found)

    def replace(self, value: Callable[[Atom], Size]) -> Size:
        """This size with every atom replaced by ``value(atom)``."""
        total: Size = 0
        for monomial, coefficient in self.terms:
            part: Size = coefficient
            for atom in monomial:
                if len(atom) == 3:
                    combine = quotient if atom[0] == "//" else minimum
                    part = part * combine(replaced(atom[1], value), replaced(atom[2], value))
                else:
                    part = part * value(atom)
            total = total + part
        return total


def _dim(terms: tuple[tuple[Monomial, int], ...]) -> Dim:
    found = _table.get(terms)
    if found is None:
        made = object.__new__(Dim)
        made.terms = terms
        made.text = _text(terms)
        made.rank = _rank(made)
        found = _table.put(terms, made)
    return found


def _terms(size: Size) -> tuple[tuple[Monomial, int], ...]:
    return size.terms if isinstance(size, Dim) else (((), size),)


def _merged(a: Size, b: Size, sign: int) -> dict[Monomial, int]:
    result = dict(_terms(a))
    for monomial, coefficient in _terms(b):
        result[monomial] = result.get(monomial, 0) + sign * coefficient
    return result


def _from_dict(terms: dict[Monomial, int]) -> Size:
    kept = {m: c for m, c in terms.items() if c}
    if not kept:
        return 0
    if len(kept) == 1 and () in kept:
        return kept[()]
    if len(kept) == 1:
        return _dim(tuple(kept.items()))
    return _dim(tuple(sorted(kept.items(), key=lambda item: (-len(item[0]), -item[1], repr(item[0])))))


def atom_text(atom: Atom) -> str:
    if len(atom) == 3:
        return f"({atom[1]})//({atom[2]})" if atom[0] == "//" else f"min({atom[1]}, {atom[2]})"
    return ".".join(map(str, atom))


def _text(terms: tuple[tuple[Monomial, int], ...]) -> str:
    parts = []
    for monomial, coefficient in terms:
        body = "*".join(map(atom_text, monomial))
        size = abs(coefficient)
        shown = body if size == 1 and body else f"{size}*{body}" if body else str(size)
        parts.append(("- " if coefficient < 0 else "+ ") + shown)
    text = " ".join(parts)
    return text[2:] if text.startswith("+ ") else "-" + text[2:]


def symbol(*atom: object) -> Dim:
    return _dim((((atom,), 1),))


def axis_size(name: str, axis: int) -> Dim:
    """The size of an axis of the variable ``name``."""
    return symbol(name, axis)


def index_size(name: str) -> Dim:
    """The size of an index that no variable carries."""
    return symbol(name)


def quotient(a: Size, b: Size) -> Size:
    """``a // b``; exact division is carried out where it can be seen, and otherwise kept as an atom."""
    if isinstance(a, int) and isinstance(b, int):
        if b == 0:
            raise ShapeError(f"A size cannot be divided by zero ({a} // {b}).")
        return a // b
    if a == b:
        return 1
    if b == 1 or a == 0:
        return a
    divisor = _terms(b)
    if len(divisor) == 1:
        exact = [_monomial_quotient(term, divisor[0]) for term in _terms(a)]
        if all(part is not None for part in exact):
            return _from_dict(dict(part for part in exact if part is not None))
    return symbol("//", a, b)


def minimum(a: Size, b: Size) -> Size:
    """The smaller size; kept as an atom where it is not known which that is."""
    difference = a - b
    if isinstance(difference, int):
        return a if difference <= 0 else b
    return symbol("min", *sorted((a, b), key=repr))


def maximum(a: Size, b: Size) -> Size:
    return -1 * minimum(-1 * a, -1 * b)


def _monomial_quotient(term: tuple[Monomial, int], divisor: tuple[Monomial, int]) -> tuple[Monomial, int] | None:
    left = list(term[0])
    for atom in divisor[0]:
        if atom not in left:
            return None
        left.remove(atom)
    return None if term[1] % divisor[1] else (tuple(left), term[1] // divisor[1])


def atoms(size: Size) -> frozenset[Atom]:
    return size.atoms if isinstance(size, Dim) else frozenset()


def replaced(size: Size, value: Callable[[Atom], Size]) -> Size:
    return size.replace(value) if isinstance(size, Dim) else size


def evaluate(size: Size, env: Mapping[Atom, int]) -> int:
    """The number that ``size`` is under ``env``; a missing atom is a ``KeyError`` with that atom."""
    result = replaced(size, env.__getitem__)
    assert isinstance(result, int)
    return result


def rank(size: Size) -> tuple[int, str]:
    """Sorts sizes from the best known to the least: numbers, axes of variables, free indices, compound ones."""
    return (0, str(size)) if isinstance(size, int) else size.rank


def _rank(size: Dim) -> tuple[int, str]:
    if len(size.terms) == 1 and len(size.terms[0][0]) == 1 and size.terms[0][1] == 1:
        atom = size.terms[0][0][0]
        if len(atom) < 3:
            return (1 if len(atom) == 2 else 2), size.text
    return 3, size.text


def same(a: Size, b: Size) -> Size:
    """One size for two axes that must agree; two different numbers cannot."""
    if a is b or a == b:
        return a
    if isinstance(a, int):
        if isinstance(b, int):
            raise ShapeError(f"An index cannot have the sizes {a} and {b} at once.")
        return a
    if isinstance(b, int):
        return b
    return a if a.rank <= b.rank else b
