"""Compressed results against the whole ones: products, systems, diagonals and entries, and how little they store."""

import importlib.util
import pickle

import numpy as np
import pytest
from hypothesis import given, settings

import ricci as rc
from ricci.calculus.modes import derivative
from ricci.compiler.compressed import apart
from ricci.compiler.compressed.result import Compressed, CompressedFunction
from ricci.compiler.pipeline import prepare
from ricci.errors import InputError, MissingPackageError, RuleError, ShapeError
from ricci.expr import dims, topological, variables
from ricci.expr.settle import own_sizes
from ricci.notation.context import Facts
from ricci.testing import expressions
from ricci.testing.interpreter import interpret

LOGISTIC = "l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))"
FACTORISATION = "l = sum[i,j]((T[i,j] - U[i,k] V[j,k])**2)"
MASKED = "l = sum[i,j](M[i,j] (T[i,j] - U[i,k] V[j,k])**2)"
DIAGONAL_AND_RANK_ONE = "l = sum[i](exp(x[i])) + (a[i] x[i])**2"
SOFTMAX_REGRESSION = """
l = sum[b](logsumexp[c](X[b,n] W[n,c])) - sum[b,c](Y[b,c] X[b,n] W[n,c]) + sum[n,c](W[n,c]**2)"""


def network(function, layers, ridge=False):
    steps = [f"h{n + 1}[b,i] = {function}(W{n}[i,j] {f'h{n}' if n else 'x'}[b,j])" for n in range(layers)]
    return "\n".join([*steps, f"l = sum[b,i](h{layers}[b,i]**2)" + (" + sum[i,j](W0[i,j]**2)" if ridge else "")])


def draw(seed=0, **shapes):
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def layers(count, width, batch):
    inputs = draw(0, x=(batch, width), **{f"W{n}": (width, width) for n in range(count)})
    return {name: value if name == "x" else value / width**0.5 for name, value in inputs.items()}


# text, derivatives by, inputs, whether the matrix is far from singular, how it is stored, and in how many numbers
CASES = {
    "logistic": (LOGISTIC, "ww", draw(X=(40, 6), y=(40,), w=(6,)), True, "core[n,n']", 36),
    "logistic, few samples": (
        *(LOGISTIC, "ww", draw(X=(4, 60), y=(4,), w=(60,)), False),
        *("core0[m] core1[m,n] core1[m,n']", 4 * 60 + 4),
    ),
    "factorisation": (FACTORISATION, "UU", draw(U=(8, 3), V=(9, 3)), True, "2 delta[i,i'] core[k,k']", 9),
    "factorisation, U by V": (
        *(FACTORISATION, "UV", draw(T=(8, 9), U=(8, 3), V=(9, 3)), False),
        *("2 delta[k,k'] core0[j,i] + 2 core1[i,k'] core2[j,k]", 8 * 9 + 8 * 3 + 9 * 3),
    ),
    "masked factorisation": (
        *(MASKED, "UU", {**draw(U=(8, 3), V=(9, 3)), "M": abs(draw(M=(8, 9))["M"])}, True),
        *("2 delta[i,i'] core[i,k,k']", 8 * 3 * 3),
    ),
    "quadratic form": ("l = x[i] A[i,j] x[j]", "xx", draw(A=(5, 5), x=(5,)), True, "core[i,j]", 25),
    "a square": ("l = sum[i](x[i]**2)", "xx", draw(x=(5,)), True, "2 delta[i,i']", 1),
    "diagonal and rank one": (
        *(DIAGONAL_AND_RANK_ONE, "xx", draw(a=(50,), x=(50,)), True),
        *("delta[i,i'] core0[i] + 2 core1[i] core1[i']", 100),
    ),
    "diagonal and low rank": (
        *("l = sum[i](exp(x[i])) + sum[r]((a[r,i] x[i])**4) + (b[i] x[i])**2", "xx"),
        *(draw(a=(4, 50), b=(50,), x=(50,)), True),
        *("delta[i,i'] core0[i] + 2 core1[i] core1[i'] + 12 core2[r] core3[r,i] core3[r,i']", 200 + 4 + 50 + 50),
    ),
    "rank one in each block": (
        *("l = sum[i,k](exp(x[i,k])) + sum[i]((a[i,k] x[i,k])**2)", "xx", draw(a=(7, 5), x=(7, 5)), True),
        *("delta[i,i'] delta[k,k'] core0[i,k] + 2 delta[i,i'] core1[i,k] core1[i,k']", 70),
    ),
    "softmax regression": (
        *(SOFTMAX_REGRESSION, "WW", draw(X=(3, 20), W=(20, 4), Y=(3, 4)), True),
        *("", 3 * 4 + 3 * 20),
    ),
    "five layers of tanh": (
        *(network("tanh", 5), ["W0"] * 2, layers(5, 6, 4), False),
        *("2 core0[b,i,i'] core1[b,j] core1[b,i'']", 4 * 6 + 4 * 36),
    ),
    "five layers of relu, one sample": (
        *(network("relu", 5), ["W0"] * 2, layers(5, 6, 1), False),
        *("2 core0[b,i,i'] core1[b,j] core1[b,i'']", 6 + 36),
    ),
    "two layers and a ridge": (
        *(network("tanh", 2, ridge=True), ["W0"] * 2, layers(2, 7, 3), True),
        *("2 delta[i,i'] delta[j,i''] + 2 core0[b,i,i'] core1[b,j] core1[b,i'']", 3 * 7 + 3 * 49),
    ),
    "third order": (
        *("l = sum[i](exp(x[i])) + (a[i] x[i])**3", "xxx", draw(a=(5,), x=(5,)), False),
        *("delta[i,i'] delta[i,i''] core0[i] + 6 core1[i] core1[i'] core1[i'']", 10),
    ),
    "fourth order": ("l = sum[i](exp(x[i]))", "xxxx", draw(x=(5,)), False, "", 5),
    "zero": ("l = sum[i](x[i])", "xx", draw(x=(5,)), False, "0", 1),
    "scalar": ("l = x**4", "xx", draw(x=()), True, "12 core", 1),
    "a value": (DIAGONAL_AND_RANK_ONE, "", draw(a=(6,), x=(6,)), True, "core", 1),
    "of a vector by a matrix": (
        *("y[i] = tanh(W[i,j] x[j])", "W", draw(W=(4, 5), x=(5,)), False),
        *("delta[i,i'] core0[i] core1[j]", 9),
    ),
    "of a convolution": ("y[i] = w[k] x[i+k]", "w", draw(w=(3,), x=(6,)), False, "[j == k + i] core[j]", 6),
    "of a gather": ("y[b,d] = E[t[b],d]", "E", {**draw(E=(6, 2)), "t": np.array([3, 0, 3])}, False, "", 4),
    "empty": (DIAGONAL_AND_RANK_ONE, "xx", draw(a=(0,), x=(0,)), True, "", 0),
    "of size one": (DIAGONAL_AND_RANK_ONE, "xx", draw(a=(1,), x=(1,)), True, "", 1),
}


def formula(name):
    text, by, *_ = CASES[name]
    return rc.parse(text).diff(*by) if by else rc.parse(text)


def made(name, **options):
    return formula(name).compile(compressed=True, **options)(**CASES[name][2])


def whole(name):
    return formula(name)(**CASES[name][2])


# The check, and that it can fail


def close(found, wanted, tolerance=1e-9):
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape
    top = max(1.0, np.abs(wanted[np.isfinite(wanted)]).max(initial=0))
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * top)


def agrees(c, dense, tolerance=1e-9, solve=False, diagonal=True):
    """Raise AssertionError where a compressed result differs from all of its entries."""
    rng = np.random.default_rng(1)
    order = dense.ndim
    half, even = order // 2, order % 2 == 0
    assert c.shape == dense.shape
    assert c.ndim == order
    close(c.todense(), dense, tolerance)
    dense = dense.astype(float)
    for count in [half] if even else range(1, order + 1):
        v = rng.normal(size=dense.shape[order - count :]).astype(dense.dtype)
        close(c @ v, np.tensordot(dense, v, count), tolerance)
        u = rng.normal(size=dense.shape[:count])
        close(c.__rmatmul__(u), np.tensordot(u, dense, count), tolerance)
    if not even:
        return
    columns = rng.normal(size=(*dense.shape[half:], 2, 3))
    close(c @ columns, np.tensordot(dense, columns, half), tolerance)
    close(c.T.todense(), np.moveaxis(dense, range(half, order), range(half)), tolerance)
    if dense.shape[:half] == dense.shape[half:] and diagonal:
        size = int(np.prod(dense.shape[:half]))
        close(c.diagonal(), dense.reshape(size, size).diagonal().reshape(dense.shape[:half]), tolerance)
    if solve:
        axes = tuple(range(half))
        for further in ((), (2,)):
            b, d = rng.normal(size=(*dense.shape[:half], *further)), rng.normal(size=(*dense.shape[half:], *further))
            close(np.tensordot(dense, np.asarray(c.solve(b)), half), b, 1e3 * tolerance)
            close(np.tensordot(dense, np.asarray(c.T.solve(d)), (axes, axes)), d, 1e3 * tolerance)


@pytest.mark.parametrize("name", CASES)
def test_it_agrees_with_the_whole_result(name):
    agrees(made(name), whole(name), solve=CASES[name][3])


def test_the_check_can_fail():
    c, dense = made("diagonal and rank one"), whole("diagonal and rank one")
    agrees(c, dense, solve=True)
    for operation in ("todense", "__matmul__", "__rmatmul__", "diagonal", "solve"):
        right = getattr(Compressed, operation)
        broken = type("Broken", (Compressed,), {operation: lambda *args, right=right: right(*args) * (1 + 1e-5)})
        with pytest.raises(AssertionError):
            agrees(broken(c._shell, c.cores), dense, solve=True)
    c.cores[0][3] += 1e-5
    with pytest.raises(AssertionError):
        agrees(c, dense)


@pytest.mark.parametrize("name", CASES)
def test_how_it_is_stored(name):
    c, (*_, text, numbers) = made(name), CASES[name]
    assert not text or c.structure.rpartition(": ")[2] == text
    assert c.nbytes == 8 * numbers
    assert c.nbytes == sum(core.nbytes for core in c.cores)
    assert repr(c).startswith("<ricci.Compressed ")
    assert f"{c.nbytes:,} bytes for {whole(name).nbytes:,}" in repr(c)


def test_far_less_than_all_entries():
    inputs = draw(U=(500, 10), V=(400, 10))
    c = rc.parse(FACTORISATION).diff("U", "U").compile(compressed=True)(**inputs)
    assert (c.nbytes, c.shape) == (800, (500, 10, 500, 10))
    v = draw(v=(500, 10))["v"]
    close(c @ v, 2 * v @ inputs["V"].T @ inputs["V"])
    close(c @ c.solve(v), v)
    close(c.diagonal(), np.broadcast_to(2 * (inputs["V"] ** 2).sum(0), (500, 10)))
    inputs = layers(5, 40, 32)
    c = rc.parse(network("tanh", 5)).diff("W0", "W0").compile(compressed=True)(**inputs)
    assert c.nbytes == 8 * (32 * 1600 + 32 * 40)


def test_the_sizes_decide():
    f = rc.parse(LOGISTIC).diff("w", "w").compile(compressed=True)
    many, few = f(**draw(X=(40, 6), y=(40,), w=(6,))), f(**draw(X=(4, 60), y=(4,), w=(60,)))
    assert (many.structure, few.structure) == ("core[n,n']", "core0[m] core1[m,n] core1[m,n']")


# Types, memory, several results


@pytest.mark.parametrize("name", ["diagonal and low rank", "masked factorisation", "a square", "zero", "scalar"])
def test_float32_stays(name):
    inputs = {key: np.float32(value) for key, value in CASES[name][2].items()}
    c = formula(name).compile(compressed=True)(**inputs)
    v = np.ones(c.shape[c.ndim // 2 :], np.float32)
    results = [c.todense(), c @ v, c.diagonal(), *([c.solve(v)] if CASES[name][3] else []), *c.cores]
    assert {r.dtype for r in results} == {np.dtype(np.float32)} == {c.dtype}
    agrees(c, np.asarray(formula(name)(**inputs)), 1e-4, solve=CASES[name][3])


def test_truth_values_and_integers_become_numbers():
    x = np.array([-1.0, 2.0])
    relu = rc.parse("y[i] = relu(x[i])").diff("x").compile(compressed=True)(x=np.float32(x))
    assert relu.dtype == relu.todense().dtype == np.float32
    close(relu.todense(), np.diag([0.0, 1.0]))
    third = rc.parse("y[i] = x[i]**2 / 3").compile(compressed=True, simplify=False)(x=np.array([1, 2]))
    assert third.dtype == third.todense().dtype == np.float64


def test_results_own_their_memory():
    for name in ("diagonal and rank one", "five layers of tanh", "quadratic form", "of a vector by a matrix"):
        inputs = {key: value.copy() for key, value in CASES[name][2].items()}
        f = formula(name).compile(compressed=True)
        c = f(**inputs)
        before, dense = c.todense(), c.todense()
        dense += 1
        for value in inputs.values():
            value += 1
        close(c.todense(), before)
        for core in c.cores:
            core += 1
        again = f(**CASES[name][2])
        close(again.todense(), before)
        for key, value in inputs.items():
            close(value, CASES[name][2][key] + 1)


def test_several_results_share_their_work():
    loss = rc.parse(DIAGONAL_AND_RANK_ONE)
    f = rc.compile([loss, loss.diff("x"), loss.diff("x", "x")], compressed=True)
    inputs = draw(a=(4,), x=(4,))
    results = f(**inputs)
    assert [type(r) for r in results] == [Compressed] * 3
    for result, part in zip(results, [loss, loss.diff("x"), loss.diff("x", "x")], strict=True):
        agrees(result, np.asarray(part(**inputs)))
    assert f.source.count("exp(") == 1


def test_a_warm_call_only_computes(monkeypatch):
    f = formula("masked factorisation").compile(compressed=True)
    inputs = CASES["masked factorisation"][2]
    c = f(**inputs)
    v = np.ones((8, 3))
    for use in (lambda c: c @ v, lambda c: c.solve(v), lambda c: c.diagonal(), lambda c: c.todense()):
        use(c)
    misses = rc.cache_info().misses
    monkeypatch.setattr(apart, "take_apart", None)
    again = f(**inputs)
    assert again._shell is c._shell
    close(again @ v, c @ v)
    again.solve(v), again.diagonal(), again.todense()
    assert rc.cache_info().misses == misses


def test_it_can_be_pickled_and_made_an_array():
    c = made("rank one in each block")
    agrees(pickle.loads(pickle.dumps(c)), whole("rank one in each block"), solve=True)
    close(np.asarray(c), whole("rank one in each block"))
    with pytest.raises(ValueError, match="computed"):
        np.array(c, copy=False)


def test_what_the_function_shows():
    f = formula("factorisation").compile(compressed=True)
    assert f.inputs == ("U", "V")
    assert "assumed" in str(f.plan)
    f(**CASES["factorisation"][2])
    assert "dot(V, V)" in str(f.plan)
    assert "in_V.T" in f.source


# Systems


def test_low_rank_terms_are_solved_by_a_system_of_their_rank():
    c = made("diagonal and low rank")
    sizes = c._shell._system
    assert (len(sizes.low), sizes.operator.rank(sizes.low), sizes.wide) == (2, 5, 50)
    assert made("two layers and a ridge")._shell._system.low
    assert made("rank one in each block")._shell._system.wide == 5


def test_where_the_diagonal_has_a_zero_the_whole_system_is_solved():
    inputs = {"x": np.array([0.0, 1, 2, 3, 4]), "a": np.arange(1.0, 6)}
    H = rc.parse("l = sum[i](x[i]**4) + (a[i] x[i])**2").diff("x", "x")
    c = H.compile(compressed=True)(**inputs)
    assert c._shell._system.low
    agrees(c, H(**inputs), solve=True)


def test_where_the_diagonal_is_tiny_the_solution_is_accurate_still():
    inputs = {"x": np.array([1e-7, 1, 2, 3, 4]), "a": np.arange(1.0, 6)}
    H = rc.parse("l = sum[i](x[i]**4) + (a[i] x[i])**2").diff("x", "x")
    c = H.compile(compressed=True)(**inputs)
    b = np.arange(1.0, 6)
    close(c.solve(b), np.linalg.solve(H(**inputs), b), 1e-7)


def test_not_a_number_goes_through():
    c = made("diagonal and rank one")
    b = np.ones(50)
    b[3] = np.nan
    assert np.isnan(c.solve(b)).any()


# Errors


def fails(error, text, act):
    with pytest.raises(error) as caught:
        act()
    assert text in str(caught.value)


def test_singular_systems():
    masked = {**CASES["masked factorisation"][2], "M": np.ones((8, 9))}
    masked["M"][3] = 0
    c = formula("masked factorisation").compile(compressed=True)(**masked)
    fails(InputError, "the block of c at i = 3 is singular (1 of 8 blocks are)", lambda: c.solve(np.ones((8, 3))))
    c = rc.parse("l = sum[i](exp(x[i]) a[i])").diff("x", "x").compile(compressed=True)(x=np.ones(3), a=np.arange(3.0))
    fails(InputError, "the block of c at i = 0 is singular (1 of 3 blocks are)", lambda: c.solve(np.ones(3)))
    c = rc.parse("l = (a[i] x[i])**2").diff("x", "x").compile(compressed=True)(**draw(a=(6,), x=(6,)))
    fails(InputError, "is at most 1, and 6 is needed", lambda: c.solve(np.ones(6)))
    c = rc.parse("l = logsumexp[i](x[i])").diff("x", "x").compile(compressed=True)(**draw(x=(6,)))
    fails(InputError, "is singular to working precision", lambda: c.solve(np.arange(6.0)))
    fails(InputError, "c is 0", lambda: made("zero").solve(np.ones(5)))


def test_wrong_shapes():
    c = made("factorisation")
    for what, act in (("c @ v", lambda v: c @ v), ("v @ c", lambda v: v @ c), ("c.solve(b)", c.solve)):
        text = f"{what} takes an array of the shape (8, 3), perhaps with further axes; this one has the shape"
        fails(ShapeError, f"{text} (24,). Reshape it: .reshape(8, 3).", lambda act=act: act(np.ones(24)))
        fails(ShapeError, f"{text} (8,).", lambda act=act: act(np.ones(8)))
        fails(ShapeError, f"{text} ().", lambda act=act: act(np.float64(2.0)))
    j = made("of a vector by a matrix")
    fails(ShapeError, "c @ v takes an array whose axes are the last ones of (4, 4, 5)", lambda: j @ np.ones(4))
    fails(ShapeError, "v @ c takes an array whose axes are the first ones of (4, 4, 5)", lambda: np.ones(5) @ j)
    fails(ShapeError, "this one has the shape (2, 4, 4, 5)", lambda: j @ np.ones((2, 4, 4, 5)))
    fails(ShapeError, "this one has the shape ()", lambda: j @ 1.0)


def test_what_only_an_operator_has():
    j = made("of a vector by a matrix")
    fails(InputError, "c.solve(b) is for tensors with as many axes for rows as", lambda: j.solve(np.ones(4)))
    fails(ShapeError, "The rows (4,) and the columns (4, 5) have no diagonal", j.diagonal)
    assert j.T.shape == (4, 5, 4)
    c = made("factorisation, U by V")
    fails(ShapeError, "the rows are (8, 3), the columns (9, 3)", lambda: c.solve(np.ones((8, 3))))
    fails(ShapeError, "have no diagonal", c.diagonal)
    c, v = made("factorisation"), np.ones((8, 3))
    np.testing.assert_allclose(c @ (1j * v), 1j * (c @ v))


# Random expressions


def sizes_given(e, sample):
    named = {a[0] for node in topological(e) for size in (*own_sizes(node), *node.shape) for a in dims.atoms(size)}
    given = {a[0]: n for a, n in sample.sizes.items() if len(a) == 1 and a[0] in named}
    return {"sizes": given} if given else {}


def check_random(e, sample, check=None):
    """A compressed result beside the interpreter's: by ``check``, or in all that it can do."""
    facts = Facts(
        inputs={name: value.ndim for name, value in sample.inputs.items()},
        integers={name for name, value in sample.inputs.items() if value.dtype.kind == "i"},
    )
    wanted = np.asarray(interpret([e], sample.inputs, sample.sizes)[0])
    f = CompressedFunction(
        prepare([e], facts=facts, simplify=False), [tuple(f"i{axis}" for axis in range(e.order))], "numpy"
    )
    c = f(**sample.inputs, **sizes_given(e, sample))
    assert c.dtype == c.todense().dtype
    if check is not None:
        check(c, wanted)
        return
    half = e.order // 2
    size = int(np.prod(wanted.shape[:half]))
    square = e.order % 2 == 0 and size == int(np.prod(wanted.shape[half:])) > 0 and np.isfinite(wanted).all()
    solve = square and np.linalg.cond(wanted.reshape(size, size).astype(float)) < 1e4
    agrees(c, wanted, 1e-8, solve=solve)  # pyright: ignore[reportArgumentType]


@settings(max_examples=120)
@given(expressions(max_size=8, extents=(0, 1, 2, 3), symbolic=True))
def test_random_expressions_and_their_derivatives(sample):
    e = sample.build()
    check_random(e, sample)
    for v in variables(e):
        if sample.inputs[v.name].dtype.kind == "f" and e.order + v.order <= 4:
            try:
                slope = derivative(e, v)
            except RuleError:  # some functions have none
                continue
            check_random(slope, sample)


# Other backends


def native(backend):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed.")
    try:
        from ricci.compiler.run.engines import target_named

        target_named(backend)
    except (ImportError, MissingPackageError) as error:
        pytest.skip(f"There is no source for {backend} yet: {error}")
    if backend == "torch":
        import torch

        return torch.as_tensor
    import jax.numpy as jnp

    return jnp.asarray


@pytest.mark.parametrize("backend", ["torch", "jax"])
@pytest.mark.parametrize("name", ["masked factorisation", "diagonal and low rank", "a square"])
def test_other_backends(backend, name):
    make = native(backend)
    inputs = {key: make(np.float32(value)) for key, value in CASES[name][2].items()}
    c = formula(name).compile(compressed=True)(**inputs)
    dense = whole(name)
    v = np.float32(draw(v=dense.shape[dense.ndim // 2 :])["v"])
    results = [c.todense(), c @ make(v), c.solve(make(v)), c.diagonal()]
    assert {type(r) for r in [*c.cores, *results]} == {type(next(iter(inputs.values())))}
    assert {str(r.dtype).removeprefix("torch.") for r in results} == {"float32"}
    assert c.structure == made(name).structure
    close(results[0], dense, 1e-4)
    close(results[1], np.tensordot(dense, v, v.ndim), 1e-4)
    close(np.tensordot(dense, np.asarray(results[2]), v.ndim), v, 1e-2)
    close(results[3], made(name).diagonal(), 1e-4)


def test_inside_a_jax_program():
    native("jax")
    import jax

    f = formula("masked factorisation").compile(compressed=True)
    inputs = {key: np.float32(value) for key, value in CASES["masked factorisation"][2].items()}
    b = np.ones((8, 3), np.float32)
    x = jax.jit(lambda inputs, b: f(**inputs).solve(b))(inputs, b)
    close(f(**inputs) @ np.asarray(x), b, 1e-3)
