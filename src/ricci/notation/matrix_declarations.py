"""What is said of the names of a text in the matrix language: ``"A[m,n] x[n] lam S: symmetric"``.

A name with two indices is a matrix, with one a column, and without any a scalar; words after a colon say more. The
indices are the author's own, so they name the axes of the result, and two of them are two sizes: ``A[m,n]`` has no
inverse, ``A[n,n]`` has one. Of other names the first letter decides: a capital one begins a matrix, a Greek name is a
scalar, and the rest are columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from unicodedata import name, normalize

from ricci.errors import NotationError, nearest
from ricci.notation.declarations import COMPLEX, WORDS
from ricci.notation.latex_words import GREEK
from ricci.notation.text_scope import WORDS_OF_PYTHON

KINDS = {"scalar": 0, "vector": 1, "matrix": 2}  # words that say an order
ACCENTS = {"\u0304": "bar", "\u0307": "dot", "\u0302": "hat", "\u0303": "tilde"}
NAME = r"[^\W\d_ᵀᴴ⁰¹²³⁴-⁹₀-₉¼-¾⅐-⅞][^\Wᵀᴴ⁰¹²³⁴-⁹¼-¾⅐-⅞]*[\u0300-\u036f]?"
_ONE = re.compile(rf"({NAME})\s*(?:\[([^\[\]]*)\])?")
_COLON = re.compile(r"\s*:\s*")
_WORD = re.compile(r"[^\W\d]\w*")
EXAMPLE = "Write names with their indices, and what else is known: 'A[m,n] x[n] lam S: symmetric'."
_SCALARS = GREEK - {"pi"} | {"lam", "ell"}


@dataclass(frozen=True, slots=True)
class Declared:
    """What is said of one name."""

    order: int
    indices: tuple[str, ...] = ()  # where they are named
    words: tuple[str, ...] = ()


def declarations(text: str) -> Mapping[str, Declared]:
    """The names that a text declares.

    >>> declarations("A[m,n] lam S: symmetric")["S"]
    Declared(order=2, indices=(), words=('symmetric',))
    """
    found: dict[str, Declared] = {}
    at = _blank(text, 0)
    while at < len(text):
        match = _ONE.match(text, at)
        if not match:
            raise NotationError("This declares no name.", text, at, at + 1, EXAMPLE)
        own, end = plain_name(match[1]), match.end()
        if own in found:
            raise NotationError(f"{own!r} is declared twice.", text, at, end, "Declare each name once.")
        indices = _indices(text, match)
        words, end = _words(text, end)
        found[own] = _declared(text, at, end, indices, words)
        at = _blank(text, end)
    return found


def _blank(text: str, at: int) -> int:
    while at < len(text) and (text[at].isspace() or text[at] in ",;"):
        at += 1
    return at


def _indices(text: str, match: re.Match[str]) -> tuple[str, ...] | None:
    if match[2] is None:
        return None
    indices = tuple([index.strip() for index in match[2].split(",")])
    for index in indices:
        if not re.fullmatch(r"[^\W\d]\w*'*", index):
            hint = "An index is a name, as in A[m,n]; sizes are given apart: rc.matrix(text, 'A[m,n]', sizes={'m': 3})."
            raise NotationError(
                f"{index!r} is no index.", text, match.start(2), max(match.end(2), match.start(2) + 1), hint
            )
    return indices


def _words(text: str, at: int) -> tuple[tuple[str, ...], int]:
    """The words after a colon, and where they end."""
    colon = _COLON.match(text, at)
    if not colon:
        return (), at
    words: list[str] = []
    start = colon.end()
    while True:
        match = _WORD.match(text, start)
        if not match or (words and match[0] not in KINDS and match[0] not in WORDS):
            break
        if match[0] not in KINDS and match[0] not in WORDS:
            known = [*KINDS, *WORDS]
            hint = nearest(match[0], known) or f"The words are {', '.join(known)}."
            raise NotationError(f"{match[0]!r} says nothing of a matrix.", text, start, match.end(), hint)
        words.append(match[0])
        at = match.end()
        start = at + len(text[at:]) - len(text[at:].lstrip())
    if not words:
        raise NotationError("A word is missing after the colon.", text, colon.start(), colon.end(), EXAMPLE)
    return tuple(words), at


def _declared(text: str, at: int, end: int, indices: tuple[str, ...] | None, words: tuple[str, ...]) -> Declared:
    orders = {KINDS.get(word, 2) for word in words if word != COMPLEX} | (
        {len(indices)} if indices is not None else set()
    )
    if len(orders) > 1:
        hint = "Symmetric, antisymmetric, positive, orthogonal, hermitian and unitary are matrices."
        raise NotationError("These words do not go together.", text, at, end, hint)
    order = orders.pop() if orders else order_of(plain_name(text[at:].split(":")[0].strip())) if words else 0
    return Declared(order, indices or (), words)


def order_of(own: str) -> int:
    """The order of a name of which nothing is declared.

    >>> [order_of(word) for word in ("A", "x", "lam", "alpha_1", "σ", "Sigma", "b2")]
    [2, 1, 0, 0, 0, 2, 1]
    """
    letters = re.split(r"[\d_]", own, maxsplit=1)[0]
    if own[0].isupper():
        return 2
    return 0 if letters in _SCALARS or (len(letters) == 1 and "GREEK" in name(letters, "")) else 1


def plain_name(word: str) -> str:
    """A name without accents, as the notation has it: ``x̂`` is ``x_hat``.

    >>> plain_name("x̂"), plain_name("Ȳ"), plain_name("beta")
    ('x_hat', 'Y_bar', 'beta')
    """
    apart = normalize("NFD", word)
    if len(apart) == 2 and apart[1] in ACCENTS:
        return f"{apart[0]}_{ACCENTS[apart[1]]}"
    return normalize("NFC", word)


def is_word(own: str) -> str:
    """Why a name cannot be one of a tensor; empty if it can."""
    if own == "delta":
        return "Call it delta_, or δ: delta[i,j] is the identity in index notation."
    return WORDS_OF_PYTHON.get(own, "")
