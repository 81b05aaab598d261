"""What imports what: the package starts without NumPy, and its imports point one way."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import ricci

SOURCE = Path(ricci.__file__).parent

# Each part imports only from lines above its own; a new part gets its place here.
ORDER = [
    ["errors", "grid"],
    ["caches"],
    ["kinds"],
    ["dispatch", "scopes"],
    ["expr"],
    ["functions"],
    ["notation"],
    ["calculus"],
    ["simplify"],
    ["show"],
    ["compiler"],
    ["einops"],
    ["tracing"],
    ["tensor"],
    ["transforms"],
    ["checks", "drawing"],
    ["user"],
    ["numpy"],
    ["testing"],
    ["__init__"],
    ["__main__"],
]
RANK = {part: rank for rank, parts in enumerate(ORDER) for part in parts}


def part_of(module):
    """The part of the package that ``ricci.expr.nodes`` belongs to."""
    words = module.split(".")
    return words[1] if len(words) > 1 and words[1] in RANK else "__init__"


def imported(source, module):
    """All modules of ricci that a source imports, anywhere in it, also inside functions: name and line.

    What stands under ``if TYPE_CHECKING:`` is never imported; it only says what a method gives.
    """
    package = module.split(".")[: None if module.endswith(".__init__") else -1]
    package = [word for word in package if word != "__init__"]
    stack: list[ast.AST] = list(ast.parse(source).body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        stack += ast.iter_child_nodes(node)
        found = []
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            base = ".".join(filter(None, [base, node.module]))
            # ``from ricci import x``: x may be a part, or something that the package itself defines
            found = [f"{base}.{alias.name}" for alias in node.names] if base == "ricci" else [base]
        yield from ((name, node.lineno) for name in found if name.split(".")[0] == "ricci")  # pyright: ignore[reportAttributeAccessIssue]


def backward_imports(sources):
    """The faults, as text, in ``{module: source}``; a module that ends in ``.__init__`` is a package."""
    faults = []
    for module, source in sources.items():
        if part_of(module) == "__init__" and module != "ricci.__init__":
            faults.append(f"{module} has no place in the order")
            continue
        for name, line in imported(source, module):
            own, other = part_of(module), part_of(name)
            if other != own and RANK[other] >= RANK[own]:
                faults.append(f"{module}:{line} imports {name}")
    return faults


def sources():
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        words = path.relative_to(SOURCE.parent).with_suffix("").parts
        found[".".join(words)] = path.read_text()
    return found


def test_imports_point_one_way():
    assert backward_imports(sources()) == []


def test_the_check_reads_the_whole_package():
    names = sources()
    expected = {"ricci.errors", "ricci.expr.nodes", "ricci.notation.parser", "ricci.compiler.backends.numpy_table"}
    assert expected <= set(names)
    found = {part_of(name) for source in names for name, _ in imported(names[source], source)}
    assert {"errors", "expr", "functions", "notation", "show", "user"} <= found


@pytest.mark.parametrize(
    "module, source",
    [
        ("ricci.expr.nodes", "from ricci.notation.context import Facts"),
        ("ricci.expr.nodes", "import ricci.show.text"),
        ("ricci.errors", "from ricci.expr import Expr"),
        ("ricci.functions.table", "def later():\n    from ricci.user.formula import Formula\n    return Formula"),
        ("ricci.notation.scope", "if True:\n    from ricci.compiler import bind"),
        ("ricci.notation.scope", "from ..show import express"),
        ("ricci.expr.__init__", "from ..functions import table"),
        ("ricci.expr.nodes", "from ricci import parse"),
        ("ricci.einops.wide", "def later():\n    from ricci.user.formula import Formula"),
        ("ricci.tensor.tensor", "class A:\n    from ricci.user.tensor_formulas import expression"),
        ("ricci.tracing.operand", "def later():\n    from ricci import numpy"),
        ("ricci.unheard_of", "x = 1"),
    ],
)
def test_the_check_can_fail(module, source):
    assert len(backward_imports({module: source})) == 1


@pytest.mark.parametrize(
    "module, source",
    [
        ("ricci.notation.scope", "from ricci.expr import Expr\nimport numpy\nfrom . import syntax"),
        ("ricci.expr.__init__", "from .node import Expr\nfrom ..errors import RicciError"),
        ("ricci.show.text", "from ricci.notation import syntax"),
        ("ricci.user.formula", "from ricci.user.equations import Equation\nfrom ricci.drawing import draw"),
        ("ricci.drawing.trace_tables", "if TYPE_CHECKING:\n    from ricci.user.equations import Equation"),
    ],
)
def test_the_check_lets_pass_what_is_right(module, source):
    assert backward_imports({module: source}) == []


# Where a package is not installed, type checkers take a module of its name for it. These names are public.
NAMESAKES = {f"ricci.einops.layers.{name}" for name in ("torch", "flax", "keras")} | {"ricci.numpy"}
PACKAGES = {"numpy", "scipy", "torch", "jax", "numba", "llvmlite", "flax", "keras", "dask", "cupy"}


def namesakes(modules):
    """The modules that have the name of a package that others may import."""
    return {module for module in modules if module.split(".")[-1] in PACKAGES} - NAMESAKES


def test_no_module_has_the_name_of_a_package():
    assert namesakes(sources()) == set()
    assert sources().keys() >= NAMESAKES
    assert namesakes(["ricci.expr.nodes", "ricci.some.torch", "ricci.some.torch_table"]) == {"ricci.some.torch"}


def run(code):
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(SOURCE.parent)},
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
