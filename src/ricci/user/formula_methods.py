"""The functions of the table as methods of formulas: ``y.exp()``, ``s.softmax("k")``, ``y.maximum(0)``.

They are made of the rows; ``formula_methods.pyi`` says so to those who check types, and is made of the rows as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ricci.checked_calls import takes
from ricci.errors import InputError, absent
from ricci.functions.table import FUNCTIONS

_VALUE = "f(x=…) for the value, with an input for each name"
_DERIVATIVE = 'f.diff("x")'
WRITTEN = {  # what other libraries call it
    "pow": "f ** n",
    **dict.fromkeys(["subs", "evalf", "eval", "evaluate", "numpy", "item", "N", "run", "forward"], _VALUE),
    **dict.fromkeys(["grad", "gradient", "jacobian", "backward", "derivative", "d", "differentiate"], _DERIVATIVE),
    "hessian": 'f.diff("x", "x")',
    **dict.fromkeys(["reshape", "view", "flatten", "ravel", "permute"], 'rc.rearrange(f, "i j -> (i j)")'),
    **dict.fromkeys(["dot", "matmul", "mm"], "f @ g, or rc.einsum"),
    **dict.fromkeys(["lambdify", "jit", "function"], "f.compile()"),
    **dict.fromkeys(["free_symbols", "args", "inputs", "arguments"], "f.variables"),
    **dict.fromkeys(["text", "to_string", "pretty"], "str(f)"),
    **dict.fromkeys(["to_latex", "tex"], "f.latex()"),
}


class FormulaMethods:
    """What formulas have from the table of functions."""

    __slots__ = ()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise absent(self, "A formula", name, lambda name: f"Write {WRITTEN[name]}." if name in WRITTEN else "")


def _over(function: str) -> Callable[..., Any]:
    def method(self: Any, *axes: str) -> Any:
        return self.over(function, *axes)

    method.__doc__ = f"{FUNCTIONS[function].help}; over the named axes, or all."
    return method


def _entrywise(function: str) -> Callable[..., Any]:
    arity = FUNCTIONS[function].arity

    def method(self: Any, *others: Any) -> Any:
        if len(others) + 1 != arity:
            raise InputError(f"f.{function}(…) takes {arity - 1} operand(s) beside f, not {len(others)}.")
        return self._applied(function, *others)

    method.__doc__ = f"{FUNCTIONS[function].help}; entry by entry."
    return method


for _name, _row in FUNCTIONS.items():
    if _row.method:
        _method = _entrywise(_name) if _row.kind == "elementwise" else _over(_name)
        _method.__name__ = _name
        setattr(FormulaMethods, _name, takes(f"f.{_name}")(_method))
