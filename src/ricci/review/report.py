"""What is said of a text, line by line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from ricci import markup
from ricci.show.breaking import WIDTH, broken

MARKS = {"definition": "·", "proved": "✓", "agrees": "≈", "false": "✗", "open": "?", "unread": "?"}
_EDGE = 6  # the width of the mark and the number of a line
CODE = "background:transparent;color:inherit;white-space:pre-wrap"
_COLUMN = 70  # where what is said begins, if there is room


@dataclass(frozen=True)
class LineVerdict:
    """What is said of one line, or of one of several ``=`` in it.

    ``status`` is "definition", "proved" (by ``rules``), "agrees" (true at random points, but not proved), "false",
    "open" (neither a proof nor a point at which both sides have a value) or "unread". Of a false line ``part`` is the
    smallest part that differs, ``suggestion`` the line as it should be, ``mistake`` the name of what went wrong, if it
    has one.
    """

    line: int
    text: str
    status: str
    rules: tuple[str, ...] = ()
    reason: str = ""
    part: str = ""
    suggestion: str = ""
    mistake: str = ""
    advice: str = ""  # what the rule is that was not kept
    at: tuple[int, int] | None = None  # where the part stands in the text of the line

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong with it."""
        return self.status in ("definition", "proved", "agrees")

    def __str__(self) -> str:
        shown = " ".join(self.text.split())
        goes_on = shown.startswith("=")
        edge = f"{MARKS[self.status]} {self.line:>2}. {'    ' * goes_on}"
        room = WIDTH - len(edge)
        own = [line for piece in broken(shown, len(edge)) for line in wrap(piece, room, subsequent_indent="    ",
               replace_whitespace=False, drop_whitespace=False, break_on_hyphens=False)]  # fmt: skip
        if self.ok:
            own = self.with_rules(own, len(edge))
        else:
            own = self.with_carets(own, shown)
        lines = [edge + own[0], *[" " * len(edge) + line for line in own[1:]]]
        if not self.ok:
            lines += [" " * (_EDGE + 2) + piece for piece in self.explained]
        return "\n".join(line.rstrip() for line in lines)

    def row(self) -> list[str]:
        """The line in a table of HTML: its mark and number, its text with the part that differs, what is said of it."""
        colour = markup.GOOD if self.ok else markup.BAD if self.status == "false" else markup.DOUBT
        mark = markup.element("b", MARKS[self.status], style=f"color:{colour}", title=self.status)
        start, end = self.at if self.at and not self.ok else (0, 0)
        pieces = [self.text[:start], markup.marked(self.text[start:end], markup.BAD) if end else "", self.text[end:]]
        goes_on = self.text.lstrip().startswith("=")
        shown = markup.element("code", *pieces, style=CODE + ";padding:0 0 0 2em" * goes_on)
        return [mark, f"{self.line}.", shown, self.said if self.ok else self._explained_apart()]

    def _explained_apart(self) -> str:
        head = self.reason if not self.mistake else f": {self.reason}" if self.reason else ""
        said = [
            markup.element("b", self.mistake) if self.mistake else "",
            head,
            f" ({self.advice})" if self.advice else "",
        ]
        lines = [markup.joined(said)]
        if self.suggestion:
            lines.append(markup.joined(["should be: ", markup.element("code", self.suggestion, style=CODE)]))
        return markup.joined([markup.element("div", line) for line in lines])

    def _repr_html_(self) -> str:
        return markup.table((), [self.row()])

    @property
    def said(self) -> str:
        """One line about it."""
        rules = ", ".join(self.rules)
        return f"{rules}; {self.reason}" if rules and self.reason else rules or self.reason

    def with_rules(self, lines: Sequence[str], edge: int) -> list[str]:
        """The lines, with what is said of them beside the last one, or below where it does not fit there."""
        *before, last = lines
        room = WIDTH - edge
        column = max(len(last), min(_COLUMN - edge, room - 3 - len(self.said)))
        if column + 3 + len(self.said) <= room:
            return [*before, f"{last:<{column}}   {self.said}"]
        return [*lines, *[f"    ({part})" for part in wrap(self.said, room - 6)]]

    def with_carets(self, lines: Sequence[str], shown: str) -> list[str]:
        """The lines, with carets under the part that differs; a part on several of them has them under the first."""
        if self.at is None:
            return list(lines)
        start = len(" ".join((self.text[: self.at[0]] + "·").split())) - 1
        length = max(1, len(" ".join(self.text[self.at[0] : self.at[1]].split())))
        found, at = [], 0
        for number, line in enumerate(lines):
            bare = line.strip()
            bare = bare.removesuffix(" *") if number + 1 < len(lines) and bare not in shown[at:] else bare
            first = shown.index(bare, at)
            found.append(line)
            indent = len(line) - len(line.lstrip())
            if first <= start < first + len(bare):
                found.append(" " * (indent + start - first) + "^" * min(length, first + len(bare) - start))
            at = first + len(bare)
        return found

    @property
    def explained(self) -> list[str]:
        """What is wrong, and the line as it should be."""
        room = WIDTH - _EDGE - 4
        head = f"{self.mistake}: {self.reason}" if self.mistake and self.reason else self.mistake or self.reason
        found = [piece for part in head.split("\n") for piece in wrap(part, room, subsequent_indent="  ") or [""]]
        found += [f"({self.advice})"] if self.advice else []
        if self.suggestion:
            pieces = [piece for line in self.suggestion.split("\n") for piece in broken(line, _EDGE + 16)]
            found += [f"should be: {pieces[0]}", *["           " + piece for piece in pieces[1:]]]
        return found


class CheckReport(Sequence[LineVerdict]):
    """The verdicts on all lines of a text, in order. It is true as a condition if all lines follow.

    >>> from ricci import check
    >>> report = check("y = (x + 1)**2; D(y, x) = 2 (x + 1) = 2 x + 1")
    >>> [verdict.status for verdict in report]
    ['definition', 'proved', 'false']
    >>> report[2].suggestion
    '= 2 x + 2'
    """

    def __init__(self, verdicts: Sequence[LineVerdict]):
        self.verdicts = tuple(verdicts)

    def __len__(self) -> int:
        return len(self.verdicts)

    def __getitem__(self, position):
        return self.verdicts[position]

    @property
    def ok(self) -> bool:
        """Whether every line follows."""
        return all(verdict.ok for verdict in self.verdicts)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return "\n".join([*map(str, self.verdicts), self.summary])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        colour = markup.GOOD if self.ok else markup.BAD
        summary = markup.element("p", markup.element("b", self.summary, style=f"color:{colour}"))
        return markup.joined([markup.table((), [verdict.row() for verdict in self.verdicts]), summary])

    @property
    def summary(self) -> str:
        """One sentence."""
        wrong = [v.line for v in self.verdicts if v.status == "false"]
        unsure = [v.line for v in self.verdicts if v.status in ("open", "unread")]
        said = []
        if wrong:
            said.append(f"{_lines(wrong)} {'does' if len({*wrong}) == 1 else 'do'} not follow")
        if unsure:
            said.append(f"{_lines(unsure)} could not be judged")
        if not said:
            return "Every line follows." if self.verdicts else "There is nothing to check."
        return "; ".join([said[0], *[part[0].lower() + part[1:] for part in said[1:]]]) + "."


def _lines(numbers: Sequence[int]) -> str:
    once = list(dict.fromkeys(numbers))
    return f"Line {once[0]}" if len(once) == 1 else f"Lines {', '.join(map(str, once[:-1]))} and {once[-1]}"
