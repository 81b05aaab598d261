"""How the maps of programs are written in kernels, and what they cost there: all of it is said by the rows.

A text has the operands as ``{0}``, ``{1}``. Names in it are instructions of LLVM, or functions of ``scalars.py``; the
functions of the C library keep loops from being vectorised. This module does not need Numba.
"""

from __future__ import annotations

from ricci.compiler.plan.program_steps import ARITHMETIC
from ricci.expr import OPS, Op

ROWS_IN_KERNELS: dict[str, Op] = {
    **ARITHMETIC,
    **{
        name: op
        for name, op in OPS.items()
        if op.kind == "elementwise" and op.complex != "always" and (op.numba or (op.by is not None and not op.identity))
    },
}
SLOW = {name for name, op in ROWS_IN_KERNELS.items() if "." in op.numba}  # the C library's
FLOATING = ROWS_IN_KERNELS.keys() - SLOW
WHOLE = {"add", "subtract", "multiply", "negative", "square"}  # what is done on integers and truth values too
WHOLE |= {name for name, op in OPS.items() if op.numba and (op.identity or op.type in ("truth", "branches"))}
ANGLES = {name for name, op in ROWS_IN_KERNELS.items() if op.periodic}
POWERS = {  # products and square roots; 1/2 is a function of its own
    n / 2: f"power_{'minus_' if n < 0 else ''}{abs(n)}_halves" for n in range(-8, 9) if n != 1
}
COSTS = {name: op.cost for name, op in ROWS_IN_KERNELS.items()}


def _text(name: str, op: Op) -> str:
    if "{" in op.numba:
        return op.numba
    called = op.numba if op.numba and "." not in op.numba else name
    return f"{called}({', '.join([f'{{{k}}}' for k in range(op.arity)])})"


MAPS = {
    **{name: _text(name, op) for name, op in ROWS_IN_KERNELS.items()},
    "same": "real({0} == {1})",
    "finite": "{0} if fabs({0}) < infinity else zero",
    "cast_f": "real({0})",
    "cast_i": "whole({0})",
    "cast_b": "{0} != 0",
}
# Of complex numbers, by the kinds of the operands where that matters; a real number times one is two products.
COMPLEX_MAPS = {
    **{name: MAPS[name] for name in ("add", "subtract", "multiply", "negative", "square", "where", "stop_gradient")},
    ("multiply", "fc"): "complex_of({0} * {1}.real, {0} * {1}.imag)",
    ("multiply", "cf"): "complex_of({0}.real * {1}, {0}.imag * {1})",
    ("divide", "cf"): "complex_of({0}.real / {1}, {0}.imag / {1})",
    "conj": "complex_of({0}.real, -{0}.imag)",
    "real": "{0}.real",
    "imag": "{0}.imag",
    "abs2": "{0}.real * {0}.real + {0}.imag * {0}.imag",
    "exp": "exp({0}.real) * complex_of(cos({0}.imag), sin({0}.imag))",
    "as_complex": "complex_of({0}, zero)",
    "cast_c": "complex_of({0}, zero)",
}
# Where these are too large, NumPy is left to it: angles, and exponents whose exponential is infinite, times 0 perhaps.
COMPLEX_FAR = {"exp": ("{0}.imag", "2400 * {0}.real")}


def complex_text(name: str, kinds: str) -> str | None:
    """How a map with complex operands or results is written; none where it is not."""
    return COMPLEX_MAPS.get((name, kinds), COMPLEX_MAPS.get(name))


class Words:
    """The rows as words, and numbers as names, to write a definition down as text."""

    def __init__(self) -> None:
        self.numbers: dict[str, float] = {}

    def text(self, x: Word | float) -> str:
        if isinstance(x, Word):
            return x.text
        name = f"c{len(self.numbers)}"
        self.numbers[name] = x
        return name

    def __getattr__(self, name: str):
        return lambda *args: Word(self, f"({MAPS[name].format(*map(self.text, args))})")


class Word:
    """An operand of a definition, or what is made of operands."""

    def __init__(self, words: Words, text: str):
        self.words, self.text = words, text

    def _with(self, sign: str, other: Word | float) -> Word:
        return Word(self.words, f"({self.text} {sign} {self.words.text(other)})")

    def _before(self, sign: str, other: Word | float) -> Word:
        return Word(self.words, f"({self.words.text(other)} {sign} {self.text})")

    def __neg__(self) -> Word:
        return Word(self.words, f"(-{self.text})")


for _method, _sign in {"add": "+", "sub": "-", "mul": "*", "truediv": "/"}.items():
    setattr(Word, f"__{_method}__", lambda self, other, sign=_sign: self._with(sign, other))
    setattr(Word, f"__r{_method}__", lambda self, other, sign=_sign: self._before(sign, other))
for _method, _sign in {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    setattr(Word, f"__{_method}__", lambda self, other, sign=_sign: self._with(sign, other))


def definition(op: Op) -> tuple[str, str, dict[str, float]]:
    """The operands and the text of a row that is defined by others, and the numbers that have names in it."""
    assert op.by is not None
    words = Words()
    operands = [Word(words, f"x{k}") for k in range(op.arity)]
    text = words.text(op.by(words, *operands))
    return ", ".join([x.text for x in operands]), text, words.numbers
