r"""What else begins with a command in a LaTeX text: fractions, roots, sums, symbols, cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass

from ricci.errors import NotationError
from ricci.notation import syntax
from ricci.notation.latex_calls import LatexCalls
from ricci.notation.latex_derivatives import LatexDerivatives
from ricci.notation.latex_letters import letter, ordered
from ricci.notation.latex_restrictions import Restriction, restricted
from ricci.notation.latex_tokens import PARTNERS
from ricci.notation.latex_words import FONTS, RELATIONS, UNITS
from ricci.notation.symbols import LARGEST_DELTA, generalised_delta
from ricci.notation.syntax import Index, Node

UNEQUAL = r"Below the sign stand indices, \sum_{ij}, or a relation of two of them, \sum_{i \ne j} or \sum_{i < j}."
OPEN = r"Write a left side, y_i = …, with the indices that are free."
OUTSIDE = r"Write \sum_{{{0}}} before it for a sum over both, or put {0} on the left side."


class LatexParser(LatexDerivatives):
    """Reads expressions."""

    def __init__(self, text: str, functions: frozenset[str], unknown: frozenset[str] = frozenset()):
        super().__init__(text, functions, unknown)
        self.over_both: list[tuple[Node, Node, Restriction]] = []  # sums over both indices of a relation, and of what
        self.of_one_size: list[tuple[str, str]] = []  # pairs of indices that are compared below sums

    def command(self) -> Node | None:
        token = self.token
        own = self.own_function()
        if own:
            return self.call_of_own(own)
        rule = COMMANDS.get(token)
        if rule is not None:
            return rule(self)
        if token in FONTS:
            return self.ones_in_font()
        name = self.function_name()
        return None if name is None else self.function(name)

    # Fractions and roots.

    def fraction(self) -> Node:
        first = self.at
        self.at += 1
        above, below = self.argument(r"\frac"), self.argument(r"\frac")
        for begin, end in (above, below):
            if begin == end:
                self.fail("The braces are empty.", begin - 1, end, r"Write \frac{a}{b}.")
        if self.is_partial(above[0], above[1]) and self.is_partial(below[0], below[1]):
            return self.derivative(first, above, below)
        parts = (1, self.expression(*above)), (-1, self.expression(*below))
        return syntax.ProductNode(self.starts[first], self.ends[self.at - 1], parts)

    def root(self) -> Node:
        first = self.at
        self.at += 1
        order, opening, close = 2, 0, 0
        if self.token == "[":
            close = self.partner(self.at)
            digits = "".join(self.tokens[self.at + 1 : close])
            if not digits or (digits.isdigit() and not int(digits)):
                self.fail("There is no such root.", self.at, close, r"Write \sqrt[3]{x}.")
            order = int(digits) if digits.isdigit() else 0
            opening = self.at + 1
            self.at = close + 1
        begin, end = self.argument(r"\sqrt")
        if begin == end:
            self.fail("The braces are empty.", begin - 1, end, r"Write \sqrt{x}.")
        body = self.expression(begin, end)
        start, stop = self.starts[first], self.ends[self.at - 1]
        if order < 4 and order > 1:
            return syntax.CallNode(start, stop, {2: "sqrt", 3: "cbrt"}[order], (body,), None, None)
        below = syntax.Number(start, stop, order) if order else self.expression(opening, close)
        exponent = syntax.ProductNode(start, stop, ((1, syntax.Number(start, stop, 1)), (-1, below)))
        return syntax.Power(start, stop, body, exponent)

    # Sums.

    def summation(self) -> Node:
        """``\\sum_i``, with all that follows in its term."""
        first, name = self.at, self.token[1:]
        self.at += 1
        axes: tuple[Index, ...] = ()
        restrictions: list[Restriction] = []
        while self.token in ("_", "^"):
            below = self.token == "_"
            self.at += 1
            begin, end = self.argument(self.tokens[self.at - 1])
            if below:
                axes = self.axes_under_sum(begin, end, "\\" + name, restrictions)
        if first in self.bounds.relations:
            restrictions.append(self.bounds.relations[first])
        if not axes:
            self.fail(f"Nothing stands below \\{name}.", first, first, rf"Write \{name}_i, with the index.")
        names = [index.terms[0][1] for index in axes]
        if len(set(names)) < len(names):
            self.fail("An index stands twice below the sign.", first, self.at - 1, "Write each once.")
        self.bound += names
        self.deepen()
        begins = self.at
        plain = body = self.term()
        self.depth -= 1
        del self.bound[len(self.bound) - len(names) :]
        if name == "prod":
            self.check_extent(body, names, begins)
        for restriction in restrictions:
            self.of_one_size.append((restriction.left, restriction.right))
            body = restricted(body, name, restriction, self.count)
        lacking = tuple([index for index in axes if index.terms[0][1] not in self.count.of(body)])
        end = self.ends[self.at - 1]
        if lacking and name == "sum":
            body = syntax.ProductNode(
                body.start, end, ((1, syntax.Ones(self.starts[first], body.start, lacking)), (1, body))
            )
        made = syntax.CallNode(self.starts[first], end, name, (body,), axes, None)
        self.over_both += [(made, plain, r) for r in restrictions if {r.left, r.right} <= set(names)]
        return made

    def check_extent(self, body: Node, names: list[str], begins: int) -> None:
        """``\\prod_i x_i y``, of which it is not seen whether ``y`` is taken once, or once for each ``i``."""
        if not isinstance(body, syntax.ProductNode) or self.partner_of(begins) == self.at - 1:
            return
        last = body.factors[-1][1]
        if not set(names) & self.count.of(last).keys():
            message = r"It is not seen how far \prod goes: what comes last has not its index."
            hint = r"Write \prod_i (x_i y), or \left(\prod_i x_i\right) y."
            raise NotationError(message, self.text, last.start, last.end, hint)

    def partner_of(self, at: int) -> int:
        """Where the bracket at a token is closed; -1 where there is none."""
        return self.partner(at) if self.tokens[at] in PARTNERS else -1

    def axes_under_sum(self, begin: int, end: int, what: str, found: list[Restriction]) -> tuple[Index, ...]:
        chain = ordered(self.tokens[begin:end])
        if chain:
            found.append(Restriction(chain[0], chain[2], chain[1], (begin, end - 1)))
            return self.axes(begin + 2, begin + 3, what) + self.axes(begin + 4, begin + 5, what)
        for at in range(begin, end):
            token = self.tokens[at]
            if token in RELATIONS and end == begin + 3:
                return self.related(begin, RELATIONS[token], what, found)
            if token in RELATIONS or token in (r"\in", r"\colon", ":"):
                self.fail(f"The sign {token!r} below a sum is not read.", begin, end - 1, UNEQUAL)
            if token == "=":
                return self.axes(begin, at, what)
        return self.axes(begin, end, what)

    def related(self, begin: int, sign: str, what: str, found: list[Restriction]) -> tuple[Index, ...]:
        """``i \\ne j``: the sum is over those of the two that are bound nowhere around it."""
        left, right = self.axes(begin, begin + 1, what)[0], self.axes(begin + 2, begin + 3, what)[0]
        names = [index.terms[0][1] for index in (left, right)]
        own = [index for index, name in zip((left, right), names, strict=True) if name not in self.bound]
        if sign == "==" or names[0] == names[1] or not own:
            self.fail("This relation below a sum is not read.", begin, begin + 2, UNEQUAL)
        found.append(Restriction(names[0], sign, names[1], (begin, begin + 2)))
        return tuple(own)

    def check_sums_over_both(self, sides: list[Node], named: bool) -> None:
        """Where ``\\sum_{i \\ne j}`` sums over both, what stands around it in its term has neither of them.

        Without a left side, one that stands once in what is summed would be free by itself.
        """
        wanted = {id(made) for made, _, _ in self.over_both}
        around: dict[int, frozenset[str]] = {}
        for side in sides if wanted else ():
            self.surround(side, wanted, frozenset(), around)
        for made, body, restriction in self.over_both:
            open_in = self.count.of(body)
            names = {restriction.left, restriction.right}
            if not named and any(len(open_in.get(name, ())) == 1 for name in names):
                self.fail("This sum may be over one index, or over both.", *restriction.place, OPEN)
            outside = names & around.get(id(made), frozenset())
            if outside:
                name = min(outside)
                message = f"Index {name!r} stands outside of this sum too, which then is not over it."
                self.fail(message, *restriction.place, OUTSIDE.format(name))
        self.over_both = []

    def surround(self, node: Node, wanted: set[int], outer: frozenset[str], found: dict[int, frozenset[str]]) -> None:
        """For the nodes that are wanted the indices of the factors beside them, and beside all that is around them."""
        if id(node) in wanted:
            found[id(node)] = outer
        parts = syntax.children(node)
        for at, part in enumerate(parts):
            beside = parts[:at] + parts[at + 1 :] if isinstance(node, syntax.ProductNode) else []
            self.surround(part, wanted, outer.union(*[self.count.of(b) for b in beside]), found)

    # Symbols.

    def pi(self) -> Node:
        r"""The number; with something below a name, ``\pi_k``."""
        first = self.at
        self.at += 1
        if self.scripted(self.at):
            return self.named(letter(self.tokens[first]) or "pi", first)
        return syntax.Pi(self.starts[first], self.ends[first])

    def delta(self) -> Node:
        r"""``\delta_{ij}``; with less than two indices, or with a word below, a name."""
        first = self.at
        self.at += 1
        found = self.scripts("delta", first)
        start, end = self.starts[first], self.ends[self.at - 1]
        halves = [[i for i in found.indices if i.height == height] for height in ("up", "down")]
        if 2 < len(found.indices) <= 2 * LARGEST_DELTA and len(halves[0]) == len(halves[1]):
            self.found += found.indices
            return generalised_delta(start, end, *halves)
        if len(found.indices) < 2 or found.suffix:
            self.at = first + 1
            return self.named("delta", first)
        if len(found.indices) != 2 or found.turned or found.inverse:
            message = f"The delta has two indices, and here it has {len(found.indices)}."
            hint = r"Write \delta_{ij} or \delta^i_j; for a name, \Delta."
            self.fail(message, first, self.at - 1, hint)
        self.found += found.indices
        node = syntax.Delta(start, end, tuple(found.indices))
        return node if found.power is None else syntax.Power(start, end, node, found.power)

    def levi_civita(self) -> Node | None:
        r"""``\varepsilon_{ijk}``, unless the text defines the name; with less than two indices it is one.

        So it is with a trace, ``\varepsilon_{kk}``, which of the symbol would be zero.
        """
        first, name = self.at, letter(self.token)
        if name in self.letters.defined or name in self.letters.traced or not self.scripted(self.at + 1):
            return None
        self.at += 1
        found = self.scripts(name, first)
        if len(found.indices) < 2 or found.suffix or found.turned or found.inverse:
            self.at = first
            return None
        self.found += found.indices
        node = syntax.Epsilon(self.starts[first], self.ends[self.at - 1], tuple(found.indices))
        return node if found.power is None else syntax.Power(node.start, node.end, node, found.power)

    def ones_in_font(self) -> Node | None:
        r"""``\mathbf{1}_i`` and indicators ``\mathbf{1}[x > 0]``."""
        first, here = self.at, self.at
        self.at += 1
        begin, end = self.argument(self.tokens[first])
        digit = "".join(self.tokens[begin:end])
        if self.tokens[first] == r"\mathbb" and digit == "I" and self.token in ("[", "(", r"\{", "_"):
            digit = "1"
        if digit not in ("0", "1"):
            self.at = here
            return None
        if digit == "1" and self.token in ("[", "(", r"\{"):
            close = self.partner(self.at)
            node = self.index_relation(self.at, close)
            if node is None:
                self.at += 1
                node = self.inside(self.tokens[close], close, equals=True)
            self.at = close + 1
            return self.condition(node, first)
        if digit == "1" and self.token == "_" and self._relation_below():
            self.at += 1
            begin, end = self.argument("_")
            here, self.at = self.at, begin
            self.closers.append("}")
            node = self.relation(equals=True)
            self.closers.pop()
            if self.at != end:
                raise self.unexpected()
            self.at = here
            return self.condition(node, first)
        return self.constant_tensor(digit, first)

    def condition(self, node: Node, first: int) -> Node:
        if not isinstance(node, (syntax.Compare, syntax.Delta, syntax.SumNode)):
            self.fail("What is 1 where it holds is a comparison.", first, self.at - 1, r"Write \mathbf{1}[x_i > 0].")
        return node

    def _relation_below(self) -> bool:
        at = self.at + 1
        close = self._close(at) if self.tokens[at] == "{" else at
        return any(t in RELATIONS or t == "=" for t in self.tokens[at:close])

    # Cases.

    def cases(self) -> Node:
        r"""``\begin{cases} a & x > 0 \\ b & \text{otherwise} \end{cases}`` as ``where``."""
        first = self.at
        self.at += 1
        rows: list[tuple[Node, Node | None]] = []
        while self.token != r"\end{cases}":
            self.closers.append("&")
            value = self.relation()
            self.closers.pop()
            while self.token in (",", "&", "\\text if", "\\text for", "\\text when"):
                self.at += 1
            rows.append((value, self.case_condition(first)))
            if self.token == ";" or self.token not in ("\\\\", r"\end{cases}"):
                raise self.unexpected()
            self.take("\\\\")
        self.at += 1
        return self.chosen(rows, first)

    def case_condition(self, first: int) -> Node | None:
        if self.token.startswith("\\text ") or self.token in ("\\\\", r"\end{cases}"):
            said = self.token.partition(" ")[2].strip(" ,.")
            if said in ("otherwise", "else"):
                self.at += 1
                return None
            self.fail("A case has a condition.", first, self.at, r"Write & x_i > 0, or & \text{otherwise}.")
        node = self.relation(equals=True)
        if not isinstance(node, syntax.Compare):
            self.fail("A case has a condition.", first, self.at - 1, r"Write & x_i > 0, or & \text{otherwise}.")
        return node

    def chosen(self, rows: list[tuple[Node, Node | None]], first: int) -> Node:
        start, end = self.starts[first], self.ends[self.at - 1]
        (value, last), *before = rows[::-1]
        if not before or any(condition is None for _, condition in before):
            self.fail("The cases end with one for all others.", first, self.at - 1, r"Write \text{otherwise} there.")
        if last is not None and not opposite(last, before[0][1]):
            self.fail("The cases end with one for all others.", first, self.at - 1, r"Write \text{otherwise} there.")
        for other, condition in before:
            assert condition is not None
            value = syntax.CallNode(start, end, "where", (condition, other, value), None, None)
        return value


OPPOSITE = {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!=", "!=": "=="}


def opposite(one: Node, other: Node | None) -> bool:
    """Whether one comparison holds where the other does not."""
    if not isinstance(one, syntax.Compare) or not isinstance(other, syntax.Compare):
        return False
    return OPPOSITE[one.op] == other.op and same(one.left, other.left) and same(one.right, other.right)


def same(one: object, other: object) -> bool:
    """Whether two trees are the same but for their places."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if not is_dataclass(one) or not is_dataclass(other):
        return one == other
    names = [field.name for field in fields(one) if field.name not in ("start", "end")]
    return type(one) is type(other) and all(same(getattr(one, name), getattr(other, name)) for name in names)


COMMANDS: dict[str, Callable[..., Node | None]] = {
    **dict.fromkeys((r"\frac", r"\tfrac", r"\dfrac", r"\cfrac"), LatexParser.fraction),
    r"\sqrt": LatexParser.root,
    **dict.fromkeys((r"\sum", r"\prod"), LatexParser.summation),
    r"\partial": LatexParser.partial,
    **dict.fromkeys((r"\pi", "π", "\\mathrm pi", "\\operatorname pi"), LatexParser.pi),
    **dict.fromkeys((r"\delta", "\\mathrm delta", "\\operatorname delta"), LatexParser.delta),
    r"\varepsilon": LatexParser.levi_civita,
    r"\epsilon": LatexParser.levi_civita,
    "e": LatexCalls.exponential,
    "\\mathrm e": LatexCalls.exponential,
    "\\operatorname e": LatexCalls.exponential,
    r"\sigma": LatexCalls.sigmoid,
    r"\psi": LatexCalls.digamma,
    r"\Phi": LatexCalls.normal,
    **dict.fromkeys(UNITS, LatexCalls.unit),
    **dict.fromkeys((r"\overline", r"\bar"), LatexCalls.overlined),
    r"\lfloor": LatexCalls.rounded,
    r"\lceil": LatexCalls.rounded,
    r"\begin{cases}": LatexParser.cases,
}
