"""Processor time of the command, and time to answers of ``ricci serve``: python benchmarks/faces.py [--workers 2]

Commands are run as processes, ten times each, and the least is taken of what the system says that they used. Answers
are timed from the request to its last byte, each of a text that was not asked before, over one connection.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
from statistics import median

LOSS = "l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))"
COMMANDS = [
    ["--version"],
    ["show", "y[i,j] = x[i,k] a[k,j]"],
    ["diff", "f = x[i] A[i,j] x[j]", "x", "--latex"],
    ["diff", LOSS, "w", "w", "--derivation", "--structure"],
    ["diff", LOSS, "w", "w", "--json"],
    ["code", LOSS, "w", "w", "--backend", "torch"],
    ["check", "f = x[i] x[i]; D(f, x[k]) = 2 x[k]"],
]
VIEWS = ["formula", "derivation", "structure", "matrix", "graph", "code", "values"]
REQUESTS = {
    "gradient of a quadratic form": {"text": "f = x[i] A[i,j] x[j]", "by": ["x"], "want": ["formula"]},
    "Hessian of logistic regression": {"text": LOSS, "by": ["w", "w"], "want": ["formula"]},
    "the same, all views": {"text": LOSS, "by": ["w", "w"], "want": VIEWS},
}
RICCI = [sys.executable, "-m", "ricci"]


def used(words: list[str]) -> float:
    """Milliseconds of the processor that a command takes."""
    process = subprocess.Popen([*RICCI, *words], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    assert status == 0, words
    return 1e3 * (usage.ru_utime + usage.ru_stime)


def asked(connection: http.client.HTTPConnection, request: dict, tag: str) -> float:
    """Milliseconds until an answer is there."""
    body = json.dumps({**request, "text": f"{request['text']}  # {tag}"})
    start = time.perf_counter()
    connection.request("POST", "/answer", body, {"Content-Type": "application/json"})
    content = connection.getresponse().read()
    spent = time.perf_counter() - start
    assert json.loads(content)["ok"], content
    return 1e3 * spent


def rate(port: int, clients: int, each: int = 25) -> float:
    """Answers in a second, to so many who ask at once."""

    def ask(number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for k in range(each):
            asked(connection, REQUESTS["Hessian of logistic regression"], f"{number}.{k}")

    threads = [threading.Thread(target=ask, args=[number]) for number in range(clients)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return clients * each / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", metavar="N", help="the server for several people, with so many processes")
    workers = parser.parse_args().workers
    for words in COMMANDS:
        print(f"{min(used(words) for _ in range(10)):6.0f} ms  ricci {' '.join(words)}")
    more = ["--workers", workers] if workers else ["--no-browser"]
    started = time.perf_counter()
    server = subprocess.Popen(
        [*RICCI, "serve", "--port", "0", *more], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert server.stdout is not None
    try:
        port = int(re.findall(rb":(\d+)/", server.stdout.readline())[0])
        connection = http.client.HTTPConnection("127.0.0.1", port)
        asked(connection, REQUESTS["gradient of a quadratic form"], "first")
        print(f"{1e3 * (time.perf_counter() - started):6.0f} ms  from the start of ricci serve to its first answer")
        for name, request in REQUESTS.items():
            print(f"{median(asked(connection, request, str(k)) for k in range(30)):6.1f} ms  {name}")
        for clients in (1, 4):
            print(f"{rate(port, clients):6.0f} answers a second to {clients} at once")
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
