"""How fast the core is: nodes, parsing, evaluation, import; beside SymPy and NumPy where there is a fair comparison.

Run it with ``python benchmarks/core.py``; ``--quick`` leaves out the 100,000-node graphs. SymPy is optional.

Pure Python work is timed in processor time of this process, which other programs on the machine disturb least; array
work and imports in wall-clock time. Every figure is the best of several runs. Nothing is cached between runs of one
figure: expressions are freed before they are built again, so that interning finds nothing.
"""

from __future__ import annotations

import argparse
import gc
import os
import pickle
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import ricci as rc
from ricci.expr import Expr, add, product, topological, variable, variables
from ricci.functions.elementwise import tanh

try:
    import sympy
    from sympy.parsing.sympy_parser import parse_expr
except ImportError:
    sympy: Any = None

AIMS = {"build": 15.0, "parse": 30.0, "import": 60.0}  # µs a node, µs a short equation, ms
SIZES = (1_000, 10_000, 100_000)

SHORT = [
    "y[i] = x[i]",
    "y[i,j] = x[i,k] a[k,j]",
    "s = x[i] A[i,j] x[j]",
    "y[i,j] = x[i,k] a[k,j] + 1[i] b[j]",
    "l = 1[m] softplus(-y[m] X[m,n] w[n])",
    "c[i] = x[i+k] w[k]",
    "y[b,t,d] = table[tokens[b,t],d]",
    "C^i_x = A^i_j B^j_x",
]
LONG = {
    "layer norm": """m[b] = 1/|h| 1[h] x[b,h]; v[b] = 1/|h| 1[h] (x[b,h] - 1[h] m[b])**2
        y[b,h] = (x[b,h] - 1[h] m[b]) / sqrt(v[b] + eps) g[h] + 1[b] beta[h]""",
    "attention": """p[b,h,i,j] = softmax[j](q[b,h,i,d] k[b,h,j,d] / sqrt(|d|))
        o[b,h,i,e] = p[b,h,i,j] v[b,h,j,e]""",
    "100 layers": "h0[i] = x[i]\n" + "\n".join(f"h{n + 1}[i] = tanh(W{n}[i,j] h{n}[j] + b{n}[i])" for n in range(100)),
}
# Scalar expressions mean the same in both languages, so they can be compared; the two differ in what they do with them.
SCALAR = ["a*x + b", "exp(-x**2/2) / sqrt(2*pi)", "log(1 + exp(-y*(a*x + b)))", "(a + b)*(a - b)/(a**2 + b**2 + 1)"]

EINSUMS = [
    ("matrix times vector", "s[i] = A[i,k] b[k]", "ik,k->i", {"A": (256, 256), "b": (256,)}),
    ("matrix product 8", "s[i,j] = A[i,k] B[k,j]", "ik,kj->ij", {"A": (8, 8), "B": (8, 8)}),
    ("matrix product 512", "s[i,j] = A[i,k] B[k,j]", "ik,kj->ij", {"A": (512, 512), "B": (512, 512)}),
    ("quadratic form 512", "s = x[i] A[i,j] y[j]", "i,ij,j->", {"x": (512,), "A": (512, 512), "y": (512,)}),
    ("chain of three 128", "s[i,l] = A[i,j] B[j,k] C[k,l]", "ij,jk,kl->il", dict.fromkeys("ABC", (128, 128))),
    ("attention scores", "s[b,h,i,j] = q[b,h,i,d] k[b,h,j,d]", "bhid,bhjd->bhij", dict.fromkeys("qk", (8, 8, 64, 32))),
]


def best(work: Callable[[], Any], repeats: int, clock: Callable[[], float] = time.process_time) -> float:
    """Seconds of the fastest of several runs; results are dropped outside the time taken."""
    fastest = float("inf")
    for _ in range(repeats):
        start = clock()
        result = work()
        fastest = min(fastest, clock() - start)
        del result
    return fastest


def per_call(work: Callable[[], Any], clock: Callable[[], float] = time.process_time, seconds: float = 0.3) -> float:
    """Seconds a call, the best of several batches long enough to be timed."""
    work()
    once = best(work, 3, time.perf_counter)
    calls = max(1, int(seconds / 10 / max(once, 1e-7)))

    def batch() -> None:
        for _ in range(calls):
            work()

    return best(batch, 7, clock) / calls


# Graphs. A chain is layers h = tanh(A h + b): a contraction, a sum and a function each. A tree alternates products and
# sums over different inputs, in pairs.


def chain(nodes: int) -> Expr:
    a, b, h = variable("A", 2), variable("b", 1), variable("x", 1)
    for _ in range(nodes // 3):
        h = tanh(product([(a, "ij"), (h, "j")], "i") + b)
    return h


def tree(nodes: int) -> Expr:
    row: list[Expr] = [variable(f"x{i}", 1) for i in range((nodes + 1) // 2)]
    multiply = True
    while len(row) > 1:
        left_over = row[len(row) - len(row) % 2 :]
        pairs = zip(row[::2], row[1::2], strict=False)
        row = [x * y if multiply else x + y for x, y in pairs] + left_over
        multiply = not multiply
    return row[0]


def formula_chain(nodes: int) -> rc.Formula:
    a, b, h = rc.tensors("A[i,j] b[i] x[i]")
    for _ in range(nodes // 3):
        h = rc.tanh(rc.einsum("ij,j->i", a, h) + b)
    return h


def measure(build: Callable[[int], Expr], size: int) -> dict[str, float]:
    """Microseconds a node for each thing done with a graph."""
    repeats = 7 if size < 50_000 else 2
    figures = {"build": best(lambda: build(size), repeats)}
    used, count, packed = _use(build(size), repeats)
    figures |= used
    figures["unpickle"] = best(lambda: pickle.loads(packed), repeats)  # the graph is freed by now, so this builds it
    figures["free"] = min(_free(build, size) for _ in range(min(repeats, 3)))
    return {what: 1e6 * seconds / count for what, seconds in figures.items()}


def _use(root: Expr, repeats: int) -> tuple[dict[str, float], int, bytes]:
    formula = rc.Formula(root, ("i",))
    inputs = {v.name: np.full((4,) * v.order, 0.1) for v in variables(root)}
    figures = {
        "walk": best(lambda: topological(root), repeats),
        "print": best(lambda: str(formula), repeats),
        "evaluate": best(lambda: formula(**inputs), repeats),
        "pickle": best(lambda: pickle.dumps(root), repeats),
    }
    return figures, len(topological(root)), pickle.dumps(root)


def _free(build: Callable[[int], Expr], size: int) -> float:
    root = build(size)
    gc.collect()
    start = time.process_time()
    del root
    return time.process_time() - start


def graphs(sizes: tuple[int, ...]) -> dict[str, float]:
    """Prints the tables; gives the build time a node of each graph at its largest."""
    found = {}
    for build in (chain, tree):
        table = {size: measure(build, size) for size in sizes}
        first, last = sizes[0], sizes[-1]
        print(f"\n{build.__name__}: µs per node (thousand nodes per second)")
        ratio = f"{last // 1000}k / {first // 1000}k"
        print(f"  {'':<10}" + "".join(f"{f'{size:,} nodes':>22}" for size in sizes) + f"{ratio:>14}")
        for what in table[first]:
            cells = [f"{table[size][what]:.2f} ({1e3 / table[size][what]:,.0f})" for size in sizes]
            growth = table[last][what] / table[first][what]
            print(f"  {what:<10}" + "".join(f"{cell:>22}" for cell in cells) + f"{growth:>14.2f}")
        found[build.__name__] = table[last]["build"]
    size = sizes[1]
    count = len(topological(chain(size)))
    surface = 1e6 * best(lambda: formula_chain(size), 5) / count
    print(
        f"\n  the chain of {size:,} nodes built with named indices (rc.einsum, +, rc.tanh): {surface:.1f} µs per node"
    )
    return found


def against_sympy_building() -> None:
    if sympy is None:
        print("\nSymPy is not installed; its comparisons are left out.")
        return
    print("\nbuilding beside SymPy, scalars, SymPy's own cache cleared before each run: µs per operation")
    for title, ours, theirs, size in (
        ("a sum of 1,000 products a_i b_i", _sum_ours, _sum_sympy, 1000),
        ("300 steps of h = tanh(a h + b)", _steps_ours, _steps_sympy, 300),
    ):
        mine = 1e6 * best(lambda f=ours, n=size: f(n), 7) / size
        other = 1e6 * _best_sympy(lambda f=theirs, n=size: f(n), 3) / size
        print(f"  {title:<36} ricci {mine:8.1f}   sympy {other:8.1f}   sympy/ricci {other / mine:6.1f}")


def _best_sympy(work: Callable[[], Any], repeats: int) -> float:
    from sympy.core.cache import clear_cache

    times = []
    for _ in range(repeats):
        clear_cache()
        times.append(best(work, 1))
    return min(times)


def _sum_ours(size: int) -> Expr:
    total = [(1, variable(f"a{i}", 0) * variable(f"b{i}", 0)) for i in range(size)]
    return add(total)


def _sum_sympy(size: int) -> Any:
    return sympy.Add(*[sympy.Symbol(f"a{i}") * sympy.Symbol(f"b{i}") for i in range(size)])


def _steps_ours(size: int) -> Expr:
    a, b, h = variable("a", 0), variable("b", 0), variable("x", 0)
    for _ in range(size):
        h = tanh(a * h + b)
    return h


def _steps_sympy(size: int) -> Any:
    a, b, h = sympy.symbols("a b x")
    for _ in range(size):
        h = sympy.tanh(a * h + b)
    return h


def parsing() -> float:
    """Prints the parse rates; gives the median of the short equations in µs."""
    print("\nparsing, nothing cached: µs")
    times = {}
    for text in SHORT:
        times[text] = 1e6 * per_call(lambda t=text: rc.parse(t))
        print(f"  {text:<48} {times[text]:8.1f}")
    for title, text in LONG.items():
        seconds = per_call(lambda t=text: rc.parse(t))
        rate = len(text) / seconds / 1e6
        print(f"  {title:<48} {1e6 * seconds:8.1f}   {len(text):,} characters, {rate:.2f} million characters/s")
    if sympy is not None:
        print("  beside sympy.parse_expr, scalars, its cache cleared before each run:")
        for text in SCALAR:
            mine = 1e6 * per_call(lambda t=text: rc.parse(t))
            other = 1e6 * _best_sympy(lambda t=text: parse_expr(t), 20)
            warm = 1e6 * per_call(lambda t=text: parse_expr(t))
            shown = f"ricci {mine:8.1f}   sympy {other:8.1f} ({warm:.1f} warm)"
            print(f"    {text:<40} {shown}   sympy/ricci {other / mine:5.1f} ({warm / mine:.1f})")
    return sorted(times.values())[len(times) // 2]


def einsums() -> None:
    print("\nevaluating beside np.einsum, float64: µs per call")
    print(f"  {'':<22}{'ricci':>12}{'np.einsum':>12}{'optimize':>12}{'ricci/einsum':>14}")
    rng = np.random.default_rng(0)
    losses = []
    for title, text, pattern, shapes in EINSUMS:
        arrays = {name: rng.normal(size=shape) for name, shape in shapes.items()}
        formula, operands = rc.parse(text), list(arrays.values())
        assert np.allclose(formula(**arrays), np.einsum(pattern, *operands))
        mine = per_call(lambda f=formula, a=arrays: f(**a), time.perf_counter)
        plain = per_call(lambda p=pattern, o=operands: np.einsum(p, *o), time.perf_counter)
        planned = per_call(lambda p=pattern, o=operands: np.einsum(p, *o, optimize=True), time.perf_counter)
        print(f"  {title:<22}{1e6 * mine:>12.1f}{1e6 * plain:>12.1f}{1e6 * planned:>12.1f}{mine / plain:>14.2f}")
        if mine > min(plain, planned):
            losses.append(f"{title} ({mine / min(plain, planned):.1f} times)")
    if losses:
        print(f"  slower than the better einsum: {', '.join(losses)}")


def import_time() -> float:
    """Milliseconds that ``import ricci`` adds to the interpreter's start, with compiled bytecode as once installed."""
    source = os.path.dirname(os.path.dirname(os.path.abspath(rc.__file__)))
    names = ["ricci", "numpy", *(["sympy"] if sympy is not None else [])]
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache, "PYTHONPATH": source}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)

        def start(code: str) -> Callable[[], Any]:
            return lambda: subprocess.run([sys.executable, "-c", code], check=True, env=environment)

        start("import " + ", ".join(names))()
        found = {}
        print("\nimport beyond the interpreter's start")
        for kind, clock in (("processor", _time_of_children), ("wall-clock", time.perf_counter)):
            bare = best(start("pass"), 15, clock)
            found = {name: 1e3 * (best(start(f"import {name}"), 15, clock) - bare) for name in names}
            print(f"  {kind + ' time':<18}" + ", ".join(f"{name} {spent:.1f} ms" for name, spent in found.items()))
    return found["ricci"]


def _time_of_children() -> float:
    """Processor time of all finished child processes."""
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def machine() -> None:
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as lines:
            model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    versions = f"NumPy {np.__version__}, SymPy {sympy.__version__ if sympy is not None else 'not installed'}"
    print(f"{os.cpu_count()} cores ({model}), Python {platform.python_version()}, {versions}, ricci {rc.__version__}")
    if hasattr(os, "getloadavg"):
        print(f"load average at the start: {os.getloadavg()[0]:.1f}")


def verdict(name: str, value: float, aim: float, unit: str) -> None:
    result = "met" if value < aim else f"missed, by a factor of {value / aim:.1f}"
    print(f"  {name:<42} {value:8.1f} {unit:<3} aim < {aim:.0f}: {result}")


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--quick", action="store_true", help="leave out the graphs of 100,000 nodes")
    quick = options.parse_args().quick
    machine()
    build = graphs(SIZES[:2] if quick else SIZES)
    against_sympy_building()
    short = parsing()
    einsums()
    imported = import_time()
    print("\naims")
    for name, microseconds in build.items():
        verdict(f"build a canonical node, {name}", microseconds, AIMS["build"], "µs")
    verdict("parse a short equation, median", short, AIMS["parse"], "µs")
    verdict("import ricci", imported, AIMS["import"], "ms")


if __name__ == "__main__":
    main()
