"""Lets the tests in this folder import the helper beside them, and has every stage of the pipeline checked."""

import sys
from pathlib import Path

import pytest

from ricci.compiler import pipeline

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def checked_stages(request):
    """Tests of speed, and of what calls cost, say ``unchecked``."""
    if request.node.get_closest_marker("unchecked"):
        yield
        return
    with pipeline.checked():
        yield
