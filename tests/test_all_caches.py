"""All that is kept of earlier calls: in one place, bounded, safe among threads, and forgotten together."""

from __future__ import annotations

import ast
import copy
import gc
import pickle
import random
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ricci as rc
import ricci.einops as einops
import ricci.numpy as rnp
from ricci.caches import Cache, Counts, Pool, cached, enrol
from ricci.expr import product, variable
from ricci.simplify.proof.polynomials import mirrors
from ricci.tensor.recorder import apply

SOURCE = Path(rc.__file__).parent
X, Y, V = np.arange(6.0).reshape(2, 3), np.ones((3, 2)), np.array([0.5, 1.0, 2.0])
A = variable("a", (3, 3))
GRAM = product([(A, (0, 1)), (A, (2, 1))], (0, 2))
LARGE = np.ones((600, 600))

# Using everything: for each cache a call that fills it, whose result is compared before and after all are emptied.

loss = rc.parse("l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))")
compiled = rc.parse("y[i] = exp(2 A[i,j] x[j]) + x[i]").compile("numpy", fused=False)
in_blocks = rc.parse("y[i] = A[i,j] x[j]").compile(blocks={"i": 1})
compressed = rc.parse("f = 1[i,j] (T[i,j] - U[i,k] V[j,k])**2").diff("U", "U").compile("numpy", compressed=True)
gradient = rc.grad(lambda x: np.tanh(x).sum())
named = rc.vmap(lambda x: (x * x).sum(), axis_name="b")


@rc.custom
def twice(x):
    return 2 * x


@twice.jvp
def _(primals, tangents):
    return twice(*primals), 2 * tangents[0]


@rc.custom
def sorted_entries(x):
    return np.sort(x)


@sorted_entries.vjp
def _(primals, bar):
    return (bar,)


unknown = rc.parse("y[i] = point(x[i])", functions=["point"])
waiting = sorted_entries(rc.variable("x[i]")).compile("numpy")  # pyright: ignore[reportAttributeAccessIssue]


def energy(x):
    return (x * x).sum()


@rc.signature("b d, d e -> b e")
def project(x, w):
    return x @ w


def backward(f: Callable[[Any], Any], *args: Any) -> Any:
    tensors = [rc.Tensor(a) for a in args]
    f(*tensors).backward()
    return [t.grad.numpy() for t in tensors]


def changed(x: rc.Tensor, write: Callable[[Any], Any]) -> Any:
    y = x * 1
    write(y)
    return (y * y).sum()


def set_row(y: Any) -> None:
    y[0][1] = 3.0


def set_diagonal(y: Any) -> None:
    np.fill_diagonal(y, 0.0)


def torch_module() -> Any:
    return pytest.importorskip("torch", reason="PyTorch is not installed")


def torch_layer() -> Any:
    torch_module()
    return pytest.importorskip("ricci.einops.layers.torch")


def in_torch_compile() -> Any:
    torch = torch_module()
    f = rc.parse("y[i] = A[i,j] x[j]").compile()
    whole = torch.compile(lambda A, x: f(A, x) + 1, backend="eager")
    return whole(torch.ones(2, 3), torch.ones(3)).numpy(), whole, f  # what holds the programs


def captured() -> Any:
    torch_module()
    from ricci.compiler.run.torch_graphs import FEW, Launched
    from ricci.testing.launches import StandIn

    program, x = Launched(lambda x: x + 1, StandIn()), torch_module().ones(3)
    return [program(x) for _ in range(FEW + 1)][-1].numpy(), program


def fused() -> Any:
    pytest.importorskip("numba", reason="Numba is not installed")
    f = rc.parse("y[i,j] = exp(x[i,j]) + 1").compile("numpy", fused=True)
    return f(x=LARGE)


HELD: list[Any] = []  # what has caches of its own


def held(f: Callable[[], tuple]) -> Any:
    result, *owners = f()
    HELD.extend(owners)
    return result


layers: dict[str, Any] = {}


def layer(name: str, make: Callable[[Any], Any]) -> Any:
    return layers.setdefault(name, make(torch_layer()))


def triangular(A):
    L = np.linalg.cholesky(A)
    return np.sum(np.linalg.solve(L, A))


def running(x: Any) -> Any:
    total = 0.0
    for k in range(9):
        total = total + k * x
    return total


USES: dict[str, Callable[[], Any]] = {
    "arrangements of sums": lambda: str(rc.parse("y[i,j] = (A[i,j] - A[j,i]) + 0.1 (A[j,i] - A[i,j])").T),
    "backends of types": lambda: einops.rearrange(X, "a b -> b a"),
    "calls of compiled functions": lambda: [compiled(A=np.ones((3, 3)), x=V) for _ in range(2)],
    "calls of parse_shape": lambda: einops.parse_shape(X, "a b"),
    "calls of transformed functions": lambda: [gradient(V) for _ in range(2)],
    "calls on patterns": lambda: einops.reduce(X, "a b -> a", "sum"),
    "calls on tensors": lambda: backward(lambda x: (x * x).sum(), V),
    "calls of functions on tensors": lambda: backward(lambda x: twice(x).sum(), V),
    "captured graphs": lambda: held(captured),
    "changes as operations": lambda: backward(lambda x: changed(x, set_diagonal), np.ones((3, 3))),
    "code that is traced": lambda: rc.compile(running)(V),
    "contractions of layers": lambda: (
        layer("mix", lambda m: m.EinMix("b c -> b d", "c d", c=3, d=2))(torch_module().ones(2, 3)).shape
    ),
    "costs of composing edges": lambda: loss.diff("w", "w", mode="cross-country")(X=X, y=np.ones(2), w=V),
    "derivatives of functions that a call gives": lambda: unknown.diff("x")(x=V, point=np.sin),
    "equations of einsum": lambda: einops.einsum(X, Y, "a b, b c -> a c"),
    "formulas with functions of calls": lambda: unknown(x=V, point=np.sin),
    "functions along named axes": lambda: named(rc.Tensor(X, axes=("b", "d"))).numpy(),
    "functions of PyTorch on tensors": lambda: torch_module().sin(rc.Tensor(V)).numpy(),
    "functions of ricci.numpy": lambda: rnp.linalg.norm(V),
    "functions in texts": lambda: rc.parse("y[i] = s(x[i])", functions={"s": np.tanh})(x=V),
    "functions on tensors": lambda: gradient(rc.Tensor(V)).numpy(),
    "kinds of results of functions": lambda: rc.compile(np.linalg.det)(np.eye(3)),
    "kinds of types": lambda: rc.softmax(V, 0),
    "loops": lambda: rc.scan(lambda c, x: (c + x, None), 0.0, V),
    "loops in code": lambda: rc.compile(lambda x: running(2 * x))(V),
    "latest calls by patterns": lambda: einops.rearrange(X, "a (b c) -> a b c", c=3),
    "makers of trees": lambda: rc.grad(lambda p: (p["a"] ** 2).sum())({"a": V})["a"],
    "memory of fused kernels, in bytes": fused,
    "memory of programs, in bytes": lambda: rc.parse("y[i,j] = exp(2 x[i,j]) (A[i,k] A[k,j])").compile(
        "numpy", fused=False
    )(x=LARGE / 9, A=LARGE),
    "places of exponents": lambda: rc.compile(lambda x, n: x[:, None] ** n, fused=False)(
        np.linspace(0, 1, 9999), np.arange(4)
    ),
    "names of axes of operations": lambda: np.asarray((rc.Tensor(X, axes=("b", "d")) * 2).numpy()),
    "names of axes": lambda: einops.rearrange(X, "a b -> b a"),
    "numbers that arrays were indexed by": lambda: backward(lambda x: x[1] * x[1], V),
    "operations of functions on tensors": lambda: backward(lambda x: twice(x).sum(), V),
    "operations of tensors": lambda: backward(lambda x: (x * x).sum(), V),
    "orders of contractions": lambda: rc.parse("y = A[i,j] B[j,k] C[k,i]")(A=X, B=Y, C=np.ones((2, 2))),
    "patterns of gather and scatter": lambda: rc.gather("v d, t -> t d", X, np.array([1, 0])),
    "patterns of one array": lambda: einops.rearrange(X, "a b -> b a"),
    "patterns of several arrays": lambda: rc.einsum("(a b) -> a", V, a=3),
    "patterns of signatures": lambda: project(X, Y),
    "patterns with +": lambda: rc.rearrange([X, X], "b c, b d -> b (c + d)"),
    "patterns of pack": lambda: einops.pack([X, X], "a *")[0],
    "plans of compiled functions": lambda: compiled(A=np.ones((3, 3)), x=V),
    "plans with functions of one's own": lambda: waiting(x=V),
    "products of compressed results": lambda: held(
        lambda: (lambda c: (np.asarray(c), c))(compressed(T=X, U=np.ones((2, 2)), V=np.ones((3, 2))))
    ),
    "programs in torch.compile": lambda: held(in_torch_compile),
    "programs of functions of the table": lambda: rc.softmax(V, 0),
    "programs of transformed functions": lambda: gradient(V),
    "rules of functions on tensors": lambda: backward(lambda x: apply(energy, "energy", (x,), {}), V),
    "rules of one's own on formulas": lambda: twice(rc.variable("x[i]"))(x=V),
    "schedules of blocks": lambda: in_blocks(A=np.ones((3, 3)), x=V),
    "shapes of calls on patterns": lambda: einops.rearrange(X, "a b -> (a b)"),
    "shapes of layers": lambda: layer("turned", lambda m: m.Rearrange("a b -> b a"))(torch_module().ones(2, 3)).shape,
    "shapes of signatures": lambda: project(X, Y),
    "shapes of operations of PyTorch": lambda: rc.grad(lambda x: torch_module().tanh(x).sum())(
        torch_module().ones(3)
    ).numpy(),
    "signatures of functions": lambda: np.sum(rc.Tensor(X, axes=("b", "d")), axis="d").numpy(),  # pyright: ignore[reportArgumentType, reportCallIssue]
    "sizes that are assumed": lambda: loss.diff("w", "w", mode="cross-country")(X=X, y=np.ones(2), w=V),
    "solvers of triangular systems": lambda: np.asarray(rc.grad(triangular)(X @ X.T + np.eye(2))),
    "special functions": lambda: rc.parse("y[i] = lgamma(x[i])")(x=V),
    "transforms of SciPy": lambda: rc.compile(np.fft.fft)(V),
    "symmetric matrices": lambda: mirrors(GRAM),
    "texts of nodes": lambda: str(rc.parse("y[i] = x[i] + 1")),
    "transformed functions": lambda: rc.jvp(np.sin, (1.0,), (2.0,)),
    "types of PyTorch": lambda: einops.rearrange(X, "a b -> b a"),
    "types of arrays": lambda: einops.rearrange(X, "a b -> b a"),
    "types of operands": lambda: rc.sin(rc.Tensor(V)).numpy(),
    "types of results": lambda: rc.grad(lambda x: (x * 2.0).sum())(V),
    "types of trees": lambda: rc.grad(lambda p: (p["a"] ** 2).sum())({"a": V})["a"],
    "functions of NumPy on tensors": lambda: np.sin(rc.Tensor(V)).numpy(),  # pyright: ignore[reportAttributeAccessIssue]
    "weights of sums of edges": lambda: str(
        rc.parse("h[j] = tanh(W[j,i] x[i]); y[k] = V[k,j] h[j] h[j] + U[k,i] x[i]").diff("x", mode="cross-country")
    ),
    "writing into views": lambda: backward(lambda x: changed(x, set_row), X),
}


def test_every_cache_is_used_and_emptied():
    rc.cache_clear()
    before = {}
    for name, use in USES.items():
        try:
            before[name] = use()
        except pytest.skip.Exception:  # of a package that is not installed
            continue
        assert name in rc.cache_info(), name
        assert rc.cache_info()[name].size, f"{name} is empty"
    rc.cache_clear()
    left = {name: found for name, found in rc.cache_info().items() if found.size or found.hits or found.misses}
    assert left == {}
    for name, value in before.items():
        np.testing.assert_equal(USES[name](), value, err_msg=name)


def test_every_cache_is_among_them():
    named = names_of_caches()
    assert [pattern for pattern in named if not any(re.fullmatch(pattern, name) for name in USES)] == []
    assert [name for name in USES if not any(re.fullmatch(pattern, name) for pattern in named)] == []


def test_the_table_of_caches():
    rc.cache_clear()
    assert "caches were not used" in str(rc.cache_info())
    rc.parse("y = 2 x").compile("numpy")(x=1.0)
    info = rc.cache_info()
    assert (info.hits, info.misses, info.size, info.maxsize) == info["plans of compiled functions"] == (0, 1, 1, 512)
    assert "plans of compiled functions" in str(info) and info._repr_html_().startswith("<table>")


# Nothing is kept elsewhere

NAMES = {"Cache", "CallCache", "OfFunctions", "Pool", "cached", "enrol"}
KEEPING = {"lru_cache", "cache", "OrderedDict", "WeakValueDictionary", "WeakKeyDictionary"}
# What looks like a cache and is none.
TABLES = {
    "dispatch": "what rooms have registered when they were imported",
    "checked_calls": "what rooms have registered when they were imported",
    "kinds": "what rooms have registered when they were imported",
    "expr.op": "the rows of functions",
    "functions.fourier": "the rows of transforms",
    "tracing.loops_seen": "the functions that are being traced",
    "tracing.lowerings": "the rows of NumPy's functions",
    "tracing.pytorch.aten": "the rows of PyTorch's operations",
    "simplify.match": "the functions of the table, and the kinds of nodes",
    "einops.watch": "scopes that are open",
    "einops.driver": "the functions on patterns",
    "user.formula_patterns": "which array an input stands for",
    "einops.backends": "one backend for each library",
    "compiler.run.engines": "one target for each library",
}


def sources() -> dict[str, str]:
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        words = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(words[:-1] if words[-1] == "__init__" else words)] = path.read_text()
    return {name: text for name, text in found.items() if name != "caches" and not name.startswith("testing")}


def names_of_caches() -> set[str]:
    """The names given to caches in the source, as regular expressions: of some only a part is written there."""
    found = {"plans of compiled functions"}  # which ricci.caches knows by itself
    called = re.compile(rf"\b({'|'.join(NAMES)})\(")
    for text in filter(called.search, sources().values()):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and node.args and getattr(node.func, "id", "") in NAMES:
                name = node.args[0]
                parts = name.values if isinstance(name, ast.JoinedStr) else [name]
                if all(isinstance(part, (ast.Constant, ast.FormattedValue)) for part in parts):
                    found.add(
                        "".join([re.escape(str(p.value)) if isinstance(p, ast.Constant) else ".+" for p in parts])
                    )
    return found


def kept_elsewhere(text: str) -> list[str]:
    """What a source keeps between calls by itself: imported tools for it, and tables of its own that functions fill."""
    tree = ast.parse(text)
    faults = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            faults += [f"imports {a.name}" for a in node.names if a.name in KEEPING and node.module != "ricci.caches"]
        if isinstance(node, ast.Attribute) and node.attr in KEEPING and getattr(node.value, "id", "") == "functools":
            faults.append(f"uses functools.{node.attr}")
    own = {target.id for node in tree.body for target in _targets(node) if isinstance(target, ast.Name)}
    inside = [f for f in ast.walk(tree) if isinstance(f, (ast.FunctionDef, ast.Lambda))]
    filled = {name for f in inside for node in ast.walk(f) for name in _filled(node)}
    return faults + [f"fills {name}" for name in sorted(own & filled)]


def _targets(node: ast.stmt) -> list[ast.expr]:
    if isinstance(node, ast.Assign) and _is_table(node.value):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign) and node.value and _is_table(node.value) else []


def _is_table(value: ast.expr) -> bool:
    called = getattr(value.func, "id", "") if isinstance(value, ast.Call) else ""
    return isinstance(value, (ast.Dict, ast.Set, ast.List)) or called in ("dict", "set", "list", "defaultdict")


def _filled(node: ast.AST) -> list[str]:
    """The names that a piece of code puts something into."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return [getattr(node.value, "id", "")] * (not isinstance(node.slice, ast.Constant))  # one key is no table
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return [getattr(node.func.value, "id", "")] * (node.func.attr in ("setdefault", "add", "append", "update"))
    return []


def test_nothing_is_kept_elsewhere():
    faults = {name: kept_elsewhere(text) for name, text in sources().items()}
    assert {name: found for name, found in faults.items() if found and name not in TABLES} == {}
    assert [name for name in TABLES if not faults[name]] == []  # and the list is no longer than it has to be


@pytest.mark.parametrize(
    "source",
    [
        "from functools import lru_cache",
        "from functools import partial, cache",
        "import functools\n@functools.lru_cache(10)\ndef f(x): return x",
        "from collections import OrderedDict",
        "from weakref import WeakKeyDictionary",
        "seen = {}\ndef f(x):\n    seen[x] = 1",
        "seen: dict[int, int] = {}\ndef f(x):\n    return seen.setdefault(x, 1)",
        "seen = {1: 2}\nclass A:\n    def f(self, x):\n        seen.update({x: 1})",
        "met = set()\ndef f(x):\n    met.add(x)",
    ],
)
def test_the_search_can_fail(source):
    assert len(kept_elsewhere(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "from ricci.caches import Cache, cached",
        "from functools import cached_property, partial",
        "TABLE = {1: 2}\ndef f(x):\n    return TABLE[x]",
        "def f(x):\n    seen = {}\n    seen[x] = 1",
        "seen = {}\nseen[1] = 2",
        'state = {"on": False}\ndef f():\n    state["on"] = True',
    ],
)
def test_the_search_lets_pass_what_is_right(source):
    assert kept_elsewhere(source) == []


# The rule


def test_tables_are_bounded_and_keep_what_was_used():
    kept = Cache("a test", 100)
    kept.keep("used", 1)
    for k in range(10_000):
        kept.keep(k, k)
        assert kept["used"] == 1 and kept[k] == k
        assert kept.counts().size <= 100
    assert sorted(k for k in kept.all() if k != "used") == list(range(10_000 - 99, 10_000))
    assert kept.counts() == Counts(0, 10_001, 100, 100)


def test_what_was_used_longest_ago_leaves_first():
    """Against a list in the order of use, on random keys; what is met by plain lookups alone stays while it is used."""
    kept, order, rng = Cache("a test", 8), [], random.Random(0)
    for _ in range(5_000):
        key = rng.randrange(12)
        found = kept[key]
        assert (found is not None) == (key in order)
        if found is None:
            kept.keep(key, key + 100)
        order = [k for k in order if k != key][-7:] + [key]
    assert set(kept.all()) == set(order)


def test_plain_lookups_are_noted_when_it_matters():
    kept = Cache("a test", 8)
    for k in range(1_000):
        if kept.known.get("used") is None and kept["used"] is None:
            kept.keep("used", 1)
        kept.keep(k, k)
    assert kept.counts() == Counts(0, 1_001, 8, 8)  # it was made once


def test_as_many_as_the_bound_stay_known():
    kept = Cache("a test", 64)
    for k in range(64):
        kept.keep(k, k + 1)
    assert [kept[k] for k in range(64)] == list(range(1, 65))
    assert all(kept.known.get(k) == k + 1 for k in range(64))


def test_functions_are_bounded():
    calls = []

    @cached("a test of functions", 100)
    def square(n: int) -> int:
        calls.append(n)
        return n * n

    for k in range(10_000):
        assert square(k) == k * k and square(0) == 0
    assert len(calls) == 10_000 and rc.cache_info()["a test of functions"].size == 100
    rc.cache_clear()
    assert square(0) == 0 and len(calls) == 10_001


class Owner:
    nbytes = 10


def test_memory_is_bounded_by_bytes():
    pool: Pool[list[int]] = Pool("a test of memory", 100, spare=2)
    owners = [Owner() for _ in range(10_000)]
    for k, owner in enumerate(owners):
        assert pool.take(owner) is None
        pool.give(owner, [k])
        assert pool.nbytes <= 100
    assert pool.take(owners[-1]) == [9999] and pool.take(owners[-1]) is None
    assert pool.take(owners[-10]) == [9990] and pool.take(owners[-11]) is None
    for k in range(3):
        pool.give(owners[0], [k])
    assert pool.take(owners[0], lambda piece: piece != [2]) == [1]  # the latest that is free; the first has gone
    assert pool.take(owners[0]) == [2] and pool.take(owners[0]) is None


def test_made_makes_once():
    kept, calls = Cache("a test", 4), []
    for _ in range(3):
        assert kept.made("key", lambda: calls.append(1) or "value") == "value"
    assert len(calls) == 1 and kept.counts()[:2] == (2, 1)
    with pytest.raises(ZeroDivisionError):
        kept.made("other", lambda: 1 / 0)
    assert kept["other"] is None


def test_caches_of_objects_go_with_them():
    caches = [Cache("a test of objects", 10) for _ in range(5)]
    for k, one in enumerate(caches):
        one.keep(k, k)
    assert rc.cache_info()["a test of objects"] == (0, 5, 5, 50)
    del caches[1:], one
    gc.collect()
    assert rc.cache_info()["a test of objects"] == (0, 1, 1, 10)
    rc.cache_clear()
    assert caches[0].all() == {}


def test_copies_begin_empty():
    kept = Cache("a test", 4)
    kept.keep(1, 2)
    for other in (copy.copy(kept), copy.deepcopy(kept), pickle.loads(pickle.dumps(kept))):
        assert (other.name, other.most, other.all()) == ("a test", 4, {})


def test_going_through():
    kept = Cache("a test", 4)
    for key in "abc":
        kept.keep(key, key.upper())
    assert list(kept) == ["a", "b", "c"] and "b" in kept and "d" not in kept


def test_threads():
    """Values are right and the bound holds while eight threads look up, put in and empty."""
    kept, faults, start = Cache("a test", 64), [], threading.Barrier(8)

    def work(seed: int) -> None:
        rng = random.Random(seed)
        start.wait()
        for k in range(20_000):
            key = rng.randrange(200)
            found = kept.known.get(key) or kept.made(key, lambda key=key: -key - 1)
            if found != -key - 1 or kept.counts().size > 64 + 8:  # a count is not taken at one moment
                faults.append((key, found, kept.counts()))
            if seed == 0 and k % 1000 == 0:
                rc.cache_clear()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept.keep(0, -1)  # what is used and what is put in at one moment may be one too many
    assert faults == [] and kept.counts().size <= 64


def test_anything_can_be_registered():
    class Own:
        def __init__(self):
            self.kept = 3

        def clear(self):
            self.kept = 0

        def counts(self):
            return Counts(1, 2, self.kept, 4)

    own = Own()
    enrol("a test of others", own)
    assert rc.cache_info()["a test of others"] == (1, 2, 3, 4)
    rc.cache_clear()
    assert own.kept == 0
