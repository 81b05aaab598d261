"""What the names of a function hold between two steps of a loop."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ricci.tracing.array import Traced
from ricci.tracing.counters import Counter
from ricci.tracing.guards import same
from ricci.tracing.reach import MISSING

MOST_LEAVES = 2000
LAST = object()  # at the end of a path: the last part of a list that is appended to
OWNER = object()  # at the end of a path: what an array is a view of
Path = tuple[Any, ...]


@dataclass
class Names:
    """What names, and what they lead to, hold: traced arrays, and all else."""

    boxes: dict[Path, Traced] = field(default_factory=dict)
    others: dict[Path, Any] = field(default_factory=dict)
    containers: set[int] = field(default_factory=set)
    lengths: dict[str, int] = field(default_factory=dict)  # of lists that are appended to

    def versions(self) -> dict[Path, tuple]:
        return {path: (box, box.version) for path, box in self.boxes.items()}

    def walk(self, path: Path, value: Any) -> None:
        if len(self.boxes) + len(self.others) > MOST_LEAVES:
            raise NotAlikeError("there are too many things that may change")
        kind: Any = type(value)
        if kind is Traced:
            self.boxes[path] = value
            if value.source is not None and not value.source.fixed:
                self.boxes[(*path, OWNER)] = value.source.owner
        elif kind in (list, tuple, dict) or (isinstance(value, tuple) and hasattr(value, "_fields")):
            self.containers.add(id(value))
            keys = tuple(value) if kind is dict else len(value)
            self.others[(*path, "form")] = (kind, keys)
            parts: Any = enumerate(value) if kind is not dict else dict(value).items()
            for key, part in parts:
                self.walk((*path, key), part)
        else:
            self.others[path] = value

    def unlike(self, before: Names) -> set[Path]:
        """Where something else is held that is no traced array."""
        paths = self.others.keys() | before.others.keys()
        return {p for p in paths if not _alike(self.others.get(p, MISSING), before.others.get(p, MISSING))}


class NotAlikeError(Exception):
    """Why a step does not stand for others."""


def _alike(now: Any, then: Any) -> bool:
    """Whether two things are the same for each step."""
    if now is then or same(now, then):
        return True
    if type(now) is Counter and type(then) is Counter:
        return now.form == then.form
    if type(now) is np.ndarray and type(then) is np.ndarray and not now.dtype.hasobject:
        return now.dtype == then.dtype and now.shape == then.shape and now.tobytes() == then.tobytes()
    if type(now) is tuple and type(then) is tuple:
        return now == then
    return False
