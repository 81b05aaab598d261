"""The API reference, from docstrings: a page for each group of names that ``import ricci as rc`` gives.

``GROUPS`` says where a name stands; ``tests/website/test_pages.py`` holds that each public name stands in one place.
Errors in docstrings show here as they do in ``help``, since nothing else is read.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

GROUPS = {  # page: title, what is in it, names
    "formulas": (
        "Formulas",
        "From a text to something that prints, differentiates, simplifies, and computes.",
        "parse matrix variable tensors Formula Equation EquationSystem Undecided",
    ),
    "derivatives": (
        "Derivatives of formulas",
        "By a variable, by several, by intermediates; and whether a derivation is right.",
        "diff diff_all pullback pushforward elimination_cost check CheckReport",
    ),
    "running": (
        "Running formulas",
        "From formulas to arrays, and to code that is kept.",
        "compile Compressed problem Problem code limits cache_info cache_clear",
    ),
    "transforms": (
        "Derivatives of functions",
        "Transforms of functions of NumPy, PyTorch and JAX, with the names and arguments of JAX.",
        "grad value_and_grad elementwise_grad jacobian jacfwd jacrev hessian hessian_diagonal laplacian taylor jvp vjp"
        " linearize hvp gauss_newton_vp vmap checkpoint custom tree_map trace explain",
    ),
    "loops": (
        "Loops, branches and solvers",
        "Loops that are one step, derived once; results that solve an equation, derived by what they solve.",
        "scan fori_loop while_loop associative_scan cond switch root fixed_point odeint",
    ),
    "checks": (
        "Checks",
        "Whether derivatives are right, and where a NaN came from.",
        "check_grads numerical_jacobian debug_nans",
    ),
    "tensors": (
        "Eager tensors and pictures",
        "Tensors that run line by line and remember what was done to them.",
        "Tensor no_grad enable_grad draw Drawing trace_table TraceTable",
    ),
    "patterns": (
        "Patterns and axes",
        "Arrays split, merged, reduced and joined by the names of their axes.",
        "rearrange reduce repeat einsum pack unpack parse_shape gather scatter inverse sizes axes shapes signature",
    ),
    "errors": (
        "Errors",
        "All that ricci raises. Each message says what was being done, shows the place, and what to write instead.",
        "RicciError NotationError ReadingWarning MatrixError RuleError ShapeError AxisError AxisSizeError"
        " AxisSpaceError EinopsError DTypeError InputError AbsentError TraceError LimitError ConvergenceError"
        " GradientMismatchError NonFiniteError MissingPackageError InvariantError",
    ),
}
WIDE = 88  # columns of a signature on one line
DOCTEST = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)


def pages() -> dict[str, str]:
    """The text of each page of the reference, by its name, and of the page that lists them."""
    import ricci as rc

    texts = {"index": overview(rc)}
    for name, (title, about, names) in GROUPS.items():
        parts = [f"# {title}", about, *(entry(f"rc.{one}", getattr(rc, one), "##") for one in names.split())]
        texts[name] = "\n\n".join(parts) + "\n"
    return texts


def overview(rc: Any) -> str:
    lines = ["# Reference", "", "All names of `import ricci as rc`. Besides these, every function of"]
    lines += ["[the tables](../functions.md) is one of `rc`'s, and a method of formulas and tensors.", ""]
    for page, (title, about, names) in GROUPS.items():
        lines += [f"## [{title}]({page}.md)", "", about, "", "| | |", "|---|---|"]
        for one in names.split():
            link = f"[`{one}`]({page}.md#{anchor(f'rc.{one}')})"
            lines.append(f"| {link} | {in_a_cell(summary(getattr(rc, one)))} |")
        lines.append("")
    return "\n".join(lines)


def entry(name: str, thing: Any, level: str) -> str:
    """One name: its signature, its docstring, and for a class those of its methods."""
    parts = [f"{level} `{name}` {{ #{anchor(name)} }}", *signature(name, thing), body(thing)]
    if inspect.isclass(thing) and not issubclass(thing, BaseException):
        parts += [entry(f"{thing.__name__}.{one}", found, f"{level}#") for one, found in methods(thing)]
        if hasattr(thing, "sin"):
            parts.append("Functions of [the tables](../functions.md) are methods too: `x.sin()`.")
    return "\n\n".join(part for part in parts if part)


def anchor(name: str) -> str:
    return name.lower().removeprefix("rc.").replace(".", "-")


def signature(name: str, thing: Any) -> list[str]:
    """The call as it is written, in a block; nothing for what is not called."""
    if isinstance(thing, property) or (inspect.isclass(thing) and issubclass(thing, BaseException)):
        return []
    found = inspect.signature(thing)
    kept = [one for one in found.parameters.values() if one.name not in ("self", "cls")]
    texts = [re.sub(r"= <.*>$", "= …", str(one)).replace("'", "") for one in kept]
    for kind, mark, before in (("POSITIONAL_ONLY", "/", False), ("KEYWORD_ONLY", "*", True)):
        places = [place for place, one in enumerate(kept) if one.kind.name == kind]
        if places and not (before and any(one.kind.name == "VAR_POSITIONAL" for one in kept)):
            texts.insert(places[0] if before else places[-1] + 1, mark)
    line = f"{name}({', '.join(texts)})"
    if len(line) > WIDE:
        line = f"{name}(\n" + "".join(f"    {text},\n" for text in texts) + ")"
    return [f"```python\n{line}\n```"]


def methods(thing: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that have something to say and are no functions of the tables."""
    from ricci.functions.table import FUNCTIONS

    for name in sorted(dir(thing)):
        found = inspect.getattr_static(thing, name)
        if name.startswith("_") or name in FUNCTIONS or not inspect.getdoc(found) or not made_by_ricci(thing, name):
            continue
        if isinstance(found, (staticmethod, classmethod)):
            found = getattr(thing, name)
        if isinstance(found, (property, Callable)):  # pyright: ignore[reportArgumentType]
            yield name, found


def made_by_ricci(thing: type, name: str) -> bool:
    owner = next(one for one in thing.__mro__ if name in vars(one))
    return owner.__module__.startswith("ricci")


def body(thing: Any) -> str:
    """The docstring as Markdown: examples become blocks, what Markdown would take as markup is kept."""
    text = inspect.getdoc(thing) or ""
    parts, place = [], 0
    for example in DOCTEST.finditer(text):
        parts += [prose(text[place : example.start()]), f"```pycon\n{example[0].rstrip()}\n```\n"]
        place = example.end()
    return "".join([*parts, prose(text[place:])]).replace("<BLANKLINE>", "").strip()


def prose(text: str) -> str:
    """Text outside of code: `<` and `*` are themselves, and ``::`` before an indented block is a colon."""
    pieces = re.split(r"(``.*?``|`[^`]*`)", text, flags=re.DOTALL)
    pieces[::2] = [re.sub(r"([<*_$])", r"\\\1", piece).replace("::\n", ":\n") for piece in pieces[::2]]
    return "".join(pieces)


def summary(thing: Any) -> str:
    first = (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")
    return prose(first)


def in_a_cell(text: str) -> str:
    return text.replace("|", r"\|")
