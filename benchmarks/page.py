"""What the interactive page takes: bytes to load, time to start, time to answer, in headless Chromium on this machine.

Run it with ``python benchmarks/page.py``; it builds the page, serves it as plain files, and opens it as a first visitor
does, with nothing kept, and again. Times of answers are those of Python in the worker: each example of the page in each
tab, the first time it is asked. ``gzip -9`` stands for what servers do to files on their way.
"""

from __future__ import annotations

import gzip
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "web")]

import browser as browsers  # noqa: E402

from ricci.web import static_page  # noqa: E402

TABS = ("formula", "derivation", "structure", "matrix", "graph", "code", "values")
GROUPS = {"Python": "pyodide/", "KaTeX": "katex/", "ricci": "ricci.zip", "the page itself": ""}
AT_REST = "document.getElementById('stop').disabled && !document.querySelector('.panel:not([hidden]).stale')"
ANSWERED = "Number(document.documentElement.dataset.answer ?? 0) >= 1"


def main() -> int:
    lacking = browsers.lacking()
    if lacking:
        print(f"Nothing is measured: {lacking}.")
        return 1
    with tempfile.TemporaryDirectory() as place:
        folder = static_page.build(Path(place) / "page")
        asked: set[str] = set()

        class Noting(browsers.Files):
            """Notes which files are asked for."""

            def send_head(self):
                asked.add(self.path.partition("?")[0].lstrip("/"))
                return super().send_head()

        server, address = browsers.served(folder, Noting)
        driven = browsers.Browser()
        try:
            starts = [start(driven, f"{address}/index.html") for _ in range(3)]
            again = [reload(driven) for _ in range(3)]
            answers = {tab: answers_of(driven, tab) for tab in TABS}
        finally:
            driven.close()
            server.shutdown()
            server.server_close()
        print(table(sizes(folder, asked), starts, again, answers))
    return 0


def start(driven: browsers.Browser, address: str) -> tuple[float, float]:
    """Seconds until a first visitor reads an answer, and how many of them Python took to start."""
    before = time.perf_counter()
    driven("open", address=address)
    return waited(driven, before)


def reload(driven: browsers.Browser) -> tuple[float, float]:
    before = time.perf_counter()
    driven("run", code="delete document.documentElement.dataset.answer, location.reload()")
    time.sleep(0.2)
    return waited(driven, before)


def waited(driven: browsers.Browser, before: float) -> tuple[float, float]:
    driven("wait", code=ANSWERED, seconds=120)
    took = time.perf_counter() - before
    parts = driven("run", code="JSON.parse(document.documentElement.dataset.started)")
    return took, (parts["runtime"] + parts["modules"]) / 1e3


def answers_of(driven: browsers.Browser, tab: str) -> list[int]:
    """Milliseconds for each example in a tab."""
    found = []
    for k in range(driven("run", code="document.querySelectorAll('#examples button').length")):
        driven("click", at=f"#examples button:nth-child({k + 1})")
        time.sleep(0.02)
        driven("wait", code=AT_REST)
        driven("click", at=f"#tab-{tab}")
        time.sleep(0.02)
        driven("wait", code=AT_REST)
        found.append(int(driven("text", at="#status").split()[-2]))
    return found


def sizes(folder: Path, asked: set[str]) -> dict[str, tuple[int, int]]:
    """Bytes of what was asked for, and of that compressed, by what it is."""
    found: dict[str, tuple[int, int]] = dict.fromkeys(GROUPS, (0, 0))
    for name in sorted(asked):
        path = folder / (name or "index.html")
        if path.is_file():
            group = next(group for group, start in GROUPS.items() if name.startswith(start))
            data = path.read_bytes()
            found[group] = found[group][0] + len(data), found[group][1] + len(gzip.compress(data, 9))
    return found


def table(
    loaded: dict[str, tuple[int, int]],
    starts: list[tuple[float, float]],
    again: list[tuple[float, float]],
    answers: dict[str, list[int]],
) -> str:
    lines = ["| loaded | raw | compressed |", "|---|---|---|"]
    whole = tuple(map(sum, zip(*loaded.values(), strict=True)))
    for name, (raw, small) in [*loaded.items(), ("all of it", whole)]:
        lines.append(f"| {name} | {raw / 1e6:.2f} MB | {small / 1e6:.2f} MB |")
    lines += ["", "| time | |", "|---|---|"]
    for name, found in (("first visit", starts), ("later visit", again)):
        took, started = min(found)
        lines.append(f"| {name}, until an answer is read | {took:.1f} s, {started:.1f} s of it Python's start |")
    lines += ["", "| answers | median | slowest |", "|---|---|---|"]
    for tab, found in answers.items():
        lines.append(f"| {tab} | {statistics.median(found):.0f} ms | {max(found)} ms |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
