"""What IPython is told: how tuples, lists and dictionaries of formulas are shown.

Formulas show themselves. A tuple of them, as ``rc.diff_all`` gives, is Python's own, and IPython has to be told that it
is shown in LaTeX where all that it holds is. That is done when ricci is imported, and by ``%load_ext ricci``; whoever
has said before how such containers are shown is asked about all others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

CONTAINERS = (tuple, list, dict)
LATEX = "text/latex"


def register_here() -> None:
    """Tell the shell that runs here, if one does."""
    running = getattr(sys.modules.get("IPython"), "get_ipython", None)  # missing while IPython itself is imported
    shell = None if running is None else running()
    if shell is not None:
        register(shell)


def register(shell: Any) -> None:
    """Tell a shell; once is enough."""
    formatter = shell.display_formatter.formatters[LATEX]
    for kind in CONTAINERS:
        before = formatter.for_type(kind)
        if not isinstance(before, _Shows):
            formatter.for_type(kind, _Shows(before))


class _Shows:
    """LaTeX of a container of formulas; of others what was said before."""

    def __init__(self, before: Callable[[Any], str | None] | None):
        self.before = before

    def __call__(self, container: Any) -> str | None:
        found = latex_of(container)
        if found is not None:
            return found
        if self.before is not None:
            return self.before(container)
        own = getattr(container, "_repr_latex_", None)  # of a class made of one of these
        return None if own is None else own()


def latex_of(container: Any) -> str | None:
    """What notebooks show for a container; nothing where it holds anything but formulas and equations."""
    held = container
    while isinstance(held, CONTAINERS) and held:  # a look at the first, so that others cost nothing
        held = next(iter(held.values() if isinstance(held, dict) else held))
    if held is container or not type(held).__module__.startswith("ricci."):
        return None
    from ricci.user.shown_together import together

    return together(container)
