"""Fourier transforms: rows of all libraries against plain sums, derivatives, what they become, and their halves."""

import importlib

import numpy as np
import pytest

import ricci as rc
from ricci.calculus.modes import derivative
from ricci.compiler.backends import numpy_table
from ricci.compiler.pipeline import evaluate, prepare
from ricci.compiler.prepare.prepared import prepared
from ricci.errors import ShapeError
from ricci.expr import OPS, Expr, conj, function, moving, product, topological, variable
from ricci.functions.complexes import abs2
from ricci.functions.fourier import TRANSFORMS, along_axis, bfft, fft
from ricci.functions.table import FUNCTIONS

RNG = np.random.default_rng(0)
scipy_fft = pytest.importorskip("scipy.fft")


def numbers(*shape: int, real: bool = True) -> np.ndarray:
    return RNG.normal(size=shape) + (0 if real else 1j) * RNG.normal(size=shape)


def value(e: Expr, **inputs: np.ndarray) -> np.ndarray:
    return evaluate(prepare([e]), inputs)[0]


def cases(n: int):
    for name in sorted(TRANSFORMS):
        if n > 1 or name != "dct1":
            yield from [(name, numbers(2, n), ()), (name, numbers(2, n, real=False), ())]
    half = numbers(2, n // 2 + 1, real=False)
    half[:, [0, -1] if n % 2 == 0 else [0]] = numbers(2, 1)
    for sign in (1, -1):
        yield from [("half_fft", numbers(2, n), (sign,)), ("hermitian_fft", half, (n, sign))]


@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
def test_values_are_plain_sums(library):
    backend = pytest.importorskip(library)
    table = numpy_table if library == "numpy" else importlib.import_module(f"ricci.compiler.backends.{library}_table")
    array = backend.from_numpy if library == "torch" else backend.numpy.asarray if library == "jax" else np.asarray
    rough = 1e-4 if library == "jax" else 1e-11  # without float64
    for n in (1, 2, 3, 4, 7):
        for name, x, params in cases(n):
            wanted = np.array([OPS[name].value(row.tolist(), *params) for row in x])
            found = np.asarray(table.FUNCTIONS[name](array(x), *params))
            np.testing.assert_allclose(found, wanted, rtol=rough, atol=10 * rough, err_msg=f"{name} {n} {x.dtype}")
            own = numpy_table.NUMPY.of_waves(name)
            if own is not None:
                np.testing.assert_allclose(own(x), wanted, atol=1e-11)
    for name in ("fft", "bfft", "dct2"):
        with pytest.raises(ShapeError, match="size 0"):
            table.FUNCTIONS[name](array(numbers(2, 0)))


def test_single_precision_is_kept():
    x = numbers(3, 4).astype(np.float32)
    assert numpy_table.FUNCTIONS["fft"](x).dtype == np.complex64
    assert value(along_axis(fft, variable("x", (3, 4)), 1), x=x).dtype == np.complex64


def wirtinger(f: Expr, name: str, inputs: dict[str, np.ndarray], h: float = 1e-6) -> list[np.ndarray]:
    """The derivatives by an input and by its conjugate, by differences in both directions."""
    x, found = inputs[name], []
    for at in np.ndindex(x.shape):
        step = np.zeros(x.shape, x.dtype)
        step[at] = h
        steps = [step, 1j * step] if x.dtype.kind == "c" else [step]
        slopes = [value(f, **{**inputs, name: x + s}) - value(f, **{**inputs, name: x - s}) for s in steps]
        found.append(np.array(slopes) / (2 * h))
    parts = np.moveaxis(np.array(found), 0, -1).reshape(len(found[0]), *f.shape, *x.shape)  # type: ignore[arg-type]
    return [(parts[0] - 1j * parts[1]) / 2, (parts[0] + 1j * parts[1]) / 2] if len(parts) == 2 else [parts[0]]


@pytest.mark.parametrize("real", [True, False])
@pytest.mark.parametrize("name", sorted(TRANSFORMS))
def test_first_and_second_derivatives(name, real):
    for axis in (0, 1):
        x, w = variable("x", (2, 3), complex=not real), variable("w", (2, 3))
        inputs = {"x": numbers(2, 3, real=real), "w": numbers(2, 3)}
        y = along_axis(OPS[name], x, axis)
        loss = product([(abs2(y) * abs2(x), "ij"), (w, "ij")], "")
        for e in (y, loss, derivative(loss, x)):
            wanted = wirtinger(e, "x", inputs)
            for mode in ("forward", "reverse", "cross-country"):
                found = [derivative(e, at, mode) for at in ([x] if real else [x, conj(x)])]
                for own, other in zip(evaluate(prepare(found), inputs), wanted, strict=True):
                    np.testing.assert_allclose(own, other, atol=1e-6)


def test_inverses_and_what_comes_out():
    x, b = variable("x", (2, 3, 4), complex=True), variable("b", (2,))
    for axis in range(3):
        assert along_axis(bfft, along_axis(fft, x, axis), axis) is x.shape[axis] * x
    assert FUNCTIONS["ifft"](FUNCTIONS["fft"](x, (0, 2)), (2, 0)) is x
    scaled = product([(b, "i"), (x, "ijk")], "ijk")
    assert along_axis(fft, scaled, 1) is product([(b, "i"), (along_axis(fft, x, 1), "ijk")], "ijk")
    assert conj(along_axis(fft, x, 1)) is along_axis(bfft, conj(x), 1)
    with pytest.raises(ShapeError, match="size 0"):
        function(fft, (variable("y", (2, 0)),), (0,))


def transforms_of(*roots: Expr) -> list[str]:
    heads = [node.head for node in topological(*prepared(list(roots)).roots)]
    return sorted([head for head in heads if "fft" in head])


def test_real_signals_go_by_halves_both_ways():
    x, w = variable("x", (3, 8)), variable("w", (3, 5))
    half = moving.sliced(along_axis(fft, x, 1), 1, 0, 1, 5)
    loss = product([(abs2(half) ** 2, "ij"), (w, "ij")], "")
    assert transforms_of(loss) == ["half_fft"]
    assert set(transforms_of(derivative(loss, x))) == {"half_fft", "hermitian_fft"}
    whole = product([(abs2(along_axis(fft, x, 1)) ** 2, "ij")], "")
    assert transforms_of(whole) == ["bfft"] or transforms_of(whole) == ["fft"]


def test_code_that_needs_no_ricci():
    f = rc.parse("y[a,k] = ifft[k](w[k] fft[k](x[a,k]))", complex="x")
    scope: dict = {}
    exec(str(f.code("numpy")), scope)
    w, x = numbers(4), numbers(3, 4, real=False)
    np.testing.assert_allclose(scope["y"](w, x), np.fft.ifft(w * np.fft.fft(x)))
    np.testing.assert_allclose(f(w=w, x=x), np.fft.ifft(w * np.fft.fft(x)))
