"""An equation written out: one line for each value of a free index, and sums as sums of terms.

This is done on what is printed, since what is wanted is something to read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from ricci.checked_calls import takes
from ricci.dispatch import public
from ricci.errors import RuleError
from ricci.expr.alternating import parity
from ricci.notation import syntax
from ricci.notation.occurrences import Occurrences, is_leaf, used_up

if TYPE_CHECKING:
    from ricci.user.equations import Equation

Values = Mapping[str, int]
ONE, ZERO = syntax.Number(0, 0, 1), syntax.Number(0, 0, 0)


class EquationSystem:
    """Equations, one for each value of the free indices that were written out.

    >>> from ricci import parse
    >>> system = parse("A[i,k] x[k] = b[i]").equation.expand(i=2, k=2)
    >>> print(system)
    A[0,0] x[0] + A[0,1] x[1] = b[0]
    A[1,0] x[0] + A[1,1] x[1] = b[1]
    >>> len(system), system[1].left.variables
    (2, ('A', 'x'))
    """

    def __init__(self, lines: Sequence[tuple[syntax.Node, syntax.Node, tuple[str, ...]]], before: Sequence[Any] = ()):
        self._lines = tuple(lines)  # the two sides, and the indices that are not summed
        self._before = tuple(before)

    def _text(self, place: int, left: str = "{}") -> str:
        from ricci.show import text

        one, other, names = self._lines[place]
        note = f"  (no sum {', '.join(names)})" if names else ""
        return f"{left.format(text.render(one, text.SUM))} = {text.render(other, text.SUM)}{note}"

    def __str__(self) -> str:
        from ricci.show import text

        return "\n".join([*map(text.statement, self._before), *map(self._text, range(len(self)))])

    def __repr__(self) -> str:
        return f"<ricci.EquationSystem of {len(self)} equations>"

    @takes("system.latex")
    def latex(self) -> str:
        """The lines in LaTeX, aligned at their signs of equality."""
        from ricci.show import latex

        trees = [*[s.body for s in self._before], *[side for one, other, _ in self._lines for side in (one, other)]]
        with latex.letters_of(trees, self._before).apply():
            return latex.aligned([*[latex.statement(s, sign="&=") for s in self._before], *self._in_latex()])

    def _in_latex(self) -> Iterator[str]:
        from ricci.show import latex

        for left, right, names in self._lines:
            sides = f"{latex.render(left, latex.SUM)} &= {latex.render(right, latex.SUM)}"
            yield sides + (rf" \quad\text{{(no sum ${', '.join(map(latex.label, names))}$)}}" if names else "")

    def _repr_latex_(self) -> str:
        from ricci.show.fitting import in_notebook

        return in_notebook(self.latex())

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, place: int) -> Equation:
        from ricci.show import text

        line = self._text(range(len(self))[place], "({})")  # an entry is not defined by it, but equal to something
        return public("parse")("\n".join([*map(text.statement, self._before), line])).equation

    def __iter__(self) -> Iterator[Equation]:
        return (self[place] for place in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other) if isinstance(other, EquationSystem) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))


def system(
    sides: Sequence[syntax.Node],
    before: Sequence[syntax.Statement],
    indices: tuple[str, ...],
    unsummed: tuple[str, ...],
    sizes: Values,
) -> EquationSystem:
    """The lines for two sides with these free indices."""
    for node in [node for side in sides for node in syntax.within(side) if isinstance(node, syntax.Epsilon)]:
        for name, size in [(n, sizes[n]) for index in node.indices for _, n in index.terms if n in sizes]:
            if size != len(node.indices):
                count = len(node.indices)
                raise RuleError(f"Index {name!r} has size {count}, as one of {count} indices of eps, and not {size}.")
    given = [name for name in indices if name in sizes]
    kept = frozenset(name for name in indices if name not in sizes)
    lines = []
    for entry in product(*[range(sizes[name]) for name in given]):
        values = dict(zip(given, entry, strict=True))
        left, right = [_Writing(sizes).out(replaced(side, values, sizes), kept) for side in sides]
        lines.append((left, right, tuple([name for name in unsummed if name in kept])))
    return EquationSystem(lines, before)


class _Writing:
    """Writes out the sums over some indices."""

    def __init__(self, sizes: Values):
        self.sizes = sizes
        self.open = Occurrences()

    def out(self, node: syntax.Node, free: frozenset[str]) -> syntax.Node:
        """A node in which these indices are not summed."""
        if isinstance(node, syntax.SumNode):
            return added([(sign, self.out(term, free)) for sign, term in node.terms])
        names = [name for name in self.summed(node, free) if name in self.sizes]
        if not names:
            inside = free | frozenset(self.summed(node, free))
            return mapped(node, lambda part: self.out(part, inside))
        body = node.args[0] if isinstance(node, syntax.CallNode) and node.axes else node
        if isinstance(node, syntax.CallNode) and node.axes:
            rest = tuple([index for index in node.axes if index.terms[0][1] not in names])
            body = replace(node, axes=rest) if rest else body
        entries = product(*[range(self.sizes[name]) for name in names])
        terms = [replaced(body, dict(zip(names, entry, strict=True)), self.sizes) for entry in entries]
        return added([(1, self.out(term, free)) for term in terms])

    def summed(self, node: syntax.Node, free: frozenset[str]) -> list[str]:
        """The indices that a term sums over."""
        if isinstance(node, syntax.CallNode) and node.axes is not None:
            names = [index.terms[0][1] for index in node.axes]
            if node.name != "sum" and any(name in self.sizes for name in names):
                raise RuleError(f"{node.name} works on the whole of {', '.join(names)}, which cannot be written out.")
            return names if node.name == "sum" else []
        parts = [factor for _, factor in node.factors] if isinstance(node, syntax.ProductNode) else [node]
        once: set[str] = set()
        found: dict[str, None] = {}
        for part in parts:
            for name, places in self.open.of(part).items():
                if name not in free and (name in once or (is_leaf(part) and len(places) > 1)):
                    found[name] = None
                once.add(name)
        return list(found)


# Trees with numbers in the place of indices


def replaced(node: syntax.Node, values: Values, sizes: Values) -> syntax.Node:
    """A tree where indices have values."""
    if isinstance(node, syntax.Size):
        return syntax.Number(0, 0, sizes[node.name]) if node.name in sizes else node
    if isinstance(node, syntax.Derivative):
        raise RuleError("A derivative is not written out; write out its result.")
    if isinstance(node, syntax.CallNode) and node.axes:
        values = {name: value for name, value in values.items() if name not in used_up(node)}
        for index in node.axes:
            if index.terms[0][1] in values:
                raise RuleError(f"{node.name} works on the whole of {index.terms[0][1]}, which cannot be written out.")
    indices = getattr(node, "indices", None) or ()
    if isinstance(node, (syntax.Ones, syntax.Zeros)):
        indices = tuple([i for i in indices if not (i.plain and i.terms[0][1] in values)])
        made = replace(node, indices=_entries(indices, values))
        return made if indices else ONE if isinstance(node, syntax.Ones) else ZERO
    if isinstance(node, syntax.Delta):
        return _relation(replace(node, indices=_entries(indices, values)))
    if isinstance(node, syntax.Epsilon):
        return _symbol(replace(node, indices=_entries(indices, values)))
    if isinstance(node, syntax.TensorNode):
        return replace(node, indices=_entries(indices, values)) if indices else node
    if isinstance(node, syntax.CallNode) and node.result:
        node = replace(node, result=_entries(node.result, values))
    return mapped(node, lambda part: replaced(part, values, sizes))


def _entries(indices: syntax.Indices, values: Values) -> syntax.Indices:
    return tuple([_entry(index, values) for index in indices])


def _entry(index: syntax.Index, values: Values) -> syntax.Index:
    if index.tensor is not None:
        return replace(index, tensor=replace(index.tensor, indices=_entries(index.tensor.indices or (), values)))
    if not any(name in values for _, name in index.terms):
        return index
    strides = index.strides or ("",) * len(index.terms)
    left = [(c, name, by) for (c, name), by in zip(index.terms, strides, strict=True) if name not in values]
    const, steps = index.const, list(index.sizes)
    for (c, name), by in zip(index.terms, strides, strict=True):
        if name in values and by:
            steps += [(c * values[name], by)] * bool(values[name])
        elif name in values:
            const += c * values[name]
    terms, by = tuple([(c, name) for c, name, _ in left]), tuple([by for _, _, by in left])
    return replace(index, terms=terms, const=const, sizes=tuple(steps), plain=False, strides=by if any(by) else ())


def _relation(node: syntax.Delta) -> syntax.Node:
    """A delta, or a relation, as a number where both of its indices are."""
    left, right = node.indices
    if any(index.terms or index.sizes or index.tensor for index in node.indices):
        return node
    return ONE if (left.const == right.const if node.sign == "==" else left.const >= right.const) else ZERO


def _symbol(node: syntax.Epsilon) -> syntax.Node:
    """A Levi-Civita symbol, as a number where two of its indices are the same number, or all are numbers."""
    known = [index.const for index in node.indices if not index.terms]
    if len(set(known)) < len(known):
        return ZERO
    if len(known) < len(node.indices):
        return node
    return ONE if parity(known) > 0 else syntax.Neg(0, 0, ONE)


def mapped(node: syntax.Node, change: Any) -> syntax.Node:
    """A node with its parts changed; what is 0 or 1 by that is left out of sums and products."""
    if isinstance(node, syntax.SumNode):
        return added([(sign, change(term)) for sign, term in node.terms])
    if isinstance(node, syntax.ProductNode):
        return multiplied([(exponent, change(factor)) for exponent, factor in node.factors])
    new: dict[str, Any] = {}
    for field in fields(node):
        part = getattr(node, field.name)
        if isinstance(part, syntax.Node):
            new[field.name] = change(part)
        elif field.name == "args":
            new[field.name] = tuple(map(change, part))
    if isinstance(node, syntax.Neg) and new["body"] == ZERO:
        return ZERO
    return replace(node, **new) if new else node


def added(terms: Sequence[tuple[int, syntax.Node]]) -> syntax.Node:
    flat: list[tuple[int, syntax.Node]] = []
    for sign, term in terms:
        if isinstance(term, syntax.Neg):
            sign, term = -sign, term.body
        inner = term.terms if isinstance(term, syntax.SumNode) else ((1, term),)
        flat += [(sign * own, part) for own, part in inner if part != ZERO]
    if len(flat) == 1:
        return flat[0][1] if flat[0][0] > 0 else syntax.Neg(0, 0, flat[0][1])
    return syntax.SumNode(0, 0, tuple(flat)) if flat else ZERO


def multiplied(factors: Sequence[tuple[int, syntax.Node]]) -> syntax.Node:
    if any(exponent > 0 and factor == ZERO for exponent, factor in factors):
        return ZERO
    minus = syntax.Neg(0, 0, ONE)
    if sum(factor == minus for _, factor in factors) % 2:
        return syntax.Neg(0, 0, multiplied([f for f in factors if f[1] != minus]))
    kept = [(exponent, factor) for exponent, factor in factors if factor not in (ONE, minus)]
    if not kept or kept[0][0] < 0:
        kept = [(1, ONE), *kept]
    return kept[0][1] if len(kept) == 1 else syntax.ProductNode(0, 0, tuple(kept))
