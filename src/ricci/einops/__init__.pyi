# Written by tests/annotations/stubs.py from the tables; run it when they change.

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

import numpy as np

from ricci.errors import EinopsError as EinopsError
from ricci.einops.shape_names import parse_shape as parse_shape
from ricci.tensor import Tensor
from ricci.user.formula import Formula

_X = TypeVar("_X")

__version__: str
__all__ = ['EinopsError', 'asnumpy', 'einsum', 'pack', 'parse_shape', 'rearrange', 'reduce', 'repeat', 'unpack']

def asnumpy(tensor: Any) -> np.ndarray:
    """An array of any kind as one of NumPy."""

@overload
def einsum(*tensors_and_pattern: np.ndarray | str) -> np.ndarray:
    """Products of arrays, summed over the axes that are not on the right; the pattern comes last.

    >>> import numpy as np
    >>> einsum(np.ones((2, 3)), np.ones((3, 4)), "batch time, time out -> batch out").shape
    (2, 4)
    """
@overload
def einsum(*tensors_and_pattern: Formula | np.ndarray | str) -> Formula: ...
@overload
def einsum(*tensors_and_pattern: Tensor | np.ndarray | str) -> Tensor: ...
@overload
def einsum(*tensors_and_pattern: _X | str) -> _X: ...

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
