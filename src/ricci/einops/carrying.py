"""Names of axes that arrays carry, and those of a pattern.

Tensors may carry names of axes, and formulas carry index names. A pattern that calls an axis of a tensor by another
name than its own says that it is something else, so it is refused; the indices of a formula are called as the pattern
calls them, in their order. Results carry the names of the pattern, and keep their own under an ellipsis.

A scope (:mod:`ricci.scopes`) compares axes with those of other calls; the functions here also tell it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ricci.einops import watch
from ricci.einops.backends.base import Backend
from ricci.einops.grammar import span_of
from ricci.einops.labels import Labels
from ricci.errors import AxisSpaceError, caret

Names = Sequence[str | None]


def watched(backend: Backend, arrays: Sequence[Any]) -> bool:
    """Whether the axes of a call are compared with anything: with names that its arrays carry, or in a scope."""
    return bool(watch.WATCHERS.get()) or any(backend.names(x) is not None for x in arrays)


def check(
    backend: Backend,
    operation: str,
    pattern: str,
    inputs: Sequence[watch.Named],
    sizes: Mapping[str, Any],
    xs: Sequence[Any],
) -> list[Any]:
    """Before the computation: an error if a pattern contradicts the names of an array; ``xs`` without their names."""
    for x, parts in inputs:
        own = None if backend.renames else backend.names(x)
        if own is not None:
            _agree(own, parts, operation, pattern)
    watch.check(operation, pattern, inputs, sizes)
    return [x if backend.names(x) is None else backend.unnamed(x) for x in xs]


def note(
    backend: Backend,
    operation: str,
    pattern: str,
    inputs: Sequence[watch.Named],
    outputs: Sequence[watch.Named],
    sizes: Mapping[str, Any],
    names: Sequence[Names],
) -> list[Any]:
    """After the computation: the results, with ``names`` where an input has names or all of this kind have."""
    results = [x for x, _ in outputs]
    if backend.renames or any(backend.names(x) is not None for x, _ in inputs):
        results = [backend.named(x, each) for x, each in zip(results, names, strict=True)]
    watch.note(operation, pattern, inputs, list(zip(results, [parts for _, parts in outputs], strict=True)), sizes)
    return results


def carried(backend: Backend, arrays: Sequence[Any], labels: Labels, called: Sequence[Sequence]) -> list[Names]:
    """The names of results whose axes the pattern calls so: those, and their own under '...'."""
    own: dict[int, str] = {}
    for x, groups in zip(arrays, labels.operands):
        names = backend.names(x) or ()
        own.update({group[0]: name for group, name in zip(groups, names) if len(group) == 1 and name})
    found = []
    for at, parts in enumerate(called):
        names = [part if isinstance(part, str) else None for part in parts]
        for axis, group in enumerate(labels.results[at] if labels.results else ()):
            if len(group) == 1 and labels.axes[group[0]].__class__ is tuple:
                names[axis] = own.get(group[0])
        found.append([name if name not in names[:axis] else None for axis, name in enumerate(names)])
    return found


def _agree(own: Names, parts: Sequence[watch.Part], operation: str, pattern: str) -> None:
    for axis, (name, part) in enumerate(zip(own, parts, strict=True)):
        if name is None or part is None or part == name or own.count(name) > 1:
            continue
        if not isinstance(part, str) and name not in parts:
            continue  # a product of axes may have any name that is not another's
        called = part if isinstance(part, str) else f"({' '.join(part)})"
        first = part if isinstance(part, str) else (part or ("",))[0]
        raise AxisSpaceError(
            f"{operation} calls axis {axis} of a tensor {called!r}, and its name is {name!r}: the axes are "
            f"({', '.join([n or '_' for n in own])}).\n{caret(pattern, *span_of(pattern, first))}\n"
            "  Write the pattern with the names that the axes have, or rename them: t.rename(…)."
        )
