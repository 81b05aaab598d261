"""PyTorch: the methods of tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ricci.einops.backends.base import Backend, Run
from ricci.einops.pairwise import steps_of

_DIRECT = {"sum": "sum", "mean": "mean", "max": "amax", "min": "amin"}
_ONE_BY_ONE = ("prod", "any", "all")  # torch reduces one axis at a time by these
_EXACT = (torch.Tensor, torch.nn.Parameter)  # subclasses may do as they like with torch's functions
_einsum: Any = getattr(getattr(torch, "_VF", None), "einsum", None)


class TorchBackend(Backend):
    name = "torch"
    traced = True
    xp = torch

    concat = staticmethod(torch.cat)  # type: ignore[assignment]

    def accepts(self, x: Any) -> bool:
        return isinstance(x, torch.Tensor)

    def recording(self) -> bool:
        return torch.compiler.is_compiling() or torch._C._get_tracing_state() is not None

    def transpose(self, x: Any, axes: Sequence[int]) -> Any:
        return x.permute(axes)

    def reduce(self, x: Any, name: str, axes: tuple[int, ...]) -> Any:
        return x.logsumexp(dim=axes) if name == "logsumexp" else super().reduce(x, name, axes)

    def native_reduce(self, x: Any, name: str, axes: tuple[int, ...]) -> Any:
        if name in _DIRECT:
            return getattr(x, _DIRECT[name])(dim=axes)
        if name in _ONE_BY_ONE:
            for axis in sorted(axes, reverse=True):
                x = getattr(x, name)(dim=axis)
            return x
        return getattr(x, name)(dim=axes, correction=0)  # var and std, of the whole population

    def contraction(self, kinds: Sequence[type], equation: str, *labels: Any) -> Callable:
        """torch.einsum without what it does in Python: the order of three and more factors is found once."""
        if _einsum is None or not all(kind in _EXACT for kind in kinds):
            return lambda *xs: torch.einsum(equation, *xs)
        if len(kinds) == 2:
            return lambda x, y: _einsum(equation, (x, y))
        if len(kinds) == 1:
            return lambda x: _einsum(equation, (x,))
        if not labels or not all(size.__class__ is int for size in labels[-1]):
            return lambda *xs: torch.einsum(equation, *xs)
        path = [place for step in steps_of(*labels) for place in step.at]
        return lambda *xs: _einsum(equation, xs, path=path)

    def einsum_of(self, kinds: Sequence[type], equation: str, planned: Callable) -> Callable:
        return self.contraction(kinds, equation) if len(kinds) <= 2 else planned

    def expand(self, x: Any, shape: Sequence) -> Any:
        return x.expand(shape)

    def is_float(self, x: Any) -> bool:
        return x.dtype.is_floating_point

    def to_numpy(self, x: Any) -> Any:
        return x.detach().cpu().numpy()

    def movers(self, kind: type) -> tuple[Callable, Callable]:
        return torch.reshape, torch.permute  # on tuples, half a microsecond faster than the methods

    def reducer(self, name: str, kind: type) -> Callable[[Any, tuple[int, ...]], Any]:
        if name == "mean":
            return self._mean
        return {"sum": torch.sum, "max": torch.amax, "min": torch.amin}.get(name) or super().reducer(name, kind)

    def _mean(self, x: Any, axes: tuple[int, ...]) -> Any:
        if not x.dtype.is_floating_point:
            self.check_mean(x)
        return torch.mean(x, axes)

    def repeater(self, units: tuple, expanded: tuple, merged: tuple | None, kind: type) -> Run:
        reshape, expand = torch.reshape, torch.broadcast_to
        if merged is None:
            return lambda x: expand(reshape(x, units), expanded)
        return lambda x: reshape(expand(reshape(x, units), expanded), merged)
