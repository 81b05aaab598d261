"""The Levi-Civita symbol and the generalised delta: values beside einsum with explicit arrays, forms, and refusals."""

from __future__ import annotations

import pickle
from itertools import permutations

import numpy as np
import pytest

import ricci as rc
from ricci.calculus.modes import MODES
from ricci.expr import alternating, levi_civita, product, topological
from ricci.expr.build import known_pairs
from ricci.testing.interpreter import interpret

LETTERS = "ijklmnpq"


def symbol(order: int) -> np.ndarray:
    """An array of its own: signs as determinants of permutation matrices."""
    array = np.zeros((order,) * order)
    for places in permutations(range(order)):
        array[places] = round(np.linalg.det(np.eye(order)[list(places)]))
    return array


def drawn(rng: np.random.Generator, order: int) -> tuple[str, str, dict[str, np.ndarray]]:
    """A random product of one or two symbols, vectors and matrices: a text, what it is in einsum, and values."""
    values = {"u": rng.normal(size=order), "v": rng.normal(size=order), "M": rng.normal(size=(order, order))}
    names = ["eps"] * int(rng.integers(1, 3)) + [str(name) for name in rng.choice(["u", "v", "M"], rng.integers(1, 4))]
    sizes = {"eps": order, "u": 1, "v": 1, "M": 2}
    pool = LETTERS[: int(rng.integers(order, order + 3))]
    labels = []
    for name in names:
        own = list(rng.permutation(list(pool))[: sizes[name]]) if rng.random() < 0.9 or name != "M" else [pool[0]] * 2
        labels.append("".join(own))
    used = "".join(labels)
    out = "".join([x for x in dict.fromkeys(used) if used.count(x) == 1 or rng.random() < 0.25])
    text = " ".join([f"{name}[{','.join(own)}]" for name, own in zip(names, labels, strict=True)])
    left = f"y[{','.join(out)}]" if out else "y"
    given = {name: value for name, value in values.items() if name in names}
    return f"{left} = {text}", f"{','.join(labels)}->{out}", given


def expected(spec: str, text: str, values: dict[str, np.ndarray], order: int) -> np.ndarray:
    names = [word.partition("[")[0] for word in text.partition("= ")[2].split(" ")]
    return np.einsum(spec, *[symbol(order) if name == "eps" else values[name] for name in names])


def fault(seed: int, order: int) -> str:
    """What is wrong with the values of a random product, as written, simplified and by the plain interpreter."""
    text, spec, values = drawn(np.random.default_rng(seed), order)
    f = rc.parse(text)
    wanted = expected(spec, text, values, order)
    stable = f.simplify()
    found = {"as written": f(**values), "simplified": stable(**values), "compiled": f.compile("numpy")(**values)}
    found["interpreted"] = interpret([f.expr], values, {})[0]
    for word, value in found.items():
        if np.shape(value) != wanted.shape or not np.allclose(value, wanted, atol=1e-9):
            return f"{text} {word}"
    return "" if rc.parse(str(f)) == f and rc.parse(str(stable)) == stable else f"{text} read again"


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("seed", range(25))
def test_random_products_have_the_values_of_einsum(order: int, seed: int):
    assert fault(seed, order) == ""


@pytest.mark.thorough
@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("seed", range(100, 400))
def test_more_random_products(order: int, seed: int):
    assert fault(seed, order) == ""


def test_faults_are_found(monkeypatch: pytest.MonkeyPatch):
    """A wrong sign in the contraction of two symbols shows in the values above; so does one of an exchange."""
    right = known_pairs.contracted
    monkeypatch.setattr(known_pairs, "contracted", lambda *args: (-right(*args)[0], right(*args)[1]))
    assert any(fault(seed, 3) for seed in range(25))
    monkeypatch.undo()
    from ricci.expr.build import canonical

    monkeypatch.setattr(canonical, "parity", lambda order: abs(alternating.parity(order)))
    assert any(fault(seed, 3) for seed in range(25))


# Derivatives


TEXTS = [
    "a[i] = eps[i,j,k] u[j] v[k]",
    "a[i] = eps[i,j,k] u[j] eps[k,l,m] v[l] u[m]",
    "a[i] = eps[i,j,k] sin(u[j]) M[k,l] u[l]",
    "a = eps[i,j,k] M[i,0] M[j,1] M[k,2]",
    "a = 1/6 eps[i,j,k] eps[l,m,n] M[i,l] M[j,m] M[k,n]",
    "a[k] = eps[i,j,k,l] u[i] v[j] M[k,l]",
    "a = (eps[i,j] u[i] v[j])**2",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("mode", MODES)
def test_derivatives_in_all_modes(text: str, mode: str):
    f = rc.parse(text)
    order = 1 + text[text.index("eps") :].partition("]")[0].count(",")
    rng = np.random.default_rng(len(text))
    values = {name: rng.normal(size=(order,) * f.context.facts.inputs[name]) for name in f.context.facts.inputs}
    for name in values:
        first = f.diff(name, mode=mode)
        assert_is_derivative(f, first, name, values)
        assert_is_derivative(first, first.diff(name, mode=mode), name, values)


def assert_is_derivative(f: rc.Formula, found: rc.Formula, name: str, values: dict[str, np.ndarray]) -> None:
    """Central differences along one random direction."""
    step = 1e-5 * np.random.default_rng(1).normal(size=values[name].shape)
    ahead, behind = (np.asarray(f(**{**values, name: values[name] + s * step})) for s in (1, -1))
    got = np.tensordot(np.asarray(found(**values)), step, step.ndim)
    np.testing.assert_allclose(got, (ahead - behind) / 2, rtol=1e-5, atol=1e-9)


# Forms


FORMS = [
    ("y[j,k,l,m] = eps[i,j,k] eps[i,l,m]", "delta[j,l] delta[k,m] - delta[j,m] delta[k,l]"),
    ("y[k,l] = eps[i,j,k] eps[i,j,l]", "2 delta[k,l]"),
    ("y = eps[i,j,k] eps[i,j,k]", "6"),
    ("y = eps[i,j] eps[i,j]", "2"),
    ("y = eps[i,j,k,l] eps[i,j,k,l]", "24"),
    ("y[l,m] = eps[i,j,k,l] eps[i,j,k,m]", "6 delta[l,m]"),
    ("y[i,k] = eps[i,j] eps[j,k]", "-delta[i,k]"),
    ("y[i] = eps[i,j,k] delta[j,k]", "0[i]"),
    ("y[i] = eps[i,j,k] b[j] b[k]", "0[i]"),
    ("y[i] = eps[i,j,k] A[j,l] A[k,l]", "0[i]"),
    ("y[i] = eps[i,j,k] (A[j,k] + A[k,j])", "0[i]"),
    ("y = eps[i,j,k] a[i] b[j] a[k]", "0"),
    ("y[i,j] = eps[i,j,k] b[k] + eps[j,i,k] b[k]", "0[i,j]"),
    ("a[i] = eps[j,k,i] b[j] c[k]", "eps[i,j,k] b[j] c[k]"),
    ("a[i] = -eps[i,k,j] b[j] c[k]", "eps[i,j,k] b[j] c[k]"),
    ("a[i] = eps[i,j,k] b[j] eps[k,l,m] c[l] d[m]", "b[m] d[m] c[i] - b[j] c[j] d[i]"),
    ("n[k] = eps[k,l,m] b[l] c[m]; y = b[k] n[k]", "0"),
    ("n[k] = eps[k,l,m] b[l] c[m]; a[i] = eps[i,j,k] b[j] n[k]", "b[l] c[l] b[i] - b[l] b[l] c[i]"),
    ("y[i] = eps[i,j,k] b[j] (b[k] + c[k])", "eps[i,j,k] b[j] c[k]"),
    ("y[k,l] = delta[i,j;k,l] b[i] c[j]", "b[k] c[l] - b[l] c[k]"),
    ("y[j] = eps[i,j,0] b[i]", "eps[j,0,i] b[i]"),
]


@pytest.mark.parametrize("text, wanted", FORMS)
def test_the_simplified_form(text: str, wanted: str):
    assert str(rc.parse(text).simplify()).rpartition(" = ")[2] == wanted


# What a text says


def test_the_symbol_fixes_sizes():
    f = rc.parse("a[i] = eps[i,j,k] b[j] c[k]")
    assert f.shape == (3,) and str(f) == "a[i] = eps[i,j,k] b[j] c[k]"
    assert f.latex() == r"a_{i} = \varepsilon_{ijk} b_{j} c_{k}"
    b, c = np.random.default_rng(0).normal(size=(2, 3))
    np.testing.assert_allclose(f(b=b, c=c), np.cross(b, c))
    with pytest.raises(rc.ShapeError, match=r"index 'j'.* has size 3"):
        f(b=b[:2], c=c)
    for text, sizes in [
        ("a[i] = eps[i,j,k] b[j] c[k]", {"i": 4}),
        ("a[i] = eps[i,j] eps[j,k,l] b[k] c[l]", {}),
        ("sizes: |m| = 2\ny[i,j,m] = eps[i,j,k] delta[k,m]", {}),
    ]:
        with pytest.raises(rc.NotationError, match="An index of eps has as many values as eps has indices"):
            rc.parse(text, sizes=sizes)


def test_a_number_eps_stays_a_name():
    v = np.array([1.0, 2.0])
    assert rc.parse("y[b] = sqrt(v[b] + eps)")(v=v, eps=0.5).tolist() == np.sqrt(v + 0.5).tolist()
    assert rc.parse("y[b] = v[b] eps[b]").variables == ("v", "eps")
    own = rc.parse("eps[i,j] = A[i,j] + A[j,i]; y[i] = eps[i,j] v[j]")
    np.testing.assert_allclose(own(A=np.eye(2), v=v), 2 * v)


@pytest.mark.parametrize(
    "text, message",
    [
        ("y[i] = eps[i,j,k] b[j] c[k] + eps", "stands for a number here, and for the Levi-Civita symbol elsewhere"),
        ("y[i] = eps[i,j,k] b[j] c[k] / sqrt(v + eps)", "Give the number another name, such as eps_0"),
        ("y = D(eps[i,j] b[i] c[j], eps[k,l])", "The Levi-Civita symbol is constant"),
        ("y[i] = eps[i,j,3] b[j]", "This is no index of a symbol with 3 indices"),
        ("y[i] = eps[i,j+1,k] b[j] c[k]", "This is no index of a symbol with 3 indices"),
        ("y[i] = eps[i,t[i],k] c[k]", "This is no index of a symbol with 3 indices"),
        ("y[a,b,c,d,e,f,g,h,i] = eps[a,b,c,d,e,f,g,h,i]", "has up to 8 indices, and here it has 9"),
        ("y[i] = eps[i,j,k] b[j]", "Index 'k' occurs once"),
        ("y[i,j,k] = delta[i,j;k]", "as many in both"),
        ("y[i,j] = delta[i;j;i]", "as many in both"),
        ("y^{i j}_k = delta^{i j}_k", "as many in both"),
        ("y[i] = x[i;j]", "is not closed before ';'"),
    ],
)
def test_refusals(text: str, message: str):
    with pytest.raises(rc.NotationError, match=message):
        rc.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "a^i = eps^{i j k} b_{j} c_{k}",
        "a_{i} = eps_{i j k} b^j c^k",
        "s = eps_{i j k} a^i b^j c^k",
        "y^{i j}_{k l} = delta^{i j}_{k l}",
        "y_{k l} = delta^{i j}_{k l} b_{i} c_{j}",
        "F^{m n} = eps^{m n a b} G_{a b}",
    ],
)
def test_heights(text: str):
    f = rc.parse(text)
    assert f.standing == tuple(["up" if "^" in text.partition(" ")[0] else "down"] * f.order) or f.order != 2
    assert rc.parse(str(f)) == f and rc.parse(str(f)).heights == f.heights


def test_subscripts_are_cartesian():
    assert rc.parse("a_{i} = eps_{ijk} b_{j} c_{k}") == rc.parse("a[i] = eps[i,j,k] b[j] c[k]")
    with pytest.raises(rc.NotationError, match="once above and once below"):
        rc.parse("a_{i} = eps_{i j k} b_{j} c^k")


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_the_generalised_delta_is_a_determinant(order: int):
    first, second = "ijkl"[:order], "mnpq"[:order]
    f = rc.parse(f"y[{','.join(first + second)}] = delta[{','.join(first)};{','.join(second)}]", sizes={"i": 3})
    f = rc.parse(str(f), sizes=dict.fromkeys(first, 3))
    value = f()
    assert value.shape == (3,) * (2 * order)
    for place in np.random.default_rng(order).integers(0, 3, (40, 2 * order)):
        deltas = np.equal.outer(place[:order], place[order:]).astype(float)
        assert value[tuple(place)] == round(np.linalg.det(deltas))


def test_the_two_symbols_are_a_generalised_delta():
    assert rc.parse("y[j,k,l,m] = eps[i,j,k] eps[i,l,m]") == rc.parse(
        "y[j,k,l,m] = delta[j,k;l,m]", sizes=dict.fromkeys("jklm", 3)
    )
    assert str(rc.parse("y = delta[i,j;i,j] + 0*x[i] x[i]")).endswith("y = |i|**2 - |i|")


# Where it goes


def test_every_backend_and_type():
    f = rc.parse("a[i] = eps[i,j,k] b[j] c[k]")
    b, c = np.random.default_rng(0).normal(size=(2, 3))
    jnp, torch = pytest.importorskip("jax.numpy"), pytest.importorskip("torch")
    for make in (np.asarray, jnp.asarray, torch.tensor):
        for dtype in (np.float32, np.float64):
            given = {"b": make(b.astype(dtype)), "c": make(c.astype(dtype))}
            for function in (f, f.compile()):
                value = function(**given)
                assert value.dtype == given["b"].dtype
                np.testing.assert_allclose(np.asarray(value), np.cross(b, c), rtol=1e-5)


def test_results_in_parts_and_gradients_of_programs():
    f = rc.parse("a[b,i] = eps[i,j,k] x[b,j] w[k]")
    x, w = np.random.default_rng(0).normal(size=(2, 4, 3))
    parts = f.diff("x").compile("numpy", compressed=True)(x=x, w=w[0])
    np.testing.assert_allclose(np.asarray(parts), f.diff("x")(x=x, w=w[0]))
    gradient = rc.grad(lambda w: (f(x=x, w=w) ** 2).sum())(w[0])
    wanted = rc.parse("l = 1[b,i] (eps[i,j,k] x[b,j] w[k])**2").diff("w")(x=x, w=w[0])
    np.testing.assert_allclose(gradient, wanted)


def test_it_travels_and_is_told_apart():
    f = rc.parse("a[i] = eps[i,j,k] b[j] c[k]")
    again = pickle.loads(pickle.dumps(f))
    assert again == f and again.expr is f.expr and hash(again) == hash(f)
    assert f == rc.parse("a[i] = -eps[i,j,k] b[k] c[j]") and f != rc.parse("a[i] = eps[i,j,k] b[k] c[j]")
    assert levi_civita(3) is levi_civita(3) and levi_civita(3) is not levi_civita(4)
    assert f.equivalent(rc.parse("a[i] = eps[i,j,k] b[k] c[j]")) is False


def test_products_with_symbols_are_found_zero_without_values():
    e = product([(levi_civita(3), "ijk"), (levi_civita(3), "ijl"), (levi_civita(3), "klm")], "m")
    assert [node.shape for node in topological(e)] == [(3,)]


def test_equations_are_written_out():
    system = rc.parse("a[i] = eps[i,j,k] b[j] c[k]").equation.expand(i=3, j=3, k=3)
    assert str(system[0]) == "a[0] = b[1] c[2] - b[2] c[1]"
    with pytest.raises(rc.RuleError, match="Index 'j' has size 3"):
        rc.parse("a[i] = eps[i,j,k] b[j] c[k]").equation.expand(j=2)
