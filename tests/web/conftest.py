"""Lets the tests, and processes that they start, import what stands beside them; the page is built once for all."""

import sys
from pathlib import Path

import pytest

from ricci.errors import MissingPackageError
from ricci.web import static_page

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Of the page, built."""
    try:
        return static_page.build(tmp_path_factory.mktemp("page") / "built")
    except MissingPackageError as error:
        pytest.skip(f"the page is not built: {error}")
