"""The tree of a text: what is written, before anything is known about what it means.

The parser makes these nodes and the next stage turns them into expressions, so they say nothing of sizes, of sums
over repeated indices or of which functions exist. Every node has the place in the whole text where it starts and
ends, for the caret of an error found later. Nodes are values: nobody assigns to their fields. They are not frozen
only because a frozen dataclass takes twice as long to make, and making them is a third of the time of parsing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace


@dataclass(slots=True)
class Index:
    """An index: the affine form ``sum(c * name) + sum(c * |name|) + const``, or a gather by a ``tensor``.

    ``strides``, where there are any, has a size for each term that is multiplied by one (``|k|*i + k``), and "" for the
    others. ``plain`` says that it was written as a bare name: ``i+0`` is not plain. ``height`` is "up", "down" or "".
    """

    start: int
    end: int
    terms: tuple[tuple[int, str], ...]
    const: int = 0
    sizes: tuple[tuple[int, str], ...] = ()
    plain: bool = False
    tensor: TensorNode | None = None
    height: str = ""
    strides: tuple[str, ...] = ()


Indices = tuple[Index, ...]


@dataclass(slots=True)
class Number:
    """``2``, an int, or ``2.0`` and ``2e0``, floats."""

    start: int
    end: int
    value: int | float


@dataclass(slots=True)
class Pi:
    """``pi``."""

    start: int
    end: int


@dataclass(slots=True)
class Imaginary:
    """``1j``, the imaginary unit, or so many of it: ``2.5j``."""

    start: int
    end: int
    value: int | float = 1


@dataclass(slots=True)
class TensorNode:
    """``x[i,j]``, ``x^i_j``, or a bare ``x``, whose ``indices`` are None."""

    start: int
    end: int
    name: str
    indices: Indices | None


@dataclass(slots=True)
class Ones:
    """``1[i,j]``."""

    start: int
    end: int
    indices: Indices


@dataclass(slots=True)
class Zeros:
    """``0[i,j]``."""

    start: int
    end: int
    indices: Indices


@dataclass(slots=True)
class Delta:
    """``delta[i,j]`` or ``delta^i_j``: always two indices. ``[i >= j]`` is one too, with that sign."""

    start: int
    end: int
    indices: Indices
    sign: str = "=="


@dataclass(slots=True)
class Epsilon:
    """``eps[i,j,k]`` or ``eps^{i j k}``: the Levi-Civita symbol, with two or more indices, names or numbers."""

    start: int
    end: int
    indices: Indices


@dataclass(slots=True)
class Size:
    """``|i|``, the size of an index."""

    start: int
    end: int
    name: str


@dataclass(slots=True)
class CallNode:
    """``exp(a)``; with ``axes``, ``sum[k](a)``; with indices of the ``result``, ``inv(A)[i,j]``.

    With ``places`` it is a derivative of an unknown function by the arguments at these, counted from 1: ``f'(x)`` has
    the place 1, ``f''(x)`` has it twice, and ``f_12(x, z)`` the places 1 and 2.
    """

    start: int
    end: int
    name: str
    args: tuple[Node, ...]
    axes: Indices | None
    result: Indices | None
    params: tuple = ()  # further arguments that are no operands
    places: tuple[int, ...] = ()


@dataclass(slots=True)
class Neg:
    """``-body``, where no term stands before the minus."""

    start: int
    end: int
    body: Node


@dataclass(slots=True)
class SumNode:
    """``a + b - c``: two or more pairs of a sign, +1 or -1, and a term."""

    start: int
    end: int
    terms: tuple[tuple[int, Node], ...]


@dataclass(slots=True)
class ProductNode:
    """``a/b c``: two or more pairs of an exponent, +1 or -1, and a factor; a bracketed product stays a factor."""

    start: int
    end: int
    factors: tuple[tuple[int, Node], ...]


@dataclass(slots=True)
class Power:
    """``base ** exponent``, also written ``base^2`` and ``base^(exponent)``."""

    start: int
    end: int
    base: Node
    exponent: Node


@dataclass(slots=True)
class Compare:
    """``left op right`` with one of ``< <= > >= == !=``."""

    start: int
    end: int
    op: str
    left: Node
    right: Node


@dataclass(slots=True)
class Derivative:
    """``D(body, variable)``, or ``D(body, conj(variable))``."""

    start: int
    end: int
    body: Node
    variable: TensorNode
    conjugate: bool = False

    @property
    def by(self) -> Node:
        """The variable, or its conjugate, as it is written."""
        v = self.variable
        return CallNode(v.start, v.end, "conj", (v,), None, None) if self.conjugate else v


Node = (
    Number | Pi | Imaginary | Size | TensorNode | Ones | Zeros | Delta | Epsilon | CallNode
    | Neg | SumNode | ProductNode | Power | Compare | Derivative
)  # fmt: skip


@dataclass(slots=True)
class Statement:
    """``name[indices] = body``; ``name = body`` has no indices (None), a statement without left side no name either.

    Where the left side is an expression, it is ``left``. ``unsummed`` are the indices of ``(no sum i)`` after it.
    LaTeX may name what it defines by a derivative, ``\\frac{\\partial l}{\\partial w_k}``, which is ``derived`` then.
    """

    start: int
    end: int
    name: str | None
    indices: Indices | None
    body: Node
    left: Node | None = None
    unsummed: Indices = ()
    derived: Derivative | None = None
    power: Node | None = None  # what was typed on the left where it defines a root, ``s**2 = …``
    row: bool = False  # whether it is a row, in the matrix language

    @property
    def sides(self) -> list[Node]:
        """Its expressions: the body, and before it what it is said to be equal to."""
        return [self.body] if self.left is None else [self.left, self.body]

    @property
    def names(self) -> list[str]:
        """What it defines."""
        return [] if self.name is None else [self.name]

    @property
    def parts(self) -> list[Statement]:
        return [self]


@dataclass(slots=True)
class SizeLine:
    """``sizes: x[n], w[k], |i| = |n| - |k| + 1``: which axes indices range over, and sizes that are given otherwise."""

    tensors: tuple[TensorNode, ...]
    equations: tuple[tuple[Size, Node], ...]
    linked: tuple[tuple[str, str], ...] = ()  # pairs of indices of one size


@dataclass(slots=True)
class Statements:
    """The statements of a text, in order, the text, the indices in it that stand above and below, and its sizes."""

    text: str
    statements: tuple[Statement, ...]
    standing: Indices = ()
    sizes: SizeLine = field(default_factory=lambda: SizeLine((), ()))
    moved: Mapping[str, str] = field(default_factory=dict)  # names that a metric raises or lowers, and that metric
    doubtful: tuple[str, ...] | None = None  # what has two readings; None where the rules of indices say it
    latex: bool = False  # whether the text is LaTeX


class Bracket:
    """A bracket, or a statement, while it is being read: the pieces of its Compare, SumNode and ProductNode so far."""

    __slots__ = ("args", "axes", "begin", "exponent", "factors", "head", "left", "mark", "op", "outer", "pending",
                 "sign", "start", "sum_start", "term_start", "terms")  # fmt: skip

    def __init__(self, outer: Bracket | None, head: str, axes: Indices | None, begin: int, start: int):
        self.outer = outer
        self.head = head  # the function, or "" for a bracket
        self.mark = ""  # what stands after its name, for a derivative of an unknown one
        self.axes = axes
        self.begin = begin  # where the bracket starts, with its function
        self.args: list[Node] = []
        self.pending: list[tuple[int, Node | None]] = []  # where it starts; the base of a power, None for a minus
        self.renew(start, None, "")

    def renew(self, start: int, left: Node | None, op: str) -> None:
        """Begins a sum: that of the bracket, of its next argument, or the one to compare ``left`` with."""
        if left is None:
            self.start = start
        self.left = left
        self.op = op
        self.sum_start = self.term_start = start
        self.terms: list[tuple[int, Node]] = []
        self.factors: list[tuple[int, Node]] = []
        self.sign = self.exponent = 1

    def add(self, end: int) -> None:
        """Ends a term: the product of the factors since the last sign."""
        factors = self.factors
        term = factors[0][1] if len(factors) == 1 else ProductNode(self.term_start, end, tuple(factors))
        self.terms.append((self.sign, term))
        self.factors = []

    def finish(self, end: int) -> Node:
        """Ends the expression; a single term is itself, and not a sum."""
        terms = self.terms
        self.add(end)
        right = terms[0][1] if len(terms) == 1 else SumNode(self.sum_start, end, tuple(terms))
        return right if self.left is None else Compare(self.start, end, self.op, self.left, right)


def children(node: Node) -> list[Node]:
    """The nodes directly below, in order."""
    if isinstance(node, SumNode):
        return [term for _, term in node.terms]
    if isinstance(node, ProductNode):
        return [factor for _, factor in node.factors]
    if isinstance(node, CallNode):
        return list(node.args)
    if isinstance(node, Neg):
        return [node.body]
    if isinstance(node, Power):
        return [node.base, node.exponent]
    if isinstance(node, Compare):
        return [node.left, node.right]
    return [node.body] if isinstance(node, Derivative) else []


def with_children(node: Node, parts: Sequence[Node]) -> Node:
    """The node with other nodes directly below it, in the order of ``children``."""
    if isinstance(node, SumNode):
        return replace(node, terms=tuple([(sign, part) for (sign, _), part in zip(node.terms, parts, strict=True)]))
    if isinstance(node, ProductNode):
        return replace(node, factors=tuple([(e, part) for (e, _), part in zip(node.factors, parts, strict=True)]))
    if isinstance(node, CallNode):
        return replace(node, args=tuple(parts))
    if isinstance(node, Power):
        return replace(node, base=parts[0], exponent=parts[1])
    if isinstance(node, Compare):
        return replace(node, left=parts[0], right=parts[1])
    return replace(node, body=parts[0]) if isinstance(node, (Neg, Derivative)) else node


def renamed(node: Node, names: Mapping[str, str]) -> Node:
    """A tree with other names for indices, wherever they stand."""
    if isinstance(node, Size):
        return replace(node, name=names.get(node.name, node.name))
    if isinstance(node, Derivative):
        node = replace(node, variable=renamed(node.variable, names))
    for part in ("indices", "axes", "result"):
        indices = getattr(node, part, None)
        if indices:
            node = replace(node, **{part: tuple([renamed_index(index, names) for index in indices])})
    return with_children(node, [renamed(part, names) for part in children(node)])


def renamed_index(index: Index, names: Mapping[str, str]) -> Index:
    """An index, affine or a gather, with other names in it."""
    terms = tuple([(c, names.get(name, name)) for c, name in index.terms])
    sizes = tuple([(c, names.get(name, name)) for c, name in index.sizes])
    tensor = index.tensor
    if tensor is not None:
        tensor = replace(tensor, indices=tuple([renamed_index(i, names) for i in tensor.indices or ()]))
    strides = tuple([names.get(name, name) for name in index.strides])
    return replace(index, terms=terms, sizes=sizes, tensor=tensor, strides=strides)


def within(node: Node) -> Iterator[Node]:
    """All nodes of a tree, from the top."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack += children(node)
