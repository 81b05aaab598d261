"""``rc.draw`` and ``rc.trace_table``: DOT, Graphviz, notebooks, values and gradients; steps and their derivatives."""

from __future__ import annotations

import os
import random
import re
import stat
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import ricci as rc
from ricci.drawing import Drawing, draw, trace_table
from ricci.drawing.render import HINT
from ricci.drawing.short_values import short
from ricci.errors import InputError, MissingPackageError, RicciError, ShapeError
from ricci.tensor import Tensor, no_grad
from ricci.testing import random_expression
from ricci.testing.drawn_inputs import draw as draw_inputs
from ricci.testing.drawn_inputs import size_names
from ricci.testing.identities import identities

IDENTITIES = identities()

RANDOM = np.random.default_rng(0)
X, Y, W = RANDOM.normal(size=(5, 3)), np.sign(RANDOM.normal(size=5)), RANDOM.normal(size=3)
LOSS = rc.parse("l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))")
SEED = rc.parse("f = x1 x2 + sin(x1)")

NODE = re.compile(r'^  (n\d+) \[label="((?:[^"\\]|\\.)*)", (.*)\];$')
ARROW = re.compile(r'^  (n\d+) -> (n\d+)(?: \[label="((?:[^"\\]|\\.)*)"\])?;$')


def read(drawing):
    """The boxes (lines of text) and arrows of a drawing; anything that is not DOT as we write it is an error."""
    first, *body, last = drawing.dot.splitlines()
    assert (first, last) == ("digraph ricci {", "}")
    boxes, arrows = {}, []
    for line in body[3:]:
        if node := NODE.match(line):
            boxes[node[1]] = node[2].split(r"\n")
        else:
            arrow = ARROW.match(line)
            assert arrow is not None, line
            arrows.append((arrow[1], arrow[2]))
    assert all(end in boxes for arrow in arrows for end in arrow)
    return boxes, arrows


def logloss(w, X, y):
    return np.log1p(np.exp(-y * (X @ w))).sum()


# Drawings


def test_a_formula():
    drawing = draw(SEED)
    boxes, arrows = read(drawing)
    assert sorted(boxes.values()) == [["*"], ["f =", "+"], ["sin"], ["x1"], ["x2"]]
    assert len(arrows) == 5 and str(drawing) == drawing.dot and "5 arrows" in repr(drawing)


def test_values_of_a_formula():
    boxes, _ = read(draw(SEED, values={"x1": 2.0, "x2": 7.0}))
    assert ["f =", "+", "14.9093"] in boxes.values() and ["sin", "0.9093"] in boxes.values()
    boxes, _ = read(draw(LOSS, values={"X": X, "y": Y, "w": W}))
    assert ["X[m,n]", short(X)] in boxes.values() and ["l =", "sum[m]", short(LOSS(X=X, y=Y, w=W))] in boxes.values()
    carried = rc.variable("x", np.array([1.0, 2.0]))
    boxes, _ = read(draw(rc.exp(carried), values=True))
    assert any("[2.7183, 7.3891]" in lines for lines in boxes.values())


def test_several_formulas_share_what_they_have_in_common():
    gradient = LOSS.diff("w")
    both = read(draw([LOSS, gradient]))[0]
    assert len(both) < len(read(draw(LOSS))[0]) + len(read(draw(gradient))[0]) - 3
    assert sum(lines == ["X[m,n]"] for lines in both.values()) == 1


def test_an_expression_of_the_core():
    boxes, _ = read(draw(LOSS.expr))
    assert ["sum[i]"] in boxes.values()


def test_a_tensor_before_and_after_backward():
    x1, x2 = Tensor(2.0, name="x1"), Tensor(7.0, name="x2")
    f = x1 * x2 + np.sin(x1)
    boxes, arrows = read(draw(f))
    assert sorted(boxes.values()) == [
        ["*", "value 14"],
        ["+", "value 14.9093"],
        ["sin", "value 0.9093"],
        ["x1", "value 2"],
        ["x2", "value 7"],
    ]
    assert len(arrows) == 5
    f.backward()
    boxes, _ = read(draw(f))
    assert ["x1", "value 2", "grad 6.5839"] in boxes.values() and ["x2", "value 7", "grad 2"] in boxes.values()
    assert sorted(read(draw(f, values=False))[0].values()) == [["*"], ["+"], ["sin"], ["x1"], ["x2"]]


def test_a_tensor_with_axes_and_constants():
    x = Tensor([[1.0, 2.0], [2.0, -1.0]], axes="b t", name="x")
    y = np.maximum(x * 2 - 1, 0).sum(axis=-1)
    boxes, _ = read(draw(y))
    assert ["x", "[b=2, t=2]", "value [[1, 2], [2, -1]]"] in boxes.values()
    assert ["sum", "[b=2]", "value [4, 3]"] in boxes.values()
    assert sum(lines in (["2"], ["1"], ["0"]) for lines in boxes.values()) == 3
    total = np.concatenate([y, y * np.array([1.0, 2.0])])
    boxes, arrows = read(draw(total))
    name = next(name for name, lines in boxes.items() if lines[0] == "concatenate")
    assert boxes[name][-1] == "value [4, 3, 4, 6]"
    assert sum(end == name for _, end in arrows) == 2


@pytest.mark.parametrize("steps", [3_000, pytest.param(30_000, marks=pytest.mark.thorough)])
def test_a_long_loop_of_tensors_is_folded(steps):
    x = s = Tensor(1.0)
    for _ in range(steps):
        s = np.sin(s) * 1.5 + x
    boxes, _ = read(draw(s))
    assert len(boxes) == 3 and any(lines[0] == f"{3 * steps - 1:,} operations" for lines in boxes.values())


@pytest.mark.parametrize(
    "what, options, message",
    [
        (3.0, {}, "takes formulas, expressions or tensors, .* not: float"),
        ([], {}, "nothing to draw"),
        ([SEED, 3.0], {}, "not: Formula, float"),
        (SEED, {"direction": "up"}, "not 'up'"),
        (SEED, {"format": "bmp"}, "no format 'bmp'"),
        (SEED, {"most": 1}, "at least 2, not 1"),
        (SEED, {"values": 3}, "by name"),
        (SEED, {"values": {"x1": 2.0}}, "lacks a value for x2"),
    ],
)
def test_what_cannot_be_drawn(what, options, message):
    with pytest.raises(InputError, match=message):
        draw(what, **options)


def test_drawing_a_formula_takes_no_numpy():
    code = "import sys, ricci as rc; from ricci.drawing import draw; draw(rc.parse('y[i] = exp(x[i])').diff('x'))"
    env = {**os.environ, "PYTHONPATH": str(Path(rc.__file__).parent.parent)}
    run = [sys.executable, "-c", f"{code}; print('numpy' in sys.modules)"]
    assert subprocess.run(run, capture_output=True, text=True, env=env, check=True).stdout.strip() == "False"


# Graphviz, which a script stands in for

FAKE = """#!{python}
import sys
text = sys.stdin.buffer.read().decode()
assert text.startswith("digraph ricci {{")
if {fails}:
    sys.exit("syntax error in line 1")
sys.stdout.write("<svg>" + sys.argv[1] + " " + str(len(text)) + "</svg>")
"""


@pytest.fixture
def graphviz(tmp_path, monkeypatch):
    def install(fails=False):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        program = folder / "dot"
        program.write_text(FAKE.format(python=sys.executable, fails=fails))
        program.chmod(program.stat().st_mode | stat.S_IEXEC)
        monkeypatch.setenv("PATH", str(folder))

    return install


@pytest.fixture
def no_graphviz(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))


def test_pictures_through_graphviz(graphviz, tmp_path):
    graphviz()
    drawing = draw(SEED)
    size = len(drawing.dot)
    assert drawing._repr_svg_() == f"<svg>-Tsvg {size}</svg>" and drawing._repr_html_() is None
    assert set(drawing._repr_mimebundle_()) == {"image/svg+xml", "text/plain"}
    for suffix in ("svg", "png", "pdf"):
        path = drawing.save(tmp_path / f"g.{suffix}")
        assert path.read_text() == f"<svg>-T{suffix} {size}</svg>"
    assert draw(SEED, format="png")._repr_mimebundle_()["image/png"].startswith(b"<svg>-Tpng")
    draw(SEED, file=tmp_path / "plain", format="svg")
    assert (tmp_path / "plain").read_text().startswith("<svg>-Tsvg")
    assert set(draw(SEED, format="dot")._repr_mimebundle_()) == {"text/html", "text/plain"}


def test_without_graphviz_there_is_a_picture_all_the_same(no_graphviz, tmp_path):
    drawing = draw(rc.parse("y = where(a < b, a, b)"))
    shown = drawing._repr_mimebundle_()
    assert set(shown) == {"image/svg+xml", "text/plain"} and "a &lt; b" not in shown["text/plain"]
    assert ElementTree.fromstring(shown["image/svg+xml"]).tag.endswith("svg")
    assert drawing.save(tmp_path / "g.svg").read_text() == shown["image/svg+xml"]
    with pytest.raises(MissingPackageError, match="brew install graphviz"):
        drawing.save(tmp_path / "g.png")
    assert drawing.save(tmp_path / "g.dot").read_text() == drawing.dot == drawing.save(tmp_path / "g.gv").read_text()
    assert HINT.endswith("graphviz.org/download.")


def test_a_text_of_ones_own_needs_graphviz(no_graphviz, tmp_path):
    drawing = rc.Drawing("digraph ricci {}")
    assert drawing._repr_svg_() is None and "apt install graphviz" in drawing._repr_mimebundle_()["text/html"]
    with pytest.raises(MissingPackageError, match="brew install graphviz"):
        drawing.save(tmp_path / "g.svg")


def test_what_graphviz_says_is_passed_on(graphviz, tmp_path):
    graphviz(fails=True)
    with pytest.raises(RicciError, match="syntax error in line 1"):
        draw(SEED).save(tmp_path / "g.svg")


def test_graphviz_does_not_run_for_ever(graphviz, monkeypatch):
    graphviz()
    monkeypatch.setattr("ricci.drawing.render.SECONDS", 1e-9)
    with pytest.raises(RicciError, match="smaller most="):
        draw(SEED).render()


@pytest.mark.parametrize("file", ["g", "g.bmp"])
def test_a_file_names_its_format(file, tmp_path):
    with pytest.raises(InputError, match=r"let it end in one of \.svg"):
        Drawing("digraph ricci {}").save(tmp_path / file)


# Trace tables

TABLE = """\
step         │   value │ ∂step/∂x1 │ ∂step/∂x2 │ ∂f/∂step
─────────────┼─────────┼───────────┼───────────┼─────────
x1           │       2 │         1 │         0 │   6.5839
x2           │       7 │         0 │         1 │        2
v1 = x1 * x2 │      14 │         7 │         2 │        1
v2 = sin(x1) │  0.9093 │   -0.4161 │         0 │        1
f = v1 + v2  │ 14.9093 │    6.5839 │         2 │        1"""


def seed_function(x1, x2):
    return x1 * x2 + np.sin(x1)


def seed_tensor():
    x1, x2 = Tensor(2.0, name="x1"), Tensor(7.0, name="x2")
    return x1 * x2 + np.sin(x1)


@pytest.mark.parametrize(
    "make, result",
    [
        (lambda **o: trace_table(SEED, x1=2.0, x2=7.0, **o), "f"),
        (lambda **o: trace_table(SEED, {"x1": 2.0}, x2=7.0, **o), "f"),
        (lambda **o: trace_table(seed_function, 2.0, 7.0, **o), "seed_function"),
        (lambda **o: trace_table(seed_function, 2.0, x2=7.0, **o), "seed_function"),
        (lambda **o: trace_table(seed_tensor(), **o), "y"),
    ],
)
def test_the_example_of_the_text(make, result):
    table = make(mode="both")
    squeezed = [re.sub(r"[ ─]+", " ", line) for line in str(table).splitlines()]
    expected = [re.sub(r"[ ─]+", " ", line) for line in TABLE.splitlines()]
    assert [line.replace(result, "f") for line in squeezed] == expected
    np.testing.assert_allclose([table["x1"].adjoint, table["x2"].adjoint], [7 + np.cos(2.0), 2.0])
    np.testing.assert_allclose(table.rows[-1].value, 14 + np.sin(2.0))
    assert make().heads() == ["step", "value", f"∂{result}/∂step"]
    assert make(mode="forward").heads() == ["step", "value", "∂step/∂x1", "∂step/∂x2"]
    assert make(mode="forward", wrt="x2").heads() == ["step", "value", "∂step/∂x2"]
    assert make(mode="forward", wrt=[1, 0]).heads() == ["step", "value", "∂step/∂x2", "∂step/∂x1"]


def test_the_table_is_aligned():
    assert str(trace_table(SEED, x1=2.0, x2=7.0, mode="both")) == TABLE
    assert len({len(line) for line in TABLE.splitlines()}) == 1


def central(f, x, step=1e-6):
    x = np.asarray(x, dtype=float)
    columns = []
    for k in range(x.size):
        e = np.zeros(x.size)
        e[k] = step
        e = e.reshape(x.shape)
        columns.append((np.asarray(f(x + e)) - np.asarray(f(x - e))) / (2 * step))
    return np.stack(columns, -1).reshape(*np.shape(f(x)), *x.shape)


def vector(w, X, y):
    return np.tanh(X[1:] @ w).reshape(2, 2) * y[0]


def tensor_of(f, *args):
    return f(*[Tensor(a, name=n) for a, n in zip(args, ("w", "X", "y"), strict=True)])


@pytest.mark.parametrize("f", [logloss, vector])
@pytest.mark.parametrize("eager", [False, True])
def test_derivatives_of_arrays(f, eager):
    table = trace_table(tensor_of(f, W, X, Y), mode="both") if eager else trace_table(f, W, X, Y, mode="both")
    last = table.rows[-1]
    np.testing.assert_allclose(last.value, f(W, X, Y))
    for position, (name, x) in enumerate({"w": W, "X": X, "y": Y}.items()):
        args = [W, X, Y]
        wanted = central(lambda v, args=args, k=position: f(*args[:k], v, *args[k + 1 :]), x)
        np.testing.assert_allclose(last.tangents[name], wanted, atol=1e-8)
        np.testing.assert_allclose(table[name].adjoint, wanted, atol=1e-8)
    for row in table.rows:  # the chain rule through every step that all ways lead through
        assert np.shape(row.tangents["w"]) == (*np.shape(row.value), 3)
        if row.adjoint is not None:
            assert np.shape(row.adjoint) == (*np.shape(last.value), *np.shape(row.value))


@pytest.mark.parametrize("eager", [False, True])
def test_directions_and_incoming_gradients(eager):
    def make(**options):
        return trace_table(tensor_of(vector, W, X, Y), **options) if eager else trace_table(vector, W, X, Y, **options)

    dot, bar = RANDOM.normal(size=3), RANDOM.normal(size=(2, 2))
    whole = make(mode="both")
    forward = make(mode="forward", tangents={"w": dot})
    assert forward.heads() == ["step", "value", "tangent"]
    np.testing.assert_allclose(forward.rows[-1].tangents["tangent"], whole.rows[-1].tangents["w"] @ dot)
    assert not np.any(forward["X"].tangents["tangent"])
    reverse = make(gradient=bar)
    assert reverse.heads() == ["step", "value", "adjoint"]
    np.testing.assert_allclose(reverse["w"].adjoint, np.einsum("ij,ijk->k", bar, whole["w"].adjoint))
    np.testing.assert_allclose(np.sum(reverse["w"].adjoint * dot), np.sum(forward.rows[-1].tangents["tangent"] * bar))
    with pytest.raises(ShapeError, match=r"the result has the shape \(3,\) where \(2, 2\)"):
        make(gradient=dot)
    with pytest.raises(ShapeError, match="the input w"):
        make(mode="forward", tangents={"w": bar})


def test_gradients_of_tensors_are_left_alone():
    x = Tensor([1.0, 2.0], name="x")
    y = (x * x).sum()
    trace_table(y, mode="both")
    assert x.grad is None and y.grad is None
    y.backward()
    before = np.array(x.grad.numpy())  # pyright: ignore[reportAttributeAccessIssue]
    table = trace_table(y)
    np.testing.assert_array_equal(x.grad.numpy(), before)  # pyright: ignore[reportAttributeAccessIssue]
    np.testing.assert_allclose(table["x"].adjoint, [2.0, 4.0])


def test_the_calls_of_tensors():
    x = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], name="x", axes="b t")
    first, second = np.split(x[:, ::-1], 2)
    z = -np.maximum(first, 2.5) @ second.T / 2.0
    found = [row.expression for row in trace_table(z, mode="both").rows]
    assert found == [
        "",
        "x[:, ::-1]",
        "split(v1, 2)[0]",
        "maximum(v2, 2.5)",
        "-v3",
        "split(v1, 2)[1]",
        "transpose(v5)",
        "v4 @ v6",
        "v7 / 2",
    ]
    assert trace_table(z).rows[0].name == "x[b,t]"


def test_names_of_tensors_do_not_clash():
    a, b, c = Tensor(1.0, name="a"), Tensor(2.0, name="a"), Tensor(3.0, name="v1")
    table = trace_table(np.sin(a * b) * c)
    assert [row.name for row in table.rows] == ["a", "x1", "v1", "v2", "v3", "y"]
    assert table["x1"].value == 2.0
    with pytest.raises(InputError, match="no step 'b'"):
        table["b"]


def test_a_tensor_that_was_changed_is_refused():
    x = Tensor([1.0, 2.0])
    y = (x * x).sum()
    with no_grad():
        x += 1.0
    with pytest.raises(InputError, match="changed in place"):
        trace_table(y)


# a formula, its inputs, and the expressions of its steps
T = np.array([1, 0])
SENTENCES = [
    ("y[i] = A[i,j] x[j]", {"A": X, "x": W}, ["A[i,j] * x[j]"]),
    ("y = sum[i](x[i])", {"x": W}, ["sum[i](x[i])"]),
    ("y[b,d] = T[t[b],d]", {"T": X, "t": T}, ["T[i,d] * [i = t[b]]"]),
    ("y[i] = 2 x[i] - 1/2 z[i]**2", {"x": W, "z": W}, ["z[i]**2", "2 * x[i] - (1/2) * v1[i]"]),
    ("y[i] = softmax[i](x[i])", {"x": W}, ["softmax[i](x[i])"]),
    ("y[i] = x[i] < 0", {"x": W}, ["x[i] < 0"]),
    ("y[i,j] = x[i] delta[i,j]", {"x": W}, ["x[i] * delta[i,j]"]),
    ("y = v1 exp(v1)", {"v1": 1.0}, ["exp(v1)", "v1 * t1"]),
    ("y = -x", {"x": 1.0}, ["-x"]),
]


@pytest.mark.parametrize("text, inputs, expected", SENTENCES, ids=[text for text, *_ in SENTENCES])
def test_steps_are_written_in_the_notation(text, inputs, expected):
    table = trace_table(rc.parse(text), inputs)
    assert [row.expression for row in table.rows if row.expression] == expected
    np.testing.assert_allclose(table.rows[-1].value, rc.parse(text)(**inputs))


def test_every_row_follows_from_those_before():
    """The value of a step is what its expression says, read as a formula of the steps before."""
    table = trace_table(LOSS, X=X, y=Y, w=W)
    known = {row.name.split("[")[0]: row.value for row in table.rows}
    checked = 0
    for row in table.rows:
        if row.expression:
            formula = rc.parse(f"{row.name.replace('l', 'out')} = {row.expression}")
            np.testing.assert_allclose(formula(**{n: known[n] for n in formula.variables}), row.value)
            checked += 1
    assert checked >= 5


def test_long_tables_are_printed_without_their_middle():
    x = s = Tensor(0.5)
    for _ in range(500):
        s = np.sin(s) + x
    table = trace_table(s, most=10)
    lines = str(table).splitlines()
    assert len(table) == len(table.rows) == 1001 and len(lines) == 2 + 10 + 1
    assert lines[7].startswith("… 991 more steps") and lines[-1].startswith("y = ")
    assert table._repr_html_().count("<tr>") == 12 and "∂y/∂step" in table._repr_html_()


def test_integers_and_inputs_that_do_not_matter():
    table = trace_table(rc.parse("y[b,d] = T[t[b],d]"), T=X, t=T)
    assert table["t"].adjoint is None and np.shape(table["T"].adjoint) == (2, 3, 5, 3)
    flat = trace_table(lambda x: np.floor(x) * 2.0, 1.5)
    assert flat["x"].adjoint == 0 and flat.heads()[-1] == "∂f/∂step"
    assert trace_table(rc.parse("y = x"), x=3.0).rows[0].adjoint == 1


@pytest.mark.parametrize(
    "args, options, message",
    [
        ((SEED,), {"x1": 2.0}, "lacks a value for x2"),
        ((SEED, 2.0, 7.0), {}, "by name"),
        ((SEED,), {"x1": 2.0, "x2": 7.0, "mode": "sideways"}, "no mode 'sideways'"),
        ((SEED,), {"x1": 2.0, "x2": 7.0, "wrt": "x3"}, "no input 'x3'.* there are x1, x2"),
        ((3.0,), {}, "takes a formula, a function or a tensor, not float"),
        ((lambda x: (x, x), 2.0), {}, "one result"),
        ((np.sin, np.zeros(4000)), {"mode": "forward"}, "too many to show"),
        ((np.sin, np.zeros(4000)), {}, "too many to show"),
    ],
)
def test_what_has_no_table(args, options, message):
    with pytest.raises(InputError, match=message):
        trace_table(*args, **options)


def test_tables_of_tensors_that_cannot_be():
    big = np.sin(Tensor(np.zeros(4000), name="x"))
    for mode in ("forward", "reverse"):
        with pytest.raises(InputError, match="too many to show"):
            trace_table(big, mode=mode)
    with pytest.raises(InputError, match="takes no inputs"):
        trace_table(big, x=1.0)
    with pytest.raises(InputError, match="no input 'another tensor'"):
        trace_table(big, wrt=Tensor(1.0))


# Whatever the expression


@pytest.mark.sampled(3)
@pytest.mark.parametrize("row", IDENTITIES[::4], ids=lambda row: row.name)
def test_tables_agree_with_the_derivatives(row):
    f = row.function()
    sizes = {name: 2 + k % 3 for k, name in enumerate(size_names(row.inputs))}
    inputs = draw_inputs(row.inputs, sizes, np.random.default_rng(0))
    table = trace_table(f, inputs, mode="both")
    np.testing.assert_allclose(table.rows[-1].value, f(**inputs))
    for name in table.inputs:
        expected = f.diff(name)(**inputs)
        np.testing.assert_allclose(table.rows[-1].tangents[name], expected, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(table[name].adjoint, expected, rtol=1e-8, atol=1e-9)
    read(draw(f, values=inputs))
    read(draw(row.derivative()))


@pytest.mark.parametrize("symbolic", [False, True])
def test_random_expressions_are_drawn(symbolic):
    for seed in range(100):
        expr = random_expression(random.Random(seed), symbolic=symbolic).build()
        whole, _ = read(draw(expr, most=10**6))
        few, arrows = read(draw(expr, most=3))
        assert len(few) <= min(3, len(whole)) and all(int(a[1:]) < int(b[1:]) for a, b in arrows)


def test_sizes_that_values_do_not_tell():
    ones = rc.parse("y[i] = 1[i] x")
    assert ["y[i] =", "broadcast", "[i]", "[2, 2]"] in read(draw(ones, values={"x": 2.0}, sizes={"i": 2}))[0].values()
    with pytest.raises(InputError, match="sizes="):
        draw(ones, values={"x": 2.0})


# Values in a few characters


@pytest.mark.parametrize(
    "value, expected",
    [
        (14.909297426825682, "14.9093"),
        (-2.0, "-2"),
        (7, "7"),
        (True, "True"),
        (0.0, "0"),
        (0.05, "0.05"),
        (1 / 3000, "0.0003333"),
        (1e-9, "1e-09"),
        (123456789.0, "1.2346e+08"),
        (float("inf"), "inf"),
        (np.float32(1.5), "1.5"),
        (np.array([1.0, 2.5]), "[1, 2.5]"),
        (np.zeros((0, 3)), "(0, 3), empty"),
        (np.full(9, 2.0), "(9,), all 2"),
        (np.arange(9), "(9,), 0 to 8"),
        (np.array([1.0, np.nan, np.inf, 3.0, 2.0]), "(5,), 1 to 3, 1 nan, 1 inf"),
        (np.full(5, np.nan), "(5,), 5 nan"),
    ],
)
def test_short_values(value, expected):
    assert short(value) == expected
