r"""The lines of a derivation, of an equation and of LaTeX in numbers: whether each ``=`` stands between equals.

A line is read as a text of the notation, after the lines that define its parts; LaTeX is read by ``latex_reader``
first. Beside the text a reader knows the arrays of the inputs, and of the left side how large it is. What a line must
be equal to is computed without the derivation: the derivative that is compiled, and of a part that has a line of its
own, central differences.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from latex_reader import read

import ricci as rc
from ricci.functions.table import IN_TEXT
from ricci.notation import syntax
from ricci.notation.heights import flipped
from ricci.notation.occurrences import free_indices
from ricci.notation.parser import parse_program
from ricci.show import text as text_form
from ricci.show.derivation import Derivation

Inputs = Mapping[str, np.ndarray]
STEP = 2.0**-11


@dataclass
class Line:
    """What defines parts and says sizes, and the two sides; where there is no left, it is that of the line before."""

    rule: str
    before: list[str]
    left: str
    right: str

    def __str__(self) -> str:
        return "\n".join([*self.before, f"{self.left} = {self.right}   ({self.rule})"])


def lines_of_text(derivation: Derivation) -> Iterator[Line]:
    for step in derivation:
        *before, last = step.text.split("\n")
        left, _, right = last.partition("= ")
        yield Line(step.rule, before, left.strip(), right)


def lines_of_latex(derivation: Derivation) -> Iterator[Line]:
    for step in derivation:
        *before, last = step.latex().split(" \\\\\n")
        left, _, right = last.partition(" &= ")
        right = right.rpartition(r" && \text{")[0]
        yield Line(step.rule, [read(b) for b in before], read(left.strip()), read(right))


@dataclass
class Sides:
    """Reads the lines of a derivation one after the other, and says which do not hold."""

    chain: list[rc.Formula]  # the function, its derivative, …
    inputs: Inputs
    given: dict[str, int] = field(default_factory=dict)  # sizes of indices, for those that no input has
    values: list[np.ndarray] = field(default_factory=list)
    definitions: dict[str, str] = field(default_factory=dict)
    sizes: list[str] = field(default_factory=list)
    main: str = ""  # the definition of the function, for lines that speak of it

    def __post_init__(self):
        self.inputs = {**self.chain[0].context.facts.values, **self.inputs}
        self.given = with_sizes(self.chain[0], self.inputs, self.given)[1]
        self.values = [evaluate(f, self.inputs, self.given) for f in self.chain]

    def fault_in_values(self) -> str | None:
        """Whether the compiled derivatives are those that central differences find, where these settle."""
        for lower, upper, value in zip(self.chain, self.chain[1:], self.values[1:], strict=False):
            by = upper.origin.by.name

            def at(x: np.ndarray, lower: rc.Formula = lower, by: str = by) -> np.ndarray:
                return evaluate(lower, {**self.inputs, by: x}, self.given)

            wide, close = (differences(at, self.inputs[by], step) for step in (STEP, STEP / 8))
            settled = difference(wide, close, 1e-5) is None and np.all(np.isfinite(close))
            fault = difference(value, close, 1e-4) if settled else None
            if fault:
                return f"{upper}\n  {fault} by central differences"
        return None

    def faults(self, lines: Iterator[Line]) -> Iterator[str]:
        left, right = "", np.zeros(0)
        for line in lines:
            for text in line.before:
                self.define(text)
            if line.left and line.left != left:
                left = line.left
                right = self.meant(left, line.right)
            try:
                shown = self.value(left, line.right, right.shape)
            except Exception as error:
                yield f"{line}\n  is not read: {type(error).__name__}: {error}"
                continue
            fault = difference(shown, right)
            if fault:
                yield f"{line}\n  {fault}"

    def define(self, text: str) -> None:
        if text.startswith("sizes: "):
            self.sizes.append(text)
        else:
            name = parse_program(text, frozenset(IN_TEXT)).statements[0].name
            assert name is not None, text
            self.definitions[name] = text

    def meant(self, left: str, right: str) -> np.ndarray:
        """What a left side stands for; sizes of its part may be found in the right."""
        node, order = body(left), 0
        while isinstance(node, syntax.Derivative):
            node, order = node.body, order + 1
        if isinstance(node, syntax.TensorNode) and node.name == (self.chain[0].name or "f"):
            if not order and not self.main:
                self.main = f"{left} = {right}"
            return self.values[order]
        if isinstance(node, syntax.TensorNode) and order == 1:
            found = body(left)
            assert isinstance(found, syntax.Derivative)
            return self.by_differences(found, right)
        return evaluate(self.formula(left, left, {}), self.inputs, self.given)

    def by_differences(self, left: syntax.Derivative, right: str) -> np.ndarray:
        by, shown = left.variable.name, text_form.render(left.body, text_form.ATOM)
        try:
            formula = self.formula(shown, shown, {})
        except rc.NotationError:
            formula = self.formula(shown, shown, {}, f"line{text_form.indices(indices_of(left))} = {right}")
        try:
            evaluate(formula, self.inputs, self.given)
        except rc.InputError:  # a size that only the definition tells
            formula = self.formula(shown, shown, {}, whole=True)
        return differences(lambda x: evaluate(formula, {**self.inputs, by: x}, self.given), self.inputs[by])

    def value(self, left: str, right: str, shape: tuple[int, ...]) -> np.ndarray:
        """The value of a right side, whose indices are those of the left."""
        sizes = dict(zip(names_of(body(left)), shape, strict=True))
        try:
            return evaluate(self.formula(left, right, sizes), self.inputs, self.given)
        except rc.InputError:  # a size that only the definition tells
            return evaluate(self.formula(left, right, sizes, whole=True), self.inputs, self.given)

    def formula(self, left: str, right: str, sizes: dict[str, int], *beside: str, whole: bool = False) -> rc.Formula:
        node = body(left)
        result = f"result{text_form.indices(indices_of(node))}"
        name = self.chain[0].name or "f"
        shown = f"{right} {' '.join(self.definitions.values())}"
        spoken = whole or re.search(rf"\b{name}\b", shown)
        main = [self.main] if self.main and spoken and name not in self.definitions else []
        after = [text for text in self.definitions.values() if main and re.search(rf"\b{name}\b", text)]
        first = [text for text in self.definitions.values() if text not in after]
        text = "\n".join([*self.sizes, *first, *main, *after, *beside, f"{result} = {right}"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return rc.parse(text, sizes=sizes)


def body(text: str) -> syntax.Node:
    return parse_program(text, frozenset(IN_TEXT)).statements[-1].body


def indices_of(left: syntax.Node) -> syntax.Indices:
    """The indices of ``y[i]``, and of ``D(y[i], x[p])`` i and p."""
    if isinstance(left, syntax.TensorNode):
        return left.indices or ()
    if not isinstance(left, syntax.Derivative):
        return tuple([syntax.Index(0, 0, ((1, n),), plain=True) for n in free_indices(left) or ()])
    by = left.variable.indices or ()
    turned = flipped([index.height for index in by])
    own = [syntax.Index(0, 0, i.terms, plain=True, height=h) for i, h in zip(by, turned, strict=True)]
    return (*indices_of(left.body), *own)


def names_of(left: syntax.Node) -> list[str]:
    return [index.terms[0][1] for index in indices_of(left)]


def evaluate(formula: rc.Formula, inputs: Inputs, given: Mapping[str, int]) -> np.ndarray:
    """The value; of the sizes ``given`` those are told that nothing else determines."""
    return with_sizes(formula, inputs, given)[0]


def with_sizes(formula: rc.Formula, inputs: Inputs, given: Mapping[str, int]) -> tuple[np.ndarray, dict[str, int]]:
    """The value, and which sizes had to be told."""
    known = {name: value for name, value in inputs.items() if name in formula.context.facts.inputs}
    told: dict[str, int] = {}
    left = dict(given)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while True:
            try:
                return np.asarray(formula(**known, sizes=told), float), told
            except rc.InputError as error:
                found = re.search(r"(Nothing determines|There is no) .*?['\"](.*?)['\"][; ]", str(error))
                if found is None:
                    raise
                asked, name = found.groups()
                told.pop(name, None) if asked == "There is no" else None
                name = name if name in left else next(iter(left), None)
                if name is None:
                    raise
                told[name] = left.pop(name)


def differences(value: Callable[[np.ndarray], np.ndarray], x: np.ndarray, step: float = STEP) -> np.ndarray:
    """The derivative by central differences, one entry at a time."""

    def by_entry(place: tuple[int, ...]) -> np.ndarray:
        def at(move: float) -> np.ndarray:
            moved = np.array(x, float)
            moved[place] += move
            return value(moved)

        with np.errstate(invalid="ignore"):  # infinite on both sides
            wide, close = [(at(h) - at(-h)) / (2 * h) for h in (step, step / 2)]
            return (4 * close - wide) / 3

    result = np.stack([by_entry(place) for place in np.ndindex(x.shape)], -1)
    return result.reshape((*result.shape[:-1], *x.shape))


def difference(shown: np.ndarray, meant: np.ndarray, rtol: float = 1e-6) -> str | None:
    if shown.shape != meant.shape:
        return f"has shape {shown.shape}, not {meant.shape}"
    both = np.isfinite(shown) & np.isfinite(meant)
    scale = np.max(np.abs(meant[both]), initial=1e-3)
    error = np.max(np.abs(shown[both] - meant[both]), initial=0.0)
    return None if error <= rtol * scale else f"is off by {error:.3g}, entries being up to {scale:.3g}"


# Formulas and equations


def fault_in_latex(f: rc.Formula, inputs: Inputs, given: Mapping[str, int]) -> str | None:
    """Whether the right side of a formula's LaTeX has its value, and the left its indices."""
    *before, last = read(f.latex()).split("; ")
    left, sign, right = last.partition(" = ")
    if sign and tuple(names_of(body(left))) != f.indices:
        return f"{f.latex()}\n  has other indices than {f.indices}"
    return fault_in_side(before, right or last, result(f), inputs, given, evaluate(f, inputs, given))


def faults_in_equation(equation: rc.Equation, inputs: Inputs, given: Mapping[str, int]) -> Iterator[str]:
    """What is wrong with the sides of an equation, in text and in LaTeX; ``inputs`` has what stands on the left too."""
    meant = evaluate(equation.left, inputs, given)
    fault = difference(evaluate(equation.right, inputs, given), meant)
    if fault:
        yield f"{equation}\n  {fault}"
    shown = [str(equation).split("\n"), read(re.sub(r" \\quad .*", "", equation.latex()))]
    for *before, last in (shown[0], shown[1].split("; ")):
        sides = re.sub(r"  \(no sum .*", "", last).split(" = ")
        if len(sides) != 2:
            yield f"{last}\n  has {len(sides)} sides"
        for side in sides:
            fault = fault_in_side(before, side, result(equation.left), inputs, given, meant)
            if fault:
                yield fault


def result(f: rc.Formula) -> str:
    """A left side with the indices of a formula, where they stand."""
    indices = [syntax.Index(0, 0, ((1, n),), plain=True, height=h) for n, h in zip(f.indices, f.standing, strict=True)]
    return "result" + text_form.indices(tuple(indices))


def spoken_of(before: list[str], side: str) -> list[str]:
    """The lines before one that say something of it: those of sizes, and of the parts that it and these speak of."""
    kept: list[str] = []
    for line in reversed(before):
        words = re.findall(r"\w+", " ".join([side, *[k for k in kept if not k.startswith("sizes: ")]]))
        if line.startswith("sizes: ") or re.findall(r"\w+", line)[0] in words:
            kept.insert(0, line)
    return kept


def fault_in_side(
    before: list[str], side: str, left: str, inputs: Inputs, given: Mapping[str, int], meant: np.ndarray
) -> str | None:
    """Whether what stands on one side of a sign, after lines that define parts, has the value that is meant."""
    text = "\n".join([*spoken_of(before, side), f"{left} = {side}"])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            formula = rc.parse(text, sizes=dict(zip(names_of(body(left)), meant.shape, strict=True)))
        fault = difference(evaluate(formula, inputs, given), meant)
    except Exception as error:
        fault = f"is not read: {type(error).__name__}: {error}"
    return fault and f"{text}\n  {fault}"
