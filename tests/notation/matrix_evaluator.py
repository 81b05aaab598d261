"""A text in the matrix language to numbers: an evaluator that knows shapes of arrays, and nothing of ricci's reader.

Scalars are (1, 1), columns (n, 1). Sizes are those of the arrays; where a text leaves them to be inferred
(``vector(1)``, ``eye``), they are ``size``. Shapes that do not fit are a :class:`Misfit`.
"""

from __future__ import annotations

import re

import numpy as np

TOKEN = re.compile(
    r"np\.linalg\.|np\.|\.\*|\./|\.\^|\*\*|\.T\b|(?:\d+\.(?![*/^])\d*|\.?\d+)|[^\W\dᵀ][^\Wᵀ⁰¹²³]*|[⁻⁰¹²³]+|\^\{⊙|‖_F|<=|>=|\S"
)
STOPS = frozenset(["", ";", ")", "]", "}", ",", "‖", "‖_F", "|", "=", *"+-⊙⊘⊗*/@<>", ".*", "./", "·"])
RAISED = str.maketrans("⁻⁰¹²³", "-0123")


class Misfit(Exception):
    """Shapes that do not fit."""


def need(fits: bool, *shapes: object) -> None:
    if not fits:
        raise Misfit(shapes)


def is_scalar(a: np.ndarray) -> bool:
    return a.shape == (1, 1)


def softmax(a: np.ndarray, axis: int | None) -> np.ndarray:
    return np.exp(a) / np.exp(a).sum(axis, keepdims=True)


def square(f):
    def checked(a):
        need(a.shape[0] == a.shape[1] > 1, a.shape)
        return np.asarray(f(a), float)

    return checked


def matrix(a: np.ndarray) -> np.ndarray:
    need(min(a.shape) > 1, a.shape)
    return a


def diagonal(a: np.ndarray) -> np.ndarray:
    need(not is_scalar(a), a.shape)
    return np.diag(a.ravel()) if 1 in a.shape else square(np.diag)(a).reshape(-1, 1)


def one(x: object) -> np.ndarray:
    return np.reshape(np.asarray(x, float), (1, 1))


CALLS = {
    "tr": square(lambda a: one(np.trace(a))),
    "trace": square(lambda a: one(np.trace(a))),
    "det": square(lambda a: one(np.linalg.det(a))),
    "logdet": square(lambda a: one(np.linalg.slogdet(a)[1])),
    "inv": square(np.linalg.inv),
    "sum": lambda a: one(a.sum()),
    "mean": lambda a: one(a.mean()),
    "norm1": lambda a: one(np.abs(a).sum()),
    "norm2": lambda a: one(np.sqrt((a**2).sum())),
    "rowSum": lambda a: matrix(a).sum(1).reshape(-1, 1),
    "colSum": lambda a: matrix(a).sum(0).reshape(-1, 1),
    "mean_col": lambda a: matrix(a).mean(0).reshape(-1, 1),
    "max_row": lambda a: matrix(a).max(1).reshape(-1, 1),
    "logsumexp": lambda a: one(np.log(np.exp(a).sum())),
    "softmax": lambda a: softmax(a, None),
    "softmax_row": lambda a: softmax(matrix(a), 1),
    "tril": lambda a: np.tril(matrix(a)),
    "relu": lambda a: np.maximum(a, 0),
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "solve": lambda a, b: (need(a.shape[1] == b.shape[0], a.shape, b.shape), np.linalg.solve(a, b))[1],
    "maximum": lambda a, b: np.maximum(*same(a, b)),
    "minimum": lambda a, b: np.minimum(*same(a, b)),
}


def same(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    need(a.shape == b.shape or is_scalar(a) or is_scalar(b), a.shape, b.shape)
    return a, b


def program(text: str, inputs: dict[str, np.ndarray], size: int) -> np.ndarray:
    """The value of the last statement."""
    names = dict(inputs)
    value = one(0)
    for statement in re.split(r"[;\n]", text):
        left, sign, right = statement.partition(" = ")
        value = Evaluator(right if sign else left, names, size).all()
        names[left.strip()] = value
    return value


CALLS["diag"] = diagonal


class Evaluator:
    def __init__(self, text: str, names: dict[str, np.ndarray], size: int):
        self.text, self.names, self.size = text, names, size
        self.tokens = [*[t for t in TOKEN.findall(text) if t not in ("np.", "np.linalg.")], ""]
        self.at = 0

    def take(self, *wanted: str) -> str:
        token = self.tokens[self.at]
        if wanted and token not in wanted:
            return ""
        self.at += 1
        return token

    def all(self) -> np.ndarray:
        value = self.sum()
        assert self.tokens[self.at] == "", (self.text, self.tokens[self.at :])
        return value

    def sum(self) -> np.ndarray:
        ones = self.tokens[self.at : self.at + 2]
        total = -self.product() if self.take("-") else self.product()
        bare = ones[0] == "1" and ones[1] in "+-"
        while sign := self.take("+", "-"):
            alone = self.tokens[self.at] == "1" and self.tokens[self.at + 1] in (*"+-)", "", ",")
            term = self.product()
            other = term if bare else total
            need(total.shape == term.shape or ((bare or alone) and 1 in other.shape), total.shape, term.shape)
            total, bare = total + (term if sign == "+" else -term), False
        return total

    def product(self) -> np.ndarray:
        value = self.signed()
        while True:
            sign = self.take("*", "@", "/", ".*", "./", "⊙", "⊘", "·")
            if not sign and (self.tokens[self.at] in STOPS or self.tokens[self.at] == "'"):
                return value
            ones = self.tokens[self.at] == "1" and sign in ("", "·")
            right = self.signed()
            right = np.ones((self.size, 1)) if ones and is_scalar(right) else right
            value = self.joined(value, right, sign)

    def joined(self, a: np.ndarray, b: np.ndarray, sign: str) -> np.ndarray:
        if sign in (".*", "⊙"):
            return np.multiply(*same(a, b))
        if sign in ("./", "⊘"):
            return np.divide(*same(a, b))
        if sign == "/":
            need(is_scalar(b), b.shape)
            return a / b
        if is_scalar(a) or is_scalar(b):
            return a * b
        need(a.shape[1] == b.shape[0], a.shape, b.shape)
        return a @ b

    def signed(self) -> np.ndarray:
        return -self.signed() if self.take("-") else self.power()

    def power(self) -> np.ndarray:
        value = self.atom()
        while True:
            token = self.tokens[self.at]
            if token in ("'", "ᵀ", ".T"):
                self.take()
                value = value.T
            elif re.fullmatch("[⁻⁰¹²³]+", token):
                value = self.raised(value, one(int(self.take().translate(RAISED))), "^")
            elif token in ("^", ".^", "**"):
                sign = self.take()
                minus = self.take("-")
                exponent = self.atom()
                value = self.raised(value, -exponent if minus else exponent, sign)
            else:
                return value

    def raised(self, a: np.ndarray, b: np.ndarray, sign: str) -> np.ndarray:
        if sign in (".^", "**") or is_scalar(a):
            return np.power(*same(a, b))
        need(is_scalar(b) and a.shape[0] == a.shape[1], a.shape)
        return np.linalg.matrix_power(a, int(b[0, 0]))

    def atom(self) -> np.ndarray:
        token = self.take()
        if re.match(r"\.?\d", token):
            return np.ones((1, self.size)) if token == "1" and self.take("ᵀ") else one(float(token))
        if token in ("(", "‖"):
            value = self.sum()
            close = self.take(")", "‖", "‖_F")
            assert close, self.text
            return CALLS["norm2"](value) if close[0] == "‖" else value
        if token == "log" and self.take("|"):
            value = self.sum()
            assert self.take("|")
            return CALLS["logdet"](value)
        if self.tokens[self.at] == "(" and token not in self.names:
            return self.call(token)
        if token in ("eye", "I") and token not in self.names:
            return np.eye(self.size)
        return self.names[token]

    def call(self, name: str) -> np.ndarray:
        self.take()
        args = [self.sum()]
        while self.take(","):
            args.append(self.sum())
        assert self.take(")"), self.text
        if name in ("vector", "matrix"):
            return args[0] * np.ones((self.size, 1 if name == "vector" else self.size))
        return CALLS.get(name, getattr(np, name, None))(*args)  # pyright: ignore[reportOptionalCall]
