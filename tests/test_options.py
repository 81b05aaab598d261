"""The options of ./test: --thorough runs what takes long; it and --cases set how many examples properties draw."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

TESTS = '''
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

drawn = {"own": 0, "many": 0, "default": 0}


@settings(max_examples=7)
@given(st.integers())
def test_own_number(x):
    drawn["own"] += 1


@settings(max_examples=600)
@given(st.integers())
def test_many(x):
    drawn["many"] += 1


class TestDefault:
    @given(st.integers())
    def test_default_number(self, x):
        drawn["default"] += 1


@pytest.mark.thorough
def test_long():
    pass


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", range(6))
def test_table(case):
    pass


def test_report():
    print("drawn", drawn)


def double(x):
    """
    >>> double(2)
    4
    """
    return 2 * x
'''


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], ["{'own': 7, 'many': 120, 'default': 25}", "7 passed, 5 deselected"]),
        (["--thorough"], ["{'own': 7, 'many': 600, 'default': 100}", "12 passed"]),
        (["--cases", "230"], ["{'own': 230, 'many': 230, 'default': 230}", "7 passed, 5 deselected"]),
        (["-k", "long"], ["takes long: ./test --thorough", "1 skipped"]),
        (["--thorough", "--cases", "3"], ["{'own': 3, 'many': 3, 'default': 3}", "12 passed"]),
    ],
)
def test_options(tmp_path, options, expected):
    shutil.copy(ROOT / "conftest.py", tmp_path)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "test_some.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-s", "test_some.py", *options]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    for words in expected:
        assert words in run.stdout
