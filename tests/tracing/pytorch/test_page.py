"""The page of PyTorch's operations, and the table that it is made from."""

import inspect
import re
from pathlib import Path

import torch

from ricci.tracing.pytorch.aten import MODULES, operations
from ricci.tracing.pytorch.page import TITLES, page

DOCS = Path(__file__).parents[3] / "docs" / "torch.md"


def test_the_page_lists_the_table():
    own, written = (set(re.findall(r"`([^`]+)`", text)) for text in (page(), DOCS.read_text()))
    assert own == written, "python -m ricci.tracing.pytorch.page makes the page anew"
    assert set(TITLES) == set(MODULES)


def test_arguments_have_the_names_that_pytorch_has():
    """A row takes arguments by name, so one with another name would never be given."""
    for name, row in operations().items():
        packet = getattr(torch.ops.aten, name, None)
        if packet is None:  # of another version of PyTorch, or of its primitives
            continue
        known = {a.name for overload in packet.overloads() for a in getattr(packet, overload)._schema.arguments}
        own = inspect.signature(row.lower).parameters
        assert own.keys() & known, (name, own, known)
        assert not [k for k in own.keys() - known if own[k].default is inspect.Parameter.empty], (name, own, known)
