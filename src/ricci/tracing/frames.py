"""Where a trace is: the calls being traced, the arrays they met on the way, and the user's own lines.

A *frame* is one function being traced. Frames nest: ``rc.grad`` called inside a traced function opens a frame of its
own, in which the arguments are fresh variables; what it returns is written in those of the frame around it. A traced
array belongs to a frame, and outside of it, when the function has returned, it means nothing any more.

Arrays that a function meets without having been given them (globals, closures, constants) become inputs too: the
outermost frame holds them, by reference, so that a later call sees what they contain then.
"""

from __future__ import annotations

import linecache
import sys
import threading
from _signal import NSIG, default_int_handler, getsignal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar

from numpy import ndarray

from ricci.dispatch import FRAME, at_once, tracing
from ricci.expr import Expr, Variable
from ricci.expr import variable as input_node
from ricci.functions.table import FUNCTIONS
from ricci.within import within

T = TypeVar("T")
OURS = str(Path(__file__).parent.parent)
_NUMPY = f"{__import__('numpy').__path__[0]}"
MOST_TOLD = 1 << 16  # bytes; larger arrays made in the steps of a loop are not told by what they contain
MOST_COPIED = 1 << 26  # bytes; a larger array is not checked for being changed by the function that is traced


class CodePlace:
    """A line of the user's code."""

    __slots__ = ("file", "function", "line")

    def __init__(self, file: str, line: int, function: str):
        self.file, self.line, self.function = file, line, function

    @property
    def text(self) -> str:
        """The source of the line, if it is to be had."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        text = self.text
        return f"{Path(self.file).name}, line {self.line}" + (f": {text}" if text else f", in {self.function}")


class Frame:
    """One function being traced. ``names`` tells its variables from those of the frames around it."""

    def __init__(self, outer: Frame | None, name: str):
        self.outer, self.name = outer, name
        self.depth: int = 0 if outer is None else outer.depth + 1
        self.active = True
        self.packed = False  # whether a reshape is known to give a view
        self.immutable = False  # whether the function was written for arrays that do not change, as JAX's
        self.sources: Any = None  # of random numbers, as they were when it began
        self._root: Frame | None = None if outer is None else outer.root
        self.handlers = _signal_handlers()
        self.base = 0  # the id of the Python frame in which the function is called
        self.starts: list[Any] = []  # the function, and its arguments that are static
        self.rolls = True if outer is None else outer.rolls  # whether loops are rolled up
        self.loops: list[Any] = []  # those that may be rolled up and are running, the innermost last
        self.meant: dict[Variable, Expr] = {}  # what placeholders mean, in the order in which they were made
        self.open: dict[Variable, int] = {}  # placeholders of loops that are running, and how deep these are
        if outer is None:
            self.captured: dict[str, Any] = {}  # input → array
            self.known: dict[int, Variable] = {}  # id of an array → its input
            self.lines: dict[Expr, CodePlace] = {}  # what the user's lines made
            self.rules: dict[Any, Any] = {}  # functions with rules of their own, for operands of one kind
            self.drawn = False  # whether random numbers were drawn from arguments, so that it means something else next
            self.weak_numbers = False  # whether numbers of NumPy's widen no type, as among tensors of PyTorch
            self.named: dict[Expr, tuple[str | None, ...]] = {}  # names of the axes of tensors that came in
            self.copies: dict[str, Any] = {}  # what arrays contained when they were met, to see whether that changes
            self.made: dict[tuple, Variable] = {}  # arrays made in the steps of loops, by what they contain
            self.again: list[tuple[Any, Any]] = []  # such that contain the same as one before, and what they contained
            self.numbers: dict[tuple[int, int, int], Any] = {}  # the numbers that loops count by
            self.unrolled: list[tuple[CodePlace | None, str]] = []  # loops that are not, and why
            self.tried = False  # whether it was tried to roll a loop up

    def interrupted(self) -> bool:
        """Whether what runs now is not the function, but a signal handler that was called while it ran."""
        frame: Any = sys._getframe(1)
        while frame is not None and id(frame) != self.base:
            if frame.f_code in self.handlers:
                return True
            frame = frame.f_back
        return False

    @property
    def root(self) -> Frame:
        """The outermost frame; itself is not stored, so that frames are freed at once when nobody holds them."""
        return self._root or self

    def variable(self, name: str, shape: tuple[int, ...], dtype: Any = None) -> Variable:
        """A fresh input of this frame; of numbers that are complex if the type is."""
        return input_node(name + "'" * self.depth, shape, complex=getattr(dtype, "kind", "f") == "c")

    def capture(self, array: Any) -> Variable:
        """The input that stands for an array; the same one each time."""
        root = self.root
        found = root.known.get(id(array))
        made = self._made_in_loop(array) if found is None and self.loops else None
        if made is not None and made in root.made:
            found = root.known[id(array)] = root.made[made]
            root.again.append((array, array.copy()))
        if found is None:
            own = name_here(array)
            name = own or f"c{len(root.captured)}"
            tried = 1
            while name in root.taken or name in root.captured:
                name, tried = f"{own or 'c'}_{tried}", tried + 1
            found = root.known[id(array)] = input_node(name, tuple(array.shape), complex="complex" in str(array.dtype))
            root.captured[name] = array  # which keeps it alive, and its id with it
            if hasattr(array, "flags") and array.nbytes <= MOST_COPIED:
                root.copies[name] = array.copy()
            if made is not None:
                root.made[made] = found
        return found

    def _made_in_loop(self, array: Any) -> tuple | None:
        """What a small array contains that was made in a step of a loop; none for one that was there before."""
        if type(array) is not ndarray or array.nbytes > MOST_TOLD or array.dtype.hasobject:
            return None
        if any(loop.reach is None or id(array) in loop.reach.arrays for loop in self.loops):
            return None
        return array.shape, array.dtype, array.tobytes()

    def closed(self, more: Sequence[Variable] = ()) -> dict[Variable, Expr]:
        """What placeholders mean, without those of loops that are running; with some of these that are named."""
        return {v: e for v, e in self.meant.items() if v not in self.open or v in more}

    taken: frozenset[str] = frozenset()  # names of the arguments

    def note(self, expr: Expr) -> None:
        """Remember the user's line that made ``expr``."""
        lines = self.root.lines
        if expr not in lines:
            place = user_place()
            if place is not None:
                note_line(lines, expr, place)


def note_line(lines: dict[Expr, CodePlace], expr: Expr, place: CodePlace) -> None:
    """A line made ``expr`` and those of its operands that no line before has made."""
    lines.setdefault(expr, place)
    made = [a for a in expr.args if a.args]
    while made:
        node = made.pop()
        if node not in lines:
            lines[node] = place
            made += [a for a in node.args if a.args]


current: Callable[[], Frame | None] = tracing


def apart(function: Callable[..., T], *args: Any) -> T:
    """``function(*args)`` in a copy of the context: whatever ends it, also an interrupt, no scope that it has opened
    stays open."""
    return copy_context().run(function, *args)


@contextmanager
def frame(name: str, taken: frozenset[str] = frozenset()) -> Iterator[Frame]:
    """A frame inside the current one, left when the function returns; for use :func:`apart`."""
    outer = current()
    inner = Frame(outer, name)
    inner.base = id(sys._getframe(2))  # that of ``with``
    if outer is None:
        inner.taken = taken
    try:
        with within(FRAME, inner):
            yield inner
    finally:
        inner.active = False


@contextmanager
def suspended() -> Iterator[None]:
    """No frame: what is computed inside is computed now, and may draw random numbers."""
    outer = FRAME.get()
    try:
        with at_once():
            yield
    finally:
        while outer is not None:
            if outer.sources is not None:
                outer.sources.renew()
            outer = outer.outer


def _signal_handlers() -> frozenset[CodeType]:
    """The code of the functions that signals call in this thread, which is none but in the main one."""
    if threading.get_ident() != threading.main_thread().ident:
        return frozenset()
    found = [handler for handler in map(getsignal, range(1, NSIG)) if callable(handler)]
    if not found or found == [default_int_handler]:  # as Python begins: that one is no code of Python's
        return frozenset()
    found = [getattr(handler, "func", handler) for handler in found]  # of a partial function
    methods = [getattr(handler, "__func__", handler) for handler in found]
    codes = [getattr(own, "__code__", None) or getattr(type(own).__call__, "__code__", None) for own in methods]
    return frozenset([code for code in codes if code is not None])


def user_place() -> CodePlace | None:
    """The innermost line that is neither in ricci nor in NumPy, SciPy or PyTorch."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if in_code(frame):
            return CodePlace(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
        frame = frame.f_back
    return None


def in_code(frame: Any) -> bool:
    """Whether a frame is of the user's code: neither in ricci nor in NumPy, SciPy or PyTorch."""
    file = frame.f_code.co_filename
    return not file.startswith((OURS, _NUMPY)) and not file.startswith("<frozen") and not _in_library(frame)


def name_here(array: Any) -> str | None:
    """What the user's code that runs now calls an array: a name of the function, of those around it or its module."""
    frame: Any = sys._getframe(1)
    while frame is not None and not in_code(frame):
        frame = frame.f_back
    if frame is None:
        return None
    scope, known = frame.f_locals, frame.f_globals
    names = [*scope, *[name for name in frame.f_code.co_names if name in known]]
    found = [name for name in names if _is_same(scope[name] if name in scope else known[name], array)]
    return next((name for name in found if name.isidentifier() and name not in _WORDS and name not in FUNCTIONS), None)


_WORDS = frozenset(["pi", "delta", "eps", "D", "inf", "nan", "sizes"])  # that mean something in equations


def _is_same(value: Any, array: Any) -> bool:
    """Whether a name stands for an array: for itself, or for what is in its place while a function is traced."""
    if getattr(type(value), "__slots__", None) == ("origin", "value"):  # what is watched
        return value.origin is array or value.value is array
    return value is array


def scipy_function() -> str | None:
    """The function of SciPy that the user called and that is running now: ``special.softmax``."""
    frame: Any = sys._getframe(1)
    found = None
    while frame is not None and (found is None or _in_scipy(frame)):
        if _in_scipy(frame):
            found = f"{frame.f_globals['__name__'].split('.')[1]}.{frame.f_code.co_name}"
        frame = frame.f_back
    return found


def _in_library(frame: Any) -> bool:
    return (frame.f_globals.get("__name__") or "").startswith(("scipy.", "torch."))


def _in_scipy(frame: Any) -> bool:
    return (frame.f_globals.get("__name__") or "").startswith("scipy.")
