"""Code to keep of functions of arrays: traced with the arguments of a call, they are written as formulas are."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ricci.checked_calls import shown
from ricci.errors import InputError
from ricci.kinds import kind_of
from ricci.notation.text_scope import names_a_tensor
from ricci.standalone.kept_code import OF_GIVEN_SIZES, KeptCode, check_backend, kept_code
from ricci.tracing import trees
from ricci.transforms.formula_functions import as_function
from ricci.user.code_requests import wanted_of
from ricci.user.explaining import as_traced, formulas
from ricci.user.open_sizes import fixed_sizes, rooms, with_open_sizes
from ricci.wrapping import MadeOf

MOST_WRITTEN = 100  # entries of an array that the function makes, which is written out; larger ones are arguments
RESULTS = {"grad": "gradient", "value_and_grad": "gradient", "hessian": "hessian", "jacobian": "jacobian"}


@dataclass(frozen=True)
class TracedFormulas:
    """What a function computes for some arguments: the leaves of its result, mostly formulas, and their tree."""

    parts: list[Any]
    form: trees.Form
    name: str  # of the function, and what it was transformed to
    arguments: tuple[str, ...]
    fixed: Mapping[str, tuple[int | None, ...]]  # the sizes that arguments must have, where it is not for any
    made: list[np.ndarray]  # small arrays that the function makes itself
    labels: tuple[str, ...]  # what the results are called


def traced_formulas(
    function: Callable, args: tuple, kwargs: Mapping[str, Any], any_sizes: bool = True
) -> TracedFormulas:
    """The formulas that a function computes, transformed or not, for arguments like these, of any sizes if possible."""
    transformed = as_traced(as_function(function, "code"), "trace", {})
    arguments = transformed.arguments(args, kwargs)
    recording = transformed.observed(arguments)[0]
    closed = transformed.derive(recording)
    derived = (any_sizes and with_open_sizes(transformed, arguments, closed)) or closed
    parts, form = trees.flatten(formulas(derived, transformed.what in ("trace", "compile"), rooms(derived)))
    name = recording.name if names_a_tensor(recording.name) else "f"
    what = "" if transformed.what in ("trace", "compile") else f"_{transformed.what}"
    own = made_inside(transformed.function, derived.captured.values())
    given, labels = tuple([v.name for v in derived.inputs]), result_names(transformed.what, len(parts))
    return TracedFormulas(parts, form, name + what, given, fixed_sizes(derived), own, labels)


def result_names(what: str, count: int) -> tuple[str, ...]:
    """What the results of a transformed function are called, where there are several."""
    first = ["value"] if what == "value_and_grad" else []
    stem, left = RESULTS.get(what, "result"), count - len(first)
    return (*first, *([stem] if left == 1 else [f"{stem}{k + 1}" for k in range(left)]))


def made_inside(function: Callable, captured: Iterable[Any]) -> list[np.ndarray]:
    """The small arrays among captured ones to which no name around the function leads: it makes them when it runs."""
    try:
        around = inspect.getclosurevars(inspect.unwrap(function))
        known = [*around.nonlocals.values(), *around.globals.values()]
    except TypeError:  # an object that can be called
        known = []
    plain = [getattr(array, "value", array) for array in captured if not any(_is(x, array) for x in known)]
    return [np.asarray(array) for array in plain if np.size(array) <= MOST_WRITTEN]


def _is(value: Any, array: Any) -> bool:
    """Whether a value is the captured array, or what that was watched as."""
    return value is array or value is getattr(array, "value", None) or value is getattr(array, "origin", None)


class Coding(MadeOf):
    """Writes the code of a function of arrays, for arguments like those of a call: it is traced with them."""

    def __init__(self, function: Callable, backend: str, name: str | None, types: Any):
        super().__init__(function)
        check_backend(backend)
        self.backend, self.name, self.types = backend, name, types

    def __repr__(self) -> str:
        return f"<rc.code of {self.function!r} in {self.backend}>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> KeptCode:
        traced = traced_formulas(self.function, args, kwargs, self.backend not in OF_GIVEN_SIZES)
        for part in traced.parts:
            if kind_of(part) != "formula":
                raise InputError(f"{self!r}: a result is {shown(part)}; code is written of arrays.")
        single = traced.form == trees.LEAF
        wanted = wanted_of(traced.parts, single, self.name or traced.name, self.types, {}, traced.arguments)
        labels = wanted.labels if single else traced.labels
        values = wanted.stage.facts.values
        written = {
            name: values[name] for name in values if any(map(partial(np.array_equal, values[name]), traced.made))
        }
        return kept_code(replace(wanted, fixed=traced.fixed, written=written, labels=labels), self.backend, values)
