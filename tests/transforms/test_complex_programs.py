"""Functions of complex numbers: values as NumPy's, derivatives as JAX's and PyTorch's, and what has no meaning."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import ricci as rc
from ricci.errors import DTypeError, GradientMismatchError, InputError

N = 3
RNG = np.random.default_rng(5)
Z, W = (RNG.normal(size=N) + 1j * RNG.normal(size=N) for _ in range(2))
X, A = RNG.normal(size=N), RNG.normal(size=(N, N)) + 1j * RNG.normal(size=(N, N))

VALUES = [
    lambda z: np.vdot(z, A @ z),
    lambda z: np.vecmat(z, A),
    lambda z: np.correlate(z, 1j * z, "full"),
    lambda z: np.cov(np.stack([z, z**2])),
    lambda z: (z.real - 1).astype(complex) ** 0.5,
    lambda z: np.sqrt(z.real - 1 + 0j),
    np.std,
    lambda z: np.linalg.norm(A * z, axis=0),
    lambda z: np.where(z, z, 1),
    lambda z: (z.real, z.imag, z.conj(), np.angle(z, deg=True), abs(z), np.iscomplexobj(z), np.isreal(z)),
    lambda z: np.linspace(z[0], z[1], 4),
    lambda z: (np.any(z), np.cumprod(z), np.prod(z)),
    lambda z: 2j * z.real + (1 + 2j),
]
REAL = [
    lambda m, z: m.sum(m.abs(z) ** 2),
    lambda m, z: m.sum(m.imag(z**3) + m.angle(z)),
    lambda m, z: m.linalg.norm(A @ z),
    lambda m, z: m.abs(m.prod(z) + m.sum(m.where(m.real(z) > 0, z / m.abs(z), m.conj(z)))),
    lambda m, z: m.real(m.vdot(z, m.exp(A) @ m.sqrt(z))),
    lambda m, z: m.abs(m.sum(m.sqrt(m.real(z) + 0j) * z)),
]
HOLOMORPHIC = [lambda m, z: m.exp(A @ z), lambda m, z: m.outer(z, z**0.5), lambda m, z: m.cumprod(z)]
OTHER = [lambda m, z: m.conj(z) * z[0], lambda m, z: m.abs(z) * z, lambda m, z: m.real(z) * z, lambda m, z: m.conj(z)]


def same(got, want, tolerance=1e-8):
    for a, b in zip(leaves(got), leaves(want), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)
        assert np.asarray(a).dtype == np.asarray(b).dtype


def leaves(tree):
    return [x for part in tree for x in leaves(part)] if isinstance(tree, (tuple, list)) else [tree]


def by_parts(f, z):
    """The two derivatives, by differences along both axes: with the axes of the result, then that of ``z``."""
    step, rows = 1e-6, []
    for d in (1, 1j):
        changes = [step * d * e for e in np.eye(z.size)]
        rows.append(np.stack([(f(z + e) - f(z - e)) / (2 * step) for e in changes], -1))
    return (rows[0] - 1j * rows[1]) / 2, (rows[0] + 1j * rows[1]) / 2


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("f", VALUES)
def test_values_and_types_are_those_of_numpy(f, dtype):
    z = Z.astype(dtype)
    same(rc.compile(f)(z), f(z), 1e-8 if dtype is np.complex128 else 1e-4)


@pytest.mark.parametrize("f", REAL)
def test_gradients_in_all_conventions(f):
    f = f.__get__(np)
    by_z, by_conj = by_parts(f, Z)
    np.testing.assert_allclose(rc.grad(f)(Z), 2 * by_z, atol=1e-6)
    np.testing.assert_allclose(rc.grad(f, convention="torch")(Z), 2 * by_conj, atol=1e-6)
    pair = rc.grad(f, wirtinger=True)
    for got, want in zip(pair(Z), (by_z, by_conj), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-6)
    second = by_parts(lambda z: np.stack(pair(z)), Z)
    for k in (0, 1):
        np.testing.assert_allclose(np.stack([row[k] for row in rc.hessian(f, wirtinger=True)(Z)]), second[k], atol=1e-5)
    of_real = rc.grad(lambda x: f(x * np.exp(1j * x)))(X)
    assert of_real.dtype == np.float64


def test_gradients_are_those_of_jax():
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    with jax.enable_x64(True):
        for make in REAL:
            f, g = make.__get__(np), make.__get__(jnp)
            same(rc.value_and_grad(f)(Z), jax.value_and_grad(g)(Z))
            same(rc.hvp(f)(Z, W), jax.jvp(jax.grad(g), (Z,), (W,))[1])
            same(rc.jvp(f, (Z,), (W,)), jax.jvp(g, (Z,), (W,)))
            both = rc.grad(lambda z, x, f=f: f(z * x + 1j * x), argnums=(0, 1))(Z, X)
            same(both, jax.grad(lambda z, x, g=g: g(z * x + 1j * x), argnums=(0, 1))(Z, X))
            same(rc.vmap(rc.grad(f))(np.stack([Z, W])), jax.vmap(jax.grad(g))(np.stack([Z, W])))
        for make in HOLOMORPHIC + OTHER:
            f, g = make.__get__(np), make.__get__(jnp)
            bar = jnp.asarray(np.resize(W, f(Z).shape))
            same(rc.vjp(f, Z)[1](bar), jax.vjp(g, Z)[1](bar))
            same(rc.vjp(f, Z, convention="torch")[1](np.conj(bar)), jnp.conj(jax.vjp(g, Z)[1](bar)[0]))
            same(rc.linearize(f, Z)[1](W), jax.linearize(g, Z)[1](W))
            same(rc.jacobian(lambda x, f=f: f(np.exp(1j * x)))(X), jax.jacfwd(lambda x, g=g: g(jnp.exp(1j * x)))(X))
            same(rc.jacobian(lambda z, f=f: abs(f(z)))(Z), jax.jacrev(lambda z, g=g: abs(g(z)))(Z))
        for make in HOLOMORPHIC:
            f, g = make.__get__(np), make.__get__(jnp)
            same(rc.hessian(f, holomorphic=True)(Z), jax.hessian(g, holomorphic=True)(Z))


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse", "cross-country"])
def test_both_derivatives_in_all_modes(mode):
    for make in HOLOMORPHIC + OTHER:
        f = make.__get__(np)
        want = by_parts(f, Z)
        for got, by in zip(rc.jacobian(f, wirtinger=True, mode=mode)(Z), want, strict=True):
            np.testing.assert_allclose(got, by, atol=1e-6)
        if make in HOLOMORPHIC:
            np.testing.assert_allclose(rc.jacobian(f, holomorphic=True, mode=mode)(Z), want[0], atol=1e-6)
            np.testing.assert_allclose(want[1], 0, atol=1e-6)


def test_what_has_no_meaning_is_refused():
    with pytest.raises(DTypeError, match=r"rc.grad .* real number; .* Return y.real"):
        rc.grad(lambda z: z[0])(Z)
    for make in OTHER:
        f = make.__get__(np)
        with pytest.raises(DTypeError, match=r"not holomorphic.*wirtinger=True"):
            rc.jacobian(f, holomorphic=True)(Z)
        with pytest.raises(DTypeError, match=r"holomorphic=True.*wirtinger=True"):
            rc.jacobian(f)(Z)
    with pytest.raises(DTypeError, match="the arguments are complex"):
        rc.jacobian(lambda x: 1j * x, holomorphic=True)(X)
    with pytest.raises(DTypeError, match=r"wirtinger=True.*pair of pairs"):
        rc.hessian(lambda z: abs(z[0]))(Z)
    with pytest.raises(InputError, match="'jax', 'torch' and 'autograd'"):
        rc.grad(lambda z: abs(z[0]), convention="jaxx")  # pyright: ignore[reportArgumentType, reportCallIssue]
    for f in (np.sort, np.max, np.floor, lambda z: z < 1, lambda z: np.maximum(z, 0)):
        with pytest.raises(DTypeError, match=r"(no order|is not for)(.|\n)*test_complex_programs.py"):
            rc.compile(f if not isinstance(f, np.ufunc) else lambda z, f=f: f(z))(Z)


def test_parts_that_are_written_into():
    def f(z, x):
        y = z.copy()
        y.real[1:] = x[1:]
        y.imag += x
        y.real *= 2
        return y

    same(rc.compile(f)(Z, X), f(Z, X))


def cube(z):
    return z * np.conj(z) * z


RULES = {
    "vjp": lambda p, w: (2 * p[0] * np.conj(p[0]) * w + np.conj(w * p[0] ** 2),),
    "jvp": lambda p, t: 2 * p[0] * np.conj(p[0]) * t[0] + np.conj(t[0]) * p[0] ** 2,
}
WRONG = {
    "vjp": [lambda p, w: (3 * abs(p[0]) ** 2 * w,), lambda p, w: (2 * abs(p[0]) ** 2 * np.conj(w) + w * p[0] ** 2,)],
    "jvp": [lambda p, t: 2 * abs(p[0]) ** 2 * t[0] + np.conj(t[0] * p[0] ** 2)],
}


@pytest.mark.parametrize("kind", RULES)
def test_rules_of_ones_own_and_their_checks(kind):
    def ruled(rule):
        made = rc.custom(cube)
        getattr(made, kind)(rule)
        return lambda z: made(z) + z

    right = ruled(RULES[kind])
    rc.check_grads(right, (Z,), order=1)
    same(rc.grad(lambda z: abs(right(z)).sum())(Z), rc.grad(lambda z: abs(cube(z) + z).sum())(Z))
    same(rc.hvp(lambda z: abs(right(z)).sum())(Z, W), rc.hvp(lambda z: abs(cube(z) + z).sum())(Z, W))
    for rule in WRONG[kind]:
        with pytest.raises(GradientMismatchError, match=r"real part|imag part"):
            rc.check_grads(ruled(rule), (Z,), order=1)


def test_rules_of_results_alone_that_are_complex():
    @rc.custom
    def wave(x):
        return np.exp(1j * x) if x.ndim else x

    @wave.derivative
    def _(x):
        return 1j * np.exp(1j * x)

    rc.check_grads(lambda x: wave(x) * Z, (X,))
    np.testing.assert_allclose(rc.jacobian(wave)(X), np.diag(1j * np.exp(1j * X)), atol=1e-12)


def test_checks_of_complex_numbers():
    rc.check_grads(lambda z, x: {"a": abs(A @ z * np.exp(1j * x)).sum(), "b": z * np.conj(z)[0]}, (Z, X))
    rc.check_grads(lambda z: z**2 * np.conj(z), (1 + 2j,))
    np.testing.assert_allclose(rc.numerical_jacobian(np.abs, Z), rc.jacobian(np.abs)(Z), atol=1e-9)
    np.testing.assert_allclose(
        rc.numerical_jacobian(lambda x: np.exp(1j * x), X), np.diag(1j * np.exp(1j * X)), atol=1e-9
    )
    with pytest.raises(DTypeError, match="two derivatives"):
        rc.numerical_jacobian(np.conj, Z)


@pytest.mark.parametrize("length", [2, 12])
def test_loops_and_branches(length):
    def f(z):
        for _ in range(length):
            z = A @ z / 3 + 0.1 * np.conj(z) * abs(z)
        z = rc.cond(abs(z[0]) > 0.1, lambda z: z * np.conj(z[0]), np.exp, z)
        return abs(z).sum()

    by_z, _ = by_parts(f, Z)
    np.testing.assert_allclose(rc.grad(f)(Z), 2 * by_z, atol=1e-6)
    np.testing.assert_allclose(rc.vmap(rc.grad(f))(np.stack([Z, W]))[0], 2 * by_z, atol=1e-6)


def test_functions_of_other_libraries():
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    jnp = jax.numpy

    def of_torch(z):
        pairs = torch.view_as_complex(2.0 * torch.view_as_real(z)) * z.conj().resolve_conj()
        return abs(pairs + torch.complex(z.imag, z.real)).sum() + torch.linalg.norm(z) + torch.vdot(z, z * z).imag

    z = torch.tensor(Z, requires_grad=True)
    of_torch(z).backward()
    assert z.grad is not None
    same(rc.grad(of_torch, convention="torch")(torch.tensor(Z)).numpy(), z.grad.numpy())

    def of_jax(z):
        return jnp.sum(abs(jnp.conj(z) * jnp.exp(z) + jax.lax.complex(z.imag, z.real)))

    with jax.enable_x64(True):
        same(rc.grad(of_jax)(jnp.asarray(Z)), jax.grad(of_jax)(Z))


def test_functions_given_by_equations():
    root = rc.root(lambda x, a: x * x - a, 1 + 1j)
    np.testing.assert_allclose(root(-1 + 2j), (-1 + 2j) ** 0.5)
    found = rc.grad(lambda a: abs(root(a) + 1) ** 2)(-1 + 2j)
    np.testing.assert_allclose(found, rc.grad(lambda a: abs(a**0.5 + 1) ** 2)(-1 + 2j))
    size = rc.root(lambda x, a: x * x - abs(a) ** 2, 1.0)
    np.testing.assert_allclose(rc.grad(size)(3 + 4j), 0.6 - 0.8j)
    with pytest.raises(DTypeError, match="among real ones"):
        rc.root(lambda x, a: x * x - a, 1.0)(1j)

    def end(w):
        y = rc.odeint(lambda y, t, w: 1j * w * y - np.conj(y) * abs(w), 1 + 0.5j, [0.0, 1.0])(w)
        return abs(y[-1]) ** 2 + y[-1].real

    rc.check_grads(end, (0.3 + 0.2j,), order=1, rtol=1e-5)


ONE = [
    lambda m, v: m.exp(0.3 * v),
    lambda m, v: m.conj(v),
    lambda m, v: m.abs(v),
    lambda m, v: m.real(v) * v,
    lambda m, v: m.sqrt(v + 2.3 + 1j),
    lambda m, v: m.log(v + 3.1j),
    lambda m, v: A @ v,
    lambda m, v: 0.2j * v**2,
    lambda m, v: m.cumsum(v)[::-1] - m.mean(v),
    lambda m, v: m.where(m.real(v) > 0, v, 0.5 * v),
    lambda m, v: m.fft.fft(v) * 0.4,
    lambda m, v: m.exp(1j * m.imag(v)),
]
TWO = [
    lambda m, v, w: v * m.conj(w),
    lambda m, v, w: v + 1j * w,
    lambda m, v, w: v / (w + 5),
    lambda m, v, w: m.vdot(v, w) * w,
]


def random_program(random, depth):
    """A function of a namespace, and of a complex and a real array."""
    if not depth:
        return random.choice([lambda m, z, x: z, lambda m, z, x: x, lambda m, z, x: z * x])
    parts = [random_program(random, depth - 1) for _ in range(2)]
    f, g = random.choice(ONE), random.choice(TWO)
    if random.random() < 0.5:
        return lambda m, z, x: f(m, parts[0](m, z, x))
    return lambda m, z, x: g(m, parts[0](m, z, x), parts[1](m, z, x))


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_beside_jax(seed):
    jax = pytest.importorskip("jax")
    program = random_program(Random(seed), 4)
    f, g = (lambda z, x, m=m: m.sum(m.abs(program(m, z, x) + 0.3j) ** 2) + m.abs(z[0]) for m in (np, jax.numpy))
    with jax.enable_x64(True):
        found, want = rc.grad(f, argnums=(0, 1))(Z, X), jax.grad(g, argnums=(0, 1))(Z, X)
        same(found, want)
        same(rc.jvp(f, (Z, X), (W, X)), jax.jvp(g, (Z, X), (W, X)))
        same(rc.hvp(lambda z: f(z, X))(Z, W), jax.jvp(lambda z: jax.grad(g)(z, X), (Z,), (W,))[1], 1e-7)
        t = rc.Tensor(Z)
        f(t, X).backward()
        same(t.grad.numpy(), np.conj(want[0]))
        same(rc.grad(f, convention="torch")(Z, X), np.conj(want[0]))
