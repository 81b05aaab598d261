"""A call of a function, recorded: its results as expressions of its arguments.

Arrays and floats are traced, wherever they stand in the arguments; whole numbers, truth values, texts and all other
objects are *static*: the function sees them as they are, and what is recorded holds for these values only.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any

import numpy as np

from ricci.dispatch import offer
from ricci.errors import InputError, RicciError, TraceError
from ricci.expr import Expr, Variable
from ricci.expr.walk import rewritten
from ricci.kinds import check_usable, kind_of
from ricci.notation.text_scope import names_a_tensor
from ricci.tracing import in_place, own_functions, placing, trees  # noqa: F401  (what traced arrays do in calls)
from ricci.tracing.array import Traced, leaked
from ricci.tracing.basics import checked_dtype, lift
from ricci.tracing.foreign import translated
from ricci.tracing.frames import CodePlace, Frame, apart, current, frame, note_line
from ricci.tracing.impure import watched
from ricci.tracing.jaxprs import call_by_jax
from ricci.tracing.likeness import argument_like
from ricci.tracing.loops_seen import seen_loops
from ricci.tracing.meanings import not_aside, plain
from ricci.tracing.operand import Operand
from ricci.tracing.reach import Reach
from ricci.tracing.rolling.placeholders import resolved
from ricci.tracing.scipy_transforms import with_traced_transforms
from ricci.tracing.shapes import Shaped
from ricci.tracing.trees import Form

ANY_TYPE = np.dtype(object)  # of a result that is no array, or stays in the type it is computed in


@dataclass(frozen=True)
class Static:
    """A result that is no array."""

    value: Any


Output = Expr | Static


@dataclass
class Arguments:
    """The arguments of a call, taken apart. ``arrays`` says of each leaf whether it is traced."""

    leaves: list[Any]
    form: Form
    arrays: list[bool]

    @classmethod
    def of(
        cls,
        args: tuple,
        kwargs: Mapping[str, Any],
        extras: tuple = (),
        static: Collection[int] = (),
        names: Collection[str] = (),
        stored: bool = False,
    ) -> Arguments:
        """The arguments, and ``extras`` that the function does not get; ``static`` and ``names`` say what is static.

        They may lie in files if ``stored``: no more of them is read than somebody asks for.
        """
        leaves: list[Any] = []
        forms: list[Form] = []
        fixed: list[int] = []  # the numbers of leaves that are static because the argument is
        keyed = range(len(args), len(args) + len(kwargs))
        for position, part in enumerate((*args, *kwargs.values(), *extras)):
            if (static and position in static) or (
                names and position in keyed and [*kwargs][position - len(args)] in names
            ):
                fixed.append(len(leaves))
                leaves.append(part)
                forms.append(trees.LEAF)
            else:
                own, form = trees.flatten(part)
                leaves += own
                forms.append(form)
        arrays = [
            number not in fixed and ((stored and kind_of(leaf) == "stored") or is_array(leaf))
            for number, leaf in enumerate(leaves)
        ]
        return cls(leaves, (len(args), tuple(kwargs), tuple(forms)), arrays)

    @property
    def traced(self) -> list[Any]:
        """The leaves that are traced."""
        return [leaf for leaf, traced in zip(self.leaves, self.arrays, strict=True) if traced]


def is_array(leaf: Any) -> bool:
    """Whether a leaf is traced: arrays of any package and floats are; an error for those that would lose something."""
    if type(leaf) is np.ndarray or isinstance(leaf, (float, complex, Operand, np.generic)):
        return True
    if kind_of(leaf) == "dask":  # what is done with it is traced, and stays lazy
        return True
    check_usable(leaf, "An argument or result of a traced function")
    return hasattr(leaf, "shape") and hasattr(leaf, "dtype")


@dataclass
class Recording:
    """A function as expressions, for arguments of one form, shape and type."""

    name: str
    inputs: list[Variable]  # one for each traced leaf
    dtypes: list[np.dtype]
    forms: tuple[Form, ...]  # of each argument, the extra ones last
    places: tuple[tuple[int, ...], ...]  # of each argument, the numbers of its leaves among the inputs; -1 if static
    positional: int  # how many arguments are given by position
    keywords: tuple[str, ...]
    outputs: list[Output]
    out_dtypes: list[np.dtype]
    out_form: Form
    parameters: tuple[str, ...] = ()  # the names of those that can be given by position
    captured: dict[str, Any] = field(default_factory=dict)
    lines: dict[Expr, CodePlace] = field(default_factory=dict)
    aux: tuple[Form, list[Output], list[np.dtype]] | None = None
    writes: bool = False  # whether the function changes arguments in place
    unrolled: list[tuple[CodePlace | None, str]] = field(default_factory=list)  # loops that are not rolled up, and why
    rows: list[int] | None = None  # of results that are matrices to look at, how many of their axes are rows
    axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # the names that are given to axes
    drawn: bool = False  # whether random numbers were drawn, so that the next call gives something else

    def groups(self) -> list[tuple[str, tuple[tuple[str, int], ...]]]:
        """The names of axes, each with the axes of arguments and captured arrays that have it."""
        found: dict[str, list[tuple[str, int]]] = {}
        orders = {v.name: v.order for v in self.inputs}
        orders |= {name: len(array.shape) for name, array in self.captured.items()}
        for own, order in orders.items():
            for axis, name in enumerate(self.axes.get(own, ())[:order]):
                if name:
                    found.setdefault(name, []).append((own, axis))
        return [(name, tuple(axes)) for name, axes in found.items()]

    def with_outputs(self, form: Form, outputs: Sequence[Output], dtypes: Sequence[np.dtype]) -> Recording:
        """The same call with other results."""
        return replace(self, out_form=form, outputs=list(outputs), out_dtypes=list(dtypes), aux=None, rows=None)


def _parameters(function: Any) -> tuple[list[str], str]:
    """The names of the parameters that can be given by position, and of the one that takes the rest."""
    if type(function) is FunctionType and not vars(function).keys() & {"__wrapped__", "__signature__"}:
        code = function.__code__
        count, named = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
        return list(code.co_varnames[:count]), code.co_varnames[named] if code.co_flags & inspect.CO_VARARGS else "x"
    try:
        known = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        known = []
    plain = [p.name for p in known if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return plain, next((p.name for p in known if p.kind is p.VAR_POSITIONAL), "x")


def names_of(function: Any, count: int, keywords: Sequence[str]) -> list[str]:
    """Names for the arguments: those of the parameters where they can be told."""
    plain, rest = _parameters(function)
    found = [plain[k] if k < len(plain) else f"{rest}{k - len(plain)}" for k in range(count)]
    return [*found, *keywords]


def _identifier(name: str) -> str:
    """A name that equations can hold."""
    clean = re.sub(r"\W", "_", name)
    return clean if clean and not clean[0].isdigit() and names_a_tensor(clean) else f"_{clean}"


@contextmanager
def _torch_traced() -> Iterator[None]:
    """Inside, calls of PyTorch's functions are seen, also those on tensors that are not traced."""
    if "torch" not in sys.modules:
        yield
        return
    import torch

    from ricci.tracing.pytorch.observers import watching

    with torch.enable_grad(), watching():
        yield


def _of_torch(function: Any, args: tuple, kwargs: dict) -> Any:
    """A function of PyTorch on traced tensors or arrays."""
    from ricci.tracing.pytorch.observers import called

    return called(function, args, kwargs)


offer(of_torch=_of_torch)


def record(
    function: Callable,
    arguments: Arguments,
    has_aux: bool = False,
    name: str | None = None,
    reached: Reach | None = None,
    roll: bool = True,
) -> Recording:
    """Run ``function`` on traced arrays in place of the arguments and record what it does.

    ``reached`` is what the function and its static arguments lead to, if that is known already. Loops are rolled up,
    unless that is not wished; where an error comes then, the function is run once more without it.
    """
    given = (function, arguments, has_aux, name, reached)
    tried: list[Frame] = []
    try:
        return apart(_recorded, *given, roll, tried)
    except Exception:
        if current() is not None or not tried or not tried[0].tried:
            raise
    return apart(_recorded, *given, False, tried)


def _recorded(
    function: Callable,
    arguments: Arguments,
    has_aux: bool,
    name: str | None,
    reached: Reach | None,
    roll: bool,
    frames: list[Frame],
) -> Recording:
    not_aside()
    title = name or getattr(function, "__name__", type(function).__name__)
    count, keywords, forms = arguments.form
    names = _leaf_names(function, arguments.form)
    with frame(title, frozenset(names)) as inner:
        frames.append(inner)
        inner.rolls = inner.rolls and roll
        inner.root.weak_numbers |= any(type(leaf).__module__ == "torch" for leaf in arguments.traced)
        inputs, stand_ins, numbers = _stand_ins(inner, arguments, names)
        given: list[Any] = [x.expr for x in inputs]  # the function may change its arguments in place
        inner.immutable = any(type(leaf).__module__.startswith("jax") for leaf in arguments.leaves)
        parts, places, start = [], [], 0
        for form in forms:
            stop = start + trees.count(form)
            parts.append(trees.unflatten(form, stand_ins[start:stop]))
            places.append(tuple(numbers[start:stop]))
            start = stop
        keyed = dict(zip(keywords, parts[count : count + len(keywords)], strict=True))
        rest = [leaf for leaf, t in zip(arguments.leaves, arguments.arrays, strict=True) if not t]
        inner.starts = [function, *rest]
        reached = reached or Reach(inner.starts)
        loops = seen_loops(reached.functions if inner.rolls else ())
        with watched(function, rest, reached) as inner.sources, _torch_traced(), loops:
            result = _called(function, title, parts[:count], keyed, len(parts) - count - len(keyed))
        drawn = _draws(inner)
        _check_unchanged(inner)
        writes = any(x.version for x in inputs if isinstance(x, Traced))
        if writes:
            check_apart(arguments.traced, title)
        aux = None
        if has_aux:
            result, more = _with_aux(title, result)
            aux_leaves, aux_form = trees.flatten(more)
            aux = (aux_form, *_results(inner, aux_leaves, keep_numbers=True))
            aux = (aux_form, _meant(inner, aux[1]), aux[2])
        leaves, form = trees.flatten(result)
        outputs, out_dtypes = _results(inner, leaves)
        outputs = _meant(inner, outputs)
    return Recording(
        name=title,
        inputs=given,
        dtypes=[x.dtype for x in inputs],
        forms=forms,
        places=tuple(places),
        positional=count,
        keywords=keywords,
        outputs=outputs,
        out_dtypes=out_dtypes,
        out_form=form,
        parameters=tuple(_parameters(function)[0]),
        captured=inner.root.captured,
        lines=inner.root.lines,
        aux=aux,
        unrolled=inner.root.unrolled,
        axes=getattr(function, "axes_of_parameters", {}),
        drawn=drawn,
        writes=writes,
    )


def _meant(inner: Frame, outputs: list[Output]) -> list[Output]:
    """Results without the placeholders of loops."""
    exprs = iter(resolved([out for out in outputs if isinstance(out, Expr)], inner.meant, inner.root.lines))
    return [next(exprs) if isinstance(out, Expr) else out for out in outputs]


def _draws(inner: Frame) -> bool:
    """Whether random numbers were drawn; whether they may be is for the outermost function to say."""
    inside = inner.outer is not None and inner.outer.sources is not None
    drawn = bool(inner.sources.drawn()) if inside else inner.sources.check(inner.name)
    inner.root.drawn = inner.root.drawn or drawn
    return drawn


def _leaf_names(function: Callable, form: Form) -> list[str]:
    """A name for each leaf of the arguments, made of its parameter and the way to it; no two are the same."""
    count, keywords, forms = form
    starts = names_of(function, count, keywords)
    starts += [f"v{k or ''}" for k in range(len(forms) - len(starts))]
    paths = [path for start, part in zip(starts, forms, strict=True) for path in trees.paths(part, start)]
    return _distinct([_identifier(path) for path in paths])


def _stand_ins(inner: Frame, arguments: Arguments, names: Sequence[str]) -> tuple[list[Traced], list[Any], list[int]]:
    """The traced arrays, all leaves with these in place of arrays, and the number of each leaf among them, or -1."""
    inputs: list[Traced] = []
    leaves, numbers = [], []
    for leaf, traced, name in zip(arguments.leaves, arguments.arrays, names, strict=True):
        numbers.append(len(inputs) if traced else -1)
        if traced:
            inputs.append(_stand_in(inner, name, leaf))
        leaves.append(argument_like(leaf, inputs[-1]) if traced else leaf)
    return inputs, leaves, numbers


def _called(function: Callable, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], extras: int) -> Any:
    """The result; errors of Python's or other packages' own about traced arrays are put in clearer words."""
    try:
        with with_traced_transforms():
            return translated(function)(*args, **kwargs)
    except RicciError:
        raise
    except (TypeError, ValueError) as error:
        clearer = _clearer(error) or _unbound(function, name, args, kwargs, extras)
        if _asked_by_jax(error):  # code that is not the function's own calls JAX: a method of an Equinox module, say
            with suppress(Exception):
                return call_by_jax(function, name, tuple(args), dict(kwargs))
        if clearer is None:
            raise
        raise clearer from error


def _asked_by_jax(error: Exception) -> bool:
    """Whether JAX was given a traced array."""
    return "Traced" in str(error) and any(word in str(error) for word in ("JAX type", "JAX value", "requires ndarray"))


def _clearer(error: Exception) -> TraceError | None:
    """What a package meant that does not know of traced arrays."""
    if _asked_by_jax(error):
        return TraceError(
            "A function of JAX was given a traced array, which it cannot look into. Write the function with numpy "
            "or ricci.numpy, or take the namespace from the array: xp = x.__array_namespace__()."
        )
    if isinstance(error.__cause__, TraceError):  # NumPy asked for the number that it was to put into an array
        if not hasattr(error.__cause__, "place"):  # it asked for nothing: what went wrong is something else
            return error.__cause__
        place = getattr(error.__cause__, "place", None)
        return TraceError(
            f"A traced array is put into a plain one, which holds numbers only{f' ({place})' if place else ''}. Make "
            "the array of its parts, by np.stack or np.concatenate; or begin with np.zeros_like(x) of a traced x and "
            "write y = y.at[…].set(value)."
        )
    return None


def _unbound(
    function: Callable, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], extras: int
) -> InputError | None:
    """What to say of arguments that the function does not take."""
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        rest = f", the last {extras} of the call not counted, which are directions" if extras else ""
        return InputError(f"{name} was called with {len(args)} arguments by position{rest}: {error}.")
    except ValueError:
        return None  # it has no signature
    return None


def _distinct(names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        while name in found:
            name += "_"
        found.append(name)
    return found


def _stand_in(inner: Frame, name: str, leaf: Any) -> Traced:
    leaf = plain(leaf)
    if isinstance(leaf, Traced):
        if not leaf.frame.active:
            raise leaked(leaf)
        return _renamed(
            Traced(inner.variable(name, leaf.shape, leaf.dtype), leaf.dtype, inner, leaf.weak, leaf.array), leaf.axes
        )
    if isinstance(leaf, (float, complex)) and not isinstance(leaf, np.generic):
        dtype = np.dtype(type(leaf))
        return Traced(inner.variable(name, (), dtype), dtype, inner, weak=True)
    dtype = checked_dtype(leaf.dtype, f"The argument {name}")
    array = not isinstance(leaf, np.generic)
    made = Traced(inner.variable(name, tuple(map(int, leaf.shape)), dtype), dtype, inner, array=array)
    return _renamed(made, leaf.axes) if isinstance(leaf, Shaped) else made


def _renamed(made: Traced, axes: tuple[str | None, ...]) -> Traced:
    """The stand-in, which has the names of what it stands for, and none that another one had."""
    named = made.frame.root.named
    if any(axes):
        named[made.expr] = axes
    elif named:
        named.pop(made.expr, None)
    return made


def _with_aux(name: str, result: Any) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        shown = "an array" if isinstance(result, Traced) else type(result).__name__
        raise InputError(f"With has_aux=True, {name} returns a pair, (result, aux), not {shown}.")
    return result


def _results(inner: Frame, leaves: Sequence[Any], keep_numbers: bool = False) -> tuple[list[Output], list[np.dtype]]:
    """Results as expressions; what is no array stays as it is."""
    outputs: list[Output] = []
    dtypes: list[np.dtype] = []
    for leaf in leaves:
        number = isinstance(leaf, (bool, int, float, complex)) and not isinstance(leaf, np.generic)
        leaf = plain(leaf)
        if isinstance(leaf, Traced) and not leaf.frame.active:
            raise leaked(leaf)
        if (number and not keep_numbers) or (not number and is_array(leaf)):
            x = lift(leaf)
            outputs.append(x.expr)
            dtypes.append(x.dtype)
        else:
            outputs.append(Static(leaf))
            dtypes.append(ANY_TYPE)
    return outputs, dtypes


def carried(
    roots: Sequence[Expr], step: Callable[[Expr, tuple[Expr, ...]], Expr], lines: dict[Expr, CodePlace]
) -> list[Expr]:
    """``roots`` rewritten by ``step``; what becomes of a node has its line."""

    def noted(node: Expr, args: tuple[Expr, ...]) -> Expr:
        new = step(node, args)
        if node in lines:
            note_line(lines, new, lines[node])
        return new

    return rewritten(roots, noted)


def check_apart(arrays: Sequence[Any], name: str) -> None:
    """Whether arguments, some of which are changed in place, are arrays of their own: others would change with them."""
    for k, a in enumerate(arrays):
        for b in arrays[:k]:
            both = isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
            if (a is b and not isinstance(a, (float, np.generic))) or (both and np.may_share_memory(a, b)):
                raise InputError(
                    f"{name} changes an argument in place, and two of its arguments share their memory, so that the "
                    "change would be seen in both. Pass a copy of one of them."
                )


def _check_unchanged(inner: Frame) -> None:
    """Whether the function changed an array that it did not get as an argument, after it had used it."""
    met = [(inner.root.captured[name], before) for name, before in inner.root.copies.items()]
    for array, before in [*met, *inner.root.again]:
        if not np.array_equal(before, array, equal_nan=before.dtype.kind in "fc"):
            used = inner.root.known[id(array)]
            place = next((line for e, line in inner.root.lines.items() if used in e.args), None)
            where = f" ({place})" if place else ""
            raise TraceError(
                f"{inner.name} changes an array of shape {array.shape} in place after having used it{where}. "
                "It runs once, to be traced, so the change would not happen again; compute a new array instead."
            )
