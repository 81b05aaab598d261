"""einops' own tests, which are installed with it, run on ricci: what people rely on there holds here.

A process is started in which ``import einops`` gives ricci.einops: a package of that name that lies first on the path
calls :func:`install`. The tests are those of the installed package, and so are their helpers (``einops.tests``, and
``einops._backends``, which makes arrays for them); all that they test is ricci's. Nothing is copied.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE, SOURCE = Path(__file__).parent, Path(__file__).parents[2] / "src"
BACKENDS = ("numpy", "torch", "jax")
PUBLIC = ("EinopsError", "asnumpy", "einsum", "pack", "parse_shape", "rearrange", "reduce", "repeat", "unpack")
LAYERS = ("Rearrange", "Reduce", "EinMix")

# Tests that look at nothing but the inside of einops: they would pass or fail whatever ricci does.
EXEMPT = {
    "test_parsing.py": "the class that einops' parser makes",
    "test_ops.py::test_enumerating_directions": "a private function",
    "test_ops.py::test_tiling_imperatives": "a method of einops' backends",
    "test_ops.py::test_tiling_symbolic": "a method of einops' backends",
    "test_other.py::test_backends_installed": "the list of einops' backends",
    "test_other.py::test_is_float_type": "a method of einops' backends",
    "test_other.py::test_optimize_transformations_numpy": "a private function",
    "test_other.py::test_doctests_examples": "the docstrings of einops; ours are tests of this project",
    "test_layers.py::test_einmix_decomposition": "the attributes in which einops' layer keeps its steps",
}
# Tests that leave themselves out, because nothing here has symbols of TensorFlow or Theano.
SKIPPED = ("test_keras_layer", "test_parse_shape_symbolic", "test_parse_shape_symbolic_ellipsis")


# In the process that runs the suite


def install(shelf: str) -> None:
    """Make all imports of einops give ricci's, but for what its tests are made of. ``shelf`` is not searched."""
    real = load_real(shelf)
    ours = importlib.import_module("ricci.einops")
    shim = ModuleType("einops")
    shim.__path__ = real["einops"].__path__  # where its tests are
    operations = ModuleType("einops.einops")
    for module in (shim, operations):
        vars(module).update({name: found for name in PUBLIC if (found := part(ours, name)) is not None})
    private = ("_enumerate_directions", "_optimize_transformation", "_compactify_pattern_for_einsum")
    vars(operations).update({name: getattr(real["einops.einops"], name) for name in private})
    sys.modules |= {"einops": shim, "einops.einops": operations}
    for name in ("einops._backends", "einops.parsing", "einops.tests"):
        sys.modules[name] = real[name]
        setattr(shim, name.split(".")[1], real[name])
    shim.einops = operations  # pyright: ignore[reportAttributeAccessIssue]
    for name in ("array_api", "packing", "layers", "layers.torch", "layers.flax", "_torch_specific"):
        alias(name, shim)
    mend_frameworks()


def part(module: Any, name: str) -> Any:
    """A part of a module, or None: one that is missing fails the tests that need it, and not the others."""
    try:
        return getattr(module, name)
    except (AttributeError, ImportError):
        return None


def load_real(shelf: str) -> dict[str, ModuleType]:
    """The modules of the installed package, which are taken out of sight again."""
    hide_einops()
    path = sys.path[:]
    sys.path[:] = [entry for entry in path if entry != shelf]
    for name in ("einops", "einops.einops", "einops._backends", "einops.parsing", "einops.tests"):
        importlib.import_module(name)
    sys.path[:] = path
    return hide_einops()


def hide_einops() -> dict[str, ModuleType]:
    return {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "einops"}


def alias(name: str, shim: ModuleType) -> None:
    """Our module under einops' name; where there is none, its import fails, and never finds einops' own."""
    try:
        module = importlib.import_module(f"ricci.einops.{name}")
    except ModuleNotFoundError:
        module = None
    if name == "_torch_specific" and module is None:  # asked for by einops' backend; since torch 2.8 it does nothing
        module = ModuleType(name)
        module.allow_ops_in_compiled_graph = lambda: None  # pyright: ignore[reportAttributeAccessIssue]
    sys.modules[f"einops.{name}"] = module  # type: ignore[assignment]
    if "." not in name:
        setattr(shim, name, module)
    if (
        name == "layers.torch" and module is not None
    ):  # the class by which einops' tests ask whether a mix of axes is refused
        inside = sys.modules["einops.layers._einmix"] = ModuleType("einops.layers._einmix")
        inside._EinmixDebugger = module.EinMix  # pyright: ignore[reportAttributeAccessIssue]


def mend_frameworks() -> None:
    """jax.tree_map, which the suite looks for because it compares versions as text; and compilers without C++.

    Whether all of a function is in one graph, and for which shapes, is known before a graph is made into machine code.
    """
    import jax
    import torch

    jax.tree_map = jax.tree.map  # pyright: ignore[reportAttributeAccessIssue]
    compiler = torch.compile
    torch.compile = lambda *args, **options: compiler(*args, **{"backend": as_it_is, **options})


def as_it_is(graph: Any, inputs: Any) -> Any:
    """Run a graph without compiling it.

    The suite compares functions with what they give in double precision, to five digits of sums of 70,000 numbers, of
    which torch's einsum loses one; they are run in double precision. Layers it compares with themselves.
    """
    import torch

    single, double = torch.float32, torch.float64

    def cast(values: Any, old: Any, new: Any) -> list[Any]:
        return [value.to(new) if getattr(value, "dtype", None) is old else value for value in values]

    if any(isinstance(value, torch.nn.Parameter) for value in inputs):
        return graph.forward
    return lambda *args: cast(graph.forward(*cast(args, single, double)), double, single)


def sabotage() -> None:
    """Make rearrange wrong, and see who notices."""
    modules = (sys.modules["einops"], sys.modules["einops.einops"])
    right = modules[0].rearrange

    def rearrange(tensor: Any, pattern: str, **sizes: int) -> Any:
        result = right(tensor, pattern, **sizes)
        return result[..., ::-1] if result.ndim else result

    for module in modules:
        module.rearrange = rearrange  # pyright: ignore[reportAttributeAccessIssue]


def run_suite(report: str, files: list[str], sabotaged: bool) -> None:
    """Run the tests, and write how each ended and which of ricci's functions their modules held."""
    import einops

    import ricci.einops as ours

    assert einops.rearrange is ours.rearrange
    tested = [backend.framework_name for backend in einops.tests.collect_test_backends()]  # pyright: ignore[reportAttributeAccessIssue]
    assert sorted(tested) == sorted(os.environ["EINOPS_TEST_BACKENDS"].split(","))  # the suite is silent about others
    folder = Path(einops.__path__[0]) / "tests"
    if sabotaged:
        sabotage()
    outcomes: dict[str, list[str]] = {}

    class Recorder:
        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.when == "call" or report.outcome != "passed":
                outcomes[report.nodeid] = [report.outcome, str(report.longrepr)[-1500:] if report.failed else ""]

        def pytest_collectreport(self, report: Any) -> None:
            if report.failed:
                outcomes[report.nodeid] = ["failed", str(report.longrepr)[-1500:]]

    left_out = [f"--deselect={test}" for test in EXEMPT]
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-c",
        os.devnull,
        "--continue-on-collection-errors",
        f"--rootdir={folder}",
        *left_out,
    ]
    pytest.main([*options, *[str(folder / name) for name in files]], plugins=[Recorder()])
    modules = [module for name, module in sys.modules.items() if name.startswith("einops.tests.test_")]
    names = [(module, name) for module in modules for name in PUBLIC if name in vars(module)]
    held = {name for module, name in names if getattr(module, name) is part(ours, name)}
    foreign = [f"{module.__name__}.{name}" for module, name in names if getattr(module, name) is not part(ours, name)]
    layers = [getattr(sys.modules.get("einops.layers.torch"), name, None) for name in LAYERS]
    kept = {"outcomes": outcomes, "held": sorted(held), "foreign": foreign}
    kept["layers"] = [getattr(layer, "__module__", "") for layer in layers]
    Path(report).write_text(json.dumps(kept))


# Here


def reports(tmp_path: Path, files: list[str], backends: tuple[str, ...], sabotaged: bool = False) -> dict[str, Any]:
    """What a run of these files of the suite leaves."""
    for package in ("einops", "torch", "jax"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed, which the tests of einops need")
    shelf = tmp_path / "shelf"
    (shelf / "einops").mkdir(parents=True)
    lines = ["import sys", f"sys.path.append({str(HERE)!r})", "import test_einops_suite"]
    lines.append(f"test_einops_suite.install({str(shelf)!r})")
    (shelf / "einops" / "__init__.py").write_text("\n".join(lines) + "\n")
    report = tmp_path / "report.json"
    code = f"import einops, test_einops_suite as t; t.run_suite({str(report)!r}, {files!r}, {sabotaged!r})"
    paths = os.pathsep.join([str(shelf), str(SOURCE)])
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])  # a test starts "python"
    env = {**os.environ, "PYTHONPATH": paths, "PATH": programs, "EINOPS_TEST_BACKENDS": ",".join(backends)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert report.exists(), done.stdout[-3000:] + done.stderr[-3000:]
    return json.loads(report.read_text())


FILES = ["test_ops.py", "test_other.py", "test_einsum.py", "test_examples.py", "test_packing.py", "test_layers.py"]


def test_the_suite_of_einops_passes(tmp_path: Path) -> None:
    found = reports(tmp_path, FILES, BACKENDS)
    failed = {name: text for name, (outcome, text) in found["outcomes"].items() if outcome == "failed"}
    assert not failed, "\n\n".join(f"{name}\n{text}" for name, text in failed.items())
    skipped = [name for name, (outcome, _) in found["outcomes"].items() if outcome == "skipped"]
    assert all(any(known in name for known in SKIPPED) for name in skipped), skipped
    assert sum(outcome == "passed" for outcome, _ in found["outcomes"].values()) >= 45
    assert found["foreign"] == []  # no test module holds a function of the same name that is not ricci's
    assert found["held"] == sorted(PUBLIC)
    assert all(module.startswith("ricci.einops.layers") for module in found["layers"]), found["layers"]


def test_a_wrong_rearrange_makes_the_suite_fail(tmp_path: Path) -> None:
    """The suite is one that can fail, and calls what is put in the place of einops."""
    found = reports(tmp_path, ["test_ops.py", "test_examples.py"], ("numpy",), sabotaged=True)
    failed = {name.split("::")[-1] for name, (outcome, _) in found["outcomes"].items() if outcome == "failed"}
    assert {"test_rearrange_consistency_numpy", "test_rearrange_permutations_numpy"} <= failed
    assert "rearrange" not in found["held"]


def test_what_is_exempt_is_in_the_suite() -> None:
    """A test that is renamed or gone is not exempt for ever."""
    spec = find_spec("einops")
    if spec is None or spec.origin is None:
        pytest.skip("einops is not installed")
    folder = Path(spec.origin).parent / "tests"
    for test, reason in EXEMPT.items():
        name, _, function = test.partition("::")
        assert f"def {function}" in (folder / name).read_text(), (test, reason)
