"""Code to keep: functions of NumPy, PyTorch and others written from formulas, to be pasted into programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ricci.checked_calls import shown
from ricci.dispatch import public
from ricci.errors import InputError
from ricci.kinds import kind_of
from ricci.standalone.kept_code import KeptCode, check_backend, kept_code
from ricci.user.code_requests import default_name, wanted_of

if TYPE_CHECKING:
    from ricci.user.formula import Formula


def code_of_formulas(
    formulas: Formula | Iterable[Formula],
    backend: str,
    name: str | None,
    types: str | Mapping[str, str] | None,
    sizes: Mapping[str, int] | None,
) -> KeptCode:
    """The code of formulas: of one, or of several that share what they have in common."""
    single = kind_of(formulas) == "formula"
    parts: list[Formula] = [formulas] if single or not isinstance(formulas, Iterable) else list(formulas)  # type: ignore
    for part in parts:
        if kind_of(part) != "formula":
            raise InputError(f"rc.code takes formulas, not {shown(part)}; make one with rc.parse(…).")
    if not parts:
        raise InputError("rc.code takes at least one formula.")
    check_backend(backend)
    wanted = wanted_of(parts, single, name or default_name(parts), types, sizes or {})
    return kept_code(wanted, backend, wanted.stage.facts.values)


def code_of(
    formula: Formula,
    backend: str,
    name: str | None,
    types: str | Mapping[str, str] | None,
    sizes: Mapping[str, int] | None,
    with_gradient: str | Sequence[str] | None,
) -> KeptCode:
    """The code of one formula, and of its derivatives if these are asked for."""
    if with_gradient is None:
        return code_of_formulas(formula, backend, name, types, sizes)
    by = [with_gradient] if isinstance(with_gradient, str) else list(with_gradient)
    derivatives = [public("diff")(formula, one) for one in by]
    title = name or f"{formula.name or 'f'}_and_gradient"
    return code_of_formulas([formula, *derivatives], backend, title, types, sizes)
