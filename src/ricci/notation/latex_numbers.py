r"""Numbers of a LaTeX text, ``3 \cdot 10^{-9}`` being one, and the tensors of ones and zeros.

What a programming language would write, ``1e-9``, is a sum with a name on paper, and refused.
"""

from __future__ import annotations

from ricci.notation import syntax
from ricci.notation.latex_names import MATRIX, LatexNames
from ricci.notation.syntax import Node


class LatexNumbers(LatexNames):
    """Reads numbers."""

    def number(self) -> Node:
        at, token = self.at, self.token
        self.at += 1
        if token in ("0", "1") and (self.token == "_" or self.tokens[self.at : self.at + 2] == ["{", "}"]):
            return self.constant_tensor(token, at)
        self.check_no_exponent(at)
        power = self.power_of_ten()
        if power is not None:
            shown = float(f"{token}e{power}")
            if shown != float("inf"):
                return syntax.Number(self.starts[at], self.ends[self.at - 1], shown)
            self.fail("The number is too large.", at, self.at - 1, "Scale the quantities, or give it as an input.")
        return syntax.Number(self.starts[at], self.ends[at], self.value(token, at))

    def check_no_exponent(self, at: int) -> None:
        """``1e-3``, without blanks."""
        last = self.at + 1 + (self.tokens[self.at + 1] in ("+", "-"))
        together = all(self.starts[k] == self.ends[k - 1] for k in range(at + 1, last + 1))
        if self.token == "e" and self.tokens[last][:1].isdigit() and together:
            hint = r"Write 2 \cdot 10^{-3} for a number, and e with blanks around it for a name."
            self.fail("This may be a number, and may be a sum with e.", at, last, hint)

    def power_of_ten(self) -> int | None:
        """The exponent of ``\\cdot 10^{-9}`` after a number, which is one number with it."""
        at = self.at
        if self.token not in (r"\cdot", r"\times") or self.tokens[at + 1 : at + 3] != ["10", "^"]:
            return None
        self.at = at + 3
        first, last = self.argument("^")
        digits = "".join(self.tokens[first:last])
        if digits.lstrip("-").isdigit() and len(digits) < 5:
            return int(digits)
        self.at = at
        return None

    def constant_tensor(self, digit: str, first: int) -> Node:
        """``\\mathbf{1}_{ij}`` and ``\\mathbf{0}_{ij}``, whose indices begin here."""
        found = self.scripts(digit, first)
        if found.turned or not found.indices or found.suffix or found.inverse:
            hint = rf"Write \mathbf{{{digit}}}_i with its indices. {MATRIX}"
            self.fail("The tensor of ones or zeros has its indices below it.", first, self.at - 1, hint)
        self.found += found.indices
        start, end = self.starts[first], self.ends[self.at - 1]
        node = (syntax.Ones if digit == "1" else syntax.Zeros)(start, end, tuple(found.indices))
        return node if found.power is None else syntax.Power(start, end, node, found.power)
