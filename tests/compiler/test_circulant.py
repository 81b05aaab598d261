"""Derivatives of filters stay circulant: products and solutions by transforms, and all else as with other results."""

import pickle
from typing import Any

import numpy as np
import pytest

import ricci as rc

RNG = np.random.default_rng(0)


def numbers(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


def filters(n):
    h, half = numbers(n), numbers(n // 2 + 1)
    yield lambda z: np.fft.ifft(h * np.fft.fft(z)), numbers(n)
    yield lambda z: 2 * z + np.fft.fft(h * np.fft.ifft(z)), numbers(n)
    yield lambda x: np.fft.irfft(half * np.fft.rfft(x), n), RNG.normal(size=n)
    yield lambda x: 3 * x - np.fft.ifft(h * np.fft.fft(x)).real, RNG.normal(size=n)


@pytest.mark.parametrize("n", [2, 7, 8])
def test_circulant_derivatives(n):
    for f, x in filters(n):
        options: Any = {"holomorphic": True} if np.iscomplexobj(x) else {}
        whole = rc.jacobian(f, **options)(x)
        c = rc.jacobian(f, compressed=True, **options)(x)
        assert c.structure.startswith("circulant") and c.nbytes == n * whole.itemsize and c.dtype == whole.dtype
        wide, other = RNG.normal(size=(n, 3)), numbers(n)
        pairs = [(c.todense(), whole), (c.T.todense(), whole.T), (c.diagonal(), np.diag(whole))]
        pairs += [(c @ v, whole @ v) for v in (x, wide, other)] + [(x @ c, x @ whole), (c.T @ x, whole.T @ x)]
        pairs += [(c.T.T @ x, whole @ x), (pickle.loads(pickle.dumps(c.T)) @ x, whole.T @ x)]
        pairs += [(c.solve(v), np.linalg.solve(whole, v)) for v in (x, wide, other)]
        pairs += [(c.T.solve(x), np.linalg.solve(whole.T, x)), ((c @ c) @ x, whole @ whole @ x)]
        pairs += [((c + c).todense(), 2 * whole), ((c * 2j).todense(), 2j * whole), (c.sparse().toarray(), whole)]
        pairs += [(c.shifted(1).todense(), whole + np.eye(n))]
        for found, wanted in pairs:
            np.testing.assert_allclose(found, wanted, atol=1e-10)


def test_long_filters_take_no_square():
    n = 1 << 16
    half = numbers(n // 2 + 1)
    x = RNG.normal(size=n)
    c = rc.jacobian(lambda x: np.fft.irfft(half * np.fft.rfft(x), n), compressed=True)(x)
    assert c.nbytes == 8 * n
    np.testing.assert_allclose(c @ x, np.fft.irfft(half * np.fft.rfft(x), n), atol=1e-12)
    np.testing.assert_allclose(c.solve(c @ x), x, atol=1e-9)


def test_what_a_filter_takes_away_is_not_found_again():
    keep = np.arange(5.0)
    c = rc.jacobian(lambda x: np.fft.irfft(keep * np.fft.rfft(x), 8), compressed=True)(np.ones(8))
    with pytest.raises(rc.InputError, match="circulant"):
        c.solve(np.ones(8))


def test_what_is_not_circulant_is_no_such_thing():
    h, x = numbers(8), numbers(8)
    for f in (lambda z: np.fft.fft(h * np.fft.fft(z)), lambda z: h * np.fft.ifft(h * np.fft.fft(z))):
        c = rc.jacobian(f, compressed=True, holomorphic=True)(x)
        assert "circulant" not in c.structure
        np.testing.assert_allclose(c @ x, f(x), atol=1e-12)
