r"""Functions of a LaTeX text, with what they are applied to: brackets, bars, or the factor that follows.

What is one function here may be two on paper, ``\log\left|\det(A)\right|``, and one on paper may be several here:
``\max(a, b)`` is entry by entry, ``\max_k`` over an axis, ``\sin^{-1}`` the inverse and ``\sin^2`` a power.
"""

from __future__ import annotations

import re

from ricci.functions.table import IN_TEXT
from ricci.functions.unknown import read_mark
from ricci.notation import syntax
from ricci.notation.latex_letters import known_order, letter
from ricci.notation.latex_names import MATRIX
from ricci.notation.latex_terms import LatexTerms
from ricci.notation.latex_words import FUNCTIONS, HEADS, INVERSES, OPERATORS, TIMES
from ricci.notation.parser import parameters
from ricci.notation.syntax import Index, Node

MARK = re.compile(r"|'+|\^\(\d+\)|_\d+(?:_\d+)*")  # of a derivative of a function
MARKS = ("'", r"\prime", "^", "_", "{", "}", "(", ")", ",")  # the tokens of one, beside numbers
DERIVATIVE = "the derivative"
ARGUMENT = "Put what it is applied to in brackets."


class LatexCalls(LatexTerms):
    """Reads calls of functions."""

    def function_name(self) -> str | None:
        """The function that this token begins, or None."""
        token = self.token
        if token in FUNCTIONS:
            return FUNCTIONS[token] or None
        if token.startswith(("\\operatorname ", "\\mathrm ")):
            word = token.partition(" ")[2]
            known = word if word in self.functions else OPERATORS.get(word)
            if known is None and self.tokens[self.at + 1] == "(" and token.startswith("\\op"):
                hint = rf"Write \mathrm{{{word}}} \cdot (…) for a product."
                self.fail(f"There is no function {word!r}.", self.at, self.at, hint)
            return known
        return None

    def group(self) -> Node:
        own = self.own_function() if self.braced_head() else ""
        return self.call_of_own(own) if own else super().group()

    def own_function(self) -> str:
        """The function that was given beside the text which this token is, or which stands in braces here."""
        token = self.tokens[self.at + 1] if self.braced_head() else self.token
        upright = token.startswith(("\\operatorname ", "\\mathrm "))
        name = token.partition(" ")[2] if upright else letter(token)
        return name if name in self.functions and name not in IN_TEXT else ""

    def braced_head(self) -> bool:
        """Whether these braces hold a function with the mark of a derivative, and axes are below: ``{f'}_{j}(x_j)``."""
        if self.token != "{":
            return False
        close = self._close(self.at)
        marks = self.tokens[self.at + 2 : close]
        return self.tokens[close + 1] == "_" and all(t.isdigit() or t in MARKS for t in marks)

    def call_of_own(self, name: str) -> Node:
        """A call of such a function, with the mark of a derivative, or axes, after its name."""
        first, braced, axes = self.at, self.braced_head(), None
        self.at += 1 + braced
        marked = self.derivative_mark(braced or name in self.unknown)
        if braced and self.token == "}":
            self.at += 1
        if self.token == "_":
            self.at += 1
            axes = self.axes(*self.argument("_"), name)
        marked += self.derivative_mark(False)
        known = name not in self.unknown and axes is None
        if self.token != "(" or (marked and known) or not MARK.fullmatch(marked):
            hint = f"Write its arguments: {self.source(first + braced, first + braced)}(x_i)."
            self.fail(f"{name!r} is a function here, and is not called.", first, self.at - 1, hint)
        args, result = self.arguments(), None
        if axes is not None and self.scripted(self.at):
            found = self.scripts(name, first)
            result = tuple(found.indices) or None
            self.found += found.indices
        start, end = self.starts[first], self.ends[self.at - 1]
        try:
            places = read_mark(marked, len(args))
        except ValueError as fault:
            hint = f"Write {name}'(x) for the derivative, and {name}_{{1}}(x, z) for that by the first argument."
            self.fail(f"{name!r} has {len(args)} arguments here, and {fault}.", first, self.at - 1, hint)
        return syntax.CallNode(start, end, name, args, axes, result, (), places)

    def derivative_mark(self, below: bool) -> str:
        """The mark of a derivative that stands here: primes, a number above, places ``below``."""
        marked = ""
        while self.token in ("'", "^") or (below and self.token == "_"):
            sign = self.token
            self.at += 1
            if sign == "'":
                marked += "'"
                continue
            begin, end = self.argument(sign)
            inside = self.tokens[begin:end]
            if sign == "_":
                marked = "_" + "".join(inside).replace(",", "_")
            else:
                marked = "'" * len(inside) if set(inside) <= {r"\prime", "'"} else "^" + "".join(inside)
        return marked

    def function(self, name: str) -> Node:
        first = self.at
        if self.token == r"\arg":
            name = self._arg()
        self.at += 1
        found = self.logarithm(name, first)
        if found is not None:
            return found
        axes, power = None, None
        while self.token in ("_", "^"):
            below = self.token == "_"
            self.at += 1
            begin, end = self.argument(self.tokens[self.at - 1])
            if not below and self.tokens[begin:end] == ["-", "1"]:
                name = self._inverse_of(name, begin)
            elif not below:
                power = self.exponent(begin, end)
            elif name == "log":
                name = self._log_of_base(begin, end)
            else:
                axes = self.axes(begin, end, self.source(first, first))
        node = self.applied(name, axes, first)
        return node if power is None else syntax.Power(node.start, node.end, node, power)

    def _arg(self) -> str:
        self.at += 1
        follow = self.token
        if follow not in (r"\max", r"\min"):
            self.at -= 1
            return "angle"
        return "arg" + follow[1:]

    def _inverse_of(self, name: str, at: int) -> str:
        if name not in INVERSES:
            self.fail(f"{name} has no inverse here.", at, at + 1, rf"For one over it write \frac{{1}}{{\{name}(x)}}.")
        return INVERSES[name]

    def _log_of_base(self, begin: int, end: int) -> str:
        base = "".join(self.tokens[begin:end])
        if base not in ("2", "10", "e"):
            self.fail("There are logarithms of the bases 2, 10 and e.", begin, end - 1, r"Write \frac{\log x}{\log b}.")
        return {"2": "log2", "10": "log10", "e": "log"}[base]

    def logarithm(self, name: str, first: int) -> Node | None:
        """What is one function and is written as two: ``\\log|\\det(A)|``, ``\\log|\\Gamma(x)|``, ``\\log\\Phi(x)``."""
        at, tokens = self.at, self.tokens
        if name == "sign" and self.token == r"\det":
            inner = self.function("det")
            if isinstance(inner, syntax.CallNode):
                return syntax.CallNode(
                    self.starts[first], inner.end, HEADS[r"\operatorname{sign}\det"], inner.args, inner.axes, None
                )
        if name != "log":
            return None
        barred = self.token in ("|", r"\left|")
        inner_at = at + barred
        if tokens[inner_at] == r"\Gamma" and tokens[inner_at + 1] == "(":
            self.at = inner_at + 1
            return self._around(HEADS[r"\log\left|\Gamma"], first, barred)
        if tokens[at] == r"\Phi" and tokens[at + 1] == "(":
            self.at = at + 1
            return self._around(HEADS[r"\log \Phi"], first, False)
        if barred and (tokens[inner_at] == r"\det" or known_order(self.letters, letter(tokens[inner_at])) == 2):
            body = self.bars()
            whole = isinstance(body, syntax.CallNode) and body.name == "det"
            inner = body.args[0] if isinstance(body, syntax.CallNode) and not whole else body
            if isinstance(inner, syntax.CallNode) and inner.name == "det":
                return syntax.CallNode(
                    self.starts[first], self.ends[self.at - 1], HEADS[r"\log\left|\det"], inner.args, inner.axes, None
                )
            return syntax.CallNode(self.starts[first], self.ends[self.at - 1], "log", (body,), None, None)
        return None

    def _around(self, name: str, first: int, barred: bool) -> Node:
        args = self.arguments()
        if barred:
            if self.token not in ("|", r"\right|"):
                self.fail("The bar is never closed.", first, self.at - 1, r"Write \log\left|\Gamma(x)\right|.")
            self.at += 1
        return syntax.CallNode(self.starts[first], self.ends[self.at - 1], name, args, None, None)

    def applied(self, name: str, axes: tuple[Index, ...] | None, first: int) -> Node:
        """A function with what it is applied to, and the indices of its result."""
        row = IN_TEXT.get(name)
        begin = self.at
        if self.token in ("(", "[", r"\{"):
            args = self.arguments()
        else:
            if self.over() or self.token in TIMES:
                self.fail(f"{self.source(first, self.at - 1)} is applied to nothing.", first, self.at - 1, ARGUMENT)
            self.bound += [index.terms[0][1] for index in axes or ()]
            bracket = self.token in ("|", r"\left|", r"\|", r"\lVert", "{", r"\lfloor", r"\lceil")
            args = (self.counted_factor(),)
            del self.bound[len(self.bound) - len(axes or ()) :]
            if not bracket:
                self.alone(begin, self.source(first, begin - 1))
        result = None
        if (
            row is not None
            and row.kind == "matrix"
            and (self.token == "_" or self.tokens[self.at : self.at + 2] == ["{", "}"])
        ):
            found = self.scripts(name, first)
            result = tuple(found.indices) or None
            self.found += found.indices
        start, end = self.starts[first], self.ends[self.at - 1]
        if name in ("max", "min") and axes is None and len(args) > 1:
            return self._folded({"max": "maximum", "min": "minimum"}[name], args, start, end)
        if row is not None and axes is None and row.kind in ("matrix", "reduce"):
            self._check_whole(args, first)
        params = parameters(name, list(args))
        return syntax.CallNode(start, end, name, args[: len(args) - len(params)], axes, result, params)

    def counted_factor(self) -> Node:
        r"""A factor, or a number and a factor, as ``2\pi`` of ``\log 2\pi``."""
        first = self.at
        node = self.factor()
        more = not self.over() and self.token not in TIMES and self.token not in ("/", "(", "[", r"\{")
        if not isinstance(node, syntax.Number) or not more:
            return node
        factors = ((1, node), (1, self.factor()))
        return syntax.ProductNode(self.starts[first], self.ends[self.at - 1], factors)

    def _check_whole(self, args: tuple[Node, ...], first: int) -> None:
        """Products of matrices by their names are no expressions of this notation."""
        for node in args:
            names = [n for n in syntax.within(node) if isinstance(n, syntax.TensorNode)]
            if not isinstance(node, syntax.TensorNode) and names and all(n.indices is None for n in names):
                self.fail("What has matrices and no indices is matrix notation.", first, self.at - 1, MATRIX)

    @staticmethod
    def _folded(name: str, args: tuple[Node, ...], start: int, end: int) -> Node:
        node = args[0]
        for other in args[1:]:
            node = syntax.CallNode(start, end, name, (node, other), None, None)
        return node

    def arguments(self) -> tuple[Node, ...]:
        """What stands in the brackets that open here, between commas."""
        first = self.at
        close = self.partner(first)
        args = []
        self.closers.append(self.tokens[close])
        while True:
            self.at += 1
            if self.token == self.tokens[close] and self.at == close and not args:
                self.fail("The bracket is empty.", first, close, "Write an expression in it.")
            args.append(self.relation())
            if self.token != ",":
                break
        self.closers.pop()
        if self.at != close:
            raise self.unexpected()
        self.at += 1
        return tuple(args)

    def alone(self, begin: int, what: str) -> None:
        """An error where more follows what a function without brackets is applied to."""
        token = self.token
        if self.over() or token in TIMES or token == "/" or token in FUNCTIONS or token.startswith("\\operatorname "):
            return
        if token == r"\partial" and what == DERIVATIVE:
            return
        hint = f"Write {what}({self.source(begin, self.at - 1)}) if it ends there."
        hint = "Put what is differentiated in brackets." if what == DERIVATIVE else hint
        self.fail(f"It is not seen how far {what} goes.", begin, self.at, hint)

    def exponential(self) -> Node | None:
        """``e^{x}``, where ``e`` is no name of the text."""
        upright = self.token != "e"
        if self.tokens[self.at + 1] != "^" or (not upright and (self.letters.bare["e"] or "e" in self.letters.orders)):
            return None
        first = self.at
        self.at += 2
        begin, end = self.argument("^")
        if begin == end:
            self.fail("The braces are empty.", begin - 1, end, "Write an exponent.")
        body = self.expression(begin, end)
        return syntax.CallNode(self.starts[first], self.ends[self.at - 1], "exp", (body,), None, None)

    def sigmoid(self) -> Node | None:
        """``\\sigma(x)``."""
        if self.tokens[self.at + 1] != "(":
            return None
        first = self.at
        if self.letters.bare["sigma"] or "sigma" in self.letters.orders:
            hint = r"Write \sigma \cdot (…) for a product, and \operatorname{sigmoid}(…) for the function."
            self.fail(r"\sigma is a name in this text, and may be the function.", first, first + 1, hint)
        self.at += 1
        return self.applied(HEADS[r"\sigma"], None, first)

    def digamma(self) -> Node | None:
        r"""``\psi(x)`` and ``\psi^{(n)}(x)``."""
        at = self.at
        if self.tokens[at + 1] == "(":
            self.at += 1
            return self.applied(HEADS[r"\psi"], None, at)
        if self.tokens[at + 1 : at + 4] != ["^", "{", "("]:
            return None
        close = self.partner(at + 3)
        if self.tokens[close + 1 : close + 3] != ["}", "("]:
            return None
        self.at = at + 3
        order = self.arguments()
        self.at += 1
        args = (*order, *self.arguments())
        return syntax.CallNode(self.starts[at], self.ends[self.at - 1], HEADS[r"\psi^{"], args, None, None)

    def normal(self) -> Node | None:
        r"""``\Phi^{-1}(x)``."""
        at = self.at
        if self.tokens[at + 1 : at + 7] != ["^", "{", "-", "1", "}", "("]:
            return None
        self.at += 6
        return self.applied(HEADS[r"\Phi^{-1}"], None, at)

    def rounded(self) -> Node:
        first, close = self.at, {r"\lfloor": r"\rfloor", r"\lceil": r"\rceil"}[self.token]
        self.at += 1
        self.closers.append(close)
        body = self.sum()
        self.closers.pop()
        if not self.take(close):
            self.fail(f"{self.tokens[first]} is never closed.", first, first, f"Close it with {close}.")
        name = {r"\rfloor": "floor", r"\rceil": "ceil"}[close]
        return syntax.CallNode(self.starts[first], self.ends[self.at - 1], name, (body,), None, None)

    def norm(self, first: int, body: Node) -> Node:
        """A norm over the indices that are open in it and nowhere else."""
        kind = ""
        if self.token == "_":
            self.at += 1
            begin, end = self.argument("_")
            kind = "".join(self.tokens[begin:end])
            if kind not in ("1", "2", "F", r"\infty", "\\mathrm F"):
                self.fail(
                    "This is no norm of the notation.", begin, end - 1, "There are those with 1, 2, F and \\infty."
                )
        start, end = self.starts[first], self.ends[self.at - 1]
        names = [name for name, places in self.count.of(body).items() if len(places) == 1 and name not in self.bound]
        if not names:
            if not isinstance(body, syntax.TensorNode) or body.indices is not None or kind not in ("", "2", "F"):
                self.fail("A norm is over an index, and none is open in it.", first, self.at - 1, MATRIX)
            return syntax.CallNode(start, end, "norm", (body,), None, None)
        axes = tuple([syntax.Index(start, start, ((1, name),), plain=True) for name in names])
        call = lambda name, node: syntax.CallNode(start, end, name, (node,), axes, None)  # noqa: E731
        if kind in ("1", r"\infty"):
            size = syntax.CallNode(start, end, "abs", (body,), None, None)
            return call("sum" if kind == "1" else "max", size)
        if self.token == "^" and self.squared():
            entry = syntax.CallNode(start, end, "abs", (body,), None, None) if self.has_complex else body
            return call("sum", syntax.Power(start, end, entry, syntax.Number(start, end, 2)))
        return call("norm", body)

    def squared(self) -> bool:
        """Whether a square follows, which then is taken: it has a derivative everywhere, as the norm has not."""
        here = self.at
        self.at += 1
        first, last = self.argument("^")
        if self.tokens[first:last] == ["2"]:
            return True
        self.at = here
        return False
