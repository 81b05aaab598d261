"""What ricci adds to einops: the functions of ``rc``, on arrays of every kind and on expressions.

Everything that einops reads means the same here. Beyond it, rearrange joins and splits by ``+``, there are more
reductions, einsum takes composite axes and any operation and reduction, and expressions stay differentiable.

>>> import numpy as np
>>> z = rearrange([np.zeros((2, 3)), np.ones((2, 4))], "b c, b d -> b (c + d)")
>>> z.shape, [part.shape for part in rearrange(z, "b (c + d) -> b c, b d", c=3)]
((2, 7), [(2, 3), (2, 4)])
>>> reduce(np.array([[1.0, 3.0, 2.0]]), "b k -> b", "argmax")
array([1])
"""

from __future__ import annotations

from ricci.einops.einsums import wide_einsum as einsum
from ricci.einops.looking_up import gather, scatter
from ricci.einops.packing import pack, unpack
from ricci.einops.rearranging import wide_rearrange as rearrange
from ricci.einops.rearranging import wide_reduce as reduce
from ricci.einops.rearranging import wide_repeat as repeat
from ricci.einops.shape_names import inverse, parse_shape, sizes

__all__ = [
    "einsum",
    "gather",
    "inverse",
    "pack",
    "parse_shape",
    "rearrange",
    "reduce",
    "repeat",
    "scatter",
    "sizes",
    "unpack",
]
