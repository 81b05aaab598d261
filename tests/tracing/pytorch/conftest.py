"""These tests need PyTorch."""

import importlib.util
import sys
from pathlib import Path

collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["*"]
sys.path.insert(0, str(Path(__file__).parent))
