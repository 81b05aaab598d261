"""Functions by name in texts: unknown ones against the same texts with the function written in, and the user's own."""

from __future__ import annotations

import copy
import importlib.util
import math
import pickle
import random
import re

import numpy as np
import pytest

import ricci as rc
from ricci.testing.texts import INPUTS, LETTERS, SMOOTH, random_text

MODES = ("auto", "forward", "reverse", "cross-country")
VALUES = {name: getattr(rc, name) for name in SMOOTH}
WORDS = re.compile(rf"\b({'|'.join(SMOOTH)})\(")
X = np.array([0.3, -0.7, 1.1])
Y = rc.parse("y[i] = point(x[i])", functions=["point"])


@rc.custom
def crooked(x):
    """A function whose rule says something else than what it is, so that one sees which was taken."""
    return np.tanh(x)


@crooked.derivative
def _(x):
    return 5 * np.cos(x)


@rc.custom
def runs(x):
    return math.sin(x)  # of numbers alone, and not to be traced


@runs.derivative
def _(x):
    return np.cos(x)


def steep(x):
    return x * np.tanh(x)


def unknown_twin(seed: int) -> tuple[rc.Formula, rc.Formula, dict, dict]:
    """A random formula, the same with unknown functions, what these are, and arrays."""
    text = random_text(random.Random(seed), 2)
    used = sorted(set(WORDS.findall(str(text))))
    sizes = {letter: size for letter, size in LETTERS.items() if re.search(rf"\b{letter}\b", str(text))}
    twin = rc.parse(WORDS.sub(r"my\1(", str(text)), functions=[f"my{name}" for name in used], sizes=sizes)
    known = rc.parse(str(text), sizes=sizes)
    arrays = {name: text.inputs[name] for name in known.context.facts.inputs}
    return known, twin, {f"my{name}": VALUES[name] for name in used}, arrays


def check_twin(seed: int, orders: int) -> int:
    """Derivatives by names and with values are those of the formula with the functions written in; how many were."""
    known, unknown, functions, arrays = unknown_twin(seed)
    rng, count = random.Random(seed), 0
    for _ in range(orders):
        names = [name for name in known.variables if name in INPUTS]
        if not names or not functions:
            break
        by, mode = rng.choice(names), rng.choice(MODES)
        known, unknown = known.diff(by, mode=mode), unknown.diff(by, mode=rng.choice(MODES))
        assert rc.parse(str(unknown), functions=list(functions)) == unknown
        np.testing.assert_allclose(unknown(**arrays, **functions), known(**arrays), rtol=1e-9, atol=1e-12)
        count += bool(functions)
    return count


@pytest.mark.filterwarnings("ignore::ricci.ReadingWarning")
@pytest.mark.parametrize("seed", range(14))
def test_derivatives_are_those_of_the_function_written_in(seed):
    check_twin(seed, 2)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::ricci.ReadingWarning")
@pytest.mark.parametrize("part", range(10))
def test_derivatives_of_more_texts_to_the_third_order(part):
    assert sum(check_twin(seed, 3 if seed % 4 else 2) for seed in range(100 + 20 * part, 120 + 20 * part)) > 20


def test_a_wrong_value_is_seen():
    known, unknown, functions, arrays = next(t for t in map(unknown_twin, range(20)) if len(t[2]) > 1)
    others = dict(zip(functions, [*functions.values()][::-1], strict=True))
    assert not np.allclose(unknown(**arrays, **others), known(**arrays))


# How they are written

LINES = [
    ("y[i] = f(x[i])", "x[j]", "dy_dx[i,j] = delta[i,j] f'(x[i])"),
    ("y[i] = f'(x[i])", "x[j]", "dy_dx[i,j] = delta[i,j] f''(x[i])"),
    ("y = f'''(x)", "x", "dy_dx = f^(4)(x)"),
    ("y = f^(4)(x)", "x", "dy_dx = f^(5)(x)"),
    ("y[i] = f(x[i], z)", "z", "dy_dz[i] = f_2(x[i], z)"),
    ("y = f_2(x, z)", "x", "dy_dx = f_12(x, z)"),
    ("y = f_21(x, z)", "z", "dy_dz = f_122(x, z)"),
    ("y[i,j] = f(x[i], z[j])", "x[k]", "dy_dx[i,j,k] = delta[i,k] f_1(x[i], z[j])"),
    ("s = f(x[i] x[i])", "x", "ds_dx[i] = 2 x[i] f'(x[i'] x[i'])"),
    ("y = f(x, x)", "x", "dy_dx = f_1(x, x) + f_2(x, x)"),
    ("y^i = f(x^i)", "x^k", "dy_dx^i_k = delta^i_k f'(x^i)"),
    ("s = f(A^i_j x^j y_{i})", "x^k", "ds_dx_{k} = A^i_k y_{i} f'(A^i'_j x^j y_{i'})"),
    ("y = f(x) g(x)", "x", "dy_dx = g'(x) f(x) + g(x) f'(x)"),
    ("y = f(g(x))", "x", "dy_dx = g'(x) f'(g(x))"),
    ("l = D(f(x[i]) 1[i], x[j]) v[j]", "v", "dl_dv[j] = f'(x[j])"),
]


@pytest.mark.parametrize(("text", "by", "line"), LINES)
def test_derivatives_have_names(text, by, line):
    derived = rc.parse(text, functions="f g").diff(by)
    assert str(derived) == line
    again = rc.parse(line, functions=["f", "g"])
    assert again.expr is derived.expr and again.indices == derived.indices


def test_the_order_of_differentiation_is_none():
    f = rc.parse("y = f(x, z)", functions="f")
    assert f.diff("x", "z").expr is f.diff("z", "x").expr
    read = [rc.parse(f"y = f_{places}(x, z)", functions="f") for places in ("112", "121", "211")]
    assert read[0].expr is read[1].expr is read[2].expr
    assert rc.parse("y = f_1(x)", functions="f").expr is rc.parse("y = f'(x)", functions="f").expr
    assert rc.parse("y = f''''(x)", functions="f").expr is rc.parse("y = f^(4)(x)", functions="f").expr


def test_functions_of_many_arguments():
    arguments = [f"a{k}" for k in range(11)]
    f = rc.parse(f"y = f({', '.join(arguments)})", functions="f")
    assert str(f.diff("a10", "a0")).startswith("d2y_da10_da0 = f_1_11(")
    assert rc.parse(str(f.diff("a10", "a0")), functions="f") == f.diff("a0", "a10").named(None)
    values = {name: 0.1 * k for k, name in enumerate(arguments)}
    assert f.diff("a10", "a0")(**values, f=lambda *a: a[0] * a[10] ** 2) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("y = f'(x)", r"y = f'\left(x\right)"),
        ("y = f^(4)(x)", r"y = f^{(4)}\left(x\right)"),
        ("y = phi_12(x, z)", r"y = \phi_{12}\left(x, z\right)"),
        ("y[i] = my_f'(x[i])**2", r"y_{i} = \left(\operatorname{my\_f}'\left(x_{i}\right)\right)^{2}"),
    ],
)
def test_in_latex(text, latex):
    assert rc.parse(text, functions="f phi my_f").latex() == latex


def test_in_matrix_notation():
    f = rc.parse("y[i] = f(A[i,j] x[j], z[i])", functions="f").diff("x")
    assert f.matrix() == "diag(f_1.(A x, z)) A"
    assert f.matrix(latex=True) == r"\operatorname{diag}\left({f_{1}}^{\odot}\left(A x, z\right)\right) A"
    assert Y.diff("x").matrix() == "diag(point'.(x))"


def test_derivations_and_graphs():
    derived = Y.diff("x[p]")
    steps = [step.text.split("= ")[-1] for step in derived.derivation()]
    assert steps[0] == "point(x[i])" and steps[-1] == "point'(x[i]) delta[i,p]"
    assert "point'(x[i]) D(x[i], x[p])" in steps and "derivative of point" in str(derived.derivation())
    assert "point'" in derived.graph().dot


# What a call gives


@pytest.mark.parametrize("backend", ["numpy", "torch", "jax"])
def test_on_every_backend(backend):
    pytest.importorskip(backend)
    twin = rc.parse("y[i] = tanh(x[i])")
    for f, known in ((Y, twin), (Y.diff("x", "x"), twin.diff("x", "x"))):
        x = X if backend == "numpy" else pytest.importorskip("torch").tensor(X) if backend == "torch" else X
        for made in (f, f.compile(backend)):
            np.testing.assert_allclose(np.asarray(made(x=x, point=np.tanh)), known(x=X), rtol=1e-5)


def test_functions_of_other_libraries():
    torch, jnp = pytest.importorskip("torch"), pytest.importorskip("jax.numpy")
    for function in (torch.sin, jnp.sin, np.sin, rc.sin, lambda x: np.cos(x - math.pi / 2), rc.parse("y = sin(t)")):
        np.testing.assert_allclose(Y.diff("x")(x=X, point=function), np.diag(np.cos(X)), rtol=1e-6)


def test_a_function_is_read_at_each_call():
    factor = 2.0
    stretched = lambda x: factor * x  # noqa: E731
    np.testing.assert_array_equal(Y(x=X, point=stretched), 2 * X)
    factor = 3.0
    np.testing.assert_array_equal(Y(x=X, point=stretched), 3 * X)


def test_with_functions():
    made = Y.diff("x[j]").with_functions(point=steep)
    assert made == rc.parse("y[i] = x[i] tanh(x[i])").diff("x[j]")
    assert str(made).startswith("dy_dx[i,j] = delta[i,j]") and "point" not in str(made.derivation())
    both = rc.parse("h[i] = f(x[i]); y[i] = g(h[i])", functions="f g").with_functions(f=np.sin)
    assert str(both["h"]) == "h[i] = sin(x[i])"
    assert str(both) == "y[i] = g(sin(x[i]))"
    np.testing.assert_allclose(both(x=X, g=np.cos), np.cos(np.sin(X)))
    assert str(Y) == "y[i] = point(x[i])"


def test_derivatives_that_are_given_by_name():
    np.testing.assert_allclose(Y.diff("x")(x=X, **{"point'": np.cos}), np.diag(np.cos(X)))
    second = Y.diff("x", "x")(x=X, point=np.exp, **{"point'": np.sin})  # the nearest is taken
    np.testing.assert_allclose(second[[0, 1, 2], [0, 1, 2], [0, 1, 2]], np.cos(X))
    fourth = rc.parse("y = f^(4)(x)", functions="f")
    assert fourth(x=0.5, **{"f^(4)": np.exp}) == pytest.approx(math.exp(0.5))
    assert rc.parse("y = f_12(x, z)", functions="f")(x=1.0, z=2.0, f_1=lambda x, z: x * z) == 1.0


def test_rules_of_custom_are_taken():
    np.testing.assert_allclose(Y.diff("x")(x=X, point=crooked), np.diag(5 * np.cos(X)))
    np.testing.assert_allclose(Y(x=X, point=crooked), np.tanh(X))
    np.testing.assert_allclose(Y(x=X, point=runs), np.sin(X))
    np.testing.assert_allclose(Y.diff("x")(x=X, point=runs), np.diag(np.cos(X)))


def test_in_transforms_and_on_tensors():
    loss = rc.parse("l = 1[i] point(x[i])", functions=["point"])
    np.testing.assert_allclose(rc.grad(lambda x: loss(x=x, point=np.sin))(X), np.cos(X))
    np.testing.assert_allclose(rc.hessian(loss)(X, point=np.sin), -np.diag(np.sin(X)), atol=1e-12)
    x = rc.Tensor(X, requires_grad=True)
    loss(x=x, point=np.sin).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos(X))


def test_compiled_together_in_parts_and_of_other_orders():
    y, dy = rc.compile([Y, Y.diff("x")])(x=X, point=np.sin)
    np.testing.assert_allclose(y, np.sin(X))
    np.testing.assert_allclose(np.diag(dy), np.cos(X))
    parts = Y.diff("x").compile(compressed=True)(x=X, point=np.sin)
    np.testing.assert_allclose(np.asarray(parts), dy)
    whole = rc.parse("s = f(sum(x))", functions="f")
    assert whole(x=np.ones((2, 3)), f=np.sqrt) == pytest.approx(math.sqrt(6))


@pytest.mark.parametrize("size", [0, 1])
def test_short_axes(size):
    x = X[:size]
    assert Y(x=x, point=np.sin).shape == (size,)
    np.testing.assert_allclose(Y.diff("x")(x=x, point=np.sin), np.diag(np.cos(x)))


def test_in_the_steps_of_loops():
    text = "h[0,i] = a[i]; h[t+1,i] = {}(W[i,j] h[t,j])"
    unknown = rc.parse(text.format("point"), functions=["point"], sizes={"t": 3})
    known = rc.parse(text.format("tanh"), sizes={"t": 3})
    W = np.array([[0.2, 0.5, -0.1], [0.3, 0.1, 0.7], [-0.4, 0.2, 0.3]])
    assert rc.parse(str(unknown), functions=["point"]) == unknown
    for f, g in ((unknown, known), (unknown.diff("a"), known.diff("a")), (unknown.diff("W"), known.diff("W"))):
        np.testing.assert_allclose(f(a=X, W=W, point=np.tanh), g(a=X, W=W), rtol=1e-12)
        assert f.with_functions(point=np.tanh) == g


@pytest.mark.parametrize("word", ["point", "maximum", "atan2"])
def test_two_sliced_arguments_in_the_steps_of_loops(word):
    f = rc.parse(f"h[0,i] = a[i]; h[t+1,i] = {word}(h[t,i], x[t,i])", functions=["point"])
    arrays = {"a": X, "x": np.array([[0.2, 0.9, -0.3], [0.5, -0.4, 0.8]])}
    given = {"point": np.hypot} if word == "point" else {}
    for name, value in arrays.items():
        derived, step = f.diff(name)(**arrays, **given), 1e-6
        for place in np.ndindex(value.shape):
            ahead, behind = value.copy(), value.copy()
            ahead[place] += step
            behind[place] -= step
            difference = f(**{**arrays, name: ahead}, **given) - f(**{**arrays, name: behind}, **given)
            np.testing.assert_allclose(derived[(..., *place)], difference / (2 * step), atol=1e-7)


# What is equal


def test_equality():
    def read(text):
        return rc.parse(text, functions="f")

    assert read("y[i] = f(x[i] + x[i])") == read("y[i] = f(2 x[i])")
    assert read("y = f(x, z)") != read("y = f(z, x)") and read("y = f(x)") != read("y = f'(x)")
    assert read("y = f(x)") != rc.parse("y = g(x)", functions="g")
    assert read("y = (f(x) + 1)**2") == read("y = f(x)**2 + 2 f(x) + 1")
    assert read("y = f(x)**2 (1 - sin(z)**2)").equivalent(read("y = f(x)**2 cos(z)**2")) is True
    assert read("y = f(x, z)").equivalent(read("y = f(z, x)")) is False
    assert read("y = f''(x)").equivalent(read("y = -f(x)")) is False
    assert read("y = f(x)").equivalent(read("y = f(x) + f'(x)"), at=[{"x": 0.1}]) is False


def test_functions_of_one_name_stay_apart():
    tanh, sine = (rc.parse("y[i] = f(x[i])", functions={"f": f}) for f in (np.tanh, np.sin))
    assert tanh != sine and tanh == rc.parse("y[i] = tanh(x[i])")
    assert tanh == rc.parse("y[i] = f(x[i])", functions={"f": np.tanh})
    for one, other in ((tanh, sine), (tanh, rc.parse("y[i] = f(x[i])", functions="f"))):
        with pytest.raises(rc.InputError, match="The function 'f' is not the same one in two expressions"):
            str(one + other)
    with pytest.raises(rc.InputError, match="'f' has 1 arguments in one expression and 2 in another"):
        str(rc.parse("y = f(x)", functions="f") + rc.parse("y = f(x, z)", functions="f"))
    with pytest.raises(rc.InputError, match="'f' is a function in one expression and a tensor in another"):
        str(rc.parse("y = f(x)", functions="f") + rc.parse("z = f"))


def test_names_of_the_core_are_no_rules():
    """A function may have the name of a kind of node, or of a rule's method."""
    for name in ("Sum", "Product", "of", "opaque", "merge", "Structure"):
        f = rc.parse(f"y[i] = {name}(x[i] + x[i]) + {name}(z)", functions=[name])
        assert f.simplify().diff("x").equivalent(f.diff("x").simplify()) is True
        np.testing.assert_allclose(f(x=X, z=1.0, **{name: np.sin}), np.sin(2 * X) + np.sin(1.0))
        own = rc.parse(f"y[i] = {name}(x[i])", functions={name: np.sin})
        np.testing.assert_allclose(own.simplify().diff("x")(x=X), np.diag(np.cos(X)))


# The user's own

OWN = [(np.tanh, "tanh(x[i])"), (steep, "x[i] tanh(x[i])"), (rc.softplus, "softplus(x[i])"), (np.square, "x[i]**2")]


def spread(x, y):
    return np.cumsum(x) * y.sum()


@pytest.mark.parametrize("by", [("x",), ("x", "x"), ("y",), ("x", "y")])
def test_latex_of_derivatives_of_functions_of_arrays_reads_back(by):
    """A mark and axes are both below the name, so the marked name stands in braces."""
    functions = {"f": spread, "running": np.cumsum}
    f = rc.parse("t[i] = f[j,k](running[k](x[k])[j], y[k])[i]", functions=functions).diff(*by)
    assert rc.parse(f.latex(), functions=functions) == f
    with pytest.raises(rc.NotationError, match=r"Write its arguments: f\(x_i\)"):
        rc.parse(r"t_i = {f'}_{i}", latex=True, functions=functions)


@pytest.mark.parametrize(("function", "written"), OWN)
def test_own_functions(function, written):
    f = rc.parse("y[i] = mine(x[i])", functions={"mine": function})
    g = rc.parse(f"y[i] = {written}")
    assert str(f) == "y[i] = mine(x[i])" and f.latex() == r"y_{i} = \operatorname{mine}\left(x_{i}\right)"
    assert f == g and f.diff("x", "x") == g.diff("x", "x")
    assert rc.parse(str(f.diff("x")), functions={"mine": function}) == f.diff("x")
    for backend in ["numpy", *(one for one in ("torch", "jax") if importlib.util.find_spec(one))]:
        np.testing.assert_allclose(np.asarray(f.compile(backend)(x=X)), g(x=X), rtol=1e-5)


def test_custom_rules_in_texts():
    f = rc.parse("y[i] = crooked(A[i,j] x[j])", functions={"crooked": crooked})
    assert str(f.diff("x")) == "dy_dx[i,j] = 5 A[i,j] cos(A[i,j'] x[j'])"
    assert f == crooked(rc.parse("A[i,j] x[j]")) and str(crooked(rc.parse("A[i,j] x[j]"))) == "crooked(A[i,j] x[j])"
    named = rc.parse("y[i] = s(x[i]) + s(z[i])", functions={"s": crooked})
    assert str(named) == "y[i] = s(x[i]) + s(z[i])" and "crooked" not in str(named.diff("x"))
    np.testing.assert_allclose(
        rc.parse("y[i] = runs(x[i])", functions={"runs": runs}).diff("x")(x=X), np.diag(np.cos(X))
    )


def test_functions_of_several_arguments_align_by_name():
    f = rc.parse("y[i,j] = h(x[i], z[j])", functions={"h": np.hypot})
    assert str(f) == "y[i,j] = h(x[i], z[j])"
    np.testing.assert_allclose(f(x=X, z=X[:2]), np.hypot(X[:, None], X[:2]))
    np.testing.assert_allclose(
        f.diff("z")(x=X, z=X[:2]), rc.parse("y[i,j] = hypot(x[i], z[j])").diff("z")(x=X, z=X[:2])
    )


WHOLE = {"total": lambda x: x.sum() ** 2, "running": np.cumsum, "times": lambda a, b: np.tanh(a @ b)}
WHOLE_TEXTS = [
    ("s = total[i](x[i])", lambda A, x: x.sum() ** 2),
    ("s = total(x) + total[i,j](A[i,j])", lambda A, x: x.sum() ** 2 + A.sum() ** 2),
    ("y[i] = running[j](x[j])[i] x[i]", lambda A, x: np.cumsum(x) * x),
    ("y[i] = running[i](x[i]**2)[i]", lambda A, x: np.cumsum(x**2)),
    ("y[k] = times[i,j](A[i,j], x[j])[k]", lambda A, x: np.tanh(A @ x)),
    ("y[k] = times[j,i](A[i,j], x[i])[k]", lambda A, x: np.tanh(A.T @ x)),
    ("y[k] = times(A, x)[k] + A[k,j] x[j]", lambda A, x: np.tanh(A @ x) + A @ x),
]


@pytest.mark.parametrize(("text", "value"), WHOLE_TEXTS)
def test_functions_of_whole_arrays(text, value):
    A = np.arange(6.0).reshape(3, 2).T / 10 if "times(A" in text or "times[i,j]" in text else np.eye(3) / 2 + 0.1
    f = rc.parse(text, functions=WHOLE)
    for made in (f, f.diff("x"), f.diff("x", f.variables[0])):
        assert rc.parse(str(made), functions=WHOLE) == made
    arrays = {name: {"A": A, "x": X}[name] for name in f.variables}
    np.testing.assert_allclose(f(**arrays), value(A, X))
    derived = np.asarray(f.diff("x")(**arrays))
    step = 1e-6
    columns = [(value(A, X + step * e) - value(A, X - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(derived, np.stack(columns, -1), atol=1e-6)


def test_derivatives_of_functions_of_whole_arrays():
    f = rc.parse("s = total[i](x[i])", functions=WHOLE).diff("x[k]")
    assert str(f) == "sizes: x[k]\nds_dx[k] = total'[i](x[i])[k]"
    mixed = rc.parse("y[k] = times[i,j](A[i,j], x[j])[k]", functions=WHOLE).diff("x", "A")
    assert "times_21[" in str(mixed) and r"{\operatorname{times}_{21}}_{" in mixed.latex()
    with pytest.raises(rc.NotationError, match="Only unknown functions, and those of whole arrays, have derivatives"):
        rc.parse("y[i] = s'(x[i])", functions={"s": np.sin})


def test_travelling():
    for f in (Y, Y.diff("x"), rc.parse("y[i] = mine(x[i])", functions={"mine": steep}).diff("x")):
        given = {"x": X, **({"point": np.sin} if "point" in str(f) else {})}
        for again in (pickle.loads(pickle.dumps(f)), copy.copy(f), copy.deepcopy(f)):
            assert again == f and str(again) == str(f)
            np.testing.assert_array_equal(again(**given), f(**given))
    again = pickle.loads(pickle.dumps(Y.diff("x").compile()))
    np.testing.assert_allclose(again(x=X, point=np.sin), np.diag(np.cos(X)))
    one, other = Y.diff("x"), pickle.loads(pickle.dumps(Y)).diff("x")
    assert one.expr is other.expr


def test_a_constant_is_a_function():
    np.testing.assert_array_equal(Y(x=X, point=lambda x: 3.0), [3.0] * 3)
    np.testing.assert_array_equal(Y.diff("x")(x=X, point=lambda x: 3.0), np.zeros((3, 3)))
    np.testing.assert_array_equal(rc.parse("y[i] = c(x[i])", functions={"c": lambda x: 3.0})(x=X), [3.0] * 3)


# What is refused

REFUSED = [
    ("y[i] = g(x[i])", "There is no function 'g'.", 'rc.parse(text, functions=["g"])'),
    ("y[i] = g'(x[i])", "A tensor has no prime.", 'functions=["g"]'),
    ("y[i] = f (x[i])", "'f' is a function here, and has no arguments.", "Write f(…), without a blank."),
    ("y[i] = f[i]", "'f' is a function here, and has arguments, and no indices.", "f(x[i])"),
    ("f[i] = x[i]", "'f' is a function here", "f(x[i])"),
    ("y = f", "'f' is a function here, and has no arguments.", "f(x[i])"),
    ("y = f()", "The function 'f' has no argument.", ""),
    ("y = f(x) + f(x, z)", "f has 1 argument above, and 2 here.", "another name"),
    ("y = f'(x, z)", "'f' has 2 arguments here, and primes do not tell by which of them.", "f_12(…)"),
    ("y = f_3(x, z)", "'f' has 2 arguments here, and there is no argument 3.", "f_1(…)"),
    ("y[i] = f[i](x[i])", "'f' is a function here, and has arguments, and no indices.", "f(x[i])"),
    ("y[i] = f(x[i])[i]", "f is unknown: it works entry by entry, and takes no axes.", "functions={'f': …}"),
    ("y = f^(100000)(x)", "a derivative has an order of at most 100", "f'(…)"),
    ("y = D(f, x)", "'f' is a function here, and has no arguments.", "f(x[i])"),
    ("y^i = f(x^i, v_{i})", "Index 'i' stands above and below in the parts of this.", ""),
]


@pytest.mark.parametrize(("text", "message", "hint"), REFUSED)
def test_texts_that_are_refused(text, message, hint):
    with pytest.raises(rc.NotationError) as error:
        rc.parse(text, functions=["f"])
    assert message in str(error.value) and hint in str(error.value)
    assert "^" in str(error.value)


REFUSED_OWN = [
    ("y[i] = own(x[i])", np.cumsum, "own does not work entry by entry"),
    ("y[i] = own(x[i])", lambda x: x - x.mean(), "own does not work entry by entry"),
    ("y = own(x, z)", np.tanh, "own does not take 2 arguments: it takes 1."),
    ("y = own(x)", lambda x, z: x, "own does not take 1 argument: missing a required argument: 'z'."),
    ("y = own(2 x)", math.sin, "own cannot be traced for numbers"),
    ("y = own(x)", math.sin, "own cannot be traced"),
    ("y[i] = own[i](x[i])", np.cumsum, "The result of own has 1 axes, and 0 indices stand after it."),
    ("y[b,i] = own[j](x[b,j])[i]", np.cumsum, "own is of whole arrays here, and 'b' is not among its axes."),
    ("y[i] = own[k](x[j])[i]", np.cumsum, "Index 'j' occurs once in its term"),
    ("y[i] = own[j,k](x[j])[i]", np.cumsum, "Index 'k' does not occur inside own[j,k](…)."),
]


@pytest.mark.parametrize(("text", "function", "message"), REFUSED_OWN)
def test_own_functions_that_are_refused(text, function, message):
    with pytest.raises(rc.NotationError, match=re.escape(message)):
        rc.parse(text, functions={"own": function})


CALLS = [
    ({}, "The call lacks the function point; add point=np.sin"),
    ({"point": 3.0}, "'point' is a function in this formula; give one, point=np.sin, not 3.0."),
    (
        {"pont": np.sin},
        "The formula has no unknown function 'pont'. The unknown functions are point. Did you mean 'point'?",
    ),
    ({"point": np.cumsum}, "point works entry by entry, and what is given for it makes arrays of numbers."),
    ({"point": lambda x: x - x.mean()}, "point does not work entry by entry"),
    ({"point": np.add}, "point does not take 1 argument: it takes 2."),
    ({"point": lambda x: x if x > 0 else -x}, "what is given for it cannot be traced for numbers"),
    ({"point": math.sin}, "Give code that only runs a rule for its derivative, with rc.custom."),
    ({"point": lambda x: x * WEIGHTS}, "point uses an array that is none of its arguments"),
    ({"point": np.sin, "point_2": np.cos}, "'point_2' is no derivative of point, which has 1 argument"),
]
WEIGHTS = np.ones(3)


@pytest.mark.parametrize(("given", "message"), CALLS)
def test_calls_that_are_refused(given, message):
    for f in (Y, Y.compile(), Y.diff("x")):
        with pytest.raises(rc.InputError, match=re.escape(message)):
            f(x=X, **given)
    with pytest.raises(rc.InputError):
        rc.parse("y[i] = s(x[i])", functions={"s": np.tanh})(x=X, s=np.sin)


def test_every_road_asks_for_the_function():
    loss = rc.parse("l = f(x)", functions="f")
    for road in (
        lambda: rc.trace_table(loss, x=1.0),
        lambda: rc.grad(lambda x: loss(x=x))(1.0),
        lambda: rc.check_grads(loss, 1.0),
        lambda: loss.compile().plan,
        lambda: rc.grad(loss)(1.0),
    ):
        with pytest.raises(rc.RicciError, match="The call lacks the function f"):
            road()


def test_a_custom_function_without_a_rule_is_refused():
    bare = rc.custom(lambda x: x * x)
    with pytest.raises(rc.RuleError, match="has no rule yet"):
        rc.parse("y[i] = sq(x[i])", functions={"sq": bare})
    bare.derivative(lambda x: 2 * x)
    assert rc.parse("y = sq(x)", functions={"sq": bare}).diff("x")(x=3.0) == 6
