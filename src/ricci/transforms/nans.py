"""``rc.debug_nans``: where a NaN or an infinity first arises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ricci.checked_calls import takes
from ricci.compiler.compressed.result import CompressedFunction
from ricci.compiler.pipeline import evaluate, prepare
from ricci.errors import NonFiniteError
from ricci.expr import Constant, Expr, Variable
from ricci.tensor.recording_mode import ModeScope, mode
from ricci.tracing import trees
from ricci.tracing.frames import CodePlace, user_place
from ricci.tracing.operand import Operand
from ricci.tracing.recording import Recording
from ricci.transforms.origins import Evaluated, first, operation


class debug_nans(ModeScope):
    """Inside, a result that is NaN, or infinite, is an error that names the operation and the line it arises from.

    It holds for transformed functions and for tensors, in this thread or task. With ``infinities=False``, only NaN is.

    >>> import numpy as np, ricci as rc
    >>> with rc.debug_nans():
    ...     rc.grad(lambda x: np.sqrt(x).sum())(np.zeros(2))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ricci.errors.NonFiniteError: In the derivative of <lambda>, an infinity arises in sqrt...
    """

    @takes("rc.debug_nans", infinities="flag")
    def __init__(self, infinities: bool = True):
        super().__init__(watch=watch_value, infinities=infinities)
        self.infinities = infinities

    def _recreate_cm(self) -> debug_nans:
        return type(self)(self.infinities)


def watching() -> bool:
    """Whether values are being watched here."""
    return mode().watch is not None


def _bad(value: Any) -> np.ndarray:
    """The entries that are not as they should be."""
    array = np.asarray(value)
    if array.dtype.kind != "f":
        return np.zeros(array.shape, bool)
    return ~np.isfinite(array) if mode().infinities else np.isnan(array)


def watch_value(name: str, value: Any, operands: Sequence[Any] = ()) -> None:
    """An error if the value of an operation is not finite though its operands are; for what runs line by line."""
    if not watching() or not np.any(_bad(value)) or any(np.any(_bad(x)) for x in operands):
        return
    array = np.asarray(value)
    place = first(array, _bad)
    known = [np.asarray(x) for x in operands if np.shape(x) in ((), array.shape)]
    shown = [f"{x[place if x.shape else ()]:.6g}" for x in known if x.dtype.kind in "iuf"]
    raise NonFiniteError(f"{_arises(array, name, user_place(), 'An')}{_entries(array, ' and '.join(shown))}")


def check(program: Any, arrays: Sequence[Any], results: Any, point: Sequence[Any] = ()) -> None:
    """An error if the results of a program are not finite, that says where in the user's function this arises.

    ``point`` are the arguments of the function, where the program has others.
    """
    if not watching():
        return
    inputs = {v.name: as_numpy(a) for v, a in zip(program.recording.inputs, point, strict=False)}
    inputs |= {v.name: as_numpy(a) for v, a in zip(program.derived.inputs, arrays, strict=True)}
    inputs |= {name: as_numpy(a) for name, a in program.recording.captured.items()}
    if isinstance(getattr(program, "compiled", None), CompressedFunction):
        found = evaluate(program.compiled.stage, inputs)
    else:
        found = [as_numpy(leaf) for leaf in trees.flatten(results)[0] if hasattr(leaf, "dtype")]
    if not any(np.any(_bad(value)) for value in found):
        return
    _search(program.recording, program.derived, inputs)


def as_numpy(value: Any) -> np.ndarray:
    """The numbers of an array of any package."""
    if isinstance(value, Operand):
        return value.numpy()  # type: ignore[attr-defined]
    return np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)


def _search(recording: Recording, derived: Recording, inputs: dict[str, Any]) -> None:
    """First in the function, if its value is at fault, then in the derivative."""
    raw = Evaluated(recording.outputs, recording.lines, inputs)
    values = evaluate(prepare(raw.roots), inputs) if raw.roots else []
    if any(np.any(_bad(value)) for value in values):
        node = raw.origin(_bad)
        if node is not None:
            _report(recording, raw, node, f"In {recording.name}, ")
            return
    slopes = Evaluated(derived.outputs, recording.lines, inputs)
    node = slopes.origin(_bad)
    start = f"In the derivative of {recording.name}, "
    given = isinstance(node, Constant) or node in recording.inputs or getattr(node, "name", None) in recording.captured
    steep = None if given else raw.steepest(_bad, node)
    if steep is not None:
        function, slope = steep
        made_of = raw.operands(function, first(slope, _bad)) if slope.shape == function.shape else ""
        arises = _arises(slope, operation(function), raw.line(function))
        raise NonFiniteError(f"{start}{arises}{_entries(slope, made_of, 'The derivative of its result')}")
    if node is not None:
        _report(recording, slopes, node, start)


def _report(recording: Recording, run: Evaluated, node: Expr, start: str) -> None:
    """The error for the node where it arises. An infinity that is written in the code is meant."""
    value, line = run.values[node], run.line(node)
    if isinstance(node, Variable):
        where = f" (used in {line})" if line else ""
        raise NonFiniteError(
            f"{start}{_input(recording, node)} is not finite from the start{where}.{_entries(value, '', 'Its value')}"
        )
    if not isinstance(node, Constant) or np.any(np.isnan(value)):
        made_of = run.operands(node, first(value, _bad))
        raise NonFiniteError(f"{start}{_arises(value, operation(node), line)}{_entries(value, made_of)}")


# In words


def _arises(value: np.ndarray, name: str, line: CodePlace | None, article: str = "an") -> str:
    word = "NaN" if np.any(np.isnan(value)) else f"{article} infinity"
    return f"{word} arises in {name}{f' ({line})' if line else ''}."


def _entries(value: np.ndarray, made_of: str, subject: str = "Its result") -> str:
    """Which entries, and what they are made of."""
    place, made = first(value, _bad), f", made of {made_of}" if made_of else ""
    if not value.shape:
        return f"\n  {subject} is {value[()]}{made}."
    number = int(np.sum(_bad(value)))
    return (
        f"\n  {subject}, of shape {value.shape}, has {number} such {'entry' if number == 1 else 'entries'}, "
        f"the first at {list(place)}: {value[place]}{made}."
    )


def _input(recording: Recording, node: Variable) -> str:
    """Which argument an input is."""
    if node.name in recording.captured:
        return f"an array of shape {node.shape} that the function uses without having been given it"
    number = next((k for k, v in enumerate(recording.inputs) if v == node), None)
    for k, (form, places) in enumerate(zip(recording.forms, recording.places, strict=True)):
        if number in places:
            path = trees.spelled(form)[places.index(number)]
            given = len(recording.keywords) + recording.positional
            key = k if k < recording.positional else recording.keywords[k - recording.positional] if k < given else None
            if key is not None:
                return f"argument {key!r}{f' at {path}' if path else ''} ({node.name})"
    return f"the direction {node.name}"
