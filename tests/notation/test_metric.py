"""With a metric, names stand at any heights: against NumPy, and the geometry of known surfaces."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ricci as rc

CHRISTOFFEL = "C^k_{ij} = 1/2 g^{kl} (D(g_{lj}, x^i) + D(g_{il}, x^j) - D(g_{ij}, x^l))"
RICCI = """
R^l_{kij} = D(C^l_{jk}, x^i) - D(C^l_{ik}, x^j) + C^l_{im} C^m_{jk} - C^l_{jm} C^m_{ik}
Ric_{kj} = R^i_{kij}
"""
SPHERE = "g_{ij} = delta_{i 0} delta_{j 0} r**2 + delta_{i 1} delta_{j 1} r**2 sin(x^{0,})**2"
SCHWARZSCHILD = """
f = 1 - rs/x^{1,}
g_{ij} = -delta_{i 0} delta_{j 0} f + delta_{i 1} delta_{j 1}/f + (x^{1,})**2 (delta_{i 2} delta_{j 2}
    + delta_{i 3} delta_{j 3} sin(x^{2,})**2)
"""
rng = np.random.default_rng(0)
A = rng.normal(size=(4, 4))
G = A @ A.T + np.eye(4)
H = np.linalg.inv(G)
F, T, V, W = rng.normal(size=(4, 4)), rng.normal(size=(4, 4, 4)), rng.normal(size=4), rng.normal(size=4)

VALUES = [
    ("s = v^i v_{i}", "i,ij,j", [V, G, V]),
    ("s = w_{i} w^i", "i,ij,j", [W, H, W]),
    ("s = F_{i j} F^{i j}", "ij,ia,jb,ab", [F, H, H, F]),
    ("s = F_{i j} F^{j i}", "ij,ja,ib,ab", [F, H, H, F]),
    ("y_{i}^k = F_{i j} F^{j k}", "ij,ja,kb,ab->ik", [F, H, H, F]),
    ("s = F_{i j} v^i v^j + F^k_k", "", []),
    ("y_{i j k} = T^i'_{j k} g_{i i'} + T_{i j k}", "aijk->ijk", []),
    ("y^{i j} = 0 g_{i' j'} v^i' v^j' 1^{i j} + g^{i j}", "ij->ij", [H]),
    ("y_{i}^j = g_{i k} g^{k j}", "ij->ij", [np.eye(4)]),
    ("y_{i}^j = g_{i}^j + w_{i} v^j", "ij->ij", [np.eye(4) + np.outer(W, V)]),
    ("y = 0 v^i w_{i} + v_{0}", "j,j->", [G[0], V]),
    ("y^i = exp(v^i); s = y_{i} y^i", "i,ij,j", [np.exp(V), G, np.exp(V)]),
    ("y^k = D(w_{i} v^i v_{j} v^j, v_{k})", "", []),
]
OTHERWISE = {
    "s = F_{i j} v^i v^j + F^k_k": V @ F @ V + np.trace(H @ F),
    "y_{i j k} = T^i'_{j k} g_{i i'} + T_{i j k}": 2 * np.einsum("ia,ajk->ijk", G, T),
    "y^k = D(w_{i} v^i v_{j} v^j, v_{k})": H @ W * (V @ G @ V) + (W @ V) * 2 * V,
}


@pytest.mark.parametrize("text, subscripts, arrays", VALUES)
def test_values(text, subscripts, arrays):
    f = rc.parse(text, metric="g")
    expected = OTHERWISE[text] if text in OTHERWISE else np.einsum(subscripts, *arrays)
    known = {"g": G, "F": F, "T": T, "v": V, "w": W}
    assert np.allclose(f(**{name: known[name] for name in f.variables}), expected)
    assert rc.parse(str(f), metric="g") == f


def test_raising_and_then_lowering_gives_the_same():
    f = rc.parse("z = F_{k l} v^k v^l; U^{i j} = F^{i j}; W_{i j} = U_{i j}", metric="g")
    assert np.allclose(f["U"](F=F, g=G), H @ F @ H)
    known = {"F": F, "g": G}
    assert np.allclose(f(**{name: known[name] for name in f.variables}), F)


def test_a_metric_above_is_lowered_by_its_inverse():
    f = rc.parse("g^{i j} = h^{i j}; s = v^i v_{i}", metric="g")
    assert np.allclose(f(v=V, h=H), V @ G @ V)


def test_a_momentum():
    p = rc.parse("L = 1/2 m g_{ij} v^i v^j; p_{k} = D(L, v^k)", metric="g")
    assert np.allclose(p(m=3.0, g=G, v=V), 3 * G @ V) and p.standing == ("down",)


def test_by_the_inverse_metric():
    f = rc.parse("e_{i j} = D(g^{k l} p_{k} p_{l}, g^{i j})", metric="g")
    assert np.allclose(f(g=G, p=W), np.outer(W, W))


def test_the_sphere():
    christoffel = rc.parse(f"{SPHERE}; {CHRISTOFFEL}", metric="g")
    x = np.array([0.7, 0.3])
    expected = np.zeros((2, 2, 2))
    expected[0, 1, 1] = -np.sin(0.7) * np.cos(0.7)
    expected[1, 0, 1] = expected[1, 1, 0] = np.cos(0.7) / np.sin(0.7)
    assert np.allclose(christoffel(x=x, r=1.5), expected)
    scalar = rc.parse(f"{SPHERE}; {CHRISTOFFEL}; {RICCI}; S = Ric^j_j", metric="g")
    assert np.isclose(scalar(x=x, r=1.5), 2 / 1.5**2)


def test_schwarzschild_is_empty():
    ricci = rc.parse(f"{SCHWARZSCHILD}; {CHRISTOFFEL}; {RICCI}", metric="g")
    at = {"x": np.array([0.0, 3.0, 1.1, 0.4]), "rs": 1.2}
    assert np.abs(ricci["C"](**at)).max() > 0.1
    assert np.abs(ricci(**at)).max() < 1e-10
    broken = rc.parse(f"{SCHWARZSCHILD.replace('rs/x', 'rs x')}; {CHRISTOFFEL}; {RICCI}", metric="g")
    assert np.abs(broken(x=at["x"], rs=0.1)).max() > 1e-3


@pytest.mark.parametrize("seed", range(5))
def test_random_metrics_are_constant_under_their_covariant_derivative(seed):
    draw = np.random.default_rng(seed)
    a, x = draw.normal(size=(3, 3, 3)) / 10, draw.normal(size=3)
    a = a + a.transpose(1, 0, 2)
    text = f"""g_{{ij}} = h_{{ij}} + a_{{ijk}} x^k; {CHRISTOFFEL}
        n_{{kij}} = D(g_{{ij}}, x^k) - C^l_{{ki}} g_{{lj}} - C^l_{{kj}} g_{{il}}"""
    f = rc.parse(text, metric="g")
    at = {"h": 4 * np.eye(3), "a": a, "x": x}
    inverse = np.linalg.inv(4 * np.eye(3) + a @ x)
    expected = np.einsum("kl,lij->kij", inverse, a.transpose(0, 2, 1) + a.transpose(0, 1, 2) - a.transpose(2, 0, 1)) / 2
    assert np.allclose(f["C"](**at), expected) and np.abs(expected).max() > 1e-3
    assert np.allclose(f(**at), 0)


def test_a_metric_is_symmetric():
    p = rc.parse("L = 1/2 m g_{ij} v^i v^j; p_{k} = D(L, v^k)", metric="g")
    assert str(p) == "p_{k} = m g_{k i} v^i"
    assert p == rc.parse("p_{k} = m g_{i k} v^i", metric="g")
    with pytest.raises(rc.RicciError, match="symmetric"):
        p(m=1.0, g=A, v=V)
    field = rc.parse("T^{a b} = F^{a m} F^b_m - 1/4 g^{a b} F_{m n} F^{m n}", metric="g")
    expected = np.einsum("am,bn,mn->ab", F, F, G) - H * np.einsum("ij,ia,jb,ab", F, G, G, F) / 4
    assert np.allclose(field(F=F, g=G), expected)


def test_a_metric_that_the_text_defines_is_what_it_says():
    f = rc.parse("g_{i j} = h_{i j}; s = g_{i j} v^i w^j", metric="g")
    assert np.allclose(f(h=A, v=V, w=W), V @ A @ W)


def test_derivatives_are_read_again():
    f = rc.parse("s = F_{m n} F^{m n} + w^k v_{k} + w_{k} v^k", metric="g")
    for name in f.variables:
        derivative = f.diff(name)
        assert rc.parse(str(derivative), metric="g") == derivative


def test_moved_names_are_printed_as_they_were_written():
    for text in ("s = F_{m n} F^{m n}", "s = v^i v_{i} + exp(w_{k} w^k)", "y^k = g^{k l} w_{l}"):
        f = rc.parse(text, metric="g")
        assert str(f) == text and rc.parse(str(f), metric="g") == f
    stays = rc.parse("L = 1/2 m g_{i j} v^i v^j", metric="g")
    assert str(stays) == "L = 1/2 m g_{i j} v^i v^j"  # nothing is moved in it
    alone = rc.parse("s = F_{m n} F^{m n}; y^{m n} = F^{m n}", metric="g")
    assert "F_{" in str(alone) and rc.parse(str(alone), metric="g") == alone  # or it would be given above


def test_by_another_height_is_said_in_the_text():
    with pytest.raises(rc.NotationError, match=r"Write it in the text: D\(…, F\^\{a b\}\)"):
        rc.parse("s = F_{m n} F^{m n}", metric="g").diff("F^{a b}")


REFUSED = [
    ("s = v^i g_{i j k} v^j", "has not two indices", "g_{i j k}"),
    ("g^i_j = A^i_j; s = v^i v_{i}", "stand above and below", "g^i_j = A^i_j"),
    ("s = v^i v^i", "is summed and stands above and above", "v^i"),
    ("y_{i} = v^i", "stands below on the left and above", "v^i"),
    ("y_{i}^j = D(v^k v_{k}, g^i_j)", "constant", "g^i_j"),
]


@pytest.mark.parametrize("text, message, marked", REFUSED)
def test_what_is_refused_is_marked(text, message, marked):
    with pytest.raises(rc.NotationError) as caught:
        rc.parse(text, metric="g")
    error = caught.value
    assert message in str(error) and text[error.start : error.end] == marked


def test_without_a_metric_heights_are_kept():
    with pytest.raises(rc.NotationError, match="stand above elsewhere"):
        rc.parse("s = v^i v_{i}")


def test_below_only_is_cartesian():
    assert rc.parse("c_{ik} = a_{ij} b_{jk}", metric="g") == rc.parse("c[i,k] = a[i,j] b[j,k]")


def test_shared_parts_of_deltas_stand_where_they_are_used():
    """A part that is printed by a name of its own, and says nothing of heights, has some: it stands beside tensors."""
    text = """
    f = 1 - rs/x^{1,}
    g_{ij} = -delta_{i 0} delta_{j 0} f + delta_{i 1} delta_{j 1}/f + (x^{1,})**2 (delta_{i 2} delta_{j 2}
        + delta_{i 3} delta_{j 3} sin(x^{2,})**2)
    C^k_{ij} = 1/2 g^{kl} (D(g_{lj}, x^i) + D(g_{il}, x^j) - D(g_{ij}, x^l))
    """
    symbols = rc.parse(text, metric="g")
    assert re.search(r"t\d[\^_]", str(symbols))  # the part
    assert rc.parse(str(symbols), metric="g") == symbols


LATEX_CURVATURE = r"""
g_{ij} = r^2 \left(\delta_{i0} \delta_{j0} + \delta_{i1} \delta_{j1} \sin^2(x^{0,})\right)
\Gamma^k_{ij} = \frac{1}{2} g^{kl} \left(\partial_i g_{lj} + \partial_j g_{il} - \partial_l g_{ij}\right)
R_{jl} = \partial_i \Gamma^i_{jl} - \partial_l \Gamma^i_{ji} + \Gamma^i_{im} \Gamma^m_{jl} - \Gamma^i_{lm} \Gamma^m_{ji}
S = g^{jl} R_{jl}
"""


def test_curvature_in_latex_comes_back():
    f = rc.parse(LATEX_CURVATURE, metric="g")
    x, r = np.array([0.7, 0.3]), 1.5
    assert np.isclose(f(x=x, r=r), 2 / r**2)
    np.testing.assert_allclose(f["R"](x=x, r=r), np.diag([1, np.sin(0.7) ** 2]), atol=1e-12)
    for g in (f, f["R"], f["Gamma"], f["g"]):
        assert rc.parse(str(g), metric="g") == rc.parse(g.latex(), metric="g") == g


SPACES = {  # the metric, a place, and the scalar curvature there
    "polar": ("delta_{i 0} delta_{j 0} + delta_{i 1} delta_{j 1} x^{0,}**2", [2.0, 0.5], 0.0),
    "hyperbolic": ("(delta_{i 0} delta_{j 0} + delta_{i 1} delta_{j 1}) / x^{1,}**2", [0.3, 0.8], -2.0),
    "expanding": (
        "-delta_{i 0} delta_{j 0}"
        " + a(x^{0,})**2 (delta_{i 1} delta_{j 1} + delta_{i 2} delta_{j 2} + delta_{i 3} delta_{j 3})",
        [2.0, 0.1, 0.2, 0.3],
        6 * (2 / 3 * (2 / 3 - 1) + (2 / 3) ** 2) / 4,
    ),
}
CURVATURE = """
C^k_{ij} = 1/2 g^{kl} (D(g_{lj}, x^i) + D(g_{il}, x^j) - D(g_{ij}, x^l))
R_{jl} = D(C^i_{jl}, x^i) - D(C^i_{ji}, x^l) + C^i_{im} C^m_{jl} - C^i_{lm} C^m_{ji}
S = g^{jl} R_{jl}
"""


@pytest.mark.parametrize("space", SPACES)
def test_curvature_of_spaces(space):
    metric, place, curvature = SPACES[space]
    f = rc.parse(f"g_{{ij}} = {metric}{CURVATURE}", metric="g", functions="a")
    own = {"a": lambda t: t ** (2 / 3)} if "a(" in metric else {}
    assert np.isclose(f(x=np.array(place), **own), curvature, atol=1e-12)


def test_divergence_and_laplacian_in_polar_coordinates():
    polar = f"g_{{ij}} = {SPACES['polar'][0]}{CURVATURE.partition('R_')[0]}"
    x = np.array([2.0, 0.5])
    d = rc.parse(polar + "v^k = x^{0,}**2 delta^{k 0}; d = D(v^k, x^k) + C^k_{kj} v^j", metric="g")
    assert np.isclose(d(x=x), 3 * x[0])
    scalar = "f = x^{0,}**3 cos(2 x^{1,}); u_{i} = D(f, x^i); L = g^{ij} (D(u_{i}, x^j) - C^k_{ij} u_{k})"
    assert np.isclose(rc.parse(polar + scalar, metric="g")(x=x), (9 - 4) * x[0] * np.cos(2 * x[1]))
