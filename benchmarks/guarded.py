"""Work done in another process, which is ended when it takes too long or too much memory; the next work starts anew.

So one row of a benchmark cannot stop the others, whatever it does. A task says what it has found as it goes along;
what it said before it was ended counts.
"""

from __future__ import annotations

import multiprocessing
import os
import time
import traceback
from collections.abc import Callable
from typing import Any

Say = Callable[[Any], None]
Task = Callable[[Any, Say], None]
OFTEN = 0.02  # seconds between looks at the memory
IDLE = 8  # times the seconds of processor time, until a process is taken to wait for something that does not come
END = "the task has ended"


class Guard:
    """A process that does a task for one job after the other."""

    def __init__(self, task: Task, seconds: float, gigabytes: float):
        self.task, self.seconds, self.gigabytes = task, seconds, gigabytes
        self._context = multiprocessing.get_context("spawn")
        self._process: Any = None
        self._line: Any = None

    def run(self, job: Any) -> tuple[list[Any], str]:
        """What the task says of a job, and why it did not come to its end, if it did not."""
        if self._process is None:
            self._start()
        self._line.send(job)
        process: Any = self._process
        notes, since, used = [], time.monotonic(), processor_time(process.pid)
        while True:
            if self._line.poll(OFTEN):
                try:
                    note = self._line.recv()
                except EOFError:
                    return notes, self._ended("the process died")
                if note == END:
                    return notes, ""
                notes.append(note)
                since, used = time.monotonic(), processor_time(process.pid)
            elif not process.is_alive():
                return notes, self._ended("the process died")
            elif self._is_over(time.monotonic() - since, processor_time(process.pid) - used):
                return notes, self._ended(f"over {self.seconds:g} s")
            elif resident(process.pid) > self.gigabytes * 1e9:
                return notes, self._ended(f"over {self.gigabytes:g} GB")

    def _is_over(self, passed: float, used: float) -> bool:
        """By processor time, since others may be at work; one that does nothing is ended, too."""
        return max(used, passed / IDLE if used else passed) > self.seconds

    def _start(self) -> None:
        self._line, other = self._context.Pipe()
        self._process = self._context.Process(target=serve, args=(self.task, other), daemon=True)
        self._process.start()
        other.close()

    def _ended(self, reason: str) -> str:
        self.close()
        return reason

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._line.close()
            self._process = None


def serve(task: Task, line: Any) -> None:
    """What the process does: jobs come along the line, what is said of them goes back."""
    while True:
        try:
            job = line.recv()
        except EOFError:
            return
        try:
            task(job, line.send)
        except Exception:
            line.send(("broken", traceback.format_exc(limit=-3)))
        line.send(END)


# Memory, as the system counts it


def resident(pid: int | str = "self") -> int:
    """Bytes of a process that are in memory; 0 where it cannot be told."""
    return _status(pid, "VmRSS")


def processor_time(pid: int) -> float:
    """Seconds that a process has used of processors; 0 where it cannot be told."""
    try:
        with open(f"/proc/{pid}/stat") as line:
            user, system = line.read().rpartition(")")[2].split()[11:13]
    except (OSError, ValueError):
        return 0.0
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def highest() -> int:
    """The most bytes of this process that were in memory since :func:`forget_highest`."""
    return _status("self", "VmHWM")


def _status(pid: int | str, key: str) -> int:
    try:
        with open(f"/proc/{pid}/status") as lines:
            return next((1024 * int(line.split()[1]) for line in lines if line.startswith(key)), 0)
    except OSError:
        return 0


def forget_highest() -> None:
    """Let the highest begin at what is in memory now, memory that is free given back before."""
    try:
        import ctypes

        ctypes.CDLL("libc.so.6").malloc_trim(0)
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        return


def peak(call: Callable[[], Any]) -> int:
    """Bytes that a call takes at most beyond what there was, as the system counts them, so in pages."""
    forget_highest()
    before = resident()
    result = call()
    taken = highest() - before
    del result
    return max(taken, 0)
