"""Compiling formulas: one, or several that share what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

from ricci.checked_calls import shown, takes
from ricci.compiler.blocks.block_inputs import check_blocks, read_blocks
from ricci.compiler.blocks.chunked import blocked
from ricci.compiler.compressed.result import CompressedFunction
from ricci.compiler.pipeline import prepare
from ricci.compiler.run.function import Compiled
from ricci.dispatch import offered
from ricci.errors import InputError
from ricci.expr import Size
from ricci.kinds import kind_of
from ricci.notation.context import merged
from ricci.user.formula import OtherOrders
from ricci.user.one_side import check_one_side

if TYPE_CHECKING:
    from ricci.compiler.blocks.blocked_function import BlockedFunction
    from ricci.transforms.transformed import Transformed
    from ricci.transforms.typed import P, R
    from ricci.user.formula import Formula


@overload
def compile(
    formulas: Formula | Iterable[Formula],
    backend: str | None = None,
    *,
    compressed: Literal[True],
    simplify: bool = True,
    fused: bool | None = None,
    jit: bool | None = None,
    mesh: Any = None,
    axes: Mapping[str, Any] | None = None,
) -> CompressedFunction: ...
@overload
def compile(
    formulas: Formula | Iterable[Formula],
    backend: str | None = None,
    *,
    blocks: Mapping[str, int | str | None] | str | Sequence[str],
    memory: int | str | None = None,
    progress: bool | Callable[[int, int], Any] = False,
    threads: int | None = None,
    simplify: bool = True,
    fused: bool | None = None,
) -> BlockedFunction: ...
@overload
def compile(
    formulas: Formula | Iterable[Formula],
    backend: str | None = None,
    *,
    compressed: bool = False,
    simplify: bool = True,
    fused: bool | None = None,
    jit: bool | None = None,
    mesh: Any = None,
    axes: Mapping[str, Any] | None = None,
    blocks: Mapping[str, int | str | None] | str | Sequence[str] | None = None,
    memory: int | str | None = None,
    progress: bool | Callable[[int, int], Any] = False,
    threads: int | None = None,
) -> Compiled: ...
@overload
def compile(
    formulas: Callable[P, R],
    backend: str | None = None,
    *,
    fused: bool | None = None,
    jit: bool | None = None,
    mesh: Any = None,
    axes: Mapping[str, Any] | None = None,
    blocks: Mapping[str, int | str | None] | str | Sequence[str] | None = None,
    memory: int | str | None = None,
    progress: bool | Callable[[int, int], Any] = False,
    threads: int | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
) -> Transformed[P, R]: ...
@takes(
    "rc.compile", compressed="flag", simplify="flag", fused="flag or None", jit="flag or None", threads="count or None"
)
def compile(
    formulas: Formula | Iterable[Formula] | Callable,
    backend: str | None = None,
    *,
    compressed: bool = False,
    simplify: bool = True,
    fused: bool | None = None,
    jit: bool | None = None,
    mesh: Any = None,
    axes: Mapping[str, Any] | None = None,
    blocks: Mapping[str, int | str | None] | str | Sequence[str] | None = None,
    memory: int | str | None = None,
    progress: bool | Callable[[int, int], Any] = False,
    threads: int | None = None,
    **more: Any,
) -> Any:
    """A fast function of arrays. For several formulas it returns a tuple, and computes what they share once.

    A function of NumPy arrays may be given instead of formulas: it is traced when it is first called with arguments of
    a kind, and compiled. ``static_argnums`` and ``static_argnames`` then name arguments that are not traced.

    ``backend`` is "numpy", "torch" or "jax"; without it the function follows the type of the arrays it is called with.
    With ``compressed`` results are not made whole: they are cores and structure, see ``Compressed``.
    On NumPy, loops are compiled by Numba where it is installed and measured times of calls say that it pays: at once
    with ``fused=True``, never with ``fused=False``. On JAX functions are jitted unless ``jit=False``. On PyTorch they
    go through ``torch.compile`` with ``jit=True``; on a GPU, unless ``jit=False``, a program that is called again is
    captured as a graph, whose kernels are launched at once, and that is kept if it was measured to be faster.
    On JAX with several devices, ``mesh=jax.make_mesh((8,), ("data",)), axes={"m": "data"}`` cuts the index ``m`` along
    an axis of the mesh, in inputs and results; XLA does the rest. ``f.mesh_costs()`` says what is sent.

    ``blocks={"m": 4096}`` computes block by block along the index ``m``, on NumPy: data may lie in a file, of which no
    more is read at once, and no array of its size is made. ``blocks="m"`` takes blocks as long as ``memory="1 GB"``
    allows; ``memory`` alone cuts what has to be cut. ``progress`` shows how far a run is, ``threads`` says how many
    blocks are computed at once. Calls take ``out=``, files or arrays for results, and ``resume=``, the name of a file
    from which a run goes on that ended early. ``f.plan`` tells how often the data are read. With the backend "dask" the
    blocks are tasks of Dask's, inputs may be its arrays, and results are, not computed yet.

    >>> import numpy as np
    >>> from ricci import compile, parse
    >>> loss = parse("l = (A[i,j] x[j] - b[i])**2 1[i]")
    >>> f = compile([loss, loss.diff("x")], "numpy")
    >>> f.inputs
    ('A', 'x', 'b')
    >>> f(A=[[1.0, 2.0]], x=[1.0, 1.0], b=[0.0])
    (np.float64(9.0), array([ 6., 12.]))
    >>> compile(lambda x: x @ x)(np.array([1.0, 2.0]))
    np.float64(5.0)
    """
    if callable(formulas) and kind_of(formulas) != "formula":
        from ricci.transforms.api import compile_function

        known = (("fused", fused), ("jit", jit), ("mesh", mesh), ("axes", axes), ("blocks", blocks), ("memory", memory))
        known += (("progress", progress or None), ("threads", threads))
        options = {name: value for name, value in known if value is not None}
        return compile_function(formulas, backend, **options, **more)
    if more:
        raise InputError(f"compile knows no option {next(iter(more))!r} for formulas.")
    single = kind_of(formulas) == "formula"
    parts: list[Formula] = [formulas] if single or not isinstance(formulas, Iterable) else list(formulas)  # type: ignore
    for part in parts:
        if kind_of(part) != "formula":
            raise InputError(f"compile takes formulas, not {shown(part)}; make one with rc.parse(…).")
    if not parts:
        raise InputError("compile takes at least one formula.")
    check_one_side("compile", *parts)
    names: dict[str, Size] = {}
    for part in parts:
        for name, size in zip(part.indices, part.expr.shape, strict=True):
            names.setdefault(name, size)
    by = [step.origin.by.name for part in parts for step in part.chain]
    facts = merged(part.context for part in parts).facts
    stage = prepare([part.expr for part in parts], names, facts, by, simplify)
    options = (("fused", fused), *([("jit", jit)] if jit is not None else []))
    cut = blocks is not None or memory is not None or progress or threads is not None
    if cut or backend == "dask":
        check_blocks(backend, compressed=compressed, mesh=mesh, jit=jit)
        made = blocked(stage, backend, read_blocks(blocks, memory, progress, threads), single, (("fused", fused),))
    elif compressed:
        rows = [part.order - part._columns for part in parts]
        made = CompressedFunction(stage, [part.indices for part in parts], backend, single, options, rows)
    else:
        made = Compiled(stage, backend, single, options)
    if mesh is not None or axes is not None:
        _put_on_mesh(made, None if compressed else [part.indices for part in parts], mesh, axes, backend, jit)
    chosen = {"compressed": compressed, "simplify": simplify, "fused": fused, "jit": jit, "mesh": mesh, "axes": axes}
    chosen |= {"blocks": blocks, "memory": memory, "progress": progress, "threads": threads}
    again = partial(_compiled, single, backend, **chosen)
    if facts.assumed:
        made.other_orders = OtherOrders(parts, again)
    if facts.unknown:
        made.functions = offered("functions_of_calls")(parts, again)
    return made


def _put_on_mesh(made: Compiled, indices: Any, mesh: Any, axes: Any, backend: str | None, jit: bool | None) -> None:
    from ricci.compiler.mesh.placement import of_formulas

    placement = of_formulas(made.stage, indices, mesh, axes, backend, jit, "compile")
    from ricci.compiler.mesh.mesh_target import put_on_mesh  # which imports JAX

    put_on_mesh(made, placement)


def _compiled(single: bool, backend: str | None, formulas: list[Formula], **options: Any) -> Any:
    return compile(formulas[0] if single else formulas, backend, **options)
