"""Notebooks that are stored with what they print and show, and checked to be current.

``python -m ricci.testing.notebooks examples/notebooks`` runs every notebook in that folder, or those that are named,
and writes their outputs into them. No Jupyter is needed: cells run one after another in one namespace, what the last
line of a cell is worth is shown as notebooks show it, ``display`` shows more. A cell with the tag ``raises-exception``
has to raise, and its error is stored.
"""

from __future__ import annotations

import ast
import builtins
import io
import json
import linecache
import sys
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ricci.shells import latex_of

KINDS = {"text/html": "html", "image/svg+xml": "svg", "text/latex": "latex", "text/markdown": "markdown"}
RAISES = "raises-exception"
META = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
Output = dict[str, Any]


def shown(value: Any) -> dict[str, list[str]]:
    """A value in all forms that it has for notebooks."""
    whole = getattr(value, "_repr_mimebundle_", None)
    found = dict(whole()) if whole is not None else {}
    for kind, name in KINDS.items():
        made = getattr(value, f"_repr_{name}_", None)
        text = None if made is None or isinstance(value, type) else made()
        if text is not None:
            found.setdefault(kind, text)
    together = latex_of(value)
    found |= {} if together is None else {"text/latex": together}
    return {kind: text.splitlines(keepends=True) for kind, text in {**found, "text/plain": repr(value)}.items()}


@dataclass
class RunningNotebook:
    """A notebook while it runs: the names that its cells have defined, and what the present one has shown."""

    title: str
    names: dict[str, Any] = field(default_factory=dict)
    outputs: list[Output] = field(default_factory=list)
    printed: io.StringIO = field(default_factory=io.StringIO)

    def __post_init__(self):
        self.names |= {"__name__": "__main__", "__builtins__": builtins, "display": self.display}

    def display(self, *values: Any) -> None:
        """Show values before the cell is done."""
        for value in values:
            self.flush()
            self.outputs.append({"output_type": "display_data", "data": shown(value), "metadata": {}})

    def flush(self) -> None:
        """Store what has been printed so far."""
        text = self.printed.getvalue()
        if text:
            self.outputs.append({"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)})
        self.printed.seek(0)
        self.printed.truncate()

    def cell(self, source: str, number: int, raises: bool) -> list[Output]:
        """What a cell prints and shows."""
        self.outputs = []
        with redirect_stdout(self.printed):
            try:
                value = self._run(source, number)
            except Exception as error:
                if not raises:
                    raise
                self.flush()
                self.outputs.append(_error(error))
                return self.outputs
        if raises:
            raise AssertionError(f"Cell {number} of {self.title} was to raise an error, and does not.")
        self.flush()
        if value is not None:
            told = {"output_type": "execute_result", "data": shown(value), "metadata": {}, "execution_count": number}
            self.outputs.append(told)
        return self.outputs

    def _run(self, source: str, number: int) -> Any:
        """Run the lines; the value of the last one, if it has one."""
        name = f"<cell {number} of {self.title}>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)  # for messages
        body = ast.parse(source, name).body
        last = body.pop() if body and isinstance(body[-1], ast.Expr) and not source.rstrip().endswith(";") else None
        exec(compile(ast.Module(body, []), name, "exec"), self.names)
        return None if last is None else eval(compile(ast.Expression(last.value), name, "eval"), self.names)  # type: ignore


def _error(error: Exception) -> Output:
    name = type(error).__name__
    lines = f"{name}: {error}".splitlines()
    return {"output_type": "error", "ename": name, "evalue": str(error), "traceback": lines}


def executed(notebook: dict[str, Any], title: str = "notebook") -> dict[str, Any]:
    """A notebook with the outputs that it has now.

    >>> cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": ["1 + 1"], "outputs": []}
    >>> made = executed({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    >>> made["cells"][0]["outputs"][0]["data"]
    {'text/plain': ['2']}
    """
    running, cells, number = RunningNotebook(title), [], 0
    for cell in notebook["cells"]:
        cell = {**cell}
        if cell["cell_type"] == "code":
            number += 1
            raises = RAISES in cell["metadata"].get("tags", ())
            cell["outputs"] = running.cell("".join(cell["source"]), number, raises)
            cell["execution_count"] = number
        cells.append(cell)
    return {**notebook, "cells": cells, "metadata": META}


def written(notebook: dict[str, Any]) -> str:
    """A notebook as it stands in its file."""
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def current(path: Path) -> str:
    """The text that a file has if it is run now."""
    return written(executed(json.loads(path.read_text(encoding="utf-8")), path.stem))


def files(places: Iterable[str | Path]) -> list[Path]:
    """The notebooks among these files, and in these folders."""
    found = [sorted(place.glob("*.ipynb")) if place.is_dir() else [place] for place in map(Path, places)]
    return [path for group in found for path in group]


def main(places: Iterable[str], say: Callable[[str], None] = print) -> None:
    """Run notebooks, and write them."""
    for path in files(places):
        path.write_text(current(path), encoding="utf-8")
        say(str(path))


if __name__ == "__main__":
    main(sys.argv[1:])
