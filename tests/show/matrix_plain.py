"""Matrix notation in LaTeX, rewritten as text: the same signs under other names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from unicodedata import normalize

from ricci.show.latex import symbol

COMMANDS = {
    r"\odot": "⊙",
    r"\oslash": "⊘",
    r"\otimes": "⊗",
    r"\bullet": "•",
    r"\left(": "(",
    r"\right)": ")",
    r"\left[": "[",
    r"\right]": "]",
    r"\le": "≤",
    r"\ge": "≥",
    r"\ne": "≠",
    r"\mathbf{1}": "1",
    r"\mathbf{0}": "0",
    r"^{\top}": "ᵀ",
    r"^{-1}": "⁻¹",
    r"^{-\top}": "⁻ᵀ",
    r"\right\|_F": "‖_F",
    r"\right\|_1": "‖₁",
    r"\right\|": "‖",
    r"\left\|": "⟪",
    r"\log\left|": "log|",
    r"\left|": "abs|",
    r"\right|": "|",
    r"\det": "det",
    r"\sigma": "sigmoid",
    r"\psi": "digamma",
    "chol": "cholesky",
    "logsoftmax": "log_softmax",
}


def plain(text: str, names: Mapping[str, tuple[int, ...]]) -> str:
    """LaTeX as text; text as it is."""
    if "\\" not in text and "^{" not in text:
        return text
    if "⊙" in text or "\\" not in text:
        return text
    for name in names:
        text = text.replace(symbol(name), name)
    marks = {"bar": "̄", "dot": "̇", "hat": "̂", "tilde": "̃"}
    text = re.sub(r"\\(bar|dot|hat|tilde)\{(\w)\}", lambda m: normalize("NFC", m.group(2) + marks[m.group(1)]), text)
    text = _fractions(text)
    text = re.sub(r"\^\{\\odot\}\s*(?=\\left\(|\()", ".", text)
    text = re.sub(r"\^\{\\odot ?", "^{⊙", text)
    text = re.sub(r"\\operatorname\{([a-z\\_0-9]+)\}", lambda m: m.group(1).replace("\\", ""), text)
    text = re.sub(r"_\{\\mathrm\{(row|col)\}\}", r"_\1", text)
    text = re.sub(r"\\(exp|log|sin|cos|tan|tanh|sinh|cosh|max|min|prod)\b(?!\\left\|)", r"\1", text)
    for command in sorted(COMMANDS, key=len, reverse=True):
        text = text.replace(command, COMMANDS[command])
    text = re.sub(r"\\([A-Z]?[a-z]+)", r"\1", text)
    text = re.sub(r"\\sqrt(?=\{)", "sqrt", text)
    return _braces(text)


def _group(text: str, at: int) -> int:
    """The end of the group in braces that begins at a place."""
    depth = 0
    for end in range(at, len(text)):
        depth += (text[end] == "{") - (text[end] == "}")
        if not depth:
            return end + 1
    raise ValueError("braces do not match")


def _fractions(text: str) -> str:
    while (at := text.find(r"\frac")) >= 0:
        middle = _group(text, at + 5)
        end = _group(text, middle)
        above, below = text[at + 6 : middle - 1], text[middle + 1 : end - 1]
        above = "#1" if above == "1" else above
        text = f"{text[:at]}(({above}) / ({below})){text[end:]}"
    return text


def _braces(text: str) -> str:
    """``sqrt{a}`` as ``sqrt(a)``."""
    while (at := text.find("sqrt{")) >= 0:
        end = _group(text, at + 4)
        text = f"{text[: at + 4]}({text[at + 5 : end - 1]}){text[end:]}"
    return text
