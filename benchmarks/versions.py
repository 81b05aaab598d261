"""This version of ricci beside another one: `python benchmarks/versions.py ../older/src`.

Each runs in a process of its own, in turns, on the same data; printed are the best times of each, in milliseconds, and
their ratio. First calls trace, derive, plan and run.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np

ROUNDS = 3
NORM = (
    "m[b] = 1/|h| 1[h] x[b,h]; v[b] = 1/|h| 1[h] (x[b,h] - 1[h] m[b])**2;"
    "y[b,h] = (x[b,h] - 1[h] m[b]) / sqrt(v[b] + eps) g[h] + 1[b] beta[h]; l = r[b,h] y[b,h]"
)


def norm(x, g, beta):
    m = x.mean(-1, keepdims=True)
    v = ((x - m) ** 2).mean(-1, keepdims=True)
    return (((x - m) / np.sqrt(v + 1e-5) * g + beta) ** 2).sum()


def network(x, ws):
    for w in ws:
        x = np.tanh(x @ w)
    return (x * x).sum()


def mixture(m, x):
    z = -((x[:, None] - m) ** 2).sum(-1) / 2
    k = z.max(1, keepdims=True)
    return (np.log(np.exp(z - k).sum(1)) + k[:, 0]).sum()


def recurrent(w, x):
    h = np.zeros(20)
    for t in range(50):
        h = np.tanh(w @ h + x[t])
    return (h * h).sum()


def kalman(q, y):
    x, p, total = np.zeros(2), np.eye(2), 0.0
    f, h = np.array([[1, 0.1], [0, 1]]), np.array([1.0, 0.0])
    for t in range(50):
        x, p = f @ x, f @ p @ f.T + q * np.eye(2)
        s = h @ p @ h + 0.1
        e, k = y[t] - h @ x, p @ h / s
        total = total + np.log(s) + e * e / s
        x, p = x + k * e, p - np.outer(k, h @ p)
    return total


def best(f, count: int) -> float:
    times = []
    for _ in range(count + 2):
        start = time.process_time()
        f()
        times.append(time.process_time() - start)
    return 1e3 * min(times)


def measured() -> dict[str, float]:
    import ricci as rc

    rng = np.random.default_rng(0)
    found: dict[str, float] = {}

    def program(name, transform, f, args, count):
        start = time.process_time()
        run = transform(f)
        run(*args)
        found[f"{name}, first call"] = 1e3 * (time.process_time() - start)
        found[name] = best(lambda: run(*args), count)

    x, w = rng.normal(size=(2048, 768)), [rng.normal(size=(40, 40)) / 6 for _ in range(10)]
    small, points = rng.normal(size=(32, 40)), rng.normal(size=(1000, 8))
    loss = rc.parse(NORM)
    values = {"x": x, "g": np.ones(768), "beta": np.zeros(768), "eps": 1e-5, "r": x[::-1].copy()}
    for fused in (False, True):
        both = rc.compile([loss, *loss.diff_all("x", "g", "beta")], "numpy", fused=fused)
        found[f"layer norm 2048×768 and gradients{', fused' * fused}"] = best(lambda both=both: both(**values), 7)
    logistic = rc.parse("l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))").diff("w", "w").compile("numpy")
    data = {"X": rng.normal(size=(2000, 300)), "y": np.sign(rng.normal(size=2000)), "w": 0.1 * rng.normal(size=300)}
    found["Hessian of logistic regression 2000×300"] = best(lambda: logistic(**data), 7)
    program("gradient of layer norm", rc.grad, norm, (x, np.ones(768), np.zeros(768)), 7)
    program("gradient of a network", rc.grad, lambda first, x, ws: network(x, [first, *ws]), (w[0], small, w[1:]), 50)
    program("Hessian of a network", rc.hessian, lambda first, x, ws: network(x, [first, *ws]), (w[0], small, w[1:]), 7)
    program("gradient of a mixture", rc.grad, mixture, (points[:20], points), 50)
    program("gradient of a recurrence", rc.grad, recurrent, (w[0][:20, :20], rng.normal(size=(50, 20))), 50)
    program("gradient of a Kalman filter", rc.grad, kalman, (0.3, rng.normal(size=50)), 20)
    return found


def main(other: str) -> None:
    here = str(pathlib.Path(__file__).parent.parent / "src")
    times: dict[str, dict[str, float]] = {}
    for _ in range(ROUNDS):
        for source in (other, here):
            environment = {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
            out = subprocess.run(
                [sys.executable, __file__], env=environment, capture_output=True, text=True, check=True
            )
            for name, value in json.loads(out.stdout.splitlines()[-1]).items():
                known = times.setdefault(name, {})
                known[source] = min(known.get(source, value), value)
    print("| | other | this | ratio |\n|---|---|---|---|")
    for name, both in times.items():
        print(f"| {name} | {both[other]:.3g} ms | {both[here]:.3g} ms | {both[here] / both[other]:.2f} |")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        print(json.dumps(measured()))
