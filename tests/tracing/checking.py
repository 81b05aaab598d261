"""The check that a traced function is the function: its value, its Jacobian and its second derivative.

A function of arrays is traced, and run by NumPy itself. The two must agree in shapes, types and numbers, interpreted
and compiled. The Jacobian of what was traced must agree in every mode with central differences of what NumPy computes,
and the second derivative of a random linear functional of the result, which is small, with central differences of its
gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ricci.calculus.modes import derivative, derivatives
from ricci.compiler.pipeline import prepare
from ricci.compiler.run.function import Compiled
from ricci.expr import Expr, Variable, add, product, variables
from ricci.expr import variable as input_node
from ricci.notation.context import Facts
from ricci.testing.interpreter import interpret
from ricci.tracing import recording  # noqa: F401  # what traced arrays do in calls
from ricci.tracing.array import Traced
from ricci.tracing.frames import frame
from ricci.tracing.trees import flatten

STEP = 1e-5
CLOSE = {"f8": 1e-10, "f4": 1e-4, "f2": 2e-2}  # of values, relative to the largest one
DERIVATIVES = 2e-6


@dataclass
class Program:
    """A traced function: what it returned, leaf by leaf, with its inputs and the arrays it met."""

    results: list[Any]  # traced arrays, or what did not depend on the arguments
    form: tuple
    inputs: list[Variable]
    captured: dict[str, np.ndarray]

    def values(self, roots: Sequence[Expr], arrays: Sequence[np.ndarray], **more: Any) -> list[np.ndarray]:
        """The values of expressions, interpreted."""
        return [np.asarray(v) for v in interpret(list(roots), self.given(arrays, **more), {})]

    def compiled(self, roots: Sequence[Expr], arrays: Sequence[np.ndarray], **more: Any) -> list[np.ndarray]:
        """The values of expressions, from compiled code."""
        given = self.given(arrays, **more)
        return [np.asarray(v) for v in self.function(roots, given)(**given)]

    def function(self, roots: Sequence[Expr], given: dict[str, Any]) -> Compiled:
        """Expressions compiled for these inputs."""
        facts = Facts(inputs={name: np.ndim(a) for name, a in given.items()}, mentions=dict.fromkeys(given))
        return Compiled(prepare(roots, facts=facts, simplify=False), "numpy", single=False, options=(("fused", False),))

    def given(self, arrays: Sequence[np.ndarray], **more: Any) -> dict[str, Any]:
        """The inputs by name."""
        return {**{x.name: a for x, a in zip(self.inputs, arrays, strict=True)}, **self.captured, **more}


def traced(f: Callable[..., Any], *arrays: Any) -> Program:
    """``f`` traced on arrays of these shapes and types."""
    with frame(getattr(f, "__name__", "f")) as own:
        inputs = [own.variable(f"x{k}", np.shape(a)) for k, a in enumerate(arrays)]
        results, form = flatten(f(*[Traced(x, np.asarray(a).dtype, own) for x, a in zip(inputs, arrays, strict=True)]))
    return Program(results, form, inputs, own.captured)


def check(
    f: Callable[..., Any], *arrays: Any, order: int = 2, modes: Sequence[str] = ("forward", "reverse")
) -> Program:
    """Asserts that tracing ``f`` gives what NumPy gives, with derivatives to ``order`` by the float64 arguments."""
    own = [np.asarray(a) for a in arrays]
    program = traced(f, *own)
    check_values(program, f, own)
    smooth = [k for k, a in enumerate(own) if a.dtype == np.float64]
    if order >= 1 and smooth:
        check_jacobians(program, f, own, smooth, modes)
    if order >= 2 and smooth:
        check_second(program, own, smooth, modes)
    return program


def check_values(program: Program, f: Callable[..., Any], arrays: Sequence[np.ndarray]) -> None:
    """The results themselves: how they are nested, shapes, types and numbers."""
    expected, form = flatten(f(*arrays))
    assert _plain(program.form) == _plain(form), f"the result is nested as {program.form}, NumPy's as {form}"
    pairs = [(r, e) for r, e in zip(program.results, expected, strict=True) if isinstance(r, Traced)]
    for result, wanted in zip(program.results, expected, strict=True):
        if not isinstance(result, Traced):
            np.testing.assert_array_equal(result, wanted)
    for result, wanted in pairs:
        assert result.shape == np.shape(wanted), f"the shape is {result.shape}, NumPy's is {np.shape(wanted)}"
        assert result.dtype == np.asarray(wanted).dtype, f"the type is {result.dtype}, not {np.asarray(wanted).dtype}"
    roots = [result.expr for result, _ in pairs]
    for run in (program.values, program.compiled) if roots else ():
        for value, (_, wanted) in zip(run(roots, arrays), pairs, strict=True):
            _agree(f"{run.__name__} of the result", value, np.asarray(wanted))


def _plain(form: tuple) -> tuple:
    """The form, named tuples and the like taken for tuples: NumPy has classes of its own for some results."""
    kinds = {"namedtuple": "tuple", "sequence": "tuple"}
    return (kinds.get(form[0], form[0]), *([len(form[2]), tuple(map(_plain, form[2]))] if len(form) == 3 else []))


def check_jacobians(
    program: Program, f: Callable[..., Any], arrays: list[np.ndarray], smooth: Sequence[int], modes: Sequence[str]
) -> None:
    """The derivatives of all floating results by ``arrays[k]``, for ``k`` in ``smooth``, in each mode."""
    chosen = _floating(program)
    if not chosen:
        return
    xs = [program.inputs[k] for k in smooth]
    columns = [_differences(lambda *a: _leaves(f, a, chosen), arrays, k) for k in smooth]
    for mode in modes:
        rows = derivatives([program.results[p].expr for p in chosen], xs, mode)
        found = program.values([d for row in rows for d in row], arrays)
        for place, value in enumerate(found):
            result, by = divmod(place, len(xs))
            _agree(
                f"the {mode} derivative of result {chosen[result]} by argument {smooth[by]}", value, columns[by][result]
            )


def check_second(program: Program, arrays: list[np.ndarray], smooth: Sequence[int], modes: Sequence[str]) -> None:
    """The second derivative of a random linear functional of the results, and its gradient in compiled code."""
    chosen = _floating(program)
    if not chosen:
        return
    random = np.random.default_rng(7)
    weights = {f"w{p}": random.normal(size=program.results[p].shape) for p in chosen}
    terms = []
    for p in chosen:
        e = program.results[p].expr
        axes = range(len(e.shape))
        terms.append((1, product([(e, axes), (input_node(f"w{p}", e.shape), axes)], ())))
    xs = [program.inputs[k] for k in smooth]
    gradients = derivatives([add(terms)], xs, "reverse")[0]
    values = program.values(gradients, arrays, **weights)
    for k, value, compiled in zip(smooth, values, program.compiled(gradients, arrays, **weights), strict=True):
        _agree(f"the compiled gradient by argument {k}", compiled, value)
    for by, x in zip(smooth, xs, strict=True):
        wanted = _differences(lambda *a: program.values(gradients, a, **weights), arrays, by)
        for mode in modes:
            found = program.values([derivative(g, x, mode) for g in gradients], arrays, **weights)
            for k, value, column in zip(smooth, found, wanted, strict=True):
                _agree(f"the second derivative ({mode} over reverse) by arguments {k}, {by}", value, column)


def _floating(program: Program) -> list[int]:
    """The results that depend on the inputs and are floating numbers."""
    own = set(program.inputs)
    return [
        p
        for p, r in enumerate(program.results)
        if isinstance(r, Traced) and r.dtype == np.float64 and own & set(variables(r.expr))
    ]


def _leaves(f: Callable[..., Any], arrays: Sequence[np.ndarray], chosen: Sequence[int]) -> list[np.ndarray]:
    leaves = flatten(f(*arrays))[0]
    return [np.asarray(leaves[p], dtype=float) for p in chosen]


def _differences(f: Callable[..., list[np.ndarray]], arrays: Sequence[np.ndarray], by: int) -> list[np.ndarray]:
    """Central differences of the results of ``f`` by one argument: the axes of the result, then its own."""
    array = arrays[by]
    columns = []
    for place in np.ndindex(array.shape):
        ends = []
        for sign in (1, -1):
            moved = np.array(array)
            moved[place] += sign * STEP
            ends.append(f(*[moved if k == by else a for k, a in enumerate(arrays)]))
        columns.append([(up - down) / (2 * STEP) for up, down in zip(*ends, strict=True)])
    if not columns:
        return [np.zeros((*r.shape, *array.shape)) for r in f(*arrays)]
    return [np.stack(rows, axis=-1).reshape((*rows[0].shape, *array.shape)) for rows in zip(*columns, strict=True)]


def _agree(what: str, value: np.ndarray, wanted: np.ndarray) -> None:
    """Numbers that are equal but for rounding."""
    assert value.shape == wanted.shape, f"{what} has the shape {value.shape}, not {wanted.shape}"
    types = (wanted.dtype,) if wanted.dtype.kind != "f" else (wanted.dtype, value.dtype)  # single precision computes so
    close = max([CLOSE.get(t.str[1:], 0) for t in types]) if "derivative" not in what else DERIVATIVES
    finite = np.abs(wanted[np.isfinite(wanted)]) if wanted.dtype.kind == "f" else np.abs(wanted.astype(float))
    atol = close * max(1.0, float(finite.max(initial=0)))
    given = value.astype(wanted.dtype) if wanted.dtype.kind in "iub" else value
    np.testing.assert_allclose(given, wanted, rtol=close, atol=atol, err_msg=what)
