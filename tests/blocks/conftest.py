"""The cases of tests of blocks are beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
