"""How many multiplications the orders of elimination take on the five functions of the literature.

Run it with ``python benchmarks/elimination.py``; ``--effort`` is what annealing may spend, in seconds or so, on each.

Two graphs are counted. The first is ricci's own: sums and products have any number of operands, equal subexpressions
are one vertex, coefficients belong to sums; edges that are 1 or -1 are free. The second is single-assignment code, an
operation with one or two operands a vertex, with every edge counted: so the literature counts, and its figures stand
beside. The code is ours, written from the mathematics, so its graphs are of similar, not of equal size.

The Jacobians of all modes are evaluated and compared with each other and with central differences.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from functions_elimination import FLOATS, TASKS, Task, call_price, taped

import ricci as rc
from ricci.calculus import modes
from ricci.calculus.graph import Graph
from ricci.calculus.orders import Skeleton, annealed_order, greedy_order, skeleton, vertices
from ricci.calculus.weights import NUMBER

MODES = (("forward", "forward", False), ("reverse", "reverse", False), ("greedy", "cross-country", False))
ALL_MODES = (*MODES, ("annealed", "cross-country", True))


def outputs_of(task: Task) -> tuple[list[rc.Formula], list[rc.Formula]]:
    """The function over formulas, and its inputs."""
    inputs = list(rc.tensors(" ".join(task.inputs)))
    return task.function(rc, *inputs), inputs


def own_gradient(task: Task) -> tuple[list[rc.Formula], list[rc.Formula]]:
    """The gradient of the price of a call as ricci derives it, in place of the closed form."""
    inputs = list(rc.tensors(" ".join(task.inputs)))
    return list(call_price(rc, *inputs).diff_all(*task.inputs)), inputs


def jacobian(outputs: list[rc.Formula], inputs: list[rc.Formula], task: Task, mode: str, effort: float) -> np.ndarray:
    """The Jacobian of a mode, in numbers."""
    rows = modes.derivatives([y.expr for y in outputs], [x.expr for x in inputs], mode, effort)
    values: dict[str, Any] = dict(zip(task.inputs, task.point, strict=True))
    context = outputs[0].context
    for y in outputs[1:]:
        context = context.merged(y.context)

    def value(e: rc.Formula) -> float:
        return float(e(**{name: values[name] for name in e.variables}))

    return np.array([[value(rc.Formula(e, (), context)) for e in row] for row in rows])


def differences(task: Task, step: float = 1e-5) -> np.ndarray:
    """The Jacobian by central differences."""
    columns = []
    for place, at in enumerate(task.point):
        ends = []
        for x in (at + step, at - step):
            ends.append(np.array(task.function(FLOATS, *task.point[:place], x, *task.point[place + 1 :])))
        columns.append((ends[0] - ends[1]) / (2 * step))
    return np.array(columns).T


def single_assignment(task: Task) -> Skeleton:
    """The graph of the function in single-assignment code, every edge counted."""
    tape, outputs = taped(task.function, len(task.inputs))
    edges = {(high, low): NUMBER for high, operands in enumerate(tape.operands) for low, _ in operands}
    return skeleton(edges, range(len(task.inputs)), outputs, [1] * len(tape.operands))


def own_row(name: str, task: Task, outputs: list[rc.Formula], inputs: list[rc.Formula], effort: float) -> float:
    """Prints the counts on ricci's graph; gives the largest relative difference of any Jacobian."""
    graph = Graph([y.expr for y in outputs], [x.expr for x in inputs])
    edges = sum(len(row) for row in graph.below.values())
    counts, jacobians, times = [], [], []
    for _, mode, anneals in ALL_MODES:
        start = time.perf_counter()
        counts.append(rc.elimination_cost(outputs, list(task.inputs), mode, effort if anneals else 0))
        times.append(time.perf_counter() - start)
        jacobians.append(jacobian(outputs, inputs, task, mode, effort if anneals else 0))
    expected = differences(task)
    scale = np.abs(expected).max()
    apart = max(float(np.abs(one - jacobians[0]).max()) for one in jacobians) / scale
    off = float(np.abs(jacobians[0] - expected).max()) / scale
    cells = "".join(f"{count:>10}" for count in counts)
    took = f"{1e3 * times[2]:>9.0f} ms{times[3]:>8.1f} s"
    print(f"  {name:<22}{len(vertices(graph)):>9}{edges:>7}{cells}{took}{apart:>11.0e}{off:>13.0e}")
    return max(apart / 1e-4, off)  # modes agree to rounding, differences to their own error


def literature_row(task: Task, effort: float) -> None:
    bones = single_assignment(task)
    orders = [bones.vertices, bones.vertices[::-1], greedy_order(bones), annealed_order(bones, effort)]
    cells = "".join(f"{bones.cost(order):>10}" for order in orders)
    known = f"{task.forward:>12}{task.known:>8}{task.annealed:>10}"
    print(f"  {task.name:<22}{len(bones.vertices):>9}{len(bones.edges):>7}{cells}{known}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Counts the multiplications of elimination orders.")
    parser.add_argument("--effort", type=float, default=3.0, help="seconds, about, to anneal each function")
    effort = parser.parse_args(arguments).effort
    print(f"ricci {rc.__version__}, Python {platform.python_version()}, NumPy {np.__version__}; effort {effort:g} s")
    names = "".join(f"{name:>10}" for name, _, _ in ALL_MODES)
    print("\nmultiplications on ricci's graph; ±1 is free; the Jacobians' relative differences")
    print(
        f"  {'':<22}{'vertices':>9}{'edges':>7}{names}{'greedy in':>12}{'annealed':>10}{'modes':>11}{'differences':>13}"
    )
    worst = 0.0
    for task in TASKS:
        worst = max(worst, own_row(task.name, task, *outputs_of(task), effort))
    black_scholes = TASKS[-1]
    worst = max(worst, own_row("  its own gradient", black_scholes, *own_gradient(black_scholes), effort))
    print("\nmultiplications on single-assignment code; every edge counts, as in the literature")
    print(f"  {'':<22}{'vertices':>9}{'edges':>7}{names}{'literature:':>12}{'':>8}{'':>10}")
    print(f"  {'':<22}{'':>56}{'forward':>12}{'best':>8}{'annealed':>10}")
    for task in TASKS:
        literature_row(task, effort)
    print("  (Black-Scholes is the closed form of the gradient here, the literature's is a traced one, and larger)")
    print(f"\nall Jacobians agree: {'yes' if worst < 1e-6 else 'NO'}")
    return 0 if worst < 1e-6 else 1


if __name__ == "__main__":
    sys.exit(main())
