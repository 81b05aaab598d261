"""What is said of the names of a text beside it, by keywords of ``rc.parse``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol
from unicodedata import normalize

from ricci.checked_calls import allow
from ricci.errors import InputError, nearest
from ricci.expr import Op
from ricci.functions.table import IN_TEXT
from ricci.notation.text_scope import names_a_tensor

SYMMETRIES = ("symmetric", "antisymmetric", "positive", "orthogonal", "hermitian", "unitary")
COMPLEX = "complex"
ALWAYS_COMPLEX = frozenset(("hermitian", "unitary"))  # what is said of matrices of complex numbers
FUNCTION_NAMES = frozenset(IN_TEXT)
WORDS = (*SYMMETRIES, COMPLEX)
Names = tuple[str, ...]


def split_names(value: str | Collection[str] | None) -> Names:
    """Names from a text, with blanks or commas between them, or from a list.

    >>> split_names("A, S")
    ('A', 'S')
    """
    names = re.split(r"[\s,]+", value.strip(" \t\n,")) if isinstance(value, str) else value or ()
    return tuple([normalize("NFKC", name) if isinstance(name, str) else name for name in names])


def _are_tensors(value: object) -> bool:
    return isinstance(value, (str, list, tuple)) and all(map(names_a_tensor, split_names(value)))


def _name_functions(value: object) -> bool:
    """Whether a value gives functions by name: names alone, in a text or a list, or with what they are."""
    names = split_names(value) if isinstance(value, str) else value
    if not isinstance(names, (list, tuple, set, frozenset, Mapping)):
        return False
    return all(names_a_tensor(name) and name not in ("D", "sizes") for name in names)  # which say something else


allow("names of tensors", "names of tensors, as in 'A S' or ['A', 'S']", _are_tensors)
allow(
    "functions",
    "names that are no words of the notation, ['f', 'g'], or functions by such names, {'f': f}",
    _name_functions,
)


class OwnFunction(Protocol):
    """A function that a text is given by name: what the notation asks of it."""

    __name__: str

    def check_count(self, count: int) -> str:
        """What is wrong with so many arguments, if anything is."""
        ...

    def by_entry(self, count: int, order: int) -> Op | str:
        """Its row, where it works entry by entry on arrays with so many axes; otherwise what stands against it."""
        ...

    def whole(self, operands: list[tuple[Any, tuple[str, ...]]], places: tuple[int, ...]) -> Any:
        """The function of whole arrays, or its derivative by the arguments at these places, one after another."""
        ...


@dataclass(frozen=True, slots=True)
class Declarations:
    """How a text is to be read. It is kept with the text, which is read again where sizes or definitions change."""

    latex: bool | None = None  # None: where there is a backslash
    metric: str | None = None  # the name that raises and lowers indices
    symmetric: Names = ()  # matrices that equal their transposes
    antisymmetric: Names = ()  # those that are the opposite of them
    positive: Names = ()  # symmetric and positive definite
    orthogonal: Names = ()  # those whose transpose is the inverse
    hermitian: Names = ()  # those that equal their conjugate transposes
    unitary: Names = ()  # those whose conjugate transpose is the inverse
    complex: Names = ()  # tensors of complex numbers
    functions: tuple[tuple[str, OwnFunction | None], ...] = ()  # by name; None for one of which nothing is known
    matrix: str | None = None  # what is declared of a text in the matrix language
    indices: Names = ()  # letters that are indices in a LaTeX text of which this is a part

    def symmetries(self) -> Iterator[tuple[str, str]]:
        """What is declared of matrices: names, and one of the words."""
        for word in SYMMETRIES:
            for name in getattr(self, word):
                yield name, word

    def complex_names(self) -> frozenset[str]:
        """The names that stand for complex numbers."""
        return frozenset([*self.complex, *self.hermitian, *self.unitary])

    def check(self, inputs: Collection[str]) -> None:
        """An error where something is declared twice, or of what the text has not."""
        said: dict[str, str] = {}
        for name, word in self.symmetries():
            if name in said:
                twice = f"{said[name]} and {word}" if said[name] != word else f"{word} twice"
                raise InputError(f"{name!r} is declared {twice}; say one of them (positive includes symmetric).")
            said[name] = word
            if word == "orthogonal" and name in self.complex:
                raise InputError(f"{name!r} is declared orthogonal and complex; such matrices are unitary.")
        for name, word in [*self.symmetries(), *[(name, COMPLEX) for name in self.complex]]:
            if name not in inputs and not (word == COMPLEX and self._may_lack(name, inputs)):
                message = f"{name!r} is declared {word}, and the text has no such input;"
                listed = ", ".join(inputs) or "none"
                raise InputError(f"{message} the inputs are {listed}. {nearest(name, inputs)}".rstrip())

    def _may_lack(self, name: str, inputs: Collection[str]) -> bool:
        """Whether a text may do without a complex name, as a derivative may: where it has others, and none like it."""
        others = [other for other in inputs if other not in self.complex]
        alike = nearest(name, others) or name.casefold() in map(str.casefold, others)
        return not alike and any(other in self.complex for other in inputs)

    def beside(self, text: Declarations) -> Declarations:
        """These, and what a text has with it of names of which nothing is said here."""
        said = {name for name, _ in (*self.symmetries(), *self.functions)}
        words = {w: (*getattr(self, w), *[n for n in getattr(text, w) if n not in said]) for w in SYMMETRIES}
        words[COMPLEX] = tuple(dict.fromkeys([*self.complex, *text.complex]))
        functions = (*self.functions, *[pair for pair in text.functions if pair[0] not in said])
        return replace(self, metric=self.metric or text.metric, functions=functions, **words)

    @property
    def function_names(self) -> frozenset[str]:
        """All names that may stand directly before a bracket."""
        return FUNCTION_NAMES.union([name for name, _ in self.functions]) if self.functions else FUNCTION_NAMES

    @property
    def unknown(self) -> frozenset[str]:
        """The functions of which nothing is known; their derivatives have names: ``f'``, ``f_12``."""
        return frozenset([name for name, own in self.functions if own is None])


PLAIN = Declarations()
