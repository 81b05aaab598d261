"""KaTeX's files, which stand beside the pages of the site, so that a page needs no other host.

The package is the one that the interactive page is built with (``ricci.web.packages``), kept in ``website/.vendor``.
Where it cannot be had, the site is built without it: formulas then stand there in LaTeX.
"""

from __future__ import annotations

import re
from pathlib import Path

from ricci.errors import MissingPackageError
from ricci.web.packages import KATEX, contents

WANTED = ("LICENSE", "dist/katex.min.js", "dist/katex.min.css", "dist/contrib/auto-render.min.js")
KEPT = Path(__file__).parent / ".vendor" / KATEX.file


def files() -> dict[str, bytes]:
    """Scripts, styles and fonts by name; none where the package cannot be had."""
    try:
        found = contents(KATEX, KEPT)
    except MissingPackageError:
        return {}
    names = [name for name in found if name in WANTED or name.endswith(".woff2")]
    return {re.sub(r"^dist/(contrib/)?", "", name): found[name] for name in names}
