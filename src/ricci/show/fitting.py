r"""LaTeX for a page of some width: long lines are broken at operators, and rules go below where they do not fit.

What is shown in notebooks is not broken by those who set it: lines that are longer than the page run out of it. The
places are those of ``breaking.py``: where the fewest brackets are open, and of these at the weakest operator. Brackets
that are broken apart no longer grow with what is inside, ``\bigl(`` … ``\bigr)``, as TeX cannot pair them over a line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from operator import itemgetter

WIDTH = 96  # letters, about
BEGIN, END, NEXT = "\\begin{aligned}\n", "\n\\end{aligned}", " \\\\\n"
RULE = " && "
GROWING = re.compile(r"\\(left|right)(?![a-zA-Z])")
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.| = | [+-] |\s+|\d+|.", re.DOTALL)
_OPENS, _CLOSES = frozenset("([{"), frozenset(")]}")
_SILENT = frozenset(["\\left", "\\right", "\\displaystyle", "\\bigl", "\\bigr", "{", "}", "&"])
_NAMES = frozenset(
    ["\\operatorname", "\\mathrm", "\\mathbf", "\\mathit", "\\text"]
)  # what is in braces is what is seen
_TALL = frozenset(["\\frac", "\\binom"])
_SMALL = 0.7  # of letters above and below
_MATH_IN_WORDS, _APART = re.compile(r"\$(.*?)\$"), r"}\1\\text{"  # dollars in words would end the formula
_WORD = re.compile(r"\\(?:exp|log|sin|cos|tan|sinh|cosh|tanh|det|max|min|lim|arg|Pr|ln)")
BEFORE = 400  # letters that are looked at to see what stands before a blank
_BEGINS = ("(", r"\left", "+", "-", "=", "<", ">", r"\le", r"\ge", r"\ne", r"\cdot", "&")
_STARTS = re.compile(r"\\(?:sum|prod|frac\{\\partial\}|cdot|le|ge|ne|odot|partial)")


def fitted(latex: str, width: int = WIDTH) -> str:
    """A display that is no wider than ``width`` letters, where its lines can be broken.

    >>> print(fitted("y = a_{i} + b_{i} + c_{i}", width=10))
    \\begin{aligned}
    y &= a_{i} + b_{i} \\\\
     &\\quad + c_{i}
    \\end{aligned}
    """
    whole = latex.startswith(BEGIN) and latex.endswith(END)
    lines = latex[len(BEGIN) : -len(END)].split(NEXT) if whole else [latex]
    parts = [_parts(line, whole) for line in lines]
    left = max(width_of(one) for one, _, _ in parts)
    longest = max(width_of(rule) for _, _, rule in parts)
    right = max(width_of(right) for _, right, _ in parts)
    if left + right + longest + 2 * bool(longest) <= width and not any(
        line.startswith(r"\text{sizes") for line in lines
    ):
        return latex
    most = width // 3  # of a rule that stands beside its line; a longer one has a line of its own
    rules = max((wide for _, _, rule in parts if (wide := width_of(rule)) <= most), default=0)
    room = width - left - 3 - (rules + 2 if rules else 0)
    made = [row for one in parts for row in _rows(one, max(room, most), most)]
    return BEGIN + NEXT.join(made) + END if whole or len(made) > 1 else latex


def in_notebook(latex: str) -> str:
    """What a notebook shows: one line of source, since some of them end formulas at the end of a line."""
    return f"$\\displaystyle {_MATH_IN_WORDS.sub(_APART, ' '.join(fitted(latex).splitlines()))}$"


def _parts(line: str, aligned: bool) -> tuple[str, str, str]:
    """What stands to the left of the sign, what to the right, and the rule."""
    body, _, rule = line.partition(RULE)
    sign = "&=" if aligned else " = "
    at = outside(body, sign)
    if at is None:
        return "", body.removeprefix("{").removesuffix("}") if body.startswith("{-") else body, rule
    return body[:at].rstrip(), body[at + len(sign) :].strip(), rule


def outside(text: str, sign: str) -> int | None:
    """Where a sign stands outside of all brackets."""
    depth = at = 0
    for token in _TOKEN.findall(text):
        if depth == 0 and text.startswith(sign, at):
            return at
        depth += (token in _OPENS) - (token in _CLOSES)
        at += len(token)
    return None


def _rows(parts: tuple[str, str, str], room: float, most: float) -> list[str]:
    left, right, rule = parts
    if not left and right.startswith(r"\text{sizes"):
        return [f"&{right}"]
    pieces = broken(right, room)
    sign = "=" if left or rule else ""
    rows = [f"{left} &{sign} {pieces[0]}".strip(), *[rf" &\quad {piece}" for piece in pieces[1:]]]
    if rule and width_of(rule) <= most:
        rows[-1] += RULE + rule
    elif rule:
        rows.append(rf" &\qquad {rule}")
    return rows


def width_of(latex: str) -> float:
    """About how many letters wide it is set.

    >>> width_of("x"), width_of(r"\\sigma(x_{i})"), width_of(r"\\frac{abc}{d}")
    (1.0, 4.7, 3.0)
    """
    total, tokens, at = 0.0, _TOKEN.findall(latex), 0
    while at < len(tokens):
        token = tokens[at]
        if token in _TALL:
            above, at = _group(tokens, at + 1)
            below, at = _group(tokens, at)
            total += max(width_of(above), width_of(below))
            continue
        if token in ("_", "^") and at + 1 < len(tokens):
            inside, at = _group(tokens, at + 1)
            total += _SMALL * width_of(inside)
            continue
        if token in _NAMES and at + 1 < len(tokens):
            inside, at = _group(tokens, at + 1)
            total += 0.9 * len(inside)
            continue
        total += _width_of_token(token)
        at += 1
    return round(total, 1)


def _width_of_token(token: str) -> float:
    if token in _SILENT or token.isspace():
        return 0
    if token in (" = ", " + ", " - "):
        return 2.5
    if _WORD.fullmatch(token):
        return len(token) - 1
    return len(token) if token.isdigit() else 1


def _group(tokens: Sequence[str], at: int) -> tuple[str, int]:
    """What stands in the braces at a place, or the one token there, and the place after it."""
    while at < len(tokens) and tokens[at].isspace():
        at += 1
    if at >= len(tokens) or tokens[at] != "{":
        return "".join(tokens[at : at + 1]), at + 1
    depth, end = 1, at + 1
    while end < len(tokens) and depth:
        depth += (tokens[end] == "{") - (tokens[end] == "}")
        end += 1
    return "".join(tokens[at + 1 : end - 1]), end


def broken(latex: str, room: float) -> list[str]:
    """One side of a line in pieces, each of which fits, or cannot be broken."""
    pieces, rest, cuts, start = [], latex, [], 0
    places = _places(latex) if width_of(latex) > room else []
    while width_of(rest) > room:
        end = _best(latex, places, start, room)
        if end is None:
            break
        cuts.append(end)
        start, rest = end, latex[end:]
        room -= 2 if len(cuts) == 1 else 0
    grown = _no_longer_growing(latex, cuts)
    for begin, end in zip([0, *cuts], [*cuts, len(latex)], strict=True):
        piece = "".join(grown[begin:end]).strip()
        bare = bool(pieces) and piece[:1] not in "+-="
        pieces.append(rf"\cdot {piece}" if bare else piece)
    return pieces


def _places(latex: str) -> list[tuple[int, int, int]]:
    """Where a line may end: the place, how many brackets are open there, and how strong the operator is."""
    found, braces, depth, at, before = [], 0, 0, 0, ""
    for token in _TOKEN.findall(latex):
        if braces == 0 and at:
            if token in (" + ", " - "):
                found.append((at, depth, 0))
            elif token.isspace() and _between_factors(before, latex, at + len(token)):
                found.append((at, depth, 1))
        braces += (token == "{") - (token == "}")
        depth += (token in ("(", "[")) - (token in (")", "]")) if braces == 0 else 0
        before = (before + token)[-BEFORE:] if not token.isspace() else before
        at += len(token)
    return found


def _between_factors(before: str, latex: str, at: int) -> bool:
    """Whether a product may be broken here: not after an operator, and not before the brackets it acts on."""
    last = re.search(r"(\\[A-Za-z]+|.)(?:[_^]\{[^{}]*\})*$", before)
    operator = last is not None and (_STARTS.match(last[1]) or last[1] in ",=<>")
    begins = latex.startswith(_BEGINS, at)
    return not operator and not begins and not before.endswith(r"\partial}{\partial}")


def _best(latex: str, places: Sequence[tuple[int, int, int]], start: int, room: float) -> int | None:
    """The best place after ``start``: of equal ones the last, and none where hardly anything would be on the line."""
    found, wide, last = [], 0.0, start
    for place, depth, strength in places[bisect_right(places, start, key=itemgetter(0)) :]:
        wide, last = wide + width_of(latex[last:place]), place
        if round(wide, 1) > room:
            break
        found.append((depth + 4 * (wide < room / 4), strength, -place))
    return -min(found)[2] if found else None


def _no_longer_growing(latex: str, cuts: Sequence[int]) -> list[str]:
    r"""The letters, ``\left`` and ``\right`` being ``\bigl`` and ``\bigr`` where a cut is between them."""
    letters, opened = list(latex), []
    for match in GROWING.finditer(latex):
        if match[1] == "left":
            opened.append(match)
            continue
        pair = opened.pop(), match
        if any(pair[0].start() < cut <= match.start() for cut in cuts):
            big = "Big" if r"\frac" in latex[pair[0].start() : match.start()] else "big"
            for one, new in zip(pair, (f"\\{big}l", f"\\{big}r"), strict=True):
                letters[one.start() : one.end()] = [new, *[""] * (one.end() - one.start() - 1)]
    return letters
