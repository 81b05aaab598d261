r"""What people write who come from MATLAB, NumPy, SymPy and einops, and how it is written here.

This is asked after a text could not be read. A rule looks at the text around the fault, and its answer is a sentence
with something that can be written as it stands: ``X'*X`` is ``X[i,j] X[i,k]``. In products of matrices a capital
letter is a matrix, and any other a vector, as is the custom.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from itertools import chain, count

from ricci.notation.heights import USUAL

LETTERS = "ijklmnpqrstuvw"
WORD = r"[^\W\d]\w*"
ENTRY = rf"{WORD}(?:\[[^\[\]]*\])?"
TRANSPOSED = r"'|ᵀ|\.m?T\b|\.t\(\)|\.transpose\(\)|\^\\top\b|\^\{\\top\}|\^T\b|\^\{T\}"
CHAIN = re.compile(rf"{WORD}(?:{TRANSPOSED})?(?:(?:\s*[@*]\s*|\s+){WORD}(?:{TRANSPOSED})?)*")

EXPONENTIAL = re.compile(r"(?<![\w.])e\^(?:\{([^{}]+)\}|\(([^()]+)\)|(-?\w+(?:\[[^\[\]]*\])?(?:\^\w+)?)(?![\w{]))")

# Functions by other names; those that differ in capitals or underscores alone are found without a table.
_NAMES = "ln log, lg log10, logistic sigmoid, sgn sign, tg tan, pow power, amax max, amin min, fabs abs, arcsin asin, "
_NAMES += "arccos acos, arctan atan, arctan2 atan2, arcsinh asinh, determinant det, inverse inv, gammaln lgamma"
_PAIRS = [pair.split() for pair in _NAMES.split(", ")]
FUNCTIONS: dict[str, str] = {pair[0]: pair[1] for pair in _PAIRS}
MODULES = frozenset(["np", "numpy", "jnp", "torch", "math", "sp", "sympy", "scipy", "tf", "F", "jax", "nn"])


def instead(text: str, at: int, functions: Container[str] = ()) -> str:
    """How what stands at a place of a text is written here; empty where no rule knows it."""
    for rule in RULES:
        found = rule(text, at, functions)
        if found:
            return found
    return ""


def function_instead(word: str, inside: str, functions: Container[str]) -> str:
    """How ``word(inside)`` is written, where there is no function ``word``."""
    args = split(inside)
    form = FORMS.get(word)
    if form and form[0] in (0, len(args)):
        return form[1](*args)
    short = word.lower().replace("_", "")
    name = next((n for n in (FUNCTIONS.get(word), FUNCTIONS.get(short), short) if n and n in functions), None)
    if name is not None:
        return f"Write {name}({inside})."
    if args and all(re.fullmatch(r"[1-9]\d*", a) for a in args):
        places = ",".join(str(int(a) - 1) for a in args)
        return f"Indices stand in square brackets, and count from 0, not from 1 as in MATLAB: {word}[{places}]."
    named = args and all(re.fullmatch(r"[i-n]'?", a) for a in args)
    return f"Indices stand in square brackets: {word}[{','.join(args)}]." if named else ""


def exponential(text: str, start: int, end: int) -> str:
    """How ``e^x``, ``e^{-x}`` or ``e^x[i]`` is written that lies at ``start:end``, or beside it; empty if none does.

    >>> exponential("y = 2 e^{-x} + 1", 6, 12), exponential("y^i = e^i", 0, 9)
    ('exp(-x)', '')
    """
    for match in EXPONENTIAL.finditer(text):
        inside = next(part for part in match.groups() if part is not None)
        if match.start() <= end and start <= match.end() and inside.strip() not in USUAL:
            return f"exp({inside})"
    return ""


def product(text: str) -> tuple[str, list[str]]:
    """A product of matrices and vectors by their names, with indices, and those that are free in it.

    >>> product("x' * A * x"), product("X.T @ Y")
    (('x[i] A[i,j] x[j]', []), ('X[i,j] Y[i,k]', ['j', 'k']))
    """
    letters = chain(LETTERS, map("i{}".format, count(1)))
    written: list[str] = []
    free: list[str] = []
    inner = ""  # the index that the next factor is multiplied by
    for match in re.finditer(rf"({WORD})({TRANSPOSED})?", text):
        name, turned, matrix = match[1], bool(match[2]), match[1][0].isupper()
        if inner and not matrix and not turned:  # a column ends the chain
            written.append(f"{name}[{inner}]")
            inner = ""
            continue
        if written and free and not inner and not matrix and not turned:  # two columns, as NumPy multiplies them
            written.append(f"{name}[{free.pop()}]")
            continue
        own = [next(letters) for _ in range(1 + matrix - bool(inner and matrix))]
        pair = [inner, *own] if inner and matrix else own[::-1] if turned and matrix else own
        written.append(f"{name}[{','.join(pair[::-1] if turned else pair)}]")
        if not (inner and matrix):
            free += [inner] if inner else []
            free += pair[:1] if matrix or not turned else []
        inner = pair[-1] if matrix or turned else ""
    return " ".join(written), free + ([inner] if inner else [])


def split(inside: str) -> list[str]:
    """The arguments between the commas that stand in no bracket."""
    parts, depth = [""], 0
    for character in inside:
        depth += (character in "([{") - (character in ")]}")
        parts = [*parts, ""] if character == "," and not depth else [*parts[:-1], parts[-1] + character]
    return [part.strip() for part in parts if part.strip()]


# Rules: what a text means at a place, or nothing


def _chain(text: str, at: int, functions: Container[str]) -> str:
    """Products of matrices by their names: ``X'*X``, ``x.T @ A``."""
    for match in CHAIN.finditer(text):
        if match.start() <= at <= match.end() and re.search(rf"@|{TRANSPOSED}", match[0]):
            if re.fullmatch(rf"{WORD}(?:{TRANSPOSED})", match[0]):
                name = re.match(WORD, match[0])
                return (
                    f"A transpose is an order of indices: {name[0]}[j,i] where {name[0]}[i,j] would stand."
                    if name
                    else ""
                )
            return f"Name the indices: {product(match[0])[0]}."
    return ""


def _dot(text: str, at: int, functions: Container[str]) -> str:
    """``A.*B``, ``np.exp(x)``, ``x.sum()``, ``x[..., i]``."""
    if text[at : at + 1] != ".":
        return ""
    if text[at : at + 3] == "...":
        return "Name every axis: x[i,j,k]."
    before, after = re.search(rf"({WORD})\s*$", text[:at]), text[at + 1 :]
    sign = re.match(rf"([*/^])\s*({WORD}|\d+)", after)
    if before and sign:
        left, right = (_entry(name) for name in (before[1], sign[2]))
        between = {"*": " ", "/": "/", "^": "**"}[sign[1]]
        indices = "[i,j]" if "[i,j]" in left + right else "[i]"
        return f"What is done entry by entry has its indices on the left too: y{indices} = {left}{between}{right}."
    if before and re.match(r"shape\b|size\b", after):
        return SIZE.format(before[1])
    call = re.match(rf"(?:{WORD}\.)*({WORD})\(", after)
    if not before or not call:
        return ""
    inside, name = after[call.end() : _closing(after, call.end() - 1)], call[1]
    if before[1] in MODULES:
        own, *more = split(inside) or [""]
        if re.fullmatch(WORD, own) and any(re.match(r"(axis|dim)\s*=", part) for part in more):
            return along_an_axis(name, own, more[-1])
        return f"Write {name}({inside})." if name in functions else function_instead(name, inside, functions)
    if name not in functions:
        return function_instead(name, f"{before[1]}, {inside}" if inside else before[1], functions)
    return along_an_axis(name, before[1], inside) if inside else f"Write {name}({before[1]})."


def along_an_axis(function: str, name: str, axis: str) -> str:
    """What to write for ``sum(x, axis=0)``; ``axis`` is how that is told."""
    index = "j" if axis.replace(" ", "").split("=")[-1] in ("1", "-1") else "i"
    return f"Write {function}[{index}]({name}[i,j]), with the index of the axis."


def _backslash(text: str, at: int, functions: Container[str]) -> str:
    """``A\\b``, and LaTeX that is not to be read as such."""
    if text[at : at + 1] != "\\":
        return ""
    divided = re.search(rf"({WORD})\s*$", text[:at])
    right = re.match(r"\w+", text[at + 1 :].strip())
    if divided and right and len(right[0]) == 1:
        return (
            f"Write solve({divided[1]}, {right[0]})[j] for the solution x[j] of {divided[1]}[i,j] x[j] = {right[0]}[i]."
        )
    return "LaTeX is read by rc.parse(text), and not where latex=False is said."


def _bars(text: str, at: int, functions: Container[str]) -> str:
    """``|x|`` and ``||x||``."""
    norm = re.compile(r"(?:\|\||‖)\s*([^|‖]+?)\s*(?:\|\||‖)").match(text, at)
    if norm:
        return f"Write norm({norm[1]})." if re.fullmatch(WORD, norm[1]) else f"Write norm[i]({norm[1]})."
    single = re.compile(r"\|([^|]+)\|").match(text, at)
    return f"Write abs({single[1].strip()}); bars are for the size of an index, |i|." if single else ""


def _quoted(text: str, at: int, functions: Container[str]) -> str:
    """``einsum('ij,jk->ik', A, B)``."""
    call = re.search(r"einsum\(\s*['\"]([\w,\s]+)(?:->\s*(\w*))?\s*['\"]\s*,([^()]*)\)", text)
    if not call:
        norm = re.search(rf"norm\(\s*({WORD})\s*,", text)
        quotes = re.compile(r"'[^'\s\[\]]*'").match(text, at)
        return "" if not quotes else f"Write norm({norm[1]})." if norm else "Write names without quotes."
    names, terms = split(call[3]), [term.strip() for term in call[1].split(",")]
    operands = [f"{name}[{','.join(term)}]" if term else name for name, term in zip(names, terms, strict=False)]
    left = f"y[{','.join(call[2])}] = " if call[2] else "y = "
    return f"Write {left}{' '.join(operands)}."


def _angles(text: str, at: int, functions: Container[str]) -> str:
    """``<x, y>``."""
    pair = re.compile(rf"[<⟨]\s*({WORD})\s*,\s*({WORD})\s*[>⟩]").match(text, at)
    return f"Write {pair[1]}[i] {pair[2]}[i]." if pair else ""


def _divided(text: str, at: int, functions: Container[str]) -> str:
    """``x // 2``."""
    signs = text.find("//", max(0, at - 2), at + 2)
    if signs < 0:
        return ""
    before = re.search(rf"({ENTRY}|\d+)\s*$", text[max(0, signs - 60) : signs])
    after = re.match(rf"\s*({ENTRY}|\d+)", text[signs + 2 : signs + 62])
    return f"Write floor({before[1]}/{after[1]})." if before and after else ""


def _slice(text: str, at: int, functions: Container[str]) -> str:
    """``x[:, 0]`` and ``x[0:3]``."""
    if text[at : at + 1] != ":":
        return ""
    if text[at : at + 2] == ":=":
        return "Write = for a definition."
    if re.match(r"\s*(def|lambda)\b", text):
        return "A text has equations, as in y = x**2; functions of Python are for rc.grad and its kin."
    if text[:at].count("?"):
        return "Write where(condition, a, b) for a choice."
    opening = max(text.rfind("[", 0, at), text.rfind("(", 0, at))
    name = re.search(rf"{WORD}$", text[:opening]) if opening >= 0 else None
    if not name:
        return ""
    used = set(re.findall(r"\w+", text[opening : _closing(text, opening)]))
    letters, shown, sizes = (c for c in chain(LETTERS, map("i{}".format, count(1))) if c not in used), [], []
    for part in split(text[opening + 1 : _closing(text, opening)]):
        numbers = re.fullmatch(r"(\d*)\s*:\s*(\d*)", part)
        letter = next(letters) if numbers else ""
        if text[opening] == "(" and (not numbers or part.strip() != ":"):  # MATLAB counts from 1
            if not part.isdigit():
                return ""
            part = str(int(part) - 1)
        if numbers and numbers[2]:
            shown.append(f"{letter}+{numbers[1] or 0}")
            sizes.append(f'"{letter}": {int(numbers[2]) - int(numbers[1] or 0)}')
        else:
            shown.append((f"{letter}+{numbers[1]}" if numbers[1] else letter) if numbers else part)
    given = f", and give the size: rc.parse(…, sizes={{{', '.join(sizes)}}})" if sizes else ""
    return f"An axis has a name in place of a slice: {name[0]}[{','.join(shown)}]{given}."


def _arrow(text: str, at: int, functions: Container[str]) -> str:
    """``b h -> h b``."""
    arrow = re.fullmatch(r"\s*([\w ]+?)\s*(?:->|→)\s*([\w ]+?)\s*", text)
    if not arrow:
        return ""
    left, right = (",".join(side.split()) for side in arrow.groups())
    return f"An arrangement of axes is an equation: y[{right}] = x[{left}]; patterns are for rc.rearrange."


RULES: tuple[Callable[[str, int, Container[str]], str], ...] = (
    _quoted,
    _arrow,
    _chain,
    _dot,
    _slice,
    _bars,
    _angles,
    _divided,
    _backslash,
)


# Functions of other languages


SIZE = "Write |i| for the size of an axis of {0}, i being its index."
AN_INPUT = "Arrays of numbers are inputs: write a name, A[i,j], and give the array at the call."

# Functions of other languages that are no functions here: how many arguments they have, 0 for any, and what they say.
FORMS: dict[str, tuple[int, Callable[..., str]]] = {
    **dict.fromkeys(["diff", "Derivative"], (2, lambda f, x: f"Write D({f}, {x}).")),
    **dict.fromkeys(["dot", "inner", "vdot"], (2, lambda a, b: f"Write {_named(a, 'i')} {_named(b, 'i')}.")),
    "outer": (2, lambda a, b: f"Write {_named(a, 'i')} {_named(b, 'j')}."),
    **dict.fromkeys(["matmul", "mtimes", "mm"], (2, lambda a, b: f"Name the indices: {product(f'{a} @ {b}')[0]}.")),
    "transpose": (1, lambda a: f"A transpose is an order of indices: {a}[j,i] where {a}[i,j] would stand."),
    "diag": (1, lambda a: f"Write delta[i,j] {a}[j] for the matrix, and {a}[i,i] for the diagonal of one."),
    **dict.fromkeys(["eye", "identity", "Identity"], (0, lambda *n: "Write delta[i,j].")),
    "ones": (0, lambda *n: f"Write 1[{','.join(LETTERS[: max(1, len(n))])}]."),
    "zeros": (0, lambda *n: f"Write 0[{','.join(LETTERS[: max(1, len(n))])}]."),
    **dict.fromkeys(["Sum", "summation"], (2, lambda f, i: f"Write sum[{split(i.strip('()'))[0]}]({f}).")),
    **dict.fromkeys(["Max", "fmax"], (2, lambda a, b: f"Write maximum({a}, {b}).")),
    **dict.fromkeys(["Min", "fmin"], (2, lambda a, b: f"Write minimum({a}, {b}).")),
    "Piecewise": (0, lambda *cases: "Write where(condition, a, b)."),
    "Rational": (2, lambda a, b: f"Write {a}/{b}."),
    "σ": (1, lambda a: f"Write sigmoid({a})."),
    "norm2": (1, lambda a: f"Write norm({a})."),
    "range": (0, lambda *n: "An index runs over its axis: write sum[i](…) for a sum over it."),
    **dict.fromkeys(["len", "size", "length", "numel"], (1, SIZE.format)),
    **dict.fromkeys(
        ["grad", "gradient", "jacobian", "nabla"],
        (
            0,
            lambda f, x="x[i]", *_: f"Write D({f}, {x})." if x != "x[i]" else f"Write D({f}, x[i]), with the variable.",
        ),
    ),
    "div": (1, lambda v: f"Write D({v}[i], x[j]) delta[i,j], with the variable."),
    "kron": (2, lambda a, b: f"Write {a}[i,j] {b}[k,l]; its axes are put together by rc.rearrange."),
    "cross": (2, lambda a, b: f"Write eps[i,j,k] {a}[j] {b}[k]."),
    **dict.fromkeys(["LeviCivita", "levicivita"], (0, lambda *n: f"Write eps[{','.join(n)}].")),
    **dict.fromkeys(["KroneckerDelta", "kronecker"], (2, lambda i, j: f"Write delta[{i},{j}].")),
    **dict.fromkeys(["Heaviside", "heaviside", "step"], (1, lambda x: f"Write where({x} > 0, 1, 0).")),
    **dict.fromkeys(
        ["binomial", "comb", "nchoosek"],
        (2, lambda n, k: f"Write exp(lgamma({n} + 1) - lgamma({k} + 1) - lgamma({n} - {k} + 1))."),
    ),
    **dict.fromkeys(["Matrix", "array", "tensor", "vector"], (0, lambda *n: AN_INPUT)),
    **dict.fromkeys(["integrate", "int", "Integral"], (0, lambda *n: "There are no integrals in the notation.")),
    "factorial": (1, lambda a: f"Write exp(lgamma({a} + 1))."),
}


# Pieces of text


def _closing(text: str, opening: int) -> int:
    """Where the bracket at ``opening`` is closed, or the end."""
    depth = 0
    for at in range(opening, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if not depth:
            return at
    return len(text)


def _entry(name: str) -> str:
    return name if name.isdigit() else f"{name}[i,j]" if name[0].isupper() else f"{name}[i]"


def _named(name: str, index: str) -> str:
    return f"{name}[{index}]" if re.fullmatch(WORD, name) else name
