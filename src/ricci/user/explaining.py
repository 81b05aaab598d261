"""``trace`` and ``explain``: what ricci makes of a function, to look at."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from copy import copy
from itertools import count
from typing import Any, Unpack

from ricci import markup
from ricci.caches import lazy
from ricci.checked_calls import takes
from ricci.errors import InputError
from ricci.expr import Dim, Expr, Variable, axis_size, topological, variables
from ricci.notation.context import Check, Context, Facts
from ricci.notation.text_scope import names_a_tensor
from ricci.tracing import trees
from ricci.tracing.recording import Recording, Static
from ricci.transforms.deriving import Wanted
from ricci.transforms.formula_functions import as_function
from ricci.transforms.linear import identity
from ricci.transforms.transformed import Transformed, replace_all
from ricci.transforms.typed import P, TransformOptions
from ricci.user.formula import Formula
from ricci.user.formula_patterns import carrying_array
from ricci.wrapping import MadeOf

_LETTERS = "ijklmnpqrstuvw"
MOST_SHOWN = 400  # nodes of formulas that are written out
MOST_DERIVED = 60  # nodes of a function whose derivation is written out


@takes("rc.trace", function="function")
def trace(function: Callable[P, Any], **options: Unpack[TransformOptions]) -> Callable[P, Any]:
    """The expression that a function computes: a formula of its arguments, for arrays like those of the call.

    >>> import numpy as np, ricci as rc
    >>> def logloss(w, X, y):
    ...     return np.log1p(np.exp(-y * (X @ w))).sum()
    >>> loss = rc.trace(logloss)(np.ones(2), np.ones((3, 2)), np.ones(3))
    >>> print(loss)
    sizes: |i| = 3, |j| = 2
    logloss = 1[i] log1p(exp(-w[j] X[i,j] y[i]))
    >>> print(loss.diff("w"))
    sizes: |i| = 2, |j| = 3
    dlogloss_dw[i] = -sigmoid(-w[i'] X[j,i'] y[j]) X[j,i] y[j]

    Loops of Python's are rolled up where that is safe: a few steps are traced, and stand for all. With ``roll=False``
    all of them are.
    """
    known = as_function(function, "trace")
    return Tracing(known, as_traced(known, "trace", options))


def as_traced(function: Callable, what: str, options: Any) -> Transformed:
    """The function as one that is traced; of the options, one that is transformed takes whether loops are rolled."""
    if not isinstance(function, Transformed):
        return Transformed(function, identity, what, **options)
    if options.get("roll", function.roll) == function.roll:
        return function
    other = copy(function)
    other.roll = not function.roll
    other.forget()
    return other


class Tracing(MadeOf):
    """A function that gives the expression which another one computes."""

    def __init__(self, function: Callable, transformed: Transformed):
        super().__init__(function)
        self.transformed = transformed

    def __repr__(self) -> str:
        return f"<rc.trace of {getattr(self.function, '__name__', self.function)}>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        transformed = self.transformed
        recording = transformed.observed(transformed.arguments(args, kwargs))[0]
        return formulas(transformed.derive(recording), transformed.what in ("trace", "compile"))


def formulas(recording: Recording, named: bool = True, checks: Sequence[Check] = ()) -> Any:
    """The results of a recording as formulas, in their tree; with the name of the function unless they are others."""
    carried = {name: carrying_array(_plain(array), name) for name, array in recording.captured.items()}
    facts = Facts(groups=recording.groups(), checks=list(checks))
    for v, dtype in zip(recording.inputs, recording.dtypes, strict=True):
        facts.inputs[v.name], facts.mentions[v.name] = v.order, None
        if dtype.kind in "iu":
            facts.integers.add(v.name)
    context = Context(facts)
    exprs = [out for out in recording.outputs if isinstance(out, Expr)]
    carrying: dict[Expr, Expr] = {v: carried[v.name].expr for e in exprs for v in _captured(e, carried)}
    for formula in carried.values():
        context = context.merged(formula.context)
    made = iter(replace_all(exprs, carrying) if carrying else exprs)
    name = recording.name if named and names_a_tensor(recording.name) and recording.name not in facts.inputs else None
    leaves = []
    told = recording.axes.get("return", ()) if named and len(exprs) == 1 else ()
    for out in recording.outputs:
        leaves.append(out.value if isinstance(out, Static) else _formula(next(made), context, name, told))
    return trees.unflatten(recording.out_form, leaves)


def _plain(array: Any) -> Any:
    return getattr(array, "value", array)


def _captured(e: Expr, carried: dict[str, Formula]) -> list[Variable]:
    return [v for v in variables(e) if v.name in carried]


def _formula(e: Expr, context: Context, name: str | None, told: Sequence[str]) -> Formula:
    return Formula(e, _indices(e, context.facts, told), context, name)


def _indices(e: Expr, facts: Facts, told: Sequence[str]) -> list[str]:
    """The indices of a result: those that a signature tells, those of arguments whose sizes it has, and letters."""
    own = {axis_size(*axis): name for name, axes in facts.groups for axis in axes}
    wanted = list(told) if len(told) == e.order else [own.get(n, "") if isinstance(n, Dim) else "" for n in e.shape]
    taken = {name for name, _ in facts.groups}
    letters = (x for k in count() for x in (f"{c}{k or ''}" for c in _LETTERS) if x not in taken)
    found: list[str] = []
    for name in wanted:
        name = name or next(letters)
        while name in found:
            name += "'"
        found.append(name)
    return found


class Explanation:
    """What a transformed function computes and how: it prints. What is large is not written out, but said to be."""

    def __init__(self, title: str, formula: Any, derivation: Callable[[], str], plan: Any, source: str, loops: str):
        self.title, self.formula, self.plan, self.source = title, formula, plan, source
        self.loops = loops  # those of Python's that were not rolled up, and why
        self._derivation = derivation

    @lazy
    def derivation(self) -> str:
        """The steps that lead to the derivative, each with its rule; empty where nothing is derived."""
        return self._derivation()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "derivation": self.derivation, "_derivation": None}  # the text travels, not the function

    def __str__(self) -> str:
        parts = [("formula", self._formulas()), ("loops step by step", self.loops), ("derivation", self.derivation)]
        parts += [("plan", str(self.plan)), ("source", self.source)]
        written = [f"{word}\n{'─' * len(word)}\n{text.rstrip()}" for word, text in parts if text]
        return "\n\n".join([self.title, *written])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        plan = self.plan._repr_html_() if hasattr(self.plan, "_repr_html_") else markup.block(str(self.plan))
        parts = [
            ("formula", self._formulas() and markup.block(self._formulas())),
            ("loops step by step", self.loops and markup.block(self.loops)),
            ("derivation", self.derivation and markup.block(self.derivation)),
            ("plan", markup.Element(plan)),
            ("source", self.source and markup.block(self.source.rstrip())),
        ]
        opened = ("formula", "derivation")
        shown = [markup.folded(name, inside, name in opened) for name, inside in parts if inside]
        return markup.card(self.title, *shown)

    def _formulas(self) -> str:
        """The formulas as text; of large ones how large they are."""
        shown = [f for f in trees.flatten(self.formula)[0] if isinstance(f, Formula)]
        size = len(topological(*[f.expr for f in shown]))
        return "\n".join(map(str, shown)) if size <= MOST_SHOWN else f"{size} nodes; `.formula` has it"


@takes("rc.explain", function="function")
def explain(function: Callable[P, Any], **options: Unpack[TransformOptions]) -> Callable[P, Explanation]:
    """The formula, the derivation, the plan and the source of a transformed function, for the arguments of a call.

    >>> import numpy as np, ricci as rc
    >>> print(rc.explain(rc.grad(lambda x: (x**2).sum()))(np.ones(3)).formula)
    sizes: |i| = 3
    2 x[i]
    """
    return Explaining(as_traced(function, "compile", options))


class Explaining(MadeOf):
    """A function that explains what a transformed one does with its arguments."""

    function: Transformed

    def __repr__(self) -> str:
        return f"<rc.explain of {self.function!r}>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Explanation:
        transformed = self.function
        arguments = transformed.arguments(args, kwargs)
        program = transformed.program(arguments)
        arrays = arguments.traced
        program.run(arrays)
        simplified = iter(program.compiled.stage.written)
        derived = program.derived
        outputs = [out if isinstance(out, Static) else next(simplified) for out in derived.outputs]
        shown = formulas(
            derived.with_outputs(derived.out_form, outputs, derived.out_dtypes), derived is program.recording
        )
        title = f"{transformed!r}"[1:-1]
        compiled = program.compiled
        derivation = functools.partial(_derivation, transformed, program.recording)
        told = dict.fromkeys([f"{place}\n  {why}" for place, why in program.recording.unrolled])
        return Explanation(title, shown, derivation, compiled.plan, compiled.source, "\n".join(told))


def _derivation(transformed: Transformed, recording: Recording) -> str:
    """The steps to the derivative of a scalar or an array by each argument; of an order that the transform has."""
    orders = {"grad": 1, "value_and_grad": 1, "jacobian": 1, "jacfwd": 1, "jacrev": 1, "hessian": 2}
    order = orders.get(transformed.what)
    if order is None or recording.out_form != trees.LEAF:
        return ""
    if transformed.argnums is None:
        raise InputError("There is no derivation without arguments to differentiate by.")
    formula = formulas(recording)
    size = len(topological(formula.expr))
    if size > MOST_DERIVED:
        return f"of a function of {size} nodes; rc.trace(f)(…).diff(…).derivation() has it"
    names = [v.name for v in Wanted(recording, transformed.argnums, transformed.what).inputs]
    return "\n\n".join([str(formula.diff(*[name] * order).derivation()) for name in names])
