"""What imports what: the package starts without NumPy, and its imports point one way."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import ricci

SOURCE = Path(ricci.__file__).parent

# Each part imports only from those before it. Those on one line do not import each other either, unless by name below.
ORDER = [
    ["errors"],
    ["expr"],
    ["functions"],
    ["notation"],
    ["calculus"],
    ["simplify"],
    ["show"],
    ["compile"],
    ["formula"],
    ["derivatives", "equations", "surface"],
    ["testing"],
    ["__init__"],
    ["__main__"],
]
# Imports inside functions that point forward, and why they may.
ALLOWED = {
    ("formula", "equations"): "a formula makes an equation of itself, in a property",
    ("formula", "derivatives"): "its methods diff, pullback and their kin work on formulas",
}
RANK = {part: rank for rank, parts in enumerate(ORDER) for part in parts}


def part_of(module):
    """The part of the package that ``ricci.expr.node`` belongs to."""
    words = module.split(".")
    return words[1] if len(words) > 1 else "__init__"


def imported(tree, module, is_package):
    """All modules of ricci that a source imports, anywhere in it, with their lines."""
    names = module.split(".")
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            level = node.level - is_package
            base = ".".join(names[: len(names) - level]) if node.level else ""
            base = ".".join(filter(None, [base, node.module]))
            # ``from ricci import x``: x may be a part or something that the package itself defines
            found = [f"{base}.{alias.name}" for alias in node.names] if base == "ricci" else [base]
        else:
            continue
        for name in found:
            if name.split(".")[0] == "ricci":
                yield name, node.lineno


def backward_imports(sources):
    """The faults, as text, in ``{module: source}``; a module that ends in ``.__init__`` is a package."""
    faults = []
    for module, source in sources.items():
        is_package = module.endswith(".__init__")
        own = part_of(module.removesuffix(".__init__"))
        if own not in RANK:
            faults.append(f"{module} has no place in the order")
            continue
        for name, line in imported(ast.parse(source), module.removesuffix(".__init__"), is_package):
            other = part_of(name)
            if other not in RANK:
                other = "__init__"
            if other != own and RANK[other] >= RANK[own] and (own, other) not in ALLOWED:
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
    assert {"ricci.errors", "ricci.expr.node", "ricci.notation.parser", "ricci.compile.backends.numpy"} <= set(names)
    assert {part_of(name.removesuffix(".__init__")) for name in names} <= set(RANK)


@pytest.mark.parametrize(
    "module, source",
    [
        ("ricci.expr.node", "from ricci.notation.context import Facts"),
        ("ricci.expr.node", "import ricci.show.text"),
        ("ricci.errors", "from ricci.expr import Expr"),
        ("ricci.functions.table", "def later():\n    from ricci.formula import Formula\n    return Formula"),
        ("ricci.notation.scope", "if True:\n    from ricci.compile import bind"),
        ("ricci.notation.scope", "from ..show import express"),
        ("ricci.expr.__init__", "from ..functions import table"),
        ("ricci.expr.node", "from ricci import parse"),
        ("ricci.surface", "from ricci.equations import Equation"),
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
        ("ricci.formula", "def f():\n    from ricci.equations import Equation"),
        ("ricci.show.text", "from ricci.notation import syntax"),
    ],
)
def test_the_check_lets_pass_what_is_right(module, source):
    assert backward_imports({module: source}) == []


def test_what_is_allowed_is_still_needed():
    text = {part_of(name.removesuffix(".__init__")): [] for name in sources()}
    for name, source in sources().items():
        part = part_of(name.removesuffix(".__init__"))
        text[part] += [part_of(n) for n, _ in imported(ast.parse(source), name.removesuffix(".__init__"), False)]
    for own, other in ALLOWED:
        assert other in text[own]


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
