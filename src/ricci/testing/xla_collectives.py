"""What a program on a mesh sends, as XLA has compiled it: read from the text of the compiled module."""

from __future__ import annotations

import re
from math import prod
from typing import Any, NamedTuple

KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
WIDTHS = {"pred": 1, "s32": 4, "u32": 4, "f32": 4, "s64": 8, "u64": 8, "f64": 8, "bf16": 2, "f16": 2}
CALL = re.compile(rf"= (\([^)]*\)|\S+) ({'|'.join(KINDS)})(?:-start)?\(")
ARRAY = re.compile(r"(\w+)\[([\d,]*)\]")


class Sent(NamedTuple):
    """One array that takes part in an exchange."""

    kind: str
    shape: tuple[int, ...]  # on a device
    bytes: int


def collectives(compiled: Any, *arrays: Any) -> list[Sent]:
    """What a compiled function, or one that a transform has made, sends for these inputs, in the order of its program.

    Several arrays that one call exchanges are told one by one.
    """
    run = compiled.runner.run
    return sent_in_text(run.jitted.lower(*run.placed(arrays)).compile().as_text())


def sent_in_text(text: str) -> list[Sent]:
    """What a compiled module sends, from its text."""
    found = []
    for arrays_text, kind in CALL.findall(text):
        for dtype, dims in ARRAY.findall(arrays_text):
            shape = tuple([int(n) for n in dims.split(",") if n])
            found.append(Sent(kind, shape, prod(shape) * WIDTHS[dtype]))
    return found
