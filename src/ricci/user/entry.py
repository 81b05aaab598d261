"""Where formulas come from: texts and names."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import Any

from ricci.checked_calls import check, takes
from ricci.errors import InputError, ReadingWarning, ShapeError
from ricci.expr import Size, dims
from ricci.expr import variable as input_node
from ricci.kinds import check_numbers
from ricci.notation.context import Context, Facts
from ricci.notation.resolve import named, resolve
from ricci.user.formula import Formula, derive_in_text


@takes("rc.parse", text="text", result="text or None", sizes="sizes or None")
def parse(text: str, result: str | None = None, *, sizes: Mapping[str, int] | None = None) -> Formula:
    """Read equations in index notation; the value is the last statement, or the one named by ``result``.

    >>> m = parse("m[b] = 1/|h| 1[h] x[b,h]; v[b] = 1/|h| 1[h] (x[b,h] - 1[h] m[b])**2", result="m")
    >>> print(m)
    m[b] = 1/|h| 1[h] x[b,h]
    """
    statements: dict[str, Formula] = {}
    last = None
    doubtful: list[str] = []
    for position, part in enumerate(resolve(text, sizes or {}, derive_in_text, doubtful=doubtful)):
        last = Formula(part.value.expr, part.value.names, part.context, part.name, part.heights, statements)
        last.source = (text, dict(sizes or {}), position)
        if part.name is not None:
            statements[part.name] = last
    for message in doubtful:
        warnings.warn(message, ReadingWarning, stacklevel=3)  # past the check of the arguments
    assert last is not None
    return last if result is None else last[result]


_NAME = r"[^\W\d]\w*"
_HEIGHTS = r"(?:\^?\{[^{}]*\}|\^[^\W_]+'*|_\w+'*|_\{[^{}]*\})"  # the name may end with the "_" of a brace


@takes("rc.variable", text="text")
def variable(text: str, value: Any = None) -> Formula:
    """A variable, by name or with indices (``"X[m,n]"``, ``"A^i_j"``), that may carry a value.

    >>> x = variable("x", 3.0)
    >>> float(((x + 2) * x)())
    15.0
    """
    match = re.fullmatch(rf"\s*({_NAME})\s*(?:\[([^\[\]]*)\])?\s*", text)
    node = named(text) if match is None and re.fullmatch(rf"\s*{_NAME}{_HEIGHTS}+\s*", text) else None
    if match is None and node is None:
        raise InputError(f"{text!r} does not name a variable; write a name, or a name with indices: 'X[m,n]'.")
    name, inside = match.groups() if match is not None else (node.name, "")  # type: ignore[union-attr]
    check("rc.variable", "text", name, "tensor name")
    names = [word.strip() for word in inside.split(",")] if inside else []
    heights = tuple([index.height for index in node.indices or ()]) if node is not None else ()
    if node is not None:
        names = [index.terms[0][1] if index.plain else "" for index in node.indices or ()]
    if value is not None:
        import numpy as np

        check_numbers(value, f"The value of {name!r}", name)
        shape: tuple[Size, ...] = np.shape(value)
        names = names or list("ijklmnpqrstuvw"[: len(shape)])
        if len(names) != len(shape):
            raise ShapeError(f"{text!r} names {len(names)} axes and the value has {len(shape)}: its shape is {shape}.")
    else:
        shape = tuple([dims.axis_size(name, axis) for axis in range(len(names))])
    if len(set(names)) != len(names) or not all(re.fullmatch(r"\w+'*", n) for n in names):
        raise InputError(f"The indices in {text!r} must be different names.")
    facts = Facts(inputs={name: len(names)}, groups=[(n, ((name, axis),)) for axis, n in enumerate(names)])
    if value is not None:
        facts.values[name] = value
    if heights:
        facts.heights[name] = heights
    return Formula(input_node(name, shape), names, Context(facts), None, heights)


@takes("rc.tensors", text="text")
def tensors(text: str) -> tuple[Formula, ...]:
    """Several variables at once: ``X, w = rc.tensors("X[m,n] w[n]")``, ``A, x = rc.tensors("A^i_j x^j")``."""
    one = rf"{_NAME}(?:{_HEIGHTS}+|\s*\[[^\[\]]*\])?"
    found = re.findall(one, text)
    rest = re.sub(one, "", text).replace(",", "").strip()
    if rest or not found:
        raise InputError(f"rc.tensors reads names with indices, as in 'X[m,n] w[n]', not {text!r}.")
    made = tuple([variable(part) for part in found])
    names = [f.variables[0] for f in made]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"rc.tensors names {name!r} twice in {text!r}; each tensor once.")
    return made
