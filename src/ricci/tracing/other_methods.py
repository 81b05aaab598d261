"""Methods that other arrays have and ours do not: what to write in their place.

Most of them are functions of NumPy's, or of ricci's own, of the same name. The table has the words of PyTorch, pandas
and Python's lists for what NumPy calls otherwise.
"""

from __future__ import annotations

import numpy as np

from ricci.functions.table import FUNCTIONS

_PRODUCT, _TYPE, _JOIN = "x @ y", "x.astype(np.float64)", "np.concatenate([x, y])"
_GRADIENT = "rc.grad(f)(x) for the gradient, or compute with rc.Tensor, which has .backward() and .grad"
WRITTEN = {
    "pow": "x ** n",
    "sub": "x - y",
    "mul": "x * y",
    "div": "x / y",
    "neg": "-x",
    **dict.fromkeys(["mm", "bmm", "mv"], _PRODUCT),
    "t": "x.T",
    "permute": "x.transpose(axes)",
    "unsqueeze": "np.expand_dims(x, axis)",
    "expand": "np.broadcast_to(x, shape)",
    **dict.fromkeys(["dim", "rank"], "x.ndim"),
    **dict.fromkeys(["numel", "nelement"], "x.size"),
    "clone": "x.copy()",
    "contiguous": "x as it is",
    "inverse": "np.linalg.inv(x)",
    **dict.fromkeys(["float", "double", "half", "type", "to"], _TYPE),
    **dict.fromkeys(["long", "int"], "x.astype(np.int64)"),
    **dict.fromkeys(["cuda", "cpu", "device"], "x as it is; a program runs where its arrays are"),
    **dict.fromkeys(["append", "extend", "cat", "concat"], _JOIN),
    **dict.fromkeys(["toarray", "todense", "to_numpy", "values", "data"], "x as it is"),
    **dict.fromkeys(["iloc", "loc"], "x[i, j]"),
    "apply": "f(x), since functions work on whole arrays",
    **dict.fromkeys(["backward", "grad", "requires_grad", "zero_grad"], _GRADIENT),
}


def written(name: str) -> str:
    """What to write for the method ``name`` of an array x."""
    if name in WRITTEN:
        return f"Write {WRITTEN[name]}."
    for module, found in ((np, "np"), (np.linalg, "np.linalg")):
        if callable(getattr(module, name, None)) and not isinstance(getattr(module, name), type):
            return f"Write {found}.{name}(x, …)."
    return f"Write rc.{name}(x, …)." if name in FUNCTIONS else ""
