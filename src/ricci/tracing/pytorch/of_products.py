"""Products: matrices, batches of them, einsum, attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from ricci.errors import TraceError
from ricci.tracing.basics import BOOL
from ricci.tracing.pytorch.aten import Array, lowers, rows, whole
from ricci.tracing.pytorch.of_reductions import safe_softmax, softmax, vector_norm


def _with(x: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """β x + α times a product; for β = 0, x is not looked at."""
    scaled = product if alpha == 1 else alpha * product
    if beta == 0:
        return np.broadcast_to(scaled, np.broadcast_shapes(x.shape, scaled.shape))
    return (x if beta == 1 else beta * x) + scaled


rows(
    __name__,
    {
        "mm bmm": lambda self, mat2: self @ mat2,
        "mv": lambda self, vec: self @ vec,
        "dot": lambda self, tensor: self @ tensor,
        "vdot": lambda self, other: self.conj() @ other,
        "addmm": lambda self, mat1, mat2, beta=1, alpha=1: _with(self, mat1 @ mat2, beta, alpha),
        "addmv": lambda self, mat, vec, beta=1, alpha=1: _with(self, mat @ vec, beta, alpha),
        "addr": lambda self, vec1, vec2, beta=1, alpha=1: _with(self, np.outer(vec1, vec2), beta, alpha),
        "baddbmm": lambda self, batch1, batch2, beta=1, alpha=1: _with(self, batch1 @ batch2, beta, alpha),
        "addbmm": lambda self, batch1, batch2, beta=1, alpha=1: _with(
            self, np.einsum("bij,bjk->ik", batch1, batch2), beta, alpha
        ),
        "_cdist_forward": lambda x1, x2, p, compute_mode=None: _distances(x1, x2, p),
        "_euclidean_dist": lambda x1, x2: _distances(x1, x2, 2),
    },
)


whole("matmul", torch.matmul, torch.Tensor.matmul, torch.Tensor.__matmul__)(lambda input, other: input @ other)
whole("matmul", torch.Tensor.__rmatmul__)(lambda input, other: other @ input)


@whole("einsum", torch.einsum)
def einsum(equation: Any, *operands: Any) -> Any:
    if isinstance(equation, str):
        parts = operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
        return np.einsum(equation.replace(" ", ""), *parts)
    return np.einsum(equation, *operands)


@whole("tensordot", torch.tensordot)
def tensordot(a: Array, b: Array, dims: Any = 2, out: Any = None) -> Any:
    return np.tensordot(a, b, dims if isinstance(dims, int) else (tuple(dims[0]), tuple(dims[1])))


@whole("linear", F.linear)
def linear(input: Array, weight: Array, bias: Array | None = None) -> Any:
    made = input @ (np.transpose(weight) if weight.ndim > 1 else weight)
    return made if bias is None else made + bias


@lowers("_trilinear")
def trilinear(
    i1: Array, i2: Array, i3: Array, expand1: Any, expand2: Any, expand3: Any, sumdim: Any, unroll_dim: int = 1
) -> Any:
    """A product of three tensors that get further axes, summed over some."""
    wide = [np.expand_dims(x, tuple(places)) for x, places in ((i1, expand1), (i2, expand2), (i3, expand3))]
    return np.sum(wide[0] * wide[1] * wide[2], axis=tuple(sumdim))


@lowers("linalg_cross")
def cross(self: Array, other: Array, dim: int = -1) -> Any:
    a, b = (np.moveaxis(x, dim, -1) for x in np.broadcast_arrays(self, other))
    return np.moveaxis(np.linalg.cross(a, b), -1, dim)


def _distances(x1: Array, x2: Array, p: Any) -> Any:
    return vector_norm(np.expand_dims(x1, -2) - np.expand_dims(x2, -3), p, -1)


@lowers("_pdist_forward")
def pdist(self: Array, p: Any = 2) -> Any:
    """The distances of all pairs of rows, each pair once."""
    rows, others = np.triu_indices(self.shape[0], 1)
    return vector_norm(self[rows] - self[others], p, -1)


@whole("scaled_dot_product_attention", F.scaled_dot_product_attention)
def attention(
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """softmax(q kᵀ · scale + mask) v; where nothing may be attended to, 0."""
    if dropout_p:
        raise TraceError("F.scaled_dot_product_attention draws random numbers with dropout_p > 0; give dropout_p=0.0.")
    if enable_gqa:
        key, value = (np.repeat(x, query.shape[-3] // x.shape[-3], axis=-3) for x in (key, value))
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = factor * (query @ np.swapaxes(key, -1, -2))
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    if attn_mask is not None:
        scores = np.where(attn_mask, scores, -np.inf) if attn_mask.dtype == BOOL else scores + attn_mask
    return (softmax if attn_mask is None else safe_softmax)(scores, -1) @ value


_FUSED = "flash_attention_for_cpu flash_attention efficient_attention cudnn_attention fused_attention_overrideable"


@lowers(*[f"_scaled_dot_product_{name}" for name in _FUSED.split()])
def fused_attention(
    query: Array,
    key: Array,
    value: Array,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    attn_mask: Any = None,
    attn_bias: Any = None,
    scale: float | None = None,
    compute_log_sumexp: bool = False,
    return_debug_mask: bool = False,
) -> Any:
    mask = attn_bias if attn_mask is None else attn_mask
    return [attention(query, key, value, mask, dropout_p, is_causal, scale)]
