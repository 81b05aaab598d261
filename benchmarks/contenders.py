"""The contenders on a processor: ricci's compiled functions, the hand-written ones, JAX and torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import peers
from cases import Case, Function
from harness import THREADS, Contender, LeftOutError, memory_limit

import ricci as rc

Values = Mapping[str, Any]
NOT_INSTALLED = "not installed"


def ours(name: str, build: Callable[[], Any], values: Values, **options: Any) -> Contender:
    """A formula, or several computed together, compiled; inputs that were simplified away are accepted all the same."""

    def make() -> Callable[[], Any]:
        if options.get("fused") and find_spec("numba") is None:
            raise LeftOutError("Numba is not installed")
        found = build()
        several = isinstance(found, (list, tuple))
        function = rc.compile(found, **options) if several else found.compile(**options)
        return partial(function, **values)

    return Contender(name, make, dense if options.get("compressed") else lambda result: result)


def ours_times(name: str, build: Callable[[], Any], values: Values, vector: Any) -> Contender:
    """A compressed result made and multiplied with a vector, so that nothing counts that is only put off."""

    def make() -> Callable[[], Any]:
        function = build().compile(compressed=True)
        return lambda: function(**values) @ vector

    return Contender(name, make)


def dense(result: Any) -> Any:
    return result.todense()


def by_hand(name: str, function: Function, values: Values, checked: bool = True) -> Contender:
    return Contender(name, lambda: partial(function, **values), (lambda result: result) if checked else None)


def by_jax(name: str, case: Case, values: Values, derive: Callable[..., Any], memory: float) -> Contender:
    """A jitted derivative, left out where XLA says beforehand that it takes too much memory."""

    def make() -> Callable[[], Any]:
        space = peers.jax_space()
        if space is None:
            raise LeftOutError(NOT_INSTALLED)
        function, arrays = derive(space, case), peers.jax_arrays(case, values)
        needed = peers.jax_temporaries(function, arrays)
        if needed > memory:
            raise LeftOutError(f"takes {needed:.1f} GB for intermediates; the limit is {memory:.1f} GB")
        return peers.jax_call(space, function, arrays)

    return Contender(name, make)


def by_torch(name: str, case: Case, values: Values, derive: Callable[..., Any], memory: float) -> Contender:
    """A derivative in eager torch, tried under a limit of memory."""

    def make() -> Callable[[], Any]:
        space = peers.torch_space()
        if space is None:
            raise LeftOutError(NOT_INSTALLED)
        space.torch.set_num_threads(THREADS)
        call = partial(derive(space, case), *peers.torch_arrays(case, values))
        try:
            with memory_limit(memory):
                call()
        except RuntimeError as failure:
            if "allocate" not in str(failure):
                raise
            raise LeftOutError(f"takes over {memory:.1f} GB for intermediates") from None
        return call

    return Contender(name, make)


def hessians(case: Case, values: Values, memory: float) -> Sequence[Contender]:
    """The Hessians of the peers."""
    return [
        by_jax("jax.jit(jax.hessian)", case, values, peers.jax_hessian, memory),
        by_torch("torch.func.hessian", case, values, peers.torch_hessian, memory),
    ]
