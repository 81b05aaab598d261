"""What code to keep looks like, what it takes, and what is refused."""

from __future__ import annotations

import re
import subprocess
import sys
import tracemalloc
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ricci as rc
from ricci.errors import RuleError
from ricci.standalone.pieces import FreeNames
from ricci.standalone.tidying import tidied
from ricci.testing.identities import identities

LOSS = rc.parse("l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))")
INPUTS = {"y": np.array([1.0, -1.0]), "X": np.array([[1.0, 2.0, 3.0], [0.5, 0.0, 1.0]]), "w": np.ones(3) / 3}
LAYER = """m[b] = 1/|h| 1[h] x[b,h]; v[b] = 1/|h| 1[h] (x[b,h] - 1[h] m[b])**2
           y[b,h] = (x[b,h] - 1[h] m[b]) / sqrt(v[b] + eps) g[h] + 1[b] beta[h]"""
LANGUAGES = ("numpy", "torch", "jax", "julia", "latex")

# How it reads


def test_einsums_have_the_letters_of_the_text():
    assert '"mn,n->m"' in LOSS.code()
    assert '"nm,mp->np"' in LOSS.diff("w", "w").code()
    assert '"bhid,bhjd->bhij"' in rc.parse("s[b,h,i,j] = q[b,h,i,d] k[b,h,j,d]").code("torch")
    assert '"αβ' not in rc.parse("y[α] = A[α,β] x[β]").code() and '"ab,b->a"' in rc.parse("y[α] = A[α,β] x[β]").code()


def test_parts_are_named_as_in_the_text():
    text = rc.parse(LAYER).code("numpy", name="layer")
    assert "  # v[b]" in text and re.search(r"^    v = ", text, re.MULTILINE)
    assert text.startswith("import numpy as np\n\n\ndef layer(x, eps, g, beta):\n")


def test_arguments_are_in_the_order_of_the_text_and_names_never_clash():
    f = rc.parse("np[i] = torch[i,n] np2[n] + lambda1[i] 1[n] t1[n] + |n| math[i]")
    text = f.code(name="f")
    assert text.index("def f(torch_, np2, lambda1, t1, math_)")
    values = {"torch": np.ones((2, 3)), "np2": np.ones(3), "lambda1": np.ones(2), "t1": np.ones(3), "math": np.ones(2)}
    np.testing.assert_allclose(text(*values.values()), f(**values))


@pytest.mark.parametrize("name", ["class", "np", "sum", "x", "l"])
def test_whatever_it_is_called_it_can_be(name):
    code = rc.parse("l = x[i] A[i,j] x[j]").code(name=name)
    assert f"def {code.name}(" in code and code.name.rstrip("_") == name and code(np.ones(2), np.ones((2, 2))) == 4


def test_types_of_choices_between_numbers_follow_the_arguments():
    step = rc.parse("y[i] = where(a[i] > b[i], exp(a[i]), b[i]**2)").diff("b").code()
    assert step(np.ones(3, np.float32), np.ones(3, np.float32)).dtype == np.float32
    soft = rc.parse("p[i] = softmax[i](x[i])").code()
    np.testing.assert_allclose(soft(np.arange(3)), soft(np.arange(3.0)))
    assert soft(np.zeros(0)).shape == (0,)


def test_a_function_may_have_the_name_of_an_input():
    f = rc.parse("x = x1 + 1")
    assert f.code(name="x1").startswith("def x1(x1_):")


@pytest.mark.parametrize("backend", LANGUAGES)
def test_the_same_text_in_every_process(backend):
    program = f"import ricci as rc; print(rc.parse({LAYER!r}).diff('x').code({backend!r}), end='')"
    env = {"PYTHONPATH": str(Path(rc.__file__).parent.parent), "PYTHONHASHSEED": "7"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env, check=True)
    assert done.stdout == rc.parse(LAYER).diff("x").code(backend)


def test_no_array_library_is_needed_to_write_code():
    program = f"""
import sys, ricci as rc
for backend in {LANGUAGES!r}:
    rc.parse({LAYER!r}).diff("x").code(backend)
    rc.parse("l = 1/2 logdet(S) + 1/2 r[i] inv(S)[i,j] r[j]").diff("S").code(backend)
rc.parse("y[i] = A[i,j] x[j]").code("c", sizes={{"i": 2, "j": 3}})
print(*[name for name in ("numpy", "scipy", "torch", "jax") if name in sys.modules])"""
    env = {"PYTHONPATH": str(Path(rc.__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env, check=True)
    assert done.stdout == "\n"


def programs(step=1):
    """Codes of formulas, of derivatives and of what is long, in the libraries of Python."""
    formulas = [row.derivative(order=order) for row in identities()[::step] for order in (0, None)]
    attention = rc.parse("p[i,j] = softmax[j](q[i,d] k[j,d] / sqrt(|d|)); o[i,e] = p[i,j] v[j,e]")
    names = rc.parse("l = " + " + ".join([f"{c}{c}{c}[i] {c}{c}[i]" for c in "abcdfgxyz"]))
    formulas += [LOSS.diff("w", "w"), attention.diff("q", "k"), rc.parse(LAYER).diff("x"), names, names.diff("xx")]
    several = ["l = det(A) + logdet(S)", "y[i,j] = x[i] 1[j]", "y[i,j] = cumsum[j](x[i,j]**2)", "y = 1e300 x + 2**70 x"]
    several.append("c[n,o,i,j] = x[n,c,2*i+k,2*j+l] w[o,c,k,l]; y = 1[n,o,i,j] relu(c[n,o,i,j])")
    parts = [(f, f.diff(next(iter(f.context.facts.inputs)))) for f in map(rc.parse, several)]
    parts += [(f,) for f in formulas]
    return [str(rc.code(list(some), b, name="f")) for some in parts for b in ("numpy", "torch", "jax")]


@pytest.mark.skipif(find_spec("ruff") is None, reason="ruff is not installed")
@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.thorough)])
def test_formatters_leave_it_as_it_is_and_nothing_is_unused(step, tmp_path):
    for number, text in enumerate(programs(step)):
        (tmp_path / f"code{number}.py").write_text(text, encoding="utf-8")
    found = [ruff("format", "--check", tmp_path), ruff("check", "--select", "E,F,W,I,B", "--ignore", "E741", tmp_path)]
    assert [done.stdout for done in found if done.returncode] == []
    (tmp_path / "wrong.py").write_text("def f(x):\n    i = 1\n    return  x\n", encoding="utf-8")
    assert ruff("format", "--check", tmp_path).returncode == ruff("check", tmp_path).returncode == 1


def ruff(*arguments):
    command = [sys.executable, "-m", "ruff", *arguments, "--isolated", "--no-cache"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_what_is_taken_out_of_a_long_line_keeps_its_meaning():
    """Signs and comparisons bind as they did."""
    rng, numbers = np.random.default_rng(0), FreeNames()
    names = {f"{c}{'_long' * 3}": rng.normal(size=(3, 3)) for c in "abc"}
    for text in (
        "-np.cos(A) * np.sin(B) + np.exp(C) / np.cosh(A) - np.sin(A)",
        "-2 * np.cos(A) + 2 * np.sin(B) == np.round(np.exp(C) + A)[:, None]",
        "np.sum(np.cos(A) - np.exp(B) * C, axis=0, keepdims=True)",
        "(np.cos(A) - np.exp(B)).transpose(1, 0) / np.cosh(C)[:, None]",
        "-(np.cos(A) - np.exp(B) + 3 * (A - np.sin(C - B) * A))",
    ):
        line = "x = " + text.replace("A", "a_long_long_long").replace("B", "b_long_long_long")
        lines = tidied([line.replace("C", "c_long_long_long")], lambda: numbers.numbered("t"), set)
        found = {"np": np, **names}
        exec("\n".join(lines), found)
        wanted = eval(text, {"np": np, **dict(zip("ABC", names.values(), strict=True))})
        assert len(lines) > 1 and max(map(len, lines)) <= 88 and np.array_equal(found["x"], wanted)


def test_an_identity_times_a_block_makes_nothing_else_of_its_size():
    loss = rc.parse("l = 1[i,j] (A[i,j] - U[i,k] V[j,k])**2").diff("U", "U")
    text = loss.code()
    assert "where" not in text and "zeros((i, i, k, k)" in text
    inputs = {"U": np.ones((40, 6)), "V": np.arange(24.0).reshape(4, 6)}
    np.testing.assert_allclose(text(**inputs), loss(A=np.ones((40, 4)), **inputs))
    tracemalloc.start()
    text(**inputs)
    assert tracemalloc.get_traced_memory()[1] < 1.2 * 8 * (40 * 6) ** 2
    tracemalloc.stop()


# What it takes and gives


def test_several_results_in_a_long_line():
    f = rc.parse("y[i,j] = x[i] 1[j]")
    value, slope = f.code(with_gradient="x")(np.ones(2), j=3)
    assert value.shape == (2, 3) and slope.shape == (2, 3, 2)


def test_numbers_alone_are_floating_ones():
    assert repr(rc.parse("y = 3").code()()) == "3.0" and "return 3.0" in rc.parse("y = 3").code("julia")
    count = rc.parse("l = |i| + 0 1[i] x[i]", sizes={"i": 4})
    assert repr(rc.parse("l = |i| x").code()(2.0, i=3)) == "6.0" and repr(count.code()()) == "4.0"
    assert "1.2345678901234567e19 * x" in rc.parse("y = 12345678901234567890 x").code("torch")


def test_an_order_that_the_text_does_not_say_is_checked():
    code = rc.parse("l = norm(A) + mean(b)").code()
    assert code(np.array([3.0, 4.0]), np.ones(3)) == 6
    with pytest.raises(ValueError, match="A must have 1 axis"):
        code(np.ones((2, 2)), np.ones(3))


def test_factors_that_are_no_finite_numbers():
    f = rc.parse("y = 1e308*1e308*x - z")
    assert f.code("numpy")(x=2.0, z=1.0) == np.inf and f.code("numpy")(x=-2.0, z=1.0) == -np.inf
    assert "Inf * x - z" in f.code("julia") and "INFINITY * x - z" in f.code("c")


def test_value_and_gradient():
    value, gradient = LOSS.code("numpy", with_gradient="w")(**INPUTS)
    np.testing.assert_allclose(value, LOSS(**INPUTS))
    np.testing.assert_allclose(gradient, LOSS.diff("w")(**INPUTS))
    text = LOSS.code("numpy", with_gradient=["w", "X"])
    assert text.count('"mn,n->m"') == 1 and text.name == "l_and_gradient"
    assert [np.shape(r) for r in text(**INPUTS)] == [(), (3,), (2, 3)]


def test_several_formulas_share_what_they_have_in_common():
    text = rc.code([LOSS, LOSS.diff("w"), LOSS.diff("w", "w")], name="all_of_it")
    assert text.count("einsum") == 3
    assert [np.shape(r) for r in text(**INPUTS)] == [(), (3,), (3, 3)]


def test_types():
    text = LOSS.code(types="float32", with_gradient="w")
    assert all(r.dtype == np.float32 for r in text(**INPUTS))
    only = LOSS.code(types={"X": "float32"})
    assert "w, dtype" not in only and "np.asarray(X, dtype=np.float32)" in only
    narrow = {name: value.astype(np.float32) for name, value in INPUTS.items()}
    assert LOSS.diff("w", "w").code()(**narrow).dtype == np.float32


def test_types_of_what_is_made_of_numbers_follow_the_arguments():
    eye = rc.parse("y[i,j] = x[i] (delta[i,j] - 1/3)").code()
    assert eye(np.ones(3, np.float32)).dtype == np.float32
    np.testing.assert_allclose(eye(np.ones(3, int)), np.eye(3) - 1 / 3)


def test_sizes_that_no_argument_tells():
    f = rc.parse("y[i,n] = x[i] 1[n]")
    assert f.code()(np.ones(2), n=3).shape == (2, 3)
    assert f.code(sizes={"n": 4})(np.ones(2)).shape == (2, 4)
    with pytest.raises(rc.InputError, match="There is no index 'q' to have a size; the indices are i, n"):
        f.code(sizes={"q": 4})
    wrong: list[Any] = [-1, 2.5, True, "3"]
    for size in wrong:
        with pytest.raises(rc.InputError, match="must be a whole number that is not negative"):
            f.code(sizes={"n": size})
    four: Any = np.int64(4)
    assert f.code(sizes={"n": four}) == f.code(sizes={"n": 4})


def test_code_is_a_text_that_can_be_called_and_travels():
    import pickle

    code = LOSS.code()
    assert isinstance(code, str) and str(code) == code and code.backend == "numpy"
    again = pickle.loads(pickle.dumps(code))
    assert again == code and again(**INPUTS) == code(**INPUTS)
    assert code._repr_markdown_().startswith("```python\nimport numpy")


def test_loops():
    h = rc.parse("h[0,i] = a[i]; h[t+1,i] = tanh(W[i,j] h[t,j] + x[t,i])")
    rng = np.random.default_rng(0)
    inputs = {"a": rng.normal(size=2), "W": rng.normal(size=(2, 2)), "x": rng.normal(size=(3, 2))}
    assert "for t in range(" in h.code()
    for f in (h, h.diff("W"), h.diff("x")):
        np.testing.assert_allclose(f.code()(**inputs), f(**inputs))


@pytest.mark.parametrize("backend", ["numpy", "torch", "jax"])
def test_several_gathers_by_one_index(backend):
    """A count in a table of two axes, by the same places; what nothing else has is counted once."""
    library = pytest.importorskip(backend)
    make = library.tensor if backend == "torch" else library.numpy.asarray if backend == "jax" else library.asarray
    s, t = np.array([1, 0, 0, 1]), np.array([0, 2, 2, 1])
    f = rc.parse("y[a,b] = delta[s[n],a] delta[t[n],b]", sizes={"a": 2, "b": 3})
    wanted = np.zeros((2, 3))
    np.add.at(wanted, (s, t), 1)
    np.testing.assert_array_equal(f.code(backend)(make(s), make(t)), wanted)
    counted = rc.parse("y[a] = 1[n] 1[m] delta[s[n],a] x[m]", sizes={"a": 2}).code(backend)
    np.testing.assert_array_equal(counted(make(s), make(np.ones(3))), [6, 6])


def test_a_number_on_the_diagonal_is_not_transposed():
    f = rc.parse("u[i] = (x[i] - mean[j](x[j])) / sqrt(var[j](x[j]) + e)").diff("x")
    code = f.code()
    assert ".T" not in code
    np.testing.assert_allclose(code(INPUTS["y"], 0.1), f(x=INPUTS["y"], e=0.1))


def test_places_are_counted_as_such():
    code = rc.grad(lambda x: x @ np.arange(len(x))).code()(np.ones(4))
    assert "np.arange(i, dtype=x.dtype)" in code
    np.testing.assert_array_equal(code(np.ones(6)), np.arange(6))


def test_windows_gathers_and_reshapes():
    rng = np.random.default_rng(0)
    table, tokens = rng.normal(size=(4, 3)), np.array([[3, 0], [1, 1]])
    f = rc.parse("y[b,t,d] = table[tokens[b,t],d]")
    assert "return table[tokens]" in f.code()
    np.testing.assert_allclose(f.code()(table, tokens), table[tokens])
    np.testing.assert_allclose(f.diff("table").code()(table, tokens), f.diff("table")(table=table, tokens=tokens))
    c = rc.parse("c[i] = x[i+k] w[k] + b[i]")
    for g in (c, c.diff("x"), c.diff("w")):
        inputs = {"x": rng.normal(size=6), "w": rng.normal(size=3), "b": rng.normal(size=4)}
        code = g.code()
        known = {n: inputs[n] for n in code_arguments(code)}
        np.testing.assert_allclose(code(**known), g(**inputs))
    x = rc.variable("x[i,j,k]")
    flat = rc.rearrange(x, "i j k -> k (i j)")
    array = rng.normal(size=(2, 3, 4))
    np.testing.assert_allclose(flat.code()(array), flat(x=array))


def code_arguments(code):
    return re.search(rf"def {code.name}\((.*)\):", code)[1].split(", ")  # pyright: ignore[reportOptionalSubscript]


# Julia and LaTeX, which are not run here


@pytest.mark.parametrize("backend", ["julia", "latex"])
def test_brackets_close_in_every_identity(backend):
    lacking = 0
    for row in identities()[::5]:
        for order in (0, None):
            try:
                text = str(row.derivative(order=order).code(backend))
            except RuleError as error:
                assert "written" in str(error) or "no name" in str(error)
                lacking += 1
                continue
            lines = re.sub(r'"""[^"]*"""', "", text)
            lines = lines if backend == "julia" else re.sub(r"\\left\[|\\right\]|\\State|\[1\]", "", lines)
            for one, other in ("()", "[]", "{}"):
                assert lines.count(one) == lines.count(other), text
            assert not twice_below(text), text
    assert lacking <= 2


def twice_below(text):
    """Whether something has two subscripts, which TeX refuses."""
    before = ""
    while text != before and not re.search(r"_!\s*_", text):
        before, text = text, re.sub(r"\{[^{}]*\}", "!", text)
    return bool(re.search(r"_!\s*_", text))


def test_two_subscripts_are_found():
    assert twice_below(r"\mathrm{d2l}_{\mathrm{dw}}_{n n'}") and twice_below("a_{b}_{c}")
    assert not twice_below(r"{a_{b}}_{c} + d_{e} f_{g}")


def test_julia_counts_from_one():
    assert "x[i + k - 1]" in rc.parse("c[i] = x[i+k] w[k]").code("julia")
    assert "table[tokens[b, t] + 1, d]" in rc.parse("y[b,t,d] = table[tokens[b,t],d]").code("julia")
    text = rc.parse("y[i] = A[i,j] x[j] + b[i]").code("julia")
    assert "n_i, n_j = size(A)" in text and text.rstrip().endswith("end")
    assert "[sum(A[i, j] * x[j] for j in 1:n_j; init=0.0) + b[i] for i in 1:n_i]" in text


def test_entries_of_an_array_in_julia_are_of_one_type():
    """``c ? x : 0`` is a whole number where ``c`` is not, and the array is then one of mixed numbers."""
    for text in ("y[i,j,k] = delta[i,j] a[k]", "y[i] = where(a[i] > 0, a[i], 2)", "y[i,j] = delta[i,j]"):
        assert not re.search(r"[?:] \d+\)", rc.parse(text).code("julia"))
    assert "(j == i) * a[k]" in rc.parse("y[i,j,k] = delta[i,j] a[k]").code("julia")


def test_words_of_each_language_are_names_nowhere():
    y = rc.parse("y = INFINITY[i] end[i] + function[i] double[i] + gamma[i] class[i] + softplus_[i] M_PI[i]")
    c = y.code("c", sizes={"i": 2})
    heads = [y.code("numpy"), y.code("julia"), c]
    named = [re.findall(r"\w+", re.search(r"y\((.*)\)", text)[1]) for text in heads]  # pyright: ignore
    assert {"class_"} <= {*named[0]} and {"end", "function", "double", "gamma"} <= {*named[0]}
    assert {"end_", "function_"} <= {*named[1]} and {"class", "double"} <= {*named[1]}
    assert {"INFINITY_", "double_", "gamma_", "M_PI_"} <= {*named[2]} and {"class", "end"} <= {*named[2]}


def test_an_algorithm_in_latex():
    assert r"\caption{$\frac{\partial l}{\partial w_{n}}$}" in LOSS.diff("w").code("latex")
    named = rc.parse("y_1[i] = lambda[i] + α[i]").code("latex")
    assert r"\caption{${y_{1}}_{i}$}" in named.replace(r"\mathrm{1}", "1") and r"\lambda_{i} + \alpha_{i}" in named
    text = LOSS.diff("w").code("latex")
    assert r"\sum_{n} X_{m n} w_{n}" in text and text.startswith("\\begin{algorithm}")
    assert text.count(r"\State") == text.count("\n    \\State")


# What is refused


def test_what_cannot_be_written_is_refused_by_name():
    with pytest.raises(RuleError, match="svdvals is not written in C"):
        rc.parse("f = 1[i] svdvals(A)[i]").code("c", sizes={"i": 3, "j": 3})
    with pytest.raises(RuleError, match="polygamma is not in the library of C"):
        rc.parse("y[i] = polygamma(1, x[i])").code("c", sizes={"i": 3})
    with pytest.raises(RuleError, match="is not run from Python"):
        LOSS.code("julia")()


def test_functions_that_are_not_known():
    f = rc.parse("y[i] = g(x[i])", functions=["g"])
    with pytest.raises(rc.RicciError, match="g"):
        f.code()
    np.testing.assert_allclose(f.with_functions(g=np.sin).code()(np.ones(2)), np.sin(np.ones(2)))


# Functions


def logloss(w, X, y):
    return np.log1p(np.exp(-y * (X @ w))).sum()


POINT = (np.ones(3) / 3, INPUTS["X"], INPUTS["y"])


@pytest.mark.parametrize("backend", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("transform", [rc.grad, rc.hessian, rc.value_and_grad, rc.compile, rc.trace])
def test_functions_have_code_for_arguments_like_those_of_a_call(transform, backend):
    library = pytest.importorskip(backend)
    function = logloss if transform is rc.trace else transform(logloss)
    text = rc.code(function, backend)(*POINT)
    assert "ricci" not in text and "(w, X, y):" in text and re.search(r"Of w\[(\w)\], X\[(\w),\1\], y\[\2\]\.", text)
    if function is not logloss:
        assert text == function.code(backend)(*POINT)
    given = [library.tensor(a) for a in POINT] if backend == "torch" else POINT
    found, wanted = text(*given), function(*POINT)
    single = not isinstance(wanted, tuple)
    for one, other in zip([found] if single else found, [wanted] if single else wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_the_code_of_a_function_takes_all_of_its_arrays():
    """Also those that a derivative does not depend on, and those of trees; captured ones come with the text."""
    c = np.array([2.0, 3.0])
    text = rc.grad(lambda x, y: (c * x).sum() + y.sum()).code("numpy", name="slope")(np.ones(2), np.ones(3))
    assert "def slope(x, y, c):" in text
    np.testing.assert_allclose(text(np.ones(2), np.ones(3)), c)
    tree = rc.code(lambda p: {"a": p["w"] + p["b"], "b": p["w"]}, "numpy")({"w": np.ones(2), "b": np.ones(2)})
    np.testing.assert_allclose(tree(np.ones(2), np.zeros(2)), np.ones((2, 2)))


def test_functions_in_c_are_for_the_sizes_of_the_call():
    code = rc.value_and_grad(logloss).code("c")(*POINT)
    assert "const double X[2][3], const double y[2], double value[1], double gradient[3]) {" in code
    assert "((" not in code.replace("(double)((", "") and "double t3 = 0.0;" in code


def test_results_of_functions_have_names():
    assert "Gives value, gradient1[i], gradient2[i,j]." in rc.value_and_grad(logloss, argnums=(0, 1)).code()(*POINT)
    assert "Gives result1[i], result2." in rc.code(lambda x: (x * 2, x.sum()))(np.ones(3))


def test_what_is_not_of_functions_is_refused():
    with pytest.raises(rc.InputError, match="sizes of a traced function"):
        rc.code(logloss, sizes={"i": 3})  # type: ignore
    with pytest.raises(rc.InputError, match="There is no code for 'fortran'"):
        rc.grad(logloss).code("fortran")
    with pytest.raises(rc.InputError, match="a result is 'word'"):
        rc.code(lambda x: (x, "word"))(np.ones(2))
