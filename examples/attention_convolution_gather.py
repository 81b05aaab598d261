"""Three layers in index notation against NumPy: attention, convolution with a stride, an embedding."""

import numpy as np

import ricci as rc

rng = np.random.default_rng(0)


def compare(title: str, formula: rc.Formula, expected: np.ndarray, **inputs: np.ndarray) -> None:
    value = formula(**inputs)
    error = np.abs(value - expected).max()
    print(f"{title}\n\n{formula}\n\n  shape {value.shape}, largest difference from NumPy {error:.1e}\n")
    assert value.shape == expected.shape and error < 1e-12


# Attention: b batch, h head, i and j positions, d and e features.
attention = rc.parse("""
    p[b,h,i,j] = softmax[j](q[b,h,i,d] k[b,h,j,d] / sqrt(|d|))
    o[b,h,i,e] = p[b,h,i,j] v[b,h,j,e]
""")
q, k, v = rng.normal(size=(3, 2, 4, 10, 8))
scores = q @ k.swapaxes(-1, -2) / np.sqrt(8)
weights = np.exp(scores - scores.max(-1, keepdims=True))
weights /= weights.sum(-1, keepdims=True)
compare("attention", attention, weights @ v, q=q, k=k, v=v)

# A causal mask is a comparison of positions; here they are given as an input.
causal = rc.parse("""
    s[b,h,i,j] = where(t[j] <= t[i], q[b,h,i,d] k[b,h,j,d] / sqrt(|d|), -1e30)
    o[b,h,i,e] = softmax[j](s[b,h,i,j]) v[b,h,j,e]
""")
masked = np.where(np.tri(10, dtype=bool), scores, -1e30)
weights = np.exp(masked - masked.max(-1, keepdims=True))
weights /= weights.sum(-1, keepdims=True)
compare("causal attention", causal, weights @ v, q=q, k=k, v=v, t=np.arange(10))

# Convolution with stride 2: an index expression reads the input at 2 y + u. The size of y follows from the inputs.
convolution = rc.parse("o[n,f,y,x] = image[n,c,2*y+u,2*x+v] kernel[f,c,u,v] + 1[n,y,x] bias[f]")
image, kernel, bias = rng.normal(size=(2, 3, 11, 9)), rng.normal(size=(4, 3, 3, 3)), rng.normal(size=4)
windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(2, 3))[:, :, ::2, ::2]
expected = np.einsum("ncyxuv,fcuv->nfyx", windows, kernel) + bias[:, None, None]
compare("convolution, stride 2", convolution, expected, image=image, kernel=kernel, bias=bias)

# Gather: an index that is itself a tensor.
embedding = rc.parse("y[b,t,d] = table[tokens[b,t],d] + 1[b] position[t,d]")
table, position, tokens = rng.normal(size=(50, 6)), rng.normal(size=(7, 6)), rng.integers(0, 50, size=(3, 7))
compare("embedding", embedding, table[tokens] + position, table=table, position=position, tokens=tokens)
