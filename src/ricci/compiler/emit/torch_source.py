"""PyTorch source: native operations on the device of the inputs; eager, or through ``torch.compile`` if asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ricci.compiler.backends.torch_table import ELEMENTWISE, FUNCTIONS, torch
from ricci.compiler.emit.functional import FunctionalEmitter
from ricci.compiler.emit.numpy_calls import selected
from ricci.compiler.emit.source import tuple_text
from ricci.compiler.plan.loops import bound_by_memory
from ricci.compiler.plan.plans import Plan
from ricci.compiler.plan.program import Form, Labels, Result, Step, Value, placed_strides
from ricci.errors import AxisError


class _Constant:
    """An array of the program, on whatever devices it is used."""

    def __init__(self, tensor: Any):
        self.on = {tensor.device: tensor}

    def __call__(self, device: Any) -> Any:
        found = self.on.get(device)
        if found is None:
            found = self.on[device] = next(iter(self.on.values())).to(device)
        return found


def _take(x: Any, at: Any, axis: int) -> Any:
    return torch.index_select(x, axis, at) if at.ndim else torch.index_select(x, axis, at.reshape(1)).squeeze(axis)


def _guarded(made: Any, own: Any, of_masks: Any, out: Any, number: float, factors: Any) -> Any:
    """``made``, or, where that is not finite, the product of arrays over the indices where the masks hold."""
    seen = not _unseen(made)
    if seen and bool(torch.isfinite(made.detach().sum())):
        return made
    exact = selected(torch, own, of_masks, out, number, factors)
    return exact if seen else torch.where(torch.isfinite(made), made, exact)


def _checked_places(index: Any, size: int) -> Any:
    """Integers that are places along an axis. Where one cannot look, a negative one is too large: reading it fails."""
    if _unseen(index) or index.device.type != "cpu":
        return torch.where(index < 0, size, index)
    if index.numel():
        low, high = torch.aminmax(index)
        wrong = low if low < 0 else high
        if wrong < 0 or wrong >= size:
            raise AxisError(f"A tensor is read at the place {int(wrong)} of an axis of size {size}.")
    return index


def _unseen(tensor: Any) -> bool:
    """Whether the program is being compiled or transformed, so that what it does may not depend on values."""
    return torch.compiler.is_compiling() or torch._C._functorch.is_functorch_wrapped_tensor(tensor)


def _vecdot(a: Any, b: Any) -> Any:
    return torch.linalg.vecdot(a, b) if a.is_floating_point() else (a * b).sum(-1)


def _owner(value: Value) -> Value:
    """Whose memory a value is in, if steps that may be views are."""
    while value.step is not None and value.step.views:
        value = value.step.operands[0]
    return value


class TorchEmitter(FunctionalEmitter):
    backend = "torch"
    elementwise = ELEMENTWISE
    functions = FUNCTIONS
    helpers: Mapping[str, Any] = {
        "square": torch.square,
        "sqrt": torch.sqrt,
        "select": torch.where,
        "arange": torch.arange,
        "broadcast_to": torch.broadcast_to,
        "matmul": torch.matmul,
        "vecdot": _vecdot,
        "guarded": _guarded,
        "checked_places": _checked_places,
        "zeros": torch.zeros,
        "full": torch.full,
        "take": _take,
        "contiguous": lambda x: x.contiguous(),
    }

    def __init__(self, plan: Plan):
        super().__init__(plan)
        self.jit = plan.option("jit", False)
        inputs = list(self.program.inputs.values())
        self.device = f"{self.names[inputs[0]]}.device" if inputs else "None"
        if inputs:
            for value in self.program.constants:
                name = self.names[value]
                self.scope[f"{name}_on"] = _Constant(self.scope.pop(name))
                self.lines.append(f"{name} = {name}_on({self.device})")

    def array(self, source: Any) -> Any:
        made = torch.from_numpy(np.array(source))
        return made.to(getattr(torch, self.dtype)) if made.is_floating_point() else made

    def kind_name(self, kind: str) -> str:
        self.scope[f"{kind}_type"] = {"f": getattr(torch, self.dtype), "i": torch.int64, "b": torch.bool}[kind]
        return f"{kind}_type"

    def dot(self, step: Step) -> str:
        """Compiled, a dot that is bound by memory is fused with what comes before and after."""
        return self.summed_product(step) if self.jit and bound_by_memory(step) else super().dot(step)

    def transposed(self, text: str, order: Sequence[int]) -> str:
        return f"{text}.T" if list(order) == [1, 0] else f"{text}.permute({', '.join(map(str, order))})"

    def cast(self, step: Step) -> str:
        return f"{self.name(step.args[0][0])}.to({self.kind_name(step.name)})"

    def indices(self, size: int) -> str:
        return f"{self.helper('arange')}({size}, device={self.device})"

    def place_of(self, form: Form, sizes: Sequence[int]) -> str:
        if form.terms:
            return super().place_of(form, sizes)
        return f"{self.helper('arange')}({form.const}, {form.const + 1}, device={self.device})"

    def zeros(self, step: Step, like: Any) -> str:
        if isinstance(like, Value):  # so that under vmap the zeros are as many as the values
            return f"{self.name(like)}.new_zeros({tuple_text(step.out.shape)})"
        kind = self.kind_name(step.out.kind)
        return f"{self.helper('zeros')}({tuple_text(step.out.shape)}, dtype={kind}, device={self.device})"

    def added(self, total: str, places: Sequence[str], text: str) -> str:
        return f"{total}.index_put(({', '.join(places)},), {text}, accumulate=True)"

    def part(self, step: Step, value: Any, own: Labels, forms: Sequence[Form], sizes: tuple, total: str) -> str:
        """Written through a view of the result where nothing is there yet; added up otherwise."""
        if total or not isinstance(value, Value):
            return super().part(step, value, own, forms, sizes, total)
        strides, offset = placed_strides(forms, len(sizes), step.out.shape)
        if min(strides, default=0) < 0:
            return super().part(step, value, own, forms, sizes, total)
        made = f"z{len(self.lines)}"
        self.lines.append(f"{made} = {self.zeros(step, value)}")
        text = self.arranged((value, own), tuple(range(len(sizes))))
        self.lines.append(f"{made}.as_strided({sizes}, {strides}, {offset}).copy_({text})")
        return made

    def filled(self, result: Result) -> str:
        kind = self.kind_name(result.kind)
        number = self.number(result.value)  # type: ignore
        return f"{self.helper('full')}({tuple_text(result.shape)}, {number}, dtype={kind}, device={self.device})"

    def result(self, result: Result) -> str:
        """In memory of its own: no other result's, no input's, no constant's."""
        text = super().result(result)
        if not isinstance(result.value, Value):
            return text
        owner = _owner(result.value)
        shared = sum(isinstance(r.value, Value) and _owner(r.value) is owner for r in self.program.results)
        fresh = owner.step is not None and shared == 1 and len(result.axes) == len(result.shape)
        return text if fresh else f"{text}.clone()"
