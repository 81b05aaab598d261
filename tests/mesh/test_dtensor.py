"""PyTorch's DTensors: every plan computes with them, in one process and in two that talk over the loopback network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

RANK = Path(__file__).parent / "dtensor_rank.py"
pytestmark = pytest.mark.skipif(not find_spec("torch"), reason="torch is not installed")


@pytest.mark.parametrize("world", [1, 2])
def test_processes(world: int, tmp_path: Path) -> None:
    import torch.distributed as dist

    if not (dist.is_available() and dist.is_gloo_available()):
        pytest.skip("this PyTorch has no gloo, by which processes without GPUs talk")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    command = [sys.executable, str(RANK)]
    processes = [
        subprocess.Popen(
            [*command, str(rank), str(world), str(tmp_path / "meeting")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for rank in range(world)
    ]
    try:
        told = [process.communicate(timeout=300) for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, (out, err) in zip(processes, told, strict=True):
        assert process.returncode == 0, err[-4000:]
        found = json.loads(out.splitlines()[-1])
        assert len(found) > 100
        assert {name: word for name, word in found.items() if word != "good"} == {}
