"""Work in blocks gives what the whole gives, in as few passes as there are, and leaves nothing half done."""

from __future__ import annotations

import mmap
import os
import pickle
import random
import re
import tracemalloc
from collections import Counter
from typing import Any

import numpy as np
import pytest
from block_cases import BATCH_NORM, CASES, ENERGY, INPUTS, LOGISTIC, agree
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ricci as rc
from ricci.compiler.blocks import running
from ricci.compiler.blocks.cutting import NotCutError
from ricci.testing.texts import INPUTS as OF_TEXTS
from ricci.testing.texts import random_text

RNG = np.random.default_rng(0)
every_case = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
SIZES = {"i": 7, "j": 6, "k": 5, "l": 4}


def logistic(*by):
    f = rc.parse(LOGISTIC)
    return f.diff(*by) if by else f


def loss(w, X, y):
    return np.log1p(np.exp(-y * (X @ w))).mean()


def data(m=200, n=3, dtype=float):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(m, n)), np.sign(rng.normal(size=m))
    return {"X": X.astype(dtype), "y": y.astype(dtype), "w": rng.normal(size=n).astype(dtype)}


# Values and passes


@pytest.mark.sampled(3)
@every_case
@pytest.mark.parametrize("length", [1, 2, 7, 1000])
def test_as_the_whole(case, length):
    formulas, inputs = case.formulas(), case.given()
    f: Any = rc.compile(formulas, blocks={case.index: length})
    agree(f(**inputs), rc.compile(formulas, "numpy")(**inputs))
    size = next(inputs[name].shape[min(axes)] for name, axes in f.seeds[case.index].items() if name in inputs)
    assert len(f.plan.passes) == (case.passes if length < size else 0)
    assert f.plan.blocks == (-(-size // length) if length < size else 0)


@every_case
def test_passes_are_told_before_a_call(case):
    plan = rc.compile(case.formulas(), blocks={case.index: 7}).plan
    word = "pass" if case.passes == 1 else "passes"
    assert str(plan).startswith(f"{case.passes} {word} over {case.index}, in blocks of 7")


@every_case
def test_single_floats_stay(case):
    formulas = case.formulas()
    inputs = {name: x.astype("f4") if x.dtype.kind == "f" else x for name, x in case.given().items()}
    agree(rc.compile(formulas, blocks={case.index: 5})(**inputs), rc.compile(formulas, "numpy")(**inputs), 2e-3)


def test_two_indices_at_once():
    f = rc.parse(ENERGY)
    rng = np.random.default_rng(0)
    formulas, inputs = [f, *f.diff_all("q", "k", "v")], {name: INPUTS[name](rng) for name in "qkv"}
    wanted = rc.compile(formulas, "numpy")(**inputs)
    for blocks in ({"i": 4, "j": 5}, {"j": 3, "i": 100}, {"i": 100, "j": 6}):
        agree(rc.compile(formulas, blocks=blocks)(**inputs), wanted)
    assert ", these along j in blocks of 5" in str(rc.compile(formulas, blocks={"i": 4, "j": 5}).plan)


@pytest.mark.parametrize("m, n", [(0, 3), (1, 3), (200, 0), (200, 1)])
def test_empty_and_single_axes(m, n):
    formulas = [logistic(), logistic("w"), logistic("w", "w"), logistic("X")]
    agree(rc.compile(formulas, blocks={"m": 50})(**data(m, n)), rc.compile(formulas, "numpy")(**data(m, n)))


def with_sizes(f, inputs):
    """The results, and the sizes of indices that no input tells."""
    sizes = {}
    while True:
        try:
            return f(**inputs, **({"sizes": sizes} if sizes else {})), sizes
        except rc.InputError as fault:
            (missing,) = re.findall(r"determines the size of index '(\w)'", str(fault))
            sizes[missing] = SIZES[missing]


def indices(formulas):
    """Those along which work may be cut."""
    f: Any = rc.compile(formulas, "dask")
    return list(f.seeds)


@pytest.mark.filterwarnings("ignore::ricci.ReadingWarning")
@given(seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, suppress_health_check=list(HealthCheck))  # pyright: ignore[reportArgumentType]
def test_random_texts(seed):
    rng = random.Random(seed)
    f = rc.parse(str(random_text(rng, rng.choice((1, 2, 3)), scalar=rng.random() < 0.4)))
    inputs = {
        name: np.random.default_rng(seed).normal(size=[SIZES[x] for x in OF_TEXTS[name]]) / 2 for name in OF_TEXTS
    }
    inputs = {name: inputs[name] for name in f.context.facts.inputs}
    formulas = [f, f.diff(rng.choice(list(inputs)))] if inputs else [f]
    whole = rc.compile(formulas, "numpy")
    wanted, sizes = with_sizes(whole, inputs)
    known = indices(formulas)
    chosen = rng.sample(known, min(len(known), rng.choice((1, 1, 2))))
    try:
        cut = rc.compile(formulas, blocks={x: rng.choice((1, 2, 3, 9)) for x in chosen}, threads=rng.choice((1, 3)))
        found = cut(**inputs, **({"sizes": sizes} if sizes else {}))
    except NotCutError:
        return
    for a, b in zip(found, wanted, strict=True):
        if np.size(b) and np.abs(b).max() < 1e5:  # beyond, sines of what was rounded are anything
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


@pytest.mark.filterwarnings("ignore::ricci.ReadingWarning")
def test_random_texts_are_cut_more_often_than_not():
    """The test above would pass if everything were refused."""
    counts = Counter()
    for seed in range(60):
        formula = rc.parse(str(random_text(random.Random(seed), 2)))
        for index in indices([formula]):
            try:
                rc.compile(formula, blocks={index: 2})
                counts["cut"] += 1
            except NotCutError:
                counts["refused"] += 1
    assert counts["cut"] > 3 * counts["refused"] > 0


# What is refused


@pytest.mark.parametrize(
    "text, index, words",
    [
        ("s[m] = sort[m](X[m])", "m", "sort goes along m"),
        ("d = det[m,p](A[m,p])", "m", r"since det\(A\) needs all of m at once"),
        ("l = logdet[m,p](X[m,n] X[p,n] + delta[m,p])", "m", "since logdet.* needs all of m at once"),
        ("h[0,i] = h0[i]; h[t+1,i] = tanh(W[i,j] h[t,j] + x[t,i])", "t", "since a loop needs all of t at once"),
        ("f = 1[i] (x[i+1] - x[i+0]**2)**2", "i", "reads other places than its own"),
        ("f = X[m,n] w[n] 1[m]", "k", "'k' does not occur; those that can be cut are m, n"),
        ("f[i] = 1[i] x[n] x[n]", "i", "ranges over no axis"),
    ],
)
def test_what_cannot_be_cut_is_refused_with_the_reason(text, index, words):
    with pytest.raises(rc.InputError, match=words):
        rc.parse(text).compile(blocks={index: 10})(**{"X": np.ones((30, 3))} if "w[n]" in text else {})


def test_what_would_be_held_whole_is_refused(monkeypatch):
    monkeypatch.setattr("ricci.compiler.blocks.cutting.LEAST_HELD", 1)
    f = rc.parse("h[m,n,k] = X[m,n] X[m,k]; y[m,n,k] = cumprod[m](h[m,n,k])")
    with pytest.raises(rc.InputError, match=r"would have to be in memory whole .*, since cumprod goes along m"):
        f.compile(blocks={"m": 10})(X=np.ones((50, 8)))


def test_what_is_small_is_held_whole_and_said():
    f = rc.parse("z[m] = X[m,n] w[n]; c[m] = cumprod[m](z[m]); s[n] = X[m,n] c[m]")
    X, w = RNG.normal(size=(40, 3)), RNG.normal(size=3)
    cut = f.compile(blocks={"m": 7})
    np.testing.assert_allclose(cut(X=X, w=w), f(X=X, w=w))
    assert "held whole: " in str(cut.plan)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"blocks": {"m": 0}}, "1 place or more"),
        ({"blocks": {"m": 2.5}}, "it cannot have 2.5"),
        ({"blocks": 7}, "lengths of blocks by index"),
        ({"memory": "lots"}, 'memory="1 GB"'),
        ({"memory": "-1 GB"}, 'memory="1 GB"'),
        ({"blocks": {"m": 10}, "compressed": True}, "no compressed="),
        ({"backend": "torch", "blocks": {"m": 10}}, "run on NumPy"),
        ({"backend": "jax", "blocks": {"m": 10}}, "mesh= and axes="),
        ({"blocks": {"m": 10}, "threads": -1}, "threads"),
    ],
)
def test_options_that_do_not_fit(options, words):
    with pytest.raises(rc.InputError, match=words):
        logistic().compile(**options)


def test_inputs_that_do_not_fit():
    f = logistic("w").compile(blocks={"m": 10})
    given = data()
    with pytest.raises(rc.ShapeError, match="Index 'm' has two sizes"):
        f(**{**given, "y": given["y"][:-1]})
    with pytest.raises(rc.InputError, match="lacks a value for y"):
        f(X=given["X"], w=given["w"])
    with pytest.raises(rc.DTypeError, match="complex"):
        f(**{**given, "w": 1j * given["w"]})
    with pytest.raises(rc.InputError, match="no part of a traced function"):
        rc.grad(lambda w: f(**{**given, "w": w}).sum())(given["w"])


# Files


def test_a_file_is_read_in_blocks(tmp_path):
    given = data(60_000, 20)
    np.save(tmp_path / "x.npy", given["X"])
    f = logistic("w", "w").compile(blocks={"m": 2000}, fused=False)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    f(X=mapped, y=given["y"], w=given["w"])
    tracemalloc.start()
    found = f(X=mapped, y=given["y"], w=given["w"])
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < given["X"].nbytes / 10
    np.testing.assert_allclose(found, logistic("w", "w")(**given))


@pytest.mark.skipif(not hasattr(mmap, "MADV_DONTNEED") or not os.path.exists("/proc/self/statm"), reason="of Linux")
def test_pages_of_files_are_left(tmp_path):
    """What was read and written of mapped files does not stay in the memory of the process."""
    given = data(40_000, 20)
    np.save(tmp_path / "x.npy", given["X"])
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    place = np.lib.format.open_memmap(tmp_path / "out.npy", "w+", float, mapped.shape)
    f = rc.compile([logistic("w"), logistic("X")], blocks={"m": 1000}, fused=False)
    f(**data(2000, 20))
    before = shared_bytes()
    found = f(X=mapped[:-1], y=given["y"][:-1], w=given["w"], out=(None, place[:-1]))
    assert shared_bytes() - before < mapped.nbytes / 4
    agree(found, [logistic(by)(X=given["X"][:-1], y=given["y"][:-1], w=given["w"]) for by in ("w", "X")])
    own = np.load(tmp_path / "x.npy", mmap_mode="c")  # what is written to it is in memory alone
    own[:] *= 2
    f(X=own, y=given["y"], w=given["w"])
    np.testing.assert_array_equal(own, 2 * given["X"])


def shared_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[2]) * mmap.PAGESIZE


def test_files_of_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    given = data()
    with h5py.File(tmp_path / "x.h5", "w") as file:
        X = file.create_dataset("x", data=given["X"])
        f = logistic("w").compile(blocks={"m": 64})
        np.testing.assert_allclose(f(X=X, y=given["y"], w=given["w"]), logistic("w")(**given))
        of_function = rc.grad(loss, axes={"X": "m n"}, blocks={"m": 64})
        np.testing.assert_allclose(
            of_function(given["w"], X, given["y"]), rc.grad(loss)(given["w"], X[...], given["y"])
        )
        with pytest.raises(rc.InputError, match="would be loaded whole"):
            rc.grad(loss)(given["w"], X, given["y"])
        with pytest.raises(rc.InputError, match=r"'X' is needed at once, and it lies in a file. Write X\[...\]"):
            rc.parse("K[m,p] = X[m,n] X[p,n]").compile(blocks={"m": 64})(X=X)


def test_results_go_where_they_are_wanted(tmp_path):
    given = data()
    formulas = [logistic(), logistic("X")]
    file = np.lib.format.open_memmap(tmp_path / "out.npy", "w+", float, (200, 3))
    f = rc.compile(formulas, blocks={"m": 30})
    value, slopes = f(**given, out=(None, file))
    assert slopes is file
    agree([value, np.load(tmp_path / "out.npy")], rc.compile(formulas, "numpy")(**given))
    slope = np.empty(3)
    assert logistic("w").compile(blocks={"m": 30})(**given, out=slope) is slope
    np.testing.assert_allclose(slope, logistic("w")(**given))
    with pytest.raises(rc.ShapeError, match="a result of 200×3"):
        f(**given, out=(None, np.empty((3, 200))))
    with pytest.raises(rc.InputError, match="2 results and 3 places"):
        f(**given, out=(None, None, None))


@pytest.mark.parametrize(
    "out, kind, words",
    [
        (np.empty((200, 3), int), rc.DTypeError, "result is float64, and out is of int64"),
        (np.broadcast_to(0.0, (200, 3)), rc.InputError, "only to be read"),
        ("z.npy", rc.ShapeError, "the type str"),
    ],
)
def test_places_that_do_not_fit(out, kind, words):
    with pytest.raises(kind, match=words):
        logistic("X").compile(blocks={"m": 30})(**data(), out=out)


def test_results_in_the_place_of_inputs():
    X = data()["X"]
    centred, own = rc.parse("Z[m,n] = X[m,n] - 1[m] mean[m](X[m,n])").compile(blocks={"m": 30}), X.copy()
    np.testing.assert_allclose(centred(X=own, out=own), X - X.mean(0))
    with pytest.raises(rc.InputError, match="where the input 'X' is"):
        centred(X=own[1:], out=own[:-1])


class Failing:
    """An array in a file that cannot be read beyond some row, for a while."""

    __module__ = "h5py.failing"

    def __init__(self, array, at):
        self.array, self.at, self.read = array, at, []

    shape = property(lambda self: self.array.shape)
    dtype = property(lambda self: self.array.dtype)

    def __getitem__(self, place):
        rows = place[0] if isinstance(place, tuple) else place
        self.read.append(rows.start or 0)
        if rows.stop > self.at:
            raise OSError("the disk is gone")
        return self.array[place]


@pytest.mark.parametrize("threads", [1, 3])
def test_a_run_goes_on_where_it_ended(tmp_path, threads):
    formula = rc.parse(f"{BATCH_NORM}; l[h] = 1[b] y[b,h]**3")
    x, kept = RNG.normal(size=(100, 4)), tmp_path / "kept"
    f = formula.compile(blocks={"b": 10}, threads=threads)
    broken = Failing(x, 60)
    with pytest.raises(OSError, match="disk is gone"):
        f(x=broken, resume=kept)
    assert kept.exists() and [path.name for path in tmp_path.iterdir()] == ["kept"]
    broken.at, broken.read = 100, []
    np.testing.assert_allclose(f(x=broken, resume=kept), formula(x=x))
    assert not kept.exists()
    first, second = broken.read[1:5], broken.read[5:]  # after the rows by which the run is known
    assert sorted(first) == [60, 70, 80, 90] and sorted(second) == [*range(0, 100, 10)]


def test_a_run_goes_on_with_results_in_files(tmp_path):
    given = data()
    f = logistic("X").compile(blocks={"m": 20})
    place = np.lib.format.open_memmap(tmp_path / "out.npy", "w+", float, (200, 3))
    broken = Failing(given["X"], 100)
    with pytest.raises(OSError):
        f(**{**given, "X": broken}, out=place, resume=tmp_path / "kept")
    broken.at, broken.read = 200, []
    f(**{**given, "X": broken}, out=place, resume=tmp_path / "kept")
    assert broken.read[1:] == [100, 120, 140, 160, 180]  # after the rows by which the run is known
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), logistic("X")(**given))
    with pytest.raises(rc.InputError, match="give a file for it with out="):
        f(**given, resume=tmp_path / "kept")


def test_a_file_of_another_run_is_refused(tmp_path):
    given, kept = data(), tmp_path / "kept"
    broken = Failing(given["X"], 100)
    with pytest.raises(OSError):
        logistic("w").compile(blocks={"m": 20})(**{**given, "X": broken}, resume=kept)
    for formula, blocks, inputs in (
        (logistic("w"), {"m": 25}, given),
        (logistic(), {"m": 20}, given),
        (logistic("w"), {"m": 20}, {**given, "w": given["w"] + 1}),
    ):
        with pytest.raises(rc.InputError, match="of another run"):
            formula.compile(blocks=blocks)(**inputs, resume=kept)
    for no_file in (3, tmp_path / "nowhere" / "kept"):
        with pytest.raises(rc.InputError, match="in a folder that there is"):
            logistic("w").compile(blocks={"m": 20})(**given, resume=no_file)
    kept.write_text("nothing")
    with pytest.raises(rc.InputError, match="no file of a run"):
        logistic("w").compile(blocks={"m": 20})(**given, resume=kept)


def test_interrupts_keep_what_is_known(tmp_path):
    given, met = data(), []

    def told(done, whole):
        met.append(done)
        if done == 4:
            raise KeyboardInterrupt

    f = logistic("w", "w").compile(blocks={"m": 20})
    with pytest.raises(KeyboardInterrupt):
        f(**given, resume=tmp_path / "kept", progress=told)
    found = f(**given, resume=tmp_path / "kept", progress=lambda done, whole: met.append(done))
    assert met == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10]
    np.testing.assert_allclose(found, logistic("w", "w")(**given))


# Memory, threads, progress


def test_memory_decides_how_long_blocks_are():
    given = data(50_000, 20)
    cases: Any = {"blocks": "m", "memory": "1 MB"}, {"memory": "1 MB"}, {"blocks": {"m": "auto"}, "memory": 10**6}
    for options in cases:
        f: Any = logistic("w", "w").compile(**options, fused=False)
        np.testing.assert_allclose(f(**given), logistic("w", "w")(**given))
        assert 1000 < f.plan.block < 5000 and f.plan.peak <= 10**6
    tracemalloc.start()
    f(**given)
    assert tracemalloc.get_traced_memory()[1] < 1.3e6
    tracemalloc.stop()
    assert logistic("w", "w").compile(memory="1 GB")(**given).shape == (20, 20)
    with pytest.raises(rc.InputError, match="Blocks of one place of m take"):
        logistic("w", "w").compile(blocks="m", memory=1000)(**given)


def test_threads_give_the_same_numbers():
    given = data(5000)
    formulas = [logistic(), logistic("w"), logistic("X")]
    one = rc.compile(formulas, blocks={"m": 100}, threads=1)(**given)
    for _ in range(3):
        for a, b in zip(one, rc.compile(formulas, blocks={"m": 100}, threads=4)(**given), strict=True):
            np.testing.assert_array_equal(a, b)


def test_threads_are_left_to_libraries(monkeypatch):
    for name in running.LIMITS:
        monkeypatch.delenv(name, raising=False)
    f: Any = logistic("w").compile(blocks={"m": 100})
    assert running.threads_for(f.plan) == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert running.threads_for(f.plan) == cores


@pytest.mark.parametrize("name", ["_lines", "_rich", "_tqdm"])
def test_progress_is_shown(name, capfd, monkeypatch):
    package = name.strip("_")
    if package != "lines":
        pytest.importorskip(package, reason=f"{package} is not installed")
    monkeypatch.setattr(running, "_bar", lambda: getattr(running, name))
    logistic("w").compile(blocks={"m": 50}, progress=True)(**data())
    shown = capfd.readouterr()
    assert "1 × 4 blocks of m" in shown.err and not shown.out


# What it looks like


def test_the_plan_says_passes_and_partial_sums():
    plan = str(logistic("w", "w").compile(blocks={"m": 4096}).plan)
    assert plan.startswith("1 pass over m, in blocks of 4,096; partial sums of [n,n]\n")
    assert ("mn,n->m" in plan or "n,mn->m" in plan) and "4096×" in plan
    f = rc.parse("s = logsumexp[m](X[m,n] w[n])").diff("w", "w").compile(blocks={"m": 10})
    assert "pass 1: weighted sums of [n]; pass 2: weighted sums of [n,n]" in str(f.plan)
    assert "<table" in f.plan._repr_html_()


def test_it_shows_itself():
    f = logistic("w").compile(blocks={"m": 64})
    assert repr(f) == "<ricci.BlockedFunction of y, X, w, in blocks of m by 64>"
    f(**data())
    assert "1 pass over m" in f._repr_html_() and "def program(" in f.source


def test_it_travels():
    f = logistic("w").compile(blocks={"m": 64})
    np.testing.assert_allclose(pickle.loads(pickle.dumps(f))(**data()), logistic("w")(**data()))


def test_long_chains_do_not_recurse():
    steps = "; ".join([f"h{k + 1}[m] = tanh(h{k}[m]) + X[m,n] w[n]" for k in range(1500)])
    f = rc.parse(f"h0[m] = X[m,n] w[n]; {steps}; l = 1[m] h1500[m]")
    given = {"X": RNG.normal(size=(20, 2)), "w": RNG.normal(size=2)}
    np.testing.assert_allclose(f.compile(blocks={"m": 6})(**given), f(**given))


def test_one_text_for_several_indices():
    f = rc.parse("l = 1[i,j] (T[i,j] - U[i,k] V[j,k])**2")
    cut = f.compile(blocks="i j", memory="2 kB")
    rng = np.random.default_rng(0)
    given = {name: INPUTS[name](rng) for name in ("T", "U", "V")}
    np.testing.assert_allclose(cut(**given), f(**given))


# Programs


def test_transforms_run_in_blocks():
    given = data()
    args = (given["w"], given["X"], given["y"])
    for transform in (rc.grad, rc.hessian, rc.value_and_grad, rc.jacobian):
        cut = transform(loss, axes={"X": "m n"}, blocks={"m": 30})
        agree(
            np.atleast_1d(*[cut(*args)]) if not isinstance(cut(*args), tuple) else cut(*args),
            _as(transform(loss)(*args)),
        )
    with pytest.raises(rc.InputError, match=r'Name the axes of arguments: axes=\{"X": "m n"\}'):
        rc.grad(loss, blocks={"m": 30})(*args)
    np.testing.assert_allclose(rc.compile(loss, axes={"X": "m n"}, memory="3 kB")(*args), loss(*args))


def test_transforms_of_formulas_know_the_indices():
    given, formula = data(), logistic()
    slope = logistic("w")(**given)
    for f in (formula, formula.compile()):
        np.testing.assert_allclose(rc.grad(f, argnums="w", blocks={"m": 30})(**given), slope)
    thrice = rc.vmap(formula, in_axes={"w": 1}, blocks={"m": 30})(**{**given, "w": np.stack([given["w"]] * 3, 1)})
    np.testing.assert_allclose(thrice, np.full(3, formula(**given)))


def _as(found):
    return found if isinstance(found, tuple) else np.atleast_1d(found)


def test_all_cases_have_names():
    assert len({case.name for case in CASES}) == len(CASES) > 25


def test_complex_numbers():
    """Least squares, its gradient and its Hessian, in blocks of the index that is summed over."""
    rng = np.random.default_rng(2)
    A, z, b = [rng.normal(size=shape) + 1j * rng.normal(size=shape) for shape in ((50, 4), (4,), (50,))]
    loss = rc.parse("l = abs(A[i,j] z[j] - b[i])**2 1[i]", complex="A z b")
    for f in (loss, loss.diff("conj(z)"), loss.diff("conj(z)", "z")):
        np.testing.assert_allclose(f.compile(blocks={"i": 7})(A=A, z=z, b=b), f(A=A, z=z, b=b), rtol=1e-12)
