"""What ``rc`` does beyond einops, on arrays of every kind and on expressions: the same values everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ricci as rc
import ricci.einops as einops
from ricci.errors import EinopsError

KINDS = ["numpy", "torch", "jax", "symbolic", "known"]
BACKENDS = ["numpy", "torch", "jax"]


@pytest.fixture(scope="module", autouse=True)
def in_double_precision() -> Iterator[None]:
    jax = pytest.importorskip("jax", reason="jax is not installed: pip install jax to test its arrays")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def made(kind: str, x: np.ndarray) -> Any:
    """An array of NumPy as one of another package."""
    if kind == "torch":
        return pytest.importorskip("torch", reason="torch is not installed").from_numpy(np.array(x))
    if kind == "jax":
        return pytest.importorskip("jax", reason="jax is not installed").numpy.asarray(x)
    return x


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def on(kind: str, call: Callable, *arrays: np.ndarray) -> Any:
    """``call`` on arrays of a kind; on expressions, that are then evaluated with the arrays and compiled."""
    if kind in BACKENDS:
        return call(*[made(kind, x) for x in arrays])
    inputs = {f"x{k}": x for k, x in enumerate(arrays)}
    symbols = [
        rc.variable(f"{name}[{','.join([f'{name}i{n}' for n in range(x.ndim)])}]", x if kind == "known" else None)
        for name, x in inputs.items()
    ]
    found = call(*symbols)
    several = found if isinstance(found, list) else [found]
    values = []
    for y in several:
        used = {name: x for name, x in inputs.items() if kind == "symbolic" and name in y.context.facts.inputs}
        values.append(y(**used))
        for backend in BACKENDS:
            close(y.compile(backend)(**{name: made(backend, x) for name, x in used.items()}), values[-1])
    return values if isinstance(found, list) else values[0]


def close(found: Any, wanted: Any, within: float = 1e-10) -> None:
    if isinstance(wanted, list):
        assert isinstance(found, list) and len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            close(one, other)
        return
    assert np.shape(found) == np.shape(wanted)
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=within, atol=within)


# What a user can do

X, Q, K = normal(2, 16, 24, 3), normal(2, 3, 4, 5), normal(2, 3, 6, 5, seed=1)
A, B = normal(8, 3), normal(3, 4)
TABLE, TOKENS = normal(7, 4), np.array([[6, 0, 6], [1, 2, 3]])
EXAMPLES: dict[str, tuple] = {
    "patches": (
        lambda x: rc.rearrange(x, "b (h p) (w q) c -> b h w (p q c)", p=8, q=8),
        lambda x: x.reshape(2, 2, 8, 3, 8, 3).transpose(0, 1, 3, 2, 4, 5).reshape(2, 2, 3, 192),
        X,
    ),
    "einsum": (
        lambda q, k: rc.einsum("b h i d, b h j d -> b h i j", q, k),
        lambda q, k: np.einsum("bhid,bhjd->bhij", q, k),
        *(Q, K),
    ),
    "pattern last": (
        lambda q, k: rc.einsum(q, k, "b h i d, b h j d -> b h i j"),
        lambda q, k: np.einsum("bhid,bhjd->bhij", q, k),
        *(Q, K),
    ),
    "composite": (
        lambda a, b: rc.einsum("(g i) k, k j -> g i j", a, b, g=4),
        lambda a, b: (a @ b).reshape(4, 2, 4),
        *(A, B),
    ),
    "diagonal": (lambda a: rc.einsum("i i -> i", a), np.diagonal, normal(4, 4)),
    "numbers": (lambda a, b: rc.einsum("8 k, k j -> j", a, b), lambda a, b: (a @ b).sum(0), A, B),
    "shortest": (
        lambda a, b: rc.einsum("i k, k j -> i j", a, b, op="add", reduce="min"),
        lambda a, b: (a[:, :, None] + b[None]).min(1),
        *(A, B),
    ),
    "longest": (
        lambda a, b: rc.einsum("i k, k j -> j i", a, b, op="add", reduce="max"),
        lambda a, b: (a[:, :, None] + b[None]).max(1).T,
        *(A, B),
    ),
    "log-sum-exp": (
        lambda a, b: rc.einsum("i k, k j -> i j", a, b, op="add", reduce="logsumexp"),
        lambda a, b: np.log(np.exp(a) @ np.exp(b)),
        *(A, B),
    ),
    "join": (
        lambda x, y: rc.rearrange([x, y], "b c, b d -> b (c + d)"),
        lambda x, y: np.concatenate([x, y], 1),
        *(normal(2, 3), normal(2, 4)),
    ),
    "split": (
        lambda z: rc.rearrange(z, "b (c + d) -> b c, b d", c=3),
        lambda z: [z[:, :3], z[:, 3:]],
        normal(2, 7),
    ),
    "gather": (lambda t: rc.gather("v d, b t -> b t d", t, like(t, TOKENS)), lambda t: t[TOKENS], TABLE),
    "scatter": (
        lambda x: rc.scatter("b t d, b t -> v d", x, like(x, TOKENS), v=7),
        lambda x: sum(np.eye(7)[:, TOKENS[b, t], None] * x[b, t] for b in range(2) for t in range(3)),
        normal(2, 3, 4),
    ),
    "inverse": (
        rc.inverse("b (h p) c -> b h p c", p=8),
        lambda x: x.reshape(2, 16, 3),
        normal(2, 2, 8, 3),
    ),
    "repeat": (lambda x: rc.repeat(x, "a b -> (a 2) c b", c=2), lambda x: x.repeat(2, 0)[:, None].repeat(2, 1), A),
    "list": (
        lambda x, y: rc.rearrange([x, y], "n b c -> c (b n)"),
        lambda x, y: np.stack([x, y]).transpose(2, 1, 0).reshape(3, -1),
        *(A, normal(8, 3, seed=5)),
    ),
    "argmax": (lambda x: rc.reduce(x, "b i d j -> b d", "argmax"), lambda x: places(x, np.argmax), normal(2, 3, 4, 3)),
    "argmin": (lambda x: rc.reduce(x, "b i d j -> b d", "argmin"), lambda x: places(x, np.argmin), normal(2, 3, 4, 3)),
    "norm": (
        lambda x: rc.reduce(x, "(a 2) b -> b a", "norm"),
        lambda x: np.sqrt((x.reshape(4, 2, 3) ** 2).sum(1)).T,
        A,
    ),
    "pack": (
        lambda x, y: rc.pack([x, y], "b * c")[0],
        lambda x, y: np.concatenate([x[:, None], y.reshape(2, 6, 5)], 1),
        *(normal(2, 5), normal(2, 2, 3, 5)),
    ),
    "unpack": (
        lambda x: rc.unpack(x, [(), (2, 3)], "b * c"),
        lambda x: [x[:, 0], x[:, 1:].reshape(2, 2, 3, 5)],
        normal(2, 7, 5),
    ),
}


def like(x: Any, index: np.ndarray) -> Any:
    return made("torch", index) if type(x).__module__ == "torch" else index


def places(x: np.ndarray, place: Callable) -> np.ndarray:
    """Among the axes 1 and 3 together, in their order."""
    return place(x.transpose(0, 2, 1, 3).reshape(2, 4, 9), axis=2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name, kind):
    call, reference, *arrays = EXAMPLES[name]
    close(on(kind, call, *arrays), reference(*arrays))


@pytest.mark.parametrize("kind", KINDS)
def test_the_comparison_can_fail(kind):
    with pytest.raises(AssertionError):
        close(on(kind, lambda a: rc.rearrange(a, "a b -> b a"), A), A)
    with pytest.raises(AssertionError):
        close(on(kind, lambda a: rc.rearrange(a, "a b -> b a"), A), A.T + 1e-6)
    with pytest.raises(AssertionError):
        close(on(kind, lambda z: rc.rearrange(z, "b (c + d) -> b c, b d", c=1), A), [A])


def test_scopes_signatures_and_tables():
    x, w = normal(2, 3, 4096), normal(4096, 2)

    @rc.signature("b t d, d e -> b t e")
    def project(x, w):
        return rc.einsum("b t d, d e -> b t e", x, w)

    def model(x):
        return project(rc.rearrange(x, "b t (h d) -> b t (d h)", h=8), w)

    with rc.axes(d=512) as ax:
        q = rc.rearrange(x, "b t (h d) -> b h t d", h=8)
        assert q.shape == (2, 8, 3, 512) and dict(ax) == {"d": 512, "b": 2, "t": 3, "h": 8}
        with pytest.raises(rc.ShapeError, match="Axis 'd' has size 1024"):
            rc.rearrange(x, "b t (n d) -> b n t d", n=4)
    assert project(x, w).shape == (2, 3, 2)
    with pytest.raises(rc.ShapeError, match="axis 'd' has size 4095"):
        project(x, w[1:])
    table = rc.shapes(model)(x)
    assert [(row.operation, row.pattern) for row in table.rows] == [
        ("rearrange", "b t (h d) -> b t (d h)"),
        ("einsum", "b t d, d e -> b t e"),
    ]
    assert "h=8 d=512" in str(table) and "test_wide.py:" in str(table)


# Many axes, shortest paths


@pytest.mark.parametrize("kind", KINDS)
def test_more_axes_than_letters(kind):
    names = [f"a{k}" for k in range(60)]
    x, y = normal(*(2, 3), *[1] * 38), normal(*[1] * 19, 2)
    call = f"{' '.join(names[:40])}, {' '.join(names[40:59])} a0 -> a1 a0 a50"
    close(
        on(kind, lambda x, y: rc.einsum(call, x, y), x, y), np.einsum("ij,i->ji", x.squeeze(), y.squeeze())[..., None]
    )
    back = f"{' '.join(names[:40])} -> ({' '.join(reversed(names[:40]))})"
    close(on(kind, lambda x: rc.rearrange(x, back), x), x.reshape(2, 3).T.reshape(-1))


@pytest.mark.parametrize("kind", BACKENDS)
def test_shortest_paths_are_those_of_floyd_and_warshall(kind):
    random = np.random.default_rng(3)
    roads = np.where(random.random((9, 9)) < 0.3, random.uniform(1, 9, (9, 9)), np.inf)
    np.fill_diagonal(roads, 0)
    wanted = roads.copy()
    for k in range(9):
        wanted = np.minimum(wanted, wanted[:, k, None] + wanted[k])
    paths = made(kind, roads)
    for _ in range(4):
        paths = rc.einsum("i k, k j -> i j", paths, paths, op="add", reduce="min")
    close(paths, wanted)
    assert not np.array_equal(roads, wanted)


# Reductions


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_the_pattern_is_the_order_of_places(kind):
    x = normal(2, 3, 4)
    close(on(kind, lambda x: rc.reduce(x, "i j k -> ", "argmax"), x), x.argmax())
    close(on(kind, lambda x: rc.reduce(x, "i j k -> j", "argmin"), x), x.transpose(1, 0, 2).reshape(3, 8).argmin(1))
    close(on(kind, lambda x: rc.reduce(x, "(p q) j k -> k p", "argmax", p=1), x), x.reshape(6, 4).argmax(0)[:, None])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["norm", "argmax", "argmin", "var", "std", "logsumexp"])
def test_a_reduction_of_single_numbers(name, kind):
    """What is reduced is one number each time, which is not always the result."""
    x = np.array([[-3.0, 2.0]])
    wanted = {"norm": np.abs(x), "logsumexp": x}.get(name, 0 * x)
    close(on(kind, lambda x: rc.reduce(x, "a b -> b a", name), x), wanted.T)
    close(on(kind, lambda x: rc.reduce(x, "1 b -> b", name), x), wanted[0])
    close(on(kind, lambda x: rc.reduce(x, "... -> 1 ...", name), x), wanted[None])
    close(on(kind, lambda x: rc.reduce(x, " -> ", name), np.array(-3.0)), wanted[0, 0])


@pytest.mark.parametrize("kind", BACKENDS)
def test_reductions_of_nothing(kind):
    empty = made(kind, np.zeros((2, 0)))
    close(rc.reduce(empty, "a b -> a", "logsumexp"), np.full(2, -np.inf))
    close(rc.reduce(empty, "a b -> a", "norm"), np.zeros(2))
    assert tuple(rc.reduce(empty, "a b -> b", "argmax").shape) == (0,)
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(EinopsError, match=f"There is no {name} of no entries"):
            rc.reduce(empty, "a b -> a", name)


@pytest.mark.parametrize("kind", BACKENDS)
def test_numbers_at_the_ends_of_their_types(kind):
    close(rc.reduce(made(kind, np.full(2, 200, np.uint8)), "a ->", "norm") / np.sqrt(2), 200.0, 1e-6)
    close(rc.reduce(made(kind, np.array([-128, 127], np.int8)), "a ->", "logsumexp"), 127.0)
    close(rc.reduce(made(kind, np.full(2, -np.inf)), "a ->", "logsumexp"), -np.inf)
    close(rc.reduce(made(kind, np.array([1000.0, 1000.0])), "a ->", "logsumexp"), 1000 + np.log(2))


# Sizes and inverses


@pytest.mark.parametrize("kind", BACKENDS)
def test_sizes(kind):
    x, w = made(kind, normal(2, 3, 8)), made(kind, normal(4, 5))
    assert rc.sizes("b t (h d), d e", x, w) == {"b": 2, "t": 3, "d": 4, "e": 5, "h": 2}
    assert rc.sizes("b ... _, _ e", x, w) == {"b": 2, "e": 5}
    assert rc.sizes("b t (h d)", x, h=4)["d"] == 2
    for pattern, arrays in [("b t d, d e", (x, w)), ("b t", (x,)), ("b t (h d)", (x,)), ("b t d -> b", (x,))]:
        with pytest.raises(EinopsError):
            rc.sizes(pattern, *arrays)


def test_sizes_of_expressions():
    x, w = rc.variable("x[b,t,c]", X[0]), rc.variable("w[d,e]")
    found = rc.sizes("b t (h c), d e", x, w, c=1)
    assert (found["b"], found["h"]) == (16, 3)
    halves = rc.rearrange(w, "(a d) e -> a d e", a=rc.sizes("d e", w)["d"] // 2)
    close(halves(w=A), A.reshape(4, 2, 3))


class Arrangement(NamedTuple):
    """A random rearrangement and its sizes."""

    left: list[list[str]]
    right: list[list[str]]
    sizes: dict[str, int]

    @property
    def pattern(self) -> str:
        return f"{written(self.left)} -> {written(self.right)}"

    @property
    def given(self) -> dict[str, int]:
        """What a composite axis of either side needs: all of its sizes but the first that is not 0."""
        inner = {name for side in (self.left, self.right) for group in side if len(group) > 1 for name in group}
        return {name: size for name, size in self.sizes.items() if name in inner}

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple([int(np.prod([self.sizes[name] for name in group])) for group in self.left])

    def reference(self, x: np.ndarray) -> np.ndarray:
        names = [name for group in self.left for name in group]
        order = [names.index(name) for group in self.right for name in group]
        x = x.reshape([self.sizes[name] for name in names]).transpose(order)
        return x.reshape([int(np.prod([self.sizes[name] for name in group])) for group in self.right])


def written(side: list[list[str]]) -> str:
    return " ".join([group[0] if len(group) == 1 else f"({' '.join(group)})" for group in side])


@st.composite
def arrangements(draw) -> Arrangement:
    names = draw(st.lists(st.sampled_from(["a", "b", "c", "row", "k_1"]), max_size=5, unique=True))
    sizes = {name: draw(st.integers(0, 3)) for name in names}

    def side() -> list[list[str]]:
        groups: list[list[str]] = [[]] if draw(st.booleans()) else []
        for name in draw(st.permutations(names)):
            if groups and draw(st.booleans()):
                groups[-1].append(name)
            else:
                groups.append([name])
        return groups

    return Arrangement(side(), side(), sizes)


@given(arrangements(), st.sampled_from(BACKENDS))
def test_the_inverse_undoes_any_rearrangement(case, kind):
    x = made(kind, normal(*case.shape))
    there = rc.rearrange(x, case.pattern, **case.given)
    close(there, case.reference(normal(*case.shape)))
    back = rc.inverse(case.pattern, **case.given)
    assert isinstance(back, str) and back == f"{written(case.right)} -> {written(case.left)}"
    close(back(there), x)
    close(rc.rearrange(there, back, **case.given), x)


def test_inverses():
    back = rc.inverse("b (h p) c -> b h p c", p=8)
    assert back == "b h p c -> b (h p) c" and back.sizes == {"p": 8}
    parts = rc.rearrange(A, "b (c + d) -> b c, b d", c=1)
    close(rc.inverse("b (c + d) -> b c, b d")(parts), A)
    close(rc.inverse(rc.inverse("a b -> (b a)", a=8), a=8)(A), A.T.reshape(-1))
    for pattern in ("a b -> a", "a -> a b", "a b", "... a -> (... a)"):
        with pytest.raises(EinopsError):
            rc.inverse(pattern)
    with pytest.raises(EinopsError, match="Axis q is not in the pattern"):
        rc.inverse("a b -> b a", q=2)


# The language of einops, and names


@pytest.mark.parametrize(
    "call",
    [
        lambda f: f.rearrange([A, A], "b c, b d -> b (c + d)"),
        lambda f: f.rearrange(A, "b (c + d) -> b c, b d", c=1),
        lambda f: f.rearrange(A, "b (c + 1) -> b c, b"),
        lambda f: f.rearrange([A, A], "a b, a b -> a b, a b"),
        *[lambda f, name=name: f.reduce(A, "a b -> a", name) for name in ("argmax", "argmin", "logsumexp", "norm")],
        *[lambda f, name=name: f.reduce(A, "a b -> a", name) for name in ("var", "std")],
        lambda f: f.einsum(A, "(a 2) b -> a b"),
        lambda f: f.einsum(A, B, "8 b, b c -> c"),
        lambda f: f.einsum("a b, b c -> a c", A, B),
    ],
)
def test_what_only_rc_reads(call):
    call(rc)
    with pytest.raises(EinopsError):
        call(einops)
    with pytest.raises(EinopsError):  # nor after rc has read it
        call(einops)


@pytest.mark.parametrize("kind", KINDS)
def test_keywords_of_python_and_letters_of_others_are_names(kind):
    sizes = {"class": 4, "λ": 2}
    close(
        on(kind, lambda x: rc.rearrange(x, "(class λ) for -> for (λ class)", **sizes), A),
        A.reshape(4, 2, 3).transpose(2, 1, 0).reshape(3, 8),
    )
    close(on(kind, lambda x: rc.reduce(x, "(import is) α -> α", "sum", **{"is": 2}), A), A.sum(0))
    close(on(kind, lambda x, y: rc.einsum("(if def) α, α or -> or", x, y, **{"if": 2}), A, B), (A @ B).sum(0))  # pyright: ignore[reportArgumentType, reportCallIssue]


NAMED: dict[str, tuple[Callable, tuple]] = {
    "rearrange": (lambda x, y: rc.rearrange(x, "b (h p) -> p h b", p=2), ("p", "h", "b")),
    "reduce": (lambda x, y: rc.reduce(x, "(b q) h -> q h", "max", q=2), ("q", "h")),
    "repeat": (lambda x, y: rc.repeat(x, "s t -> s n t", n=2), ("s", "n", "t")),
    "einsum": (lambda x, y: rc.einsum("i k, k j -> j i", x, y), ("j", "i")),
    "shortest": (lambda x, y: rc.einsum("i k, k j -> j i", x, y, op="add", reduce="min"), ("j", "i")),
    "gather": (lambda x, y: rc.gather("v d, b t -> t d b", x, TOKENS), ("t", "d", "b")),
    "scatter": (lambda x, y: rc.scatter("b d, b -> d v", x, np.arange(8), v=9), ("d", "v")),
    "split": (lambda x, y: rc.rearrange(x, "b (c + d) -> d b, b c", c=1)[0], ("d", "b")),
    "inverse": (lambda x, y: rc.inverse("p h b -> b (h p)", p=2)(x), ("p", "h", "b")),
}


@pytest.mark.parametrize("name", NAMED)
def test_expressions_carry_the_names_of_the_pattern(name):
    call, names = NAMED[name]
    x, y = rc.variable("x[i,j]"), rc.parse("z[i,j] = exp(y[i,j])")
    found = call(x, y)
    assert found.indices == names and found == call(x, y)
    assert "x[" in str(found)
    if name in ("einsum", "shortest"):  # the text of the others leaves sizes out
        assert rc.parse(str(found)).expr is found.expr


def test_expressions_print_and_read_back():
    x, y = rc.tensors("x[b,t] y[t,c]")
    product = rc.einsum("b t, t c -> c b", x, y)
    assert rc.parse(str(product)) == product and str(product) == "z[c,b] = x[b,t] y[t,c]"
    looked_up = rc.gather("v d, b t -> b t d", y, rc.variable("n[b,t]"))
    assert str(looked_up) == "y[n[b,t],d]" and rc.parse(str(looked_up)) == looked_up


# Expressions and arrays, at random


@settings(max_examples=150)
@given(arrangements(), st.sampled_from(["sum", "max", "mean", "prod", "norm", "var"]), st.booleans(), st.data())
def test_expressions_are_what_arrays_are(case, reduction, known, data):
    """rearrange, reduce, repeat and einsum of a formula, evaluated, are those functions of the arrays."""
    x, w = normal(*case.shape), normal(2, seed=1)
    kind, sizes = "known" if known else "symbolic", case.given
    kept = data.draw(st.lists(st.sampled_from(list(case.sizes) or ["_"]), unique=True))
    right = [[name for name in group if name in kept] for group in case.right]
    left, some, whole = written(case.left), written([group for group in right if group]), written(case.right)
    empty = any(size == 0 and name not in kept for name, size in case.sizes.items())
    calls: list[Callable] = [
        lambda f: rc.rearrange(f, f"{left} -> {whole}", **sizes),
        lambda f: rc.repeat(f, f"{left} -> {whole} (new 2)", new=2, **sizes),
        lambda f, y=w: rc.einsum(f"{left}, new -> {some} new", f, y, **sizes),
    ]
    if not (empty and reduction in ("max", "mean", "var")):
        calls.append(lambda f: rc.reduce(f, f"{left} -> {some}", reduction, **sizes))
    for call in calls:
        close(evaluated(kind, call, x), call(x))
    close(rc.rearrange(x, case.pattern, **sizes), case.reference(x))


def evaluated(kind: str, call: Callable, x: np.ndarray) -> Any:
    """As :func:`on`, with NumPy alone, which is fast enough for many examples."""
    symbol = rc.variable(f"x[{','.join('stuvwz'[: x.ndim])}]", x if kind == "known" else None)
    y = call(symbol)
    used = {"x": x} if kind == "symbolic" else {}
    value = y(**used)
    close(y.compile("numpy")(**used), value)
    return value


@settings(max_examples=25)
@given(arrangements(), st.booleans(), st.sampled_from(["torch", "jax"]))
def test_other_backends_compute_the_same(case, known, backend):
    x = normal(*case.shape)
    symbol = rc.variable(f"x[{','.join('stuvwz'[: x.ndim])}]", x if known else None)
    y = rc.rearrange(symbol, case.pattern, **case.given)
    used = {} if known else {"x": made(backend, x)}
    close(y.compile(backend)(**used), case.reference(x))


def test_conditions_on_sizes_are_checked_at_the_call():
    x, y = rc.variable("x[a,b]"), rc.variable("y[a,b]")
    for found in (
        rc.rearrange(x, "(a 1) (b two) -> a b two", two=2),
        rc.einsum("a (b two) -> a", x, two=2),
        rc.rearrange([x, y], "n a b -> n b a"),
        rc.rearrange([x, y], "a b, a c -> a (b + c)"),
        rc.pack([x, y], "a *")[0],
    ):
        with pytest.raises(rc.ShapeError):
            found(**{name: value for name, value in (("x", A), ("y", normal(7, 3))) if name in found.variables})


def test_sums_over_known_and_symbolic_sizes_count_each_once():
    x, c = rc.variable("x[i]"), rc.variable("c")
    y = rc.repeat(x, "i -> i 3 j", j=rc.sizes("i", x)["i"])
    close(rc.reduce(y * c, "i a j -> i", "sum")(x=np.ones(2), c=1.0), np.full(2, 6.0))
    z = rc.rearrange(rc.variable("x[i,j]"), "(a b) (c d) -> a b c d", a=2, c=3)
    rest = (z - rc.reduce(z, "a b c d -> a d", "mean")).sum("b", "c")
    close(rest.compile("numpy")(x=normal(4, 6)), np.zeros((2, 2)))


@pytest.mark.parametrize("kind", ["jax", "symbolic"])
def test_lists_with_arrays_of_numpy(kind):
    x = made("jax", A) if kind == "jax" else rc.variable("x[a,b]", A)
    for arrays in ([x, 2 * A], [2 * A, x]):
        wanted = [A, 2 * A] if arrays[0] is x else [2 * A, A]
        joined, packed = rc.rearrange(arrays, "n a b -> b a n"), rc.pack(arrays, "* b")[0]
        if kind == "symbolic":
            joined, packed = joined(), packed()
        close(joined, np.stack(wanted).transpose(2, 1, 0))
        close(packed, np.concatenate(wanted))
