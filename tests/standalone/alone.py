"""What the tests of code to keep share: codes are run all together, in a process that cannot import ricci."""

from __future__ import annotations

import inspect
import os
import pickle
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np

SCRIPT = Path(__file__).with_name("runs_alone.py")
INSTALLED = [name for name in ("numpy", "torch", "jax") if find_spec(name) is not None]


class Batch:
    """Codes with the arguments to call them with, and the values that should come out."""

    def __init__(self):
        self.codes = []

    def add(self, place, code, calls):
        """``calls`` are pairs: values by name, more than are needed, and what should come out."""
        taken = parameters(code)
        chosen = []
        for values, wanted in calls:
            missing = taken - values.keys()
            assert not missing, f"{place}: nothing is given for {missing}"
            chosen.append(({name: values[name] for name in taken}, wanted))
        self.codes.append((code.backend, place, str(code), code.name, chosen))

    def faults(self):
        """What is wrong, a line each."""
        env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        env["JAX_PLATFORMS"] = "cpu"
        done = subprocess.run(
            [sys.executable, str(SCRIPT)], input=pickle.dumps(self.codes), capture_output=True, env=env, check=False
        )
        *lines, last = done.stdout.decode().splitlines() or [""]
        assert last == "alone", done.stderr.decode()[-2000:]
        return lines


def parameters(code):
    """The names of the arguments of a code."""
    names = {}
    head = str(code)[str(code).index(f"def {code.name}(") :]
    head = head[: head.index("):")] + "):\n    pass\n"
    exec(head, names)
    return set(inspect.signature(names[code.name]).parameters)


def arrays(values):
    return {name: np.asarray(value) for name, value in values.items()}
