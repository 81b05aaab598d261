"""einops, word for word: change ``import einops`` to ``import ricci.einops as einops``.

Names, arguments, results, views and errors are those of einops; calls are faster, and errors say more. What ricci adds
is in ``rc`` itself: ``rc.rearrange``, ``rc.einsum`` and their kin, on the same arrays and on expressions.

In come arrays and a pattern; out go arrays of the same kind. A pattern is read once (``grammar``, ``labels``), its
sizes are found in one way (``inference``), and every function is a call of the one ``driver``, and differs from the
others in what it plans: ``moves``, ``blocks``, ``einsums``, ``packing``, ``looking_up``. ``backends`` know what each
kind of array calls its operations, ``watch`` tells scopes what is done with axes. Of ricci, only errors, caches, kinds
and the dispatch of calls are imported.
"""

from typing import Any

from ricci.checked_calls import takes
from ricci.einops.einsums import einsum
from ricci.einops.packing import pack, unpack
from ricci.einops.rearranging import rearrange, reduce, repeat
from ricci.einops.shape_names import parse_shape
from ricci.errors import EinopsError

__version__ = "0.8.2"  # of einops, whose interface this is

__all__ = ["EinopsError", "asnumpy", "einsum", "pack", "parse_shape", "rearrange", "reduce", "repeat", "unpack"]


@takes("einops.asnumpy")
def asnumpy(tensor: Any) -> Any:
    """An array of any kind as one of NumPy."""
    from ricci.einops.backends import backend_of

    return backend_of(tensor).to_numpy(tensor)
