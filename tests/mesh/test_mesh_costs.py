"""The simulated costs of meshes: no devices, and no JAX, are needed."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_cases import ATTENTION, FACTORS, LOGISTIC

import ricci as rc

HESSIAN = LOGISTIC.diff("w", "w").compile()
SIZES = {"m": 1 << 24, "n": 100}


def test_a_hessian_from_eight_to_4096_devices():
    costs = HESSIAN.mesh_costs(axes={"m": "data"}, sizes=SIZES)
    assert [row.devices for row in costs] == [8, 64, 512, 4096]
    whole = HESSIAN.mesh_costs(1, axes={"m": "data"}, sizes=SIZES)[1]
    for row in costs:
        (sent,) = row.collectives
        assert (sent.kind, sent.bytes, sent.over, sent.along) == ("all-reduce", 4 * 100**2, ("m",), ("data",))
        assert row.sent == 2 * sent.bytes * (row.devices - 1) / row.devices
        assert row.flops == pytest.approx(whole.flops / row.devices, rel=1e-6)
        assert whole.memory / row.devices < row.memory < whole.memory / row.devices + 1e6
    assert whole.sent == 0 and not whole.collectives


def test_plans_know_the_indices():
    told = str(HESSIAN.mesh_costs([8, 64], axes={"m": "data", "n": "model"}, sizes=SIZES))
    assert "data 8 × model 1" in told
    told = str(HESSIAN.mesh_costs([{"data": 4, "model": 2}], axes={"m": "data", "n": "model"}, sizes=SIZES))
    assert "data 4 × model 2" in told
    for line in ("summed over n) along model", "cut by n) along model", "summed over m) along data"):
        assert line in told


def test_costs_of_the_latest_call():
    f = LOGISTIC.diff("w").compile("numpy")
    f(X=np.ones((40, 3)), y=np.ones(40), w=np.ones(3))
    (sent,) = f.mesh_costs(8, axes={"m": "data"})[8].collectives
    assert sent.bytes == 3 * 8
    assert "not shared equally by 16" in str(f.mesh_costs([8, 16], axes={"m": "data"}))


def test_nothing_is_sent_where_indices_are_free():
    costs = FACTORS.diff("U", "U").compile().mesh_costs(64, axes={"i": "data"}, sizes={"i": 6400, "j": 100, "k": 8})
    assert not costs[64].sent and "Nothing is sent" in str(costs)
    heads = {"b": 64, "h": 16, "i": 128, "j": 128, "d": 64, "e": 64}
    f = rc.compile(list(ATTENTION.diff_all("q", "k", "v")))
    assert not f.mesh_costs(512, axes={"b": "data", "h": "model"}, sizes=heads)[512].sent
    assert f.mesh_costs(512, axes={"i": "data"}, sizes=heads)[512].sent


def test_memory_of_a_device_counts_what_it_gathers():
    costs = HESSIAN.mesh_costs([8], axes={"n": "data"}, sizes={"m": 1 << 20, "n": 64})[8]
    (gathered,) = [each for each in costs.collectives if each.kind == "all-gather"]
    assert gathered.bytes == 4 * 64 * 2**20 < costs.memory


def test_traced_functions():
    f = rc.grad(lambda w, X: ((X @ w) ** 2).sum(), axes={"X": "m n"})
    costs = f.mesh_costs([8, 64], axes={"m": "data"})(np.ones(50, np.float32), np.ones((4096, 50), np.float32))
    assert [each.bytes for each in costs[64].collectives] == [200]


def test_compressed_results_and_loops():
    f = FACTORS.diff("U", "U").compile(compressed=True)
    costs = f.mesh_costs(8, axes={"j": "data"}, sizes={"i": 1000, "j": 800, "k": 4})
    assert [each.bytes for each in costs[8].collectives] == [4 * 16]
    g = rc.compile(lambda A, x: [x := np.tanh(A @ x) for _ in range(40)][-1], axes={"A": "i j"})
    assert g.mesh_costs(8, axes={"j": "data"})(np.ones((16, 16)), np.ones(16))[8].sent


@pytest.mark.parametrize(
    "options, words",
    [
        ({}, "needs axes="),
        ({"axes": {"q": "data"}}, "no index 'q'"),
        ({"axes": {"m": "data"}, "sizes": {"m": 8}}, "lacks index 'n'"),
        ({"axes": {"m": "data"}, "devices": 0}, "takes numbers of devices"),
        ({"axes": {"m": "data"}, "devices": {"model": 8}}, "how many devices are along 'data'"),
        ({"axes": {"m": 8}}, "a tuple of some"),
    ],
)
def test_errors(options, words):
    with pytest.raises(rc.RicciError, match=words):
        HESSIAN.mesh_costs(options.pop("devices", None), **{"sizes": SIZES, **options})


def test_asking_for_what_is_not_there():
    costs = HESSIAN.mesh_costs(8, axes={"m": "data"}, sizes=SIZES)
    assert len(costs) == 1
    with pytest.raises(rc.InputError, match="costs for 8 devices, not for 9"):
        costs[9]
