"""Neural networks: layers, normalisations, attention, gates. Gradients are of a sum weighted with c."""

from __future__ import annotations

from ricci.identities.row import row

_row = row("networks")
_LAYER = "y[b,i] = relu(x[b,j] W[j,i] + 1[b] a[i])"
_LAYER_IN = {"x": "b n", "W": "n m", "a": "m"}
_NORM = (
    "m[b] = mean[h](x[b,h]); v[b] = mean[h]((x[b,h] - 1[h] m[b])**2); "
    "z[b,h] = (x[b,h] - 1[h] m[b])/sqrt(v[b] + e); f = c[b,h] (z[b,h] g[h] + 1[b] o[h])"
)
_NORM_IN = {"x": "b n", "e": "exactly 1", "g": "n", "o": "n", "c": "b n"}
_BATCH = (
    "m[h] = mean[b](x[b,h]); v[h] = mean[b]((x[b,h] - 1[b] m[h])**2); "
    "z[b,h] = (x[b,h] - 1[b] m[h])/sqrt(v[h] + e); f = c[b,h] (z[b,h] g[h] + 1[b] o[h])"
)
_RMS = "s[b] = 1/sqrt(mean[h](x[b,h]**2) + e); f = c[b,h] x[b,h] s[b] g[h]"
_ATTENTION = "p[i,j] = softmax[j](q[i,d] k[j,d]/sqrt(|d|)); f = c[i,e] p[i,j] v[j,e]"
_ATTENTION_IN = {"q": "m n", "k": "k n", "v": "k l", "c": "m l"}
_SCORES = "a[i,j] = c[i,e] v[j,e]; u[i,j] = p[i,j] (a[i,j] - 1[j] (p[i,k'] a[i,k']))"

NETWORKS = (
    _row(
        "dense layer, by the weights",
        f"{_LAYER}; f = c[b,i] y[b,i]",
        "W[p,q]",
        "x[b,p] c[b,q] (x[b,j] W[j,q] + 1[b] a[q] > 0)",
        {**_LAYER_IN, "c": "b m"},
        exact=False,
    ),
    _row(
        "dense layer, by the offsets",
        f"{_LAYER}; f = c[b,i] y[b,i]",
        "a[p]",
        "c[b,p] (x[b,j] W[j,p] + 1[b] a[p] > 0)",
        {**_LAYER_IN, "c": "b m"},
        exact=False,
    ),
    _row(
        "dense layer, by the input",
        f"{_LAYER}; f = c[b,i] y[b,i]",
        "x[p,q]",
        "c[p,i] (x[p,j] W[j,i] + 1[p] a[i] > 0) W[q,i]",
        {**_LAYER_IN, "c": "b m"},
        exact=False,
    ),
    _row(
        "two layers, by the first",
        "h[b,j] = tanh(x[b,i] V[i,j]); f = 1/2 1[b,k] (h[b,j] W[j,k] - t[b,k])**2",
        "V[p,q]",
        "x[b,p] (1 - h[b,q]**2) (h[b,j] W[j,k] - t[b,k]) W[q,k]",
        {"x": "b n", "V": "n m", "W": "m k", "t": "b k"},
        exact=False,
    ),
    _row(
        "two layers, by the second",
        "h[b,j] = tanh(x[b,i] V[i,j]); f = 1/2 1[b,k] (h[b,j] W[j,k] - t[b,k])**2",
        "W[p,q]",
        "h[b,p] (h[b,j] W[j,q] - t[b,q])",
        {"x": "b n", "V": "n m", "W": "m k", "t": "b k"},
    ),
    _row(
        "residual layer",
        "y[i] = x[i] + tanh(W[i,j] x[j])",
        "x[p]",
        "delta[i,p] + (1 - tanh(W[i,j] x[j])**2) W[i,p]",
        {"x": "n", "W": "n n"},
    ),
    _row(
        "gated linear unit",
        "y[i] = A[i,j] x[j] sigmoid(B[i,k] x[k])",
        "x[p]",
        "s[i] = sigmoid(B[i,k] x[k]); s[i] (A[i,p] + A[i,j] x[j] (1 - s[i]) B[i,p])",
        {"A": "m n", "B": "m n", "x": "n"},
    ),
    _row("layer norm, by the gain", _NORM, "g[p]", "c[b,p] z[b,p]", _NORM_IN),
    _row("layer norm, by the offset", _NORM, "o[p]", "1[b] c[b,p]", _NORM_IN),
    _row(
        "layer norm, by the input",
        _NORM,
        "x[p,q]",
        "d[b,h] = c[b,h] g[h]; (d[p,q] - 1[q] mean[h](d[p,h]) - z[p,q] mean[h](d[p,h] z[p,h]))/sqrt(v[p] + e)",
        _NORM_IN,
        exact=False,
    ),
    _row("batch norm, by the gain", _BATCH, "g[p]", "c[b,p] z[b,p]", _NORM_IN),
    _row(
        "batch norm, by the input",
        _BATCH,
        "x[p,q]",
        "d[b,h] = c[b,h] g[h]; (d[p,q] - 1[p] mean[b](d[b,q]) - z[p,q] mean[b](d[b,q] z[b,q]))/sqrt(v[q] + e)",
        _NORM_IN,
        exact=False,
    ),
    _row(
        "root-mean-square norm, by the input",
        _RMS,
        "x[p,q]",
        "s[p] c[p,q] g[q] - s[p]**3 x[p,q] mean[h](c[p,h] g[h] x[p,h])",
        {"x": "b n", "e": "exactly 1", "c": "b n", "g": "n"},
    ),
    _row(
        "root-mean-square norm, by the gain",
        _RMS,
        "g[p]",
        "c[b,p] x[b,p] s[b]",
        {"x": "b n", "e": "exactly 1", "c": "b n", "g": "n"},
    ),
    _row("attention, by the values", _ATTENTION, "v[r,s]", "p[i,r] c[i,s]", _ATTENTION_IN),
    _row(
        "attention, by the queries",
        _ATTENTION,
        "q[r,s]",
        f"{_SCORES}; u[r,j] k[j,s]/sqrt(|s|)",
        _ATTENTION_IN,
        exact=False,
    ),
    _row(
        "attention, by the keys",
        _ATTENTION,
        "k[r,s]",
        f"{_SCORES}; u[i,r] q[i,s]/sqrt(|s|)",
        _ATTENTION_IN,
        exact=False,
    ),
    _row(
        "linear attention, by the keys",
        "y[i,e] = q[i,d] k[j,d] v[j,e]; f = c[i,e] y[i,e]",
        "k[r,s]",
        "q[i,s] c[i,e] v[r,e]",
        _ATTENTION_IN,
    ),
    _row(
        "recurrent step",
        "y[i] = tanh(U[i,j] h[j] + W[i,k] x[k])",
        "h[p]",
        "(1 - y[i]**2) U[i,p]",
        {"U": "n n", "h": "n", "W": "n m", "x": "m"},
    ),
    _row(
        "cell of an LSTM, by the forget gate",
        "y[i] = sigmoid(a[i]) c[i] + sigmoid(b[i]) tanh(g[i])",
        "a[p]",
        "s[i] = sigmoid(a[i]); s[i] (1 - s[i]) c[i] delta[i,p]",
        dict.fromkeys("abcg", "n"),
    ),
    _row(
        "cell of an LSTM, by the candidate",
        "y[i] = sigmoid(a[i]) c[i] + sigmoid(b[i]) tanh(g[i])",
        "g[p]",
        "sigmoid(b[i]) (1 - tanh(g[i])**2) delta[i,p]",
        dict.fromkeys("abcg", "n"),
    ),
    _row(
        "cell of a GRU, by the update gate",
        "s[i] = sigmoid(a[i]); y[i] = (1 - s[i]) h[i] + s[i] g[i]",
        "a[p]",
        "s[i] (1 - s[i]) (g[i] - h[i]) delta[i,p]",
        {"a": "n", "h": "n", "g": "n"},
    ),
    _row(
        "embedding",
        "y[b,d] = E[t[b],d]; f = c[b,d] y[b,d]",
        "E[p,q]",
        "I[i,p] = delta[i,p]; I[t[b],p] c[b,q]",
        {"E": "n m", "t": "below n b", "c": "b m"},
    ),
    _row(
        "convolution in two dimensions, by the filter",
        "y[i,j] = x[i+k,j+l] w[k,l]; f = c[i,j] y[i,j]",
        "w[p,q]",
        "c[i,j] x[i+p,j+q]",
        {"w": "2 2", "x": "n+1 m+1", "c": "n m"},
    ),
    _row(
        "average over places",
        "y[b,d] = mean[t](x[b,t,d]); f = c[b,d] y[b,d]",
        "x[p,q,r]",
        "c[p,r] 1[q]/|q|",
        {"x": "b n m", "c": "b m"},
    ),
    _row(
        "contrast with other samples",
        "s[i,j] = u[i,d] v[j,d]; f = 1[i] logsumexp[j](s[i,j]) - s[i,i]",
        "u[p,q]",
        "softmax[j](s[p,j]) v[j,q] - v[p,q]",
        {"u": "m n", "v": "m n"},
        exact=False,
    ),
    _row(
        "Hopfield energy",
        "f = -1/b logsumexp[m](b X[m,i] x[i]) + 1/2 x[i] x[i]",
        "x[p]",
        "x[p] - softmax[m](b X[m,i] x[i]) X[m,p]",
        {"b": "pos", "X": "m n", "x": "n"},
    ),
)
