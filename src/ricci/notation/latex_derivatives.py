r"""Derivatives in LaTeX: ``\frac{\partial f}{\partial x_i}``, ``\partial f / \partial x_i``, ``\partial_{x_i} f``."""

from __future__ import annotations

from ricci.notation import syntax
from ricci.notation.latex_calls import DERIVATIVE, LatexCalls
from ricci.notation.latex_letters import letter
from ricci.notation.latex_words import TIMES
from ricci.notation.syntax import Index, Node

BY = r"Write \frac{\partial f}{\partial x_k}, with new indices for the variable."


def conjugated(node: Node | None) -> syntax.TensorNode | None:
    """What ``\\overline{z_k}`` is the conjugate of, if that is a tensor."""
    inner = node.args[0] if isinstance(node, syntax.CallNode) and node.name == "conj" else None
    return inner if isinstance(inner, syntax.TensorNode) else None


class LatexDerivatives(LatexCalls):
    """Reads derivatives."""

    def is_partial(self, begin: int, end: int) -> bool:
        """Whether a numerator or denominator begins as one of a derivative does."""
        if begin >= end:
            return False
        token = self.tokens[begin]
        if token in (r"\partial", "\\mathrm d", "\\operatorname d"):
            return True
        more = self.tokens[begin + 1] if begin + 1 < end else ""
        return token == "d" and (begin + 1 == end or more == "^" or bool(letter(more)))

    def derivative(self, first: int, above: tuple[int, int], below: tuple[int, int]) -> Node:
        """``\\frac{\\partial^2 f}{\\partial x_i \\partial y_j}``; without ``f``, of what follows."""
        here = self.at
        order, at = self._order(above[0] + 1)
        variables = self.variables(*below)
        if len(variables) != order:
            message = f"The derivative is of order {order}, and by {len(variables)} variables."
            self.fail(message, first, below[1], BY)
        self.at = here
        body = self.operand_of_derivative(first) if at == above[1] else self.expression(at, above[1])
        return self.differentiated(body, variables, first)

    def differentiated(self, body: Node, variables: list[Node], first: int) -> Node:
        for variable in variables:
            conjugate = isinstance(variable, syntax.CallNode)
            by = variable.args[0] if isinstance(variable, syntax.CallNode) else variable
            assert isinstance(by, syntax.TensorNode)
            body = syntax.Derivative(self.starts[first], self.ends[self.at - 1], body, by, conjugate)
        return body

    def _order(self, at: int) -> tuple[int, int]:
        """The number above a ``\\partial``, and the token after it."""
        if self.tokens[at] != "^":
            return 1, at
        self.at = at + 1
        begin, end = self.argument("^")
        digits = "".join(self.tokens[begin:end])
        if not digits.isdigit() or not 0 < int(digits) < 10:
            self.fail("The order of a derivative is a number.", begin, end - 1, BY)
        return int(digits), self.at

    def variables(self, begin: int, end: int) -> list[Node]:
        """What stands below the bar, ``\\partial x_i \\partial y_j``."""
        found: list[Node] = []
        self.at = begin
        while self.at < end:
            if not self.is_partial(self.at, end) and self.token not in TIMES:
                self.fail("Below the bar of a derivative stand its variables.", self.at, self.at, BY)
            self.at += 1
            if self.at < end and self.tokens[self.at - 1] not in TIMES:
                found += self.variable(end)
        if not found:
            self.fail("Below the bar of a derivative stand its variables.", begin, end - 1, BY)
        return found

    def variable(self, end: int) -> list[Node]:
        first, self.in_variable = self.at, True  # where a bar is a conjugate
        node = self.atom()
        self.in_variable, times = False, 1
        if isinstance(node, syntax.Power) and isinstance(node.exponent, syntax.Number):
            node, times = node.base, int(node.exponent.value)
        by = conjugated(node) or node
        if not isinstance(by, syntax.TensorNode) or self.at > end or (times > 1 and by.indices):
            self.fail("A derivative is by a name with its indices.", first, self.at - 1, BY)
        return [node] * times

    def operand_of_derivative(self, first: int) -> Node:
        """What ``\\frac{\\partial}{\\partial x}`` is applied to: the bracket, or the factor, that follows."""
        begin = self.at
        if self.over() or self.token in TIMES:
            self.fail("There is nothing that is differentiated.", first, self.at - 1, BY)
        bracket = self.token in ("(", "[", r"\{")
        body = self.factor()
        if not bracket:
            self.alone(begin, DERIVATIVE)
        return body

    def partial(self) -> Node:
        """``\\partial f / \\partial x_i``, and ``\\partial_{x_i} f``."""
        first = self.at
        if self.tokens[first + 1] == "_":
            return self.partial_by()
        order, self.at = self._order(first + 1)
        body = None if self.token == "/" else self.factor()
        if not self.take("/") or self.token != r"\partial":
            self.fail(r"After this \partial no other one follows.", first, self.at - 1, BY)
        begin = self.at
        if self.tokens[begin + 1] == "(":
            self.fail("Below the bar of a derivative stand its variables.", begin, begin + 1, BY)
        variables: list[Node] = []
        while self.token == r"\partial":
            self.at += 1
            variables += self.variable(len(self.tokens))
        if len(variables) != order:
            message = f"The derivative is of order {order}, and by {len(variables)} variables."
            self.fail(message, first, self.at - 1, BY)
        if body is None:
            body = self.operand_of_derivative(first)
        return self.differentiated(body, variables, first)

    def partial_by(self) -> Node:
        """``\\partial_{x_i} f``; and ``\\partial_i f`` where the text has an ``x`` with one index."""
        first = self.at
        self.at += 2
        begin, end = self.argument("_")
        here = self.at
        if (
            end == begin + 1
            and letter(self.tokens[begin]) in self.letters.indices
            and 1 in self.letters.orders.get("x", ())
        ):
            name = letter(self.tokens[begin])
            height = "up" if self.letters.raised or self.letters.explicit else "down"
            index = Index(self.starts[begin], self.ends[begin], ((1, name),), plain=True, height=height)
            self.found.append(index)
            variable: Node = syntax.TensorNode(self.starts[first], self.ends[begin], "x", (index,))
        else:
            self.at = begin
            if letter(self.token) in self.letters.indices and end == begin + 1:
                self.fail("This does not say by what the derivative is.", first, end - 1, BY)
            node = self.atom() if self.begins_name() else None
            by = conjugated(node) or node
            if (
                node is None
                or not isinstance(by, syntax.TensorNode)
                or self.at != end
                or (by.indices is None and by.name in self.letters.indices)
            ):
                self.fail("This does not say by what the derivative is.", first, max(first, end - 1), BY)
            variable = node
        self.at = here
        return self.differentiated(self.operand_of_derivative(first), [variable], first)
