"""What the rows of elementwise functions are made with: defaults, the parts of local rules, and their documentation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ricci.errors import InputError
from ricci.expr import OPS, Elementwise, Expr, Op, constant, elementwise, numeric
from ricci.expr.build.algebra import as_expr

Build = Callable[..., Expr]
Rule = Callable[..., Expr | None]
Partial = Any  # a function that gives an expression, a Change, an Adjoint, words or None
Interval = tuple[float, float]
ANY: Interval = (-math.inf, math.inf)
POSITIVE: Interval = (0, math.inf)
LARGE = 1e3  # the largest of random numbers


def known(**facts: Any) -> dict[str, Any]:
    """What holds of a row: see :class:`Op`."""
    return facts


def called(**names: Any) -> dict[str, Any]:
    """What libraries call it, where that is not its own name, and how kernels write it."""
    return names


def row(name: str, help: str, value: Callable[..., Any] | None, *partials: Partial, latex: str = "", **more: Any) -> Op:
    """An elementwise row. Without a value it has the one of its definition ``by`` other rows."""
    if value is None:
        value = _defined(more["by"])
    if "by" in more and not more.get("identity"):
        more.setdefault("means", more["by"])
    if more.get("domain"):
        more.setdefault("note", f"For {more['domain']}.")
    if more.get("tame") and not isinstance(more["tame"][0], tuple):
        more["tame"] = (more["tame"],)
    operands = more.setdefault("operands", "x" if len(partials) == 1 else "a, b")
    if not latex:
        places = ", ".join([f"{{{k}}}" for k in range(len(partials))])
        latex = rf"\operatorname{{{{{name.replace('_', chr(92) + '_')}}}}}({places})"
    assert len(operands.split(", ")) == len(partials)
    return Op(name, len(partials), value, partials, help=help, latex=latex, maker=_entrywise, **more)


def _entrywise(op: Op, *args: object) -> Expr:
    if len(args) != op.arity:
        raise InputError(f"{op.name} takes {op.arity} operands, not {len(args)}.")
    return elementwise(op, *[as_expr(a) for a in args])


class _Plain:
    """The rows on Python's floats, for definitions."""

    where = staticmethod(lambda c, a, b: a if c else b)

    def __getattr__(self, name: str) -> Callable[..., float]:
        return OPS[name].value


def _defined(by: Callable[..., Any]) -> Callable[..., float]:
    plain = _Plain()
    return lambda *x: float(by(plain, *x))


def short(help: str, value: Callable[..., Any], **more: Any) -> Callable[[Build], Build]:
    """The row of a function that builds other nodes; it has the name of that, and its operands."""

    def made(build: Build) -> Build:
        code = build.__code__  # type: ignore[attr-defined]
        kind = more.setdefault("kind", "elementwise")
        names = code.co_varnames[: code.co_argcount] if kind == "elementwise" else ("A" if kind == "matrix" else "x",)
        more.setdefault("operands", ", ".join(names))
        Op(code.co_name.rstrip("_"), len(names), value, (), help=help, short=build, **more)
        return build

    return made


# Local rules, tried in order.


def rules(*parts: Rule) -> Rule:
    def rewrite(*args: Expr) -> Expr | None:
        return next((found for found in (rule(*args) for rule in parts) if found is not None), None)

    return rewrite


def folded(f: Callable, known: Callable[[Any], bool] = math.isfinite) -> Rule:
    """Exact on constants that are finite, or of which ``known`` holds."""

    def rule(*args: Expr) -> Expr | None:
        values = [numeric(a) for a in args]
        return constant(f(*values)) if all(v is not None and known(v) for v in values) else None

    return rule


def idempotent(*names: str) -> Rule:
    """Of a value of one of these functions, it is that value."""
    return lambda x: x if isinstance(x, Elementwise) and x.op.name in names else None
