"""Builds the interactive page: ``python -m ricci.web.static_page --out FOLDER``.

The folder can be served by any server of files, and needs no other host: the page's own files, Pyodide, which is Python
for browsers, KaTeX, and the modules of ricci that answer requests, in an archive, compiled by that very Python, since
to compile them takes a browser longer than to load them. Pyodide and KaTeX come from the npm registry, pinned by their
hashes; where there is no Node.js to compile with, the archive has the sources.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from ricci import __version__
from ricci.errors import MissingPackageError, RicciError
from ricci.web.packages import KATEX, PYODIDE, contents

HERE, PACKAGE = Path(__file__).parent / "page", Path(__file__).parent.parent
OF_PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
FOR_NODE = (*OF_PYODIDE, "pyodide-lock.json")
OF_KATEX = ("LICENSE", "dist/katex.mjs", "dist/katex.min.css")
# Rooms of ricci that answer nothing that can be asked: for arrays, functions, tensors, tests and shells.
ABSENT = (
    "checks", "cli", "compiler/backends", "compiler/compressed", "compiler/emit", "compiler/fused", "compiler/run",
    "drawing", "einops", "numpy.py", "review", "scopes", "shells.py", "tensor", "testing", "tracing", "transforms",
    "web/packages.py", "web/page", "web/static_page.py", "web/serving",
)  # fmt: skip
SECONDS = 120  # to compile all modules
DATE = (2020, 1, 1, 0, 0, 0)  # of the files in the archive, so that the same sources give the same archive
STAMP = "built.json"  # what the folder was built of


def build(folder: str | Path) -> Path:
    """Writes the page into a folder, which is made if it is not there, and gives the folder."""
    place = Path(folder)
    files = page_files()
    for name, content in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return place


def built(folder: str | Path) -> Path:
    """The folder of a page that is built of these sources: as it stands there, or built now."""
    place = Path(folder)
    try:
        stamp = json.loads((place / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return build(place)
    return place if stamp == stamp_of(own_files()) else build(place)


def page_files() -> dict[str, bytes]:
    """All files of the page by their paths."""
    own = own_files()
    python, katex = contents(PYODIDE), contents(KATEX)
    files = {**own, **{f"pyodide/{name}": python[name] for name in OF_PYODIDE}}
    lock = json.loads(python["pyodide-lock.json"])
    files["pyodide/pyodide-lock.json"] = json.dumps({**lock, "packages": {}}).encode()  # packages are of another host
    wanted = [name for name in katex if name in OF_KATEX or name.endswith(".woff2")]
    files |= {f"katex/{name.removeprefix('dist/')}": katex[name] for name in wanted}
    files["ricci.zip"] = compiled(own["ricci.zip"], {name: python[name] for name in ("package.json", *FOR_NODE)})
    files[STAMP] = json.dumps(stamp_of(own)).encode()
    return files


def own_files() -> dict[str, bytes]:
    """The files of the page that are ricci's: those in ``page``, and the archive of modules."""
    found = {path.name: path.read_bytes() for path in sorted(HERE.iterdir()) if path.is_file()}
    return {**found, "ricci.zip": archive()}


def stamp_of(own: dict[str, bytes]) -> dict[str, str]:
    whole = hashlib.sha256()
    for name, content in sorted(own.items()):
        whole.update(name.encode() + b"\0" + content)
    return {"ricci": __version__, "pyodide": PYODIDE.version, "katex": KATEX.version, "sources": whole.hexdigest()}


def archive() -> bytes:
    """The modules that answers are made with, zipped; ``opt_einsum`` orders long products, and is pure Python."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
        for name, path in sorted(modules()):
            made.writestr(zipfile.ZipInfo(name, DATE), path.read_bytes(), zipfile.ZIP_DEFLATED, 9)
    return data.getvalue()


def compiled(sources: bytes, python: dict[str, bytes]) -> bytes:
    """The archive with modules that Pyodide has compiled, in Node.js; as it is where that is not to be had."""
    with tempfile.TemporaryDirectory() as place:
        folder, before, after = Path(place) / "pyodide", Path(place) / "before.zip", Path(place) / "after.zip"
        folder.mkdir()
        for name, content in python.items():
            (folder / name).write_bytes(content)
        before.write_bytes(sources)
        command = ["node", str(Path(__file__).parent / "compiling.mjs"), str(folder), str(before), str(after)]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
            return after.read_bytes()
        except (OSError, subprocess.SubprocessError):
            return sources


def modules() -> Iterator[tuple[str, Path]]:
    """The files of the archive, by the names that they have in it."""
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        if not any(name == one or name.startswith(f"{one}/") for one in ABSENT):
            yield f"ricci/{name}", path
    spec = find_spec("opt_einsum")
    for folder in spec.submodule_search_locations or () if spec is not None else ():
        for path in Path(folder).rglob("*.py"):
            name = path.relative_to(folder).as_posix()
            if not name.startswith(("tests/", "backends/")) or name == "backends/__init__.py":
                yield f"opt_einsum/{name}", path


def main() -> int:
    parser = argparse.ArgumentParser(description="Builds the interactive page, to be served as files.")
    parser.add_argument("--out", default="page", metavar="FOLDER", help="where it is written")
    parser.add_argument("--check", action="store_true", help="build only if the sources are not those of the folder")
    asked = parser.parse_args()
    try:
        place = built(asked.out) if asked.check else build(asked.out)
    except (MissingPackageError, RicciError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
    print(f"The page is in {place}: {size / 1e6:.1f} MB. Serve it: python -m http.server --directory {place}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
