"""Names that have a meaning without being defined.

``dl_dw[k]`` is the derivative of l by w, where a text defines l. And l itself may be said of nowhere but in its
derivatives: ``D(l, x[p]) = D(l, y[i]) D(y[i], x[p])`` speaks of any scalar that depends on y. Up to its first
derivatives such a scalar is linear in y, with coefficients that nobody knows, and these are what ``D(l, y[i])`` is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from ricci.notation import syntax
from ricci.notation.occurrences import names_in
from ricci.notation.syntax import Node
from ricci.review.sides import Workbench

_MARK = "°"
_LETTERS = "pqrstuvwabcdefghijklmno"
_ALIAS = re.compile(r"d(\d*)(\w+)")


def derivatives_read(node: Node, orders: Mapping[str, int], defined: Collection[str]) -> Node:
    """A tree in which ``dl_dw[k]``, ``d2l_dw_dw[k,m]`` and ``dy/dx`` are the derivatives of what is defined; ``orders``
    are the numbers of indices of all names.

    >>> from ricci.notation.resolve import read_program
    >>> from ricci.show.text import SUM, render
    >>> tree = read_program("2 dl_dw[k] + dl/ds").statements[0].body
    >>> render(derivatives_read(tree, {"l": 0, "w": 1, "s": 0}, ["l"]), SUM)
    '2 D(l, w[k]) + D(l, s)'
    """
    parts = [derivatives_read(part, orders, defined) for part in syntax.children(node)]
    node = syntax.with_children(node, parts) if parts else node
    if isinstance(node, syntax.TensorNode) and node.name not in defined:
        return _by_name(node, orders, defined) or node
    factors = list(node.factors) if isinstance(node, syntax.ProductNode) else []
    for k, ((up, y), (down, x)) in enumerate(pairwise(factors)):
        one = _quotient(y, x, defined) if (up, down) == (1, -1) else None
        if one is not None:
            factors = [*factors[:k], (1, one), *factors[k + 2 :]]
            whole = one if len(factors) == 1 else syntax.ProductNode(node.start, node.end, tuple(factors))
            return derivatives_read(whole, orders, defined)
    return node


def _quotient(y: Node, x: Node, defined: Collection[str]) -> Node | None:
    """The derivative that ``dy/dx`` is."""
    if not (isinstance(y, syntax.TensorNode) and isinstance(x, syntax.TensorNode)) or {y.name, x.name} & {*defined}:
        return None
    if y.name[0] != "d" or x.name[0] != "d" or y.name[1:] not in defined or not x.name[1:]:
        return None
    return syntax.Derivative(y.start, x.end, replace(y, name=y.name[1:]), replace(x, name=x.name[1:]))


def _by_name(node: syntax.TensorNode, orders: Mapping[str, int], defined: Collection[str]) -> Node | None:
    """The derivative that has a name as ricci gives it."""
    match = _ALIAS.fullmatch(node.name)
    indices = list(node.indices or ())
    if match is None or any(index.height for index in indices):
        return None
    times = int(match[1] or 1)
    for own in [name for name in defined if match[2].startswith(f"{name}_d")]:
        rest = match[2][len(own) + 2 :]
        variables = [rest] if times == 1 else rest.split("_d")
        counts = [orders.get(name, -1) for name in (own, *variables)]
        if len(variables) == times and min(counts) >= 0 and sum(counts) == len(indices):
            found: Node = replace(node, name=own, indices=tuple(indices[: counts[0]]) or None)
            at = counts[0]
            for name, count in zip(variables, counts[1:], strict=True):
                variable = replace(node, name=name, indices=tuple(indices[at : at + count]) or None)
                found = syntax.Derivative(node.start, node.end, found, variable)
                at += count
            return found
    return None


def fresh(count: int, text: str) -> tuple[syntax.Index, ...]:
    """Indices whose names stand nowhere in a text."""
    taken = set(re.findall(r"\w+", text))
    names = [name for n in range(count + len(taken)) for name in (*_LETTERS, *[f"{c}_{n}" for c in _LETTERS])]
    free = [name for name in dict.fromkeys(names) if name not in taken]
    return tuple([syntax.Index(0, 0, ((1, name),), plain=True) for name in free[:count]])


def downstream(
    node: Node, defined: Mapping[str, int], trees: Sequence[Node], bench: Workbench
) -> Iterator[syntax.Statement]:
    """Definitions of scalars of which a text says nothing but their derivatives by what it defines."""
    for derivative in [n for n in syntax.within(node) if isinstance(n, syntax.Derivative)]:
        name = derivative.body.name if isinstance(derivative.body, syntax.TensorNode) else ""
        if not name or name in defined or derivative.body.indices or not _only_derived(name, trees):  # pyright: ignore
            continue
        by = {v.name: v for tree in trees for v in _variables(name, tree)}
        known = {
            n: set().union(*[names_in(s.body) for s in bench.definitions if s.name == n]) for n in by if n in defined
        }
        last = [n for n in known if not any(n in _below(other, bench) for other in known if other != n)]
        terms = [_weighted(name, n, fresh(len(by[n].indices or ()), bench.text)) for n in last]
        if terms:
            body = terms[0] if len(terms) == 1 else syntax.SumNode(0, 0, tuple([(1, term) for term in terms]))
            yield syntax.Statement(0, 0, name, None, body)


def only_derived(node: Node, defined: Mapping[str, int], trees: Sequence[Node]) -> Iterator[str]:
    """Names of which a text says nothing but their derivatives, and that stand in one here."""
    for derivative in [n for n in syntax.within(node) if isinstance(n, syntax.Derivative)]:
        body = derivative.body
        if not isinstance(body, syntax.TensorNode) or body.name in {*defined, derivative.variable.name}:
            continue
        if _only_derived(body.name, trees):
            yield body.name


def _below(name: str, bench: Workbench) -> set[str]:
    """All names that a definition is made of."""
    bodies = {s.name: names_in(s.body) for s in bench.definitions}
    found, waiting = set(), [name]
    while waiting:
        for other in bodies.get(waiting.pop(), ()):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found


def _variables(name: str, tree: Node) -> Iterator[syntax.TensorNode]:
    for node in syntax.within(tree):
        if isinstance(node, syntax.Derivative) and isinstance(node.body, syntax.TensorNode) and node.body.name == name:
            yield node.variable


def _only_derived(name: str, trees: Sequence[Node]) -> bool:
    """Whether a name stands nowhere but in ``D(name, …)``."""
    uses = sum(isinstance(n, syntax.TensorNode) and n.name == name for tree in trees for n in syntax.within(tree))
    derived = sum(1 for tree in trees for _ in _variables(name, tree))
    return uses == derived


def _weighted(name: str, other: str, indices: tuple[syntax.Index, ...]) -> Node:
    weight = syntax.TensorNode(0, 0, f"{name}{_MARK}{other}", indices or None)
    return syntax.ProductNode(0, 0, ((1, weight), (1, syntax.TensorNode(0, 0, other, indices or None))))


def written_back(node: Node) -> Node:
    """A tree in which unknown derivatives are written as such."""
    parts = [written_back(part) for part in syntax.children(node)]
    node = syntax.with_children(node, parts) if parts else node
    if isinstance(node, syntax.TensorNode) and _MARK in node.name:
        name, _, other = node.name.partition(_MARK)
        variable = replace(node, name=other)
        return syntax.Derivative(node.start, node.end, syntax.TensorNode(node.start, node.end, name, None), variable)
    return node
