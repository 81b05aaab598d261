"""Public operations, each time on something new, with few places in all tables: nothing is kept beside these.

``benchmarks/soak.py`` has the operations, and runs them for long.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
import gc, json, sys, warnings
sys.argv.append("--small")
import numpy as np
import soak
warnings.simplefilter("ignore")
np.seterr(all="ignore")
found = {}
for title, work in soak.OPERATIONS.items():
    if "torch" not in title and "jax" not in title:
        counts = []
        for start, stop in ((1, 26), (26, 46), (46, 66), (66, 86)):
            for k in range(start, stop):
                work(k)
            gc.collect()
            counts.append(len(gc.get_objects()))
        found[title] = counts
print(json.dumps(found))
"""


@pytest.mark.thorough
def test_objects_level_off():
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT / 'benchmarks'}"}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=400, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) > 30
    assert {title: counts for title, counts in found.items() if goes_on(counts)} == {}


def goes_on(counts: list[int]) -> bool:
    """Whether there are more after each 20 rounds, by more than one for each of them; tables may be filled later."""
    return all(after - before > 20 for before, after in pairwise(counts))
