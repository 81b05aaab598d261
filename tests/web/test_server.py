"""``ricci serve`` as a process on this machine: page, answers, headers, limits, hostile requests, its end.

Both servers pass the same tests: the one for one person, and the one for several where Starlette and uvicorn are.
"""

from __future__ import annotations

import http.client
import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import browser as browsers
import pytest

import ricci as rc
import ricci.web.serving
from ricci.cli import options
from ricci.functions import FUNCTIONS
from ricci.web.answers import answer
from ricci.web.serving.page_files import files_of
from ricci.web.serving.replies import SECURITY
from ricci.web.serving.workers import BusyError, Caps, GoneError, WorkerPool

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are ended and capped here as POSIX has it")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(rc.__file__).parent.parent)}
LACKING = [name for name in ("starlette", "uvicorn") if importlib.util.find_spec(name) is None]
KINDS = [
    "alone",
    pytest.param(
        "team",
        marks=[
            pytest.mark.thorough,
            pytest.mark.skipif(bool(LACKING), reason=f"not installed: {', '.join(LACKING)}"),
        ],
    ),
]
JSON = {"Content-Type": "application/json"}
ASKED = {"text": "f = x[i] A[i,j] x[j]", "by": ["x"], "want": ["formula", "derivation", "structure", "matrix", "code"]}
SLOW = {  # minutes of work
    "text": "f = " + " + ".join(f"sin(x*{k}) cos(exp(x)/{k + 1})" for k in range(250)),
    "by": ["x"],
    "order": 6,
    "want": ["formula", "derivation"],
}


class Served:
    """A server that runs, and its address."""

    def __init__(self, process, port):
        self.process, self.port = process, port

    def ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, headers or {})
            reply = connection.getresponse()
            return reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read()
        finally:
            connection.close()

    def answer(self, request):
        status, _, body = self.ask("POST", "/answer", json.dumps(request).encode(), JSON)
        return status, json.loads(body)

    def raw(self, content):
        """What comes back for bytes that need not be HTTP."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall(content)
            return b"".join(iter(lambda: connection.recv(65536), b""))

    def health(self):
        return json.loads(self.ask("GET", "/health")[2])

    def workers(self):
        """The processes that answer."""
        if shutil.which("ps") is None:
            pytest.skip("there is no ps to say which processes there are")
        found = subprocess.run(
            ["ps", "--ppid", str(self.process.pid), "-o", "pid="], capture_output=True, text=True, check=False
        )
        return [int(word) for word in found.stdout.split() if int(word) != self.process.pid]


@contextmanager
def serving(kind, *words):
    more = ["--workers", "2"] if kind == "team" else ["--no-browser"]
    process = subprocess.Popen(
        [sys.executable, "-m", "ricci", "serve", "--port", "0", *more, *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, start_new_session=True,
    )  # fmt: skip
    assert process.stdout and process.stderr
    try:
        line = process.stdout.readline()
        found = re.fullmatch(r"ricci is at http://127\.0\.0\.1:(\d+)/ until Ctrl-C\.\n", line)
        assert found, line + process.stderr.read()
        yield Served(process, int(found[1]))
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module", params=KINDS)
def served(request):
    with serving(request.param, "--seconds", "20") as found:
        yield found


@pytest.fixture(scope="module", params=KINDS)
def capped(request):
    with serving(request.param, "--seconds", "2", "--memory", "260", "--waiting", "1") as found:
        yield found


# The page and its answers


def test_the_page(served):
    status, headers, body = served.ask("GET", "/")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8") and b"<html" in body
    assert (
        b"computed in this browser" not in body and b"computes in your browser" not in body
    )  # here it would be untrue
    loaded, found = set(), {"index.html"}
    while new := found - loaded:
        for name in new:
            status, headers, body = served.ask("GET", f"/{name}")
            assert status == 200 and headers["content-type"] != "application/octet-stream", name
            found |= named_in(name, body.decode())
        loaded |= new
    assert {"page.js", "worker.js", "style.css", "katex/katex.mjs", "katex/katex.min.css"} <= loaded


def named_in(name, text):
    """The files that a file loads."""
    if name.endswith(".html"):
        return set(re.findall(r'(?:src|href)="([\w./-]+)"', text))
    if name.startswith("katex/"):
        return set()
    return {part.removeprefix("./") for part in re.findall(r'(?:from|Worker\() ?"([\w./-]+)"', text)}


def test_the_worker_of_the_page_is_one_that_asks_the_server(served):
    assert b'fetch("answer"' in served.ask("GET", "/worker.js")[2]


@pytest.mark.parametrize(
    "request_",
    [
        ASKED,
        {"text": "f = x[i] x[i]", "by": ["x"], "order": 2},
        {"text": "x'*A*x", "declare": "x[n] A[n,n]", "by": ["x", "A"], "each": True, "want": ["formula", "matrix"]},
        {"text": "y = sn(x)"},
        {"text": "f = (x"},
        {"txt": "f = x"},
        {"text": 3},
        {"text": "y = \ud800"},
        {"text": "y[i] = α[i] + 1[i]", "want": ["formula", "graph"]},
    ],
    ids=str,
)
def test_answers_are_those_that_python_gives(served, request_):
    expected = json.loads(json.dumps(answer(request_)))
    status, found = served.answer(request_)
    for one in (expected, found):
        assert one.pop("milliseconds") >= 0
    assert status == 200 and found == expected


def test_replies_have_the_headers_of_security(served):
    replies = [
        served.ask("GET", "/"),
        served.ask("GET", "/health"),
        served.ask("GET", "/nowhere"),
        served.ask("POST", "/answer", b"{}", JSON),
        served.ask("POST", "/answer", b"{}"),
        served.ask("DELETE", "/answer"),
    ]
    assert [status for status, _, _ in replies] == [200, 200, 404, 200, 415, 405]
    for _, headers, _ in replies:
        assert {name: headers.get(name.lower()) for name in SECURITY} == SECURITY
        assert "server" not in headers or "python" not in headers["server"].lower()
    assert "'unsafe-inline'" not in SECURITY["Content-Security-Policy"]


def test_what_is_not_changed_is_not_sent_again(served):
    tag = served.ask("GET", "/style.css")[1]["etag"]
    assert served.ask("GET", "/style.css", headers={"If-None-Match": tag})[::2] == (304, b"")
    status, headers, body = served.ask("HEAD", "/style.css")
    assert status == 200 and int(headers["content-length"]) > 100 and not body


def test_its_health(served):
    found = served.health()
    assert found["ok"] and found["version"] == rc.__version__ and found["workers"] in (1, 2)


# What is refused


@pytest.mark.parametrize(
    ("body", "headers", "status", "said"),
    [
        (b"[1", JSON, 400, "not JSON"),
        (b"\xff", JSON, 400, "not JSON"),
        (b"[" * 30_000, JSON, 400, "not JSON"),
        (b"[]", JSON, 400, "is an object"),
        (b'{"a":' + b"9" * 5000 + b"}", JSON, 400, "not JSON"),
        (b"{}", {}, 415, "application/json"),
        (b"{}", {"Content-Type": "text/plain"}, 415, "application/json"),
        (b"{}", {**JSON, "Transfer-Encoding": "chunked"}, 411, "length"),
        (b"x" * 70_000, JSON, 413, "65,536 bytes"),
        (b"{}", {**JSON, "Origin": "http://elsewhere.example"}, 403, "other sites"),
        (b"{}", {**JSON, "Origin": "null"}, 403, "other sites"),
        (b"{}", {**JSON, "Host": "elsewhere.example"}, 403, "not known by that name"),
        (b"{}", {**JSON, "Host": "[:::"}, 403, "not known by that name"),
    ],
)  # fmt: skip
def test_requests_that_are_refused(served, body, headers, status, said):
    found, _, content = served.ask("POST", "/answer", body, headers)
    made = json.loads(content)
    assert found == status and made["ok"] is False and said in made["error"]["message"]


@pytest.mark.parametrize(
    "path",
    ["/../answers.py", "/%2e%2e/answers.py", "/..%2fanswers.py", "/answers.py", "/static_page.py", "//etc/passwd",
     "/%00", "/page/../../answers.py", "/..\\answers.py", "/.git", "/%ff", "/index.html/",
     "http://127.0.0.1/index.html", "/__init__.py"],
)  # fmt: skip
def test_nothing_but_the_page_can_be_read(served, path):
    status, headers, body = served.ask("GET", path)
    assert status == 404 and json.loads(body)["ok"] is False and "'none'" in headers["content-security-policy"]


@pytest.mark.parametrize(
    "asked", ["@/etc/hostname", "import os; os.system('true')", "__import__('os')", "open('/etc/passwd')"]
)
def test_nothing_in_a_text_is_read_or_run(served, asked):
    for language in ("auto", "index", "matrix", "numpy", "latex"):
        status, found = served.answer({"text": asked, "language": language})
        assert status == 200 and found["ok"] is False, found


def test_a_text_that_is_too_long(served):
    status, found = served.answer({"text": "x" * 20_000})
    assert status == 200 and found["error"]["kind"] == "LimitError" and "10,000" in found["error"]["message"]


@pytest.mark.parametrize(
    "content",
    [
        b"GARBAGE\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"\x00" * 100 + b"\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
    ],
    ids=["garbage", "length", "zeros", "long"],
)
def test_what_is_no_request(served, content):
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:
        with suppress(OSError):  # where it has hung up already
            connection.sendall(content)
            connection.shutdown(socket.SHUT_WR)
        assert b"Traceback" not in b"".join(received(connection))
    assert served.health()["ok"]


def test_two_lengths_are_none(served):
    content = b"POST /answer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
    content += b"Content-Length: 900000000\r\nConnection: close\r\n\r\n{}"
    status = served.raw(content).split(b" ")[1]
    assert status in (b"400", b"411") and served.health()["busy"] == 0


def received(connection):
    try:
        while part := connection.recv(65536):
            yield part
    except ConnectionError:
        return


def test_many_at_once(served):
    with ThreadPoolExecutor(12) as threads:
        found = list(threads.map(lambda k: served.answer({"text": f"f = x[i] x[i] + {k}", "by": ["x"]}), range(36)))
    assert all(status == 200 and one["formulas"][0]["text"] == "df_dx[i] = 2 x[i]" for status, one in found)


# Limits, each seen at work


def test_what_takes_too_long_is_ended_and_the_next_is_answered(capped):
    start = time.monotonic()
    status, found = capped.answer(SLOW)
    assert status == 200 and found["error"]["kind"] == "LimitError" and time.monotonic() - start < 15
    assert capped.answer(ASKED)[1]["ok"]


def test_what_no_limit_of_python_reaches_is_ended_too(capped):
    status, found = capped.answer({"text": "f = " + "a b " * 4000, "want": ["formula", "graph", "code", "values"]})
    assert status == 200 and found["error"]["kind"] == "LimitError", found
    assert capped.answer(ASKED)[1]["ok"]


def test_a_process_that_says_nothing_is_ended(capped):
    """One that is stopped by a signal, as what no limit inside of Python would reach."""
    assert capped.answer(ASKED)[1]["ok"]
    before = capped.health()["replaced"]
    stopped = capped.workers()
    for worker in stopped:
        os.kill(worker, signal.SIGSTOP)
    status, found = capped.answer(ASKED)
    assert status == 200 and found["error"] == {
        "kind": "LimitError",
        "message": "This takes more than 2 seconds, so it was stopped.",
    }
    for worker in set(stopped) & set(capped.workers()):
        os.kill(worker, signal.SIGCONT)
    assert capped.answer(ASKED)[1]["ok"] and capped.health()["replaced"] == before + 1


def test_a_process_that_is_ended_by_the_system_is_replaced(capped):
    assert capped.answer(ASKED)[1]["ok"]
    for worker in capped.workers():
        os.kill(worker, signal.SIGKILL)
    found = [capped.answer(ASKED)[1] for _ in range(3)]
    assert found[-1]["ok"] and all(one["ok"] or one["error"]["kind"] == "LimitError" for one in found)


def test_whoever_goes_away_is_not_computed_for(served):
    before = served.health()["replaced"]
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    connection.request("POST", "/answer", json.dumps(SLOW).encode(), JSON)
    until(lambda: served.health()["busy"] == 1)
    connection.close()
    until(lambda: served.health()["busy"] == 0, 10)
    assert served.health()["replaced"] == before + 1 and served.answer(ASKED)[1]["ok"]


def until(true, seconds=30.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.02)


def test_more_than_can_wait_are_sent_away(capped):
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: capped.answer(SLOW), range(8)))
    busy = [one["error"] for status, one in found if status == 503]
    assert busy and all(error["kind"] == "BusyError" for error in busy)
    assert {status for status, _ in found} == {200, 503} and capped.answer(ASKED)[1]["ok"]


# Processes by themselves


def test_memory_is_bounded():
    """By little more than Python and ricci need: what needs more ends, and the next is answered."""
    with WorkerPool(1) as pool:
        assert pool.answer(ASKED)["ok"]
        needed = memory_of(pool)
    with WorkerPool(1, Caps(seconds=30, memory=needed + (8 << 20))) as pool:
        found = pool.answer({**SLOW, "order": 3})
        assert not found["ok"] and found["error"]["kind"] == "LimitError" and "seconds, so" not in str(found), found
        assert pool.answer(ASKED)["ok"] and pool.state["replaced"] >= 1


def memory_of(pool):
    (worker,) = pool._all
    statm = Path(f"/proc/{worker._process.pid}/statm")
    if not statm.exists():
        pytest.skip("the system does not say how much memory a process has")
    return int(statm.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def test_a_pool_has_bounds():
    with WorkerPool(1, Caps(seconds=30, waiting=0)) as pool:
        stopping = threading.Event()
        with ThreadPoolExecutor(1) as threads:
            asked = threads.submit(pool.answer, SLOW, stopping.is_set)
            until(lambda: pool.state["busy"] == 1)
            with pytest.raises(BusyError):
                pool.answer(ASKED)
            stopping.set()
            with pytest.raises(GoneError):
                asked.result(20)
        assert pool.state == {"workers": 1, "busy": 0, "waiting": 0, "replaced": 1} and pool.answer(ASKED)["ok"]


def test_a_system_without_room_for_a_process_is_busy(monkeypatch):
    with WorkerPool(1) as pool:
        assert pool.answer(ASKED)["ok"]

        def none(*_, **__):
            raise BlockingIOError(11, "Resource temporarily unavailable")

        with monkeypatch.context() as patched:
            patched.setattr(subprocess, "Popen", none)
            (worker,) = pool._all
            worker.kill()
            for _ in range(2):
                with pytest.raises(BusyError):
                    pool.answer(ASKED)
        assert pool.answer(ASKED)["ok"]


def test_a_folder_is_read_once(tmp_path):
    for name in ("index.html", "sub/a.js", ".hidden", "code.py", "__pycache__/b.pyc"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert set(files_of(tmp_path)) == {"/index.html", "/sub/a.js"}


# The page in a browser, and formulas without KaTeX


def run_by_node(code, **more):
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node.js is not installed")
    module = (Path(ricci.web.serving.__file__).parent / "mathml.mjs").as_uri()
    code = f"import {{ mathml }} from {json.dumps(module)}; const given = {json.dumps(more)};\n{code}"
    ran = subprocess.run([node, "--input-type=module", "-e", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_all_latex_that_ricci_writes_is_set_without_katex():
    texts = [
        "l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))",
        "p[i] = exp(s[i]) / sum[k](exp(s[k]))",
        "f = logdet(A[i,j]) sqrt(x)",
        "y[i] = where(x[i] > 0, x[i]**3, abs(x[i]))",
        "T^i_j = g^{i k} F_{k j}",
        "y[i] = max[k](A[i,k]) sum[k](B[i,k+1])",
    ]
    texts += [f"y = {name}({inputs})" for name in FUNCTIONS for inputs in ("x", "x, y", "x, y, z")]
    written = []
    for text in texts:
        asked = {"text": text, "want": ["formula", "matrix"]}
        read = answer(asked)
        if read["ok"] and read["variables"]:  # of real numbers there is no imaginary part, say
            by = read["variables"][0]["name"]
            found = [read, answer({**asked, "by": [by], "want": ["formula", "derivation", "matrix"]})]
            written += [latex for one in found for latex in latex_in(one)]
    assert len(written) > 60
    wrong = run_by_node(
        "const wrong = []; for (const one of given.written) "
        "try { mathml(one); } catch (e) { wrong.push(`${e.message} ${one}`); } console.log(JSON.stringify(wrong))",
        written=written,
    )
    assert wrong == []


def latex_in(value):
    if isinstance(value, dict):
        for key, part in value.items():
            yield from [part] if key == "latex" else latex_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from latex_in(part)


def test_formulas_as_mathml():
    set_ = "console.log(JSON.stringify(given.all.map((one) => mathml(one))))"
    (fraction,), (index,), pieces = run_by_node(set_, all=[r"\frac{a}{2}", "x_{i''}", "y = a + (b - c)"])
    assert fraction[2] == ["mfrac", {}, ["mi", {}, "a"], ["mn", {}, "2"]]
    assert index[2][2:] == [["mi", {}, "x"], ["msup", {}, ["mi", {}, "i"], ["mo", {"scriptlevel": "+0"}, "′′"]]]
    assert [piece[2][2] for piece in pieces] == ["y", "=", "+"]  # between which a line may end
    for wrong in (r"\unknown x", "{x", r"\left(x", r"\begin{tabular}x\end{tabular}"):
        caught = "try { mathml(given.one); console.log(0) } catch { console.log(1) }"
        assert run_by_node(caught, one=wrong) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_the_page_in_a_browser(kind, tmp_path, monkeypatch):
    if lacking := browsers.lacking():
        pytest.skip(f"the server is not tested in a browser: {lacking}")
    try:
        driven = browsers.Browser()
    except rc.MissingPackageError as error:
        pytest.skip(f"the server is not tested in a browser: {error}")
    monkeypatch.setitem(ENVIRONMENT, "RICCI_PACKAGES", str(tmp_path))  # without KaTeX
    try:
        with serving(kind) as served:
            driven("open", address=f"http://127.0.0.1:{served.port}/")
            driven("wait", code="document.documentElement.dataset.answer !== undefined")
            driven("fill", at="#text", text="f = x[i] A[i,j] x[j]")
            driven("fill", at="#by", text="x")
            driven("click", at="#tab-formula")
            driven("wait", code="document.querySelector('#panel-formula')?.innerText.includes('df_dx[i] = ')")
            assert driven("run", code="document.querySelectorAll('#panel-formula math mfrac').length") == 1
            assert driven("axe") == []
            driven("fill", at="#text", text=SLOW["text"])
            driven("run", code="document.querySelector('#options').open = true")
            driven("fill", at="#order", text="6")
            until(lambda: served.health()["busy"] == 1)
            driven("click", at="#stop")
            until(lambda: served.health()["busy"] == 0, 5)
            driven("fill", at="#text", text="f = (x")
            driven("wait", code="document.querySelector('.carets')?.innerText.includes('^')")
            assert driven("foreign") == [] and driven("said") == []
    finally:
        with driven.process:
            driven.close()


# Beginning and end


@pytest.mark.parametrize("line", options.EXAMPLES["serve"])
def test_every_example_of_the_help_runs(line):
    _, command, *words = line.split()
    if "--workers" in words and LACKING:
        pytest.skip(f"not installed: {', '.join(LACKING)}")
    assert command == "serve"
    with serving("alone", *words, "--host", "127.0.0.1", "--port", "0") as served:  # and not where others can reach it
        assert served.health()["workers"] == (4 if "4" in words else 1) and served.answer(ASKED)[1]["ok"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_quietly(kind, how):
    with serving(kind) as served:
        assert served.answer(ASKED)[1]["ok"]
        workers = served.workers()
        served.process.send_signal(how)
        out, errors = served.process.communicate(timeout=30)
        assert served.process.returncode == 0 and not out and "Traceback" not in errors
        assert workers and not any(Path(f"/proc/{worker}").exists() for worker in workers)
        assert "x[i]" not in errors and "A[i,j]" not in errors  # what was asked is in no log


def test_ports_and_places_that_cannot_be_had(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert "--port 0 takes one" in refusal_of("--port", port)
    assert "no index.html" in refusal_of("--port", "0", "--page", str(tmp_path))
    assert "--host nowhere.invalid" in refusal_of("--host", "nowhere.invalid")


def refusal_of(*words):
    ran = subprocess.run(
        [sys.executable, "-m", "ricci", "serve", "--no-browser", *words],
        capture_output=True, text=True, env=ENVIRONMENT, check=False,
    )  # fmt: skip
    assert ran.returncode == 2 and not ran.stdout and "Traceback" not in ran.stderr, ran.stderr
    return ran.stderr


@pytest.mark.skipif(not LACKING, reason="Starlette and uvicorn are installed")
def test_what_is_missing_is_named():
    assert f"{LACKING[-1]} is not installed" in refusal_of("--workers", "2")
