"""A browser for tests: Chromium, driven by a script of Node, and a server of files. What is missing is said."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from ricci.web.packages import NpmPackage, contents, folder

PLAYWRIGHT = NpmPackage(
    "playwright-core",
    "1.65.1",
    "hqPpz7blSMPxWVdoeE1yiBSzXsKiVOd2k+kjCvmUywD2GPO2Dd9HfcWnq9NN0GHbNZDFgZ9JfBFr+X5/BLo0qw==",
)
AXE = NpmPackage(
    "axe-core", "4.14.0", "9WTZxEjsZ7b13TH8JPmbV2z8CHbl80/2hm3XPEG4JgNdQLK81IBRXmSxHfMAOkSqQeRxT/0dwNDz2GOm3zzpcQ=="
)
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


class Files(SimpleHTTPRequestHandler):
    """A plain server of files, as ``python -m http.server`` is."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


def served(place: Path, handler: type[Files] = Files) -> tuple[ThreadingHTTPServer, str]:
    """A server of a folder, in a thread, and its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(place)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_address[1]}"


def lacking() -> str:
    """What is missing for tests in a browser, if anything is."""
    if shutil.which("node") is None:
        return "Node.js is not installed"
    return "" if executable() else "there is no Chromium (apt-get install chromium)"


def executable() -> str:
    return next((found for name in CHROMIUM if (found := shutil.which(name))), "")


def unpacked(package: NpmPackage) -> Path:
    """The folder of a package, with all of its files."""
    place = folder() / f"{package.name}-{package.version}"
    if not (place / "package.json").exists():
        for name, content in contents(package).items():
            path = place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return place


class Browser:
    """Each method is a command of ``drive.mjs``."""

    def __init__(self) -> None:
        command = ["node", str(Path(__file__).parent / "drive.mjs")]
        command += [str(unpacked(PLAYWRIGHT)), str(unpacked(AXE)), executable()]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1"}
        )

    def __call__(self, command: str, **more: Any) -> Any:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps({"command": command, **more}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"The browser ended before it had done this: {command}.")
        found = json.loads(line)
        if "error" in found:
            raise AssertionError(f"{command} {more}: {found['error']}")
        return found["value"]

    def close(self) -> None:
        with suppress(RuntimeError, AssertionError, BrokenPipeError):
            self("close")
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        self.process.wait(timeout=20)
