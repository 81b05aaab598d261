"""The one type of the core, ``Expr``, and its seven kinds of node.

An expression is immutable and interned: building the same node twice gives the same object, so ``==`` is identity and
costs nothing. Interning is weak; an expression that nobody holds is freed. Axes are positional and carry sizes; there
are no index names inside. Labels are integers local to a product.

Every node also has a ``key``, a number computed from its structure alone. It orders operands, and it is the same in
every process, which an address or a randomised hash is not.

Nodes are made by the constructors of this package, which keep them canonical; ``make`` is for them alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import Any, ClassVar

from ricci.budget import budget
from ricci.caches import Interned, cached
from ricci.expr.dims import Size
from ricci.expr.op import Op

Shape = tuple[Size, ...]
Labels = tuple[int, ...]
COMPLEX = "complex"  # what a variable says of its numbers
IMAGINARY = "1j"  # the name of the imaginary unit

_table: Interned[Expr] = Interned()


class Expr:
    """A tensor expression: ``args`` are its operands, ``shape`` the sizes of its axes."""

    __slots__ = (
        *("__weakref__", "args", "below", "complex", "conjugate", "head", "key", "mirrored", "natural", "near"),
        *("shape", "simplified", "work"),
    )
    fields: ClassVar[tuple[str, ...]] = ()
    args: tuple[Expr, ...]
    shape: Shape
    key: int
    head: str  # the name of a function, or the kind of any other node
    complex: bool  # whether entries are complex numbers; otherwise they are real
    conjugate: Any  # set when first asked for, see ``build/conjugates.py``
    below: tuple[Expr, ...]  # all nodes under it, operands first; set when first asked for, see ``walk.py``
    natural: tuple[int, ...]  # set when first asked for; see ``structures.py``
    simplified: int  # what ``simplify/engine.py`` has found: that no rule applies here, or below
    near: int  # which functions occur here and just below; set when first asked for, see ``simplify/match.py``
    work: int  # what it costs to evaluate, operands given; set when first asked for, see ``calculus/cost.py``
    mirrored: int  # 1 for a matrix that equals its transpose, -1 for its opposite; set when first asked for

    @property
    def order(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def data(self) -> tuple:
        """What makes this node differ from others of its kind with the same operands and shape."""
        return tuple(getattr(self, name) for name in self.fields)

    # The operators work entry by entry on operands of one shape, or scalars. There is no ``==``: it is identity.

    def __add__(self, other: object) -> Expr:
        return constructors.plus(self, other)

    def __radd__(self, other: object) -> Expr:
        return constructors.plus(other, self)

    def __sub__(self, other: object) -> Expr:
        return constructors.plus(self, other, -1)

    def __rsub__(self, other: object) -> Expr:
        return constructors.plus(other, self, -1)

    def __mul__(self, other: object) -> Expr:
        return constructors.multiply(self, other)

    def __rmul__(self, other: object) -> Expr:
        return constructors.multiply(other, self)

    def __truediv__(self, other: object) -> Expr:
        return constructors.divide(self, other)

    def __rtruediv__(self, other: object) -> Expr:
        return constructors.divide(other, self)

    def __pow__(self, other: object) -> Expr:
        return constructors.power(self, other)

    def __rpow__(self, other: object) -> Expr:
        return constructors.power(other, self)

    def __neg__(self) -> Expr:
        return constructors.multiply(-1, self)

    def __copy__(self) -> Expr:
        return self

    def __deepcopy__(self, memo: object) -> Expr:
        return self

    def __reduce__(self):
        return from_program, (to_program(self),)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.key:016x} of shape {self.shape}>"


class Constructors:
    """The constructors that are called before the files that define them are read: by operators, and by one another.

    Equal factors are a power, a power of a product is a product, a product of sums may be a sum: so each has a file of
    its own in ``build/`` and puts itself here when that is imported, and this is all that is called out of order.
    """

    plus: Callable[..., Expr]
    multiply: Callable[[object, object], Expr]
    divide: Callable[[object, object], Expr]
    power: Callable[[object, object], Expr]
    add: Callable[[Sequence[tuple[Any, Expr]]], Expr]
    rearranged: Callable[[Any, tuple[int, ...]], Expr]
    one_hot: Callable[[Expr, Size], Expr]
    constant: Callable[[Any], Expr]
    recurrences: Callable[[Sequence[tuple[Any, Expr, Expr]], Any, Size], list[Expr]]
    conj: Callable[[Expr], Expr]
    real: Callable[[Expr], Expr]
    paired: Callable[[Any], Any]
    with_squares: Callable[[list], list]


constructors = Constructors()


class Variable(Expr):
    """An input, by name; ``symmetry`` is what is declared of a matrix, or "". It is real unless it says COMPLEX."""

    __slots__ = ("name", "symmetry")
    fields = ("name",)
    name: str
    symmetry: str

    @property
    def data(self) -> tuple:
        if self.complex:
            return self.name, self.symmetry, COMPLEX
        return (self.name, self.symmetry) if self.symmetry else (self.name,)


class Constant(Expr):
    """A number, a size, a named number (``pi``) or an array."""

    __slots__ = ("value",)
    fields = ("value",)
    value: Any


class Structure(Expr):
    """A 0/1 tensor given by a relation between its indices; see ``structures.py``."""

    __slots__ = ("relation",)
    fields = ("relation",)
    relation: tuple


class Product(Expr):
    """``out[…] = sum over the labels not in out of the product of args``; see ``build/product.py``.

    A label of ``out`` that no operand carries broadcasts.
    """

    __slots__ = ("labels", "out", "sums")
    fields = ("labels", "out")
    labels: tuple[Labels, ...]
    out: Labels
    sums: bool  # whether any label is summed over

    def factors(self) -> Iterator[tuple[Expr, Labels]]:
        return zip(self.args, self.labels, strict=True)


class Sum(Expr):
    """``sum of coefs[t] * args[t]``; all terms have the shape of the sum."""

    __slots__ = ("coefs", "taken")
    fields = ("coefs",)
    coefs: tuple
    taken: (
        tuple | None
    )  # the number that may be taken out, and what is left; set when asked for, see ``build/scale.py``


class Elementwise(Expr):
    """``op`` applied entry by entry; operands have the shape of the result or are scalars."""

    __slots__ = ("op",)
    fields = ("op",)
    op: Op


class Function(Expr):
    """``op`` applied to the last axes of its operands, and in parallel over the leading, common ones."""

    __slots__ = ("op", "params")
    fields = ("op", "params")
    op: Op
    params: tuple


KINDS: dict[str, type[Expr]] = {
    kind.__name__: kind for kind in (Variable, Constant, Structure, Product, Sum, Elementwise, Function)
}


def make(kind: type[Expr], args: tuple[Expr, ...], shape: Shape, *data: Any) -> Any:
    """The interned node. Constructors call this with canonical parts."""
    limit = budget()
    if limit is not None:
        limit.take(1)
    op = data[0] if kind is Elementwise or kind is Function else None
    # Operands and functions by their ids: the node holds them, and the table must not, for they may lead back to it.
    identity = (kind, tuple(map(id, args)), shape, data if op is None else (id(op), *data[1:]))
    known = _table.kept.get(identity)
    if known is not None:
        found = known()
        if found is not None:
            return found
    node: Any = object.__new__(kind)
    node.args, node.shape, node.head = args, shape, kind.__name__ if op is None else op.head
    among = False
    for a in args:
        if a.complex:
            among = True
    node.complex = among if op is None else op.gives_complex(among)
    if kind is Product:
        node.labels, node.out = data
        node.sums = not all(map(frozenset(data[1]).issuperset, data[0]))
    elif kind is Function:
        node.op, node.params = data
    elif kind is Variable:
        node.name, node.symmetry = (*data, "")[:2]
        node.complex = len(data) == 3
    else:
        setattr(node, kind.fields[0], *data)
    if kind is Constant:
        (value,) = data
        node.complex = (
            value == IMAGINARY if type(value) is str else type(value) is Data and value.values.dtype.kind == "c"
        )
        own = f"Constant{data}{shape}"
    else:
        own = _common_text(kind.__name__, data if op is None else data[1:], op and node.head, shape)
    text = f"{own}{[a.key for a in args]}"
    node.key = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
    return _table.put(identity, node)


@cached("texts of nodes", 4096)
def _common_text(kind: str, data: tuple, name: str | None, shape: Shape) -> str:
    """What a node is apart from its operands, as text; by the name of the function, since it may hold arrays."""
    if name is None:
        return f"{kind}{data}{shape}"
    return f"{kind}(op:{name}, {data[0]}){shape}" if data else f"{kind}(op:{name},){shape}"


def live_nodes() -> int:
    """How many nodes are alive in this process; for tests of memory."""
    return len(_table)


# Pickling goes through a flat program, one entry a node, so deep expressions do not recurse.


def to_program(root: Expr) -> list[tuple]:
    """The nodes of ``root``, operands first, as plain tuples that refer to one another by position."""
    place: dict[Expr, int] = {}
    program: list[tuple] = []
    stack = [root]
    while stack:
        node = stack[-1]
        waiting = [a for a in node.args if a not in place] if node not in place else []
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        if node not in place:
            place[node] = len(program)
            program.append((type(node).__name__, tuple(place[a] for a in node.args), node.shape, node.data))
    return program


def from_program(program: Sequence[tuple]) -> Expr:
    nodes: list[Expr] = []
    for kind, args, shape, data in program:
        nodes.append(make(KINDS[kind], tuple(nodes[a] for a in args), shape, *data))
    return nodes[-1]


class Data:
    """The payload of an array constant: compared and ordered by content, never by address."""

    __slots__ = ("digest", "values")

    def __init__(self, values: Any, digest: str):
        self.values, self.digest = values, digest

    def conjugate(self) -> Data:
        return Data(self.values.conj(), f"{self.digest}*".replace("**", ""))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Data) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"array:{self.digest}"
