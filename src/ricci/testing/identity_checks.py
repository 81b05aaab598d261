"""Whether an identity is true: against central differences, against its textbook form, in every mode.

Each check returns what is wrong, in a sentence, or ``None``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ricci.testing.drawn_inputs import Inputs, draw, size_names
from ricci.testing.identities import LEFT, Identity, indices_of, target_name
from ricci.user.formula import Formula

MODES = ("forward", "reverse", "cross-country", "auto")
STEP = 2.0**-9  # of the larger of the two central differences
SIZES = ((3, 2, 4, 2, 3), (2, 3, 1, 2, 2), (1, 1, 1, 1, 1))  # of the named sizes, in the order in which they occur


def cases(identity: Identity) -> Iterator[Inputs]:
    """Inputs of several shapes, among them one with all sizes 1."""
    names = size_names(identity.inputs)
    for seed, sizes in enumerate(SIZES):
        yield draw(identity.inputs, dict(zip(names, sizes, strict=False)), np.random.default_rng(seed))
        if not names:
            return


def fault(identity: Identity, rtol: float = 1e-6) -> str | None:
    """The first thing wrong with an identity.

    >>> wrong = Identity("square", "example", "f = x[i] x[i]", ("x[p]",), "3 x[p]", {"x": "n"})
    >>> print(fault(wrong))
    square: the derivative and the textbook form differ ...
    """
    for inputs in cases(identity):
        found = fault_in_differences(identity, inputs, rtol) or fault_in_textbook(identity, inputs, rtol)
        if found:
            return found
    return fault_in_modes(identity, inputs) or fault_in_form(identity)


def fault_in_differences(identity: Identity, inputs: Inputs, rtol: float = 1e-6) -> str | None:
    """Every derivative on the way to the one asked for, against central differences of the one before it."""
    lower = identity.derivative(order=0)
    for order, target in enumerate(identity.wrt, 1):
        upper = identity.derivative(order=order)
        found = central_differences(lower, inputs, target)
        words = f"the derivative of order {order} and central differences"
        problem = _difference(identity, words, value(upper, inputs, identity), found, rtol)
        if problem:
            return problem
        lower = upper
    return None


def fault_in_textbook(identity: Identity, inputs: Inputs, rtol: float = 1e-6) -> str | None:
    if identity.expected is None:
        return None if identity.note else f"{identity.name}: there is no textbook form, and the note does not say why."
    ours, theirs = value(identity.derivative(), inputs, identity), value(identity.textbook(), inputs, identity)
    return _difference(identity, "the derivative and the textbook form", ours, theirs, rtol)


def fault_in_modes(identity: Identity, inputs: Inputs, rtol: float = 1e-9) -> str | None:
    values = {mode: value(identity.derivative(mode), inputs, identity) for mode in MODES}
    found = [_difference(identity, f"auto and {mode} mode", values["auto"], values[mode], rtol) for mode in MODES[:-1]]
    return next(filter(None, found), None)


def fault_in_form(identity: Identity) -> str | None:
    """Whether the textbook form is the same expression as the derivative, where the row says so.

    Derivatives are simplified, which may write ``sigmoid(x) sigmoid(-x)`` where textbooks have ``s (1 - s)``; so the
    textbook form may be simplified too.
    """
    if not identity.exact or identity.derivative() in (identity.textbook(), identity.simplified_textbook()):
        return None
    ours, theirs = identity.derivative().named(LEFT), identity.simplified_textbook().named(LEFT)
    return f"{identity.name}: the derivative and the textbook form are not one expression:\n{ours}\n{theirs}"


def value(formula: Formula, inputs: Inputs, identity: Identity | None = None) -> np.ndarray:
    """The value, with the sizes of the indices of the derivative given where they must be."""
    sizes = target_sizes(identity, inputs) if identity else {}
    named = {name: size for name, size in sizes.items() if name in formula.indices}
    return np.asarray(formula(**inputs, sizes=named))


def target_sizes(identity: Identity, inputs: Mapping[str, np.ndarray]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for target in identity.wrt:
        shape = inputs[target_name(target)].shape
        sizes.update(zip(indices_of(target), shape, strict=True))
    return sizes


def central_differences(formula: Formula, inputs: Inputs, target: str) -> np.ndarray:
    """The derivative by ``target``, one entry of it at a time, with an error of the fourth power of the step.

    By a complex number it is half of that along the real axis, less 1j times that along the imaginary one; more, by
    its conjugate. The changes of a Hermitian matrix are those of its entries, with complex factors.
    """
    name = target_name(target)
    x = inputs[name]
    facts = formula.context.facts
    if facts.symmetries.get(name) == "hermitian":
        columns = [_by_entry_of_hermitian(formula, inputs, name, *place) for place in np.ndindex(x.shape)]
    elif name in facts.complex:
        sign = 1j if target.startswith("conj") else -1j
        along = [[_richardson(formula, inputs, name, place, unit) for unit in (1, 1j)] for place in np.ndindex(x.shape)]
        columns = [(by_x + sign * by_y) / 2 for by_x, by_y in along]
    else:
        columns = [_richardson(formula, inputs, name, place) for place in np.ndindex(x.shape)]
    result = np.stack(columns, -1)
    return result.reshape((*result.shape[:-1], *x.shape))


def _by_entry_of_hermitian(formula: Formula, inputs: Inputs, name: str, i: int, j: int) -> np.ndarray:
    """``E[i,j]`` is half of ``E[i,j] + E[j,i]``, less 1j/2 times ``1j (E[i,j] - E[j,i])``, which are Hermitian."""
    x = inputs[name]
    one = np.zeros_like(x)
    one[i, j] = 1

    def along(change: np.ndarray) -> np.ndarray:
        ends = [value(formula, {**inputs, name: x + step * change}) for step in (STEP, -STEP)]
        return (ends[0] - ends[1]) / (2 * STEP)  # in which the functions of the library are linear

    return (along(one + one.T) - 1j * along(1j * (one - one.T))) / 2


def _richardson(formula: Formula, inputs: Inputs, name: str, place: tuple[int, ...], unit: complex = 1) -> np.ndarray:
    def at(step: float) -> np.ndarray:
        moved = inputs[name].copy()
        moved[place] += step * unit
        return value(formula, {**inputs, name: moved})

    wide, close = [(at(h) - at(-h)) / (2 * h) for h in (STEP, STEP / 2)]
    return (4 * close - wide) / 3


def _difference(identity: Identity, words: str, a: np.ndarray, b: np.ndarray, rtol: float) -> str | None:
    where = f"{identity.name}: {words} differ"
    if a.shape != b.shape:
        return f"{where} in shape: {a.shape} and {b.shape}."
    error = np.max(np.abs(a - b), initial=0.0)
    scale = np.max(np.abs(b), initial=1e-3)
    return None if error <= rtol * scale else f"{where} by {error:.2g}, entries being up to {scale:.2g}."
