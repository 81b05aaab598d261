"""The targets by name, and by the arrays of a call; each is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from ricci.compiler.run.target import Target
from ricci.errors import InputError, nearest

TARGETS = {
    "numpy": ("ricci.compiler.run.target", "Target"),
    "jax": ("ricci.compiler.run.jax_target", "JaxTarget"),
    "torch": ("ricci.compiler.run.torch_target", "TorchTarget"),
}
_made: dict[str, Target] = {}


def target_named(name: str) -> Target:
    """The target of that name.

    >>> target_named("numpy").name
    'numpy'
    """
    found = _made.get(name) if isinstance(name, str) else None
    if found is not None:
        return found
    if not isinstance(name, str) or name not in TARGETS:
        hint = nearest(str(name), TARGETS)
        raise InputError(f"There is no backend {name!r}; the backends are {', '.join(TARGETS)}. {hint}".rstrip())
    module, own = TARGETS[name]
    return _made.setdefault(name, getattr(import_module(module), own)())


def target_of(values: Iterable[Any]) -> Target:
    """The target of the first array among ``values``; NumPy where there is none."""
    for value in values:
        package = type(value).__module__.partition(".")[0]
        if package in ("jax", "jaxlib"):
            return target_named("jax")
        if package in ("torch", "numpy"):
            return target_named(package)
    return target_named("numpy")
