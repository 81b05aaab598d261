"""What is known of a function stands in its row: its name is a text there, and elsewhere only where it must be.

``python tests/functions/test_names_once.py`` (with ``src`` on the path) prints where names are, and why.
"""

import ast
import functools
from collections import Counter
from pathlib import Path

import ricci
from ricci.functions import FUNCTIONS

SOURCES = Path(ricci.__file__).parent
# Where functions are told apart by name, since what is done is of these alone.
REASONS = {
    "functions/": "the rows",
    "compiler/backends/": "what a library's own function cannot do",
    "compiler/emit/": "what source of NumPy, PyTorch and JAX writes in place, or otherwise than as a call",
    "compiler/fused/": "the algorithms of kernels: polynomials, instructions of LLVM, sums over lanes",
    "standalone/": "words of languages of which rows say nothing, and calls spelled out for libraries",
    "review/": "mistakes that people make with certain functions, and points at which these are tried",
    "compiler/": "steps of programs that the compiler itself makes: arithmetic, choices, solutions, running sums",
    "einops/": "the reductions and operations that patterns name",
    "expr/": "powers, which the core has, and their derivative",
    "notation/": "functions with a syntax of their own: solve",
    "show/": "forms of writing: roots, inverses, norms, cumulative sums",
    "simplify/": "rules and proofs, which are of certain functions",
    "tracing/": "functions of libraries that take more than the operands of the row",
    "tensor/": "operators and changes in place",
    "transforms/": "what programs are called by",
    "user/": "operators of formulas; sums and solutions",
    "testing/": "programs and texts that are random",
    "checks/": "programs that are checked",
    "": "names of the package that are functions of another kind: rc.trace",
}
FEW = 5  # names that may stand together without being a table
LANGUAGES = {f"standalone/{name}.py" for name in ("spelling", "c_code", "c_helpers", "julia_code")}
KNOWN_TABLES = {  # of exceptions of a library, of algorithms, of what einops calls operations, of random texts
    *LANGUAGES,
    *("review/mistakes.py", "review/sides.py", "show/matrix_notation.py", "show/deriving/stars.py"),
    "testing/planted.py",
    *[f"compiler/backends/{name}_table.py" for name in ("jax", "numpy", "torch")],
    *("compiler/fused/coefficients.py", "compiler/fused/kernel_maps.py"),
    *("compiler/fused/scalars.py", "einops/semirings.py", "testing/texts.py"),
}
ENTRYWISE = {name for name, row in FUNCTIONS.items() if row.kind == "elementwise"}


def reason(module: str) -> str:
    return next(why for place, why in REASONS.items() if module.startswith(place))


def texts(tree: ast.AST) -> list[ast.Constant]:
    """The texts of a module that are no documentation."""
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef))]
    told = {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}
    return [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in told]


@functools.cache
def read(sources: Path) -> tuple[dict[str, dict[str, int]], list[str]]:
    """For each module the names of functions that it has as texts, and how often; and tables of elementwise ones."""
    found: dict[str, dict[str, int]] = {}
    collections = []
    for path in sorted(sources.rglob("*.py")):
        module, tree = path.relative_to(sources).as_posix(), ast.parse(path.read_text(encoding="utf-8"))
        if names := Counter([text.value for text in texts(tree) if text.value in FUNCTIONS]):
            found[module] = names
        for node in ast.walk(tree):
            parts = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
            names = [p.value for p in parts if isinstance(p, ast.Constant) and p.value in ENTRYWISE]
            if len(names) > FEW and not module.startswith("functions/"):
                collections.append(f"{module}: {', '.join(names)}")
    return found, collections


def places(sources: Path = SOURCES) -> dict[str, dict[str, int]]:
    return read(sources)[0]


def tables(sources: Path = SOURCES) -> list[str]:
    """Collections of names of elementwise functions, which the rows could be asked for."""
    return read(sources)[1]


def test_no_module_has_a_table_of_its_own():
    assert {line.partition(":")[0] for line in tables()} <= KNOWN_TABLES


def test_special_functions_stand_in_their_rows_alone():
    """Those that no rule and no operator is about occur once, and where a library's own is not good enough.

    Beside that, languages in which code is written have words for them, ``rc.matrix`` cannot read the LaTeX of some,
    and people take some for others.
    """
    elsewhere = {*LANGUAGES, "show/matrix_notation.py", "review/edits.py"}
    found = places()
    for name in ("erfinv", "ndtri", "lgamma", "asin", "acos", "asinh", "atanh", "atan2", "silu"):
        assert {module for module in found if found[module][name]} - elsewhere == {
            "functions/activations.py" if name in ("erfinv", "ndtri", "lgamma", "silu") else "functions/elementwise.py"
        }, name


def test_a_table_is_found(tmp_path):
    (tmp_path / "listing.py").write_text('ODD = ("sin", "tan", "sinh", "tanh", "asin", "atan", "erf")\n')
    assert tables(tmp_path) == ["listing.py: sin, tan, sinh, tanh, asin, atan, erf"]
    assert dict(places(tmp_path)["listing.py"])["erf"] == 1


def test_every_place_has_a_reason():
    assert all(reason(module) for module in places())


if __name__ == "__main__":
    for module, names in places().items():
        print(f"{module}: {', '.join(names)}  ({reason(module)})")
    print("Tables:", *tables(), sep="\n  ")
