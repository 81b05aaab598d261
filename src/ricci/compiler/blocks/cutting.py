"""What of some results is computed block by block along an index, what is added up, and in which pass over the data.

Sizes are numbers here. Every node can be had in two versions. *Cut* along some of its axes, it has there only the
places of the present block; *whole*, it is all there. Of an input the first is a slice. Of all else it is the node on
cut operands: a product whose operands are cut along a label, a function that works beside these axes. The second is

- the node on whole operands, where these do not come from the data that is cut;
- a *total*, where the node sums over the index, or reduces it by one of the rules of ``joining``: it is joined from
  what the cut node gives for each block, so it is known after one more pass than its cut operands need;
- the node on whole operands, *held* in memory though it comes from the data, where nothing else is left, and where it
  is no larger than the data are.

A softmax over the index that is summed with something is a total as it is, block by block; in all other places it is
``exp(x - logsumexp(x))``, and the second term is a total. What no pass needs is computed after the last one.

Nodes are asked for versions from the results down, each version once, without recursion of Python's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

from ricci.compiler.blocks.joining import ADDED, REDUCTIONS, SQUARES, ByHardShares, BySoftShares, JoinRule
from ricci.errors import InputError
from ricci.expr import (
    ROWS,
    Constant,
    Elementwise,
    Expr,
    Function,
    Product,
    Size,
    Structure,
    Sum,
    Variable,
    add,
    affine,
    axis_size,
    broadcast,
    constant,
    elementwise,
    function,
    one_hot,
    product,
    rebuild,
    topological,
    variable,
    variables,
)
from ricci.expr.structures import is_delta, natural, one, zero

MOST_PLACES = 1 << 22  # entries of a relation that are written out for a block
LEAST_HELD = 1 << 16  # entries that may be held whole in any case

Axes = frozenset[int]
ALONE: Axes = frozenset()


class NotCutError(InputError):
    """What is asked for cannot be computed block by block."""


class Version(NamedTuple):
    """A node, whole or cut: what it is, and how many passes have to be over before it can be computed."""

    stage: int
    expr: Expr


@dataclass(frozen=True)
class Feed:
    """What a program of blocks is given under a name: ``source`` whole, or of it what lies in the block.

    ``source`` is an input or a total by its name, or an expression in these. A relation is written out for the block.
    """

    name: str
    source: str | Expr
    axes: Axes = ALONE
    written: bool = False

    @property
    def computed(self) -> bool:
        """Whether it is computed before the pass."""
        return not isinstance(self.source, str) and not self.written


@dataclass(frozen=True)
class Total:
    """What is joined from block to block in the pass ``stage``, and then known by ``name``."""

    name: str
    rule: JoinRule
    parts: tuple[Expr, ...]
    stage: int
    node: Expr


@dataclass(frozen=True)
class Written:
    """A result that has the index: the pass in which it is computed, and the axes along which blocks are written.

    Of several axes, which deltas tie to one another, only blocks on the diagonal differ from zero.
    """

    position: int
    axes: Axes
    stage: int
    expr: Expr


@dataclass
class CutResults:
    """All that is to be done."""

    totals: list[Total]
    written: list[Written]
    last: dict[int, Expr]  # results that are known after the last pass, by their positions
    feeds: dict[str, Feed]
    held: list[Expr]
    teller: Variable  # an input that is cut: the size of its axis is that of a block
    length: Size  # which is this one

    @property
    def passes(self) -> int:
        return 1 + max([t.stage for t in self.totals] + [w.stage for w in self.written], default=-1)


Request = tuple
Answers = Generator[Request, Version, Version]


@dataclass
class Cutter:
    """Cuts results along an index. ``seeds`` are the axes of inputs over which it ranges."""

    index: str
    seeds: Mapping[str, Axes]
    block: int  # places in a block, roughly
    told: Callable[[Expr], str]  # an expression, for messages
    marks: dict[Expr, tuple[bool, ...]] = field(default_factory=dict)  # the axes that come from those of the seeds
    fed: dict[str, Feed] = field(default_factory=dict)
    fed_as: dict[tuple, Expr] = field(default_factory=dict)
    totals: list[Total] = field(default_factory=list)
    held: dict[Expr, None] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    depends: set[Expr] = field(default_factory=set)
    reasons: list[str] = field(default_factory=list)
    known: dict[Request, Version] = field(default_factory=dict)

    def cut(self, roots: Sequence[Expr]) -> CutResults:
        """Versions of all results: those that have the index cut along it, the others whole."""
        self._mark(topological(*roots))
        self.names = {node.name for node in self.marks if isinstance(node, Variable)}
        inputs = [node for node in self.marks if isinstance(node, Variable) and any(self.marks[node])]
        if not inputs:
            self._refuse("no result depends on an input that has it")
        first = inputs[0]
        self.length: Size = axis_size(first.name, min(self.seeds[first.name]))
        teller: Any = self._asked(("cut", first, self.seeds[first.name])).expr
        self.most = max([LEAST_HELD, *[math.prod(node.shape) for node in inputs]])  # type: ignore[arg-type]
        written, last = [], {}
        for position, root in enumerate(roots):
            axis = next((k for k, marked in enumerate(self.marks[root]) if marked), None)
            if axis is None:
                last[position] = self._asked(("whole", root)).expr
            else:
                axes = _tied(root, axis)
                stage, expr = self._asked(("cut", root, axes))
                written.append(Written(position, axes, stage, expr))
        found = CutResults(self.totals, written, last, self.fed, list(self.held), teller, self.length)
        if not self.totals and all(isinstance(one.expr, Variable) for one in written):
            self._refuse(f"nothing can be computed block by block{''.join(self.reasons[:1])}")
        return found

    # Where the index is

    def _mark(self, nodes: Iterable[Expr]) -> None:
        for node in nodes:
            if node in self.marks:
                continue
            self.marks[node] = self._marked(node)
            if any(self.marks[node]) or not self.depends.isdisjoint(node.args):
                self.depends.add(node)

    def _marked(self, node: Expr) -> tuple[bool, ...]:
        if isinstance(node, Variable):
            return tuple([k in self.seeds.get(node.name, ALONE) for k in range(node.order)])
        if isinstance(node, Product):
            found = {x for a, labels in node.factors() for x, m in zip(labels, self.marks[a], strict=True) if m}
            return tuple([x in found for x in node.out])
        if isinstance(node, (Sum, Elementwise)):
            parts = [self.marks[a] for a in node.args if a.shape]
            return tuple([any(column) for column in zip(*parts, strict=True)]) if parts else (False,) * node.order
        if isinstance(node, Function):
            return self._marked_beside(node)
        if isinstance(node, Structure) and node.args:
            return (*self.marks[node.args[0]], False)
        return (False,) * node.order

    def _marked_beside(self, node: Function) -> tuple[bool, ...]:
        """A function keeps the index beside the axes on which it works, and on these if it keeps them."""
        lead = _lead(node)
        rows = [self.marks[a] for a in node.args]
        own = rows[0][lead:] if node.op.kind == "keep" and len(node.args) == 1 else ()
        found = [any(row[k] for row in rows) for k in range(lead)] + list(own)
        return tuple(found + [False] * (node.order - len(found)))

    # Asking

    def _asked(self, request: Request) -> Version:
        """A version of a node, and before it all that it is made of: a stack of our own in place of Python's."""
        stack, asked, answer = [self._begun(request)], [request], None
        while stack:
            try:
                wanted = stack[-1].send(answer)  # type: ignore[arg-type]
            except StopIteration as end:
                stack.pop()
                answer = self.known[asked.pop()] = end.value
                continue
            answer = self.known.get(wanted)
            if answer is None:
                stack.append(self._begun(wanted))
                asked.append(wanted)
        assert answer is not None
        return answer

    def _begun(self, request: Request) -> Answers:
        how, node, *more = request
        self._mark(topological(node)) if node not in self.marks else None
        return {"whole": self._whole, "cut": self._cut, "given": self._given}[how](node, *more)

    def _versions(self, requests: Iterable[Request]) -> Generator[Request, Version, tuple[int, list[Expr]]]:
        """Several: the stage at which all are known, and their expressions."""
        stage, found = 0, []
        for request in requests:
            version = yield request
            stage = max(stage, version.stage)
            found.append(version.expr)
        return stage, found

    # Whole

    def _whole(self, node: Expr) -> Answers:
        if node not in self.depends or isinstance(node, Variable):
            return Version(0, node)
        if isinstance(node, Product):
            labels = self._summed_labels(node)
            if labels:
                return (yield from self._summed(node, labels[0]))
        if isinstance(node, Function) and node.op.name in REDUCTIONS and self.marks[node.args[0]][-1]:
            return (yield from self._reduced(node))
        stage, args = yield from self._versions(("whole", a) for a in node.args)
        if any(self.marks[node]) or any(any(self.marks[a]) or a in self.held for a in node.args):
            self._hold(node)
        return Version(stage, rebuild(node, tuple(args)))

    def _hold(self, node: Expr) -> None:
        """Compute from the data at once, which may be no larger than they are."""
        self.held[node] = None
        if isinstance(node, Function):
            self.reasons.append(f", since {self.told(node)} needs all of {self.index} at once")
        if math.prod(node.shape) > self.most:  # type: ignore[arg-type]
            shape = "×".join(map(str, node.shape))
            self._refuse(f"{self.told(node)} would have to be in memory whole ({shape}){''.join(self.reasons[:1])}")

    def _refuse(self, why: str) -> None:
        raise NotCutError(
            f"The index {self.index} cannot be cut into blocks: {why}. Cut another index, or leave out blocks=."
        )

    def _summed_labels(self, node: Product) -> list[int]:
        """The summed labels that are the index, first those that are nothing else for any operand."""
        found: dict[int, bool] = {}
        for a, labels in node.factors():
            for x, marked in zip(labels, self.marks[a], strict=True):
                if marked and x not in node.out:
                    found[x] = True
        chosen = [x for x in found if not self._too_wide(node, x)]
        return sorted(chosen, key=lambda x: (not self._is_marked_wherever_it_varies(node, x), x))

    def _is_marked_wherever_it_varies(self, node: Product, label: int) -> bool:
        axes = [(a, k) for a, labels in node.factors() for k, x in enumerate(labels) if x == label]
        return all(self.marks[a][k] or k not in natural(a) for a, k in axes)

    def _too_wide(self, node: Product, label: int, among: Iterable[int] = ()) -> bool:
        """Whether a relation between this index and another one would have to be written out, and is too large."""
        for a, labels in node.factors():
            if isinstance(a, Structure) and a.relation[0] in ("==", ">=") and label in labels:
                others = [n for n, x in zip(a.shape, labels, strict=True) if x != label and x not in among]
                if self.block * math.prod(others) > MOST_PLACES:  # type: ignore[arg-type]
                    self.reasons.append(f", since {self.told(node)} reads other places of {self.index} than its own")
                    return True
        return False

    def _summed(self, node: Product, label: int) -> Answers:
        """A product summed over the index."""
        centred = self._centred(node, label)
        if centred is not None:
            return (yield from self._squares(node, *centred))
        weights = self._weights(node, label)
        requests = []
        for a, labels in node.factors():
            axes = frozenset([k for k, x in enumerate(labels) if x == label])
            inner = a.args[0] if a is weights else a
            requests.append(("cut", inner, axes) if axes else ("given", inner))
        stage, parts = yield from self._versions(requests)
        if weights is None:
            return self._total(ADDED, [rebuild(node, tuple(parts))], stage, node)
        at = node.args.index(weights)
        s = parts[at]
        parts[at] = function(weights.op, (s,), weights.params)
        first, rule = self._of_weights(node, weights, s)
        return self._total(rule, [*first, rebuild(node, tuple(parts))], stage, node)

    def _weights(self, node: Product, label: int) -> Any:
        """The one factor that is a softmax over the index, or shares of extremes, if the sum keeps its other axes."""
        found = [
            (a, labels)
            for a, labels in node.factors()
            if isinstance(a, Function) and a.op.name in _SHARES and not a.params and labels[-1] == label
        ]
        if len(found) != 1:
            return None
        ((a, labels),) = found
        kept = len({*labels}) == len(labels) and all(x in node.out for x in labels[:-1])
        return a if kept else None

    def _of_weights(self, node: Product, weights: Function, s: Expr) -> tuple[list[Expr], JoinRule]:
        labels = next(labels for a, labels in node.factors() if a is weights)
        axes = tuple([node.out.index(x) for x in labels[:-1]])
        reduction, better = _SHARES[weights.op.name]
        top = function(ROWS[reduction], (s,))
        if better is None:
            return [top], BySoftShares(axes)
        return [top, _ties(s, top)], ByHardShares(better(), axes)

    def _centred(self, node: Product, label: int) -> tuple[Expr, int] | None:
        """What is centred, and the axis, where a product sums squared distances from the mean."""
        if len(node.args) != 1 or not isinstance(node.args[0], Elementwise) or node.args[0].op.name != "power":
            return None
        base, exponent = node.args[0].args
        if not (isinstance(exponent, Constant) and exponent.value == 2 and isinstance(base, Sum)):
            return None
        axis = node.labels[0].index(label)
        for x in base.args:
            moved = _from_mean(x, axis) if self.marks[x][axis] else None
            if moved is not None and base in (moved, add([(-1, moved)])):
                return x, axis
        return None

    def _squares(self, node: Product, x: Expr, axis: int) -> Answers:
        stage, (part,) = yield from self._versions([("cut", x, frozenset([axis]))])
        (labels,) = node.labels
        parts = [constant(self.length), product([(part, labels)], node.out), None]
        parts[2] = product([(_from_mean(part, axis) ** 2, labels)], node.out)
        return self._total(SQUARES, parts, stage, node)

    def _reduced(self, node: Function) -> Answers:
        """A function that reduces the index."""
        x = node.args[0]
        stage, (part,) = yield from self._versions([("cut", x, frozenset([x.order - 1]))])
        parts = [function(node.op, (part,), node.params)]
        if node.op.name in ("argmax", "argmin"):
            parts.insert(0, function(ROWS[node.op.name[3:]], (part,)))
        return self._total(REDUCTIONS[node.op.name](), parts, stage, node)

    def _total(self, rule: JoinRule, parts: list[Expr], stage: int, node: Expr) -> Version:
        name = self._fresh("total")
        self.totals.append(Total(name, rule, tuple(parts), stage, node))
        return Version(stage + 1, variable(name, node.shape, complex=node.complex))

    # In the program of a block

    def _given(self, node: Expr) -> Answers:
        """What does not have the index, as a program of blocks is given it."""
        stage, expr = yield ("whole", node)
        if not variables(expr):
            return Version(stage, expr)
        if not isinstance(expr, Variable):
            return Version(stage, self._feed("known", expr, node))
        name = f"{expr.name} whole" if expr.name in self.seeds else expr.name
        return Version(stage, self._feed(name, expr.name, node))

    def _feed(self, name: str, source: str | Expr, node: Expr, axes: Axes = ALONE, written=False) -> Expr:
        """What stands for a node in the program of a block."""
        key = (source, axes)
        if key not in self.fed_as:
            name = self._fresh(name) if isinstance(source, Expr) else name
            self.fed[name] = Feed(name, source, axes, written)
            sizes = tuple([axis_size(name, k) if k in axes else n for k, n in enumerate(node.shape)])
            self.fed_as[key] = variable(name, sizes, complex=node.complex)
        return self.fed_as[key]

    def _fresh(self, stem: str) -> str:
        """A name that nothing has."""
        name = next(f"{stem}{k}" for k in count() if f"{stem}{k}" not in self.names)
        self.names.add(name)
        return name

    def _short(self, shape: Sequence[Size], axes: Axes) -> tuple[Size, ...]:
        return tuple([self.length if k in axes else n for k, n in enumerate(shape)])

    def _cut(self, node: Expr, axes: Axes) -> Answers:
        if isinstance(node, Variable):
            name = node.name if axes == self.seeds.get(node.name) else f"{node.name} along {min(axes)}"
            return Version(0, self._feed(name, node.name, node, axes))
        if isinstance(node, Constant):
            return Version(0, self._feed("array", node, node, axes))
        if isinstance(node, Structure):
            return (yield from self._cut_structure(node, axes))
        if isinstance(node, Product):
            return (yield from self._cut_product(node, axes))
        if isinstance(node, Function):
            return (yield from self._cut_function(node, axes))
        stage, args = yield from self._versions(("cut", a, axes) if a.shape else ("given", a) for a in node.args)
        return Version(stage, rebuild(node, tuple(args)))

    def _cut_structure(self, node: Structure, axes: Axes) -> Answers:
        shape, kind = self._short(node.shape, axes), node.relation[0]
        if kind in ("one", "zero"):
            return Version(0, one(shape) if kind == "one" else zero(shape))
        if kind == "at" and node.order - 1 not in axes:
            stage, (index,) = yield from self._versions([("cut", node.args[0], axes)])
            return Version(stage, one_hot(index, node.shape[-1]))
        if kind in ("==", ">="):
            _, coefs, const = node.relation
            if not sum(coefs[k] for k in axes):
                return Version(0, affine(kind, coefs, const, shape))
            others = [n for k, n in enumerate(node.shape) if k not in axes]
            if self.block ** len(axes) * math.prod(others) <= MOST_PLACES:  # type: ignore[arg-type]
                return Version(0, self._feed("places", node, node, axes, written=True))
        self.reasons.append(f", since {self.told(node)} relates places of {self.index} to others")
        return (yield from self._cut_of_held(node, axes))

    def _cut_product(self, node: Product, axes: Axes) -> Answers:
        among = {node.out[k] for k in axes}
        if any(self._too_wide(node, x, among) for x in among):
            return (yield from self._cut_of_held(node, axes))
        requests = []
        for a, labels in node.factors():
            own = frozenset([k for k, x in enumerate(labels) if x in among])
            requests.append(("cut", a, own) if own else ("given", a))
        stage, parts = yield from self._versions(requests)
        sizes = dict(zip(node.out, self._short(node.shape, axes), strict=True))
        return Version(stage, product(list(zip(parts, node.labels, strict=True)), node.out, sizes))

    def _cut_function(self, node: Function, axes: Axes) -> Answers:
        if node.op.own or max(axes) >= _lead(node):
            other = _BY_TOTALS[node.op.name](node) if node.op.name in _BY_TOTALS and axes == {node.order - 1} else None
            if other is not None:
                return (yield ("cut", other, axes))
            self.reasons.append(f", since {node.op.name} goes along {self.index}")
            return (yield from self._cut_of_held(node, axes))
        stage, args = yield from self._versions(("cut", a, axes) for a in node.args)
        return Version(stage, rebuild(node, tuple(args)))

    def _cut_of_held(self, node: Expr, axes: Axes) -> Answers:
        """The block of what has to be computed whole."""
        self.depends.add(node)
        stage, expr = yield ("whole", node)
        source = expr.name if isinstance(expr, Variable) else expr
        name = f"{source} along {min(axes)}" if isinstance(source, str) else "known"
        return Version(stage, self._feed(name, source, node, axes))


def _lead(node: Function) -> int:
    """How many axes come before those on which a function works."""
    return node.args[0].order - node.op.axes_of(node.params)[0] if node.op.works_on else 0


def _tied(node: Expr, axis: int) -> Axes:
    """The axes of a result that deltas tie to this one."""
    if isinstance(node, Sum):
        return frozenset.intersection(*[_tied(a, axis) for a in node.args])
    if not isinstance(node, Product):
        return frozenset([axis])
    tied = {node.out[axis]}
    for _ in node.args:
        tied |= {x for a, labels in node.factors() if is_delta(a) and not tied.isdisjoint(labels) for x in labels}
    return frozenset([k for k, x in enumerate(node.out) if x in tied])


def _from_mean(x: Expr, axis: int) -> Expr:
    rest = [k for k in range(x.order) if k != axis]
    return x - broadcast(ROWS["mean"](x, (axis,)), rest, x.shape)


def _on_last(top: Expr, x: Expr) -> Expr:
    return broadcast(top, range(x.order - 1), x.shape)


def _ties(x: Expr, top: Expr) -> Expr:
    """How many entries along the last axis are the largest, or the smallest."""
    return product([(elementwise(ROWS["equal"], x, _on_last(top, x)), range(x.order))], range(x.order - 1))


def _soft(node: Function) -> Expr:
    return ROWS["exp"](_log_soft(node))


def _log_soft(node: Function) -> Expr:
    (x,) = node.args
    return x - _on_last(function(ROWS["logsumexp"], (x,)), x)


def _hard(reduction: str) -> Callable[[Function], Expr | None]:
    def shares(node: Function) -> Expr | None:
        if node.params:
            return None
        (x,) = node.args
        top = function(ROWS[reduction], (x,))
        return elementwise(ROWS["equal"], x, _on_last(top, x)) / _on_last(_ties(x, top), x)

    return shares


def _greater() -> Any:
    import numpy as np

    return np.greater


def _less() -> Any:
    import numpy as np

    return np.less


# Functions that keep the index: what they are by totals, and with which reduction a sum with them is joined.
_BY_TOTALS = {"softmax": _soft, "log_softmax": _log_soft, "hardmax": _hard("max"), "hardmin": _hard("min")}
_SHARES = {"softmax": ("logsumexp", None), "hardmax": ("max", _greater), "hardmin": ("min", _less)}
