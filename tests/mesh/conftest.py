"""Lets the tests in this folder import the helpers beside them; files for eight devices are read where these are."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
EIGHT = "--xla_force_host_platform_device_count=8"
collect_ignore_glob = [] if EIGHT in os.environ.get("XLA_FLAGS", "") else ["on_*.py"]
