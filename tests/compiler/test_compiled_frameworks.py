"""Compiled functions inside programs of JAX and PyTorch: jit, vmap, grad, autograd, torch.compile; types, devices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import ricci as rc
from ricci.compiler.run.function import Compiled

RNG = np.random.default_rng(11)
NAMES = {
    "logistic": "l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))",
    "layer norm": """m[b] = 1/|h| 1[h] x[b,h]; v[b] = 1/|h| 1[h] (x[b,h] - 1[h] m[b])**2
        y[b,h] = (x[b,h] - 1[h] m[b]) / sqrt(v[b] + 0.001) g[h]; l = r[b,h] y[b,h]""",
    "softmax": "l = T[b,k] log(softmax[k](X[b,j] W[j,k]))",
    "gather": "l = (E[t[i],d] W[d,k] - R[i,k])**2 1[i,k]",
    "windows": "l = 1[i] tanh(x[i+k] w[k])**2",
    "diagonal": "l = (A[i,j] B[j,k] + delta[i,k] c[i])**2 1[i,k] + A[i,i] c[i]",
    "cumsum": "l = c[i] cumsum[i](exp(x[i]))",
    "solve": "l = b[i] inv(A)[i,j] b[j]",
}
SHAPES = {
    "logistic": ({"y": (4,), "X": (4, 3), "w": (3,)}, "w"),
    "layer norm": ({"x": (4, 3), "g": (3,), "r": (4, 3)}, "x"),
    "softmax": ({"T": (2, 4), "X": (2, 3), "W": (3, 4)}, "W"),
    "gather": ({"E": (5, 3), "t": None, "W": (3, 2), "R": (4, 2)}, "E"),
    "windows": ({"x": (7,), "w": (3,)}, "x"),
    "diagonal": ({"A": (3, 3), "B": (3, 3), "c": (3,)}, "A"),
    "cumsum": ({"c": (4,), "x": (4,)}, "x"),
    "solve": ({"b": (3,), "A": (3, 3)}, "A"),
}


class Example:
    """A loss, inputs for it, and the input to differentiate by."""

    def __init__(self, name: str, dtype: str = "float64"):
        shapes, self.by = SHAPES[name]
        self.loss = rc.parse(NAMES[name])
        self.inputs: dict[str, Any] = {}
        for key, shape in shapes.items():
            drawn = np.array([0, 2, 2, 4]) if shape is None else RNG.uniform(0.2, 1, shape).astype(dtype)
            self.inputs[key] = drawn
        if name == "solve":
            self.inputs["A"] += 2 * np.eye(3, dtype=dtype)

    def function(self, backend: str | None) -> Compiled:
        return self.loss.compile(backend)

    def of(self, f: Callable, native: Callable) -> tuple[Callable, Any]:
        """``f`` as a function of the one input, the others fixed; and that input."""
        others = {name: native(a) for name, a in self.inputs.items() if name != self.by}
        return lambda x: f(**others, **{self.by: x}), native(self.inputs[self.by])

    def value(self) -> np.ndarray:
        return self.loss(**self.inputs)

    def gradient(self) -> np.ndarray:
        return self.loss.diff(self.by)(**self.inputs)

    def hessian(self) -> np.ndarray:
        return self.loss.diff(self.by, self.by)(**self.inputs)


examples = pytest.mark.parametrize("name", NAMES)

# JAX


HASTY = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}  # compiled without effort
if find_spec("jax"):
    import jax
    import jax.numpy as jnp
needs_jax = pytest.mark.skipif(not find_spec("jax"), reason="jax is not installed")


@pytest.fixture
def x64() -> Iterator[None]:
    before = jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@needs_jax
@examples
def test_jax_programs(name: str, x64: None):
    """Inside jit, its gradient is ricci's, and vmap gives one result for each input."""
    example = Example(name)
    f, x = example.of(example.function(None), jnp.asarray)
    several = jnp.stack([x, 2 * x, x + 0.1])

    def everything(x, several):
        return f(x), jax.grad(f)(x), jax.vmap(jax.value_and_grad(f))(several)

    value, slope, (mapped, slopes) = jax.jit(everything).lower(x, several).compile(HASTY)(x, several)
    np.testing.assert_allclose(value, example.value(), rtol=1e-9)
    np.testing.assert_allclose(slope, example.gradient(), rtol=1e-7, atol=1e-9)
    for k, one in enumerate(several):
        moved = {**example.inputs, example.by: np.asarray(one)}
        np.testing.assert_allclose(mapped[k], example.loss(**moved), rtol=1e-9)
        np.testing.assert_allclose(slopes[k], example.loss.diff(example.by)(**moved), rtol=1e-7, atol=1e-9)


@needs_jax
@pytest.mark.parametrize("name", ["logistic", "diagonal"])
def test_second_derivatives_by_jax(name: str, x64: None):
    """Forward over reverse through the compiled loss, and forward through the compiled gradient."""
    example = Example(name)
    f, x = example.of(example.function("jax"), jnp.asarray)
    slope, _ = example.of(example.loss.diff(example.by).compile("jax"), jnp.asarray)

    def both(x):
        return jax.jacfwd(jax.grad(f))(x), jax.jacfwd(slope)(x)

    for hessian in jax.jit(both).lower(x).compile(HASTY)(x):
        np.testing.assert_allclose(hessian, example.hessian(), rtol=1e-7, atol=1e-8)


@needs_jax
def test_our_derivatives_inside_jax_programs(x64: None):
    """A compiled gradient and Hessian, mapped over batches and differentiated once more."""
    example = Example("logistic")
    gradient = example.loss.diff("w").compile("jax")
    f, w = example.of(gradient, jnp.asarray)
    np.testing.assert_allclose(jax.jit(jax.jacrev(f))(w), example.hessian(), rtol=1e-8)
    data = [jnp.stack([jnp.asarray(example.inputs[n])] * 2) for n in ("y", "X")]
    mapped = jax.vmap(gradient, in_axes=(0, 0, None))(*data, w)  # positions are those of f.inputs
    np.testing.assert_allclose(mapped, np.stack([example.gradient()] * 2), rtol=1e-8)
    several = rc.compile([example.loss, example.loss.diff("w")], "jax")
    value, slope = jax.jit(several)(**example.inputs)
    np.testing.assert_allclose(value, example.value())
    np.testing.assert_allclose(slope, example.gradient(), rtol=1e-8)


@needs_jax
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_types_of_jax(dtype: str, x64: None):
    f = rc.parse("y[i] = 0.1 exp(x[i]) + A[i,j] x[j] / 3").compile()
    x, A = jnp.ones(3, dtype), jnp.ones((3, 3), dtype)
    assert f(x=x, A=A).dtype == dtype
    assert f(x=x, A=A).devices() == x.devices()
    assert isinstance(f(x=x, A=A), jax.Array)


@needs_jax
def test_jax_without_double_precision():
    if jax.config.jax_enable_x64:  # pyright: ignore[reportAttributeAccessIssue]
        pytest.skip("numbers of 64 bits are switched on")
    f = rc.parse("y[i] = 0.1 exp(x[i]) + n[i]").compile("jax")
    result = f(x=np.ones(3), n=np.arange(3))
    assert result.dtype == "float32"
    assert rc.parse("y[i] = n[i]").compile("jax")(n=np.arange(3)).dtype == "int32"
    assert rc.parse("y[i] = 2 n[i]").compile("jax")(n=np.arange(3)).dtype == "float32"  # might be too large for int32
    np.testing.assert_allclose(result, 0.1 * np.e + np.arange(3), rtol=1e-6)


@needs_jax
def test_jax_programs_without_jit(x64: None):
    example = Example("softmax")
    f = example.loss.compile("jax", jit=False)
    np.testing.assert_allclose(f(**example.inputs), example.value(), rtol=1e-9)
    assert not hasattr(f.runner.run, "lower")
    assert hasattr(example.loss.compile("jax").runner.run, "lower")  # what jax.jit returns


# PyTorch


if find_spec("torch"):
    import torch
needs_torch = pytest.mark.skipif(not find_spec("torch"), reason="torch is not installed")


@pytest.fixture
def dynamo() -> Iterator[Any]:
    torch._dynamo.reset()
    yield torch._dynamo
    torch._dynamo.reset()


@needs_torch
@examples
def test_torch_autograd(name: str):
    """By gradcheck, against ricci's own derivative, twice over; inputs are not modified."""
    example = Example(name)
    f, x = example.of(example.function("torch"), torch.as_tensor)
    kept = x.clone()
    x.requires_grad_(True)
    value = f(x)
    (slope,) = torch.autograd.grad(value, x, create_graph=True)
    np.testing.assert_allclose(value.detach(), example.value(), rtol=1e-9)
    np.testing.assert_allclose(slope.detach(), example.gradient(), rtol=1e-8, atol=1e-10)
    assert torch.autograd.gradcheck(f, (x,))
    again = torch.autograd.grad(slope.sum(), x)[0]
    hessian = example.hessian()
    np.testing.assert_allclose(again, hessian.sum(tuple(range(hessian.ndim - x.ndim))), rtol=1e-7, atol=1e-8)
    assert torch.equal(x.detach(), kept)


@needs_torch
@examples
@pytest.mark.filterwarnings("ignore:.*torch.jit.script.* is deprecated")  # by what jacfwd imports
def test_torch_func(name: str):
    example = Example(name)
    f, x = example.of(example.function(None), torch.as_tensor)
    several = torch.stack([x, 2 * x, x + 0.1])
    np.testing.assert_allclose(torch.func.vmap(f)(several), torch.stack([f(one) for one in several]), rtol=1e-9)
    np.testing.assert_allclose(torch.func.grad(f)(x), example.gradient(), rtol=1e-8, atol=1e-10)
    slopes = torch.func.vmap(torch.func.grad(f))(several)
    np.testing.assert_allclose(slopes[0], example.gradient(), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(torch.func.jacfwd(f)(x), example.gradient(), rtol=1e-8, atol=1e-10)


@needs_torch
@pytest.mark.parametrize("name", ["gather", "diagonal", "windows"])
def test_our_derivatives_under_torch_vmap(name: str):
    """Results that are written along diagonals, or added up at places."""
    example = Example(name)
    for formula in (example.loss.diff(example.by), example.loss.diff(example.by, example.by)):
        f, x = example.of(formula.compile("torch"), torch.as_tensor)
        several = torch.stack([x, 2 * x])
        mapped = torch.func.vmap(f)(several)
        np.testing.assert_allclose(mapped, torch.stack([f(one) for one in several]), rtol=1e-9, atol=1e-10)


@needs_torch
@pytest.mark.parametrize("name", ["logistic", "gather", "diagonal", "cumsum"])
def test_torch_compile_takes_the_whole_function(name: str, dynamo: Any):
    """Without a break, called for the first time there; gradients flow; a new size is traced once."""
    example = Example(name)
    f, x = example.of(example.function("torch"), torch.as_tensor)
    traced = torch.compile(f, fullgraph=True, backend="aot_eager" if name == "logistic" else "eager")
    x.requires_grad_(True)
    value = traced(x)
    np.testing.assert_allclose(value.detach(), example.value(), rtol=1e-9)
    (slope,) = torch.autograd.grad(value, x)
    np.testing.assert_allclose(slope, example.gradient(), rtol=1e-8, atol=1e-10)


@needs_torch
@pytest.mark.parametrize("backend", [None, "torch"])
def test_torch_compile_with_several_sizes(backend: str | None, dynamo: Any):
    """As many traces as there are sizes, however the calls alternate, and whether or not it is called outside too."""
    f, traces, count = rc.parse(NAMES["logistic"]).compile(backend), [], 0

    def counting(graph: Any, inputs: Any) -> Any:
        traces.append(graph)
        return graph.forward

    traced = torch.compile(lambda y, X, w: f(y, X=X, w=w), fullgraph=True, backend=counting)
    for round_ in range(3):
        for m in (4, 5, 6):
            y, X, w = torch.sign(torch.randn(m)), torch.randn(m, 3), torch.randn(3)
            torch.testing.assert_close(traced(y, X, w), f(y, X, w))
        if round_ == 1:
            count = len(traces)
    assert len(traces) == count <= 5


@needs_torch
def test_torch_compile_with_several_results(dynamo: Any):
    example = Example("logistic", "float32")
    several = rc.compile([example.loss, example.loss.diff("w"), example.loss.diff("w", "w")], "torch")
    inputs = {name: torch.as_tensor(a) for name, a in example.inputs.items()}
    traced = torch.compile(several, fullgraph=True, backend="eager")
    for mine, expected in zip(traced(**inputs), several(**inputs), strict=True):
        assert mine.dtype == torch.float32
        torch.testing.assert_close(mine, expected)


@needs_torch
def test_errors_while_torch_is_tracing(dynamo: Any):
    f = rc.parse("y = a[i] b[i]").compile("torch")
    traced = torch.compile(lambda a, b: f(a=a, b=b), fullgraph=True, backend="eager")
    with pytest.raises(Exception, match="Index 'i' has two sizes"):
        traced(torch.ones(2), torch.ones(3))


@needs_torch
def test_torch_compile_on_request(monkeypatch: pytest.MonkeyPatch):
    """``jit=True`` hands the program to torch.compile; without it the program runs as it is."""
    handed = []
    monkeypatch.setattr(torch, "compile", lambda run, **options: handed.append(run) or run)
    example = Example("softmax")
    plain, asked = example.loss.compile("torch"), example.loss.compile("torch", jit=True)
    plain(**example.inputs)
    assert not handed
    np.testing.assert_allclose(asked(**example.inputs), example.value(), rtol=1e-9)
    assert len(handed) == 1 and asked.runner.run is handed[0]


@needs_torch
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_types_and_devices_of_torch(dtype: str):
    f = rc.parse("y[i] = 0.1 exp(x[i]) + A[i,j] x[j] / 3 + c[i]").compile()
    kind = getattr(torch, dtype)
    x, A = torch.ones(3, dtype=kind), torch.ones(3, 3, dtype=kind)
    result = f(x=x, A=A, c=torch.arange(3))
    assert result.dtype == kind and result.device == x.device
    assert f(x=x, A=A, c=[1, 2, 3]).dtype == kind
    meta = f(x=x.to("meta"), A=A.to("meta"), c=torch.arange(3, device="meta"))
    assert meta.device.type == "meta" and meta.shape == (3,)


@needs_torch
def test_constants_are_where_the_inputs_are():
    """Also those that are arrays: a device that is met later gets its own."""
    f = rc.parse("y[i] = cumsum[i](x[i]) + 1/2").compile("torch")
    np.testing.assert_allclose(f(torch.ones(3)), [1.5, 2.5, 3.5])
    assert f(torch.ones(3, device="meta")).device.type == "meta"
    np.testing.assert_allclose(f(torch.ones(3)), [1.5, 2.5, 3.5])


@needs_torch
def test_results_of_torch_are_the_callers_own():
    """Not views of inputs, nor of one another."""
    f = rc.compile([rc.parse(t) for t in ("a[i,j] = x[i,j]", "b[j,i] = x[i,j]", "c[i] = x[i,i]", "d[i] = x[i,i]")])
    x = torch.arange(9.0).reshape(3, 3)
    kept = x.clone()
    results = f(x)
    for result in results:
        result += 1
    assert torch.equal(x, kept)
    for result, expected in zip(results, (kept, kept.T, kept.diag(), kept.diag()), strict=True):
        assert torch.equal(result, expected + 1)


# The checks can fail


@needs_torch
def test_a_program_that_leaves_torch_is_found(monkeypatch: pytest.MonkeyPatch):
    from ricci.compiler.emit.torch_source import TorchEmitter

    def through_numpy(x: Any) -> Any:
        return torch.as_tensor(np.exp(x.detach().numpy()))

    monkeypatch.setattr(TorchEmitter, "elementwise", {**TorchEmitter.elementwise, "exp": through_numpy})
    rc.cache_clear()
    f = rc.parse("y = exp(x[i]) 1[i]").compile("torch")
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError):
        torch.autograd.gradcheck(f, (x,))
    with pytest.raises(Exception, match=r"(?s)vmap|numpy|data_ptr|storage"):
        torch.func.vmap(f)(torch.ones(2, 3))
    rc.cache_clear()


@needs_jax
def test_a_program_that_leaves_jax_is_found(monkeypatch: pytest.MonkeyPatch):
    from ricci.compiler.emit.jax_source import JaxEmitter

    monkeypatch.setattr(JaxEmitter, "elementwise", {**JaxEmitter.elementwise, "exp": lambda x: jnp.asarray(np.exp(x))})
    rc.cache_clear()
    f = rc.parse("y = exp(x[i]) 1[i]").compile("jax")
    with pytest.raises(jax.errors.TracerArrayConversionError):
        jax.grad(f)(jnp.ones(3))
    rc.cache_clear()
