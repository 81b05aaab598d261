"""``ricci serve``: the page, and answers for it, from this machine."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import webbrowser
from argparse import Namespace
from pathlib import Path

import ricci as rc
from ricci.cli.misuse import MisuseError

PORT = 8765  # where it can be had; links to a state of the page then live on
LOOPBACK = ("localhost", "127.0.0.1", "::1")


def serve(asked: Namespace) -> int:
    from ricci.web.serving import workers
    from ricci.web.serving.replies import Site

    team = asked.workers is not None
    if team:
        try:
            from ricci.web.serving.team import serve_team as run
        except ModuleNotFoundError as error:
            raise rc.MissingPackageError(
                f"ricci serve --workers needs Starlette and uvicorn, and {error.name} is not installed. Install them: "
                "pip install starlette uvicorn. Without --workers, ricci serve needs no other package."
            ) from None
    else:
        from ricci.web.serving.alone import serve_alone as run
    caps = workers.Caps(asked.seconds, asked.memory << 20, waiting=asked.waiting)
    with _listening(asked.host, asked.port) as listening, contextlib.suppress(KeyboardInterrupt):
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        address = _address(listening, asked.host)
        with workers.WorkerPool(asked.workers or 1, caps) as pool:
            site = Site(_files(asked.page, not team), pool, LOOPBACK if asked.host in LOOPBACK else ())
            print(f"ricci is at {address} until Ctrl-C.", flush=True)
            if not (team or asked.no_browser):
                threading.Thread(target=_open, args=[address], daemon=True).start()
            run(site, listening)
    return 0


def _files(page: str | None, alone: bool) -> dict[str, bytes]:
    """The page that is asked for, or the one that comes with ricci."""
    from ricci.web.serving.page_files import files_of, own_page

    if page is None:
        return own_page(alone)
    if not (Path(page) / "index.html").is_file():
        raise MisuseError(f"--page {page}: there is no index.html in it.")
    return files_of(Path(page))


def _listening(host: str, port: int | None) -> socket.socket:
    """A socket at the port, or at any free one if none was asked for and the usual one is taken."""
    try:
        family = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][0]
    except OSError as error:
        raise MisuseError(f"--host {host}: {error.strerror}.") from None
    for tried in [PORT, 0] if port is None else [port]:
        found = socket.socket(family)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, os.name == "posix")
        try:
            found.bind((host, tried))
            found.listen(128)
            return found
        except (OSError, OverflowError) as error:
            found.close()
            reason = getattr(error, "strerror", None) or error
    raise MisuseError(f"Nothing can be served at {host}, port {tried}: {reason}. --port 0 takes one that is free.")


def _address(listening: socket.socket, host: str) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}/"


def _open(address: str) -> None:
    """Opens a browser that has a window; one in this terminal would be in the way."""
    if sys.platform in ("win32", "darwin") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        with contextlib.suppress(webbrowser.Error):
            webbrowser.open(address)
