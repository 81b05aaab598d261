"""Results that stay apart: cores with the numbers, and a shell that says how the result is made of them.

The Hessian of matrix factorisation, ``2 delta[i,j] (VᵀV)[k,l]``, has ``(nk)²`` entries and needs ``k²`` numbers. A call
of a compressed function computes those, the cores, with one program; the *shell*, an expression with a variable in the
place of each core, comes with the plan. What can be done with the result is an expression in the shell: times a vector
it is ``2 (VᵀV)[k,l] v[i,l]``, since the delta renames an index and is gone. Each such expression is compiled like any
other when it is first wanted, and kept with the shell. How a result is taken apart is in ``parts``, linear systems are
in ``solving``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ricci.checked_calls import shown, takes
from ricci.compiler.compressed.apart import Apart
from ricci.compiler.compressed.combining import joined, scaled, shifted
from ricci.compiler.compressed.shell import Shell
from ricci.compiler.compressed.sparse_systems import as_sparse, needed
from ricci.compiler.pipeline import prepare
from ricci.compiler.prepare.prepared import Prepared
from ricci.compiler.run.function import Compiled
from ricci.dispatch import at_once
from ricci.errors import DTypeError, InputError, ShapeError
from ricci.expr import Expr, variables
from ricci.kinds import check_usable
from ricci.notation.context import Facts

FORMATS = ("csr", "csc", "coo", "dia", "bsr")


class Compressed:
    """A tensor as cores and structure. Its first axes are rows, its last ones columns: those that a Jacobian is by.

    >>> import numpy as np
    >>> from ricci import parse
    >>> loss = parse("l = sum[i,j]((T[i,j] - U[i,k] V[j,k])**2)")
    >>> f = loss.diff("U", "U").compile(compressed=True)
    >>> c = f(U=np.zeros((500, 2)), V=np.eye(400, 2))
    >>> c
    <ricci.Compressed 500×2×500×2 of float64: block-diagonal, 500 blocks of 2×2: 2 delta[i,i'] core[k,k'],
    32 bytes for 8,000,000>
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
        found = [core.dtype for word in ("complex", "float") for core in self.cores if word in str(core.dtype)]
        return found[0] if found else np.dtype(np.float64) if self._shell.fractional else self.cores[0].dtype

    @property
    def nbytes(self) -> int:
        """The memory of the cores."""
        return sum([core.nbytes for core in self.cores])

    @property
    def structure(self) -> str:
        """What the matrix is called, and how it is made of the cores; ``core0`` is ``cores[0]``."""
        shell = self._shell
        return f"{shell.form}: {shell.text}" if shell.form else shell.text

    def __repr__(self) -> str:
        shape = "×".join(map(str, self.shape)) or "scalar"
        whole = self.dtype.itemsize
        for size in self.shape:
            whole *= size
        name = str(self.dtype).removeprefix("torch.")
        return f"<ricci.Compressed {shape} of {name}: {self.structure}, {self.nbytes:,} bytes for {whole:,}>"

    def _repr_svg_(self) -> str | None:
        """Which entries are zero, and which are the same number: as the structure says, whatever the cores hold."""
        found = self._shell.picture(repr(self).removeprefix("<").removesuffix(">"))
        return None if found is None else found._repr_svg_()

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
        rows = self._shell.rows
        if self.shape[:rows] != self.shape[rows:]:
            raise ShapeError(f"The rows {self.shape[:rows]} and the columns {self.shape[rows:]} have no diagonal.")
        return self._shell.diagonal(self.cores)

    @property
    def T(self) -> Compressed:
        """The transpose: rows and columns exchanged."""
        return Compressed(self._shell.transposed(), self.cores)

    def __matmul__(self, v: Any) -> Any:
        """``c`` times ``v``, which has the axes of the columns and perhaps further ones; or times such a tensor.

        With an odd number of axes, as a Jacobian of vectors by matrices has, all axes of ``v`` are summed over.
        """
        return self._with(v, "@") if isinstance(v, Compressed) else self._times(v, "c @ v", last=True)

    def __rmatmul__(self, v: Any) -> Any:
        """``v`` times ``c``: ``v`` has the axes of the rows."""
        return self._times(v, "v @ c", last=False)

    def _times(self, v: Any, what: str, last: bool) -> Any:
        v = _array(v)
        order, axes = self.ndim, len(v.shape)
        whole = order - self._shell.rows if last else self._shell.rows
        count = axes if order % 2 else whole
        wanted = self.shape[order - count :] if last else self.shape[:count]
        if count > order or (order % 2 and not axes) or tuple(v.shape[:count]) != wanted:
            raise ShapeError(self._unfit(what, v, wanted if count <= order else self.shape))
        return self._shell.times(self.cores, v, count, last)

    @takes("H.solve")
    def solve(self, b: Any) -> Any:
        """``x`` with ``c @ x`` equal to ``b``, which has the axes of the rows and perhaps further ones.

        What the structure says is used: blocks are solved by themselves, low rank is put right by Woodbury's lemma, a
        band goes to LAPACK's banded solver, and other matrices with few entries to SuperLU; these two are SciPy's.
        """
        half = self._half("c.solve(b)")
        b = _array(b)
        if tuple(b.shape[:half]) != self.shape[:half]:
            raise ShapeError(self._unfit("c.solve(b)", b, self.shape[:half]))
        return self._shell.solve(self.cores, b)

    # As a sparse array, and for SciPy's solvers

    @takes("H.sparse", format="text")
    def sparse(self, format: str = "csr") -> Any:
        """A sparse array of SciPy: a matrix whose rows are the axes of rows merged to one, and so the columns.

        Which entries may differ from zero follows from the structure; nothing is searched, nothing dense is made.
        ``format`` is "csr", "csc", "coo", "dia", "bsr" or "auto": "dia" for a band, "bsr" for blocks, and else "csr".

        >>> import numpy as np, ricci as rc
        >>> steps = rc.jacobian(lambda u: u[1:]**2 - u[:-1], compressed=True)(np.arange(4.0))
        >>> steps.structure
        'banded, width 2: -[i0 == i1] + 2 [i1 == i0 + 1] core[i1]'
        >>> steps.sparse("auto").toarray()
        array([[-1.,  2.,  0.,  0.],
               [ 0., -1.,  4.,  0.],
               [ 0.,  0., -1.,  6.]])
        """
        known_format(f"c.sparse(format={format!r})", format)
        return self._sparse(format)

    def _sparse(self, format: str) -> Any:
        shell = self._shell
        matrix = as_sparse(*shell.entries(self.cores, numpy_type(self.dtype)))
        if format == "csr":
            return matrix
        blocks = shell.blocks
        if format == "auto":
            format = "bsr" if blocks is not None else "dia" if shell.form.startswith("banded") else "csr"
        return matrix.tobsr(blocks) if format == "bsr" and blocks is not None else matrix.asformat(format)

    @property
    def most_entries(self) -> int:
        """How many entries may differ from zero, at most; those that several terms have count more than once."""
        return self._shell.most_entries

    def matvec(self, v: Any) -> Any:
        """``c`` times a vector as long as all columns: what SciPy calls of a linear operator."""
        rows = self._shell.rows
        return (self @ _array(v).reshape(self.shape[rows:])).reshape(-1)

    def rmatvec(self, v: Any) -> Any:
        """The transpose times a vector as long as all rows."""
        rows = self._shell.rows
        return (_array(v).reshape(self.shape[:rows]) @ self).reshape(-1)

    def operator(self) -> Any:
        """A linear operator of SciPy, on vectors; of two axes ``c`` is one itself."""
        rows = self._shell.rows
        shape = (math.prod(self.shape[:rows]), math.prod(self.shape[rows:]))
        LinearOperator = needed("scipy.sparse.linalg").LinearOperator
        return LinearOperator(shape, self.matvec, self.rmatvec, dtype=numpy_type(self.dtype))

    # Sums and products, which stay compressed

    def __add__(self, other: Any) -> Any:
        """The sum with another compressed tensor, which is one too."""
        return self if isinstance(other, int) and other == 0 else self._with(other, "+")

    __radd__ = __add__

    def __sub__(self, other: Any) -> Compressed:
        return self._with(other, "-")

    def __neg__(self) -> Compressed:
        return self._scaled(-1.0, "-c")

    def __mul__(self, other: Any) -> Compressed:
        """The tensor times a number."""
        return self._scaled(other, "c * s")

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Compressed:
        return self._scaled(1 / _number(other, "c / s"), "c / s")

    @takes("H.shifted")
    def shifted(self, by: Any) -> Compressed:
        """The tensor with ``by`` added to its diagonal, a number or as many as there are rows: a damped Hessian.

        >>> import numpy as np, ricci as rc
        >>> H = rc.hessian(lambda x: (x**3).sum(), compressed=True)(np.array([1.0, 2.0]))
        >>> H.shifted(0.5).diagonal()
        array([ 6.5, 12.5])
        """
        rows = self._shell.rows
        if self.shape[:rows] != self.shape[rows:]:
            raise ShapeError(f"The rows {self.shape[:rows]} and the columns {self.shape[rows:]} have no diagonal.")
        by = self._typed(_array(by))
        if by.shape not in ((), self.shape[:rows]):
            raise ShapeError(
                f"c.shifted(by) takes a number, or an array of the shape {self.shape[:rows]}, not {by.shape}."
            )
        more = np.iscomplexobj(by)
        return combined(self, ("shifted", by.ndim, more), lambda: shifted(self._shell, by.ndim, more), {"by": by})

    def _scaled(self, by: Any, what: str) -> Compressed:
        by = self._typed(_number(by, what))
        more = np.iscomplexobj(by)
        return combined(self, ("times", more), lambda: scaled(self._shell, more), {"by": by})

    def _typed(self, by: Any) -> np.ndarray:
        """Numbers in the type of the entries, or complex ones in its precision."""
        dtype = numpy_type(self.dtype)
        return np.asarray(by, np.result_type(dtype, np.complex64) if np.iscomplexobj(by) else dtype)

    def _with(self, other: Any, how: str) -> Compressed:
        what = f"c {how} d"
        if not isinstance(other, Compressed):
            raise InputError(f"{what} takes two compressed tensors; write c.todense() {how} … for an array.")
        mine, its = self._shell, other._shell
        first, second = (mine.shape[mine.rows :], its.shape[: its.rows]) if how == "@" else (mine.shape, its.shape)
        if first != second or (how != "@" and mine.rows != its.rows):
            raise ShapeError(
                f"{what}: the first has rows {mine.shape[: mine.rows]} and columns {mine.shape[mine.rows :]}, "
                f"the second rows {its.shape[: its.rows]} and columns {its.shape[its.rows :]}."
            )
        if mine.target != its.target:
            raise InputError(f"{what}: the first is on {mine.target}, the second on {its.target}.")
        cores = {f"other{k}": core for k, core in enumerate(other.cores)}
        return combined(self, (how,), lambda: joined(mine, its, how), cores, its)

    def _half(self, what: str) -> int:
        if self.ndim % 2:
            raise InputError(
                f"{what} is for tensors with as many axes for rows as for columns; this one has the shape "
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


def known_format(what: str, format: str) -> None:
    """An error for a format that there is not."""
    if format not in (*FORMATS, "auto"):
        raise InputError(f'{what}: the formats are {", ".join(FORMATS)}, and "auto".')


def numpy_type(dtype: Any) -> np.dtype:
    """The type of entries on the host: bfloat16, which NumPy has not, becomes float32."""
    name = str(dtype).removeprefix("torch.")
    return np.dtype(np.float32 if name == "bfloat16" else name)


def _number(s: Any, what: str) -> Any:
    """A number, or an error that says what takes one."""
    if (
        getattr(s, "shape", ()) != ()
        or isinstance(s, (str, bytes, bool))
        or not (hasattr(s, "__float__") or isinstance(s, complex))
    ):
        raise InputError(f"{what} takes a number for s, not {shown(s)}; c + d and c @ d take compressed tensors.")
    number: Any = s
    return complex(number) if np.iscomplexobj(number) else float(number)


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
        rows: Sequence[int | None] | None = None,
    ):
        super().__init__(stage, backend, single, options)
        self.road = Apart(tuple(indices), tuple(rows or [None] * len(indices)), Compressed)

    def _recorded(self, given: Mapping[str, Any], sizes: Mapping[str, int]) -> Any:
        raise InputError(
            "A compressed result is not an array, so it can be no part of a traced function, nor made of tensors; "
            "compile the formula without compressed=True there, or call this function outside, on arrays."
        )


def combined(
    c: Compressed, how: tuple, build: Callable[[], Expr], more: Mapping[str, Any], other: Shell | None = None
) -> Compressed:
    """What is made of ``c`` and more arrays; the function that makes it is kept with the shell of ``c``."""
    shell = c._shell

    def made() -> CompressedFunction:
        expr = build()
        inputs = {v.name: v.order for v in variables(expr)}
        stage = prepare([expr], facts=Facts(inputs=inputs, mentions=dict.fromkeys(inputs)), simplify=False)
        last = other if how == ("@",) and other is not None else shell
        rows, columns = [shell.names[x] for x in shell.axes[0]], [last.names[x] for x in last.axes[1]]
        names = [*rows, *[name + "'" * rows.count(name) for name in columns]]
        return CompressedFunction(stage, [tuple(names)], shell.target, rows=[len(rows)])

    f = shell.known((*how, other), made)
    arrays = {**{f"core{k}": core for k, core in enumerate(c.cores)}, **more}
    return f(**{name: arrays[name] for name in f.inputs})
