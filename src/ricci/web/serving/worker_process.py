"""The process that answers: one line of JSON in, one line of JSON out, inside caps that the system itself holds.

It is started by ``workers``, and ends when its input does. Nothing that it was asked is written anywhere but into the
answer. Once ready it has the modules that it needs, and gives up the right to write files, to use more memory than it
was given, and to go on for longer than an answer may take, whatever becomes of the process that started it.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import Any

READY = b"ready\n"
MORE, LAST = b"+", b"-"  # before an answer: whether the process goes on after it
SPENT = 0.5  # the part of the memory beyond which a process that has answered is replaced


def main(seconds: float, memory: int, most: int) -> None:
    """Answers until the input ends; ``most`` is the length of an answer."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what prints by mistake is no part of an answer
    from ricci.web.answers import answer

    answer({"text": "f = x[i] x[i]", "by": ["x"], "want": ["formula", "derivation"]})  # what is imported late is there
    cap(memory)
    out.write(READY)
    out.flush()
    for line in sys.stdin.buffer:
        alarm(seconds + 5)
        made = line_of(answer(json.loads(line), seconds=0.9 * seconds), most)
        alarm(0)
        last = memory_in_use() > SPENT * memory
        out.write((LAST if last else MORE) + made + b"\n")
        out.flush()
        if last:
            return


def line_of(answered: dict[str, Any], most: int) -> bytes:
    """An answer as a line of JSON, or why it is none."""
    try:
        made = json.dumps(answered, allow_nan=False).encode()
    except (ValueError, RecursionError, MemoryError) as error:
        said = f"The answer cannot be written: {error or 'there is not enough memory'}."
    else:
        if len(made) <= most:
            return made
        said = f"The answer would have {len(made):,} characters, and {most:,} are allowed. Ask for fewer views of it."
    return json.dumps({"ok": False, "error": {"kind": "LimitError", "message": said}}).encode()


def cap(memory: int) -> None:
    """From here on the system refuses more memory, files that grow, and images of a process that fails."""
    with suppress(ImportError, ValueError, OSError):  # Windows has none of these; there time alone is limited
        import resource

        for kind, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
            resource.setrlimit(kind, (most, most))


def alarm(seconds: float) -> None:
    """The system ends this process after so long; never, if 0."""
    with suppress(ImportError, AttributeError):
        import signal

        signal.setitimer(signal.ITIMER_REAL, seconds)


def memory_in_use() -> int:
    """The bytes of this process, where the system says how many they are."""
    with suppress(OSError, ValueError, AttributeError), open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
