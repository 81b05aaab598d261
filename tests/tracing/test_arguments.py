"""Calls are bound by NumPy's own signatures, and lowerings get what they ask for."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import scipy.special  # noqa: F401  # its functions are in the table once it is imported

from ricci.errors import TraceError
from ricci.expr import Expr
from ricci.tracing import recording  # noqa: F401  # what traced arrays do in calls
from ricci.tracing.arguments import NONE, STUBS, Axes, OneAxis, Signed, Traced, signature_of, stub
from ricci.tracing.basics import NeedsValueError
from ricci.tracing.frames import frame
from ricci.tracing.lowerings import TABLE
from ricci.tracing.rows import table

X = np.arange(6.0).reshape(2, 3)


def _told(function) -> inspect.Signature | None:
    """What NumPy itself says, or nothing."""
    try:
        return inspect.signature(function)
    except ValueError:
        return None


@pytest.mark.parametrize("function", [f for f in STUBS if f is not np.arange], ids=lambda f: f.__name__)
def test_stubs_are_what_numpy_tells(function):
    told = _told(function)
    assert told is None or str(told) == str(stub(STUBS[function]))


@pytest.mark.parametrize("ufunc", [np.sin, np.add, np.matmul, np.vecdot], ids=lambda f: f.__name__)
def test_signatures_of_ufuncs_are_what_numpy_tells(ufunc):
    told = _told(ufunc)
    assert told is None or str(told) == str(signature_of(ufunc))


def test_a_wrong_stub_is_seen(monkeypatch):
    if _told(np.dot) is None:
        pytest.skip("this NumPy does not tell")
    monkeypatch.setitem(STUBS, np.dot, "a, b")
    with pytest.raises(AssertionError):
        test_stubs_are_what_numpy_tells(np.dot)


def unknown_parameters() -> list[str]:
    """Parameters of lowerings that none of the functions they stand for has."""
    served: dict = {}
    for row in table().values():
        served.setdefault(row.lower, []).append(row)
    found = []
    for rows in served.values():
        theirs = {name for row in rows for name in row.binding.signature.parameters}
        free = any(row.binding.open for row in rows)
        found += [f"{rows[0].name}: {own}" for own, s, _, _ in rows[0].binding.taken if s not in theirs and not free]
    return found


def test_lowerings_ask_for_what_there_is():
    assert unknown_parameters() == []


def test_a_lowering_that_asks_for_more_is_seen(monkeypatch):
    def lower(x: Traced, axsi: OneAxis = 0) -> Traced:
        return x

    row = table()[np.sort]
    monkeypatch.setitem(TABLE, np.sort, type(row)(row.name, row.function, lower, row.group))
    assert unknown_parameters() == ["np.sort: axsi"]


def bound(function, lower, *args, **kwargs):
    with frame("f") as own:
        given = [Traced(own.variable("x", X.shape), X.dtype, own) if a is X else a for a in args]
        return Signed(f"np.{function.__name__}", signature_of(function), lower)(tuple(given), kwargs)


def test_conversions():
    def total(x: Traced, axis: Axes, dtype=None, initial=None) -> tuple:
        return x, axis, dtype, initial

    x, axis, dtype, initial = bound(np.sum, total, X)
    assert isinstance(x, Traced) and axis == (0, 1) and dtype is None and initial is None
    assert bound(np.sum, total, X, -1, initial=NONE)[1:] == ((1,), None, None)
    assert bound(np.sum, total, X, axis=(-1, 0))[1] == (1, 0)

    def along(x: Traced, axis: OneAxis) -> tuple:
        return x, axis

    assert bound(np.sort, along, X)[1] == 1
    flat, axis = bound(np.sort, along, X, None)
    assert flat.shape == (6,) and axis == 0 and isinstance(flat.expr, Expr)


def test_keepdims_is_for_all():
    with frame("f") as own:
        x = Traced(own.variable("x", (2, 3)), X.dtype, own)
        assert np.sum(x, 0, keepdims=True).shape == (1, 3)
        assert np.argmax(x, keepdims=True).shape == (1, 1)
        assert np.quantile(x, [0.1, 0.2], axis=1, keepdims=True).shape == (2, 2, 1)
        found, weights = np.average(x, axis=1, weights=np.ones(3), returned=True, keepdims=True)
        assert found.shape == weights.shape == (2, 1)


WRONG = [
    (lambda x: np.sum(x, out=np.zeros(())), "cannot be written into a given array"),
    (lambda x: np.sin(x, casting="unsafe"), None),
    (lambda x: np.add(x, 1, where=np.ones(3, bool)), "leave out where="),
    (lambda x: np.sort(x, order="f"), "leave out order='f'"),
    (lambda x: np.zeros_like(x, order="F"), None),
    (lambda x: table()[np.zeros_like].binding((x,), {"device": "gpu"}), "leave out device='gpu'"),
    (lambda x: np.quantile(x, 0.5, weights=np.ones(3), method="inverted_cdf"), "leave out weights="),
    (lambda x: table()[np.sum].binding((x,), {"axes": 0}), "unexpected keyword argument 'axes'.*np.sum\\(a, axis=None"),
    (lambda x: table()[np.sum].binding((), {}), "missing a required argument: 'a'"),
    (lambda x: table()[np.sort].binding((x, 0, None, None, 1), {}), "too many positional arguments"),
    (lambda x: table()[np.reshape].binding((), {"a": x, "shape": 3}), "positional"),
]


@pytest.mark.parametrize("f, says", WRONG)
def test_arguments_that_matter_are_refused_in_one_wording(f, says):
    with frame("f") as own:
        x = Traced(own.variable("x", (3,)), X.dtype, own)
        if says is None:
            assert f(x).shape == (3,)
            return
        with pytest.raises(TraceError, match=says):
            f(x)


def test_what_decides_shapes_must_be_known():
    with frame("f") as own:
        x = Traced(own.variable("x", (3,)), np.dtype(np.int64), own)
        with pytest.raises(NeedsValueError, match=r"np\.tile: reps decides the shape of the result.*static_argnums"):
            np.tile(x, x)
