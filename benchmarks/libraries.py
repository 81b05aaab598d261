"""ricci, plain NumPy, ``jax.jit``, ``torch.func`` and autograd, each as something that runs a case of the corpus."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
from harness import THREADS
from literature import spaces, tensors
from literature.corpus import Case, Function

import ricci as rc
from ricci.compiler.fused import memory as fused_memory
from ricci.compiler.fused.deciding import WORKER, Trial
from ricci.compiler.run import workspace

OURS, PLAIN, EAGER = "ricci", "numpy", "eager"
DECIDED = 15.0  # seconds of calls, at most, until it is settled whether there are kernels
Call = Callable[[], Any]


class Library:
    """How a library computes what is asked of a function: its module like NumPy, its arrays, its transforms."""

    space: Any = np
    grad: Any
    hvp: Any
    hessian: Any
    value: Any

    def settle(self, whole: bool = True) -> None:
        """Forget what is left of earlier calls; or give back memory that is kept, alone."""
        gc.collect()

    def warm_up(self, call: Call) -> None:
        """Call until what is put off, and what depends on measured times, is done."""
        call()

    array: Any = staticmethod(lambda value: value)

    def arguments(self, case: Case, kind: str) -> tuple:
        args = (*case.args, *([case.direction] if kind == "hvp" else []))
        return tuple([tuple(map(self.array, a)) if isinstance(a, tuple) else self.array(a) for a in args])

    def call(self, case: Case, kind: str, arguments: tuple) -> Call:
        """What is timed; made of a new function each time, so that nothing is known of it."""
        function = lambda *args: case.function(self.space, *args)  # noqa: E731
        return partial(getattr(self, kind)(function), *arguments)

    def arrays(self, result: Any) -> list[np.ndarray]:
        return [np.asarray(part, float) for part in (result if isinstance(result, (tuple, list)) else (result,))]

    def diagonal(self, function: Function) -> Function:
        """Of a Hessian that is diagonal: its product with ones."""
        product = self.hvp(function)  # type: ignore[attr-defined]
        return lambda x, *rest: product(x, *rest, self.space.ones(x.shape))

    def newton(self, function: Function) -> Function:
        slope, bend = self.grad(function), self.diagonal(function)  # type: ignore[attr-defined]
        return lambda *args: slope(*args) / bend(*args)


class Numpy(Library):
    value = staticmethod(lambda function: function)


def undecided(thing: Any) -> bool:
    """Whether calls are still timed, or compared."""
    return type(thing) is Trial and thing.make is not None


class Ricci(Library):
    value, grad, hvp = staticmethod(rc.compile), staticmethod(rc.grad), staticmethod(rc.hvp)
    hessian = staticmethod(rc.hessian)

    def settle(self, whole: bool = True) -> None:
        if whole:
            rc.cache_clear()
            WORKER.spent = 0.0  # each row has a budget of its own
        workspace.POOL.clear()
        fused_memory.POOL.clear()
        gc.collect()

    def warm_up(self, call: Call) -> None:
        until = time.perf_counter() + DECIDED
        call()
        while time.perf_counter() < until and any(map(undecided, gc.get_objects())):
            for _ in range(10):
                call()

    def diagonal(self, function: Function) -> Function:
        return rc.hessian_diagonal(function)

    def newton(self, function: Function) -> Function:
        return rc.compile(super().newton(function))


class Eager(Ricci):
    """ricci's tensors, which run line by line."""

    value, grad, hessian = staticmethod(tensors.value), staticmethod(tensors.grad), staticmethod(tensors.hessian)


class Autograd(Library):
    value = staticmethod(lambda function: function)

    def __init__(self) -> None:
        import autograd

        self.space, self.grad = spaces.autograd_space(), autograd.grad
        self.hessian = autograd.hessian

    def hvp(self, function: Function) -> Function:
        def inner(x: Any, *rest: Any) -> Any:
            *others, v = rest
            g = self.grad(function)(x, *others)
            pairs = zip(g, v) if isinstance(v, tuple) else [(g, v)]
            return sum(self.space.sum(a * b) for a, b in pairs)

        return self.grad(inner)


def along(jvp: Function, grad: Function, function: Function) -> Function:
    """The product with the Hessian: the derivative of the gradient along a vector."""

    def call(x: Any, *rest: Any) -> Any:
        *others, v = rest
        return jvp(lambda x: grad(function)(x, *others), (x,), (v,))[1]

    return call


class Jax(Library):
    def __init__(self) -> None:
        import jax

        jax.config.update("jax_enable_x64", True)
        self.space, self.array = jax.numpy, jax.numpy.asarray
        self.wait, self.jit = jax.block_until_ready, jax.jit
        self.value, self.grad, self.hessian = (lambda function: function), jax.grad, jax.hessian
        self.hvp = partial(along, jax.jvp, jax.grad)

    def call(self, case: Case, kind: str, arguments: tuple) -> Call:
        plain = super().call(case, kind, arguments)
        function, wait = self.jit(plain.func), self.wait  # type: ignore[attr-defined]
        return lambda: wait(function(*arguments))


class Torch(Library):
    def __init__(self) -> None:
        import torch

        torch.set_num_threads(THREADS)
        torch.set_default_dtype(torch.float64)
        self.space, self.array = spaces.torch_space(), torch.as_tensor
        self.value, self.grad, self.hessian = torch.no_grad(), torch.func.grad, torch.func.hessian
        self.hvp = partial(along, torch.func.jvp, torch.func.grad)


def _once(kind: type[Library]) -> Callable[[], Library]:
    return lru_cache(maxsize=1)(kind)


OWN = {OURS: _once(Ricci), PLAIN: _once(Numpy), EAGER: _once(Eager)}
LIBRARIES = {"jax.jit": _once(Jax), "torch.func": _once(Torch), "autograd": _once(Autograd)}
