"""Random loops: ``rc.scan`` beside a plain loop, ``jax.lax.scan`` and eager tensors; values and derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ricci as rc

N = 3
UNARY = ["tanh", "sin", "cos", "exp_", "sigmoid_", "softmax", "square"]
BINARY = ["add", "subtract", "multiply", "divide_", "maximum", "where"]


class RandomBody:
    """A step of random operations on scalars, vectors and matrices; written once, for any namespace."""

    def __init__(self, seed: int, leaves: int, slices: int, inner: bool = True):
        self.rng = np.random.default_rng(seed)
        self.carry = [self.shape() for _ in range(leaves)]
        self.slices = [self.shape() for _ in range(slices)]
        self.weight = 0.3 * self.rng.normal(size=(N, N))
        self.inner = inner and self.rng.random() < 0.2
        self.steps = [self.rng.integers(1 << 30) for _ in range(int(self.rng.integers(2, 8)))]
        self.sums = bool(self.rng.random() < 0.5)

    def shape(self) -> tuple[int, ...]:
        return [(), (N,), (N, N)][int(self.rng.integers(3))]

    def __call__(self, xp, scan, carry, xs):
        known = [*carry, *xs, self.weight]
        for seed in self.steps:
            known.append(self.operation(xp, np.random.default_rng(int(seed)), known))
        if self.inner:
            start = known[-1]
            known.append(scan(lambda s, _: (xp.tanh(s) + 0.1 * start, None), start, None, 3)[0])
        rng = np.random.default_rng(int(self.steps[0]))
        new = []
        for k, shape in enumerate(self.carry):
            kind = rng.integers(4)
            made = self.shaped(xp, known[-1 - int(rng.integers(min(3, len(known))))], shape)
            if kind == 0 and self.sums:
                new.append(carry[k] + 0.1 * xp.tanh(made))
            elif kind == 1:
                new.append(carry[k])
            else:
                new.append(xp.tanh(made))
        return tuple(new), (known[-1], new[0] if rng.random() < 0.5 else xp.sin(known[0]))

    def operation(self, xp, rng, known):
        a, b = [known[int(rng.integers(len(known)))] for _ in range(2)]
        kind = rng.integers(5)
        if kind == 0 and xp.ndim(b):
            return self.weight @ b
        if kind == 1 and xp.ndim(a):
            return [a.sum(0), a[::-1], xp.concatenate([a[1:], a[:1]]), a.max(0)][int(rng.integers(4))]
        if kind == 2:
            return self.unary(xp, UNARY[int(rng.integers(len(UNARY)))], a)
        return self.binary(xp, BINARY[int(rng.integers(len(BINARY)))], a, self.shaped(xp, b, np.shape(a)))

    def unary(self, xp, name, a):
        if name == "softmax":
            e = xp.exp(xp.tanh(a))
            return e / e.sum() if xp.ndim(a) else xp.tanh(a)
        own = {
            "exp_": lambda a: xp.exp(xp.tanh(a)),
            "sigmoid_": lambda a: 1 / (1 + xp.exp(-a)),
            "square": lambda a: xp.tanh(a) ** 2,
        }
        return own[name](a) if name in own else getattr(xp, name)(a)

    def binary(self, xp, name, a, b):
        if name == "divide_":
            return a / (1.0 + b * b)
        if name == "where":
            return xp.where(a > b, a, xp.sin(b))
        return getattr(xp, name)(a, b)

    def shaped(self, xp, a, shape):
        """An array of another shape, by sums and broadcasting."""
        own = np.shape(a)
        if len(own) > len(shape):
            return xp.mean(a, axis=tuple(range(len(own) - len(shape))))
        return a if own == shape else a + xp.zeros(shape)

    def inputs(self, length):
        rng = np.random.default_rng(int(self.steps[-1]))
        return tuple([0.5 * rng.normal(size=s) for s in self.carry]), tuple(
            [rng.normal(size=(length, *s)) for s in self.slices]
        )


def plain_scan(f, init, xs, length=0, reverse=False):
    carry, ys = init, []
    count = len(xs[0]) if xs else length
    for t in list(range(count))[:: -1 if reverse else 1]:
        carry, y = f(carry, None if xs is None else tuple([x[t] for x in xs]))
        ys.append(y)
    return carry, ys[:: -1 if reverse else 1]


def total(xp, scan, body, init, xs, length, reverse):
    """One number of all that a loop returns."""
    carry, ys = scan(lambda c, x: body(xp, scan, c, x or ()), init, xs or None, length, reverse)
    if isinstance(ys, list):
        ys = [np.stack([np.asarray(y[k]) for y in ys]) for k in range(2)]
    parts = [xp.sum(xp.cos(part)) for part in (*carry, *ys)]
    return sum(parts[1:], parts[0])


def case(seed, leaves, slices, length, reverse):
    body = RandomBody(seed, leaves, slices)
    init, xs = body.inputs(length)
    return body, init, xs, lambda xp, scan, i, x: total(xp, scan, body, i, x, length, reverse)


LOOPS = given(
    seed=st.integers(0, 1 << 30),
    leaves=st.integers(1, 3),
    slices=st.integers(0, 2),
    length=st.sampled_from([1, 2, 5, 40]),
    reverse=st.booleans(),
)


@settings(max_examples=25)
@LOOPS
def test_values_are_those_of_a_plain_loop(seed, leaves, slices, length, reverse):
    _, init, xs, f = case(seed, leaves, slices, length, reverse)
    expected = f(np, plain_scan, init, xs)
    np.testing.assert_allclose(f(np, rc.scan, init, xs), expected, rtol=1e-9)
    np.testing.assert_allclose(rc.compile(lambda i, x: f(np, rc.scan, i, x))(init, xs), expected, rtol=1e-9)


def leaves_of(tree):
    return [part for one in tree for part in leaves_of(one)] if isinstance(tree, tuple) else [np.asarray(tree)]


def agree(found, expected, rtol=1e-7):
    for a, b in zip(leaves_of(found), leaves_of(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-9 * max(1.0, np.abs(b).max(initial=0)))


@settings(max_examples=15)
@LOOPS
def test_derivatives_are_those_of_jax(seed, leaves, slices, length, reverse):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    jnp, lax = jax.numpy, jax.lax.scan
    _, init, xs, f = case(seed, leaves, slices, length, reverse)
    ours, theirs = (lambda i, x: f(np, rc.scan, i, x)), (lambda i, x: f(jnp, lax, i, x))
    argnums = (0, 1) if slices else (0,)
    agree(rc.grad(ours, argnums)(init, xs), jax.jit(jax.grad(theirs, argnums))(init, xs))
    point, directions = init[0], np.cos(np.arange(init[0].size, dtype=float)).reshape(init[0].shape)
    own = lambda p: ours((p, *init[1:]), xs)  # noqa: E731
    other = lambda p: theirs((p, *init[1:]), xs)  # noqa: E731
    slope = jax.jit(lambda p, v: jax.jvp(jax.grad(other), (p,), (v,))[1])(point, directions)
    agree(rc.hvp(own)(point, directions), slope, 1e-6)
    agree(rc.jvp(own, (point,), (directions,))[1], jax.jvp(other, (point,), (directions,))[1])


@settings(max_examples=8)
@LOOPS
def test_tensors_and_mapped(seed, leaves, slices, length, reverse):
    _, init, xs, f = case(seed, leaves, slices, length, reverse)
    expected = rc.grad(lambda i: f(np, rc.scan, i, xs))(init)
    tensors = tuple([rc.Tensor(part) for part in init])
    f(np, rc.scan, tensors, xs).backward()
    agree(tuple([t.grad if t.grad is not None else np.zeros(t.shape) for t in tensors]), expected)
    many = tuple([np.stack([part, 0.5 * part]) for part in init])
    found = rc.vmap(rc.grad(lambda i: f(np, rc.scan, i, xs)))(many)
    agree(tuple([part[0] for part in found]), expected)
    half = rc.grad(lambda i: f(np, rc.scan, i, xs))(tuple([0.5 * part for part in init]))
    agree(tuple([part[1] for part in found]), half)
