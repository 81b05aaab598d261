"""Results that stay apart: cores with the numbers, and a shell that says how the result is made of them.

The Hessian of matrix factorisation, ``2 delta[i,j] (VᵀV)[k,l]``, has ``(nk)²`` entries and needs ``k²`` numbers. A call
of a compressed function computes those, the cores, with one program; the *shell*, an expression with a variable in the
place of each core, comes with the plan. What can be done with the result is an expression in the shell: times a vector
it is ``2 (VᵀV)[k,l] v[i,l]``, since the delta renames an index and is gone. Each such expression is compiled like any
other when it is first wanted, and kept with the shell. How a result is taken apart is in ``parts``, linear systems are
in ``solving``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ricci.caches import once
from ricci.checked_calls import shown, takes
from ricci.compiler.bind import Setting
from ricci.compiler.compressed.parts import Parts, take_apart
from ricci.compiler.compressed.shell import Shell
from ricci.compiler.pipeline import bind, lower, made
from ricci.compiler.prepare.prepared import Prepared
from ricci.compiler.run.function import Compiled
from ricci.compiler.run.runner import Runner
from ricci.dispatch import at_once
from ricci.errors import DTypeError, InputError, ShapeError
from ricci.expr import Expr
from ricci.kinds import check_usable
from ricci.show.index_names import Namer


class Compressed:
    """A tensor as cores and structure. Its first axes are rows, its last ones columns, half each if it has that many.

    >>> import numpy as np
    >>> from ricci import parse
    >>> loss = parse("l = sum[i,j]((T[i,j] - U[i,k] V[j,k])**2)")
    >>> f = loss.diff("U", "U").compile(compressed=True)
    >>> c = f(U=np.zeros((500, 2)), V=np.eye(400, 2))
    >>> c
    <ricci.Compressed 500×2×500×2 of float64: 2 delta[i,i'] core[k,k'], 32 bytes for 8,000,000>
    >>> (c @ np.ones((500, 2))).shape, c.diagonal().shape, c.solve(np.ones((500, 2)))[0]
    ((500, 2), (500, 2), array([0.5, 0.5]))
    >>> c.cores
    (array([[1., 0.],
           [0., 1.]]),)
    """

    __slots__ = ("_shell", "cores")
    __array_ufunc__ = None  # NumPy arrays leave v @ c to it

    @takes("rc.Compressed")
    def __init__(self, shell: Shell, cores: tuple):
        if not isinstance(shell, Shell):
            raise InputError("Compressed results are made by functions: f.compile(compressed=True)(x=x).")
        self._shell, self.cores = shell, cores

    # What it is

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shell.shape

    @property
    def ndim(self) -> int:
        return len(self._shell.shape)

    @property
    def dtype(self) -> Any:
        """The type of the entries: that of the floating cores, if there are any."""
        found = [core.dtype for core in self.cores if "float" in str(core.dtype)]
        return found[0] if found else np.dtype(np.float64) if self._shell.fractional else self.cores[0].dtype

    @property
    def nbytes(self) -> int:
        """The memory of the cores."""
        return sum([core.nbytes for core in self.cores])

    @property
    def structure(self) -> str:
        """How the result is made of the cores, as text; ``core0`` is ``cores[0]``."""
        return self._shell.text

    def __repr__(self) -> str:
        shape = "×".join(map(str, self.shape)) or "scalar"
        whole = self.dtype.itemsize
        for size in self.shape:
            whole *= size
        name = str(self.dtype).removeprefix("torch.")
        return f"<ricci.Compressed {shape} of {name}: {self.structure}, {self.nbytes:,} bytes for {whole:,}>"

    # What can be done with it

    @takes("H.todense")
    def todense(self) -> Any:
        """All entries, as one array."""
        return self._shell.dense(self.cores)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("A compressed tensor has no array that could be shared; its entries are computed.")
        with at_once():
            return np.asarray(self.todense(), dtype=dtype)

    @takes("H.diagonal")
    def diagonal(self) -> Any:
        """The entries whose rows and columns are the same, ``c[i,j,i,j]``, with the shape of the rows."""
        half = self._half("c.diagonal()")
        if self.shape[:half] != self.shape[half:]:
            raise ShapeError(f"The rows {self.shape[:half]} and the columns {self.shape[half:]} have no diagonal.")
        return self._shell.diagonal(self.cores)

    @property
    def T(self) -> Compressed:
        """The transpose: rows and columns exchanged."""
        self._half("c.T")
        return Compressed(self._shell.transposed(), self.cores)

    def __matmul__(self, v: Any) -> Any:
        """``c`` times ``v``, which has the axes of the columns and perhaps further ones.

        With an odd number of axes, as a Jacobian of vectors by matrices has, all axes of ``v`` are summed over.
        """
        return self._times(v, "c @ v", last=True)

    def __rmatmul__(self, v: Any) -> Any:
        """``v`` times ``c``: ``v`` has the axes of the rows."""
        return self._times(v, "v @ c", last=False)

    def _times(self, v: Any, what: str, last: bool) -> Any:
        v = _array(v)
        order, axes = self.ndim, len(v.shape)
        count = axes if order % 2 else order // 2
        wanted = self.shape[order - count :] if last else self.shape[:count]
        if count > order or (order % 2 and not axes) or tuple(v.shape[:count]) != wanted:
            raise ShapeError(self._unfit(what, v, wanted if count <= order else self.shape))
        return self._shell.times(self.cores, v, count, last)

    @takes("H.solve")
    def solve(self, b: Any) -> Any:
        """``x`` with ``c @ x`` equal to ``b``, which has the axes of the rows and perhaps further ones."""
        half = self._half("c.solve(b)")
        b = _array(b)
        if tuple(b.shape[:half]) != self.shape[:half]:
            raise ShapeError(self._unfit("c.solve(b)", b, self.shape[:half]))
        return self._shell.solve(self.cores, b)

    def _half(self, what: str) -> int:
        if self.ndim % 2:
            raise InputError(
                f"{what} is for tensors with as many axes for rows as for columns; this one has {self.ndim} axes, "
                f"{self.shape}. c @ v works, and so does c.todense()."
            )
        return self.ndim // 2

    def _unfit(self, what: str, v: Any, wanted: tuple[int, ...]) -> str:
        if self.ndim % 2:
            takes = f"an array whose axes are the {'first' if what[0] == 'v' else 'last'} ones of {self.shape}"
        else:
            takes = f"an array of the shape {wanted}, perhaps with further axes"
        hint = ""
        if v.shape and np.prod(wanted, dtype=int) == v.shape[0]:
            hint = f" Reshape it: .reshape({', '.join(map(str, (*wanted, *v.shape[1:])))})."
        return f"{what} takes {takes}; this one has the shape {tuple(v.shape)}.{hint}"


def _array(v: Any) -> Any:
    check_usable(v, "What a compressed result is multiplied with", "v")
    if hasattr(v, "shape") and hasattr(v, "dtype"):
        return v
    try:
        return np.asarray(v)
    except (TypeError, ValueError) as error:
        raise DTypeError(f"A compressed result is multiplied with arrays, not with {shown(v)}: {error}") from error


class CompressedFunction(Compiled):
    """A function of arrays whose results stay apart: see :class:`Compressed`."""

    def __init__(
        self,
        stage: Prepared,
        indices: Sequence[tuple[str, ...]],
        backend: str | None = None,
        single: bool = True,
        options: tuple[tuple[str, Any], ...] = (),
    ):
        super().__init__(stage, backend, single, options)
        self.road = Apart(tuple(indices))

    def _recorded(self, given: Mapping[str, Any], sizes: Mapping[str, int]) -> Any:
        raise InputError(
            "A compressed result is not an array, so it can be no part of a traced function, nor made of tensors; "
            "compile the formula without compressed=True there, or call this function outside, on arrays."
        )


@dataclass(frozen=True)
class Apart:
    """The way of results that stay apart, between binding and lowering: the cores are computed, and put into shells."""

    indices: tuple[tuple[str, ...], ...]  # of each result

    def __call__(self, stage: Prepared, setting: Setting) -> Runner:
        bound = bind(stage, setting)
        parts = [take_apart(root, bound.sizes) for root in bound.roots]
        cores = distinct_cores(parts)
        program = lower(bound.of(cores))
        held = {e: result.kind for e, result in zip(cores, program.results, strict=True)}
        if not all(p.holds_numbers(held) for p in parts):
            parts = [p if p.holds_numbers(held) else p.with_a_number() for p in parts]
            cores = distinct_cores(parts)
            program = lower(bound.of(cores))
        if setting.target == "jax":
            _known_to_jax()
        place = {e: k for k, e in enumerate(cores)}
        shells = [
            Shell.of(p, bound.sizes, label_names(stage, p, own), setting.target)
            for p, own in zip(parts, self.indices, strict=True)
        ]
        runner = made(program, replace(setting, single=False))
        places = [[place[e] for e in p.cores] for p in parts]
        runner.around = partial(_wrapped, shells=shells, places=places, single=setting.single)
        runner.run = runner.around(runner.run)
        return runner


@once
def _known_to_jax() -> None:
    """Results in parts pass through JAX's transformations."""
    from jax.tree_util import register_pytree_node

    register_pytree_node(
        Compressed, lambda c: (c.cores, c._shell), lambda shell, cores: Compressed(shell, tuple(cores))
    )


def label_names(stage: Prepared, parts: Parts, indices: tuple[str, ...]) -> dict[int, str]:
    """The user's names of the axes, and others for the labels that are summed."""
    names = dict(enumerate(indices))
    namer = Namer(stage.facts, stage.roots)
    for axis, name in names.items():
        namer.claim(name, parts.written[axis])
    used = {x for term in parts.terms for _, labels in term.factors for x in labels}
    for label in sorted(used - names.keys()):
        names[label] = namer.fresh(parts.written[label], (), set(names.values()))
    return names


def distinct_cores(parts: Sequence[Parts]) -> list[Expr]:
    return list(dict.fromkeys(e for p in parts for e in p.cores))


def _wrapped(program: Callable, shells: Sequence[Shell], places: Sequence[list[int]], single: bool) -> Callable:
    """The program of the cores, its results put into shells. All is settled here, so that a call does little more."""
    if single and not shells[0].scalars:
        (shell,) = shells
        return lambda *arrays: Compressed(shell, program(*arrays))

    def run(*arrays: Any) -> Any:
        cores = program(*arrays)
        made = []
        for shell, own in zip(shells, places, strict=True):
            held = [cores[k] for k in own]
            for k in shell.scalars:  # NumPy's scalars would have to be made arrays again for every use
                held[k] = np.asarray(held[k]) if isinstance(held[k], np.generic) else held[k]
            made.append(Compressed(shell, tuple(held)))
        return made[0] if single else tuple(made)

    return run
