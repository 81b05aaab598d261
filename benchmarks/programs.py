"""Programs from the literature: values, gradients, second derivatives beside ``jax.jit``, ``torch.func``, autograd.

Run it with ``python benchmarks/programs.py``; ``--only gmm,cp`` picks programs, ``--sizes 1`` the smallest sizes alone,
``--kinds``, ``--peers`` what is asked and who is. The programs are in ``literature/``, each written once as users write
NumPy; every library runs the same text. All libraries of a row run in one process and take turns (``harness.py``). A
row that takes too long or too much memory is ended, named, and stops no other (``guarded.py``).

*first* is from the function to the first result, with nothing left from before; *warm* is a later call, after it is
decided whether there are kernels; *MB* is the most memory that a call takes beyond what there was, kept memory of ours
given back before. The rule is: a value takes no more than plain NumPy, a gradient at most five times that. The end says
where it is broken, and where we lose.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import harness
import numpy as np
from guarded import Guard, Say
from libraries import LIBRARIES, OURS, OWN, PLAIN
from literature import BY_NAME, PROGRAMS
from literature.corpus import KINDS
from report import difference, machine
from rows_of_programs import Row, show, summary
from turns import first_call, warm, warm_up

SECONDS, GIGABYTES = 25.0, 6.0  # of one contender, before it is ended
TOLERANCE = 1e-6  # of the largest entry: conditions differ, the text is one


def main() -> int:
    chosen = options().parse_args()
    print(f"Programs from the literature\n{machine()}\n{harness.THREADS} thread(s), pinned; best of the samples")
    guard = Guard(measure, chosen.seconds, chosen.memory)
    rows = []
    try:
        for program, size, kind in wanted(chosen):
            row = Row(program, BY_NAME[program].label(size), kind)
            contenders = [PLAIN] * (kind == "value") + [OURS, *[p for p in chosen.peers if p in LIBRARIES]]
            fill(row, guard, size, contenders)
            rows.append(row)
            show(row, first=len(rows) == 1)
    finally:
        guard.close()
        if chosen.json:
            with open(chosen.json, "w") as file:
                json.dump([row.__dict__ for row in rows], file, indent=1)
    summary(rows)
    return 0


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    words = lambda text: [word for word in text.split(",") if word]  # noqa: E731
    parser.add_argument("--only", type=words, default=[p.name for p in PROGRAMS], help="programs, comma-separated")
    parser.add_argument("--sizes", type=int, default=99, help="how many sizes of each, from the smallest")
    parser.add_argument("--kinds", type=words, default=list(KINDS), help=f"of {', '.join(KINDS)}")
    parser.add_argument("--peers", type=words, default=list(LIBRARIES), help=f"of {', '.join(LIBRARIES)}")
    parser.add_argument("--threads", type=int, default=1, help="cores and threads; 1 measures processor time")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="that a first call may take")
    parser.add_argument("--memory", type=float, default=GIGABYTES, help="GB that a process may take")
    parser.add_argument("--json", default="", help="a file for all figures")
    return parser


def wanted(chosen: argparse.Namespace) -> Iterator[tuple[str, tuple[int, ...], str]]:
    unknown = set(chosen.only) - BY_NAME.keys()
    if unknown:
        raise SystemExit(f"There is no program {', '.join(unknown)}; there are {', '.join(BY_NAME)}.")
    for name in chosen.only:
        for size in BY_NAME[name].sizes[: chosen.sizes]:
            yield from [(name, size, kind) for kind in BY_NAME[name].kinds if kind in chosen.kinds]


def fill(row: Row, guard: Guard, size: tuple[int, ...], contenders: Sequence[str]) -> None:
    """Measure a row; a contender at which the process had to be ended is left out, and the others go on."""
    left = list(contenders)
    while left:
        notes, reason = guard.run((row.program, size, row.kind, left))
        now = ""
        for what, *rest in notes:
            if what == "begins":
                (now,) = rest
            elif what == "broken":
                raise SystemExit(rest[0])
            else:
                getattr(row, what)[rest[0]] = rest[1]
        if not reason:
            return
        row.failed[now] = reason
        left = [name for name in left if name not in row.failed]


# In the other process


def measure(job: tuple[str, tuple[int, ...], str, Sequence[str]], say: Say) -> None:
    """All contenders of one row: first calls, checked, then warm calls in turns."""
    name, size, kind, contenders = job
    case = BY_NAME[name].case(size)
    calls: dict[str, Any] = {}
    wanted: list[np.ndarray] | None = None
    for contender in contenders:
        library = (LIBRARIES | OWN)[contender]
        found = first_call(contender, library, lambda library: case, kind, say)
        if found is None:
            continue
        calls[contender], result = found
        wanted = wanted or result
        try:
            difference(contender, result, wanted, TOLERANCE)
        except AssertionError as error:
            say(("failed", contender, str(error)))
        del result, found
        warm_up(contender, library(), calls[contender], say)
    warm(calls, say)


if __name__ == "__main__":
    sys.exit(main())
