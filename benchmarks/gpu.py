"""Hessians and gradients on an accelerator: our JAX and torch source, the frameworks' derivatives, hand-written code.

Run it with ``python benchmarks/gpu.py``. JAX and torch run one after the other in processes of their own, so that each
has all of the memory; ``--framework`` runs one of them. Everything is float32 with matrix products in full float32
(no TF32). A sample is one call and the wait for the device, in wall-clock time; the figure of record is the median.
Results are compared with the hand-written ones, arrays of order three and more by their product with a random vector,
which is small. Gradients of programs in PyTorch and JAX are those of ``gpu_programs.py``. A contender that runs out of
memory is left out with a line. ``--quick`` takes tiny sizes, for a test on a machine without an accelerator.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any, NamedTuple

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import gpu_programs
import numpy as np
import peers
from cases import Case, factorisation, layer_norm, logistic, network
from report import TOLERANCE, Block, Target, Time, difference, machine, show_losses, show_targets

import ricci as rc

SAMPLES, BUDGET = 30, 3.0  # calls, and seconds, at most for one contender
WARM = 8  # calls before those that are measured: after some, programs are captured
OURS, SMALL, COMPILED = "ricci", "ricci, compressed", "ricci, torch.compile"
PLAIN, SMALL_PLAIN = "ricci, jit=False", "ricci, compressed, jit=False"
HAND, HAND_SMALL, HAND_COMPILED = "hand-written", "hand-written, compressed", "hand-written, torch.compile"
TARGETS = [
    Target(OURS, "at most", 1.05, HAND),
    Target(SMALL, "at most", 1.0, HAND_SMALL),
    Target(OURS, "at most", 1.0, "torch.autograd"),
    Target("ricci, jit=True", "at most", 1.0, ("torch.compile, autograd", "torch.compile, reduce-overhead")),
    Target(OURS, "at most", 0.3e-3, None, lambda facts: facts["case"].startswith("layer norm, 65536")),
]


class Framework(NamedTuple):
    """What differs between JAX and torch: arrays, waiting, and who the contenders are."""

    name: str
    device: str
    space: Any
    arrays: Callable[[Case, dict[str, np.ndarray]], list[Any]]
    wait: Callable[[Any], Any]
    release: Callable[[], None]


class Runner(NamedTuple):
    name: str
    make: Callable[[], Callable[[], Any]]
    checked: Callable[[Any], Any] | None = lambda result: result


def jax_framework() -> Framework | None:
    space = peers.jax_space()
    if space is None:
        return None
    space.jax.config.update("jax_default_matmul_precision", "highest")
    device = space.jax.devices()[0].device_kind
    return Framework("jax", device, space, peers.jax_arrays, space.jax.block_until_ready, lambda: None)


def torch_framework() -> Framework | None:
    space = peers.torch_space()
    if space is None:
        return None
    cuda = space.torch.cuda
    if not cuda.is_available():
        return Framework("torch", "cpu", space, peers.torch_arrays, lambda result: None, lambda: None)

    def arrays(case: Case, values: dict[str, np.ndarray]) -> list[Any]:
        return peers.torch_arrays(case, values, "cuda")

    device = cuda.get_device_name()
    return Framework("torch", device, space, arrays, lambda result: cuda.synchronize(), cuda.empty_cache)


def cases(quick: bool) -> Iterator[Case]:
    yield logistic(40, 20) if quick else logistic(8000, 4000)
    for n, k in ((12, 3),) if quick else ((500, 10), (2000, 10)):
        yield factorisation(n, k)
    for width in (6,) if quick else (128, 256):
        yield network(10, "tanh", width, 4 if quick else 32)
    yield layer_norm(64, 16) if quick else layer_norm(65536, 1024)


def runners(framework: Framework, case: Case) -> list[Runner]:
    """The contenders of a case: hand-written first, since all others are compared with it."""
    arrays = framework.arrays(case, case.values("float32"))
    named = dict(zip(peers.ordered(case), arrays, strict=True))
    norm = "gradient" in case.native
    build = case.gradient if norm else case.hessian
    hand = case.native["gradient" if norm else "hessian"]
    found = [
        Runner(HAND, lambda: _native(framework, case, hand, arrays)),
        Runner(OURS, lambda: partial(_compiled(build(), framework.name), **named)),
    ]
    if "core" in case.native:
        compressed = partial(_compiled, backend=framework.name, compressed=True)
        plain = [Runner(SMALL_PLAIN, lambda: partial(compressed(build(), jit=False), **named), None)]
        found += [
            Runner(HAND_SMALL, lambda: _native(framework, case, case.native["core"], arrays), None),
            Runner(SMALL, lambda: partial(compressed(build()), **named), lambda result: result.todense()),
            *(plain if framework.name == "torch" else []),
        ]
    return found + (_jax_peers if framework.name == "jax" else _torch_peers)(framework, case, build, hand, arrays)


def _compiled(found: Any, backend: str, **options: Any) -> Callable[..., Any]:
    return rc.compile(found, backend, **options) if isinstance(found, list) else found.compile(backend, **options)


def _native(framework: Framework, case: Case, function: Callable[..., Any], arrays: list[Any]) -> Callable[[], Any]:
    made = peers.over(framework.space, case, function)
    return partial(framework.space.jax.jit(made) if framework.name == "jax" else made, *arrays)


def _jax_peers(framework: Framework, case: Case, build: Any, hand: Any, arrays: list[Any]) -> list[Runner]:
    norm = "gradient" in case.native
    derive, name = (peers.jax_gradient, "value_and_grad") if norm else (peers.jax_hessian, "jax.hessian")
    return [Runner(f"jax.jit({name})", lambda: partial(derive(framework.space, case), *arrays))]


def _torch_peers(framework: Framework, case: Case, build: Any, hand: Any, arrays: list[Any]) -> list[Runner]:
    space, names = framework.space, peers.ordered(case)
    compiler = partial(space.torch.compile, dynamic=False)

    def ours() -> Callable[[], Any]:
        function = _compiled(build(), "torch", jit=True)
        return lambda: function(**dict(zip(names, arrays, strict=True)))

    made = peers.over(space, case, hand)
    plain = Runner(
        PLAIN, lambda: partial(_compiled(build(), "torch", jit=False), **dict(zip(names, arrays, strict=True)))
    )
    found = [plain, Runner(COMPILED, ours), Runner(HAND_COMPILED, lambda: partial(compiler(made), *arrays))]
    if "gradient" not in case.native:
        return [*found, Runner("torch.func.hessian", lambda: partial(peers.torch_hessian(space, case), *arrays))]
    for name, compiled in (("torch.autograd", False), ("torch.compile, autograd", True)):
        gradient = peers.torch_gradient(space, case, compiled)
        found.append(Runner(name, lambda gradient=gradient: partial(gradient, *arrays)))
    return found


# Measuring.


def measure(framework: Framework, case: Case, without: list[str]) -> Block:
    return measured(framework, case.name, runners(framework, case), without)


def measure_program(framework: Framework, program: gpu_programs.Program, without: list[str]) -> Block:
    """The gradient of a program, by each parameter."""
    listed = lambda result: [result[name] for name in program.parameters]  # noqa: E731
    found = [Runner(name, make, listed) for name, make in gpu_programs.contenders(framework, program)]
    return measured(framework, f"gradient of {program.name}", found, without)


def measured(framework: Framework, name: str, contenders: list[Runner], without: list[str]) -> Block:
    block = Block(f"{name}, float32, {framework.name}", {"case": name}, figure="median")
    reference, worst = None, 0.0
    for runner in contenders:
        if any(word in runner.name for word in without):
            continue
        try:
            found, shown = _run(framework, runner)
        except Exception as failure:
            if not _out_of_memory(failure):
                raise
            block.times[runner.name] = Time(left_out=f"out of memory: {_first_line(failure)}")
        else:
            block.times[runner.name] = Time(min(found), median(found))
            if shown is not None:
                reference = shown if reference is None else reference
                worst = max(worst, difference(runner.name, shown, reference, TOLERANCE["float32"]))
        gc.collect()
        framework.release()
    block.notes.append(f"largest difference between results {worst:.0e}, relative to the largest entry")
    return block


def _run(framework: Framework, runner: Runner) -> tuple[list[float], list[np.ndarray] | None]:
    """Seconds of each call, and the result in a form that can be compared."""
    call = runner.make()
    result = call()
    shown = None if runner.checked is None else [_shown(array) for array in _flat(runner.checked(result))]
    del result
    for _ in range(WARM):
        framework.wait(call())
    found: list[float] = []
    while len(found) < SAMPLES and sum(found) < BUDGET:
        start = time.perf_counter()
        framework.wait(call())
        found.append(time.perf_counter() - start)
    return found, shown


def _flat(result: Any) -> list[Any]:
    return [array for part in result for array in _flat(part)] if isinstance(result, (tuple, list)) else [result]


def _shown(array: Any) -> np.ndarray:
    """The array itself, or, where it may be too large to bring here, its product with a random vector."""
    if array.ndim > 2:
        vector = np.random.default_rng(1).standard_normal(array.shape[-1]).astype("float32")
        is_torch = hasattr(array, "new_tensor")
        array = array @ (array.new_tensor(vector) if is_torch else vector)
    return np.asarray(array.detach().cpu() if hasattr(array, "detach") else array)


def _out_of_memory(failure: Exception) -> bool:
    text = str(failure).lower()
    return any(word in text for word in ("out of memory", "resource_exhausted", "can't allocate"))


def _first_line(failure: Exception) -> str:
    return str(failure).strip().splitlines()[0][:140]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny sizes, also without an accelerator")
    parser.add_argument("--framework", choices=("jax", "torch", "both"), default="both")
    parser.add_argument("--only", default="", help="run only what has this text in its title")
    parser.add_argument("--without", default="", help="leave out contenders with one of these texts, comma-separated")
    chosen = parser.parse_args()
    if chosen.framework == "both":
        rest = [*(["--quick"] if chosen.quick else []), "--only", chosen.only, "--without", chosen.without]
        calls = [[sys.executable, __file__, "--framework", name, *rest] for name in ("jax", "torch")]
        return max([subprocess.run(call, check=False).returncode for call in calls])
    framework = {"jax": jax_framework, "torch": torch_framework}[chosen.framework]()
    if framework is None:
        print(f"{chosen.framework} is not installed: left out")
        return 0
    print(f"\n{framework.name} on {framework.device}, {datetime.date.today()}\n{machine()}")
    blocks, without = [], [word for word in chosen.without.split(",") if word]
    tasks = [(case.name, partial(measure, framework, case, without)) for case in cases(chosen.quick)]
    for program in gpu_programs.programs(chosen.quick):
        tasks.append((program.name, partial(measure_program, framework, program, without)))
    for name, task in tasks:
        if chosen.only in name:
            blocks.append(task())
            blocks[-1].show()
            sys.stdout.flush()
    show_targets(TARGETS, blocks)
    show_losses(blocks)
    return 0


if __name__ == "__main__":
    sys.exit(main())
