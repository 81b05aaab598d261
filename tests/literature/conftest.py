"""Lets the tests in this folder import the programs that the benchmarks run."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent.parent / "benchmarks"))
