"""Functions that a text is given by name: ``rc.parse("y[i] = s(x[i])", functions={"s": s})``.

One of ``rc.custom`` has its rule for a derivative. Any other that can be traced has the derivative of what it is; it
stays a node with its name, so that a text says what was typed, and what it is takes its place before anything is
computed. Whether a function works entry by entry is found out by tracing it on a number and on arrays: the two are the
same expression or it counts as one of whole arrays.

What such a function reads beside its arguments is read when the text is: arrays are refused, numbers are part of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ricci.caches import Cache
from ricci.errors import InputError, LimitError, RicciError
from ricci.expr import Expr, Op, Variable, elementwise, function, variable, variables
from ricci.functions.unknown import Places
from ricci.notation.context import EMPTY
from ricci.tracing import trees
from ricci.transforms.formula_functions import as_function
from ricci.user.custom import OF_ITSELF, Custom
from ricci.user.custom_formulas import OnFormulas, of_form
from ricci.user.formula import Formula

FAULTS = (RicciError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError)
_known = Cache("functions in texts", 256)


class GivenFunction:
    """A function under the name by which a text calls it."""

    def __init__(self, name: str, function: Callable[..., Any]):
        self.__name__, self.given = name, function
        if isinstance(function, Custom):
            function.check_rule()
        self.custom: Custom = function if isinstance(function, Custom) else _traced(name, function)

    def __repr__(self) -> str:
        return f"<the function {self.__name__} of a text>"

    def __reduce__(self):
        return given_function, (self.__name__, self.given)

    def check_count(self, count: int) -> str:
        """What is wrong with so many arguments, if anything is."""
        function = self.custom.function
        number = getattr(function, "nin", None)  # of NumPy's own functions, which have further parameters
        if isinstance(number, int):
            fault = "" if number == count else f"it takes {number}"
        else:
            try:
                inspect.signature(function).bind(*[None] * count)
                fault = ""
            except TypeError as error:
                fault = str(error)
            except ValueError:  # it tells nothing of its arguments
                fault = ""
        arguments = f"{count} argument{'s' * (count > 1)}"
        return f"{self.__name__} does not take {arguments}: {fault}." if fault else ""

    def by_entry(self, count: int, order: int) -> Op | str:
        """Its row, where it works entry by entry on arrays with so many axes; otherwise what stands against it."""
        form = self.form(count)
        by_entry = form.works_by_entry(order) or self.takes_numbers(count) or self.is_constant(count)
        if not by_entry and not self.runs_by_entry(count):
            return self.why_not(count)
        row = form.row()
        return row if row.name == self.__name__ else self.form(count, self.__name__).row()

    def why_not(self, count: int) -> str:
        """Why it does not work entry by entry."""
        try:
            rule = self.form(count).ruled(((),) * count)
        except LimitError:
            raise
        except FAULTS as error:
            return f"{self.__name__} cannot be traced for numbers: {error}"
        if rule.body is None:
            return f"{self.__name__} runs as it is, and on arrays it does not what it does to each of their entries."
        return f"{self.__name__} does not work entry by entry: on arrays it is not what it is on each of their entries."

    def takes_numbers(self, count: int) -> bool:
        """Whether it takes numbers and no arrays, so that only its value at each entry can be meant."""
        form = self.form(count)
        try:
            if form.ruled(((),) * count).shape != ():
                return False
        except LimitError:
            raise
        except FAULTS:
            return False
        for shape in ((3,), (3, 5)):
            try:
                form.ruled((shape,) * count)
            except LimitError:
                raise
            except FAULTS:
                continue
            return False
        return True

    def is_constant(self, count: int) -> bool:
        """Whether it gives one number, whatever its arguments are: that is its value at each entry."""
        try:
            bodies = [self.form(count).ruled((shape,) * count).body for shape in ((), (3,))]
        except LimitError:
            raise
        except FAULTS:
            return False
        return bodies[0] is not None and bodies[0] is bodies[1] and not variables(bodies[0])

    def runs(self, count: int) -> bool:
        """Whether it is code that only runs, and has a rule for its derivative; then it is called for each entry."""
        try:
            rule = self.form(count).ruled(((),) * count)
        except LimitError:
            raise
        except FAULTS:
            return False
        return rule.body is None and rule.shape == ()

    def runs_by_entry(self, count: int) -> bool:
        """Whether code that only runs does to arrays what it does to their entries, at random points, or does not take
        arrays at all."""
        if not self.runs(count):
            return False
        rng = np.random.default_rng(0)
        for shape in ((3,), (2, 3)):
            arrays = [rng.uniform(0.1, 0.9, shape) for _ in range(count)]
            entries = [float(self.custom.function(*[a[place] for a in arrays])) for place in np.ndindex(*shape)]
            try:
                together = np.asarray(self.custom.function(*arrays))
            except Exception:  # whatever code for numbers does with arrays
                continue
            if together.shape != shape or not np.allclose(together, np.reshape(entries, shape), rtol=1e-6):
                return False
        return True

    def form(self, count: int, title: str = "") -> OnFormulas:
        """The function of so many arrays."""
        more = (title,) if title else ()
        return of_form(self.custom, trees.flatten(((0.0,) * count, {}))[1], (None,) * count, (True,) * count, *more)

    def whole(self, operands: Sequence[tuple[Expr, tuple[str, ...]]], places: Places = ()) -> Expr:
        """The function of whole arrays, whose axes have these names, or its derivative by those at these places."""
        parts = [Formula(e, names, EMPTY) for e, names in operands]
        return self.form(len(parts), self.__name__).whole(parts, places).expr

    def of_numbers(self, count: int) -> tuple[Sequence[Variable], Expr]:
        """Its arguments, and its value for numbers; derivatives of that are those of the function."""
        fault = self.check_count(count)
        if fault:
            raise InputError(fault)
        try:
            rule = self.form(count).ruled(((),) * count)
        except LimitError:
            raise
        except FAULTS as error:
            raise InputError(
                f"{self.__name__} is unknown in the text, and what is given for it cannot be traced for numbers: "
                f"{error} Give code that only runs a rule for its derivative, with rc.custom."
            ) from error
        if rule.shape != ():
            raise InputError(f"{self.__name__} works entry by entry, and what is given for it makes arrays of numbers.")
        if self.custom is not self.given:
            return rule.inputs, rule.body
        if rule.body is None:
            return rule.inputs, function(rule.op, tuple(rule.inputs))
        inputs = [variable(f"a{k}", ()) for k in range(count)]
        return inputs, elementwise(self.form(count).row(), *inputs)

    def check_entrywise(self, count: int, order: int) -> None:
        """An error unless it works entry by entry on arrays with so many axes."""
        by_entry = self.form(count).works_by_entry(order) or self.takes_numbers(count) or self.is_constant(count)
        if not by_entry and not self.runs(count):
            raise InputError(
                f"{self.__name__} is unknown in the text, so it works entry by entry; of what is given for it that is "
                f"not sure. {self.why_not(count)}"
            )


def _is_same(known: GivenFunction, made: GivenFunction) -> bool:
    """Whether a function is still what it was when a text last called it so: it may read numbers that have changed."""
    if known.custom is known.given:
        return True
    for form in known.custom.on_formulas.values():
        for shapes, rule in form.traced():
            try:
                again = made.form(len(shapes)).ruled(shapes)
            except LimitError:
                raise
            except FAULTS:
                return False
            if again.body is not rule.body:
                return False
    return True


def _traced(name: str, function: Callable[..., Any]) -> Custom:
    """A function without a rule: its derivative is that of what it is."""
    made = Custom(as_function(function, "parse"))
    made.rule, made.__name__ = OF_ITSELF, name
    return made


def given_function(name: str, function: Any) -> GivenFunction:
    """The function under a name; the same object for the same function, as long as that is what it was."""
    if not callable(function):
        raise InputError(f"The function {name!r} of a text is a function, or one of rc.custom, not {function!r}.")
    made = GivenFunction(name, function)
    try:
        known = _known[name, function]
    except TypeError:  # it cannot be a key
        return made
    if known is None or not _is_same(known, made):
        _known.keep((name, function), made)
        return made
    return known
