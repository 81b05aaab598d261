"""Layers for Flax (``flax.linen``).

Modules of Flax are data: their fields are the arguments, and sizes are given as a dictionary, ``sizes``. The functions
of :mod:`ricci.einops` take the tracers of ``jax.jit``, ``grad`` and ``vmap`` as they take arrays: a layer calls them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ricci.einops.layers._common import described, missing, prepared
from ricci.einops.layers._einmix import Mix, check_input, decompose, watched
from ricci.einops.rearranging import rearrange, reduce, repeat
from ricci.einops.watch import WATCHERS

try:
    import flax.linen as nn
    import jax
    import jax.numpy as jnp
except ModuleNotFoundError as error:
    raise missing("flax", "Flax", error) from error


def _check(layer: Any, operation: Any, *texts: str) -> None:
    prepared(
        described(type(layer).__name__, [layer.pattern, *texts], layer.sizes), layer.pattern, operation, layer.sizes
    )


class Rearrange(nn.Module):
    """:func:`ricci.einops.rearrange` as a layer.

    >>> Rearrange("b (h p) -> b h p", sizes={"p": 2}).apply({}, jnp.ones((3, 4))).shape
    (3, 2, 2)
    """

    pattern: str
    sizes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check(self, "rearrange")
        super().__post_init__()

    def __call__(self, input: Any) -> Any:
        return rearrange(input, self.pattern, **self.sizes)


class Repeat(nn.Module):
    """:func:`ricci.einops.repeat` as a layer."""

    pattern: str
    sizes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check(self, "repeat")
        super().__post_init__()

    def __call__(self, input: Any) -> Any:
        return repeat(input, self.pattern, **self.sizes)


class Reduce(nn.Module):
    """:func:`ricci.einops.reduce` as a layer."""

    pattern: str
    reduction: Any
    sizes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check(self, self.reduction, self.reduction)
        super().__post_init__()

    def __call__(self, input: Any) -> Any:
        return reduce(input, self.pattern, self.reduction, **self.sizes)


class EinMix(nn.Module):
    """A linear layer written as a pattern: an einsum with a weight, between two rearrangements.

    >>> layer = EinMix("b (h c) -> b (h d)", "h c d", "h d", sizes={"h": 2, "c": 3, "d": 5})
    >>> y, variables = layer.init_with_output(jax.random.key(0), jnp.ones((4, 6)))
    >>> y.shape, variables["params"]["weight"].shape, variables["params"]["bias"].shape
    ((4, 10), (2, 3, 5), (1, 2, 5))
    """

    pattern: str
    weight_shape: str
    bias_shape: str | None = None
    sizes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        mix = decompose(self.pattern, self.weight_shape, self.bias_shape, self.sizes)
        object.__setattr__(self, "_mix", mix)  # not a field, which Flax would compare and show
        super().__post_init__()

    def setup(self) -> None:
        mix: Mix = self._mix
        self.einsum_pattern = mix.einsum_pattern
        # drawn from 0 to the bound, as einops does, so that the same key gives the same weights
        uniform = jax.nn.initializers.uniform
        self.weight = self.param("weight", uniform(mix.weight_bound), tuple(mix.weight_shape))
        self.bias = None
        if mix.bias_shape is not None:
            self.bias = self.param("bias", uniform(mix.bias_bound), tuple(mix.bias_shape))
        self.pre_rearrange = self.post_rearrange = None
        if mix.pre_reshape_pattern is not None:
            self.pre_rearrange = Rearrange(mix.pre_reshape_pattern, sizes=mix.pre_reshape_lengths or {})
        if mix.post_reshape_pattern is not None:
            self.post_rearrange = Rearrange(mix.post_reshape_pattern, sizes=mix.post_reshape_lengths)

    def __call__(self, input: Any) -> Any:
        if self.pre_rearrange is not None:
            input = self.pre_rearrange(input)
        check_input(self._mix, input.shape)
        result = (
            watched(self._mix, input, self.weight, self._mixed) if WATCHERS.get() else self._mixed(input, self.weight)
        )
        return result if self.post_rearrange is None else self.post_rearrange(result)

    def _mixed(self, input: Any, weight: Any) -> Any:
        result = jnp.einsum(self.einsum_pattern, input, weight)
        return result if self.bias is None else result + self.bias
