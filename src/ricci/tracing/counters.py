"""Numbers that follow the counter of a loop, while one step of it stands for all.

A counter passes for the number that it is in this step, and knows how it comes about: ``2*t + 1``, ``0.1 * t``. An
array that is read at one, and arithmetic of traced arrays with one, are recorded for all steps. Whoever asks for its
value (to compare, to index a list, to print) gets it, and the step is *marked*: it holds for itself alone.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

_NUMBERS = (int, float, bool)
MOST_IN_WINDOW = 32  # entries that a step reads at once


class Counter:
    """``scale * k + shift`` for the step ``k``; or a function of such numbers."""

    __slots__ = ("args", "op", "scale", "shift", "step")

    def __init__(self, step: Any, scale: int, shift: int, op: Callable | None = None, args: tuple = ()):
        self.step, self.scale, self.shift, self.op, self.args = step, scale, shift, op, args

    @property
    def __class__(self) -> type:  # type: ignore[override]
        return type(self.value)

    @property
    def value(self) -> Any:
        """The number in this step."""
        if self.op is None:
            return self.scale * self.step.number + self.shift
        return self.op(*map(number_of, self.args))

    @property
    def form(self) -> tuple:
        """How it comes about, but for the step."""
        if self.op is None:
            return self.scale, self.shift
        return self.op, *[arg.form if type(arg) is Counter else arg for arg in self.args]

    def asked(self) -> Any:
        """The value, for somebody who may do anything with it."""
        self.step.mark()
        for arg in self.args:
            if type(arg) is Counter:
                arg.step.mark()
        return self.value

    def traced(self) -> Any:
        """The same as a traced number, or as a number once the step is over."""
        if not self.step.open:
            return self.asked()
        if self.op is None:
            return self.step.counted(self.scale, self.shift)
        args = [arg.traced() if type(arg) is Counter else arg for arg in self.args]
        return self.op(*args)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        given = [x.traced() if type(x) is Counter else x for x in inputs]
        return getattr(ufunc, method)(*given, **kwargs)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        import numpy as np

        return np.array(self.asked(), dtype=dtype)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.asked(), name)


def number_of(x: Any) -> Any:
    return x.value if type(x) is Counter else x


def is_counted(key: Any) -> bool:
    """Whether a key of an array has a counter in it."""
    kind = type(key)
    if kind is slice:
        return Counter in (type(key.start), type(key.stop), type(key.step))
    return kind is Counter or (kind is tuple and any(map(is_counted, key)))


def asked_key(key: Any) -> Any:
    """The same key with numbers in place of counters."""
    if type(key) is Counter:
        return key.asked()
    if type(key) is tuple:
        return tuple(map(asked_key, key))
    return slice(*map(asked_key, (key.start, key.stop, key.step))) if type(key) is slice else key


def read_at(array: Any, key: Any) -> Any:
    """``array[key]`` for a key with counters in it, those of the outermost loop first."""
    parts = key if type(key) is tuple else (key,)
    place = next((n for n, part in enumerate(parts) if type(part) is slice and is_counted(part)), None)
    if place is not None:
        count = _window(array, parts, place)
        if not count:
            return array[asked_key(key)]
        return parts[place].start.step.window(array, parts, place, count)
    steps = [part.step for part in parts if type(part) is Counter]
    return min(steps, key=lambda step: step.depth).read(array, key)


def _window(array: Any, parts: tuple, place: int) -> int:
    """How many entries a slice between two counters reads in each step; 0 if that is not plain."""
    part = parts[place]
    ends = (part.start, part.stop)
    if part.step not in (None, 1) or not all(type(end) is Counter and end.op is None for end in ends):
        return 0
    first, last = ends
    if first.step is not last.step or not first.step.open or first.scale != last.scale:
        return 0
    if any(other is Ellipsis or hasattr(other, "shape") for other in parts[:place]):
        return 0
    axis = sum([other is not None for other in parts[:place]])
    inside = axis < len(array.shape) and 0 <= first.value <= last.value <= array.shape[axis]
    count = last.shift - first.shift
    return count if inside and count <= MOST_IN_WINDOW else 0


def write_at(array: Any, key: Any, value: Any) -> None:
    """``array[key] = value`` for a key with counters in it."""
    if type(key) is Counter and key.op is None and key.step.open:
        key.step.write(array, key, value)
    else:
        array[asked_key(key)] = value


def _made(op: Callable, args: tuple) -> Any:
    """A number made of counters and other numbers."""
    own = [arg for arg in args if type(arg) is Counter]
    if not all(arg.step.open for arg in own):
        return op(*[arg.asked() if type(arg) is Counter else arg for arg in args])
    scale, shift = _affine(op, args)
    if scale is not None:
        return Counter(own[0].step, scale, shift)  # type: ignore[arg-type]
    inner = max([arg.step for arg in own], key=lambda step: step.depth)
    return Counter(inner, 0, 0, op, args)


def _affine(op: Callable, args: tuple) -> tuple[int | None, int | None]:
    """The scale and the shift, if it has any and they are whole."""
    forms = []
    for arg in args:
        if type(arg) is Counter and arg.op is None:
            forms.append((arg.scale, arg.shift))
        elif type(arg) is int:
            forms.append((0, arg))
        else:
            return None, None
    steps = {id(arg.step) for arg in args if type(arg) is Counter}
    if len(steps) > 1:
        return None, None
    (a, b), (c, d) = forms if len(forms) == 2 else (*forms, (0, 0))
    if op is operator.neg:
        return -a, -b
    if op is operator.add:
        return a + c, b + d
    if op is operator.sub:
        return a - c, b - d
    if op is operator.mul and not (a and c):
        return a * d + b * c, b * d
    return None, None


def _arithmetic(op: Callable, swapped: bool) -> Callable:
    def method(self: Counter, other: Any) -> Any:
        if type(other) is Counter or type(other) in _NUMBERS:
            return _made(op, (other, self) if swapped else (self, other))
        if type(other).__module__ == "numpy":
            return op(other, self.traced()) if swapped else op(self.traced(), other)
        return NotImplemented

    return method


def _asking(op: Callable) -> Callable:
    def method(self: Counter, *others: Any) -> Any:
        return op(self.asked(), *[other.asked() if type(other) is Counter else other for other in others])

    return method


for _op in (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.floordiv, operator.mod):
    setattr(Counter, f"__{_op.__name__}__", _arithmetic(_op, False))
    setattr(Counter, f"__r{_op.__name__}__", _arithmetic(_op, True))
Counter.__neg__ = lambda self: _made(operator.neg, (self,))  # type: ignore[attr-defined]
for _op in (
    *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge, operator.index, operator.pos),
    *(operator.lshift, operator.rshift, operator.and_, operator.or_, operator.xor, operator.invert),
    *(int, float, bool, hash, str, repr, format, abs, round, divmod, complex),
):
    setattr(Counter, f"__{_op.__name__.strip('_')}__", _asking(_op))
for _name in ("lshift", "rshift", "and", "or", "xor", "divmod"):
    _own = divmod if _name == "divmod" else getattr(operator, _name + "_" * (_name in ("and", "or")))
    setattr(Counter, f"__r{_name}__", _asking(lambda x, y, own=_own: own(y, x)))
