"""The one function behind the page and the server: what a request asks for, as an answer that JSON can hold.

>>> found = answer({"text": "f = x[i] A[i,j] x[j]", "by": ["x"], "want": ["formula"]})
>>> found["ok"], found["language"], found["formulas"][0]["text"]
(True, 'index', 'df_dx[i] = x[j] (A[j,i] + A[i,j])')
>>> answer({"text": "y = sn(x)"})["error"]["message"]
"There is no function 'sn'."

Nothing in a request is run, opened or imported, and ``rc.limits`` bounds the work for all of it. What cannot be shown
in one view is ``missing`` there, with the reason, and the other views are answered. NumPy is not needed.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Mapping
from typing import Any

import ricci as rc
from ricci.errors import TextError
from ricci.web.asking import PageRequest, request_of
from ricci.web.recognising import read
from ricci.web.tabs import TABS, variables_of

SECONDS, NODES = 20.0, 3_000_000  # for one request


def answer(request: Any, seconds: float = SECONDS, nodes: int = NODES) -> dict[str, Any]:
    """What a request asks for, or the error: never an exception, whatever the request is."""
    start = time.perf_counter()
    try:
        with rc.limits(seconds=seconds, nodes=nodes), warnings.catch_warnings(record=True) as doubts:
            warnings.simplefilter("always")
            found = _answered(request_of(request))
    except rc.RicciError as error:
        found = {"ok": False, "error": fault(error, str(request.get("text", "")) if _is_mapping(request) else "")}
    except (RecursionError, MemoryError, OverflowError) as error:
        found = {"ok": False, "error": {"kind": "LimitError", "message": too_large(error)}}
    except Exception as error:  # a fault of ricci, which should say so and not end the page or the server
        message = f"ricci itself has failed here: {type(error).__name__}: {error}."
        found = {"ok": False, "error": {"kind": "InvariantError", "message": message}}
    else:
        if said := [str(one.message) for one in doubts if issubclass(one.category, rc.ReadingWarning)]:
            found["warnings"] = said
    found["milliseconds"] = round((time.perf_counter() - start) * 1e3, 1)
    return found


LARGE = {  # what Python's own errors say, which often have no text
    RecursionError: "it is nested deeper than the stack of Python has room for",
    MemoryError: "there is not enough memory for it",
    OverflowError: "a number in it is too large",
}


def too_large(error: Exception) -> str:
    """A sentence for what is beyond this machine, with what Python says of it, if it says something."""
    said = str(error).strip().rstrip(".")
    why = next(words for kind, words in LARGE.items() if isinstance(error, kind))
    return f"This is too large to work out: {why}{f' ({said})' if said else ''}."


def answer_text(request: str) -> str:
    """The same, of JSON to JSON."""
    try:
        said = json.loads(request)
    except (ValueError, RecursionError):
        said = None
    return json.dumps(answer(said), ensure_ascii=False)


def _is_mapping(request: object) -> bool:
    return isinstance(request, Mapping)


def _answered(asked: PageRequest) -> dict[str, Any]:
    language, formula, text = read(asked)
    found: dict[str, Any] = {"ok": True, "language": language, "read": {"text": text, "latex": formula.latex()}}
    found["variables"] = variables_of(formula)
    found["formulas"] = [_shown(one, asked) for one in _derived(formula, asked)]
    return found


def _derived(formula: rc.Formula, asked: PageRequest) -> list[rc.Formula]:
    """The formula, its derivative, or those by each."""
    if not asked.by:
        return [formula]
    if asked.each:
        return [formula.diff(*[x] * asked.order, mode=asked.mode) for x in asked.by]
    return [formula.diff(*[x for x in asked.by for _ in range(asked.order)], mode=asked.mode)]


def _shown(formula: rc.Formula, asked: PageRequest) -> dict[str, Any]:
    """The views that are wanted; for each that cannot be had, the reason."""
    found: dict[str, Any] = {"name": formula.name, "indices": list(formula.indices)}
    if formula.chain:
        found["left"] = derivative_in_latex(formula)
    missing: dict[str, str] = {}
    for name in asked.want:
        try:
            found |= TABS[name](formula, asked)
        except rc.LimitError:
            raise
        except rc.RicciError as error:
            missing[name] = str(error)
        except ImportError as error:  # in a browser there is no NumPy
            missing[name] = f"This needs {error.name}, which is not here."
    if missing:
        found["missing"] = missing
    return found


def derivative_in_latex(formula: rc.Formula) -> str:
    """What it is, in a few signs: the left side of its equation."""
    *_, last = formula.latex().removesuffix("\n\\end{aligned}").split("\\\\\n")
    return last.partition(" = " if " = " in last else " &= ")[0].removeprefix("\\begin{aligned}\n").strip()


def fault(error: rc.RicciError, text: str = "") -> dict[str, Any]:
    """An error as an answer has it; lines and columns count from 1, and are there where the text is at fault."""
    if not isinstance(error, TextError):
        return {"kind": type(error).__name__, "message": str(error)}
    found: dict[str, Any] = {"kind": type(error).__name__, "message": error.message}
    if error.hint:
        found["hint"] = error.hint
    if error.text:
        before = error.text[: error.start]
        found["line"] = before.count("\n") + 1
        found["column"] = error.start - (before.rfind("\n") + 1) + 1
        found["length"] = max(1, error.end - error.start)
        if error.text != text:  # not in what was typed, but in a target or in what it was made of
            found["in"] = error.text
    return found
