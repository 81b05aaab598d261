"""Mistakes planted into derivations, and whether ``rc.check`` finds them.

One line of a derivation is broken in one of twelve ways. Whether it is false then is found out without the checker:
both sides are evaluated by loops over indices (``brute``), at points drawn for the identity. What the checker says of
the line, and of all others, is compared with that.

>>> import random
>>> from ricci.testing.identities import identities
>>> row = next(row for row in identities() if row.name == "squared norm")
>>> planted(row, "number", random.Random(0)).line
'= 3 x[p]'
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ricci.errors import RicciError
from ricci.expr import Expr
from ricci.notation import syntax
from ricci.notation.occurrences import Occurrences, indices_in
from ricci.notation.resolve import read_program
from ricci.notation.syntax import Node
from ricci.review.report import CheckReport, LineVerdict
from ricci.review.reviewing import check
from ricci.review.sides import Workbench
from ricci.show.own_words import signs_in_front
from ricci.show.text import SUM, render
from ricci.testing.brute import brute_force
from ricci.testing.drawn_inputs import draw, size_names
from ricci.testing.identities import Identity

POINTS = 12  # at which a line that seems true is evaluated
Way = Callable[[Node], Iterator[tuple[Node, Node]]]  # from a node, what stands in its place, and what was broken
KIN = {"sin": "cos", "cos": "sin", "exp": "log", "log": "exp", "tanh": "sigmoid", "sigmoid": "tanh", "sinh": "cosh",
       "cosh": "sinh", "sqrt": "abs", "det": "logdet", "softmax": "log_softmax", "softplus": "sigmoid"}  # fmt: skip


# Ways to break a line


def sign(node: Node) -> Iterator[tuple[Node, Node]]:
    if isinstance(node, syntax.SumNode):
        for k, (s, term) in enumerate(node.terms):
            yield replace(node, terms=(*node.terms[:k], (-s, term), *node.terms[k + 1 :])), term
    if isinstance(node, syntax.Neg):
        yield node.body, node


def number(node: Node) -> Iterator[tuple[Node, Node]]:
    """A number is left out, or doubled."""
    if isinstance(node, syntax.ProductNode):
        for k, (e, f) in enumerate(node.factors):
            if isinstance(f, syntax.Number) and e > 0 and f.value != 1:
                rest = (*node.factors[:k], *node.factors[k + 1 :])
                if rest[0][0] > 0:
                    yield rest[0][1] if len(rest) == 1 else replace(node, factors=rest), f
    if isinstance(node, syntax.Number) and isinstance(node.value, int):
        yield replace(node, value=node.value + 1), node


def exponent(node: Node) -> Iterator[tuple[Node, Node]]:
    if isinstance(node, syntax.Power):
        yield node.base, node
        yield replace(node, exponent=syntax.Number(0, 0, 3)), node
    elif isinstance(node, (syntax.TensorNode, syntax.CallNode)):
        yield syntax.Power(0, 0, node, syntax.Number(0, 0, 2)), node


def transposed(node: Node) -> Iterator[tuple[Node, Node]]:
    for part in ("indices", "result"):
        indices = getattr(node, part, None)
        if isinstance(node, (syntax.TensorNode, syntax.CallNode)) and indices and len(indices) == 2:
            yield replace(node, **{part: indices[::-1]}), node


def dropped(node: Node) -> Iterator[tuple[Node, Node]]:
    """A factor, neither a number nor a one-tensor."""
    if isinstance(node, syntax.ProductNode):
        for k, (_, f) in enumerate(node.factors):
            rest = (*node.factors[:k], *node.factors[k + 1 :])
            if rest[0][0] > 0 and not isinstance(f, (syntax.Number, syntax.Ones)):
                yield rest[0][1] if len(rest) == 1 else replace(node, factors=rest), f


def twice(node: Node) -> Iterator[tuple[Node, Node]]:
    """A factor that stands there twice."""
    if isinstance(node, syntax.ProductNode):
        for e, f in node.factors:
            if not isinstance(f, (syntax.Number, syntax.Ones, syntax.Delta)):
                yield replace(node, factors=(*node.factors, (e, f))), f


def term(node: Node) -> Iterator[tuple[Node, Node]]:
    if isinstance(node, syntax.SumNode):
        for k, (_, t) in enumerate(node.terms):
            rest = (*node.terms[:k], *node.terms[k + 1 :])
            alone = rest[0][1] if rest[0][0] > 0 else syntax.Neg(0, 0, rest[0][1])
            yield alone if len(rest) == 1 else replace(node, terms=rest), t


def one_tensor(node: Node) -> Iterator[tuple[Node, Node]]:
    if isinstance(node, syntax.ProductNode):
        for k, (_, f) in enumerate(node.factors):
            rest = (*node.factors[:k], *node.factors[k + 1 :])
            if isinstance(f, syntax.Ones) and rest[0][0] > 0:
                yield rest[0][1] if len(rest) == 1 else replace(node, factors=rest), f


def function(node: Node) -> Iterator[tuple[Node, Node]]:
    if isinstance(node, syntax.CallNode) and node.name in KIN:
        yield replace(node, name=KIN[node.name]), node


def inverted(node: Node) -> Iterator[tuple[Node, Node]]:
    """A factor divides, or does so no longer."""
    if isinstance(node, syntax.ProductNode):
        for k, (e, f) in enumerate(node.factors):
            if k and not isinstance(f, (syntax.Number, syntax.Ones, syntax.Delta)):
                yield replace(node, factors=(*node.factors[:k], (-e, f), *node.factors[k + 1 :])), f


def _index(names: list[str]) -> Way:
    """One index replaced by another."""

    def way(node: Node) -> Iterator[tuple[Node, Node]]:
        for part in ("indices", "result"):
            indices = getattr(node, part, None) or ()
            for k, index in enumerate(indices):
                for name in names if index.plain and isinstance(node, (syntax.TensorNode, syntax.Delta)) else ():
                    if name != index.terms[0][1]:
                        new = replace(index, terms=((1, name),))
                        yield replace(node, **{part: (*indices[:k], new, *indices[k + 1 :])}), node

    return way


def _captured(free: list[str]) -> Way:
    """A dummy of a product that is renamed as another one of it."""

    def way(node: Node) -> Iterator[tuple[Node, Node]]:
        if isinstance(node, syntax.ProductNode):
            summed = [name for name, places in Occurrences().of(node).items() if len(places) > 1 and name not in free]
            for old in summed:
                for new in summed:
                    if old < new:
                        yield syntax.renamed(node, {old: new}), node

    return way


WAYS = ("sign", "number", "exponent", "transposed", "index", "factor dropped", "factor twice", "term dropped",
        "one-tensor dropped", "function", "dummy captured", "inverted")  # fmt: skip
_PLAIN: dict[str, Way] = {
    "sign": sign, "number": number, "exponent": exponent, "transposed": transposed, "factor dropped": dropped,
    "factor twice": twice, "term dropped": term, "one-tensor dropped": one_tensor, "function": function,
    "inverted": inverted,
}  # fmt: skip


def broken(tree: Node, way: str, free: list[str]) -> list[tuple[Node, Node]]:
    """All trees that are broken in one way, and what was broken in each."""
    names = list(dict.fromkeys([n for index in indices_in(tree) for _, n in index.terms]))
    make = _PLAIN.get(way) or (_index(names) if way == "index" else _captured(free))
    found: list[tuple[Node, Node]] = []
    stack: list[tuple[Node, Callable[[Node], Node]]] = [(tree, lambda new: new)]
    while stack:
        node, around = stack.pop()
        found += [(around(new), spot) for new, spot in make(node)]
        parts = syntax.children(node)
        for k, part in enumerate(parts):

            def put(new: Node, node=node, parts=parts, k=k, around=around) -> Node:
                return around(syntax.with_children(node, [*parts[:k], new, *parts[k + 1 :]]))

            stack.append((part, put))
    if way == "sign":
        found.append((syntax.Neg(0, 0, tree), tree))
    return found


# A broken derivation


@dataclass(frozen=True)
class Planted:
    """A derivation with one broken line: its text, the line as it was and as it is, and the right sides of both."""

    identity: Identity
    way: str
    text: str
    before: str
    line: str
    steps: tuple[str, ...]  # the texts of all steps, as they were
    at: int


def planted(identity: Identity, way: str, rng: random.Random) -> Planted | None:
    """The derivation of an identity with a random line broken in this way; None where no line can be."""
    steps = [step.text for step in identity.derivative().derivation()]
    order = list(range(1, len(steps)))
    rng.shuffle(order)
    for at in order:
        *before, last = steps[at].split("\n")
        left, _, right = last.partition("= ")
        tree = signs_in_front(read_program(right).statements[0].body)
        choices = [new for new, _ in broken(tree, way, _free(identity, left)) if render(new, SUM) != render(tree, SUM)]
        if choices:
            line = f"{left}= {render(signs_in_front(rng.choice(choices)), SUM)}"
            text = "\n".join([*steps[:at], *before, line, *steps[at + 1 :]])
            return Planted(identity, way, text, last, line, tuple(steps), at)
    return None


def _free(identity: Identity, left: str) -> list[str]:
    inside = re.findall(r"\[([^\]]*)\]", left) or [",".join(identity.derivative().indices)]
    return [name for part in inside for name in part.split(",")]


# Whether it is false, found out by loops


@dataclass
class Oracle:
    """Evaluates the sides of a line by loops over indices, at points that suit an identity."""

    planted: Planted

    def is_false(self) -> bool | None:
        """Whether the broken line differs from what it was; None where that cannot be evaluated. A line that has no
        meaning is false."""
        meant = self.side(self.planted.before)
        try:
            found = self.side(self.planted.line)
        except RicciError:
            return True
        answers = []
        for seed in range(POINTS):
            answers.append(self.differ(meant, found, seed))
            if answers[-1]:
                return True
        return None if None in answers else False

    def side(self, line: str) -> tuple[Expr, list]:
        """The value of the right side of a line, with the sizes that are linked."""
        bench = Workbench(self.planted.text, {})
        at = self.planted.at
        left = ""
        for step in [*self.planted.steps[: at + 1]]:
            *before, last = step.split("\n")
            left = last.partition("= ")[0].strip() or left
            for text in before:
                program = read_program(f"{text}; 0" if text.startswith("sizes:") else text)
                bench.take_in(program)
                if not text.startswith("sizes:"):
                    bench.definitions += [s for s in program.statements if s.name not in self.names(bench)]
            if not left.startswith("D(") or step == self.planted.steps[0]:
                program = read_program(last if not last.startswith("=") else f"{left} {last}")
                bench.definitions += [s for s in program.statements if s.name not in self.names(bench)]
        head = bench.head(read_program(left).statements[0].body)
        found = bench.side(head, read_program(line.partition("= ")[2]).statements[0].body)
        return found.expr, found.context.facts.linked_sizes()

    @staticmethod
    def names(bench: Workbench) -> set[str | None]:
        return {s.name for s in bench.definitions}

    def differ(self, one: tuple[Expr, list], other: tuple[Expr, list], seed: int) -> bool | None:
        """At one point, with sizes that differ, or, where these do not fit, with equal ones."""
        specs = {name: generic(spec) for name, spec in self.planted.identity.inputs.items()}
        names = size_names(specs)
        for sizes in ((2, 3, 4, 2, 3), (3, 3, 3, 3, 3)):
            inputs = draw(specs, dict(zip(names, sizes, strict=False)), np.random.default_rng(seed))
            try:
                with np.errstate(all="ignore"):
                    a, b = [np.asarray(brute_force(e, inputs), float) for e, _ in (one, other)]
            except (AssertionError, KeyError, IndexError):
                continue
            except (ValueError, ArithmeticError):
                return None
            if a.shape != b.shape:
                continue
            both = np.isfinite(a) & np.isfinite(b)
            scale = np.max(np.abs(a[both]), initial=1e-9)
            return bool(np.any(np.abs(a - b)[both] > 1e-6 * scale)) if both.any() else None
        return None


def generic(spec: str) -> str:
    """Inputs without the symmetries that a row has, since a text does not say them."""
    for special, plain in {
        "spd": "near",
        "prob": "inside",
        "sign": "",
        "bit": "",
        "count": "pos",
        "levi": "3 3 3",
    }.items():
        spec = re.sub(rf"^{special}\b", plain, spec).strip()
    return "pos" if spec.startswith("exactly") else spec


# What the checker says of it


@dataclass(frozen=True)
class Outcome:
    """Of one planted mistake: whether it made the line false, and what was said."""

    planted: Planted
    false: bool
    verdict: LineVerdict | None
    report: CheckReport

    @property
    def passed(self) -> bool:
        """Whether a false line was let pass."""
        return self.false and (self.verdict is None or self.verdict.ok)

    @property
    def accused(self) -> list[LineVerdict]:
        """True lines that are called false: others than the broken one, and that one if it is true."""
        others = [v for v in self.report if v.status == "false" and v is not self.verdict]
        return [
            *others,
            *([self.verdict] if self.verdict and not self.false and self.verdict.status == "false" else []),
        ]

    @property
    def found(self) -> bool:
        """Whether the part that is wrong was named, with a change that makes the line true."""
        return self.verdict is not None and self.verdict.status == "false" and bool(self.verdict.mistake)

    @property
    def refused(self) -> bool:
        """Whether the line has no meaning, and a caret says where."""
        return self.verdict is not None and self.verdict.status == "unread" and bool(self.verdict.part)

    @property
    def restored(self) -> bool:
        """Whether the line as it should be is the one that stood there."""
        return self.verdict is not None and _squeezed(self.verdict.suggestion) == _squeezed(self.planted.before)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def outcome(identity: Identity, way: str, rng: random.Random) -> Outcome | None:
    """Plant, ask the oracle, check; None where nothing can be planted, or evaluated."""
    made = planted(identity, way, rng)
    if made is None:
        return None
    false = Oracle(made).is_false()
    if false is None:
        return None
    report = check(made.text)
    squeezed = _squeezed(made.line)
    before = sum(_squeezed(step.split("\n")[-1]) == squeezed for step in made.steps[: made.at])  # that read the same
    verdict = next(iter([v for v in report if _squeezed(v.text) == squeezed][before:]), None)
    return Outcome(made, false, verdict, report)
