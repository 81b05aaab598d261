"""Layers for Keras 3, with any of its backends.

The moves are made with ``keras.ops``, which takes the arrays of the backend that Keras was started with. Models are
built from shapes of which some sizes are None; the shape of the result is found from those by the same recipes, with a
size that stays unknown whatever is done with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from ricci.einops.backends.base import Backend
from ricci.einops.driver import Planned, Request, plainly
from ricci.einops.grammar import names_of, parse
from ricci.einops.inference import merged_sizes
from ricci.einops.layers._common import described, missing, prepared
from ricci.einops.layers._einmix import check_input, decompose, watched, written_out
from ricci.einops.rearranging import one_array, options_of
from ricci.einops.watch import WATCHERS

try:
    keras: Any = import_module("keras")
    ops: Any = import_module("keras.ops")  # not in Keras 2
except ModuleNotFoundError as error:
    raise missing("keras", "Keras 3 and the framework that KERAS_BACKEND names", error) from error

_OF_KERAS = ("name", "trainable", "dtype", "autocast", "activity_regularizer")  # arguments of every layer


class _KerasBackend(Backend):
    name = "keras"
    xp = ops

    def shape(self, x: Any) -> tuple:
        return tuple(ops.shape(x))

    def reshape(self, x: Any, shape: Sequence) -> Any:
        return ops.reshape(x, shape)

    def transpose(self, x: Any, axes: Sequence[int]) -> Any:
        return ops.transpose(x, axes)

    def native_reduce(self, x: Any, name: str, axes: tuple[int, ...]) -> Any:
        # The last axis first: on PyTorch, some Kerases reduce one after the other, as if none had gone before.
        return getattr(ops, name)(x, axis=tuple(sorted(axes, reverse=True)))

    def is_float(self, x: Any) -> bool:
        return keras.backend.is_float_dtype(keras.backend.standardize_dtype(x.dtype))


_BACKEND = _KerasBackend()


class _Unknown:
    """A size that is not known yet: so is what is made of it."""

    def __mul__(self, other: Any) -> _Unknown:
        return self

    __rmul__ = __floordiv__ = __rfloordiv__ = __mul__

    def __repr__(self) -> str:
        return "None"


def _symbolic(shape: Sequence[int | None]) -> tuple:
    return tuple([_Unknown() if size is None else size for size in shape])


def _plain(shape: Sequence[Any]) -> tuple[int | None, ...]:
    return tuple([None if isinstance(size, _Unknown) else size for size in shape])


def _sorted_out(names: Sequence[object], arguments: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is meant for Keras, and the sizes; an axis that is called as an argument of Keras is an axis."""
    for_keras = {name: value for name, value in arguments.items() if name in _OF_KERAS and name not in names}
    return for_keras, {name: value for name, value in arguments.items() if name not in for_keras}


def _axes_of(pattern: Any) -> list:
    if not isinstance(pattern, str):
        return []
    parsed = parse(pattern)
    return [axis for sides in (parsed.left, parsed.right or ()) for side in sides for axis in names_of(side)]


class _KerasLayer(keras.layers.Layer):
    """A pattern that is applied to arrays."""

    def __init__(self, pattern: str, operation: Any, texts: list[str], arguments: dict[str, Any]) -> None:
        for_keras, lengths = _sorted_out(_axes_of(pattern), arguments)
        written = described(type(self).__name__, [pattern, *texts], lengths)
        sizes, _ = prepared(written, pattern, operation, lengths)
        super().__init__(**for_keras)
        self._written = written
        self.pattern = pattern
        self.axes_lengths = lengths
        self._operation = operation
        self._sizes = sizes

    def build(self, input_shape: Any) -> None:
        self.built = True  # there is nothing to learn

    def call(self, inputs: Any) -> Any:
        return plainly(self._request(), (inputs,))

    def _request(self) -> Request:
        operation = self._operation
        return Request(one_array(operation), _BACKEND, (), self.pattern, self._sizes, options_of(operation))

    def _planned(self, input_shape: Sequence[int | None]) -> Planned:
        return self._request().planned([_symbolic(input_shape)], True)

    def compute_output_shape(self, input_shape: Sequence[int | None]) -> tuple[int | None, ...]:
        made = self._planned(input_shape)
        return _plain(merged_sizes(made.labels.results[0], made.sizes))

    def compute_output_spec(self, inputs: Any) -> Any:
        reduced = self._planned(inputs.shape).plan.reduced
        dtype = "bool" if self._operation in ("any", "all") and reduced else inputs.dtype
        return keras.KerasTensor(self.compute_output_shape(inputs.shape), dtype=dtype)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "pattern": self.pattern, **self.axes_lengths}

    def __repr__(self) -> str:
        return self._written


@keras.saving.register_keras_serializable("ricci")
class Rearrange(_KerasLayer):
    """:func:`ricci.einops.rearrange` as a layer."""

    def __init__(self, pattern: str, **axes_lengths: Any) -> None:
        super().__init__(pattern, "rearrange", [], axes_lengths)


@keras.saving.register_keras_serializable("ricci")
class Repeat(_KerasLayer):
    """:func:`ricci.einops.repeat` as a layer."""

    def __init__(self, pattern: str, **axes_lengths: Any) -> None:
        super().__init__(pattern, "repeat", [], axes_lengths)


@keras.saving.register_keras_serializable("ricci")
class Reduce(_KerasLayer):
    """:func:`ricci.einops.reduce` as a layer."""

    def __init__(self, pattern: str, reduction: Any, **axes_lengths: Any) -> None:
        super().__init__(pattern, reduction, [reduction], axes_lengths)
        self.reduction = reduction

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "reduction": self.reduction}


@keras.saving.register_keras_serializable("ricci")
class EinMix(keras.layers.Layer):
    """A linear layer written as a pattern: an einsum with a weight, between two rearrangements."""

    def __init__(self, pattern: str, weight_shape: str, bias_shape: str | None = None, **axes_lengths: Any) -> None:
        names = [*_axes_of(pattern), *_axes_of(weight_shape)]
        for_keras, lengths = _sorted_out(names, axes_lengths)
        mix = decompose(pattern, weight_shape, bias_shape, lengths)
        super().__init__(**for_keras)
        self.pattern = pattern
        self.weight_shape = weight_shape
        self.bias_shape = bias_shape
        self.axes_lengths = lengths
        self._mix = mix
        self.einsum_pattern = mix.einsum_pattern
        self.pre_rearrange = self.post_rearrange = None
        if mix.pre_reshape_pattern is not None:
            self.pre_rearrange = Rearrange(mix.pre_reshape_pattern, **(mix.pre_reshape_lengths or {}))
        if mix.post_reshape_pattern is not None:
            self.post_rearrange = Rearrange(mix.post_reshape_pattern, **mix.post_reshape_lengths)

    def build(self, input_shape: Any) -> None:
        mix = self._mix
        self.weight = self._drawn("weight", mix.weight_shape, mix.weight_bound)
        self.bias = None if mix.bias_shape is None else self._drawn("bias", mix.bias_shape, mix.bias_bound)
        self.built = True

    def _drawn(self, name: str, shape: Sequence[int], bound: float) -> Any:
        uniform = keras.initializers.RandomUniform(-bound, bound)
        return self.add_weight(shape=tuple(shape), initializer=uniform, trainable=True, name=name)

    def call(self, inputs: Any) -> Any:
        if self.pre_rearrange is not None:
            inputs = self.pre_rearrange(inputs)
        check_input(self._mix, ops.shape(inputs))
        result = (
            watched(self._mix, inputs, self.weight, self._mixed) if WATCHERS.get() else self._mixed(inputs, self.weight)
        )
        return result if self.post_rearrange is None else self.post_rearrange(result)

    def _mixed(self, inputs: Any, weight: Any) -> Any:
        result = ops.einsum(self.einsum_pattern, inputs, weight)
        return result if self.bias is None else result + self.bias

    def compute_output_shape(self, input_shape: Sequence[int | None]) -> tuple[int | None, ...]:
        mix, shape = self._mix, tuple(input_shape)
        if self.pre_rearrange is not None:
            shape = self.pre_rearrange.compute_output_shape(shape)
        check_input(mix, shape)
        sizes = dict(zip(written_out(mix.left, len(shape)), shape)) | dict(zip(mix.weight, mix.weight_shape))
        right = written_out(mix.right, len(shape) + len(mix.right) - len(mix.left))
        shape = tuple([sizes[axis] for axis in right])
        return shape if self.post_rearrange is None else self.post_rearrange.compute_output_shape(shape)

    def compute_output_spec(self, inputs: Any) -> Any:
        return keras.KerasTensor(self.compute_output_shape(inputs.shape), dtype=self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        own = {"pattern": self.pattern, "weight_shape": self.weight_shape, "bias_shape": self.bias_shape}
        return {**super().get_config(), **own, **self.axes_lengths}

    def __repr__(self) -> str:
        texts = [self.pattern, self.weight_shape, *([] if self.bias_shape is None else [self.bias_shape])]
        return described(type(self).__name__, texts, self.axes_lengths)


keras_custom_objects = {layer.__name__: layer for layer in (Rearrange, Reduce, Repeat, EinMix)}
