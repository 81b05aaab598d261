"""What a row of the library of identities is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ricci.simplify import simplify
from ricci.user.entry import parse
from ricci.user.formula import Formula

LEFT = "derivative"  # the name of the textbook form, where it is parsed


@dataclass(frozen=True)
class Identity:
    """A function, by what it is differentiated, and the derivative as a textbook has it, all in index notation.

    ``expected`` is the right side only: its indices are those of the function, then those of ``wrt``. It may use the
    names that ``text`` defines, and may itself be a program that ends with the right side. ``None`` stands for no
    closed form in this notation; ``note`` then says why. ``inputs`` says how to draw values, see
    :mod:`ricci.identities.inputs`. ``exact`` means that the derivative and the parsed textbook form are one object,
    as parsed or when simplified; the other rows are equal in value.

    >>> square = Identity("square", "example", "f = x[i] x[i]", "x[p]", "2 x[p]", {"x": "n"})
    >>> square.derivative() == square.textbook()
    True
    """

    name: str
    field: str
    text: str
    wrt: str | tuple[str, ...]
    expected: str | None
    inputs: Mapping[str, str]
    note: str = ""
    exact: bool = True

    @property
    def targets(self) -> tuple[str, ...]:
        """The variables in turn, as they are given to ``diff``."""
        return (self.wrt,) if isinstance(self.wrt, str) else self.wrt

    def function(self) -> Formula:
        return parse(self.text)

    def derivative(self, mode: str = "auto", order: int | None = None) -> Formula:
        """The derivative that ricci finds, by all of ``wrt`` or by the first ``order`` of them."""
        targets = self.targets[:order]
        return self.function().diff(*targets, mode=mode) if targets else self.function()

    def textbook(self) -> Formula:
        """The textbook form, parsed; only where there is one."""
        assert self.expected is not None
        names = [*self.function().indices, *[name for target in self.targets for name in indices_of(target)]]
        *before, last = [self.text, *self.expected.split(";")]
        left = f"{LEFT}[{','.join(names)}]" if names else LEFT
        return parse(";".join([*before, f"{left} = {last}"]))

    def simplified_textbook(self) -> Formula:
        """The textbook form after the same simplification that derivatives go through."""
        form = self.textbook()
        return Formula(simplify(form.expr), form.indices, form.context)


def indices_of(target: str) -> list[str]:
    """The indices in ``"x[p,q]"``; none in ``"x"``."""
    inside = target.partition("[")[2].rstrip("] ")
    return [word.strip() for word in inside.split(",")] if inside else []


def row(field: str) -> Callable[..., Identity]:
    """A maker of the rows of one field: name, text, wrt, expected, inputs, note, exact."""

    def make(name: str, text: str, wrt: str | tuple[str, ...], expected: str | None, inputs: dict, note="", exact=True):
        return Identity(name, field, text, wrt, expected, inputs, note, exact and expected is not None)

    return make
