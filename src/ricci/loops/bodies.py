"""What a loop repeats: an expression of the state, of slices and of what is the same in all steps.

    s[0] = init,   s[t+1] = body(s[t], x[t], p)

The node has all states for its value, one after another, the first included: ``T + 1`` of them along its first axis.
Its operands are what is fixed, ``p``; what is sliced along the first axis, ``x``; and the initial state. A *forced*
loop has a body that is linear in the state, and adds something of its own in every step,

    s[0] = f[0],   s[t+1] = body(s[t], x[t], p) + f[t+1]

with ``f`` for its last operand. Derivatives of loops are forced loops.

The body is part of the row of the function. It holds placeholders, whose names are the same in all loops, so equal
loops are one node. What the other rooms know of a loop is that it is a function over all axes of its operands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from typing import Any

from ricci.caches import lazy
from ricci.expr import Expr, Function, Shape, Size, Sum, Variable, add, rebuild, topological, transform, variable
from ricci.expr.moving import transposed
from ricci.expr.settle import links, own_sizes
from ricci.expr.walk import rewritten
from ricci.expr.widen import batched

STATE, SLICE, FIXED = "loop.s", "loop.x", "loop.p"  # the names of placeholders
_numbers = count()


@dataclass(frozen=True, eq=False)
class LoopBody:
    """One step: the next state, and the placeholders in it."""

    result: Expr
    state: Variable
    slices: tuple[Variable, ...]
    fixed: tuple[Variable, ...]
    length: Size
    forced: bool = False
    whole: bool = False  # whether all that a step computes stays in it, so that nothing is kept but states
    last: bool = False  # whether the last state is the value, and the others are not kept

    def operands(self, args: Sequence[Any]) -> tuple[list[Any], list[Any], Any]:
        """What is fixed, what is sliced, and the initial state or what is added."""
        number = len(self.fixed)
        return list(args[:number]), list(args[number:-1]), args[-1]

    def links(self, node: Function) -> list[tuple[Size, Size]]:
        """Pairs of sizes that a loop makes equal: those of operands and their placeholders, and those in the body."""
        fixed, slices, last = self.operands(node.args)
        own = self.state.shape
        pairs = [(v.shape, x.shape) for v, x in zip(self.fixed, fixed, strict=True)]
        pairs += [((self.length, *v.shape), x.shape) for v, x in zip(self.slices, slices, strict=True)]
        pairs += [(((self.length + 1, *own) if self.forced else own), last.shape), (own, self.result.shape)]
        found = [pair for one, other in pairs for pair in zip(one, other, strict=False)]
        return found + [pair for inner in topological(self.result) for pair in links(inner)]

    def sizes(self) -> tuple[Size, ...]:
        """All sizes in it."""
        shapes = [v.shape for v in (self.state, *self.slices, *self.fixed)]
        inner = [size for node in topological(self.result) for size in own_sizes(node)]
        return (self.length, *[size for shape in shapes for size in shape], *inner)

    def resized(self, resize: Callable[[Size], Size]) -> LoopBody:
        """The same with other sizes, and with placeholders that occur nowhere else."""
        own = (self.state, *self.slices, *self.fixed)
        new: dict[Expr, Variable] = {v: fresh(tuple(map(resize, v.shape))) for v in own}
        result = transform(self.result, lambda node, args: new[node] if node in new else rebuild(node, args, resize))
        slices, fixed = [tuple([new[v] for v in part]) for part in (self.slices, self.fixed)]
        return replace(
            self, result=result, state=new[self.state], slices=slices, fixed=fixed, length=resize(self.length)
        )

    def fresh(self) -> LoopBody:
        """The same with placeholders that occur nowhere else, so that expressions may be put in their place."""
        own = (self.state, *self.slices, *self.fixed)
        new = {v: fresh(v.shape) for v in own}
        (result,) = replaced([self.result], new)
        renamed = [tuple([new[v] for v in part]) for part in (self.slices, self.fixed)]
        return replace(self, result=result, state=new[self.state], slices=renamed[0], fixed=renamed[1])

    @lazy
    def opened(self) -> LoopBody:
        """One that is fresh, for all derivatives: so they are made of the same nodes, and what is equal is one loop."""
        return self.fresh()

    @lazy
    def known(self) -> dict[Any, Any]:
        """What was made of it."""
        return {}

    def once(self, what: Any, make: Callable[[], Any]) -> Any:
        """What is made of it once."""
        if what not in self.known:
            self.known[what] = make()
        return self.known[what]

    def with_columns(self, sizes: Shape) -> LoopBody:
        """The same for states that have further axes behind their own; the body is linear in the state."""
        return self.once(sizes, lambda: self._with_columns(sizes)) if sizes else self

    def _with_columns(self, sizes: Shape) -> LoopBody:
        state = fresh((*self.state.shape, *sizes))
        return replace(self, state=state, result=along_columns(self.result, self.state, state))


def fresh(shape: Shape, complex: bool = False) -> Variable:
    """A placeholder that occurs nowhere else."""
    return variable(f"loop.{next(_numbers)}", shape, complex=complex)


def replaced(roots: Sequence[Expr], values: Mapping[Any, Expr]) -> list[Expr]:
    """``roots`` with nodes replaced, all at once; of a sum that is part of a longer one, its terms."""
    sums = [node for node in values if isinstance(node, Sum)]

    def new(node: Expr, args: Sequence[Expr]) -> Expr | None:
        found = values.get(node)
        if found is None and sums and isinstance(node, Sum):
            parts = (_with_part(node, args, part, values[part]) for part in sums)
            found = next((made for made in parts if made is not None), None)
        return found

    return rewritten(roots, new)


def _with_part(node: Sum, args: Sequence[Expr], part: Sum, value: Expr) -> Expr | None:
    """A sum with ``value`` for those of its terms that are a multiple of another sum; none if they are not there."""
    coefs = dict(zip(node.args, node.coefs, strict=True))
    if not all(a in coefs for a in part.args):
        return None
    first = part.coefs[0]
    ratio = coefs[part.args[0]] * (1 / first if isinstance(first, float) else Fraction(1, first))
    if not all(coefs[a] == ratio * c for a, c in zip(part.args, part.coefs, strict=True)):
        return None
    rest = [(c, new) for c, a, new in zip(node.coefs, node.args, args, strict=True) if a not in part.args]
    return add([*rest, (ratio, value)])


def along_columns(e: Expr, old: Expr, new: Expr) -> Expr:
    """``e``, which is linear in ``old``, of ``new`` in its place, which has further axes behind those of ``old``."""
    order, further = len(old.shape), len(new.shape) - len(old.shape)
    for k in range(order, order + further):
        wide = new if k == order + further - 1 else fresh(new.shape[: k + 1])
        front = transposed(wide, (k, *range(k)))
        (e,) = batched([e], {old: front}, new.shape[k])
        e, old = transposed(e, (*range(1, len(e.shape)), 0)), wide
    return e


def is_loop(e: Expr) -> bool:
    return isinstance(e, Function) and e.op.loop is not None


def dependent(root: Expr, on: Sequence[Expr]) -> set[Expr]:
    """The nodes under ``root`` that depend on any of these."""
    found = set(on)
    for node in topological(root):
        if any(a in found for a in node.args):
            found.add(node)
    return found
