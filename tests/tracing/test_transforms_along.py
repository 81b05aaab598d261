"""``np.fft`` and ``scipy.fft`` in traced functions: values and gradients, all norms, sizes and axes."""

import numpy as np
import pytest

import ricci as rc
from ricci.dispatch import call
from ricci.errors import DTypeError, ShapeError

scipy_fft = pytest.importorskip("scipy.fft")
RNG = np.random.default_rng(0)


def numbers(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


NORMS = [None, "ortho", "forward"]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", [None, 4])
def test_gradients_of_traced_transforms(norm, n):
    w, x = numbers(8, 8), numbers(4, 5)

    def size(y):
        return (abs(y) ** 2 * w[: y.shape[0], : y.shape[1]]).sum()

    for axis in (0, -1):
        for f in (np.fft.fft, np.fft.rfft, np.fft.ihfft):
            _assert_gradient(lambda x, f=f, axis=axis: size(f(x, n, axis, norm)), x)
        for f in (np.fft.irfft, np.fft.hfft):
            _assert_gradient(lambda x, f=f, axis=axis: (f(np.fft.rfft(x, n, axis), n, axis, norm) ** 3).sum(), x)


def _assert_gradient(f, x):
    wanted = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[at] = 1e-6
        wanted[at] = (f(x + step) - f(x - step)) / 2e-6
    np.testing.assert_allclose(rc.grad(f)(x), wanted, rtol=1e-6, atol=1e-6 * (1 + abs(wanted).max()))


@pytest.mark.parametrize("norm", NORMS)
def test_gradients_along_several_axes(norm):
    w, x = numbers(4, 5), numbers(4, 5)
    several = [np.fft.fft2, np.fft.ifft2, np.fft.fftn, np.fft.ifftn, np.fft.rfft2, np.fft.rfftn]
    for f in several:
        _assert_gradient(lambda x, f=f: (abs(f(x, norm=norm)) ** 2 * w[:, : f(w).shape[1]]).sum(), x)
        _assert_gradient(lambda x, f=f: (abs(f(x, (3, 6), (1, 0), norm)) ** 3).sum(), x)
    for f, back in ((np.fft.rfft2, np.fft.irfft2), (np.fft.rfftn, np.fft.irfftn)):
        _assert_gradient(lambda x, f=f, back=back: (back(f(x) * w[:, :3], (4, 5), (0, 1), norm) ** 3).sum(), x)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_cosines_and_sines(kind, norm):
    x, w = numbers(4, 5), numbers(6, 6)
    for name, of_several in (("dct", "dctn"), ("idct", "idctn"), ("dst", "dstn"), ("idst", "idstn")):
        f, several = getattr(scipy_fft, name), getattr(scipy_fft, of_several)
        for n, axis, orthogonal in ((None, -1, None), (6, 0, True), (3, 1, False)):
            made = lambda x, f=f, n=n, axis=axis, o=orthogonal: f(x, kind, n, axis, norm, orthogonalize=o)  # noqa: E731
            _assert_gradient(lambda x, made=made: (made(x) ** 2 * w[: len(made(x)), : made(x).shape[1]]).sum(), x)
        _assert_gradient(lambda x, f=several: (f(x, kind, norm=norm) ** 3).sum(), x)


def test_transforms_of_scipy_are_those_of_numpy():
    x = numbers(4, 5)
    names = ["fft", "ifft", "rfft", "ihfft", "fft2", "ifft2", "fftn", "ifftn", "rfft2", "rfftn"]
    for name in names:
        f = getattr(scipy_fft, name)
        _assert_gradient(lambda x, f=f: (abs(f(x)) ** 3).sum(), x)
    for name in ("irfft", "hfft", "irfft2", "irfftn"):
        f = getattr(scipy_fft, name)
        _assert_gradient(lambda x, f=f: (f(np.fft.fft(x)) ** 2).sum(), x)


def test_frequencies():
    for f in (np.fft.fftfreq, np.fft.rfftfreq):
        of_arrays = lambda d, f=f: (f(5, d[0] ** 2) ** 2).sum()  # noqa: E731
        traced = lambda d, f=f: (call(f, (5, d[0] ** 2), {}) ** 2).sum()  # noqa: E731
        np.testing.assert_allclose(rc.grad(traced)(np.array([0.5])), -4 / 0.5 * of_arrays(np.array([0.5])))


def test_what_cannot_be_transformed():
    with pytest.raises(DTypeError, match="real"):
        rc.grad(lambda x: abs(np.fft.rfft(np.fft.fft(x))).sum())(numbers(4))
    with pytest.raises(ShapeError):
        rc.grad(lambda x: abs(np.fft.fft(x, 0)).sum())(numbers(4))
