"""Functions of which nothing is known but a name, and that they work entry by entry: ``point(x[i])``, ``f(x, z)``.

Such a function is an elementwise row, made when it is met, and so are its derivatives: ``f'`` and ``f''`` of one
argument, ``f_1`` and ``f_12`` by the first, and by the first and the second, of several. The order in which one
differentiates does not matter, so a derivative is told by its places in order, and ``f_12`` and ``f_21`` are one row.
What ``f`` is comes with a call; then what it is takes the place of the nodes, and derivatives of that the place of
theirs.

>>> f = unknown("f", 2)
>>> unknown("f", 2, (2, 1)) is unknown("f", 2, (1, 2)), unknown("f", 2, (1, 2)).name
(True, 'f_12')
"""

from __future__ import annotations

import re
from functools import partial
from typing import NamedTuple, NoReturn

from ricci.caches import Interned
from ricci.errors import InputError
from ricci.expr import Elementwise, Expr, Function, Op, elementwise, topological

PRIMES = 3  # so many are told apart at a glance; the fourth derivative is ``f^(4)``
HIGHEST = 100  # order of a derivative that is read
SINGLE = 9  # places up to this one have one digit each

Places = tuple[int, ...]  # the arguments that it is differentiated by, counted from 1, in order
_rows: Interned[Op] = Interned()


class UnknownFunction(NamedTuple):
    """What is known of such a row."""

    name: str
    arity: int
    places: Places


def unknown(name: str, arity: int, places: Places = ()) -> Op:
    """The row of an unknown function, or of its derivative by the arguments at these places."""
    what = UnknownFunction(name, arity, tuple(sorted(places)))
    found = _rows.get(what)
    if found is not None:
        return found
    return _rows.put(
        what,
        Op(
            name + mark(what.places, arity),
            arity,
            partial(_no_value, name),
            tuple([partial(_slope, what, place) for place in range(1, arity + 1)]),
            maker=elementwise,
            unknown=what,
            head=f"{name}{mark(what.places, arity)}()",  # no rule of a function that happens to have this name is meant
            again=lambda: (unknown, tuple(what)),
        ),
    )


def _slope(what: UnknownFunction, place: int, *args: Expr) -> Expr:
    """The derivative by one argument; the last operand of a rule is the value, which tells nothing here."""
    return elementwise(unknown(what.name, what.arity, (*what.places, place)), *args[:-1])


def _no_value(name: str, *args: object) -> NoReturn:
    raise InputError(lacks_value([name]))


def unknown_in(*roots: Expr) -> dict[UnknownFunction, None]:
    """The unknown functions and derivatives of such that occur, in the steps of loops too."""
    found: dict[UnknownFunction, None] = {}
    for node in topological(*roots):
        if isinstance(node, Elementwise) and node.op.unknown is not None:
            found[node.op.unknown] = None
        elif isinstance(node, Function) and node.op.loop is not None:
            found |= unknown_in(node.op.loop.result)
    return found


def lacks_value(names: list[str]) -> str:
    """The message for functions that a call does not give."""
    call = ", ".join(f"{name}=np.sin" for name in names[:1]) + "".join(f", {name}=…" for name in names[1:])
    functions = "the function" if len(names) == 1 else "the functions"
    return f"The call lacks {functions} {', '.join(names)}; add {call}, or any function that works entry by entry."


# How derivatives are written.


def mark(places: Places, arity: int) -> str:
    """What stands after the name of a function for its derivative.

    >>> mark((1, 1), 1), mark((1,) * 4, 1), mark((1, 2), 2), mark((2, 11), 12)
    ("''", '^(4)', '_12', '_2_11')
    """
    if not places:
        return ""
    if arity == 1:
        return "'" * len(places) if len(places) <= PRIMES else f"^({len(places)})"
    return "_" + ("" if arity <= SINGLE else "_").join(map(str, places))


def read_mark(written: str, arity: int) -> Places:
    """The places of a derivative, from what stands after its name in a text; a ``ValueError`` says what is wrong.

    >>> read_mark("''", 1), read_mark("^(4)", 1), read_mark("_21", 2), read_mark("_2_11", 12)
    ((1, 1), (1, 1, 1, 1), (2, 1), (2, 11))
    """
    if not written:
        return ()
    if written[0] != "_":
        if arity != 1:
            raise ValueError("primes do not tell by which of them")
        order = len(written) if written[0] == "'" else int(written[2:-1]) if len(written) < 6 else HIGHEST + 1
        if order > HIGHEST:
            raise ValueError(f"a derivative has an order of at most {HIGHEST}")
        return (1,) * order
    words = re.findall(r"\d+", written) if "_" in written[1:] or arity > SINGLE else list(written[1:])
    places = tuple(map(int, words))
    wrong = next((place for place in places if not 1 <= place <= arity), None)
    if wrong is not None:
        raise ValueError(f"there is no argument {wrong}")
    return places


MARKED = re.compile(r"_[1-9]\d*(?:_[1-9]\d*)*")  # the digits after the name of a function of several arguments


def unmarked(word: str, names: frozenset[str]) -> tuple[str, str] | None:
    """The function of ``names`` whose derivative a word is, and what stands after its name; none if it is no such.

    >>> unmarked("f''", frozenset("f")), unmarked("f_12", frozenset("f")), unmarked("g_1", frozenset("f"))
    (('f', "''"), ('f', '_12'), None)
    """
    bare = word.rstrip("'")
    if bare in names:
        return bare, word[len(bare) :]
    for at in [found.start() for found in re.finditer("_", word)]:
        if word[:at] in names and MARKED.fullmatch(word[at:]):
            return word[:at], word[at:]
    return None
