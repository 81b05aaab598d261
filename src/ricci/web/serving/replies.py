"""What a server says to a request, whatever carries it: the files of the page, answers, its state, and refusals.

| | |
|---|---|
| ``GET /…`` | a file of the page, of those that were read at the start and no other |
| ``POST /answer`` | an object as :func:`ricci.web.answers.answer` takes it; its answer |
| ``GET /health`` | how many processes there are, and how many are at work |

Every refusal is an object like the answer of a text with an error. A page of another site cannot ask: a request says
that it is JSON, which browsers let no other page do unasked, and comes from this page if it says where from.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

import ricci
from ricci.web.serving.workers import BusyError, GoneError, WorkerPool, refusal

POLICY = "; ".join([  # nothing is loaded from elsewhere, and nothing is sent there
    "default-src 'none'", "script-src 'self' 'wasm-unsafe-eval'", "style-src 'self'", "font-src 'self'",
    "img-src 'self' data: blob:", "connect-src 'self'", "worker-src 'self'", "manifest-src 'self'",
    "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
])  # fmt: skip
SECURITY = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".wasm": "application/wasm",
    ".zip": "application/zip",
    ".txt": "text/plain; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
}
ANSWER, HEALTH = "/answer", "/health"
ERRORS = {413: "LimitError", 503: "BusyError"}  # the kind of an error, by its status, if it is none of the request


@dataclass(frozen=True)
class Reply:
    """A status, a body, and what stands above it."""

    status: int
    body: bytes = b""
    kind: str = "application/json"
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def headers(self) -> dict[str, str]:
        sized = {"Content-Length": str(len(self.body))}
        return {"Content-Type": self.kind, **sized, "Cache-Control": "no-store", **SECURITY, **self.more}


def said(status: int, content: Mapping[str, Any], **more: str) -> Reply:
    return Reply(status, json.dumps(content, allow_nan=False).encode(), more=more)


def refused(status: int, message: str, **more: str) -> Reply:
    return said(status, refusal(ERRORS.get(status, "RequestError"), message), **more)


class Site:
    """The page in a folder, and answers from processes."""

    def __init__(self, files: Mapping[str, bytes], pool: WorkerPool, hosts: Iterable[str] = ()):
        """The files by their addresses; where ``hosts`` are given, nobody may call this server by another name."""
        self.pool = pool
        self.hosts = frozenset(hosts)
        self.files = dict(files)
        self.tags = {path: f'"{hashlib.sha256(content).hexdigest()[:24]}"' for path, content in files.items()}

    def get(self, target: str, headers: Mapping[str, str]) -> Reply:
        if wrong := self.stranger(headers):
            return wrong
        path = unquote(_path(target))
        if path == HEALTH:
            return said(200, {"ok": True, "version": ricci.__version__, **self.pool.state})
        if path == ANSWER:
            return refused(405, "An answer is asked for by POST.", Allow="POST")
        path = "/index.html" if path == "/" else path
        if path not in self.files:
            return refused(404, "There is no such page here.")
        kept = {"ETag": self.tags[path], "Cache-Control": "no-cache"}
        kind = KINDS.get(PurePosixPath(path).suffix, "application/octet-stream")
        if self.tags[path] in headers.get("if-none-match", ""):
            return Reply(304, kind=kind, more=kept)
        return Reply(200, self.files[path], kind, kept)

    def refusal_of_post(self, target: str, headers: Mapping[str, str]) -> Reply | None:
        """Why a request is not even read; nothing if it may be. Names of headers are in small letters."""
        if wrong := self.stranger(headers):
            return wrong
        if _path(target) != ANSWER:
            return refused(404, "There is nothing here to be asked.")
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return refused(415, "A request is JSON: send it as Content-Type: application/json.")
        if "transfer-encoding" in headers or not (length := headers.get("content-length", "")).isdecimal():
            return refused(411, "A request says its length: Content-Length.")
        if len(length) > 12 or int(length) > self.pool.caps.request:
            return refused(413, f"A request has at most {self.pool.caps.request:,} bytes.")
        return None

    def post(self, body: bytes, gone: Callable[[], bool]) -> Reply:
        """The answer to a request that was let in."""
        try:
            asked = json.loads(body)
        except (ValueError, RecursionError):
            return refused(400, "The request is not JSON.")
        if not isinstance(asked, dict):
            return refused(400, 'A request is an object: {"text": "f = x[i] x[i]", "by": ["x"]}.')
        try:
            return said(200, self.pool.answer(asked, gone))
        except BusyError:
            many = "Too many requests are being answered. Ask again in some seconds."
            return refused(503, many, **{"Retry-After": "2"})
        except GoneError:
            return refused(503, "The request was stopped.")

    def other_method(self) -> Reply:
        return refused(405, "Ask by GET for the page, by POST for an answer.", Allow="GET, HEAD, POST")

    def stranger(self, headers: Mapping[str, str]) -> Reply | None:
        """A refusal of whoever calls this server by a name that it has not, or from another page."""
        host = headers.get("host", "")
        if self.hosts and re.sub(r":\d*$", "", host).strip("[]").lower() not in self.hosts:
            return refused(403, "This server is not known by that name.")
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            return refused(403, "Pages of other sites may not ask here.")
        return None


def _path(target: str) -> str:
    return target.partition("?")[0].partition("#")[0]
