"""Words of matrix notation, written as text and as LaTeX, with no bracket that is not needed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import groupby

from ricci.budget import spend
from ricci.notation import syntax
from ricci.show import latex as in_latex
from ricci.show import text as in_text
from ricci.show.words import UNIT, MatrixWord, number_word

SUM, SIGN, TERM, POST, ATOM = range(5)  # what may stand in a place without brackets; SIGN is ⊙, ⊘, ⊗
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

# kind: level, level that the operands need, text, LaTeX
_TEMPLATES: dict[str, tuple[int, int, str, str]] = {
    "ones": (ATOM, ATOM, "1", r"\mathbf{{1}}"),
    "zeros": (ATOM, ATOM, "0", r"\mathbf{{0}}"),
    "identity": (ATOM, ATOM, "I", "I"),
    "commutation": (ATOM, ATOM, "K", "K"),
    "transpose": (POST, ATOM, "{0}ᵀ", r"{0}^{{\top}}"),
    "adjoint": (POST, ATOM, "{0}ᴴ", r"{0}^{{\mathsf{{H}}}}"),
    "conj": (ATOM, SUM, "conj({0})", r"\overline{{{0}}}"),
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
    "norm1": (ATOM, SUM, "‖{0}‖₁", r"\left\|{0}\right\|_1"),
    "root": (ATOM, SUM, "sqrt({0})", r"\sqrt{{{0}}}"),
}


def render(w: MatrixWord, place: int, latex: bool) -> str:
    spend()
    level, shown = _shown(w, latex)
    if level >= place:
        return shown
    return rf"\left({shown}\right)" if latex else f"({shown})"


def _shown(w: MatrixWord, latex: bool) -> tuple[int, str]:
    """Its level and its text."""
    if w.kind == "inverse transposed" and w.args[0].kind == "conj":
        shown = render(w.args[0].args[0], ATOM, latex)
        return POST, rf"{shown}^{{-\mathsf{{H}}}}" if latex else f"{shown}⁻ᴴ"
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
    unit = next((part for part in sizes if part[1].data == "1j"), None)
    if unit is not None:
        sizes = tuple([part for part in sizes if part is not unit])
        node = syntax.Imaginary(0, 0, top)  # type: ignore[arg-type]
        numbers[0] = [in_latex.render(node, 0) if latex else in_text.render(node, 0)]
    over, under = (
        part + [render(s, POST, latex) for e, s in sizes if e == sign]
        for part, sign in zip(numbers, (1, -1), strict=True)
    )
    several = not body.order and any(a.kind == "times" for a in above)
    main = [render(a, POST, latex) for a in above]
    if body != UNIT:
        alone = latex and below and not over and not above
        main.append(render(body, SUM if alone else POST if several else SIGN, latex))
    level = min(TERM, SIGN if body.kind in ("signed", "kron", "rowwise") else TERM)
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


def _show_times(w: MatrixWord, latex: bool) -> tuple[int, str]:
    """A chain, the same matrix several times over being a power of it."""
    runs = [list(run) for _, run in groupby(w.args)]
    shown = []
    for run in runs:
        name, n = render(run[0], POST, latex), len(run)
        whole = n > 1 and run[0].order == 2 and run[0].kind == "text"
        shown += [name + (f"^{{{n}}}" if latex else str(n).translate(_RAISED))] if whole else [name] * n
    return POST if len(shown) == 1 else TERM, " ".join(shown)


def _show_norms(w: MatrixWord, latex: bool) -> tuple[int, str]:
    inside = render(w.args[0], SUM, latex)
    which = (
        rf"\operatorname{{norm}}_{{\mathrm{{{w.data}}}}}\left({inside}\right)" if latex else f"norm_{w.data}({inside})"
    )
    return ATOM, which


def _show_compare(w: MatrixWord, latex: bool) -> tuple[int, str]:
    left, right = (render(a, SUM, latex) for a in w.args)
    return ATOM, rf"\left[{left} {w.data} {right}\right]" if latex else f"[{left} {w.data} {right}]"


def _joined(sign: str, tex: str, level: int, inner: int) -> Callable[[MatrixWord, bool], tuple[int, str]]:
    return lambda w, latex: (level, (tex if latex else sign).join(render(a, inner, latex) for a in w.args))


_SHOWN: dict[str, Callable[[MatrixWord, bool], tuple[int, str]]] = {
    "text": lambda w, latex: (ATOM, w.data),
    "size": lambda w, latex: (ATOM, w.data),
    "number": _show_number,
    "times": _show_times,
    "norms": _show_norms,
    "kron": _joined(" ⊗ ", r" \otimes ", SIGN, TERM),
    "rowwise": _joined(" • ", r" \bullet ", SIGN, TERM),
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
