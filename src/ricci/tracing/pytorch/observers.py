"""Calls of PyTorch's functions while a function is traced: where they are seen, and what becomes of each.

PyTorch lets two kinds of observer in. One sees the functions that the user calls, before anything is done; the other
sees the basic operations that they come down to. The first turns traced arrays among the arguments into tensors, and
notices ``torch.no_grad()``; a few functions are lowered whole there (``whole.py``), because more is known of them than
of their parts. The second lowers all else, operation by operation.

An operation on tensors that were made in the traced function out of nothing (``torch.arange(n)``) is simply run: its
result cannot change from call to call. Tensors from outside are inputs, and take part in what is traced.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _python_dispatch
from torch.utils._python_dispatch import TorchDispatchMode

from ricci.errors import TraceError
from ricci.tracing.array import leaked
from ricci.tracing.basics import lift
from ricci.tracing.frames import current
from ricci.tracing.meanings import aside, untraced
from ricci.tracing.operand import Operand
from ricci.tracing.pytorch.aten import operations, whole_rows
from ricci.tracing.pytorch.aten_calls import put, traced_function, traced_operation
from ricci.tracing.pytorch.torch_changes import where
from ricci.tracing.pytorch.traced_tensors import TracedTensor, plain_leaves, wrapped
from ricci.tracing.trees import mapped
from ricci.within import within

_hidden: Any = torch._C
_functions, _operations = _hidden._len_torch_function_stack, _hidden._len_torch_dispatch_stack  # how many observers

# Tensors made of nothing while a function is traced, by id; none where calls are not watched.
_MADE: ContextVar[dict[int, torch.Tensor] | None] = ContextVar("ricci_made", default=None)
# Whether the user's code runs under torch.no_grad(), so that results are constants.
_STOPPING = ContextVar("ricci_stopping", default=False)


@contextmanager
def watching() -> Iterator[None]:
    """Inside, all calls of PyTorch's functions are seen."""
    if _MADE.get() is not None:
        yield
        return
    with _as_it_was(), within(_MADE, {}), OperationObserver(), FunctionObserver():
        yield


@contextmanager
def _as_it_was() -> Iterator[None]:
    """Afterwards nobody sees PyTorch's calls who did not before, also where an interrupt came while an observer left.

    What is taken back is taken back twice, as in ``ricci.within``.
    """
    before = _seen_by()
    try:
        try:
            yield
        finally:
            _back_to(before)
    finally:
        _back_to(before)


def _seen_by() -> tuple[int, int, dict[str, bool], bool]:
    """How many observers of either kind PyTorch knows, what it has noted of them, and whether it records gradients."""
    noted = {name: value for name, value in vars(_python_dispatch).items() if name.startswith("_is_in_")}
    return _functions(), _operations(), noted, torch.is_grad_enabled()


def _back_to(before: tuple[int, int, dict[str, bool], bool]) -> None:
    functions, operations, noted, gradients = before
    while _functions() > functions:
        _hidden._pop_torch_function_stack()
    while _operations() > operations:
        _hidden._pop_torch_dispatch_stack(None)
    _python_dispatch.__dict__.update(noted)
    if torch.is_grad_enabled() != gradients:
        torch.set_grad_enabled(gradients)


def _made() -> dict[int, torch.Tensor]:
    found = _MADE.get()
    return {} if found is None else found


def called(function: Any, args: tuple, kwargs: dict) -> Any:
    """A function of PyTorch on traced tensors or arrays."""
    if current() is None:
        raise leaked(next(x.inside() for x in plain_leaves((args, kwargs)) if isinstance(x, TracedTensor)))
    args, kwargs = mapped(lambda x: _tensor(x, False) if isinstance(x, Operand) else x, (args, kwargs))
    with watching():
        return function(*args, **kwargs)


_READ_AS_THEY_ARE = (torch.Tensor.__getitem__, torch.Tensor.__setitem__)
_MODES_OF_GRADIENTS = ("_set_grad_enabled", "set_grad_enabled", "_enter_inference_mode")


class FunctionObserver(TorchFunctionMode):
    """Sees the functions that the user calls."""

    def __torch_function__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = {} if kwargs is None else kwargs
        if untraced() or getattr(function, "__name__", "") in _MODES_OF_GRADIENTS:
            return function(*args, **kwargs)
        if getattr(function, "__name__", "") in _OF_DATA:
            return _data(function, args, kwargs)
        keys = function in _READ_AS_THEY_ARE  # masks in them decide shapes
        args, named = mapped(lambda x: _tensor(x, keys), (args, kwargs))
        stopping = not torch.is_grad_enabled()
        if stopping:
            _refuse_rules_of_their_own()
        with within(_STOPPING, stopping), torch.no_grad(), torch._C.DisableTorchFunctionSubclass():
            if function is torch.Tensor.__setitem__ and isinstance(args[0], TracedTensor):
                return put(*args)
            row = whole_rows().get(function)
            if row is not None and any(isinstance(x, TracedTensor) for x in plain_leaves((args, named))):
                return traced_function(function, row, args, named, _made(), stopping)
            return _OTHERWISE.get(function, _as_written)(function, args, named)


_OF_DATA = ("numpy", "__array__", "tolist", "data_ptr", "storage", "untyped_storage", "_typed_storage", "__dlpack__")
_OF_DATA += (
    "__deepcopy__",
    "__reduce_ex__",
    "apply_",
    "map_",
    "backward",
    "share_memory_",
    "pin_memory",
    "register_hook",
)
_COPIES = ("__deepcopy__", "__reduce_ex__", "data_ptr")


def _data(function: Any, args: tuple, kwargs: dict) -> Any:
    """What goes to the memory of tensors, past all operations: tensors made here have known values, and no others."""
    traced = next((x for x in args if isinstance(x, TracedTensor)), None)
    name = function.__name__
    if name == "backward":
        raise TraceError("x.backward() inside a traced function has nothing to go back through; write rc.grad(f)(x).")
    if traced is not None:
        traced.inside()._has_no_value(
            f"x.{name}(…) asks for the values of a traced tensor",
            "Leave it a tensor: PyTorch's functions take it; or use rc.Tensor, which runs line by line",
        )
    if name not in _COPIES and not all(id(x) in _made() for x in args if isinstance(x, torch.Tensor)):
        raise TraceError(
            f"x.{name}(…) reads the values of a tensor from outside{where()}. A traced function runs once, so they "
            "would be those of now at each call; compute with the tensor itself, or pass it as an argument."
        )
    with aside():
        return function(*args, **kwargs)


def _as_written(function: Any, args: tuple, kwargs: dict) -> Any:
    return function(*args, **kwargs)


def _batch_second(function: Any, args: tuple, kwargs: dict) -> Any:
    """A recurrent layer, whose batch comes second; PyTorch would turn a result round in place where it comes first."""
    *rest, batch_first = args
    if kwargs or len(args) != 9 or not batch_first:
        return function(*args, **kwargs)
    result, *state = function(rest[0].transpose(0, 1), *rest[1:], False)
    return result.transpose(0, 1), *state


_OTHERWISE = dict.fromkeys([torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu], _batch_second)


def _tensor(x: Any, as_it_is: bool) -> Any:
    """A traced array, an eager tensor or an array of NumPy as a tensor."""
    if isinstance(x, Operand):
        return wrapped(lift(x))
    if isinstance(x, np.ndarray) and not (as_it_is and x.dtype == bool):
        return wrapped(lift(x))
    return x


def _refuse_rules_of_their_own() -> None:
    """An error inside the ``forward`` of a ``torch.autograd.Function``, whose ``backward`` would be lost."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "apply" and frame.f_globals.get("__name__") == "torch.autograd.function":
            name = frame.f_locals["cls"].__name__
            raise TraceError(
                f"{name}, a torch.autograd.Function, has a derivative of its own, which ricci does not read. "
                "Give the function to rc.custom, and its rule with it."
            )
        frame = frame.f_back


class OperationObserver(TorchDispatchMode):
    """Sees the operations that functions come down to."""

    def __torch_dispatch__(self, op: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if untraced():
            return op(*args, **kwargs)
        if _is_random(op) and kwargs.get("generator") is None:  # one of the arguments may draw: it draws at each call
            raise _random(op)
        tensors = [x for x in plain_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        if op.overloadpacket.__name__ in ("lift_fresh", "lift"):  # of what torch.tensor([1, 2]) has just made
            self._remember(tensors)
        if all(id(x) in _made() for x in tensors):
            return self._remember(op(*args, **kwargs))
        return traced_operation(op, args, kwargs, self, _made(), _STOPPING.get())

    def _remember(self, result: Any) -> Any:
        for x in plain_leaves(result):
            if isinstance(x, torch.Tensor):
                _made()[id(x)] = x  # held, so that no other tensor gets the same id
        return result


def _is_random(op: Any) -> bool:
    return torch.Tag.nondeterministic_seeded in op.tags and op.overloadpacket.__name__ not in operations()


def _random(op: Any) -> TraceError:
    return TraceError(
        f"torch.{op.overloadpacket.__name__.strip('_')} draws random numbers{where()}. A traced function runs once, so "
        "that one draw would serve all calls: draw outside and pass it as an argument, or draw from a torch.Generator "
        "that is an argument (generator=…); for dropout, call model.eval() or give training=False."
    )
