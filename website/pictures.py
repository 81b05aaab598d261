"""Pictures of the README: ``python website/pictures.py`` draws the derivation of a gradient, as KaTeX sets it.

Needs Chromium on the path, and KaTeX as the site does (katex_files.py).
"""

from __future__ import annotations

import html
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import katex_files

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))
IMAGES = ROOT / "docs" / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
LOSS = "l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))"
PAGE = """<!doctype html><meta charset="utf-8">
<link rel="stylesheet" href="katex.min.css"><script src="katex.min.js"></script>
<style>body {{ margin: 0; padding: 22px 30px; font: 17px "DejaVu Sans Mono", monospace; background: #fff; color: #222 }}
p {{ margin: 0 0 4px }} b {{ color: #3f51b5; font-weight: normal }}
.katex-display {{ margin: 18px 0 0; text-align: left }}
.katex {{ font-size: 1.12em }} .katex-display > .katex {{ text-align: left }}</style>
<p><b>&gt;&gt;&gt;</b> loss = rc.parse({text})</p><p><b>&gt;&gt;&gt;</b> loss.diff("w[p]").derivation()</p>
<div id="here"></div>
<script>katex.render({latex}, document.getElementById("here"), {{displayMode: true, strict: false}})</script>"""


def main() -> None:
    import json

    import ricci as rc

    derivation = rc.parse(LOSS).diff("w[p]").derivation()
    latex = derivation.latex()
    page = PAGE.format(text=html.escape(f'"{LOSS}"'), latex=json.dumps(latex))
    screenshot(page, IMAGES / "derivation.png", (760, 95 + 42 * len(derivation)))


def screenshot(page: str, path: Path, size: tuple[int, int]) -> None:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit(f"A picture needs one of {', '.join(BROWSERS)}.")
    with tempfile.TemporaryDirectory() as folder:
        for name, content in katex_files.files().items():
            target = Path(folder, name)
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(content)
        place = Path(folder, "page.html")
        place.write_text(page, encoding="utf-8")
        options = ["--headless=new", "--no-sandbox", "--hide-scrollbars", "--virtual-time-budget=3000"]
        shape = f"--window-size={size[0]},{size[1]}"
        command = [browser, *options, shape, f"--screenshot={path}", place.as_uri()]
        subprocess.run(command, check=True, capture_output=True)


if __name__ == "__main__":
    main()
