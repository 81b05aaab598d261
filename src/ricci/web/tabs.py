"""The views of a formula, one for each tab of the page: dictionaries that JSON can hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import ricci as rc
from ricci.compiler.prepare.known_sizes import KnownSizes
from ricci.expr import axis_size
from ricci.show import picture, svg
from ricci.user.code_requests import wanted_of
from ricci.web.asking import PageRequest
from ricci.web.small_values import sized, values_of

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
        small = small_sizes(formula, sizes)
        sizes |= small
        shown = ", ".join([f"{name}={n}" for name, n in small.items()])
        note = f"C has numbers for all sizes; those that are not given are small: {shown}." if small else ""
    text = str(formula.code(asked.code, sizes=sizes or None))
    return {"code": {"language": asked.code, "text": text, **({"note": note} if note else {})}}


def small_sizes(formula: rc.Formula, given: Mapping[str, int]) -> dict[str, int]:
    """Sizes that fit one another, by the names that code has for them: those of indices, and of axes without any."""
    facts, wanted = formula.context.facts, wanted_of([formula], True, "f", None, {})
    known = KnownSizes(wanted.stage, {}, wanted.named_sizes)
    axes = {name: [axis_size(name, k) for k in range(known.orders[name])] for name in wanted.stage.inputs}
    named = [*[pair for name, own in axes.items() for pair in zip(known.names(name, own), own)], *wanted.named_sizes]
    texts = {*[index for index, _ in facts.groups], *formula.indices}
    sizes = {name: size for name, size in named if name and name not in facts.sizes}
    size = sized(formula, [formula.expr])
    tried = (
        lambda name: SMALL,
        lambda name: SMALL if name in texts else 2 * SMALL - 1,  # where windows are read
        lambda name: size(known.of(sizes[name])),
    )
    for choice in tried:
        with suppress(rc.RicciError, KeyError):
            found = {name: choice(name) for name in sizes if name not in given}
            KnownSizes(wanted.stage, {**given, **found}, wanted.named_sizes)
            return found
    return {}


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
