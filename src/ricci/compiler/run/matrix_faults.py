"""A function of matrices that fails while a program runs: which part of the formula it is, and of which matrix."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

from ricci.caches import once
from ricci.compiler.emit.source import PROGRAM, SOURCE
from ricci.compiler.prepare.prepared import Prepared
from ricci.errors import MatrixError, RicciError
from ricci.expr import Expr, Function
from ricci.show.index_names import Namer

MOST_SHOWN = 3  # parts of a formula that may be meant
_LONGEST = 80  # letters of a part
_REMEDIES = {
    "cholesky": "Is it symmetric and positive definite? Add a small multiple of the identity: A[i,j] + eps delta[i,j].",
    "solve": "Are its rows independent? pinv is defined for all matrices.",
    "inv": "Are its rows independent? pinv is defined for all matrices.",
}


def is_matrix_fault(error: Exception) -> bool:
    """Whether it is the error of NumPy or PyTorch for a matrix that a function is not defined for."""
    return type(error).__name__ in ("LinAlgError", "_LinAlgError")


@once
def _class(kind: type[Exception]) -> type[MatrixError]:
    """The error that is also that of a library; copies and pickles are plain ones."""
    reduce = lambda self: (MatrixError, self.args)  # noqa: E731
    return type("MatrixError", (MatrixError, kind), {"__module__": MatrixError.__module__, "__reduce__": reduce})


def matrix_error(
    error: Exception, name: str, what: str, shape: tuple[int, ...] | None = None, hint: str = ""
) -> MatrixError:
    """The error of a library for a function of this name, in words that say of what, and perhaps why."""
    said = str(error).partition("\n")[0].rstrip(".").removeprefix(f"torch.linalg.{name}: ")
    of = f" The matrix has the shape {shape}." if shape else ""
    return _class(type(error))(f"{what} fails: {said}.{of} {hint or _REMEDIES.get(name, '')}".rstrip())


def explained(error: Exception, stage: Prepared, lines: Mapping[Expr, Any] | None = None) -> MatrixError | None:
    """The error with the part of the formula that it is of, if it comes from a function of matrices.

    ``stage`` has the expressions that the program is of, and ``lines`` are those of the user's code that made them.
    """
    if not is_matrix_fault(error) or isinstance(error, RicciError):
        return None
    name, shape = _called(error.__traceback__)
    nodes = [node for node in stage.nodes if isinstance(node, Function) and node.op.name == name]
    parts = list(dict.fromkeys(_written(nodes, stage)))
    listed = " or ".join(parts) if len(parts) <= MOST_SHOWN else f"{parts[0]} and {len(parts) - 1} more such parts"
    places = list(dict.fromkeys(str(lines[node]) for node in nodes if node in lines)) if lines else []
    where = f" ({places[0]})" if len(places) == 1 else ""
    own = dict.fromkeys(n.op.note for n in stage.nodes if isinstance(n, Function) and n.op.own and n.op.note)
    return matrix_error(error, name, f"{listed or name}{where}", shape, " ".join(own))


def _called(trace: TracebackType | None) -> tuple[str, tuple[int, ...] | None]:
    """The function that was running in a program, and the shape of its first operand."""
    found: tuple[str, tuple[int, ...] | None] = "a function of matrices", None
    while trace is not None:
        frame = trace.tb_frame
        own = frame.f_code.co_filename == PROGRAM
        call = (
            re.search(r"\bf_(\w+)\((\w+)", frame.f_globals[SOURCE].splitlines()[trace.tb_lineno - 1]) if own else None
        )
        if call:
            shape = getattr(frame.f_locals.get(call[2]), "shape", None)
            found = call[1], None if shape is None else tuple(shape)
        trace = trace.tb_next
    return found


def _written(nodes: Iterable[Function], stage: Prepared) -> Iterable[str]:
    """Nodes as the notation has them."""
    from ricci.show import to_text

    for node in nodes:
        namer, names = Namer(stage.facts, [node]), []
        for axis, size in enumerate(node.shape):
            names.append(namer.fresh(size, namer.hints_of(node, axis), set(names)))
        text = to_text(node, tuple(names), stage.facts, None).splitlines()[-1]
        yield text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
