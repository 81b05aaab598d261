"""Captured graphs: when a program is recorded, what a record reads and gives, and what is never recorded.

Where there is no GPU, records are those of a stand-in; the tests of real ones say that they need one.
"""

from __future__ import annotations

import gc
import inspect
import threading

import numpy as np
import pytest

import ricci as rc

torch = pytest.importorskip("torch")

from ricci.compiler.run import torch_graphs  # noqa: E402
from ricci.compiler.run.torch_graphs import FEW, Launched, recordable  # noqa: E402
from ricci.testing.launches import StandIn  # noqa: E402

Mode = __import__("torch.utils._python_dispatch", fromlist=["TorchDispatchMode"]).TorchDispatchMode
A, B = torch.arange(6.0).reshape(2, 3), torch.ones(3, 2)
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU of NVIDIA")


def product(a, b):
    return a @ b, (a * 2).sum()


def test_a_program_is_recorded_after_a_few_calls():
    means = StandIn()
    f = Launched(product, means)
    for _ in range(FEW):
        f(A, B)
    assert means.recorded == means.launched == 0
    f(A, B)
    assert means.recorded == 1
    before = means.launched
    for k in range(3):
        result = f(A, B * k)
        torch.testing.assert_close(result[0], A @ (B * k))
    assert means.launched >= before + 2


def test_results_are_the_callers():
    f = Launched(product, StandIn())
    for _ in range(FEW + 1):
        f(A, B)
    first, second = f(A, B)[0], f(A, B)[0]
    first += 1
    torch.testing.assert_close(second, A @ B)
    torch.testing.assert_close(f(A, B)[0], A @ B)


def test_tensors_that_stay_are_read_where_they_are_and_others_are_copied():
    means, a = StandIn(), A.clone()
    f = Launched(product, means)
    for k in range(FEW + 2):
        f(a, B + k)
    (record,) = f.known.values()
    assert isinstance(record, torch_graphs._Graph)
    assert (len(record.held), record.copied) == (1, [1])
    a += 1  # contents are read at each call
    torch.testing.assert_close(f(a, B)[0], a @ B)
    assert means.recorded == 1
    other = a + 1  # a tensor that did stay is another one: it is copied from now on
    torch.testing.assert_close(f(other, B)[0], other @ B)
    assert means.recorded == 2
    for k in range(3):
        torch.testing.assert_close(f(A * k, B)[0], (A * k) @ B)
    assert means.recorded == 2


def test_tensors_that_stay_are_not_kept_alive():
    a = A.clone()
    f = Launched(product, StandIn())
    for _ in range(FEW + 2):
        f(a, B)
    watch = torch_graphs.weakref.ref(a)
    del a
    gc.collect()
    assert watch() is None
    torch.testing.assert_close(f(A, B)[0], A @ B)


def test_a_tensor_that_got_other_memory_or_strides_is_not_taken_for_itself():
    a = torch.arange(9.0).reshape(3, 3)
    f = Launched(lambda a: a * torch.arange(3.0), StandIn())
    for _ in range(FEW + 2):
        f(a)
    a.t_()
    torch.testing.assert_close(f(a), a * torch.arange(3.0))
    a.data = torch.ones(3, 3)
    torch.testing.assert_close(f(a), a * torch.arange(3.0))


@pytest.mark.parametrize(("means", "why"), [(StandIn(failing=True), "capturing"), (StandIn(faster=False), "takes")])
def test_what_cannot_be_recorded_or_gains_nothing_runs_as_it_is(means, why):
    f = Launched(product, means)
    for _ in range(3 * FEW):
        torch.testing.assert_close(f(A, B)[0], A @ B)
    assert why in f.over
    assert means.recorded <= 1


@pytest.mark.parametrize("faster", [True, False])
def test_what_has_taken_long_is_compiled_once(faster):
    means, made = StandIn(faster), []

    def compiler():
        made.append(lambda a, b: (a @ b, a.sum() * 2))
        return made[0]

    f = Launched(product, means, compiler)
    for _ in range(FEW + 1):
        f(A, B)
    assert f.each == (0.5 if faster else 1.0)
    f.spent = torch_graphs.COMPILING
    for _ in range(2 * FEW):
        torch.testing.assert_close(f(A, B)[0], A @ B)
    assert len(made) == 1
    assert f.plain is (made[0] if faster else product)
    assert means.recorded == (2 if faster else 1)


def test_what_cannot_be_compiled_runs_as_it_is():
    def compiler():
        raise RuntimeError("no compiler")

    f = Launched(product, StandIn(), compiler)
    for _ in range(FEW + 1):
        f(A, B)
    f.spent = torch_graphs.COMPILING
    for _ in range(3):
        torch.testing.assert_close(f(A, B)[0], A @ B)
    assert f.compiler is None
    assert f.plain is product


def test_autograd_transformations_and_modes_are_not_recorded():
    means = StandIn()
    f = Launched(lambda a: (a * a).sum(), means)
    a = A.clone().requires_grad_()
    for _ in range(2 * FEW):
        (g,) = torch.autograd.grad(f(a), a)
        torch.testing.assert_close(g, 2 * A)
        torch.testing.assert_close(torch.func.grad(f)(A), 2 * A)
        torch.testing.assert_close(torch.func.vmap(f)(A), (A * A).sum(1))
        with Watching():
            f(A)
    assert not f.known
    with torch.no_grad():
        for _ in range(FEW + 1):
            f(a)
    assert means.recorded == 1


class Watching(Mode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


def test_inside_torch_compile_the_program_is_part_of_it():
    f = Launched(lambda a: a.sin() * 2, StandIn())
    whole = torch.compile(lambda a: f(a) + 1, backend="eager", fullgraph=True)
    torch.testing.assert_close(whole(A), A.sin() * 2 + 1)


def test_threads_that_come_in_between_run_the_program():
    f = Launched(product, StandIn())
    with f.lock:
        torch.testing.assert_close(f(A, B)[0], A @ B)
    assert not f.known
    found = []
    threads = [
        threading.Thread(target=lambda k=k: [found.append(torch.equal(f(A * k, B)[0], A * k @ B)) for _ in range(50)])
        for k in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 200
    assert all(found)


def test_records_are_bounded_and_forgotten(monkeypatch):
    rc.cache_clear()
    monkeypatch.setattr(torch_graphs, "MOST_RECORDS", 3)
    programs = [Launched(product, StandIn()) for _ in range(5)]
    for f in programs:
        for _ in range(FEW + 1):
            f(A, B)
    assert rc.cache_info()["captured graphs"].size == 3
    assert [bool(f.known) for f in programs] == [False, False, True, True, True]
    del programs[3:], f
    gc.collect()
    assert rc.cache_info()["captured graphs"].size == 1
    rc.cache_clear()
    assert not programs[2].known
    torch.testing.assert_close(programs[2](A, B)[0], A @ B)


def test_programs_that_wait_for_the_device_or_are_short_are_not_recorded():
    def program(text, **inputs):
        f = rc.parse(text).compile("torch")
        f(**inputs)
        return f.plan.program

    long = "exp(sin(cos(tanh(sin(cos({}))))))"
    assert recordable(program(f"y[i] = {long.format('softmax[i](x[i])')}", x=torch.ones(3)))
    assert not recordable(program("y[i] = softmax[i](x[i])", x=torch.ones(3)))
    assert not recordable(program(f"y[i,j] = {long.format('inv(A)[i,j]')}", A=torch.eye(3)))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of PyTorch's own modules
@pytest.mark.parametrize("jit", [True, False, None])
def test_jit_is_an_option_of_compile_and_of_every_transform(jit):
    if jit and torch.cuda.is_available():
        pytest.skip("takes a C compiler of the GPU's machine")
    with torch.compiler.set_stance("force_eager"):
        f = rc.parse("y = 1[i] x[i]**3").compile("torch", jit=jit)
        assert float(f(x=torch.ones(3))) == 3.0
        x, v = torch.arange(3.0), torch.ones(3)
        cubes = lambda x: (x**3).sum()  # noqa: E731
        for name, args, expected in [
            ("grad", (x,), 3 * x**2),
            ("value_and_grad", (x,), (torch.tensor(9.0), 3 * x**2)),
            ("hessian", (x,), torch.diag(6 * x)),
            ("hvp", (x, v), 6 * x),
            ("hessian_diagonal", (x,), 6 * x),
            ("laplacian", (x,), torch.tensor(18.0)),
            ("jacobian", (x,), 3 * x**2),
            ("jacfwd", (x,), 3 * x**2),
            ("jacrev", (x,), 3 * x**2),
            ("gauss_newton_vp", (x, v), 3 * x**2 * 15),
            ("compile", (x,), torch.tensor(9.0)),
        ]:
            torch.testing.assert_close(getattr(rc, name)(cubes, jit=jit)(*args), expected)
        torch.testing.assert_close(rc.elementwise_grad(torch.sin, jit=jit)(x), x.cos())
        torch.testing.assert_close(rc.taylor(torch.exp, 1, jit=jit)(x, v), (x.exp(), x.exp()))
        torch.testing.assert_close(rc.vmap(cubes, jit=jit)(x), x**3)


def test_every_program_is_compiled_by_itself(monkeypatch):
    """PyTorch compiles one code a few times and then no more; it takes those whose lines it finds."""
    given, plain = [], torch.compile
    monkeypatch.setattr(torch, "compile", lambda f, **options: given.append(f) or plain(f, backend="eager", **options))
    functions = [rc.parse(f"y[i] = exp({k} x[i])").compile("torch", jit=True) for k in range(2, 5)]
    for k, f in enumerate(functions):
        torch.testing.assert_close(f(x=A[0]), torch.exp((k + 2) * A[0]))
    assert len({id(f.__code__) for f in given}) == 3
    assert all(inspect.getsourcefile(f) == f.__code__.co_filename for f in given)


@pytest.mark.parametrize("jit", [True, False, None])
def test_jit_on_other_arrays(jit):
    """On JAX functions are jitted unless that is refused; NumPy has no such thing."""
    x = np.arange(3.0)
    np.testing.assert_allclose(rc.grad(lambda x: (x**3).sum(), jit=jit)(x), 3 * x**2)
    jax = pytest.importorskip("jax")
    f = rc.grad(lambda x: (x**3).sum(), jit=jit)
    np.testing.assert_allclose(f(jax.numpy.asarray(x)), 3 * x**2)


def test_without_a_gpu_programs_run_as_they_are(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    f = rc.parse("y[i] = A[i,j] x[j]").compile("torch")
    f(A=A, x=torch.ones(3))
    assert type(f.runner.run).__name__ == "function"


@needs_gpu
@pytest.mark.parametrize("jit", [False, None])
def test_on_a_gpu(jit):
    f = rc.grad(lambda a, b: (torch.tanh(a @ b) ** 2).sum(), argnums=(0, 1), jit=jit)
    a, b = A.cuda(), B.cuda()
    expected = f(a, b)
    for k in range(3 * FEW):
        for mine, other in zip(f(a, b), expected, strict=True):
            torch.testing.assert_close(mine, other)
        f(a + k, b)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for mine, other in zip(f(a, b), expected, strict=True):
            torch.testing.assert_close(mine, other)
