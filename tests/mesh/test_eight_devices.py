"""Functions on meshes of eight devices of this machine.

JAX settles how many there are when it starts, so the tests that need them, ``on_….py``, run in a process of their own.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FLAG = "--xla_force_host_platform_device_count=8"


@pytest.mark.skipif(not find_spec("jax"), reason="jax is not installed")
@pytest.mark.parametrize("name", sorted(path.name for path in HERE.glob("on_*.py")))
def test_on_eight_devices(name: str, request: pytest.FixtureRequest) -> None:
    flags = f"{os.environ.get('XLA_FLAGS', '')} {FLAG}".strip()
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    environment.pop("PYTEST_XDIST_WORKER", None)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", str(HERE / name)]
    command += ["--thorough"] if request.config.option.thorough else []
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=900, env=environment)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert re.search(r"\[100%\]|\d+ passed", done.stdout), done.stdout


def test_files_are_found() -> None:
    assert len([*HERE.glob("on_*.py")]) >= 2
