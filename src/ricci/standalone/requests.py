"""What is asked for: results with their names, and what is said about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ricci.compiler.prepare.prepared import Prepared
from ricci.expr import Expr, Size


@dataclass(frozen=True, eq=False)
class CodeWanted:
    """A function to write: prepared results, the index names of each, and the words around it."""

    stage: Prepared
    indices: tuple[tuple[str, ...], ...]  # of each result
    name: str
    title: str  # the formula, for the docstring
    labels: tuple[str, ...] = ()  # what the results are called, where there are several
    single: bool = True
    sizes: Mapping[str, int] = field(default_factory=dict)  # of indices that are given
    types: Any = None  # a type for all arrays, or for some by name
    definitions: Mapping[Expr, tuple[str, tuple[str, ...]]] = field(default_factory=dict)  # named parts of the text
    lefts: tuple[str, ...] = ()  # what stands on the left of each in LaTeX
    fixed: Mapping[str, tuple[int | None, ...]] = field(default_factory=dict)  # sizes that arguments must have
    order: tuple[str, ...] = ()  # the arguments, where it is not that of the text
    written: Mapping[str, Any] = field(default_factory=dict)  # arrays that are written out, by name

    @property
    def named_sizes(self) -> list[tuple[str, Size]]:
        """The indices of the results with their sizes."""
        return [
            pair
            for names, root in zip(self.indices, self.stage.roots, strict=True)
            for pair in zip(names, root.shape, strict=True)
        ]
