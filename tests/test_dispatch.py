"""One call: the kinds of operands say who takes it, by whatever name it is made, at one cost and with one result."""

from __future__ import annotations

import operator
import sys
from functools import partial

import numpy as np
import pytest

import ricci as rc
from ricci import dispatch
from ricci.errors import InvariantError
from ricci.functions.table import FUNCTIONS

RNG = np.random.default_rng(11)
X, Y = RNG.uniform(0.2, 0.8, (2, 3, 3))
torch = pytest.importorskip("torch", reason="torch is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # outside the domains of functions, NumPy warns


def words(text):
    return text.split()


def calls_of(function):
    """How many functions of Python are called, once all is warm: the least of a few times, as caches may be tidied."""
    function(), function()
    return min(_calls_of(function) for _ in range(3))


def _calls_of(function):
    seen = []
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, arg: seen.append(frame) if event == "call" else None)
    try:
        function()
    finally:
        sys.setprofile(before)
    return len(seen) - 2  # without the function itself and the last setprofile


def test_calls_are_counted():
    assert calls_of(lambda: None) == calls_of(lambda: 1 + 1)
    assert calls_of(lambda: words("a")) == calls_of(lambda: None) + 1


# The same function by all its names, with further operands

NAMES: dict = dict.fromkeys(words("sin exp log tanh sqrt abs square sign sum mean max prod"), ())
NAMES |= {"maximum": (0.5,), "add": (Y,), "multiply": (2.0,), "less": (0.5,), "hypot": (Y,)}


@pytest.mark.parametrize("name", NAMES)
def test_an_eager_call_costs_the_same_by_every_name(name):
    t, more = rc.Tensor(X), NAMES[name]
    counts = {
        "np": calls_of(lambda: getattr(np, name)(t, *more)),
        "rc": calls_of(lambda: getattr(rc, name)(t, *more)),
        "method": calls_of(lambda: getattr(t, name)(*more)),
        "ricci.numpy": calls_of(lambda: getattr(rc.numpy, name)(t, *more)),
    }
    assert max(counts.values()) - min(counts.values()) <= 4, counts
    assert max(counts.values()) <= 18, counts


def test_calls_are_short():
    """What a call on a tensor takes in functions of Python: operators the least, and no way much more than another."""
    t, f = rc.Tensor(X), rc.parse("y[i,j] = 2 x[i,j]")
    assert calls_of(lambda: t * 2) <= 3
    assert calls_of(lambda: np.sin(t)) <= 8
    assert calls_of(lambda: t[0]) <= 16
    assert calls_of(lambda: t.T) <= 24
    assert calls_of(lambda: rc.rearrange(t, "a b -> b a")) <= 36
    assert calls_of(lambda: rc.reduce(t, "a b -> b", "sum")) <= 45
    assert calls_of(lambda: f(x=t)) <= 52
    assert calls_of(lambda: rc.softmax(t, -1)) <= 34
    assert calls_of(lambda: rc.sin(X)) <= 12


# All names, on operands of all kinds

KINDS = {
    "float64": lambda a: a,
    "float32": lambda a: a.astype(np.float32),
    "a number of NumPy": lambda a: a[0, 0],
    "list": lambda a: a.tolist(),
    "torch": torch.tensor,
    "tensor": rc.Tensor,
    "tensor without gradient": lambda a: rc.Tensor(a, False),
    "float32 tensor": lambda a: rc.Tensor(a.astype(np.float32)),
    "whole tensor": lambda a: rc.Tensor((10 * a).astype(np.int64)),
    "tensor with names": lambda a: rc.Tensor(a, axes="b t"),
    "number tensor": lambda a: rc.Tensor(a[0, 0]),
}
SECOND = {  # what may stand beside them
    "the same": None,
    "a number": lambda a: 0.5,
    "an array": lambda a: a,
    "a tensor": rc.Tensor,
}
OTHERS = {"clip": (0.3, 0.6), "polygamma": (1,)}
PLACES = ("argmax", "argmin", "argsort", "cumsum", "cumprod", "sort")  # along one axis, which NumPy has a default for
WHOLE = ("ceil", "floor", "round", "power", "reciprocal")  # of whole numbers, rc's are floats, as in mathematics


def argument_lists(name, make):
    row, x = FUNCTIONS[name], make(X)
    if row.kind != "elementwise":
        yield from [(x, -1)] if name in PLACES else [(x,), (x, 0), (x, -1)]
    elif row.arity == 1 or name in OTHERS:
        yield (x, *OTHERS.get(name, ()))
    else:
        for beside in SECOND.values():
            y = make(Y) if beside is None else beside(Y)
            yield (x, y) if row.arity == 2 else (x, y, x)


def outcome(call):
    """What a call gives: that it is an error; or type, that of entries, shape, names, gradient, value."""
    try:
        value = call()
    except (rc.RicciError, np.exceptions.AxisError, TypeError, ValueError):
        return "an error"
    plain = value.numpy() if isinstance(value, rc.Tensor) else np.asarray(value)
    said = [getattr(value, word, None) for word in ("axes", "requires_grad")] if isinstance(value, rc.Tensor) else []
    kind = np.ndarray if isinstance(value, np.generic) else type(value)
    return kind, plain.dtype, plain.shape, *said, [f"{v:.6g}" for v in np.ravel(1.0 * plain)]


def roads(name, args):
    """The ways to make a call: of the table, as a method, and by NumPy where it has the name."""
    found = {"rc": lambda: getattr(rc, name)(*args)}
    if isinstance(args[0], rc.Tensor):
        if FUNCTIONS[name].method and name not in ("sort", "where", "neg", "barrier", "trace"):
            found["method"] = lambda: getattr(args[0], name)(*args[1:])
        if callable(getattr(np, name, None)) and name != "trace":
            found["np"] = lambda: getattr(np, name)(*args)
            found["ricci.numpy"] = lambda: getattr(rc.numpy, name)(*args)
    return found


EVERY = [name for name, row in FUNCTIONS.items() if row.kind != "matrix" and name != "trace"]


@pytest.mark.parametrize("name", EVERY)
def test_the_roads_agree(name):
    """In value, type, shape, names and gradient."""
    for kind, make in KINDS.items():
        if kind == "whole tensor" and name in WHOLE:
            continue
        if kind == "number tensor" and FUNCTIONS[name].kind != "elementwise":
            continue  # NumPy lets axis 0 of a number pass
        for args in argument_lists(name, make):
            found = {road: outcome(call) for road, call in roads(name, args).items()}
            first = found["rc"]
            for road, other in found.items():
                assert other == first, (name, kind, road, args)


def compiled(function, args):
    """The function of the arrays among its arguments, as a program."""
    arrays = [a for a in args if isinstance(a, np.ndarray)]
    more = [a for a in args if not isinstance(a, np.ndarray)]
    return rc.compile(lambda *xs: function(*xs, *more))(*arrays)


@pytest.mark.parametrize("name", EVERY)
def test_traced_roads_agree(name):
    ways = {"rc": getattr(rc, name)}
    if FUNCTIONS[name].method and name not in ("sort", "where", "neg", "barrier"):
        ways["method"] = lambda x, *rest: getattr(x, name)(*rest)
    if callable(getattr(np, name, None)):
        ways["np"] = getattr(np, name)
    for kind in ("float64", "float32"):
        for args in argument_lists(name, KINDS[kind]):
            if any(isinstance(a, rc.Tensor) for a in args):
                continue
            found = {road: str(outcome(partial(compiled, function, args))) for road, function in ways.items()}
            assert len(set(found.values())) == 1, (name, kind, found)


NOTHING = ("imag",)  # is left of real numbers
ENTRYWISE = [n for n in EVERY if FUNCTIONS[n].kind == "elementwise" and n not in (*OTHERS, *NOTHING)]


@pytest.mark.parametrize("name", ENTRYWISE)
def test_formulas_agree_with_arrays(name):
    letters = "xyz"[: FUNCTIONS[name].arity]
    formula = getattr(rc, name)(*[rc.variable(f"{letter}[i,j]") for letter in letters])
    values = dict(zip(letters, (X, Y, Y), strict=False))
    given = {v: values[v] for v in formula.variables}
    np.testing.assert_allclose(formula(**given), getattr(rc, name)(*values.values()), rtol=1e-12)
    assert isinstance(formula(**{v: rc.Tensor(x) for v, x in given.items()}), (rc.Tensor, np.ndarray))


@pytest.mark.parametrize("name", ["add", "equal", "maximum", "hypot"])
def test_what_is_no_operand_is_refused(name):
    for other in (None, "x", object()):
        with pytest.raises((rc.RicciError, TypeError)):
            getattr(rc, name)(rc.Tensor(X), other)


def test_operators_are_calls():
    t, u = rc.Tensor(X), rc.Tensor(Y)
    for word, function in {"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide}.items():
        for a, b in ((t, u), (t, 0.5), (0.5, t), (t, Y), (Y, t)):
            assert outcome(partial(getattr(operator, word), a, b)) == outcome(partial(function, a, b)), word


# Who takes a call


def test_the_last_kind_takes_a_call():
    t, f, seen = rc.Tensor(X), rc.variable("x[i,j]"), []

    def program(x):
        for values in ((1.0,), (X,), (X, t), (t, x), (x, t, f), ([1.0, [t]],), ({"a": x},)):
            seen.append(dispatch.ORDER[dispatch.rank_of(values)])
        return x

    rc.compile(program)(Y)
    assert seen[0] == "numbers" and seen[1] in ("plain", "watched")
    assert seen[2:] == ["tensor", "traced", "formula", "tensor", "traced"]
    assert dispatch.rank_now((X,)) == dispatch.PLAIN and dispatch.rank_of(("x", None, 2)) == dispatch.NUMBERS


def test_all_that_ricci_is_asked_for_is_recorded_while_a_function_is_traced():
    kinds = []

    def program(x):
        kinds.extend(type(rc.sin(value)).__name__ for value in (X, 0.5, rc.Tensor(X), x))
        kinds.append(type(rc.parse("y = 2 x")(x=0.5)).__name__)
        return x

    rc.compile(program)(Y)
    assert kinds == ["Traced"] * 5


def test_what_is_changed_says_who_changes_it():
    t = rc.Tensor(X, False)
    dispatch.change(operator.setitem, (t, 0, 1.0))
    assert t.numpy()[0].tolist() == [1.0] * 3
    dispatch.change(operator.iadd, (t, 1.0))
    assert t.numpy()[0].tolist() == [2.0] * 3


def test_types_are_looked_at_once():
    class Own(rc.Tensor):
        __slots__ = ()

    t = Own(X)
    assert isinstance(np.sin(t), rc.Tensor)
    known = dict(dispatch._types.known)
    np.sin(t), rc.sin(t), t.sin()
    assert dispatch._types.known == known and (Own,) in known
    np.stack([t, t])  # in lists, they are looked at each time
    assert (list,) not in dispatch._types.known


def test_formulas_beside_other_operands_are_refused():
    f, t = rc.variable("x[i,j]"), rc.Tensor(X)
    for call in (lambda: t * f, lambda: np.multiply(t, f), lambda: rc.maximum(t, f), lambda: rc.numpy.sin(f)):  # pyright: ignore[reportArgumentType, reportCallIssue]
        with pytest.raises((rc.InputError, TypeError), match=r"(?i)formula"):
            call()


def test_what_no_room_offers_is_an_error():
    with pytest.raises(InvariantError, match="No room offers 'lunch'"):
        dispatch.offered("lunch")
