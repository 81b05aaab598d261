"""What a recorded call means: an operation, that is expressions of its inputs, and its pullback, another one.

The value of a call on tensors is what NumPy's function gives for their values. Its derivative is that of the lowering
of the same function: the call is repeated once with traced arrays of the same shapes, which gives expressions
``y = f(a0, a1, …)``; the calculus turns them into ``pullback(bar; a0, a1, …)``, and the compiler makes that a program.
All of it is kept, by function, shapes, types and whatever else the call was given.

The pullback is an operation like any other, so it can itself be recorded and differentiated; that is all there is to
second and higher derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import getitem
from typing import Any

import numpy as np

from ricci.caches import Cache
from ricci.calculus.gradients import pulled
from ricci.dispatch import Rule
from ricci.errors import InputError, LimitError, RicciError
from ricci.expr import Elementwise, Expr, Function, Variable, add, substitute, topological, variable
from ricci.expr.structures import is_zero
from ricci.simplify import simplify_all
from ricci.tensor.call_keys import EXPONENTS, CallKey
from ricci.tensor.links import GraphCall, GraphNode, Recorded
from ricci.tensor.programs import TensorProgram
from ricci.tracing.array import Traced
from ricci.tracing.basics import real_type
from ricci.tracing.carried_names import axis_names
from ricci.tracing.frames import apart, frame, suspended
from ricci.tracing.lowered import lowered
from ricci.tracing.lowerings import name_of
from ricci.tracing.trees import LEAF, Form, flatten

MOST_OPERATIONS = 1024
MOST_OWN = 64  # of a function of the user's
MOST_NAMINGS = 64
INDICES_BEFORE_GATHER = 16  # different whole numbers as an index, before it becomes an input
Dtypes = tuple[np.dtype | None, ...]


class Operation:
    """Expressions of inputs. ``dtypes`` are those of the inputs, None for Python's numbers."""

    def __init__(
        self,
        name: str,
        inputs: Sequence[Variable],
        dtypes: Dtypes,
        bodies: Sequence[Expr | None],
        results: Dtypes,
        bound: dict[str, Any],
        form: Form = LEAF,
        depth: int = 0,
    ):
        self.name, self.inputs, self.dtypes = name, tuple(inputs), dtypes
        self.bodies, self.results = tuple(bodies), results
        self.bound, self.form, self.depth = bound, form, depth
        self.plain: dict[int, Any] = {}  # results that are no traced arrays, by position
        self.smooth = tuple(  # results that gradients come back for
            [k for k, d in enumerate(results) if bodies[k] is not None and d is not None and d.kind in "fc"]
        )
        self.takes_result = False  # for a pullback: whether its last input is the result that it goes back from
        self._program: TensorProgram | None = None
        self._pullbacks: dict[tuple[int, ...], Operation] = {}
        self._namings: Cache | None = None

    @property
    def program(self) -> TensorProgram:
        """The program that computes the results."""
        if self._program is None:
            self._program = TensorProgram(self.bodies, self.inputs, self.dtypes, self.bound, self.results)
        return self._program

    def pullback(self, needed: tuple[int, ...]) -> Operation:
        """From the gradients of the smooth results, and the inputs, the gradients of the inputs ``needed``."""
        found = self._pullbacks.get(needed)
        if found is None:
            found = self._pullbacks[needed] = self._pulled_back(needed)
        return found

    def _pulled_back(self, needed: tuple[int, ...]) -> Operation:
        wanted = [self.inputs[k] for k in needed]
        bars: list[Variable] = []
        terms: list[list[Expr]] = [[] for _ in needed]
        for k in self.smooth:
            body = self.bodies[k]
            assert body is not None
            complex_result = self.results[k].kind == "c"  # type: ignore[union-attr]
            bars.append(variable(f"bar{self.depth}_{k}", body.shape, complex=complex_result))
            for own, part in zip(terms, pulled([body], bars[-1:], wanted, turned=True), strict=True):
                own += [] if is_zero(part) else [part]
        roots = simplify_all([add([(1, part) for part in own]) for own in terms if own])
        inputs, dtypes = (*bars, *self.inputs), (*[self.results[k] for k in self.smooth], *self.dtypes)
        known = self._known_result(roots)
        if known is not None:
            roots = [substitute(root, {self.bodies[0]: known}) for root in roots]  # type: ignore[dict-item]
            inputs, dtypes = (*inputs, known), (*dtypes, self.results[0])
        found = iter(roots)
        bodies = [next(found) if own else None for own in terms]
        results = tuple([self.dtypes[k] for k in needed])
        name = f"{self.name} backward" if not self.depth else self.name
        back = Operation(name, inputs, dtypes, bodies, results, self.bound, depth=self.depth + 1)
        back.takes_result = known is not None
        return back

    def _known_result(self, roots: Sequence[Expr]) -> Variable | None:
        """The result as an input of the pullback, where that needs it: the derivative of exp(x) is the result."""
        body = self.bodies[0]
        if len(self.bodies) > 1 or not isinstance(body, (Elementwise, Function)) or body not in topological(*roots):
            return None
        return variable(f"out{self.depth}", body.shape, complex=body.complex)

    def namings(self, known: tuple[tuple[str | None, ...] | None, ...]) -> list[tuple[str | None, ...] | None]:
        """The names of the axes of each result, by those of the inputs."""
        if self._namings is None:
            self._namings = Cache("names of axes of operations", MOST_NAMINGS)
        found = self._namings[known]
        if found is None:
            given: dict[Expr, Any] = {
                v: names for v, names in zip(self.inputs, known, strict=True) if names is not None
            }
            found = [None if body is None else axis_names(body, given, self.name) for body in self.bodies]
            self._namings.keep(known, found)
        return found


class OperationUse:
    """An operation, with the positions of the inputs whose gradients are wanted."""

    __slots__ = ("needed", "operation", "program", "takes_result")

    def __init__(self, operation: Operation, needed: tuple[int, ...]):
        self.operation, self.needed = operation, needed
        self.program: TensorProgram | None = None  # that of the pullback, once it has been asked for

    @property
    def pull(self) -> Operation:
        """The pullback."""
        return self.operation.pullback(self.needed)

    def compiled(self) -> TensorProgram:
        """The program of the pullback."""
        self.takes_result = self.pull.takes_result
        self.program = self.pull.program
        return self.program


_operations = Cache("operations of tensors", MOST_OPERATIONS)
_flat = Cache("calls on tensors", MOST_OPERATIONS)
_quick = _flat.known
_indices = Cache("numbers that arrays were indexed by", MOST_OPERATIONS)  # sets of them, by shapes
PLAIN = frozenset([float, int, type(None), str])  # arguments that are told apart by their values
NEEDS_VALUES = object()  # in place of an operation that depends on the values of its arguments


class OwnRule(Rule):
    """A rule made of a function of the user's: its operations are kept with it, and nowhere else."""

    __slots__ = ("flat", "operations")

    def __init__(self, lower: Callable[..., Any], name: str):
        super().__init__(lower, name)
        self.operations = Cache("operations of functions on tensors", MOST_OWN)
        self.flat = Cache("calls of functions on tensors", MOST_OWN)


def resolve(node: GraphNode) -> OperationUse:
    """What a recorded call means; the node keeps it."""
    if node.function is getitem:
        return _of_entries(node)
    if type(node) is GraphNode:
        return _of_flat(node, node.parents)
    if isinstance(node.function, Rule) and not node.kwargs:
        return _of_flat(node, node.args)
    if type(node.function) is Operation:
        node.inputs = node.args
        node.operation = OperationUse(node.function, _needed(node.args))
        return node.operation
    return _general(node)


def _of_entries(node: GraphNode) -> OperationUse:
    x, key = node.args
    if isinstance(node, GraphCall):
        node.args = (x, _gathering(x, key))
    else:
        node.parents = (x, _gathering(x, key))
    return _general(node)


def _of_flat(node: GraphNode, args: tuple) -> OperationUse:
    """The same for functions of tensors, arrays and numbers, which most calls are, with a key that is quickly made."""
    function = node.function
    key: list[Any] = [function]
    static = type(function) is not np.ufunc or function in EXPONENTS  # whether numbers are part of the key
    inputs = args
    for a in args:
        kind = type(a)
        if isinstance(a, Recorded):
            if a._axes is not None and isinstance(function, Rule):
                return _general(node)
            v = a._value
            if type(v) is np.float64:
                key.append(a.requires_grad)
            else:
                key += (v.shape, v.dtype, a.requires_grad)
        elif kind is np.ndarray:
            key += (a.shape, a.dtype, None)
        elif kind not in PLAIN:
            return _general(node)
        elif static:
            key += (kind, a)
            inputs = ()
        else:
            key.append(float)
    quick = tuple(key)
    found = _quick.get(quick)
    if found is None:
        calls = function.flat if type(function) is OwnRule else _flat
        found = calls[quick]
    inputs = inputs or tuple([a for a in args if type(a) not in PLAIN])
    if found is None:
        found = _general(node)
        if list(map(id, node.inputs)) != list(map(id, inputs)):
            return found
        calls.keep(quick, found)
    node.inputs = inputs
    node.operation = found
    return found


def _general(node: GraphNode) -> OperationUse:
    use = _found(node, by_value=False)
    node.operation = use if use is not NEEDS_VALUES else _found(node, by_value=True)
    return node.operation


def resolved(node: GraphNode) -> GraphNode:
    """The node, which knows now what it means."""
    if node.operation is None:
        resolve(node)
    return node


def names_from(t: Recorded, known: Callable[[Any], Sequence[str | None] | None]) -> Sequence[str | None] | None:
    """The names of the axes of ``t``, by those that it or what it was made of carries, or that are known of it."""
    found: dict[int, Sequence[str | None] | None] = {}
    waiting: list[Recorded] = [t]
    while waiting:
        x = waiting[-1]
        own = known(x) or x._axes
        before = [] if own or x.node is None else [p for p in resolved(x.node).inputs if isinstance(p, Recorded)]
        missing = [p for p in before if id(p) not in found]
        if missing:
            waiting += missing
            continue
        waiting.pop()
        node = x.node
        if node is not None and any(found[id(p)] for p in before):
            given = tuple([found.get(id(p)) if isinstance(p, Recorded) else None for p in node.inputs])
            own = node.operation.operation.namings(given)[x.index]
        found[id(x)] = tuple(own) if own else None
    return found[id(t)]


def _needed(inputs: Sequence[Any]) -> tuple[int, ...]:
    return tuple([k for k, x in enumerate(inputs) if isinstance(x, Recorded) and x.requires_grad])


def _found(node: GraphNode, by_value: bool) -> Any:
    called = CallKey(node, by_value)
    key = called.key
    operations = _operations_of(node.function)
    node.inputs = tuple(called.inputs)
    found = operations[key] if key is not None else None
    if found is not None:
        return found
    try:
        operation, met, drawn = apart(_lowered, node, called)
    except LimitError:
        raise
    except RicciError:
        if by_value or len(_needed(node.inputs)) == len(node.inputs):
            raise
        if key is not None:
            operations.keep(key, NEEDS_VALUES)
        return NEEDS_VALUES
    if met or drawn:  # what a function met may be something else the next time, so it is called again each time
        met = tuple([x.copy() if type(x) is np.ndarray else x for x in met])  # as they are now
        node.inputs += met
        node.parents += met
        return OperationUse(operation, _needed(node.inputs))
    made = OperationUse(operation, _needed(node.inputs))
    if key is not None:
        operations.keep(key, made)
    return made


def _operations_of(function: Any) -> Cache:
    return function.operations if type(function) is OwnRule else _operations


def _lowered(node: GraphNode, called: CallKey) -> tuple[Operation, tuple, bool]:
    """The call with traced arrays as inputs, and what else it took as inputs: arrays and tensors that a rule met.

    At last whether it drew random numbers.
    """
    arrays = [x._value if isinstance(x, Recorded) else x for x in called.inputs]
    names = [f"a{k}" for k in range(len(arrays))]
    with suspended(), frame("a tensor operation", frozenset(names)) as own:
        given = list(zip(names, arrays, _types(arrays), strict=True))
        inputs = [own.variable(name, np.shape(x), dtype) for name, x, dtype in given]
        stand_ins: list[Any] = [Traced(v, d, own) for v, (_, _, d) in zip(inputs, given, strict=True)]
        if called.with_names:
            own.named.update({v: x._axes for v, x in zip(inputs, called.inputs) if getattr(x, "_axes", None)})
        args, kwargs = called.replaced(stand_ins)
        rule = isinstance(node.function, Rule)
        result = node.function.lower(*args, **kwargs) if rule else lowered(node.function, args, kwargs)
    bound, met = dict(own.captured), ()
    if rule:
        met, bound = tuple(bound.values()), {}
        inputs += [own.known[id(x)] for x in met]
        arrays += met
    shared = _operations_of(node.function) if met else None
    return _operation(operation_name(node.function), inputs, arrays, result, bound, shared), met, own.drawn


def _types(arrays: Sequence[Any]) -> list[np.dtype]:
    """The types of inputs; Python's numbers have that of the floats beside them."""
    floats = [real_type(x.dtype) for x in arrays if hasattr(x, "dtype") and x.dtype.kind in "fc"]
    weak = np.result_type(*floats) if floats else np.dtype(np.float64)
    return [x.dtype if hasattr(x, "dtype") else weak for x in arrays]


def _operation(
    name: str, inputs: list[Variable], arrays: list[Any], result: Any, bound: dict[str, Any], shared: Cache | None
) -> Operation:
    """The operation with this result of traced arrays, kept in ``shared`` for others with the same expressions."""
    leaves, form = flatten(result)
    traced = [leaf if isinstance(leaf, Traced) else None for leaf in leaves]
    dtypes = tuple([None if type(x) in (int, float) else x.dtype for x in arrays])
    bodies = tuple([None if x is None else x.expr for x in traced])
    results = tuple([None if x is None else x.dtype for x in traced])
    key = (name, tuple(inputs), dtypes, bodies, results, form)
    found = None if shared is None else shared[key]
    if found is None:
        found = Operation(name, inputs, dtypes, bodies, results, bound, form)
        if shared is not None:
            shared.keep(key, found)
    found.plain = {k: leaf for k, leaf in enumerate(leaves) if traced[k] is None}
    return found


def _gathering(x: Any, key: Any) -> Any:
    """An index whose whole numbers keep changing, as in a loop over rows, with these numbers as inputs.

    With a number in the program itself, an entry is read and written back as a slice, which is fast; but each number
    makes a program of its own.
    """
    parts = key if type(key) is tuple else (key,)
    if not any(type(part) is int for part in parts):
        return key
    pattern = (x.shape, *[type(part) for part in parts])
    seen = _indices.known.get(pattern) or _indices.made(pattern, set)
    if len(seen) < INDICES_BEFORE_GATHER:
        seen.add(hash(tuple([part for part in parts if type(part) is int])))
        return key
    if any(type(part) not in (int, slice, type(Ellipsis)) for part in parts):
        return key
    changed = tuple([np.int64(part) if type(part) is int else part for part in parts])
    return changed if type(key) is tuple else changed[0]


def operation_name(function: Any) -> str:
    """What an operation is called: ``add``, ``np.linalg.inv`` is ``inv``."""
    if isinstance(function, (Operation, Rule)):
        return function.name
    if function is getitem:
        return "getitem"
    return name_of(function).rpartition("np.")[2].removeprefix("linalg.").removeprefix("scipy.special.")


def checked_unchanged(x: Recorded, number: int, name: str) -> None:
    """An error if ``x`` was changed after the call with this number took it."""
    if x.changed > number:
        what = f"the tensor {x.name!r}" if x.name else f"a tensor of shape {x.shape}"
        raise InputError(
            f"backward needs {what} as it was when {name} took it, and it was changed in place since then. "
            "Change tensors after backward, or take a copy first: Tensor(x), or x = x + v in place of x += v."
        )
