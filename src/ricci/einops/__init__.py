"""einops, word for word: change ``import einops`` to ``import ricci.einops as einops``.

Names, arguments, results, views and errors are those of einops; calls are faster, and errors say more. What ricci adds
is in ``rc`` itself: ``rc.rearrange``, ``rc.einsum`` and their kin, on the same arrays and on expressions.
"""

from typing import Any

from ricci.einops.contraction import einsum
from ricci.einops.operations import rearrange, reduce, repeat
from ricci.einops.packing import pack, unpack
from ricci.einops.sizes import parse_shape
from ricci.errors import EinopsError

__version__ = "0.8.2"  # of einops, whose interface this is

__all__ = ["EinopsError", "asnumpy", "einsum", "pack", "parse_shape", "rearrange", "reduce", "repeat", "unpack"]


def asnumpy(tensor: Any) -> Any:
    """An array of any kind as one of NumPy."""
    from ricci.einops.backends import backend_of

    return backend_of(tensor).to_numpy(tensor)
