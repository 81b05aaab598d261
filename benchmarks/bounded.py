"""How long short texts can keep each operation busy: random texts of at most 500 characters, from a grammar.

Run it with ``python benchmarks/bounded.py``; ``--number`` is how many texts, ``--seed`` which, ``--seconds`` the limit
of an operation. The grammar makes nested functions, ``D``, ``where``, sums, products, powers, definitions that
use one another, nested derivatives of functions of matrices, and networks of one tensor. Each text is read, printed,
simplified, derived, derived step by step, analysed and compiled, under ``rc.limits``; for each operation there are how
many texts took longer than the limit, how many were refused, the longest time, and the most work, in nodes. An
operation that goes on long after its limit is marked: some of its work is not counted.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from typing import Any

from report import machine

import ricci as rc
from ricci.budget import _budget

SECONDS = 6.0
LONGEST = 500  # characters of a text
SCALARS = ("sin", "cos", "tan", "exp", "log", "tanh", "sigmoid", "sqrt", "abs", "softplus", "relu", "expm1", "erf")
STEPS = (
    "a*a + 0.1*a",
    "a*a*a - a",
    "sin(a)*a + a**2",
    "(a + p)*(a - q)",
    "r*a*(1 - a)",
    "a/(2 + a)",
    "1/(1 + a)",
    "where(a > 0, a, -a)",
    "maximum(a, 1 - a)*a",
    "D(a, x)",
    "tan(a)",
    "a*exp(-a) + log(1 + a**2)",
    "a + sqrt(1 + a*a)",
)
VECTORS = (
    "tanh(A[i,j] a[j])",
    "a[i] + 0.1 A[i,j] tanh(a[j])",
    "softmax[i](a[i]) a[i]",
    "a[i] / (1 + a[j] a[j])",
    "A[i,j] a[j] a[i]",
    "where(a[i] > 0, a[i], -a[i])",
    "exp(a[i] - max[i](a[i]))",
)
MATRICES = (
    "inv(X)[{0},{1}]",
    "det(X)",
    "logdet(X)",
    "expm(X)[{0},{1}]",
    "X[{0},q'] inv(X)[q',{1}]",
    "cholesky(X)[{0},{1}]",
)
ROWS = (
    "softmax[{0}](x[{0}])",
    "prod[q'](x[q'])",
    "logsumexp[q'](x[q'])",
    "log_softmax[{0}](x[{0}])",
    "x[{0}]**3 / (x[q'] x[q'])",
)


def text(rng: random.Random) -> str:
    """One text; chains are as long as there is room for."""
    made = rng.choice([tree, tree, chain, chain, vectors, matrices, rows, network])(rng)
    return made if len(made) <= LONGEST else text(rng)


def tree(rng: random.Random) -> str:
    """A scalar expression of any form."""
    return f"f = {term(rng, rng.randint(2, 6))}"


def term(rng: random.Random, depth: int) -> str:
    if not depth:
        return rng.choice(["x", "x", "y", "2", "0.3", "(x + y)", "(1 - x)"])
    kind = rng.randrange(8)
    inner = [term(rng, depth - 1), term(rng, depth - rng.randint(1, depth))]
    if kind < 2:
        return f"{rng.choice(SCALARS)}({inner[0]})"
    if kind == 2:
        return f"D({inner[0]}, {rng.choice('xy')})"
    if kind == 3:
        return f"where({inner[1]} > {term(rng, 0)}, {inner[0]}, {inner[1]})"
    if kind == 4:
        return f"({inner[0]})**{rng.choice(['2', '3', '0.5', '-1', '7'])}"
    return f"({inner[0]} {rng.choice('+-*/')} {inner[1]})"


def chain(rng: random.Random) -> str:
    """Definitions one after another, each of the one before."""
    steps = rng.sample([*STEPS], rng.choice([1, 1, 1, 2]))
    return _chained(steps, "a0 = x", "", rng.randint(4, 40), rng)


def vectors(rng: random.Random) -> str:
    steps = rng.sample([*VECTORS], rng.choice([1, 1, 2]))
    return _chained(steps, "a0[i] = x[i]", "[i]", rng.randint(2, 14), rng)


def _chained(steps: list[str], first: str, indices: str, length: int, rng: random.Random) -> str:
    lines = [first]
    for k in range(length):
        words = rng.choice(steps)
        body = "".join([f"a{k}" if _alone(words, at) else c for at, c in enumerate(words)])
        line = f"a{k + 1}{indices} = {body}"
        if len("; ".join([*lines, line])) > LONGEST:
            break
        lines.append(line)
    return "; ".join(lines)


def _alone(words: str, at: int) -> bool:
    """Whether a letter of a step is the name ``a``, which stands for the line before."""
    around = words[max(0, at - 1) : at] + words[at + 1 : at + 2]
    return words[at] == "a" and not any(c.isalnum() for c in around)


def matrices(rng: random.Random) -> str:
    """A function of a matrix, derived several times."""
    names = iter("abcdefghijklmnop")
    made = rng.choice(MATRICES).format(next(names), next(names))
    for _ in range(rng.randint(1, 6)):
        made = f"D({made}, X[{next(names)},{next(names)}])"
    return made


def rows(rng: random.Random) -> str:
    names = iter("abcdefghijklmnop")
    made = rng.choice(ROWS).format(next(names))
    for _ in range(rng.randint(1, 7)):
        made = f"D({made}, x[{next(names)}])"
    return made


def network(rng: random.Random) -> str:
    """A contraction of one tensor with itself, all of whose factors may be exchanged, or an outer product."""
    letters = "abcdefghijklmnopqrstuvwxyz"[: rng.randint(3, 26)]
    if rng.random() < 0.5:
        return f"f[{','.join(letters)}] = {' '.join([f'x[{c}]' for c in letters])}"
    letters = letters[:8]
    pairs = [f"A[{a},{b}]" for k, a in enumerate(letters) for b in letters[k + 1 :]]
    return f"f = {' '.join(pairs)}"


# What is done


def operations(f: Any) -> dict[str, Callable[[], Any]]:
    """What can be done with a formula, by name; derivatives are by its first input."""
    inputs = list(f.variables)
    derived: list[Any] = []
    found: dict[str, Callable[[], Any]] = {
        "str": lambda: str(f),
        "latex": f.latex,
        "simplify": f.simplify,
        "structure": f.structure,
        "matrix": f.matrix,
        "compile": lambda: f.compile("numpy").plan,
    }
    if inputs:
        found["diff"] = lambda: derived.append(f.diff(inputs[0]))
        found["derivation"] = lambda: str(derived[0].derivation()) if derived else None
        found["str of derivative"] = lambda: str(derived[0]) if derived else None
        found["compile derivative"] = lambda: derived[0].compile("numpy").plan if derived else None
        found["second diff"] = lambda: f.diff(inputs[0], inputs[0])
    return found


class Tally:
    """What one operation took over all texts."""

    def __init__(self) -> None:
        self.done = self.late = self.refused = self.work = self.over = 0
        self.longest, self.text = 0.0, ""

    def run(self, call: Callable[[], Any], seconds: float, text: str) -> Any:
        started, result = time.perf_counter(), None
        with rc.limits(seconds=seconds):
            budget = _budget.get()
            assert budget is not None
            try:
                result = call()
                self.done += 1
            except rc.LimitError:
                self.late += 1
            except (rc.RicciError, MemoryError, RecursionError, ValueError):  # NumPy has no arrays of such orders
                self.refused += 1
            took = time.perf_counter() - started
            self.work = max(self.work, budget.spent)
        self.over += took > 2 * seconds
        if took > self.longest:
            self.longest, self.text = took, text
        return result


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--number", type=int, default=100, help="texts")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="that one operation may take")
    parser.add_argument("--show", action="store_true", help="the text that took longest in each operation")
    chosen = parser.parse_args()
    print(f"Bounded work\n{machine()}\n{chosen.number} texts, {chosen.seconds:g} s for an operation\n")
    rng, tallies, busy = random.Random(chosen.seed), {}, []
    for _ in range(chosen.number):
        made = text(rng)
        before = sum(tally.late for tally in tallies.values())
        f = tallies.setdefault("parse", Tally()).run(lambda made=made: rc.parse(made), chosen.seconds, made)
        for name, call in operations(f).items() if f is not None else ():
            tallies.setdefault(name, Tally()).run(call, chosen.seconds, made)
        if sum(tally.late for tally in tallies.values()) > before:
            busy.append(made)
    print(f"{'':<20}{'done':>7}{'too long':>10}{'refused':>9}{'longest':>10}{'nodes':>12}{'past the limit':>16}")
    for name, tally in tallies.items():
        counts = f"{tally.done:>7}{tally.late:>10}{tally.refused:>9}"
        row = f"{counts}{tally.longest:>9.2f}s{tally.work:>12,}{tally.over or '':>16}"
        print(f"{name:<20}{row}" + (f"  {tally.text}" if chosen.show else ""))
    print(f"\n{len(busy)} of {chosen.number} texts keep some operation busy for more than {chosen.seconds:g} s")
    for made in busy[:20] if chosen.show else ():
        print(f"  {made}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
