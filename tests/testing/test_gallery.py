"""The gallery of derivatives is what ``ricci.testing.gallery`` makes of the list, today."""

from __future__ import annotations

from pathlib import Path

import pytest

from ricci.testing.gallery import pages
from ricci.testing.identities import all_identities

FOLDER = Path(__file__).parents[2] / "docs" / "gallery"
ROWS = all_identities()
FIELDS = list(dict.fromkeys(row.field for row in ROWS))


def outdated(rows):
    """The pages of these derivatives that are not as they stand in the folder."""
    made = pages(rows)
    return [name for name, page in made.items() if name != "README.md" and (FOLDER / name).read_text("utf-8") != page]


@pytest.mark.parametrize(
    "field",
    [pytest.param(name, marks=() if name == "spectra" else pytest.mark.thorough) for name in FIELDS],
)
def test_pages_are_current(field):
    rows = [row for row in ROWS if row.field == field]
    assert outdated(rows) == []
    assert outdated(rows[1:]) == [f"{field}.md"]  # which shows that a difference is seen


def test_there_is_a_page_for_each_field_and_they_are_listed():
    listed = (FOLDER / "README.md").read_text("utf-8")
    assert {path.name for path in FOLDER.iterdir()} == {"README.md", *[f"{field}.md" for field in FIELDS]}
    for field in FIELDS:
        count = sum(row.field == field for row in ROWS)
        assert f"- [{field}]({field}.md): {count}\n" in listed
        assert (FOLDER / f"{field}.md").read_text("utf-8").count("\n## ") == count


def test_no_step_is_wider_than_a_page():
    for field in FIELDS:
        blocks = (FOLDER / f"{field}.md").read_text("utf-8").split("```")[1::2]
        assert blocks and max(len(line) for block in blocks for line in block.splitlines()) <= 100
