"""The page of worked derivations: that it is current, has each line that stands on paper, and that all lines hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from line_values import Sides, lines_of_text

import ricci as rc
from ricci.testing.worked_examples import PARTS, Worked, page

PAGE = Path(__file__).parents[2] / "docs" / "derivations.md"
EXAMPLES = [example for _, part in PARTS for example in part]


def test_the_page_is_current():
    """``python -m ricci.testing.worked_examples docs/derivations.md`` writes it."""
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title)
def test_each_line_on_paper_is_a_line_of_the_derivation(example: Worked):
    steps = list(example.derivation())
    lines = [step.text.split("\n")[-1] for step in steps]
    rights = [line.partition("= ")[2] for line in lines]
    at = 0
    for line in example.paper:  # in this order
        found = [k for k in range(at, len(steps)) if line in (lines[k], f"= {rights[k]}")]
        assert found, (line, lines)
        at = found[0]


def test_a_layer_that_normalises_takes_twelve_lines():
    (example,) = [e for e in EXAMPLES if e.title == "By the input"]
    assert len(example.derivation()) <= 12


@pytest.mark.sampled(2)
@pytest.mark.parametrize("detail", ["brief", "normal", "full"])
@pytest.mark.parametrize("example", [e for e in EXAMPLES if not e.functions], ids=lambda example: example.title)
def test_every_line_holds(example: Worked, detail: str):
    """Also of pullbacks, read with what comes in as an input, and of pushforwards."""
    derivation = Worked(**{**vars(example), "detail": detail}).derivation()
    chain = [rc.parse(derivation[0].text)]
    for target in example.asked:
        chain.append(chain[-1].diff(target))
    rng = np.random.default_rng(2)
    sizes = {axis: 2 + at % 2 for at, (_, axes) in enumerate(chain[0].context.facts.groups) for axis in axes}
    inputs = {
        name: rng.uniform(0.3, 0.9, tuple([sizes[name, axis] for axis in range(order)]))
        for name, order in {**chain[0].context.facts.inputs, **({"x_dot": 2} if example.along else {})}.items()
        if name != "x_dot"
    }
    if example.along:
        inputs["x_dot"] = rng.uniform(0.3, 0.9, inputs["x"].shape)
    for name, value in inputs.items():
        if name in ("K", "S"):
            inputs[name] = value @ value.T + 3 * np.eye(len(value))
    faults = list(Sides(chain, inputs).faults(lines_of_text(derivation)))
    assert not faults, faults[0]


def test_a_false_line_is_found():
    example = next(e for e in EXAMPLES if e.coming and not e.functions)
    derivation = example.derivation()
    chain = [rc.parse(derivation[0].text)]
    chain.append(chain[0].diff(*example.asked))
    rng = np.random.default_rng(2)
    inputs = {"x": rng.uniform(size=(2, 3)), "a": rng.uniform(size=(3, 4)), "y_bar": rng.uniform(size=(2, 4))}
    lines = list(lines_of_text(derivation))
    lines[-1].right = f"2 {lines[-1].right}"
    assert len(list(Sides(chain, inputs).faults(iter(lines)))) == 1
