"""Reads matrix notation, text or LaTeX, and computes it: written apart from what prints it.

The grammar is that of docs/matrix.md. How long a ``1`` is, and how large an ``I``, a ``K`` or a ``0``, is nowhere said;
it follows from what stands beside them. So shapes are found first, with a different prime for every size, where a
product of sizes is one number and tells which they are; then the value, for arrays of any sizes.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np

import ricci as rc

NAME = r"[^\W\d_ᵀ⁰¹²³⁴⁵⁶⁷⁸⁹](?:[^\Wᵀ⁰¹²³⁴⁵⁶⁷⁸⁹]|[̄̂̇̃])*'*"
TOKEN = re.compile(
    rf"\s*(⟪|#\d+|log\||abs\||\|\w+'*\||\^\{{⊙|\^\{{|{NAME}\.?\(|{NAME}"
    r"|\d+\.\d+(?:e[+-]?\d+)?|\d+(?:e[+-]?\d+)?|⁻¹|⁻ᵀ|ᵀ|[⁰¹²³⁴⁵⁶⁷⁸⁹]+|‖_F|‖₁|‖| / |\S)"
)
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
REDUCING = ("logsumexp", "max", "min", "norm", "prod")
ROW_WISE, COLUMN_WISE = (tuple([f"{name}_{side}" for name in REDUCING]) for side in ("row", "col"))
SCALAR = {"tr", "det", "max", "min", "logsumexp", "prod", "log|", "abs|", "‖", "‖_F", "‖₁", "var", "std"}


class Misread(Exception):
    """The text is no matrix notation, or it does not say what the size of something is."""


@dataclass(eq=False)
class Unknown:
    """A size that is to be found."""


@dataclass
class Node:
    """A piece of the text: what it is, its parts, its own data, and its shape as two sizes."""

    kind: str
    parts: list[Node] = field(default_factory=list)
    data: Any = None
    shape: tuple = ()


Size = tuple[Fraction, tuple[tuple[Unknown, int], ...]]  # a number times powers of unknown sizes
UNIT: Size = (Fraction(1), ())


def product_of(sizes: Iterable[Size]) -> Size:
    number, powers = Fraction(1), dict[Unknown, int]()
    for n, unknown in sizes:
        number *= n
        for u, k in unknown:
            powers[u] = powers.get(u, 0) + k
    return number, tuple([(u, k) for u, k in powers.items() if k])


def power_of(s: Size, k: int) -> Size:
    return s[0] ** k, tuple([(u, k * n) for u, n in s[1]])


def root_of(n: Fraction, k: int) -> Fraction:
    found = [Fraction(round(part ** (1 / abs(k)))) for part in (n.numerator, n.denominator)]
    return found[0] / found[1] if k > 0 else found[1] / found[0]


class Reading:
    """One text, parsed."""

    def __init__(self, text: str, names: Mapping[str, tuple[int, ...]]):
        text = re.sub(r"(^|[\s([{·⊙-])‖", r"\1⟪", text)
        self.tokens = [*[t if t == " / " else t.strip() for t in self.split(text)], ""]
        self.names = names
        self.bound: dict[Unknown, Size] = {}
        self.later: list[tuple[Size, Size]] = []
        self.root = self.sum()
        if self.tokens != [""]:
            raise Misread(f"{self.tokens[0]!r} is left over in {text}")

    @staticmethod
    def split(text: str) -> list[str]:
        found, at = [], 0
        while at < len(text):
            slash = text.startswith(" / ", at)
            match = TOKEN.match(text, at) if not slash else None
            if match is None and not slash:
                break
            found.append(" / " if slash else match.group(1))  # type: ignore[union-attr]
            at = at + 3 if slash else match.end()  # type: ignore[union-attr]
        return found

    # Sizes.

    def size(self, s: Size) -> Size:
        while any(u in self.bound for u, _ in s[1]):
            s = product_of([(s[0], ()), *[power_of(self.bound.get(u, (Fraction(1), ((u, 1),))), k) for u, k in s[1]]])
        return s

    def same(self, a: Size, b: Size) -> None:
        """Two sizes are one: their quotient, made of powers of what is unknown, tells one of these."""
        number, unknown = product_of([self.size(a), power_of(self.size(b), -1)])
        if not unknown:
            if number != 1:
                raise Misread(f"a size is {self.size(a)[0]} and {self.size(b)[0]}")
            return
        u, k = min(unknown, key=lambda power: abs(power[1]))
        rest = tuple([(v, n) for v, n in unknown if v is not u])
        if abs(k) == 1:
            self.bind(u, power_of((number, rest), -k))
        elif not rest:
            self.bind(u, (root_of(number, -k), ()))
        else:
            self.later.append((a, b))

    def bind(self, u: Unknown, s: Size) -> None:
        self.bound[u] = s
        waiting, self.later = self.later, []
        for a, b in waiting:
            self.same(a, b)

    def fit(self, shape: tuple, other: tuple) -> None:
        for a, b in zip(shape, other, strict=True):
            self.same(a, b)

    def is_scalar(self, shape: tuple) -> bool:
        return all(self.size(s) == UNIT for s in shape)

    @staticmethod
    def unknown() -> Size:
        return Fraction(1), ((Unknown(), 1),)

    # The grammar, and shapes as far as they are known.

    def next(self, *wanted: str) -> str:
        return self.tokens.pop(0) if not wanted or self.tokens[0] in wanted else ""

    def expect(self, *wanted: str) -> str:
        found = self.next(*wanted)
        if not found:
            raise Misread(f"{wanted} is wanted, and {self.tokens[0]!r} is there")
        return found

    def sum(self) -> Node:
        terms = [Node("-", [self.signed()]) if self.next("-") else self.signed()]
        if terms[0].kind == "-":
            terms[0].shape = terms[0].parts[0].shape
        while sign := self.next("+", "-"):
            term = self.signed()
            terms.append(Node("-", [term], shape=term.shape) if sign == "-" else term)
        for t in terms[1:]:
            self.fit(terms[0].shape, t.shape)
        return terms[0] if len(terms) == 1 else Node("+", terms, shape=terms[0].shape)

    def signed(self) -> Node:
        a = self.term()
        before = ""
        while sign := self.next("⊙", "⊘", "⊗", "•", " / "):
            b = self.factor() if sign == " / " else self.term()
            if before and sign != " / " and (sign in "⊙⊘") != (before in "⊙⊘"):
                raise Misread(f"{before} and {sign} stand side by side without brackets")
            before = sign if sign != " / " else before
            (r, c), (s, d) = a.shape, b.shape
            if sign in "⊙⊘":
                self.fit(a.shape, b.shape)
                shape = a.shape
            elif sign == " / ":
                self.fit(b.shape, (UNIT, UNIT))
                shape = a.shape
            elif sign == "⊗":
                shape = (self.times(r, s), self.times(c, d))
            else:
                self.same(r, s)
                shape = (r, self.times(c, d))
            a = Node(sign, [a, b], shape=shape)
        return a

    def times(self, a: Size, b: Size) -> Size:
        return product_of([self.size(a), self.size(b)])

    def term(self) -> Node:
        a = self.factor()
        while self.next("·") or self.tokens[0] not in (
            "",
            ")",
            "]",
            "}",
            "‖",
            "‖_F",
            "‖₁",
            "|",
            *"+-⊙⊘⊗•,><=≥≤≠",
            " / ",
        ):
            b = self.factor()
            column, known = self.size(a.shape[1]) == UNIT and a.kind != "one", not self.size(b.shape[0])[1]
            if column and known and self.size(b.shape[0]) != UNIT and self.size(a.shape[0])[1]:
                self.same(a.shape[0], UNIT)  # ``(1 - s) A``
            if self.is_scalar(a.shape) or self.is_scalar(b.shape):
                shape = b.shape if self.is_scalar(a.shape) else a.shape
                a = Node("scale", [a, b], shape=shape)
            else:
                self.same(a.shape[1], b.shape[0])
                a = Node("@", [a, b], shape=(a.shape[0], b.shape[1]))
        return a

    def factor(self) -> Node:
        a = self.atom()
        while True:
            mark = self.next("ᵀ", "⁻¹", "⁻ᵀ", "^{", "^{⊙")
            raised = "" if mark or not re.fullmatch("[⁰¹²³⁴⁵⁶⁷⁸⁹]+", self.tokens[0]) else self.next()
            if mark == "ᵀ":
                a = Node(mark, [a], shape=a.shape[::-1])
            elif mark in ("⁻¹", "⁻ᵀ"):
                self.same(*a.shape)
                a = Node(mark, [a], shape=a.shape)
            elif mark in ("^{", "^{⊙"):
                exponent = self.sum()
                self.expect("}")
                least = exponent.parts[0] if exponent.kind == "-" else exponent
                if self.is_scalar(exponent.shape) or mark == "^{" or least.kind in ("one", "number"):
                    self.fit(exponent.shape, (UNIT, UNIT))
                else:
                    self.fit(exponent.shape, a.shape)
                kind = "power" if mark == "^{⊙" or self.is_scalar(a.shape) else "matrix power"
                a = Node(kind, [a, exponent], shape=a.shape)
            elif raised:
                exponent = Node("number", data=float(raised.translate(RAISED)), shape=(UNIT, UNIT))
                a = Node("power" if self.is_scalar(a.shape) else "matrix power", [a, exponent], shape=a.shape)
            else:
                return a

    def atom(self) -> Node:
        token = self.next()
        if token[:1].isdigit() or token[:1] == "#" or re.fullmatch(r"\|\w+'*\|", token):
            return self.number(token)
        if token == "(":
            a = self.sum()
            self.expect(")")
            return a
        if token == "[":
            left = self.sum()
            sign = self.expect(">", "<", "=", "≥", "≤", "≠")
            right = self.sum()
            self.expect("]")
            return self.entrywise("compare", [left, right], sign)
        if token in ("⟪", "log|", "abs|"):
            a = self.sum()
            close = self.expect("‖", "‖_F", "‖₁") if token == "⟪" else self.expect("|") and token
            return Node("call", [a], close, (UNIT, UNIT))
        if token.endswith(".("):
            return self.entrywise("entrywise", self.arguments(), token[:-2])
        if token.endswith("("):
            return self.call(token[:-1])
        if token in ("I", "K") and token not in self.names:
            size = self.unknown()
            return Node(token, shape=(size, size))
        if token == "pi":
            return Node("number", data=np.pi, shape=(UNIT, UNIT))
        if token not in self.names:
            raise Misread(f"{token!r} is not known")
        return Node("name", data=token, shape=tuple([(Fraction(n), ()) for n in (*self.names[token], 1, 1)[:2]]))

    def arguments(self) -> list[Node]:
        found = [self.sum()]
        while self.next(","):
            found.append(self.sum())
        self.expect(")")
        return found

    def entrywise(self, kind: str, args: list[Node], data: str) -> Node:
        wide = [a for a in args if not self.is_scalar(a.shape) and a.kind not in ("one", "0")] or args[:1]
        for a in args:
            if not self.is_scalar(a.shape) and not (a.kind in ("one", "0") and a is not wide[0]):
                self.fit(wide[0].shape, a.shape)
            elif a.kind in ("one", "0") and a is not wide[0]:
                self.fit(a.shape, (UNIT, UNIT))
        return Node(kind, args, data, wide[0].shape)

    def call(self, name: str) -> Node:
        args = self.arguments()
        (a, *_) = args
        r, c = a.shape
        shape = a.shape
        if name == "diag":
            column = self.size(c) == UNIT
            if not column:
                self.same(r, c)
            shape = (r, r) if column else (r, UNIT)
        elif name == "vec":
            shape = (self.times(r, c), UNIT)
        elif name == "tril":
            self.same(r, c)
        elif name in SCALAR or (self.is_scalar(a.shape) and name != "sqrt"):
            shape = (UNIT, UNIT)
        elif name in ("eigvalsh", "svdvals", "lambda", "sigmoid") or name in ROW_WISE:
            shape = (r, UNIT)
        elif name in COLUMN_WISE:
            shape = (c, UNIT)
        return Node("call", args, name, shape)

    def number(self, token: str) -> Node:
        """``1`` alone is ones, of which there may be one."""
        if self.tokens[0] == "/":
            self.next()
            below = self.factor()
            return Node(" / ", [Node("number", data=token, shape=(UNIT, UNIT)), below], shape=(UNIT, UNIT))
        if token in ("1", "0"):
            free = (self.unknown(), UNIT if token == "1" else self.unknown())
            return Node("one" if token == "1" else "0", shape=free)
        return Node("number", data=token, shape=(UNIT, UNIT))

    # Values.

    def value(self, shape: tuple, inputs: Mapping[str, np.ndarray], actual: Mapping[int, int], indices: Mapping) -> Any:
        """The value, of this nominal shape; ``actual`` has the size for each prime, ``indices`` for each ``|i|``."""
        self.fit(self.root.shape, tuple([(Fraction(n), ()) for n in shape]))
        self.inputs, self.actual, self.indices = inputs, actual, indices
        crossed = [node for node in self.exchanges(self.root) if len(set(self.two(node))) > 1]
        found = []
        for ways in product((False, True), repeat=len(crossed)):
            self.turned = dict(zip(map(id, crossed), ways, strict=True))
            with contextlib.suppress(ValueError):  # an order of two sizes in which matrices do not fit
                found.append(self.compute(self.root))
        return found

    def exchanges(self, node: Node) -> list[Node]:
        return [node] * (node.kind == "K") + [k for p in node.parts for k in self.exchanges(p)]

    def two(self, node: Node) -> list[int]:
        return primes(int(self.size(node.shape[0])[0]))

    def extent(self, s: Size) -> int:
        number, unknown = self.size(s)
        if unknown:
            raise Misread("the text does not say how long something is")
        return prod([self.actual[p] for p in primes(int(number))])

    def compute(self, node: Node) -> np.ndarray:
        parts = [self.compute(p) for p in node.parts]
        if node.kind in ("one", "0", "I", "K", "name", "number"):
            return self.leaf(node)
        if node.kind == "call" and node.data in ("exp", "sigmoid") and not self.is_scalar(node.parts[0].shape):
            return CALLS["expm" if node.data == "exp" else "svdvals"](*parts)
        if node.kind == "call":
            return (CALLS.get(node.data) or _named(node.data))(*parts)
        if node.kind == "entrywise":
            return np.asarray(getattr(rc, node.data)(*parts), float)
        if node.kind == "compare":
            a, b = parts
            signs = {">": a > b, "<": a < b, "=": a == b, "≥": a >= b, "≤": a <= b, "≠": a != b}
            return np.asarray(signs[node.data], float)
        return SIGNS[node.kind](*parts)

    def leaf(self, node: Node) -> np.ndarray:
        if node.kind == "name":
            a = self.inputs[node.data]
            return a.reshape((*a.shape, 1, 1)[:2])
        if node.kind == "number":
            token = str(node.data).lstrip("#")
            return np.full((1, 1), float(self.indices[token[1:-1]] if token[0] == "|" else token))
        rows, columns = (self.extent(s) for s in node.shape)
        if node.kind == "K":
            return self.commutation(node)
        return {"one": np.ones, "0": np.zeros, "I": lambda s: np.eye(s[0])}[node.kind]((rows, columns))

    def commutation(self, node: Node) -> np.ndarray:
        first, second = self.two(node)
        m, n = (self.actual[p] for p in ((second, first) if self.turned.get(id(node)) else (first, second)))
        return np.eye(m * n).reshape(m, n, m, n).transpose(1, 0, 2, 3).reshape(m * n, m * n)


def primes(number: int) -> list[int]:
    found, p = [], 2
    while number > 1:
        if number % p:
            p += 1
        else:
            found.append(p)
            number //= p
    return found


def _named(name: str) -> Callable:
    base, _, side = name.rpartition("_")
    if side in ("row", "col"):
        each = CALLS.get(base) or _named(base)
        return lambda a: _along(lambda v: each(v[:, None]), a if side == "row" else a.T, side)
    whole = getattr(rc, name)
    return lambda *args: np.asarray(
        whole(*[a[:, 0] if a.shape[1] == 1 and a.size > 1 else a for a in args]), float
    ).reshape(  # type: ignore[misc]
        args[0].shape if name not in SCALAR else (1, 1)
    )


def _along(each: Callable, a: np.ndarray, side: str) -> np.ndarray:
    rows = np.stack([each(row) for row in a])[:, :, 0]
    return rows if side == "row" or rows.shape[1] == 1 != a.shape[1] else rows.T


class Singular(Exception):
    """A matrix has no inverse to speak of."""


def inverse(a: np.ndarray) -> np.ndarray:
    if np.linalg.cond(a) > 1e8:
        raise Singular
    return np.linalg.inv(a)


CALLS: dict[str, Callable] = {
    "diag": lambda a: np.diag(a[:, 0]) if a.shape[1] == 1 else np.diag(a)[:, None],
    "vec": lambda a: a.reshape(-1, 1),
    "tr": lambda a: np.trace(a).reshape(1, 1),
    "det": lambda a: np.linalg.det(a).reshape(1, 1),
    "log|": lambda a: np.log(abs(np.linalg.det(a))).reshape(1, 1),
    "abs|": abs,
    "‖": lambda a: np.linalg.norm(a[:, 0]).reshape(1, 1),
    "‖_F": lambda a: np.linalg.norm(a).reshape(1, 1),
    "‖₁": lambda a: abs(a).sum().reshape(1, 1),
    "norm": lambda a: np.linalg.norm(a).reshape(1, 1),
    "tril": np.tril,
    "expm": lambda a: np.asarray(rc.expm(a)),
    "svdvals": lambda a: np.linalg.svd(a, compute_uv=False)[:, None],
    "eigvalsh": lambda a: np.linalg.eigvalsh((a + a.T) / 2)[:, None],
    "lambda": lambda a: np.linalg.eigvalsh((a + a.T) / 2)[:, None],
    "eigh_vectors": lambda a: np.linalg.eigh((a + a.T) / 2)[1],
    "eigvec": lambda a: np.linalg.eigh((a + a.T) / 2)[1],
    "sqrt": np.sqrt,
    "max": lambda a: a.max().reshape(1, 1),
    "min": lambda a: a.min().reshape(1, 1),
    "prod": lambda a: a.prod().reshape(1, 1),
    "logsumexp": lambda a: np.log(np.exp(a).sum()).reshape(1, 1),
    "softmax": lambda a: np.exp(a) / np.exp(a).sum(),
    "log_softmax": lambda a: a - np.log(np.exp(a).sum()),
}
SIGNS: dict[str, Callable] = {
    "+": lambda *parts: sum(parts),
    "-": lambda a: -a,
    "scale": lambda a, b: a * b,
    "@": lambda a, b: a @ b,
    "⊙": lambda a, b: a * b,
    "⊘": lambda a, b: a / b,
    " / ": lambda a, b: a / b,
    "⊗": np.kron,
    "•": lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(a.shape[0], -1),
    "ᵀ": lambda a: a.T,
    "⁻¹": inverse,
    "⁻ᵀ": lambda a: inverse(a).T,
    "power": lambda a, b: a**b,
    "matrix power": lambda a, b: np.linalg.matrix_power(a, int(b[0, 0])),
}
