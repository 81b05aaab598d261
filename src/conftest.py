"""Names in doctests: examples of functions that are made from the table begin with what everybody imports."""

import numpy as np
import pytest

import ricci as rc


@pytest.fixture(autouse=True, scope="session")
def names_in_doctests(doctest_namespace):
    doctest_namespace.update(np=np, rc=rc)
