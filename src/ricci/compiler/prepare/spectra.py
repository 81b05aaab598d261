"""Transforms of real signals, by halves: the other half of a spectrum is the conjugate of the first.

    the first half of fft(x), x being real      half_fft(x), which libraries call rfft
    real(bfft(y with zeros behind it))          hermitian_fft(y / w), which they call irfft, or hfft for fft

where ``w`` is 1, 2, 2, …: how often an entry of a half stands in the whole. The second one is what the first one
becomes in a derivative, and the other way round. So a gradient of a program with halves goes by halves too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ricci.expr import Constant, Elementwise, Expr, Function, Product, Structure, Sum, product, scale, topological
from ricci.expr.build.apply import function
from ricci.expr.moving import placed, sliced
from ricci.expr.structures import affine
from ricci.expr.walk import rewritten, users
from ricci.functions.fourier import HermitianWeights, half_fft, hermitian_fft, hermitian_weights

Factor = tuple[Expr, tuple[Any, ...]]
_SIGNS = {"fft": 1, "bfft": -1}


def by_halves(roots: Sequence[Expr]) -> list[Expr]:
    """``roots`` with transforms that take or give a real signal computed by halves, where halves are enough."""
    if not any(_is_transform(node) for node in topological(*roots)):
        return list(roots)
    roots = rewritten(roots, lambda node, args: _real_of(args[0]) if _is_real_part(node, args) else None)
    used = users(*roots)
    able = {
        node
        for node in used
        if _is_transform(node)
        and not node.args[0].complex
        and node not in roots
        and used[node]
        and all(isinstance(user, Product) and _reads_half(user, node) for user in used[node])
    }

    def step(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        reads = isinstance(node, Product) and any(a in able for a in node.args)
        return _of_halves(node, args, able) if reads else None  # type: ignore[arg-type]

    return rewritten(roots, step) if able else roots


def _is_real_part(node: Expr, args: tuple[Expr, ...]) -> bool:
    return isinstance(node, Elementwise) and node.op.name == "real" and _is_transform(args[0])


def _is_transform(node: Expr) -> bool:
    return isinstance(node, Function) and node.op.name in _SIGNS and isinstance(node.shape[-1], int)


def _half(n: Any) -> int:
    return n // 2 + 1


def _reader(factors: Sequence[Factor], label: int, out: Sequence[int], but: int) -> int | None:
    """The one structure that says which places along a label are read, where nothing else has to do with the label."""
    found = [p for p, (_, labels) in enumerate(factors) if label in labels and p != but]
    if len(found) != 1 or label in out or factors[but][1].count(label) > 1:
        return None
    structure, labels = factors[found[0]]
    if not isinstance(structure, Structure) or structure.relation[0] != "==" or labels.count(label) > 1:
        return None
    return found[0] if len(labels) <= 2 else None


def _reads_half(user: Product, node: Expr) -> bool:
    factors = list(user.factors())
    return all(_is_half_read(factors, p, user.out) for p, (a, _) in enumerate(factors) if a is node)


def _is_half_read(factors: Sequence[Factor], at: int, out: Sequence[int]) -> bool:
    label = factors[at][1][-1]
    reader = _reader(factors, label, out, at)
    return reader is not None and _last_read(*factors[reader], label) < _half(factors[at][0].shape[-1])  # type: ignore


def _last_read(structure: Expr, labels: tuple[int, ...], label: int) -> int:
    """The largest place along a label that a structure reads, if it is one after another; else one too large."""
    assert isinstance(structure, Structure)
    _, coefs, const = structure.relation
    at = labels.index(label)
    whole = all(isinstance(c, int) for c in (*coefs, const, *structure.shape))
    if not whole or abs(coefs[at]) != 1:
        return structure.shape[at]  # type: ignore[return-value]
    rest = [(c, n) for p, (c, n) in enumerate(zip(coefs, structure.shape, strict=True)) if p != at]
    ends = [-coefs[at] * (const + sum(c * (n - 1) * end for c, n in rest)) for end in (0, 1)]
    return max(ends)


def _of_halves(node: Product, args: tuple[Expr, ...], able: set[Expr]) -> Expr:
    factors = list(zip(args, node.labels, strict=True))
    for p, (a, labels) in enumerate(node.factors()):
        if a not in able:
            continue
        reader = _reader(list(node.factors()), labels[-1], node.out, p)
        assert reader is not None
        made = args[p]
        assert isinstance(made, Function)
        half = function(half_fft, made.args, (_SIGNS[made.op.name],))
        factors[p] = (half, labels)
        structure, own = factors[reader]
        assert isinstance(structure, Structure)
        shape = [half.shape[-1] if x == labels[-1] else n for x, n in zip(own, structure.shape, strict=True)]
        factors[reader] = (affine("==", structure.relation[1], structure.relation[2], tuple(shape)), own)
    return product(factors, node.out, dict(zip(node.out, node.shape, strict=True)))


def _real_of(node: Expr) -> Expr | None:
    """The real part of a transform of what is zero behind its first half."""
    assert isinstance(node, Function)
    padded, n = node.args[0], node.shape[-1]
    assert isinstance(n, int)
    if not isinstance(padded, Product) or not padded.complex:
        return None
    factors, last = list(padded.factors()), padded.out[-1]
    for at, (a, labels) in enumerate(factors):
        if isinstance(a, Structure) and padded.sums:
            inner = factors, at
        elif isinstance(a, Product) and a.sums and labels.count(last) == 1:
            names = dict(zip(a.out, labels, strict=True))
            inside = [(e, tuple([names.get(x, ("inner", x)) for x in own])) for e, own in a.factors()]
            put = next((p for p, (e, own) in enumerate(inside) if isinstance(e, Structure) and last in own), None)
            if put is None:
                continue
            inner = [*inside, *factors[:at], *factors[at + 1 :]], put
        else:
            continue
        half = _within_half(*inner, padded, last)
        if half is not None:
            return function(hermitian_fft, (half,), (n, _SIGNS[node.op.name]))
    return None


def _within_half(factors: list[Factor], at: int, padded: Product, last: int) -> Expr | None:
    """The first half of a product, over the weights, if the structure at a place says that there is no more."""
    structure, labels = factors[at]
    assert isinstance(structure, Structure)
    relation, n = structure.relation, padded.shape[-1]
    assert isinstance(n, int)
    if relation[0] != "==" or relation[2] != 0 or len(labels) != 2 or labels.count(last) != 1:
        return None
    coefs, read = relation[1], labels[1 - labels.index(last)]
    size = structure.shape[labels.index(read)]
    if (
        coefs[0] != -coefs[1]
        or abs(coefs[0]) != 1
        or read in padded.out
        or not isinstance(size, int)
        or size > _half(n)
    ):
        return None
    rest: list[Factor] = []
    for p, (a, own) in enumerate(factors):
        if p != at:
            coef, a = (a.coefs[0], a.args[0]) if isinstance(a, Sum) and len(a.args) == 1 else (1, a)
            for axis in [axis for axis, x in enumerate(own) if x == last]:
                a = sliced(a, axis, 0, 1, size)
            rest.append((scale(coef, a), tuple([read if x == last else x for x in own])))
    out = (*padded.out[:-1], read)
    return _unweighted(rest, out, dict(zip(out, (*padded.shape[:-1], size), strict=True)), n)


def _unweighted(factors: list[Factor], out: tuple[Any, ...], sizes: dict[Any, Any], n: int) -> Expr:
    """The factors over the weights; those that are the weights go."""
    read = out[-1]
    weights = next((p for p, (a, labels) in enumerate(factors) if _is_weights(a, n) and labels == (read,)), None)
    if weights is not None:
        return product([factor for p, factor in enumerate(factors) if p != weights], out, sizes)
    half = product(factors, out, sizes)
    half, axes = placed(half, half.order - 1, 0, _half(n)), tuple(range(half.order))
    return product([(half, axes), (hermitian_weights(n, inverse=True), axes[-1:])], axes)


def _is_weights(e: Expr, n: int) -> bool:
    return isinstance(e, Constant) and e.value == HermitianWeights(n)
