"""Random texts of the whole notation: every function of the table, reads, gathers, windows, sums, named steps.

Each letter has a size of its own, so that the arrays of a text fit it: ``p`` and ``q`` are the axes of matrices, ``r``
stands in reads alone, so that its range follows from them. What is drawn need not obey the rules of the notation; a
text that does not is drawn again.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator

import numpy as np

from ricci.errors import RicciError
from ricci.functions.fourier import TRANSFORMS
from ricci.functions.table import IN_TEXT
from ricci.user.entry import parse
from ricci.user.formula import Formula

SIZES = {"i": 3, "j": 2, "k": 4, "p": 3, "q": 3, "n": 9}
INPUTS = {
    "a": "i",
    "b": "j",
    "w": "k",
    "A": "ij",
    "B": "jk",
    "C": "ik",
    "T": "ijk",
    "c": "",
    "P": "pq",
    "Q": "qp",
    "u": "n",
}
INPUTS |= {"U": "nj"}
INTEGERS = {"t": "i", "s": "jk"}  # places on the axis j
READS = ["u[i+j]", "u[i+1]", "u[2*i+j]", "u[|i|-1-i]", "u[i-j+2]", "u[i+k+j]", "u[3]", "u[|n|-1]", "U[i+k,j]", "U[2,j]"]
READS += [
    "A[i,0]",
    "A[1,j]",
    "a[|i|-1-i]",
    "T[i,j,0]",
    "P[p,p]",
    "P[q,p]",
    "P[p,q]",
    "A[2,1]",
    "C[i,i+1]",
    "P[|p|-1-p,q]",
]
READS += ["u[r+k]", "u[r+1]", "u[r+0]", "u[r-1]", "u[2*r+j]", "U[r+j,j]", "U[r+0,j]", "u[r-k]", "u[3*r+k]"]
GATHERS = ["b[t[i]]", "B[t[i],k]", "A[i,t[i]]", "A[i,s[j,k]]", "b[s[j,k]]", "T[i,t[i],k]", "U[i+j,t[i]]", "b[s[0,k]]"]
STRUCTURES = [
    "delta[p,q]",
    "delta[i,i']",
    "delta[t[i],j]",
    "delta[i,j+1]",
    "delta[k,i+j]",
    "1[i]",
    "1[j,k]",
    "0[i]",
    "1[p]",
]
NUMBERS = ["2", "3", "1/2", "pi", "0.25", "|i|", "|k|", "|n|", "(|i| - 1)", "-1"]
LETTERS = "ijkpq"


def random_written(rng: random.Random, depth: int = 2, statements: int = 1) -> tuple[str, Formula]:
    """A text of so many statements and the formula that it is."""
    while True:
        writer = Writer(rng)
        text = "\n".join(writer.statement(depth) for _ in range(statements))
        with warnings.catch_warnings():  # of texts with two readings
            warnings.simplefilter("ignore")
            try:
                return text, parse(text)
            except RicciError:
                continue


def arrays(f: Formula, rng: random.Random) -> dict[str, np.ndarray]:
    """Arrays for the inputs of such a formula, positive, matrices near the identity."""
    source = np.random.default_rng(rng.randrange(2**32))
    found = {}
    for name in f.context.facts.inputs:
        if name in INTEGERS:
            found[name] = source.integers(0, SIZES["j"], [SIZES[x] for x in INTEGERS[name]])
        else:
            found[name] = source.uniform(0.3, 0.9, [SIZES[x] for x in INPUTS[name]])
            if name in "PQ":
                found[name] = found[name] * 0.2 + np.eye(3) + np.diag([0.1, 0.2, 0.4])
    return found


PARTS = {"abs2", "angle", "conj", "imag", "real", *TRANSFORMS}  # with texts of their own
REAL = [(name, row) for name, row in IN_TEXT.items() if row.complex != "always" and name not in PARTS]


class Writer:
    """Draws the statements of one text."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.defined: dict[str, str] = {}

    def statement(self, depth: int) -> str:
        free = "".join(self.rng.sample(LETTERS + "r", self.rng.choice((0, 0, 1, 1, 2))))
        name = f"h{len(self.defined)}"
        body = self.sum(free, depth)
        self.defined[name] = free
        return f"{tensor(name, free)} = {body}"

    def sum(self, free: str, depth: int) -> str:
        count = self.rng.choice((1, 1, 1, 2, 3))
        return self.rng.choice((" + ", " - ")).join(self.term(free, depth) for _ in range(count))

    def term(self, free: str, depth: int) -> str:
        """A product; letters that are missing, or that one factor alone has, are those of a one-tensor."""
        factors = [self.factor(free, depth) for _ in range(self.rng.choice((1, 1, 2, 2, 3)))]
        uses = {x: sum(x in own for _, own in factors) for _, own in factors for x in own}
        ones = [x for x in free if x not in uses] + [x for x, n in uses.items() if n == 1 and x not in free]
        text = factors[0][0]
        for factor, _ in factors[1:]:
            text += (" / " if self.rng.random() < 0.15 else " ") + factor
        return text + (f" 1[{','.join(ones)}]" if ones else "")

    def factor(self, free: str, depth: int) -> tuple[str, str]:
        draw = self.rng.random()
        if depth and draw < 0.6:
            return self.call(free, depth - 1)
        if draw < 0.64:
            return self.rng.choice(NUMBERS), ""
        if draw < 0.76:
            text = self.rng.choice((READS, READS, GATHERS, STRUCTURES)[self.rng.randrange(4)])
            return text, "".join(x for x in "ijkpqnr" if x in self.letters(text))
        known = {**INPUTS, **self.defined, **self.defined}
        name = self.rng.choice(list(known))
        return tensor(name, known[name]), known[name]

    @staticmethod
    def letters(text: str) -> set[str]:
        inside = text[text.index("[") :].replace("|i|", "").replace("|p|", "").replace("|n|", "")
        inside = inside.replace("t[", "[").replace("s[", "[").replace("i'", "")
        return set(inside) & set("ijkpqnr")

    def call(self, free: str, depth: int) -> tuple[str, str]:
        name, row = self.rng.choice(REAL)
        inner = "".join(x for x in free if self.rng.random() < 0.8)
        if self.rng.random() < 0.15:
            return f"({self.sum(inner, depth)})", inner
        if self.rng.random() < 0.12:
            power = self.rng.choice(("2", "3", "(-1)", "(1/2)", "c"))
            return f"({self.sum(inner, depth)})**{power}", inner
        if row.kind == "elementwise":
            args = [self.sum(inner, depth) for _ in range(row.arity)]
            if row.sign and row.type == "truth":
                return f"({args[0]} {row.sign} {args[1]})", inner
            return f"{name}({', '.join(args)})", inner
        if row.kind == "matrix":
            return self.of_matrices(name, row, inner, depth)
        several = 2 if row.kind == "reduce" and self.rng.random() < 0.5 else 1
        axes = (
            self.rng.sample([x for x in LETTERS if x not in inner] + ["i", "j"], several)
            if row.kind == "reduce"
            else inner[:1] or "i"
        )
        whole = "".join(dict.fromkeys([*inner, *axes]))
        args = ", ".join(self.sum(whole, depth) for _ in range(row.arity))
        return f"{name}[{','.join(axes)}]({args})", inner if row.kind == "reduce" else whole

    def of_matrices(self, name: str, row, inner: str, depth: int) -> tuple[str, str]:
        rest = "".join(x for x in inner if x not in "pq")
        if self.rng.random() < 0.5 and row.arity == 1 and row.gives in ("scalar", "vector", "matrix"):
            result = {"scalar": "", "vector": "p", "matrix": "pq"}[row.gives]
            return tensor(f"{name}({self.rng.choice('PQ')})", result), result
        matrix = self.rng.choice(
            ("P[p,q]", "Q[q,p]", "P[p,p'] P[q,p']", "(P[p,q] + P[q,p])", self.sum(rest + "pq", depth))
        )
        result = {"scalar": "", "vector": "p", "matrix": "pq", "solve": "q"}.get(row.gives, "")
        args = [matrix] if row.arity == 1 else [matrix, self.sum(rest + "p", depth)]
        return f"{name}[p,q]({', '.join(args)})", rest + result


def tensor(name: str, letters: str) -> str:
    return f"{name}[{','.join(letters)}]" if letters else name


def derivatives(f: Formula, rng: random.Random) -> Iterator[Formula]:
    """The first derivative by an input and the second by an input."""
    names = [name for name in f.variables if name in INPUTS]
    for _ in range(2 if names else 0):
        f = f.diff(rng.choice(names))
        yield f
