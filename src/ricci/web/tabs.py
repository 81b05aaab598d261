"""The views of a formula, one for each tab of the page: dictionaries that JSON can hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ricci as rc
from ricci.show import picture, svg
from ricci.web.asking import PageRequest
from ricci.web.small_values import values_of

Tab = Callable[[rc.Formula, PageRequest], dict[str, Any]]
MOST_BOXES = 80
SMALL = 3  # a size for code that needs one


def variables_of(formula: rc.Formula) -> list[dict[str, Any]]:
    """The inputs of a formula as they are written in it: what it can be differentiated by."""
    facts = formula.context.facts
    of_axis = {axis: index for index, axes in reversed(facts.groups) for axis in axes}
    found = []
    for name in formula.variables:
        order = facts.inputs.get(name, 0)
        indices = [of_axis.get((name, axis), "") for axis in range(order)]
        if len(set(indices)) < order or not all(index.replace("'", "").isidentifier() for index in indices):
            indices = [f"{'ijklmnpq'[axis % 8]}" + "'" * (axis // 8) for axis in range(order)]
        heights = facts.heights.get(name, ())
        if heights:
            written = name + "".join(f"^{{{i}}}" if h == "up" else f"_{{{i}}}" for i, h in zip(indices, heights))
        else:
            written = f"{name}[{','.join(indices)}]" if indices else name
        one = {"name": name, "text": written, "latex": rc.variable(written).latex()}
        found.append(one | {"differentiable": name not in facts.integers})
    return found


def formula_tab(formula: rc.Formula, asked: PageRequest) -> dict[str, Any]:
    return {"text": str(formula), "latex": formula.latex()}


def derivation_tab(formula: rc.Formula, asked: PageRequest) -> dict[str, Any]:
    """Each line with its rule; a step that needs definitions has them as lines of their own, before it."""
    whole = formula.derivation(asked.detail, asked.sums)
    lines = []
    for step in whole:
        *before, last = step.latex().split(" \\\\\n")
        shown, _, _ = last.rpartition(r" && \text{")
        text = step.text.split("\n")
        lines += [{"latex": one.replace("&=", "="), "text": own, "rule": ""} for one, own in zip(before, text)]
        lines.append({"latex": shown.replace("&=", "=", 1), "text": text[-1], "rule": step.rule})
    return {"derivation": {"lines": lines, "text": str(whole), "latex": whole.latex()}}


def structure_tab(formula: rc.Formula, asked: PageRequest) -> dict[str, Any]:
    found = formula.structure()
    return {"structure": {"text": str(found), "svg": found._repr_svg_()}}


def matrix_tab(formula: rc.Formula, asked: PageRequest) -> dict[str, Any]:
    return {"matrix": {"text": str(formula.matrix()), "latex": formula.matrix(latex=True)}}


def graph_tab(formula: rc.Formula, asked: PageRequest) -> dict[str, Any]:
    """The graph in ricci's own layout, wherever this runs."""
    facts = formula.context.facts
    vertices = picture.of_expressions([formula.expr], [formula.indices], [formula.name], facts, MOST_BOXES)
    return {"graph": {"svg": svg.to_svg(vertices, "LR"), "dot": picture.to_dot(vertices, "LR")}}


def code_tab(formula: rc.Formula, asked: PageRequest) -> dict[str, Any]:
    """A function to keep; C needs numbers for all sizes, and those that are not given are small."""
    sizes, note = dict(asked.sizes), ""
    if asked.code == "c":
        facts = formula.context.facts
        indices = dict.fromkeys([*[index for index, _ in facts.groups], *formula.indices])
        open_sizes = [index for index in indices if index not in sizes and index not in facts.sizes]
        sizes |= dict.fromkeys(open_sizes, SMALL)
        note = f"C has numbers for all sizes; those that are not given are {SMALL}." if open_sizes else ""
    text = str(formula.code(asked.code, sizes=sizes or None))
    return {"code": {"language": asked.code, "text": text, **({"note": note} if note else {})}}


def values_tab(formula: rc.Formula, asked: PageRequest) -> dict[str, Any]:
    return values_of(formula)


TABS: dict[str, Tab] = {
    "formula": formula_tab,
    "derivation": derivation_tab,
    "structure": structure_tab,
    "matrix": matrix_tab,
    "graph": graph_tab,
    "code": code_tab,
    "values": values_tab,
}
