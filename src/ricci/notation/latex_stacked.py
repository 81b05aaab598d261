r"""What stands over and under something in a LaTeX text, beside indices and powers: put in a row, or left out.

``\overset{\text{def}}{=}`` is a sign of equality, ``\underset{j}{\max}`` is ``\max_{j}``, and what a brace over or
under an expression says of it, ``\underbrace{x_i + b}_{\text{shifted}}``, is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ricci.notation.latex_words import EQUALS, FUNCTIONS, RELATIONS

if TYPE_CHECKING:
    from ricci.notation.latex_tokens import Tokens

STACKS = frozenset((r"\overset", r"\stackrel", r"\underset"))
BRACES = {r"\underbrace": "_", r"\overbrace": "^", r"\underline": "", r"\boxed": ""}
INDEXED = frozenset((r"\sum", r"\prod", *FUNCTIONS))


def in_a_row(found: Tokens) -> Tokens:
    """The tokens without what is stacked; what has no plain form is left for the parser to refuse."""
    if not any(token in STACKS or token in BRACES for token in found.tokens):
        return found
    kept = type(found)(found.text)
    for at in _Rewriter(found).run(0, len(found.tokens)):
        token, place = at if isinstance(at, tuple) else (found.tokens[at], at)
        kept.add(token, found.starts[place], found.ends[place])
    return kept


Piece = int | tuple[str, int]  # a token of the text, or one put in, and the token whose place it has


class _Rewriter:
    def __init__(self, found: Tokens):
        self.tokens = found.tokens

    def run(self, at: int, end: int) -> Iterator[Piece]:
        """The pieces of the tokens from one place to another."""
        while at < end:
            token = self.tokens[at]
            if token in STACKS:
                above, over = self.argument(at + 1), None
                if above is not None:
                    over = self.argument(above[2])
                made = None if above is None or over is None else self.stacked(token, above, over)
                if made is not None and over is not None:
                    yield from made
                    at = over[2]
                    continue
            elif token in BRACES:
                inside = self.argument(at + 1)
                if inside is not None:
                    yield "{", at + 1
                    yield from self.run(inside[0], inside[1])
                    yield "}", inside[2] - 1
                    note = self.argument(inside[2] + 1) if self.tokens[inside[2]] == BRACES[token] else None
                    at = inside[2] if note is None else note[2]
                    continue
            yield at
            at += 1

    def stacked(self, token: str, small: tuple[int, int, int], main: tuple[int, int, int]) -> list[Piece] | None:
        """A relation alone; an operator with its index; None for all else."""
        own = self.tokens[main[0] : main[1]]
        if len(own) == 1 and (own[0] in EQUALS or own[0] in RELATIONS):
            return [main[0]]
        if token == r"\underset" and own and (own[-1] in INDEXED or own[-1].startswith("\\operatorname ")):
            last = main[1] - 1  # the place of what is put in, so that places go up
            return [*range(main[0], main[1]), ("_", last), ("{", last), *range(small[0], small[1]), ("}", last)]
        return None

    def argument(self, at: int) -> tuple[int, int, int] | None:
        """The first token of an argument, the one after its last, and the one after its brace."""
        while at < len(self.tokens) and self.tokens[at] in ("\n", "\n\n"):
            at += 1
        if at >= len(self.tokens) or not self.tokens[at] or self.tokens[at] == ";":
            return None
        if self.tokens[at] != "{":
            return at, at + 1, at + 1
        depth, first = 0, at
        while True:  # braces have their partners
            depth += (self.tokens[at] == "{") - (self.tokens[at] == "}")
            if not depth:
                return first + 1, at, at + 1
            at += 1
