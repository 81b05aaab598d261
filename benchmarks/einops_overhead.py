"""What a call on a pattern costs above the native calls that do the work: ricci, einops and einx in one run.

Run it with ``python benchmarks/einops_overhead.py [numpy] [torch] [jax]``; it pins itself to one core (``harness.py``).
Arrays are tiny, so that only the way to the work counts. *raw* is what one writes by hand with the shape known. All
contenders of a row take turns in batches, and each figure is the best batch; the time above raw is the difference of
the figures, and the target is at most a third of einops'. The next tables are of calls that meet a shape, or a pattern,
for the first time; there each call is made once, and the figure is the mean over all of them, the best of several
rounds with caches emptied. The last table is of large arrays, where only the memory counts: 100 MB go in or come out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import harness  # noqa: F401  (pins the process before NumPy is imported)
import numpy as np
from harness import CLOCK
from report import machine

import ricci.einops as ours
from ricci.caches import cache_clear

try:
    import einops
except ImportError:
    sys.exit("einops is not installed: pip install einops")
try:
    einx: Any = import_module("einx")
except ImportError:
    einx = None

BATCH, ROUNDS = 300, 80
SPLIT, SIZES = "b (h p) (w q) c -> b h w (p q c)", {"p": 2, "q": 2}
Call = Callable[[], Any]


class Row(NamedTuple):
    """A task: the native calls, and the calls of each library, None where it has none."""

    name: str
    raw: Call
    ours: Call
    einops: Call
    einx: Call | None = None


class Space(NamedTuple):
    """A kind of array: how to make one, and the native functions whose names differ."""

    name: str
    make: Callable[[np.ndarray], Any]
    transpose: Callable[[Any, tuple], Any]
    mean: Callable[[Any, tuple], Any]
    largest: Callable[[Any, tuple], Any]
    concat: Callable[[list, int], Any]
    einsum: Callable[..., Any]
    repeat: Callable[[Any], Any]  # (a, b) -> (a, b, 3)
    tile: Callable[[Any], Any]  # (a, b) -> (a, 3 b)


def spaces(names: list[str]) -> Iterator[Space]:
    if "numpy" in names:
        yield Space(
            "NumPy",
            np.array,
            lambda x, axes: x.transpose(axes),
            lambda x, axes: x.mean(axes),
            lambda x, axes: x.max(axes),
            np.concatenate,
            np.einsum,
            lambda x: np.repeat(x[:, :, None], 3, axis=2),
            lambda x: np.tile(x, (1, 3)),
        )
    if "torch" in names:
        import torch

        yield Space(
            "PyTorch",
            torch.tensor,
            lambda x, axes: x.permute(axes),
            lambda x, axes: x.mean(axes),
            lambda x, axes: x.amax(axes),
            torch.cat,
            torch.einsum,
            lambda x: x[:, :, None].expand(-1, -1, 3),
            lambda x: x.repeat(1, 3),
        )
    if "jax" in names:
        import jax.numpy as jnp

        yield Space(
            "JAX",
            jnp.array,
            lambda x, axes: x.transpose(axes),
            lambda x, axes: x.mean(axes),
            lambda x, axes: x.max(axes),
            jnp.concatenate,
            jnp.einsum,
            lambda x: jnp.broadcast_to(x[:, :, None], (*x.shape, 3)),
            lambda x: jnp.tile(x, (1, 3)),
        )


def rows(s: Space) -> Iterator[Row]:
    x = s.make(np.arange(144.0, dtype="float32").reshape(2, 4, 6, 3))
    m = s.make(np.ones((4, 5), dtype="float32"))
    n = s.make(np.ones((5, 3), dtype="float32"))
    yield Row(
        "transpose",
        lambda: s.transpose(x, (0, 3, 1, 2)),
        lambda: ours.rearrange(x, "b h w c -> b c h w"),
        lambda: einops.rearrange(x, "b h w c -> b c h w"),
        einx and (lambda: einx.id("b h w c -> b c h w", x)),
    )
    yield Row(
        "identity",
        lambda: x,
        lambda: ours.rearrange(x, "b h w c -> b h w c"),
        lambda: einops.rearrange(x, "b h w c -> b h w c"),
        einx and (lambda: einx.id("b h w c -> b h w c", x)),
    )
    yield Row(
        "split",
        lambda: x.reshape(2, 2, 2, 6, 3),
        lambda: ours.rearrange(x, "b (h p) w c -> b h p w c", p=2),
        lambda: einops.rearrange(x, "b (h p) w c -> b h p w c", p=2),
        einx and (lambda: einx.id("b (h p) w c -> b h p w c", x, p=2)),
    )
    yield Row(
        "merge",
        lambda: x.reshape(2, 72),
        lambda: ours.rearrange(x, "b h w c -> b (h w c)"),
        lambda: einops.rearrange(x, "b h w c -> b (h w c)"),
        einx and (lambda: einx.id("b h w c -> b (h w c)", x)),
    )
    yield Row(
        "split+permute+merge",
        lambda: s.transpose(x.reshape(2, 2, 2, 3, 2, 3), (0, 1, 3, 2, 4, 5)).reshape(2, 2, 3, 12),
        lambda: ours.rearrange(x, SPLIT, p=2, q=2),
        lambda: einops.rearrange(x, SPLIT, p=2, q=2),
        einx and (lambda: einx.id(SPLIT, x, p=2, q=2)),
    )
    yield Row(
        "sum",
        lambda: x.sum((1, 2)),
        lambda: ours.reduce(x, "b h w c -> b c", "sum"),
        lambda: einops.reduce(x, "b h w c -> b c", "sum"),
        einx and (lambda: einx.sum("b h w c -> b c", x)),
    )
    yield Row(
        "mean",
        lambda: s.mean(x, (1, 2)),
        lambda: ours.reduce(x, "b h w c -> b c", "mean"),
        lambda: einops.reduce(x, "b h w c -> b c", "mean"),
        einx and (lambda: einx.mean("b h w c -> b c", x)),
    )
    pooled = "b (h 2) (w 2) c -> b h w c"
    yield Row(
        "pooling",
        lambda: s.largest(x.reshape(2, 2, 2, 3, 2, 3), (2, 4)),
        lambda: ours.reduce(x, pooled, "max"),
        lambda: einops.reduce(x, pooled, "max"),
        einx and (lambda: einx.max(pooled, x)),
    )
    sized = "b (h i) (w j) c -> b h w c"
    yield Row(
        "pooling, sizes by name",
        lambda: s.largest(x.reshape(2, 2, 2, 3, 2, 3), (2, 4)),
        lambda: ours.reduce(x, sized, "max", i=2, j=2),
        lambda: einops.reduce(x, sized, "max", i=2, j=2),
        einx and (lambda: einx.max(sized, x, i=2, j=2)),
    )
    yield Row(
        "repeat, new axis",
        lambda: s.repeat(m),
        lambda: ours.repeat(m, "a b -> a b c", c=3),
        lambda: einops.repeat(m, "a b -> a b c", c=3),
        einx and (lambda: einx.id("a b -> a b c", m, c=3)),
    )
    yield Row(
        "repeat, tiled",
        lambda: s.tile(m),
        lambda: ours.repeat(m, "a b -> a (r b)", r=3),
        lambda: einops.repeat(m, "a b -> a (r b)", r=3),
        einx and (lambda: einx.id("a b -> a (r b)", m, r=3)),
    )
    yield Row(
        "einsum",
        lambda: s.einsum("ab,bc->ac", m, n),
        lambda: ours.einsum(m, n, "a b, b c -> a c"),
        lambda: einops.einsum(m, n, "a b, b c -> a c"),
        einx and (lambda: einx.dot("a b, b c -> a c", m, n)),
    )
    parts, shapes = [m, s.make(np.ones((4, 2, 3), dtype="float32"))], [(5,), (2, 3)]
    packed = s.concat([m, parts[1].reshape(4, 6)], 1)
    yield Row(
        "pack",
        lambda: s.concat([m, parts[1].reshape(4, 6)], 1),
        lambda: ours.pack(parts, "a *"),
        lambda: einops.pack(parts, "a *"),
    )
    yield Row(
        "unpack",
        lambda: [packed[:, :5], packed[:, 5:].reshape(4, 2, 3)],
        lambda: ours.unpack(packed, shapes, "a *"),
        lambda: einops.unpack(packed, shapes, "a *"),
    )
    yield Row(
        "parse_shape",
        lambda: dict(zip(("b", "h", "w", "c"), x.shape)),
        lambda: ours.parse_shape(x, "b h w c"),
        lambda: einops.parse_shape(x, "b h w c"),
    )
    yield Row(
        "parse_shape, axes skipped",
        lambda: {"b": x.shape[0], "c": x.shape[3]},
        lambda: ours.parse_shape(x, "b _ _ c"),
        lambda: einops.parse_shape(x, "b _ _ c"),
    )
    if s.name == "PyTorch":
        yield from layers(x)


def layers(x: Any) -> Iterator[Row]:
    from einops.layers import torch as theirs

    from ricci.einops.layers import torch as layer

    a, b = layer.Rearrange("b h w c -> b (h w c)"), theirs.Rearrange("b h w c -> b (h w c)")
    yield Row("layer, merge", lambda: x.reshape(2, 72), lambda: a(x), lambda: b(x))
    c, d = layer.Rearrange(SPLIT, **SIZES), theirs.Rearrange(SPLIT, **SIZES)
    yield Row(
        "layer, split+permute+merge",
        lambda: x.reshape(2, 2, 2, 3, 2, 3).permute(0, 1, 3, 2, 4, 5).reshape(2, 2, 3, 12),
        lambda: c(x),
        lambda: d(x),
    )


def best(calls: dict[str, Call], batch: int, rounds: int) -> dict[str, float]:
    """Seconds of one call, the smallest over batches that take turns."""
    times = dict.fromkeys(calls, float("inf"))
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            start = CLOCK()
            for _ in range(batch):
                call()
            times[name] = min(times[name], (CLOCK() - start) / batch)
    return times


def check(row: Row) -> None:
    """All libraries give what the native calls give."""
    wanted = flat(row.raw())
    for call in (row.ours, row.einops, row.einx):
        if call is not None and not all(np.array_equal(a, b) for a, b in zip(wanted, flat(call()), strict=True)):
            sys.exit(f"{row.name}: the results differ")


def flat(result: Any) -> list[np.ndarray]:
    if isinstance(result, dict):
        return [np.array(list(result.values()))]
    if isinstance(result, tuple):
        result = result[0]
    return [np.asarray(part) for part in result] if isinstance(result, list) else [np.asarray(result)]


def warm(space: Space) -> None:
    print(f"\n{space.name}: warm calls, microseconds")
    print(f"  {'':<28}{'raw':>8}{'ricci':>8}{'einops':>8}{'einx':>8}   above raw: ricci  einops  ratio")
    losses = []
    for row in rows(space):
        check(row)
        calls = {"raw": row.raw, "ricci": row.ours, "einops": row.einops}
        if row.einx is not None:
            calls["einx"] = row.einx
        batch = BATCH if space.name != "JAX" else 60
        t = {name: 1e6 * seconds for name, seconds in best(calls, batch, ROUNDS).items()}
        above, theirs = t["ricci"] - t["raw"], t["einops"] - t["raw"]
        ratio = above / theirs
        beside = f"{t['einx']:8.2f}" if "einx" in t else f"{'-':>8}"
        print(f"  {row.name:<28}{t['raw']:8.2f}{t['ricci']:8.2f}{t['einops']:8.2f}{beside}", end="")
        missed = above > max(0.0, theirs / 3)
        print(f"{above:17.2f}{theirs:8.2f}{ratio:7.2f}{'  *' if missed else ''}")
        losses += [row.name] if missed else []
    print(f"  at most a third of einops' time above raw: {'all rows' if not losses else 'not ' + ', '.join(losses)}")


def first_calls() -> None:
    """New shapes and new patterns, on NumPy."""
    shapes = [
        np.zeros((b, 2 * h, 2 * w, c), "float32")
        for b in (1, 2)
        for h in range(1, 8)
        for w in range(1, 8)
        for c in (1, 2, 3)
    ]
    names = [f"n{k}" for k in range(200)]
    x = np.zeros((2, 4, 6, 3), "float32")
    tasks: list[tuple[str, Callable[[Any], list[Call]]]] = [
        ("new shape: transpose", lambda lib: [lambda a=a: lib.rearrange(a, "b h w c -> b c h w") for a in shapes]),
        ("new shape: merge", lambda lib: [lambda a=a: lib.rearrange(a, "b h w c -> b (h w c)") for a in shapes]),
        ("new shape: split+permute+merge", lambda lib: [lambda a=a: lib.rearrange(a, SPLIT, p=2, q=2) for a in shapes]),
        ("new shape: sum", lambda lib: [lambda a=a: lib.reduce(a, "b h w c -> b c", "sum") for a in shapes]),
        ("new shape: repeat", lambda lib: [lambda a=a: lib.repeat(a, "b h w c -> b h w c r", r=2) for a in shapes]),
        ("new shape: parse_shape", lambda lib: [lambda a=a: lib.parse_shape(a, "b h w c") for a in shapes]),
        (
            "new pattern: transpose",
            lambda lib: [lambda n=n: lib.rearrange(x, f"b {n} w c -> b c {n} w") for n in names],
        ),
        (
            "new pattern: split+permute+merge",
            lambda lib: [
                lambda n=n: lib.rearrange(x, f"b (h p) ({n} q) c -> b h {n} (p q c)", p=2, q=2) for n in names
            ],
        ),
        ("new pattern: sum", lambda lib: [lambda n=n: lib.reduce(x, f"b h {n} c -> b c", "sum") for n in names]),
        ("new pattern: repeat", lambda lib: [lambda n=n: lib.repeat(x, f"b h {n} c -> b h {n} c 2") for n in names]),
        ("new pattern: parse_shape", lambda lib: [lambda n=n: lib.parse_shape(x, f"b h {n} c") for n in names]),
        (
            "new pattern: einsum",
            lambda lib: [lambda n=n: lib.einsum(x[0, 0], x[0, 0], f"a {n}, b {n} -> a b") for n in names],
        ),
    ]
    print("\nNumPy: first calls, microseconds for the whole call")
    print(f"  {'':<36}{'ricci':>8}{'einops':>8}{'ratio':>8}")
    for name, calls in tasks:
        t = {}
        for lib, forget in ((ours, forget_ours), (einops, forget_einops)):
            todo = calls(lib)
            seconds = []
            for _ in range(15):
                forget()
                if name.startswith("new shape"):
                    todo[0]()  # the pattern is known
                start = CLOCK()
                for call in todo:
                    call()
                seconds.append((CLOCK() - start) / len(todo))
            t[lib] = 1e6 * min(seconds)
        print(f"  {name:<36}{t[ours]:8.2f}{t[einops]:8.2f}{t[ours] / t[einops]:8.2f}")


def forget_ours() -> None:
    cache_clear()


def forget_einops() -> None:
    from einops import einops as inner
    from einops import packing

    for function in (inner._reconstruct_from_shape, inner._prepare_transformation_recipe):
        function.cache_clear()
    inner._compactify_pattern_for_einsum.cache_clear()
    packing.analyze_pattern.cache_clear()


def large() -> None:
    """100 MB, NumPy: what moves memory, beside the best native calls."""
    x = np.random.default_rng(0).random((25, 1000, 1000), "float32")
    small, images = x[0, :500, :].copy(), x.reshape(25, 250, 4, 250, 4)
    row = x[0, 0, :500].copy()
    twice, pixels = x[:12], x[:6]
    tasks = [
        Large(
            "merge after transpose", lambda: x.transpose(2, 1, 0).reshape(1000, -1), "rearrange", x, "a b c -> c (b a)"
        ),
        Large(
            "patches",
            lambda: images.transpose(0, 1, 3, 2, 4).reshape(25, 250, 250, 16),
            *("rearrange", x, "b (h p) (w q) -> b h w (p q)"),
            sizes={"p": 4, "q": 4},
        ),
        Large("sum of the last axis", lambda: x.sum(2), "reduce", x, "a b c -> a b", "sum"),
        Large("sum of the first axis", lambda: x.sum(0), "reduce", x, "a b c -> b c", "sum"),
        Large("mean of all but one", lambda: x.mean((0, 1)), "reduce", x, "a b c -> c", "mean"),
        Large("max pooling 4 x 4", lambda: images.max((2, 4)), "reduce", x, "b (h 4) (w 4) -> b h w", "max"),
        repeated("repeat, first axis", small, "a b -> r a b", 0, 50),
        repeated("repeat, middle axis", small, "a b -> a r b", 1, 50),
        repeated("repeat, last axis, 50 times", small, "a b -> a b r", 2, 50),
        repeated("repeat, last axis, twice", twice, "a b c -> a b c r", 3, 2),
        repeated("repeat, a row", row, "a -> r a", 0, 50_000),
        Large(
            "repeat, twice in two axes",
            lambda: np.repeat(np.repeat(pixels, 2, 1), 2, 2),
            *("repeat", pixels, "a b c -> a (b r) (c s)"),
            sizes={"r": 2, "s": 2},
        ),
        Large(
            "einsum, matrix product",
            lambda: np.einsum("ij,kj->ik", x[0], x[1]),
            *("einsum", x[0], x[1], "i j, k j -> i k"),
        ),
        Large(
            "einsum, batched",
            lambda: np.einsum("bij,bkj->bik", x[:4, :200], x[:4, :200]),
            *("einsum", x[:4, :200], x[:4, :200], "b i j, b k j -> b i k"),
        ),
        Large("einsum, sum of products", lambda: np.einsum("aij,aij->a", x, x), "einsum", x, x, "a i j, a i j -> a"),
    ]
    print("\nNumPy: 100 MB, milliseconds")
    for task in tasks:
        t = {who: 1e3 * seconds for who, seconds in best(task.calls, 1, 7).items()}
        native = {who: ms for who, ms in t.items() if who not in ("ricci", "einops")}
        notes = [" slower than einops"] if t["ricci"] > 1.05 * t["einops"] else []
        notes += [" slower than native"] if t["ricci"] > 1.05 * min(native.values()) else []
        others = "  ".join(f"{who} {ms:.1f}" for who, ms in native.items())
        print(f"  {task.name:<30} ricci {t['ricci']:8.1f}  einops {t['einops']:8.1f}   {others}{','.join(notes)}")


class Large:
    """A task on large arrays: native calls, and those of the two libraries."""

    def __init__(self, name: str, native: Call, function: str, *args: Any, sizes: dict[str, int] | None = None):
        self.name = name
        self.calls: dict[str, Call] = {"NumPy": native}
        for who, library in (("ricci", ours), ("einops", einops)):
            self.calls[who] = partial(getattr(library, function), *args, **(sizes or {}))


def repeated(name: str, x: np.ndarray, pattern: str, axis: int, count: int) -> Large:
    """Repeating along a new axis, beside all that NumPy has for it."""
    new = np.expand_dims(x, axis)
    shape = new.shape[:axis] + (count,) + new.shape[axis + 1 :]
    task = Large(name, lambda: np.repeat(new, count, axis), "repeat", x, pattern, sizes={"r": count})
    task.calls["np.repeat"] = task.calls.pop("NumPy")
    task.calls["np.tile"] = lambda: np.tile(new, tuple([count if k == axis else 1 for k in range(new.ndim)]))
    task.calls["np.broadcast_to"] = lambda: np.broadcast_to(new, shape).copy()
    return task


def main(arguments: list[str]) -> None:
    known = ["numpy", "torch", "jax", "first", "large"]
    asked = [word for word in arguments if word in known] or known
    print(machine())
    for space in spaces(asked):
        warm(space)
    if "first" in asked:
        first_calls()
    if "large" in asked:
        large()


if __name__ == "__main__":
    main(sys.argv[1:])
