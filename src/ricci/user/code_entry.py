"""``rc.code``: functions of NumPy, PyTorch and others, written from formulas and functions, to be kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, overload

from ricci.checked_calls import takes
from ricci.errors import InputError
from ricci.kinds import kind_of
from ricci.standalone.kept_code import KeptCode
from ricci.user.coding import code_of_formulas

if TYPE_CHECKING:
    from ricci.transforms.typed import P, R
    from ricci.user.formula import Formula


@overload
def code(
    formulas: Formula | Iterable[Formula],
    backend: str = "numpy",
    *,
    name: str | None = None,
    types: str | Mapping[str, str] | None = None,
    sizes: Mapping[str, int] | None = None,
) -> KeptCode: ...
@overload
def code(
    formulas: Callable[P, R],
    backend: str = "numpy",
    *,
    name: str | None = None,
    types: str | Mapping[str, str] | None = None,
) -> Callable[P, KeptCode]: ...
@takes("rc.code", backend="text", name="name or None", sizes="sizes or None")
def code(
    formulas: Any,
    backend: str = "numpy",
    *,
    name: str | None = None,
    types: str | Mapping[str, str] | None = None,
    sizes: Mapping[str, int] | None = None,
) -> Any:
    """A function that stands on its own, as a text: paste it into a program, which then needs no ricci.

    ``backend`` is "numpy", "torch", "jax", "julia", "c" or "latex". Sizes come from the shapes of the arguments; those
    in ``sizes`` are written out, and C needs all of them. ``types`` is a type for all arrays, such as "float32", or for
    some by name; without it results have the types of the arguments. Of several formulas the function gives a tuple.
    Of a function of arrays, also a transformed one, it is what writes the code for arguments like those of a call.

    What is returned is a text. For libraries of Python it can be called, too.

    >>> from ricci import code, parse
    >>> loss = parse("l = (A[i,j] x[j] - b[i])**2 1[i]")
    >>> print(code(loss, name="loss"))
    import numpy as np
    <BLANKLINE>
    <BLANKLINE>
    def loss(A, x, b):
        \"\"\"l = 1[i] (b[i] - A[i,j] x[j])**2
    <BLANKLINE>
        Of A[i,j], x[j], b[i]. Gives a number.
        \"\"\"
        return np.sum((b - np.einsum("ij,j->i", A, x)) ** 2)
    <BLANKLINE>
    """
    if kind_of(formulas) == "formula" or not callable(formulas):
        return code_of_formulas(formulas, backend, name, types, sizes)
    if sizes is not None:
        raise InputError("The sizes of a traced function are those of its arguments; leave out sizes=.")
    from ricci.user.function_coding import Coding

    return Coding(formulas, backend, name, types)
