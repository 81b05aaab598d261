"""The steps by which a random expression grows; each gives a new item for the pool, or ``None`` where it does not fit.

A step draws from the generator ``g`` (see ``generate.py``) and says which options it needs.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ricci.testing import domains
from ricci.testing.over import KEEP, REDUCE
from ricci.testing.raw import Raw

if TYPE_CHECKING:
    from ricci.testing.generate import Generator, Item, Options

_LABELS = 6  # the most in one product, so that loops over all assignments stay short
_COEFS = (1, 1, 1, -1, -1, 2, -3, 4, Fraction(1, 2), Fraction(-2, 3), 0.1, -0.7, 0)
_EXACT = (1, 1, -1, 2, -3, Fraction(1, 2))


def product_step(g: Generator) -> Item | None:
    """Operands with labels drawn at random; labels of one size are shared more often than not."""
    args = [g.operand() for _ in range(g.rng.choice((1, 2, 2, 3, 3, 4)))]
    number: list[int] = []  # the size of each label
    size = {}
    labels = []
    for item in args:
        own = []
        for n, nominal in zip(item.table.shape, item.sizes, strict=True):
            fit = [label for label, m in enumerate(number) if m == n]
            if not fit or (g.rng.random() < 0.35 and len(number) < _LABELS):
                fit = [len(number)]
                number.append(n)
            own.append(g.rng.choice(fit))
            size.setdefault(own[-1], nominal)
        labels.append(tuple(own))
    if len(number) > _LABELS:
        return None
    kind = "contract" if g.rng.random() < 0.3 else "product"
    further = _further_labels(g, len(number)) if kind == "product" else {}
    out = [label for label in [*size, *further] if g.rng.random() < 0.5][: g.options.order]
    g.rng.shuffle(out)
    size |= further
    raw = Raw(kind, tuple([a.raw for a in args]), (tuple(labels), tuple(out), tuple(further.items())))
    return g.finish(raw, args, tuple([size[label] for label in out]), True)


def _further_labels(g: Generator, first: int) -> dict:
    """Sometimes a label that no operand carries: in the output it broadcasts, otherwise it counts."""
    return {first: g.size(g.extent())} if g.rng.random() < 0.2 else {}


def sum_step(g: Generator) -> Item | None:
    """Terms of one shape, scalars among them, some of them twice."""
    first = g.operand()
    terms = [first]
    for _ in range(g.rng.choice((0, 1, 1, 2, 3))):
        other = g.rng.choice(terms) if g.rng.random() < 0.25 else g.operand()
        fitted = other if not other.sizes else g.fitted(other, first)
        if fitted is not None and (fitted.sizes == () or fitted.table.shape == first.table.shape):
            terms.append(fitted)
    g.rng.shuffle(terms)
    return _added(g, terms, [g.rng.choice(_EXACT if g.rng.random() < 0.5 else _COEFS) for _ in terms])


def _added(g: Generator, terms: list[Item], coefs: list) -> Item | None:
    sizes = max((t.sizes for t in terms), key=len)
    raw = Raw("sum", tuple([t.raw for t in terms]), (tuple(coefs),))
    return g.finish(raw, terms, sizes, domains.exact(coefs))


def common_step(g: Generator) -> Item | None:
    """``A[i,k] B[k,j] + c A[i,k] C[k,j]``: a factor common to all terms, contracted or not."""
    left, like = g.pick(), g.pick()
    others = [like, *[g.fitted(g.pick(), like) for _ in range(g.rng.randint(1, 2))]]
    size = {}
    labels: list[list[str]] = [[], []]
    for own, item in zip(labels, (left, like), strict=True):
        for n, nominal in zip(item.table.shape, item.sizes, strict=True):
            fit = [label for label, (m, _) in size.items() if m == n]
            own.append(g.rng.choice(fit) if fit and g.rng.random() < 0.6 else f"i{len(size)}")
            size.setdefault(own[-1], (n, nominal))
    if len(size) > _LABELS:
        return None
    out = [label for label in size if g.rng.random() < 0.6][: g.options.order]
    terms = []
    for other in others:
        if other is not None and other.table.shape == like.table.shape:
            raw = Raw("product", (left.raw, other.raw), (tuple(map(tuple, labels)), tuple(out), ()))
            terms.append(g.finish(raw, [left, other], tuple([size[label][1] for label in out]), True))
    if None in terms:
        return None
    return _added(g, terms, [g.rng.choice((1, -1, 2, Fraction(1, 3))) for _ in terms])  # type: ignore[arg-type]


def power_step(g: Generator) -> Item | None:
    base = g.rng.choice((g.operand, g.compound))()
    exponent = g.rng.choice((2, 2, 3, -1, -1, -2, 0, 1, Fraction(1, 2), Fraction(-1, 2)))
    fit = (0.1, 50) if isinstance(exponent, Fraction) else None
    if fit and not domains.within(base.table, fit):
        return None
    if exponent < 0 and not domains.within(map(abs, base.table), (0.1, domains.LARGEST)):
        return None
    n = g.leaf(Raw("number", (), (exponent,)), ())
    whole = exponent in (0, 1, 2, 3)
    return g.finish(Raw("elementwise", (base.raw, n.raw), ("power",)), [base, n], base.sizes, whole)


def unary_step(g: Generator) -> Item | None:
    x = g.rng.choice((g.operand, g.compound))()
    fit = [op for op, bounds in domains.UNARY.items() if domains.within(x.table, bounds)]
    if x.exact:
        fit += domains.JUMPING_UNARY
    op = g.rng.choice(fit)
    return g.finish(Raw("elementwise", (x.raw,), (op,)), [x], x.sizes, op in domains.KEEPS_EXACTNESS)


def binary_step(g: Generator) -> Item | None:
    x, y = _pair(g)
    if y is None:
        return None
    ops: list[str] = list(domains.BINARY)
    if x.exact and y.exact:
        ops += domains.COMPARISONS
    op = g.rng.choice(ops)
    if op in domains.BINARY and not domains.defined(op, (x.table, y.table)):
        return None
    sizes = x.sizes or y.sizes
    return g.finish(Raw("elementwise", (x.raw, y.raw), (op,)), [x, y], sizes, op in domains.KEEPS_EXACTNESS)


def where_step(g: Generator) -> Item | None:
    """``where(a < b, x, y)``, the comparison being exact."""
    exact = [item for item in g.pool if item.exact]
    if not exact:
        return None
    x, y = _pair(g)
    like = x if x.sizes or y is None else y
    a, b = g.fitted(g.rng.choice(exact), like), g.number()
    if y is None or a is None or not a.exact or not b.exact or a.table.shape != like.table.shape:
        return None
    test = g.finish(Raw("elementwise", (a.raw, b.raw), (g.rng.choice(domains.COMPARISONS),)), [a, b], a.sizes, True)
    if test is None:
        return None
    raw = Raw("elementwise", (test.raw, x.raw, y.raw), ("where",))
    return g.finish(raw, [test, x, y], like.sizes, True)


def _pair(g: Generator) -> tuple[Item, Item | None]:
    """Two operands of one shape, or one of them a scalar."""
    x = g.operand()
    y = g.number() if g.rng.random() < 0.2 else g.pick()
    if x.sizes and y.sizes:
        y = g.fitted(y, x)
        if y is not None and y.sizes and y.table.shape != x.table.shape:
            y = None
    return (y, x) if y is not None and g.rng.random() < 0.3 else (x, y)


def over_step(g: Generator) -> Item | None:
    """A reduction, or a function along an axis."""
    x = g.pick()
    if not x.sizes:
        return None
    name = g.rng.choice([*REDUCE, *KEEP])
    single = name in ("argmax", "argmin", "cumsum", "cumprod", "sort", "argsort")
    axes = tuple(g.rng.sample(range(len(x.sizes)), 1 if single else g.rng.randint(1, len(x.sizes))))
    jumps = name in ("argmax", "argmin", "argsort", "any", "all", "hardmax", "hardmin")
    if (jumps and not x.exact) or (name.startswith("arg") and not g.options.integers):
        return None
    total = name in ("sum", "prod", "any", "all", "cumsum", "cumprod", "sort", "argsort")
    if not total and not (x.table.entries and domains.within(x.table, (-20, 20))):
        return None
    sizes = x.sizes if name in KEEP else tuple([s for axis, s in enumerate(x.sizes) if axis not in axes])
    exact = jumps or name in ("sum", "prod", "max", "min", "cumsum", "cumprod", "sort")
    item = g.finish(Raw("over", (x.raw,), (name, axes)), [x], sizes, exact)
    small = name in ("std", "norm") and item is not None and not domains.within(item.table, (0.1, domains.LARGEST))
    return None if small else item


_OF_MATRICES = ("det", "logdet", "slogdet_sign", "inv", "cholesky", "eigvalsh", "svdvals", "solve", "triangular_solve")


def matrix_step(g: Generator) -> Item | None:
    """A function of matrices, made diagonally dominant first, so that all of them are well conditioned."""
    x = g.pick()
    if len(x.sizes) < 2 or x.table.shape[-1] != x.table.shape[-2] or not domains.within(x.table, (-4, 4)):
        return None
    b = tuple(range(len(x.sizes) - 2))
    n = x.sizes[-1]
    delta = g.leaf(Raw("delta", (), (n,)), (n, n))
    eye = Raw("product", (delta.raw,), ((("r", "c"),), (*b, "r", "c"), tuple(zip(b, x.sizes, strict=False))))
    wide = g.finish(eye, [delta], x.sizes, True)
    assert wide is not None
    a = _added(g, [x, wide], [1, 16])
    op = g.rng.choice(_OF_MATRICES)
    if a is None or (op == "triangular_solve" and g.options.notation):
        return None
    if op == "svdvals" and g.options.symbolic:
        return None  # how many values there are must be known beforehand
    own = {"inv": (n, n), "cholesky": (n, n), "eigvalsh": (n,), "svdvals": (n,)}.get(op, ())
    if op in ("solve", "triangular_solve"):
        return _solve(g, a, op)
    return g.finish(Raw("function", (a.raw,), (op, ())), [a], (*x.sizes[:-2], *own), False)


def _solve(g: Generator, a: Item, op: str) -> Item | None:
    right = g.pick()
    lead = a.table.shape[:-1]
    if right.table.shape[: len(lead)] != lead:
        return None
    columns = len(right.sizes) - len(lead)
    params = (columns,) if op == "solve" else (columns, g.rng.random() < 0.5, g.rng.random() < 0.5)
    return g.finish(Raw("function", (a.raw, right.raw), (op, params)), [a, right], right.sizes, False)


def structure_step(g: Generator) -> Item | None:
    """A structure by itself."""
    n, m, k = g.extent(), g.extent(), g.extent()
    a, b, c = g.size(n), g.size(m), g.size(k)
    shift = g.rng.randint(-1, 1)
    choices = [
        (Raw("delta", (), (a,)), (a, a)),
        (Raw("delta", (), (a,)), (a, a)),
        (Raw("one", (), ((a, b),)), (a, b)),
        (Raw("zero", (), ((a,),)), (a,)),
        (Raw("triangle", (), (a, a, 0)), (a, a)),
    ]
    if not g.options.notation:
        relation, coefs = g.rng.choice(("==", ">=")), tuple([g.rng.choice((-2, -1, 1, 1, 2, 0)) for _ in range(3)])
        const = shift if any(coefs) else 0
        choices += [
            (Raw("place", (), (g.rng.randrange(n) if n else 0, a)), (a,)),
            (Raw("triangle", (), (a, b, shift)), (a, b)),
            (Raw("window", (), ((1, 1), 0, a, (b, c))), (a, b, c)),
            (Raw("window", (), ((g.rng.choice((1, 2, -1)),), shift, a, (b,))), (a, b)),
            (Raw("affine", (), (relation, coefs, const, (a, b, c))), (a, b, c)),
            (Raw("merge", (), ((a, b),)), (a * b, a, b)),
        ]
    raw, sizes = g.rng.choice(choices)
    return g.leaf(raw, sizes) if len(sizes) <= g.options.order else None


def reshape_step(g: Generator) -> Item | None:
    """Two axes merged into one, and often split again."""
    x = g.pick()
    if len(x.sizes) < 2:
        return None
    a, b, *rest = range(len(x.sizes))
    m = Raw("merge", (), ((x.sizes[0], x.sizes[1]),))
    merge = g.leaf(m, (x.sizes[0] * x.sizes[1], x.sizes[0], x.sizes[1]))
    raw = Raw("product", (x.raw, merge.raw), (((a, b, *rest), ("all", a, b)), ("all", *rest), ()))
    flat = g.finish(raw, [x, merge], (merge.sizes[0], *x.sizes[2:]), True)
    if flat is None or g.rng.random() < 0.3:
        return flat
    labels = (("all", *rest), ("all", "p", "q"))
    raw = Raw("product", (flat.raw, merge.raw), (labels, ("p", "q", *rest), ()))
    return g.finish(raw, [flat, merge], x.sizes, True)


def read_step(g: Generator) -> Item | None:
    """``x[i+k] w[k]``: both of them inputs, and ``i`` at all places where the reads are inside."""
    inputs = [item for item in g.pool if item.raw.kind == "variable" and item.sizes]
    if len(inputs) < 2:
        return None
    x, w = g.rng.sample(inputs, 2)
    n, k = x.table.shape[0], w.table.shape[0]
    if not 0 < k <= n or len(x.sizes) + len(w.sizes) > _LABELS:
        return None
    places = x.sizes[0] - w.sizes[0] + 1
    read = (x.sizes[0], places, w.sizes[0])
    window = g.leaf(Raw("window", (), ((1, 1), 0, read[0], read[1:])), read)
    rest, more = (tuple([(name, axis) for axis in range(1, len(e.sizes))]) for name, e in (("x", x), ("w", w)))
    labels = (("j", *rest), ("j", "i", "k"), ("k", *more))
    raw = Raw("product", (x.raw, window.raw, w.raw), (labels, ("i", *rest, *more), ()))
    return g.finish(raw, [x, window, w], (places, *x.sizes[1:], *w.sizes[1:]), True)


def gather_step(g: Generator) -> Item | None:
    """``x[t[…], …]``: reads along the first axis at places given by an integer input."""
    x = g.pick()
    if not x.table.shape or not x.table.shape[0]:
        return None
    least = int(g.options.notation)  # z[t] reads at the index t, so a scalar place cannot be written
    t = g.places([g.extent() for _ in range(g.rng.randint(least, 2))], x.table.shape[0])
    hot = g.finish(Raw("one_hot", (t.raw,), (x.sizes[0],)), [t], (*t.sizes, x.sizes[0]), True)
    if hot is None:
        return None
    b = tuple([f"b{axis}" for axis in range(len(t.sizes))])
    rest = tuple(range(1, len(x.sizes)))
    raw = Raw("product", (hot.raw, x.raw), (((*b, 0), (0, *rest)), (*b, *rest), ()))
    return g.finish(raw, [hot, x], (*t.sizes, *x.sizes[1:]), True)


def constant_step(g: Generator) -> Item | None:
    """A number with a name, a symbolic size, or an array."""
    kind = g.rng.choice(("pi", "size", "array"))
    if kind == "pi":
        return g.leaf(Raw("pi"), (), False)
    if kind == "size":
        return g.leaf(Raw("size", (), (g.size(g.extent()),)), ())
    if not g.options.arrays or g.options.notation:
        return None
    shape = (g.extent(), g.extent())
    values = [g.rng.randint(-4, 4) / 2 for _ in range(shape[0] * shape[1])]
    return g.leaf(Raw("array", (), (np.array(values, dtype=float).reshape(shape),)), shape)


def _always(options: Options) -> bool:
    return True


def _functions(options: Options) -> bool:
    return options.functions


STEPS: dict[Callable[[Generator], Item | None], Callable[[Options], bool]] = {
    product_step: _always,
    sum_step: _always,
    common_step: _always,
    power_step: _always,
    constant_step: _always,
    unary_step: _functions,
    binary_step: _functions,
    where_step: _functions,
    over_step: _functions,
    matrix_step: lambda options: options.functions and options.order > 1,
    reshape_step: lambda options: options.structures and not options.notation,
    read_step: lambda options: options.structures,
    gather_step: lambda options: options.structures and options.integers,
}
