"""Compiled formulas through the public functions: calls and errors, plans and sources, and what is made of products."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import ricci as rc
from ricci.compiler.pipeline import prepare
from ricci.compiler.run import engines as targets
from ricci.compiler.run.engines import target_named
from ricci.compiler.run.function import Compiled
from ricci.errors import AxisError, DTypeError, InputError, MissingPackageError, NotationError, ShapeError
from ricci.expr import (
    Data,
    Expr,
    constant,
    merge,
    place,
    product,
    triangle,
    variable,
    variables,
    window,
)
from ricci.functions import elementwise as e
from ricci.notation.context import Facts
from ricci.testing.interpreter import interpret

RNG = np.random.default_rng(5)
LOGISTIC = "l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))"
BACKENDS = ["numpy", *[name for name in ("torch", "jax") if find_spec(name)]]
OTHERS = [name for name in BACKENDS if name != "numpy"]


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def from_core(*roots: Expr, backend: str = "numpy") -> Compiled:
    """A compiled function of expressions of the core, several of them as a tuple."""
    inputs = {v.name: v.order for v in variables(*roots)}
    facts = Facts(inputs=inputs, mentions=dict.fromkeys(inputs))
    return Compiled(prepare(roots, facts=facts, simplify=False), backend, len(roots) == 1)


def operations(f: Compiled) -> list[str]:
    """What the steps of the plan do, in order; functions by name."""
    return [step.name if step.op in ("map", "call") else step.op for step in f.plan.program.steps]


def bytes_made(f: Compiled) -> list[int]:
    return [int(row[-1].replace(",", "")) for row in f.plan.rows()]


# Calls


@pytest.mark.parametrize("backend", [*BACKENDS, None])
def test_calls_by_position_and_by_name(backend: str | None):
    f = rc.parse("y[i] = A[i,j] x[j] + b[i]").compile(backend)
    A, x, b = normal(3, 4).astype("float32"), normal(4).astype("float32"), normal(3).astype("float32")
    assert f.inputs == ("A", "x", "b")
    for result in (f(A, x, b), f(A=A, x=x, b=b), f(b=b, x=x, A=A), f(A, x, b=b), f(A, b=b, x=x)):
        np.testing.assert_allclose(np.asarray(result), A @ x + b, rtol=1e-5)
    assert "A, x, b" in repr(f)


def test_inputs_are_in_the_order_in_which_they_are_written():
    assert rc.parse("y = z[i] a[i] + m[i] z[i]").compile().inputs == ("z", "a", "m")
    assert rc.compile([rc.parse("y = b[i] a[i]"), rc.parse("y = a[i] c[i]")]).inputs == ("b", "a", "c")
    assert rc.parse("y[i] = 2 x[i]").diff("x").compile().inputs == ("x",)  # its size is that of the result


@pytest.mark.parametrize("backend", BACKENDS)
def test_inputs_that_nothing_depends_on_are_taken_and_checked(backend: str):
    f = rc.parse("l = A[i,j] x[j] b[i]").diff("x").compile(backend)
    assert f.inputs == ("A", "b")
    A, x, b = np.float32(normal(3, 4)), np.float32(normal(4)), np.float32(normal(3))
    for result in (f(A=A, b=b), f(A=A, b=b, x=x), f(A=A, b=b, x=x)):
        np.testing.assert_allclose(np.asarray(result), A.T @ b, rtol=1e-5)  # pyright: ignore[reportOperatorIssue]
    with pytest.raises(ShapeError, match="Index 'j' has two sizes"):
        rc.parse("l = A[i,j] x[j] b[i]").diff("x").compile(backend)(A=A, b=b, x=np.ones(3, np.float32))


@pytest.mark.parametrize("backend", BACKENDS)
def test_sizes_that_no_input_has(backend: str):
    f = rc.parse("y[i,n] = x[i] 1[n]").compile(backend)
    assert np.asarray(f(x=np.array([1, 2], np.float32), sizes={"n": 3})).tolist() == [[1, 1, 1], [2, 2, 2]]
    assert np.asarray(f(x=np.array([1, 2], np.float32), sizes={"n": 1})).tolist() == [[1], [2]]
    with pytest.raises(InputError, match=r"Nothing determines the size of index 'n'; add sizes=\{\"n\": …\}"):
        f(x=np.array([1, 2], np.float32))


def test_values_that_variables_carry():
    x = rc.variable("x[i]", np.array([1.0, 2.0]))
    f = (x * x).compile("numpy")
    assert f().tolist() == [1, 4]
    assert f(x=np.array([3.0, 4.0])).tolist() == [9, 16]
    assert f().tolist() == [1, 4]


@pytest.mark.parametrize("backend", BACKENDS)
def test_lists_numbers_integers_and_truth_values(backend: str):
    """They are what they are to the interpreter, and never modified."""
    formula = rc.parse("y[i] = a x[i] + n[i]")
    f = formula.compile(backend)
    single = np.array([0.5, 1.5], np.float32)
    for a, x, n in [
        (2.0, single, [1, 2]),
        (2, single, [True, False]),
        (np.float32(2), single, np.array([1, 2], np.int32)),
        (np.array(2, np.float32), single, np.array([1, 2], np.uint8)),
        (np.float32(3), [1, 2], [True, True]),
    ]:
        expected = formula(a=a, x=x, n=n)
        result = np.asarray(f(a=a, x=x, n=n))
        assert result.dtype == expected.dtype == np.float32
        np.testing.assert_allclose(result, expected)
    whole = np.asarray(f(a=2, x=[1, 2], n=[3, 4]))
    short = target_named(backend).short()  # JAX without 64 bits
    assert whole.dtype.kind == ("f" if short else "i") and whole.tolist() == [5, 8]


def test_the_backend_follows_the_inputs():
    f = rc.parse("y[i] = x[i]**2").compile()
    assert type(f([1.0, 2.0])) is np.ndarray
    for name in OTHERS:
        module = pytest.importorskip(name if name == "torch" else "jax.numpy")
        array = getattr(module, "tensor" if name == "torch" else "asarray")([1.0, 2.0])
        assert type(f(array)) is type(array)
    assert type(f(np.ones(2))) is np.ndarray


def test_scalars_are_numpy_scalars():
    result = rc.parse("y = x[i] x[i]").compile("numpy")(x=np.array([1, 2], np.float32))
    assert isinstance(result, np.float32) and result == 5  # pyright: ignore[reportArgumentType]
    assert isinstance(rc.parse("y = 2 x").compile("numpy")(x=3), np.int64)  # pyright: ignore[reportArgumentType]


def test_results_are_the_callers_own():
    """Also where the result is an input, a constant, a view, or what another result is."""
    x = variable("x", 2)
    data = normal(3, 3)
    turned = product([(x, "ij")], "ji")
    diagonal = product([(x, "ii")], "i")
    filled = product([(constant(Data(np.arange(3.0), "plans-arange-3")), "i")], "i")
    roots = [x, x, turned, diagonal, filled, product([(x, "ij")], "ijk", {"k": 2}), e.stop_gradient(x), e.exp(x)]
    f = from_core(*roots, product([(e.exp(x), "ij")], "ji"))
    kept = data.copy()
    first, second = f(x=data), f(x=data)
    for result in first:
        assert result.flags.writeable
        result[...] = -1
    np.testing.assert_array_equal(data, kept)
    for result, again, root in zip(second, f(x=data), [*roots, None], strict=True):
        np.testing.assert_array_equal(result, again)
        if root is not None:
            np.testing.assert_array_equal(result, interpret([root], {"x": data}, {})[0])


# Errors: those of the interpreter


FORMULA = "y[i] = A[i,j] x[j] + b[t[i]]"
GOOD: dict[str, Any] = {"A": normal(3, 2), "x": normal(2), "b": normal(4), "t": np.array([0, 1, 3])}
BAD = {
    "nothing": {},
    "one alone": {"A": GOOD["A"]},
    "an unknown input": {**GOOD, "c": 1},
    "a size that differs": {**GOOD, "x": normal(3)},
    "too few axes": {**GOOD, "A": normal(3)},
    "too many axes": {**GOOD, "x": normal(2, 1)},
    "complex": {**GOOD, "x": 1j * normal(2)},
    "strings": {**GOOD, "x": np.array(["a", "b"])},
    "objects": {**GOOD, "x": np.array([None, 1])},
    "ragged": {**GOOD, "A": [[1.0], [2.0, 3.0]]},
    "places that are floats": {**GOOD, "t": np.zeros(3)},
    "a place beyond the end": {**GOOD, "t": np.array([0, 1, 4])},
    "a place before the start": {**GOOD, "t": np.array([0, -1, 3])},
    "an unknown index": {**GOOD, "sizes": {"q": 3}},
    "a size that an input contradicts": {**GOOD, "sizes": {"i": 7}},
    "a negative size": {**GOOD, "sizes": {"i": -1}},
    "a fractional size": {**GOOD, "sizes": {"i": 2.5}},
    "sizes that are none": {**GOOD, "sizes": 3},
}
ON_DATA = {"a place beyond the end", "a place before the start"}


def complaint(f: Callable[..., Any], inputs: dict[str, Any]) -> Exception:
    with pytest.raises((InputError, ShapeError, DTypeError, AxisError)) as raised:
        f(**inputs)
    return raised.value


@pytest.mark.parametrize("fault", BAD)
def test_errors_are_those_of_the_interpreter(fault: str):
    formula = rc.parse(FORMULA)
    for f in (formula.compile("numpy"), formula.compile()):
        for _ in range(2):
            wanted, found = complaint(formula, BAD[fault]), complaint(f, BAD[fault])
            assert (type(found), str(found)) == (type(wanted), str(wanted))
            np.testing.assert_allclose(f(**GOOD), formula(**GOOD))  # a good call in between changes nothing


@pytest.mark.parametrize("backend", OTHERS)
@pytest.mark.parametrize("fault", [fault for fault in BAD if fault not in ON_DATA])
def test_errors_on_other_backends(fault: str, backend: str):
    """Of the same type, and naming the same input; what depends on the entries is not looked at there."""
    formula = rc.parse(FORMULA)
    wanted, found = complaint(formula, BAD[fault]), complaint(formula.compile(backend), BAD[fault])
    assert type(found) is type(wanted)
    assert str(found).split()[:3] == str(wanted).split()[:3]


def test_errors_of_calls():
    f = rc.parse("y = a[i] b[i]").compile("numpy")
    with pytest.raises(InputError, match="3 positional inputs; the inputs are a, b"):
        f(1, 2, 3)
    with pytest.raises(InputError, match="'a' is given twice, by position and by name"):
        f(np.ones(2), np.ones(2), a=np.ones(2))
    with pytest.raises(InputError, match="lacks a value for b; add b=…"):
        f(np.ones(2))
    with pytest.raises(InputError, match=r"no input 'bb'.*Did you mean 'b'"):
        f(a=np.ones(2), bb=np.ones(2))
    assert rc.parse("y = 2 + 3").compile("numpy")() == 5
    with pytest.raises(InputError, match="the inputs are none"):
        rc.parse("y = 2 + 3").compile("numpy")(1)


def test_the_range_of_an_index_is_settled_when_the_text_is_read():
    f = rc.parse("y[i] = x[i+k] w[k]").compile("numpy")
    assert f(x=np.arange(5.0), w=np.ones(2)).tolist() == [1, 3, 5, 7]
    with pytest.raises(InputError, match=r"range of i was settled .* give its size to rc.parse"):
        f(x=np.arange(5.0), w=np.ones(2), sizes={"i": 2})
    shorter = rc.parse("y[i] = x[i+k] w[k]", sizes={"i": 2}).compile("numpy")
    assert shorter(x=np.arange(5.0), w=np.ones(2)).tolist() == [1, 3]
    with pytest.raises(NotationError, match="reads after the last entry"):
        shorter(x=np.arange(2.0), w=np.ones(2))


def test_errors_of_compile():
    formula = rc.parse("y = a[i] b[i]")
    with pytest.raises(InputError, match=r"no backend 'nunpy'; the backends are .*Did you mean 'numpy'\?"):
        formula.compile("nunpy")
    with pytest.raises(InputError, match="no backend 3"):
        formula.compile(3)  # type: ignore
    with pytest.raises(InputError, match="takes formulas, not 'y = a"):
        rc.compile(["y = a[i] b[i]"])  # type: ignore
    with pytest.raises(InputError, match="at least one formula"):
        rc.compile([])


@pytest.mark.parametrize(("package", "install"), [("torch", "pip install torch"), ("jax", "pip install jax")])
def test_a_package_that_is_missing_is_named(package: str, install: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(targets, "_made", {})
    for module in list(sys.modules):
        if module == package or module.startswith((f"{package}.", f"ricci.compiler.backends.{package}")):
            monkeypatch.delitem(sys.modules, module)
    for module in (f"emit.{package}_source", f"run.{package}_target"):
        monkeypatch.delitem(sys.modules, f"ricci.compiler.{module}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)  # an import fails now
    with pytest.raises(MissingPackageError, match=install):
        rc.parse("y = a[i] b[i]").compile(package)


# Plans and sources


@pytest.mark.parametrize(("dtype", "size"), [("float64", 8), ("float32", 4)])
def test_the_table_of_a_matrix_product(dtype: str, size: int):
    f = rc.parse("C[i,k] = A[i,j] B[j,k]").compile("numpy")
    f(A=normal(3, 4).astype(dtype), B=normal(4, 5).astype(dtype))
    head, row, totals = str(f.plan).splitlines()
    assert head.split() == ["step", "operation", "shape", "FLOPs", "bytes"]
    assert row.split()[0] == "t0" and "dot(" in row
    assert row.split()[-3:] == ["3×5", "120", str(15 * size)]  # 2·3·4·5 operations, 15 numbers
    assert totals == f"1 steps, 120 FLOPs, {15 * size} bytes made, at most {15 * size} at once"


def test_peak_memory():
    """Of three vectors made one after the other, at most two are there at once."""
    f = rc.parse("y[i] = A[i,j] B[j,k] C[k,l] x[l]").compile("numpy")
    f(A=normal(6, 6), B=normal(6, 6), C=normal(6, 6), x=normal(6))
    assert f.plan.peak == 2 * 6 * 8
    assert bytes_made(f) == [48, 48, 48]
    assert f.plan.flops == 3 * 2 * 36


def test_plans_before_the_first_call():
    f = rc.parse(LOGISTIC).diff("w", "w").compile("numpy")
    text = str(f.plan)
    assert text.startswith("Sizes are assumed to be 16 until the first call.") and "16×16" in text
    assert "def program(in_y, in_X, in_w):" in f.source
    f(X=normal(5, 2), y=normal(5), w=normal(2))
    assert "assumed" not in str(f.plan) and "16" not in str(f.plan)
    fixed = from_core(product([(variable("A", (2, 3)), "ij"), (variable("B", 2), "jk")], "ik"))
    with pytest.raises(InputError, match="no plan before the first call"):
        str(fixed.plan)  # 16 is not 3


@pytest.mark.parametrize("backend", BACKENDS)
def test_sources_are_straight_lines(backend: str):
    f = rc.parse(LOGISTIC).compile(backend)
    f(X=np.float32(normal(5, 2)), y=np.float32(normal(5)), w=np.float32(normal(2)))
    (program,) = ast.parse(f.source).body
    assert isinstance(program, ast.FunctionDef) and program.name == "program"
    assert [a.arg for a in program.args.args] == ["in_y", "in_X", "in_w"]
    quiet = next((line for line in program.body if isinstance(line, (ast.With, ast.Try))), None)
    body = program.body if quiet is None else quiet.body
    assert all(isinstance(line, (ast.Assign, ast.Return)) for line in body)
    assert max(map(len, f.source.splitlines())) < 120


# What is shared


def test_several_results_share_what_they_have_in_common():
    loss = rc.parse(LOGISTIC)
    gradient, hessian = loss.diff("w"), loss.diff("w", "w")
    inputs = {"X": normal(50, 40), "y": normal(50), "w": normal(40)}
    f = rc.compile([loss, gradient, hessian], "numpy")
    results = f(**inputs)
    for result, formula in zip(results, (loss, gradient, hessian), strict=True):
        np.testing.assert_allclose(result, formula(**inputs), rtol=1e-9)
    apart = []
    for formula in (loss, gradient, hessian):
        alone = formula.compile("numpy")
        alone(**inputs)
        apart += operations(alone)
    assert operations(f).count("dot") == apart.count("dot") - 2 == 3  # X w is computed once
    assert len(operations(f)) < len(apart)


def test_equal_results_are_computed_once():
    formula = rc.parse("y[i] = exp(A[i,j] x[j])")
    f = rc.compile([formula, formula, rc.parse("z[k] = exp(A[k,m] x[m]) + 1[k]")], "numpy")
    a, b, c = f(A=normal(3, 2), x=normal(2))
    assert operations(f) == ["dot", "exp", "add"]
    assert not np.shares_memory(a, b)
    np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(c, a + 1)


# What products become


def test_a_delta_in_a_result_is_a_write_along_a_diagonal():
    formula = rc.parse("H[i,k,j,l] = delta[i,j] M[k,l]")
    f = formula.compile("numpy")
    M = normal(4, 4)
    np.testing.assert_array_equal(f(M=M, sizes={"i": 3}), np.einsum("ij,kl->ikjl", np.eye(3), M))
    assert operations(f) == ["place"] and f.plan.flops == 0


def test_the_hessian_of_matrix_factorisation_multiplies_only_its_core():
    loss = rc.parse("l = 1[i,j] (T[i,j] - U[i,k] V[j,k])**2")
    f = loss.diff("U", "U").compile("numpy")
    U, V = normal(30, 3), normal(20, 3)
    result = f(U=U, V=V)
    np.testing.assert_allclose(result, 2 * np.einsum("ij,kl->ikjl", np.eye(30), V.T @ V))
    assert operations(f)[0] == "dot" and operations(f)[-1] == "place"
    assert f.plan.flops <= 2 * 20 * 9 + 2 * 9


def test_an_identity_is_never_multiplied_with():
    """Sums with deltas: the other terms are computed, the delta is added to the diagonal."""
    f = rc.parse("H[i,j] = A[i,k] A[j,k] + 3 delta[i,j]").compile("numpy")
    A = normal(5, 4)
    np.testing.assert_allclose(f(A=A), A @ A.T + 3 * np.eye(5))
    assert operations(f) == ["dot", "place"]
    traced = rc.parse("y = A[i,j] delta[i,j]").compile("numpy")
    np.testing.assert_allclose(traced(A=A[:4]), np.trace(A[:4]))
    assert operations(traced) == ["read", "sum"]


X3, X1 = variable("x", 3), variable("x", 1)
MOVED: dict[str, tuple[Expr, tuple[int, ...], set[str]]] = {
    "transpose": (product([(X3, "ijk")], "kij"), (2, 3, 4), set()),
    "diagonal": (product([(X3, "iik")], "ki"), (3, 3, 4), {"read"}),
    "slice": (product([(X1, "j"), (window((1,), 2, 7, (4,)), "ji")], "i"), (7,), {"read"}),
    "strided slice": (product([(X1, "j"), (window((2,), 1, 7, (3,)), "ji")], "i"), (7,), {"read"}),
    "reversed": (product([(X1, "j"), (window((-1,), 6, 7, (7,)), "ji")], "i"), (7,), {"read"}),
    "one entry": (product([(X1, "j"), (place(5, 7), "j")], ""), (7,), {"read"}),
    "windows": (product([(X1, "j"), (window((1, 1), 0, 7, (5, 3)), "jik")], "ik"), (7,), {"read"}),
    "merged axes": (product([(X3, "ijk"), (merge((3, 4)), "cjk")], "ic"), (2, 3, 4), {"merge"}),
    "split axis": (product([(X1, "c"), (merge((3, 4)), "cij")], "ij"), (12,), {"read"}),
    "broadcast": (product([(X1, "i")], "ij", {"j": 3}), (4,), set()),
}


@pytest.mark.parametrize("what", MOVED)
def test_movements_are_views(what: str):
    root, shape, allowed = MOVED[what]
    data = np.arange(np.prod(shape), dtype=float).reshape(shape)
    f = from_core(root)
    np.testing.assert_array_equal(f(x=data), interpret([root], {"x": data}, {})[0])
    assert set(operations(f)) <= allowed | {"spread"}
    assert sum(bytes_made(f)) == 0 and f.plan.flops == 0


def test_pads_are_written_around():
    root = product([(X1, "j"), (window((1,), -2, 7, (10,)), "ji")], "i")
    f = from_core(root)
    np.testing.assert_array_equal(f(x=np.arange(7.0)), [0, 0, *range(7), 0])
    assert "dot" not in operations(f) and "place" in operations(f) and sum(bytes_made(f)) <= 2 * 10 * 8


def test_convolutions_are_products_of_windows():
    f = rc.parse("y[i] = x[i+k] w[k]").compile("numpy")
    x, w = normal(50), normal(4)
    np.testing.assert_allclose(f(x=x, w=w), np.correlate(x, w))
    assert operations(f) == ["read", "dot"] and bytes_made(f) == [0, 47 * 8]


def test_gathers_take_and_their_derivatives_scatter():
    formula = rc.parse("l = E[t[i],d] R[i,d]")
    E, t, R = normal(10, 3), np.array([1, 7, 1]), normal(3, 3)
    values = rc.parse("y[i,d] = E[t[i],d]").compile("numpy")
    np.testing.assert_array_equal(values(E=E, t=t), E[t])
    assert operations(values) == ["check", "take"]
    gradient = formula.diff("E").compile("numpy")
    expected = np.zeros((10, 3))
    np.add.at(expected, t, R)
    np.testing.assert_allclose(gradient(E=E, t=t, R=R), expected)
    assert operations(gradient) == ["check", "scatter"]


def test_only_what_is_no_relation_of_one_index_becomes_an_array():
    """Triangles are 0/1 arrays, made when the plan is, once."""
    x = variable("x", 2)
    f = from_core(product([(x, "ij"), (triangle(3, 3), "ij")], "ij"))
    data = normal(3, 3)
    np.testing.assert_array_equal(f(x=data), np.tril(data))
    assert len(f.plan.program.constants) == 1


def test_a_solve_takes_the_place_of_an_inverse():
    A, b = normal(6, 6) + 6 * np.eye(6), normal(6)
    f = rc.parse("y[i] = inv(A)[i,j] b[j]").compile("numpy")
    np.testing.assert_allclose(f(A=A, b=b), np.linalg.solve(A, b))
    assert operations(f) == ["solve"]
    whole = rc.parse("y[i,j] = inv(A)[i,j]").compile("numpy")
    np.testing.assert_allclose(whole(A=A), np.linalg.inv(A))
    assert operations(whole) == ["inv"]


@pytest.mark.parametrize("text", ["y[i] = A[i,j] B[j,k] C[k,l] x[l]", "y[l] = x[i] A[i,j] B[j,k] C[k,l]"])
def test_chains_with_a_vector_are_products_of_matrices_with_vectors(text: str):
    n = 30
    inputs = {"A": normal(n, n), "B": normal(n, n), "C": normal(n, n), "x": normal(n)}
    f = rc.parse(text).compile("numpy")
    np.testing.assert_allclose(f(**inputs), rc.parse(text)(**inputs), rtol=1e-9)
    assert operations(f) == ["dot"] * 3 and f.plan.flops == 3 * 2 * n * n


def test_chains_of_matrices_go_by_their_sizes():
    """The same formula in another order of multiplication for other sizes."""
    f = rc.parse("Y[i,l] = A[i,j] B[j,k] C[k,l]").compile("numpy")
    for shape in ((2, 50, 3, 40), (50, 2, 40, 3), (3, 40, 50, 2)):
        i, j, k, n = shape
        A, B, C = normal(i, j), normal(j, k), normal(k, n)
        np.testing.assert_allclose(f(A=A, B=B, C=C), A @ B @ C, rtol=1e-9)
        assert f.plan.flops == 2 * min(i * j * k + i * k * n, j * k * n + i * j * n)


def test_products_of_many_operands_stay_small():
    """A ring of 24 matrices: nothing larger than a matrix is made, and no more work is done than for a product each."""
    names = [f"M{k}" for k in range(24)]
    letters = [chr(97 + k) for k in range(24)]
    text = "y = " + " ".join(f"{name}[{a},{b}]" for name, a, b in zip(names, letters, letters[1:] + letters[:1]))
    f = rc.parse(text).compile("numpy")
    inputs = {name: normal(6, 6) / 2 for name in names}
    np.testing.assert_allclose(
        f(**inputs), np.trace(np.linalg.multi_dot([inputs[n] for n in names])), rtol=1e-6, atol=1e-9
    )
    assert max(bytes_made(f)) <= 8 * 6**2 and f.plan.flops <= 23 * 2 * 6**3


# Products that are symmetric


def is_half(f: Compiled) -> bool:
    """Whether the plan multiplies one array with itself, after a square root."""
    steps = f.plan.program.steps
    twice = any(step.op == "dot" and step.args[0][0] is step.args[1][0] for step in steps)
    return twice and "sqrt" in operations(f)


@pytest.mark.parametrize("weights", ["exp(s[m])", "s[m]**2", "sigmoid(s[m])", "softplus(s[m])", "abs(s[m])"])
def test_a_weight_that_is_never_negative_goes_into_both_factors(weights: str):
    formula = rc.parse(f"H[n,p] = X[m,n] X[m,p] {weights}")
    f = formula.compile("numpy")
    X, s = normal(50, 40), 3 * normal(50)
    for values in (s, np.where(s > 0, -1000.0, s), np.where(s > 2, -740.0, s), np.zeros(50)):
        result, expected = f(X=X, s=values), formula(X=X, s=values)  # where exp and sigmoid are 0, or nearly
        np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    assert is_half(f)


def test_a_weight_may_be_nan_or_infinite():
    f = rc.parse("H[n,p] = X[m,n] X[m,p] exp(s[m])").compile("numpy")
    X, s = normal(50, 40), normal(50)
    s[7] = np.nan
    assert np.isnan(f(X=X, s=s)).all() and is_half(f)
    s[7] = np.inf
    np.testing.assert_array_equal(f(X=X, s=s), (X.T * np.exp(s)) @ X)


@pytest.mark.parametrize("weights", ["s[m]", "tanh(s[m])", "(1 - 2 tanh(s[m])**2)", "s[m]**3", "(exp(s[m]) - 1[m])"])
def test_a_weight_that_may_be_negative_does_not(weights: str):
    formula = rc.parse(f"H[n,p] = X[m,n] X[m,p] {weights}")
    f = formula.compile("numpy")
    X, s = normal(50, 40), normal(50)
    np.testing.assert_allclose(f(X=X, s=s), formula(X=X, s=s), rtol=1e-9, atol=1e-9)
    assert not is_half(f) and "sqrt" not in operations(f)


def test_the_test_of_weights_can_fail(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ricci.compiler.lower.expressions.nonnegative", set)
    f = rc.parse("H[n,p] = X[m,n] X[m,p] tanh(s[m]) v[m]").compile("numpy")
    result = f(X=normal(50, 40), s=normal(50), v=normal(50))
    assert is_half(f) and np.isnan(result).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_hessian_of_logistic_regression(backend: str):
    f = rc.parse(LOGISTIC).diff("w", "w").compile(backend)
    X, y, w = np.float32(normal(60, 40)), np.float32(np.sign(normal(60))), np.float32(normal(40) / 8)
    result = np.asarray(f(X=X, y=y, w=w))
    s = 1 / (1 + np.exp(y * (X @ w)))  # pyright: ignore[reportOperatorIssue]
    np.testing.assert_allclose(result, (X.T * (s * (1 - s))) @ X, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(result, result.T)
    assert is_half(f)


# Names and numbers of users are not in the source


HOSTILE = [
    "__import__",
    "x); import os; (",
    "lambda",
    "None",
    "x\nimport os\n",
    'x"""',
    "x'",
    "#",
    "λ",
    "ｘ",
    "",
    " ",
    "in_x",
    "t3",
    "c0",
    "program",
    "exec",
    "x\\",
    "x\u2028y",
    "{0}",
    "%s",
]


def allowed_names(source: str) -> set[str]:
    """Every name in a source, after a check that the source is one function, without imports or attributes we lack."""
    (program,) = ast.parse(source).body
    assert isinstance(program, ast.FunctionDef)
    nodes = list(ast.walk(program))
    assert not [n for n in nodes if isinstance(n, (ast.Import, ast.ImportFrom, ast.Lambda, ast.Global))]
    return {n.id for n in nodes if isinstance(n, ast.Name)} | {a.arg for a in program.args.args}


@pytest.mark.unchecked  # one of them is empty
@pytest.mark.parametrize("backend", BACKENDS)
def test_hostile_names_are_not_in_the_source(backend: str):
    for name in HOSTILE:
        x, other = variable(name, 1), variable("other", 1)
        f = from_core(e.exp(x) * other + 1, backend=backend)
        result = f(**{name: np.array([0, 1], np.float32), "other": np.array([2, 3], np.float32)})
        np.testing.assert_allclose(np.asarray(result), np.exp([0, 1]) * [2, 3] + 1, rtol=1e-5)
        plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name)
        inputs = {n for n in allowed_names(f.source) if n.startswith("in")}
        assert inputs == {"in_other", f"in_{name}"} if plain else len(inputs) == 2 and f"in_{name}" not in inputs
        if not plain and name.strip():
            assert name not in f.source
        assert str(f.plan)


@pytest.mark.unchecked
def test_all_hostile_names_at_once():
    """No two of them are the same in the source."""
    names = [*HOSTILE, "x", "in0", "in1"]
    f = from_core(sum((variable(name, 0) * (k + 2) for k, name in enumerate(names)), constant(0)))
    values = {name: float(k) for k, name in enumerate(names)}
    assert f(**values) == sum(k * (k + 2) for k in range(len(names)))
    program = ast.parse(f.source).body[0]
    assert isinstance(program, ast.FunctionDef)
    assert len({a.arg for a in program.args.args}) == len(names)


def test_names_that_are_no_names_are_refused_where_text_is_read():
    for text in ("x); import os; (", "x\ny", "x y", "x'"):
        with pytest.raises(InputError, match="does not name a variable"):
            rc.variable(text)
    assert rc.variable("lambda").compile("numpy")(**{"lambda": 2.0}) == 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_numbers_are_passed_and_not_pasted(backend: str):
    x = variable("x", 1)
    data = constant(Data(np.array([17.25, 42.125]), "plans-pasted"))
    f = from_core(0.123456789 * x + data**2 * 98765.4321 + constant("pi"), backend=backend)
    result = np.asarray(f(x=np.array([1, 2], np.float32)))
    expected = 0.123456789 * np.array([1, 2]) + np.array([17.25, 42.125]) ** 2 * 98765.4321 + np.pi
    np.testing.assert_allclose(result, expected, rtol=1e-5)
    numbers = [n.value for n in ast.walk(ast.parse(f.source)) if isinstance(n, ast.Constant)]
    assert not [n for n in numbers if isinstance(n, float)]
    assert any(name.startswith("c0") for name in allowed_names(f.source))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e308])
def test_numbers_without_a_literal(value: float):
    f = from_core(variable("x", 1) * constant(value))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(f(x=np.array([1.0, -2.0])), np.array([1.0, -2.0]) * value)
