"""What an expert writes by hand, in NumPy: the derivative by pencil, then in-place steps, BLAS and cache-sized blocks.

Every function takes the inputs of its case by name and returns what the derivative of the case is. The Hessians go
through the structure: the one of a factorisation is a small matrix for each row, that of a network by its first weights
a matrix for each sample times ``x[b,i] x[b,j]``; ``core`` computes those matrices, the compressed result, and ``dense``
fills the array of order four from them. At the end the same for JAX and torch, over a namespace of ``peers.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

BLOCK = 128  # rows of a block of layer norm; what is worked on then stays in the second-level cache


# Logistic regression: sum of softplus(-y (X w)).


def _curvature(X: Any, y: Any, w: Any) -> Any:
    """The diagonal of Xᵀ diag(d) X: y² sigmoid(z) sigmoid(-z), finite for all z."""
    z = X @ w
    np.abs(z, out=z)
    np.negative(z, out=z)
    np.exp(z, out=z)
    q = z + 1
    q *= q
    z /= q
    z *= y
    z *= y
    return z


def logistic_hessian(w: Any, X: Any, y: Any) -> Any:
    d = _curvature(X, y, w)
    return X.T @ (d[:, None] * X)


def logistic_hessian_syrk(w: Any, X: Any, y: Any) -> Any:
    """With the root of d ≥ 0 on both sides; NumPy gives a product with its own transpose to ``syrk``."""
    d = _curvature(X, y, w)
    np.sqrt(d, out=d)
    scaled = d[:, None] * X
    return scaled.T @ scaled


def logistic_gradient(w: Any, X: Any, y: Any) -> Any:
    z = X @ w
    z *= y
    np.negative(z, out=z)
    e = np.exp(-np.abs(z))
    loss = np.maximum(z, 0).sum() + np.log1p(e).sum()
    s = np.where(z >= 0, 1, e)
    e += 1
    s /= e
    s *= y
    np.negative(s, out=s)
    return loss, s @ X


# Matrix factorisation: sum of M (T - U Vᵀ)².


def factorisation_core(U: Any, V: Any, T: Any, M: Any = None) -> Any:
    """2 VᵀV; with a mask one such matrix for each row."""
    if M is None:
        core = V.T @ V
        core *= 2
        return core
    n, k = V.shape
    pairs = (V[:, :, None] * (2 * V)[:, None, :]).reshape(n, k * k)
    return (M @ pairs).reshape(len(M), k, k)


def factorisation_core_half(U: Any, V: Any, T: Any, M: Any) -> Any:
    """With a mask, and only the upper triangle of each symmetric matrix multiplied out."""
    k = V.shape[1]
    rows, columns = np.triu_indices(k)
    half = M @ (V[:, rows] * (2 * V)[:, columns])
    core = np.empty((len(M), k, k), V.dtype)
    core[:, rows, columns] = half
    core[:, columns, rows] = half
    return core


def factorisation_dense(U: Any, V: Any, T: Any, M: Any = None) -> Any:
    """The core on the diagonal of zeros, which the system hands out without writing them."""
    n, k = U.shape
    hessian = np.zeros((n, k, n, k), U.dtype)
    np.einsum("ikil->ikl", hessian)[...] = factorisation_core(U, V, T, M)
    return hessian


def factorisation_product(vector: Any, **inputs: Any) -> Any:
    """The Hessian times a vector of the shape of U."""
    core = factorisation_core(**inputs)
    return vector @ core if core.ndim == 2 else np.matmul(core, vector[:, :, None])[:, :, 0]


# Networks: the squared length of f(W_n … f(W_1 f(W_0 x))), by W_0.


def network_core(function: str, weights: Sequence[Any], x: Any) -> Any:
    """S[b,p,q], the second derivative of the loss of sample b by its first preactivations z."""
    values, slopes = _forward(function, weights, x)
    bends = None if function == "relu" else _bends(weights, values, slopes)
    last = len(weights) - 1
    J = slopes[0][:, None, :] * weights[1]  # of the second preactivations by the first
    S = None
    for layer in range(1, last + 1):
        if bends is not None:
            part = np.matmul(J.transpose(0, 2, 1), bends[layer][:, :, None] * J)
            S = part if S is None else np.add(S, part, out=S)
        if layer < last:
            J *= slopes[layer][:, :, None]
            J = np.matmul(weights[layer + 1], J)
    if S is None or bends is None:
        J *= slopes[last][:, :, None]
        S = np.matmul(J.transpose(0, 2, 1), J)
        S *= 2
        return S
    S.reshape(len(S), -1)[:, :: S.shape[1] + 1] += bends[0]
    return S


def _forward(function: str, weights: Sequence[Any], x: Any) -> tuple[list[Any], list[Any]]:
    """The values after each layer and the derivatives of the activations."""
    values, slopes = [], []
    for weight in weights:
        z = (values[-1] if values else x) @ weight.T
        if function == "tanh":
            np.tanh(z, out=z)
            slopes.append(1 - z * z)
        else:
            slopes.append((z > 0).astype(z.dtype))
            np.maximum(z, 0, out=z)
        values.append(z)
    return values, slopes


def _bends(weights: Sequence[Any], values: list[Any], slopes: list[Any]) -> list[Any]:
    """The second derivatives by each layer's preactivations that do not go through later ones; for tanh."""
    g = 2 * values[-1] * slopes[-1]
    bends = [2 * slopes[-1] * (slopes[-1] - 2 * values[-1] ** 2)]
    for layer in range(len(weights) - 2, -1, -1):
        g = g @ weights[layer + 1]
        g *= slopes[layer]
        bends.append(-2 * g * values[layer])
    return bends[::-1]


def network_dense(S: Any, x: Any) -> Any:
    """S[b,p,q] x[b,i] x[b,j] in the order p, i, q, j, each block transposed while it is in the cache."""
    batch, n = x.shape
    if batch == 1:
        outer = (S[0][:, :, None] * x[0]).reshape(n, 1, n * n)
        return np.multiply(x[0][:, None], outer).reshape(n, n, n, n)
    squares = (x[:, :, None] * x[:, None, :]).reshape(batch, n * n)
    hessian = np.empty((n, n, n, n), x.dtype)
    for p in range(n):
        hessian[p] = (S[:, p].T @ squares).reshape(n, n, n).transpose(1, 0, 2)
    return hessian


def network_dense_half(S: Any, x: Any) -> Any:
    """The same with each block for p < q multiplied out once and written twice."""
    batch, n = x.shape
    squares = (x[:, :, None] * x[:, None, :]).reshape(batch, n * n)
    hessian = np.empty((n, n, n, n), x.dtype)
    for p in range(n):
        blocks = (S[:, p, p:].T @ squares).reshape(n - p, n, n)
        hessian[p, :, p:] = blocks.transpose(1, 0, 2)
        hessian[p + 1 :, :, p] = blocks[1:]
    return hessian


def network_dense_view(S: Any, x: Any) -> Any:
    """One product, seen in the order p, i, q, j: not contiguous, so a later reshape to a matrix pays for the copy."""
    batch, n = x.shape
    squares = (x[:, :, None] * x[:, None, :]).reshape(batch, n * n)
    return (S.reshape(batch, n * n).T @ squares).reshape(n, n, n, n).transpose(0, 2, 1, 3)


def network_product(S: Any, x: Any, vector: Any) -> Any:
    """S[b,p,q] x[b,i] x[b,j] times a vector of the shape of W_0."""
    along = x @ vector.T
    return np.matmul(S, along[:, :, None])[:, :, 0].T @ x


# Values and gradients.


def mlp_gradient(
    W1: Any, b1: Any, W2: Any, b2: Any, W3: Any, b3: Any, x: Any, Y: Any
) -> tuple[Any, Any, Any, Any, Any, Any, Any]:
    a = x @ W1
    a += b1
    np.maximum(a, 0, out=a)
    c = a @ W2
    c += b2
    np.maximum(c, 0, out=c)
    z = c @ W3
    z += b3
    z -= z.max(1, keepdims=True)
    e = np.exp(z)
    s = e.sum(1, keepdims=True)
    loss = (np.log(s).sum() - np.vdot(Y, z)) / len(x)
    e /= s
    e -= Y
    e /= len(x)
    dc = e @ W3.T
    dc *= c > 0
    da = dc @ W2.T
    da *= a > 0
    return loss, x.T @ da, da.sum(0), a.T @ dc, dc.sum(0), c.T @ e, e.sum(0)


def norm_gradient(x: Any, g: Any, beta: Any, r: Any, eps: Any) -> tuple[Any, Any, Any, Any]:
    """In blocks of rows. The value is g · dl/dg + beta · dl/dbeta, since the loss is linear in both."""
    rows, width = x.shape
    dx, dg = np.empty_like(x), np.zeros_like(g)
    average, weights = np.full(width, 1 / width, x.dtype), g / width
    centred, product = np.empty((BLOCK, width), x.dtype), np.empty((BLOCK, width), x.dtype)
    for start in range(0, rows, BLOCK):
        part = slice(start, start + BLOCK)
        xb, rb, d = x[part], r[part], dx[part]
        c, t = centred[: len(xb)], product[: len(xb)]
        np.subtract(xb, (xb @ average)[:, None], out=c)
        s = np.einsum("bh,bh->b", c, c)
        s /= width
        s += eps
        np.sqrt(s, out=s)
        np.divide(1, s, out=s)
        np.multiply(rb, c, out=t)
        dg += s @ t
        along = t @ weights
        along *= s
        along *= s
        np.multiply(rb, g, out=d)
        d -= (rb @ weights)[:, None]
        c *= along[:, None]
        d -= c
        d *= s[:, None]
    dbeta = np.ones(rows, x.dtype) @ r
    return g @ dg + beta @ dbeta, dx, dg, dbeta


def attention_gradient(q: Any, k: Any, v: Any, r: Any) -> tuple[Any, Any, Any, Any]:
    """The rows of the softmax are left unnormalised, and r divided by their sums, which is smaller."""
    scale = q.dtype.type(q.shape[1] ** -0.5)
    scaled = q * scale
    p = scaled @ k.T
    p -= p.max(1, keepdims=True)
    np.exp(p, out=p)
    s = 1 / p.sum(1)
    rs = r * s[:, None]
    along = np.einsum("ie,ie->i", rs, p @ v)
    dv = p.T @ rs
    dp = rs @ v.T
    dp -= (along * s)[:, None]
    dp *= p
    dq = dp @ k
    dq *= scale
    return along.sum(), dq, dp.T @ scaled, dv


# The same for accelerators: ``m`` is a namespace of peers.py. There is nothing in place, the compilers see to that.


def native_logistic_hessian(m: Any, w: Any, X: Any, y: Any) -> Any:
    e = m.exp(-m.abs(X @ w))
    return (X * (y * y * e / (1 + e) ** 2)[:, None]).T @ X


def native_factorisation_core(m: Any, U: Any, V: Any, T: Any, M: Any = None) -> Any:
    if M is None:
        return 2 * (V.T @ V)
    return (M @ (V[:, :, None] * (2 * V)[:, None, :]).reshape(len(V), -1)).reshape(len(M), *V.T.shape[:1], -1)


def native_factorisation_dense(m: Any, U: Any, V: Any, T: Any, M: Any = None) -> Any:
    return m.on_diagonal(native_factorisation_core(m, U, V, T, M), len(U))


def native_network_core(m: Any, x: Any, *weights: Any) -> Any:
    """For tanh, backwards: S = Wᵀ S W between the slopes, plus what each layer bends."""
    values = []
    for weight in weights:
        values.append(m.tanh((values[-1] if values else x) @ weight.T))
    slopes = [1 - value * value for value in values]
    g = 2 * values[-1] * slopes[-1]
    S = m.diagonal(2 * slopes[-1] * (slopes[-1] - 2 * values[-1] ** 2))
    for layer in range(len(weights) - 2, -1, -1):
        W = weights[layer + 1]
        g = (g @ W) * slopes[layer]
        S = (W.T @ (S @ W)) * slopes[layer][:, :, None] * slopes[layer][:, None, :]
        S = S + m.diagonal(-2 * g * values[layer])
    return S


def native_network_dense(m: Any, x: Any, *weights: Any) -> Any:
    """One product that gives the axes in the order p, i, q, j, so that nothing is transposed."""
    S = native_network_core(m, x, *weights)
    n = x.shape[1]
    left = (S[:, :, None, :] * x[:, None, :, None]).reshape(len(x), n**3)
    return (left.T @ x).reshape(n, n, n, n)


def native_norm_gradient(m: Any, x: Any, g: Any, beta: Any, r: Any, eps: Any) -> tuple[Any, Any, Any, Any]:
    width = x.shape[1]
    c = x - x.mean(1)[:, None]
    s = m.rsqrt((c * c).sum(1) / width + eps)
    h = c * s[:, None]
    rg = r * g
    dg, dbeta = (r * h).sum(0), r.sum(0)
    along = (rg * h).sum(1) / width
    dx = (rg - rg.mean(1)[:, None] - h * along[:, None]) * s[:, None]
    return g @ dg + beta @ dbeta, dx, dg, dbeta
