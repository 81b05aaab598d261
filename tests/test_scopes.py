"""Axes across operations: scopes, signatures and tables of shapes, driven by a small operation of our own."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import inspect
import os
import pickle
import re
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ricci
from ricci.einops import watch
from ricci.einops.watch import WATCHERS, Watcher, check, note
from ricci.errors import AxisError, AxisSizeError, AxisSpaceError, InputError, NotationError, RicciError, ShapeError
from ricci.scopes import AxisScope, axes, shapes, signature

pytestmark = pytest.mark.usefixtures("nothing_before")


def of_ricci(function):
    """Lets a function pass for one of ricci, so that its lines are not the user's."""
    function.__code__ = function.__code__.replace(co_filename="<ricci operation>")
    return function


def parts_of(side):
    """The names of the axes of one side: ``b (h d)`` → ``("b", ("h", "d"))``."""
    return tuple([tuple(w[1:-1].split()) if w[0] == "(" else w for w in re.findall(r"\([^)]*\)|\w+", side)])


@of_ricci
def op(x, pattern, **sizes):
    """Reorders the axes of an array as ``rearrange`` does; a composite axis stays together."""
    left, right = (parts_of(side) for side in pattern.split("->"))
    for part, size in zip(left, x.shape):
        if isinstance(part, str):
            sizes[part] = size
        else:
            (unknown,) = [name for name in part if name not in sizes]
            sizes[unknown] = size // int(np.prod([sizes[name] for name in part if name != unknown]))
    watched = bool(WATCHERS.get())
    if watched:
        check("op", pattern, [(x, left)], sizes)
    out = transposed(x, [left.index(part) for part in right])
    if watched:
        note("op", pattern, [(x, left)], [(out, right)], sizes)
    return out


def transposed(x, order):
    return x.permute(order) if hasattr(x, "permute") else x.transpose(order)


@of_ricci
def pair(x, y, pattern):
    """An operation on two arrays that gives nothing back."""
    left = [tuple(side.split()) for side in pattern.split(",")]
    sizes = {name: size for side, z in zip(left, (x, y)) for name, size in zip(side, z.shape)}
    check("pair", pattern, list(zip((x, y), left)), sizes)
    note("pair", pattern, list(zip((x, y), left)), [], sizes)


def line(marker):
    """``test_scopes.py:12`` for the line of the calling test that ends with the comment ``marker``."""
    code = inspect.currentframe().f_back.f_code  # type: ignore[union-attr]
    lines, first = inspect.getsourcelines(code)
    (found,) = [number for number, text in enumerate(lines, first) if text.rstrip().endswith(f"  # {marker}")]
    return f"test_scopes.py:{found}"


def test_the_operation_of_these_tests():
    assert parts_of("b (h d) t") == ("b", ("h", "d"), "t")
    assert parts_of("b h (d)") == ("b", "h", ("d",))
    assert op(np.ones((2, 3, 6)), "b t (h d) -> (h d) b t", h=2).shape == (6, 2, 3)


@pytest.fixture(autouse=True)
def nothing_is_left_behind():
    yield
    assert WATCHERS.get() == ()
    assert not watch.OPEN


X = np.ones((2, 3, 4))


# Sizes.


def test_the_first_use_binds():
    with axes() as ax:
        op(np.ones((2, 3)), "b t -> t b")
        assert (ax["b"], ax.t, dict(ax), ax.sizes, "b" in ax, "d" in ax, len(ax)) == (
            *(2, 3, {"b": 2, "t": 3}, {"b": 2, "t": 3}, True, False, 2),
        )
        assert list(ax) == ["b", "t"]
    assert ax.b == 2  # still there after the scope


def test_two_uses_with_different_sizes():
    with axes(), pytest.raises(AxisSizeError) as raised:
        op(np.ones((2, 3)), "b t -> t b")  # first
        op(np.ones((2, 4)), "b t -> t b")  # second
    assert str(raised.value) == (
        f"Axis 't' has size 4 in op 'b t -> t b' ({line('second')}) and 3 in op 'b t -> t b' ({line('first')}).\n"
        "  b t -> t b\n"
        "    ^\n"
        "  The input has shape (2, 4); so far the scope has b=2 t=3.\n"
        "  A name has one size in a scope: rename the axis, or open a new scope with rc.axes(inherit=False)."
    )
    assert isinstance(raised.value, ShapeError)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_a_declared_size():
    with axes("t", d=512), pytest.raises(AxisSizeError) as raised:  # declared
        op(np.ones((2, 3, 128)), "b t (h d) -> b (h d) t", h=2)  # used
    first, pattern, carets, *_ = str(raised.value).splitlines()
    assert first == (
        f"Axis 'd' has size 64 in op 'b t (h d) -> b (h d) t' ({line('used')}) and 512 as declared by "
        f"rc.axes('t', d=512) ({line('declared')})."
    )
    assert pattern[carets.index("^")] == "d" and carets.count("^") == 1


def test_nothing_is_computed_with_sizes_that_do_not_fit(monkeypatch):
    with axes(t=3):
        monkeypatch.setattr(sys.modules[__name__], "transposed", lambda *_: pytest.fail("computed"))
        with pytest.raises(AxisSizeError):
            op(np.ones((2, 4)), "b t -> t b")


def test_what_failed_binds_nothing():
    with axes(b=2) as ax:
        with pytest.raises(AxisSizeError):
            op(np.ones((3, 4)), "b t -> t b")
        assert "t" not in ax
        check("op", "t", [(np.ones(9), ("t",))], {"t": 9})  # an operation that fails after its check
        op(np.ones((2, 5)), "b t -> t b")
        assert ax.t == 5


def test_without_a_scope_nothing_is_checked():
    op(np.ones((2, 3)), "b t -> t b")
    op(np.ones((2, 4)), "b t -> t b")


def test_names_without_sizes():
    with axes("t, s") as ax:
        assert "t" in ax and dict(ax) == {}
        with pytest.raises(AxisError, match="Axis 't' has no size yet"):
            ax["t"]
        op(np.ones((2, 3)), "b t -> t b")
        assert ax.t == 3
        with pytest.raises(AxisSizeError, match="Axis 't' has size 4"):
            op(np.ones((2, 4)), "b t -> t b")


def test_unknown_names():
    with axes(width=3) as ax:
        with pytest.raises(AxisError, match=r"The scope rc.axes\(width=3\) has no axis 'widht'. Did you mean 'width'?"):
            ax["widht"]
        with pytest.raises(AttributeError, match=r"Did you mean 'width'?"):
            _ = ax.widht
        assert not hasattr(ax, "_private") and 3 not in ax


def test_the_scope_prints_as_a_table():
    with axes("s", d=512) as ax:  # declared
        op(np.ones((2, 3)), "batch t -> t batch")  # used
    expected = [
        "axis   size  where it got it",
        f"s         ?  as declared by rc.axes('s', d=512) ({line('declared')})",
        f"d       512  as declared by rc.axes('s', d=512) ({line('declared')})",
        f"batch     2  in op 'batch t -> t batch' ({line('used')})",
        f"t         3  in op 'batch t -> t batch' ({line('used')})",
    ]
    assert str(ax).splitlines() == repr(ax).splitlines() == expected


@pytest.mark.parametrize("size", [1.0, True, -1, "3", None])
def test_what_is_no_size(size):
    with pytest.raises(InputError, match=r"The size of axis 'd' in .* is .*; a size is a whole number, 0 or more"):
        axes(d=size)
    with pytest.raises(InputError, match=r"The size of axis 'd' in .*signature"):
        signature("d", d=size)


def test_sizes_of_numpy():
    with axes(d=np.int64(3)) as ax:
        op(np.ones((2, 3)), "b d -> d b")
    assert type(ax.d) is int


@pytest.mark.parametrize("names, fault", [("t t", "twice"), ("t 2", "not a name"), ("(h d)", "not a name")])
def test_what_is_no_declaration(names, fault):
    with pytest.raises(NotationError, match=fault):
        axes(names)
    with pytest.raises(NotationError, match="twice"):
        axes("d", d=3)


@given(st.lists(st.tuples(st.permutations("abc"), st.tuples(*[st.integers(0, 2)] * 3)), max_size=4))
def test_a_scope_refuses_exactly_what_is_inconsistent(uses):
    known, consistent = {}, True
    for names, shape in uses:
        consistent = consistent and all(known.setdefault(n, s) == s for n, s in zip(names, shape))
    try:
        with axes() as ax:
            for names, shape in uses:
                op(np.ones(shape), f"{' '.join(names)} -> {' '.join(reversed(names))}")
            assert consistent and dict(ax) == known
    except AxisSizeError:
        assert not consistent


# Index spaces.


def test_two_declared_names_of_equal_size():
    with axes("t s"), pytest.raises(AxisSpaceError) as raised:
        y = op(X, "b t d -> t b d")  # first
        op(y, "s b d -> b s d")  # second
    assert str(raised.value) == (
        f"Axis 's' in op 's b d -> b s d' ({line('second')}) is axis 0 of an array of shape (3, 2, 4), and that is "
        f"axis 't' in op 'b t d -> t b d' ({line('first')}).\n"
        "  s b d -> b s d\n"
        "  ^\n"
        "  The scope rc.axes('t s') declares both names, so they are different index spaces: rename the axis. Where it "
        "is meant to change spaces, take its names off with ax.forget(array), or work in a new scope, "
        "rc.axes(inherit=False)."
    )


def test_inputs_are_remembered_as_well():
    x = X.copy()
    with axes("t s"):
        op(x, "b t d -> t b d")
        with pytest.raises(AxisSpaceError, match=r"Axis 's' .* is axis 1 of an array"):
            op(x, "b s d -> s b d")


def test_undeclared_names_rename_freely():
    x = X.copy()
    with axes("t"):
        y = op(x, "b t d -> t b d")
        z = op(y, "k b d -> b k d")
        op(op(z, "b s d -> s b d"), "m n o -> o n m")
        op(x, "b t d -> t b d")


def test_an_undeclared_name_does_not_hide_a_declared_one():
    with axes("t s"):
        y = op(X.copy(), "b t d -> t b d")
        op(y, "k b d -> b k d")
        with pytest.raises(AxisSpaceError):
            op(y, "s b d -> b s d")


def test_other_arrays_are_free():
    with axes("t s"):
        y = op(X.copy(), "b t d -> t b d")
        op(y + 1, "s b d -> b s d")
        op(y[:], "s b d -> b s d")


def test_an_array_taken_twice_by_one_operation_is_in_both_spaces():
    x = np.ones((3, 4))
    with axes("t s u"):
        pair(x, x, "t d, s d")
        pair(x, x, "s d, t d")
        with pytest.raises(AxisSpaceError, match="Axis 'u'") as raised:
            pair(np.ones((3, 4)), x, "u d, u d")
    assert str(raised.value).splitlines()[2].index("^") == 2 + len("u d, ")


def test_composite_axes():
    x = np.ones((2, 12))
    with axes("h d c t s"):
        y = op(x, "b (h d) -> (h d) b", h=3)
        op(y, "c b -> b c")  # the whole may have a name of its own
        op(y, "(h d) b -> b (h d)", h=3)
        with pytest.raises(AxisSpaceError, match=r"Axis 'd' .* is part of axis 0 .* that is axis 'h'"):
            op(y, "(d h) b -> b (d h)", d=4)
    with axes("t s"):
        y = op(x, "b (t d) -> (t d) b", t=3)
        with pytest.raises(AxisSpaceError):
            op(y, "(s d) b -> b (s d)", s=3)
        op(y, "(k d) b -> b (k d)", k=3)


def test_forget():
    x = X.copy()
    with axes("t"):
        op(x, "b t d -> t b d")
        with axes("s") as ax:
            with pytest.raises(AxisSpaceError):
                op(x, "b s d -> s b d")
            op(ax.forget(x), "b s d -> s b d")


def test_an_array_that_changed_its_shape_in_place_is_a_new_one():
    x = np.ones((3, 4))
    with axes("t s"):
        op(x, "t d -> d t")
        x.resize((4, 3), refcheck=False)
        op(x, "d s -> s d")


def test_expressions_carry_their_names():
    x = ricci.tensors("X[t,d]")[0]
    with axes("t s"):
        check("op", "k d", [(x, ("k", "d"))], {})
        with pytest.raises(AxisSpaceError, match="that is axis 't' by the expression itself"):
            check("op", "s d", [(x, ("s", "d"))], {})
    with axes("s"):
        check("op", "s d", [(x, ("s", "d"))], {})


def test_symbolic_sizes():
    n, m = ricci.tensors("X[n] Y[m]")
    (first,), (second,) = n.shape, m.shape
    with axes() as ax:
        note("op", "a", [], [], {"a": first})
        note("op", "a", [], [], {"a": first})
        note("op", "a", [], [], {"a": second})  # may turn out to be the same
        assert ax.a == first
        note("op", "a", [], [], {"a": 3})  # may turn out to be 3
        assert ax.a == 3
        note("op", "a", [], [], {"a": first})
        with pytest.raises(AxisSizeError, match=r"Axis 'a' has size 4 in op 'a' .* and 3 in op 'a'"):
            check("op", "a", [], {"a": 4})


def test_what_has_no_weak_references_is_not_remembered():
    class Slotted:
        __slots__ = ("shape",)

    x = Slotted()
    x.shape = (3,)
    with axes("t s"):
        note("op", "t", [(x, ("t",))], [], {"t": 3})
        check("op", "s", [(x, ("s",))], {"s": 3})


def test_arrays_are_not_kept_alive_and_ids_may_return():
    with axes("t s") as ax:
        x = X.copy()
        alive = weakref.ref(x)
        y = op(x, "b t d -> t b d")
        assert len(ax._memory._known) == 2
        del x, y
        gc.collect()
        assert alive() is None and not ax._memory._known
        for _ in range(200):  # ids are used again at once
            op(np.ones((2, 3)), "b t -> t b")
            op(np.ones((2, 3)), "b s -> s b")


def test_a_record_of_a_former_array_with_the_same_id_is_not_used():
    """The checker of the test above: with the reference alive, the same record is an error."""
    x, y = X.copy(), X.copy()
    with axes("t s") as ax:
        op(x, "b t d -> t b d")
        ax._memory._known[id(y)] = ax._memory._known[id(x)]
        op(y, "b s d -> s b d")
        with pytest.raises(AxisSpaceError):
            op(x, "b s d -> s b d")


# Nesting.


def test_the_inner_scope_knows_the_outer_names():
    with axes(d=4) as outer:
        op(np.ones((2, 4)), "b d -> d b")
        with axes(t=3) as inner:
            assert dict(inner) == {"d": 4, "b": 2, "t": 3}
            with pytest.raises(AxisSizeError, match=r"and 4 as declared by rc.axes\(d=4\)"):
                op(np.ones((2, 5)), "b d -> d b")
            op(np.ones((2, 7)), "b k -> k b")
        assert dict(outer) == {"d": 4, "b": 2}
        op(np.ones((2, 8)), "b k -> k b")


def test_a_declaration_that_contradicts_the_outer_scope():
    with axes(d=4), pytest.raises(AxisSizeError) as raised, axes(d=5):  # both
        pass
    both = line("both")
    assert str(raised.value).splitlines()[:3] == [
        f"Axis 'd' has size 5 as declared by rc.axes(d=5) ({both}) and 4 as declared by rc.axes(d=4) ({both}).",
        "  rc.axes(d=5)",
        "          ^",
    ]


def test_a_name_declared_twice_is_one_space_with_one_size():
    x = X.copy()
    with axes("t s") as outer:
        with axes("t", s=3) as inner:
            op(x, "b t d -> t b d")
            assert (inner.t, inner.s) == (3, 3)
        assert (outer.t, outer.s) == (3, 3)
        with pytest.raises(AxisSpaceError):
            op(x, "b s d -> s b d")
    with axes() as outer:
        op(x, "b t d -> t b d")
        with axes("t") as inner, pytest.raises(AxisSizeError):
            op(np.ones(4), "t -> t")


def test_names_of_the_inner_scope_end_with_it():
    x = X.copy()
    with axes("t"):
        with axes("s"):
            op(x, "b s d -> s b d")
            with pytest.raises(AxisSpaceError):
                op(x, "b t d -> t b d")
        op(x, "b t d -> t b d")


def test_afresh():
    with axes(d=4), axes("t", inherit=False) as inner:
        op(np.ones((2, 5)), "b d -> d b")
        assert dict(inner) == {"d": 5, "b": 2}


def test_a_scope_opens_once():
    ax = axes(d=4)
    with ax, pytest.raises(InputError, match=r"opened before; write rc.axes\(d=4\)"), ax:
        pass
    with pytest.raises(InputError, match="opened before"), ax:
        pass


# Threads, tasks, generators.


def test_exceptions_leave_no_watcher_behind():
    with pytest.raises(ZeroDivisionError), axes():
        _ = 1 / 0
    with pytest.raises(ZeroDivisionError):
        shapes(lambda: 1 / 0)()
    assert WATCHERS.get() == () and not watch.OPEN


def test_two_threads_with_different_scopes():
    barrier, faults = threading.Barrier(2), []

    def work(size):
        try:
            assert WATCHERS.get() == ()
            with axes("t", d=size) as ax:
                for _ in range(50):
                    barrier.wait(timeout=20)
                    op(np.ones((2, size)), "b d -> d b")
                assert dict(ax) == {"d": size, "b": 2}
        except BaseException as error:
            faults.append(error)
            barrier.abort()

    with axes(d=1):
        threads = [threading.Thread(target=work, args=(size,)) for size in (3, 4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert faults == []


def test_threads_that_share_a_scope():
    sizes = []

    def work(size):
        try:
            op(np.ones((size,)), "d -> d")
            sizes.append(size)
        except AxisSizeError:
            pass

    with axes() as ax:
        contexts = [contextvars.copy_context() for _ in range(8)]
        threads = [threading.Thread(target=c.run, args=(work, size)) for size, c in enumerate(contexts, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sizes == [ax.d]


def test_concurrent_tasks():
    async def work(size):
        with axes(d=size) as ax:
            for _ in range(5):
                await asyncio.sleep(0)
                op(np.ones((2, size)), "b d -> d b")
            with pytest.raises(AxisSizeError):
                op(np.ones((2, size + 1)), "b d -> d b")
            return ax.d

    async def everything():
        return await asyncio.gather(*(work(size) for size in range(3, 9)))

    assert asyncio.run(everything()) == list(range(3, 9))


def test_a_task_that_outlives_its_scope_is_not_watched():
    async def later(event):
        await event.wait()
        return op(np.ones((2, 5)), "b d -> d b").shape

    async def everything():
        event = asyncio.Event()
        with axes(d=4):
            task = asyncio.create_task(later(event))
            await asyncio.sleep(0)
        event.set()
        return await task

    assert asyncio.run(everything()) == (5, 2)


def test_a_generator_closed_in_another_context():
    def items():
        with axes(d=4):
            yield 1

    running = items()
    contextvars.copy_context().run(next, running)
    assert watch.OPEN and WATCHERS.get() == ()
    running.close()
    assert not watch.OPEN


def test_calls_are_kept_only_while_nothing_is_watched():
    calls = watch.CallCache("a test of scopes", 4)
    calls.keep("before", 1)
    assert calls["before"] == 1
    with axes():
        assert calls["before"] is None
        calls.keep("within", 2)
        late = watch.CallCache("a test of scopes", 4)  # of something that is imported within a scope
        late.keep("within", 2)
        with axes(inherit=False):
            pass
        shapes(len)("abc")
        calls.keep("within", 2)
        assert calls.all() == late.all() == {}
    calls.keep("after", 3)
    assert calls.all() == {"after": 3}
    with pytest.raises(ZeroDivisionError), axes():
        _ = 1 / 0
    assert calls.all() == {}
    calls.keep("after", 3)
    assert calls.all() == {"after": 3}


def test_calls_are_not_kept_while_another_thread_watches():
    calls, entered, leave = watch.CallCache("a test of scopes", 4), threading.Event(), threading.Event()

    def work():
        with axes():
            entered.set()
            leave.wait(20)

    thread = threading.Thread(target=work)
    with axes():
        thread.start()
        assert entered.wait(20)
    calls.keep("within", 1)
    assert calls.all() == {}
    leave.set()
    thread.join()
    calls.keep("after", 2)
    assert calls.all() == {"after": 2}


# Signatures.


@signature("b t d, d e -> b t e")
def project(x, w):
    """Projects."""
    return x @ w


def test_a_signature_that_holds():
    assert project(X, np.ones((4, 5))).shape == (2, 3, 5)
    assert project(w=np.ones((4, 5)), x=X).shape == (2, 3, 5)
    assert project(X, w=np.ones((4, 5))).shape == (2, 3, 5)
    assert (project.__name__, project.__doc__) == ("project", "Projects.")
    assert list(inspect.signature(project).parameters) == ["x", "w"]


def test_arguments_that_disagree():
    with pytest.raises(AxisSizeError) as raised:
        project(X, np.ones((3, 5)))  # called
    assert str(raised.value) == (
        f"In the call of project ({line('called')}), axis 'd' has size 3 in argument 'w' of shape (3, 5) and 4 in "
        "argument 'x' of shape (2, 3, 4).\n"
        "  b t d, d e -> b t e\n"
        "         ^\n"
        "  Pass arrays whose sizes agree, or give the axis another name in the signature."
    )
    with pytest.raises(AxisSizeError, match="in argument 'w'"):
        project(w=np.ones((3, 5)), x=X)


def test_results_that_disagree():
    @signature("b t d -> b d")
    def wrong(x):
        return x[:, 0, :2]

    with pytest.raises(AxisSizeError) as raised:
        wrong(X)
    assert "axis 'd' has size 2 in the result of shape (2, 2) and 4 in argument 'x' of shape (2, 3, 4)" in str(
        raised.value
    )
    assert str(raised.value).splitlines()[2] == "             ^"


def test_a_wrong_number_of_axes():
    with pytest.raises(ShapeError) as raised:
        project(np.ones((2, 3)), np.ones((4, 5)))  # called
    assert str(raised.value) == (
        f"In the call of project ({line('called')}), argument 'x' has shape (2, 3), with 2 axes, and the signature "
        "gives it 3.\n  b t d, d e -> b t e\n  ^^^^^"
    )
    with pytest.raises(ShapeError, match=r"the result has shape .*, with 0 axes, and the signature gives it 1"):
        signature("b -> b")(lambda x: x.sum())(np.ones(3))


def test_what_has_no_shape():
    with pytest.raises(InputError, match=r"argument 'w' is of type list, which has no shape.\n.*\n.*\n.*write '_'"):
        project(X, [[1.0]])
    with pytest.raises(InputError, match="argument 'w' is of type NoneType"):
        project(X, None)
    with pytest.raises(InputError, match="the result is of type str"):
        signature("b -> b")(lambda x: "text")(np.ones(3))
    assert signature("b, -> ")(lambda x, c: c * 2.0)(np.ones(3), 2) == 4.0  # numbers have no axes
    with pytest.raises(ShapeError, match="with 0 axes"):
        project(X, 2.0)


def test_python_complains_about_missing_and_unknown_arguments():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'w'"):
        project(X)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'v'"):
        project(X, np.ones((4, 5)), v=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given"):
        project(X, np.ones((4, 5)), 1)  # type: ignore[call-arg]


def test_skipped_and_optional_arguments():
    @signature("b d, _, d -> b d")
    def f(x, how, bias=None, *, eps=1e-3):
        return x if bias is None else x + bias

    x = np.ones((2, 3))
    assert f(x, "mean").shape == f(x, None, None).shape == f(x, [1], np.ones(3), eps=2).shape == (2, 3)
    with pytest.raises(AxisSizeError, match="argument 'bias'"):
        f(x, "mean", bias=np.ones(2))


def test_keyword_only_arguments():
    @signature("b d, d")
    def f(x, *, w):
        return x * w

    assert f(np.ones((2, 3)), w=np.ones(3)).shape == (2, 3)
    with pytest.raises(AxisSizeError, match="argument 'w'"):
        f(np.ones((2, 3)), w=np.ones(2))


def test_any_number_of_arguments():
    @signature("b d, d, d")
    def f(x, *more, how=None):
        return x

    assert f(np.ones((2, 3)), np.ones(3), np.ones(3), "unchecked", how="so") is not None
    assert f(np.ones((2, 3)), np.ones(3)) is not None
    with pytest.raises(AxisSizeError, match=r"argument 'more\[1\]'"):
        f(np.ones((2, 3)), np.ones(3), np.ones(2))


def test_methods():
    class Layer:
        @signature("b d, d")
        def both(self, x, w):
            return x * w

        @classmethod
        @signature("b d -> d b")
        def turned(cls, x):
            return x.T

        @staticmethod
        @signature("b d -> d b")
        def static(x):
            return x.T

    layer = Layer()
    assert layer.both(np.ones((2, 3)), w=np.ones(3)).shape == (2, 3)
    assert layer.turned(np.ones((2, 3))).shape == Layer.static(np.ones((2, 3))).shape == (3, 2)
    with pytest.raises(AxisSizeError, match=r"In the call of both .* argument 'w'"):
        layer.both(np.ones((2, 3)), np.ones(4))
    with pytest.raises(AxisSizeError):
        signature("b d -> b d")(Layer.static)(np.ones((2, 3)))


def test_async_functions():
    @signature("b d -> d b")
    async def f(x, turn=True):
        await asyncio.sleep(0)
        with pytest.raises(AxisSizeError, match="by the signature 'b d -> d b' of f"):
            op(np.ones(9), "b -> b")
        return x.T if turn else x

    async def everything():
        good = await asyncio.gather(*(f(np.ones((2, size))) for size in (3, 4, 5)))
        with pytest.raises(AxisSizeError, match="in the result"):
            await f(np.ones((2, 3)), turn=False)
        signature.enabled = False
        try:
            unchecked = signature("b")(raw_later)
            return [*good, await unchecked(np.ones((1, 1)))]
        finally:
            signature.enabled = True

    async def raw_later(x):
        return x

    assert [y.shape for y in asyncio.run(everything())] == [(3, 2), (4, 2), (5, 2), (1, 1)]
    assert inspect.iscoroutinefunction(f)


def test_several_results():
    two = signature("b t -> t, b")(lambda x: (x[0], x[:, 0]))
    assert len(two(np.ones((2, 3)))) == 2
    assert signature("b t -> t, _")(lambda x: (x[0], "text"))(np.ones((2, 3)))[1] == "text"
    with pytest.raises(AxisSizeError, match="in result 2 of shape"):
        signature("b t -> t, t")(lambda x: (x[0], x[:, 0]))(np.ones((2, 3)))
    with pytest.raises(ShapeError, match="returned 2, and its signature 'b t -> t, b, b' says 3 results"):
        signature("b t -> t, b, b")(lambda x: (x[0], x[:, 0]))(np.ones((2, 3)))
    with pytest.raises(ShapeError, match="returned one ndarray"):
        signature("b t -> t, b")(lambda x: x)(np.ones((2, 3)))


def test_without_results_and_without_arguments():
    assert signature("b t")(lambda x: "anything")(np.ones((2, 3))) == "anything"
    assert signature("-> 3")(lambda: np.ones(3))().shape == (3,)
    with pytest.raises(AxisSizeError, match=r"axis '3' has size 4 in the result of shape .* and 3 by the signature"):
        signature("-> 3")(lambda: np.ones(4))()


def test_ellipsis():
    f = signature("... d, d e -> ... e")(lambda x, w: x @ w)
    for lead in ((), (2,), (2, 3)):
        assert f(np.ones((*lead, 4)), np.ones((4, 5))).shape == (*lead, 5)
    with pytest.raises(ShapeError, match=r"has shape \(\), with 0 axes, and the signature gives it at least 1"):
        f(np.ones(()), np.ones((4, 5)))
    both = signature("a ... d, ... d")(lambda x, y: x)
    both(np.ones((7, 2, 3, 4)), np.ones((2, 3, 4)))
    with pytest.raises(AxisSizeError, match=r"axis '...' has size \(2, 5\) in argument 'y'.* and \(2, 3\)"):
        both(np.ones((7, 2, 3, 4)), np.ones((2, 5, 4)))
    with pytest.raises(AxisSizeError, match=r"axis '...' has size \(2,\) in argument 'y'"):
        both(np.ones((7, 2, 3, 4)), np.ones((2, 4)))


def test_composite_axes_of_a_signature():
    f = signature("b (h d) -> h b d", h=2)(lambda x: x.reshape(len(x), 2, -1).transpose(1, 0, 2))
    assert f(np.ones((3, 8))).shape == (2, 3, 4)
    with pytest.raises(AxisSizeError) as raised:
        f(np.ones((3, 7)))
    assert (
        "axis '(h d)' has size 7 in argument 'x' of shape (3, 7), which does not fit its parts: 'h' has size 2 as "
        "given by rc.signature(…, h=2).\n  b (h d) -> h b d\n    ^^^^^"
    ) in str(raised.value)
    with pytest.raises(AxisSizeError, match=r"axis 'd' has size 2 in the result .* and 4 in argument 'x' of shape"):
        signature("b (h d) -> d", h=2)(lambda x: np.ones(2))(np.ones((3, 8)))


def test_parts_are_found_from_other_arguments_and_in_rounds():
    f = signature("(a b), (b c), c -> a b c")(lambda x, y, z, wrong=0: np.ones((2, 3 + wrong, 4)))
    assert f(np.ones(6), np.ones(12), np.ones(4)).shape == (2, 3, 4)
    with pytest.raises(
        AxisSizeError, match=r"axis 'b' has size 4 in the result .* and 3 in argument 'x' of shape \(6,\)"
    ):
        f(np.ones(6), np.ones(12), np.ones(4), wrong=1)
    with pytest.raises(
        AxisSizeError, match=r"does not fit its parts: 'b' has size 3 .*, 'c' has size 2 in argument 'z'"
    ):
        signature("b, (b c), c")(lambda x, y, z: x)(np.ones(3), np.ones(12), np.ones(2))
    signature("(a b) -> (b a)")(lambda x: x)(np.ones(6))  # what is not known is not guessed
    signature("(a 2) () 1")(lambda x: x)(np.ones((6, 1, 1)))
    with pytest.raises(AxisSizeError, match="it has none, so its size is 1"):
        signature("()")(lambda x: x)(np.ones(2))
    signature("a, (a b)")(lambda x, y: x)(np.ones(0), np.ones(0))
    with pytest.raises(AxisSizeError):
        signature("a, (a b)")(lambda x, y: x)(np.ones(0), np.ones(2))


def test_anonymous_and_repeated_axes():
    f = signature("i i, _ _ i")(lambda x, y: x)
    f(np.ones((3, 3)), np.ones((1, 2, 3)))
    with pytest.raises(AxisSizeError) as raised:
        f(np.ones((3, 4)), np.ones((1, 2, 3)))
    assert str(raised.value).splitlines()[2] == "    ^"


@pytest.mark.parametrize(
    "text, fault, carets",
    [
        ("b t -> b -> t", "one arrow", "           ^^"),
        ("b [t]", "Unknown character", "    ^"),
        ("b (h", "not closed", "    ^"),
        ("b (h (d))", "brackets inside brackets", "       ^"),
        ("b 2x", "Invalid axis identifier", "    ^^"),
        ("... b ...", "stands once", "        ^^^"),
        ("(h _)", "have names", "  ^^^^^"),
    ],
)
def test_what_is_no_signature(text, fault, carets):
    with pytest.raises(NotationError, match=fault) as raised:
        signature(text)(lambda x: x)
    assert str(raised.value).splitlines()[2] == carets


def test_signatures_that_do_not_fit_their_function():
    with pytest.raises(InputError, match=r"describes 1 arguments, and f takes 2 \(x, y\)"):

        @signature("b")
        def f(x, y): ...

    with pytest.raises(InputError, match="describes 2 arguments, and <lambda> takes none"):
        signature("b, b")(lambda: 0)
    with pytest.raises(InputError, match=r"has no axis 'heads'. Did you mean 'head'?"):
        signature("b (head d)", heads=2)(lambda x: x)
    with pytest.raises(InputError, match="A signature is a text"):
        signature(lambda x: x)  # type: ignore[arg-type]


def test_what_a_signature_does_not_describe():
    def items(x):
        yield x

    async def items_later(x):
        yield x

    for function in (items, items_later):
        with pytest.raises(InputError, match=f"cannot check '{function.__name__}', because it is a generator function"):
            signature("b")(function)
        with pytest.raises(InputError, match=r"rc.shapes cannot list the operations of"):
            shapes(function)
    for thing in (AxisScope, classmethod(items), property(items), 3):
        with pytest.raises(InputError, match="describes a function"):
            signature("b")(thing)  # type: ignore[arg-type]


def test_the_body_has_a_scope_of_its_own():
    @signature("b t d, b s d -> b t")
    def f(x, y, wrong=""):
        if wrong == "size":
            op(np.ones((2, 9)), "b t -> t b")
        if wrong == "space":
            op(y, "b t d -> t b d")
        if wrong == "result":
            return op(y[:, :, 0], "b s -> b s")
        return op(op(x, "b t d -> t b d")[:, :, 0], "t b -> b t")

    x, y = X.copy(), X.copy()
    with axes(t=100, b=100):  # names are those of the function
        assert f(x, y).shape == (2, 3)
    with pytest.raises(AxisSizeError, match="and 3 by the signature 'b t d, b s d -> b t' of f"):
        f(x, y, "size")
    with pytest.raises(AxisSpaceError, match=r"Axis 't' in op .* that is axis 's' by the signature"):
        f(x, y, "space")
    with pytest.raises(AxisSpaceError, match=r"Axis 't' in the result of f 'b t' .* that is axis 's' in op") as raised:
        f(x, y, "result")
    assert str(raised.value).splitlines()[1:3] == ["  b t", "    ^"]


def test_one_array_for_two_arguments_is_in_both_spaces():
    @signature("b t d, b s d")
    def f(x, y):
        op(y, "b s d -> s b d")
        return op(x, "b t d -> t b d")

    x = X.copy()
    assert f(x, x).shape == (3, 2, 4)


def test_an_argument_handed_on_may_get_a_new_name():
    x = X.copy()
    assert signature("b i d -> b o d")(lambda x: x)(x) is x
    with pytest.raises(AxisSpaceError):
        signature("b i d, o -> b o d")(lambda x, w: op(x, "b i d -> b i d"))(x, np.ones(3))


def test_without_a_scope():
    @signature("b t", scope=False)
    def f(x):
        assert WATCHERS.get() == ()
        return op(np.ones((7, 7)), "b t -> t b")

    assert f(np.ones((2, 3))).shape == (7, 7)


def test_switched_off():
    signature.enabled = False
    try:
        assert project(np.ones((2, 3)), np.ones((3, 5))).shape == (2, 5)
    finally:
        signature.enabled = True
    with pytest.raises(ShapeError):
        project(np.ones((2, 3)), np.ones((3, 5)))


@pytest.mark.parametrize("value, same", [("0", True), ("1", False)])
def test_left_out_by_the_environment(value, same):
    code = "from ricci.scopes import signature\ndef f(x): return x\nprint(signature('b t')(f) is f)"
    source = os.path.dirname(os.path.dirname(ricci.__file__))
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": source, "RICCI_SIGNATURES": value},
    )
    assert run.stdout.strip() == str(same)


def test_expressions_in_signatures():
    x, w = ricci.tensors("X[m,n] W[n,k]")
    f = signature("b d, d e -> b e")(lambda x, w: ricci.einsum("b d, d e -> b e", x, w))
    assert f(x, w).indices == ("b", "e")
    with pytest.raises(ShapeError, match=r"argument 'w' has shape .*, with 1 axes"):
        f(x, ricci.tensors("v[n]")[0])
    g = signature("b d, d, d")(lambda x, y, z: x)
    g(x, np.ones(3), np.ones(3))  # n may turn out to be 3
    with pytest.raises(AxisSizeError, match="axis 'd' has size 4 in argument 'z'"):
        g(x, np.ones(3), np.ones(4))
    signature("b (h d)", h=2)(lambda x: x)(x)


# Other arrays.


def test_torch():
    torch = pytest.importorskip("torch", reason="arrays of torch")
    x, w = torch.ones(2, 3, 4), torch.ones(4, 5)
    assert project(x, w).shape == (2, 3, 5)
    with pytest.raises(AxisSizeError, match=r"of shape \(3, 5\) and 4"):
        project(x, torch.ones(3, 5))
    with axes("t s"):
        y = op(x, "b t d -> t b d")
        op(y, "t b d -> b t d")
        with pytest.raises(AxisSpaceError):
            op(y, "s b d -> b s d")


def test_torch_modules():
    torch = pytest.importorskip("torch", reason="modules of torch")

    class Turn(torch.nn.Module):
        @signature("b d -> d b")
        def forward(self, x):
            return op(x, "b d -> d b")  # turned

    model = torch.nn.Sequential(Turn(), torch.nn.ReLU(), Turn())
    table = shapes(model)(torch.ones(2, 3))
    assert [row.outputs for row in table.rows] == [((3, 2),), ((2, 3),)]
    assert {row.line for row in table.rows} == {line("turned")}
    with pytest.raises(ShapeError) as raised:
        model(torch.ones(3))  # called
    assert line("called") in str(raised.value)  # not a line of torch


def test_jax():
    jax = pytest.importorskip("jax", reason="arrays of JAX")
    x, w = jax.numpy.ones((2, 3, 4)), jax.numpy.ones((4, 5))
    assert project(x, w).shape == jax.jit(project)(x, w).shape == (2, 3, 5)
    with pytest.raises(AxisSizeError):
        jax.jit(project)(x, jax.numpy.ones((3, 5)))
    with axes("t s"):
        y = op(x, "b t d -> t b d")
        with pytest.raises(AxisSpaceError):
            op(y, "s b d -> b s d")
        with pytest.raises(AxisSpaceError):
            jax.jit(lambda z: op(op(z, "b t d -> t b d"), "s b d -> b s d"))(jax.numpy.ones((2, 3, 4)))
    turned = jax.jit(lambda z: op(z, "b t d -> t b d"))
    assert [len(shapes(turned)(x).rows) for _ in range(2)] == [1, 0]  # only while it is traced


# Tables of shapes.


def model(x, fail=False):
    y = op(x, "b t (h d) -> b (h d) t", h=2)
    if fail:
        raise KeyError("fail")
    return op(y, "b c t -> t b c")


def test_the_table():
    first = inspect.getsourcelines(model)[1] + 1
    table = shapes(model)(np.ones((2, 3, 8)))
    assert table.result.shape == (3, 2, 8)
    assert str(table).splitlines() == [
        "#  operation  pattern                 axes             shapes                  line",
        f"1  op         b t (h d) -> b (h d) t  h=2 b=2 t=3 d=4  (2, 3, 8) -> (2, 8, 3)  test_scopes.py:{first}",
        f"2  op         b c t -> t b c          b=2 c=8 t=3      (2, 8, 3) -> (3, 2, 8)  test_scopes.py:{first + 3}",
    ]
    assert repr(table) == str(table)
    row = table.rows[1]
    assert (row.number, row.operation, row.pattern, row.sizes) == (2, "op", "b c t -> t b c", {"b": 2, "c": 8, "t": 3})
    assert (row.inputs, row.outputs, row.line) == (((2, 8, 3),), ((3, 2, 8),), f"test_scopes.py:{first + 3}")


def test_the_table_in_a_notebook():
    page = shapes(model)(np.ones((2, 3, 8)))._repr_html_()
    assert page.count("<tr>") == 3 and "b c t -&gt; t b c" in page


def test_an_error_brings_the_table():
    with pytest.raises(KeyError) as raised:
        shapes(model)(np.ones((2, 3, 8)), fail=True)
    (text,) = raised.value.__notes__
    assert text.startswith("The operations before this error:\n#  operation") and "b t (h d)" in text
    assert "b c t" not in text


def test_a_table_without_operations():
    assert str(shapes(len)("abc")) == "no operations on named axes"


def test_tables_see_through_scopes_and_each_other():
    def f(x):
        with axes(t=3, inherit=False):
            op(x, "b t -> t b")
        return shapes(op)(x, "a b -> b a")

    table = shapes(f)(np.ones((2, 3)))
    assert len(table.rows) == 2 and len(table.result.rows) == 1


def test_the_table_of_an_async_function():
    async def f(x):
        await asyncio.sleep(0)
        return op(x, "b t -> t b")

    async def everything():
        return await asyncio.gather(*(shapes(f)(np.ones((2, size))) for size in (3, 4)))  # pyright: ignore[reportArgumentType, reportCallIssue]

    assert [table.rows[0].sizes["t"] for table in asyncio.run(everything())] == [3, 4]


def test_tables_keep_no_arrays():
    x = np.ones((2, 3))
    alive = weakref.ref(x)
    table = shapes(lambda y: op(y, "b t -> t b").sum())(x)
    del x
    gc.collect()
    assert alive() is None and len(table.rows) == 1


def test_what_has_no_table():
    with pytest.raises(InputError, match=r"print\(f.compile\(\).plan\)"):
        shapes(ricci.parse("y[i] = 2 x[i]"))
    with pytest.raises(InputError, match=r"needs a function and got ndarray: write rc.shapes\(f\)\(x\)"):
        shapes(X)  # type: ignore[arg-type]


# The errors, and what watches.


def test_the_family():
    assert issubclass(AxisSizeError, ShapeError) and issubclass(AxisSpaceError, ShapeError)
    assert issubclass(ShapeError, RicciError) and issubclass(ShapeError, ValueError)


def test_a_watcher_that_refuses_nothing():
    with Watcher():
        op(np.ones((2, 3)), "b t -> t b")


def test_the_line_of_the_user():
    assert watch.user_line() == line("asked")  # asked
    assert ask() == line("through")  # through


@of_ricci
def ask():
    return watch.user_line()
