"""The modules that programs are run over: NumPy's names in PyTorch and autograd, where they lack them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

SAME = (
    *("exp", "log", "log1p", "sqrt", "sin", "cos", "tanh", "logaddexp", "floor", "where", "sum", "mean", "squeeze"),
    *("concatenate", "stack", "einsum", "zeros", "ones", "eye", "arange", "diag"),
)


def torch_space() -> Any:
    """PyTorch under NumPy's names; its own functions take ``axis`` and ``keepdims`` already."""
    import torch

    return SimpleNamespace(
        **{name: getattr(torch, name) for name in SAME},
        max=torch.amax,
        min=torch.amin,
        roll=torch.roll,
        cross=torch.linalg.cross,
        astype=lambda x, kind: x.to({int: torch.int64, float: torch.float64}[kind]),
        linalg=torch.linalg,
    )


def autograd_space() -> Any:
    """``autograd.numpy``, and what it has no name for."""
    import autograd.numpy as anp

    space = SimpleNamespace(**{name: getattr(anp, name) for name in dir(anp) if not name.startswith("_")})
    space.astype = lambda x, kind: anp.array(getattr(x, "_value", x)).astype(kind)
    return space
