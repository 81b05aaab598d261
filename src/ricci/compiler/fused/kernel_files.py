"""Compiled kernels on disk, so that a second process does not compile them again.

A kernel is known by all that its code depends on: its source, constants and types, our own functions in it, and the
versions of Numba, NumPy, Python and the processor. Its file is named by a hash of that. It begins with a hash of its
contents and is put in place whole, so any number of processes may read and write at once; what cannot be read is
compiled again, and what cannot be written is left. The folder is ``RICCI_CACHE_DIR``, or ``ricci`` in the user's
folder for caches; an empty ``RICCI_CACHE_DIR`` means none. Since a file is code, only folders are used that are the
user's own.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ricci.caches import once

MOST_FILES = 1000


def folder() -> Path | None:
    """Where kernels are kept; none where that is not wanted, or not safe."""
    chosen = os.environ.get("RICCI_CACHE_DIR")
    if chosen == "":
        return None
    try:
        place = Path(chosen) if chosen is not None else _of_user() / "ricci"
        place = place / "kernels"
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        return place if _own(place) else None
    except (OSError, RuntimeError):  # without a home, for one
        return None


def _of_user() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _own(place: Path) -> bool:
    """Whether nobody else can put files there."""
    if not hasattr(os, "getuid"):
        return True
    found = place.stat()
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@once
def _versions() -> bytes:
    """What all code depends on: versions, and the functions that are in it."""
    parts = [np.__version__, sys.version, platform.machine()]
    own = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    return hashlib.sha256("\n".join(parts).encode() + b"".join(own)).digest()


class StoredCode:
    """A file of code, of which ``parts`` say all that tells it from others."""

    def __init__(self, *parts: Any):
        key = hashlib.sha256(_versions() + repr(parts).encode()).hexdigest()
        place = folder()
        self.path = None if place is None else place / f"{key}.kernel"

    def read(self) -> bytes | None:
        """The code, if it is there and whole."""
        if self.path is None:
            return None
        with suppress(OSError):
            found = self.path.read_bytes()
            if hashlib.sha256(found[32:]).digest() == found[:32]:
                os.utime(self.path)
                return found[32:]
        return None

    def write(self, data: bytes) -> None:
        """Keep code, if that is possible: a disk may be full, a folder read-only."""
        if self.path is None:
            return
        with suppress(OSError), tempfile.NamedTemporaryFile(dir=self.path.parent, suffix=".part", delete=False) as file:
            try:
                file.write(hashlib.sha256(data).digest() + data)
                file.close()
                os.replace(file.name, self.path)
            except BaseException:
                os.unlink(file.name)
                raise
            _tidy(self.path.parent)


class KernelFile(StoredCode):
    """The file of a kernel that Numba has compiled, or is to compile."""

    def __init__(self, dispatcher: Any, *parts: Any):
        import numba

        self.dispatcher = dispatcher
        super().__init__(numba.__version__, dispatcher.targetctx.codegen().magic_tuple(), *parts)

    def load(self) -> bool:
        """Give the dispatcher what the file has; whether it had it."""
        found = self.read()
        if found is None:
            return False
        try:
            from numba.core.compiler import CompileResult

            context = self.dispatcher.targetctx
            context.refresh()  # otherwise what code calls is not there
            made = CompileResult._rebuild(context, *pickle.loads(found))
            context.insert_user_function(made.entry_point, made.fndesc, [made.library])
            self.dispatcher.add_overload(made)
        except Exception:  # in Numba anything may go wrong: then it is compiled
            return False
        return True

    def save(self) -> None:
        """Keep what the dispatcher has compiled."""
        if self.path is None:
            return
        with suppress(Exception):
            from numba.core.serialize import dumps

            (made,) = self.dispatcher.overloads.values()
            if not made.library.has_dynamic_globals:
                self.write(dumps(made._reduce()))


def _tidy(place: Path) -> None:
    """Not too many: those used longest ago go."""
    files = list(place.glob("*.kernel"))
    if len(files) > MOST_FILES:
        for path in sorted(files, key=lambda path: path.stat().st_mtime)[: MOST_FILES // 4]:
            with suppress(OSError):
                path.unlink()
