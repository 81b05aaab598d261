"""``rc.custom``: a function with a derivative of one's own.

The function stays one node of the expression, with the rule as its local derivative, in all modes and to all orders: a
rule is traced, so it is an expression, and can be differentiated itself. One rule suffices. It is one of

- ``.derivative``: of each operand, the derivative entry by entry, or the whole Jacobian;
- ``.jvp``: a linear function of tangents. Its derivative by a tangent is the Jacobian;
- ``.vjp``: a linear function of the incoming gradient. Its derivative by that is the Jacobian, transposed.

So each gives the local derivative, and that serves both directions. Before anything is computed, the body takes the
place of the node. A function that cannot be traced (it calls other packages, or branches on values) is run as it is, on
arrays of NumPy; its rule says what calculus needs to know of it.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Hashable, Sequence
from itertools import count
from typing import Any, Generic, TypeVar, overload

import numpy as np

from ricci.calculus.modes import derivative
from ricci.checked_calls import takes
from ricci.compiler.run.outside import Outside
from ricci.dispatch import FORMULA, TENSOR, rank_now
from ricci.errors import InputError, RuleError, ShapeError, TraceError
from ricci.expr import Expr, Op, Variable, delta, function, product, variable, variables
from ricci.kinds import kind_of
from ricci.notation.resolve import resolve
from ricci.simplify import simplify
from ricci.tracing import frames, trees
from ricci.tracing.array import Traced
from ricci.tracing.basics import checked_dtype, lift
from ricci.tracing.likeness import like_tensor
from ricci.tracing.meanings import as_tensor, of_torch, plain_values
from ricci.tracing.recording import Arguments, Recording, names_of, record
from ricci.tracing.shapes import Shaped
from ricci.transforms.formula_functions import as_function
from ricci.transforms.linearity import is_linear
from ricci.transforms.on_tensors import on_tensors
from ricci.transforms.templates import with_operands
from ricci.transforms.transformed import replace_all
from ricci.transforms.typed import P, R, R_co
from ricci.user.custom_formulas import by_entry, on_formulas
from ricci.user.custom_parts import ByParts, apart
from ricci.wrapping import MadeOf

Given = TypeVar("Given", bound=Callable | str)  # a rule

_numbers = count()
QUOTE = "'"
OF_ITSELF = ("itself", None)  # the rule of a function that has none: it is traced, and derived
EXAMPLE = 0.5  # within the domain of most functions


class Custom(MadeOf, Generic[P, R_co]):
    """A function with a rule for its derivative."""

    def __init__(self, function: Callable[P, R_co]):
        super().__init__(function)
        self.rule: tuple[str, Any] | None = None
        self.on_formulas: dict[Any, Any] = {}  # by the form of the arguments
        self.of_parts: dict[Any, Custom] = {}  # the same of the parts of complex numbers, by which arguments are

    def __repr__(self) -> str:
        return f"<rc.custom {self.__name__}>"

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "on_formulas": {}, "of_parts": {}}

    def _set(self, kind: str, rule: Any) -> Any:
        if self.rule is not None and self.rule[0] != kind:
            raise RuleError(f"{self.__name__} has a rule already, its {self.rule[0]}; one is enough for all modes.")
        if not callable(rule) and not (kind == "derivative" and isinstance(rule, str)):
            raise InputError(f".{kind} takes a function, not {type(rule).__name__}.")
        self.rule = (kind, rule)
        self.on_formulas.clear()
        self.of_parts.clear()
        return rule

    @takes("f.derivative")
    def derivative(self, rule: Given) -> Given:
        """The derivative: a function of the operands, or a text in their names, and ``y`` for the result.

        It gives the derivative entry by entry where the result has that shape, or the Jacobian, with the axes of the
        result and then those of the operand; for several operands a tuple of these.
        """
        return self._set("derivative", rule)

    @takes("f.jvp")
    def jvp(self, rule: Given) -> Given:
        """The derivative along tangents: ``rule(primals, tangents)``, both tuples; linear in the tangents."""
        return self._set("jvp", rule)

    @takes("f.vjp")
    def vjp(self, rule: Given) -> Given:
        """What flows back: ``rule(primals, gradient)`` gives a gradient for each operand; linear in ``gradient``."""
        return self._set("vjp", rule)

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves = trees.flatten((args, kwargs))[0]
        rank = rank_now(leaves)
        if rank < TENSOR:
            return _as_given(self.function(*args, **kwargs), leaves)
        if rank == TENSOR:
            return on_tensors(self, self.__name__, args, kwargs)
        self.check_rule()
        return on_formulas(self, args, kwargs) if rank == FORMULA else self._node(args, kwargs)

    def check_rule(self) -> None:
        """An error where there is no rule yet."""
        if self.rule is None:
            raise RuleError(
                f"{self.__name__} has no rule yet; give it one with @{self.__name__}.derivative, .jvp or .vjp."
            )

    def _node(self, args: tuple, kwargs: dict) -> Traced:
        """The function as one node of the expression."""
        here = frames.current()
        assert here is not None
        arguments = Arguments.of(args, kwargs)
        operands = [lift(leaf) for leaf in arguments.traced]
        rule = None if any(x.dtype.kind == "c" for x in operands) else self.ruled(arguments, operands)
        if rule is None or rule.dtype.kind == "c":
            return like_tensor(of_torch(arguments.leaves), self._by_parts(arguments, operands))
        node = function(rule.op, tuple([x.expr for x in operands]))
        here.note(node)
        return like_tensor(of_torch(arguments.leaves), Traced(node, rule.dtype, here))

    def _by_parts(self, arguments: Arguments, operands: Sequence[Traced]) -> Any:
        """The function of complex numbers, or with a complex result, as one of real numbers."""
        static = [leaf for leaf, traced in zip(arguments.leaves, arguments.arrays, strict=True) if not traced]
        complexes = tuple([x.dtype.kind == "c" for x in operands])
        key = (arguments.form, complexes, tuple(map(_identity, static)))
        found = self.of_parts.get(key)
        if found is None:
            count, keywords, forms = arguments.form

            def of_arrays(*arrays: Any) -> Any:
                given = iter(arrays)
                leaves = [
                    next(given) if t else leaf for leaf, t in zip(arguments.leaves, arguments.arrays, strict=True)
                ]
                parts = trees.unflatten(("list", len(forms), forms), leaves)
                return self.function(*parts[:count], **dict(zip(keywords, parts[count:], strict=True)))

            found = self.of_parts[key] = Custom(ByParts(of_arrays, complexes, self.__name__))
            assert self.rule is not None
            kind, rule = self.rule
            if callable(rule):
                more = {name: v for name, v in self._static(arguments).items() if name in _keywords(rule)}
                rule = functools.partial(rule, **more) if more else rule
            found.rule = found.function.rule(kind, rule)
        y: Any = found(*apart([Traced(x.expr, x.dtype, x.frame) for x in operands], complexes))
        return y[0] + 1j * y[1] if found.function.gives_complex else y

    def ruled(self, arguments: Arguments, operands: Sequence[Traced]) -> _Rule:
        """The function and its derivatives for operands of this kind."""
        static = [leaf for leaf, traced in zip(arguments.leaves, arguments.arrays, strict=True) if not traced]
        here = frames.current()
        assert here is not None
        tensor = of_torch(arguments.leaves)
        kinds = tuple([(x.shape, x.dtype) for x in operands])
        key = (self, arguments.form, kinds, tuple(map(_identity, static)), tensor is None)
        rule = here.root.rules.get(key)
        if rule is None:
            rule = here.root.rules[key] = self._rule(arguments, operands)
            rule.tensor = tensor
            assert self.rule is not None
            if rule.dtype.kind == "c":
                return rule
            rule.derive(*self.rule)  # the rule may use the function itself, and finds it then
        return rule

    def _rule(self, arguments: Arguments, operands: Sequence[Traced]) -> _Rule:
        """The function for operands of this kind: as an expression, or as code that only runs if it cannot be one."""
        name = self.__name__
        try:
            body = record(self.function, arguments)
            if body.drawn:
                raise TraceError("it draws random numbers.")
        except TraceError as error:
            if self.rule == OF_ITSELF:
                raise
            outside = _outside(self.function, name, arguments, operands, error)
            here = frames.current()
            assert here is not None
            inputs = [variable(f"{name}.{k}{QUOTE * here.depth}", x.shape) for k, x in enumerate(operands)]
            kind = (outside.shape, outside.dtype, operands, self._static(arguments))
            return _Rule(name, inputs, *kind, outside=outside, again=self._again(arguments, operands))
        if body.out_form != trees.LEAF or not isinstance(body.outputs[0], Expr):
            raise InputError(f"A function with a rule of its own returns one array; {name} does not.")
        e = body.outputs[0]
        shape: Any = e.shape
        kind = (shape, body.out_dtypes[0], operands, self._static(arguments))
        return _Rule(name, body.inputs, *kind, body=e, again=self._again(arguments, operands))

    def _again(self, arguments: Arguments, operands: Sequence[Traced]) -> Callable[[], tuple | None] | None:
        """What makes the row of a function for such operands in another process, while the function is held here."""
        if of_torch(arguments.leaves) is not None:
            return None
        static = [None if t else leaf for leaf, t in zip(arguments.leaves, arguments.arrays, strict=True)]
        given = Arguments(static, arguments.form, arguments.arrays)
        return functools.partial(_held, weakref.ref(self), given, [(x.shape, x.dtype) for x in operands])

    def _static(self, arguments: Arguments) -> dict[str, Any]:
        """The arguments that are no arrays, by name: a rule that has parameters of these names gets them."""
        count, keywords, forms = arguments.form
        names, leaves = (
            names_of(self.function, count, keywords),
            iter(zip(arguments.leaves, arguments.arrays, strict=True)),
        )
        found: dict[str, Any] = {}
        for name, form in zip(names, forms, strict=True):
            own = [next(leaves) for _ in range(trees.count(form))]
            if not any(traced for _, traced in own):
                found[name] = trees.unflatten(form, [leaf for leaf, _ in own])
        return found


def _held(custom: Callable[[], Custom | None], *given: Any) -> tuple | None:
    """A row must not hold its function, which would be freed by the collector alone."""
    found = custom()
    return None if found is None else (_row_again, (found, *given))


def _row_again(custom: Custom, arguments: Arguments, kinds: Sequence[tuple]) -> Op:
    """The row of a function that has travelled, for operands of these shapes and types."""
    return frames.apart(_traced_again, custom, arguments, kinds)


def _traced_again(custom: Custom, arguments: Arguments, kinds: Sequence[tuple]) -> Op:
    given = iter([Shaped(*kind) for kind in kinds])
    leaves = [next(given) if t else leaf for leaf, t in zip(arguments.leaves, arguments.arrays, strict=True)]
    with frames.suspended(), frames.frame(custom.__name__) as own:
        operands = [Traced(own.variable(f"a{k}", shape), dtype, own) for k, (shape, dtype) in enumerate(kinds)]
        found = custom.ruled(Arguments(leaves, arguments.form, arguments.arrays), operands)
    if own.captured:
        raise InputError(
            f"{custom.__name__} uses an array that is none of its arguments; what is made of it stays in its process, "
            "unless the array is passed as an argument."
        )
    return found.op


def _outside(
    function: Callable, name: str, arguments: Arguments, operands: Sequence[Traced], reason: TraceError
) -> Outside:
    """A function that cannot be traced, as one that runs; what it gives is learnt from an example."""
    count, keywords, forms = arguments.form

    tensor = of_torch(arguments.leaves)

    def native(*arrays: Any) -> Any:
        given = iter([as_tensor(tensor, array) for array in arrays])
        leaves = [next(given) if t else leaf for leaf, t in zip(arguments.leaves, arguments.arrays, strict=True)]
        parts = trees.unflatten(("list", len(forms), forms), leaves)
        with frames.suspended():
            return plain_values(function(*parts[:count], **dict(zip(keywords, parts[count:], strict=True))))

    shapes = [x.shape for x in operands]
    floats = [x.dtype for x in operands if x.dtype.kind == "f" and not x.weak]
    try:
        with np.errstate(all="ignore"):
            given = [np.full(x.shape, EXAMPLE, x.dtype)[()] for x in operands]
            example = np.asarray(native(*given))
    except Exception as error:
        raise TraceError(
            f"{name} cannot be traced: {reason}\nSo it is run as it is; but on an example, arrays of {EXAMPLE} of the "
            f"shapes {shapes}, it fails: {error}"
        ) from error
    dtype = checked_dtype(example.dtype)
    if dtype.kind == "f" and floats:
        dtype = np.result_type(*floats)  # in the type of its arguments, whatever it is computed in
    return Outside(native, name, tuple(map(len, shapes)), example.shape, dtype)


class _Rule:
    """A function and its derivatives by each operand, as templates: expressions of stand-ins for the operands."""

    tensor: Any = None  # a tensor of PyTorch, where there is one among the operands

    def __init__(
        self,
        name: str,
        inputs: Sequence[Variable],
        shape: tuple[int, ...],
        dtype: np.dtype,
        operands: Sequence[Traced],
        static: dict[str, Any],
        body: Expr | None = None,
        outside: Outside | None = None,
        again: Callable[[], tuple | None] | None = None,
    ):
        self.name = name
        self.inputs, self.shape, self.dtype = list(inputs), shape, dtype
        self.like = [(x.shape, x.dtype) for x in operands]  # no traced arrays: these hold all that was captured
        self.static, self.body, self.outside = static, body, outside
        if body is not None:
            self._check_closed(body, "")
        self.jacobians: list[Expr] = []
        self.op = self._op(f"custom.{self.name}.{next(_numbers)}", again)

    def derive(self, kind: str, rule: Any) -> None:
        """The local derivatives, from the rule."""
        make = {
            "derivative": self._from_derivative,
            "jvp": self._from_jvp,
            "vjp": self._from_vjp,
            OF_ITSELF[0]: self._from_itself,
        }[kind]
        self.jacobians = [simplify(j) for j in make(rule)]
        for jacobian in self.jacobians:
            self._check_closed(jacobian, "'s rule")

    def _check_closed(self, e: Expr, what: str, more: Sequence[Expr] = ()) -> None:
        here = frames.current()
        assert here is not None
        known = {*self.inputs, *more}
        for v in variables(e):
            if v not in known and v.name not in here.root.captured:
                raise TraceError(
                    f"{self.name}{what} uses a traced array that is not one of its arguments, so its derivative by "
                    "that would be lost; pass it as an argument."
                )

    def _stand_ins(self) -> list[Shaped]:
        return [Shaped(*like, self.tensor) for like in self.like]

    def _recorded(self, rule: Callable, *groups: Any) -> Recording:
        """A rule, traced on stand-ins."""
        taken = names_of(rule, len(groups), ())
        more = {name: value for name, value in self.static.items() if name in _keywords(rule) and name not in taken}
        arguments = Arguments.of(groups, more, names=more.keys())
        return record(rule, arguments, name=f"the rule of {self.name}")

    def _same(self, exprs: Sequence[Expr], inputs: Sequence[Expr]) -> list[Expr]:
        """Expressions of the rule's own stand-ins, in those of the body."""
        return replace_all(exprs, dict(zip(inputs, self.inputs, strict=False)))

    def _from_derivative(self, rule: Callable | str) -> list[Expr]:
        if isinstance(rule, str):
            return self._from_text(rule)
        found = self._recorded(rule, *self._stand_ins())
        parts = self._same(_arrays(found, len(self.inputs), self.name), found.inputs)
        return [self._whole(part, x) for part, x in zip(parts, self.inputs, strict=True)]

    def _whole(self, part: Expr, x: Variable) -> Expr:
        """A derivative entry by entry as a Jacobian; a Jacobian as it is."""
        order = len(self.shape)
        if part.shape == (*self.shape, *x.shape) and (x.shape or not order):
            return part
        if x.shape == self.shape and part.shape in (self.shape, ()):
            axes = tuple(range(order))
            deltas = [(delta(n), (k, ("in", k))) for k, n in enumerate(self.shape)]
            return product([(part, axes if part.shape else ()), *deltas], (*axes, *[("in", k) for k in axes]))
        if part.shape == (*self.shape, *x.shape):
            return part
        raise ShapeError(
            f"The derivative of {self.name} has the shape {part.shape}; entry by entry it has that of the result, "
            f"{self.shape}, and whole that of the result and of the operand, {(*self.shape, *x.shape)}."
        )

    def _from_itself(self, rule: None) -> list[Expr]:
        """The derivatives of what it is, for a function that has no rule of its own."""
        assert self.body is not None
        return [derivative(self.body, x) for x in self.inputs]

    def _from_text(self, text: str) -> list[Expr]:
        e = resolve(text, {}, derivative)[-1].value.expr
        known = {v.name.rstrip("'"): v for v in self.inputs}
        values: dict[Expr, Expr] = {}
        y = function(self.op, tuple(self.inputs))
        for v in variables(e):
            if v.name not in known and v.name != "y":
                listed = ", ".join([*known, "y"])
                raise InputError(f"The derivative of {self.name} is written in {listed}; there is no {v.name!r}.")
            values[v] = y if v.name == "y" else known[v.name]
        if len(self.inputs) != 1:
            raise InputError("A text is the derivative by one operand; for several, give a function of them.")
        return [self._whole(by_entry(e, values), self.inputs[0])]

    def _from_jvp(self, rule: Callable) -> list[Expr]:
        like = tuple(self._stand_ins())
        found = self._recorded(rule, like, like)
        n = len(like)
        if found.out_form == ("tuple", 2, (trees.LEAF, trees.LEAF)):  # the value and its derivative, as in JAX
            tangent = found.outputs[1]
        else:
            (tangent,) = _arrays(found, 1, self.name)
        assert isinstance(tangent, Expr)
        if tangent.shape != self.shape:
            raise ShapeError(f"The jvp of {self.name} has the shape {tangent.shape}; the result has {self.shape}.")
        dots = found.inputs[n:]
        self._check_linear(tangent, found, dots, "tangents")
        parts = [derivative(tangent, dot, "reverse") for dot in dots]
        return self._same(parts, found.inputs[:n])

    def _from_vjp(self, rule: Callable) -> list[Expr]:
        like = tuple(self._stand_ins())
        found = self._recorded(rule, like, Shaped(self.shape, self.dtype, self.tensor))  # type: ignore[arg-type]
        n, bar = len(like), found.inputs[-1]
        parts = []
        for part, x in zip(_arrays(found, n, self.name), self.inputs, strict=True):
            if part.shape != x.shape:
                raise ShapeError(f"The vjp of {self.name} gives the shape {part.shape} for an operand of {x.shape}.")
            self._check_linear(part, found, [bar], "gradient")
            back = derivative(part, bar, "forward")
            inner = tuple(range(len(x.shape)))
            outer = tuple(range(len(inner), len(back.shape)))
            parts.append(product([(back, (*inner, *outer))], (*outer, *inner)))
        return self._same(parts, found.inputs[:n])

    def _check_linear(self, e: Expr, found: Recording, moving: Sequence[Variable], word: str) -> None:
        here = frames.current()
        assert here is not None
        self._check_closed(e, "'s rule", found.inputs)
        dtypes = {v.name: dtype for v, dtype in zip(found.inputs, found.dtypes, strict=True)}
        if not is_linear(e, moving, dtypes, here.root.captured):
            raise RuleError(
                f"The rule of {self.name} is not linear in the {word}, so it is no derivative, and cannot be turned "
                "round for the other mode."
            )

    def _op(self, name: str, again: Callable[[], tuple | None] | None) -> Op:
        """The row of the function for these operands."""
        orders = tuple([len(x.shape) for x in self.inputs])
        return Op(
            name,
            len(orders),
            lambda *args: args,
            tuple([functools.partial(self._partial, k) for k in range(len(orders))]),
            latex=rf"\operatorname{{{{{self.name}}}}}({{0}})",
            works_on=orders,
            result=lambda shapes: self.shape,
            rectangular=True,
            body=None if self.body is None else functools.partial(self._placed, self.body),
            outside=self.outside,
            again=again,
        )

    def _partial(self, number: int, operands: tuple, y: Expr, params: tuple) -> Expr:
        if not self.jacobians:
            raise RuleError(
                f"The rule of {self.name} is written with {self.name} of what it shall be linear in, so its derivative "
                "is not known before itself; write it without, or give the Jacobian as .derivative."
            )
        return self._placed(self.jacobians[number], operands)

    def _placed(self, template: Expr, operands: Sequence[Expr]) -> Expr:
        return with_operands(template, self.inputs, operands)


def _as_given(result: Any, leaves: Sequence[Any]) -> Any:
    """A result of NumPy's functions for arrays of JAX, which they take and do not give, as one of JAX."""
    if not isinstance(result, (np.ndarray, np.generic)) or "jax" not in map(kind_of, leaves):
        return result
    import jax.numpy

    return jax.numpy.asarray(result)


def _keywords(rule: Callable) -> list[str]:
    """The parameters of a rule that can be given by name."""
    try:
        parameters = inspect.signature(rule).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


def _identity(value: Any) -> Hashable:
    """What a static argument is told from others by."""
    return (type(value), value) if isinstance(value, Hashable) else id(value)


def _arrays(found: Recording, number: int, name: str) -> list[Expr]:
    outputs = [out for out in found.outputs if isinstance(out, Expr)]
    if len(outputs) != number:
        raise InputError(f"The rule of {name} gives {len(outputs)} arrays; it should give {number}, one each.")
    return outputs


@takes("rc.custom", function="function")
def custom(function: Callable[P, R]) -> Custom[P, R]:
    """A function whose derivative is given by a rule: ``.derivative``, ``.jvp`` or ``.vjp``; one is enough.

    >>> import numpy as np, ricci as rc
    >>> @rc.custom
    ... def sigmoid(x):
    ...     return 1 / (1 + np.exp(-x))
    >>> @sigmoid.derivative
    ... def _(x):
    ...     y = sigmoid(x)
    ...     return y * (1 - y)
    >>> rc.grad(lambda x: sigmoid(x).sum())(np.zeros(2))
    array([0.25, 0.25])
    """
    return Custom(as_function(function, "custom"))
