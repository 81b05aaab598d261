"""The peers: JAX and torch, each left out with a line where it is not installed.

A case gives its function once, over a namespace of elementwise and matrix functions; here are the namespaces, and what
the frameworks make of such a function: Hessians, values with gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from cases import Case

Call = Callable[[], Any]


@lru_cache(maxsize=1)
def jax_space() -> SimpleNamespace | None:
    """JAX with both precisions, and the functions that cases use."""
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)

    def on_diagonal(core: Any, n: int) -> Any:
        k = core.shape[-1]
        places = jnp.arange(n)
        return jnp.zeros((n, k, n, k), core.dtype).at[places, :, places, :].set(core)

    names = {name: getattr(jnp, name) for name in ("exp", "abs", "tanh", "sqrt", "einsum")}
    functions = {name: getattr(jax.nn, name) for name in ("relu", "softplus", "softmax", "log_softmax")}
    diagonal = lambda v: v[:, :, None] * jnp.eye(v.shape[1], dtype=v.dtype)  # noqa: E731
    return SimpleNamespace(
        **names, **functions, rsqrt=jax.lax.rsqrt, diagonal=diagonal, on_diagonal=on_diagonal, jax=jax, name="jax"
    )


@lru_cache(maxsize=1)
def torch_space() -> SimpleNamespace | None:
    """torch, and the functions that cases use."""
    try:
        import torch
    except ImportError:
        return None

    def on_diagonal(core: Any, n: int) -> Any:
        k = core.shape[-1]
        out = torch.zeros((n, k, n, k), dtype=core.dtype, device=core.device)
        out.diagonal(dim1=0, dim2=2).copy_(core.expand(n, k, k).permute(1, 2, 0))
        return out

    last = {name: partial(getattr(torch, name), dim=-1) for name in ("softmax", "log_softmax")}
    names = {name: getattr(torch, name) for name in ("exp", "abs", "tanh", "sqrt", "rsqrt", "einsum", "relu")}
    return SimpleNamespace(
        **names,
        **last,
        softplus=torch.nn.functional.softplus,
        diagonal=torch.diag_embed,
        on_diagonal=on_diagonal,
        torch=torch,
        name="torch",
    )


def ordered(case: Case) -> list[str]:
    """The inputs of a case, those that are differentiated by first."""
    return [*case.by, *[name for name in case.inputs if name not in case.by]]


def over(space: SimpleNamespace, case: Case, function: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A new function of the inputs in order: that of the case, or one with the same arguments."""
    names = ordered(case)
    chosen = function or case.function
    return lambda *arrays: chosen(space, **dict(zip(names, arrays, strict=True)))


def jax_arrays(case: Case, values: Mapping[str, np.ndarray]) -> list[Any]:
    import jax.numpy as jnp

    return [jnp.asarray(values[name]) for name in ordered(case)]


def torch_arrays(case: Case, values: Mapping[str, np.ndarray], device: str = "cpu") -> list[Any]:
    import torch

    return [torch.from_numpy(values[name]).to(device) for name in ordered(case)]


def jax_hessian(space: SimpleNamespace, case: Case, function: Callable[..., Any] | None = None) -> Callable[..., Any]:
    return space.jax.jit(space.jax.hessian(over(space, case, function)))


def jax_gradient(space: SimpleNamespace, case: Case, function: Callable[..., Any] | None = None) -> Callable[..., Any]:
    return space.jax.jit(space.jax.value_and_grad(over(space, case, function), tuple(range(len(case.by)))))


def jax_call(space: SimpleNamespace, function: Callable[..., Any], arrays: Sequence[Any]) -> Call:
    """A call that waits for its result."""
    wait = space.jax.block_until_ready
    return lambda: wait(function(*arrays))


def jax_temporaries(function: Any, arrays: Sequence[Any]) -> float:
    """GB that the compiled program takes for intermediates."""
    found = function.lower(*arrays).compile().memory_analysis()
    return (found.temp_size_in_bytes if found is not None else 0) / 1e9


def torch_hessian(space: SimpleNamespace, case: Case) -> Callable[..., Any]:
    return space.torch.func.hessian(over(space, case))


def torch_gradient(space: SimpleNamespace, case: Case, compiled: bool = False) -> Callable[..., Any]:
    """The value and the gradients by plain reverse mode; ``torch.compile`` of the function compiles that, too."""
    function, count, grad = over(space, case), len(case.by), space.torch.autograd.grad
    function = space.torch.compile(function, dynamic=False) if compiled else function

    def value_and_gradients(*arrays: Any) -> tuple[Any, Any]:
        leaves = [array.detach().requires_grad_() for array in arrays[:count]]
        value = function(*leaves, *arrays[count:])
        return value.detach(), grad(value, leaves)

    return value_and_gradients
