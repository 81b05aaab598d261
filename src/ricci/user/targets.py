"""What a derivative is by: inputs, names that the text defines, parts of the expression.

A defined name and a part count as independent: what uses them depends on them, and they depend on nothing. Beside a
derivative by something that they are made of they cannot be taken for inputs, since that derivative goes through them.
In general the derivative by ``h``, defined as ``h = g``, is that by ``u`` in ``h = g + u`` at ``u = 0``. So derivatives
by several names are each what they are alone, in one sweep or in turn, and they commute.

A :class:`Reading` of a formula has such a variable wherever that is needed, and a variable for ``h`` itself elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import TopologicalSorter
from unicodedata import normalize

from ricci.calculus import modes
from ricci.errors import InputError, NotationError, nearest
from ricci.expr import CONJ, Elementwise, Expr, Variable, add, conj, substitute, topological, transform, variables, zero
from ricci.expr import variable as input_node
from ricci.expr.structures import is_hermitian
from ricci.expr.walk import rebuild, rewritten
from ricci.notation.bars import bare
from ricci.notation.heights import KEEPS, changed
from ricci.notation.resolve import has_derivatives, named, resolve
from ricci.simplify import simplify, simplify_all
from ricci.user.formula import Formula, derive_in_text
from ricci.user.one_side import check_one_side

Target = str | Formula  # a name, a name with indices, or the formula of a variable
Made = dict[Expr, Expr]  # stand-ins, and what they stand for in terms of the others


@dataclass(frozen=True, slots=True)
class By:
    """A target, found: its name, the kind of thing that it is, its node, and the index names asked for.

    The node of an input is in the expression; that of a definition or a part is its value.
    """

    name: str
    kind: str  # "input", "definition", "part"
    node: Expr
    wanted: tuple[str, ...] | None = None
    own: tuple[str, ...] | None = None  # the indices that it was written with
    heights: tuple[str, ...] = ()  # where they stand
    conjugate: bool = False  # whether it is by the conjugate of this

    @property
    def label(self) -> str:
        """What it is called in the name of a derivative."""
        return f"conj_{self.name}" if self.conjugate else self.name

    def of(self, x: Expr) -> Expr:
        """What stands for it in an expression, the node itself or its conjugate."""
        return conj(x) if self.conjugate else x

    @property
    def key(self) -> Hashable:
        """What makes two targets the same."""
        return self.name if self.kind == "definition" else self.node


Inputs = Mapping[str, Sequence[Variable]]  # by name; several where sizes are given in one place and not in another


def find(formula: Formula, target: Target, inputs: Inputs | None = None) -> By:
    """What ``target`` means in ``formula``, which has these ``inputs``."""
    inputs = _inputs(formula) if inputs is None else inputs
    check_one_side("diff", formula)
    if isinstance(target, Formula):
        return _of_formula(formula, target, inputs)
    if not isinstance(target, str):
        raise InputError(f"diff goes by a name or a formula, not {type(target).__name__}.")
    inside = _conjugated(formula, target)
    if inside is not None:
        found = find(formula, inside, inputs)
        if is_hermitian(found.node):
            raise InputError(
                f"The conjugate of {found.name!r}, which is Hermitian, is its transpose: differentiate by "
                f"{found.name!r}, and exchange the indices."
            )
        return replace(found, conjugate=found.node.complex and not found.conjugate)
    match = re.fullmatch(r"\s*([^\W\d]\w*)\s*(?:\[([^\[\]]*)\])?\s*", target)
    if match is None:
        return _with_heights(formula, target, inputs)
    name, inside = match.groups()
    wanted = None if inside is None else tuple([word.strip() for word in inside.split(",")])
    return _of_name(formula, name, wanted, inputs)


def _conjugated(formula: Formula, target: str) -> str | None:
    """What a target such as ``conj(z[k])`` or ``z̄[k]`` is the conjugate of."""
    match = re.fullmatch(r"\s*conj\s*\((.*)\)\s*", target)
    if match is not None:
        return match[1]
    name, bracket, rest = target.strip().partition("[")
    facts, base = formula.context.facts, bare(name.strip(), latex=False)
    known = base in facts.complex or base in facts.definitions
    return base + bracket + rest if known and normalize("NFKC", name.strip()) not in facts.inputs else None


def _with_heights(formula: Formula, target: str, inputs: Inputs) -> By:
    """A target such as ``x^k``, at the heights that it has in the formula."""
    node = named(target) if re.search(r"\^|_\{", target) else None
    if node is None or not all(index.plain for index in node.indices or ()):
        raise InputError(f"{target!r} is not a name, nor a name with indices such as 'x[p,q]' or 'x^p_q'.")
    names, heights = zip(*[(index.terms[0][1], index.height) for index in node.indices or ()], strict=True)
    found = _of_name(formula, node.name, names, inputs)
    subscripts = not found.heights and "up" not in heights
    if len(names) == len(found.node.shape) and heights != found.heights and not subscripts:
        given = found.heights or ("",) * len(names)
        source = root_of(formula).source
        moves = f"Write it in the text: D(…, {target.strip()})." if source and source[3].metric else KEEPS
        raise NotationError(changed(node.name, given, heights), target, node.start, node.end, moves)
    return found


def find_all(formula: Formula, targets: Sequence[Target]) -> list[By]:
    inputs = _inputs(formula)
    return [find(formula, target, inputs) for target in targets]


def _inputs(formula: Formula) -> Inputs:
    found: dict[str, list[Variable]] = {}
    for v in variables(formula.expr):
        found.setdefault(v.name, []).append(v)
    return found


def _of_formula(formula: Formula, target: Formula, inputs: Inputs) -> By:
    if isinstance(target.expr, Elementwise) and target.expr.op is CONJ and isinstance(target.expr.args[0], Variable):
        inner = Formula(target.expr.args[0], target.indices, target.context, None, target.heights)
        return replace(_of_formula(formula, inner, inputs), conjugate=True)
    if isinstance(target.expr, Variable) and target.source is None:
        return _of_name(formula, target.expr.name, None, inputs, target)
    root = root_of(formula)
    if root.source and target.source and root.source[:2] == target.source[:2] and target.name is not None:
        found = _of_name(formula, target.name, None, inputs)
        return By(found.name, found.kind, found.node, None, target.indices, found.heights)
    if isinstance(target.expr, Variable):
        return _of_name(formula, target.expr.name, None, inputs, target)
    if target.expr not in set(topological(formula.expr)) and target.expr not in set(topological(root.expr)):
        raise InputError(
            f"{target} is not part of the expression as it stands, so there is no derivative by it; "
            "name it in a statement of its own and use that name."
        )
    return By(target.name or "t", "part", target.expr, None, target.indices, target.standing)


def _of_name(
    formula: Formula, name: str, wanted: tuple[str, ...] | None, inputs: Inputs, given: Formula | None = None
) -> By:
    facts = formula.context.facts
    if name in facts.integers:
        raise InputError(f"{name!r} is an integer tensor, used as an index; there is no derivative by it.")
    root, heights = root_of(formula), facts.heights.get(name, ())
    if root.source is not None and name in root.statements:
        value = root.statements[name]
        return By(name, "definition", value.expr, wanted, value.indices, heights)
    own = given.indices if given is not None else None
    found = inputs.get(name, ())
    if len(found) > 1:
        shapes = " and ".join([str(v.shape) for v in found])
        raise InputError(f"{name!r} stands for tensors of the shapes {shapes}; give its sizes everywhere, or nowhere.")
    if name in facts.disputed or (name in facts.definitions and name in facts.inputs):
        raise InputError(
            f"{name!r} has two meanings in the texts that this formula was made of; give one of them another name."
        )
    if found:
        return By(name, "input", found[0], wanted, own, heights)
    if name in facts.definitions:
        if facts.derived:
            raise InputError(
                f"What {name!r} stands for in a derivative is lost where that is worked with further; differentiate by "
                f'it before, f.diff("x", {name!r}), or give the part itself, as a formula.'
            )
        if facts.definitions[name] not in set(topological(formula.expr)):
            raise InputError(f"{name!r} is not part of the expression as it stands, so there is no derivative by it.")
        return By(name, "part", facts.definitions[name], wanted, facts.defined_indices[name], heights)
    if name in facts.inputs:
        shape = facts.given_shape(name) if root.source is not None else facts.inputs[name]
        node = facts.input(name, shape) if given is None else given.expr
        return By(name, "input", node, wanted, own, heights)
    known = [*facts.inputs, *facts.definitions]
    raise InputError(f"There is no variable {name!r}; there are {', '.join(known)}. {nearest(name, known)}".rstrip())


def root_of(formula: Formula) -> Formula:
    """The function that a derivative was derived from; a formula that is none itself."""
    return formula.chain[0].origin.formula if formula.origin is not None else formula


# Readings.


@dataclass(slots=True)
class Reading:
    """A formula as a function of the nodes ``xs``, one for each target; ``back`` says what stand-ins stand for."""

    expr: Expr
    xs: list[Expr]
    back: dict[Expr, Expr] = field(default_factory=dict)

    @property
    def stable(self) -> Expr:
        """The expression in its stable form."""
        return simplify(self.expr)

    def restored(self, exprs: Sequence[Expr]) -> list[Expr]:
        """Derivatives of this reading, in terms of the inputs alone, simplified."""
        return simplify_all(rewritten(exprs, lambda node, _: self.back.get(node)) if self.back else exprs)


def read(formula: Formula, targets: Sequence[By]) -> Reading:
    """``formula`` as a function of ``targets``."""
    if all(by.kind == "input" for by in targets):
        return Reading(formula.expr, [by.of(by.node) for by in targets])
    before = [step.origin.by for step in formula.chain]
    reading = _opened(*_apart(root_of(formula), [*before, *targets]))
    xs = [by.of(x) for by, x in zip([*before, *targets], reading.xs, strict=True)]
    for x in xs[: len(before)]:
        reading.expr = simplify(modes.derivative(reading.stable, x))
    return Reading(reading.expr, xs[len(before) :], reading.back)


def read_cut(formula: Formula, by: By, cut: Sequence[By]) -> tuple[Reading, dict[Expr, Expr]]:
    """``formula`` as a function of ``by`` and of the nodes of a cut, and these nodes as functions of ``by``."""
    if formula.origin is None and not _speaks_of_derivatives(formula):
        reading, made = _apart(formula, [by, *cut])
    else:  # as far as they are parts of the derivative as it stands
        base = read(formula, [by])
        parts = {other.node: _stand_in(f"{other.name}°{n}°", other.node) for n, other in enumerate(cut)}
        expr, made = _parts_apart(base.expr, {}, parts, base.back)
        back = {**base.back, **{x: node for node, x in parts.items()}}
        reading = Reading(expr, [*base.xs, *(parts[other.node] for other in cut)], back)
    x, *nodes = reading.xs
    values = {node: node if node is x else made.get(node, node) for node in nodes}
    for _ in made:
        values = {node: substitute(value, _without(made, x)) for node, value in values.items()}
    return reading, values


def _stand_in(name: str, e: Expr) -> Variable:
    return input_node(name, e.shape, complex=e.complex)


def _without(made: Made, x: Expr) -> Made:
    return {node: value for node, value in made.items() if node is not x}


def _speaks_of_derivatives(formula: Formula) -> bool:
    return formula.source is not None and has_derivatives(formula.source[0], formula.source[3])


def _apart(formula: Formula, targets: Sequence[By]) -> tuple[Reading, Made]:
    """A formula with stand-ins for the targets that are no inputs, and what these are made of."""
    inner = {by.key: by for by in targets if by.kind != "input"}
    apart = {key: _stand_in(f"{by.name}°{n}", by.node) for n, (key, by) in enumerate(inner.items())}
    back: dict[Expr, Expr] = {apart[key]: by.node for key, by in inner.items()}
    names = {by.name: apart[key] for key, by in inner.items() if by.kind == "definition"}
    parts = {by.node: apart[key] for key, by in inner.items() if by.kind == "part"}
    expr, made = _defined_apart(formula, names, back) if names else (formula.expr, {})
    if parts:
        expr, made = _parts_apart(expr, made, parts, back)
        for by in inner.values():
            if by.kind == "part" and apart[by.key] not in made:
                raise InputError(f"{by.name!r} is not part of the expression as it stands beside the names given.")
    return Reading(expr, [by.node if by.kind == "input" else apart[by.key] for by in targets], back), made


def _defined_apart(formula: Formula, names: dict[str, Variable], back: dict[Expr, Expr]) -> tuple[Expr, Made]:
    """The statement with stand-ins in the place of definitions, by reading its text again.

    Where the text speaks of derivatives, these are derivatives through the names, so stand-ins are added instead.
    """
    assert formula.source is not None
    text, sizes, position, declared = formula.source
    added = _speaks_of_derivatives(formula)

    def swap(x: Variable) -> Callable[[Expr], Expr]:
        return (lambda value: add([(1, value), (1, x)])) if added else (lambda _: x)

    swaps = {name: swap(x) for name, x in names.items()}
    part = resolve(text, sizes, derive_in_text, swaps, declared=declared)[position]
    expr = part.value.expr if part.name not in swaps else swaps[part.name](part.value.expr)
    if added:
        back.update({x: zero(x.shape) for x in names.values()})
        return expr, {}
    return expr, {x: part.context.facts.definitions[name] for name, x in names.items()}


def _parts_apart(expr: Expr, made: Made, parts: dict[Expr, Variable], back: dict[Expr, Expr]) -> tuple[Expr, Made]:
    """Stand-ins in the place of parts: of all nodes that are such a part once other stand-ins are put back."""
    found: Made = {}

    def step(node: Expr, args: tuple[tuple[Expr, Expr], ...]) -> tuple[Expr, Expr]:
        new, old = (rebuild(node, tuple(side)) for side in zip(*args, strict=True)) if args else (node, node)
        old = back.get(node, old)
        if old in parts:
            found.setdefault(parts[old], new)
            new = parts[old]
        elif old.complex and conj(old) in parts:
            x = parts[conj(old)]
            found.setdefault(x, conj(new))
            new = conj(x)
        return new, old

    expr, made = transform(expr, step)[0], {x: transform(value, step)[0] for x, value in made.items()}
    return expr, {**made, **found}


def _opened(reading: Reading, made: Made) -> Reading:
    """Where a target is made of another, its value with the stand-in added, so that derivatives go through it."""
    targets = set(reading.xs)
    below = {x: targets.intersection(topological(value)) for x, value in made.items()}
    through: dict[Expr, Expr] = {}
    for x in TopologicalSorter({x: below[x] & made.keys() for x in made}).static_order():
        if below[x]:
            through[x] = add([(1, substitute(made[x], through)), (1, x)])
            reading.back[x] = zero(x.shape)
    if through:
        reading.expr = substitute(reading.expr, through)
    return reading
