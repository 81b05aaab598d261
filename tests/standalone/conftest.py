"""Lets the tests, and processes that they start, import what stands beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
