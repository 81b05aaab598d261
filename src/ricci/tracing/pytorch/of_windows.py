"""Windows that go over an input: convolutions and pools.

    y[n,o,i] = x[n,c,s] w[o,c,k] [s = stride·i + dilation·k - padding]

A convolution is a product with a structure for each axis that the window goes along; the transposed one is the same
structure read the other way. A pool reduces what a window shows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ricci.errors import TraceError
from ricci.expr import moving, product, window
from ricci.tracing.basics import common, fresh, lift, like
from ricci.tracing.pytorch.aten import Array, lowers


def _each(value: Any, count: int) -> list[int]:
    """One number for each axis; one alone is for all of them, and none is for the sizes of the window."""
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    return values * count if len(values) == 1 else values


# Convolutions


@lowers("convolution", "_convolution", "convolution_overrideable")
def convolution(
    input: Array,
    weight: Array,
    bias: Array | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Any:
    count = weight.ndim - 2
    steps, pads, gaps, more = (_each(v, count) for v in (stride, padding, dilation, output_padding))
    n, channels, *sizes = input.shape
    kernel = weight.shape[2:]
    reach = [gap * (k - 1) + 1 for gap, k in zip(gaps, kernel, strict=True)]
    both = list(zip(sizes, steps, pads, reach, more, strict=True))
    if transposed:
        out = [(s - 1) * step - 2 * pad + r + extra for s, step, pad, r, extra in both]
        made = weight.shape[1] * groups
        w = np.swapaxes(np.reshape(weight, (groups, channels // groups, *weight.shape[1:])), 1, 2)
    else:
        out = [(s + 2 * pad - r) // step + 1 for s, step, pad, r, _ in both]
        made = weight.shape[0]
        w = np.reshape(weight, (groups, made // groups, *weight.shape[1:]))
    x = lift(np.reshape(input, (n, groups, channels // groups, *sizes)))
    read, write = ("i", "o") if not transposed else ("o", "i")
    factors: list[Any] = [
        (x.expr, ("n", "g", "c", *[("i", d) for d in range(count)])),
        (lift(w).expr, ("g", "m", "c", *[("k", d) for d in range(count)])),
    ]
    for d, (s, step, pad, _, _) in enumerate(both):
        near, far = (s, out[d]) if not transposed else (out[d], s)
        structure = window((step, gaps[d]), -pad, near, (far, kernel[d]))
        factors.append((structure, ((read, d), (write, d), ("k", d))))
    found = fresh(product(factors, ("n", "g", "m", *[("o", d) for d in range(count)])), common(input, weight))
    result = np.reshape(found, (n, made, *out))
    return result if bias is None else result + np.reshape(bias, (made, *[1] * count))


# Pools


def _places(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """How many windows there are along an axis; the last one begins inside the input or its padding on the left."""
    free = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (-(-free // stride) if ceil_mode else free // stride) + 1
    return count - 1 if ceil_mode and (count - 1) * stride >= size + padding else count


def _windows(
    x: Array, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[Array, np.ndarray]:
    """What windows over the last axes show, in as many new axes at the end, and where they show the input.

    Elsewhere they show zeros.
    """
    count = len(kernel)
    steps, pads, gaps = (_each(v, count) for v in (stride or kernel, padding, dilation))
    inside: Any = np.ones((1,) * 2 * count, bool)
    first = x.ndim - count
    reads = []
    for d, k in enumerate(kernel):
        size = x.shape[first + d]
        places = _places(size, k, steps[d], pads[d], gaps[d], ceil_mode)
        reads.append((places, k, steps[d], gaps[d], -pads[d]))
        read = np.arange(places)[:, None] * steps[d] + np.arange(k) * gaps[d] - pads[d]
        shape = [places if axis == d else k if axis == d + count else 1 for axis in range(2 * count)]
        inside = inside & ((read >= 0) & (read < size)).reshape(shape)
    return like(x, moving.windows(x.expr, range(first, x.ndim), reads)), inside


@lowers("max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool_with_indices(
    self: Array, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    count = len(kernel_size) if len(kernel_size) > 1 else 2
    return max_pool(self, _each(kernel_size, count), stride, padding, dilation, ceil_mode), None


@lowers("max_pool1d", "max_pool2d", "max_pool3d")
def max_pool(
    self: Array, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    seen, inside = _windows(self, kernel_size, stride, padding, dilation, ceil_mode)
    seen = seen if inside.all() else np.where(inside, seen, -np.inf)
    return np.max(seen, axis=tuple(range(-len(kernel_size), 0)))


def _avg_pool(count: int) -> Any:
    def avg_pool(
        self: Array,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Any:
        kernel = _each(kernel_size, count)
        seen, _ = _windows(self, kernel, stride, padding, 1, ceil_mode)
        sums = np.sum(seen, axis=tuple(range(-count, 0)))
        if divisor_override is not None:
            return sums / divisor_override
        steps, pads = _each(stride or kernel, count), _each(padding, count)
        divisor: Any = np.ones((1,) * count)
        for d, k in enumerate(kernel):
            size, number = self.shape[d - count], sums.shape[d - count]
            start = np.arange(number) * steps[d] - pads[d]
            end = np.minimum(start + k, size + pads[d])
            counted = end - start if count_include_pad else np.minimum(end, size) - np.maximum(start, 0)
            divisor = divisor * counted.reshape([number if axis == d else 1 for axis in range(count)])
        same = bool((divisor == divisor.flat[0]).all())
        return sums / (int(divisor.flat[0]) if same else divisor)

    return avg_pool


for _count in (1, 2, 3):
    lowers(f"avg_pool{_count}d")(_avg_pool(_count))


def _bounds(size: int, out: int) -> list[tuple[int, int]]:
    """Where the windows of an adaptive pool begin and end."""
    return [(math.floor(k * size / out), math.ceil((k + 1) * size / out)) for k in range(out)]


@lowers("adaptive_avg_pool1d", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool2d")
def adaptive_avg_pool(self: Array, output_size: Sequence[int]) -> Any:
    x: Any = self
    for d, out in enumerate(output_size):
        axis = d - len(output_size)
        size = x.shape[axis]
        weights = np.zeros((size, out))
        for k, (start, end) in enumerate(_bounds(size, out)):
            weights[start:end, k] = 1 / (end - start)
        x = np.moveaxis(np.moveaxis(x, axis, -1) @ weights, -1, axis)
    return x


@lowers("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(self: Array, output_size: Sequence[int]) -> Any:
    sizes = self.shape[self.ndim - len(output_size) :]
    if any(s % out for s, out in zip(sizes, output_size, strict=True)):
        raise TraceError(
            f"An adaptive maximum of sizes {sizes} to {tuple(output_size)} has windows of several lengths."
        )
    kernel = [s // out for s, out in zip(sizes, output_size, strict=True)]
    return max_pool(self, kernel), None
