"""Layers for PyTorch.

A layer is called in one of four ways, and ``forward`` leads to each. In an eager call it looks the shape of the tensor
up and finds a function of native calls. ``torch.compile`` and ``torch.export`` read the plain steps on sizes that are
symbols, so that one program serves all shapes; while scopes watch the axes, calls go the same way to be seen by them.
``torch.jit.trace`` gives sizes that are tensors, which no table knows, and records the same steps.
``torch.jit.script`` compiles :func:`follow`, a small interpreter of recipes that are written as lists of integers.
What was made is not part of the state of a layer: copies and pickles make their own.
"""

# TorchScript reads the annotations of this file when it runs, so they are not postponed.
# Where PyTorch is not installed, pyright takes this module, which has its name, for it:
# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false

from typing import Any, NamedTuple

from ricci.caches import Cache, cached
from ricci.einops.backends import backend_of
from ricci.einops.driver import MOST_SHAPES, Request, plainly
from ricci.einops.layers._common import described, missing, prepared
from ricci.einops.layers._einmix import check_input, decompose, watched
from ricci.einops.moves import Recipe
from ricci.einops.rearranging import one_array, options_of
from ricci.einops.watch import OPEN

try:
    import torch
except ModuleNotFoundError as error:
    raise missing("torch", "PyTorch", error) from error

from torch import Tensor
from torch.compiler import is_dynamo_compiling
from torch.jit import is_scripting  # type: ignore[reportPrivateImportUsage]
from torch.nn import Module, Parameter

_BACKEND = backend_of(torch.empty(0))


class Steps(NamedTuple):
    """A recipe in the types of TorchScript."""

    sizes: list[int]  # of elementary axes, 0 where not known; those of the input come first, in order
    groups: list[list[int]]  # elementary axes of each axis of the input
    inferred: list[int]  # for each axis of the input, the elementary axis found by division, or -1
    reduced: list[int]
    permutation: list[int]  # empty for none
    flat: list[int]  # elementary axes of the result
    result: list[list[int]]  # the same, for each axis of the result
    count: int  # how many elementary axes the input has
    splits: bool
    expands: bool
    merges: bool


def _steps(recipe: Recipe, sizes: dict) -> Steps:
    labels = recipe.labels
    (groups,), (result,) = labels.operands, labels.results
    known = [size or 0 for size in labels.fixed]
    for axis, size in zip(labels.given, sizes.values()):
        known[axis] = size
    told = {*labels.given, *[k for k, size in enumerate(labels.fixed) if size is not None]}
    return Steps(
        known,
        [list(group) for group in groups],
        [next((k for k in group if k not in told), -1) for group in groups],
        list(recipe.reduced),
        list(recipe.permutation or ()),
        [axis for group in result for axis in group],
        [list(group) for group in result],
        labels.count,
        recipe.splits,
        recipe.expands,
        recipe.merges,
    )


def follow(x: Tensor, table: dict[int, Steps], operation: str, pattern: str) -> Tensor:
    """The steps of a layer, in TorchScript."""
    if x.dim() not in table:
        raise RuntimeError(f"Wrong shape for pattern '{pattern}': received {x.dim()}-dim tensor.")
    steps = table[x.dim()]
    sizes = found_sizes(list(x.size()), steps, pattern)
    if steps.splits:
        x = x.reshape(sizes[: steps.count])
    if len(steps.reduced) > 0:
        x = reduced(x, operation, steps.reduced)
    if len(steps.permutation) > 0:
        x = x.permute(steps.permutation)
    if steps.expands:
        x = x.reshape([sizes[k] if k < steps.count else 1 for k in steps.flat])
        x = x.expand([sizes[k] for k in steps.flat])
    if steps.merges:
        shape: list[int] = []
        for group in steps.result:
            shape.append(length_of(group, sizes))
        x = x.reshape(shape)
    return x


def found_sizes(shape: list[int], steps: Steps, pattern: str) -> list[int]:
    """The sizes of all elementary axes."""
    sizes = steps.sizes.copy()
    for axis, group in enumerate(steps.groups):
        length = shape[axis]
        unknown = steps.inferred[axis]
        if unknown >= 0:
            sizes[unknown] = 1
        known = length_of(group, sizes)
        if unknown < 0:
            if known != length:
                raise RuntimeError(f"Shape mismatch for pattern '{pattern}': {length} != {known} at axis {axis}.")
        else:
            if known == 0 or length % known != 0:
                raise RuntimeError(f"Shape mismatch for pattern '{pattern}': can't divide {length} by {known}.")
            sizes[unknown] = length // known
    return sizes


def length_of(group: list[int], sizes: list[int]) -> int:
    """The product of the sizes of a group."""
    length = 1
    for k in group:
        length *= sizes[k]
    return length


def reduced(x: Tensor, operation: str, axes: list[int]) -> Tensor:
    """A reduction, in TorchScript."""
    if operation == "sum":
        return x.sum(dim=axes)
    if operation == "mean":
        return x.mean(dim=axes)
    if operation == "max":
        return x.amax(dim=axes)
    if operation == "min":
        return x.amin(dim=axes)
    for axis in axes[::-1]:  # of these, torch makes one axis at a time; the last first, so that numbers stay true
        if operation == "prod":
            x = x.prod(dim=axis)
        elif operation == "any":
            x = x.any(dim=axis)
        else:
            x = x.all(dim=axis)
    return x


class _TorchLayer(Module):
    """A pattern that is applied to tensors; what it does is told by ``_operation``."""

    __jit_ignored_attributes__ = ("_runs",)  # functions of the eager calls

    def __init__(self, pattern: str, operation: Any, axes_lengths: dict[str, Any]) -> None:
        super().__init__()
        self.pattern = pattern
        self.axes_lengths = axes_lengths
        self._operation = operation
        self._prepare()

    def _prepare(self) -> None:
        sizes, recipes = prepared(repr(self), self.pattern, self._operation, self.axes_lengths)
        self._sizes = sizes
        # with its type, which TorchScript does not find from lists that are empty
        table = {ndim: _steps(recipe, sizes) for ndim, recipe in recipes.items()}
        self._table: Any = torch.jit.Attribute(table, dict[int, Steps])
        self._runs = Cache("shapes of layers", MOST_SHAPES)

    def forward(self, input):
        if is_scripting():
            return follow(input, self._table, self._operation, self.pattern)
        else:  # not read by TorchScript
            if is_dynamo_compiling() or OPEN:
                return one_array(self._operation).first(input, self.pattern, self._operation, self._sizes)
            run = self._runs.known.get(input.shape) if input.__class__ is Tensor else None
            return self._first(input) if run is None else run(input)

    def _first(self, input: Any) -> Any:
        """The first call with tensors of a shape, and all calls for which nothing is kept."""
        operation, sizes = self._operation, self._sizes
        task = one_array(operation)
        if operation.__class__ is not str or not isinstance(input, Tensor):
            return task.first(input, self.pattern, operation, sizes)
        call = Request(task, _BACKEND, (Tensor,), self.pattern, sizes, options_of(operation))
        if input.__class__ is not Tensor or _BACKEND.recording():  # sizes may be symbols
            return plainly(call, (input,))
        run = call.planned((tuple(input.shape),)).run
        result = run(input)  # a call that fails leaves nothing behind
        self._runs.keep(input.shape, run)
        return result

    def __repr__(self) -> str:
        return described(type(self).__name__, [self.pattern], self.axes_lengths)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_sizes", "_table", "_runs")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._prepare()


class Rearrange(_TorchLayer):
    """:func:`ricci.einops.rearrange` as a layer.

    >>> Rearrange("b c h w -> b (c h w)")(torch.ones(2, 3, 4, 5)).shape
    torch.Size([2, 60])
    """

    def __init__(self, pattern: str, **axes_lengths: Any) -> None:
        super().__init__(pattern, "rearrange", axes_lengths)


class Repeat(_TorchLayer):
    """:func:`ricci.einops.repeat` as a layer.

    >>> Repeat("b h w -> b (h 2) (w 2)")(torch.ones(1, 3, 4)).shape
    torch.Size([1, 6, 8])
    """

    def __init__(self, pattern: str, **axes_lengths: Any) -> None:
        super().__init__(pattern, "repeat", axes_lengths)


class Reduce(_TorchLayer):
    """:func:`ricci.einops.reduce` as a layer.

    >>> Reduce("b c (h 2) (w 2) -> b c h w", "max")(torch.ones(1, 3, 4, 6)).shape
    torch.Size([1, 3, 2, 3])
    """

    def __init__(self, pattern: str, reduction: Any, **axes_lengths: Any) -> None:
        super().__init__(pattern, reduction, axes_lengths)
        self.reduction = reduction

    def __repr__(self) -> str:
        return described(type(self).__name__, [self.pattern, self._operation], self.axes_lengths)


@cached("contractions of layers", 1024)
def _contraction(equation: str, *kinds: type) -> Any:
    return _BACKEND.contraction(kinds, equation)


class EinMix(Module):
    """A linear layer written as a pattern: an einsum with a weight, between two rearrangements.

    The weight has the axes of ``weight_shape``, and the bias, if there is one, those of ``bias_shape``; their sizes are
    given as keywords.

    >>> layer = EinMix("b t (h c) -> b t (h d)", "h c d", "h d", h=2, c=3, d=5)
    >>> layer(torch.ones(1, 4, 6)).shape
    torch.Size([1, 4, 10])
    >>> {name: tuple(p.shape) for name, p in layer.named_parameters()}
    {'weight': (2, 3, 5), 'bias': (1, 1, 2, 5)}
    """

    __jit_ignored_attributes__ = ("_mix",)

    def __init__(self, pattern: str, weight_shape: str, bias_shape: str | None = None, **axes_lengths: Any) -> None:
        super().__init__()
        self.pattern = pattern
        self.weight_shape = weight_shape
        self.bias_shape = bias_shape
        self.axes_lengths = axes_lengths
        self._mix = mix = decompose(pattern, weight_shape, bias_shape, axes_lengths)
        self.einsum_pattern = mix.einsum_pattern
        self.weight = Parameter(torch.empty(mix.weight_shape).uniform_(-mix.weight_bound, mix.weight_bound))
        self.bias = None
        if mix.bias_shape is not None:
            self.bias = Parameter(torch.empty(mix.bias_shape).uniform_(-mix.bias_bound, mix.bias_bound))
        self.pre_rearrange = self.post_rearrange = None
        if mix.pre_reshape_pattern is not None:
            self.pre_rearrange = Rearrange(mix.pre_reshape_pattern, **(mix.pre_reshape_lengths or {}))
        if mix.post_reshape_pattern is not None:
            self.post_rearrange = Rearrange(mix.post_reshape_pattern, **mix.post_reshape_lengths)

    def forward(self, input):
        if self.pre_rearrange is not None:
            input = self.pre_rearrange(input)
        if is_scripting() or is_dynamo_compiling():
            result = torch.einsum(self.einsum_pattern, input, self.weight)
        else:  # not read by TorchScript
            result = self._eager(input, self.weight)
        bias = self.bias
        if bias is not None:
            result += bias  # in place: a bias of float32 does not widen what autocast has made narrow
        if self.post_rearrange is not None:
            result = self.post_rearrange(result)
        return result

    def _eager(self, input: Tensor, weight: Tensor) -> Tensor:
        check_input(self._mix, input.shape)
        contract = _contraction(self.einsum_pattern, input.__class__, weight.__class__)
        return watched(self._mix, input, weight, contract) if OPEN else contract(input, weight)

    def __repr__(self) -> str:
        texts = [self.pattern, self.weight_shape, *([] if self.bias_shape is None else [self.bias_shape])]
        return described(type(self).__name__, texts, self.axes_lengths)
