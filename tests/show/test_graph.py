"""Pictures of expressions: what is written in the boxes, what is shared, how large ones fold, and the text for DOT."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import ricci as rc
from ricci.errors import InputError
from ricci.expr import (
    OPS,
    Structure,
    constant,
    delta,
    elementwise,
    merge,
    place,
    product,
    topological,
    triangle,
    variable,
    window,
)
from ricci.show import node_words, picture
from ricci.show.picture import Vertex, folded, of_expressions, quoted, to_dot
from ricci.testing.interpreter import interpret

SOURCE = Path(rc.__file__).parent.parent


def boxes(formula, most=80):
    return of_expressions([formula.expr], [formula.indices], [formula.name], formula.context.facts, most)


# a text, and the lines of the box of its result, without the left side
LABELS = [
    ("y = x1 x2", "*"),
    ("y[i] = x[i] z[i]", "* [i]"),
    ("y[i,j] = A[i,k] B[k,j]", "ik,kj→ij [i,j]"),
    ("y[row,col] = A[row,k] B[k,col]", "row k, k col → row col [row,col]"),
    ("y[i] = sum[k](A[i,k])", "sum[k] [i]"),
    ("y = A[i,i]", "trace"),
    ("y[i] = A[i,i]", "diagonal [i]"),
    ("y[i,j] = A[j,i]", "transpose [i,j]"),
    ("y[i,j] = 1[i] x[j]", "broadcast [i,j]"),
    ("y[i,j] = x[i] delta[i,j]", "delta delta[i,j] [i,j]"),
    ("y[i] = x[2i]", "slice [j = 2 i] [i]"),
    ("y[b,d] = T[t[b],d]", "gather [i = t[b]] [b,d]"),
    ("y[i] = x[i+k] w[k]", "j,k→i [j = i + k] [i]"),
    ("y[i] = sin(x[i])", "sin [i]"),
    ("y[i] = x[i]**3", "**3 [i]"),
    ("y[i] = sqrt(x[i])", "sqrt [i]"),
    ("y[i] = 1 / x[i]", "1/ [i]"),
    ("y[i] = x[i]**z[i]", "** [i]"),
    ("y[i] = -x[i]", "neg [i]"),
    ("y[i] = 3 x[i]", "* 3 [i]"),
    ("y[i] = x[i] + z[i]", "+ [i]"),
    ("y[i] = x[i] < z[i]", "< [i]"),
    ("y[b,k] = softmax[k](x[b,k])", "softmax[k] [b,k]"),
    ("y[b] = logsumexp[k](x[b,k])", "logsumexp[k] [b]"),
    ("y = det(A)", "det[i,j]"),
]


@pytest.mark.parametrize("text, expected", LABELS, ids=[text for text, _ in LABELS])
def test_what_is_written_in_a_box(text, expected):
    formula = rc.parse(text)
    (result,) = [v for v in boxes(formula) if v.result]
    left, *lines = result.lines
    assert left == node_words.indexed("y", formula.indices) + " ="
    assert " ".join(lines) == expected


def test_inputs_constants_and_results_look_different():
    found = boxes(rc.parse("y[i] = A[i,j] x[j] + exp(b[i]) + 3"))
    assert {v.lines[0] for v in found if v.kind == "input"} == {"A[i,j]", "x[j]", "b[i]"}
    assert [v.word for v in found if v.kind == "constant"] == ["1"]  # with the coefficient 3 at its line
    assert [v.result for v in found] == [False] * (len(found) - 1) + [True]
    looks = {line.partition("], ")[0].partition('", ')[2] for line in to_dot(found).splitlines() if "label=" in line}
    assert any("rounded" in look for look in looks) and any("peripheries=2" in look for look in looks)
    assert any("plaintext" in look for look in looks)


def test_what_is_written_at_the_lines():
    found = boxes(rc.parse("y[i,j] = A[i,k] B[k,j]"))
    at = {found[p].lines[0]: text for p, text in zip(found[-1].operands, found[-1].edges, strict=True)}
    assert at == {"A[i,k]": "i k", "B[k,j]": "k j"}
    found = boxes(rc.parse("y = where(a < b, 2 a, b) - 3 c"))
    result = {found[p].word: text for p, text in zip(found[-1].operands, found[-1].edges, strict=True)}
    assert result == {"where": "", "c": "-3"}
    (choice,) = [v for v in found if v.word == "where"]
    assert choice.edges == ("if", "then", "else")
    (gather,) = [v for v in boxes(rc.parse("y[b,d] = T[t[b],d]")) if v.word == "gather"]
    assert sorted(gather.edges) == ["", "index"]


def test_shared_parts_are_drawn_once_and_constants_for_each_use():
    x = rc.parse("z = tanh(x)")
    shared = rc.parse("y = tanh(x) sin(tanh(x)) + cos(tanh(x))")
    assert [v.word for v in boxes(shared)].count("tanh") == 1 == [v.word for v in boxes(x)].count("tanh")
    twice = boxes(rc.parse("y = maximum(x, 2) + maximum(z, 2)"))
    assert [v.word for v in twice].count("2") == 2
    square = boxes(rc.parse("y = A[i,j] A[j,i]"))
    assert square[-1].operands == (0, 0)


def test_sizes_are_shown_where_they_are_known():
    i, j = variable("x", (2, 3)), variable("z", (3, 4))
    expr = product([(i, "ij"), (j, "jk")], "ik")
    (result,) = [v for v in of_expressions([expr]) if v.result]
    assert result.lines == ["ik,kj→ij", "(2, 4)"]
    named = of_expressions([expr], [("m", "n")], ["y"])[-1]
    assert named.lines[0] == "y[m,n] =" and named.lines[-1] == "[m=2, n=4]"


def test_reshapes_and_pads_of_known_sizes():
    flat = rc.rearrange(rc.variable("x", [[1.0, 2.0], [3.0, 4.0]]), "a b -> (a b)")
    assert [v.word for v in boxes(flat) if v.kind == "operation"] == ["reshape"]
    x = variable("x", (3,))
    padded = product([(window((1,), -1, 3, (5,)), "ji"), (x, "j")], "i")
    cut = product([(window((1,), 1, 3, (2,)), "ji"), (x, "j")], "i")
    assert (node_words.word(padded), node_words.word(cut)) == ("pad", "slice")


RELATIONS = [
    (delta(3), "ij", "delta[i,j]"),
    (place(0, 4), "i", "[i = 0]"),
    (place(3, 4), "i", "[i = 3]"),
    (window((2,), 1, 9, (4,)), "ji", "[j = 2 i + 1]"),
    (window((1,), -2, 3, (9,)), "ji", "[i = j + 2]"),
    (window((-1,), 3, 4, (4,)), "ji", "[i + j = 3]"),
    (window((1, 1), 0, 6, (4, 3)), "jik", "[j = i + k]"),
    (merge((2, 3)), "cab", "[c = 3 a + b]"),
    (triangle(3, 4), "ij", "[i >= j]"),
    (triangle(3, 4, -1), "ij", "[i >= j + 1]"),
]


@pytest.mark.parametrize("structure, names, expected", RELATIONS, ids=[text for *_, text in RELATIONS])
def test_structures_are_written_as_relations_that_hold(structure, names, expected):
    axes = node_words.AxisNames([structure], [tuple(names)])
    node = next(e for e in topological(structure) if isinstance(e, Structure))
    text = node_words.relation_text(node, axes.of[node])
    assert text == expected
    if text.startswith("["):
        code = re.sub(r"(\d) (\w)", r"\1*\2", text.strip("[]").replace(" = ", " == "))
        sizes = [range(size) for size in structure.shape]
        said = [eval(code, dict(zip(names, index, strict=True))) for index in itertools.product(*sizes)]
        assert said == interpret([structure], {}, {})[0].astype(bool).ravel().tolist()


def test_derivatives_are_drawn_with_the_users_indices():
    hessian = rc.parse("l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))").diff("w", "w[p]")
    found = boxes(hessian)
    assert found[-1].lines[0] == "d2l_dw_dw[n,p] ="
    assert {v.lines[0] for v in found if v.kind == "input"} == {"X[m,n]", "y[m]", "w[n]"}
    assert any(v.lines[0] == "mn,n→m" for v in found)


# Folding


def chain(length, x=None):
    e = variable("x", ()) if x is None else x
    for k in range(length):
        e = elementwise(OPS[("sin", "exp", "tanh")[k % 3]], e)
    return e


def test_a_chain_becomes_one_box():
    found = of_expressions([chain(30)], most=10)
    assert [v.kind for v in found] == ["input", "chain", "operation"]
    assert found[1].lines[0] == "29 operations" and found[1].lines[1:4] == ["sin", "exp", "tanh"]
    assert "… 21 more" in found[1].lines and sum(found[1].counts.values()) == 29  # pyright: ignore[reportOptionalMemberAccess]
    assert [v.operands for v in found] == [(), (0,), (1,)]


def test_a_small_graph_is_left_alone():
    assert len(of_expressions([chain(30)], most=31)) == 31
    assert len(of_expressions([chain(30)], most=30)) == 3


def test_a_chain_stops_where_a_result_is_used_twice():
    x = variable("x", ())
    inner = chain(3, x)
    outer = chain(3, inner) * chain(5, elementwise(OPS["log"], inner))
    found = of_expressions([outer], most=5)
    assert [v.kind for v in found] == ["input", "chain", "chain", "chain", "operation"]
    assert sorted(sum(v.counts.values()) for v in found if v.counts) == [3, 3, 6]
    assert all(p < k for k, v in enumerate(found) for p in v.operands)


def test_what_is_far_from_the_result_becomes_one_box():
    e = variable("x0", ())
    for k in range(1, 60):
        e = elementwise(OPS["sin"], e * variable(f"x{k}", ())) * e
    found = of_expressions([e], most=20)
    assert len(found) == 20 and [v.kind for v in found].count("rest") == 1
    rest = found[0]
    inside = sum(rest.counts.values())  # pyright: ignore[reportOptionalMemberAccess]
    whole = of_expressions([e], most=10**6)
    kept = [v for v in found if v.kind == "operation"] + [None] * sum(
        sum(v.counts.values()) for v in found[1:] if v.counts
    )
    assert inside + len(kept) == sum(v.kind == "operation" for v in whole)
    assert rest.lines[0] == f"{inside:,} more operations" and rest.lines[-1].startswith("of ")
    assert found[-1].result and all(p < k for k, v in enumerate(found) for p in v.operands)
    assert to_dot(found).count("n0 -> ") == sum(0 in v.operands for v in found)


def test_results_are_never_folded():
    results = [chain(k) for k in range(1, 30)]
    found = of_expressions(results, most=10)
    assert sum(v.result for v in found) == 29


def wide(size):
    e = variable("x", ())
    for k in range(size):
        e = elementwise(OPS["sin"], e) * e if k % 2 else elementwise(OPS["exp"], e)
    return e


@pytest.mark.parametrize(
    "make, size", [(chain, 30_000), pytest.param(wide, 66_000, marks=pytest.mark.thorough), (wide, 6_600)]
)
def test_large_graphs_are_quick_and_do_not_recurse(make, size):
    e = make(size)
    start = time.process_time()
    text = to_dot(of_expressions([e]))
    assert time.process_time() - start < 10  # a second or two, for 100,000 nodes
    assert len(text) < 20_000


@pytest.mark.parametrize("most", [2, 3, 5, 8, 13, 40])
def test_folding_keeps_the_order_and_the_number(most):
    vertices = [Vertex("input", "x")]
    for k in range(1, 50):
        vertices.append(Vertex("operation", "f", (k - 1, max(0, k - 7))))
    vertices[-1].result = True
    found = folded(vertices, most)
    assert len(found) <= most and found[-1].result
    assert all(p < k for k, v in enumerate(found) for p in v.operands)


# DOT


@pytest.mark.parametrize(
    "lines, expected",
    [
        (["a"], '"a"'),
        (["a", "b"], r'"a\nb"'),
        (['say "a"'], r'"say \"a\""'),
        ([r"a\N"], r'"a\\N"'),
        (["a & b", "&lt;"], r'"a &amp; b\n&amp;lt;"'),
        (["a\nb\x00c"], '"a b c"'),
    ],
)
def test_text_is_escaped(lines, expected):
    assert quoted(lines) == expected


def test_names_cannot_leave_their_quotes():
    text = to_dot(of_expressions([variable('x"]; evil [label="', ()) * variable("z", ())]))
    assert r'label="x\"]; evil [label=\""' in text


def test_the_direction_is_checked():
    found = of_expressions([chain(2)])
    assert "rankdir=TB" in to_dot(found, "TB")
    with pytest.raises(InputError, match="one of the directions LR, TB, RL, BT, not 'up'"):
        to_dot(found, "up")


def test_a_number_alone_is_a_picture():
    (only,) = of_expressions([constant(3)])
    assert only.kind == "constant" and only.result and only.word == "3"


CODE = """
import sys, ricci as rc
from ricci.show.picture import of_expressions, to_dot
f = rc.parse("l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))").diff("w", "w")
print(to_dot(of_expressions([f.expr], [f.indices], ["h"], f.context.facts)))
assert "numpy" not in sys.modules
"""


def test_the_text_is_the_same_in_every_process_and_takes_no_numpy():
    texts = set()
    for seed in ("0", "1"):
        env = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONHASHSEED": seed}
        made = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, env=env, check=False)
        assert made.returncode == 0, made.stderr
        texts.add(made.stdout)
    assert len(texts) == 1 and picture.DIRECTIONS[0] in texts.pop()
