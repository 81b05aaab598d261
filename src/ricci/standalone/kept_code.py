"""Code as it is handed out: a text that can be called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ricci.errors import InputError, RuleError, nearest
from ricci.standalone.entry_pages import PAGES, entry_page
from ricci.standalone.pages import arguments, array_page
from ricci.standalone.requests import CodeWanted
from ricci.standalone.spelling import LIBRARIES

PYTHON = tuple(LIBRARIES)
BACKENDS = (*PYTHON, *PAGES)
OF_GIVEN_SIZES = ("c",)  # whose sizes are numbers


class KeptCode(str):
    """The text of a function, which prints as it is to be pasted. Called, it is the function."""

    backend: str
    name: str
    given: Mapping[str, Any]
    __slots__ = ("_function", "backend", "given", "name")

    def __new__(cls, text: str, backend: str = "numpy", name: str = "f", given: Mapping[str, Any] | None = None):
        made = super().__new__(cls, text)
        made.backend, made.name, made.given, made._function = backend, name, dict(given or {}), None
        return made

    def __reduce__(self):
        return type(self), (str(self), self.backend, self.name, self.given)

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        """The value for arrays; those that a formula carries are given if the call does not have them."""
        if self._function is None:
            self._function = self._defined()
        return self._function(*args, **{**self.given, **named})

    def _defined(self) -> Callable[..., Any]:
        if self.backend not in PYTHON:
            raise RuleError(f"Code in {self.backend} is not run from Python; print it, and give it to its compiler.")
        names: dict[str, Any] = {}
        exec(compile(str(self), f"<code of {self.name}>", "exec"), names)  # the text is ours, and its names are checked
        return names[self.name]

    def _repr_markdown_(self) -> str:
        language = "python" if self.backend in PYTHON else self.backend
        return f"```{language}\n{self}```"


def kept_code(wanted: CodeWanted, backend: str, given: Mapping[str, Any]) -> KeptCode:
    """The code for what is wanted."""
    check_backend(backend)
    page = array_page(wanted, backend) if backend in PYTHON else entry_page(wanted, backend)
    taken = {name: value for name, value in given.items() if name in arguments(wanted)}
    return KeptCode(page.text(), backend, page.function, taken)


def check_backend(backend: str) -> None:
    if backend not in BACKENDS:
        raise InputError(
            f"There is no code for {backend!r}; the languages are {', '.join(BACKENDS)}. "
            f"{nearest(str(backend), BACKENDS)}".rstrip()
        )
