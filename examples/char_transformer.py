"""A transformer with one block learns to continue a text, character by character.

All is plain NumPy: the embedding is a lookup ``table[tokens]``, attention looks only back, and the layers are
normalised. ``rc.value_and_grad`` differentiates the loss as it stands, with a dictionary of parameters.
"""

import time

import numpy as np

import ricci as rc

TEXT = "the gradient of a sum is the sum of the gradients; the gradient of a product is a sum of products. " * 4
WINDOW, WIDTH, HEADS, BATCH, STEPS = 16, 32, 2, 16, 300

rng = np.random.default_rng(0)
letters = sorted(set(TEXT))
codes = np.array([letters.index(letter) for letter in TEXT])
later = np.triu(np.full((WINDOW, WINDOW), -1e9), 1)  # added to scores, so that no place looks at later ones


def norm(x, scale):
    centred = x - x.mean(axis=-1, keepdims=True)
    return scale * centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(p, x):
    """Every place mixes what it and the earlier ones say, in each head with weights of its own."""
    b, t, _ = x.shape
    q, k, v = ((x @ p[name]).reshape(b, t, HEADS, -1) for name in ("query", "key", "value"))
    scores = np.einsum("bihd,bjhd->bhij", q, k) / np.sqrt(WIDTH // HEADS) + later
    return np.einsum("bhij,bjhd->bihd", softmax(scores), v).reshape(b, t, WIDTH) @ p["mixed"]


def logits(p, tokens):
    x = p["table"][tokens] + p["places"]
    x = x + attention(p, norm(x, p["scale1"]))
    x = x + np.maximum(norm(x, p["scale2"]) @ p["wide"], 0) @ p["narrow"]
    return norm(x, p["scale3"]) @ p["out"]


def loss(p, tokens, following):
    """The cross-entropy of the next letters."""
    z = logits(p, tokens)
    z = z - z.max(axis=-1, keepdims=True)
    log_p = z - np.log(np.exp(z).sum(axis=-1, keepdims=True))
    return -np.take_along_axis(log_p, following[..., None], axis=-1).mean()


def windows():
    """Pieces of the text, and the same shifted by one letter."""
    places = rng.integers(0, len(codes) - WINDOW, BATCH)[:, None] + np.arange(WINDOW)
    return codes[places], codes[places + 1]


def continued(p, start, number):
    """The most likely letters after ``start``."""
    found = [letters.index(letter) for letter in start]
    for _ in range(number):
        found.append(int(logits(p, np.array([found[-WINDOW:]]))[0, -1].argmax()))
    return "".join(letters[code] for code in found)


shapes = dict.fromkeys(("query", "key", "value", "mixed"), (WIDTH, WIDTH))
shapes |= {"wide": (WIDTH, 4 * WIDTH), "narrow": (4 * WIDTH, WIDTH), "out": (WIDTH, len(letters))}
params = {name: rng.normal(size=shape) / np.sqrt(shape[0]) for name, shape in shapes.items()}
params |= {"table": 0.5 * rng.normal(size=(len(letters), WIDTH)), "places": 0.5 * rng.normal(size=(WINDOW, WIDTH))}
params |= dict.fromkeys(("scale1", "scale2", "scale3"), np.ones(WIDTH))

value_and_gradient = rc.value_and_grad(loss)
start = time.perf_counter()
first, _ = value_and_gradient(params, *windows())
print(f"{len(letters)} letters; guessing costs {np.log(len(letters)):.3f} a letter, the untrained block {first:.3f}")
print(f"traced, differentiated and compiled in {time.perf_counter() - start:.2f} s")

# Adam: the mean of the gradients over the root of the mean of their squares.
mean = square = rc.tree_map(np.zeros_like, params)
start = time.perf_counter()
for step in range(1, STEPS + 1):
    value, g = value_and_gradient(params, *windows())
    mean = rc.tree_map(lambda m, g: 0.9 * m + 0.1 * g, mean, g)
    square = rc.tree_map(lambda s, g: 0.99 * s + 0.01 * g**2, square, g)
    rate = 0.003 * np.sqrt(1 - 0.99**step) / (1 - 0.9**step)
    params = rc.tree_map(lambda p, m, s, rate=rate: p - rate * m / (np.sqrt(s) + 1e-8), params, mean, square)
    if step % 100 == 0:
        print(f"step {step}: loss {value:.3f}")
print(f"{(time.perf_counter() - start) / STEPS * 1e3:.1f} ms for a step")

text = continued(params, "the gradient of ", 40)
print(f"\nit continues: {text}")
assert first > 2.5
assert value < 0.25
assert text in TEXT * 2, "every letter should be the one that follows"
