"""Text to tokens, by one regular expression in one pass; and tokens to indices.

A token is its own text, and its place is kept in two lists beside it; ``re.findall`` gives the pieces at the speed of
C, which is most of why parsing is fast. Everything that depends on the order of lines and brackets is settled here,
so that the parser never meets it: blanks and comments vanish, a line break that ends a statement becomes ";", every
bracket has its partner. The list always ends with ";" and "", so the parser may look one token ahead anywhere.

Indices are read here too, since their forms are flat (``2*i+k``, ``t[b]``, ``^{i j}_k``) and need no precedence. The
gathers ``x[t[u[i]]]`` do nest, and are kept on a list rather than on Python's stack.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from typing import NoReturn
from unicodedata import decomposition, normalize

from ricci.errors import NotationError
from ricci.notation.syntax import Index, Indices, TensorNode

LARGEST = sys.float_info.max
LENGTH_LIMIT = 1_000_000
NESTING_LIMIT = 100

PIECES = re.compile(
    r"""sizes[ \t]*:                                                # what begins a line of sizes
      | [^\W\d][\w\u0300-\u036f]*'*                                 # a name; a prime, where it is an index
      | [\[\](),;\n]
      | [^\S\n]+
      | (?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?            # a number,
        (?:j(?![\w\[{\u0300-\u036f]|\^[^\W\d]|\^\{))?                # or an imaginary one
      | \*\* | [<>=!]=
      | \^[^\W\d_][^\W_]*'*                                         # an upper index: it stops at the "_" of a lower one
      | \|\s*[^\W\d][\w\u0300-\u036f]*'*\s*\|                       # the size of an index
      | \#[^\n]*
      | [\s\S]                                                      # any other character, on its own
    """,
    re.VERBOSE,
).findall

OPENERS, CLOSERS = frozenset("([{"), frozenset(")]}")
PARTNERS = {"(": ")", "[": "]", "{": "}", ")": "(", "]": "[", "}": "{"}
COMPARISONS = frozenset(("<", "<=", ">", ">=", "==", "!="))
BINARY = COMPARISONS | frozenset(("+", "-", "*", "/", "**", "^"))
CONTINUES = BINARY | frozenset((",", "=", ";"))
LEADS = CONTINUES | OPENERS  # the tokens that an operand may follow without being multiplied

RESERVED = frozenset(("delta", "pi"))
DIGITS = frozenset("0123456789")
LETTERS = re.compile(r"[^\W\d_][\d\u0300-\u036f]*'*")  # the indices of a run such as ij'k1
BETWEEN = re.compile(r"(?<=[\w'|])\s+(?=[\w|])")  # a blank where a comma should be

NAMES = "Names are letters, digits and underscores; a comment begins with '#'."
AFFINE = "An index is a sum of names times integers, as in x[2*i+k-1]."
GATHER = "Compute it in a statement of its own, j[b] = …, and write x[j[b]]."
INVERSE = "Write inv({0})[i,j] for the inverse of a matrix, and {0}**(-1) for a power."
BRACES = "Write x^i_j or x^{i j}_{k}; a name with underscores goes in brackets, x[a_b]."

# What the pass does with a piece; names, numbers, sizes and upper indices have no entry.
KEEP, SKIP, OPEN, CLOSE, BREAK = range(5)
ROLES = dict.fromkeys(BINARY | {",", "="}, KEEP)
ROLES |= {" ": SKIP, "(": OPEN, "[": OPEN, "{": OPEN, ")": CLOSE, "]": CLOSE, "}": CLOSE, ";": BREAK, "\n": BREAK}

INSTEAD = {
    "|": "Bars enclose one index and give its size: |i|; an absolute value is abs(…).",
    "'": "Primes are for indices: x[i'].",
    "@": "Name the indices of a matrix product: x[i,k] a[k,j].",
    ":": "Name the axis instead of slicing: x[i,j].",
    "&": "Multiply conditions: (a > 0) * (b > 0).",
    ".": "A number has a digit beside its dot: 0.5.",
    "%": "Write mod(a, b) for the remainder.",
    "$": "Leave out the dollar signs.",
    "?": "Write where(condition, a, b) for a choice.",
    "∞": "Write 1/0.",
    "⊗": "Name the indices: x[i] y[j] is the outer product.",
    "⊙": "What is done entry by entry has its indices on the left too: y[i] = a[i] b[i].",
}
INSTEAD |= {"∑": "Write sum[k](…).", "√": "Write sqrt(…).", "∂": "Write D(f, x[i]).", "∇": "Write D(f, x[i])."}
INSTEAD |= dict.fromkeys('"`', "Write names without quotes.")
INSTEAD |= {sign: f"Write {plain} instead." for sign, plain in zip("−–×·⋅÷′’", "--***/" + "'" * 2)}
INSTEAD |= {
    "≤": "Write <= instead.",
    "≥": "Write >= instead.",
    "≠": "Write != instead.",
    "!": "Write != to compare; a factorial x! is exp(lgamma(x + 1)).",
}
INSTEAD |= {sign: f"Write **{power} for a power." for power, sign in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
INSTEAD |= {sign: f"Write {part} for a fraction." for sign, part in zip("½⅓⅔¼¾", ("1/2", "1/3", "2/3", "1/4", "3/4"))}
INSTEAD |= {sign: f"Write _{digit} in a name: x_{digit}." for digit, sign in enumerate("₀₁₂₃₄₅₆₇₈₉")}


def tokenise(text: str) -> tuple[list[str], list[int], list[int]]:
    """The tokens of ``text``, where they start and where they end."""
    tokens, starts, ends = [], [], []
    opened = []  # the tokens that are brackets not closed yet
    role_of = ROLES.get
    end = 0
    for piece in PIECES(text):
        start = end
        end += len(piece)
        role = role_of(piece)
        if role is None:
            if not piece.isidentifier() and skipped(text, piece, start):
                continue
        elif role:
            if role == SKIP:
                continue
            if role == OPEN:
                opened.append(len(tokens))
                if len(opened) > NESTING_LIMIT:
                    too_deep(text, start)
            elif role == CLOSE:
                if not opened or tokens[opened.pop()] != PARTNERS[piece]:
                    unbalanced(text, tokens, starts, start)
            elif not ends_statement(text, piece, start, tokens, starts, opened):
                continue
            else:
                piece = ";"
        tokens.append(piece)
        starts.append(start)
        ends.append(end)
    if opened:
        unbalanced(text, tokens, starts, end)
    if not text.isascii():
        tokens = [normalised(text, token, start) for token, start in zip(tokens, starts)]
    tokens += (";", "")
    starts += (end, end)
    ends += (end, end)
    return tokens, starts, ends


def ends_statement(text: str, piece: str, start: int, tokens: list[str], starts: list[int], opened: list[int]) -> bool:
    """Whether a ";" or a line break ends a statement here; in ``delta[i,j;k,l]`` a ";" is kept too."""
    if opened and piece == ";":
        at = opened[-1]
        if at and tokens[at] == "[" and tokens[at - 1] == "delta":
            return True
        unbalanced(text, tokens, starts, start)
    return bool(tokens) and not opened and (piece == ";" or tokens[-1] not in CONTINUES)


def skipped(text: str, piece: str, start: int) -> bool:
    """Whether a piece that is neither punctuation nor a name is a blank or a comment; an error if it is not a token."""
    first = piece[0]
    if first.isspace() or first == "#":
        return True
    known = first in "|." or piece.rstrip("'").isidentifier() or piece.endswith(":")
    if first in "0123456789^" or (len(piece) > 1 and known):
        return False
    wrong = next((k for k, character in enumerate(piece) if not ("x" + character).isidentifier()), 0)
    hint = in_other_words(text, start + wrong) or INSTEAD.get(piece[wrong], NAMES)
    raise NotationError(f"The character {piece[wrong]!r} has no meaning here.", text, start + wrong, None, hint)


def in_other_words(text: str, at: int) -> str:
    """How what another language writes at a place of a text is written here; it takes time to load, so not before."""
    from ricci.functions.table import IN_TEXT
    from ricci.notation.translations import instead

    return instead(text, at, IN_TEXT)


def normalised(text: str, token: str, start: int) -> str:
    """A token as Python would spell it as a name, so that a keyword argument finds its variable."""
    for k, character in enumerate(token):
        if decomposition(character).startswith(("<super>", "<sub>")):  # Python takes the raised i of xⁱ for xi
            message = f"The notation has no raised or lowered character such as {character!r}."
            raise NotationError(message, text, start + k, None, "Write indices as x[i,j] or x^i_{j}.")
    return normalize("NFKC", token)


def unbalanced(text: str, tokens: list[str], starts: list[int], end: int) -> NoReturn:
    """The error for brackets that do not match, where the fault shows at the character ``end`` of the text."""
    opened: list[int] = []
    for at, token in enumerate(tokens):
        if token in OPENERS:
            opened.append(at)
        elif token in CLOSERS:
            opened.pop()
    closer = text[end] if end < len(text) else ""
    if not opened:
        hint = f"Add {PARTNERS[closer]!r} before it, or leave it out."
        raise NotationError(f"The bracket {closer!r} was never opened.", text, end, None, hint)
    opener = tokens[opened[-1]]
    fault = {"": "is never closed", ";": "is not closed before ';'"}.get(closer, f"is closed by {closer!r}")
    hint = f"Close it with {PARTNERS[opener]!r}."
    raise NotationError(f"The bracket {opener!r} {fault}.", text, starts[opened[-1]], None, hint)


def too_deep(text: str, start: int) -> NoReturn:
    """The error for nesting beyond the limit."""
    message = f"The expression is nested more than {NESTING_LIMIT} deep."
    raise NotationError(message, text, start, None, "Give its inner parts names, in statements of their own.")


@contextmanager
def stack_enough(text: str) -> Iterator[None]:
    """What reads a text inside calls itself for what is nested; where Python's stack has no room for it, this says so.

    The limits of nesting keep to the stack of a program that is not deep in calls of its own.
    """
    try:
        yield
    except RecursionError:
        depth, deepest, place = 0, 0, 0
        for at, character in enumerate(text):
            depth += (character in "([{") - (character in ")]}")
            if depth > deepest:
                deepest, place = depth, at
        message = "The expression is nested deeper than the stack of Python has room for here."
        hint = "Give its inner parts names, in statements of their own, or read it less deep in calls."
        raise NotationError(message, text, place, None, hint) from None


def is_label(token: str) -> bool:
    """Whether a token can name an index."""
    return token.rstrip("'").isidentifier()


class IndexReader:
    """A place in the tokens of a text; reads indices there, in brackets or above and below."""

    __slots__ = ("at", "ends", "functions", "standing", "starts", "text", "tokens")

    def __init__(self, text: str, functions: frozenset[str]):
        if len(text) > LENGTH_LIMIT:
            message = f"The text has {len(text):,} characters; the notation takes at most {LENGTH_LIMIT:,}."
            raise NotationError(message, text, 0, 1, "Split it into several programs.")
        self.text, self.functions = text, functions
        self.tokens, self.starts, self.ends = tokenise(text)
        self.standing: list[Index] = []  # those above and below
        self.at = 0

    def fail(self, message: str, first: int, last: int, hint: str) -> NoReturn:
        """An error with the caret under the tokens ``first`` to ``last``."""
        raise NotationError(message, self.text, self.starts[first], self.ends[last], hint)

    def touches(self, at: int) -> bool:
        """Whether the token ``at`` follows the one before it without a blank."""
        return self.starts[at] == self.ends[at - 1]

    def partner(self, at: int) -> int:
        """The token that closes the bracket opened by the token ``at``."""
        depth = 0
        while True:
            depth += (self.tokens[at] in OPENERS) - (self.tokens[at] in CLOSERS)
            if not depth:
                return at
            at += 1

    def source(self, first: int, last: int) -> str:
        """The text from token ``first`` to token ``last``, for use in a hint, and therefore not at any length."""
        text = self.text[self.starts[first] : self.ends[last]]
        return text if len(text) <= 60 else text[:60] + "…"

    def indices(self, close: str = "]") -> Indices:
        """The indices in the brackets that open at this token."""
        tokens, starts, ends = self.tokens, self.starts, self.ends
        found: list[Index] = []
        gathers: list[tuple[int, list[Index]]] = []  # those being read: where the name is, the indices before it
        at = self.at + 1
        while True:
            token, follow = tokens[at], tokens[at + 1]
            if (follow == "," or follow == close) and token.isidentifier():
                found.append(Index(starts[at], ends[at], ((1, token),), 0, (), True, None, ""))
                at += 1
            elif follow == "[" and token.isidentifier() and tokens[at + 2] == "]":  # ``x[n[]]``, by a number
                found.append(self.gather(at, at + 2, ()))
                at += 3
            elif follow == "[" and token.isidentifier():
                gathers.append((at, found))
                found = []
                at += 2
                continue
            elif (follow == "{" or follow[:1] == "^") and token.isidentifier():
                self.at = at
                word, inner = self.heights()
                tensor = TensorNode(starts[at], ends[self.at - 1], word, inner)
                found.append(Index(tensor.start, tensor.end, (), 0, (), False, tensor, ""))
                at = self.at
            else:
                self.at = at
                found.append(self.affine())
                at = self.at
            while gathers and tokens[at] == "]":
                name, before = gathers.pop()
                before.append(self.gather(name, at, tuple(found)))
                found = before
                at += 1
            if tokens[at] == close and not gathers:
                self.at = at + 1
                return tuple(found)
            if tokens[at] != "," and tokens[at] != ";":
                self.no_comma(at)
            at += 1

    def gather(self, name: int, last: int, indices: Indices) -> Index:
        """The index ``t[…]`` whose name is at the token ``name`` and whose brackets end at the token ``last``."""
        start, end, word = self.starts[name], self.ends[last], self.tokens[name]
        if word in RESERVED:
            self.fail(f"An index cannot be gathered by {word!r}.", name, last, GATHER)
        return Index(start, end, (), 0, (), False, TensorNode(start, end, word, indices), "")

    def affine(self) -> Index:
        """An index such as ``i'``, ``3``, ``2*i+k`` or ``|n|-1-i``."""
        first = self.at
        names: dict[tuple[str, str], int] = {}  # stride and name
        sizes: dict[str, int] = {}
        const = 0
        sign = 1
        if self.tokens[first] == "-":
            sign = -1
            self.at += 1
        while True:
            factor, size, label = self.affine_term(sign)
            if label:
                names[size, label] = names.get((size, label), 0) + factor
            elif size:
                sizes[size] = sizes.get(size, 0) + factor
            else:
                const += factor
            token = self.tokens[self.at]
            if token != "+" and token != "-":
                break
            sign = 1 if token == "+" else -1
            self.at += 1
        terms = tuple([(c, name) for (_, name), c in names.items() if c])
        strides = tuple([size for (size, _), c in names.items() if c])
        size_terms = tuple([(c, name) for name, c in sizes.items() if c])
        plain = self.at == first + 1 and bool(names)
        start, end = self.starts[first], self.ends[self.at - 1]
        return Index(start, end, terms, const, size_terms, plain, None, "", strides if any(strides) else ())

    def affine_term(self, factor: int) -> tuple[int, str, str]:
        """``factor`` times a term such as ``3``, ``i``, ``2*i``, ``2|n|`` or ``|n|*i``: number, size and label."""
        size = label = ""
        while True:
            token = self.tokens[self.at]
            if token.isdigit():
                factor *= int(self.value(token, self.at))
            elif token[:-1].isdigit() and token[-1] == "j":  # the index of that name
                factor, label = factor * int(self.value(token[:-1], self.at)), "j"
            elif not is_label(token) and token[:1] != "|":
                self.no_index(self.at)
            elif size if token[0] == "|" else label:
                self.fail("The product of two indices is not an index.", self.at, self.at, AFFINE)
            elif token[0] == "|":
                size = token[1:-1].strip()
            else:
                label = token
            self.at += 1
            follow = self.tokens[self.at]
            if follow == "*":
                self.at += 1
            elif size or label or not (is_label(follow) or follow[:1] == "|"):
                return factor, size, label

    def value(self, token: str, at: int) -> int | float:
        """The value of a number, which is the token ``at`` or a part of it."""
        try:
            value = int(token) if token.isdigit() else float(token)
            if value > LARGEST:  # of the floats
                value = inf
        except ValueError:  # Python limits the digits of an integer
            value = inf
        if value == inf:
            self.fail("The number is too large.", at, at, "Scale the quantities, or give it as an input.")
        return value

    def heights(self) -> tuple[str, Indices | None]:
        """The name at this token and its upper and lower indices: None of them where its "^" makes a power."""
        word = self.tokens[self.at]
        found: list[Index] = []
        self.at += 1
        if self.tokens[self.at] == "{":
            if not word[:-1] or word[-1] != "_":
                self.fail("Braces stand only after '^' and '_'.", self.at, self.at, BRACES)
            word = word[:-1]
            self.braces("down", found)
        return word, self.beside(found) or None

    def has_heights(self, at: int) -> bool:
        """Whether the token ``at`` puts indices above or below what it touches."""
        token = self.tokens[at]
        if not self.touches(at) or token[:1] not in ("^", "_"):
            return False
        if token[0] == "^":
            return len(token) > 1 or (self.tokens[at + 1] == "{" and self.touches(at + 1))
        return not token[1:2].isdigit()

    def beside(self, found: list[Index]) -> Indices:
        """The upper and lower indices from this token on, after those ``found`` already."""
        tokens = self.tokens
        while self.touches(self.at):
            token = tokens[self.at]
            if token[0] == "^" and len(token) > 1:
                found.append(self.height(token[1:], self.starts[self.at] + 1, "up"))
                self.at += 1
            elif token == "^" and tokens[self.at + 1] == "{" and self.touches(self.at + 1):
                self.at += 1
                self.braces("up", found)
            elif token[0] == "_":
                self.lower(token, found)
            else:
                break
        self.standing += found
        return tuple(found)

    def height(self, label: str, start: int, height: str) -> Index:
        """One upper or lower index: a name or an integer."""
        if label.isdigit():
            return Index(start, start + len(label), (), int(self.value(label, self.at)), (), False, None, height)
        if not is_label(label) or "_" in label:
            message = "An upper or lower index is a name without underscores, or an integer."
            inverse = re.search(r"(\w+)\^\{\s*$", self.text[:start]) if label == "-" else None
            hint = INVERSE.format(inverse[1]) if inverse else BRACES
            raise NotationError(message, self.text, start, start + len(label), hint)
        return Index(start, start + len(label), ((1, label),), 0, (), True, None, height)

    def lower(self, token: str, found: list[Index]) -> None:
        """The lower indices of a token such as ``_j`` or ``_j_k``, also with braces after the last ``_``."""
        place = self.starts[self.at]
        *labels, last = token.split("_")[1:]
        for label in [*labels, last] if last else labels:
            found.append(self.height(label, place + 1, "down"))
            place += 1 + len(label)
        self.at += 1
        if not last:
            if self.tokens[self.at] != "{" or not self.touches(self.at):
                self.fail("An index is missing after '_'.", self.at - 1, self.at - 1, BRACES)
            self.braces("down", found)

    def braces(self, height: str, found: list[Index]) -> None:
        """The indices in braces: words with blanks or commas between them are names, a single run is letters.

        A comma at the end makes a name, or a component, of what would be a run or a power: ``p_{mu,}``, ``x^{0,}``.
        Other indices stand as they do in brackets, with commas between them: ``x^{2*i+k,j}``.
        """
        first, last = self.at, self.partner(self.at)
        inside = range(first + 1, last)
        if not all(self.tokens[at] == "," or self.tokens[at].isdigit() or is_label(self.tokens[at]) for at in inside):
            found += [replace(index, height=height) for index in self.indices("}")]
            return
        count = len(found)
        apart = any(self.tokens[at] == "," or not self.touches(at) for at in inside[1:])
        due = True
        for self.at in inside:
            token, start = self.tokens[self.at], self.starts[self.at]
            if token == ",":
                if due:
                    break
                due = True
                continue
            due = False
            if apart or not is_label(token) or "_" in token:
                found.append(self.height(token, start, height))
            else:
                found += [self.height(run[0], start + run.start(), height) for run in LETTERS.finditer(token)]
        if due and not (len(found) == count + 1 and self.tokens[last - 1] == "," and self.at == last - 1):
            self.fail("An index is missing in the braces.", first, last, BRACES)
        if height == "up" and len(inside) == 1 and not found[-1].terms:
            hint = f"Write **{found[-1].const} for a power, and brackets, x[{found[-1].const}], for a component."
            self.fail("A number alone in upper braces could be a power or an index.", first, last, hint)
        self.at = last + 1

    def no_index(self, at: int) -> NoReturn:
        """The error for a token that stands where an index, or a part of one, should begin."""
        token, before = self.tokens[at], self.tokens[at - 1]
        if token == "]" and before == "[":
            self.fail("The brackets are empty.", at - 1, at, "Name an index, or write a scalar without brackets.")
        if token in ("]", "}", ",") or token in BINARY:
            self.fail(f"An index is missing after {before!r}.", at - 1, at - 1, "Write a name or an integer.")
        if token[:1] in DIGITS or token[:1] == ".":
            self.fail("A number in an index is an integer.", at, at, AFFINE)
        self.fail(f"An index cannot begin with {token!r}.", at, at, AFFINE)

    def no_comma(self, at: int) -> NoReturn:
        """The error for a token after an index that is neither a comma nor the end of the brackets."""
        token, before = self.tokens[at], self.tokens[at - 1]
        if token == "(":
            self.fail("An index cannot hold a function.", at - 1, at, GATHER)
        if before == "]" or token == "[":
            self.fail("An index that is gathered stands alone.", at, at, GATHER)
        if is_label(token) or token[:1] in DIGITS or token[:1] == "|":
            opened = (k for k in range(at, -1, -1) if self.tokens[k] in ("[", "{", "(") and self.partner(k) >= at)
            opening = next(opened, at - 1)
            written = self.source(max(opening - 1, 0), self.partner(opening))
            hint = f"Write {re.sub(BETWEEN, ',', written)}." if self.tokens[opening] != "(" else "Write (no sum i, j)."
            self.fail(f"A comma is missing between {before!r} and {token!r}.", at - 1, at, hint)
        self.fail(f"An index cannot hold {token!r}.", at, at, AFFINE)
