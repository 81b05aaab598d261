"""Builds the site: ``python website/build.py`` writes it into site/, and fails where a link leads nowhere.

Needs ``pip install ".[docs]"``. ``--live`` builds the interactive page too, which the front page then shows; once built
it stays in website/.live. ``--out DIR`` is another place for the result, ``--serve`` shows the site while pages are
being written.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIVE = ROOT / "website" / ".live"


def main() -> int:
    parser = argparse.ArgumentParser(description="Builds the documentation site.")
    parser.add_argument("--out", type=Path, default=ROOT / "site", metavar="DIR", help="where it is written")
    parser.add_argument("--live", action="store_true", help="build the interactive page, too (needs npm)")
    parser.add_argument("--serve", action="store_true", help="serve it on this machine instead")
    options = parser.parse_args()
    commands = [["ricci.web.static_page", "--out", str(LIVE)]] if options.live else []
    what = ["serve"] if options.serve else ["build", "--strict", "--site-dir", str(options.out.resolve())]
    commands.append(["mkdocs", *what, "--config-file", str(ROOT / "mkdocs.yml")])
    return next((status for one in commands if (status := run(one))), 0)


def run(module: list[str]) -> int:
    """The status of a module that runs with this copy of ricci."""
    paths = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run([sys.executable, "-m", *module], env=environment, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
