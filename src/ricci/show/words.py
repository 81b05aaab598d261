"""The words of matrix notation, what equals what among them, and how they are written as text and LaTeX."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn

from ricci.budget import spend
from ricci.errors import RuleError
from ricci.expr import (
    HALF,
    Number,
    number,
)
from ricci.notation import syntax
from ricci.show import latex as in_latex
from ricci.show import text as in_text

SUM, SIGN, TERM, POST, ATOM = range(5)  # what may stand in a place without brackets; SIGN is ⊙, ⊘, ⊗
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

# kind: level, level that the operands need, text, LaTeX
_TEMPLATES: dict[str, tuple[int, int, str, str]] = {
    "ones": (ATOM, ATOM, "1", r"\mathbf{{1}}"),
    "zeros": (ATOM, ATOM, "0", r"\mathbf{{0}}"),
    "identity": (ATOM, ATOM, "I", "I"),
    "commutation": (ATOM, ATOM, "K", "K"),
    "transpose": (POST, ATOM, "{0}ᵀ", r"{0}^{{\top}}"),
    "inverse": (POST, ATOM, "{0}⁻¹", r"{0}^{{-1}}"),
    "inverse transposed": (POST, ATOM, "{0}⁻ᵀ", r"{0}^{{-\top}}"),
    "diag": (ATOM, SUM, "diag({0})", r"\operatorname{{diag}}\left({0}\right)"),
    "diagonal": (ATOM, SUM, "diag({0})", r"\operatorname{{diag}}\left({0}\right)"),
    "vec": (ATOM, SUM, "vec({0})", r"\operatorname{{vec}}\left({0}\right)"),
    "trace": (ATOM, SUM, "tr({0})", r"\operatorname{{tr}}\left({0}\right)"),
    "triangle": (ATOM, SUM, "tril({0})", r"\operatorname{{tril}}\left({0}\right)"),
    "det": (ATOM, SUM, "det({0})", r"\det\left({0}\right)"),
    "logdet": (ATOM, SUM, "log|{0}|", r"\log\left|{0}\right|"),
    "norm": (ATOM, SUM, "‖{0}‖", r"\left\|{0}\right\|"),
    "frobenius": (ATOM, SUM, "‖{0}‖_F", r"\left\|{0}\right\|_F"),
    "root": (ATOM, SUM, "sqrt({0})", r"\sqrt{{{0}}}"),
}


def refuse(reason: str) -> NoReturn:
    raise RuleError(f"This has no matrix notation: {reason}. Print it in index notation, with str(formula).")


# The words of matrix notation.


@dataclass(frozen=True)
class MatrixWord:
    """A piece of matrix notation: a scalar, a column or a matrix, by its order (a row has the order of its column)."""

    kind: str
    args: tuple[MatrixWord, ...] = ()
    data: Any = None
    order: int = 0
    first: tuple = field(default=(), compare=False)  # where the user first wrote the variables in it
    flips: int = field(default=0, compare=False)  # the number of transposes in it


def make_word(kind: str, args: Iterable[MatrixWord], order: int, data: Any = None) -> MatrixWord:
    args = tuple(args)
    first = tuple(sorted({place for a in args for place in a.first})[:4])
    own = kind in ("transpose", "inverse transposed")
    return MatrixWord(kind, args, data, order, first, own + sum(a.flips for a in args))


ONES, IDENTITY = MatrixWord("ones", order=1), MatrixWord("identity", order=2)
UNIT = MatrixWord("text", data="1")
_SAME = frozenset(["identity", "commutation", "diag", "zeros"])


def flip(w: MatrixWord) -> MatrixWord:
    """The transpose."""
    if w.order == 0 or w.kind in _SAME:
        return w
    if w.kind == "transpose":
        return w.args[0]
    if w.kind == "times":
        return times([flip(a) for a in reversed(w.args)], w.order)
    if w.kind in ("inverse", "inverse transposed"):
        other = "inverse" if w.kind != "inverse" else "inverse transposed"
        return w if flip(w.args[0]) == w.args[0] else make_word(other, w.args, 2)
    if w.kind in ("row", "column") and w.order == 2:
        return make_word("column" if w.kind == "row" else "row", [flip(w.args[0])], 2, w.data)
    outside = make_word("transpose", [w], w.order)
    if w.kind not in ("plus", "scaled", "signed", "call", "compare", "power"):
        return outside
    inside = make_word(w.kind, [flip(a) for a in w.args], w.order, w.data)
    alone = w.kind == "scaled" or (w.kind == "plus" and len(w.args) == 1)
    return w if parts_of(inside) == parts_of(w) else inside if alone or inside.flips < outside.flips else outside


def parts_of(w: MatrixWord) -> Counter:
    """What two words that differ in the order of their terms alone have in common."""
    signs = w.data if w.kind == "plus" else "⊙" + w.data if w.kind == "signed" else None
    return Counter([w] if signs is None else zip(signs, w.args, strict=True))


def times(factors: Iterable[MatrixWord], order: int) -> MatrixWord:
    flat = [b for a in factors for b in (a.args if a.kind == "times" else (a,))]
    kept = [a for a in flat if a != IDENTITY] or [IDENTITY]
    return kept[0] if len(kept) == 1 else make_word("times", kept, order)


def inverse_of(w: MatrixWord) -> MatrixWord:
    return make_word("inverse transposed", w.args, 2) if w.kind == "transpose" else make_word("inverse", [w], 2)


def power_word(base: MatrixWord, exponent: MatrixWord, value: Number | None) -> MatrixWord:
    if base.kind == "power" and base.args[0].kind in ("norm", "frobenius") and value is not None:
        value = number(base.data * value)
        return power_word(base.args[0], number_word(value), value)
    if isinstance(value, int) and value % 2 == 0:
        base = positive(base)[1]
    if value == 1 or (value == HALF and not base.order):
        return base if value == 1 else make_word("root", [base], 0)
    return make_word("power", [base, exponent], base.order or exponent.order, value)


def number_word(value: Number) -> MatrixWord:
    return MatrixWord("number", data=value)


def signed(parts: Iterable[tuple[int, MatrixWord]], order: int) -> MatrixWord:
    """``x ⊙ y ⊘ z``."""
    parts = sorted(parts, key=lambda part: (-part[0], part[1].first))
    above, below = [w for e, w in parts if e > 0], [w for e, w in parts if e < 0]
    if not above and order == 2:
        return power_word(signed([(1, w) for w in below], 2), number_word(-1), -1)
    above = above or [ONES]
    words = above + below
    return words[0] if len(words) == 1 else make_word("signed", words, order, "⊙" * (len(above) - 1) + "⊘" * len(below))


def scaled(scalars: Sequence[tuple[int, MatrixWord]], body: MatrixWord | None, coef: Number = 1) -> MatrixWord:
    """Numbers and sizes, then scalars, then ``body``, over the scalars with negative exponents."""
    parts = sorted(scalars, key=lambda part: (part[1].kind == "times", part[1].first))
    sizes = [part for part in parts if part[1].kind == "size"]
    above = [w for e, w in parts if e > 0 and w.kind != "size"]
    below = [w for e, w in parts if e < 0 and w.kind != "size"]
    if body is None:
        body = above.pop() if above else UNIT
    if body.kind == "scaled":
        old, n, own = body.data
        coef, sizes = coef * old, [*sizes, *own]
        above, below, body = above + [*body.args[1 : n + 1]], below + [*body.args[n + 1 :]], body.args[0]
    if body.kind == "number":
        coef, body = coef * body.data, UNIT
    if coef == 1 and not sizes and not above and not below:
        return body
    return make_word("scaled", [body, *above, *below], body.order, (coef, len(above), tuple(sizes)))


def plus(terms: Sequence[tuple[Number, MatrixWord]], order: int) -> MatrixWord:
    """The terms in the order given, but a positive one first."""
    plain = [(-c, w.args[0]) if w.kind == "plus" and len(w.args) == 1 else (c, w) for c, w in terms]
    signed = [(c < 0, scaled([], w, abs(c))) for c, w in plain]
    head = next((t for t in signed if not t[0]), signed[0])
    signed.remove(head)
    signed = [head, *signed]
    if len(signed) == 1 and not head[0]:
        return head[1]
    return make_word("plus", [w for _, w in signed], order, tuple([minus for minus, _ in signed]))


def positive(w: MatrixWord) -> tuple[int, MatrixWord]:
    """A sign and ``w`` without it: a sum that users would begin with a negative term is turned round."""
    terms = [(1 if minus else -1, a) for minus, a in zip(w.data, w.args, strict=True)] if w.kind == "plus" else []
    if not terms or (len(terms) > 1 and not w.args[0].first):
        return 1, w
    terms.sort(key=lambda term: (not term[1].first, term[1].first, term[1].kind != "text"))
    return (-1, plus(terms, w.order)) if terms[0][0] > 0 else (1, w)


def diag_of(parts: Sequence[tuple[int, MatrixWord]]) -> MatrixWord:
    """The diagonal matrix of a product of vectors."""
    w = signed(parts, 1)
    return signed([(1, IDENTITY), (1, w.args[0])], 2) if w.kind == "diagonal" else make_word("diag", [w], 2)


def inner_product(left: MatrixWord, *rest: MatrixWord) -> MatrixWord:
    """``leftᵀ …`` or its transpose, a scalar."""
    word = times([flip(left), *rest], 0)
    other = times([flip(w) for w in reversed(word.args)], 0)
    return min(word, other, key=lambda w: (w.flips, [a.first for a in w.args]))


def trace_of(w: MatrixWord) -> MatrixWord:
    """The trace; of a chain, the best of all ways around it."""
    chains = [list(v.args) if v.kind == "times" else [v] for v in (w, flip(w))]
    ways = [[*chain[k:], *chain[:k]] for chain in chains for k in range(len(chain))]

    def order(way: list[MatrixWord]) -> tuple:
        return sum(a.flips for a in way), [a.first for a in way], -way[0].flips

    return make_word("trace", [times(min(ways, key=order), 2)], 0)


def is_square(w: MatrixWord) -> bool:
    return w.kind == "power" and w.data == 2


# From words to text.


def render(w: MatrixWord, place: int, latex: bool) -> str:
    spend()
    level, shown = _shown(w, latex)
    if level >= place:
        return shown
    return rf"\left({shown}\right)" if latex else f"({shown})"


def _shown(w: MatrixWord, latex: bool) -> tuple[int, str]:
    """Its level and its text."""
    if w.kind in _TEMPLATES:
        level, inner, text, tex = _TEMPLATES[w.kind]
        return level, (tex if latex else text).format(*[render(a, inner, latex) for a in w.args])
    return _SHOWN[w.kind](w, latex)


def _show_number(w: MatrixWord, latex: bool) -> tuple[int, str]:
    if isinstance(w.data, Fraction):
        top, below = (_show_number(number_word(v), latex)[1] for v in (w.data.numerator, w.data.denominator))
        return SUM if w.data < 0 else TERM, rf"\frac{{{top}}}{{{below}}}" if latex else f"{top}/{below}"
    node = syntax.Number(0, 0, w.data)
    return SUM if w.data < 0 else ATOM, in_latex.render(node, 0) if latex else in_text.render(node, 0)


def _show_scaled(w: MatrixWord, latex: bool) -> tuple[int, str]:
    coef, n, sizes = w.data
    body, above, below = w.args[0], w.args[1 : n + 1], w.args[n + 1 :]
    exact = Fraction(coef) if isinstance(coef, (int, Fraction)) else None
    top, bottom = (exact.numerator, exact.denominator) if exact is not None else (coef, 1)
    numbers = [[_show_number(number_word(v), latex)[1]] if v != 1 else [] for v in (top, bottom)]
    over, under = (part + [s.data for e, s in sizes if e == sign] for part, sign in zip(numbers, (1, -1), strict=True))
    several = not body.order and any(a.kind == "times" for a in above)
    main = [render(a, POST, latex) for a in above]
    if body != UNIT:
        alone = latex and below and not over and not above
        main.append(render(body, SUM if alone else POST if several else SIGN, latex))
    level = min(TERM, SIGN if body.kind in ("signed", "kron") else TERM)
    if latex:
        bare = SUM if len(below) == 1 and not under else POST
        return _fraction(over, main, under, [render(b, bare, latex) for b in below], level)
    front = " ".join(over) or ("1" if under or not main else "")
    front += "/" + _in_brackets(under) if under else ""
    ones = front[-1:].isdigit() and not above and main and main[0].startswith("1")
    line = f"{front}·{' '.join(main)}" if ones else " ".join([front, *main] if front else main)
    return level, line + (" / " + _in_brackets([render(b, POST, latex) for b in below]) if below else "")


def _in_brackets(factors: list[str]) -> str:
    return factors[0] if len(factors) == 1 else f"({' '.join(factors)})"


def _fraction(over: list[str], main: list[str], under: list[str], below: list[str], level: int) -> tuple[int, str]:
    """Scalars below are under one bar with everything; numbers and sizes alone are in a fraction before the rest."""
    if below:
        return POST, rf"\frac{{{' '.join(over + main) or '1'}}}{{{' '.join(under + below)}}}"
    front = [rf"\frac{{{' '.join(over) or '1'}}}{{{' '.join(under)}}}"] if under else over
    return level, " ".join(front + main)


def _show_plus(w: MatrixWord, latex: bool) -> tuple[int, str]:
    terms = [render(a, SIGN, latex) for a in w.args]
    head, *rest = zip(w.data, terms, strict=True)
    return SUM, ("-" if head[0] else "") + head[1] + "".join((" - " if m else " + ") + t for m, t in rest)


def _show_signed(w: MatrixWord, latex: bool) -> tuple[int, str]:
    sign = {"⊙": r" \odot ", "⊘": r" \oslash "} if latex else {"⊙": " ⊙ ", "⊘": " ⊘ "}
    head, *rest = [render(a, POST, latex) for a in w.args]
    return SIGN, head + "".join(sign[s] + shown for s, shown in zip(w.data, rest, strict=True))


def _show_power(w: MatrixWord, latex: bool) -> tuple[int, str]:
    base, exponent = render(w.args[0], ATOM, latex), render(w.args[1], SUM, latex and w.data is None)
    if w.order:
        return POST, rf"{base}^{{\odot {exponent}}}" if latex else f"{base}^{{⊙{exponent}}}"
    raised = not latex and isinstance(w.data, int)
    return POST, base + exponent.translate(_RAISED) if raised else f"{base}^{{{exponent}}}"


def _show_call(w: MatrixWord, latex: bool) -> tuple[int, str]:
    args = [render(a, SUM, latex) for a in w.args]
    template = w.data.replace("%s", "row" if w.kind == "row" else "col")
    return ATOM, template.format(", ".join(args)) if "{}" in template else template.format(*args)


def _show_compare(w: MatrixWord, latex: bool) -> tuple[int, str]:
    left, right = (render(a, SIGN, latex) for a in w.args)
    return ATOM, rf"\left[{left} {w.data} {right}\right]" if latex else f"[{left} {w.data} {right}]"


def _joined(sign: str, tex: str, level: int, inner: int) -> Callable[[MatrixWord, bool], tuple[int, str]]:
    return lambda w, latex: (level, (tex if latex else sign).join(render(a, inner, latex) for a in w.args))


_SHOWN: dict[str, Callable[[MatrixWord, bool], tuple[int, str]]] = {
    "text": lambda w, latex: (ATOM, w.data),
    "size": lambda w, latex: (ATOM, w.data),
    "number": _show_number,
    "times": _joined(" ", " ", TERM, POST),
    "kron": _joined(" ⊗ ", r" \otimes ", SIGN, TERM),
    "signed": _show_signed,
    "scaled": _show_scaled,
    "plus": _show_plus,
    "power": _show_power,
    "compare": _show_compare,
    "call": _show_call,
    "function": _show_call,
    "row": _show_call,
    "column": _show_call,
}
