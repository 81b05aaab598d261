"""Layers of Keras: built from shapes that are partly known, saved, loaded and trained, with the backend at hand.

The backend is the one that ``KERAS_BACKEND`` names, and otherwise PyTorch or JAX, whichever is installed.
"""

from __future__ import annotations

import importlib.util
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from reference import random_call, reference

import ricci
from ricci.errors import EinopsError
from ricci.scopes import axes

if "KERAS_BACKEND" not in os.environ:
    known = [name for name in ("torch", "jax") if importlib.util.find_spec(name)]
    os.environ["KERAS_BACKEND"] = (known or ["tensorflow"])[0]
keras = pytest.importorskip("keras", minversion="3", reason="Keras 3, or a backend of it, is not installed")

from ricci.einops.layers.keras import EinMix, Rearrange, Reduce, Repeat, keras_custom_objects  # noqa: E402

# h5py asks for what NumPy renames
pytestmark = pytest.mark.filterwarnings("ignore:.*numpy:DeprecationWarning")


def array(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def numbers(x):
    return keras.ops.convert_to_numpy(x)


def layer_of(call):
    if call.operation in ("rearrange", "repeat"):
        return {"rearrange": Rearrange, "repeat": Repeat}[call.operation](call.pattern, **call.sizes)
    return Reduce(call.pattern, call.operation, **call.sizes)


@pytest.mark.parametrize("seed", range(3))
def test_results_and_shapes(seed):
    rng, compared = random.Random(seed), 0
    while compared < 25:
        call = random_call(rng)
        if 0 in call.shape or 0 in call.sizes.values():
            continue
        x, layer = array(*call.shape), layer_of(call)
        expected = reference(x, call.pattern, call.operation, call.sizes)
        result = numbers(layer(keras.ops.convert_to_tensor(x)))
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-6)
        symbol = layer(keras.KerasTensor(call.shape))
        assert tuple(symbol.shape) == expected.shape
        assert symbol.dtype == str(result.dtype)
        unknown = tuple(layer(keras.KerasTensor((None,) * len(call.shape))).shape)
        assert all(size in (None, full) for size, full in zip(unknown, expected.shape, strict=True))
        compared += 1


def model():
    image = keras.Input((8, None, 3))
    x = Rearrange("b (h p) (w q) c -> b h w (p q c)", p=2, q=3)(image)
    x = EinMix("b ... (k c) -> b ... (k d)", "c d k", "k d", k=2, c=9, d=4, name="mixer")(x)
    x = Repeat("b h w c -> b (h 2) w c")(x)
    return keras.Model(image, Reduce("b ... c -> b c", "mean")(x))


def test_shapes_that_are_partly_known():
    shapes = [tuple(layer.output.shape) for layer in model().layers[1:]]
    assert shapes == [(None, 4, None, 18), (None, 4, None, 8), (None, 8, None, 8), (None, 8)]


@pytest.mark.parametrize("custom", [None, keras_custom_objects])
def test_saved_and_loaded(tmp_path, custom):
    first, x = model(), array(4, 8, 9, 3)
    expected = first.predict_on_batch(x)
    first.save(tmp_path / "model.keras")
    second = keras.models.load_model(tmp_path / "model.keras", custom_objects=custom)
    np.testing.assert_allclose(second.predict_on_batch(x), expected, rtol=1e-6)
    third = keras.models.model_from_json(first.to_json(), custom_objects=custom)
    assert not np.allclose(third.predict_on_batch(x), expected)
    first.save_weights(tmp_path / "model.weights.h5")
    third.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_allclose(third.predict_on_batch(x), expected, rtol=1e-6)
    assert [layer.name for layer in third.layers] == [layer.name for layer in first.layers]


@pytest.mark.parametrize(
    "layer",
    [
        Rearrange("b (h p) -> p h b", p=2),
        Reduce("b (h p) -> h b", "max", p=2),
        Repeat("b n -> (b k) n", k=2),
        EinMix("b (h c) -> b (h d)", "h c d", "d", h=2, c=3, d=4),
        EinMix("b (h c) -> b (h d)", "h c d", h=2, c=3, d=4),
        Rearrange("name dtype -> dtype name", name=5, dtype=6),  # axes, since the pattern has them
        Rearrange("a b -> b a", name="turned", dtype="float16", trainable=False),
    ],
    ids=repr,
)
def test_config(layer):
    other = type(layer).from_config(layer.get_config())
    assert repr(other) == repr(layer)
    assert other.get_config() == layer.get_config()
    assert (other.pattern, other.axes_lengths) == (layer.pattern, layer.axes_lengths)
    if layer.name == "turned":
        assert (other.name, other.compute_dtype, other.trainable) == ("turned", "float16", False)


def test_config_of_einops_is_read():
    layer = Reduce.from_config({"pattern": "b (h p) -> b h", "reduction": "max", "p": 2})
    assert repr(layer) == "Reduce('b (h p) -> b h', 'max', p=2)"
    mix = {"pattern": "b c -> b d", "weight_shape": "c d", "bias_shape": None, "c": 2, "d": 3}
    assert EinMix.from_config(mix).einsum_pattern == "ab,bc->ac"


def test_einmix():
    layer, x = EinMix("b (h c) -> b (h d)", "h c d", "h d", h=2, c=3, d=4), array(5, 6)
    result = numbers(layer(keras.ops.convert_to_tensor(x)))
    weight, bias = numbers(layer.weight), numbers(layer.bias)
    assert (weight.shape, bias.shape) == ((2, 3, 4), (1, 2, 4))
    assert np.abs(weight).max() <= 1 and np.abs(bias).max() <= 3**-0.5
    expected = np.einsum("bhc,hcd->bhd", x.reshape(5, 2, 3), weight) + bias
    np.testing.assert_allclose(result, expected.reshape(5, 8), rtol=1e-5, atol=1e-6)
    assert EinMix("b c -> b d", "c d", c=2, d=3)(keras.KerasTensor((None, 2))).shape == (None, 3)


def test_training():
    network, x = model(), array(16, 8, 9, 3)
    network.compile(optimizer="sgd", loss="mse")
    losses = network.fit(x, np.zeros((16, 8), "float32"), epochs=3, verbose=0).history["loss"]
    assert losses[-1] < losses[0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Rearrange("a b -> a"), "Error while preparing Rearrange.* only on one side"),
        (lambda: Rearrange("a b -> b a", c=2), "Axis c is not used"),
        (lambda: Rearrange(3), "A pattern is a text"),
        (lambda: Reduce("a b -> a", "summ"), "Unknown reduction"),
        (lambda: Repeat("a -> a b"), "Specify sizes for new axes"),
        (lambda: EinMix("a b -> b c", "a c", a=2), "Dimension c of weight should be specified"),
    ],
)
def test_faults_are_told_when_the_layer_is_made(make, message):
    with pytest.raises(EinopsError, match=message):
        make()


def test_faults_of_shapes():
    with pytest.raises(Exception, match="can't divide axis of length 3"):
        Rearrange("b (h p) -> b h p", p=2)(keras.Input((3,)))
    with pytest.raises(Exception, match="1 != 3: the layer was made with c=3"):
        EinMix("b c -> b d", "c d", c=3, d=4)(keras.Input((1,)))


def test_scopes_see_layers():
    with axes(h=3), pytest.raises(Exception, match="h"):
        Rearrange("(h p) -> h p", p=2)(keras.ops.convert_to_tensor(array(8)))


def test_missing_backend_is_named():
    code = "import sys; sys.modules['tensorflow'] = None\nimport ricci.einops.layers.keras"
    path = os.pathsep.join([str(Path(ricci.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = os.environ | {"PYTHONPATH": path, "KERAS_BACKEND": "tensorflow"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=env)
    assert "MissingPackageError" in run.stderr
    assert "tensorflow is not installed; install it: pip install tensorflow" in run.stderr
