"""A function is one row in one file: one that is added there can be written, printed, derived, compiled and traced.

The row is put into a copy of the sources, which then knows it everywhere.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ricci

ROW = """
versine = row(
    "versine",
    "1 - cos(x), exact for small x",
    None,
    lambda x, y: sin(x),
    **known(parity="even", range=(0, 2), tame=ANY),
    **called(by=lambda f, x: 2 * f.sin(x / 2) * f.sin(x / 2), traced=("np.spacing", "lax.expm1", "aten.tan")),
)
"""  # it is traced as functions of libraries that have it: here others stand for these
CHECKS = {
    "text": """
f = rc.parse("y[i] = versine(x[i])")
assert str(f) == "y[i] = versine(x[i])" and rc.parse(str(f)) == f
assert r"\\operatorname{versine}" in f.latex()
assert str(rc.versine(rc.parse("x[i]"))) == str(rc.parse("x[i]").versine())
""",
    "derivative": """
f = rc.parse("l = 1[i] versine(x[i])")
assert str(f.diff("x[p]")) == "dl_dx[p] = sin(x[p])"
assert rc.parse("l = versine(-x)").simplify() == rc.parse("l = versine(x)")
assert rc.parse("l = abs(versine(x))").simplify() == rc.parse("l = versine(x)")
assert rc.parse("l = versine(2 x)").equivalent(rc.parse("l = 2 - 2 cos(x)**2"))
""",
    "numpy": """
assert np.allclose(rc.parse("y[i] = versine(x[i])")(x=X), 1 - np.cos(X), atol=1e-15)
assert np.allclose(rc.versine(X), 1 - np.cos(X)) and rc.versine(X.astype(np.float32)).dtype == np.float32
assert np.allclose(rc.grad(lambda x: rc.versine(x).sum())(X), np.sin(X))
""",
    "fused": """
pytest.importorskip("numba")
for dtype in (np.float64, np.float32):
    for x in (X, np.tile(X, 2000)):  # machine code of small steps; loops
        f = rc.parse("y[i] = versine(x[i]) + 3 x[i]").compile("numpy", fused=True)
        made = f(x=x.astype(dtype))
        assert made.dtype == dtype and np.allclose(made, 1 - np.cos(x) + 3 * x, atol=1e-5)
    assert "versine(" in f.source.partition("def program")[0]
""",
    "torch": """
torch = pytest.importorskip("torch")
f = rc.parse("y[i] = versine(x[i])").compile("torch")
assert np.allclose(f(x=torch.tensor(X)), 1 - np.cos(X), atol=1e-15)
assert np.allclose(rc.grad(lambda x: torch.tan(x).sum())(torch.tensor(X)), np.sin(X))
""",
    "jax": """
jax = pytest.importorskip("jax")
f = rc.parse("y[i] = versine(x[i])").compile("jax")
assert np.allclose(f(x=X), 1 - np.cos(X), atol=1e-6)
assert np.allclose(rc.grad(lambda x: jax.lax.expm1(x).sum())(X), np.sin(X))
""",
    "tracing": """
assert np.allclose(rc.grad(lambda x: np.spacing(x).sum())(X), np.sin(X))
x = rc.Tensor(X)
x.versine().sum().backward()
assert np.allclose(x.grad, np.sin(X))
""",
    "help": """
import inspect
assert "1 - cos(x), exact for small x" in rc.versine.__doc__ and "rc.versine(np.array([0.25]))" in rc.versine.__doc__
assert str(inspect.signature(rc.versine)) == "(x, /)" and "versine" in dir(rc)
from ricci.testing.domains import UNARY
assert "versine" in UNARY
""",
}


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("with_versine")
    shutil.copytree(Path(ricci.__file__).parent, folder / "ricci", ignore=shutil.ignore_patterns("__pycache__"))
    table = folder / "ricci" / "functions" / "elementwise.py"
    table.write_text(table.read_text(encoding="utf-8") + ROW, encoding="utf-8")
    return folder


@pytest.mark.parametrize("what", CHECKS)
def test_one_row_is_all_that_a_function_needs(sources, what):
    head = "import numpy as np, pytest, ricci as rc\nX = np.array([0.3, -1.2, 2.0])\n"
    code = f"{head}try:\n" + "".join(f"    {line}\n" for line in CHECKS[what].splitlines())
    code += "except pytest.skip.Exception:\n    pass\n"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(sources)}, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
