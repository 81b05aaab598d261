"""Runs the Julia that is written for formulas, where there is no Julia: as much of the language as that takes.

Places are counted from 1 and checked, arrays are column by column, ``*`` of two arrays is a matrix product, entries of
an array are of one type, and what a package has is there only after ``using`` it.
"""

from __future__ import annotations

import operator
import re
from types import SimpleNamespace as Parts
from typing import Any

import numpy as np
from julia_names import BASE, ENTRYWISE, PACKAGES, scalar

TOKEN = re.compile(
    r'(?P<text>"""(?:.|\n)*?"""|"[^"\n]*")|(?P<number>\d+\.?\d*(?:[eE][-+]?\d+)?)|(?P<name>[^\W\d]\w*)|(?P<line>\n)'
    r"|(?P<sign>\.\(|\|\||\.==|\.=|\+=|==|!=|<=|>=|\.[-+*/^]|[-+*/\\^'!<>=?:;,.()\[\]])|(?P<skip>[ \t]+|\#[^\n]*)"
)
RANKS = {"||": 2, "==": 4, "!=": 4, "<=": 4, ">=": 4, "<": 4, ">": 4, ".==": 4, ":": 5, "+": 6, "-": 6, ".+": 6}
RANKS |= {".-": 6, "*": 7, "/": 7, "\\": 7, ".*": 7, "./": 7, "^": 9, ".^": 9}
PLAIN = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "^": operator.pow}
PLAIN |= {"==": operator.eq, "!=": operator.ne, "<=": operator.le, ">=": operator.ge, "<": operator.lt}
PLAIN |= {">": operator.gt}
WORDS = {"function", "end", "for", "in", "if", "elseif", "else", "return", "using"}


class Returned(Exception):
    pass


class Reader:
    """Parses and runs at once: expressions become functions of the names that are known."""

    def __init__(self, text: str):
        self.tokens: list[tuple[str, str]] = []
        depth, at = 0, 0
        while at < len(text):
            found = TOKEN.match(text, at)
            assert found, f"no token of Julia: {text[at : at + 20]!r}"
            kind, word, at = str(found.lastgroup), found[0], found.end()
            depth += (word in ("(", "[", ".(")) - (word in (")", "]"))
            if kind != "skip" and not (kind == "line" and depth):
                self.tokens.append((kind, word))
        self.place = 0
        self.names: dict[str, Any] = dict(BASE)

    # Statements

    def run(self) -> dict[str, Any]:
        while self.place < len(self.tokens):
            kind, _word = self.tokens[self.place]
            if kind in ("line", "text"):
                self.place += 1
            elif self.taken("using"):
                self.names.update(PACKAGES[self.name()])
            elif self.taken("function"):
                self.function()
            else:  # f(x) = …
                name, parameters, _ = self.name(), *self.parameters()
                self.need("=")
                body = self.expression()
                self.names[name] = self.defined(name, parameters, {}, lambda known, body=body: body(known))
        return self.names

    def function(self) -> None:
        name = self.name()
        parameters, named = self.parameters()
        body = self.block(("end",))
        self.need("end")

        def called(known: dict[str, Any]) -> Any:
            try:
                body(known)
            except Returned as result:
                return result.args[0]

        self.names[name] = self.defined(name, parameters, named, called)

    def defined(self, name: str, parameters: list[str], named: Any, body: Any) -> Any:
        def function(*values: Any, **more: Any) -> Any:
            assert len(values) == len(parameters) and set(more) == set(named), name
            return body({**self.names, **dict(zip(parameters, values, strict=True)), **more})

        return function

    def parameters(self) -> tuple[list[str], list[str]]:
        self.need("(")
        plain: list[str] = []
        named: list[str] = []
        target = plain
        while not self.taken(")"):
            if self.taken(";"):
                target = named
            elif not self.taken(","):
                target.append(self.name())
        return plain, named

    def block(self, ends: tuple[str, ...]) -> Any:
        lines = []
        while True:
            while self.tokens[self.place][0] == "line":
                self.place += 1
            if self.tokens[self.place][1] in ends:
                return lambda known: [line(known) for line in lines]
            lines.append(self.statement())

    def statement(self) -> Any:
        if self.taken("return"):
            values = self.listed()

            def give(known: dict[str, Any]) -> None:
                found = [value(known) for value in values]
                raise Returned(found[0] if len(found) == 1 else tuple(found))

            return give
        if self.taken("for"):
            ranges, body = self.ranges(), self.block(("end",))
            self.need("end")
            return lambda known: [body({**known, **at}) and None for at in places(ranges, known)] and None
        if self.taken("if"):
            branches = [(self.expression(), self.block(("elseif", "else", "end")))]
            while self.taken("elseif"):
                branches.append((self.expression(), self.block(("elseif", "else", "end"))))
            if self.taken("else"):
                branches.append((lambda known: True, self.block(("end",))))
            self.need("end")
            return lambda known: next((body(known) for test, body in branches if test(known)), None) and None
        return self.assignment()

    def assignment(self) -> Any:
        start = self.place
        targets = self.listed()
        sign = self.tokens[self.place][1]
        if sign not in ("=", ".=", "+="):
            assert len(targets) == 1
            return targets[0]
        names = [word for kind, word in self.tokens[start : self.place] if kind == "name"][: len(targets)]
        self.place += 1
        value = self.expression()
        if sign == "=" and all(target.kind == "name" for target in map(about, targets)):

            def store(known: dict[str, Any]) -> None:
                found = value(known)
                known.update(zip(names, found if len(names) > 1 else [found], strict=True))

            return store
        (place,) = targets
        return lambda known: about(place).store(known, value(known), sign)

    # Expressions

    def listed(self) -> list[Any]:
        found = [self.expression()]
        while self.taken(","):
            found.append(self.expression())
        return found

    def expression(self, rank: int = 0, ranged: bool = True) -> Any:
        left = self.unary(ranged)
        while self.place < len(self.tokens):
            kind, word = self.tokens[self.place]
            if word == "?" and rank <= 1:
                self.place += 1
                yes = self.expression(2, False)
                self.need(":")
                left = chosen(left, yes, self.expression(1, ranged))
                continue
            own = RANKS.get(word) if kind == "sign" else None
            if own is None or own < rank or (word == ":" and not ranged):
                return left
            self.place += 1
            left = joined(word, left, self.expression(own if word == "^" else own + 1, ranged))
        return left

    def unary(self, ranged: bool) -> Any:
        if self.taken("-"):
            inner = self.expression(8, ranged)
            return lambda known: -checked(inner(known))
        if self.taken("!"):
            inner = self.unary(ranged)
            return lambda known: negated(inner(known))
        return self.postfix(self.primary())

    def primary(self) -> Any:
        kind, word = self.tokens[self.place]
        self.place += 1
        if kind == "number":
            number = int(word) if word.isdigit() else float(word)
            return lambda known: number
        if kind == "text":
            return lambda known: word[1:-1]
        if kind == "name":
            assert word not in WORDS, f"{word} stands where a value should"
            return named(lambda known: known[word], word)
        if word == "(":
            inner = self.expression()
            self.need(")")
            return inner
        if word == ":":
            return lambda known: slice(None)
        assert word == "[", f"{word} stands where a value should"
        return self.array()

    def array(self) -> Any:
        first = self.expression()
        if self.taken("for"):
            ranges = self.ranges()
            self.need("]")
            return lambda known: comprehended(first, ranges, known)
        rows = [[first]]
        while not self.taken("]"):
            if self.taken(";"):
                rows.append([self.expression()])
            else:
                flat = self.taken(",")
                rows[-1].append(self.expression())
                assert flat or len(rows) < 3
        if len(rows) == 1:
            return lambda known: np.array([x(known) for x in rows[0]])
        return lambda known: np.concatenate([beside([x(known) for x in row]) for row in rows])

    def ranges(self) -> list[tuple[str, Any]]:
        found = []
        while True:
            name = self.name()
            self.need("in")
            found.append((name, self.expression()))
            if not self.taken(","):
                return found

    def postfix(self, left: Any) -> Any:
        while self.place < len(self.tokens):
            word = self.tokens[self.place][1]
            if word in ("(", ".("):
                self.place += 1
                left = self.call(left, word == ".(")
            elif word == "[" and self.tokens[self.place - 1][0] != "line":
                self.place += 1
                left = self.entry(left)
            elif word == "'":
                self.place += 1
                left = (lambda inner: lambda known: transposed(inner(known)))(left)
            elif word == ".":
                self.place += 1
                left = (lambda inner, part: lambda known: getattr(inner(known), part))(left, self.name())
            else:
                return left
        return left

    def call(self, function: Any, dotted: bool) -> Any:
        values: list[Any] = []
        more: dict[str, Any] = {}
        loops: list[tuple[str, Any]] = []
        while not self.taken(")"):
            if self.taken("for"):
                loops = self.ranges()
            elif not (self.taken(",") or self.taken(";")):
                if self.tokens[self.place][0] == "name" and self.tokens[self.place + 1][1] == "=":
                    key = self.name()
                    self.need("=")
                    more[key] = self.expression()
                else:
                    values.append(self.expression())

        def called(known: dict[str, Any]) -> Any:
            options = {key: value(known) for key, value in more.items()}
            what = function(known)
            if loops:
                return what([values[0]({**known, **at}) for at in places(loops, known)], **options)
            given = [value(known) for value in values]
            if dotted:
                return ENTRYWISE[about(function).word](*given)
            return what(*given, **options)

        spelled = about(function)
        return named(called, spelled.word, called)

    def entry(self, array: Any) -> Any:
        start = self.place
        count = self.count_of_places(start)
        found = []
        for axis in range(count):
            found.append(self.place_at(axis))
            if axis < count - 1:
                self.need(",")
        self.need("]")
        spelled = about(array)

        def at(known: dict[str, Any]) -> tuple[Any, Any]:
            values = array(known)
            assert np.ndim(values) == count, f"{spelled.word} has {np.ndim(values)} axes, and {count} places"
            return values, tuple([within(p({**known, "end": n}), n) for p, n in zip(found, values.shape, strict=True)])

        def read(known: dict[str, Any]) -> Any:
            values, where = at(known)
            return scalar(values[where])

        return named(read, spelled.word, None, at)

    def count_of_places(self, at: int) -> int:
        depth, count = 0, 1
        while depth or self.tokens[at][1] != "]":
            word = self.tokens[at][1]
            depth += (word in ("(", "[", ".(")) - (word in (")", "]"))
            count += word == "," and not depth
            at += 1
        return count

    def place_at(self, axis: int) -> Any:
        if self.tokens[self.place][1] == ":" and self.tokens[self.place + 1][1] in (",", "]"):
            self.place += 1
            return lambda known: slice(None)
        end = self.place
        while self.tokens[end][1] not in (",", "]"):
            if self.tokens[end][1] == "end":
                self.tokens[end] = ("name", "last")
            end += 1
        inner = self.expression()
        return lambda known: inner({**known, "last": known["end"]})

    # Words

    def taken(self, word: str) -> bool:
        if self.place < len(self.tokens) and self.tokens[self.place][1] == word:
            self.place += 1
            return True
        return False

    def need(self, word: str) -> None:
        assert self.taken(word), f"{word} is wanted, and {self.tokens[self.place : self.place + 3]} stands there"

    def name(self) -> str:
        kind, word = self.tokens[self.place]
        assert kind == "name" and word not in WORDS, f"a name is wanted, and {word!r} stands there"
        self.place += 1
        return word


# What expressions do


class Spelled(Parts):
    word: str
    kind: str


def named(function: Any, word: str, called: Any = None, at: Any = None) -> Any:
    def store(known: dict[str, Any], value: Any, sign: str) -> None:
        if at is not None:
            values, where = at(known)
            assert sign != ".=" or (np.ndim(values[where]) and np.shape(value) in ((), np.shape(values[where])))
            assert sign != "=" or np.shape(values[where]) == np.shape(value)
            values[where] = values[where] + value if sign == "+=" else value
        else:
            target = called and called(known)  # a view, as of selectdim
            assert sign == "." + "=" and np.shape(target) == np.shape(value)
            target[...] = value

    kind = "entry" if at is not None else "call" if called is not None else "name"
    function.about = Spelled(word=word, kind=kind, store=store)
    return function


def about(function: Any) -> Any:
    return getattr(function, "about", Spelled(word="", kind=""))


def chosen(test: Any, yes: Any, no: Any) -> Any:
    def choose(known: dict[str, Any]) -> Any:
        found = test(known)
        assert isinstance(found, (bool, np.bool_)), "what is asked must be true or false"
        return yes(known) if found else no(known)

    return choose


def joined(sign: str, left: Any, right: Any) -> Any:
    if sign == "||":
        return lambda known: left(known) or right(known)
    return lambda known: together(sign, left(known), right(known))


def together(sign: str, a: Any, b: Any) -> Any:
    arrays = np.ndim(a), np.ndim(b)
    if sign == ":":
        return range(a, b + 1)
    if sign.startswith("."):
        assert 0 in arrays or np.shape(a) == np.shape(b)
        return PLAIN[sign[1:]](np.asarray(a, float), b)
    if sign == "\\":
        return np.linalg.solve(a, b)
    if sign == "*" and 0 not in arrays:
        return a @ b
    if sign in "+-" and any(arrays):
        assert np.shape(a) == np.shape(b), "arrays of two shapes are added"
    elif any(arrays):
        assert sign in "*/" and 0 in arrays and (sign == "*" or not arrays[1]), f"{sign} of arrays"
    if sign == "*" and (a is False or b is False):
        return 0.0 if isinstance(b if a is False else a, float) else 0
    with np.errstate(all="ignore"):
        return scalar(PLAIN[sign](np.float64(a) if sign in "/^" and not any(arrays) else a, b))


def checked(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


def negated(value: Any) -> Any:
    return (lambda x: not value(x)) if callable(value) else not value


def transposed(value: Any) -> Any:
    assert np.ndim(value) == 2
    return value.T


def places(ranges: Any, known: dict[str, Any]) -> Any:
    (name, over), *rest = ranges
    for at in over(known):
        if not rest:
            yield {name: at}
        else:
            yield from ({name: at, **inner} for inner in places(rest, known))


def comprehended(entry: Any, ranges: Any, known: dict[str, Any]) -> np.ndarray:
    found = [entry({**known, **at}) for at in places(ranges, known)]
    kinds = {type(x) for x in found}
    assert len(kinds) <= 1, f"an array has entries of the types {kinds}"
    shape = [len(over(known)) for _, over in ranges]
    return np.array(found, float if not found else None).reshape(shape)


def beside(parts: list[Any]) -> np.ndarray:
    return np.atleast_1d(parts[0]) if len(parts) == 1 else np.concatenate(parts, 1)


def within(place: Any, size: int) -> Any:
    """A place counted from 0."""
    if isinstance(place, slice):
        return place
    if isinstance(place, range):
        assert not place or (place[0] >= 1 and place[-1] <= size)
        return slice(place.start - 1, place.stop - 1)
    assert float(place).is_integer() and 1 <= place <= size, f"place {place} of {size}"
    return int(place) - 1


def function_of(code: Any) -> Any:
    """The function that a code in Julia is."""
    return Reader(str(code)).run()[code.name]
