"""Processes that answer requests, and are ended where an answer takes too long: what both servers compute with.

Each request has a process of its own while it is answered. One that exceeds its time is killed, one that exceeds its
memory fails, and another takes its place; who asked is told so. At most ``waiting`` requests wait for a process, and
more are refused, so that nobody waits long for nothing.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ricci
from ricci.web.serving.worker_process import MORE, READY

STEP = 0.05  # seconds after which it is asked again whether anybody still wants the answer
START = 60.0  # seconds that a process may take until it is ready


@dataclass(frozen=True)
class Caps:
    """What one request may take."""

    seconds: float = 20.0
    memory: int = 1 << 30  # bytes of a process, with Python and ricci in it
    request: int = 1 << 16  # bytes
    answer: int = 1 << 23  # characters
    waiting: int = 16  # requests that wait for a process


class BusyError(Exception):
    """All processes are at work, and enough requests wait for one."""


class GoneError(Exception):
    """Nobody wants the answer any more."""


def refusal(kind: str, message: str) -> dict[str, Any]:
    """An error, as an answer says it."""
    return {"ok": False, "error": {"kind": kind, "message": message}}


class WorkerPool:
    """So many processes, and answers from them; to be closed, or used in a ``with``."""

    def __init__(self, workers: int = 1, caps: Caps | None = None):
        self.caps = caps or Caps()
        self.workers = workers
        self.replaced = 0
        self._guard = threading.Lock()
        self._asking = 0
        self._closed = False
        self._idle: queue.LifoQueue[_Worker | None] = queue.LifoQueue()  # None is one that is to be started
        self._all: set[_Worker] = set()
        for _ in range(workers):
            self._idle.put(self._started())

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def state(self) -> dict[str, int]:
        """How many processes there are, how many are at work, and how many requests wait."""
        busy = min(self._asking, self.workers)
        return {"workers": self.workers, "busy": busy, "waiting": self._asking - busy, "replaced": self.replaced}

    def answer(self, request: Mapping[str, Any], gone: Callable[[], bool] = lambda: False) -> dict[str, Any]:
        """The answer, also where it is that there is none within the caps.

        ``gone`` says that nobody wants it any more; then the process is ended and :class:`GoneError` raised.
        """
        with self._guard:
            if self._asking >= self.workers + self.caps.waiting:
                raise BusyError
            self._asking += 1
        try:
            worker = self._free(gone)
            try:
                found = worker.ask(request, self.caps.seconds, gone)
            except BaseException:
                worker.kill()
                raise
            finally:
                self._give_back(worker)
            return found
        finally:
            with self._guard:
                self._asking -= 1

    def close(self) -> None:
        """Ends all processes."""
        with self._guard:
            self._closed = True
            every = list(self._all)
        for worker in every:
            worker.kill()

    def _free(self, gone: Callable[[], bool]) -> _Worker:
        while not (gone() or self._closed):
            with suppress(queue.Empty):
                worker = self._idle.get(timeout=STEP)
                if worker is not None and worker.usable:
                    return worker
                if worker is None and (worker := self._begun()) is None:
                    self._idle.put(None)
                    raise BusyError
                self._give_back(worker)  # the system has ended it meanwhile, or it is new
        raise GoneError

    def _give_back(self, worker: _Worker) -> None:
        if worker.usable:
            self._idle.put(worker)
            return
        worker.kill()
        with self._guard:
            self._all.discard(worker)
            self.replaced += 1
        if not self._closed:
            self._idle.put(self._begun())

    def _begun(self) -> _Worker | None:
        """A new process, unless the system has none to give."""
        try:
            return self._started()
        except OSError:
            return None

    def _started(self) -> _Worker:
        worker = _Worker(self.caps)
        with self._guard:
            self._all.add(worker)
        return worker


class _Worker:
    """A process, and the thread that reads what it says: waiting on a queue can end in time on any system."""

    def __init__(self, caps: Caps):
        self.caps = caps
        self.usable, self.ready = True, False
        paths = [str(Path(ricci.__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-B", "-m", "ricci.web.serving.worker_process"]
            + [str(caps.seconds), str(caps.memory), str(caps.answer)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # where a text that somebody typed might stand
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            start_new_session=True,  # Ctrl-C is for the server, which then ends this
        )
        self._said: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def ask(self, request: Mapping[str, Any], seconds: float, gone: Callable[[], bool]) -> dict[str, Any]:
        """The answer; where there is none, the reason, and the process is not usable any more."""
        if not self.ready and self._next(START, gone) != READY:
            self.kill()
            return refusal("InvariantError", "The process that answers does not start.")
        self.ready = True
        line = self._next(seconds, gone) if self._told(json.dumps(request).encode()) else b""
        if line is None:
            self.kill()
            return refusal("LimitError", f"This takes more than {seconds:g} seconds, so it was stopped.")
        if not line:
            self.kill()
            memory = f"{self.caps.memory / 2**20:,.0f} MB"
            return refusal("LimitError", f"This has ended the process that worked on it, which has {memory} of memory.")
        self.usable = self.usable and line.startswith(MORE)
        return json.loads(line[1:])

    def _told(self, line: bytes) -> bool:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()
        except OSError:
            return False
        return True

    def _next(self, seconds: float, gone: Callable[[], bool]) -> bytes | None:
        """The line that the process says next, an empty one if it has ended; None if it says nothing for so long."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            with suppress(queue.Empty):
                return self._said.get(timeout=min(STEP, left))
            if gone():
                raise GoneError
        return None

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with suppress(OSError, ValueError), self._process.stdout as lines:
            for line in lines:
                self._said.put(line)
        self.usable = False
        self._said.put(b"")

    def kill(self) -> None:
        self.usable = False
        self._process.kill()
        self._process.wait()
        with suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()
