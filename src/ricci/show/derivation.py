"""Derivations: the steps that a person would write down, each with the rule that it uses.

How they are found is in ``show/deriving``. A step is text, LaTeX and a rule; a derivation is a sequence of them. The
lines of its text are in the notation: definitions, then ``left = right``, or ``= right`` where the left side is that of
the line before.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from ricci.checked_calls import takes
from ricci.notation import syntax
from ricci.notation.declarations import PLAIN, Declarations
from ricci.show import latex as latex_form
from ricci.show import text as text_form
from ricci.show.breaking import WIDTH, broken, row
from ricci.show.fitting import in_notebook
from ricci.show.page import without


@dataclass(frozen=True, repr=False)
class DerivationStep:
    """One line: the rule, what stands on the left (nothing where the line goes on), and the right side."""

    rule: str
    left: syntax.Node | None
    program: syntax.Statements
    typed: bool = False  # whether these are the author's own words
    letters: latex_form.ShownLetters | None = None  # what letters are in the whole derivation

    def after(self, lines: Sequence[syntax.Statement]) -> DerivationStep:
        """This step after lines that define parts."""
        program = self.program
        return replace(self, program=syntax.Statements("", (*lines, *program.statements), sizes=program.sizes))

    @property
    def text(self) -> str:
        *before, last = self.program.statements
        right = text_form.render(last.body, text_form.SUM)
        left = "" if self.left is None else text_form.render(self.left, text_form.SUM)
        lines = [*text_form.size_line(self.program.sizes), *map(text_form.statement, before)]
        return "\n".join([*lines, f"{left} = {right}".strip()])

    def __repr__(self) -> str:
        return f"<step: {self.rule}: {self.text}>"

    def _repr_latex_(self) -> str:
        return in_notebook(latex_form.aligned([self.latex()]))

    @takes("derivation.latex")
    def latex(self) -> str:
        with nullcontext() if self.letters is None else self.letters.apply():
            return self._latex()

    def _latex(self) -> str:
        *before, last = self.program.statements
        left = "" if self.left is None else latex_form.render(self.left, latex_form.SUM)
        right = latex_form.render(last.body, latex_form.SUM)
        lines = [*latex_form.size_line(self.program.sizes), *[latex_form.statement(s, sign="&=") for s in before]]
        lines.append(rf"{left} &= {right} && \text{{{latex_form.words(self.rule)}}}")
        return " \\\\\n".join(lines)


class Derivation(Sequence[DerivationStep]):
    """The steps of a derivation. Printing shows them numbered; ``latex()`` gives an aligned display.

    ``declared`` is what its lines do not say of their names: which matrices are symmetric, what is a function.
    """

    def __init__(self, steps: Sequence[DerivationStep], declared: Declarations = PLAIN):
        self.steps: list[DerivationStep] = []
        self.declared = declared
        shown: set[str] = set()
        said = syntax.SizeLine((), ())
        own_words: frozenset[str | None] = frozenset()  # names that the author's text, the first step, has defined
        left, right = None, syntax.Statement(0, 0, None, None, syntax.Number(0, 0, 0))
        for step in steps:
            *before, last = step.program.statements
            left = step.left or left
            if step.left is None and self.steps and text_form.statement(last) == text_form.statement(right):
                continue
            right = last
            lines = {text_form.statement(s): s for s in before}
            new = [s for text, s in lines.items() if text not in shown and s.name not in own_words]
            shown |= lines.keys()
            own_words |= {s.name for s in before} if step.typed else frozenset()
            sizes, said = without(step.program.sizes, said), step.program.sizes
            own = (
                left if new or sizes.tensors or sizes.equations else step.left
            )  # after other lines, one that only goes on would go on with these
            self.steps.append(replace(step, left=own, program=syntax.Statements("", (*new, last), sizes=sizes)))
        letters = self._letters()
        self.steps = [replace(step, letters=letters) for step in self.steps]

    def _letters(self) -> latex_form.ShownLetters:
        """In LaTeX a letter is one thing in all lines."""
        statements = [s for step in self.steps for s in step.program.statements]
        lefts = [step.left for step in self.steps if step.left is not None]
        sized = [tensor for step in self.steps for tensor in step.program.sizes.tensors]
        return latex_form.letters_of([*lefts, *[s.body for s in statements]], [*statements, *sized])

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, position):
        return self.steps[position]

    def __str__(self) -> str:
        """The steps, none wider than a page: long lines are broken at operators."""
        return "\n".join(self.lines())

    @takes("derivation.lines", width="count")
    def lines(self, width: int = WIDTH) -> list[str]:
        """The lines of the text for a page, or a terminal, of so many columns."""
        rows = []
        for number, step in enumerate(self.steps, 1):
            *before, last = step.text.split("\n")
            last = f"    {last}" if step.left is None and not before else last
            lines = [piece for line in before for piece in broken(line, 5, width)] + broken(last, 5, width)
            rows.append([f"{number:>3}. {lines[0]}", *[f"     {line}" for line in lines[1:]]])
        column = min(72, width - 28, max(len(lines[-1]) for lines in rows))
        shown = [row(lines, step.rule, column, 9, width) for lines, step in zip(rows, self.steps, strict=True)]
        return [line for lines in shown for line in lines]

    __repr__ = __str__

    @takes("derivation.latex")
    def latex(self) -> str:
        """All steps in LaTeX, aligned at the equals signs."""
        return latex_form.aligned([step.latex() for step in self.steps])

    def _repr_latex_(self) -> str:
        return in_notebook(self.latex())
