"""Lets the tests in this folder import the helper beside them, and the counter of calls that the benchmarks have."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parent.parent.parent / "benchmarks"))
