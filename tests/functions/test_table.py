"""The names that users may write: each builds, in the form that its kind promises."""

import subprocess
import sys
from pathlib import Path

import pytest
from directional import ELEMENTWISE, OVER_AXES

import ricci
from ricci.compiler.backends import numpy_table as backend
from ricci.expr import OPS, check, variable
from ricci.functions import FUNCTIONS


@pytest.mark.parametrize("name", FUNCTIONS)
def test_builds_what_its_kind_promises(name):
    surface = FUNCTIONS[name]
    assert surface.name == name and surface.help
    x = variable("x", (2, 3, 3))
    if surface.kind == "elementwise":
        result, shape = surface(*[x] * surface.arity), (2, 3, 3)
    elif surface.kind == "reduce":
        result, shape = surface(x, (1,)), (2, 3)
    elif surface.kind == "keep":
        result, shape = surface(x, (1,)), (2, 3, 3)
    elif surface.gives == "solve":
        result, shape = surface(x, x, ("b", "i", "j"), ("b", "i", "k"), "i", "j", ("j", "k", "b")), (3, 3, 2)
    else:
        result = surface(x, (1, 2))
        shape = {"scalar": (2,), "vector": (2, 3), "matrix": (2, 3, 3)}[surface.gives]
    check(result)
    assert result.shape == shape


def test_kinds_and_results():
    assert {s.kind for s in FUNCTIONS.values()} == {"elementwise", "reduce", "keep", "matrix"}
    assert {s.gives for s in FUNCTIONS.values() if s.kind == "matrix"} == {"scalar", "matrix", "vector", "solve"}
    assert all(not s.gives for s in FUNCTIONS.values() if s.kind != "matrix")


@pytest.mark.parametrize("op", [*ELEMENTWISE.values(), *OVER_AXES.values()], ids=repr)
def test_latex_is_a_template(op):
    if op.latex:
        shown = op.latex.format(*["x", "y", "z"][: op.arity], axes="k")
        assert "x" in shown and shown.count("{") == shown.count("}") and "{0}" not in shown


def test_every_row_has_an_implementation():
    assert set(backend.ELEMENTWISE) == {name for name, op in OPS.items() if op.kind == "elementwise"}
    assert set(backend.FUNCTIONS) == {*OVER_AXES, "cumsum"}  # which products with triangles become


def test_the_tables_import_no_numpy():
    source = str(Path(ricci.__file__).parents[1])
    code = "import sys, ricci.functions; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": source}, check=False).returncode == 0
