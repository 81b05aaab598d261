"""From a core expression back to the tree of a text, with index names chosen and everything in a pleasant order."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from ricci.budget import spend
from ricci.expr import (
    HALF,
    OPS,
    POWER,
    Constant,
    Dim,
    Elementwise,
    Expr,
    Function,
    Number,
    Product,
    Size,
    Structure,
    Sum,
    affine,
    conj,
    dims,
    numeric,
    product,
)
from ricci.expr.alternating import is_levi_civita
from ricci.expr.build.conjugates import MOST_COUNTED, imaginary
from ricci.expr.build.product import restrict
from ricci.expr.nodes import make
from ricci.expr.structures import is_delta, natural
from ricci.functions.axes import unmerged
from ricci.functions.table import IN_TEXT
from ricci.loops.bodies import is_loop
from ricci.notation import syntax
from ricci.notation.context import Facts
from ricci.notation.occurrences import free_indices, names_in
from ricci.notation.text_scope import is_positive
from ricci.show.index_names import Namer
from ricci.show.lines import arranged_inner, parts_with_lines
from ricci.show.page import Page, together
from ricci.show.phrases import (
    Names,
    coefficient_of,
    conjugate_of,
    delta_of,
    indices_of,
    is_triangle,
    number_of,
    product_of,
    sum_of,
    tensor_of,
    unused,
)
from ricci.show.raising import raised
from ricci.show.recurrence_writer import RecurrenceWriter, loop_on_top, with_plain_steps
from ricci.show.size_line import SizeLineWriter
from ricci.show.standing import Standing

_FLIPPED = {"<": ">", "<=": ">=", "==": "==", "!=": "!="}  # comparisons, with their operands exchanged


def program(root: Expr, names: Names, facts: Facts, name: str | None, heights: Names = ()) -> syntax.Statements:
    """The statements that define ``root``, the last one being itself."""
    return SyntaxWriter(root, names, facts, heights).program(name)


class SyntaxWriter(RecurrenceWriter):
    """Writes one expression, alone or as one of a ``page``."""

    def __init__(self, root: Expr, names: Names, facts: Facts, heights: Names, page: Page | None = None):
        self.page = page or Page()
        super().__init__(root, facts, Namer(facts, [root], self.page.linked), names)
        self.root = root
        self.namer.claims = self.page.claims
        self.namer.named |= self.page.named
        self.heights = heights
        self.open: set[Expr] = set()  # definitions that are written out
        self.standing = Standing(facts.heights) if any(heights) or facts.heights else None
        self.top = None if self.page.sided else loop_on_top(root)
        if self.top is not None:  # its first index counts the steps, of which there is one less than states
            steps = names[natural(root).index(0)]
            self.namer.claim(steps, self.top.op.loop.length)
        self.namer.claim_free(root, names)
        self.used: set[str | None] = set()

    def program(self, name: str | None) -> syntax.Statements:
        statements: list[syntax.Statement] = []
        self.namer.named.add(name)
        own = {arranged_inner(e): (given, natural(e)) for given, e in self.facts.definitions.items() if _is_full(e)}
        self.used = used = {*self.facts.inputs, *self.facts.definitions, *self.page.lines, name}
        parts = parts_with_lines(self.root, own.keys() - self.open, self.inside())
        if self.top is None and loop_on_top(self.root) is not None:
            parts.append(arranged_inner(self.root))
        for part in parts:
            if part in self.page.loops:
                lines, order = self.page.loops[part]
                statements += [line for line in lines if line not in statements]
                self.name_part(part, lines[-1], order)
                continue
            before = self.before(part)
            label, order = own.get(part, (before and before.name, ()))
            if label is None or label == name or (is_loop(part) and part is arranged_inner(self.root)):
                label, order = self.unused("s" if is_loop(part) else "t"), ()
            used.add(label)
            if is_loop(part):
                lines = self.recurrence(part, label, order)
                self.page.loops[part] = lines, order
                statements += lines
            else:
                statements.append(before or self.written(part, label, order))
            self.name_part(part, statements[-1], order)
        if self.top is not None:
            name = name or self.unused("h")
            names = tuple([self.names[axis] for axis in natural(self.root)])
            statements += self.recurrence(self.top, name, natural(self.root), names)
            return self.finished(statements)
        body = self.node(self.root, self.names, set(self.names))
        last = self.stood(syntax.Statement(0, 0, name, indices_of(self.names) or None, body), self.heights)
        body = last.body
        if name is None and free_indices(body) != self.names:
            used |= {n for s in statements for n in names_in(s.body)} | names_in(body)
            name = unused(used)
        statements.append(syntax.Statement(0, 0, name, last.indices, body))
        return self.finished(statements)

    def finished(self, statements: list[syntax.Statement]) -> syntax.Statements:
        """The statements with what must be said of sizes."""
        roots = [*self.inside(), self.root]
        writer = SizeLineWriter(roots, self.names, self.facts, self.namer, lambda size: self.size(size, True))
        parts = [statements[:-1]] if self.page.sided and len(statements) > 1 else []  # other texts speak of them too
        for lines in (statements, *parts):
            self.page.sizes = together(self.page.sizes, writer.line(lines, self.page))
        with_plain_steps(statements)
        return syntax.Statements("", tuple(statements), sizes=self.page.sizes)

    def unused(self, letter: str) -> str:
        return next(t for t in map((letter + "{}").format, count(1)) if t not in self.used)

    def new_line(self, part: Expr) -> syntax.Statement:
        label = self.unused("t")
        self.used.add(label)
        line = self.written(part, label, ())
        self.name_part(part, line, ())
        return line

    def new_line_at(self, part: Expr, t: str, length: Size) -> syntax.Statement:
        """A line inside a step, where the index of the steps has its name."""
        label = self.unused("t")
        self.used.add(label)
        same = [a for a, n in enumerate(part.shape) if self.namer.classes.find(n) == self.namer.classes.find(length)]
        taken = {t}
        names = tuple([t if [a] == same[:1] else self.fresh(part, a, taken) for a in range(len(part.shape))])
        line = syntax.Statement(0, 0, label, indices_of(names), self.node(part, names, set(names)))
        self.name_part(part, line, ())
        return line

    def before(self, part: Expr) -> syntax.Statement | None:
        """The line of a part that was written before."""
        return self.page.of_part.get(part)

    def written(self, part: Expr, label: str, order: tuple[int, ...]) -> syntax.Statement:
        """The line of a part, whose axes are in the ``order`` of the user's definition if it is one."""
        taken: set[str] = set()
        names = tuple([self.fresh(part, axis, taken) for axis in range(len(part.shape))])
        body = self.node(part, names, set(names))
        left = (
            tuple([indices_of(names)[order.index(axis)] for axis in range(len(order))]) if order else indices_of(names)
        )
        return self.stood(syntax.Statement(0, 0, label, left or None, body))

    def name_part(self, part: Expr, line: syntax.Statement, order: tuple[int, ...]) -> None:
        """From here on a part is spoken of by the name that its line gives it."""
        assert line.name is not None
        self.line[part] = line.name
        self.axes[part] = tuple([order.index(axis) for axis in range(len(order))])
        if order:
            self.first[part] = ((self.place.get(line.name, len(self.place)), line.name),)
        if self.standing is not None and line.indices and line.indices[0].height:
            self.standing.given[line.name] = tuple([index.height for index in line.indices])
        self.page.of_part[part] = line
        self.page.lines[line.name] = line

    def inside(self) -> list[Expr]:
        """What is written out where an input stands for it."""
        return []

    def stood(self, statement: syntax.Statement, heights: Names = ()) -> syntax.Statement:
        """A statement with its indices above and below, where the text has such."""
        if self.standing is None:
            return statement
        stood = self.standing.statement(statement, heights or self.facts.heights.get(statement.name or "", ()))
        for new, name in self.standing.sized.items():
            if name in self.namer.claims:
                self.namer.claims.setdefault(new, self.namer.claims[name])
        if not self.facts.moved:
            return stood
        given = {name: heights for name, heights in self.facts.heights.items() if name in self.facts.inputs}
        return replace(stood, body=raised(stood.body, self.facts.moved, given, self.facts.symmetries))

    def fresh(self, e: Expr, axis: int, taken: set[str]) -> str:
        name = self.namer.fresh(e.shape[axis], self.namer.hints_of(e, axis), taken)
        taken.add(name)
        return name

    # ``names`` are those of the axes of ``e``; ``taken`` grows by the dummies that are used.

    def node(self, e: Expr, names: Names, taken: set[str]) -> syntax.Node:
        spend()
        if self.by_name(e):
            return self.tensor(e, indices_of(names), taken)
        if e.complex and self.is_of_conjugates(e):
            return conjugate_of(self.node(conj(e), names, taken))
        if isinstance(e, Constant):
            return self.constant(e, names, taken)
        if isinstance(e, Structure):
            return self.structure(e, names, taken)
        if isinstance(e, Product):
            return sum_of([self.product(1, e, names, taken)])
        if isinstance(e, Sum):
            return self.sum(e, names, taken)
        if isinstance(e, Elementwise):
            return self.elementwise(e, names, taken)
        assert isinstance(e, Function)
        return self.function(_in_words(e), names, taken)

    def is_of_conjugates(self, e: Expr) -> bool:
        """Whether a function or a sum is one of conjugates alone, and of several: its conjugate is shorter to write."""
        if isinstance(e, (Constant, Product)) or (isinstance(e, Sum) and len(e.args) == 1):
            return False
        seen, waiting, found = {e}, [e], 0
        while waiting and len(seen) < MOST_COUNTED:
            node = waiting.pop()
            if self.is_conjugate(node):
                found += 1
            elif self.by_name(node):
                return False
            else:
                new = [a for a in node.args if a.complex and a not in seen]
                waiting += new
                seen.update(new)
        return not waiting and (found > 1 or (found > 0 and isinstance(e, Function)))

    def constant(self, e: Constant, names: Names, taken: set[str]) -> syntax.Node:
        if isinstance(e.value, Dim):
            return self.size(e.value)
        if e.value == "pi":
            return syntax.Pi(0, 0)
        if imaginary(e):
            return syntax.Imaginary(0, 0)
        if is_levi_civita(e):
            return syntax.Epsilon(0, 0, indices_of(names))
        value = numeric(e)
        return number_of(value) if value is not None else tensor_of(f"array_{e.value.digest[:6]}", names)

    def size(self, size: Size, computed: bool = False) -> syntax.Node:
        """A size as an expression in ``|i|``; one that is ``computed`` from others shows how."""
        if isinstance(size, int):
            return number_of(size)
        if not computed and (len(size.terms) > 1 or any(len(atom) == 3 for atom in size.terms[0][0])):  # type: ignore
            return syntax.Size(0, 0, self.namer.of_size(size))
        terms = []
        for monomial, coef in size.terms:
            factors = [self.atom(atom) for atom in monomial]
            if abs(coef) != 1 or not factors:
                factors.insert(0, number_of(abs(coef)))
            terms.append((1 if coef > 0 else -1, product_of([(1, f) for f in factors])))
        return sum_of(terms)

    def atom(self, atom: tuple) -> syntax.Node:
        if len(atom) == 3:
            a, b = self.size(atom[1], True), self.size(atom[2], True)
            if atom[0] == "min":
                return syntax.CallNode(0, 0, "minimum", (a, b), None, None)
            return syntax.CallNode(0, 0, "floor", (product_of([(1, a), (-1, b)]),), None, None)
        return syntax.Size(0, 0, self.namer.of_size(dims.symbol(*atom)))

    def structure(self, e: Structure, names: Names, taken: set[str]) -> syntax.Node:
        kind = e.relation[0]
        if kind in ("one", "zero"):
            return (syntax.Ones if kind == "one" else syntax.Zeros)(0, 0, indices_of(names))
        if kind == "at":
            index = syntax.Index(0, 0, (), tensor=self.gathered(e.args[0], names[:-1]))
            return syntax.Delta(0, 0, (index, *indices_of(names[-1:])))
        _, coefs, const = e.relation
        if kind == ">=":
            if is_triangle(e):
                row, column = (names[0], names[1]) if coefs[0] == 1 else (names[1], names[0])
                return syntax.CallNode(0, 0, "cumsum", (delta_of(row, column),), indices_of((row,)), None)
            return self.triangle(e, names, taken)
        if is_delta(e):
            pair = sorted(names, key=lambda n: self.names.index(n) if n in self.names else len(self.names))
            return syntax.Delta(0, 0, indices_of(tuple(pair)))
        sides = [
            [(c, n) for c, n in zip(signed, names, strict=True) if is_positive(c)]
            for signed in (coefs, [-1 * c for c in coefs])
        ]
        sides = [(sides[0], -1 * const), (sides[1], const)]  # the constant moves to the other side
        plain = [len(terms) == 1 and terms[0][0] == 1 for terms, _ in sides]
        (left, shift), (right, _) = sides if plain[0] or not plain[1] else sides[::-1]
        pair = self.affine(left, 0, taken), self.affine(right, shift, taken)
        pair[1].plain &= not pair[0].plain  # two names alone would have one size
        return syntax.Delta(0, 0, pair)

    def triangle(self, e: Structure, names: Names, taken: set[str]) -> syntax.Node:
        """``[i >= j+1]``, everything with the sign plus."""
        _, coefs, const = e.relation
        above = [(c, n) for c, n in zip(coefs, names, strict=True) if is_positive(c)]
        below = [(-1 * c, n) for c, n in zip(coefs, names, strict=True) if not is_positive(c)]
        left, right = (const, 0) if is_positive(const) else (0, -1 * const)
        pair = self.affine(above, left, taken), self.affine(below, right, taken)
        return syntax.Delta(0, 0, pair, ">=")

    def sum(self, e: Sum, names: Names, taken: set[str]) -> syntax.Node:
        after: set[str] = set()
        terms = []
        for coef, arg in sorted(zip(e.coefs, e.args, strict=True), key=lambda term: self.term_order(*term)):
            inside = set(taken)
            spread = arg.shape and not natural(arg) and len(e.args) > 1
            inner, own = (restrict(arg, ()), ()) if spread else (arg, names)
            terms.append(self.term(coef, inner, own, inside))
            after |= inside
        taken |= after
        if len(terms) == 1:
            sign, node = terms[0]
            return node if sign > 0 else syntax.Neg(0, 0, node)
        return sum_of(terms)

    def term(self, coef: Number, e: Expr, names: Names, taken: set[str]) -> tuple[int, syntax.Node]:
        """A sign and the rest of ``coef * e``."""
        if isinstance(e, Product) and e not in self.line:
            return self.product(coef, e, names, taken)
        sign, size = (-1, -coef) if coef < 0 else (1, coef)
        value = numeric(e)
        if value is not None:
            return sign, number_of(size * value)
        if imaginary(e):
            return sign, product_of(coefficient_of(size, True))
        return sign, product_of([*coefficient_of(size), self.factor(e, indices_of(names), taken)])

    def term_order(self, coef: Number, e: Expr) -> tuple:
        if numeric(e) is not None or (not natural(e) and not self.first_use(e)):
            return (0 if coef == 1 else 2,)
        return (1, self.first_use(e), coef < 0, e.key)

    # Functions.

    def elementwise(self, e: Elementwise, names: Names, taken: set[str]) -> syntax.Node:
        if e.op is POWER:
            return self.power(e, names, taken)
        if e.op.name == "abs2":
            return self.power_of_size(e, 2, names, taken)
        operands = sorted(e.args, key=lambda a: self.first_use(a) or ((10**9,),)) if e.op.symmetric else e.args
        if e.op.own:  # its arguments are aligned by name
            given = [(restrict(a, sorted(natural(a))), tuple([names[k] for k in sorted(natural(a))])) for a in operands]
        else:
            given = [(a, names if a.shape else ()) for a in operands]
        args = [self.node(a, own, taken) for a, own in given]
        if e.op.sign in _FLIPPED:
            straight, flipped = e.op.sign, _FLIPPED[e.op.sign]
            if isinstance(e.args[0], Constant) and not isinstance(e.args[1], Constant):
                return syntax.Compare(0, 0, flipped, args[1], args[0])
            return syntax.Compare(0, 0, straight, args[0], args[1])
        unknown = e.op.unknown
        if unknown is not None:
            return syntax.CallNode(0, 0, unknown.name, tuple(args), None, None, (), unknown.places)
        return syntax.CallNode(0, 0, e.op.name, tuple(args), None, None)

    def power(self, e: Elementwise, names: Names, taken: set[str]) -> syntax.Node:
        base, exponent = e.args
        value = numeric(exponent)
        if value is not None and value < 0:
            below = self.denominator(base if value == -1 else base**-value, names, taken)
            return product_of([(1, number_of(1)), (-1, below)])
        if value is not None and isinstance(base, Elementwise) and base.op.name == "abs2" and not self.by_name(base):
            return self.power_of_size(base, 2 * value, names if base.shape else (), taken)
        inner = self.node(base, names if base.shape else (), taken)
        if value == HALF:
            return syntax.CallNode(0, 0, "sqrt", (inner,), None, None)
        return syntax.Power(0, 0, inner, self.node(exponent, names if exponent.shape else (), taken))

    def power_of_size(self, e: Expr, exponent: Number, names: Names, taken: set[str]) -> syntax.Node:
        """``abs(z)**2``, of the square of an absolute value."""
        size = syntax.CallNode(0, 0, "abs", (self.node(e.args[0], names, taken),), None, None)
        return syntax.Power(0, 0, size, number_of(exponent))

    def function(self, e: Function, names: Names, taken: set[str]) -> syntax.Node:
        node = self.called(e, names, taken)
        node.params = () if e.op.columns or e.op.own else e.params
        return node

    def own_function(self, e: Function, names: Names, taken: set[str]) -> syntax.CallNode:
        """A function of the user's of whole arrays: all axes of its operands, then those of its result."""
        by_size: dict[Size | str, list[str]] = {}  # what may be one axis: of one size, or of one name of the user's
        args: list[syntax.Node] = []
        axes: list[str] = []
        for a in e.args:
            own: list[str] = []
            for axis, size in enumerate(a.shape):
                keys = [self.namer.classes.find(size), *self.namer.hints_of(a, axis)[:1]]
                known = [name for key in keys for name in by_size.get(key, ())]
                name = next((n for n in known if n not in own and not _before(own, n, axes)), None)
                if name is None:
                    name = self.fresh(a, axis, taken)
                    axes.append(name)
                for key in keys:
                    by_size.setdefault(key, []).append(name)
                own.append(name)
            args.append(self.node(a, tuple(own), taken))
        result, over = indices_of(names) if names else None, indices_of(tuple(axes)) if axes else None
        name, places = (e.op.name, ()) if e.op.derived is None else (e.op.derived.name, e.op.derived.places)
        return syntax.CallNode(0, 0, name, tuple(args), over, result, (), places)

    def called(self, e: Function, names: Names, taken: set[str]) -> syntax.CallNode:
        if e.op.own and e.op.rectangular and e.order >= 0 and e.op.axes_of(e.params)[0] == e.args[0].order:
            return self.own_function(e, names, taken)
        works_on = e.op.axes_of(e.params)
        lead = len(e.args[0].shape) - works_on[0]
        surface = IN_TEXT.get(e.op.name)
        result = surface.gives if surface is not None and surface.kind == "matrix" else ""
        first, rest = e.args[0], names[lead:]
        several = unmerged(first) if works_on == (1,) and not rest else None
        if several is not None:
            inner, number = several
            axes = tuple([self.fresh(inner, axis, taken) for axis in range(lead, lead + number)])
            arg = self.node(inner, (*names[:lead], *axes), taken)
            return syntax.CallNode(0, 0, e.op.name, (arg,), indices_of(axes), None)
        bare = "matrix" if e.op.rectangular else "keep" if len(rest) == works_on[0] else "reduce"
        kind = surface.kind if surface is not None else bare
        if kind == "matrix" and not lead and all(self.by_name(a) and not self.axes.get(a) for a in e.args):
            args = tuple([self.node(a, (), taken) for a in e.args])
            short = len(first.shape) == 2 and not (e.op.columns and e.params[0])
            if short:
                return syntax.CallNode(0, 0, e.op.name, args, None, indices_of(rest) if rest else None)
        if kind == "matrix" and e.op.rectangular:  # its axes have other sizes than those of the operand
            axes = tuple([self.fresh(first, axis, taken) for axis in range(lead, len(first.shape))])
            arg = self.node(first, (*names[:lead], *axes), taken)
            return syntax.CallNode(0, 0, e.op.name, (arg,), indices_of(axes), indices_of(rest))
        if surface is not None and surface.gives == "along":
            axes = rest[: works_on[0]]
        elif kind == "keep" or result == "matrix":
            axes = rest
        elif result == "solve":
            axes = (self.fresh(first, lead, taken), rest[0])
        else:
            head = rest[:1] if result == "vector" else ()
            axes = (*head, *[self.fresh(first, a, taken) for a in range(lead + len(head), len(first.shape))])
        args = [self.node(first, (*names[:lead], *axes), taken)]
        if result == "solve":
            args.append(self.node(e.args[1], (*names[:lead], axes[0], *rest[1:]), taken))
        elif surface is not None and surface.gives == "along":
            args.append(self.node(e.args[1], names, taken))
        return syntax.CallNode(0, 0, e.op.name, tuple(args), indices_of(axes), None)


def _in_words(e: Function) -> Function:
    """``solve`` with a triangle of the matrix, where the core says so in one."""
    if e.op.name != "triangular_solve":
        return e
    columns, lower, transposed = e.params
    matrix, right = e.args
    batch = tuple(range(len(matrix.shape) - 2))
    part = affine(">=", (1, -1) if lower else (-1, 1), 0, matrix.shape[-2:])
    own = ("j", "i") if transposed else ("i", "j")
    whole = product([(matrix, (*batch, "i", "j")), (part, ("i", "j"))], (*batch, *own))
    return make(Function, (whole, right), e.shape, OPS["solve"], (columns,))


def _before(own: list[str], name: str, axes: list[str]) -> bool:
    """Whether a name stands in a list of axes before one that an operand has already: it has its axes in that order."""
    return any(axes.index(name) < axes.index(other) for other in own)


def _is_full(e: Expr) -> bool:
    """Whether a definition depends on all its axes, so that its name can stand for what is left of it."""
    return len(natural(e)) == len(e.shape)
