"""From the tree of a text to core expressions: the summation rule and the checks of index notation.

Every piece is built knowing which indices are *free* in it. In a product, an index that is not free and occurs in two
or more factors, or twice in one tensor, is summed over that product and free inside its factors; one that occurs in a
single factor that is not a tensor is left to that factor. What cannot be summed that way is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ricci.errors import NotationError, nearest
from ricci.expr import (
    Expr,
    add,
    affine,
    broadcast,
    constant,
    delta,
    one,
    one_hot,
    power,
    product,
    reciprocal,
    scale,
    substitute,
    variable,
    window,
    zero,
)
from ricci.functions.table import FUNCTIONS, Surface
from ricci.notation import syntax
from ricci.notation.context import Context
from ricci.notation.occurrences import LEAVES, Occurrences, Open, used_up
from ricci.notation.parser import parse_program
from ricci.notation.scope import Definition, Read, Scope

Free = frozenset[str]
Factor = tuple[Expr, tuple]
_COMPARE = {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal", "==": "equal", "!=": "not_equal"}
FUNCTION_NAMES = frozenset(FUNCTIONS)


@dataclass(slots=True)
class Named:
    """An expression and the names of its axes."""

    expr: Expr
    names: tuple[str, ...]

    def arranged(self, names: tuple[str, ...], sizes: Mapping[str, object] | None = None) -> Expr:
        """The expression with its axes in the order of ``names``; constant along those it does not have."""
        return self.expr if names == self.names else product([(self.expr, self.names)], names, sizes)  # type: ignore[arg-type]


@dataclass(slots=True)
class Result:
    """A statement of a program, resolved."""

    name: str | None
    value: Named
    heights: tuple[str, ...]
    context: Context


def resolve(
    text: str, sizes: Mapping[str, int], derive: Callable[[Expr, Expr], Expr], independent: str | None = None
) -> list[Result]:
    """All statements of ``text``, in order.

    ``derive(y, x)`` is the derivative that ``D(y, x[i])`` stands for. The definition named ``independent`` is used as
    an input of that name wherever it occurs.
    """
    program = parse_program(text, FUNCTION_NAMES)
    scope = Scope(text, sizes)
    results = []
    for statement in program.statements:
        scope.collect(statement)
        if statement.name is not None:
            _define(scope, statement)
    _check_sizes(scope, sizes)
    context = Context(scope.facts)
    builder = Builder(scope, derive)
    for statement in program.statements:
        value, heights = builder.statement(statement)
        if statement.name is not None:
            expr = variable(statement.name, value.expr.shape) if statement.name == independent else value.expr
            scope.definitions[statement.name].expr = expr
            scope.facts.definitions[statement.name] = value.expr
        results.append(Result(statement.name, value, heights, context))
    scope.finish()
    return results


def _define(scope: Scope, statement: syntax.Statement) -> None:
    name = statement.name
    assert name is not None
    if name in scope.definitions or name in scope.facts.inputs:
        used = "defined" if name in scope.definitions else "used as an input"
        raise scope.fail(f"{name!r} is already {used} above.", statement, "Give this statement another name.")
    indices = statement.indices or ()
    names = tuple([index.terms[0][1] for index in indices])
    scope.definitions[name] = Definition(names, tuple([index.height for index in indices]))


def _check_sizes(scope: Scope, sizes: Mapping[str, int]) -> None:
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            raise NotationError(
                f"The size of index {name!r} must be a whole number that is not negative, not {size!r}."
            )
        if name not in scope.names:
            known = ", ".join(sorted(scope.names)) or "none"
            raise NotationError(f"There is no index {name!r} to have a size; the indices are {known}.", scope.text)


class Builder:
    """Builds the pieces of one program."""

    def __init__(self, scope: Scope, derive: Callable[[Expr, Expr], Expr]):
        self.scope = scope
        self.derive = derive
        self.done: list[syntax.Statement] = []
        self.fail = scope.fail
        self.open = Occurrences()
        self.fresh = 0
        self.order: dict[str, int] = {}
        self.uses_heights = False

    # Statements.

    def statement(self, node: syntax.Statement) -> tuple[Named, tuple[str, ...]]:
        self.done.append(node)
        heights = self._heights(node)
        written = [h for hs in (*self.open.of(node.body).values(), *heights.values()) for h in hs]
        self.uses_heights = any(written)
        if node.name is None:
            names = self._free_of(node.body)
        else:
            names = tuple([index.terms[0][1] for index in node.indices or ()])
        self.order = {name: position for position, name in enumerate(names)}
        value = self.sum(node.body, frozenset(names))
        if value.names and set(value.names) != set(names):
            raise self._missing(node.body, names, value.names)
        sizes = {name: self.scope.size(name, node.body) for name in names if name not in value.names}
        stand = {name: (heights.get(name) or [""])[0] for name in names}
        if self.uses_heights:
            self._check_heights(node, stand)
        return Named(value.arranged(names, sizes), names), tuple([stand[name] for name in names])

    def _heights(self, node: syntax.Statement) -> Open:
        left = {index.terms[0][1]: [index.height] for index in node.indices or ()}
        return {**self.open.of(node.body), **left} if left else self.open.of(node.body)

    def _check_heights(self, node: syntax.Statement, stand: dict[str, str]) -> None:
        for term in _terms(node.body):
            for name, heights in self.open.of(term).items():
                if name in stand and any(h != stand[name] for h in heights):
                    words = {"up": "above", "down": "below", "": "in brackets"}
                    message = f"Index {name!r} stands {words[stand[name]]} on the left and {words[heights[0]]} here."
                    raise self.fail(message, term, "A free index keeps its height on both sides.")

    def _free_of(self, body: syntax.Node) -> tuple[str, ...]:
        """Without a left side: the indices that occur exactly once in their term."""
        terms = _terms(body)
        found = [tuple([n for n, hs in self.open.of(term).items() if len(hs) == 1]) for term in terms]
        names = next((names for names in found if names), ())
        for term, other in zip(terms, found, strict=True):
            if other and set(other) != set(names):
                raise self._missing(term, names, other)
        return names

    def _missing(self, node: syntax.Node, wanted: tuple[str, ...], found: tuple[str, ...]) -> NotationError:
        lacking = [name for name in wanted if name not in found]
        extra = [name for name in found if name not in wanted]
        shown = lambda names: "[" + ",".join(names) + "]" if names else "none"  # noqa: E731
        message = f"This term has the free indices {shown(found)} where {shown(wanted)} are wanted."
        if lacking:
            hint = f"Multiply by the one-tensor to broadcast: 1[{','.join(lacking)}] * …"
        else:
            hint = f"Sum over it with sum[{','.join(extra)}](…), or put it on the left side."
        return self.fail(message, node, hint)

    # Sums, terms and factors. ``free`` are the indices that may stand open in the result.

    def sum(self, node: syntax.Node, free: Free) -> Named:
        if not isinstance(node, syntax.Sum):
            return self.term(node, free)
        parts = [(sign, term, self.term(term, free)) for sign, term in node.terms]
        names = next((part.names for _, _, part in parts if part.names), ())
        names = tuple(sorted(names, key=lambda name: self.order.get(name, len(self.order))))
        wanted = set(names)
        for _, _term, part in parts:
            if part.names and set(part.names) != wanted:
                longest = max((p.names for _, _, p in parts), key=len)
                short = min(
                    ((p.names, t) for _, t, p in parts if p.names and set(p.names) != set(longest)),
                    key=lambda x: len(x[0]),
                )
                raise self._missing(short[1], longest, short[0])
        return Named(add([(sign, part.arranged(names) if part.names else part.expr) for sign, _, part in parts]), names)

    def term(self, node: syntax.Node, free: Free) -> Named:
        """A product, or a single factor, which is a product of one."""
        if type(node) is syntax.Tensor and node.indices is None:
            return self.tensor(node)
        factors, names = self.factors(node, free)
        if len(factors) == 1 and factors[0][1] == names:
            return Named(factors[0][0], names)
        return Named(product(factors, names), names)

    def factors(self, node: syntax.Node, free: Free) -> tuple[list[Factor], tuple[str, ...]]:
        """The operands of a term with their labels, and the names of the indices that stay open."""
        parts = node.factors if isinstance(node, syntax.Product) else ((1, node),)
        summed = self._summed(parts, free)
        inside = free | summed.keys() if summed else free
        operands: list[Factor] = []
        names: dict[str, None] = {}
        for exponent, part in parts:
            while isinstance(part, syntax.Neg):
                operands.append((constant(-1), ()))
                part = part.body
            if isinstance(part, syntax.Product) and exponent == 1:
                nested, own = self.factors(part, inside)
                operands += nested
            else:
                value = self.factor(part, inside)
                operands.append((reciprocal(value.expr) if exponent < 0 else value.expr, value.names))
                own = value.names
            names.update(dict.fromkeys(own))
        if summed:
            self.fresh += 1
            label = {name: (name, self.fresh) for name in summed}
            operands = [(e, tuple([label.get(x, x) for x in labels])) for e, labels in operands]
        return operands, tuple([name for name in names if name not in summed])

    def _summed(self, parts: tuple[tuple[int, syntax.Node], ...], free: Free) -> Open:
        """The indices that this product sums over."""
        counted: Open = {}
        where: dict[str, syntax.Node] = {}
        summed: Open = {}
        for _, part in parts:
            while isinstance(part, syntax.Neg):
                part = part.body
            leaf = isinstance(part, LEAVES) or (isinstance(part, syntax.Call) and part.result is not None)
            for name, heights in self.open.of(part).items():
                if name in free:
                    continue
                if name in counted or (leaf and len(heights) > 1):
                    summed[name] = counted.get(name, []) + heights
                counted[name] = counted.get(name, []) + heights
                where[name] = part
        for name, part in where.items():
            leaf = isinstance(part, LEAVES) or (isinstance(part, syntax.Call) and part.name in _KEEPING)
            if name not in summed and leaf and (isinstance(part, LEAVES) or self._kept(part, name)):
                raise self._once(name, part)
        if self.uses_heights:
            for name, heights in summed.items():
                if sorted(heights) != ["down", "up"]:
                    raise self._height_clash(name, heights, where[name])
        return summed

    def _kept(self, node: syntax.Node, name: str) -> bool:
        return isinstance(node, syntax.Call) and any(name == n for index in node.axes or () for _, n in index.terms)

    def _once(self, name: str, node: syntax.Node) -> NotationError:
        message = f"Index {name!r} occurs once in its term and is not on the left side."
        hint = f"To sum over it, write sum[{name}](…) or multiply by 1[{name}]; to keep it, put it on the left side."
        return self.fail(message, node, hint)

    def _height_clash(self, name: str, heights: list[str], node: syntax.Node) -> NotationError:
        words = {"up": "above", "down": "below", "": "in brackets"}
        message = f"Index {name!r} is summed and stands {' and '.join(words[h] for h in heights)}."
        return self.fail(message, node, "A summed index stands exactly once above and once below.")

    def factor(self, node: syntax.Node, free: Free) -> Named:
        build = getattr(self, "_" + type(node).__name__.lower())
        return build(node, free)

    # Leaves.

    def _number(self, node: syntax.Number, _: Free) -> Named:
        return Named(constant(node.value), ())

    def _pi(self, _node: syntax.Pi, _: Free) -> Named:
        return Named(constant("pi"), ())

    def _size(self, node: syntax.Size, _: Free) -> Named:
        return Named(constant(self.scope.size(node.name, node)), ())

    def _ones(self, node: syntax.Ones, _: Free) -> Named:
        names = self._plain_names(node.indices, "the one-tensor")
        return Named(one(tuple([self.scope.size(name, node) for name in names])), names)

    def _zeros(self, node: syntax.Zeros, _: Free) -> Named:
        names = self._plain_names(node.indices, "the zero-tensor")
        return Named(zero(tuple([self.scope.size(name, node) for name in names])), names)

    def _plain_names(self, indices: syntax.Indices, what: str) -> tuple[str, ...]:
        for index in indices:
            if not index.plain:
                raise self.fail(f"The indices of {what} are names.", index, "Write 1[i], 0[i,j].")
        return tuple(dict.fromkeys([index.terms[0][1] for index in indices]))

    def _delta(self, node: syntax.Delta, _: Free) -> Named:
        a, b = node.indices
        if a.tensor is not None or b.tensor is not None:
            return self._delta_at(node, *((a, b) if a.tensor is not None else (b, a)))
        if a.plain and b.plain:
            i, j = a.terms[0][1], b.terms[0][1]
            size = self.scope.size(i, a)
            if i == j:
                return Named(one((size,)), (i,))
            other = self.scope.size(j, b)
            return Named(product([(delta(size), (0, 1)), (one((other,)), (1,))], (0, 1)), (i, j))
        coefs: dict[str, int] = {}
        const = a.const - b.const
        for sign, index in ((1, a), (-1, b)):
            for c, name in index.terms:
                coefs[name] = coefs.get(name, 0) + sign * c
            for c, name in index.sizes:
                const = const + sign * c * self.scope.size(name, index)
        shape = tuple([self.scope.size(name, node) for name in coefs])
        for c, name in zip(coefs.values(), coefs, strict=True):
            const = const + c * self.scope.start(name)
        return Named(affine("==", tuple(coefs.values()), const, shape), tuple(coefs))

    def _delta_at(self, node: syntax.Delta, gather: syntax.Index, other: syntax.Index) -> Named:
        """``delta[t[b], v]``: 1 where the integer tensor t is v."""
        if not other.plain or gather.tensor is None:
            raise self.fail("Beside a gather, the other index of delta is a name.", other)
        value, name = self.tensor(gather.tensor), other.terms[0][1]
        if name in value.names:
            raise self.fail(f"Index {name!r} stands on both sides of this delta.", node)
        return Named(one_hot(value.expr, self.scope.size(name, other)), (*value.names, name))

    def _tensor(self, node: syntax.Tensor, _: Free) -> Named:
        return self.tensor(node)

    def tensor(self, node: syntax.Tensor) -> Named:
        definition = self.scope.definitions.get(node.name)
        if definition is None:
            base = self.scope.input(node.name)
        elif definition.expr is None:
            raise self.fail(f"{node.name!r} is used before it is defined.", node, "Put its statement first.")
        else:
            base = definition.expr
        return self.indexed(base, node.indices or (), node.name)

    def indexed(self, base: Expr, indices: syntax.Indices, name: str) -> Named:
        """``base`` with its axes named, read at places, or gathered."""
        names = tuple([index.terms[0][1] for index in indices if index.plain])
        if len(names) == len(indices) == len(set(names)):
            return Named(base, names)
        labels: list[object] = []
        operands: list[Factor] = []
        open_names: dict[str, None] = {}
        for axis, index in enumerate(indices):
            if index.plain:
                labels.append(index.terms[0][1])
                open_names[index.terms[0][1]] = None
                continue
            label = ("read", axis)
            labels.append(label)
            if index.tensor is not None:
                value = self.tensor(index.tensor)
                operands.append((one_hot(value.expr, base.shape[axis]), (*value.names, label)))
            else:
                value = self._window(Read(name, axis, index), base)
                operands.append((value.expr, (label, *value.names)))
            open_names.update(dict.fromkeys(value.names))
        return Named(product([(base, labels), *operands], tuple(open_names)), tuple(open_names))

    def _window(self, read: Read, base: Expr) -> Named:
        """The structure that reads an axis at an affine index."""
        if read.name in self.scope.definitions or read.name in self.scope.facts.inputs:
            self.scope.check_read(read)
        index = read.index
        names = tuple([name for _, name in index.terms])
        const = index.const
        for c, name in index.sizes:
            const = const + c * self.scope.size(name, index)
        shape = tuple([self.scope.size(name, index) for name in names])  # sizes first: they settle where indices start
        for c, name in index.terms:
            const = const + c * self.scope.start(name)
        return Named(window([c for c, _ in index.terms], const, base.shape[read.axis], shape), names)

    # Functions.

    def _product(self, node: syntax.Product, free: Free) -> Named:
        return self.term(node, free)

    def _sum(self, node: syntax.Sum, free: Free) -> Named:
        return self.sum(node, free)

    def _neg(self, node: syntax.Neg, free: Free) -> Named:
        value = self.term(node.body, free)
        return Named(scale(-1, value.expr), value.names)

    def _power(self, node: syntax.Power, free: Free) -> Named:
        return self._aligned([self.sum(node.base, free), self.sum(node.exponent, free)], power)

    def _compare(self, node: syntax.Compare, free: Free) -> Named:
        parts = [self.sum(node.left, free), self.sum(node.right, free)]
        return self._aligned(parts, FUNCTIONS[_COMPARE[node.op]].build)

    def _aligned(self, parts: list[Named], build) -> Named:
        """An elementwise function of parts aligned by name; missing indices broadcast."""
        names = tuple(dict.fromkeys([name for part in parts for name in part.names]))
        sizes = {n: s for part in parts for n, s in zip(part.names, part.expr.shape, strict=True)}
        return Named(build(*[p.arranged(names, sizes) if p.names else p.expr for p in parts]), names)

    def _derivative(self, node: syntax.Derivative, free: Free) -> Named:
        target = node.variable
        names = self._plain_names(target.indices or (), "the variable of a derivative")
        if len(names) != len(target.indices or ()):
            raise self.fail("The indices of the variable of a derivative are different.", target)
        if target.name in self.scope.facts.integers:
            raise self.fail(f"{target.name!r} is an integer tensor; there is no derivative by it.", target)
        if target.name in self.scope.definitions:
            body, expr = self._by_definition(node, free - frozenset(names))
        else:
            body = self.sum(node.body, free - frozenset(names))
            expr = self.derive(body.expr, self.scope.input(target.name))
        for name in names:
            if name in body.names:
                raise self.fail(f"Index {name!r} is already one of what is differentiated.", target, "Use a new index.")
        return Named(expr, (*body.names, *names))

    def _by_definition(self, node: syntax.Derivative, free: Free) -> tuple[Named, Expr]:
        """The derivative by a defined name, which counts as independent: what uses it is built anew around it."""
        name = node.variable.name
        definitions = self.scope.definitions
        saved = {key: definition.expr for key, definition in definitions.items()}
        value = saved[name]
        if value is None:
            raise self.fail(f"{name!r} is used before it is defined.", node.variable, "Put its statement first.")
        stand_in = variable(name, value.shape)
        definitions[name].expr = stand_in
        after = [s.name for s in self.done].index(name) + 1
        again = Builder(self.scope, self.derive)
        for statement in self.done[after:-1]:
            rebuilt, _ = again.statement(statement)
            if statement.name is not None:
                definitions[statement.name].expr = rebuilt.expr
        body = self.sum(node.body, free)
        expr = self.derive(body.expr, stand_in)
        for key, old in saved.items():
            definitions[key].expr = old
        return body, substitute(expr, {stand_in: value})

    def _call(self, node: syntax.Call, free: Free) -> Named:
        function = FUNCTIONS.get(node.name)
        if function is None:
            raise self.fail(f"There is no function {node.name!r}.", node, nearest(node.name, FUNCTIONS))
        if len(node.args) != function.arity:
            s = "argument" if function.arity == 1 else "arguments"
            raise self.fail(f"{node.name} takes {function.arity} {s}, not {len(node.args)}.", node)
        if function.kind == "elementwise":
            if node.axes is not None or node.result is not None:
                raise self.fail(f"{node.name} works entry by entry and takes no axes.", node, f"Write {node.name}(…).")
            return self._aligned([self.sum(a, free) for a in node.args], function.build)
        return self._whole(node, function) if node.axes is None else self._over_axes(node, function, free)

    def _over_axes(self, node: syntax.Call, function: Surface, free: Free) -> Named:
        axes = self._plain_names(node.axes or (), "a function's brackets")
        if len(axes) != len(node.axes or ()):
            raise self.fail(f"{node.name} names an axis twice.", node)
        if function.kind == "matrix" and len(axes) != 2:
            raise self.fail(f"{node.name} works on two axes, row and column.", node, f"Write {node.name}[i,j](…).")
        inner = (free - frozenset(used_up(node))) | frozenset(axes)
        parts = [self.sum(a, inner) for a in node.args]
        for axis in axes:
            if axis not in parts[0].names:
                raise self.fail(f"Index {axis!r} does not occur inside {node.name}[{','.join(axes)}](…).", node)
        if function.kind == "matrix":
            return self._matrix(node, function, axes, parts)
        (part,) = parts
        names = part.names
        places = tuple([names.index(axis) for axis in axes])
        kept = names if function.kind == "keep" else tuple([name for name in names if name not in axes])
        return Named(function.build(part.expr, places), kept)

    def _matrix(self, node: syntax.Call, function: Surface, axes: tuple[str, ...], parts: list[Named]) -> Named:
        row, column = axes
        rest = tuple(dict.fromkeys([n for part in parts for n in part.names if n not in axes]))
        first = parts[0]
        batch = tuple([n for n in first.names if n not in axes])
        if function.result == "solve":
            return self._solve(node, function, axes, parts)
        value = function.build(first.arranged((*batch, row, column)), (len(batch), len(batch) + 1))
        tail = {"scalar": (), "vector": (row,), "matrix": (row, column)}[function.result]
        return Named(value, (*rest, *tail))

    def _solve(self, node: syntax.Call, function: Surface, axes: tuple[str, ...], parts: list[Named]) -> Named:
        row, column = axes
        matrix, right = parts
        if row not in right.names or column in right.names:
            raise self.fail(f"The right side of {node.name}[{row},{column}] has index {row!r}, not {column!r}.", node)
        every = dict.fromkeys([*matrix.names, *right.names])
        out = tuple([name for name in every if name != row])
        return Named(function.build(matrix.expr, right.expr, matrix.names, right.names, row, column, out), out)

    def _whole(self, node: syntax.Call, function: Surface) -> Named:
        """``det(A)``, ``inv(A)[i,j]``, ``sum(x)``: functions of whole tensors by name."""
        if not all(isinstance(a, syntax.Tensor) and a.indices is None for a in node.args):
            axes = "i,j" if function.kind == "matrix" else "k"
            raise self.fail(
                f"{node.name} needs to know which axes it works on.", node, f"Write {node.name}[{axes}](…)."
            )
        if function.kind == "keep":
            raise self.fail(f"{node.name} needs the axis it works along.", node, f"Write {node.name}[k](x[k]).")
        parts = [self._whole_tensor(a) for a in node.args if isinstance(a, syntax.Tensor)]
        order = len(parts[0].shape)
        if function.kind == "reduce":
            value = function.build(parts[0], tuple(range(order)))
        elif order != 2:
            raise self.fail(f"{node.name} of a whole tensor takes order 2; this one has order {order}.", node)
        elif function.result == "solve":
            columns = tuple(range(2, 1 + len(parts[1].shape)))
            value = function.build(*parts, (0, 1), (0, *columns), 0, 1, (1, *columns))
        else:
            value = function.build(parts[0], (0, 1))
        if node.result is None:
            if value.shape:
                raise self.fail(
                    f"{node.name}(…) has {len(value.shape)} axes.", node, "Name them: " + _example(node, value)
                )
            return Named(value, ())
        if len(node.result) != len(value.shape):
            raise self.fail(f"{node.name}(…) has {len(value.shape)} axes, not {len(node.result)}.", node)
        return self.indexed(value, node.result, "")

    def _whole_tensor(self, node: syntax.Tensor) -> Expr:
        definition = self.scope.definitions.get(node.name)
        if definition is None:
            return self.scope.input(node.name)
        if definition.expr is None:
            raise self.fail(f"{node.name!r} is used before it is defined.", node, "Put its statement first.")
        return definition.expr


def _example(node: syntax.Call, value: Expr) -> str:
    args = ", ".join(a.name for a in node.args if isinstance(a, syntax.Tensor))
    return f"{node.name}({args})[{','.join('ijklmn'[: len(value.shape)])}]."


def _terms(node: syntax.Node) -> list[syntax.Node]:
    return [term for _, term in node.terms] if isinstance(node, syntax.Sum) else [node]


_KEEPING = frozenset(
    name for name, function in FUNCTIONS.items() if function.kind == "keep" or function.kind == "matrix"
)
__all__ = ["Named", "Result", "broadcast", "resolve"]
