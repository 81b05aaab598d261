"""Which axes of an expression may be exchanged without changing it.

An exchange of two axes is pushed down to the operands, where it is another exchange, and the node is built again; it
is symmetric if that gives the same object. Two things make this find more than the constructors do by themselves:

- an operand that is symmetric in two axes is left as it is, and
- where such an operand has *summed* axes, as ``D`` in ``A[i,n] D[i,j] A[j,p]``, it is replaced, for the comparison
  only, by a product that shows the symmetry: ``d[i,h] d[j,h]`` with an input ``d`` that occurs nowhere else.

Both passes, down for the exchanges that are asked for and up for their results, go through every node once. What they
do not find, :func:`unchanged` may: it multiplies the expression out, to a bounded number of terms, and compares these.
That is how the Hessian of a network is seen to be symmetric, whichever end it was multiplied from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from ricci.budget import spend
from ricci.expr import (
    Elementwise,
    Expr,
    Function,
    Labels,
    Number,
    Product,
    Size,
    Structure,
    Sum,
    Variable,
    add,
    affine,
    conj,
    elementwise,
    function,
    index_size,
    product,
    topological,
    variable,
)
from ricci.expr.structures import TRANSPOSABLE, is_zero
from ricci.simplify.match import sizes_of

Pair = tuple[int, int]
Term = tuple[Expr, tuple[Hashable, ...]]
MOST_AXES = 6  # of an operand of a contraction that is looked at
MOST_WORK = 200_000  # axes of operands of nodes that are looked at, all exchanges together
FEWEST = 6  # exchanges that are tried in whatever is large
MOST_TERMS, MOST_FACTORS = 32, 48  # of an expression multiplied out


def symmetries(e: Expr) -> list[Pair]:
    """The pairs of axes under whose exchange ``e`` is seen to be unchanged.

    Such axes form groups, so each axis is tried with one of each group; in what is very large, with a few.

    >>> from ricci.expr import product, variable
    >>> x = variable("x", 2)
    >>> symmetries(product([(x, "mn"), (x, "mp")], "np"))
    [(0, 1)]
    """
    axes = range(len(e.shape))
    first = list(axes)  # the first of the axes with which each may be exchanged
    room = max(FEWEST, MOST_WORK // sum((1 + len(n.args)) * (1 + len(n.shape)) for n in topological(e)))
    for q in axes:
        pairs = [(p, q) for p in dict.fromkeys(first[:q]) if e.shape[p] == e.shape[q]][:room]
        room = max(0, room - len(pairs))
        known = _Exchanges(e, pairs).result if pairs else {}
        found = (p for p, _ in pairs if known[e, (p, q)] is e or unchanged(e, _swapped((p, q), len(axes))))
        first[q] = next(found, q)
    return [(p, q) for p in axes for q in axes[p + 1 :] if first[p] == first[q]]


def symmetric_axes(e: Expr) -> list[Pair]:
    """As :func:`symmetries`, for operands of moderate order."""
    return symmetries(e) if len(e.shape) <= MOST_AXES else []


def unchanged(e: Expr, order: Sequence[int]) -> bool:
    """Whether ``e`` is seen to stay the same when axis ``order[k]`` becomes axis ``k``; sizes must agree.

    >>> from ricci.expr import product, variable
    >>> a, b = variable("a", 2), variable("b", 2)
    >>> kron = product([(a, "ij"), (b, "kl"), (a, "pq"), (b, "rs")], "ijklpqrs")
    >>> unchanged(kron, [4, 5, 6, 7, 0, 1, 2, 3]), unchanged(kron, [4, 1, 2, 3, 0, 5, 6, 7])
    (True, False)
    """
    if any(e.shape[a] != size for a, size in zip(order, e.shape, strict=True)):
        return False
    terms = multiplied_out(e)
    if terms is None:
        return False
    name: dict[Hashable, Hashable] = dict(enumerate(order))
    axes = range(len(e.shape))
    sizes: dict[Hashable, Size] = dict(enumerate(e.shape))
    plain: Counter[Expr] = Counter()
    for coef, factors in terms:
        turned = [(a, tuple([name.get(x, x) for x in labels])) for a, labels in factors]
        plain[product(factors, axes, sizes)] += coef  # type: ignore[assignment]
        plain[product(turned, axes, sizes)] -= coef  # type: ignore[assignment]
    return not any(plain.values())


def is_of_kind(e: Expr, symmetry: str) -> bool:
    """Whether a matrix is seen to be what can be declared of one; that it is positive or orthogonal only if it is.

    >>> from ricci.expr import product, variable
    >>> x = variable("x", 2)
    >>> is_of_kind(product([(x, "mn"), (x, "mp")], "np"), "symmetric")
    True
    """
    if isinstance(e, Variable) and e.symmetry == symmetry:
        return True
    turned = product([(e, (1, 0))], (0, 1))
    if symmetry == "symmetric":
        return turned is e or bool(symmetries(e))
    if symmetry == "hermitian":
        return is_zero(add([(1, e), (-1, conj(turned))]))
    return symmetry == "antisymmetric" and is_zero(add([(1, e), (1, turned)]))


def _equal_sizes(e: Expr) -> list[Pair]:
    axes = range(len(e.shape))
    return [(p, q) for p in axes for q in axes[p + 1 :] if e.shape[p] == e.shape[q]]


def _swapped(pair: Pair, order: int) -> list[int]:
    p, q = pair
    return [q if axis == p else p if axis == q else axis for axis in range(order)]


class _Exchanges:
    """``result[node, pair]`` for all exchanges that those of ``root`` lead to."""

    def __init__(self, root: Expr, pairs: Iterable[Pair]):
        order = topological(root)
        wanted: dict[Expr, dict[Pair, None]] = {root: dict.fromkeys(pairs)}
        for node in reversed(order):
            for pair in list(wanted.get(node, ())):
                spend()
                for arg, below in _below(node, pair):
                    wanted.setdefault(arg, {})[below] = None
        self.result: dict[tuple[Expr, Pair], Expr] = {}
        for node in order:
            for pair in wanted.get(node, ()):
                self.result[node, pair] = self.exchange(node, pair)

    def exchange(self, node: Expr, pair: Pair) -> Expr:
        """``node`` with two axes exchanged; the operands have been done."""
        if isinstance(node, Product):
            return self.product(node, pair)
        if isinstance(node, Sum):
            return add([(c, self.result[a, pair]) for c, a in zip(node.coefs, node.args, strict=True)])
        if isinstance(node, Elementwise):
            return elementwise(node.op, *[self.result[a, pair] if a.shape else a for a in node.args])
        if isinstance(node, Function) and _passes(node, pair):
            return function(node.op, tuple([self.result[a, pair] for a in node.args]), node.params)
        if isinstance(node, Structure) and node.relation[0] in ("==", ">="):
            return _exchanged_structure(node, pair)
        return product([(node, _swapped(pair, len(node.shape)))], range(len(node.shape)))

    def product(self, node: Product, pair: Pair) -> Expr:
        first, second = (node.out[axis] for axis in pair)
        name = {first: second, second: first}
        factors = []
        for a, labels in node.factors():
            inner = _places(labels, first, second)
            if inner is not None and (a, inner) in self.result:
                factors.append((self.result[a, inner], labels))
            else:
                factors.append((a, tuple([name.get(x, x) for x in labels])))
        built = product(factors, node.out, sizes_of(node))
        if built is node or not node.sums:
            return built
        plain, turned = self.shown(node.factors()), self.shown(factors)
        if plain is not None and turned is not None and product(plain, node.out) is product(turned, node.out):
            return node
        return built

    def shown(self, factors: Iterable[tuple[Expr, Labels]]) -> list | None:
        """The factors, the symmetric ones among them as products that show it; None if there are none such."""
        result: list = []
        found = False
        for at, (a, labels) in enumerate(factors):
            pairs = [pair for pair in _inner_pairs(a) if self.result.get((a, pair)) is a]
            if pairs:
                found = True
                result += _proxy(a, labels, pairs, at)
            else:
                result.append((a, labels))
        return result if found else None


def _below(node: Expr, pair: Pair) -> list[tuple[Expr, Pair]]:
    """The exchanges of operands that one of ``node`` needs."""
    if isinstance(node, (Sum, Elementwise)):
        return [(a, pair) for a in node.args if a.shape]
    if isinstance(node, Function) and _passes(node, pair):
        return [(a, pair) for a in node.args]
    if not isinstance(node, Product):
        return []
    first, second = (node.out[axis] for axis in pair)
    wanted = []
    for a, labels in node.factors():
        inner = _places(labels, first, second)
        if inner is not None:
            wanted.append((a, inner))
        if node.sums and len(node.args) > 1:
            wanted += [(a, other) for other in _inner_pairs(a)]
    return wanted


def _inner_pairs(a: Expr) -> list[Pair]:
    """The exchanges that are looked at in an operand of a contraction; inputs and short relations have none."""
    return _equal_sizes(a) if a.args and len(a.shape) <= MOST_AXES else []


def _places(labels: Labels, first: int, second: int) -> Pair | None:
    """Where both labels stand, each once."""
    if labels.count(first) != 1 or labels.count(second) != 1:
        return None
    p, q = labels.index(first), labels.index(second)
    return (min(p, q), max(p, q))


def _passes(node: Function, pair: Pair) -> bool:
    """Whether an exchange of axes of the result is one of the same axes of the operands."""
    lead = len(node.args[0].shape) - node.op.axes_of(node.params)[0]
    return pair[1] < lead or (node.op.name in TRANSPOSABLE and pair[0] >= lead)


def _exchanged_structure(node: Structure, pair: Pair) -> Expr:
    order = _swapped(pair, len(node.shape))
    kind, coefs, const = node.relation
    return affine(kind, [coefs[axis] for axis in order], const, tuple([node.shape[axis] for axis in order]))


def _proxy(a: Expr, labels: Labels, pairs: Sequence[Pair], at: int) -> list:
    """Factors that stand for ``a`` and are symmetric where it is: one input for all axes that may be exchanged."""
    group = list(range(len(a.shape)))
    for p, q in pairs:
        low, high = sorted((group[p], group[q]))
        group = [low if g == high else g for g in group]
    hidden, inner = index_size(f"symmetry {a.key:x}"), ("hidden", at)
    return [
        (variable(f"symmetry {a.key:x} {g}", (size, hidden)), (label, inner))
        for g, size, label in zip(group, a.shape, labels, strict=True)
    ]


def multiplied_out(e: Expr, every: bool = False) -> list[tuple[Number, list[Term]]] | None:
    """``e`` as a sum of products, contractions opened and sums of products distributed; None if that is too long.

    With ``every``, sums of what is no product are distributed too.
    """
    waiting: list[tuple[Number, list[Term]]] = [(1, [(e, tuple(range(len(e.shape))))])]
    done: list[tuple[Number, list[Term]]] = []
    fresh = 0
    while waiting:
        coef, factors = waiting.pop()
        spend()
        at = next((p for p, (f, _) in enumerate(factors) if _opens(f) or (every and isinstance(f, Sum))), None)
        if at is None:
            done.append((coef, factors))
            continue
        f, labels = factors.pop(at)
        fresh += 1
        if isinstance(f, Product):
            name: dict[Hashable, Hashable] = dict(zip(f.out, labels, strict=True))
            factors += [(a, tuple([name.get(x, (fresh, x)) for x in own])) for a, own in f.factors()]
            waiting.append((coef, factors))
        elif isinstance(f, Sum):
            waiting += [(coef * c, [*factors, (a, labels)]) for c, a in zip(f.coefs, f.args, strict=True)]
        if len(waiting) + len(done) > MOST_TERMS or len(factors) > MOST_FACTORS:
            return None
    return done


def _opens(f: Expr) -> bool:
    """Products, multiples, and sums with a product among their terms; the others are as good as inputs."""
    if isinstance(f, Sum):
        return len(f.args) == 1 or any(isinstance(a, Product) for a in f.args)
    return isinstance(f, Product)
