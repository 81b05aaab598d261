"""Pictures of computations: a small graph model, the folding of what is too large to look at, and DOT text.

A picture is a list of vertices, operands before their users, as a computation runs. What is larger than a reader can
take in is folded in two steps. First every *chain*, in which each result is used once and by the next operation,
becomes one box that lists its operations: nothing branches inside, so nothing is lost but the lines between them. If
that is not enough, what is farthest from the results becomes one box with counts. Distance is that of the longest way:
all users of a vertex are then nearer than itself, so the lines from that box all point towards the results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ricci.errors import InputError
from ricci.expr import Constant, Dim, Expr, Function, Product, Variable
from ricci.notation.context import Facts
from ricci.show import node_words

DIRECTIONS = ("LR", "TB", "RL", "BT")
LISTED = 8  # operations that a folded box names one by one
LEAVES = ("input", "constant")

# How the vertices of each kind look.
_LOOKS = {
    "input": 'shape=box, style="rounded,filled", fillcolor="#dbeafe"',
    "constant": "shape=plaintext",
    "operation": "shape=ellipse",
    "chain": 'shape=box, style="filled", fillcolor="#f3f4f6"',
    "rest": 'shape=folder, style="filled", fillcolor="#e5e7eb"',
}
_RESULT = 'peripheries=2, color="#b45309"'


@dataclass(slots=True)
class Vertex:
    """One box of a picture. ``operands`` are positions of earlier vertices, ``source`` is what it stands for."""

    kind: str
    word: str
    operands: tuple[int, ...] = ()
    source: Any = None
    result: bool = False
    counts: Counter[str] | None = None  # for a folded box, the words of what is inside
    lines: list[str] = field(default_factory=list)
    edges: tuple[str, ...] = ()  # what is written at the line from each operand


def build(
    roots: Sequence[Any],
    operands: Callable[[Any], Sequence[Any]],
    kind: Callable[[Any], str],
    word: Callable[[Any], str],
    identity: Callable[[Any], Hashable] = lambda node: node,
) -> list[Vertex]:
    """The vertices of ``roots`` and of all that they are computed from, shared parts once.

    Constants are an exception: each use draws its own, since a line from everything that is doubled to one 2 tells
    nothing.
    """
    vertices: list[Vertex] = []
    place: dict[Hashable, int] = {}
    for node, parts in _operands_first(roots, operands, identity):
        positions = []
        for operand in parts:
            known = place.get(identity(operand))
            if known is None:  # a constant
                known = len(vertices)
                vertices.append(Vertex("constant", word(operand), source=operand))
            positions.append(known)
        own = kind(node)
        if own != "constant":
            place[identity(node)] = len(vertices)
            vertices.append(Vertex(own, word(node), tuple(positions), node))
    for root in roots:
        if identity(root) not in place:
            place[identity(root)] = len(vertices)
            vertices.append(Vertex("constant", word(root), source=root))
        vertices[place[identity(root)]].result = True
    return vertices


def _operands_first(
    roots: Sequence[Any], operands: Callable[[Any], Sequence[Any]], identity: Callable[[Any], Hashable]
) -> list[tuple[Any, Sequence[Any]]]:
    """Every node once, with its operands, which come before it."""
    found: dict[Hashable, Sequence[Any]] = {}  # the operands of nodes that are done or waiting for theirs
    done: list[tuple[Any, Sequence[Any]]] = []
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        key = identity(node)
        if ready:
            done.append((node, found[key]))
        elif key not in found:
            found[key] = parts = operands(node)
            stack.append((node, True))
            stack += [(a, False) for a in reversed(parts) if identity(a) not in found]
    return done


def of_expressions(
    roots: Sequence[Expr],
    names: Sequence[tuple[str, ...]] = (),
    titles: Sequence[str | None] = (),
    facts: Facts | None = None,
    most: int = 80,
    notes: Callable[[Sequence[Expr]], list[list[str]]] = lambda kept: [[] for _ in kept],
) -> list[Vertex]:
    """The picture of ``roots``, whose axes have ``names`` and which are called ``titles``.

    ``notes`` gives further lines, such as values, for the nodes that are left after folding.
    """
    inner = [node_words.unarranged(root) for root in roots]
    vertices = build(
        inner,
        lambda node: [node_words.unarranged(a) for a in node_words.operands(node)],
        node_words.kind,
        node_words.word,
    )
    outer = dict(zip(reversed(inner), reversed(roots), strict=True))
    for v in vertices:
        v.source = outer[v.source] if v.result else v.source
    vertices = folded(vertices, most)
    axes = node_words.AxisNames(roots, names, facts)
    by_name = bool(names) or bool(facts and facts.groups)
    title = {root: text for root, text in zip(roots, titles, strict=False) if text}
    drawn = [v for v in vertices if isinstance(v.source, Expr)]
    for v, further in zip(drawn, notes([v.source for v in drawn]), strict=True):
        node, own = v.source, axes.of[v.source]
        if v.kind != "chain":
            arranged = node_words.unarranged(node)
            v.lines = _lines(arranged, own, axes)
            v.edges = node_words.places(arranged, axes.below(arranged)) if v.operands else ()
        if v.result and node in title and not isinstance(node, Variable):
            v.lines.insert(0, f"{node_words.indexed(title[node], own)} =")
        shape = _shape_line(node, own, by_name)
        v.lines += ([shape] if shape else []) + further
    return vertices


def _lines(node: Expr, names: tuple[str, ...], axes: node_words.AxisNames) -> list[str]:
    """What is written in a box: the operation with its indices, and the relations that move data."""
    below = axes.below(node)
    if isinstance(node, Variable):
        return [node_words.indexed(node.name, names)]
    if isinstance(node, Function):
        return [node_words.function_text(node, below)]
    if isinstance(node, Constant) and isinstance(node.value, Dim):
        return [f"|{axes.namer.of_size(node.value)}|"]
    if not isinstance(node, Product):
        return [node_words.word(node)]
    title = node_words.word(node)
    if title == "contraction":
        title = node_words.contraction(node, names, below)
    elif title == "sum":
        title = node_words.indexed(title, tuple([name for name in below[0] if name not in names]))
    return [title, *node_words.relations(node, below, lambda e, names: node_words.indexed(node_words.word(e), names))]


def _shape_line(node: Expr, names: tuple[str, ...], by_name: bool) -> str:
    known = all(isinstance(size, int) for size in node.shape)
    if not node.shape or (isinstance(node, Variable) and not known):
        return ""
    if not known:
        return node_words.indexed("", names)
    sizes = [f"{name}={size}" for name, size in zip(names, node.shape, strict=True)]
    return f"[{', '.join(sizes)}]" if by_name else str(node.shape)


# Folding


def folded(vertices: list[Vertex], most: int) -> list[Vertex]:
    """The vertices, or fewer that stand for them: at most ``most``, wherever there are not more results than that."""
    if len(vertices) > most:
        vertices = _without_chains(vertices)
    if len(vertices) > most:
        vertices = _nearest(vertices, most)
    return vertices


def _without_chains(vertices: list[Vertex]) -> list[Vertex]:
    uses = Counter(p for v in vertices for p in v.operands)
    chains: dict[int, list[int]] = {}  # the last of a chain → all of it, in order
    for position, v in enumerate(vertices):
        inner = {p for p in v.operands if vertices[p].kind not in LEAVES}
        if v.kind != "operation" or v.result or len(inner) > 1:
            continue
        before = inner.pop() if inner else -1
        chain = chains.pop(before) if before in chains and uses[before] == 1 else []
        chain.append(position)
        chains[position] = chain
    long = {last: chain for last, chain in chains.items() if len(chain) > 1}
    gone = {p for chain in long.values() for p in chain}
    gone |= {p for q in gone for p in vertices[q].operands if vertices[p].kind == "constant"}
    place: dict[int, int] = {}
    kept: list[Vertex] = []
    for position, v in enumerate(vertices):
        if position in long:
            v = _chain([vertices[p] for p in long[position]], gone)
        elif position in gone:
            continue
        place[position] = len(kept)
        v.operands = tuple([place[p] for p in v.operands])
        kept.append(v)
    return kept


def _chain(members: list[Vertex], gone: set[int]) -> Vertex:
    """One box for a chain; it has the value of its last member."""
    outer = tuple(dict.fromkeys(p for v in members for p in v.operands if p not in gone))
    words = [v.word for v in members]
    lines = [f"{len(words):,} operations", *words[: LISTED if len(words) <= LISTED else LISTED - 1]]
    if len(words) > LISTED:
        lines += [f"… {len(words) - LISTED:,} more", words[-1]]
    return Vertex("chain", "chain", outer, members[-1].source, counts=Counter(words), lines=lines)


def _nearest(vertices: list[Vertex], most: int) -> list[Vertex]:
    """The vertices nearest to the results, and one in place of all others."""
    depth = [0] * len(vertices)
    for position in range(len(vertices) - 1, -1, -1):
        below = depth[position] + 1
        for p in vertices[position].operands:
            depth[p] = max(depth[p], below)
    by_depth = sorted(range(len(vertices)), key=lambda p: (not vertices[p].result, depth[p], -p))
    near = max(most - 1, sum(v.result for v in vertices))
    far = set(by_depth[near:])
    place = dict.fromkeys(far, 0)
    kept = [_rest([vertices[p] for p in sorted(far)])]
    for position, v in enumerate(vertices):
        if position not in far:
            place[position] = len(kept)
            v.operands = tuple([place[p] for p in v.operands])
            kept.append(v)
    return kept


def _rest(members: list[Vertex]) -> Vertex:
    """One box for all that is far from the results: how many of what."""
    counts: Counter[str] = Counter()
    for v in members:
        if v.counts is not None:
            counts.update(v.counts)
        elif v.kind == "operation":
            counts[v.word] += 1
    inputs = sum(v.kind == "input" for v in members)
    shown = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    lines = [f"{counts.total():,} more operations", *[f"{word} × {count:,}" for word, count in shown[:LISTED]]]
    if len(shown) > LISTED:
        lines.append(f"… {len(shown) - LISTED:,} more kinds")
    if inputs:
        lines.append(f"of {inputs:,} input{'s' if inputs > 1 else ''}")
    return Vertex("rest", "rest", counts=counts, lines=lines)


# DOT


def to_dot(vertices: Sequence[Vertex], direction: str = "LR") -> str:
    """The picture in Graphviz's language."""
    if direction not in DIRECTIONS:
        raise InputError(f"A picture runs in one of the directions {', '.join(DIRECTIONS)}, not {direction!r}.")
    lines = [
        "digraph ricci {",
        f"  rankdir={direction};",
        '  node [fontname="Helvetica", fontsize=11];',
        '  edge [fontname="Helvetica", fontsize=9, arrowsize=0.7];',
    ]
    for position, v in enumerate(vertices):
        looks = f"{_LOOKS[v.kind]}, {_RESULT}" if v.result else _LOOKS[v.kind]
        lines.append(f"  n{position} [label={quoted(v.lines or [v.word])}, {looks}];")
    for position, v in enumerate(vertices):
        lines += [f"  n{p} -> n{position}{_written(text)};" for p, text in incoming(v, vertices)]
    return "\n".join([*lines, "}"]) + "\n"


def incoming(v: Vertex, vertices: Sequence[Vertex]) -> list[tuple[int, str]]:
    """The lines into a vertex. Those from the folded rest are one, which has nothing written at it."""
    texts = v.edges or ("",) * len(v.operands)
    pairs = [(p, "" if vertices[p].kind == "rest" else text) for p, text in zip(v.operands, texts, strict=True)]
    return [pair for k, pair in enumerate(pairs) if vertices[pair[0]].kind != "rest" or pair not in pairs[:k]]


def _written(text: str) -> str:
    return f" [label={quoted([text])}]" if text else ""


def quoted(lines: Sequence[str]) -> str:
    """Lines of text as a DOT string: Graphviz reads backslashes, quotes and HTML entities in it, so they are escaped.

    >>> print(quoted(['a "b" & c', 'd']))
    "a \\"b\\" &amp; c\\nd"
    """
    plain = ["".join([c if c.isprintable() else " " for c in line]) for line in lines]
    escaped = [t.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") for t in plain]
    return '"' + "\\n".join(escaped) + '"'
