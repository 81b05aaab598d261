"""What one test tells JAX about float64 holds for no other."""

import subprocess
import sys

import pytest

TWO_TESTS = """
import pytest
def test_one():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    assert jax.numpy.ones(1).dtype == "float64"
def test_two():
    import jax
    assert jax.numpy.ones(1).dtype == "float32"
"""


@pytest.mark.parametrize("held", [True, False], ids=["with what holds it", "without"])
def test_float64_is_switched_on_for_one_test(tmp_path, request, held):
    pytest.importorskip("jax")
    (tmp_path / "test_two.py").write_text(TWO_TESTS, encoding="utf-8")
    if held:
        own = request.config.rootpath / "conftest.py"
        (tmp_path / "conftest.py").write_text(own.read_text(encoding="utf-8"), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "test_two.py"]
    done = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True)
    assert ("2 passed" in done.stdout) is held, done.stdout + done.stderr
