"""Layers of PyTorch: einops' results, in every way in which PyTorch runs a module."""

from __future__ import annotations

import copy
import io
import os
import pickle
import random
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from reference import random_call, reference

import ricci

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
einops_layers = pytest.importorskip("einops.layers.torch", reason="einops, to compare with, is not installed")

from einops.layers._einmix import _EinmixDebugger  # noqa: E402

from ricci.einops import rearrange  # noqa: E402
from ricci.einops.layers import torch as layers  # noqa: E402
from ricci.einops.layers._einmix import decompose  # noqa: E402
from ricci.einops.layers.torch import EinMix, Rearrange, Reduce, Repeat  # noqa: E402
from ricci.errors import EinopsError, MissingPackageError  # noqa: E402
from ricci.scopes import axes, shapes  # noqa: E402

close = torch.testing.assert_close
jit = pytest.mark.filterwarnings(r"ignore:`torch\.jit\.\w+` is deprecated:DeprecationWarning")


def case(layer, *shapes):
    return pytest.param(layer, shapes, id=repr(layer))


# Each with shapes that it takes; the first axis of all of them is the batch.
CASES = [
    case(Rearrange("b c h w -> b (c h w)"), (2, 3, 4, 6), (5, 3, 2, 2)),
    case(Rearrange("b c h w -> b h w c"), (2, 3, 4, 6), (7, 1, 2, 3)),
    case(Rearrange("b c (h p) (w q) -> b h w (p q c)", p=2, q=3), (2, 3, 4, 6), (5, 3, 6, 9)),
    case(Rearrange("b ... (d k) -> (b ...) k d", k=2), (2, 3, 4), (5, 3, 8)),
    case(Rearrange("b 1 ... -> ... b 1 1"), (2, 1, 3), (5, 1, 3)),
    case(Reduce("b c (h p) (w q) -> b c h w", "max", p=2, q=2), (2, 3, 4, 6), (5, 3, 2, 8)),
    case(Reduce("b c (h 2) w -> b w c", "prod"), (2, 3, 4, 6), (5, 3, 4, 6)),
    case(Reduce("b ... c -> c b", "mean"), (2, 3, 4), (5, 3, 4)),
    case(Reduce("b c h -> b () ()", "sum"), (2, 3, 4), (5, 3, 4)),
    case(Repeat("b h w -> b (h 2) (w k)", k=3), (2, 3, 4), (5, 3, 4)),
    case(Repeat("b ... -> ... k (b 2)", k=3), (2, 3, 4), (5, 3, 4)),
    case(EinMix("b t c -> b t d", "c d", "d", c=3, d=5), (2, 4, 3), (6, 4, 3)),
    case(EinMix("b (h c) ... -> b ... (h d)", "h c d", "h d", h=2, c=3, d=4), (2, 6, 5), (3, 6, 5)),
    case(EinMix("b c h w -> b (h w d)", "c h d", c=3, h=4, d=2), (2, 3, 4, 6), (5, 3, 4, 6)),
]


def array(shape, seed=0, dtype=torch.float64):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def both(*arguments, kind=None, **sizes):
    """The layer, and that of einops with the same parameters."""
    ours, theirs = getattr(layers, kind)(*arguments, **sizes), getattr(einops_layers, kind)(*arguments, **sizes)  # pyright: ignore[reportArgumentType]
    theirs.load_state_dict(ours.state_dict())
    return ours, theirs


# Results


def layer_of(library, call):
    if call.operation == "rearrange":
        return library.Rearrange(call.pattern, **call.sizes)
    return library.Reduce(call.pattern, call.operation, **call.sizes)


@pytest.mark.parametrize("seed", range(10))
def test_same_as_einops(seed):
    rng = random.Random(seed)
    compared = 0
    while compared < 40:
        call = random_call(rng)
        if call.operation in ("repeat", "any", "all"):
            continue
        ours, theirs = layer_of(layers, call), layer_of(einops_layers, call)
        assert repr(ours) == repr(theirs)
        assert (ours.pattern, ours.axes_lengths) == (theirs.pattern, theirs.axes_lengths)
        assert list(ours.state_dict()) == list(theirs.state_dict()) == []
        x, y = array(call.shape).requires_grad_(), array(call.shape).requires_grad_()
        try:
            expected = theirs(y)
        except (RuntimeError, ZeroDivisionError, IndexError):
            with pytest.raises((RuntimeError, IndexError)):  # the reduction of nothing, refused by torch
                ours(x)
        else:
            for _ in range(2):
                result = ours(x)
                close(result, expected, rtol=0, atol=0, equal_nan=True)
            if result.numel():
                ((result**2).sum()).backward()
                ((expected**2).sum()).backward()
                close(x.grad, y.grad, equal_nan=True)
        compared += 1


@pytest.mark.parametrize("seed", range(4))
def test_all_operations_mean_what_is_written(seed):
    rng = random.Random(100 + seed)
    for _ in range(30):
        call = random_call(rng)
        x = np.arange(1.0, 1 + np.prod(call.shape)).reshape(call.shape)
        if x.size == 0:
            continue
        kind = Repeat if call.operation == "repeat" else None
        layer = kind(call.pattern, **call.sizes) if kind else layer_of(layers, call)
        np.testing.assert_allclose(layer(torch.tensor(x)), reference(x, call.pattern, call.operation, call.sizes))


def test_repr_and_attributes():
    layer = Reduce("b (h p) -> b h", "max", p=2)
    assert repr(layer) == "Reduce('b (h p) -> b h', 'max', p=2)"
    assert (layer.pattern, layer.reduction, layer.axes_lengths) == ("b (h p) -> b h", "max", {"p": 2})
    assert repr(Repeat("a -> a k", k=3)) == "Repeat('a -> a k', k=3)"


def test_reduction_by_a_function():
    layer = Reduce("b (h p) -> h b", lambda x, axes: x.std(axes), p=2)
    x = array((3, 4))
    close(layer(x), x.reshape(3, 2, 2).std(2).T)


def test_list_is_stacked():
    parts = [array((2, 3), seed) for seed in range(4)]
    assert torch.equal(Rearrange("n a b -> a (n b)")(parts), torch.cat(parts, 1))


def test_views_stay_views():
    x = array((2, 3, 4))
    assert Rearrange("a b c -> c (a b)")(x).data_ptr() == x.data_ptr()
    assert Repeat("a b c -> k a b c", k=5)(x).data_ptr() == x.data_ptr()


# EinMix


def random_mix(rng):
    """Arguments of an EinMix, its sizes, and the shape of an input."""
    names = rng.sample(["a", "b", "c", "d", "long", "h1"], rng.randint(1, 4))
    size = {name: rng.randint(1, 4) for name in [*names, "x", "y"]}
    new = ["x", "y"][: rng.randint(0, 2)]
    weight = rng.sample([*names, *new], rng.randint(0, len(names) + len(new)))
    right = [name for name in names if name not in weight or rng.random() < 0.5]
    right += [name for name in new if name in weight]
    weight = [name for name in weight if name in names or name in right]
    rng.shuffle(right)
    hidden = [rng.randint(1, 3) for _ in range(rng.randint(0, 2))] if rng.random() < 0.4 else None
    left_groups, right_groups = grouped(rng, names), grouped(rng, right)
    bias = None
    if rng.random() < 0.6:
        bias = rng.sample(right, rng.randint(0, len(right)))
    if hidden is not None:
        left_groups.insert(rng.randint(0, len(left_groups)), ["..."])
        right_groups.insert(0 if bias else rng.randint(0, len(right_groups)), ["..."])
    sizes = {name: size[name] for name in [*names, *new] if name in names or name in weight}
    shape = []
    for group in left_groups:
        shape += hidden if group == ["..."] else [int(np.prod([size[name] for name in group]))]  # pyright: ignore[reportOperatorIssue]
    pattern = f"{written(rng, left_groups).replace('(...)', '...')} -> {written(rng, right_groups)}"
    return (pattern, " ".join(weight), None if bias is None else " ".join(bias)), sizes, tuple(shape)


def grouped(rng, names):
    groups = []
    for name in names:
        if groups and rng.random() < 0.4:
            groups[-1].append(name)
        else:
            groups.append([name])
    if rng.random() < 0.2:
        groups.insert(rng.randint(0, len(groups)), [])
    return groups


def written(rng, groups):
    words = [group[0] if len(group) == 1 and rng.random() < 0.9 else f"({' '.join(group)})" for group in groups]
    return " ".join(words)


@pytest.mark.filterwarnings("ignore:EinMix. weight has no dimensions:UserWarning")
@pytest.mark.parametrize("seed", range(8))
def test_einmix_same_as_einops(seed):
    rng = random.Random(seed)
    for _ in range(25):
        arguments, sizes, shape = random_mix(rng)
        ours, theirs = both(*arguments, kind="EinMix", **sizes)
        assert repr(ours) == repr(theirs)
        for name in ("pattern", "weight_shape", "bias_shape", "axes_lengths", "einsum_pattern"):
            assert getattr(ours, name) == getattr(theirs, name)
        for name in ("pre_rearrange", "post_rearrange"):
            assert repr(getattr(ours, name)) == repr(getattr(theirs, name))
        assert {k: v.shape for k, v in ours.state_dict().items()} == {
            k: v.shape for k, v in theirs.state_dict().items()
        }
        x, y = (array(shape, 1, torch.float32).requires_grad_() for _ in range(2))
        close(ours(x), theirs(y))
        ours(x).square().sum().backward()
        theirs(y).square().sum().backward()
        close(x.grad, y.grad)
        for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
            close(p.grad, q.grad)


@pytest.mark.filterwarnings("ignore:EinMix. weight has no dimensions:UserWarning")
def test_decomposition_same_as_einops():
    rng = random.Random(1)
    for _ in range(300):
        (pattern, weight, bias), sizes, _ = random_mix(rng)
        ours, theirs = decompose(pattern, weight, bias, sizes), _EinmixDebugger(pattern, weight, bias, **sizes)
        assert ours.pre_reshape_pattern == theirs.pre_reshape_pattern
        assert ours.pre_reshape_lengths == theirs.pre_reshape_lengths
        assert ours.post_reshape_pattern == theirs.post_reshape_pattern
        assert ours.post_reshape_lengths == theirs.post_reshape_lengths
        assert ours.einsum_pattern == theirs.einsum_pattern
        assert ours.weight_shape == theirs.saved_weight_shape
        assert ours.bias_shape == theirs.saved_bias_shape


def test_decomposition_of_one():
    mix = decompose("a ... (b c) -> a (... d b)", "c d b", "d b", {"b": 2, "c": 3, "d": 4})
    assert mix.pre_reshape_pattern == "a ... (b c) -> a ... b c"
    assert mix.pre_reshape_lengths == {"b": 2, "c": 3}
    assert mix.post_reshape_pattern == "a ... d b -> a (... d b)"
    assert mix.einsum_pattern == "a...bc,cdb->a...db"
    assert (mix.weight_shape, mix.bias_shape) == ([3, 4, 2], [1, 4, 2])
    assert (mix.weight_bound, mix.bias_bound) == (1.0, 3**-0.5)


def test_einmix_draws_the_numbers_of_einops():
    arguments, sizes = ("b (h c) -> b (h d)", "h c d", "h d"), {"h": 2, "c": 3, "d": 400}
    torch.manual_seed(0)
    ours = EinMix(*arguments, **sizes)
    torch.manual_seed(0)
    theirs = einops_layers.EinMix(*arguments, **sizes)
    assert torch.equal(ours.weight, theirs.weight)
    assert torch.equal(ours.bias, theirs.bias)
    assert 0.99 < float(ours.weight.detach().abs().max()) <= 1  # sqrt(3 / fan_in)


def test_einmix_with_more_axes_than_small_letters():
    names = [f"a{k}" for k in range(30)]
    layer = EinMix(f"{' '.join(names)} -> {' '.join(names[1:])} z", "a0 z", a0=2, z=3)
    x = array((2, *[1] * 29), dtype=torch.float32)
    close(layer(x).flatten(), x.flatten() @ layer.weight)


def test_einmix_without_bias_has_none():
    layer = EinMix("b c -> b d", "c d", c=2, d=3)
    assert layer.bias is None
    assert list(layer.state_dict()) == ["weight"]
    assert layer.pre_rearrange is None and layer.post_rearrange is None


def test_einmix_warns_of_a_number():
    with pytest.warns(
        UserWarning, match=r"EinMix: weight has no dimensions \(means multiplication by a number\)"
    ) as told:
        EinMix("... -> ...", "", "")
    assert told[0].filename == __file__


def test_einmix_under_autocast_keeps_the_type():
    layer = EinMix("b c -> b d", "c d", "d", c=2, d=3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer(torch.ones(4, 2)).dtype == torch.bfloat16


# Errors


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Rearrange("a b -> a c"), "Identifiers only on one side"),
        (lambda: Rearrange("a b"), "no arrow"),
        (lambda: Rearrange("a -> a -> a"), "one arrow"),
        (lambda: Rearrange("(a b) -> a b"), "Could not infer sizes for a, b"),
        (lambda: Rearrange("a b -> b a", c=3), "Axis c is not used"),
        (lambda: Rearrange("(a b) -> b a", b=2.0), "must be an integer"),
        (lambda: Rearrange("(a b) -> b a", b=True), "must be an integer"),
        (lambda: Rearrange("(a b) -> b a", b=-1), "negative"),
        (lambda: Rearrange(7), "A pattern is a text"),  # pyright: ignore[reportArgumentType]
        (lambda: Rearrange(["a -> a"]), "A pattern is a text"),  # pyright: ignore[reportArgumentType]
        (lambda: Rearrange("(...) a -> ... a"), "left side"),
        (lambda: Reduce("a b -> a", "summ"), "Unknown reduction summ"),
        (lambda: Reduce("a b -> a", 3), "A reduction is a name or a function"),
        (lambda: Reduce("a -> a b", "sum", b=2), "Unexpected identifiers on the right side"),
        (lambda: Repeat("a -> a b"), "Specify sizes for new axes"),
        (lambda: Repeat("a b -> a"), "left side of repeat"),
        (lambda: EinMix("a b -> b c", "a c", a=2), "Dimension c of weight should be specified"),
        (lambda: EinMix("a b -> b", "a w", a=2, w=2), "Weight axes w are redundant"),
        (lambda: EinMix("a b -> b c", "a c", a=2, c=3, z=1), "Axes z are not used in pattern"),
        (lambda: EinMix("a b -> b c", "a", a=2), "Unrecognized identifiers on the right side of EinMix"),
        (lambda: EinMix("a b -> b a", "(a b)", a=2, b=2), "Parenthesis is not allowed in weight"),
        (lambda: EinMix("a b -> b a", "...", a=2), "Ellipsis is not supported in weight"),
        (lambda: EinMix("a b -> b a", "a 1", a=2), "Anonymous axes"),
        (lambda: EinMix("a b -> b a", "a 2", a=2), "Anonymous axes"),
        (lambda: EinMix("a 2 -> a", "a", a=2), "Anonymous axes"),
        (lambda: EinMix("a b -> b a", "a -> b", a=2), "no arrow"),
        (lambda: EinMix("a ... -> a", "a", a=2), "both sides"),
        (lambda: EinMix("(...) a -> ... a", "a", a=1), "parenthesis"),
        (lambda: EinMix("... a -> a ...", "a", "a", a=1), "(?i)all bias dimensions should go after ellipsis"),
        (lambda: EinMix("a b -> a", "a", "b", a=1), "Bias axes b not present in output"),
        (lambda: EinMix("a b -> a b", "a", "b", a=1), "Sizes not provided for bias axes b"),
        (lambda: EinMix("a b -> a b", "a", 3, a=1), "bias shape should be string"),  # pyright: ignore[reportArgumentType]
        (lambda: EinMix("a b -> a b", None, a=1), "weight shape is a text"),  # pyright: ignore[reportArgumentType]
        (lambda: EinMix("a b", "a", a=1), "no arrow"),
        (lambda: EinMix("a b -> b", "a b", a=0, b=2), "must be positive"),
        (lambda: EinMix("a b -> b", "a b", a=1.5, b=2), "must be an integer"),
    ],
)
def test_faults_are_told_when_the_layer_is_made(make, message):
    with pytest.raises(EinopsError, match=message) as told:
        make()
    assert isinstance(told.value, RuntimeError)


def test_message_names_the_layer_and_points():
    with pytest.raises(EinopsError) as told:
        Reduce("b (h p) -> b h q", "max", p=2)
    assert str(told.value).splitlines()[:3] == [
        "Error while preparing Reduce('b (h p) -> b h q', 'max', p=2): "
        "Unexpected identifiers on the right side of reduce: q.",
        "  b (h p) -> b h q",
        "                 ^",
    ]


@pytest.mark.parametrize(
    ("layer", "shape", "message"),
    [
        (Rearrange("b (h p) -> b h p", p=2), (2, 3), "can't divide axis of length 3 in chunks of 2"),
        (Rearrange("b c -> c b"), (2, 3, 4), "expected 2 dims. Received 3-dim"),
        (Rearrange("b c -> c b", c=4), (2, 3), "3 != 4"),
        (Rearrange("b c ... -> c b ..."), (2,), "at least 2 dims"),
        (Reduce("b 1 -> b", "sum"), (2, 3), "3 != 1"),
        (Repeat("(a 1) -> a 2"), (), "expected 1 dims"),
        (EinMix("b c -> b d", "c d", c=3, d=2), (2, 4), "4 != 3: the layer was made with c=3"),
        (EinMix("b c -> b d", "c d", c=3, d=2), (2, 1), "1 != 3"),  # einsum alone would repeat it
        (EinMix("... c -> ... d", "c d", c=3, d=2), (2, 5, 4), "4 != 3"),
        (EinMix("b c -> b d", "c d", c=3, d=2), (2, 2, 3), "expected 2 dims. Received 3-dim"),
        (EinMix("b ... c -> b ... d", "c d", c=3, d=2), (3,), "at least 2 dims"),
    ],
    ids=repr,
)
def test_faults_of_shapes(layer, shape, message):
    for _ in range(2):
        with pytest.raises(EinopsError, match=re.escape(message).replace(r"\.", ".")) as told:
            layer(torch.ones(shape))
        assert f"Input shape: {shape}" in str(told.value)
        assert "^" in str(told.value)


def test_a_failed_call_leaves_nothing_behind():
    layer = Reduce("b (h p) -> b h", "mean", p=2)
    for _ in range(2):
        with pytest.raises(EinopsError):
            layer(torch.ones(2, 3))
        with pytest.raises(EinopsError, match="non-floating"):
            layer(torch.ones(2, 4, dtype=torch.int64))
        close(layer(torch.ones(2, 4)), torch.ones(2, 2))
        close(layer(torch.ones(2, 4, dtype=torch.float64)), torch.ones(2, 2, dtype=torch.float64))


def test_missing_package_is_named():
    code = "import sys; sys.modules['torch'] = None\nimport ricci.einops.layers.torch"
    env = os.environ | {"PYTHONPATH": str(Path(ricci.__file__).parents[1])}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=env)
    assert "MissingPackageError: ricci.einops.layers.torch needs PyTorch, and torch is not installed" in run.stderr
    assert "pip install torch" in run.stderr
    assert issubclass(MissingPackageError, ImportError)


# Ways of running


@jit
@pytest.mark.parametrize(("layer", "shapes"), CASES)
def test_script(layer, shapes):
    layer = copy.deepcopy(layer).double()
    scripted = torch.jit.script(layer)
    for shape in shapes:
        close(scripted(array(shape)), layer(array(shape)))
    with pytest.raises((RuntimeError, torch.jit.Error)):
        scripted(array(()))


@jit
def test_script_with_all_reductions():
    for reduction in ("min", "max", "sum", "mean", "prod", "any", "all"):
        layer = Reduce("a b c -> b", reduction)
        x = array((2, 3, 4)) if reduction not in ("any", "all") else array((2, 3, 4)) > 1
        assert torch.equal(torch.jit.script(layer)(x), layer(x))


@jit
def test_script_tells_of_shapes():
    scripted = torch.jit.script(Rearrange("b (h p) -> b h p", p=2))
    with pytest.raises(torch.jit.Error, match="can't divide 3 by 2"):
        scripted(torch.ones(2, 3))
    with pytest.raises(torch.jit.Error, match="3-dim tensor"):
        scripted(torch.ones(2, 4, 4))
    with pytest.raises(torch.jit.Error, match="4 != 5"):
        torch.jit.script(Rearrange("a b -> b a", b=5))(torch.ones(2, 4))


def model():
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 6, 5),
        Reduce("b c (h p) (w q) -> b c h w", "max", p=2, q=2),
        torch.nn.Sequential(Rearrange("b c h w -> b (c h w)"), torch.nn.Linear(6 * 36, 8)),
        EinMix("b (h c) -> (b d) h", "c d h", "d h", h=2, c=4, d=3),
        EinMix("(b d) h -> b (h k)", "d k", "h k", d=3, h=2, k=2),
        Repeat("b n -> b (n 2)"),
    )


@jit
@pytest.mark.parametrize("inner", [False, True])
def test_script_of_a_model_saved_and_loaded(inner):
    eager = model()
    if inner:
        eager[1] = torch.jit.script(eager[1])
    kinds = [type(layer) for layer in eager]
    scripted = torch.jit.script(eager)
    assert [type(layer) for layer in eager] == kinds  # the model itself is as it was
    file = io.BytesIO()
    torch.jit.save(scripted, file)
    file.seek(0)
    loaded = torch.jit.load(file)
    for batch in (1, 4):
        x = array((batch, 3, 16, 16), dtype=torch.float32)
        close(scripted(x), eager(x))
        close(loaded(x), eager(x))


@jit
@pytest.mark.parametrize(("layer", "shapes"), CASES)
def test_trace_serves_other_shapes(layer, shapes):
    layer = copy.deepcopy(layer).double()
    layer(array(shapes[0]))  # what an eager call has kept is not recorded
    traced = torch.jit.trace(layer, array(shapes[0]))
    for shape in shapes:
        close(traced(array(shape)), layer(array(shape)))


@pytest.mark.parametrize(("layer", "shapes"), CASES)
def test_compile_without_recompiling(layer, shapes):
    layer = copy.deepcopy(layer).double()
    compiled, counted = counting(layer, dynamic=True)
    first = shapes[0]
    close(compiled(array(first)), layer(array(first)))
    with torch._dynamo.config.patch(error_on_recompile=True):
        for batch in (3, 5, 8):
            x = array((batch, *first[1:]))
            close(compiled(x), layer(x))
        if not isinstance(layer, EinMix) and 1 not in shapes[1]:
            close(compiled(array(shapes[1])), layer(array(shapes[1])))
    assert counted.frame_count == 1


def counting(layer, **options):
    from torch._dynamo.testing import CompileCounter

    torch._dynamo.reset()
    counted = CompileCounter()
    return torch.compile(layer, backend=counted, fullgraph=True, **options), counted


@pytest.mark.parametrize(("layer", "shapes"), CASES)
def test_compile_static(layer, shapes):
    layer = copy.deepcopy(layer).double()
    compiled, counted = counting(layer, dynamic=False)
    for shape in (*shapes, *shapes):
        close(compiled(array(shape)), layer(array(shape)))
    assert counted.frame_count == len(shapes)


def test_compile_is_not_undone_by_eager_calls():
    network = model()
    compiled, counted = counting(network, dynamic=True)
    compiled(array((7, 3, 16, 16), dtype=torch.float32))  # a batch of 3 would be taken for the channels
    with torch._dynamo.config.patch(error_on_recompile=True):
        for batch in (2, 4, 5):
            x = array((batch, 3, 16, 16), dtype=torch.float32)
            close(network(x), compiled(x))
    assert counted.frame_count == 1


def test_compiled_gradients():
    layer = copy.deepcopy(EinMix("b (h c) ... -> b ... (h d)", "h c d", "h d", h=2, c=3, d=4)).double()
    torch._dynamo.reset()
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True, dynamic=True)
    x, y = array((2, 6, 5)).requires_grad_(), array((2, 6, 5)).requires_grad_()
    layer(x).square().sum().backward()
    expected = layer.weight.grad.clone()  # pyright: ignore[reportOptionalMemberAccess]
    layer.zero_grad()
    compiled(y).square().sum().backward()
    close(y.grad, x.grad)
    close(layer.weight.grad, expected)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("layer", "shapes"), CASES[2:14:3])
def test_export(layer, shapes, strict):
    layer = torch.nn.Sequential(copy.deepcopy(layer).double())
    torch._dynamo.reset()
    batch = ({0: torch.export.Dim("batch")},)
    program = torch.export.export(layer, (array(shapes[0]),), dynamic_shapes=batch, strict=strict)
    x = array((7, *shapes[0][1:]))
    close(program.module()(x), layer(x))


def test_sizes_that_are_symbols():
    from torch.fx.experimental.proxy_tensor import make_fx

    layer = Rearrange("b c (h p) -> b (c h) p", p=2)
    recorded = make_fx(layer, tracing_mode="symbolic")(array((2, 3, 4)))
    for shape in ((2, 3, 4), (3, 5, 6)):
        close(recorded(array(shape)), layer(array(shape)))


def test_meta_tensors_have_shapes():
    x = torch.empty(2, 3, 4, 6, device="meta")
    assert Rearrange("b c (h p) w -> b h (c w p)", p=2)(x).shape == (2, 2, 36)


@pytest.mark.parametrize(("layer", "shapes"), CASES)
def test_copies(layer, shapes, tmp_path):
    x = array(shapes[0])
    layer = copy.deepcopy(layer).double()
    expected = layer(x)
    torch.save(layer, tmp_path / "layer")
    copies = [
        copy.deepcopy(layer),
        copy.copy(layer),
        pickle.loads(pickle.dumps(layer)),
        torch.load(tmp_path / "layer", weights_only=False),
    ]
    for other in copies:
        assert repr(other) == repr(layer)
        assert other.state_dict().keys() == layer.state_dict().keys()
        close(other(x), expected)


def test_what_calls_have_made_is_not_in_the_state():
    fresh, used = (Rearrange("a (b c) -> b (a c)", c=2) for _ in range(2))
    for a in range(1, 20):
        used(array((a, 4)))
    assert pickle.dumps(fresh) == pickle.dumps(used)
    assert copy.deepcopy(used)._runs.all() == {}
    assert len(used._runs.all()) == 19


def test_state_of_the_module_is_kept():
    layer = Rearrange("a b -> b a").eval()
    layer.note = "mine"  # pyright: ignore[reportArgumentType]
    other = pickle.loads(pickle.dumps(layer))
    assert other.training is False
    assert other.note == "mine"


def test_shapes_that_are_kept_are_bounded():
    layer = Rearrange("a b -> (a b)")
    for a in range(1, 700):
        layer(torch.empty(a, 1))
    assert len(layer._runs.all()) <= 512


def test_hooks_run():
    layer, seen = Rearrange("a b -> b a"), []
    layer.register_forward_hook(lambda module, inputs, output: seen.append(tuple(output.shape)))
    layer(array((2, 3)))
    assert seen == [(3, 2)]


def test_einmix_moves_between_types_and_devices():
    layer = EinMix("b (h c) -> b (h d)", "h c d", "h d", h=2, c=3, d=4)
    assert layer.double()(array((5, 6))).dtype == torch.float64
    assert layer.to(torch.bfloat16)(array((5, 6), dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert layer.to("meta")(torch.empty(5, 6, device="meta", dtype=torch.bfloat16)).shape == (5, 8)


def test_state_dict_goes_between_the_libraries():
    ours, theirs = both("b (h c) -> b (h d)", "h c d", "h d", kind="EinMix", h=2, c=3, d=4)
    ours.load_state_dict(einops_layers.EinMix("b (h c) -> b (h d)", "h c d", "h d", h=2, c=3, d=4).state_dict())
    theirs.load_state_dict(ours.state_dict())
    close(ours(torch.ones(2, 6)), theirs(torch.ones(2, 6)))


# Transformations of functions


@pytest.mark.parametrize(("layer", "shapes"), CASES)
def test_vmap_and_grad(layer, shapes):
    layer = copy.deepcopy(layer).double()
    xs = torch.stack([array(shapes[0], seed) for seed in range(3)])
    expected = torch.stack([layer(x) for x in xs])
    close(torch.func.vmap(layer)(xs), expected)
    x = xs[0].clone().requires_grad_()
    layer(x).square().sum().backward()
    close(torch.func.grad(lambda x: layer(x).square().sum())(xs[0]), x.grad)


@pytest.mark.parametrize(("layer", "shapes"), CASES)
def test_gradients_by_differences(layer, shapes):
    layer = copy.deepcopy(layer).double()
    assert torch.autograd.gradcheck(layer, array(shapes[0]).requires_grad_())


def test_gradient_is_that_of_the_native_calls():
    x, y = array((2, 3, 4, 6)).requires_grad_(), array((2, 3, 4, 6)).requires_grad_()
    weights = array((2, 2, 3, 12), 1)
    (Rearrange("b c (h p) (w q) -> b h w (p q c)", p=2, q=2)(x) * weights).sum().backward()
    (y.reshape(2, 3, 2, 2, 3, 2).permute(0, 2, 4, 3, 5, 1).reshape(2, 2, 3, 12) * weights).sum().backward()
    assert torch.equal(x.grad, y.grad)


def test_einmix_in_an_ensemble():
    members = [EinMix("b (h c) -> b (h d)", "h c d", "h d", h=2, c=3, d=4) for _ in range(3)]
    parameters, buffers = torch.func.stack_module_state(members)
    x = array((5, 6), dtype=torch.float32)

    def run(parameters, buffers):
        return torch.func.functional_call(members[0], (parameters, buffers), (x,))

    close(torch.func.vmap(run)(parameters, buffers), torch.stack([member(x) for member in members]))


def test_threads():
    layer, faults = Reduce("a (b p) -> b a", "sum", p=2), []

    def work(seed):
        for n in range(1, 60):
            x = array((n % 7 + 1, 2 * (seed + n)), seed)
            if not torch.allclose(layer(x), rearrange(x, "a (b p) -> b a p", p=2).sum(2)):
                faults.append((seed, n))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


# Scopes and tables of shapes


def test_scopes_see_layers():
    layer = Rearrange("b (h d) -> b h d", h=2)
    layer(array((3, 8)))
    with axes(d=4):
        layer(array((3, 8)))
        with pytest.raises(ValueError, match="d"):
            layer(array((3, 10)))
    assert layer(array((3, 10))).shape == (3, 2, 5)


def test_scopes_see_einmix():
    layer = EinMix("b (h c) -> b (h d)", "h c d", h=2, c=3, d=4).double()
    with axes(c=3):
        layer(array((3, 6)))
    with axes(d=5), pytest.raises(ValueError, match="d"):
        layer(array((3, 6)))


def test_tables_show_layers():
    network = torch.nn.Sequential(
        Rearrange("b (h c) -> b h c", h=2), EinMix("b h c -> b h d", "c d", c=3, d=4), Reduce("b h d -> d", "mean")
    )
    table = str(shapes(network)(torch.ones(5, 6)))
    for text in ("b (h c) -> b h c", "b h c, c d -> b h d", "b h d -> d"):
        assert text in table
