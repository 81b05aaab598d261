"""Pictures of structures are true: what is drawn empty is zero, and what is drawn as one number is one, in numbers."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from notebook_reader import cells, page, words

import ricci as rc
from ricci.calculus.modes import derivative
from ricci.expr import Variable, topological, variables
from ricci.show.block_svg import to_svg
from ricci.show.structure import report
from ricci.show.structure_picture import BlockPicture, Panel, drawn_sizes
from ricci.testing import brute_force, random_expression
from ricci.testing.drawn_inputs import KINDS, _parts
from ricci.testing.identities import identities

IDENTITIES = identities()
ENV = {"PYTHONPATH": str(Path(rc.__file__).parent.parent)}


def untrue(panel: Panel, value: np.ndarray) -> str:
    """What a picture says that numbers do not; empty where it is right."""
    close = 1e-9 * max(1.0, float(np.max(np.abs(value), initial=0)))
    numbers: dict[tuple, float] = {}
    for place, entry in panel.entries.items():
        found = float(value[place])
        if entry.coef == 0 and abs(found) > close:
            return f"{place} is empty, and {found}"
        if entry.open or entry.coef == 0:
            continue
        if not entry.atoms and abs(found - entry.coef) > close:
            return f"{place} is said to be {entry.coef}, and is {found}"
        if abs(numbers.setdefault(entry[:2], found) - found) > close:
            return f"{place} is {found}, and the same number elsewhere is {numbers[entry[:2]]}"
    return ""


def inputs_of(row, drawn, rng) -> dict[str, np.ndarray]:
    """Values for an identity, of the sizes that its picture has."""
    expr, terms, columns, _, linked = drawn
    size = drawn_sizes(expr, terms, expr.order - columns, linked)

    def number(one) -> int:
        try:
            return size(one)
        except KeyError:  # of an axis that nothing in the picture depends on
            return 2

    found = {}
    function = row.function()
    shapes = {v.name: tuple(map(number, v.shape)) for v in [*variables(function.expr), *variables(expr)]}
    for name, spec in row.inputs.items():
        kind, words = _parts(spec)
        shape = shapes.get(name, (2,) * len(words))
        given = [int(words[0])] if kind == "exactly" else [1, *shape] if kind == "below" else [*shape]
        found[name] = KINDS[kind](rng, *([] if kind == "levi" else given))
    return found


def picture_and_value(row) -> tuple[BlockPicture, np.ndarray] | None:
    formula = row.derivative()
    told = formula.structure()
    picture = told.picture()
    assert picture is not None, row.name
    if any(len(axis.shown) < axis.size for axis in (*picture.rows, *picture.columns)):
        return None
    try:
        value = formula(**inputs_of(row, told.drawn, np.random.default_rng(3)))
    except rc.RicciError:  # sizes that no picture depends on, and that have to agree
        return None
    return picture, np.asarray(value)


def test_pictures_of_the_derivatives_that_people_look_up():
    drawn, zeros, empty, sums = 0, 0, 0, 0
    for row in IDENTITIES:
        found = picture_and_value(row)
        if found is None:
            continue
        picture, value = found
        assert value.shape == tuple([axis.size for axis in (*picture.rows, *picture.columns)]), row.name
        assert untrue(picture.whole, value) == "", row.name
        drawn += 1
        sums += bool(picture.parts)
        zeros += int(np.sum(value == 0))
        empty += sum(entry.coef == 0 for entry in picture.whole.entries.values())
    assert drawn > 0.9 * len(IDENTITIES) and sums > 10
    assert 0.8 * zeros < empty <= zeros  # what is zero is mostly drawn so, or nothing would be shown


def random_picture(seed: int) -> tuple[BlockPicture, np.ndarray] | None:
    """The picture of a random derivative, and its value."""
    rng = random.Random(seed)
    sample = random_expression(rng, size=rng.randint(2, 7), order=rng.randint(1, 2), extents=(1, 2, 2, 3))
    root = sample.build()
    inputs = [node for node in topological(root) if isinstance(node, Variable)]
    if not inputs:
        return None
    try:
        expr = derivative(root, rng.choice(inputs), "auto")
    except rc.RuleError:  # of places, which have no derivative
        return None
    names = tuple("abcdefgh"[: expr.order])
    picture = report(expr, names, expr.shape).picture()
    return None if picture is None else (picture, brute_force(expr, sample.inputs, sample.sizes))


def check_random(seeds: range) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in seeds:
        found = random_picture(seed)
        if found is None:
            continue
        picture, value = found
        if not np.all(np.isfinite(value)):
            continue
        assert untrue(picture.whole, value) == "", seed
        entries = picture.whole.entries.values()
        seen["pictures"] += 1
        seen["empty"] += any(entry.coef == 0 for entry in entries)
        seen["alike"] += len({entry[:2] for entry in entries if entry.atoms}) < sum(bool(e.atoms) for e in entries)
        seen["numbers"] += any(not entry.atoms and entry.coef != 0 for entry in entries)
    return seen


def test_random_derivatives():
    seen = check_random(range(150))
    assert seen["pictures"] > 80 and min(seen[k] for k in ("empty", "alike", "numbers")) > 3, seen


@pytest.mark.thorough
def test_many_random_derivatives():
    assert check_random(range(1000, 3000))["pictures"] > 1000


def test_that_an_untrue_picture_is_found():
    """The check of this file, on pictures that are wrong in each of the three ways."""
    picture = rc.parse("y[i,j] = x[i,k] a[k,j]", sizes={"i": 3, "j": 2, "k": 2}).diff("x").structure().picture()
    assert picture is not None
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    value = np.einsum("ip,qj->ijpq", np.eye(3), a)
    assert untrue(picture.whole, value) == ""
    assert "is empty" in untrue(picture.whole, np.einsum("ip,qj->ijpq", np.eye(3)[[1, 0, 2]], a))
    assert "the same number elsewhere" in untrue(picture.whole, np.einsum("ip,qj->ijpq", np.diag([1, 2, 3]), a))
    ones = {place: replaced_coef(entry) for place, entry in picture.whole.entries.items()}
    assert "is said to be 1" in untrue(replace(picture.whole, entries=ones), value)


def replaced_coef(entry):
    return entry._replace(atoms=()) if entry.coef else entry


# What is drawn


def test_pictures_need_no_numpy():
    code = """
import sys, ricci as rc
for text, wrt in (("l = 1[i,j] (T[i,j] - U[i,k] V[j,k])**2", "U"), ("c[i] = eps[i,j,k] a[j] b[k]", "a")):
    f = rc.parse(text).diff(wrt)
    f.structure()._repr_svg_(), f._repr_latex_(), f.derivation()._repr_latex_()
rc.parse("f = x[i] A[i,j] x[j]").diff("x").matrix()._repr_latex_()
print("numpy" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENV, check=False)
    assert (done.stdout.strip(), done.stderr) == ("False", "")


def svg_of(text: str, *wrt: str, **sizes: int) -> str:
    formula = rc.parse(text, sizes=sizes)
    made = (formula.diff(*wrt) if wrt else formula).structure()._repr_svg_()
    assert made is not None
    page(made)
    return made


FACTORS = "l = 1[i,j] (T[i,j] - U[i,k] V[j,k])**2"
DRAWN = [  # a text, by what, how many cells are filled and empty in each matrix, words that the picture says
    (FACTORS, ("U", "U"), [(36, 108)], ["diagonal", "equal blocks", "k·k numbers for i·i·k·k", "|i| = 4, |k| = 3"]),
    ("c[i] = x[i+k] w[k]", ("x",), [(15, 20)], ["band", "c[i]", "x[j]"]),
    ("y[i] = softmax[i](x[i])", ("x",), [(49, 0), (7, 42), (49, 0)], ["diagonal", "symmetric", "−"]),
    ("f = x[i] x[i]", ("x", "x"), [(7, 42)], ["diagonal", "2"]),
    ("y[i] = cumsum[i](x[i])", ("x",), [(28, 21)], ["triangle"]),
    ("f = c[i] x[i] + z[j] z[j]", ("x", "z"), [(0, 49)], ["zero"]),
    ("f = 1[i] exp(x[i])", ("x",), [(7, 0)], ["dense"]),
    ("f = 1[i] (x[i+1] - x[i+0]**2)**2", ("x", "x"), [(19, 30)], ["shifted diagonal"]),
    ("c[i,j] = eps[i,j,k] a[k]", (), [(6, 3)], []),
    ("e[i,j] = eps[i,j]", (), [(2, 2)], ["−1"]),
    ("y[i,j] = 1[i,j] - delta[i,j]", (), [(42, 7)], ["diagonal", "y: i", "y: j"]),
    ("f = x[i] x[i]", (), [(1, 0)], ["1 number for 1 entry"]),
    ("y[b,i] = cumsum[i](x[b,i])", ("x",), [(24, 120)], ["diagonal, triangle, equal blocks"]),
    ("y[i,j] = a[i] b[j] + M[i,j] + z[i] delta[i,j]", (), [(49, 0)], ["dense"]),
    ("y[i,j] = x[i] z[j] + x[i] delta[i,j]", (), [(49, 0), (7, 42), (49, 0)], ["diagonal", "= "]),
    ("y[i,j] = x[i] z[j] - delta[i,j]", (), [(49, 0), (49, 0), (7, 42)], ["=", "−", "1 1 1 1 1 1 1"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wrt", "expected", "said"), DRAWN)
def test_drawn(text, wrt, expected, said):
    made = svg_of(text, *wrt)
    assert cells(made)[: len(expected)] == expected
    seen = words(page(made))
    assert all(word in seen for word in said), seen


def test_gathers_are_drawn_open():
    made = svg_of("y[b,d] = table[t[b],d]", "table")
    assert "stroke-dasharray" in made and "gather" in made and cells(made) == [(48, 96)]


def test_large_tensors_are_drawn_in_part():
    made = svg_of(FACTORS, "U", "U", i=500, j=400, k=20)
    assert cells(made) == [(4 * 16, 12 * 16)] and "⋯" in made and "400 numbers for 100,000,000 entries" in made
    assert "the first places and the last one are drawn" in made


def test_the_cells_of_parts_add_up():
    picture = rc.parse("y[i,j] = a[i] b[j] + z[i] delta[i,j]").structure().picture()
    assert picture is not None and len(picture.parts) == 2
    for place, parts in (picture.whole.parts or {}).items():
        assert parts == tuple([k for k, part in enumerate(picture.parts) if part.entries[place].coef != 0])


def test_pictures_say_what_they_show_without_being_seen():
    made = svg_of(FACTORS, "U", "U")
    root = page(made)[0]
    assert root.get("role") == "img"
    title, desc = [child.text or "" for child in list(root)[:2]]
    assert title == "Structure with rows U[i,k] and columns U[i',k']"
    assert "36 of the 144 entries drawn are not zero" in desc and "diagonal" in desc


def test_pictures_are_the_same_every_time_and_small():
    f = rc.parse(FACTORS).diff("U", "U")
    assert f.structure()._repr_svg_() == rc.parse(FACTORS).diff("U", "U").structure()._repr_svg_()
    sizes = [len(row.derivative().structure()._repr_svg_() or "") for row in IDENTITIES[::7]]
    assert max(sizes) < 30_000 and min(sizes) > 0


def test_deep_expressions_are_drawn():
    x = rc.variable("x[i]")
    horner = product = x
    for k in range(1100):
        horner = horner * x + float(k % 7 + 1)
        product = rc.einsum("i j, j -> i", rc.variable("A[i,j]"), product) + x
    for deep in (horner, product):
        made = deep.structure()._repr_svg_() or ""
        assert cells(made) == [(7, 0)] and "dense" in made
    assert cells(product.diff("x").structure()._repr_svg_() or "") == [(49, 0)]


def test_what_cannot_be_drawn_has_no_picture():
    assert rc.parse("y[a,b,c,d,e,f,g,h,i] = A[a,b,c,d,e,f,g,h,i]").structure()._repr_svg_() is None
    assert rc.parse("y[i] = x[i]", sizes={"i": 0}).structure()._repr_svg_() is None


def test_compressed_results_are_drawn_by_their_structure():
    f = rc.parse(FACTORS).diff("U", "U").compile("numpy", compressed=True)
    rng = np.random.default_rng(0)
    c = f(T=rng.normal(size=(3, 4)), U=rng.normal(size=(3, 2)), V=rng.normal(size=(4, 2)))
    picture = c._shell.picture("title")
    assert picture is not None and untrue(picture.whole, c.todense()) == ""
    assert cells(to_svg(picture)) == [(12, 24)] and "2 delta[i,i" in c._repr_svg_()
    long = rc.parse("l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))").diff("w", "w").compile("numpy", compressed=True)
    big = long(X=rng.normal(size=(900, 40)), w=np.ones(40), y=np.ones(900))
    assert cells(big._repr_svg_()) == [(144, 0)] and "40×40" in big._repr_svg_()
