r"""Sums, products, brackets and powers of a LaTeX text.

A product is what stands side by side, up to the next sign outside of brackets. What may be read in two ways on paper is
refused: ``a/b c``, ``f(x)`` of an unknown ``f``, ``a_i \odot b_i`` under a sum.
"""

from __future__ import annotations

from ricci.errors import NotationError
from ricci.notation import syntax
from ricci.notation.latex_letters import is_one_name, known_order, letter
from ricci.notation.latex_names import MATRIX
from ricci.notation.latex_numbers import LatexNumbers
from ricci.notation.latex_tokens import CLOSERS, PARTNERS
from ricci.notation.latex_words import BY_ENTRIES, EQUALS, FONTS, NO_MEANING, RELATIONS, STARS, TIMES, may_be_product
from ricci.notation.occurrences import Occurrences
from ricci.notation.syntax import Node
from ricci.notation.tokens import in_other_words

ENDS = frozenset(
    ("", ";", ")", "]", "}", r"\}", "+", "-", ",", "&", "\\\\", r"\right|", r"\rVert", r"\rfloor", r"\rceil")
) | frozenset((r"\end{cases}", r"\nosum", r"\endnosum", *RELATIONS, *EQUALS))
BARS = {"|": "|", r"\left|": r"\right|", r"\|": r"\|", r"\lVert": r"\rVert"}
BOLD = frozenset((r"\mathbf", r"\boldsymbol", r"\bm", r"\pmb", r"\vec"))
VECTORS = r"Name the indices: A_{ij} x_j, a_i b_i, \varepsilon_{ijk} a_j b_k. Matrix notation is read by rc.matrix."
QUOTIENT = r"Write \frac{a}{b} c or \frac{a}{b c}: a slash does not say where what is below it ends."


class LatexTerms(LatexNumbers):
    """Reads expressions; what begins with a command is read by ``LatexParser``."""

    def __init__(self, text: str, functions: frozenset[str], unknown: frozenset[str] = frozenset()):
        super().__init__(text, functions, unknown)
        self.closers: list[str] = []  # what closes the brackets and bars around this place
        self.in_sizes = False  # whether this is in a line of sizes
        self.bound: list[str] = []  # indices of the left side, and of the sums around this place
        self.count = Occurrences()
        self.calls: dict[str, list[str]] = {}  # names defined as ``f(x) = …`` → the tokens in the brackets

    def command(self) -> Node | None:
        raise NotImplementedError

    def expression(self, first: int, last: int) -> Node:
        """The expression that some tokens are."""
        here, self.at = self.at, first
        after, self.tokens[last] = self.tokens[last], "}"  # also where it has no braces
        try:
            node = self.inside("}", last)
        finally:
            self.tokens[last] = after
        self.at = here
        return node

    def relation(self, equals: bool = False) -> Node:
        """A sum, or two with a comparison between them; in square brackets "=" compares."""
        first = self.at
        left = self.sum()
        sign = RELATIONS.get(self.token) or ("==" if equals and self.token == "=" else "")
        if not sign:
            return left
        self.at += 1
        right = self.sum()
        if self.token in RELATIONS:
            self.fail("Two comparisons in a row have no meaning.", self.at, self.at, "Multiply them, each in brackets.")
        return syntax.Compare(self.starts[first], self.ends[self.at - 1], sign, left, right)

    def sum(self) -> Node:
        self.deepen()
        first, terms = self.at, []
        negative = self.token == "-"
        self.at += self.token in ("+", "-")
        node = self.term()
        terms.append((1, syntax.Neg(self.starts[first], self.ends[self.at - 1], node) if negative else node))
        while self.token in ("+", "-"):
            sign = -1 if self.token == "-" else 1
            self.at += 1
            terms.append((sign, self.term()))
        self.depth -= 1
        return (
            terms[0][1] if len(terms) == 1 else syntax.SumNode(terms[0][1].start, self.ends[self.at - 1], tuple(terms))
        )

    # Products.

    def over(self) -> bool:
        """Whether a term ends here."""
        return self.token in ENDS or bool(
            self.closers and self.token in BARS.values() and self.closers[-1] == self.token
        )

    def term(self) -> Node:
        first, factors, exponent, sign, before = self.at, [], 1, "", ""
        while True:
            begin = self.at
            factors.append((exponent, self.factor()))
            font = self.vector(begin, factors[-1][1])
            if before and font and (sign in TIMES or r"\vec" not in (before, font)):
                self.fail("A product of vectors without indices is matrix notation.", begin, begin, VECTORS)
            before = font
            sign, exponent = self.token, 1
            if sign == "/":
                exponent = -1
                self.at += 1
            elif sign in TIMES:
                self.at += 1
            elif self.over():
                break
            else:
                self.beside(begin, factors)
            if sign in BY_ENTRIES:
                self.by_entries(factors, sign)
        if len(factors) == 1:
            return factors[0][1]
        return syntax.ProductNode(self.starts[first], self.ends[self.at - 1], tuple(factors))

    def vector(self, at: int, node: Node) -> str:
        """The font, or the accent, of a name that says that it is a vector and stands without indices."""
        bare = isinstance(node, syntax.TensorNode) and node.indices is None
        return self.tokens[at] if bare and self.tokens[at] in BOLD else ""

    def beside(self, begin: int, factors: list[tuple[int, Node]]) -> None:
        """What follows a factor without a sign: not what a slash has, and no number after a number."""
        exponent, node = factors[-1]
        if exponent < 0:
            above = factors[-2][1]
            if not (isinstance(above, syntax.Number) and isinstance(node, syntax.Number)):
                self.fail("What follows this may stand above or below.", begin, self.at - 1, QUOTIENT)
        if self.token[0].isdigit() and self.tokens[self.at - 1][0].isdigit():
            self.fail("Two numbers stand side by side.", self.at - 1, self.at, r"Write \cdot between them.")

    def by_entries(self, factors: list[tuple[int, Node]], sign: str) -> None:
        """``a_i \\odot b_i`` is no sum, so its index is free here."""
        before, here = self.count.of(factors[-1][1]), self.at
        after = self.count.of(self.factor())
        self.at = here
        for name in before:
            if name in after and name not in self.bound:
                message = f"What is done entry by entry has its index {name!r} on the left side too."
                self.fail(message, here - 1, here - 1, rf"Write y_{name} = a_{name} {sign} b_{name}.")

    # Factors.

    def factor(self) -> Node:
        if self.token == "-" and self.tokens[self.at - 1] in (*TIMES, "/"):
            start = self.starts[self.at]
            self.at += 1
            return syntax.Neg(start, self.ends[self.at], self.factor())
        first = self.at
        return self.raised(self.atom(), first)

    def raised(self, node: Node, first: int) -> Node:
        """A factor that is no name, with its exponent."""
        while self.token in ("^", "_", "'", "!"):
            if self.token == "^" and self.has_complex and self.star_above():
                node = self.conjugate(node, first)
                continue
            if self.token == "!":
                hint = r"A factorial x! is \exp(\log\left|\Gamma(x + 1)\right|)."
                self.fail("The sign '!' has no meaning here.", self.at, self.at, hint)
            if self.token != "^":
                hint = "Give it a name, in a statement of its own, and write the indices below the name."
                self.fail("Indices stand directly after a name.", first, self.at, hint)
            self.at += 1
            begin, end = self.argument("^")
            if self._transposes(self.tokens[begin:end]) or self._transposes(self.tokens[begin + 1 : end]):
                self.fail("A transpose without indices is matrix notation.", first, self.at - 1, MATRIX)
            node = syntax.Power(self.starts[first], self.ends[self.at - 1], node, self.exponent(begin, end))
        return node

    def star_above(self) -> bool:
        """Whether a star stands above, which then is passed."""
        here = self.at
        self.at += 1
        begin, end = self.argument("^")
        if end == begin + 1 and self.tokens[begin] in STARS:
            return True
        self.at = here
        return False

    def conjugate(self, node: Node, first: int) -> Node:
        return syntax.CallNode(self.starts[first], self.ends[self.at - 1], "conj", (node,), None, None)

    def overlined(self) -> Node | None:
        r"""``\overline{A_{ij} z_j}``, the conjugate; over a single name a bar belongs to it at first."""
        first = self.at
        begin = first + 2
        if not (self.has_complex or self.in_variable) or self.tokens[first + 1] != "{":
            return None
        if is_one_name(self.tokens, begin):
            entry = self.tokens[begin + 1] == "_" and letter(self.tokens[begin]) in self.complex_names
            if not entry or "\\mathrm" in "".join(self.tokens[begin : self.tokens.index("}", begin)]):
                return None
        self.at += 1
        return self.conjugate(self.expression(*self.argument(r"\overline")), first)

    def unit(self) -> Node | None:
        r"""``\mathrm{i}`` and ``\imath``, the imaginary unit, but for a name with something below."""
        first = self.at
        if self.scripted(first + 1):
            return None
        self.at += 1
        return syntax.Imaginary(self.starts[first], self.ends[first])

    def atom(self) -> Node:
        token = self.token
        if token[:1].isdigit() or (token[:1] == "." and len(token) > 1):
            return self.number()
        if token in ("(", "[", r"\{"):
            return self.bracket()
        if token in BARS:
            return self.bars()
        if token == "{":
            return self.group()
        found = self.command()
        if found is not None:
            return found
        if self.begins_name() or letter(token) or token.startswith("\\operatorname "):
            return self.name()
        raise self.unexpected()

    def unexpected(self) -> NotationError:
        """The error for a token that nothing can begin with, or go on with."""
        at, token = self.at, self.token
        if token in NO_MEANING:
            return self.error(f"{token} has no meaning here.", at, at, NO_MEANING[token])
        if token == "," and not self.closers:
            hint = r"Write statements in lines of their own, or with \\ between them."
            return self.error("A comma ends no statement.", at, at, hint)
        if token == r"\right|":
            return self.error("A value that is put in is not read.", at, at, "Give it at the call of the formula.")
        if token.startswith("\\text "):
            return self.error(
                "This text says nothing to a formula.", at, at, r"Leave it out; a name is one word, \text{name}."
            )
        before = self.tokens[at - 1] if at else ""
        if token in ENDS or token in TIMES or token in ("/", "^", "_", "'"):
            if not at or before in (";", ""):
                return self.error(
                    f"There is nothing before {token!r}.", at, at, "Write what it applies to, or leave it out."
                )
            shown = before.partition(" ")[2] or before
            if before == token == "*":
                return self.error("There is nothing between '*' and '*'.", at - 1, at, "Write x^{2} for a power.")
            return self.error(
                f"There is nothing after {shown!r}.", at - 1, at - 1, "Write what should follow, or leave it out."
            )
        if token[0] == "\\":
            hint = in_other_words(self.text, self.starts[at])
            hint = "Write what it stands for." if "LaTeX is read" in hint or not hint else hint
            return self.error(f"The command {token.split()[0]} is not read.", at, at, hint)
        return self.error(
            f"The sign {token!r} has no meaning here.", at, at, "Write what should follow, or leave it out."
        )

    # Brackets.

    def group(self) -> Node:
        """Braces: around a name with a word below, or around an expression."""
        first = self.at
        name = self.braced_name()
        if name:
            return self.named(name, first)
        begin, end = self.argument("the brace")
        if begin == end:
            self.fail("The braces are empty.", first, end, "Write an expression between them.")
        here, self.at = self.at, begin
        node = self.inside("}", end)
        self.at = here
        return node

    def inside(self, close: str, end: int, equals: bool = False) -> Node:
        self.closers.append(close)
        node = self.relation(equals)
        self.closers.pop()
        if self.at != end:
            if self.token == ",":
                hint = "Separate statements by a line break, and indices by commas below a name."
                self.fail("A comma stands only between indices and between arguments.", self.at, self.at, hint)
            raise self.unexpected()
        return node

    def partner(self, at: int) -> int:
        """The token that closes the bracket at a token."""
        depth = 0
        while True:
            depth += (self.tokens[at] in PARTNERS) - (self.tokens[at] in CLOSERS)
            if not depth:
                return at
            at += 1

    def bracket(self) -> Node:
        first = self.at
        close = self.partner(first)
        if close == first + 1:
            self.fail("The bracket is empty.", first, close, "Write an expression in it.")
        follow = self.tokens[close + 1]
        if follow == "_" or (follow == "{" and self.tokens[close + 2] == "}" and self.tokens[close + 3] in ("^", "_")):
            return self.entry_of_bracket(first, close)
        if follow == "^" and self._is_inverse_entry(close):
            return self.entry_of_bracket(first, close)
        self.at = first + 1
        node = self.index_relation(first, close) if self.tokens[first] != r"\{" else None
        if node is None:
            node = self.inside(self.tokens[close], close, equals=self.tokens[first] == "[")
        self.at = close + 1
        return node

    def _is_inverse_entry(self, close: int) -> bool:
        """``(A)^{-1}_{ij}``."""
        return self.tokens[close + 1 : close + 7] == ["^", "{", "-", "1", "}", "_"]

    def entry_of_bracket(self, first: int, close: int) -> Node:
        """``(A^{-1})_{ij}``, ``(A^\\top)_{ij}``: an entry of what is made of one matrix."""
        self.at = first + 1
        plain = self.begins_name()
        name = self.base() if plain else ""
        inner = self.scripts(name, first + 1) if plain else None
        if inner is None or self.at != close or inner.indices or inner.power is not None:
            hint = f"Give it a name, in a statement of its own, and write the indices below the name. {MATRIX}"
            self.fail("Indices stand directly after a name.", first, close + 1, hint)
        self.at = close + 1
        outer = self.scripts(name, first)
        outer.inverse = outer.inverse or inner.inverse
        outer.turned ^= inner.turned
        outer.before = 0
        full = f"{name}_{inner.suffix}" if inner.suffix else name
        node = self._entry(full, tuple(outer.indices) or None, outer, first)
        if outer.conjugate != inner.conjugate:
            node = self.conjugate(node, first)
        self.found += outer.indices
        return node if outer.power is None else syntax.Power(node.start, self.ends[self.at - 1], node, outer.power)

    def index_relation(self, first: int, close: int) -> Node | None:
        """``[i \\ge j+1]``: 1 where it holds, of indices alone; None for anything else."""
        sides, depth = [first + 1], 0
        for at in range(first + 1, close):
            token = self.tokens[at]
            depth += (token in PARTNERS) - (token in CLOSERS)
            if not depth and (token in RELATIONS or token == "="):
                sides += [at, at + 1]
            elif (
                token not in ("+", "-", "'", "|") and not token.isdigit() and letter(token) not in self.letters.indices
            ):
                return None
        if len(sides) != 3 or not any(self.indexes(at) for at in range(first, close)):
            return None
        sign = RELATIONS.get(self.tokens[sides[1]], "==")
        left, right = self.affine(sides[0], sides[1], ""), self.affine(sides[2], close, "")
        left, right = (left, right) if sign[0] != "<" else (right, left)
        if sign in ("<", ">"):
            left.const, left.plain = left.const - 1, False
        start, end = self.starts[first], self.ends[close]
        made = syntax.Delta(start, end, (left, right), "==" if sign in ("==", "!=") else ">=")
        if sign != "!=":
            return made
        return syntax.SumNode(start, end, ((1, syntax.Number(start, end, 1)), (-1, made)))

    def indexes(self, at: int) -> bool:
        """Whether a token is an index, and not the name of a size, ``|k|``."""
        primed = at + 1
        while self.tokens[primed] == "'":
            primed += 1
        return bool(letter(self.tokens[at])) and not (self.tokens[at - 1] == "|" == self.tokens[primed])

    def bars(self) -> Node:
        """``|x|``, ``|i|`` and norms."""
        first, opener = self.at, self.token
        close = BARS[opener]
        self.at += 1
        inside = self.tokens[self.at : self.tokens.index(close, self.at)] if close in self.tokens[self.at :] else []
        named = f"|{''.join(letter(t) for t in inside if t not in FONTS)}|"
        if named in self.bounds.names:
            self.at += len(inside) + 1
            return self.bounds.number(named, self.starts[first], self.ends[self.at - 1])
        name = letter(self.token)
        if opener == "|" and name and self.tokens[self.at + 1] in ("|", "'") and self._is_size(name):
            while self.tokens[self.at + 1] == "'":
                name, self.at = name + "'", self.at + 1
            self.at += 2
            return syntax.Size(self.starts[first], self.ends[self.at - 1], name)
        self.closers.append(close)
        body = self.sum()
        self.closers.pop()
        if self.token != close and not (opener == "|" and self.token == r"\right|"):
            self.fail(f"{opener!r} is never closed.", first, first, f"Close it with {close!r}.")
        self.at += 1
        if opener in (r"\|", r"\lVert"):
            return self.norm(first, body)
        if self.is_matrix(body):
            return syntax.CallNode(self.starts[first], self.ends[self.at - 1], "det", (body,), None, None)
        return syntax.CallNode(self.starts[first], self.ends[self.at - 1], "abs", (body,), None, None)

    def is_matrix(self, node: Node) -> bool:
        """Whether a name stands whole that has two indices in this text."""
        return (
            isinstance(node, syntax.TensorNode) and node.indices is None and known_order(self.letters, node.name) == 2
        )

    def _is_size(self, name: str) -> bool:
        return self.in_sizes or self.token.startswith("\\mathit ") or self.letters.is_size(name)

    def norm(self, first: int, body: Node) -> Node:
        raise NotImplementedError

    # Names before brackets.

    def name(self) -> Node:
        """A name with its indices, or the function of a text that it is."""
        first = self.at
        word = self.base()
        if self.token == "(":
            called = self.called(word, first)
            if called is not None:
                return called
        node = self.of_parameter(word, first) or self.named(word, first)
        if self.token == "(" and isinstance(node, syntax.TensorNode):
            if node.name in self.calls:
                self.called(node.name, first)
            else:
                self.not_called(node, first)
        return node

    def of_parameter(self, word: str, first: int) -> Node | None:
        r"""``f_\theta(x)``, or ``f_1(x)``, which was defined as that; and a last value of a sum, ``T_x``."""
        if self.token != "_":
            return None
        here = self.at
        self.at += 1
        begin, end = self.argument("_")
        name = f"{word}_{letter(self.tokens[begin]) or self.tokens[begin]}"
        if end == begin + 1 and name in self.bounds.names:
            return self.bounds.number(name, self.starts[first], self.ends[self.at - 1])
        if end == begin + 1 and name in self.calls:
            return syntax.TensorNode(self.starts[first], self.ends[self.at - 1], name, None)
        self.at = here
        return None

    def called(self, word: str, first: int) -> Node | None:
        """A name that was defined as ``f(x)``, with the same in its brackets, is what was defined."""
        close = self.partner(self.at)
        if word not in self.calls:
            return None
        if self.tokens[self.at + 1 : close] != self.calls[word]:
            shown = "".join(self.calls[word])
            hint = f"Define it with {self.source(self.at + 1, close - 1)} too, by another name."
            self.fail(f"{word!r} is defined as {word}({shown}), and is no function beyond that.", first, close, hint)
        self.at = close + 1
        return syntax.TensorNode(self.starts[first], self.ends[close], word, None)

    def not_called(self, node: syntax.TensorNode, first: int) -> None:
        """An error where ``f(x)`` may be a function and a product."""
        close = self.partner(self.at)
        depth, sums = 0, False
        for at in range(self.at + 1, close):
            depth += (self.tokens[at] in PARTNERS) - (self.tokens[at] in CLOSERS)
            sums |= not depth and self.tokens[at] in ("+", "-") and at > self.at + 1
        if may_be_product(node, sums) or (sums and self.letters.bare[node.name]):
            return
        shown = self.source(first, self.at - 1)
        hint = rf"Write {shown} \cdot (…) for a product, or say functions=[{node.name!r}] for one that is not known."
        self.fail(f"There is no function {node.name!r}.", first, self.at - 1, hint)
