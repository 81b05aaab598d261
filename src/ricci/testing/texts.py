"""Random texts of several statements, with inputs on which they are smooth.

Each letter has a size of its own. A term is a product of tensors that are there already, inputs or names defined above;
a letter that the left side has and no factor brings is broadcast by a one-tensor, and one that only a single factor has
is summed by one. Some definitions are another name for an input, a number, or a copy of what was written before, and
some are never used.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

LETTERS = {"i": 2, "j": 3, "k": 1, "l": 2}
INPUTS = {"a": "i", "b": "j", "A": "ij", "B": "jk", "C": "li", "x": "j", "c": "", "y": "ik"}
SMOOTH = ("tanh", "sin", "sigmoid", "exp", "softplus", "cos", "atan")


@dataclass(frozen=True)
class Text:
    """A random text: its statements, the indices of every name, and arrays for its inputs."""

    statements: tuple[tuple[str, str], ...]  # the left side, with its indices, and the right side
    indices: dict[str, str]
    inputs: dict[str, np.ndarray]

    def __str__(self) -> str:
        return "; ".join([f"{left} = {right}" for left, right in self.statements])

    @property
    def defined(self) -> list[str]:
        """The names that it defines, in order."""
        return [left.partition("[")[0] for left, _ in self.statements]

    def without(self, *names: str) -> str:
        """The text with some definitions left out, so that their names are inputs."""
        kept = [(left, right) for left, right in self.statements if left.partition("[")[0] not in names]
        return "; ".join([f"{left} = {right}" for left, right in kept])


def random_text(rng: random.Random, statements: int = 4, scalar: bool = False) -> Text:
    """A text of so many statements; the last is a scalar if asked for.

    >>> print(random_text(random.Random(1), 2))
    h0[i] = y[i,k] 1[k] - atan(c c 1[i]) + 1/2 tanh(x[j] 1[i,j]); h1[l] = h0[i] h0[i] 1[l]
    """
    known = dict(INPUTS)
    lines: list[tuple[str, str]] = []
    for number in range(statements):
        last = number == statements - 1
        letters = "" if last and scalar else "".join(rng.sample("ijkl", rng.choice((0, 1, 1, 2))))
        name = f"h{number}"
        right = _right(rng, known, letters, [r for left, r in lines if _letters(left) == letters])
        lines.append((tensor(name, letters), right))
        known[name] = letters
    source = np.random.default_rng(rng.randrange(2**32))
    inputs = {name: 0.7 * source.normal(size=[LETTERS[x] for x in ls]) for name, ls in INPUTS.items()}
    return Text(tuple(lines), known, inputs)


def tensor(name: str, letters: Iterable[str]) -> str:
    return f"{name}[{','.join(letters)}]" if letters else name


def _letters(left: str) -> str:
    return left.partition("[")[2].rstrip("]").replace(",", "")


def _right(rng: random.Random, known: dict[str, str], letters: str, written: Sequence[str]) -> str:
    draw = rng.random()
    if written and draw < 0.1:
        return rng.choice(written)  # the same once more
    if draw < 0.16:
        return f"2 1[{','.join(letters)}]" if letters else "3"
    same = [name for name, own in known.items() if own == letters]
    if same and draw < 0.24:
        return tensor(rng.choice(same), letters)  # another name for the same
    terms = [_term(rng, known, letters) for _ in range(rng.choice((1, 1, 2, 3)))]
    return "".join([terms[0], *(rng.choice((" + ", " - ", " + 1/2 ")) + term for term in terms[1:])])


def _term(rng: random.Random, known: dict[str, str], letters: str, depth: int = 2) -> str:
    if depth and rng.random() < 0.5:
        inner = _term(rng, known, letters, depth - 1)
        return f"({inner})**2" if rng.random() < 0.2 else f"{rng.choice(SMOOTH)}({inner})"
    latest = list(known)[len(INPUTS) :]
    names = [rng.choice(latest) if latest and rng.random() < 0.6 else rng.choice(list(known)) for _ in range(3)]
    factors = [(name, known[name]) for name in names[: rng.choice((1, 1, 2, 2, 3))]]
    count: dict[str, int] = {}
    for _, own in factors:
        for letter in own:
            count[letter] = count.get(letter, 0) + 1
    ones = [x for x in letters if x not in count] + [x for x, n in count.items() if n == 1 and x not in letters]
    shown = [tensor(name, own) for name, own in factors]
    return " ".join([*shown, *([f"1[{','.join(ones)}]"] if ones else [])])
