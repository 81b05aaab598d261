"""Whether the value of an input is what is declared of it: a symmetric matrix, say.

What is computed relies on it: ``A[i,j] - A[j,i]`` of a symmetric matrix is zero and never looked at. So every call
looks at the values. That takes a comparison with the transpose, n² steps, for symmetric and antisymmetric matrices, a
Cholesky decomposition for positive ones, n³/3, and a product for orthogonal ones, n³. Rounding is allowed for, up to
the root of the precision; entries that are not finite say nothing.

Values that are not there yet, inside ``jax.jit`` or ``torch.compile``, cannot be looked at: what is computed is that
for the part of the matrix that is of the kind declared, as ``cholesky`` takes the symmetric part. Gradients that JAX or
PyTorch take of a program are by that part too, so they are those of ``f.diff("A")``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ricci.errors import InputError
from ricci.kinds import check_usable

PRECISION = {
    "complex128": 2.0**-52,
    "complex64": 2.0**-23,
    "float64": 2.0**-52,
    "float32": 2.0**-23,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
}
EITHER = "Give a matrix that is, or leave out the declaration."


def as_declared(symmetries: Mapping[str, str], values: Mapping[str, Any], traced: bool = False) -> Mapping[str, Any]:
    """The values, of which those that are ``traced``, or tell gradients, are replaced by the part that is declared.

    >>> as_declared({"A": "symmetric"}, {"A": [[1.0, 2.0], [3.0, 4.0]]})
    Traceback (most recent call last):
        ...
    ricci.errors.InputError: 'A' is declared symmetric, and its value is not: A[0,1] is 2.0, and A[1,0] is 3.0. Give a matrix that is, or leave out the declaration.
    """  # noqa: E501
    parts = {}
    for name, word in symmetries.items():
        if name in values:
            known = not traced and _check(name, word, values[name])
            if not known or getattr(values[name], "requires_grad", False) is True:
                parts[name] = _part(name, word, values[name])
    return {**values, **parts} if parts else values


def _check(name: str, word: str, value: Any) -> bool:
    """Whether the value is there; an error if it is not as declared."""
    check_usable(value, f"The input {name!r}", name)
    array, precision = _concrete(value)
    if array is None:
        return False
    if array.dtype.kind not in "biufc":
        return True  # which is refused elsewhere
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        shape = tuple(array.shape)
        raise InputError(f"{name!r} is declared {word}, and its value has the shape {shape}, which is not square.")
    array = array.astype(complex if array.dtype.kind == "c" else float)
    fault = _FAULTS[word](name, array, precision**0.5) if array.size and np.isfinite(array).all() else ""
    if fault:
        raise InputError(f"{name!r} is declared {word}, and its value is not: {fault}. {EITHER}")
    return True


def _part(name: str, word: str, value: Any) -> Any:
    """The symmetric or antisymmetric part of what JAX or PyTorch trace; tensors and traced arrays of ours see to it."""
    if type(value).__module__.partition(".")[0] not in ("torch", "jax", "jaxlib"):
        return value
    if word in ("orthogonal", "unitary"):
        raise InputError(
            f"{name!r} is declared {word}, which neither can be checked of a value that is traced, nor has a "
            "gradient: its entries depend on one another. Call it on arrays, or leave out the declaration."
        )
    if len(value.shape) != 2 or value.shape[0] != value.shape[1] or not re.search("float|complex", str(value.dtype)):
        return value  # which is refused where sizes and types are bound
    turned = value.conj().T if word in ("hermitian", "positive") else value.T
    return (value - turned) / 2 if word == "antisymmetric" else (value + turned) / 2


def _concrete(value: Any) -> tuple[np.ndarray | None, float]:
    """The value as an array of NumPy, if it is there, and the precision of its type; 0 for whole numbers."""
    value = getattr(value, "value", value)  # of a tensor
    package = type(value).__module__.partition(".")[0]
    precision = PRECISION.get(str(getattr(value, "dtype", "float64")).rpartition(".")[2], 0.0)
    try:
        if package == "torch":
            value = value.detach().cpu()
            return (value.double() if value.is_floating_point() else value.resolve_conj()).numpy(), precision
        if package in ("numpy", "jax", "jaxlib", "builtins"):
            return np.asarray(value), precision
    except (TypeError, ValueError, RuntimeError):  # what is being traced has no values
        pass
    return None, 0.0


def _apart(name: str, array: np.ndarray, other: np.ndarray, slack: float) -> str:
    """The entries at which a matrix and ``other``, which it should be, are furthest apart."""
    apart = np.abs(array - other)
    i, j = (int(k) for k in np.unravel_index(apart.argmax(), apart.shape))
    if apart[i, j] <= slack * np.abs(array).max():
        return ""
    here, there = array[i, j].item(), array[j, i].item()
    entry = f"{name}[{i},{j}] is {here!r}"
    return entry if i == j else f"{entry}, and {name}[{j},{i}] is {there!r}"


def _not_symmetric(name: str, array: np.ndarray, slack: float) -> str:
    return _apart(name, array, array.T, slack)


def _not_antisymmetric(name: str, array: np.ndarray, slack: float) -> str:
    return _apart(name, array, -array.T, slack)


def _not_positive(name: str, array: np.ndarray, slack: float) -> str:
    fault = _not_hermitian(name, array, slack)
    try:
        np.linalg.cholesky(array)
    except np.linalg.LinAlgError:
        return fault or f"its least eigenvalue is {np.linalg.eigvalsh(array)[0]:.3g}"
    return fault


def _not_orthogonal(name: str, array: np.ndarray, slack: float) -> str:
    off = np.abs(array.T @ array - np.eye(len(array))).max()
    return f"{name}[k,i] {name}[k,j] is off delta[i,j] by up to {off:.3g}" if off > slack * len(array) else ""


def _not_hermitian(name: str, array: np.ndarray, slack: float) -> str:
    return _apart(name, array, array.conj().T, slack)


def _not_unitary(name: str, array: np.ndarray, slack: float) -> str:
    off = np.abs(array.conj().T @ array - np.eye(len(array))).max()
    return f"conj({name}[k,i]) {name}[k,j] is off delta[i,j] by up to {off:.3g}" if off > slack * len(array) else ""


_FAULTS: dict[str, Callable[[str, np.ndarray, float], str]] = {
    "symmetric": _not_symmetric,
    "antisymmetric": _not_antisymmetric,
    "positive": _not_positive,
    "orthogonal": _not_orthogonal,
    "hermitian": _not_hermitian,
    "unitary": _not_unitary,
}
