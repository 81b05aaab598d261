# Written by tests/annotations/stubs.py from the tables; run it when they change.

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

import numpy as np

from ricci.einops.shape_names import inverse as inverse
from ricci.einops.shape_names import parse_shape as parse_shape
from ricci.einops.shape_names import sizes as sizes
from ricci.tensor import Tensor
from ricci.user.formula import Formula

_X = TypeVar("_X")

@overload
def einsum(*operands: np.ndarray | str, op: str | Callable[..., Any] = 'multiply', reduce: str | Callable[..., Any] = 'sum', **sizes: Any) -> np.ndarray:
    """Arrays multiplied, and summed over the axes that are not on the right; the pattern is first or last.

    Axes may be composite, with sizes by keyword, numbers are axes of that size, an axis named twice is a diagonal, axes
    under ``...`` broadcast, and without an arrow the result has the names that occur once, sorted. ``op`` is applied
    from left to right instead of the product: a name (multiply, add, subtract, divide, maximum, minimum, power,
    logaddexp, …) or a function of two arrays; ``reduce`` instead of the sum: a name (sum, mean, max, min, prod, any,
    all, logsumexp, var, std, norm, argmax, argmin) or a function of an array and axes. Names that einsum gives a
    meaning to, ``op`` and ``reduce``, are no axes whose size can be given.

    >>> import numpy as np
    >>> a, b = np.arange(6.0).reshape(6, 1), np.array([[1.0, 10.0]])
    >>> wide_einsum("(g i) k, k j -> g i j", a, b, g=2).shape
    (2, 3, 2)
    >>> road = np.array([[0.0, 2.0, 9.0], [2.0, 0.0, 3.0], [9.0, 3.0, 0.0]])
    >>> wide_einsum("i k, k j -> i j", road, road, op="add", reduce="min")[0]
    array([0., 2., 5.])
    """
@overload
def einsum(*operands: Formula | np.ndarray | str, op: str | Callable[..., Any] = 'multiply', reduce: str | Callable[..., Any] = 'sum', **sizes: Any) -> Formula: ...
@overload
def einsum(*operands: Tensor | np.ndarray | str, op: str | Callable[..., Any] = 'multiply', reduce: str | Callable[..., Any] = 'sum', **sizes: Any) -> Tensor: ...
@overload
def einsum(*operands: _X | str, op: str | Callable[..., Any] = 'multiply', reduce: str | Callable[..., Any] = 'sum', **sizes: Any) -> _X: ...

@overload
def gather(*operands: np.ndarray | str, **sizes: Any) -> np.ndarray:
    """An array read at places given by integers; the pattern is first or last, then the array, then the indices.

    The axes of the array that are neither in an index nor on the right are looked up, in order, one for each index.
    On NumPy, and on the CPU with PyTorch, a place out of range is an error; JAX fills in NaN (or the smallest integer),
    as ``jnp.take`` does.

    >>> import numpy as np
    >>> table, tokens = np.arange(8.0).reshape(4, 2), np.array([[3, 0, 3]])
    >>> gather("v d, b t -> b t d", table, tokens)
    array([[[6., 7.],
            [0., 1.],
            [6., 7.]]])
    """
@overload
def gather(*operands: Formula | np.ndarray | str, **sizes: Any) -> Formula: ...
@overload
def gather(*operands: Tensor | np.ndarray | str, **sizes: Any) -> Tensor: ...
@overload
def gather(*operands: _X | str, **sizes: Any) -> _X: ...

def pack(tensors: Sequence[_X], pattern: str) -> tuple[_X, list[tuple[int, ...]]]:
    """Join arrays of any orders along the axis ``*``; also gives the shapes that :func:`unpack` needs.

    >>> import numpy as np
    >>> packed, shapes = pack([np.zeros((2, 3)), np.zeros((2, 4, 5, 3))], "b * c")
    >>> packed.shape, shapes
    ((2, 21, 3), [(), (4, 5)])
    """

@overload
def rearrange(tensor: np.ndarray, pattern: str, **axes_lengths: Any) -> np.ndarray:
    """Reorder, split and merge the axes of an array, as the pattern says; a view where that can be.

    >>> import numpy as np
    >>> images = np.zeros((32, 30, 40, 3))
    >>> rearrange(images, "b h w c -> b c h w").shape
    (32, 3, 30, 40)
    >>> rearrange(images, "b (h p) (w q) c -> b h w (p q c)", p=10, q=10).shape
    (32, 3, 4, 300)

    A list of arrays of one shape is taken as an array with a new first axis.
    """
@overload
def rearrange(tensor: Formula, pattern: str, **axes_lengths: Any) -> Formula: ...
@overload
def rearrange(tensor: Tensor, pattern: str, **axes_lengths: Any) -> Tensor: ...
@overload
def rearrange(tensor: _X | list[_X] | tuple[_X, ...], pattern: str, **axes_lengths: Any) -> _X: ...

@overload
def reduce(tensor: np.ndarray, pattern: str, reduction: str | Callable[..., Any], **axes_lengths: Any) -> np.ndarray:
    """Reduce an array over the axes that are not on the right: by name, or by a function of an array and axes.

    >>> import numpy as np
    >>> image = np.arange(24.0).reshape(4, 6)
    >>> reduce(image, "(h 2) (w 3) -> h w", "max")
    array([[ 8., 11.],
           [20., 23.]])
    """
@overload
def reduce(tensor: Formula, pattern: str, reduction: str | Callable[..., Any], **axes_lengths: Any) -> Formula: ...
@overload
def reduce(tensor: Tensor, pattern: str, reduction: str | Callable[..., Any], **axes_lengths: Any) -> Tensor: ...
@overload
def reduce(tensor: _X | list[_X] | tuple[_X, ...], pattern: str, reduction: str | Callable[..., Any], **axes_lengths: Any) -> _X: ...

@overload
def repeat(tensor: np.ndarray, pattern: str, **axes_lengths: Any) -> np.ndarray:
    """Repeat the entries of an array along axes that are new on the right.

    >>> import numpy as np
    >>> repeat(np.arange(3), "i -> (i twice)", twice=2)
    array([0, 0, 1, 1, 2, 2])
    >>> repeat(np.arange(3), "i -> 2 i").shape
    (2, 3)
    """
@overload
def repeat(tensor: Formula, pattern: str, **axes_lengths: Any) -> Formula: ...
@overload
def repeat(tensor: Tensor, pattern: str, **axes_lengths: Any) -> Tensor: ...
@overload
def repeat(tensor: _X | list[_X] | tuple[_X, ...], pattern: str, **axes_lengths: Any) -> _X: ...

@overload
def scatter(*operands: np.ndarray | str, reduce: str | Callable[..., Any] = 'sum', **sizes: Any) -> np.ndarray:
    """Numbers combined at places given by integers: the transpose of :func:`gather`.

    The names that only the right side has are the places, in order, one for each index; their sizes must be given.
    ``reduce`` is sum, prod, max, min or mean. Where nothing is put, the result is what combines with nothing: 0 for sum
    and mean, 1 for prod, minus infinity for max and infinity for min (of integers the ends of their range).

    >>> import numpy as np
    >>> scatter("t, t -> v", np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), v=4)
    array([2., 0., 5., 0.])
    """
@overload
def scatter(*operands: Formula | np.ndarray | str, reduce: str | Callable[..., Any] = 'sum', **sizes: Any) -> Formula: ...
@overload
def scatter(*operands: Tensor | np.ndarray | str, reduce: str | Callable[..., Any] = 'sum', **sizes: Any) -> Tensor: ...
@overload
def scatter(*operands: _X | str, reduce: str | Callable[..., Any] = 'sum', **sizes: Any) -> _X: ...

@overload
def unpack(tensor: np.ndarray, packed_shapes: Sequence[Any], pattern: str) -> list[np.ndarray]:
    """Split along the axis ``*`` into arrays with these shapes in its place; one size may be -1.

    >>> import numpy as np
    >>> [part.shape for part in unpack(np.zeros((2, 21, 3)), [(), (4, 5)], "b * c")]
    [(2, 3), (2, 4, 5, 3)]
    """
@overload
def unpack(tensor: Formula, packed_shapes: Sequence[Any], pattern: str) -> list[Formula]: ...
@overload
def unpack(tensor: Tensor, packed_shapes: Sequence[Any], pattern: str) -> list[Tensor]: ...
@overload
def unpack(tensor: _X, packed_shapes: Sequence[Any], pattern: str) -> list[_X]: ...
