"""Work in blocks beside NumPy in memory and Dask, each contender in a process of its own: time, and memory at most.

Run it with ``python benchmarks/blocks.py``, or as a part of ``python benchmarks/scale.py``; ``--rows 20000`` is quick.
The data are a file of ``--rows`` × 100 numbers, 640 MB as it is, which the system has in its cache. Three programs:
the Hessian of logistic regression, one pass over the file; a covariance, two; and columns that are brought
to mean 0 and variance 1, which are written to another file of the size of the first.

=================  ===============================================================================
ricci, blocks      ``compile(blocks={"m": 4096})`` on ``np.load(…, mmap_mode="r")``
ricci, in memory   the same on an array, and compiled without blocks
NumPy, in memory   as one writes it
Dask               as one writes it, on the mapped file in pieces of 20,000 rows, in the threads that it is given
ricci on Dask      ``compile("dask")`` on the same pieces
=================  ===============================================================================

Times are processor time, the least of ``--repeats`` calls after a first one. Memory is what the process has at most,
above what it has when everything is imported and has run on a few rows: arrays in memory, temporary ones, results, and
pages of mapped files. Results are compared with NumPy's.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness import CLOCK

import numpy as np  # isort: skip

import ricci as rc

COLUMNS, LENGTH, PIECE, FEW = 100, 4096, 20_000, 5000
TEXTS = {
    "Hessian": "l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))",
    "covariance": "u[n] = mean[m](X[m,n]); C[n,p] = 1/|m| (X[m,n] - 1[m] u[n]) (X[m,p] - 1[m] u[p])",
    "columns": "Z[m,n] = (X[m,n] - 1[m] mean[m](X[m,n])) / (1[m] sqrt(var[m](X[m,n]) + 1/100))",
}
CONTENDERS = {
    "ricci, blocks of a file": ("blocks", True),
    "ricci, blocks in memory": ("blocks", False),
    "ricci, whole, in memory": ("whole", False),
    "NumPy, in memory": ("by hand", False),
    "Dask, a file": ("Dask", True),
    "ricci on Dask, a file": ("ricci on Dask", True),
}


def formula(task: str) -> rc.Formula:
    f = rc.parse(TEXTS[task])
    return f.diff("w", "w") if task == "Hessian" else f


def by_hand(task: str, X: Any, y: Any, w: Any) -> Any:
    """As one writes it, for NumPy and for Dask."""
    if task == "Hessian":
        s = 1 / (1 + np.exp(-y * (X @ w)))
        return X.T @ (X * (y * y * s * (1 - s))[:, None])
    centred = X - X.mean(axis=0)
    return centred.T @ centred / len(X) if task == "covariance" else centred / np.sqrt(X.var(axis=0) + 1 / 100)


def program(how: str, task: str) -> Callable[..., Any]:
    """A function of the data and of where the result goes."""
    inputs = ("X", "y", "w") if task == "Hessian" else ("X",)
    if "Dask" in how:
        import dask.array as da

        f = rc.compile(formula(task), "dask") if how.startswith("ricci") else None

        def lazily(X: Any, y: Any, w: Any, out: Any) -> Any:
            pieces: Any = (PIECE, -1)
            given = da.from_array(X, chunks=pieces), da.from_array(y, chunks=pieces[:1]), w
            chosen = dict(zip("Xyw", given, strict=True))
            lazy = f(**{name: chosen[name] for name in inputs}) if f else by_hand(task, *given)
            return da.store(lazy, out, lock=False) if out is not None else lazy.compute()

        return lazily
    if how == "by hand":

        def at_once(X: Any, y: Any, w: Any, out: Any) -> Any:
            found = by_hand(task, X, y, w)
            if out is not None:
                out[...] = found
            return found

        return at_once
    compiled = formula(task).compile(blocks={"m": LENGTH}) if how == "blocks" else formula(task).compile("numpy")

    def call(X: Any, y: Any, w: Any, out: Any) -> Any:
        chosen = dict(zip("Xyw", (X, y, w), strict=True))
        given = {name: chosen[name] for name in inputs}
        if how == "blocks":
            return compiled(**given, out=out)
        found = compiled(**given)
        if out is not None:
            out[...] = found
        return found

    return call


def memory(what: str) -> int:
    """Bytes that the process has, ``VmRSS``, or had at most, ``VmHWM``."""
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(what))


def measured(contender: str, task: str, folder: Path, repeats: int) -> dict[str, Any]:
    """In a process of its own: first time, least time, memory; the result is kept in a file."""
    how, mapped = CONTENDERS[contender]
    run = program(how, task)
    few = np.load(folder / "X.npy", mmap_mode="r")[:FEW].copy()
    y, w = np.load(folder / "y.npy"), np.load(folder / "w.npy")
    run(few, y[:FEW], w, np.empty_like(few) if task == "columns" else None)
    if find_spec("numba"):  # which takes 120 MB by itself, as soon as there is a kernel that may pay
        import numba

        numba.njit(lambda x: x + 1)(1.0)
    before = memory("VmRSS")
    X = np.load(folder / "X.npy", mmap_mode="r" if mapped else None)
    place = folder / f"{contender}.npy"
    out = np.lib.format.open_memmap(place, "w+", float, X.shape) if task == "columns" else None
    times, found = [], np.empty(0)
    for _ in range(1 + repeats):
        found = np.empty(0)
        start = CLOCK()
        found = run(X, y, w, out)
        times.append(CLOCK() - start)
    most = memory("VmHWM") - before
    if out is None:
        np.save(place, found)
    return {"first": times[0], "least": min(times[1:]), "memory": most}


def written(folder: Path, rows: int) -> None:
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", float, (rows, COLUMNS))
    for start in range(0, rows, PIECE):
        X[start : start + PIECE] = rng.normal(size=X[start : start + PIECE].shape) + 0.5
    X.flush()
    np.save(folder / "y.npy", np.sign(rng.normal(size=rows)))
    np.save(folder / "w.npy", rng.normal(size=COLUMNS) / 10)


def rows_of(task: str, folder: Path, repeats: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each contender in its turn; they agree with NumPy's, to what rounding makes of it."""
    for contender in CONTENDERS:
        command = [sys.executable, __file__, "--one", contender, task, str(folder), "--repeats", str(repeats)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=dict(os.environ))
        yield contender, json.loads(done.stdout.splitlines()[-1])
    wanted = np.load(folder / "NumPy, in memory.npy", mmap_mode="r")
    for contender in CONTENDERS:
        found = np.load(folder / f"{contender}.npy", mmap_mode="r")
        for start in range(0, len(wanted), PIECE):
            part = slice(start, start + PIECE)
            assert np.allclose(found[part], wanted[part], rtol=1e-8, atol=1e-10), contender


def blocks(rows: int, repeats: int) -> list[str]:
    """The tables; and where ricci in blocks of a file takes longer than what has everything in memory."""
    losses = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        written(folder, rows)
        print(f"\n## Blocks: {rows:,} × {COLUMNS}, {8e-6 * rows * COLUMNS:,.0f} MB\n")
        print("| | " + " | ".join(f"{task}: first | later (s) | memory (MB)" for task in TEXTS) + " |")
        print("|---|" + "---|" * 3 * len(TEXTS))
        table = {task: dict(rows_of(task, folder, repeats)) for task in TEXTS}
        for contender in CONTENDERS:
            cells = [table[task][contender] for task in TEXTS]
            shown = [f"{c['first']:.2f} | {c['least']:.2f} | {c['memory'] / 1e6:,.0f}" for c in cells]
            print(f"| {contender} | " + " | ".join(shown) + " |")
        for task, found in table.items():
            own = found["ricci, blocks of a file"]["least"]
            losses += [
                f"{task} in blocks of a file: {other} is {own / found[other]['least']:.1f} times faster"
                for other in CONTENDERS
                if not other.startswith("ricci, blocks") and found[other]["least"] < own
            ]
    return losses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=800_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="of libraries, and cores")
    parser.add_argument("--one", nargs=3, metavar=("CONTENDER", "TASK", "FOLDER"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        contender, task, folder = asked.one
        print(json.dumps(measured(contender, task, Path(folder), asked.repeats)))
        return
    losses = blocks(asked.rows, asked.repeats)
    print("\nWhere ricci loses:", *(losses or ["nowhere in these rows"]), sep="\n- ")


if __name__ == "__main__":
    main()
