"""Two processes of JAX, which talk over the loopback network, as hosts of a cluster do."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PROCESS = Path(__file__).parent / "jax_process.py"
CANNOT = ("Multiprocess computations aren't implemented", "Failed to bind", "gloo is not", "collectives are not")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.mark.skipif(not find_spec("jax"), reason="jax is not installed")
def test_two_processes() -> None:
    try:
        port = free_port()
    except OSError as error:
        pytest.skip(f"there is no loopback network here: {error}")
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4".strip()
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    processes = [
        subprocess.Popen(
            [sys.executable, str(PROCESS), str(rank), "2", str(port)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
        )
        for rank in range(2)
    ]
    try:
        told = [process.communicate(timeout=200)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    for text in told:
        for words in CANNOT:
            if words in text:
                pytest.skip(f"JAX cannot run on two processes here: {words}")
        assert "good: 2 processes, 8 devices" in text, text[-4000:]
