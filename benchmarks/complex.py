"""Complex numbers and Fourier transforms: ``rc.grad`` and ``rc.jacobian`` beside JAX and PyTorch.

Run it with ``python benchmarks/complex.py``; ``harness.py`` says how it measures. The functions are NumPy code, in
complex128, that all three libraries have: least squares, phase retrieval, a layer whose activation is not holomorphic,
a long chain of arithmetic, deconvolution by transforms, and steps of Schrödinger's equation by split operators. Every
figure is of a later call. ``hand-written`` is what one would write in NumPy with the derivative worked out on paper.
The gradients of PyTorch are the conjugates of those of ricci and JAX.

At the end is a circulant system: the Jacobian of a convolution, kept as what it is, and solved.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import harness
import numpy as np
from harness import Bench, Call, Contender, LeftOutError
from report import Target

import ricci as rc

OURS, FUSED, HAND, JAX, TORCH = "ricci", "ricci, fused", "hand-written", "jax.jit", "torch"
TARGETS = [
    Target(OURS, "at most", 1.1, HAND, lambda facts: facts["hand"]),
    Target(FUSED, "at most", 1.0, JAX),
]
Function = Callable[..., Any]


# The functions: of a module like NumPy, of what is differentiated by, and of the rest


def least_squares(m: Any, z: Any, A: Any, b: Any) -> Any:
    return (m.abs(A @ z - b) ** 2).sum()


def by_hand_squares(z: Any, A: Any, b: Any) -> Any:
    return 2 * (A.T @ (A @ z - b).conj())


def phase_retrieval(m: Any, z: Any, A: Any, y: Any) -> Any:
    return ((m.abs(A @ z) ** 2 - y) ** 2).sum()


def by_hand_phases(z: Any, A: Any, y: Any) -> Any:
    u = A @ z
    return 4 * (A.T @ ((np.abs(u) ** 2 - y) * u.conj()))


def layer(m: Any, W: Any, x: Any, y: Any) -> Any:
    h = x @ W
    size = m.abs(h)
    return (m.abs(h / (1 + size) - y) ** 2).sum()


def chain(m: Any, z: Any, w: Any) -> Any:
    return (m.abs(z * m.conj(w) + m.abs(z) ** 2 * w - 2 * m.conj(z)) ** 2).sum()


def deconvolution(m: Any, x: Any, h: Any, y: Any) -> Any:
    blurred = m.fft.ifft(m.fft.fft(h) * m.fft.fft(x))
    return (m.abs(blurred - y) ** 2).sum()


def by_hand_deconvolution(x: Any, h: Any, y: Any) -> Any:
    H = np.fft.fft(h)
    r = np.fft.ifft(H * np.fft.fft(x)) - y
    return 2 * np.fft.ifft(H.conj() * np.fft.fft(r)).conj()


def real_filter(m: Any, x: Any, g: Any, y: Any) -> Any:
    """Of real numbers, which have half as many frequencies."""
    return ((m.fft.irfft(g * m.fft.rfft(x)) - y) ** 2).sum()


def schroedinger(m: Any, potential: Any, psi: Any, kinetic: Any, target: Any) -> Any:
    """How far a wave is from another one after some steps in a potential, which is real."""
    half = m.exp(-0.005j * potential)
    for _ in range(20):
        psi = half * psi
        psi = m.fft.ifft(kinetic * m.fft.fft(psi))
        psi = half * psi
    return 1 - m.abs((m.conj(target) * psi).sum()) ** 2


def holomorphic(m: Any, z: Any, A: Any) -> Any:
    return m.tanh(A @ m.exp(z)) * z


@dataclass(frozen=True)
class Work:
    title: str
    function: Function
    args: tuple[Any, ...]
    by_hand: Function | None = None
    kind: str = "grad"


def works(quick: bool) -> Iterator[Work]:
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)

    m, n, long, wave = (30, 20, 64, 64) if quick else (2000, 1000, 1 << 20, 4096)
    A = draw(m, n) / n**0.5
    yield Work(f"least squares, A {m}×{n}", least_squares, (draw(n), A, draw(m)), by_hand_squares)
    yield Work(f"phase retrieval, A {m}×{n}", phase_retrieval, (draw(n), A, rng.random(m)), by_hand_phases)
    width = n // 4
    yield Work(f"layer, {width}×{width}, batch 64", layer, (draw(width, width), draw(64, width), draw(64, width)))
    yield Work(f"chain of arithmetic, {long}", chain, (draw(long), draw(long)))
    yield Work(
        f"deconvolution, {long >> 2}",
        deconvolution,
        tuple([draw(long >> 2) for _ in range(3)]),
        by_hand_deconvolution,
    )
    half = (long >> 3) + 1
    real = rng.standard_normal
    yield Work(f"real filter, {long >> 2}", real_filter, (real(long >> 2), draw(half), real(long >> 2)))
    k = 2 * np.pi * np.fft.fftfreq(wave)
    data = (rng.random(wave), draw(wave) / wave**0.5, np.exp(-0.01j * k**2), draw(wave) / wave**0.5)
    yield Work(f"Schrödinger, 20 steps, {wave}", schroedinger, data)
    small = n // 10
    yield Work(f"holomorphic Jacobian, {small}", holomorphic, (draw(small), draw(small, small) / 9), kind="jacobian")


def ours(work: Work, fused: bool) -> Contender:
    def make() -> Call:
        made = rc.grad if work.kind == "grad" else lambda f: rc.jacobian(f, holomorphic=True)
        derived = made(lambda *args: work.function(np, *args))
        if not fused:
            return lambda: derived(*work.args)
        program = rc.compile(derived, fused=True)
        return lambda: program(*work.args)

    return Contender(FUSED if fused else OURS, make)


def by_hand(work: Work) -> list[Contender]:
    function = work.by_hand
    return [] if function is None else [Contender(HAND, lambda: lambda: function(*work.args))]


def by_jax(work: Work) -> Contender:
    def make() -> Call:
        try:
            import jax
        except ImportError:
            raise LeftOutError("not installed") from None
        jax.config.update("jax_enable_x64", True)
        function = lambda *args: work.function(jax.numpy, *args)  # noqa: E731
        derived = jax.jit(jax.grad(function) if work.kind == "grad" else jax.jacfwd(function, holomorphic=True))
        args = [jax.numpy.asarray(a) for a in work.args]
        return lambda: derived(*args).block_until_ready()

    return Contender(JAX, make, np.asarray)


def by_torch(work: Work) -> Contender:
    def make() -> Call:
        try:
            import torch
        except ImportError:
            raise LeftOutError("not installed") from None
        torch.set_num_threads(harness.THREADS)
        first, *rest = [torch.as_tensor(a) for a in work.args]
        function = lambda x: work.function(torch, x, *rest)  # noqa: E731
        if work.kind == "jacobian":
            raise LeftOutError("has no Jacobians of complex functions")

        def gradient() -> Any:
            x = first.clone().requires_grad_()
            function(x).backward()
            return x.grad

        return gradient

    return Contender(TORCH, make, lambda found: np.conj(found.numpy()) if work.kind == "grad" else found.numpy())


def circulant(bench: Bench) -> None:
    """The Jacobian of a convolution: a product with it, and a system of equations, beside a dense matrix."""
    n = 64 if bench.chosen.quick else 1024
    rng = np.random.default_rng(1)
    h, x, v = rng.standard_normal(n), rng.standard_normal(n), rng.standard_normal(n)
    h[0] += n  # so that it is well conditioned

    def convolved(x: Any) -> Any:
        return np.fft.irfft(np.fft.rfft(h) * np.fft.rfft(x), n)

    dense = rc.jacobian(convolved)(x)
    jacobian = rc.jacobian(convolved, compressed=True)

    def kept() -> Call:
        return lambda: jacobian(x).solve(v)

    def by_transforms() -> Call:
        return lambda: np.fft.irfft(np.fft.rfft(v) / np.fft.rfft(h), n)

    def by_matrix() -> Call:
        return lambda: np.linalg.solve(dense, v)

    title = f"circulant system, {n}"
    contenders = [Contender(OURS, kept), Contender(HAND, by_transforms), Contender("dense", by_matrix)]
    bench.run(title, contenders, hand=False)


def main() -> int:
    bench = Bench(harness.options((__doc__ or "").splitlines()[0]).parse_args(), "Complex numbers")
    for work in works(bench.chosen.quick):
        found = [ours(work, False), ours(work, True), *by_hand(work), by_jax(work), by_torch(work)]
        bench.run(work.title, found, hand=work.by_hand is not None)
    circulant(bench)
    return bench.end(TARGETS)


if __name__ == "__main__":
    sys.exit(main())
