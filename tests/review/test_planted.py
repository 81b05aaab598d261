"""The checker against mistakes planted into the derivations of the identities, and against these as they are.

Whether a broken line is false is found out by loops over indices, without the checker; see ``ricci.testing.planted``.
``benchmarks/checker.py`` counts over all identities.
"""

from __future__ import annotations

import random

import pytest

import ricci as rc
from ricci.testing.identities import identities
from ricci.testing.planted import WAYS, Outcome, outcome

IDENTITIES = identities()
FEW = IDENTITIES[5::92]
SOME = IDENTITIES[3::23]


def faults(made: Outcome) -> list[str]:
    planted = made.planted
    shown = f"{planted.identity.name}, {planted.way}: {planted.before}  ->  {planted.line}\n{made.report}"
    said = []
    if made.passed:
        said.append(f"A false line passes. {shown}")
    if made.accused:
        said.append(f"A true line is called false. {shown}")
    return said


def counted(rows, seed: int) -> tuple[int, int]:
    """How many lines were false, and of how many the part that is wrong was found; nothing is said wrongly."""
    rng = random.Random(seed)
    made = [found for row in rows for way in WAYS if (found := outcome(row, way, rng)) is not None]
    assert not [fault for one in made for fault in faults(one)]
    false = [one for one in made if one.false]
    return len(false), sum(one.found or one.refused for one in false)


def test_no_false_line_passes_and_no_true_one_is_called_false():
    false, found = counted(FEW, 1)
    assert false > 15 and found >= 0.9 * false


@pytest.mark.thorough
def test_the_same_of_more_identities():
    false, found = counted(SOME, 2)
    assert false > 80 and found >= 0.95 * false


def fault_of_derivation(row) -> str | None:
    """What the checker has to say against the derivation of an identity, as text and in LaTeX, and lines that are wider
    than a page."""
    derivation = row.derivative().derivation()
    wide = [line for line in str(derivation).splitlines() if len(line) > 100]
    for report in (rc.check(derivation), rc.check(derivation.latex())):
        if wide or not report.ok or len(report) < len(derivation):
            return f"{row.name}:\n{report}"
    return None


def test_derivations_of_some_identities_are_right():
    assert not [fault for row in IDENTITIES[4::23] if (fault := fault_of_derivation(row))]


def test_a_false_line_of_a_derivation_is_seen():
    lines = [step.text for step in IDENTITIES[0].derivative().derivation()]
    assert rc.check("\n".join(lines)) and not rc.check("\n".join([*lines[:-1], lines[-1] + " + 1"]))


@pytest.mark.thorough
def test_derivations_of_all_identities_are_right():
    assert len(IDENTITIES) >= 276
    assert not [fault for row in IDENTITIES if (fault := fault_of_derivation(row))]
