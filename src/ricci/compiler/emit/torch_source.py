"""PyTorch source: native operations on the device of the inputs; eager, or through ``torch.compile`` if asked."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from math import prod
from operator import or_
from typing import Any

import numpy as np

from ricci.compiler.backends.torch_table import ELEMENTWISE, FUNCTIONS, complex_of, torch
from ricci.compiler.emit.functional import FunctionalEmitter
from ricci.compiler.emit.numpy_calls import selected
from ricci.compiler.emit.source import tuple_text
from ricci.compiler.emit.torch_calls import Call, joined
from ricci.compiler.mesh.dtensors import is_distributed
from ricci.compiler.plan.loops import bound_by_memory
from ricci.compiler.plan.plans import Plan
from ricci.compiler.plan.program_steps import Form, Labels, Number, Operand, Result, Step, Value, placed_strides
from ricci.errors import AxisError

OPERATORS = {"factors": "*", "minus": "-"}
LARGE = 1 << 16  # entries of a value from which on its memory is given back on the way
LOCAL = re.compile(r"\b[tmnvz]\d+\b")  # names that are made here


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
    made = torch.index_select(x, axis, at if at.ndim == 1 else at.reshape(-1))
    return made if at.ndim == 1 else made.reshape((*x.shape[:axis], *at.shape, *x.shape[axis + 1 :]))


def _located(parts: Sequence[Any], sizes: Sequence[int]) -> Any:
    """Places along several axes as one number; where one could not look, beyond all if one is outside of its axis."""
    at = reduce(lambda total, part: total * part[1] + part[0], zip(parts, sizes, strict=True), 0)
    if not (any(map(_unseen, parts)) or parts[0].device.type != "cpu"):
        return at
    outside = reduce(or_, [at >= size for at, size in zip(parts, sizes, strict=True)])
    return torch.where(outside, prod(sizes), at)


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
    """Whether the program is being compiled, transformed or recorded, so that what it does may not depend on values.

    Nor may it where each process sees a part of them.
    """
    if torch.compiler.is_compiling() or torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return True
    if is_distributed(tensor):
        return True
    return tensor.is_cuda and torch.cuda.is_current_stream_capturing()


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
        "mm": torch.mm,
        "bmm": torch.bmm,
        "addmm": torch.addmm,
        "baddbmm": torch.baddbmm,
        "plus": torch.add,
        "addcmul": torch.addcmul,
        "addcdiv": torch.addcdiv,
        "softmax_pullback": torch._softmax_backward_data,
        "vecdot": _vecdot,
        "plain_vecdot": lambda a, b: (a * b).sum(-1),
        "located": _located,
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
        self.calls = {} if self.jit else joined(self.program)  # a compiler joins steps by itself, and more of them
        self.gone = {value for call in self.calls.values() for value in call.inside}
        self.factors: dict[Value, Number] = {}  # of values whose names stand for them without a number
        self.put_back: dict[Value, Number] = {}  # of them, those that a call has taken along
        self.matrices_made: dict[tuple, str] = {}
        self.moved: set[str] = set()  # names of those that are large
        self.times: Number = 1  # what the next product of matrices is multiplied with, and what is added to it
        self.base: Operand | None = None
        self.base_sign = 1
        inputs = list(self.program.inputs.values())
        self.device = f"{self.names[inputs[0]]}.device" if inputs else "None"
        if inputs:
            for value in self.program.constants:
                name = self.names[value]
                self.scope[f"{name}_on"] = _Constant(self.scope.pop(name))
                self.lines.append(f"{name} = {name}_on({self.device})")

    def array(self, source: Any) -> Any:
        made = torch.from_numpy(np.array(source))
        if made.is_complex():
            return made.to(complex_of(self.dtype))
        return made.to(getattr(torch, self.dtype)) if made.is_floating_point() else made

    def kind_name(self, kind: str) -> str:
        self.scope[f"{kind}_type"] = {
            "f": getattr(torch, self.dtype),
            "c": complex_of(self.dtype),
            "i": torch.int64,
            "b": torch.bool,
        }[kind]
        return f"{kind}_type"

    def dot(self, step: Step) -> str:
        """Compiled, a dot that is bound by memory is fused with what comes before and after."""
        return self.summed_product(step) if self.jit and bound_by_memory(step) else super().dot(step)

    def wrapped(self, body: list[str]) -> list[str]:
        """Memory that nobody needs any more is given back, where that is much: the next steps take it."""
        large = {name for value, name in self.names.items() if value.entries >= LARGE} | self.moved
        here = {line.partition(" = ")[0] for line in body} & large
        if not here:
            return body
        last = {name: number for number, line in enumerate(body) for name in LOCAL.findall(line) if name in here}
        made = []
        for number, line in enumerate(body):
            ended = [name for name, end in last.items() if end == number] if number < len(body) - 1 else []
            made += [line, *([f"del {', '.join(ended)}"] if ended else [])]
        return made

    # Several steps at once

    def step(self, step: Step) -> None:
        call = self.calls.get(step)
        if step.out in self.gone:
            return
        if call is None and step.name == "negative" and step.args[0][1] == step.labels and not self.jit:
            call = Call("factor", step.args, -1)
        if call is None:
            super().step(step)
        elif call.function == "factor":
            ((value, _),) = call.args
            self.names[step.out] = self.names[value]  # type: ignore
            self.factors[step.out] = self.factors.get(value, 1) * call.number  # type: ignore
        else:
            text = self.called_at_once(call, step)
            self.lines.append(f"{self.new(step.out)} = {text}")
            if call.function in ("softmax_pullback", "factors"):
                self.factors[step.out] = call.sign if call.function == "softmax_pullback" else call.number

    def name(self, value: Value | Number) -> str:
        """The name of a value, with the number in it that products of matrices would have taken for nothing."""
        factor = self.factors.pop(value, 1)  # type: ignore
        if factor != 1:
            made, text = f"n{len(self.lines)}", self.names[value]  # type: ignore
            self.lines.append(f"{made} = -{text}" if factor == -1 else f"{made} = {text} * {self.number(factor)}")
            self.names[value] = made  # type: ignore
        return super().name(value)

    def called_at_once(self, call: Call, step: Step) -> str:
        if call.function == "turned dot":
            made = call.dot
            assert made is not None
            sizes = made.sizes()
            turned = replace(made, out=Value(tuple([sizes[x] for x in made.labels]), "f"))
            return self.permuted(self.dot(turned), made.labels, step.labels)
        if call.function == "dot":
            self.times, self.base, self.base_sign = call.number, (*call.args, None)[0], call.sign
            return self.dot(call.dot)  # type: ignore
        if call.function == "mean":
            return self.sum(call.dot, "mean")  # type: ignore
        number = call.number
        if call.function in ("addcmul", "plus"):
            for value, _ in call.args[1:]:
                number = number * self.taken_out(value)
        args = [self.arranged(operand, step.labels) for operand in call.args]
        if call.function in OPERATORS:
            return f"{args[0]} {OPERATORS[call.function]} {args[1]}"
        f = self.helper(call.function)
        if call.function == "softmax_pullback":
            return f"{f}({', '.join(args)}, {call.number}, {self.kind_name('f')})"
        args[0] = f"-{args[0]}" if call.sign < 0 else args[0]
        word = "alpha" if call.function == "plus" else "value"
        self.factors.update(self.put_back)
        self.put_back.clear()
        return f"{f}({', '.join(args)}" + (f", {word}={self.number(number)})" if number != 1 else ")")

    def taken_out(self, value: Any) -> Number:
        """The number that a value's name stands without, for a call that takes it along."""
        factor = self.factors.pop(value, 1)
        if factor != 1:
            self.put_back[value] = factor
        return self.put_back.get(value, 1)

    # Products of matrices

    def product(self, left: str, right: str, shape: Sequence[int], stack: bool = False) -> str:
        if len(shape) == 2 and not (stack or self.jit):
            return self.multiplied("mm", "addmm", left, right)
        times, self.times = self.times, 1
        text = f"{self.helper('matmul')}({left}, {right})"
        return text if times == 1 else f"-{text}" if times == -1 else f"{text} * {self.number(times)}"

    def multiplied(self, plain: str, adding: str, left: str, right: str) -> str:
        """A product of matrices or of stacks, with the number that it is multiplied with and what is added to it."""
        times, base, self.times, self.base = self.times, self.base, 1, None
        if times == 1 and base is None:
            return f"{self.helper(plain)}({left}, {right})"
        options = "" if times == 1 else f", alpha={self.number(times)}"
        if base is None:
            return f"{self.helper(adding)}({self.nothing()}, {left}, {right}, beta=0{options})"
        added = self.name(base[0])
        return f"{self.helper(adding)}({'-' if self.base_sign < 0 else ''}{added}, {left}, {right}{options})"

    def nothing(self) -> str:
        """What is in the place of a matrix that would be added."""
        if "nothing_on" not in self.scope:
            self.scope["nothing_on"] = _Constant(torch.zeros((), dtype=getattr(torch, self.dtype)))
            self.lines.insert(0, f"nothing = nothing_on({self.device})")
        return "nothing"

    def matrix(self, operand: Operand, first: Labels, second: Labels) -> str:
        return self.laid((), operand, [first, second])

    def batched(self, step: Step, batch: Labels, rows: Labels, columns: Labels, summed: Labels) -> str:
        """Stacks of matrices with one axis for the stack, as the products take them."""
        a, b = step.args
        sizes = step.sizes()
        if not (rows or columns):
            return self.summed_product(step)
        if self.jit:
            return super().batched(step, batch, rows, columns, summed)
        if step.labels != (*batch, *rows, *columns):
            a, b, rows, columns = b, a, columns, rows
        left, right = self.laid(batch, a, [rows, summed]), self.laid(batch, b, [summed, columns])
        shape = [math.prod([sizes[x] for x in group]) for group in (batch, rows, columns)]
        return self.shaped(self.multiplied("bmm", "baddbmm", left, right), shape, step.out.shape)

    def laid(self, batch: Labels, operand: Operand, groups: list[Labels]) -> str:
        """An operand as a matrix or a stack of them: what is copied for that is copied once for all products."""
        value, own = operand
        assert isinstance(value, Value)
        self.times = self.times * self.factors.get(value, 1)
        text = self.names[value]
        place = {x: p for p, x in enumerate(own)}
        forth = [tuple([place[x] for x in group]) for group in (batch, *groups)]
        back = [forth[0], *forth[:0:-1]]
        turned = bool(groups[0] and groups[1]) and sum(back, ()) < sum(forth, ())
        chosen = tuple(back if turned else forth)
        made = self.matrices_made.get((text, chosen))
        if made is None:
            made = self.matrices_made[text, chosen] = self._laid(text, value.shape, chosen)
        return made if not turned else f"{made}.mT" if batch else f"{made}.T"

    def _laid(self, text: str, shape: tuple[int, ...], groups: tuple[Labels, ...]) -> str:
        order = [axis for group in groups for axis in group]
        flat = [
            math.prod([shape[axis] for axis in group]) for n, group in enumerate(groups) if group or (n and groups[0])
        ]
        moved = order != list(range(len(shape)))
        made = self.shaped(self.transposed(text, order) if moved else text, [shape[axis] for axis in order], flat)
        if made == text:
            return made
        name = f"m{len(self.lines)}"
        self.lines.append(f"{name} = {made}")
        if math.prod(shape) >= LARGE:
            self.moved.add(name)
        return name

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

    def rows_added(self, total: str, places: str, text: str, count: int, rest: Sequence[int]) -> str:
        return f"{total}.index_add(0, {places}.reshape(({count},)), {text}.reshape({tuple_text([count, *rest])}))"

    def part(self, step: Step, value: Any, own: Labels, forms: Sequence[Form], sizes: tuple, total: str) -> str:
        """Written through a view of the result where nothing is there yet; added up otherwise.

        DTensors, parts of which are in the memory of others, cannot be written to like that.
        """
        if total or not isinstance(value, Value) or self.plan.option("distributed"):
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
