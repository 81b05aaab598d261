"""What the layers of all frameworks share: the pattern is checked when the layer is made, and shown by repr."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ricci.einops.grammar import ELLIPSIS, check_text, parse
from ricci.einops.inference import checked_size
from ricci.einops.moves import Recipe, recipe_of
from ricci.einops.rearranging import options_of
from ricci.errors import EinopsError, MissingPackageError

MOST_HIDDEN = 8  # a layer with an ellipsis is prepared for fewer hidden axes than this


def missing(module: str, package: str, error: ModuleNotFoundError) -> MissingPackageError:
    """The error for a framework that is not installed, or of which a part is not."""
    absent = (error.name or package).split(".")[0]
    message = f"ricci.einops.layers.{module} needs {package}, and {absent} is not installed; install it: "
    return MissingPackageError(f"{message}pip install {absent}.", name=absent)


def described(layer: str, texts: list[str], lengths: Mapping[str, Any]) -> str:
    """A layer as it is written.

    >>> described("Reduce", ["b (h p) -> b h", "max"], {"p": 2})
    "Reduce('b (h p) -> b h', 'max', p=2)"
    """
    words = [*map(repr, texts), *[f"{name}={length}" for name, length in lengths.items()]]
    return f"{layer}({', '.join(words)})"


def prepared(written: str, pattern: str, operation: Any, lengths: Mapping[str, Any]) -> tuple[dict, dict[int, Recipe]]:
    """The sizes that were given, as integers, and the recipe for each number of axes of the input.

    A fault is told with the layer as it is ``written``.
    """
    try:
        sizes = checked_sizes(pattern, lengths)
        name, _ = options_of(operation)
        return sizes, {ndim: recipe_of(pattern, name, tuple(sizes), ndim) for ndim in _orders(pattern)}
    except EinopsError as error:
        error.message = f"Error while preparing {written}: {error.message}"
        raise


def checked_sizes(pattern: str, lengths: Mapping[str, Any]) -> dict[str, Any]:
    """The sizes that were given, each an integer."""
    check_text(pattern)
    return {name: checked_size(name, length, pattern) for name, length in lengths.items()}


def _orders(pattern: str) -> range:
    left = parse(pattern).left[0]
    if ELLIPSIS in left:
        return range(len(left) - 1, len(left) - 1 + MOST_HIDDEN)
    return range(len(left), len(left) + 1)
