"""``ricci serve --workers 4``: the same page for several people, with Starlette and uvicorn."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import uvicorn
from starlette.applications import Starlette
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from ricci.web.serving.replies import ANSWER, Reply, Site, refused
from ricci.web.serving.workers import STEP

PATIENCE = 15.0  # seconds for the body of a request
CONNECTIONS = 512
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"]
LOG = logging.getLogger("ricci.serve")


def serve_team(site: Site, listening: socket.socket) -> None:
    """Answers until it is interrupted; what is being answered then is answered still."""
    if not LOG.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        LOG.addHandler(handler)
        LOG.setLevel(logging.INFO)
    config = uvicorn.Config(
        application(site),
        access_log=False,
        log_level="error",
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=int(PATIENCE),
        timeout_graceful_shutdown=int(site.pool.caps.seconds) + 2,
        ws="none",
        lifespan="off",
    )
    uvicorn.Server(config).run(sockets=[listening])


def application(site: Site) -> Starlette:
    """The site for any server that speaks ASGI."""
    caps = site.pool.caps
    threads = ThreadPoolExecutor(site.pool.workers + caps.waiting + 8)  # those beyond are for refusals and files

    async def everything(request: Request) -> Response:
        start = time.monotonic()
        reply = await _replied(site, request, threads)
        spent = (time.monotonic() - start) * 1e3
        place = request.url.path if reply.status < 400 or request.url.path == ANSWER else "elsewhere"
        LOG.info("%s %s %d, %d bytes, %.0f ms", request.method, place, reply.status, len(reply.body), spent)
        return Response(b"" if request.method == "HEAD" else reply.body, reply.status, reply.headers)

    async def nowhere(request: Request, error: Exception) -> Response:
        """What names no place at all: ``GET *``, or the address of another server."""
        return await everything(request)

    app = Starlette(routes=[Route("/{path:path}", everything, methods=METHODS)], exception_handlers={404: nowhere})
    app.add_middleware(GZipMiddleware, minimum_size=2048)
    return app


async def _replied(site: Site, request: Request, threads: ThreadPoolExecutor) -> Reply:
    """What the site says, in a thread, since it waits for processes and files."""
    run = partial(asyncio.get_running_loop().run_in_executor, threads)
    target, headers = request.scope["raw_path"].decode("latin-1"), dict(request.headers)
    if request.method in ("GET", "HEAD"):
        return await run(site.get, target, headers)
    if request.method != "POST":
        return site.other_method()
    wrong = site.refusal_of_post(target, headers)
    if wrong is not None:
        return wrong
    try:
        body = await asyncio.wait_for(request.body(), PATIENCE)
    except (TimeoutError, ClientDisconnect):
        return refused(400, "The request did not arrive.")
    gone = threading.Event()
    watcher = asyncio.create_task(_watched(request, gone))
    try:
        return await run(site.post, body, gone.is_set)
    finally:
        watcher.cancel()


async def _watched(request: Request, gone: threading.Event) -> None:
    """Says it when whoever asked has closed the connection."""
    while not await request.is_disconnected():
        await asyncio.sleep(STEP)
    gone.set()
