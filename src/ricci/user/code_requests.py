"""Formulas for which code is wanted, and what is said about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ricci.compiler.prepare.prepared import prepared
from ricci.expr import Expr, Size
from ricci.notation.context import Facts, merged
from ricci.show import latex
from ricci.standalone.requests import CodeWanted
from ricci.user.one_side import check_one_side

if TYPE_CHECKING:
    from ricci.user.formula import Formula


def default_name(parts: Sequence[Formula]) -> str:
    return "_and_".join([part.name or "f" for part in parts[:2]])


def wanted_of(
    parts: Sequence[Formula],
    single: bool,
    name: str,
    types: Any,
    sizes: Mapping[str, int],
    arguments: Sequence[str] = (),
) -> CodeWanted:
    """What is to be written for some formulas; ``arguments`` come first, also those that nothing depends on."""
    check_one_side("code", *parts)
    facts = merged(part.context for part in parts).facts
    names: dict[str, Size] = {}
    for part in parts:
        for index, size in zip(part.indices, part.expr.shape, strict=True):
            names.setdefault(index, size)
    by = [step.origin.by.name for part in parts for step in part.chain]
    stage = prepared([part.expr for part in parts], names, facts, by)
    carried = [given for given in stage.inputs if given in facts.values]
    others = [given for given in stage.inputs if given not in carried]
    first = arguments or [name for name in facts.arguments if name in others]
    order = (*dict.fromkeys([*first, *others]), *carried)
    labels = tuple([part.name or "f" for part in parts])
    title = "\n".join(said_once([line for part in parts for line in str(part).splitlines()]))
    indices = tuple([part.indices for part in parts])
    lefts = tuple([_left(part) for part in parts])
    return CodeWanted(stage, indices, name, title, labels, single, sizes, types, definitions(facts), lefts, order=order)


def said_once(lines: Sequence[str]) -> list[str]:
    """Definitions and results, without those that say again what a name is."""
    said: dict[str, str] = {}
    found = []
    for line in lines:
        left = line.partition(" = ")[0]
        if said.get(left) != line:
            found.append(line)
        said[left] = line
    return found


def _left(part: Formula) -> str:
    """The left side of a formula, in LaTeX."""
    derived = latex.derivative_of(part)
    if derived is not None:
        return latex.partials(*derived)
    return latex.left_side(part.name or "f", tuple(zip(part.indices, part.standing, strict=True)))


def definitions(facts: Facts) -> dict[Expr, tuple[str, tuple[str, ...]]]:
    """The parts of a text that have names, with their indices."""
    found: dict[Expr, tuple[str, tuple[str, ...]]] = {}
    for name, expr in facts.definitions.items():
        if name not in facts.disputed:
            found.setdefault(expr, (name, facts.defined_indices.get(name, ())))
    return found
