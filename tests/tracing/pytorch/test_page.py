"""The page of PyTorch's operations, and the table that it is made from."""

import inspect
import re
from pathlib import Path

import torch

from ricci.testing.torch_page import TITLES, page
from ricci.tracing.pytorch.aten import MODULES, operations

DOCS = Path(__file__).parents[3] / "docs" / "torch.md"


def test_the_page_lists_the_table():
    own, written = (set(re.findall(r"`([^`]+)`", text)) for text in (page(), DOCS.read_text()))
    assert own == written, "python -m ricci.testing.torch_page makes the page anew"
    assert set(TITLES) == set(MODULES.split())


def test_arguments_have_the_names_that_pytorch_has():
    """A row takes arguments that have defaults by name, so one with another name would never be given."""
    schemas: dict = {}  # of the operations that a lowering stands for
    for name, row in operations().items():
        packet = getattr(torch.ops.aten, name, None)  # none of another version of PyTorch, or of its primitives
        found = [] if packet is None else [getattr(packet, o)._schema.arguments for o in packet.overloads()]
        schemas.setdefault(getattr(row.lower, "__code__", row.lower), (row.lower, []))[1].extend(found)
    for lower, arguments in schemas.values():
        known = {a.name for own in arguments for a in own}
        own = inspect.signature(lower).parameters.values()
        strange = {p.name for p in own if p.default is not p.empty and p.name not in known}
        assert not strange or not known or lower.__module__ == "numpy", (lower, strange, known)
        assert sum(p.default is p.empty for p in own) <= max(map(len, arguments), default=9), (lower, known)
