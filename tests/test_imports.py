"""What imports what: the package starts without NumPy, imports point one way, and a name means one thing.

What is read from the sources, and the order of the rooms, is in ``benchmarks/house.py``, which also draws the graph.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import ricci

TREE = Path(ricci.__file__).parent.parent
HOUSE = Path(__file__).parent.parent / "benchmarks" / "house.py"


def loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)  # pyright: ignore[reportArgumentType]
    sys.modules[path.stem] = module  # for its dataclasses
    spec.loader.exec_module(module)  # pyright: ignore[reportOptionalMemberAccess]
    return module


house = loaded(HOUSE)
SOURCES = house.sources(TREE)

LAYERS = {"EinMix", "Rearrange", "Reduce", "Repeat"}  # classes that have the names that einops gives them


def imports():
    return house.imports(SOURCES)


# The order of rooms


def test_imports_point_one_way():
    assert house.misplaced(SOURCES) == []


def test_the_graph_is_drawn_below_its_diagonal():
    drawn = house.drawn(house.rooms_of(imports())).splitlines()
    names = [line.split()[0] for line in drawn]
    assert {"errors", "expr", "compiler", "user", "testing"} <= set(names)
    assert all(line.rstrip().endswith("•") for line in drawn)


def test_the_check_reads_the_whole_package():
    expected = {"ricci", "ricci.errors", "ricci.expr.nodes", "ricci.notation.parser", "ricci.compiler"}
    assert expected <= SOURCES.keys()
    assert {house.room_of(name) for name in SOURCES} == {room for line in house.ORDER for room in line}
    assert {one.where for one in imports()} == {house.TOP, house.INSIDE, house.NAMED}


# A small house, in which one thing at a time is wrong.
SMALL = {
    "ricci": 'LATER = {"diff": "ricci.user.formula"}',
    "ricci.errors": "class RicciError(Exception): ...",
    "ricci.expr": "from ricci.expr.nodes import Expr",
    "ricci.expr.nodes": "from ricci.errors import RicciError\nclass Expr: ...",
    "ricci.notation": "",
    "ricci.notation.scope": "import numpy\nfrom . import syntax\nfrom ..expr import Expr\nclass Scope: ...",
    "ricci.notation.syntax": "if TYPE_CHECKING:\n    from ricci.user.formula import Formula",
    "ricci.user": "",
    "ricci.user.formula": "def later():\n    from ricci.notation import scope\n    import ricci.expr.nodes",
}


def test_a_house_that_is_right():
    assert house.misplaced(SMALL) == []
    assert house.cycles(house.imports(SMALL)) == [] == house.closing(house.imports(SMALL))
    assert house.twice(SMALL) == ({}, {})


def test_imports_are_found_wherever_they_stand():
    found = {(one.module, one.other): one.where for one in house.imports(SMALL)}
    assert found == {
        ("ricci", "ricci.user.formula"): house.NAMED,
        ("ricci.expr", "ricci.expr.nodes"): house.TOP,
        ("ricci.expr.nodes", "ricci.errors"): house.TOP,
        ("ricci.notation.scope", "ricci.notation.syntax"): house.TOP,
        ("ricci.notation.scope", "ricci.expr"): house.TOP,
        ("ricci.user.formula", "ricci.notation.scope"): house.INSIDE,
        ("ricci.user.formula", "ricci.expr.nodes"): house.INSIDE,
    }


@pytest.mark.parametrize(
    "module, source",
    [
        ("ricci.expr.nodes", "from ricci.notation.scope import Scope"),
        ("ricci.expr.nodes", "import ricci.notation.syntax"),
        ("ricci.errors", "from ricci.expr import Expr"),
        ("ricci.notation.syntax", "def later():\n    from ricci.user.formula import Formula\n    return Formula"),
        ("ricci.notation.scope", "if True:\n    from ricci.user import formula"),
        ("ricci.notation.scope", "from ..user import formula"),
        ("ricci.expr", "from ..notation import syntax"),
        ("ricci.expr.nodes", "from ricci import parse"),
        ("ricci.expr.nodes", 'import sys\nlater = sys.modules["ricci.user.formula"]'),
        ("ricci.notation.scope", "class A:\n    from ricci.user.formula import Formula"),
        ("ricci.unheard_of", "x = 1"),
    ],
)
def test_the_check_of_the_order_can_fail(module, source):
    assert len(house.misplaced({**SMALL, module: source})) == 1


# Cycles


def test_no_import_hides_a_cycle():
    assert house.closing(imports()) == []
    assert house.cycles(imports()) == []


@pytest.mark.parametrize(
    "added",
    [
        {"ricci.expr.nodes": "def later():\n    from ricci.expr import Expr"},
        {"ricci.notation.syntax": "def later():\n    from ricci.notation.scope import Scope"},
        {"ricci.notation.syntax": 'NAME = "ricci.notation.scope"'},
        {"ricci.errors": "def f():\n    import ricci.user.formula"},
    ],
)
def test_a_cycle_is_found(added):
    found = house.imports({**SMALL, **added})
    assert len(house.cycles(found)) == 1
    assert [one.module for one in house.closing(found)] in ([next(iter(added))], [])


def test_a_cycle_of_two_imports_inside_functions_is_found():
    both = {"ricci.a": "def f():\n    import ricci.b", "ricci.b": "def f():\n    import ricci.a"}
    assert house.cycles(house.imports(both)) == [{"ricci.a", "ricci.b"}]


def test_a_long_cycle_is_found_once():
    ring = {f"ricci.m{k}": f"import ricci.m{(k + 1) % 50}\nimport ricci.end" for k in range(50)} | {"ricci.end": ""}
    (group,) = house.cycles(house.imports(ring))
    assert len(group) == 50


# Names


def test_a_name_means_one_thing():
    files, classes = house.twice(SOURCES)
    assert files == {}
    assert classes.keys() == LAYERS


def test_names_that_occur_twice_are_found():
    two = {**SMALL, "ricci.expr.scope": "class Scope: ...\nclass Node:\n    class Inner: ..."}
    assert house.twice(two) == (
        {"scope": ["ricci.notation.scope", "ricci.expr.scope"]},
        {"Scope": ["ricci.notation.scope", "ricci.expr.scope"]},
    )


# Where a package is not installed, type checkers take a module of its name for it. These names are public.
NAMESAKES = {f"ricci.einops.layers.{name}" for name in ("torch", "flax", "keras")} | {"ricci.numpy"}
PACKAGES = {"numpy", "scipy", "torch", "jax", "numba", "llvmlite", "flax", "keras", "dask", "cupy"}


def namesakes(modules):
    """The modules that have the name of a package that others may import."""
    return {module for module in modules if module.split(".")[-1] in PACKAGES} - NAMESAKES


def test_no_module_has_the_name_of_a_package():
    assert namesakes(SOURCES) == set()
    assert SOURCES.keys() >= NAMESAKES
    assert namesakes(["ricci.expr.nodes", "ricci.some.torch", "ricci.some.torch_table"]) == {"ricci.some.torch"}


# NumPy


def run(code):
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(TREE)},
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


HEAVY = "print(*[m for m in ('numpy', 'scipy', 'opt_einsum', 'torch', 'jax') if m in sys.modules])"


def test_import_takes_no_numpy():
    assert run(f"import sys, ricci; {HEAVY}") == []


def test_all_that_is_symbolic_takes_no_numpy():
    code = """
import sys, ricci as rc, pickle
y = rc.parse("y[i,j] = exp(x[i,k] a[k,j]) + 1[i] b[j] / |i|; z[i] = softmax[j](y[i,j]) b[j]")
text = str(y) + y.latex() + repr(y) + str(y.shape)
x, w = rc.tensors("X[m,n] w[n]")
z = rc.einsum("m n, n -> m", x, w); s = (rc.exp(-z) * z).sum("m") + rc.variable("c")
assert s == pickle.loads(pickle.dumps(s)) and str(s.equation if s.order else s)
try:
    rc.parse("y = sn(x)")
except rc.RicciError as error:
    text += str(error)
"""
    assert run(code + HEAVY) == []


def test_a_call_takes_numpy():
    """What shows that the two tests above look at the right thing."""
    assert "numpy" in run(f"import sys, ricci as rc; rc.parse('y = 2 x')(x=1.0); {HEAVY}")
