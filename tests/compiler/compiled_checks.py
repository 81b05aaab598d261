"""Random programs, and the check that compiled ones do what the interpreter does: for properties and for faults.

A case is a random expression, or derivatives of one, or several parts of one at once, with inputs. A check compiles it,
calls the function twice, and compares with the interpreter: values, types, shapes; that inputs are as they were, and
that no two results share memory with one another, with inputs or with a later call's. What it returns says how it went,
so that a test can count the samples in which there was nothing to compare.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ricci.calculus.modes import derivative
from ricci.compiler import pipeline
from ricci.compiler.emit import numpy_source as emit_numpy
from ricci.compiler.plan.loops import Worth, blocked
from ricci.compiler.run import target
from ricci.compiler.run.function import Compiled
from ricci.errors import RicciError
from ricci.expr import OPS, Constant, Expr, dims, elementwise, product, topological, variable, variables
from ricci.expr.settle import own_sizes
from ricci.notation.context import Facts
from ricci.simplify import simplify_all
from ricci.testing import Sample, random_expression
from ricci.testing.interpreter import interpret

WHAT = ("value", "value", "first", "second", "several")
TOLERANCE = 1e-9  # in float64, relative to the largest number on the way
SINGLE = 1e-3  # in float32, relative to the largest entry of the result


@dataclass(frozen=True)
class Case:
    """Expressions to compile, inputs, and symbolic sizes."""

    roots: list[Expr]
    inputs: dict[str, np.ndarray]
    sizes: dict
    shown: str

    def __repr__(self) -> str:
        return self.shown

    def interpreted(self, roots: Sequence[Expr], inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        return [np.asarray(value) for value in interpret(roots, inputs, self.sizes)]

    def as_type(self, dtype: str) -> Case:
        cast = {name: a.astype(dtype) if a.dtype.kind == "f" else a for name, a in self.inputs.items()}
        return replace(self, inputs=cast)


# Random cases


def make_case(seed: int, what: str | None = None, **options: Any) -> Case:
    """A random expression with inputs; its first or second derivative by one of them; or several of its parts."""
    rng = random.Random(seed)
    chosen = {"size": rng.randint(2, 14), "order": rng.choice([2, 3, 4]), "symbolic": rng.random() < 0.5, **options}
    sample = random_expression(rng, **chosen)
    roots = _roots(rng, what or rng.choice(WHAT), sample.build(), sample)
    if rng.random() < 0.4:
        roots = simplify_all(roots)
    return Case(
        list(roots), dict(sample.inputs), dict(sample.sizes), f"make_case({seed}, {what!r}, {options})\n{sample!r}"
    )


def _roots(rng: random.Random, what: str, y: Expr, sample: Sample) -> list[Expr]:
    if what == "several":
        parts = [node for node in topological(y) if not isinstance(node, Constant)]
        return [y, *[rng.choice(parts) for _ in range(3)]] if parts else [y]
    floats = [v for v in variables(y) if sample.inputs[v.name].dtype.kind == "f"]
    if what == "value" or not floats:
        return [y]
    x = rng.choice(floats)
    if y.order + x.order > 5:
        return [y]
    try:
        found = derivative(y, x)
        if what == "second" and y.order + 2 * x.order <= 6:
            found = derivative(found, x)
    except RicciError:  # places have no derivative
        return [y]
    return [y, found] if rng.random() < 0.3 else [found]


def repeated_product(seed: int) -> Case:
    """A product in which few arrays occur many times: factors, their mirror image with some labels renamed, and others.

    Which labels are kept is drawn for each, so that many are nearly, but not quite, symmetric.
    """
    rng = random.Random(seed)
    n, numbers = rng.choice([2, 3]), np.random.default_rng(seed)
    x, y, v = variable("x", (1, n, n)), variable("y", (n, n)), variable("v", (n,))
    positive = elementwise(OPS["exp"], v)

    def drawn(count: int, letters: str, *pool: Expr) -> list[tuple[Expr, list[str]]]:
        chosen = rng.choices(pool, k=count)
        return [(e, ["p" if size == 1 else rng.choice(letters) for size in e.shape]) for e in chosen]

    half = drawn(rng.randint(1, 3), "abst", x, x, x, y, v, positive, x**2)
    if rng.random() < 0.3:
        half = [(y, ["s", "a"])]  # as in yᵀ diag(v) y
    image = {"a": "A", "b": "B", "p": rng.choice("pP")}
    mirrored = [(e, [image.get(label, label) for label in own]) for e, own in half]
    factors = [*half, *mirrored, *drawn(rng.choice([0, 1, 2]), "st", v, positive, positive, x**2, y)]
    labels = sorted({label for _, own in factors for label in own})
    likely = {"a": 0.6, "A": 0.6, "b": 0.3, "B": 0.3}
    out = [label for label in labels if rng.random() < likely.get(label, 0.1)]
    rng.shuffle(out)
    inputs = {e.name: numbers.normal(size=e.shape) for e in (x, y, v)}  # pyright: ignore[reportArgumentType, reportCallIssue]
    return Case([product(factors, out)], inputs, {}, f"repeated_product({seed})")


# Layouts


def odd_layout(rng: random.Random, array: np.ndarray) -> np.ndarray:
    """An array like this one, laid out in some other way, or read-only; one that repeats has other entries."""
    if not array.ndim:
        return array.copy()
    return LAYOUTS[rng.choice(list(LAYOUTS))](array)


def _reversed(array: np.ndarray) -> np.ndarray:
    back = (slice(None, None, -1),) * array.ndim
    return array[back].copy()[back]


def _strided(array: np.ndarray) -> np.ndarray:
    wide = np.full([2 * n + 1 for n in array.shape], 7, array.dtype)
    view = wide[tuple([slice(1, 2 * n + 1, 2) for n in array.shape])]
    view[...] = array
    return view


def _read_only(array: np.ndarray) -> np.ndarray:
    copy = array.copy()
    copy.setflags(write=False)
    return copy


def _repeated(array: np.ndarray) -> np.ndarray:
    return np.broadcast_to(array[:1], array.shape) if array.shape[0] else array.copy()


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "plain": np.copy,
    "Fortran": np.asfortranarray,
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "reversed": _reversed,
    "strided": _strided,
    "read-only": _read_only,
    "repeated": _repeated,
}


# Compiling and calling


def compiled(case: Case, backend: str | None, jit: bool = False, fused: bool = False) -> Callable[..., Any]:
    """The compiled function of a case. Plans are its own: what others may have made is forgotten."""
    pipeline._plans.clear()
    inputs = {name: a.ndim for name, a in case.inputs.items()}
    facts = Facts(inputs=inputs, mentions=dict.fromkeys(inputs))
    stage = pipeline.prepare(case.roots, facts=facts, simplify=False)
    f = Compiled(stage, backend, False, (("jit", jit), ("fused", fused)))
    nodes = topological(*case.roots)
    mentioned = {a for node in nodes for size in (*own_sizes(node), *node.shape) for a in dims.atoms(size)}
    free = {atom[0]: case.sizes[atom] for atom in mentioned if len(atom) == 1}
    f.free_sizes = {"sizes": free} if free else {}  # type: ignore[attr-defined]
    return f


def called(f: Any, inputs: Mapping[str, Any]) -> tuple:
    return f(**inputs, **f.free_sizes)


def given_to(backend: str, array: np.ndarray) -> Any:
    """An input as a user of the backend has it."""
    if backend != "torch":
        return array
    import torch

    usable = array.flags.writeable and all(stride >= 0 for stride in array.strides)
    return torch.from_numpy(array if usable else array.copy())


def as_numpy(value: Any) -> np.ndarray:
    return value.detach().numpy() if hasattr(value, "detach") else np.asarray(value)


def small_loops(monkeypatch: Any, rows: int) -> None:
    """Make NumPy source loop over blocks of so many rows, and reuse memory, wherever it can."""
    monkeypatch.setattr(target, "blocked", lambda program, size: blocked(program, size, Worth(0, 1, rows)))
    monkeypatch.setattr(emit_numpy, "LARGE", 1)


# The check


def check(case: Case, backend: str = "numpy", dtype: str = "float64", jit: bool = False, times: int = 2) -> str:
    """Compare the compiled function with the interpreter. What is returned:

    "same"; "kind" where the result has another type, as it may if it depends on no input, if some axis is empty, or if
    a structure meets integers; "ill" where rounding alone changes the result, so that nothing can be said.
    """
    case = case.as_type(dtype)
    f = compiled(case, backend, jit)
    inputs = {name: given_to(backend, a) for name, a in case.inputs.items()}
    before = {name: np.array(as_numpy(a)) for name, a in inputs.items()}
    results = called(f, inputs)
    kept = [np.array(as_numpy(r)) for r in results]
    again = [called(f, inputs) for _ in range(times - 1)]
    try:
        for name, a in inputs.items():
            assert np.array_equal(before[name], as_numpy(a), equal_nan=a.dtype != bool), f"{name} was changed"
        for first, second in zip(kept, results, strict=True):
            np.testing.assert_array_equal(first, as_numpy(second), err_msg="a later call changed a result")
        for later in again:
            for first, second in zip(results, later, strict=True):
                np.testing.assert_array_equal(as_numpy(first), as_numpy(second), err_msg="a later call gave another")
        check_memory(backend, results, [*inputs.values(), *[r for later in again for r in later]])
        said = {_compare(case, n, as_numpy(result), dtype) for n, result in enumerate(results)}
    except AssertionError as error:
        raise AssertionError(f"{error}\non {backend}, {dtype}: {case!r}\n{f.source}") from error
    return min(said, key=["ill", "kind", "same"].index)


def check_memory(backend: str, results: Sequence[Any], others: Sequence[Any]) -> None:
    """Results have memory of their own, and on NumPy they can be written to."""
    if backend == "jax":
        return  # its arrays cannot be changed
    for n, result in enumerate(results):
        if backend == "numpy":
            assert result.ndim == 0 or result.flags.writeable, f"result {n} is read-only"
        for other in [*results[:n], *others]:
            assert not _overlap(result, other), f"result {n} shares memory"


def _overlap(a: Any, b: Any) -> bool:
    if hasattr(a, "untyped_storage"):
        return a.numel() and b.numel() and a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
    return a.ndim > 0 and np.ndim(b) > 0 and np.shares_memory(a, b)


def _compare(case: Case, number: int, got: np.ndarray, dtype: str) -> str:
    root = [case.roots[number]]
    (want,) = case.interpreted(root, case.inputs)
    assert got.shape == want.shape, f"result {number} has the shape {got.shape}, not {want.shape}"
    said = "same"
    if got.dtype != want.dtype:
        floating = {a.dtype for a in case.inputs.values() if a.dtype.kind == "f"} or {np.dtype(float)}
        number_of_its_own = want.dtype.kind in "bi" and got.dtype in floating
        empty = 0 in case.sizes.values() or any(a.size == 0 for a in case.inputs.values())
        free = number_of_its_own or empty or not variables(*root)
        assert free, f"result {number}: {got.dtype}, not {want.dtype}"
        said = "kind"
    if dtype == "float32":
        (exact,) = case.as_type("float64").interpreted(root, case.as_type("float64").inputs)
        scale = _largest(exact)
        if not _near(want, exact, 0.1 * SINGLE * scale):
            return "ill"
        want, tolerance = exact, SINGLE * scale
    else:
        tolerance = TOLERANCE * max(map(_largest, case.interpreted(topological(*root), case.inputs)))
    if not _near(got, want, tolerance):
        if _ill(case, root, tolerance):
            return "ill"
        np.testing.assert_allclose(got, want, atol=tolerance, err_msg=f"result {number}")
        raise AssertionError(f"result {number}: infinities or NaN")
    return said


def _near(a: np.ndarray, b: np.ndarray, tolerance: float) -> bool:
    """Whether the entries agree where ``b`` is finite; zero times what is not may be either."""
    where = np.isfinite(b)
    return bool(np.all(np.abs(a[where].astype(float) - b[where].astype(float)) <= tolerance))


def _largest(value: np.ndarray) -> float:
    return max(1.0, float(np.max(np.abs(value[np.isfinite(value)].astype(float)), initial=0)))


def _ill(case: Case, root: list[Expr], tolerance: float) -> bool:
    """Whether changes of the size of rounding errors, or a comparison between equals, decide the result."""
    (want,) = case.interpreted(root, case.inputs)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        moved = {
            n: a * (1 + 1e-13 * rng.normal(size=a.shape)) if a.dtype == float else a for n, a in case.inputs.items()
        }
        if not _near(case.interpreted(root, moved)[0], want, 0.1 * tolerance):
            return True
    return False
