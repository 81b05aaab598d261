"""What a terminal adds to plain text: colours, lines that fit its width, a sign of life during long work."""

from __future__ import annotations

import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from ricci.show.breaking import broken

COLOURS = {"name": "1", "rule": "2", "number": "36", "error": "1;31", "caret": "1;31", "hint": "2"}
WAIT, STEP = 1.0, 0.5  # seconds until progress is shown, and from one to the next
_STEP = re.compile(r"^( *\d+\.| {4})( +\S.*?)(   +\S.*)?$")  # its number, its words, and the rule at the right
_RULE = re.compile(r"^ {9}\([^\[=]*\)$")  # below, where there is no room at the right


def is_terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def has_colours(stream: TextIO) -> bool:
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def painted(text: str, kind: str) -> str:
    """A piece of text in the colour of its kind.

    >>> painted("y", "name")
    '\\x1b[1my\\x1b[0m'
    """
    return f"\x1b[{COLOURS[kind]}m{text}\x1b[0m" if text else text


def fitted(text: str, width: int) -> str:
    """Statements whose lines are no longer than the terminal is wide; they are broken where they read back.

    >>> print(fitted("y[i] = alpha[i] beta[i] + gamma[i] delta[i]", 30))
    y[i] = alpha[i] beta[i] +
        gamma[i] delta[i]
    """
    return "\n".join(piece for line in text.split("\n") for piece in broken(line, 0, max(width, 20)))


def columns(stream: TextIO) -> int | None:
    """How wide lines may be, where a terminal shows them."""
    return max(40, shutil.get_terminal_size().columns) if is_terminal(stream) else None


def dressed(text: str, view: str, stream: TextIO) -> str:
    """A view as this stream shows it: as it is in a pipe, and on a terminal coloured."""
    if not has_colours(stream):
        return text
    if view == "derivation":
        return "\n".join(map(_step, text.split("\n")))
    if view == "text":
        return re.sub(r"^(?!sizes:)([^\s=]+)(?= = )", lambda found: painted(found[1], "name"), text, flags=re.M)
    return text


def _step(line: str) -> str:
    if _RULE.match(line):
        return painted(line, "rule")
    found = _STEP.match(line)
    if found is None:
        return line
    return (painted(found[1], "number") if found[1].strip() else found[1]) + found[2] + painted(found[3] or "", "rule")


def complaint(title: str, message: str, stream: TextIO) -> str:
    """An error: its kind, what it says, and carets in the colour of the kind."""
    if not has_colours(stream):
        return f"{title}: {message}"
    lines = [painted(line, "caret") if line.strip() and not line.strip("^ ") else line for line in message.split("\n")]
    return f"{painted(title, 'error')}: " + "\n".join(lines)


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Says on a terminal that work goes on, and for how long it has, once it takes more than a second."""
    stream = sys.stderr
    if not is_terminal(stream):
        yield
        return
    done = threading.Event()
    start = time.monotonic()

    def tell() -> None:
        late = done.wait(WAIT)
        while not late:
            stream.write(f"\r{what}: {time.monotonic() - start:.0f} s")
            stream.flush()
            late = done.wait(STEP)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        if time.monotonic() - start > WAIT:
            stream.write("\r\x1b[K")
            stream.flush()
