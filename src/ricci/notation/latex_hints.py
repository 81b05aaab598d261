r"""What messages say to write, in LaTeX: ``sum[k](…)`` is ``\sum_{k} …``, ``x[i,j]`` is ``x_{ij}``.

Hints are written in the plain notation where the fault is found, since nothing there knows how the text was written.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ricci.notation.latex_words import FUNCTIONS, GREEK

NAME = r"(?<![\w\\.])[^\W\d]\w*'*"
INDICES = r"\[([^\[\]]*)\]"
INSIDE = r"\(([^()]*)\)"


def in_latex(hint: str) -> str:
    r"""A hint with what it says to write in LaTeX.

    >>> in_latex("To sum over it, write sum[k](…) or multiply by 1[k].")
    'To sum over it, write \\sum_{k} (…) or multiply by \\mathbf{1}_{k}.'
    >>> in_latex("Write D(f, x[i]), x[i,j]**2 or inv(A)[i,j].")
    'Write \\frac{\\partial f}{\\partial x_{i}}, x_{ij}^{2} or (A^{-1})_{ij}.'
    """
    for pattern, form in FORMS:
        hint = re.sub(pattern, form, hint)
    return hint


def as_word(text: str, start: int, end: int) -> str:
    r"""How what stands below a name at a place is written as a part of it, since a letter there is an index.

    >>> as_word(r"y = \sigma_f^2 x", 4, 14)
    '\nWhat belongs to a name stands upright: \\sigma_{\\mathrm{f}}.'
    """
    found = re.fullmatch(r"([^_^]+)_\{?((?![ijkl]\b)[^\W\d_]+)\}?(\^.*)?", text[start:end])
    return f"\nWhat belongs to a name stands upright: {found[1]}_{{\\mathrm{{{found[2]}}}}}." if found else ""


def _below(indices: str) -> str:
    parts = [part.strip() for part in indices.split(",")]
    together = all(re.fullmatch(r"[^\W\d]'*", part) for part in parts)
    return "_{" + ("" if together else ",").join(parts) + "}"


def _name(name: str) -> str:
    if name in GREEK or name == "delta":
        return "\\" + name
    stem, _, tail = name.partition("_")
    if tail:
        return rf"{_name(stem)}_{{\mathrm{{{tail}}}}}"
    return name if len(name) == 1 else rf"\mathrm{{{name}}}"


def _function(name: str) -> str:
    return "\\" + name if "\\" + name in FUNCTIONS or name in ("sum", "prod") else rf"\operatorname{{{name}}}"


def _over_axes(match: re.Match[str]) -> str:
    gap = " " if match[1] in ("sum", "prod") else ""
    return f"{_function(match[1])}{_below(match[2])}{gap}("


def _tensor(match: re.Match[str]) -> str:
    name, indices = match[1], match[2]
    if not re.fullmatch(r"[\w\s',+*|…-]+", indices):
        return match[0]
    if name in ("0", "1"):
        return rf"\mathbf{{{name}}}" + _below(indices)
    suffix = re.fullmatch(r"(.+)_(\w+)", name)
    shown = _name(name)
    return (f"{{{shown}}}" if suffix else shown) + _below(indices.replace("*", ""))


FORMS: list[tuple[str, str | Callable[[re.Match[str]], str]]] = [
    (rf"(?<!\w)inv\((\w+)\){INDICES}", lambda m: rf"({m[1]}^{{-1}}){_below(m[2])}"),
    (rf"({NAME})(\([^()]*\)){INDICES}", lambda m: _function(m[1]) + m[2] + _below(m[3])),
    (rf"({NAME}){INDICES}\(", _over_axes),
    (rf"(?<![\w.\\])({NAME}|[01]){INDICES}", _tensor),
    (r"(?<![\w.\\])D\(((?:[^(),]|\([^()]*\))*), *([^(),]*)\)", r"\\frac{\\partial \1}{\\partial \2}"),
    (r"\*\*\(([^()]*)\)|\*\*(\w+)", lambda m: f"^{{{m[1] or m[2]}}}"),
    (r" \* …", " …"),
    (rf"(?<![\w\\])sqrt{INSIDE}", r"\\sqrt{\1}"),
    (rf"(?<![\w\\])abs{INSIDE}", r"\\left|\1\\right|"),
    (r"(?<![\w\\.{])(exp|log|tanh|norm|where|mod)\(", lambda m: _function(m[1]) + "("),
]
