"""Logistic regression on a file by Newton's method: the data are never in memory, and each step is one pass over them.

``python examples/larger_than_memory.py 1000000`` has a million rows, 800 MB; without a number it is 20,000. The file
is mapped, and value, gradient and Hessian are computed together, block by block.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import ricci as rc

rows, columns = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000, 100
rng = np.random.default_rng(0)
true = rng.normal(size=columns) / 10

loss = rc.parse("l = 1[m] log(1 + exp(-y[m] X[m,n] w[n])) + 1/2 w[n] w[n]")
step = rc.compile([loss, loss.diff("w"), loss.diff("w", "w")], blocks={"m": 4096})

with tempfile.TemporaryDirectory() as folder:
    place = Path(folder) / "X.npy"
    X, y = np.lib.format.open_memmap(place, "w+", float, (rows, columns)), np.empty(rows)
    for start in range(0, rows, 10_000):  # as it would come from measurements
        part = slice(start, start + 10_000)
        X[part] = rng.normal(size=X[part].shape)
        y[part] = np.where(rng.random(len(X[part])) < 1 / (1 + np.exp(-X[part] @ true)), 1.0, -1.0)
    X.flush()

    X, w = np.load(place, mmap_mode="r"), np.zeros(columns)
    for number in range(6):
        begun = time.perf_counter()
        value, gradient, hessian = step(X=X, y=y, w=w)
        w = w - np.linalg.solve(hessian, gradient)
        size = np.linalg.norm(gradient)
        print(f"pass {number + 1}: loss {value:,.3f}, gradient {size:.1e}, {time.perf_counter() - begun:.2f} s")
    del X

print(step.plan)
print(f"largest error of a weight {abs(w - true).max():.4f}")
assert size < 1e-6 * rows
