"""What the names of a program are: inputs and their orders, definitions, and the size of every index.

An index has one size in a program. It comes, in this order, from what the user gives, from a line of sizes, from the
axes of inputs on which the index stands plainly, from the reads ``x[2*i+k]`` that it takes part in (then it ranges over
all places where every such read is inside its tensor, starting at the first one), or else it is free, and must be given
at the call.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ricci.checked_calls import allow, is_name
from ricci.errors import NotationError
from ricci.expr import Expr, Size, dims, index_size, variable
from ricci.functions.table import IN_TEXT
from ricci.notation import syntax
from ricci.notation.context import Check, Facts
from ricci.notation.heights import KEEPS, changed
from ricci.notation.own_calls import takes_whole
from ricci.notation.recurrences import Recurrence, next_of
from ricci.notation.tokens import INVERSE, RESERVED, in_other_words

if TYPE_CHECKING:
    from ricci.notation.declarations import OwnFunction

CHOICE = "Write where(condition, a, b) for a choice."
CONDITIONS = "Multiply conditions, (a > 0) * (b > 0); the opposite of one is 1 - (a > 0)."
RUNS = "An index runs over its axis: write sum[i](…) for a sum over it."
WORDS_OF_PYTHON = {"if": CHOICE, "else": CHOICE, "elif": CHOICE, "for": RUNS, "in": RUNS, "while": RUNS}
WORDS_OF_PYTHON |= dict.fromkeys(["and", "or", "not"], CONDITIONS)
WORDS_OF_PYTHON |= dict.fromkeys(["def", "return"], "A text has equations: y = x**2.")


def names_a_tensor(value: object) -> bool:
    """Whether a value is a name that a text may give to a tensor: no function, no number and no word of Python."""
    return is_name(value) and value not in RESERVED and value not in WORDS_OF_PYTHON and value not in IN_TEXT


allow(
    "tensor name",
    "a name: letters, digits and underscores, the first one no digit, and no word of the notation",
    names_a_tensor,
)


@dataclass(slots=True)
class Definition:
    """A statement's left side and what it stands for."""

    names: tuple[str, ...]
    expr: Expr | None = None
    steps: tuple[int, str] | None = None  # for a recurrence, its axis and the index that counts the steps


class Subscripts(Exception):
    """Lower indices are Cartesian: ``a_{ij} b_{jk}``, with none above, is ``a[i,j] b[j,k]``."""


@dataclass(slots=True)
class Read:
    """One use of an affine index: axis ``axis`` of ``name`` is read at ``index``."""

    name: str
    axis: int
    index: syntax.Index


@dataclass(slots=True)
class TextScope:
    """The names of one program."""

    text: str
    given: Mapping[str, int]
    orders: Mapping[str, int] = field(default_factory=dict)  # of inputs, where a call tells them and the text does not
    functions: Mapping[str, OwnFunction | None] = field(default_factory=dict)  # those that were given beside the text
    definitions: dict[str, Definition] = field(default_factory=dict)
    facts: Facts = field(default_factory=Facts)
    index_axes: dict[str, dict[tuple[str, int], None]] = field(default_factory=dict)
    reads: dict[str, list[Read]] = field(default_factory=dict)
    starts: dict[str, Size] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    steps: dict[str, str] = field(default_factory=dict)  # the index of all entries of a recurrence → that of its steps
    has_heights: bool = False  # whether indices stand above or below
    subscripts: bool = False  # whether none stands above
    results: dict[str, tuple] = field(
        default_factory=dict
    )  # index → a call, its operand's axes, the axis of its result
    whole: list[tuple[syntax.TensorNode, int]] = field(default_factory=list)  # without indices, and the order assumed
    stated: dict[str, syntax.Node] = field(default_factory=dict)  # index → its size, from lines of sizes
    symmetries: Mapping[str, str] = field(default_factory=dict)  # what is declared of inputs
    complex: Collection[str] = ()  # inputs of complex numbers
    imaginary: syntax.Imaginary | None = None  # the last one
    symbols: list[syntax.Epsilon] = field(default_factory=list)
    _class: dict[str, str] = field(default_factory=dict)
    _size: dict[str, Size] = field(default_factory=dict)
    _pending: set[str] = field(default_factory=set)

    def fail(self, message: str, node: syntax.Node | syntax.Index | syntax.Statement, hint: str = "") -> NotationError:
        return NotationError(message, self.text, node.start, node.end, hint)

    def misplaced(self, message: str, node: syntax.Node | syntax.Statement, hint: str) -> Exception:
        """The error for an index at a wrong height; where none stands above, subscripts are all that was meant."""
        return Subscripts() if self.subscripts else self.fail(message, node, hint)

    # First pass: who is there.

    def collect(self, statement: syntax.Statement) -> None:
        """Take in the names of a statement."""
        stack: list[syntax.Node] = statement.sides
        self._note(statement.indices)
        tensors: list[tuple[syntax.Node, int | None]] = []
        while stack:
            node = stack.pop()
            if self.given:
                if isinstance(node, syntax.Size):
                    self.names.add(node.name)
                for part in ("indices", "axes", "result"):
                    self._note(getattr(node, part, None))
            if isinstance(node, syntax.Delta):
                if node.sign == "==" and all(index.plain for index in node.indices):
                    self._unite(*[index.terms[0][1] for index in node.indices])
                for index in reversed(node.indices):  # as all of them are met from the last to the first
                    if index.tensor is not None:
                        self.facts.integers.add(index.tensor.name)
                        tensors.append((index.tensor, None))
            if isinstance(node, syntax.Epsilon):
                self.symbols.append(node)
            if isinstance(node, syntax.Imaginary):
                self.imaginary = node
            if isinstance(node, syntax.TensorNode):
                tensors.append((node, None))
            elif isinstance(node, syntax.CallNode) and node.axes is None and self._takes_tensors(node):
                tensors += [(a, self._assumed_order(node, k)) for k, a in enumerate(node.args)]
                self._link_result(node)
            elif isinstance(node, syntax.CallNode) and node.result is not None and node.axes is not None:
                if node.name in IN_TEXT:  # and not a function of the user's own
                    self._note_result(node, [name for index in node.axes for _, name in index.terms])
                stack.extend(node.args)
            elif isinstance(node, syntax.Derivative):
                tensors.append((node.variable, None))
                stack.append(node.body)
            else:
                stack.extend(syntax.children(node))
        for tensor, order in reversed(tensors):
            if not isinstance(tensor, syntax.TensorNode):
                continue
            if order is None or tensor.name in self.definitions:
                self._tensor(tensor, order and -1)
            else:
                self.facts.mentions.setdefault(tensor.name)
                self.whole.append((tensor, order))

    def define(self, statement: syntax.Statement, own: Recurrence | None) -> None:
        """Take in the left side of a statement; a recurrence is known by its name from its first statement on."""
        assert statement.name is not None
        indices = statement.indices or ()
        if own is None:
            self.definitions[statement.name] = Definition(tuple([index.terms[0][1] for index in indices]))
        elif statement is own.base:
            self.definitions[own.name] = Definition(own.names, None, (own.axis, own.index))
            self.steps[next_of(own.index)] = own.index
            for name, index in zip(own.names, indices, strict=True):
                if index.plain:
                    self._unite(index.terms[0][1], name)

    def collect_sizes(self, line: syntax.SizeLine) -> None:
        """Take in what is said of sizes; the statements come before."""
        for tensor in line.tensors:
            self._note(tensor.indices)
            if any(not index.plain for index in tensor.indices or ()):
                raise self.fail("In a line of sizes the indices of a tensor are names.", tensor, "Write sizes: x[i,j].")
            self._tensor(tensor, None)
        for one, other in line.linked:
            self._unite(one, other)
        for size, node in line.equations:
            self.names.add(size.name)
            if size.name in self.stated:
                raise self.fail(f"The size of {size.name!r} is given twice.", size)
            self.stated[size.name] = node
        if self.imaginary is not None and self.text[self.imaginary.end - 1 : self.imaginary.end] == "j":
            self._check_unit(self.imaginary)
        numbers = {name: node.value for name, node in self.stated.items() if isinstance(node, syntax.Number)}
        self.given = {**{name: n for name, n in numbers.items() if isinstance(n, int)}, **self.given}
        self._settle()
        self._settle_symbols()

    def _settle_symbols(self) -> None:
        """An index of a symbol with n indices has size n."""
        fixed: dict[str, int] = {}
        for node in self.symbols:
            for index in [index for index in node.indices if index.plain]:
                name, order = index.terms[0][1], len(node.indices)
                given = {n for other, n in [*self.given.items(), *fixed.items()] if self._alike(other, name)} - {order}
                if given:
                    message = (
                        f"Index {name!r} has size {order} here, as one of {order} indices, and elsewhere {min(given)}."
                    )
                    raise self.fail(message, node, "An index of eps has as many values as eps has indices.")
                fixed[name] = order
        self.given = {**self.given, **fixed}
        self._check_square()

    def _check_square(self) -> None:
        """The sizes that are given for the two axes of a declared matrix are one."""
        for name in self.symmetries:
            given = {
                index: n
                for index, n in self.given.items()
                if (name, 0) in self.index_axes.get(self.class_of(index), ())
            }
            if len(set(given.values())) > 1:
                sizes = " and ".join([f"{index!r} has size {n}" for index, n in given.items()])
                message = f"{name!r} is declared {self.symmetries[name]}, so its axes have one size; here {sizes}."
                raise NotationError(message, self.text)

    def _check_unit(self, node: syntax.Imaginary) -> None:
        """``2j`` is an imaginary number, and nobody knows what it is where ``j`` is a number too."""
        if "j" in self.definitions or "j" in self.facts.inputs:
            number = self.text[node.start : node.end - 1]
            hint = f"Write {number}*j for the product, or give the name j another one."
            raise self.fail(f"{number}j is an imaginary number, and 'j' is a name here.", node, hint)

    def _alike(self, name: str, other: str) -> bool:
        return self.class_of(name) == self.class_of(other)

    def _note(self, indices: syntax.Indices | None) -> None:
        """Remember the names of indices, where sizes are given that must name one of them."""
        if self.given and indices:
            self.names.update(name for index in indices for _, name in (*index.terms, *index.sizes))

    def _takes_tensors(self, node: syntax.CallNode) -> bool:
        """Whether a call without axes takes whole tensors: ``det(A)``, ``sum(x)``."""
        own = self.functions.get(node.name)
        if own is not None:
            return takes_whole(node, own)
        function = IN_TEXT.get(node.name)
        return (
            function is not None
            and function.kind != "elementwise"
            and all(isinstance(a, syntax.TensorNode) and a.indices is None for a in node.args)
        )

    @staticmethod
    def _assumed_order(node: syntax.CallNode, position: int) -> int:
        row = IN_TEXT.get(node.name)
        return 2 if row is not None and row.kind == "matrix" and position == 0 else 1

    def _settle(self) -> None:
        """What functions take as a whole has the order that the text says elsewhere, or else the one they assume."""
        self.facts.assumed = {node.name for node, order in self.whole if order == 1} - self.facts.inputs.keys()
        for node, order in self.whole:
            self._tensor(node, -1 if node.name in self.facts.inputs else self.orders.get(node.name, order))
        if self.whole:  # inputs are in the order in which they were written
            self.facts.inputs = {
                name: self.facts.inputs[name] for name in self.facts.mentions if name in self.facts.inputs
            }

    def _link_result(self, node: syntax.CallNode) -> None:
        """``inv(A)[i,j]`` says that i and j range over the axes of A."""
        first = node.args[0]
        if node.result is None or not isinstance(first, syntax.TensorNode) or len(node.result) > 2:
            return
        if node.name not in IN_TEXT:  # but a function of the user's own
            return
        if IN_TEXT[node.name].rectangular:
            self._note_result(node, [(first.name, 0), (first.name, 1)])
            return
        axes = (1,) if IN_TEXT[node.name].gives == "solve" else range(len(node.result))
        for axis, index in zip(axes, node.result, strict=False):
            if index.plain:
                self._link(first.name, axis, index.terms[0][1])

    def _note_result(self, node: syntax.CallNode, axes: list[tuple[str, int]] | list[str]) -> None:
        """The axes of a function's result have sizes that follow from those of its operand."""
        for place, index in enumerate(node.result or ()):
            if index.plain:
                self.results.setdefault(index.terms[0][1], (node, axes, place))

    def _tensor(self, node: syntax.TensorNode, order: int | None) -> None:
        if node.name in WORDS_OF_PYTHON:
            raise self.fail(f"{node.name!r} is no name of a tensor.", node, WORDS_OF_PYTHON[node.name])
        if node.name in IN_TEXT or node.name in self.functions:
            brackets = "" if node.indices is None else self.text[node.start + len(node.name) : node.end]
            hint = applied(node.name, brackets, self.text[node.end :])
            raise self.fail(f"{node.name!r} is a function and cannot be the name of a tensor.", node, hint)
        self.facts.mentions.setdefault(node.name)
        indices = node.indices or ()
        definition = self.definitions.get(node.name)
        count = len(definition.names) if definition else self.facts.inputs.get(node.name)
        expected = len(indices) if order is None else order
        if expected >= 0:
            if count is not None and count != expected:
                raise self._wrong_order(node, count, expected)
            if count is None:
                self.facts.inputs[node.name] = expected
        elif count is None:
            raise self.fail(
                f"The order of {node.name!r} is not known here.", node, f"Write its indices: {node.name}[i]."
            )
        if indices and indices[0].height:
            self.stands(node, node.name, tuple([index.height for index in indices]))
        if node.name in self.symmetries:
            self._check_matrix(node, expected if expected >= 0 else count)
        for axis, index in enumerate(indices):
            if definition is not None and definition.steps == (axis, index.terms[0][1] if index.terms else ""):
                index.plain = False  # the entry at a step, of which there is one more than steps
            elif index.plain:
                self._link(node.name, axis, index.terms[0][1])
            elif index.tensor is not None:
                self.facts.integers.add(index.tensor.name)
                self._note(index.tensor.indices)
                self._tensor(index.tensor, None)
            else:
                for _, name in index.terms:
                    self.reads.setdefault(self.class_of(name), []).append(Read(node.name, axis, index))

    def _check_matrix(self, node: syntax.TensorNode, order: int | None) -> None:
        """Whether what is declared can be said of a tensor: it has two indices, and both stand alike."""
        word = self.symmetries[node.name]
        if order != 2:
            message = f"{node.name!r} is declared {word}, and has not two indices here."
            raise self.fail(message, node, "Such words are said of matrices.")
        heights = {index.height for index in node.indices or ()}
        if word in ("orthogonal", "unitary") and any(heights) and not self.subscripts:
            raise self.misplaced(f"{node.name!r} is declared {word}.", node, "Write its indices in brackets.")
        if len(heights) > 1:
            message = f"{node.name!r} is declared {word}, and its indices stand at two heights."
            raise self.misplaced(message, node, "Indices that may be exchanged stand both above or both below.")

    def stands(self, node: syntax.Node, name: str, found: tuple[str, ...]) -> None:
        """Note the heights at which a tensor stands, which are the same wherever it has some."""
        given = self.facts.heights.setdefault(name, found)
        if given != found:
            raise self.fail(changed(name, given, found), node, KEEPS)

    def _wrong_order(self, node: syntax.TensorNode, count: int, found: int) -> NotationError:
        s = "index" if count == 1 else "indices"
        hint = "A tensor keeps its number of indices in a program."
        if re.search(r"\^(?:T\b|\{T\})", self.text):
            hint = in_other_words(self.text, node.start) or hint
        return self.fail(f"{node.name!r} has {count} {s} elsewhere and {found} here.", node, hint)

    def _link(self, tensor: str, axis: int, index: str) -> None:
        if tensor in self.definitions:
            self._unite(index, self.definitions[tensor].names[axis])
        else:
            axes = self.index_axes.setdefault(self.class_of(index), {})
            for own in (0, 1) if tensor in self.symmetries else (axis,):
                axes[tensor, own] = None

    def _unite(self, index: str, other: str) -> None:
        """Two indices have one size."""
        a, b = self.class_of(index), self.class_of(other)
        if a != b:
            self._class[a] = b
            axes = self.index_axes.pop(a, {})
            if axes:
                self.index_axes.setdefault(b, {}).update(axes)
            if a in self.reads:
                self.reads[b] = self.reads.get(b, []) + self.reads.pop(a)

    def class_of(self, index: str) -> str:
        """One name for all indices that must have the same size."""
        while index in self._class:
            index = self._class[index]
        return index

    def finish(self) -> Facts:
        """The facts of the program, index names written out."""
        names = dict.fromkeys([*self.index_axes, *self._class, *self.facts.ranges])
        for name in [name for name in names if name not in self.steps]:
            group = self.class_of(name)
            if group in self.index_axes:
                self.facts.groups.append((name, tuple(self.index_axes[group])))
            if group in self.facts.ranges:
                self.facts.ranges[name] = self.facts.ranges[group]
        for later in self.steps:  # which is no name of the text
            self.facts.ranges.pop(later, None)
        self.facts.sizes = dict(self.given)
        return self.facts

    # Sizes.

    def input(self, name: str) -> Expr:
        order = self.facts.inputs[name]
        shape = tuple([self.axis_size(name, axis) for axis in range(order)])
        return variable(name, shape, self.symmetries.get(name, ""), name in self.complex)

    def axis_size(self, name: str, axis: int) -> Size:
        for index, size in self.given.items():
            if (name, axis) in self.index_axes.get(self.class_of(index), ()):
                return size
        return self._own_size(name, axis)

    def _own_size(self, name: str, axis: int) -> Size:
        return dims.axis_size(name, 0 if name in self.symmetries else axis)

    def size(self, index: str, node: syntax.Node | syntax.Index) -> Size:
        """The size of an index."""
        index = self.class_of(index)
        if index not in self._size:
            if index in self._pending:
                raise self.fail(
                    f"The size of index {index!r} depends on itself.", node, f'Give it: sizes={{"{index}": …}}.'
                )
            self._pending.add(index)
            self._size[index] = self._determine(index, node)
            self._pending.discard(index)
        return self._size[index]

    def _determine(self, index: str, node: syntax.Node | syntax.Index) -> Size:
        for name, size in self.given.items():
            if self.class_of(name) == index:
                return size
        for name, stated in self.stated.items():
            if self.class_of(name) == index:
                if isinstance(stated, syntax.Size) and self.class_of(stated.name) == index:
                    return index_size(stated.name)
                self.facts.ranges[index] = size = self.size_of(stated)
                return size
        axes = self.index_axes.get(index)
        step = next((t for later, t in self.steps.items() if self.class_of(later) == index), None)
        if step is not None and not (axes and self._unknown(step)):
            self.facts.ranges[index] = size = self.size(step, node) + 1
            return size
        if axes:
            return min((self._own_size(*axis) for axis in axes), key=dims.rank)
        if self.reads.get(index):
            return self._range(index, node)
        for name, (call, operands, place) in self.results.items():
            if self.class_of(name) == index:
                own = [self.size(a, call) if isinstance(a, str) else self.axis_size(*a) for a in operands]
                shape = IN_TEXT[call.name].result
                assert shape is not None
                return shape([tuple(own)])[place]
        for later, step in self.steps.items():  # from all entries of a recurrence, if nothing else tells
            if self.class_of(step) == index and self.class_of(later) in self.index_axes:
                return self.size(later, node) - 1
        return index_size(index)

    def _unknown(self, index: str) -> bool:
        """Whether nothing in the text tells the size of an index."""
        index = self.class_of(index)
        said = {self.class_of(name) for name in (*self.given, *self.stated, *self.results)}
        return index not in said and index not in self.index_axes and not self.reads.get(index)

    def size_of(self, node: syntax.Node) -> Size:
        """The size that an expression is: whole numbers, sizes, sums, products, minimum(a, b) and floor(a/b)."""
        total: Size = 0
        if isinstance(node, syntax.Number) and isinstance(node.value, int):
            return node.value
        if isinstance(node, syntax.Size):
            return self.size(node.name, node)
        if isinstance(node, syntax.Neg):
            return -1 * self.size_of(node.body)
        if isinstance(node, syntax.SumNode):
            for sign, term in node.terms:
                total = total + sign * self.size_of(term)
            return total
        if isinstance(node, syntax.ProductNode) and all(exponent > 0 for exponent, _ in node.factors):
            total = 1
            for _, factor in node.factors:
                total = total * self.size_of(factor)
            return total
        if isinstance(node, syntax.CallNode) and node.name == "minimum":
            return dims.minimum(*map(self.size_of, node.args))
        inner = node.args[0] if isinstance(node, syntax.CallNode) and node.name == "floor" else None
        if isinstance(inner, syntax.ProductNode) and [exponent for exponent, _ in inner.factors] == [1, -1]:
            return dims.quotient(*[self.size_of(factor) for _, factor in inner.factors])
        hint = "Write whole numbers, |i|, +, -, *, minimum(a, b) and floor(a/b)."
        raise self.fail("A size is not computed in this way.", node, hint)

    def coefficients(self, index: syntax.Index) -> list[tuple[Size, str]]:
        """The names in an affine index and what they are multiplied by."""
        if not index.strides:
            return list(index.terms)
        strides = [self.size(name, index) if name else 1 for name in index.strides]
        return [(c * stride, name) for (c, name), stride in zip(index.terms, strides, strict=True)]

    def _range(self, index: str, node: syntax.Node | syntax.Index) -> Size:
        """All places where every read is inside its tensor."""
        lows, highs = [], []
        for read in self.reads[index]:
            coef: Size = 0
            for c, name in self.coefficients(read.index):
                coef = coef + c if self.class_of(name) == index else coef
            if coef == 0:  # x[i-j] with i = j is read at one place
                continue
            least, most = self._span(read.index, index)
            last = self.read_size(read, node) - 1
            if is_positive(coef):
                lows.append(-1 * dims.quotient(least, coef))
                highs.append(dims.quotient(last - most, coef))
            else:
                lows.append(-1 * dims.quotient(last - most, -1 * coef))
                highs.append(dims.quotient(least, -1 * coef))
        if not lows:
            return index_size(index)
        low, high = lows[0], highs[0]
        for other in lows[1:]:
            low = dims.maximum(low, other)
        if any(self.class_of(step) == index for step in self.steps.values()):
            low = 0  # where recurrences begin
        for other in highs[1:]:
            high = dims.minimum(high, other)
        self.starts[index] = low
        size = high - low + 1
        self.facts.ranges[index] = size
        if isinstance(size, int) and size < 0:
            raise self.fail(f"There is no place for index {index!r} where every read is inside its tensor.", node)
        return size

    def read_size(self, read: Read, node: syntax.Node | syntax.Index) -> Size:
        definition = self.definitions.get(read.name)
        return (
            self.axis_size(read.name, read.axis) if definition is None else self.size(definition.names[read.axis], node)
        )

    def _span(self, index: syntax.Index, but: str) -> tuple[Size, Size]:
        """The least and the greatest value of an affine index, one of its names left out."""
        least: Size = index.const
        for c, name in index.sizes:
            least = least + c * self.size(name, index)
        most = least
        for c, name in self.coefficients(index):
            if self.class_of(name) == but:
                continue
            length = self.size(name, index)
            first = c * self.start(name)
            last = first + c * (length - 1)
            least, most = (least + first, most + last) if is_positive(c) else (least + last, most + first)
        return least, most

    def start(self, index: str) -> Size:
        """The first place of an index: not 0 only where its range follows from reads."""
        return self.starts.get(self.class_of(index), 0)

    def check_read(self, read: Read) -> None:
        """A read must be inside its tensor; where sizes are not known yet, the call will check."""
        least, most = self._span(read.index, "")
        size = self.read_size(read, read.index)
        index = self.text[read.index.start : read.index.end]
        for room, side in ((least, "before the first"), (size - 1 - most, "after the last")):
            message = f"{read.name}[…{index}…] reads {side} entry of axis {read.axis} of {read.name!r}."
            if isinstance(room, int):
                if room < 0:
                    names = ", ".join(repr(name) for _, name in read.index.terms)
                    hint = f"Write every read with an offset ({names}+0) to let the range follow from them."
                    raise self.fail(message, read.index, hint if names else _negative(read, self.text))
            elif room is not least or least != 0:
                self.facts.checks.append(Check(room, message, self.text, read.index.start, read.index.end))


def _negative(read: Read, text: str) -> str:
    """What to write for ``x[-1]`` and ``A^{-1}``."""
    if text[: read.index.start].endswith("^{"):
        return INVERSE.format(read.name)
    return f"Places count from 0; the last one is {read.name}[|i|-1], i being an index of that axis."


def applied(function: str, brackets: str, rest: str) -> str:
    """What to write where a function has no bracket: ``sin x``, ``sin^2(x)``."""
    if brackets.startswith("^") and brackets[1:] and not rest.startswith("("):
        return f"Write {function}({brackets[1:].strip('{}')})."
    argument = re.match(r"(\^\d+)?(?:\s+([^\W\d]\w*(?:\[[^\[\]]*\])?)|\(([^()]*)\))", rest)
    if brackets or not argument or not (argument[1] or argument[2]):
        return f"Write {function}{brackets}(…), with no space before the bracket."
    power = f"**{argument[1][1:]}" if argument[1] else ""
    return f"Write {function}({argument[2] or argument[3]}){power}."


def is_positive(size: Size) -> bool:
    """Whether a coefficient counts as positive: it or its opposite does, by its value where all sizes are large."""
    if isinstance(size, int):
        return size > 0
    value = dims.evaluate(size, _Large())
    return value > 0 if value else min(size.terms, key=lambda term: repr(term[0]))[1] > 0


class _Large(dict):
    """Every atom is a large number."""

    def __missing__(self, atom: dims.Atom) -> int:
        return 10**6
