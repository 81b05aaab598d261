"""einops.array_api: the same functions, for arrays that follow the array API standard."""

from typing import Any

from ricci.einops.packing import pack, unpack
from ricci.einops.rearranging import rearrange, reduce, repeat

__all__ = ["asnumpy", "pack", "rearrange", "reduce", "repeat", "unpack"]


def asnumpy(tensor: Any) -> Any:
    """The array as one of NumPy, without a copy where that can be."""
    import numpy

    return numpy.from_dlpack(tensor)
