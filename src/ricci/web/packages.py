"""Packages of the npm registry of which pages are built: taken by ``npm pack``, checked against a hash, and kept.

A package is kept in the folder that ``RICCI_PACKAGES`` names, or else in one of the user's for caches. Nothing of it is
run when it is taken, and what is not the very file whose hash stands here is refused.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import posixpath
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ricci.errors import MissingPackageError

SECONDS = 180  # for npm to fetch one


@dataclass(frozen=True)
class NpmPackage:
    """A package of one version, and the hash of the file that the registry has of it."""

    name: str
    version: str
    sha512: str

    @property
    def file(self) -> str:
        return f"{self.name}-{self.version}.tgz"


KATEX = NpmPackage(
    "katex", "0.19.1", "jG8uKntjSEcm2EpQOh0XturpPuuC9r3Sq5HLHdsFdWZT27E672SF19QEi+of0/YeOy15lDgRhKvr5614uRrEfA=="
)
PYODIDE = NpmPackage(
    "pyodide", "314.0.7", "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
)


def contents(package: NpmPackage, kept: Path | None = None) -> dict[str, bytes]:
    """The files of a package by their paths in it; ``kept`` is the file that it is kept in."""
    path = kept or folder() / package.file
    data = path.read_bytes() if path.exists() else _fetched(package, path)
    if base64.b64encode(hashlib.sha512(data).digest()).decode() != package.sha512:
        raise ValueError(
            f"What npm gave as {package.name} {package.version} is not what it was; delete {path} and build again."
        )
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        found = {posixpath.relpath(one.name, "package"): archive.extractfile(one) for one in archive if one.isfile()}
        return {name: file.read() for name, file in found.items() if file is not None}


def folder() -> Path:
    """Where packages are kept."""
    chosen = os.environ.get("RICCI_PACKAGES")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "ricci" / "packages"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "ricci" / "packages"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ricci" / "packages"


def _fetched(package: NpmPackage, path: Path) -> bytes:
    named = f"{package.name}@{package.version}"
    with tempfile.TemporaryDirectory() as place:
        try:
            command = ["npm", "pack", "--silent", "--ignore-scripts", named]
            subprocess.run(command, cwd=place, check=True, capture_output=True, timeout=SECONDS)
            data = next(Path(place).glob("*.tgz")).read_bytes()
        except (OSError, subprocess.SubprocessError, StopIteration) as error:
            raise MissingPackageError(
                f"{named} is needed to build this and could not be had: npm, or its registry, is missing ({error}). "
                f"Install Node.js, or put the file {package.file} into {path.parent}."
            ) from error
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError:  # it is fetched again the next time
        pass
    return data
