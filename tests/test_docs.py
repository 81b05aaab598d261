"""The README and the docs: every Python block runs, and the tables of functions say what the tables in the code say.

``python tests/test_docs.py`` (with ``src`` on the path) writes the generated parts of the docs anew.
"""

from __future__ import annotations

import doctest
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

import ricci as rc
from ricci.expr import Constant, Elementwise, Expr, Function, Op, Variable, variable
from ricci.functions.table import FUNCTIONS
from ricci.notation.context import Context, Facts
from ricci.simplify import RULES

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING")]
PAGES += [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "how_to").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]+\]\(([^)#:]+)(?:#[^)]*)?\)")
OPTIONAL = "jax", "torch", "numba", "dask", "distributed"  # what pages may import, and the tests do not install
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

# Local derivatives that do not fit a line of generated text.
BY_HAND = {
    "prod": "the product of the entries before `l` times that of those behind it; zeros are no special case",
    "cumprod": "in steps: `c[k+1] = x[k] c[k] + e[k] y[k]`, where `x` changes by `e`",
    "sort": "1 where `l` is the place that entry `k` came from",
    "cholesky": "in steps: `L (W * (K S K'))`, `S` being the symmetric part of the change of `A`, `K` the inverse of "
    "the result `L`, `W` the lower triangle with halves on the diagonal",
    "eigh_vectors": "in steps: `V (F * (V' S V))`, `S` being the symmetric part of the change of `A`, and "
    "`F[i,j] = 1/(λ[j] - λ[i])` off the diagonal",
    "expm": "in steps: where `A` changes by `E`, a corner of `expm([[A, E], [0, A]])`",
    "eigvalsh": "`V[p,i] V[q,i]`, the eigenvectors being the columns of `V`",
    "eigvals": "`inv(V)[i,p] V[q,i]`, the eigenvectors being the columns of `V`",
    "svdvals": "`U[p,i] V[q,i]` with the singular vectors `U`, `V`",
    "fft": "it is linear, and its matrix is symmetric: pulled back is the transform of what comes back",
    "solve": "by `A[p,q]`: `-inv(A)[j,p] x[q]`, `x` being the result; by `b[i]`: `inv(A)[j,i]`",
}
TITLES = {
    "elementwise": ("Elementwise", "Operands align by index name; missing indices broadcast."),
    "reduce": (
        "Over axes, removing them",
        "`f[k](x[i,k])`, several axes `f[j,k](…)`, of a whole tensor by name `f(x)`.",
    ),
    "keep": ("Over axes, keeping them", "`f[k](x[i,k])` has the indices of `x`."),
    "matrix": ("Of matrices", "`f[i,j](A[b,i,j])`, or `f(A)` of a tensor of order two by name."),
}


# The generated tables


def derivative(row: Op) -> tuple[str, str]:
    """The local derivative in the notation, and the note of the function's row."""
    names = operand_names(row)
    order = {"elementwise": 0, "reduce": 1, "keep": 1, "matrix": 2}[row.kind]
    if row.name in BY_HAND:
        return BY_HAND[row.name], ""
    operands = [variable(name, order) for name in names]
    facts = Facts(inputs=dict.fromkeys(names, order))
    value = row(*operands) if row.kind == "elementwise" else row(operands[0], tuple(range(order)))
    if isinstance(value, Elementwise) and all(isinstance(a, (Variable, Constant)) for a in value.args):
        found = {
            a: _text(p, (*value.args, value), (), facts) for a, p in zip(value.args, value.op.partials, strict=True)
        }
        return "; ".join(found[operand] for operand in operands), value.op.note
    if isinstance(value, Function):
        own = tuple("ij" if row.kind == "matrix" else "k")[: value.order]
        outer = (*own, *("pq" if row.kind == "matrix" else "l"))
        return _text(value.op.partials[0], (value.args, value, value.params), outer, facts), value.op.note
    indices = tuple("k")[: value.order]
    return f"that of `{_right_side(value, indices, facts)}`", ""


def operand_names(row: Op) -> list[str]:
    return row.operands.split(", ")


def _text(partial: object, args: tuple, names: tuple[str, ...], facts: Facts) -> str:
    if partial is None:
        return "0"
    return f"`{_right_side(partial(*args), names, facts)}`" if callable(partial) else "none"  # pyright: ignore[reportArgumentType]


def _right_side(value: Expr, names: tuple[str, ...], facts: Facts) -> str:
    text = str(rc.Formula(value, names, Context(facts)))
    return re.sub(r"^y\[[^\]]*\] = ", "", text)


def functions_page() -> str:
    lines = []
    for kind, (title, usage) in TITLES.items():
        lines += [f"### {title}", "", usage, "", "| function | value | local derivative | note |", "|---|---|---|---|"]
        for row in FUNCTIONS.values():
            if row.kind == kind:
                local, note = derivative(row)
                new = "" if note.rstrip(".").lower() in row.help.lower() else note
                cells = [f"`{_signature(row)}`", row.help.replace("*", r"\*"), local, new]
                lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines)


def _signature(row: Op) -> str:
    if row.kind == "elementwise":
        return f"{row.name}({', '.join(operand_names(row))})"
    inside = {"matrix": "i,j"}.get(row.kind, "k")
    return f"{row.name}[{inside}](…)" if row.arity == 1 else f"{row.name}[i,j](A[i,j], b[i])"


def names_by_kind() -> str:
    lines = ["| kind | functions |", "|---|---|"]
    for kind, (title, _) in TITLES.items():
        names = ", ".join(f"`{name}`" for name, row in FUNCTIONS.items() if row.kind == kind)
        lines.append(f"| {title.lower()} | {names} |")
    return "\n".join(lines) + "\n"


def rules_table() -> str:
    lines = ["| rule | holds where | cost |", "|---|---|---|"]
    for rule in RULES.values():
        guard = {"": "", "less": "falls", "not more": "does not rise"}[rule.guard]
        cells = (rule.name.replace("*", r"\*"), rule.assumes, guard)
        lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


GENERATED = {"functions.md": functions_page, "notation.md": names_by_kind, "calculus.md": rules_table}
MARKED = re.compile(r"(<!-- generated -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def renewed(page: str) -> tuple[str, str]:
    """The page as it is, and as it should be."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert len(MARKED.findall(text)) == 1, f"docs/{page} has one generated part"
    return text, MARKED.sub(lambda m: m[1] + "\n" + GENERATED[page]() + "\n" + m[3], text)


# The tests


def test_the_page_says_which_functions_are_of_scipy():
    text = (ROOT / "docs" / "functions.md").read_text(encoding="utf-8")
    sentence = next(line for line in text.splitlines() if "use SciPy where it is installed" in line)
    assert {name for name, row in FUNCTIONS.items() if row.scipy} - {"sigmoid"} == set(
        re.findall(r"`(\w+)`", sentence)
    ) - {"gelu"}  # which is defined by erfc; the sigmoid is ricci's own


@pytest.mark.parametrize("page", GENERATED)
def test_generated_parts_are_up_to_date(page: str) -> None:
    now, wanted = renewed(page)
    assert now == wanted, f"docs/{page} is out of date; run: PYTHONPATH=src python tests/test_docs.py"


def test_every_function_is_documented() -> None:
    text = (ROOT / "docs" / "functions.md").read_text(encoding="utf-8")
    assert [name for name in FUNCTIONS if f"| `{name}" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_blocks_run(page: Path) -> None:
    """The blocks of one page share their names, in order; where a block shows results, they must be these."""
    names: dict[str, object] = {}
    text = page.read_text(encoding="utf-8")
    needed = [name for name in OPTIONAL if imports("".join(BLOCK.findall(text)), name)]
    if missing := [name for name in needed if find_spec(name) is None]:
        pytest.skip(f"{page.name} needs {' and '.join(missing)}")
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if ">>>" not in match[1]:
            exec(compile("\n" * line + match[1], str(page), "exec"), names)
            continue
        example = doctest.DocTestParser().get_doctest(match[1], names, page.name, str(page), line)
        output: list[str] = []
        runner = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False)
        runner.run(example, out=output.append, clear_globs=False)
        names.update(example.globs)
        assert not runner.failures, "".join(output)


def imports(code: str, name: str) -> bool:
    return re.search(rf"^(>>> |\.\.\. )?\s*(import|from) ([^#\n]*\W)?{name}\b", code, re.MULTILINE) is not None


def test_imports_are_seen() -> None:
    assert imports(">>> import numpy as np, jax\n", "jax") and imports("from jax.sharding import Mesh\n", "jax")
    assert not imports(">>> rc.jax\nimport numpy  # not jax\n", "jax")


def test_a_wrong_block_is_found() -> None:
    example = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    assert doctest.DocTestRunner(verbose=False).run(example, out=lambda text: None).failed == 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_first_result_runs(capsys: pytest.CaptureFixture[str]) -> None:
    from ricci.__main__ import main

    main()
    shown = capsys.readouterr().out
    for part in ("d2l_dw_dw[p,q] = ", "Xᵀ diag(", "chain rule", r"\frac{\partial^{2} l}", "0.25"):
        assert part in shown


if __name__ == "__main__":
    for name in GENERATED:
        (ROOT / "docs" / name).write_text(renewed(name)[1], encoding="utf-8")
