"""A drawing: DOT text and SVG always, and through Graphviz's ``dot``, where that is installed, PNG and PDF.

Where Graphviz is installed it makes the SVG too, since its lines avoid boxes better than ours.
"""

from __future__ import annotations

import html
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ricci.checked_calls import takes
from ricci.errors import InputError, MissingPackageError, RicciError
from ricci.show import picture, svg

TEXTS = ("dot", "gv")
FORMATS = ("svg", "png", "pdf")
SECONDS = 60  # that Graphviz may take
HINT = (
    "Graphviz, which makes the picture, is not installed: there is no program 'dot' on the path. Install it with "
    "'apt install graphviz', 'brew install graphviz', 'conda install graphviz' or from https://graphviz.org/download."
)


class Drawing:
    """A picture of a computation. ``dot`` is its text; notebooks show it, and ``save`` writes it to a file."""

    @takes("rc.Drawing", dot="text", format="text or None")
    def __init__(self, dot: str, format: str | None = None):
        if format is not None and format not in (*TEXTS, *FORMATS):
            raise InputError(f"There is no format {format!r} to draw in; there are {', '.join((*FORMATS, *TEXTS))}.")
        self.dot, self.format = dot, format
        self._vertices: list[picture.Vertex] = []  # of a text that somebody has written nothing is known
        self._direction = "LR"

    @classmethod
    def of(cls, vertices: Sequence[picture.Vertex], direction: str, format: str | None) -> Drawing:
        """The drawing of a graph."""
        made = cls(picture.to_dot(vertices, direction), format)
        made._vertices = [replace(v, source=None) for v in vertices]
        made._direction = direction
        return made

    def __str__(self) -> str:
        return self.dot

    def __repr__(self) -> str:
        arrows = self.dot.count(" -> ")
        return f"<ricci.Drawing with {arrows} arrow{'s' * (arrows != 1)}; .dot is its text, .save(file) writes it>"

    @takes("Drawing.render", format="text")
    def render(self, format: str = "svg") -> bytes:
        """The picture as ``svg``, or, made by Graphviz, as ``png`` or ``pdf``."""
        if format in TEXTS:
            return self.dot.encode()
        if format not in FORMATS:
            raise InputError(f"There is no format {format!r} to draw in; there are {', '.join((*FORMATS, *TEXTS))}.")
        program = shutil.which("dot")
        if program is None and format == "svg" and self._vertices:
            return svg.to_svg(self._vertices, self._direction).encode()
        if program is None:
            raise MissingPackageError(
                f"{HINT} The text of the picture, .dot, needs nothing, and .svg does not either.", name="graphviz"
            )
        try:
            made = subprocess.run(
                [program, f"-T{format}"], input=self.dot.encode(), capture_output=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise RicciError(
                f"Graphviz took longer than {SECONDS} seconds; draw less, with a smaller most=…."
            ) from error
        except OSError as error:
            raise RicciError(f"Graphviz could not be run: {error}.") from error
        if made.returncode:
            said = made.stderr.decode(errors="replace").strip()
            raise RicciError(f"Graphviz could not draw the picture; {program} says: {said or made.returncode}.")
        return made.stdout

    @takes("Drawing.save", file="path")
    def save(self, file: Any) -> Path:
        """Write the picture to ``file``, in the format that its suffix names: .svg, .png, .pdf, .dot or .gv."""
        path = Path(file)
        path.write_bytes(self.bytes_for(path))
        return path

    @takes("Drawing.bytes_for", file="path")
    def bytes_for(self, file: Any) -> bytes:
        """What is in a file of this name, once the picture is written to it."""
        format = Path(file).suffix[1:].lower() or self.format or ""
        if format not in (*FORMATS, *TEXTS):
            listed = ", ".join(f".{known}" for known in (*FORMATS, *TEXTS))
            raise InputError(f"The file {str(file)!r} names no format to draw in; let it end in one of {listed}.")
        return self.render(format)

    # Notebooks

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """What a notebook shows: the picture, or the text where that is asked for, or all there is."""
        if self.format == "png" and shutil.which("dot"):
            return {"image/png": self.render("png"), "text/plain": repr(self)}
        picture = self._repr_svg_()
        if picture is not None:
            return {"image/svg+xml": picture, "text/plain": repr(self)}
        return {"text/html": self._repr_html_(), "text/plain": self.dot}

    def _repr_svg_(self) -> str | None:
        if self.format in TEXTS or not (self._vertices or shutil.which("dot")):
            return None
        return self.render("svg").decode()

    def _repr_html_(self) -> str | None:
        if self._repr_svg_() is not None:
            return None
        hint = "" if self.format in TEXTS else f"<p>{html.escape(HINT)}</p>"
        return f"{hint}<pre>{html.escape(self.dot)}</pre>"
