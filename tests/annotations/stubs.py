"""What type checkers read of names that are made at run time, written from the tables.

``rc.exp``, ``y.softmax("k")`` and ``t.sum()`` are made of rows, so no source says what they take and give. The files
``.pyi`` that do are generated: ``python tests/annotations/stubs.py`` (with ``src`` on the path) writes them anew.
"""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import ricci
from ricci.expr import Op
from ricci.functions.table import FUNCTIONS
from ricci.tracing import own_functions  # noqa: F401  (which are methods of operands)
from ricci.tracing.array_methods import ArrayMethods
from ricci.tracing.rows import table
from ricci.user.formula_methods import FormulaMethods

SOURCE = Path(ricci.__file__).parent
HEAD = "# Written by tests/annotations/stubs.py from the tables; run it when they change.\n"


def _function(name: str, parameters: str, result: str, body: str = "...", over: bool = False) -> str:
    """One signature; ``body`` is a docstring, or nothing."""
    rest = " ..." if body == "..." else "\n" + textwrap.indent(body, "    ")
    return f"{'@overload' + chr(10) if over else ''}def {name}({parameters}) -> {result}:{rest}"


def _docstring(text: str) -> str:
    return f'"""{text.rstrip()}\n"""' if "\n" in text else f'"""{text}"""'


# ricci itself

PACKAGE = """
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

import numpy as np

from ricci import numpy as numpy
{imports}
from ricci.transforms.implicit import Implicit
from ricci.transforms.typed import AnyArray

_Own = TypeVar("_Own", bound=Formula | AnyArray)
_F = TypeVar("_F", bound=Formula)
_Axes = int | Sequence[int] | None
_List = list[Any] | tuple[Any, ...]
_Plain = np.ndarray | np.generic | _List

__version__: str
__all__ = [
    {names}
]

def load_ipython_extension(shell: Any) -> None: ...

"""


def package() -> str:
    """The names of ``rc``: those that are imported when they are asked for, and the functions of the table."""
    later: dict[str, tuple[str, ...]] = vars(ricci)["_LATER"]
    imports = "\n".join(
        f"from {module} import (\n    {listed(f'{name} as {name}' for name in names)}\n)"
        for module, names in later.items()
    )
    names = listed(f'"{name}"' for name in ricci.__all__)
    rows = [row for name, row in FUNCTIONS.items() if name not in ricci.__all__]
    return PACKAGE.format(imports=imports, names=names) + "\n".join(of_table(row) for row in rows)


def listed(words: Iterable[str]) -> str:
    return "\n    ".join(f"{word}," for word in words)


def of_table(row: Op) -> str:
    """``rc.<name>``: what it gives for formulas, tensors, arrays of NumPy, other arrays and numbers.

    Two kinds at least are named, so that of what is of no known type nothing is claimed.
    """
    made = {"elementwise": _elementwise, "reduce": _over_axes, "keep": _over_axes, "matrix": _matrix}[row.kind](row)
    made += [OF_FUNCTIONS[row.name]] if row.name in OF_FUNCTIONS else []
    doc = _docstring(getattr(ricci, row.name).__doc__.partition("\n")[0])  # help(…) shows the rest
    parts = [
        _function(row.name, parameters, result, doc if k == 0 else "...", len(made) > 1)
        for k, (parameters, result) in enumerate(made)
    ]
    return "\n".join(parts) + "\n"


_SEARCH = "solver: Callable[..., Any] | None = None, tol: float | None = None, max_steps: int = 200"
OF_FUNCTIONS = {"argmin": (f"f: Callable[..., Any], x0: Any, *, {_SEARCH}", "Implicit")}  # of Python's

PLAIN = ("place", "truth")  # what rows of these types give has no gradient: of tensors it is a plain array


def _elementwise(row: Op) -> list[tuple[str, str]]:
    names = row.operands.split(", ")

    def all_of(kind: str) -> str:
        return "".join(f"{name}: {kind}, " for name in names) + "/"

    if row.type in PLAIN:
        return [(all_of("_F | float"), "_F"), (all_of("Any"), "Any")]
    if len(names) == 1:
        kinds = [("np.ndarray", "np.ndarray"), ("_Own", "_Own"), ("float", "Formula"), ("_List", "Any")]
        return [(all_of(kind), result) for kind, result in kinds]
    values = names[1:] if row.name == "where" else names  # which the result is like
    rest = "".join(f"{name}: Any, " for name in names if name not in values)

    def like(kind: str, one: str = "", others: str = "") -> str:
        return rest + "".join(f"{name}: {kind if name == one or not one else others}, " for name in values) + "/"

    tensors = [(like("Tensor", name, "Any"), "Tensor") for name in values]
    formulas = [(like("Formula", name, "Any"), "Formula") for name in values]
    return [
        *tensors,
        *formulas,
        (like("float"), "Any" if rest else "Formula"),
        (like("np.ndarray | float"), "np.ndarray"),
        (like("_Own | float"), "_Own"),
        (like("_Plain | float"), "Any"),
    ]


def _over_axes(row: Op) -> list[tuple[str, str]]:
    options = "*axes: int, axis: _Axes = None"
    if row.kind == "reduce":
        options += ", keepdims: bool = False"
    of_formulas = ("x: Formula | float, /, *axes: str", "Formula")
    if row.type in PLAIN:
        return [of_formulas, (f"x: AnyArray | _List, /, {options}", "np.ndarray | Any")]
    whole = "Any" if row.kind == "reduce" else "np.ndarray"  # the sum of all entries is a number
    return [
        ("x: Formula, /, *axes: str", "Formula"),
        (f"x: Tensor, /, {options}", "Tensor"),
        (f"x: np.ndarray, /, {options}", whole),
        (f"x: _Own, /, {options}", "_Own"),
        (f"x: _List, /, {options}", "Any"),
        ("x: float, /", "Formula"),
    ]


def _matrix(row: Op) -> list[tuple[str, str]]:
    names = row.operands.split(", ")
    whole = "Any" if row.gives == "scalar" else "np.ndarray"
    if len(names) == 2:
        a, b = names
        return [
            (f"{a}: Formula, {b}: Formula, /, *axes: str", "Formula"),
            (f"{a}: Tensor, {b}: Any, /", "Tensor"),
            (f"{a}: Any, {b}: Tensor, /", "Tensor"),
            (f"{a}: np.ndarray, {b}: np.ndarray, /", whole),
            (f"{a}: _Own, {b}: _Own, /", "_Own"),
            (f"{a}: _Plain, {b}: _Plain, /", "Any"),
        ]
    return [
        (f"{names[0]}: Formula, /, *axes: str", "Formula"),
        (f"{names[0]}: Tensor, /, *axes: int", "Tensor"),
        (f"{names[0]}: np.ndarray, /, *axes: int", whole),
        (f"{names[0]}: _Own, /, *axes: int", "_Own"),
        (f"{names[0]}: _List, /, *axes: int", "Any"),
    ]


# Methods of formulas

FORMULA = """
from ricci.user.formula import Formula

class FormulaMethods:
    __slots__ = ()
"""


def formula_methods() -> str:
    return FORMULA + "".join(textwrap.indent(_formula_method(name), "    ") for name in made_in(FormulaMethods))


def _formula_method(name: str) -> str:
    row = FUNCTIONS[name]
    others = "".join(f", {other}: Formula | float" for other in row.operands.split(", ")[1:])
    parameters = f"self{others}, /" if others else "self" if row.kind == "elementwise" else "self, *axes: str"
    return _function(name, parameters, "Formula", _docstring(getattr(FormulaMethods, name).__doc__)) + "\n"


# Operators and methods of arrays

ARRAY = """
from collections.abc import Callable
from typing import Any, Self

import numpy as np

OPERATORS: dict[str, np.ufunc]
IN_PLACE: dict[Any, np.ufunc]

def method_of(function: Any, name: str) -> Callable[..., Any]: ...

class ArrayMethods:
    __slots__ = ()
"""
NOT_LIKE_IT = {"nonzero", "searchsorted", "argpartition"} | {f"__{name}__" for name in ("and", "or", "xor", "invert")}
NOT_LIKE_IT |= {f"__{prefix}{name}__" for name in ("and", "or", "xor") for prefix in ("r", "i")}
NOT_LIKE_IT |= {f"__{name}__" for name in ("lt", "le", "gt", "ge", "eq", "ne")}


def array_methods() -> str:
    return ARRAY + "".join(textwrap.indent(_array_method(name), "    ") for name in made_in(ArrayMethods))


def _array_method(name: str) -> str:
    """What it gives is like the array, unless it is a truth or a place."""
    plain = name in NOT_LIKE_IT or (name in FUNCTIONS and FUNCTIONS[name].type in PLAIN)
    result = "Any" if plain else "Self"
    if name.startswith("__"):
        others = "" if name in ("__neg__", "__pos__", "__abs__", "__invert__") else ", other: Any, /"
        return _function(name, f"self{others}", result) + "\n"
    doc = _docstring(getattr(ArrayMethods, name).__doc__)
    known = getattr(np, name, None)
    if known is not None and not isinstance(known, np.ufunc):
        return _function(name, _parameters(known), result, doc) + "\n"
    row = FUNCTIONS[name]
    if row.kind == "elementwise":
        others = "".join(f", {other}: Any" for other in row.operands.split(", ")[1:])
        return _function(name, f"self{others}", result, doc) + "\n"
    options = ", keepdims: bool = False" if row.kind == "reduce" else ""
    return _function(name, f"self, *axes: int, axis: Any = None{options}", result, doc) + "\n"


def _parameters(function: Any) -> str:
    """Those of a function of NumPy, with the array in the place of the first."""
    _, *others = inspect.signature(function).parameters.values()
    found, star = ["self"], False
    for p in others:
        if p.kind is p.KEYWORD_ONLY and not star:
            found.append("*")
            star = True
        if p.kind is p.VAR_KEYWORD:
            found.append(f"**{p.name}: Any")
        else:
            found.append(f"{p.name}: Any" + ("" if p.default is p.empty else " = ..."))
    return ", ".join(found)


# ricci.numpy

NUMPY = """
from typing import Any, Protocol, overload

import numpy as _numpy
from numpy import *  # pyright: ignore  (some of them have other types below)
from numpy import linalg as linalg

from ricci.tensor import Tensor

special: Any

class _OfOne(Protocol):
    def __getattr__(self, name: str) -> Any: ...
    @overload
    def __call__(self, x: Tensor | list[Tensor] | tuple[Tensor, ...], /, *args: Any, **kwargs: Any) -> Tensor: ...
    @overload
    def __call__(self, x: _numpy.ndarray, /, *args: Any, **kwargs: Any) -> _numpy.ndarray | Any: ...
    @overload
    def __call__(self, x: Any = ..., /, *args: Any, **kwargs: Any) -> Any: ...

class _OfTwo(Protocol):
    def __getattr__(self, name: str) -> Any: ...
    @overload
    def __call__(self, a: Tensor, b: Any, /, *args: Any, **kwargs: Any) -> Tensor: ...
    @overload
    def __call__(self, a: Any, b: Tensor, /, *args: Any, **kwargs: Any) -> Tensor: ...
    @overload
    def __call__(self, a: _numpy.ndarray, b: Any, /, *args: Any, **kwargs: Any) -> _numpy.ndarray | Any: ...
    @overload
    def __call__(self, a: Any = ..., b: Any = ..., /, *args: Any, **kwargs: Any) -> Any: ...

class _OfOthers(Protocol):
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

"""


PLACES = (0, 1, (2, 2), [0, 1], (1, 0))
NUMPY_CALLS: list[tuple[str, Callable[[Any], tuple]]] = [  # tried in this order
    ("_OfOne", lambda t: (t,)),
    ("_OfTwo", lambda t: (t, t)),
    *[("_OfOne", lambda t, k=k: (t, k)) for k in PLACES],
    ("_OfOne", lambda t: (t, 0, 1)),
    ("_OfOthers", lambda t: ([True, False], t, t)),
    ("_OfOthers", lambda t: ([[True, False]], [t])),
]


def numpy_names() -> str:
    """The names of NumPy have NumPy's types, but for functions that make tensors of tensors, as these are found to."""
    names = sorted({row.name.removeprefix("np.") for row in table().values() if row.name.count(".") == 1})
    found = [(name, kind) for name in names if (kind := _kind_of_function(name))]
    return NUMPY + "".join(f"{name}: {kind}\n" for name, kind in found)


def _kind_of_function(name: str) -> str | None:
    """How a function makes a tensor of tensors, in a way that is not deprecated; None if it does not."""
    known = getattr(np, name, None)
    for kind, arguments in NUMPY_CALLS:
        if isinstance(known, np.ufunc) and len(arguments(None)) != known.nin:
            continue  # a further argument would be written into
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("error", DeprecationWarning)
                result = getattr(ricci.numpy, name)(*arguments(ricci.Tensor([[0.5, 0.2], [0.1, 0.4]])))
        except Exception:  # these arguments are not for this function
            continue
        if isinstance(result, ricci.Tensor):
            return kind
    return None


# Patterns

PATTERNS = """
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

import numpy as np

{imports}from ricci.tensor import Tensor
from ricci.user.formula import Formula

_X = TypeVar("_X")

"""
OPERANDS = {  # of these parameters the result is made: X is its kind
    "tensor": "X | list[X] | tuple[X, ...]",
    "tensors": "Sequence[X]",
    "tensors_and_pattern": "X | str",
    "operands": "X | str",
}
OTHERS = {"pattern": "str", "reduction": "str | Callable[..., Any]", "packed_shapes": "Sequence[Any]"}
OTHERS |= {"reduce": "str | Callable[..., Any]", "op": "str | Callable[..., Any]"}
KINDS = {  # of operands, and of the result; arrays may stand beside formulas and tensors
    "np.ndarray": "np.ndarray",
    "Formula | np.ndarray": "Formula",
    "Tensor | np.ndarray": "Tensor",
    "_X": "_X",
}
RESULTS = {"pack": "tuple[X, list[tuple[int, ...]]]", "unpack": "list[X]"}


def patterns(module: str) -> str:
    """The functions of a module of patterns, which make of arrays others of their kind; NumPy's have the number of
    their axes in their types, which patterns change, so they are named apart."""
    public = importlib.import_module(module)
    imports, functions = [], []
    for name in public.__all__:
        value = getattr(public, name)
        if any(p in OPERANDS for p in inspect.signature(value).parameters) and value.__module__ != module:
            functions += _pattern(name, value)
        elif value.__module__ == module:
            functions.append(_function(name, "tensor: Any", "np.ndarray", _docstring(value.__doc__)) + "\n")
        else:
            imports.append(f"from {value.__module__} import {value.__name__} as {name}\n")
    version = f"__version__: str\n__all__ = {public.__all__!r}\n\n" if hasattr(public, "__version__") else ""
    return PATTERNS.format(imports="".join(imports)) + version + "\n".join(functions)


def _pattern(name: str, function: Any) -> list[str]:
    """A list says less than its entries do where their types are not known, so it has no kind named apart."""
    given = inspect.signature(function).parameters.values()
    one, several = (any(p.name == word for p in given) for word in ("tensor", "tensors"))
    alone = {kind: kind for kind in KINDS.values()}
    kinds = {"_X": "_X"} if several else alone if one else KINDS
    found = []
    for number, (kind, result) in enumerate(kinds.items()):
        parameters = ", ".join(_declared(p, name == "unpack" or kind != "_X") for p in given)
        made = re.sub(r"\bX\b", result, RESULTS.get(name, "X"))
        body = _docstring(inspect.cleandoc(function.__doc__)) if number == 0 else "..."
        found.append(_function(name, re.sub(r"\bX\b", kind, parameters), made, body, len(kinds) > 1))
    return [*found[:-1], found[-1] + "\n"]


def _declared(p: inspect.Parameter, alone: bool) -> str:
    """A parameter with its type; ``alone``, the array is no list of them."""
    stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
    kind = "X" if alone and p.name == "tensor" else OPERANDS.get(p.name) or OTHERS.get(p.name, "Any")
    return f"{stars}{p.name}: {kind}" + ("" if p.default is p.empty else f" = {p.default!r}")


def made_in(owner: type) -> Iterable[str]:
    """The names of methods that a class got from the tables, beside those that its source defines."""
    source = inspect.getsource(owner)
    return [
        name
        for name, value in vars(owner).items()
        if inspect.isfunction(value) and not re.search(rf"\bdef {name}\(", source)
    ]


STUBS: dict[str, Callable[[], str]] = {
    "__init__.pyi": package,
    "user/formula_methods.pyi": formula_methods,
    "tracing/array_methods.pyi": array_methods,
    "numpy.pyi": numpy_names,
    "einops/__init__.pyi": lambda: patterns("ricci.einops"),
    "einops/wide.pyi": lambda: patterns("ricci.einops.wide"),
}


def written(path: str) -> str:
    """What a file should be."""
    return HEAD + STUBS[path]()


if __name__ == "__main__":
    for path in STUBS:
        (SOURCE / path).write_text(written(path), encoding="utf-8")
