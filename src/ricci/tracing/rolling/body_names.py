"""What the code of a function says of the names in one of its loops."""

from __future__ import annotations

import dis
from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType


@dataclass(frozen=True)
class BodyNames:
    """What the code of a function says of the names in a loop."""

    unread: frozenset[str] = frozenset()  # nowhere outside the loop
    unseen: frozenset[str] = frozenset()  # from one step to another, nor outside
    grown: frozenset[str] = frozenset()  # lists that are appended to, and of which at most the last part is read

    @classmethod
    def of(cls, code: CodeType, place: int) -> BodyNames:
        """Of the loop whose next item is asked for at ``place``."""
        found = list(dis.get_instructions(code))
        loop = max([k for k, one in enumerate(found) if one.offset <= place])
        if found[loop].opname != "FOR_ITER":
            return cls()
        stop = found[loop].argval
        inside = [one for one in found[loop + 1 :] if one.offset < stop]
        outside = [*found[:loop], *[one for one in found if one.offset >= stop]]
        held = set(code.co_cellvars)
        unread = set(code.co_varnames) - {name for one in outside for name in _read_by(one)} - held
        first = set() if code.co_exceptiontable else _stored_first(inside)
        grown = _appended_names(inside) - held - {name for one in inside for name in _stored_by(one)}
        return cls(frozenset(unread), frozenset(unread & first), frozenset(grown))


def _names_in(one: dis.Instruction) -> tuple:
    return one.argval if isinstance(one.argval, tuple) else (one.argval,)


def _stored_by(one: dis.Instruction) -> tuple:
    """The names of the function that an instruction stores into."""
    if not one.opname.startswith(("STORE_FAST", "DELETE_FAST")):
        return ()
    return _names_in(one)[:1] if one.opname == "STORE_FAST_LOAD_FAST" else _names_in(one)


def _read_by(one: dis.Instruction) -> tuple:
    """The names of the function that an instruction reads."""
    if one.opname == "STORE_FAST_LOAD_FAST":
        return _names_in(one)[1:]
    return _names_in(one) if one.opname.startswith("LOAD_FAST") else ()


def _stored_first(body: Sequence[dis.Instruction]) -> set[str]:
    """The names that a step stores into before it reads them, whatever happens."""
    stored: set[str] = set()
    read: set[str] = set()
    for one in body:
        if one.opcode in dis.hasjrel or one.opcode in dis.hasjabs:
            break
        stored.update([name for name in _stored_by(one) if name not in read])
        read.update(_read_by(one))
    return stored


def _appended_names(body: Sequence[dis.Instruction]) -> set[str]:
    """The names of which nothing but ``append`` and the last part is read."""
    found: set[str] = set()
    others: set[str] = set()
    shown = [one for one in body if one.opname not in ("EXTENDED_ARG", "CACHE", "PUSH_NULL", "NOP")]
    for k, one in enumerate(shown):
        follow = shown[k + 1 : k + 3]
        appends = follow and follow[0].opname in ("LOAD_METHOD", "LOAD_ATTR") and follow[0].argval == "append"
        ends = len(follow) == 2 and (follow[0].opname, follow[0].argval) == ("LOAD_CONST", -1)
        last = ends and follow[1].opname in ("BINARY_SUBSCR", "BINARY_OP") and follow[1].argrepr in ("", "[]")
        for name in _read_by(one):
            if appends and name == _names_in(one)[-1]:
                found.add(name)
            elif not last or name != _names_in(one)[-1]:
                others.add(name)
    return found - others
