"""Where in an expression a value that is not finite comes from.

A program is rewritten before it is compiled, so the search is made in what the user's lines made, node by node. It goes
back from a result that is not finite to an operand that is not, until the operands are: there it arises. So an infinity
that does no harm, as in the branch that ``where`` does not take, is passed over.

A derivative is infinite where the slope of one of the functions is, as that of a square root at 0, though all values
are finite. So for derivatives each node is asked for its own slope.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ricci.calculus.graph import pushforward
from ricci.compiler.pipeline import evaluate, prepare
from ricci.expr import (
    Constant,
    Elementwise,
    Expr,
    Function,
    Product,
    Structure,
    Sum,
    Variable,
    one,
    rebuild,
    topological,
    variable,
)
from ricci.expr.walk import users
from ricci.tracing.frames import CodePlace
from ricci.tracing.recording import Static, carried

Bad = Callable[[Any], np.ndarray]
HIGHEST = 3  # the order up to which the slopes of functions are looked at
POWERS = {-1: "division", Fraction(1, 2): "sqrt", Fraction(-1, 2): "1/sqrt", 2: "square"}


class Evaluated:
    """Expressions with the value of every node; ``lines`` are those of the user's lines that made them."""

    def __init__(self, roots: Sequence[Expr | Static], lines: Mapping[Expr, CodePlace], inputs: Mapping[str, Any]):
        exprs = [root for root in roots if isinstance(root, Expr)]
        self.roots, self.lines = _opened(exprs, lines)
        nodes = [node for node in topological(*self.roots) if not isinstance(node, Structure)]
        found = evaluate(prepare(nodes, simplify=False), inputs)
        self.values = dict(zip(nodes, map(np.asarray, found), strict=True))

    def is_bad(self, node: Expr, bad: Bad) -> bool:
        """Whether a node has entries that are bad."""
        return node in self.values and bool(np.any(bad(self.values[node])))

    def origin(self, bad: Bad) -> Expr | None:
        """The node where the first bad result comes from."""
        node = next((root for root in self.roots if self.is_bad(root, bad)), None)
        while node is not None:
            lower = self._bad_operand(node, bad)
            if lower is None:
                return node
            node = lower
        return None

    def _bad_operand(self, node: Expr, bad: Bad) -> Expr | None:
        """An operand that is bad; in functions that work entry by entry, at the place where the node is."""
        place = self.place(node, bad)
        found = [a for a in node.args if self.is_bad(a, bad)]
        if isinstance(node, (Elementwise, Sum)):
            found = [a for a in found if np.any(bad(self._at(a, place)))]
        return found[0] if found else None

    def place(self, node: Expr, bad: Bad) -> tuple[int, ...]:
        """The first bad entry, of those that are NaN if there are any."""
        return first(self.values[node], bad)

    def _at(self, node: Expr, place: tuple[int, ...]) -> Any:
        value = self.values[node]
        return value[place] if value.shape else value[()]

    def line(self, node: Expr) -> CodePlace | None:
        """The user's line that made a node, or the nearest one that uses it."""
        above, wave, seen = users(*self.roots), [node], {node}
        while wave:
            for each in wave:
                if each in self.lines:
                    return self.lines[each]
            wave = [u for each in wave for u in above.get(each, ()) if u not in seen]
            seen.update(wave)
        return None

    def operands(self, node: Expr, place: tuple[int, ...]) -> str:
        """The operands of a node where it is bad, in words."""
        parts = []
        for k, a in enumerate(node.args):
            if isinstance(a, Constant) and isinstance(node, Elementwise) and node.op.name == "power":
                continue  # the exponent is in the name
            where = self._place_in(node, k, place)
            if a in self.values and where is not None:
                parts.append(f"{self.values[a][where]:.6g}")
            elif a in self.values:
                parts.append(f"an array of shape {self.values[a].shape}")
        return " and ".join(parts)

    def _place_in(self, node: Expr, k: int, place: tuple[int, ...]) -> tuple[int, ...] | None:
        """The entry of operand ``k`` that an entry of the node is made of, where it is a single one."""
        if isinstance(node, (Elementwise, Sum)):
            return place if node.args[k].shape else ()
        if isinstance(node, Product) and set(node.labels[k]) <= set(node.out):
            return tuple([place[node.out.index(label)] for label in node.labels[k]])
        return () if not node.args[k].shape else None

    def steepest(self, bad: Bad, near: Expr | None) -> tuple[Expr, np.ndarray] | None:
        """A function of finite operands whose derivatives, to some order, are not finite; and these.

        Those that share an operand with ``near``, a node of the derivative, come first.
        """
        close = {a for a in near.args if not isinstance(a, Constant)} if near is not None else set()
        functions = [node for node in topological(*self.roots) if isinstance(node, (Elementwise, Function))]
        for node in sorted(functions, key=lambda each: close.isdisjoint(each.args)):
            if not any(self.is_bad(a, bad) for a in node.args):
                slope = self._slope(node, bad)
                if slope is not None:
                    return node, slope
        return None

    def _slope(self, node: Expr, bad: Bad) -> np.ndarray | None:
        """The first derivative of a function by one of its operands that is bad."""
        if any(a not in self.values for a in node.args):
            return None
        stand_ins = [a if isinstance(a, Constant) else variable(f"a{k}", a.shape) for k, a in enumerate(node.args)]
        whole = rebuild(node, tuple(stand_ins))
        values = {v.name: self.values[a] for v, a in zip(stand_ins, node.args, strict=True) if isinstance(v, Variable)}
        for v in stand_ins:
            if not isinstance(v, Variable) or values[v.name].dtype.kind != "f":
                continue
            slope = whole
            for _ in range(HIGHEST):
                slope = pushforward(slope, {v: one(v.shape)})
                found = np.asarray(evaluate(prepare([slope], simplify=False), values)[0])
                if np.any(bad(found)):
                    return found
        return None


def _opened(roots: Sequence[Expr], lines: Mapping[Expr, CodePlace]) -> tuple[list[Expr], dict[Expr, CodePlace]]:
    """Expressions with the bodies of functions in their place, and the lines of what becomes of the nodes."""

    def step(node: Expr, args: tuple[Expr, ...]) -> Expr:
        body = node.op.body if isinstance(node, Function) else None
        return body(args) if body is not None else rebuild(node, args) if args != node.args else node

    known = dict(lines)
    while any(isinstance(node, Function) and node.op.body is not None for node in topological(*roots)):
        roots = carried(roots, step, known)
    return list(roots), known


def first(value: np.ndarray, bad: Bad) -> tuple[int, ...]:
    """The first bad entry, of those that are NaN if there are any."""
    wrong = bad(value)
    worst = wrong & np.isnan(value)
    return tuple(map(int, np.argwhere(worst if np.any(worst) else wrong)[0]))


def operation(node: Expr) -> str:
    """What a node does, in a word."""
    if isinstance(node, (Elementwise, Function)):
        last = node.args[-1]
        if node.op.name == "power" and isinstance(last, Constant):
            return POWERS.get(last.value, f"power {last.value}")  # type: ignore[arg-type, call-overload]
        return node.op.name
    if isinstance(node, Sum):
        return "difference" if any(isinstance(c, (int, float, Fraction)) and c < 0 for c in node.coefs) else "sum"
    return "product"
