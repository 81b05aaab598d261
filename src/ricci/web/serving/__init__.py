"""``ricci serve``: the page and its answers over HTTP, for one person and for several.

Requests come in, replies go out. ``workers`` has the processes that answer, each of which is a ``worker_process`` under
caps of time and memory; ``site`` says what files there are, ``replies`` what is said to a request, whatever carries
it; ``alone`` carries it by Python's own server, ``team`` by Starlette and uvicorn. Two files stand in for those of
the static page: ``server_worker.js`` asks the server, where the page would start Python, and ``mathml.mjs`` sets
formulas where KaTeX is not there.
"""
