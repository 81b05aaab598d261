"""One operation of PyTorch on traced tensors: its row, what PyTorch says of the result, and changes in place.

PyTorch computes the shapes and types of results from those of the arguments, without data (on its ``meta`` device).
What a row makes of traced arrays must have these shapes, and gets these types. Operations without a row are taken apart
as PyTorch itself takes them apart; what is then still without one is refused by name.
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any, NoReturn

import torch

from ricci.caches import cached, once
from ricci.errors import InputError, InvariantError, RicciError, RuleError, TraceError
from ricci.functions.elementwise import stop_gradient
from ricci.tracing.arguments import BoundCall, Signed
from ricci.tracing.array import Traced, leaked
from ricci.tracing.basics import fresh, lift
from ricci.tracing.frames import current
from ricci.tracing.lowered import lowered
from ricci.tracing.lowerings import located
from ricci.tracing.meanings import aside
from ricci.tracing.operand import changed
from ricci.tracing.pytorch.aten import AtenRow, operations
from ricci.tracing.pytorch.torch_changes import NOT_WRITTEN, change, refuse_change, share, where
from ricci.tracing.pytorch.traced_tensors import TracedTensor, numpy_type, plain_leaves
from ricci.tracing.trees import mapped

MOST_KNOWN = 4096
Made = dict[int, torch.Tensor]


class UnknownOperationError(TraceError):
    """An operation of PyTorch has no row, and neither have its parts."""


def traced_operation(op: Any, args: tuple, kwargs: dict, mode: Any, made: Made, stopping: bool) -> Any:
    """The results of an operation; ``mode`` sees further operations, ``made`` are the tensors that were made here."""
    name, written, viewed = _facts(op)
    if name in _VALUES:
        _refuse_value(op, args)
    if name in _CHECKS:
        return None
    if written:
        return _in_place(op, written, args, kwargs, mode, stopping)
    row = operations().get(name)
    if row is None:
        return _taken_apart(op, args, kwargs, mode)
    lowering = _lowering(op)
    given = lowering.given(args, kwargs)
    known = {k: _known(given[k], made) for k in row.known if k in given}
    if known:
        args, kwargs, given = (), given | known, given | known
    meta = _meta(op, args, kwargs)
    if viewed is not None and getattr(given[viewed], "traced", given) is None:  # a view of what is not computed
        return mapped(lambda said: TracedTensor(None, said, said.device), meta)
    values = mapped(_array, lowering.values(given, BoundCall(lowering.name)))
    found = _tensors(row.name, meta, _lowered(row, (), values), _device(args, kwargs), stopping)
    if viewed is not None:
        views = list(plain_leaves(found))
        for k, view in enumerate(views):
            read = partial(_part, lowering, values, viewed, k if len(views) > 1 else None)
            share(view, given[viewed], None if name in NOT_WRITTEN else read)
    return found


@once
def _facts(op: Any) -> tuple[str, list[str], str | None]:
    """Its name, the arguments that it writes into, and the one that its results are views of, if they are."""
    shared = [a for a in op._schema.arguments if a.alias_info is not None]
    views = any(r.alias_info is not None for r in op._schema.returns)
    return _name(op), [a.name for a in shared if a.alias_info.is_write], shared[0].name if views and shared else None


def _part(lowering: Signed, values: dict[str, Any], viewed: str, number: int | None, base: Traced) -> Traced:
    """A view of ``base``, read as the row reads it."""
    own = next(name for name, source, _, _ in lowering.taken if source == viewed)
    found = lowering.lower(**{**values, own: base})
    return found if number is None else found[number]


def traced_function(function: Any, row: AtenRow, args: tuple, kwargs: dict, made: Made, stopping: bool) -> Any:
    """The results of a function that is lowered whole."""
    with aside():
        meta = _on_meta(f"torch.{row.name}", row.said or function, args, kwargs)
    bound = row.signature.bind(*args, **kwargs)
    for name in row.known:
        if name in bound.arguments:
            bound.arguments[name] = _values(bound.arguments[name], made)
    results = _lowered(row, mapped(_array, bound.args), mapped(_array, bound.kwargs))
    return _tensors(row.name, meta, results, _device(args, kwargs), stopping)


def _name(op: Any) -> str:
    space, _, name = op._schema.name.partition("::")
    return name if space == "aten" else f"{space}.{name}"


def _shown(op: Any) -> str:
    name = _name(op)
    return f"torch.{name}" if hasattr(torch, name) else f"PyTorch's {name}"


_NO_MATTER = ("memory_format", "layout", "device", "pin_memory", "non_blocking", "implicit", "copy", "check_errors")


@once
def _lowering(op: Any) -> Signed:
    """The row of an operation with PyTorch's own signature."""
    found = []
    for a in op._schema.arguments:
        kind = inspect.Parameter.KEYWORD_ONLY if a.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        default = a.default_value if a.has_default_value() else inspect.Parameter.empty
        found.append(inspect.Parameter(a.name, kind, default=default))
    return Signed(_shown(op), inspect.Signature(found), operations()[_name(op)].lower, _NO_MATTER, as_given=True)


def _array(x: Any) -> Any:
    """A tensor as a traced array; of one from outside, the input that stands for it."""
    if not isinstance(x, torch.Tensor):
        return x
    found = x.inside() if isinstance(x, TracedTensor) else lift(x)
    if not found.frame.active:
        raise leaked(found)
    return found


def _known(value: Any, made: Made) -> Any:
    """A mask that was made here as the places where it is true, so that shapes are known."""
    if isinstance(value, (list, tuple)):
        return [part for x in value for part in _places(x, made)]
    return value


def _values(x: Any, made: Made) -> Any:
    """A tensor that was made here as its values."""
    return x.numpy() if isinstance(x, torch.Tensor) and id(x) in made else x


def _places(x: Any, made: Made) -> list[Any]:
    if not isinstance(x, torch.Tensor) or x.dtype not in (torch.bool, torch.uint8) or id(x) not in made:
        return [x]
    with aside():
        return list(x.nonzero(as_tuple=True))


# What PyTorch says of a result


def _meta(op: Any, args: tuple, kwargs: dict) -> Any:
    try:
        return _kept(op, _key(args), _key(kwargs))
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
        return _on_meta(_shown(op), op, args, kwargs)


def _key(value: Any) -> Any:
    """What a call is found by: shapes and types of tensors, all else as it is."""
    if isinstance(value, torch.Tensor):
        return torch.Tensor, tuple(value.shape), value.dtype
    if isinstance(value, (list, tuple)):
        return list, *[_key(part) for part in value]
    if isinstance(value, dict):
        return dict, *[(name, _key(part)) for name, part in value.items()]
    return type(value), value


def _of_key(key: Any) -> Any:
    kind, *rest = key
    if kind is torch.Tensor:
        return torch.empty(rest[0], dtype=rest[1], device="meta")
    if kind is list:
        return [_of_key(part) for part in rest]
    if kind is dict:
        return {name: _of_key(part) for name, part in rest}
    return rest[0]


@cached("shapes of operations of PyTorch", MOST_KNOWN)
def _kept(op: Any, args: Any, kwargs: Any) -> Any:
    return _on_meta(_shown(op), op, tuple(_of_key(args)), _of_key(kwargs))


def _on_meta(name: str, function: Any, args: tuple, kwargs: dict) -> Any:
    """The results without data; PyTorch's errors about the arguments in ricci's family."""
    args, kwargs = mapped(_without_data, (args, kwargs))
    try:
        return function(*args, **kwargs)
    except RicciError:
        raise
    except NotImplementedError as error:
        raise TraceError(
            f"{name} gives a tensor whose shape depends on values{where()}, which a traced function cannot have. "
            "Write torch.where(condition, x, 0), and sum or average over that."
        ) from error
    except (RuntimeError, IndexError, TypeError, ValueError) as error:
        first = str(error).partition("\n")[0]
        raise InputError(f"{name}: {first}{where()}") from error


def _without_data(x: Any) -> Any:
    if isinstance(x, torch.device):
        return torch.device("meta")
    return torch.empty(x.shape, dtype=x.dtype, device="meta") if isinstance(x, torch.Tensor) else x


# Results


def _lowered(row: AtenRow, args: tuple, kwargs: dict) -> Any:
    try:
        return row.lower(*args, **kwargs)
    except RicciError as error:
        raise located(error, f"torch.{row.name}") from error.__cause__


def _device(args: tuple, kwargs: dict) -> torch.device:
    found = [x.device for x in plain_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
    return next((device for device in found if device.type != "cpu"), torch.device("cpu"))


def _tensors(name: str, meta: Any, results: Any, device: torch.device, stopping: bool) -> Any:
    """The results in PyTorch's form, with its shapes and types."""
    found = iter(results if isinstance(results, (list, tuple)) else [results])

    def tensor(said: Any) -> Any:
        return _tensor(name, said, next(found, None), device, stopping) if isinstance(said, torch.Tensor) else said

    return mapped(tensor, meta)


def _tensor(name: str, said: torch.Tensor, result: Traced | None, device: torch.device, stopping: bool) -> TracedTensor:
    if result is None:
        return TracedTensor(None, said, device)
    if result.shape != tuple(said.shape):
        raise InvariantError(f"torch.{name} has the shape {tuple(said.shape)}; its row gives {result.shape}.")
    dtype = numpy_type(said.dtype)
    expr = stop_gradient(result.expr) if stopping and dtype.kind in "fc" else result.expr
    here = current()
    assert here is not None
    here.note(expr)
    return TracedTensor(fresh(expr, dtype), said, device)


# Changes in place


def put(target: TracedTensor, key: Any, value: Any) -> None:
    """``target[key] = value``."""
    places = mapped(_array, key if isinstance(key, tuple) else (key,))
    new = lowered(changed, (_array(target), places, mapped(_array, value), "set"), {})
    change(target, new, "x[…] = value")


def _in_place(op: Any, written: list[str], args: tuple, kwargs: dict, mode: Any, stopping: bool) -> Any:
    """``x.add_(y)`` as ``x = x.add(y)``, for all who hold ``x``."""
    name, names = _name(op), [a.name for a in op._schema.arguments]
    target = (dict(zip(names, args, strict=False)) | kwargs)[written[0]]
    packet = getattr(torch.ops.aten, name.removesuffix("_"), None)
    same = getattr(packet, op._schema.overload_name or "default", None) if name.endswith("_") else None
    if len(written) > 1 or same is None:
        raise RuleError(
            f"{_shown(op)} writes into {', '.join(written)}{where()}, and traced tensors are not written into: leave "
            "out out=…; call model.eval() where layers keep statistics."
        )
    if stopping:
        raise RuleError(
            f"{_shown(op)} changes a traced tensor in place under torch.no_grad(){where()}, which hides the change "
            "from derivatives. Compute a new tensor."
        )
    if not isinstance(target, TracedTensor):
        refuse_change(_shown(op))
    with mode:
        result = same(*args, **kwargs)
    if tuple(result.shape) != tuple(target.shape):
        raise RuleError(f"{_shown(op)} changes the shape of a tensor in place{where()}; write x = x.{name[:-1]}(…).")
    change(target, _array(result), _shown(op))
    return target


# What is refused, or taken apart

_CHECKS = ("_linalg_check_errors", "_assert_async", "_assert_tensor_metadata")  # of values, when the function runs

_VALUES = ("_local_scalar_dense", "item", "is_nonzero", "equal", "nonzero", "unique_dim", "_unique2", "masked_select")


def _refuse_value(op: Any, args: tuple) -> NoReturn:
    x: Traced = _array(args[0])
    name = _name(op)
    if name in ("_local_scalar_dense", "item", "is_nonzero"):
        x._has_no_value(
            "The value of a traced tensor is asked for, as by x.item(), float(x), torch.tensor([x]) or an if",
            "Leave it a tensor, join tensors by torch.stack([…]), write torch.where(condition, a, b) in place of the "
            "if; or pass the argument as static (static_argnums=…); or use rc.Tensor, which runs line by line",
        )
    x._has_no_value(
        f"{_shown(op)} gives what depends on the values of a traced tensor",
        "Write torch.where(condition, x, 0), and sum or average over that",
    )


def _taken_apart(op: Any, args: tuple, kwargs: dict, mode: Any) -> Any:
    """An operation without a row, by the operations that PyTorch makes it of."""
    from torch._decomp import decomposition_table

    function = decomposition_table.get(op)
    try:
        with mode:
            result = op.decompose(*args, **kwargs) if function is None else function(*args, **kwargs)
    except UnknownOperationError:
        result = NotImplemented
    if result is not NotImplemented:
        return result
    raise UnknownOperationError(
        f"{_shown(op)} cannot be traced{where()}: docs/torch.md lists what can; rc.custom gives a function of your own "
        "its rule."
    )
