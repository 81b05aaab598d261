"""What a function can reach without being given it: what its names mean, and what these lead to.

Code says by which names it reads: globals and attributes (``co_names``), cells of the functions around it, defaults. So
from a function one gets to the values of these names, from an object to those of its attributes that some code names,
from a list to its parts, from a method to its object. What is found is, for each place that is read, where it is looked
up and what is there now. Code of NumPy and its kin, and of Python's own library, is not looked into; what their objects
hold for the user is.
"""

from __future__ import annotations

import sys
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dis import opmap
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from ricci.errors import TraceError
from ricci.tracing.meanings import is_torch

MOST = 200_000  # objects that are followed
MISSING = object()
Look = Callable[[Any, Any], Any]  # of a key and a default, as dict.get
Put = Callable[[Any, Any], Any]  # of a key and a value

_NUMERIC = ("numpy", "scipy", "jax", "jaxlib", "torch", "pandas", "flax", "keras", "sklearn", "numba", "dask")
_OTHERS = ("ricci", "opt_einsum", "einops", "matplotlib", "pytest", "_pytest", "hypothesis", "IPython")
SHUT = frozenset([*_NUMERIC, *_OTHERS, *sys.stdlib_module_names]) - {"builtins"}  # also of code without a module
ATOMS = (bool, int, float, complex, str, bytes, type(None), np.generic, range, types.CodeType, types.EllipsisType)
_MADE_IN_PYTHON = 1 << 9  # in the flags of a class
_BY_TEXT = frozenset(
    ["getattr", "hasattr", "vars", "__dict__", "asdict", "astuple", "fields", "attrgetter", "__getattribute__"]
)
_IMPORT = opmap["IMPORT_NAME"]
_NEVER_READ = frozenset(["__init__", "__new__", "__repr__", "__str__", "__del__", "__init_subclass__", "__doc__"])


class HeldAt(NamedTuple):
    """Where a value is read, ``look(key, default)``, and what is there."""

    look: Look
    key: Any
    value: Any

    @property
    def where(self) -> tuple[int, Any]:
        """What tells it from other places."""
        if isinstance(self.look, partial):
            return id(self.look.args[0]), self.key
        return id(self.key if self.look is _cell else self.look.__self__), self.look is _cell or self.key  # type: ignore


class Reach:
    """What is reached from a function and from values that it is given."""

    def __init__(self, starts: Iterable[Any]):
        self.places: list[HeldAt] = []
        self.functions: list[types.FunctionType] = []
        self.containers: list[Any] = []  # lists, dictionaries and sets
        self.arrays: dict[int, np.ndarray] = {}  # by identity
        self.puts: list[tuple[Look, Put, Any, Any]] = []  # where an array or a tuple is held that could be another
        self.fixed: set[int] = set()  # the identities of those that are also held elsewhere
        self._inside: list[tuple[int, int]] = []  # what is in which tuple
        self.names: set[str] = set()  # that code reads by, and texts in it that may be names
        self.imports = False  # whether code imports while it runs
        self._texts: set[str] = set()
        self._holders: list[_Holder] = []
        self._scopes: list[
            tuple[set[str], dict[str, Any], int]
        ] = []  # of functions: names, globals, how many are there
        self._with_attributes = 0  # functions
        self._moving = False  # whether there are things that change without a place of theirs being another
        self._seen: dict[int, Any] = {}
        self._waiting: list[Any] = []
        for start in starts:
            self._pass(start)
        self._follow()

    @property
    def met(self) -> list[Any]:
        """All that is reached."""
        return list(self._seen.values())

    def _follow(self) -> None:
        while self._waiting:
            while self._waiting:
                self._visit(self._waiting.pop())
            texts = None if _BY_TEXT.isdisjoint(self.names) else self._texts
            for holder in self._holders:  # a name met since then may be that of an attribute passed over before
                for look, key, value, put in holder.places(self.names, texts):
                    self._place(look, key, value, put)
        found = len(self.fixed) + 1
        while found != len(self.fixed):
            found = len(self.fixed)
            self.fixed.update([part for part, whole in self._inside if whole in self.fixed])

    def stands(self) -> bool:
        """Whether nothing is named now that was not there before; that places hold what they held is for guards."""
        if self._moving or any(len(names & scope.keys()) != count for names, scope, count in self._scopes):
            return False
        texts = None if _BY_TEXT.isdisjoint(self.names) else self._texts
        if any(not holder.done.issuperset(holder.named(self.names, texts)) for holder in self._holders):
            return False
        return sum([bool(vars(f)) for f in self.functions]) == self._with_attributes

    def _place(self, look: Look, key: Any, value: Any, put: Put | None = None) -> None:
        self.places.append(HeldAt(look, key, value))
        self._pass(value, look, put, key)

    def _pass(self, value: Any, look: Look | None = None, put: Put | None = None, key: Any = None) -> None:
        """A value that is held somewhere, to be looked into."""
        if value is MISSING or isinstance(value, ATOMS):
            return
        self._waiting.append(value)
        if isinstance(value, (np.ndarray, tuple)):
            if look is None or put is None:
                self.fixed.add(id(value))
            else:
                self.puts.append((look, put, key, value))

    def _visit(self, value: Any) -> None:
        if id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if len(self._seen) > MOST:
            raise TraceError(
                f"The function reaches more than {MOST:,} objects by the names that it uses, too many to notice when "
                "one of them changes. Give it what it needs as arguments."
            )
        visit = _VISIT.get(type(value))
        if visit is None:
            visit = next((visit for kinds, visit in _VISITS if isinstance(value, kinds)), Reach._object)
        visit(self, value)

    # What each kind of value leads to

    def _array(self, value: np.ndarray) -> None:
        self.arrays[id(value)] = value
        if value.dtype.hasobject:
            self._moving = True
            for part in value.flat:
                self._pass(part)

    def _container(self, value: Any) -> None:
        self.containers.append(value)
        if isinstance(value, dict):
            put = value.__setitem__ if type(value) is dict else None
            for key, part in value.items():
                self._pass(part, value.get, put, key)
        else:
            put = value.__setitem__ if type(value) is list else None
            for key, part in enumerate(value):
                self._pass(part, partial(_item, value), put, key)
        if not _shut(type(value)):
            self._hold(value)

    def _tuple(self, value: tuple) -> None:
        if type(value) is not tuple and not hasattr(value, "_fields"):
            self.fixed.add(id(value))
        for part in value:
            if not isinstance(part, ATOMS):
                self._waiting.append(part)
                self._inside.append((id(part), id(value)))
        if not _shut(type(value)):
            self._hold(value)

    def _function(self, value: types.FunctionType) -> None:
        if _package(value) in SHUT:
            return
        self.functions.append(value)
        self._pass(value.__defaults__)
        self._pass(value.__kwdefaults__)
        self._pass(getattr(value, "__wrapped__", None))
        if vars(value):
            self._with_attributes += 1
            self._holders.append(_Holder(vars(value)))
        names, texts, imports = words_of(value.__code__)
        self.names |= names | texts
        self._texts |= texts
        self.imports = self.imports or imports
        for cell in value.__closure__ or ():
            self._place(_cell, cell, _cell(cell, MISSING), _put_cell)
        scope = value.__globals__
        known = sorted(names & scope.keys())
        self._scopes.append((names, scope, len(known)))
        for name in known:
            self._place(scope.get, name, scope[name], scope.__setitem__)

    def _method(self, value: types.MethodType) -> None:
        self._pass(value.__func__)
        self._pass(value.__self__)

    def _builtin(self, value: types.BuiltinMethodType) -> None:
        if not isinstance(value.__self__, types.ModuleType):
            self._pass(value.__self__)

    def _partial(self, value: partial) -> None:
        for part in (value.func, value.args, value.keywords):
            self._pass(part)

    def _iterator(self, value: types.GeneratorType) -> None:
        self._moving = True
        if value.gi_frame is not None:
            self._pass(value.gi_frame.f_locals)

    def _descriptor(self, value: Any) -> None:
        for name in ("fget", "__func__", "func"):
            self._pass(getattr(value, name, None))

    def _module(self, value: types.ModuleType) -> None:
        if value.__name__.partition(".")[0] not in SHUT:
            self._holders.append(_Holder(vars(value)))

    def _class(self, value: type) -> None:
        for own in value.__mro__:
            if not _shut(own):
                self._holders.append(_Class(own))

    def _object(self, value: Any) -> None:
        for name in (
            "__wrapped__",
            "rule",
            "loss",
        ):  # of ``functools.wraps`` and its kin; of ours
            self._pass(getattr(value, name, None))
        package = type(value).__module__.partition(".")[0]
        if package == "ricci" and hasattr(value, "_value"):  # an eager tensor takes another array when it is changed
            self._place(partial(getattr, value), "_value", value._value)
        elif package not in ("ricci", "jax", "jaxlib") and not is_torch(value):  # what tensors contain is an input
            self._hold(value)

    def _hold(self, value: Any) -> None:
        """The attributes of an object, and those of its class."""
        kind = type(value)
        if isinstance(getattr(value, "__dict__", None), dict):
            self._holders.append(_Instance(value))
        if any(vars(own).get("__slots__") for own in kind.__mro__):
            self._holders.append(_Slots(value))
        if not _shut(kind):
            self._pass(kind)


_VISITS: tuple[tuple[Any, Callable[[Reach, Any], None]], ...] = (
    (np.ndarray, Reach._array),
    ((list, dict, set, frozenset, deque), Reach._container),
    (tuple, Reach._tuple),
    (types.FunctionType, Reach._function),
    (types.MethodType, Reach._method),
    (types.BuiltinMethodType, Reach._builtin),
    (partial, Reach._partial),
    (types.GeneratorType, Reach._iterator),
    ((property, staticmethod, classmethod, cached_property), Reach._descriptor),
    (types.ModuleType, Reach._module),
    (type, Reach._class),
)
_VISIT: dict[type, Callable[[Reach, Any], None]] = {
    kind: visit for kinds, visit in _VISITS for kind in (kinds if isinstance(kinds, tuple) else (kinds,))
}


def _package(function: Any) -> str:
    return (function.__module__ or "").partition(".")[0]


def _shut(kind: type) -> bool:
    """Whether a class is not the user's."""
    if not kind.__flags__ & _MADE_IN_PYTHON:
        return True
    return kind.__module__.partition(".")[0] in SHUT


def words_of(code: types.CodeType) -> tuple[set[str], set[str], bool]:
    """What a code and the functions in it call things by; texts that may be names; and whether anything is imported."""
    names: set[str] = set()
    texts: set[str] = set()
    imports = False
    waiting = [code]
    while waiting:
        code = waiting.pop()
        names.update(code.co_names)
        imports = imports or _IMPORT in code.co_code[::2]
        for part in code.co_consts:
            if isinstance(part, types.CodeType):
                waiting.append(part)
            elif isinstance(part, str) and part.isidentifier():
                texts.add(part)
    return names, texts, imports


def _cell(cell: Any, default: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return default


def _item(items: list, key: int, default: Any) -> Any:
    return items[key] if key < len(items) else default


def _put_cell(cell: Any, value: Any) -> None:
    cell.cell_contents = value


# Things with attributes: which of them are read, is known by their names


class _Holder:
    """Attributes in a dictionary: those of a module."""

    def __init__(self, own: Any):
        self.own = own
        self.put: Put | None = own.__setitem__ if isinstance(own, dict) else None
        self.done: set[str] = set()

    def named(self, names: set[str], texts: set[str] | None) -> Iterable[str]:
        """The names of attributes that are read; any of them, where code looks them up by ``texts`` or otherwise."""
        return names & self.own.keys()

    def places(self, names: set[str], texts: set[str] | None) -> Iterator[tuple[Look, str, Any, Put | None]]:
        """The attributes that are read and that have not been told of before."""
        for name in sorted(set(self.named(names, texts)) - self.done):
            self.done.add(name)
            yield self.own.get, name, self.own.get(name, MISSING), self.put


class _Class(_Holder):
    """Attributes of a class; methods with names in double underscores are called without being named."""

    def __init__(self, kind: type):
        super().__init__(vars(kind))
        self.called: set[str] = set()
        self.count = -1  # of attributes, when they were looked through

    def named(self, names: set[str], texts: set[str] | None) -> Iterable[str]:
        if self.count != len(self.own):
            self.count = len(self.own)
            special = {k: v for k, v in self.own.items() if k[:2] == k[-2:] == "__"}
            self.called = {k for k, v in special.items() if isinstance(v, types.FunctionType)} - _NEVER_READ
        return (names & self.own.keys()) | self.called


class _Instance(_Holder):
    """An object's own attributes, and those that it would have if it did not take them from its class."""

    def __init__(self, value: Any):
        super().__init__(vars(value))
        kind = type(value)
        bases = {own.__module__.partition(".")[0] for own in kind.__mro__}
        self.everything = not bases.isdisjoint(_NUMERIC)  # code that is not looked into reads them: torch.nn.Module's
        mine = [vars(own) for own in kind.__mro__ if not _shut(own)]
        self.inherited = {name for own in mine for name, v in own.items() if not isinstance(v, property)}

    def named(self, names: set[str], texts: set[str] | None) -> Iterable[str]:
        if texts is not None or self.everything:
            return {*self.own, *(texts or ()), *(names & self.inherited)}
        return (names & self.own.keys()) | (names & self.inherited)


class _Slots(_Holder):
    """Attributes in slots."""

    def __init__(self, value: Any):
        slots = [vars(own).get("__slots__", ()) for own in type(value).__mro__]
        listed = [(each,) if isinstance(each, str) else tuple(each) for each in slots]
        super().__init__(dict.fromkeys([name for each in listed for name in each]))
        self.value, self.everything = value, _shut(type(value))

    def named(self, names: set[str], texts: set[str] | None) -> Iterable[str]:
        return self.own.keys() if texts is not None or self.everything else names & self.own.keys()

    def places(self, names: set[str], texts: set[str] | None) -> Iterator[tuple[Look, str, Any, Put | None]]:
        look = partial(getattr, self.value)
        for _, name, _, _ in super().places(names, texts):
            yield look, name, look(name, MISSING), None
