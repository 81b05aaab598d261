"""Matrices that are declared symmetric, antisymmetric, positive or orthogonal: values, derivatives, forms, refusals."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import ricci as rc
from ricci.calculus.modes import MODES
from ricci.expr import structures
from ricci.testing.interpreter import interpret

WORDS = {"S": "symmetric", "T": "symmetric", "F": "antisymmetric", "K": "positive", "Q": "orthogonal"}


def matrix(word: str, n: int, rng: np.random.Generator) -> np.ndarray:
    x = rng.normal(size=(n, n))
    return {"symmetric": x + x.T, "antisymmetric": x - x.T, "positive": x @ x.T + np.eye(n)}.get(
        word, np.linalg.qr(x)[0]
    )


def declared(text: str) -> dict[str, Any]:
    """The keywords for the names in a text."""
    words: dict[str, Any] = {}
    for name, word in WORDS.items():
        if any(f"{name}{sign}" in text for sign in "[)^_,"):
            words[word] = f"{words.get(word, '')} {name}"
    return words


def parsed(text: str) -> rc.Formula:
    return rc.parse(text, **declared(text))


def drawn(rng: np.random.Generator) -> tuple[str, str, list[str], int]:
    """A random product of declared matrices, others and vectors: a text, what it is in einsum, and the operands."""
    sizes = {**dict.fromkeys([*WORDS, "A"], 2), "x": 1, "y": 1}
    names = [str(name) for name in rng.choice([*sizes, "S", "F", "Q"], rng.integers(2, 6))]
    pool = list("ijklm")[: int(rng.integers(2, 6))]
    labels = ["".join(rng.choice(pool, sizes[name])) for name in names]
    used = "".join(labels)
    out = "".join([x for x in dict.fromkeys(used) if used.count(x) == 1 or rng.random() < 0.25])
    text = " ".join([f"{name}[{','.join(own)}]" for name, own in zip(names, labels, strict=True)])
    left = f"y0[{','.join(out)}]" if out else "y0"
    return f"{left} = {text}", f"{','.join(labels)}->{out}", names, int(rng.integers(1, 5))


def values_of(names: list[str], n: int, rng: np.random.Generator, plain: bool = False) -> dict[str, np.ndarray]:
    found = {}
    for name in dict.fromkeys(names):
        word = "" if plain else WORDS.get(name, "")
        found[name] = matrix(word, n, rng) if word else rng.normal(size=(n,) if name in "xy" else (n, n))
    return found


def fault(seed: int, plain: bool = False) -> str:
    """What is wrong with a random product; with ``plain``, its values are not what is declared, which no call sees."""
    rng = np.random.default_rng(seed)
    text, spec, names, n = drawn(rng)
    f, values = parsed(text), values_of(names, n, rng, plain)
    wanted = np.einsum(spec, *[values[name] for name in names])
    ways = {"as written": f.expr, "simplified": f.simplify().expr}
    sizes = {(name, axis): n for name in names for axis in (0, 1)}
    found = {word: interpret([e], values, sizes)[0] for word, e in ways.items()}
    if not plain:
        found |= {"called": f(**values), "compiled": f.compile("numpy")(**values)}
    for word, value in found.items():
        if np.shape(value) != wanted.shape or not np.allclose(value, wanted, atol=1e-8):
            return f"{text} {word}"
    left = {name for name in f.variables if name in WORDS}
    again = rc.parse(str(f), **declared(str(f))) if left == {n for n in WORDS if f"{n}[" in text} else f
    return "" if plain or again == f else f"{text} read again"


@pytest.mark.parametrize("seed", range(60))
def test_random_products_have_the_values_of_einsum(seed: int):
    assert fault(seed) == ""


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(100, 700))
def test_more_random_products(seed: int):
    assert fault(seed) == ""


def test_faults_are_found(monkeypatch: pytest.MonkeyPatch):
    """Values that are not as declared show, and so does a sign that is lost."""
    assert sum(fault(seed, plain=True) != "" for seed in range(60)) > 10
    monkeypatch.setattr(structures, "parity", lambda places: 1)
    assert any(fault(seed) for seed in range(60))


# Derivatives


TEXTS = [
    "f = x[i] S[i,j] x[j] + S[i,i]",
    "f = x[i] S[i,j] S[j,k] y[k]",
    "f = x[i] F[i,j] y[j]",
    "f[i] = sin(x[j]) F[j,i] + F[i,k] S[k,j] x[j]",
    "f = 1/2 logdet(K) + 1/2 x[i] inv(K)[i,j] x[j]",
    "f = exp(S[i,j]) A[i,j]",
    "f = (Q[i,j] x[j] - y[i])**2 1[i] + Q[i,j] A[i,j]",
    "f[i,j] = S[i,k] A[k,j] + 2 S[j,i]",
    "f[i] = solve(K, x)[i]",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("mode", MODES)
def test_derivatives_in_all_modes(text: str, mode: str):
    f, rng = parsed(text), np.random.default_rng(len(text))
    values = values_of(list(f.context.facts.inputs), 3, rng)
    for name in values:
        if WORDS.get(name) == "orthogonal":
            with pytest.raises(rc.RuleError, match="'Q' is declared orthogonal"):
                f.diff(name, mode=mode)
            continue
        first = f.diff(name, mode=mode)
        assert_is_derivative(f, first, name, values)
        assert_is_derivative(first, first.diff(name, mode=mode), name, values)


def assert_is_derivative(f: rc.Formula, found: rc.Formula, name: str, values: dict[str, np.ndarray]) -> None:
    """Central differences along a random direction of the kind that is declared; the derivative is of that kind too."""
    word, rng = WORDS.get(name, ""), np.random.default_rng(1)
    step = 1e-5 * rng.normal(size=values[name].shape)
    sign = {"symmetric": 1, "positive": 1, "antisymmetric": -1}.get(word, 0)
    step = step + sign * step.T if sign else step
    ahead, behind = (np.asarray(f(**{**values, name: values[name] + s * step})) for s in (1, -1))
    value = np.asarray(found(**values))
    np.testing.assert_allclose(np.tensordot(value, step, step.ndim), (ahead - behind) / 2, rtol=1e-4, atol=1e-8)
    if sign:
        np.testing.assert_allclose(value, sign * np.swapaxes(value, -1, -2), atol=1e-10)


def test_a_derivative_does_not_depend_on_how_a_product_was_written():
    one, other = parsed("f = x[i] S[i,j] y[j]"), parsed("f = x[i] S[j,i] y[j]")
    assert one == other and one.diff("S") == other.diff("S")
    assert str(one.diff("S[k,l]")) == "df_dS[k,l] = 1/2 x[l] y[k] + 1/2 x[k] y[l]"
    whole = rc.parse("y[i,j] = S[i,j]", symmetric="S").diff("S[k,l]").derivation()
    assert any(step.rule.startswith("derivative of a tensor by itself, symmetry of S") for step in whole.steps)
    rules = [step.rule for step in parsed("f = x[i] S[i,j] x[j]").diff("x[k]").derivation().steps]
    assert "collected, symmetry of S" in rules


def test_pullbacks_and_pushforwards():
    f = parsed("y[i] = S[i,j] x[j] + F[j,i] x[j]")
    rng = np.random.default_rng(0)
    values = values_of(["S", "F", "x"], 3, rng)
    for name, sign in (("S", 1), ("F", -1)):
        dot, bar = rng.normal(size=(3, 3)), rng.normal(size=3)
        whole = f.diff(name)(**values)
        along = rc.pushforward(f, {name: rc.variable("d[i,j]", dot)})(**values)
        np.testing.assert_allclose(along, np.tensordot(whole, dot, 2))
        np.testing.assert_allclose(along, (dot + sign * dot.T) / 2 @ values["x"] * sign)
        back = rc.pullback(f, name, rc.variable("g[i]", bar))(**values)
        np.testing.assert_allclose(back, np.tensordot(bar, whole, 1))


# Forms


FORMS = [
    ("f = x[i] S[i,j] x[j]", "x[k]", "2 S[k,i] x[i]"),
    ("f = x[i] S[i,j] y[j]", "x[k]", "S[k,j] y[j]"),
    ("y[i,j] = S[i,j] - S[j,i]", "", "0[i,j]"),
    ("y[i,j] = S[i,j] + S[j,i]", "", "2 S[i,j]"),
    ("y[i,j] = inv(S)[i,j] - inv(S)[j,i]", "", "0[i,j]"),
    ("y[i,j] = S[i,k] T[k,l] S[l,j] - S[j,k] T[k,l] S[i,l]", "", "0[i,j]"),
    ("y[i,j] = F[j,i]", "", "-F[i,j]"),
    ("y = F[i,i]", "", "0"),
    ("y[i] = F[i,i]", "", "0[i]"),
    ("y = x[i] F[i,j] x[j]", "", "0"),
    ("y = F[i,j] S[j,i]", "", "0"),
    ("y = F[i,j] F[j,k] F[k,i]", "", "0"),
    ("y = x[i] inv(F)[i,j] x[j]", "", "0"),
    ("y = A[k,i] F[i,j] A[k,j]", "", "0"),
    ("s = F[i,j] (x[i] + y[i]) x[j]", "", "F[j,i] x[i] y[j]"),
    ("y[i,j] = Q[i,k] Q[j,k]", "", "delta[i,j]"),
    ("y[i,j] = Q[k,i] Q[k,j]", "", "delta[i,j]"),
    ("y = Q[i,j] Q[i,j]", "", "|i|"),
    ("y[i,j] = inv(Q)[i,k] A[k,j]", "", "Q[k,i] A[k,j]"),
    ("y[j] = solve(Q, x)[j]", "", "x[j'] Q[j',j]"),
    ("y = logdet(Q) + det(Q)**2 + abs(det(Q))", "", "2"),
    ("f = (Q[i,j] x[j] - y[i])**2 1[i]", "x[k]", "2 x[k] - 2 Q[i,k] y[i]"),
    ("y = abs(det(K)) + sign(det(K))", "", "1 + det(K)"),
    ("y = log(det(K))", "", "logdet(K)"),
    ("y[i,j] = K[k,i] inv(K)[j,k]", "", "delta[i,j]"),
    ("l = 1/2 logdet(K) + 1/2 x[i] inv(K)[i,j] x[j]", "x[k]", "inv(K)[k,i] x[i]"),
]


@pytest.mark.parametrize("text, by, wanted", FORMS)
def test_the_form_of_results(text: str, by: str, wanted: str):
    f = parsed(text).diff(by) if by else parsed(text).simplify()
    assert str(f).rpartition(" = ")[2] == wanted


def test_matrix_notation_has_no_transposes_of_symmetric_matrices():
    assert parsed("f = x[i] S[i,j] x[j]").diff("x").matrix() == "2 S x"
    found = parsed("l = logdet(K) + x[i] inv(K)[i,j] x[j]").diff("K").matrix()
    assert found == "K⁻¹ - K⁻¹ x xᵀ K⁻¹"


# Calls


@pytest.mark.parametrize(
    "word, good, bad, message",
    [
        ("symmetric", [[1.0, 2], [2, 3]], [[1.0, 2], [3, 4]], r"A\[0,1\] is 2.0, and A\[1,0\] is 3.0"),
        ("antisymmetric", [[0.0, 2], [-2, 0]], [[0.0, 2], [-2, 1]], r"A\[1,1\] is 1.0"),
        ("positive", [[2.0, 1], [1, 2]], [[1.0, 2], [2, 1]], "its least eigenvalue is -1"),
        ("positive", [[2.0, 1], [1, 2]], [[2.0, 1], [0, 2]], r"A\[0,1\] is 1.0, and A\[1,0\] is 0.0"),
        ("orthogonal", [[0.0, 1], [-1, 0]], [[0.0, 1], [-2, 0]], r"is off delta\[i,j\] by up to 3"),
    ],
)
def test_calls_look_at_the_values(word: str, good: list, bad: list, message: str):
    torch, jnp = pytest.importorskip("torch"), pytest.importorskip("jax.numpy")
    said: dict[str, Any] = {word: "A"}
    f = rc.parse("y[i] = A[i,j] x[j]", **said)
    x = np.array([1.0, 2.0])
    for function in (f, f.compile("numpy"), f.diff("x").compile("numpy", compressed=True)):
        for _ in range(3):  # also where the call is known
            function(A=np.array(good), x=x)
        with pytest.raises(rc.InputError, match=message):
            function(A=np.array(bad), x=x)
    with pytest.raises(rc.InputError, match=message):
        f.compile("numpy")(np.array(bad), x)
    for make in (torch.tensor, jnp.array, list):
        np.testing.assert_allclose(np.asarray(f(A=make(good), x=make(x))), np.array(good) @ x)
        with pytest.raises(rc.InputError, match=message):
            f(A=make(bad), x=make(x))
    with pytest.raises(rc.InputError, match=message):
        f(A=rc.Tensor(bad), x=x)
    with pytest.raises(rc.InputError, match="which is not square"):
        f(A=np.ones((2, 3)), x=np.ones(3))
    with pytest.raises(rc.InputError, match=message):  # also where it cancels
        rc.parse("y[i] = (A[i,j] - A[i,j]) x[j]", **said)(A=np.array(bad), x=x)


def test_rounding_is_allowed_for_and_what_is_not_finite_says_nothing():
    f = parsed("y[i] = S[i,j] x[j]")
    x = np.random.default_rng(0).normal(size=(5, 5))
    nearly = np.linalg.inv(x @ x.T)
    for dtype in (np.float32, np.float64):
        f(S=(nearly + np.finfo(dtype).eps * x).astype(dtype), x=np.ones(5, dtype))
    with pytest.raises(rc.InputError):
        f(S=nearly + 1e-6 * x, x=np.ones(5))
    assert np.isnan(f(S=np.full((2, 2), np.nan), x=np.ones(2))).all()
    assert f(S=np.zeros((0, 0)), x=np.zeros(0)).shape == (0,)


def test_gradients_taken_by_others_are_those_of_the_derivative():
    """Of what is traced, the values are not there: it counts by its symmetric part."""
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    f = parsed("f = x[i] S[i,j] y[j]")
    rng = np.random.default_rng(0)
    values = {"S": matrix("symmetric", 3, rng), "x": rng.normal(size=3), "y": rng.normal(size=3)}
    fixed = {"x": values["x"], "y": values["y"]}
    wanted = f.diff("S")(**values)
    np.testing.assert_allclose(rc.grad(lambda S: f(S=S, **fixed))(values["S"]), wanted)
    t = rc.Tensor(values["S"])
    f(S=t, **fixed).backward()
    np.testing.assert_allclose(t.grad, wanted)
    on_jax, on_torch = f.compile("jax"), f.compile("torch")
    found = jax.grad(lambda S: on_jax(S=S, **fixed))(values["S"])
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5)
    np.testing.assert_allclose(float(jax.jit(lambda S: on_jax(S=S, **fixed))(values["S"])), f(**values), rtol=1e-5)
    t: Any = torch.tensor(values["S"], requires_grad=True)
    for _ in range(2):
        t.grad = None
        on_torch(S=t, **{name: torch.tensor(value) for name, value in fixed.items()}).backward()
        np.testing.assert_allclose(np.asarray(t.grad), wanted)
    g = parsed("f = x[i] Q[i,j] y[j]")
    with pytest.raises(rc.InputError, match="declared orthogonal"):
        rc.grad(lambda Q: g(Q=Q, **fixed))(np.eye(3))
    with pytest.raises(rc.InputError, match="declared orthogonal"):
        jax.jit(lambda Q: g.compile("jax")(Q=Q, **fixed))(np.eye(3))


# What is said, and where it goes


def test_names_in_a_text_or_a_list():
    text = "f = x[i] S[i,j] T[j,k] x[k]"
    one = rc.parse(text, symmetric="S, T")
    assert one == rc.parse(text, symmetric=["S", "T"]) == rc.parse(text, symmetric=("T", "S"))
    assert one != rc.parse(text, symmetric="S") and one != rc.parse(text)
    assert rc.parse(str(one), symmetric="S T").expr is one.expr
    again = pickle.loads(pickle.dumps(one))
    assert again == one and again.expr is one.expr and hash(again) == hash(one)


def test_both_sizes_are_one():
    f = parsed("y = det(S) + x[i] x[i]")
    assert f(S=np.eye(2), x=np.ones(3)) == 4
    assert parsed("y[j] = S[0,j]").shape and str(parsed("y[i,j] = S[i,j] - S[j,i]")).startswith("sizes: S[i,j]\n")
    with pytest.raises(rc.ShapeError):
        parsed("y[i] = S[i,j] x[j]")(S=np.eye(2), x=np.ones(3))
    with pytest.raises(rc.NotationError):
        rc.parse("y[i,j] = S[i,j]", symmetric="S", sizes={"i": 2, "j": 3})


def test_one_name_is_one_matrix():
    plain, said = rc.parse("f = x[i] S[i,j] x[j]"), parsed("f = x[i] S[i,j] x[j]")
    assert plain != said
    with pytest.raises(rc.InputError, match="'S' is declared symmetric and not declared, in two expressions"):
        str(plain + said)
    with pytest.raises(rc.InputError, match="'S' is declared symmetric and not declared, in two expressions"):
        plain.equivalent(said)


@pytest.mark.parametrize(
    "text, words, message",
    [
        ("f = x[i] A[i,j] x[j]", {"symmetric": "B"}, "the text has no such input; the inputs are x, A"),
        ("f = x[i] A[i,j] x[j]", {"symmetric": "A", "positive": "A"}, "is declared symmetric and positive"),
        ("f = x[i] A[i,j] x[j]", {"symmetric": "A A"}, "is declared symmetric twice"),
        ("f = x[i] A[i,j] x[j]", {"symmetric": "x"}, "'x' is declared symmetric, and has not two indices here"),
        ("f = x[i] T[i,j,k] x[j] x[k]", {"symmetric": "T"}, "has not two indices here"),
        ("A[i,j] = x[i] x[j]; f = A[i,i]", {"symmetric": "A"}, "and the text defines it"),
        ("y^i = A^i_j x^j", {"symmetric": "A"}, "its indices stand at two heights"),
        ("y_{i} = A_{i j} x^j", {"orthogonal": "A"}, "Write its indices in brackets"),
        ("f = x[i] A[i,j] x[j]", {"symmetric": 3}, "rc.parse takes names of tensors"),
        ("f = x[i] A[i,j] x[j]", {"positive": "sin"}, "rc.parse takes names of tensors"),
    ],
)
def test_what_cannot_be_said(text: str, words: dict, message: str):
    with pytest.raises(rc.RicciError, match=message):
        rc.parse(text, **words)


def test_heights():
    f = rc.parse("f = F_{a b} u^a v^b", antisymmetric="F")
    assert str(f.diff("u^c")) == "df_du_{c} = F_{c b} v^b"
    assert rc.parse("f = g_{a b} v^a v^b", symmetric="g").diff("v^c") == rc.parse(
        "y_{c} = 2 g_{c b} v^b", symmetric="g"
    )
    assert rc.parse("a_{i} = S_{ij} b_{j}", symmetric="S") == rc.parse("a[i] = S[j,i] b[j]", symmetric="S")
    moved = rc.parse("s = F^{a b} S_{a b} + v^a v_{a}", metric="g", antisymmetric="F", symmetric="S g")
    assert (
        str(moved.simplify()) == "s = v^a v_{a}" or moved.equivalent(rc.parse("s = v^a v_{a}", metric="g")) is not False
    )


def test_variables_by_themselves():
    S, x = rc.tensors("S[i,j]: symmetric x[j]")
    assert str((x @ S @ x).diff("x")) == "df_dx[j] = 2 S[j,i] x[i]"
    K = rc.variable("K[i,j]: positive", np.eye(2))
    np.testing.assert_allclose((K @ rc.variable("x[j]", np.ones(2)))(), np.ones(2))
    for text, message in [
        ("S[i,j]: symetric", "Did you mean 'symmetric'"),
        ("x[i]: symmetric", "is said of square matrices"),
        ("S^i_j: symmetric", "is said of square matrices"),
        ("eps[i,j]", "is the Levi-Civita symbol"),
    ]:
        with pytest.raises(rc.InputError, match=message):
            rc.variable(text)
    with pytest.raises(rc.InputError, match="its value is not"):
        rc.variable("S[i,j]: symmetric", np.array([[1.0, 2], [3, 4]]))


def test_substitution_keeps_what_is_declared():
    eq = parsed("f = x[i] S[i,j] y[j]").equation
    assert str(eq.substitute(rc.parse("S[i,j] = B[k,i] B[k,j]"))) == "f = x[i] B[k,i] B[k,j] y[j]"
    assert eq.substitute(rc.parse("S[i,j] = B[i,j] + B[j,i]")).right == rc.parse("f = x[i] (B[i,j] + B[j,i]) y[j]")
    with pytest.raises(rc.RuleError, match="'S' is declared symmetric here"):
        eq.substitute(rc.parse("S[i,j] = B[i,j]"))
    skew = parsed("f = x[i] F[i,j] y[j]").equation
    assert skew.substitute(rc.parse("F[i,j] = B[i,j] - B[j,i]")).right == rc.parse("f = x[i] (B[i,j] - B[j,i]) y[j]")
    with pytest.raises(rc.RuleError, match="'F' is declared antisymmetric here"):
        skew.substitute(rc.parse("F[i,j] = B[i,j] + B[j,i]"))


def test_equality_and_equivalence():
    assert parsed("y[i,j] = Q[i,k] Q[k,l] Q[j,l]") == parsed("y[i,j] = Q[i,j]")
    assert parsed("y[i,j] = inv(Q)[i,j]") == parsed("y[i,j] = Q[j,i]")
    assert parsed("y = Q[i,i]") != parsed("y = 1[i] Q[i,j] 1[j]")
    assert parsed("y[i,j] = inv(S)[i,j]") == parsed("y[i,j] = inv(S)[j,i]")
    assert parsed("y[i,j] = S[i,k] T[k,j]") != parsed("y[i,j] = S[j,k] T[k,i]")
    assert parsed("y = det(F)").equivalent(parsed("y = det(F) + F[i,i]")) is True
    assert parsed("s = x[i] F[i,j] y[j]").equivalent(parsed("s = x[i] F[j,i] y[j]")) is False
    assert parsed("y = log(det(K))").equivalent(parsed("y = logdet(K) + K[i,j] K[i,j]")) is False
