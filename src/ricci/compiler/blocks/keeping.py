"""A run that can go on: what is known of it so far, in a file.

The file holds the totals of passes that are over, the parts that are joined so far and how many blocks they are of. It
is written anew every few seconds and where a run ends early, beside the old one and then in its place, so that there is
a whole one at any time. It belongs to one formula with inputs of certain shapes and types, in blocks of one length,
which it remembers by a digest, and refuses others. When the run is over it is removed.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from ricci.compiler.blocks.joining import Parts
from ricci.errors import InputError

EVERY = 5.0  # seconds from one file to the next
SAMPLE = 1 << 16  # entries of an input that are looked at


class Kept:
    """What is known of a run."""

    def __init__(self, path: Any, digest: str):
        if not isinstance(path, (str, os.PathLike)) or not Path(path).parent.is_dir():
            raise InputError(f"resume= is the name of a file, in a folder that there is, not {path!r}.")
        self.path, self.digest = Path(path), digest
        self.totals: dict[str, Any] = {}
        # Passes that are over, blocks of the next one that are done, and what is joined of these: set at once, so that
        # an interrupt finds what belongs together.
        self.state: tuple[int, int, list[Parts] | None] = (0, 0, None)
        self._saved = time.monotonic()
        if self.path.exists():
            self._read()

    def _read(self) -> None:
        try:
            with np.load(self.path, allow_pickle=False) as file:
                known = json.loads(str(file["known"]))
                digest, counts = known["digest"], known["parts"]
                self.totals = {name: file[f"total/{name}"][()] for name in known["totals"]}
                parts = [tuple([file[f"part/{k}/{j}"][()] for j in range(n)]) for k, n in enumerate(counts)]
                self.state = known["passes"], known["blocks"], parts if known["blocks"] else None
        except Exception as error:
            raise InputError(
                f"{self.path} is no file of a run in blocks: {error}. Give another name to resume=."
            ) from error
        if digest != self.digest:
            raise InputError(
                f"{self.path} is of another run: of another formula, other inputs or other blocks. Remove it to begin "
                "anew, or give another name to resume=."
            )

    @property
    def passes(self) -> int:
        return self.state[0]

    def note(self, number: int, blocks: int, parts: list[Parts]) -> None:
        """So many blocks of a pass are done."""
        self.state = number, blocks, parts

    def ended(self, number: int, totals: Mapping[str, Any]) -> None:
        """A pass is over."""
        self.totals = {**self.totals, **totals}
        self.state = number + 1, 0, None

    def due(self) -> bool:
        return time.monotonic() - self._saved > EVERY

    def save(self, out: Iterable[Any]) -> None:
        """Write the file; what results were written before is on the disk by then."""
        for result in out:
            if hasattr(result, "flush"):
                result.flush()
        arrays = {f"total/{name}": np.asarray(value) for name, value in self.totals.items()}
        passes, blocks, joined = self.state
        parts = joined or []
        arrays |= {f"part/{k}/{j}": np.asarray(x) for k, own in enumerate(parts) for j, x in enumerate(own)}
        known = {"digest": self.digest, "passes": passes, "blocks": blocks}
        known |= {"totals": list(self.totals), "parts": [len(own) for own in parts]}
        beside = self.path.with_name(f"{self.path.name}.{os.getpid()}.new")
        try:
            with open(beside, "wb") as file:
                np.savez(file, allow_pickle=False, known=np.array(json.dumps(known)), **arrays)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, self.path)
        finally:
            beside.unlink(missing_ok=True)
        self._saved = time.monotonic()

    def finished(self) -> None:
        self.path.unlink(missing_ok=True)


def digest_of(text: str, values: Mapping[str, Any], rows: Mapping[str, int]) -> str:
    """What tells runs apart: the formula with its blocks, and of each input the shape, the type and some entries.

    ``rows`` are those that are read of inputs that are cut; of the others it is as many as make up a sample.
    """
    found = blake2b(text.encode(), digest_size=16)
    for name, value in sorted(values.items()):
        found.update(f"{name}{tuple(value.shape)}{value.dtype}".encode())
        if value.shape:
            width = max(1, int(np.prod(value.shape[1:])))
            value = value[: min(rows.get(name, SAMPLE), max(1, SAMPLE // width))]
        found.update(np.ascontiguousarray(value).tobytes())
    return found.hexdigest()
